"""Kokoro on a processor core by ONNX Runtime: requests -> speech, as `model.py` with MLX.

The graphs are made from a checkpoint once and kept in a folder, whose name is a hash of the weights
and settings; processes that map its weights share them. Loads no MLX.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from kokoro82m.config import CONFIG_FILE, FRAME_SAMPLES, SAMPLE_RATE, Config, read_config
from kokoro82m.noise import draw_noise, merge_noise
from kokoro82m.numpy_source import analyse, make_signal
from kokoro82m.onnx_file import Graph, Weights
from kokoro82m.onnx_graph import Tensors, write_decoder, write_predictor
from kokoro82m.speech import Request, Speech, check_request
from kokoro82m.tensors import read_tensors, weights_file
from speechbase.errors import CheckpointError, ModelError, RequestError, printable
from speechbase.files import identity, new_folder

FORMAT = 2
"""Version of the cached folder: raised with every change of the graphs."""
PREDICTOR, DECODER, WEIGHTS, FACTS = "predictor.onnx", "decoder.onnx", "weights.bin", "facts.json"
SOURCE = "decoder.generator.m_source.l_linear"
_PIECE = 1 << 22
_WRITERS: Mapping[str, Callable[[Graph, Tensors, Config], None]] = {
    PREDICTOR: write_predictor,
    DECODER: write_decoder,
}


@dataclass(frozen=True, slots=True, eq=False)
class Graphs:
    """A complete folder of graphs."""

    folder: Path
    source_weight: np.ndarray  # (9,): of the layer that adds up the source's sines
    source_bias: np.ndarray  # (1,)


class OnnxNetwork:
    """A loaded model, for one thread."""

    def __init__(self, config: Config, graphs: Graphs) -> None:
        """Raises CheckpointError."""
        self.config = config
        self._graphs = graphs
        self._predictor, self._decoder = (
            _session(graphs.folder / name) for name in (PREDICTOR, DECODER)
        )

    @property
    def sample_rate(self) -> int:
        """Sample rate of the speech, Hz."""
        return SAMPLE_RATE

    def speak(self, request: Request) -> Speech:
        """Speaks a request.

        Raises RequestError before anything is computed (for noise that is too short, once durations
        are known), and ModelError if ONNX Runtime fails, for example for lack of memory.
        """
        try:
            return self._speak(request)
        except _errors() as error:
            raise ModelError(f"ONNX Runtime: {printable(str(error))}") from error

    def _speak(self, request: Request) -> Speech:
        check_request(request, self.config.num_tokens, self.config.albert.max_positions)
        style = request.style.astype(np.float32)
        durations, pitch, energy, phonemes = self._predictor.run(
            ["durations", "pitch", "energy", "phonemes"],
            {
                "tokens": np.array(request.tokens, np.int64),
                "style": style,
                "speed": np.array(request.speed, np.float32),
            },
        )
        samples = self.decode(style, phonemes, pitch, energy, self._source(request, pitch))
        return Speech(samples, durations.astype(np.int32), pitch)

    def decode(
        self,
        style: np.ndarray,
        phonemes: np.ndarray,
        pitch: np.ndarray,
        energy: np.ndarray,
        source: np.ndarray,
    ) -> np.ndarray:
        """Runs the graph `decoder` (`onnx_graph.py` has the shapes) -> samples (600 frames,)."""
        inputs = {
            "style": style, "phonemes": phonemes, "pitch": pitch, "energy": energy, "source": source
        }  # fmt: skip
        (samples,) = self._decoder.run(["samples"], inputs)
        return np.asarray(samples)

    def _source(self, request: Request, pitch: np.ndarray) -> np.ndarray:
        """Returns the source's spectrum (1, 22, 120 frames + 1). Raises RequestError."""
        weight, count = self._graphs.source_weight, len(pitch) * FRAME_SAMPLES // 2
        if request.noise is None:
            noise = draw_noise(request.seed, count)
        elif len(request.noise) >= count:
            noise = merge_noise(request.noise[:count], weight)
        else:
            raise RequestError(
                f"noise has {len(request.noise)} rows; the speech has {count} samples"
            )
        signal = make_signal(pitch, noise, weight, self._graphs.source_bias)
        return analyse(signal, self.config.generator.n_fft)[None]


