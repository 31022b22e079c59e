"""Where paragraphs quote direct speech: offsets of quotations, and which go on over paragraphs.

What opens and closes quotations is decided over all paragraphs that are given. Knows marks and
languages, nothing of who speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from narrator.text import dashes
from narrator.text.marks import SINGLE, Mark, Pair, Reading, Usage, paired
from narrator.text.sentences import primary
from narrator.text.speech_verbs import WORD, speech_of


@dataclass(frozen=True, slots=True)
class Quotation:
    """What is quoted within one paragraph: a quotation, or a piece of one."""

    paragraph: int
    """Its place in the sequence of paragraphs."""
    start: int
    stop: int
    """Offsets in the paragraph's text; the quotation marks are within."""
    goes_on: bool = False
    """Whether it goes on the last quotation of the paragraph before, which was not closed."""
    is_speech: bool = True
    """Whether somebody seems to say it; a title, an inscription, a word in scare quotes is none."""


def quotations(paragraphs: Sequence[str], language: str) -> tuple[Quotation, ...]:
    """The quotations of neighbouring paragraphs, in order; `language` is a BCP 47 tag.

    The outer ones alone: what is quoted within them is of them. A quotation without an end ends
    before its tag, else with its paragraph, and goes on where the next one begins with its mark
    again, or where its mark closes a few paragraphs on.
    """
    return tuple(_Search(paragraphs, language).found())


_FAR = 6
"""Paragraphs without a mark, after which a quotation that was not closed may still be."""
_DASH = "dash"
_SPACE = " \t\n\u00a0\u202f"
_ENDS = frozenset(".,!?…;:—–-―。，！？、")


