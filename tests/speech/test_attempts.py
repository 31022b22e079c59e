from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from narrator.speech.attempts import Action, Attempts
from narrator.speech.checks import Fault
from narrator.text.chunks import split_in_half

LONG = "The ferry left at seven, as it had on every morning. Nobody had ever asked it to wait."
FIRST, SECOND = split_in_half(LONG, "en")
SHORT = "Come in."


class GivenAnswer(NamedTuple):
    """An answer: "good", "silent", or how bad it is."""

    said: str
    prompted_by: str | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        if self.said == "good":
            return ()
        if self.said == "silent":
            return (Fault("silent", "nothing", 100),)
        return (Fault("gap", self.said, float(self.said)),)


def report(attempts: Attempts[GivenAnswer], answer: str) -> Action:
    """Asks once; "failed" is an engine that spoke nothing."""
    attempts.request_count += 1
    if answer == "failed":
        return attempts.note_failure("engine: hoarse")
    return attempts.note_answer(GivenAnswer(answer, attempts.prompted_by))


def end(attempts: Attempts[GivenAnswer], action: Action) -> list[str] | None:
    """The answers that make the take; None where the chunk is given up."""
    if action is Action.ACCEPT:
        return [answer.said for answer in attempts.accepted]
    best = attempts.least_bad()
    return None if best is None else [best.said]


@pytest.mark.parametrize(
    ("answers", "take"),
    [
        # another try
        ("good", ["good"]),
        ("5 good", ["good"]),
        ("failed silent good", ["good"]),
        # two halves
        ("5 5 5 good good", ["good", "good"]),
        ("failed failed failed good 3 good", ["good", "good"]),
        # the least bad: two halves where both are better than any whole
        ("7 5 6 8 8 8", ["5"]),
        ("7 5 6 3 4 4 good", ["3", "good"]),
        ("7 5 6 3 4 4 2 2 1", ["3", "1"]),
        ("7 5 6 3 4 4 2 2 3", ["5"]),
        ("7 5 6 3 4 4 silent failed silent", ["5"]),
        ("5 5 5 failed failed 5", ["5"]),
        ("silent failed silent 9 9 9 good", ["9", "good"]),
        # nothing that could be heard
        ("silent failed silent failed silent silent", None),
        ("silent failed silent good silent silent failed", None),
    ],
)
def test_the_ladder_of_a_long_chunk(answers, take):
    attempts = Attempts(LONG, "en")
    *others, last = [report(attempts, answer) for answer in answers.split()]
    assert set(others) <= {Action.RETRY, Action.CONTINUE}
    assert last in (Action.ACCEPT, Action.SETTLE)
    assert end(attempts, last) == take


@pytest.mark.parametrize(
    ("options", "answers", "take"),
    [
        ({}, "7 5 6", ["5"]),
        ({"tries": 1}, "7", ["7"]),
        ({"text": LONG, "can_halve": False}, "7 5 6", ["5"]),
        # an engine that says the same again is asked again only where it said nothing
        ({"is_random": False}, "7", ["7"]),
        ({"is_random": False}, "failed failed good", ["good"]),
        ({"is_random": False}, "silent", None),
        ({"text": LONG, "is_random": False}, "7 4 2", ["4", "2"]),
    ],
)
def test_a_chunk_that_is_not_halved_and_an_engine_that_never_varies(options, answers, take):
    attempts = Attempts(**{"text": SHORT, "language": "en", **options})
    actions = [report(attempts, answer) for answer in answers.split()]
    assert not {Action.ACCEPT, Action.SETTLE} & set(actions[:-1])
    assert end(attempts, actions[-1]) == take


def test_each_part_is_asked_for_under_its_own_numbers():
    attempts, requests = Attempts(LONG, "en", tries=2, first_number=4), []
    for answer in ("5", "5", "5", "good", "good"):
        requests.append((attempts.part, attempts.number))
        report(attempts, answer)
    assert requests == [(LONG, 4), (LONG, 5), (FIRST.rstrip(), 4), (FIRST.rstrip(), 5), (SECOND, 4)]
    assert attempts.request_count == 5


def test_a_first_half_ends_like_a_sentence():
    text = "He packed the bread and the cheese and the knives; then he sat down and waited for it"
    attempts = Attempts(text, "en", tries=1)
    report(attempts, "5")
    assert attempts.part == "He packed the bread and the cheese and the knives."


