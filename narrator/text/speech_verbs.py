"""Words by which languages tell who speaks: verbs of speech, pronouns, articles, forms of address.

`named_in_tag` finds the subject of “said Ada”, „sagte Anna“, « dit-elle » and “dijo Ana”. Knows
words and their order, nothing of the book's characters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class SpeechWords:
    """Words of a language, folded; `speech_words.txt` says what each group is."""

    code: str
    traits: frozenset[str]
    verbs: frozenset[str]
    pronouns: Mapping[str, str | None]
    articles: Mapping[str, str | None]
    address: Mapping[str, str | None]
    prepositions: frozenset[str]
    openers: frozenset[str]
    first_and_second_person: frozenset[str]
    third_person: frozenset[str]
    aside_openers: frozenset[str]
    tag_continuations: frozenset[str]


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
        words("prepositions"),
        words("openers"),
        words("first and second person"),
        words("third person"),
        words("aside openers"),
        words("tag goes on"),
    )


WORD = re.compile(r"[^\W\d_]+")


def folded_words(text: str) -> list[str]:
    """Returns the words of a text in lower case."""
    return [word.casefold() for word in WORD.findall(text)]


_CLAUSE_END = re.compile(
    r"(?<!\b[^\W\d_])(?<!\bMr)(?<!\bMrs)(?<!\bMme)(?<!\bMlle)(?<!\bDr)(?<!\bSr)(?<!\bSra)\."
    r"|[!?;:…]|\s[—–-]|[—–](?=[\s,.;:])|--"
)
_MAX_TAG_WORDS = 8
"""Maximum number of words before a tag's verb, and from it to its subject."""


def named_in_tag(narration: str, language: str) -> Subject | None:
    """Returns the subject of the tag in narration next to a quotation; None without a tag.

    Narration that ends with a colon or a comma leads to a quotation, so its last clause is read;
    other narration follows one, so its first clause is read.
    """
    speech = speech_of(language)
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
    places_after = range(verb + 1, len(words))[:_MAX_TAG_WORDS]
    places_before = range(verb - 1, -1, -1)[:_MAX_TAG_WORDS]
    for places in (places_before, places_after) if words_before else (places_after, places_before):
        if subject := _find_subject(words, folded_words, places, speech):
            return subject
    if "pro-drop" not in speech.traits:
        return None
    verb_end = words[verb].end()
    return Subject(verb_end, verb_end, True, _pronoun_from_verb(folded_words[verb], speech))


def _tag_clause(text: str) -> tuple[int, int]:
    """Returns the span of the tag's clause in narration next to a quotation."""
    trimmed = text.rstrip(" \t\n\u00a0\u202f—–-")
    if trimmed.endswith((":", ",")):
        ends = [match.end() for match in _CLAUSE_END.finditer(trimmed, 0, len(trimmed) - 1)]
        return (ends[-1] if ends else 0), len(trimmed)
    begin = len(text) - len(text.lstrip(" \t\n\u00a0\u202f—–-,.;"))
    match = _CLAUSE_END.search(text, begin)
    return begin, match.start() if match else len(text)


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
    is_name = words[first][0][0].isupper() and (first > 0 or folded_words[0] not in speech.openers)
    is_noun = first > begin and _are_adjacent(words[begin], words[first])
    # Russian nouns have no article: сказал старик
    is_bare_noun = speech.code == "ru" and word_before in speech.verbs
    if not (is_name or is_noun or is_bare_noun or folded_words[begin] in speech.address):
        return None
    end = _name_end(words, folded_words, first, speech, is_noun=not is_name)
    pronoun = speech.address.get(folded_words[first]) or speech.articles.get(folded_words[begin])
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
        place and words[place - 1][0][0].isupper() and _are_adjacent(words[place - 1], words[place])
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
            folded_words[end] in _PARTICLES
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
    """Returns the pronoun that a Russian past form implies, or None."""
    if speech.code != "ru" or verb not in speech.verbs:
        return None
    if verb.endswith(("ла", "лась")):
        return "she"
    if verb.endswith(("ли", "лись")):
        return "they"
    return "he" if verb.endswith(("л", "лся", "ёс", "ес")) else None
