"""book.yaml -> manifest -> script -> chunks: a project's whole text, ready for any engine.

The first steps of the spine, which every command begins with, and what an engine leaves out of it.
Starts no engine; knows no takes, no files but the project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Protocol

from narrator import files
from narrator.cast.cast import resolve
from narrator.characters import quoted
from narrator.delivery import music
from narrator.engines.voice import Cast
from narrator.errors import ManifestError, Problem, ScriptError
from narrator.pipeline import speakers
from narrator.project import load
from narrator.project.project import Project
from narrator.project.schema import Pauses
from narrator.speech.plan import SILENT, CutChapter, Utterance, divided, utterances
from narrator.text import labels, script
from narrator.text.kept import Kept
from narrator.text.lines import Chapter, Foreign, LeftOut
from narrator.text.normalize import Lexicon
from narrator.text.patterns import Slow
from narrator.text.sentences import primary
from narrator.text.slips import Slip
from narrator.text.tongues import called, strange

LARGEST_TEXT = 64_000_000
"""Bytes of one chapter; the longest novels have 20 MB."""


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A project's whole text, ready to be spoken by any engine."""

    project: Project
    chapters: tuple[Chapter, ...]
    cast: Cast
    spoken: tuple[Utterance, ...]


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read of a project before, for one who reads it again after each edit."""

    scripts: Kept[Chapter] = field(default_factory=Kept)
    spoken: Kept[CutChapter] = field(default_factory=Kept)


def paragraphs(project: Project) -> tuple[Chapter, ...]:
    """The chapters of a project with a line for each paragraph, before they are parted by what is
    given to others and decided of quotations. Raises ScriptError with all problems at once."""
    chapters, problems = _paragraphs(project, roles_of(project), Kept())
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))  # a file may be two chapters
    return tuple(chapters)


def _paragraphs(
    project: Project, roles: labels.Roles, kept: Kept[Chapter]
) -> tuple[list[Chapter], list[Problem]]:
    """The chapters that can be read, and what is wrong with the others."""
    chapters: list[Chapter] = []
    problems: list[Problem] = []
    for number in range(len(project.chapters)):
        try:
            chapters.append(paragraphs_of(project, number, roles, kept=kept))
        except ScriptError as error:
            problems += error.problems
    return chapters, problems


def read(path: Path, before: Readings | None = None) -> Manuscript:
    """Manifest -> script -> chunks; of `before`, what has not changed since.

    Raises ManifestError, ScriptError with all problems at once.
    """
    project = load.load(path)
    cast = resolve(project)
    roles = roles_of(project)
    before = before or Readings()
    before.scripts.begin(roles)
    chapters, problems = _paragraphs(project, roles, before.scripts)
    lexicon, faults = lexicon_of(project)
    problems = [*faults, *problems]
    if len(chapters) == len(project.chapters):
        problems += music.problems(project, [chapters[n] for n in project.numbered])
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))  # a file may be two chapters
    chapters = speakers.parted(project, chapters, roles)
    chapters = [music.obeyed(project, chapter) for chapter in chapters]
    try:
        apart = project.manifest.pauses.line != Pauses().line  # the author's own is to be heard
        before.spoken.begin((project.lexicon, apart))
        spoken, whole = utterances(chapters, lexicon=lexicon, apart=apart, kept=before.spoken)
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
    return Manuscript(project, whole, cast, spoken)


def roles_of(project: Project) -> labels.Roles:
    """Who may speak in a project's texts, and how they are called."""
    known: dict[str, str] = {}
    spelt: dict[str, str] = {}
    cast = project.speakers.items()
    names = [(name, name) for name, _ in cast]  # before aliases, which several may share
    for label, name in (*names, *((one, name) for name, who in cast for one in who.aliases)):
        known.setdefault(labels.folded(label), name)
        spelt.setdefault(labels.folded(label), label)
    languages = {name: who.language for name, who in cast if who.language}
    return labels.Roles(known, project.narrator, languages, _declared(project), spelt)


def _declared(project: Project) -> list[str]:
    own = (chapter.language for chapter in project.chapters if chapter.language)
    return list(dict.fromkeys((project.manifest.language, *own)))


