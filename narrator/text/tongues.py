"""Which language a text is in that nothing says it of: by its letters, then by its small words.

Knows lines by their texts alone; what an author says of a line comes first, and is `script.py`'s.
"""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from narrator.text.alphabets import DEFAULT_LANGUAGE, alphabet_of, alphabets_of, is_written_in
from narrator.text.recognise import SMALL_WORDS
from narrator.text.sentences import primary

LEAST = 6
"""Letters from which on lines have a language of their own: fewer are a name, a sign, a cry, and
are said better within what is around them. So are longer names: see `_is_name`."""
_LEAST_OF = {"CJK": 3, "HIRAGANA": 3, "KATAKANA": 3, "HANGUL": 3}
_KANA = ("HIRAGANA", "KATAKANA")
_EASTERN = frozenset(("CJK", *_KANA))
_NAMES = {"CJK": "Chinese characters", **dict.fromkeys(_KANA, "Japanese letters")}

_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9_.+-])(?:[a-z][a-z0-9+.-]*://[!-~]+|[@#][A-Za-z0-9_]+|"
    r"(?:[A-Za-z0-9_.+-]+@)?(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,}(?:[:/?#][!-~]*)?)",
    re.IGNORECASE,
)
"""Addresses of sites and mail, names of files and accounts: in no language. A match begins at the
head of a run of such signs only, so that a long one takes no time."""
_SENTENCE_END = re.compile(r"[.!?…。！？؟۔։।;][\W_]*$")
_PHRASE_WORDS = 4
"""So many words are text of some language, though no small word says which."""
_EASTERN_NAME = 4
"""Characters of a name, at most, in scripts that put no spaces between words."""
_CHINESE_PARTICLES = frozenset("的了是我你他她不在吗嗎呢吧这這那们們有就也都很")

_INITIALS = re.compile(r"[IVXLCDM]+|[A-Z]{2,4}")
"""Roman numerals and short names in capitals, which texts of all alphabets have."""


@dataclass(frozen=True, slots=True)
class Strange:
    """Letters in a text that its language is not written in."""

    alphabet: str
    """The most frequent of theirs."""
    letters: int
    """In it."""
    mostly: bool
    """Whether most of the text is in such letters, and not some words of it."""
    wholly: bool
    """Whether nothing of it is in its own."""
    word: str
    """The first one."""

    def goes_on(self, before: Strange) -> bool:
        """Whether a text after another that has strange letters is in the same language."""
        same = self.alphabet == before.alphabet or {self.alphabet, before.alphabet} <= _EASTERN
        return self.mostly and before.mostly and same


def said_in(texts: Sequence[tuple[str, Strange]], declared: Sequence[str]) -> str | None:
    """The language of texts that go on one another; None where they are too few to have one."""
    found = [one for _, one in texts if one.mostly]
    if not found:
        return None
    kana = next((one.alphabet for one in found if one.alphabet in _KANA), None)
    alphabet = kana or found[0].alphabet
    lines = [_ADDRESS.sub(" ", text) for text, _ in texts]
    if not _suffices(alphabet, sum(one.letters for one in found)) or _is_name(alphabet, lines):
        return None
    return _language_of(alphabet, lines, declared)


def _suffices(alphabet: str, letters: int) -> bool:
    return letters >= _LEAST_OF.get(alphabet, LEAST)


def _is_name(alphabet: str, lines: Sequence[str]) -> bool:
    """Whether lines in an alphabet may be no more than a name or a title, and are no sentence."""
    text = " ".join(lines)
    words = _words_in(alphabet, text)
    is_sentence = any(map(_SENTENCE_END.search, lines))
    if alphabet == "LATIN":
        return _is_latin_name(words, is_sentence)
    if is_sentence:
        return False
    if alphabet in (*_EASTERN, "HANGUL"):
        return sum(map(len, words)) <= _EASTERN_NAME and _CHINESE_PARTICLES.isdisjoint(text)
    return len(words) == 1 or all(word[0].isupper() for word in words)


def _is_latin_name(words: Sequence[str], is_sentence: bool) -> bool:
    """Whether Latin words are a name, a title or an abbreviation: all but the small ones have
    capitals, as in `The Catcher in the Rye`, or they are too few to be a sentence."""
    small = sum(word.casefold() in _speakers() for word in words)
    others = [word for word in words[1:] if word.casefold() not in _speakers()]
    if not any(word[0].islower() for word in others):
        return bool(others) or small < 2 or not is_sentence
    return len(words) < (3 if is_sentence or small > 1 else _PHRASE_WORDS)


def _words_in(alphabet: str, text: str) -> list[str]:
    """The words of a text in an alphabet, but for signs and initials: `XVIII`, `BBC`, `J.`"""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if alphabet_of(word[0]) == alphabet]
    if alphabet != "LATIN":
        return words
    return [w for w in words if w == "I" or (len(w) > 1 and not _is_sign(w, alphabet))]


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a text is hardly in the language that a mark says it is in."""

    seems: str
    """What it seems to be in, for people."""
    language: str
    """What it is said in all the same."""


def denied(text: str, marked: str, around: str) -> Denial | None:
    """What a text's letters or small words say against the language that it is marked with.

    It is said in the language around it where the marked one has none of its letters.
    """
    found = strange(text, marked)
    if found and found.mostly and _suffices(found.alphabet, found.letters):
        if not is_written_in(around, found.alphabet):
            return Denial(called(found.alphabet), marked)
        return Denial(f"“{around}”", around if found.wholly else marked)
    return Denial(f"“{around}”", marked) if _plainly(text, around, marked) else None


def _plainly(text: str, language: str, other: str) -> bool:
    """Whether a text's small words speak for one language, and hardly for the other."""
    ours, theirs = primary(language), primary(other)
    if ours == theirs:
        return False
    scores = _scores(text, {ours, theirs} if theirs in SMALL_WORDS else {*COMMON, ours})
    own = scores.pop(ours, 0.0)
    return own >= PLAIN and all(3 * score < own for score in scores.values())


