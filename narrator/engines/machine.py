"""Facts about this machine: its memory, and the device that MLX computes on.

MLX is queried in a separate process, since a broken driver can crash a process that loads it.
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
    """Memory of the machine, or of the container that this runs in; bytes."""

    total: int
    available: int | None
    """Usable without swapping; None if the system does not say."""


@dataclass(frozen=True, slots=True)
class Device:
    """The device that MLX would compute on."""

    kind: str
    """"Metal", "CUDA", "CPU", or "" if MLX does not run."""
    name: str
    memory: int | None
    """Bytes that it recommends to use, or has; None if it shares the machine's memory."""
    mlx: str
    """Version of MLX, or ""."""
    problem: str = ""
    """Why MLX does not run, in a line."""


def memory() -> Memory:
    """Returns total and available memory."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        total = min(total, int(_CGROUP.read_text()))
    available = _available_macos() if sys.platform == "darwin" else _available_linux()
    return Memory(total, None if available is None else min(available, total))


def _available_linux() -> int | None:
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", _MEMINFO.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def _available_macos() -> int | None:
    """Returns the bytes of pages that are free or can be reclaimed at once, from `vm_stat`."""
    output = _output(["vm_stat"])
    size = re.search(r"page size of (\d+) bytes", output)
    pages = [
        int(count)
        for name, count in re.findall(r"^Pages ([\w ]+):\s+(\d+)\.", output, re.MULTILINE)
        if name in ("free", "inactive", "speculative", "purgeable")
    ]
    return sum(pages) * int(size[1]) if size and pages else None


def _output(command: list[str]) -> str:
    """Returns the output of a small system program; "" if it is missing or fails."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout if process.returncode == 0 else ""


# Computes something, since the library may load without finding a driver.
_PROBE = """\
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


def device(probe: str = _PROBE, timeout: float = 120.0) -> Device:
    """Returns the device of MLX, which is loaded in another process: a second or two.

    `probe` is the program that prints its facts, `timeout` the seconds that it may take.
    """
    try:
        process = subprocess.run(
            [sys.executable, "-c", probe],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Device("", "", None, "", f"MLX gave no answer in {timeout:.0f} s")
    try:
        facts = json.loads(process.stdout) if process.returncode == 0 else None
    except ValueError:
        facts = None
    if isinstance(facts, dict):
        return Device(facts["kind"], facts["name"], facts["memory"], facts["mlx"])
    lines = process.stderr.strip().splitlines()
    message = f"MLX ended its process with {process.returncode}"
    return Device("", "", None, "", lines[-1] if lines else message)


def free(path: Path) -> int:
    """Returns the free bytes on the disk of `path`, which need not exist. Raises OSError."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free
