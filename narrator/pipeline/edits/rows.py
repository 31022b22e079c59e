"""The file of speakers of one chapter: a person's answers put into it; rows follow their words.

Knows rows and quotations, nothing of how they are found to be whose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.pipeline.edits.edit import FileChange, encoded, exact, own
from narrator.project.project import Project
from narrator.text import decided
from narrator.text.decided import Decided, Row
from narrator.text.stretches import Quoted


@dataclass(frozen=True, slots=True)
class Rows:
    """The file of a chapter's speakers as it is now, and the quotations of its text."""

    file: Decided
    before: str | None
    """Its text, exactly."""
    chapter: str
    """Name of the chapter's file."""
    quotations: Sequence[Quoted]

    @property
    def words(self) -> list[str]:
        return [one.text for one in self.quotations]

    def found(self) -> list[Row | None]:
        """The row of each quotation."""
        return [None if n is None else self.file.rows[n] for n in self.file.matched(self.words)]

    def pieces(self, places: Collection[int]) -> list[range]:
        """The quotations to which some pieces belong, each with all of its pieces."""
        found, groups = self.found(), list[range]()
        for n, quotation in enumerate(self.quotations):
            row, before = found[n], found[n - 1] if n else None
            goes_on = quotation.goes_on if row is None else row.goes_on
            same = row is None or before is None or row.speaker == before.speaker
            if groups and goes_on and same:
                groups[-1] = range(groups[-1].start, n + 1)
            else:
                groups.append(range(n, n + 1))
        return [group for group in groups if any(place in group for place in places)]

    def answered(self, group: Sequence[int], speaker: str) -> Decided:
        """The file after a person has said who says a quotation: names as `column` writes them,
        or NOBODY."""
        fresh: list[Row | None] = [None] * len(self.quotations)
        for n, place in enumerate(group):
            words = decided.shortened(self.quotations[place].text)
            fresh[place] = Row(speaker, "you", words, goes_on=n > 0)
        return decided.answered(self.file, self.words, fresh, group)

    def without(self, places: Collection[int]) -> Decided:
        """The file without the rows of some quotations."""
        gone = {self.file.matched(self.words)[place] for place in places}
        rows = tuple(_given_up(row) if n in gone else row for n, row in enumerate(self.file.rows))
        left = [w for n, w in enumerate(self.words) if n not in places]
        return decided.renewed(replace(self.file, rows=rows), left, [None] * len(left))

    def following(self, quotations: Sequence[Quoted]) -> Decided:
        """The file where these are the quotations after an edit of the text: what was decided of
        one that was edited stays with it, however much of it is new."""
        old, new = self.words, [one.text for one in quotations]
        head = _alike(old, new)
        tail = _alike(old[head:][::-1], new[head:][::-1])
        if len(old) != len(new):
            return self.file
        places, after = self.file.matched(old), self.file.matched(new)
        rows = list(self.file.rows)
        for n in range(head, len(old) - tail):
            place = places[n]
            if place is not None and after[n] != place:
                rows[place] = replace(rows[place], words=decided.shortened(new[n]))
        return replace(self.file, rows=tuple(rows))

    def change(self, file: Decided) -> FileChange:
        """Raises StorageError where a file is in the way that could not be read."""
        if file == self.file:
            return FileChange(self.file.path, self.before, self.before)
        after = decided.written(file, self.chapter).decode()
        return FileChange(self.file.path, self.before, after)


def rows_of(project: Project, number: int, quotations: Sequence[Quoted]) -> Rows:
    """What is decided of a chapter's quotations, which has a file of its own. Raises
    StorageError, UsageError."""
    name = project.chapters[number].file or ""
    path = own(project, str(decided.place_of(Path(name))))
    before = exact(path)
    file = Decided(path) if before is None else decided.said(path, encoded(before))
    return Rows(file, before, Path(name).name, quotations)


def _given_up(row: Row) -> Row:
    """A row that goes when its quotation is not there."""
    return replace(row, by="rule", name="none", words="")


def _alike(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many are the same from the first on."""
    both = enumerate(zip(ours, theirs, strict=False))
    return next((n for n, pair in both if pair[0] != pair[1]), min(len(ours), len(theirs)))


def overlapping(
    quotations: Sequence[Quoted], scene: int, line: int, span: tuple[int, int]
) -> Iterator[int]:
    """Those of which some letters stand in a part of a paragraph."""
    for n, one in enumerate(quotations):
        start, stop = max(one.start, span[0]), min(one.stop, span[1])
        if (one.scene, one.place) == (scene, line) and any(
            map(str.isalnum, one.line.text[start:stop])
        ):
            yield n
