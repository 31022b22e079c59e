"""book.yaml -> a project, with all of its problems in one report.

Holds one value against another, and against the files that it names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import (
    ValidationError,
)

from narrator import files
from narrator.characters import quoted, seen
from narrator.errors import GUESSES, ManifestError, Problem, nearest
from narrator.project import profiles
from narrator.project.messages import problems_of, without_faults
from narrator.project.project import Project, credits, facts_of
from narrator.project.schema import Manifest, Sample, SpeechSettings
from narrator.project.yaml import read_yaml


def load(path: Path) -> Project:
    """Read and validate a manifest. Raises ManifestError with every problem found."""
    if path.is_dir():
        path = path / "book.yaml"
    reader, data = read_yaml(path)
    lines, problems = reader.lines, reader.problems
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as error:
        problems += problems_of(path, lines, error)
        rest = without_faults(data, error)
        if rest is not None:
            problems += _cross_checks(Project(path, rest, lines))
        raise ManifestError(sorted(set(problems), key=_order)) from None
    unseen = tuple((c, path, line, n) for c, (line, n) in reader.unseen.items())
    project = Project(path, manifest, lines, unseen)
    problems += _cross_checks(project)
    if problems:
        raise ManifestError(sorted(set(problems), key=_order))
    return project


def load_speech(path: Path) -> SpeechSettings:
    """What a manifest says of its language and engine, while the voices that it names are still to
    be made. Raises ManifestError."""
    _, data = read_yaml(path)
    try:
        return SpeechSettings.model_validate(data)
    except ValidationError:
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


_IMAGES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG"}


def _cross_checks(project: Project) -> list[Problem]:
    problems: list[Problem] = []

    def wrong(message: str, *loc: str | int) -> None:
        problems.append(Problem(project.path, project.line(*loc), message))

    def unknown(kind: str, name: str, choices: Mapping[str, object], *loc: str | int) -> None:
        if name not in choices:
            guess = nearest(name, list(choices)) if len(problems) < GUESSES else None
            declare = f"declare it under `{kind}s`"
            if kind == "voice":
                declare += ", or make a preset: narrator voices add, narrator voices design"
            hint = f"did you mean '{guess}'?" if guess else f"{declare}"
            wrong(f"unknown {kind} '{quoted(name)}'; {hint}", *loc)

    def exists(name: str, *loc: str | int) -> bool:
        target = project.root / name
        try:
            real = target.resolve()
            if not any(real.is_relative_to(place) for place in allowed):
                wrong(_outside(name, real), *loc)
                return False
            if target.is_file():
                return True
            if target.is_dir():
                wrong(f"it is a folder, not a file: {quoted(name, 400)}", *loc)
                return False
            beside = [p.name for p in target.parent.iterdir()] if len(problems) < GUESSES else []
        except (OSError, ValueError, RuntimeError):  # no folder, no name, links in a circle
            beside = []
        guess = nearest(target.name, beside)
        hint = f"; did you mean '{Path(name).with_name(guess)}'?" if guess else ""
        wrong(f"no such file: {quoted(name, 400)}{hint}", *loc)
        return False

    manifest = project.manifest
    allowed = [project.root.resolve()]
    for i, folder in enumerate(manifest.outside):
        place = project.root / folder
        if _is_folder(place):
            allowed.append(place.resolve())
        else:
            wrong(f"no such folder: {quoted(folder, 400)}", "outside", i)
    labels: dict[str, str] = {}
    for name, speaker in manifest.speakers.items():
        for label in (name, *speaker.aliases):
            other = labels.setdefault(seen(label).casefold(), name)
            if other != name:
                wrong(f"'{quoted(label)}' already names the speaker '{quoted(other)}'",
                      "speakers", name)  # fmt: skip
            if not seen(label).strip() or any(c in label for c in ":()[]{}\n*"):
                wrong(f"a speaker's name may not hold any of : ( ) [ ] {{ }} *: '{quoted(label)}'",
                      "speakers", name)  # fmt: skip
        if isinstance(speaker.voice, str):
            if preset_path(project.root, speaker.voice) is None:
                unknown("voice", speaker.voice, manifest.voices, "speakers", name, "voice")
        elif speaker.voice is not None and speaker.voice.reference is not None:
            exists(speaker.voice.reference, "speakers", name, "voice", "reference")
    for name, voice in manifest.voices.items():
        if voice.reference is not None:
            exists(voice.reference, "voices", name, "reference")
    if manifest.narrator is not None:
        unknown("speaker", manifest.narrator, project.speakers, "narrator")
    for i, chapter in enumerate(manifest.chapters):
        if chapter.file is not None:
            exists(chapter.file, "chapters", i, "file")
        if chapter.speaker is not None:
            unknown("speaker", chapter.speaker, project.speakers, "chapters", i, "speaker")
    for i, entry in enumerate(project.lexicon):
        if entry.speaker is not None:
            unknown("speaker", entry.speaker, project.speakers, "lexicon", i, "speaker")
    named: dict[str, int] = {}
    for i, piece in enumerate(manifest.music):
        exists(piece.file, "music", i, "file")
        first = named.setdefault((piece.name or f"[{i}]").casefold(), i)
        if first != i:
            called = quoted(piece.name or "")
            wrong(f"music '{called}' stands twice; first in music[{first + 1}]",
                  "music", i, "name")  # fmt: skip
    if manifest.source is not None:
        exists(manifest.source, "source")
    if manifest.cover is not None and exists(manifest.cover, "cover"):
        with (project.root / manifest.cover).open("rb") as file:
            magic = file.read(8)
        if not any(magic.startswith(start) for start in _IMAGES):
            wrong(f"the cover is no JPEG or PNG image: {quoted(manifest.cover, 200)}", "cover")
    _check_delivery(project, wrong, unknown)
    return problems


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError, RuntimeError):
        return False


def _outside(name: str, real: Path) -> str:
    """What is said of a file that is not the project's, in its folder or by a link."""
    written = Path(name)
    linked = not (written.is_absolute() or ".." in written.parts)
    folder = quoted(str(real.parent if linked else written.parent), 400)
    return (
        f"{quoted(name, 400)} {'leads' if linked else 'lies'} outside of the project: copy it into "
        f"the project, or allow its folder: outside: [{folder}]"
    )


