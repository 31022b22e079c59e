"""SubRip, for players without WebVTT: plain text with times.

It has no standard. The podcast namespace asks for two lines of 32 characters, and a name with a
colon where the speaker changes. The format has neither comments nor escapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrator.delivery.companions.captions import Caption
from narrator.sound.clock import format_timecode

LINE_WIDTH = 32


def text(captions: Sequence[Caption]) -> str:
    """Returns captions, with times of the file, as an SRT file."""
    rows = []
    for number, caption in enumerate(captions, 1):
        rows.append(str(number))
        rows.append(
            f"{format_timecode(caption.start, ',')} --> {format_timecode(caption.stop, ',')}"
        )
        rows += [*_lines(caption), ""]
    return "\n".join(rows)


def _lines(caption: Caption) -> list[str]:
    """Returns the lines of a caption, with its label."""
    if not caption.label:
        return list(caption.lines)
    if caption.has_label_line:
        return [caption.label.rstrip(), *caption.lines]
    return [caption.label + caption.lines[0], *caption.lines[1:]]
