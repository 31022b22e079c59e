"""Reads MOBI, AZW, AZW3 and PRC, by converting them to EPUB with the user's own Calibre.

Knows where Calibre is installed and how it fails. Calibre is not part of this program.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from manuscripts.book import Book, Choices, file_name, title_from_file_name
from manuscripts.errors import ImportFailed
from manuscripts.readers.ebook.epub import read_epub
from textbase.characters import strip_invisible
from textbase.errors import Problem

_COMMAND = "ebook-convert"
_BUNDLED = Path("calibre.app/Contents/MacOS") / _COMMAND
_TIMEOUT_SECONDS = 600
"""Timeout; Calibre needs some seconds for a novel, minutes for an anthology full of pictures."""
_OUTPUT_NAME = "output.txt"
_MAX_OUTPUT_BYTES = 20_000
"""Bytes of Calibre's output that are read, from its end."""
_SIZE_LIMIT = 400_000_000
_DRM = re.compile(r"\bDRM\b", re.IGNORECASE)
_MAX_MESSAGE_CHARACTERS = 160
"""Characters of Calibre's output in a message."""


def read_by_calibre(path: Path, choices: Choices) -> Book:
    """Reads the book in a Kindle or Mobipocket file. Raises ImportFailed, SlowPattern."""
    command = _find_converter()
    if command is None:
        message = (
            "a Kindle or Mobipocket file, which Calibre can read: install it "
            f"(https://calibre-ebook.com), or convert the file elsewhere: {_COMMAND} "
            f"{shlex.quote(file_name(path))} book.epub"
        )
        raise ImportFailed(Problem(path, None, message))
    with tempfile.TemporaryDirectory(prefix="narrator-") as folder:
        epub_path = _convert(command, path, Path(folder))
        try:
            book = read_epub(epub_path, choices)
        except ImportFailed as error:
            message = str(error).removeprefix(f"{epub_path}: ")
            raise ImportFailed(Problem(path, None, f"as Calibre's EPUB: {message}")) from None
    return replace(
        book,
        source=file_name(path),
        title=book.title if book.is_titled else title_from_file_name(path),
        remarks=(*book.remarks, "It was read as the EPUB that Calibre makes of it."),
    )


def _find_converter() -> str | None:
    """Returns the path of Calibre's converter; None if it is not installed."""
    if command := shutil.which(_COMMAND):
        return command
    bundles = (
        folder / _BUNDLED for folder in (Path("/Applications"), Path.home() / "Applications")
    )
    return next((str(path) for path in bundles if os.access(path, os.X_OK)), None)


def _convert(command: str, path: Path, folder: Path) -> Path:
    """Converts a file to EPUB; returns its path in the folder. Raises ImportFailed."""
    # Under a name of our own, which the program cannot mistake for an option.
    suffix = path.suffix.lower()
    source = folder / f"book{suffix if suffix in ('.azw', '.azw3', '.prc') else '.mobi'}"
    epub_path = folder / "book.epub"
    try:
        if path.stat().st_size > _SIZE_LIMIT:
            raise ImportFailed(Problem(path, None, "larger than 400 MB, which no book is"))
        shutil.copyfile(path, source)
        exit_code = _run([command, str(source), str(epub_path)], folder)
    except subprocess.TimeoutExpired:
        message = f"Calibre did not end within {_TIMEOUT_SECONDS // 60} minutes"
        raise ImportFailed(Problem(path, None, message)) from None
    except OSError as error:
        message = f"Calibre ({command}) could not be run: {error.strerror or error}"
        raise ImportFailed(Problem(path, None, message)) from None
    output = (folder / _OUTPUT_NAME).read_bytes()[-_MAX_OUTPUT_BYTES:].decode("utf-8", "replace")
    if epub_path.is_file() and not exit_code:
        return epub_path
    if _DRM.search(output):
        raise ImportFailed(Problem(path, None, "protected by DRM; import a copy without"))
    *_, last_line = ("", *strip_invisible(output).strip().splitlines())
    reason = last_line.strip()[:_MAX_MESSAGE_CHARACTERS]
    reason = reason or f"it ended with {exit_code} and wrote nothing"
    raise ImportFailed(Problem(path, None, f"Calibre could not convert it: {reason}"))


def _run(command: list[str], folder: Path) -> int:
    """Runs a program; returns its exit status. Raises TimeoutExpired, OSError."""
    # Output goes to a file, so that a leftover child process does not block reading a pipe.
    with (folder / _OUTPUT_NAME).open("wb") as output:
        with _lift_limits():
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                cwd=folder,
            )  # fmt: skip
        try:
            return process.wait(_TIMEOUT_SECONDS)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _lift_limits() -> Iterator[None]:
    """Lifts the limits of memory and CPU time, for a child process.

    The child has a timeout instead, and its memory is watched.
    """
    resources = (resource.RLIMIT_DATA, resource.RLIMIT_CPU)
    limits = {kind: resource.getrlimit(kind) for kind in resources}
    for kind, (_, hard_limit) in limits.items():
        resource.setrlimit(kind, (hard_limit, hard_limit))
    try:
        yield
    finally:
        for kind, limit in limits.items():
            resource.setrlimit(kind, limit)
