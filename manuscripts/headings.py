"""Classifies lines of plain text: headings, titles, tables of contents, prose.

Judges only the form of the words; `text.py` decides what becomes of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from manuscripts import matter, persons
from manuscripts.book import word_set
from manuscripts.counting import (
    ALONE,
    fold,
    parse_bare_number,
    parse_numbering,
)

PART, CHAPTER, SECTION = 1, 2, 3
"""Levels of headings."""

_SOLO_HEADING = re.compile(
    rf"(?:{fold(ALONE)})(?:\s*[.:—–-]+\s*(?P<title>\S.*)|\.)?", re.IGNORECASE
)
_SMALL_WORDS = word_set(
    "a an the and or nor but of in on at to by for from with as is into upon o'er "
    "la le les de du des et un une der die das und von zu im el los las y en del"
)
_OPENING_CHARACTERS = "“‘«„‹「『\"'¿¡_*"
_ORNAMENTED = re.compile(r"[_*=~]+[ \t]*([^\s_*=~][^_*=~]*?)[ \t]*[_*=~]+")
"""A heading with signs around it: `_Chapter I_`, `= I =`."""
_ENDS_IN_PAGE_NUMBER = re.compile(r"[.\s·]\d{1,4}$")
_MIN_UNCASED_LETTERS = 12
"""Letters of a sentence in a script without case: ten words or so of Chinese, three of Hebrew or
Arabic."""
END_OF_TEXT = re.compile(r"(the )?end|fin|ende|fine|finis|конец", re.IGNORECASE)
"""Ends a text, and is never a chapter's title."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a plain text."""

    parts: tuple[str, ...]
    """Ordinal and title, either of which may be missing."""
    level: int
    key: str
    """Identifies the heading, to recognise it in a table of contents."""
    matter: str | None = None
    """Kind of front or back matter that it names."""
    value: int | None = None
    """Its number, if known."""
    row_count: int = 1
    """Number of its lines; text may follow directly."""

    @property
    def names_chapter(self) -> bool:
        """True if it says that it is a chapter's, as a bare number does not."""
        return self.level == CHAPTER and self.key.startswith("named")

    @property
    def letter(self) -> int | None:
        """Position in the alphabet, if it is a single letter."""
        number = self.parts[0].rstrip(".:)")
        return ord(number) - ord("A") + 1 if re.fullmatch("[A-Z]", number) else None

    @property
    def is_first(self) -> bool:
        """True if it is number one."""
        return self.value == 1


def solo_heading(text: str, level: int = CHAPTER, kind: str = "solo") -> Heading:
    """Returns a heading that is not counted."""
    return Heading((text,), level, f"{kind} {text.lower()}")


def read_heading(rows: Sequence[str], blank_rows_above: int) -> Heading | None:
    """Returns the heading that a paragraph is or begins with.

    Headings of some kinds need two blank rows above them, or capitals.
    """
    if is_contents_list(rows):
        return None
    first_row = rows[0].strip()
    if ornamented := _ORNAMENTED.fullmatch(first_row):
        first_row = ornamented[1]
    elif parse_numbering(first_row[1:-1]) and f"{first_row[0]}{first_row[-1]}" in ("[]", "【】"):
        first_row = first_row[1:-1]
    text_below = " ".join(" ".join(rows[1:]).split())
    is_short = len(rows) <= 4 and len(first_row) + len(text_below) <= 200
    heading = _counted_heading(first_row, is_short, is_alone=not text_below) or _uncounted_heading(
        first_row, len(rows), blank_rows_above
    )
    if heading is None and is_short and text_below:
        # A long descriptive title: "CHAPTER X. In which much\nhappens to all of us"
        return _counted_heading(
            f"{first_row} {text_below}", is_short, is_alone=True, row_count=len(rows)
        )
    if heading is None or not text_below or heading.key == "solo persons":
        return heading
    return _join_title(heading, text_below, len(rows))


def _uncounted_heading(row: str, row_count: int, blank_rows_above: int) -> Heading | None:
    """Returns a heading without a number, which is the first row of a paragraph."""
    if persons.is_cast_heading(row) and (
        row.isupper() or (blank_rows_above > 1 and row_count == 1)
    ):
        return Heading((row,), CHAPTER, "solo persons")
    return (_named_heading(row) if row_count <= 2 else None) or (
        _matter_heading(row, blank_rows_above) if row_count == 1 else None
    )


