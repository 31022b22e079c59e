"""Plain text -> a book: headings, hard-wrapped paragraphs and scene breaks as people type them.

Knows the habits of Project Gutenberg and of authors who write without a word processor. Every
paragraph of the file ends in a chapter or in what is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal

from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers import matter
from narrator.importers.blocks import Block, Container, left_out, made_of, write
from narrator.importers.book import (
    Book,
    ImportedChapter,
    Skipped,
    count_characters,
    count_words,
    file_name,
    stem,
)
from narrator.importers.headings import (
    CHAPTER,
    PART,
    SECTION,
    Heading,
    is_list,
    is_prose,
    is_title,
    read_heading,
)
from narrator.importers.plaintext import find_label, find_speakers, label_key, read_text
from narrator.importers.prose import (
    BREAK,
    Span,
    is_ordinal,
    is_scene_break,
    join_heading,
    paragraphs,
    plain,
    tidy,
)
from narrator.importers.titles import Titled, distinct

_START = re.compile(r"\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK", re.IGNORECASE)
_END = re.compile(
    r"\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK|End of (?:the )?Project Gutenberg\b",
    re.IGNORECASE,
)
_FACT = re.compile(r"(Title|Author|Language): +(.+)", re.IGNORECASE)
_LANGUAGES = {
    "english": "en", "french": "fr", "german": "de", "spanish": "es", "italian": "it",
    "dutch": "nl", "portuguese": "pt", "finnish": "fi", "swedish": "sv", "danish": "da",
    "norwegian": "no", "russian": "ru", "polish": "pl", "greek": "el", "latin": "la",
    "chinese": "zh", "japanese": "ja", "hungarian": "hu", "czech": "cs", "esperanto": "eo",
}  # fmt: skip
_CREDIT = re.compile(r"(?:Produced|E-?text prepared|Transcribed|Digitized|This e-?text was) ", re.I)
_ASIDE = re.compile(r"\[(Illustration|Footnote|Transcriber|Editor)", re.IGNORECASE)
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
_BY = re.compile(r"(?:(?:written )?by|von|par|por|di|door|av)[:\s]\s*(\S.{1,80})", re.IGNORECASE)
_ENDING = re.compile(r"(?:the\s+)?end\b|finis\b|fin\b|ende\b", re.IGNORECASE)
_TITLE_LENGTH = 80
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
    heading: Heading | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.rows).split())

    @property
    def level(self) -> int:
        """Of a heading; more than any has for other paragraphs."""
        return self.heading.level if self.kind == "heading" and self.heading else SECTION + 1

    def leave(self, reason: str) -> None:
        self.kind, self.reason = "left", reason


def read_plain_text(path: Path) -> Book:
    """The book in a text file. Raises ImportFailed."""
    text = read_text(path)
    return _TextFile(path, seen(text).split("\n")).book(count_characters(text))


class _TextFile:
    """One file, from its lines to its chapters."""

    def __init__(self, path: Path, rows: list[str]) -> None:
        self.path = path
        self.rows = rows
        self.facts: dict[str, str] = {}
        self.notices: list[_Paragraph] = []
        begin, end = self._without_notices()
        body = rows[begin:end]
        self.labels = _labels([row.strip() for row in body if row.strip()])
        self.line_by_line = not self.labels and _is_line_by_line(body)
        self.width = _width(body)
        self.paragraphs = list(self._split(begin, end))
        self.notes = any(re.match(r"\[Footnote", p.text, re.I) for p in self.paragraphs)

    def book(self, characters: int) -> Book:
        """Everything, in its place."""
        self._leave_asides()
        self._find_headings()
        self._leave_contents()
        self._leave_title_page()
        texts = [p.text for p in self.paragraphs if p.kind == "text"]
        speakers = find_speakers(texts)
        self.labels = _labels(texts)
        chapters, skipped = self._chapters()
        if not chapters:
            raise ImportFailed(Problem(self.path, None, "has no text to read aloud"))
        for notice in self.notices:
            counts = count_characters(notice.text), count_words(notice.text)
            place = len(chapters)
            skipped.append(Skipped(self._source(notice), "", notice.reason, *counts, place=place))
        author = self.facts.get("author")
        language = self.facts.get("language", "").split(",")[0].strip().lower()
        said = {
            "title; the file's name stands for it": "title" in self.facts,
            "author": author is not None,
            "language; English is assumed": language in _LANGUAGES,
        }
        book = Book(
            title=self._title(),
            authors=tuple(re.split(r"\s+(?:and|&)\s+|;\s*", author)) if author else ("Unknown",),
            language=_LANGUAGES.get(language, "en"),
            chapters=tuple(chapters),
            left_out=tuple(skipped),
            source=file_name(self.path),
            characters=characters,
            speakers=speakers,
            remarks=tuple(f"The text does not say its {fact}." for fact in said if not said[fact]),
        )
        lost = book.characters - book.characters_kept - book.characters_left_out
        if lost:
            what = f"{lost} characters would be lost; please report this text"
            raise ImportFailed(Problem(self.path, None, what))
        return book

    def _title(self) -> str:
        return self.facts.get("title", stem(self.path))

    def _source(self, paragraph: _Paragraph) -> str:
        return f"{file_name(self.path)}:{paragraph.number}"

    # -- paragraphs --------------------------------------------------------------------------------

    def _without_notices(self) -> tuple[int, int]:
        """Where the text begins and ends, without what Project Gutenberg has put around it."""
        rows = [row.strip() for row in self.rows]
        begin, end = 0, len(rows)
        start = next((i for i, row in enumerate(rows) if _START.match(row)), None)
        if start is not None:
            begin = start + 1
            # The line may be wrapped: it ends with asterisks, as it began.
            while begin < end and rows[begin] and "***" not in rows[begin - 1][3:]:
                begin += 1
            for found in filter(None, map(_FACT.fullmatch, rows[:start])):
                self.facts.setdefault(found[1].lower(), found[2].strip())
            self._notice(0, begin)
        last = next((i for i in range(begin, end) if _END.match(rows[i])), None)
        if last is not None:
            end = last
            self._notice(last, len(rows))
        return begin, end

    def _notice(self, begin: int, end: int) -> None:
        notice = _Paragraph(begin + 1, self.rows[begin:end], 0)
        notice.leave("notice of Project Gutenberg")
        self.notices.append(notice)

    def _split(self, begin: int, end: int) -> Iterator[_Paragraph]:
        rows: list[str] = []
        first = gap = 0
        for index, row in enumerate((*self.rows[begin:end], ""), begin):
            bare = row.strip()
            if rows and (not bare or self._begins_paragraph(rows[-1], row)):
                yield _Paragraph(first + 1, rows, gap)
                rows, gap = [], 0
            if not bare:
                gap += 1
                continue
            if not rows:
                first = index
            rows.append(row.expandtabs(4).rstrip())

    def _begins_paragraph(self, above: str, row: str) -> bool:
        """Whether a row begins a paragraph without a blank line: as a label or by indentation."""
        if self.line_by_line or self._is_label(row.strip()):
            return True
        indented = _indent(row) >= 2 and _indent(above) < 2
        return indented and above[-1] in ".!?…:;\"'”’)—-"

    def _is_label(self, row: str) -> bool:
        found = find_label(row) if self.labels else None
        return found is not None and label_key(found) in self.labels

    def _leave_asides(self) -> None:
        """Set aside what stands in brackets: captions, footnotes, notes of transcribers."""
        for index, paragraph in enumerate(self.paragraphs):
            if index == 0 and _CREDIT.match(paragraph.text):
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
        for paragraph in self.paragraphs:
            found.append(paragraph)
            if paragraph.kind != "text":
                continue
            if is_scene_break(paragraph.text):
                paragraph.kind = "scene"
            elif heading := read_heading(paragraph.rows, paragraph.gap):
                paragraph.kind, paragraph.heading = "heading", heading
                if rest := paragraph.rows[heading.rows :]:
                    del paragraph.rows[heading.rows :]
                    found.append(_Paragraph(paragraph.number + heading.rows, rest, 0))
        self.paragraphs = found
        self._keep_counted()
        self._take_titles()
        self._find_holders()

    def _keep_counted(self) -> None:
        """Numbers are headings if they count from one; of sections, if chapters are named. Where
        those with a title count apart from those without, as stories do, they hold them."""
        headings = [(p, p.heading) for p in self.paragraphs if p.kind == "heading" and p.heading]
        named = any(h.level == CHAPTER and h.key.startswith("named") for _, h in headings)
        numbers = [(p, h) for p, h in headings if h.level == SECTION]
        titled = _counting([(p, h) for p, h in numbers if len(h.parts) > 1])
        bare = _counting([(p, h) for p, h in numbers if len(h.parts) == 1])
        nested = len(titled) > 1 and len(bare) > 1 and not named
        counted = titled | bare if nested else _counting(numbers)
        for paragraph, heading in numbers:
            if paragraph not in counted or len(counted) < 2:
                paragraph.kind, paragraph.heading = "text", None
            elif not named:
                level = PART if nested and paragraph in titled else CHAPTER
                paragraph.heading = replace(heading, level=level)

    def _find_holders(self) -> None:
        """A title right above where chapters begin to count anew holds them: a story, a part."""
        shown = [p for p in self.paragraphs if p.kind != "left"]
        begun = [(above, below) for above, below in pairwise(shown) if _begins_to_count(below)]
        found = [above for above, _ in begun if _is_holder(above)]
        if len(begun) < 2 or found in ([], shown[:1]):
            return
        for paragraph in found:
            key = f"solo {paragraph.text.lower()}"
            paragraph.kind, paragraph.heading = "heading", Heading((paragraph.text,), PART, key)

    def _take_titles(self) -> None:
        """A number's title may stand in the paragraph under it."""
        taken: set[_Paragraph] = set()
        for above, below in pairwise(self.paragraphs):
            if above.kind != "heading" or above.heading is None or below.kind != "text":
                continue
            parts = above.heading.parts
            short = len(below.rows) <= 2 and is_title(below.text)
            if short and len(parts) == 1 and is_ordinal(parts[0]):
                above.heading = replace(above.heading, parts=(*parts, below.text))
                above.rows += below.rows
                taken.add(below)
        self.paragraphs = [p for p in self.paragraphs if p not in taken]

    # -- front matter ------------------------------------------------------------------------------

    def _leave_contents(self) -> None:
        """Set aside a list of headings that come again, and what stands under CONTENTS."""
        runs: list[list[_Paragraph]] = [[]]
        for paragraph in self.paragraphs:
            if paragraph.level <= CHAPTER:
                runs[-1].append(paragraph)
            elif paragraph.kind == "text" and is_list(paragraph.rows):
                paragraph.leave("table of contents")
            elif paragraph.kind == "text":
                runs.append([])
        keys = Counter(p.heading.key for p in self.paragraphs if p.heading)
        for run in runs:
            for paragraph in _repeated(run, keys):
                paragraph.leave("table of contents")
        for index, paragraph in enumerate(self.paragraphs):
            heading = paragraph.heading if paragraph.kind == "heading" else None
            if heading is None or heading.matter not in ("toc", "loi", "lot"):
                continue
            paragraph.leave("table of contents")
            for below in self.paragraphs[index + 1 :]:
                if below.kind == "heading" or (below.kind == "text" and is_prose(below.text)):
                    break
                below.leave("table of contents")

    def _leave_title_page(self) -> None:
        """Set aside what stands before the first heading, if it is a title page."""
        head = next((i for i, p in enumerate(self.paragraphs) if p.kind == "heading"), 0)
        front = [p for p in self.paragraphs[:head] if p.kind == "text"]
        if not front or sum(count_words(p.text) for p in front) > _FRONT_WORDS:
            front = self._title_lines()
        for paragraph in [p for p in front if is_prose(p.text)]:
            front.remove(paragraph)
            kind = matter.kind_of_words(paragraph.text, matter.BookContext(""))
            if why := matter.reason(kind):
                paragraph.leave(why)
        rows = [" ".join(row.split()) for paragraph in front for row in paragraph.rows]
        if rows:
            self.facts.setdefault("title", rows[0])
        for row, below in pairwise([*rows, ""]):
            if found := _BY.fullmatch(row):
                self.facts.setdefault("author", found[1].rstrip("."))
            elif row.lower().rstrip(":") == "by" and below:
                self.facts.setdefault("author", below)
        for paragraph in front:
            paragraph.leave("title page")

    def _title_lines(self) -> list[_Paragraph]:
        """The title and the line with the author, where the text goes on without a heading."""
        found: list[_Paragraph] = []
        said = [p for p in self.paragraphs if p.kind != "left"]
        for paragraph in said[:3]:
            short = len(paragraph.rows) <= 2 and len(paragraph.text) <= 100
            by = _BY.fullmatch(" ".join(paragraph.rows[-1].split()))
            title = not found and is_title(paragraph.text) and not find_label(paragraph.text)
            if paragraph.kind != "text" or not short or not (title or by):
                break
            found.append(paragraph)
        return found if any(p.kind == "text" for p in said[len(found) :]) else []

    # -- chapters ----------------------------------------------------------------------------------

    def _chapters(self) -> tuple[list[ImportedChapter], list[Skipped]]:
        chapters: list[ImportedChapter] = []
        titles: list[Titled] = []
        skipped: list[Skipped] = []
        parents: list[str] = []
        for piece in self._pieces():
            blocks = [block for paragraph in piece for block in self._blocks(paragraph)]
            heads = [p.heading for p in piece if p.level <= CHAPTER and p.heading]
            title = _spoken_title(heads[-1]) if heads else self._title()
            _hold(parents, [_spoken_title(head) for head in heads if head.level == PART])
            kept = [block for block in blocks if block.kind != "left"]
            words = sum(block.words for block in kept)
            why = matter.reason(heads[-1].matter) if heads else None
            if why or not words:
                skipped += _skips(blocks, title if heads else "", why, len(chapters))
                continue
            under = bool(heads) and heads[-1].level > PART
            titles.append((title, tuple(parents if under else parents[:-1])))
            left = [block for block in blocks if block.kind == "left"]
            skipped += _skips(left, title, None, len(chapters))
            characters = sum(block.characters for block in kept)
            source = self._source(piece[0])
            chapters.append(ImportedChapter(title, write(blocks), source, characters, words))
        named = zip(chapters, distinct(titles), strict=True)
        return [replace(chapter, title=title) for chapter, title in named], skipped

    def _pieces(self) -> list[list[_Paragraph]]:
        """Paragraphs by chapter; headings of parts stand at the top of their first chapter."""
        pieces: list[list[_Paragraph]] = [[]]
        only_part = False
        for paragraph in self.paragraphs:
            heading = paragraph.heading if paragraph.level <= CHAPTER else None
            if heading and (heading.matter or not only_part):
                pieces.append([])
            pieces[-1].append(paragraph)
            if paragraph.kind in ("heading", "text"):
                only_part = paragraph.level == PART
        return [piece for piece in pieces if piece]

    def _blocks(self, paragraph: _Paragraph) -> Iterator[Block]:
        source = self._source(paragraph)
        if paragraph.kind == "left":
            yield left_out(source, paragraph.text, paragraph.reason)
        elif paragraph.kind == "scene":
            yield made_of("scene", source, [(Span(paragraph.text),)])
        elif paragraph.heading is not None:
            parts = [tidy(_spans(part)) for part in paragraph.heading.parts]
            block = made_of("heading", source, parts, paragraph.level)
            block.characters = count_characters(paragraph.text)
            yield block
        else:
            if paragraph.gap >= 3:
                yield Block("gap", source)
            yield from self._text_blocks(paragraph, source)

    def _text_blocks(self, paragraph: _Paragraph, source: str) -> Iterator[Block]:
        rows = [row.strip() for row in paragraph.rows]
        quoted = len(rows) > 1 and all(_indent(row) >= 2 for row in paragraph.rows)
        verse = quoted and max(map(len, rows)) < 0.8 * self.width
        label = find_label(rows[0]) if self._is_label(rows[0]) else None
        speaker = label[0] if label else ""
        text = ("\n" if verse else " ").join(rows)[len(speaker) :]
        if self.notes:
            for found in _REFERENCE.finditer(text):
                yield left_out(source, found[0], "reference to a note")
            text = _REFERENCE.sub("", text)
        for lines in paragraphs(_spans(text)):
            block = made_of("text", source, lines)
            block.speaker = " ".join(speaker.split())
            block.containers = (Container("> ", "> "),) if quoted else ()
            block.characters = count_characters(speaker + text)
            block.words += count_words(speaker)
            yield block


