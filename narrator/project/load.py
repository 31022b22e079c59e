"""Loads a project from book.yaml, with all problems in one report.

Checks values of the manifest against each other, and against the files that it names.
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
from narrator.engines.registry import ENGINES
from narrator.errors import MAX_SUGGESTIONS, ManifestError, Problem, nearest
from narrator.project import other_engine, profiles
from narrator.project.buildfolder import build_folder
from narrator.project.messages import drop_invalid_values, problems_of
from narrator.project.place import manifest_at
from narrator.project.profiles import Profile
from narrator.project.project import Project, credits
from narrator.project.schema import Manifest, Sample, SpeechSettings
from narrator.project.yaml import read_yaml
from narrator.text.speaker_files import speaker_file_path
from textbase.characters import excerpt, strip_invisible


def load(path: Path, text: str | None = None) -> Project:
    """Read and validate a manifest, optionally with this text instead of its own.

    The chosen engine, if any, replaces those of the manifest. Raises ManifestError with every
    problem found.
    """
    path = manifest_at(path)
    reader, values = read_yaml(path, text)
    lines, problems = reader.lines, reader.problems
    try:
        manifest = Manifest.model_validate(values)
    except ValidationError as error:
        problems += problems_of(path, lines, error)
        valid_manifest = drop_invalid_values(values, error)
        if valid_manifest is not None:
            problems += _run_cross_checks(
                Project(path, path.parent / "build", valid_manifest, lines)
            ).problems
        raise ManifestError(_sort_problems(problems, reader.remarks)) from None
    unseen = tuple(
        (character, path, line, count) for character, (line, count) in reader.unseen.items()
    )
    project = Project(path, build_folder(path.parent), manifest, lines, unseen)
    checks = _run_cross_checks(project)
    problems += checks.problems
    if problems:
        raise ManifestError(_sort_problems(problems, reader.remarks))
    remarks = sorted([*reader.remarks, *checks.remarks], key=_sort_key)
    return replace(project, remarks=tuple(remarks)).spoken_by(other_engine.chosen_engine())


def _sort_problems(problems: Iterable[Problem], remarks: Iterable[Problem]) -> list[Problem]:
    """Problems in the order of their lines, with remarks on the same lines as possible causes."""
    lines = {problem.line for problem in problems}
    causes = [remark for remark in remarks if remark.line in lines]
    return sorted({*problems, *causes}, key=_sort_key)


def load_speech(path: Path | None) -> SpeechSettings:
    """The language and engine of a manifest whose voices may not exist yet.

    The defaults without a manifest. Raises ManifestError.
    """
    values = {} if path is None else read_yaml(path)[1]
    try:
        settings = SpeechSettings.model_validate(values)
    except ValidationError:
        if path is not None:
            load(path)  # raises an error with all problems
        raise
    engine = other_engine.chosen_engine()
    if engine in ("", settings.engine.name):
        return settings
    return settings.model_copy(update={"engine": ENGINES[engine].settings()})


def is_manifest(path: Path) -> bool:
    """True if a YAML file seems to be a narrator manifest; true if in doubt."""
    if path.exists() and not path.is_file():
        return False  # a folder or a device; reading a pipe would block
    try:
        return "chapters" in read_yaml(path)[1]
    except ManifestError:
        try:
            return b"chapters" in path.read_bytes().replace(b"\0", b"")
        except OSError:
            return True


def _sort_key(problem: Problem) -> tuple[int, str]:
    return (problem.line or 0, problem.message)


def preset_path(root: Path, name: str) -> Path | None:
    """The path of a voice preset: in the project, or else in the user's library."""
    for folder in (root / "voices", files.library() / "voices"):
        path = folder / f"{name}.voice"
        with contextlib.suppress(OSError, ValueError):  # an invalid file name
            if Path(name).name == name and path.is_file():
                return path
    return None


def _run_cross_checks(project: Project) -> _CrossChecks:
    """Check values against each other, and against the files that they name."""
    checks = _CrossChecks(project)
    checks.speakers()
    checks.texts()
    checks.music()
    checks.cover()
    checks.profiles()
    checks.output()
    checks.credits()
    return checks


IMAGE_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
"""The first bytes of JPEG and PNG files."""