def _join_title(heading: Heading, text_below: str, row_count: int) -> Heading:
    """Returns a heading joined with the rows below it, if these are or continue its title."""
    number, *titles = heading.parts
    if row_count > 4 or not (is_title(text_below) or (titles and text_below.isupper())):
        return heading
    parts = (number, f"{titles[0]} {text_below}" if titles else text_below)
    return replace(heading, parts=parts, row_count=row_count)


def _named_heading(row: str) -> Heading | None:
    """Returns a heading that needs no number, such as a prologue's."""
    match = _SOLO_HEADING.fullmatch(fold(row))
    if match is None or not (match["title"] is None or is_title(row[-len(match["title"]) :])):
        return None
    return Heading((row,), CHAPTER, f"solo {row.lower().rstrip('.')}")


def _matter_heading(row: str, blank_rows_above: int) -> Heading | None:
    """Returns the heading of front or back matter, in capitals or set apart."""
    kind = (
        matter.kind_of_title(row)
        if len(row) <= 60 and (row.isupper() or blank_rows_above > 1)
        else None
    )
    return Heading((row,), CHAPTER, f"solo {kind}", kind) if matter.omission_reason(kind) else None


def _counted_heading(
    row: str, is_short: bool, is_alone: bool, row_count: int = 1
) -> Heading | None:
    """Returns a heading with a number, with or without a counted word, and no sentence after it.

    A bare number must head a paragraph that `is_short`; the title after a counted word may look
    like a sentence if the row `is_alone`.
    """
    numbering = parse_numbering(row)
    if numbering is None and is_short:
        numbering, is_alone = parse_bare_number(row), False
    if numbering is None:
        return None
    number, mark, title = numbering.number, numbering.mark, numbering.title
    if title and not (is_short and _is_title_of_number(title, mark, is_alone=is_alone)):
        return None
    level = PART if numbering.is_part else CHAPTER if numbering.word else SECTION
    key = f"{'named' if numbering.word else 'number'} {' '.join(number.lower().split())}"
    parts = (f"{number}{mark}".strip(), *([title] if title else []))
    return Heading(parts, level, key, value=numbering.value, row_count=row_count)


def _is_title_of_number(title: str, mark: str, is_alone: bool) -> bool:
    """Returns whether the text after a number is its title; `is_alone` if a counted word precedes
    it in a paragraph of its own."""
    if is_title(title.rstrip(".") if mark else title) and (mark or not title[0].islower()):
        return True
    # "CHAPTER II. Matthew is surprised", "CHAPTER XI. Who stole the tarts?"
    starts_as_title = title[0].isupper() or (
        title[0] in _OPENING_CHARACTERS and title[1:2].isupper()
    )
    return is_alone and bool(mark) and starts_as_title and title[-1] not in ",;:"


def is_title(text: str) -> bool:
    """Returns whether a text is set as a title: capitals, or a capital at the head of each long
    word."""
    text = text.strip("_* ")
    if not text or len(text) > 120 or text[0] in "“\"'‘—-–「『" or text[-1] in ",;。！？」』":
        return False
    text = text.rstrip("?!") or text
    if text.isupper():
        return True
    words = re.findall(r"[^\W\d_][\w’']*", text)
    long_words = [word for word in words if word.lower() not in _SMALL_WORDS]
    return (
        bool(long_words)
        and text[-1] not in ".!?"
        and not any(word[0].islower() for word in long_words)
    )


def is_contents_list(rows: Sequence[str]) -> bool:
    """Returns whether most of three or more rows are headings or end in a page number."""
    return len(rows) >= 3 and 3 * sum(map(_is_contents_row, rows)) >= 2 * len(rows)


def _is_contents_row(row: str) -> bool:
    row = row.strip()
    if _ENDS_IN_PAGE_NUMBER.search(row[-5:]):
        return True
    numbering = parse_numbering(row) or parse_bare_number(row)
    return numbering is not None and bool(numbering.mark or not numbering.title)


def is_prose(text: str) -> bool:
    """Returns whether a text has a sentence: it ends as one does and has words in lower case, or in
    a script without cases many letters."""
    is_ended = text[-1] in '.!?…"”’:。！？」』؟۔।' and not _ENDS_IN_PAGE_NUMBER.search(text[-5:])
    if not is_ended:
        return False
    if sum(word.islower() for word in text.split()) >= 3:
        return True
    return sum(c.isalpha() and c.lower() == c.upper() for c in text) >= _MIN_UNCASED_LETTERS
