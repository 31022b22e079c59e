"""book.yaml -> manifest -> script -> chunks: the text of a project, ready for any engine.

These are the first steps of the spine, which every command begins with, and the removal of text
that an engine cannot speak. Starts no engine; knows no takes, and no files but the project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from narrator import files
from narrator.cast.cast import resolve
from narrator.delivery import music
from narrator.engines import LanguageSupport
from narrator.engines.spec import EngineSpec
from narrator.engines.voice import Cast
from narrator.errors import ManifestError, Problem, ScriptError
from narrator.pipeline import speakers
from narrator.project import load
from narrator.project.project import Project
from narrator.project.schema import Pauses
from narrator.speech.plan import (
    SILENT_REASON,
    SpokenChapters,
    Utterance,
    make_utterances,
    split_spoken,
)
from narrator.text import labels, script
from narrator.text.chunks import ChunkTargets
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Foreign, OmittedText
from narrator.text.memo import LastValues
from narrator.text.normalize import Lexicon
from narrator.text.pace import expected_seconds
from narrator.text.slips import Slip
from narrator.text.speaker_files import SpeakerFile
from textbase.characters import excerpt
from textbase.languages import primary
from textbase.patterns import SlowPattern
from textbase.tongues import alphabet_name, find_foreign_letters

LARGEST_TEXT = 64_000_000
"""Largest chapter file in bytes; the longest novels have 20 MB."""


@dataclass(frozen=True, slots=True)
class Manuscript:
    """The full text of a project, ready to be spoken by any engine."""

    project: Project
    chapters: tuple[Chapter, ...]
    cast: Cast
    spoken: tuple[Utterance, ...]

    def spoken_by(self, engine: str) -> Manuscript:
        """As `Project.spoken_by`."""
        return replace(self, project=self.project.spoken_by(engine))


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read last of each chapter, for callers that read a project again after each edit."""

    scripts: LastValues[Chapter] = field(default_factory=LastValues)
    lines: LastValues[Chapter] = field(default_factory=LastValues)
    """The same, split by speaker."""
    speaker_files: LastValues[SpeakerFile] = field(default_factory=LastValues)
    spoken: SpokenChapters = field(default_factory=SpokenChapters)


def paragraphs(project: Project, scripts: LastValues[Chapter] | None = None) -> tuple[Chapter, ...]:
    """The chapters of a project with a line for each paragraph.

    They are not yet split by speaker within a paragraph. `scripts` holds the chapters as they were
    read last. Raises ScriptError with all problems at once.
    """
    chapters, problems = _read_chapters(project, roles_of(project), scripts or LastValues())
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))  # a file may be two chapters
    return tuple(chapters)


def _read_chapters(
    project: Project, roles: Roles, scripts: LastValues[Chapter]
) -> tuple[list[Chapter], list[Problem]]:
    """The chapters that can be read, and the problems of the others."""
    chapters: list[Chapter] = []
    problems: list[Problem] = []
    for number in range(len(project.chapters)):
        try:
            chapters.append(paragraphs_of(project, number, roles, scripts=scripts))
        except ScriptError as error:
            problems += error.problems
    return chapters, problems


