"""PyTorch files: tensors are read exactly, and nothing else is read at all."""

from __future__ import annotations

import contextlib
import copy
import pickle
import tracemalloc
import zipfile
from collections import OrderedDict
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from speechbase import pth
from speechbase.errors import CheckpointError


def write(path: Path, pickled: bytes, *, compress=zipfile.ZIP_STORED, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", compress) as archive:
        archive.writestr("x/data.pkl", pickled, zipfile.ZIP_STORED)
        for name, data in entries.items():
            archive.writestr(f"x/{name}", data)
    return path


def tensor_pickle(offset=0, shape=(2, 2), strides=(2, 1), count=4, kind="Float"):
    """{"w": _rebuild_tensor_v2(storage 0, offset, shape, strides, False, OrderedDict())}"""

    def text(string):
        return b"X" + len(string).to_bytes(4, "little") + string.encode()

    def whole(number):
        return b"J" + number.to_bytes(4, "little", signed=True)

    def several(numbers):
        return b"(" + b"".join(map(whole, numbers)) + b"t"

    storage = text("storage") + f"ctorch\n{kind}Storage\n".encode() + text("0") + text("cpu")
    return b"".join(
        [
            b"\x80\x02}" + text("w") + b"ctorch._utils\n_rebuild_tensor_v2\n((" + storage,
            whole(count) + b"tQ" + whole(offset) + several(shape) + several(strides),
            b"\x89ccollections\nOrderedDict\n)RtRs.",
        ]
    )


FOUR = np.arange(4, dtype="<f4").tobytes()


def test_official_file_equals_its_safetensors_copy(golden):
    tensors = pth.load(golden("square").path("checkpoint/audiovae.pth"))
    expected = mx.load(str(golden("square").path("alt/audiovae.safetensors")))
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == expected[name].dtype
        assert mx.array_equal(tensor, expected[name]), name


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    "dtype", [mx.float32, mx.float16, mx.bfloat16, mx.int32, mx.int64, mx.bool_]
)
def test_every_dtype_survives(tmp_path, save_torch, dtype, wrapped):
    tensors = {"a": mx.array([[1, 0, 3], [4, 5, 6]], dtype), "b": mx.array(2, dtype)}
    save_torch(tmp_path / "file.pth", {"state_dict": tensors} if wrapped else tensors)
    loaded = pth.load(tmp_path / "file.pth")
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == dtype
        assert mx.array_equal(loaded[name], tensor)


def test_strided_views_are_followed(tmp_path):
    path = write(tmp_path / "file.pth", tensor_pickle(strides=(1, 2)), **{"data/0": FOUR})
    assert pth.load(path)["w"].tolist() == [[0, 2], [1, 3]]


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    "evil",
    [
        Evil(eval, "(_ for _ in ()).throw(SystemExit)"),
        Evil(exec, "raise SystemExit"),
        Evil(Path.touch, Path("/nowhere")),
        Evil(getattr, OrderedDict, "fromkeys"),
        Evil(__import__, "os"),
    ],
)
def test_hostile_pickle_is_refused_unrun(tmp_path, monkeypatch, evil, protocol):
    for tree in (evil, {"w": evil}, {"state_dict": OrderedDict(w=evil)}):
        path = write(tmp_path / "evil.pth", pickle.dumps(tree, protocol))
        with pytest.raises(CheckpointError, match="refused"):
            pth.load(path)


def test_a_hostile_command_does_not_run(tmp_path):
    mark = tmp_path / "ran"
    for code in (
        f"cos\nsystem\n(Vtouch {mark}\ntR.",
        f"(ios\nsystem\nVtouch {mark}\n.",
        f"(cos\nsystem\nVtouch {mark}\no.",
    ):
        with pytest.raises(CheckpointError, match="refused"):
            pth.load(write(tmp_path / "evil.pth", code.encode()))
        with pytest.raises(CheckpointError, match="refused"):
            pth.load(write(tmp_path / "evil.pth", b"\x80\x02" + code.encode()))
    assert not mark.exists()


@pytest.mark.parametrize(
    "name",
    [
        b"torch\nload",
        b"torch.hub\nload",
        b"torch._utils\n_rebuild_sparse_tensor",
        b"builtins\ndict",
    ],
)
def test_other_names_of_torch_are_refused(tmp_path, name):
    with pytest.raises(CheckpointError, match="it asks for"):
        pth.load(write(tmp_path / "file.pth", b"\x80\x02c" + name + b"\n."))


