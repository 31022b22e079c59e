from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

import pytest

from narrator.delivery import export
from narrator.project import load
from narrator.project.profiles import ACX, PROFILES, Profile, custom_profile
from narrator.project.project import Project, credits
from narrator.project.schema import ProfileSettings
from narrator.sound.loudness import Loudness, Target

BOOK = """\
title: "1984: a *story*"
author: [Ann, Bob, Cy]
narrated_by: Voice One
date: 2020-01-02
speakers: {narrator: {}, ann: {}}
chapters:
  - {title: One, lines: [Once.]}
  - {title: Two, lines: [Twice.]}
"""


def project(folder: Path, more: str = "", book: str = BOOK) -> Project:
    (folder / "book.yaml").write_text(book + more)
    return load.load(folder)


# -- the platforms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROFILES)
def test_a_platforms_formats_and_rates_go_together(name):
    profile = PROFILES[name]
    for format in profile.formats:
        for rate in (22050, 24000, 48000):
            code = export.encoding(format, rate, profile)
            assert not profile.bitrates or not code.bitrate or code.bitrate >= profile.bitrates[0]


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_aimed_at_lies_within_what_is_accepted(name):
    profile, target = PROFILES[name], PROFILES[name].target
    assert profile.name == name
    if profile.loudness is None:
        assert target.kind == "as it is"
        return
    assert profile.loudness - profile.tolerance < target.lowest < target.highest
    assert target.highest < profile.loudness + profile.tolerance
    for ceiling in (profile.peak, profile.true_peak):
        assert ceiling is None or target.true_peak <= ceiling


def test_the_manifest_knows_every_platform_and_every_field():
    bases = get_args(ProfileSettings.model_fields["base"].annotation)
    assert set(bases) == set(PROFILES)
    fields = {field.name for field in dataclasses.fields(Profile)}
    assert set(ProfileSettings.model_fields) - {"base"} <= fields
    assert fields - set(ProfileSettings.model_fields) == {
        "name", "bitrates", "alike", "tags", "marks",
    }  # fmt: skip


def test_acx_is_about_ungated_rms():
    assert (ACX.kind, ACX.loudness, ACX.target.kind) == ("RMS", -20.5, "dB RMS")
    assert (ACX.target.lowest, ACX.target.highest) == (-22.5, -18.5)


# -- what `output` says without one ----------------------------------------------------------------


def wanted(folder: Path, output: str) -> Target:
    (profile,) = project(folder, f"output: {{{output}}}\n").deliveries
    return profile.target


def figures(integrated: float = -18, rms: float = -20, true_peak: float = -3) -> Loudness:
    return Loudness(integrated, rms, true_peak, true_peak, 60)


def test_a_number_is_a_target_in_lufs_with_half_a_unit_either_way(tmp_path):
    target = wanted(tmp_path, "loudness: -19")
    assert target.accepts(figures(-19.5))
    assert not target.accepts(figures(-19.6))
    assert not target.accepts(figures(-18.4))


@pytest.mark.parametrize(
    ("name", "level", "ceiling"),
    [("audiobook", -18, -1.5), ("podcast", -16, -1), (-21, -21, -1.5)],
)
def test_targets_have_the_platforms_figures(tmp_path, name, level, ceiling):
    target = wanted(tmp_path, f"loudness: {name}")
    assert target == Target("LUFS", level, level - 0.5, level + 0.5, ceiling)


def test_the_target_acx_is_about_ungated_rms(tmp_path):
    target = wanted(tmp_path, "loudness: acx")
    assert target.accepts(figures(integrated=-40, rms=-22.9, true_peak=-3))
    assert target.accepts(figures(rms=-18.1))
    assert not target.accepts(figures(rms=-23.1))
    assert not target.accepts(figures(rms=-17.9))
    assert not target.accepts(figures(rms=-20, true_peak=-2.9))


def test_the_ceiling_can_be_set(tmp_path):
    low = wanted(tmp_path, "loudness: audiobook, true_peak: -6")
    assert not low.accepts(figures(true_peak=-5.9))
    high = wanted(tmp_path, "loudness: acx, true_peak: -2")
    assert high.accepts(figures(rms=-20, true_peak=-2.5))


# -- one's own -------------------------------------------------------------------------------------