def test_only_answers_to_the_present_prompt_compete():
    attempts = Attempts(SHORT, "en", tries=2, prompted_by="a")
    report(attempts, "1")
    attempts.prompted_by = "b"
    assert report(attempts, "9") is Action.SETTLE
    assert attempts.least_bad().said == "9"
    attempts.prompted_by = "a"
    assert attempts.least_bad().said == "1"


def test_faults_of_all_answers_are_noted_and_doubts_are_those_of_the_take():
    attempts = Attempts(LONG, "en", tries=1)
    for answer in ("9", "2", "failed", "good"):
        report(attempts, answer)
    assert attempts.faults == ["gap: 9", "gap: 2", "engine: hoarse"]
    attempts = Attempts(LONG, "en", tries=1)
    for answer in ("9", "2", "2"):
        report(attempts, answer)
    assert attempts.doubts == ("gap: 2",)


# -- every series of answers -----------------------------------------------------------------------

ANSWERS = ("good", "1", "3", "silent", "failed")


def walks(
    attempts: Attempts[GivenAnswer], said: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every series of answers that ends a chunk, with its take."""
    for answer in ANSWERS:
        branch, series = deepcopy(attempts), (*said, answer)
        action = report(branch, answer)
        if action in (Action.ACCEPT, Action.SETTLE):
            yield series, end(branch, action)
        else:
            yield from walks(branch, series)


def rule(said: tuple[str, ...], tries: int) -> tuple[int, list[str] | None]:
    """The number of answers that are asked for, and the take, as the documentation has it."""
    remaining = iter(said)

    def ask() -> list[str]:
        """The answers to one part: up to a good one."""
        answers: list[str] = []
        while len(answers) < tries and "good" not in answers:
            answers.append(next(remaining))
        return answers

    def least_bad(answers: list[str]) -> str | None:
        return min((a for a in answers if a.isdecimal()), default=None)

    def severity(answer: str) -> int:
        return 0 if answer == "good" else int(answer)

    whole_answers, halves = ask(), []
    if "good" in whole_answers:
        return len(said) - len(list(remaining)), ["good"]
    settled = least_bad(whole_answers)
    for _ in range(2):
        answers = ask()
        half = "good" if "good" in answers else least_bad(answers)
        worse = settled and half and sum(map(severity, [*halves, half])) >= int(settled)
        if half is None or (half != "good" and worse):
            return len(said) - len(list(remaining)), [settled] if settled else None
        halves.append(half)
    return len(said) - len(list(remaining)), halves


@pytest.mark.parametrize("tries", [1, 2])
def test_every_chunk_ends_as_it_should_after_as_few_requests_as_may_be(tries):
    count = 0
    for answer, take in walks(Attempts(LONG, "en", tries=tries), ()):
        assert (len(answer), take) == rule(answer, tries)
        count += 1
    assert count > 50


@pytest.mark.parametrize(
    ("answers", "good_count"),
    [
        ("good good good", 3),
        ("good 5 good failed good", 3),
        ("5 5 good good good", 3),
        # so many requests at most as there are tries, and one for each further good answer
        ("good 5 5 5 5", 1),
        ("5 good silent good 5", 2),
    ],
)
def test_the_best_of_several_good_answers_is_chosen(answers, good_count):
    attempts = Attempts(LONG, "en", best_of=3)
    *others, last = [report(attempts, answer) for answer in answers.split()]
    assert set(others) <= {Action.RETRY, Action.COMPARE}
    assert last is Action.CHOOSE
    assert len(attempts.candidates) == good_count
    assert attempts.choose(attempts.candidates[-1]) is Action.ACCEPT


def test_without_a_good_answer_there_are_as_many_tries_as_for_one():
    attempts = Attempts(LONG, "en", best_of=3)
    for answer in ("5", "5", "5"):
        report(attempts, answer)
    assert attempts.part == FIRST.rstrip()
    assert report(attempts, "good") is Action.CONTINUE
    assert report(attempts, "good") is Action.ACCEPT


def test_only_good_answers_to_the_present_prompt_are_chosen_from():
    attempts = Attempts(SHORT, "en", best_of=2, prompted_by="a")
    report(attempts, "good")
    attempts.prompted_by = "b"
    assert report(attempts, "good") is Action.COMPARE
    assert report(attempts, "good") is Action.CHOOSE
    assert [answer.prompted_by for answer in attempts.candidates] == ["b", "b"]


def test_an_engine_that_never_varies_is_asked_once():
    assert report(Attempts(SHORT, "en", best_of=3, is_random=False), "good") is Action.ACCEPT
