"""Writes the paragraphs, notes, pictures and list items of word processor files as XHTML.

Every reader of such a format hands its text to a `TextWriter`: words with their properties, and
ends of paragraphs with theirs. The writer records the look of each paragraph, by which headings
and title pages are detected (`classify.py`). Knows no source format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lxml import etree

from manuscripts.book import count_characters
from manuscripts.readers.elements import (
    LANGUAGE_ATTRIBUTE,
    OMISSION_ATTRIBUTE,
    append_text,
    last_child,
)
from manuscripts.readers.markup import remove_forbidden
from manuscripts.readers.office.looks import CONTENTS, ParagraphLook
from manuscripts.readers.office.styles import NO_PROPERTIES, Properties, look_of

MAX_ELEMENTS = 300_000
"""Limit on the elements of a source. A long novel has 100,000."""
_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
_ENCLOSING = ("td", "tr", "table", "li", "ul", "ol")
"""Elements below which notes and text boxes are placed, rather than in them."""


def clean_text(text: str) -> str:
    """Joins surrogate pairs, and removes characters that XML does not allow."""
    return remove_forbidden(
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


@dataclass(slots=True)
class Text:
    """A text being written: the main text, a note, a text box, a header."""

    container: etree._Element
    reason: str = ""
    """Reason to leave the text out; "" if it is read."""
    paragraph: etree._Element | None = None
    """The open paragraph."""
    inline: etree._Element | None = None
    """Element that takes the next words: the open paragraph, or a link in it."""
    words: list[str] = field(default_factory=list)
    """Words of the current run, which are not written yet."""
    run_format: tuple[Properties, str] = (NO_PROPERTIES, "")
    """Properties of the current run, and the reason to leave it out or ""."""
    runs: list[tuple[int, Properties]] = field(default_factory=list)
    """Letter count and properties of the paragraph's runs, without those that are left out."""
    omission_reasons: set[str] = field(default_factory=set)
    """Reasons to leave out its runs; "" for those that are read."""
    floats: list[etree._Element] = field(default_factory=list)
    """Notes and text boxes anchored in the open paragraph."""
    marker: str = ""
    """List marker before the open paragraph, in formats that write it as text."""
    starts_page: bool = False
    """True if the next paragraph begins a page."""
    breaks_page_after: bool = False
    """True if a page ends with the open paragraph."""
    row: etree._Element | None = None
    """The open table row, in formats without an element for it."""
    cell: etree._Element | None = None


