"""Measures delivered files and folders, ours or anyone's, and holds them to a profile.

Asks the rules of platforms (`rules.py`) of each file, in one pass through it and in bounded memory;
`folder_checks.py` compares the files of a folder. Changes nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from narrator.delivery import folder_checks
from narrator.delivery.findings import FolderFinding
from narrator.delivery.folder_checks import MadeFiles
from narrator.delivery.output_manifest import MadeFile
from narrator.delivery.rules import RULES, MeasuredFile
from narrator.errors import UsageError, UserError
from narrator.project.profiles import Profile
from narrator.sound.probe import FileFigures, measure_sound_file

# -- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """A figure of a file beside a profile's demand; an empty demand accepts anything."""

    name: str
    figure: str
    demand: str
    ok: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.figure}, {self.demand}"


_NO_PROFILE = Profile("", (), "both", gap=None, tags=())


def checks(
    file: FileFigures,
    profile: Profile | None,
    first_file: FileFigures | None = None,
    longest_pause: float = 0.0,
    mark: Mapping[str, str] = MappingProxyType({}),
    is_signed: bool = False,
) -> list[Check]:
    """Holds a file to a profile; without one, checks only for faults of any file.

    The others are as in `MeasuredFile`.
    """
    measured = MeasuredFile(file, first_file or file, longest_pause, mark, is_signed)
    return [
        Check(rule.name, *rule.postflight(measured, profile or _NO_PROFILE))
        for rule in RULES
        if rule.postflight is not None
    ]


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A readable file with its measurements and checks."""

    figures: FileFigures
    checks: Sequence[Check]

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.ok]

    def as_json(self) -> dict[str, object]:
        """Returns figures and checks for programs."""
        figures, loudness = self.figures, self.figures.loudness
        return {
            "file": str(figures.path),
            "ok": not self.failed,
            "codec": figures.codec,
            "seconds": round(loudness.seconds, 3),
            "integrated_lufs": round(loudness.integrated, 2),
            "rms_db": round(loudness.rms, 2),
            "peak_db": round(loudness.peak, 2),
            "true_peak_dbtp": round(loudness.true_peak, 2),
            "noise_floor_db": round(figures.noise_floor, 1),
            "head_seconds": round(figures.head, 3),
            "tail_seconds": round(figures.tail, 3),
            "sample_rate": figures.sample_rate,
            "channels": figures.channels,
            "bitrate_kbps": figures.bitrate,
            "bitrate_mode": figures.bitrate_mode,
            "longest_gap_seconds": round(figures.gap, 3),
            "clipped_runs": figures.clipped,
            "flat_tops": figures.flat,
            "longest_quiet_seconds": round(figures.quiet, 1),
            "damaged_packets": figures.damaged,
            "invalid_samples": figures.invalid,
            "changes_of_rate_or_channels": figures.changes,
            "missing_seconds": round(figures.missing, 3),
            "tags": figures.tags,
            "cover": list(figures.cover) if figures.cover else None,
            "marks": [
                {"start": round(mark.start, 3), "title": mark.title} for mark in figures.marks
            ],
            "checks": [asdict(check) for check in self.checks],
        }


def measure_files(
    paths: Sequence[Path], *, on_progress: Callable[[float], None] | None = None
) -> list[FileFigures | UserError]:
    """Measures files side by side, in their order; for unreadable files returns the error.

    `on_progress` receives the share of all files that is done, from one thread at a time.
    """
    shares = [0.0] * len(paths)
    lock = threading.Lock()

    def measure_file(number: int) -> FileFigures | UserError:
        """Measures one file; returns the error where it cannot be read."""

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

    with ThreadPoolExecutor(os.cpu_count() or 1, "verify") as pool:
        return list(pool.map(measure_file, range(len(paths))))


def inspect_files(
    paths: Sequence[Path],
    profile: Profile | None,
    facts: Mapping[Path, Mapping[str, Any]],
    on_progress: Callable[[float], None] | None = None,
) -> dict[Path, InspectedFile | UserError]:
    """Measures files and holds them to a profile; for unreadable files returns the error.

    Keeps their order. `facts` are the `MadeFile.facts` of each, as far as known; `on_progress`
    receives the measured share of all files.
    """
    measured = measure_files(paths, on_progress=on_progress)
    first_figures = next((row for row in measured if isinstance(row, FileFigures)), None)
    return {
        path: InspectedFile(
            figures,
            checks(
                figures,
                profile,
                first_figures,
                float(facts[path].get("pause", 0.0)),
                facts[path].get("mark", {}),
                bool(facts[path].get("signed")),
            ),
        )
        if isinstance(figures, FileFigures)
        else figures
        for path, figures in zip(paths, measured, strict=True)
    }


# -- what a user names -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inspection:
    """The checks of files and the faults of folders."""

    inspected_files: Sequence[InspectedFile]
    findings: Sequence[FolderFinding]
    unreadable: Sequence[tuple[Path, UserError]]

    @property
    def failed(self) -> int:
        """Number of failed checks."""
        return sum(len(file.failed) for file in self.inspected_files)


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Files and folders that a user named."""

    named_paths: Sequence[Path]
    files: Sequence[Path]
    """The named files, and the sound files of the named folders."""
    made_files: MadeFiles
    """Files that were made there, as far as known."""

    def inspect(
        self, profile: Profile | None, on_progress: Callable[[float], None] | None = None
    ) -> Inspection:
        """Inspects all files and folders; `on_progress` receives the measured share of all
        files."""
        facts = {
            path: self.made_files.get(Path(os.path.abspath(path)), MadeFile()).facts
            for path in self.files
        }
        inspected = inspect_files(self.files, profile, facts, on_progress)
        readable_files = [file for file in inspected.values() if isinstance(file, InspectedFile)]
        findings = [
            finding
            for folder in self.named_paths
            if folder.is_dir()
            for finding in folder_checks.findings(
                folder,
                [
                    file.figures
                    for file in readable_files
                    if file.figures.path.is_relative_to(folder)
                ],
                profile,
                self.made_files,
            )
        ]
        unreadable = [
            (path, error) for path, error in inspected.items() if isinstance(error, UserError)
        ]
        return Inspection(readable_files, findings, unreadable)


def collect_files(paths: Sequence[Path]) -> NamedFiles:
    """Collects the sound files of named files and folders.

    Raises UsageError for a folder without sound files, unless files of it are known to be missing.
    """
    made_files = {
        path: entry
        for named_path in paths
        for path, entry in folder_checks.load_made_files(named_path).items()
    }
    files: list[Path] = []
    for named_path in paths:
        if not named_path.is_dir():
            files.append(named_path)
            continue
        sound_files = folder_checks.sounds(named_path)
        root = Path(os.path.abspath(named_path))
        if not sound_files and not any(path.is_relative_to(root) for path in made_files):
            raise UsageError(f"{named_path}: no sound files in this folder")
        files += sound_files
    return NamedFiles(paths, files, made_files)
