"""Detects boilerplate of HTML pages, which is not part of the text.

Menus, forms, comments, invisible elements; running heads, comments and tracked deletions of word
processors; prefaces of story archives, notices of libraries. Marks elements as left out
and changes no text. An element with most of the page's text is never boilerplate.
"""

from __future__ import annotations

import re

from lxml import etree

from manuscripts import matter
from manuscripts.book import count_characters, word_set
from manuscripts.readers.elements import (
    HEADINGS,
    OMISSION_ATTRIBUTE,
    body_of,
    element_name,
    types_of,
)
from manuscripts.readers.facts import GUTENBERG_END, GUTENBERG_NOTICE, GUTENBERG_START
from manuscripts.readers.references import note_targets

_MENU = "menu or tool of a web page"
_BESIDE_TEXT = "beside the text of a web page"
_OUTSIDE_TEXT = "outside of the text of a web page"
_COMMENT = "comment"
_CONTENTS = "table of contents"
_HEADER_OR_FOOTER = "header or footer of a page"
_TAG_REASONS = {
    "form": _MENU, "button": _MENU, "select": _MENU, "textarea": _MENU, "dialog": _MENU,
    "noscript": "for browsers without scripts", "aside": _BESIDE_TEXT, "footer": _BESIDE_TEXT,
}  # fmt: skip
_ROLE_REASONS = {
    "dialog": _MENU, "alertdialog": _MENU, "search": _MENU, "banner": _BESIDE_TEXT, "menu": _MENU,
    "menubar": _MENU, "toolbar": _MENU, "tablist": _MENU, "complementary": _BESIDE_TEXT,
}  # fmt: skip
_CLASS_REASONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE), why)
    for pattern, why in (
        (r"comments?|comments?-?(list|section|area|thread|form|respond)|disqus[\w-]*|respond",
         "comments of readers"),
        (r"share|shar(e|ing)-?(links?|buttons?|this)|sharedaddy|addtoany\w*|social(-[\w-]+)?",
         _MENU),
        (r"skip-?(link|nav|to[\w-]*)s?|screen-reader-text|sr-only|visually-?hidden|mw-jump-link",
         _MENU),
        (r"vector-(dropdown|page-toolbar|header[\w-]*|menu[\w-]*)", _MENU),
        (r"bread-?crumbs?(-[\w-]+)?|pagination|post-navigation|nav-?links|site-(header|footer)|"
         r"navbar|navbox|navigation-?(bar|menu)?|menu(-[\w-]+)?", _MENU),
        (r"entry-(meta|footer)|post-(meta|footer)|posted-on|post-?date", _BESIDE_TEXT),
        (r"cookie[\w-]*|gdpr\w*|newsletter[\w-]*|subscribe[\w-]*|advert[\w-]*|adsbygoogle", _MENU),
        (r"side-?bar|related(-?(posts|articles|stories))?|jp-relatedposts", _BESIDE_TEXT),
        (r"noprint|ws-noexport|mw-editsection|printfooter|catlinks|mw-navigation|mw-panel|"
         r"headertemplate|wst-header|ws-header|license(container)?", _OUTSIDE_TEXT),
        (r"MsoCommentText|MsoCommentReference|msocomtxt|msocomanch\w*", _COMMENT),
        (r"MsoToc\d|MsoToc(Heading)?", _CONTENTS),
        (r"MsoHeader|MsoFooter", _HEADER_OR_FOOTER),
    )
)  # fmt: skip
"""Patterns of classes and ids, of web pages and of Word, with the reason to leave them out."""

_WORD_COMMENT = re.compile(r"mso-element:\s*comment|mso-comment-", re.IGNORECASE)
_GOOGLE_COMMENT = re.compile(r"#?cmnt(_ref)?\d+")
_EDGE_TITLES = word_set("header footer")
_SHARING_REASONS = _CLASS_REASONS[2:3]
_INLINE = word_set("h1 h2 h3 h4 h5 h6 a em i b strong")
"""Elements that may be called `comment` or `share` and still be part of the text."""
_NUMBERS = re.compile(r"[\s\dIVXLCivxlc.,:;…·|—–-]*")
_MAX_LINE_CHARACTERS = 300
_MAX_NOTICE_CHARACTERS = 40_000
"""Maximum characters of an element with Project Gutenberg's notice, which has 20,000."""
_MIN_RULE_WIDTH, _MAX_RULE_HEIGHT = 100, 4
"""Width and height of a picture of a horizontal rule, in pixels."""
_TITLE_CLASS = re.compile(r"(?<![\w-])(Mso)?(Sub)?title(?![\w-])", re.IGNORECASE)
_CONTENTS_ID = re.compile(r"(Table of Contents|Inhaltsverzeichnis)\d*|toc", re.IGNORECASE)


def omit_boilerplate(root: etree._Element, path: str) -> None:
    """Marks the boilerplate of a page as left out."""
    body = body_of(root)
    page = _WebPage(body, path)
    page.omit_program_additions()
    page.omit_note_boxes()
    page.omit_titles()
    page.omit_archive_notes()
    page.omit_by_name()
    page.omit_contents()
    page.omit_outside_main()
    page.omit_gutenberg_notice()


