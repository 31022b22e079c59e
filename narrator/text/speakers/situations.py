"""Collects what speaks for and against candidates: the narration around turns, and counts over the
whole story."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.quotations import Quotation
from narrator.text.speakers import letters, mentions, tags
from narrator.text.speakers.mentions import Mention, Passage
from narrator.text.speakers.names import Character, KnownNames, name_words
from narrator.text.speakers.narrators import exclude_named, find_narrators
from narrator.text.speakers.presence import count_present, find_first_person_chapters
from narrator.text.speakers.tags import SpeechTurn
from narrator.text.speakers.words import SHORT, describes_anybody

NO_GAP = 99
"""Gap to the last turn at the beginning of a scene, in passages."""

Place = tuple[int, int]
"""The number of a passage, and an offset in it."""
PlacedMention = tuple[Place, Mention]


class Story:
    """Facts on the characters from the whole book."""

    def __init__(
        self,
        passages: Sequence[Passage],
        names: KnownNames,
        groups: Sequence[SpeechTurn],
        speakers: frozenset[int],
    ) -> None:
        self.names = names
        self.present: defaultdict[int, Counter[int]] = defaultdict(Counter)
        """Chapter -> speakers who are present, with the number of their mentions."""
        self.narration_counts = Counter[int]()
        """Character -> mentions in the narration."""
        self.speech_counts = Counter[int]()
        """Character -> mentions in speech."""
        self.tag_counts = Counter[int]()
        """Character -> tags that name it."""
        _drop_unnamed_bearers(passages)
        for mention in _all_mentions(passages):
            if mention.characters:
                count = self.speech_counts if mention.is_quoted else self.narration_counts
                count[mention.characters[0]] += 1
        for group in groups:
            tag = group.tag
            if tag and tag.is_explicit and len(tag.mention.characters) == 1:
                self.tag_counts[tag.mention.characters[0]] += 1
        self.pronouns = list(_pronouns(passages, names))
        """Pronoun of each character, None if unknown."""
        self.evident_pronouns = list(_pronouns(passages, names, min_votes=_MIN_EVIDENT_VOTES))
        """Only those by which somebody cannot be the "he" or "she" of a tag."""
        self._words_of_names = {
            word
            for member in names.cast
            for name in member.names
            for word in name_words(name, names.language)
        }
        self.stranger = len(names.cast) - 1
        """Stands for anybody whom a tag names, and the cast lacks."""
        self.speakers = speakers
        """Those who may be decided to speak; others may have spoken instead."""
        self.narrators: Sequence[int | None] = [None] * len(passages)
        """Who says "I" in each passage, or None."""
        self.listeners: frozenset[int] | None = None
        """Those who listen to it, if it is a tale within quotation marks; else None."""

    def bearers(self, mention: Mention) -> tuple[int, ...]:
        """Returns whom the name or noun of a tag means: the stranger if the cast lacks the person,
        nobody in particular if it may be said of several."""
        if mention.characters or mention.kind not in ("name", "noun"):
            return mention.characters
        noun = SHORT.get(mention.noun, mention.noun)
        is_loose = mention.kind == "noun" and (
            noun in self._words_of_names or describes_anybody(mention.noun, self.names.language)
        )
        return () if is_loose else (self.stranger,)

    def find_first_person(
        self, passages: Sequence[Passage], groups: Sequence[SpeechTurn]
    ) -> int | None:
        """Returns the narrator of these turns, or None: a character addressed by name right before
        or after words of the narrator's I."""
        first_person_chapters = find_first_person_chapters(passages)
        calls = _count_calls_near_i(groups)
        for group in groups:
            # a character in somebody else's tag is not the narrator
            if (
                group.tag
                and group.passage.chapter in first_person_chapters
                and group.tag.is_explicit
            ):
                for character in group.tag.mention.characters[:1]:
                    calls[character] -= 1
        likeliest = max(
            calls,
            key=lambda character: (calls[character], self.speech_counts[character]),
            default=None,
        )
        is_found = bool(first_person_chapters) and likeliest is not None and calls[likeliest] > 0
        return likeliest if is_found else None


def _count_calls_near_i(groups: Sequence[SpeechTurn]) -> Counter[int]:
    """Counts characters addressed by name just before or after words of the narrator's I."""
    calls = Counter[int]()
    for index, group in enumerate(groups):
        if group.tag is None or group.tag.mention.kind != "self":
            continue
        for neighbour in (*groups[max(0, index - 1) : index], *groups[index + 1 : index + 2]):
            is_near = abs(neighbour.passage.number - group.passage.number) <= 2
            if is_near and not _is_answer(neighbour):
                calls.update(neighbour.vocatives)
        calls.subtract(group.vocatives)
    return calls


