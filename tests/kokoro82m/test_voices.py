"""Voices are read from their three kinds of files, blended, and picked from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import kokoro82m
from speechbase.errors import CheckpointError, RequestError

Save = Callable[[Path, Any], None]


@pytest.fixture
def folder(tmp_path: Path, save_torch: Save) -> Path:
    """Three voices; all numbers of row n of the k-th are n + k / 10."""
    voices = tmp_path / "voices"
    voices.mkdir()
    rows = np.arange(510, dtype=np.float32)[:, None, None].repeat(256, axis=2)
    save_torch(voices / "af_ann.pt", mx.array(rows))
    np.save(voices / "am_bob.npy", (rows + 0.1)[:, 0])
    (rows + np.float32(0.2)).tofile(voices / "bf_cid.bin")
    return tmp_path


def test_all_kinds_of_files_are_read(folder):
    assert kokoro82m.voice_names(folder) == ["af_ann", "am_bob", "bf_cid"]
    for n, name in enumerate(kokoro82m.voice_names(folder)):
        voice = kokoro82m.load_voice(folder, name)
        assert (voice.shape, voice.dtype) == ((510, 256), np.float32)
        np.testing.assert_allclose(voice[:, 7], np.arange(510) + n / 10, atol=1e-4)


def test_a_row_is_picked_by_the_number_of_phonemes(folder):
    voice = kokoro82m.load_voice(folder, "af_ann")
    assert kokoro82m.style_row(voice, "abc").tolist() == [2.0] * 256
    with pytest.raises(RequestError, match="split the text"):
        kokoro82m.style_row(voice, "a" * 511)
    with pytest.raises(RequestError):
        kokoro82m.style_row(voice, "")


def test_a_blend_is_the_weighted_mean(folder):
    blend = kokoro82m.blend_voices(folder, {"af_ann": 3, "bf_cid": 1})
    np.testing.assert_allclose(blend[:, 0], np.arange(510) + 0.05, atol=1e-4)


@pytest.mark.parametrize(
    "weights", [{}, {"af_ann": 0.0}, {"af_ann": -1.0, "am_bob": 3.0}, {"af_ann": float("nan")}]
)
def test_a_blend_without_weight_is_refused(folder, weights):
    with pytest.raises(RequestError, match="above 0"):
        kokoro82m.blend_voices(folder, weights)


@pytest.mark.parametrize("name", ["af_anne", "../voices/af_ann", ""])
def test_an_unknown_voice_is_named_with_the_nearest(folder, name):
    with pytest.raises(RequestError, match="no voice named") as caught:
        kokoro82m.load_voice(folder, name)
    assert "af_ann" in str(caught.value)


def test_a_folder_without_voices_says_so(tmp_path):
    assert kokoro82m.voice_names(tmp_path) == []
    with pytest.raises(RequestError, match="there are: none"):
        kokoro82m.load_voice(tmp_path, "af_heart")


def write_broken(path: Path, save_torch: Save, kind: str) -> None:
    match kind:
        case "text":
            path.write_text("<html>not found</html>")
        case "empty":
            path.write_bytes(b"")
        case "short":
            np.zeros((509, 256), np.float32).tofile(path)
        case "torn":
            path.write_bytes(bytes(1001))
        case "objects":
            np.save(path, np.array([{}], object), allow_pickle=True)
        case "archive":
            with path.open("wb") as file:
                np.savez(file, voice=np.zeros((510, 256), np.float32))
        case "endless":
            np.save(path, np.zeros((510, 256), np.float32))
            header = path.read_bytes().replace(b"(510, 256), ", b"(510000000,),")[:128]
            path.write_bytes(header)
        case "integers":
            np.save(path, np.zeros((510, 256), np.int32))
        case "infinite":
            np.save(path, np.full((510, 256), np.inf, np.float32))
        case "turned":
            save_torch(path, mx.zeros((256, 510)))
        case "dict":
            save_torch(path, {"voice": mx.zeros((510, 1, 256))})


@pytest.mark.parametrize(
    "file",
    [
        "text.pt", "empty.pt", "turned.pt", "dict.pt", "text.npy", "empty.npy", "objects.npy",
        "archive.npy", "endless.npy", "integers.npy", "infinite.npy", "short.bin", "torn.bin",
        "empty.bin",
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_file_is_named_in_a_line(tmp_path, save_torch, file):
    (tmp_path / "voices").mkdir()
    path = tmp_path / "voices" / file
    write_broken(path, save_torch, path.stem)
    with pytest.raises(CheckpointError) as caught:
        kokoro82m.load_voice(tmp_path, path.stem)
    assert file in str(caught.value)
    assert "\n" not in str(caught.value)
