"""Words by which languages tell who speaks: verbs of speech, pronouns, articles, forms of address.

`named_in_tag` finds the subject of “said Ada”, „sagte Anna“, « dit-elle » and “dijo Ana”. Knows
words and their order, nothing of the book's characters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textbase.languages import primary
from textbase.word_lists import read_word_lists


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a tag: `text[start:stop]`, empty after a verb whose form alone tells it."""

    start: int
    stop: int
    is_pronoun: bool
    """True if it has no name or noun."""
    pronoun: str | None
    """he, she, they or I, from a pronoun, an article, a form of address or the verb."""


_PARTICLES = frozenset(
    "von van der den zu zur de du des la le les di da del della dello degli dos das do e y et und "
    "af av".split()
)
"""Particles of names, before another capitalised word."""


@dataclass(frozen=True, eq=False)
class SpeechWords:
    """Words of a language, folded; `speech_words.txt` says what each group is."""

    code: str
    traits: frozenset[str]
    verbs: frozenset[str]
    pronouns: Mapping[str, str | None]
    articles: Mapping[str, str | None]
    address: Mapping[str, str | None]
    nouns: Mapping[str, str | None]
    generic_nouns: frozenset[str]
    prepositions: frozenset[str]
    openers: frozenset[str]
    first_and_second_person: frozenset[str]
    third_person: frozenset[str]
    aside_openers: frozenset[str]
    tag_continuations: frozenset[str]
    verb_genders: Mapping[str, str | None]
    given_names: Mapping[str, str | None]
    name_genders: Mapping[str, str | None]
    """Pronouns by the ending of given names, in the order of their weight."""
    case_endings: tuple[str, ...]
    """The longest first."""
    not_names: frozenset[str]
    name_particles: frozenset[str]
    """Words within names, before another capitalised one: de, von."""
    particles: frozenset[str]
    honorifics: Mapping[str, str | None]
    adverbs: frozenset[str]

    @property
    def is_known(self) -> bool:
        """True if the language's tags can be read."""
        return bool(self.verbs and self.pronouns)

    @property
    def is_unspaced(self) -> bool:
        """True if no white space parts the language's words."""
        return "unspaced" in self.traits

    @functools.cached_property
    def never_names(self) -> frozenset[str]:
        """Words that are never names, however they are written."""
        return self.function_words | self.not_names

    @functools.cached_property
    def function_words(self) -> frozenset[str]:
        """Verbs of tags, and words of grammar."""
        return frozenset().union(
            self.verbs,
            self.pronouns,
            self.articles,
            self.prepositions,
            self.openers,
            self.first_and_second_person,
            self.third_person,
            self.aside_openers,
            self.tag_continuations,
        )

    def pronoun_of_given_name(self, name: str) -> str | None:
        """Returns the pronoun that a given name implies by itself or by its ending, or None."""
        if name in self.given_names:
            return self.given_names[name]
        endings = (ending for ending in self.name_genders if name.endswith(ending))
        return self.name_genders.get(next(endings, "-"))

    def stem(self, word: str) -> str:
        """Returns a name without its case ending: Анна and Анной have one stem."""
        for ending in self.case_endings:
            if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
                stem = word[: -len(ending)]
                # Stefcia and Stefci
                return stem.removesuffix("i") if "i" in self.case_endings else stem
        return word


_MIN_STEM = 3
"""Letters that a stem has at least."""

_LISTS = read_word_lists(Path(__file__).with_name("speech_words.txt"))
COMMON_ENGLISH_VERBS = frozenset(_LISTS.table("en")["verbs"].split())
"""Verbs of speech in English tags, without rare ones."""


@functools.cache
def speech_of(language: str) -> SpeechWords:
    """Returns the words of a language (a BCP 47 tag); those of an unknown one are empty."""
    code = {"nb": "no", "nn": "no"}.get(primary(language), primary(language))
    table = _LISTS.table(code) if code in _LISTS else {}

    def words(group: str) -> frozenset[str]:
        return frozenset(table.get(group, "").split())

    def pronouns(group: str) -> dict[str, str | None]:
        pairs = (pair.partition("=") for pair in table.get(group, "").split())
        return {word: pronoun or None for word, _, pronoun in pairs}

    return SpeechWords(
        code,
        words("traits"),
        words("verbs")
        | words("rare verbs")
        | {stem + ending for stem in words("stems") for ending in words("endings")},
        pronouns("pronouns"),
        pronouns("articles"),
        pronouns("address"),
        pronouns("nouns"),
        words("generic"),
        words("prepositions"),
        words("openers"),
        words("first and second person"),
        words("third person"),
        words("aside openers"),
        words("tag goes on"),
        pronouns("verb genders"),
        dict.fromkeys(words("he names"), "he") | dict.fromkeys(words("she names"), "she"),
        pronouns("name genders"),
        tuple(sorted(words("case endings"), key=lambda ending: (-len(ending), ending))),
        words("not names"),
        words("name particles"),
        words("particles"),
        pronouns("honorifics"),
        words("adverbs"),
    )


