"""The present text of a chapter, in its file or in book.yaml: finds and replaces paragraphs in it.

Offsets refer to text without markup, as in lines. Writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.errors import FileChanged, Problem, ScriptError, UsageError
from narrator.pipeline.edits.edit import FileChange, project_file, read_exact
from narrator.pipeline.edits.manifest import rename_entry, set_value
from narrator.pipeline.edits.people import NewPerson
from narrator.pipeline.manuscript import paragraphs_of, roles_of
from narrator.project import load
from narrator.project.project import Project
from narrator.text import script
from narrator.text.alignment import most_similar_index, nearest_first
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Line

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")
_LINE_END = re.compile(r"\r\n?|\n")

Item = tuple[str | int, ...]
"""The place of a text in book.yaml: "chapters", index, "lines", index, and the label if there is
one; empty for a text in a file of its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """The indices of a paragraph, or of a speaker's turn, among the lines of its chapter."""

    scene: int
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a paragraph as it is written."""

    text: str
    """Text with its markup, with line feeds between lines."""
    first: int
    last: int
    """First and last line number in the file, counted from 1."""
    item: Item = ()


@dataclass(frozen=True, slots=True)
class ChapterText:
    """A chapter, with the file that holds its text."""

    project: Project
    number: int
    """Index in the project's chapters."""
    roles: Roles
    path: Path
    old_text: str
    """The exact text of the file."""
    current_text: str
    """The text of the file after the changes so far."""
    chapter: Chapter
    """A line for each paragraph of `current_text`."""
    added: NewPerson | None = None
    """Somebody who is added to the cast by the same edit."""

    @property
    def change(self) -> FileChange:
        return FileChange(self.path, self.old_text, self.current_text)

    @property
    def changes(self) -> Iterator[FileChange]:
        """The change of the file, and that of book.yaml where somebody is added to the cast."""
        if self.added is None:
            yield self.change
        elif self.is_file:
            yield from (self.added.change, self.change)
        else:
            yield FileChange(self.path, self.old_text, self.added.add_to(self.current_text))

    @property
    def is_file(self) -> bool:
        return self.project.chapters[self.number].file is not None

    def line(self, place: Place) -> Line:
        return self.chapter.scenes[place.scene].lines[place.line]

    def find(self, line: Line) -> Place:
        """The paragraph that contains a line of a book.

        Raises FileChanged if it is no longer there.
        """
        for scene_number, scene in enumerate(self.chapter.scenes):
            for line_number, paragraph in enumerate(scene.lines):
                is_inside = (
                    paragraph.line <= line.line <= max(paragraph.line, paragraph.last_source_line)
                )
                if is_inside and paragraph.text.startswith(line.text, line.paragraph_offset):
                    return Place(scene_number, line_number)
        raise FileChanged(self.path, self._find_present_text(line), line.text)

    def _find_present_text(self, line: Line) -> str:
        """The present text of a line of a book; empty if it is gone."""
        lines = [paragraph for scene in self.chapter.scenes for paragraph in scene.lines]
        expected_index = sum(paragraph.line < line.line for paragraph in lines)
        texts = [paragraph.text for paragraph in lines]
        index = most_similar_index(texts, line.text, nearest_first(len(texts), expected_index))
        if index is None or not self.is_file:
            return "" if index is None else lines[index].text
        return lines_of(
            self.current_text,
            lines[index].line,
            max(lines[index].line, lines[index].last_source_line),
        )

    def source(self, place: Place) -> Source:
        """The source of a paragraph. Raises UsageError for credits."""
        line = self.line(place)
        if self.is_file:
            last = max(line.line, line.last_source_line)
            return Source(lines_of(self.current_text, line.line, last), line.line, last)
        item = self._find_item(line)
        text = text_in_manifest(self.project, self.number, item)
        return Source(text, line.line, line.line, item)

    def with_text(self, source: Source, text: str) -> ChapterText:
        """The chapter with another text for this source.

        Raises UserError if it could not be read.
        """
        if not source.item:
            return self._with_current_text(
                with_lines(self.current_text, source.first, source.last, text)
            )
        return self._with_current_text(
            set_value(self.current_text, source.item, text, self.project)
        )

    def with_label(self, source: Source, label: str) -> ChapterText:
        """The chapter with another label for a labelled text in book.yaml. Raises like
        `with_text`."""
        return self._with_current_text(
            rename_entry(self.current_text, source.item, label, self.project)
        )

    def _with_current_text(self, current_text: str) -> ChapterText:
        project = self.project if self.is_file else load.load(self.project.path, current_text)
        text = current_text if self.is_file else None
        chapter = paragraphs_of(project, self.number, self.roles, text)
        return replace(self, project=project, current_text=current_text, chapter=chapter)

    def _find_item(self, line: Line) -> Item:
        """The place of a paragraph in book.yaml. Raises UsageError for credits."""
        loc = self.project.chapter_loc(self.number)
        if loc[0] != "chapters":
            message = (
                f"the {loc[1]} credits are made of what stands under `credits`: change it there"
            )
            raise UsageError(Problem(self.path, line.line, message))
        for index, manifest_line in enumerate(self.project.chapters[self.number].lines or ()):
            if self.project.line(*loc, "lines", index) == line.line and self._contains(
                manifest_line, line
            ):
                return (
                    *loc,
                    "lines",
                    index,
                    *(manifest_line if isinstance(manifest_line, dict) else ()),
                )
        raise FileChanged(self.path, "", line.text)

    def _contains(self, manifest_line: str | dict[str, str], line: Line) -> bool:
        """True if a text in book.yaml contains a paragraph."""
        settings = self.project.chapters[self.number]
        try:
            chapter = script.read_lines(
                [
                    (
                        line.line,
                        manifest_line
                        if isinstance(manifest_line, str)
                        else next(iter(manifest_line.items())),
                    )
                ],
                path=self.path,
                title="",
                language=self.chapter.language,
                roles=self.roles,
                speaker=settings.speaker or line.speaker,
            )
        except ScriptError:  # nothing to speak in it
            return False
        return any(
            paragraph.text == line.text for scene in chapter.scenes for paragraph in scene.lines
        )


