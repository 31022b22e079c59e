"""From takes to files for profiles: one render, several deliveries, nothing spoken again."""

from __future__ import annotations

import json
from pathlib import Path

import mutagen
import numpy as np
import pytest
import soundfile

from narrator.delivery import preflight, products
from narrator.delivery.finish import Finished
from narrator.delivery.postflight import checks
from narrator.pipeline import checking, estimate, manuscript, run
from narrator.project.profiles import PROFILES
from narrator.sound.probe import measure_sound_file
from tests import books
from tests.effort import quick
from tests.fakes import HumEngine
from tests.sounds import RATE, tone

ONE = "# Morning\n\nThe ferry left at seven.\n\nann: Is there room?\n"
TWO = "# Evening\n\nThe lamps were lit.\n\nNobody asked why.\n\nann: I did.\n"


def project(folder: Path, more: str, one: str = ONE, two: str = TWO) -> Path:
    return books.write(folder, books.PLAIN + more, one, two)


def finished(report: run.Report) -> Finished:
    assert report.finished is not None
    return report.finished


def names(report: run.Report, folder: Path) -> list[str]:
    root = folder / "build" / "book"
    return sorted(path.relative_to(root).as_posix() for path in finished(report).files)


def test_several_profiles_are_made_from_one_render_and_another_speaks_nothing_again(
    tmp_path: Path,
) -> None:
    mine = "profiles: {mine: {base: spotify, formats: opus, files: chapters}}\n"
    path = project(tmp_path, "output: {profile: audiobookshelf}\n")
    books.run(path, HumEngine())
    project(tmp_path, "output: {profile: [audiobookshelf, mine]}\n" + mine)
    engine = HumEngine()
    report, _ = books.run(path, engine)
    assert not engine.requests
    fresh = {file.folder: file.fresh for file in finished(report).exported.files}
    assert fresh == {"audiobookshelf": False, "mine": True}
    assert names(report, tmp_path) == [
        "audiobookshelf/A. Author/The Ferry/The Ferry.m4b",
        "mine/01 - Morning.opus",
        "mine/02 - Evening.opus",
    ]
    for file in finished(report).exported.files:
        profile = report.plan.manuscript.project.profile(file.folder)
        failed = [c.name for c in checks(measure_sound_file(file.path), profile) if not c.ok]
        assert not failed, file.path


def test_filters_of_a_speaker_encode_again_and_speak_nothing_again(tmp_path: Path) -> None:
    path = project(tmp_path, "output: {formats: flac, files: chapters}\n")
    first, _ = books.run(path, HumEngine())
    more = "output: {formats: flac, files: chapters, mastering: {high_pass: 80}}\n"
    project(tmp_path, more)
    engine = HumEngine()
    second, _ = books.run(path, engine)
    assert not engine.requests
    assert all(file.fresh for file in finished(second).exported.files)
    keys = [
        [chapter.key for chapter, _ in finished(report).exported.chapters]
        for report in (first, second)
    ]
    assert not set(keys[0]) & set(keys[1])
    own = books.PLAIN.replace("An old ferryman}", "An old ferryman}, mastering: {}")
    books.write(tmp_path, own + more, ONE, TWO)  # a speaker's own come first
    third, _ = books.run(path, HumEngine())
    keys.append([chapter.key for chapter, _ in finished(third).exported.chapters])
    assert not set(keys[2]) & set(keys[1])
    assert not set(keys[2]) & set(keys[0])


def test_a_retail_sample_comes_from_the_chapter_that_is_chosen(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        "output: {profile: mine, sample: {chapter: Evening, seconds: 28}}\n"
        "profiles: {mine: {base: acx, credits: false, sample: [5, 300]}}\n",
        two=books.TWO,
    )
    report, _ = books.run(path, HumEngine())
    (sample,) = finished(report).exported.samples
    assert sample.path.name == "The Ferry - Retail sample.mp3"
    assert sample.chapters == (2,)
    assert 15 <= sample.seconds <= 28.1
    assert sample.path in finished(report).files
    states = dict(products.list_sound_files(report.plan))
    assert states[sample.path] == ""
    profile = report.plan.manuscript.project.profile("mine")
    assert [c.name for c in checks(measure_sound_file(sample.path), profile) if not c.ok] == []


