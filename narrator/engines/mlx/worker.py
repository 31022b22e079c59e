"""The process that the model runs in, where it has one of its own: started by `apart.py`.

A message is a name and what belongs to it. Messages are answered in order, each by any number of
lines to tell, and then by what came of it or by the error that did. What nothing can be computed
after ends the process with a line, and so does the end of the connection: nobody is left to answer.
Knows no other process than the one that asks.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from narrator.engines import Outcome, Request
from narrator.engines.mlx.loaded import Corrupt, Encoded, LoadedModel, Loading
from narrator.engines.mlx.session import ModelSession
from narrator.engines.voice import Reference
from narrator.errors import NarratorError

Running = tuple[int, float, str]
"""`slots`, `busy` and `note` of a session."""
Message = tuple[str, tuple[Any, ...]]


class Answering:
    """What can be asked: the model, once it is loaded, and its sessions by their numbers."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._loaded: LoadedModel | None = None
        self._sessions: dict[int, ModelSession] = {}

    def load(self, what: Loading) -> None:
        self._loaded = what.load(self._tell)

    def encoded(self, reference: Reference) -> Encoded:
        return self._model.encoded(reference)

    def start(self, number: int, memory: Path, ran: int) -> tuple[None, Running]:
        """A session; fewer slots where a process died while `ran` requests were in flight."""
        session = ModelSession(self._model, memory, self._tell)
        session.lower(ran, "its process died")
        self._sessions[number] = session
        return None, running(session)

    def add(self, number: int, request: Request, suspect: bool) -> tuple[None, Running]:
        session = self._sessions[number]
        session.add(request, suspect=suspect)
        return None, running(session)

    def advance(self, number: int) -> tuple[list[Outcome], Running]:
        session = self._sessions[number]
        return session.advance(), running(session)

    def close(self, number: int) -> tuple[None, Running]:
        session = self._sessions.pop(number)
        session.close()
        return None, running(session)

    @property
    def _model(self) -> LoadedModel:
        assert self._loaded is not None
        return self._loaded


def running(session: ModelSession) -> Running:
    return session.slots, session.busy, session.note


def serve(connection: Connection, receive: Callable[[], Message], answering: object) -> None:
    """Answer what is received, until this process can do no more: raises Corrupt."""
    while True:
        name, given = receive()
        answer: tuple[str, Any]
        try:
            answer = "done", getattr(answering, name)(*given)
        except Corrupt:
            raise
        except NarratorError as error:
            answer = "failed", error
        connection.send(answer)


def main(descriptor: int) -> None:
    """Serve whoever holds the other end of a connection."""
    os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the process that started this one
    connection = Connection(descriptor)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def listen() -> None:
        # Beside the work, which may take minutes, and of which nothing is wanted any more then.
        try:
            while True:
                inbox.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)
        finally:  # what cannot be read: who asks must not wait for ever
            _leave()

    threading.Thread(target=listen, name="asked", daemon=True).start()
    try:
        serve(connection, inbox.get, Answering(lambda what: connection.send(("tell", what))))
    except OSError:
        os._exit(0)  # nobody is there
    finally:
        _leave()


def _leave() -> NoReturn:
    """End at once, with what went wrong: what MLX does at an ordinary end may never come to one."""
    error = sys.exception()
    if isinstance(error, Corrupt):
        error = error.__cause__ or error
    sys.stderr.writelines(traceback.format_exception(error))
    sys.stderr.flush()
    os._exit(1)