WORD = re.compile(r"[^\W\d_]+")


def folded_words(text: str) -> list[str]:
    """Returns the words of a text in lower case."""
    return [word.casefold() for word in WORD.findall(text)]


NO_ABBREVIATION = r"(?<!\b[^\W\d_])" + "".join(
    rf"(?<!\b{title})"
    for title in "Mr Mrs Ms Mme Mlle Dr Sr Sra Srta Dña St Hr Fr Snr Snra".split()
)
"""Matches where no title or initial ends, whose full stop ends no sentence."""
_CLAUSE_END = re.compile(NO_ABBREVIATION + r"\.|[!?;:…]|\s[—–-]|[—–](?=[\s,.;:])|--")
_MAX_TAG_WORDS = 8
"""Maximum number of words before a tag's verb, and from it to its subject."""


def named_in_tag(narration: str, language: str) -> Subject | None:
    """Returns the subject of the tag in narration next to a quotation; None without a tag.

    Narration that ends with a colon or a comma leads to a quotation, so its last clause is read;
    other narration follows one, so its first clause is read.
    """
    speech = speech_of(language)
    if speech.is_unspaced:
        return _named_without_spaces(narration, speech)
    begin, end = _tag_clause(narration)
    words = list(WORD.finditer(narration, begin, end))
    folded_words = [word[0].casefold() for word in words]
    verb = next(
        (n for n, word in enumerate(folded_words[: _MAX_TAG_WORDS + 1]) if word in speech.verbs),
        None,
    )
    if verb is None:
        return None
    words_before = [word for word in folded_words[:verb] if word not in speech.openers]
    places_after = range(verb + 1, _clause_stop(words, verb))[:_MAX_TAG_WORDS]
    places_before = range(verb - 1, -1, -1)[:_MAX_TAG_WORDS]
    follows_at_once = verb + 1 < len(words) and (
        folded_words[verb + 1] in speech.pronouns
        or _subject_at(words, folded_words, verb + 1, speech) is not None
    )
    if not words_before or (follows_at_once and speech.code != "en"):
        orders = (places_after, places_before)
    else:
        orders = (places_before, places_after)
    for places in orders:
        if subject := _find_subject(words, folded_words, places, speech):
            return subject
    if "pro-drop" not in speech.traits:
        return None
    verb_end = words[verb].end()
    return Subject(verb_end, verb_end, True, _pronoun_from_verb(folded_words[verb], speech))


_UNSPACED_SENTENCE_END = re.compile(r"[。！？!?…；;」』”’]+")
_UNSPACED_CLAUSE_END = re.compile(r"[，,、：:]")
_HAN_NAME = re.compile(r"[\u3400-\u9fff々·A-Z]{1,4}")
_JAPANESE_NAME = r"[\u3400-\u9fff々ァ-ヶー・]{1,10}"


def _named_without_spaces(narration: str, speech: SpeechWords) -> Subject | None:
    """Returns the subject of a tag in Chinese or Japanese; None without a tag.

    It is empty if the clause of the verb has none: the sentence before it may name it.
    """
    text = narration.rstrip(" \t\n\u3000")
    if "subject-particle" in speech.traits:
        return _named_by_particle(narration, speech)
    leads_in = text.endswith(("：", ":", "，", ","))
    if leads_in:
        text = text.rstrip("：:，,")
        sentence_ends = [match.end() for match in _UNSPACED_SENTENCE_END.finditer(text)]
        clause_ends = [match.end() for match in _UNSPACED_CLAUSE_END.finditer(text)]
        begin, end = max([0, *sentence_ends, *clause_ends]), len(text)
    else:
        begin = len(text) - len(text.lstrip(" \n\u3000，,"))
        clause_end = re.compile(r"[，,。！？；：:]").search(text, begin)
        end = clause_end.start() if clause_end else len(text)
    clause = text[begin:end]
    match = _unspaced_tag(speech).match(clause)
    if match is None:
        return None
    start, name = begin, match["subject"]
    if name in speech.pronouns:
        return Subject(start, start + len(name), True, speech.pronouns[name])
    if name and _HAN_NAME.fullmatch(name):
        return Subject(start, start + len(name), False, None)
    return Subject(end, end, True, None)


