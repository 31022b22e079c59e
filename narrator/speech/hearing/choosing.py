"""Which recogniser and which aligner a manifest means, and what of them is here."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from narrator.engines import machine, models
from narrator.engines.models import Layout, Model, NoModel, Tell
from narrator.project.schema import Checks
from narrator.speech.hearing import sphinx, whisper
from narrator.speech.hearing.listening import Ear
from narrator.speech.hearing.sphinx import Sphinx
from narrator.speech.hearing.whisper import Whisper

NAMES: Mapping[str, str] = {
    **{
        name: f"Systran/faster-whisper-{name}"
        for name in "tiny tiny.en base base.en small small.en medium medium.en large-v3".split()
    },
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
}
"""Hub ids of Whisper's own names: conversions to CTranslate2's format, MIT."""
DEFAULTS = ((14e9, "large-v3-turbo"), (0.0, "small"))
"""Bytes of memory from which a model is what `auto` stands for: 1.6 and 0.5 GB."""


def _whisper_files(path: Path) -> list[Path]:
    vocabulary = [file for file in path.glob("vocabulary.*") if file.suffix in (".txt", ".json")]
    needed = [path / "config.json", path / "model.bin", path / "tokenizer.json"]
    for file in needed:
        if not file.is_file():
            raise NoModel(f"{file.name} is missing; is this Whisper in CTranslate2's format?")
    if not vocabulary:
        raise NoModel("its vocabulary is missing (vocabulary.json or vocabulary.txt)")
    beside = [path / "preprocessor_config.json"]
    return [*needed, *sorted(vocabulary), *(file for file in beside if file.is_file())]


LAYOUT = Layout(
    ("config.json", "model.bin", "tokenizer.json", "vocabulary.*", "preprocessor_config.json"),
    _whisper_files,
    lambda path: (path / "model.bin").is_file() and "alignment_heads" in models.config(path),
)


LAYOUTS: Sequence[Layout] = (LAYOUT,)
"""Of all models that listen."""


def named(spec: str) -> str:
    """The hub id of what people call `recogniser` or by one of Whisper's own names; others as they
    are."""
    return NAMES.get(_usual() if spec == "recogniser" else spec, spec)


def find(spec: str, root: Path | None = None, tell: Tell = models.quiet) -> Model:
    """Where what listens is: auto, a name of Whisper's own, a hub id, or a folder."""
    spec = named("recogniser" if spec == "auto" else spec)
    found = models.find_as(LAYOUT, spec, root=root, tell=tell)
    if found.path is None and spec in NAMES.values():
        return replace(
            found, note=f"{spec} is not here; `narrator models pull {_name(spec)}` fetches it"
        )
    return found


def listed(tell: Tell = models.quiet) -> list[tuple[str, Model]]:
    """What listens and is here, with its kind."""
    return [("whisper", model) for model in models.cached(LAYOUT, tell)]


def is_one(path: Path) -> bool:
    """Whether a folder holds a model that listens."""
    return any(layout.is_one(path) for layout in LAYOUTS)


def version() -> str:
    """What listens here, with its version; "" where nothing is installed."""
    try:
        return f"faster-whisper {importlib.metadata.version('faster-whisper')}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def _usual() -> str:
    total = machine.memory().total
    return next(name for least, name in DEFAULTS if total >= least)


def _name(hub: str) -> str:
    return next(name for name, own in NAMES.items() if own == hub)


def ear_for(
    checks: Checks, root: Path | None = None, *, model: str | None = None, align: bool = False
) -> Ear:
    """What takes are heard and timed by, in place of what a manifest says by `model`; with `align`
    timed alone. Raises EngineUnavailable."""
    found = find(model or checks.recogniser, root)
    exact = [Sphinx()] if sphinx.is_here() else []
    if align and exact and (found.path is None or not whisper.is_here()):
        return Ear(None, exact)
    hears = Whisper(found)
    return Ear(None if align else hears, [*exact, hears], error=checks.text_error)


def ear_of(checks: Checks, root: Path | None = None) -> Ear | None:
    """What a render's takes are heard by; None where the manifest wants none heard. Raises
    EngineUnavailable."""
    if checks.recognition == "never":
        return None
    return replace(ear_for(checks, root), mode=checks.recognition)
