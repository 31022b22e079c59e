"""Maps languages to the alphabets that they are written in, and letters to alphabets."""

from __future__ import annotations

import functools
import re
import unicodedata

_WRITTEN_IN = {
    "LATIN": "af ang az bm br bs ca ceb co cs cy da de en enm eo es et eu ff fi fil fo fr frm fro "
    "fy ga gd gl gmh goh gsw ha haw hr ht hu ia id ig in io is it jv kk kw la lb lg ln lt lv mg mi "
    "ms mt nap nb nl nn no non ny oc om pap pl pt qu rm rn ro rw scn sco sh sk sl sm sn so sq sr "
    "st su sv sw tk tl tn to tr ts tt uz vec vi wo xh yo zu",
    "CYRILLIC": "az ba be bg bs ce cu cv kk ky mk mn os ru sh sr tg tk tt ug uk uz",
    "GREEK": "el grc",
    "ARABIC": "ar az ckb fa ha kk ku ky ms pa ps sd tk ug ur uz",
    "HEBREW": "arc he iw yi",
    "DEVANAGARI": "bho gom hi kok ks mai mr ne sa sd",
    "BENGALI": "as bn bpy",
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
    "CJK": "cmn ja ko lzh nan wuu yue zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "BOPOMOFO": "cmn nan zh",
}
"""Script, by the word that begins the Unicode names of its letters -> languages written in it."""

_SCRIPT_SUBTAGS = {"latn": "LATIN", "cyrl": "CYRILLIC", "arab": "ARABIC", "deva": "DEVANAGARI"}
"""Script subtag of a language tag (ISO 15924) -> alphabet, for languages with several alphabets."""

DEFAULT_LANGUAGE = {
    "LATIN": "en", "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "HEBREW": "he",
    "DEVANAGARI": "hi", "BENGALI": "bn", "GURMUKHI": "pa", "GUJARATI": "gu", "ORIYA": "or",
    "TAMIL": "ta", "TELUGU": "te", "KANNADA": "kn", "MALAYALAM": "ml", "SINHALA": "si",
    "THAI": "th", "LAO": "lo", "KHMER": "km", "MYANMAR": "my", "TIBETAN": "bo", "GEORGIAN": "ka",
    "ARMENIAN": "hy", "ETHIOPIC": "am", "MONGOLIAN": "mn", "HANGUL": "ko", "CJK": "zh",
    "HIRAGANA": "ja", "KATAKANA": "ja", "BOPOMOFO": "zh",
}  # fmt: skip
"""Alphabet -> language that is assumed if nothing else indicates one."""


@functools.cache
def alphabets_of(language: str) -> frozenset[str] | None:
    """Return the alphabets that a language is written in; None for an unknown language."""
    first, *subtags = re.split("[-_]", language.lower())
    tagged_scripts = {_SCRIPT_SUBTAGS[part] for part in subtags if part in _SCRIPT_SUBTAGS}
    return (
        frozenset(
            tagged_scripts
            or {script for script, languages in _WRITTEN_IN.items() if first in languages.split()}
        )
        or None
    )


_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_KNOWN = frozenset(language for languages in _WRITTEN_IN.values() for language in languages.split())


def is_language(tag: str) -> bool:
    """Return True if a tag is well-formed BCP 47 of a known language."""
    return bool(_TAG.fullmatch(tag)) and tag.lower().partition("-")[0] in _KNOWN


def is_written_in(language: str, alphabet: str) -> bool:
    """Return True if a language can be written in an alphabet, whatever script its tag names."""
    return language.lower().partition("-")[0] in _WRITTEN_IN.get(alphabet, "").split()


@functools.lru_cache(maxsize=1 << 14)
def alphabet_of(character: str) -> str:
    """Return the alphabet of a letter; "" if the table does not have it."""
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    script = name.partition(" ")[0]
    return script if script in _WRITTEN_IN else ""
