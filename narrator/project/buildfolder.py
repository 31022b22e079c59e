"""Where what is made of a project lies: `build` beside its manifest, or where its user says.

Another place is the user's to name, by `--build` or a setting: whatever a project itself holds, a
link too, may come from a stranger. No two projects share a folder.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from narrator import files, processes
from narrator.errors import UsageError
from narrator.project import preferences
from narrator.project.place import NAME

VARIABLE = "NARRATOR_BUILD"
"""Environment variable: the build folder of the project of a command, before any setting."""
_OWNER = ".project.json"
"""In a build folder that lies elsewhere: of which project it is."""
_BEFORE_STORE = (".lock", "report.html")
"""Names in a build folder before anything is rendered."""


def building_in(folder: Path | None) -> AbstractContextManager[None]:
    """Within the block, the project's build folder is this one; None changes nothing."""
    place = None if folder is None else os.path.abspath(_expanded(folder))
    return processes.environment(VARIABLE, place)


def option() -> str:
    """What commands are given so that they mean the same build folder: " --build …", or nothing."""
    folder = os.environ.get(VARIABLE)
    return f" --build {shlex.quote(folder)}" if folder else ""


def build_folder(root: Path) -> Path:
    """The build folder of the project in `root`.

    Raises UsageError for one that leads out of the project by a link or is another's, ManifestError
    for settings that cannot be read.
    """
    if folder := os.environ.get(VARIABLE):
        return _unshared(_expanded(folder).absolute(), root)
    if (setting := preferences.read().build) is not None:
        home = preferences.path().parent.absolute() / _expanded(setting)
        place = root.resolve()
        return _unshared(home / place.relative_to(place.anchor) / "build", root)
    _refuse_links(root)
    return root / "build"


def _expanded(folder: str | Path) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        raise UsageError(f"{folder}: no such home folder; give the folder's whole path") from None


def claim(build: Path, root: Path) -> None:
    """Note in a build folder that lies elsewhere whose it is. Raises UsageError where it is
    another project's, StorageError."""
    if build.absolute() == (root / "build").absolute():
        return
    _refuse_other_owner(build, root)
    note = {"project": str(root.resolve())}
    if _note_in(build) != note:
        files.save_json(build / _OWNER, note)


def _unshared(build: Path, root: Path) -> Path:
    """The folder, as long as it is empty or this project's. Raises UsageError."""
    if root.resolve().is_relative_to(build.resolve()):
        raise UsageError(f"{build}: holds the project itself; name a folder of its own for builds")
    if _is_same(build, root / "build") and not (root / "build").is_symlink():
        return build
    if kind := files.not_a_file(build).replace("a folder", ""):
        raise UsageError(f"{build}: {kind}; name a folder for builds")
    _refuse_other_owner(build, root)
    with files.storage(build):
        if not build.is_dir():
            if build.exists():
                raise UsageError(f"{build}: a file; name a folder for builds")
        elif _has_other_files(build):
            raise UsageError(
                f"{build}: not empty, and no build of narrator; name a new folder for builds"
            )
    return build


def _has_other_files(folder: Path) -> bool:
    """True for a folder with files in it that is no build folder. Raises OSError."""
    if (folder / _OWNER).is_file() or (folder / "store").is_dir():
        return False
    return any(path.name not in _BEFORE_STORE for path in folder.iterdir())


def _refuse_other_owner(build: Path, root: Path) -> None:
    note = _note_in(build)
    owner = note.get("project") if isinstance(note, dict) else None
    if not isinstance(owner, str):
        owner = str(build.parent) if build.name == "build" else str(root)
    place = Path(owner)
    if not _is_same(place, root) and (place / NAME).is_file():
        raise UsageError(f"{build}: holds the build of {place}; name another folder for {root}")


def _note_in(build: Path) -> Any:
    try:
        return files.read_json(build / _OWNER)
    except (OSError, files.Altered):
        return None


def _is_same(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return one.samefile(other)
    return one.absolute() == other.absolute()


def _refuse_links(root: Path) -> None:
    """Raises UsageError where `build` is a link that leads out of the project, to its sources or
    nowhere, or where a link within it leads out of the project, to a folder around the build
    folder, to a file outside it or nowhere."""
    build = root / "build"
    home = Path(os.path.realpath(build))
    if build.is_symlink():
        target = _target(build, root)
        if target == Path(os.path.realpath(root)):
            raise UsageError(f"{build}: a link to the project itself; remove the link")
        with files.storage(build):
            if not target.is_dir() or _has_other_files(target):
                raise UsageError(
                    f"{build}: a link to {target}, which is no folder for builds; remove the link"
                )
    for link in _links(build):
        target = _target(link, root)
        is_inside = target.is_relative_to(home)
        if not is_inside and (not target.is_dir() or home.is_relative_to(target)):
            raise UsageError(
                f"{link}: a link out of the build folder, to {target}; remove the link"
            )


def _links(folder: Path) -> Iterator[Path]:
    """All links in a folder and its subfolders; what cannot be read shows when it is used."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                yield from _links(Path(entry.path))


def _target(link: Path, root: Path) -> Path:
    """Where a link in a project leads. Raises UsageError for a place outside, or nowhere."""
    target = Path(os.path.realpath(link))
    if target.is_relative_to(os.path.realpath(root)):
        if (kind := files.not_a_file(link)).startswith("a link"):
            raise UsageError(f"{link}: {kind}; remove the link")
        return target
    raise UsageError(
        f"{link}: a link out of the project, to {target}; remove it, and name another "
        f"place by `--build FOLDER`, or `build: FOLDER` in {preferences.path()}"
    )