def paragraphs_of(
    project: Project,
    number: int,
    roles: labels.Roles,
    text: str | None = None,
    *,
    kept: Kept[Chapter] | None = None,
) -> Chapter:
    """One chapter of `paragraphs`, or what it would be with another text in its file; `kept` is
    what was read before.

    Raises ScriptError with all of its problems.
    """
    settings = project.chapters[number]
    language = settings.language or project.manifest.language
    if settings.file is not None:
        path = project.root / settings.file
        try:
            data = (
                files.read_whole(path, LARGEST_TEXT)
                if text is None
                else text.encode(errors="surrogateescape")
            )
            text = script.decode(data, path)
        except files.TooLarge:
            raise ScriptError(
                Problem(path, None, "larger than 64 MB, which no chapter is")
            ) from None
        except OSError as error:
            raise ScriptError(Problem(path, None, f"cannot be read: {error.strerror}")) from None
        whole = partial(
            script.read_chapter,
            text,
            path=path,
            title=settings.title,
            language=language,
            roles=roles,
            speaker=settings.speaker,
        )
        kept = Kept() if kept is None else kept
        return kept.get((text, path, settings.title, language, settings.speaker), whole)
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


def lexicon_of(project: Project) -> tuple[Lexicon, list[Problem]]:
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


class Speaks(Protocol):
    """An engine, or what is known of it before it is made."""

    @property
    def name(self) -> str: ...

    def speaks(self, language: str) -> bool:
        """Raises EngineUnavailable."""
        ...

    def language_advice(self, language: str) -> str:
        """As `Engine.language_advice`."""
        ...

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        """As `Engine.can_say`."""
        ...


SHARE = 0.2
"""Of a book's speech that its own language has at least: where it has less, it is not its own."""


def main_language(manuscript: Manuscript) -> str:
    """The language that a book says it is in, or what most of it is in, if next to nothing is."""
    own = manuscript.project.manifest.language
    said = _seconds_in(manuscript)
    ours = sum(time for tag, time in said.items() if primary(tag) == primary(own))
    return own if ours >= SHARE * sum(said.values()) else max(said, key=said.__getitem__)


def _seconds_in(manuscript: Manuscript) -> dict[str, float]:
    """Expected speech in each language of a book."""
    seconds: dict[str, float] = {}
    for one in manuscript.spoken:
        if not one.with_before:
            seconds[one.language] = seconds.get(one.language, 0.0) + one.expected
    return seconds


def spoken_by(manuscript: Manuscript, engines: Mapping[str, Speaks]) -> Manuscript:
    """The manuscript without what its engines cannot say, which is left out and listed.

    `engines` go by speaker. What is in the main language of the book stays: without it there is
    none. Raises EngineUnavailable.
    """
    main = primary(main_language(manuscript))

    @cache
    def lacks(speaker: str, language: str) -> str | None:
        engine = engines[speaker]
        if primary(language) == main or engine.speaks(language):
            return None
        advice = engine.language_advice(language)
        return f"in “{language}”, a language that the engine {engine.name} lacks{advice}"

    def why_left_out(one: Utterance) -> str | None:
        if reason := lacks(one.chunk.speaker, one.language):
            return reason
        engine = engines[one.chunk.speaker]
        if engine.can_say(one.spoken.text, one.language, one.spoken.pronunciations):
            return None
        return f"without a sound in the engine {engine.name}"

    spoken: list[Utterance] = []
    chapters = list(manuscript.chapters)
    for number, own in groupby(manuscript.spoken, key=lambda one: one.chapter):
        kept, left = divided(list(own), why_left_out)
        spoken += kept
        whole = (*chapters[number].left_out, *left)
        chapters[number] = replace(chapters[number], left_out=whole)
    return replace(manuscript, chapters=tuple(chapters), spoken=tuple(spoken))


def unspoken(manuscript: Manuscript) -> list[Problem]:
    """What `spoken_by` has left out, once for each language."""
    found: dict[str, list[LeftOut]] = {}
    for item in dict.fromkeys(item for chapter in manuscript.chapters for item in chapter.left_out):
        if item.of_line and item.reason != SILENT:
            found.setdefault(item.reason, []).append(item)
    main = main_language(manuscript)
    return [
        Problem(
            items[0].path,
            items[0].line,
            f"left out{_more_lines(len(items) - 1)}: {reason}{_instead(items[0].text, main)}",
        )
        for reason, items in found.items()
    ]


