"""Who says what, as it was decided: a file beside each chapter's text, one row a quotation.

    # Who says what in 01-down.md. Change a name, and it is yours: no run changes it again.
    Alice | rule tag 0.98 Alice | “and what is the use of a book,”
    + | rule tag 0.98 + | “without pictures or conversations?”
    Ada   | you | “Oh dear!”

First who speaks: a name, several parted by &, `+` for the row before, `-` for nobody's speech, `?`
where nobody knows. Then who decided: `you`, `print`, `rule NAME SURE`, `model NAME SURE`, and what
they wrote into the first column: where that was changed since, a person did. Then the words. Rows
are found again by their words and neighbours, so edits of the text move nothing. Knows no cast.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from narrator import files
from narrator.characters import decoded, seen
from narrator.errors import Problem, StorageError
from narrator.text.markup import squeeze
from narrator.text.matching import matched

NOBODY = "-"
UNKNOWN = "?"
_SAME = "+"
ENDING = ".speakers.txt"

_LARGEST = 32_000_000
"""Bytes; a long novel's rows have one."""
_HEAD = "# Who says what in "
_WHOLE, _FIRST, _LAST = 100, 60, 30
"""Characters of a quotation that is given whole, else of its beginning and its end."""
_COLUMNS = re.compile(r"(?<!\\)\|")
_ORIGIN = re.compile(
    r"(?P<by>you|print|rule|model)(?:(?<=rule|odel) (?P<name>\S+)(?: (?P<sure>[01](?:\.\d+)?))?)?"
    r"(?: (?P<decided>.+))?"
)


@dataclass(frozen=True, slots=True)
class Row:
    """Who says one quotation, or one piece of it."""

    speaker: str
    """As `column` writes names; NOBODY, UNKNOWN."""
    by: str
    """you, print, rule or model."""
    words: str = ""
    """Of the quotation, as `shortened`."""
    name: str = ""
    """Of the rule or model."""
    sure: float = 1.0
    """0 to 1."""
    goes_on: bool = False
    """Whether it goes on the quotation of the row before."""
    number: int = 0
    """Of its line in the file; 0 for a new one."""
    above: tuple[str, ...] = ()
    """Lines before it that are no rows: kept as they are."""

    @property
    def is_yours(self) -> bool:
        """Whether a person decided it, whom no run overrules."""
        return self.by == "you"


@dataclass(frozen=True, slots=True)
class Decided:
    """The rows of one chapter's file."""

    path: Path
    rows: tuple[Row, ...] = ()
    below: tuple[str, ...] = ()
    """Lines after the last row that are no rows."""
    problems: tuple[Problem, ...] = ()
    """What could not be read; it costs nothing else."""
    exists: bool = False
    broken: bool = False
    """Whether nothing of the file could be read."""
    newline: str = "\n"

    def matched(self, words: Sequence[str]) -> list[int | None]:
        """For each quotation of the text, in order, the place of its row; of rows that stand twice,
        as they do after a conflict of versions, a person's."""
        found = matched([row.words for row in self.rows], [shortened(one) for one in words])
        quotations = {row: place for place, row in enumerate(found) if row is not None}
        for lost, twin in self._twins(quotations):
            if self.rows[lost].is_yours and not self.rows[twin].is_yours:
                found[quotations[twin]] = lost
        return found

    def _twins(self, taken: Collection[int]) -> Iterator[tuple[int, int]]:
        """Rows that are not taken, in runs, and the same in a run before or behind that are."""
        places = range(len(self.rows))
        for is_taken, run in groupby(places, lambda place: place in taken):
            own = list(run)
            for by in (-len(own), len(own)) if not is_taken else ():
                twins = [place + by for place in own]
                if all(
                    twin in taken and self.rows[twin].words == self.rows[place].words
                    for place, twin in zip(own, twins, strict=True)
                ):
                    yield from zip(own, twins, strict=True)
                    break


def place_of(chapter: Path) -> Path:
    """The file that belongs to a chapter's text."""
    return chapter.parent / f"{chapter.stem}{ENDING}"


