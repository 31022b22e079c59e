"""Normalises written text to spoken text, and records every change.

    source -canonical-> plain -says, lexicon, rules-> words -lexicon-> words -punctuate-> spoken

Each stage is a list of edits (`edits.py`); composed into one list, they are the changes of the
source. English has rules of its own (`english.py`), many languages have a grammar of figures and
abbreviations (`grammars.py`), all have their punctuation simplified (`typography.py`).

Precedence: an author's `says` are replaced first and are not read again. Then the lexicon takes
every match in the source, so that an entry like `Dr.` or `1984` finds its word before a rule could
rewrite it; then the rules read the rest; then the lexicon reads the rules' words ("Doctor" from
"Dr."), never its own. Only punctuation is simplified everywhere.

Knows no engine. The output suits all of them: words, `, ; : . ? ! ...`, apostrophes, hyphens inside
words; no quotation mark, bracket, dash, figure (in English) or invisible character; and one stop,
`.`, `?` or `!` (in the language's own form), at the end. A text without a letter or figure becomes
"".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.normalize import east_asian, english, grammars
from narrator.text.normalize.edits import Replacement, apply_edits, compose, map_span
from narrator.text.normalize.lexicon import Lexicon, LexiconEntry
from narrator.text.normalize.rules import AUTHORS_RULES, apply_rules, without_half_read
from narrator.text.normalize.typography import TYPOGRAPHY, canonical, marks_of, punctuate
from narrator.text.sentences import sentences

__all__ = [
    "AUTHORS_RULES",
    "TYPOGRAPHY",
    "Change",
    "Lexicon",
    "LexiconEntry",
    "SpokenText",
    "normalize",
]


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces `text[start:stop]` of the source, `written`, by `spoken`; `rule` names the cause.

    An insertion has `start == stop`. Rules in `TYPOGRAPHY` change marks only; those in
    `AUTHORS_RULES` are the author's own.
    """

    start: int
    stop: int
    written: str
    spoken: str
    rule: str


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Spoken text with the changes from its source, in order, none overlapping."""

    text: str
    changes: tuple[Change, ...]
    pronunciations: Mapping[str, str] = field(default_factory=dict)
    """Words of the text -> their IPA, from the lexicon."""


_RULE_WEIGHTS = {**dict.fromkeys(TYPOGRAPHY, 0), "ligature": 0, "lexicon": 2, "say": 3}
_HELD_BASE = 0x100000  # private characters stand for words that nothing may read again
_HELD_CHAR = re.compile("[\U00100000-\U0010ffff]")


def normalize(
    text: str,
    *,
    language: str,
    speaker: str,
    lexicon: Lexicon,
    says: Sequence[tuple[int, int, str]] = (),
    heading: bool = False,
) -> SpokenText:
    """Return the spoken form of one chunk's source `text`.

    `language` is a BCP 47 tag. `says` are (start, stop, spoken) in offsets of `text`, spans that
    the author wants spoken otherwise here. `heading` lets a lone Roman numeral be a number. A line
    break inside `text` is at least a full stop. Raises ValueError for `says` that overlap, lie
    outside of `text` or cover nothing visible.
    """
    tag = language.replace("_", "-").lower()
    primary = tag.split("-")[0]
    rule_groups = english.rules(tag) if primary == "en" else grammars.rules(tag)

    def read_caught(caught: str) -> str:
        return apply_edits(caught, sorted(apply_rules(caught, rule_groups, heading=heading)))

    source_edits = canonical(text, primary)
    plain = apply_edits(text, source_edits)
    read_mask = bytearray(len(plain))
    held_words: list[str] = []
    pronunciations: dict[str, str] = {}
    edits: list[Replacement] = []

    def hold_span(start: int, stop: int, spoken: str, rule: str) -> None:
        edits.append(Replacement(start, stop, chr(_HELD_BASE + len(held_words)), rule))
        held_words.append(spoken)
        read_mask[start:stop] = b"\x01" * (stop - start)

    for start, stop, spoken in says:
        if not 0 <= start < stop <= len(text):
            raise ValueError(f"a say from {start} to {stop} is not in a text of {len(text)}")
        plain_start, plain_stop = map_span(source_edits, start, stop)
        if plain_start == plain_stop:
            raise ValueError(f"the say from {start} to {stop} covers nothing visible")
        if read_mask.find(1, plain_start, plain_stop) >= 0:
            raise ValueError(f"the say from {start} to {stop} overlaps another")
        if _IPA.fullmatch(spoken):
            written = text[start:stop]
            pronunciations[written], spoken = spoken[1:-1], written
        hold_span(plain_start, plain_stop, apply_edits(spoken, canonical(spoken, primary)), "say")

    def look_up(text: str) -> None:
        """Hold the lexicon's matches in a text, outside of spans already read."""
        for match in lexicon.matches(text, tag, speaker, read_caught):
            start, stop, spoken = match.start, match.stop, match.spoken
            if text[stop - 1] == "." and _ends_sentence(text, stop, language):
                stop, spoken = stop - 1, spoken.removesuffix(".")
            if read_mask.find(1, start, stop) < 0 and not _HELD_CHAR.search(text, start, stop):
                hold_span(start, stop, spoken, "lexicon")
                if (ipa := match.entry.phonemes) is not None:
                    pronunciations[spoken] = ipa

    look_up(plain)
    ascii_text = _ascii_figures(plain)
    edits += apply_rules(ascii_text, rule_groups, read_mask, heading=heading)
    if primary in east_asian.LANGUAGES:
        edits += east_asian.read_figures(ascii_text, primary, read_mask)
    if primary != "en":
        edits = without_half_read(ascii_text, edits)
    edits.sort()
    edits = _capitalise_lines(plain, _capitalise_sentences(plain, edits, language))
    words_text = apply_edits(plain, edits)
    source_edits = compose(source_edits, plain, edits, _RULE_WEIGHTS)

    edits = []
    read_mask = bytearray(len(words_text))
    look_up(words_text)
    edits.sort()
    source_edits = compose(source_edits, words_text, edits, _RULE_WEIGHTS)

    if held_words:
        source_edits = [
            step._replace(
                new=_HELD_CHAR.sub(lambda char: held_words[ord(char[0]) - _HELD_BASE], step.new)
            )
            for step in source_edits
        ]
    words_text = apply_edits(text, source_edits)
    source_edits = compose(
        source_edits, words_text, punctuate(words_text, marks_of(primary)), _RULE_WEIGHTS
    )
    return SpokenText(
        apply_edits(text, source_edits), tuple(_changes(text, source_edits)), pronunciations
    )


