"""Finds the characters of a book in a language other than English: names and nouns in its tags.

A run of capitalised words is a name if a tag names it (« dit Anna »), if a title comes before it,
or if somebody is addressed by it; words that the language or the book uses in lower case are not.
Chinese and Japanese names are those that tags name again and again. Knows no single language:
`speech_words.txt` has the words.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from narrator.text.quotations import Quotation
from narrator.text.speakers.names import Character, Token, Words, elides, tokens
from narrator.text.speech_verbs import named_in_tag
from narrator.text.speech_words import SpeechWords, Subject, speech_of

_MIN_NAME_USES = 2
"""Uses of a name that is neither titled nor a known given name, if it is one person's."""
_MIN_ROLE_TAGS = 3
"""Tags that name a role like “le notaire”, if it belongs to the cast."""
_MIN_FREQUENT_ROLE_USES = 4
"""Uses of a role from which one tag less is enough."""
_MIN_UNKNOWN_ROLE_TAGS = 4
"""The same for a noun that the language's list of nouns lacks, if it hardly does anything else."""
_MIN_ALIAS_USES, _MIN_ALIAS_SHARE = 2, 0.01
"""Uses of an alias, and their share of those of its person."""
_MAX_CHANCE_USES = 2
"""Uses up to which two names side by side may be two people's."""
_MAX_ABBREVIATION = 4
"""Letters of a title that a full stop may abbreviate."""
_LEADING_MARKS = (":", ",", "：", "，", "、")
_SENTENCE_OPENERS = ".!?:;\"“”„«»‘’'—–-…¿¡"
"""Marks after which a sentence begins."""


@dataclass(slots=True)
class _Form:
    """A name or noun in one form, with counts of its uses."""

    words: Words
    """Folded words without an article."""
    is_noun: bool = False
    """True for a noun in lower case, or a German one with an article."""
    written: Counter[str] = field(default_factory=Counter)
    count: int = 0
    tag_count: int = 0
    inner_count: int = 0
    """Uses within a sentence, not at its beginning."""
    written_with_article: Counter[str] = field(default_factory=Counter)
    vocative_count: int = 0
    pronouns: Counter[str] = field(default_factory=Counter)
    """Pronouns that its tags and articles imply."""

    @property
    def article_count(self) -> int:
        return self.written_with_article.total()

    @property
    def spelling(self) -> str:
        """Most frequent spelling, with an article if most uses have one: la Nela."""
        has_article = 2 * self.article_count > self.count
        written = self.written_with_article if has_article else self.written
        return written.most_common(1)[0][0]


@dataclass(slots=True)
class _Person:
    forms: list[_Form]
    pronoun: str | None

    @property
    def count(self) -> int:
        return sum(form.count for form in self.forms)


def roster_by_tags(
    chapters: Sequence[Sequence[str]], quoted: Sequence[Sequence[Quotation]], language: str
) -> tuple[Character, ...]:
    """Finds the characters of a book in `language` (a BCP 47 tag), the most frequent first."""
    speech = speech_of(language)
    paragraphs = list(_paragraphs(chapters, quoted))
    if speech.is_unspaced:
        people = _unspaced_people(paragraphs, language)
    else:
        people = _group_people(_FormCounter(paragraphs, language).characters(), speech)
    people.sort(key=lambda person: -person.count)
    return tuple(_make_character(person, speech) for person in people)


def _paragraphs(
    chapters: Sequence[Sequence[str]], quoted: Sequence[Sequence[Quotation]]
) -> Iterator[tuple[str, list[Quotation]]]:
    """Yields the paragraphs of a book with their quotations."""
    for paragraphs, quotations in zip(chapters, quoted, strict=True):
        pieces: dict[int, list[Quotation]] = defaultdict(list)
        for quotation in quotations:
            pieces[quotation.paragraph].append(quotation)
        for index, text in enumerate(paragraphs):
            yield text, pieces.get(index, [])


