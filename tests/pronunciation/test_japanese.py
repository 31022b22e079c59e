"""Japanese, where the extra `japanese` is installed; kana without it."""

from __future__ import annotations

import pytest

from narrator.pronunciation import japanese, missing_extra, pronounce

needs_extra = pytest.mark.skipif(
    missing_extra("ja") is not None, reason="the extra japanese is not installed"
)


@pytest.mark.parametrize(
    ("kana", "phonemes"),
    [
        ("カキクケコ", "kakʲikɯkeko"),
        ("サシスセソ", "saɕisɨseso"),
        ("ザジズゼゾ", "ʣaʥizɨʣeʣo"),
        ("タチツテト", "taʨiʦɨteto"),
        ("ハヒフヘホ", "haçiɸɯheho"),
        ("ラリルレロ", "ɾaɾʲiɾɯɾeɾo"),
        ("ワヲン", "βaoɴ"),
        ("キャキュキョ", "kʲakʲɨkʲo"),
        ("シャシュショ", "ɕaɕɨɕo"),
        ("ティー", "tʲiː"),
        ("ファ", "ɸa"),
        ("クォーツ", "kᵝoːʦɨ"),
        ("ウィ", "βi"),
        ("ガッコー", "ɡaʔkoː"),
        ("シンブン", "ɕimbɯɴ"),
        ("ギンコー", "ɡʲiŋkoː"),
        ("サンニン", "saɲɲiɴ"),
        ("ホント", "honto"),
        ("アッ", "a"),
        ("ABC", ""),
    ],
)
def test_kana(kana: str, phonemes: str) -> None:
    assert japanese.sounds(kana) == phonemes


@needs_extra
@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("吾輩は猫である。", "βaɡahai βa nekodeaɾɯ."),
        ("名前はまだ無い。", "namae βa mada nai."),
        ("東京へ行きましょう。", "toːkʲoː e ikʲimaɕoː."),
        ("コーヒーを飲んで、学校で会った。", "koːçiː o nonde, ɡaʔkoː de aʔta."),
        ("お母さん、ありがとう！", "okaasaɴ, aɾʲiɡatoː!"),
        ("お祖父さん", "oʥiisaɴ"),
        ("大きいお兄さん", "oːkʲii oɲiisaɴ"),
        ("日本語", "ɲihoŋɡo"),
        ("日本の家", "ɲihoɴ no ie"),
        ("私たちは", "βataɕitaʨi βa"),
        ("こんにちは", "koɲɲiʨiβa"),
        ("ニュース", "ɲɨːsɨ"),
        ("先生は本を読んでいます。", "seɴseː βa hoɴ o jondeimasɨ."),
        ("雨が降っている", "ame ɡa ɸɯʔteiɾɯ"),
        ("人々", "çitobʲito"),
        ("昨日", "kʲinoː"),
        ("二十歳", "hataʨi"),
        ("ヴァイオリン", "vaioɾʲiɴ"),
        ("「はい」と答えた。", "“hai” to kotaeta."),
        ("えっ？", "e?"),
    ],
)
def test_sentences(text: str, phonemes: str) -> None:
    assert pronounce(text, "ja").phonemes == phonemes


@needs_extra
def test_words_are_told_apart_without_spaces() -> None:
    text = "名前はまだ無い。"
    words = [text[word.start : word.stop] for word in pronounce(text, "ja-JP").words]
    assert words == ["名前", "は", "まだ", "無い"]
