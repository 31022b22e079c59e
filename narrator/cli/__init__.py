"""Commands, progress, exit codes: the only print, the only broad except.

A command belongs here: its arguments, what it calls, how the answer looks. What it finds out or
does is decided in the rooms below, where a page or a server can ask for it, too.

Exit codes: 0 done; 1 finished, but takes are doubtful, given up or missing; 2 the project or the
command line is wrong; 3 the machine cannot do it (space, permissions, packages, another render); 4
a file missed its target or fails its profile; 70 an internal error; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import logging
import os
import sys
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from narrator import __version__, files
from narrator.cli import completion, shared
from narrator.cli.progress import progress_lines
from narrator.cli.shared import err, out, print_problems, shorten
from narrator.errors import EnvironmentFailed, NarratorError, UserError

_MODULES = {
    "cast": ("cast",),
    "auditioning": ("voices",),
    "cluster": ("scheduler", "worker"),
    "companions": ("feed",),
    "deliver": ("deliver",),
    "delivery": ("verify",),
    "doctor": ("doctor",),
    "hearing": ("hear",),
    "importing": ("new",),
    "models": ("models",),
    "own": ("own",),
    "pickups": ("flag", "pickups"),
    "places": ("where", "play"),
    "planning": ("plan", "status", "why"),
    "rendering": ("render", "export"),
    "serve": ("serve",),
    "studio": ("studio",),
    "takes": ("takes", "retake", "pin", "unpin"),
    "text": ("check", "schema"),
    "upkeep": ("gc",),
    "voices": ("voices",),
}
"""The commands of each module, which is loaded when one of them runs."""


def load_commands(name: str | None = None) -> typer.Typer:
    """The program with the command of this name, or with all where there is none of this name."""
    modules = [module for module, commands in _MODULES.items() if name in commands]
    for module in modules or _MODULES:
        import_module(f"narrator.cli.{module}")
    return shared.app


def __getattr__(name: str) -> typer.Typer:
    if name == "app":
        return load_commands()
    raise AttributeError(f"module 'narrator.cli' has no attribute '{name}'")


_NO_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EILSEQ)
"""Errors of a name, not of a file."""


def main() -> None:
    """The command `narrator`: exceptions become messages and exit codes here and nowhere else."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know every letter
    gc.set_threshold(100_000, 20, 20)  # starting makes many objects, and hardly any garbage
    if instruction := os.environ.get(completion.INSTRUCTION):
        from narrator.cli import shells

        shells.run(instruction, load_commands)
    silent = "--json" in sys.argv or sys.argv[1:2] == ["own"]
    command = " ".join(["narrator", *sys.argv[1:2]])
    beats = contextlib.nullcontext() if silent else progress_lines(err, command)
    try:
        with beats:
            load_commands(next(iter(sys.argv[1:]), None))(prog_name="narrator")
    except NarratorError as error:
        print_problems("error", error.problems)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        err.print("stopped; what was finished is stored")
        sys.exit(130)
    except OSError as error:
        if error.errno in _NO_NAME:
            err.print(f"error: {shorten(str(error.filename))}: {error.strerror}")
            sys.exit(UserError.exit_code)
        if not files.is_refusal(error):
            _fail(error)
        location = f"{error.filename}: " if error.filename else ""
        err.print(f"error: {location}{files.reason(error)}")
        sys.exit(EnvironmentFailed.exit_code)
    except Exception as error:
        _fail(error)


def _fail(error: Exception) -> NoReturn:
    """A fault of narrator's own, called where it was caught. Raises SystemExit, or the error."""
    logging.getLogger("narrator").exception("internal error")
    err.print(
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a fault of narrator's own; takes that were finished are stored. "
        "Run again with NARRATOR_TRACEBACK=1 to see where it happened."
    )
    if os.environ.get("NARRATOR_TRACEBACK"):
        raise error
    sys.exit(70)


@shared.app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="With --version: also the versions of packages and system."),
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option(
            "--install-completion",
            help="Set up completion of commands, chapters, voices and chunks in this shell: "
            "bash, zsh or fish.",
        ),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option(
            "--show-completion", help="Print the completion script instead of installing it."
        ),
    ] = False,
) -> None:
    if install_completion or show_completion:
        from narrator.cli import shells

        (shells.install_script if install_completion else shells.show_script)()
        raise typer.Exit
    if version:
        _print_versions(verbose)
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


def _print_versions(verbose: bool) -> None:
    if not verbose:
        out.print(f"narrator {__version__}")
        return
    from narrator.cli.doctor import describe_program
    from narrator.installation import installed_packages

    out.print(describe_program())
    for name, release in installed_packages().items():
        out.print(f"{name} {release}")
