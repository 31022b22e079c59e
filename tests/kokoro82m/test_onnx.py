"""ONNX Runtime says what MLX says, from the official weights and without MLX."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

import kokoro82m
from kokoro82m.checkpoint import read_weights
from kokoro82m.config import read_config
from kokoro82m.noise import merge_noise
from kokoro82m.numpy_source import analyse, make_signal
from kokoro82m.tensors import expected_shapes, read_tensors, weights_file
from speechbase.errors import CheckpointError, ConfigError, ModelError, RequestError
from speechbase.weights import to_torch_axes
from tests.effort import quick
from tests.kokoro82m import parity
from tests.kokoro82m.conftest import KokoroGolden
from tests.kokoro82m.parity import complex_spectrum, log_mel
from tests.parity import distance, relative

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from kokoro82m import onnx_network  # noqa: E402
from kokoro82m.onnx_convolution import STRETCH, add_convolution, make_transform  # noqa: E402
from kokoro82m.onnx_file import Graph, Weights  # noqa: E402
from kokoro82m.onnx_network import OnnxNetwork, load_onnx  # noqa: E402

ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONPATH": str(Path(kokoro82m.__file__).parents[1]),
}
"""Of processes of their own."""
CASES = ["len5", "len40", pytest.param("len150", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="session")
def network(golden: KokoroGolden, cache: Path) -> OnnxNetwork:
    return load_onnx(golden.checkpoint, cache)


def copied(golden: KokoroGolden, target: Path) -> Path:
    """A folder of the settings and the nested weights, to be spoilt."""
    target.mkdir()
    for name in ("config.json", "kokoro-v1_0.pth"):
        shutil.copy(golden.checkpoint / name, target)
    return target


# ---- the official numbers


@pytest.mark.parametrize("case", CASES)
def test_a_case_equals_the_official_numbers(case, golden, model, cache):
    one_case = KokoroGolden(golden.folder)
    one_case.cases = {case: golden.cases[case]}
    checks = list(parity.OnnxComparison(cache).compare_cases(one_case, model))
    assert len(checks) >= 4
    assert not [check for check in checks if not check.passes]


def test_the_source_and_its_spectrum_equal_the_official_ones(golden):
    recorded = golden.arrays("len5")
    config = read_config(golden.checkpoint)
    tensors = read_tensors(weights_file(golden.checkpoint), config)
    layer = "decoder.generator.m_source.l_linear"
    weight, bias = tensors[f"{layer}.weight"].reshape(-1), tensors[f"{layer}.bias"]
    noise = merge_noise(golden.official_noise("len5"), weight)
    signal = make_signal(recorded["F0"].reshape(-1), noise, weight, bias)
    assert distance(signal, recorded["source"].reshape(-1)) < 1e-3
    spectrum, expected = analyse(recorded["source"].reshape(-1), 20), recorded["har"][0]
    assert distance(complex_spectrum(spectrum.T), complex_spectrum(expected.T)) < 1e-5
    assert np.abs(spectrum - expected)[[11, 21]].max() < 1  # no sign at DC or Nyquist is turned


# ---- the other backend


@pytest.mark.parametrize("tokens", quick([1, 2, 17], 1, 17))
@pytest.mark.parametrize("speed", quick([0.5, 1.3], 1.3))
def test_both_backends_give_the_same_take_of_a_seed(tokens, speed, golden, network, model):
    ids = [0, *(43 + n * 7 % 20 for n in range(tokens)), 0]
    request = replace(golden.request("len5"), tokens=ids, speed=speed, noise=None, seed=tokens)
    [expected], speech = model.speak([request]), network.speak(request)
    assert speech.durations.tolist() == expected.durations.tolist()
    assert relative(speech.pitch, expected.pitch) < 1e-5
    assert len(speech.samples) == len(expected.samples) == 600 * speech.durations.sum()
    assert distance(log_mel(speech.samples), log_mel(expected.samples)) < 0.05


def test_another_seed_is_another_take(golden, network):
    request = replace(golden.request("len5"), noise=None)
    one, same, another = (network.speak(replace(request, seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.samples, same.samples)
    assert not np.array_equal(one.samples, another.samples)


def test_expected_shapes_are_those_of_the_mlx_network(golden, model):
    config = read_config(golden.checkpoint)
    tensors = read_tensors(weights_file(golden.checkpoint), config)
    parameters = to_torch_axes(model.network)
    assert expected_shapes(config, tensors) == {
        name: tuple(array.shape) for name, array in parameters.items()
    }


def test_impossible_requests_are_refused(golden, network):
    request = golden.request("len5")
    with pytest.raises(RequestError, match="tokens"):
        network.speak(replace(request, tokens=[0, 999, 0]))
    with pytest.raises(RequestError, match="noise has 3 rows; the speech has"):
        network.speak(replace(request, noise=np.zeros((3, 9), np.float32)))


# ---- Fourier convolutions


@pytest.mark.parametrize(("kernel", "dilation"), [(7, 1), (7, 3), (11, 1), (11, 5)])
@pytest.mark.parametrize("time", [1, 4, 26, 27, 100])
def test_a_fourier_convolution_equals_a_direct_one(kernel, dilation, time, tmp_path):
    random = np.random.default_rng(0)
    weight = random.standard_normal((3, 2, kernel)).astype(np.float32)
    x = random.standard_normal((1, 2, time)).astype(np.float32)
    with (tmp_path / "weights").open("wb") as file:
        graph = Graph("convolution", Weights(tmp_path / "weights", file))
        y = add_convolution(graph, graph.input("x", [1, 2, "time"]), weight, dilation)
        graph.output("y", y, [1, 3, "time"])
        graph.write(tmp_path / "graph.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "graph.onnx")
    (value,) = session.run(["y"], {"x": x})
    reach = dilation * (kernel // 2)
    padded = np.pad(x[0].astype(np.float64), [(0, 0), (reach, reach)])
    expected = sum(
        weight[:, :, k] @ padded[:, k * dilation : k * dilation + time] for k in range(kernel)
    )
    assert value.shape == (1, 3, time)
    np.testing.assert_allclose(value[0], expected, atol=1e-5)


def test_a_transform_has_three_rows_for_each_complex_number():
    transform = make_transform(STRETCH, 11)
    assert transform.forward.shape == (3 * STRETCH // 2 - 1, STRETCH)
    assert transform.inverse.shape == (STRETCH - 10, 3 * STRETCH // 2 - 1)


# ---- the cache


def test_graphs_are_made_once(golden, network, cache, monkeypatch):
    monkeypatch.setattr(onnx_network, "read_tensors", lambda *_: pytest.fail("read again"))
    request = golden.request("len5")
    again = load_onnx(golden.checkpoint, cache).speak(request)
    assert np.array_equal(again.samples, network.speak(request).samples)


@pytest.mark.parametrize(
    "name",
    quick(
        ["predictor.onnx", "decoder.onnx", "weights.bin", "facts.json"], "weights.bin", "facts.json"
    ),
)
@pytest.mark.parametrize("damage", quick(["cut", "changed", "gone"], "changed"))
def test_a_damaged_graph_is_made_again(name, damage, golden, network, cache, tmp_path):
    [source] = cache.iterdir()
    shutil.copytree(source, tmp_path / source.name)
    file = tmp_path / source.name / name
    content = file.read_bytes()
    middle = len(content) // 2
    if damage == "gone":
        file.unlink()
    else:
        rest = b"" if damage == "cut" else b"\xff" + content[middle + 1 :]
        file.write_bytes(content[:middle] + rest)
    request = golden.request("len5")
    speech = load_onnx(golden.checkpoint, tmp_path).speak(request)
    assert np.array_equal(speech.samples, network.speak(request).samples)
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_other_settings_or_weights_have_graphs_of_their_own(golden, tmp_path):
    folder = copied(golden, tmp_path / "model")
    load_onnx(folder, tmp_path / "cache")
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(settings | {"unused": 1}), "utf-8")
    load_onnx(folder, tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_named(golden, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(CheckpointError, match="cache"):
        load_onnx(golden.checkpoint, tmp_path / "cache")


def test_processes_that_start_together_make_one(golden, tmp_path):
    program = """
