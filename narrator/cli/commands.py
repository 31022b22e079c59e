"""Commands whose help names values as people know them: BOOK, TEXT, PATH.

Typer names the types of Python: `book <path>`, `--chapter <list[str]>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

if TYPE_CHECKING:
    from typer import _click as click  # as typer carries it

Function = TypeVar("Function", bound=Callable[..., Any])
_VALUE_NAMES = {Path: "PATH", int: "NUMBER", float: "NUMBER"}
"""Names of values by type; others are TEXT."""


class Command(TyperCommand):
    """A command with its arguments in capitals, and with plain names of values."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            if isinstance(parameter, TyperArgument) and parameter.metavar is None:
                parameter.metavar = parameter.name.upper() + "..." * (parameter.nargs == -1)
            if isinstance(parameter, TyperOption) and parameter.metavar is None:
                parameter.metavar = _value_name(parameter)
        return parameters

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        arguments = [p for p in self.get_params(ctx) if isinstance(p, TyperArgument)]
        return ["[OPTIONS]", *map(_usage_of, arguments)]

    def help_rows(self, ctx: click.Context) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Returns names and help of arguments and options, by the heading over them."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            text = re.sub(r"(\d[\d.]*)<=x<=(\d[\d.]*)", r"\1 to \2", text).replace("x>=", "from ")
            if isinstance(parameter, TyperArgument):
                name = parameter.display_name_raw
                rows["Arguments"].append((name, text.removesuffix("[required]").rstrip()))
            else:
                rows["Options"].append((name, text))
        return rows

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, rows in self.help_rows(ctx).items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _usage_of(argument: TyperArgument) -> str:
    name = argument.display_name_raw
    return name if argument.required or "[" in name else f"[{name}]"


def _value_name(option: TyperOption) -> str | None:
    annotation = option.type_descriptor.annotation
    kinds = get_args(annotation) or (annotation,)
    return None if option.is_flag else _VALUE_NAMES.get(kinds[0], "TEXT")


class Commands(typer.Typer):
    """A program, or a group of commands in it."""

    def command(  # type: ignore[override]
        self, name: str | None = None, *, hidden: bool = False
    ) -> Callable[[Function], Function]:
        return super().command(name, cls=Command, hidden=hidden)
