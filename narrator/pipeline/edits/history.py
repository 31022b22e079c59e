"""Edits made, undone and redone, in `build/edits/STEM`: all of an edit is there, or none of it.

    history.json    the edits in order, how many of them stand, and the one that is being made
    000012.json     one edit: what was taken out of each file, where, and what was put there

What is to be written is noted first, then the files are, then that they are: what a kill cut short
is taken back when the history is opened again, by the hashes of the files' texts. In a file that a
person has changed since, an edit is undone only where its lines stand between the same ones, once.
Knows nothing of what an edit is about.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from narrator import files, keys
from narrator.errors import Changed, Locked, StorageError
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Edit, FileChange, encoded, exact
from narrator.pipeline.edits.likeness import likest_lines
from narrator.project import load
from narrator.project.project import Project
from narrator.text.decided import place_of

_MOST = 1000
"""Edits that can be undone; older ones are forgotten."""
_NEIGHBOURS = 3
"""Lines around an edit by which it is found where the file is another one by now."""
_PATIENCE = 10.0
"""Seconds that another edit of the project is waited for."""
_FILE = re.compile(r"\d{6,}\.json")


@dataclass(frozen=True, slots=True)
class PastEdit:
    """An edit that was made."""

    what: str
    time: str
    """ISO 8601, UTC."""
    undone: bool


def apply(project: Project, edit: Edit) -> None:
    """Write all of an edit or none of it, and remember it.

    Raises Changed where a file is not what the edit was made for, Locked, StorageError.
    """
    changes = [change for change in edit.changes if change.before != change.after]
    if changes:
        with _opened(project) as log:
            log.make(edit.what, [_Patch.of(change, project) for change in changes])


def undo(project: Project) -> PastEdit | None:
    """Take the last edit back; None where there is none. Raises Changed, Locked, StorageError."""
    with _opened(project) as log:
        return log.undo() if log.state.done else None


def redo(project: Project) -> PastEdit | None:
    """Make the edit again that was undone last; None where there is none.

    Raises Changed, Locked, StorageError.
    """
    with _opened(project) as log:
        return log.redo() if log.state.done < len(log.state.rows) else None


def history(project: Project) -> list[PastEdit]:
    """The edits of a project, the oldest first. Raises Locked, StorageError."""
    if not _folder(project).is_dir():
        return []
    with _opened(project) as log:
        return [log.past(place) for place in range(len(log.state.rows))]


# -- one edit of one file --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Patch:
    """Lines of a file that others take the place of."""

    path: str
    """As it is found from the project's folder."""
    line: int
    """Lines before them."""
    at: int
    """Characters before them."""
    old: str | None
    """None: there is no file."""
    new: str | None
    before: str
    """Hash of the file's whole text; of no file empty."""
    after: str
    above: str = ""
    """A few lines before them, which stay."""
    below: str = ""

    @classmethod
    def of(cls, change: FileChange, project: Project) -> _Patch:
        old, new = (_lines(text) for text in (change.before, change.after))
        head = _alike(old, new)
        tail = _alike(old[head:][::-1], new[head:][::-1])
        root, path = project.root, change.path
        return cls(
            (path.relative_to(root) if path.is_relative_to(root) else path).as_posix(),
            head,
            sum(map(len, old[:head])),
            None if change.before is None else "".join(old[head : len(old) - tail]),
            None if change.after is None else "".join(new[head : len(new) - tail]),
            _hash(change.before),
            _hash(change.after),
            "".join(old[max(0, head - _NEIGHBOURS) : head]),
            "".join(old[len(old) - tail :][:_NEIGHBOURS]),
        )

    @property
    def back(self) -> _Patch:
        return replace(self, old=self.new, new=self.old, before=self.after, after=self.before)

    def made(self, text: str | None) -> str | None:
        """The text of the file after it, of what it was made for."""
        if self.new is None or text is None:
            return self.new
        return text[: self.at] + self.new + text[self.at + len(self.old or "") :]

    def changed(self, path: Path, text: str | None) -> Changed:
        """What is said where the file's text is another one."""
        lines, old = _lines(text), self.old or ""
        if not old:  # lines that were to be put there
            at = self._stands(lines) or self.line
            return Changed(path, "".join(lines[at : at + 1]), self.new or "")
        there = likest_lines(lines, _lines(old), self.line)
        return Changed(path, "".join(there), self.new or "")

    def moved(self, text: str | None) -> _Patch | None:
        """The same for what the file is by now, if the lines stand there with their neighbours, and
        only once; None where that is not so."""
        lines = _lines(text)
        place = self._stands(lines)
        if text is None or self.new is None or place is None:
            return None
        here = replace(self, line=place, at=sum(map(len, lines[:place])), before=_hash(text))
        return replace(here, after=_hash(here.made(text)))

    def _stands(self, lines: Sequence[str]) -> int | None:
        """Before which line what is replaced stands, with its neighbours and only once."""
        above = _lines(self.above)
        block = [*above, *_lines(self.old), *_lines(self.below)]
        if self.old is None or not "".join(block).strip():
            return None
        starts = (n for n, line in enumerate(lines) if line == block[0])
        found = [n for n in starts if lines[n : n + len(block)] == block]
        return found[0] + len(above) if len(found) == 1 else None


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines(keepends=True)


