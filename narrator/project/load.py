"""book.yaml -> a project, with all of its problems in one report.

Holds one value against another, and against the files that it names.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import (
    ValidationError,
)

from narrator import files
from narrator.characters import quoted, seen
from narrator.engines.registry import ENGINES
from narrator.errors import GUESSES, ManifestError, Problem, nearest
from narrator.project import other_engine, profiles
from narrator.project.buildfolder import build_folder
from narrator.project.messages import problems_of, without_faults
from narrator.project.place import manifest_at
from narrator.project.profiles import Profile
from narrator.project.project import Project, credits
from narrator.project.schema import Manifest, Sample, SpeechSettings
from narrator.project.yaml import read_yaml
from narrator.text.decided import place_of


def load(path: Path, text: str | None = None) -> Project:
    """Read and validate a manifest, or what it would be with this text.

    Raises ManifestError with every problem found.
    """
    path = manifest_at(path)
    reader, written = read_yaml(path, text)
    lines, problems = reader.lines, reader.problems
    engine = other_engine.chosen()
    data = other_engine.replace_engine(written, engine) if engine else written
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as error:
        problems += problems_of(path, lines, error)
        rest = without_faults(data, error)
        if rest is not None:
            problems += _cross_checks(Project(path, path.parent / "build", rest, lines)).problems
        raise ManifestError(_in_order(problems, reader.remarks)) from None
    unseen = tuple((c, path, line, n) for c, (line, n) in reader.unseen.items())
    project = Project(
        path,
        build_folder(path.parent),
        manifest,
        lines,
        unseen,
        other_engine="" if data is written else engine,
    )
    checks = _cross_checks(project)
    problems += checks.problems
    if problems:
        raise ManifestError(_in_order(problems, reader.remarks))
    remarks = sorted([*reader.remarks, *checks.remarks], key=_order)
    return replace(project, remarks=tuple(remarks))


def _in_order(problems: Iterable[Problem], remarks: Iterable[Problem]) -> list[Problem]:
    """Problems by their lines, each with what may be its cause."""
    lines = {problem.line for problem in problems}
    causes = [remark for remark in remarks if remark.line in lines]
    return sorted({*problems, *causes}, key=_order)


def load_speech(path: Path | None) -> SpeechSettings:
    """What a manifest says of its language and engine, while the voices that it names are still to
    be made; the defaults without one. Raises ManifestError."""
    data = {} if path is None else read_yaml(path)[1]
    if engine := other_engine.chosen():
        data = other_engine.replace_engine(data, engine)
    try:
        return SpeechSettings.model_validate(data)
    except ValidationError:
        if path is not None:
            load(path)  # says all that is wrong
        raise


def is_manifest(path: Path) -> bool:
    """Whether a YAML file means to be a narrator manifest; in doubt it does."""
    if path.exists() and not path.is_file():
        return False  # a folder, a device; a pipe would be waited for
    try:
        return "chapters" in read_yaml(path)[1]
    except ManifestError:
        try:
            return b"chapters" in path.read_bytes().replace(b"\0", b"")
        except OSError:
            return True


def _order(problem: Problem) -> tuple[int, str]:
    return (problem.line or 0, problem.message)


def preset_path(root: Path, name: str) -> Path | None:
    """A voice preset by its name: the project's own, else the user's library's."""
    for folder in (root / "voices", files.library() / "voices"):
        path = folder / f"{name}.voice"
        with contextlib.suppress(OSError, ValueError):  # a name that no file system takes
            if Path(name).name == name and path.is_file():
                return path
    return None


def _cross_checks(project: Project) -> _CrossChecks:
    """One value held against another, and against the files that it names."""
    checks = _CrossChecks(project)
    checks.speakers()
    checks.texts()
    checks.music()
    checks.cover()
    checks.profiles()
    checks.output()
    checks.credits()
    return checks


_IMAGES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
"""What JPEG and PNG begin with."""


