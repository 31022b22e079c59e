"""Finds the characters of an English book in its text: names, groups of names, and nouns.

A run of capitalised words is a name if a title comes before it, if it is the subject of a verb of
speech next to a quotation, or if somebody is addressed by it; names are then grouped by their parts
("Emma", "Miss Woodhouse", "Emma Woodhouse").
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.quotations import Quotation
from narrator.text.speakers.names import Character, Token, Words, tokens
from narrator.text.speakers.roster_by_tags import roster_by_tags
from narrator.text.speakers.words import (
    HE_NAMES,
    NICKNAMES,
    NOT_NAMES,
    PERSONS,
    PLACE_WORDS,
    SAID,
    SHE_NAMES,
    SHORT,
    SURE_SAID,
    TITLES,
)
from textbase.languages import primary

_NAME_PARTICLES = frozenset("of de du la le van von der da di".split())
_AFTER_NAMES = frozenset("esquire esq".split())
_ABBREVIATED = frozenset("mr mrs ms dr st messrs capt col gen rev prof hon mme mlle".split())
_PLACE_PREPOSITIONS = frozenset(
    "in at from to near through towards toward round about across".split()
)
_ADJECTIVES = frozenset("dear poor old young little good honest lovely sweet darling big".split())
_MALE_TITLES = frozenset(
    "dr prof capt col major gen lieutenant sergeant inspector admiral reverend rev bishop judge "
    "corporal superintendent constable commander squire cardinal mayor governor senator".split()
)
"""Titles that are men's in most books out of copyright."""
_GENERIC_NOUNS = frozenset(
    "man woman girl boy lady gentleman one other person voice fellow young elder younger latter "
    "former creature speaker figure child companion friend people lad youth".split()
)
"""Nouns for people of a single scene, which name nobody throughout a book."""


@dataclass(slots=True)
class _NameForm:
    """One form of a name, with counts of its uses."""

    words: Words
    """Folded words, titles abbreviated."""
    written: Counter[str] = field(default_factory=Counter)
    count: int = 0
    narration_count: int = 0
    """Uses in narration."""
    tag_count: int = 0
    """Uses as the subject of a tag."""
    vocative_count: int = 0
    """Uses as a vocative."""
    place_count: int = 0
    """Uses after a preposition of place."""
    inner_count: int = 0
    """Uses within a sentence, not at its beginning."""
    is_noun: bool = False
    """True for a common noun with an article."""

    @property
    def spelling(self) -> str:
        """Most frequent spelling, in capitals only if it always is."""
        mixed_case = Counter(
            {name: count for name, count in self.written.items() if not name.isupper()}
        )
        return (mixed_case or self.written).most_common(1)[0][0]

    @property
    def title(self) -> str:
        return self.words[0] if self.words[0] in TITLES and len(self.words) > 1 else ""

    @property
    def words_without_title(self) -> Words:
        words_without_titles = tuple(word for word in self.words if word not in TITLES)
        return words_without_titles or self.words

    @property
    def pronoun(self) -> str | None:
        """The pronoun that title, given name or noun implies, or None."""
        if self.title and TITLES[self.title]:
            return TITLES[self.title]
        if self.title in _MALE_TITLES:
            return "he"
        names = self.words_without_title
        if len(names) > 1 or not self.title:
            is_male, is_female = names[0] in HE_NAMES, names[0] in SHE_NAMES
            if is_male != is_female:
                return "he" if is_male else "she"
        return PERSONS.get(self.words[-1]) or None


@dataclass(slots=True)
class _Person:
    """A group of name forms of one person."""

    forms: list[_NameForm] = field(default_factory=list)
    pronoun: str | None = None
    given_names: set[str] = field(default_factory=set)
    surname: str = ""

    @property
    def count(self) -> int:
        return sum(form.count for form in self.forms)


