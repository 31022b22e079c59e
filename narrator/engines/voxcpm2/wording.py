"""VoxCPM2's languages, and the form in which it gets prompts and descriptions.

Pure; knows no model and no tokens. Only what is given to the model changes: records keep the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from narrator.engines import LanguageSupport
from narrator.engines.preparation import UNSPACED_LANGUAGES, end_with_stop, primary_language

LANGUAGES = frozenset(
    "ar da de el en es fi fr he hi id it ja km ko lo "
    "ms my nl no pl pt ru sv sw th tl tr vi zh".split()
)
"""Languages that VoxCPM2 was trained on, as its authors list them."""
OTHER_TAGS = frozenset("nb nn fil iw in cmn yue wuu nan grc".split())
"""Other tags of the same, the Chinese languages that the authors call dialects, and old Greek,
which is read as new."""

_BRACKETS = re.compile(r"[()（）\s]+")


class VoxCPM2Languages(LanguageSupport):
    """The languages that it was trained on."""

    name = "voxcpm2"

    def speaks(self, language: str) -> bool:
        return primary_language(language) in LANGUAGES | OTHER_TAGS


def prompt_text(text: str, language: str) -> str:
    """Returns the text of a prompt in the form that the next text follows: `voxcpm2` joins them
    unchanged."""
    text = end_with_stop(text, language)
    return text if primary_language(language) in UNSPACED_LANGUAGES else f"{text} "


def join_descriptions(parts: Sequence[str | None]) -> str | None:
    """Joins descriptions and styles, without the parentheses in which the model gets them."""
    plain = [_BRACKETS.sub(" ", part).strip() for part in parts if part]
    return ", ".join(part for part in plain if part) or None
