"""The characters of a book, found in its text: names, which of them are one person's, and nouns.

A run of capitalised words is somebody's name where a title stands before it, where it is the
subject of a verb of speech beside a quotation, or where somebody is called so; names are then
joined by their parts ("Emma", "Miss Woodhouse", "Emma Woodhouse").
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.quotations import Quotation
from narrator.text.sentences import primary
from narrator.text.speakers.names import Character, Token, Words, tokens
from narrator.text.speakers.words import (
    HE_NAMES,
    NICKNAMES,
    NOT_NAMES,
    PERSONS,
    SAID,
    SHE_NAMES,
    SHORT,
    SURE_SAID,
    TITLES,
)
from narrator.text.speech_verbs import named_in_tag

_JOINTS = frozenset("of de du la le van von der da di".split())
_AFTER_NAMES = frozenset("esquire esq".split())
_ABBREVIATED = frozenset("mr mrs ms dr st messrs capt col gen rev prof hon mme mlle".split())
_PLACES = frozenset("in at from to near through towards toward round about across".split())
_ADJECTIVES = frozenset("dear poor old young little good honest lovely sweet darling big".split())
_MEN = frozenset(
    "dr prof capt col major gen lieutenant sergeant inspector admiral reverend rev bishop judge "
    "corporal superintendent constable commander squire cardinal mayor governor senator".split()
)
"""Titles that are men's in most of the books whose copyright has ended."""
_VAGUE = frozenset(
    "man woman girl boy lady gentleman one other person voice fellow young elder younger latter "
    "former creature speaker figure child companion friend people lad youth".split()
)
"""Nouns for whoever is in a scene, which are nobody's name through a book."""


@dataclass(slots=True)
class _Form:
    """A name as it is written."""

    words: Words
    """Folded, titles in front."""
    written: Counter[str] = field(default_factory=Counter)
    times: int = 0
    told: int = 0
    """Times in narration."""
    tags: int = 0
    """Times as the subject of a tag."""
    called: int = 0
    """Times as a vocative."""
    placed: int = 0
    """Times after a preposition of place."""
    inner: int = 0
    """Times where no sentence begins."""
    noun: bool = False
    """Whether it is a common noun with an article."""
    is_english: bool = True
    """Whether given names tell a pronoun: Jean is another in French."""

    @property
    def shown(self) -> str:
        """As it is written most, in capitals only if it always is."""
        plain = Counter({name: n for name, n in self.written.items() if not name.isupper()})
        return (plain or self.written).most_common(1)[0][0]

    @property
    def title(self) -> str:
        return self.words[0] if self.words[0] in TITLES and len(self.words) > 1 else ""

    @property
    def bare(self) -> Words:
        rest = tuple(w for w in self.words if w not in TITLES)
        return rest or self.words

    @property
    def pronoun(self) -> str | None:
        if self.title and TITLES[self.title]:
            return TITLES[self.title]
        if self.title in _MEN:
            return "he"
        first = self.bare[0] if self.is_english else ""
        if first in HE_NAMES and first not in SHE_NAMES and (len(self.bare) > 1 or not self.title):
            return "he"
        if first in SHE_NAMES and first not in HE_NAMES and (len(self.bare) > 1 or not self.title):
            return "she"
        return PERSONS.get(self.words[-1]) or None


@dataclass(slots=True)
class _Bearer:
    """Forms that name one person."""

    forms: list[_Form] = field(default_factory=list)
    pronoun: str | None = None
    given: set[str] = field(default_factory=set)
    surname: str = ""

    @property
    def times(self) -> int:
        return sum(form.times for form in self.forms)


def roster(
    chapters: Sequence[Sequence[str]], quoted: Sequence[Sequence[Quotation]], language: str
) -> tuple[Character, ...]:
    """The characters of a book in `language` (a BCP 47 tag), those named most first."""
    forms = _forms(chapters, quoted, language)
    people = _joined([form for form in forms if _is_person(form)])
    people.sort(key=lambda person: -person.times)
    return tuple(_character(person) for person in people)


def _character(person: _Bearer) -> Character:
    shown = sorted(person.forms, key=lambda form: (-len(form.bare), -form.times))
    most = max(person.forms, key=lambda form: form.times)
    full = [form for form in shown if len(form.bare) > 1 and form.times * 20 >= most.times]
    main = full[0] if full else most
    names = dict.fromkeys(form.shown for form in sorted(person.forms, key=lambda f: -f.times))
    aliases = tuple(name for name in names if name != main.shown)
    told = any(form.pronoun and form.title not in _MEN for form in person.forms)
    return Character(main.shown, aliases, person.pronoun if told else None)


