"""Which paragraphs of a word processor's file are headings, scene breaks, its title page: by looks.

Styles say it where an author used them. Most do not: a line is centred, bold, larger, or begins a
page. One judgement for all formats that have looks; knows XHTML, no format of a source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lxml import etree

from narrator.importers.book import count_words
from narrator.importers.headings import END, PART, Heading, is_title
from narrator.importers.prose import is_scene_break
from narrator.importers.readers.elements import LEFT
from narrator.importers.readers.office.looks import (
    CONTENTS,
    LONGEST,
    FirstPage,
    LookedAt,
    ParagraphLook,
    heading_of,
    is_larger,
    may_be,
    usual_size,
    weight,
)
from narrator.importers.readers.office.titlepage import leave_contents, leave_front, take_title_page

_APART = ("caption", "code")
"""Roles of what is neither a title nor a heading."""
_OF_TABLE = re.compile(r"tab(?:le|elle|leau|la|ella|\.)|таблица|表", re.IGNORECASE)
"""What captions of tables begin with: these are read as the tables are."""
_FEW = 500
"""Words that a table of contents may have, however short the text is."""
_BETWEEN = 40
"""Words between headings that nothing but their look makes headings."""


def _leave_marked(looks: Mapping[etree._Element, ParagraphLook]) -> None:
    """Set aside what paragraphs' looks say is left out."""
    endless = _is_endless(looks)
    for element, look in looks.items():
        if look.left and not (endless and look.left == CONTENTS):
            element.set(LEFT, look.left)


def _is_endless(looks: Mapping[etree._Element, ParagraphLook]) -> bool:
    """Whether a table of contents holds most of the text: then its end is missing."""
    words: Counter[bool] = Counter()
    for element, look in looks.items():
        words[look.left == CONTENTS] += count_words("".join(element.itertext()))
    return words[True] > max(words[False], _FEW)


def judge(body: etree._Element, looks: Mapping[etree._Element, ParagraphLook]) -> FirstPage:
    """Mark headings, gaps and what is no text among the paragraphs of a body, in place."""
    _leave_marked(looks)
    lines = list(_lines(body, looks))
    said = FirstPage()
    styled = [line for line in lines if line.look.level and line.text]
    leave_contents(lines)
    rest = take_title_page(lines, said)
    if not styled or not _hold_the_text(styled, lines):
        _find_headings(rest, bool(styled))
        said.guessed = sum(1 for line in rest if line.level and not line.look.level)
    else:
        _find_alike(rest, styled)
    leave_front(rest, said)
    _take_titles(rest)
    usual = Counter(line.look.space for line in lines if line.words > LONGEST).most_common(1)
    for line in lines:
        _mark(line, usual[0][0] if usual else 0)
    return said


def _lines(
    body: etree._Element, looks: Mapping[etree._Element, ParagraphLook]
) -> Iterator[LookedAt]:
    gap, page = 0, False
    for element in body:
        look = looks.get(element)
        if look is None or element.tag != "p":
            gap = 0
            continue
        text = " ".join("".join(_read(element)).split())
        if not text and not element.get(LEFT):
            yield LookedAt(element, look, "", 0, alone=False)
            gap, page = gap + 1, page or look.page
            continue
        if page and not look.page:
            look = replace(look, page=True)
        alone = not (element.get(LEFT) or is_scene_break(text) or END.fullmatch(text.strip(". ")))
        alone = alone and look.role not in _APART
        yield LookedAt(element, look, text, count_words(text), alone, gap, level=look.level)
        gap, page = 0, False


def _read(element: etree._Element) -> Iterator[str]:
    """The text of a paragraph that is read."""
    yield element.text or ""
    for child in element:
        if not child.get(LEFT) and child.get("class") != "noteref":
            yield from ("\n" if child.tag == "br" else "", *_read(child))
        yield child.tail or ""


def _hold_the_text(styled: Sequence[LookedAt], lines: Sequence[LookedAt]) -> bool:
    """Whether headings by style are those of chapters: several, or one that names a chapter."""
    return len(styled) > 1 or bool(heading_of(styled[0])) or len(lines) < 20


# -- headings --------------------------------------------------------------------------------------


def _find_headings(lines: Sequence[LookedAt], styled: bool) -> None:
    """Give levels to lines that are headings by their words and looks."""
    candidates = [line for line in lines if may_be(line)]
    usual = usual_size(lines)
    for line in candidates:
        line.heading = heading_of(line)
        line.level = _level_of(line.heading)
    named = sum(bool(line.level) for line in candidates)
    bare = [
        line
        for line in candidates
        if line.heading and not line.level and (weight(line, usual) or line.gap)
    ]
    if not named and not _count_up(bare):
        bare = []
    for line in bare:
        line.level = 2
    if not styled:
        _find_looks(lines, candidates, usual, named + len(bare))


def _level_of(heading: Heading | None) -> int:
    """The level of a heading that says what it begins; 0 for what is none, or a number alone."""
    if heading is None:
        return 0
    if heading.level == PART:
        return 1
    return 2 if heading.names_chapter or heading.key.startswith("solo") else 0


