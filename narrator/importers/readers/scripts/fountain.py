"""Fountain screenplays -> a book: the plain text whose capitals and blank lines say who speaks.

Knows Fountain 1.1 as fountain.io/syntax has it; what becomes of its elements, `script.py` says.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrator.characters import seen
from narrator.importers.book import Book, Choices, file_name, names
from narrator.importers.chapters import SCRIPT
from narrator.importers.directions import transition
from narrator.importers.readers.facts import Metadata
from narrator.importers.readers.pages import Pages, SourcePage, read_pages
from narrator.importers.readers.scripts.script import (
    ItemKind,
    Runs,
    ScriptItem,
    ScriptRun,
    SpeechPart,
    begins_mid_sentence,
    expected_characters,
    write_script,
    omitted_item,
    read_script,
    text_of,
)

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
"""Characters of no text, around the number of something that is cut out of it."""
_CUT = re.compile(rf"{_OPEN}(\d+){_CLOSE}")
_NOTE, _BONEYARD, _NUMBER = "note of the author", "cut by the author", "number of a scene"
_OPENS = re.compile(r"/\*|\[\[")
_LONGEST_NOTE = 20_000

_KEYS = names(
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
_ASIDE_ROWS = 8
"""Lines that a parenthetical has at most."""


def read_fountain(path: Path, choices: Choices) -> Book:
    """The book in a screenplay. Raises ImportFailed, Slow."""
    decoded = read_script(path, choices.encoding)
    script = _Screenplay(file_name(path), decoded.text)
    items = list(script.items())
    root, remarks = write_script(items)
    pages = Pages(
        [SourcePage(path.name, root)],
        script.facts(),
        rules=SCRIPT,
        is_script=True,
        characters=expected_characters(root, decoded.text),
        remarks=[*filter(None, [decoded.remark]), *remarks],
    )
    return read_pages(path, pages, choices)


@dataclass(frozen=True, slots=True)
class _ScriptRow:
    """A line that has more than what is cut out of the text."""

    text: str
    number: int

    @property
    def bare(self) -> str:
        return self.text.strip()


class _Screenplay:
    """A screenplay, from its lines to its elements."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.cut: list[tuple[str, str]] = []
        """What is cut out, and why."""
        self.asides: deque[ScriptItem] = deque()
        """What is cut out and stands alone, until there is a place for it."""
        self.titles: dict[str, list[str]] = {}
        self.rows = list(self._rows(seen(text).replace(_OPEN, "").replace(_CLOSE, "")))
        self.at = 0

    def _rows(self, text: str) -> Iterator[_ScriptRow]:
        """Lines; those that have nothing but what is cut out are none, for they part nothing."""
        number = 1
        for row in "".join(self._pieces(text)).split("\n"):
            here = number
            number += 1
            for found in _CUT.finditer(row):
                number += self.cut[int(found[1])][0].count("\n")
            if _CUT.search(row) and not _CUT.sub("", row).strip():
                for found in _CUT.finditer(row):
                    self.asides.append(omitted_item(*self.cut[int(found[1])], f"{self.name}:{here}"))
            else:
                yield _ScriptRow(row, here)

    def _pieces(self, text: str) -> Iterator[str]:
        """A text in pieces, with signs for what is cut out of it: notes, and the boneyard."""
        at = done = 0
        last, last_note = text.rfind("*/"), text.rfind("]]")
        while opened := _OPENS.search(text, at):
            begin = opened.end()
            if opened[0] == "/*":
                end, why = (text.find("*/", begin) if begin <= last else -1), _BONEYARD
            else:
                most = begin + _LONGEST_NOTE if begin <= last_note else begin
                end, why = text.find("]]", begin, most), _NOTE
                end = -1 if re.search(r"\[\[|\n\n", text[begin : max(end, begin)]) else end
            at = begin
            if end >= 0:
                yield text[done : opened.start()]
                self.cut.append((text[begin:end], why))
                yield f"{_OPEN}{len(self.cut) - 1}{_CLOSE}"
                at = done = end + 2
        yield text[done:]

    # -- the title page ----------------------------------------------------------------------------

    def _title_page(self) -> Iterator[ScriptItem]:
        """Facts, from keys in the first lines to the first blank one; they are left out."""
        while self.at < len(self.rows) and not self.rows[self.at].bare:
            self.at += 1
        first = _KEY.match(self.rows[self.at].text) if self.at < len(self.rows) else None
        if first is None or first["key"].casefold() not in _KEYS:
            return
        values: list[str] = []
        for row in self.rows[self.at :]:
            if not row.bare:
                break
            found = _KEY.match(row.text)
            if found:
                values = self.titles.setdefault(found["key"].strip().casefold(), [])
            value = text_of(self._runs(found["value"] if found else row.text))
            values += [value] if value else []
            yield self._item("left", self._left(row.bare, "title page"), row)
            self.at += 1

    def facts(self) -> Metadata:
        """What the title page says."""
        authors = "\n".join(self._said("author", "authors", "writer", "writers", "written by"))
        return Metadata(
            title=self._fact("title"),
            subtitle=self._fact("subtitle"),
            authors=tuple(filter(None, _AND.split(authors))),
            language=self._fact("language"),
            date=self._fact("draft date", "date"),
            copyright=self._fact("copyright"),
        )

    def _said(self, *keys: str) -> list[str]:
        return next((self.titles[key] for key in keys if self.titles.get(key)), [])

    def _fact(self, *keys: str) -> str | None:
        return " ".join(self._said(*keys)) or None

    # -- elements ----------------------------------------------------------------------------------

    def items(self) -> Iterator[ScriptItem]:
        """The elements, in order."""
        yield from self._title_page()
        is_free = True
        while self.at < len(self.rows):
            row = self.rows[self.at]
            yield from self._asides(row.number)
            if not row.bare:
                self.at += 1
                is_free = True
            elif found := list(self._single(row, is_free)):
                self.at += 1
                is_free = True
                yield from found[0]
            elif self._is_cue(row, is_free):
                yield self._speech(row)
            else:
                yield self._action(row)
                is_free = False
        yield from self._asides(None)

    def _asides(self, before: int | None) -> Iterator[ScriptItem]:
        """What stands alone, cut out, above a line."""
        while self.asides and (
            before is None or int(self.asides[0].source.rpartition(":")[2]) < before
        ):
            yield self.asides.popleft()

    def _single(self, row: _ScriptRow, is_free: bool) -> Iterator[list[ScriptItem]]:
        """The element that a line is by itself, if it is one; a page's end has no words."""
        text = row.bare
        if _PAGE_BREAK.fullmatch(text):
            yield []
        elif found := _SYNOPSIS.fullmatch(text):
            yield [self._item("left", self._left(found["text"], "synopsis"), row)]
        elif found := _SECTION.fullmatch(text):
            yield [
                self._item("section", self._runs(found["text"].strip()), row, len(found["level"]))
            ]
        elif found := _CENTRED.fullmatch(text):
            yield [self._item("centred", self._runs(found["text"].strip()), row)]
        elif found := _FORCED_TRANSITION.fullmatch(text) or self._transition(row, is_free):
            yield [self._item("left", self._left(found["text"], "transition"), row)]
        elif found := _FORCED_SCENE.fullmatch(text) or self._scene(row, is_free):
            number = found.groupdict().get("number") or ""
            yield [self._item("scene", self._numbered(number, found["text"].strip()), row)]

    def _transition(self, row: _ScriptRow, is_free: bool) -> re.Match[str] | None:
        if not is_free or self._is_followed():
            return None
        return transition(row.bare)

    def _scene(self, row: _ScriptRow, is_free: bool) -> re.Match[str] | None:
        found = _SCENE.fullmatch(row.bare)
        shouted = bool(found) and _SCENE_NUMBER.sub("", row.bare).isupper()
        return found if found and (shouted or (is_free and not found["number"])) else None

    def _is_followed(self) -> bool:
        """Whether the line below is not blank."""
        return self.at + 1 < len(self.rows) and bool(self.rows[self.at + 1].bare)

    def _is_cue(self, row: _ScriptRow, is_free: bool) -> bool:
        """Whether a line is a speaker's name: forced, or capitals above a line."""
        if not self._is_followed():
            return False
        name = _CUT.sub("", row.bare).partition("(")[0]
        shouted = name == name.upper() and any(map(str.isupper, name))
        return row.bare[0] == "@" or (is_free and shouted and not _FORCED.match(row.bare))

    def _speech(self, row: _ScriptRow) -> ScriptItem:
        self.at += 1
        cue = row.bare.removeprefix("@")
        is_dual = cue.endswith("^")
        parts = list(self._parts())
        runs = self._runs(cue.rstrip("^").rstrip())
        return ScriptItem("speech", runs, self._source(row), parts=parts, is_dual=is_dual)

    def _parts(self) -> Iterator[SpeechPart]:
        """Paragraphs and parentheticals of a speech, to the first blank line."""
        said: list[str] = []
        while self.at < len(self.rows):
            row = self.rows[self.at]
            held = not row.bare and len(row.text) > 1
            ends = (not row.bare and not held) or _ENDS_SPEECH.match(row.bare)
            aside = 0 if ends else self._aside_rows()
            if (held or ends or aside) and said:
                yield SpeechPart(self._runs(_joined(said)))
                said = []
            if ends:
                return
            if aside:
                rows = self.rows[self.at : self.at + aside]
                yield SpeechPart(self._runs(" ".join(one.bare for one in rows)), True)
            elif not held:
                said.append(row.bare)
            self.at += max(1, aside)
        if said:
            yield SpeechPart(self._runs(_joined(said)))

    def _aside_rows(self) -> int:
        """How many lines the parenthetical has that begins here."""
        if not self.rows[self.at].bare.startswith("("):
            return 0
        for count, row in enumerate(self.rows[self.at : self.at + _ASIDE_ROWS], 1):
            text = _CUT.sub("", row.bare).rstrip()
            if not text:
                return 0
            if ")" in text:
                return count if text.index(")") == len(text) - 1 else 0
        return 0

    def _action(self, row: _ScriptRow) -> ScriptItem:
        """A paragraph that is told, or lyrics that nobody is named for."""
        is_sung = row.bare.startswith("~")
        rows = [row.bare]
        self.at += 1
        while self.at < len(self.rows) and self._goes_on(self.rows[self.at], is_sung):
            rows.append(self.rows[self.at].bare)
            self.at += 1
        kind: ItemKind = "sung" if is_sung else "told"
        said = [text if is_sung else text.removeprefix("!") for text in rows]
        return self._item(kind, self._runs(_joined(said)), row)

    def _goes_on(self, row: _ScriptRow, is_sung: bool) -> bool:
        bare = row.bare
        if not bare or bare.startswith("~") != is_sung:
            return False
        return is_sung or (
            not _FORCED.match(bare.lstrip("!"))
            and not self._scene(row, False)
            and not (bare.startswith("@") and bare[1:2].isalpha())
        )

    # -- words -------------------------------------------------------------------------------------

    def _item(self, kind: ItemKind, runs: Runs, row: _ScriptRow, level: int = 0) -> ScriptItem:
        return ScriptItem(kind, runs, self._source(row), level)

    def _source(self, row: _ScriptRow) -> str:
        return f"{self.name}:{row.number}"

    def _left(self, text: str, why: str) -> list[ScriptRun]:
        return [ScriptRun(run.text, omission_reason=run.omission_reason or why) for run in self._runs(text)]

    def _numbered(self, number: str, text: str) -> list[ScriptRun]:
        """The heading of a scene, with the number before or after it."""
        made = [ScriptRun(number, omission_reason=_NUMBER)] if number else []
        after = _SCENE_NUMBER.search(text)
        made += self._runs(text[: after.start()] if after else text)
        return [*made, ScriptRun(f" {after[1]}", omission_reason=_NUMBER)] if after else made

    def _runs(self, text: str, em: bool = False, strong: bool = False) -> list[ScriptRun]:
        """Words with their emphasis."""
        made: list[ScriptRun] = []
        at = 0
        for found in _EMPHASIS.finditer(text):
            made += self._plain(text[at : found.start()], em, strong)
            stars = len(found["stars"] or "_")
            inside = found["starred"] or found["lined"]
            made += self._runs(inside, em or stars != 2, strong or stars > 1)
            at = found.end()
        return [*made, *self._plain(text[at:], em, strong)]

    def _plain(self, text: str, em: bool, strong: bool) -> Iterator[ScriptRun]:
        for number, piece in enumerate(_CUT.split(text)):
            if number % 2:
                words, why = self.cut[int(piece)]
                yield ScriptRun(f" {words} ", omission_reason=why)
            elif piece:
                yield ScriptRun(_ESCAPED.sub(r"\1", piece), em, strong)


def _joined(rows: Sequence[str]) -> str:
    """Lines as they stand; those that go on with a sentence, in small letters, are one."""
    made = rows[0].removeprefix("~").strip()
    for row in rows[1:]:
        text = row.removeprefix("~").strip()
        goes_on = begins_mid_sentence(text) and not row.startswith("~")
        made += f"{' ' if goes_on else chr(10)}{text}"
    return made
