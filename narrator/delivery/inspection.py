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
    measured = dict(zip(paths, verify.measured(paths, on_progress=on_progress), strict=True))
    first = next((one for one in measured.values() if isinstance(one, FileFigures)), None)
    return {
        path: one
        if isinstance(one, UserError)
        else HeldFile(one, verify.checks(one, profile, first, pauses[path]))
        for path, one in measured.items()
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
        pauses = {path: self._pause(path) for path in self.files}
        found = hold(self.files, profile, pauses, on_progress)
        held = [file for file in found.values() if isinstance(file, HeldFile)]
        readable = [file.figures for file in held]
        findings = [
            finding
            for folder in self.named
            if folder.is_dir()
            for finding in inventory.findings(
                folder,
                [one for one in readable if one.path.is_relative_to(folder)],
                profile,
                self.made,
            )
        ]
        unreadable = [
            (path, error) for path, error in found.items() if isinstance(error, UserError)
        ]
        return Inspection(held, findings, unreadable)

    def _pause(self, path: Path) -> float:
        """Seconds of the longest pause that is meant in a file, as far as that is known."""
        entry = self.made.get(Path(os.path.abspath(path)))
        pause = entry.facts.get("pause") if entry else None
        return float(pause) if isinstance(pause, int | float) else 0.0


def places(named: Sequence[Path]) -> Places:
    """Raises UsageError for a folder without sound files, where none should be there either."""
    made = {path: entry for place in named for path, entry in inventory.made(place).items()}
    files: list[Path] = []
    for place in named:
        if not place.is_dir():
            files.append(place)
            continue
        inside = inventory.sounds(place)
        root = Path(os.path.abspath(place))
        if not inside and not any(path.is_relative_to(root) for path in made):
            raise UsageError(f"{place}: no sound files in this folder")
        files += inside
    return Places(named, files, made)
