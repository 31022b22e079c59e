"""Written text -> spoken text: what a chunk says, and every change on the way.

    source -canonical-> plain -says, lexicon, rules-> words -lexicon-> words -punctuate-> spoken

Each stage is a list of edits (`edits.py`); folded into one, they are the changes of the source.
English has rules of its own (`english.py`), many languages have numbers (`languages.py`), all have
their punctuation made plain (`typography.py`).

Who wins: an author's `says` take their place first and are not read again. Then the lexicon takes
every match in the source, so that an entry like `Dr.` or `1984` finds its word before a rule could
rewrite it; then the rules read what is left; then the lexicon reads what the rules said ("Doctor"
from "Dr."), never its own words. Only punctuation is made plain in all of it.

Knows no engine. What it leaves is for all of them: words, `, ; : . ? ! ...`, apostrophes, hyphens
inside words; no quotation mark, bracket, dash, figure (in English) or invisible character; and one
stop, `.`, `?` or `!` (in the language's own form), at the end. A text without a letter or figure
in it is spoken as "".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.normalize import english, languages
from narrator.text.normalize.edits import Replacement, apply, compose, forward
from narrator.text.normalize.lexicon import Lexicon, LexiconEntry
from narrator.text.normalize.rules import Group, Setting, read
from narrator.text.normalize.typography import TYPOGRAPHY, canonical, marks_of, punctuate
from narrator.text.sentences import sentences

__all__ = ["TYPOGRAPHY", "Change", "Lexicon", "LexiconEntry", "SpokenText", "normalize"]


@dataclass(frozen=True, slots=True)
class Change:
    """`text[start:stop]` of the source is `written` and is spoken as `spoken`, by `rule`.

    An insertion has `start == stop`. Rules in `TYPOGRAPHY` change marks only; "say" and "lexicon"
    are the author's own.
    """

    start: int
    stop: int
    written: str
    spoken: str
    rule: str


@dataclass(frozen=True, slots=True)
class SpokenText:
    """What is said, and the changes that make it out of the source: in order, none overlapping."""

    text: str
    changes: tuple[Change, ...]
    pronunciations: Mapping[str, str] = field(default_factory=dict)
    """Words of it with their IPA, as the lexicon has them."""


_WEIGHT = {**dict.fromkeys(TYPOGRAPHY, 0), "ligature": 0, "lexicon": 2, "say": 3}
_HELD = 0x100000  # private characters stand for words that nothing may read again
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
    """The spoken form of one chunk's source `text`.

    `language` is a BCP 47 tag. `says` are (start, stop, spoken) in offsets of `text`, spans that
    the author wants spoken otherwise here. `heading` lets a lone Roman numeral be a number. A line
    break inside `text` is at least a full stop. Raises ValueError for `says` that overlap, lie
    outside of `text` or cover nothing visible.
    """
    tag = language.replace("_", "-").lower()
    primary = tag.split("-")[0]
    groups, how = _rules(tag, primary, heading)

    def words(caught: str) -> str:
        return apply(caught, sorted(read(caught, groups, how)))

    steps = canonical(text, primary)
    plain = apply(text, steps)
    taken = bytearray(len(plain))
    held: list[str] = []
    pronunciations: dict[str, str] = {}
    edits: list[Replacement] = []

    def hold(start: int, stop: int, spoken: str, rule: str) -> None:
        edits.append(Replacement(start, stop, chr(_HELD + len(held)), rule))
        held.append(spoken)
        taken[start:stop] = b"\x01" * (stop - start)

    for start, stop, spoken in says:
        if not 0 <= start < stop <= len(text):
            raise ValueError(f"a say from {start} to {stop} is not in a text of {len(text)}")
        first, last = forward(steps, start, stop)
        if first == last:
            raise ValueError(f"the say from {start} to {stop} covers nothing visible")
        if taken.find(1, first, last) >= 0:
            raise ValueError(f"the say from {start} to {stop} overlaps another")
        if _IPA.fullmatch(spoken):
            written = text[start:stop]
            pronunciations[written], spoken = spoken[1:-1], written
        hold(first, last, apply(spoken, canonical(spoken, primary)), "say")

    def look_up(text: str) -> None:
        for match in lexicon.matches(text, tag, speaker, words):
            start, stop = match.start, match.stop
            if taken.find(1, start, stop) < 0 and not _HELD_CHAR.search(text, start, stop):
                hold(start, stop, match.spoken, "lexicon")
                if match.ipa is not None:
                    pronunciations[match.spoken] = match.ipa

    look_up(plain)
    edits += read(plain, groups, how, taken)
    edits.sort()
    edits = _opened(plain, edits, language)
    said = apply(plain, edits)
    steps = compose(steps, plain, edits, _WEIGHT)

    edits = []
    taken = bytearray(len(said))
    look_up(said)
    edits.sort()
    steps = compose(steps, said, edits, _WEIGHT)

    if held:
        steps = [
            step._replace(new=_HELD_CHAR.sub(lambda char: held[ord(char[0]) - _HELD], step.new))
            for step in steps
        ]
    said = apply(text, steps)
    steps = compose(steps, said, punctuate(said, marks_of(primary)), _WEIGHT)
    return SpokenText(apply(text, steps), tuple(_changes(text, steps)), pronunciations)


_IPA = re.compile(r"/[^/]+/")
"""How the author says that a word is pronounced so, in place: {Siobhan|/ʃɪˈvɔːn/}."""


def _rules(tag: str, primary: str, heading: bool) -> tuple[Sequence[Group], Setting]:
    if primary == "en":
        return english.RULES, english.setting(tag, heading=heading)
    return languages.rules(tag), Setting(british=True, heading=heading)


_ENDED = re.compile(r"([.!?…])[\"')\]]*\s+[\"'(\[]*$")
_BACK = 12
"""Characters of the text before a word that show whether a sentence ends there."""


def _opened(plain: str, edits: Sequence[Replacement], language: str) -> list[Replacement]:
    """`edits` with a capital where one begins a sentence: "We left. Twelve came."

    Engines go on without a pause where a full stop has a small letter behind it. How a chunk
    itself begins means nothing to them, and it may be in the middle of a sentence.
    """
    opened: list[Replacement] = []
    begins: frozenset[int] | None = None
    last = 0
    for edit in edits:
        low = max(last, edit.start - _BACK)
        if edit.new[:1].islower() and edit.rule != "verse" and not plain[edit.start].islower():
            ended = _ENDED.search(plain, low, edit.start)
            if ended and begins is None:
                begins = frozenset(start for start, _ in sentences(plain, language))
            if ended and begins and not begins.isdisjoint(range(ended.end(1), edit.start + 1)):
                edit = edit._replace(new=edit.new[0].upper() + edit.new[1:])
        opened.append(edit)
        last = edit.stop
    return opened


def _changes(text: str, steps: Sequence[Replacement]) -> list[Change]:
    """Changes of `text`; those of marks without the letters and spaces that stay."""
    changes = []
    for start, stop, new, rule in steps:
        old = text[start:stop]
        if rule in TYPOGRAPHY and old and new:
            while old and new and old[0] == new[0]:
                start, old, new = start + 1, old[1:], new[1:]
            while old and new and old[-1] == new[-1]:
                stop, old, new = stop - 1, old[:-1], new[:-1]
        if old != new:
            changes.append(Change(start, stop, old, new, rule))
    return changes
