"""Attributes the quotations of a book to characters, by rules alone.

`attribute` is deterministic and needs only the text: quotations are found, characters named, and
each turn goes to the best candidate (`ranking.py`). The certainty of a decision is the share of
correct ones among decisions of its kind (`learnt.json`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from narrator.text.quotations import Quotation, join_chapters, quotations
from narrator.text.speakers import mentions, ranking
from narrator.text.speakers.mottoes import count_motto_paragraphs
from narrator.text.speakers.names import Character, KnownNames, Words, name_words
from narrator.text.speakers.roster import roster
from narrator.text.speakers.situations import read_story
from narrator.text.speakers.stories import find_stories
from narrator.text.speakers.tales import Tales, read_tales
from narrator.text.speech_words import speech_of
from textbase.languages import primary

__all__ = [
    "NO_SPEECH",
    "SURE_CERTAINTY",
    "TELLER",
    "AttributedQuotation",
    "Attribution",
    "Character",
    "attribute",
    "knows_tags",
]

T = TypeVar("T")

SURE_CERTAINTY = 0.9
"""Certainty from which nobody need check a decision, neither a person nor a language model."""
NO_SPEECH = "no-speech"
"""The rule for a quotation that is a title, a motto, an inscription or words in scare quotes."""
TELLER = "teller"
"""The rule for a quotation within a tale that its teller says: “I”, and whoever is not evident."""
NO_SPEECH_CERTAINTY = 0.9


@dataclass(frozen=True, slots=True)
class AttributedQuotation:
    """A quotation, or a piece of one, with its speaker."""

    chapter: int
    quotation: Quotation
    """Its `paragraph` counts within the chapter."""
    speaker: str | None
    """Name of a character; None if unknown, and for NO_SPEECH."""
    certainty: float
    """Share of correct decisions among those like this one, 0 to 1."""
    by: str
    """The deciding rule: "tag", "pronoun", "noun", "turns"…"""
    continues_previous: bool = False
    """True if it continues the speech of the row before."""
    probability: float = 0.0
    """By the learnt weights, before calibration to the share of correct decisions."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """Other candidates, the likeliest first, each with its probability."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """A book's characters and quotations."""

    cast: tuple[Character, ...]
    quotations: tuple[AttributedQuotation, ...]
    """In the order of the book."""
    story_count: int = 1
    """Stories of a collection, each with a found cast of its own; 1 for all other books."""


def knows_tags(language: str) -> bool:
    """Returns whether the rules know how a language (a BCP 47 tag) tells who speaks."""
    return primary(language) == "en" or speech_of(language).is_known


def attribute(
    chapters: Sequence[Sequence[str]],
    cast: Sequence[Character] = (),
    *,
    language: str,
    first_person: str | None = None,
    first_persons: Mapping[int, str] | None = None,
    headings: Mapping[tuple[int, int], str] | None = None,
    find: bool = False,
    was_found: bool = False,
    with_nested: bool = False,
) -> Attribution:
    """Attributes the quotations of a book, whose chapters are sequences of paragraphs.

    `cast` are the known characters; others are searched for if there are none, or with `find`.
    `first_person` is the narrator who says "I", `first_persons` are those of single chapters;
    `headings`, by chapter and paragraph, tell whose parts begin there, as paragraphs do that look
    like headings. In a language whose tags are not known, nothing is attributed. `was_found`: the
    cast comes from an earlier search, which makes decisions less certain than a cast that a person
    gave; whoever that search found besides the cast is known as a person, but does not speak.
    `with_nested`: quotations within tales are attributed, too.
    """
    if not knows_tags(language):
        return Attribution(tuple(cast), ())
    chapters, chapter_quotations = _without_mottoes(
        chapters,
        join_chapters(chapters, [quotations(paragraphs, language) for paragraphs in chapters]),
    )
    chapter_speech = [
        [quotation for quotation in chapter_group if quotation.is_speech]
        for chapter_group in chapter_quotations
    ]
    tales = read_tales(chapters, chapter_quotations, language) if with_nested else None
    has_found_cast = was_found or find or not cast
    stories, people_by_story = [range(len(chapters))], [tuple(cast)]
    if has_found_cast:
        texts, speech = tuple(map(tuple, chapters)), tuple(map(tuple, chapter_speech))
        if tales is not None:
            texts, speech = tales.appended_to(texts, speech)
        stories, found_people = _find_people(texts, speech, language)
        people_by_story = _merge_people(found_people, cast, language)
    given_cast = cast
    if find or not cast:
        cast = tuple(dict.fromkeys((*cast, *(p for people in people_by_story for p in people))))
    rows: list[AttributedQuotation] = []
    pronouns: dict[str, str | None] = {}
    for story_chapters, people in zip(stories, people_by_story, strict=True):
        speakers = frozenset(index for index, person in enumerate(people) if person in cast)
        story, story_situations = read_story(
            _mask(chapters, story_chapters),
            _mask(chapter_speech, story_chapters),
            people,
            speakers,
            language=language,
            first_person=first_person,
            first_persons=first_persons,
            headings=headings,
        )
        pronouns |= dict(zip((person.name for person in people), story.pronouns, strict=False))
        decisions = ranking.decide(story_situations, story)
        if tales is not None:
            nested_decisions = _decide_tales(tales, decisions, people, speakers, language)
            decisions = [*decisions, *nested_decisions]
        rows += (
            row
            for decision in decisions
            for row in _decision_rows(decision, people, has_found_cast)
        )
    nested_quotations = tales.quotations if tales is not None else ()
    decided_places = {(row.chapter, row.quotation) for row in rows}
    rows += (
        AttributedQuotation(
            chapter,
            quotation,
            None,
            NO_SPEECH_CERTAINTY,
            TELLER if quotation.is_nested and quotation.is_speech else NO_SPEECH,
        )
        for groups in (chapter_quotations, nested_quotations)
        for chapter, chapter_group in enumerate(groups)
        for quotation in chapter_group
        if (chapter, quotation) not in decided_places
    )
    rows.sort(key=lambda row: (row.chapter, *row.quotation.place))
    cast = tuple(
        member if member in given_cast else replace(member, pronoun=pronouns.get(member.name))
        for member in cast
    )
    return Attribution(cast, tuple(rows), len(stories))


