from __future__ import annotations

import errno
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from narrator import files
from narrator.errors import EnvironmentFailed, StorageError
from tests import forks


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


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path, mode):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    files.write(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", mode)


def test_what_was_left_half_written_is_swept_and_nothing_else(tmp_path):
    (tmp_path / f".{16 * 'a'}.part").write_bytes(b"half")
    (tmp_path / "my.part").write_bytes(b"mine")
    files.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["my.part"]


def test_what_somebody_is_still_writing_is_not_swept(tmp_path):
    with files.replacing(tmp_path / "file") as temporary:
        temporary.write_bytes(b"whole")
        files.sweep(tmp_path)
    assert (tmp_path / "file").read_bytes() == b"whole"


def die_writing(path):
    with files.replacing(path) as temporary:
        temporary.write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_the_next_write_removes_what_a_killed_one_left_in_the_folder(tmp_path):
    assert forks.code(forks.forked(die_writing, tmp_path / "file")) == -signal.SIGKILL
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    files.write(tmp_path / "other", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_folder_that_is_a_file_is_a_storage_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError):
        files.write(tmp_path / "file" / "inside", b"x")


def test_what_is_no_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    Path("dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    names = ("pipe", "loop", "dangling", "socket", ".", "missing", "/dev/null")
    assert [files.describe_file_type(Path(name)) for name in names] == [
        "a named pipe",
        "a link that leads back to itself",
        "a link to nowhere, which is not there",
        "a socket",
        "a folder",
        "",
        "a device",
    ]


def test_a_library_in_the_home_of_nobody_is_one_line(monkeypatch):
    monkeypatch.setenv("NARRATOR_HOME", "~no-such-user-here/books")
    with pytest.raises(EnvironmentFailed, match="NARRATOR_HOME=~no-such-user-here/books: "):
        files.library()


# -- small files of our own ------------------------------------------------------------------------

VALUES = [
    {"b": [1, 2.5, None], "a": {"ü": "“你好”"}},
    ["x", {"y": True}],
    {"10": 1, "9": 2},
    {},
    [],
    -70,
    {"lone": "\udcff"},
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_what_is_saved_is_read_again(value, tmp_path):
    files.save_json(tmp_path / "x.json", value)
    assert files.read_json(tmp_path / "x.json") == value


@pytest.mark.parametrize("value", VALUES[:3], ids=str)
def test_a_file_from_before_there_were_seals_is_read(value, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(value))
    assert files.read_json(tmp_path / "x.json") == value


def test_names_that_are_numbers_are_sealed_as_they_will_be_read(tmp_path):
    files.save_json(tmp_path / "x.json", {10: 1, 9: (2, 3)})
    assert files.read_json(tmp_path / "x.json") == {"10": 1, "9": [2, 3]}


def test_no_byte_of_a_sealed_file_can_change_what_is_read(tmp_path):
    path, value = tmp_path / "x.json", {"stop": 4410, "rows": [["a/b.m4b", 1e-3], ["é", None]]}
    files.save_json(path, value)
    data = path.read_bytes()
    for place in range(len(data)):
        for bit in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
            assert files.load_json(path, dict[str, Any], {}) in (value, {})
        path.write_bytes(data[:place])
        assert files.load_json(path, dict[str, Any], {}) in (value, {})


def test_an_altered_file_is_told_from_one_that_is_not_there(tmp_path, caplog):
    assert files.load_json(tmp_path / "x.json", int, 1) == 1
    assert not caplog.records
    (tmp_path / "x.json").write_text('{"seal": "0", "value": 5}')
    assert files.load_json(tmp_path / "x.json", int, 1) == 1
    assert "altered" in caplog.text
    with pytest.raises(files.AlteredFile, match="altered"):
        files.read_json(tmp_path / "x.json")


@pytest.mark.parametrize("path", [".", "/"])
def test_a_folder_is_no_file_to_write(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="directory"):
        files.write(Path(path), b"x")


def test_a_journal_that_is_a_link_is_not_written_through(tmp_path):
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / "journal").symlink_to("theirs")
    with pytest.raises(OSError, match="symbolic links"):
        files.append(tmp_path / "journal", b"ours", kept_bytes=0)
    assert (tmp_path / "theirs").read_bytes() == b"theirs"


def test_a_pipe_in_place_of_a_file_of_ours_keeps_nobody_waiting(tmp_path):
    path = tmp_path / "made.json"
    os.mkfifo(path)
    assert files.load_json(path, dict[str, int], {"a": 1}) == {"a": 1}
    with pytest.raises(OSError, match="it is a named pipe, not a file"):
        files.Journal(path).read()
    files.save_json(path, {"b": 2})
    assert files.load_json(path, dict[str, int], {}) == {"b": 2}
