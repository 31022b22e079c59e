"""References: of clips, by hand, stored; and files not trusted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2 import onnxfile, reference
from cosyvoice2.reference import SPEAKERS, TOKENIZER, Encoders, Reference, read_speakers
from speechbase.errors import AudioError, CheckpointError, RequestError
from tests.cosyvoice2.conftest import TINY, CosyGolden


@pytest.fixture(scope="module")
def encoders(golden: CosyGolden) -> Encoders:
    return Encoders(golden.checkpoint, TINY)


@pytest.fixture
def folder(golden: CosyGolden, tmp_path: Path) -> Path:
    """One whose encoders may be damaged."""
    for name in (TOKENIZER, SPEAKERS):
        shutil.copy(golden.checkpoint / name, tmp_path)
    return tmp_path


def voice(seconds: float = 1.0, rate: int = 24_000) -> np.ndarray:
    times = np.arange(int(seconds * rate)) / rate
    return (0.3 * np.sin(2 * np.pi * 200 * times) * np.sin(9 * times)).astype(np.float32)


class TestClips:
    def test_samples_say_what_their_file_says(self, encoders, golden):
        import soundfile

        path = golden.folder / "wav" / f"{golden.clips[-1]}.wav"
        samples, rate = soundfile.read(path, dtype="float32")
        one, two = encoders.encode(path), encoders.encode(samples, rate)
        assert np.array_equal(one.tokens, two.tokens)
        assert np.array_equal(one.mel, two.mel)

    def test_the_shortest_clip_has_tokens(self, encoders):
        made = encoders.encode(voice(0.1), 24_000)
        assert 1 <= len(made.tokens) <= 3

    @pytest.mark.parametrize(
        ("samples", "rate", "said"),
        [
            (voice(1, 8000), 8000, "8000 Hz; a voice is heard from 16000 Hz on"),
            (voice(30.1), 24_000, r"30\.1 s long; 30 are the most, 3 to 10 are best"),
            (np.zeros(24_000, np.float32), 24_000, "is silent"),
            (np.full(24_000, np.nan, np.float32), 24_000, "not numbers"),
            (voice(0.05), 24_000, "50 ms of audio is too short"),
            (voice(), None, "sample_rate is None"),
        ],
    )
    def test_what_is_no_clip_is_said(self, encoders, samples, rate, said):
        with pytest.raises(AudioError, match=said):
            encoders.encode(samples, rate)

    @pytest.mark.parametrize("package", ["onnxruntime", "kaldi_native_fbank"])
    def test_what_is_not_installed_is_said_when_a_clip_comes(self, golden, monkeypatch, package):
        monkeypatch.setitem(sys.modules, package, None)
        encoders = Encoders(golden.checkpoint, TINY)
        with pytest.raises(RequestError, match="pip install onnxruntime kaldi-native-fbank"):
            encoders.encode(voice(), 24_000)


class TestByHand:
    def test_it_holds_numpy_arrays(self):
        made = Reference([1, 2], mx.zeros((4, 80), mx.bfloat16), [0.5] * 192)  # type: ignore[arg-type]
        assert made.tokens.dtype == np.int32
        assert made.mel.dtype == made.speaker.dtype == np.float32
        assert Reference([], np.zeros((0, 80)), np.ones(192)).tokens.shape == (0,)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"tokens": [[1, 2]]}, r"tokens: expected shape \(n,\); found \(1, 2\)"),
            ({"tokens": [1.5, 2]}, "tokens: expected whole numbers, found float64"),
            ({"tokens": [True, False]}, "tokens: expected whole numbers, found bool"),
            ({"tokens": [-1, 2]}, "tokens: ids are from 0 on, found -1 to 2"),
            ({"tokens": [2**31, 2]}, "tokens: ids are from 0 on"),
            ({"tokens": [1]}, r"mel: expected shape \(2, 80\), two frames of 80 for each token"),
            ({"mel": np.zeros((80, 4))}, r"mel: expected shape \(4, 80\)"),
            ({"mel": np.full((4, 80), np.inf)}, "mel: holds values that are not numbers"),
            ({"mel": np.full((4, 80), 1e300)}, "mel: holds values that are not numbers"),
            ({"speaker": np.zeros((1, 192))}, r"speaker: expected shape \(192,\)"),
            ({"speaker": "Ada"}, "speaker: expected numbers"),
            ({"speaker": [[1], [2, 3]]}, "speaker: expected an array"),
        ],
    )
    def test_what_is_no_reference_is_said(self, wrong, said):
        right = {"tokens": [1, 2], "mel": np.zeros((4, 80)), "speaker": np.zeros(192)}
        with pytest.raises(RequestError, match=said):
            Reference(**{**right, **wrong})


def field(number: int, value: bytes | int) -> bytes:
    """Of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


