"""`narrator`, and `python -m narrator`."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it: ctrl-C may come while it is loaded."""
    try:
        from narrator.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
