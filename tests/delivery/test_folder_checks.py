"""Folders with a file too few, too many, or of another book: of ours, and of anyone's."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from typer.testing import CliRunner

from narrator import cli, keys
from narrator.cli import companions, delivery, rendering
from narrator.project.profiles import PROFILES
from narrator.sound import probe
from narrator.sound.audio import Samples
from tests import books, spoken
from tests.effort import quick
from tests.fakes import HumEngine
from tests.sound_files import png, write
from tests.sounds import noise, silence, voice

assert delivery  # its command is part of the app
assert companions
assert rendering

RATE = 8000
CODECS = {".mp3": "libmp3lame", ".m4b": "aac", ".flac": "flac", ".wav": "pcm_s16le"}


KNOWN: dict[str, probe.FileFigures] = {}


@pytest.fixture(autouse=True)
def no_file_is_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most files of these folders are alike: what is measured follows from their bytes."""

    def figures(path: Path, report: Callable[[float], None]) -> probe.FileFigures:
        content = keys.file_content(path) + path.suffix
        if content not in KNOWN:
            KNOWN[content] = probe.measure_sound_file(path, report)
        return replace(KNOWN[content], path=path)

    monkeypatch.setattr("narrator.delivery.postflight.measure_sound_file", figures)


def verify(*arguments: object) -> tuple[int, Any]:
    result = CliRunner().invoke(cli.app, ["verify", *map(str, arguments), "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, json.loads(result.stdout)


def said(*arguments: object) -> list[str]:
    """Returns the findings on folders, a line each."""
    rows = verify(*arguments)[1]["folders"]
    return [f"{Path(row['file'] or row['folder']).name}: {row['what']}" for row in rows]


@functools.cache
def sound(number: int, seconds: int = 8) -> Samples:
    """Louder and softer, second by second, as no other number is."""
    loud = np.random.default_rng(number).uniform(0.1, 1, seconds).astype(np.float32)
    return voice(seconds, rate=RATE, seed=number, level=-26) * np.repeat(loud, RATE)


def chapter(folder: Path, number: int, total: int = 4, *, name: str = "", **tags: str) -> Path:
    """One of anyone's book: numbered by its tags, or by its name where `total` is 0."""
    folder.mkdir(exist_ok=True, parents=True)
    facts = {"title": f"T{number}", "album": "A", "artist": "N"}
    if total:
        facts["track"] = f"{number}/{total}"
    facts |= tags
    path = folder / (name or f"{number:02} - T{number}.flac")
    return write(path, sound(number), rate=RATE, codec="flac", tags=facts)


# -- of every profile ------------------------------------------------------------------------------


Delivered = Callable[[str], Path]
EVERY = quick(PROFILES, "acx")
"""The quick one has files of chapters with their credits and a sample."""


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Delivered:
    """The build of one book for a profile, rendered once."""

    @functools.cache
    def build(name: str) -> Path:
        root = tmp_path_factory.mktemp(name)
        (root / "c.png").write_bytes(png(1400, 1400))
        more = (
            f"output: {{profile: [{name}]}}\ncover: c.png\nnarrated_by: N\n"
            "credits: {opening: This is the book., closing: This was the book.}\n"
        )
        brief = {"acx": replace(PROFILES["acx"], sample=(5.0, 300.0))}
        with mock.patch.dict(PROFILES, brief):  # else its sample asks for a minute of a book
            report, _ = books.run(books.brief(root, books.PLAIN + more), HumEngine())
        assert report.complete
        return root / "build"

    return build


def stranger(file: Path) -> Path:
    """A file of another book beside one."""
    path = file.with_name(f"99 - Another{file.suffix}")
    tags = {"title": "X", "album": "Another", "artist": "M", "track": "99/99"}
    return write(path, sound(99), rate=48000, codec=CODECS[file.suffix], tags=tags)


FAULTS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "twice": lambda file: shutil.copy(file, file.with_stem(f"{file.stem} copy")),
    "of another book": stranger,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("profile", EVERY)
def test_a_folder_with_a_file_missing_doubled_or_strange_fails(
    delivered: Delivered, tmp_path: Path, profile: str, fault: str
) -> None:
    build = tmp_path / "build"
    folder = build / "book" / profile
    shutil.copytree(delivered(profile) / "book" / profile, folder)
    shutil.copy(delivered(profile) / "made.json", build)
    files = sorted(path for path in folder.rglob("*") if path.suffix in CODECS)
    FAULTS[fault](files[len(files) // 2])
    code, found = verify(folder, "--profile", profile)
    assert code == 1
    assert found["folders"]
    loose = shutil.move(folder, tmp_path / "loose")  # without what was made there
    if list(loose.rglob("*.*")) and (fault != "missing" or len(files) > 2):
        code, found = verify(loose, "--profile", profile)
        assert code == 1
        assert found["folders"]


@pytest.mark.parametrize("profile", EVERY)
def test_a_folder_as_it_was_delivered_passes(
    delivered: Delivered, tmp_path: Path, profile: str
) -> None:
    folder = delivered(profile) / "book" / profile
    assert verify(folder, "-p", profile) == (0, verify(folder, "-p", profile)[1])
    shutil.copytree(folder, tmp_path / "loose")
    assert said(tmp_path / "loose", "-p", profile) == []


def test_a_whole_build_is_its_finished_files_alone(delivered: Delivered, tmp_path: Path) -> None:
    shutil.copytree(delivered("acx"), tmp_path / "build")
    old = tmp_path / "build" / "superseded" / "book" / "x.mp3"
    old.parent.mkdir(parents=True)
    shutil.copy(next(delivered("acx").rglob("*.mp3")), old)
    _, found = verify(tmp_path)
    assert found["folders"] == []
    assert all("/build/book/" in row["file"] for row in found["files"])


# -- of ours ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished files of a small book, in its build."""
    root = tmp_path_factory.mktemp("ours")
    books.run(books.brief(root), HumEngine())
    return root / "build"


def copied(build: Path, where: Path) -> Path:
    shutil.copytree(build / "book", where / "build" / "book")
    shutil.copy(build / "made.json", where / "build")
    return next((where / "build" / "book").iterdir())


def test_a_file_that_was_made_longer_is_told(ours: Path, tmp_path: Path) -> None:
    import soundfile

    folder = copied(ours, tmp_path)
    path = folder / "02 - Evening.wav"
    samples, rate = soundfile.read(path)
    longer = np.concatenate([samples, noise(40, rms=-68, rate=rate)])
    soundfile.write(path, longer, rate)
    (line,) = said(folder)
    assert line.startswith("02 - Evening.wav: lasts 0:00:51.")
    assert "and was made 0:00:11.65 long" in line
    shutil.copy(folder / "01 - Morning.wav", path)  # chapter 1 twice, under the name of 2
    assert any(line.startswith("02 - Evening.wav: lasts") for line in said(folder))


def spoil(path: Path) -> None:
    """Alter a byte in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_file_that_was_altered_is_told(ours: Path, tmp_path: Path) -> None:
    folder = copied(ours, tmp_path)
    spoil(folder / "02 - Evening.wav")
    assert said(folder) == ["02 - Evening.wav: has been changed since it was made"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])


COMPANION_FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "captions altered": (".vtt", spoil, "has been changed since it was made"),
    "chapters altered": (".chapters.json", spoil, "has been changed since it was made"),
    "read-along cut off": (".epub", cut, "is cut off: "),
    "captions missing": (".vtt", Path.unlink, "is missing"),
    "feed altered": (".xml", spoil, "has been changed since it was made"),
}


@pytest.fixture(scope="module")
def with_companions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build of a small book with all companions and a feed."""
    root = tmp_path_factory.mktemp("companions")
    more = "output: {formats: m4b, companions: [vtt, srt, chapters, cue, readalong]}\n"
    path = books.brief(root, books.PLAIN + more)
    books.run(path, HumEngine())
    finished = root / "build" / "book"
    arguments = ["feed", str(finished), "--base-url", "https://a.example", "--description", "D."]
    rows = [(path, "") for path in finished.glob("*.m4b")]
    with (
        mock.patch("narrator.delivery.products.list_sound_files", return_value=rows),
        mock.patch("narrator.cli.companions.load_plan"),
    ):
        assert CliRunner().invoke(cli.app, arguments).exit_code == 0
    return root / "build"


@pytest.mark.parametrize("fault", quick(COMPANION_FAULTS, *list(COMPANION_FAULTS)[::3]))
def test_what_lies_beside_the_sound_is_verified_too(
    with_companions: Path, tmp_path: Path, fault: str
) -> None:
    folder = tmp_path / "build" / "book"
    shutil.copytree(with_companions / "book", folder)
    shutil.copy(with_companions / "made.json", tmp_path / "build")
    assert verify(folder)[0] == 0
    ending, harm, words = COMPANION_FAULTS[fault]
    harm(next(folder.glob(f"*{ending}")))
    code, found = verify(folder)
    assert code == 1
    (row,) = found["folders"]
    assert words in row["what"]
    again = "narrator feed" if ending == ".xml" else "narrator export"
    assert row["mend"] == f"`{again}` makes it again"


def test_a_folder_whose_only_file_is_gone_fails_and_says_so(ours: Path, tmp_path: Path) -> None:
    folder = copied(ours, tmp_path)
    for path in folder.iterdir():
        path.unlink()
    code, found = verify(folder)
    assert code == 1
    assert [row["what"] for row in found["folders"]] == [
        "01 - Morning.wav is missing (number 1)", "02 - Evening.wav is missing (number 2)",
    ]  # fmt: skip
    result = CliRunner().invoke(cli.app, ["verify", str(folder)])
    assert "`narrator export` makes it again" in result.output
    assert result.output.splitlines()[-1] == "0 files: 2 faults of folders"


def test_music_and_clips_that_a_project_builds_from_are_none_of_its_files(
    ours: Path, tmp_path: Path
) -> None:
    folder = copied(ours, tmp_path)
    for name in ("music/theme.wav", "voices/ann.wav"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(folder / "02 - Evening.wav", tmp_path / name)
    code, found = verify(tmp_path)
    assert (code, found["folders"]) == (0, [])
    assert [Path(row["file"]).parent for row in found["files"]] == [folder, folder]


# -- of anyone's -----------------------------------------------------------------------------------


def test_a_folder_that_is_whole_has_no_findings(tmp_path: Path) -> None:
    for number in range(1, 5):
        chapter(tmp_path / "tags", number)
        chapter(tmp_path / "names", number, 0, name=f"My book, chapter {number}.flac")
    assert said(tmp_path / "tags") == said(tmp_path / "names") == []


def test_a_file_that_is_named_like_a_list_of_ours_hides_no_sound(tmp_path: Path) -> None:
    chapter(tmp_path / "tags", 1)
    (tmp_path / "made in summer.json").write_text('{"title": "Made in Summer"}')
    assert len(verify(tmp_path)[1]["files"]) == 1


@pytest.mark.parametrize("total", [0, 5])
def test_holes_in_the_numbering_are_named(tmp_path: Path, total: int) -> None:
    for number in (1, 2, 4, 5):
        chapter(tmp_path, number, total)
    assert said(tmp_path) == [f"{tmp_path.name}: number 3 of 5 is missing"]
    (tmp_path / "01 - T1.flac").unlink()
    assert said(tmp_path) == [f"{tmp_path.name}: numbers 1, 3 of 5 are missing"]


def test_a_last_chapter_that_is_missing_is_known_by_the_tags(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        chapter(tmp_path, number)
    assert said(tmp_path) == [f"{tmp_path.name}: number 4 of 4 is missing"]


def test_the_same_number_and_the_same_sound_twice_are_named(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        chapter(tmp_path, number, 3)
    shutil.copy(tmp_path / "02 - T2.flac", tmp_path / "02 - T2 (2).flac")
    assert said(tmp_path) == ["02 - T2 (2).flac: holds the same sound as '02 - T2.flac'"]
    (tmp_path / "02 - T2 (2).flac").unlink()
    again = tmp_path / "04 - T4.mp3"  # coded anew, under another name
    write(again, sound(2), rate=RATE, bitrate=64, tags={"album": "A", "title": "T4"})
    assert "04 - T4.mp3: holds the same sound as '02 - T2.flac'" in said(tmp_path)
    again.unlink()
    chapter(tmp_path, 7, 3, name="x.flac", track="2/3")
    assert said(tmp_path) == ["02 - T2.flac: has number 2, as 'x.flac' has"]


def book_beside_chapters(folder: Path) -> Path:
    """The file of a whole book of three chapters, which lie in a folder beside it."""
    tags = {"title": "A", "album": "A", "artist": "N"}
    spoken_chapters = [fluent(number) for number in (1, 2, 3)]
    for number, samples in enumerate(spoken_chapters, 1):
        place = folder / "Book (mp3)" / f"{number:02} - T{number}.mp3"
        place.parent.mkdir(parents=True, exist_ok=True)
        facts = {"title": f"T{number}", "album": "A", "artist": "N", "track": f"{number}/3"}
        write(place, samples, rate=RATE, bitrate=64, tags=facts)
    ends = np.cumsum([0, *(len(samples) / RATE for samples in spoken_chapters)]).tolist()
    marks = [(ends[n], ends[n + 1], f"T{n + 1}") for n in range(3)]
    whole = np.concatenate(spoken_chapters)
    return write(folder / "A.mp3", whole, rate=RATE, bitrate=64, tags=tags, marks=marks)


def fluent(number: int) -> Samples:
    """Eight seconds whose spectrum changes all the time, as speech does."""
    draw = np.random.default_rng(number)
    seconds = np.arange(8 * RATE) / RATE
    pitches = np.repeat(draw.uniform(200, 3000, (4, 80)), RATE // 10, axis=1)
    sound = sum(np.sin(2 * np.pi * row * seconds) for row in pitches) * 0.05
    return np.asarray(sound + draw.normal(0, 3e-4, len(sound)), np.float32)


def test_the_default_layout_of_book_and_chapters_is_no_fault(tmp_path: Path) -> None:
    book_beside_chapters(tmp_path)
    assert said(tmp_path) == []
    assert said(tmp_path, "-p", "archive") == []  # which is both
    line = "A.mp3: is the whole book, and 3 chapters of it lie beside it: a library reads both"
    assert line in said(tmp_path, "-p", "acx")


def test_chapters_in_wav_need_no_cover_beside_a_book_with_one(tmp_path: Path) -> None:
    KNOWN.clear()
    book = book_beside_chapters(tmp_path)
    for number in (1, 2, 3):
        facts = {"title": f"T{number}", "album": "A", "artist": "N", "track": f"{number}/3"}
        chapter_file = tmp_path / f"{number:02} - T{number}.wav"
        write(chapter_file, fluent(number), rate=RATE, codec="pcm_s24le", tags=facts)
        (tmp_path / "Book (mp3)" / f"{number:02} - T{number}.mp3").unlink()
    said(tmp_path)
    for content, figures in list(KNOWN.items()):
        if figures.path == book:
            KNOWN[content] = replace(figures, cover=(9, 9))
    assert not [line for line in said(tmp_path) if "has no cover" in line]
    KNOWN.clear()


def test_a_wrong_title_of_a_whole_book_is_named(tmp_path: Path) -> None:
    marks = [(0, 4, "One"), (4, 8, "Two")]
    wrong = "N - Dune.mp3: has the title 'Emma', and its name and album are of 'Dune'"
    for title, lines in (("Dune (unabridged)", []), ("Emma", [wrong])):
        tags = {"title": title, "album": "Dune", "artist": "N"}
        write(tmp_path / "N - Dune.mp3", fluent(1), rate=RATE, bitrate=64, tags=tags, marks=marks)
        assert said(tmp_path) == lines


def rewritten(path: Path, samples: Samples, **tags: str) -> None:
    facts = {"title": "T2", "album": "A", "artist": "N", "track": "2/3"} | tags
    write(path, samples, rate=RATE, bitrate=64, tags=facts)


CHAPTER_FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "another sound": (
        lambda path: rewritten(path, fluent(9)),
        "is not the same sound as chapter 2",
    ),
    "another title": (
        lambda path: rewritten(path, fluent(2), title="X"),
        "has the title 'X', and chapter 2 of 'A.mp3' 'T2'",
    ),
    "cut": (lambda path: rewritten(path, fluent(2)[: 6 * RATE]), "lasts 0:00:06.00, and chapter 2"),
}


@pytest.mark.parametrize("fault", quick(CHAPTER_FAULTS, "another sound"))
def test_a_chapter_that_is_not_what_the_book_holds_is_named(tmp_path: Path, fault: str) -> None:
    book_beside_chapters(tmp_path)
    spoil_chapter, words = CHAPTER_FAULTS[fault]
    spoil_chapter(tmp_path / "Book (mp3)" / "02 - T2.mp3")
    assert any(line.startswith(f"02 - T2.mp3: {words}") for line in said(tmp_path))


def test_short_chapters_do_not_hold_the_same_sound(tmp_path: Path) -> None:
    texts = ("Short. It was late.", "No! Not here.", "Come in. Sit down.")
    for number, text in enumerate(texts, 1):
        facts = {"title": f"T{number}", "album": "A", "track": f"{number}/3"}
        sound = np.concatenate([silence(1, spoken.RATE), spoken.draft(text * 3)])
        write(tmp_path / f"{number}.mp3", sound, rate=spoken.RATE, bitrate=64, tags=facts)
    assert said(tmp_path) == []


def test_a_missing_cover_among_others_is_named(tmp_path: Path) -> None:
    KNOWN.clear()
    for number in (1, 2, 3):
        chapter(tmp_path, number, 3)
    assert said(tmp_path) == []
    for content, figures in list(KNOWN.items()):
        if figures.path.parent == tmp_path and figures.path.name != "03 - T3.flac":
            KNOWN[content] = replace(figures, cover=(9, 9))
    assert said(tmp_path) == ["03 - T3.flac: has no cover, and the others have one"]
    KNOWN.clear()


def late(path: Path) -> None:
    """Moves captions by two seconds."""
    text = path.read_text("utf-8")
    path.write_text(re.sub(r":(\d\d)\.", lambda m: f":{int(m[1]) + 2:02}.", text), "utf-8")


def list_late(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace('"startTime": 0', '"startTime": 2'))


LOOSE_FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "late": (".vtt", late, " s late against its sound"),
    "cut": (".vtt", lambda path: path.write_bytes(path.read_bytes()[:200]), ".vtt: ends at "),
    "list late": (".chapters.json", list_late, ".json: has 'Morning' begin at 0:00:02.00"),
    "list torn": (".chapters.json", cut, ".chapters.json: is torn: it cannot be read"),
    "read-along cut": (".epub", cut, ".epub: is torn: it cannot be read"),
}


@pytest.mark.parametrize("fault", quick(LOOSE_FAULTS, "late", "list torn"))
def test_companions_are_held_to_the_sound_without_an_inventory(
    with_speech: Path, tmp_path: Path, fault: str
) -> None:
    folder = shutil.copytree(with_speech, tmp_path / "copy")
    assert said(folder) == []
    ending, harm, words = LOOSE_FAULTS[fault]
    harm(next(folder.glob(f"*{ending}")))
    (line,) = said(folder)
    assert words in line


def test_captions_of_a_few_seconds_are_not_called_late_or_torn(tmp_path: Path) -> None:
    write(tmp_path / "x.flac", fluent(1)[: 2 * RATE], rate=RATE, codec="flac")
    (tmp_path / "x.vtt").write_text("WEBVTT\n\n00:00.500 --> 00:01.900\nShort.\n")
    assert said(tmp_path) == []


@pytest.fixture(scope="module")
def with_speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished files of a book that the draft voice spoke, with companions."""
    root = tmp_path_factory.mktemp("speech")
    lines = "[" + ", ".join(f'"The {word} was here. It went away."' for word in WORDS) + "]"
    manifest = (
        "title: T\nauthor: A\noutput: {formats: m4b, files: book, "
        "companions: [vtt, chapters, cue, readalong]}\n"
        f"chapters: [{{title: Morning, lines: {lines}}}, {{title: Noon, lines: [It rained.]}}]\n"
        "engine: draft\n"
    )
    path = root / "book.yaml"
    path.write_text(manifest)
    assert CliRunner().invoke(cli.app, ["render", str(path)]).exit_code == 0
    return root / "build" / "book"


WORDS = ("old cat", "captain of the ship", "rain", "letter from her aunt", "dog", "light")


@pytest.mark.parametrize("change", ["doubled", "silent"])
def test_a_passage_that_comes_twice_and_a_hole_are_found_in_a_single_file(
    tmp_path: Path, change: str
) -> None:
    sound = spoken.draft()
    room = noise(len(sound) / spoken.RATE + 3, rms=-70, rate=spoken.RATE)
    sound = np.concatenate([silence(2, spoken.RATE), sound, silence(1, spoken.RATE)])
    sound = sound[: len(room)] + room[: len(sound)]
    first, second = (round(seconds * spoken.RATE) for seconds in (4.13, 6.13))
    good = write(tmp_path / "good.mp3", sound, rate=spoken.RATE, bitrate=64)
    assert failed(good) == []
    if change == "doubled":
        sound = np.concatenate([sound[:second], sound[first:]])
    else:
        sound = sound.copy()
        sound[first:second] = 0
    bad = write(tmp_path / "bad.mp3", sound, rate=spoken.RATE, bitrate=64)
    assert failed(bad) == ["repeats" if change == "doubled" else "hole"]


def failed(path: Path) -> list[str]:
    (row,) = verify(path)[1]["files"]
    return [check["name"] for check in row["checks"] if not check["ok"]]


def test_files_of_another_book_are_named(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        chapter(tmp_path, number, 3)
    chapter(tmp_path, 4, 3, name="x.flac", album="B")
    assert said(tmp_path) == [
        "x.flac: is of another book: its album is 'B', that of the others 'A'"
    ]
    (tmp_path / "x.flac").unlink()
    chapter(tmp_path, 3, 9, name="03 - T3.flac")
    other = "is of another book: its number of tracks is '9', that of the others '3'"
    assert f"03 - T3.flac: {other}" in said(tmp_path)
    chapter(tmp_path, 3, 3)
    facts = {"title": "T", "album": "A", "artist": "N", "track": "3/3"}
    write(tmp_path / "03 - T3.flac", sound(3), rate=16000, codec="flac", tags=facts)
    assert said(tmp_path) == [
        "03 - T3.flac: is of another book: its sample rate is '16000 Hz', that of the others "
        "'8000 Hz'"
    ]


def test_files_whose_names_were_exchanged_are_named(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        chapter(tmp_path, number, 3)
    assert said(tmp_path) == []
    first, second, _ = sorted(tmp_path.iterdir())
    first.rename(tmp_path / "x.flac")
    second.rename(first)
    (tmp_path / "x.flac").rename(second)
    assert [line.split(":", 1)[1] for line in said(tmp_path)] == [
        " is number 2 by its tags, and stands elsewhere by its name",
        " is number 1 by its tags, and stands elsewhere by its name",
    ]


def test_a_shelf_of_many_books_is_none(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        chapter(tmp_path, number, 0, name=f"Title {number}.flac", album=f"Book {number}")
    assert said(tmp_path) == []
    assert said(tmp_path, "-p", "archive") == [
        f"{tmp_path.name}: holds files of more than one album: 'Book 1', 'Book 2', 'Book 3'"
    ]


@pytest.mark.slow
def test_a_book_goes_on_from_disc_to_disc(tmp_path: Path) -> None:
    for number in (1, 2):
        chapter(tmp_path / "CD 1", number, 4)
        chapter(tmp_path / "CD 2", number + 2, 4)
    assert said(tmp_path) == []
    for path in (tmp_path / "CD 2").iterdir():
        path.unlink()
    for number in (1, 3):
        chapter(tmp_path / "CD 2", number + 2, 3, disc="2", track=f"{number}/3")
    for number in (1, 2):
        chapter(tmp_path / "CD 1", number, 2, disc="1")
    assert said(tmp_path) == ["CD 1: number 2 of 3 on disc 2 is missing"]


def test_files_that_are_named_one_by_one_are_no_folder(tmp_path: Path) -> None:
    for number in (1, 3):
        chapter(tmp_path, number)
    assert verify(*sorted(tmp_path.iterdir()))[1]["folders"] == []


def test_odd_tags_and_names_are_no_error(tmp_path: Path) -> None:
    chapter(tmp_path, 1, track="one", disc="-", album="")
    chapter(tmp_path, 2, 0, track="99999999999999999999/0", name="٣ - x.flac")
    chapter(tmp_path, 3, 0, track="0/0", name="(2)(3) copy.flac")
    verify(tmp_path)


@pytest.mark.parametrize("rows", ["{", "[]", '{"book/x.flac": [[0], "s", {"seconds": "x"}]}'])
def test_a_list_of_ours_that_is_torn_is_no_error(tmp_path: Path, rows: str) -> None:
    folder = tmp_path / "build" / "book"
    chapter(folder, 1, 1, name="x.flac")
    (tmp_path / "build" / "made.json").write_text(rows)
    verify(folder)