def chapter_text(project: Project, number: int, added: NewPerson | None = None) -> ChapterText:
    """A chapter as it is now; `added` can speak in it already.

    Raises FileChanged, ScriptError, StorageError, ManifestError, UsageError if a link leads out of
    the project.
    """
    name = project.chapters[number].file
    path = project.path if name is None else project_file(project, name)
    text = read_exact(path)
    if text is None:
        raise FileChanged(path, "", "")
    if name is None:
        project = load.load(path, text)
    roles = roles_of(load.load(project.path, added.change.new_text) if added else project)
    chapter = paragraphs_of(project, number, roles, None if name is None else text)
    return ChapterText(project, number, roles, path, text, text, chapter, added)


def text_in_manifest(project: Project, chapter: int, item: Item) -> str:
    """The text at a place of book.yaml, without the label that may be its key."""
    _, _, _, line_index, *_ = item
    line = (project.chapters[chapter].lines or ())[int(line_index)]
    return line if isinstance(line, str) else next(iter(line.values()))


def lines_of(text: str, first: int, last: int) -> str:
    """The lines `first` to `last` of a text, counted from 1, without the last line end."""
    rows = [_LINE_END.sub("\n", row) for row in _LINE.findall(text)[first - 1 : last]]
    return "".join(rows).removesuffix("\n").removeprefix("\ufeff" * (first == 1))


def with_lines(text: str, first: int, last: int, new: str) -> str:
    """A text with the lines `first` to `last` replaced, in the line ends of the text."""
    rows = _LINE.findall(text)
    replaced_rows = rows[first - 1 : last]
    newline = next(iter(_LINE_END.findall("".join(replaced_rows)) or _LINE_END.findall(text)), "\n")
    byte_order_mark = "\ufeff" * (first == 1 and text.startswith("\ufeff"))
    last_line_end = _LINE_END.search(replaced_rows[-1]) if replaced_rows else None
    new = _LINE_END.sub("\n", new).replace("\n", newline) + (
        last_line_end[0] if last_line_end else ""
    )
    return "".join([*rows[: first - 1], byte_order_mark, new, *rows[last:]])
