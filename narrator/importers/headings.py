"""What lines of plain text are: headings, titles, lists of contents, prose.

Only the shape of the words counts here; what becomes of them is decided in `text.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from narrator.importers import matter, persons
from narrator.importers.book import names
from narrator.importers.counting import (
    ALONE,
    ROMAN,
    bare_east,
    bare_value,
    counted,
    fold,
    value_in_words,
)

PART, CHAPTER, SECTION = 1, 2, 3
"""Levels of headings."""

_SOLO = re.compile(rf"(?:{fold(ALONE)})(?:\s*[.:—–-]+\s*(?P<title>\S.*)|\.)?", re.IGNORECASE)
_NUMERAL = re.compile(
    rf"(?P<number>\d{{1,3}}|{ROMAN.upper()}|[A-Z](?=[.:)]|$))(?P<mark>[.:)]?)(?:\s+(?P<title>\S.*))?"
)
_SMALL_WORDS = names(
    "a an the and or nor but of in on at to by for from with as is into upon o'er "
    "la le les de du des et un une der die das und von zu im el los las y en del"
)
_OPENING = "“‘«„‹「『\"'¿¡_*"
_ORNAMENTED = re.compile(r"[_*=~]+[ \t]*([^\s_*=~][^_*=~]*?)[ \t]*[_*=~]+")
"""A heading with signs around it: `_Chapter I_`, `= I =`."""
_LISTED = re.compile(r"[.\s·]\d{1,4}$")
_UNCASED_LETTERS = 12
"""Of a sentence in Chinese, which are some ten words of it, in Hebrew or Arabic three."""
END = re.compile(r"(the )?end|fin|ende|fine|finis|конец", re.IGNORECASE)
"""What a text ends with, and no chapter is called."""


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
    value: int | None = None
    """Its number, where that is known."""
    rows: int = 1
    """Lines that it takes; text may begin right under it."""

    @property
    def names_chapter(self) -> bool:
        """Whether it says that it is a chapter's, as a bare number does not."""
        return self.level == CHAPTER and self.key.startswith("named")

    @property
    def letter(self) -> int | None:
        """Its place in the alphabet, where it is a single letter."""
        number = self.parts[0].rstrip(".:)")
        return ord(number) - ord("A") + 1 if re.fullmatch("[A-Z]", number) else None

    @property
    def is_first(self) -> bool:
        """Whether it counts, and begins to."""
        return self.value == 1


def read_heading(rows: Sequence[str], gap: int) -> Heading | None:
    """The heading that a paragraph is, or begins with; `gap` blank lines stand above it."""
    if is_list(rows):
        return None
    first = rows[0].strip()
    if ornamented := _ORNAMENTED.fullmatch(first):
        first = ornamented[1]
    elif counted(first[1:-1]) and f"{first[0]}{first[-1]}" in ("[]", "【】"):
        first = first[1:-1]
    below = " ".join(" ".join(rows[1:]).split())
    short = len(rows) <= 4 and len(first) + len(below) <= 200
    heading = _counted(first, short=short, alone=not below) or _uncounted(first, len(rows), gap)
    if heading is None and short and below:
        # a long title that describes: "CHAPTER X. In which much\nhappens to all of us"
        return _counted(f"{first} {below}", short=True, alone=True, rows=len(rows))
    named = heading is not None and heading.key != "solo persons"
    return _with_title(heading, below, len(rows)) if heading and named and below else heading


def _uncounted(row: str, rows: int, gap: int) -> Heading | None:
    """A heading without a number, at the top of so many rows."""
    if persons.is_list(row) and (row.isupper() or (gap > 1 and rows == 1)):
        return Heading((row,), CHAPTER, "solo persons")
    return (_solo(row) if rows <= 2 else None) or (_of_matter(row, gap) if rows == 1 else None)


