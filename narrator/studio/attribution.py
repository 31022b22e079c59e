"""Certainty of the speaker of each chunk, from the speaker files beside the texts.

The words of each row are searched in the text, in order. Knows no requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from narrator.project.project import Project
from narrator.speech.plan import Step
from narrator.text import speaker_files
from narrator.text.speaker_files import NOBODY, Row

_QUOTES_AND_PUNCTUATION = " “”‘’„\"'«»‹›「」『』,.;:!?…—–-"
_MAX_LETTERS = 60
"""Letters of a row that are searched for, since rows shorten long quotations."""


def certainties_of(project: Project, number: int, steps: Sequence[Step]) -> Mapping[str, float]:
    """Returns how sure a rule or model was of the speaker of a chapter's chunks, 0 to 1, by id.

    Chunks whose speaker was printed, or chosen by a person, are left out.
    """
    name = project.chapters[number].file
    if name is None:
        return {}
    rows = speaker_files.read(speaker_files.speaker_file_path(project.root / name)).rows
    return _certainties(rows, steps) if rows else {}


def _certainties(rows: Sequence[Row], steps: Sequence[Step]) -> dict[str, float]:
    """Finds the words of the rows in the chunks' text; both are in reading order."""
    starts: list[tuple[int, str]] = []  # offset in the text, and id, of each chunk
    text = ""
    for step in steps:
        if not step.with_before:
            starts.append((len(text), step.id))
            text += f"{_collapse_spaces(step.chunk.text)} "
    certainties: dict[str, float] = {}
    position = nested_position = index = 0
    for row in rows:
        words = _collapse_spaces(row.words.partition(" … ")[0])[:_MAX_LETTERS].strip(
            _QUOTES_AND_PUNCTUATION
        )
        start = nested_position if row.is_nested else position
        match_start = text.find(words, start) if words else -1
        if match_start < 0:
            continue
        position = max(position, match_start + len(words))
        nested_position = match_start + len(words) * row.is_nested
        if row.by not in ("rule", "model") or row.speaker == NOBODY:
            continue
        while index + 1 < len(starts) and starts[index + 1][0] <= match_start:
            index += 1
        _, chunk_id = starts[index]
        certainties[chunk_id] = min(row.certainty, certainties.get(chunk_id, 1.0))
    return certainties


def _collapse_spaces(text: str) -> str:
    return re.sub(r"\s+", " ", text)
