"""What all commands share: the app, the consoles, options, and words for people."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(
    help="A manuscript and a cast in, a finished audiobook or podcast out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
logging.getLogger("narrator").addHandler(logging.NullHandler())  # a run adds its own file
out = Console(highlight=False, markup=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Book = Annotated[Path, typer.Argument(help="The manifest, or its folder.", show_default=True)]
Draft = Annotated[bool, typer.Option("--draft", help="Use the draft voice, whatever the engine.")]
Chapters = Annotated[
    list[str] | None, typer.Option("--chapter", "-c", help="A chapter's number or title.")
]
Speakers = Annotated[list[str] | None, typer.Option("--speaker", "-s", help="A speaker's name.")]
Force = Annotated[bool, typer.Option("--force", help="Render again what is cached.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def near(path: Path) -> Path:
    """A path as short as it can be said from here."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except (ValueError, OSError):
        return path


def short(text: str, most: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def sized(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
