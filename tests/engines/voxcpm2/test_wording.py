"""How a text is put to the model."""

from __future__ import annotations

from narrator.engines.voxcpm2.wording import before, description


def test_a_space_parts_texts_where_the_language_has_spaces() -> None:
    assert before("It rained", "en-GB") == "It rained. "
    assert before("下雨了。", "zh") == "下雨了。"
    assert before("雨だ", "ja-JP") == "雨だ。"
    assert before("ฝนตก.", "th") == "ฝนตก. "


def test_a_description_brings_no_parentheses() -> None:
    assert description(["A (very) old\nman", None, "（tired）"]) == "A very old man, tired"
    assert description(["()", None, ""]) is None
    assert description([]) is None
