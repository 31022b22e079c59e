"""Packages that bring parts of the program, installed for one test without pip."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from manuscripts.kinds import READERS
from narrator.engines.registry import ENGINES
from narrator.speech.hearing.choosing import RECOGNISERS
from textbase.extensions import Registry

REGISTRIES: tuple[Registry, ...] = (ENGINES, RECOGNISERS, READERS)
EXAMPLES = Path(__file__).parents[1] / "examples"
EntryPoints = Mapping[str, Mapping[str, str]]
"""Objects by name, by the group of their entry points."""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install a distribution with these entry points, and modules by their source."""
    folder = tmp_path / "site-packages"

    def install(name: str, entry_points: EntryPoints, modules: Mapping[str, str] = {}) -> None:
        metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(
            "\n".join(
                f"[{group}]\n" + "\n".join(f"{part} = {place}" for part, place in parts.items())
                for group, parts in entry_points.items()
            )
        )
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source)
        monkeypatch.syspath_prepend(folder)
        forget_extensions()

    yield install
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)
    monkeypatch.undo()
    forget_extensions()


def install_example(name: str, install: Callable[..., None]) -> None:
    """Install an example as its pyproject.toml has it."""
    project = tomllib.loads((EXAMPLES / name / "pyproject.toml").read_text())["project"]
    modules = {path.stem: path.read_text() for path in (EXAMPLES / name).glob("*.py")}
    install(project["name"], project["entry-points"], modules)


def forget_extensions() -> None:
    importlib.invalidate_caches()
    for registry in REGISTRIES:
        registry.__dict__.pop("extensions", None)
        for name in [name for name in registry if not registry.is_own(name)]:
            del registry[name]
