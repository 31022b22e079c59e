"""An engine that sleeps as a model would work; and a cluster's machine that has it.

    python -m benchmarks.sleeper PORT NAME SPEED SCALE

Slots are rows of one batch: whoever is added begins with the next step, and a step takes a little
longer the more rows it has. All is `speed` times as fast, and `scale` times as long, as a model
that speaks eight rows in real time. Samples are short, so that what is measured is who works when;
states are as long as VoxCPM2's.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from narrator.engines import Engine, Outcome, Request, Speech, ignore_message
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec
from narrator.engines.voice import Voice

RATE = 48000
PATCH = 0.16
"""Seconds of speech that a step gives each row."""
SLOTS = 8
ALONE = 0.8
"""A step of one row, to one of all slots."""
SOUND = 0.05
"""Seconds of sound that a take has, however long it was."""
STATE = (4, 64)
"""Of a patch: VoxCPM2's latents."""


def step_seconds(rows: int) -> float:
    """Of a machine of speed 1, with no scale: eight rows take a patch's own time."""
    return PATCH * (ALONE + (1 - ALONE) * (rows - 1) / (SLOTS - 1))


def patches(expected: float) -> int:
    return max(1, math.ceil(expected / PATCH))


def make_speech(request: Request) -> Speech:
    """The same for the same request."""
    request_text = f"{request.key} {request.attempt} {request.text}"
    draw = np.random.default_rng(list(hashlib.sha256(request_text.encode()).digest()))
    samples = draw.uniform(-0.1, 0.1, round(SOUND * RATE)).astype(np.float32)
    steps = patches(request.expected)
    state = draw.standard_normal((steps, *STATE)).astype(np.float32)
    return Speech(samples, state, patches=steps)


@dataclass(slots=True, eq=False)
class SleeperSession:
    """Rows that end after as many steps as their speech has patches."""

    tempo: float
    """Seconds of sleep to one of a model's."""
    slots: int = SLOTS
    busy: float = 0.0
    note: str = ""
    _rows: list[tuple[Request, int]] = field(default_factory=list)
    _late: float = 0.0
    """Seconds that it slept too long, as others had the CPU: the next step makes up for them."""

    def add(self, request: Request) -> None:
        assert len(self._rows) < self.slots
        self._rows.append((request, patches(request.expected)))

    def advance(self) -> Sequence[Outcome]:
        """One step of the batch."""
        step = self.tempo * step_seconds(len(self._rows)) - self._late
        began = time.monotonic()
        time.sleep(max(0.0, step))
        self._late = time.monotonic() - began - step
        rows = [(request, steps - 1) for request, steps in self._rows]
        self._rows = [row for row in rows if row[1]]
        return [
            Outcome(request.key, request.attempt, speech=make_speech(request))
            for request, steps in rows
            if not steps
        ]

    def close(self) -> None:
        self._rows.clear()


@dataclass(slots=True)
class SleeperEngine(Engine):
    tempo: float = 1.0
    name: str = "sleeper"
    sample_rate: int = RATE
    continues: bool = True
    clones: bool = True
    anchors: bool = True
    max_context_seconds: float = 120.0

    def identity(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return {"content": voice.content}

    def precision(self) -> str:
        return "sleep"

    def start(self, tell: Callable[[str], None] = ignore_message) -> SleeperSession:
        return SleeperSession(self.tempo)


class SleeperSpec(EngineSpec):
    name = "sleeper"

    def __init__(self, tempo: float) -> None:
        self._tempo = tempo

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        return SleeperEngine(self._tempo)

    def sample_rate(self, settings: EngineSettings) -> int:
        return RATE


def main() -> None:
    from narrator.engines import registry
    from narrator.engines.cluster import programs
    from narrator.engines.cluster.credentials import ClusterPlace

    port, name, speed, scale = sys.argv[1:]
    registry.ENGINES["sleeper"] = SleeperSpec(float(scale) / float(speed))

    def tell(line: str) -> None:
        print(line, flush=True)

    programs.run_machine(ClusterPlace("127.0.0.1", int(port)), name, SLOTS, ["sleeper"], tell)


if __name__ == "__main__":
    main()
