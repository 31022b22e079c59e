"""Commands about delivered files: verify."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli import completion
from narrator.cli.progress import StageLine
from narrator.cli.shared import AsJson, app, display_path, err, out
from narrator.errors import UsageError
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.delivery.postflight import Check, Inspection
    from narrator.project.profiles import Profile


@app.command()
def verify(
    files: Annotated[
        list[Path], typer.Argument(help="Files or folders, of narrator or of any other program.")
    ],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            "-p",
            help="The profile: acx, apple-podcasts, …, or one of your own.",
            autocompletion=completion.profiles,
        ),
    ] = None,
    book: Annotated[
        Path | None,
        typer.Option("--book", help="The book with your own profile: its folder, or its manifest."),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="With --profile: also show what passes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure finished files and compare them with a profile. In folders, finds files that are
    missing, duplicate or of another book. Exit code 1: something fails; 2: a file cannot be
    read."""
    from narrator.delivery import postflight

    chosen_profile = _find_profile(profile, book)
    places = postflight.collect_files([_replace_by_build_folder(path) for path in files])
    with contextlib.nullcontext() if as_json else StageLine(err) as line:
        progress_label = f"measuring {pluralize(len(places.files), 'file')}"
        report = places.inspect(chosen_profile, partial(line, progress_label) if line else None)
    if as_json:
        _print_json(report, chosen_profile)
    else:
        only_failures = chosen_profile is not None and len(report.inspected_files) > 1 and not whole
        _print_files(report, only_failures)
        against = f" against {chosen_profile.name}" if chosen_profile else ""
        out.print(f"{pluralize(len(places.files), 'file')}{against}: {_summarize_faults(report)}")
    if report.unreadable:
        raise typer.Exit(2)
    if report.findings or report.failed:
        raise typer.Exit(1)


def _replace_by_build_folder(path: Path) -> Path:
    """Returns the build folder of a project that keeps it elsewhere, or else the path itself."""
    from narrator.project.buildfolder import build_folder
    from narrator.project.place import MANIFEST_NAME

    build = build_folder(path) if (path / MANIFEST_NAME).is_file() else path / "build"
    return path if build == path / "build" else build


def _print_json(inspection: Inspection, profile: Profile | None) -> None:
    rows = [file.as_json() for file in inspection.inspected_files]
    rows += [
        {"file": str(path), "ok": False, "error": str(error)}
        for path, error in inspection.unreadable
    ]
    folders = [finding.as_json() for finding in inspection.findings]
    name = profile.name if profile else None
    out.print_json(data={"profile": name, "files": rows, "folders": folders})


def _print_files(inspection: Inspection, only_failures: bool) -> None:
    """Prints the checks of files, all or only failed ones, then faults of folders and errors."""
    for file in inspection.inspected_files:
        path = display_path(file.figures.path)
        if only_failures and not file.failed:
            out.print(f"{path}: ok")
        else:
            out.print(_checks_table(str(path), file.failed if only_failures else file.checks))
    for finding in inspection.findings:
        place = display_path(finding.file or finding.folder)
        out.print(f"FAIL {place}: {finding.what}; {finding.mend}")
    for _, error in inspection.unreadable:
        err.print(f"error: {error}")


def _checks_table(title: str, checks: Sequence[Check]) -> Table:
    table = Table("", "figure", "demand", "", box=None, title=title,
                  title_justify="left", title_style="")  # fmt: skip
    for check in checks:
        verdict = "" if check.ok and not check.demand else "ok" if check.ok else "FAIL"
        table.add_row(check.name, check.figure, check.demand or "-", verdict)
    return table


def _summarize_faults(inspection: Inspection) -> str:
    faults = [f"{pluralize(inspection.failed, 'check')} failed"] if inspection.failed else []
    if inspection.findings:
        faults.append(f"{pluralize(len(inspection.findings), 'fault')} of folders")
    if inspection.unreadable:
        faults.append(f"{len(inspection.unreadable)} cannot be read")
    return ", ".join(faults) or "ok"


def _find_profile(name: str | None, book: Path | None) -> Profile | None:
    """Returns a profile by name, which may be a project's own. Raises UsageError."""
    from narrator.project import load
    from narrator.project.profiles import PROFILES

    if name is None:
        if book is not None:
            raise UsageError("--book says where a profile is; name it with --profile")
        return None
    project = load.load(book) if book else None
    profile_names = [*PROFILES, *(project.manifest.profiles if project else ())]
    if name in profile_names:
        return project.profile(name) if project else PROFILES[name]
    own_profiles_hint = (
        "your own go under `profiles` in it" if project else "for one of your own give --book"
    )
    raise UsageError(load.describe_unknown_profile(name, profile_names, own_profiles_hint))
