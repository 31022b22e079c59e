"""Plain text -> a book: headings, hard-wrapped paragraphs and scene breaks as people type them.

Knows the habits of Project Gutenberg and of authors who write without a word processor. Every
paragraph of the file ends in a chapter or in what is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal

from narrator.errors import ImportFailed, Problem
from narrator.importers import matter
from narrator.importers.blocks import Block, Container, left_out, made_of, write
from narrator.importers.book import (
    Book,
    ImportedChapter,
    Skipped,
    count_characters,
    count_words,
    distinct,
    names,
    seen,
)
from narrator.importers.plaintext import find_label, find_speakers, label_key, read_text
from narrator.importers.prose import (
    BREAK,
    ROMAN,
    Span,
    is_ordinal,
    is_scene_break,
    join_heading,
    paragraphs,
    plain,
    tidy,
)

_START = re.compile(r"^\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK.*", re.IGNORECASE)
_END = re.compile(
    r"^(?:\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK|"
    r"End of (?:the )?Project Gutenberg['’]?s?\b)",
    re.IGNORECASE,
)
_FACT = re.compile(r"^(Title|Author|Language|Release date|Translator): +(.+)$", re.IGNORECASE)
_LANGUAGES = {
    "english": "en", "french": "fr", "german": "de", "spanish": "es", "italian": "it",
    "dutch": "nl", "portuguese": "pt", "finnish": "fi", "swedish": "sv", "danish": "da",
    "norwegian": "no", "russian": "ru", "polish": "pl", "greek": "el", "latin": "la",
    "chinese": "zh", "japanese": "ja", "hungarian": "hu", "czech": "cs", "esperanto": "eo",
}  # fmt: skip
_CREDIT = re.compile(
    r"^(?:Produced|E-?text prepared|Transcribed|Digitized|This e-?text was) ", re.I
)
_ASIDE = re.compile(r"^\[(Illustration|Footnote|Transcriber|Editor)", re.IGNORECASE)
_ASIDES = {
    "illustration": "picture",
    "footnote": "note",
    "transcriber": "notes on this edition",
    "editor": "notes on this edition",
}
_ASIDE_LIMIT = 8
"""Paragraphs that a footnote in brackets may have."""
_REFERENCE = re.compile(r"\s?\[(?:\d{1,3}|[A-Z*†])\]")
_EMPHASIS = re.compile(r"(?<![^\W_])_(?=[^\s_])([^_]*[^\s_])_(?![^\W_])")
_BY = re.compile(r"^(?:(?:written )?by|von|par|por|di|door|av)[:\s]\s*(\S.{1,80})$", re.IGNORECASE)

_COUNT = (
    rf"(?:\d{{1,4}}|{ROMAN}|(?:the\s+)?[^\W\d_]+"
    r"(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_NAMED = re.compile(
    r"(?P<number>(?P<word>chapter|letter|canto|stave|part|book|volume|act|scene|"
    r"kapitel|teil|buch|chapitre|partie|livre|cap[ií]tulo|parte|libro|capitolo|hoofdstuk|deel|"
    rf"глава|часть|книга)\.?\s+{_COUNT}|第[\d〇一二三四五六七八九十百千]+[章回部卷])"
    r"(?P<mark>\s*[.:)\]—–-]+)?(?:\s+(?P<title>\S.*))?",
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
_SMALL = names(
    "a an the and or nor but of in on at to by for from with as is into upon o'er "
    "la le les de du des et un une der die das und von zu im el los las y en del"
)
_LISTED = re.compile(r"[.\s·]{2,}\d{1,4}$|\s\d{1,4}$")
_FRONT_WORDS = 200
"""Text before the first heading that is no longer is a title page."""


@dataclass(slots=True, eq=False)
class _Paragraph:
    """Lines between blank lines, or one long line."""

    number: int
    """Of its first line, from 1."""
    rows: list[str]
    gap: int
    """Blank lines above it."""
    kind: Literal["text", "heading", "scene", "left"] = "text"
    reason: str = ""
    parts: list[str] = field(default_factory=list)
    """Of a heading: ordinal and title."""
    level: int = 1
    key: str = ""
    """Of a heading: what it counts, to know it again."""
    matter: str | None = None

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.rows).split())

    def leave(self, reason: str) -> None:
        self.kind, self.reason = "left", reason


def read_plain_text(path: Path) -> Book:
    """The book in a text file. Raises ImportFailed."""
    text = read_text(path)
    reader = _Text(path, seen(text).split("\n"))
    return reader.book(count_characters(text))


class _Text:
    """One file, from its lines to its chapters."""

    def __init__(self, path: Path, rows: list[str]) -> None:
        self.path = path
        self.rows = rows
        self.remarks: list[str] = []
        self.facts: dict[str, str] = {}
        self.notices: list[_Paragraph] = []
        begin, end = self._without_notices()
        rows_of_cast = [row.strip() for row in rows[begin:end] if row.strip()]
        self.labels = frozenset(name.casefold() for name in find_speakers(rows_of_cast))
        self.line_by_line = not self.labels and _is_line_by_line(rows[begin:end])
        self.width = _width(rows[begin:end])
        self.paragraphs = list(self._split(begin, end))
        self.notes = any(re.match(r"\[Footnote", p.text, re.I) for p in self.paragraphs)

    def book(self, characters: int) -> Book:
        """Everything, in its place."""
        self._leave_asides()
        self._find_headings()
        self._leave_contents()
        self._leave_title_page()
        chapters, skipped, speakers = self._chapters()
        skipped += [
            Skipped(self._source(p), "", p.reason, count_characters(p.text), count_words(p.text),
                    place=len(chapters))
            for p in self.notices
        ]  # fmt: skip
        if not chapters:
            raise ImportFailed(Problem(self.path, None, "has no text to read aloud"))
        title, author = self.facts.get("title"), self.facts.get("author")
        if title is None:
            self.remarks.append("The text does not say its title; the file's name stands for it.")
        if author is None:
            self.remarks.append("The text does not say who wrote it.")
        language = _LANGUAGES.get(self.facts.get("language", "").split(",")[0].strip().lower())
        if language is None:
            self.remarks.append("The text does not say its language; English is assumed.")
        book = Book(
            title=title or self.path.stem,
            authors=tuple(re.split(r"\s+(?:and|&)\s+|;\s*", author)) if author else ("Unknown",),
            language=language or "en",
            chapters=tuple(chapters),
            left_out=tuple(skipped),
            source=self.path.name,
            characters=characters,
            speakers=speakers,
            remarks=tuple(self.remarks),
        )
        lost = book.characters - book.characters_kept - book.characters_left_out
        if lost:
            what = f"{lost} characters would be lost; please report this text"
            raise ImportFailed(Problem(self.path, None, what))
        return book

    def _source(self, paragraph: _Paragraph) -> str:
        return f"{self.path.name}:{paragraph.number}"

    # -- paragraphs --------------------------------------------------------------------------------

    def _without_notices(self) -> tuple[int, int]:
        """Where the text begins and ends, without what Project Gutenberg has put around it."""
        begin, end = 0, len(self.rows)
        start = next((i for i, row in enumerate(self.rows) if _START.match(row.strip())), None)
        if start is not None:
            begin = start + 1
            while (
                begin < end and self.rows[begin].strip() and "***" not in self.rows[begin - 1][3:]
            ):
                begin += 1
            for row in self.rows[:start]:
                if found := _FACT.match(row.strip()):
                    self.facts.setdefault(found[1].lower(), found[2].strip())
            self._notice(0, begin)
        last = next((i for i in range(begin, end) if _END.match(self.rows[i].strip())), None)
        if last is not None:
            end = last
            self._notice(last, len(self.rows))
        return begin, end

    def _notice(self, begin: int, end: int) -> None:
        rows = [row for row in self.rows[begin:end] if row.strip()]
        self.notices.append(_Paragraph(begin + 1, rows, 0, "left", "notice of Project Gutenberg"))

    def _split(self, begin: int, end: int) -> Iterator[_Paragraph]:
        rows: list[str] = []
        first = gap = 0
        for index, row in enumerate((*self.rows[begin:end], ""), begin):
            bare = row.strip()
            begins = self.line_by_line or self._is_label(bare) or self._indents(rows, row)
            if rows and (not bare or begins):
                yield _Paragraph(first + 1, rows, gap)
                rows, gap = [], 0
            if not bare:
                gap += 1
            else:
                if not rows:
                    first = index
                rows = [*rows, row.expandtabs(4).rstrip()]

    def _is_label(self, row: str) -> bool:
        found = find_label(row)
        return found is not None and label_key(found) in self.labels

    def _indents(self, rows: list[str], row: str) -> bool:
        """Whether a row begins a paragraph by its indentation alone."""
        return (
            bool(rows and row.strip())
            and row[0].isspace()
            and len(rows[-1]) - len(rows[-1].lstrip()) < 2
            and rows[-1].rstrip()[-1] in ".!?…:;\"'”’)—-"
            and len(row) - len(row.lstrip()) >= 2
        )

    def _leave_asides(self) -> None:
        """Set aside what stands in brackets: captions, footnotes, notes of transcribers."""
        for index, paragraph in enumerate(self.paragraphs):
            if _CREDIT.match(paragraph.text) and index == 0:
                paragraph.leave("notes on this edition")
            found = _ASIDE.match(paragraph.text)
            if paragraph.kind == "left" or found is None:
                continue
            aside = self.paragraphs[index : index + _ASIDE_LIMIT]
            depths = accumulate(p.text.count("[") - p.text.count("]") for p in aside)
            closed = (count for count, depth in enumerate(depths, 1) if depth <= 0)
            for part in aside[: next(closed, 1)]:
                part.leave(_ASIDES[found[1].lower()])

    # -- headings ----------------------------------------------------------------------------------

    def _find_headings(self) -> None:
        found: list[_Paragraph] = []
        for paragraph in [p for p in self.paragraphs if p.kind == "text"]:
            if is_scene_break(paragraph.text):
                paragraph.kind = "scene"
            elif not _is_list(paragraph):
                self._as_heading(paragraph)
        self._split_headings()
        self._keep_counted()
        for paragraph, after in pairwise(self.paragraphs):
            if (
                paragraph.kind == "heading"
                and len(paragraph.parts) == 1
                and is_ordinal(paragraph.parts[0])
                and after.kind == "text"
                and len(after.rows) <= 2
                and _is_titled(after.text)
            ):
                paragraph.parts.append(after.text)
                paragraph.rows += after.rows
                after.rows = []
                found.append(after)
        self.paragraphs = [p for p in self.paragraphs if p not in found]

    def _as_heading(self, paragraph: _Paragraph) -> None:
        """Make it a heading if its first line counts or names a chapter."""
        first = paragraph.rows[0].strip()
        alone = len(paragraph.rows) <= 4 and len(paragraph.text) <= 200
        named = _NAMED.fullmatch(first)
        solo = _SOLO.fullmatch(first)
        numeral = _NUMERAL.fullmatch(first)
        if named and self._counts(named, alone):
            word = (named["word"] or "").lower()
            paragraph.level = 1 if matter.is_part(first) else 2
            paragraph.key = f"{word} {' '.join(named['number'].lower().split())}"
            self._make_heading(paragraph, named["number"] + (named["mark"] or ""), named["title"])
        elif (
            solo
            and len(paragraph.rows) <= 2
            and (solo["title"] is None or _is_titled(solo["title"]))
        ):
            paragraph.level, paragraph.key = 2, f"solo {first.lower().rstrip('.')}"
            self._make_heading(paragraph, first, None)
        elif numeral and alone and self._counts(numeral, alone):
            paragraph.level, paragraph.key = 3, f"number {numeral['number']}"
            self._make_heading(paragraph, numeral["number"] + numeral["mark"], numeral["title"])
        elif (
            len(paragraph.rows) == 1 and len(first) <= 60 and (first.isupper() or paragraph.gap > 1)
        ):
            kind = matter.kind_of_title(first)
            if matter.reason(kind):
                paragraph.level, paragraph.key, paragraph.matter = 2, f"solo {kind}", kind
                self._make_heading(paragraph, first, None)

    def _counts(self, found: re.Match[str], alone: bool) -> bool:
        """Whether what follows a number is a title or nothing, and no sentence."""
        title = found["title"]
        if title is None:
            return True
        return alone and _is_titled(title) and bool(found["mark"] or not title[0].islower())

    def _make_heading(self, paragraph: _Paragraph, number: str, title: str | None) -> None:
        paragraph.kind = "heading"
        paragraph.parts = [number.strip(), *([title] if title else [])]

    def _split_headings(self) -> None:
        """A heading's further rows are its title, or the text that begins right under it."""
        result: list[_Paragraph] = []
        for paragraph in self.paragraphs:
            result.append(paragraph)
            if paragraph.kind != "heading" or len(paragraph.rows) == 1:
                continue
            rest = paragraph.rows[1:]
            joined = " ".join(" ".join(rest).split())
            if len(rest) <= 3 and (
                _is_titled(joined) or (len(paragraph.parts) > 1 and joined.isupper())
            ):
                if len(paragraph.parts) > 1:
                    paragraph.parts[-1] += f" {joined}"
                else:
                    paragraph.parts.append(joined)
            else:
                paragraph.rows = paragraph.rows[:1]
                result.append(_Paragraph(paragraph.number + 1, rest, 0))
        self.paragraphs = result

    def _keep_counted(self) -> None:
        """Bare numbers are headings if they count from one; of sections, if chapters are named."""
        numbers = [p for p in self.paragraphs if p.kind == "heading" and p.level == 3]
        counted: list[_Paragraph] = []
        expected = 1
        for paragraph in numbers:
            value = _value(paragraph.key.split()[1])
            if value in (expected, 1):
                counted.append(paragraph)
                expected = value + 1
        headings = [p for p in self.paragraphs if p.kind == "heading"]
        named = any(p.level == 2 and not p.key.startswith("solo") for p in headings)
        for paragraph in numbers:
            if paragraph not in counted or len(counted) < 2:
                paragraph.kind, paragraph.parts = "text", []
            elif not named:
                paragraph.level = 2

    # -- front matter ------------------------------------------------------------------------------

    def _leave_contents(self) -> None:
        """Set aside a list of headings that come again, and what stands under CONTENTS."""
        runs: list[list[int]] = [[]]
        for index, paragraph in enumerate(self.paragraphs):
            if paragraph.kind == "heading" and paragraph.level < 3:
                runs[-1].append(index)
            elif paragraph.kind == "text":
                if _is_list(paragraph):
                    paragraph.leave("table of contents")
                else:
                    runs.append([])
        keys = Counter(p.key for p in self.paragraphs if p.kind == "heading")
        for run in runs:
            listed = [i for i in run if self.paragraphs[i].matter is None]
            if len(listed) < 3:
                continue
            first = self.paragraphs[listed[0]].key
            again = [i for i in listed[1:] if self.paragraphs[i].key == first]
            headed = any(self.paragraphs[i].matter == "toc" for i in run)
            cut = again[-1] if again else run[-1] + 1
            if again or headed or keys[first] > 1:
                for index in [i for i in listed if i < cut]:
                    self.paragraphs[index].leave("table of contents")
        for index, paragraph in enumerate(self.paragraphs):
            if paragraph.matter in ("toc", "loi", "lot") and paragraph.kind == "heading":
                paragraph.leave("table of contents")
                for after in self.paragraphs[index + 1 :]:
                    if after.kind == "heading" or (after.kind == "text" and _is_prose(after)):
                        break
                    after.leave("table of contents")

    def _leave_title_page(self) -> None:
        """Set aside what stands before the first heading, if it is a title page."""
        heads = [i for i, p in enumerate(self.paragraphs) if p.kind == "heading"]
        front = [p for p in self.paragraphs[: heads[0] if heads else 0] if p.kind == "text"]
        if not heads:
            front = self._title_lines()
        if sum(count_words(p.text) for p in front) > _FRONT_WORDS:
            front = self._title_lines()
        for paragraph in [p for p in front if _is_prose(p)]:
            front.remove(paragraph)
            kind = matter.kind_of_words(paragraph.text, matter.Facts(""))
            if why := matter.reason(kind):
                paragraph.leave(why)
        if front and "title" not in self.facts:
            self.facts["title"] = front[0].rows[0].strip()
        for paragraph in front:
            for row in paragraph.rows:
                if found := _BY.match(" ".join(row.split())):
                    self.facts.setdefault("author", found[1].strip().rstrip("."))
            if re.fullmatch(r"by:?", paragraph.text, re.IGNORECASE) and paragraph is not front[-1]:
                after = front[front.index(paragraph) + 1]
                self.facts.setdefault("author", after.rows[0].strip())
            paragraph.leave("title page")

    def _title_lines(self) -> list[_Paragraph]:
        """The title and the line with the author, where the text goes on without a heading."""
        texts = [p for p in self.paragraphs if p.kind != "left"][:3]
        found: list[_Paragraph] = []
        for paragraph in texts:
            short = len(paragraph.rows) <= 2 and len(paragraph.text) <= 100
            by = bool(_BY.match(" ".join(paragraph.rows[-1].split())))
            title = not found and _is_titled(paragraph.text) and find_label(paragraph.text) is None
            if paragraph.kind == "text" and short and (title or by):
                found.append(paragraph)
            else:
                break
        return found if len(found) < len([p for p in self.paragraphs if p.kind == "text"]) else []

    # -- chapters ----------------------------------------------------------------------------------

    def _chapters(self) -> tuple[list[ImportedChapter], list[Skipped], tuple[str, ...]]:
        texts = [p.text for p in self.paragraphs if p.kind == "text"]
        speakers = find_speakers(texts)
        self.labels = frozenset(name.casefold() for name in speakers)
        chapters: list[ImportedChapter] = []
        titles: list[tuple[str, str | None]] = []
        skipped: list[Skipped] = []
        part: str | None = None
        for piece in self._pieces():
            blocks = [block for p in piece for block in self._blocks(p)]
            heads = [p for p in piece if p.kind == "heading" and p.level < 3]
            head = heads[-1] if heads else None
            if heads and heads[0].level == 1:
                part = _spoken_title(heads[0])
            title = _spoken_title(head) if head else self.facts.get("title", self.path.stem)
            kept = [block for block in blocks if block.kind != "left"]
            why = matter.reason(head.matter) if head else None
            if why is None and not any(block.words for block in kept):
                why = _common_reason(blocks)
            if why is not None:
                skipped += _skips(blocks, title if head else "", why, len(chapters))
                continue
            titles.append((title, part if head and head.level > 1 else None))
            chapters.append(
                ImportedChapter(
                    title,
                    write(blocks),
                    self._source(piece[0]),
                    sum(block.characters for block in kept),
                    sum(block.words for block in kept),
                )
            )
            skipped += _skips(
                [b for b in blocks if b.kind == "left"], title, None, len(chapters) - 1
            )
        chapters = [
            replace(chapter, title=title)
            for chapter, title in zip(chapters, distinct(titles), strict=True)
        ]
        return chapters, skipped, speakers

    def _pieces(self) -> list[list[_Paragraph]]:
        """Paragraphs by chapter; a part's heading stands at the top of its first chapter."""
        pieces: list[list[_Paragraph]] = [[]]
        for paragraph in self.paragraphs:
            if paragraph.kind == "heading" and paragraph.level < 3:
                piece = pieces[-1]
                only_part = (
                    paragraph.level == 2
                    and paragraph.matter is None
                    and any(p.kind == "heading" and p.level == 1 for p in piece)
                    and not any(
                        p.kind == "text" or (p.kind == "heading" and p.level > 1) for p in piece
                    )
                )
                if not only_part:
                    pieces.append([])
            pieces[-1].append(paragraph)
        return [piece for piece in pieces if piece]

    def _blocks(self, paragraph: _Paragraph) -> Iterator[Block]:
        source = self._source(paragraph)
        if paragraph.gap >= 3 and paragraph.kind == "text":
            yield Block("gap", source)
        if paragraph.kind == "left":
            yield left_out(source, paragraph.text, paragraph.reason)
        elif paragraph.kind == "scene":
            yield made_of("scene", source, [(Span(paragraph.text),)])
        elif paragraph.kind == "heading":
            lines = [
                lines[0] for part in paragraph.parts for lines in paragraphs(self._spans(part))
            ]
            block = made_of("heading", source, lines, paragraph.level)
            block.characters = count_characters(paragraph.text)
            yield block
        else:
            yield from self._text_blocks(paragraph, source)

    def _text_blocks(self, paragraph: _Paragraph, source: str) -> Iterator[Block]:
        rows = [row.strip() for row in paragraph.rows]
        quoted = (
            not self.line_by_line
            and len(rows) > 1
            and all(row[:2].isspace() for row in paragraph.rows)
        )
        verse = quoted and max(map(len, rows)) < 0.8 * self.width
        speaker = ""
        if self._is_label(rows[0]) and (label := find_label(rows[0])):
            speaker, rows[0] = label[0], rows[0][label.end() :]
        text = ("\n" if verse else " ").join(rows)
        if self.notes:
            for found in _REFERENCE.finditer(text):
                yield left_out(source, found[0], "reference to a note")
            text = _REFERENCE.sub("", text)
        containers = (Container("> ", "> "),) if quoted else ()
        for lines in paragraphs(self._spans(text)):
            block = made_of("text", source, lines)
            block.containers, block.speaker = containers, " ".join(speaker.split())
            block.characters = count_characters(speaker + text)
            block.words += count_words(speaker)
            yield block

    def _spans(self, text: str) -> Iterator[Span]:
        """Text with `_emphasis_`; row ends are line breaks."""
        for number, piece in enumerate(_EMPHASIS.split(text)):
            for row, line in enumerate(piece.split("\n")):
                if row:
                    yield BREAK
                yield Span(line, em=number % 2 == 1)


