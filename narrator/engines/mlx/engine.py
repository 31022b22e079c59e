"""A model as an engine: answers a plan without loading anything, and loads the model.

MLX and the model's package are loaded by `start`, and used on the thread that called it or in a
separate process (`worker_process.py`). Knows nothing of chapters, chains, checks and the store.
"""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from narrator import files
from narrator.engines import ABSENT_PREFIX, Engine, Session, ignore_message, machine, models
from narrator.engines.mlx.loaded_model import Encoded, LoadedModel, Loading
from narrator.engines.mlx.memory import WORK_BYTES, free_memory
from narrator.engines.mlx.session import ModelSession
from narrator.engines.mlx.settings import ModelSettings
from narrator.engines.mlx.worker_process import ModelProcesses, ProcessSession
from narrator.engines.voice import CASTING, Reference, Voice
from narrator.errors import EngineUnavailable


class ModelEngine(Engine):
    """An engine whose model runs in MLX; cheap until started, and loaded once for all sessions.

    Relative folders in the settings start from `root`; `cache` is the folder of encoded references,
    `memory` the folder of the file with this machine's best number of slots (the user's library
    unless set). `remembered` is the identity record of an earlier run, as read from a file: its
    weights stand for a model that is not here if it names the model of the settings, or none.
    """

    settings: ModelSettings
    family: ClassVar[models.Family]
    sampler: ClassVar[int]
    """Version of the sampling: raised when the same request and weights give other samples."""
    continues = True
    anchors = True
    # models are trained on about 30 s; the margin is for speech that is longer than expected
    max_context_seconds = 25.0

    def __init__(
        self,
        settings: ModelSettings,
        *,
        cache: Path,
        root: Path | None = None,
        memory: Path | None = None,
        remembered: object = MappingProxyType({}),
        tell: Callable[[str], None] = ignore_message,
    ) -> None:
        self.settings, self._cache = settings, cache
        self._model = models.find(self.family, settings.model, root=root, tell=tell)
        self._memory = (memory or files.library()) / "slots.json"
        # the record comes from a file, which may be damaged
        self._remembered = remembered if isinstance(remembered, Mapping) else {}
        self._loaded: LoadedModel | None = None

    # -- for the plan

    @property
    def public_name(self) -> str:
        """Names the model by its hub id, unless it is a folder, and by its weights, if they are
        known."""
        spec, weights = self.settings.model, self._weights()
        model = self.family.hub if spec == "auto" else spec if self._model.kind == "hub" else ""
        version = "" if weights.startswith(ABSENT_PREFIX) else f"weights {weights[:12]}"
        model = re.sub(r"(?<=@[0-9a-f]{12})[0-9a-f]{28}$", "", model)  # of a commit
        facts = "; ".join(filter(None, (model, version)))
        return f"{self.name} ({facts})" if facts else self.name

    def identity(self) -> Mapping[str, Any]:
        """Returns weights, precision, and the version of the sampling.

        For weights that are not here, returns those of an earlier run, or a mark that matches no
        take.
        """
        return {
            "name": self.name,
            "sampler": self.sampler,
            "weights": self._weights(),
            "dtype": self.settings.dtype,
        }

    def identity_record(self) -> Mapping[str, Any]:
        """Returns its identity, and its model's name in the manifest."""
        return {"model": self.settings.model, **self.identity()}

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Returns the hash of the reference, or what the voice is cast from."""
        if voice.content is not None:
            return {"reference": voice.content}
        recipe = {"casting": CASTING, "description": voice.description, "seed": voice.seed}
        return recipe if voice.description else {**recipe, "speaker": voice.speaker}

    def start(self, tell: Callable[[str], None] = ignore_message) -> Session:
        """Starts a session; loads the model unless it is loaded. Raises EngineUnavailable."""
        if self._processes is not None:
            return ProcessSession(self._processes, tell)
        return ModelSession(self._load(tell), self._memory, tell)

    def precision(self) -> str:
        """As `Loading.dtype`, for this machine's device; MLX is queried in another process."""
        if self.settings.dtype != "auto":
            return self.settings.dtype
        return "float32" if machine.device().kind == "CPU" else self._model.precision or "its own"

    def required_memory(self) -> int | None:
        """Returns the bytes of the weights in the precision used, and of the work."""
        if self._model.path is None or self._is_loaded:
            return 0
        if _on_cuda():
            return None
        is_half_precision = self._model.precision in ("bfloat16", "float16")
        dtype = self.settings.dtype
        # on a CPU auto is float32
        is_float32 = dtype == "float32" or (dtype == "auto" and sys.platform == "linux")
        return self._model.bytes * (2 if is_half_precision and is_float32 else 1) + WORK_BYTES

    def release(self) -> None:
        """Frees the weights, or ends the process that has them."""
        self.__dict__.pop("_processes", None)  # the process ends with its last reference
        if self._loaded is not None:
            self._loaded = None
            free_memory()

    def encode_reference(self, reference: Reference) -> Encoded:
        """Returns the encoded clip by the encoder's fingerprint.

        Loads the model. Raises EngineUnavailable, StorageError.
        """
        return (self._processes or self._load(ignore_message)).encoded(reference)

    # -- the model

    @abstractmethod
    def _make_loading(self, path: Path) -> Loading:
        """Returns the parameters to load the model at a path. Raises EngineUnavailable."""

    def _weights(self) -> str:
        if self._model.path is not None:
            return self._model.weights
        spec = self.settings.model
        is_same_model = self._remembered.get("model", spec) == spec
        return self._remembered_part("weights", spec, is_same_model)

    def _remembered_part(self, key: str, spec: str, is_same_model: bool) -> str:
        """Returns a hash from the record of an earlier run, or a mark that it is unknown."""
        remembered = self._remembered.get(key) if is_same_model else None
        return remembered if isinstance(remembered, str) else f"{ABSENT_PREFIX}{spec}"

    @cached_property
    def _processes(self) -> ModelProcesses | None:
        """The model's separate process, if settings and device require one."""
        loading = self._make_loading(path_of(self._model, self.family))
        placement = self.settings.process
        uses_process = _on_cuda() if placement == "auto" else placement == "own"
        return ModelProcesses(loading, self._memory) if uses_process else None

    @property
    def _is_loaded(self) -> bool:
        processes = self.__dict__.get("_processes")
        return self._loaded is not None or (processes is not None and processes.is_loaded)

    def _load(self, tell: Callable[[str], None]) -> LoadedModel:
        """Returns the model in this process; loads it unless it is loaded."""
        if self._loaded is None:
            self._loaded = self._make_loading(path_of(self._model, self.family)).load(tell)
        return self._loaded


@cache
def _on_cuda() -> bool:
    """Returns whether MLX computes on CUDA; queried once, in another process."""
    return sys.platform == "linux" and machine.device().kind == "CUDA"


def path_of(model: models.Model, family: models.Family) -> Path:
    """Returns a model's folder. Raises EngineUnavailable if the model is not here."""
    if model.path is None:
        raise EngineUnavailable(
            f"{model.note or f'{model.spec}: no model there'}\n"
            f"Fetch it once with `{family.pull}`, name its folder in book.yaml "
            "(engine: {model: …}), or render with --draft"
        )
    return model.path
