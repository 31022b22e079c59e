"""kill -9 at random moments: nothing that was finished is lost or rendered twice."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests import books, forks
from tests.effort import quick


def project(folder: Path, formats: str = "flac", paragraphs: int = 8) -> Path:
    """Speech of some three seconds a paragraph, so that a kill can fall anywhere in a render."""
    manifest = books.MANIFEST.replace("[wav], files: chapters", f"[{formats}], files: both")
    draw = random.Random(5)
    words = books.TWO.replace("# Evening", "").split()
    paragraphs = [" ".join(draw.choices(words, k=8)).capitalize() for _ in range(paragraphs)]
    text = ".\n\n".join(p.replace("ann:", "ann") for p in paragraphs) + ".\n"
    return books.write(folder, manifest, one="# Morning\n\n" + text, two=books.BRIEF_TWO)


def start(path: Path) -> BaseProcess:
    return forks.start(path.with_name("said"), "render", path, "--draft")


def said(path: Path) -> str:
    return path.with_name("said").read_text("utf-8")


def finish(path: Path) -> None:
    assert forks.code(start(path), 300) == 0, said(path)


def products(path: Path) -> dict[str, bytes]:
    found = sorted((path.parent / "build" / "draft").rglob("*"))
    return {p.name: p.read_bytes() for p in found if p.is_file()}


def killed_and_resumed(tmp_path: Path, kills: int, formats: str, paragraphs: int) -> None:
    whole, torn = (project(tmp_path / name, formats, paragraphs) for name in ("whole", "torn"))
    forks.code(forks.start(tmp_path / "said", "--version"))  # all is imported then
    began = time.monotonic()
    finish(whole)
    length = time.monotonic() - began
    draw = random.Random(11)
    interrupted = 0
    while interrupted < kills:
        process = start(torn)
        time.sleep(draw.uniform(0.2, 1.0) * length)
        process.kill()
        if forks.code(process) != 0:
            interrupted += 1
            continue
        length *= 0.9  # it got through: be quicker, and begin again, so that every kill can hurt
        for take in list((torn.parent / "build" / "store").glob("??/*.take"))[::2]:
            take.unlink()
        (torn.parent / "build" / "store" / "journal.jsonl").unlink()
    finish(torn)
    assert products(torn) == products(whole)
    assert len(products(torn)) == {"flac": 3, "m4b, mp3": 4}[formats]
    assert not list((torn.parent / "build").rglob("*.part"))
    rows = (torn.parent / "build" / "store" / "journal.jsonl").read_text().splitlines()
    puts = Counter(json.loads(row)["record"]["key"] for row in rows if '"record"' in row)
    assert set(puts.values()) == {1}


def test_kills_at_random_moments_lose_nothing(tmp_path):
    killed_and_resumed(tmp_path, 1, "flac", 4)


@pytest.mark.slow
def test_fifty_kills_at_random_moments_lose_nothing(tmp_path):
    killed_and_resumed(tmp_path, 50, "m4b, mp3", 160)


@pytest.mark.parametrize("name", quick(["SIGINT", "SIGTERM", "SIGHUP"], "SIGINT"))
def test_a_signal_stops_cleanly_and_the_run_can_go_on(name, tmp_path):
    path = project(tmp_path, paragraphs=5)
    process = start(path)
    journal = tmp_path / "build" / "store" / "journal.jsonl"
    while process.is_alive() and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.02)
    os.kill(process.pid, getattr(signal, name))
    code = forks.code(process)
    assert code in (130, 0), said(path)
    assert "Traceback" not in said(path)
    if code == 130:
        assert "run the same command to go on" in said(path)
    finish(path)


def test_no_worker_outlives_a_killed_render(tmp_path):
    path = project(tmp_path)
    process = start(path)
    workers = path.parent / "build" / "store"
    while process.is_alive() and not workers.exists():
        time.sleep(0.02)
    time.sleep(0.3)
    process.kill()
    assert forks.code(process) == -signal.SIGKILL
    for _ in range(100):
        alive = forks.running_in_group(process.pid)
        if not alive:
            return
        time.sleep(0.1)
    raise AssertionError(f"still running: {alive}")
