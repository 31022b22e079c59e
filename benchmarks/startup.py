"""Processor time and modules of commands that do little, beside a program of two commands.

    python -m benchmarks.startup

Prints a table, and one line of JSON: seconds of processor time (the least of five runs) and modules
of each command. A small project with a draft engine is made in a temporary folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
BOOK = (
    "title: A Book\nauthor: A. N. Other\nengine: draft\nchapters:\n  - {title: One, file: one.md}\n"
)
TYPER = """
import typer
app = typer.Typer()
@app.command()
def one(number: int = 0): ...
@app.command()
def two(number: int = 0): ...
"""
NARRATOR = "from narrator.__main__ import main as app\n"
COUNT = """
import atexit, sys
atexit.register(lambda: print(len(sys.modules), file=sys.stderr))
"""


def measure(script: str, arguments: list[str]) -> tuple[float, int]:
    """Returns the least processor time of several runs in seconds, and the number of modules."""
    times, modules = [], 0
    for _ in range(RUNS):
        before = os.times()
        command = [sys.executable, "-c", f"{COUNT}{script}app()", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        after = os.times()
        times.append(
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )  # fmt: skip
        modules = int(run.stderr.split()[-1])
    return min(times), modules


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.yaml"
        path.write_text(BOOK, "utf-8")
        path.with_name("one.md").write_text("It was morning. The ferry came at seven.\n", "utf-8")
        rows = {
            "two commands of Typer --help": measure(TYPER, ["--help"]),
            "narrator --help": measure(NARRATOR, ["--help"]),
            "narrator check": measure(NARRATOR, ["check", str(path)]),
            "narrator status": measure(NARRATOR, ["status", str(path)]),
        }
    for name, (seconds, modules) in rows.items():
        print(f"{name:30} {seconds:6.2f} s  {modules:5} modules")
    print(
        json.dumps({name: {"seconds": round(s, 3), "modules": m} for name, (s, m) in rows.items()})
    )


if __name__ == "__main__":
    main()
