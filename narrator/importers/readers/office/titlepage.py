"""The title page of a word processor's file, and a list of chapters that an author typed.

By roles of styles, by who is named as the author, by few and short lines above the first heading.
Knows how lines look, not which are headings.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from narrator.importers import matter
from narrator.importers.book import count_words
from narrator.importers.headings import is_title
from narrator.importers.prose import is_ordinal
from narrator.importers.readers.elements import LEFT
from narrator.importers.readers.office.looks import (
    CONTENTS,
    LONGEST,
    FirstPage,
    LookedAt,
    heading_of,
    leave,
    may_be,
    usual_size,
    weight,
)

_FRONT = 30
"""Lines from the top within which a title page is looked for."""
_BY = re.compile(
    r"(?:an? [\w’' -]{1,30}|written|story|novel)?\s*(?<!\w)by:?\s+(?P<name>\S.{1,60})|"
    r"(?:von|par|por|di|de|от)\s+(?P<other>[^\W\d_a-z]\S*(?:\s+\S+){0,4})",
    re.IGNORECASE,
)
_BY_ALONE = re.compile(r"(?:an? [\w’' -]{1,30})?(?:written )?\b(?:by|von|par|por|di):?", re.I)
_PERSON = re.compile(r"[^\W\d_a-z][\w’'.-]*(?: [^\W\d_a-z][\w’'.-]*| (?:de|von|van|di|la)){1,4}")
_LISTED = re.compile(r"[.\s·…_]*\d{1,4}$")
_COUNT = re.compile(
    r"(?:about|approx\S*|ca\.?)?\s*[\d,. ]{3,9}\s*(?:words|wörter|mots|palabras)\b.*",
    re.IGNORECASE,
)


def take_title_page(lines: Sequence[LookedAt], said: FirstPage) -> Sequence[LookedAt]:
    """Set aside what says title and author at the top; the lines after it."""
    _take_roles(lines, said)
    end = _end_of_title_page([line for line in lines if line.text][:_FRONT], said)
    if end is None:
        return lines
    place = next(at for at, line in enumerate(lines) if line is end)
    for line in lines[: place + 1]:
        if line.alone:
            leave(line)
    return lines[place + 1 :]


def _take_roles(lines: Sequence[LookedAt], said: FirstPage) -> None:
    """Set aside the lines near the top whose styles say what they are."""
    roles = [line for line in lines[: 2 * _FRONT] if line.look.role and line.alone]
    if sum(line.look.role == "title" for line in roles) > 2:
        # An author who takes the style for chapters.
        for line in lines:
            if line.look.role == "title" and line.text:
                line.level = 1
    texts: dict[str, list[str]] = defaultdict(list)
    for line in roles:
        if not line.level:
            texts[line.look.role].append(line.text)
            leave(line)
    said.authors = tuple(texts["author"])
    said.title = next(iter(texts["title"]), None)
    said.subtitle = next(iter(texts["subtitle"]), None)


def leave_contents(lines: Sequence[LookedAt]) -> None:
    """Set aside a list of chapters that an author typed: lines in a row that come again below."""
    said = [line for line in lines if line.text]
    places = _places(said)
    counts = Counter(_entry(line.text) for line in said if line.words <= LONGEST)
    run: list[LookedAt] = []
    last = 0
    """Where the last of the run comes again: what is listed comes in its order."""
    for place, line in enumerate(said[: 10 * _FRONT]):
        found = places.get(_entry(line.text), place)
        again = found > max(place, last if run else 0)
        once = counts[_entry(line.text)] <= 2  # here and there; a name in a play comes often
        if _may_be_listed(line, once) and (again or (run and _LISTED.search(line.text))):
            run.append(line)
            last = found if again else last
            continue
        if len(run) > 2:
            _leave_list(run, said[place - len(run) - 1] if place > len(run) else None)
        run = []
    _leave_heads_of_lists(said)


def _leave_heads_of_lists(said: Sequence[LookedAt]) -> None:
    """Set aside lines right above what is listed that say so."""
    for above, below in pairwise(said):
        if below.element.get(LEFT) == CONTENTS and matter.kind_of_title(above.text) == "toc":
            leave(above, CONTENTS)


def _places(said: Sequence[LookedAt]) -> dict[str, int]:
    """Where each short line comes last, by its words; a number also with the title under it."""
    places: dict[str, int] = {}
    for place, line in enumerate(said):
        if line.words <= LONGEST:
            places[_entry(line.text)] = place
            titled = said[place + 1 : place + 2] if is_ordinal(line.text) else []
            for below in titled:  # "Chapter One: The Gate 3" in a list is two lines here
                places[_entry(f"{line.text} {below.text}")] = place
    return places


def _may_be_listed(line: LookedAt, once: bool) -> bool:
    """Whether a line may be the title of a chapter, which comes `once` besides."""
    return may_be(line) and ((once and is_title(line.text)) or heading_of(line) is not None)


def _leave_list(entries: Sequence[LookedAt], above: LookedAt | None) -> None:
    """Set aside the lines of a list, and what is above if it says that they are one."""
    if above is not None and matter.kind_of_title(above.text) == "toc":
        leave(above, CONTENTS)
    for entry in entries:
        leave(entry, CONTENTS)


def _entry(text: str) -> str:
    """A heading as a list of contents has it, without its page."""
    return re.sub(r"[\W_]+", "", _LISTED.sub("", text)).casefold()


def _end_of_title_page(front: Sequence[LookedAt], said: FirstPage) -> LookedAt | None:
    """The line of a title page that says who wrote it, by which its title is found, too."""
    for place, line in enumerate(front):
        if (line.words > LONGEST and not line.look.role) or (not line.alone and place):
            break
        above = [other for other in front[:place] if other.alone and not _is_contact(other)]
        name, end = _author(front, place)
        if name and above:
            said.authors = said.authors or (_unshouted(name.strip(" .")),)
            said.title = said.title or _title_of(above)
            return end
    return None


def _author(front: Sequence[LookedAt], place: int) -> tuple[str, LookedAt]:
    """Whom a line names as the author, and the line that has the name, which may be the next one;
    "" for nobody."""
    line = front[place]
    by = _BY.fullmatch(line.text) if place < 15 else None
    name = (by["name"] or by["other"]) if by else None
    after = front[place + 1 : place + 2]
    if name is None and _BY_ALONE.fullmatch(line.text) and after and after[0].words <= 6:
        name, line = after[0].text, after[0]
    if name and count_words(name) <= 8 and name[:1].isupper():
        return name, line
    return "", line


def _is_contact(line: LookedAt) -> bool:
    """Whether a line is of an address, or says how long the manuscript is."""
    text = line.text
    return bool(_COUNT.fullmatch(text) or "@" in text or re.search(r"\d{3}", text)) or (
        not line.look.centred and line.gap == 0 and not line.look.page and not line.look.role
    )


def _title_of(above: Sequence[LookedAt]) -> str | None:
    """The title among the lines above the author's: the largest, or the nearest that is centred."""
    shown = [line for line in above if line.look.centred or line.look.page] or list(above[-1:])
    most = max((line.look.size for line in shown), default=0)
    found = next((line for line in shown if line.look.size == most), None)
    return _unshouted(found.text) if found else None