def _instead(text: str, main: str) -> str:
    """How to have a text read as a book's own language, where it is in its letters."""
    odd = strange(text, main)
    if odd and odd.mostly:
        return ""
    return f"; to have it read as “{main}”, write [language: {main}] before it"


def oddities(manuscript: Manuscript, spells: Collection[str]) -> Iterator[Problem]:
    """What is odd about the text of a book and keeps nobody from speaking it, each kind once.

    `spells` are the alphabets of which the draft voice says single letters within other text.
    """
    yield from unseen(manuscript)
    yield from dict.fromkeys(one for chapter in manuscript.chapters for one in chapter.warnings)
    yield from slips(manuscript)
    said = _seconds_in(manuscript)
    found: dict[tuple[str, str, str | None], list[Foreign]] = {}
    for one in dict.fromkeys(one for chapter in manuscript.chapters for one in chapter.foreign):
        found.setdefault((one.alphabet, one.around, one.said_in), []).append(one)
    for (alphabet, around, said_in), places in found.items():
        first, more = places[0], _more_lines(sum(one.count for one in places) - 1)
        what = f"“{quoted(first.sample, 30)}” is in {called(alphabet)}{more}"
        if said_in is not None:
            what += f", and is said in “{said_in}”, not in “{around}”: "
            what += (
                f"set `language: {said_in}` in {manuscript.project.path.name}"
                if 2 * said.get(said_in, 0.0) > sum(said.values())
                else f"write [language: {said_in}] before and [language: off] after such lines, "
                "or set `language` of chapter or speaker"
            )
        elif alphabet in spells:
            what += (
                ": within other text the draft voice names such letters one by one; "
                "{written|spoken} says how they sound"
            )
        else:
            continue
        yield Problem(first.path, first.line, what)


def _once(chapters: Sequence[Chapter]) -> list[Chapter]:
    """Chapters without those that read again what another has read."""
    first: dict[tuple[Path, int, str], Chapter] = {}
    for chapter in chapters:
        line = chapter.scenes[0].lines[0]
        first.setdefault((line.path, line.line, line.text), chapter)
    return list(first.values())


def _more_lines(count: int) -> str:
    return f" (and {count:,} more line{'s' * (count > 1)})" if count > 0 else ""


def unseen(manuscript: Manuscript) -> list[Problem]:
    """Characters that cannot be seen in texts and the manifest, each once, with its first place."""
    first: dict[str, tuple[Path, int]] = {}
    places: Counter[str] = Counter()
    chapters = (found for chapter in _once(manuscript.chapters) for found in chapter.unseen)
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


def slips(manuscript: Manuscript) -> list[Problem]:
    """What was meant as markup and would be spoken: each kind once, with its first place."""
    first: dict[str, Slip] = {}
    places: Counter[str] = Counter()
    for chapter in _once(manuscript.chapters):
        for slip in chapter.slips:
            first.setdefault(slip.matter, slip)
            places[slip.matter] += 1
    return [
        Problem(
            slip.path,
            slip.line,
            f"“{quoted(slip.written)}”{_more(places[matter] - 1)} {matter}{slip.hint}",
        )
        for matter, slip in first.items()
    ]


def _more(places: int) -> str:
    return f" (and in {places:,} more place{'s' * (places > 1)})" if places else ""


def source_and_left_out(manuscript: Manuscript) -> dict[str, int]:
    """Characters of all lines and of what is left out, and of the latter alone.

    What several say in unison counts once, and what one of them at least says is not left out.
    """
    lines = (line for c in manuscript.chapters for s in c.scenes for line in s.lines)
    unsaid = [i for chapter in manuscript.chapters for i in chapter.left_out if not i.in_part]
    left_out = sum(characters(item.text) for item in unsaid)
    twice = sum(characters(item.text) for item in unsaid if item.of_line)
    said = sum(characters(line.text) for line in lines if not line.with_before)
    return {
        "source": said + left_out - twice,
        "left_out": left_out,
    }


def characters(text: str) -> int:
    """Characters but white space: the same however a text is cut."""
    return sum(not character.isspace() for character in text)
