"""Finds the manifest that a path stands for: a manifest itself, its folder, or something near it.

Knows names of files, nothing of their contents.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from manuscripts import kinds
from narrator.errors import ManifestError, Problem, nearest
from narrator.sound.formats import SOUND_SUFFIXES
from textbase.characters import excerpt

MANIFEST_NAME = "book.yaml"
TEXT_SUFFIXES = tuple(kinds.SUFFIXES)
_MAX_SUGGESTIONS = 5
"""Largest number of file names in a suggestion."""


def manifest_at(path: Path) -> Path:
    """The manifest for a path: the path itself, or book.yaml in this folder.

    Raises ManifestError with a suggestion if there is none.
    """
    if path.is_dir():
        if not (path / MANIFEST_NAME).exists() and not (path / MANIFEST_NAME).is_symlink():
            raise _error(path, f"no {MANIFEST_NAME} in this folder", _suggest_for_folder(path))
        return path / MANIFEST_NAME
    suffix = path.suffix.lower()
    if path.is_file():
        if suffix in TEXT_SUFFIXES:
            raise _error(path, "a text, not a manifest", _suggest_for_text(path))
        if suffix in kinds.UNREADABLE_SUFFIXES:
            advice = f"save it as Word (.docx) or EPUB, then: narrator new DIR --from {path}"
            raise _error(path, "a manuscript, not a manifest", advice)
        if suffix in SOUND_SUFFIXES:
            raise _error(path, "sound, not a manifest", f"`narrator verify {path}` measures it")
        return path
    if path.exists() or path.is_symlink() or "\0" in str(path):
        return path  # reading it reports the kind
    raise _error(path, "no such file", _suggest_for_missing(path))


def ledger_prefix(stem: str) -> str:
    """The beginning of the names of a manifest's ledgers in `build`, which ends before the engine.

    `stem` is as of `manifest_stem`. Stems and engines may have hyphens, so that names of ledgers
    cannot be taken apart.
    """
    return f"ledger-{stem}-"


def manifest_stem(path: Path) -> str:
    """A name for a manifest's files in `build`, unique among the manifests of its folder.

    It is the manifest's name without its ending, unless another manifest has the same name and the
    ending .yaml.
    """
    is_unique = path.suffix == ".yaml" or not path.with_suffix(".yaml").is_file()
    return path.stem if is_unique else path.name


def _error(path: Path, fault: str, advice: str) -> ManifestError:
    return ManifestError(Problem(path, None, f"{fault}; {advice}"))


_GENERAL_ADVICE = (
    "name a project's folder or its book.yaml, or write one: `narrator new DIR --from BOOK`"
)


def _suggest_for_text(path: Path) -> str:
    if project := _find_enclosing_project(path.parent):
        return f"name its project: {project}"
    return f"`narrator new DIR --from {path}` makes a project of it"


def _find_enclosing_project(folder: Path) -> Path | None:
    """The project that contains a folder, or is the folder itself."""
    with contextlib.suppress(OSError, RuntimeError):
        for candidate in (folder, folder / "..", folder / "../.."):
            if (candidate / MANIFEST_NAME).is_file():
                return candidate if candidate == folder else candidate.resolve()
    return None


def _suggest_for_folder(folder: Path) -> str:
    """A suggestion for a folder without a manifest."""
    if project := _find_enclosing_project(folder):
        return f"name its project: {project}"
    for candidates in (_find_manifests(folder), _find_projects(folder)):
        if candidates:
            names = ", ".join(str(path) for path in candidates[:_MAX_SUGGESTIONS])
            return f"did you mean {names}?" if len(candidates) == 1 else f"there are {names}"
    texts = list(_files_with_suffix(folder, TEXT_SUFFIXES))
    if len(texts) == 1:  # of several nobody knows which one is meant
        return (
            "name a project's folder, or make one of the manuscript here: "
            f"`narrator new DIR --from '{texts[0]}'`"
        )
    return _GENERAL_ADVICE


def _find_manifests(folder: Path) -> list[Path]:
    """YAML files that may be manifests."""
    manifests = []
    for path in _files_with_suffix(folder, (".yaml", ".yml")):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if b"chapters" in file.read(4_000_000):
                manifests.append(path)
    return manifests


def _find_projects(folder: Path) -> list[Path]:
    return sorted(path for path in _list_folder(folder) if (path / MANIFEST_NAME).is_file())


def _files_with_suffix(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    return (
        path
        for path in sorted(_list_folder(folder))
        if path.suffix.lower() in suffixes and path.is_file()
    )


def _list_folder(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError:
        return []


def _suggest_for_missing(path: Path) -> str:
    """A suggestion for a path that does not exist."""
    if re.fullmatch(r"\d+\.\d+", path.name):
        return f"as a chunk it belongs to `narrator why {path.name}`, `takes`, `retake`, `pin`"
    if path.name == MANIFEST_NAME and path.parent.is_dir():
        return _suggest_for_folder(path.parent)
    siblings = _list_folder(path.parent)
    project_names = [
        sibling.name
        for sibling in siblings
        if (sibling / MANIFEST_NAME).is_file() or sibling.suffix in (".yaml", ".yml")
    ]
    text_names = [
        sibling.name
        for sibling in siblings
        if sibling.is_file() and sibling.suffix.lower() in TEXT_SUFFIXES
    ]
    with contextlib.suppress(ValueError):
        guess = nearest(path.name, project_names) or nearest(path.name, text_names)
        if guess:
            return f"did you mean '{excerpt(str(path.with_name(guess)), 200)}'?"
    return _GENERAL_ADVICE
