"""Routes from a new book to its files: voices that are here, with samples; the cost; downloads.

A choice is an edit of book.yaml, which can be undone. Quick engines speak samples in this process;
those of large models are jobs, whose sound is served once it exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator import keys
from narrator.cast import presets
from narrator.delivery import products
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSpec
from narrator.engines.voice import Voice
from narrator.errors import UsageError
from narrator.installation import install_command
from narrator.pipeline import edits, estimate
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.edits import Edit
from narrator.pipeline.jobs.protocol import AuditionLine, Job
from narrator.pipeline.manuscript import lexicon_of
from narrator.project.other_engine import chosen_engine
from narrator.project.project import Project
from narrator.sound.formats import MEDIA_TYPES
from narrator.studio import model_fetch, quick_speech, ranges
from narrator.studio.import_routes import (
    MAX_AUTHORS,
    MAX_COVER_BYTES,
    MAX_TITLE_LENGTH,
    known_languages,
    read_language,
)
from narrator.studio.jobs import Jobs
from narrator.studio.quick_speech import QuickVoice
from narrator.studio.session import NotFound, ProjectSession, ProjectSnapshot
from narrator.studio.sounds import FileBytes
from narrator.text.normalize import normalize
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences
from narrator.web import bodies
from textbase.languages import primary

_SAMPLE_SECONDS = 8.0
"""Seconds of the book's beginning after which a sample ends, with its sentence."""
_MAX_SAMPLE_CHARACTERS = 600
_TAG_LENGTH = 16
_SAMPLE_SPEAKER = "sample"


