"""Finds the characters of an English book in its text: names, groups of names, and nouns.

A run of capitalised words is a name if a title comes before it, if it is the subject of a verb of
speech next to a quotation, or if somebody is addressed by it; names are then grouped by their parts
("Emma", "Miss Woodhouse", "Emma Woodhouse").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.quotations import Quotation
from narrator.text.speakers.mentions import ACTION_WORDS
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
_SAINTS = frozenset("st saint".split())
_DETERMINERS = frozenset(
    "a an this that these those some any no such much more his her its their my our your".split()
)
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
    determiner_count: int = 0
    """Uses after "some", "this", "his"…"""
    action_count: int = 0
    """Uses in narration before a verb that tells what somebody does."""
    beat_count: int = 0
    """Uses that begin a paragraph in which somebody speaks later."""
    lower_case_count: int = 0
    """Uses of its last word without a capital."""
    title_count: int = 0
    """Uses that stand alone in quotation marks, as names of inns, ships and books do."""
    sentences: set[int] = field(default_factory=set)
    """Sentences of narration that use it, by number in the book."""
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
    people = _group_people(_people_forms(forms))
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


def _people_forms(forms: Mapping[Words, _NameForm]) -> list[_NameForm]:
    """Returns the forms that name people: also "Israel Hands" if both "Israel" and "Hands" do."""
    people_forms = {
        words: form for words, form in forms.items() if _is_person(form, forms.get(("the", *words)))
    }
    for words, form in forms.items():
        is_frequent = form.inner_count >= 1 and form.count >= 2
        if words not in people_forms and len(words) > 1 and not form.is_noun and is_frequent:
            ends_with_name = len(words) > 2 and words[-2:] in people_forms
            if ends_with_name or (words[:1] in people_forms and words[-1:] in people_forms):
                people_forms[words] = form
    return list(people_forms.values())


_MIN_ACTIONS = 2
"""Sentences in which somebody acts who is never named in a tag."""


def _is_person(form: _NameForm, form_with_article: _NameForm | None) -> bool:
    """Returns whether the uses of a name form show that it names a person."""
    if form.is_noun:
        return _is_role(form)
    evidence = form.tag_count + form.vocative_count
    if form.title_count * 2 > form.count:
        return False
    if form.title == "messrs":
        return False
    if form.title:
        if form.title in _SAINTS:
            return form.tag_count > 0
        return form.title != "m" or len(form.words[-1]) > 1
    uses_as_noun = form.determiner_count + (form_with_article.count if form_with_article else 0)
    if len(form.words) == 1 and uses_as_noun * 5 > form.count and form.tag_count * 20 < form.count:
        return False  # Magic, the Magic, some Magic
    if form.words[-1] in PLACE_WORDS or (form.place_count * 3 > form.count and evidence < 2):
        return False
    if form.place_count * 4 > form.count and form.place_count > 5 * evidence and not form.tag_count:
        return False
    if form.inner_count >= 1 and (
        form.tag_count >= 1 or (form.vocative_count >= 2 and form.inner_count >= 2)
    ):
        return True
    if (
        form.inner_count >= 1
        and form.beat_count >= 1
        and form.action_count >= _MIN_ACTIONS
        and form.action_count * 4 >= form.count
        and not form.lower_case_count
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
) -> dict[Words, _NameForm]:
    """Collects all name forms of a text with their counts."""
    forms: dict[Words, _NameForm] = {}
    lower_case_counts = Counter[str]()
    for paragraphs in chapters:
        for text in paragraphs:
            lower_case_counts.update(
                token.norm for token in tokens(text) if not token.is_capitalised
            )
    sentence_number = 0
    for paragraphs, quotations in zip(chapters, quoted, strict=True):
        pieces: dict[int, list[Quotation]] = defaultdict(list)
        for quotation in quotations:
            pieces[quotation.paragraph].append(quotation)
        for index, text in enumerate(paragraphs):
            if not text.isupper():  # a heading
                sentence_number += 1
                sentence_number = _count_names(
                    text, pieces.get(index, []), forms, lower_case_counts, sentence_number
                )
    for words, form in forms.items():
        form.lower_case_count = lower_case_counts[words[-1]]
    return forms


def _count_names(
    text: str,
    pieces: Sequence[Quotation],
    forms: dict[Words, _NameForm],
    lower_case_counts: Counter[str],
    sentence_number: int,
) -> int:
    """Counts the names of a paragraph; `sentence_number` is that of its first sentence. Returns
    that of its last one."""
    words = tokens(text)
    sentence_stop = 0
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
        form.determiner_count += first > 0 and words[first - 1].norm in _DETERMINERS
        form.title_count += _is_quoted_title(text, run[0].start, run[-1].stop)
        piece = bisect_left(starts, run[0].start + 1) - 1
        if piece >= 0 and run[0].start < pieces[piece].stop:
            is_closed = text[run[-1].stop : run[-1].stop + 1] in tuple(",!?.;")
            form.vocative_count += is_closed and (not mark_before or mark_before in ',!?."“‘—')
        else:
            form.narration_count += 1
            next_norm = words[last].norm if last < len(words) else ""
            is_subject = not run[-1].is_possessive and text[run[-1].stop :][:1] == " "
            form.action_count += is_subject and (
                next_norm in ACTION_WORDS or next_norm in SAID or next_norm.endswith("ed")
            )
            form.beat_count += is_subject and not text[: run[0].start].strip() and bool(pieces)
            if _SENTENCE_END.search(text, sentence_stop, run[0].start):
                sentence_number += 1
            sentence_stop = run[-1].stop
            form.sentences.add(sentence_number)
            first_piece = bisect_left(stops, run[0].start - 39)
            last_piece = bisect_left(starts, run[-1].stop + 60)
            form.tag_count += _is_tag_subject(
                words, first, last, text, pieces[first_piece:last_piece]
            )
    return sentence_number


_SENTENCE_END = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\b[A-Z])[.!?;]")


def _is_quoted_title(text: str, start: int, stop: int) -> bool:
    """Returns whether quotation marks stand right before and after a name, without a comma."""
    return text[start - 1 : start] in tuple("\"“‘'") and text[stop : stop + 1] in tuple("\"”’'")


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
        word.norm not in NOT_NAMES
        or (word.norm in TITLES and previous.norm in TITLES and not has_full_stop)
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


_MAX_JEST_SHARE = 0.1
"""Share of the uses of a given name up to which a title before it is a jest."""


def _group_people(forms: Sequence[_NameForm]) -> list[_Person]:
    """Groups name forms into people: full names first, then their parts."""
    people: list[_Person] = []
    forms_by_words = {form.words: form for form in forms}

    def is_by_surname(form: _NameForm) -> bool:
        """Returns whether a title stands before a surname: not in "Miss Anne" or "Doctor Jo"."""
        name = form.words[1:]
        bare_count = forms_by_words[name].count if name in forms_by_words else 0
        share = 1 if form.title == "miss" else _MAX_JEST_SHARE
        is_given_name = form.count < share * bare_count and ("mr", *name) not in forms_by_words
        return bool(form.title) and not is_given_name

    ordered_forms = sorted(
        forms,
        key=lambda form: (
            form.is_noun,
            -min(3, len(form.words_without_title)),
            not is_by_surname(form),
            -form.count,
        ),
    )
    for form in ordered_forms:
        person = _find_person(form, people, forms_by_words)
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


_RANKS = frozenset("dr capt col major gen".split())
_BEFORE_SURNAMES = frozenset(
    "mr mrs miss ms dr prof capt col major gen lieutenant sergeant inspector professor reverend "
    "rev judge monsieur madame mademoiselle herr frau fraulein fräulein signor signora "
    "squire".split()
)


def _find_person(
    form: _NameForm, people: Sequence[_Person], forms: Mapping[Words, _NameForm]
) -> _Person | None:
    """Returns the person that a form most likely names, or None."""
    matching = [
        person
        for person in people
        if _may_be_person(form, person) and not _is_namesake(form, person, forms)
    ]
    if not matching:
        return None
    return max(matching, key=lambda person: (_closeness(form, person), person.count))


_MIN_SHARED_SENTENCES, _MIN_SHARED_SHARE = 4, 0.05
"""Sentences that use two names, and their share of those with the rarer one, from which these are
two people's."""