def tag_subjects(
    text: str, pieces: Sequence[Quotation], language: str
) -> Iterator[tuple[int, Subject]]:
    """Yields the subjects of a paragraph's tags, each with the offset of its narration."""
    ends = [0, *(piece.stop for piece in pieces)]
    for start, stop in zip(ends, [*(piece.start for piece in pieces), len(text)], strict=True):
        narration = text[start:stop]
        leads_in = narration.rstrip()[-1:] in _LEADING_MARKS
        if not (leads_in or start):
            continue
        subject = named_in_tag(narration, language)
        if subject is not None and not subject.is_pronoun:
            yield start, subject


class _FormCounter:
    """Counts the forms of names in the paragraphs of a book."""

    def __init__(self, paragraphs: Sequence[tuple[str, list[Quotation]]], language: str) -> None:
        self.language = language
        self.speech = speech_of(language)
        self.forms: dict[tuple[Words, bool], _Form] = {}
        self.lower_case_counts = Counter[str]()
        words_by_paragraph = [tokens(text, elides=elides(language)) for text, _ in paragraphs]
        for words in words_by_paragraph:
            self.lower_case_counts.update(w.norm for w in words if not w.is_capitalised)
        for (text, pieces), words in zip(paragraphs, words_by_paragraph, strict=True):
            self._count_tags(text, pieces, words)
        for (text, pieces), words in zip(paragraphs, words_by_paragraph, strict=True):
            self._count_uses(text, pieces, words)

    def characters(self) -> list[_Form]:
        """Returns the forms that name characters."""
        return [
            form
            for form in self.forms.values()
            if (self._is_role(form) if form.is_noun else self._is_name(form))
            and not self._is_followed_by_name(form)
        ]

    def _is_followed_by_name(self, form: _Form) -> bool:
        """Returns whether a rare form is a name and another word after it: “Ana Ruiz Pedro”."""
        prefix = self.forms.get((form.words[:-1], False))
        if prefix is None or len(form.words) < 2:
            return False
        is_rare = form.count <= _MAX_CHANCE_USES and prefix.count > form.count
        return is_rare and (len(prefix.words) > 1 or form.count * 20 < prefix.count)

    def _count_tags(self, text: str, pieces: Sequence[Quotation], words: Sequence[Token]) -> None:
        """Counts the names and nouns that are subjects of tags."""
        for offset, subject in tag_subjects(text, pieces, self.language):
            start, stop = offset + subject.start, offset + subject.stop
            first_in_span = bisect_left(words, start, key=lambda word: word.start)
            span_stop = bisect_right(words, stop, key=lambda word: word.stop)
            span = range(first_in_span, span_stop)
            has_article = bool(span) and words[span[0]].norm in self.speech.articles
            span = span[has_article:]
            if not span:
                continue
            has_name = any(words[n].is_capitalised for n in span)
            is_given = words[span[-1]].norm in self.speech.given_names
            has_capital_noun = "capital-nouns" in self.speech.traits and has_article
            is_noun = not has_name or (has_capital_noun and not is_given)
            if is_noun:
                run = words[span[-1] : span[-1] + 1]
            else:
                first = next(n for n in span if words[n].is_capitalised or self._is_title(words[n]))
                word_before = words[first - 1].norm if first > span[0] else ""
                if word_before in self.speech.prepositions | self.speech.name_particles:
                    continue  # the mayor of Toledo
                run = words[first : self._run_end(words, first, text)]
            if not run:
                continue
            form = self._form(tuple(word.norm for word in run), is_noun=is_noun)
            form.tag_count += self._is_next_to_verb(words, span)
            if subject.pronoun in ("he", "she"):
                form.pronouns[subject.pronoun] += 1
            if is_noun:
                spelling = " ".join(text[start:stop].split())
                form.written[spelling[:1].lower() + spelling[1:]] += 1

    def _is_next_to_verb(self, words: Sequence[Token], span: Sequence[int]) -> bool:
        """Returns whether at most one word parts a tag's verb from its subject."""
        first, last = span[0], span[-1]
        near = (*words[max(0, first - 3) : first], *words[last + 1 : last + 3])
        return any(word.norm in self.speech.verbs for word in near)

    def _form(self, words: Words, *, is_noun: bool) -> _Form:
        return self.forms.setdefault((words, is_noun), _Form(words, is_noun))

    def _count_uses(self, text: str, pieces: Sequence[Quotation], words: Sequence[Token]) -> None:
        """Counts all uses of names, and of the nouns that tags name."""
        starts = [piece.start for piece in pieces]
        index = 0
        while index < len(words):
            noun = self.forms.get(((words[index].norm,), True))
            if noun is not None:
                noun.count += 1
            end = self._run_end(words, index, text)
            if end > index:
                self._count_name(text, pieces, starts, words, index, end)
            index = max(end, index + 1)

    def _run_end(self, words: Sequence[Token], index: int, text: str) -> int:
        """Returns the index after the name that begins at a word; the word's own index if none."""
        first = words[index]
        is_titled = self._is_title(first) and index + 1 < len(words)
        if is_titled and _joins(words[index], words[index + 1], text, self.speech):
            end = self._run_end(words, index + 1, text)
            return end if end > index + 1 else index
        if not first.is_capitalised or first.norm in self.speech.never_names:
            return index
        if self.lower_case_counts[first.norm] and _mark_before(text, first.start) in (
            "",
            *_SENTENCE_OPENERS,
        ):
            return index  # an ordinary word begins the sentence, perhaps before a name
        end = index + 1
        while end < len(words) and _joins(words[end - 1], words[end], text, self.speech):
            word = words[end]
            if word.is_capitalised and word.norm not in self.speech.never_names:
                end += 1
            elif (
                word.norm in self.speech.name_particles
                and end + 1 < len(words)
                and words[end + 1].is_capitalised
                and _joins(word, words[end + 1], text, self.speech)
            ):
                end += 2
            else:
                break
        return end

    def _is_title(self, word: Token) -> bool:
        is_elided = word.stop - word.start > len(word.norm)  # d’Arroios
        return word.norm in self.speech.address and not is_elided

    def _count_name(
        self,
        text: str,
        pieces: Sequence[Quotation],
        starts: Sequence[int],
        words: Sequence[Token],
        first: int,
        end: int,
    ) -> None:
        """Counts one use of a name."""
        run = words[first:end]
        form = self._form(tuple(word.norm for word in run), is_noun=False)
        article = (
            words[first - 1] if first and words[first - 1].norm in self.speech.articles else None
        )
        if article is not None and (
            article.norm in self.speech.prepositions  # Portuguese “a” is “to” as well
            or not _joins(article, run[0], text, self.speech)
        ):
            article = None
        mark_before = _mark_before(text, (article or run[0]).start)
        form.count += 1
        form.inner_count += bool(mark_before) and mark_before not in _SENTENCE_OPENERS
        spelling = " ".join(text[run[0].start : run[-1].stop].split())
        form.written[spelling] += 1
        if article is not None:
            written_article = text[article.start : run[0].start].lower()
            form.written_with_article[written_article + spelling] += 1
            if (pronoun := self.speech.articles[article.norm]) in ("he", "she"):
                form.pronouns[pronoun] += 1
        piece = bisect_right(starts, run[0].start) - 1
        if piece >= 0 and run[0].start < pieces[piece].stop and article is None:
            is_closed = text[run[-1].stop : run[-1].stop + 1] in tuple(",!?.;…")
            form.vocative_count += is_closed and (not mark_before or mark_before in ",!¡¿.“«„»—–-")

    def _is_name(self, form: _Form) -> bool:
        """Returns whether the uses of a name show that it names a person."""
        speech = self.speech
        bare = tuple(word for word in form.words if word not in speech.address)
        is_titled = len(bare) < len(form.words)
        is_known = bool(speech.given_names.get(bare[0] if bare else ""))
        if not form.count or not (form.inner_count or is_titled) or not bare or len(bare[-1]) < 2:
            return False
        if len(bare) == 1 and not self._is_always_capitalised(form, bare[0]):
            return False
        if bare[0] in speech.generic_nouns:
            return False
        is_noun_like = "capital-nouns" in speech.traits and 2 * form.article_count > form.count
        if is_noun_like and not is_known:
            return False
        if form.tag_count:
            may_be_noun = form.article_count > 0 or form.count <= _MIN_NAME_USES
            is_tagged_once = form.tag_count < _MIN_NAME_USES
            has_few_tags = "capital-nouns" in speech.traits and may_be_noun and is_tagged_once
            return is_titled or is_known or (form.count >= _MIN_NAME_USES and not has_few_tags)
        if form.count < _MIN_NAME_USES or form.spelling.isupper():
            return False
        if is_titled or is_known:
            return True
        # elsewhere a noun or a name in another case may follow a comma too
        can_call = "capital-nouns" not in speech.traits and not speech.case_endings
        return can_call and form.vocative_count >= 2 and form.inner_count >= 2

    def _is_always_capitalised(self, form: _Form, word: str) -> bool:
        return 4 * self.lower_case_counts[word] <= form.count

    def _is_role(self, form: _Form) -> bool:
        """Returns whether a noun like “le notaire” speaks often enough to be in the cast."""
        speech, noun = self.speech, form.words[-1]
        if noun in speech.generic_nouns or noun in speech.never_names or len(noun) <= 3:
            return False
        is_known = noun in speech.nouns or noun in speech.address or noun in speech.given_names
        if not is_known:
            return form.tag_count >= _MIN_UNKNOWN_ROLE_TAGS and 3 * form.tag_count >= form.count
        is_frequent = form.count >= _MIN_FREQUENT_ROLE_USES
        return form.tag_count >= _MIN_ROLE_TAGS - is_frequent