def _spans(text: str) -> Iterator[Span]:
    """Text with `_emphasis_`; its rows are lines."""
    for number, piece in enumerate(_EMPHASIS.split(text)):
        for row, line in enumerate(piece.split("\n")):
            if row:
                yield BREAK
            yield Span(line, em=number % 2 == 1)


def _labels(rows: Sequence[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in find_speakers(rows))


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _is_line_by_line(rows: Sequence[str]) -> bool:
    """Whether each line is a paragraph: lines are long, or end as sentences do without a gap."""
    bare = [row.strip() for row in rows]
    lengths = sorted(map(len, filter(None, bare)))
    if lengths and lengths[len(lengths) * 9 // 10] > 200:
        return True
    inside = [row for row, below in pairwise(bare) if row and below]
    ended = sum(row[-1] in ".!?…\"”’'*:)" for row in inside)
    return bool(inside) and ended >= 0.7 * len(inside)


def _width(rows: Sequence[str]) -> int:
    """The length that nearly all lines keep to."""
    lengths = sorted(len(row.strip()) for row in rows if row.strip())
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _counting(numbers: Sequence[tuple[_Paragraph, Heading]]) -> set[_Paragraph]:
    """Those that count from one, however often they begin anew."""
    counted: set[_Paragraph] = set()
    expected = 1
    for paragraph, heading in numbers:
        if heading.value in (expected, 1):
            counted.add(paragraph)
            expected = heading.value + 1
    return counted


def _begins_to_count(paragraph: _Paragraph) -> bool:
    heading = paragraph.heading if paragraph.kind == "heading" else None
    return heading is not None and heading.level == CHAPTER and heading.is_first


def _is_holder(paragraph: _Paragraph) -> bool:
    """Whether a paragraph of text is set as the title of what follows."""
    text = paragraph.text
    if paragraph.kind != "text" or len(paragraph.rows) > 2 or len(text) > _TITLE_LENGTH:
        return False
    set_apart = text.isupper() or paragraph.gap > 1
    return set_apart and is_title(text) and not _ENDING.match(text) and not _BY.fullmatch(text)


def _hold(parents: list[str], opened: Sequence[str]) -> None:
    """Take in the parts that a piece opens; the first takes the place of those of its kind."""
    for number, title in enumerate(opened):
        kinds = [matter.counted_by(held) for held in parents]
        kind = matter.counted_by(title)
        if kind in kinds:
            del parents[kinds.index(kind) :]
        elif number == 0:
            parents.clear()
        parents.append(title)


def _repeated(run: Sequence[_Paragraph], keys: Counter[str]) -> list[_Paragraph]:
    """Of headings without text between, those that only list what comes again further down.

    The last of them may be where the text begins: from there on the first heading stands again.
    """
    listed = [(p, p.heading) for p in run if p.heading and p.heading.matter is None]
    if len(listed) < 3:
        return []
    first = listed[0][1].key
    again = [index for index, (_, heading) in enumerate(listed) if heading.key == first][1:]
    headed = any(p.heading and p.heading.matter == "toc" for p in run)
    if again:
        return [paragraph for paragraph, _ in listed[: again[-1]]]
    return [paragraph for paragraph, _ in listed] if headed or keys[first] > 1 else []


def _spoken_title(heading: Heading) -> str:
    text = plain(join_heading([tidy(_spans(part)) for part in heading.parts]))
    return text.rstrip(".:—–- ") if is_ordinal(text) else text


def _skips(
    blocks: Sequence[Block], title: str, reason: str | None, place: int
) -> Iterator[Skipped]:
    """Blocks that are left out, one for each reason; `reason` is that of a whole piece."""
    sums: dict[str, list[Block]] = {}
    for block in blocks:
        if block.characters:
            sums.setdefault(block.reason or reason or "no words", []).append(block)
    for why, found in sums.items():
        several = f"{why} ({len(found)} of them)" if len(found) > 1 and reason is None else why
        spoken = [block for block in found if block.kind != "left"]
        characters = sum(block.characters for block in found)
        words = sum(block.words for block in found)
        text = write(spoken) if reason is not None and spoken else None
        yield Skipped(found[0].source, title, several, characters, words, text, place)
