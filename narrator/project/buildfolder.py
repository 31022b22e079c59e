"""The build folder of a project: `build` beside its manifest, or a folder chosen by the user.

Only the user may choose another folder, by `--build` or a setting, since everything in a project,
including links, may come from a stranger. No two projects share a build folder.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from narrator import files
from narrator.decoding import decode_value
from narrator.errors import UsageError
from narrator.project import preferences
from narrator.project.place import MANIFEST_NAME
from textbase import processes

VARIABLE = "NARRATOR_BUILD"
"""Environment variable: the build folder of the project of a command, before any setting."""
_OWNER = ".project.json"
"""File in a build folder outside of the project that names the project."""
_LOCK = ".lock"
"""File in a build folder before anything is rendered."""


def building_in(folder: Path | None) -> AbstractContextManager[None]:
    """Use this build folder for projects within the block; None changes nothing."""
    absolute_path = None if folder is None else os.path.abspath(_expand_home(folder))
    return processes.environment(VARIABLE, absolute_path)


def build_option() -> str:
    """The option that gives commands the same build folder: " --build …", or nothing."""
    folder = os.environ.get(VARIABLE)
    return f" --build {shlex.quote(folder)}" if folder else ""


def build_folder(root: Path) -> Path:
    """The build folder of the project in `root`.

    Raises UsageError for one that leads out of the project by a link or belongs to another project,
    ManifestError for settings that cannot be read.
    """
    if folder := os.environ.get(VARIABLE):
        return _require_unshared(_expand_home(folder).absolute(), root)
    if (setting := preferences.read_preferences().build) is not None:
        settings_folder = preferences.preferences_path().parent.absolute() / _expand_home(setting)
        resolved_root = root.resolve()
        return _require_unshared(
            settings_folder / resolved_root.relative_to(resolved_root.anchor) / "build", root
        )
    _refuse_links(root)
    return root / "build"


def _expand_home(folder: str | Path) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        raise UsageError(f"{folder}: no such home folder; give the folder's whole path") from None


def claim_folder(build: Path, root: Path) -> None:
    """Record in a build folder outside of the project to which project it belongs.

    Raises UsageError if it is another project's, StorageError.
    """
    if build.absolute() == (root / "build").absolute():
        return
    _refuse_other_owner(build, root)
    note = {"project": str(root.resolve())}
    if _read_note(build) != note:
        files.save_json(build / _OWNER, note)


def _require_unshared(build: Path, root: Path) -> Path:
    """Return the folder if it is empty or this project's. Raises UsageError."""
    if root.resolve().is_relative_to(build.resolve()):
        raise UsageError(f"{build}: holds the project itself; name a folder of its own for builds")
    if _is_same(build, root / "build") and not (root / "build").is_symlink():
        return build
    if kind := files.describe_file_type(build).replace("a folder", ""):
        raise UsageError(f"{build}: {kind}; name a folder for builds")
    _refuse_other_owner(build, root)
    with files.translating_errors(build):
        if not build.is_dir():
            if build.exists():
                raise UsageError(f"{build}: a file; name a folder for builds")
        elif _has_other_files(build):
            raise UsageError(
                f"{build}: not empty, and not a build of narrator; name a new folder for builds"
            )
    return build


def _has_other_files(folder: Path) -> bool:
    """True if a folder has files in it but is no build folder. Raises OSError."""
    if (folder / _OWNER).is_file() or (folder / "store").is_dir():
        return False
    return any(path.name != _LOCK for path in folder.iterdir())


def _refuse_other_owner(build: Path, root: Path) -> None:
    """Raises UsageError if a build folder belongs to another project that still exists."""
    default_owner = build.parent if build.name == "build" else root
    owner_root = Path(_read_note(build).get("project", default_owner))
    if not _is_same(owner_root, root) and (owner_root / MANIFEST_NAME).is_file():
        raise UsageError(
            f"{build}: holds the build of {owner_root}; name another folder for {root}"
        )


def _read_note(build: Path) -> dict[str, str]:
    """The note of a build folder on its project; empty if there is none, or a damaged one."""
    with contextlib.suppress(OSError, ValueError):
        return decode_value(dict[str, str], files.read_json(build / _OWNER))
    return {}


def _is_same(path: Path, other_path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.samefile(other_path)
    return path.absolute() == other_path.absolute()


def _refuse_links(root: Path) -> None:
    """Refuse a `build` folder with links that lead to unsafe places.

    Raises UsageError if `build` is a link out of the project, to its sources or to nothing, or if a
    link within it leads out of the project, to a folder around the build folder, to a file outside
    of it or to nothing.
    """
    build = root / "build"
    build_target = Path(os.path.realpath(build))
    if build.is_symlink():
        target = _resolve_link(build, root)
        if target == Path(os.path.realpath(root)):
            raise UsageError(f"{build}: a link to the project itself; remove the link")
        with files.translating_errors(build):
            if not target.is_dir() or _has_other_files(target):
                raise UsageError(
                    f"{build}: a link to {target}, which is not a folder for builds; remove the "
                    "link"
                )
    for link in _find_links(build):
        target = _resolve_link(link, root)
        is_inside = target.is_relative_to(build_target)
        if not is_inside and (not target.is_dir() or build_target.is_relative_to(target)):
            raise UsageError(
                f"{link}: a link out of the build folder, to {target}; remove the link"
            )


def _find_links(folder: Path) -> Iterator[Path]:
    """Yields all links in a folder and its subfolders; unreadable folders are skipped."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                yield from _find_links(Path(entry.path))


def _resolve_link(link: Path, root: Path) -> Path:
    """The target of a link in a project. Raises UsageError if it is outside or missing."""
    target = Path(os.path.realpath(link))
    if target.is_relative_to(os.path.realpath(root)):
        if (kind := files.describe_file_type(link)).startswith("a link"):
            raise UsageError(f"{link}: {kind}; remove the link")
        return target
    raise UsageError(
        f"{link}: a link out of the project, to {target}; remove it, and name another "
        f"place by `--build FOLDER`, or `build: FOLDER` in {preferences.preferences_path()}"
    )
