"""Which paragraphs of a word processor's file are headings, scene breaks, its title page: by looks.

Styles say it where an author used them. Most do not: a line is centred, bold, larger, or begins a
page. One judgement for all formats that have looks; knows XHTML, no format of a source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lxml import etree

from narrator.importers import matter
from narrator.importers.book import count_words
from narrator.importers.headings import PART, Heading, is_title, read_heading
from narrator.importers.prose import is_scene_break
from narrator.importers.readers.xhtml import LEFT

_CONTENTS = "table of contents"
_LONGEST = 15
"""Words of a heading."""
_FRONT = 30
"""Lines from the top within which a title page is looked for."""
_FRONT_WORDS = 150
"""Words of a title page and what stands beside it."""
_BETWEEN = 40
"""Words between headings that nothing but their look makes headings."""
_LARGER = 1.15
_END = re.compile(r"(the )?end|fin|ende|fine|finis|конец", re.IGNORECASE)
_BY = re.compile(
    r"(?:an? [\w’' -]{1,30}|written|story|novel)?\s*(?<!\w)by:?\s+(?P<name>\S.{1,60})|"
    r"(?:von|par|por|di|de|от)\s+(?P<other>[^\W\d_a-z]\S*(?:\s+\S+){0,4})",
    re.IGNORECASE,
)
_PERSON = re.compile(r"[^\W\d_a-z][\w’'.-]*(?: [^\W\d_a-z][\w’'.-]*| (?:de|von|van|di|la)){1,4}")
_LISTED = re.compile(r"[.\s·…_]*\d{1,4}$")
_BY_ALONE = re.compile(r"(?:an? [\w’' -]{1,30})?(?:written )?\b(?:by|von|par|por|di):?", re.I)
_COUNT = re.compile(
    r"(?:about|approx\S*|ca\.?)?\s*[\d,. ]{3,9}\s*(?:words|wörter|mots|palabras)\b.*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParagraphLook:
    """How a paragraph looks, and what its style says of it."""

    level: int = 0
    """Of a heading, by its style; 0 for none."""
    role: str = ""
    """title, subtitle, author or date, by its style."""
    centred: bool = False
    bold: bool = False
    """All of it."""
    size: float = 0
    """Of most of its letters, in points; 0 where that is not known."""
    page: bool = False
    """Whether a page begins with it."""
    space: float = 0
    """Points of room above it."""
    left: str = ""
    """Why it is left out, if it is."""


@dataclass(slots=True)
class FirstPage:
    """What a text's first page says of it."""

    title: str | None = None
    subtitle: str | None = None
    authors: tuple[str, ...] = ()
    likely_title: str | None = None
    """Where nothing says it plainly."""
    likely_author: str | None = None
    guessed: int = 0
    """Headings that only look so."""


@dataclass(slots=True)
class _LookedAt:
    """A paragraph that stands in no list and no table."""

    element: etree._Element
    look: ParagraphLook
    text: str
    words: int
    alone: bool = True
    """Whether it may be a heading: no picture, no scene break, nothing that is left out."""
    gap: int = 0
    """Empty paragraphs above it."""
    heading: Heading | None = None
    level: int = 0


def judge(body: etree._Element, looks: Mapping[etree._Element, ParagraphLook]) -> FirstPage:
    """Mark headings, gaps and what is no text among the paragraphs of a body, in place."""
    for element, look in looks.items():
        if look.left:
            element.set(LEFT, look.left)
    lines = list(_lines(body, looks))
    said = FirstPage()
    styled = [line for line in lines if line.look.level and line.text]
    _leave_contents(lines)
    rest = _take_title_page(lines, said)
    if not styled or not _hold_the_text(styled, lines):
        _find_headings(rest, bool(styled))
        said.guessed = sum(1 for line in rest if line.level and not line.look.level)
    else:
        _find_alike(rest, styled)
    _leave_front(rest, said)
    _take_titles(rest)
    usual = Counter(line.look.space for line in lines if line.words > _LONGEST).most_common(1)
    for line in lines:
        _mark(line, usual[0][0] if usual else 0)
    return said


