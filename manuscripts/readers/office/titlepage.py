"""Detects the title page of a word processor file, and a table of contents typed by its author.

Signs are the roles of styles, a line that names the author, and few, short lines above the first
heading. Knows how lines look, not which are headings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from manuscripts import matter
from manuscripts.book import count_words
from manuscripts.headings import is_title
from manuscripts.prose import is_ordinal
from manuscripts.readers.elements import OMISSION_ATTRIBUTE
from manuscripts.readers.office.looks import (
    CONTENTS,
    MAX_HEADING_WORDS,
    FirstPage,
    ParagraphLine,
    body_text_size,
    heading_score,
    may_be_heading,
    omit_line,
    parse_heading,
)

_MAX_FRONT_LINES = 30
"""Lines from the top that are searched for a title page."""
_MAX_CONTENTS_POSITION = 300
"""Lines from the top that are searched for a table of contents."""
_MIN_ENTRIES = 3
"""Minimum entries of a table of contents."""
_MAX_BYLINE_POSITION = 15
"""Number of lines at the top of which one may name the author."""
_MAX_BYLINE_WORDS, _MAX_NAME_WORDS = 8, 6
"""Maximum words after `by`, perhaps of several authors, and of a name on a line of its own."""
_MAX_FRONT_LINE_WORDS = 20
"""Maximum words of a line that may be one of a title page."""
_BYLINE_START = re.compile(r"(?:an? [\w’' -]{1,30})?(?:written )?\b(?:by|von|par|por|di):?", re.I)
_CONTACT = re.compile(r"@|\d{3}")
"""A sign of an address or a telephone number."""
_ENTRY_PAGE = re.compile(r"[.\s·…_]*\d{1,4}$")
_WORD_COUNT = re.compile(
    r"(?:about|approx\S*|ca\.?)?\s*[\d,. ]{3,9}\s*(?:words|wörter|mots|palabras)\b.*",
    re.IGNORECASE,
)


def omit_title_page(
    lines: Sequence[ParagraphLine], first_page: FirstPage
) -> Sequence[ParagraphLine]:
    """Marks the title page as left out and records title and author; returns the lines after it."""
    _omit_role_lines(lines, first_page)
    end_line = _find_title_page_end(
        [line for line in lines if line.text][:_MAX_FRONT_LINES], first_page
    )
    if end_line is None:
        return lines
    end_position = next(position for position, line in enumerate(lines) if line is end_line)
    for line in lines[: end_position + 1]:
        if line.is_candidate:
            omit_line(line)
    return lines[end_position + 1 :]


def _omit_role_lines(lines: Sequence[ParagraphLine], first_page: FirstPage) -> None:
    """Leaves out lines near the top whose style has a role, and records what they say."""
    role_lines = [
        line for line in lines[: 2 * _MAX_FRONT_LINES] if line.look.role and line.is_candidate
    ]
    if sum(line.look.role == "title" for line in role_lines) > 2:
        # This author uses the title style for chapters.
        for line in lines:
            if line.look.role == "title" and line.text:
                line.level = 1
    texts_by_role: dict[str, list[str]] = defaultdict(list)
    for line in role_lines:
        if not line.level:
            texts_by_role[line.look.role].append(line.text)
            omit_line(line)
    first_page.authors = tuple(texts_by_role["author"])
    first_page.title = next(iter(texts_by_role["title"]), None)
    first_page.subtitle = next(iter(texts_by_role["subtitle"]), None)


def omit_typed_contents(lines: Sequence[ParagraphLine]) -> None:
    """Leaves out a typed table of contents, and its title."""
    text_lines = [line for line in lines if line.text]
    for entries in _repeated_runs(text_lines):
        for entry in entries if len(entries) >= _MIN_ENTRIES else ():
            omit_line(entry, CONTENTS)
    for title_line, entry_line in pairwise(text_lines):
        is_above_entry = entry_line.element.get(OMISSION_ATTRIBUTE) == CONTENTS
        if is_above_entry and matter.kind_of_title(title_line.text) == "toc":
            omit_line(title_line, CONTENTS)


def _repeated_runs(text_lines: Sequence[ParagraphLine]) -> Iterator[list[ParagraphLine]]:
    """Yields runs of consecutive lines near the top that are repeated below, in order."""
    short_lines = (line for line in text_lines if line.word_count <= MAX_HEADING_WORDS)
    counts = Counter(_entry_key(line.text) for line in short_lines)
    last_positions = _last_positions(text_lines)
    run: list[ParagraphLine] = []
    last_repeat = 0
    """Position where the last line of the run is repeated: entries are repeated in their order."""
    for position, line in enumerate(text_lines[:_MAX_CONTENTS_POSITION]):
        key = _entry_key(line.text)
        repeat = last_positions.get(key, position)
        is_repeated = repeat > max(position, last_repeat if run else 0)
        is_entry = is_repeated or (run and _ENTRY_PAGE.search(line.text))
        if is_entry and _may_be_entry(line, counts[key]):
            run.append(line)
            last_repeat = repeat if is_repeated else last_repeat
        else:
            yield run
            run = []


def _may_be_entry(line: ParagraphLine, count: int) -> bool:
    """Returns whether a line may be an entry of a table of contents; the text has `count` of it."""
    # In the contents and in the text; a name in a play is repeated often.
    is_title_of_chapter = count <= 2 and is_title(line.text)
    return may_be_heading(line) and (is_title_of_chapter or parse_heading(line) is not None)


def _last_positions(text_lines: Sequence[ParagraphLine]) -> dict[str, int]:
    """Maps each short line to its last position; a number also with the title below it."""
    positions: dict[str, int] = {}
    for position, line in enumerate(text_lines):
        if line.word_count <= MAX_HEADING_WORDS:
            positions[_entry_key(line.text)] = position
            title_lines = text_lines[position + 1 : position + 2] if is_ordinal(line.text) else []
            # "Chapter One: The Gate 3" in a table of contents is two lines in the text.
            for title_line in title_lines:
                positions[_entry_key(f"{line.text} {title_line.text}")] = position
    return positions


def _entry_key(text: str) -> str:
    """Normalizes a heading or an entry for comparison, without a page number."""
    return re.sub(r"[\W_]+", "", _ENTRY_PAGE.sub("", text)).casefold()


def _find_title_page_end(
    front: Sequence[ParagraphLine], first_page: FirstPage
) -> ParagraphLine | None:
    """Finds the line that names the author, the last of a title page; records title and author."""
    for position, line in enumerate(front):
        if (line.word_count > MAX_HEADING_WORDS and not line.look.role) or (
            not line.is_candidate and position
        ):
            break
        title_lines = [
            above for above in front[:position] if above.is_candidate and not _is_contact(above)
        ]
        name, name_line = _parse_byline(front, position)
        if name and title_lines:
            first_page.authors = first_page.authors or (_to_title_case(name.strip(" .")),)
            first_page.title = first_page.title or _pick_title(title_lines)
            return name_line
    return None


def _parse_byline(front: Sequence[ParagraphLine], position: int) -> tuple[str, ParagraphLine]:
    """Returns the author that a line names, and the line with the name, which may be the next.

    The name is "" where a line names nobody.
    """
    line = front[position]
    name = matter.author_of_byline(line.text) if position < _MAX_BYLINE_POSITION else None
    next_lines = front[position + 1 : position + 2]
    if name is None and next_lines and _BYLINE_START.fullmatch(line.text):
        (line,) = next_lines
        name = line.text if line.word_count <= _MAX_NAME_WORDS else None
    is_name = name and count_words(name) <= _MAX_BYLINE_WORDS and name[:1].isupper()
    return (name or "", line) if is_name else ("", line)


def _is_contact(line: ParagraphLine) -> bool:
    """Returns whether a line is part of an address, or states the length of the manuscript."""
    look = line.look
    is_plain = not (look.centred or line.gap or look.starts_page or look.role)
    return is_plain or bool(_CONTACT.search(line.text) or _WORD_COUNT.fullmatch(line.text))


def _pick_title(lines: Sequence[ParagraphLine]) -> str:
    """Returns the title among the lines above the author's: the largest, or the last line."""
    prominent_lines = [line for line in lines if line.look.centred or line.look.starts_page]
    title_line = max(prominent_lines or lines[-1:], key=lambda line: line.look.size)
    return _to_title_case(title_line.text)