def _joins(word: Token, next_word: Token, text: str, speech: SpeechWords) -> bool:
    """Returns whether only a space, a hyphen or a title's full stop stands between two words."""
    gap = text[word.stop : next_word.start]
    is_title = word.norm in speech.address and word.norm not in speech.nouns
    is_abbreviation = len(word.norm) == 1 or (is_title and len(word.norm) <= _MAX_ABBREVIATION)
    return gap in ("", " ", "-", "\u00a0") or (gap.strip() == "." and is_abbreviation)


def _mark_before(text: str, start: int) -> str:
    """Returns the last character before an offset that is not white space."""
    return text[:start].rstrip()[-1:]


# -- which forms are one person's


def _group_people(forms: Sequence[_Form], speech: SpeechWords) -> list[_Person]:
    """Groups forms into people: full names first, then their parts."""
    people: list[_Person] = []
    ordered_forms = sorted(
        forms, key=lambda form: (form.is_noun, -len(_bare(form, speech)), -form.tag_count)
    )
    for form in ordered_forms:
        pronoun = _pronoun(form, speech)
        matching = [person for person in people if _may_be(form, pronoun, person, speech)]
        if matching and not form.is_noun:
            person = max(matching, key=lambda person: person.count)
            person.forms.append(form)
            person.pronoun = person.pronoun or pronoun
        else:
            people.append(_Person([form], pronoun))
    return people


