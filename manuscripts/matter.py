"""Classifies pieces of a book: chapters, parts, and front and back matter that is not read aloud.

Four kinds of evidence, the strongest first: the book's own markup (`epub:type`, DPUB roles,
landmarks, guide), the title, the words, the file's name. Knows no file format.

Kept: everything that the author tells the reader: preface, foreword, introduction, prologue,
epigraph, parts, interludes, epilogue, afterword, author's notes, appendices. Left out: what serves
a book on paper or on a screen, or sells another one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from manuscripts.book import count_words, word_set
from manuscripts.counting import ROMAN, parse_numbering
from textbase.characters import strip_invisible
from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))
_KEPT_KINDS = frozenset(_LISTS.words("read aloud"))
_OMITTED_KINDS = {
    kind: _LISTS.table(kind, joint="|")
    for kind in _LISTS.sections()
    if kind not in ("read aloud", "signs of rights")
}
"""Kind that is left out -> its fields in the list: `reason`, `titles`, `markup`, `files`,
`most words`."""
_TITLE_PATTERNS = {
    kind: re.compile(fields["titles"], re.IGNORECASE)
    for kind, fields in _OMITTED_KINDS.items()
    if "titles" in fields
}
_KIND_BY_MARKUP_WORD, _KIND_BY_FILE_WORD = (
    {word: kind for kind, fields in _OMITTED_KINDS.items() for word in fields.get(name, "").split()}
    for name in ("markup", "files")
)
_MAX_WORDS_FOR_FILE_NAME = 1500
"""Number of words above which a file's name alone proves nothing."""

_CHAPTER = re.compile(
    rf"(prologue|epilogue|interlude)\b|\d{{1,3}}(?!\S*\d)|(?-i:{ROMAN.upper()})\s*([.:)—–-]|$)",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    "|".join(
        f"(?P<{meaning}>{pattern})"
        for meaning, pattern in _LISTS.table("signs of rights", joint="|").items()
    ),
    re.IGNORECASE,
)
_MAX_RIGHTS_PAGE_WORDS = 600
_MAX_TITLE_PAGE_WORDS = 80
_MAX_CHARACTERS_PER_WORD = 8
"""Largest average length of words; limits texts that use no spaces."""


@dataclass(frozen=True, slots=True)
class BookContext:
    """Facts about the whole book that help to judge a piece of it."""

    title: str
    title_page_facts: tuple[str, ...] = ()
    """Subtitle, authors, publisher."""


def kind_of_type(types: str) -> str | None:
    """Returns the kind that an `epub:type`, `role` or guide type names, if this module knows it."""
    for word in types.lower().split():
        word = word.rpartition(":")[2].removeprefix("doc-").removeprefix("other.")
        word = _KIND_BY_MARKUP_WORD.get(word, word)
        if word in _OMITTED_KINDS or word in _KEPT_KINDS:
            return word
    return None


def kind_of_title(title: str) -> str | None:
    """Returns the kind of front or back matter that a title names."""
    title = " ".join(title.split()).strip(".:—–-* ")
    return next(
        (kind for kind, pattern in _TITLE_PATTERNS.items() if pattern.fullmatch(title)), None
    )


def kind_of_file(name: str, words: int) -> str | None:
    """Returns the kind that a document's name suggests, for a document without other evidence."""
    if words > _MAX_WORDS_FOR_FILE_NAME:
        return None
    stem = name.rpartition("/")[2].rpartition(".")[0].lower()
    parts = [part for part in re.split(r"[^a-z]+", stem) if part]
    parts += ["".join(parts)]
    return next((_KIND_BY_FILE_WORD[part] for part in parts if part in _KIND_BY_FILE_WORD), None)


def kind_of_words(text: str, context: BookContext) -> str | None:
    """Returns the kind that the words reveal: a copyright page or a title page."""
    if has_at_most_words(text, _MAX_RIGHTS_PAGE_WORDS) and len(signs_of_rights(text)) >= 2:
        return "copyright-page"
    title_words, text_words = _word_set(context.title), _word_set(text)
    if text.strip() and may_be_title_page(text) and title_words and title_words <= text_words:
        unexpected_words = text_words - _title_page_words(context)
        # numbers are dates
        unexpected_count = sum(not word[0].isdigit() for word in unexpected_words)
        if 4 * unexpected_count <= len(text_words):
            return "titlepage"
    return None


