"""book.yaml -> manifest -> script -> chunks: a project's whole text, ready for any engine.

The first steps of the spine, which every command begins with. Knows no engine, no takes, no files
but the project's own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from narrator import files
from narrator.cast.cast import resolve
from narrator.delivery import music
from narrator.engines.voice import Cast
from narrator.errors import ManifestError, Problem, ScriptError
from narrator.project import load
from narrator.project.project import Project
from narrator.speech.plan import SILENT, Utterance, utterances
from narrator.text import script
from narrator.text.lines import Chapter
from narrator.text.normalize import Lexicon
from narrator.text.patterns import Slow

LARGEST_TEXT = 64_000_000
"""Bytes of one chapter; the longest novels have 20 MB."""


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A project's whole text, ready to be spoken by any engine."""

    project: Project
    chapters: tuple[Chapter, ...]
    cast: Cast
    spoken: tuple[Utterance, ...]


def read(path: Path) -> Manuscript:
    """Manifest -> script -> chunks. Raises ManifestError, ScriptError with all problems at once."""
    project = load.load(path)
    cast = resolve(project)
    languages = {name: voice.language for name, voice in cast.items() if voice.language}
    roles = script.Roles(_labels(project), project.narrator, languages)
    chapters: list[Chapter] = []
    lexicon, problems = _lexicon(project)
    for number in range(len(project.chapters)):
        try:
            chapters.append(_chapter(project, number, roles))
        except ScriptError as error:
            problems += error.problems
    if len(chapters) == len(project.chapters):
        problems += music.problems(project, [chapters[n] for n in project.numbered])
    if problems:
        raise ScriptError(problems)
    try:
        spoken, silent = utterances(chapters, cast=cast, lexicon=lexicon)
    except Slow as error:
        raise ManifestError(_too_slow(project, error)) from None
    heard = {utterance.chapter for utterance in spoken}
    problems = [
        Problem(
            project.path,
            project.line(*project.chapter_loc(n)),
            f"'{chapter.title}' has nothing to speak",
        )
        for n, chapter in enumerate(chapters)
        if n not in heard
    ]
    if problems:
        raise ScriptError(problems)
    whole = tuple(
        replace(chapter, left_out=(*chapter.left_out, *silent[number]))
        for number, chapter in enumerate(chapters)
    )
    return Manuscript(project, whole, cast, spoken)


def _labels(project: Project) -> dict[str, str]:
    return {
        script.folded(label): name
        for name, speaker in project.speakers.items()
        for label in (name, *speaker.aliases)
    }


def _chapter(project: Project, number: int, roles: script.Roles) -> Chapter:
    settings = project.chapters[number]
    language = settings.language or project.manifest.language
    if settings.file is not None:
        path = project.root / settings.file
        try:
            text = script.decode(files.read_whole(path, LARGEST_TEXT), path)
        except files.TooLarge:
            raise ScriptError(
                Problem(path, None, "larger than 64 MB, which no chapter is")
            ) from None
        except OSError as error:
            raise ScriptError(Problem(path, None, f"cannot be read: {error.strerror}")) from None
        return script.read_chapter(
            text,
            path=path,
            title=settings.title,
            language=language,
            roles=roles,
            speaker=settings.speaker,
        )
    lines: list[tuple[int, str | tuple[str, str]]] = []
    for i, line in enumerate(settings.lines or ()):
        where = project.line(*project.chapter_loc(number), "lines", i) or 1
        lines.append((where, line if isinstance(line, str) else next(iter(line.items()))))
    return script.read_lines(
        lines,
        path=project.path,
        title=settings.title,
        language=language,
        roles=roles,
        speaker=settings.speaker,
    )


def _lexicon(project: Project) -> tuple[Lexicon, list[Problem]]:
    """The lexicon; or one of the entries that work, and what is wrong with the others."""
    lexicon = Lexicon()
    problems: list[Problem] = []
    for i, entry in enumerate(project.lexicon):
        try:
            lexicon.add(entry)
        except (ValueError, OverflowError) as error:
            place = i if isinstance(project.manifest.lexicon, tuple) else str(entry.word)
            problems.append(Problem(project.path, project.line("lexicon", place), str(error)))
    return lexicon, problems


def _too_slow(project: Project, error: Slow) -> Problem:
    patterns = [entry.pattern for entry in project.lexicon]
    loc = ("lexicon", patterns.index(error.pattern)) if error.pattern in patterns else ("lexicon",)
    return Problem(project.path, project.line(*loc), str(error))


def unseen(manuscript: Manuscript) -> list[Problem]:
    """Characters that cannot be seen in texts and the manifest, each once, with its first place."""
    first: dict[str, tuple[Path, int]] = {}
    places: Counter[str] = Counter()
    chapters = (found for chapter in manuscript.chapters for found in chapter.unseen)
    for character, path, line, count in (*manuscript.project.unseen, *chapters):
        first.setdefault(character, (path, line))
        places[character] += count
    return [
        Problem(
            path,
            line,
            f"U+{ord(character):04X}{_more(places[character] - 1)}, a character that cannot be "
            "seen: it is not spoken, and no name of a file holds it",
        )
        for character, (path, line) in first.items()
    ]


def _more(places: int) -> str:
    return f" (and in {places:,} more place{'s' * (places > 1)})" if places else ""


def source_and_left_out(manuscript: Manuscript) -> dict[str, int]:
    """Characters of all lines and of what is left out, and of the latter alone."""
    lines = (line for c in manuscript.chapters for s in c.scenes for line in s.lines)
    unsaid = [item for chapter in manuscript.chapters for item in chapter.left_out]
    left_out = sum(characters(item.text) for item in unsaid)
    twice = sum(characters(item.text) for item in unsaid if item.reason == SILENT)
    return {
        "source": sum(characters(line.text) for line in lines) + left_out - twice,
        "left_out": left_out,
    }


def characters(text: str) -> int:
    """Characters but white space: the same however a text is cut."""
    return sum(not character.isspace() for character in text)
