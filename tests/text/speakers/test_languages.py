"""Who says what in other languages, on annotated chapters."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from narrator.text.speakers import Attribution, attribute
from narrator.text.speech_words import speech_of
from tests.effort import cpu_seconds
from tests.text.speakers import annotated
from tests.text.speakers.annotated import Score

MIN_RIGHT = {
    "de": 0.85, "es": 0.9, "fr": 0.7, "it": 0.6, "ja": 0.9, "pl": 0.8, "pt": 0.85, "ru": 0.85,
    "sv": 0.75, "zh": 0.9,
}  # fmt: skip
"""Share of quotations that are right with the cast given, by language."""
MIN_RIGHT_OF_ALL, MIN_RIGHT_WITH_FOUND_CAST = 0.8, 0.7
MIN_RIGHT_OF_SURE = 0.94
MAX_SPOKEN_NARRATION = 0.04
"""Share of the narration next to speech that a character would speak."""


@functools.cache
def attribution(path: Path, *, finds_cast: bool) -> Attribution:
    return annotated.attributed(annotated.read_chapter(path), finds_cast=finds_cast)


def score(path: Path, *, finds_cast: bool) -> Score:
    return annotated.score(annotated.read_chapter(path), attribution(path, finds_cast=finds_cast))


def total(paths: list[Path], *, finds_cast: bool = False) -> Score:
    return sum((score(path, finds_cast=finds_cast) for path in paths), Score(0, 0, 0, 0, 0, 0))


@pytest.mark.parametrize("path", annotated.CHAPTERS, ids=lambda path: path.stem)
def test_chapters_are_annotated(path: Path) -> None:
    chapter = annotated.read_chapter(path)
    assert len(chapter.speeches) >= 12
    assert not any(mark in paragraph for paragraph in chapter.paragraphs for mark in "{}⟨⟩")


@pytest.mark.parametrize(("language", "share"), MIN_RIGHT.items())
def test_most_speakers_are_right(language: str, share: float) -> None:
    chapters = [path for path in annotated.CHAPTERS if path.stem.startswith(f"{language}-")]
    result = total(chapters)
    assert result.right >= share * result.quotations


def test_speakers_are_right_in_all_languages_together() -> None:
    given, found = total(annotated.CHAPTERS), total(annotated.CHAPTERS, finds_cast=True)
    assert given.quotations >= 400
    assert given.right >= MIN_RIGHT_OF_ALL * given.quotations
    assert found.right >= MIN_RIGHT_WITH_FOUND_CAST * found.quotations
    assert given.sure_right >= MIN_RIGHT_OF_SURE * given.sure
    assert given.spoken_narration <= MAX_SPOKEN_NARRATION * given.narration


@pytest.mark.parametrize("path", annotated.CHAPTERS, ids=lambda path: path.stem)
def test_no_word_of_the_language_is_a_name(path: Path) -> None:
    words = speech_of(annotated.read_chapter(path).language).never_names
    for member in attribution(path, finds_cast=True).cast:
        for name in member.names:
            assert name.casefold() not in words
            assert any(map(str.isalpha, name[:1])), name


@pytest.mark.slow
def test_time_grows_with_the_tags_of_a_paragraph_alone() -> None:
    def spent(size: int) -> float:
        text = "dijo: —Sí —dijo Ana—. " * size
        return cpu_seconds(lambda: attribute([[text]], language="es"), tries=3)

    assert spent(2000) < 8 * spent(500) + 0.5
