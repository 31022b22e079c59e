"""Manuscripts that were uploaded: kept until a project is made of them, or for a day.

Each lies in a folder of its own under `uploads` in the user's library, by a name of ours; what the
client calls it is text. They are read one at a time, by processes with limits. Knows nothing of
requests.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from manuscripts import Book, Choices, CoverImage, ImportStopped
from manuscripts.kinds import KINDS, READERS
from narrator import files
from narrator.errors import NarratorError
from narrator.importing import import_isolated
from narrator.studio.session import NotFound
from textbase.characters import strip_invisible

MAX_UPLOAD_BYTES = 500_000_000
"""Most bytes of a manuscript."""
MAX_UPLOADS = 4
"""Most manuscripts that are kept at a time; the oldest makes room for a new one."""
MAX_AGE_S = 24 * 3600.0
"""Seconds for which a manuscript is kept."""
_AGE_MARGIN_S = 3600.0
"""Seconds after that age within which a studio at work surely removes it."""
_MAX_NAME_LENGTH = 120
_FOLDER = re.compile(r"(\d{1,9})-[0-9a-f]{8}")
"""Folder of a studio's uploads, which begins with the number of its process."""


@dataclass(eq=False)
class Upload:
    """A manuscript, and the book that is read from it."""

    id: str
    path: Path
    name: str
    """Its name for people."""
    created: float = field(default_factory=time.monotonic)
    choices: Choices = field(default_factory=Choices)
    book: Book | None = None
    cover: CoverImage | None = None
    error: str = ""
    """Why it cannot be read, in a line."""
    reading: int = 0
    """Number of the latest reading; earlier ones stop."""
    began: float = 0.0

    @property
    def is_removed(self) -> bool:
        return self.reading < 0

    @property
    def state(self) -> str:
        if self.error:
            return "refused"
        return "ready" if self.book else "reading"


class Uploads:
    """The uploads of this studio."""

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}
        self._mutex, self._reading = threading.Lock(), threading.Lock()
        self._folder = root() / f"{os.getpid()}-{secrets.token_hex(4)}"
        _remove_abandoned()

    def close(self) -> None:
        """Stops all reading, and removes all uploads."""
        for upload in list(self._uploads.values()):
            self.remove(upload)
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, name: str) -> Upload:
        """Makes a place for a manuscript, whose bytes are written to its path. Raises
        StorageError."""
        _remove_abandoned()
        id = secrets.token_hex(8)
        path = self._folder / id / f"{id}{_known_suffix(name)}"
        with files.translating_errors(path):
            path.parent.mkdir(parents=True, mode=0o700)
        upload = Upload(id, path, _shown_name(name))
        with self._mutex:  # several may come at once
            self._uploads[id] = upload
            oldest = list(self._uploads.values())[:-MAX_UPLOADS]
        for old_upload in oldest:
            self.remove(old_upload)
        return upload

    def remove_old(self) -> None:
        """Removes uploads of more than a day ago."""
        for upload in list(self._uploads.values()):
            if time.monotonic() - upload.created > MAX_AGE_S:
                self.remove(upload)

    def find(self, id: str) -> Upload:
        """Returns an upload by its id. Raises NotFound."""
        if id not in self._uploads:
            raise NotFound("this manuscript is no longer kept; choose it again")
        return self._uploads[id]

    def remove(self, upload: Upload) -> None:
        """Stops the reading of an upload, and deletes it."""
        with self._mutex:
            upload.reading = -1
            self._uploads.pop(upload.id, None)
        shutil.rmtree(upload.path.parent, ignore_errors=True)

    def read(self, upload: Upload, choices: Choices) -> None:
        """Reads an upload in a thread; an earlier reading of it stops."""
        with self._mutex:
            if upload.is_removed:
                return
            upload.reading += 1
            upload.choices, upload.book, upload.error = choices, None, ""
            upload.began = time.monotonic()
            number = upload.reading
        threading.Thread(
            target=self._read, args=[upload, number], name="import", daemon=True
        ).start()

    def _read(self, upload: Upload, number: int) -> None:
        def is_stopped() -> bool:
            return upload.reading != number

        book, error = None, f"{upload.name} was not read: a fault of narrator's own"
        try:
            with self._reading:
                if is_stopped():
                    return
                book, error = import_isolated(upload.path, upload.choices, is_stopped), ""
        except ImportStopped:
            return
        except NarratorError as failure:
            messages = "; ".join(problem.message for problem in failure.problems)
            error = f"{upload.name}: {messages.replace(upload.path.name, upload.name)}"
        finally:  # whatever else it may be, the page must not wait for ever
            with self._mutex:
                if not is_stopped():
                    upload.book = book and _with_name(book, upload)
                    upload.error = " ".join(error.split())


def root() -> Path:
    """Returns the folder of all studios' uploads. Raises EnvironmentFailed."""
    return files.library() / "uploads"


def _remove_abandoned() -> None:
    """Removes uploads of studios that were killed."""
    with contextlib.suppress(OSError):  # harmless if they stay
        for path in root().iterdir():
            match = _FOLDER.fullmatch(path.name)
            if match and (not psutil.pid_exists(int(match[1])) or _is_old(path)):
                shutil.rmtree(path, ignore_errors=True)


def _is_old(folder: Path) -> bool:
    """True if a studio at work would have removed all of its uploads: the process that has its
    number is another program."""
    return time.time() - folder.stat().st_mtime > MAX_AGE_S + _AGE_MARGIN_S


def _known_suffix(name: str) -> str:
    """Returns the ending of a client's file name if it is that of a kind of file."""
    suffix = Path(name).suffix.casefold()
    is_known = any(suffix in kind.suffixes for kind in KINDS)
    return suffix if is_known or READERS.knows(suffix.removeprefix(".")) else ""


def _shown_name(name: str) -> str:
    """Returns a client's file name as a short text on one line."""
    name = " ".join(strip_invisible(name).replace("\\", "/").rpartition("/")[2].split())
    if len(name) > _MAX_NAME_LENGTH:
        name = f"{name[:_MAX_NAME_LENGTH]}…"
    return name or "manuscript"


def _with_name(book: Book, upload: Upload) -> Book:
    """Returns the book with the manuscript's name for people in the place of ours."""
    own_name, own_stem = upload.path.name, upload.path.stem

    def renamed(text: str) -> str:
        return text.replace(own_name, upload.name)

    stem = Path(upload.name).stem
    title = stem if not book.is_titled and book.title == own_stem else book.title
    chapters = tuple(
        replace(
            chapter,
            source=renamed(chapter.source),
            title=stem if chapter.title == own_stem else chapter.title,
        )
        for chapter in book.chapters
    )
    left_out = tuple(replace(skipped, source=renamed(skipped.source)) for skipped in book.left_out)
    remarks = tuple(renamed(remark) for remark in book.remarks)
    return replace(
        book,
        title=title,
        source=upload.name,
        chapters=chapters,
        left_out=left_out,
        remarks=remarks,
    )
