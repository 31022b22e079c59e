"""The model in a process of its own, seen from here: a session that outlives the process.

An error that leaves MLX no way on in a process, a crash, or a kill costs what was in flight: a new
process is started, and is asked for the same again. What kills two processes in a row is looked
for: each request is spoken alone, and the one that the next process dies of has failed. Loads no
MLX; the weights are in the other process, once.
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

from narrator import processes
from narrator.engines import Outcome, Request, Speech, quiet, unheard
from narrator.engines.mlx.loaded import Encoded, Loading
from narrator.engines.mlx.session import failed
from narrator.engines.voice import Reference
from narrator.errors import EngineUnavailable

SHARED = 2
"""Processes that may die in a row before each request is spoken alone."""
MOST_DEATHS = 5
"""Processes in a row, none of them with a take, before it is the machine."""
SILENCE = 900.0
"""Seconds without a word, but while it loads, after which a process hangs: as a driver can."""
PATIENCE = 10.0
"""Seconds in which a process that has closed its connection, or was killed, must have ended."""

_START = """\
from narrator.engines.mlx.worker import main
main(int(sys.argv[1]))
"""
_NUMBERS = itertools.count()


class Died(Exception):
    """The process is gone, and says how."""


class Ending(Protocol):
    """What is asked of a process; `subprocess.Popen` has it."""

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class ModelProcess:
    """A process, what is asked of it, and what it answers. It ends with this object."""

    def __init__(self) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._connection, self._process = started(self._said)
        self._end = weakref.finalize(self, _end, self._connection, self._process, self._said)
        self._died = ""  # a text: an exception would hold its frames, and they this

    @property
    def alive(self) -> bool:
        return not self._died and self._process.poll() is None

    def call(self, name: str, *given: Any, tell: Callable[[str], None] = quiet) -> Any:
        """What comes of a message; lines that come before it are told. Raises Died, and whatever
        the other side did."""
        if self._died:
            raise Died(self._died)
        try:
            self._send((name, given))
            silence = None if name == "load" else SILENCE
            while (answer := self._receive(silence))[0] == "tell":
                tell(answer[1])
        except BaseException:  # in the middle of it: what is left of the answer is nobody's
            self.end("was stopped")
            raise
        if answer[0] == "failed":
            raise answer[1]
        return answer[1]

    def end(self, why: str) -> Died:
        """End it at once, unless it has ended; what there is to say of it."""
        self._died = self._died or why
        self._end()
        return Died(self._died)

    def _send(self, message: object) -> None:
        try:
            self._connection.send(message)
        except OSError as error:
            raise self.end(self._ending()) from error

    def _receive(self, silence: float | None) -> tuple[str, Any]:
        try:
            if not self._connection.poll(silence):
                raise self.end(f"has not answered for {silence:.0f} s")
            answer: tuple[str, Any] = self._connection.recv()
        except (EOFError, OSError) as error:  # also in the middle of an answer
            raise self.end(self._ending()) from error
        return answer

    def _ending(self) -> str:
        """How it ended, with the last thing that it said."""
        try:
            how = processes.ending(self._process.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            how = "closed its connection"
        if how == "was killed (SIGKILL)":
            return f"{how}: memory may have run out"
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1].strip()[:200]}" if lines else how


def started(said: IO[bytes]) -> tuple[Connection, Ending]:
    """A new process, with what it says, and our end of the connection to it.

    It imports from where we do, whatever the current folder has.
    """
    ours, theirs = Pipe()
    with theirs:
        descriptor = theirs.fileno()
        process = subprocess.Popen(
            processes.python_command(_START, str(descriptor)),
            pass_fds=(descriptor,),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            process_group=0,  # ctrl-C in a terminal is for us
        )
    return ours, process


def _end(connection: Connection, process: Ending, said: IO[bytes]) -> None:
    connection.close()
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):  # a driver may hold on to it
        process.wait(PATIENCE)
    said.close()


class ModelProcesses:
    """One process at a time that has the model: a new one where the last has died."""

    def __init__(self, loading: Loading, memory: Path) -> None:
        self.memory = memory
        self.loading = loading
        self._process: ModelProcess | None = None

    @property
    def is_loaded(self) -> bool:
        return self._process is not None and self._process.alive

    def process(self, tell: Callable[[str], None]) -> ModelProcess:
        """The one that there is, or a new one that has loaded. Raises Died, EngineUnavailable."""
        if self._process is None or not self._process.alive:
            self._process = None
            process = ModelProcess()
            process.call("load", self.loading, tell=tell)
            self._process = process
        return self._process

    def encoded(self, reference: Reference) -> Encoded:
        """As `Engine.encode_reference`."""
        given = replace(reference, latents=dict(reference.latents))
        for last in (False, True):
            try:
                found: Encoded = self.process(quiet).call("encoded", given)
                break
            except Died as died:
                if last:
                    raise _hopeless(died, 2) from died
        return found


class SessionApart:
    """A session of the model in another process, as `ModelSession` is one in this."""

    def __init__(self, apart: ModelProcesses, tell: Callable[[str], None] = quiet) -> None:
        self._apart, self._tell = apart, tell
        self._flying: dict[tuple[str, int], Request] = {}
        self._suspects: set[tuple[str, int]] = set()
        """Of those in flight, the ones that are spoken alone."""
        self._outcomes: list[Outcome] = []
        self._process: ModelProcess | None = None
        self._number = 0
        self._deaths = 0
        """In a row, with no take in between."""
        self._renewed = 0
        self.slots = 0
        self.busy = 0.0
        self.note = ""
        try:
            self._begin()
        except Died as died:
            self._mend(died)

    def add(self, request: Request) -> None:
        """As `ModelSession.add`."""
        self._flying[request.key, request.attempt] = request
        try:
            self._ask("add", _sent(request), False)
        except Died as died:
            self._mend(died)

    def advance(self) -> list[Outcome]:
        """As `ModelSession.advance`.

        Raises EngineUnavailable where process after process dies, too.
        """
        if not self._outcomes and self._flying:
            try:
                self._outcomes = self._advanced()
            except Died as died:
                self._mend(died)
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def close(self) -> None:
        """Drop what is in flight; the process keeps the model for the next session."""
        self._flying.clear()
        self._suspects.clear()
        self._outcomes.clear()
        process, self._process = self._process, None
        if process is not None and process.alive:
            with contextlib.suppress(Died):
                process.call("close", self._number)

    def _advanced(self) -> list[Outcome]:
        outcomes: list[Outcome] = self._ask("advance")
        if not all(outcome.failure or _is_whole(outcome.speech) for outcome in outcomes):
            assert self._process is not None
            raise self._process.end("gave a take that is not whole")
        for outcome in outcomes:
            self._landed((outcome.key, outcome.attempt))
        if any(outcome.speech for outcome in outcomes):
            self._deaths = 0
        return outcomes

    def _landed(self, key: tuple[str, int]) -> Request:
        self._suspects.discard(key)
        return self._flying.pop(key)

    def _ask(self, name: str, *given: Any) -> Any:
        assert self._process is not None
        found, running = self._process.call(name, self._number, *given, tell=self._tell)
        self.slots, self.busy, self.note = running
        if self._renewed:
            self.note += f", process {self._renewed + 1}"
        return found

    def _begin(self) -> None:
        """A session over there with all that is in flight: the same requests, from their start."""
        if self._deaths >= SHARED:
            self._suspects.update(self._flying)
        self._process = self._apart.process(self._tell)
        self._number = next(_NUMBERS)
        self._ask("start", self._apart.memory, len(self._suspects))
        for key, request in self._flying.items():
            self._ask("add", _sent(request), key in self._suspects)

    def _mend(self, died: Died) -> None:
        """Go on in a new process. Raises EngineUnavailable after too many."""
        begun = True
        while True:
            self._deaths += 1
            self._renewed += 1
            if self._deaths >= MOST_DEATHS:
                raise _hopeless(died, self._deaths) from died
            first = next(iter(self._flying), None)
            if begun and first in self._suspects:
                name = self._apart.loading.name
                self._outcomes.append(failed(name, self._landed(first), f"its process {died}"))
            self._tell(f"the model's process {died}; a new one goes on")
            try:
                self._begin()
            except Died as again:
                died, begun = again, False
            else:
                return


def _hopeless(died: Died, times: int) -> EngineUnavailable:
    return EngineUnavailable(
        f"the model's process {died}; so did {times} in a row: `narrator doctor` looks at this "
        "machine"
    )


def _sent(request: Request) -> Request:
    """A request as it can go to another process, with what this engine asks of it."""
    prompt, reference = request.prompt, request.reference
    return replace(
        request,
        voice=replace(request.voice, own=dict(request.voice.own)),
        parameters=dict(request.parameters),
        pronunciations=dict(request.pronunciations),
        prompt=prompt and replace(prompt, samples=unheard),
        reference=reference and replace(reference, latents=dict(reference.latents)),
    )


def _is_whole(speech: Speech | None) -> bool:
    """Whether samples and state are as many as each other, and what they should be."""
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
