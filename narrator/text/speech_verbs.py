"""Finds the subject of a tag: of “said Ada”, „sagte Anna“, « dit-elle » and “dijo Ana”.

Knows words and their order, nothing of the book's characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from narrator.text.speech_words import SpeechWords, Subject, speech_of
from narrator.text.unspaced_tags import subject_without_spaces

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
        return subject_without_spaces(narration, speech)
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
    words_beside = (*folded_words[max(0, begin - 2) : begin][::-1], *folded_words[end : end + 1])
    for verb in words_beside:
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
            is_adjective = (
                "capital-nouns" in speech.traits or folded_words[end - 1] in speech.adjectives
            )
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


def _pronoun_from_verb(verb: str, speech: SpeechWords) -> str | None:
    """Returns the pronoun that a verb's form implies, or None: сказала is hers."""
    if verb not in speech.verbs:
        return None
    for ending, pronoun in speech.verb_genders.items():  # the longest stand first
        if verb.endswith(ending):
            return pronoun
    return None
