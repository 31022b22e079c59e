"""Routes for what was heard: misreadings, the sound of their words, and names that are learnt.

When the words that are right as they are heard change in book.yaml, on the page or by hand, the
takes that have them are judged again.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.errors import DamagedTake, NarratorError
from narrator.pipeline import misreadings
from narrator.pipeline.jobs.protocol import Job
from narrator.pipeline.misreadings import Misreading
from narrator.sound import audio
from narrator.speech.hearing import choosing
from narrator.studio import ranges, sounds
from narrator.studio.jobs import Jobs
from narrator.studio.session import NotFound, ProjectSession, ProjectSnapshot
from narrator.text.words import words

_MAX_ROWS = 500
"""Most misreadings in one answer, the surest."""
_MAX_NAME_WORDS = 3
"""Most words of a passage that can be learnt as a name."""
_CONTEXT_LETTERS = 60
"""Letters shown before and after the words."""
_MARGIN_S = 0.15
"""Seconds of sound before and after the words."""


class HearingRoutes:
    """Routes that list what was heard."""

    def __init__(self, session: ProjectSession, jobs: Jobs) -> None:
        self.session, self.jobs = session, jobs
        self._heard_as = _heard_as(session.view)

    def routes(self) -> list[Route]:
        return [
            Route("/api/heard", self.heard),
            Route("/sound/spans/{key}/{start}/{stop}", self.span_sound),
        ]

    async def heard(self, request: Request) -> Response:
        """Lists the misreadings of the book, the surest first, and counts the takes of the book and
        of each chapter that were listened to."""

        def list_heard() -> dict[str, Any]:
            view = self.session.view
            view.book.store.refresh()
            all_misreadings = misreadings.misreadings(view.book)
            heard_count, take_count = misreadings.count_heard(view.book, view.book.steps)
            counts = {
                number + 1: misreadings.count_heard(view.book, steps)
                for number, steps in view.chapters.items()
            }
            return {
                "rows": [_misreading_row(row) for row in all_misreadings[:_MAX_ROWS]],
                "count": len(all_misreadings),
                "heard": heard_count,
                "takes": take_count,
                "chapters": {
                    number: {"heard": heard, "takes": takes}
                    for number, (heard, takes) in counts.items()
                },
                "why_not": _missing_recogniser(view),
            }

        return JSONResponse(await run_in_threadpool(list_heard))

    async def span_sound(self, request: Request) -> Response:
        """Serves a part of a take, from `start` to `stop` in milliseconds, with a little around."""
        key, *bounds = (request.path_params[name] for name in ("key", "start", "stop"))

        def read_sound() -> sounds.PlainBytes:
            if not re.fullmatch("[0-9a-f]{40}", key) or not all(
                re.fullmatch("[0-9]{1,7}", bound) for bound in bounds
            ):
                raise NotFound("there is no such sound")
            try:
                samples, rate = self.session.view.book.store.read(key)
            except DamagedTake as error:
                raise NotFound(str(error)) from None
            start, stop = (int(bound) / 1000 for bound in bounds)
            first = max(0, round((start - _MARGIN_S) * rate))
            part = samples[first : max(first, round((stop + _MARGIN_S) * rate))]
            return sounds.PlainBytes(sounds.wav(audio.fade(part, rate), rate), "-".join(bounds))

        return ranges.answer(request, await run_in_threadpool(read_sound))

    def follow_names(self) -> None:
        """Has takes judged again whose words are right as heard since a moment, or no longer."""
        view, before = self.session.view, self._heard_as
        self._heard_as = _heard_as(view)
        changed_words = [
            word.casefold()
            for word in {*before, *self._heard_as}
            if before.get(word) != self._heard_as.get(word)
        ]
        chunks = tuple(
            step.id
            for step in (misreadings.unique_steps(view.book.steps) if changed_words else ())
            if any(word in step.text.casefold() for word in changed_words)
        )
        if chunks:
            threading.Thread(target=self._judge_again, args=(view, chunks), daemon=True).start()

    def _judge_again(self, view: ProjectSnapshot, chunks: Sequence[str]) -> None:
        """Submits the job, for which a process may have to start."""
        with contextlib.suppress(NarratorError):  # the next `hear` judges all takes again
            self.jobs.submit(Job(kind="judge", engine=self.session.engine, chunks=tuple(chunks)))


def _heard_as(view: ProjectSnapshot) -> Mapping[str, Sequence[str]]:
    return view.project.manifest.checks.heard_as


def _missing_recogniser(view: ProjectSnapshot) -> str:
    """Returns why nothing can be listened to here; "" if it can."""
    try:
        choosing.make_listener(view.project.manifest.checks, view.project.root)
    except NarratorError as error:
        return str(error)
    return ""


def _misreading_row(misreading: Misreading) -> dict[str, Any]:
    step, text = misreading.step, misreading.step.text
    first, last = misreading.first, misreading.last
    passage = text[first:last]
    word_counts = [len(words(part, step.language)) for part in (passage, misreading.heard)]
    return {
        "chunk": step.id,
        "speaker": step.chunk.speaker,
        "kind": misreading.kind,
        "before": text[max(0, first - _CONTEXT_LETTERS) : first],
        "text": passage,
        "after": text[last : last + _CONTEXT_LETTERS],
        "is_cut": [first > _CONTEXT_LETTERS, last + _CONTEXT_LETTERS < len(text)],
        "heard": misreading.heard,
        "odds": round(misreading.odds, 2),
        "name": misreading.kind == "other"
        and 0 < min(word_counts) <= max(word_counts) <= _MAX_NAME_WORDS,
        "url": f"/sound/spans/{step.key}/{_ms(misreading.start)}/{_ms(misreading.stop)}",
    }


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))