import sys
from pathlib import Path
from kokoro82m.onnx_network import load_onnx
load_onnx(Path(sys.argv[1]), Path(sys.argv[2]))
"""
    command = [sys.executable, "-c", program, str(golden.checkpoint), str(tmp_path / "cache")]
    processes = [subprocess.Popen(command, env=ENVIRONMENT) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert len(list((tmp_path / "cache").iterdir())) == 1


# ---- files


def test_flat_weights_of_any_precision_are_read(golden, network, tmp_path):
    tensors = read_weights(golden.checkpoint / "kokoro-v1_0.pth")
    halves = {name: tensor.astype(mx.bfloat16) for name, tensor in tensors.items()}
    config = read_config(golden.checkpoint)
    for number, flat in enumerate((tensors, halves)):
        file = tmp_path / f"{number}.safetensors"
        mx.save_safetensors(str(file), flat)
        expected = read_tensors(weights_file(golden.checkpoint), config)
        for name, array in read_tensors(file, config).items():
            assert array.dtype == np.float32
            assert relative(array, expected[name]) < (1e-6, 1e-2)[number]


def test_foreign_and_damaged_files_are_refused_by_name(golden, tmp_path):
    cache = tmp_path / "cache"
    folder = copied(golden, tmp_path / "model")
    (folder / "kokoro-v1_0.pth").write_bytes(b"no zip file")
    with pytest.raises(ModelError, match=r"kokoro-v1_0\.pth"):
        load_onnx(folder, cache)
    (folder / "kokoro-v1_0.pth").unlink()
    with pytest.raises(CheckpointError, match="no weights"):
        load_onnx(folder, cache)
    (folder / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"config\.json"):
        load_onnx(folder, cache)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("bert_encoder.bias"), "1 missing: bert_encoder.bias"),
        pytest.param(
            lambda t: t.update(extra=mx.zeros(3)), "1 unexpected: extra", marks=pytest.mark.slow
        ),
        (lambda t: t.update({"bert_encoder.bias": mx.zeros(3)}), "1 misshapen: bert_encoder.bias"),
        pytest.param(
            lambda t: t.update({"bert_encoder.bias": mx.zeros(20, mx.int32)}),
            "bert_encoder.bias are int32",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda t: t.clear(), "word_embeddings.weight is missing", marks=pytest.mark.slow
        ),
    ],
)
def test_another_models_tensors_are_refused(change, message, golden, tmp_path):
    tensors = read_weights(golden.checkpoint / "kokoro-v1_0.pth")
    change(tensors)  # type: ignore[operator]
    shutil.copy(golden.checkpoint / "config.json", tmp_path)
    mx.save_safetensors(str(tmp_path / "kokoro-v1_0.safetensors"), tensors)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_onnx(tmp_path, tmp_path / "cache")
    assert "kokoro-v1_0.safetensors" in str(caught.value)


# ---- processes


def test_a_process_of_its_own_loads_no_mlx_and_starts_no_threads(golden, cache):
    program = """
import sys
from pathlib import Path
import numpy as np
import onnxruntime
def threads():
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else 1
before = threads()  # one of them may be the runtime's, which waits for its end
import kokoro82m
from kokoro82m.onnx_network import load_onnx
network = load_onnx(Path(sys.argv[1]), Path(sys.argv[2]))
tokens, style = [0, 50, 51, 52, 0], np.zeros(256, np.float32)
network.speak(kokoro82m.Request(tokens, style))
assert not [name for name in sys.modules if name.split(".")[0] in ("mlx", "torch", "narrator")]
assert threads() == before
"""
    subprocess.run(
        [sys.executable, "-c", program, str(golden.checkpoint), str(cache)],
        check=True,
        env=ENVIRONMENT,
    )
