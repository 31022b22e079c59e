"""Refusals of profiles come before anything is spoken; files of an accepted plan pass."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from narrator.delivery import preflight
from narrator.delivery.postflight import checks
from narrator.engines import Request, Speech
from narrator.errors import ExportError, ManifestError
from narrator.pipeline.manuscript import read_manuscript
from narrator.sound.probe import measure_sound_file
from tests import books, faults
from tests.effort import quick
from tests.fakes import RATE, HumEngine
from tests.sound_files import png, wav
from tests.sounds import tone, voice

ACX = "output: {profile: mine}\nprofiles: {mine: {base: acx, credits: false, sample: null%s}}\n"
SHELF = "output: {profile: audiobookshelf}\n"
BLACK = "output: {profile: black}\nprofiles: {black: {base: audiobookshelf, room_tone: null%s}}\n"


def problems(
    folder: Path, more: str, one: str = books.ONE, two: str = books.TWO, plain: str = books.PLAIN
) -> list[str]:
    path = books.write(folder, plain + more, one, two)
    manuscript = read_manuscript(path)
    chapters = preflight.expected_shapes(manuscript.project, manuscript.spoken)
    try:
        preflight.check_output(manuscript.project, RATE, chapters)
    except ManifestError as error:
        return [str(problem).replace(f"{folder}/", "") for problem in error.problems]
    return []


# -- music -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "kind", "place", "demand"),
    [
        ("place: intro", "an intro", "in a chapter's head", "head"),
        ("place: outro", "an outro", "in a chapter's tail", "tail"),
        ("place: bed, loop: true", "a bed", "in a chapter's head", "head"),
        ("place: bed, chapters: 1, scene: 2, loop: true", "a bed", "in a chapter's tail", "tail"),
        ("place: bed, name: rain", "a bed", "in a chapter's head", "head"),
    ],
)
def test_music_where_a_profile_asks_for_quiet_is_refused(
    entry: str, kind: str, place: str, demand: str, tmp_path: Path
) -> None:
    wav(tmp_path / "a.wav", tone(2))
    more = ACX % "" + f"music:\n  - {{file: a.wav, {entry}}}\n"
    one = "[music: rain]\n\n" + books.ONE if "rain" in entry else books.ONE
    assert problems(tmp_path, more, one) == [
        f"book.yaml:13: music[1]: {kind} sounds {place}, where profile mine asks for quiet: leave "
        f"it out, or deliver to a profile of your own with `{demand}: null`"
    ]
    assert problems(tmp_path, more.replace("acx, credits: false", "spotify"), one) == []


def test_a_bed_all_through_a_chapter_breaks_a_noise_floor(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(2))
    music = "music:\n  - {file: a.wav, place: bed, loop: %s}\n"
    found = problems(tmp_path, ACX % ", head: null, tail: null" + music % "true")
    assert len(found) == 1
    assert "a bed sounds all through a chapter, where profile mine asks for quiet" in found[0]
    assert problems(tmp_path, ACX % ", head: null, tail: null" + music % "false") == []


def test_a_bed_in_the_midst_of_a_chapter_breaks_nothing(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(2))
    more = ACX % "" + "music:\n  - {file: a.wav, place: bed, name: rain, loop: true}\n"
    one = books.ONE.replace("ann (whispering)", "[music: rain]\n\nann (whispering)")
    off = one.replace("By noon", "[music: off]\n\nBy noon")
    assert problems(tmp_path, more, off) == []
    (found,) = problems(tmp_path, more, one)
    assert "in a chapter's tail" in found


# -- pauses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pauses", "message"),
    [
        ("head: 1.0", "a head of 0.5 to 1 s: set pauses.head, which is 1, to 0.6 to 0.9"),
        ("tail: 5.0", "a tail of 1 to 5 s: set pauses.tail, which is 5, to 1.1 to 4.9"),
        ("tail: 1.05", "a tail of 1 to 5 s: set pauses.tail, which is 1.05, to 1.1 to 4.9"),
    ],
)
def test_edges_keep_off_their_limits(pauses: str, message: str, tmp_path: Path) -> None:
    more = ACX % "" + f"pauses:\n  {pauses}\n"
    assert problems(tmp_path, more) == [f"book.yaml:13: profile mine asks for {message}"]


def test_pauses_by_hand_at_the_edges_of_a_file_are_refused_where_they_stand(tmp_path: Path) -> None:
    one = books.ONE.replace("# Morning\n", "[pause 2s]\n\n# Morning\n")
    two = books.TWO.rstrip() + " [pause 7s]\n"
    last = len(two.splitlines())
    head, tail = (
        "text/one.md:3: profile mine asks for a head of 0.5 to 1 s, and 'Morning' begins with "
        "2.75 s: shorten its [pause]",
        f"text/two.md:{last}: profile mine asks for a tail of 1 to 5 s, and 'Evening' ends with "
        "7 s: shorten its [pause]",
    )
    assert problems(tmp_path, ACX % "", one, two) == [head, tail]
    # in a file of the whole book they stand at its edges too, and those within are no edges
    book = ACX % ", formats: m4b"
    assert problems(tmp_path, book, one, two) == [head, tail]
    assert problems(tmp_path, book, books.ONE.rstrip() + " [pause 4s]\n") == []


@pytest.mark.parametrize(
    ("pauses", "one", "message"),
    [
        ("{tail: 5.5}", books.ONE, "book.yaml:12: 6.25 s of digital silence, and profile "
         "black takes 6: shorten pauses.tail"),
        ("{scene: 8}", books.ONE, "book.yaml:12: 8 s of digital silence, and profile "
         "black takes 6: shorten pauses.scene"),
        ("{}", books.ONE.rstrip() + " [pause 7s]\n", "text/one.md:15: 7.75 s of digital silence, "
         "and profile black takes 6: shorten the [pause]"),
        ("{}", books.ONE.replace("He moved his bag from the seat.", "He sat. [pause 8s]"),
         "text/one.md:11: 8 s of digital silence, and profile black takes 6: shorten the "
         "[pause]"),
    ],
)  # fmt: skip
def test_silence_that_is_longer_than_a_profile_takes_is_refused(
    pauses: str, one: str, message: str, tmp_path: Path
) -> None:
    advice = ", or deliver to a profile of your own with `room_tone: -70`"
    assert problems(tmp_path, BLACK % "" + f"pauses: {pauses}\n", one) == [message + advice]
    for change in ("gap: null", "gap: 10"):
        assert problems(tmp_path, BLACK % f", {change}" + f"pauses: {pauses}\n", one) == []
    assert problems(tmp_path, SHELF + f"pauses: {pauses}\n", one) == []  # has room tone


def test_music_fills_silence(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(2))
    more = BLACK % "" + "pauses: {tail: 5.5}\nmusic:\n  - {file: a.wav, place: %s}\n"
    assert problems(tmp_path, more % "intro, chapters: [1, 2]") == []
    assert problems(tmp_path, more % "outro, chapters: [1, 2]") == []
    assert len(problems(tmp_path, more % "intro")) == 1  # before the first chapter alone
    one = books.ONE.replace("He moved his bag from the seat.", "He sat. [pause 8s]")
    assert len(problems(tmp_path, more % "outro, chapters: [1, 2]", one)) == 1
    bed = BLACK % "" + "music:\n  - {file: a.wav, place: bed, loop: true}\n"
    assert problems(tmp_path, bed, one) == []


# -- lengths ---------------------------------------------------------------------------------------


def test_a_chapter_that_is_far_too_long_is_refused_before_it_is_spoken(tmp_path: Path) -> None:
    found = problems(tmp_path, ACX % ", longest: 0.5")
    assert len(found) == 1
    assert found[0].startswith("book.yaml:8: 'Morning' will last about ")
    assert found[0].endswith("and profile mine takes 0.5 a file: make two chapters of it")
    assert problems(tmp_path, ACX % ", longest: 2") == []
    faster = books.PLAIN.replace("An old ferryman}", "An old ferryman}, speed: 2.0")
    faster = faster.replace("seed: 3}", "seed: 3}, speed: 2.0")
    assert problems(tmp_path, ACX % ", longest: 0.5", plain=faster) == []


def test_a_sample_that_is_far_too_short_is_refused_before_it_is_spoken(tmp_path: Path) -> None:
    more = (
        "output: {profile: mine, sample: {chapter: %s}}\n"
        "profiles: {mine: {base: acx, credits: false, sample: [45, 300]}}\n"
    )
    (found,) = problems(tmp_path, more % "Evening")
    assert found.startswith("book.yaml:10: output.sample: 'Evening' gives about ")
    assert "from 0 s on, of 45 s that profile mine asks for; choose another chapter" in found
    assert problems(tmp_path, more % "Morning") == []
    assert len(problems(tmp_path, more % "Morning, start: 40")) == 1


# -- names and covers ------------------------------------------------------------------------------


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    same = books.PLAIN.replace("Evening", "morning")
    more = "output: {profile: mine}\nprofiles: {mine: {base: spotify, chapter_name: '{chapter}'}}\n"
    (found,) = problems(tmp_path, more, plain=same)
    assert found.startswith("book.yaml:10: chapter 1 'Morning' and chapter 2 'morning' would both")


@pytest.mark.parametrize(
    ("cover", "message"),
    [
        (None, "book.yaml:10: profile apple-podcasts asks for a cover: set `cover`"),
        ((600, 600), "c.png: the cover must have at least 1400 pixels, not 600x600"),
    ],
)
def test_a_cover_that_a_profile_refuses_is_said(
    tmp_path: Path, cover: tuple[int, int] | None, message: str
) -> None:
    (tmp_path / "c.png").write_bytes(png(*cover or (1, 1)))
    more = "output: {profile: apple-podcasts}\n" + ("cover: c.png\n" if cover else "")
    (found,) = problems(tmp_path, more)
    assert found.endswith(message)


# -- companions ------------------------------------------------------------------------------------


def test_a_read_along_needs_one_profile_with_sound_that_readers_play(tmp_path: Path) -> None:
    out = "output: {profile: [%s], companions: [readalong]}\n"
    assert problems(tmp_path, out % "archive, audiobookshelf") == []
    assert problems(tmp_path, out % "archive, ebu-r128") == [
        "book.yaml:10: output.companions: readalong needs sound that e-readers play; add a profile "
        "with one of mp3, m4b, opus"
    ]
    assert problems(tmp_path, "output: {formats: wav, companions: [readalong]}\n") == [
        "book.yaml:10: output.companions: readalong needs sound that e-readers play; add one of "
        "mp3, m4b, opus to output.formats"
    ]


def test_a_cue_sheet_is_for_files_of_many_chapters(tmp_path: Path) -> None:
    row = "  - {title: Morning, file: text/one.md}\n"
    many = books.PLAIN.replace(row, row * 100)
    out = "output: {formats: mp3, files: %s, companions: [cue]}\n"
    assert problems(tmp_path, out % "chapters", "Yes.\n", "No.\n", many) == []
    (found,) = problems(tmp_path, out % "book", "Yes.\n", "No.\n", many)
    assert "a CUE sheet counts 99 tracks, and this book has 101 chapters" in found


# -- what is accepted ------------------------------------------------------------------------------


OWN = [
    "base: acx, bitrate: null, credits: false, sample: null",
    "base: audiobookshelf, formats: mp3, files: chapters",
    "base: spotify, formats: [opus, m4b], bitrate: 64",
    "base: acx, formats: m4b, credits: false, sample: null",
]


@pytest.mark.parametrize("own", quick(OWN, OWN[0]))
def test_files_of_a_profile_of_ones_own_pass_it(own: str, tmp_path: Path) -> None:
    more = f"output: {{profile: mine}}\nprofiles: {{mine: {{{own}}}}}\n"
    short = "# A\n\nThe ferry left at seven, as it had on every morning before. Nobody asked why.\n"
    path = books.write(tmp_path, books.PLAIN + more, short, short)
    path.write_text(
        path.read_text().replace("  ann: {voice: {description: A girl, seed: 3}}\n", "")
    )
    report, _ = books.run(path, HumEngine())
    profile = report.plan.manuscript.project.profile("mine")
    assert report.finished is not None
    found = [measure_sound_file(file) for file in report.finished.files]
    for one in found:
        failed = [check for check in checks(one, profile, found[0]) if not check.ok]
        assert not failed, one.path


# -- what a render ends with -----------------------------------------------------------------------


def clipped(request: Request) -> Speech:
    """A voice whose tops were cut flat, and which was made quieter then."""
    sound = np.clip(voice(request.expected, rate=RATE, level=-14), -0.12, 0.12)
    edge = np.zeros(RATE // 10, np.float32)
    return Speech(np.concatenate([edge, sound, edge]), np.zeros((2, 4, 3), np.float32))


def test_a_render_ends_with_the_checks_of_its_profile(tmp_path: Path) -> None:
    path = books.brief(tmp_path, books.PLAIN + "output: {profile: archive}\n")
    code, output = faults.command(HumEngine(fault=clipped), "render", path)
    assert code == ExportError.exit_code
    assert "archive/01 - Morning.flac fails its profile: clipping: " in output
    assert (tmp_path / "build/book/archive/01 - Morning.flac").is_file()  # delivered all the same
    with mock.patch("narrator.delivery.postflight.measure_files") as measured:
        code, again = faults.command(HumEngine(), "export", path)
    assert not measured.called  # what was measured once is remembered, and fails again
    assert code == ExportError.exit_code
    assert "archive/01 - Morning.flac fails its profile: clipping: " in again
