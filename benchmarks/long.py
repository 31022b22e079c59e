"""A synthetic long book, exported to M4B and verified, beside a short one: wall time and memory.

    python -m benchmarks.long [--hours 26] [--chapters 300] [--distinct 10] [--rate 48000]

Chapters repeat after so many distinct ones, which alone are encoded; all are joined, marked and
measured. Every step is a process of its own. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from narrator.delivery import export, postflight  # noqa: E402
from narrator.delivery.export import ChapterAudio, OutputTarget  # noqa: E402
from narrator.project.facts import BookFacts  # noqa: E402
from narrator.project.profiles import PROFILES  # noqa: E402
from narrator.sound import probe  # noqa: E402
from narrator.sound.assemble import Timeline  # noqa: E402
from narrator.sound.audio import Samples  # noqa: E402

PROFILE = PROFILES["audiobookshelf"]


def chapter(number: int, distinct: int, seconds: float, rate: int) -> ChapterAudio:
    """Bursts of noise with pauses, a second of head and tail; not two of the distinct are alike."""
    seed = number % distinct
    length = round(seconds * rate)

    def blocks() -> Iterator[Samples]:
        draw = np.random.default_rng(seed)
        burst = draw.normal(0, 0.05, 20 * rate).astype(np.float32)
        times = np.arange(len(burst)) / rate
        burst *= np.clip(np.sin(2 * np.pi * 0.31 * times) + 0.7, 0, None).astype(np.float32)
        yield np.zeros(rate, np.float32)
        remaining = length - 2 * rate
        while remaining > 0:
            yield burst[:remaining]
            remaining -= len(burst)
        yield np.zeros(rate, np.float32)

    key = f"{seed} {seconds} {rate}"
    timeline = Timeline(rate, length, ())
    return ChapterAudio(number + 1, f"Chapter {number + 1}", key, timeline, blocks)


def work(step: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()
    row_figures: dict[str, Any] = {}
    if step == "export":
        count = options.chapters
        seconds = options.hours * 3600 / count
        sounds = [chapter(n, options.distinct, seconds, options.rate) for n in range(count)]
        profile = replace(
            PROFILE, name="", formats=("m4b",), files="book", book_name="long", genre="Audiobook"
        )
        book = export.BookAudio(sounds, BookFacts("Long", ("A",)))
        exported = export.export(
            book,
            [OutputTarget(profile)],
            output_folder=folder / "out",
            cache_folder=folder / "kept",
        )
        (file,) = exported.files
        row_figures = {
            "encoded_hours": round(sum(e.seconds for e in exported.encoded) / 3600, 3),
            "megabytes": round(file.bytes / 1e6, 1),
            "last_start": file.starts[-1],
        }
    else:
        (path,) = (folder / "out").glob("*.m4b")
        figures = probe.measure_sound_file(path)
        failed = [c.name for c in postflight.checks(figures, PROFILE) if not c.ok]
        row_figures = {
            "hours": round(figures.seconds / 3600, 4),
            "marks": len(figures.marks),
            "last_mark": figures.marks[-1].start,
            "lufs": round(figures.loudness.integrated, 2),
            "failed": failed,
        }
    usage = resource.getrusage(resource.RUSAGE_SELF)
    scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return {
        "wall": round(time.perf_counter() - began, 1),
        "cpu": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss / scale, 1),
        **row_figures,
    }


def in_process(step: str, folder: Path, arguments: list[str]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(f"{step}: {process.stderr}")
    return dict(json.loads(process.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=26)
    parser.add_argument("--chapters", type=int, default=300)
    parser.add_argument("--distinct", type=int, default=10)
    parser.add_argument("--rate", type=int, default=48000)
    parser.add_argument("--step", choices=["export", "verify"])
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(work(options.step, options.folder, options)))
        return
    rate = ["--rate", str(options.rate)]
    long = ["--hours", str(options.hours), "--chapters", str(options.chapters),
            "--distinct", str(options.distinct), *rate]  # fmt: skip
    short = ["--hours", str(1 / 6), "--chapters", "3", "--distinct", "3", *rate]
    rows: dict[str, dict[str, Any]] = {}
    for name, arguments in (("short", short), ("long", long)):
        with tempfile.TemporaryDirectory() as folder:
            for step in ("export", "verify"):
                row = rows[f"{name} {step}"] = in_process(step, Path(folder), arguments)
                print(f"{name:6}{step:8}{row['wall']:8.1f} s wall{row['cpu']:8.1f} s cpu"
                      f"{row['peak_mb']:8.1f} MB", flush=True)  # fmt: skip
    rows["more_memory_mb"] = {
        step: round(rows[f"long {step}"]["peak_mb"] - rows[f"short {step}"]["peak_mb"], 1)
        for step in ("export", "verify")
    }
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
