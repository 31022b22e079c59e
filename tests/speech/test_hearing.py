from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import pytest

from narrator.errors import EngineUnavailable
from narrator.speech.checks import TakeFigures, Verdict
from narrator.speech.hearing import Listener, Recogniser, fidelity, is_lettered, most_errors

LONG = (
    "The ferry left at seven, as it had on every morning that anyone in the village could "
    "remember. Nobody had ever asked it to wait, and it had never once been asked to hurry, and "
    "the ferryman looked at the sky, and then at the far bank of the river, and was content."
)


@dataclass
class Parrot:
    """A recogniser that hears what it was told."""

    says: str
    name: str = "parrot"
    languages: Collection[str] = ("en", "zh")
    asked: list[tuple[int, str]] = field(default_factory=list)

    def hear(self, sounds):
        self.asked.append((rate, language))
        return self.says


def without(text: str, first: str, last: str) -> str:
    """A text from which a passage has gone, its last word included."""
    return text[: text.index(first)] + text[text.index(last) + len(last) :]


def faults(recogniser: Recogniser, text: str, language: str = "en-GB", **more: float) -> list[str]:
    listener = Listener(recogniser, "all", **more)
    samples = np.zeros(16000, np.float32)
    return [str(f) for f in listener.faults(samples, 48000, text, language, Verdict(TakeFigures()))]


@pytest.mark.parametrize(
    "heard",
    [
        "Doctor Lovell paid twenty-three pounds; it wasn't much.",
        "doctor lovell paid twenty three pounds it wasn’t much",
        "Dr. Lovell paid £23, it wasn't much.",
        "DOCTOR LOVELL PAID TWENTY THREE POUNDS. IT WASNT MUCH",
    ],
)
def test_case_marks_and_figures_do_not_count(heard):
    text = "Doctor Lovell paid twenty-three pounds; it wasn't much."
    assert fidelity(text, heard, "en-GB").error == 0


def test_accents_do_not_count():
    assert fidelity("Élise était déjà là.", "elise etait deja la", "fr").error == 0


def test_words_may_be_joined_and_parted():
    assert (
        fidelity(
            "Someone came along the foot path.", "some one came along the footpath", "en"
        ).error
        == 0
    )


def test_a_word_that_is_nearly_right_counts_less_than_another():
    text = "Mister Ukridge spoke to the colour sergeant."
    near = fidelity(text, "mister uckridge spoke to the color sergeant", "en").error
    far = fidelity(text, "mister bloomsbury spoke to the silver sergeant", "en").error
    assert 0 < near < 0.1 < far


def test_nothing_heard_is_all_wrong():
    found = fidelity("Nobody had ever asked it to wait.", "", "en")
    assert found.error == found.window == 1
    assert found.missing == ("nobody had ever asked it to wait",)


def test_something_heard_where_nothing_was_meant():
    assert fidelity("", "", "en").error == 0
    assert fidelity("...", "hello there", "en").error == 1


def test_a_passage_that_was_lost_shows_in_its_window():
    heard = without(LONG, "Nobody had", "to wait,")
    found = fidelity(LONG, heard, "en")
    assert found.error < 0.2
    assert found.window == 1
    assert found.missing == ("nobody had ever asked it to wait",)


def test_a_passage_that_was_added_shows_in_its_window():
    heard = LONG.replace("content.", "content. You think you can just come in here.")
    found = fidelity(LONG, heard, "en")
    assert found.window > 1
    assert found.added == ("you think you can just come in here",)


def test_errors_here_and_there_are_no_hole():
    heard = LONG.replace("seven", "eleven").replace("village", "cottage").replace("far", "other")
    found = fidelity(LONG, heard, "en")
    assert found.window < 0.4
    assert not found.missing
    assert not found.added


def test_languages_without_spaces_go_by_character():
    assert is_lettered("zh-Hans")
    assert not is_lettered("en")
    text = "她打开窗户，看着下面湿漉漉的街道，很久没有说话。"
    assert fidelity(text, "她打开窗户 看着下面湿漉漉的街道 很久没有说话", "zh").error == 0
    found = fidelity(text, "她打开窗户，很久没有说话。", "zh")
    assert found.missing == ("看着下面湿漉漉的街道",)
    assert found.window > 0.7


def test_marks_that_are_letters_are_kept():
    assert fidelity("उसने खिड़की खोली।", "उसने खिड़की खोली", "hi").error == 0
    assert fidelity("उसने खिड़की खोली।", "उसन खड़क खल", "hi").error > 0


def test_some_languages_are_allowed_more_errors():
    assert most_errors("en-GB") < most_errors("hi")


# -- as a check


def test_a_take_that_says_its_text_is_good():
    parrot = Parrot(LONG.lower())
    assert faults(parrot, LONG) == []
    assert parrot.asked == [(48000, "en-GB")]


def test_a_take_that_lost_words_is_not():
    [fault] = faults(Parrot(without(LONG, "Nobody had", "to wait,")), LONG)
    assert fault.startswith("text: ")
    assert 'missing "nobody had ever asked it to wait"' in fault


def test_a_take_that_says_something_else_is_not():
    assert faults(Parrot("You think you can just come in here and cause a panic."), LONG)


def test_one_misheard_name_proves_nothing():
    assert faults(Parrot("Bill!"), "Beale!") == []
    assert faults(Parrot("gone"), "Ukridge!") == []
    assert faults(Parrot("And there was nothing left to say"), "Ukridge!")


def test_the_limit_can_be_set():
    heard = " ".join(word if n % 5 else "hm" for n, word in enumerate(LONG.split()))
    assert faults(Parrot(heard), LONG) == []
    assert faults(Parrot(heard), LONG, error=0.1)


def test_a_language_that_the_recogniser_does_not_know_passes_unheard():
    parrot = Parrot("nothing of the kind")
    assert faults(parrot, "Nessuno gli aveva mai chiesto di aspettare.", "it") == []
    assert not parrot.asked


def test_only_suspicious_takes_are_heard_where_that_is_asked_for():
    parrot = Parrot("nothing of the kind")
    listener = Listener(parrot, "suspicious")
    samples = np.zeros(16000, np.float32)
    plain, odd = Verdict(TakeFigures(ratio=1.0)), Verdict(TakeFigures(ratio=1.7))
    assert listener.faults(samples, 16000, LONG, "en", plain) == ()
    assert not parrot.asked
    assert listener.faults(samples, 16000, LONG, "en", odd)


class Failing(Parrot):
    """A recogniser whose model breaks down."""

    error: Exception = RuntimeError("[matmul] shapes do not fit\nat line 3")

    def hear(self, sounds):
        raise self.error


def test_a_recogniser_that_fails_ends_the_run_since_no_take_passes_unheard():
    with pytest.raises(EngineUnavailable) as caught:
        faults(Failing(""), LONG)
    assert str(caught.value) == (
        "recognition (parrot) failed: [matmul] shapes do not fit; takes that were stored are kept; "
        "run again, or set `checks: {recognition: never}`"
    )


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[METAL] Command buffer execution failed: Insufficient Memory (00000008)"),
        RuntimeError("[metal::malloc] Attempting to allocate 5 bytes"),
        RuntimeError("cublasLtMatmul failed: CUBLAS_STATUS_ALLOC_FAILED"),
    ],
)
def test_a_recogniser_without_memory_says_what_makes_room(error):
    parrot = Failing("")
    parrot.error = error
    with pytest.raises(EngineUnavailable, match=r"not enough memory to hear takes .*\{slots: 1\}"):
        faults(parrot, LONG)
