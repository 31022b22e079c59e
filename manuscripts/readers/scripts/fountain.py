"""Reads Fountain screenplays, plain text with names in capitals and blank lines between elements.

Knows Fountain 1.1 as described at fountain.io/syntax; `script.py` converts the elements.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import NamedTuple

from manuscripts.book import Book, Choices, file_name, word_set
from manuscripts.directions import match_transition
from manuscripts.readers.facts import Metadata
from manuscripts.readers.scripts.script import (
    ItemKind,
    ScriptItem,
    ScriptRun,
    SpeechPart,
    begins_mid_sentence,
    omit_runs,
    omitted_item,
    read_items,
    read_script,
    split_authors,
    text_of,
)
from textbase.characters import strip_invisible

_CUT_START, _CUT_END = "\ufdd0", "\ufdd1"
"""Noncharacters around the number of a cut-out text, in place of it."""
_CUT = re.compile(rf"{_CUT_START}(\d+){_CUT_END}")
_NOTE, _BONEYARD, _NUMBER = "note of the author", "cut by the author", "number of a scene"
_COMMENT_START = re.compile(r"/\*|\[\[")
_MAX_NOTE_CHARACTERS = 20_000

_KEYS = word_set(
    "title credit author authors source notes date contact copyright revision subtitle language "
    "episode format font writer writers"
) | {"draft date", "written by", "contact info"}
_KEY = re.compile(r"(?P<key>[^\W\d_][\w -]{0,40}):[ \t]*(?P<value>.*)")

_PAGE_BREAK = re.compile(r"={3,}\s*")
_SYNOPSIS = re.compile(r"=(?!==)\s*(?P<text>.*)")
_SECTION = re.compile(r"(?P<level>#{1,6})(?:\s+|(?=[^\W\d]))(?P<text>.*\S.*)")
_CENTRED = re.compile(r">(?P<text>.*)<")
_FORCED_TRANSITION = re.compile(r">\s*(?P<text>.+)")
_FORCED_SCENE = re.compile(r"\.(?![.\s])(?P<text>.+)")
_SCENE = re.compile(
    r"(?P<number>\d+[A-Z]?\.?\s+)?(?P<text>(?:INT\.?/EXT|EXT\.?/INT|INT|EXT|EST|I\.?/E|E\.?/I)(?:\.|(?=\s)).*)",
    re.IGNORECASE,
)
_SCENE_NUMBER = re.compile(r"(#[\w. -]{1,20}#)$")
_FORCED = re.compile(r"[!=>~]|#+(?:\s|[^\W\d])|\.(?![.\s])")
_ENDS_SPEECH = re.compile(r"[!>]|#+\s|=\s|={3,}$")
_EMPHASIS = re.compile(
    r"(?<![\\*])(?P<stars>\*{1,3})(?=[^\s*])(?P<starred>.{1,500}?)(?<![\s\\*])(?P=stars)(?!\*)|"
    r"(?<![\\\w])_(?=[^\s_])(?P<lined>.{1,500}?)(?<![\s\\])_(?!\w)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([*_\\~@!.>#=\[\]/()-])")
_MAX_PARENTHETICAL_ROWS = 8
"""Maximum lines of a parenthetical."""


def read_fountain(path: Path, choices: Choices) -> Book:
    """Reads the book in a screenplay. Raises ImportFailed, SlowPattern."""
    decoded = read_script(path, choices.encoding)
    script = _Screenplay(file_name(path), decoded.text)
    script_items = list(script.read_items())
    return read_items(
        path, script_items, script.metadata(), decoded.text, [decoded.remark], choices
    )


class _SourceRow(NamedTuple):
    """A line of the source, with its number from 1."""

    line: str
    number: int

    @property
    def text(self) -> str:
        return self.line.strip()


class _Screenplay:
    """Parses the lines of a screenplay into elements."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.cut_texts: list[tuple[str, str]] = []
        """Cut-out texts, with the reason."""
        self.pending_items: deque[ScriptItem] = deque()
        """Cut-out texts on lines of their own, to be inserted between elements."""
        self.title_fields: dict[str, list[str]] = {}
        self.rows = list(
            self._read_rows(strip_invisible(text).replace(_CUT_START, "").replace(_CUT_END, ""))
        )
        self.row_index = 0

    def _read_rows(self, text: str) -> Iterator[_SourceRow]:
        """Yields lines, without those that contain only cut-out text, as they separate nothing."""
        number = 1
        for row in "".join(self._cut_comments(text)).split("\n"):
            cuts = [self.cut_texts[int(cut)] for cut in _CUT.findall(row)]
            if cuts and not _CUT.sub("", row).strip():
                source = f"{self.name}:{number}"
                self.pending_items += [omitted_item(*cut, source) for cut in cuts]
            else:
                yield _SourceRow(row, number)
            number += 1 + sum(cut_text.count("\n") for cut_text, _ in cuts)

    def _cut_comments(self, text: str) -> Iterator[str]:
        """Yields the text in pieces, with placeholders for cut-out notes and boneyards."""
        position = copied_end = 0
        last_boneyard_end, last_note_end = text.rfind("*/"), text.rfind("]]")
        while comment := _COMMENT_START.search(text, position):
            position = start = comment.end()
            end = -1
            if comment[0] == "/*" and start <= last_boneyard_end:
                end = text.find("*/", start)
            elif comment[0] == "[[" and start <= last_note_end:
                end = text.find("]]", start, start + _MAX_NOTE_CHARACTERS)
                end = -1 if re.search(r"\[\[|\n\n", text[start : max(end, start)]) else end
            if end >= 0:
                yield text[copied_end : comment.start()]
                reason = _BONEYARD if comment[0] == "/*" else _NOTE
                self.cut_texts.append((text[start:end], reason))
                yield f"{_CUT_START}{len(self.cut_texts) - 1}{_CUT_END}"
                position = copied_end = end + 2
        yield text[copied_end:]

    # -- the title page ----------------------------------------------------------------------------

    def _read_title_page(self) -> Iterator[ScriptItem]:
        """Reads the keys of the title page, up to the first blank line, which are left out."""
        rows = list(dropwhile(lambda row: not row.text, self.rows))
        first = _KEY.match(rows[0].line) if rows else None
        if first is None or first["key"].casefold() not in _KEYS:
            return
        self.row_index = len(self.rows) - len(rows)
        field_lines: list[str] = []
        for row in takewhile(lambda row: row.text, rows):
            if field := _KEY.match(row.line):
                field_lines = self.title_fields.setdefault(field["key"].strip().casefold(), [])
            line = text_of(self._styled_runs(field["value"] if field else row.text))
            field_lines += [line] if line else []
            yield self._omitted_item(row.text, "title page", row)
            self.row_index += 1

    def metadata(self) -> Metadata:
        """Returns the metadata of the title page."""
        authors = "\n".join(
            self._field_lines("author", "authors", "writer", "writers", "written by")
        )
        return Metadata(
            title=self._field("title"),
            subtitle=self._field("subtitle"),
            authors=tuple(split_authors(authors)),
            language=self._field("language"),
            date=self._field("draft date", "date"),
            copyright=self._field("copyright"),
        )

    def _field_lines(self, *keys: str) -> list[str]:
        return next((self.title_fields[key] for key in keys if self.title_fields.get(key)), [])

    def _field(self, *keys: str) -> str | None:
        return " ".join(self._field_lines(*keys)) or None

    # -- elements ----------------------------------------------------------------------------------

    def read_items(self) -> Iterator[ScriptItem]:
        """Yields the elements in order."""
        yield from self._read_title_page()
        follows_blank = True
        """True if no text is right above, so that a name or a scene may begin."""
        while self.row_index < len(self.rows):
            row = self.rows[self.row_index]
            while self.pending_items and _row_number(self.pending_items[0]) < row.number:
                yield self.pending_items.popleft()
            is_single_row = not row.text or _PAGE_BREAK.fullmatch(row.text)
            if is_single_row:
                self.row_index += 1
            elif item := self._single_row_item(row, follows_blank):
                self.row_index += 1
                is_single_row = True
                yield item
            elif self._is_cue(row, follows_blank):
                yield self._read_speech(row)
                continue
            else:
                yield self._read_action(row)
            follows_blank = bool(is_single_row)
        yield from self.pending_items

    def _single_row_item(self, row: _SourceRow, follows_blank: bool) -> ScriptItem | None:
        """Returns the element that a line is by itself; None if it is none."""
        text = row.text
        if match := _SYNOPSIS.fullmatch(text):
            return self._omitted_item(match["text"], "synopsis", row)
        if match := _SECTION.fullmatch(text):
            return self._make_item("section", match["text"].strip(), row, len(match["level"]))
        if match := _CENTRED.fullmatch(text):
            return self._make_item("centred", match["text"].strip(), row)
        match = _FORCED_TRANSITION.fullmatch(text)
        if match is None and follows_blank and not self._has_text_below():
            match = match_transition(text)
        if match:
            return self._omitted_item(match["text"], "transition", row)
        if match := _FORCED_SCENE.fullmatch(text) or _match_scene(row, follows_blank):
            number = match.groupdict().get("number") or ""
            heading = match["text"].strip()
            end = _SCENE_NUMBER.search(heading)
            runs = [
                ScriptRun(number, omission_reason=_NUMBER),
                *self._styled_runs(heading[: end.start()] if end else heading),
                ScriptRun(f" {end[1]}" if end else "", omission_reason=_NUMBER),
            ]
            return ScriptItem("scene", [run for run in runs if run.text], self._source(row))
        return None

    def _has_text_below(self) -> bool:
        """Returns whether the next line is not blank."""
        return self.row_index + 1 < len(self.rows) and bool(self.rows[self.row_index + 1].text)

    def _is_cue(self, row: _SourceRow, follows_blank: bool) -> bool:
        """Returns whether a line is a speaker's name: forced, or capitals above another line."""
        name = _CUT.sub("", row.text).partition("(")[0]
        is_capitals = name == name.upper() and any(map(str.isupper, name))
        may_be_name = follows_blank and is_capitals and not _FORCED.match(row.text)
        return self._has_text_below() and (row.text[0] == "@" or may_be_name)

    def _read_speech(self, row: _SourceRow) -> ScriptItem:
        """Reads a speech whose name is in this row."""
        self.row_index += 1
        cue = row.text.removeprefix("@")
        parts = list(self._read_speech_parts())
        runs = self._styled_runs(cue.rstrip("^").rstrip())
        is_dual = cue.endswith("^")
        return ScriptItem("speech", runs, self._source(row), parts=parts, is_dual=is_dual)

    def _read_speech_parts(self) -> Iterator[SpeechPart]:
        """Yields paragraphs and parentheticals of a speech, up to the first blank line."""
        lines: list[str] = []
        is_end = False
        while not is_end:
            rows = self.rows[self.row_index : self.row_index + 1]
            # A line of two spaces only ends a paragraph.
            is_end = not rows or (not rows[0].line.strip() and len(rows[0].line) < 2)
            is_end = is_end or bool(_ENDS_SPEECH.match(rows[0].text))
            count = 0 if is_end else self._parenthetical_row_count()
            if lines and (is_end or count or not rows[0].text):
                yield SpeechPart(self._styled_runs(_join_rows(lines)))
                lines = []
            if count:
                rows = self.rows[self.row_index : self.row_index + count]
                yield SpeechPart(self._styled_runs(" ".join(row.text for row in rows)), True)
            elif not is_end and rows[0].text:
                lines.append(rows[0].text)
            self.row_index += 0 if is_end else max(1, count)

    def _parenthetical_row_count(self) -> int:
        """Returns the number of lines of the parenthetical at the current line; 0 for none."""
        rows = self.rows[self.row_index : self.row_index + _MAX_PARENTHETICAL_ROWS]
        if not rows[0].text.startswith("("):
            return 0
        texts = [_CUT.sub("", row.text).rstrip() for row in rows]
        last_index = next((i for i, text in enumerate(texts) if not text or ")" in text), None)
        if last_index is None:
            return 0
        _, bracket, text_after = texts[last_index].partition(")")
        return last_index + 1 if bracket and not text_after else 0

    def _read_action(self, row: _SourceRow) -> ScriptItem:
        """Reads a paragraph of action, or lyrics without a speaker."""
        is_sung = row.text.startswith("~")
        texts = [row.text]
        self.row_index += 1
        while self.row_index < len(self.rows) and _continues_action(
            self.rows[self.row_index], is_sung
        ):
            texts.append(self.rows[self.row_index].text)
            self.row_index += 1
        lines = [text if is_sung else text.removeprefix("!") for text in texts]
        return self._make_item("sung" if is_sung else "action", _join_rows(lines), row)

    # -- text --------------------------------------------------------------------------------------

    def _make_item(self, kind: ItemKind, text: str, row: _SourceRow, level: int = 0) -> ScriptItem:
        return ScriptItem(kind, self._styled_runs(text), self._source(row), level)

    def _omitted_item(self, text: str, reason: str, row: _SourceRow) -> ScriptItem:
        return ScriptItem("omitted", omit_runs(self._styled_runs(text), reason), self._source(row))

    def _source(self, row: _SourceRow) -> str:
        return f"{self.name}:{row.number}"

    def _styled_runs(
        self, text: str, is_italic: bool = False, is_bold: bool = False
    ) -> list[ScriptRun]:
        """Splits text into runs by its emphasis."""
        runs: list[ScriptRun] = []
        position = 0
        for match in _EMPHASIS.finditer(text):
            runs += self._plain_runs(text[position : match.start()], is_italic, is_bold)
            stars = len(match["stars"] or "_")
            inner_text = match["starred"] or match["lined"]
            runs += self._styled_runs(inner_text, is_italic or stars != 2, is_bold or stars > 1)
            position = match.end()
        return [*runs, *self._plain_runs(text[position:], is_italic, is_bold)]

    def _plain_runs(self, text: str, is_italic: bool, is_bold: bool) -> Iterator[ScriptRun]:
        """Yields text without emphasis, with cut-out texts as left-out runs."""
        for number, piece in enumerate(_CUT.split(text)):
            if number % 2:
                cut_text, reason = self.cut_texts[int(piece)]
                yield ScriptRun(f" {cut_text} ", omission_reason=reason)
            elif piece:
                yield ScriptRun(_ESCAPED.sub(r"\1", piece), is_italic, is_bold)


def _row_number(item: ScriptItem) -> int:
    return int(item.source.rpartition(":")[2])


def _match_scene(row: _SourceRow, follows_blank: bool) -> re.Match[str] | None:
    match = _SCENE.fullmatch(row.text)
    is_capitals = _SCENE_NUMBER.sub("", row.text).isupper()
    return match if match and (is_capitals or (follows_blank and not match["number"])) else None


def _continues_action(row: _SourceRow, is_sung: bool) -> bool:
    """Returns whether a row continues the current paragraph of action or lyrics."""
    text = row.text
    if not text or text.startswith("~") != is_sung:
        return False
    is_name = text.startswith("@") and text[1:2].isalpha()
    begins_item = _FORCED.match(text.lstrip("!")) or _match_scene(row, False) or is_name
    return is_sung or not begins_item


def _join_rows(rows: Sequence[str]) -> str:
    """Joins lines by line ends, or by spaces where a line continues a sentence in lower case."""
    joined_text = rows[0].removeprefix("~").strip()
    for row in rows[1:]:
        line = row.removeprefix("~").strip()
        is_continuation = begins_mid_sentence(line) and not row.startswith("~")
        joined_text += f"{' ' if is_continuation else chr(10)}{line}"
    return joined_text
