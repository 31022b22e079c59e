"""Chapters as they were made -> chapters that `check` reads without a complaint.

Each is read as it will be read, and what would be refused or become something else is escaped where
it stands: what looks like a label, which it is as soon as a speaker of that name is declared, a
stray brace, a comment or code that nothing ends. So an import is never refused for how its source
is written, and reads the same with any cast. Takes no word away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from narrator.importers.book import Book, ImportedChapter, Skipped
from narrator.importers.prose import OPENS
from narrator.text import labels, script

_ROUNDS = 8
"""A label may hide another one, and a brace a third."""
_LONGEST = 20_000
"""Characters of a row above which it is parted at the ends of sentences."""
_MUSIC = re.compile(r"(?<!\\)\[(?=music:)", re.IGNORECASE)
_COMMAND = re.compile(r"(?<!\\)\[(?=(?:pause|music|language)\b)", re.IGNORECASE)
_BRACE = re.compile(r"(?<!\\)\{(?![^{}|]*[^{}|\s][^{}|]*\|[^{}|]*[^{}|\s][^{}|]*\})")
_SAID = re.compile(
    r"(?P<code>(?<!`)(`+)(?!`).*?(?<!`)\2(?!`))|(?<!\\)\{"
    r"(?:(?P<bar>(?=[^{}|]*\|[^{}|]*\}))|(?=[^{}|\n:：]{1,200}[:：]))",
    re.DOTALL,
)
"""A brace that would say one text for another, or give it to somebody; or code, in which there is
none."""
_COMMENT = re.compile(r"(?<!\\)<(?=!--)")
_FENCE = re.compile(r"[\s>]*(`{3,}|~{3,})")
_FENCED = re.compile(
    r"(^[ >]*(?:`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ >]*(?:`{3,}|~{3,})[ ]*$)", re.M | re.S
)
_DASHES = re.compile(r"[\s>]*-+\s*")
_DEFINED = re.compile(r"^([\s>]*)\[(?=[^\]]*\]:)")
_PUNCTUATION = re.compile(r"(?<!\\)([!-/:-@\[-`{-~])")
_ENDLESS = re.compile(rf".{{1,{_LONGEST}}}(?=\s|$)|\S+", re.DOTALL)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…。！？])(?:\s+|(?<=[。！？]))(?=\S)")


def proofread(book: Book) -> Book:
    """The book with chapters that can be read as scripts; what says nothing is left out."""
    cast = {labels.folded("narrator"): "narrator"}
    for speaker in book.speakers:
        cast |= {labels.folded(name): speaker.name for name in (speaker.name, *speaker.aliases)}
    roles = labels.Roles(cast, "narrator")
    chapters: list[ImportedChapter] = []
    left_out = list(book.left_out)
    braces: list[str] = []
    for chapter in book.chapters:
        shown, count = _without_sayings(chapter.markdown, bool(book.speakers))
        braces += [chapter.title] * count
        markdown, is_spoken = _mended(shown, roles)
        if is_spoken:
            chapters.append(replace(chapter, markdown=markdown))
        else:
            left_out.append(_silent(chapter, markdown, len(chapters)))
    kept = [replace(item, place=min(item.place, len(chapters))) for item in left_out]
    remarks = book.remarks
    if braces:
        what = f"“{{a|b}}” is text here, {len(braces)} times (first: {braces[0]})"
        remarks += (f"{what}; without the backslash before the brace, b is said for a.",)
    return replace(book, chapters=tuple(chapters), left_out=tuple(kept), remarks=remarks)


def _without_sayings(markdown: str, printed: bool) -> tuple[str, int]:
    """A text in which braces that would mean something are escaped, and how many with a bar.

    Those that give a play's directions to the narrator are the import's own: `printed`.
    """
    count = 0

    def escaped(found: re.Match[str]) -> str:
        nonlocal count
        count += found["bar"] is not None
        own = printed and found.string.startswith(OPENS, found.start())
        return found[0] if found["code"] or own else "\\{"

    parts = _FENCED.split(markdown) if "{" in markdown else [markdown]
    mended = (_SAID.sub(escaped, part) if n % 2 == 0 else part for n, part in enumerate(parts))
    return "".join(mended), count


def _silent(chapter: ImportedChapter, markdown: str, place: int) -> Skipped:
    reason = "nothing in it can be spoken: tables, code, pictures"
    return Skipped(
        chapter.source, chapter.title, reason, chapter.characters, chapter.words, markdown, place
    )


def _mended(markdown: str, roles: labels.Roles) -> tuple[str, bool]:
    """A text without faults, and whether anything in it is spoken."""
    # a row of spaces that Markdown takes for words hides in which row a fault is
    rows = [row if row.strip() else "" for row in _parted(markdown).split("\n")]
    text = _MUSIC.sub(r"\[", "\n".join(rows))
    for number in range(_ROUNDS):
        faults = script.faults(text, roles)
        if not faults:
            return text, faults.is_spoken
        rows = text.split("\n")
        for label, places in faults.labels.items():
            for place in places:
                rows[place] = _without_label(rows[place], label)
        for place in sorted(faults.others):
            _mend(rows, min(place, len(rows) - 1), hard=number >= _ROUNDS // 2)
        text = "\n".join(rows)
    text = "\n".join(_literal(row) for row in text.split("\n"))
    return text, script.faults(text, roles).is_spoken


def _without_label(row: str, label: str) -> str:
    """A row with the colon after a label escaped."""
    first = label.split()[0] if label.split() else ""
    begin = max(0, row.find(first))
    colon = re.compile(r"(?<!\\)[:：]").search(row, begin)
    if colon is None:
        return row
    mark = f"\\{colon[0]}"
    return row[: colon.start()] + mark + row[colon.end() :]


def _mend(rows: list[str], place: int, hard: bool) -> None:
    """Escape in a row what begins something that is none; `hard`: whatever might."""
    row = rows[place]
    if fence := _FENCE.match(row):
        rows.append(fence[1])
        return
    if _DASHES.fullmatch(row):
        rows[place] = f"\n{row}"
        return
    mended = row
    for pattern in (_COMMAND, _BRACE, _COMMENT):
        mended = pattern.sub(r"\\\g<0>", mended)
    mended = _DEFINED.sub(r"\1\\[", mended)
    if mended == row and (label := re.match(r"[\s>*_-]*(\w[^:：]{0,59})[:：]", row)):
        mended = _without_label(row, label[1])
    if mended == row and _COMMENT.search(paragraph := _paragraph(rows, place)):
        # a comment that nothing ends is told of at its paragraph's first row
        rows[place : place + paragraph.count("\n") + 1] = _COMMENT.sub(r"\\<", paragraph).split(
            "\n"
        )
        return
    rows[place] = _literal(row) if hard or mended == row else mended


def _paragraph(rows: Sequence[str], place: int) -> str:
    """What stands from a row to the next blank one."""
    return "\n".join(takewhile(str.strip, rows[place:]))


def _literal(row: str) -> str:
    """A row in which nothing means anything but itself."""
    return _PUNCTUATION.sub(r"\\\1", row.lstrip("> \t"))


def _parted(markdown: str) -> str:
    """A text whose endless rows are paragraphs of some sentences each."""
    if all(len(row) <= _LONGEST for row in markdown.split("\n")):
        return markdown
    return "\n".join(
        row if len(row) <= _LONGEST else "\n\n".join(_gathered(_sentences(row)))
        for row in markdown.split("\n")
    )


def _sentences(row: str) -> Iterator[str]:
    """The sentences of an endless row; one that is endless itself is cut between words."""
    for sentence in _SENTENCE_ENDS.split(row):
        yield from _ENDLESS.findall(sentence)


def _gathered(sentences: Iterable[str]) -> list[str]:
    gathered: list[str] = []
    for sentence in sentences:
        if gathered and len(gathered[-1]) < 1000:
            gathered[-1] += f" {sentence}"
        else:
            gathered.append(sentence)
    return gathered