def _are_named_together(form: _NameForm, other_form: _NameForm) -> bool:
    """Returns whether narration often has two names in one sentence."""
    if form.words[form.is_noun :] == other_form.words[other_form.is_noun :]:
        return False  # the Toad, Toad
    shared_count = len(form.sentences & other_form.sentences)
    rarer_count = min(len(form.sentences), len(other_form.sentences))
    return shared_count >= max(_MIN_SHARED_SENTENCES, _MIN_SHARED_SHARE * rarer_count)


_MIN_OTHER_TITLE_USES, _MIN_OTHER_TITLE_SHARE = 5, 0.2
"""Uses in narration of a surname with its rarer title, and their share of those with the other
title, if two people bear it."""


def _is_namesake(form: _NameForm, person: _Person, forms: Mapping[Words, _NameForm]) -> bool:
    """Returns whether a title and surname are not those of a person with this surname: Mrs. Hart
    beside Miss Ada, Dr. Hart beside Mr. Ben Hart, and as in `_is_older_namesake`."""
    if form.title and form.words[1:] == (person.surname,):
        given_names = (forms[name,] for name in person.given_names if (name,) in forms)
        if any(_are_named_together(form, given_name) for given_name in given_names):
            return True
    if form.title == "mrs":
        return any(("miss", given_name) in forms for given_name in person.given_names)
    titles = {person_form.title for person_form in person.forms}
    for title, other_titles in (("mr", _RANKS), *((rank, {"mr"}) for rank in _RANKS)):
        if form.title == title and titles & other_titles:
            names = ((each, *form.words[1:]) for each in {title, *other_titles})
            counts = [forms[name].narration_count for name in names if name in forms]
            counts += [0, 0]
            count, highest_count = sorted(counts)[-2:]
            if count >= max(_MIN_OTHER_TITLE_USES, _MIN_OTHER_TITLE_SHARE * highest_count):
                return True
    return _is_older_namesake(form, person, forms)


