"""Which recogniser and which aligner a manifest means, and what of them is here."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from narrator.engines import machine, models
from narrator.engines.models import Layout, Model, Tell
from narrator.project.schema import Checks
from narrator.speech.hearing import Aligner, qwen3, sphinx, whisper
from narrator.speech.hearing.listening import Ear
from narrator.speech.hearing.qwen3 import QwenAligner, QwenRecogniser
from narrator.speech.hearing.sphinx import Sphinx
from narrator.speech.hearing.whisper import Whisper

NAMES: Mapping[str, str] = {**whisper.NAMES, **qwen3.NAMES}
"""Hub ids of what people call models that listen."""
DEFAULTS = ((14e9, "large-v3-turbo"), (0.0, "small"))
"""Bytes of memory from which a model is what `auto` stands for: 1.6 and 0.5 GB."""
_KINDS: Mapping[str, Layout] = {
    "whisper": whisper.LAYOUT,
    "qwen3": qwen3.LAYOUT,
    "qwen3 aligner": qwen3.ALIGNER_LAYOUT,
}
LAYOUTS: Sequence[Layout] = tuple(_KINDS.values())
"""Of all models that listen."""
_PACKAGES = ("faster-whisper", "pocketsphinx", "mlx-qwen3-asr")


def named(spec: str) -> str:
    """The hub id of what people call `recogniser`, small.en or qwen3-0.6b; others as they are."""
    return NAMES.get(_usual() if spec == "recogniser" else spec, spec)


def find(spec: str, root: Path | None = None, tell: Tell = models.quiet) -> Model:
    """Where what listens is: auto, a name, a hub id, or a folder."""
    spec = named("recogniser" if spec == "auto" else spec)
    for layout in LAYOUTS:
        found = models.find_as(layout, spec, root=root, tell=tell)
        if found.path is not None:
            return found
    place = models.place_of(spec)
    layout = next((one for one in LAYOUTS if place and one.is_one(place)), whisper.LAYOUT)
    found = models.find_as(layout, spec, root=root, tell=tell)
    if place is None and spec in NAMES.values():
        name = next(name for name, own in NAMES.items() if own == spec)
        return replace(found, note=f"{spec} is not here; `narrator models pull {name}` fetches it")
    return found


def listed(tell: Tell = models.quiet) -> list[tuple[str, Model]]:
    """What listens and is here, with its kind."""
    return [(kind, one) for kind, layout in _KINDS.items() for one in models.cached(layout, tell)]


def is_one(path: Path) -> bool:
    """Whether a folder holds a model that listens."""
    return any(layout.is_one(path) for layout in LAYOUTS)


def version() -> str:
    """What listens here, with versions; "" where nothing is installed."""
    found = []
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found)


def _usual() -> str:
    total = machine.memory().total
    return next(name for least, name in DEFAULTS if total >= least)


def ear_for(
    checks: Checks, root: Path | None = None, *, model: str | None = None, align: bool = False
) -> Ear:
    """What takes are heard and timed by, in place of what a manifest says by `model`; with `align`
    timed alone. Raises EngineUnavailable."""
    found = find(model or checks.recogniser, root)
    exact = _exact()
    if align and exact and (found.path is None or not whisper.is_here()):
        return Ear(None, exact)
    recogniser = _recogniser(found)
    aligners: list[Aligner] = [*exact, recogniser] if isinstance(recogniser, Whisper) else exact
    return Ear(None if align else recogniser, aligners, error=checks.text_error)


@lru_cache(maxsize=1)
def _recogniser(found: Model) -> Whisper | QwenRecogniser:
    """Loaded once: a retake beside a render has the same. Raises EngineUnavailable."""
    is_qwen = found.path is not None and qwen3.LAYOUT.is_one(found.path)
    return QwenRecogniser(found) if is_qwen else Whisper(found)


def _exact() -> list[Aligner]:
    """Those that only time words, and are here: the most exact first."""
    found: list[Aligner] = []
    if sphinx.is_here():
        found.append(Sphinx())
    if qwen3.is_here() and (model := find("qwen3-aligner")).path is not None:
        found.append(QwenAligner(model))
    return found


def ear_of(checks: Checks, root: Path | None = None) -> Ear | None:
    """What a render's takes are heard by; None where the manifest wants none heard. Raises
    EngineUnavailable."""
    if checks.recognition == "never":
        return None
    return replace(ear_for(checks, root), mode=checks.recognition)