def read_manuscript(
    path: Path, caches: Readings | None = None, *, project: Project | None = None
) -> Manuscript:
    """Read a project: manifest -> script -> chunks. Unchanged parts come from `caches`.

    `project` is that of the manifest, where it was loaded before. Raises ManifestError, ScriptError
    with all problems at once.
    """
    project = project or load.load(path)
    cast = resolve(project)
    roles = roles_of(project)
    caches = caches or Readings()
    chapters, problems = _read_chapters(project, roles, caches.scripts)
    lexicon, lexicon_problems = lexicon_of(project)
    problems = [*lexicon_problems, *problems]
    if len(chapters) == len(project.chapters):
        problems += music.problems(project, [chapters[number] for number in project.numbered])
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))  # a file may be two chapters
    chapters = speakers.split_by_speaker(
        project, chapters, roles, lines=caches.lines, known_files=caches.speaker_files
    )
    chapters = [music.drop_unplayable_marks(project, chapter) for chapter in chapters]
    try:
        has_line_pause = (
            project.manifest.pauses.line != Pauses().line
        )  # the author's own is to be heard
        spoken, complete_chapters = make_utterances(
            chapters,
            lexicon=lexicon,
            separate_lines=has_line_pause,
            targets=_chunk_targets(project, cast),
            known=caches.spoken,
        )
    except SlowPattern as error:
        raise ManifestError(_describe_slow_pattern(project, error)) from None
    spoken_chapters = {utterance.chapter for utterance in spoken}
    problems = [
        Problem(
            project.path,
            project.line(*project.chapter_loc(number)),
            f"'{chapter.title}' has nothing to speak",
        )
        for number, chapter in enumerate(chapters)
        if number not in spoken_chapters
    ]
    if problems:
        raise ScriptError(problems)
    return Manuscript(project, complete_chapters, cast, spoken)


def _chunk_targets(project: Project, cast: Cast) -> ChunkTargets:
    """The lengths of chunks; the default ones depend on nobody's style."""
    styled_s = project.manifest.chunks.styled_seconds
    if styled_s is None:
        return ChunkTargets()
    return ChunkTargets(styled_s, frozenset(name for name, voice in cast.items() if voice.style))


def roles_of(project: Project) -> Roles:
    """The speakers that a project's texts may name, with their aliases and languages."""
    names_by_label: dict[str, str] = {}
    spellings: dict[str, str] = {}
    speaker_entries = project.speakers.items()
    own_labels = [
        (name, name) for name, _ in speaker_entries
    ]  # before aliases, which several may share
    for label, name in (
        *own_labels,
        *((alias, name) for name, speaker in speaker_entries for alias in speaker.aliases),
    ):
        names_by_label.setdefault(labels.fold_label(label), name)
        spellings.setdefault(labels.fold_label(label), label)
    languages = {name: speaker.language for name, speaker in speaker_entries if speaker.language}
    chapter_languages = (chapter.language for chapter in project.chapters if chapter.language)
    declared_languages = list(dict.fromkeys((project.manifest.language, *chapter_languages)))
    return Roles(names_by_label, project.narrator, languages, declared_languages, spellings)


def paragraphs_of(
    project: Project,
    number: int,
    roles: Roles,
    text: str | None = None,
    *,
    scripts: LastValues[Chapter] | None = None,
) -> Chapter:
    """One chapter of `paragraphs`, or that chapter with another text in its file.

    `scripts` holds the chapters as they were read last. Raises ScriptError with all problems of the
    chapter.
    """
    settings = project.chapters[number]
    language = settings.language or project.manifest.language
    if settings.file is not None:
        path = project.root / settings.file
        try:
            content = (
                files.read_bounded(path, LARGEST_TEXT)
                if text is None
                else text.encode(errors="surrogateescape")
            )
            text = script.decode_chapter(content, path)
        except files.TooLarge:
            raise ScriptError(
                Problem(path, None, "larger than 64 MB, too large for a chapter")
            ) from None
        except OSError as error:
            raise ScriptError(Problem(path, None, f"cannot be read: {error.strerror}")) from None
        facts = (text, path, settings.title, language, roles, settings.speaker)
        scripts = LastValues() if scripts is None else scripts
        return scripts.get(number, facts, lambda: _read_chapter(*facts))
    lines: list[tuple[int, str | tuple[str, str]]] = []
    for i, line in enumerate(settings.lines or ()):
        line_number = project.line(*project.chapter_loc(number), "lines", i) or 1
        lines.append((line_number, line if isinstance(line, str) else next(iter(line.items()))))
    return script.read_lines(
        lines,
        path=project.path,
        title=settings.title,
        language=language,
        roles=roles,
        speaker=settings.speaker,
    )


