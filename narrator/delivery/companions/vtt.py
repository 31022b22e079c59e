"""WebVTT, with who speaks: the format that browsers and podcast apps read.

https://www.w3.org/TR/webvtt1/; lines of 65 characters as the podcast namespace recommends.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrator.delivery.companions.captions import Caption

WIDTH = 65


def text(captions: Sequence[Caption], title: str, *, ids: bool = False) -> str:
    """Captions, whose times are the file's, as a WebVTT file; with `ids` they are called by their
    chunks: 3.12, and 3.12/2 for its second."""
    note = "Takes lie where they are heard; times within a take are estimated from the text."
    rows = ["WEBVTT", "", f"NOTE {_note(title)}".rstrip(), note, ""]
    for caption in captions:
        if ids:
            rows.append(caption.chunk + (f"/{caption.part}" if caption.part > 1 else ""))
        rows.append(f"{clock(caption.start)} --> {clock(caption.stop)}")
        rows.append(f"<v {_name(caption.speaker)}>" + "\n".join(map(escaped, caption.lines)))
        rows.append("")
    return "\n".join(rows)


def clock(time: int, point: str = ".") -> str:
    """Milliseconds as hours, minutes and seconds: 01:02:03.004."""
    seconds, rest = divmod(time, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{point}{rest:03}"


def escaped(line: str) -> str:
    """A line as WebVTT's text: an arrow in it would be taken for times."""
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _name(speaker: str) -> str:
    """A name as the annotation of a voice, which ends at `>` or the end of the line."""
    return escaped(" ".join(speaker.split()))


def _note(title: str) -> str:
    return " ".join(title.split()).replace("-->", "→")