class _Search:
    """The quotations of some paragraphs."""

    def __init__(self, paragraphs: Sequence[str], language: str) -> None:
        self.texts = paragraphs
        self.language = language
        self.verbs = speech_of(language).verbs
        self.usage = Usage(paragraphs, language)
        self.marks = [self.usage.marks(text) for text in paragraphs]
        self.own = self._ranked()
        self.dashes = self._speaks_after_dashes()
        self.open: str | None = None
        """What the quotation was opened with that the last paragraph has not closed."""
        self.before: str | None = None
        """The same of the one before that."""
        self.closed_in = -1
        """The paragraph in which it is closed, where none between begins with its mark."""

    def found(self) -> Iterator[Quotation]:
        for number, text in enumerate(self.texts):
            if text.strip():
                yield from self._paragraph(number, text)

    # -- the whole text

    def _ranked(self) -> tuple[str, ...]:
        """The families of marks, the one that holds the others first."""
        score: dict[str, float] = dict.fromkeys(self.usage.families, 0.0)
        present = self.usage.families
        if len(present) < 2:
            return present
        for text, families in zip(self.texts, self.marks, strict=True):
            begin = len(text) - len(text.lstrip())
            spans = {f: paired(text, marks).spans for f, marks in families.items()}
            for family, own in spans.items():
                for span in own:
                    ends = span.closed and text[span.stop - 2] in _ENDS
                    score[family] += (2 if ends else 0.5) + 2 * (span.start == begin)
            for outer, inner in _within(spans):
                score[outer] += 2
                score[inner] -= 2
        return tuple(sorted(present, key=lambda family: (-score[family], present.index(family))))

    def _speaks_after_dashes(self) -> bool:
        """Whether a dash at a paragraph's beginning opens speech in this text."""
        led = [text for text in self.texts if dashes.leads(text)]
        if primary(self.language) in dashes.DASHED:
            hyphens = [text for text in led if text.lstrip("_* ")[0] == "-"]
            said = sum(self._sounds_said(text) for text in hyphens)
            return len(led) > len(hyphens) or 4 * said >= len(hyphens)
        quoted = sum(
            any(self.usage.begins(text, family) for family in self.own[:1]) for text in self.texts
        )
        return len(led) >= 3 and len(led) > quoted

    def _sounds_said(self, text: str) -> bool:
        folded = {word.casefold() for word in WORD.findall(text)}
        return bool(folded & self.verbs) or "?" in text or "!" in text

    # -- one paragraph

    def _paragraph(self, number: int, text: str) -> Iterator[Quotation]:
        before, self.open = self.open, None
        self.before = before
        begin = len(text) - len(text.lstrip())
        pieces: list[tuple[int, int, bool]]
        if number <= self.closed_in and before:
            pieces = self._carried(number, text, before)
        elif self.dashes and (led := self._led(text, before)):
            parts = dashes.after_dash(text, led, self.language)
            pieces = [
                (begin if n == 0 else start, stop, True) for n, (start, stop) in enumerate(parts)
            ]
            if pieces and pieces[-1][1] == len(text.rstrip()):
                self.open = _DASH
            before = before if text[begin] in _AGAIN else None
        else:
            pieces = self._in_marks(number, text)
            before = None if before == _DASH else before
        for n, (start, stop, is_speech) in enumerate(pieces):
            goes_on = n == 0 and before is not None and not text[:start].strip()
            yield Quotation(number, start, stop, goes_on, is_speech or goes_on)

    def _led(self, text: str, before: str | None) -> int:
        """Where the speech of a paragraph begins that a dash opens; 0 where none does."""
        if before == _DASH and text.lstrip()[0] in _AGAIN - self.usage.opening:
            return len(text) - len(text.lstrip()) + 1
        return dashes.leads(text)

    def _carried(self, number: int, text: str, family: str) -> list[tuple[int, int, bool]]:
        """A paragraph of a quotation that an earlier one opened, and this or a later one closes."""
        begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
        if number < self.closed_in:
            self.open = family
            return [(begin, end, True)]
        reading = paired(text, self.marks[number][family], inside=True)
        return [(span.start, span.stop, True) for span in reading.spans]

    def _in_marks(self, number: int, text: str) -> list[tuple[int, int, bool]]:
        found: list[tuple[int, int, bool]] = []
        for place, family in enumerate(self.own):
            marks = self.marks[number].get(family, [])
            if not marks:
                continue
            if place == 0 or not found:
                spans = self._spans(number, text, family, marks, is_own=place == 0)
            else:
                spans = self._between(text, family, marks, found)
            for span in spans:
                is_speech = self._is_speech(text, span)
                parts = dashes.in_marks(text, span.start, span.stop, self.language)
                found += [(*part, is_speech) for part in parts if _says(text, *part)]
        if self.dashes and not found:
            found += [(start, stop, True) for start, stop in self._announced(text)]
        return sorted(found)

    def _announced(self, text: str) -> list[tuple[int, int]]:
        """Speech after a colon and a dash: “Él dijo: —Ven.”"""
        for colon in _COLON_DASH.finditer(text):
            said = {word.casefold() for word in WORD.findall(text[: colon.start()][-80:])}
            if said & self.verbs:
                parts = dashes.after_dash(text, colon.end(), self.language)
                return [(colon.start(1), parts[0][1]), *parts[1:]] if parts else []
        return []

    def _spans(
        self, number: int, text: str, family: str, marks: Sequence[Mark], *, is_own: bool
    ) -> list[Pair]:
        """The quotations of a paragraph in one family's marks."""
        after = next((t for t in self.texts[number + 1 : number + 4] if t.strip()), "")
        again = is_own and self.usage.begins(after, family)
        reading = paired(text, marks, goes_on=again)
        spans = list(reading.spans)
        if not is_own:
            return _sure(text, spans, marks)
        for place, span in enumerate(spans):
            goes_on = again and not span.cut
            # a tale over many paragraphs has tags of its own
            if not span.closed and not (goes_on and self.before == family):
                spans[place] = self._mended(text, span, last_only=goes_on)
        if reading.is_open and spans and not spans[-1].closed:
            self._leave_open(number, family, again=again)
        return [*self._unopened(text, reading), *spans]

    def _leave_open(self, number: int, family: str, *, again: bool) -> None:
        """Has a quotation go on in the next paragraph, where that opens it again, or where a
        later one closes it."""
        self.closed_in = -1 if again else self._end_of(number, family)
        self.open = family if again or self.closed_in > number else None

    def _end_of(self, number: int, family: str) -> int:
        """The paragraph in which a quotation is closed that this one has opened; -1 for none."""
        for place in range(number + 1, min(number + 1 + _FAR, len(self.texts))):
            text = self.texts[place]
            if self.dashes and dashes.leads(text):
                return -1
            if marks := self.marks[place].get(family):
                closes = marks[0].closes < marks[0].opens and text[: marks[0].at].strip()
                sure = family != SINGLE or text[marks[0].at - 1] in _ENDS
                return place if closes and sure else -1
        return -1

    def _unopened(self, text: str, reading: Reading) -> Iterator[Pair]:
        """A quotation at a paragraph's beginning whose opening mark is missing."""
        first = reading.spans[0].start if reading.spans else len(text)
        for mark in reading.strays:
            if mark.at > first or mark.at > _LONG:
                return
            if mark.closes > 0.5 or mark.closes >= mark.opens or mark.at == 0:
                continue
            if text[mark.at - 1] in _ENDS and (
                mark.at + 1 >= len(text.rstrip()) or self._verb_after(text, mark.at + 1, 6)
            ):
                yield Pair(len(text) - len(text.lstrip()), mark.at + 1, closed=True)
                return

    def _between(
        self, text: str, family: str, marks: Sequence[Mark], found: Sequence[tuple[int, int, bool]]
    ) -> list[Pair]:
        """Quotations in other marks than the text's own, between those."""
        gaps: dict[int, list[Mark]] = {}
        taken = sorted((start, stop) for start, stop, _ in found)
        place = 0
        for mark in marks:
            while place < len(taken) and taken[place][1] <= mark.at:
                place += 1
            if place == len(taken) or mark.at < taken[place][0]:
                gaps.setdefault(place, []).append(mark)
        spans = [span for inner in gaps.values() for span in paired(text, inner).spans]
        return _sure(text, spans, marks)

    # -- one quotation

    def _mended(self, text: str, span: Pair, *, last_only: bool) -> Pair:
        """A quotation that is not closed, up to a mark of another kind or to its tag."""
        for place in _OTHER_END.finditer(text, span.start + 1, span.stop):
            mark = place[1]
            opened = any(text.find(o, span.start + 1, place.start()) >= 0 for o in _OPENED_BY[mark])
            if not opened and not last_only:
                return Pair(span.start, place.end(1), closed=True)
        for place in _PAUSE.finditer(text, span.start + 1, span.stop):
            if not dashes.is_tag(text, place.end(), span.stop, self.language):
                continue
            sentence = _SENTENCE.match(text, place.end(), span.stop)
            if not last_only or (sentence and sentence.end() == span.stop):
                return Pair(span.start, place.start() + 1, closed=True)
        return span

    def _verb_after(self, text: str, at: int, most: int) -> bool:
        """Whether the clause after a quotation says that it is one."""
        if _WIDE_TAG.match(text, at):
            return True
        clause = _CLAUSE.match(text, at, at + _SAID_WITHIN)
        words = WORD.findall(clause[0])[:most] if clause else []
        return any(word.casefold() in self.verbs for word in words)

    def _verb_before(self, text: str, most: int) -> bool:
        """Whether narration leads to a quotation, with a verb among its last words."""
        clause = _LAST_CLAUSE.search(text)
        words = WORD.findall(clause[0]) if clause else []
        near = words if text[-1:] in (",", ":", "：") else words[-most:]
        return any(word.casefold() in self.verbs for word in near)

    def _is_speech(self, text: str, span: Pair) -> bool:
        """Whether a quotation is speech: it ends as speech does, or a tag stands beside it."""
        inner = text[span.start + 1 : span.stop - span.closed].strip(_SPACE + "_*")
        before = text[max(0, span.start - _SAID_WITHIN) : span.start].rstrip(_SPACE + "_*([")
        after = text[span.stop : span.stop + 20].lstrip()
        size = len(WORD.findall(inner))
        if not size:
            return any(mark in inner for mark in "?!…")
        if not span.closed or not before.strip("-—–―"):
            return True
        if _NAMED.search(before[-40:]) and inner[-1] not in "!?…—":
            return False
        ended = inner[-1] in _ENDS or after[:1] in (",", "—", "–")
        if self._verb_after(text, span.stop, 6 if ended else 2):
            return True
        # ordered unknown “Tommies”: words within a sentence, which are no more than words
        within = size < 3 and not ended and inner[0].isupper() and before[-1].isalpha()
        if self._verb_before(before, 1 if within and not _ADDRESSED.search(before) else 3):
            return True
        return _stands_alone(before, inner, after, size)


