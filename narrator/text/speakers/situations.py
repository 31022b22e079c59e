"""Utterances with what stands around them in the narration, and counts over the whole book."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from narrator.text.speakers.mentions import Mention, Prose
from narrator.text.speakers.names import KnownNames
from narrator.text.speakers.tags import Talk

FAR = 99
"""Passages since the last turn, where a scene begins."""


class Story:
    """What a whole book tells of its characters."""

    def __init__(
        self, passages: Sequence[Prose], names: KnownNames, groups: Sequence[Talk]
    ) -> None:
        self.names = names
        self.told = Counter[int]()
        """Mentions in the narration."""
        self.quoted = Counter[int]()
        """Mentions in what is said."""
        self.tagged = Counter[int]()
        """Tags that name somebody."""
        _settle(passages)
        for mention in _all(passages):
            if mention.characters:
                count = self.quoted if mention.quoted else self.told
                count[mention.characters[0]] += 1
        for group in groups:
            tag = group.tag
            if tag and tag.is_explicit and len(tag.mention.characters) == 1:
                self.tagged[tag.mention.characters[0]] += 1
        self.pronouns = list(_pronouns(passages, names))
        """Of each character, as far as it is known."""
        self.first_person: int | None = None
        """Who says "I" in the narration, where one of the cast tells the book."""

    def find_first_person(self, passages: Sequence[Prose], groups: Sequence[Talk]) -> None:
        """Whoever tells a book is called by name by those to whom "I said" something."""
        told = {number for number, share in _shares_of_i(passages).items() if share >= 0.01}
        calls = _called_beside_i(groups)
        for group in groups:
            # whom the narrator tells of as another is not the narrator
            if group.tag and group.passage.chapter in told and group.tag.is_explicit:
                for who in group.tag.mention.characters[:1]:
                    calls[who] -= 1
        best = max(calls, key=lambda who: (calls[who], self.quoted[who]), default=None)
        if told and best is not None and calls[best] > 0:
            self.first_person = best


def _called_beside_i(groups: Sequence[Talk]) -> Counter[int]:
    """Who is addressed by name just before or after what the narrator's I says."""
    calls = Counter[int]()
    for place, group in enumerate(groups):
        if group.tag is None or group.tag.mention.kind != "self":
            continue
        for near in (*groups[max(0, place - 1) : place], *groups[place + 1 : place + 2]):
            if abs(near.passage.number - group.passage.number) <= 2:
                calls.update(near.vocatives)
    return calls


def _shares_of_i(passages: Sequence[Prose]) -> dict[int, float]:
    """By chapter, how much of its narration is the narrator's I."""
    own, words = Counter[int](), Counter[int]()
    for passage in passages:
        own[passage.chapter] += sum(m.kind == "self" for m in passage.mentions)
        words[passage.chapter] += len(passage.words) if not passage.pieces else 0
    return {number: count / max(200, words[number]) for number, count in own.items()}


def _all(passages: Sequence[Prose]) -> Iterator[Mention]:
    return (mention for passage in passages for mention in passage.mentions)


def _settle(passages: Sequence[Prose]) -> None:
    """Take from mentions of several those whom no other name ever names."""
    alone = {m.characters[0] for m in _all(passages) if len(m.characters) == 1}
    for mention in _all(passages):
        if len(mention.characters) > 1:
            known = tuple(who for who in mention.characters if who in alone)
            mention.characters = known or mention.characters


def _pronouns(passages: Sequence[Prose], names: KnownNames) -> Iterator[str | None]:
    """Of each character: as given, as its names tell, or as the narration goes on after it."""
    votes: list[Counter[str]] = [Counter() for _ in names.cast]
    for passage in passages:
        for who, pronoun in _followed(passage):
            votes[who][pronoun] += 1
    for prior, found in zip(names.pronouns, votes, strict=True):
        he, she = found["he"], found["she"]
        if prior or max(he, she) < max(2, 2 * min(he, she) + 1):
            yield prior
        else:
            yield "he" if he > she else "she"


def _followed(passage: Prose) -> Iterator[tuple[int, str]]:
    """Characters whose name a pronoun follows in the same sentence, with nobody between."""
    last: Mention | None = None
    for m in passage.mentions:
        if m.quoted or m.kind == "self":
            continue
        if m.kind == "name":
            alone = len(m.characters) == 1 and not m.possessive
            same = last is None or last.characters == m.characters
            last = m if alone and same else None
            continue
        tells = m.kind == "pronoun" and m.pronoun in ("he", "she")
        if last and tells and not re.search(r"[.!?]", passage.text[last.stop : m.start]):
            yield last.characters[0], str(m.pronoun)
        last = None


@dataclass(slots=True)
class Situation:
    """What is known of a turn before anybody is decided."""

    turn: Talk
    kind: str
    """What its tag is: "name", "self", "pronoun", "noun", or "bare" without one."""
    named: tuple[int, ...] = ()
    """Whom the tag names."""
    pronoun: str | None = None
    other: bool = False
    """Whether the tag tells of another than the one told of before."""
    gap: int = FAR
    """Passages of narration since the last turn."""
    recent: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Character -> passages, and mentions, since the last mention in the narration."""
    subjects: Sequence[int] = ()
    """Of the sentences before, the latest first."""
    here: Mapping[int, str] = field(default_factory=dict)
    """Whom the narration of the same passage mentions, and where: "before subject", "after"…"""
    lead: tuple[int, ...] = ()
    """Whom the passage before names last, where it ends in a colon or so."""
    tells_i: bool = False
    """Whether the narrator's I stands in the same passage."""

    @property
    def is_gendered(self) -> bool:
        """Whether its tag tells that a man or a woman speaks."""
        return self.pronoun in ("he", "she")

    @property
    def goes_on(self) -> bool:
        """Whether it goes on a turn of the passage before."""
        return self.turn.pieces[0].goes_on