def _is_person(form: _Form) -> bool:
    if form.noun:
        return _is_role(form)
    if form.title and len(form.words) > 1:
        return True
    named = form.tags + form.called
    if form.words[-1] in _TOWNS or (form.placed * 3 > form.times and named < 2):
        return False
    if form.placed * 4 > form.times and form.placed > 5 * named and not form.tags:
        return False
    if form.inner >= 1 and (form.tags >= 1 or (form.called >= 2 and form.inner >= 2)):
        return True
    known = form.bare[0] in HE_NAMES or form.bare[0] in SHE_NAMES
    return known and (len(form.bare) > 1 or (form.inner >= 1 and form.times >= 2))


def _is_role(form: _Form) -> bool:
    """Whether "the landlord" speaks often enough to be one of the cast."""
    often = form.tags >= 3 or (form.tags >= 2 and form.inner >= 3)
    return often and form.words[-1] not in _VAGUE


_TOWNS = frozenset(
    "street road lane square park house hall court place castle abbey church bridge hill island "
    "islands river sea bay county avenue gardens inn hotel club college school university library "
    "company society row terrace station gables pond wood woods lake cottage farm grange manor "
    "street. day night morning evening english french".split()
)


def _forms(
    chapters: Sequence[Sequence[str]], quoted: Sequence[Sequence[Quotation]], language: str
) -> list[_Form]:
    """All names of a text, with where they stand."""
    found: dict[Words, _Form] = {}
    small = Counter[str]()
    is_english = primary(language) == "en"
    for paragraphs in chapters:
        for text in paragraphs:
            small.update(t.norm for t in tokens(text) if not t.capital)
    for paragraphs, quotations in zip(chapters, quoted, strict=True):
        pieces: dict[int, list[Quotation]] = defaultdict(list)
        for quotation in quotations:
            pieces[quotation.paragraph].append(quotation)
        for number, text in enumerate(paragraphs):
            own = pieces.get(number, [])
            tagged = None if is_english else list(_tagged(text, own, language))
            _note(text, own, tagged, found, small)
    for form in found.values():
        form.is_english = is_english
    return list(found.values())


def _tagged(text: str, pieces: Sequence[Quotation], language: str) -> Iterator[tuple[int, int]]:
    """Where the tags of a paragraph have their subjects, in any language whose verbs are known."""
    ends = [0, *(piece.stop for piece in pieces)]
    for start, stop in zip(ends, [*(piece.start for piece in pieces), len(text)], strict=True):
        leads = text[start:stop].rstrip()[-1:] in (":", ",")
        subject = named_in_tag(text[start:stop], language) if start or leads else None
        if pieces and subject is not None:
            yield start + subject.start, start + subject.stop


def _note(
    text: str,
    pieces: Sequence[Quotation],
    tagged: Sequence[tuple[int, int]] | None,
    found: dict[Words, _Form],
    small: Counter[str],
) -> None:
    """Count the names of a paragraph; `tagged` are the subjects of its tags, if they are known."""
    words = tokens(text)
    starts = [piece.start for piece in pieces]
    stops = [piece.stop for piece in pieces]
    for first, last, noun in _runs(words, text, small):
        while not noun and last - first > 1 and words[first].norm in _ADJECTIVES:
            first += 1
        run = words[first:last]
        if not noun and run[0].norm in NOT_NAMES and run[0].norm not in TITLES:
            continue
        form = _form(run, text, noun, found)
        before = _mark_before(text, run[0].start)
        form.times += 1
        form.inner += bool(before) and before not in _OPENING
        form.placed += first > 0 and words[first - 1].norm in _PLACES
        piece = bisect_left(starts, run[0].start + 1) - 1
        if piece >= 0 and run[0].start < pieces[piece].stop:
            closed = text[run[-1].stop : run[-1].stop + 1] in tuple(",!?.;")
            form.called += closed and (not before or before in ',!?."“‘—')
        else:
            form.told += 1
            if tagged is None:
                low = bisect_left(stops, run[0].start - 39)
                high = bisect_left(starts, run[-1].stop + 60)
                form.tags += _in_tag(words, first, last, text, pieces[low:high])
            else:
                form.tags += any(a < run[-1].stop and run[0].start < b for a, b in tagged)


_OPENING = ".!?:;\"“”‘’'—-…"
"""Marks after which a sentence begins."""


def _mark_before(text: str, start: int) -> str:
    """The character before a place, spaces aside."""
    while start and text[start - 1].isspace():
        start -= 1
    return text[start - 1 : start]