_AGAIN = frozenset("»")
"""Marks with which what follows a dash goes on in the next paragraph."""
_LONG = 400
"""Characters of a quotation without an opening mark, at most."""
_SAID_WITHIN = 80
"""Characters before a quotation in which a verb tells that it is speech."""
_COLON_DASH = re.compile(r":\s*(—|–|―|--)\s*(?=\S)")
_PAUSE = re.compile(r"[,.!?…—-]\s+(?=[^\W\d_])")
_SENTENCE = re.compile(r"(?:[^.!?…]|(?<=\bM[rs])\.|(?<=\bMrs)\.)*[.!?…]?")
_CLAUSE = re.compile(r"[^.!?;:…\"“”«»„「」]*")
_LAST_CLAUSE = re.compile(r"[^.!?;…\"“”«»„「」]*\Z")
_WIDE_TAG = re.compile(r"と(?!も)|って|\w{0,8}?[说說道问問答喊叫嚷]")
"""「うん」と言った, “你是谁？”他说: no white space parts their words."""
_CLOSERS = "\"'”’»›“‘」』)]"
_OTHER_END = re.compile(r"(?<=[.,!?…])([\"'”’»›“‘])(?=\s|\Z)")
_OPENED_BY = {
    '"': '"“„', "'": "'‘‚", "”": '“„”"', "’": "‘‚'", "»": "«»", "›": "‹›", "“": "„“", "‘": "‚‘",
}  # fmt: skip
"""Closing mark -> those that may have opened what it closes."""
_ADDRESSED = re.compile(r"\b(?:him|her|me|them|us|you|[^\W\d_a-z]\w+)\Z")
"""Whom a verb of speech is followed by, before what is said."""
_NAMED = re.compile(
    r"\b(?:called|named|entitled|inscribed|headed|labelled|labeled|marked|christened|nicknamed|"
    r"signed|ship|yacht|steamer|schooner|novel|poem|song|play|motto|inscription|placard|headline)"
    r"(?: the)?\Z"
)


