"""English, American and British: words to Kokoro's phonemes as its voices were trained on them.

A word is looked up in the dictionary (misaki's, Apache-2.0, and names from CMUdict, BSD); if it is
not there, its ending is taken off, or it is two words in one, or its letters decide (`letters.py`).
Words that are spelled alike are told apart by the words beside them. Figures and abbreviations are
not read here: a text arrives as words.

Reads top-down: a sentence, a word in its place, a word alone, its parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path

from narrator.pronunciation import letters
from narrator.pronunciation.alphabet import STRESSES, VOWELS
from narrator.pronunciation.dictionary import DEFAULT, Dictionary
from narrator.pronunciation.rules import expand_classes
from narrator.pronunciation.tokens import Segment, Token, is_stop, mark_of, plain_form
from textbase.word_lists import read_word_lists

_VOWEL = f"[{''.join(sorted(VOWELS))}]"

_LISTS = read_word_lists(Path(__file__).with_name("data") / "english.txt")
_MODALS = frozenset(_LISTS.words("modals"))
_SUBJECTS = frozenset(_LISTS.words("subjects"))
_SINGULAR_SUBJECTS = frozenset("he she it".split())
_DETERMINERS = frozenset(_LISTS.words("determiners"))
_NUMBERS = frozenset(_LISTS.words("numbers"))
_PREPOSITIONS = frozenset(_LISTS.words("prepositions"))
_PERFECT = frozenset(_LISTS.words("perfect"))
_BE = frozenset(_LISTS.words("be"))
_DEGREES = frozenset(_LISTS.words("degrees"))
_ADVERBS = frozenset(_LISTS.words("adverbs"))
_FUNCTION_WORDS = frozenset().union(
    *(_MODALS, _SUBJECTS, _SINGULAR_SUBJECTS, _DETERMINERS, _PREPOSITIONS, _PERFECT, _BE),
    "and or but nor than if when while where which because until till him me us them".split(),
)
_OBJECTS = _DETERMINERS | frozenset("me you him it us them myself yourself himself herself".split())


def _read_homographs() -> dict[str, list[tuple[str, str]]]:
    """Returns the patterns and phonemes of words that are spelled alike, by word."""
    homographs: dict[str, list[tuple[str, str]]] = {}
    for line in _LISTS.lines("homographs"):
        word, _, row = line.partition(": ")
        pattern, _, phonemes = row.rpartition(" → ")
        homographs.setdefault(word, []).append((expand_classes(pattern, _LISTS), phonemes))
    return homographs


_HOMOGRAPHS = _read_homographs()


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a word in its sentence: up to three plain, lower-case words before and after it,
    whether a stop follows, and the phonemes of the next word if none does."""

    before: Sequence[str]
    after: Sequence[str]
    is_before_stop: bool
    next_phonemes: str

    @property
    def is_before_vowel(self) -> bool:
        return self.next_phonemes.lstrip(STRESSES)[:1] in VOWELS if self.next_phonemes else False

    @property
    def starts_sentence(self) -> bool:
        return not self.before


class Source(StrEnum):
    """The source of a word's pronunciation."""

    DICTIONARY = "dictionary"
    ENDING = "ending"
    """A word of the dictionary, and an ending or a beginning."""
    PARTS = "parts"
    """Words of the dictionary: of a compound, at a hyphen, at an apostrophe."""
    SPELLING = "spelling"
    """Another spelling of a word of the dictionary: without accents, drawn out, without its h."""
    INITIALS = "initials"
    """The names of its letters."""
    LETTERS = "letters"
    """The network of `letters.py`."""


def american(tokens: Sequence[Token]) -> list[Segment]:
    """The `Transcriber` of American English."""
    return load_english(british=False).transcribe(tokens)


def british(tokens: Sequence[Token]) -> list[Segment]:
    """The `Transcriber` of British English."""
    return load_english(british=True).transcribe(tokens)


@cache
def load_english(*, british: bool) -> English:
    """Loads a variety, once."""
    return English(british=british)