@pytest.mark.parametrize("value", [3, "text", [1], None, {"deeper": {}}])
def test_anything_but_tensors_is_refused(tmp_path, value):
    path = write(tmp_path / "file.pth", pickle.dumps({"w": value}, 2))
    with pytest.raises(CheckpointError, match="'w' is not a tensor"):
        pth.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": (3, 2)}, "beyond its storage"),
        ({"offset": 1}, "beyond its storage"),
        ({"offset": -1}, "impossible shape"),
        ({"strides": (-2, 1)}, "impossible shape"),
        ({"strides": (1,)}, "impossible shape"),
        ({"count": 5}, "not 5 plain numbers"),
        ({"kind": "Quantized"}, "it asks for"),
    ],
)
def test_tensors_cannot_reach_beyond_their_storage(tmp_path, changes, message):
    path = write(tmp_path / "file.pth", tensor_pickle(**changes), **{"data/0": FOUR})
    with pytest.raises(CheckpointError, match=message):
        pth.load(path)


def test_compressed_storages_are_refused(tmp_path):
    """A zip bomb would need one."""
    path = write(
        tmp_path / "file.pth",
        tensor_pickle(),
        compress=zipfile.ZIP_DEFLATED,
        **{"data/0": FOUR},
    )
    with pytest.raises(CheckpointError, match="compressed"):
        pth.load(path)


def test_huge_memo_index_is_refused(tmp_path):
    path = write(tmp_path / "file.pth", b"\x80\x02}r\xff\xff\xff\x7f.")
    with pytest.raises(CheckpointError, match="memo"):
        pth.load(path)


def test_big_endian_is_refused(tmp_path):
    path = write(tmp_path / "file.pth", tensor_pickle(), byteorder=b"big")
    with pytest.raises(CheckpointError, match="big-endian"):
        pth.load(path)


def test_truncated_file_is_one_error(golden, tmp_path):
    data = golden("square").path("checkpoint/audiovae.pth").read_bytes()
    (tmp_path / "file.pth").write_bytes(data[: len(data) // 2])
    with pytest.raises(CheckpointError, match="truncated, or older than PyTorch"):
        pth.load(tmp_path / "file.pth")


@pytest.mark.parametrize("step", [997, pytest.param(97, marks=pytest.mark.slow)])
def test_every_truncation_of_a_pickle_is_an_error(golden, tmp_path, step):
    with zipfile.ZipFile(golden("square").path("checkpoint/audiovae.pth")) as archive:
        pickled = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    for length in range(0, len(pickled) - 1, step):
        with pytest.raises(CheckpointError):
            pth.load(write(tmp_path / "file.pth", pickled[:length]))


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_altered_bytes_of_a_pickle_give_tensors_or_an_error(golden, tmp_path, count):
    with zipfile.ZipFile(golden("square").path("checkpoint/audiovae.pth")) as archive:
        pickled = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(count):
        altered = bytearray(pickled)
        altered[generator.integers(min(600, len(altered)))] = generator.integers(256)
        try:
            pth.load(write(tmp_path / "file.pth", bytes(altered)))
        except CheckpointError:
            refused += 1
    assert refused == count  # its storages are not there


def test_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="no such file"):
        pth.load(tmp_path / "file.pth")


def test_checksums_see_a_changed_number(tmp_path):
    first = write(tmp_path / "a.pth", tensor_pickle(), **{"data/0": FOUR})
    second = write(tmp_path / "b.pth", tensor_pickle(), **{"data/0": FOUR[::-1]})
    assert pth.checksums(first) != pth.checksums(second)


def test_a_compressed_pickle_is_refused(tmp_path):
    path = tmp_path / "file.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", tensor_pickle())
        archive.writestr("x/data/0", FOUR)
    with pytest.raises(CheckpointError, match="compressed"):
        pth.load(path)


@pytest.mark.parametrize(
    "pickled",
    [b"\x80\x02}()" + b"\x85" * 3_000_000 + b"K\x01u.", b"\x80\x02)" + b"\x85" * 200_000 + b"Q."],
    ids=["as a key", "as a storage"],
)
def test_tuples_without_end_are_refused(tmp_path, pickled):
    """Hashing or showing one would end the process."""
    with pytest.raises(CheckpointError, match="nests tuples"):
        pth.load(write(tmp_path / "file.pth", pickled))


def test_a_tensor_larger_than_its_storage_is_refused(tmp_path):
    """Strides of zero would repeat four numbers for gigabytes."""
    pickled = tensor_pickle(shape=(2_000_000_000,), strides=(0,))
    with pytest.raises(CheckpointError, match="reaches beyond"):
        pth.load(write(tmp_path / "file.pth", pickled, **{"data/0": FOUR}))


# -- small files that would be large in memory


@pytest.fixture
def bounded():
    """No more than so many bytes of Python's and numpy's, and of MLX's."""
    mx.clear_cache()
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24_000_000
    assert mx.get_peak_memory() - before < 4_000_000


