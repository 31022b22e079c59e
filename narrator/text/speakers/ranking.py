"""Decides the speakers of turns: scores candidates by features, scene by scene.

The features are the classical sieves: a tag's name, a pronoun and its possible antecedents,
vocatives, alternation, beats of narration. Their weights were learnt (`learnt.json` names the
source), and the share of correct decisions of each kind was measured: that is the certainty of a
decision.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from narrator.text.quotations import Quotation
from narrator.text.speakers.situations import Place, Situation, Story
from narrator.text.speakers.tags import SpeechTurn

Features = dict[str, float]
History = Sequence[tuple[int, Situation]]
"""Previous speakers of the scene with their situations, the latest last."""

BEAM_WIDTH = 16
"""Groups of paths through a scene that are kept in parallel."""
_STATE_LENGTH = 3
"""Latest speakers in which the paths of a group agree."""
_MAX_OPTIONS = 6
"""Speakers of a turn that are tried on each path."""
_HISTORY_LENGTH, _LOOKAHEAD = 8, 6
"""Turns that are considered before and after one."""
_FIT_WEIGHT, _MIN_FIT = 0.5, 0.02
"""Power, and least value, of the probability that counts for a speaker whom a tag names."""
_SOLE_PROBABILITY = 0.55
"""Probability of the only candidate of a turn without a name."""
_TAG_REACH = 8
"""Turns after one among which a tag with a name confirms it."""
_CONFIRMED_RULES = frozenset("turns called near pronoun beat".split())
"""Rules whose decisions a later tag confirms."""
_UNCONFIRMED = "-open"
"""Ending of such a rule's name where no tag does; it may have a table of its own."""
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Decision:
    """The decided speaker of a turn."""

    turn: SpeechTurn
    character: int | None
    """Index in the cast; None for nobody."""
    probability: float
    """By the learnt weights, 0 to 1."""
    by: str
    """Name of the rule; of the first turn's, if the words go on over several."""
    alternatives: tuple[tuple[int, float], ...] = ()
    """Other candidates, each with its probability."""
    continues_previous: bool = False
    """True if the turn continues the words of the one before."""


@cache
def learnt_tables() -> Mapping[str, Any]:
    """Returns the learnt tables.

    `weights` are by feature. `sure` is, for given and for found casts and by rule, a list of
    probabilities with the share of correct decisions from there on.
    """
    tables: Mapping[str, Any] = json.loads(Path(__file__).with_name("learnt.json").read_text())
    return tables


def decide(situations: Sequence[Situation], book: Story) -> list[Decision]:
    """Decides the likeliest speakers of all turns."""
    scenes: dict[int, list[Situation]] = {}
    for situation in situations:
        scenes.setdefault(situation.turn.passage.scene, []).append(situation)
    decide_scene = _decide_exchanges if book.listeners is None else _decide_tale
    return [
        decision
        for scene_situations in scenes.values()
        for decision in decide_scene(scene_situations, book)
    ]


def _decide_exchanges(scene_situations: Sequence[Situation], book: Story) -> list[Decision]:
    """Returns the decisions on a scene.

    The rules of those that no name in a tag confirms later in their exchange are marked: they are
    wrong more often, since nothing would show that two speakers are swapped.
    """
    marked: list[Decision] = []
    turns_to_tag = _TAG_REACH + 1
    decisions = _decide_scene(scene_situations, book)
    for situation, decision in zip(reversed(scene_situations), reversed(decisions), strict=True):
        is_open = decision.by in _CONFIRMED_RULES and turns_to_tag > _TAG_REACH
        marked.append(replace(decision, by=decision.by + _UNCONFIRMED) if is_open else decision)
        turns_to_tag = 1 if decision.by == "tag" else turns_to_tag + 1
        if situation.gap > 1:
            turns_to_tag = _TAG_REACH + 1
    return marked[::-1]


_TALE_RULES = frozenset("tag pronoun called turns".split())
"""Rules that decide alone who speaks in a tale."""
_TALE_REACH = 4
"""Passages after which the speaker of a turn in a tale must have been named, or have spoken."""


