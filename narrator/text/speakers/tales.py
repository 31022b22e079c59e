"""Reads the tales within quotation marks as stories of their own, each told by its teller.

The rules that decide who speaks read them like a book's narration. Knows nothing of those rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from narrator.text.quotations import Quotation, mask_tales, nested_quotations
from narrator.text.speakers.ranking import Decision

Chapters = Sequence[Sequence[str]]
ChapterSpeech = Sequence[Sequence[Quotation]]


@dataclass(frozen=True, slots=True)
class Tales:
    """The tales of a book, at the places of their paragraphs."""

    chapters: Chapters
    """The paragraphs of each chapter; empty where nobody tells a tale."""
    quotations: ChapterSpeech
    """The quotations within the tales of each chapter."""

    def appended_to(
        self,
        chapters: tuple[tuple[str, ...], ...],
        chapter_speech: tuple[tuple[Quotation, ...], ...],
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[Quotation, ...], ...]]:
        """Returns the chapters, each with its tales told once more at its end, and their speech:
        for the search for people, some of whom only a tale names."""
        told_chapters, told_speech = [], []
        for paragraphs, speech, tale, nested in zip(
            chapters, chapter_speech, self.chapters, self.quotations, strict=True
        ):
            told_chapters.append((*paragraphs, *tale))
            repeated = (
                replace(quotation, paragraph=len(paragraphs) + quotation.paragraph)
                for quotation in nested
                if quotation.is_speech
            )
            told_speech.append((*speech, *repeated))
        return tuple(told_chapters), tuple(told_speech)

    def by_teller(
        self, decisions: Sequence[Decision]
    ) -> Iterator[tuple[int, Chapters, ChapterSpeech, frozenset[int]]]:
        """Yields the tales of each teller, with their speech, and with those who listen, by the
        decisions on the quotations outside of them.

        All tales of one teller are one story, since listeners interrupt.
        """
        tellers: dict[tuple[int, int], int] = {}
        listeners: defaultdict[int, set[int]] = defaultdict(set)
        last_speaker: int | None = None
        for decision in decisions:
            chapter, paragraph = decision.turn.passage.chapter, decision.turn.pieces[0].paragraph
            teller = decision.character
            if teller is not None and self.chapters[chapter][paragraph]:
                tellers.setdefault((chapter, paragraph), teller)
                if last_speaker is not None:
                    listeners[teller].add(last_speaker)
            last_speaker = teller
        for teller in dict.fromkeys(tellers.values()):
            texts = [
                [
                    text if tellers.get((chapter, number)) == teller else ""
                    for number, text in enumerate(paragraphs)
                ]
                for chapter, paragraphs in enumerate(self.chapters)
            ]
            speech = [
                [
                    quotation
                    for quotation in nested
                    if quotation.is_speech and texts[chapter][quotation.paragraph]
                ]
                for chapter, nested in enumerate(self.quotations)
            ]
            yield teller, texts, speech, frozenset(listeners[teller] - {teller})


def read_tales(chapters: Chapters, chapter_quotations: ChapterSpeech, language: str) -> Tales:
    """Returns the tales in the quotations of a book."""
    groups = list(zip(chapters, chapter_quotations, strict=True))
    return Tales(
        [mask_tales(paragraphs, group) for paragraphs, group in groups],
        [nested_quotations(paragraphs, group, language) for paragraphs, group in groups],
    )
