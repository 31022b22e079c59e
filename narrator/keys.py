"""Canonical bytes -> hash; nothing else in narrator makes keys.

A key names a recipe: equal recipes have equal keys on every machine and in every run. What goes
into a step's key is decided in `speech/plan.py`; the literal keys pinned in `tests/test_keys.py`
make a change of either a decision. Knows nothing of takes, files or paths.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def canonical(value: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys, no spaces, UTF-8. Raises ValueError on NaN and infinities."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def key(value: Mapping[str, Any]) -> str:
    """40 hexadecimal digits (160 bits of SHA-256) of a recipe."""
    return hashlib.sha256(canonical(value)).hexdigest()[:40]


def seal(value: Any) -> str:
    """40 hexadecimal digits of SHA-256 over a JSON value, whatever order its names are in."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def content(*parts: bytes) -> str:
    """64 hexadecimal digits of SHA-256 over the lengths and bytes of the parts of a take."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def content_of(data: bytes) -> str:
    """SHA-256 of bytes, equal to `file_content` of a file that holds them."""
    return hashlib.sha256(data).hexdigest()


def file_content(path: Path, excluded_tail_bytes: int = 0) -> str:
    """SHA-256 of a file, without a number of bytes at its end, read in blocks. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        remaining_bytes = max(0, os.fstat(file.fileno()).st_size - excluded_tail_bytes)
        while remaining_bytes and (block := file.read(min(remaining_bytes, 1 << 20))):
            digest.update(block)
            remaining_bytes -= len(block)
    return digest.hexdigest()


def digest() -> hashlib._Hash:
    """A SHA-256 to be fed in parts."""
    return hashlib.sha256()


def number(text: str) -> int:
    """A stable 64-bit number from a text, for choices that must not depend on `hash()`."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
