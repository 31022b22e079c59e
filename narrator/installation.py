"""The command that adds optional packages to this installation of narrator.

The distribution is not called `narrator`: on PyPI that name belongs to another program. Every hint
that names an extra comes from here, so that none of them fetches a stranger's code.
"""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "narrator-audiobook"
MLX_BACKENDS = ("mlx-cpu", "mlx-cuda-12", "mlx-cuda-13")
"""Distributions that each bring MLX's library under Linux, as the same file."""
_MLX_LIBRARY = "mlx/lib/libmlx.so"


def install_command(*extras: str) -> str:
    """Returns the shell command that installs extras of pyproject.toml the way this copy was
    installed: from a clone, from the folder or wheel that pip recorded, or from an index."""
    names = f"[{','.join(extras)}]"
    clone = Path(__file__).parents[1]
    if (clone / "pyproject.toml").is_file():
        return f"{_pip()} install -e {shlex.quote(f'{clone}{names}')}"
    return f"{_pip()} install {shlex.quote(f'{_origin()}{names}')}"


def overwritten_backends() -> list[str]:
    """Returns the installed MLX_BACKENDS whose library is not the one that is there: the one that
    was installed last is, or none if that was removed since."""
    names = []
    for name in MLX_BACKENDS:
        for distribution in metadata.distributions(name=name):
            library = Path(str(distribution.locate_file(_MLX_LIBRARY)))
            library_bytes = library.stat().st_size if library.is_file() else 0
            records = csv.reader((distribution.read_text("RECORD") or "").splitlines())
            if any(
                entry[0] == _MLX_LIBRARY and int(entry[2]) != library_bytes for entry in records
            ):
                names.append(name)
    return names


def reinstall_command(backend: str) -> str:
    """Returns the shell command that installs one of MLX_BACKENDS again, of MLX's version."""
    return f"{_pip()} install --force-reinstall --no-deps {backend}=={metadata.version('mlx')}"


def _pip() -> str:
    """Returns `pip` if that command runs the pip of this interpreter, else its full command."""
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"


def _origin() -> str:
    """Returns the local folder or wheel that narrator was installed from, if it still exists; else
    the name of the distribution."""
    try:
        record = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        record = None
    url = urlsplit(json.loads(record)["url"]) if record else None
    if url is not None and url.scheme == "file":
        path = Path(unquote(url.path))
        if path.exists():
            return str(path)
    return DISTRIBUTION
