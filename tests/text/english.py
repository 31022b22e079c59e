"""The table of english.txt, read: what is written, what is right, and whether it is reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from narrator.text.normalize import Lexicon, normalize

TABLE = Path(__file__).with_name("english.txt")
_SECTION = re.compile(r"== (?P<kind>.+), (?P<language>[\w-]+) ==")
_NONE = Lexicon()


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    kind: str
    language: str
    written: str
    spoken: str
    reached: bool


def cases() -> Iterator[Case]:
    kind = language = ""
    for line in TABLE.read_text("utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            kind, language = section["kind"], section["language"]
        elif kind and line:
            written, _, spoken = line.partition(" → ")
            reached = not spoken.startswith("? ")
            yield Case(kind, language, written, spoken.removeprefix("? "), reached)


def said(case: Case) -> str:
    return normalize(case.written, language=case.language, speaker="narrator", lexicon=_NONE).text
