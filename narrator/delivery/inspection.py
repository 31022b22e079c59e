"""Files and folders, ours or anyone's: measured, held to a profile, and counted.

What single files are to be is `verify.py`'s, what folders are to hold `inventory.py`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrator.delivery import inventory, verify
from narrator.delivery.findings import FolderFinding
from narrator.delivery.inventory import Made
from narrator.delivery.verify import Check
from narrator.errors import UsageError, UserError
from narrator.project.profiles import Profile
from narrator.sound.probe import FileFigures


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file that can be read, and how it is."""

    figures: FileFigures
    checks: Sequence[Check]

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if not check.ok]


def hold(
    paths: Sequence[Path],
    profile: Profile | None,
    pauses: Mapping[Path, float],
    on_progress: Callable[[float], None] | None = None,
) -> dict[Path, HeldFile | UserError]:
    """Files measured and held to a profile, in their order; for those that cannot be read, the
    error. `pauses` are the seconds of the longest pause that is known to be meant in each;
    `on_progress` hears the share of all files that is measured."""
    figures_by_path = dict(zip(paths, verify.measured(paths, on_progress=on_progress), strict=True))
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
        else HeldFile(
            file_figures, verify.checks(file_figures, profile, first_figures, pauses[path])
        )
        for path, file_figures in figures_by_path.items()
    }


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to say of files and folders."""

    held: Sequence[HeldFile]
    findings: Sequence[FolderFinding]
    unreadable: Sequence[tuple[Path, UserError]]

    @property
    def failed(self) -> int:
        """Checks that files failed."""
        return sum(len(file.failed) for file in self.held)


@dataclass(frozen=True, slots=True)
class Places:
    """Files and folders as they were named."""

    named: Sequence[Path]
    files: Sequence[Path]
    """Those, and the sound files of the folders."""
    made: Made
    """What was made there, as far as that is known."""

    def inspect(
        self, profile: Profile | None, on_progress: Callable[[float], None] | None = None
    ) -> Inspection:
        """`on_progress` hears the share of all files that is measured."""
        pauses = {path: self._longest_pause(path) for path in self.files}
        inspected = hold(self.files, profile, pauses, on_progress)
        readable_files = [file for file in inspected.values() if isinstance(file, HeldFile)]
        readable_figures = [file.figures for file in readable_files]
        findings = [
            finding
            for folder in self.named
            if folder.is_dir()
            for finding in inventory.findings(
                folder,
                [figures for figures in readable_figures if figures.path.is_relative_to(folder)],
                profile,
                self.made,
            )
        ]
        unreadable = [
            (path, error) for path, error in inspected.items() if isinstance(error, UserError)
        ]
        return Inspection(readable_files, findings, unreadable)

    def _longest_pause(self, path: Path) -> float:
        """Seconds of the longest pause that is meant in a file, as far as that is known."""
        entry = self.made.get(Path(os.path.abspath(path)))
        pause = entry.facts.get("pause") if entry else None
        return float(pause) if isinstance(pause, int | float) else 0.0


def places(paths: Sequence[Path]) -> Places:
    """Raises UsageError for a folder without sound files, where none should be there either."""
    made_files = {
        path: entry for named_path in paths for path, entry in inventory.made(named_path).items()
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
    return Places(paths, files, made_files)