def _lines(
    body: etree._Element, looks: Mapping[etree._Element, ParagraphLook]
) -> Iterator[_LookedAt]:
    gap, page = 0, False
    for element in body:
        look = looks.get(element)
        if look is None or element.tag != "p":
            gap = 0
            continue
        text = " ".join("".join(_read(element)).split())
        if not text and not element.get(LEFT):
            yield _LookedAt(element, look, "", 0, alone=False)
            gap, page = gap + 1, page or look.page
            continue
        if page and not look.page:
            look = ParagraphLook(
                look.level, look.role, look.centred, look.bold, look.size, True, look.space
            )
        alone = not (element.get(LEFT) or is_scene_break(text) or _END.fullmatch(text.strip(". ")))
        yield _LookedAt(element, look, text, count_words(text), alone, gap, level=look.level)
        gap, page = 0, False


def _read(element: etree._Element) -> Iterator[str]:
    """The text of a paragraph that is read."""
    yield element.text or ""
    for child in element:
        if not child.get(LEFT) and child.get("class") != "noteref":
            yield from ("\n" if child.tag == "br" else "", *_read(child))
        yield child.tail or ""


def _hold_the_text(styled: Sequence[_LookedAt], lines: Sequence[_LookedAt]) -> bool:
    """Whether headings by style are those of chapters: several, or one that names a chapter."""
    return len(styled) > 1 or bool(_heading_of(styled[0])) or len(lines) < 20


# -- the title page --------------------------------------------------------------------------------


def _take_title_page(lines: Sequence[_LookedAt], said: FirstPage) -> Sequence[_LookedAt]:
    """Set aside what says title and author at the top; the lines after it."""
    roles = [line for line in lines[: 2 * _FRONT] if line.look.role and line.alone]
    titles = [line for line in roles if line.look.role == "title"]
    if len(titles) > 2:  # an author who takes the style for chapters
        for line in (line for line in lines if line.look.role == "title" and line.text):
            line.level = 1
    roles = [line for line in roles if not line.level]
    for line in roles:
        if line.look.role == "author":
            said.authors = (*said.authors, line.text)
        elif line.look.role == "title":
            said.title = said.title or line.text
        elif line.look.role == "subtitle":
            said.subtitle = said.subtitle or line.text
        _leave(line)
    end = _end_of_title_page([line for line in lines if line.text][:_FRONT], said)
    if end is None:
        return lines
    place = next(at for at, line in enumerate(lines) if line is end)
    for line in lines[: place + 1]:
        if line.alone:
            _leave(line)
    return lines[place + 1 :]


def _leave_contents(lines: Sequence[_LookedAt]) -> None:
    """Set aside a list of chapters that an author typed: lines in a row that come again below."""
    said = [line for line in lines if line.text]
    places: dict[str, int] = {}
    for place, line in enumerate(said):
        if line.words <= _LONGEST:
            places[_entry(line.text)] = place
    run: list[_LookedAt] = []
    for place, line in enumerate(said[: 10 * _FRONT]):
        again = places.get(_entry(line.text), place) > place
        named = _may_be(line) and (is_title(line.text) or _heading_of(line) is not None)
        listed = named and (again or bool(run and _LISTED.search(line.text)))
        if listed:
            run.append(line)
            continue
        if len(run) > 2:
            above = said[place - len(run) - 1] if place > len(run) else None
            headed = above is not None and matter.kind_of_title(above.text) == "toc"
            for entry in (*([above] if headed and above else []), *run):
                _leave(entry, _CONTENTS)
        run = []
    for above, below in pairwise(said):
        if below.element.get(LEFT) == _CONTENTS and matter.kind_of_title(above.text) == "toc":
            _leave(above, _CONTENTS)


def _entry(text: str) -> str:
    """A heading as a list of contents has it, without its page."""
    return re.sub(r"[\W_]+", "", _LISTED.sub("", text)).casefold()


