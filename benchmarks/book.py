"""A whole novel with the draft voice: import, render, render again; wall time, memory, disk.

    python -m benchmarks.book [BOOK.epub] [--chapters N]

Without an argument it takes the book that NARRATOR_TEST_EPUB names, or else builds one from the
story in `projects/`, repeated. Every figure is of whole processes, workers
included. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Run:
    """One command: seconds of wall time, and the most memory of all its processes together."""

    name: str
    wall: float
    peak_mb: float


def timed(name: str, *arguments: str) -> Run:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "narrator", *arguments],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    peak = [0.0]
    watching = threading.Thread(target=_watch, args=(process, peak))
    watching.start()
    _, error = process.communicate()
    watching.join()
    if process.returncode:
        sys.exit(f"{name}: {error.decode()}")
    return Run(name, time.perf_counter() - began, peak[0])


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    """Proportional set size of the process and all below it (Linux; elsewhere it stays 0)."""
    while process.poll() is None:
        total = sum(_pss(pid) for pid in _tree(process.pid))
        peak[0] = max(peak[0], total / 1e6)
        time.sleep(0.25)


def _tree(root: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    processes, new = {root}, {root}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - processes
        processes |= new
    return processes


def _pss(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def book() -> Path:
    """The book to render: the named one, or one that is built."""
    if named_book := os.environ.get("NARRATOR_TEST_EPUB"):
        return Path(named_book)
    chapters = sorted((ROOT / "projects").glob("*/text/*.md"))
    text = "\n\n".join(
        f"# Chapter {i + 1}\n\n{_plain(chapters[i % len(chapters)])}" for i in range(60)
    )
    path = Path(tempfile.mkdtemp()) / "built.md"
    path.write_text(text)
    return path


def _plain(path: Path) -> str:
    """A chapter without its headings and speakers' names."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return "\n".join(line.partition(": ")[2] if ": " in line[:30] else line for line in lines)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("book", nargs="?", type=Path)
    source = (parser.parse_args().book or book()).resolve()
    folder = Path(tempfile.mkdtemp(prefix="narrator-bench-"))
    project = folder / "book"
    manifest = str(project / "book.yaml")
    try:
        runs = [
            timed("import", "new", str(project), "--from", str(source)),
            timed("check", "check", manifest),
            timed("plan", "plan", manifest, "--draft"),
            timed("one chapter", "render", manifest, "--draft", "--chapter", "1"),
        ]
        shutil.rmtree(project / "build")
        runs.append(timed("render", "render", manifest, "--draft"))
        report = json.loads((project / "build" / "report.json").read_text())
        runs.append(timed("again", "render", manifest, "--draft"))
        disk = {"store": size(project / "build" / "store"), "build": size(project / "build")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    hours = sum(chapter["seconds"] for chapter in report["chapters"]) / 3600
    print(f"{source.name}: {report['chunks']} chunks, {hours:.2f} h of audio")
    print(f"{'command':12} {'wall s':>8} {'peak MB':>8}")
    for run in runs:
        print(f"{run.name:12} {run.wall:8.1f} {run.peak_mb:8.0f}")
    print("stages of render:", ", ".join(f"{k} {v:.1f} s" for k, v in report["stages"].items()))
    print(f"disk: store {disk['store'] / 1e6:.0f} MB, build {disk['build'] / 1e6:.0f} MB")
    print(
        json.dumps(
            {
                "bench": "book",
                "hours": round(hours, 3),
                "runs": [asdict(run) for run in runs],
                "stages": report["stages"],
                "draft_real_time_factor": report["real_time_factor"],
                "disk": disk,
            }
        )
    )


if __name__ == "__main__":
    main()