def _decide_tale(scene_situations: Sequence[Situation], book: Story) -> Iterator[Decision]:
    """Yields the decisions on a scene of a tale; whatever is not evident is nobody's."""
    last_turns: dict[int, Place] = {}
    """Character -> place of the last evident turn."""
    decisions = _decide_scene(scene_situations, book)
    for situation, decision in zip(scene_situations, decisions, strict=True):
        if _is_evident(decision, situation, last_turns, book):
            assert decision.character is not None
            turn = situation.turn
            last_turns[decision.character] = turn.passage.number, turn.pieces[0].start
            yield replace(decision, turn=replace(turn, pieces=_pieces_near_tag(turn)))
        else:
            yield Decision(decision.turn, None, 0.0, "nobody")


_SENTENCE_BREAK = re.compile(r"(?<!\bM[rs])(?<!\bMrs)(?<!\b[DS][rt])[.!?]\s+[^\W\d_a-z]")


def _pieces_near_tag(turn: SpeechTurn) -> list[Quotation]:
    """Returns the pieces of a turn in a tale from the one at its tag up to where a sentence of
    narration begins: what follows may be somebody else's."""
    text, pieces = turn.passage.text, turn.pieces
    tag_start = turn.tag.mention.start if turn.tag is not None else 0
    breaks = [
        index
        for index in range(1, len(pieces))
        if _SENTENCE_BREAK.search(text, pieces[index - 1].stop, pieces[index].start)
    ]
    runs = [pieces[first:last] for first, last in pairwise((0, *breaks, len(pieces)))]
    return min(runs, key=lambda run: max(run[0].start - tag_start, tag_start - run[-1].stop))


def _is_evident(
    decision: Decision, situation: Situation, last_turns: Mapping[int, Place], book: Story
) -> bool:
    """Returns whether a decision in a tale is hardly wrong.

    Most people of a tale have no name. So the speaker of a turn without a name in its tag must have
    been named, or have spoken, after all nouns that may mean somebody else.
    """
    character = decision.character
    if character is None or character == situation.narrator:
        return character is not None
    if situation.kind == "name":
        return True
    has_rule = decision.continues_previous or decision.by in _TALE_RULES
    is_only_candidate = (
        decision.by == "pronoun" and not decision.alternatives and not decision.continues_previous
    )
    is_likely = has_rule and decision.probability > 0.5 and not is_only_candidate
    if not is_likely or character in (book.listeners or ()):
        return False
    last_turn = last_turns.get(character, (-_TALE_REACH, 0))
    earliest = situation.turn.passage.number - _TALE_REACH, 0
    for place, mention in reversed(situation.people):
        if place < last_turn or place < earliest:
            break
        if character in mention.characters:
            return not mention.is_possessive
        is_of_other_sex = {mention.pronoun, book.pronouns[character]} == {"he", "she"}
        if not (mention.characters or is_of_other_sex):
            return False
    return last_turn >= earliest


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A speaker of a turn, after certain speakers before."""

    source: _State
    target: _State
    character: int
    log_odds: float


@dataclass(slots=True, eq=False)
class _State:
    """All paths through a scene that agree in their latest speakers."""

    history: History = ()
    """The speakers of the likeliest of them."""
    best: float = -math.inf
    """Its probability, as a logarithm, like the following."""
    last_step: _Step | None = None
    """Its last step; None at a scene's beginning."""
    before: float = -math.inf
    """Sum of the probabilities of all paths to here."""
    after: float = -math.inf
    """Sum of the probabilities of all paths from here to the scene's end."""

    def reach(self, step: _Step, situation: Situation) -> None:
        """Adds the paths that arrive by a step."""
        source = step.source
        self.before = _log_add(self.before, source.before + step.log_odds)
        if source.best + step.log_odds > self.best:
            self.best, self.last_step = source.best + step.log_odds, step
            self.history = (
                *source.history[-_HISTORY_LENGTH + 1 :],
                (step.character, situation),
            )


