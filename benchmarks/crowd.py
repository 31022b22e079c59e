"""Many of Dask's workers in one process, that answer at once: a crowd for a scheduler.

python -m benchmarks.crowd PORT FIRST COUNT
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import tempfile
from contextlib import AsyncExitStack

import dask
from distributed import Worker
from distributed.worker import DEFAULT_METRICS

from benchmarks.sleeper import SLOTS
from narrator.engines.cluster import programs
from narrator.engines.cluster.worker_tasks import MACHINE

QUIET = {
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "1h",
    "distributed.admin.tick.cycle": "1h",
    "distributed.worker.profile.enabled": False,
}
"""Turns off each worker's monitoring of itself: a thousand in one process would do nothing else."""


def answer(parcel: bytes, length: int) -> bytes:
    """As long as a take."""
    return parcel[:1] * length


def _facts(worker: Worker) -> dict[str, object]:
    booth = {"engine": "sleeper", "slots": SLOTS, "at_work": 8, "silent": 0.0,
             "speed": 8.0}  # fmt: skip
    return MACHINE.facts() | {"booths": [booth]}


async def _stand(port: int, first: int, count: int) -> None:
    threads = 2 * SLOTS + 2
    with tempfile.TemporaryDirectory() as scratch:
        async with AsyncExitStack() as stack:
            for number in range(first, first + count):
                worker = Worker(
                    f"tcp://127.0.0.1:{port}",
                    nthreads=threads,
                    name=f"m{number}",
                    host="127.0.0.1",
                    resources={"sleeper": threads},
                    dashboard=False,
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    local_directory=scratch,
                    metrics={**DEFAULT_METRICS, "narrator": _facts},
                )
                await stack.enter_async_context(worker)
            print("here", flush=True)
            await asyncio.Event().wait()


def main() -> None:
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    port, first, count = map(int, sys.argv[1:])
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({**programs.DASK_CONFIG, **QUIET}):
        asyncio.run(_stand(port, first, count))


if __name__ == "__main__":
    main()
