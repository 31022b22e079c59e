"""Parts of all commands: the app, the consoles, options, and formats of messages."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from typer.core import TyperGroup

from narrator.errors import StorageError, UsageError
from textbase.characters import escape_invisible

if TYPE_CHECKING:
    from typer import _click as click  # as typer carries it

    from narrator.text.chunks import Chunk

PURPOSES = {
    "Start": ("new", "check", "cast", "schema"),
    "Hear": ("studio", "voices", "report", "where", "play", "serve"),
    "Render": ("plan", "render", "status"),
    "Mend": ("hear", "flag", "pickups", "why", "takes", "retake", "pin", "unpin"),
    "Deliver": ("export", "verify", "feed"),
    "Machine": ("doctor", "models", "gc", "scheduler", "worker"),
}
"""The commands by purpose, as `--help` lists them."""


class ProjectGroup(TyperGroup):
    """Commands of which those on a project take the options of all such commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, remaining_args = super().resolve_command(ctx, args)
        parameters = command.params if command else []
        names = {parameter.name for parameter in parameters}
        if names & _PROJECT_PARAMETERS and "build" not in names:
            parameters += _project_options()
        return name, command, remaining_args


class _ByPurpose(ProjectGroup):
    """Commands in the order in which a book needs them; each takes its book with --book, too."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            _refuse_path(Path(args[0]))
        name, command, remaining_args = super().resolve_command(ctx, args)
        parameters = command.params if command else []
        known_options = {option for parameter in parameters for option in parameter.opts}
        if "book" in known_options and "--book" not in known_options:
            remaining_args = _without_flag(remaining_args)
        return name, command, remaining_args

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        room = formatter.width - 6 - width  # beside names, indents and what is between
        for purpose, names in PURPOSES.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(room)) for name in names
            ]
            with formatter.section(purpose):
                formatter.write_dl(rows)


_PROJECT_PARAMETERS = frozenset(("book", "project", "base_url"))
"""Parameters of commands that work on a project; `base_url` is one of `feed`."""


def _project_options() -> list[click.Parameter]:
    """`--build`, `--engine` and `--draft`, which every command of a project takes and none has to
    pass on."""
    options = typer.Typer(add_completion=False)

    def project(
        build: Annotated[
            Path | None,
            typer.Option(
                "--build",
                metavar="FOLDER",
                help="Where takes and finished files lie, in place of the project's build.",
                callback=_build_in,
                expose_value=False,
                is_eager=True,
            ),
        ] = None,
        other_engine: Annotated[
            str | None,
            typer.Option(
                "--engine",
                metavar="NAME",
                help="What speaks, in place of the book's engine: kokoro. Its takes and finished "
                "files lie beside those of others.",
                callback=_speak_with,
                expose_value=False,
                is_eager=True,
            ),
        ] = None,
        draft: Annotated[
            bool,
            typer.Option(
                "--draft",
                help="Use the draft voice, whatever the engine: --engine draft.",
                callback=_speak_draft,
                expose_value=False,
            ),
        ] = False,
    ) -> None: ...

    options.command()(project)
    return typer.main.get_command(options).params


def _build_in(context: typer.Context, folder: Path | None) -> Path | None:
    from narrator.project.buildfolder import building_in

    context.with_resource(building_in(folder))
    return folder


def _speak_with(context: typer.Context, name: str | None) -> str | None:
    from narrator.project.other_engine import speaking_with

    context.with_resource(speaking_with(name))
    return name


def _speak_draft(context: typer.Context, draft: bool) -> bool:
    """Raises UsageError where `--engine` stands beside it."""
    source = context.get_parameter_source("other_engine")
    if draft and source is not None and source.name == "COMMANDLINE":
        raise UsageError("--draft is `--engine draft`: give one of the two")
    _speak_with(context, "draft" if draft else None)
    return draft


def _refuse_path(path: Path) -> None:
    """Raises UsageError where a file or folder stands in the place of a command."""
    from narrator.project.place import TEXT_SUFFIXES

    if path.suffix.lower() in TEXT_SUFFIXES:
        raise UsageError(f"what about {path}? A new project: narrator new DIR --from {path}")
    if path.is_dir() or path.suffix in (".yaml", ".yml"):
        raise UsageError(f"what about {path}? For example: narrator check {path}")


def _without_flag(arguments: list[str]) -> list[str]:
    """`--book X` as `X`, of commands to which it is an argument."""
    remaining_args: list[str] = []
    for argument in arguments:
        if argument.startswith("--book="):
            remaining_args.append(argument.removeprefix("--book="))
        elif argument not in ("--book", "-b"):
            remaining_args.append(argument)
    return remaining_args


app = typer.Typer(
    cls=_ByPurpose,
    help="A manuscript and a cast in, a finished audiobook or podcast out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
logging.getLogger("narrator").addHandler(logging.NullHandler())  # a run adds its own file

_NOBODY_LISTENS = (errno.EIO, errno.ENXIO, errno.EPIPE)
"""A terminal was closed; a reader has read enough, as `| head` does."""


class _QuietStream:
    """A stream that falls silent for good when it cannot be written to any more.

    Who listens is no part of the work: a closed window stops it by its signal, not by an error in
    the middle of a line. An answer that gets lost for another reason (a full disk) is an error.
    """

    def __init__(self, stream: IO[str], aside: bool) -> None:
        """`aside`: what is said there on the way may get lost."""
        self._stream, self._aside = stream, aside

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            # beneath Python's buffers, which are written again when it ends
            with contextlib.suppress(OSError), Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), self._stream.fileno())
            if not self._aside and error.errno not in _NOBODY_LISTENS:
                raise StorageError(f"standard output: {error.strerror}") from None


class _Console(Console):
    """A console whose text no terminal takes as a command."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for part in super().render(renderable, options):
            yield part if part.control else Segment(escape_invisible(part.text), part.style)

    def print_json(self, *, data: object) -> None:  # type: ignore[override]
        """Prints a JSON value in any encoding; infinite numbers are null."""
        is_ascii_only = not str(self.encoding).lower().startswith("utf")
        if self.is_terminal:  # in colours, whose layout takes a hundred bytes for each of its own
            super().print_json(data=_finite(data), ensure_ascii=is_ascii_only, allow_nan=False)
            return
        text = json.dumps(_finite(data), indent=2, ensure_ascii=is_ascii_only, allow_nan=False)
        self.file.write(f"{escape_invisible(text)}\n")
        self.file.flush()

    @property
    def file(self) -> IO[str]:
        return cast(IO[str], _QuietStream(super().file, self.stderr))

    @file.setter
    def file(self, file: IO[str]) -> None:
        self._file = file