def column(names: Sequence[str]) -> str:
    """Names of the cast as the first column has them."""
    plain = (re.sub(r"[\\|]", r"\\\g<0>", squeeze(name)) for name in names)
    written = " & ".join(plain)
    special = written in (_SAME, NOBODY, UNKNOWN) or written.startswith("#")
    return f"\\{written}" if special else written


def names_in(speaker: str) -> str:
    """What a first column says, without its escapes."""
    return re.sub(r"\\(.)", r"\1", speaker)


def shortened(words: str) -> str:
    """The words of a quotation as a row gives them."""
    plain = squeeze(seen(words))
    return plain if len(plain) <= _WHOLE else f"{plain[:_FIRST]} … {plain[-_LAST:]}"


# -- reading


def read(path: Path) -> Decided:
    """What a file says. Nothing is refused: what cannot be read is a problem, and no row."""
    try:
        data = files.read_whole(path, _LARGEST)
    except FileNotFoundError:
        return Decided(path)
    except files.TooLarge:
        return _broken(path, "larger than 32 MB, which no list of quotations is")
    except OSError as error:
        return _broken(path, f"cannot be read: {error.strerror}")
    return said(path, data)


def said(path: Path, data: bytes) -> Decided:
    """What the bytes of a file say, as `read` does."""
    text, foreign = decoded(data)
    problems: list[Problem] = []
    if foreign is not None:
        what = "is not UTF-8 and is read as Windows-1252; save the file as UTF-8"
        problems.append(Problem(path, data.count(b"\n", 0, foreign) + 1, what))
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _Lines()
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        found.add(line, number)
    problems += found.problems(path)
    return Decided(
        path, tuple(found.rows), tuple(found.above), tuple(problems), True, newline=newline
    )


@dataclass(slots=True)
class _Lines:
    """The lines of a file as they are read, one after the other."""

    rows: list[Row] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    """Lines since the last row that are none."""
    faults: dict[str, list[int]] = field(default_factory=dict)
    """What is wrong -> numbers of lines."""
    is_after_fault: bool = False

    def add(self, line: str, number: int) -> None:
        is_head = line.startswith(_HEAD) and not (self.rows or self.above)
        if not line.strip() or is_head:
            return
        before = None if self.is_after_fault or not self.rows else self.rows[-1]
        row, fault = _row(line, number, before)
        if fault:
            self.faults.setdefault(fault, []).append(number)
        if row is None:
            self.above.append(line)
            self.is_after_fault = self.is_after_fault or bool(fault)
            return
        self.rows.append(replace(row, above=tuple(self.above)))
        self.above, self.is_after_fault = [], False

    def problems(self, path: Path) -> Iterator[Problem]:
        for fault, places in self.faults.items():
            more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
            yield Problem(path, places[0], fault + more)


def _broken(path: Path, what: str) -> Decided:
    what += "; the narrator speaks its quotations"
    return Decided(path, problems=(Problem(path, None, what),), exists=True, broken=True)


_ROW = "is no row: who speaks | who decided | the words of the quotation"
_NO_SAME = "“+” is for the speaker of the row before, and there is none"
_NO_ORIGIN = "has no “you”, “print”, “rule …” or “model …” in its second column: taken for yours"


def _row(line: str, number: int, before: Row | None) -> tuple[Row | None, str]:
    """A row after another one, and what is wrong with it; None for a comment, and for no row."""
    if line.lstrip().startswith("#"):
        return None, ""
    columns = [squeeze(seen(one)) for one in _COLUMNS.split(line, maxsplit=2)]
    if len(columns) < 3 or not all((columns[0], columns[2])):
        return None, _ROW
    first, second, words = columns
    first = NOBODY if first in "–—" else first
    row, fault = _decided_by(second, Row(first, "you", words, number=number))
    if first != _SAME:
        return row, fault
    if before is None:  # a person's stays as it stands, until the row before is mended
        return (None if row.is_yours else replace(row, speaker=UNKNOWN)), _NO_SAME
    # who changes a quotation's first row means all of it
    if before.is_yours:
        row = replace(row, by="you", name="", sure=1.0)
    return replace(row, speaker=before.speaker, goes_on=True), fault


