"""What can speak a book on this machine, from what is quick to what is best: for who has no model.

Times are rough; once an engine has spoken here, `narrator plan` knows better.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSpec
from narrator.installation import install_command
from narrator.pipeline.manuscript import Manuscript


def alternatives(manuscript: Manuscript) -> list[str]:
    """A line for each engine that needs no server: its option, and what has to be done first."""
    seconds = sum(unit.expected for unit in manuscript.spoken)
    rows = [
        (_option(spec, manuscript), _advice(spec, manuscript, seconds))
        for spec in ENGINES.values()
        if spec.cpu_seconds or spec.name == manuscript.project.engine.name
    ]
    width = max(len(option) for option, _ in rows)
    return [f"  {option:{width}}  {advice}" for option, advice in rows]


def _option(spec: EngineSpec, manuscript: Manuscript) -> str:
    if spec.name == manuscript.project.engine.name:
        return ""
    return "--draft" if spec.name == "draft" else f"--engine {spec.name}"


def _advice(spec: EngineSpec, manuscript: Manuscript, seconds: float) -> str:
    steps = ", ".join(_preparations(spec, manuscript))
    first = f" (first {steps})" if steps else ""
    if spec.cpu_seconds is None:
        return f"{spec.title}{first}: for a Mac or an NVIDIA GPU; on other machines slow"
    wall = seconds * spec.cpu_seconds / (os.cpu_count() or 1)
    return f"{spec.title}{first}: in about {_roughly(wall)}"


def _preparations(spec: EngineSpec, manuscript: Manuscript) -> Iterator[str]:
    project = manuscript.project
    settings = project.engine if spec.name == project.engine.name else spec.settings()
    if spec.missing_packages(settings):
        yield f"`{install_command(spec.name)}`"
    model = spec.model
    if model is not None:
        found = model.find(settings, project.root, lambda what: None)
        if any(one.path is None for _, one in found):
            yield f"`{model.family.pull}`, {model.family.download / 1e9:.1f} GB"


def _roughly(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1.5:
        return "a minute"
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.0f} hours"