def _bare(form: _Form, speech: SpeechWords) -> Words:
    """Returns a name without its titles."""
    return tuple(word for word in form.words if word not in speech.address) or form.words


def _pronoun(form: _Form, speech: SpeechWords) -> str | None:
    """Returns the pronoun of a form, by its titles, a known given name, its tags, or an ending."""
    for word in form.words[:-1]:
        if speech.address.get(word):
            return speech.address[word]
    if pronoun := speech.given_names.get(_bare(form, speech)[0]):
        return pronoun
    if form.pronouns:
        return form.pronouns.most_common(1)[0][0]
    if form.is_noun:
        return speech.nouns.get(form.words[-1])
    return speech.pronoun_of_given_name(_bare(form, speech)[0])


def _may_be(form: _Form, pronoun: str | None, person: _Person, speech: SpeechWords) -> bool:
    """Returns whether a form may be another name of a person: a part of a longer one."""
    stems = tuple(map(speech.stem, form.words))
    if speech.case_endings and any(stems == tuple(map(speech.stem, f.words)) for f in person.forms):
        return True
    if pronoun and person.pronoun and pronoun != person.pronoun:
        return False
    bare = tuple(map(speech.stem, _bare(form, speech)))
    for other in person.forms:
        other_bare = tuple(map(speech.stem, _bare(other, speech)))
        if other.is_noun or len(bare) > len(other_bare):
            continue
        is_part = len(bare) > 1 and set(bare) <= set(other_bare)
        if (
            bare == other_bare
            or is_part
            or (len(bare) == 1 and bare[0] in (other_bare[0], other_bare[-1]))
        ):
            return True
    return False


