"""How full the scheduler keeps the model's slots, on a whole novel: a simulation, no model runs.

Every chunk takes as many steps as its expected speech has patches; a step costs what
`benchmarks/model.py` measured for the rows that run in it (`--costs`, its output; what lies
between or beyond the measured numbers of rows, on straight lines), or `--step`, whatever rows; a
take is decoded and judged for `--judge` seconds before what continues it is ready. Compared: the
book as narrator renders it, all chapters at once, longest remaining chain first; and chapter by
chapter, as tools do that know no more than one chapter.

    python -m benchmarks.slots BOOK.epub [--costs model.txt]

Prints a table and ends with one JSON line. Nothing is drawn: the same book and costs give the same
figures.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from narrator import importing
from narrator.pipeline.manuscript import read_manuscript
from narrator.speech.plan import ChainRules, EngineParameters, Step, link_steps
from narrator.speech.scheduler import Scheduler
from tests.stage import StageEngine

PATCH = 0.16
"""Seconds of audio that one step gives one row."""
SLOTS = (1, 4, 8, 16, 32, 64)
Cost = Callable[[int], float]
"""Seconds of a step of so many rows."""


@dataclass(frozen=True)
class Run:
    """The figures of a simulated render."""

    wall: float
    """Seconds of model time."""
    early_share: float
    """Share of the slots' time that was filled, until the last chain was begun."""
    filled_share: float
    """Share of the slots' time that was filled, to the end."""


def simulate(steps: Sequence[Step], slots: int, cost: Cost, judge: float) -> Run:
    """A continuous batch: a row that ends leaves, the next ready chunk takes its place."""
    tasks = {step.key: step for step in steps}
    scheduler = Scheduler(tasks)
    heads = sum(task.parent not in tasks for task in tasks.values())
    running: dict[str, int] = {}
    judging: list[tuple[float, str]] = []
    clock = filled = offered = 0.0
    at_last_chain = (0.0, 0.0)
    while scheduler.unfinished_count:
        while judging and judging[0][0] <= clock:
            scheduler.mark_done(heapq.heappop(judging)[1])
        while len(running) < slots and (key := scheduler.next_ready()) is not None:
            running[key] = math.ceil(tasks[key].expected / PATCH)
            heads -= tasks[key].parent not in tasks
        if not running:
            if judging:
                offered += (judging[0][0] - clock) * slots
                clock = judging[0][0]
            continue
        # As many steps as nothing changes in: until a row ends, or a judged take frees its child.
        count, step = min(running.values()), cost(len(running))
        if judging and len(running) < slots:
            count = min(count, max(1, math.ceil((judging[0][0] - clock) / step)))
        clock += count * step
        filled += count * step * len(running)
        offered += count * step * slots
        if heads > 0:
            at_last_chain = (filled, offered)
        for key in [k for k, remaining in running.items() if remaining <= count]:
            del running[key]
            heapq.heappush(judging, (clock + judge, key))
        running = {key: remaining - count for key, remaining in running.items()}
    begun, room = at_last_chain
    return Run(clock, begun / room if room else 1.0, filled / offered)


def by_chapter(steps: Sequence[Step], slots: int, cost: Cost, judge: float) -> Run:
    """The same, each chapter to its end before the next."""
    runs = [
        simulate(list(group), slots, cost, judge)
        for _, group in groupby(steps, key=lambda step: step.chapter)
    ]
    wall = sum(run.wall for run in runs)
    filled_share = sum(run.filled_share * run.wall for run in runs) / wall
    return Run(wall, filled_share, filled_share)


def book_steps(book: Path, mode: str) -> tuple[Step, ...]:
    """The book's steps for an engine that clones and continues."""
    with tempfile.TemporaryDirectory() as folder:
        project = importing.write_project(importing.import_book(book), Path(folder) / "book")
        manuscript = read_manuscript(project.manifest)
    return link_steps(
        manuscript.spoken,
        cast=manuscript.cast,
        engines=dict.fromkeys(manuscript.cast, StageEngine()),
        rules=lambda chapter, speaker: ChainRules(mode),
        parameters=lambda chapter, speaker: EngineParameters({}, 0),
        pins={},
    )


def measured(path: Path) -> Mapping[int, float]:
    """Seconds of a step by its rows, from the model bench's last line."""
    last = json.loads(path.read_text().strip().splitlines()[-1])
    return {int(rows): float(seconds) for rows, seconds in last["step_seconds"].items()}


def between(costs: Mapping[int, float]) -> Cost:
    """Straight lines through what was measured; under the fewest rows, what those cost."""
    row_counts = sorted(costs)

    def cost(rows: int) -> float:
        if rows <= row_counts[0] or len(row_counts) == 1:
            return costs[row_counts[0]]
        above = min(max(1, bisect_left(row_counts, rows)), len(row_counts) - 1)
        low, high = row_counts[above - 1], row_counts[above]
        slope = (costs[high] - costs[low]) / (high - low)
        # noise in the measure must not make rows free
        return max(costs[low], costs[low] + slope * (rows - low))

    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("--step", type=float, default=0.05, help="seconds a step, whatever rows")
    parser.add_argument("--costs", type=Path, help="file of the model bench's output")
    parser.add_argument("--judge", type=float, default=0.3, help="seconds of checks and disk")
    options = parser.parse_args()
    costs = measured(options.costs) if options.costs else {1: options.step}
    cost = between(costs)
    rows = []
    print("a step: " + ", ".join(f"{1000 * cost(n):.0f} ms of {n}" for n in SLOTS) + " rows")
    if options.costs:
        print(f"measured up to {max(costs)} rows; beyond, as if each more cost what the last did")
    print(f"{'mode':12} {'slots':>5} {'filled':>8} {'to the end':>11} {'by chapter':>11} "
          f"{'gain':>6} {'real time':>10}")  # fmt: skip
    for mode in ("anchored", "reference"):
        steps = book_steps(options.book, mode)
        speech = sum(step.expected for step in {s.key: s for s in steps}.values())
        for slots in SLOTS:
            ours = simulate(steps, slots, cost, options.judge)
            theirs = by_chapter(steps, slots, cost, options.judge)
            gain = theirs.wall / ours.wall
            speed = speech / ours.wall
            rows.append(
                {
                    "mode": mode,
                    "slots": slots,
                    "filled_until_last_chain": round(ours.early_share, 4),
                    "filled": round(ours.filled_share, 4),
                    "filled_by_chapter": round(theirs.filled_share, 4),
                    "times_faster": round(gain, 3),
                    "times_real_time": round(speed, 2),
                }
            )
            print(f"{mode:12} {slots:5} {ours.early_share:8.1%} {ours.filled_share:11.1%} "
                  f"{theirs.filled_share:11.1%} {gain:6.2f} {speed:10.1f}")  # fmt: skip
    step_seconds = {str(n): costs[n] for n in sorted(costs)}
    print(
        json.dumps(
            {"bench": "slots", "chunks": len(steps), "step_seconds": step_seconds, "rows": rows}
        )
    )


if __name__ == "__main__":
    main()