def _alike(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many are the same from the first on."""
    both = zip(ours, theirs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _hash(text: str | None) -> str:
    return "" if text is None else keys.content_of(encoded(text))


# -- what is remembered ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _HistoryFile:
    """history.json."""

    rows: tuple[tuple[int, str, str], ...] = ()
    """Number, what and time of each edit."""
    done: int = 0
    """How many of them stand; the others were undone."""
    pending: str = ""
    """What is being done: `make` the edit after those that stand, `redo` it, or `undo` the last."""

    @classmethod
    def read(cls, path: Path) -> _HistoryFile:
        data = files.load_json(path, {})
        try:
            rows = tuple((int(n), str(what), str(time)) for n, what, time in data["rows"])
            return cls(rows, min(len(rows), int(data["done"])), str(data["pending"]))
        except (LookupError, TypeError, ValueError):
            return cls()

    @property
    def number(self) -> int:
        """Of the edit that is being made or undone."""
        return self.rows[self.done - (self.pending == _UNDO)][0]

    @property
    def after(self) -> _HistoryFile:
        """With what is being done, done."""
        return replace(self, done=self.done + (-1 if self.pending == _UNDO else 1), pending="")

    @property
    def without(self) -> _HistoryFile:
        """As if it had not been begun."""
        rows = self.rows[: self.done] if self.pending == _MAKE else self.rows
        return replace(self, rows=rows, pending="")


_MAKE, _UNDO, _REDO = "make", "undo", "redo"


def path_of(project: Project) -> Path:
    """The list of a manifest's edits, which changes with each of them."""
    return _folder(project) / "history.json"


def _folder(project: Project) -> Path:
    """Of one manifest: others in the same folder have their own."""
    return project.build / "edits" / project.stem


@contextlib.contextmanager
def _opened(project: Project) -> Iterator[_Log]:
    """The history, nobody else's for so long, with what a kill cut short taken back."""
    with held(project.build / "edits"):  # of all manifests, which may share texts
        with files.storage(_folder(project)):
            _folder(project).mkdir(exist_ok=True)
        yield _Log(project)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """A folder of small files of ours, which one process changes at a time, for a moment.

    Raises Locked, StorageError.
    """
    lock = FileLock(folder / ".lock", timeout=_PATIENCE)
    try:
        with files.storage(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
    except Timeout:
        raise Locked(f"{folder}: another narrator is writing there; try again") from None
    except NotImplementedError:
        raise StorageError(f"{folder}: this disk knows no locks; use another one") from None
    try:
        yield
    finally:
        lock.release()


class _Log:
    """The history of a project while it is held."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = _folder(project)
        self.state = _HistoryFile.read(path_of(project))
        if self.state.pending:
            self._recover()

    def past(self, place: int) -> PastEdit:
        _, what, time = self.state.rows[place]
        return PastEdit(what, time, undone=place >= self.state.done)

    def make(self, what: str, parts: Sequence[_Patch]) -> None:
        """A new edit; those that were undone are forgotten."""
        texts = self._texts(parts)
        self._sweep()
        number = 1 + max((int(path.stem) for path in self._entries()), default=0)
        files.save_json(self._entry(number), [asdict(part) for part in parts])
        time = datetime.now(UTC).isoformat(timespec="seconds")
        rows = (*self.state.rows[: self.state.done], (number, what, time))[-_MOST:]
        self._carry_out(_HistoryFile(rows, len(rows) - 1, _MAKE), parts, texts)

    def undo(self) -> PastEdit:
        return self._again(_UNDO)

    def redo(self) -> PastEdit:
        return self._again(_REDO)

    def _again(self, what: str) -> PastEdit:
        state = replace(self.state, pending=what)
        parts = self._as_they_are(state, self._parts(state))
        self._carry_out(state, parts, self._texts(parts))
        return self.past(min(state.done, self.state.done))

    def _as_they_are(self, state: _HistoryFile, parts: Sequence[_Patch]) -> list[_Patch]:
        """An edit for files that were changed elsewhere since, which is kept as such: a kill may
        come. Raises Changed where that cannot be, UserError where nothing could be read then."""
        texts = [exact(self._path(part)) for part in parts]
        found, changes = list[_Patch](), list[FileChange]()
        for part, text in zip(parts, texts, strict=True):
            here = part if _hash(text) == part.before else part.moved(text)
            if here is None:
                raise part.changed(self._path(part), text)
            found.append(here)
            changes.append(FileChange(self._path(part), text, here.made(text)))
        if found != list(parts):
            checked(self.project, Edit("", tuple(changes)))
            rows = [part.back if state.pending == _UNDO else part for part in found]
            files.save_json(self._entry(state.number), [asdict(row) for row in rows])
        return found

    # -- writing

    def _texts(self, parts: Sequence[_Patch]) -> list[str | None]:
        """The texts of files that an edit was made for. Raises Changed."""
        texts = [exact(self._path(part)) for part in parts]
        for part, text in zip(parts, texts, strict=True):
            if _hash(text) != part.before:
                raise part.changed(self._path(part), text)
        return texts

    def _carry_out(
        self, state: _HistoryFile, parts: Sequence[_Patch], texts: Sequence[str | None]
    ) -> None:
        """Do what is pending: write all files, or none."""
        self._save(state)
        try:
            for part, text in zip(parts, texts, strict=True):
                _write(self._path(part), part.made(text))
            self._save(state.after)
        except StorageError:
            with contextlib.suppress(StorageError):
                self._take_back(parts)
            raise

    def _recover(self) -> None:
        """Count what was written to its end, and take back the rest."""
        try:
            parts = self._parts(self.state)
            folders = {self._path(part).parent for part in parts}
        except (LookupError, StorageError):
            parts, folders = [], set()
        for folder in folders:
            files.sweep(folder)
        if parts and all(_hash(exact(self._path(part))) == part.after for part in parts):
            self._save(self.state.after)
        else:
            self._take_back(parts)

    def _take_back(self, parts: Sequence[_Patch]) -> None:
        """Undo what of the pending edit is there."""
        for part in parts:
            text = exact(self._path(part))
            if _hash(text) == part.after:
                _write(self._path(part), part.back.made(text))
        self._save(self.state.without)

    def _save(self, state: _HistoryFile) -> None:
        files.save_json(path_of(self.project), asdict(state))
        self.state = state

    # -- files

    def _path(self, part: _Patch) -> Path:
        """The file of a part: one of the project's folder, or of its chapters.

        Raises StorageError for another: a history may come from anywhere.
        """
        path = self.project.root / part.path
        chapters = [self.project.root / c.file for c in self.project.chapters if c.file]
        allowed = load.stray(self.project, part.path) is None
        inside = path.resolve().is_relative_to(self.project.root.resolve())
        known = inside or path in (*chapters, *map(place_of, chapters))
        if path != self.project.path and not (allowed and known):
            raise StorageError(f"{path}: none of this project's files")
        return path

    def _entry(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"

    def _entries(self) -> list[Path]:
        with files.storage(self.folder):
            return [path for path in self.folder.iterdir() if _FILE.fullmatch(path.name)]

    def _parts(self, state: _HistoryFile) -> list[_Patch]:
        """What is pending. Raises StorageError."""
        path = self._entry(state.number)
        try:
            rows: list[dict[str, Any]] = files.read_json(path)
            parts = [_Patch(**row) for row in rows]
        except (OSError, TypeError, files.Altered) as error:
            raise StorageError(f"{path}: cannot be read, so nothing is undone: {error}") from None
        return [part.back for part in parts] if state.pending == _UNDO else parts

    def _sweep(self) -> None:
        """Remove edits that nothing leads to any more."""
        files.sweep(self.folder)
        kept = {self._entry(number) for number, _, _ in self.state.rows}
        with files.storage(self.folder):
            for path in set(self._entries()) - kept:
                path.unlink()


def _write(path: Path, text: str | None) -> None:
    path = files.behind(path)
    if text is not None:
        files.write(path, encoded(text))
        return
    with files.storage(path):
        path.unlink(missing_ok=True)
