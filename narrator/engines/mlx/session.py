"""A session of a model in this process: requests become rows of one batch, rows become takes.

A finished row is decoded while the other rows continue, so that the model never waits. Everything
random or counted belongs to its row, so sharing a batch changes samples in their last bits only. On
a GPU even those can turn into another take; the stored take is what counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator.engines import Outcome, Request, ignore_message
from narrator.engines.mlx.loaded_model import (
    CorruptProcess,
    LoadedModel,
    OutOfMemory,
    line_of,
    make_corrupt_error,
)
from narrator.engines.mlx.memory import (
    MemoryLimits,
    is_beyond_repair,
    is_out_of_memory,
    usable_memory,
)
from narrator.engines.mlx.slot_tuning import SlotTuner, load_tuner, save_tuner
from narrator.engines.preparation import failed_outcome
from narrator.errors import EngineFailure, EngineUnavailable
from speechbase.errors import ModelError

ADVANCE_SECONDS = 0.5
"""Seconds that `advance` works before it returns."""
MAX_FAILED = 3
"""Chunks in a row that may fail, each alone, before the machine is given up."""
_OUT_OF_MEMORY = "out of memory"


@dataclass(slots=True, eq=False)
class _RowJob:
    """A request that has no outcome yet."""

    request: Request
    model_request: Any
    """The result of `LoadedModel.model_request`."""
    is_suspect: bool = False
    """Whether it was in flight when a step failed: it is tried once more, alone."""
    ran_out_of_memory: bool = False
    """Whether memory ran out with one slot: it is tried once more, alone."""

    @property
    def runs_alone(self) -> bool:
        return self.is_suspect or self.ran_out_of_memory


class ModelSession:
    """The model's batch: its rows, the rows being decoded, and the number of slots."""

    def __init__(
        self,
        loaded: LoadedModel,
        memory: Path,
        tell: Callable[[str], None] = ignore_message,
    ) -> None:
        self._loaded, self._model, self._tell = loaded, loaded.model, tell
        self._limits = MemoryLimits()
        self._tuner = _make_tuner(loaded, memory)
        self._has_fixed_slots = loaded.loading.settings.slots != "auto"
        self._memory = memory
        self._batch = self._model.batch(self._tuner.slots)
        self._jobs: dict[Any, _RowJob] = {}
        """Jobs by their rows in the batch."""
        self._decoding: list[tuple[_RowJob, Any]] = []
        """Jobs whose rows have finished, with the model's decodings of their samples."""
        self._outcomes: list[Outcome] = []
        self._failed_keys: set[str] = set()
        self._is_closed = False
        self._started_at: float | None = None
        self._busy_seconds = 0.0
        self._problem = ""
        """Why the slots were lowered last; the note says so."""
        self.busy = 0.0
        self.note = ""
        self.slots = 0
        self._update_figures()

    def add(self, request: Request, *, is_suspect: bool = False) -> None:
        """Accepts a request; a fault in it is returned as its outcome.

        A suspect, which may have ended a process, is spoken alone. Raises EngineUnavailable when
        memory does not hold the encoding of its voice, CorruptProcess, StorageError.
        """
        if self._started_at is None:
            self._started_at = time.monotonic()
        try:
            self._start_row(_RowJob(request, self._model_request(request), is_suspect))
            self._resize_batch()
        except ModelError as error:
            self._fail(request, str(error))
        except EngineFailure as error:
            self._outcomes.append(Outcome(request.key, request.attempt, failure=error))

    def advance(self) -> list[Outcome]:
        """Runs steps of the batch until a row has finished or half a second has passed.

        Returns without an outcome as soon as a slot is free; its row's take follows a step or more
        later. Raises EngineUnavailable when memory does not hold one row, or nothing works.
        """
        deadline = time.monotonic() + ADVANCE_SECONDS
        while self._jobs or self._decoding:
            started_at = time.monotonic()
            try:
                has_free_slot = self._step(started_at)
            except (RuntimeError, ValueError, MemoryError) as error:
                self._recover(error)
                has_free_slot = True
            now = time.monotonic()
            self._busy_seconds += now - started_at
            # with free slots return at once: a judged take may have unblocked other requests
            has_spare_slot = len(self._jobs) < self._tuner.slots
            if has_free_slot or has_spare_slot or self._outcomes or now >= deadline:
                break
        outcomes, self._outcomes = self._outcomes, []
        self._update_figures()
        return outcomes

    def close(self) -> None:
        """Drops requests in flight and frees memory; the model stays for the next session."""
        if self._is_closed:
            return
        self._is_closed = True
        self._jobs.clear()
        self._decoding.clear()
        self._outcomes.clear()
        self._batch = self._model.batch(1)
        self._model.clear_caches()
        self._limits.restore()
        if not self._has_fixed_slots:
            save_tuner(self._memory, _describe_machine(self._loaded), self._tuner)

    def lower(self, rows: int, reason: str) -> bool:
        """Lowers the number of slots after so many rows were too many.

        Returns false, and changes nothing, if it was one row or there is only one slot.
        """
        if rows < 2 or self._tuner.slots == 1:
            return False
        self._tuner.lower(rows)
        self._problem = f"slots lowered to {self._tuner.slots}: {reason}"
        if not self._has_fixed_slots:
            save_tuner(self._memory, _describe_machine(self._loaded), self._tuner)
        self._update_figures()
        return True

    # -- the work

    def _step(self, started_at: float) -> bool:
        """Runs one step and decodes meanwhile; returns whether a slot became free."""
        for _, decoding in self._decoding[: self._loaded.decodings]:  # windows are large
            decoding.push()
        ready = [pair for pair in self._decoding if not pair[1].is_pending or not self._jobs]
        finished_rows: list[Any] = []
        if self._jobs:
            finished_rows = self._batch.step()
            self._tuner.step(
                self._batch.running + len(finished_rows), time.monotonic() - started_at
            )
        for job, decoding in ready:
            self._finish(job, decoding)
        for row in finished_rows:
            decoding = self._batch.decoding(row, self._loaded.decoding_stream)
            job = self._jobs[row]
            self._decoding.append((job, decoding))
            del self._jobs[row]
            if job.runs_alone:
                self._finish(job, decoding)
        self._resize_batch()
        return bool(finished_rows)

    def _finish(self, job: _RowJob, decoding: Any) -> None:
        model_speech = decoding.speech()
        self._decoding.remove((job, decoding))
        self._failed_keys.clear()
        key, attempt = job.request.key, job.request.attempt
        try:
            outcome = Outcome(
                key, attempt, speech=self._loaded.to_speech(job.model_request, model_speech)
            )
        except EngineFailure as error:
            outcome = Outcome(key, attempt, failure=error)
        self._outcomes.append(outcome)

    def _start_row(self, job: _RowJob) -> None:
        self._jobs[self._batch.add(job.model_request)] = job

    def _resize_batch(self) -> None:
        """Sets the batch's number of rows: one while a job must run alone."""
        has_lone_job = any(job.runs_alone for job in self._jobs.values())
        self._batch.slots = 1 if has_lone_job else self._tuner.slots

    def _update_figures(self) -> None:
        # A row that is being decoded has left its slot.
        self.slots = self._tuner.slots + len(self._decoding)
        if self._started_at is not None:
            self.busy = min(
                1.0, self._busy_seconds / max(1e-9, time.monotonic() - self._started_at)
            )
        slot_count = "1 slot" if self._tuner.slots == 1 else f"{self._tuner.slots} slots"
        self.note = self._problem or (
            slot_count if self._tuner.is_settled else f"{slot_count} so far"
        )

    # -- failures

    def _recover(self, error: Exception) -> None:
        """Restarts all requests in flight after an error of a step.

        Out of memory lowers the slots; if there is only one, the rows that ran are tried once more,
        alone. After any other error, since the row at fault is unknown, each request is tried
        alone, and those that fail again have failed. Raises CorruptProcess if MLX cannot go on in
        this process.
        """
        if is_beyond_repair(error):
            raise make_corrupt_error(error) from error
        jobs = self._in_flight()
        if is_out_of_memory(error):
            # Rows that were about to join count too: reading them takes memory.
            rows = max(self._batch.running, min(len(self._jobs), self._batch.slots))
            running_count = rows + len(self._decoding)
            if not self.lower(running_count, reason=_OUT_OF_MEMORY):
                if jobs[0].ran_out_of_memory:
                    raise EngineUnavailable(
                        f"out of memory with a single chunk ({line_of(error)}): "
                        + self._loaded.loading.memory_advice
                    ) from error
                for job in jobs[:running_count]:
                    job.ran_out_of_memory = True
        elif jobs[0].is_suspect:
            job = jobs.pop(0)
            self._fail(job.request, line_of(error))
            self._failed_keys.add(job.request.key)
            if len(self._failed_keys) >= MAX_FAILED:
                raise CorruptProcess(  # a new process may succeed, where one is allowed
                    f"MLX failed on {MAX_FAILED} chunks one after another, each alone: "
                    f"{line_of(error)}; `narrator doctor` looks at this machine"
                ) from error
        else:
            for job in jobs:
                job.is_suspect = True
        self._restart(jobs)

    def _model_request(self, request: Request) -> Any:
        """Converts a request for the model; if memory runs out while its voice is encoded, with
        fewer slots and the batch restarted."""
        try:
            return self._loaded.model_request(request, self._tell)
        except OutOfMemory:
            self.lower(self._batch.running + len(self._decoding), reason=_OUT_OF_MEMORY)
            self._restart(self._in_flight())
            return self._loaded.model_request(request, self._tell)

    def _in_flight(self) -> list[_RowJob]:
        """Returns the jobs in flight, those being decoded first."""
        return [job for job, _ in self._decoding] + list(self._jobs.values())

    def _restart(self, jobs: Sequence[_RowJob]) -> None:
        self._decoding.clear()
        self._jobs.clear()
        self._model.clear_caches()
        self._batch = self._model.batch(self._tuner.slots)
        for job in jobs:
            self._start_row(job)
        self._resize_batch()

    def _fail(self, request: Request, reason: str) -> None:
        self._outcomes.append(failed_outcome(self._loaded.loading.name, request, reason))


def _make_tuner(loaded: LoadedModel, memory: Path) -> SlotTuner:
    import mlx.core as mx

    slots = loaded.loading.settings.slots
    if slots != "auto":
        return SlotTuner(slots, is_settled=True, fits=lambda rows, next_rows: True)
    mx.reset_peak_memory()
    model_bytes, limit = mx.get_active_memory(), usable_memory()

    def fits(rows: int, next_rows: int) -> bool:
        measured = (mx.get_peak_memory() - model_bytes) * next_rows / rows if rows else 0
        # the peak does not include what has not happened yet: decoding, long rows
        return model_bytes + max(measured, loaded.model.estimate_bytes(next_rows)) < limit

    return load_tuner(memory, _describe_machine(loaded), fits)


def _describe_machine(loaded: LoadedModel) -> str:
    """Returns the key of the best number of slots: device, weights and precision."""
    import mlx.core as mx

    loading, info = loaded.loading, mx.device_info()
    device = info.get("device_name") or info.get("architecture") or "unknown"
    return f"{device}, {mx.default_device().type}, {loading.weights[:24]}, {loading.settings.dtype}"