MEGABYTE = bytes(1 << 20)
LENGTH = len(MEGABYTE) // 4


def text(string):
    return b"X" + len(string).to_bytes(4, "little") + string.encode()


def several(pickles):
    """A dict of many tensors, of pickles as `tensor_pickle` makes them."""
    bodies = [text(f"w{n}") + data[len(b"\x80\x02}" + text("w")) : -2] for n, data in pickles]
    return b"\x80\x02}(" + b"".join(bodies) + b"u."


def test_many_tensors_of_one_storage_are_refused(tmp_path, bounded):
    pickles = [
        (n, tensor_pickle(offset=n, shape=(LENGTH - n,), strides=(1,), count=LENGTH))
        for n in range(500)
    ]
    path = write(tmp_path / "file.pth", several(pickles), **{"data/0": MEGABYTE})
    with pytest.raises(CheckpointError, match=r"would take 5\d+ bytes, the file has 1"):
        pth.load(path)


def test_many_names_of_one_tensor_are_one_array(tmp_path, bounded):
    same = tensor_pickle(shape=(LENGTH,), strides=(1,), count=LENGTH)
    path = write(
        tmp_path / "file.pth", several([(n, same) for n in range(500)]), **{"data/0": MEGABYTE}
    )
    assert len(pth.load(path)) == 500


@pytest.mark.parametrize("name", ["byteorder", "data/0", "data.pkl"])
def test_what_swells_when_unpacked_is_not_unpacked(tmp_path, bounded, name):
    path = tmp_path / "file.pth"
    entries = {"data.pkl": tensor_pickle(), "data/0": FOUR, "byteorder": b"little"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, data in entries.items():
            if other != name:
                archive.writestr(f"x/{other}", data, zipfile.ZIP_STORED)
        with archive.open(f"x/{name}", "w") as file:
            for _ in range(30):
                file.write(MEGABYTE)
    with pytest.raises(CheckpointError, match="compressed"):
        pth.load(path)


def test_sizes_that_a_directory_makes_up_are_not_allocated(tmp_path, bounded):
    path = tmp_path / "file.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "x/data.pkl", tensor_pickle(count=1 << 30, shape=(1 << 28, 4), strides=(4, 1))
        )
        archive.writestr("x/data/0", FOUR)
        archive.filelist[-1].file_size = archive.filelist[-1].compress_size = 1 << 32
    with pytest.raises(CheckpointError, match="would take 4294967296 bytes"):
        pth.load(path)


def test_entries_that_lie_in_one_place_are_refused(tmp_path, bounded):
    path = tmp_path / "file.pth"
    pickles = [
        (n, tensor_pickle(shape=(LENGTH,), strides=(1,), count=LENGTH).replace(
            text("0"), text(str(n)))) for n in range(500)
    ]  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", several(pickles))
        archive.writestr("x/data/0", MEGABYTE)
        for n in range(1, 500):
            entry = copy.copy(archive.filelist[-1])
            entry.filename = f"x/data/{n}"
            archive.filelist.append(entry)
    with pytest.raises(CheckpointError, match="would take 524288000 bytes"):
        pth.load(path)


def ordered(arguments: bytes) -> bytes:
    """Memo 0 is OrderedDict, memo 1 a tuple of what `arguments` makes."""
    return b"\x80\x02ccollections\nOrderedDict\nq\x00" + arguments + b"\x85q\x01"


PAIRS = b"](" + b"".join(text(str(n)) + b"N\x86" for n in range(5000)) + b"e"


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (ordered(PAIRS) + b"](" + b"h\x00h\x01R" * 100_000 + b"e.", "damaged"),
        (b"\x80\x02)" + b"q\x00h\x00\x86" * 60 + b"q\x01}h\x01Ns.", "nests tuples"),
        (b"\x80\x02(" + b"N" * 9000 + b"t.", "a tuple of 9000"),
        (b"\x80\x02" + b"}" * 1_500_000 + b".", "more than 10000 things"),
        (b"\x80\x02}" + b"K\x01Ns" * 400_000 + b".", "more than 200000 opcodes"),
        (b"\x80\x02}K\x01\x85Ns.", "not a name"),
        (b"\x80\x02}(K\x01", "no end"),
        (b"\x80\x02s.", "takes what is not there"),
        (b"\x80\x02u.", "takes what is not there"),
        (b"\x80\x02]K\x01Ns.", "something else for a dict"),
        (b"\x80\x02}Na.", "something else for a list"),
        (b"\x80\x02K\x01)R.", "calls something that is not a function"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "damaged"),
    ],
    ids=[
        "copies of a list", "tuples of tuples", "a long tuple", "a high stack", "opcodes",
        "a tuple as a key",
        "no end", "nothing to set", "no mark", "a list for a dict", "a dict for a list",
        "a number called", "a string cut off",
    ],
)  # fmt: skip
def test_a_pickle_that_would_fill_memory_or_never_end_is_refused(
    tmp_path, bounded, pickled, message
):
    with pytest.raises(CheckpointError, match=message):
        pth.load(write(tmp_path / "file.pth", pickled))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (2,) * 9, "strides": (0,) * 9},
        {"shape": (0, 2**31 - 1), "strides": (2**31 - 1, 2**31 - 1)},
        {"shape": (0,), "strides": (1,), "offset": 2**31 - 1},
    ],
)
def test_odd_shapes_are_read_or_refused(tmp_path, bounded, changes):
    path = write(tmp_path / "file.pth", tensor_pickle(**changes), **{"data/0": FOUR})
    with contextlib.suppress(CheckpointError):
        assert pth.load(path)["w"].size == 0


