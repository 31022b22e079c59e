"""Natural order of file names: `2` before `10`."""

from __future__ import annotations

import posixpath
import re


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Returns a key that sorts `2-b` before `10-a`, and a file before the folder of its name."""
    key: list[tuple[int, int, str]] = []
    for part in posixpath.splitext(name)[0].split("/"):
        for piece in re.findall(r"\d+|\D+", part.casefold()):
            key.append((0, int(piece), "") if piece.isdecimal() else (1, 0, piece))
        key.append((-1, 0, ""))
    return key