def _sure(text: str, spans: Sequence[Pair], marks: Sequence[Mark]) -> list[Pair]:
    """Those whose marks do quote, though they are not the text's own: single ones may be
    apostrophes."""
    opens = {mark.at: mark.opens for mark in marks}
    return [
        span
        for span in spans
        if span.closed
        and (
            text[span.start] not in "'’"
            or (opens[span.start] < 0.3 and text[span.stop - 2] in _ENDS)
        )
    ]


def _says(text: str, start: int, stop: int) -> bool:
    """Whether there is more than marks."""
    return any(c.isalnum() or c in "?!…" for c in text[start:stop])


def _stands_alone(before: str, inner: str, after: str, size: int) -> bool:
    """Whether a quotation of so many words that no verb names is no part of a sentence."""
    last = inner[-1]
    breaks = before[-1] in _ENDS or before[-1] in _CLOSERS
    if last in "!?…—–-！？" or (last in _ENDS and breaks):
        return True
    if before[-1] in ":：" or (breaks and (not after or after[0] in _ENDS)):
        return True
    return size > (5 if breaks else 3) and (last in _ENDS or breaks) and not _is_title(inner)


def _is_title(text: str) -> bool:
    """Whether all words but small ones have capitals."""
    words = WORD.findall(text)
    return all(word[0].isupper() or len(word) < 4 for word in words)


def _within(spans: Mapping[str, Sequence[Pair]]) -> Iterator[tuple[str, str]]:
    """Pairs of families: a quotation of the first holds one of the second."""
    for outer, holding in spans.items():
        for inner, held in spans.items():
            if outer == inner:
                continue
            at = 0
            for span in held:
                while at < len(holding) and holding[at].stop < span.stop:
                    at += 1
                if at < len(holding) and holding[at].start < span.start and span.closed:
                    yield outer, inner
