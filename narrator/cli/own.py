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
    if address := sockets.connect_to_owner(root / "build"):
        address.close()
        return  # whoever it is does what is asked
    owner, memory = JobServer(root / "build"), execution.JobCaches()
    try:
        _end_with_standard_input(owner)
        out.print("listening")
        for handle in owner.waiting():
            try:
                with keep_awake():
                    execution.do_job(owner, handle, root, memory, JsonProgress(err))
            except EngineUnavailable:
                memory.forget_engines()
            except NarratorError:
                pass  # they were told
            except Exception as error:
                err.print(f"internal error: {type(error).__name__}: {error}")
    finally:
        owner.close()


def _end_with_standard_input(owner: JobServer) -> None:
    """Ends the server when standard input ends: the starter closed it, or died."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        owner.end()

    threading.Thread(target=wait, name="studio", daemon=True).start()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, frame: owner.end())
