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
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

DISTRIBUTION = "narrator-audiobook"
MLX_BACKENDS = ("mlx-cpu", "mlx-cuda-12", "mlx-cuda-13")
"""Distributions that each bring MLX's library under Linux, as the same file."""
_MLX_LIBRARY = "mlx/lib/libmlx.so"


def install_command(*extras: str) -> str:
    """Returns the shell command that installs extras of pyproject.toml the way this copy was
    installed: by uv, pipx or pip; from a clone, from the folder or wheel that pip recorded, or from
    an index. The tools of uv and pipx are installed anew, with the extras and the other packages
    that they have."""
    clone = Path(__file__).parents[1]
    is_clone = (clone / "pyproject.toml").is_file()
    origin, option = (str(clone), "-e ") if is_clone else (_origin(), "")
    command, others = _pip_install(), ""
    for receipt, read in (("uv-receipt.toml", _read_uv), ("pipx_metadata.json", _read_pipx)):
        path = Path(sys.prefix) / receipt
        # a receipt of another form: the extra is added to the environment that the tool made
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            command, own_extras, others = read(path.read_text("utf-8"))
            extras = tuple(dict.fromkeys((*own_extras, *extras)))
    spec = f"{origin}[{','.join(extras)}]"
    return f"{command} {option}{shlex.quote(spec)}{others}"


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
    uv's if it has none.

    Outside of a virtual environment a pip beside this Python may be another Python's.
    """
    pip = shutil.which("pip") if sys.prefix != sys.base_prefix else None
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return "pip install"
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python}"
    return f"{python} -m pip install"


def _read_uv(receipt: str) -> tuple[str, list[str], str]:
    """Returns how `uv tool` installs narrator: the command, the extras, and options for what was
    installed with it."""
    import tomllib

    extras, others = [], ""
    for requirement in tomllib.loads(receipt)["tool"]["requirements"]:
        if requirement["name"] == DISTRIBUTION:
            extras += requirement.get("extras", ())
        elif "editable" in requirement:
            others += f" --with-editable {shlex.quote(requirement['editable'])}"
        else:
            others += f" --with {shlex.quote(_uv_spec(requirement))}"
    return "uv tool install", extras, others


def _uv_spec(requirement: dict[str, Any]) -> str:
    """Returns a requirement of uv's receipt as packages are named on its command line."""
    spec: str = requirement["name"]
    if extras := requirement.get("extras"):
        spec += f"[{','.join(extras)}]"
    if git := requirement.get("git"):
        url = urlsplit(git)
        options = dict(parse_qsl(url.query))
        folder = options.pop("subdirectory", None)
        reference = "".join(f"@{value}" for value in options.values())  # rev, tag or branch
        spec += f" @ git+{url._replace(query='').geturl()}{reference}"
        spec += f"#subdirectory={folder}" if folder else ""
    elif path := requirement.get("path") or requirement.get("directory"):
        spec += f" @ {Path(path).as_uri()}"
    elif url := requirement.get("url"):
        spec += f" @ {url}"
    else:
        spec += requirement.get("specifier", "")
    if marker := requirement.get("marker"):
        spec += f" ; {marker}"
    return spec


def _read_pipx(receipt: str) -> tuple[str, list[str], str]:
    """Returns how pipx installs narrator: the command, the extras, and the command for what was
    injected. Without `--python` pipx would take its own."""
    record = json.loads(receipt)
    command = "pipx install --force"
    if interpreter := record.get("source_interpreter"):
        command += f" --python {shlex.quote(interpreter['__Path__'])}"
    suffix = record["main_package"].get("suffix", "")  # of its name, beside another release
    if suffix:
        command += f" --suffix {shlex.quote(suffix)}"
    spec = record["main_package"]["package_or_url"]
    match = re.search(r"\[([^\[\]]*)\]\s*(?:$|[<>=!~;@])", spec)
    extras = [name.strip() for name in match[1].split(",")] if match else []
    packages = [package["package_or_url"] for package in record["injected_packages"].values()]
    name = shlex.quote(f"{DISTRIBUTION}{suffix}")
    others = f" && pipx inject --force {name} {shlex.join(packages)}" if packages else ""
    return command, extras, others


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
