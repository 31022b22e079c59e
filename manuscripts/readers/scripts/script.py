"""Converts the elements of a script to a document: chapters, scenes, names, speeches, action.

Shared by all formats of screenplays: which headings begin chapters, how extensions of names are
read, which words are left out. Knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Literal

from lxml import etree

from manuscripts.book import Book, Choices, count_characters, word_set
from manuscripts.chapters import SCRIPT
from manuscripts.counting import parse_numbering
from manuscripts.directions import (
    EXTENSION_REASON,
    PARENTHETICAL_REASON,
    is_extension,
    manner_of_speaking,
)
from manuscripts.encoding import Decoded
from manuscripts.errors import ImportFailed
from manuscripts.labels import in_ordinary_case, lower_capitals
from manuscripts.plaintext import read_text
from manuscripts.readers import stage
from manuscripts.readers.elements import OMISSION_ATTRIBUTE, SOURCE_ATTRIBUTE, append_text
from manuscripts.readers.facts import Metadata
from manuscripts.readers.markup import remove_forbidden
from manuscripts.readers.pages import Pages, SourcePage, read_pages
from textbase.characters import strip_invisible
from textbase.errors import Problem

ItemKind = Literal["section", "scene", "action", "sung", "centred", "speech", "break", "omitted"]

_SIZE_LIMIT = 4_000_000
"""Limit on characters. A day of subtitles has 3 million."""
_MAX_NAME_CHARACTERS = 60
"""Maximum characters of a speaker's label."""
_BRACKETED = re.compile(r"\([^()]*\)?")
_ACT_WORDS = word_set("act acte acto akt atto ato episode teil part chapter kapitel bedrijf akten")
_ACT_NAME = re.compile(
    r"(?:the )?(?:teaser|cold open(?:ing)?|tag|prologue|epilogue|prolog|epilog)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """Text in one style."""

    text: str
    is_italic: bool = False
    is_bold: bool = False
    omission_reason: str | None = None
    """Reason to leave the text out; None if it is read."""


Runs = Sequence[ScriptRun]


@dataclass(frozen=True, slots=True)
class SpeechPart:
    """A paragraph of a speech, or a parenthetical in it."""

    runs: Runs
    is_aside: bool = False


@dataclass(frozen=True, slots=True)
class ScriptItem:
    """An element of a script."""

    kind: ItemKind
    runs: Runs
    """Text of the element; for a speech, the line with the name and its extensions."""
    source: str
    """Position in the source, for people, such as `play.fountain:12`."""
    level: int = 0
    """Level of a section, 1 for the highest."""
    parts: Sequence[SpeechPart] = ()
    """Paragraphs and parentheticals of a speech."""
    is_dual: bool = False
    """True if a speech is simultaneous with the one before."""

    @property
    def text(self) -> str:
        return text_of(self.runs)


def text_of(runs: Runs) -> str:
    """Returns the text of runs on one line, without styles and left-out runs."""
    return " ".join("".join(run.text for run in runs if run.omission_reason is None).split())


_BYLINE = re.compile(
    r"(?:(?:an? |the )?(?:screenplay|teleplay|script|play|book|original|adapted|written|created)\b"
    r".{0,40}?\s)?by\b[\s:]*",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*(?:,|;|&|\n|\band\b|\bund\b|\bet\b)\s*")
_AUTHOR = re.compile(r"[^\W\d_][^\d@:/]{1,60}")


def parse_title_page(lines: Sequence[str]) -> Metadata:
    """Returns title and authors of a title page in the usual form, with `byline` between them."""
    text_lines = list(dropwhile(lambda row: not row, lines))
    title = list(takewhile(lambda row: row and not _BYLINE.match(row), text_lines))
    byline = next((line for line in text_lines if _BYLINE.match(line)), None)
    if byline is None:
        return Metadata(title=" ".join(title) or None)
    lines_below = dropwhile(lambda row: not row, text_lines[text_lines.index(byline) + 1 :])
    author_lines = [_BYLINE.sub("", byline, count=1), *takewhile(bool, lines_below)]
    authors = filter(_AUTHOR.fullmatch, split_authors("\n".join(author_lines)))
    return Metadata(title=" ".join(title) or None, authors=tuple(authors))


def split_authors(names: str) -> list[str]:
    """Returns the names in a list on a title page."""
    return list(filter(None, _AND.split(names)))


def read_script(path: Path, encoding: str | None) -> Decoded:
    """Reads the text of a script. Raises ImportFailed."""
    decoded = read_text(path, encoding)
    if len(decoded.text) > _SIZE_LIMIT:
        raise ImportFailed(Problem(path, None, "larger than 4 MB, which no script is"))
    return decoded


def omit_runs(runs: Runs, reason: str) -> list[ScriptRun]:
    """Returns runs that are left out, for a reason unless they state their own."""
    return [replace(run, omission_reason=run.omission_reason or reason) for run in runs]


def omitted_item(text: str, reason: str, source: str) -> ScriptItem:
    """Returns an item for text that is left out, with the reason."""
    return ScriptItem("omitted", [ScriptRun(text, omission_reason=reason)], source)


def read_items(
    path: Path,
    script_items: Sequence[ScriptItem],
    metadata: Metadata,
    source_text: str,
    remarks: Iterable[str | None],
    choices: Choices,
) -> Book:
    """Returns the book in the items of a script, whose source has the letters of `source_text`.

    Raises ImportFailed, SlowPattern.
    """
    root, script_remarks = write_script(script_items)
    pages = Pages(
        [SourcePage(path.name, root)],
        metadata,
        rules=SCRIPT,
        is_script=True,
        characters=_expected_characters(root, source_text),
        remarks=[*filter(None, remarks), *script_remarks],
    )
    return read_pages(path, pages, choices)


def write_script(script_items: Sequence[ScriptItem]) -> tuple[etree._Element, list[str]]:
    """Returns the document of a script, and remarks."""
    writer = _ScriptWriter()
    chapters = _chapter_starts(script_items)
    for number, script_item in enumerate(script_items):
        writer.write(script_item, number in chapters)
    return writer.root, list(writer.remarks())


def _expected_characters(root: etree._Element, source: str) -> int:
    """Returns the visible characters that a document should have by the letters of its source.

    Compares letters and digits alone, since the markup of a source, which is not in the document,
    is made of symbols.
    """
    texts = "".join(root.itertext())
    count, source_count = (sum(map(str.isalnum, strip_invisible(text))) for text in (texts, source))
    return count_characters(texts) + source_count - count


# -- chapters --------------------------------------------------------------------------------------


def _chapter_starts(script_items: Sequence[ScriptItem]) -> frozenset[int]:
    """Returns the indices of items that begin chapters.

    These are the sections of the highest level with more than one, else the printed acts.
    """
    sections: dict[int, list[int]] = {}
    for number, script_item in enumerate(script_items):
        if script_item.kind == "section":
            sections.setdefault(script_item.level, []).append(number)
    for _, numbers in sorted(sections.items()):
        if len(numbers) > 1:
            return frozenset(numbers)
    acts = [number for number, script_item in enumerate(script_items) if _is_act(script_item)]
    is_counted = any(parse_numbering(script_items[number].text) for number in acts)
    return frozenset(acts if len(acts) > 1 and is_counted else ())


def _is_act(script_item: ScriptItem) -> bool:
    """Returns whether an element is the heading of an act, such as `ACT ONE` or `TEASER`."""
    text = script_item.text.strip(" .:—–-")
    is_displayed = script_item.kind in ("centred", "scene") or (
        script_item.kind == "action" and text.isupper()
    )
    if not is_displayed or len(script_item.text) > _MAX_NAME_CHARACTERS:
        return False
    heading = parse_numbering(text)
    is_counted = (
        heading is not None
        and heading.value is not None
        and heading.word.casefold() in _ACT_WORDS
        and bool(heading.mark or not heading.title)
    )
    return is_counted or bool(_ACT_NAME.fullmatch(text))


# -- writing ---------------------------------------------------------------------------------------

_CLASSES = {"sung": stage.NARRATED, "action": "direction", "centred": "direction"}


class _ScriptWriter:
    """Writes items as elements of a document."""

    def __init__(self) -> None:
        self.root = etree.Element("html")
        self.body = etree.SubElement(self.root, "body")
        self.dual_count = 0
        self.lowered_heading: tuple[str, str] | None = None

    def remarks(self) -> Iterable[str]:
        """Yields remarks on what a listener should know."""
        if self.dual_count:
            phrase = "speeches are" if self.dual_count > 1 else "speech is"
            yield f"{self.dual_count} {phrase} said after the one that the script sets beside it."
        if self.lowered_heading:
            original, lowered = self.lowered_heading
            yield (
                "Headings of scenes are read by the narrator, in ordinary letters: "
                f"“{original}” as "
                f"“{lowered}”. What `Int.` and `Ext.` sound like, `lexicon` in book.yaml can say."
            )

    def write(self, script_item: ScriptItem, is_chapter: bool) -> None:
        """Appends the elements of an item."""
        if is_chapter:
            plain_runs = [replace(run, is_italic=False, is_bold=False) for run in script_item.runs]
            self._write_paragraph(script_item, _lower_capitals(plain_runs), tag="h1")
        elif script_item.kind == "section":
            reason = "heading of an outline, which is not printed"
            self._write_paragraph(script_item, omit_runs(script_item.runs, reason))
        elif script_item.kind == "scene":
            etree.SubElement(self.body, "hr")
            runs = _lower_capitals(script_item.runs)
            if self.lowered_heading is None and text_of(runs) != script_item.text:
                self.lowered_heading = script_item.text, text_of(runs)
            self._write_paragraph(script_item, runs, stage.NARRATED)
        elif script_item.kind == "break":
            etree.SubElement(self.body, "hr")
        elif script_item.kind == "speech":
            self._write_speech(script_item)
        else:
            css_class = _CLASSES.get(script_item.kind, "")
            self._write_paragraph(script_item, script_item.runs, css_class)

    def _write_speech(self, script_item: ScriptItem) -> None:
        """Writes the name, the parentheticals and the paragraphs of a speech."""
        name, extensions, asides = _parse_name_line(script_item.text)
        label = in_ordinary_case(name).strip(" .")
        may_be_label = any(map(str.isalnum, label)) and len(name) <= _MAX_NAME_CHARACTERS
        has_dialogue = any(text_of(part.runs) and not part.is_aside for part in script_item.parts)
        if not has_dialogue or not may_be_label:
            for runs in (script_item.runs, *(part.runs for part in script_item.parts)):
                self._write_paragraph(script_item, runs, "direction")
            return
        self.dual_count += script_item.is_dual
        name_runs = [
            ScriptRun(name),
            *(ScriptRun(f" {text}", omission_reason=EXTENSION_REASON) for text in extensions),
            *(run for run in script_item.runs if run.omission_reason is not None),
        ]
        self._write_paragraph(script_item, name_runs, "speaker")
        is_styled = False
        for text in asides:
            runs = [ScriptRun(lower_capitals(text, False))]
            is_styled = self._write_parenthetical(script_item, runs, is_styled)
        parts = _rejoin_parts(script_item.parts)
        for number, part in enumerate(parts):
            if part.is_aside:
                is_last = all(following.is_aside for following in parts[number:])
                is_styled = self._write_parenthetical(script_item, part.runs, is_styled or is_last)
            else:
                self._write_paragraph(script_item, part.runs)
                is_styled = False

    def _write_parenthetical(self, script_item: ScriptItem, runs: Runs, is_styled: bool) -> bool:
        """Writes a parenthetical, as the style of the following text if that has none yet.

        Otherwise it is left out. Returns whether the following text has a style.
        """
        text = text_of(runs)
        if not is_styled and not is_extension(text) and manner_of_speaking(text) is not None:
            self._write_paragraph(script_item, runs, "direction")
            return True
        reason = EXTENSION_REASON if is_extension(text) else PARENTHETICAL_REASON
        self._write_paragraph(script_item, omit_runs(runs, reason))
        return is_styled

    def _write_paragraph(
        self, script_item: ScriptItem, runs: Runs, css_class: str = "", tag: str = "p"
    ) -> None:
        """Appends an element of this tag and class with the runs and the source of an item."""
        element = etree.SubElement(self.body, tag)
        element.set(SOURCE_ATTRIBUTE, script_item.source)
        if css_class:
            element.set("class", css_class)
        for run in runs:
            _append_run(element, run)


def _parse_name_line(text: str) -> tuple[str, list[str], list[str]]:
    """Returns a speaker's name, its extensions, such as `(V.O.)`, and other texts after it."""
    name, bracket, remainder = text.partition("(")
    brackets = [" ".join(text.split()) for text in _BRACKETED.findall(bracket + remainder)]
    trailing_text = _BRACKETED.sub("", bracket + remainder).strip()
    extensions = list(filter(is_extension, brackets))
    asides = [text for text in (*brackets, trailing_text) if text and text not in extensions]
    return name.strip(), extensions, asides


def _rejoin_parts(parts: Sequence[SpeechPart]) -> list[SpeechPart]:
    """Joins the parts of a speech that continue a sentence or a parenthetical."""
    joined_parts: list[SpeechPart] = []
    for part in parts:
        previous = joined_parts[-1] if joined_parts else None
        previous_text = text_of(previous.runs) if previous else ""
        if part.is_aside:
            is_continuation = ")" not in previous_text
        else:
            is_within_sentence = previous_text[-1:] not in ".!?…"
            is_continuation = is_within_sentence and begins_mid_sentence(text_of(part.runs))
        if previous and part.is_aside == previous.is_aside and is_continuation:
            runs = [*previous.runs, ScriptRun(" "), *part.runs]
            joined_parts[-1] = SpeechPart(runs, part.is_aside)
        else:
            joined_parts.append(part)
    return joined_parts


def begins_mid_sentence(text: str) -> bool:
    """Returns whether a text begins within a sentence: in lower case, perhaps after dashes."""
    return text.lstrip(" -–—….'’")[:1].islower()


def _lower_capitals(runs: Runs) -> list[ScriptRun]:
    """Converts a heading that is all in capitals to ordinary case."""
    if not text_of(runs).isupper():
        return list(runs)
    lowered_runs: list[ScriptRun] = []
    for run in runs:
        is_first = not any(run.omission_reason is None for run in lowered_runs)
        text = run.text if run.omission_reason else lower_capitals(run.text, is_first)
        lowered_runs.append(replace(run, text=text))
    return lowered_runs


def _append_run(element: etree._Element, run: ScriptRun) -> None:
    """Appends a run to an element, within elements for its style."""
    text = remove_forbidden(run.text)
    if run.omission_reason is not None:
        span = etree.SubElement(element, "span")
        span.text = text
        span.set(OMISSION_ATTRIBUTE, run.omission_reason)
        return
    innermost = element
    for name in ("em",) * run.is_italic + ("strong",) * run.is_bold:
        innermost = etree.SubElement(innermost, name)
    for number, line in enumerate(text.split("\n")):
        if number:
            etree.SubElement(innermost, "br")
        append_text(innermost, line)
