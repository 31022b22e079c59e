"""`python -m voxcpm2 convert SRC DST`: write a checkpoint that loads as it is, smaller, merged."""

from __future__ import annotations

import argparse
import sys

from speechbase.errors import ModelError
from voxcpm2.convert import PARTS, convert


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m voxcpm2", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("convert", help="write a checkpoint for MLX")
    command.add_argument("src", metavar="SRC", help="directory or hub id, owner/name[@revision]")
    command.add_argument("dst", metavar="DST", help="directory to make")
    command.add_argument("--dtype", help="float32, bfloat16 or float16; config.json's if not given")
    command.add_argument(
        "--quantize", type=int, metavar="BITS", help="quantise the two language models, 8 is safe"
    )
    command.add_argument("--group-size", type=int, default=64, help="numbers that share a scale")
    command.add_argument(
        "--also", nargs="+", choices=PARTS, default=[], metavar="PART",
        help="quantise these too: " + ", ".join(PARTS),
    )  # fmt: skip
    command.add_argument("--lora", help="merge this LoRA first, a directory or hub id")
    options = parser.parse_args(arguments)
    try:
        convert(
            options.src,
            options.dst,
            dtype=options.dtype,
            quantize=options.quantize,
            group_size=options.group_size,
            also=options.also,
            lora=options.lora,
        )
    except ModelError as error:
        return _failed(str(error))
    except (OSError, RuntimeError, MemoryError) as error:  # the disk is full, or memory; MLX's
        return _failed(f"{type(error).__name__}: {error}")
    return 0


def _failed(why: str) -> int:
    print(f"error: {' '.join(why.split())}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
