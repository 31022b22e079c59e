"""From takes to files for profiles: one render, several deliveries, nothing spoken again."""

from __future__ import annotations

from pathlib import Path

import mutagen
import pytest

from narrator import finish, pipeline
from narrator.errors import ManifestError, UserError
from narrator.finish import Finished
from narrator.verify import checks, figures
from tests import books
from tests.fakes import HumEngine
from tests.test_export import png

PLAIN = books.MANIFEST.replace("output: {formats: [wav], files: chapters}\n", "")


def project(folder: Path, more: str) -> Path:
    return books.write(folder, PLAIN + more)


def finished(report: pipeline.Report) -> Finished:
    assert report.finished is not None
    return report.finished


def names(report: pipeline.Report, folder: Path) -> list[str]:
    root = folder / "build" / "book"
    return sorted(path.relative_to(root).as_posix() for path in finished(report).files)


def test_several_profiles_are_made_from_one_render(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        "output: {profile: [audiobookshelf, mine]}\n"
        "profiles: {mine: {base: spotify, formats: opus, files: chapters}}\n",
    )
    engine = HumEngine()
    report, _ = books.run(path, engine)
    assert names(report, tmp_path) == [
        "audiobookshelf/A. Author/The Ferry/The Ferry.m4b",
        "mine/01 - Morning.opus",
        "mine/02 - Evening.opus",
    ]
    for file in finished(report).exported.files:
        profile = report.plan.manuscript.project.profile(file.folder)
        failed = [c.name for c in checks(figures(file.path), profile) if not c.ok]
        assert not failed, file.path


def test_another_profile_speaks_nothing_again(tmp_path: Path) -> None:
    path = project(tmp_path, "output: {profile: audiobookshelf}\n")
    books.run(path, HumEngine())
    project(tmp_path, "output: {profile: [audiobookshelf, archive]}\n")
    engine = HumEngine()
    report, _ = books.run(path, engine)
    assert not engine.requests
    fresh = {file.folder: file.fresh for file in finished(report).exported.files}
    assert fresh == {"audiobookshelf": False, "archive": True}


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
    own = PLAIN.replace("An old ferryman}", "An old ferryman}, mastering: {}")
    books.write(tmp_path, own + more)  # a speaker's own come first
    third, _ = books.run(path, HumEngine())
    keys.append([chapter.key for chapter, _ in finished(third).exported.chapters])
    assert not set(keys[2]) & set(keys[1])
    assert not set(keys[2]) & set(keys[0])


def test_a_retail_sample_comes_from_the_chapter_that_is_chosen(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        "output: {profile: mine, sample: {chapter: Evening, seconds: 28}}\n"
        "profiles: {mine: {base: acx, credits: false, sample: [5, 300]}}\n",
    )
    report, _ = books.run(path, HumEngine())
    (sample,) = finished(report).exported.samples
    assert sample.path.name == "The Ferry - Retail sample.mp3"
    assert sample.chapters == (2,)
    assert 15 <= sample.seconds <= 28.1
    assert sample.path in finished(report).files
    states = dict(pipeline.listed(report.plan, draft=False))
    assert states[sample.path] == ""
    profile = report.plan.manuscript.project.profile("mine")
    for file in finished(report).files:
        failed = [c.name for c in checks(figures(file), profile) if not c.ok]
        assert not failed, file


def test_a_sample_that_is_too_short_says_what_to_change(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        "output: {profile: mine, sample: {chapter: '2'}}\n"
        "profiles: {mine: {base: acx, credits: false}}\n",
    )
    with pytest.raises(UserError, match=r"output\.sample: 'Evening' gives .* of 60 s"):
        books.run(path, HumEngine())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("pauses: {head: 2}\n", "mine asks for a head of 0.5 to 1 s: set pauses.head, which is 2"),
        ("pauses: {tail: 0.5}\n", "a tail of 1 to 5 s: set pauses.tail, which is 0.5"),
    ],
)
def test_pauses_that_a_profile_refuses_are_said_before_anything_is_spoken(
    tmp_path: Path, more: str, message: str
) -> None:
    path = project(
        tmp_path,
        "output: {profile: mine}\nprofiles: {mine: {base: acx, credits: false}}\n" + more,
    )
    with pytest.raises(ManifestError, match=message):
        books.plan(path, HumEngine())


@pytest.mark.parametrize(
    ("cover", "message"),
    [
        (None, "apple-podcasts asks for a cover: set `cover`"),
        ((600, 600), "at least 1400 pixels, not 600x600"),
    ],
)
def test_a_cover_that_a_profile_refuses_is_said_before_anything_is_spoken(
    tmp_path: Path, cover: tuple[int, int] | None, message: str
) -> None:
    more = "output: {profile: apple-podcasts}\n"
    if cover:
        (tmp_path / "c.png").write_bytes(png(*cover))
        more += "cover: c.png\n"
    path = project(tmp_path, more)
    with pytest.raises(ManifestError, match=message):
        books.plan(path, HumEngine())


def test_a_podcast_is_tagged_as_one(tmp_path: Path) -> None:
    path = project(tmp_path, "output: {formats: mp3, files: book, loudness: podcast}\n")
    report, _ = books.run(path, HumEngine())
    assert mutagen.File(finished(report).files[0]).tags["TCON"].text == ["Podcast"]


def test_disk_is_estimated_for_every_profile(tmp_path: Path) -> None:
    one = pipeline.read(project(tmp_path, "output: {profile: archive}\n")).project
    both = pipeline.read(project(tmp_path, "output: {profile: [archive, spotify]}\n")).project
    assert finish.bytes_per_second(both, 22050) > finish.bytes_per_second(one, 22050) > 0
