"""Routes of the queue: jobs that wait are moved, all are paused and resumed, those of an earlier
studio are done or forgotten.

Jobs are submitted and stopped by the routes of `edit_routes`.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.studio.jobs import Jobs
from narrator.web import bodies


class QueueRoutes:
    """Routes that order, pause and resume jobs."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    def routes(self) -> list[Route]:
        return [
            Route("/api/queue/move", self.move, methods=["POST"]),
            Route("/api/queue/pause", self.pause, methods=["POST"]),
            Route("/api/queue/earlier", self.settle_earlier, methods=["POST"]),
        ]

    async def move(self, request: Request) -> Response:
        """Moves a waiting job before another one; without one, to the end."""
        body = await bodies.read_json(request)
        id = bodies.text_field(body, "id", 32)
        before = bodies.optional_text_field(body, "before", 32) or ""
        await run_in_threadpool(self.jobs.move, id, before)
        return JSONResponse({})

    async def pause(self, request: Request) -> Response:
        """Pauses or resumes renders and exports."""
        is_paused = bodies.boolean_field(await bodies.read_json(request), "paused")
        await run_in_threadpool(self.jobs.pause, is_paused)
        return JSONResponse({})

    async def settle_earlier(self, request: Request) -> Response:
        """Submits what an earlier studio did not finish, or forgets it."""
        is_resumed = bodies.boolean_field(await bodies.read_json(request), "resumed")
        await run_in_threadpool(self.jobs.settle_earlier, is_resumed)
        return JSONResponse({})