def signs_of_rights(text: str) -> set[str]:
    """Returns the meanings of a copyright page's words that occur in a text."""
    return {sign.lastgroup or "" for sign in _RIGHTS.finditer(text)}


def has_at_most_words(text: str, max_words: int) -> bool:
    """Returns whether a text is no longer; in scripts without spaces, by its characters."""
    return count_words(text) <= max_words and len(text) <= max_words * _MAX_CHARACTERS_PER_WORD


def may_be_title_page(text: str) -> bool:
    """Returns whether a text is as short as a title page is."""
    return has_at_most_words(text, _MAX_TITLE_PAGE_WORDS)


def kind_if_plausible(kind: str | None, text: str) -> str | None:
    """Returns the kind of a piece; None if its text is too long for that."""
    max_words = _OMITTED_KINDS.get(kind or "", {}).get("most words")
    return kind if max_words is None or has_at_most_words(text, int(max_words)) else None


_TITLE_PAGE_WORDS = word_set("by a an the novel story stories tale tales of and in with")


def _title_page_words(context: BookContext) -> frozenset[str]:
    """Returns the words that a title page of this book may have."""
    facts = _word_set(" ".join((context.title, *context.title_page_facts)))
    return facts | _TITLE_PAGE_WORDS


def _word_set(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", strip_invisible(text).casefold()))


def omission_reason(kind: str | None) -> str | None:
    """Returns why a piece of this kind is left out; None if it is kept."""
    return _OMITTED_KINDS.get(kind or "", {}).get("reason")


def is_part(title: str) -> bool:
    """Returns whether a title names a part that holds chapters: `Book One`, `Part II: The Sea`."""
    numbering = parse_numbering(title)
    return numbering is not None and numbering.is_part


def is_chapter(title: str) -> bool:
    """Returns whether a title names a chapter: `Chapter 4`, `XII. The Storm`, `Epilogue`."""
    numbering = parse_numbering(title)
    return bool(_CHAPTER.match(title.strip())) if numbering is None else not numbering.is_part


def part_title(text: str) -> str | None:
    """Returns the title of a text that only names a part ("" without a title), or None for any
    other text.

    `Part Two: The Sea` has "The Sea", `Part of it was true.` has None.
    """
    numbering = parse_numbering(text)
    if numbering is None or not numbering.is_part or (numbering.title and not numbering.mark):
        return None
    return numbering.title


def part_word(title: str) -> str:
    """Returns the word that a part's title counts by, `part` or `book`; "" for any other title."""
    numbering = parse_numbering(title)
    return numbering.word if numbering and numbering.is_part else ""


def is_title_page_line(text: str, context: BookContext) -> bool:
    """Returns whether a text says only what a title page does: the book's title, its authors."""
    return _word_set(text) <= _title_page_words(context)


_KIND_OF_BOOK = re.compile(
    r"(?:an?|eine?|une?|una|um|uma)\s.*|"
    r"(?:\w+\s){0,3}(?:novel|novella|roman|novela|romanzo|romance|"
    r"memoir|thriller|stories|роман|повесть)",
    re.IGNORECASE,
)


def says_kind_of_book(text: str) -> bool:
    """Returns whether a line of a title page names the book's genre, such as `A Novel`, which may
    look like a name."""
    return _KIND_OF_BOOK.fullmatch(text.strip()) is not None


_PERSON_NAME = re.compile(
    r"[^\W\d_a-z][\w’'.-]*(?: [^\W\d_a-z][\w’'.-]*| (?:de|von|van|di|la)){1,4}"
)
_BYLINE = re.compile(
    r"(?:an? [\w’' -]{1,30}|written|story|novel)?\s*(?<!\w)by:?\s+(?P<name>\S.{1,60})|"
    r"(?:von|par|por|di|de|door|af|av|от|מאת)\s+(?P<foreign_name>[^\W\d_a-z]\S*(?:\s+\S+){0,4})",
    re.IGNORECASE,
)


def is_person_name(text: str) -> bool:
    """Returns whether a line of a title page may be a person's name."""
    return _PERSON_NAME.fullmatch(text) is not None and not says_kind_of_book(text)


def author_of_byline(text: str) -> str | None:
    """Returns the author that a line of a title page names, as `by Jane Doe` does."""
    match = _BYLINE.fullmatch(text)
    return (match["name"] or match["foreign_name"]) if match else None
