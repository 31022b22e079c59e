"""How full the scheduler keeps the model's slots, on a whole novel: a simulation, no model runs.

Every chunk takes as many steps as its expected speech has patches; a step of n rows costs what
`tests/bench/model.py` measured or `--step` says; a take is judged for `--judge` seconds before what
continues it is ready. Compared: the book as narrator renders it, all chapters at once, longest
remaining chain first; and chapter by chapter, as tools do that know no more than one chapter.

    python tests/bench/slots.py BOOK.epub

Prints a table and ends with one JSON line.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from narrator import importers, pipeline
from narrator.plan import ChainRules, EngineFacts, Settings, Step, link
from narrator.scheduler import Scheduler, Task

PATCH = 0.16
"""Seconds of audio that one step gives one row."""
SLOTS = (1, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Run:
    """What a simulated render did."""

    wall: float
    """Seconds of model time."""
    full: float
    """Share of slots that were filled, until the last chain was begun."""
    whole: float
    """Share of slots that were filled, to the end."""


def simulate(steps: Sequence[Step], slots: int, cost: float, judge: float) -> Run:
    """A continuous batch: a row that ends leaves, the next ready chunk takes its place."""
    tasks = {s.key: Task(s.key, s.parent, s.expected) for s in steps}
    scheduler = Scheduler(tasks)
    heads = sum(task.parent not in tasks for task in tasks.values())
    running: dict[str, int] = {}
    judging: list[tuple[float, str]] = []
    now = filled = offered = 0.0
    at_last_chain = (0.0, 0.0)
    while scheduler.left:
        while judging and judging[0][0] <= now:
            scheduler.done(heapq.heappop(judging)[1])
        while len(running) < slots and (key := scheduler.take()) is not None:
            running[key] = math.ceil(tasks[key].seconds / PATCH)
            heads -= tasks[key].parent not in tasks
        if not running:
            now = judging[0][0] if judging else now
            continue
        # As many steps as nothing changes in: until a row ends, or a judged take frees its child.
        count = min(running.values())
        if judging and len(running) < slots:
            count = min(count, max(1, math.ceil((judging[0][0] - now) / cost)))
        now += count * cost
        filled += count * len(running)
        offered += count * slots
        if heads > 0:
            at_last_chain = (filled, offered)
        for key in [k for k, left in running.items() if left <= count]:
            del running[key]
            heapq.heappush(judging, (now + judge, key))
        running = {key: left - count for key, left in running.items()}
    begun, room = at_last_chain
    return Run(now, begun / room if room else 1.0, filled / offered)


def by_chapter(steps: Sequence[Step], slots: int, cost: float, judge: float) -> Run:
    """The same, each chapter to its end before the next."""
    runs = [
        simulate(list(group), slots, cost, judge)
        for _, group in groupby(steps, key=lambda step: step.chapter)
    ]
    wall = sum(run.wall for run in runs)
    whole = sum(run.whole * run.wall for run in runs) / wall
    return Run(wall, whole, whole)


def book_steps(book: Path, mode: str) -> tuple[Step, ...]:
    """The book's steps for an engine that clones and continues."""
    with tempfile.TemporaryDirectory() as folder:
        written = importers.write_project(importers.import_book(book), Path(folder) / "book")
        manuscript = pipeline.read(written.manifest)
    return link(
        manuscript.spoken,
        cast=manuscript.cast,
        engine=EngineFacts({"name": "simulated"}, True, True, lambda voice, _: {}),
        rules=lambda chapter, speaker: ChainRules(mode),
        settings=[Settings({}, 0)] * len(manuscript.chapters),
        pins={},
    )


def measured(path: Path | None) -> Mapping[int, float]:
    """Seconds a step by rows, from the JSON line of the model bench; else a flat cost."""
    if path is None:
        return {}
    last = json.loads(path.read_text().strip().splitlines()[-1])
    return {int(rows): float(seconds) for rows, seconds in last["step_seconds"].items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("book", type=Path)
    options.add_argument("--step", type=float, default=0.05, help="seconds a step, whatever rows")
    options.add_argument("--costs", type=Path, help="output of the model bench")
    options.add_argument("--judge", type=float, default=0.3, help="seconds of checks and disk")
    given = options.parse_args()
    costs = measured(given.costs)
    rows = []
    print(
        f"{'mode':12} {'slots':>5} {'filled':>8} {'to the end':>11} {'by chapter':>11} {'gain':>6}"
    )
    for mode in ("anchored", "reference"):
        steps = book_steps(given.book, mode)
        for slots in SLOTS:
            cost = costs.get(slots, given.step)
            ours = simulate(steps, slots, cost, given.judge)
            theirs = by_chapter(steps, slots, cost, given.judge)
            gain = theirs.wall / ours.wall
            rows.append(
                {
                    "mode": mode,
                    "slots": slots,
                    "filled_until_last_chain": round(ours.full, 4),
                    "filled": round(ours.whole, 4),
                    "filled_by_chapter": round(theirs.whole, 4),
                    "times_faster": round(gain, 3),
                }
            )
            print(f"{mode:12} {slots:5} {ours.full:8.1%} {ours.whole:11.1%} "
                  f"{theirs.whole:11.1%} {gain:6.2f}")  # fmt: skip
    print(json.dumps({"bench": "slots", "chunks": len(steps), "rows": rows}))


if __name__ == "__main__":
    main()
