"""Routes of the cast: speakers, presets, clips, samples of voices.

Quick samples are not stored. Samples of the book's own engine are jobs, whose sound is served once
it exists.
"""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.cast import clips, presets
from narrator.errors import UsageError
from narrator.pipeline import attribution, auditioning, edits
from narrator.pipeline.edits.voices import AddedClip
from narrator.studio import rows, sounds
from narrator.studio.chunk_states import RENDERED
from narrator.studio.quick_speech import QuickVoice
from narrator.studio.session import NotFound, ProjectSession, ProjectSnapshot
from narrator.text.normalize import Lexicon, normalize
from narrator.web import bodies

_MAX_SAMPLES = 3
_SAMPLE_SECONDS = (3.0, 9.0)
"""Shortest and longest lines that are proposed as samples of a voice."""


class CastRoutes:
    """Routes of the cast."""

    def __init__(self, session: ProjectSession, quick_voice: QuickVoice) -> None:
        self.session, self._quick_voice = session, quick_voice
        self._clip_lock = threading.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/api/cast", self.cast),
            Route("/api/audition", self.audition, methods=["POST"]),
            Route("/api/clips/{name}", self.clip, methods=["PUT"]),
            Route("/sound/voices/{name}", self.preset),
            Route("/sound/auditions/{name}", self.job_sample),
        ]

    # -- who there is ------------------------------------------------------------------------------

    async def cast(self, request: Request) -> Response:
        def cast_row() -> dict[str, Any]:
            view = self.session.view
            rendered = self._count_rendered(view)
            states = partial(self.session.chunk_states, view=view)
            return {
                "speakers": [
                    {
                        **line,
                        **_speaker_row(view, str(line["name"])),
                        "rendered": rendered[str(line["name"])],
                    }
                    for line in rows.speakers(view, states)
                ],
                "presets": [_preset_row(preset) for preset in presets.list_all(view.project.root)],
                "suspicions": [
                    asdict(suspicion)
                    for suspicion in attribution.suspicions(
                        view.project, attribution.characters(view.project)
                    )
                ],
            }

        return JSONResponse(await run_in_threadpool(cast_row))

    def _count_rendered(self, view: ProjectSnapshot) -> Counter[str]:
        """Returns the number of rendered chunks by speaker: another voice makes them outdated."""
        rendered: Counter[str] = Counter()
        for number, steps in view.chapters.items():
            states = self.session.chunk_states(number, view)
            rendered.update(
                step.chunk.speaker for step in steps if states[step.id].state in RENDERED
            )
        return rendered

    async def preset(self, request: Request) -> Response:
        """Serves the recording of a preset."""

        def read_recording() -> bytes:
            try:
                path = presets.find(request.path_params["name"], self.session.view.project.root)
            except UsageError as error:
                raise NotFound(str(error)) from None
            return sounds.wav(presets.read(path).samples, clips.RATE_HZ)

        return Response(await run_in_threadpool(read_recording), media_type="audio/wav")

    # -- heard at once -----------------------------------------------------------------------------

    async def audition(self, request: Request) -> Response:
        """Speaks a line of the book with a speaker's quick voice."""
        body = await bodies.read_json(request)
        name, text = bodies.text_field(body, "speaker", 1000), bodies.text_field(body, "text", 2000)

        def make_sound() -> bytes:
            view = self.session.view
            if name not in view.book.cast:
                raise NotFound("there is no such speaker any more")
            voice = view.book.cast[name]
            language = voice.language or view.project.manifest.language
            spoken = normalize(text, language=language, speaker=name, lexicon=Lexicon())
            return self._quick_voice.sound(voice, spoken, language)

        return Response(await run_in_threadpool(make_sound), media_type="audio/wav")

    async def job_sample(self, request: Request) -> Response:
        """Serves a sample of the book's own engine, by the name in its job's outcome."""

        def read() -> bytes:
            name = request.path_params["name"]
            path = auditioning.folder(self.session.view.project) / f"{name}.wav"
            if not (name.isascii() and name.isalnum() and path.is_file()) or path.is_symlink():
                raise NotFound("this audition is no longer kept")
            return path.read_bytes()

        return Response(await run_in_threadpool(read), media_type="audio/wav")

    # -- clips -------------------------------------------------------------------------------------

    async def clip(self, request: Request) -> Response:
        """Judges an uploaded recording, by its transcript too if it has one, and stores it among
        the project's voices."""
        with tempfile.TemporaryDirectory(prefix="narrator-clip-") as folder:
            path = Path(folder) / "clip"
            await bodies.save_body(request, path, bodies.MAX_CLIP_BYTES)
            name = request.path_params["name"]
            transcript = bodies.optional_text_field(request.query_params, "transcript")
            clip = await run_in_threadpool(self._keep_clip, name, path, transcript)
            return JSONResponse(asdict(clip))

    def _keep_clip(self, name: str, path: Path, transcript: str | None) -> AddedClip:
        """Stores one clip at a time: it may last ten minutes. Raises UserError, StorageError."""
        with self._clip_lock:
            content = path.read_bytes()
            return edits.add_clip(self.session.view.project, name, content, transcript)


def _speaker_row(view: ProjectSnapshot, name: str) -> dict[str, Any]:
    plan, speaker = view.book, view.project.speakers[name]
    player = view.project.voice_of(name)
    speaker_steps = [step for step in plan.steps if step.chunk.speaker == name]
    sample_steps = [
        step for step in speaker_steps if _SAMPLE_SECONDS[0] <= step.expected <= _SAMPLE_SECONDS[1]
    ]
    return {
        "aliases": list(speaker.aliases),
        "pronoun": speaker.pronoun,
        "is_narrator": name == view.project.narrator,
        "shares_voice_of": None if player == name else player,
        "plays": list(speaker.plays),
        "voice": _voice_row(view, name),
        "samples": [
            {"id": step.id, "text": step.chunk.text}
            for step in (sample_steps or speaker_steps)[:_MAX_SAMPLES]
        ],
        "casting": _casting_state(view, name),
    }


def _casting_state(view: ProjectSnapshot, name: str) -> str:
    """Returns "own" for a recording, "cast" for a designed voice, "uncast" for one to come."""
    if view.book.cast[name].reference is not None:
        return "own"
    return "cast" if view.book.voices.contents.get(name) else "uncast"


def _voice_row(view: ProjectSnapshot, name: str) -> dict[str, Any]:
    voice, settings = view.book.cast[name], view.project.speakers[name].voice
    preset = settings if isinstance(settings, str) else None
    kind = "preset" if preset else "clip" if voice.reference else "none"
    if kind == "none" and voice.description:
        kind = "description"
    root, path = view.project.root, voice.reference
    is_inside = path is not None and path.is_relative_to(root)
    if isinstance(settings, str):
        settings = view.project.manifest.voices.get(settings)
    rights = settings.rights if settings else None
    return {
        "kind": kind,
        "text": rows.voice_description(view.book, name),
        "preset": preset,
        "description": voice.description,
        "reference": path.relative_to(root).as_posix() if path and is_inside else None,
        "transcript": voice.transcript,
        "origin": rights.origin if rights else None,
        "consent": rights.consent if rights else None,
    }


def _preset_row(preset_file: presets.PresetFile) -> Mapping[str, Any]:
    preset = preset_file.preset
    return {
        "name": preset_file.path.stem,
        "description": preset.summary if preset else "",
        "trouble": preset_file.trouble,
    }