def test_a_profile_of_ones_own_changes_what_it_says_and_keeps_the_rest(tmp_path):
    book = project(
        tmp_path,
        "output: {profile: [mine, archive]}\n"
        "profiles: {mine: {base: apple-podcasts, formats: opus, loudness: -19, cover: false}}\n",
    )
    mine, archive = book.deliveries
    assert archive == PROFILES["archive"]
    assert (mine.name, mine.formats, mine.loudness, mine.cover) == ("mine", ("opus",), -19, False)
    assert mine.true_peak == PROFILES["apple-podcasts"].true_peak


def test_null_asks_for_nothing(tmp_path):
    more = "profiles: {a: {base: acx, longest: null, sample: null, room_tone: null}}\n"
    mine = project(tmp_path, more).profile("a")
    assert (mine.longest, mine.sample, mine.room_tone) == (None, None, None)
    assert mine.peak == -3


def test_a_bitrate_of_ones_own_is_demanded():
    assert custom_profile("a", "acx", {"bitrate": 256}).bitrates == (256, 256)
    assert custom_profile("a", "acx", {"longest": 60}).bitrates == ACX.bitrates
    assert custom_profile("a", "acx", {"bitrate_mode": "variable"}).bitrates is None
    assert custom_profile("a", "acx", {"bitrate": None}).bitrates is None


@pytest.mark.parametrize("formats", [("m4b",), ("opus", "m4b"), ("mp3", "opus"), ("flac", "m4b")])
def test_bitrates_are_demanded_of_mp3_alone(formats):
    mine = custom_profile("a", "acx", {"formats": formats, "bitrate": 64})
    assert (mine.bitrate, mine.bitrates, mine.bitrate_mode) == (64, None, None)
    assert custom_profile("a", "acx", {"formats": ("mp3", "flac")}).bitrates == ACX.bitrates


def test_a_rate_of_the_base_gives_way_to_the_one_that_opus_has():
    assert custom_profile("a", "acx", {"formats": ("opus",)}).sample_rate == 48000
    assert custom_profile("a", "acx", {"formats": ("mp3",)}).sample_rate == 44100


def test_marks_are_demanded_of_books_that_can_hold_them():
    base = "audiobookshelf"
    assert custom_profile("a", base, {"formats": ("mp3",), "files": "book"}).marks
    assert custom_profile("a", base, {"files": "chapters"}).marks  # M4B is one book always
    assert not custom_profile("a", base, {"formats": ("mp3",), "files": "chapters"}).marks
    assert not custom_profile("a", base, {"formats": ("opus", "m4b"), "files": "both"}).marks
    assert not custom_profile("a", base, {"formats": ("wav",)}).marks
    assert not custom_profile("a", "apple-podcasts", {"formats": ("wav",)}).cover


# -- credits ---------------------------------------------------------------------------------------


def test_credits_come_from_their_templates_with_marks_escaped(tmp_path):
    opening, closing = credits(project(tmp_path, "credits: {}\n"))
    assert opening == (r"1984\: a \*story\*. Written by Ann, Bob and Cy. Narrated by Voice One.")
    assert closing is not None
    assert closing.startswith("This has been 1984")


def test_a_title_that_is_a_number_begins_no_list(tmp_path):
    book = BOOK.replace('"1984: a *story*"', '"1984"')
    opening, _ = credits(project(tmp_path, "credits: {}\n", book))
    assert opening is not None
    assert opening.startswith(r"1984\. Written by")


def test_credits_are_chapters_of_their_own_around_the_others(tmp_path):
    book = project(tmp_path, "credits: {closing: 'The end. [pause 1s]', speaker: ann}\n")
    assert [chapter.title for chapter in book.chapters] == [
        "Opening credits", "One", "Two", "Closing credits",
    ]  # fmt: skip
    assert book.chapters[3].lines == ({"ann": "The end. [pause 1s]"},)
    assert [book.chapter_loc(n) for n in range(4)] == [
        ("credits", "opening"), ("chapters", 0), ("chapters", 1), ("credits", "closing"),
    ]  # fmt: skip


def test_either_of_the_credits_can_be_left_out(tmp_path):
    book = project(tmp_path, "credits: {opening: null}\n")
    assert [chapter.title for chapter in book.chapters] == ["One", "Two", "Closing credits"]
    assert book.chapter_loc(0) == ("chapters", 0)


def test_without_credits_the_chapters_are_the_manifests(tmp_path):
    book = project(tmp_path)
    assert book.chapters == book.manifest.chapters
    assert credits(book) == (None, None)