def roster(
    chapters: Sequence[Sequence[str]], quoted: Sequence[Sequence[Quotation]], language: str
) -> tuple[Character, ...]:
    """Finds the characters of a book in `language` (a BCP 47 tag), the most frequent first."""
    if primary(language) != "en":
        return roster_by_tags(chapters, quoted, language)
    forms = _collect_forms(chapters, quoted)
    people = _group_people([form for form in forms if _is_person(form)])
    people.sort(key=lambda person: -person.count)
    return tuple(_make_character(person) for person in people)


def _make_character(person: _Person) -> Character:
    """Converts a group of name forms to a character: name, aliases, pronoun."""
    ranked_forms = sorted(
        person.forms, key=lambda form: (-len(form.words_without_title), -form.count)
    )
    commonest = max(person.forms, key=lambda form: form.count)
    full_forms = [
        form
        for form in ranked_forms
        if len(form.words_without_title) > 1 and form.count * 20 >= commonest.count
    ]
    main_form = full_forms[0] if full_forms else commonest
    names = dict.fromkeys(form.spelling for form in sorted(person.forms, key=lambda f: -f.count))
    aliases = tuple(name for name in names if name != main_form.spelling)
    has_known_pronoun = any(
        form.pronoun and form.title not in _MALE_TITLES for form in person.forms
    )
    return Character(main_form.spelling, aliases, person.pronoun if has_known_pronoun else None)


def _is_person(form: _NameForm) -> bool:
    """Returns whether the uses of a name form show that it names a person."""
    if form.is_noun:
        return _is_role(form)
    if form.title and len(form.words) > 1:
        return True
    evidence = form.tag_count + form.vocative_count
    if form.words[-1] in PLACE_WORDS or (form.place_count * 3 > form.count and evidence < 2):
        return False
    if form.place_count * 4 > form.count and form.place_count > 5 * evidence and not form.tag_count:
        return False
    if form.inner_count >= 1 and (
        form.tag_count >= 1 or (form.vocative_count >= 2 and form.inner_count >= 2)
    ):
        return True
    names = form.words_without_title
    is_given_name = names[0] in HE_NAMES or names[0] in SHE_NAMES
    return is_given_name and (len(names) > 1 or (form.inner_count >= 1 and form.count >= 2))


def _is_role(form: _NameForm) -> bool:
    """Returns whether a role like "the landlord" speaks often enough to be in the cast."""
    is_frequent = form.tag_count >= 3 or (form.tag_count >= 2 and form.inner_count >= 3)
    return is_frequent and form.words[-1] not in _GENERIC_NOUNS


def _collect_forms(
    chapters: Sequence[Sequence[str]], quoted: Sequence[Sequence[Quotation]]
) -> list[_NameForm]:
    """Collects all name forms of a text with their counts."""
    forms: dict[Words, _NameForm] = {}
    lower_case_counts = Counter[str]()
    for paragraphs in chapters:
        for text in paragraphs:
            lower_case_counts.update(
                token.norm for token in tokens(text) if not token.is_capitalised
            )
    for paragraphs, quotations in zip(chapters, quoted, strict=True):
        pieces: dict[int, list[Quotation]] = defaultdict(list)
        for quotation in quotations:
            pieces[quotation.paragraph].append(quotation)
        for index, text in enumerate(paragraphs):
            paragraph_pieces = pieces.get(index, [])
            _count_names(text, paragraph_pieces, forms, lower_case_counts)
    return list(forms.values())