class VoiceRoutes:
    """Routes that choose a voice for a book, say what a render costs, and serve its files."""

    def __init__(self, session: ProjectSession, jobs: Jobs, quick_voice: QuickVoice) -> None:
        self.session, self.jobs, self._quick_voice = session, jobs, quick_voice
        self._outdated: tuple[BookPlan | None, tuple[str, ...], set[Path]] = (None, (), set())
        """The plan and the tags of finished files, and those of them that are older than it."""

    def routes(self) -> list[Route]:
        return [
            Route("/api/voices", self.voices),
            Route("/api/voices", self.choose, methods=["POST"]),
            Route("/api/voices/sample", self.sample, methods=["POST"]),
            Route("/api/facts", self.facts),
            Route("/api/facts", self.set_facts, methods=["POST"]),
            Route("/api/cover", self.set_cover, methods=["PUT"]),
            Route("/api/cover", self.remove_cover, methods=["DELETE"]),
            Route("/api/estimate", self.estimate),
            Route("/api/downloads", self.downloads),
            Route("/downloads/{tag}", self.download),
        ]

    # -- voices ------------------------------------------------------------------------------------

    async def voices(self, request: Request) -> Response:
        """Lists the voices for the book's language, and engines that are not here."""

        def make_row() -> dict[str, Any]:
            view = self.session.view
            language = view.project.manifest.language
            rows: list[dict[str, Any]] = []
            absent = []
            for spec in quick_speech.engines_without_settings():
                if note := quick_speech.why_not_here(spec, language):
                    absent.append(_absent_row(spec, language, note))
                else:
                    rows += _voice_rows(spec, view)
            return {"voices": rows, "absent": absent, "chosen": _chosen(view, rows)}

        return JSONResponse(await run_in_threadpool(make_row))

    async def choose(self, request: Request) -> Response:
        """Lets an engine and a voice speak the book."""
        engine, voice = _engine_and_voice(await bodies.read_json(request))

        def apply() -> None:
            if other_engine := chosen_engine():
                raise UsageError(
                    f"the studio was started with --engine {other_engine}: start it without"
                )
            project = self.session.view.project
            if note := quick_speech.why_not_here(ENGINES[engine], project.manifest.language):
                raise UsageError(note)
            edits.apply(project, edits.narration_edit(project, engine, voice))
            self.session.engine = self.session.model_engine = ""
            self.session.reread()

        await self.session.run("changing the project's files", apply)
        return JSONResponse({"version": self.session.view.version})

    async def sample(self, request: Request) -> Response:
        """Speaks the book's beginning in a voice: answers with the sound, or with a job."""
        engine, voice = _engine_and_voice(await bodies.read_json(request))

        def make_sound() -> Response:
            view = self.session.view
            text = _first_sentences(view)
            if engine not in quick_speech.QUICK_ENGINES:
                line = AuditionLine(
                    view.project.narrator or "", text, {"preset": voice} if voice else {}
                )
                job = Job(kind="audition", engine=engine, line=line)
                return JSONResponse({"job": dict(self.jobs.submit(job))})
            return Response(self._quick_sample(engine, voice, text), media_type="audio/wav")

        return await run_in_threadpool(make_sound)

    def _quick_sample(self, engine: str, name: str, text: str) -> bytes:
        """Returns a WAV file. Raises UserError, EngineUnavailable."""
        project, voices = self.session.view.project, ENGINES[engine].voices
        language = project.manifest.language
        voice = voices[name] if name in voices else Voice(_SAMPLE_SPEAKER)
        lexicon, _ = lexicon_of(project)
        spoken = normalize(text, language=language, speaker=voice.speaker, lexicon=lexicon)
        return self._quick_voice.sound(voice, spoken, language, engine)

    # -- title, author, language, cover ------------------------------------------------------------

    async def facts(self, request: Request) -> Response:
        """Serves what book.yaml says of title, authors, language and cover."""
        project = self.session.view.project
        manifest = project.own_manifest or project.manifest
        return JSONResponse(
            {
                "title": manifest.title,
                "authors": list(manifest.author),
                "language": manifest.language,
                "languages": known_languages(manifest.language),
                "has_cover": manifest.cover is not None,
            }
        )

    async def set_facts(self, request: Request) -> Response:
        """Gives the book another title, other authors or another language."""
        body = await bodies.read_json(request)
        title = bodies.text_field(body, "title", MAX_TITLE_LENGTH)
        authors = bodies.text_list_field(body, "authors", MAX_AUTHORS)
        language = read_language(bodies.text_field(body, "language", 40))
        if language is None:
            raise UsageError("a book needs a language")
        return await self._edit(lambda project: edits.facts_edit(project, title, authors, language))

    async def set_cover(self, request: Request) -> Response:
        """Gives the book another cover."""
        picture = await bodies.read_body(request, MAX_COVER_BYTES)
        return await self._edit(lambda project: edits.cover_edit(project, picture))

    async def remove_cover(self, request: Request) -> Response:
        return await self._edit(lambda project: edits.cover_edit(project, None))

    async def _edit(self, find_edit: Callable[[Project], Edit]) -> Response:
        """Applies an edit of book.yaml, which can be undone."""

        def apply() -> None:
            project = self.session.view.project
            edits.apply(project, find_edit(project))
            self.session.reread()

        await self.session.run("changing the project's files", apply)
        return JSONResponse({"version": self.session.view.version})

    # -- cost, and files ---------------------------------------------------------------------------

    async def estimate(self, request: Request) -> Response:
        """Says what a render of the book takes: time, as far as it is known, and disk."""

        def make_row() -> dict[str, Any]:
            book = self.session.view.book
            costs = estimate.estimate(book)
            rough_seconds = _rough_seconds(book.engine.name, costs.speech_seconds)
            return {
                "speech_seconds": round(costs.speech_seconds),
                "seconds": rough_seconds if costs.wall_seconds is None else costs.wall_seconds,
                "is_measured": costs.wall_seconds is not None,
                "disk_bytes": costs.disk_bytes,
                "file_bytes": costs.file_bytes,
                "free_bytes": costs.free_bytes,
                "sent_characters": costs.sent_characters,
                "price": costs.price,
            }

        return JSONResponse(await run_in_threadpool(make_row))

    async def downloads(self, request: Request) -> Response:
        """Lists the finished sound files."""

        def make_rows() -> list[dict[str, Any]]:
            view = self.session.view
            files = list(_finished_files(view))
            outdated = self._outdated_files(view.book, tuple(file.tag for file in files))
            return [
                {"name": file.path.name, "address": f"/downloads/{file.tag}", "bytes": file.size,
                 "type": file.media_type, "is_current": file.path not in outdated}
                for file in files
            ]  # fmt: skip

        return JSONResponse({"files": await run_in_threadpool(make_rows)})

    def _outdated_files(self, book: BookPlan, tags: tuple[str, ...]) -> set[Path]:
        """Returns the finished files that are older than the book, found once for each plan."""
        last_book, last_tags, paths = self._outdated
        if last_book is not book or last_tags != tags:
            paths = set(products.list_outdated_files(book))
            self._outdated = book, tags, paths
        return paths

    async def download(self, request: Request) -> Response:
        """Serves a finished file, by the tag of its listing."""

        def find() -> FileBytes:
            for file in _finished_files(self.session.view):
                if file.tag == request.path_params["tag"]:
                    return file
            raise NotFound("this file is not there any more, or has been made again")

        file = await run_in_threadpool(find)
        answer = ranges.answer(request, file)
        answer.headers["content-disposition"] = (
            f"attachment; filename*=UTF-8''{quote(file.path.name, safe='')}"
        )
        return answer


