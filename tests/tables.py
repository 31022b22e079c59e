"""Reads tables of cases: text files with a section for each kind and language.

== dates, en-GB ==
3rd March → the third of March.
"""

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
    expected: str
    is_reached: bool
    """False for a line whose right side begins with "? ": it is right, and not reached yet."""

    def __str__(self) -> str:
        return f"{self.language}: {self.text}"


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the lines below the first heading of a section; `\\u00a0` is that character."""
    kind = language = ""
    for line in path.read_text("utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            kind, language = section["kind"] or "", section["language"]
        elif language and line:
            line = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), line)
            text, _, expected = line.partition(" → ")
            is_reached = not expected.startswith("? ")
            yield Case(kind, language, text, expected.removeprefix("? "), is_reached)