def _is_older_namesake(form: _NameForm, person: _Person, forms: Mapping[Words, _NameForm]) -> bool:
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
        forms[given_name,].narration_count
        for given_name in person.given_names
        if (given_name,) in forms
    )
    return full_name_count < 0.3 * form.narration_count and (
        given_name_count >= 10 or titled_count >= 10
    )


def _closeness(form: _NameForm, person: _Person) -> int:
    if form.is_noun:  # "the captain" is the one who is called so most
        return sum(f.count for f in person.forms if form.words[-1] in (f.title, f.words[-1]))
    if form.words == (person.surname,) and person.pronoun == "he":
        return 2
    return int(form.words_without_title[-1] in person.given_names) + int(
        form.pronoun is not None and form.pronoun == person.pronoun
    )


def _may_be_person(form: _NameForm, person: _Person) -> bool:
    """Returns whether a form may be another name of a person."""
    is_surname = form.words == (person.surname,)  # Joyce, a man's or a woman's
    if form.pronoun and person.pronoun and form.pronoun != person.pronoun and not is_surname:
        return False
    if any(_are_named_together(form, person_form) for person_form in person.forms):
        return False
    if form.is_noun:
        return _fits_noun(form, person)
    first, last = form.words_without_title[0], form.words_without_title[-1]
    if len(form.words_without_title) > 1 and any(
        set(form.words_without_title) == set(person_form.words_without_title)
        or _is_part(form.words, person_form.words)  # Long John, John Silver: Long John Silver
        for person_form in person.forms
    ):
        return True
    if len(form.words_without_title) > 1:
        return (
            person.surname == last
            and not _are_rivals(form, person)
            and any(_is_same_given_name(first, name) for name in person.given_names)
        )
    if form.title in _BEFORE_SURNAMES:
        return _fits_title(form, person)
    is_given_name = any(
        len(name) > 1 and _is_same_given_name(first, name) for name in person.given_names
    )
    return is_given_name or (first == person.surname and not _is_lady(person))


def _is_part(words: Words, longer_words: Words) -> bool:
    """Returns whether a name is the beginning or the end of a longer one."""
    count = len(words)
    return longer_words[:count] == words or longer_words[-count:] == words


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
    return word in person.given_names and (
        form.title == "miss"
        or not any(
            person_form.title in _BEFORE_SURNAMES and person_form.words_without_title[-1] != word
            for person_form in person.forms
        )
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
        is_name = form.words[1:] == person_form.words_without_title and form.spelling[4].isupper()
        if is_name and not person_form.is_noun:  # the Toad, Mr. Toad
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