def test_what_is_no_file_is_an_error(tmp_path):
    with pytest.raises(CheckpointError, match="not a file"):
        pth.load(tmp_path)
    with pytest.raises(CheckpointError, match="not a file"):
        pth.checksums(tmp_path)


class TestNested:
    """Dicts of tensors by name, as speakers are stored."""

    def test_each_has_its_tensors(self, tmp_path, save_torch):
        a, b = mx.array([[1.0, 2.0]]), mx.array([3, 4], mx.int32)
        save_torch(tmp_path / "file.pt", {"Ada": {"a.b": a, "c": b}, "Ada.a": {"b": b}, "Bo": {}})
        found = pth.load_nested(tmp_path / "file.pt")
        assert {name: list(inner) for name, inner in found.items()} == {
            "Ada": ["a.b", "c"],
            "Ada.a": ["b"],
            "Bo": [],
        }
        assert mx.array_equal(found["Ada"]["a.b"], a)
        assert mx.array_equal(found["Ada.a"]["b"], b)

    def test_what_is_no_dict_of_dicts_is_refused(self, tmp_path, save_torch):
        save_torch(tmp_path / "file.pt", {"Ada": mx.array([1.0])})
        with pytest.raises(CheckpointError, match="'Ada' is not a dict of tensors"):
            pth.load_nested(tmp_path / "file.pt")

    def test_what_reaches_beyond_its_storage_is_refused(self, tmp_path):
        nested = tensor_pickle(shape=(5, 5)).replace(b"\x80\x02}", b"\x80\x02}X\x01\x00\x00\x00a}")
        path = write(tmp_path / "file.pt", nested.removesuffix(b"s.") + b"ss.", **{"data/0": FOUR})
        with pytest.raises(CheckpointError, match=r"a: w \(0\) reaches beyond its storage"):
            pth.load_nested(path)

    def test_one_dict_under_many_names_is_bounded(self, tmp_path, save_torch, monkeypatch):
        monkeypatch.setattr(pth, "MAX_NESTED_TENSORS", 10)
        inner = {"a": mx.array([1.0]), "b": mx.array([1.0])}
        save_torch(tmp_path / "file.pt", dict.fromkeys("abcdef", inner))
        with pytest.raises(CheckpointError, match="more than 10 tensors"):
            pth.load_nested(tmp_path / "file.pt")


class TestArray:
    """A single tensor, as Kokoro's voices are stored; read without MLX."""

    @pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
    def test_it_is_an_array_of_numpy(self, tmp_path, save_torch, dtype):
        tensor = mx.array([[0.5, -2.25], [3.0, 4.0]]).astype(dtype)
        save_torch(tmp_path / "file.pt", tensor)
        array = pth.load_array(tmp_path / "file.pt")
        assert array.dtype == (np.float16 if dtype == mx.float16 else np.float32)
        assert array.tolist() == [[0.5, -2.25], [3.0, 4.0]]

    def test_many_tensors_are_refused(self, tmp_path, save_torch):
        save_torch(tmp_path / "file.pt", {"w": mx.array([1.0])})
        with pytest.raises(CheckpointError, match="no single tensor"):
            pth.load_array(tmp_path / "file.pt")

    def test_what_reaches_beyond_its_storage_is_refused(self, tmp_path):
        alone = tensor_pickle(shape=(5, 5)).replace(b"}X\x01\x00\x00\x00w", b"", 1)
        path = write(tmp_path / "file.pt", alone.removesuffix(b"s.") + b".", **{"data/0": FOUR})
        with pytest.raises(CheckpointError, match="tensor reaches beyond its storage"):
            pth.load_array(path)
