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

from narrator.cli import completion
from narrator.cli.commands import Commands
from narrator.errors import StorageError, UsageError
from textbase.characters import escape_invisible

if TYPE_CHECKING:
    from typer import _click as click  # as typer carries it
    from typer._click.shell_completion import CompletionItem

    from narrator.text.chunks import Chunk

PURPOSES = {
    "Start": ("new", "check", "cast", "schema"),
    "Hear": ("studio", "voices", "where", "play", "serve"),
    "Render": ("plan", "render", "status"),
    "Mend": ("hear", "flag", "pickups", "why", "takes", "retake", "pin", "unpin"),
    "Deliver": ("export", "verify", "feed", "deliver"),
    "Machine": ("doctor", "models", "gc", "scheduler", "worker"),
}
"""The commands by purpose, as `--help` lists them."""


class ProjectGroup(TyperGroup):
    """Commands; to those that work on a project it adds the options of all such commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, remaining_args = super().resolve_command(ctx, args)
        parameters = command.params if command else []
        names = {parameter.name for parameter in parameters}
        if names & _PROJECT_PARAMETERS and "build" not in names:
            parameters += project_options()
        return name, command, remaining_args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        items = super().shell_complete(ctx, incomplete)
        for item in items:
            if item.value in self.commands:
                item.help = self.commands[item.value].get_short_help_str(80)
        return items


class _CommandsByPurpose(ProjectGroup):
    """The commands, listed by purpose; each takes its book as an argument or with `--book`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            _refuse_path(Path(args[0]))
        name, command, remaining_args = super().resolve_command(ctx, args)
        parameters = command.params if command else []
        spellings = {spelling for parameter in parameters for spelling in parameter.opts}
        if "book" in spellings and "--book" not in spellings:  # an argument
            remaining_args = _without_book_flag(remaining_args)
        return name, command, remaining_args

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [name for names in PURPOSES.values() for name in names]
        return sorted(self.commands, key=lambda name: names.index(name) if name in names else 99)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        name_width = max(map(len, self.commands))
        help_width = formatter.width - name_width - 6  # indentation and gap
        for purpose, names in PURPOSES.items():
            rows = [
                (name.ljust(name_width), self.commands[name].get_short_help_str(help_width))
                for name in names
            ]
            with formatter.section(purpose):
                formatter.write_dl(rows)


_PROJECT_PARAMETERS = frozenset(("book", "project", "base_url"))
"""Parameters of commands that work on a project; `base_url` is one of `feed`."""


def project_options() -> list[click.Parameter]:
    """Returns `--build`, `--engine` and `--draft`, which every command of a project takes.

    Their callbacks set the environment of the command, so no command has to pass them on.
    """
    options = typer.Typer(add_completion=False)

    def project(
        build: Annotated[
            Path | None,
            typer.Option(
                "--build",
                metavar="FOLDER",
                help="Keep takes and finished files in this folder instead of the project's build.",
                callback=_use_build_folder,
                expose_value=False,
                is_eager=True,
            ),
        ] = None,
        other_engine: Annotated[
            str | None,
            typer.Option(
                "--engine",
                metavar="NAME",
                help="Speak with this engine instead of the book's, for example kokoro. The takes "
                "and files of each engine are kept side by side.",
                callback=_use_engine,
                autocompletion=completion.engines,
                expose_value=False,
                is_eager=True,
            ),
        ] = None,
        draft: Annotated[
            bool,
            typer.Option(
                "--draft",
                help="Use the draft voice: short for --engine draft.",
                callback=_use_draft_engine,
                expose_value=False,
            ),
        ] = False,
    ) -> None: ...

    options.command()(project)
    return typer.main.get_command(options).params


def _use_build_folder(context: typer.Context, folder: Path | None) -> Path | None:
    context.meta[completion.BUILD] = folder
    if not context.resilient_parsing:
        from narrator.project.buildfolder import building_in

        context.with_resource(building_in(folder))
    return folder


def _use_engine(context: typer.Context, name: str | None) -> str | None:
    context.meta[completion.ENGINE] = name
    if not context.resilient_parsing:
        from narrator.project.other_engine import speaking_with

        context.with_resource(speaking_with(name))
    return name


def _use_draft_engine(context: typer.Context, draft: bool) -> bool:
    """Chooses the draft engine for `--draft`. Raises UsageError together with `--engine`."""
    source = context.get_parameter_source("other_engine")
    if draft and source is not None and source.name == "COMMANDLINE":
        raise UsageError("--draft is `--engine draft`: give one of the two")
    if draft:
        _use_engine(context, "draft")
    return draft


