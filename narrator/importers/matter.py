"""What a piece of a book is: a chapter, a part, or front and back matter that is not read aloud.

Four kinds of evidence, the strongest first: what the book's own markup says (`epub:type`, DPUB
roles, landmarks, guide), the title, the words, the file's name. Knows no file format.

Kept: everything that the author tells the reader: preface, foreword, introduction, prologue,
epigraph, parts, interludes, epilogue, afterword, author's notes, appendices. Left out: what
serves a book on paper or on a screen, or sells another one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from narrator.characters import seen
from narrator.importers.book import count_words, names
from narrator.importers.counting import ROMAN, counted

_LEFT_OUT = {
    "cover": "cover",
    "titlepage": "title page",
    "halftitlepage": "half title",
    "seriespage": "list of books",
    "imprint": "imprint",
    "copyright-page": "copyright page",
    "colophon": "colophon",
    "dedication": "dedication",
    "acknowledgments": "acknowledgements",
    "toc": "table of contents",
    "landmarks": "table of contents",
    "page-list": "table of contents",
    "loi": "list of illustrations",
    "lot": "list of tables",
    "index": "index",
    "endnotes": "notes",
    "footnotes": "notes",
    "glossary": "glossary",
    "bibliography": "bibliography",
    "other-credits": "credits",
    "contributors": "about the author",
    "errata": "errata",
    "questions": "study questions",
    "production": "notes on this edition",
    "advertisement": "advertisement",
}
_KEPT = {
    "chapter", "part", "volume", "prologue", "epilogue", "preface", "foreword", "introduction",
    "afterword", "conclusion", "epigraph", "appendix",
}  # fmt: skip
_SAME = {
    "acknowledgements": "acknowledgments",
    "title-page": "titlepage",
    "halftitle": "halftitlepage",
    "half-title-page": "halftitlepage",
    "copyright": "copyright-page",
    "rearnotes": "endnotes",
    "notes": "endnotes",
    "pagelist": "page-list",
    "credit": "other-credits",
    "credits": "other-credits",
    "index-group": "index",
    "loa": "loi",
    "lov": "loi",
    "ad": "advertisement",
    "qna": "questions",
}

_TITLES = {
    "cover": r"(front |back )?cover( page| image)?",
    "titlepage": r"(full )?title[- ]?page",
    "halftitlepage": r"half[- ]?title([- ]?page)?",
    "imprint": r"imprint|impressum|mentions légales",
    "copyright-page": r"(un)?copyright( page| notice| information)?|"
    r"copyrights?( and| &) permissions|legal( notice)?|credits and copyright|urheberrecht|"
    r"droits d[’']auteur|licen[cs]e|(the )?full project gutenberg licen[cs]e|permissions",
    "colophon": r"colophon|kolophon|colofón",
    "dedication": r"dedications?|widmung|dédicace|dedicatoria|dedica",
    "acknowledgments": r"(the )?(author[’']s )?acknowledge?ments?|danksagung|remerciements|"
    r"agradecimientos|ringraziamenti|dankwoord",
    "toc": r"(table of )?contents|toc|inhalt(sverzeichnis)?|table des matières|sommaire|"
    r"índice( general)?|indice|inhoud(sopgave)?|оглавление|содержание|目[录錄次]",
    "loi": r"(list of )?(illustrations|figures|plates)",
    "lot": r"list of tables",
    "index": r"(general |subject )?index|register",
    "endnotes": r"(end|foot)?notes|notes and references|anmerkungen|fu(ß|ss)noten|примечания",
    "glossary": r"glossary",
    "bibliography": r"(select(ed)? )?bibliography|works cited|references|further reading|sources",
    "contributors": r"(a note )?(about|on) the "
    r"(authors?|editors?|translators?|illustrators?|type|typeface)|"
    r"(author|translator) bio(graphy)?|über de[nr] autor(in)?|à propos de l[’']auteur\w*|"
    r"об авторе",
    "seriespage": r"(also|(more |other )?(books|titles|works)) "
    r"(in this series|by|from|available)\b.*|by the same author|du même auteur",
    "advertisement": r"praise (for|from)\b.*|(critical |advance )acclaim\b.*|"
    r"newsletters?( sign-?up)?|about (the publisher|this (e-?)?book|standard ebooks|"
    r"project gutenberg)|(an )?(exclusive )?(excerpt|extract|preview|sneak peek) (from|of)\b.*|"
    r"(thank you for (reading|buying|downloading)|join the|sign up for|read on for)\b.*",
    "questions": r"(discussion|study|reading group|book club) (questions|guide)|"
    r"reading group guide|questions for discussion",
    "production": r"transcriber[’']?s?[’']? notes?|transcription notes?|production notes?|"
    r"publisher[’']s note",
    "errata": r"errata|corrigenda",
}
_TITLE = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _TITLES.items()}

_FILE_WORDS = {
    "cover": "cover",
    "coverpage": "cover",
    "titlepage": "titlepage",
    "title": "titlepage",
    "tp": "titlepage",
    "halftitle": "halftitlepage",
    "halftitlepage": "halftitlepage",
    "htp": "halftitlepage",
    "copyright": "copyright-page",
    "copyrightpage": "copyright-page",
    "cop": "copyright-page",
    "cpy": "copyright-page",
    "imprint": "imprint",
    "colophon": "colophon",
    "dedication": "dedication",
    "ded": "dedication",
    "acknowledgments": "acknowledgments",
    "acknowledgements": "acknowledgments",
    "ack": "acknowledgments",
    "toc": "toc",
    "contents": "toc",
    "nav": "toc",
    "abouttheauthor": "contributors",
    "ata": "contributors",
    "alsoby": "seriespage",
    "endnotes": "endnotes",
    "footnotes": "endnotes",
    "newsletter": "advertisement",
}
_FILE_LIMIT = 1500
"""Words above which a file's name alone proves nothing."""

