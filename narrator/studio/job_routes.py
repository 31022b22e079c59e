"""Routes of jobs: they are submitted, stopped, moved in the queue, paused and resumed; those of an
earlier studio are done or forgotten.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.decoding import decode_value
from narrator.errors import UsageError
from narrator.pipeline.jobs.protocol import Job
from narrator.studio import quick_speech
from narrator.studio.jobs import Jobs
from narrator.studio.session import ProjectSession
from narrator.web import bodies


class JobRoutes:
    """Routes that submit, stop, order and pause jobs."""

    def __init__(self, session: ProjectSession, jobs: Jobs) -> None:
        self.session, self.jobs = session, jobs

    def routes(self) -> list[Route]:
        return [
            Route("/api/jobs", self.submit, methods=["POST"]),
            Route("/api/jobs/stop", self.stop, methods=["POST"]),
            Route("/api/queue/move", self.move, methods=["POST"]),
            Route("/api/queue/pause", self.pause, methods=["POST"]),
            Route("/api/queue/earlier", self.settle_earlier, methods=["POST"]),
        ]

    async def submit(self, request: Request) -> Response:
        """Submits a job to the project's owner."""
        body = await bodies.read_json(request)
        if "cluster" in body:
            # guests may edit the book, not say which machines run it, or where certificates lie
            raise UsageError("a page names no cluster: that is set in settings.yaml")
        try:
            fields = {"draft": self.session.view.draft, **body, "book": ""}
            is_draft = bodies.boolean_field(fields, "draft")
            other_engine = bodies.optional_text_field(fields, "by", 100)
            del fields["draft"]
            fields.pop("by", None)
            fields["engine"] = "draft" if is_draft else self.session.model_engine
            if other_engine:
                fields["engine"] = self._engine_here(other_engine)
            job = decode_value(Job, fields)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return JSONResponse({"job": dict(await run_in_threadpool(self.jobs.submit, job))})

    def _engine_here(self, name: str) -> str:
        """Returns the engine that a take is asked of. Raises UsageError if it cannot speak."""
        if name not in quick_speech.engines_here(self.session.view.project.manifest.language):
            raise UsageError(
                f"{name} is not on this machine, or does not speak the book's language"
            )
        return name

    async def stop(self, request: Request) -> Response:
        """Stops the job with the `id`, or all jobs."""
        id = bodies.optional_text_field(await bodies.read_json(request), "id", 32)
        await run_in_threadpool(self.jobs.stop, id or "")
        return JSONResponse({})

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