def _without_mottoes(
    chapters: Sequence[Sequence[str]], chapter_quotations: Sequence[Sequence[Quotation]]
) -> tuple[list[tuple[str, ...]], list[list[Quotation]]]:
    """Returns chapters with empty paragraphs in place of their mottoes, whose quotations are no
    speech."""
    told_chapters, told_quotations = [], []
    for paragraphs, group in zip(chapters, chapter_quotations, strict=True):
        count = count_motto_paragraphs(paragraphs)
        told_chapters.append(("",) * count + tuple(paragraphs[count:]))
        told_quotations.append(
            [
                replace(quotation, is_speech=quotation.is_speech and quotation.paragraph >= count)
                for quotation in group
            ]
        )
    return told_chapters, told_quotations


def _mask(chapters: Sequence[Sequence[T]], story_chapters: range) -> list[Sequence[T]]:
    """Returns the chapters of a story in their places, and empty ones in those of all others."""
    return [chapter if number in story_chapters else () for number, chapter in enumerate(chapters)]


def _decide_tales(
    tales: Tales,
    decisions: Sequence[ranking.Decision],
    people: Sequence[Character],
    speakers: frozenset[int],
    language: str,
) -> Iterator[ranking.Decision]:
    """Decides who speaks in the tales of a story besides their tellers, as far as that is evident;
    `decisions` are those on its other quotations."""
    for teller, chapters, chapter_speech, listeners in tales.by_teller(decisions):
        tale, tale_situations = read_story(
            chapters,
            chapter_speech,
            people,
            speakers,
            language=language,
            first_person=people[teller].name,
        )
        tale.listeners = listeners
        for decision in ranking.decide(tale_situations, tale):
            if decision.character not in (None, teller):
                yield decision


def _decision_rows(
    decision: ranking.Decision, people: Sequence[Character], has_found_cast: bool
) -> Iterator[AttributedQuotation]:
    """Yields an attributed quotation for each piece of the speech that a decision is about."""
    speaker = None if decision.character is None else people[decision.character].name
    certainty = ranking.certainty(decision.by, decision.probability, has_found_cast=has_found_cast)
    alternatives = tuple(
        (people[candidate].name, probability) for candidate, probability in decision.alternatives
    )
    for index, piece in enumerate(decision.turn.pieces):
        yield AttributedQuotation(
            decision.turn.passage.chapter,
            piece,
            speaker,
            certainty,
            decision.by,
            continues_previous=index > 0 or decision.continues_previous,
            probability=decision.probability,
            alternatives=alternatives,
        )


@lru_cache(maxsize=2)  # a proposal decides twice, with the same texts
def _find_people(
    chapters: tuple[tuple[str, ...], ...],
    chapter_speech: tuple[tuple[Quotation, ...], ...],
    language: str,
) -> tuple[list[range], list[tuple[Character, ...]]]:
    """Returns the stories of a book, as chapters, and the people found in each."""
    people = roster(chapters, chapter_speech, language)
    names = KnownNames(people, language)
    passages = mentions.passages(chapters, chapter_speech, names, language)
    stories = find_stories(passages, len(chapters))
    if len(stories) == 1:
        return stories, [people]
    return stories, [
        roster(_mask(chapters, story), _mask(chapter_speech, story), language) for story in stories
    ]


def _merge_people(
    people_by_story: Sequence[Sequence[Character]], cast: Sequence[Character], language: str
) -> list[tuple[Character, ...]]:
    """Returns the people of each story, with the members of the cast in their places.

    People are the same if their main names are equal; or if they share any name, unless that member
    of the cast belongs to another story. Members found in no story are in all of them.
    """
    members_by_main_name: dict[Words, Character] = {}
    members_by_name: dict[Words, list[Character]] = {}
    for member in cast:
        members_by_main_name.setdefault(name_words(member.name, language), member)
        for name in member.names:
            members_by_name.setdefault(name_words(name, language), []).append(member)
    new_people: dict[Words, Character] = {}
    members_by_story: list[set[Character]] = []
    for people in people_by_story:
        members_by_story.append(set())
        for person in people:
            main_name = name_words(person.name, language)
            if main_name in members_by_main_name:
                members_by_story[-1].add(members_by_main_name[main_name])
            known = new_people.setdefault(main_name, person)
            aliases = dict.fromkeys((*known.aliases, *person.aliases))
            new_people[main_name] = replace(known, aliases=tuple(aliases))
    members_of_stories = set[Character]().union(*members_by_story)
    merged_people: list[dict[Character, None]] = []
    for people, members in zip(people_by_story, members_by_story, strict=True):
        merged_people.append({})
        for person in people:
            main_name = name_words(person.name, language)
            namesakes = [
                member
                for name in person.names
                for member in members_by_name.get(name_words(name, language), ())
                if member in members or member not in members_of_stories
            ]
            if main_name in members_by_main_name:
                namesakes = [members_by_main_name[main_name]]
            merged_people[-1] |= dict.fromkeys(namesakes or [new_people[main_name]])
    others = [member for member in cast if not any(member in people for people in merged_people)]
    return [tuple(people | dict.fromkeys(others)) for people in merged_people]
