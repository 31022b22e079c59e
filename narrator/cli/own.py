"""The process that a studio has jobs done by: no command for people."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from narrator.cli.progress import JsonProgress
from narrator.cli.shared import Book, app, err, keep_awake, out
from narrator.errors import EngineUnavailable, NarratorError

if TYPE_CHECKING:
    from narrator.pipeline.jobs.server import JobServer


@app.command(hidden=True)
def own(book: Book = Path("book.yaml")) -> None:
    """Do the jobs that are asked for, one after another, until standard input ends."""
    from narrator.pipeline.jobs import execution, sockets
    from narrator.pipeline.jobs.server import JobServer
    from narrator.project.place import manifest_at

    root = manifest_at(book).parent
    if connection := sockets.connect_to_owner(root / "build"):
        connection.close()
        return  # another process owns the project, and does the jobs
    server, caches = JobServer(root / "build"), execution.JobCaches()
    try:
        _end_with_standard_input(server)
        out.print("listening")
        for handle in server.waiting():
            try:
                with keep_awake():
                    execution.do_job(server, handle, root, caches, JsonProgress(err))
            except EngineUnavailable:
                caches.forget_engines()
            except NarratorError:
                pass  # the client has the error
            except Exception as error:
                err.print(f"internal error: {type(error).__name__}: {error}")
    finally:
        server.close()


def _end_with_standard_input(server: JobServer) -> None:
    """Ends the server when standard input ends, since the studio has closed it or died."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        server.end()

    threading.Thread(target=wait, name="studio", daemon=True).start()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, frame: server.end())