def _is_line_by_line(rows: Sequence[str]) -> bool:
    """Whether each line is a paragraph: lines are long, or end as sentences do without a gap."""
    bare = [row.strip() for row in rows]
    lengths = sorted(map(len, filter(None, bare)))
    if lengths and lengths[len(lengths) * 9 // 10] > 200:
        return True
    inside = [row for row, after in pairwise(bare) if row and after]
    ended = sum(row[-1] in ".!?…\"”’'*:)" for row in inside)
    return bool(inside) and ended >= 0.7 * len(inside)


def _width(rows: Sequence[str]) -> int:
    lengths = sorted(len(row.strip()) for row in rows if row.strip())
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _is_titled(text: str) -> bool:
    """Whether a text is set as a title: capitals, or a capital at the head of each long word."""
    text = text.strip("_* ")
    if not text or len(text) > 120 or text[0] in "“\"'‘—-–" or text[-1] in ",;":
        return False
    if text.isupper():
        return True
    words = re.findall(r"[^\W\d_][\w’']*", text)
    large = [word for word in words if word.lower() not in _SMALL]
    return bool(large) and text[-1] not in ".!?" and all(not word[0].islower() for word in large)


def _is_list(paragraph: _Paragraph) -> bool:
    """Whether most of three or more rows are headings or end in a page number."""
    rows = [row.strip() for row in paragraph.rows]
    listed = sum(
        bool(_LISTED.search(row))
        or any(
            (found := pattern.fullmatch(row)) and (found["mark"] or not found["title"])
            for pattern in (_NAMED, _NUMERAL)
        )
        for row in rows
    )
    return len(rows) >= 3 and 3 * listed >= 2 * len(rows)


def _is_prose(paragraph: _Paragraph) -> bool:
    """Whether a paragraph has a sentence: it ends as one does and has words in lower case."""
    text = paragraph.text
    ended = text[-1] in '.!?…"”’:' and not _LISTED.search(text)
    return ended and sum(word.islower() for word in text.split()) >= 3


def _value(number: str) -> int:
    if number.isdigit():
        return int(number)
    total, last = 0, 0
    for letter in reversed(number.upper()):
        value = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[letter]
        total += value if value >= last else -value
        last = max(last, value)
    return total


def _spoken_title(heading: _Paragraph) -> str:
    text = plain(join_heading([tidy([Span(part)]) for part in heading.parts]))
    return text.rstrip(".:—–- ") if is_ordinal(text) else text


def _common_reason(blocks: Sequence[Block]) -> str:
    reasons = Counter(block.reason for block in blocks if block.reason)
    return reasons.most_common(1)[0][0] if reasons else "no words"


def _skips(
    blocks: Sequence[Block], title: str, reason: str | None, place: int
) -> Iterator[Skipped]:
    """Blocks that are left out, one for each reason; `reason` is that of a whole piece."""
    sums: dict[str, list[Block]] = {}
    for block in blocks:
        sums.setdefault(block.reason or reason or "no words", []).append(block)
    for why, found in sums.items():
        characters = sum(block.characters for block in found)
        if not characters:
            continue
        words = sum(block.words for block in found)
        several = f"{why} ({len(found)} of them)" if len(found) > 1 and reason is None else why
        spoken = [b for b in found if b.kind != "left"]
        restorable = write(spoken) if reason is not None and any(b.words for b in spoken) else None
        yield Skipped(found[0].source, title, several, characters, words, restorable, place)