def _is_answer(group: SpeechTurn) -> bool:
    """Returns whether a turn only says a name, as who is asked for it does."""
    text = group.passage.text[group.pieces[0].start : group.pieces[-1].stop]
    words = group.passage.between(group.pieces[0].start, group.pieces[0].stop)
    mentions = group.passage.mentions_in(words)
    is_name = len(mentions) == 1 and mentions[0].last - mentions[0].first == len(words)
    return is_name and not set(text) & set("!?")


def _all_mentions(passages: Sequence[Passage]) -> Iterator[Mention]:
    return (mention for passage in passages for mention in passage.mentions)


def _drop_unnamed_bearers(passages: Sequence[Passage]) -> None:
    """Removes from ambiguous mentions the characters that no other name ever mentions."""
    sole_bearers = {
        mention.characters[0] for mention in _all_mentions(passages) if len(mention.characters) == 1
    }
    for mention in _all_mentions(passages):
        if len(mention.characters) > 1:
            known_bearers = tuple(
                character for character in mention.characters if character in sole_bearers
            )
            mention.characters = known_bearers or mention.characters


_MIN_VOTES, _MIN_EVIDENT_VOTES = 2, 8
"""Places in which the narration goes on with a pronoun after a name."""
_FEW_USES = 8
"""Uses of a name in narration up to which one such place is enough."""


def _pronouns(
    passages: Sequence[Passage], names: KnownNames, min_votes: int = _MIN_VOTES
) -> Iterator[str | None]:
    """Yields each character's pronoun: given, implied by names, or as the narration continues after
    them in `min_votes` places, and `min_votes` times as often as with the other. For somebody who
    is hardly ever named one place is enough, unless evidence is asked for."""
    use_counts = Counter(
        mention.characters[0]
        for mention in _all_mentions(passages)
        if mention.characters and not mention.is_quoted
    )
    votes: list[Counter[str]] = [Counter() for _ in names.cast]
    for passage in passages:
        for character, pronoun in _pronouns_after_names(passage):
            votes[character][pronoun] += 1
    for character, prior in enumerate(names.pronouns):
        he_votes, she_votes = votes[character]["he"], votes[character]["she"]
        is_rare = use_counts[character] <= _FEW_USES and min_votes == _MIN_VOTES
        if prior or max(he_votes, she_votes) < max(
            1 if is_rare else min_votes, min_votes * min(he_votes, she_votes) + 1
        ):
            yield prior
        else:
            yield "he" if he_votes > she_votes else "she"


def _pronouns_after_names(passage: Passage) -> Iterator[tuple[int, str]]:
    """Yields characters with the pronoun that follows their name in the same sentence, without
    anybody between."""
    last_name: Mention | None = None
    for mention in passage.mentions:
        if mention.is_quoted or mention.kind == "self":
            continue
        if mention.kind == "name":
            is_sole = len(mention.characters) == 1 and not mention.is_possessive
            is_same_person = last_name is None or last_name.characters == mention.characters
            last_name = mention if is_sole and is_same_person else None
            continue
        is_gendered = mention.kind == "pronoun" and mention.pronoun in ("he", "she")
        if (
            last_name
            and is_gendered
            and not re.search(r"[.!?]", passage.text[last_name.stop : mention.start])
        ):
            yield last_name.characters[0], str(mention.pronoun)
        last_name = None


@dataclass(slots=True)
class Situation:
    """The evidence on a turn before any decision."""

    turn: SpeechTurn
    narrator: int | None
    """Who says "I" in the narration around it, or None."""
    kind: str
    """Type of its tag: "name", "self", "pronoun", "noun", or "bare" without a tag."""
    named_characters: tuple[int, ...] = ()
    """Characters that the tag names."""
    pronoun: str | None = None
    is_another: bool = False
    """True if the tag means another person than the one mentioned before."""
    gap: int = NO_GAP
    """Passages of narration since the last turn."""
    recent: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Character -> passages, and mentions, since its last mention in the narration."""
    subjects: Sequence[int] = ()
    """Subjects of the preceding sentences, the latest first."""
    nearby_characters: Mapping[int, str] = field(default_factory=dict)
    """Characters in the narration of the same passage -> position: "before subject", "after"…"""
    lead: tuple[int, ...] = ()
    """Character mentioned last in the passage before, if that ends in a colon or the like."""
    tells_i: bool = False
    """True if the narrator's I occurs in the same passage."""
    people: Sequence[PlacedMention] = ()
    """Names of people, and nouns for them, in the narration before it, the latest last."""

    @property
    def is_gendered(self) -> bool:
        """True if its tag tells that a man or a woman speaks."""
        return self.pronoun in ("he", "she")

    @property
    def continues_previous(self) -> bool:
        """True if it continues a turn of the passage before."""
        return self.turn.pieces[0].continues_previous