def _decide_scene(scene_situations: Sequence[Situation], book: Story) -> list[Decision]:
    """Returns the decisions of the likeliest path through a scene; the probability of each is that
    of all paths that agree with it."""
    states = [_State(best=0.0, before=0.0)]
    steps_by_turn: list[list[_Step]] = []
    for index, situation in enumerate(scene_situations):
        targets: dict[tuple[int, ...], _State] = {}
        steps: list[_Step] = []
        next_situations = scene_situations[index + 1 : index + 1 + _LOOKAHEAD]
        turn = _RankedTurn(situation, book, next_situations)
        untagged = _without_tag(situation)
        untagged_turn = _RankedTurn(untagged, book, next_situations) if untagged else None
        for state in states:
            latest = [character for character, _ in state.history[-_STATE_LENGTH + 1 :]]
            options = turn.rank_candidates(state.history)
            for character, odds in options[:_MAX_OPTIONS]:
                if untagged_turn is not None and len(options) == 1:
                    odds *= _fit_of_named(untagged_turn, character, state.history)
                target = targets.setdefault((*latest, character), _State())
                step = _Step(state, target, character, math.log(max(odds, 1e-9)))
                target.reach(step, situation)
                steps.append(step)
        states = sorted(targets.values(), key=lambda state: -state.best)[:BEAM_WIDTH]
        steps_by_turn.append(steps)
    for state in states:
        state.after = 0.0
    odds_by_turn = [_sum_paths(steps) for steps in reversed(steps_by_turn)][::-1]
    history: list[tuple[int, Situation]] = []
    decisions: list[Decision] = []
    speakers = _speakers_of_path(states[0])
    for situation, character, odds_of in zip(scene_situations, speakers, odds_by_turn, strict=True):
        decision = _make_decision(situation, character, odds_of, book, history[-_HISTORY_LENGTH:])
        history.append((character, situation))
        previous = decisions[-1] if decisions else None
        if previous and situation.continues_previous and previous.character == character:
            decision = replace(decision, by=previous.by, continues_previous=True)
        decisions.append(decision)
    return decisions


def _sum_paths(steps: Sequence[_Step]) -> dict[int, float]:
    """Returns the probability of each speaker of a turn over all paths; carries the sums `after`
    from the states behind the turn to those before it."""
    sums: dict[int, float] = {}
    for step in steps:
        rest = step.log_odds + step.target.after
        step.source.after = _log_add(step.source.after, rest)
        through = step.source.before + rest
        sums[step.character] = _log_add(sums.get(step.character, -math.inf), through)
    return dict(zip(sums, _probabilities(list(sums.values())), strict=True))


def _probabilities(logarithms: Sequence[float]) -> list[float]:
    """Returns numbers, given by their logarithms, as shares of their sum."""
    top = max(logarithms)
    shares = [math.exp(logarithm - top) for logarithm in logarithms]
    total = sum(shares)
    return [share / total for share in shares]


def _log_add(a: float, b: float) -> float:
    """Returns the logarithm of the sum of two numbers that are given by their logarithms."""
    top = max(a, b)
    return top if top == -math.inf else top + math.log1p(math.exp(min(a, b) - top))


def _speakers_of_path(state: _State) -> list[int]:
    """Returns the speakers of the likeliest path to a state, in order."""
    speakers: list[int] = []
    while state.last_step is not None:
        speakers.append(state.last_step.character)
        state = state.last_step.source
    return speakers[::-1]


def _without_tag(situation: Situation) -> Situation | None:
    """Returns a turn as it would be without the tag that names its speaker; None for others."""
    if situation.kind not in ("name", "self"):
        return None
    return replace(
        situation,
        kind="bare",
        named_characters=(),
        pronoun=None,
        is_another=False,
        nearby_characters={},
    )


def _fit_of_named(untagged: _RankedTurn, character: int, history: History) -> float:
    """Returns how well a speaker whom a tag names continues a path.

    The tag leaves no choice, so all paths would pass it alike. With this a path that has the two
    speakers of an exchange swapped loses to the other one.
    """
    if not history or character == _NOBODY:
        return 1.0
    odds = dict(untagged.rank_candidates(history))
    return float(max(odds.get(character, 0.0), _MIN_FIT) ** _FIT_WEIGHT)


def _make_decision(
    situation: Situation,
    character: int,
    odds_of: Mapping[int, float],
    book: Story,
    history: History,
) -> Decision:
    """Makes the decision for a turn; `odds_of` has the probabilities of all characters."""
    if not _may_be(character, situation, book):
        fitting = [other for other in odds_of if _may_be(other, situation, book)]
        character = max(fitting, key=odds_of.__getitem__, default=_NOBODY)
    if character not in book.speakers:
        return Decision(situation.turn, None, 0.0, "nobody")
    others = sorted(
        (
            (other, odds)
            for other, odds in odds_of.items()
            if other != character and other in book.speakers
        ),
        key=lambda pair: -pair[1],
    )
    by = rule(situation, character, history)
    return Decision(situation.turn, character, odds_of[character], by, tuple(others))


