"""Measures how early a model stops by itself, to suggest `engine.earliest_stop`, its lower guard.

Speaks a fixed list of sentences with several seeds and without a guard, and measures how the
lengths spread around the expected ones. Works with a session of any engine. Uses no recognition, so
it cannot tell whether a take is complete.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from narrator import keys
from narrator.engines import Outcome, Request, Session, speak
from narrator.engines.voice import Reference, Voice
from narrator.errors import UsageError
from narrator.text.pace import expected_seconds

_MAX_EARLIEST_STOP = 0.9
"""The highest `engine.earliest_stop` that a manifest may have."""
LANGUAGE = "en"
VOICE = Voice("measure", description="A calm narrator with a clear, even voice")
SENTENCES = tuple(Path(__file__).with_name("measure_sentences.txt").read_text("utf-8").splitlines())
"""Two to some forty words; nothing in them asks for a choice of how it is read."""
MEDIUM_SENTENCES = SENTENCES[18:24]
"""Of eight to ten words: a usual length."""


@dataclass(frozen=True, slots=True)
class MeasuredTake:
    """The actual and the expected length of one take."""

    text: str
    seed: int
    expected: float
    """Seconds."""
    seconds: float
    patches: int
    tokens: int
    stop: str
    """"stop" or "cap", or "failed"."""

    @property
    def share(self) -> float:
        """Ratio of the actual to the expected length."""
        return self.seconds / self.expected


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of one figure over all takes that ended by themselves."""

    least: float
    first: float
    """1 in 100 lies under it."""
    fifth: float
    """5 in 100 lie under it."""
    median: float


@dataclass(frozen=True, slots=True)
class StopFigures:
    """The figures of all takes."""

    takes: int
    capped: int
    """Takes that never ended by themselves; not in the figures."""
    failed: int
    per_second: Spread
    """Patches a second of the expected length."""
    per_token: Spread | None
    """Patches a token of text; None where the engine counts no tokens."""
    share: Spread
    """Of the expected length: the measure of `engine.earliest_stop`."""
    suggestion: float
    """For `engine.earliest_stop`."""


def measure(
    session: Session,
    rate: int,
    seeds: Sequence[int],
    *,
    parameters: Mapping[str, Any],
    reference: Reference | None = None,
    sentences: Sequence[str] = SENTENCES,
    report_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[MeasuredTake]:
    """Speaks every sentence with every seed; yields takes as they finish. `rate` is in Hz.

    `parameters` are the engine's own (steps, cfg …), without its guard; `reference` is the voice
    of an engine that needs one.
    """
    requests = [
        _make_request(text, seed, parameters, reference) for seed in seeds for text in sentences
    ]
    for done_count, (request, outcome) in enumerate(speak(session, requests), start=1):
        report_progress(done_count, len(requests))
        yield _measure_outcome(request, outcome, rate)


def measure_speed(session: Session, rate: int) -> float | None:
    """Returns the speed of a session with all slots busy, as a multiple of real time.

    None where it fails. `rate` is the engine's, in Hz.
    """
    count = session.slots
    texts = islice(cycle(MEDIUM_SENTENCES), 3 * count)
    requests = [
        _make_request(text, seed, parameters={}, reference=None) for seed, text in enumerate(texts)
    ]
    list(speak(session, requests[:count]))  # the first of each slot loads and warms up
    began = time.monotonic()
    outcomes = [outcome for _, outcome in speak(session, requests[count:])]
    wall = time.monotonic() - began
    samples = sum(len(answer.speech.samples) for answer in outcomes if answer.speech is not None)
    return samples / rate / wall if samples else None


def _make_request(
    text: str, seed: int, parameters: Mapping[str, Any], reference: Reference | None
) -> Request:
    return Request(
        key=keys.key({"measure": text, "seed": seed}),
        text=text,
        language=LANGUAGE,
        voice=VOICE,
        style=None,
        parameters=parameters,
        seed=seed,
        attempt=0,
        expected=expected_seconds(text, LANGUAGE),
        mode="zero-shot" if reference is None else "reference",
        reference=reference,
    )


def _measure_outcome(request: Request, outcome: Outcome, rate: int) -> MeasuredTake:
    speech = outcome.speech
    if speech is None:
        return MeasuredTake(request.text, request.seed, request.expected, 0.0, 0, 0, "failed")
    return MeasuredTake(
        request.text,
        request.seed,
        request.expected,
        len(speech.samples) / rate,
        speech.patches,
        speech.tokens,
        speech.stop,
    )


def summarize(takes: Sequence[MeasuredTake]) -> StopFigures:
    """Summarises the takes that ended by themselves. Raises UsageError where none did."""
    stopped = [take for take in takes if take.stop == "stop"]
    if not stopped:
        raise UsageError(f"none of {len(takes)} takes ended by itself: there is nothing to measure")
    share = _measure_spread([take.share for take in stopped])
    per_token = [take.patches / take.tokens for take in stopped if take.tokens]
    return StopFigures(
        takes=len(takes),
        capped=sum(take.stop == "cap" for take in takes),
        failed=sum(take.stop == "failed" for take in takes),
        per_second=_measure_spread([take.patches / take.expected for take in stopped]),
        per_token=_measure_spread(per_token) if per_token else None,
        share=share,
        suggestion=_suggest_share(share),
    )


def _measure_spread(figures: Sequence[float]) -> Spread:
    minimum, first, fifth, median = np.quantile(np.array(figures), [0, 0.01, 0.05, 0.5])
    return Spread(float(minimum), float(first), float(fifth), float(median))


def _suggest_share(share: Spread) -> float:
    """Returns a share a tenth below that of 99 of 100 takes, in steps of 0.05, for a manifest.

    A tenth lower, since the shortest takes may be complete: a fast reading is not a fault.
    """
    return min(_MAX_EARLIEST_STOP, math.floor(0.9 * share.first / 0.05 + 1e-9) * 5 / 100)
