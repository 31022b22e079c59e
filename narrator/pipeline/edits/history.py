"""The history of edits, in `build/edits/STEM`; an edit is applied completely or not at all.

    history.json    the edits in order, the number in force, and the operation in progress
    000012.json     one edit: the text removed from each file, its place, and the text put there

The intention is recorded first, then the files are written, then their completion is recorded. An
operation that was killed is taken back when the history is opened again, by the hashes of the
files' texts. In a file that was changed by hand since, an edit can be undone only if its lines
stand between the same neighbours, exactly once. Knows nothing of the meaning of an edit.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from narrator import files, keys
from narrator.errors import FileChanged, StorageError
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import (
    Edit,
    FileChange,
    count_equal_start,
    encode_exact,
    read_exact,
)
from narrator.pipeline.session import lock_folder
from narrator.project import load
from narrator.project.project import Project
from narrator.text.alignment import find_moved_lines
from narrator.text.speaker_files import speaker_file_path

_MAX_EDITS = 1000
"""Number of edits in the history; older ones are dropped."""
_NEIGHBOURS = 3
"""Number of lines around an edit by which it is found again in a changed file."""
_ENTRY_NAME = re.compile(r"\d{6,}\.json")


@dataclass(frozen=True, slots=True)
class PastEdit:
    """An edit in the history."""

    title: str
    time: str
    """ISO 8601, UTC."""
    undone: bool


def apply(project: Project, edit: Edit) -> None:
    """Write all of an edit or none of it, and record it.

    Raises FileChanged if a file has another text than the edit was made for, Locked, StorageError.
    """
    changes = [change for change in edit.changes if change.old_text != change.new_text]
    if changes:
        with _open_history(project) as log:
            log.make(edit.title, [_Patch.of(change, project) for change in changes])


def undo(project: Project) -> PastEdit | None:
    """Undo the last edit; None if there is none. Raises FileChanged, Locked, StorageError."""
    with _open_history(project) as log:
        return log.undo() if log.state.done else None


def redo(project: Project) -> PastEdit | None:
    """Redo the edit that was undone last; None if there is none.

    Raises FileChanged, Locked, StorageError.
    """
    with _open_history(project) as log:
        return log.redo() if log.state.done < len(log.state.rows) else None


def history(project: Project) -> list[PastEdit]:
    """The edits of a project, the oldest first. Raises Locked, StorageError."""
    if not _folder(project).is_dir():
        return []
    with _open_history(project) as log:
        return [log.describe(index) for index in range(len(log.state.rows))]


# -- one edit of one file --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Patch:
    """The replacement of some lines of a file by others."""

    path: str
    """Relative to the project's folder."""
    line: int
    """Number of lines before the replaced ones."""
    at: int
    """Number of characters before the replaced lines."""
    old: str | None
    """Text of the replaced lines; None if there is no file."""
    new: str | None
    before: str
    """Hash of the file's full text; empty if there is no file."""
    after: str
    above: str = ""
    """A few unchanged lines before the replaced ones."""
    below: str = ""

    @classmethod
    def of(cls, change: FileChange, project: Project) -> _Patch:
        """The patch for a change: its first and last changed line with all between them."""
        old_lines, new_lines = (_split_lines(text) for text in (change.old_text, change.new_text))
        head_count = count_equal_start(old_lines, new_lines)
        tail_count = count_equal_start(old_lines[head_count:][::-1], new_lines[head_count:][::-1])
        root, path = project.root, change.path
        return cls(
            (path.relative_to(root) if path.is_relative_to(root) else path).as_posix(),
            head_count,
            sum(map(len, old_lines[:head_count])),
            None
            if change.old_text is None
            else "".join(old_lines[head_count : len(old_lines) - tail_count]),
            None
            if change.new_text is None
            else "".join(new_lines[head_count : len(new_lines) - tail_count]),
            _hash(change.old_text),
            _hash(change.new_text),
            "".join(old_lines[max(0, head_count - _NEIGHBOURS) : head_count]),
            "".join(old_lines[len(old_lines) - tail_count :][:_NEIGHBOURS]),
        )

    @property
    def inverse(self) -> _Patch:
        """The patch that undoes this one."""
        return replace(self, old=self.new, new=self.old, before=self.after, after=self.before)

    def apply_to(self, text: str | None) -> str | None:
        """The text of the file after the patch, from the text that it was made for."""
        if self.new is None or text is None:
            return self.new
        return text[: self.at] + self.new + text[self.at + len(self.old or "") :]

    def conflict_error(self, path: Path, text: str | None) -> FileChanged:
        """The error for a file with another text."""
        lines, old = _split_lines(text), self.old or ""
        if not old:  # an insertion
            line_number = self._find_line(lines) or self.line
            return FileChanged(path, "".join(lines[line_number : line_number + 1]), self.new or "")
        present_lines = find_moved_lines(lines, _split_lines(old), self.line)
        return FileChanged(path, "".join(present_lines), self.new or "")

    def relocate(self, text: str | None) -> _Patch | None:
        """The patch for the file's present text; None if its lines are not found exactly once.

        The lines have to stand between the same neighbours.
        """
        lines = _split_lines(text)
        line_number = self._find_line(lines)
        if text is None or self.new is None or line_number is None:
            return None
        moved_patch = replace(
            self, line=line_number, at=sum(map(len, lines[:line_number])), before=_hash(text)
        )
        return replace(moved_patch, after=_hash(moved_patch.apply_to(text)))

    def _find_line(self, lines: Sequence[str]) -> int | None:
        """The number of lines before the replaced ones; None if they are not found exactly once
        with their neighbours."""
        above = _split_lines(self.above)
        block = [*above, *_split_lines(self.old), *_split_lines(self.below)]
        if self.old is None or not "".join(block).strip():
            return None
        starts = (start for start, line in enumerate(lines) if line == block[0])
        matching_starts = [start for start in starts if lines[start : start + len(block)] == block]
        return matching_starts[0] + len(above) if len(matching_starts) == 1 else None


