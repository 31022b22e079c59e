"""`python -m voxcpm2 convert SRC DST`: write a checkpoint that loads as it is, smaller, merged."""

from __future__ import annotations

import sys

from speechbase.command import convert_parser, exit_status
from voxcpm2.convert import PARTS, convert


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser, command = convert_parser("voxcpm2", str(__doc__))
    command.add_argument(
        "--also", nargs="+", choices=PARTS, default=[], metavar="PART",
        help="quantise these too: " + ", ".join(PARTS),
    )  # fmt: skip
    command.add_argument("--lora", help="merge this LoRA first, a directory or hub id")
    options = parser.parse_args(arguments)
    return exit_status(
        lambda: convert(
            options.src,
            options.dst,
            dtype=options.dtype,
            quantize=options.quantize,
            group_size=options.group_size,
            also=options.also,
            lora=options.lora,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
