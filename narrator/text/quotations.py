"""Finds direct speech: offsets of quotations, and quotations that continue over paragraphs.

The roles of opening and closing marks are decided over all paragraphs together. Knows marks and
languages, nothing of speakers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from narrator.text import dashes
from narrator.text.marks import SINGLE, Mark, Pair, Reading, Usage, read_pairs
from narrator.text.speech_verbs import WORD, folded_words
from narrator.text.speech_words import speech_of


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation within one paragraph, or a piece of one."""

    paragraph: int
    """Index of the paragraph."""
    start: int
    stop: int
    """Offsets in the paragraph's text, quotation marks included."""
    continues_previous: bool = False
    """True if it continues the last quotation of the paragraph before, which was not closed."""
    is_speech: bool = True
    """False for a title, an inscription, or words in scare quotes."""
    is_nested: bool = False
    """True if it lies within another quotation, in a tale."""

    @property
    def place(self) -> tuple[int, int, bool]:
        """Its place in the order of the text, in which outer quotations come first."""
        return self.paragraph, self.start, self.is_nested


def quotations(paragraphs: Sequence[str], language: str) -> tuple[Quotation, ...]:
    """Finds the quotations of neighbouring paragraphs, in order; `language` is a BCP 47 tag.

    Only outer quotations are returned. A quotation without an end stops before its speech tag, or
    else with its paragraph; it continues where the next paragraph begins with its mark again, or
    where its mark closes a few paragraphs later.
    """
    return tuple(_QuotationFinder(paragraphs, language).find())


def nested_quotations(
    paragraphs: Sequence[str], outer_quotations: Sequence[Quotation], language: str
) -> tuple[Quotation, ...]:
    """Finds the quotations within tales, in order: what people say whose words the teller repeats.

    `outer_quotations` are those of the paragraphs, as `quotations` returns them. A tale is a
    quotation over several paragraphs.
    """
    narrations = mask_tales(paragraphs, outer_quotations)
    return tuple(
        replace(quotation, is_nested=True)
        for quotation in quotations([text or _NO_TALE for text in narrations], language)
        if narrations[quotation.paragraph]
    )


_NO_TALE = "x"
"""Placeholder for a paragraph outside of tales: no quotation continues across it."""


def mask_tales(paragraphs: Sequence[str], outer_quotations: Sequence[Quotation]) -> list[str]:
    """Returns the words of tales as narration, with spaces for their marks and for all other text
    of their paragraphs; paragraphs without a tale are empty.

    Offsets stay as they are.
    """
    tale_paragraphs = {
        paragraph
        for previous, quotation in pairwise(outer_quotations)
        if quotation.continues_previous
        for paragraph in (previous.paragraph, quotation.paragraph)
    }
    masked = [""] * len(paragraphs)
    for quotation in outer_quotations:
        if quotation.paragraph not in tale_paragraphs:
            continue
        text = paragraphs[quotation.paragraph]
        start, stop = quotation.start, quotation.stop
        closers = _CLOSERS.get(text[start], "")
        start += bool(closers)
        stop -= stop > start and text[stop - 1] in closers
        before = masked[quotation.paragraph] or " " * len(text)
        masked[quotation.paragraph] = before[:start] + text[start:stop] + before[stop:]
    return masked


_MAX_UNMARKED_PARAGRAPHS = 6
"""Paragraphs without a mark over which an unclosed quotation may still be closed."""
_DASH_OPENER = "dash"
_SPACE = " \t\n\u00a0\u202f"
_ENDING_MARKS = frozenset(".,!?…;:—–-―。，！？、")


def join_chapters(
    chapters: Sequence[Sequence[str]], chapter_quotations: Sequence[Sequence[Quotation]]
) -> list[Sequence[Quotation]]:
    """Returns the quotations of each chapter; the first continues the last one of the chapter
    before, if that was not closed and this one begins with the same mark: a tale goes on."""
    joined: list[Sequence[Quotation]] = []
    open_mark = ""
    for paragraphs, found in zip(chapters, chapter_quotations, strict=True):
        texts = [number for number, text in enumerate(paragraphs) if text.strip()]
        first = found[0] if found else None
        if first is not None and first.paragraph == texts[0] and open_mark:
            text = paragraphs[first.paragraph]
            if text.lstrip().startswith(open_mark) and not text[: first.start].strip():
                found = (replace(first, continues_previous=True, is_speech=True), *found[1:])
        open_mark = ""
        if found and found[-1].paragraph == texts[-1]:
            text = paragraphs[texts[-1]].rstrip()
            mark = text[found[-1].start]
            is_open = found[-1].stop >= len(text) and text[-1] not in _CLOSERS.get(mark, text[-1])
            open_mark = mark if is_open else ""
        joined.append(found)
    return joined