def _end_of_title_page(front: Sequence[_LookedAt], said: FirstPage) -> _LookedAt | None:
    """The line of a title page that says who wrote it, by which its title is found, too."""
    for place, line in enumerate(front):
        if (line.words > _LONGEST and not line.look.role) or (not line.alone and place):
            break
        above = [other for other in front[:place] if other.alone and not _is_contact(other)]
        after = front[place + 1 : place + 2]
        by = _BY.fullmatch(line.text) if place < 15 else None
        name = (by["name"] or by["other"]) if by else None
        if name is None and _BY_ALONE.fullmatch(line.text) and after and after[0].words <= 6:
            name, line = after[0].text, after[0]
        if name and above and count_words(name) <= 8 and name[:1].isupper():
            said.authors = said.authors or (_unshouted(name.strip(" .")),)
            said.title = said.title or _title_of(above)
            return line
    return None


def _is_contact(line: _LookedAt) -> bool:
    """Whether a line is of an address, or says how long the manuscript is."""
    text = line.text
    return bool(_COUNT.fullmatch(text) or "@" in text or re.search(r"\d{3}", text)) or (
        not line.look.centred and line.gap == 0 and not line.look.page and not line.look.role
    )


def _title_of(above: Sequence[_LookedAt]) -> str | None:
    """The title among the lines above the author's: the largest, or the nearest that is centred."""
    shown = [line for line in above if line.look.centred or line.look.page] or list(above[-1:])
    most = max((line.look.size for line in shown), default=0)
    found = next((line for line in shown if line.look.size == most), None)
    return _unshouted(found.text) if found else None


def _unshouted(text: str) -> str:
    return text.title() if text.isupper() and len(text) > 3 else text


def _leave_front(lines: Sequence[_LookedAt], said: FirstPage) -> None:
    """Set aside a few lines above the first heading that nothing but a title page says."""
    first = next((place for place, line in enumerate(lines) if line.level), None)
    front = [line for line in lines[: first or 0] if line.text and line.alone]
    usual = _usual_size(lines)
    if not front or sum(line.words for line in front) > _FRONT_WORDS or said.title:
        return
    if any(line.words > _LONGEST + 5 for line in front) or not any(
        _weight(line, usual) for line in front
    ):
        return
    named = [line for line in front if not _is_contact(line)]
    said.likely_title = _title_of(named)
    rest = [line.text for line in named if _unshouted(line.text) != said.likely_title]
    people = [text for text in rest if _PERSON.fullmatch(text)]
    said.likely_author = _unshouted(people[0]) if len(people) == 1 else None
    for line in front:
        _leave(line)


def _leave(line: _LookedAt, why: str = "title page") -> None:
    line.alone, line.level = False, 0
    line.element.set(LEFT, why)


# -- headings --------------------------------------------------------------------------------------


def _heading_of(line: _LookedAt) -> Heading | None:
    """What a line says if it is a heading."""
    parted = [row.strip() for row in line.text.split("\n") if row.strip()]
    return read_heading(parted, 2 if line.look.page or line.gap or line.look.centred else 0)


def _find_headings(lines: Sequence[_LookedAt], styled: bool) -> None:
    """Give levels to lines that are headings by their words and looks."""
    candidates = [line for line in lines if _may_be(line)]
    usual = _usual_size(lines)
    for line in candidates:
        line.heading = _heading_of(line)
    named = [line for line in candidates if line.heading and _is_named(line.heading)]
    taken = set(map(id, named))
    bare = [
        line
        for line in candidates
        if line.heading and id(line) not in taken and (_weight(line, usual) or line.gap)
    ]
    if not named and not _count_up(bare):
        bare = []
    for line in (*named, *bare):
        line.level = 1 if line.heading and line.heading.level == PART else 2
    if not styled:
        _find_looks(lines, candidates, usual, len(named) + len(bare))


def _find_alike(lines: Sequence[_LookedAt], styled: Sequence[_LookedAt]) -> None:
    """Headings without the style of headings that look as those that have it."""
    usual = _usual_size(lines)
    levels = {_shape(line, usual): line.look.level for line in reversed(styled)}
    for line in lines:
        if _may_be(line) and _may_title(line.text) and _weight(line, usual) > 2 + line.look.page:
            line.level = levels.get(_shape(line, usual), 0)


def _shape(line: _LookedAt, usual: float) -> tuple[object, ...]:
    """By which lines look alike."""
    look = line.look
    return look.centred, look.bold, look.size if look.size > usual else 0


def _may_be(line: _LookedAt) -> bool:
    return line.alone and not line.level and 0 < line.words <= _LONGEST and len(line.text) <= 120


