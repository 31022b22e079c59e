"""Inspects files and folders, ours or anyone's: measures them, holds them to a profile, counts
faults.

`verify.py` checks single files, `inventory.py` the contents of folders.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrator.delivery import inventory, verify
from narrator.delivery.findings import FolderFinding
from narrator.delivery.inventory import MadeFiles
from narrator.delivery.verify import Check
from narrator.errors import UsageError, UserError
from narrator.project.profiles import Profile
from narrator.sound.probe import FileFigures


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A readable file with its measurements and checks."""

    figures: FileFigures
    checks: Sequence[Check]

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.ok]


def inspect_files(
    paths: Sequence[Path],
    profile: Profile | None,
    pauses: Mapping[Path, float],
    on_progress: Callable[[float], None] | None = None,
) -> dict[Path, InspectedFile | UserError]:
    """Measures files and holds them to a profile; for unreadable files returns the error.

    Keeps their order. `pauses` are the seconds of the longest intended pause known in each;
    `on_progress` receives the measured share of all files.
    """
    figures_by_path = dict(
        zip(paths, verify.measure_files(paths, on_progress=on_progress), strict=True)
    )
    first_figures = next(
        (
            file_figures
            for file_figures in figures_by_path.values()
            if isinstance(file_figures, FileFigures)
        ),
        None,
    )
    return {
        path: file_figures
        if isinstance(file_figures, UserError)
        else InspectedFile(
            file_figures, verify.checks(file_figures, profile, first_figures, pauses[path])
        )
        for path, file_figures in figures_by_path.items()
    }


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
        pauses = {path: self._longest_pause(path) for path in self.files}
        inspected = inspect_files(self.files, profile, pauses, on_progress)
        readable_files = [file for file in inspected.values() if isinstance(file, InspectedFile)]
        readable_figures = [file.figures for file in readable_files]
        findings = [
            finding
            for folder in self.named_paths
            if folder.is_dir()
            for finding in inventory.findings(
                folder,
                [figures for figures in readable_figures if figures.path.is_relative_to(folder)],
                profile,
                self.made_files,
            )
        ]
        unreadable = [
            (path, error) for path, error in inspected.items() if isinstance(error, UserError)
        ]
        return Inspection(readable_files, findings, unreadable)

    def _longest_pause(self, path: Path) -> float:
        """Returns the seconds of the longest intended pause in a file, 0 where it is not known."""
        entry = self.made_files.get(Path(os.path.abspath(path)))
        pause = entry.facts.get("pause") if entry else None
        return float(pause) if isinstance(pause, int | float) else 0.0


def collect_files(paths: Sequence[Path]) -> NamedFiles:
    """Collects the sound files of named files and folders.

    Raises UsageError for a folder without sound files, unless files of it are known to be missing.
    """
    made_files = {
        path: entry
        for named_path in paths
        for path, entry in inventory.load_made_files(named_path).items()
    }
    files: list[Path] = []
    for named_path in paths:
        if not named_path.is_dir():
            files.append(named_path)
            continue
        sound_files = inventory.sounds(named_path)
        root = Path(os.path.abspath(named_path))
        if not sound_files and not any(path.is_relative_to(root) for path in made_files):
            raise UsageError(f"{named_path}: no sound files in this folder")
        files += sound_files
    return NamedFiles(paths, files, made_files)
