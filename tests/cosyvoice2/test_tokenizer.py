"""Text to ids: what the files may look like."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cosyvoice2.tokenizer import TAGS, Tokenizer
from speechbase.errors import CheckpointError
from tests.cosyvoice2.conftest import CosyGolden


@pytest.fixture
def folder(golden: CosyGolden, tmp_path: Path) -> Path:
    """The tokenizer's files, to be damaged."""
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):
        shutil.copyfile(golden.checkpoint / "CosyVoice-BlankEN" / name, tmp_path / name)
    return tmp_path


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(change(data) or data))


def test_tags_have_the_official_ids(golden, folder):
    ids = json.loads((golden.folder / "text.json").read_text("utf-8"))["special_ids"]
    tokenizer = Tokenizer.load(folder)
    assert set(TAGS) < ids.keys()
    assert {tag: tokenizer.encode(tag) for tag in ids} == {tag: [ids[tag]] for tag in ids}
    assert tokenizer.end_of_prompt == ids["<|endofprompt|>"]


def test_tags_follow_the_vocabulary_without_tokenizer_config(folder):
    (folder / "tokenizer_config.json").unlink()
    vocabulary = json.loads((folder / "vocab.json").read_text("utf-8"))
    assert Tokenizer.load(folder).encode("".join(TAGS)) == [
        len(vocabulary) + place for place in range(len(TAGS))
    ]


def test_windows_line_ends_are_none_of_a_merge(folder):
    before = Tokenizer.load(folder).encode("Hello world")
    text = (folder / "merges.txt").read_text("utf-8")
    (folder / "merges.txt").write_bytes(text.replace("\n", "\r\n").encode())
    assert Tokenizer.load(folder).encode("Hello world") == before


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=rf"{name} is missing"):
        Tokenizer.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda vocab: vocab | {"!": -1},
        lambda vocab: vocab | {"!": 2**40},
        lambda vocab: vocab | {"!": 1},
        lambda vocab: vocab | {"!": 0.5},
        lambda vocab: vocab | {"!": True},
        lambda vocab: vocab | {"!": None},
        lambda vocab: {entry: number for entry, number in vocab.items() if entry != "!"},
        lambda vocab: {("!!" if entry == "!" else entry): n for entry, n in vocab.items()},
        lambda vocab: vocab | {"\ud800": len(vocab)},
        lambda vocab: {"!": 0},
        lambda vocab: ["!"],
    ],
)
def test_a_vocabulary_that_the_library_would_choke_on_is_one_error(folder, change):
    changed(folder / "vocab.json", change)
    with pytest.raises(CheckpointError, match=r"vocab\.json: ") as caught:
        Tokenizer.load(folder)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("merge", ["he", "he he he", "nothing here", "t \ud7ff\u2028"])
def test_a_merge_that_is_none_is_one_error(folder, merge):
    with (folder / "merges.txt").open("a", encoding="utf-8") as file:
        file.write(merge + "\n")
    with pytest.raises(CheckpointError, match=r"merges\.txt: not of a tokenizer") as caught:
        Tokenizer.load(folder)
    assert str(caught.value).isprintable()


def test_nothing_is_no_entry_to_merge(folder):
    changed(folder / "vocab.json", lambda vocab: vocab | {"": len(vocab)})
    (folder / "merges.txt").write_text(" a\n")
    with pytest.raises(CheckpointError, match="no merge"):
        Tokenizer.load(folder)


def test_bytes_that_are_no_text_are_one_error(folder):
    (folder / "merges.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match=r"merges\.txt: cannot be read"):
        Tokenizer.load(folder)


@pytest.mark.parametrize(
    "added",
    [
        {"600": {"content": "far"}},
        {"3": {"content": "<|endoftext|>"}},
        {"500": {"content": ""}},
        {"500": {"content": 3}},
        {"500": {"content": "\ud800"}},
        {"500": {}},
        {"500": None},
        {"x": {"content": "x"}},
        {"500": {"content": "a b"}, "501": {"content": "a b"}},
        [1],
        3,
    ],
)
def test_added_tokens_that_would_get_other_ids_are_refused(folder, added):
    changed(
        folder / "tokenizer_config.json", lambda config: config | {"added_tokens_decoder": added}
    )
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json: not of a tokenizer"):
        Tokenizer.load(folder)