class TextWriter:
    """Writes a document from its beginning to its end."""

    def __init__(self) -> None:
        self.body = etree.Element("body")
        self.looks: dict[etree._Element, ParagraphLook] = {}
        self.texts = [Text(self.body)]
        """Texts that are being written, the innermost last."""
        self.characters = 0
        """Number of visible characters written."""
        self.added_characters = 0
        """Number of these that are not in the source: numbers of notes and headings."""
        self.piece_count = 0
        """Number of paragraphs and runs written."""
        self._languages: Counter[str | None] = Counter()
        """Letter count of each language; None for unmarked text."""
        self._note_count = 0

    @property
    def text(self) -> Text:
        """The text that is being written."""
        return self.texts[-1]

    # -- words -------------------------------------------------------------------------------------

    def add_text(self, words: str, properties: Properties, reason: str = "") -> None:
        """Adds words to the open paragraph; `reason` is "" for those that are read."""
        if self.text.run_format != (properties, reason):
            self.flush()
            self.text.run_format = properties, reason
        self.text.words.append(words)

    def flush(self) -> etree._Element:
        """Writes the current run; returns the element that takes what follows."""
        text = self.text
        if text.paragraph is None or text.inline is None:
            text.paragraph = text.inline = etree.Element("p")
        words = clean_text("".join(text.words))
        text.words.clear()
        if not words:
            return text.inline
        self.piece_count += 1
        properties, reason = text.run_format
        if letter_count := count_characters(words):
            self.characters += letter_count
            text.omission_reasons.add(reason)
            if not reason:
                self._languages[properties.language] += letter_count
                text.runs.append((letter_count, properties))
        append_text(_append_run(text.inline, properties, reason), words)
        return text.inline

    def add_element(
        self, tag: str, attributes: Mapping[str, str] = _NO_ATTRIBUTES
    ) -> etree._Element:
        """Adds an element without words to the open paragraph."""
        return etree.SubElement(self.flush(), tag, dict(attributes))

    def add_break(self) -> None:
        """Adds a line break."""
        self.add_element("br")

    def add_picture(self, alt: str) -> None:
        """Adds a picture with an alternative text."""
        alt = clean_text(alt)
        self.characters += count_characters(alt)
        self.add_element("img", {"alt": alt})

    def add_omitted(self, words: str, reason: str) -> None:
        """Adds words that are left out, on one line and apart from others."""
        self.add_text(" ".join(words.split()), NO_PROPERTIES, reason)
        self.flush()

    def open_link(self, href: str) -> None:
        """Begins a link around the words that follow."""
        self.text.inline = self.add_element("a", {"href": href})

    def close_link(self) -> None:
        self.text.inline = self.flush().getparent()

    def break_page(self) -> None:
        """Begins a page: with the open paragraph if it has no words, else with the next."""
        self.flush()
        if self.text.runs:
            self.text.breaks_page_after = True
        else:
            self.text.starts_page = True

    # -- texts outside of the main text ------------------------------------------------------------

    def open_note(self, mark: str = "") -> None:
        """Begins a note, with a reference to it; without a mark, the reference is its number."""
        self._note_count += 1
        note_id = f"note-{self._note_count}"
        if not mark:
            mark = str(self._note_count)
            self.added_characters += len(mark)
        self.characters += count_characters(mark)
        link = self.add_element("a", {"href": f"#{note_id}", "class": "noteref"})
        etree.SubElement(link, "sup").text = mark
        self.open_float("aside", {"id": note_id, "class": "footnote"})

    def open_float(self, tag: str, attributes: Mapping[str, str] = _NO_ATTRIBUTES) -> None:
        """Begins a text that is placed below the open paragraph, in an `aside` or a `div`."""
        self.flush()
        element = etree.Element(tag, dict(attributes))
        self.text.floats.append(element)
        self.texts.append(Text(element))

    def close_text(self) -> Text:
        """Ends the innermost text, and returns it."""
        self.close_paragraph()
        return self.texts.pop()

    # -- paragraphs --------------------------------------------------------------------------------

    def end_paragraph(
        self, parent: etree._Element, properties: Properties, omission_reason: str = ""
    ) -> None:
        """Ends the open paragraph, which may be empty, and places it at the end of `parent`."""
        self.flush()
        text = self.text
        paragraph = text.paragraph
        assert paragraph is not None
        self.piece_count += 1
        if not omission_reason and len(text.omission_reasons) == 1:
            (omission_reason,) = text.omission_reasons
        if properties.role == "toc":
            omission_reason = omission_reason or CONTENTS
        look = look_of(properties, text.runs, text.starts_page or bool(properties.starts_page))
        self.looks[paragraph] = replace(look, omission_reason=omission_reason)
        parent.append(paragraph)
        self._place_floats(parent)
        text.starts_page, text.breaks_page_after = text.breaks_page_after, False
        text.paragraph = text.inline = None
        text.runs.clear()
        text.omission_reasons.clear()
        text.marker = ""

    def close_paragraph(self, parent: etree._Element | None = None) -> None:
        """Ends the open paragraph, if there is one, as one without properties.

        `parent` is where it is placed, by default at the end of its text.
        """
        text = self.text
        if text.paragraph is not None or text.words:
            self.end_paragraph(text.container if parent is None else parent, NO_PROPERTIES)

    def _place_floats(self, parent: etree._Element) -> None:
        """Places notes and text boxes below the open paragraph, and below its table or list."""
        place = parent
        below: etree._Element | None = None
        while place.tag in _ENCLOSING and (outer := place.getparent()) is not None:
            place, below = outer, place
        for element in self.text.floats:
            is_box = element.tag == "div"
            if is_box and not (
                element.find(".//img") is not None or "".join(element.itertext()).strip()
            ):
                continue
            for placed in list(element) if is_box else [element]:
                if below is None:
                    place.append(placed)
                else:
                    below.addnext(placed)
                    below = placed
        self.text.floats.clear()

    def prepend(self, words: str, line_break: bool = False) -> None:
        """Adds words before the open paragraph's, on a line of their own if `line_break`."""
        self.flush()
        paragraph = self.text.paragraph
        assert paragraph is not None
        self.characters += count_characters(words)
        self.added_characters += count_characters(words)
        if line_break:
            gap = etree.Element("br")
            gap.tail, paragraph.text = paragraph.text, words
            paragraph.insert(0, gap)
        else:
            paragraph.text = f"{words} {paragraph.text or ''}"

    # -- the whole ---------------------------------------------------------------------------------

    def finish(self, language: str | None, default_language: str | None) -> etree._Element:
        """Returns the page of the main text, with only words in other languages marked.

        Its language is `language`, else that of most words, else `default_language`.
        """
        while len(self.texts) > 1:
            self.close_text()
        self.close_paragraph()
        main_languages = self._languages.most_common(1)
        language = language or (main_languages[0][0] if main_languages else None)
        language = language or default_language
        for span in self.body.iter("span"):
            if language and span.get(LANGUAGE_ATTRIBUTE) == language:
                del span.attrib[LANGUAGE_ATTRIBUTE]
        root = etree.Element("html")
        root.append(self.body)
        if language:
            root.set(LANGUAGE_ATTRIBUTE, language)
        return root


def _append_run(parent: etree._Element, properties: Properties, reason: str) -> etree._Element:
    """Appends the elements of a run's markup; returns the innermost, or `parent` for none."""
    if reason or properties.language:
        parent = etree.SubElement(parent, "span")
        attribute = OMISSION_ATTRIBUTE if reason else LANGUAGE_ATTRIBUTE
        parent.set(attribute, reason or properties.language or "")
    tags = (
        "strong" * bool(properties.bold),
        "em" * bool(properties.italic or (properties.underline and not properties.link)),
        properties.raised or "",
    )
    for tag in filter(None, tags):
        parent = etree.SubElement(parent, tag)
    return parent


def append_item(
    parent: etree._Element, list_tag: str, depth: int = 0, start: str = ""
) -> etree._Element:
    """Appends an item to the list at the end of `parent`, or to a new one; returns the item.

    `depth` is the number of lists around the item's own.
    """
    for _ in range(depth):
        outer_list = last_child(parent)
        if outer_list is None or outer_list.tag not in ("ul", "ol"):
            outer_list = etree.SubElement(parent, list_tag)
        outer_item = last_child(outer_list)
        parent = etree.SubElement(outer_list, "li") if outer_item is None else outer_item
    list_element = last_child(parent)
    if list_element is None or list_element.tag != list_tag:
        list_element = etree.SubElement(parent, list_tag, {"start": start} if start else {})
    return etree.SubElement(list_element, "li")