@lru_cache(maxsize=4)  # an edit looks at the same texts again and again, before and after
def _read_chapter(
    text: str, path: Path, title: str, language: str, roles: Roles, speaker: str | None
) -> Chapter:
    """The chapter of a text. Raises ScriptError with all problems."""
    return script.read_chapter(
        text, path=path, title=title, language=language, roles=roles, speaker=speaker
    )


def lexicon_of(project: Project) -> tuple[Lexicon, list[Problem]]:
    """The valid entries of a project's lexicon, and the problems of the others."""
    lexicon = Lexicon()
    problems: list[Problem] = []
    for index, entry in enumerate(project.lexicon):
        try:
            lexicon.add(entry)
        except (ValueError, OverflowError) as error:
            key = index if isinstance(project.manifest.lexicon, tuple) else str(entry.word)
            problems.append(Problem(project.path, project.line("lexicon", key), str(error)))
    return lexicon, problems


def _describe_slow_pattern(project: Project, error: SlowPattern) -> Problem:
    """The problem of a lexicon pattern that takes too long."""
    patterns = [entry.pattern for entry in project.lexicon]
    loc = ("lexicon", patterns.index(error.pattern)) if error.pattern in patterns else ("lexicon",)
    return Problem(project.path, project.line(*loc), str(error))


MIN_MAIN_LANGUAGE_SHARE = 0.2
"""Share of a book's speech from which the declared language counts as its main language."""


def main_language(manuscript: Manuscript) -> str:
    """The language that the manifest declares; if hardly any text is in it, the language of most
    text."""
    declared_language = manuscript.project.manifest.language
    seconds_by_language = _seconds_by_language(manuscript)
    declared_seconds = sum(
        time
        for tag, time in seconds_by_language.items()
        if primary(tag) == primary(declared_language)
    )
    return (
        declared_language
        if declared_seconds >= MIN_MAIN_LANGUAGE_SHARE * sum(seconds_by_language.values())
        else max(seconds_by_language, key=seconds_by_language.__getitem__)
    )


def _seconds_by_language(manuscript: Manuscript) -> dict[str, float]:
    """Expected seconds of speech in each language of a book."""
    seconds: dict[str, float] = {}
    for utterance in manuscript.spoken:
        chunk = utterance.chunk
        if not (chunk.unison_speakers and chunk.with_before):  # thousands of times
            language = chunk.pieces[0].line.language
            seconds[language] = seconds.get(language, 0.0) + utterance.expected
    return seconds


SpeakableChapter = tuple[tuple[Utterance, ...], Sequence[OmittedText]]
"""The utterances of a chapter that its engines can say, and the text that they cannot."""


def leave_out_unspeakable(
    manuscript: Manuscript,
    engines: Mapping[str, LanguageSupport],
    known: LastValues[SpeakableChapter] | None = None,
) -> Manuscript:
    """The manuscript without the text that its engines cannot say, which is listed as left out;
    parts of a chunk that they cannot say take no time.

    `engines` go by speaker. Text in the main language of the book stays, since without it nothing
    is left. `known` holds what became of the chapters last. Raises EngineUnavailable.
    """
    main_tag = primary(main_language(manuscript))

    @cache
    def missing_language_reason(speaker: str, language: str) -> str | None:
        engine = engines[speaker]
        if primary(language) == main_tag or engine.speaks(language):
            return None
        advice = engine.language_advice(language)
        return f"in “{language}”, a language that the engine {engine.name} lacks{advice}"

    def left_out_reason(utterance: Utterance) -> str | None:
        if reason := missing_language_reason(utterance.chunk.speaker, utterance.language):
            return reason
        engine = engines[utterance.chunk.speaker]
        if engine.can_say(
            utterance.spoken.text, utterance.language, utterance.spoken.pronunciations
        ):
            return None
        return f"{_WITHOUT_SOUND} {engine.name}"

    def audible_seconds(utterance: Utterance) -> float:
        spoken, language = utterance.spoken, utterance.language
        parts = engines[utterance.chunk.speaker].silent_parts(
            spoken.text, language, spoken.pronunciations
        )
        silent = "".join(part.text for part in parts if not part.ipa_error)
        return expected_seconds(spoken.text, language) - expected_seconds(silent, language)

    def split_chapter(chapter_utterances: Sequence[Utterance]) -> SpeakableChapter:
        speakable, newly_left_out = split_spoken(chapter_utterances, left_out_reason)
        return tuple(replace(u, expected=audible_seconds(u)) for u in speakable), newly_left_out

    utterances: list[Utterance] = []
    chapters = list(manuscript.chapters)
    known = known or LastValues()
    for number, group in groupby(manuscript.spoken, key=attrgetter("chapter")):
        chapter_utterances = tuple(group)
        speakable, newly_left_out = known.get(
            number,
            (chapter_utterances, main_tag, engines),
            partial(split_chapter, chapter_utterances),
        )
        utterances += speakable
        if newly_left_out:
            left_out = (*chapters[number].left_out, *newly_left_out)
            chapters[number] = replace(chapters[number], left_out=left_out)
    return replace(manuscript, chapters=tuple(chapters), spoken=tuple(utterances))


