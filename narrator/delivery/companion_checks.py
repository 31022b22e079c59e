"""Checks captions, chapter lists and read-along books against the sound beside them.

Knows nothing of how they were made: a copied folder is judged by its contents.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator import files
from narrator.delivery.findings import FolderFinding, fault_of
from narrator.sound.clock import format_fine_clock
from narrator.sound.probe import FileFigures

_MARK_TOLERANCE = 0.15
"""Seconds that a mark may lie from its time in a list: cue sheets count 75ths."""
_MIN_LATENESS = 5
"""Tenths of a second from which on captions are reported as late."""
_MIN_FIT_GAIN = 0.08
"""How much better captions must fit at another time to be late: measured, ours fit up to 0.02
better."""
_MAX_SHIFT = 100
"""Largest shift of captions that is tried, in tenths of a second."""


def findings(root: Path, sounds: Sequence[FileFigures]) -> Iterator[FolderFinding]:
    """Yields the faults of companions under a folder; `sounds` are its sound files."""
    for path in files.visible_files(root):
        kind = next(
            (suffix for suffix in _FAULT_FINDERS if path.name.casefold().endswith(suffix)), None
        )
        if kind is None:
            continue
        sound = _find_sound(path, kind, sounds)
        try:
            fault = _FAULT_FINDERS[kind](path, sound)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
            fault = "is torn: it cannot be read"
        if fault:
            yield fault_of(path, fault, "copy it again, or make it anew")


def _find_sound(path: Path, ending: str, sounds: Sequence[FileFigures]) -> FileFigures | None:
    """Returns the sound file of a companion: it has its name, perhaps with the format in it."""
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
    """Returns the fault of captions against their sound; "" where they match."""
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
    sound_stop = sounding_tenths[-1] / 10 if len(sounding_tenths) else 0.0
    end = format_fine_clock(last_stop)
    if sound_stop > last_stop + 10:
        return f"ends at {end}, and its sound goes on until {format_fine_clock(sound_stop)}"
    lateness = _caption_lateness(is_captioned, active)
    if abs(lateness) >= _MIN_LATENESS:
        return (
            f"is {abs(lateness) / 10:.1f} s {'late' if lateness > 0 else 'early'} against its sound"
        )
    if last_stop > file.seconds + 0.5:
        return f"goes on until {end}, and its sound ends at {format_fine_clock(file.seconds)}"
    return ""


def _caption_lateness(is_captioned: NDArray[np.bool_], active: NDArray[np.bool_]) -> int:
    """Returns the tenths by which captions lag behind the sound; 0 where that is not clear."""
    fits = {
        shift: _caption_fit(is_captioned, active, shift)
        for shift in range(-_MAX_SHIFT, _MAX_SHIFT + 1)
    }
    current_fit = max(fits[shift] for shift in range(-2, 3))
    best_shift = max(fits, key=lambda late: (fits[late], -abs(late)))
    is_clear = fits[best_shift] > max(current_fit + _MIN_FIT_GAIN, 0.4)
    return best_shift if is_clear else 0


def _caption_fit(is_captioned: NDArray[np.bool_], active: NDArray[np.bool_], shift: int) -> float:
    """Returns the correlation of captions, moved `shift` tenths earlier, and sound."""
    count = min(len(is_captioned), len(active)) - abs(shift)
    if count < max(30, len(active) // 2):
        return 0.0
    captions = is_captioned[max(0, shift) :][:count].astype(np.float64)
    sound = active[max(0, -shift) :][:count].astype(np.float64)
    if not captions.std() or not sound.std():
        return 0.0
    return float(np.corrcoef(captions, sound)[0, 1])


_CAPTION_TIMES = re.compile(
    r"(?:(\d+):)?(\d\d):(\d\d)[.,](\d{3}) --> (?:(\d+):)?(\d\d):(\d\d)[.,](\d{3})"
)


def _caption_spans(text: str) -> Iterator[tuple[float, float]]:
    """Yields start and stop of each caption in WebVTT or SRT, in seconds."""
    for match in _CAPTION_TIMES.finditer(text):
        numbers = [int(part or 0) for part in match.groups()]
        start, stop = (
            hours * 3600 + minutes * 60 + seconds + thousandths / 1000
            for hours, minutes, seconds, thousandths in (numbers[:4], numbers[4:])
        )
        yield start, stop


def _chapters_fault(path: Path, file: FileFigures | None) -> str:
    """Returns the fault of JSON chapters against the marks of their sound file."""
    rows = json.loads(path.read_text("utf-8"))["chapters"]
    return _marks_fault([(float(row["startTime"]), str(row["title"])) for row in rows], file)


_CUE_TRACK = re.compile(r'TITLE "([^"\n]*)"\s+(?:[A-Z]+ [^\n]*\s+)*?INDEX 01 (\d+):(\d\d):(\d\d)')


def _cue_fault(path: Path, file: FileFigures | None) -> str:
    """Returns the fault of a cue sheet against the marks of its sound file."""
    text = path.read_text("utf-8-sig")
    _, _, tracks = text.partition("TRACK 01")
    marks = [
        (int(minutes) * 60 + int(seconds) + int(frames) / 75, title)
        for title, minutes, seconds, frames in _CUE_TRACK.findall(tracks)
    ]
    return _marks_fault(marks, file) if marks else "lists no tracks"


def _marks_fault(marks: Sequence[tuple[float, str]], file: FileFigures | None) -> str:
    """Returns how (start, title) marks differ from those of a sound file; "" where they match."""
    if file is None or not file.marks:
        return ""
    if len(marks) != len(file.marks):
        return f"lists {len(marks)} chapters, and '{file.path.name}' has {len(file.marks)} marks"
    for (start, title), mark in zip(marks, file.marks, strict=True):
        if abs(start - mark.start) > _MARK_TOLERANCE:
            mark_location = f"'{file.path.name}' at {format_fine_clock(mark.start)}"
            return f"has '{title}' begin at {format_fine_clock(start)}, and {mark_location}"
        # a cue sheet cannot hold every character
        if re.findall(r"\w+", title) != re.findall(r"\w+", mark.title):
            return f"calls a chapter '{title}', and '{file.path.name}' calls it '{mark.title}'"
    return ""


def _archive_fault(path: Path, file: FileFigures | None) -> str:
    """Returns the fault of a damaged EPUB."""
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
"""Functions that check a companion, by its ending."""
