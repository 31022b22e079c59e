"""The command `python -m PACKAGE convert SRC DST` of every model package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from speechbase.errors import ModelError


def convert_parser(
    prog: str, about: str
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Returns a parser, and the parser of its command `convert`, to which options can be added."""
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
    """Runs `work`; returns 0, or 1 after an error message of one line on stderr."""
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
