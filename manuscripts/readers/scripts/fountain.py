"""Reads Fountain screenplays, plain text with names in capitals and blank lines between elements.

Knows Fountain 1.1 as described at fountain.io/syntax; `script.py` converts the elements.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from manuscripts.book import Book, Choices, file_name, word_set
from manuscripts.chapters import SCRIPT
from manuscripts.directions import match_transition
from manuscripts.readers.facts import Metadata
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from manuscripts.readers.scripts.script import (
    ItemKind,
    Runs,
    ScriptItem,
    ScriptRun,
    SpeechPart,
    begins_mid_sentence,
    expected_characters,
    omitted_item,
    read_script,
    text_of,
    write_script,
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
_AND = re.compile(r"\s*(?:,|;|&|\n|\band\b|\bund\b|\bet\b)\s*")

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
    """Reads the book in a screenplay. Raises ImportFailed, Slow."""
    decoded = read_script(path, choices.encoding)
    script = _Screenplay(file_name(path), decoded.text)
    script_items = list(script.read_items())
    root, remarks = write_script(script_items)
    pages = Pages(
        [SourcePage(path.name, root)],
        script.metadata(),
        rules=SCRIPT,
        is_script=True,
        characters=expected_characters(root, decoded.text),
        remarks=[*filter(None, [decoded.remark]), *remarks],
    )
    return read_pages(path, pages, choices)


@dataclass(frozen=True, slots=True)
class _SourceRow:
    """A line of the source, with its number from 1."""

    text: str
    number: int

    @property
    def stripped(self) -> str:
        return self.text.strip()


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
            row_number = number
            number += 1
            for cut in _CUT.finditer(row):
                number += self.cut_texts[int(cut[1])][0].count("\n")
            if _CUT.search(row) and not _CUT.sub("", row).strip():
                for cut in _CUT.finditer(row):
                    self.pending_items.append(
                        omitted_item(*self.cut_texts[int(cut[1])], f"{self.name}:{row_number}")
                    )
            else:
                yield _SourceRow(row, row_number)

    def _cut_comments(self, text: str) -> Iterator[str]:
        """Yields the text in pieces, with placeholders for cut-out notes and boneyards."""
        position = copied_end = 0
        last_boneyard_end, last_note_end = text.rfind("*/"), text.rfind("]]")
        while comment := _COMMENT_START.search(text, position):
            start = comment.end()
            if comment[0] == "/*":
                end, reason = (
                    (text.find("*/", start) if start <= last_boneyard_end else -1),
                    _BONEYARD,
                )
            else:
                limit = start + _MAX_NOTE_CHARACTERS if start <= last_note_end else start
                end, reason = text.find("]]", start, limit), _NOTE
                end = -1 if re.search(r"\[\[|\n\n", text[start : max(end, start)]) else end
            position = start
            if end >= 0:
                yield text[copied_end : comment.start()]
                self.cut_texts.append((text[start:end], reason))
                yield f"{_CUT_START}{len(self.cut_texts) - 1}{_CUT_END}"
                position = copied_end = end + 2
        yield text[copied_end:]

    # -- the title page ----------------------------------------------------------------------------

    def _read_title_page(self) -> Iterator[ScriptItem]:
        """Reads the keys of the title page, up to the first blank line, which are left out."""
        while self.row_index < len(self.rows) and not self.rows[self.row_index].stripped:
            self.row_index += 1
        first = (
            _KEY.match(self.rows[self.row_index].text) if self.row_index < len(self.rows) else None
        )
        if first is None or first["key"].casefold() not in _KEYS:
            return
        field_lines: list[str] = []
        for row in self.rows[self.row_index :]:
            if not row.stripped:
                break
            field = _KEY.match(row.text)
            if field:
                field_lines = self.title_fields.setdefault(field["key"].strip().casefold(), [])
            line = text_of(self._styled_runs(field["value"] if field else row.text))
            field_lines += [line] if line else []
            yield self._make_item("omitted", self._omitted_runs(row.stripped, "title page"), row)
            self.row_index += 1

    def metadata(self) -> Metadata:
        """Returns the metadata of the title page."""
        authors = "\n".join(
            self._field_lines("author", "authors", "writer", "writers", "written by")
        )
        return Metadata(
            title=self._field("title"),
            subtitle=self._field("subtitle"),
            authors=tuple(filter(None, _AND.split(authors))),
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
        is_free = True
        while self.row_index < len(self.rows):
            row = self.rows[self.row_index]
            yield from self._take_pending(row.number)
            if not row.stripped:
                self.row_index += 1
                is_free = True
            elif row_items := list(self._single_row_item(row, is_free)):
                self.row_index += 1
                is_free = True
                yield from row_items[0]
            elif self._is_cue(row, is_free):
                yield self._read_speech(row)
            else:
                yield self._read_action(row)
                is_free = False
        yield from self._take_pending(None)

    def _take_pending(self, row_number: int | None) -> Iterator[ScriptItem]:
        """Yields cut-out texts above a line; all remaining ones for None."""
        while self.pending_items and (
            row_number is None or int(self.pending_items[0].source.rpartition(":")[2]) < row_number
        ):
            yield self.pending_items.popleft()

    def _single_row_item(self, row: _SourceRow, is_free: bool) -> Iterator[list[ScriptItem]]:
        """Yields a list with the element that a line is by itself; nothing if it is none.

        The list is empty for a page break.
        """
        text = row.stripped
        if _PAGE_BREAK.fullmatch(text):
            yield []
        elif match := _SYNOPSIS.fullmatch(text):
            yield [self._make_item("omitted", self._omitted_runs(match["text"], "synopsis"), row)]
        elif match := _SECTION.fullmatch(text):
            yield [
                self._make_item(
                    "section", self._styled_runs(match["text"].strip()), row, len(match["level"])
                )
            ]
        elif match := _CENTRED.fullmatch(text):
            yield [self._make_item("centred", self._styled_runs(match["text"].strip()), row)]
        elif match := _FORCED_TRANSITION.fullmatch(text) or self._match_transition(row, is_free):
            yield [self._make_item("omitted", self._omitted_runs(match["text"], "transition"), row)]
        elif match := _FORCED_SCENE.fullmatch(text) or self._match_scene(row, is_free):
            number = match.groupdict().get("number") or ""
            yield [self._make_item("scene", self._scene_runs(number, match["text"].strip()), row)]

    def _match_transition(self, row: _SourceRow, is_free: bool) -> re.Match[str] | None:
        if not is_free or self._is_followed():
            return None
        return match_transition(row.stripped)

    def _match_scene(self, row: _SourceRow, is_free: bool) -> re.Match[str] | None:
        match = _SCENE.fullmatch(row.stripped)
        is_capitals = bool(match) and _SCENE_NUMBER.sub("", row.stripped).isupper()
        return match if match and (is_capitals or (is_free and not match["number"])) else None

    def _is_followed(self) -> bool:
        """Returns whether the next line is not blank."""
        return self.row_index + 1 < len(self.rows) and bool(self.rows[self.row_index + 1].stripped)

    def _is_cue(self, row: _SourceRow, is_free: bool) -> bool:
        """Returns whether a line is a speaker's name: forced, or capitals above another line."""
        if not self._is_followed():
            return False
        name = _CUT.sub("", row.stripped).partition("(")[0]
        is_capitals = name == name.upper() and any(map(str.isupper, name))
        return row.stripped[0] == "@" or (
            is_free and is_capitals and not _FORCED.match(row.stripped)
        )

    def _read_speech(self, row: _SourceRow) -> ScriptItem:
        """Reads a speech whose name is in this row."""
        self.row_index += 1
        cue = row.stripped.removeprefix("@")
        is_dual = cue.endswith("^")
        parts = list(self._read_speech_parts())
        runs = self._styled_runs(cue.rstrip("^").rstrip())
        return ScriptItem("speech", runs, self._source(row), parts=parts, is_dual=is_dual)

    def _read_speech_parts(self) -> Iterator[SpeechPart]:
        """Yields paragraphs and parentheticals of a speech, up to the first blank line."""
        lines: list[str] = []
        while self.row_index < len(self.rows):
            row = self.rows[self.row_index]
            is_kept_blank = not row.stripped and len(row.text) > 1
            is_end = (not row.stripped and not is_kept_blank) or _ENDS_SPEECH.match(row.stripped)
            parenthetical_rows = 0 if is_end else self._parenthetical_row_count()
            if (is_kept_blank or is_end or parenthetical_rows) and lines:
                yield SpeechPart(self._styled_runs(_join_rows(lines)))
                lines = []
            if is_end:
                return
            if parenthetical_rows:
                rows = self.rows[self.row_index : self.row_index + parenthetical_rows]
                yield SpeechPart(
                    self._styled_runs(
                        " ".join(parenthetical_row.stripped for parenthetical_row in rows)
                    ),
                    True,
                )
            elif not is_kept_blank:
                lines.append(row.stripped)
            self.row_index += max(1, parenthetical_rows)
        if lines:
            yield SpeechPart(self._styled_runs(_join_rows(lines)))

    def _parenthetical_row_count(self) -> int:
        """Returns the number of lines of the parenthetical at the current line; 0 for none."""
        if not self.rows[self.row_index].stripped.startswith("("):
            return 0
        for count, row in enumerate(
            self.rows[self.row_index : self.row_index + _MAX_PARENTHETICAL_ROWS], 1
        ):
            text = _CUT.sub("", row.stripped).rstrip()
            if not text:
                return 0
            if ")" in text:
                return count if text.index(")") == len(text) - 1 else 0
        return 0

    def _read_action(self, row: _SourceRow) -> ScriptItem:
        """Reads a paragraph of action, or lyrics without a speaker."""
        is_sung = row.stripped.startswith("~")
        rows = [row.stripped]
        self.row_index += 1
        while self.row_index < len(self.rows) and self._continues_action(
            self.rows[self.row_index], is_sung
        ):
            rows.append(self.rows[self.row_index].stripped)
            self.row_index += 1
        kind: ItemKind = "sung" if is_sung else "action"
        lines = [text if is_sung else text.removeprefix("!") for text in rows]
        return self._make_item(kind, self._styled_runs(_join_rows(lines)), row)

    def _continues_action(self, row: _SourceRow, is_sung: bool) -> bool:
        """Returns whether a row continues the current paragraph of action or lyrics."""
        text = row.stripped
        if not text or text.startswith("~") != is_sung:
            return False
        return is_sung or (
            not _FORCED.match(text.lstrip("!"))
            and not self._match_scene(row, False)
            and not (text.startswith("@") and text[1:2].isalpha())
        )

    # -- text --------------------------------------------------------------------------------------

    def _make_item(self, kind: ItemKind, runs: Runs, row: _SourceRow, level: int = 0) -> ScriptItem:
        return ScriptItem(kind, runs, self._source(row), level)

    def _source(self, row: _SourceRow) -> str:
        return f"{self.name}:{row.number}"

    def _omitted_runs(self, text: str, reason: str) -> list[ScriptRun]:
        return [
            ScriptRun(run.text, omission_reason=run.omission_reason or reason)
            for run in self._styled_runs(text)
        ]

    def _scene_runs(self, number: str, text: str) -> list[ScriptRun]:
        """Returns the runs of a scene heading; a number before or after it is left out."""
        runs = [ScriptRun(number, omission_reason=_NUMBER)] if number else []
        number_match = _SCENE_NUMBER.search(text)
        runs += self._styled_runs(text[: number_match.start()] if number_match else text)
        return (
            [*runs, ScriptRun(f" {number_match[1]}", omission_reason=_NUMBER)]
            if number_match
            else runs
        )

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


def _join_rows(rows: Sequence[str]) -> str:
    """Joins lines by line ends, or by spaces where a line continues a sentence in lower case."""
    joined_text = rows[0].removeprefix("~").strip()
    for row in rows[1:]:
        line = row.removeprefix("~").strip()
        is_continuation = begins_mid_sentence(line) and not row.startswith("~")
        joined_text += f"{' ' if is_continuation else chr(10)}{line}"
    return joined_text
