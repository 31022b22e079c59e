"""Mandarin, where the extra `chinese` is installed; pinyin without it."""

from __future__ import annotations

import pytest

from narrator.pronunciation import mandarin, missing_extra, pronounce

needs_extra = pytest.mark.skipif(
    missing_extra("zh") is not None, reason="the extra chinese is not installed"
)


@pytest.mark.parametrize(
    ("pinyin", "phonemes"),
    [
        ("ma1", "ma→"),
        ("ma2", "ma↗"),
        ("ma3", "ma↓"),
        ("ma4", "ma↘"),
        ("ma5", "ma"),
        ("zhong1", "ꭧʊ→ŋ"),
        ("chi1", "ꭧʰɨ→"),
        ("si4", "sɨ↘"),
        ("xue2", "ɕɥe↗"),
        ("ju4", "ʨy↘"),
        ("yuan2", "ɥɛ↗n"),
        ("lü4", "ly↘"),
        ("nv3", "ny↓"),
        ("er2", "ɚ↗"),
        ("wo3", "wo↓"),
        ("you3", "jou↓"),
        ("hui4", "xwei↘"),
        ("jiang1", "ʨja→ŋ"),
        ("ri4", "ɻɨ↘"),
        ("qqq1", ""),
        ("", ""),
    ],
)
def test_syllables(pinyin: str, phonemes: str) -> None:
    assert mandarin.syllable(pinyin) == phonemes


@needs_extra
@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("你好，我们去学校。", "ni↓xau↓, wo↓mən ʨʰy↘ ɕɥe↗ɕjau↘."),
        ("你好嗎？我們去學校。", "ni↓xau↓ ma? wo↓mən ʨʰy↘ ɕɥe↗ɕjau↘."),
        ("她说：“再见！”", "tʰa→ ʂwo→: “ʦai↘ʨjɛ↘n! ”"),
        ("银行行长", "i↗nxa↗ŋxa↗ŋꭧa↓ŋ"),
        ("重庆很重要", "ꭧʰʊ↗ŋʨʰi↘ŋ xə↓n ꭧʊ↘ŋjau↘"),
        ("音乐快乐", "i→nɥe↘ kʰwai↘lɤ↘"),
        ("日本人", "ɻɨ↘pə↓n ɻə↗n"),
        ("俄罗斯", "ɤ↗lwo↗sɨ→"),
        ("花儿", "xwa→ɚ↗"),
        ("《红楼梦》", "“xʊ↗ŋlou↗mə↘ŋ”"),
        ("东西南北", "tʊ→ŋɕi→na↗npei↓"),
        ("什么", "ʂə↗nmɤ"),
        ("了解了", "ljau↓ʨje↓ lɤ"),
        ("绿色旅行", "ly↘sɤ↘ ly↓ɕi↗ŋ"),
        ("漂亮的衣服", "pʰjau↘lja↘ŋ tɤ i→fu↗"),
    ],
)
def test_sentences(text: str, phonemes: str) -> None:
    assert pronounce(text, "zh").phonemes == phonemes


@needs_extra
def test_words_of_other_scripts_are_reported() -> None:
    pronunciation = pronounce("这是iPhone手机", "zh-Hans")
    assert pronunciation.phonemes == "ꭧɤ↘ʂɨ↘ ʂou↓ʨi→"
    assert [span.text for span in pronunciation.unspoken] == ["iPhone"]