def _find_alike(lines: Sequence[LookedAt], styled: Sequence[LookedAt]) -> None:
    """Headings without the style of headings that look as those that have it."""
    usual = usual_size(lines)
    levels = {_shape(line, usual): line.look.level for line in reversed(styled)}
    for line in lines:
        if may_be(line) and _may_title(line.text) and weight(line, usual) > 2 + line.look.page:
            line.level = levels.get(_shape(line, usual), 0)


def _shape(line: LookedAt, usual: float) -> tuple[object, ...]:
    """By which lines look alike."""
    look = line.look
    return look.centred, look.bold, look.size if look.size > usual else 0


def _count_up(bare: Sequence[LookedAt]) -> bool:
    """Whether bare numbers are those of chapters: two or more, of which the first begins."""
    values = [line.heading.value for line in bare if line.heading]
    return len(values) > 1 and 1 in values[:2]


def _take_titles(lines: Sequence[LookedAt]) -> None:
    """Join a heading that only counts with its title, the line below it: by its look, or where
    most of such headings have one."""
    usual = usual_size(lines)
    said = [line for line in lines if line.text]
    pairs = [
        (above, below)
        for above, below in pairwise(said)
        if above.level and not above.look.role and _only_counts(above)
    ]
    titled = [pair for pair in pairs if _is_title_of(*pair)]
    most = len(titled) > 1 and 3 * len(titled) >= 2 * len(pairs)
    for above, below in titled:
        if most or weight(below, usual) > (above.look.centred and below.look.centred):
            _join(above.element, below.element)
            below.alone, below.text, below.level = False, "", 0


def _only_counts(line: LookedAt) -> bool:
    line.heading = line.heading or heading_of(line)
    said = line.heading
    return said is not None and len(said.parts) == 1 and not said.key.startswith("solo")


def _is_title_of(above: LookedAt, below: LookedAt) -> bool:
    same = not below.look.level or below.look.level == above.look.level + 1
    if not (same and below.alone and below.gap <= 3 and not below.look.page):
        return False
    if below.text.startswith(("(", "[")):
        return False  # what is seen on a stage
    short = below.words <= LONGEST and len(below.text) <= 120
    counts = heading_of(below)
    return short and _may_title(below.text) and (counts is None or len(counts.parts) > 1)


def _join(above: etree._Element, below: etree._Element) -> None:
    """Put what one element holds under what another holds."""
    _soften(below)
    line = etree.SubElement(above, "br")
    line.tail = below.text
    above.extend(list(below))
    parent = below.getparent()
    if parent is not None:
        parent.remove(below)


def _may_title(text: str) -> bool:
    return is_title(text) or text.isupper() or not text.endswith((".", ",", ";", ":"))


def _find_looks(
    lines: Sequence[LookedAt], candidates: Sequence[LookedAt], usual: float, counted: int
) -> None:
    """Headings that are known by their looks: several that look alike, with prose between."""
    places = {id(line): place for place, line in enumerate(lines)}
    alike: dict[tuple[bool, ...], list[LookedAt]] = {}
    for line in candidates:
        look = line.look
        if not line.level and _looks_so(line, usual) and (counted <= 1 or look.page):
            shape = (look.centred, look.bold, is_larger(line, usual), look.page)
            alike.setdefault(shape, []).append(line)
    for key, same in alike.items():
        prose = [line for line in same if _words_after(lines, places[id(line)]) >= _BETWEEN]
        if len(prose) > 1 or (prose and key[-1] and counted):
            for line in prose:
                line.level = 2


def _looks_so(line: LookedAt, usual: float) -> bool:
    """Whether a line's words and its look are as those of headings."""
    return _may_title(line.text) and weight(line, usual) >= 2


def _words_after(lines: Sequence[LookedAt], place: int) -> int:
    """Words from a line to the next that may be a heading."""
    words = 0
    for line in lines[place + 1 :]:
        if line.level or words >= _BETWEEN:
            break
        words += line.words if line.alone else 0
    return words


# -- marks -----------------------------------------------------------------------------------------


def _mark(line: LookedAt, usual: float) -> None:
    """Write down what a line is."""
    element = line.element
    if element.get(LEFT):
        return
    if not line.text:
        if not len(element.findall(".//img")):
            etree.SubElement(element, "br")
    elif line.look.role == "code":
        element.tag = "pre"
        element.set("class", "code")
    elif line.look.role == "caption" and not _OF_TABLE.match(line.text):
        _caption(element)
    elif line.level:
        element.tag = f"h{min(6, line.level)}"
        _soften(element)
    elif line.look.space >= usual + 12 and not line.gap and not line.look.page and usual >= 0:
        gap = etree.Element("p")
        etree.SubElement(gap, "br")
        element.addprevious(gap)


def _caption(element: etree._Element) -> None:
    """Make a paragraph the caption of a picture, which stands in another one."""
    figure = etree.Element("figure")
    figure.tail, element.tail = element.tail, None
    parent = element.getparent()
    if parent is not None:
        parent.replace(element, figure)
    etree.SubElement(figure, "img", alt="")
    element.tag = "figcaption"
    figure.append(element)


def _soften(heading: etree._Element) -> None:
    """Take away the emphasis of all of a heading."""
    whole = len("".join(heading.itertext()).strip())
    for name in ("strong", "em"):
        inside = list(heading.iter(name))
        if sum(len("".join(e.itertext()).strip()) for e in inside) == whole:
            etree.strip_tags(heading, name)
