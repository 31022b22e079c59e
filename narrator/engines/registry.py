"""The engines that there are: a folder each, and a line here. The first is the default."""

from __future__ import annotations

from collections.abc import Mapping

from narrator.engines import cosyvoice2, draft, server, voxcpm2
from narrator.engines.kind import EngineKind

ENGINES: Mapping[str, EngineKind] = {
    kind.name: kind for kind in (voxcpm2.KIND, cosyvoice2.KIND, server.KIND, draft.KIND)
}
MODELS = [kind.model for kind in ENGINES.values() if kind.model is not None]
"""What is loaded here; `auto` alone means the first."""
FAMILIES = [model.family for model in MODELS]
