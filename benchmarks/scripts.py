"""How well printed dialogue is told from documents that are none.

    python -m benchmarks.scripts [--failures] [FOLDER ...]

Imports each dialogue and each document of `tests/manuscripts/printed_dialogue` in all of its
layouts, and counts what is declared a play, an interview or a conversation, and whether its
speakers are those that speak. Half of the texts were held out while the rules were made, and have
a row of their own. All files in a FOLDER are taken for documents that are no dialogue, as novels
and manuals are.
`--failures` names what went wrong. The last line is JSON; the exit code is 1 where precision or
recall is below 95 %.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from narrator.errors import NarratorError  # noqa: E402
from narrator.importing import import_book  # noqa: E402
from tests.manuscripts.printed_dialogue import Sample, documents, is_held_out, scripts  # noqa: E402

LEAST = 0.95


@dataclass
class Counts:
    """What became of some files."""

    scripts: int = 0
    recognised: int = 0
    """Of the scripts, those that were declared some."""
    right_cast: int = 0
    """Of these, those whose cast is who speaks, and nobody else."""
    documents: int = 0
    false: int = 0
    """Of the documents, those that were declared scripts."""
    unreadable: int = 0

    @property
    def precision(self) -> float:
        return self.recognised / max(1, self.recognised + self.false)

    @property
    def recall(self) -> float:
        return self.right_cast / max(1, self.scripts)


def cast_of(path: Path) -> tuple[str, frozenset[str]] | None:
    """What a file is declared, and who speaks; None where it cannot be read."""
    logging.disable(logging.CRITICAL)
    try:
        book = import_book(path)
    except NarratorError:
        return None
    return book.dialogue, frozenset(spelt(speaker.name) for speaker in book.speakers)


def spelt(name: str) -> str:
    """A name as it is compared."""
    return "".join(filter(str.isalnum, name.casefold()))


def judge(sample: Sample, dialogue: str, speakers: frozenset[str], counts: Counts) -> str:
    """Count what became of a sample; what is wrong about it, if anything is."""
    if not sample.speakers:
        counts.documents += 1
        counts.false += bool(dialogue)
        return f"{dialogue}: {', '.join(sorted(speakers))}" if dialogue else ""
    expected = frozenset(map(spelt, sample.speakers))
    counts.scripts += 1
    counts.recognised += bool(dialogue)
    counts.right_cast += bool(dialogue) and speakers == expected
    if not dialogue:
        return "not recognised"
    odd = ", ".join(sorted(speakers ^ expected))
    return f"{dialogue}; not as expected: {odd}" if odd else ""


def _import(number: int, sample: Sample, folder: str) -> tuple[str, frozenset[str]] | None:
    path = Path(folder) / f"{number}{sample.suffix}"
    sample.write(path)
    return cast_of(path)


_SAMPLES = [*scripts(), *documents()]


def _import_numbered(job: tuple[int, str]) -> tuple[str, frozenset[str]] | None:
    return _import(job[0], _SAMPLES[job[0]], job[1])


def main() -> int:
    """Import everything and print the table."""
    parser = argparse.ArgumentParser(description="How well printed dialogue is recognised.")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--only", choices=["tuned", "held-out"])
    arguments = parser.parse_args()
    tables = {"tuned": Counts(), "held-out": Counts()}
    jobs = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as pool:
        numbers = [
            number
            for number, sample in enumerate(_SAMPLES)
            if not arguments.only or sample.is_held_out == (arguments.only == "held-out")
        ]
        results = pool.map(_import_numbered, [(n, folder) for n in numbers], chunksize=8)
        for number, result in zip(numbers, results, strict=True):
            sample = _SAMPLES[number]
            counts = tables["held-out" if sample.is_held_out else "tuned"]
            fault = judge(sample, *result, counts) if result else "unreadable"
            counts.unreadable += result is None
            if fault and arguments.failures:
                print(f"{sample.name}: {fault}")
        for path, result in _of_folders(pool, arguments.folders):
            half = "held-out" if is_held_out(path.name) else "tuned"
            counts = tables.setdefault(f"{half}, folders", Counts())
            counts.unreadable += result is None
            if result is not None:
                counts.documents += 1
                counts.false += bool(result[0])
            if result and result[0] and arguments.failures:
                print(f"{path}: {result[0]}: {', '.join(sorted(result[1]))[:120]}")
    _print_table(tables)
    both = [tables["tuned"], tables["held-out"]]
    low = [c for c in both if c.scripts and (c.precision < LEAST or c.recall < LEAST)]
    return 1 if low else 0


def _of_folders(
    pool: ProcessPoolExecutor, folders: Iterable[Path]
) -> Iterator[tuple[Path, tuple[str, frozenset[str]] | None]]:
    files = [p for folder in folders for p in sorted(folder.rglob("*")) if p.is_file()]
    yield from zip(files, pool.map(cast_of, files, chunksize=8), strict=True)


def _print_table(tables: dict[str, Counts]) -> None:
    heads = ("scripts", "recognised", "right cast", "documents", "false", "unreadable")
    print(f"{'':18}" + "".join(f"{head:>12}" for head in (*heads, "precision", "recall")))
    for name, c in tables.items():
        numbers = (c.scripts, c.recognised, c.right_cast, c.documents, c.false, c.unreadable)
        shares = f"{c.precision:>12.1%}{c.recall:>12.1%}" if c.scripts else ""
        print(f"{name:18}" + "".join(f"{number:>12}" for number in numbers) + shares)
    print(
        json.dumps(
            {
                name: {
                    "scripts": c.scripts,
                    "right_cast": c.right_cast,
                    "documents": c.documents,
                    "false": c.false,
                    "precision": round(c.precision, 4),
                    "recall": round(c.recall, 4),
                }
                for name, c in tables.items()
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