def _unshouted(text: str) -> str:
    return text.title() if text.isupper() and len(text) > 3 else text


def leave_front(lines: Sequence[LookedAt], said: FirstPage) -> None:
    """Set aside a few lines above the first heading that nothing but a title page says."""
    first = next((place for place, line in enumerate(lines) if line.level), 0)
    front = [line for line in lines[:first] if line.text and line.alone]
    if not front or said.title or not _is_short(front):
        return
    usual = usual_size(lines)
    if not any(weight(line, usual) for line in front):
        _leave_plain(front, said)
        return
    named = [line for line in front if not _is_contact(line)]
    said.likely_title = _title_of(named)
    said.likely_author = _only_person([line.text for line in named], said.likely_title)
    for line in front:
        leave(line)


def _only_person(texts: Sequence[str], title: str | None) -> str | None:
    """The one line, besides the title, that is a person's name."""
    rest = [text for text in texts if _unshouted(text) != title and _PERSON.fullmatch(text)]
    people = [text for text in rest if not matter.says_kind_of_book(text)]
    return _unshouted(people[0]) if len(people) == 1 else None


def _is_short(front: Sequence[LookedAt]) -> bool:
    """Whether lines are few and short, as those of a title page are."""
    short = all(line.words <= LONGEST + 5 for line in front)
    return short and matter.may_be_title_page(" ".join(line.text for line in front))


def _leave_plain(front: Sequence[LookedAt], said: FirstPage) -> None:
    """Set aside a title and a name above the first heading, which look as all lines do."""
    title, *below = front
    if len(below) == 1 and is_title(title.text) and _PERSON.fullmatch(below[0].text):
        said.likely_title, said.likely_author = _unshouted(title.text), _unshouted(below[0].text)
        for line in front:
            leave(line)
