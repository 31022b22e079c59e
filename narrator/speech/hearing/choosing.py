"""Finds the recogniser and the aligners that a manifest asks for."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from narrator.engines import ignore_message, machine, models
from narrator.engines.models import Model, Tell
from narrator.errors import EngineUnavailable, UsageError
from narrator.project.schema import Checks
from narrator.speech.hearing import Aligner, RecogniserSpec, sphinx, whisper
from narrator.speech.hearing.listening import TakeListener
from narrator.speech.hearing.sphinx import Sphinx
from narrator.speech.hearing.whisper import Whisper
from textbase.extensions import Registry

DEFAULT_MODELS = ((14e9, "large-v3-turbo"), (0.0, "small"))
"""Least bytes of memory for each model that `auto` may choose: of 1.6 and 0.5 GB."""
_PACKAGES = ("faster-whisper", "pocketsphinx")
_REMOVED_MODELS = re.compile(
    r"(qwen/)?qwen3-(0\.6b|1\.7b|aligner|asr-.*|forcedaligner-.*)", re.IGNORECASE
)
"""Names and hub ids of Qwen3's recognisers and aligner, which earlier versions could run."""


def resolve_name(spec: str) -> str:
    """Returns the hub id for "recogniser" or a name like "small.en"; other specs unchanged.

    Raises UsageError for a recogniser that narrator no longer runs.
    """
    if _REMOVED_MODELS.fullmatch(spec):
        raise UsageError(
            f"narrator no longer runs {spec}: `recogniser: auto` takes Whisper, which "
            "`narrator models pull recogniser` fetches; words are timed by the extra `align`"
        )
    return whisper.HUB_IDS.get(_default_name() if spec == "recogniser" else spec, spec)


def find_model(spec: str, root: Path | None = None, tell: Tell = ignore_message) -> Model:
    """Finds a recogniser's model by auto, a name, a hub id, or a folder. Raises UsageError."""
    spec = resolve_name("recogniser" if spec == "auto" else spec)
    model = models.find_with_layout(whisper.LAYOUT, spec, root=root, tell=tell)
    name = next((name for name, hub_id in whisper.HUB_IDS.items() if hub_id == spec), None)
    if model.path is None and name is not None and models.folder_of(spec) is None:
        return replace(model, note=f"{spec} is not here; `narrator models pull {name}` fetches it")
    return model


def list_models(tell: Tell = ignore_message) -> Sequence[Model]:
    """Lists the local models of recognisers."""
    return models.list_cached_models(whisper.LAYOUT, tell)


def version() -> str:
    """Lists the installed recognition packages with their versions; "" for none."""
    versions = []
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(versions)


def _default_name() -> str:
    total = machine.memory().total
    return next(name for min_memory, name in DEFAULT_MODELS if total >= min_memory)


def make_listener(
    checks: Checks, root: Path | None = None, *, model: str | None = None, only_align: bool = False
) -> TakeListener:
    """Makes the listener of a manifest's checks; `model` replaces their recogniser.

    With `only_align` it times words, but hears nothing. Raises EngineUnavailable, UsageError.
    """
    name = model or checks.recogniser
    exact_aligners: list[Aligner] = [Sphinx()] if sphinx.is_here() else []
    try:
        recogniser = (
            RECOGNISERS[name].make() if RECOGNISERS.knows(name) else _make_whisper(name, root)
        )
    except EngineUnavailable:
        if only_align and exact_aligners:
            return TakeListener(None, exact_aligners)
        raise
    aligners = [*exact_aligners, recogniser] if isinstance(recogniser, Whisper) else exact_aligners
    return TakeListener(
        None if only_align else recogniser,
        aligners,
        error=checks.text_error,
        heard_as=checks.heard_as,
    )


def _make_whisper(spec: str, root: Path | None = None) -> Whisper:
    return _load_whisper(find_model(spec, root))


@lru_cache(maxsize=1)
def _load_whisper(model: Model) -> Whisper:
    """Loads a recogniser, once for renders and retakes alike. Raises EngineUnavailable."""
    return Whisper(model)


RECOGNISERS = Registry(
    "narrator.recognisers",
    "recogniser",
    RecogniserSpec,
    [RecogniserSpec(name, partial(_make_whisper, name)) for name in whisper.HUB_IDS],
)
"""Recognisers by name: Whisper's models, and those of other packages. A manifest can also name a
hub id or folder of Whisper."""


def make_render_listener(checks: Checks, root: Path | None = None) -> TakeListener | None:
    """Makes the listener of a render; None where the manifest turns recognition off.

    Raises EngineUnavailable, UsageError.
    """
    if checks.recognition == "never":
        return None
    return replace(make_listener(checks, root), mode=checks.recognition)
