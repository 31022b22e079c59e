"""Measures delivered files, ours or anyone's, and holds them to a profile.

One pass through a file, in bounded memory; changes nothing. Knows nothing of projects and of how
files were made.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from narrator.errors import UserError
from narrator.project.profiles import Profile, Span
from narrator.sound import meters
from narrator.sound.clock import format_fine_clock
from narrator.sound.formats import FORMATS
from narrator.sound.probe import FileFigures, measure_sound_file

QUIET = 10.0
"""Seconds without speech or music that no book has, unless its manuscript says so."""


@dataclass(frozen=True, slots=True)
class Check:
    """A figure of a file beside a profile's demand; an empty demand accepts anything."""

    name: str
    figure: str
    demand: str
    ok: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.figure}, {self.demand}"


def checks(
    file: FileFigures,
    profile: Profile | None,
    first_file: FileFigures | None = None,
    longest_pause: float = 0.0,
) -> list[Check]:
    """Holds a file to a profile; without one, checks only for faults of any file.

    `first_file` is the first file of the book, which the others must match where the profile
    demands it; `longest_pause` the seconds of the longest pause known to be intended.
    """
    profile = profile or Profile("", (), "both", gap=None, tags=())
    return [
        *_level_checks(file, profile),
        *_edge_checks(file, profile),
        *_coding_checks(file, profile, first_file or file),
        *_tag_checks(file, profile),
        *_fault_checks(file, profile, longest_pause),
    ]


def _level_checks(file: FileFigures, profile: Profile) -> Iterator[Check]:
    """Yields checks of loudness, peaks and noise floor."""
    loudness = file.loudness
    span = None
    if profile.loudness is not None:
        span = profile.loudness - profile.tolerance, profile.loudness + profile.tolerance
    lufs, rms = (span, None) if profile.kind == "LUFS" else (None, span)
    yield _range_check("loudness", loudness.integrated, lufs, "LUFS")
    yield _range_check("RMS", loudness.rms, rms, "dB")
    yield _maximum_check("peak", loudness.peak, profile.peak, "dB")
    yield _maximum_check("true peak", loudness.true_peak, profile.true_peak, "dBTP")
    yield _maximum_check("noise floor", file.noise_floor, profile.noise_floor, "dB RMS")


def _edge_checks(file: FileFigures, profile: Profile) -> Iterator[Check]:
    """Yields checks of head, tail and room tone."""
    yield _range_check("head", file.head, profile.head, "s", digits=2)
    yield _range_check("tail", file.tail, profile.tail, "s", digits=2)
    needs_room_tone = profile.room_tone is not None and profile.noise_floor is not None
    figure = f"{file.silent_edge:.2f} s digital at an edge"
    demand = "no digital silence" if needs_room_tone else ""
    yield Check("room tone", figure, demand, not needs_room_tone or file.silent_edge <= 0.1)


def _coding_checks(file: FileFigures, profile: Profile, first_file: FileFigures) -> Iterator[Check]:
    """Yields checks of codec, sample rate, bitrate, channels and length."""
    yield _codec_check(file, profile)
    rate = profile.sample_rate or (first_file.sample_rate if profile.alike else None)
    yield Check("sample rate", f"{file.sample_rate} Hz", f"{rate} Hz" if rate else "",
                rate in (None, file.sample_rate))  # fmt: skip
    yield from _bitrate_checks(file, profile)
    yield _channels_check(file, profile, first_file)
    max_minutes = profile.longest
    demand = f"at most {max_minutes:g} min" if max_minutes else ""
    is_right = file.seconds > 0 and (not max_minutes or file.seconds <= max_minutes * 60)
    yield Check("length", format_fine_clock(file.seconds), demand, is_right)


def _codec_check(file: FileFigures, profile: Profile) -> Check:
    codecs = [FORMATS[name].codec.name for name in profile.formats]
    is_right = not codecs or file.codec.startswith(tuple(codecs))
    return Check("codec", file.codec, " or ".join(codecs), is_right)


def _bitrate_checks(file: FileFigures, profile: Profile) -> Iterator[Check]:
    bitrates = None if file.bitrate_mode == "lossless" else profile.bitrates
    # an average over packets may be slightly below the rate in their headers
    is_right = bitrates is None or 0.98 * bitrates[0] <= file.bitrate <= 1.02 * bitrates[1]
    yield Check("bitrate", f"{file.bitrate} kbit/s", _format_span(bitrates, "kbit/s"), is_right)
    is_known = file.bitrate_mode in ("constant", "variable")  # AAC and Opus do not state it
    demanded_mode = profile.bitrate_mode if is_known else None
    figure = file.bitrate_mode + (f", {file.bitrate_note}" if file.bitrate_note else "")
    yield Check(
        "bitrate mode", figure, demanded_mode or "", demanded_mode in (None, file.bitrate_mode)
    )


