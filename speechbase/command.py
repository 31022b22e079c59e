"""`python -m PACKAGE convert SRC DST`, of every model package: its arguments and its errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from speechbase.errors import ModelError


def convert_parser(
    prog: str, about: str
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """A parser, and that of its command `convert`, which may be given more options."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=about)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("convert", help="write a checkpoint for MLX")
    command.add_argument("src", metavar="SRC", help="directory or hub id, owner/name[@revision]")
    command.add_argument("dst", metavar="DST", help="directory to make")
    command.add_argument("--dtype", help="float32, bfloat16 or float16; the source's if not given")
    command.add_argument(
        "--quantize", type=int, metavar="BITS", help="quantise the language models, 8 is safe"
    )
    command.add_argument("--group-size", type=int, default=64, help="numbers that share a scale")
    return parser, command


def exit_status(work: Callable[[], Any]) -> int:
    """Do it; 0, or 1 with what went wrong in a line on stderr."""
    try:
        work()
    except ModelError as error:
        return _report_error(str(error))
    except (OSError, RuntimeError, MemoryError) as error:  # the disk is full, or memory; MLX's
        return _report_error(f"{type(error).__name__}: {error}")
    return 0


def _report_error(reason: str) -> int:
    sys.stderr.write(f"error: {' '.join(reason.split())}\n")
    return 1