class _CrossChecks:
    """Finds the problems of a manifest whose single values are all valid."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.manifest = project.manifest
        self.problems: list[Problem] = []
        self.remarks: list[Problem] = []
        self._allowed_folders = list(self._find_allowed_folders())

    # -- reporting --

    def _add_problem(self, message: str, *loc: str | int) -> None:
        self.problems.append(Problem(self.project.path, self.project.line(*loc), message))

    def _guess(self, name: str, choices: Iterable[str]) -> str | None:
        """The most similar of these names; None if the report has many guesses already."""
        return nearest(name, list(choices)) if len(self.problems) < MAX_SUGGESTIONS else None

    def _require_known(
        self, kind: str, name: str, choices: Collection[str], *loc: str | int
    ) -> None:
        """Add a problem if a name is not among the choices, with a guess or advice."""
        if name in choices:
            return
        guess = self._guess(name, choices)
        advice = f"declare it under `{kind}s`"
        if kind == "voice":
            advice += ", or make a preset: narrator voices add, narrator voices design"
            engine = next((spec for spec in ENGINES.values() if name in spec.voices), None)
            if engine:
                guess = None
                advice = (
                    f"it is one of {engine.title}'s: write `{engine.name}: {{voice: {name}}}` "
                    "in place of `voice`"
                )
        hint = f"did you mean '{guess}'?" if guess else advice
        self._add_problem(f"unknown {kind} '{excerpt(name)}'; {hint}", *loc)

    def _require_speaker(self, name: str | None, *loc: str | int) -> None:
        if name is not None:
            self._require_known("speaker", name, self.project.speakers.keys(), *loc)

    def _exists(self, name: str | None, *loc: str | int) -> bool:
        """True if a file is named, and exists in the project or an allowed folder.

        Adds a problem if it is named but missing.
        """
        if name is None:
            return False
        target = self.project.root / name
        guess = None
        if not self._is_allowed(name, *loc):
            return False
        with contextlib.suppress(
            OSError, ValueError, RuntimeError
        ):  # no folder, an invalid name, a circle of links
            if target.is_file():
                return True
            if kind := files.describe_file_type(target):
                self._add_problem(f"it is {kind}, not a file: {excerpt(name, 400)}", *loc)
                return False
            guess = self._guess(target.name, (path.name for path in target.parent.iterdir()))
        hint = f"; did you mean '{Path(name).with_name(guess)}'?" if guess else ""
        if re.search(r"[\\\0-\x1f]", name):  # from Windows, or the result of \n in double quotes
            hint = "; write / between folders, and no \\"
        self._add_problem(f"no such file: {excerpt(name, 400)}{hint}", *loc)
        return False

    def _is_allowed(self, name: str, *loc: str | int) -> bool:
        """True if a path is in the project or an allowed folder; adds a problem if not."""
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if reason := _find_stray_reason(self.project, name, self._allowed_folders):
                self._add_problem(reason, *loc)
                return False
        return True

    def _check_template(self, text: str | None, fields: Collection[str], *loc: str) -> None:
        for field in re.findall(r"\{(\w*)\}", text or ""):
            if field not in fields:
                names = ", ".join(f"{{{name}}}" for name in fields)
                self._add_problem(
                    f"{'.'.join(loc)}: no field {{{excerpt(field)}}}; use {names}", *loc
                )

    # -- checks --

    def _find_allowed_folders(self) -> Iterator[Path]:
        """Yields the allowed folders: the project's own, and those under `outside`."""
        yield self.project.root.resolve()
        for index, folder in enumerate(self.manifest.outside):
            path = self.project.root / folder
            if _is_folder(path):
                yield path.resolve()
            else:
                self._add_problem(f"no such folder: {excerpt(folder, 400)}", "outside", index)

    def speakers(self) -> None:
        """Check the speakers and their voices."""
        self._check_names()
        for name, speaker in self.manifest.speakers.items():
            if isinstance(speaker.voice, str):
                if preset_path(self.project.root, speaker.voice) is None:
                    voices = self.manifest.voices.keys()
                    self._require_known("voice", speaker.voice, voices, "speakers", name, "voice")
            elif speaker.voice is not None:
                self._exists(speaker.voice.reference, "speakers", name, "voice", "reference")
        for name, voice in self.manifest.voices.items():
            self._exists(voice.reference, "voices", name, "reference")
        self._require_speaker(self.manifest.narrator, "narrator")
        if self.manifest.dialogue.first_person is not None:  # a name or an alias
            self._require_speaker(self.project.first_person, "dialogue", "first_person")

    def _check_names(self) -> None:
        """Check that names are unique; only aliases may be shared."""
        names_by_label: dict[str, str] = {}
        for name in self.manifest.speakers:
            self._add_name(name, names_by_label, name)
        for name, speaker in self.manifest.speakers.items():
            for label in speaker.plays:
                player = self.project.voice_of(label)
                if label in self.manifest.speakers or player == name:
                    self._add_name(label, names_by_label, name, "plays")
                else:
                    message = f"'{excerpt(label)}' is played by '{excerpt(player)}' already"
                    self._add_problem(message, "speakers", name, "plays")
        for name in self.project.speakers:
            if not is_label(name):
                message = "a speaker's name may not hold any of : ( ) [ ] { } *"
                self._add_problem(f"{message}: '{excerpt(name)}'", "speakers", name)
        self._note_shared_aliases(names_by_label)

    def _add_name(self, label: str, names_by_label: dict[str, str], *loc: str) -> None:
        """Add a name, with a problem if somebody has it already."""
        existing_name = names_by_label.get(_fold(label))
        if existing_name is not None:
            message = f"'{excerpt(label)}' already names the speaker '{excerpt(existing_name)}'"
            self._add_problem(message, "speakers", *loc)
        names_by_label.setdefault(_fold(label), label)

    def _note_shared_aliases(self, names_by_label: Mapping[str, str]) -> None:
        """Remark on aliases that cannot be labels, and on aliases that several share.

        As a label, a shared alias stands for the first of its speakers.
        """
        first_names_by_alias: dict[str, str] = {}
        sharing_names: dict[str, tuple[str, str]] = {}
        unusable_aliases: list[tuple[str, str]] = []
        for name, speaker in self.project.speakers.items():
            unusable_aliases += [(name, label) for label in speaker.aliases if not is_label(label)]
            for label in speaker.aliases:
                first_name = names_by_label.get(_fold(label)) or first_names_by_alias.setdefault(
                    _fold(label), name
                )
                if first_name != name:
                    sharing_names.setdefault(label, (first_name, name))
        if unusable_aliases:
            name, label = unusable_aliases[0]
            more_note = (
                f" (and {len(unusable_aliases) - 1} more like it)"
                if len(unusable_aliases) > 1
                else ""
            )
            message = (
                f"the alias '{excerpt(label)}'{more_note} is not a label: labels have no : ( ) [ ] "
                "{ } or *"
            )
            line = self.project.line("speakers", name)
            self.remarks.append(Problem(self.project.path, line, message))
        if sharing_names:
            label, (first_name, name) = next(iter(sharing_names.items()))
            more_note = (
                f" (and {len(sharing_names) - 1} more like it)" if len(sharing_names) > 1 else ""
            )
            both_names = f"'{excerpt(first_name)}' and '{excerpt(name)}'"
            message = (
                f"'{excerpt(label)}' is a name of {both_names}{more_note}: a label is the first "
                "one's"
            )
            line = self.project.line("speakers", name)
            self.remarks.append(Problem(self.project.path, line, message))

    def texts(self) -> None:
        """Check the chapters and the lexicon."""
        for index, chapter in enumerate(self.manifest.chapters):
            if self._exists(chapter.file, "chapters", index, "file"):
                self._is_allowed(
                    str(speaker_file_path(Path(chapter.file or ""))), "chapters", index, "file"
                )
            self._require_speaker(chapter.speaker, "chapters", index, "speaker")
            first_person = self.project.main_name(chapter.first_person)
            self._require_speaker(first_person, "chapters", index, "first_person")
        self._note_duplicates()
        self._note_shared_rows()
        for index, entry in enumerate(self.project.lexicon):
            self._require_speaker(entry.speaker, "lexicon", index, "speaker")
        self._exists(self.manifest.source, "source")

    def _note_duplicates(self) -> None:
        """Remark on chapters with the same file or the same title."""
        chapters = self.manifest.chapters
        folded_titles = {
            index: " ".join(chapter.title.split()).casefold()
            for index, chapter in enumerate(chapters)
        }
        text_paths = {
            index: os.path.normpath(chapter.file)
            for index, chapter in enumerate(chapters)
            if chapter.file
        }
        for noun, consequence, values_by_index, key in (
            ("file", "it is spoken again", text_paths, "file"),
            ("title", "listeners see them by their titles", folded_titles, "title"),
        ):
            indices_by_text: dict[str, list[int]] = {}
            for index, text in values_by_index.items():
                indices_by_text.setdefault(text, []).append(index)
            for indices in indices_by_text.values():
                if len(indices) > 1:
                    shared_value = excerpt(str(getattr(chapters[indices[0]], key)))
                    numbers = ", ".join(str(index + 1) for index in indices[:20])
                    line = self.project.line("chapters", indices[1], key)
                    message = (
                        f"chapters {numbers} have the same {noun}, '{shared_value}': {consequence}"
                    )
                    self.remarks.append(Problem(self.project.path, line, message))

    def _note_shared_rows(self) -> None:
        """Remark on texts that share a file of speakers, since their names differ only in the
        ending."""
        first_texts: dict[Path, Path] = {}
        for index, chapter in enumerate(self.manifest.chapters):
            text = Path(os.path.normpath(chapter.file or ""))
            speaker_file = speaker_file_path(text)
            if chapter.file and (first_text := first_texts.setdefault(speaker_file, text)) != text:
                both_names = f"'{excerpt(str(first_text))}' and '{excerpt(str(text))}'"
                rows_file = excerpt(str(speaker_file))
                message = f"{both_names} have one file of speakers, '{rows_file}': rename one"
                line = self.project.line("chapters", index, "file")
                self.remarks.append(Problem(self.project.path, line, message))

    def music(self) -> None:
        """Check the files of music, and that names are unique."""
        first_indices: dict[str, int] = {}
        for index, piece in enumerate(self.manifest.music):
            self._exists(piece.file, "music", index, "file")
            name = piece.name or f"[{index}]"
            if (first_index := first_indices.setdefault(name.casefold(), index)) != index:
                message = f"music '{excerpt(name)}' occurs twice; first in music[{first_index + 1}]"
                self._add_problem(message, "music", index, "name")

    def cover(self) -> None:
        """Check that the cover exists and is a JPEG or PNG image."""
        cover = self.manifest.cover
        if cover is not None and self._exists(cover, "cover"):
            with (self.project.root / cover).open("rb") as file:
                magic = file.read(8)
            if not magic.startswith(IMAGE_SIGNATURES):
                self._add_problem(
                    f"the cover is not a JPEG or PNG image: {excerpt(cover, 200)}", "cover"
                )

    def profiles(self) -> None:
        """Check the project's own profiles: their names, and templates of file names."""
        first_names: dict[str, str] = {}
        fields = self.project.facts.in_names().keys()
        for name, profile_settings in self.manifest.profiles.items():
            loc = ("profiles", name)
            first_name = first_names.setdefault(name.casefold(), name)
            if name.casefold() in profiles.PROFILES:
                self._add_problem(
                    f"'{name}' is a platform's profile: give yours another name", *loc
                )
            elif first_name != name:
                both_names = f"'{excerpt(name)}' and '{excerpt(first_name)}'"
                self._add_problem(f"{both_names} would share a folder: give one another name", *loc)
            if re.search(r'[<>:"/\\|?*\s.]', name) or strip_invisible(name) != name:
                message = (
                    f"a profile names a folder: letters, digits, - and _, not '{excerpt(name)}'"
                )
                self._add_problem(message, *loc)
            self._check_template(profile_settings.book_name, fields, *loc, "book_name")
            chapter_fields = (*fields, "number", "chapter", "name")
            self._check_template(
                profile_settings.chapter_name, chapter_fields, *loc, "chapter_name"
            )

    def output(self) -> None:
        """Check the profiles, the file name and the sample."""
        output = self.manifest.output
        self._check_template(output.name, self.project.facts.in_names().keys(), "output", "name")
        for name in output.profile or ():
            choices = [*profiles.PROFILES, *self.manifest.profiles]
            if name not in choices:
                message = describe_unknown_profile(name, choices, "your own go under `profiles`")
                self._add_problem(message, "output", "profile")
        titles = [chapter.title for chapter in self.manifest.chapters]
        sample = output.sample or Sample()
        numbers = {str(number) for number in range(1, len(titles) + 1)}
        if sample.chapter not in numbers:
            self._require_known("chapter", sample.chapter, titles, "output", "sample", "chapter")
        for profile in self._output_profiles():
            if profile.sample is not None and sample.seconds < profile.sample[0]:
                message = (
                    f"profile {profile.name} asks for a sample of {profile.sample[0]:g} s or more: "
                    f"raise output.sample.seconds, which is {sample.seconds:g}"
                )
                self._add_problem(message, "output", "sample", "seconds")

    def _output_profiles(self) -> Iterator[Profile]:
        """Yields the profiles in `output` that exist."""
        for name in self.manifest.output.profile or ():
            with contextlib.suppress(KeyError):
                yield self.project.profile(name)

    def credits(self) -> None:
        """Check the credits: their speaker, their templates, and if a profile requires them."""
        credit_settings = self.manifest.credits
        if credit_settings is None:
            for profile in self._output_profiles():
                if profile.credits:
                    message = (
                        f"profile {profile.name} asks for opening and closing credits: add "
                        "`credits: {}`, or your own under it"
                    )
                    self._add_problem(message, "output", "profile")
            return
        self._require_speaker(credit_settings.speaker, "credits", "speaker")
        if credit_settings.speaker is None and self.project.narrator is None:
            self._add_problem("nobody speaks the credits: name a `speaker`", "credits")
        try:
            credits(self.project)
        except KeyError as error:
            names = ", ".join(f"{{{name}}}" for name in self.project.facts.in_credits())
            self._add_problem(
                f"credits: no field {{{excerpt(error.args[0])}}}; use {names}", "credits"
            )
        except LookupError as error:
            key = {"narrator": "narrated_by", "part": "series", "year": "date"}
            name = error.args[0]
            message = (
                f"the credits name {{{name}}}, but the manifest has no `{key.get(name, name)}`"
            )
            self._add_problem(message, "credits")


