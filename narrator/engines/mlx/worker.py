"""The separate process of a model, started by `worker_process.py`.

A message is the name of a method and its arguments. Messages are answered in order, each with any
number of progress messages and then a result or an error. The process ends after an error that MLX
cannot recover from, with a line of output, and when the connection ends. Knows no process other
than its parent.
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
from narrator.engines.mlx.loaded_model import CorruptProcess, Encoded, LoadedModel, Loading
from narrator.engines.mlx.session import ModelSession
from narrator.engines.voice import Reference
from narrator.errors import NarratorError

SessionFigures = tuple[int, float, str]
"""`slots`, `busy` and `note` of a session."""
Message = tuple[str, tuple[Any, ...]]


class MessageHandler:
    """The methods that messages call: the model, once it is loaded, and its sessions by number."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._loaded: LoadedModel | None = None
        self._sessions: dict[int, ModelSession] = {}

    def load(self, loading: Loading) -> None:
        self._loaded = loading.load(self._tell)

    def encoded(self, reference: Reference) -> Encoded:
        return self._model.encoded(reference)

    def start(self, number: int, memory: Path, lost_count: int) -> tuple[None, SessionFigures]:
        """Starts a session, with fewer slots if a process died with so many requests in flight."""
        session = ModelSession(self._model, memory, self._tell)
        session.lower(lost_count, reason="its process died")
        self._sessions[number] = session
        return None, session_figures(session)

    def add(self, number: int, request: Request, is_suspect: bool) -> tuple[None, SessionFigures]:
        session = self._sessions[number]
        session.add(request, is_suspect=is_suspect)
        return None, session_figures(session)

    def advance(self, number: int) -> tuple[list[Outcome], SessionFigures]:
        session = self._sessions[number]
        return session.advance(), session_figures(session)

    def close(self, number: int) -> tuple[None, SessionFigures]:
        session = self._sessions.pop(number)
        session.close()
        return None, session_figures(session)

    @property
    def _model(self) -> LoadedModel:
        assert self._loaded is not None
        return self._loaded


def session_figures(session: ModelSession) -> SessionFigures:
    return session.slots, session.busy, session.note


def serve(connection: Connection, receive: Callable[[], Message], handler: object) -> None:
    """Answers messages until MLX cannot go on in this process: raises CorruptProcess."""
    while True:
        name, arguments = receive()
        answer: tuple[str, Any]
        try:
            answer = "done", getattr(handler, name)(*arguments)
        except CorruptProcess:
            raise
        except NarratorError as error:
            answer = "failed", error
        connection.send(answer)


def main(descriptor: int) -> None:
    """Serves the process at the other end of a connection."""
    os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C is for the process that started this one
    connection = Connection(descriptor)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def listen() -> None:
        # On its own thread, to exit at once when the parent ends, even during minutes of work.
        try:
            while True:
                inbox.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)
        finally:  # a message that cannot be read: the parent must not wait for ever
            _exit()

    threading.Thread(target=listen, name="inbox", daemon=True).start()
    try:
        serve(
            connection,
            inbox.get,
            MessageHandler(lambda message: connection.send(("tell", message))),
        )
    except OSError:
        os._exit(0)  # the parent has ended
    finally:
        _exit()


def _exit() -> NoReturn:
    """Prints the error in flight and exits at once, since MLX may hang in an ordinary exit."""
    error = sys.exception()
    if isinstance(error, CorruptProcess):
        error = error.__cause__ or error
    sys.stderr.writelines(traceback.format_exception(error))
    sys.stderr.flush()
    os._exit(1)
