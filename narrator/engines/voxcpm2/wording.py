"""How a text is put to VoxCPM2: in which languages, the mark it ends on, the seam to the text
before, descriptions.

Pure; knows no model and no tokens. Only what is given to the model changes: records keep the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LANGUAGES = frozenset(
    "ar da de el en es fi fr he hi id it ja km ko lo "
    "ms my nl no pl pt ru sv sw th tl tr vi zh".split()
)
"""What VoxCPM2 was trained on, as its authors list it."""
ALSO = frozenset("nb nn fil iw in cmn yue wuu nan grc".split())
"""Other tags of the same, the Chinese languages that the authors call dialects, and old Greek,
which is read as new."""

UNSPACED = frozenset("zh cmn yue wuu nan ja".split())
"""Written without a space between sentences."""

_ENDS = ".!?。！？｡．؟۔।॥။៕。"
_CLOSERS = "\"'”’»›)]）」』】 "
_WEAK = ",;:–—-،؛、，；：· "
_DOTS = re.compile(r"(?:…|\.{2,}|。{2,})[.…。]*$")
_BRACKETS = re.compile(r"[()（）\s]+")


def speaks(language: str) -> bool:
    return primary(language) in LANGUAGES | ALSO


def closed(text: str, language: str) -> str:
    """`text` on one full stop, or the question or exclamation mark it ends on.

    The model clips the ends of texts that break off, on commas, or on dots.
    """
    text = text.rstrip()
    words = text.rstrip(_CLOSERS)
    closers = text[len(words) :]
    if not words:
        return text
    stop = "。" if primary(language) in UNSPACED else "."
    ends = _ENDS + (";\u037e" if primary(language) in ("el", "grc") else "")
    dotless = _DOTS.sub("", words).rstrip()
    if dotless == words and words.endswith(tuple(ends)):
        return text
    bare = dotless.rstrip(_WEAK)
    if not bare:
        return text
    if bare.endswith(tuple(ends)):
        return bare + closers
    if bare != words:  # the mark that was there is replaced, within quotes and brackets
        return bare + stop + closers
    return text + stop


def before(text: str, language: str) -> str:
    """What was said before, as it stands before the next text: `voxcpm2` joins them as they are."""
    text = closed(text, language)
    return text if primary(language) in UNSPACED else f"{text} "


def description(parts: Sequence[str | None]) -> str | None:
    """Descriptions and styles as one, without the parentheses that the model is given it in."""
    plain = [_BRACKETS.sub(" ", part).strip() for part in parts if part]
    return ", ".join(part for part in plain if part) or None


def primary(language: str) -> str:
    """The language of a tag: "en" of "en-GB"."""
    return language.lower().partition("-")[0]