class _MentionTracker:
    """Goes through a book and tracks recent mentions."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.begin()

    def begin(self) -> None:
        """Begins a scene: forgets the mentions of the one before."""
        self.last_seen: dict[int, tuple[int, int]] = {}
        """Character -> number of the passage, and count of mentions, at its last mention."""
        self.mention_count = 0
        self.subjects: list[int] = []
        self.gap = NO_GAP
        self.lead: tuple[int, ...] = ()
        self.people: list[PlacedMention] = []

    def situation(self, group: SpeechTurn) -> Situation:
        """Returns the situation of a turn, by what was read so far."""
        number = group.passage.number
        tag = group.tag
        nearby = _surrounding_mentions(group)
        situation = Situation(
            group,
            self.story.narrators[number],
            "bare",
            gap=self.gap,
            recent={
                character: (number - passage, self.mention_count - count_then)
                for character, (passage, count_then) in self.last_seen.items()
            },
            subjects=tuple(self.subjects[:4]),
            nearby_characters=self._nearby_characters(group),
            lead=self.lead,
            tells_i=any(mention.kind == "self" for mention in nearby),
            people=(*self.people, *_list_people(group.passage, nearby, group.pieces[0].start)),
        )
        if tag is not None and tag.is_explicit:
            situation.kind, situation.pronoun, situation.is_another = (
                tag.mention.kind,
                tag.mention.pronoun,
                tag.mention.is_another,
            )
            situation.named_characters = self._resolve_name(self.story.bearers(tag.mention))
        self.gap = 0
        return situation

    def _resolve_name(self, bearers: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the character of an ambiguous name: the one mentioned last, else most often."""
        if len(bearers) < 2:
            return bearers
        narration_counts, last_seen = self.story.narration_counts, self.last_seen
        likeliest = max(
            bearers,
            key=lambda character: (
                last_seen.get(character, (-1, -1))[1],
                narration_counts[character],
            ),
        )
        return (likeliest,)

    def _nearby_characters(self, group: SpeechTurn) -> dict[int, str]:
        """Maps characters mentioned in the turn's passage to their position."""
        positions: dict[int, str] = {}
        tag = group.tag
        for mention in _surrounding_mentions(group):
            character = (
                self.story.narrators[group.passage.number]
                if mention.kind == "self"
                else next(iter(mention.characters), None)
            )
            if mention.is_quoted or character is None:
                continue
            side = "before" if mention.start < group.pieces[0].start else "after"
            is_beat = tag is not None and mention is tag.mention and not tag.is_explicit
            is_subject = not mention.is_possessive and _is_subject(group.passage, mention)
            if is_beat or (mention.characters and side == "after" and is_subject):
                positions[character] = f"{side} subject"
            elif mention.is_possessive and mention.characters:
                positions.setdefault(character, f"{side} possessive")
            else:
                positions.setdefault(character, side)
        return positions

    def read(self, passage: Passage) -> None:
        """Records the mentions in a passage's narration."""
        last_named: int | None = None
        for mention in passage.mentions:
            character = self._resolve_mention(mention, passage)
            if character is None:
                continue
            if mention.kind != "pronoun":
                self.mention_count += 1
                self.last_seen[character] = (passage.number, self.mention_count)
                last_named = character if mention.characters else last_named
            if (
                mention.kind != "self"
                and not mention.is_possessive
                and _is_subject(passage, mention)
            ):
                self.subjects = [
                    character,
                    *(subject for subject in self.subjects if subject != character),
                ][:6]
        people = _list_people(passage, passage.mentions, len(passage.text))
        self.people = [*self.people, *people][-_MENTION_REACH:]
        if passage.pieces:
            last_mark = passage.text[passage.pieces[-1].stop :].rstrip()[-1:]
            leads_in = last_mark != "" and last_mark in ":,"
        else:
            self.gap += 1
            leads_in = passage.text.rstrip()[-1:] in ":,—-"
        self.lead = (last_named,) if leads_in and last_named is not None else ()

    def _resolve_mention(self, mention: Mention, passage: Passage) -> int | None:
        """Returns the character mentioned in the narration; a pronoun means the last matching
        subject."""
        if mention.is_quoted:
            return None
        if mention.characters:
            return mention.characters[0]
        if mention.kind == "self":
            return self.story.narrators[passage.number]
        if mention.kind == "pronoun" and mention.pronoun in ("he", "she"):
            matching_subjects = (
                subject
                for subject in self.subjects
                if self.story.pronouns[subject] == mention.pronoun
            )
            return next(matching_subjects, None)
        return None


