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

_REMEDY = "copy it again, or make it anew"
_MARK_TOLERANCE = 0.15
"""Seconds that a mark may lie from where a list says: cue sheets count 75ths."""
_MIN_LATENESS = 5
"""Tenths by which captions may seem to be late."""
_MIN_FIT_GAIN = 0.08
"""By how much captions must fit better at another time to be late: measured, ours do by 0.02."""
_MAX_SHIFT = 100
"""Tenths by which captions are looked for elsewhere."""


def findings(root: Path, sounds: Sequence[FileFigures]) -> Iterator[FolderFinding]:
    """What is wrong with the companions in a folder, of which `sounds` are the sound files."""
    for path in sorted(root.rglob("*")):
        kind = next(
            (suffix for suffix in _FAULT_FINDERS if path.name.casefold().endswith(suffix)), None
        )
        is_hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        if kind is None or is_hidden or not path.is_file():
            continue
        sound = _find_sound(path, kind, sounds)
        try:
            fault = _FAULT_FINDERS[kind](path, sound)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
            fault = "is torn: it cannot be read"
        if fault:
            yield FolderFinding(path.parent, path, fault, _REMEDY)


def _find_sound(path: Path, ending: str, sounds: Sequence[FileFigures]) -> FileFigures | None:
    """The sound file that a companion is of: it has its name, and may have the format in it."""
    stem = path.name[: -len(ending)]
    for file in sounds:
        sound_name, format_name = file.path.stem, file.path.suffix[1:]
        if (
            stem in (sound_name, f"{sound_name} ({format_name})")
            and file.path.parent.name == path.parent.name
        ):
            return file
    return None


def _captions_fault(path: Path, file: FileFigures | None) -> str:
    spans = list(_caption_spans(path.read_text("utf-8")))
    if not spans:
        return "holds no captions"
    if file is None:
        return ""
    last_stop = max(stop for _, stop in spans)
    active = file.spectra.active
    is_captioned = np.zeros(len(active), bool)
    for start, stop in spans:
        is_captioned[round(start * 10) : round(stop * 10)] = True
    sounding_tenths = np.flatnonzero(active)
    if len(sounding_tenths) and sounding_tenths[-1] / 10 > last_stop + 10:
        return f"ends at {fine_clock(last_stop)}, and its sound goes on until {fine_clock(sounding_tenths[-1] / 10)}"
    lateness = _caption_lateness(is_captioned, active)
    if abs(lateness) >= _MIN_LATENESS:
        return (
            f"is {abs(lateness) / 10:.1f} s {'late' if lateness > 0 else 'early'} against its sound"
        )
    if last_stop > file.seconds + 0.5:
        return f"goes on until {fine_clock(last_stop)}, and its sound ends at {fine_clock(file.seconds)}"
    return ""


def _caption_lateness(is_captioned: NDArray[np.bool_], active: NDArray[np.bool_]) -> int:
    """Tenths by which captions lag behind the sound; 0 where that is not clear."""
    fits = {
        shift: _caption_fit(is_captioned, active, shift)
        for shift in range(-_MAX_SHIFT, _MAX_SHIFT + 1)
    }
    current_fit = max(fits[shift] for shift in range(-2, 3))
    best_shift = max(fits, key=lambda late: (fits[late], -abs(late)))
    return (
        best_shift
        if fits[best_shift] > current_fit + _MIN_FIT_GAIN and fits[best_shift] > 0.4
        else 0
    )


def _caption_fit(is_captioned: NDArray[np.bool_], active: NDArray[np.bool_], shift: int) -> float:
    """Correlation of captions and sound, if those come so many tenths late."""
    count = min(len(is_captioned), len(active)) - abs(shift)
    if count < max(30, len(active) // 2):
        return 0.0
    captions = is_captioned[max(0, shift) :][:count].astype(np.float64)
    sound = active[max(0, -shift) :][:count].astype(np.float64)
    if not captions.std() or not sound.std():
        return 0.0
    return float(
        np.mean((captions - captions.mean()) * (sound - sound.mean()))
        / (captions.std() * sound.std())
    )


_CAPTION_TIMES = re.compile(
    r"(?:(\d+):)?(\d\d):(\d\d)[.,](\d{3}) --> (?:(\d+):)?(\d\d):(\d\d)[.,](\d{3})"
)


def _caption_spans(text: str) -> Iterator[tuple[float, float]]:
    """Seconds at which captions begin and end, of WebVTT and SRT."""
    for match in _CAPTION_TIMES.finditer(text):
        numbers = [int(part or 0) for part in match.groups()]
        start, stop = (
            hours * 3600 + minutes * 60 + seconds + thousandths / 1000
            for hours, minutes, seconds, thousandths in (numbers[:4], numbers[4:])
        )
        yield start, stop


def _chapters_fault(path: Path, file: FileFigures | None) -> str:
    rows = json.loads(path.read_text("utf-8"))["chapters"]
    return _marks_fault([(float(row["startTime"]), str(row["title"])) for row in rows], file)


_CUE_TRACK = re.compile(r'TITLE "([^"\n]*)"\s+(?:[A-Z]+ [^\n]*\s+)*?INDEX 01 (\d+):(\d\d):(\d\d)')


def _cue_fault(path: Path, file: FileFigures | None) -> str:
    text = path.read_text("utf-8-sig")
    _, _, tracks = text.partition("TRACK 01")
    marks = [
        (int(minutes) * 60 + int(seconds) + int(frames) / 75, title)
        for title, minutes, seconds, frames in _CUE_TRACK.findall(tracks)
    ]
    return _marks_fault(marks, file) if marks else "lists no tracks"


def _marks_fault(marks: Sequence[tuple[float, str]], file: FileFigures | None) -> str:
    if file is None or not file.marks:
        return ""
    if len(marks) != len(file.marks):
        return f"lists {len(marks)} chapters, and '{file.path.name}' has {len(file.marks)} marks"
    for (start, title), mark in zip(marks, file.marks, strict=True):
        if abs(start - mark.start) > _MARK_TOLERANCE:
            mark_location = f"'{file.path.name}' at {fine_clock(mark.start)}"
            return f"has '{title}' begin at {fine_clock(start)}, and {mark_location}"
        # a cue sheet cannot hold every sign
        if re.findall(r"\w+", title) != re.findall(r"\w+", mark.title):
            return f"calls a chapter '{title}', and '{file.path.name}' calls it '{mark.title}'"
    return ""


def _archive_fault(path: Path, file: FileFigures | None) -> str:
    with zipfile.ZipFile(path) as archive:
        damaged_member = archive.testzip()
    return f"is damaged: {damaged_member} cannot be read" if damaged_member else ""


_FAULT_FINDERS = {
    ".vtt": _captions_fault,
    ".srt": _captions_fault,
    ".chapters.json": _chapters_fault,
    ".cue": _cue_fault,
    ".epub": _archive_fault,
}
"""Companions by their endings, and what finds what is wrong with each."""
