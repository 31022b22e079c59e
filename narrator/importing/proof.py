"""Escapes chapters so that `check` reads them without a complaint.

Reads each chapter as a script and escapes whatever would be refused or misread: text that looks
like a label, which it becomes as soon as a speaker of that name is declared, a stray brace, an
unclosed comment or code block. So no import is refused for how its source is written, and it reads
the same with any cast. Takes no word away.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import takewhile

from manuscripts.book import Book, ImportedChapter, Skipped
from manuscripts.prose import NARRATED_OPEN
from narrator.text import labels, script

_MAX_ROUNDS = 8
"""A label may hide another one, and a brace a third."""
_MAX_ROW_LENGTH = 20_000
"""Characters of a row above which it is split at the ends of sentences."""
_MUSIC = re.compile(r"(?<!\\)\[(?=music:)", re.IGNORECASE)
_COMMAND = re.compile(r"(?<!\\)\[(?=(?:pause|music|language)\b)", re.IGNORECASE)
_BRACE = re.compile(r"(?<!\\)\{(?![^{}|]*[^{}|\s][^{}|]*\|[^{}|]*[^{}|\s][^{}|]*\})")
_BRACE_COMMAND = re.compile(
    r"(?P<code>(?<!`)(`+)(?!`).*?(?<!`)\2(?!`))|(?<!\\)\{"
    r"(?:(?P<bar>(?=[^{}|]*\|[^{}|]*\}))|(?=[^{}|\n:：]{1,200}[:：]))",
    re.DOTALL,
)
"""A brace that would replace spoken text or give it to somebody; or code, in which it would not."""
_COMMENT = re.compile(r"(?<!\\)<(?=!--)")
_FENCE = re.compile(r"[\s>]*(`{3,}|~{3,})")
_FENCED = re.compile(
    r"(^[ >]*(?:`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ >]*(?:`{3,}|~{3,})[ ]*$)", re.M | re.S
)
_COLON = re.compile(r"(?<!\\)[:：]")
_DASHES = re.compile(r"[\s>]*-+\s*")
_LINK_DEFINITION = re.compile(r"^([\s>]*)\[(?=[^\]]*\]:)")
_PUNCTUATION = re.compile(r"(?<!\\)([!-/:-@\[-`{-~])")
_ROW_PIECE = re.compile(rf".{{1,{_MAX_ROW_LENGTH}}}(?=\s|$)|\S+", re.DOTALL)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…。！？])(?:\s+|(?<=[。！？]))(?=\S)")


def proofread(book: Book) -> Book:
    """Returns the book with chapters that read as scripts; those without spoken words are left
    out."""
    cast = {labels.fold_label("narrator"): "narrator"}
    for speaker in book.speakers:
        cast |= {labels.fold_label(name): speaker.name for name in (speaker.name, *speaker.aliases)}
    roles = labels.Roles(cast, "narrator")
    chapters: list[ImportedChapter] = []
    left_out = list(book.left_out)
    titles_with_braces: list[str] = []
    for chapter in book.chapters:
        escaped_markdown, brace_count = _escape_braces(chapter.markdown, bool(book.speakers))
        titles_with_braces += [chapter.title] * brace_count
        markdown, is_spoken = _mend_text(escaped_markdown, roles)
        if is_spoken:
            chapters.append(replace(chapter, markdown=markdown))
        else:
            left_out.append(_skip_silent(chapter, markdown, len(chapters)))
    placed_left_out = [
        replace(skipped, place=min(skipped.place, len(chapters))) for skipped in left_out
    ]
    remarks = book.remarks
    if titles_with_braces:
        count, first_title = len(titles_with_braces), titles_with_braces[0]
        remark = f"“{{a|b}}” is text here, {count} times (first: {first_title})"
        remarks += (f"{remark}; without the backslash before the brace, b is said for a.",)
    return replace(book, chapters=tuple(chapters), left_out=tuple(placed_left_out), remarks=remarks)


def _escape_braces(markdown: str, has_printed_speakers: bool) -> tuple[str, int]:
    """Escapes braces that would be commands; also returns how many of them contain a bar.

    With `has_printed_speakers`, braces that give directions to the narrator are the import's own
    and stay.
    """
    count = 0

    def escape_brace(match: re.Match[str]) -> str:
        nonlocal count
        count += match["bar"] is not None
        is_narrated_direction = has_printed_speakers and match.string.startswith(
            NARRATED_OPEN, match.start()
        )
        return match[0] if match["code"] or is_narrated_direction else "\\{"

    parts = _FENCED.split(markdown) if "{" in markdown else [markdown]
    escaped_parts = (
        _BRACE_COMMAND.sub(escape_brace, part) if n % 2 == 0 else part
        for n, part in enumerate(parts)
    )
    return "".join(escaped_parts), count


def _skip_silent(chapter: ImportedChapter, markdown: str, place: int) -> Skipped:
    reason = "nothing in it can be spoken: tables, code, pictures"
    return Skipped(
        chapter.source, chapter.title, reason, chapter.characters, chapter.words, markdown, place
    )


def _mend_text(markdown: str, roles: labels.Roles) -> tuple[str, bool]:
    """Returns a text without faults, and whether anything in it is spoken."""
    # Markdown takes a row of spaces for words, which would shift the rows of faults.
    rows = [row if row.strip() else "" for row in markdown.split("\n")]
    rows = [row if len(row) <= _MAX_ROW_LENGTH else _split_long_row(row) for row in rows]
    text = _MUSIC.sub(r"\[", "\n".join(rows))
    for round_number in range(_MAX_ROUNDS):
        faults = script.find_faults(text, roles)
        if not faults:
            return text, faults.is_spoken
        rows = text.split("\n")
        for label, row_indexes in faults.unknown_labels.items():
            for row_index in row_indexes:
                rows[row_index] = _escape_label_colon(rows[row_index], label)
        for row_index in sorted(faults.other_rows):
            _escape_row(
                rows, min(row_index, len(rows) - 1), escapes_all=round_number >= _MAX_ROUNDS // 2
            )
        text = "\n".join(rows)
    text = "\n".join(_escape_all(row) for row in text.split("\n"))
    return text, script.find_faults(text, roles).is_spoken


def _escape_label_colon(row: str, label: str) -> str:
    """Returns a row with the colon after a label escaped."""
    first_word = next(iter(label.split()), "")
    colon = _COLON.search(row, max(0, row.find(first_word)))
    return f"{row[: colon.start()]}\\{row[colon.start() :]}" if colon else row


def _escape_row(rows: list[str], row_index: int, escapes_all: bool) -> None:
    """Escapes false markup in a row, in place; with `escapes_all`, every punctuation mark."""
    row = rows[row_index]
    if fence_match := _FENCE.match(row):
        rows.append(fence_match[1])
        return
    if _DASHES.fullmatch(row):
        rows[row_index] = f"\n{row}"
        return
    escaped_row = row
    for pattern in (_COMMAND, _BRACE, _COMMENT):
        escaped_row = pattern.sub(r"\\\g<0>", escaped_row)
    escaped_row = _LINK_DEFINITION.sub(r"\1\\[", escaped_row)
    if escaped_row == row and (label_match := re.match(r"[\s>*_-]*(\w[^:：]{0,59})[:：]", row)):
        escaped_row = _escape_label_colon(row, label_match[1])
    paragraph = "\n".join(takewhile(str.strip, rows[row_index:]))
    if escaped_row == row and _COMMENT.search(paragraph):
        # An unclosed comment is reported at the first row of its paragraph.
        escaped_rows = _COMMENT.sub(r"\\<", paragraph).split("\n")
        rows[row_index : row_index + len(escaped_rows)] = escaped_rows
    else:
        rows[row_index] = _escape_all(row) if escapes_all or escaped_row == row else escaped_row


def _escape_all(row: str) -> str:
    """Returns a row with all its punctuation escaped."""
    return _PUNCTUATION.sub(r"\\\1", row.lstrip("> \t"))


def _split_long_row(row: str) -> str:
    """Returns an overlong row as paragraphs of a few sentences; an overlong sentence is cut between
    words."""
    paragraphs: list[str] = []
    for sentence in _SENTENCE_ENDS.split(row):
        for piece in _ROW_PIECE.findall(sentence):
            if paragraphs and len(paragraphs[-1]) < 1000:
                paragraphs[-1] += f" {piece}"
            else:
                paragraphs.append(piece)
    return "\n\n".join(paragraphs)
