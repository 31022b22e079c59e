"""The engines that there are: a folder each, and a line here. The first is the default."""

from __future__ import annotations

from collections.abc import Mapping

from narrator.engines import draft, server, voxcpm2
from narrator.engines.kind import EngineKind

ENGINES: Mapping[str, EngineKind] = {
    kind.name: kind for kind in (voxcpm2.KIND, server.KIND, draft.KIND)
}
