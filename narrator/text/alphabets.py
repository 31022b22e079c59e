"""Which alphabets a language is written in, and which ones a text uses."""

from __future__ import annotations

import functools
import re
import unicodedata

_WRITTEN_IN = {
    "LATIN": "af az bm br bs ca ceb co cs cy da de en eo es et eu ff fi fil fo fr fy ga gd gl ha "
    "haw hr ht hu id ig is it jv kk la lb lg ln lt lv mg mi ms mt nb nl nn no ny oc om pl pt qu rm "
    "rn ro rw sh sk sl sm sn so sq sr st su sv sw tk tl tn to tr ts tt uz vi wo xh yo zu",
    "CYRILLIC": "az ba be bg bs ce cv kk ky mk mn os ru sh sr tg tk tt ug uk uz",
    "GREEK": "el",
    "ARABIC": "ar az ckb fa ha kk ku ky ms pa ps sd tk ug ur uz",
    "HEBREW": "he yi",
    "DEVANAGARI": "bho gom hi kok ks mai mr ne sa sd",
    "BENGALI": "as bn",
    "GURMUKHI": "pa",
    "GUJARATI": "gu",
    "ORIYA": "or",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "SINHALA": "si",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "TIBETAN": "bo dz",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "ETHIOPIC": "am ti",
    "MONGOLIAN": "mn",
    "HANGUL": "ko",
    "CJK": "ja ko yue zh wuu nan",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "BOPOMOFO": "zh nan",
}
"""Script, by the word that begins the Unicode names of its letters -> languages written in it."""

_TAGGED = {"latn": "LATIN", "cyrl": "CYRILLIC", "arab": "ARABIC", "deva": "DEVANAGARI"}
"""Script of a language tag (ISO 15924) that settles which of several scripts is meant."""

ALPHABETS_OF = {
    "LATIN": "en",
    "CYRILLIC": "ru",
    "GREEK": "el",
    "ARABIC": "ar",
    "HEBREW": "he",
    "DEVANAGARI": "hi",
    "THAI": "th",
    "HANGUL": "ko",
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
}


@functools.cache
def alphabets_of(language: str) -> frozenset[str] | None:
    """Scripts that a language is written in; None: not known."""
    first, *others = re.split("[-_]", language.lower())
    tagged = {_TAGGED[part] for part in others if part in _TAGGED}
    return (
        frozenset(tagged or {s for s, langs in _WRITTEN_IN.items() if first in langs.split()})
        or None
    )


@functools.lru_cache(maxsize=1 << 14)
def alphabet_of(character: str) -> str:
    """Script of a letter, "" where the table does not have it."""
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    script = name.partition(" ")[0]
    return script if script in _WRITTEN_IN else ""
