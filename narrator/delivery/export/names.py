"""Makes names of delivered files. Knows nothing of their contents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from textbase.characters import strip_invisible

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


_MAX_BYTES = 180
"""Most bytes of a name in UTF-8: it leaves room for a number and an ending within 255."""


def file_name(text: str) -> str:
    """Returns a name that every file system accepts: letters of any script stay, path characters
    go."""
    text = unicodedata.normalize("NFC", strip_invisible(text))
    text = re.sub(r"\s*:\s+|\s*[/\\|]\s*", " - ", text)
    text = re.sub(r'[<>"?*:]|[^\S ]', "", text)
    text = "".join(
        character
        for character in text
        if unicodedata.category(character) not in ("Cc", "Cs", "Co", "Cn")
    )
    text = re.sub(r" {2,}", " ", text).strip(" .")
    while len(text.encode()) > _MAX_BYTES:
        text = text[:-1].rstrip(" .")
    if not text or _RESERVED.match(text):
        text = f"_{text}"
    return text


def path_of(template: str, facts: Mapping[str, str]) -> Path:
    """Expands a template to a path without an ending; `/` in the template makes folders.

    Empty facts leave no dangling punctuation and no empty folders. Raises KeyError for a field that
    does not exist.
    """
    names = []
    for part in template.split("/"):
        part_text = re.sub(r"\{(\w*)\}", lambda match: facts[match[1]], part)
        part_text = re.sub(r"\(\s*\)|\[\s*\]", "", part_text).strip(" -_.,")
        if part_text:
            names.append(file_name(part_text))
    return Path(*(names or ["_"]))


def fold_path(path: Path) -> str:
    """Returns a string that is equal for paths that some file system takes for one: macOS and
    Windows ignore case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path.as_posix()).casefold())