def _finite(document: object) -> object:
    if isinstance(document, dict):
        return {key: _finite(item) for key, item in document.items()}
    if isinstance(document, list | tuple):
        return [_finite(item) for item in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document


out = _Console(highlight=False, markup=False, soft_wrap=True)
err = _Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Book = Annotated[Path, typer.Argument(help="The manifest, or its folder.", show_default=True)]
BookOption = Annotated[
    Path | None, typer.Option("--book", "-b", help="The manifest, or its folder.")
]
Chunks = Annotated[
    list[str],
    typer.Argument(
        metavar="CHUNK... [BOOK]",
        help="Chunks, as messages and the report name them, 3.12, and their book, in any order.",
        show_default=False,
    ),
]
Chapters = Annotated[
    list[str] | None, typer.Option("--chapter", "-c", help="A chapter: 3, 2-5, or a title.")
]
Speakers = Annotated[list[str] | None, typer.Option("--speaker", "-s", help="A speaker's name.")]
Force = Annotated[bool, typer.Option("--force", help="Render again what is cached.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


_CHUNK = re.compile(r"\d+\.\d+|[0-9a-f]{6,64}")
"""A chunk's name, or the start of its key."""


def split_arguments(words: Sequence[str], option: Path | None) -> tuple[list[str], Path]:
    """Separates chunk names from the book's path, in any order.

    Raises UsageError where this is ambiguous.
    """
    chunks = [word for word in words if _CHUNK.fullmatch(word)]
    books = [word for word in words if word not in chunks]
    if not books and option is None and not Path("book.yaml").exists():
        existing_paths = [word for word in chunks if Path(word).exists()]
        if len(existing_paths) == 1:  # a folder that is called as chunks are
            chunks.remove(existing_paths[0])
            books = existing_paths
    book_paths = [*map(Path, books), *([option] if option else [])]
    if len(book_paths) > 1:
        names = " or ".join(str(path) for path in book_paths)
        raise UsageError(f"which is the book, {names}? Chunks are named chapter.number, as 3.12")
    return chunks, book_paths[0] if book_paths else Path("book.yaml")


def some_chunks(words: Sequence[str], option: Path | None) -> tuple[list[str], Path]:
    """Returns at least one chunk and their book, as `split_arguments`. Raises UsageError."""
    chunks, book = split_arguments(words, option)
    if not chunks:
        raise UsageError(f"which chunks of {book}? Name them chapter.number, as 3.12")
    return list(dict.fromkeys(chunks)), book


def one_chunk(words: Sequence[str], option: Path | None) -> tuple[str, Path]:
    """Returns one chunk and its book, as `split_arguments`.

    Raises UsageError for none or several.
    """
    chunks, book = split_arguments(words, option)
    if len(chunks) != 1:
        question = f"which of {', '.join(chunks)}" if chunks else "which chunk"
        book_argument = "" if book == Path("book.yaml") else f" {book}"
        raise UsageError(f"{question}? Name one, chapter.number, and its book: 3.12{book_argument}")
    return chunks[0], book


MOST = 20
"""Most problems or warnings that are printed; with thousands, the first ones come first."""


def print_problems(kind: str, messages: Sequence[object]) -> None:
    """Prints the first problems or warnings, a line each, and their total number."""
    for message in messages[:MOST]:
        err.print(f"{kind}: {truncate(str(message))}")
    if (hidden_count := len(messages) - MOST) > 0:
        err.print(
            f"{kind}: … and {hidden_count:,} more, {len(messages):,} in all; mend these first"
        )


def truncate(text: str, max_length: int = 1500) -> str:
    return text if len(text) <= max_length else f"{text[:max_length]}…"


def display_path(path: Path) -> Path:
    """Shortens a path to one relative to the current folder, if it is below it."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except (ValueError, OSError, RuntimeError):  # the last: links in a circle
        return path


def source(chunk: Chunk) -> str:
    """Returns the place where a chunk begins, as file:line."""
    line = chunk.pieces[0].line
    return f"{display_path(line.path)}:{line.line}"


def shorten(text: str, max_length: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def check_replaceable(path: Path, begins: bytes, description: str) -> None:
    """Checks that an output file may be replaced: an existing file must be of the same kind.

    The kind is recognised by `begins` within its first bytes. Raises UsageError, StorageError.
    """
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"{display_path(path)}: {error.strerror}") from error
    if begins not in head:
        raise UsageError(
            f"{display_path(path)} is there and is no {description}: name another file, or remove "
            "it"
        )


@contextlib.contextmanager
def keep_awake() -> Iterator[None]:
    """Keeps an idle machine from sleeping during a render; closing its lid still works.

    Has no effect where the system offers no such service, or refuses. The helper processes end
    with this one, even if it is killed.
    """
    if sys.platform == "darwin":
        commands = [["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())]]
    else:
        # Separately, as remote users may be refused one of them. `cat` ends with this process.
        ask = ["systemd-inhibit", "--who=narrator", "--why=a render", "--mode=block"]
        commands = [[*ask, f"--what={inhibition}", "cat"] for inhibition in ("idle", "sleep")]
    with contextlib.ExitStack() as inhibitors:
        for command in commands:
            with contextlib.suppress(OSError):
                asking = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # no ctrl-C, and no terminal to ask for a password
                )
                inhibitors.callback(inhibitors.enter_context(asking).terminate)
        yield
