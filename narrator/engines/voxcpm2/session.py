"""VoxCPM2 at work: requests become rows of one batch, rows become takes.

A row that has finished is decoded beside the steps of those that go on, so that the model never
waits. Everything random or counted belongs to the row, so that which requests share a batch changes
no more than last bits; on a GPU those can turn a take, and what was stored is the take. Noise is
drawn from the request's seed, its text and its attempt (`noise_seed`): equal texts of one seed draw
equal noise, and differ by what they continue. Prompts are taken as they are given: who makes them
ends them on a short pause.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from narrator import keys
from narrator.engines import Outcome, Request, Speech, quiet
from narrator.engines.voxcpm2.growth import Growth, recall, remember
from narrator.engines.voxcpm2.loaded import (
    TOO_BIG,
    Corrupt,
    LoadedModel,
    OutOfMemory,
    corrupt,
    line_of,
)
from narrator.engines.voxcpm2.memory import (
    MemoryLimits,
    is_beyond_repair,
    is_out_of_memory,
    room,
)
from narrator.engines.voxcpm2.wording import before, closed, description
from narrator.errors import EngineFailure, EngineUnavailable

if TYPE_CHECKING:
    import voxcpm2

SLICE = 0.5
"""Seconds that `advance` works before it returns."""
HORIZON = 29.0
"""Seconds of prompt and speech together: the model was trained within about 30."""
MOST_FAILED = 3
"""Chunks that may fail alone, none of the others speaking between, before it is the machine."""
_SCARCE = "out of memory"
_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class _RowJob:
    """A request on its way."""

    request: Request
    asked: voxcpm2.Request
    suspect: bool = False
    """It was there when a step failed: it is tried once more, alone."""
    cramped: bool = False
    """Memory did not hold it in the fewest rows: it is tried once more, alone."""

    @property
    def alone(self) -> bool:
        return self.suspect or self.cramped


class VoxCPM2Session:
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
        self._fixed = loaded.settings.slots != "auto"
        self._memory = memory
        self._batch = self._model.batch(self._growth.slots)
        self._jobs: dict[voxcpm2.Row, _RowJob] = {}
        self._decoding: list[tuple[_RowJob, voxcpm2.Decoding]] = []
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
        import voxcpm2

        if self._first is None:
            self._first = time.monotonic()
        try:
            self._enter(_RowJob(request, self._roomy(request), suspect))
            self._resize()
        except voxcpm2.VoxCPM2Error as error:
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
        import voxcpm2

        for _, decoding in self._decoding[: voxcpm2.DECODINGS]:  # others wait: windows are large
            decoding.push()
        done = [pair for pair in self._decoding if not pair[1].left or not self._jobs]
        ended: list[voxcpm2.Row] = []
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

    def _finish(self, job: _RowJob, decoding: voxcpm2.Decoding) -> None:
        said = decoding.speech()
        self._decoding.remove((job, decoding))
        self._failed.clear()
        speech = Speech(
            said.samples,
            said.latents,
            stop="cap" if said.stop_reason == "cap" else "stop",
            patches=len(said.latents),
            tokens=said.token_count,
            seed=said.seed,
        )
        self._outcomes.append(Outcome(job.request.key, job.request.attempt, speech=speech))

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
        """Put what is in flight back at the start: the same requests, of which none was answered.

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
                        f"out of memory with a single chunk ({line_of(error)}): {TOO_BIG}"
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

    def _roomy(self, request: Request) -> voxcpm2.Request:
        """`_asked`; a voice that does not fit beside what runs is encoded alone."""
        try:
            return self._asked(request)
        except OutOfMemory:
            self.lower(self._batch.running + len(self._decoding), _SCARCE)
            self._restart(self._in_flight())
            return self._asked(request)

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
        self._outcomes.append(failed(request, why))

    # -- what the model is asked

    def _asked(self, request: Request) -> voxcpm2.Request:
        """Raises EngineFailure for what a mode lacks, VoxCPM2Error."""
        import voxcpm2

        reference = prompt = None
        if request.mode in ("reference", "anchored"):
            reference = self._loaded.encode(_there(request, request.reference), "right", self._tell)
        if request.mode in ("anchored", "continuation"):
            prompt = self._continued(request)
        described = {
            "zero-shot": (request.voice.description, request.style),
            "reference": (request.style,),
        }.get(request.mode, ())
        config, settings = self._model.config, self._loaded.settings
        patch = config.patch_size * config.vae.out_hop / config.vae.out_sample_rate
        least, most = lengths(
            request.expected,
            request.parameters.get("earliest_stop", settings.earliest_stop),
            0.0 if prompt is None else len(prompt.latents) * patch,
            patch,
        )
        return voxcpm2.Request(
            closed(request.text, request.language),
            voice=description(described),
            reference=reference,
            prompt=prompt,
            steps=request.parameters.get("steps", settings.steps),
            cfg=request.parameters.get("cfg", settings.cfg),
            seed=noise_seed(request),
            min_len=least,
            max_len=most,
        )

    def _continued(self, request: Request) -> voxcpm2.Prompt:
        """The take before; where a chain begins in continuation, the reference clip itself, as the
        speech that goes on."""
        import voxcpm2

        if request.mode == "anchored" or request.prompt:
            prompt = _there(request, request.prompt)
            text, latents = prompt.text, _there(request, prompt.state)
        else:
            reference = _there(request, request.reference)
            text = reference.transcript
            latents = self._loaded.encode(reference, "left", self._tell)
        return voxcpm2.Prompt(before(text, request.language), latents)


def _there(request: Request, given: _T | None) -> _T:
    if given is None:
        raise EngineFailure(f"a request in the mode {request.mode} lacks its reference or prompt")
    return given


def failed(request: Request, why: str) -> Outcome:
    """What a request comes to that cannot be spoken."""
    text = request.text if len(request.text) <= 60 else request.text[:59] + "…"
    return Outcome(request.key, request.attempt, failure=EngineFailure(f"VoxCPM2: {why}: {text!r}"))


def lengths(expected: float, earliest: float, prompt: float, patch: float) -> tuple[int, int]:
    """Patches before which a stop is not heeded, and at most; all given in seconds but `earliest`,
    the share of `expected` that must be spoken.

    What is much too long is cut off, and prompt and speech stay within the model's horizon as far
    as the text can be spoken there.
    """
    longest = min(2.5 * expected + 1.5, max(HORIZON - prompt, 1.25 * expected + 1.5))
    least = max(2, math.floor(earliest * expected / patch))
    return least, max(least + 2, math.ceil(longest / patch))


def noise_seed(request: Request) -> int:
    """What an attempt draws its noise from, 32 bits of its seed, its number and its text.

    Chunks of one manifest seed must not share their noise, or they would share a melody.
    """
    return keys.number(f"{request.seed} {request.attempt} {request.text}") % 2**32


def _growth(loaded: LoadedModel, memory: Path) -> Growth:
    import mlx.core as mx

    slots = loaded.settings.slots
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

    info = mx.device_info()
    device = info.get("device_name") or info.get("architecture") or "unknown"
    return f"{device}, {mx.default_device().type}, {loaded.weights[:24]}, {loaded.settings.dtype}"
