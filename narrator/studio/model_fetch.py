"""Fetches Kokoro's model with `narrator models pull`, in a process of its own that can be stopped.

Only the start page's server has it, whose paths guests do not reach. Knows nothing of books.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.engines import models
from narrator.engines.kokoro.checkpoint import FAMILY
from narrator.errors import EnvironmentFailed
from narrator.web import bodies

ENGINE = FAMILY.engine
"""The engine whose model can be fetched on the page."""
_STOP_TIMEOUT_S = 5.0


class ModelFetch:
    """The download of a model: not begun, running, complete, stopped or failed."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._state, self._error = "idle", ""

    def routes(self) -> list[Route]:
        path = f"/api/models/{ENGINE}"
        return [
            Route(path, self.show),
            Route(path, self.start, methods=["POST"]),
            Route(path, self.stop, methods=["DELETE"]),
        ]

    def close(self) -> None:
        """Stops a running download; what was fetched stays."""
        with self._mutex:
            process, self._process = self._process, None
            if process is None:
                return
            self._state = "idle"
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()

    async def show(self, request: Request) -> Response:
        """Answers with the state of the download, and its bytes."""
        return JSONResponse(await run_in_threadpool(self._row))

    async def start(self, request: Request) -> Response:
        """Starts the download, or goes on with one that was stopped."""
        await bodies.read_json(request)
        await run_in_threadpool(self._start)
        return JSONResponse(await run_in_threadpool(self._row))

    async def stop(self, request: Request) -> Response:
        await run_in_threadpool(self.close)
        return JSONResponse(await run_in_threadpool(self._row))

    def _row(self) -> dict[str, Any]:
        with self._mutex:
            state, error = self._state, self._error
        bytes_done = min(models.fetched_bytes(FAMILY), FAMILY.download)
        return {"state": state, "error": error, "done": bytes_done, "total": FAMILY.download}

    def _start(self) -> None:
        with self._mutex:
            if self._process is not None:
                return
            try:
                process = subprocess.Popen(
                    [sys.executable, "-m", "narrator", *FAMILY.pull.split()[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            except OSError as error:
                raise EnvironmentFailed(f"the download does not start: {error}") from None
            self._process, self._state, self._error = process, "running", ""
        threading.Thread(target=self._wait, args=[process], name="model fetch", daemon=True).start()

    def _wait(self, process: subprocess.Popen[str]) -> None:
        """Waits for the end of the download, and keeps its error."""
        _, output = process.communicate()
        with self._mutex:
            if self._process is not process:
                return  # it was stopped
            self._process = None
            _, mark, error = output.rpartition("error: ")
            self._error = (error if mark else output).strip() if process.returncode else ""
            self._state = "failed" if process.returncode else "complete"