def _channels_check(file: FileFigures, profile: Profile, first_file: FileFigures) -> Check:
    demanded_channels = profile.channels or (first_file.channels if profile.alike else None)
    demand = (
        f"{demanded_channels}"
        if profile.channels
        else f"{demanded_channels} as in the first"
        if demanded_channels
        else "1 or 2"
    )
    is_right = file.channels in (1, 2) and demanded_channels in (None, file.channels)
    return Check("channels", str(file.channels), demand, is_right)


def _tag_checks(file: FileFigures, profile: Profile) -> Iterator[Check]:
    """Yields checks of tags, cover and chapter marks."""
    missing = [name for name in profile.tags if not file.tags.get(name)]
    present_tags = [name for name in ("title", "album", "artist") if file.tags.get(name)]
    figure = f"no {', '.join(missing)}" if missing else ", ".join(present_tags) or "none"
    yield Check("tags", figure, ", ".join(profile.tags), not missing)
    yield _cover_check(file, profile)
    mark_faults = list(_mark_faults(file))
    count = f"{len(file.marks)} marks" if len(file.marks) != 1 else "1 mark"
    lacks_marks = profile.marks and not file.marks
    demand = "in order, within the file" if profile.marks or file.marks else ""
    yield Check(
        "chapter marks",
        "; ".join([count, *mark_faults[:1]]),
        demand,
        not lacks_marks and not mark_faults,
    )


def _cover_check(file: FileFigures, profile: Profile) -> Check:
    demands = ["a cover"] if profile.cover else []
    if profile.cover_square:
        demands.append("square")
    if profile.cover_pixels:
        demands.append(_format_span(profile.cover_pixels, "pixels"))
    if file.cover is None:
        return Check("cover", "none", ", ".join(demands), not profile.cover)
    width, height = file.cover
    is_right = not profile.cover_square or width == height
    if profile.cover_pixels:
        is_right &= profile.cover_pixels[0] <= max(width, height) <= profile.cover_pixels[1]
    return Check("cover", f"{width}x{height}", ", ".join(demands), is_right)


def _mark_faults(file: FileFigures) -> Iterator[str]:
    """Yields faults of chapter marks: numbers, order, times outside the file."""
    yield from _numbering_faults([mark.title for mark in file.marks])
    last_start = -1.0
    for number, mark in enumerate(file.marks, 1):
        if mark.start <= last_start:
            yield f"mark {number} at {format_fine_clock(mark.start)} is not after the one before"
        if not 0 <= mark.start < file.seconds:
            yield f"mark {number} at {format_fine_clock(mark.start)} lies outside the file"
        last_start = mark.start


_NUMBERED_TITLE = re.compile(
    r"(?:(chapter|part|section|book|episode|track|kapitel|teil|chapitre|partie|cap[ií]tulo|parte|"
    r"capitolo|hoofdstuk|deel)\s+)?([0-9]{1,3})(?![0-9])(?(1)|\s*(?:$|[.:)–—-]))",
    re.IGNORECASE,
)


def _numbering_faults(titles: Sequence[str]) -> Iterator[str]:
    """Yields gaps and repetitions in titles that count ("Chapter 2", "Chapter 4"), where most
    titles do."""
    matches = [_NUMBERED_TITLE.match(title) for title in titles]
    steps = [
        (earlier[0], later[0], int(later[2]) - int(earlier[2]))
        for earlier, later in pairwise(matches)
        if earlier and later and (earlier[1] or "").casefold() == (later[1] or "").casefold()
    ]
    gaps = [(earlier, later) for earlier, later, step in steps if step == 0 or 1 < step < 10]
    if sum(step == 1 for _, _, step in steps) >= max(2, 2 * len(gaps)):
        yield from (f"'{earlier}' is followed by '{later}'" for earlier, later in gaps)