@pytest.mark.slow
def test_a_sample_that_is_too_short_is_a_remark_beside_the_book(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        "output: {profile: mine, sample: {chapter: '2'}}\n"
        "profiles: {mine: {base: acx, credits: false, sample: [27, 300]}}\n",
        two=books.TWO,
    )
    report, _ = books.run(path, HumEngine())
    (remark,) = finished(report).remarks
    assert remark.startswith("no retail sample for mine: output.sample: 'Evening' gives")
    assert names(report, tmp_path) == ["mine/01 - Morning.mp3", "mine/02 - Evening.mp3"]


def test_a_chapter_that_cannot_reach_a_target_leaves_the_other_files_whole(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        "output: {profile: [archive, mine], companions: [vtt]}\n"
        "profiles: {mine: {base: acx, credits: false, sample: null, peak: -12, loudness: -13}}\n",
        one="The ferry left at seven.\n",
        two="The lamps were lit.\n",
    )
    report, _ = books.run(path, HumEngine())
    lines = [str(problem) for problem in finished(report).failures]
    assert len(lines) == 2
    assert lines[0].endswith("; not delivered: mine/01 - Morning.mp3")
    facts = json.loads((tmp_path / "build" / "report.json").read_text("utf-8"))
    assert facts["failed"] == lines
    assert [Path(file).suffix for file in facts["files"]] == [".flac"] * 3
    assert len(facts["companions"]) == 3
    listed = products.list_sound_files(books.plan(path, HumEngine()))
    assert [note for _, note in listed] == ["", "", ""]


# -- companions ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_part_of_a_book_moves_the_read_along_of_the_whole_away(tmp_path: Path) -> None:
    more = "output: {formats: [mp3], companions: [readalong, vtt]}\n"
    path = project(tmp_path, more)
    books.run(path, HumEngine())
    (epub,) = (tmp_path / "build" / "book").rglob("*.epub")
    whole = epub.read_bytes()
    old = tmp_path / "build" / "superseded" / epub.relative_to(tmp_path / "build")
    project(tmp_path, more, two=TWO.replace("Nobody", "Everybody"))
    report, _ = books.run(path, HumEngine(), chapters=["1"])
    assert not epub.exists()
    assert old.read_bytes() == whole
    assert epub not in finished(report).companions
    assert finished(report).companions
    assert finished(report).remarks == (f"{epub.name} is made when all chapters are there",)
    report, _ = books.run(path, HumEngine())
    assert epub in finished(report).companions
    assert epub.read_bytes() != whole


@pytest.mark.slow
def test_a_way_without_sound_for_a_read_along_goes_without(tmp_path: Path) -> None:
    more = "output: {profile: [archive, spotify], companions: [readalong]}\n"
    report, _ = books.run(project(tmp_path, more), HumEngine())
    (epub,) = finished(report).companions
    assert epub.parent.name == "spotify"


def test_companions_that_are_no_longer_wanted_go(tmp_path: Path) -> None:
    def beside() -> list[str]:
        found = (tmp_path / "build" / "book").rglob("*.*")
        return sorted(path.name for path in found if path.suffix in (".vtt", ".srt"))

    path = project(tmp_path, "output: {formats: mp3, files: chapters, companions: [vtt, srt]}\n")
    books.run(path, HumEngine())
    assert len(beside()) == 4
    more = "output: {formats: mp3, files: chapters, companions: [vtt]}\n"
    books.write(tmp_path, books.PLAIN.replace("Evening", "Night") + more, ONE, TWO)
    books.run(path, HumEngine())
    assert beside() == ["01 - Morning.vtt", "02 - Night.vtt"]
    project(tmp_path, "output: {formats: mp3, files: chapters}\n")
    (tmp_path / "build" / "book" / "A. Author - The Ferry (mp3)" / "01 - Morning.vtt").write_text(
        "corrected"
    )
    report, _ = books.run(path, HumEngine())
    assert not beside()  # what was corrected by hand is kept as well
    moved = {old.name: new for old, new in report.superseded}
    assert sorted(moved) == ["01 - Morning.vtt", "02 - Night.mp3", "02 - Night.vtt"]
    assert moved["01 - Morning.vtt"].read_text() == "corrected"


# -- music -----------------------------------------------------------------------------------------


def stereo(folder: Path, more: str) -> Path:
    sides = np.stack([tone(1, hertz=300), tone(1, hertz=500)], 1)
    soundfile.write(folder / "in.wav", sides, RATE)
    return project(folder, "music: [{file: in.wav, place: intro, chapters: [Morning]}]\n" + more)


