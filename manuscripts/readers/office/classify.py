"""Detects headings, scene breaks and the title page of a word processor file by their look.

Styles mark them where an author used styles. Most authors do not: a line is centred, bold, larger,
or begins a page. Shared by all word processor formats; knows XHTML, but no source format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lxml import etree

from manuscripts.book import count_words
from manuscripts.headings import END_OF_TEXT, PART, Heading, is_title
from manuscripts.prose import is_scene_break
from manuscripts.readers.elements import OMISSION_ATTRIBUTE, heading_tag
from manuscripts.readers.office.looks import (
    CONTENTS,
    MAX_HEADING_CHARACTERS,
    MAX_HEADING_WORDS,
    FirstPage,
    ParagraphLine,
    ParagraphLook,
    body_text_size,
    heading_score,
    is_larger,
    may_be_heading,
    parse_heading,
)
from manuscripts.readers.office.titlepage import (
    omit_front_lines,
    omit_title_page,
    omit_typed_contents,
)

_NON_HEADING_ROLES = ("caption", "code")
"""Roles of paragraphs that are neither a title nor a heading."""
_TABLE_CAPTION = re.compile(r"tab(?:le|elle|leau|la|ella|\.)|таблица|表", re.IGNORECASE)
"""Start of a table's caption; such captions are read, as tables are."""
_MIN_ENDLESS_WORDS = 500
"""Words that a table of contents may have, however short the text is."""
_FEW_LINES = 20
"""Number of paragraphs below which a text is short."""
_MIN_EXTRA_SPACE = 12
"""Points of space above a paragraph, beyond the usual, that make a scene break."""
_MIN_WORDS_BETWEEN = 40
"""Minimum words between headings that are known by their look alone."""


def classify_paragraphs(
    body: etree._Element, looks: Mapping[etree._Element, ParagraphLook]
) -> FirstPage:
    """Marks headings, gaps and left-out paragraphs of a body in place; returns title and author."""
    _mark_omissions(looks)
    lines = list(_read_lines(body, looks))
    first_page = FirstPage()
    styled_headings = [line for line in lines if line.look.level and line.text]
    omit_typed_contents(lines)
    body_lines = omit_title_page(lines, first_page)
    # Headings by style are those of chapters if there are several, if one names a chapter, or if
    # the text is short.
    if len(styled_headings) > 1 or any(
        len(lines) < _FEW_LINES or parse_heading(heading) for heading in styled_headings
    ):
        _set_levels_like_styled(body_lines, styled_headings)
    else:
        _set_levels(body_lines, bool(styled_headings))
        first_page.guessed_headings = sum(
            bool(line.level and not line.look.level) for line in body_lines
        )
    omit_front_lines(body_lines, first_page)
    _join_titles(body_lines)
    spacings = Counter(
        line.look.space_above for line in lines if line.word_count > MAX_HEADING_WORDS
    )
    usual_space = spacings.most_common(1)[0][0] if spacings else 0
    for line in lines:
        if not line.element.get(OMISSION_ATTRIBUTE):
            _write_markup(line, usual_space)
    return first_page


def _mark_omissions(looks: Mapping[etree._Element, ParagraphLook]) -> None:
    """Marks paragraphs as left out whose look has a reason for it.

    A table of contents that has most of the text is not one, its end must be missing.
    """
    word_counts: Counter[bool] = Counter()
    for element, look in looks.items():
        word_counts[look.omission_reason == CONTENTS] += count_words("".join(element.itertext()))
    is_endless = word_counts[True] > max(word_counts[False], _MIN_ENDLESS_WORDS)
    for element, look in looks.items():
        if look.omission_reason and not (is_endless and look.omission_reason == CONTENTS):
            element.set(OMISSION_ATTRIBUTE, look.omission_reason)


