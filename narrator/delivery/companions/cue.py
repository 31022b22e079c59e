"""A CUE sheet: the chapters of one audio file, for players that read no marks in it."""

from __future__ import annotations

from collections.abc import Sequence

from narrator.sound.formats import FORMATS

MAX_TRACKS = 99
"""Most tracks of a CUE sheet."""
FRAMES_PER_SECOND = 75
"""Frames, its unit of time, in a second."""


def text(
    file_name: str, format: str, title: str, author: str, chapters: Sequence[tuple[str, float]]
) -> str:
    """Returns chapters (title, start in seconds) of a file as a CUE sheet.

    Times are rounded to the nearest frame of 1/75 s; minutes run on past 99. The format cannot
    write `"` within a text, so it becomes `'`.
    """
    rows = [f"PERFORMER {_quoted(author)}"] if author else []
    rows += [f"TITLE {_quoted(title)}", f"FILE {_quoted(file_name)} {FORMATS[format].cue_type}"]
    for number, (name, start) in enumerate(chapters, 1):
        rows += [
            f"  TRACK {number:02} AUDIO",
            f"    TITLE {_quoted(name)}",
            f"    INDEX 01 {_clock(start)}",
        ]
    return "\n".join([*rows, ""])


def _clock(seconds: float) -> str:
    seconds_total, frames = divmod(round(seconds * FRAMES_PER_SECOND), FRAMES_PER_SECOND)
    return f"{seconds_total // 60:02}:{seconds_total % 60:02}:{frames:02}"


def _quoted(text: str) -> str:
    return '"' + " ".join(text.split()).replace('"', "'") + '"'
