"""What a language model has answered, kept by content: the same question is asked once.

A key names the model's bytes, the whole prompt and the options, so an edit of the text asks again
what it touches and no more. Knows nothing of quotations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from narrator import files, keys


class Answers:
    """Answers in a journal of sealed rows, or in memory alone; what is damaged is asked again.

    A path that cannot be read raises StorageError.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept: dict[str, Any] = {}
        self._new: list[str] = []
        self._whole = path is None or self._read(path)

    def odds(self, key: str, options: int) -> list[float] | None:
        """What was answered to a question with so many options."""
        row = self._kept.get(key)
        if not isinstance(row, list) or len(row) != options:
            return None
        return row if all(type(one) in (int, float) for one in row) else None

    def line(self, key: str) -> str | None:
        """What was written."""
        said = self._kept.get(key)
        return said if isinstance(said, str) else None

    def put(self, key: str, answer: Sequence[float] | str) -> None:
        """Remember an answer; `save` writes it."""
        known = answer if isinstance(answer, str) else [round(one, 6) for one in answer]
        self._kept[key] = known
        self._new.append(key)

    def save(self) -> None:
        """Write what is new. Raises StorageError."""
        if self._path is None or not self._new:
            return
        with files.storage(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._whole:
                files.append(self._path, self._rows(self._new))
            else:
                files.write(self._path, self._rows(list(self._kept)))
        self._new, self._whole = [], True

    def _rows(self, names: Sequence[str]) -> bytes:
        rows = ({"key": name, "answer": self._kept[name]} for name in names)
        return b"".join(map(files.sealed_row, rows))

    def _read(self, path: Path) -> bool:
        """Whether every row is as it was written, and the last one whole."""
        with files.storage(path):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return True
        *lines, torn = data.split(b"\n")
        sealed = [line for line in lines if files.is_sealed_row(line)]
        for line in sealed:
            row = json.loads(line)
            if row.keys() >= {"key", "answer"}:
                self._kept[row["key"]] = row["answer"]
        if len(sealed) < len(lines):
            lost = len(lines) - len(sealed)
            files.damage.warning("%s: %d rows were altered; they are asked anew", path, lost)
        return not torn and len(sealed) == len(lines)


def keys_of(
    model: str, shared: str, questions: Sequence[str], options: Sequence[str] | int
) -> list[str]:
    """Names questions that share what stands before them: with options to choose from, or with so
    many tokens to be written."""
    asked = options if isinstance(options, int) else list(options)
    before = keys.content_of(shared.encode(errors="surrogatepass"))
    recipe = {"model": model, "shared": before, "options": asked}
    return [keys.key({**recipe, "question": question}) for question in questions]