def describe_unknown_profile(name: str, choices: Sequence[str], own_profiles_hint: str) -> str:
    """The message for a profile that does not exist.

    `own_profiles_hint` says where the user's profiles are.
    """
    profiles_by_platform = {
        "amazon": "acx",
        "audible": "acx",
        "itunes": "apple-podcasts",
        "ebu": "ebu-r128",
    }
    guess = profiles_by_platform.get(name.casefold()) or nearest(name, choices)
    hint = f"did you mean '{guess}'? There" if guess else "there"
    profile_names = ", ".join(map(excerpt, choices))
    return f"unknown profile '{excerpt(name)}'; {hint} are {profile_names}; {own_profiles_hint}"


def is_label(name: str) -> bool:
    """True if a name can stand before a colon as the label of its speaker."""
    return bool(strip_invisible(name).strip()) and not any(
        character in name for character in ":()[]{}\n*"
    )


def _fold(label: str) -> str:
    return strip_invisible(label).casefold()


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError, RuntimeError):
        return False


def describe_stray_path(project: Project, name: str) -> str | None:
    """The reason why a file, with links resolved, is in no allowed folder; None if it is in one."""
    outside_folders = (project.root / folder for folder in project.manifest.outside)
    allowed_folders = [
        place.resolve() for place in (project.root, *filter(_is_folder, outside_folders))
    ]
    try:
        return _find_stray_reason(project, name, allowed_folders)
    except (OSError, ValueError, RuntimeError):  # no name, a circle of links
        return f"no such file: {excerpt(name, 400)}"


def _find_stray_reason(project: Project, name: str, allowed_folders: Iterable[Path]) -> str | None:
    """The reason why a file is in no allowed folder. Raises OSError, ValueError, RuntimeError."""
    real_path = (project.root / name).resolve()
    is_inside = any(real_path.is_relative_to(folder) for folder in allowed_folders)
    return None if is_inside else _describe_outside_file(name, real_path)


def _describe_outside_file(name: str, real_path: Path) -> str:
    """The message for a file outside of the project, by its path or by a link."""
    path = Path(name)
    is_linked = not (path.is_absolute() or ".." in path.parts)
    folder = excerpt(str(real_path.parent if is_linked else path.parent), 400)
    return (
        f"{excerpt(name, 400)} {'leads' if is_linked else 'lies'} outside of the project: copy it "
        f"into the project, or allow its folder: outside: [{folder}]"
    )
