r"""The lexicon: how this project pronounces its words.

A word entry matches whole words: no letter or digit beside it, and no apostrophe with more of the
word behind it, but for a possessive ("Ukridge" is found in "Ukridge's" and "Ukridge-like", "can"
not in "can't"). In scripts that write no spaces between words it is found anywhere. It matches in
any case of letters, unless `case` is set or the word stands in capitals throughout: `US` never
matches "us".

A pattern entry is a regular expression of Python's `re`; it, too, ignores case unless `case` is
set. Its `say` may name groups (`\1`, `\g<name>`); what a group caught is spoken by the rules of the
language, so that `\bHP(\d+)\b` with `H P \1` reads HP12 as "H P twelve". Neither reads `say` again.

The more particular entry wins: one for a speaker over one for all, then one for a language, then
patterns in their order, then the longer word, then the one whose case counts. Both kinds see
straight apostrophes and quotes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import field_validator, model_validator

from narrator.pronunciation.ipa import to_phonemes
from narrator.settings import Strict, Text, Written
from narrator.text.normalize.edits import apply_edits
from narrator.text.normalize.typography import canonical
from textbase.patterns import time_limit

_PATTERN_ERRORS = (re.error, OverflowError, RecursionError)


class LexiconEntry(Strict):
    """A word or pattern, and its pronunciation."""

    word: Text | None = None
    """One or more words as written; either this or `pattern`."""
    pattern: Text | None = None
    """A regular expression."""
    say: Annotated[str, Written] | None = None
    """What is spoken; a pattern's groups are \\1, \\2 in it. Between slashes it is IPA:
    /ˈdʌmb(ə)l.dɔː/."""
    ipa: Text | None = None
    """Pronunciation for engines that take phonemes; the others speak `say`, or the written word."""
    speaker: Text | None = None
    """Only for this speaker."""
    language: Text | None = None
    """Only for text in this language."""
    case: bool = False
    """True if upper and lower case must match."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except _PATTERN_ERRORS as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _one_match(self) -> LexiconEntry:
        if (self.word is None) == (self.pattern is None):
            raise ValueError("a lexicon entry needs either `word` or `pattern`")
        if self.say is None and self.ipa is None:
            raise ValueError("a lexicon entry needs `say` or `ipa`")
        if self.ipa is not None:
            to_phonemes(self.ipa, self.language or "en")
        if self.say is not None:
            validate_say(self.say, self.language or "en")
        if self.pattern is not None and self.respelling is not None:
            try:
                with time_limit(self.pattern):
                    re.compile(self.pattern).sub(self.respelling, "")
            except (*_PATTERN_ERRORS, IndexError) as error:
                raise ValueError(f"`say` does not fit the pattern: {error}") from None
        return self

    @property
    def phonemes(self) -> str | None:
        """The entry's IPA, or None."""
        return self.ipa or (self.say if self._says_ipa else None)

    @property
    def respelling(self) -> str | None:
        """Text for engines without phonemes; None for the written text."""
        return None if self._says_ipa else self.say

    @property
    def _says_ipa(self) -> bool:
        return self.say is not None and _is_ipa(self.say)


def validate_say(say: str, language: str = "en") -> str:
    """Returns what a word is spoken as. Raises ValueError for IPA that cannot be spoken, or with
    one of its slashes missing."""
    stripped = say.strip()
    if _is_ipa(say):
        to_phonemes(stripped, language)
    elif stripped.startswith("/") or stripped.endswith("/"):
        raise ValueError("IPA stands between two slashes: /ˈdʌmb(ə)l.dɔː/")
    return say


def _is_ipa(say: str) -> bool:
    stripped = say.strip()
    return len(stripped) > 1 and stripped[0] == stripped[-1] == "/"


@dataclass(frozen=True, slots=True)
class LexiconMatch:
    """Speaks `text[start:stop]` as `spoken`, or pronounces it as its entry says."""

    start: int
    stop: int
    spoken: str
    entry: LexiconEntry


@dataclass(frozen=True, slots=True)
class _CompiledEntry:
    """A compiled entry."""

    entry: LexiconEntry
    regex: re.Pattern[str]
    probe: str
    """Case-folded part of every text that can match."""
    say: tuple[str | int, ...]
    """Literal texts and group numbers; empty if the whole match is spoken."""


