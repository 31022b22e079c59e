"""Commands about delivered files: verify."""

from __future__ import annotations

import sys
import time
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
    """Measure delivered files and hold them to a profile. Exit code 1: a file fails; 2: one cannot
    be read."""
    from narrator import verify
    from narrator.errors import UserError

    wanted = _profile(profile, book)
    paths = _files(files)
    told = _Progress(counted(len(paths), "file"), shown=not as_json)
    found = verify.measured(paths, on_progress=told)
    told.clear()
    good = [figures for figures in found if not isinstance(figures, UserError)]
    held = [(figures, verify.checks(figures, wanted, good[0])) for figures in good]
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
        out.print_json(data={"profile": wanted.name if wanted else None, "files": rows})
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
        for _, error in unreadable:
            err.print(f"error: {error}")
        fails = sum(not check.ok for _, checks in held for check in checks)
        against = f" against {wanted.name}" if wanted else ""
        faults = [f"{counted(fails, 'check')} failed"] if fails else []
        if unreadable:
            faults.append(f"{len(unreadable)} cannot be read")
        out.print(f"{counted(len(paths), 'file')}{against}: {', '.join(faults) or 'ok'}")
    if unreadable:
        raise typer.Exit(2)
    if any(not check.ok for _, checks in held for check in checks):
        raise typer.Exit(1)


def _profile(name: str | None, book: Path | None) -> Any:
    """A profile by name, of a project where one is given. Raises UsageError."""
    from narrator import manifest
    from narrator.errors import UsageError, nearest
    from narrator.profiles import PROFILES

    if name is None:
        if book is not None:
            raise UsageError("--book says where a profile is; name it with --profile")
        return None
    project = manifest.load(book) if book else None
    known = [*PROFILES, *(project.manifest.profiles if project else ())]
    if name in known:
        return project.profile(name) if project else PROFILES[name]
    guess = nearest(name, known)
    hint = f"did you mean '{guess}'?" if guess else f"there are {', '.join(known)}"
    own = "" if project else "; for one of your own give --book"
    raise UsageError(f"no profile '{name}'; {hint}{own}")


SUFFIXES = frozenset(".aac .aif .aiff .flac .m4a .m4b .mp3 .mp4 .ogg .opus .wav .wma".split())


def _files(paths: list[Path]) -> list[Path]:
    """Files as named, and the sound files of folders, but for hidden ones (such as the "._x.mp3"
    that Macs leave on foreign disks). Raises UsageError."""
    from narrator.errors import UsageError

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(
                p for p in path.rglob("*") if p.is_file() and _is_sound(p.relative_to(path))
            )
            if not inside:
                raise UsageError(f"{path}: no sound files in this folder")
            found += inside
        else:
            found.append(path)
    return found


def _is_sound(path: Path) -> bool:
    """By its name, within the folder that is looked at."""
    hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix.casefold() in SUFFIXES and not hidden


def _print_table(path: Path, checks: Any) -> None:
    table = Table("", "figure", "demand", "", box=None, title=str(near(path)),
                  title_justify="left", title_style="")  # fmt: skip
    for check in checks:
        verdict = "" if check.ok and not check.demand else "ok" if check.ok else "FAIL"
        table.add_row(check.name, check.figure, check.demand or "-", verdict)
    out.print(table)


class _Progress:
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