def _to_title_case(text: str) -> str:
    """Changes text in capitals to title case."""
    return text.title() if text.isupper() and len(text) > 3 else text


def omit_front_lines(lines: Sequence[ParagraphLine], first_page: FirstPage) -> None:
    """Leaves out a few lines above the first heading that look like a title page."""
    heading_position = next((position for position, line in enumerate(lines) if line.level), 0)
    front = [line for line in lines[:heading_position] if line.text and line.is_candidate]
    are_short = all(line.word_count <= _MAX_FRONT_LINE_WORDS for line in front)
    text = " ".join(line.text for line in front)
    if not text or first_page.title or not (are_short and matter.may_be_title_page(text)):
        return
    facts = _likely_facts(front, body_text_size(lines))
    if facts is not None:
        first_page.likely_title, first_page.likely_author = facts
        for line in front:
            omit_line(line)


def _likely_facts(
    front: Sequence[ParagraphLine], body_size: float
) -> tuple[str | None, str | None] | None:
    """Returns title and author by the lines of a title page; None if these look like text.

    Lines that look like text are a title page only if they are a title and a name.
    """
    if not any(heading_score(line, body_size) for line in front):
        is_title_page = (
            len(front) == 2 and is_title(front[0].text) and matter.is_person_name(front[1].text)
        )
        title, author = (_to_title_case(text) for text in (front[0].text, _name(front[-1].text)))
        return (title, author) if is_title_page else None
    title_lines = [line for line in front if not _is_contact(line)]
    if not title_lines:
        return None, None
    title = _pick_title(title_lines)
    texts = [line.text for line in title_lines if _to_title_case(line.text) != title]
    names = [_name(text) for text in texts if matter.is_person_name(text)]
    return title, _to_title_case(names[0]) if len(names) == 1 else None


def _name(text: str) -> str:
    """Returns a person's name without the word for "by", if that has no capital: `Di` may be of the
    name."""
    return text if text[:1].isupper() else matter.author_of_byline(text) or text
