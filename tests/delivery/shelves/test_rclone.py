"""A remote of rclone as a shelf, by a program that stands in for rclone: it has its options and its
log, and a folder in place of a remote."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from narrator import files
from narrator.delivery.shelves import rclone
from narrator.errors import EnvironmentFailed, UsageError
from tests.shelves import names, send

PROGRAM = f"""\
#!{sys.executable}
import json, os, pathlib, shutil, sys

def log(level, msg, **row):
    print(json.dumps({{"level": level, "msg": msg, **row}}), file=sys.stderr, flush=True)

def there(place):
    name, _, path = place.partition(":")
    if name != "shelf":
        print("2026/11/27 01:02:03 Failed to create file system: didn't find section in config "
              "file", file=sys.stderr)
        sys.exit(1)
    return pathlib.Path(os.environ["FAKE_ROOT"], path)

command, *words = sys.argv[1:]
assert "--ask-password=false" in words
with open(os.environ["FAKE_ROOT"] + ".log", "a") as file:
    print(command, file=file)
if fault := os.environ.get("FAKE_FAULT"):
    print("2026/11/27 01:02:03 " + fault, file=sys.stderr)
    sys.exit(1)
chosen = []
if "--files-from-raw" in words:
    chosen = pathlib.Path(words[words.index("--files-from-raw") + 1]).read_text().splitlines()
places = [word for word in words if ":" in word and not word.startswith("-")]
if command == "lsjson":
    folder = there(places[0])
    if not folder.is_dir():
        log("error", "error listing: directory not found")
        sys.exit(3)
    files = [path for path in folder.rglob("*") if path.is_file()]
    print(json.dumps([{{"Path": path.relative_to(folder).as_posix(), "Size": path.stat().st_size}}
                      for path in files]))
elif command == "copy":
    assert "--ignore-times" in words and "--copy-links" in words
    left = int(os.environ.get("FAKE_LEFT", 1000))
    for name in reversed(chosen):
        target = there(places[0]) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not left:
            target.write_text("h")
            os.kill(os.getpid(), 9)
        left -= 1
        shutil.copyfile(pathlib.Path(words[0]) / name, target)
        log("info", "Copied (new)", object=name)
elif command == "delete":
    for name in chosen:
        (there(places[0]) / name).unlink()
