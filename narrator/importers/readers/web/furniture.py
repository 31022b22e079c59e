"""What is on a page of HTML that is not the text, marked as such.

Menus, forms, comments, what browsers do not show; running heads, comments and tracked deletions of
word processors; preface of an archive of stories, notice of a library. Marks elements with
`elements.LEFT` and changes no word. What holds most of a page is never furniture.
"""

from __future__ import annotations

import re

from lxml import etree

from narrator.importers import matter
from narrator.importers.book import count_characters, names
from narrator.importers.readers.archive import types_of
from narrator.importers.readers.elements import LEFT, name_of
from narrator.importers.readers.references import note_targets

_MENU = "menu or tool of a web page"
_ASIDE = "beside the text of a web page"
_OUTSIDE = "outside of the text of a web page"
_COMMENT = "comment"
_LISTED = "table of contents"
_EDGE = "header or footer of a page"
_TAGS = {
    "form": _MENU, "button": _MENU, "select": _MENU, "textarea": _MENU, "dialog": _MENU,
    "noscript": "for browsers without scripts", "aside": _ASIDE, "footer": _ASIDE,
}  # fmt: skip
_ROLES = {
    "dialog": _MENU, "alertdialog": _MENU, "search": _MENU, "banner": _ASIDE, "menu": _MENU,
    "menubar": _MENU, "toolbar": _MENU, "tablist": _MENU, "complementary": _ASIDE,
}  # fmt: skip
_NAMED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
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
        (r"entry-(meta|footer)|post-(meta|footer)|posted-on|post-?date", _ASIDE),
        (r"cookie[\w-]*|gdpr\w*|newsletter[\w-]*|subscribe[\w-]*|advert[\w-]*|adsbygoogle", _MENU),
        (r"side-?bar|related(-?(posts|articles|stories))?|jp-relatedposts", _ASIDE),
        (r"noprint|ws-noexport|mw-editsection|printfooter|catlinks|mw-navigation|mw-panel|"
         r"headertemplate|wst-header|ws-header|license(container)?", _OUTSIDE),
        (r"MsoCommentText|MsoCommentReference|msocomtxt|msocomanch\w*", _COMMENT),
        (r"MsoToc\d|MsoToc(Heading)?", _LISTED),
        (r"MsoHeader|MsoFooter", _EDGE),
    )
)  # fmt: skip
"""What classes and ids of web pages, and of Word, say."""

_WORD_COMMENT = re.compile(r"mso-element:\s*comment|mso-comment-", re.IGNORECASE)
_GOOGLE_COMMENT = re.compile(r"#?cmnt(_ref)?\d+")
_OFFICE_TITLES = names("header footer")
_HIDDEN = _NAMED[2:3]
_INLINE = names("h1 h2 h3 h4 h5 h6 a em i b strong")
"""What may be called `comment` or `share` and still be words of the text."""
_NUMBERS = re.compile(r"[\s\dIVXLCivxlc.,:;…·|—–-]*")
_LINE_CHARACTERS = 300
_HEADINGS = tuple(f"{{*}}h{level}" for level in range(1, 7))
_TITLE_CLASS = re.compile(r"(?<![\w-])(Mso)?(Sub)?title(?![\w-])", re.IGNORECASE)
_START = re.compile(r"\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG EBOOK", re.IGNORECASE)
_END = re.compile(r"\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG EBOOK", re.IGNORECASE)
_NOTICE = "notice of Project Gutenberg"
_CONTENTS = re.compile(r"(Table of Contents|Inhaltsverzeichnis)\d*|toc", re.IGNORECASE)


def leave_furniture(root: etree._Element, path: str) -> None:
    """Mark what is not the text of a page."""
    body = next(root.iter("{*}body"), root)
    page = _WebPage(body, path)
    page.leave_of_programs()
    page.leave_notes()
    page.leave_titles()
    page.leave_of_archives()
    page.leave_named()
    page.leave_contents()
    page.keep_main()
    page.leave_notice()


