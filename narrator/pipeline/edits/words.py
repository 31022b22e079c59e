"""Edits of what a chunk says: its paragraph, as it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from narrator import keys
from narrator.errors import Changed
from narrator.pipeline.bookplan import BookPlan
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Edit, FileChange, clean, encoded, exact, own, shown
from narrator.pipeline.edits.likeness import likest_lines
from narrator.pipeline.edits.manifest import changed
from narrator.pipeline.edits.rows import rows_of
from narrator.pipeline.edits.texts import Item, Source, chapter_text, lines_of, with_lines
from narrator.project import load
from narrator.project.project import Project
from narrator.speech.plan import Step
from narrator.text import stretches


@dataclass(frozen=True, slots=True)
class WrittenParagraph:
    """What a chunk is written as, in its file as it is now."""

    chapter: int
    """Counted from 0, as in `project.chapters`."""
    path: Path
    first: int
    last: int
    """Numbers of lines, from 1."""
    text: str
    """With its markup, lines parted by a line feed; of a line in book.yaml its value."""
    item: Item = ()
    """Where in book.yaml, for text that stands there."""

    @property
    def sha(self) -> str:
        """Of the text: what an edit was made for."""
        return keys.content_of(encoded(self.text))


def paragraph(book: BookPlan, step: Step) -> WrittenParagraph:
    """The paragraph of a chunk, or several that it takes in; of texts in book.yaml the first.

    Raises Changed where the file no longer says what the book says, UsageError for spoken credits,
    ScriptError, StorageError.
    """
    text = chapter_text(book.project, step.chapter)
    places = [text.find(piece.line) for piece in step.chunk.pieces]
    sources = [text.source(place) for place in places]
    first = sources[0]
    if not first.item:
        last = max(source.last for source in sources)
        first = Source(lines_of(text.whole, first.first, last), first.first, last)
    return WrittenParagraph(
        step.chapter, text.path, first.first, first.last, first.text, first.item
    )


def text_edit(project: Project, paragraph: WrittenParagraph, text: str, sha: str = "") -> Edit:
    """Other words. `sha` is that of the paragraph which a person was shown, if it may be older.

    What was decided of a quotation stays with it. Raises Changed, ManifestError, ScriptError,
    StorageError, UsageError.
    """
    text = clean(text)
    name = project.chapters[paragraph.chapter].file
    before = exact(paragraph.path if name is None else own(project, name))
    there = "" if before is None else _there(project, before, paragraph)
    if before is None or there != paragraph.text or sha not in ("", paragraph.sha):
        raise Changed(paragraph.path, _like(before or "", paragraph, there), text)
    if paragraph.item:
        after = changed(before, paragraph.item, text, project)
    else:
        after = with_lines(before, paragraph.first, paragraph.last, text)
    changes = [FileChange(paragraph.path, before, after)]
    if not paragraph.item:
        old = chapter_text(project, paragraph.chapter)
        new = old.written(Source(paragraph.text, paragraph.first, paragraph.last), text)
        rows = rows_of(project, paragraph.chapter, stretches.quoted(old.chapter))
        changes.append(rows.change(rows.following(stretches.quoted(new.chapter))))
    what = f"chapter {paragraph.chapter + 1}: {_difference(paragraph.text, text)}"
    return checked(project, Edit(what, tuple(changes)))


def _there(project: Project, before: str, paragraph: WrittenParagraph) -> str:
    """What stands now where a paragraph stood."""
    if not paragraph.item:
        return lines_of(before, paragraph.first, paragraph.last)
    now = load.load(project.path, before)
    said = (now.chapters[paragraph.chapter].lines or ())[int(paragraph.item[3])]
    return said if isinstance(said, str) else next(iter(said.values()))


def _like(before: str, paragraph: WrittenParagraph, there: str) -> str:
    """What a paragraph has become, that may stand elsewhere now; empty where it is gone."""
    if paragraph.item or there == paragraph.text:
        return there
    rows = lines_of(before, 1, before.count("\n") + before.count("\r") + 1).split("\n")
    wanted = paragraph.text.split("\n")
    found = likest_lines(
        [f"{row}\n" for row in rows], [f"{row}\n" for row in wanted], paragraph.first - 1
    )
    return "".join(found).removesuffix("\n")


def _difference(old: str, new: str) -> str:
    """What was changed, by the words around it that are the same."""
    ours, theirs = old.split(), new.split()
    while ours and theirs and ours[0] == theirs[0]:
        ours, theirs = ours[1:], theirs[1:]
    while ours and theirs and ours[-1] == theirs[-1]:
        ours, theirs = ours[:-1], theirs[:-1]
    return f"“{shown(' '.join(ours))}” -> “{shown(' '.join(theirs))}”"
