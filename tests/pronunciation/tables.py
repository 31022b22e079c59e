"""The tables of this folder, read: a text, its language, its phonemes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"== (?:(?P<kind>.+), )?(?P<language>[\w-]+) ==")


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a table."""

    kind: str
    language: str
    text: str
    phonemes: str

    def __str__(self) -> str:
        return f"{self.language}: {self.text}"


def cases(name: str) -> Iterator[Case]:
    """The lines of a table that stand below the heading of a section."""
    kind = language = ""
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            kind, language = section["kind"] or "", section["language"]
        elif language and line:
            text, _, phonemes = line.partition(" → ")
            yield Case(kind, language, text, phonemes)
