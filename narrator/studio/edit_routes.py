"""Thin routes for changes from the page: edits, notes, lists of pickups.

Edits read text, so they run in the main thread; notes are written at once, from any thread, and
so are the exchanges looked for in which a speaker is doubtful.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.errors import FileChanged, UsageError
from narrator.pipeline import (
    edits,
    exchanges,
    new_characters,
    pickups,
    places,
    reviews,
)
from narrator.pipeline.attribution import Proposal
from narrator.pipeline.edits import Edit
from narrator.report import pickups as printed_pickups
from narrator.speech.plan import Step
from narrator.studio import cast_edits, rows, stretch_edits
from narrator.studio.lexicon_routes import lexicon_edit
from narrator.studio.people import Guests, Person, Rights
from narrator.studio.session import (
    NotFound,
    ProjectSession,
    ProjectSnapshot,
    undo_state_of,
)
from narrator.text.chunks import group_unison
from narrator.web import bodies
from textbase.characters import decode_text

_T = TypeVar("_T")

_PRINT_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
}
"""Headers of the page to print, which contains its own styles and loads nothing."""
_MAX_FLAGS_OF_LISTENER = 2000
"""Most flags of a guest on the list, which everybody reads."""
_MAX_EXCHANGES = 50
"""Most exchanges in one answer; the page asks again after each decision."""


class EditRoutes:
    """Routes that change the book or its notes."""

    def __init__(self, session: ProjectSession, guests: Guests) -> None:
        self.session, self.guests = session, guests
        self._pickups_lock = threading.Lock()
        self._proposal_lock = threading.Lock()
        self._proposal: tuple[object, Proposal] | None = None

    def routes(self) -> list[Route]:
        def post(path: str, endpoint: Callable[[Request], Any]) -> Route:
            return Route(path, endpoint, methods=["POST"])

        return [
            post("/api/edits", self.edit),
            post("/api/undo", self.undo),
            post("/api/redo", self.redo),
            post("/api/reviewed", self.review),
            post("/api/flags", self.flag),
            post("/api/flags/done", self.mark_flag),
            post("/api/flags/gone", self.remove_flags),
            Route("/api/doubts", self.doubts),
            Route("/api/pickups", self.list_pickups),
            post("/api/pickups", self.import_pickups),
            Route("/pickups.csv", self.pickups_table),
            Route("/pickups.html", self.pickups_page),
            Route("/labels/{number}.txt", self.labels),
        ]

    # -- edits -------------------------------------------------------------------------------------

    async def edit(self, request: Request) -> Response:
        """Edits the project's files; the edit can be undone."""
        body = await bodies.read_json(request)
        kind = bodies.text_field(body, "kind", 20)
        if kind not in (kinds := (*_EDITS, _EXCHANGE, _CAST)):
            raise UsageError(f"`kind` is one of {', '.join(kinds)}")

        def apply_edit() -> Edit:
            if kind == _EXCHANGE:
                return self._apply_decision(body)
            edit = self._find_cast() if kind == _CAST else _EDITS[kind](self.session.view, body)
            edits.apply(self.session.view.project, edit)
            return edit

        return await self._edit_response(body, apply_edit, "")

    def _find_cast(self) -> Edit:
        """Finds the characters of a book and what they say; pages are told how far it is."""

        def send_stage(stage: str) -> None:
            stages = new_characters.STAGES
            row = {"stage": stage, "step": stages.index(stage), "steps": len(stages)}
            self.session.events.send({"type": "casting", **row})

        return new_characters.cast_edit(self.session.view.project, send_stage)

    async def undo(self, request: Request) -> Response:
        return await self._undo_or_redo(request, edits.undo, "there is nothing to undo")

    async def redo(self, request: Request) -> Response:
        return await self._undo_or_redo(request, edits.redo, "there is nothing to redo")

    async def _undo_or_redo(
        self, request: Request, move: Callable[..., edits.PastEdit | None], empty_message: str
    ) -> Response:
        """Undoes or redoes one edit by `move`. Raises NotFound if there is none."""
        body = await bodies.read_json(request)
        return await self._edit_response(
            body, lambda: move(self.session.view.project), empty_message
        )

    async def _edit_response(
        self,
        body: Mapping[str, Any],
        change: Callable[[], Edit | edits.PastEdit | None],
        empty_message: str,
    ) -> Response:
        """Changes the project's files, and answers as soon as their text is read.

        The answer has the new undo and redo, and the chapter `shown` with its new text; the new
        plan of the book is announced later, as an event. Raises NotFound if there is no change.
        """
        shown_chapter = body.get("shown")

        def change_files() -> dict[str, Any]:
            try:
                edit = change()
            except FileChanged:
                self.session.show_edit()  # the page asks next for what the file says now
                raise
            if edit is None:
                raise NotFound(empty_message)
            undo_state = undo_state_of(edits.history(self.session.view.project))
            number = shown_chapter - 1 if isinstance(shown_chapter, int) else -1
            chapter = None
            if self.session.show_edit() and number in self.session.view.chapters:
                sound, states = self.session.sound(number), self.session.chunk_states(number)
                chapter = rows.chapter(self.session.view, number, sound, states)
            version = self.session.view.version
            is_changed = not isinstance(edit, Edit) or edit.is_change
            return {
                "what": edit.title, "changed": is_changed, "version": version, "chapter": chapter,
                **undo_state,
            }  # fmt: skip

        try:
            answer = await self.session.run("changing the project's files", change_files)
        finally:  # also after a conflict: somebody else has changed the files
            self.session.schedule("reading the manuscript", self.session.refresh)
        return JSONResponse(answer)

    # -- who says what -----------------------------------------------------------------------------

    async def doubts(self, request: Request) -> Response:
        """Lists the exchanges that a person should review, and the one with the id `exchange`."""
        shown_id = request.query_params.get("exchange")

        def list_doubts() -> dict[str, Any]:
            proposal = self._current_proposal()
            doubtful = exchanges.doubtful_exchanges(proposal)
            exchange_rows = [
                _exchange_row(proposal, exchange) for exchange in doubtful[:_MAX_EXCHANGES]
            ]
            shown = [each for each in exchanges.all_exchanges(proposal) if each.id == shown_id]
            return {
                "exchanges": exchange_rows,
                "total": sum(len(exchange.doubtful_turns) for exchange in doubtful),
                "shown": _exchange_row(proposal, shown[0]) if shown else None,
            }

        # not in the main thread, where edits would wait for it
        return JSONResponse(await run_in_threadpool(list_doubts))

    def _current_proposal(self) -> Proposal:
        """Returns the proposal for the current texts; from any thread."""
        with self._proposal_lock:
            stamp = self.session.text_stamp()
            if self._proposal is None or self._proposal[0] != stamp:
                project, scripts = self.session.view.project, self.session.scripts()
                self._proposal = stamp, new_characters.propose(project, scripts=scripts)
            return self._proposal[1]

    def _apply_decision(self, body: Mapping[str, Any]) -> Edit:
        """Decides an exchange, or a turn of it."""
        turn = body.get("turn")
        if not isinstance(turn, int) or isinstance(turn, bool):
            raise UsageError("`turn` must be a number")
        decision_name = bodies.text_field(body, "decision", 20)
        if decision_name not in list(exchanges.Decision):
            raise UsageError(f"`decision` is one of {', '.join(exchanges.Decision)}")
        proposal, added = self._current_proposal(), None
        if person := cast_edits.new_person(self.session.view.project, body):
            proposal, added = exchanges.add_person(proposal, person.name, person.pronoun)
        proposal, edit = exchanges.apply_decision(
            proposal,
            bodies.text_field(body, "id", 200),
            turn,
            exchanges.Decision(decision_name),
            bodies.optional_text_field(body, "speaker", 1000) or "",
        )
        if added is not None:
            edit = replace(edit, changes=(*added.changes, *edit.changes))
        edits.apply(proposal.project, edit)
        # with somebody more in the cast, the rules may decide otherwise
        with self._proposal_lock:
            self._proposal = (self.session.text_stamp(), proposal) if added is None else None
        return edit

    # -- notes -------------------------------------------------------------------------------------

    async def review(self, request: Request) -> Response:
        body = await bodies.read_json(request)
        names, is_reviewed = (
            frozenset(bodies.text_list_field(body, "chunks")),
            bodies.boolean_field(body, "yes"),
        )
        reviewer = self.guests.name_of(request.scope["person"])

        def mark_reviewed() -> None:
            view = self.session.view
            numbers = {view.step(name).chapter for name in names}
            steps = [
                step
                for number in numbers
                for group in group_unison(view.chapters[number])
                if any(step.id in names for step in group)
                for step in group
            ]
            with self._pickups_lock:
                reviews.mark_reviewed(view.book, steps, is_reviewed, reviewer)
            self.session.read_notes()

        await run_in_threadpool(mark_reviewed)
        return JSONResponse({"version": self.session.view.version})

    async def flag(self, request: Request) -> Response:
        body = await bodies.read_json(request)
        name, note = bodies.text_field(body, "chunk", 40), bodies.text_field(body, "note", 2000)
        if not note.strip():
            raise UsageError("what is wrong there? A flag needs a note")
        person: Person = request.scope["person"]
        person_name = self.guests.name_of(person)

        def add_flag() -> int:
            view = self.session.view
            if person.rights is Rights.LISTEN:
                flags = (row for rows in view.notes.flags.values() for row in rows)
                if sum(row.who == person_name for row in flags) >= _MAX_FLAGS_OF_LISTENER:
                    raise UsageError(f"a guest can have {_MAX_FLAGS_OF_LISTENER:,} flags at most")
            (passage,) = places.passages_of(view.book, [view.step(name)])
            row = replace(pickups.new_pickup(passage, note), who=person_name)
            return len(self._change_pickups(lambda: pickups.add(view.book, [row])))

        return JSONResponse({"added": await run_in_threadpool(add_flag)})

    async def mark_flag(self, request: Request) -> Response:
        body = await bodies.read_json(request)
        name, note = bodies.text_field(body, "chunk", 40), bodies.text_field(body, "note", 2000)
        is_done = bodies.boolean_field(body, "done")

        def tick_flags() -> int:
            return self._change_pickups(
                lambda: pickups.set_done(self.session.view.book, name, note, is_done)
            )

        ticked_count = await run_in_threadpool(tick_flags)
        if not ticked_count:
            raise NotFound("this is not on the list any more")
        return JSONResponse({"done": ticked_count})

    async def remove_flags(self, request: Request) -> Response:
        """Removes flags that were made by mistake, without a trace; guests who listen remove
        their own."""
        person: Person = request.scope["person"]
        own_name = person.name if person.rights is Rights.LISTEN else None
        body = await bodies.read_json(request)
        rows = body.get("flags")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UsageError("`flags` must be a list of objects")
        chunk_notes = [
            (bodies.text_field(row, "chunk", 40), bodies.text_field(row, "note", 2000))
            for row in rows
        ]

        def remove_flags() -> int:
            return self._change_pickups(
                lambda: pickups.remove(self.session.view.book, chunk_notes, own_name)
            )

        removed_count = await run_in_threadpool(remove_flags)
        if chunk_notes and not removed_count:
            raise NotFound("this is not on the list any more")
        return JSONResponse({"gone": removed_count})

    def _change_pickups(self, change: Callable[[], _T]) -> _T:
        """Changes the list of pickups, one request at a time."""
        with self._pickups_lock:
            outcome = change()
        self.session.read_notes()
        return outcome

    # -- lists -------------------------------------------------------------------------------------

    async def list_pickups(self, request: Request) -> Response:
        rows, problems = await run_in_threadpool(
            lambda: pickups.read_pickups(self.session.view.book)
        )
        if request.scope["person"].rights is Rights.LISTEN:
            problems = []  # they name files
        return JSONResponse(
            {"rows": [asdict(row) for row in rows], "problems": list(map(str, problems))}
        )

    async def import_pickups(self, request: Request) -> Response:
        """Adds an uploaded list of pickups."""
        list_bytes = await bodies.read_body(request, bodies.MAX_LIST_BYTES)
        chapter = request.query_params.get("chapter")

        def add_list() -> dict[str, Any]:
            view, text = self.session.view, decode_text(list_bytes)[0]
            number = None if chapter is None else view.number(chapter)
            rows, problems = pickups.import_text(view.book, text, Path("the list"), number)
            added_rows = self._change_pickups(lambda: pickups.add(view.book, rows))
            return {
                "added": [{"chunk": row.chunk, "note": row.note} for row in added_rows],
                "problems": list(map(str, problems)),
            }

        return JSONResponse(await run_in_threadpool(add_list))

    async def pickups_table(self, request: Request) -> Response:
        def make_table() -> bytes:
            return pickups.table_of(pickups.read_pickups(self.session.view.book)[0])

        name = pickups.path_of(self.session.view.project).suffixes[-1]
        headers = {"content-disposition": f'attachment; filename="pickups{name}"'}
        return Response(await run_in_threadpool(make_table), 200, headers, "text/csv")

    async def pickups_page(self, request: Request) -> Response:
        def make_page() -> bytes:
            book = self.session.view.book
            return printed_pickups.page(book, pickups.read_pickups(book)[0])

        return Response(await run_in_threadpool(make_page), 200, _PRINT_HEADERS, "text/html")

    async def labels(self, request: Request) -> Response:
        """Returns the pickups of a chapter as labels for an audio editor."""

        def make_labels() -> str:
            view = self.session.view
            number = view.number(request.path_params["number"])
            rows = pickups.read_pickups(view.book)[0]
            return pickups.labels_of(rows).get(str(number + 1), "")

        return Response(await run_in_threadpool(make_labels), media_type="text/plain")


