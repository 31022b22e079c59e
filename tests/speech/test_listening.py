from __future__ import annotations

import numpy as np
import pytest

from narrator.errors import EngineUnavailable
from narrator.speech.checks import TakeFigures, Verdict
from narrator.speech.hearing import SpokenSound
from narrator.speech.hearing.listening import HearingQueue, TakeListener
from tests.speech.ears import Metronome, Parrot

LONG = "The ferry left at seven, as it had on every morning that anyone could remember."


def sound(text: str = LONG, language: str = "en-GB") -> SpokenSound:
    return SpokenSound(np.zeros(800, np.float32), 8000, text, language)


def opinions(ear: TakeListener, *sounds: SpokenSound, figures: TakeFigures | None = None):
    verdict = None if figures is None else Verdict(figures)
    return ear.listen(sounds, [verdict] * len(sounds))


def test_a_take_that_says_its_text_has_no_faults():
    (opinion,) = opinions(TakeListener(Parrot()), sound())
    assert (opinion.faults, opinion.heard.text, opinion.times) == ((), LONG, None)


def test_a_take_that_says_another_text_has_one():
    ear = TakeListener(Parrot(lambda text: "Somebody else has bought a hat and a horse, they say."))
    assert [fault.kind for fault in opinions(ear, sound())[0].faults] == ["text"]


def test_words_are_timed():
    (opinion,) = opinions(TakeListener(None, [Metronome()]), sound("Go now."))
    assert opinion.heard is None
    assert [(word.first, word.last, word.stop) for word in opinion.times.words] == [
        (0, 2, 0.1),
        (3, 7, 0.2),
    ]


def test_takes_in_a_language_that_it_does_not_know_pass_unheard():
    parrot = Parrot(lambda text: "")
    opinion, other_opinion = opinions(
        TakeListener(parrot), sound(language="fi"), sound("One two three four.")
    )
    assert opinion.heard is None
    assert not opinion.faults
    assert other_opinion.faults
    assert parrot.asked == [("One two three four.",)]


def test_suspicious_means_takes_that_lie_near_a_limit():
    parrot = Parrot()
    ear = TakeListener(parrot, [Metronome()], "suspicious")
    assert opinions(ear, sound(), figures=TakeFigures(ratio=1.0))[0].heard is None
    assert opinions(ear, sound(), figures=TakeFigures(ratio=1.9))[0].heard is not None


def test_words_are_timed_of_takes_that_are_not_heard():
    ear = TakeListener(Parrot(), [Metronome()], "suspicious")
    assert opinions(ear, sound(), figures=TakeFigures(ratio=1.0))[0].times is not None


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("[matmul] shapes do not fit"), r"recognition \(parrot\) failed: \[matmul\]"),
        (MemoryError(), "not enough memory to hear takes"),
        (RuntimeError("CUDA failed with error out of memory"), "set fewer chunks side by side"),
    ],
)
def test_a_recogniser_that_breaks_down_ends_the_run(error, message):
    def broken(text: str) -> str:
        raise error

    with pytest.raises(EngineUnavailable, match=message):
        opinions(TakeListener(Parrot(broken)), sound())


# -- in batches, beside an engine ------------------------------------------------------------------


def all_of(listening: HearingQueue[int]) -> list[int]:
    """Everybody whose sound was heard, in order."""
    owners: list[int] = []
    while listening.unheard_count:
        if listening.future is not None:
            listening.future.result()
        owners += [owner for owner, _ in listening.pop_opinions()]
    listening.close()
    return owners


def test_everybody_is_answered_in_order():
    parrot = Parrot()
    listening = HearingQueue[int](TakeListener(parrot))
    for number in range(7):
        listening.add(number, sound(f"Number {number}."), Verdict(TakeFigures()))
    assert listening.unheard_count == 7
    assert all_of(listening) == list(range(7))
    assert max(map(len, parrot.asked)) == parrot.batch


def test_what_is_waiting_is_dropped_when_it_ends():
    parrot = Parrot()
    listening = HearingQueue[int](TakeListener(parrot))
    for number in range(9):
        listening.add(number, sound(f"Number {number}."), Verdict(TakeFigures()))
    listening.close()
    assert sum(map(len, parrot.asked)) <= parrot.batch


def test_what_one_aligner_does_not_find_the_next_one_looks_for():
    class LosesOne(Metronome):
        def align(self, sounds):
            return [None if opinion.text == "Go now." else words for opinion, words in
                    zip(sounds, super().align(sounds), strict=True)]  # fmt: skip

    second = Metronome(name="second")
    ear = TakeListener(None, [LosesOne(name="first"), second])
    first_opinion, other_opinion = opinions(ear, sound("Stay."), sound("Go now."))
    assert (first_opinion.times.by, other_opinion.times.by) == ("first", "second")
    assert second.asked == [("Go now.",)]


def test_words_that_no_aligner_finds_are_of_the_first():
    class Deaf(Metronome):
        def align(self, sounds):
            return [None for _ in sounds]

    (opinion,) = opinions(TakeListener(None, [Deaf("deaf"), Deaf("deafer")]), sound("Go now."))
    assert (opinion.times.by, opinion.times.words) == ("deaf", ())