class _WebPage:
    """Marks boilerplate in the body of a page."""

    def __init__(self, body: etree._Element, path: str) -> None:
        self.body = body
        self.character_counts = _count_characters(body)
        self.max_characters = self.character_counts[body] / 2
        self.path = path
        self.is_word = body.find(".//{*}p[@class='MsoNormal']") is not None
        self.is_google = "doc-content" in body.get("class", "").split()
        self.note_elements: set[etree._Element] = set()
        """Targets of note references."""

    def omit(self, element: etree._Element, reason: str) -> None:
        """Marks an element as left out, unless it contains most of the page or notes."""
        has_notes = self.note_elements and not self.note_elements.isdisjoint(element.iter("{*}*"))
        if self.character_counts.get(element, 0) <= self.max_characters and not has_notes:
            element.set(OMISSION_ATTRIBUTE, reason)

    def omit_by_name(self) -> None:
        """Leaves out boilerplate by element names, roles, classes and ids."""
        for element in self.body.iterdescendants("{*}*"):
            if not _is_marked(element) and (reason := _name_reason(element)):
                self.omit(element, reason)

    def omit_outside_main(self) -> None:
        """Leaves out everything outside of the element declared as the main text, if any."""
        declared = {*self._outermost("main"), *self.body.iterfind(".//{*}*[@role='main']")}
        main_elements = declared if len(declared) == 1 else set(self._outermost("article"))
        if sum(self.character_counts[element] for element in main_elements) <= self.max_characters:
            return
        ancestors = {ancestor for element in main_elements for ancestor in element.iterancestors()}
        for ancestor in ancestors & self.character_counts.keys():
            for child in ancestor.iterchildren("{*}*"):
                if child not in ancestors | main_elements and not _is_marked(child):
                    self.omit(child, _OUTSIDE_TEXT)

    def _outermost(self, name: str) -> list[etree._Element]:
        tag = f"{{*}}{name}"
        elements = self.body.iter(tag)
        return [element for element in elements if next(element.iterancestors(tag), None) is None]

    def omit_program_additions(self) -> None:
        """Leaves out additions of Word, Google Docs and LibreOffice."""
        for element in self.body.iter("{*}*"):
            name = "" if _is_marked(element) else element_name(element)
            if reason := name and self._program_reason(element, name):
                self.omit(element, reason)
            elif name == "a" and _GOOGLE_COMMENT.fullmatch(element.get("href", "")):
                self.omit(_comment_box(element), _COMMENT)
            elif name == "img" and _is_rule(element):
                element.set("class", "separator")

    def _program_reason(self, element: etree._Element, name: str) -> str | None:
        """Returns why an element is an addition of a word processor; None if it is not."""
        if _WORD_COMMENT.search(element.get("style", "")):
            return _COMMENT
        if name == "del":
            return "deleted text" if self.is_word else None
        if name != "div":
            return None
        is_edge = self.is_google and element.getparent() is self.body
        if is_edge or element.get("title") in _EDGE_TITLES:
            return _HEADER_OR_FOOTER
        return _CONTENTS if _CONTENTS_ID.fullmatch(element.get("id", "")) else None

    def omit_note_boxes(self) -> None:
        """Leaves out boxes with a note of several paragraphs, as word processors write them."""
        ids = {fragment for _, fragment in note_targets(self.body, self.path, set())}
        self.note_elements = {
            e for e in self.body.iter("{*}*") if ids & {e.get("id"), e.get("name")}
        }
        for element in self.note_elements:
            paragraph = next((e for e in (element, *element.iterancestors("{*}p"))
                              if element_name(e) == "p"), None)  # fmt: skip
            box = None if paragraph is None else paragraph.getparent()
            if box is None or element_name(box) != "div" or box[0] is not paragraph:
                continue
            note_count = len(self.note_elements.intersection(box.iter("{*}*")))
            if note_count == 1 and next(box.iter(*HEADINGS), None) is None:
                box.set(OMISSION_ATTRIBUTE, "note")

    def omit_titles(self) -> None:
        """Leaves out paragraphs styled as a title above the text."""
        for element in self.body.iter("{*}p", *HEADINGS):
            if element_name(element) != "p":
                return
            if _TITLE_CLASS.search(element.get("class", "")):
                self.omit(element, "title page")

    def omit_contents(self) -> None:
        """Leaves out a table of contents: lines of links into the page, perhaps with numbers."""
        lines = list(filter(_is_contents_line, self.body.iter("{*}p", "{*}li", "{*}tr")))
        for line in lines if len(lines) > 1 else ():
            self.omit(line, _CONTENTS)
        if self.body.find(f".//*[@{OMISSION_ATTRIBUTE}='{_CONTENTS}']") is not None:
            for heading in self.body.iter(*HEADINGS):
                if matter.kind_of_title("".join(heading.itertext())) == "toc":
                    self.omit(heading, _CONTENTS)

    def omit_archive_notes(self) -> None:
        """Leaves out the metadata and notes that the Archive of Our Own adds to a story."""
        if self.body.find(".//{*}dl[@class='tags']") is None:
            return
        for element in self.body.iter("{*}div"):
            if element.get("id") in ("preface", "afterword"):
                self.omit(element, "facts about the work and notes of its author")
            elif "meta" in element.get("class", "").split():
                for child in element.iterchildren("{*}*"):
                    if element_name(child) not in ("h1", "h2", "h3"):
                        self.omit(child, "notes of the author")

    def omit_gutenberg_notice(self) -> None:
        """Leaves out Project Gutenberg's notice where it is plain text, as in older editions."""
        for element in self.body.iter("{*}p", "{*}pre", "{*}div", "{*}span"):
            text = "".join(element.itertext())
            if (
                len(text) > _MAX_NOTICE_CHARACTERS
                or self.character_counts.get(element, 0) > self.max_characters
            ):
                continue
            if GUTENBERG_START.search(text):
                _mark_notice(self.body, element, is_before=True)
            elif GUTENBERG_END.search(text):
                _mark_notice(self.body, element, is_before=False)
                return