# -- edits by kind ---------------------------------------------------------------------------------


def _text_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    step, sha = _step(view, body), bodies.text_field(body, "sha", 100)
    text = bodies.text_field(body, "text", 500_000)
    try:
        paragraph = edits.paragraph(view.book, step)
    except FileChanged as error:  # what is wanted is what the person wrote
        raise FileChanged(error.path, error.present_text, text) from None
    return edits.text_edit(view.project, paragraph, text, sha)


def _speaker_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    return edits.speaker_edit(
        view.book,
        _step(view, body),
        bodies.text_field(body, "speaker", 1000),
        bodies.optional_text_field(body, "style", 1000),
        bodies.optional_text_field(body, "words") or "",
        cast_edits.new_person(view.project, body),
    )


def _say_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    word, pronunciation = (
        bodies.text_field(body, "word", 200),
        bodies.text_field(body, "spoken", 1000),
    )
    chunk = _step(view, body) if body.get("chunk") is not None else None
    return edits.say_edit(view.project, word, pronunciation, chunk=chunk)


def _heard_as_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    word, heard = bodies.text_field(body, "word", 200), bodies.text_field(body, "heard", 200)
    return edits.heard_as_edit(view.project, word, heard)


_EDITS: dict[str, Callable[[ProjectSnapshot, Mapping[str, Any]], Edit]] = {
    "text": _text_edit,
    "speaker": _speaker_edit,
    "give": stretch_edits.give_edit,
    "swap": stretch_edits.swap_edit,
    "say": _say_edit,
    "lexicon": lexicon_edit,
    "heard_as": _heard_as_edit,
    "add": cast_edits.add_edit,
    "voice": cast_edits.voice_edit,
    "rename": cast_edits.person_edit(edits.rename_edit, "name"),
    "pronoun": cast_edits.person_edit(edits.pronoun_edit, "pronoun", 100),
    "merge": cast_edits.person_edit(edits.merge_edit, "into"),
    "split": cast_edits.person_edit(edits.split_edit, "alias"),
    "own voice": cast_edits.own_voice_edit,
}
_CAST = "cast"
"""Characters are found, which takes a while."""
_EXCHANGE = "exchange"
"""A decision on an exchange, which needs a proposal and no view."""


def _step(view: ProjectSnapshot, body: Mapping[str, Any]) -> Step:
    return view.step(bodies.text_field(body, "chunk", 40))


def _exchange_row(proposal: Proposal, exchange: exchanges.Exchange) -> dict[str, Any]:
    return {
        "id": exchange.id,
        "chapter": exchange.chapter + 1,
        "names": list(exchange.names),
        "turns": [
            {
                "speaker": speaker,
                "words": turn[0].quotation.text,
                "sure": round(turn[0].certainty, 2),
                "doubtful": turn[0].is_doubtful,
                "decided": turn[0].row.by in ("you", "print"),
            }
            for turn, speaker in zip(exchange.turns, exchange.speakers, strict=True)
        ],
        "passages": [asdict(passage) for passage in exchanges.passages(proposal, exchange)],
    }
