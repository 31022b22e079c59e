"""The engines: a folder each and a line here, and those of other packages. The first is the
default."""

from __future__ import annotations

from narrator.engines import cosyvoice2, draft, kokoro, server, voxcpm2
from narrator.engines.spec import EngineSpec
from textbase.extensions import Registry

ENGINES = Registry[EngineSpec](
    "narrator.engines",
    "engine",
    EngineSpec,  # type: ignore[type-abstract]
    (voxcpm2.SPEC, kokoro.SPEC, cosyvoice2.SPEC, server.SPEC, draft.SPEC),
)
FAMILIES = [spec.model.family for spec in ENGINES.values() if spec.model is not None]
"""Models that are loaded here; `auto` alone means the first."""