class Lexicon:
    """All entries of a project. Raises ValueError for an entry that cannot work."""

    def __init__(self, entries: Iterable[LexiconEntry] = ()) -> None:
        self._entries: list[_CompiledEntry] = []
        self._keys: set[tuple[str, int, str | None, str | None]] = set()
        self._applicable_entries: dict[tuple[str, str], list[_CompiledEntry]] = {}
        self._noted_texts: list[str] | None = None
        for entry in entries:
            self.add(entry)

    def add(self, entry: LexiconEntry) -> None:
        """Add an entry. Raises ValueError if it cannot work, or is already there."""
        ready = _compile_entry(entry)
        shown_entry = entry.word if entry.word is not None else ready.regex.pattern
        text = ready.regex.pattern
        text = text.casefold() if ready.regex.flags & re.IGNORECASE else text
        key = (text, ready.regex.flags, entry.language, entry.speaker)
        if key in self._keys:
            raise ValueError(f"the lexicon has {shown_entry!r} twice")
        self._keys.add(key)
        self._entries.append(ready)
        self._applicable_entries.clear()

    @contextlib.contextmanager
    def noting_texts(self) -> Iterator[list[str]]:
        """Yields a list of the texts that are looked at meanwhile, case-folded."""
        texts = self._noted_texts = []
        try:
            yield texts
        finally:
            self._noted_texts = None

    @property
    def entries(self) -> tuple[LexiconEntry, ...]:
        return tuple(ready.entry for ready in self._entries)

    def new_probes(self, earlier: Lexicon) -> list[str]:
        """Returns letters of which a text has some if an earlier lexicon may have read it in
        another way."""
        probes = {ready.entry: ready.probe for ready in self._entries}
        earlier_probes = {ready.entry: ready.probe for ready in earlier._entries}
        common_entries = [entry for entry in probes if entry in earlier_probes]
        if common_entries != [entry for entry in earlier_probes if entry in probes]:
            return [""]  # patterns match in their order
        changed_entries = probes.keys() ^ earlier_probes.keys()
        return list({(probes | earlier_probes)[entry] for entry in changed_entries})

    def matches(
        self, text: str, language: str, speaker: str, words: Callable[[str], str]
    ) -> Iterator[LexiconMatch]:
        """Yield the matches, best first; they may overlap. `words` speaks a caught group.

        Raises Slow.
        """
        folded = text.casefold()
        if self._noted_texts is not None:
            self._noted_texts.append(folded)
        for ready in self._applicable(language.lower(), speaker):
            if ready.probe not in folded:
                continue
            for match in _find_matches(ready, text):
                if match.end() > match.start():
                    spoken = _expand_template(ready, match, words) if ready.say else match[0]
                    yield LexiconMatch(match.start(), match.end(), spoken, ready.entry)

    def occurrences(self, text: str, language: str, speaker: str) -> list[tuple[LexiconEntry, str]]:
        """Returns the entries that apply to a chunk's text, each with the words that it reads.

        Raises SlowPattern.
        """
        plain = apply_edits(text, canonical(text, "en"))
        read_mask = bytearray(len(plain))
        occurrences: list[tuple[LexiconEntry, str]] = []
        for match in self.matches(plain, language, speaker, str):
            if read_mask.find(1, match.start, match.stop) < 0:
                read_mask[match.start : match.stop] = b"\x01" * (match.stop - match.start)
                occurrences.append((match.entry, plain[match.start : match.stop]))
        return occurrences

    def unmatched(self, texts: Iterable[str]) -> list[LexiconEntry]:
        """Returns the entries that match in none of the texts, for any speaker or language.

        Raises SlowPattern.
        """
        unmatched_entries = list(self._entries)
        for text in texts:
            if not unmatched_entries:
                break
            plain = apply_edits(text, canonical(text, "en"))
            folded = plain.casefold()
            unmatched_entries = [
                ready
                for ready in unmatched_entries
                if ready.probe not in folded or not any(_find_matches(ready, plain))
            ]
        return [ready.entry for ready in unmatched_entries]

    def _applicable(self, language: str, speaker: str) -> list[_CompiledEntry]:
        """Return the entries for a language and speaker, best first."""
        applicable = self._applicable_entries.get((language, speaker))
        if applicable is None:
            applicable = [
                ready
                for ready in self._entries
                if ready.entry.speaker in (None, speaker)
                and _covers(ready.entry.language, language)
            ]
            applicable.sort(key=_rank)
            self._applicable_entries[language, speaker] = applicable
        return applicable


def _find_matches(ready: _CompiledEntry, text: str) -> Iterable[re.Match[str]]:
    if ready.entry.pattern is None:
        return ready.regex.finditer(text)
    with time_limit(ready.regex.pattern):
        return list(ready.regex.finditer(text))


def _covers(general: str | None, language: str) -> bool:
    return general is None or f"{language}-".startswith(f"{general.lower().replace('_', '-')}-")


def _rank(ready: _CompiledEntry) -> tuple[bool, bool, bool, int, bool]:
    """Return the sort key of an entry: the more specific comes first."""
    entry = ready.entry
    length = 0 if entry.word is None else len(entry.word)
    ignores_case = entry.word is not None and bool(ready.regex.flags & re.IGNORECASE)
    return (
        entry.speaker is None,
        entry.language is None,
        entry.word is not None,
        -length,
        ignores_case,
    )


