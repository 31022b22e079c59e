"""The draft voice with moods, for a studio that tests start with this folder on its PYTHONPATH.

Another seed gives another reading, a little faster or slower, and the first reading of a sentence
with the word "stumbled" has a silence inside, which no check lets pass. The recogniser hears
"kitchen" for "stone".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator.engines.draft import espeak
from narrator.speech.hearing import choosing
from narrator.speech.hearing.listening import TakeListener
from tests.speech.ears import Mishearer

SILENCE = 3.0
"""Seconds."""


def read(request: Any, samples: NDArray[np.float32]) -> NDArray[np.float32]:
    if request.seed == 0:
        if "stumbled" not in request.text:
            return samples
        middle = samples.size // 2
        silence = np.zeros(int(SILENCE * espeak.DraftEngine.sample_rate), np.float32)
        return np.concatenate([samples[:middle], silence, samples[middle:]])
    pace = 0.94 + 0.04 * (request.seed % 4)
    places = np.arange(0, samples.size - 1, pace)
    return np.interp(places, np.arange(samples.size), samples).astype(np.float32)


def _unpack(program: Any, request: Any, kind: int, payload: bytes, extra: bytes) -> Any:
    outcome = _plain(program, request, kind, payload, extra)
    speech = outcome.speech
    if speech is None:
        return outcome
    samples = read(request, speech.samples)  # no longer as it was told
    return replace(outcome, speech=replace(speech, samples=samples, words=()))


_plain = espeak.DraftProgram.unpack
espeak.DraftProgram.unpack = _unpack
espeak.DraftEngine.sound_parameters = ("seed",)


def _make_listener(checks: Any, *_: Any, **__: Any) -> TakeListener:
    return TakeListener(Mishearer(word="stone", heard="kitchen"), heard_as=checks.heard_as)


choosing.make_listener = _make_listener
