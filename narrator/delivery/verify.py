"""Delivered files, ours or anyone's: measured as they are, and held to a profile.

One pass through a file, in bounded memory. Says what a file is; changes nothing. Knows nothing of
projects and of how files were made.
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
from narrator.sound.clock import fine_clock
from narrator.sound.probe import FileFigures, figures

QUIET = 10.0
"""Seconds without speech or music that no book has, unless its manuscript says so."""


@dataclass(frozen=True, slots=True)
class Check:
    """One figure of a file beside what a profile demands; an empty demand asks for nothing."""

    name: str
    figure: str
    demand: str
    ok: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.figure}, {self.demand}"


def checks(
    file: FileFigures,
    profile: Profile | None,
    first: FileFigures | None = None,
    pause: float = 0.0,
) -> list[Check]:
    """A file held to a profile; without one, only what is wrong in any file counts.

    `first` is the first file of the same book, which the others must be like where the profile asks
    for it; `pause` the seconds of the longest pause that is known to be meant.
    """
    profile = profile or Profile("", (), "both", gap=None, tags=())
    return [
        *_levels(file, profile),
        *_edges(file, profile),
        *_coding(file, profile, first or file),
        *_facts(file, profile),
        *_faults(file, profile, pause),
    ]


def _levels(file: FileFigures, profile: Profile) -> Iterator[Check]:
    loud = file.loudness
    span = None
    if profile.loudness is not None:
        span = profile.loudness - profile.tolerance, profile.loudness + profile.tolerance
    lufs, rms = (span, None) if profile.kind == "LUFS" else (None, span)
    yield _within("loudness", loud.integrated, lufs, "LUFS")
    yield _within("RMS", loud.rms, rms, "dB")
    yield _most("peak", loud.peak, profile.peak, "dB")
    yield _most("true peak", loud.true_peak, profile.true_peak, "dBTP")
    yield _most("noise floor", file.noise_floor, profile.noise_floor, "dB RMS")


def _edges(file: FileFigures, profile: Profile) -> Iterator[Check]:
    yield _within("head", file.head, profile.head, "s", digits=2)
    yield _within("tail", file.tail, profile.tail, "s", digits=2)
    tone = profile.room_tone is not None and profile.noise_floor is not None
    figure = f"{file.silent_edge:.2f} s digital at an edge"
    demand = "no digital silence" if tone else ""
    yield Check("room tone", figure, demand, not tone or file.silent_edge <= 0.1)


def _coding(file: FileFigures, profile: Profile, first: FileFigures) -> Iterator[Check]:
    yield _codec_check(file, profile)
    rate = profile.sample_rate or (first.sample_rate if profile.alike else None)
    yield Check("sample rate", f"{file.sample_rate} Hz", f"{rate} Hz" if rate else "",
                rate in (None, file.sample_rate))  # fmt: skip
    yield from _bitrate_checks(file, profile)
    yield _channels_check(file, profile, first)
    longest = profile.longest
    yield Check("length", fine_clock(file.seconds), f"at most {longest:g} min" if longest else "",
                file.seconds > 0 and (not longest or file.seconds <= longest * 60))  # fmt: skip


def _codec_check(file: FileFigures, profile: Profile) -> Check:
    named = {"m4b": "aac", "wav": "pcm"}
    codecs = [named.get(format, format) for format in profile.formats]
    right = not codecs or file.codec.startswith(tuple(codecs))
    return Check("codec", file.codec, " or ".join(codecs), right)


def _bitrate_checks(file: FileFigures, profile: Profile) -> Iterator[Check]:
    bitrates = None if file.bitrate_mode == "lossless" else profile.bitrates
    # an average over packets may be a hair under the rate that their headers state
    near = bitrates is None or 0.98 * bitrates[0] <= file.bitrate <= 1.02 * bitrates[1]
    yield Check("bitrate", f"{file.bitrate} kbit/s", _span(bitrates, "kbit/s"), near)
    told = file.bitrate_mode in ("constant", "variable")  # of AAC and Opus nobody can tell
    mode = profile.bitrate_mode if told else None
    figure = file.bitrate_mode + (f", {file.bitrate_note}" if file.bitrate_note else "")
    yield Check("bitrate mode", figure, mode or "", mode in (None, file.bitrate_mode))


def _channels_check(file: FileFigures, profile: Profile, first: FileFigures) -> Check:
    asked = profile.channels or (first.channels if profile.alike else None)
    demand = f"{asked}" if profile.channels else f"{asked} as in the first" if asked else "1 or 2"
    right = file.channels in (1, 2) and asked in (None, file.channels)
    return Check("channels", str(file.channels), demand, right)


def _facts(file: FileFigures, profile: Profile) -> Iterator[Check]:
    missing = [name for name in profile.tags if not file.tags.get(name)]
    said = [name for name in ("title", "album", "artist") if file.tags.get(name)]
    figure = f"no {', '.join(missing)}" if missing else ", ".join(said) or "none"
    yield Check("tags", figure, ", ".join(profile.tags), not missing)
    yield _cover_check(file, profile)
    faults = list(_mark_faults(file))
    count = f"{len(file.marks)} marks" if len(file.marks) != 1 else "1 mark"
    wanted = profile.marks and not file.marks
    demand = "in order, within the file" if profile.marks or file.marks else ""
    yield Check("chapter marks", "; ".join([count, *faults[:1]]), demand, not wanted and not faults)


def _cover_check(file: FileFigures, profile: Profile) -> Check:
    demands = ["a cover"] if profile.cover else []
    if profile.cover_square:
        demands.append("square")
    if profile.cover_pixels:
        demands.append(_span(profile.cover_pixels, "pixels"))
    if file.cover is None:
        return Check("cover", "none", ", ".join(demands), not profile.cover)
    width, height = file.cover
    right = not profile.cover_square or width == height
    if profile.cover_pixels:
        right &= profile.cover_pixels[0] <= max(width, height) <= profile.cover_pixels[1]
    return Check("cover", f"{width}x{height}", ", ".join(demands), right)


def _mark_faults(file: FileFigures) -> Iterator[str]:
    yield from _miscounted([mark.title for mark in file.marks])
    before = -1.0
    for number, mark in enumerate(file.marks, 1):
        if mark.start <= before:
            yield f"mark {number} at {fine_clock(mark.start)} is not after the one before"
        if not 0 <= mark.start < file.seconds:
            yield f"mark {number} at {fine_clock(mark.start)} lies outside the file"
        before = mark.start


_NUMBERED = re.compile(
    r"(?:(chapter|part|section|book|episode|track|kapitel|teil|chapitre|partie|cap[ií]tulo|parte|"
    r"capitolo|hoofdstuk|deel)\s+)?([0-9]{1,3})(?![0-9])(?(1)|\s*(?:$|[.:)–—-]))",
    re.IGNORECASE,
)


def _miscounted(titles: Sequence[str]) -> Iterator[str]:
    """Holes and doubles in titles that count ("Chapter 2", "Chapter 4"), where most of them do."""
    numbers = [_NUMBERED.match(title) for title in titles]
    steps = [
        (one[0], other[0], int(other[2]) - int(one[2]))
        for one, other in pairwise(numbers)
        if one and other and (one[1] or "").casefold() == (other[1] or "").casefold()
    ]
    wrong = [(one, other) for one, other, step in steps if step == 0 or 1 < step < 10]
    if sum(step == 1 for _, _, step in steps) >= max(2, 2 * len(wrong)):
        yield from (f"'{one}' is followed by '{other}'" for one, other in wrong)


def _faults(file: FileFigures, profile: Profile, pause: float) -> Iterator[Check]:
    gap = profile.gap
    figure = f"{file.gap:.2f} s"
    if file.gap:
        figure += f" at {fine_clock(file.gap_at)}"
    demand = "" if gap is None else f"at most {gap:g} s digital silence"
    yield Check("gaps", figure, demand, gap is None or file.gap <= gap)
    figure = f"{file.clipped} clipped runs"
    if file.clipped:
        figure += f", first {fine_clock(file.clipped_at)}"
    if file.flat:
        figure += f", {file.flat} flat tops of lower level, first {fine_clock(file.flat_at)}"
    yield Check("clipping", figure, "none", not file.clipped and not file.flat)
    most = max(QUIET, pause + 1)
    figure = f"{file.quiet:.1f} s" + (f" at {fine_clock(file.quiet_at)}" if file.quiet else "")
    demand = f"at most {most:g} s without speech or music"
    yield Check("quiet", figure, demand, file.quiet <= most)
    figure = f"{len(file.repeats)} passages twice in a row"
    if file.repeats:
        figure += f", first {file.repeats[0][1]:.2f} s at {fine_clock(file.repeats[0][0])}"
    yield Check("repeats", figure, "none", not file.repeats)
    hole = None if gap is not None and file.gap > gap else meters.hole(file.levels)
    figure = f"{hole[0]:.1f} s at {fine_clock(hole[1])}" if hole else "none"
    yield Check("hole", figure, "no digital silence in a recording with room tone", hole is None)
    figure = f"{file.damaged} damaged packets, {file.missing:.2f} s shorter than its header says"
    if file.invalid:
        figure += f", {file.invalid} samples are no numbers"
    if file.changes:
        figure += f", rate or channels change {file.changes} times"
    # lossy coders pad, and some containers count that: a packet or two of them is no loss
    padding = 0.15 if file.bitrate_mode == "unknown" else 0.001
    whole = not (file.damaged or file.invalid or file.changes) and file.missing < padding
    yield Check("decoding", figure, f"none damaged, at most {padding:g} s shorter", whole)


def _within(name: str, value: float, span: Span | None, unit: str, digits: int = 1) -> Check:
    rounded = round(value, digits)
    ok = span is None or span[0] <= rounded <= span[1]
    return Check(name, f"{rounded:.{digits}f} {unit}", _span(span, unit), ok)


def _most(name: str, value: float, most: float | None, unit: str) -> Check:
    demand = "" if most is None else f"at most {most:g} {unit}"
    ok = most is None or round(value, 1) <= most
    return Check(name, f"{value:.1f} {unit}", demand, ok)


def _span(span: tuple[float, float] | None, unit: str) -> str:
    if span is None:
        return ""
    return f"{span[0]:g} {unit}" if span[0] == span[1] else f"{span[0]:g} to {span[1]:g} {unit}"


def measured(
    paths: Sequence[Path],
    *,
    workers: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[FileFigures | UserError]:
    """Several files side by side, in their order; for those that cannot be read, the error.

    `on_progress` hears the share of all files that is done, from one thread at a time.
    """
    shares = [0.0] * len(paths)
    lock = threading.Lock()

    def one(number: int) -> FileFigures | UserError:
        def report(share: float) -> None:
            with lock:
                shares[number] = share
                if on_progress:
                    on_progress(sum(shares) / len(shares))

        try:
            return figures(paths[number], report)
        except UserError as error:
            report(1.0)
            return error
        except ValueError as error:  # one odd file must not cost the figures of all others
            report(1.0)
            return UserError(f"{paths[number]}: cannot be measured: {error}")

    with ThreadPoolExecutor(workers or os.cpu_count() or 1, "verify") as pool:
        return list(pool.map(one, range(len(paths))))


def as_json(file: FileFigures, held: Sequence[Check]) -> dict[str, object]:
    """A file's figures and checks for a program."""
    loud = file.loudness
    return {
        "file": str(file.path),
        "ok": all(check.ok for check in held),
        "codec": file.codec,
        "seconds": round(loud.seconds, 3),
        "integrated_lufs": round(loud.integrated, 2),
        "rms_db": round(loud.rms, 2),
        "peak_db": round(loud.peak, 2),
        "true_peak_dbtp": round(loud.true_peak, 2),
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
        "marks": [{"start": round(m.start, 3), "title": m.title} for m in file.marks],
        "checks": [
            {"name": c.name, "figure": c.figure, "demand": c.demand, "ok": c.ok} for c in held
        ],
    }
