"""Text to phonemes in Kokoro's alphabet, without GPL code.

The pronunciation of languages, word by word, belongs here: dictionaries, rules, the reader of IPA.
Knows no engine, no book and no figures: `narrator.text.normalize` has turned these into words, and
a figure that is left is reported (`Pronunciation.unspoken`), not read.

English (American and British), Spanish, Italian, Portuguese (Brazil), French and Hindi are built
in; Japanese and Mandarin need an extra.
"""

from __future__ import annotations

import importlib
import importlib.util
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from narrator.pronunciation import ipa
from narrator.pronunciation.alphabet import SILENT
from narrator.pronunciation.tokens import Segment, Token, Transcriber, is_wide, mark_of, tokens

__all__ = [
    "Override", "Pronunciation", "Span", "Word", "languages", "missing_extra",
    "pronounce", "speaks",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Override:
    """The author's own phonemes, in IPA, for `text[start:stop]`."""

    start: int
    stop: int
    ipa: str


@dataclass(frozen=True, slots=True)
class Word:
    """`text[start:stop]` is spoken as `phonemes[phonemes_start:phonemes_stop]`."""

    start: int
    stop: int
    phonemes_start: int
    phonemes_stop: int


@dataclass(frozen=True, slots=True)
class Span:
    """`text`, from `start` to `stop`."""

    start: int
    stop: int
    text: str


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """`phonemes` are symbols of Kokoro's alphabet. `words` are in order and do not overlap.
    `unknown` words (in English only) are pronounced from their letters; `unspoken` parts of the
    text have no phonemes."""

    phonemes: str
    words: tuple[Word, ...]
    unknown: tuple[Span, ...]
    unspoken: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Language:
    """A `Transcriber` as a function of a module here, and the extra that it needs, with the modules
    that tell that it is installed."""

    module: str
    function: str
    extra: str = ""
    requirements: tuple[str, ...] = ()


_LANGUAGES = {
    "en": _Language("english", "american"),
    "en-gb": _Language("english", "british"),
    "es": _Language("spanish", "transcribe"),
    "it": _Language("italian", "transcribe"),
    "pt": _Language("portuguese", "transcribe"),
    "fr": _Language("french", "transcribe"),
    "ja": _Language("japanese", "transcribe", "japanese", ("sudachipy", "sudachidict_core")),
    "zh": _Language("mandarin", "transcribe", "chinese", ("pypinyin", "rjieba")),
    "hi": _Language("hindi", "transcribe"),
}
_BRITISH = frozenset("gb ie au nz za in".split())
"""Regions whose English is nearer to British."""


def _language_rules(tag: str) -> _Language | None:
    """Returns the language of a BCP 47 tag, by its region if it is English; None if unknown."""
    return _LANGUAGES.get("en-gb" if is_british(tag) else _parts(tag)[0])


def _parts(tag: str) -> list[str]:
    return tag.replace("_", "-").lower().split("-")


def is_british(tag: str) -> bool:
    """Returns True for a tag (BCP 47) of English that is nearer to British than to American."""
    language, *subtags = _parts(tag)
    return language == "en" and not _BRITISH.isdisjoint(subtags)


def languages() -> tuple[str, ...]:
    """Returns the tags of all languages, whether or not their extra is installed."""
    return tuple(_LANGUAGES)


def speaks(language: str) -> bool:
    """Returns True if text in a language, a BCP 47 tag, can be pronounced now."""
    return _language_rules(language) is not None and missing_extra(language) is None


def missing_extra(language: str) -> str | None:
    """Returns the extra that has to be installed before a language can be pronounced; None if none
    is missing, or if the language is unknown and no extra helps."""
    rules = _language_rules(language)
    if rules is None:
        return None
    is_there = all(importlib.util.find_spec(name) is not None for name in rules.requirements)
    return None if is_there else rules.extra


def pronounce(text: str, language: str, overrides: Sequence[Override] = ()) -> Pronunciation:
    """Returns the phonemes of `text` in `language`, a BCP 47 tag.

    `overrides` are spans of `text` that the author wants spoken otherwise; they must not overlap.
    Raises IpaError for an override that cannot be spoken, ValueError for spans that overlap or
    leave the text, and LookupError for a language that is not spoken here.
    """
    spans: list[tuple[int, int, str]] = []
    for override in sorted(overrides, key=lambda override: override.start):
        if not (spans[-1][1] if spans else 0) <= override.start < override.stop <= len(text):
            raise ValueError(
                f"override {override.start}:{override.stop} overlaps or is not in the text"
            )
        spans.append((override.start, override.stop, ipa.to_phonemes(override.ipa, language)))
    parts = list(tokens(text, spans))
    return _assemble(text, parts, _transcriber(language)(parts))


def _transcriber(tag: str) -> Transcriber:
    rules = _language_rules(tag)
    if rules is not None and missing_extra(tag) is None:
        module = importlib.import_module(f"{__name__}.{rules.module}")
        transcriber: Transcriber = getattr(module, rules.function)
        return transcriber
    raise LookupError(f"no pronunciation for the language {tag}")


def _assemble(text: str, parts: Sequence[Token], segments: Sequence[Segment]) -> Pronunciation:
    """Puts phonemes of words, marks and spaces in the order of the text.

    `segments` are those of the word tokens of `parts`, several for a word if a script has no
    spaces.
    """
    phonemes = ""
    words: list[Word] = []
    unknown: list[Span] = []
    unspoken: list[Span] = []
    segment_iterator = iter(segments)
    segment = next(segment_iterator, None)
    for part in parts:
        if part.kind == "word":
            while segment is not None and segment.start < part.stop:
                if segment.start > part.start and segment.phonemes and not phonemes.endswith(" "):
                    phonemes += " "  # words of a script without spaces
                start = len(phonemes)
                phonemes += segment.phonemes
                if not segment.phonemes:
                    unspoken.append(_span(text, segment))
                else:
                    words.append(Word(segment.start, segment.stop, start, len(phonemes)))
                    if not segment.is_known:
                        unknown.append(_span(text, segment))
                segment = next(segment_iterator, None)
        elif part.kind == "space":
            phonemes += " " if phonemes and not phonemes.endswith(" ") else ""
        elif mark := _spoken_mark(text, part):
            opens = mark in "(“" and part.text != mark  # 「 and the like: no space stands before it
            phonemes += f" {mark}" if opens and phonemes and not phonemes.endswith(" ") else mark
            phonemes += " " if is_wide(part.text) and not opens else ""  # nor after 。
        elif part.text not in SILENT and part.text != "-" and not _is_invisible(part.text):
            unspoken.append(_span(text, part))
    return Pronunciation(phonemes.rstrip(" "), tuple(words), tuple(unknown), tuple(unspoken))


def _spoken_mark(text: str, part: Token) -> str:
    """Returns the mark that is spoken for a token; empty for none."""
    neighbours = text[part.start - 1 : part.start] + text[part.stop : part.stop + 1]
    if part.text == "-" and not neighbours.isspace():
        return ""  # no dash: the first hyphen of "two- and threefold"
    return mark_of(part.text)


def _is_invisible(text: str) -> bool:
    return all(unicodedata.category(character) in ("Cf", "Cc", "Mn") for character in text)


def _span(text: str, part: Token | Segment) -> Span:
    return Span(part.start, part.stop, text[part.start : part.stop])
