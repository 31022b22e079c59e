"""Changes in the file of speakers of one chapter: answers of a person, and rows that follow edits.

Knows rows and quotations, nothing of how speakers are found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.pipeline.edits.edit import (
    FileChange,
    count_equal_start,
    encode_exact,
    project_file,
    read_exact,
)
from narrator.project.project import Project
from narrator.text import speaker_files
from narrator.text.line_splitting import NarrationQuote
from narrator.text.speaker_files import Row, SpeakerFile


@dataclass(frozen=True, slots=True)
class Rows:
    """The present file of a chapter's speakers, with the quotations of its text."""

    file: SpeakerFile
    old_text: str | None
    """The exact text of the file."""
    chapter: str
    """Name of the chapter's file."""
    quotations: Sequence[NarrationQuote]

    @property
    def texts(self) -> list[str]:
        return [quotation.text for quotation in self.quotations]

    def quotation_groups(self, piece_indices: Collection[int]) -> list[list[int]]:
        """The quotations with any of these pieces, each with all of its pieces."""
        matched_rows, groups = self.file.matched_rows(self.texts), list[list[int]]()
        last_groups: dict[bool, list[int]] = {}
        """The last group of nested quotations, and the last one of others."""
        for index, quotation in enumerate(self.quotations):
            group = last_groups.get(quotation.is_nested)
            row, previous_row = matched_rows[index], matched_rows[group[-1]] if group else None
            continues_previous = (
                quotation.continues_previous if row is None else row.continues_previous
            )
            has_same_speaker = (
                row is None or previous_row is None or row.speaker == previous_row.speaker
            )
            if group and continues_previous and has_same_speaker:
                group.append(index)
            else:
                last_groups[quotation.is_nested] = [index]
                groups.append(last_groups[quotation.is_nested])
        return [
            group for group in groups if any(piece_index in group for piece_index in piece_indices)
        ]

    def with_answer(self, group: Sequence[int], speaker: str) -> SpeakerFile:
        """The file after a person has named the speaker of a quotation.

        `speaker` is NOBODY, or names as `speaker_files.format_names` writes them.
        """
        new_rows: list[Row | None] = [None] * len(self.quotations)
        for piece_number, index in enumerate(group):
            quotation = self.quotations[index]
            new_rows[index] = Row(
                speaker,
                "you",
                speaker_files.shorten_words(quotation.text),
                continues_previous=piece_number > 0,
                is_nested=quotation.is_nested,
            )
        return speaker_files.apply_answers(self.file, self.texts, new_rows, group)

    def without_rows(self, quotation_indices: Collection[int]) -> SpeakerFile:
        """The file without the rows of some quotations."""
        removed_rows = {self.file.matched(self.texts)[index] for index in quotation_indices}
        rows = tuple(
            # such a row goes where its quotation is gone
            replace(row, by="rule", name="none", words="") if n in removed_rows else row
            for n, row in enumerate(self.file.rows)
        )
        remaining_texts = [
            quoted_text for n, quoted_text in enumerate(self.texts) if n not in quotation_indices
        ]
        return speaker_files.update_rows(
            replace(self.file, rows=rows), remaining_texts, [None] * len(remaining_texts)
        )

    def with_new_quotations(self, quotations: Sequence[NarrationQuote]) -> SpeakerFile:
        """The file for the quotations after an edit of the text.

        The row of an edited quotation stays with it, however much of its text is new.
        """
        old_texts, new_texts = self.texts, [quotation.text for quotation in quotations]
        unchanged_start = count_equal_start(old_texts, new_texts)
        unchanged_end = count_equal_start(
            old_texts[unchanged_start:][::-1], new_texts[unchanged_start:][::-1]
        )
        if len(old_texts) != len(new_texts):
            return self.file
        old_row_indices = self.file.matched(old_texts)
        new_row_indices = self.file.matched(new_texts)
        rows = list(self.file.rows)
        for index in range(unchanged_start, len(old_texts) - unchanged_end):
            row_index = old_row_indices[index]
            if row_index is not None and new_row_indices[index] != row_index:
                rows[row_index] = replace(
                    rows[row_index], words=speaker_files.shorten_words(new_texts[index])
                )
        return replace(self.file, rows=tuple(rows))

    def change(self, file: SpeakerFile) -> FileChange:
        """The change that writes the file. Raises StorageError if the present one is unreadable."""
        if file == self.file:
            return FileChange(self.file.path, self.old_text, self.old_text)
        after = speaker_files.format_file(file, self.chapter).decode()
        return FileChange(self.file.path, self.old_text, after)


def rows_of(project: Project, number: int, quotations: Sequence[NarrationQuote]) -> Rows:
    """The rows of a chapter that has a file of its own. Raises StorageError, UsageError."""
    name = project.chapters[number].file or ""
    path = project_file(project, str(speaker_files.speaker_file_path(Path(name))))
    old_text = read_exact(path)
    file = (
        SpeakerFile(path)
        if old_text is None
        else speaker_files.parse_file(path, encode_exact(old_text))
    )
    return Rows(file, old_text, Path(name).name, quotations)


def overlapping_quotations(
    quotations: Sequence[NarrationQuote], scene: int, line: int, span: tuple[int, int]
) -> list[int]:
    """Returns the indices of quotations with letters in a part of a paragraph; if one within a tale
    has all of them, only its index."""
    overlapping_indices: list[int] = []
    for index, quotation in enumerate(quotations):
        text = quotation.line.text
        start, stop = max(quotation.start, span[0]), min(quotation.stop, span[1])
        if (quotation.scene, quotation.place) == (scene, line) and any(
            map(str.isalnum, text[start:stop])
        ):
            overlapping_indices.append(index)
            other_text = text[span[0] : start] + text[max(start, stop) : span[1]]
            if quotation.is_nested and not any(map(str.isalnum, other_text)):
                return [index]
    return overlapping_indices