"""


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("rclone")
    (folder / "bin").mkdir()
    (folder / "bin/rclone").write_text(PROGRAM)
    (folder / "bin/rclone").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_ROOT", str(folder / "remote"))
    return folder / "remote"


SHELF = rclone.RcloneShelf("shelf:show")


def test_what_is_new_is_sent_and_what_is_gone_is_removed(items, root, tmp_path):
    send(items(feed_xml="1", one_vtt="1", one_mp3="1"), SHELF, tmp_path)
    (root / "show/others.mp3").write_text("another's")
    assert send(items(feed_xml="1", one_vtt="1", one_mp3="1"), SHELF, tmp_path).sent == ()
    send(items(feed_xml="2", two_mp3="2"), SHELF, tmp_path)
    assert names(root) == {"show/feed.xml", "show/two.mp3", "show/others.mp3"}
    assert (root / "show/feed.xml").read_text() == "2"
    runs = Path(f"{root}.log").read_text().split()
    assert runs == [
        *("lsjson", "copy", "copy", "copy"),
        "lsjson",
        *("lsjson", "copy", "copy", "delete"),
    ]


@pytest.mark.parametrize("left", ["0", "1"])
def test_a_delivery_that_was_cut_off_goes_on(items, root, tmp_path, monkeypatch, left):
    wanted = items(a_mp3="aa", b_mp3="bb", feed_xml="ff")
    monkeypatch.setenv("FAKE_LEFT", left)
    with pytest.raises(EnvironmentFailed, match="run the same command again to continue"):
        send(wanted, SHELF, tmp_path)
    assert "show/feed.xml" not in names(root)
    monkeypatch.delenv("FAKE_LEFT")
    assert send(wanted, SHELF, tmp_path).unchanged == int(left)
    texts = {path.name: path.read_text() for path in (root / "show").iterdir()}
    assert texts == {"a.mp3": "aa", "b.mp3": "bb", "feed.xml": "ff"}


def test_a_name_of_two_lines_is_refused_and_removes_neither(items, root, tmp_path):
    (item,) = items(one_mp3="1")
    with pytest.raises(UsageError, match=r"mine\\nothers.mp3: rclone cannot be given"):
        send([replace(item, name="mine\nothers.mp3")], SHELF, tmp_path)
    (root / "show").mkdir(parents=True)
    for name in ("others.mp3", "mine\nothers.mp3"):
        (root / "show" / name).write_text("another's")
    rows = {"files": {"mine\nothers.mp3": ""}, "sizes": {}, "facts": {}}
    files.save_json(tmp_path / "sent.json", rows)
    assert send([item], SHELF, tmp_path).removed == ()
    assert (root / "show/others.mp3").exists()


def test_a_layout_lies_in_its_folder(items, root, tmp_path):
    (item,) = items(one_mp3="1")
    send([replace(item, name="A/B/one.mp3")], SHELF, tmp_path)
    assert names(root) == {"show/A/B/one.mp3"}
    assert send([replace(item, name="A/B/one.mp3")], SHELF, tmp_path).unchanged == 1


def test_a_remote_that_does_not_exist_is_named(items, root, tmp_path):
    with pytest.raises(UsageError, match="no remote 'shlef'; `rclone listremotes`"):
        send(items(one_mp3="1"), rclone.RcloneShelf("shlef:show"), tmp_path)


def test_a_machine_without_rclone_says_where_it_is(items, root, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailed, match="rclone is not installed; get it from https://"):
        send(items(one_mp3="1"), SHELF, tmp_path)


@pytest.mark.parametrize(
    "script",
    [
        "echo nothing that is JSON",
        """echo '[{"Path": 5, "Size": "x"}]'""",
        """echo '[{"Name": "x"}]'""",
        "echo '[[1]]'",
        r"printf '\377'",
        "printf '[%.0s' {1..20000}",
        """echo '{"level": [], "msg": {}, "object": []}' >&2; exit 1""",
        """echo '{"level": "info", "msg": "Copied", "object": []}' >&2; [ $1 = lsjson ]""",
        None,
    ],
)
def test_a_program_that_is_not_rclone_is_one_line(narrator, finished, root, script):
    program = root.parent / "bin/rclone"
    program.write_text("no program" if script is None else f"#!/bin/bash\n{script}\n")
    code, _, log = narrator("deliver", finished, "--draft", "--to", "rclone:shelf:show")
    assert code == 3
    assert "error: " in log
    assert "internal error" not in log


@pytest.mark.parametrize(
    "to",
    [
        "rclone:",
        "rclone:shelf",
        "rclone:--config:hush",
        "rclone::webdav,pass=hush:x",
        "rclone:shelf,pass=hush:x",
    ],
)
def test_a_remote_that_is_spelt_out_is_refused_and_not_repeated(to):
    with pytest.raises(UsageError, match="needs the name of a remote") as caught:
        rclone.RcloneShelf.parse(to)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "fault",
    [
        'Propfind "https://me:hush@host/x": refused',
        "401 for Authorization: Bearer hush",
        "GET /x?X-Amz-Signature=hush&a=1: 403",
        'config: {"token": "hush"}',
        "GET /x?sig=hush: 403",
        "GET /x?tempauth=hush: 403",
        "login failed, password: hush",
        "of the environment, hush",
    ],
)
def test_no_secret_is_in_an_error(narrator, finished, root, monkeypatch, fault):
    if "environment" in fault:
        monkeypatch.setenv("RCLONE_CONFIG_SHELF_PASS", "hush")
    monkeypatch.setenv("FAKE_FAULT", fault)
    code, said, log = narrator("deliver", finished, "--draft", "--to", "rclone:shelf:show")
    assert code == 3
    (line,) = [line for line in log.splitlines() if line.startswith("error:")]
    assert line.startswith("error: rclone: ")
    assert "2026" not in line
    assert line.endswith("; once that is fixed, run the same command again to continue")
    build = finished.parent / "build"
    texts = [path.read_bytes() for path in build.rglob("*") if path.is_file()]
    assert "hush" not in said + log
    assert not any(b"hush" in text for text in texts)


def test_the_command_sends_the_folder(narrator, finished, root):
    code, said, _ = narrator("deliver", finished, "--draft", "--to", "rclone:shelf:show/")
    assert code == 0
    assert "rclone:shelf:show: 9 files sent" in said
    assert names(root / "show") == names(finished.parent / "build/draft")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rclone") is None, reason="needs rclone")
@pytest.mark.parametrize("kind", ["webdav", "sftp"])
def test_what_rclone_itself_serves_comes_back_byte_for_byte(
    kind, narrator, finished, tmp_path_factory, monkeypatch
):
    folder = tmp_path_factory.mktemp("served")
    config = folder / "rclone.conf"
    monkeypatch.setenv("RCLONE_CONFIG", str(config))
    password = subprocess.check_output(["rclone", "obscure", "hush"], text=True).strip()
    (folder / "remote").mkdir()
    command = ["rclone", "serve", kind, folder / "remote", "--addr", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--user", "ann", "--pass", "hush"], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            found = (re.search(r"127\.0\.0\.1:(\d+)", line) for line in server.stderr)
            port = next(filter(None, found))[1]
            place = {
                "webdav": f"url = http://127.0.0.1:{port}\nvendor = other",
                "sftp": f"host = 127.0.0.1\nport = {port}\nshell_type = none",
            }[kind]
            config.write_text(f"[web]\ntype = {kind}\n{place}\nuser = ann\npass = {password}\n")
            code, said, _ = narrator("deliver", finished, "--draft", "--to", "rclone:web:show")
            assert code == 0, said
            subprocess.run(["rclone", "copy", "web:show", folder / "copy"], check=True)
        finally:
            server.terminate()
    original = finished.parent / "build/draft"
    assert names(folder / "copy") == names(original)
    for name in names(original):
        assert (folder / "copy" / name).read_bytes() == (original / name).read_bytes()
