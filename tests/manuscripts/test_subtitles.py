"""SRT, WebVTT and SBV: what is said, by whom, in paragraphs; times and signs are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from tests.manuscripts.imports import cues, reasons, rows, whole


def imported(folder: Path, text: str, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    path = folder / ("talk.vtt" if text.startswith("WEBVTT") else "talk.srt")
    path.write_text(text, "utf-8")
    return whole(path, choices)


# -- paragraphs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("silence", "made"),
    [(1.0, ["One. Two."]), (2.0, ["One.", "Two."]), (20.0, ["One.", "***", "Two."])],
)
def test_a_silence_begins_a_paragraph_or_a_scene(
    silence: float, made: list[str], tmp_path: Path
) -> None:
    assert rows(imported(tmp_path, cues("One.", "Two.", silence=silence))) == made


def test_a_silence_within_a_sentence_begins_none(tmp_path: Path) -> None:
    assert rows(imported(tmp_path, cues("One", "and two.", silence=3))) == ["One and two."]


# -- who speaks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "made"),
    [
        (("ANNA: One.", "BEN: Two."), ["Anna: One.", "Ben: Two."]),
        (("ANNA: One", "ANNA: and two."), ["Anna: One and two."]),
        (("ANNA (softly): One.",), ["Anna (softly): One."]),
        (("ANNA:\nOne.",), ["Anna: One."]),
        ((">> ANNA: One.", ">> BEN: Two."), ["Anna: One.", "Ben: Two."]),
        (("- ANNA: One.\n- BEN: Two.",), ["Anna: One.", "Ben: Two."]),
        (("[SPEAKER_00]: One.", "SPEAKER_01: Two."), ["Speaker\\_00: One.", "Speaker\\_01: Two."]),
        (("Mary Lee: One.", "Ben Oak: Two: three."), ["Mary Lee: One.", "Ben Oak: Two\\: three."]),
        (("ANNA: One. [coughs] Two.",), ["Anna: One.", "\\[coughs]", "Anna: Two."]),
    ],
)
def test_labels_name_who_speaks(said: tuple[str, ...], made: list[str], tmp_path: Path) -> None:
    assert rows(imported(tmp_path, cues(*said))) == made


# -- what is no speech -----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_old_files_are_read_whatever_their_bytes(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "old.srt"
    text = cues("Le café est fermé – hélas, c’est ça.", "Il est déjà parti à l’étranger.")
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert rows(whole(path)) == [
        "Le café est fermé – hélas, c’est ça. Il est déjà parti à l’étranger."
    ]


def test_cues_without_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="no text to read aloud"):
        imported(tmp_path, cues("♪ ♪"))


SBV = (
    "0:00:01.000,0:00:03.000\nANNA: Good morning,\nand welcome.\n\n"
    "0:00:03.100,0:00:05.000\nBEN: Thank you.\n\n1:00:06.000,1:00:07.500\nANNA: Well?\n"
)


@pytest.mark.parametrize("name", ["talk.sbv", "talk.txt"])
def test_the_subtitles_of_youtube_are_read_without_their_times(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(SBV, "utf-8")
    book = whole(path)
    assert book.format == "subtitles (SBV)"
    assert rows(book) == [
        "Anna: Good morning, and welcome.",
        "Ben: Thank you.",
        "***",
        "Anna: Well?",
    ]
    assert reasons(book)["time of a subtitle"] == 24
