"""What a language model has answered, kept by content: the same question is asked once.

A key names the model's bytes, the whole prompt and the options, so an edit of the text asks again
what it touches and no more. Knows nothing of quotations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from narrator import files, keys


class Reader(Protocol):
    """A language model, as far as it is asked here."""

    name: str
    """For people; without spaces."""
    identity: str
    """Names all that its answers hang on."""
    longest: int
    """Tokens that a prompt may have."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def likelihoods(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> Sequence[Sequence[float]]:
        """For each question after what they share, the probabilities of the options."""
        ...

    def write(self, message: str, most: int) -> str:
        """A line after a message, of at most so many tokens."""
        ...


class Answers:
    """Answers in a journal of sealed rows, or in memory alone; what is damaged is asked again.

    A path that cannot be read raises StorageError.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept: dict[str, Any] = {}
        self._new: list[str] = []
        self._whole = path is None or self._read(path)

    def likelihoods(
        self, reader: Reader, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        """As the reader's, which is asked what was not answered before; that is saved.

        Raises what it raises, and StorageError.
        """
        names = _keys(reader, shared, questions, options)
        missing = self.missing(reader, shared, questions, options)
        if missing:
            fresh = reader.likelihoods(shared, [questions[place] for place in missing], options)
            for place, odds in zip(missing, fresh, strict=True):
                self._put(names[place], [round(one, 6) for one in odds])
            self.save()
        return [self._kept[name] for name in names]

    def missing(
        self, reader: Reader, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[int]:
        """Places of the questions that were not answered before."""
        names = enumerate(_keys(reader, shared, questions, options))
        return [place for place, name in names if not self._has(name, len(options))]

    def line(self, reader: Reader, message: str, most: int) -> str:
        """As the reader writes it, or has written it before."""
        (name,) = _keys(reader, message, [""], most)
        if not isinstance(self._kept.get(name), str):
            self._put(name, reader.write(message, most))
            self.save()
        return str(self._kept[name])

    def _has(self, name: str, options: int) -> bool:
        row = self._kept.get(name)
        if not isinstance(row, list) or len(row) != options:
            return False
        return all(type(one) in (int, float) for one in row)

    def _put(self, name: str, answer: list[float] | str) -> None:
        self._kept[name] = answer
        self._new.append(name)

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


def _keys(
    reader: Reader, shared: str, questions: Sequence[str], options: Sequence[str] | int
) -> list[str]:
    """Names of questions that share what stands before them: with options to choose from, or with
    so many tokens to be written."""
    asked = options if isinstance(options, int) else list(options)
    before = keys.content_of(shared.encode(errors="surrogatepass"))
    recipe = {"model": reader.identity, "shared": before, "options": asked}
    return [keys.key({**recipe, "question": question}) for question in questions]