def rule(situation: Situation, character: int, history: History) -> str:
    """Returns the name of the sieve that contributes most to a decision."""
    if situation.kind != "bare":
        if situation.kind == "noun" and not situation.named_characters:
            return "stranger"
        return "tag" if situation.kind in ("name", "self") else situation.kind
    if character in situation.lead:
        return "lead"
    if situation.nearby_characters.get(character, "").endswith("subject"):
        return "beat"
    if history and situation.gap == 0:
        if character in history[-1][1].turn.vocatives:
            return "called"
        if len(history) > 1 and history[-2][0] == character != history[-1][0]:
            return "turns"
    return "mentioned" if character in situation.nearby_characters else "near"


def certainty(rule_name: str, odds: float, *, has_found_cast: bool) -> float:
    """Returns the share of correct decisions by a rule that were as probable as this one.

    `has_found_cast`: the cast was found in the text, rather than given.
    """
    tables = learnt_tables()["sure"]["found" if has_found_cast else "given"]
    table = tables.get(rule_name) or tables.get(rule_name.removesuffix(_UNCONFIRMED))
    if table is None:
        return 0.0
    index = bisect_right([start for start, _ in table], odds) - 1
    return float(table[max(0, index)][1])


class _RankedTurn:
    """A turn whose candidates are ranked after one history and another; the part of their scores
    that no history changes is summed once."""

    def __init__(
        self, situation: Situation, book: Story, next_situations: Sequence[Situation]
    ) -> None:
        self.situation, self.book, self.next_situations = situation, book, next_situations
        self._scores: dict[int, float] = {}
        """Candidate -> score before any history."""

    def rank_candidates(self, history: History) -> list[tuple[int, float]]:
        """Returns the candidates with their probabilities, the likeliest first."""
        situation = self.situation
        if (
            situation.continues_previous
            and history
            and (
                situation.kind in ("bare", "pronoun")
                or history[-1][0] in situation.named_characters
            )
        ):
            return [(history[-1][0], 0.97)]
        options = candidates(situation, self.book, history, self.next_situations)
        if not options:
            return [(_NOBODY, 0.01)]
        if len(options) == 1:
            if _is_told(options[0], situation, history):
                return [(options[0], 0.99)]
            return [(options[0], _SOLE_PROBABILITY), (self.book.stranger, 1 - _SOLE_PROBABILITY)]
        scores = [self._score(character, history) for character in options]
        ranked = zip(options, _probabilities(scores), strict=True)
        return sorted(ranked, key=lambda pair: -pair[1])

    def _score(self, character: int, history: History) -> float:
        situation, book = self.situation, self.book
        if character not in self._scores:
            self._scores[character] = _weigh(
                _lasting_features(situation, character, book, self.next_situations)
            )
        return self._scores[character] + _weigh(
            _history_features(situation, character, book, history)
        )


def _weigh(feature_values: Features) -> float:
    """Returns the sum of features by their learnt weights."""
    weights = learnt_tables()["weights"]
    return sum(weights.get(name, 0.0) * value for name, value in feature_values.items())


def _is_told(character: int, situation: Situation, history: History) -> bool:
    """Returns whether the narration tells that the only candidate speaks; whoever else is there may
    be nobody that the cast knows."""
    if situation.kind in ("name", "self") or character in situation.named_characters:
        return True
    has_spoken = any(character == speaker for speaker, _ in history)
    is_there = character in situation.nearby_characters or character in situation.recent
    return situation.kind == "pronoun" and situation.is_gendered and (is_there or has_spoken)