@functools.cache
def _unspaced_tag(speech: SpeechWords) -> re.Pattern[str]:
    """Returns the pattern of a Chinese clause with a subject, adverbs and a verb of speech."""
    adverbs = "|".join(sorted(map(re.escape, speech.adverbs), key=len, reverse=True))
    verbs = "|".join(sorted(map(re.escape, speech.verbs), key=len, reverse=True))
    pronouns = "|".join(sorted(map(re.escape, speech.pronouns), key=len, reverse=True))
    return re.compile(
        rf"(?P<subject>{pronouns}|.*?)(?:{adverbs})*(?:{verbs})(?:道|了|着|起来|一声|一句)*\Z"
    )


_MAX_VERB_DISTANCE = 8
"""Characters of a Japanese sentence from its verb of speech to its end, in narration that leads to
a quotation."""


def _named_by_particle(narration: str, speech: SpeechWords) -> Subject | None:
    """Returns the subject of a Japanese tag, which a particle marks; None without a tag.

    A tag after a quotation begins with と, or has a verb of speech; narration that leads to a
    quotation ends with a comma, or with such a verb.
    """
    text = narration.strip(" \t\n\u3000")
    offset = narration.find(text)
    sentence_ends = [match.end() for match in _UNSPACED_SENTENCE_END.finditer(text)]
    if text.endswith(("、", "：", "，")) or narration.startswith("\u3000"):
        earlier_ends = [end for end in sentence_ends if end < len(text)]
        begin, end = (earlier_ends or [0])[-1], len(text)
        ending = text[-_MAX_VERB_DISTANCE:]
        is_tag = not sentence_ends or sentence_ends[-1] < end or _has_any(ending, speech.verbs)
    else:
        begin, end = 0, (sentence_ends or [len(text)])[0]
        is_tag = text.startswith(("と", "って")) or _has_any(text[:end], speech.verbs)
    if not is_tag:
        return None
    match = _particle_subject(speech).search(text, begin, end)
    if match is None:
        return Subject(offset + end, offset + end, True, None)
    pronoun = speech.pronouns.get(match["subject"])
    start, stop = offset + match.start("subject"), offset + match.end("subject")
    return Subject(start, stop, match["subject"] in speech.pronouns, pronoun)


def _has_any(text: str, parts: Iterable[str]) -> bool:
    return any(part in text for part in parts)


@functools.cache
def _particle_subject(speech: SpeechWords) -> re.Pattern[str]:
    """Returns the pattern of a Japanese subject before its particle."""
    honorifics = "|".join(sorted(map(re.escape, speech.honorifics), key=len, reverse=True))
    pronouns = "|".join(sorted(map(re.escape, speech.pronouns), key=len, reverse=True))
    particles = "".join(speech.particles)
    return re.compile(
        rf"(?P<subject>{pronouns}|(?:その)?{_JAPANESE_NAME}(?:{honorifics})?)[{particles}](?!の)"
    )


def _tag_clause(text: str) -> tuple[int, int]:
    """Returns the span of the tag's clause in narration next to a quotation."""
    trimmed = text.rstrip(" \t\n\u00a0\u202f—–-")
    if trimmed.endswith((":", ",")):
        ends = [match.end() for match in _CLAUSE_END.finditer(trimmed, 0, len(trimmed) - 1)]
        return (ends[-1] if ends else 0), len(trimmed)
    begin = len(text) - len(text.lstrip(" \t\n\u00a0\u202f—–-,.;"))
    match = _CLAUSE_END.search(text, begin)
    return begin, match.start() if match else len(text)


def _clause_stop(words: Sequence[re.Match[str]], verb: int) -> int:
    """Returns the index of the first word after a verb that a comma separates from it."""
    for index in range(verb + 1, len(words)):
        if "," in words[index].string[words[index - 1].end() : words[index].start()]:
            return index
    return len(words)


