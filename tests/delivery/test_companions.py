from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import webvtt

from narrator.delivery import companions
from narrator.delivery.companions import SpokenChapter, WrittenCompanions, cue
from narrator.delivery.export import ListenerFile
from narrator.project.facts import BookFacts
from tests.spoken_books import delivered, of_lines, spoken

TAGS = BookFacts(title="The “Ferry” 🚢", authors=("A. Author", "B. 作者"), language="en-GB")


def book(count: int = 3) -> list[SpokenChapter]:
    return [
        spoken(f"ann: This is chapter {n}.\n\nbob: It is.\n", n, title=f'Nr. {n} "é" 中')
        for n in range(1, count + 1)
    ]


def write(
    folder: Path, chapters: list[SpokenChapter], files: list[ListenerFile], *wanted: str
) -> WrittenCompanions:
    return companions.write(chapters, files, wanted, tags=TAGS, book=folder / "Book.epub")


def milliseconds(clock: str) -> int:
    hours, minutes, seconds = clock.split(":")
    return round((int(hours) * 3600 + int(minutes) * 60) * 1000 + float(seconds) * 1000)


def test_each_file_has_its_companions_beside_it(tmp_path: Path) -> None:
    files = delivered(tmp_path, book(), "mp3", each=True)
    made = write(tmp_path, book(), files, "vtt", "srt", "chapters", "cue", "labels")
    names = {path.relative_to(tmp_path).as_posix() for path in made.paths}
    title = book()[0].title
    assert {f"Book (mp3)/01 - {title}{e}" for e in (".vtt", ".srt", ".labels.txt")} <= names
    whole = {n for n in names if "/" not in n}
    assert whole == {f"Book{e}" for e in (".vtt", ".srt", ".labels.txt", ".chapters.json", ".cue")}
    assert len(names) == 5 + 3 * 3
    assert all(path.is_file() for path in made.paths)


@pytest.mark.parametrize("stem", ["Book", "BOOK"])
def test_a_book_in_several_formats_has_companions_of_each(tmp_path: Path, stem: str) -> None:
    one, two = delivered(tmp_path, book(), "m4b", "mp3")
    # names that differ in case alone are one on some disks
    made = write(tmp_path, book(), [one, replace(two, path=tmp_path / f"{stem}.mp3")], "vtt")
    assert [path.name for path in made.paths] == ["Book (m4b).vtt", f"{stem} (mp3).vtt"]


def test_times_count_from_where_the_file_has_the_chapter(tmp_path: Path) -> None:
    chapters = book()
    (file,) = delivered(tmp_path, chapters, "mp3", shift=0.026)
    write(tmp_path, chapters, [file], "vtt")
    starts = [
        milliseconds(c.start) for c in webvtt.read(tmp_path / "Book.vtt") if "chapter" in c.text
    ]
    first = chapters[0].timeline.cues[0].start / chapters[0].timeline.sample_rate
    assert starts == [round(start * 1000) + round(first * 1000) for start in file.starts]


def test_a_chapters_own_file_begins_at_nought(tmp_path: Path) -> None:
    chapters = book()
    files = delivered(tmp_path, chapters, "mp3", book=False, each=True)
    made = write(tmp_path, chapters, files, "vtt")
    assert [webvtt.read(path)[0].start for path in made.paths] == ["00:00:00.500"] * 3


def test_captions_of_chapters_without_silence_between_do_not_overlap(tmp_path: Path) -> None:
    chapters = [spoken("Yes.", n, pace=0.1, head=0.0) for n in (1, 2)]
    (file,) = delivered(tmp_path, chapters, "mp3")
    file = replace(file, starts=(0.0, chapters[0].timeline.cues[0].stop / 8000))
    write(tmp_path, chapters, [file], "vtt")
    one, two = webvtt.read(tmp_path / "Book.vtt")
    assert milliseconds(one.end) == milliseconds(two.start)


def test_parts_of_a_book_have_their_own_chapters(tmp_path: Path) -> None:
    chapters = book(4)
    whole = delivered(tmp_path, chapters, "mp3")[0]
    parts = [
        replace(
            whole, path=tmp_path / f"Book, part {n}.mp3", starts=whole.starts[:2],
            chapters=numbers, seconds=9.0,
        )
        for n, numbers in ((1, (1, 2)), (2, (3, 4)))
    ]  # fmt: skip
    write(tmp_path, chapters, parts, "chapters", "vtt")
    found = json.loads((tmp_path / "Book, part 2.chapters.json").read_text("utf-8"))
    assert [mark["title"] for mark in found["chapters"]] == [c.title for c in chapters[2:]]
    assert "chapter 3" in webvtt.read(tmp_path / "Book, part 2.vtt")[0].text