NAME_FIELDS = ("title", "author", "narrator", "series", "part", "year", "publisher", "language")
"""Facts that names of files can hold; a chapter's also `number`, `chapter`, the book's `name`."""


def _check_delivery(
    project: Project, wrong: Callable[..., None], unknown: Callable[..., None]
) -> None:
    """Names of files, profiles, the sample, the credits."""
    manifest, output = project.manifest, project.manifest.output
    every = (*NAME_FIELDS, "number", "chapter", "name")

    def template(text: str, known: Sequence[str], *loc: str) -> None:
        for field in re.findall(r"\{(\w*)\}", text):
            if field not in known:
                names = ", ".join(f"{{{name}}}" for name in known)
                wrong(f"{'.'.join(loc)}: no field {{{quoted(field)}}}; use {names}", *loc)

    template(output.name, NAME_FIELDS, "output", "name")
    folders: dict[str, str] = {}
    for name, own in manifest.profiles.items():
        first = folders.setdefault(name.casefold(), name)
        if name.casefold() in profiles.PROFILES:
            wrong(f"'{name}' is a platform's profile: give yours another name", "profiles", name)
        elif first != name:
            wrong(f"'{quoted(name)}' and '{quoted(first)}' would share a folder: give one another "
                  "name", "profiles", name)  # fmt: skip
        if re.search(r'[<>:"/\\|?*\s.]', name) or seen(name) != name:
            wrong(f"a profile names a folder: letters, digits, - and _, not '{quoted(name)}'",
                  "profiles", name)  # fmt: skip
        template(own.book_name or "", NAME_FIELDS, "profiles", name, "book_name")
        template(own.chapter_name or "", every, "profiles", name, "chapter_name")
    for name in output.profile or ():
        unknown("profile", name, {**profiles.PROFILES, **manifest.profiles}, "output", "profile")
    if output.sample is not None:
        chapters = {str(i + 1) for i in range(len(manifest.chapters))}
        titles = [chapter.title for chapter in manifest.chapters]
        if output.sample.chapter not in chapters:
            unknown("chapter", output.sample.chapter, titles, "output", "sample", "chapter")
    length = (output.sample or Sample()).seconds
    known = {**profiles.PROFILES, **manifest.profiles}
    for name in output.profile or ():
        span = project.profile(name).sample if name in known else None
        if span is not None and length < span[0]:
            wrong(f"profile {name} asks for a sample of {span[0]:g} s or more: raise "
                  f"output.sample.seconds, which is {length:g}",
                  "output", "sample", "seconds")  # fmt: skip
    _check_credits(project, wrong, unknown)


def _check_credits(
    project: Project, wrong: Callable[..., None], unknown: Callable[..., None]
) -> None:
    spoken = project.manifest.credits
    known = {**profiles.PROFILES, **project.manifest.profiles}
    if spoken is None:
        for name in project.manifest.output.profile or ():
            if name in known and project.profile(name).credits:
                wrong(f"profile {name} asks for opening and closing credits: add `credits: {{}}`, "
                      "or your own under it", "output", "profile")  # fmt: skip
        return
    if spoken.speaker is not None:
        unknown("speaker", spoken.speaker, project.speakers, "credits", "speaker")
    elif project.narrator is None:
        wrong("nobody speaks the credits: name a `speaker`", "credits")
    try:
        credits(project)
    except KeyError as error:
        names = ", ".join(f"{{{name}}}" for name in facts_of(project))
        wrong(f"credits: no field {{{quoted(error.args[0])}}}; use {names}", "credits")
    except LookupError as error:
        key = {"narrator": "narrated_by", "part": "series", "year": "date"}
        name = error.args[0]
        wrong(f"the credits name {{{name}}}, but the manifest has no `{key.get(name, name)}`",
              "credits")  # fmt: skip
