"""Which manifest is meant by what was named: a manifest, its folder, or something near them.

Knows names of files, nothing of what is in them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from narrator.characters import quoted
from narrator.errors import ManifestError, Problem, nearest

NAME = "book.yaml"
TEXTS = (".epub", ".md", ".markdown", ".txt", ".text", ".docx", ".odt", ".rtf", ".pdf", ".html",
         ".htm", ".xhtml", ".fb2", ".fountain", ".fdx", ".srt", ".vtt", ".mobi", ".azw",
         ".azw3")  # fmt: skip
_FOREIGN = (".doc", ".pages", ".kfx", ".lit")
_SOUNDS = (".m4b", ".m4a", ".mp3", ".wav", ".flac", ".opus", ".ogg", ".aac")
_LISTED = 5
"""Names of files that are proposed."""


def manifest_at(path: Path) -> Path:
    """The manifest that a path means: itself, or book.yaml in its folder.

    Raises ManifestError for what is none, with what may have been meant.
    """
    if path.is_dir():
        if not (path / NAME).exists() and not (path / NAME).is_symlink():
            raise _error(path, f"no {NAME} in this folder", _near_folder(path))
        return path / NAME
    suffix = path.suffix.lower()
    if path.is_file():
        if suffix in TEXTS:
            raise _error(path, "a text, no manifest", _of_text(path))
        if suffix in _FOREIGN:
            mend = f"save it as Word (.docx) or EPUB, then: narrator new DIR --from {path}"
            raise _error(path, "a manuscript, no manifest", mend)
        if suffix in _SOUNDS:
            raise _error(path, "sound, no manifest", f"`narrator verify {path}` measures it")
        return path
    if path.exists() or path.is_symlink() or "\0" in str(path):
        return path  # what it is shows when it is read
    raise _error(path, "no such file", _near_missing(path))


def _error(path: Path, wrong: str, mend: str) -> ManifestError:
    return ManifestError(Problem(path, None, f"{wrong}; {mend}"))


_GENERAL = "name a project's folder or its book.yaml, or write one: `narrator new DIR --from BOOK`"


def _of_text(path: Path) -> str:
    if project := _around(path.parent):
        return f"name its project: {project}"
    return f"`narrator new DIR --from {path}` makes a project of it"


def _around(folder: Path) -> Path | None:
    """The project that a folder is in, itself included."""
    with contextlib.suppress(OSError, RuntimeError):
        for place in (folder, folder / "..", folder / "../.."):
            if (place / NAME).is_file():
                return place if place == folder else place.resolve()
    return None


def _near_folder(folder: Path) -> str:
    if project := _around(folder):
        return f"name its project: {project}"
    for found in (_manifests(folder), _projects(folder)):
        if found:
            names = ", ".join(str(path) for path in found[:_LISTED])
            return f"did you mean {names}?" if len(found) == 1 else f"there are {names}"
    if text := next(_named(folder, TEXTS), None):
        return f"`narrator new DIR --from '{text}'` makes a project of a manuscript"
    return _GENERAL


def _manifests(folder: Path) -> list[Path]:
    """YAML files that may be manifests."""
    found = []
    for path in _named(folder, (".yaml", ".yml")):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if b"chapters" in file.read(4_000_000):
                found.append(path)
    return found


def _projects(folder: Path) -> list[Path]:
    return sorted(path for path in _inside(folder) if (path / NAME).is_file())


def _named(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    return (p for p in sorted(_inside(folder)) if p.suffix.lower() in suffixes and p.is_file())


def _inside(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError:
        return []


def _near_missing(path: Path) -> str:
    """What may have been meant by a name that nothing has."""
    if re.fullmatch(r"\d+\.\d+", path.name):
        return f"as a chunk it belongs to `narrator why {path.name}`, `takes`, `retake`, `pin`"
    if path.name == NAME and path.parent.is_dir():
        return _near_folder(path.parent)
    around = _inside(path.parent)
    books = [p.name for p in around if (p / NAME).is_file() or p.suffix in (".yaml", ".yml")]
    others = [p.name for p in around if p.is_file() and p.suffix.lower() in TEXTS]
    with contextlib.suppress(ValueError):
        guess = nearest(path.name, books) or nearest(path.name, others)
        if guess:
            return f"did you mean '{quoted(str(path.with_name(guess)), 200)}'?"
    return _GENERAL