class _WebPage:
    """The body of a page, whose furniture is marked."""

    def __init__(self, body: etree._Element, path: str) -> None:
        self.body = body
        self.sizes = _sizes(body)
        self.most = self.sizes[body] / 2
        self.path = path
        self.is_word = body.find(".//{*}p[@class='MsoNormal']") is not None
        self.is_google = "doc-content" in body.get("class", "").split()
        self.notes: set[etree._Element] = set()
        """What note references lead to."""

    def leave(self, element: etree._Element, why: str) -> None:
        """Mark an element, unless it holds most of the page or notes."""
        if self.sizes.get(element, 0) <= self.most and not self._holds_notes(element):
            element.set(LEFT, why)

    def _holds_notes(self, element: etree._Element) -> bool:
        return any(one in self.notes for one in element.iter("{*}*")) if self.notes else False

    def leave_named(self) -> None:
        """What elements, roles, classes and ids say that is no text."""
        for element in self.body.iter("{*}*"):
            if element is self.body or element.get(LEFT) is not None:
                continue
            if why := self._why(element):
                self.leave(element, why)

    def _why(self, element: etree._Element) -> str | None:
        name, types = name_of(element), types_of(element).split()
        if "note" in " ".join(types):
            return None
        if name == "header":
            return None if _within_text(element) else _ASIDE if _is_menu(element) else "title page"
        told = None if name == "footer" and _within_text(element) else _TAGS.get(name)
        if found := told or next((_ROLES[t] for t in types if t in _ROLES), None):
            return found
        said = f"{element.get('class', '')} {element.get('id', '')}"
        patterns = _HIDDEN if name in _INLINE else _NAMED
        return next((why for pattern, why in patterns if pattern.search(said)), None)

    def keep_main(self) -> None:
        """Mark what stands beside the element that says that it is the text, if one does."""
        chosen = self._main() or self._outermost("article")
        if not chosen or sum(self.sizes[e] for e in chosen) <= self.most:
            return
        around = {above for one in chosen for above in one.iterancestors()}
        for above in around & self.sizes.keys():
            for child in above.iterchildren("{*}*"):
                if child not in around and child not in chosen and child.get(LEFT) is None:
                    self.leave(child, _OUTSIDE)

    def _main(self) -> list[etree._Element]:
        """The one element that says that it is the text."""
        found = self._outermost("main")
        found += [e for e in self.body.iter("{*}*") if e.get("role") == "main" and e not in found]
        return found if len(found) == 1 else []

    def _outermost(self, name: str) -> list[etree._Element]:
        return [e for e in self.body.iter(f"{{*}}{name}") if not _within(e, name)]

    def leave_of_programs(self) -> None:
        """What Word, Google Docs and LibreOffice write that is no text."""
        for element in self.body.iter("{*}*"):
            if element.get(LEFT) is not None:
                continue
            name = name_of(element)
            if why := self._why_of_programs(element, name):
                self.leave(element, why)
            elif name == "a" and _GOOGLE_COMMENT.fullmatch(element.get("href", "")):
                self.leave(_box_of(element), _COMMENT)
            elif name == "img" and _is_rule(element):
                element.set("class", "separator")

    def _why_of_programs(self, element: etree._Element, name: str) -> str | None:
        if _WORD_COMMENT.search(element.get("style", "")):
            return _COMMENT
        if name == "del":
            return "deleted text" if self.is_word else None
        if name != "div":
            return None
        is_edge = self.is_google and element.getparent() is self.body
        if is_edge or element.get("title") in _OFFICE_TITLES:
            return _EDGE
        return _LISTED if _CONTENTS.fullmatch(element.get("id", "")) else None

    def leave_notes(self) -> None:
        """Notes of several paragraphs in a box of their own, as word processors write them."""
        ids = {fragment for _, fragment in note_targets(self.body, self.path, set())}
        said = ((one, {one.get("id"), one.get("name")}) for one in self.body.iter("{*}*"))
        self.notes = {one for one, names in said if ids & names}
        for one in self.notes:
            box = None if one.get(LEFT) else _box_begun_by(one)
            if box is None or _headed(box):
                continue
            if sum(other in self.notes for other in box.iter("{*}*")) == 1:
                box.set(LEFT, "note")

    def leave_titles(self) -> None:
        """The title above the text, where its style says that it is no heading but the title."""
        for element in self.body.iter("{*}p", *_HEADINGS):
            if name_of(element) != "p":
                return
            if _TITLE_CLASS.search(element.get("class", "")):
                self.leave(element, "title page")

    def leave_contents(self) -> None:
        """Lines that are links into the page, with numbers of chapters or pages beside them."""
        lines = [e for e in self.body.iter("{*}p", "{*}li", "{*}tr") if _is_of_contents(e)]
        for line in lines if len(lines) > 1 else ():
            self.leave(line, _LISTED)
        if any(one.get(LEFT) == _LISTED for one in self.body.iter("{*}*")):
            for heading in self.body.iter(*_HEADINGS):
                if matter.kind_of_title("".join(heading.itertext())) == "toc":
                    self.leave(heading, _LISTED)

    def leave_of_archives(self) -> None:
        """What the Archive of Our Own writes around a story: its facts, notes of its author."""
        if self.body.find(".//{*}dl[@class='tags']") is None:
            return
        for element in self.body.iter("{*}div"):
            if element.get("id") in ("preface", "afterword"):
                self.leave(element, "facts about the work and notes of its author")
            elif "meta" in element.get("class", "").split():
                for child in element.iterchildren("{*}*"):
                    if name_of(child) not in ("h1", "h2", "h3"):
                        self.leave(child, "notes of the author")

    def leave_notice(self) -> None:
        """The notice of Project Gutenberg where it is plain text, as in older editions."""
        for element in self.body.iter("{*}p", "{*}pre", "{*}div", "{*}span"):
            text = "".join(element.itertext())
            if len(text) > 40_000 or self.sizes.get(element, 0) > self.most:
                continue
            if _START.search(text):
                _mark_beside(self.body, element, before=True)
            elif _END.search(text):
                _mark_beside(self.body, element, before=False)
                return