class _Follower:
    """Goes through a book and keeps who was named lately."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.begin()

    def begin(self) -> None:
        """Forget what another scene told."""
        self.seen: dict[int, tuple[int, int]] = {}
        self.mentions = 0
        self.subjects: list[int] = []
        self.gap = FAR
        self.lead: tuple[int, ...] = ()

    def situation(self, group: Talk) -> Situation:
        number = group.passage.number
        tag = group.tag
        s = Situation(
            group,
            "bare",
            gap=self.gap,
            recent={who: (number - p, self.mentions - n) for who, (p, n) in self.seen.items()},
            subjects=tuple(self.subjects[:4]),
            here=self._here(group),
            lead=self.lead,
            tells_i=any(m.kind == "self" for m in _around(group)),
        )
        if tag is not None and tag.is_explicit:
            s.kind, s.pronoun, s.other = tag.mention.kind, tag.mention.pronoun, tag.mention.other
            s.named = self._settled(tag.mention)
        self.gap = 0
        return s

    def _settled(self, mention: Mention) -> tuple[int, ...]:
        """Whom a name of several stands for: the one seen last, else the one named most."""
        if len(mention.characters) < 2:
            return mention.characters
        told, seen = self.story.told, self.seen
        best = max(mention.characters, key=lambda who: (seen.get(who, (-1, -1))[1], told[who]))
        return (best,)

    def _here(self, group: Talk) -> dict[int, str]:
        here: dict[int, str] = {}
        tag = group.tag
        for m in _around(group):
            who = self.story.first_person if m.kind == "self" else next(iter(m.characters), None)
            if m.quoted or who is None:
                continue
            where = "before" if m.start < group.pieces[0].start else "after"
            beat = tag is not None and m is tag.mention and not tag.is_explicit
            subject = not m.possessive and _is_subject(group.passage, m)
            if beat or (m.characters and where == "after" and subject):
                here[who] = f"{where} subject"
            elif m.possessive and m.characters:
                here.setdefault(who, f"{where} possessive")
            else:
                here.setdefault(who, where)
        return here

    def read(self, passage: Prose) -> None:
        """Keep whom the narration of a passage names."""
        last: int | None = None
        for m in passage.mentions:
            who = self._meant(passage, m)
            if who is None:
                continue
            if m.kind != "pronoun":
                self.mentions += 1
                self.seen[who] = (passage.number, self.mentions)
                last = who if m.characters else last
            if m.kind != "self" and not m.possessive and _is_subject(passage, m):
                self.subjects = [who, *(s for s in self.subjects if s != who)][:6]
        if passage.pieces:
            tail = passage.text[passage.pieces[-1].stop :].rstrip()[-1:]
            leads = tail != "" and tail in ":,"
        else:
            self.gap += 1
            leads = passage.text.rstrip()[-1:] in ":,—-"
        self.lead = (last,) if leads and last is not None else ()

    def _meant(self, passage: Prose, m: Mention) -> int | None:
        """Who is mentioned in the narration; a pronoun is that of the last subject it fits."""
        if m.quoted:
            return None
        if m.characters:
            return m.characters[0]
        if m.kind == "self":
            return self.story.first_person
        if m.kind == "pronoun" and m.pronoun in ("he", "she"):
            fitting = (w for w in self.subjects if self.story.pronouns[w] == m.pronoun)
            return next(fitting, None)
        return None


_NEAR = 100
"""Mentions of a passage that are looked at before and after a turn."""


def _around(group: Talk) -> list[Mention]:
    """The mentions around a turn in its passage."""
    passage = group.passage
    words = passage.between(group.pieces[0].start, group.pieces[-1].stop)
    first = bisect_left(passage.mentions, words.start, key=lambda mention: mention.first)
    last = first + len(passage.mentioned(words))
    return passage.mentions[max(0, first - _NEAR) : last + _NEAR]


_CLAUSE_OPENERS = frozenset("and then but when as while so for that".split())


def _is_subject(passage: Prose, mention: Mention) -> bool:
    """Whether a mention begins a sentence or a clause."""
    if mention.first == 0:
        return True
    before = passage.words[mention.first - 1]
    between = passage.text[before.stop : mention.start]
    return before.norm in _CLAUSE_OPENERS or any(c in '.!?;"”' for c in between)


def situations(passages: Sequence[Prose], groups: Sequence[Talk], book: Story) -> list[Situation]:
    """Each turn with what stands around it."""
    by_passage: dict[int, list[Talk]] = {}
    for group in groups:
        by_passage.setdefault(group.passage.number, []).append(group)
    found: list[Situation] = []
    reader = _Follower(book)
    for place, passage in enumerate(passages):
        if place and passage.scene != passages[place - 1].scene:
            reader.begin()
        found += map(reader.situation, by_passage.get(passage.number, ()))
        reader.read(passage)
    return found
