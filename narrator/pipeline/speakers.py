"""Splits a project's paragraphs into lines of one speaker each, by the files of speakers.

The narrator speaks what these files lack or assign to nobody in the cast, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from narrator.errors import Problem
from narrator.project.project import Project
from narrator.text import line_splitting, speaker_files
from narrator.text.labels import Roles
from narrator.text.line_splitting import NarrationQuote
from narrator.text.lines import Chapter, last_source_lines
from narrator.text.memo import LastValues
from narrator.text.slips import Slip
from narrator.text.speaker_files import SpeakerFile
from textbase.characters import excerpt

_ADVICE = "`narrator cast` decides who says it, or you do in the file of speakers"
NO_FILE = f"is the narrator's, for its chapter has no file of speakers: {_ADVICE}"
NO_ROW = f"is the narrator's, for its chapter's file of speakers has no row for it: {_ADVICE}"
UNDECIDED = "is the narrator's, for its row has a “?”: write who says it"
LOST = "is not in its chapter any more, and your row for it is kept: mend its words, or remove it"
UNUSED_NESTED = (
    "is the teller's, and your row for it is kept: write `nested: voices` under `dialogue`, or "
    "remove the row"
)
ORPHAN = (
    "belongs to no text, for none here is called {}: where that was renamed, rename this file like "
    "it, or what you decided in it is lost"
)


def split_by_speaker(
    project: Project,
    chapters: Sequence[Chapter],
    roles: Roles,
    *,
    lines: LastValues[Chapter],
    known_files: LastValues[SpeakerFile],
) -> list[Chapter]:
    """The chapters with a line for each stretch of one speaker.

    Problems of the files of speakers are added to the warnings and slips of the chapters. `lines`
    and `known_files` hold what was read last of each chapter.
    """
    speaker_files = [
        _read_speaker_file(project, number, known_files) for number in range(len(chapters))
    ]
    has_files = any(file.exists for file in speaker_files if file)
    tags, with_nested = project.manifest.dialogue.tags, project.has_nested_voices
    orphan_problems = find_orphaned_files(project)

    def split_chapter(chapter: Chapter, file: SpeakerFile | None) -> Chapter:
        speakers_by_quotation: dict[NarrationQuote, Sequence[str]] = {}
        slips: list[Slip] = []
        if file is not None and has_files:
            speakers_by_quotation = _find_speakers(
                chapter, file, roles, slips, with_nested=with_nested
            )
            chapter = replace(chapter, warnings=(*chapter.warnings, *file.problems))
        split = line_splitting.split_lines(chapter, speakers_by_quotation, roles, tags)
        return replace(split, slips=(*split.slips, *slips)) if slips else split

    split_chapters: list[Chapter] = []
    for number, (chapter, file) in enumerate(zip(chapters, speaker_files, strict=True)):
        if number == 0 and orphan_problems:
            chapter = replace(chapter, warnings=(*chapter.warnings, *orphan_problems))
        facts = (
            (chapter, last_source_lines(chapter)), file, has_files, roles, tags, with_nested
        )  # fmt: skip
        split_chapters.append(lines.get(number, facts, partial(split_chapter, chapter, file)))
    return split_chapters


def _read_speaker_file(
    project: Project, number: int, known_files: LastValues[SpeakerFile]
) -> SpeakerFile | None:
    """The file of speakers of a chapter; None if its text has no file of its own."""
    name = project.chapters[number].file
    if name is None:
        return None

    def parse(path: Path, file_bytes: bytes) -> SpeakerFile:
        parse_file = partial(speaker_files.parse_file, path, file_bytes)
        return known_files.get(number, (path, file_bytes), parse_file)

    return speaker_files.read(speaker_files.speaker_file_path(project.root / name), parse)


def find_orphaned_files(project: Project) -> list[Problem]:
    """Problems for files of speakers without a text, which was renamed or removed."""
    names = (chapter.file for chapter in project.chapters if chapter.file is not None)
    problems: list[Problem] = []
    for folder in dict.fromkeys((project.root / name).parent for name in names):
        paths = sorted(path for path in folder.glob("*") if path.is_file())
        text_stems = {path.stem for path in paths if not path.name.endswith(speaker_files.ENDING)}
        for path in paths:
            stem = path.name.removesuffix(speaker_files.ENDING)
            if stem not in (path.name, *text_stems):
                problems.append(Problem(path, None, ORPHAN.format(excerpt(stem))))
    return problems


def _find_speakers(
    chapter: Chapter, file: SpeakerFile, roles: Roles, slips: list[Slip], *, with_nested: bool
) -> dict[NarrationQuote, Sequence[str]]:
    """The speakers of a chapter's quotations; oddities are appended to `slips`."""
    quotations = line_splitting.find_quotes(chapter, with_nested=with_nested)
    speakers_by_quotation: dict[NarrationQuote, Sequence[str]] = {}
    quoted_texts = [quotation.text for quotation in quotations]
    for quotation, row in zip(quotations, file.matched_rows(quoted_texts), strict=True):
        if row is not None and row.speaker not in (speaker_files.NOBODY, speaker_files.UNKNOWN):
            name = speaker_files.unescape_names(row.speaker)
            speakers_by_quotation[quotation] = roles.find_speakers(name)
            if not speakers_by_quotation[quotation]:
                slips.append(
                    Slip(name, _describe_unknown_speaker(name, roles), file.path, row.number)
                )
        elif not file.is_unreadable and (row is None or row.speaker == speaker_files.UNKNOWN):
            missing = NO_ROW if file.exists else NO_FILE
            number = quotation.line.source_line_at(quotation.start)
            words = _strip_quotation_marks(speaker_files.shorten_words(quotation.text))
            reason = UNDECIDED if row else missing
            if quotation.is_nested:
                reason = reason.replace("narrator", "teller", 1)
            slips.append(Slip(words, reason, quotation.line.path, number))
    for row in file.unmatched_manual_rows(quoted_texts):
        lost = UNUSED_NESTED if row.is_nested and not with_nested else LOST
        slips.append(Slip(_strip_quotation_marks(row.words), lost, file.path, row.number))
    return speakers_by_quotation


def _strip_quotation_marks(words: str) -> str:
    """The words of a quotation without quotation marks, since messages add their own."""
    return words.strip("“”‘’„\"'«»‹›「」『』 ") or words


def _describe_unknown_speaker(name: str, roles: Roles) -> str:
    """The message for a row whose speaker is not in the cast."""
    nearest_name = roles.nearest_label(name)
    advice = (
        f"did you mean “{nearest_name}”?" if nearest_name else f"declare “{name}” under `speakers`"
    )
    return f"is not in the cast, and the narrator says what is this speaker's; {advice}"
