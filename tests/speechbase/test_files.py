"""Files of tensors are read and written without MLX, as MLX reads and writes them."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from speechbase import files, pth
from speechbase.errors import CheckpointError

ARRAYS = {
    "matrix": np.array([[0.5, -2.25, 1e-20]], np.float32),
    "number": np.array(3.0, np.float32),
    "nothing": np.zeros((0, 2), np.float32),
}


def test_arrays_are_written_as_mlx_and_numpy_read_them(tmp_path):
    file = tmp_path / "arrays.safetensors"
    files.write_arrays(file, ARRAYS)
    for tensors in (files.read(file), files.read_arrays(file)):
        assert tensors.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert np.array_equal(np.array(tensors[name]), array)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16, mx.int32])
def test_arrays_of_mlx_are_read(dtype, tmp_path):
    file = tmp_path / "arrays.safetensors"
    mx.save_safetensors(str(file), {"a": mx.array([[1, -2], [3, 4]]).astype(dtype)})
    array = files.read_arrays(file)["a"]
    assert array.tolist() == [[1, -2], [3, 4]]
    kinds = {mx.float16: np.float16, mx.int32: np.int32}
    assert array.dtype == kinds.get(dtype, np.float32)


def test_a_type_that_numpy_does_not_have_is_named(tmp_path):
    file = tmp_path / "arrays.safetensors"
    mx.save_safetensors(str(file), {"a": mx.array([1 + 2j])})
    with pytest.raises(CheckpointError, match=r"arrays\.safetensors: a is of the type C64"):
        files.read_arrays(file)


def test_a_damaged_file_is_refused(tmp_path):
    file = tmp_path / "arrays.safetensors"
    files.write_arrays(file, ARRAYS)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="truncated"):
        files.read_arrays(file)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
def test_nested_tensors_are_read_as_arrays(dtype, tmp_path, save_torch):
    save_torch(tmp_path / "file.pt", {"part": {"a": mx.array([0.5, -2.0]).astype(dtype)}})
    array = pth.load_nested_arrays(tmp_path / "file.pt")["part"]["a"]
    assert (array.dtype, array.tolist()) == (np.float32, [0.5, -2.0])
