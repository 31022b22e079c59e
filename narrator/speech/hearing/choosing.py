"""Finds the recogniser and the aligners that a manifest asks for."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from narrator.engines import ignore_message, machine, models
from narrator.engines.models import Layout, Model, Tell
from narrator.project.schema import Checks
from narrator.speech.hearing import Aligner, qwen3, sphinx, whisper
from narrator.speech.hearing.listening import TakeListener
from narrator.speech.hearing.qwen3 import QwenAligner, QwenRecogniser
from narrator.speech.hearing.sphinx import Sphinx
from narrator.speech.hearing.whisper import Whisper

NAMES: Mapping[str, str] = {**whisper.NAMES, **qwen3.NAMES}
"""Hub ids of recognisers and aligners by their short names."""
DEFAULTS = ((14e9, "large-v3-turbo"), (0.0, "small"))
"""Least bytes of memory for each model that `auto` may choose: of 1.6 and 0.5 GB."""
_KINDS: Mapping[str, Layout] = {
    "whisper": whisper.LAYOUT,
    "qwen3": qwen3.LAYOUT,
    "qwen3 aligner": qwen3.ALIGNER_LAYOUT,
}
LAYOUTS: Sequence[Layout] = tuple(_KINDS.values())
"""Layouts of all recognisers and aligners."""
_PACKAGES = ("faster-whisper", "pocketsphinx", "mlx-qwen3-asr")


def resolve_name(spec: str) -> str:
    """Returns the hub id of `recogniser`, small.en or qwen3-0.6b; other specs unchanged."""
    return NAMES.get(_default_name() if spec == "recogniser" else spec, spec)


def find_model(spec: str, root: Path | None = None, tell: Tell = ignore_message) -> Model:
    """Finds a recogniser or aligner by auto, a name, a hub id, or a folder."""
    spec = resolve_name("recogniser" if spec == "auto" else spec)
    for layout in LAYOUTS:
        model = models.find_with_layout(layout, spec, root=root, tell=tell)
        if model.path is not None:
            return model
    place = models.folder_of(spec)
    layout = next(
        (candidate for candidate in LAYOUTS if place and candidate.matches(place)), whisper.LAYOUT
    )
    model = models.find_with_layout(layout, spec, root=root, tell=tell)
    if place is None and spec in NAMES.values():
        name = next(name for name, hub_id in NAMES.items() if hub_id == spec)
        return replace(model, note=f"{spec} is not here; `narrator models pull {name}` fetches it")
    return model


def list_models(tell: Tell = ignore_message) -> list[tuple[str, Model]]:
    """Lists the local recognisers and aligners, with their kinds."""
    return [
        (kind, model)
        for kind, layout in _KINDS.items()
        for model in models.list_cached_models(layout, tell)
    ]


def is_listener_model(path: Path) -> bool:
    """Whether a folder contains a recogniser or aligner."""
    return any(layout.matches(path) for layout in LAYOUTS)


def version() -> str:
    """Lists the installed recognition packages with their versions; "" for none."""
    versions = []
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(versions)


def _default_name() -> str:
    total = machine.memory().total
    return next(name for min_memory, name in DEFAULTS if total >= min_memory)


def make_listener(
    checks: Checks, root: Path | None = None, *, model: str | None = None, align: bool = False
) -> TakeListener:
    """Makes the ear of a manifest's checks; `model` replaces their recogniser.

    With `align` it only times words. Raises EngineUnavailable.
    """
    chosen_model = find_model(model or checks.recogniser, root)
    exact_aligners = _exact_aligners()
    if align and exact_aligners and (chosen_model.path is None or not whisper.is_here()):
        return TakeListener(None, exact_aligners)
    recogniser = _load_recogniser(chosen_model)
    aligners: list[Aligner] = (
        [*exact_aligners, recogniser] if isinstance(recogniser, Whisper) else exact_aligners
    )
    return TakeListener(None if align else recogniser, aligners, error=checks.text_error)


@lru_cache(maxsize=1)
def _load_recogniser(model: Model) -> Whisper | QwenRecogniser:
    """Loads a recogniser, once for renders and retakes alike. Raises EngineUnavailable."""
    is_qwen = model.path is not None and qwen3.LAYOUT.matches(model.path)
    return QwenRecogniser(model) if is_qwen else Whisper(model)


def _exact_aligners() -> list[Aligner]:
    """Returns the available aligners that do not recognise, the most exact first."""
    aligners: list[Aligner] = []
    if sphinx.is_here():
        aligners.append(Sphinx())
    if qwen3.is_here() and (model := find_model("qwen3-aligner")).path is not None:
        aligners.append(QwenAligner(model))
    return aligners


def make_render_listener(checks: Checks, root: Path | None = None) -> TakeListener | None:
    """Makes the ear of a render; None where the manifest turns recognition off.

    Raises EngineUnavailable.
    """
    if checks.recognition == "never":
        return None
    return replace(make_listener(checks, root), mode=checks.recognition)
