"""The command that adds optional packages to this installation of narrator.

The distribution is not called `narrator`: on PyPI that name belongs to another program. Every hint
that names an extra comes from here, so that none of them fetches a stranger's code.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import re
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
    installed: by uv, pipx or pip; from a clone, from the folder or wheel that pip recorded, or from
    an index. The tools of uv and pipx are installed anew, with the extras that they have."""
    clone = Path(__file__).parents[1]
    is_clone = (clone / "pyproject.toml").is_file()
    origin, option = (str(clone), "-e ") if is_clone else (_origin(), "")
    command = _pip_install()
    for tool, receipt, read_extras in (
        ("uv tool install", "uv-receipt.toml", _uv_extras),
        ("pipx install --force", "pipx_metadata.json", _pipx_extras),
    ):
        path = Path(sys.prefix) / receipt
        if path.is_file():
            command = tool
            extras = tuple(dict.fromkeys((*read_extras(path.read_text("utf-8")), *extras)))
    spec = f"{origin}[{','.join(extras)}]"
    return f"{command} {option}{shlex.quote(spec)}"


def installed_packages() -> dict[str, str]:
    """Returns the releases of the installed packages that narrator and its extras ask for, by name;
    empty where narrator itself is not installed."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    releases: dict[str, str] = {}
    for name in sorted({re.split(r"[^\w.-]", requirement)[0] for requirement in requirements}):
        with contextlib.suppress(metadata.PackageNotFoundError):
            releases[name] = metadata.version(name)
    return releases


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
    return f"{_pip_install()} --force-reinstall --no-deps {backend}=={metadata.version('mlx')}"


def _pip_install() -> str:
    """Returns the command that installs into this environment: `pip install` if that is its pip, or
    uv's if it has none."""
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return "pip install"
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python}"
    return f"{python} -m pip install"


def _uv_extras(receipt: str) -> list[str]:
    """Returns the extras with which `uv tool` installed narrator."""
    import tomllib

    requirements = tomllib.loads(receipt)["tool"]["requirements"]
    return [
        extra
        for requirement in requirements
        if requirement["name"] == DISTRIBUTION
        for extra in requirement.get("extras", ())
    ]


def _pipx_extras(receipt: str) -> list[str]:
    """Returns the extras with which pipx installed narrator."""
    spec = json.loads(receipt)["main_package"]["package_or_url"]
    match = re.search(r"\[([^\]]*)\]$", spec.partition("==")[0])
    return [name.strip() for name in match[1].split(",")] if match else []


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
