"""Shapes that a novel's requests make on CUDA, against what MLX's caches of plans hold.

    python -m benchmarks.shapes [--takes 2000] [--voices 4] [--slots 8] [--seed 1]

Requests are those of a book whose chains are anchored: each has its voice's reference and goes on
from the take before. They are drawn, not spoken: a batch of `slots` rows is filled as rows end, and
each prefill's shapes are what the package would make of it, rounded up
(`voxcpm2.model.COLUMN_MULTIPLE`, `PATCH_MULTIPLE`, `voxcpm2.cfm.solver_rows`) and, for comparison,
exact. MLX keeps 256 plans of attention, and throws after twice as many that it did not find; a
plan's key holds shapes and strides. Graphs of kernels are kept by their order alone, 400 of them:
those of a step are counted as one each for a number of rows, and eight for a prefill of a number of
rows. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from speechbase.cache import KVCache, round_up
from tests.voxcpm2.gpu import pretended
from voxcpm2.cfm import solver_rows
from voxcpm2.model import COLUMN_MULTIPLE, PATCH_MULTIPLE

PLANS, GRAPHS = 256, 400
"""Sizes of MLX's caches on CUDA unless the environment sets others."""
SEGMENTS = 8
"""Graphs that a prefill of so many rows is cut into, at most: it is cut by the bytes it reads."""


@dataclass(slots=True)
class PlanCache:
    """A cache that forgets what was used longest ago, and throws after twice its size in misses."""

    size: int
    misses: int = 0
    distinct_keys: set[Hashable] = field(default_factory=set)
    _entries: OrderedDict[Hashable, None] = field(default_factory=OrderedDict)

    def look_up(self, key: Hashable) -> None:
        self.distinct_keys.add(key)
        if key not in self._entries:
            self.misses += 1
        self._entries[key] = None
        self._entries.move_to_end(key)
        if len(self._entries) > self.size:
            self._entries.popitem(last=False)

    @property
    def throws(self) -> bool:
        return self.misses > 2 * self.size


@dataclass(frozen=True, slots=True)
class Take:
    """A request's size in the model: its own positions, and the length of its speech."""

    voice: int
    reference_positions: int
    """Positions of the reference, with its two marks."""
    text: int
    prompt: int
    length: int
    """Patches until it stops."""


def novel(takes: int, voices: int, rng: random.Random) -> Iterator[Take]:
    """Chunks of 20 to 120 tokens, each after the one before: its text, and its patches."""
    references = [rng.randint(30, 95) + 2 for _ in range(voices)]
    before: dict[int, tuple[int, int]] = {}
    for _ in range(takes):
        voice = min(int(rng.expovariate(0.9)), voices - 1)  # the narrator says most
        tokens = min(120, max(8, int(rng.gauss(55, 25))))
        length = max(8, int(tokens * rng.uniform(1.2, 2.0)))
        text, prompt = before.get(voice, (0, 0))
        yield Take(voice, references[voice], tokens + text + 1, prompt, length)
        before[voice] = (tokens, length)


def prefill(rows: list[Take], exact: bool) -> tuple[tuple[int, int, int], int]:
    """(rows, columns of queries, columns of keys), and how many patches LocEnc reads."""
    columns, patch_multiple = (1, 1) if exact else (COLUMN_MULTIPLE, PATCH_MULTIPLE)
    counts = [take.text + take.prompt for take in rows]
    block = round_up(max(counts), columns)
    end = max(
        block, *(count + take.reference_positions for count, take in zip(counts, rows, strict=True))
    )
    patches = sum(take.prompt for take in rows)
    return (len(rows), block, round_up(end, columns)), round_up(patches, patch_multiple)


def simulated(
    requests: list[Take], slots: int, exact: bool
) -> tuple[PlanCache, PlanCache, Counter[str]]:
    """The caches after the book, and how many prefills and steps it took."""
    plans, graphs, counts = PlanCache(PLANS), PlanCache(GRAPHS), Counter[str]()
    rows_of: Callable[[int], int] = (lambda rows: rows) if exact else solver_rows
    waiting, running, read_voices = list(reversed(requests)), list[int](), set[int]()
    while waiting or running:
        new = [waiting.pop() for _ in range(min(slots - len(running), len(waiting)))]
        for take in new:
            if take.voice not in read_voices:  # a reference is read once, alone
                read_voices.add(take.voice)
                alone = Take(take.voice, 0, 2, take.reference_positions - 2, 0)
                read(plans, graphs, [alone], exact)
        if new:
            counts["prefills"] += 1
            read(plans, graphs, new, exact)
            running += [take.length for take in new]
        counts["steps"] += 1
        rows = rows_of(len(running))
        plans.look_up(("LocEnc, a step", len(running)))
        plans.look_up(("LocDiT", rows))
        plans.look_up(("LocDiT, its last layer", rows))
        for part in ("feed", "solver"):
            graphs.look_up((part, len(running) if part == "feed" else rows))
        running = [remaining - 1 for remaining in running if remaining > 1]
    return plans, graphs, counts


def read(plans: PlanCache, graphs: PlanCache, rows: list[Take], exact: bool) -> None:
    attention, patches = prefill(rows, exact)
    plans.look_up(("language models", attention, round_up(attention[2], KVCache.BUCKET)))
    plans.look_up(("residual LM, its last layer", attention[0], attention[2]))
    if patches:
        plans.look_up(("LocEnc", patches))
    for segment in range(SEGMENTS):
        graphs.look_up(("prefill", attention[0], attention[1] // COLUMN_MULTIPLE, segment))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--takes", type=int, default=2000)
    parser.add_argument("--voices", type=int, default=4)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    requests = list(novel(options.takes, options.voices, random.Random(options.seed)))
    report: dict[str, object] = {"bench": "shapes", **vars(options)}
    print(f"{'':10}{'prefills':>10}{'steps':>8}{'plans':>8}{'missed':>8}{'graphs':>8}{'missed':>8}")
    for name, exact in (("exact", True), ("rounded", False)):
        with pretended("cuda"):
            plans, graphs, counts = simulated(requests, options.slots, exact)
        numbers = [counts["prefills"], counts["steps"], len(plans.distinct_keys), plans.misses]
        numbers += [len(graphs.distinct_keys), graphs.misses]
        thrown = [
            cache
            for cache, plan_cache in (("plans", plans), ("graphs", graphs))
            if plan_cache.throws
        ]
        widths = (10, 8, 8, 8, 8, 8)
        columns = "".join(f"{n:{width}}" for n, width in zip(numbers, widths, strict=True))
        print(f"{name:10}{columns}" + (f"  thrown: {', '.join(thrown)}" if thrown else ""))
        report[name] = {
            "prefills": counts["prefills"],
            "steps": counts["steps"],
            "plans": len(plans.distinct_keys),
            "plan_misses": plans.misses,
            "graphs": len(graphs.distinct_keys),
            "graph_misses": graphs.misses,
            "throws": thrown,
        }
    print(
        f"a cache of {PLANS} plans throws after {2 * PLANS} misses, of {GRAPHS} graphs after "
        f"{2 * GRAPHS}"
    )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
