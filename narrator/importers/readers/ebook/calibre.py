"""MOBI, AZW, AZW3 and PRC -> a book, by way of an EPUB that the user's own Calibre makes.

Knows where Calibre is found and how it fails. Nothing of it is part of this program.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from narrator.characters import seen
from narrator.errors import ImportFailed, Problem
from narrator.importers.book import Book, Choices, file_name, stem
from narrator.importers.readers.ebook.epub import read_epub

_COMMAND = "ebook-convert"
_BUNDLED = Path("calibre.app/Contents/MacOS") / _COMMAND
_SECONDS = 600
"""Calibre needs some seconds for a novel, minutes for an anthology full of pictures."""
_OUTPUT = "said.txt"
_KEPT = 20_000
"""Bytes of what Calibre says that are looked at."""
_SIZE_LIMIT = 400_000_000
_LOCKED = re.compile(r"\bDRM\b", re.IGNORECASE)
_TOLD = 160
"""Characters of what Calibre says that are told."""


def read_by_calibre(path: Path, choices: Choices) -> Book:
    """The book in a Kindle or Mobipocket file. Raises ImportFailed, Slow."""
    command = _found()
    if command is None:
        what = (
            "a Kindle or Mobipocket file, which Calibre can read: install it "
            f"(https://calibre-ebook.com), or convert the file elsewhere: {_COMMAND} "
            f"{_shown(path)} book.epub"
        )
        raise ImportFailed(Problem(path, None, what))
    with tempfile.TemporaryDirectory(prefix="narrator-") as folder:
        made = _converted(command, path, Path(folder))
        try:
            book = read_epub(made, choices)
        except ImportFailed as error:
            what = str(error).removeprefix(f"{made}: ")
            raise ImportFailed(Problem(path, None, f"as Calibre's EPUB: {what}")) from None
    return replace(
        book,
        source=file_name(path),
        title=book.title if book.is_titled else stem(path),
        remarks=(*book.remarks, "It was read as the EPUB that Calibre makes of it."),
    )


def _found() -> str | None:
    """Where Calibre's converter is."""
    if found := shutil.which(_COMMAND):
        return found
    bundles = (
        folder / _BUNDLED for folder in (Path("/Applications"), Path.home() / "Applications")
    )
    return next((str(path) for path in bundles if os.access(path, os.X_OK)), None)


def _shown(path: Path) -> str:
    name = file_name(path)
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'".replace("\n", " ")


def _converted(command: str, path: Path, folder: Path) -> Path:
    """The EPUB that Calibre makes of a file. Raises ImportFailed."""
    # Under a name of our own, which no option of the program can be taken for.
    suffix = path.suffix.lower()
    source = folder / f"book{suffix if suffix in ('.azw', '.azw3', '.prc') else '.mobi'}"
    made = folder / "book.epub"
    try:
        if path.stat().st_size > _SIZE_LIMIT:
            raise ImportFailed(Problem(path, None, "larger than 400 MB, which no book is"))
        shutil.copyfile(path, source)
        code = _run([command, str(source), str(made)], folder)
    except subprocess.TimeoutExpired:
        what = f"Calibre did not end within {_SECONDS // 60} minutes"
        raise ImportFailed(Problem(path, None, what)) from None
    except OSError as error:
        what = f"Calibre ({command}) could not be run: {error.strerror or error}"
        raise ImportFailed(Problem(path, None, what)) from None
    said = (folder / _OUTPUT).read_bytes()[-_KEPT:].decode("utf-8", "replace")
    if made.is_file() and not code:
        return made
    if _LOCKED.search(said):
        raise ImportFailed(Problem(path, None, "protected by DRM; import a copy without"))
    lines = [seen(line).strip() for line in said.splitlines() if seen(line).strip()]
    last = lines[-1][:_TOLD] if lines else f"it ended with {code} and said nothing"
    raise ImportFailed(Problem(path, None, f"Calibre could not convert it: {last}"))


def _run(command: list[str], folder: Path) -> int:
    """Run a program to its end. Raises TimeoutExpired, OSError."""
    # Into a file: a process that is left over holds nobody up. It ends with the process that reads.
    with (folder / _OUTPUT).open("wb") as output:
        with _unlimited():
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                cwd=folder,
            )  # fmt: skip
        try:
            return process.wait(_SECONDS)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _unlimited() -> Iterator[None]:
    """Without the limits of this process, for one that has its own: a clock, and who watches its
    memory."""
    kinds = (resource.RLIMIT_DATA, resource.RLIMIT_CPU)
    limits = {kind: resource.getrlimit(kind) for kind in kinds}
    for kind, (_, most) in limits.items():
        resource.setrlimit(kind, (most, most))
    try:
        yield
    finally:
        for kind, limit in limits.items():
            resource.setrlimit(kind, limit)