def _is_marked(element: etree._Element) -> bool:
    return element.get(OMISSION_ATTRIBUTE) is not None


def _name_reason(element: etree._Element) -> str | None:
    """Returns why an element is boilerplate by name, role, class or id; None if it is not."""
    name, types = element_name(element), types_of(element).split()
    if "note" in " ".join(types):
        return None
    is_within_text = next(element.iterancestors("{*}article", "{*}main", "{*}section"), None)
    if name == "header":
        if is_within_text is not None:
            return None
        # The header of a page may contain navigation, not only its title.
        tools = element.iter("{*}nav", "{*}form", "{*}button", "{*}ul", "{*}img")
        return "title page" if next(tools, None) is None else _BESIDE_TEXT
    tag_name = "" if name == "footer" and is_within_text is not None else name
    reasons = (_TAG_REASONS.get(tag_name), *map(_ROLE_REASONS.get, types))
    if reason := next(filter(None, reasons), None):
        return reason
    class_and_id = f"{element.get('class', '')} {element.get('id', '')}"
    patterns = _SHARING_REASONS if name in _INLINE else _CLASS_REASONS
    return next((reason for pattern, reason in patterns if pattern.search(class_and_id)), None)


def _comment_box(link: etree._Element) -> etree._Element:
    """Returns the box of a Google Docs comment by its back link, or the link itself."""
    line = link.getparent()
    box = None if line is None or element_name(line) != "p" else line.getparent()
    is_reference = "_ref" in link.get("id", "_ref")
    return link if is_reference or box is None or element_name(box) != "div" else box


def _is_contents_line(line: etree._Element) -> bool:
    """Returns whether a line belongs to a table of contents."""
    links = list(line.iter("{*}a"))
    if not links or not all(link.get("href", "#").startswith("#") for link in links):
        return False
    remaining_text = "".join(line.itertext())
    link_texts = ["".join(link.itertext()) for link in links if link.get("href")]
    has_words = any(sum(map(str.isalpha, text)) > 1 for text in link_texts)
    if not has_words or len(remaining_text) > _MAX_LINE_CHARACTERS:
        return False
    for text in link_texts:
        remaining_text = remaining_text.replace(text, "", 1)
    return _NUMBERS.fullmatch(remaining_text) is not None


def _is_rule(image: etree._Element) -> bool:
    """Returns whether a picture is a horizontal rule, as LibreOffice writes it."""
    width, height = (image.get(key, "") for key in ("width", "height"))
    if not (width.isdecimal() and height.isdecimal()):
        return False
    return int(width) >= _MIN_RULE_WIDTH and int(height) <= _MAX_RULE_HEIGHT


def _mark_notice(body: etree._Element, element: etree._Element, is_before: bool) -> None:
    """Marks an element as notice, and everything before or after it."""
    while element is not body:
        # Unless a part of it is marked already: then it is not only the notice.
        if element.find(f".//*[@{OMISSION_ATTRIBUTE}='{GUTENBERG_NOTICE}']") is None:
            element.set(OMISSION_ATTRIBUTE, GUTENBERG_NOTICE)
        for sibling in element.itersiblings("{*}*", preceding=is_before):
            sibling.set(OMISSION_ATTRIBUTE, GUTENBERG_NOTICE)
        parent = element.getparent()
        assert parent is not None
        element = parent


def _count_characters(body: etree._Element) -> dict[etree._Element, int]:
    """Counts the visible characters of each element."""
    sizes: dict[etree._Element, int] = {}
    for element in reversed(list(body.iter("{*}*"))):
        texts = (element.text or "", *(child.tail or "" for child in element))
        size = sum(map(count_characters, texts)) + sum(sizes.get(child, 0) for child in element)
        sizes[element] = 0 if element_name(element) in ("script", "style", "template") else size
    return sizes
