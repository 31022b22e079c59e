"""kill -9 at random moments: nothing that was finished is lost or rendered twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests import books

PARAGRAPHS = 40


def project(folder: Path, formats: str = "flac", paragraphs: int = PARAGRAPHS) -> Path:
    """Some three minutes of speech, so that a kill can fall anywhere in a render."""
    manifest = books.MANIFEST.replace("[wav], files: chapters", f"[{formats}], files: both")
    draw = random.Random(5)
    words = books.TWO.replace("# Evening", "").split()
    paragraphs = [" ".join(draw.choices(words, k=30)).capitalize() for _ in range(paragraphs)]
    text = ".\n\n".join(p.replace("ann:", "ann") for p in paragraphs) + ".\n"
    return books.write(folder, manifest, one="# Morning\n\n" + text, two=books.TWO)


def start(path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "narrator", "render", str(path), "--draft"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )


def finish(path: Path) -> str:
    process = start(path)
    said = process.communicate(timeout=300)[0].decode()
    assert process.returncode == 0, said
    return said


def products(path: Path) -> dict[str, bytes]:
    found = sorted((path.parent / "build" / "draft").rglob("*"))
    return {p.name: p.read_bytes() for p in found if p.is_file()}


def killed_and_resumed(tmp_path: Path, kills: int, formats: str, paragraphs: int) -> None:
    whole, torn = (project(tmp_path / name, formats, paragraphs) for name in ("whole", "torn"))
    began = time.monotonic()
    finish(whole)
    length = time.monotonic() - began
    draw = random.Random(11)
    interrupted = 0
    while interrupted < kills:
        process = start(torn)
        time.sleep(draw.uniform(0.2, 1.0) * length)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        if process.returncode != 0:
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
    puts = Counter(json.loads(row)["record"]["key"] for row in rows)
    assert set(puts.values()) == {1}


def test_kills_at_random_moments_lose_nothing(tmp_path):
    killed_and_resumed(tmp_path, 6, "flac", 16)


@pytest.mark.slow
def test_fifty_kills_at_random_moments_lose_nothing(tmp_path):
    killed_and_resumed(tmp_path, 50, "m4b, mp3", PARAGRAPHS)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_stops_cleanly_and_the_run_can_go_on(name, tmp_path):
    path = project(tmp_path)
    process = start(path)
    journal = tmp_path / "build" / "store" / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.02)
    os.kill(process.pid, getattr(signal, name))
    said = process.communicate(timeout=60)[0].decode()
    assert process.returncode in (130, 0), said
    assert "Traceback" not in said
    if process.returncode == 130:
        assert "run the same command to go on" in said
    finish(path)


def test_no_worker_outlives_a_killed_render(tmp_path):
    process = start(project(tmp_path))
    time.sleep(2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    for _ in range(100):
        alive = subprocess.run(
            ["ps", "-o", "pid=,stat=", "-g", str(process.pid)], capture_output=True, text=True
        ).stdout
        if not [line for line in alive.splitlines() if "Z" not in line]:
            return
        time.sleep(0.1)
    raise AssertionError(f"still running: {alive}")
