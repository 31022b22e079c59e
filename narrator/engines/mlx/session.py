"""A model at work: requests become rows of one batch, rows become takes.

A row that has finished is decoded beside the steps of those that go on, so that the model never
waits. Everything random or counted belongs to the row, so that which requests share a batch changes
no more than last bits; on a GPU those can turn a take, and what was stored is the take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator.engines import Outcome, Request, quiet
from narrator.engines.mlx.growth import Growth, recall, remember
from narrator.engines.mlx.loaded import Corrupt, LoadedModel, OutOfMemory, corrupt, line_of
from narrator.engines.mlx.memory import (
    MemoryLimits,
    is_beyond_repair,
    is_out_of_memory,
    room,
)
from narrator.errors import EngineFailure, EngineUnavailable
from speechbase.errors import ModelError

SLICE = 0.5
"""Seconds that `advance` works before it returns."""
MOST_FAILED = 3
"""Chunks that may fail alone, none of the others speaking between, before it is the machine."""
_SCARCE = "out of memory"


@dataclass(slots=True, eq=False)
class _RowJob:
    """A request on its way."""

    request: Request
    asked: Any
    """As `LoadedModel.asked` says it."""
    suspect: bool = False
    """It was there when a step failed: it is tried once more, alone."""
    cramped: bool = False
    """Memory did not hold it in the fewest rows: it is tried once more, alone."""

    @property
    def alone(self) -> bool:
        return self.suspect or self.cramped


class ModelSession:
    """The model's batch: its rows, those that have finished, and how many there should be."""

    def __init__(
        self,
        loaded: LoadedModel,
        memory: Path,
        tell: Callable[[str], None] = quiet,
    ) -> None:
        self._loaded, self._model, self._tell = loaded, loaded.model, tell
        self._limits = MemoryLimits()
        self._growth = _growth(loaded, memory)
        self._fixed = loaded.what.settings.slots != "auto"
        self._memory = memory
        self._batch = self._model.batch(self._growth.slots)
        self._jobs: dict[Any, _RowJob] = {}
        self._decoding: list[tuple[_RowJob, Any]] = []
        self._outcomes: list[Outcome] = []
        self._failed: set[str] = set()
        self._closed = False
        self._first: float | None = None
        self._worked = 0.0
        self._trouble = ""
        self.busy = 0.0
        self.note = ""
        self.slots = 0
        self._report()

    def add(self, request: Request, *, suspect: bool = False) -> None:
        """Take a request on; what is wrong with it comes back as its outcome.

        A `suspect` is spoken alone. Raises EngineUnavailable where memory does not hold the
        encoding of its voice, Corrupt, StorageError.
        """
        if self._first is None:
            self._first = time.monotonic()
        try:
            self._enter(_RowJob(request, self._asked(request), suspect))
            self._resize()
        except ModelError as error:
            self._fail(request, str(error))
        except EngineFailure as error:
            self._outcomes.append(Outcome(request.key, request.attempt, failure=error))

    def advance(self) -> list[Outcome]:
        """Steps of the batch, until a row has finished or half a second has passed.

        Returns with nothing as soon as a slot is free; its row's take follows a step or more later.
        Raises EngineUnavailable where memory does not hold one row, or nothing works.
        """
        until = time.monotonic() + SLICE
        while self._jobs or self._decoding:
            began = time.monotonic()
            try:
                freed = self._work(began)
            except (RuntimeError, ValueError, MemoryError) as error:
                self._recover(error)
                freed = True
            now = time.monotonic()
            self._worked += now - began
            # with slots to spare, a take that was judged meanwhile may have freed what fills them
            spare = len(self._jobs) < self._growth.slots
            if freed or spare or self._outcomes or now >= until:
                break
        outcomes, self._outcomes = self._outcomes, []
        self._report()
        return outcomes

    def close(self) -> None:
        """Drop what is in flight and give memory back; the model stays for the next session."""
        if self._closed:
            return
        self._closed = True
        self._jobs.clear()
        self._decoding.clear()
        self._outcomes.clear()
        self._batch = self._model.batch(1)
        self._model.forget()
        self._limits.restore()
        if not self._fixed:
            remember(self._memory, _machine(self._loaded), self._growth)

    def lower(self, ran: int, why: str) -> bool:
        """Fewer slots, since so many rows were too many; False where that was one row, or there is
        one slot."""
        if ran < 2 or self._growth.slots == 1:
            return False
        self._growth.lower(ran)
        self._trouble = f"slots lowered to {self._growth.slots}: {why}"
        if not self._fixed:
            remember(self._memory, _machine(self._loaded), self._growth)
        self._report()
        return True

    # -- the work

    def _work(self, began: float) -> bool:
        """One step, decoding beside it; returns whether a slot became free."""
        for _, decoding in self._decoding[: self._loaded.decodings]:  # windows are large
            decoding.push()
        done = [pair for pair in self._decoding if not pair[1].left or not self._jobs]
        ended: list[Any] = []
        if self._jobs:
            ended = self._batch.step()
            self._growth.step(self._batch.running + len(ended), time.monotonic() - began)
        for job, decoding in done:
            self._finish(job, decoding)
        for row in ended:
            decoding = self._batch.decoding(row, self._loaded.beside)
            job = self._jobs[row]
            self._decoding.append((job, decoding))
            del self._jobs[row]
            if job.alone:
                self._finish(job, decoding)
        self._resize()
        return bool(ended)

    def _finish(self, job: _RowJob, decoding: Any) -> None:
        made = decoding.speech()
        self._decoding.remove((job, decoding))
        self._failed.clear()
        key, attempt = job.request.key, job.request.attempt
        try:
            outcome = Outcome(key, attempt, speech=self._loaded.said(job.asked, made))
        except EngineFailure as error:
            outcome = Outcome(key, attempt, failure=error)
        self._outcomes.append(outcome)

    def _enter(self, job: _RowJob) -> None:
        self._jobs[self._batch.add(job.asked)] = job

    def _resize(self) -> None:
        alone = any(job.alone for job in self._jobs.values())
        self._batch.slots = 1 if alone else self._growth.slots

    def _report(self) -> None:
        # A row that is being decoded has left its slot.
        self.slots = self._growth.slots + len(self._decoding)
        if self._first is not None:
            self.busy = min(1.0, self._worked / max(1e-9, time.monotonic() - self._first))
        many = "1 slot" if self._growth.slots == 1 else f"{self._growth.slots} slots"
        self.note = self._trouble or (many if self._growth.settled else f"{many} so far")

    # -- when it fails

    def _recover(self, error: Exception) -> None:
        """Put everything in flight back at the start: the same requests, none of them answered.

        Out of memory: fewer slots, and where there is nothing to lower, what ran is tried once
        more, alone. Else it is not known which row is at fault: each is tried alone, and the ones
        that fail again have failed. Raises Corrupt where this process is at fault.
        """
        if is_beyond_repair(error):
            raise corrupt(error) from error
        jobs = self._in_flight()
        if is_out_of_memory(error):
            # Rows that were about to join count, too: reading them takes memory.
            rows = max(self._batch.running, min(len(self._jobs), self._batch.slots))
            ran = rows + len(self._decoding)
            if not self.lower(ran, _SCARCE):
                if jobs[0].cramped:
                    raise EngineUnavailable(
                        f"out of memory with a single chunk ({line_of(error)}): "
                        + self._loaded.what.less
                    ) from error
                for job in jobs[:ran]:
                    job.cramped = True
        elif jobs[0].suspect:
            job = jobs.pop(0)
            self._fail(job.request, line_of(error))
            self._failed.add(job.request.key)
            if len(self._failed) >= MOST_FAILED:
                raise Corrupt(  # whatever it says: another process is tried, where there may be one
                    f"MLX failed on {MOST_FAILED} chunks one after another, each alone: "
                    f"{line_of(error)}; `narrator doctor` looks at this machine"
                ) from error
        else:
            for job in jobs:
                job.suspect = True
        self._restart(jobs)

    def _asked(self, request: Request) -> Any:
        """A voice that does not fit beside what runs is encoded alone."""
        try:
            return self._loaded.asked(request, self._tell)
        except OutOfMemory:
            self.lower(self._batch.running + len(self._decoding), _SCARCE)
            self._restart(self._in_flight())
            return self._loaded.asked(request, self._tell)

    def _in_flight(self) -> list[_RowJob]:
        """What runs comes before what waits."""
        return [job for job, _ in self._decoding] + list(self._jobs.values())

    def _restart(self, jobs: Sequence[_RowJob]) -> None:
        self._decoding.clear()
        self._jobs.clear()
        self._model.forget()
        self._batch = self._model.batch(self._growth.slots)
        for job in jobs:
            self._enter(job)
        self._resize()

    def _fail(self, request: Request, why: str) -> None:
        self._outcomes.append(failed(self._loaded.what.name, request, why))


def failed(name: str, request: Request, why: str) -> Outcome:
    """What a request comes to that a model of this name cannot speak."""
    text = request.text if len(request.text) <= 60 else request.text[:59] + "…"
    return Outcome(request.key, request.attempt, failure=EngineFailure(f"{name}: {why}: {text!r}"))


def _growth(loaded: LoadedModel, memory: Path) -> Growth:
    import mlx.core as mx

    slots = loaded.what.settings.slots
    if slots != "auto":
        return Growth(slots, True, lambda now, then: True)
    mx.reset_peak_memory()
    model, limit = mx.get_active_memory(), room()

    def fits(now: int, then: int) -> bool:
        measured = (mx.get_peak_memory() - model) * then / now if now else 0
        # what has not happened yet is in no peak: a take that is decoded, long rows
        return model + max(measured, loaded.model.needs(then)) < limit

    return recall(memory, _machine(loaded), fits)


def _machine(loaded: LoadedModel) -> str:
    """What a number of slots is the best for."""
    import mlx.core as mx

    what, info = loaded.what, mx.device_info()
    device = info.get("device_name") or info.get("architecture") or "unknown"
    return f"{device}, {mx.default_device().type}, {what.weights[:24]}, {what.settings.dtype}"
