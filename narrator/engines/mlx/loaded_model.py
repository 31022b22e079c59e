"""A loaded model as a session uses it, stored encodings of clips, and translation of errors.

Used on the thread that loaded it. Knows no network: each engine's own module does.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from narrator import files
from narrator.engines import Request, Speech, ignore_message
from narrator.engines.mlx.memory import is_beyond_repair, is_out_of_memory
from narrator.engines.mlx.settings import ModelSettings
from narrator.engines.voice import Reference
from narrator.errors import EngineFailure, EngineUnavailable
from speechbase.errors import ModelError

LINUX_HINT = 'on Linux it needs `pip install "mlx[cpu]"`, or "mlx[cuda12]" for an NVIDIA GPU'

T = TypeVar("T")
Tell = Callable[[str], None]
Encoded = Mapping[str, NDArray[np.float32]]


class OutOfMemory(EngineUnavailable):
    """Memory ran out while a voice was encoded during other work."""


class CorruptProcess(EngineUnavailable):
    """MLX cannot go on in this process; another one can."""


@dataclass(frozen=True, slots=True)
class Loading(ABC):
    """The parameters to load a model, here or in another process, and the folder of its encoded
    clips."""

    spec: str
    path: Path
    settings: ModelSettings
    weights: str
    """Hash of the model's files."""
    cache: Path

    name: ClassVar[str]
    """The model's name for people."""
    memory_advice: ClassVar[str]
    """Advice when it takes too much memory."""

    def load(self, tell: Tell = ignore_message) -> LoadedModel:
        """Loads the model in this process. Raises EngineUnavailable."""
        tell(f"loading {self.name} ({self.spec}) …")
        try:
            from speechbase import environment  # noqa: F401  # before MLX, which reads it

            with self.translating_errors():
                return self._load_model()
        except ImportError as error:
            raise EngineUnavailable(f"MLX does not load here ({error}): {LINUX_HINT}") from error

    @abstractmethod
    def _load_model(self) -> LoadedModel:
        """Loads the model with its own package."""

    @property
    def dtype(self) -> str | None:
        """The precision of the network; None for the checkpoint's own."""
        import mlx.core as mx

        if self.settings.dtype != "auto":
            return self.settings.dtype
        # Half precision is slower on a CPU.
        return "float32" if mx.default_device() == mx.cpu else None

    @contextlib.contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turns errors of loading into EngineUnavailable, and restores MLX's cache limit after."""
        import mlx.core as mx

        from speechbase.device import CACHE_LIMIT

        limit = mx.set_cache_limit(CACHE_LIMIT)
        try:
            yield
        except ModelError as error:
            raise EngineUnavailable(f"{self.spec}: {error}") from error
        except (RuntimeError, MemoryError) as error:
            message = f"{self.spec}: the model does not load: {line_of(error)}"
            advice = f"; {self.memory_advice}" if is_out_of_memory(error) else ""
            raise EngineUnavailable(f"{message}{advice}") from error
        finally:
            mx.set_cache_limit(limit)


@dataclass(frozen=True, slots=True)
class ClipEncoding(Generic[T]):
    """The encoding of a clip by a model, and its form on disk."""

    suffix: str
    """Suffix of the file name, which distinguishes encodings of one clip."""
    encode: Callable[[], T]
    arrays: Callable[[T], Mapping[str, NDArray[Any]]]
    restore: Callable[[Mapping[str, NDArray[Any]]], T | None]
    """Returns None for arrays whose shapes or values do not fit the clip."""
    matches_sound: Callable[[T], bool]
    """Whether an encoding that came with the clip is one of its sound."""


class LoadedModel(ABC):
    """A loaded model, and the conversion of requests and speech between it and a session."""

    decodings: int
    """Takes that may be decoded side by side."""

    def __init__(self, loading: Loading, model: Any) -> None:
        import mlx.core as mx

        self.loading, self.model = loading, model
        self._encodings: dict[str, Any] = {}
        self.decoding_stream: Any = mx.new_stream(mx.default_device())
        """The MLX stream that decodes while the model continues."""

    @abstractmethod
    def model_request(self, request: Request, tell: Tell) -> Any:
        """Converts a request to the model's own. Raises EngineFailure if its mode lacks a part,
        ModelError, and as `encoding`."""

    @abstractmethod
    def to_speech(self, model_request: Any, model_speech: Any) -> Speech:
        """Converts a finished row to speech. Raises EngineFailure when it is none."""

    @abstractmethod
    def encode(self, reference: Reference) -> Encoded:
        """As `Engine.encode_reference`. Raises as `encoding`."""

    def encode_once(
        self,
        reference: Reference,
        clip: ClipEncoding[T],
        arrays: Mapping[str, NDArray[Any]],
        tell: Tell,
    ) -> T:
        """Returns an encoded clip from memory, from `arrays` or from disk; or encodes it now.

        `arrays` came with the reference: if they do not match its sound, this is reported and they
        are not used. Raises as `encoding`, and StorageError.
        """
        name = f"{reference.content}-{self.model.encoder_fingerprint[:16]}{clip.suffix}"
        if name in self._encodings:
            return cast(T, self._encodings[name])
        path = self.loading.cache / f"{name}.npz"
        with self.encoding():
            encoding = clip.restore(arrays) if arrays else None
            if arrays and (encoding is None or not clip.matches_sound(encoding)):
                tell("a voice was kept with an encoding that is not of its sound: it is not used")
                encoding = None
            if encoding is None:
                encoding = clip.restore(load_arrays(path))
            if encoding is None:
                tell("encoding a voice …")
                encoding = clip.encode()
                save_arrays(path, clip.arrays(encoding))
        self._encodings[name] = encoding
        return encoding

    def encoded(self, reference: Reference) -> Encoded:
        """As `Engine.encode_reference`.

        Raises EngineUnavailable for every failure of `encode`, since there is no chunk to try
        again; and StorageError.
        """
        try:
            return self.encode(reference)
        except EngineFailure as error:
            raise EngineUnavailable(str(error)) from error

    @contextlib.contextmanager
    def encoding(self) -> Iterator[None]:
        """Translates errors of encoding: EngineUnavailable when out of memory, EngineFailure for a
        clip that the model rejects, CorruptProcess."""
        try:
            yield
        except (ModelError, RuntimeError, MemoryError) as error:
            if is_beyond_repair(error):
                raise make_corrupt_error(error) from error
            if is_out_of_memory(error):
                message = f"out of memory while a voice is encoded ({line_of(error)}): "
                raise OutOfMemory(message + self.loading.memory_advice) from error
            message = f"{self.loading.name} cannot read the reference: {line_of(error)}"
            raise EngineFailure(message) from error


def make_corrupt_error(error: Exception) -> CorruptProcess:
    return CorruptProcess(
        f"MLX cannot go on in this process ({line_of(error)}): run the same again"
    )


def line_of(error: Exception) -> str:
    """Returns the first line of an error's message, at most 200 characters of it."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Stores arrays in an npz file. Raises StorageError."""
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    """Loads arrays from an npz file; empty if it is missing or damaged."""
    try:
        with zipfile.ZipFile(path) as stored:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in stored.infolist()):
                return {}  # damaged: these files are never compressed
            # reading checks each checksum before NumPy parses anything
            contents = {name.removesuffix(".npy"): stored.read(name) for name in stored.namelist()}
        return {
            name: np.load(io.BytesIO(content), allow_pickle=False)
            for name, content in contents.items()
        }
    # RuntimeError: encrypted, or a newer version of the format
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
        return {}
