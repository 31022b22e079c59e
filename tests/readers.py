"""Stands in for a language model: answers as a function says, and remembers what it was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Self


class StubReader:
    """A language model that chooses the option that `answer` names for a question."""

    name, identity, max_prompt_tokens, tokens_read = "stub", "stub-1", 32_000, 0

    def __init__(
        self, answer: Callable[[str], str], *, probability: float = 0.97, line: str = ""
    ) -> None:
        self.answer, self.probability = answer, probability
        self.line = line
        """What it writes."""
        self.questions: list[str] = []
        self.prompts: list[str] = []
        """What the questions of each request share."""
        self.messages: list[str] = []
        """What it was asked to write about."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def count_tokens(self, text: str) -> int:
        return len(text) // 4 + 1

    def option_probabilities(
        self, shared: str, questions: Sequence[str], options: Sequence[str]
    ) -> list[list[float]]:
        self.prompts.append(shared)
        self.questions += questions
        rows = re.findall(r"^([A-Z]) = ([^(:\n]+?)(?: \(.*|: .*)?$", shared, re.MULTILINE)
        codes = {option_name: code for code, option_name in rows}
        assert list(codes.values()) == list(options)
        other_probability = (1 - self.probability) / (len(options) - 1)
        return [
            [
                self.probability if code == codes[self.answer(question)] else other_probability
                for code in options
            ]
            for question in questions
        ]

    def write(self, message: str, max_tokens: int) -> str:
        self.messages.append(message)
        return self.line
