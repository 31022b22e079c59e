from __future__ import annotations

import pytest

from narrator import keys


def test_a_literal_key_is_pinned():
    recipe = {
        "format": 1,
        "engine": {"name": "draft", "sampler": 1},
        "voice": {"variant": "f2", "pitch": 50},
        "language": "en-GB",
        "style": None,
        "text": "“Naïve,” she said — 你好.",
        "parameters": {"cfg": 2.0},
        "seed": 0,
        "occurrence": 1,
        "parent": None,
    }
    assert keys.key(recipe) == "f008a25ace146935a61f6fad024aaf59ec3ed6fb"


def test_the_order_of_a_recipe_does_not_matter():
    assert keys.key({"a": 1, "b": {"x": 1, "y": 2}}) == keys.key({"b": {"y": 2, "x": 1}, "a": 1})


@pytest.mark.parametrize("other", [{"a": 2}, {"a": "1"}, {"a": 1.5}, {"b": 1}, {"a": None}])
def test_different_recipes_have_different_keys(other):
    assert keys.key({"a": 1}) != keys.key(other)


def test_a_number_that_is_none_is_refused():
    with pytest.raises(ValueError):
        keys.key({"cfg": float("nan")})


def test_content_keeps_parts_apart():
    assert keys.content(b"ab", b"c") != keys.content(b"a", b"bc")


def test_a_file_has_the_content_of_its_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"take")
    assert keys.file_content(path) == keys.content_of(b"take")