def candidates(
    situation: Situation, book: Story, history: History, next_situations: Sequence[Situation]
) -> list[int]:
    """Returns the candidates of a turn: those its tag names, else speakers and people mentioned
    around it who are present in its chapter."""
    if book.stranger in situation.named_characters:
        return [book.stranger]
    present = book.present.get(situation.turn.passage.chapter, Counter[int]())
    if situation.kind == "name" and situation.named_characters:
        return [character for character in situation.named_characters if character in present]
    if situation.kind == "self" and situation.narrator is not None:
        return [situation.narrator]
    candidate_set = dict.fromkeys(
        [
            *situation.named_characters,
            *situation.nearby_characters,
            *(character for character, _ in history if character != _NOBODY),
        ]
    )
    for character, (passages, mentions) in situation.recent.items():
        if passages <= 25 or mentions < 12:
            candidate_set.setdefault(character)
    for next_situation in next_situations:
        for character in (
            *next_situation.named_characters,
            *next_situation.nearby_characters,
            *sorted(next_situation.turn.vocatives),
        ):
            candidate_set.setdefault(character)
    for _, previous in history[-2:]:
        candidate_set |= dict.fromkeys(sorted(previous.turn.vocatives))
    candidate_set |= dict.fromkeys(sorted(situation.turn.vocatives))
    if situation.narrator is not None:
        candidate_set.setdefault(situation.narrator)
    nearby_candidates = [character for character in candidate_set if character in present]
    frequent_characters = [] if len(nearby_candidates) > 1 else present.most_common(4)
    options = dict.fromkeys(
        [*nearby_candidates, *(character for character, _ in frequent_characters)]
    )
    if book.listeners is not None and situation.kind in ("pronoun", "noun"):
        # the teller of a tale is not "he"
        return [option for option in options if option != situation.narrator]
    return list(options)


def _may_be(character: int, situation: Situation, book: Story) -> bool:
    """Returns whether a candidate may be the "he" or "she" of a tag."""
    if character == _NOBODY:
        return True
    pronouns = {situation.pronoun, book.evident_pronouns[character]}
    return situation.kind not in ("pronoun", "noun") or pronouns != {"he", "she"}


# -- what speaks for and against a candidate


def features(
    situation: Situation,
    character: int,
    book: Story,
    history: History,
    next_situations: Sequence[Situation],
) -> Features:
    """Returns the features of a candidate by name; "pronoun" and "bare" prefix those with separate
    weights for tags with a pronoun."""
    return _lasting_features(situation, character, book, next_situations) | _history_features(
        situation, character, book, history
    )


def _kind(situation: Situation) -> str:
    has_pronoun = situation.is_gendered and situation.kind != "name"
    return "pronoun" if has_pronoun else "bare"


def _lasting_features(
    situation: Situation, character: int, book: Story, next_situations: Sequence[Situation]
) -> Features:
    """Returns the features that are the same after all histories."""
    kind = _kind(situation)
    feature_values: Features = {}
    _add_tag_features(feature_values, situation, character, book)
    _add_mention_features(feature_values, situation, character, book, kind)
    _add_word_features(feature_values, situation, character, book)
    _add_next_features(feature_values, situation, character, book, next_situations)
    if situation.narrator == character:
        feature_values[f"{kind} first person"] = 1
        if situation.kind == "bare" and situation.tells_i:
            feature_values["first person here"] = 1
    return feature_values


def _history_features(
    situation: Situation, character: int, book: Story, history: History
) -> Features:
    """Returns the features that tell of the speakers before."""
    feature_values: Features = {}
    if situation.kind == "noun" and history and situation.is_another:
        feature_values["other is last"] = float(history[-1][0] == character)
    _add_turn_features(feature_values, situation, character, book, history, _kind(situation))
    return feature_values


def _add_tag_features(
    feature_values: Features, situation: Situation, character: int, book: Story
) -> None:
    """Adds how well a tag's pronoun or noun fits."""
    pronoun = book.pronouns[character]
    if situation.kind == "noun" and situation.named_characters:
        feature_values[
            "noun is" if character in situation.named_characters else "noun is another"
        ] = 1
    if situation.is_gendered and situation.kind != "name":
        fits = (
            "fits" if pronoun == situation.pronoun else "unknown" if pronoun is None else "differs"
        )
        feature_values[f"pronoun {fits}"] = 1
    elif situation.pronoun in ("it", "they") and pronoun is None:
        feature_values["plain thing"] = 1


