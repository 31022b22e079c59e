"""One length of a chapter: in the list, in the player and in the file that is delivered."""

from __future__ import annotations

import shutil
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from tests import studios
from tests.studios import Opened

MUSIC = studios.BOOK + "music: [{file: horn.wav, place: intro, overlap: 0.5}]\n"


@pytest.fixture(scope="module")
def with_music(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered book of several speeds and voices at once, which begins with three seconds of
    music."""
    folder = studios.write(tmp_path_factory.mktemp("music"), book=MUSIC)
    tone = 0.1 * np.sin(np.arange(3 * 16_000) * 0.2)
    soundfile.write(folder / "horn.wav", tone, 16_000)
    studios.render(folder)
    return folder


def lengths(studio: Opened) -> list[float]:
    return [row["length"] for row in studio.page.get("/api/book").json["chapters"]]


@pytest.mark.parametrize("kind", ["mastered", "takes"])
def test_list_player_and_file_say_one_length(with_music: Path, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "book"
    shutil.copytree(with_music, folder)
    if kind == "takes":
        shutil.rmtree(folder / "build" / "encoded")
    with studios.opened(folder) as studio:
        chapters = [studio.chapter(number) for number in (1, 2)]
        assert {chapter["sound"]["kind"] for chapter in chapters} == {kind}
        assert lengths(studio) == [chapter["seconds"] for chapter in chapters]
        listed = lengths(studio)
    (file,) = folder.glob("build/book/*.m4b")
    with av.open(str(file)) as book:
        delivered = [
            float((chapter["end"] - chapter["start"]) * chapter["time_base"])
            for chapter in book.chapters()
        ]
    assert listed == pytest.approx(delivered, abs=0.1)


def test_what_is_not_spoken_counts_as_it_is_expected(studio: Opened) -> None:
    before = lengths(studio)
    key = studio.chapter(2)["chunks"][0]["key"]
    (studio.session.path / "build" / "store" / key[:2] / f"{key}.take").unlink()
    studio.session.forget_takes(1)
    out, home = studio.page.get("/api/book").json["chapters"]
    assert (out["length"], out["unspoken"]) == (before[0], 0)
    assert home["unspoken"] > 0
    assert home["length"] == pytest.approx(before[1], abs=home["unspoken"])
    assert studio.chapter(2)["seconds"] < home["length"]


def test_music_that_cannot_be_read_takes_no_room(studio: Opened) -> None:
    before = lengths(studio)
    (studio.session.path / "book.yaml").write_text(MUSIC)
    studio.look()
    assert lengths(studio) == before
