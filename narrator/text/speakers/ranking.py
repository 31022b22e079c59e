"""Utterances -> who says them: candidates compared by what speaks for each, scene by scene.

What counts are the classical sieves: a tag's name, a pronoun and whom it may stand for, vocatives,
alternation, beats of narration. How much each counts was learnt (`learnt.json`, where it says from
what), and how often decisions of one kind are right was measured: that is how sure they are.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from narrator.text.speakers.situations import Situation, Story
from narrator.text.speakers.tags import Talk

Features = dict[str, float]
History = Sequence[tuple[int, Situation]]
"""Who spoke before in the scene, the latest last."""

BEAM = 8
"""Ways of deciding a scene that are kept side by side."""
_BEHIND, _AHEAD = 8, 6
"""Utterances that are looked at before and after one."""
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Decision:
    """Who says a turn."""

    turn: Talk
    who: int | None
    """Place in the cast."""
    odds: float
    """Its probability by what was learnt, 0 to 1."""
    by: str
    """The rule's name."""
    others: tuple[tuple[int, float], ...] = ()
    """Who else may, each with its probability."""


@cache
def learnt() -> Mapping[str, Any]:
    """`weights`: by feature; `sure`: for casts that are given or found, by rule, probabilities
    from which on a share is right, and that share."""
    found: Mapping[str, Any] = json.loads(Path(__file__).with_name("learnt.json").read_text())
    return found


def decide(situations: Sequence[Situation], book: Story) -> list[Decision]:
    """The likeliest speakers of all turns."""
    scenes: dict[int, list[Situation]] = {}
    for s in situations:
        scenes.setdefault(s.turn.passage.scene, []).append(s)
    return [decision for own in scenes.values() for decision in _scene(own, book)]


@dataclass(frozen=True, slots=True)
class _Choice:
    who: int
    situation: Situation
    odds: float
    options: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class _Path:
    """One way of deciding a scene so far."""

    total: float
    before: _Path | None = None
    step: _Choice | None = None
    """The latest; none at a scene's beginning."""
    history: History = ()

    @property
    def state(self) -> tuple[int, ...]:
        return tuple(who for who, _ in self.history[-3:])

    def with_step(self, step: _Choice, odds: float) -> _Path:
        history = (*self.history[-_BEHIND + 1 :], (step.who, step.situation))
        return _Path(self.total + math.log(max(odds, 1e-9)), self, step, history)

    def steps(self) -> list[_Choice]:
        found: list[_Choice] = []
        path: _Path | None = self
        while path is not None and path.step is not None:
            found.append(path.step)
            path = path.before
        return found[::-1]


def _scene(own: Sequence[Situation], book: Story) -> Iterator[Decision]:
    """The likeliest way through a scene."""
    beam = [_Path(0.0)]
    for place, s in enumerate(own):
        grown: list[_Path] = []
        ahead = own[place + 1 : place + 1 + _AHEAD]
        for path in beam:
            options = tuple(_options(s, book, path.history, ahead)[:6])
            for who, odds in options:
                grown.append(path.with_step(_Choice(who, s, odds, options), odds))
        grown.sort(key=lambda path: -path.total)
        kept: dict[tuple[int, ...], _Path] = {}
        for path in grown:
            kept.setdefault(path.state, path)
            if len(kept) == BEAM:
                break
        beam = list(kept.values())
    steps = beam[0].steps()
    for place, step in enumerate(steps):
        history = [(one.who, one.situation) for one in steps[max(0, place - _BEHIND) : place]]
        yield _decision(step, history)


def _decision(step: _Choice, history: History) -> Decision:
    if step.who == _NOBODY:
        return Decision(step.situation.turn, None, 0.0, "nobody")
    by = rule(step.situation, step.who, history)
    others = tuple((who, odds) for who, odds in step.options if who != step.who)
    return Decision(step.situation.turn, step.who, step.odds, by, others)