_CHAPTER = re.compile(
    rf"(prologue|epilogue|interlude)\b|\d{{1,3}}(?!\S*\d)|(?-i:{ROMAN.upper()})\s*([.:)—–-]|$)",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    r"(?P<owner>©|\bcopyright\b)|(?P<all>all rights reserved)|(?P<isbn>\bisbn\b)|"
    r"(?P<print>first published|printed in|published by)|(?P<library>library of congress)|"
    r"(?P<leave>publisher[’']s permission|public domain|work of fiction)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class BookContext:
    """What is known of the whole book when a piece of it is judged."""

    title: str
    others: tuple[str, ...] = ()
    """Subtitle, authors, publisher: what else a title page says."""


def kind_of_type(types: str) -> str | None:
    """The kind that an `epub:type`, `role` or guide type names, if it is one that matters here."""
    for word in types.lower().split():
        word = word.rpartition(":")[2].removeprefix("doc-").removeprefix("other.")
        word = _SAME.get(word, word)
        if word in _LEFT_OUT or word in _KEPT:
            return word
    return None


def kind_of_title(title: str) -> str | None:
    """The kind of front or back matter that a title names."""
    title = " ".join(title.split()).strip(".:—–-* ")
    return next((kind for kind, pattern in _TITLE.items() if pattern.fullmatch(title)), None)


def kind_of_file(name: str, words: int) -> str | None:
    """The kind that a document's name suggests, for a document that says nothing itself."""
    if words > _FILE_LIMIT:
        return None
    stem = name.rpartition("/")[2].rpartition(".")[0].lower()
    parts = [part for part in re.split(r"[^a-z]+", stem) if part]
    parts += ["".join(parts)]
    return next((_FILE_WORDS[part] for part in parts if part in _FILE_WORDS), None)


def kind_of_words(text: str, facts: BookContext) -> str | None:
    """The kind that the words themselves give away: a page of rights, a title page."""
    words = count_words(text)
    if words <= 600 and len({sign.lastgroup for sign in _RIGHTS.finditer(text)}) >= 2:
        return "copyright-page"
    title, others = _words(facts.title), _words(" ".join(facts.others))
    own = _words(text)
    if 0 < words <= 80 and title and title <= own:
        unknown = own - title - others - _TITLE_PAGE_WORDS
        strange = [word for word in unknown if not word[0].isdigit()]  # digits are dates
        if len(strange) * 4 <= len(own):
            return "titlepage"
    return None


_TITLE_PAGE_WORDS = names("by a an the novel story stories tale tales of and in with")


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", seen(text).casefold()))


def reason(kind: str | None) -> str | None:
    """Why a piece of this kind is left out; None where it is kept."""
    return _LEFT_OUT.get(kind or "")


def is_part(title: str) -> bool:
    """Whether a title names a part that holds chapters: `Book One`, `Part II: The Sea`."""
    said = counted(title)
    return said is not None and said.is_part


def is_chapter(title: str) -> bool:
    """Whether a title names a chapter: `Chapter 4`, `XII. The Storm`, `Epilogue`."""
    said = counted(title)
    return bool(_CHAPTER.match(title.strip())) if said is None else not said.is_part


def title_of_part(text: str) -> str | None:
    """What a text that names a part and says no more than its title adds to the number, or "";
    None for any other text: `Part Two: The Sea` has "The Sea", `Part of it was true.` has none."""
    said = counted(text)
    if said is None or not said.is_part or (said.title and not said.mark):
        return None
    return said.title


def counted_by(title: str) -> str:
    """The word that a part's title counts by, `part` or `book`; "" for what is no part."""
    said = counted(title)
    return said.word if said and said.is_part else ""


def is_title_page_line(text: str, facts: BookContext) -> bool:
    """Whether a text says only what a title page does: the book's title, its authors."""
    known = _words(" ".join((facts.title, *facts.others))) | _TITLE_PAGE_WORDS
    return _words(text) <= known


_KIND_OF_BOOK = re.compile(
    r"(?:an?|eine?|une?|una|um|uma)\s.*|(?:\w+\s){0,3}(?:novel|novella|roman|novela|romanzo|romance|"
    r"memoir|thriller|stories|роман|повесть)",
    re.IGNORECASE,
)


def says_kind_of_book(text: str) -> bool:
    """Whether a line of a title page says what the book is, which may look as a name does: `A
    Novel`."""
    return _KIND_OF_BOOK.fullmatch(text.strip()) is not None
