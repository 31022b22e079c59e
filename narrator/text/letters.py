"""Which language lines are in that no mark says it of: by their letters, in runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrator.text.lines import Foreign, Line
from narrator.text.tongues import Strange, said_in, strange

_Place = tuple[int, int, Strange]
"""Of a line in scenes, and what in it is strange."""


def by_letters(scenes: Sequence[list[Line]], declared: Sequence[str]) -> tuple[Foreign, ...]:
    """Set the language of lines that are in letters of another, those of a run the same; and what
    is in such letters, once for each language. `declared` are those that the book names."""
    places = [
        (number, at, found)
        for number, scene in enumerate(scenes)
        for at, line in enumerate(scene)
        if not line.is_marked and (found := strange(line.text, line.language))
    ]
    kinds: dict[tuple[str, str, str | None], list[tuple[Line, str]]] = {}
    for run in _runs(places):
        lines = [scenes[scene][at] for scene, at, _ in run]
        texts = [(line.text, one) for line, (_, _, one) in zip(lines, run, strict=True)]
        language = said_in(texts, declared)
        for (scene, at, one), line in zip(run, lines, strict=True):
            own = kinds.setdefault((one.alphabet, line.language, language), [])
            if not (own and line.with_before):  # what several say in unison counts once
                own.append((line, one.word if language is None else line.text))
            if language is not None:
                scenes[scene][at] = replace(line, language=language)
    return tuple(
        Foreign(alphabet, around, language, own[0][0].path, own[0][0].line, len(own), own[0][1])
        for (alphabet, around, language), own in kinds.items()
    )


def _runs(places: Sequence[_Place]) -> Iterator[list[_Place]]:
    """Neighbouring lines that go on one another together."""
    run: list[_Place] = []
    for scene, at, one in places:
        if run and not (run[-1][:2] == (scene, at - 1) and one.goes_on(run[-1][2])):
            yield run
            run = []
        run.append((scene, at, one))
    if run:
        yield run
