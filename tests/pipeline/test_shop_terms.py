"""`check` warns once of a shop that does not take synthetic voices as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.errors import Problem
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests import books

ACX = "output: {profile: acx}\ncredits: {}\nnarrated_by: N.\n"


def warnings(folder: Path, more: str) -> list[Problem]:
    path = books.brief(folder, books.PLAIN + more)
    return list(checking.find_shop_terms(read_manuscript(path)))


def test_acx_takes_no_synthetic_voices_of_others(tmp_path):
    (problem,) = warnings(tmp_path, ACX)
    assert "ACX (Audible) takes narration by people only" in problem.message
    assert "https://help.acx.com/" in problem.message
    assert "`allow: [synthetic-narration]` hides this warning" in problem.message
    assert problem.line == len(books.PLAIN.splitlines()) + 1


def test_several_profiles_are_one_warning(tmp_path):
    (problem,) = warnings(tmp_path, ACX.replace("acx", "[spotify, apple-podcasts, acx]"))
    assert [name in problem.message for name in ("ACX", "Spotify for", "Apple Podcasts")] == [
        True
    ] * 3


def test_a_profile_of_ones_own_is_for_the_shop_of_its_base(tmp_path):
    own = ACX.replace("acx", "mine") + "profiles: {mine: {base: acx, bitrate: 256}}\n"
    assert len(warnings(tmp_path, own)) == 1


@pytest.mark.parametrize(
    "more",
    [
        "",
        "output: {loudness: acx}\n",
        "output: {profile: [audiobookshelf, ebu-r128, archive]}\n",
        ACX + "allow: [synthetic-narration]\n",
    ],
)
def test_there_is_no_warning_without_a_shop_or_where_it_is_allowed(tmp_path, more):
    assert warnings(tmp_path, more) == []


def test_check_tells_it_and_does_not_fail(tmp_path, narrator):
    path = books.brief(tmp_path, books.PLAIN + "output: {profile: spotify}\n")
    code, _, errors = narrator("check", path)
    assert code == 0, errors
    assert errors.count("Spotify for Authors takes") == 1
