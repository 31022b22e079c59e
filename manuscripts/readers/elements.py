"""Properties of XHTML elements: names, types, classes, styles, and the text in them.

Knows one element and its neighbours, not blocks, and not how a document is walked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from manuscripts.book import count_words, word_set
from textbase.characters import strip_invisible

OMISSION_ATTRIBUTE = "data-narrator-left"
"""Attribute with which readers of other formats mark an element as left out: the reason."""
INCOMPLETE_REASON = "formula without alternative text, whose sentence is incomplete"
SOURCE_ATTRIBUTE = "data-narrator-source"
"""Attribute that names the place in the source where an element begins, for people."""
BLOCKS = word_set(
    "address article aside blockquote body caption center dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup html legend li main "
    "menu nav ol p pre section summary table tbody td tfoot th thead tr ul"
)
HEADINGS = tuple(f"{{*}}h{level}" for level in range(1, 7))
"""Names of headings, as lxml searches for them."""
SILENT = word_set("script style head template")
"""Elements whose text is not the book's."""
SPOKEN_PICTURES = word_set("img image")
"""Pictures whose alternative text counts as the source's words."""
PICTURES = word_set("svg img image object video audio canvas iframe math picture")
_TEX = re.compile(r"[\\{}^_$]")
_PLAIN_MATH = word_set("math mrow mi mn mo mtext mspace mstyle semantics annotation annotation-xml")
_PAGE = word_set("pagebreak doc-pagebreak")
PAGE_CLASS = re.compile(r"\b(page-?(num(ber)?|no|break)|pagenum\w*)\b", re.IGNORECASE)
HEADING_TYPE = word_set("title subtitle ordinal fulltitle halftitle label covertitle")
_HEADING_CLASS = re.compile(
    r"\b((chapter|chap|ch|part|book|section)[-_]?(title|subtitle|num(ber)?|no|head(ing)?|name|label)|"
    r"(heading|cn|ct|cst|pn|pt))\d?\b",
    re.IGNORECASE,
)
_CAPTION_CLASS = re.compile(r"\b(fig)?caption\b", re.IGNORECASE)
_EM = word_set("em i cite dfn var")
_STRONG = word_set("strong b")
_EM_CLASS = re.compile(r"(?<!\S)(i|it|ital|italics?|em|emph|emphasis)(?!\S)", re.IGNORECASE)
_STRONG_CLASS = re.compile(r"(?<!\S)(b|bold|strong)(?!\S)", re.IGNORECASE)
_ITALIC = re.compile(r"font-style\s*:\s*(italic|oblique)", re.IGNORECASE)
_BOLD = re.compile(r"font-weight\s*:\s*(bold|[6-9]00)", re.IGNORECASE)
_MAX_VERSE_WORDS = 20
"""Maximum words of a line of verse."""
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_CODE_CLASS = re.compile(
    r"(?<![\w-])(code|source-?code|program-?listing|listing|highlight|lstlisting|verbatim)(?![\w-])",
    re.IGNORECASE,
)
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
LANGUAGE_ATTRIBUTE = "{http://www.w3.org/XML/1998/namespace}lang"