def test_chapter_marks_for_podcast_apps(tmp_path: Path) -> None:
    (file,) = delivered(tmp_path, book(), "mp3", shift=0.0261)
    write(tmp_path, book(), [file], "chapters")
    found = json.loads((tmp_path / "Book.chapters.json").read_text("utf-8"))
    assert found["version"] == "1.2.0"
    assert found["fileName"] == "Book.mp3"
    assert [mark["startTime"] for mark in found["chapters"]] == [round(s, 3) for s in file.starts]
    ends = [mark["endTime"] for mark in found["chapters"]]
    assert ends == [round(s, 3) for s in (*file.starts[1:], file.seconds)]
    assert [mark["title"] for mark in found["chapters"]] == [c.title for c in book()]


def test_cue_sheet() -> None:
    text = cue.text(
        'A "B".mp3', "mp3", "The “Ferry”", "A. Author",
        [("One", 0.0), ('Say "two"\nwords', 61.0), ("Late", 6000.0 + 74 / 75)],
    )  # fmt: skip
    assert text.splitlines() == [
        'PERFORMER "A. Author"',
        'TITLE "The “Ferry”"',
        "FILE \"A 'B'.mp3\" MP3",
        "  TRACK 01 AUDIO", '    TITLE "One"', "    INDEX 01 00:00:00",
        "  TRACK 02 AUDIO", "    TITLE \"Say 'two' words\"", "    INDEX 01 01:01:00",
        "  TRACK 03 AUDIO", '    TITLE "Late"', "    INDEX 01 100:00:74",
    ]  # fmt: skip


def test_a_cue_sheet_rounds_to_frames_and_never_to_frame_75() -> None:
    text = cue.text("b.flac", "flac", "B", "", [("One", 0.0), ("Two", 59.9999)])
    assert "INDEX 01 01:00:00" in text
    assert 'FILE "b.flac" WAVE' in text


def test_labels_of_takes(tmp_path: Path) -> None:
    unison = replace(of_lines(("ann", "Will you?"), ("ann & bob", "We do!")), number=2)
    chapters = [book(1)[0], unison]
    (file,) = delivered(tmp_path, chapters, "wav")
    write(tmp_path, chapters, [file], "labels")
    rows = [r.split("\t") for r in (tmp_path / "Book.labels.txt").read_text("utf-8").splitlines()]
    assert [row[2] for row in rows] == [
        "1.1 ann: This is chapter 1.", "1.2 bob: It is.", "1.1 ann: Will you?",
        "1.2 ann & bob: We do!",
    ]  # fmt: skip
    assert float(rows[2][0]) == pytest.approx(file.starts[1] + 0.5, abs=1e-6)


def test_what_is_as_it_should_be_is_not_written_again(tmp_path: Path) -> None:
    files = delivered(tmp_path, book(), "mp3", each=True)
    kinds = ("vtt", "srt", "chapters", "cue", "labels", "readalong")
    paths = write(tmp_path, book(), files, *kinds).paths
    before = [path.stat().st_mtime_ns for path in paths]
    data = [path.read_bytes() for path in paths]
    assert [p.stat().st_mtime_ns for p in write(tmp_path, book(), files, *kinds).paths] == before
    for path in paths:
        path.write_text("altered") if path.suffix == ".vtt" else path.unlink()
    assert [path.read_bytes() for path in write(tmp_path, book(), files, *kinds).paths] == data


def test_subtitles_name_chunks_by_choice(tmp_path: Path) -> None:
    long = "I have come a long way to see it, and it was not worth the price of the ticket. " * 2
    chapters = [spoken(f"ann: {long}\n\nbob: It is.\n", 3)]
    files = delivered(tmp_path, chapters, "mp3")
    kinds = ("vtt", "srt")
    plain = {
        path.suffix: path.read_text() for path in write(tmp_path, chapters, files, *kinds).paths
    }
    made = companions.write(chapters, files, kinds, tags=TAGS, book=tmp_path / "x", ids=True)
    found = {path.suffix: path.read_text("utf-8") for path in made.paths}
    names = [caption.identifier for caption in webvtt.from_string(found[".vtt"])]
    assert names[:2] == ["3.1", "3.1/2"]
    assert len(set(names)) == len(names)
    assert "[3.1] ann: I have" in " ".join(found[".srt"].split())
    assert found[".srt"].count("[3.") == 2
    assert "3.1\n" not in plain[".vtt"]
    assert "[3." not in plain[".srt"]


def test_progress_counts_companions(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    files = delivered(tmp_path, book(), "mp3")
    companions.write(
        book(), files, ["vtt", "srt", "readalong"], tags=TAGS, book=tmp_path / "b.epub",
        on_progress=lambda done, whole: heard.append((done, whole)),
    )  # fmt: skip
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]
