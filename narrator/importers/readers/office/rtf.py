"""RTF (Word's, LibreOffice's, TextEdit's) -> pages.

An own reader: the libraries that make text of RTF lose headings, notes and emphasis. Knows which
groups hold words and which do not; an unknown group is passed over only where the file says that
it may be. How paragraphs look is judged after (`judging.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from lxml import etree

from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, Choices, names
from narrator.importers.chapters import OFFICE
from narrator.importers.plaintext import read_data
from narrator.importers.readers import markup
from narrator.importers.readers.elements import INCOMPLETE, LANG
from narrator.importers.readers.office.judging import judge
from narrator.importers.readers.office.properties import facts_of, guessed, taken
from narrator.importers.readers.office.rtftokens import SIGNS, RtfToken, tokens
from narrator.importers.readers.office.rtfwords import (
    CHANGES,
    DOCUMENT,
    RtfField,
    RtfGroup,
    RtfHead,
    RtfStyle,
)
from narrator.importers.readers.office.rtfwriter import RtfWriter, whole
from narrator.importers.readers.office.styles import NONE, Properties, named
from narrator.importers.readers.pages import Pages, SourcePage, read_pages

_DEEPEST = 2_000
"""Groups within each other."""

_MOST = 1_000_000
"""Paragraphs and runs of words. A long novel has 100,000."""
_LONGEST = 20_000_000
"""Characters. The longest novels have 10 million."""

_SKIPPED = names(
    "colortbl pict nonshppict objdata sp tc xe rxe ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn "
    "nonesttables template mmathPict filetbl listtable revtbl bkmkstart bkmkend"
)
_READ = names("shppict shptxt shpinst shprslt moMath moMathPara mmath do dptxbxtext result")
"""Groups marked as such that may be passed over, which hold words."""
_ASIDE = dict.fromkeys(
    names("header headerl headerr headerf footer footerl footerr footerf"),
    "header or footer of a page",
) | {"annotation": "comment"}
_INFO = {"title": "title", "author": "creator", "subject": "subject", "doccomm": "description"}
_FIELDS = {"TOC": "table of contents", "INDEX": "index", "PAGE": "page number",
           "NUMPAGES": "page number"}  # fmt: skip
_STAND_IN = re.compile(r"SPECIAL_IMAGE-.*REPLACE_ME")
"""What Calibre writes for a picture that it cannot."""
_GOALS = {
    "fonttbl": "fonts", "stylesheet": "styles", "info": "info", "listtext": "marker",
    "pntext": "marker", "fldinst": "code",
}  # fmt: skip


def read_rtf(path: Path, choices: Choices) -> Book:
    """The book in an RTF file. Raises ImportFailed, Slow."""
    reader = _RtfReader(path)
    for token in tokens(read_data(path)):
        reader.take(token)
    return read_pages(path, reader.pages(), choices)


class _RtfReader:
    """Follows the groups of a document and gives their words to a writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said = RtfHead()
        self.writer = RtfWriter()
        self.group = RtfGroup()
        self.stack: list[RtfGroup] = []
        self.first = False
        """Whether the next word may say what a group holds."""
        self.starred = False
        self.pending = bytearray()
        self.skip = 0
        self.unbalanced = False
        self.property = ""
        """Name of a picture's property, whose value follows."""

    def pages(self) -> Pages:
        """What was read, once all is."""
        self._flush()
        body = self.writer.finished()
        most = self.writer.languages.most_common(1)
        main = (most[0][0] if most else None) or self.said.language
        root = etree.Element("html")
        root.append(body)
        asides = list(self.writer.asides())
        try:
            for page in (root, *(aside.root for aside in asides)):
                markup.check_depth(page)
        except markup.TooDeep as error:
            raise ImportFailed(Problem(self.path, None, f"broken: {error}")) from None
        if main:
            root.set(LANG, main)
        first = judge(body, self.writer.looks)
        facts = self.said.facts
        found = facts_of(
            *(" ".join(facts.get(fact, "").split()) for fact in
              ("title", "creator", "language", "description", "subject"))
        )  # fmt: skip
        remarks = guessed(first)
        if self.stack or self.unbalanced:
            remarks.append(
                "The file's braces do not match, as if it were cut off; compare its end."
            )
        return Pages(
            [SourcePage("document", root), *asides],
            taken(found, first),
            rules=OFFICE,
            characters=self.writer.characters,
            remarks=remarks,
        )

    def take(self, token: RtfToken) -> None:
        """Follow one token."""
        if token.kind in ("text", "code"):
            self._bytes(token)
            self.first = self.starred = False
            return
        self._flush()
        if self.writer.pieces > _MOST or self.writer.taken > _LONGEST:
            raise ImportFailed(Problem(self.path, None, "has more text than a book needs"))
        if token.kind == "open":
            if len(self.stack) >= _DEEPEST:
                what = f"not RTF, or broken: groups more than {_DEEPEST} deep"
                raise ImportFailed(Problem(self.path, None, what))
            self.stack.append(self.group)
            if self.group.begun:
                self.group = replace(self.group, begun=0)
            self.first, self.skip = True, 0
        elif token.kind == "close":
            self._close()
        elif token.word == "*":
            self.starred = True
        else:
            self._word(token)

    def _close(self) -> None:
        self.first = self.starred = False
        self.skip = 0
        if not self.stack:
            self.unbalanced = True
            return
        closed, self.group = self.group, self.stack.pop()
        if closed.begun:
            self.writer.end_aside()

    # -- text --------------------------------------------------------------------------------------

    def _bytes(self, token: RtfToken) -> None:
        data = token.data
        if self.skip:
            dropped = min(self.skip, len(data))
            self.skip -= dropped
            data = data[dropped:]
        self.pending += data

    def _flush(self) -> None:
        if self.pending:
            encoding = self.said.fonts.get(self.group.font or 0, self.said.encoding)
            text = bytes(self.pending).decode(encoding, "replace")
            self.pending.clear()
            self._say(text)

    def _say(self, text: str) -> None:
        group, goal = self.group, self.group.goal
        if goal == "skip":
            return
        if goal == "body":
            self.writer.say(text, self._words(), self._why_left(text))
        elif goal == "marker":
            self.writer.mark(text)
        elif goal == "code" and group.field is not None:
            group.field.code = (group.field.code + text)[:500]
        elif goal == "styles":
            self._name_style(text)
        elif goal == "sn":
            self.property = text.strip()
        elif goal == "sv" and self.property == "wzDescription":
            self.writer.show(text)
        elif goal in _INFO.values():
            facts = self.said.facts
            facts[goal] = (facts.get(goal, "") + whole(text))[:5_000]

    def _words(self) -> Properties:
        """The properties of words: no language where it is the document's."""
        words = self.group.words
        shown = self.group.field if self.group.shown else None
        if shown is not None and shown.kind == "HYPERLINK":
            words = replace(words, link=True)
        if words.language is None or words.language != self.said.language:
            return words
        return replace(words, language=None)

    def _why_left(self, text: str) -> str:
        group = self.group
        if _STAND_IN.search(text):
            return "picture"
        if group.deleted:
            return "deleted by a tracked change"
        if group.words.hidden:
            return "hidden"
        if group.formula:
            return INCOMPLETE
        return _FIELDS.get(group.field.kind, "") if group.field and group.shown else ""

    def _name_style(self, text: str) -> None:
        style = self.said.styles.setdefault(self.group.style or 0, RtfStyle())
        style.level = self.group.block.level
        style.name = (style.name + text).strip().removesuffix(";")[:200]

    # -- words -------------------------------------------------------------------------------------

    def _word(self, token: RtfToken) -> None:
        word, number = token.word, token.number
        first, starred, self.first, self.starred = self.first, self.starred, False, False
        if (first or starred) and self._begins(word, starred):
            return
        if word == "u":
            code = (number or 0) % 65_536
            self._say(chr(code))
            self.skip = self.group.skip
        elif word in SIGNS:
            self._sign(SIGNS[word])
        elif (change := CHANGES.get(word)) is not None:
            self._mend(word)
            self.group = change(self.group, number)
        elif word in DOCUMENT:
            DOCUMENT[word](self.said, self.group, number)
        elif self.group.goal == "body":
            self._end(word)

    def _mend(self, word: str) -> None:
        """Go on with the text where it begins in a table that nothing has closed."""
        head = self.group.goal in ("fonts", "styles", "info")
        if (word == "pard" and head) or (word == "sectd" and self.group.goal == "skip"):
            self.group, self.unbalanced = RtfGroup(), True

    def _sign(self, sign: str) -> None:
        if self.skip:
            self.skip -= 1
        else:
            self._say(sign)

    def _begins(self, word: str, starred: bool) -> bool:
        """Whether a word says what a group holds, and so ends what it is."""
        group = self.group
        goal = _GOALS.get(word)
        if group.goal == "skip":
            self._resume(word)
            return True
        if goal is not None:
            self.group = replace(group, goal=goal)
        elif word in _INFO and group.goal == "info":
            self.group = replace(group, goal=_INFO[word])
        elif word == "field":
            self.group = replace(group, field=RtfField(), shown=False)
        elif word == "fldrslt":
            self.group = replace(group, shown=True)
        elif word in ("footnote", "annotation") or word in _ASIDE:
            self._aside(word)
        elif word in ("moMath", "mmath"):
            self.group = replace(group, formula=True)
        elif word in ("upr", *_SKIPPED) or (starred and word not in _READ and word != "cs"):
            self.group = replace(group, goal="skip")
        elif word not in _READ:
            return False
        return True

    def _resume(self, word: str) -> None:
        """Read what holds words within a group that is passed over: those in Unicode, and what is
        said of a picture."""
        if word == "ud":
            goal = next((g.goal for g in reversed(self.stack) if g.goal != "skip"), "body")
            self.group = replace(self.group, goal=goal)
        elif word in ("sn", "sv"):
            self.group = replace(self.group, goal=word)

    def _aside(self, word: str) -> None:
        """Begin a note, or what stands beside the text."""
        if self.group.goal != "body":
            self.group = replace(self.group, goal="skip")
            return
        if word == "footnote":
            self.writer.begin_note()
        else:
            self.writer.begin_aside(_ASIDE[word])
        self.group = replace(self.group, begun=1, cell=False, block=NONE, style=None)

    def _end(self, word: str) -> None:
        """What ends a line, a paragraph, a cell, a page."""
        if word in ("line", "lbr"):
            self.writer.break_line()
        elif word in ("par", "sect", "cell", "nestcell", "row"):
            block = self._block()
            if word == "row":
                self.writer.end_row()
            else:
                self.writer.end_paragraph(block, self.group.cell, word == "cell")
            if word == "sect":
                self.writer.page = True
        elif word == "page":
            self.writer.break_page()
        elif word == "sbknone":
            self.writer.page = False

    def _block(self) -> Properties:
        """What holds for a paragraph: its own properties, and its style's level and role."""
        style, depth = self.said.styles.get(self.group.style or 0), 0
        block = self.group.block
        while style is not None and depth < 20:
            said = named(style.name, NONE)
            level = style.level if style.level is not None else said.level
            block = block.over(Properties(level=level, role=said.role))
            style, depth = self.said.styles.get(style.base or 0) if style.base else None, depth + 1
        return block
