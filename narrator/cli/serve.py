"""The command that speaks for other programs: serve."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli.auditioning import engine_for
from narrator.cli.progress import without_progress_lines
from narrator.cli.shared import app, err, out
from narrator.cli.voices import Language, choose_language, load_speech_settings
from narrator.errors import UsageError
from narrator.quantities import pluralize
from textbase.characters import excerpt

if TYPE_CHECKING:
    from narrator.project.project import Project
    from narrator.serve.app import SpeechServer

TOKEN_VARIABLE = "NARRATOR_SERVE_TOKEN"
"""Environment variable of the access token, which everybody would see on a command line."""
_MIN_TOKEN_CHARS = 16
"""Length of a token that nobody guesses."""


@app.command()
def serve(
    project: Annotated[
        Path | None,
        typer.Option(
            "--project", "-p", help="Speak with the cast, lexicon and engine of this book."
        ),
    ] = None,
    language: Language = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=1,
            max=65535,
            help="The port to listen on; by default 4748, or any free one.",
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen", help="The address to listen on; 0.0.0.0 lets other machines connect."
        ),
    ] = "127.0.0.1",
    cors: Annotated[
        list[str] | None,
        typer.Option(
            "--cors",
            help="Allow requests of pages from this origin, such as https://chat.example; "
            "repeatable.",
        ),
    ] = None,
    longest: Annotated[
        int, typer.Option("--longest", min=1, max=200_000, help="The most characters of a text.")
    ] = 20_000,
    minutes: Annotated[
        int,
        typer.Option("--minutes", min=1, max=1440, help="The most minutes of speech for a text."),
    ] = 30,
    most: Annotated[
        int,
        typer.Option("--most", min=1, max=4096, help="The most texts at a time; more are refused."),
    ] = 128,
) -> None:
    """Serve speech to other programs. The API is that of OpenAI's speech server."""
    from narrator import serve as room

    room.require()
    from narrator.project import load
    from narrator.serve import app as servers
    from narrator.serve.door import AccessTerms
    from narrator.web import listening
    from narrator.web.hosts import Hosts

    book = None if project is None else load.load(project)
    for origin in cors or ():
        _check_origin(origin)
    token = _read_token()
    ports = (servers.PORT, 0) if port is None else (port,)
    with contextlib.closing(listening.listen(listen, ports)) as place:
        shown_token = None
        if token is None and not place.is_local:
            token = shown_token = secrets.token_urlsafe(24)
        server = _make_server(
            book, language, max_chars=longest, max_seconds=60.0 * minutes, max_requests=most
        )
        terms = AccessTerms(Hosts(place.address, place.port), token, tuple(cors or ()))

        def ready() -> None:
            out.print(f"{place.url}v1")
            if port is None and place.port != servers.PORT:
                err.print(f"port {servers.PORT} is in use, so it is another; --port names one "
                          "that stays")  # fmt: skip
            if shown_token is not None:
                out.print(f"token: {shown_token}")
                err.print("who has the token may ask from the network, and nothing that is sent is "
                          f"encrypted; {TOKEN_VARIABLE} sets one that stays")  # fmt: skip
            err.print("ctrl-C ends it once what is being spoken is said")

        server.service.start(err.print)
        with without_progress_lines():
            servers.run_until_signal(server, place, terms, ready)
    err.print("the speech server is closed")


def _make_server(
    book: Project | None,
    language: str | None,
    *,
    max_chars: int,
    max_seconds: float,
    max_requests: int,
) -> SpeechServer:
    """Makes the server of a book's cast, or of the voices that are kept; limits are for each text.

    Raises UsageError if there is no voice.
    """
    from narrator.cast.voicebook import VoiceBook
    from narrator.pipeline.book_engines import make_main_engine as engine_of
    from narrator.pipeline.manuscript import lexicon_of
    from narrator.serve.answering import AnswerContext
    from narrator.serve.app import SpeechServer
    from narrator.speech.plan import sound_parameters_of
    from narrator.speech.service import SpeechService
    from narrator.text.normalize import Lexicon

    engine = engine_for(None) if book is None else engine_of(book, err.print)
    settings = load_speech_settings(None).engine if book is None else book.engine
    if book is not None:
        _warn_of_other_engines(book)
    spoken_language = choose_language(book.root if book else None, language)
    voices = VoiceBook(engine, spoken_language, book)
    if voices.uncast:
        missing = ", ".join(voices.uncast)
        err.print(f"without a voice yet, and not to be had here: {missing}; a render casts them")
    voice_entries = [entry for entry in voices.entries() if entry.place != "usual"]
    if engine.clones and not voice_entries:
        raise UsageError(
            "there is no voice to speak with: make one with `narrator voices add` or `narrator "
            "voices design`, name a book with --project, or hear the draft voice with --draft"
        )
    names = (
        f"{pluralize(len(voice_entries), 'voice')} and OpenAI's names"
        if voice_entries
        else "OpenAI's names"
    )
    err.print(f"{names}, spoken by {engine.name}")
    return SpeechServer(
        AnswerContext(SpeechService(engine, max_requests), _print_with_time),
        voices,
        sound_parameters_of(engine, settings.model_dump()),
        Lexicon() if book is None else lexicon_of(book)[0],
        max_chars,
        max_seconds,
    )


def _warn_of_other_engines(book: Project) -> None:
    """Warns of speakers with engines of their own, since one engine speaks here."""
    names = [name for name in book.manifest.speakers if book.engine_of(name) != book.engine]
    if names:
        err.print(f"warning: {', '.join(names)}: engines of their own are for renders; here the "
                  f"book's speaks all, {book.engine.name}")  # fmt: skip


def _check_origin(origin: str) -> None:
    """Raises UsageError for an origin that no browser sends."""
    if not re.fullmatch(r"\*|[a-z][a-z0-9+.-]*://[^/?#\s]+/?", origin, re.IGNORECASE):
        raise UsageError(
            f"--cors: '{excerpt(origin)}' is not an origin: scheme and host, as "
            "https://chat.example, or *"
        )


def _print_with_time(message: str) -> None:
    err.print(f"{time.strftime('%H:%M:%S')} {message}")


def _read_token() -> str | None:
    """Returns the token in the environment, if any. Raises UsageError for one easily guessed."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        return None
    if (
        len(token) < _MIN_TOKEN_CHARS
        or not token.isascii()
        or not token.isprintable()
        or " " in token
    ):
        raise UsageError(
            f"{TOKEN_VARIABLE} must have at least {_MIN_TOKEN_CHARS} characters: letters, digits "
            "and signs, no spaces"
        )
    return token
