"""How a text is put to the model."""

from __future__ import annotations

from narrator.engines.voxcpm2.wording import join_descriptions, prompt_text


def test_a_space_parts_texts_where_the_language_has_spaces():
    assert prompt_text("It rained", "en-GB") == "It rained. "
    assert prompt_text("下雨了。", "zh") == "下雨了。"
    assert prompt_text("雨だ", "ja-JP") == "雨だ。"
    assert prompt_text("ฝนตก.", "th") == "ฝนตก. "


def test_a_description_brings_no_parentheses():
    assert join_descriptions(["A (very) old\nman", None, "（tired）"]) == "A very old man, tired"
    assert join_descriptions(["()", None, ""]) is None
    assert join_descriptions([]) is None