def _count_names(
    text: str,
    pieces: Sequence[Quotation],
    forms: dict[Words, _NameForm],
    lower_case_counts: Counter[str],
) -> None:
    """Counts the names of a paragraph."""
    words = tokens(text)
    starts = [piece.start for piece in pieces]
    stops = [piece.stop for piece in pieces]
    for first, last, is_noun in _name_runs(words, text, lower_case_counts):
        while not is_noun and last - first > 1 and words[first].norm in _ADJECTIVES:
            first += 1
        run = words[first:last]
        if not is_noun and run[0].norm in NOT_NAMES and run[0].norm not in TITLES:
            continue
        form = _get_form(run, text, is_noun, forms)
        mark_before = _mark_before(text, run[0].start)
        form.count += 1
        form.inner_count += bool(mark_before) and mark_before not in _OPENING
        form.place_count += first > 0 and words[first - 1].norm in _PLACE_PREPOSITIONS
        piece = bisect_left(starts, run[0].start + 1) - 1
        if piece >= 0 and run[0].start < pieces[piece].stop:
            is_closed = text[run[-1].stop : run[-1].stop + 1] in tuple(",!?.;")
            form.vocative_count += is_closed and (not mark_before or mark_before in ',!?."“‘—')
        else:
            form.narration_count += 1
            first_piece = bisect_left(stops, run[0].start - 39)
            last_piece = bisect_left(starts, run[-1].stop + 60)
            form.tag_count += _is_tag_subject(
                words, first, last, text, pieces[first_piece:last_piece]
            )


_OPENING = ".!?:;\"“”‘’'—-…"
"""Marks after which a sentence begins."""


def _mark_before(text: str, start: int) -> str:
    """Returns the last character before an offset that is not white space."""
    while start and text[start - 1].isspace():
        start -= 1
    return text[start - 1 : start]


def _get_form(
    run: Sequence[Token], text: str, is_noun: bool, forms: dict[Words, _NameForm]
) -> _NameForm:
    """Returns the form of a run of words, and counts its spelling."""
    key = tuple(SHORT.get(token.norm, token.norm) for token in run)
    spelling = " ".join(text[run[0].start : run[-1].stop].split())
    if run[-1].is_possessive:
        spelling = spelling[:-2]
    if is_noun:
        spelling = f"the{spelling[3:]}"
    form = forms.setdefault(key, _NameForm(key, is_noun=is_noun))
    form.written[spelling] += 1
    return form


def _is_tag_subject(
    words: Sequence[Token], first: int, last: int, text: str, pieces: Sequence[Quotation]
) -> bool:
    """Returns whether a name is the subject of a verb of speech next to a quotation."""
    if words[last - 1].is_possessive:
        return False
    next_norm = words[last].norm if last < len(words) else ""
    follows_verb = _follows_speech_verb([word.norm for word in words[max(0, first - 2) : first]])
    start, stop = words[first].start, words[last - 1].stop
    for piece in pieces:
        gap = text[piece.stop : start]
        if 0 <= start - piece.stop < 40 and not any(character in gap for character in ".!?;"):
            return follows_verb or (next_norm in SAID and len(gap.split()) < 3)
        gap = text[stop : piece.start].rstrip()[-1:]
        if 0 <= piece.start - stop < 60 and next_norm in SURE_SAID:
            return gap in tuple(",:-—") or gap.isalpha()
    return False


_PARTICLES = frozenset("in out up on".split())


def _follows_speech_verb(words: Sequence[str]) -> bool:
    """Returns whether a verb of speech comes before a name: `said`, `broke in`."""
    if words and words[-1] in _PARTICLES:
        words = words[:-1]
    return bool(words) and words[-1] in SAID


def _name_runs(
    words: Sequence[Token], text: str, lower_case_counts: Counter[str]
) -> Iterator[tuple[int, int, bool]]:
    """Yields runs of capitalised words that may be names, and nouns with their article."""
    index = 0
    while index < len(words):
        token = words[index]
        if token.norm == "the" and index + 1 < len(words):
            end = _noun_end(words, index, text)
            if end:
                yield index, end, True
                index = end
                continue
        if not token.is_capitalised or (token.norm in NOT_NAMES and token.norm not in TITLES):
            index += 1
            continue
        end = index + 1
        while (
            end < len(words)
            and _continues_name(words, end, text)
            and not words[end - 1].is_possessive
        ):
            end += 1
        while end > index + 1 and words[end - 1].norm in _NAME_PARTICLES | _AFTER_NAMES:
            end -= 1
        run = words[index:end]
        if _is_possible_name(run, text, lower_case_counts):
            yield index, end, False
        index = end


