"""What lines of plain text are: headings, titles, lists of contents, prose.

Only the shape of the words counts here; what becomes of them is decided in `text.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from narrator.importers import matter
from narrator.importers.book import names
from narrator.importers.prose import ROMAN

PART, CHAPTER, SECTION = 1, 2, 3
"""Levels of headings."""

_NAMED = re.compile(
    r"(?P<number>(?:chapter|letter|canto|stave|part|book|volume|act|scene|phase|epoch|adventure|"
    rf"story|tale|poem|sonnet|fable)\.?\s+{matter.NUMBER}|{matter.NTH_PART}|"
    r"(?:kapitel|teil|buch|chapitre|partie|livre|cap[ií]tulo|parte|libro|capitolo|hoofdstuk|deel|"
    r"глава|часть|книга)\.?\s+(?:\d{1,4}|[^\W\d_]+)|第[\d〇一二三四五六七八九十百千]+[章回部卷])"
    r"(?P<mark>\s*[.:)\]—–-]+)?(?:(?:\s+|(?<=[—–-]))(?P<title>\S.*))?",
    re.IGNORECASE,
)
_SOLO = re.compile(
    r"(?:prologue|epilogue|preface|foreword|introduction|introductory( note)?|prelude|interlude|"
    r"afterword|conclusion|postscript|epigraph|prolog|epilog|vorwort|nachwort|préface|avant-propos|"
    r"prólogo|epílogo|prologo|epilogo|пролог|эпилог|author[’']s (note|preface))"
    r"(?:\s*[.:—–-]+\s*(?P<title>\S.*)|\.)?",
    re.IGNORECASE,
)
_NUMERAL = re.compile(
    rf"(?P<number>\d{{1,3}}|{ROMAN.upper()})(?P<mark>[.:)]?)(?:\s+(?P<title>\S.*))?"
)
_SMALL_WORDS = names(
    "a an the and or nor but of in on at to by for from with as is into upon o'er "
    "la le les de du des et un une der die das und von zu im el los las y en del"
)
_LISTED = re.compile(r"[.\s·]\d{1,4}$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as plain text has it."""

    parts: tuple[str, ...]
    """Ordinal and title, either of which may be missing."""
    level: int
    key: str
    """What it counts, by which it is known again in a table of contents."""
    matter: str | None = None
    """The kind of front or back matter that it names."""
    rows: int = 1
    """Lines that it takes; text may begin right under it."""

    @property
    def names_chapter(self) -> bool:
        """Whether it says that it is a chapter's, as a bare number does not."""
        return self.level == CHAPTER and self.key.startswith("named")

    @property
    def value(self) -> int:
        """The number of a section."""
        return _value(self.key.partition(" ")[2])

    @property
    def is_first(self) -> bool:
        """Whether it counts, and begins to."""
        return self.key.rpartition(" ")[2] in ("1", "i", "one", "first")


def read_heading(rows: Sequence[str], gap: int) -> Heading | None:
    """The heading that a paragraph is, or begins with; `gap` blank lines stand above it."""
    first, below = rows[0].strip(), " ".join(" ".join(rows[1:]).split())
    if is_list(rows):
        return None
    short = len(rows) <= 4 and len(first) + len(below) <= 200
    heading = (
        _counted(first, short=short, alone=len(rows) == 1)
        or (_solo(first) if len(rows) <= 2 else None)
        or (_of_matter(first, gap) if len(rows) == 1 else None)
    )
    if heading is None or not below or len(rows) > 4:
        return heading
    number, *titled = heading.parts
    if not (is_title(below) or (titled and below.isupper())):
        return heading
    parts = (number, f"{titled[0]} {below}" if titled else below)
    return replace(heading, parts=parts, rows=len(rows))


def _solo(row: str) -> Heading | None:
    """A heading that needs no number, such as a prologue's."""
    solo = _SOLO.fullmatch(row)
    if solo is None or not (solo["title"] is None or is_title(solo["title"])):
        return None
    return Heading((row,), CHAPTER, f"solo {row.lower().rstrip('.')}")


def _of_matter(row: str, gap: int) -> Heading | None:
    """The heading of front or back matter, in capitals or set apart."""
    kind = matter.kind_of_title(row) if len(row) <= 60 and (row.isupper() or gap > 1) else None
    return Heading((row,), CHAPTER, f"solo {kind}", kind) if matter.reason(kind) else None


def _counted(row: str, short: bool, alone: bool) -> Heading | None:
    """A heading with a number, and no sentence after it."""
    named = _NAMED.fullmatch(row)
    counted = named or _NUMERAL.fullmatch(row)
    if counted is None:
        return None
    title, mark = counted["title"], counted["mark"] or ""
    if title and not (short and _is_titled(title, mark, alone=bool(named) and alone)):
        return None
    parts = (f"{counted['number']}{mark}".strip(), *([title] if title else []))
    number = " ".join(counted["number"].lower().split())
    if named:
        return Heading(parts, PART if matter.is_part(row) else CHAPTER, f"named {number}")
    return Heading(parts, SECTION, f"number {number}") if short else None


def _is_titled(title: str, mark: str, alone: bool) -> bool:
    """Whether what follows a number is its title; `alone`, after a name, on a row of its own."""
    if is_title(title) and (mark or not title[0].islower()):
        return True
    # "CHAPTER II. Matthew is surprised": a number, a mark, and no sentence
    return alone and bool(mark) and title[0].isupper() and title[-1] not in ".!?,;:"


def is_title(text: str) -> bool:
    """Whether a text is set as a title: capitals, or a capital at the head of each long word."""
    text = text.strip("_* ")
    if not text or len(text) > 120 or text[0] in "“\"'‘—-–" or text[-1] in ",;":
        return False
    if text.isupper():
        return True
    words = re.findall(r"[^\W\d_][\w’']*", text)
    large = [word for word in words if word.lower() not in _SMALL_WORDS]
    return bool(large) and text[-1] not in ".!?" and not any(word[0].islower() for word in large)


def is_list(rows: Sequence[str]) -> bool:
    """Whether most of three or more rows are headings or end in a page number."""
    return len(rows) >= 3 and 3 * sum(map(_is_listed, rows)) >= 2 * len(rows)


def _is_listed(row: str) -> bool:
    row = row.strip()
    if _LISTED.search(row[-5:]):
        return True
    counted = _NAMED.fullmatch(row) or _NUMERAL.fullmatch(row)
    return counted is not None and bool(counted["mark"] or not counted["title"])


def is_prose(text: str) -> bool:
    """Whether a text has a sentence: it ends as one does and has words in lower case."""
    ended = text[-1] in '.!?…"”’:' and not _LISTED.search(text[-5:])
    return ended and sum(word.islower() for word in text.split()) >= 3


def _value(number: str) -> int:
    if number.isdigit():
        return int(number)
    total, last = 0, 0
    for letter in reversed(number):
        value = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[letter]
        total += value if value >= last else -value
        last = max(last, value)
    return total