def _decided_by(second: str, row: Row) -> tuple[Row, str]:
    """A row with who decided it, and what is wrong with what its second column says of it."""
    origin = _ORIGIN.fullmatch(second)
    named = origin is not None and origin["name"] is not None
    if origin is None or named != (origin["by"] in ("rule", "model")):
        return row, _NO_ORIGIN
    if origin["decided"] not in (None, row.speaker):
        return row, ""
    sure = min(1.0, float(origin["sure"] or 1))
    return replace(row, by=origin["by"], name=origin["name"] or "", sure=sure), ""


# -- writing


def renewed(old: Decided, words: Sequence[str], fresh: Sequence[Row | None]) -> Decided:
    """The rows for the quotations of a text as it is now: a person's where there is one, else the
    fresh one, else the one that is there.

    A person's row that finds its quotation no more stays in its place; others go.
    """
    found = old.matched(words)
    places = {i: j for j, i in enumerate(found) if i is not None}
    rows: list[Row | None] = []
    for said, place, new in zip(words, found, fresh, strict=True):
        here = old.rows[place] if place is not None else None
        kept = here if here is not None and (new is None or here.is_yours) else new
        rows.append(kept and replace(kept, words=shortened(said), above=()))
    lost: dict[int, list[Row]] = {}
    above: dict[int, tuple[str, ...]] = {}
    carried: tuple[str, ...] = ()
    after = -1
    for i, row in enumerate(old.rows):
        carried += row.above
        if i in places:
            after = places[i]
            above[after], carried = carried, ()
        elif row.is_yours:
            lost.setdefault(after, []).append(replace(row, above=carried))
            carried = ()
    whole = list(lost.get(-1, ()))
    for j, one in enumerate(rows):
        whole += [replace(one, above=above.get(j, ()))] if one is not None else []
        whole += lost.get(j, ())
    return replace(old, rows=tuple(whole), below=(*carried, *old.below))


def answered(
    file: Decided, words: Sequence[str], fresh: Sequence[Row | None], own: Collection[int]
) -> Decided:
    """The file after a person has said who says the quotations at `own`, of those of its text.

    `fresh` are rows for `words`: theirs, and others for what no person has decided.
    """
    there = list(file.rows)
    for n, (row, place) in enumerate(zip(fresh, file.matched(words), strict=True)):
        if row is not None and place is not None and (n in own or not there[place].is_yours):
            there[place] = replace(row, above=there[place].above)
    return renewed(replace(file, rows=tuple(there)), words, fresh)


def write(decided: Decided, chapter: str) -> bool:
    """Write the file of the chapter of that name, and say whether: not where it holds this already,
    or would be a first one without rows.

    Raises StorageError, also where a file is in the way that could not be read.
    """
    if not (decided.rows or decided.exists) and not decided.broken:
        return False
    data = written(decided, chapter)
    try:
        same = files.read_whole(decided.path, _LARGEST) == data
    except (OSError, files.TooLarge):
        same = False
    if not same:
        files.write(files.behind(decided.path), data)
    return not same


def written(decided: Decided, chapter: str) -> bytes:
    """The bytes of the file of the chapter of that name.

    Raises StorageError where one is in the way that could not be read.
    """
    if decided.broken:
        raise StorageError(
            f"{decided.path}: cannot be read, and is not replaced; mend or remove it"
        )
    text = decided.newline.join((*_lines(decided, chapter), ""))
    return text.encode(errors="replace")


def _lines(decided: Decided, chapter: str) -> Iterator[str]:
    yield f"{_HEAD}{chapter}. Change a name, and it is yours: no run changes it again."
    before: Row | None = None
    for row in decided.rows:
        first = row.speaker
        # what follows a person's row with a `+` is that person's, too
        if row.goes_on and before and (before.speaker, before.is_yours) == (first, row.is_yours):
            first = _SAME
        before = row
        second = row.by
        if row.by in ("rule", "model"):
            second += f" {row.name} {row.sure:.2f} {first}"
        elif row.by == "print":
            second += f" {first}"
        yield from row.above
        yield f"{first} | {second} | {row.words}"
    yield from decided.below