_WITHOUT_SOUND = "without a sound in the engine"


def find_unspoken(manuscript: Manuscript) -> list[Problem]:
    """The text that `leave_out_unspeakable` has left out, one problem for each language."""
    left_out_by_reason: dict[str, list[OmittedText]] = {}
    for left_out_text in dict.fromkeys(
        left_out_text for chapter in manuscript.chapters for left_out_text in chapter.left_out
    ):
        if left_out_text.is_in_line and left_out_text.reason != SILENT_REASON:
            left_out_by_reason.setdefault(left_out_text.reason, []).append(left_out_text)
    main = main_language(manuscript)
    return [
        Problem(
            left_out_texts[0].path,
            left_out_texts[0].line,
            f"left out{_count_more_lines(len(left_out_texts) - 1)}: {reason}"
            f"{_advise_speaking(left_out_texts[0], main)}",
        )
        for reason, left_out_texts in left_out_by_reason.items()
    ]


def _advise_speaking(left_out: OmittedText, main: str) -> str:
    """Advice on how to have a text spoken: as other words, or, if it uses the letters of the book's
    main language, in that one."""
    if left_out.reason.startswith(_WITHOUT_SOUND):
        return "; {written|spoken} says what to say instead"
    foreign_text = find_foreign_letters(left_out.text, main)
    if foreign_text and foreign_text.is_most:
        return ""
    return f"; to have it read as “{main}”, write [language: {main}] before it"


def find_oddities(manuscript: Manuscript, engines: Iterable[EngineSpec]) -> Iterator[Problem]:
    """Yields the oddities of a book's text that keep none of its engines from speaking it, each
    kind once."""
    titles = {script: engine.title for engine in engines for script in engine.spelled_scripts}
    yield from find_invisible_characters(manuscript)
    yield from dict.fromkeys(
        warning for chapter in manuscript.chapters for warning in chapter.warnings
    )
    yield from find_markup_slips(manuscript)
    seconds_by_language = _seconds_by_language(manuscript)
    foreign_by_kind: dict[tuple[str, str, str | None], list[Foreign]] = {}
    for text in dict.fromkeys(text for chapter in manuscript.chapters for text in chapter.foreign):
        kind = (text.alphabet, text.surrounding_language, text.spoken_language)
        foreign_by_kind.setdefault(kind, []).append(text)
    for kind, foreign_texts in foreign_by_kind.items():
        alphabet, surrounding_language, passage_language = kind
        first = foreign_texts[0]
        more_lines = _count_more_lines(sum(text.count for text in foreign_texts) - 1)
        message = f"“{excerpt(first.sample, 30)}” is in {alphabet_name(alphabet)}{more_lines}"
        if passage_language is not None:
            message += f", and is said in “{passage_language}”, not in “{surrounding_language}”: "
            message += (
                f"set `language: {passage_language}` in {manuscript.project.path.name}"
                if 2 * seconds_by_language.get(passage_language, 0.0)
                > sum(seconds_by_language.values())
                else f"write [language: {passage_language}] before and [language: off] after such "
                "lines, or set `language` of chapter or speaker"
            )
        elif alphabet in titles:
            message += (
                f": within other text {titles[alphabet]} names such letters one by one; "
                "{written|spoken} says how they sound"
            )
        else:
            continue
        yield Problem(first.path, first.line, message)


