"""WebVTT with the speakers' names: the format that browsers and podcast apps read.

https://www.w3.org/TR/webvtt1/; lines of 65 characters as the podcast namespace recommends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrator.delivery.companions.captions import Caption
from narrator.sound.clock import format_timecode

LINE_WIDTH = 65


def text(captions: Sequence[Caption], title: str, *, ids: bool = False, words: bool = False) -> str:
    """Returns captions, with times of the file, as a WebVTT file.

    With `ids` they carry the ids of their chunks: 3.12, and 3.12/2 for its second caption. With
    `words` it has the times of words, where they are known.
    """
    rows = ["WEBVTT", "", f"NOTE {_note_text(title)}".rstrip(), _timing_note(captions), ""]
    for caption in captions:
        if ids:
            rows.append(caption.chunk + (f"/{caption.part}" if caption.part > 1 else ""))
        rows.append(f"{format_timecode(caption.start)} --> {format_timecode(caption.stop)}")
        rows.append(f"<v {_voice_name(caption.speaker)}>" + "".join(_caption_lines(caption, words)))
        rows.append("")
    return "\n".join(rows)


def _timing_note(captions: Sequence[Caption]) -> str:
    """Returns the comment on the sources of times."""
    names = sorted({caption.timed_by for caption in captions}, key=lambda name: (not name, name))
    if not any(names):
        return "Takes lie where they are heard; times within a take are estimated from the text."
    source_names = ", ".join(_note_text(name) or "estimated from the text" for name in names)
    return f"Takes lie where they are heard; times within a take: {source_names}."


def _caption_lines(caption: Caption, words: bool) -> Iterator[str]:
    """Yields the lines of a caption, with the times of their words."""
    lines = "\n".join(caption.lines)
    position, last_time = 0, caption.start
    for word_position, time in caption.words if words else ():
        if last_time < time < caption.stop:
            yield f"{escaped(lines[position:word_position])}<{format_timecode(time)}>"
            position, last_time = word_position, time
    yield escaped(lines[position:])


def escaped(line: str) -> str:
    """Escapes a line for WebVTT: an arrow in it would be read as times."""
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _voice_name(speaker: str) -> str:
    """Returns a name for a voice tag, which ends at `>` or the end of the line."""
    return escaped(" ".join(speaker.split()))


def _note_text(title: str) -> str:
    """Returns a title for a comment, in which an arrow may not occur."""
    return " ".join(title.split()).replace("-->", "→")