ELSEWHERE = (
    field(2, 1) + field(8, b"x") + field(13, field(1, b"location") + field(2, b"/etc/passwd"))
)
LOCATED = field(2, 1) + field(14, 1)


def attribute(tensor: bytes, number: int = 5) -> bytes:
    return field(1, field(4, b"Constant") + field(5, field(1, b"value") + field(number, tensor)))


class TestFiles:
    """What stands in them is not trusted."""

    @pytest.mark.parametrize(
        "graph",
        [
            field(5, ELSEWHERE),
            field(5, LOCATED),
            field(15, field(1, ELSEWHERE)),
            field(15, field(2, LOCATED)),
            attribute(ELSEWHERE),
            attribute(ELSEWHERE, 10),
            attribute(field(1, LOCATED), 22),
            attribute(field(5, ELSEWHERE), 6),  # in a graph within a graph
            attribute(attribute(field(5, LOCATED), 11), 6),
        ],
    )
    def test_numbers_that_lie_elsewhere_are_refused(self, folder, graph):
        path = folder / TOKENIZER
        onnxfile.check(path, 1 << 20)
        path.write_bytes(path.read_bytes() + field(7, graph))
        with pytest.raises(CheckpointError, match="names other files to read its numbers from"):
            Encoders(folder, TINY).encode(voice(), 24_000)

    @pytest.mark.parametrize("place", [20, 25])
    def test_also_outside_of_the_graph(self, folder, place):
        inner = field(1, field(5, ELSEWHERE)) if place == 20 else field(7, attribute(LOCATED)[2:])
        path = folder / SPEAKERS
        path.write_bytes(path.read_bytes() + field(place, inner))
        with pytest.raises(CheckpointError, match="names other files"):
            onnxfile.check(path, 1 << 20)

    @pytest.mark.parametrize("name", [TOKENIZER, SPEAKERS])
    @pytest.mark.parametrize(
        ("damage", "said"),
        [
            (lambda data: b"", "damaged"),
            (lambda data: data[: len(data) // 2], "damaged: it is cut off"),
            (lambda data: b"<html>not found</html>", "damaged"),
            (lambda data: bytes(1000), "damaged|cannot run it"),
            (lambda data: b"\xff" * 1000, "damaged"),
            (lambda data: data[:200] + b"\x07" * 9 + data[209:], "damaged|cannot run it"),
        ],
    )
    def test_damage_is_said(self, folder, name, damage, said):
        path = folder / name
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(CheckpointError, match=rf"{name}: ({said})"):
            Encoders(folder, TINY).encode(voice(), 24_000)

    def test_a_missing_one_is_said(self, folder):
        (folder / SPEAKERS).unlink()
        with pytest.raises(CheckpointError, match=r"campplus\.onnx: no such file"):
            Encoders(folder, TINY).encode(voice(), 24_000)

    def test_a_larger_one_is_refused(self, folder, monkeypatch):
        monkeypatch.setitem(reference.MAX_FILE_BYTES, TOKENIZER, 1000)
        with pytest.raises(CheckpointError, match=r"refused: it has .* bytes, 1000 would do"):
            Encoders(folder, TINY).encode(voice(), 24_000)

    def test_the_other_network_is_said(self, folder):
        shutil.copy(folder / SPEAKERS, folder / TOKENIZER)
        with pytest.raises(CheckpointError, match=r"it has no input feats tensor\(float\)"):
            Encoders(folder, TINY).encode(voice(), 24_000)

    @pytest.mark.parametrize(
        ("name", "made", "said"),
        [
            (
                TOKENIZER,
                np.array([[0, TINY.flow.vocab_size]], np.int32),
                f"its tokens are not from 0 to {TINY.flow.vocab_size - 1}",
            ),
            (
                TOKENIZER,
                np.array([[-1]], np.int32),
                f"its tokens are not from 0 to {TINY.flow.vocab_size - 1}",
            ),
            (TOKENIZER, np.array([[0.5]], np.float32), "is not tokens"),
            (TOKENIZER, np.zeros((1, 0), np.int32), "is not tokens"),
            (TOKENIZER, np.zeros((1, 5000), np.int32), "is not tokens"),
            (SPEAKERS, np.full((1, 192), np.nan, np.float32), "not a vector of 192"),
            (SPEAKERS, np.zeros((1, 512), np.float32), "not a vector of 192"),
        ],
    )
    def test_strange_results_are_said(self, encoders, monkeypatch, name, made, said):
        plain = encoders._run

        def run(asked: str, inputs: Any) -> np.ndarray:
            return made if asked == name else plain(asked, inputs)

        monkeypatch.setattr(encoders, "_run", run)
        with pytest.raises(CheckpointError, match=f"{name}: .*{said}"):
            encoders.encode(voice(), 24_000)

    def test_too_many_parts_are_not_walked(self, folder, monkeypatch):
        monkeypatch.setattr(onnxfile, "MAX_FIELDS", 10)
        with pytest.raises(CheckpointError, match="too many parts"):
            onnxfile.check(folder / TOKENIZER, 1 << 20)


class TestStored:
    def entry(self, tokens: int = 3, frames: int = 7) -> dict[str, mx.array]:
        """As the official code stores one: lengths, and the vector and the tokens twice."""
        ids, vector = mx.arange(tokens).astype(mx.int32)[None], mx.ones((1, 192))
        return {
            "prompt_text": mx.array([[5, 6]], mx.int32),
            "prompt_text_len": mx.array([2], mx.int32),
            "llm_prompt_speech_token": ids,
            "llm_prompt_speech_token_len": mx.array([tokens], mx.int32),
            "flow_prompt_speech_token": ids,
            "flow_prompt_speech_token_len": mx.array([tokens], mx.int32),
            "prompt_speech_feat": mx.ones((1, frames, 80)),
            "prompt_speech_feat_len": mx.array([frames], mx.int32),
            "llm_embedding": vector,
            "flow_embedding": vector,
        }

    def test_the_official_one_has_its_vector(self, golden):
        found = read_speakers(golden.checkpoint / "spk2info.pt")
        name = golden.facts("tts_sft")["spk_id"]
        assert list(found) == [name]
        assert found[name].vector.shape == (192,)
        assert found[name].reference is found[name].text is None

    @pytest.mark.parametrize(("tokens", "frames", "kept"), [(3, 7, 3), (4, 6, 3), (3, 6, 3)])
    def test_one_of_a_clip_has_text_and_reference(self, tmp_path, save_torch, tokens, frames, kept):
        save_torch(tmp_path / "spk2info.pt", {"Ada": self.entry(tokens, frames)})
        ada = read_speakers(tmp_path / "spk2info.pt")["Ada"]
        assert ada.text is not None
        assert ada.text.tolist() == [5, 6]
        assert ada.reference is not None
        assert ada.reference.tokens.tolist() == list(range(kept))
        assert ada.reference.mel.shape == (2 * kept, 80)
        assert np.array_equal(ada.vector, ada.reference.speaker)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"prompt_text": None}, "prompt_text is missing"),
            ({"flow_embedding": None}, "embedding is missing"),
            ({"flow_embedding": mx.ones((1, 10))}, "speaker: expected shape"),
            ({"prompt_speech_feat": mx.ones((1, 7, 90))}, "prompt_speech_feat: expected shape"),
            ({"prompt_speech_feat": mx.ones((7, 80))}, r"expected shape \(1, …\)"),
            ({"llm_prompt_speech_token": mx.array([[9]], mx.int32)}, "are not one"),
            ({"prompt_text": mx.array([[-1]], mx.int32)}, "prompt_text: ids are from 0 on"),
        ],
    )
    def test_one_that_lacks_something_is_named(self, tmp_path, save_torch, change, said):
        entry = {k: v for k, v in {**self.entry(), **change}.items() if v is not None}
        save_torch(tmp_path / "spk2info.pt", {"Ada": entry})
        with pytest.raises(CheckpointError, match=f"spk2info.pt: speaker Ada: .*{said}"):
            read_speakers(tmp_path / "spk2info.pt")