def _split_lines(text: str | None) -> list[str]:
    return (text or "").splitlines(keepends=True)


def _hash(text: str | None) -> str:
    return "" if text is None else keys.content_of(encode_exact(text))


# -- the history -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _HistoryFile:
    """The content of history.json."""

    rows: tuple[tuple[int, str, str], ...] = ()
    """Number, title and time of each edit."""
    done: int = 0
    """Number of edits in force; the others were undone."""
    pending: Literal["", "make", "undo", "redo"] = ""
    """The operation in progress: `make` or `redo` the edit after those in force, or `undo` the last
    of them."""

    @classmethod
    def read(cls, path: Path) -> _HistoryFile:
        """Read the file. Raises StorageError if it is damaged: its edits could be undone."""
        return files.load_work(
            path,
            cls,
            cls(),
            title="a list of edits",
            remedy=f"restore it, or move the folder '{path.parent.name}' away to go on without "
            "undoing what was edited before",
        )

    @property
    def number(self) -> int:
        """The number of the edit in progress."""
        return self.rows[self.done - (self.pending == "undo")][0]

    @property
    def after(self) -> _HistoryFile:
        """The history with the operation in progress completed."""
        return replace(self, done=self.done + (-1 if self.pending == "undo" else 1), pending="")

    @property
    def without_pending(self) -> _HistoryFile:
        """The history with the operation in progress dropped."""
        rows = self.rows[: self.done] if self.pending == "make" else self.rows
        return replace(self, rows=rows, pending="")


def path_of(project: Project) -> Path:
    """The file with the list of a manifest's edits, which changes with each of them."""
    return _folder(project) / "history.json"


def _folder(project: Project) -> Path:
    """The folder of a manifest's edits; manifests in the same folder have their own."""
    return project.build / "edits" / project.stem


@contextlib.contextmanager
def _open_history(project: Project) -> Iterator[_Log]:
    """Lock and open the history, with any killed operation taken back."""
    with lock_folder(project.build / "edits"):  # shared by all manifests, which may share texts
        with files.translating_errors(_folder(project)):
            _folder(project).mkdir(exist_ok=True)
        yield _Log(project)