def rule(s: Situation, who: int, history: History) -> str:
    """The name of the sieve that a decision rests on most."""
    if s.goes_on and history and history[-1][0] == who:
        return "goes-on"
    if s.kind != "bare":
        if s.kind == "noun" and not s.named:
            return "stranger"
        return "tag" if s.kind in ("name", "self") else s.kind
    if who in s.lead:
        return "lead"
    if s.here.get(who, "").endswith("subject"):
        return "beat"
    if history and s.gap == 0:
        if who in history[-1][1].turn.vocatives:
            return "called"
        if len(history) > 1 and history[-2][0] == who != history[-1][0]:
            return "turns"
    return "mentioned" if who in s.here else "near"


def sure(by: str, odds: float, *, found: bool) -> float:
    """The share of right ones among decisions by a rule that were as likely as this.

    `found`: the cast was found in the text, rather than given.
    """
    table = learnt()["sure"]["found" if found else "given"].get(by)
    if table is None:
        return 0.0
    place = bisect_right([start for start, _ in table], odds) - 1
    return float(table[max(0, place)][1])


def _options(
    s: Situation, book: Story, history: History, ahead: Sequence[Situation]
) -> list[tuple[int, float]]:
    """Candidates and their probabilities, the likeliest first."""
    if s.goes_on and history and (s.kind in ("bare", "pronoun") or history[-1][0] in s.named):
        return [(history[-1][0], 0.97)]
    options = candidates(s, book, history, ahead)
    if not options:
        return [(_NOBODY, 0.01)]
    if len(options) == 1:
        return [(options[0], 0.99)]
    weights = learnt()["weights"]
    scores = [
        sum(weights.get(name, 0.0) * value for name, value in found.items())
        for found in (features(s, who, book, history, ahead) for who in options)
    ]
    top = max(scores)
    odds = [math.exp(score - top) for score in scores]
    total = sum(odds)
    ranked = zip(options, (one / total for one in odds), strict=True)
    return sorted(ranked, key=lambda item: -item[1])


def candidates(
    s: Situation, book: Story, history: History, ahead: Sequence[Situation]
) -> list[int]:
    """Who may say it: whom the tag names, else who spoke or was mentioned around it."""
    if s.kind == "name" and s.named:
        return list(s.named)
    if s.kind == "self" and book.first_person is not None:
        return [book.first_person]
    found = dict.fromkeys([*s.named, *s.here, *(who for who, _ in history if who != _NOBODY)])
    for who, (passages, mentions) in s.recent.items():
        if passages <= 25 or mentions < 12:
            found.setdefault(who)
    for other in ahead:
        for who in (*other.named, *other.here, *sorted(other.turn.vocatives)):
            found.setdefault(who)
    for _, before in history[-2:]:
        found |= dict.fromkeys(sorted(before.turn.vocatives))
    found |= dict.fromkeys(sorted(s.turn.vocatives))
    if book.first_person is not None:
        found.setdefault(book.first_person)
    few = [] if len(found) > 1 else (book.tagged + book.told).most_common(4)
    return list(dict.fromkeys([*found, *(who for who, _ in few)]))


# -- what speaks for and against a candidate


def features(
    s: Situation, who: int, book: Story, history: History, ahead: Sequence[Situation]
) -> Features:
    """By name; "pronoun" and "bare" begin those that count otherwise beside a pronoun's tag."""
    told = s.is_gendered and s.kind != "name"
    kind = "pronoun" if told else "bare"
    f: Features = {}
    _by_tag(f, s, who, book, history)
    _by_mentions(f, s, who, book, kind)
    _by_words(f, s, who, book)
    _by_turns(f, s, who, book, history, kind)
    _by_next(f, s, who, book, ahead)
    if book.first_person == who:
        f[f"{kind} first person"] = 1
        if s.kind == "bare" and s.tells_i:
            f["first person here"] = 1
    return f


def _by_tag(f: Features, s: Situation, who: int, book: Story, history: History) -> None:
    """Whether a pronoun or a noun beside it fits."""
    own = book.pronouns[who]
    if s.kind == "noun":
        if s.named:
            f["noun is" if who in s.named else "noun is another"] = 1
        if history and s.other:
            f["other is last"] = float(history[-1][0] == who)
    if s.is_gendered and s.kind != "name":
        fits = "fits" if own == s.pronoun else "unknown" if own is None else "differs"
        f[f"pronoun {fits}"] = 1
    elif s.pronoun in ("it", "they") and own is None:
        f["plain thing"] = 1