def called(alphabet: str) -> str:
    """An alphabet's letters, for people."""
    return _NAMES.get(alphabet) or f"{alphabet.capitalize()} letters"


def strange(text: str, language: str) -> Strange | None:
    """What of a text is in letters that its language is not written in; None where nothing is, or
    where the language is not known."""
    expected = alphabets_of(language)
    if expected is None or (text.isascii() and "LATIN" in expected):
        return None
    text = _ADDRESS.sub(" ", text)
    alphabets = {c: alphabet_of(c) for c in set(text) if c.isalpha()}
    odd = {c: name for c, name in alphabets.items() if name and name not in expected}
    others, first = _odd_letters(text, odd)
    if not others:
        return None
    own = sum(text.count(c) for c, alphabet in alphabets.items() if alphabet in expected)
    own = _japanese(text, others, own)
    alphabet, letters = others.most_common(1)[0]
    word = first.get(alphabet) or next(iter(first.values()))
    return Strange(alphabet, letters, others.total() > own, own == 0, word)


def _odd_letters(text: str, odd: Mapping[str, str]) -> tuple[Counter[str], dict[str, str]]:
    """How many letters of each alphabet a text has, of those in `odd`, and the first word in it."""
    letters: Counter[str] = Counter()
    first: dict[str, str] = {}
    for word in text.split():
        for alphabet, count in Counter(odd[c] for c in word if c in odd).items():
            if count > 1 and not _is_sign(word, alphabet):  # one is a symbol
                letters[alphabet] += count
                first.setdefault(alphabet, word)
    return letters, first


def _is_sign(word: str, alphabet: str) -> bool:
    return alphabet == "LATIN" and bool(_INITIALS.fullmatch("".join(filter(str.isalpha, word))))


def _japanese(text: str, others: Counter[str], own: int) -> int:
    """Count the characters beside kana as kana, in `others` and off what is its own language's:
    Japanese has both; returns the latter."""
    kana = sum(others[alphabet] for alphabet in _KANA)
    characters = sum(alphabet_of(c) == "CJK" for c in text)
    if kana and 4 * kana >= characters:
        if not others["CJK"]:
            own -= characters
        others["HIRAGANA"] = kana + characters
        del others["CJK"], others["KATAKANA"]
    return max(0, own)


def _language_of(alphabet: str, texts: Iterable[str], declared: Sequence[str]) -> str:
    """The language of texts in one alphabet, of those that their book declares; Latin letters by
    their words, where they are in doubt; else the usual one."""
    likely = [
        tag if alphabet in (alphabets_of(tag) or ()) else primary(tag)
        for tag in declared
        if is_written_in(tag, alphabet) and not _borrows(tag, alphabet)
    ]
    among = {primary(tag): tag for tag in reversed(likely)}
    if alphabet == "LATIN" and len(among) != 1:
        found = recognised(" ".join(texts), among or COMMON)
        if found is not None:
            return among.get(found, found)
    return likely[0] if likely else DEFAULT_LANGUAGE[alphabet]


def _borrows(tag: str, alphabet: str) -> bool:
    """Korean has Chinese characters, but no texts of them alone."""
    return alphabet == "CJK" and primary(tag) == "ko"


PLAIN = 2.0
"""Small words of another language that deny a mark: one may be part of a name."""

COMMON = frozenset("da de en es fi fr id it nl no pl pt sv sw tl tr vi".split())
"""Languages in Latin letters that lines are told apart in where their book declares none; others
are rare in books, and few voices have them."""


@functools.cache
def _speakers() -> Mapping[str, Sequence[str]]:
    """Small word -> languages that have it."""
    owners: dict[str, list[str]] = defaultdict(list)
    for language, words in SMALL_WORDS.items():
        for word in words.split():
            owners[word].append(language)
    return owners


def recognised(text: str, among: Collection[str]) -> str | None:
    """The language in Latin letters that a text's small words speak for; None in doubt."""
    scores = _scores(text, among)
    best = sorted(scores, key=scores.__getitem__, reverse=True)[:2]
    if not best or scores[best[0]] < 1:
        return None
    if len(best) > 1 and scores[best[1]] > 0.7 * scores[best[0]]:
        return None
    return best[0]


def _scores(text: str, among: Collection[str]) -> dict[str, float]:
    """How many small words speak for each language: one for each that has it, the less, the more
    they are."""
    scores: dict[str, float] = defaultdict(float)
    for word in re.findall(r"[^\W\d_]{2,}", text.casefold()):
        languages = [one for one in _speakers().get(word, ()) if one in among]
        for language in languages:
            scores[language] += 1 / len(languages)
    return scores
