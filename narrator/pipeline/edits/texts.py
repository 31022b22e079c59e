"""The text of a chapter as it is now, in its file or in book.yaml: where a paragraph stands in it,
and what the chapter would be with another one there.

Offsets are into text without markup, as lines have them. Writes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.errors import Changed, Problem, ScriptError, UsageError
from narrator.pipeline.edits.edit import FileChange, exact, own
from narrator.pipeline.edits.likeness import likest
from narrator.pipeline.edits.manifest import changed, renamed
from narrator.pipeline.manuscript import paragraphs_of, roles_of
from narrator.project import load
from narrator.project.project import Project
from narrator.text import script
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Line

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")
_ENDS = re.compile(r"\r\n?|\n")

Item = tuple[str | int, ...]
"""Where in book.yaml a text stands; empty for a file of its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """A paragraph, or a turn of one: where it is among the lines of its chapter."""

    scene: int
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """What a paragraph is written as."""

    text: str
    """With its markup, lines parted by a line feed."""
    first: int
    last: int
    """Numbers of lines in the file, from 1."""
    item: Item = ()


@dataclass(frozen=True, slots=True)
class ChapterText:
    """A chapter, and the file that its text stands in."""

    project: Project
    number: int
    """In the project's chapters."""
    roles: Roles
    path: Path
    before: str
    """The file's whole text as it is, exactly."""
    whole: str
    """The same after what was changed so far."""
    chapter: Chapter
    """A line for each paragraph of `whole`."""

    @property
    def change(self) -> FileChange:
        return FileChange(self.path, self.before, self.whole)

    @property
    def is_file(self) -> bool:
        return self.project.chapters[self.number].file is not None

    def line(self, place: Place) -> Line:
        return self.chapter.scenes[place.scene].lines[place.line]

    def find(self, line: Line) -> Place:
        """The paragraph in which a line of a book stands, which may be a part of it.

        Raises Changed where it stands there no more.
        """
        for n, scene in enumerate(self.chapter.scenes):
            for m, one in enumerate(scene.lines):
                inside = one.line <= line.line <= max(one.line, one.last)
                if inside and one.text.startswith(line.text, line.begin):
                    return Place(n, m)
        raise Changed(self.path, self._like(line), line.text)

    def _like(self, line: Line) -> str:
        """What a line of a book is written as by now; empty where it is gone."""
        lines = [one for scene in self.chapter.scenes for one in scene.lines]
        before = sum(one.line < line.line for one in lines)
        n = likest([one.text for one in lines], line.text, before)
        if n is None or not self.is_file:
            return "" if n is None else lines[n].text
        return lines_of(self.whole, lines[n].line, max(lines[n].line, lines[n].last))

    def source(self, place: Place) -> Source:
        """What a paragraph is written as. Raises UsageError for credits."""
        line = self.line(place)
        if self.is_file:
            last = max(line.line, line.last)
            return Source(lines_of(self.whole, line.line, last), line.line, last)
        item = self._item(line)
        value = self.project.chapters[self.number].lines or ()
        said = value[int(item[3])]
        text = said if isinstance(said, str) else said[str(item[4])]
        return Source(text, line.line, line.line, item)

    def written(self, source: Source, text: str) -> ChapterText:
        """The chapter with another text in the place of this one. Raises UserError where it could
        not be read."""
        if not source.item:
            return self._read(with_lines(self.whole, source.first, source.last, text))
        return self._read(changed(self.whole, source.item, text, self.project))

    def labelled(self, source: Source, label: str) -> ChapterText:
        """The chapter with another label for a text of book.yaml that has one. Raises as above."""
        return self._read(renamed(self.whole, source.item, label, self.project))

    def _read(self, whole: str) -> ChapterText:
        project = self.project if self.is_file else load.load(self.project.path, whole)
        text = whole if self.is_file else None
        chapter = paragraphs_of(project, self.number, self.roles, text)
        return replace(self, project=project, whole=whole, chapter=chapter)

    def _item(self, line: Line) -> Item:
        """Where in book.yaml a paragraph stands. Raises UsageError for credits."""
        loc = self.project.chapter_loc(self.number)
        if loc[0] != "chapters":
            what = f"the {loc[1]} credits are made of what stands under `credits`: change it there"
            raise UsageError(Problem(self.path, line.line, what))
        for n, said in enumerate(self.project.chapters[self.number].lines or ()):
            if self.project.line(*loc, "lines", n) == line.line and self._says(said, line):
                return (*loc, "lines", n, *(said if isinstance(said, dict) else ()))
        raise Changed(self.path, "", line.text)

    def _says(self, said: str | dict[str, str], line: Line) -> bool:
        """Whether a text of book.yaml has a paragraph."""
        settings = self.project.chapters[self.number]
        try:
            own = script.read_lines(
                [(line.line, said if isinstance(said, str) else next(iter(said.items())))],
                path=self.path,
                title="",
                language=self.chapter.language,
                roles=self.roles,
                speaker=settings.speaker or line.speaker,
            )
        except ScriptError:  # nothing to speak in it
            return False
        return any(one.text == line.text for scene in own.scenes for one in scene.lines)


def chapter_text(project: Project, number: int) -> ChapterText:
    """A chapter as it is now. Raises Changed, ScriptError, StorageError, ManifestError, UsageError
    where a link leads out of the project."""
    name = project.chapters[number].file
    path = project.path if name is None else own(project, name)
    text = exact(path)
    if text is None:
        raise Changed(path, "", "")
    if name is None:
        project = load.load(path, text)
    roles = roles_of(project)
    chapter = paragraphs_of(project, number, roles, None if name is None else text)
    return ChapterText(project, number, roles, path, text, text, chapter)


def lines_of(text: str, first: int, last: int) -> str:
    """Lines of a text, numbered from 1, without the end of the last."""
    rows = [_ENDS.sub("\n", row) for row in _LINE.findall(text)[first - 1 : last]]
    return "".join(rows).removesuffix("\n").removeprefix("\ufeff" * (first == 1))


def with_lines(text: str, first: int, last: int, new: str) -> str:
    """A text with others in the place of some of its lines, which end as its own do."""
    rows = _LINE.findall(text)
    own = rows[first - 1 : last]
    newline = next(iter(_ENDS.findall("".join(own)) or _ENDS.findall(text)), "\n")
    mark = "\ufeff" * (first == 1 and text.startswith("\ufeff"))
    end = _ENDS.search(own[-1]) if own else None
    new = _ENDS.sub("\n", new).replace("\n", newline) + (end[0] if end else "")
    return "".join([*rows[: first - 1], mark, new, *rows[last:]])
