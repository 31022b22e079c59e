"""Requests to engines, clips, and the outcomes of a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from narrator.engines import Outcome, Request, Session, speak
from narrator.engines.voice import Reference, Voice

TEXT = "The rain fell."
ADA = Voice("Ada")


def request(text: str = TEXT, **changes: Any) -> Request:
    """A request whose key is its text."""
    return replace(
        Request(text, text, "en-GB", ADA, None, {}, seed=7, attempt=0, expected=0.1), **changes
    )


def clip(seconds: float = 0.5, content: str = "c1") -> Reference:
    draw = np.random.default_rng(len(content))
    samples = 0.1 * draw.standard_normal(round(48_000 * seconds))
    return Reference(content, samples.astype(np.float32), 48_000, "This is the clip")


def outcomes_of(session: Session, requests: Iterable[Request]) -> dict[str, Outcome]:
    """All outcomes by key."""
    return {request.key: outcome for request, outcome in speak(session, requests)}
