"""SRT, WebVTT and SBV: what is said, by whom, in paragraphs; times and signs are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from tests.manuscripts.imports import SAMPLES, reasons, rows, whole


def cues(*said: str, seconds: int = 2, silence: float = 0.1) -> str:
    """SRT of cues that follow one another."""
    made = []
    for number, text in enumerate(said):
        begin = number * (seconds + silence)
        made.append(f"{number + 1}\n{_time(begin)} --> {_time(begin + seconds)}\n{text}\n")
    return "\n".join(made)


def _time(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02},{seconds % 1 * 1000:03.0f}"


def imported(folder: Path, text: str, choices: Choices = Choices()) -> Book:  # noqa: B008  # frozen
    path = folder / ("talk.vtt" if text.startswith("WEBVTT") else "talk.srt")
    path.write_text(text, "utf-8")
    return whole(path, choices)


# -- samples ---------------------------------------------------------------------------------------


def test_captions_that_roll_up_are_said_once() -> None:
    book = whole(SAMPLES / "captions.vtt")
    assert rows(book) == ["so today we are looking at the sea", "\\[Music]", "and ships"]
    assert reasons(book)["shown again"] == 18


# -- paragraphs ------------------------------------------------------------------------------------


def test_a_sentence_goes_on_over_cues(tmp_path: Path) -> None:
    book = imported(tmp_path, cues("I never said\nthat you", "could go. But", "you did."))
    assert rows(book) == ["I never said that you could go. But you did."]
    assert reasons(book)["time of a subtitle"] == 27


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


def test_dashes_part_speakers_who_have_no_name(tmp_path: Path) -> None:
    book = imported(tmp_path, cues("- You did.\n- I did not!", "Look: there it is."))
    assert rows(book)[:1] == ["You did."]
    assert book.speakers == ()


def test_a_few_labels_name_no_one_else(tmp_path: Path) -> None:
    said = ("You came.", "MAN: I had to.", "Why?", "You hate it.", "I do.", "You do not.")
    book = imported(tmp_path, cues(*said))
    assert rows(book)[:2] == ["You came.", "Man: I had to."]
    assert rows(book)[2] == "Why? You hate it. I do. You do not."


def test_tags_of_voices_name_who_speaks(tmp_path: Path) -> None:
    text = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Anna>Is <i>it</i>?\n<v Ben &amp; Co>No.</v>\n"
    )
    assert rows(imported(tmp_path, text)) == ["Anna: Is *it*?", "Ben & Co: No."]


def test_the_tag_of_a_voice_may_stand_above_its_words(tmp_path: Path) -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Anna>\nIs it?</v>\n<v Ben>\n"
    book = imported(tmp_path, text)
    assert rows(book) == ["Anna: Is it?"]
    assert reasons(book)["nothing said"] == 1


# -- what is no speech -----------------------------------------------------------------------------


def test_sounds_are_directions(tmp_path: Path) -> None:
    text = cues("[door creaks]", "One (he said) two.", "(MUSIC)")
    assert rows(imported(tmp_path, text)) == ["\\[door creaks]", "One (he said) two.", "(MUSIC)"]
    omitted = imported(tmp_path, text, Choices(directions="omit"))
    assert rows(omitted) == ["One (he said) two."]


def test_songs_keep_their_lines_and_are_nobodys(tmp_path: Path) -> None:
    book = imported(tmp_path, cues("ANNA: One.", "♪ Haul away ♪\n♪ my boys ♪"))
    assert rows(book) == ["Anna: One.", "Haul away\\\nmy boys"]


def test_styles_comments_and_tags_of_webvtt_are_left_out(tmp_path: Path) -> None:
    head = "WEBVTT - Talk\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\nNOTE of mine\n\n"
    cue = "intro\n00:01.000 --> 00:02.000 line:0\n{\\an8}<c.red>One</c> <00:01.500>&amp; two.\n"
    book = imported(tmp_path, head + cue)
    assert rows(book) == ["One & two."]
    assert book.language == "en"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_old_files_are_read_whatever_their_bytes(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "old.srt"
    text = cues("Le café est fermé – hélas, c’est ça.", "Il est déjà parti à l’étranger.")
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert rows(whole(path)) == [
        "Le café est fermé – hélas, c’est ça. Il est déjà parti à l’étranger."
    ]


def test_cues_may_lack_numbers_and_blank_lines(tmp_path: Path) -> None:
    text = "00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:02,000 --> 00:00:03,000\n\nis two."
    assert rows(imported(tmp_path, text)) == ["One is two."]


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
