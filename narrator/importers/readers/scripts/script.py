"""What a script says, in its order -> a document: chapters, scenes, names, speeches, what is told.

What screenplays share, whatever file they are read from: which headings part them, what becomes of
a name's extensions, which words are left out. Knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Literal

from lxml import etree

from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers.book import count_characters, names
from narrator.importers.counting import counted
from narrator.importers.directions import EXTENSION, PARENTHETICAL, is_extension, style_of
from narrator.importers.encoding import Decoded
from narrator.importers.labels import lowered_capitals, ordinary
from narrator.importers.plaintext import read_text
from narrator.importers.readers import stage
from narrator.importers.readers.elements import LEFT, SOURCE, say
from narrator.importers.readers.facts import Metadata

ItemKind = Literal["section", "scene", "told", "sung", "centred", "speech", "break", "left"]

_SIZE_LIMIT = 4_000_000
"""Characters. A day of subtitles has 3 million."""
_NO_TEXT = re.compile("[\ud800-\udfff\ufffe\uffff\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONGEST_NAME = 60
"""Characters that a label has at most."""
_EXTENSION = re.compile(r"\([^()]*\)?")
_ACTS = names("act acte acto akt atto ato episode teil part chapter kapitel bedrijf akten")
_ACT = re.compile(
    r"(?:the )?(?:teaser|cold open(?:ing)?|tag|prologue|epilogue|prolog|epilog)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """Words in one style."""

    text: str
    em: bool = False
    strong: bool = False
    left: str | None = None
    """Why they are left out, if they are."""


Runs = Sequence[ScriptRun]


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """A paragraph of a speech, or a parenthetical in it."""

    runs: Runs
    is_aside: bool = False


@dataclass(frozen=True, slots=True)
class ScriptItem:
    """One element of a script."""

    kind: ItemKind
    runs: Runs
    """Of a speech: the line of its name, with the extensions."""
    source: str
    """Where it stands, for people."""
    level: int = 0
    """Of a section, 1 for the highest."""
    parts: Sequence[SpeechPart] = ()
    """Of a speech."""
    is_dual: bool = False
    """Whether a speech is said while the one above is."""

    @property
    def text(self) -> str:
        return text_of(self.runs)


def text_of(runs: Runs) -> str:
    """Words without their styles, and without what is left out."""
    return " ".join("".join(run.text for run in runs if run.left is None).split())


_BY = re.compile(
    r"(?:(?:an? |the )?(?:screenplay|teleplay|script|play|book|original|adapted|written|created)\b"
    r".{0,40}?\s)?by\b[\s:]*",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*(?:,|;|&|\band\b|\bund\b|\bet\b)\s*")
_AUTHOR = re.compile(r"[^\W\d_][^\d@:/]{1,60}")


def facts_of(rows: Sequence[str]) -> Metadata:
    """The title and the authors of a title page in its usual shape: `by` between them."""
    shown = list(dropwhile(lambda row: not row, rows))
    title = list(takewhile(lambda row: row and not _BY.match(row), shown))
    by = next((row for row in shown if _BY.match(row)), None)
    if by is None:
        return Metadata(title=" ".join(title) or None)
    below = dropwhile(lambda row: not row, shown[shown.index(by) + 1 :])
    named = [_BY.sub("", by, count=1), *takewhile(bool, below)]
    authors = [name for row in named for name in _AND.split(row)]
    known = tuple(name for name in authors if _AUTHOR.fullmatch(name))
    return Metadata(title=" ".join(title) or None, authors=known)


def read_script(path: Path, encoding: str | None) -> Decoded:
    """The text of a script. Raises ImportFailed."""
    decoded = read_text(path, encoding)
    if len(decoded.text) > _SIZE_LIMIT:
        raise ImportFailed(Problem(path, None, "larger than 4 MB, which no script is"))
    return decoded


def left(text: str, why: str, source: str) -> ScriptItem:
    """Words that are left out."""
    return ScriptItem("left", [ScriptRun(text, left=why)], source)


def document_of_script(items: Sequence[ScriptItem]) -> tuple[etree._Element, list[str]]:
    """The document of a script, and remarks on what was done."""
    writer = _ScriptWriter()
    chapters = _chapters(items)
    for number, item in enumerate(items):
        writer.write(item, number in chapters)
    return writer.root, list(writer.remarks())


def counted_apart(root: etree._Element, source: str) -> int:
    """Visible characters that a document should have by the letters and digits of its source, of
    which its signs, which are not in the document, have none."""
    texts = "".join(root.itertext())
    return count_characters(texts) + _alphanumeric(source) - _alphanumeric(texts)


def _alphanumeric(text: str) -> int:
    return sum(map(str.isalnum, seen(text)))


# -- chapters --------------------------------------------------------------------------------------


def _chapters(items: Sequence[ScriptItem]) -> frozenset[int]:
    """The numbers of the items that begin chapters: the sections of the highest level that comes
    twice, else the acts that are printed."""
    sections = [number for number, item in enumerate(items) if item.kind == "section"]
    for level in sorted({items[number].level for number in sections}):
        same = [number for number in sections if items[number].level == level]
        if len(same) > 1:
            return frozenset(same)
    acts = [number for number, item in enumerate(items) if _is_act(item)]
    is_counted = any(counted(items[number].text) for number in acts)
    return frozenset(acts if len(acts) > 1 and is_counted else ())


def _is_act(item: ScriptItem) -> bool:
    if item.kind not in ("told", "centred", "scene") or len(item.text) > _LONGEST_NAME:
        return False
    text = item.text.strip(" .:—–-")
    said = counted(text)
    act = said is not None and said.value is not None and said.word.casefold() in _ACTS
    titled = act and said is not None and bool(said.title) and not said.mark
    shown = item.kind != "told" or text.isupper()
    return shown and ((act and not titled) or bool(_ACT.fullmatch(text)))


# -- writing ---------------------------------------------------------------------------------------


class _ScriptWriter:
    """Writes items as elements of a document."""

    def __init__(self) -> None:
        self.root = etree.Element("html")
        self.body = etree.SubElement(self.root, "body")
        self.duals = 0
        self.lowered: tuple[str, str] | None = None

    def remarks(self) -> Iterable[str]:
        """What a listener should know."""
        if self.duals:
            many = "speeches are" if self.duals > 1 else "speech is"
            yield f"{self.duals} {many} said after the one that the script sets beside it."
        if self.lowered:
            before, after = self.lowered
            yield (
                f"Headings of scenes are read by the narrator, in ordinary letters: “{before}” as "
                f"“{after}”. What `Int.` and `Ext.` sound like, `lexicon` in book.yaml can say."
            )

    def write(self, item: ScriptItem, is_chapter: bool) -> None:
        """Add an element."""
        if is_chapter:
            runs = [ScriptRun(run.text, left=run.left) for run in item.runs]
            self._paragraph(item, _in_ordinary_letters(runs), name="h1")
        elif item.kind == "section":
            why = "heading of an outline, which is not printed"
            self._paragraph(item, [ScriptRun(run.text, left=run.left or why) for run in item.runs])
        elif item.kind == "scene":
            self._scene(item)
        elif item.kind == "break":
            etree.SubElement(self.body, "hr")
        elif item.kind == "speech":
            self._speech(item)
        elif item.kind == "left":
            self._paragraph(item, item.runs)
        else:
            shown = stage.NARRATED if item.kind == "sung" else "direction"
            self._paragraph(item, item.runs, shown)

    def _scene(self, item: ScriptItem) -> None:
        etree.SubElement(self.body, "hr")
        runs = _in_ordinary_letters(item.runs)
        if self.lowered is None and text_of(runs) != item.text:
            self.lowered = item.text, text_of(runs)
        self._paragraph(item, runs, stage.NARRATED)

    def _speech(self, item: ScriptItem) -> None:
        name, extensions, behind = _cue(item.text)
        if not _is_said(item.parts) or not _may_be_label(name):
            for runs in (item.runs, *(part.runs for part in item.parts)):
                self._paragraph(item, runs, "direction")
            return
        self.duals += item.is_dual
        left_out = [run for run in item.runs if run.left is not None]
        where = [text for text in extensions if is_extension(text)]
        asides = [text for text in (*extensions, behind) if text and text not in where]
        outside = [ScriptRun(f" {text}", left=EXTENSION) for text in where]
        self._paragraph(item, [ScriptRun(name), *outside, *left_out], "speaker")
        styled = False
        for aside in asides:
            said = [ScriptRun(lowered_capitals(aside, False))]
            styled = self._aside(item, said, styled)
        parts = list(_rejoined(item.parts))
        for number, part in enumerate(parts):
            if part.is_aside:
                is_last = all(below.is_aside for below in parts[number:])
                styled = self._aside(item, part.runs, styled or is_last)
            else:
                self._paragraph(item, part.runs)
                styled = False

    def _aside(self, item: ScriptItem, runs: Runs, is_styled: bool) -> bool:
        """Write a parenthetical: the style of what follows, which has but one, else left out;
        returns whether what follows has one."""
        text = text_of(runs)
        if not is_styled and not is_extension(text) and style_of(text) is not None:
            self._paragraph(item, runs, "direction")
            return True
        why = EXTENSION if is_extension(text) else PARENTHETICAL
        self._paragraph(item, [ScriptRun(run.text, left=run.left or why) for run in runs])
        return is_styled

    def _paragraph(self, item: ScriptItem, runs: Runs, shown: str = "", name: str = "p") -> None:
        element = etree.SubElement(self.body, name)
        element.set(SOURCE, item.source)
        if shown:
            element.set("class", shown)
        for run in runs:
            _add(element, run)


def _cue(text: str) -> tuple[str, list[str], str]:
    """A name, the extensions in brackets behind it, and what else stands there."""
    name, bracket, rest = text.partition("(")
    extensions = [" ".join(found.split()) for found in _EXTENSION.findall(bracket + rest)]
    return name.strip(), extensions, _EXTENSION.sub("", bracket + rest).strip()


def _rejoined(parts: Sequence[SpeechPart]) -> Iterable[SpeechPart]:
    """The paragraphs of a speech; what goes on with a sentence is none by itself."""
    made: list[SpeechPart] = []
    for part in parts:
        above = made[-1] if made else part
        before, text = text_of(above.runs), text_of(part.runs)
        if part.is_aside:
            goes_on = ")" not in before
        else:
            goes_on = begins_within(text) and before[-1:] not in ".!?…"
        if made and part.is_aside == above.is_aside and goes_on:
            made[-1] = SpeechPart([*above.runs, ScriptRun(" "), *part.runs], part.is_aside)
        else:
            made.append(part)
    return made


def begins_within(text: str) -> bool:
    """Whether a text begins within a sentence: in small letters, after dashes or not."""
    return text.lstrip(" -–—….'’")[:1].islower()


def _is_said(parts: Sequence[SpeechPart]) -> bool:
    """Whether a speech has more than directions."""
    return any(text_of(part.runs) and not part.is_aside for part in parts)


def _may_be_label(name: str) -> bool:
    said = ordinary(name).strip(" .")
    return any(map(str.isalnum, said)) and len(name) <= _LONGEST_NAME


def _in_ordinary_letters(runs: Runs) -> list[ScriptRun]:
    """A heading that is all in capitals, in ordinary ones."""
    if not text_of(runs).isupper():
        return list(runs)
    made: list[ScriptRun] = []
    for run in runs:
        first = not any(run.left is None for run in made)
        text = run.text if run.left else lowered_capitals(run.text, first)
        made.append(ScriptRun(text, run.em, run.strong, run.left))
    return made


def _add(element: etree._Element, run: ScriptRun) -> None:
    """Append words to an element, in elements for their style."""
    text = _NO_TEXT.sub("", run.text)
    if run.left is not None:
        span = etree.SubElement(element, "span")
        span.text = text
        span.set(LEFT, run.left)
        return
    inside = element
    for name in ("em",) * run.em + ("strong",) * run.strong:
        inside = etree.SubElement(inside, name)
    for number, row in enumerate(text.split("\n")):
        if number:
            etree.SubElement(inside, "br")
        say(inside, row)
