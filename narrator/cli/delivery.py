"""Commands about delivered files: verify."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from narrator.cli.shared import AsJson, app, counted, err, near, out


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(help="Files, ours or anyone's, or folders.")],
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", help="acx, apple-podcasts …; or your own.")
    ] = None,
    book: Annotated[
        Path | None, typer.Option("--book", help="The manifest that has your own profile.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Every figure of every file, not only what fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure delivered files and hold them to a profile; of folders, find what is missing, there
    twice, or of another book. Exit code 1: something fails; 2: a file cannot be read."""
    from narrator.delivery import inventory, verify
    from narrator.errors import UserError

    wanted = _profile(profile, book)
    known = {path: entry for place in files for path, entry in inventory.made(place).items()}
    paths = _files(files, known)
    told = _FileLine(counted(len(paths), "file"), shown=not as_json)
    found = verify.measured(paths, on_progress=told)
    told.clear()
    good = [figures for figures in found if not isinstance(figures, UserError)]
    held = [
        (figures, verify.checks(figures, wanted, good[0], _pause(figures.path, known)))
        for figures in good
    ]
    findings = [
        finding
        for folder in files
        if folder.is_dir()
        for finding in inventory.findings(
            folder, [one for one in good if one.path.is_relative_to(folder)], wanted, known
        )
    ]
    unreadable = [
        (path, error)
        for path, error in zip(paths, found, strict=True)
        if isinstance(error, UserError)
    ]
    if as_json:
        rows = [verify.as_json(figures, checks) for figures, checks in held]
        rows += [
            {"file": str(path), "ok": False, "error": str(error)} for path, error in unreadable
        ]
        lines = [inventory.as_json(finding) for finding in findings]
        name = wanted.name if wanted else None
        out.print_json(data={"profile": name, "files": rows, "folders": lines})
    else:
        brief = wanted is not None and len(held) > 1 and not whole
        for figures, checks in held:
            failed = [check for check in checks if not check.ok]
            if not brief:
                _print_table(figures.path, checks)
            elif failed:
                _print_table(figures.path, failed)
            else:
                out.print(f"{near(figures.path)}: ok")
        for finding in findings:
            place = near(finding.file or finding.folder)
            out.print(f"FAIL {place}: {finding.what}; {finding.mend}")
        for _, error in unreadable:
            err.print(f"error: {error}")
        fails = sum(not check.ok for _, checks in held for check in checks)
        against = f" against {wanted.name}" if wanted else ""
        faults = [f"{counted(fails, 'check')} failed"] if fails else []
        if findings:
            faults.append(f"{counted(len(findings), 'fault')} of folders")
        if unreadable:
            faults.append(f"{len(unreadable)} cannot be read")
        out.print(f"{counted(len(paths), 'file')}{against}: {', '.join(faults) or 'ok'}")
    if unreadable:
        raise typer.Exit(2)
    if findings or any(not check.ok for _, checks in held for check in checks):
        raise typer.Exit(1)


def _profile(name: str | None, book: Path | None) -> Any:
    """A profile by name, of a project where one is given. Raises UsageError."""
    from narrator.errors import UsageError, nearest
    from narrator.project import load
    from narrator.project.profiles import PROFILES

    if name is None:
        if book is not None:
            raise UsageError("--book says where a profile is; name it with --profile")
        return None
    project = load.load(book) if book else None
    known = [*PROFILES, *(project.manifest.profiles if project else ())]
    if name in known:
        return project.profile(name) if project else PROFILES[name]
    guess = nearest(name, known)
    hint = f"did you mean '{guess}'?" if guess else f"there are {', '.join(known)}"
    own = "" if project else "; for one of your own give --book"
    raise UsageError(f"no profile '{name}'; {hint}{own}")


def _pause(path: Path, known: Mapping[Path, Any]) -> float:
    """Seconds of the longest pause that is meant in a file, as far as that is known."""
    entry = known.get(Path(os.path.abspath(path)))
    pause = entry.facts.get("pause", 0.0) if entry else 0.0
    return float(pause) if isinstance(pause, int | float) else 0.0


def _files(paths: list[Path], known: Collection[Path]) -> list[Path]:
    """Files as named, and the sound files of folders. Raises UsageError where there are none, nor
    any that should be there."""
    from narrator.delivery import inventory
    from narrator.errors import UsageError

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = inventory.sounds(path)
            root = Path(os.path.abspath(path))
            if not inside and not any(one.is_relative_to(root) for one in known):
                raise UsageError(f"{path}: no sound files in this folder")
            found += inside
        else:
            found.append(path)
    return found


def _print_table(path: Path, checks: Any) -> None:
    table = Table("", "figure", "demand", "", box=None, title=str(near(path)),
                  title_justify="left", title_style="")  # fmt: skip
    for check in checks:
        verdict = "" if check.ok and not check.demand else "ok" if check.ok else "FAIL"
        table.add_row(check.name, check.figure, check.demand or "-", verdict)
    out.print(table)


class _FileLine:
    """A line on a terminal that says how far it is; nothing in a log."""

    def __init__(self, what: str, *, shown: bool) -> None:
        self.what = what
        self.shown = shown and sys.stderr.isatty()
        self.last = 0.0

    def __call__(self, share: float) -> None:
        if self.shown and time.monotonic() - self.last > 0.2:
            self.last = time.monotonic()
            err.print(f"measuring {self.what}: {share:4.0%}", end="\r")

    def clear(self) -> None:
        if self.shown:
            err.print(" " * (20 + len(self.what)), end="\r")