@pytest.mark.slow
def test_a_chapter_alone_is_in_stereo_where_its_book_is(tmp_path: Path) -> None:
    path = stereo(tmp_path, "output: {formats: mp3, files: chapters}\n")
    alone, _ = books.run(path, HumEngine(), chapters=["2"])
    (file,) = finished(alone).files
    assert mutagen.File(file).info.channels == 2
    report, _ = books.run(path, HumEngine())
    assert [mutagen.File(file).info.channels for file in finished(report).files] == [2, 2]
    assert [file.fresh for file in finished(report).exported.files] == [True, False]


@pytest.mark.slow
def test_a_book_with_music_in_stereo_may_be_mono(tmp_path: Path) -> None:
    mono = "output: {formats: [mp3, wav], files: chapters, channels: mono}\n"
    report, _ = books.run(stereo(tmp_path, mono), HumEngine())
    assert {mutagen.File(file).info.channels for file in finished(report).files} == {1}


def test_what_stereo_costs_is_said_with_the_way_out(tmp_path: Path) -> None:
    def told(output: str) -> list[str]:
        said: list[str] = []
        path = stereo(tmp_path, output)
        plan = books.plan(path, HumEngine())
        checking.check_manuscript(plan.manuscript, said.append)
        sizes.append(estimate.estimate(plan).file_bytes)
        return said

    sizes: list[int] = []
    (cost,) = told("output: {formats: m4b}\n")
    assert "makes all of the book stereo" in cost
    assert "`output.channels: mono` saves" in cost
    (own,) = told("output: {profile: audiobookshelf}\n")
    assert "`channels: mono` in a profile of your own saves" in own
    assert told("output: {formats: m4b, channels: mono}\n") == []
    assert told("output: {formats: m4b, channels: stereo}\n") == []
    assert sizes[0] == sizes[1] == sizes[3] == pytest.approx(2 * sizes[2], abs=1)


# -- room tone -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", quick(["m4b", "opus"], "m4b"))
def test_no_pause_is_digital_silence(tmp_path: Path, format: str) -> None:
    more = f"output: {{formats: {format}, files: book}}\npauses: {{line: 2}}\n"
    report, _ = books.run(project(tmp_path, more), HumEngine())
    found = measure_sound_file(finished(report).files[0])
    assert max(found.gap, found.silent_edge) < 0.1
    assert -73 < found.noise_floor < -69


def test_a_pause_that_two_chapters_make_together_is_known_to_be_meant(tmp_path: Path) -> None:
    manifest = books.MANIFEST.replace("[wav], files: chapters", "m4b")
    one = "# Morning\n\nThe ferry left at seven.\n\n[pause 6s]\n"
    path = books.brief(tmp_path, manifest, one, "[pause 5s]\n\nThe lamps were lit.\n")
    report, _ = books.run(path, HumEngine())
    assert report.finished is not None
    (entry,) = report.finished.made_files.values()
    assert entry.facts["pause"] == 11.75  # with the head of the second


def test_every_delivery_but_the_archive_has_room_tone(tmp_path: Path) -> None:
    named, credited = ", ".join(PROFILES), "credits: {}\nnarrated_by: N.\n"
    read = manuscript.read_manuscript(
        project(tmp_path, f"output: {{profile: [{named}]}}\n{credited}")
    )
    tones = {profile.name: profile.room_tone for profile in read.project.deliveries}
    assert tones.pop("archive") is None
    assert all(tone is not None and tone <= -68 for tone in tones.values())


OWN_OUTPUT = "{formats: flac, files: book, room_tone: null}"


@pytest.mark.parametrize("output", quick([OWN_OUTPUT, "{profile: archive}"], OWN_OUTPUT))
def test_room_tone_is_left_out_where_it_is_not_wanted(tmp_path: Path, output: str) -> None:
    report, _ = books.run(project(tmp_path, f"output: {output}\n"), HumEngine())
    assert measure_sound_file(finished(report).files[0]).noise_floor < -100


def test_a_podcast_is_tagged_as_one(tmp_path: Path) -> None:
    path = project(tmp_path, "output: {formats: mp3, files: book, loudness: podcast}\n")
    report, _ = books.run(path, HumEngine())
    assert mutagen.File(finished(report).files[0]).tags["TCON"].text == ["Podcast"]


def test_disk_is_estimated_for_every_profile(tmp_path: Path) -> None:
    one, both = (
        preflight.bytes_per_second(
            manuscript.read_manuscript(
                project(tmp_path, f"output: {{profile: {profiles}}}\n")
            ).project, 22050,
        )
        for profiles in ("archive", "[archive, spotify]")
    )  # fmt: skip
    assert both > one > 0
