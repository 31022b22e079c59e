"""How sure it is who says what, by chunk: as the files beside the texts have it.

The words of each row are looked for in the text, one after the other. Knows no requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from narrator.project.project import Project
from narrator.speech.plan import Step
from narrator.text import decided
from narrator.text.decided import NOBODY, Row

_MARKS = " “”‘’„\"'«»‹›「」『』,.;:!?…—–-"
_LETTERS = 60
"""Of the words that are looked for: rows give no more of a long quotation's beginning."""


def sure_of(project: Project, number: int, steps: Sequence[Step]) -> Mapping[str, float]:
    """How sure a rule or model was of a chapter's chunks, 0 to 1, by their ids; none of those that
    print, or a person, decided."""
    name = project.chapters[number].file
    if name is None:
        return {}
    rows = decided.read(decided.place_of(project.root / name)).rows
    return _found(rows, steps) if rows else {}


def _found(rows: Sequence[Row], steps: Sequence[Step]) -> dict[str, float]:
    starts: list[tuple[int, str]] = []
    text = ""
    for step in steps:
        if not step.with_before:
            starts.append((len(text), step.id))
            text += f"{_plain(step.chunk.text)} "
    sure: dict[str, float] = {}
    at = place = 0
    for row in rows:
        words = _plain(row.words.partition(" … ")[0])[:_LETTERS].strip(_MARKS)
        found = text.find(words, at) if words else -1
        if found < 0:
            continue
        at = found + len(words)
        if row.by not in ("rule", "model") or row.speaker == NOBODY:
            continue
        while place + 1 < len(starts) and starts[place + 1][0] <= found:
            place += 1
        chunk = starts[place][1]
        sure[chunk] = min(row.sure, sure.get(chunk, 1.0))
    return sure


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)