_CLOSERS = {
    "“": "”", '"': '"', "‘": "’", "'": "'", "«": "»", "»": "«", "„": "“”", "「": "」", "『": "』",
}  # fmt: skip
"""Opening mark -> its possible closing marks."""


class _QuotationFinder:
    """Finds the quotations of consecutive paragraphs."""

    def __init__(self, paragraphs: Sequence[str], language: str) -> None:
        self.texts = paragraphs
        self.language = language
        self.speech_verbs = speech_of(language).verbs
        self.usage = Usage(paragraphs, language)
        self.marks = [self.usage.marks(text) for text in paragraphs]
        self.ranked_families = self._rank_families()
        self.uses_dashes = self._speaks_after_dashes()
        self.open_family: str | None = None
        """Family of marks, or dash, of the quotation that the last paragraph left open."""
        self.previous_open_family: str | None = None
        """The same for the paragraph before that."""
        self.closing_paragraph = -1
        """Index of the paragraph that closes the open quotation, if none in between reopens it."""

    def find(self) -> Iterator[Quotation]:
        for number, text in enumerate(self.texts):
            # a scene break within a tale leaves its quotation open
            if self.marks[number] or any(map(str.isalnum, text)):
                yield from self._find_in_paragraph(number, text)

    # -- the whole text

    def _rank_families(self) -> tuple[str, ...]:
        """Returns the families of marks, outermost first."""
        families = self.usage.families
        if len(families) < 2:
            return families
        scores = dict.fromkeys(families, 0.0)
        for text, marks_by_family in zip(self.texts, self.marks, strict=True):
            text_start = len(text) - len(text.lstrip())
            spans = {f: read_pairs(text, marks).spans for f, marks in marks_by_family.items()}
            for family, family_spans in spans.items():
                for span in family_spans:
                    ends_clause = span.is_closed and text[span.stop - 2] in _ENDING_MARKS
                    scores[family] += (2 if ends_clause else 0.5) + 2 * (span.start == text_start)
            for outer, inner in _nested_families(spans):
                scores[outer] += 2
                scores[inner] -= 2
        return tuple(sorted(families, key=lambda family: -scores[family]))

    def _speaks_after_dashes(self) -> bool:
        """Returns whether a dash at a paragraph's beginning opens speech in this text."""
        dashed_texts = [text for text in self.texts if dashes.speech_start(text)]
        if "dash" in speech_of(self.language).traits:
            hyphened_texts = [text for text in dashed_texts if text.lstrip("_* ")[0] == "-"]
            speech_count = sum(map(self._seems_spoken, hyphened_texts))
            has_long_dashes = len(dashed_texts) > len(hyphened_texts)
            return has_long_dashes or 4 * speech_count >= len(hyphened_texts)
        quoted_count = sum(
            any(self.usage.begins_quotation(text, family) for family in self.ranked_families[:1])
            for text in self.texts
        )
        return len(dashed_texts) >= 3 and len(dashed_texts) > quoted_count

    def _seems_spoken(self, text: str) -> bool:
        return "?" in text or "!" in text or not self.speech_verbs.isdisjoint(folded_words(text))

    # -- one paragraph

    def _find_in_paragraph(self, number: int, text: str) -> Iterator[Quotation]:
        """Yields the quotations of one paragraph, and updates the open quotation."""
        previous_opener, self.open_family = self.open_family, None
        self.previous_open_family = previous_opener
        text_start = len(text) - len(text.lstrip())
        pieces: list[tuple[int, int, bool]]
        if number <= self.closing_paragraph and previous_opener:
            pieces = self._continued_quotation(number, text, previous_opener)
        elif self.uses_dashes and (speech_start := self._dash_speech_start(text, previous_opener)):
            parts = dashes.speech_after_dash(text, speech_start, self.language)
            pieces = [
                (text_start if index == 0 else start, stop, True)
                for index, (start, stop) in enumerate(parts)
            ]
            if pieces and pieces[-1][1] == len(text.rstrip()):
                self.open_family = _DASH_OPENER
            previous_opener = previous_opener if text[text_start] in _CONTINUATION_MARKS else None
        else:
            pieces = self._find_between_marks(number, text)
            previous_opener = None if previous_opener == _DASH_OPENER else previous_opener
        for index, (start, stop, is_speech) in enumerate(pieces):
            continues_previous = (
                index == 0 and previous_opener is not None and not text[:start].strip()
            )
            yield Quotation(
                number, start, stop, continues_previous, is_speech or continues_previous
            )

    def _dash_speech_start(self, text: str, previous_opener: str | None) -> int:
        """Returns the offset at which speech opened by a dash begins; 0 if a dash opens none."""
        if (
            previous_opener == _DASH_OPENER
            and text.lstrip()[0] in _CONTINUATION_MARKS - self.usage.opening
        ):
            return len(text) - len(text.lstrip()) + 1
        return dashes.speech_start(text)

    def _continued_quotation(
        self, number: int, text: str, family: str
    ) -> list[tuple[int, int, bool]]:
        """Returns the pieces of a paragraph inside a quotation that an earlier one opened, and
        this or a later one closes."""
        text_start, text_end = len(text) - len(text.lstrip()), len(text.rstrip())
        if number < self.closing_paragraph:
            self.open_family = family
            return [(text_start, text_end, True)]
        reading = read_pairs(text, self.marks[number][family], begins_inside=True)
        return [(span.start, span.stop, True) for span in reading.spans]

    def _find_between_marks(self, number: int, text: str) -> list[tuple[int, int, bool]]:
        """Finds the quotations between marks, as start, stop and True for speech."""
        pieces: list[tuple[int, int, bool]] = []
        for rank, family in enumerate(self.ranked_families):
            marks = self.marks[number].get(family, [])
            if not marks:
                continue
            if rank == 0 or not pieces:
                spans = self._find_pairs(number, text, family, marks, is_main_family=rank == 0)
            else:
                spans = self._find_in_gaps(text, marks, pieces)
            for span in spans:
                is_speech = self._is_speech(text, span)
                parts = dashes.speech_between_marks(text, span.start, span.stop, self.language)
                pieces += [(*part, is_speech) for part in parts if _has_content(text, *part)]
        if self.uses_dashes and not pieces:
            pieces += [(start, stop, True) for start, stop in self._find_announced(text)]
        return sorted(pieces)

    def _find_announced(self, text: str) -> list[tuple[int, int]]:
        """Finds speech after a colon and a dash: “Él dijo: —Ven.”"""
        for colon in _COLON_DASH.finditer(text):
            words = {word.casefold() for word in WORD.findall(text[: colon.start()][-80:])}
            if words & self.speech_verbs:
                parts = dashes.speech_after_dash(text, colon.end(), self.language)
                return [(colon.start(1), parts[0][1]), *parts[1:]] if parts else []
        return []

    def _find_pairs(
        self, number: int, text: str, family: str, marks: Sequence[Mark], *, is_main_family: bool
    ) -> list[Pair]:
        """Finds the quotations of a paragraph in one family's marks."""
        next_text = next(
            (
                text_after
                for text_after in self.texts[number + 1 : number + 4]
                if any(map(str.isalnum, text_after))
            ),
            "",
        )
        reopens_next = is_main_family and self.usage.begins_quotation(next_text, family)
        reading = read_pairs(text, marks, continues=reopens_next)
        spans = list(reading.spans)
        if not is_main_family:
            return _sure_pairs(text, spans, marks)
        # « Viens, dit-elle, je… and the answer after a dash: its tags are found like all others
        is_answered = self.uses_dashes and dashes.speech_start(next_text) > 0
        for index, span in enumerate(spans):
            continues = (reopens_next or is_answered) and not span.is_cut
            # a tale over many paragraphs has tags of its own
            if not span.is_closed and not (continues and self.previous_open_family == family):
                spans[index] = self._close_unclosed(text, span, only_at_end=continues)
        if reading.is_open and spans and not spans[-1].is_closed:
            self._leave_open(number, family, reopens_next=reopens_next)
        return [*self._find_unopened(text, reading), *spans]

    def _leave_open(self, number: int, family: str, *, reopens_next: bool) -> None:
        """Continues a quotation in the next paragraph if that reopens it, or if a later one closes
        it."""
        self.closing_paragraph = (
            -1 if reopens_next else self._find_closing_paragraph(number, family)
        )
        self.open_family = family if reopens_next or self.closing_paragraph > number else None

    def _find_closing_paragraph(self, number: int, family: str) -> int:
        """Returns the index of the paragraph that closes the quotation opened here, or -1."""
        for paragraph in range(
            number + 1, min(number + 1 + _MAX_UNMARKED_PARAGRAPHS, len(self.texts))
        ):
            text = self.texts[paragraph]
            if self.uses_dashes and dashes.speech_start(text):
                return -1
            if marks := self.marks[paragraph].get(family):
                can_close = (
                    marks[0].closing_cost < marks[0].opening_cost
                    and text[: marks[0].offset].strip()
                )
                is_sure = family != SINGLE or text[marks[0].offset - 1] in _ENDING_MARKS
                return paragraph if can_close and is_sure else -1
        return -1

    def _find_unopened(self, text: str, reading: Reading) -> Iterator[Pair]:
        """Yields a quotation at a paragraph's beginning whose opening mark is missing."""
        first_start = reading.spans[0].start if reading.spans else len(text)
        for mark in reading.strays:
            if mark.offset > first_start or mark.offset > _MAX_UNOPENED_LENGTH:
                return
            if (
                mark.closing_cost > 0.5
                or mark.closing_cost >= mark.opening_cost
                or mark.offset == 0
            ):
                continue
            if text[mark.offset - 1] in _ENDING_MARKS and (
                mark.offset + 1 >= len(text.rstrip())
                or self._has_verb_after(text, mark.offset + 1, 6)
            ):
                yield Pair(len(text) - len(text.lstrip()), mark.offset + 1, is_closed=True)
                return

    def _find_in_gaps(
        self, text: str, marks: Sequence[Mark], pieces: Sequence[tuple[int, int, bool]]
    ) -> list[Pair]:
        """Finds quotations in other families' marks, between those already found."""
        gaps: dict[int, list[Mark]] = {}
        spans_taken = sorted((start, stop) for start, stop, _ in pieces)
        index = 0
        for mark in marks:
            while index < len(spans_taken) and spans_taken[index][1] <= mark.offset:
                index += 1
            if index == len(spans_taken) or mark.offset < spans_taken[index][0]:
                gaps.setdefault(index, []).append(mark)
        spans = [span for gap_marks in gaps.values() for span in read_pairs(text, gap_marks).spans]
        return _sure_pairs(text, spans, marks)

    # -- one quotation

    def _close_unclosed(self, text: str, span: Pair, *, only_at_end: bool) -> Pair:
        """Returns an unclosed quotation cut off at a mark of another family, or before its speech
        tag."""
        for match in _FOREIGN_CLOSING.finditer(text, span.start + 1, span.stop):
            mark = match[1]
            is_opened_inside = any(
                text.find(opener, span.start + 1, match.start()) >= 0
                for opener in _OPENING_MARKS[mark]
            )
            if not is_opened_inside and not only_at_end:
                return Pair(span.start, match.end(1), is_closed=True)
        for match in _PAUSE.finditer(text, span.start + 1, span.stop):
            if not dashes.is_tag(text, match.end(), span.stop, self.language):
                continue
            sentence = _SENTENCE.match(text, match.end(), span.stop)
            if not only_at_end or (sentence and sentence.end() == span.stop):
                return Pair(span.start, match.start() + 1, is_closed=True)
        return span

    def _has_verb_after(self, text: str, offset: int, max_words: int) -> bool:
        """Returns whether the clause after a quotation begins with a verb of speech."""
        if _WIDE_TAG.match(text, offset):
            return True
        clause = _CLAUSE.match(text, offset, offset + _VERB_REACH)
        words = WORD.findall(clause[0])[:max_words] if clause else []
        return any(word.casefold() in self.speech_verbs for word in words)

    def _has_verb_before(self, text: str, max_words: int) -> bool:
        """Returns whether a verb of speech is among the last words before a quotation."""
        clause = _LAST_CLAUSE.search(text)
        words = WORD.findall(clause[0]) if clause else []
        last_words = words if text[-1:] in (",", ":", "：") else words[-max_words:]
        return any(word.casefold() in self.speech_verbs for word in last_words)

    def _is_speech(self, text: str, span: Pair) -> bool:
        """Returns whether a quotation is speech: it ends like speech, or has a speech tag.

        A title, a name or a word that the narrator quotes is not.
        """
        inner_text = text[span.start + 1 : span.stop - span.is_closed].strip(_SPACE + "_*")
        text_before = text[max(0, span.start - _VERB_REACH) : span.start].rstrip(_SPACE + "_*([")
        text_after = text[span.stop : span.stop + 20].lstrip()
        word_count = len(WORD.findall(inner_text))
        if not word_count:
            return any(mark in inner_text for mark in "?!…")
        if not span.is_closed or not text_before.strip("-—–―"):
            return True
        if _NAMING_WORD.search(text_before[-40:]) and inner_text[-1] not in "!?…—":
            return False
        ends_clause = inner_text[-1] in _ENDING_MARKS or text_after[:1] in (",", "—", "–")
        if self._has_verb_after(text, span.stop, 6 if ends_clause else 2):
            return True
        # ordered unknown “Tommies”: words within a sentence, which are no more than words
        is_within_sentence = (
            word_count < 3
            and not ends_clause
            and inner_text[0].isupper()
            and text_before[-1].isalpha()
        )
        if self._has_verb_before(
            text_before, 1 if is_within_sentence and not _ADDRESSEE.search(text_before) else 3
        ):
            return True
        return _is_independent(text_before, inner_text, text_after, word_count)


