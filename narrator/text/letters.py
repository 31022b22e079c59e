"""Sets the language of lines without a language mark, by their letters, in runs of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.text.lines import Foreign, Line
from textbase.tongues import ForeignLetters, find_foreign_letters, passage_language

_LinePlace = tuple[int, int, ForeignLetters]
"""Index of the scene, index of the line in it, and the line's foreign letters."""


def set_languages_by_letters(
    scenes: Sequence[list[Line]], declared: Sequence[str]
) -> tuple[Foreign, ...]:
    """Sets the language of lines in foreign letters, alike for all lines of a run; returns reports.

    `declared` are the languages that the book names.
    """
    places = [
        (scene_index, line_index, foreign)
        for scene_index, scene_lines in enumerate(scenes)
        for line_index, line in enumerate(scene_lines)
        if not line.is_marked and (foreign := find_foreign_letters(line.text, line.language))
    ]
    reports: dict[tuple[str, str, str | None], Foreign] = {}
    for run in _group_runs(places):
        texts = [(scenes[scene][place].text, letters) for scene, place, letters in run]
        language = passage_language(texts, declared)
        for scene, place, letters in run:
            line = scenes[scene][place]
            key = (letters.alphabet, line.language, language)
            if report := reports.get(key):  # lines in unison count once
                reports[key] = replace(report, count=report.count + (not line.with_before))
            else:
                sample = letters.word if language is None else line.text
                reports[key] = Foreign(*key, line.path, line.line, 1, sample)
            if language is not None:
                scenes[scene][place] = replace(line, language=language)
    return tuple(reports.values())


def _group_runs(places: Sequence[_LinePlace]) -> Iterator[list[_LinePlace]]:
    """Yields runs of neighbouring lines in the same foreign letters."""
    run: list[_LinePlace] = []
    for scene_index, line_index, foreign_letters in places:
        if run and not (
            run[-1][:2] == (scene_index, line_index - 1) and foreign_letters.continues(run[-1][2])
        ):
            yield run
            run = []
        run.append((scene_index, line_index, foreign_letters))
    if run:
        yield run