class English:
    """The rules of a variety, American or British, with its dictionary.

    `word(text, tags, starts_sentence)` is `_pronounce_word` with a cache.
    """

    def __init__(self, *, british: bool) -> None:
        self.british = british
        self.language = "en-GB" if british else "en-US"
        self.dictionary = Dictionary(f"{self.language.lower()}.txt.gz")
        self.word = lru_cache(maxsize=50_000)(self._pronounce_word)
        small_i = "ɪ" if british else "ᵻ"
        self._s_sounds = {"ptkfθ": "s", "szʃʒʧʤ": small_i + "z"}
        self._ed_sounds = {"pkfθʃsʧ": "t", "td": small_i + "d"}
        """Sounds of the endings s and ed by the last sounds that they follow; else z and d."""

    # -- a sentence --------------------------------------------------------------------------------

    def transcribe(self, tokens: Sequence[Token]) -> list[Segment]:
        """Transcribes from the end, since a word's sound depends on the one after it."""
        sentences = list(_sentences(tokens))  # all of it first: it fills the lists of words
        segments: list[Segment] = []
        is_before_stop, next_phonemes = True, ""
        for token, index, words in reversed(sentences):
            if token.kind == "mark":
                if is_stop(token.text):
                    is_before_stop, next_phonemes = True, ""
                continue
            if token.phonemes:
                phonemes, source = token.phonemes, Source.DICTIONARY
            else:
                before, after = (
                    words[max(0, index - 3) : index],
                    words[index + 1 : index + 4],
                )
                place = _Place(before, after, is_before_stop, next_phonemes)
                phonemes, source = self.word_in_place(plain_form(token.text), place)
            is_known = source != Source.LETTERS
            segments.append(Segment(token.start, token.stop, phonemes, is_known))
            if phonemes:
                is_before_stop, next_phonemes = False, phonemes
        return segments[::-1]

    # -- a word in its place -----------------------------------------------------------------------

    def word_in_place(self, text: str, place: _Place) -> tuple[str, Source]:
        """Returns the phonemes of a word as it is written, and their source.

        A word with a capital has at least a secondary stress, one of capitals a main stress.
        """
        word = text if self.dictionary.find(text.lower()) else text.strip("'") or text
        lower = word.lower()
        source = Source.DICTIONARY
        if phonemes := self._pronounce_function_word(word, place):
            return phonemes, source
        if lower in _HOMOGRAPHS:
            context = " ".join((*place.before, "_", *place.after))
            rows = _HOMOGRAPHS[lower]
            variants = next(phonemes for pattern, phonemes in rows if re.search(pattern, context))
            phonemes = variants.split("|")[-1 if self.british else 0]
        else:
            phonemes, source = self.word(text, tuple(self._tags(place)), place.starts_sentence)
        if word != lower:
            phonemes = _add_stress(phonemes, "ˈ" if word.isupper() and len(word) > 1 else "ˌ")
        return phonemes, source

    def _pronounce_function_word(self, word: str, place: _Place) -> str:
        """Returns the phonemes of a small word, which depend on what follows; empty for others."""
        if forms := _FUNCTION_WORD_FORMS.get(word.lower()):
            before_vowel, before_consonant, american_at_stop, british_at_stop = forms
            if place.is_before_stop:
                return british_at_stop if self.british else american_at_stop
            return before_vowel if place.is_before_vowel else before_consonant
        if word.lower() == "a":
            is_weak = not place.is_before_stop and (word == "a" or place.starts_sentence)
            return "ɐ" if is_weak else "ˈA"
        if word == "am" and not place.is_before_stop:
            return "ɐm"
        return "ˌI" if word == "I" else ""

    def _tags(self, place: _Place) -> Iterator[str]:
        """Yields tags of the dictionary that fit, the best first; before a stop, "None" is one."""
        if place.is_before_stop:
            yield "None"
        after = place.after[0] if place.after else ""
        previous = next(
            (w for w in reversed(place.before) if w not in _ADVERBS and not w.endswith("ly")), ""
        ).removeprefix("'")  # a quotation may begin with it
        last = place.before[-1] if place.before else ""
        if last in _DEGREES:
            yield "ADJ"
        elif previous in _PERFECT:
            yield from ("VBN", "VBD", "VERB")
        elif previous in _BE:
            yield from ("VBN", "ADJ")
        elif previous in _MODALS or previous in _SUBJECTS or previous in _SINGULAR_SUBJECTS:
            yield "VERB"
        elif previous in _DETERMINERS or previous.endswith(("'s", "s'")):
            yield from ("ADJ", "NOUN") if after and after not in _FUNCTION_WORDS else ("NOUN",)
        elif previous in _PREPOSITIONS or previous in _NUMBERS or after == "of":
            yield "NOUN"
        elif after in _OBJECTS:
            yield "VERB"

    # -- a word alone ------------------------------------------------------------------------------

    def _pronounce_word(
        self, text: str, tags: tuple[str, ...], starts_sentence: bool
    ) -> tuple[str, Source]:
        """Returns the phonemes of a word wherever it stands, and their source: of many ways the
        first that succeeds, at last the network, which knows Latin, Greek and Cyrillic letters."""
        word = text.strip("'")
        if phonemes := self._lookup_dropped_h(text, tags):
            return phonemes, Source.SPELLING
        for form in dict.fromkeys((text, word)):
            if phonemes := self._lookup(form, tags, starts_sentence):
                return phonemes, Source.DICTIONARY
            if phonemes := self._lookup_stem(form, tags, starts_sentence):
                return phonemes, Source.ENDING
        if "-" in word:
            return self._join_parts(word.split("-"), tags)
        for form in _plain_spellings(word, self.dictionary):
            if phonemes := self._lookup_either(form, tags, starts_sentence):
                return phonemes, Source.SPELLING
        if "." in word or _is_initials(word):
            return self._by_initials(word), Source.INITIALS
        if phonemes := self._lookup_contraction(word, tags):
            return phonemes, Source.PARTS
        if phonemes := self._lookup_compound(word.lower() if starts_sentence else word, tags):
            return phonemes, Source.PARTS
        return self._by_network(word), Source.LETTERS

    def _by_network(self, word: str) -> str:
        """Reads a word that nothing else knows; in a possessive, the word and its ending apart."""
        stem, apostrophe, ending = word.rpartition("'")
        if apostrophe and ending in ("s", "S") and letters.to_known_letters(stem):
            return self._add_ending(letters.pronounce(stem, self.language), "'s", word)
        return letters.pronounce(word, self.language)

    def _lookup_either(self, word: str, tags: Sequence[str], starts_sentence: bool) -> str:
        """Looks up a word in any case, with or without an ending; empty if it is unknown."""
        return self._lookup(word, tags, starts_sentence) or self._lookup_stem(
            word, tags, starts_sentence
        )

    def _lookup(self, word: str, tags: Sequence[str], starts_sentence: bool) -> str:
        return next(
            filter(None, (self._find(f, tags) for f in _letter_cases(word, starts_sentence))), ""
        )

    def _lookup_stem(self, word: str, tags: Sequence[str], starts_sentence: bool) -> str:
        forms = _letter_cases(word, starts_sentence) if len(word) > 3 else ()
        return next(filter(None, (self._lookup_affixes(form, tags) for form in forms)), "")

    def _lookup_dropped_h(self, text: str, tags: Sequence[str]) -> str:
        """Looks up a word with an apostrophe for its h: 'ouse."""
        word = text.removeprefix("'")
        plain_word = word.strip("'")
        known = (text, plain_word, plain_word.lower())
        if word == text or any(form in self.dictionary for form in known):
            return ""
        return self._lookup_either("h" + word, tags, False).replace("h", "", 1)

    def _find(self, word: str, tags: Sequence[str]) -> str:
        entry = self.dictionary.find(word)
        if entry is None:
            return ""
        return next((entry[tag] for tag in tags if tag in entry), entry[DEFAULT])

    def _join_parts(self, parts: Sequence[str], tags: tuple[str, ...]) -> tuple[str, Source]:
        """Joins the parts of a word with hyphens; if most are stressed, weakens the lightest."""
        pronunciations = [self.word(part, tags, False) for part in parts if part]
        sounds = [phonemes for phonemes, _ in pronunciations]
        if parts[0] == "a":
            sounds[0] = "ə"  # a-sailing
        order = sorted(range(len(sounds)), key=lambda i: ("ˈ" in sounds[i], len(sounds[i])))
        if len(sounds) == 2 and len(parts[0]) == 1:
            order = [1]
        if sum("ˈ" in sound for sound in sounds) > (len(sounds) + 1) // 2:
            for i in order[: max(1, len(sounds) // 2)]:
                sounds[i] = _weaken(sounds[i])
        is_known = all(source != Source.LETTERS for _, source in pronunciations)
        return "".join(sounds), Source.PARTS if is_known else Source.LETTERS

    def _by_initials(self, word: str) -> str:
        """Returns the names of letters, the last one stressed: FBI."""
        names = [self._find(letter, ()) for letter in letters.to_known_letters(word).upper()]
        return "".join(map(_weaken, names[:-1])) + "".join(names[-1:])

    # -- its parts ---------------------------------------------------------------------------------

    def _lookup_affixes(self, word: str, tags: Sequence[str]) -> str:
        """Looks up a word without its ending or beginning, and adds that to its phonemes."""
        for stem, ending in _stems(word):
            if phonemes := self._find(stem, tags):
                return self._add_ending(phonemes, ending, word)
        for stem, ending in _stems(word):
            if len(stem) > 4 and (phonemes := self._lookup_affixes(stem, tags)):
                return self._add_ending(phonemes, ending, word)
        for beginning, phonemes in _BEGINNINGS.items():
            stem = word.removeprefix(beginning)
            if stem != word and len(stem) > 3 and (stem_phonemes := self._find(stem, tags)):
                american, _, british = phonemes.partition("|")
                return (british or american if self.british else american) + stem_phonemes
        return ""

    def _add_ending(self, stem: str, ending: str, word: str) -> str:
        """Adds an ending to the phonemes `stem`; `word` is the spelling of both."""
        last_sound = stem[-1]
        match ending:
            case "":
                return stem
            case "s" | "'s":
                return stem + next(
                    (s for after, s in self._s_sounds.items() if last_sound in after), "z"
                )
            case "ed":
                return self._flap_t(stem) + next(
                    (d for after, d in self._ed_sounds.items() if last_sound in after), "d"
                )
            case "'d":
                return stem + ("əd" if last_sound in "td" else "d")
            case "'ll" | "'ve" | "'re":
                return (
                    stem + {"'ll": "ᵊl", "'ve": "əv", "'re": "ə" if self.british else "əɹ"}[ending]
                )
        sound = _ENDINGS[ending]
        if self.british:
            sound = sound.replace("əɹ", "ə")
        if sound[:1] in VOWELS:
            if self.british and last_sound in "əː" and re.search("re?$", word[: -len(ending)]):
                stem += "ɹ"  # filtering
            stem = self._flap_t(stem)
        elif sound == "li" and stem.endswith(("ᵊl", "əl")) and word.endswith("bly"):
            return stem[:-2] + "li"  # probably
        return stem + sound

    def _flap_t(self, stem: str) -> str:
        """Makes an American t between a vowel and an ending a flap, T."""
        if not self.british and stem[-1] == "t" and stem[-2:-1] in "AIOWYiuæɑəɛɪɹʊʌ":
            return stem[:-1] + "T"
        return stem

    def _lookup_compound(self, word: str, tags: tuple[str, ...]) -> str:
        """Splits a word into two of the dictionary, as evenly as possible."""
        if not word.islower():
            return ""
        for cut in sorted(range(4, len(word) - 2), key=lambda cut: abs(2 * cut - len(word))):
            head, tail = word[:cut], word[cut:]
            if (
                head[-1] == tail[0]
                or tail[0] in "aeiouh"
                or (len(tail) < 4 and tail not in _SHORT_TAILS)
            ):
                continue  # nom-more, bet-hpeak, look-in: letters that belong together
            first, second = self._find(head, ()), self._find(tail, tags)
            if "ˈ" in first and "ˈ" in second:
                return first + _weaken(second)
        return ""

    def _lookup_contraction(self, word: str, tags: tuple[str, ...]) -> str:
        """Looks up a word that lacks sounds at its apostrophe: t'night, on't, thank'ee."""
        head, mark, tail = word.lower().partition("'")
        if mark and head in _HEADS and (phonemes := self._lookup_either(tail, tags, False)):
            return _HEADS[head] + phonemes
        if mark and tail in _TAILS and (phonemes := self._lookup_either(head, tags, False)):
            return phonemes + _TAILS[tail]
        return ""


_FUNCTION_WORD_FORMS = {
    "an": ("ɐn", "ɐn", "ɐn", "ɐn"),
    "the": ("ði", "ðə", "ðə", "ðə"),
    "to": ("tʊ", "tə", "tˈu", "tˈuː"),
    "in": ("ɪn", "ɪn", "ˈɪn", "ˈɪn"),
}
"""Phonemes before a vowel, before a consonant, and before a stop: American, British."""
_SHORT_TAILS = frozenset(_LISTS.words("short tails"))
_HEADS = {"t": "t", "d": "d", "l": "l", "y": "j", "th": "ð", "a": "ə", "o": "ə"}
_TAILS = {
    "t": "t",
    "ee": "i",
    "rt": "t",
    "lt": "lt",
    "st": "st",
    "em": "əm",
    "n": "ən",
    "ye": "ji",
    "im": "ɪm",
    "er": "ə",
}
_ENDINGS = {
    "ing": "ɪŋ",
    "in'": "ɪn",
    "in": "ɪn",
    "eth": "ɪθ",
    "er": "əɹ",
    "est": "ɪst",
    "ly": "li",
    "ness": "nəs",
    "less": "ləs",
    "ful": "fᵊl",
    "like": "lˌIk",
    "ish": "ɪʃ",
    "ment": "mənt",
    "ship": "ʃɪp",
    "hood": "hˌʊd",
    "wards": "wəɹdz",
    "ward": "wəɹd",
    "wise": "wˌIz",
    "able": "əbᵊl",
    "y": "i",
}
_BEGINNINGS = {
    "un": "ˌʌn",
    "non": "nˌɑn|nˌɒn",
    "re": "ɹˌi|ɹˌiː",
    "over": "ˌOvəɹ|ˌQvə",
    "out": "ˌWt",
    "under": "ˌʌndəɹ|ˌʌndə",
    "mis": "mˌɪs",
    "fore": "fˌɔɹ|fˌɔː",
    "semi": "sˌɛmi",
    "super": "sˌupəɹ|sˌuːpə",
    "counter": "kˌWntəɹ|kˌWntə",
}


def _letter_cases(word: str, starts_sentence: bool) -> Iterable[str]:
    """Returns a word in the cases in which it may be listed, the likeliest first: a capital means a
    name unless it starts a sentence."""
    forms = (word.lower(), word) if starts_sentence else (word, word.lower())
    return dict.fromkeys((*forms, word.capitalize()))


def _is_initials(word: str) -> bool:
    """Returns True if an unknown word is spoken as the names of its letters: BBC, but not JUPE."""
    if not re.fullmatch("[A-Z]{1,5}", word):
        return False
    return (
        not re.search("[AEIOUY]..?[AEIOUY]", word) or re.fullmatch("[IVXLCDM]+", word) is not None
    )


_LIGATURES = str.maketrans({"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "ß": "ss"})


def _plain_spellings(word: str, dictionary: Dictionary) -> Iterator[str]:
    """Yields spellings that a dictionary may have: without accents, not drawn out (nooo, yesss)."""
    decomposed = unicodedata.normalize("NFKD", word.translate(_LIGATURES))
    without_accents = "".join(c for c in decomposed if not unicodedata.combining(c))
    if without_accents != word:
        yield without_accents
    if re.search(r"(.)\1\1", word.lower()) and not _is_initials(word):
        twofold = re.sub(r"(.)\1{2,}", r"\1\1", without_accents.lower())
        if twofold in dictionary:
            yield twofold
        yield re.sub(r"(.)\1{2,}", r"\1", without_accents.lower())


def _stems(word: str) -> Iterator[tuple[str, str]]:
    """Yields words that `word` may be made from by an ending, and the ending."""
    if word.endswith("s'"):
        yield word[:-1], ""
        return
    for ending in ("'s", "'d", "'ll", "'ve", "'re"):
        if word.endswith(ending):
            yield word.removesuffix(ending), ending
            return
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1], "s"
        if word.endswith("es"):
            yield word[:-2], "s"
        if word.endswith("ies"):
            yield word[:-3] + "y", "s"
    if word.endswith("ed"):
        yield from ((stem, "ed") for stem in _bases(word, "ed"))
    for ending in _ENDINGS:
        if word.endswith(ending):
            yield from ((stem, ending) for stem in _bases(word, ending))


def _bases(word: str, ending: str) -> Iterator[str]:
    """Yields words that may have had this ending: cry, stop, love, for cried, stopping, loved."""
    base = word.removesuffix(ending)
    if len(base) < 2:
        return
    if ending[0] in "aeiy":
        yield base + "e"
    yield base
    if ending[0] in "aeiy" and base[-1] == base[-2]:
        yield base[:-1]
    if base.endswith("i"):
        yield base[:-1] + "y"
    if ending == "ly" and base.endswith("b"):
        yield base + "le"


def _add_stress(phonemes: str, stress: str) -> str:
    """Adds a stress to the first vowel of a word without one; "ˈ" also raises a secondary one."""
    if not set(STRESSES) & set(phonemes):
        return re.sub(f"({_VOWEL})", rf"{stress}\1", phonemes, count=1)
    if stress == "ˈ" and stress not in phonemes:
        return phonemes.replace("ˌ", stress, 1)
    return phonemes


def _weaken(phonemes: str) -> str:
    """Makes main stresses secondary, and removes secondary ones."""
    return phonemes.replace("ˌ", "").replace("ˈ", "ˌ")


def _sentences(tokens: Sequence[Token]) -> Iterator[tuple[Token, int, list[str]]]:
    """Yields word and mark tokens, each word with its index in the list of the plain words of its
    sentence, which is complete once the next sentence begins."""
    words: list[str] = []
    for token in tokens:
        if token.kind == "word":
            words.append(plain_form(token.text).lower())
            yield token, len(words) - 1, words
        elif token.kind == "mark":
            if mark_of(token.text) in (".", "!", "?", ";", ":", "…"):
                words = []
            yield token, 0, words
