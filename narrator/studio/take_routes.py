"""Routes for comparing the takes of a chunk: those of other engines, and when each word is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.delivery import layout
from narrator.errors import NarratorError
from narrator.pipeline import retakes
from narrator.pipeline.book_plan import BookPlan
from narrator.sound.assemble import Timeline, TimelineItem, place_words
from narrator.speech.plan import Step
from narrator.studio import quick_speech, rows
from narrator.studio.session import ProjectSession, ProjectSnapshot
from narrator.text.words import words

_MAX_CUES = 100
"""Most chunks whose words are in one answer: a chapter may have thousands."""


class TakeRoutes:
    """Routes that show other takes of a chunk, and the times of words."""

    def __init__(self, session: ProjectSession) -> None:
        self.session = session
        self._other_plans: tuple[BookPlan | None, dict[str, BookPlan | str]] = (None, {})
        """The plan that is shown; and beside it those of other engines by their names, or why there
        is none."""

    def routes(self) -> list[Route]:
        return [
            Route("/api/chunks/{id}/others", self.other_takes),
            Route("/api/words/{number}", self.word_times),
        ]

    async def other_takes(self, request: Request) -> Response:
        """Lists the takes of a chunk by the engines that do not speak it now."""

        def list_takes() -> dict[str, Any]:
            view = self.session.view
            view.book.store.refresh()
            step = view.step(request.path_params["id"])
            book_engine = view.project.spoken_by(self.session.model_engine).engine.name
            voices = []
            for name in dict.fromkeys((book_engine, "draft", *sorted(view.book.store.engines()))):
                if name != step.engine:
                    engine = self.session.model_engine if name == book_engine else name
                    plan = self._other_plan(view, engine)
                    voices.append(_other_row(engine, plan, step.id, step.chunk.text))
            # a speaker's own engine is also the one in the book's own plan
            voices = [voice for voice in voices if voice["engine"] != step.engine]
            here = quick_speech.engines_here(view.project.manifest.language)
            names = {step.engine, *(voice["engine"] or book_engine for voice in voices)}
            # without takes there is nothing to plan for
            more = [name for name in here if name not in names]
            voices += [{"engine": name, "tries": [], "trouble": ""} for name in more]
            for voice in voices:
                can_speak = not voice["tries"] and not voice["trouble"]
                voice["can_speak"] = can_speak and (voice["engine"] or book_engine) in here
            return {"id": step.id, "voices": voices}

        return JSONResponse(await self.session.run("looking for other takes", list_takes))

    def _other_plan(self, view: ProjectSnapshot, engine: str) -> BookPlan | str:
        """Returns the plan of another engine for what is shown, or why there is none; "" is the
        book's own engine.

        Runs in the main thread: it plans the text.
        """
        if self._other_plans[0] is not view.book:
            self._other_plans = view.book, {}
        plans = self._other_plans[1]
        if engine not in plans:
            try:
                plans[engine] = retakes.plan_of_engine(view.book, engine)
            except NarratorError as error:
                plans[engine] = str(error)
        return plans[engine]

    async def word_times(self, request: Request) -> Response:
        """Lists when each word of some chunks is said, from the chunk `from` on.

        `v` is the tag of the chapter's sound.
        """

        def list_words() -> dict[str, Any]:
            view = self.session.view
            number = view.number(request.path_params["number"])
            sound = self.session.current_sound(number, request.query_params.get("v"))
            first_chunk = request.query_params.get("from", "")
            steps = {step.id: step for step in view.chapters[number]}
            timeline = _time_words(view, steps, _part_of(sound.timeline, first_chunk))
            return {
                "words": {
                    cue.chunk: list(_word_rows(timeline, cue, steps[cue.chunk].language))
                    for cue in timeline.heard
                    if cue.chunk in steps
                }
            }

        return JSONResponse(await run_in_threadpool(list_words))


def _other_row(engine: str, plan: BookPlan | str, id: str, text: str) -> dict[str, Any]:
    """Returns the takes of a chunk in the plan of another engine."""
    if isinstance(plan, str):
        return {"engine": engine, "tries": [], "trouble": plan}
    step = next((s for s in plan.steps if s.id == id and s.chunk.text == text), None)
    name = step.engine if step else engine
    return {"engine": name, "tries": rows.tries(plan, step) if step else [], "trouble": ""}


def _part_of(timeline: Timeline, first_chunk: str) -> Timeline:
    """Returns the part of a timeline from a chunk on, or from its start without that chunk."""
    numbers = [n for n, cue in enumerate(timeline.cues) if cue.chunk == first_chunk]
    part = slice(numbers[0] if numbers else 0, (numbers[0] if numbers else 0) + _MAX_CUES)
    return replace(timeline, cues=timeline.cues[part], takes=timeline.takes[part])


def _time_words(view: ProjectSnapshot, steps: Mapping[str, Step], timeline: Timeline) -> Timeline:
    """Returns a timeline with the times of words; that of a mastered chapter has them already."""
    cues = []
    for cue, clip in zip(timeline.cues, timeline.takes, strict=False):
        step, take = steps.get(cue.chunk), view.book.takes.take(cue.key)
        if step and take:
            clip = replace(clip, times=layout.written_word_times(view.book.takes, step, take))
            cue = replace(cue, words=place_words(clip, cue.start, timeline.sample_rate))
        cues.append(cue)
    return replace(timeline, cues=tuple(cues)) if cues else timeline


def _word_rows(timeline: Timeline, cue: TimelineItem, language: str) -> Iterator[list[float]]:
    """Yields first and last letter, start and stop in seconds of each word of a chunk.

    Words that were not timed are spread over the chunk by their letters.
    """
    rate = timeline.sample_rate
    if cue.words:
        for first, last, start, stop in cue.words:
            yield [first, last, round(start / rate, 3), round(stop / rate, 3)]
        return
    spans = words(cue.text, language)
    seconds_per_letter = (cue.stop - cue.start) / rate / max(1, len(cue.text))
    for (first, last), (next_first, _) in pairwise([*spans, (len(cue.text), 0)]):
        cue_seconds = cue.start / rate
        yield [first, last, round(cue_seconds + first * seconds_per_letter, 3),
               round(cue_seconds + next_first * seconds_per_letter, 3)]  # fmt: skip