def _make_character(person: _Person, speech: SpeechWords) -> Character:
    """Converts a group of forms to a character: the fullest name that is not rare, and aliases."""
    nominative_forms = _without_cases(person.forms, speech)
    commonest = max(nominative_forms, key=lambda form: form.count)
    full_forms = [
        form
        for form in nominative_forms
        if len(_bare(form, speech)) > 1 and form.count * 20 >= commonest.count
    ]
    main_form = max(full_forms, key=lambda form: form.count) if full_forms else commonest
    min_uses = max(_MIN_ALIAS_USES, _MIN_ALIAS_SHARE * person.count)
    names = dict.fromkeys(
        form.spelling
        for form in sorted(nominative_forms, key=lambda form: -form.count)
        if form.count >= min_uses
    )
    main_name = main_form.spelling
    aliases = {name.casefold(): name for name in names if name.casefold() != main_name.casefold()}
    return Character(main_name, tuple(aliases.values()), person.pronoun)


def _without_cases(forms: Sequence[_Form], speech: SpeechWords) -> list[_Form]:
    """Returns the forms without those that are another one in the case of an object: Анной."""
    by_stems: dict[Words, _Form] = {}
    for form in sorted(forms, key=lambda form: (-form.tag_count, -form.count)):
        by_stems.setdefault(tuple(map(speech.stem, form.words)), form)
    return list(by_stems.values())


# -- names without white space


def _unspaced_people(
    paragraphs: Sequence[tuple[str, list[Quotation]]], language: str
) -> list[_Person]:
    """Finds the people of a Chinese or Japanese book: names that tags name again and again."""
    speech = speech_of(language)
    tag_counts = Counter[str]()
    for text, pieces in paragraphs:
        for offset, subject in tag_subjects(text, pieces, language):
            name = text[offset + subject.start : offset + subject.stop]
            for honorific in speech.honorifics:
                name = name.removesuffix(honorific) or name
            tag_counts[name] += 1
    book_text = "\n".join(text for text, _ in paragraphs)
    forms = []
    for name, tag_count in tag_counts.items():
        count = book_text.count(name)
        is_name = name not in speech.never_names and len(name) > 1
        if is_name and (tag_count >= 2 or count >= _MIN_FREQUENT_ROLE_USES):
            form = _Form((name,), written=Counter([name]), count=count, tag_count=tag_count)
            forms.append(form)
    people: list[_Person] = []
    for form in sorted(forms, key=lambda form: (-len(form.words[0]), -form.count)):
        # 黛玉 is 林黛玉
        person = next((p for p in people if p.forms[0].words[0].endswith(form.words[0])), None)
        if person is not None:
            person.forms.append(form)
        else:
            people.append(_Person([form], None))
    return people
