"""Edits of the words of a chunk: its paragraph, as it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from narrator import keys
from narrator.errors import FileChanged
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import (
    Edit,
    FileChange,
    clean,
    encode_exact,
    project_file,
    read_exact,
    shorten,
)
from narrator.pipeline.edits.manifest import set_value
from narrator.pipeline.edits.rows import rows_of
from narrator.pipeline.edits.texts import (
    Item,
    Source,
    chapter_text,
    lines_of,
    text_in_manifest,
    with_lines,
)
from narrator.project import load
from narrator.project.project import Project
from narrator.speech.plan import Step
from narrator.text import line_splitting
from narrator.text.alignment import find_moved_lines


@dataclass(frozen=True, slots=True)
class WrittenParagraph:
    """The source of a chunk in its present file."""

    chapter: int
    """Counted from 0, as in `project.chapters`."""
    path: Path
    first: int
    last: int
    """First and last line number, counted from 1."""
    text: str
    """Text with its markup, with line feeds between lines; for a line in book.yaml its value."""
    item: Item = ()
    """The place in book.yaml, for texts that are there."""

    @property
    def sha(self) -> str:
        """Hash of the text, which identifies the text that an edit was made for."""
        return keys.content_of(encode_exact(self.text))


def paragraph(book: BookPlan, step: Step) -> WrittenParagraph:
    """The paragraph of a chunk, with all paragraphs that the chunk covers.

    Of texts in book.yaml only the first one. Raises FileChanged if the file no longer says what the
    book says, UsageError for spoken credits, ScriptError, StorageError.
    """
    text = chapter_text(book.project, step.chapter)
    places = [text.find(piece.line) for piece in step.chunk.pieces]
    sources = [text.source(place) for place in places]
    written_source = sources[0]
    if not written_source.item:
        last = max(source.last for source in sources)
        written_source = Source(
            lines_of(text.current_text, written_source.first, last), written_source.first, last
        )
    return WrittenParagraph(
        step.chapter,
        text.path,
        written_source.first,
        written_source.last,
        written_source.text,
        written_source.item,
    )


def text_edit(project: Project, paragraph: WrittenParagraph, text: str, sha: str = "") -> Edit:
    """The edit that replaces a paragraph by another text.

    `sha` is that of the paragraph which a person was shown, if it may be older. Rows of quotations
    stay with them. Raises FileChanged, ManifestError, ScriptError, StorageError, UsageError.
    """
    text = clean(text)
    name = project.chapters[paragraph.chapter].file
    old_file_text = read_exact(paragraph.path if name is None else project_file(project, name))
    present_text = (
        "" if old_file_text is None else _read_present_text(project, old_file_text, paragraph)
    )
    if old_file_text is None or present_text != paragraph.text or sha not in ("", paragraph.sha):
        raise FileChanged(
            paragraph.path, _find_moved_text(old_file_text or "", paragraph, present_text), text
        )
    if paragraph.item:
        new_file_text = set_value(old_file_text, paragraph.item, text, project)
    else:
        new_file_text = with_lines(old_file_text, paragraph.first, paragraph.last, text)
    changes = [FileChange(paragraph.path, old_file_text, new_file_text)]
    if not paragraph.item:
        old_chapter = chapter_text(project, paragraph.chapter)
        new_chapter = old_chapter.with_text(
            Source(paragraph.text, paragraph.first, paragraph.last), text
        )
        old_quotes, new_quotes = (
            line_splitting.find_quotes(version.chapter, with_nested=project.has_nested_voices)
            for version in (old_chapter, new_chapter)
        )
        rows = rows_of(project, paragraph.chapter, old_quotes)
        changes.append(rows.change(rows.with_new_quotations(new_quotes)))
    summary = f"chapter {paragraph.chapter + 1}: {_summarize_change(paragraph.text, text)}"
    return require_readable(project, Edit(summary, tuple(changes)))


def _read_present_text(project: Project, file_text: str, paragraph: WrittenParagraph) -> str:
    """The text that is now in the place of a paragraph."""
    if not paragraph.item:
        return lines_of(file_text, paragraph.first, paragraph.last)
    current_project = load.load(project.path, file_text)
    return text_in_manifest(current_project, paragraph.chapter, paragraph.item)


def _find_moved_text(file_text: str, paragraph: WrittenParagraph, present_text: str) -> str:
    """The present text of a paragraph that may have moved; empty if it is gone."""
    if paragraph.item or present_text == paragraph.text:
        return present_text
    rows = lines_of(file_text, 1, file_text.count("\n") + file_text.count("\r") + 1).split("\n")
    original_rows = paragraph.text.split("\n")
    present_lines = find_moved_lines(
        [f"{row}\n" for row in rows], [f"{row}\n" for row in original_rows], paragraph.first - 1
    )
    return "".join(present_lines).removesuffix("\n")


def _summarize_change(old: str, new: str) -> str:
    """A summary of a change, without the equal words at both ends."""
    old_words, new_words = old.split(), new.split()
    while old_words and new_words and old_words[0] == new_words[0]:
        old_words, new_words = old_words[1:], new_words[1:]
    while old_words and new_words and old_words[-1] == new_words[-1]:
        old_words, new_words = old_words[:-1], new_words[:-1]
    return f"“{shorten(' '.join(old_words))}” -> “{shorten(' '.join(new_words))}”"
