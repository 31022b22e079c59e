"""The description of an engine of MLX before it is made."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from narrator.engines import models
from narrator.engines.mlx.settings import ModelSettings
from narrator.engines.models import Family, Model, Tell
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec

if TYPE_CHECKING:
    from narrator.engines.mlx.engine import ModelEngine


class ModelSpec(EngineSpec):
    """An engine whose model runs on this machine."""

    @abstractmethod
    def engine_type(self) -> type[ModelEngine]:
        """Imports the engine."""

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> ModelEngine:
        assert isinstance(settings, ModelSettings)
        return self.engine_type()(
            settings,
            cache=context.cache,
            root=context.root,
            remembered=context.load_identity_record(),
            tell=tell,
        )


def finder(
    family: Family,
) -> Callable[[EngineSettings, Path | None, Tell], Iterator[tuple[str, Model]]]:
    """Returns `EngineModel.find` for an engine with one model."""

    def find(
        settings: EngineSettings, root: Path | None, tell: Tell
    ) -> Iterator[tuple[str, Model]]:
        assert isinstance(settings, ModelSettings)
        yield "model", models.find(family, settings.model, root=root, tell=tell)

    return find