def _read_lines(
    body: etree._Element, looks: Mapping[etree._Element, ParagraphLook]
) -> Iterator[ParagraphLine]:
    """Yields the paragraphs of a body as lines, with the number of empty paragraphs above each."""
    gap, starts_page = 0, False
    for element in body:
        look = looks.get(element)
        if look is None or element.tag != "p":
            gap = 0
            continue
        text = " ".join("".join(_readable_text(element)).split())
        is_omitted = bool(element.get(OMISSION_ATTRIBUTE))
        if not text and not is_omitted:
            yield ParagraphLine(element, look, "", 0, is_candidate=False)
            gap, starts_page = gap + 1, starts_page or look.starts_page
            continue
        look = replace(look, starts_page=starts_page or look.starts_page)
        is_candidate = not (
            is_omitted
            or is_scene_break(text)
            or END_OF_TEXT.fullmatch(text.strip(". "))
            or look.role in _NON_HEADING_ROLES
        )
        yield ParagraphLine(
            element, look, text, count_words(text), is_candidate, gap, level=look.level
        )
        gap, starts_page = 0, False


def _readable_text(element: etree._Element) -> Iterator[str]:
    """Yields the text of a paragraph without left-out runs and note references."""
    yield element.text or ""
    for child in element:
        if not child.get(OMISSION_ATTRIBUTE) and child.get("class") != "noteref":
            yield from ("\n" if child.tag == "br" else "", *_readable_text(child))
        yield child.tail or ""


# -- headings --------------------------------------------------------------------------------------


def _set_levels(lines: Sequence[ParagraphLine], has_styled_headings: bool) -> None:
    """Sets the level of lines that are headings by their words and look."""
    candidates = [line for line in lines if may_be_heading(line)]
    body_size = body_text_size(lines)
    for line in candidates:
        line.heading = parse_heading(line)
        line.level = _heading_level(line.heading)
    heading_count = sum(bool(line.level) for line in candidates)
    bare_numbers = [
        line
        for line in candidates
        if line.heading and not line.level and (heading_score(line, body_size) or line.gap)
    ]
    numbers = [line.heading.value for line in bare_numbers if line.heading]
    # Bare numbers count chapters if there are several, with 1 among the first two.
    if heading_count or (len(numbers) > 1 and 1 in numbers[:2]):
        heading_count += len(bare_numbers)
        for line in bare_numbers:
            line.level = 2
    if not has_styled_headings:
        _set_levels_by_look(lines, candidates, body_size, heading_count)


def _heading_level(heading: Heading | None) -> int:
    """Returns the level of a heading that names a part or chapter; 0 for None or a bare number."""
    if heading is None:
        return 0
    if heading.level == PART:
        return 1
    return 2 if heading.names_chapter or heading.key.startswith("solo") else 0


def _set_levels_like_styled(
    lines: Sequence[ParagraphLine], styled_headings: Sequence[ParagraphLine]
) -> None:
    """Sets the level of unstyled lines that look like headings with a heading style."""
    body_size = body_text_size(lines)
    levels = {_look_key(line, body_size): line.look.level for line in reversed(styled_headings)}
    for line in lines:
        if (
            may_be_heading(line)
            and _may_be_title(line.text)
            and heading_score(line, body_size) > 2 + line.look.starts_page
        ):
            line.level = levels.get(_look_key(line, body_size), 0)


def _look_key(line: ParagraphLine, body_size: float) -> tuple[object, ...]:
    """Returns a key that is equal for lines that look alike."""
    look = line.look
    return look.centred, look.bold, look.size if look.size > body_size else 0


def _join_titles(lines: Sequence[ParagraphLine]) -> None:
    """Joins headings that are only a number with their title, the line below.

    A line is a title if it looks like one, or if most of the numbers have one.
    """
    body_size = body_text_size(lines)
    text_lines = [line for line in lines if line.text]
    pairs = [
        (number_line, title_line)
        for number_line, title_line in pairwise(text_lines)
        if number_line.level and not number_line.look.role and _is_number_only(number_line)
    ]
    titled_pairs = [pair for pair in pairs if _is_title_below(*pair)]
    most_are_titled = len(titled_pairs) > 1 and 3 * len(titled_pairs) >= 2 * len(pairs)
    for number_line, title_line in titled_pairs:
        if most_are_titled or heading_score(title_line, body_size) > (
            number_line.look.centred and title_line.look.centred
        ):
            _append_content(number_line.element, title_line.element)
            title_line.is_candidate, title_line.text, title_line.level = False, "", 0


def _is_number_only(line: ParagraphLine) -> bool:
    heading = line.heading = line.heading or parse_heading(line)
    return heading is not None and len(heading.parts) == 1 and not heading.key.startswith("solo")