def _usual_size(lines: Sequence[_LookedAt]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.look.size] += line.words
    return sizes.most_common(1)[0][0] if sizes else 0


def _is_named(heading: Heading) -> bool:
    return heading.names_chapter or heading.level == PART or heading.key.startswith("solo")


def _weight(line: _LookedAt, usual: float) -> int:
    """How much a line looks like a heading."""
    look = line.look
    larger = bool(usual) and look.size >= _LARGER * usual
    return look.centred + look.bold + 2 * larger + 2 * look.page + line.text.isupper()


def _count_up(bare: Sequence[_LookedAt]) -> bool:
    """Whether bare numbers are those of chapters: two or more, of which the first begins."""
    values = [line.heading.value for line in bare if line.heading]
    return len(values) > 1 and 1 in values[:2]


def _take_titles(lines: Sequence[_LookedAt]) -> None:
    """Join a heading that only counts with its title, the line below it: by its look, or where
    most of such headings have one."""
    usual = _usual_size(lines)
    said = [line for line in lines if line.text]
    pairs = [
        (above, below)
        for above, below in pairwise(said)
        if above.level and not above.look.role and _only_counts(above)
    ]
    titled = [pair for pair in pairs if _is_title_of(*pair)]
    most = len(titled) > 1 and 3 * len(titled) >= 2 * len(pairs)
    for above, below in titled:
        if most or _weight(below, usual) > (above.look.centred and below.look.centred):
            _join(above.element, below.element)
            below.alone, below.text, below.level = False, "", 0


def _only_counts(line: _LookedAt) -> bool:
    line.heading = line.heading or _heading_of(line)
    said = line.heading
    return said is not None and len(said.parts) == 1 and not said.key.startswith("solo")


def _is_title_of(above: _LookedAt, below: _LookedAt) -> bool:
    same = not below.look.level or below.look.level == above.look.level + 1
    if not (same and below.alone and below.gap <= 3 and not below.look.page):
        return False
    short = below.words <= _LONGEST and len(below.text) <= 120
    counts = _heading_of(below)
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
    lines: Sequence[_LookedAt], candidates: Sequence[_LookedAt], usual: float, counted: int
) -> None:
    """Headings that are known by their looks: several that look alike, with prose between."""
    places = {id(line): place for place, line in enumerate(lines)}
    alike: dict[tuple[bool, ...], list[_LookedAt]] = {}
    for line in candidates:
        if line.level or not _may_title(line.text) or _weight(line, usual) < 2:
            continue
        if counted > 1 and not line.look.page:
            continue
        look = line.look
        shape = (look.centred, look.bold, bool(usual) and look.size >= _LARGER * usual, look.page)
        alike.setdefault(shape, []).append(line)
    for key, same in alike.items():
        prose = [line for line in same if _words_after(lines, places[id(line)]) >= _BETWEEN]
        if len(prose) > 1 or (prose and key[-1] and counted):
            for line in prose:
                line.level = 2


def _words_after(lines: Sequence[_LookedAt], place: int) -> int:
    """Words from a line to the next that may be a heading."""
    words = 0
    for line in lines[place + 1 :]:
        if line.level or words >= _BETWEEN:
            break
        words += line.words if line.alone else 0
    return words


# -- marks -----------------------------------------------------------------------------------------


def _mark(line: _LookedAt, usual: float) -> None:
    """Write down what a line is."""
    element = line.element
    if element.get(LEFT):
        return
    if not line.text:
        if not len(element.findall(".//img")):
            etree.SubElement(element, "br")
    elif line.level:
        element.tag = f"h{min(6, line.level)}"
        _soften(element)
    elif line.look.space >= usual + 12 and not line.gap and not line.look.page and usual >= 0:
        gap = etree.Element("p")
        etree.SubElement(gap, "br")
        element.addprevious(gap)


def _soften(heading: etree._Element) -> None:
    """Take away the emphasis of all of a heading."""
    whole = len("".join(heading.itertext()).strip())
    for name in ("strong", "em"):
        inside = list(heading.iter(name))
        if sum(len("".join(e.itertext()).strip()) for e in inside) == whole:
            etree.strip_tags(heading, name)