def _continues_name(words: Sequence[Token], index: int, text: str) -> bool:
    """Returns whether a word continues the run of capitalised words before it."""
    gap = text[words[index - 1].stop : words[index].start]
    previous = words[index - 1]
    word = words[index]
    has_full_stop = gap.strip() == "."
    if has_full_stop and not (previous.norm in _ABBREVIATED or len(previous.norm) == 1):
        return False
    if gap.strip() not in ("", "-", "."):
        return False
    if word.norm in _NAME_PARTICLES and index + 1 < len(words):
        may_join = word.norm != "of" or previous.norm in TITLES
        return (
            may_join
            and words[index + 1].is_capitalised
            and text[word.stop : words[index + 1].start] == " "
        )
    return word.is_capitalised and (
        word.norm not in NOT_NAMES or (word.norm in TITLES and not has_full_stop)
    )


def _is_possible_name(run: Sequence[Token], text: str, lower_case_counts: Counter[str]) -> bool:
    """Returns whether capitals are not just those of a sentence's beginning."""
    first = run[0]
    if len(run) == 1:
        if first.norm in TITLES or first.norm in NOT_NAMES or len(first.norm) < 2:
            return False
        mark_before = _mark_before(text, first.start)
        begins_sentence = not mark_before or mark_before in ".!?:;\"“”‘’'—-…"
        return not (begins_sentence and lower_case_counts[first.norm] > 2)
    return not all(token.norm in NOT_NAMES for token in run)


def _noun_end(words: Sequence[Token], index: int, text: str) -> int | None:
    """Returns the index after "the old landlord" or "the White Rabbit", or None."""
    for word_index in range(index + 1, min(index + 4, len(words))):
        if text[words[word_index - 1].stop : words[word_index].start].strip(" -"):
            return None
        norm = words[word_index].norm
        next_word = words[word_index + 1] if word_index + 1 < len(words) else None
        if norm in PERSONS and not (
            next_word
            and next_word.norm in PERSONS
            and text[words[word_index].stop : next_word.start] == " "
        ):
            return word_index + 1
        if (
            words[word_index].is_capitalised
            and norm not in NOT_NAMES
            and not (
                next_word
                and next_word.is_capitalised
                and text[words[word_index].stop : next_word.start] == " "
            )
        ):
            return None if norm in PLACE_WORDS else word_index + 1
    return None


# -- which names are one person's


def _group_people(forms: Sequence[_NameForm]) -> list[_Person]:
    """Groups name forms into people: full names first, then their parts."""
    people: list[_Person] = []
    narration_counts = {form.words: form.narration_count for form in forms}
    ordered_forms = sorted(
        forms, key=lambda f: (f.is_noun, -min(2, len(f.words_without_title)), not f.title, -f.count)
    )
    for form in ordered_forms:
        person = _find_person(form, people, narration_counts)
        if person is None:
            person = _Person(pronoun=form.pronoun)
            people.append(person)
        person.forms.append(form)
        person.pronoun = person.pronoun or form.pronoun
        if form.is_noun:
            continue
        if len(form.words_without_title) > 1:
            person.given_names.add(form.words_without_title[0])
            person.surname = person.surname or form.words_without_title[-1]
        elif form.title and TITLES[form.title] is not None and form.title in _BEFORE_SURNAMES:
            person.surname = person.surname or form.words_without_title[-1]
        else:
            person.given_names.add(form.words_without_title[-1])
    return people


_BEFORE_SURNAMES = frozenset(
    "mr mrs miss ms dr prof capt col major gen lieutenant sergeant inspector professor reverend "
    "rev judge monsieur madame mademoiselle herr frau fraulein fräulein signor squire".split()
)


def _find_person(
    form: _NameForm, people: Sequence[_Person], narration_counts: Mapping[Words, int]
) -> _Person | None:
    """Returns the person that a form most likely names, or None."""
    matching = [
        person
        for person in people
        if _may_be_person(form, person) and not _is_older_namesake(form, person, narration_counts)
    ]
    if not matching:
        return None
    return max(matching, key=lambda person: (_closeness(form, person), person.count))