class _CrossChecks:
    """What is wrong with a manifest whose values are each right by themselves."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.manifest = project.manifest
        self.problems: list[Problem] = []
        self.remarks: list[Problem] = []
        self._allowed = list(self._folders())

    # -- what is said --

    def _wrong(self, message: str, *loc: str | int) -> None:
        self.problems.append(Problem(self.project.path, self.project.line(*loc), message))

    def _guess(self, name: str, choices: Iterable[str]) -> str | None:
        """The nearest of them; none any more where the report is long already."""
        return nearest(name, list(choices)) if len(self.problems) < GUESSES else None

    def _known(self, kind: str, name: str, choices: Collection[str], *loc: str | int) -> None:
        if name in choices:
            return
        guess = self._guess(name, choices)
        declare = f"declare it under `{kind}s`"
        if kind == "voice":
            declare += ", or make a preset: narrator voices add, narrator voices design"
            owner = next((e for e in ENGINES.values() if name in e.voice_names), None)
            if owner:
                guess = None
                declare = f"one of {owner.title}'s is `{owner.name}: {{voice: {name}}}`, no `voice`"
        hint = f"did you mean '{guess}'?" if guess else declare
        self._wrong(f"unknown {kind} '{quoted(name)}'; {hint}", *loc)

    def _known_speaker(self, name: str | None, *loc: str | int) -> None:
        if name is not None:
            self._known("speaker", name, self.project.speakers.keys(), *loc)

    def _exists(self, name: str | None, *loc: str | int) -> bool:
        """Whether a file is named, and is there: in the project or a folder that is allowed."""
        if name is None:
            return False
        target = self.project.root / name
        guess = None
        if not self._is_allowed(name, *loc):
            return False
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # no folder, no name, a circle
            if target.is_file():
                return True
            if kind := files.not_a_file(target):
                self._wrong(f"it is {kind}, not a file: {quoted(name, 400)}", *loc)
                return False
            guess = self._guess(target.name, (path.name for path in target.parent.iterdir()))
        hint = f"; did you mean '{Path(name).with_name(guess)}'?" if guess else ""
        if re.search(r"[\\\0-\x1f]", name):  # of Windows, or what a \n in double quotes became
            hint = "; write / between folders, and no \\"
        self._wrong(f"no such file: {quoted(name, 400)}{hint}", *loc)
        return False

    def _is_allowed(self, name: str, *loc: str | int) -> bool:
        """Whether a file would be in the project or a folder that is allowed."""
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if stray := _stray(self.project, name, self._allowed):
                self._wrong(stray, *loc)
                return False
        return True

    def _template(self, text: str | None, fields: Collection[str], *loc: str) -> None:
        for field in re.findall(r"\{(\w*)\}", text or ""):
            if field not in fields:
                names = ", ".join(f"{{{name}}}" for name in fields)
                self._wrong(f"{'.'.join(loc)}: no field {{{quoted(field)}}}; use {names}", *loc)

    # -- what is checked --

    def _folders(self) -> Iterator[Path]:
        """Where the project's files may be: its own folder, and those under `outside`."""
        yield self.project.root.resolve()
        for i, folder in enumerate(self.manifest.outside):
            place = self.project.root / folder
            if _is_folder(place):
                yield place.resolve()
            else:
                self._wrong(f"no such folder: {quoted(folder, 400)}", "outside", i)

    def speakers(self) -> None:
        """The cast and its voices."""
        self._names()
        for name, speaker in self.manifest.speakers.items():
            if isinstance(speaker.voice, str):
                if preset_path(self.project.root, speaker.voice) is None:
                    voices = self.manifest.voices.keys()
                    self._known("voice", speaker.voice, voices, "speakers", name, "voice")
            elif speaker.voice is not None:
                self._exists(speaker.voice.reference, "speakers", name, "voice", "reference")
        for name, voice in self.manifest.voices.items():
            self._exists(voice.reference, "voices", name, "reference")
        self._known_speaker(self.manifest.narrator, "narrator")
        if self.manifest.dialogue.first_person is not None:  # a name or an alias
            self._known_speaker(self.project.first_person, "dialogue", "first_person")

    def _names(self) -> None:
        """What everybody is called: no two the same, but for aliases, which may be shared."""
        names: dict[str, str] = {}
        for name in self.manifest.speakers:
            self._name(name, names, name)
        for name, speaker in self.manifest.speakers.items():
            for label in speaker.plays:
                player = self.project.voice_of(label)
                if label in self.manifest.speakers or player == name:
                    self._name(label, names, name, "plays")
                else:
                    what = f"'{quoted(label)}' is played by '{quoted(player)}' already"
                    self._wrong(what, "speakers", name, "plays")
        for name in self.project.speakers:
            if not is_label(name):
                what = "a speaker's name may not hold any of : ( ) [ ] { } *"
                self._wrong(f"{what}: '{quoted(name)}'", "speakers", name)
        self._note_shared_aliases(names)

    def _name(self, label: str, names: dict[str, str], *loc: str) -> None:
        """Give a name that nobody has yet."""
        other = names.get(_folded(label))
        if other is not None:
            what = f"'{quoted(label)}' already names the speaker '{quoted(other)}'"
            self._wrong(what, "speakers", *loc)
        names.setdefault(_folded(label), label)

    def _note_shared_aliases(self, names: Mapping[str, str]) -> None:
        """Names that more than one may be called by, of which a label is the first one's."""
        aliases: dict[str, str] = {}
        shared: dict[str, tuple[str, str]] = {}
        unread: list[tuple[str, str]] = []
        for name, speaker in self.project.speakers.items():
            unread += [(name, label) for label in speaker.aliases if not is_label(label)]
            for label in speaker.aliases:
                first = names.get(_folded(label)) or aliases.setdefault(_folded(label), name)
                if first != name:
                    shared.setdefault(label, (first, name))
        if unread:
            name, label = unread[0]
            more = f" (and {len(unread) - 1} more like it)" if len(unread) > 1 else ""
            what = f"the alias '{quoted(label)}'{more} is no label: none has : ( ) [ ] {{ }} or *"
            line = self.project.line("speakers", name)
            self.remarks.append(Problem(self.project.path, line, what))
        if shared:
            label, (first, name) = next(iter(shared.items()))
            more = f" (and {len(shared) - 1} more like it)" if len(shared) > 1 else ""
            both = f"'{quoted(first)}' and '{quoted(name)}'"
            what = f"'{quoted(label)}' is a name of {both}{more}: a label is the first one's"
            line = self.project.line("speakers", name)
            self.remarks.append(Problem(self.project.path, line, what))

    def texts(self) -> None:
        """The chapters and the lexicon."""
        for i, chapter in enumerate(self.manifest.chapters):
            if self._exists(chapter.file, "chapters", i, "file"):
                self._is_allowed(str(place_of(Path(chapter.file or ""))), "chapters", i, "file")
            self._known_speaker(chapter.speaker, "chapters", i, "speaker")
        self._note_doubles()
        self._note_shared_rows()
        for i, entry in enumerate(self.project.lexicon):
            self._known_speaker(entry.speaker, "lexicon", i, "speaker")
        self._exists(self.manifest.source, "source")

    def _note_doubles(self) -> None:
        """Chapters that speak the same file, or that listeners cannot tell apart."""
        chapters = self.manifest.chapters
        titles = {i: " ".join(one.title.split()).casefold() for i, one in enumerate(chapters)}
        texts = {i: os.path.normpath(one.file) for i, one in enumerate(chapters) if one.file}
        for what, mend, values, key in (
            ("file", "it is spoken again", texts, "file"),
            ("title", "listeners see them by their titles", titles, "title"),
        ):
            groups: dict[str, list[int]] = {}
            for i, value in values.items():
                groups.setdefault(value, []).append(i)
            for group in groups.values():
                if len(group) > 1:
                    shown = quoted(str(getattr(chapters[group[0]], key)))
                    numbers = ", ".join(str(i + 1) for i in group[:20])
                    line = self.project.line("chapters", group[1], key)
                    said = f"chapters {numbers} have the same {what}, '{shown}': {mend}"
                    self.remarks.append(Problem(self.project.path, line, said))

    def _note_shared_rows(self) -> None:
        """Texts whose names differ in their endings alone, and that have one file of speakers."""
        first: dict[Path, Path] = {}
        for i, chapter in enumerate(self.manifest.chapters):
            text = Path(os.path.normpath(chapter.file or ""))
            rows = place_of(text)
            if chapter.file and (other := first.setdefault(rows, text)) != text:
                both = f"'{quoted(str(other))}' and '{quoted(str(text))}'"
                what = f"{both} have one file of speakers, '{quoted(str(rows))}': rename one"
                line = self.project.line("chapters", i, "file")
                self.remarks.append(Problem(self.project.path, line, what))

    def music(self) -> None:
        first: dict[str, int] = {}
        for i, piece in enumerate(self.manifest.music):
            self._exists(piece.file, "music", i, "file")
            name = piece.name or f"[{i}]"
            if (other := first.setdefault(name.casefold(), i)) != i:
                what = f"music '{quoted(name)}' stands twice; first in music[{other + 1}]"
                self._wrong(what, "music", i, "name")

    def cover(self) -> None:
        cover = self.manifest.cover
        if cover is not None and self._exists(cover, "cover"):
            with (self.project.root / cover).open("rb") as file:
                magic = file.read(8)
            if not magic.startswith(_IMAGES):
                self._wrong(f"the cover is no JPEG or PNG image: {quoted(cover, 200)}", "cover")

    def profiles(self) -> None:
        """The project's own: their names, which name folders too, and names of files."""
        first: dict[str, str] = {}
        fields = self.project.facts.in_names().keys()
        for name, own in self.manifest.profiles.items():
            loc = ("profiles", name)
            other = first.setdefault(name.casefold(), name)
            if name.casefold() in profiles.PROFILES:
                self._wrong(f"'{name}' is a platform's profile: give yours another name", *loc)
            elif other != name:
                both = f"'{quoted(name)}' and '{quoted(other)}'"
                self._wrong(f"{both} would share a folder: give one another name", *loc)
            if re.search(r'[<>:"/\\|?*\s.]', name) or seen(name) != name:
                what = f"a profile names a folder: letters, digits, - and _, not '{quoted(name)}'"
                self._wrong(what, *loc)
            self._template(own.book_name, fields, *loc, "book_name")
            more = (*fields, "number", "chapter", "name")
            self._template(own.chapter_name, more, *loc, "chapter_name")

    def output(self) -> None:
        """Where it is delivered to, under which name, and the sample."""
        output = self.manifest.output
        self._template(output.name, self.project.facts.in_names().keys(), "output", "name")
        for name in output.profile or ():
            choices = [*profiles.PROFILES, *self.manifest.profiles]
            if name not in choices:
                what = unknown_profile(name, choices, "your own go under `profiles`")
                self._wrong(what, "output", "profile")
        titles = [chapter.title for chapter in self.manifest.chapters]
        sample = output.sample or Sample()
        numbers = {str(number) for number in range(1, len(titles) + 1)}
        if sample.chapter not in numbers:
            self._known("chapter", sample.chapter, titles, "output", "sample", "chapter")
        for profile in self._delivered():
            if profile.sample is not None and sample.seconds < profile.sample[0]:
                what = (
                    f"profile {profile.name} asks for a sample of {profile.sample[0]:g} s or more: "
                    f"raise output.sample.seconds, which is {sample.seconds:g}"
                )
                self._wrong(what, "output", "sample", "seconds")

    def _delivered(self) -> Iterator[Profile]:
        """The profiles that are delivered to, as far as there are such."""
        for name in self.manifest.output.profile or ():
            with contextlib.suppress(KeyError):
                yield self.project.profile(name)

    def credits(self) -> None:
        spoken = self.manifest.credits
        if spoken is None:
            for profile in self._delivered():
                if profile.credits:
                    what = (
                        f"profile {profile.name} asks for opening and closing credits: add "
                        "`credits: {}`, or your own under it"
                    )
                    self._wrong(what, "output", "profile")
            return
        self._known_speaker(spoken.speaker, "credits", "speaker")
        if spoken.speaker is None and self.project.narrator is None:
            self._wrong("nobody speaks the credits: name a `speaker`", "credits")
        try:
            credits(self.project)
        except KeyError as error:
            names = ", ".join(f"{{{name}}}" for name in self.project.facts.in_credits())
            self._wrong(f"credits: no field {{{quoted(error.args[0])}}}; use {names}", "credits")
        except LookupError as error:
            key = {"narrator": "narrated_by", "part": "series", "year": "date"}
            name = error.args[0]
            what = f"the credits name {{{name}}}, but the manifest has no `{key.get(name, name)}`"
            self._wrong(what, "credits")