def _engine_and_voice(body: Any) -> tuple[str, str]:
    """Returns the fields of a request. Raises UsageError for an engine that nobody can choose."""
    engine, voice = bodies.text_field(body, "engine", 100), bodies.text_field(body, "voice", 200)
    if engine not in {spec.name for spec in quick_speech.engines_without_settings()}:
        raise UsageError("there is no such engine here")
    return engine, voice


def _absent_row(spec: EngineSpec, language: str, note: str) -> dict[str, Any]:
    """Returns the row of an engine that is not here. If the page can fetch its model, the row has
    the model's bytes, or the command that installs missing packages first."""
    row: dict[str, Any] = {"engine": spec.name, "title": spec.title, "note": note}
    if spec.name != model_fetch.ENGINE or quick_speech.cannot_speak(spec, language):
        return row
    if spec.missing_packages(quick_speech.settings_here(spec)):
        return row | {"install": install_command(spec.name)}
    assert spec.model is not None
    return row | {"bytes": spec.model.family.download}


def _voice_rows(spec: EngineSpec, view: ProjectSnapshot) -> list[dict[str, Any]]:
    """Returns the voices of an engine that suit the book, the best first."""
    language = view.project.manifest.language
    shared = {"engine": spec.name, "title": spec.title, "pace": _rough_seconds(spec.name, 1.0)}
    rows = [
        {**shared, "voice": name, "language": voice.language, "pronoun": voice.pronoun,
         "description": ""}
        for name, voice in spec.voices.items()
        if voice.language and primary(voice.language) == primary(language)
    ]  # fmt: skip
    # the region of the book's language first: a British voice for a British book
    rows.sort(key=lambda row: str(row["language"]).casefold() != language.casefold())
    if spec.name == "draft" or (spec.can_design_voices and not spec.voices):
        rows.append({**shared, "voice": "", "language": language, "pronoun": None,
                     "description": ""})  # fmt: skip
    if spec.name not in quick_speech.QUICK_ENGINES:
        rows += [
            {**shared, "voice": file.path.stem, "language": file.preset.language,
             "pronoun": None, "description": file.preset.summary}
            for file in presets.list_all(view.project.root)
            if file.preset is not None
        ]  # fmt: skip
    return rows


def _chosen(view: ProjectSnapshot, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the row of the voice that book.yaml names for its narrator; None if it is not here,
    or was not chosen yet."""
    project = view.project
    manifest = project.own_manifest or project.manifest
    if "engine" not in manifest.model_fields_set:
        return None
    speaker = manifest.cast.get(project.narrator or "")
    own = speaker.engine_voices.get(manifest.engine.name) if speaker else None
    names = [getattr(own, "voice", None), speaker.voice if speaker else None, ""]
    mine = [row for row in rows if row["engine"] == manifest.engine.name]
    return next((row for name in names for row in mine if row["voice"] == name), None)


def _rough_seconds(engine: str, speech_seconds: float) -> float | None:
    """Returns about how long an engine takes on this machine's cores; None if nobody knows."""
    cpu_seconds = ENGINES[engine].cpu_seconds if ENGINES.knows(engine) else None
    return cpu_seconds and speech_seconds * cpu_seconds / (os.cpu_count() or 1)


def _first_sentences(view: ProjectSnapshot) -> str:
    """Returns the first sentences of the book's text, after headings."""
    texts: list[str] = []
    seconds = 0.0
    steps = [step for step in view.book.steps if not step.chunk.pieces[0].line.heading]
    for step in steps[:20]:
        for begin, end in sentences(step.chunk.text, step.language):
            sentence = step.chunk.text[begin:end].strip()
            texts.append(sentence)
            seconds += expected_seconds(sentence, step.language)
            if seconds >= _SAMPLE_SECONDS:
                return " ".join(texts)[:_MAX_SAMPLE_CHARACTERS]
    return " ".join(texts)[:_MAX_SAMPLE_CHARACTERS]


def _finished_files(view: ProjectSnapshot) -> Iterator[FileBytes]:
    """Yields the finished sound files, each with a tag that changes when it does."""
    for path in view.book.folders.sounds():
        status = path.stat()
        tag = keys.key({"file": str(path), "time": status.st_mtime_ns, "size": status.st_size})
        yield FileBytes(path, status.st_size, MEDIA_TYPES[path.suffix], tag[:_TAG_LENGTH])