def _is_older_namesake(
    form: _NameForm, person: _Person, narration_counts: Mapping[Words, int]
) -> bool:
    """Returns whether "Mr. Wilcox" is not Charles Wilcox.

    That is so if the title and surname, and Charles's own name, are frequent, but hardly ever used
    together.
    """
    if form.words[0] != "mr" or len(form.words) != 2 or form.narration_count < 20:
        return False
    full_name_count = sum(
        person_form.narration_count
        for person_form in person.forms
        if len(person_form.words_without_title) > 1
    )
    titled_count = sum(
        person_form.narration_count
        for person_form in person.forms
        if len(person_form.words_without_title) > 1 and person_form.title == "mr"
    )
    given_name_count = sum(
        narration_counts.get((given_name,), 0) for given_name in person.given_names
    )
    return full_name_count < 0.3 * form.narration_count and (
        given_name_count >= 10 or titled_count >= 10
    )


def _closeness(form: _NameForm, person: _Person) -> int:
    return int(form.words_without_title[-1] in person.given_names) + int(
        form.pronoun is not None and form.pronoun == person.pronoun
    )


def _may_be_person(form: _NameForm, person: _Person) -> bool:
    """Returns whether a form may be another name of a person."""
    if form.pronoun and person.pronoun and form.pronoun != person.pronoun:
        return False
    if form.is_noun:
        return _fits_noun(form, person)
    first, last = form.words_without_title[0], form.words_without_title[-1]
    if len(form.words_without_title) > 1 and person.surname != last:
        return any(
            set(form.words_without_title) == set(person_form.words_without_title)
            for person_form in person.forms
        )
    has_same_given_name = any(
        _is_same_given_name(first, given_name) for given_name in person.given_names
    )
    if len(form.words_without_title) > 1:
        return has_same_given_name and not _are_rivals(form, person)
    if form.title in _BEFORE_SURNAMES:
        return _fits_title(form, person)
    return has_same_given_name or (first == person.surname and not _is_lady(person))


def _is_lady(person: _Person) -> bool:
    """Returns whether a person is known only as Mrs. or Miss Hart; "Hart" is then someone else."""
    other_forms = (form for form in person.forms if form.title != "mrs")
    return person.pronoun == "she" and not any(
        len(form.words_without_title) > 1 for form in other_forms
    )


def _fits_title(form: _NameForm, person: _Person) -> bool:
    """Returns whether "Miss Bell" may be a person: by surname, else "Miss Anne" by given name."""
    word = form.words_without_title[0]
    if word == person.surname:
        return not _are_rivals(form, person)
    return word in person.given_names and not any(
        person_form.title in _BEFORE_SURNAMES and person_form.words_without_title[-1] != word
        for person_form in person.forms
    )


def _fits_noun(form: _NameForm, person: _Person) -> bool:
    """Returns whether "the old landlord" is the landlord, or "the Professor" Professor Snow."""
    for person_form in person.forms:
        if (
            person_form.is_noun
            and person_form.words[-1] == form.words[-1]
            and _is_subset(person_form.words, form.words)
        ):
            return True
        if not person_form.is_noun and person_form.title == form.words[-1]:
            return True
    return False


def _are_rivals(form: _NameForm, person: _Person) -> bool:
    """Returns whether titles separate two people: Mrs. Bennet is not Miss Bennet."""
    titles = {person_form.title for person_form in person.forms if person_form.title}
    if not form.title or not titles:
        return False
    return ({form.title} | titles) >= {"mrs", "miss"} and form.title not in titles


def _is_same_given_name(name: str, other_name: str) -> bool:
    if name == other_name:
        return True
    if len(name) == 1 or len(other_name) == 1:
        return name[0] == other_name[0]
    return NICKNAMES.get(name, name) == NICKNAMES.get(other_name, other_name)


def _is_subset(words: Words, other_words: Words) -> bool:
    return set(words) <= set(other_words) or set(other_words) <= set(words)
