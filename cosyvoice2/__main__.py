"""`python -m cosyvoice2 convert SRC DST`: write a checkpoint that loads as it is, and smaller."""

from __future__ import annotations

import sys

from cosyvoice2.convert import convert
from speechbase.command import convert_parser, exit_status


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser, _ = convert_parser("cosyvoice2", str(__doc__))
    options = parser.parse_args(arguments)
    return exit_status(
        lambda: convert(
            options.src,
            options.dst,
            dtype=options.dtype,
            quantize=options.quantize,
            group_size=options.group_size,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