def _form(run: Sequence[Token], text: str, noun: bool, found: dict[Words, _Form]) -> _Form:
    """The form of a name that stands here."""
    key = tuple(SHORT.get(token.norm, token.norm) for token in run)
    shown = " ".join(text[run[0].start : run[-1].stop].split())
    if run[-1].possessive:
        shown = shown[:-2]
    if noun:
        shown = f"the{shown[3:]}"
    form = found.setdefault(key, _Form(key, noun=noun))
    form.written[shown] += 1
    return form


def _in_tag(
    words: Sequence[Token], first: int, last: int, text: str, pieces: Sequence[Quotation]
) -> bool:
    """Whether a name is the subject of a verb of speech beside a quotation."""
    if words[last - 1].possessive:
        return False
    behind = words[last].norm if last < len(words) else ""
    said = _said_before([word.norm for word in words[max(0, first - 2) : first]])
    start, stop = words[first].start, words[last - 1].stop
    for piece in pieces:
        gap = text[piece.stop : start]
        if 0 <= start - piece.stop < 40 and not any(c in gap for c in ".!?;"):
            return said or (behind in SAID and len(gap.split()) < 3)
        gap = text[stop : piece.start].rstrip()[-1:]
        if 0 <= piece.start - stop < 60 and behind in SURE_SAID:
            return gap in tuple(",:-—") or gap.isalpha()
    return False


_PARTICLES = frozenset("in out up on".split())


def _said_before(words: Sequence[str]) -> bool:
    """Whether a verb of speech stands before a name: `said`, `broke in`."""
    if words and words[-1] in _PARTICLES:
        words = words[:-1]
    return bool(words) and words[-1] in SAID


def _runs(
    words: Sequence[Token], text: str, small: Counter[str]
) -> Iterator[tuple[int, int, bool]]:
    """Runs of capitalised words that may be names, and nouns for persons with their article."""
    at = 0
    while at < len(words):
        token = words[at]
        if token.norm == "the" and at + 1 < len(words):
            end = _noun_end(words, at, text)
            if end:
                yield at, end, True
                at = end
                continue
        if not token.capital or (token.norm in NOT_NAMES and token.norm not in TITLES):
            at += 1
            continue
        end = at + 1
        while end < len(words) and _joins(words, end, text) and not words[end - 1].possessive:
            end += 1
        while end > at + 1 and words[end - 1].norm in _JOINTS | _AFTER_NAMES:
            end -= 1
        run = words[at:end]
        if _may_name(run, text, small):
            yield at, end, False
        at = end


def _joins(words: Sequence[Token], at: int, text: str) -> bool:
    """Whether a word goes on the run of capitals before it."""
    gap = text[words[at - 1].stop : words[at].start]
    before = words[at - 1]
    word = words[at]
    stopped = gap.strip() == "."
    if stopped and not (before.norm in _ABBREVIATED or len(before.norm) == 1):
        return False
    if gap.strip() not in ("", "-", "."):
        return False
    if word.norm in _JOINTS and at + 1 < len(words):
        whose = word.norm != "of" or before.norm in TITLES
        return whose and words[at + 1].capital and text[word.stop : words[at + 1].start] == " "
    return word.capital and (word.norm not in NOT_NAMES or (word.norm in TITLES and not stopped))


def _may_name(run: Sequence[Token], text: str, small: Counter[str]) -> bool:
    """Whether capitals are more than a sentence's beginning."""
    first = run[0]
    if len(run) == 1:
        if first.norm in TITLES or first.norm in NOT_NAMES or len(first.norm) < 2:
            return False
        before = _mark_before(text, first.start)
        opens = not before or before in ".!?:;\"“”‘’'—-…"
        return not (opens and small[first.norm] > 2)
    return not all(t.norm in NOT_NAMES for t in run)


def _noun_end(words: Sequence[Token], at: int, text: str) -> int | None:
    """The end of "the old landlord" or "the White Rabbit"."""
    for place in range(at + 1, min(at + 4, len(words))):
        if text[words[place - 1].stop : words[place].start].strip(" -"):
            return None
        norm = words[place].norm
        nxt = words[place + 1] if place + 1 < len(words) else None
        if norm in PERSONS and not (
            nxt and nxt.norm in PERSONS and text[words[place].stop : nxt.start] == " "
        ):
            return place + 1
        if (
            words[place].capital
            and norm not in NOT_NAMES
            and not (nxt and nxt.capital and text[words[place].stop : nxt.start] == " ")
        ):
            return None if norm in _TOWNS else place + 1
    return None


# -- which names are one person's