_ASCII_DIGITS = {
    code: str(unicodedata.digit(chr(code)))
    for code in range(0x660, 0x1820)
    if chr(code).isdecimal()
}
"""Digits of all scripts, which rules read as ours; what they leave stays as written."""
_WIDE_SIGN = re.compile(r"(?<=\d)(?:[．：／](?=\d)|％)|＋(?=\d)")
"""Signs of figures in the width of East Asian characters: １２：３０, ５％."""


def _ascii_figures(text: str) -> str:
    """Returns a text, of the same length, with figures and their signs as ours."""
    return _WIDE_SIGN.sub(lambda sign: chr(ord(sign[0]) - 0xFEE0), text.translate(_ASCII_DIGITS))


_IPA = re.compile(r"/[^/]*/")
"""IPA that the author gives in place: {Siobhan|/ʃɪˈvɔːn/}."""


_SENTENCE_END = re.compile(r"([.!?…])[\"')\]]*\s+[\"'(\[]*$")
_LOOKBEHIND = 12
"""Characters before a word that show if a sentence ends there."""


def _ends_sentence(text: str, stop: int, language: str) -> bool:
    """Whether nothing is said between `stop` and a sentence's end."""
    ends = (end for _, end in sentences(text, language) if end >= stop)
    return not any(map(str.isalnum, text[stop : next(ends, len(text))]))


def _capitalise_sentences(
    plain: str, edits: Sequence[Replacement], language: str
) -> list[Replacement]:
    """Return `edits`, capitalised where they begin a sentence: "We left. Twelve came."

    Engines make no pause at a full stop before a lower-case letter. The beginning of the chunk does
    not matter to them, and it may be inside a sentence.
    """
    capitalised: list[Replacement] = []
    sentence_starts: frozenset[int] | None = None
    previous_stop = 0
    ends_sentence = False  # a rule kept the full stop of an abbreviation
    for edit in edits:
        search_start = max(previous_stop, edit.start - _LOOKBEHIND)
        if edit.new[:1].islower() and edit.rule != "verse" and not plain[edit.start].islower():
            sentence_end = _SENTENCE_END.search(plain, search_start, edit.start)
            if ends_sentence and not plain[previous_stop : edit.start].strip(" \"'(["):
                edit = edit._replace(new=edit.new[0].upper() + edit.new[1:])
            if sentence_end and sentence_starts is None:
                sentence_starts = frozenset(start for start, _ in sentences(plain, language))
            if (
                sentence_end
                and sentence_starts
                and not sentence_starts.isdisjoint(range(sentence_end.end(1), edit.start + 1))
            ):
                edit = edit._replace(new=edit.new[0].upper() + edit.new[1:])
        capitalised.append(edit)
        previous_stop = edit.stop
        ends_sentence = edit.new.endswith(".") and plain[edit.stop - 1] == "."
    return capitalised


_LINE_START = re.compile(r"(?<=\w)\W*\n\W*(?=[^\W\d_])")


def _capitalise_lines(plain: str, edits: list[Replacement]) -> list[Replacement]:
    """Return `edits` with a capital at the beginning of each line but the first, since a line ends
    with a stop at least, after which engines make a pause before a capital alone."""
    starts = {match.end() for match in _LINE_START.finditer(plain) if plain[match.end()].islower()}
    if not starts:
        return edits
    capitalised = [
        edit._replace(new=edit.new[:1].upper() + edit.new[1:]) if edit.start in starts else edit
        for edit in edits
    ]
    for start in starts:
        if not any(edit.start <= start < edit.stop for edit in edits):
            capitalised.append(Replacement(start, start + 1, plain[start].upper(), "capitals"))
    return sorted(capitalised)


def _changes(text: str, steps: Sequence[Replacement]) -> list[Change]:
    """Return the changes of `text`; changes of marks without unchanged letters and spaces."""
    changes = []
    for start, stop, spoken, rule in steps:
        written = text[start:stop]
        if rule in TYPOGRAPHY and written and spoken:
            while written and spoken and written[0] == spoken[0]:
                start, written, spoken = start + 1, written[1:], spoken[1:]
            while written and spoken and written[-1] == spoken[-1]:
                stop, written, spoken = stop - 1, written[:-1], spoken[:-1]
        if written != spoken:
            changes.append(Change(start, stop, written, spoken, rule))
    return changes
