"""Manuscripts as people have them: each imported, checked, and one chapter of it rendered.

    python -m benchmarks.corpus [MANUSCRIPT ...] [--no-render]

Those of `tests/manuscripts/corpus.py`, of which it is known how many chapters they have, and any
that are named. Each command is a process of its own; the last line is JSON. The exit code is 1
where a chapter or a word is missing, or a project is refused by its own `check`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.manuscripts import corpus  # noqa: E402


@dataclass
class Row:
    """The result of importing a manuscript."""

    name: str
    expected: int | None
    """Chapters that it has; None where nobody has counted them."""
    language: str = "?"
    chapter_count: int = 0
    lost_letters: int = 0
    """Characters."""
    new: int = 0
    check: int | None = None
    warnings: int = 0
    render: int | None = None
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        codes = {self.new, self.check or 0, self.render or 0}
        return (
            codes == {0} and not self.lost_letters and self.expected in (None, self.chapter_count)
        )


def command(*arguments: str) -> tuple[int, str, str]:
    process = subprocess.run(
        [sys.executable, "-m", "narrator", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return process.returncode, process.stdout, process.stderr


def tried(name: str, source: Path, expected: int | None, folder: Path, *, render: bool) -> Row:
    row = Row(name, expected)
    began = time.perf_counter()
    project = str(folder / "project")
    row.new, output, error = command("new", project, "--from", str(source), "--json")
    if row.new:
        print(f"{name}: {error.strip()}")
        return row
    result_json = json.loads(output)
    row.chapter_count, row.lost_letters = len(result_json["chapters"]), result_json["lost"]
    row.language = result_json["language"]
    row.check, _, error = command("check", project)
    row.warnings = error.count("warning:")
    if row.check:
        print(f"{name}: {error.strip()}")
    elif render:
        row.render, _, error = command("render", project, "--draft", "--chapter", "1")
        if row.render:
            print(f"{name}: {error.strip()}")
        if "the draft voice cannot read" in error:
            row.render = None  # Japanese is for the model
    row.seconds = round(time.perf_counter() - began, 1)
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("manuscripts", nargs="*", type=Path)
    parser.add_argument("--no-render", action="store_true")
    chosen = parser.parse_args(arguments)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        listed = [
            (manuscript.name, manuscript.path, manuscript.chapters)
            for manuscript in corpus.write(Path(folder) / "texts")
        ]
        named_manuscripts = [
            (f"{path.parent.name}/{path.name}", path, None) for path in chosen.manuscripts
        ]
        print(f"{'manuscript':40} language  chapters  of  lost  new  check  warnings  render")
        for number, (name, path, expected) in enumerate((*listed, *named_manuscripts)):
            place = Path(folder) / str(number)
            row = tried(name, path.resolve(), expected, place, render=not chosen.no_render)
            rows.append(row)
            real = "?" if expected is None else expected
            print(
                f"{name[-40:]:40} {row.language:8}  {row.chapter_count:8}  "
                f"{real:>2}  {row.lost_letters:4}  "
                f"{row.new:3}  {row.check!s:>5}  {row.warnings:8}  {row.render!s:>6}"
                f"{'' if row.is_good else '  <--'}",
                flush=True,
            )
    bad = [row.name for row in rows if not row.is_good]
    print(json.dumps({"manuscripts": len(rows), "bad": bad, "rows": [asdict(r) for r in rows]}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
