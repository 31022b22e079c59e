"""Suggests engines that can speak a book on this machine without its model, the fastest first.

The times are rough; once an engine has spoken here, `narrator plan` has better ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from narrator.engines import ignore_message
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineSpec
from narrator.installation import install_command
from narrator.pipeline.manuscript import Manuscript


def alternatives(manuscript: Manuscript) -> list[str]:
    """A line for each engine that needs no server: its option and the steps to prepare it."""
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
    preparation_note = f" (first {steps})" if steps else ""
    if spec.cpu_seconds is None:
        return f"{spec.title}{preparation_note}: for a Mac or an NVIDIA GPU; on other machines slow"
    wall = seconds * spec.cpu_seconds / (os.cpu_count() or 1)
    return f"{spec.title}{preparation_note}: in about {_format_duration(wall)}"


def _preparations(spec: EngineSpec, manuscript: Manuscript) -> Iterator[str]:
    """Yields the commands that have to be run before this engine can speak the book."""
    project = manuscript.project
    settings = project.engine if spec.name == project.engine.name else spec.settings()
    if spec.missing_packages(settings):
        yield f"`{install_command(spec.name)}`"
    model = spec.model
    if model is not None:
        models = model.find(settings, project.root, ignore_message)
        if any(model_found.path is None for _, model_found in models):
            yield f"`{model.family.pull}`, {model.family.download / 1e9:.1f} GB"


def _format_duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1.5:
        return "a minute"
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.0f} hours"