def _add_mention_features(
    feature_values: Features, situation: Situation, character: int, book: Story, kind: str
) -> None:
    """Adds how recently, and where, the narration mentioned the candidate."""

    def matches_pronoun(candidate: int) -> bool:
        return kind == "bare" or book.pronouns[candidate] in (None, situation.pronoun)

    passages_since, mentions_since = situation.recent.get(character, (60, 60))
    if character in situation.recent:
        rank = sum(
            1
            for candidate, (_, other_mentions_since) in situation.recent.items()
            if other_mentions_since < mentions_since and matches_pronoun(candidate)
        )
        feature_values[f"{kind} rank {min(rank, 4)}"] = 1
    else:
        feature_values[f"{kind} unseen"] = 1
    feature_values[f"{kind} passages {min(passages_since, 40).bit_length()}"] = 1
    if character in situation.subjects:
        matching_subjects = [subject for subject in situation.subjects if matches_pronoun(subject)]
        subject_rank = matching_subjects.index(character) if character in matching_subjects else 4
        feature_values[
            f"{kind} subject {min(subject_rank, 3)}" + (" near" if passages_since <= 1 else "")
        ] = 1
    if character in situation.nearby_characters:
        feature_values[f"{kind} here {situation.nearby_characters[character]}"] = 1
        if len(situation.nearby_characters) == 1:
            feature_values[f"{kind} alone here"] = 1
    elif situation.nearby_characters:
        feature_values[f"{kind} others here"] = 1
    if situation.lead:
        feature_values["lead" if character in situation.lead else "another leads"] = 1


def _add_word_features(
    feature_values: Features, situation: Situation, character: int, book: Story
) -> None:
    """Adds whether the words themselves name the candidate, and how often the book does."""
    if character in situation.turn.vocatives:
        feature_values["addressed in it"] = 1
    if character in situation.turn.named_characters:
        feature_values["named in it"] = 1
    feature_values["share told"] = math.log1p(book.narration_counts[character]) / 5
    feature_values["share tagged"] = math.log1p(book.tag_counts[character]) / 4


def _add_turn_features(
    feature_values: Features,
    situation: Situation,
    character: int,
    book: Story,
    history: History,
    kind: str,
) -> None:
    """Adds previous speakers: people alternate, and answer to their names."""
    if not history:
        return
    gap = situation.gap
    gap_label = str(gap) if gap < 2 else "2+" if gap < 5 else "far"
    last_speaker, previous = history[-1]
    if previous.turn.passage is situation.turn.passage:
        feature_values["same as last, same passage"] = float(last_speaker == character)
    else:
        feature_values[f"{kind} same as last {gap_label}"] = float(last_speaker == character)
        if len(history) > 1:
            feature_values[f"{kind} same as second {gap_label}"] = float(
                history[-2][0] == character != last_speaker
            )
    if character in previous.turn.vocatives:
        feature_values[f"addressed before {gap_label}"] = 1
    else:
        if previous.turn.vocatives:
            feature_values[f"another addressed before {gap_label}"] = 1
        if character in previous.turn.named_characters:
            feature_values["named before"] = 1
    _add_address_feature(feature_values, "before", previous.turn.address, book.pronouns[character])
    if len(history) > 3 and history[-4][0] == history[-2][0] == character != last_speaker:
        feature_values[f"{kind} alternates"] = 1
    turn_counts = Counter(speaker for speaker, _ in history)
    feature_values[f"{kind} in talk"] = min(3, turn_counts[character]) / 3
    if turn_counts[character] == 0:
        feature_values[f"{kind} not in talk {gap_label}"] = 1


def _add_address_feature(
    feature_values: Features, side: str, address: str | None, pronoun: str | None
) -> None:
    if address and pronoun:
        feature_values[f"address {side} {'fits' if pronoun == address else 'differs'}"] = 1


def _add_next_features(
    feature_values: Features,
    situation: Situation,
    character: int,
    book: Story,
    next_situations: Sequence[Situation],
) -> None:
    """Adds what the directly following turns tell of the speaker: names, vocatives, pronouns."""
    if not next_situations or next_situations[0].gap != 0:
        return
    next_situation = next_situations[0]
    if next_situation.turn.passage is situation.turn.passage:
        return
    pronoun = book.pronouns[character]
    if next_situation.named_characters:
        feature_values[
            "next named" if character in next_situation.named_characters else "next named other"
        ] = 1
    if character in next_situation.turn.vocatives:
        feature_values["addressed next"] = 1
    elif next_situation.turn.vocatives:
        feature_values["another addressed next"] = 1
    _add_address_feature(feature_values, "next", next_situation.turn.address, pronoun)
    if next_situation.kind == "pronoun" and next_situation.is_gendered and pronoun:
        feature_values[
            f"next pronoun {'same' if pronoun == next_situation.pronoun else 'other'}"
        ] = 1
    third_named = (
        next_situations[1].named_characters
        if len(next_situations) > 1 and next_situations[1].gap == 0
        else ()
    )
    if third_named:
        feature_values["third named" if character in third_named else "third named other"] = 1