def _box_of(link: etree._Element) -> etree._Element:
    """What holds the comment of Google Docs that a link leads back from, or the link itself."""
    line = link.getparent()
    box = None if line is None or name_of(line) != "p" else line.getparent()
    is_reference = "_ref" in link.get("id", "_ref")
    return link if is_reference or box is None or name_of(box) != "div" else box


def _box_begun_by(one: etree._Element) -> etree._Element | None:
    """The box whose first paragraph is an element, or holds it."""
    first = next((e for e in (one, *one.iterancestors()) if name_of(e) == "p"), None)
    box = None if first is None else first.getparent()
    return box if box is not None and name_of(box) == "div" and box[0] is first else None


def _is_of_contents(line: etree._Element) -> bool:
    """Whether a line is one of a table of contents."""
    links = list(line.iter("{*}a"))
    if not links or not all(link.get("href", "#").startswith("#") for link in links):
        return False
    said = ["".join(link.itertext()) for link in links if link.get("href")]
    if not any(sum(map(str.isalpha, text)) > 1 for text in said):
        return False
    rest = "".join(line.itertext())
    if len(rest) > _LINE_CHARACTERS:
        return False
    for text in said:
        rest = rest.replace(text, "", 1)
    return _NUMBERS.fullmatch(rest) is not None


def _is_rule(image: etree._Element) -> bool:
    """Whether a picture is a line across the page, as LibreOffice writes one."""
    width, height = (image.get(key, "") for key in ("width", "height"))
    return width.isdecimal() and height.isdecimal() and int(width) >= 100 and int(height) <= 4


def _headed(box: etree._Element) -> bool:
    return next(box.iter(*_HEADINGS), None) is not None


def _mark_beside(body: etree._Element, element: etree._Element, before: bool) -> None:
    """Mark an element and all that stands before or after it."""
    while element is not body:
        element.set(LEFT, _NOTICE) if not _is_around(element) else None
        for other in element.itersiblings("{*}*", preceding=before):
            other.set(LEFT, _NOTICE)
        above = element.getparent()
        assert above is not None
        element = above


def _is_around(element: etree._Element) -> bool:
    """Whether something in an element is marked already, so that it is more than the notice."""
    return any(one is not element and one.get(LEFT) == _NOTICE for one in element.iter("{*}*"))


def _sizes(body: etree._Element) -> dict[etree._Element, int]:
    """Visible characters in each element."""
    sizes: dict[etree._Element, int] = {}
    for element in reversed(list(body.iter("{*}*"))):
        if name_of(element) in ("script", "style", "template"):
            sizes[element] = 0
            continue
        inside = sum(sizes.get(child, 0) + count_characters(child.tail or "") for child in element)
        sizes[element] = inside + count_characters(element.text or "")
    return sizes


def _within(element: etree._Element, name: str) -> bool:
    return any(name_of(above) == name for above in element.iterancestors())


def _within_text(element: etree._Element) -> bool:
    return any(
        name_of(above) in ("article", "main", "section") for above in element.iterancestors()
    )


def _is_menu(header: etree._Element) -> bool:
    """Whether the head of a page holds what leads to other pages, not only its title."""
    return next(header.iter("{*}nav", "{*}form", "{*}button", "{*}ul", "{*}img"), None) is not None