def load_onnx(folder: Path, cache: Path) -> OnnxNetwork:
    """Loads a model from a checkpoint's folder (no hub id); its graphs are made once and kept in
    `cache`, in a folder for each checkpoint and FORMAT. Old ones are not removed.

    Raises CheckpointError, ConfigError.
    """
    config, file = read_config(folder), weights_file(folder)
    digest = hashlib.sha256((folder / CONFIG_FILE).read_bytes())
    digest.update(identity(file) + FORMAT.to_bytes(2, "little"))
    target = cache / f"kokoro-{digest.hexdigest()[:32]}"
    graphs = _read_graphs(target)
    if graphs is None:
        try:
            with _locked(cache):
                graphs = _read_graphs(target) or _make_graphs(target, file, config)
        except OSError as error:
            raise CheckpointError(
                f"{target}: cannot be written: {printable(str(error))}"
            ) from error
    return OnnxNetwork(config, graphs)


# ---- the cache


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks a folder: processes that start together wait for the graphs of the first one."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_graphs(target: Path, file: Path, config: Config) -> Graphs:
    """Writes the graphs and reads them back. Raises CheckpointError, OSError."""
    shutil.rmtree(target, ignore_errors=True)
    with new_folder(target) as folder:
        _write_graphs(folder, read_tensors(file, config), config)
    if (graphs := _read_graphs(target)) is None:
        raise CheckpointError(f"{target}: is not what was written there; is the disk sound?")
    return graphs


def _write_graphs(folder: Path, tensors: Tensors, config: Config) -> None:
    with (folder / WEIGHTS).open("wb") as file:
        weights = Weights(folder / WEIGHTS, file)
        for name, write in _WRITERS.items():
            graph = Graph(Path(name).stem, weights)
            write(graph, tensors, config)
            graph.write(folder / name)
        file.flush()
        os.fsync(file.fileno())
    facts = {
        "checksums": _checksums(folder),
        "source_weight": tensors[f"{SOURCE}.weight"].reshape(-1).tolist(),
        "source_bias": tensors[f"{SOURCE}.bias"].tolist(),
    }
    (folder / FACTS).write_text(json.dumps(facts))


def _read_graphs(folder: Path) -> Graphs | None:
    """Returns the graphs of a folder; None if they are missing or damaged."""
    try:
        facts: dict[str, Any] = json.loads((folder / FACTS).read_text())
        if facts["checksums"] != _checksums(folder):
            return None
        weight, bias = (
            np.array(facts[name], np.float32) for name in ("source_weight", "source_bias")
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Graphs(folder, weight, bias)


def _checksums(folder: Path) -> dict[str, int]:
    """Returns the CRC-32 of each file: half a second for the published weights."""
    checksums = {}
    for name in (PREDICTOR, DECODER, WEIGHTS):
        with (folder / name).open("rb") as file:
            checksum = 0
            while piece := file.read(_PIECE):
                checksum = zlib.crc32(piece, checksum)
        checksums[name] = checksum
    return checksums


def _session(file: Path) -> onnxruntime.InferenceSession:
    """Loads a graph for one thread, which sleeps while it waits. Raises CheckpointError."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    except _errors() as error:
        raise CheckpointError(
            f"{file}: ONNX Runtime refuses it: {printable(str(error))}"
        ) from error


def _errors() -> tuple[type[Exception], ...]:
    """Returns the runtime's own exceptions, which have no common base class."""
    names = vars(onnxruntime.capi.onnxruntime_pybind11_state).values()
    return tuple(each for each in names if isinstance(each, type) and issubclass(each, Exception))
