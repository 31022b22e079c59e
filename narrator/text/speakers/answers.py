"""Caches a language model's answers by content, so that no question is asked twice.

A key covers the model's bytes, the whole prompt and the options, so an edit of the text repeats
only the questions that it affects. Knows nothing of quotations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from narrator import files, keys


class Reader(Protocol):
    """The interface of a language model that answers questions."""

    name: str
    """Name for people, without spaces."""
    identity: str
    """Identifies everything that affects its answers."""
    max_prompt_tokens: int
    """Maximum number of tokens of a prompt."""

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of a text."""
        ...

    def option_probabilities(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> Sequence[Sequence[float]]:
        """Returns the probabilities of the options for each question after a shared prompt; none
        for a question to which it has no valid answer."""
        ...


class Writer(Reader, Protocol):
    """The interface of a language model that may also write."""

    def write(self, message: str, max_tokens: int) -> str:
        """Returns a line of at most `max_tokens` tokens in answer to a message."""
        ...


class Answers:
    """Answers in a journal, or in memory only; damaged rows are asked again.

    Raises StorageError for a path that cannot be read.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._answers: dict[str, Any] = {}
        self._journal = None if path is None else files.Journal(path)
        if self._journal is None:
            return
        with files.translating_errors(self._journal.path):
            rows = map(json.loads, self._journal.read())
        self._answers = {
            row["key"]: row["answer"] for row in rows if {"key", "answer"} <= row.keys()
        }
        if self._journal.damaged:
            files.corruption_log.warning(
                "%s: %d rows were altered; they are asked anew", path, self._journal.damaged
            )

    def option_probabilities(
        self, reader: Reader, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        """Returns the reader's probabilities, asking it only the missing questions, and saves them.

        A question without a valid answer has none, and remains missing. Raises what the reader
        raises, and StorageError.
        """
        answer_keys = _answer_keys(reader, shared, questions, options)
        missing = self.missing(reader, shared, questions, options)
        if missing:
            answers = reader.option_probabilities(
                shared, [questions[index] for index in missing], options
            )
            for index, probabilities in zip(missing, answers, strict=True):
                if probabilities:
                    rounded = [round(probability, 6) for probability in probabilities]
                    self._save(answer_keys[index], rounded)
        return [
            self._answers[answer_key] if self._is_answered(answer_key, len(options)) else []
            for answer_key in answer_keys
        ]

    def missing(
        self, reader: Reader, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[int]:
        """Returns the indices of the questions without a stored answer."""
        answer_keys = enumerate(_answer_keys(reader, shared, questions, options))
        return [
            index
            for index, answer_key in answer_keys
            if not self._is_answered(answer_key, len(options))
        ]

    def line(self, reader: Writer, message: str, max_tokens: int) -> str:
        """Returns the reader's line for a message, stored or new."""
        (answer_key,) = _answer_keys(reader, message, [""], max_tokens)
        if not isinstance(self._answers.get(answer_key), str):
            self._save(answer_key, reader.write(message, max_tokens))
        return str(self._answers[answer_key])

    def _is_answered(self, answer_key: str, option_count: int) -> bool:
        """Returns whether a valid answer, with a probability for each option, is stored."""
        answer = self._answers.get(answer_key)
        if not isinstance(answer, list) or len(answer) != option_count:
            return False
        return all(type(probability) in (int, float) for probability in answer)

    def _save(self, answer_key: str, answer: list[float] | str) -> None:
        """Keeps an answer. Raises StorageError."""
        self._answers[answer_key] = answer
        if self._journal is None:
            return
        with files.translating_errors(self._journal.path):
            self._journal.path.parent.mkdir(parents=True, exist_ok=True)
            if self._journal.damaged:
                rows = ({"key": key, "answer": saved} for key, saved in self._answers.items())
                self._journal.rewrite(files.sealed_row(row)[:-1] for row in rows)
            else:
                self._journal.append({"key": answer_key, "answer": answer})


def _answer_keys(
    reader: Reader, shared: str, questions: Sequence[str], options: Sequence[str] | int
) -> list[str]:
    """Returns the keys of questions that share a prompt: with options to choose from, or with a
    maximum number of tokens to write."""
    options_part = options if isinstance(options, int) else list(options)
    shared_content = keys.content_of(shared.encode(errors="surrogatepass"))
    recipe = {"model": reader.identity, "shared": shared_content, "options": options_part}
    return [keys.key({**recipe, "question": question}) for question in questions]
