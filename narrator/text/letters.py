"""Sets the language of lines without a language mark, by their letters, in runs of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.text.lines import Foreign, Line
from textbase.tongues import ForeignLetters, find_foreign_letters, said_in

_Place = tuple[int, int, ForeignLetters]
"""Index of the scene, index of the line in it, and the line's foreign letters."""


def by_letters(scenes: Sequence[list[Line]], declared: Sequence[str]) -> tuple[Foreign, ...]:
    """Set the language of lines in foreign letters, alike for all lines of a run, and report them.

    `declared` are the languages that the book names.
    """
    places = [
        (scene_index, line_index, foreign)
        for scene_index, scene_lines in enumerate(scenes)
        for line_index, line in enumerate(scene_lines)
        if not line.is_marked and (foreign := find_foreign_letters(line.text, line.language))
    ]
    groups: dict[tuple[str, str, str | None], list[tuple[Line, str]]] = {}
    for run in _group_runs(places):
        lines = [scenes[scene_index][line_index] for scene_index, line_index, _ in run]
        texts = [
            (line.text, foreign_letters)
            for line, (_, _, foreign_letters) in zip(lines, run, strict=True)
        ]
        language = said_in(texts, declared)
        for (scene_index, line_index, foreign_letters), line in zip(run, lines, strict=True):
            occurrences = groups.setdefault((foreign_letters.alphabet, line.language, language), [])
            if not (occurrences and line.with_before):  # lines in unison count once
                occurrences.append((line, foreign_letters.word if language is None else line.text))
            if language is not None:
                scenes[scene_index][line_index] = replace(line, language=language)
    return tuple(
        Foreign(
            alphabet,
            around,
            language,
            occurrences[0][0].path,
            occurrences[0][0].line,
            len(occurrences),
            occurrences[0][1],
        )
        for (alphabet, around, language), occurrences in groups.items()
    )


def _group_runs(places: Sequence[_Place]) -> Iterator[list[_Place]]:
    """Yield runs of neighbouring lines in the same foreign letters."""
    run: list[_Place] = []
    for scene_index, line_index, foreign_letters in places:
        if run and not (
            run[-1][:2] == (scene_index, line_index - 1) and foreign_letters.goes_on(run[-1][2])
        ):
            yield run
            run = []
        run.append((scene_index, line_index, foreign_letters))
    if run:
        yield run