def _is_title_below(number_line: ParagraphLine, title_line: ParagraphLine) -> bool:
    """Returns whether a line may be the title of the number in the line above."""
    title_level, text = title_line.look.level, title_line.text
    if not (
        title_line.is_candidate
        and title_level in (0, number_line.look.level + 1)
        and title_line.gap <= 3
        and not title_line.look.starts_page
        and title_line.word_count <= MAX_HEADING_WORDS
        and len(text) <= MAX_HEADING_CHARACTERS
        and not text.startswith(("(", "["))  # a description of the scene in a play
        and _may_be_title(text)
    ):
        return False
    heading = parse_heading(title_line)
    return heading is None or len(heading.parts) > 1


def _append_content(target: etree._Element, source: etree._Element) -> None:
    """Appends the content of one element to another, after a line break."""
    _strip_full_emphasis(target)
    _strip_full_emphasis(source)
    line_break = etree.SubElement(target, "br")
    line_break.tail = source.text
    target.extend(list(source))
    parent = source.getparent()
    if parent is not None:
        parent.remove(source)


def _may_be_title(text: str) -> bool:
    return is_title(text) or text.isupper() or not text.endswith((".", ",", ";", ":"))


def _set_levels_by_look(
    lines: Sequence[ParagraphLine],
    candidates: Sequence[ParagraphLine],
    body_size: float,
    heading_count: int,
) -> None:
    """Sets the level of headings known by their look: several alike, with prose between them."""
    positions = {id(line): position for position, line in enumerate(lines)}
    lines_by_look: dict[tuple[bool, ...], list[ParagraphLine]] = {}
    for line in candidates:
        look = line.look
        if (
            not line.level
            and _may_be_title(line.text)
            and heading_score(line, body_size) >= 2
            and (heading_count <= 1 or look.starts_page)
        ):
            look_key = (look.centred, look.bold, is_larger(line, body_size), look.starts_page)
            lines_by_look.setdefault(look_key, []).append(line)
    for (*_, starts_page), alike_lines in lines_by_look.items():
        chapter_starts = [
            line
            for line in alike_lines
            if _words_after(lines, positions[id(line)]) >= _MIN_WORDS_BETWEEN
        ]
        if len(chapter_starts) > 1 or (chapter_starts and starts_page and heading_count):
            for line in chapter_starts:
                line.level = 2


def _words_after(lines: Sequence[ParagraphLine], position: int) -> int:
    """Counts words from a line to the next heading, at most about `_MIN_WORDS_BETWEEN`."""
    word_count = 0
    for line in lines[position + 1 :]:
        if line.level or word_count >= _MIN_WORDS_BETWEEN:
            break
        word_count += line.word_count if line.is_candidate else 0
    return word_count


# -- marks -----------------------------------------------------------------------------------------


def _write_markup(line: ParagraphLine, usual_space: float) -> None:
    """Changes a line's element to the markup of its classification."""
    element, look = line.element, line.look
    if not line.text:
        if element.find(".//img") is None:
            etree.SubElement(element, "br")
    elif look.role == "code":
        element.tag = "pre"
        element.set("class", "code")
    elif look.role == "caption" and not _TABLE_CAPTION.match(line.text):
        _make_caption(element)
    elif line.level:
        element.tag = heading_tag(line.level)
        _strip_full_emphasis(element)
    elif (
        not (line.gap or look.starts_page)
        and look.space_above >= max(usual_space, 0) + _MIN_EXTRA_SPACE
    ):
        gap = etree.Element("p")
        etree.SubElement(gap, "br")
        element.addprevious(gap)


def _make_caption(element: etree._Element) -> None:
    """Turns a paragraph into the caption of a figure; the picture itself is in another one."""
    figure = etree.Element("figure")
    figure.tail, element.tail = element.tail, None
    parent = element.getparent()
    if parent is not None:
        parent.replace(element, figure)
    etree.SubElement(figure, "img", alt="")
    element.tag = "figcaption"
    figure.append(element)


def _strip_full_emphasis(heading: etree._Element) -> None:
    """Removes bold and italic from a heading if all of it has them."""
    text_length = len("".join(heading.itertext()).strip())
    for name in ("strong", "em"):
        emphases = list(heading.iter(name))
        if sum(len("".join(e.itertext()).strip()) for e in emphases) == text_length:
            etree.strip_tags(heading, name)
