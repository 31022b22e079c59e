"""The program's own help -> docs/commands.md and docs/narrator.1, the manual page.

Run by `make docs`, held current by test_docs.py.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from narrator import __version__, cli
from narrator.cli import shared
from narrator.cli.commands import Command
from tests.manifest_page import table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "commands.md"
MANUAL = ROOT / "docs" / "narrator.1"

VARIABLES = {
    "NARRATOR_HOME": "The folder that all projects share, with voices, settings and converted "
    "models; by default in the system's folder for user data. `narrator doctor` shows its path.",
    "NARRATOR_BUILD": "The build folder of the project, like --build.",
    "NARRATOR_ENGINE": "The engine that speaks instead of the book's, like --engine.",
    "NARRATOR_SERVE_TOKEN": "The token that `narrator serve` requires.",
    "NARRATOR_TRACEBACK": "1 shows where an internal error happened.",
    "AUDIOBOOKSHELF_TOKEN": "The API key of the server that `narrator deliver` sends to.",
    "HF_HOME": "The cache of the Hugging Face hub, with downloaded models.",
}
"""Environment variables that people set."""
FILES = {
    "book.yaml": "The manifest of a project: its texts, speakers, voices and output.",
    "build": "Takes, finished files and logs of a project, in its folder.",
    "settings.yaml": "Your own settings, in NARRATOR_HOME.",
    "voices": "Presets: in a project, or in NARRATOR_HOME for all projects.",
}
HEAD = """\
# Commands

Every command with its arguments and options, as `--help` prints them. This page is made from the \
program by `make docs`, and so is the manual page, `man narrator`.

**Completion.** `narrator --install-completion` sets up bash, zsh or fish to complete commands and \
options, and the chapters, speakers, voices, engines, models and profiles of the book that the \
command line names, or else of the one in the current folder. Chunks are completed chapter by \
chapter as the last render listed them, so only after the first render; zsh and fish show their \
first words. `narrator --show-completion` prints the script, so that you can put it elsewhere.

**The manual page** is installed by pipx, and by pip in an active environment. `uv tool` does not \
put it where `man` looks: \
`man "$(uv tool dir)/narrator-audiobook/share/man/man1/narrator.1"` shows it.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command with its help."""

    name: str
    usage: str
    paragraphs: Sequence[str]
    rows: Sequence[tuple[str, str]]
    """Arguments and options with their meaning, without the options of a project."""
    has_project: bool
    """True if it takes the options of commands that work on a project."""


def entries() -> Iterator[Entry]:
    """Yields the program and its commands by purpose, a group before its commands."""
    yield from _walk(typer.main.get_command(cli.load_commands()), None, "narrator")


def _walk(command: typer.core.TyperCommand, parent: typer.Context | None, name: str) -> Iterator:
    context = typer.Context(command, info_name=name, parent=parent)
    if isinstance(command, Command):
        rows = [row for part in command.help_rows(context).values() for row in part]
    else:
        records = (parameter.get_help_record(context) for parameter in command.get_params(context))
        rows = [record for record in records if record is not None]
    common_rows = [*project_rows(), ("--help", "Show this message and exit.")]
    yield Entry(
        context.command_path,
        " ".join([context.command_path, *command.collect_usage_pieces(context)]),
        [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")],
        [row for row in rows if row not in common_rows],
        all(row in rows for row in project_rows()),
    )
    for below in getattr(command, "commands", {}) and command.list_commands(context):
        if not command.commands[below].hidden:
            yield from _walk(command.resolve_command(context, [below])[1], context, below)


def project_rows() -> list[tuple[str, str]]:
    """Returns the options of every command that works on a project."""
    options = typer.core.TyperCommand(None, params=shared.project_options())
    context = typer.Context(options)
    return [row for option in options.params if (row := option.get_help_record(context))]


def exit_codes() -> dict[str, str]:
    text = " ".join((cli.__doc__ or "").partition("Exit codes:")[2].split())
    return dict(re.findall(r"(\d+) (.+?)(?:; |\.$)", text))


# -- the page --------------------------------------------------------------------------------------


def page() -> str:
    """Returns the page."""
    parts = [HEAD]
    purposes = {name: purpose for purpose, names in shared.PURPOSES.items() for name in names}
    purpose = ""
    for entry in entries():
        words = entry.name.split()
        if len(words) > 1 and purposes[words[1]] != purpose:
            purpose = purposes[words[1]]
            parts.append(f"## {purpose}\n")
        if len(words) > 1:
            parts.append(f"{'#' * (len(words) + 1)} {entry.name}\n")
        parts.append(f"```text\n{entry.usage}\n```\n")
        parts += [f"{_prose(paragraph)}\n" for paragraph in entry.paragraphs]
        if entry.rows:
            parts.append(_table(entry.rows, "name"))
        if entry.has_project:
            parts.append("Also takes the [options of a project](#options-of-a-project).\n")
    parts.append("## Options of a project\n\nEvery command that works on a book takes these.\n")
    parts.append(_table(project_rows(), "name"))
    for title, name, rows in (
        ("Exit codes", "code", exit_codes()),
        ("Environment", "variable", VARIABLES),
        ("Files", "file", FILES),
    ):
        parts += [f"## {title}\n", _table(rows.items(), name)]
    return "\n".join(parts)


def _table(rows: Iterable[tuple[str, str]], name: str) -> str:
    return table((name, "meaning"), *((f"`{code}`", _prose(text)) for code, text in rows))


def _prose(text: str) -> str:
    """Escapes what Markdown would take for emphasis or a tag, outside of code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(p if p.startswith("`") else re.sub(r"([*_<])", r"\\\1", p) for p in parts)