def _with_title(heading: Heading, below: str, rows: int) -> Heading:
    """A heading and the rows below it, where they are its title, or go on with it."""
    number, *titled = heading.parts
    if rows > 4 or not (is_title(below) or (titled and below.isupper())):
        return heading
    parts = (number, f"{titled[0]} {below}" if titled else below)
    return replace(heading, parts=parts, rows=rows)


def _solo(row: str) -> Heading | None:
    """A heading that needs no number, such as a prologue's."""
    solo = _SOLO.fullmatch(fold(row))
    if solo is None or not (solo["title"] is None or is_title(row[-len(solo["title"]) :])):
        return None
    return Heading((row,), CHAPTER, f"solo {row.lower().rstrip('.')}")


def _of_matter(row: str, gap: int) -> Heading | None:
    """The heading of front or back matter, in capitals or set apart."""
    kind = matter.kind_of_title(row) if len(row) <= 60 and (row.isupper() or gap > 1) else None
    return Heading((row,), CHAPTER, f"solo {kind}", kind) if matter.reason(kind) else None


def _counted(row: str, short: bool, alone: bool, rows: int = 1) -> Heading | None:
    """A heading with a number, and no sentence after it; on so many rows."""
    named = counted(row)
    if named is None:
        return _numbered(row) if short else None
    if named.title and not (short and _is_titled(named.title, named.mark, alone=alone)):
        return None
    level = PART if named.is_part else CHAPTER
    key = f"named {' '.join(named.number.lower().split())}"
    parts = _parts(named.number, named.mark, named.title)
    return Heading(parts, level, key, value=named.value, rows=rows)


def _numbered(row: str) -> Heading | None:
    """A heading with a bare number: `IV. The Gate`, `一、海`, `Twenty-One`."""
    if bare := _NUMERAL.fullmatch(row):
        title, mark, number = bare["title"] or "", bare["mark"], bare["number"].lower()
        if title and not _is_titled(title, mark, alone=False):
            return None
        parts = _parts(bare["number"], mark, title)
        return Heading(parts, SECTION, f"number {number}", value=bare_value(number))
    east = bare_east(row)
    value = east[0] if east and len(east[1]) < 40 else None
    if value is None and len(row) <= 20 and row[-1] not in "!?":
        value = value_in_words(row)
    return Heading((row,), SECTION, f"number {value}", value=value) if value else None


def _parts(number: str, mark: str, title: str) -> tuple[str, ...]:
    return (f"{number}{mark}".strip(), *([title] if title else []))


def _is_titled(title: str, mark: str, alone: bool) -> bool:
    """Whether what follows a number is its title; `alone`, after a name, in its own paragraph."""
    if is_title(title.rstrip(".") if mark else title) and (mark or not title[0].islower()):
        return True
    # "CHAPTER II. Matthew is surprised", "CHAPTER XI. Who stole the tarts?"
    begins = title[0].isupper() or (title[0] in _OPENING and title[1:2].isupper())
    return alone and bool(mark) and begins and title[-1] not in ",;:"


def is_title(text: str) -> bool:
    """Whether a text is set as a title: capitals, or a capital at the head of each long word."""
    text = text.strip("_* ")
    if not text or len(text) > 120 or text[0] in "“\"'‘—-–「『" or text[-1] in ",;。！？」』":
        return False
    text = text.rstrip("?!") or text
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
    if named := counted(row):
        return bool(named.mark or not named.title)
    bare = _NUMERAL.fullmatch(row)
    return bare is not None and bool(bare["mark"] or not bare["title"])


def is_prose(text: str) -> bool:
    """Whether a text has a sentence: it ends as one does and has words in lower case, or in a
    script without cases many letters."""
    ended = text[-1] in '.!?…"”’:。！？」』؟۔।' and not _LISTED.search(text[-5:])
    if not ended:
        return False
    if sum(word.islower() for word in text.split()) >= 3:
        return True
    return sum(c.isalpha() and c.lower() == c.upper() for c in text) >= _UNCASED_LETTERS
