"""The settings that new takes of a chunk can be given, as JSON.

Knows no requests; changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from narrator.pipeline import book_engines, retakes
from narrator.pipeline.book_plan import BookPlan
from narrator.speech.plan import Step


def desk_row(plan: BookPlan, step: Step) -> dict[str, Any]:
    """Returns the style, settings and seed of a chunk, as far as a retake can change them."""
    speaker = step.chunk.speaker
    spec, engine = book_engines.specs_of(plan.project)[speaker], plan.engines[speaker]
    schemas = spec.settings.model_json_schema()["properties"]
    names = [
        name
        for name in spec.chapter_settings
        if name in engine.sound_parameters
        and name != "seed"
        and isinstance(step.parameters.get(name), int | float)
    ]
    return {
        "style": step.style or step.chunk.style or step.voice.style or "",
        "no_style": retakes.style_advice(plan, speaker),
        "seed": step.seed if "seed" in engine.sound_parameters else None,
        "settings": [_setting_row(name, schemas[name], step.parameters[name]) for name in names],
    }


def _setting_row(name: str, schema: Mapping[str, Any], value: float) -> dict[str, Any]:
    """Returns a number that a retake can set, with the limits of its JSON schema."""
    return {
        "name": name,
        "value": value,
        "min": schema.get("minimum"),
        "max": schema.get("maximum"),
        "whole": schema.get("type") == "integer",
    }