def _distinct_chapters(chapters: Sequence[Chapter]) -> list[Chapter]:
    """The chapters without those that read the same text as an earlier one."""
    first_by_text: dict[tuple[Path, int, str], Chapter] = {}
    for chapter in chapters:
        line = chapter.scenes[0].lines[0]
        first_by_text.setdefault((line.path, line.line, line.text), chapter)
    return list(first_by_text.values())


def _count_more_lines(count: int) -> str:
    return f" (and {count:,} more line{'s' * (count > 1)})" if count > 0 else ""


def find_invisible_characters(manuscript: Manuscript) -> list[Problem]:
    """Problems for invisible characters in texts and manifest, each once, with its first place."""
    first_places: dict[str, tuple[Path, int]] = {}
    counts: Counter[str] = Counter()
    chapters = (
        chapter_characters
        for chapter in _distinct_chapters(manuscript.chapters)
        for chapter_characters in chapter.unseen
    )
    for character, path, line, count in (*manuscript.project.unseen, *chapters):
        first_places.setdefault(character, (path, line))
        counts[character] += count
    return [
        Problem(
            path,
            line,
            f"U+{ord(character):04X}{_count_more_places(counts[character] - 1)}, a character that "
            "cannot be seen: it is not spoken, and no name of a file holds it",
        )
        for character, (path, line) in first_places.items()
    ]


def find_markup_slips(manuscript: Manuscript) -> list[Problem]:
    """Problems for mistaken markup that would be spoken, each kind once, with its first place."""
    first_slips: dict[str, Slip] = {}
    counts: Counter[str] = Counter()
    for chapter in _distinct_chapters(manuscript.chapters):
        for slip in chapter.slips:
            first_slips.setdefault(slip.problem, slip)
            counts[slip.problem] += 1
    return [
        Problem(
            slip.path,
            slip.line,
            f"“{excerpt(slip.written)}”{_count_more_places(counts[fault] - 1)} {fault}{slip.hint}",
        )
        for fault, slip in first_slips.items()
    ]


def _count_more_places(places: int) -> str:
    return f" (and in {places:,} more place{'s' * (places > 1)})" if places else ""


def source_and_left_out(manuscript: Manuscript) -> dict[str, int]:
    """Counts the characters of all text, and of the text that is left out.

    Text that several speakers say in unison counts once. It is not left out if one of them says it.
    """
    lines = (
        line
        for book_chapter in manuscript.chapters
        for scene in book_chapter.scenes
        for line in scene.lines
    )
    left_out_texts = [
        candidate
        for chapter in manuscript.chapters
        for candidate in chapter.left_out
        if not candidate.is_partial
    ]
    left_out_count = sum(
        count_visible_characters(left_out_text.text) for left_out_text in left_out_texts
    )
    counted_in_lines = sum(
        count_visible_characters(left_out_text.text)
        for left_out_text in left_out_texts
        if left_out_text.is_in_line
    )
    line_count = sum(count_visible_characters(line.text) for line in lines if not line.with_before)
    return {
        "source": line_count + left_out_count - counted_in_lines,
        "left_out": left_out_count,
    }


def count_visible_characters(text: str) -> int:
    """Counts the characters that are not white space, which do not depend on how a text is cut."""
    return sum(map(len, text.split()))