_CONTINUATION_MARKS = frozenset("»")
"""Marks that continue speech after a dash in the next paragraph."""
_MAX_UNOPENED_LENGTH = 400
"""Maximum length of a quotation without an opening mark, in characters."""
_VERB_REACH = 80
"""Characters next to a quotation in which a verb of speech shows that it is speech."""
_COLON_DASH = re.compile(r":\s*(—|–|―|--)\s*(?=\S)")
_PAUSE = re.compile(r"[,.!?…—-]\s+(?=[^\W\d_])")
_SENTENCE = re.compile(r"(?:[^.!?…]|(?<=\bM[rs])\.|(?<=\bMrs)\.)*[.!?…]?")
_CLAUSE = re.compile(r"[^.!?;:…\"“”«»„「」]*")
_LAST_CLAUSE = re.compile(r"[^.!?;…\"“”«»„「」]*\Z")
_WIDE_TAG = re.compile(r"と(?!も)|って|\w{0,8}?[说說道问問答喊叫嚷]")
"""「うん」と言った, “你是谁？”他说: no white space parts their words."""
_CLOSING_MARKS = "\"'”’»›“‘」』)]"
_FOREIGN_CLOSING = re.compile(r"(?<=[.,!?…])([\"'”’»›“‘])(?=\s|\Z)")
_OPENING_MARKS = {
    '"': '"“„', "'": "'‘‚", "”": '“„”"', "’": "‘‚'", "»": "«»", "›": "‹›", "“": "„“", "‘": "‚‘",
}  # fmt: skip
"""Closing mark -> marks that may open what it closes."""
_ADDRESSEE = re.compile(r"\b(?:him|her|me|them|us|you|[^\W\d_a-z]\w+)\Z")
"""The person spoken to, between a verb of speech and a quotation."""
_NAMING_WORD = re.compile(
    r"\b(?:called|named|entitled|inscribed|headed|labelled|labeled|marked|christened|nicknamed|"
    r"signed|ship|yacht|steamer|schooner|novel|poem|song|play|motto|inscription|placard|headline)"
    r"(?: the)?\Z"
)


