"""Japanese: text to kana by Sudachi (Apache-2.0, the extra `japanese`), kana to Kokoro's phonemes.

Words stand apart, with their endings. Pitch is not written: Kokoro 1.0 was not taught it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from narrator.pronunciation.tokens import Segment, Token, transcribe_words

_ROWS = """
アイウエオ a i ɯ e o
カキクケコ ka kʲi kɯ ke ko
ガギグゲゴ ɡa ɡʲi ɡɯ ɡe ɡo
サシスセソ sa ɕi sɨ se so
ザジズゼゾ ʣa ʥi zɨ ʣe ʣo
タチツテト ta ʨi ʦɨ te to
ダヂヅデド da ʥi zɨ de do
ナニヌネノ na ɲi nɯ ne no
ハヒフヘホ ha çi ɸɯ he ho
バビブベボ ba bʲi bɯ be bo
パピプペポ pa pʲi pɯ pe po
マミムメモ ma mʲi mɯ me mo
ヤユヨ ja jɯ jo
ラリルレロ ɾa ɾʲi ɾɯ ɾe ɾo
ワヰヱヲヴ βa i e o vɯ
ァィゥェォ a i ɯ e o
ャュョヮヵヶ ja jɯ jo βa ka ke
"""
_KANA = {
    kana: sound
    for row in _ROWS.strip().splitlines()
    for kana, sound in zip(row.split()[0], row.split()[1:], strict=True)
}
_ONSETS = dict(
    pair.split("=")
    for pair in (
        "キ=k ク=k ギ=ɡ グ=ɡ シ=ɕ ジ=ʥ チ=ʨ ヂ=ʥ ツ=ʦ テ=t デ=d ト=t ド=d ニ=ɲ "
        "ヒ=ç ビ=b ピ=p フ=ɸ ミ=m リ=ɾ ヴ=v ウ=β イ=j ス=s ズ=z"
    ).split()
)
_SOFT = frozenset("キギテデビピミリ")
"""Palatal before a small kana: kʲ. クグ are round: ɡᵝ. フヴツ are palatal before ィ and ュ."""


_READINGS = {
    "日本": "ニホン",
    "私": "ワタシ",
    "明日": "アシタ",
    "こんにちは": "コンニチワ",
    "こんばんは": "コンバンワ",
}
"""Words for which the dictionary has a more formal reading, or one that is written otherwise."""
_AFTER_PREFIX = {
    "祖父": "ジイ",
    "祖母": "バア",
    "父": "トウ",
    "母": "カア",
    "兄": "ニイ",
    "姉": "ネエ",
}
"""Kin after お: お祖父さん."""


@cache
def _tokenizer() -> Any:
    from sudachipy import Dictionary

    return Dictionary(dict="core").tokenizer()


@cache
def _mode() -> Any:
    from sudachipy import SplitMode

    return SplitMode.C


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return transcribe_words(tokens, _segments)


def _segments(token: Token) -> Iterator[Segment]:
    """Yields words: morphemes with their prefixes and endings."""
    start, kana, is_prefix = token.start, "", False
    stop = start
    for morpheme in _tokenizer().tokenize(token.text, _mode()):
        kind, detail, *_ = morpheme.part_of_speech()
        # Auxiliaries, suffixes and conjunctive particles; after -te verbs that may be auxiliary.
        is_ending = kind in ("助動詞", "接尾辞") or detail in (
            "接続助詞",
            "非自立可能" if kana.endswith(("テ", "デ")) else "",
        )
        if kana and not is_ending and not is_prefix:
            yield Segment(start, stop, sounds(kana))
            start, kana = stop, ""
        kin = _AFTER_PREFIX.get(morpheme.surface(), "") if is_prefix else ""
        kana += _mark_long_vowels(kin) if kin else _reading(morpheme, kind)
        is_prefix = kind == "接頭辞"  # prefix
        stop += len(morpheme.surface())
    if stop > start:
        yield Segment(start, stop, sounds(kana))


def _reading(morpheme: Any, kind: str) -> str:
    """Returns a morpheme in katakana as it is spoken; `kind` is Sudachi's part of speech."""
    surface, reading = morpheme.surface(), morpheme.reading_form()
    if surface in _READINGS:
        return _mark_long_vowels(_READINGS[surface])
    if kind == "助詞" and surface in ("は", "へ", "を", "には", "では", "とは"):
        return {"は": "ワ", "へ": "エ", "を": "オ", "には": "ニワ", "では": "デワ", "とは": "トワ"}[
            surface
        ]
    if not re.fullmatch("[ァ-ヺー]+", reading):
        reading = surface.translate({code: code + 0x60 for code in range(0x3041, 0x3097)})
    if kind == "動詞" and reading.endswith("ウ"):  # a verb, whose ending is not a long vowel
        return _mark_long_vowels(reading[:-1]) + "ウ"
    return _mark_long_vowels(reading)


def _mark_long_vowels(kana: str) -> str:
    """Writes the second of two vowels that sound as a long one as "ー"."""
    kana = re.sub("(?<=[オコゴソゾトドノホボポモヨロョォ])[ウオ]", "ー", kana)
    kana = re.sub("(?<=[エケゲセゼテデネヘベペメレェ])[イエ]", "ー", kana)
    return re.sub("(?<=[ウクグスズツヌフブプムユルュゥ])ウ", "ー", kana)


def sounds(kana: str) -> str:
    """Returns Kokoro's phonemes of katakana; other characters are left out."""
    phonemes = ""
    for match in re.finditer("(.)([ァィゥェォャュョヮ])?", kana):
        base, small = match.groups()
        if base in "ッンー":
            phonemes += {"ッ": "ʔ", "ン": "ɴ", "ー": "ː"}[base] + _KANA.get(small or "", "")
        elif small is None or base not in _ONSETS:
            phonemes += _KANA.get(base, "") + _KANA.get(small or "", "")
        else:
            is_palatal = base in _SOFT or (base in "フヴツ" and small in "ィャュョ")
            glide = "ʲ" if is_palatal else "ᵝ" if base in "クグ" else ""
            vowel = _KANA[small][-1]
            phonemes += _ONSETS[base] + glide + ("ɨ" if small == "ュ" else vowel)
    phonemes = re.sub("ɴ(?=[mpb])", "m", phonemes)
    phonemes = re.sub("ɴ(?=[kɡ])", "ŋ", phonemes)
    phonemes = re.sub("ɴ(?=[ɲʨʥ])", "ɲ", phonemes)
    phonemes = re.sub("ɴ(?=[ntdɾz])", "n", phonemes)
    return phonemes.removesuffix("ʔ")