def _fault_checks(file: FileFigures, profile: Profile, longest_pause: float) -> Iterator[Check]:
    """Yields checks for faults of any file: gaps, clipping, quiet, repeats, holes, damage."""
    gap = profile.gap
    figure = f"{file.gap:.2f} s"
    if file.gap:
        figure += f" at {format_fine_clock(file.gap_at)}"
    demand = "" if gap is None else f"at most {gap:g} s digital silence"
    yield Check("gaps", figure, demand, gap is None or file.gap <= gap)
    figure = f"{file.clipped} clipped runs"
    if file.clipped:
        figure += f", first {format_fine_clock(file.clipped_at)}"
    if file.flat:
        figure += f", {file.flat} flat tops of lower level, first {format_fine_clock(file.flat_at)}"
    yield Check("clipping", figure, "none", not file.clipped and not file.flat)
    max_quiet = max(QUIET, longest_pause + 1)
    figure = f"{file.quiet:.1f} s" + (
        f" at {format_fine_clock(file.quiet_at)}" if file.quiet else ""
    )
    demand = f"at most {max_quiet:g} s without speech or music"
    yield Check("quiet", figure, demand, file.quiet <= max_quiet)
    figure = f"{len(file.repeats)} passages twice in a row"
    if file.repeats:
        figure += f", first {file.repeats[0][1]:.2f} s at {format_fine_clock(file.repeats[0][0])}"
    yield Check("repeats", figure, "none", not file.repeats)
    hole = None if gap is not None and file.gap > gap else meters.hole(file.levels)
    figure = f"{hole[0]:.1f} s at {format_fine_clock(hole[1])}" if hole else "none"
    yield Check("hole", figure, "no digital silence in a recording with room tone", hole is None)
    figure = f"{file.damaged} damaged packets, {file.missing:.2f} s shorter than its header says"
    if file.invalid:
        figure += f", {file.invalid} samples are no numbers"
    if file.changes:
        figure += f", rate or channels change {file.changes} times"
    # some containers count the padding of lossy coders: a packet or two is no loss
    padding = 0.15 if file.bitrate_mode == "unknown" else 0.001
    is_intact = not (file.damaged or file.invalid or file.changes) and file.missing < padding
    yield Check("decoding", figure, f"none damaged, at most {padding:g} s shorter", is_intact)


def _range_check(name: str, figure: float, span: Span | None, unit: str, digits: int = 1) -> Check:
    """Checks that a figure lies within a span."""
    rounded = round(figure, digits)
    is_within = span is None or span[0] <= rounded <= span[1]
    return Check(name, f"{rounded:.{digits}f} {unit}", _format_span(span, unit), is_within)


def _maximum_check(name: str, figure: float, maximum: float | None, unit: str) -> Check:
    """Checks that a figure does not exceed a maximum."""
    demand = "" if maximum is None else f"at most {maximum:g} {unit}"
    is_within = maximum is None or round(figure, 1) <= maximum
    return Check(name, f"{figure:.1f} {unit}", demand, is_within)


def _format_span(span: tuple[float, float] | None, unit: str) -> str:
    """Formats a span with its unit; "" for None."""
    if span is None:
        return ""
    return f"{span[0]:g} {unit}" if span[0] == span[1] else f"{span[0]:g} to {span[1]:g} {unit}"


def measure_files(
    paths: Sequence[Path],
    *,
    workers: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[FileFigures | UserError]:
    """Measures files side by side, in their order; for unreadable files returns the error.

    `on_progress` receives the share of all files that is done, from one thread at a time.
    """
    shares = [0.0] * len(paths)
    lock = threading.Lock()

    def measure_file(number: int) -> FileFigures | UserError:
        def report(share: float) -> None:
            with lock:
                shares[number] = share
                if on_progress:
                    on_progress(sum(shares) / len(shares))

        try:
            return measure_sound_file(paths[number], report)
        except UserError as error:
            report(1.0)
            return error
        except ValueError as error:  # one odd file must not cost the figures of all others
            report(1.0)
            return UserError(f"{paths[number]}: cannot be measured: {error}")

    with ThreadPoolExecutor(workers or os.cpu_count() or 1, "verify") as pool:
        return list(pool.map(measure_file, range(len(paths))))


def as_json(file: FileFigures, checks: Sequence[Check]) -> dict[str, object]:
    """Returns a file's figures and checks for programs."""
    loudness = file.loudness
    return {
        "file": str(file.path),
        "ok": all(check.ok for check in checks),
        "codec": file.codec,
        "seconds": round(loudness.seconds, 3),
        "integrated_lufs": round(loudness.integrated, 2),
        "rms_db": round(loudness.rms, 2),
        "peak_db": round(loudness.peak, 2),
        "true_peak_dbtp": round(loudness.true_peak, 2),
        "noise_floor_db": round(file.noise_floor, 1),
        "head_seconds": round(file.head, 3),
        "tail_seconds": round(file.tail, 3),
        "sample_rate": file.sample_rate,
        "channels": file.channels,
        "bitrate_kbps": file.bitrate,
        "bitrate_mode": file.bitrate_mode,
        "longest_gap_seconds": round(file.gap, 3),
        "clipped_runs": file.clipped,
        "flat_tops": file.flat,
        "longest_quiet_seconds": round(file.quiet, 1),
        "damaged_packets": file.damaged,
        "invalid_samples": file.invalid,
        "changes_of_rate_or_channels": file.changes,
        "missing_seconds": round(file.missing, 3),
        "tags": file.tags,
        "cover": list(file.cover) if file.cover else None,
        "marks": [{"start": round(mark.start, 3), "title": mark.title} for mark in file.marks],
        "checks": [
            {
                "name": check_result.name,
                "figure": check_result.figure,
                "demand": check_result.demand,
                "ok": check_result.ok,
            }
            for check_result in checks
        ],
    }