def _joined(forms: Sequence[_Form]) -> list[_Bearer]:
    """People, each with the forms of its name: full names first, then their parts."""
    people: list[_Bearer] = []
    told = {form.words: form.told for form in forms}
    order = sorted(forms, key=lambda f: (f.noun, -min(2, len(f.bare)), not f.title, -f.times))
    for form in order:
        person = _owner(form, people, told)
        if person is None:
            person = _Bearer(pronoun=form.pronoun)
            people.append(person)
        person.forms.append(form)
        person.pronoun = person.pronoun or form.pronoun
        if form.noun:
            continue
        if len(form.bare) > 1:
            person.given.add(form.bare[0])
            person.surname = person.surname or form.bare[-1]
        elif form.title and TITLES[form.title] is not None and form.title in _BEFORE_SURNAMES:
            person.surname = person.surname or form.bare[-1]
        else:
            person.given.add(form.bare[-1])
    return people


_BEFORE_SURNAMES = frozenset(
    "mr mrs miss ms dr prof capt col major gen lieutenant sergeant inspector professor reverend "
    "rev judge monsieur madame mademoiselle herr frau fraulein fräulein signor squire".split()
)


def _owner(form: _Form, people: Sequence[_Bearer], told: Mapping[Words, int]) -> _Bearer | None:
    """Who bears a name already, by another form of it."""
    able = [person for person in people if _fits(form, person) and not _elder(form, person, told)]
    if not able:
        return None
    return max(able, key=lambda person: (_closeness(form, person), person.times))


def _elder(form: _Form, person: _Bearer, told: Mapping[Words, int]) -> bool:
    """Whether "Mr. Wilcox" is another than Charles Wilcox: he is called so again and again, and
    Charles by his own name, hardly ever by both."""
    if form.words[0] != "mr" or len(form.words) != 2 or form.told < 20:
        return False
    whole = sum(own.told for own in person.forms if len(own.bare) > 1)
    titled = sum(own.told for own in person.forms if len(own.bare) > 1 and own.title == "mr")
    alone = sum(told.get((given,), 0) for given in person.given)
    return whole < 0.3 * form.told and (alone >= 10 or titled >= 10)


def _closeness(form: _Form, person: _Bearer) -> int:
    return int(form.bare[-1] in person.given) + int(
        form.pronoun is not None and form.pronoun == person.pronoun
    )


def _fits(form: _Form, person: _Bearer) -> bool:
    """Whether a form may be another name of a person."""
    if form.pronoun and person.pronoun and form.pronoun != person.pronoun:
        return False
    if form.noun:
        return _fits_noun(form, person)
    first, last = form.bare[0], form.bare[-1]
    if len(form.bare) > 1 and person.surname != last:
        return any(set(form.bare) == set(own.bare) for own in person.forms)
    by_given = any(_same_given(first, given) for given in person.given)
    if len(form.bare) > 1:
        return by_given and not _rivals(form, person)
    if form.title in _BEFORE_SURNAMES:
        return _fits_title(form, person)
    return by_given or (first == person.surname and not _is_lady(person))


def _is_lady(person: _Bearer) -> bool:
    """Whether a person is known as Mrs. or Miss Hart alone: "Hart" is another, in most books."""
    own = (form for form in person.forms if form.title != "mrs")
    return person.pronoun == "she" and not any(len(form.bare) > 1 for form in own)


def _fits_title(form: _Form, person: _Bearer) -> bool:
    """Whether "Miss Bell" may be a person: by surname, else "Miss Anne" by the given name."""
    word = form.bare[0]
    if word == person.surname:
        return not _rivals(form, person)
    return word in person.given and not any(
        own.title in _BEFORE_SURNAMES and own.bare[-1] != word for own in person.forms
    )


def _fits_noun(form: _Form, person: _Bearer) -> bool:
    """Whether "the old landlord" is the landlord, or "the Professor" Professor Snow."""
    for own in person.forms:
        if own.noun and own.words[-1] == form.words[-1] and _alike(own.words, form.words):
            return True
        if not own.noun and own.title == form.words[-1]:
            return True
    return False


def _rivals(form: _Form, person: _Bearer) -> bool:
    """Whether titles keep two apart: Mrs. Bennet is not Miss Bennet."""
    titles = {own.title for own in person.forms if own.title}
    if not form.title or not titles:
        return False
    return ({form.title} | titles) >= {"mrs", "miss"} and form.title not in titles


def _same_given(one: str, other: str) -> bool:
    if one == other:
        return True
    if len(one) == 1 or len(other) == 1:
        return one[0] == other[0]
    return NICKNAMES.get(one, one) == NICKNAMES.get(other, other)


def _alike(one: Words, other: Words) -> bool:
    return set(one) <= set(other) or set(other) <= set(one)