def _sure_pairs(text: str, spans: Sequence[Pair], marks: Sequence[Mark]) -> list[Pair]:
    """Returns the pairs that certainly quote, though their family is not the main one; single
    marks may be apostrophes."""
    opening_costs = {mark.offset: mark.opening_cost for mark in marks}
    return [
        span
        for span in spans
        if span.is_closed
        and (
            text[span.start] not in "'’"
            or (opening_costs[span.start] < 0.3 and text[span.stop - 2] in _ENDING_MARKS)
        )
    ]


def _has_content(text: str, start: int, stop: int) -> bool:
    """Returns whether the text has more than marks."""
    return any(c.isalnum() or c in "?!…" for c in text[start:stop])


def _is_independent(text_before: str, inner_text: str, text_after: str, word_count: int) -> bool:
    """Returns whether a quotation without a verb of speech is not part of a sentence."""
    last_character = inner_text[-1]
    is_after_break = text_before[-1] in _ENDING_MARKS or text_before[-1] in _CLOSING_MARKS
    if last_character in "!?…—–-！？" or (last_character in _ENDING_MARKS and is_after_break):
        return True
    if text_before[-1] in ":：" or (
        is_after_break and (not text_after or text_after[0] in _ENDING_MARKS)
    ):
        return True
    return (
        word_count > (5 if is_after_break else 3)
        and (last_character in _ENDING_MARKS or is_after_break)
        and not _is_title(inner_text)
    )


def _is_title(text: str) -> bool:
    """Returns whether all words but short ones have capitals."""
    words = WORD.findall(text)
    return all(word[0].isupper() or len(word) < 4 for word in words)


def _nested_families(spans: Mapping[str, Sequence[Pair]]) -> Iterator[tuple[str, str]]:
    """Yields pairs of families where a quotation of the first contains one of the second."""
    for outer, outer_spans in spans.items():
        for inner, inner_spans in spans.items():
            if outer == inner:
                continue
            index = 0
            for span in inner_spans:
                while index < len(outer_spans) and outer_spans[index].stop < span.stop:
                    index += 1
                if (
                    index < len(outer_spans)
                    and outer_spans[index].start < span.start
                    and span.is_closed
                ):
                    yield outer, inner