def _refuse_path(path: Path) -> None:
    """Raises UsageError, with advice, for a file or folder in the place of a command."""
    from narrator.project.place import TEXT_SUFFIXES

    if path.suffix.lower() in TEXT_SUFFIXES:
        raise UsageError(f"what about {path}? A new project: narrator new DIR --from {path}")
    if path.is_dir() or path.suffix in (".yaml", ".yml"):
        raise UsageError(f"what about {path}? For example: narrator check {path}")


def _without_book_flag(arguments: list[str]) -> list[str]:
    """Turns `--book X` into `X`, for commands that take the book as an argument."""
    remaining_args: list[str] = []
    for argument in arguments:
        if argument.startswith("--book="):
            remaining_args.append(argument.removeprefix("--book="))
        elif argument not in ("--book", "-b"):
            remaining_args.append(argument)
    return remaining_args


app = Commands(
    cls=_CommandsByPurpose,
    help="Turn a manuscript and a cast into a finished audiobook or podcast.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
logging.getLogger("narrator").addHandler(logging.NullHandler())  # a run adds its own file

_CLOSED_STREAM_ERRORS = (errno.EIO, errno.ENXIO, errno.EPIPE)
"""Error numbers of a stream whose reader is gone: a closed terminal, or `| head`."""


class _QuietStream:
    """A text stream that discards its text once its reader is gone.

    A closed window stops a command by a signal, not by an error in the middle of a line. If output
    cannot be written for another reason, as a full disk, StorageError is raised, unless the stream
    `is_optional`: messages beside the result may get lost.
    """

    def __init__(self, stream: IO[str], is_optional: bool) -> None:
        self._stream, self._is_optional = stream, is_optional

    def write(self, text: str) -> int:
        self._discard_after_error(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._discard_after_error(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _discard_after_error(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            # the descriptor, since Python writes its buffers again when it ends
            with contextlib.suppress(OSError), Path(os.devnull).open("wb") as null_device:
                os.dup2(null_device.fileno(), self._stream.fileno())
            if not self._is_optional and error.errno not in _CLOSED_STREAM_ERRORS:
                raise StorageError(f"standard output: {error.strerror}") from None


class _Console(Console):
    """A console that escapes control characters, so that no text commands the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            is_command = bool(segment.control)  # of rich itself
            yield segment if is_command else Segment(escape_invisible(segment.text), segment.style)

    def print_json(self, *, data: object) -> None:  # type: ignore[override]
        """Prints a JSON value in any encoding; infinite numbers are null."""
        is_ascii_only = not str(self.encoding).lower().startswith("utf")
        finite_data = _replace_infinite_numbers(data)
        if self.is_terminal:  # in colour, which takes a hundred bytes of memory for each byte
            super().print_json(data=finite_data, ensure_ascii=is_ascii_only, allow_nan=False)
            return
        text = json.dumps(finite_data, indent=2, ensure_ascii=is_ascii_only, allow_nan=False)
        self.file.write(f"{escape_invisible(text)}\n")
        self.file.flush()

    @property
    def file(self) -> IO[str]:
        return cast(IO[str], _QuietStream(super().file, is_optional=self.stderr))

    @file.setter
    def file(self, file: IO[str]) -> None:
        self._file = file


def _replace_infinite_numbers(document: object) -> object:
    if isinstance(document, dict):
        return {key: _replace_infinite_numbers(item) for key, item in document.items()}
    if isinstance(document, list | tuple):
        return [_replace_infinite_numbers(item) for item in document]
    return None if isinstance(document, float) and not math.isfinite(document) else document


out = _Console(highlight=False, markup=False, soft_wrap=True)
err = _Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Book = Annotated[
    Path, typer.Argument(help="The book's folder, or its manifest.", show_default=True)
]
BookOption = Annotated[
    Path | None, typer.Option("--book", "-b", help="The book's folder, or its manifest.")
]
Chunks = Annotated[
    list[str],
    typer.Argument(
        metavar="CHUNK... [BOOK]",
        help="Chunks by number, such as 3.12 (chapter 3, chunk 12), and their book, in any order.",
        show_default=False,
        autocompletion=completion.chunks,
    ),
]
Chapters = Annotated[
    list[str] | None,
    typer.Option(
        "--chapter",
        "-c",
        metavar="CHAPTER",
        help="Only these chapters: 3, 2-5 or a title; repeatable.",
        autocompletion=completion.chapters,
    ),
]
Speakers = Annotated[
    list[str] | None,
    typer.Option(
        "--speaker",
        "-s",
        metavar="NAME",
        help="Only this speaker; repeatable.",
        autocompletion=completion.speakers,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Render again even what is already rendered.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


_CHUNK_NAME = re.compile(r"\d+\.\d+|[0-9a-f]{6,64}")
"""A chunk's name, or the start of its key."""


def split_arguments(words: Sequence[str], option: Path | None) -> tuple[list[str], Path]:
    """Separates the names of chunks from the path of their book, in any order.

    `option` is the book of `--book`. Raises UsageError if several words may be the book.
    """
    chunks = [word for word in words if _CHUNK_NAME.fullmatch(word)]
    books = [word for word in words if word not in chunks]
    if not books and option is None and not Path("book.yaml").exists():
        existing_paths = [word for word in chunks if Path(word).exists()]
        if len(existing_paths) == 1:  # a folder with a name like a chunk's
            chunks.remove(existing_paths[0])
            books = existing_paths
    book_paths = [*map(Path, books), *([option] if option else [])]
    if len(book_paths) > 1:
        names = " or ".join(str(path) for path in book_paths)
        raise UsageError(f"which is the book, {names}? Chunks are named chapter.number, as 3.12")
    return chunks, book_paths[0] if book_paths else Path("book.yaml")


def parse_chunks(words: Sequence[str], option: Path | None) -> tuple[list[str], Path]:
    """Returns at least one chunk and their book, as `split_arguments`. Raises UsageError."""
    chunks, book = split_arguments(words, option)
    if not chunks:
        raise UsageError(f"which chunks of {book}? Name them chapter.number, as 3.12")
    return list(dict.fromkeys(chunks)), book


def parse_one_chunk(words: Sequence[str], option: Path | None) -> tuple[str, Path]:
    """Returns one chunk and its book, as `split_arguments`.

    Raises UsageError for none or several.
    """
    chunks, book = split_arguments(words, option)
    if len(chunks) != 1:
        question = f"which of {', '.join(chunks)}" if chunks else "which chunk"
        book_argument = "" if book == Path("book.yaml") else f" {book}"
        raise UsageError(f"{question}? Name one, chapter.number, and its book: 3.12{book_argument}")
    return chunks[0], book


MAX_PROBLEMS = 20
"""Problems or warnings that are printed, of what may be thousands."""


def print_problems(kind: str, messages: Sequence[object]) -> None:
    """Prints the first problems or warnings, a line each, and their total number."""
    for message in messages[:MAX_PROBLEMS]:
        err.print(f"{kind}: {truncate(str(message))}")
    if (hidden_count := len(messages) - MAX_PROBLEMS) > 0:
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


def source_location(chunk: Chunk) -> str:
    """Returns the place where a chunk begins, as file:line."""
    line = chunk.pieces[0].line
    return f"{display_path(line.path)}:{line.line}"


def shorten(text: str, max_length: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


_SIGNATURE_BYTES = 512


def check_replaceable(path: Path, signature: bytes, description: str) -> None:
    """Raises UsageError if an output file exists and is of another kind, so not to be replaced.

    The kind is recognised by a signature in the first bytes. Raises StorageError if it cannot be
    read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_SIGNATURE_BYTES)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        raise UsageError(f"{display_path(path)} is a folder: name a file in it") from None
    except OSError as error:
        raise StorageError(f"{display_path(path)}: {error.strerror}") from error
    if signature not in head:
        raise UsageError(
            f"{display_path(path)} is there and is not a {description}: name another file, or "
            "remove it"
        )


@contextlib.contextmanager
def keep_awake() -> Iterator[None]:
    """Keeps an idle machine from sleeping during a render; closing its lid still puts it to sleep.

    Has no effect where the system has no such service, or refuses. Its processes end with this one,
    even if this one is killed.
    """
    if sys.platform == "darwin":
        commands = [["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())]]
    else:
        # Separately, as remote users may be refused one of them. `cat` ends with this process.
        inhibit_command = ["systemd-inhibit", "--who=narrator", "--why=a render", "--mode=block"]
        commands = [
            [*inhibit_command, f"--what={inhibition}", "cat"] for inhibition in ("idle", "sleep")
        ]
    with contextlib.ExitStack() as inhibitors:
        for command in commands:
            with contextlib.suppress(OSError):
                inhibitor = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # no ctrl-C, and no terminal to ask for a password
                )
                inhibitors.callback(inhibitors.enter_context(inhibitor).terminate)
        yield
