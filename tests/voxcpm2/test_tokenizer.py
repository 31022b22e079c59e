"""Text to ids: the official cases exactly, and what the files may look like."""

from __future__ import annotations

import json
import shutil

import pytest

from speechbase.errors import CheckpointError
from voxcpm2.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(golden):
    return Tokenizer.load(golden("base").checkpoint)


def test_every_official_case_exactly(golden, tokenizer):
    cases = golden("base").index["tokenizer"]["cases"]
    assert len(cases) >= 42
    assert [(case["text"], tokenizer.encode(case["text"])) for case in cases] == [
        (case["text"], case["ids"]) for case in cases
    ]


def test_behaves_as_transformers_5_where_the_majors_differ(golden, tokenizer):
    cases = [c for c in golden("base").index["tokenizer"]["cases"] if "ids_transformers4" in c]
    assert cases
    for case in cases:
        assert tokenizer.encode(case["text"]) == case["ids"] != case["ids_transformers4"]


def test_no_bos(tokenizer):
    assert tokenizer.encode("") == []
    assert 1 not in tokenizer.encode("hello")


def test_auto_map_is_not_followed(golden, tmp_path):
    directory = golden("base").assemble(tmp_path / "checkpoint")
    shutil.copyfile(
        golden("base").path("alt/tokenizer_config.auto_map.json"),
        directory / "tokenizer_config.json",
    )
    assert "auto_map" in json.loads((directory / "tokenizer_config.json").read_text())
    loaded = Tokenizer.load(directory)
    for case in golden("base").index["tokenizer"]["cases"]:
        assert loaded.encode(case["text"]) == case["ids"]


def altered(golden, tmp_path, **changes):
    directory = golden("base").assemble(tmp_path / "checkpoint")
    file = directory / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return Tokenizer.load(directory)


def test_without_legacy_only_the_first_piece_gets_a_space(golden, tmp_path, tokenizer):
    """`legacy` decides, as in transformers 5, whether text after a marker starts with "▁"."""
    text = "a<|audio_start|>b"
    assert tokenizer.encode(text) == [126, 101, 51, 26]
    assert altered(golden, tmp_path, legacy=False).encode(text) == [126, 101, 26]


def test_works_without_tokenizer_config(golden, tmp_path):
    directory = golden("base").assemble(tmp_path / "checkpoint")
    (directory / "tokenizer_config.json").unlink()
    loaded = Tokenizer.load(directory)
    assert loaded.encode("<s>hello") == [1, *loaded.encode("<s>hello")[1:]]
    assert loaded.encode("今天天气很好") == [428, 75, 85, 79, 76]


def test_missing_tokenizer_is_named(golden, tmp_path):
    directory = golden("base").assemble(tmp_path / "checkpoint")
    (directory / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing"):
        Tokenizer.load(directory)


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"model": {"vocab": {"a": 0}, "merges": ["b c"]}}', '{"model": 3}']
)
def test_damaged_tokenizer_is_one_error(golden, tmp_path, text):
    directory = golden("base").assemble(tmp_path / "checkpoint")
    (directory / "tokenizer.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        Tokenizer.load(directory)


def whole(vocab=None, merges=(), **more):
    return {
        "model": {"vocab": {"a": 0, "b": 1} if vocab is None else vocab, "merges": merges, **more}
    }


@pytest.mark.parametrize(
    "data",
    [
        whole({"a": -1}),
        whole({"a": 2**32}),
        whole({"a": 1.5}),
        whole({"a": 1, "b": 1}),
        whole({"\ud800": 1}),
        whole(["a"]),
        whole(merges=["a"]),
        whole(merges=[["a", 3]]),
        whole(merges=3),
        whole() | {"added_tokens": [{"id": "x", "content": "c"}]},
        whole() | {"added_tokens": [{"id": 7}]},
        whole() | {"added_tokens": [{"id": 7, "content": 3}]},
        whole() | {"added_tokens": [{"id": 7, "content": "\ud800"}]},
        whole() | {"added_tokens": [{"id": 7, "content": "c", "lstrip": "yes"}]},
    ],
    ids=lambda data: str(data)[:60],
)
def test_what_the_library_would_choke_on_is_one_error(golden, tmp_path, data):
    directory = golden("base").assemble(tmp_path / "checkpoint")
    (directory / "tokenizer_config.json").unlink()
    (directory / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: not a BPE tokenizer") as caught:
        Tokenizer.load(directory)
    assert str(caught.value).isprintable()
