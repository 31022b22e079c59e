"""What a language model has answered, kept by content: the same question is asked once.

A key names the model's bytes, the whole prompt and the options, so an edit of the text asks again
what it touches and no more. Knows nothing of quotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from narrator import files, keys


class Answers:
    """Answers in a sealed file, or in memory alone; one that is damaged costs asking again."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        kept = files.load_json(path, {}) if path else {}
        self._kept: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self._changed = False

    def odds(self, key: str, options: int) -> list[float] | None:
        """What was answered to a question with so many options."""
        row = self._kept.get(key)
        fits = isinstance(row, list) and len(row) == options
        return row if fits and all(type(one) in (int, float) for one in row) else None

    def line(self, key: str) -> str | None:
        """What was written."""
        said = self._kept.get(key)
        return said if isinstance(said, str) else None

    def put(self, key: str, answer: Sequence[float] | str) -> None:
        """Remember an answer; `save` writes it."""
        known = answer if isinstance(answer, str) else [round(one, 6) for one in answer]
        self._kept[key] = known
        self._changed = True

    def save(self) -> None:
        """Write what is new. Raises StorageError."""
        if self._path and self._changed:
            files.save_json(self._path, self._kept)
        self._changed = False


def key(model: str, prompt: str, options: Sequence[str] | int) -> str:
    """Names a question: the options to choose from, or the tokens that may be written."""
    asked = options if isinstance(options, int) else list(options)
    return keys.key({"model": model, "prompt": prompt, "options": asked})