class _Log:
    """The history of a project while it is locked."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = _folder(project)
        self.state = _HistoryFile.read(path_of(project))
        if self.state.pending:
            self._recover()

    def describe(self, index: int) -> PastEdit:
        _, title, time = self.state.rows[index]
        return PastEdit(title, time, undone=index >= self.state.done)

    def make(self, title: str, patches: Sequence[_Patch]) -> None:
        """Apply a new edit; undone edits are dropped from the history."""
        texts = self._read_texts(patches)
        self._sweep()
        number = 1 + max((int(path.stem) for path in self._entries()), default=0)
        files.save_json(self._entry(number), [asdict(patch) for patch in patches])
        time = datetime.now(UTC).isoformat(timespec="seconds")
        rows = (*self.state.rows[: self.state.done], (number, title, time))[-_MAX_EDITS:]
        self._carry_out(_HistoryFile(rows, len(rows) - 1, "make"), patches, texts)

    def undo(self) -> PastEdit:
        return self._repeat("undo")

    def redo(self) -> PastEdit:
        return self._repeat("redo")

    def _repeat(self, operation: Literal["undo", "redo"]) -> PastEdit:
        """Undo the last edit, or redo the next one."""
        state = replace(self.state, pending=operation)
        patches = self._adapt(state, self._load_patches(state))
        self._carry_out(state, patches, self._read_texts(patches))
        return self.describe(min(state.done, self.state.done))

    def _adapt(self, state: _HistoryFile, patches: Sequence[_Patch]) -> list[_Patch]:
        """Adapt patches to files that were changed elsewhere, and store the adapted ones.

        They are stored first, in case of a kill. Raises FileChanged if that is impossible,
        UserError if the project could not be read after them.
        """
        texts = [read_exact(self._path(patch)) for patch in patches]
        adapted, changes = list[_Patch](), list[FileChange]()
        for patch, text in zip(patches, texts, strict=True):
            adapted_patch = patch if _hash(text) == patch.before else patch.relocate(text)
            if adapted_patch is None:
                raise patch.conflict_error(self._path(patch), text)
            adapted.append(adapted_patch)
            changes.append(FileChange(self._path(patch), text, adapted_patch.apply_to(text)))
        if adapted != list(patches):
            require_readable(self.project, Edit("", tuple(changes)))
            rows = [patch.inverse if state.pending == "undo" else patch for patch in adapted]
            files.save_json(self._entry(state.number), [asdict(row) for row in rows])
        return adapted

    # -- writing

    def _read_texts(self, patches: Sequence[_Patch]) -> list[str | None]:
        """The texts of the files that patches apply to. Raises FileChanged."""
        texts = [read_exact(self._path(patch)) for patch in patches]
        for patch, text in zip(patches, texts, strict=True):
            if _hash(text) != patch.before:
                raise patch.conflict_error(self._path(patch), text)
        return texts

    def _carry_out(
        self, state: _HistoryFile, patches: Sequence[_Patch], texts: Sequence[str | None]
    ) -> None:
        """Do the pending operation: write all files, or none."""
        self._save(state)
        try:
            for patch, text in zip(patches, texts, strict=True):
                _write(self._path(patch), patch.apply_to(text))
            self._save(state.after)
        except StorageError:
            with contextlib.suppress(StorageError):
                self._take_back(patches)
            raise

    def _recover(self) -> None:
        """Complete a killed operation if all files were written; otherwise take it back."""
        try:
            patches = self._load_patches(self.state)
            folders = {self._path(patch).parent for patch in patches}
        except (LookupError, StorageError):
            patches, folders = [], set()
        for folder in folders:
            files.sweep(folder)
        if patches and all(
            _hash(read_exact(self._path(patch))) == patch.after for patch in patches
        ):
            self._save(self.state.after)
        else:
            self._take_back(patches)

    def _take_back(self, patches: Sequence[_Patch]) -> None:
        """Undo the part of the pending edit that was written."""
        for patch in patches:
            text = read_exact(self._path(patch))
            if _hash(text) == patch.after:
                _write(self._path(patch), patch.inverse.apply_to(text))
        self._save(self.state.without_pending)

    def _save(self, state: _HistoryFile) -> None:
        files.save_json(path_of(self.project), asdict(state))
        self.state = state

    # -- files

    def _path(self, patch: _Patch) -> Path:
        """The path of a patch's file, which is in the project's folder or of its chapters.

        Raises StorageError for other files, since a history may come from anywhere.
        """
        path = self.project.root / patch.path
        chapters = [
            self.project.root / chapter.file for chapter in self.project.chapters if chapter.file
        ]
        is_allowed = load.describe_stray_path(self.project, patch.path) is None
        is_inside = path.resolve().is_relative_to(self.project.root.resolve())
        is_known = is_inside or path in (*chapters, *map(speaker_file_path, chapters))
        if path != self.project.path and not (is_allowed and is_known):
            raise StorageError(f"{path}: none of this project's files")
        return path

    def _entry(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"

    def _entries(self) -> list[Path]:
        with files.translating_errors(self.folder):
            return [path for path in self.folder.iterdir() if _ENTRY_NAME.fullmatch(path.name)]

    def _load_patches(self, state: _HistoryFile) -> list[_Patch]:
        """The patches of the pending operation. Raises StorageError."""
        path = self._entry(state.number)
        try:
            # not decoded: half a character, in which a file that is not UTF-8 is read, is not JSON
            patches = [_Patch(**row) for row in files.read_json(path)]
        except (OSError, TypeError, files.AlteredFile) as error:
            raise StorageError(f"{path}: cannot be read, so nothing is undone: {error}") from None
        return [patch.inverse for patch in patches] if state.pending == "undo" else patches

    def _sweep(self) -> None:
        """Remove files of edits that are no longer in the history."""
        files.sweep(self.folder)
        current_entries = {self._entry(number) for number, _, _ in self.state.rows}
        with files.translating_errors(self.folder):
            for path in set(self._entries()) - current_entries:
                path.unlink()


def _write(path: Path, text: str | None) -> None:
    path = files.resolve_link(path)
    if text is not None:
        files.write(path, encode_exact(text))
        return
    with files.translating_errors(path):
        path.unlink(missing_ok=True)