# -- the manual page -------------------------------------------------------------------------------


def manual() -> str:
    """Returns the manual page, in the macros of man(7)."""
    date = re.findall(
        r"^## \[[\d.]+\] - ([\d-]+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    program, *commands = entries()
    lines = [
        '.\\" Made from the program by `make docs`.',
        f'.TH NARRATOR 1 "{date[0]}" "narrator {__version__}" "User Commands"',
        ".SH NAME",
        f"narrator \\- {_text(program.paragraphs[0][0].lower() + program.paragraphs[0][1:-1])}",
        ".SH SYNOPSIS",
        _styled(program.usage),
        ".SH DESCRIPTION",
        *_filled("Options follow the command. A book is named by its manifest or its folder; "
                 "without one, book.yaml in this folder is used."),
        *_list(program.rows),
        ".SH COMMANDS",
    ]  # fmt: skip
    for entry in commands:
        lines += [f".SS {_text(entry.name)}", _styled(entry.usage)]
        for paragraph in entry.paragraphs:
            lines += [".PP", *_filled(paragraph)]
        lines += _list(entry.rows)
        if entry.has_project:
            lines += [".PP", "Also takes the project options below."]
    lines += [".SH PROJECT OPTIONS", *_list(project_rows())]
    for title, rows in (
        ("EXIT STATUS", exit_codes()), ("ENVIRONMENT", VARIABLES), ("FILES", FILES)
    ):  # fmt: skip
        lines += [f".SH {title}", *_list(rows.items())]
    lines += [".SH SEE ALSO", ".BR rclone (1)"]
    return "\n".join(lines) + "\n"


def _list(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, text in rows for line in (".TP", _styled(name), *_filled(text))]


def _styled(words: str) -> str:
    """Sets words that are typed as they are in bold, and names of values in italics."""
    return " ".join(
        f"\\f{'I' if word.isupper() else 'B'}{_text(word)}\\fR" for word in words.split()
    )


def _filled(text: str) -> list[str]:
    """Returns lines of text, none of which roff takes for a macro."""
    lines = textwrap.wrap(_text(text), 78, break_long_words=False, break_on_hyphens=False)
    return [rf"\&{line}" if line.startswith((".", "'")) else line for line in lines]


def _text(text: str) -> str:
    r"""Escapes text for roff: \ and the signs that roff changes; code in backquotes is bold."""
    text = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    text = text.replace("~", r"\(ti").replace("^", r"\(ha")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "".join(c if c.isascii() else rf"\[u{ord(c):04X}]" for c in text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    MANUAL.write_text(manual(), "utf-8")
