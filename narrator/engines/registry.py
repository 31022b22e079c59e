"""The engines that there are: a folder each, and a line here. The first is the default."""

from __future__ import annotations

from collections.abc import Mapping

from narrator.engines import cosyvoice2, draft, kokoro, server, voxcpm2
from narrator.engines.spec import EngineSpec

ENGINES: Mapping[str, EngineSpec] = {
    spec.name: spec
    for spec in (voxcpm2.SPEC, kokoro.SPEC, cosyvoice2.SPEC, server.SPEC, draft.SPEC)
}
MODELS = [spec.model for spec in ENGINES.values() if spec.model is not None]
"""What is loaded here; `auto` alone means the first."""
FAMILIES = [model.family for model in MODELS]
