"""Attributes the quotations of a book to characters, by rules alone.

`attribute` is deterministic and needs only the text: quotations are found, characters named, and
each turn goes to the best candidate (`ranking.py`). The certainty of a decision is the share of
correct ones among decisions of its kind (`learnt.json`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrator.text.quotations import Quotation, quotations
from narrator.text.speakers import mentions, ranking, tags
from narrator.text.speakers.names import Character, KnownNames, Words, name_words
from narrator.text.speakers.presence import count_present
from narrator.text.speakers.roster import roster
from narrator.text.speakers.situations import Story, situations
from narrator.text.speech_words import speech_of
from textbase.languages import primary

__all__ = [
    "NO_SPEECH",
    "AttributedQuotation",
    "Attribution",
    "Character",
    "attribute",
    "knows_tags",
]

NO_SPEECH = "no-speech"
"""The rule for a quotation that is a title, an inscription or words in scare quotes."""
NO_SPEECH_CERTAINTY = 0.9


@dataclass(frozen=True, slots=True)
class AttributedQuotation:
    """A quotation, or a piece of one, with its speaker."""

    chapter: int
    quotation: Quotation
    """Its `paragraph` counts within the chapter."""
    speaker: str | None
    """Name of a character; None if unknown, and for NO_SPEECH."""
    sure: float
    """Certainty: the share of correct decisions among those like this one, 0 to 1."""
    by: str
    """The deciding rule: "tag", "pronoun", "noun", "turns"…"""
    continues_previous: bool = False
    """True if it continues the speech of the row before."""
    odds: float = 0.0
    """Probability before calibration to the share of correct decisions."""
    others: tuple[tuple[str, float], ...] = ()
    """Other candidates, the likeliest first, each with its probability."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """A book's characters and quotations."""

    cast: tuple[Character, ...]
    said: tuple[AttributedQuotation, ...]
    """Quotations in the order of the book."""


def knows_tags(language: str) -> bool:
    """Returns whether the rules know how a language (a BCP 47 tag) tells who speaks."""
    return primary(language) == "en" or speech_of(language).is_known


def attribute(
    chapters: Sequence[Sequence[str]],
    cast: Sequence[Character] = (),
    *,
    language: str,
    first_person: str | None = None,
    find: bool = False,
    was_found: bool = False,
) -> Attribution:
    """Attributes the quotations of a book, whose chapters are sequences of paragraphs.

    `cast` are the known characters; others are searched for if there are none, or with `find`.
    `first_person` is the narrator who says "I". In a language whose tags are not known, nothing is
    attributed. `was_found`: the cast comes from an earlier search, which makes decisions less
    certain than a cast that a person gave; whoever that search found besides the cast is known as a
    person, but does not speak.
    """
    if not knows_tags(language):
        return Attribution(tuple(cast), ())
    chapter_quotations = [quotations(paragraphs, language) for paragraphs in chapters]
    chapter_speech = [
        [quotation for quotation in chapter_group if quotation.is_speech]
        for chapter_group in chapter_quotations
    ]
    has_found_cast = was_found or find or not cast
    people = tuple(cast)
    if has_found_cast:
        people = _merge_people(roster(chapters, chapter_speech, language), cast, language)
    if find or not cast:
        cast = (*cast, *(person for person in people if person not in cast))
    names = KnownNames(people, language)
    passages = mentions.passages(chapters, chapter_speech, names, language)
    groups = tags.turns(passages)
    names.learn_pronouns(tags.count_pronouns(groups))
    story = Story(passages, names, groups)
    if first_person is not None:
        story.first_person = names.find(first_person)
    else:
        story.find_first_person(passages, groups)
    speakers = frozenset(index for index, person in enumerate(people) if person in cast)
    story.present = count_present(passages, speakers, story.first_person)
    decisions = ranking.decide(situations(passages, groups, story), story)
    rows = [
        row for decision in decisions for row in _decision_rows(decision, names, has_found_cast)
    ]
    rows += (
        AttributedQuotation(chapter, quotation, None, NO_SPEECH_CERTAINTY, NO_SPEECH)
        for chapter, chapter_group in enumerate(chapter_quotations)
        for quotation in chapter_group
        if not quotation.is_speech
    )
    rows.sort(key=lambda row: (row.chapter, row.quotation.paragraph, row.quotation.start))
    return Attribution(tuple(cast), tuple(rows))


def _decision_rows(
    decision: ranking.Decision, names: KnownNames, has_found_cast: bool
) -> Iterator[AttributedQuotation]:
    """Yields an attributed quotation for each piece of the speech that a decision is about."""
    speaker = None if decision.character is None else names.cast[decision.character].name
    certainty = ranking.certainty(decision.by, decision.odds, has_found_cast=has_found_cast)
    others = tuple((names.cast[candidate].name, odds) for candidate, odds in decision.others)
    for index, piece in enumerate(decision.turn.pieces):
        yield AttributedQuotation(
            decision.turn.passage.chapter,
            piece,
            speaker,
            certainty,
            decision.by,
            continues_previous=index > 0 or decision.by == "goes-on",
            odds=decision.odds,
            others=others,
        )


def _merge_people(
    found_people: Sequence[Character], cast: Sequence[Character], language: str
) -> tuple[Character, ...]:
    """Returns the people found in the text, in their order, with those of the cast who share a name
    in their place, and after them the rest of the cast."""
    members_by_name: dict[Words, Character] = {}
    for member in cast:
        for name in member.names:
            members_by_name.setdefault(name_words(name, language), member)
    people: dict[Character, None] = {}
    for person in found_people:
        names = [name_words(name, language) for name in person.names]
        members = [members_by_name[name] for name in names if name in members_by_name]
        people |= dict.fromkeys(members or [person])
    return tuple(people | dict.fromkeys(cast))