def _find_subject(
    words: Sequence[re.Match[str]], folded_words: Sequence[str], places: range, speech: SpeechWords
) -> Subject | None:
    """Returns the first subject at the given word indices, or None."""
    is_backwards = places.step < 0
    for place in places:
        if folded_words[place] in speech.pronouns:
            return Subject(*words[place].span(), True, speech.pronouns[folded_words[place]])
        begin = _name_start(words, folded_words, place, speech) if is_backwards else place
        if subject := _subject_at(words, folded_words, begin, speech):
            return subject
    return None


def _subject_at(
    words: Sequence[re.Match[str]], folded_words: Sequence[str], begin: int, speech: SpeechWords
) -> Subject | None:
    """Returns the name or noun that begins at a word, with its article, or None."""
    word_before = folded_words[begin - 1] if begin else ""
    first = begin + (folded_words[begin] in speech.articles)
    if word_before in speech.prepositions or first >= len(words):
        return None
    is_name = words[first][0][0].isupper() and folded_words[first] not in speech.never_names
    is_noun = (
        first > begin
        and _are_adjacent(words[begin], words[first])
        and folded_words[first] not in speech.function_words
    )
    is_bare_noun = "bare-noun" in speech.traits and folded_words[begin] in speech.nouns
    if not (is_name or is_noun or is_bare_noun or folded_words[begin] in speech.address):
        return None
    end = _name_end(words, folded_words, first, speech, is_noun=not is_name)
    pronoun = speech.address.get(folded_words[first]) or speech.articles.get(folded_words[begin])
    if not is_name:
        pronoun = pronoun or speech.nouns.get(folded_words[end - 1])
    for verb in (word_before, *folded_words[end : end + 1]):
        pronoun = pronoun or _pronoun_from_verb(verb, speech)
    return Subject(words[begin].start(), words[end - 1].end(), False, pronoun)


def _are_adjacent(first_word: re.Match[str], second_word: re.Match[str]) -> bool:
    return not first_word.string[first_word.end() : second_word.start()].strip(
        " '’.-\n\u00a0\u202f"
    )


def _name_start(
    words: Sequence[re.Match[str]], folded_words: Sequence[str], place: int, speech: SpeechWords
) -> int:
    """Returns the index of the first word of a name that ends at `place`, with its article."""
    while (
        place
        and words[place][0][0].isupper()
        and words[place - 1][0][0].isupper()
        and folded_words[place - 1] not in speech.never_names
        and _are_adjacent(words[place - 1], words[place])
    ):
        place -= 1
    for article in range(place, max(-1, place - 4), -1):
        if article < place and not _are_adjacent(words[article], words[article + 1]):
            break
        if folded_words[article] in speech.articles:
            return article
    return place


def _name_end(
    words: Sequence[re.Match[str]],
    folded_words: Sequence[str],
    first: int,
    speech: SpeechWords,
    *,
    is_noun: bool,
) -> int:
    """Returns the index after the last word of a name or noun that begins at `first`."""

    def is_adjacent(place: int) -> bool:
        return place < len(words) and _are_adjacent(words[place - 1], words[place])

    end = first + 1
    if is_noun:
        # der alte Mann, the old man, la vieille dame: adjectives stand before
        for _ in range(2):
            is_adjective = speech.code == "de" or folded_words[end - 1] in _ADJECTIVES
            if is_adjective and is_adjacent(end) and folded_words[end] not in speech.verbs:
                end += 1
    while is_adjacent(end):
        if words[end][0][0].isupper() and folded_words[end] not in speech.pronouns:
            end += 1
        elif (
            folded_words[end] in speech.name_particles
            and is_adjacent(end + 1)
            and words[end + 1][0][0].isupper()
        ):
            end += 2
        else:
            break
    return end


_ADJECTIVES = frozenset(
    "old young little poor other dear good big tall fat first second third elder younger strange "
    "same whole vieux vieil vieille jeune petit petite grand grande gros grosse autre bon bonne "
    "pauvre viejo vieja pobre buen buena otro otra joven vecchio vecchia giovane povero povera "
    "altro altra buon buona velho velha jovem pobre outro outra bom boa старый старая молодой "
    "молодая".split()
)
"""Adjectives before a noun."""


def _pronoun_from_verb(verb: str, speech: SpeechWords) -> str | None:
    """Returns the pronoun that a verb's form implies, or None: сказала is hers."""
    if verb not in speech.verbs:
        return None
    for ending, pronoun in speech.verb_genders.items():  # the longest stand first
        if verb.endswith(ending):
            return pronoun
    return None