def _expand_template(
    ready: _CompiledEntry, match: re.Match[str], words: Callable[[str], str]
) -> str:
    return "".join(
        part if isinstance(part, str) else words(match[part] or "") for part in ready.say
    )


def _compile_entry(entry: LexiconEntry) -> _CompiledEntry:
    """Compile an entry. Raises ValueError if it cannot work."""
    respelling = entry.respelling
    say = None if respelling is None else apply_edits(respelling, canonical(respelling, "en"))
    if entry.word is not None:
        word = " ".join(apply_edits(entry.word, canonical(entry.word, "en")).split())
        if not word:
            raise ValueError("a lexicon word is empty")
        letters = [character for character in word if character.isalpha()]
        is_all_capitals = len(letters) > 1 and all(character.isupper() for character in letters)
        flags = 0 if entry.case or is_all_capitals else re.IGNORECASE
        parts = () if say is None else (say,)
        return _CompiledEntry(
            entry, re.compile(_whole_word_pattern(word), flags), word.split()[0].casefold(), parts
        )
    regex = _compile_pattern(entry)
    return _CompiledEntry(entry, regex, "", () if say is None else _parse_template(say, regex))


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
)
"""Letters of scripts that write words next to each other: Thai, Lao, Burmese, Khmer, Kana, Han."""
_KATAKANA = "\u30a1-\u30fa\u30fc"
_VOWEL_SIGNS = "\u0e30-\u0e3a\u0e45-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
"""Signs of Thai, Lao, Burmese and Khmer, which belong to the letter before them."""
_HANGUL = "\uac00-\ud7a3"
_PARTICLES = (
    "은|는|이|가|을|를|의|에|에서|에게|에게서|께|께서|한테|와|과|랑|이랑|하고|도|만|로|으로|부터|까지|처럼"
    "|보다|마다|조차|마저|밖에|뿐|나|이나|라도|이라도|라는|이라는|라고|이라고|란|이란|아|야|여|이여|씨|님|이다"
    "|입니다|였다|이었다"
)
"""What Korean writes at the end of a noun."""


def _whole_word_pattern(word: str) -> str:
    """Returns a pattern of a word with nothing of another word or number beside it.

    A word of a script without spaces is found anywhere, one in Katakana between other letters, one
    in Hangul with its particles.
    """
    stranger = rf"(?![{_UNSPACED}{_HANGUL}])\w"
    left, right = rf"(?<!{stranger})", rf"(?!{stranger}|'(?!s\b)\w)"
    if re.match(f"[{_KATAKANA}]", word):
        left = f"(?<![{_KATAKANA}])"
    elif re.match(f"[{_HANGUL}]", word):
        left = r"(?<!\w)"
    elif re.match(f"[{_UNSPACED}]", word) or not word[0].isalnum():
        left = ""
    if re.match(f"[{_KATAKANA}]", word[-1]):
        right = f"(?![{_KATAKANA}])"
    elif re.match(f"[{_HANGUL}]", word[-1]):
        right = rf"(?=(?:(?:{_PARTICLES})(?:{_PARTICLES})?)?(?!\w))"
    elif re.match(f"[{_UNSPACED}]", word[-1]):
        right = f"(?![{_VOWEL_SIGNS}])"
    elif not word[-1].isalnum():
        right = ""
    if word[0].isdigit():
        left += r"(?<!\d[.,:/])"
    if word[-1].isdigit():
        right += r"(?![.,:/]\d)"
    return left + re.escape(word).replace(r"\ ", r"\s+") + right


def _compile_pattern(entry: LexiconEntry) -> re.Pattern[str]:
    """Compile the pattern of an entry. Raises ValueError for an unusable one."""
    pattern = entry.pattern or ""
    straightened = pattern.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})
    try:
        regex = re.compile(straightened, 0 if entry.case else re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"the lexicon pattern {pattern!r} is not valid: {error}") from None
    with time_limit(regex.pattern):
        matches_empty = regex.search("") is not None
    if matches_empty:
        raise ValueError(f"the lexicon pattern {regex.pattern!r} matches even an empty text")
    return regex


_REFERENCE = re.compile(r"\\(?:(\d+)|g<(\w+)>|(\\))")


def _parse_template(say: str, regex: re.Pattern[str]) -> tuple[str | int, ...]:
    """Split a `say` into literal texts and group numbers."""
    parts: list[str | int] = []
    position = 0
    for match in _REFERENCE.finditer(say):
        parts.append(say[position : match.start()])
        position = match.end()
        name = match[1] or match[2]
        if match[3]:
            parts.append("\\")
        elif name.isdigit() and int(name) <= regex.groups:
            parts.append(int(name))
        elif name in regex.groupindex:
            parts.append(regex.groupindex[name])
        else:
            raise ValueError(
                f"{say!r} names the group {name}, which the lexicon pattern "
                f"{regex.pattern!r} does not have"
            )
    parts.append(say[position:])
    return tuple(part for part in parts if part != "")