def unknown_profile(name: str, choices: Sequence[str], own: str) -> str:
    """What is said of a profile that does not exist; `own`: where one's own ones are."""
    called = {"amazon": "acx", "audible": "acx", "itunes": "apple-podcasts", "ebu": "ebu-r128"}
    guess = called.get(name.casefold()) or nearest(name, choices)
    hint = f"did you mean '{guess}'? There" if guess else "there"
    return f"unknown profile '{quoted(name)}'; {hint} are {', '.join(map(quoted, choices))}; {own}"


def is_label(name: str) -> bool:
    """Whether a name can stand before a colon, for its speaker."""
    return bool(seen(name).strip()) and not any(c in name for c in ":()[]{}\n*")


def _folded(label: str) -> str:
    return seen(label).casefold()


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError, RuntimeError):
        return False


def stray(project: Project, name: str) -> str | None:
    """What is said of a file that is, as the links are now, neither in the project nor in a folder
    that it allows; None where it is."""
    outside = (project.root / folder for folder in project.manifest.outside)
    allowed = [place.resolve() for place in (project.root, *filter(_is_folder, outside))]
    try:
        return _stray(project, name, allowed)
    except (OSError, ValueError, RuntimeError):  # no name, a circle of links
        return f"no such file: {quoted(name, 400)}"


def _stray(project: Project, name: str, allowed: Iterable[Path]) -> str | None:
    """Raises OSError, ValueError, RuntimeError."""
    real = (project.root / name).resolve()
    inside = any(real.is_relative_to(place) for place in allowed)
    return None if inside else _outside(name, real)


def _outside(name: str, real: Path) -> str:
    """What is said of a file that is not the project's, in its folder or by a link."""
    written = Path(name)
    linked = not (written.is_absolute() or ".." in written.parts)
    folder = quoted(str(real.parent if linked else written.parent), 400)
    return (
        f"{quoted(name, 400)} {'leads' if linked else 'lies'} outside of the project: copy it into "
        f"the project, or allow its folder: outside: [{folder}]"
    )