def _by_mentions(f: Features, s: Situation, who: int, book: Story, kind: str) -> None:
    """How lately, and where, the narration named a candidate."""

    def fits(other: int) -> bool:
        return kind == "bare" or book.pronouns[other] in (None, s.pronoun)

    passages, mentions = s.recent.get(who, (60, 60))
    if who in s.recent:
        rank = sum(1 for w, (_, since) in s.recent.items() if since < mentions and fits(w))
        f[f"{kind} rank {min(rank, 4)}"] = 1
    else:
        f[f"{kind} unseen"] = 1
    f[f"{kind} passages {min(passages, 40).bit_length()}"] = 1
    if who in s.subjects:
        fitting = [w for w in s.subjects if fits(w)]
        place = fitting.index(who) if who in fitting else 4
        f[f"{kind} subject {min(place, 3)}" + (" near" if passages <= 1 else "")] = 1
    if who in s.here:
        f[f"{kind} here {s.here[who]}"] = 1
        if len(s.here) == 1:
            f[f"{kind} alone here"] = 1
    elif s.here:
        f[f"{kind} others here"] = 1
    if s.lead:
        f["lead" if who in s.lead else "another leads"] = 1


def _by_words(f: Features, s: Situation, who: int, book: Story) -> None:
    """Whom the words themselves name, and who is named most in the book."""
    if who in s.turn.vocatives:
        f["addressed in it"] = 1
    if who in s.turn.named:
        f["named in it"] = 1
    f["share told"] = math.log1p(book.told[who]) / 5
    f["share tagged"] = math.log1p(book.tagged[who]) / 4


def _by_turns(
    f: Features, s: Situation, who: int, book: Story, history: History, kind: str
) -> None:
    """Who spoke before: people alternate, and answer to their names."""
    if not history:
        return
    gap = "0" if s.gap == 0 else "1" if s.gap == 1 else "2+" if s.gap < 5 else "far"
    last, before = history[-1]
    if before.turn.passage is s.turn.passage:
        f["same as last, same passage"] = float(last == who)
    else:
        f[f"{kind} same as last {gap}"] = float(last == who)
        if len(history) > 1:
            f[f"{kind} same as second {gap}"] = float(history[-2][0] == who != last)
    if who in before.turn.vocatives:
        f[f"addressed before {gap}"] = 1
    else:
        if before.turn.vocatives:
            f[f"another addressed before {gap}"] = 1
        if who in before.turn.named:
            f["named before"] = 1
    _by_address(f, "before", before.turn.address, book.pronouns[who])
    if len(history) > 3 and history[-4][0] == history[-2][0] == who != last:
        f[f"{kind} alternates"] = 1
    talk = Counter(speaker for speaker, _ in history)
    f[f"{kind} in talk"] = min(3, talk[who]) / 3
    if talk[who] == 0:
        f[f"{kind} not in talk {gap}"] = 1


def _by_address(f: Features, where: str, address: str | None, own: str | None) -> None:
    if address and own:
        f[f"address {where} {'fits' if own == address else 'differs'}"] = 1


def _by_next(f: Features, s: Situation, who: int, book: Story, ahead: Sequence[Situation]) -> None:
    """What the turns after it tell, where nothing stands between."""
    if not ahead or ahead[0].gap != 0:
        return
    following = ahead[0]
    if following.turn.passage is s.turn.passage:
        return
    own = book.pronouns[who]
    if following.named:
        f["next named" if who in following.named else "next named other"] = 1
    if who in following.turn.vocatives:
        f["addressed next"] = 1
    elif following.turn.vocatives:
        f["another addressed next"] = 1
    _by_address(f, "next", following.turn.address, own)
    if following.kind == "pronoun" and following.is_gendered and own:
        f[f"next pronoun {'same' if own == following.pronoun else 'other'}"] = 1
    third = ahead[1].named if len(ahead) > 1 and ahead[1].gap == 0 else ()
    if third:
        f["third named" if who in third else "third named other"] = 1