def element_name(element: etree._Element) -> str:
    """Returns an element's name in lower case, without its namespace; "" for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def body_of(root: etree._Element) -> etree._Element:
    """Returns the body of a document, or its root where it has none."""
    return next(root.iter("{*}body"), root)


def types_of(element: etree._Element) -> str:
    """Returns the `epub:type` and `role` of an element, as words."""
    epub_type = element.get(EPUB_TYPE) or element.get("epub:type", "")
    return f"{epub_type} {element.get('role', '')}"


def level_of(element: etree._Element) -> int:
    """Returns the level of a heading; 0 for any other element."""
    heading = re.fullmatch(r"h([1-6])", element_name(element))
    return int(heading[1]) if heading else 0


def heading_tag(level: int) -> str:
    """Returns the name of the heading of a level, which may be out of range."""
    return f"h{min(6, max(1, level))}"


def language_of(element: etree._Element) -> str | None:
    """Returns the language that an element or its nearest ancestor declares."""
    for ancestor in (element, *element.iterancestors()):
        if language := ancestor.get(LANGUAGE_ATTRIBUTE) or ancestor.get("lang"):
            return str(language).strip()
    return None


def texts_of(element: etree._Element) -> Iterator[str]:
    """Yields the text nodes in an element."""
    return (piece for piece in _text_pieces(element) if piece)


def block_texts(element: etree._Element) -> Iterator[str]:
    """Yields the text of an element, in pieces that block elements separate."""
    run: list[str] = []
    for piece in (*_text_pieces(element), None):
        if piece is None:
            yield "".join(run)
            run.clear()
        else:
            run.append(piece)


def _text_pieces(element: etree._Element) -> Iterator[str | None]:
    """Yields text nodes, and None at the borders of block elements."""
    name = element_name(element)
    if not name or name in SILENT:
        return
    border = name in BLOCKS or name in ("br", "hr", "text", "tspan", "title", "desc")
    if border:
        yield None
    if name in SPOKEN_PICTURES:
        yield element.get("alt", "")
    yield element.text or ""
    for child in element:
        yield from _text_pieces(child)
        yield child.tail or ""
    if border:
        yield None


def single_line_text(element: etree._Element | None) -> str:
    """Returns the text in an element on one line; "" for None."""
    return "" if element is None else " ".join(strip_invisible("".join(element.itertext())).split())


def last_child(parent: etree._Element) -> etree._Element | None:
    """Returns the last child; `len(parent)` would count all, possibly a hundred thousand."""
    return next(parent.iterchildren(reversed=True), None)


def append_text(parent: etree._Element, text: str | None) -> None:
    """Appends words to the end of an element."""
    if not text:
        return
    last = last_child(parent)
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def emphasis_of(element: etree._Element) -> tuple[bool, bool]:
    """Returns whether an inline element is emphasised, and whether it is strong, by its name, or if
    that says nothing by its class and style."""
    name, classes, style = (
        element_name(element),
        element.get("class", ""),
        element.get("style", ""),
    )
    if name not in ("span", "font", "a"):
        return name in _EM, name in _STRONG
    is_em = _EM_CLASS.search(classes) or _ITALIC.search(style)
    is_strong = _STRONG_CLASS.search(classes) or _BOLD.search(style)
    return bool(is_em), bool(is_strong)


def spoken_formula(element: etree._Element, alt: str) -> str | None:
    """Returns the spoken form of a formula: its alternative text in words, or a plain row of
    signs."""
    notes = [e for e in element.iter("{*}annotation") if "tex" not in e.get("encoding", "").lower()]
    candidates = (alt, element.get("alttext", ""), *("".join(e.itertext()) for e in notes))
    words = next(
        (text.strip() for text in candidates if text.strip() and not _TEX.search(text)), None
    )
    if words is not None:
        return " ".join(words.split())
    if element_name(element) != "math" or not is_plain_formula(element):
        return None
    leaves = (e for e in element.iter("{*}mi", "{*}mn", "{*}mo", "{*}mtext"))
    signs = " ".join(" ".join("".join(leaf.itertext()).split()) for leaf in leaves)
    return signs.strip() or None


def is_code(element: etree._Element) -> bool:
    """Returns whether preformatted lines are a program rather than verse."""
    children = [child for child in element if element_name(child)]
    is_only_code = len(children) == 1 and element_name(children[0]) in ("code", "samp", "kbd")
    return is_only_code or any(
        _CODE_CLASS.search(candidate.get("class", ""))
        for candidate in (element, element.getparent())
        if candidate is not None and element_name(candidate) != "body"
    )


def is_plain_formula(element: etree._Element) -> bool:
    """Returns whether a formula is a row of signs, without fractions, roots, superscripts or
    subscripts."""
    names = {element_name(e) for e in element.iter("{*}*")}
    return names <= _PLAIN_MATH and not names & {"annotation", "annotation-xml"}


def is_hidden(element: etree._Element) -> bool:
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style", "")))


def is_page_mark(types: list[str], classes: str) -> bool:
    return bool(_PAGE.intersection(types) or PAGE_CLASS.search(classes))


def may_be_caption(name: str, classes: str) -> bool:
    """Returns whether an element's name or classes are those of a caption."""
    return name == "figcaption" or _CAPTION_CLASS.search(classes) is not None


def is_heading(name: str, types: list[str], classes: str) -> bool:
    if re.fullmatch(r"h[1-6]", name):
        return True
    bare_types = {word.rpartition(":")[2] for word in types}
    return name in ("p", "div") and bool(
        HEADING_TYPE.intersection(bare_types) or (name == "p" and _HEADING_CLASS.search(classes))
    )


def is_subtitle(element: etree._Element) -> bool:
    return "subtitle" in f"{types_of(element)} {element.get('class', '')}".lower()


def holds_verse_lines(element: etree._Element) -> bool:
    """Returns whether all children are short blocks without breaks: lines of verse, marked one by
    one."""
    children = [child for child in element if element_name(child)]
    return len(children) > 1 and all(
        element_name(child) in ("div", "p")
        and not any(
            element_name(e) in BLOCKS or element_name(e) == "br"
            for e in child.iterdescendants("{*}*")
        )
        and count_words("".join(child.itertext())) <= _MAX_VERSE_WORDS
        for child in children
    )
