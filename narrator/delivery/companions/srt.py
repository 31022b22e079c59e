"""SubRip, for players that know no WebVTT: plain text with times.

It has no standard. Two lines of 32 characters, and a name with a colon where the speaker changes,
are what the podcast namespace asks for. The format has neither comments nor escapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrator.delivery.companions.captions import Caption
from narrator.delivery.companions.vtt import clock

LINE_WIDTH = 32


def text(captions: Sequence[Caption]) -> str:
    """Captions, whose times are the file's, as an SRT file."""
    rows = []
    for number, caption in enumerate(captions, 1):
        rows.append(str(number))
        rows.append(f"{clock(caption.start, ',')} --> {clock(caption.stop, ',')}")
        rows += [*_lines(caption), ""]
    return "\n".join(rows)


def _lines(caption: Caption) -> list[str]:
    if not caption.label:
        return list(caption.lines)
    if caption.alone:
        return [caption.label.rstrip(), *caption.lines]
    return [caption.label + caption.lines[0], *caption.lines[1:]]