_MENTION_REACH = 100
"""Mentions of a passage that are considered before and after a turn."""


def _surrounding_mentions(group: SpeechTurn) -> list[Mention]:
    """Returns the mentions around a turn in its passage."""
    passage = group.passage
    words = passage.between(group.pieces[0].start, group.pieces[-1].stop)
    first = bisect_left(passage.mentions, words.start, key=lambda mention: mention.first)
    last = first + len(passage.mentions_in(words))
    return passage.mentions[max(0, first - _MENTION_REACH) : last + _MENTION_REACH]


_BEING = frozenset("am is are was were be been".split())
"""Verbs before a noun that says what somebody is: I am a quiet man."""


def _list_people(passage: Passage, mentions: Sequence[Mention], stop: int) -> list[PlacedMention]:
    """Returns the names of people, and nouns that mean them, among mentions in a passage's
    narration up to an offset."""
    return [
        ((passage.number, mention.start), mention)
        for mention in mentions
        if mention.start < stop
        and not mention.is_quoted
        and (
            mention.kind == "name"
            or (mention.kind == "noun" and passage.norm(mention.first - 1) not in _BEING)
        )
    ]


_CLAUSE_OPENERS = frozenset("and then but when as while so for that".split())


def _is_subject(passage: Passage, mention: Mention) -> bool:
    """Returns whether a mention begins a sentence or a clause."""
    if mention.first == 0:
        return True
    previous_word = passage.words[mention.first - 1]
    gap_text = passage.text[previous_word.stop : mention.start]
    return previous_word.norm in _CLAUSE_OPENERS or any(
        character in '.!?;"”' for character in gap_text
    )


def situations(
    passages: Sequence[Passage], turns: Sequence[SpeechTurn], book: Story
) -> list[Situation]:
    """Returns the situations of all turns."""
    turns_by_passage: dict[int, list[SpeechTurn]] = {}
    for group in turns:
        turns_by_passage.setdefault(group.passage.number, []).append(group)
    all_situations: list[Situation] = []
    tracker = _MentionTracker(book)
    for index, passage in enumerate(passages):
        if index and passage.scene != passages[index - 1].scene:
            tracker.begin()
        all_situations += map(tracker.situation, turns_by_passage.get(passage.number, ()))
        tracker.read(passage)
    return all_situations


_UNKNOWN_NARRATOR = Character("I")
"""Who says "I" where nobody of the cast does."""
_STRANGER = Character("…")
"""Whom a tag names, and the cast lacks."""


def read_story(
    chapters: Sequence[Sequence[str]],
    chapter_speech: Sequence[Sequence[Quotation]],
    people: Sequence[Character],
    speakers: frozenset[int],
    *,
    language: str,
    first_person: str | None = None,
    first_persons: Mapping[int, str] | None = None,
    headings: Mapping[tuple[int, int], str] | None = None,
) -> tuple[Story, list[Situation]]:
    """Reads the chapters of a story: the facts on its people, and the situations of its turns.

    `speakers` are the indices of the people who may speak. `first_person` is the name of the
    narrator who says "I", who is searched for if it is None; `first_persons` are those of single
    chapters. `headings`, by chapter and paragraph, tell narrators of parts.
    """
    names = KnownNames((*people, _UNKNOWN_NARRATOR, _STRANGER), language)
    passages = mentions.passages(chapters, chapter_speech, names, language)
    groups = tags.turns(passages, names.pronouns)
    names.learn_pronouns(tags.count_pronouns(groups))
    story = Story(passages, names, groups, speakers)
    unknown = len(people)
    found, senders = find_narrators(passages, names, headings or {}, unknown)
    if first_person is not None:
        book_narrator = names.find(first_person)
    else:
        book_narrator = story.find_first_person(
            passages, [group for group in groups if found[group.passage.number] is None]
        )
    if book_narrator is None and any(
        group.tag is not None and group.tag.mention.kind == "self" for group in groups
    ):
        book_narrator = unknown
    narrators = [book_narrator if narrator is None else narrator for narrator in found]
    if first_person is None or any(narrator is not None for narrator in found):
        narrators = exclude_named(narrators, passages, groups, unknown)
    story.narrators = [
        names.find(first_persons[passage.chapter])
        if first_persons and passage.chapter in first_persons
        else narrator
        for passage, narrator in zip(passages, narrators, strict=True)
    ]
    letters.tag_letters(passages, groups, senders)
    story.present = count_present(passages, speakers | {unknown}, story.narrators)
    for group in groups:
        if group.tag is not None and group.tag.is_explicit:
            present = story.present[group.passage.chapter]
            present.update(set(story.bearers(group.tag.mention)) - present.keys())
    return story, situations(passages, groups, story)
