"""Runs the model in a separate process, with a session that survives the death of the process.

When the process dies (by an error that MLX cannot recover from, a crash, or a kill), a new one is
started and gets the requests in flight again. After two deaths in a row each request is spoken
alone, and the one during which the next process dies has failed. Loads no MLX in this process; the
weights are in the other process only.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from narrator.engines import Outcome, Request, Speech, empty_samples, ignore_message
from narrator.engines.mlx.loaded_model import Encoded, Loading
from narrator.engines.preparation import failed_outcome
from narrator.engines.voice import Reference
from narrator.errors import EngineUnavailable
from textbase import processes

MAX_SHARED_DEATHS = 2
"""Deaths in a row after which each request is spoken alone."""
MAX_DEATHS = 5
"""Deaths in a row, without a take in between, after which the machine is given up."""
ANSWER_TIMEOUT = 900.0
"""Seconds without an answer, except while loading, after which a process counts as hung."""
EXIT_TIMEOUT = 10.0
"""Seconds for a process to end after it closed its connection or was killed."""

_START = """\
from narrator.engines.mlx.worker import main
main(int(sys.argv[1]))
"""
_SESSION_NUMBERS = itertools.count()


class ProcessDied(Exception):
    """The process has ended; the message says how."""


class ProcessHandle(Protocol):
    """The methods of `subprocess.Popen` that are used here."""

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class ModelProcess:
    """A process with the model, called by messages. It ends with this object."""

    def __init__(self) -> None:
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._connection, self._process = start_process(self._output)
        self._end = weakref.finalize(
            self, _end_process, self._connection, self._process, self._output
        )
        # text, since an exception would hold its frames, and they this object
        self._death_reason = ""

    @property
    def is_alive(self) -> bool:
        return not self._death_reason and self._process.poll() is None

    def call(self, name: str, *arguments: Any, tell: Callable[[str], None] = ignore_message) -> Any:
        """Calls a method of `worker.MessageHandler` in the process and returns its result; progress
        messages go to `tell`. Raises ProcessDied, and whatever the method raised."""
        if self._death_reason:
            raise ProcessDied(self._death_reason)
        try:
            self._send((name, arguments))
            timeout = None if name == "load" else ANSWER_TIMEOUT
            while (answer := self._receive(timeout))[0] == "tell":
                tell(answer[1])
        except BaseException:  # interrupted: the answer would be mistaken for that of a later call
            self.end("was stopped")
            raise
        if answer[0] == "failed":
            raise answer[1]
        return answer[1]

    def end(self, reason: str) -> ProcessDied:
        """Kills the process unless it has ended, and returns the error to raise."""
        self._death_reason = self._death_reason or reason
        self._end()
        return ProcessDied(self._death_reason)

    def _send(self, message: object) -> None:
        try:
            self._connection.send(message)
        except OSError as error:
            raise self.end(self._describe_ending()) from error

    def _receive(self, timeout: float | None) -> tuple[str, Any]:
        try:
            if not self._connection.poll(timeout):
                raise self.end(f"has not answered for {timeout:.0f} s")
            answer: tuple[str, Any] = self._connection.recv()
        except (EOFError, OSError) as error:  # also in the middle of an answer
            raise self.end(self._describe_ending()) from error
        return answer

    def _describe_ending(self) -> str:
        """Describes how it ended, with the last line of its output."""
        try:
            ending = processes.ending(self._process.wait(EXIT_TIMEOUT))
        except subprocess.TimeoutExpired:
            ending = "closed its connection"
        if ending == "was killed (SIGKILL)":
            return f"{ending}: memory may have run out"
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        return f"{ending}: {lines[-1].strip()[:200]}" if lines else ending


def start_process(output: IO[bytes]) -> tuple[Connection, ProcessHandle]:
    """Starts a process that writes to `output`; returns this side of the connection, and the
    process.

    It imports from the same paths as this process, whatever the current folder contains.
    """
    ours, theirs = Pipe()
    with theirs:
        descriptor = theirs.fileno()
        process = subprocess.Popen(
            processes.python_command(_START, str(descriptor)),
            pass_fds=(descriptor,),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=0,  # ctrl-C in a terminal is for us
        )
    return ours, process


def _end_process(connection: Connection, process: ProcessHandle, output: IO[bytes]) -> None:
    connection.close()
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):  # a driver may keep it from ending
        process.wait(EXIT_TIMEOUT)
    output.close()


class ModelProcesses:
    """One process at a time with the model: a new one after the last has died."""

    def __init__(self, loading: Loading, memory: Path) -> None:
        self.memory = memory
        self.loading = loading
        self._process: ModelProcess | None = None

    @property
    def is_loaded(self) -> bool:
        return self._process is not None and self._process.is_alive

    def process(self, tell: Callable[[str], None]) -> ModelProcess:
        """Returns the running process, or a new one with the model. Raises ProcessDied,
        EngineUnavailable."""
        if self._process is None or not self._process.is_alive:
            self._process = None
            process = ModelProcess()
            process.call("load", self.loading, tell=tell)
            self._process = process
        return self._process

    def encoded(self, reference: Reference) -> Encoded:
        """As `Engine.encode_reference`."""
        plain_reference = replace(reference, latents=dict(reference.latents))
        for is_last_try in (False, True):
            try:
                encoded: Encoded = self.process(ignore_message).call("encoded", plain_reference)
                break
            except ProcessDied as error:
                if is_last_try:
                    raise _failure_after_deaths(error, 2) from error
        return encoded


class ProcessSession:
    """A session of the model in another process; `ModelSession` is one in this process."""

    def __init__(
        self, processes_: ModelProcesses, tell: Callable[[str], None] = ignore_message
    ) -> None:
        self._processes, self._tell = processes_, tell
        self._in_flight: dict[tuple[str, int], Request] = {}
        self._suspects: set[tuple[str, int]] = set()
        """Requests in flight that must be spoken alone."""
        self._outcomes: list[Outcome] = []
        self._process: ModelProcess | None = None
        self._session_number = 0
        self._deaths = 0
        """Deaths in a row, without a take in between."""
        self._restart_count = 0
        self.slots = 0
        self.busy = 0.0
        self.note = ""
        try:
            self._start_session()
        except ProcessDied as error:
            self._restart(error)

    def add(self, request: Request) -> None:
        """As `ModelSession.add`."""
        self._in_flight[request.key, request.attempt] = request
        try:
            self._ask("add", _picklable_request(request), False)  # not a suspect
        except ProcessDied as error:
            self._restart(error)

    def advance(self) -> list[Outcome]:
        """As `ModelSession.advance`.

        Also raises EngineUnavailable when process after process dies.
        """
        if not self._outcomes and self._in_flight:
            try:
                self._outcomes = self._advance_process()
            except ProcessDied as error:
                self._restart(error)
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def close(self) -> None:
        """Drops requests in flight; the process keeps the model for the next session."""
        self._in_flight.clear()
        self._suspects.clear()
        self._outcomes.clear()
        process, self._process = self._process, None
        if process is not None and process.is_alive:
            with contextlib.suppress(ProcessDied):
                process.call("close", self._session_number)

    def _advance_process(self) -> list[Outcome]:
        """Returns the outcomes of a step in the process. Raises ProcessDied, also for a damaged
        take."""
        outcomes: list[Outcome] = self._ask("advance")
        if not all(outcome.failure or _is_complete(outcome.speech) for outcome in outcomes):
            assert self._process is not None
            raise self._process.end("gave a take that is not whole")
        for outcome in outcomes:
            self._remove_request((outcome.key, outcome.attempt))
        if any(outcome.speech for outcome in outcomes):
            self._deaths = 0
        return outcomes

    def _remove_request(self, request_id: tuple[str, int]) -> Request:
        self._suspects.discard(request_id)
        return self._in_flight.pop(request_id)

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Calls a method of the session in the process, and takes over its figures."""
        assert self._process is not None
        answer, figures = self._process.call(
            name, self._session_number, *arguments, tell=self._tell
        )
        self.slots, self.busy, self.note = figures
        if self._restart_count:
            self.note += f", process {self._restart_count + 1}"
        return answer

    def _start_session(self) -> None:
        """Starts a session in the process, with all requests in flight from their beginning."""
        if self._deaths >= MAX_SHARED_DEATHS:
            self._suspects.update(self._in_flight)
        self._process = self._processes.process(self._tell)
        self._session_number = next(_SESSION_NUMBERS)
        self._ask("start", self._processes.memory, len(self._suspects))
        for request_id, request in self._in_flight.items():
            self._ask("add", _picklable_request(request), request_id in self._suspects)

    def _restart(self, error: ProcessDied) -> None:
        """Continues in a new process. Raises EngineUnavailable after too many."""
        had_session = True
        while True:
            self._deaths += 1
            self._restart_count += 1
            if self._deaths >= MAX_DEATHS:
                raise _failure_after_deaths(error, self._deaths) from error
            first_id = next(iter(self._in_flight), None)
            if had_session and first_id in self._suspects:
                name = self._processes.loading.name
                self._outcomes.append(
                    failed_outcome(name, self._remove_request(first_id), f"its process {error}")
                )
            self._tell(f"the model's process {error}; a new one goes on")
            try:
                self._start_session()
            except ProcessDied as next_error:
                error, had_session = next_error, False
            else:
                return


def _failure_after_deaths(error: ProcessDied, death_count: int) -> EngineUnavailable:
    return EngineUnavailable(
        f"the model's process {error}; so did {death_count} in a row: `narrator doctor` looks at "
        "this machine"
    )


def _picklable_request(request: Request) -> Request:
    """Returns a copy of a request that can be pickled, with the fields that the model uses."""
    prompt, reference = request.prompt, request.reference
    return replace(
        request,
        voice=replace(request.voice, own=dict(request.voice.own)),
        parameters=dict(request.parameters),
        pronunciations=dict(request.pronunciations),
        prompt=prompt and replace(prompt, samples=empty_samples),
        reference=reference and replace(reference, latents=dict(reference.latents)),
    )


def _is_complete(speech: Speech | None) -> bool:
    """Returns whether samples and state have the right types and matching lengths."""
    if speech is None or speech.samples.dtype != np.float32 or speech.samples.ndim != 1:
        return False
    samples, state = speech.samples, speech.state
    if state is None:
        return len(samples) > 0 and speech.patches == 0
    return (
        state.dtype in (np.float32, np.int32)
        and 0 < len(state) == speech.patches
        and len(samples) > 0
        and len(samples) % len(state) == 0
    )
