"""Captions, chapter lists and read-along books, held to the sound that they lie beside.

Knows nothing of how they were made: a copied folder is judged by what it contains.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator.delivery.findings import FolderFinding
from narrator.sound.clock import fine_clock
from narrator.sound.probe import FileFigures

_MEND = "copy it again, or make it anew"
_NEAR = 0.15
"""Seconds that a mark may lie from where a list says: cue sheets count 75ths."""
_LATE = 5
"""Tenths by which captions may seem to be late."""
_CLEARER = 0.08
"""By how much captions must fit better at another time to be late: measured, ours do by 0.02."""
_MOST = 100
"""Tenths by which captions are looked for elsewhere."""


def findings(root: Path, sounds: Sequence[FileFigures]) -> Iterator[FolderFinding]:
    """What is wrong with the companions in a folder, of which `sounds` are the sound files."""
    for path in sorted(root.rglob("*")):
        kind = next((ending for ending in _KINDS if path.name.casefold().endswith(ending)), None)
        hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        if kind is None or hidden or not path.is_file():
            continue
        sound = _sound_of(path, kind, sounds)
        try:
            fault = _KINDS[kind](path, sound)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
            fault = "is torn: it cannot be read"
        if fault:
            yield FolderFinding(path.parent, path, fault, _MEND)


def _sound_of(path: Path, kind: str, sounds: Sequence[FileFigures]) -> FileFigures | None:
    """The sound file that a companion is of: it has its name, and may have the format in it."""
    stem = path.name[: -len(kind)]
    for file in sounds:
        name, form = file.path.stem, file.path.suffix[1:]
        if stem in (name, f"{name} ({form})") and file.path.parent.name == path.parent.name:
            return file
    return None


def _captions_fault(path: Path, file: FileFigures | None) -> str:
    times = list(_captions(path.read_text("utf-8")))
    if not times:
        return "holds no captions"
    if file is None:
        return ""
    end = max(stop for _, stop in times)
    active = file.spectra.active
    spoken = np.zeros(len(active), bool)
    for start, stop in times:
        spoken[round(start * 10) : round(stop * 10)] = True
    last = np.flatnonzero(active)
    if len(last) and last[-1] / 10 > end + 10:
        return f"ends at {fine_clock(end)}, and its sound goes on until {fine_clock(last[-1] / 10)}"
    late = _lateness(spoken, active)
    if abs(late) >= _LATE:
        return f"is {abs(late) / 10:.1f} s {'late' if late > 0 else 'early'} against its sound"
    if end > file.seconds + 0.5:
        return f"goes on until {fine_clock(end)}, and its sound ends at {fine_clock(file.seconds)}"
    return ""


def _lateness(spoken: NDArray[np.bool_], active: NDArray[np.bool_]) -> int:
    """Tenths by which captions lag behind the sound; 0 where that is not clear."""
    fits = {late: _fit(spoken, active, late) for late in range(-_MOST, _MOST + 1)}
    now = max(fits[late] for late in range(-2, 3))
    best = max(fits, key=lambda late: (fits[late], -abs(late)))
    return best if fits[best] > now + _CLEARER and fits[best] > 0.4 else 0


def _fit(spoken: NDArray[np.bool_], active: NDArray[np.bool_], late: int) -> float:
    """Correlation of captions and sound, if those come so many tenths late."""
    count = min(len(spoken), len(active)) - abs(late)
    if count < max(30, len(active) // 2):
        return 0.0
    a = spoken[max(0, late) :][:count].astype(np.float64)
    b = active[max(0, -late) :][:count].astype(np.float64)
    if not a.std() or not b.std():
        return 0.0
    return float(np.mean((a - a.mean()) * (b - b.mean())) / (a.std() * b.std()))


_TIME = re.compile(r"(?:(\d+):)?(\d\d):(\d\d)[.,](\d{3}) --> (?:(\d+):)?(\d\d):(\d\d)[.,](\d{3})")


def _captions(text: str) -> Iterator[tuple[float, float]]:
    """Seconds at which captions begin and end, of WebVTT and SRT."""
    for match in _TIME.finditer(text):
        parts = [int(part or 0) for part in match.groups()]
        start, stop = (
            hours * 3600 + minutes * 60 + seconds + thousandths / 1000
            for hours, minutes, seconds, thousandths in (parts[:4], parts[4:])
        )
        yield start, stop


def _chapters_fault(path: Path, file: FileFigures | None) -> str:
    rows = json.loads(path.read_text("utf-8"))["chapters"]
    return _marks_fault([(float(row["startTime"]), str(row["title"])) for row in rows], file)


_TRACK = re.compile(r'TITLE "([^"\n]*)"\s+(?:[A-Z]+ [^\n]*\s+)*?INDEX 01 (\d+):(\d\d):(\d\d)')


def _cue_fault(path: Path, file: FileFigures | None) -> str:
    text = path.read_text("utf-8-sig")
    _, _, tracks = text.partition("TRACK 01")
    marks = [
        (int(minutes) * 60 + int(seconds) + int(frames) / 75, title)
        for title, minutes, seconds, frames in _TRACK.findall(tracks)
    ]
    return _marks_fault(marks, file) if marks else "lists no tracks"


def _marks_fault(marks: Sequence[tuple[float, str]], file: FileFigures | None) -> str:
    if file is None or not file.marks:
        return ""
    if len(marks) != len(file.marks):
        return f"lists {len(marks)} chapters, and '{file.path.name}' has {len(file.marks)} marks"
    for (start, title), mark in zip(marks, file.marks, strict=True):
        if abs(start - mark.start) > _NEAR:
            there = f"'{file.path.name}' at {fine_clock(mark.start)}"
            return f"has '{title}' begin at {fine_clock(start)}, and {there}"
        # a cue sheet cannot hold every sign
        if re.findall(r"\w+", title) != re.findall(r"\w+", mark.title):
            return f"calls a chapter '{title}', and '{file.path.name}' calls it '{mark.title}'"
    return ""


def _archive_fault(path: Path, file: FileFigures | None) -> str:
    with zipfile.ZipFile(path) as archive:
        torn = archive.testzip()
    return f"is damaged: {torn} cannot be read" if torn else ""


_KINDS = {
    ".vtt": _captions_fault,
    ".srt": _captions_fault,
    ".chapters.json": _chapters_fault,
    ".cue": _cue_fault,
    ".epub": _archive_fault,
}
"""Companions by their endings, and what finds what is wrong with each."""
