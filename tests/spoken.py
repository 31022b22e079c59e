"""Speech for tests: the draft voice says a text, once a run, for whoever needs a clip."""

from __future__ import annotations

import functools
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from narrator.engines import Request, Speech
from narrator.engines.draft.espeak import DraftEngine
from narrator.engines.draft.settings import DraftVoice
from narrator.engines.voice import Voice
from narrator.text.pace import expected_seconds

TEXT = (
    "Early in the morning a cool wind came over the hills, and the village smelled of fresh bread. "
    "Nobody was in a hurry, for there was time enough for everything."
)
RATE = DraftEngine.sample_rate


@functools.cache
def drafted(text: str = TEXT, variant: str = "m2") -> Speech:
    """What the draft voice makes of a text: its samples are read only."""
    request = Request(
        key="clip",
        text=text,
        language="en-GB",
        voice=Voice("narrator", own={"draft": DraftVoice(variant=variant, pitch=50, rate=165)}),
        style=None,
        parameters={},
        seed=0,
        attempt=0,
        expected=expected_seconds(text, "en"),
    )
    with closing(DraftEngine(workers=1).start()) as session:
        session.add(request)
        while not (outcomes := session.advance()):
            pass
    speech = outcomes[0].speech
    assert speech is not None
    speech.samples.setflags(write=False)
    return speech


def draft(text: str = TEXT, variant: str = "m2") -> NDArray[np.float32]:
    """Its sound alone: mono at `RATE`."""
    return drafted(text, variant).samples
