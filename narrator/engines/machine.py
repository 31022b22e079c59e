"""What this machine is: memory, processor, and the device that MLX computes on.

MLX itself is asked in a process of its own: a broken driver can end a process that loads it.
Knows nothing of models or projects.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup/memory.max")
_MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class Memory:
    """Of the machine, or of the container that this runs in; bytes."""

    total: int
    available: int | None
    """Without pushing others out; None where the system does not say."""


@dataclass(frozen=True, slots=True)
class Device:
    """What MLX would compute on."""

    kind: str
    """"Metal", "CUDA", "CPU", or "" where MLX does not run."""
    name: str
    memory: int | None
    """Bytes that it recommends to use, or has; None where it shares the machine's unasked."""
    mlx: str
    """Its version, or ""."""
    problem: str = ""
    """Why MLX does not run, in a line."""


def memory() -> Memory:
    """Total and available memory."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        total = min(total, int(_CGROUP.read_text()))
    available = _available_macos() if sys.platform == "darwin" else _available_linux()
    return Memory(total, None if available is None else min(available, total))


def _available_linux() -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", _MEMINFO.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def _available_macos() -> int | None:
    """Pages that are free or can be taken back at once, as `vm_stat` counts them."""
    said = _output(["vm_stat"])
    size = re.search(r"page size of (\d+) bytes", said)
    pages = [
        int(count)
        for name, count in re.findall(r"^Pages ([\w ]+):\s+(\d+)\.", said, re.MULTILINE)
        if name in ("free", "inactive", "speculative", "purgeable")
    ]
    return sum(pages) * int(size[1]) if size and pages else None


def _output(command: list[str]) -> str:
    """What a small program of the system prints; "" where it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


# Computes something, since a library that loads may still find no driver.
_ASK = """\
import json
import mlx.core as mx
device, info = mx.default_device(), mx.device_info()
mx.eval(mx.ones((8, 8)) @ mx.ones((8, 8)))
gpu = device.type == mx.DeviceType.gpu
kind = "CPU" if not gpu else "Metal" if mx.metal.is_available() else "CUDA"
name = str(info.get("device_name") or info.get("architecture") or "")
memory = info.get("max_recommended_working_set_size") or info.get("total_memory")
memory = memory or info.get("memory_size")
print(json.dumps({"kind": kind, "name": name, "memory": memory if gpu else None,
                  "mlx": mx.__version__}))
"""


def device(ask: str = _ASK, timeout: float = 120.0) -> Device:
    """What MLX computes on here; loads it in another process, which takes a second or two."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", ask],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Device("", "", None, "", f"MLX gave no answer in {timeout:.0f} s")
    try:
        said = json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        said = None
    if isinstance(said, dict):
        return Device(said["kind"], said["name"], said["memory"], said["mlx"])
    lines = done.stderr.strip().splitlines()
    ended = f"MLX ended its process with {done.returncode}"
    return Device("", "", None, "", lines[-1] if lines else ended)


def free(path: Path) -> int:
    """Bytes free where `path` lies or would lie. Raises OSError."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free
