from __future__ import annotations

import errno
import os

import pytest

from narrator import files
from narrator.errors import EnvironmentFailed, StorageError


def full(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "new" / "file"
    stat = files.write(path, b"data")
    assert path.read_bytes() == b"data"
    assert (stat.st_size, stat.st_mtime_ns) == (4, path.stat().st_mtime_ns)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.write(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        files.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_left_half_written_is_swept_and_nothing_else(tmp_path):
    (tmp_path / f".{16 * 'a'}.part").write_bytes(b"half")
    (tmp_path / "my.part").write_bytes(b"mine")
    files.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["my.part"]


def test_a_folder_that_is_a_file_is_a_storage_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError):
        files.write(tmp_path / "file" / "inside", b"x")


def test_a_library_in_the_home_of_nobody_is_one_line(monkeypatch):
    monkeypatch.setenv("NARRATOR_HOME", "~no-such-user-here/books")
    with pytest.raises(EnvironmentFailed, match="NARRATOR_HOME=~no-such-user-here/books: "):
        files.library()
