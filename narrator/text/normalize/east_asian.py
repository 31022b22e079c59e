"""Figures of Chinese and Japanese in words, by wetext, where it is installed; else they stay."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Iterator
from typing import Any

from narrator.text.normalize.edits import Replacement

LANGUAGES = frozenset(("zh", "ja"))
PACKAGE = "wetext"
_CODE = re.compile(r"[A-Za-z\d][-.]?$")
"""The end of what stands before a figure that belongs to a code: BA-27."""
_CUT_WORD = re.compile(r"[A-Za-z][A-Za-z\d]|\d[A-Za-z]{2}")
"""A unit that is the beginning of a word, 5 hats, or a figure of a code, 10FFFF."""
_NEAR = r"(?:[^。！？；：、，,\n]|(?<!\d{4})[，,](?=\d{3}(?!\d)))"
_FIGURES = re.compile(rf"(?:{_NEAR}{{0,4}}\d{_NEAR}{{0,10}}){{1,10}}\d*")
"""Figures with what stands near in their clause, which is all that wetext sees: it takes
milliseconds a character, and longer for each the more there are. A comma between thousands does not
end a clause."""


def is_installed() -> bool:
    return importlib.util.find_spec(PACKAGE) is not None


@functools.cache
def _mapper(language: str) -> Callable[[str], Any]:
    from wetext import Normalizer  # 0.2 s, and other languages need none of it

    normalizer = Normalizer(lang=language, operator="tn")
    return lambda text: normalizer.normalize_with_mapping(text).mappings


def read_figures(text: str, language: str, read_mask: bytearray) -> Iterator[Replacement]:
    """Yields edits that spell the figures of `text`, outside of what `read_mask` says was read.

    wetext sees 某, a character of a word, in place of what was read. What it makes of a code
    (BA-27) or of text without figures is left out.
    """
    if not re.search(r"\d", text) or not is_installed():
        return
    unread = "".join(
        "某" if is_read else char for char, is_read in zip(text, read_mask, strict=True)
    )
    for figures in _FIGURES.finditer(unread):
        for mapping in _mapper(language)(figures[0]):
            start, stop = figures.start() + mapping.input_start, figures.start() + mapping.input_end
            written = mapping.input_text
            is_figure = re.search(r"\d", written) and not re.search(r"\d", mapping.output_text)
            is_code = _CODE.search(
                text[max(0, start - 2) : start] + written[:1] * (written[0] in "-.")
            ) or _CUT_WORD.match(text, stop - 1)
            if is_figure and not is_code and read_mask.find(1, start, stop) < 0:
                yield Replacement(start, stop, mapping.output_text, "number")
