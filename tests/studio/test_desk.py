"""The retake desk: the settings of new takes, takes of other engines, times of words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from narrator.errors import EngineUnavailable
from narrator.pipeline import book_engines, retakes
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.retakes import RetakeSettings
from tests import studios
from tests.books import Watcher
from tests.studios import Opened

KOKORO = studios.BOOK.replace("{name: draft}", "{name: voxcpm2, cfg: 2.5}")


def test_a_chunk_says_which_settings_its_next_takes_can_have(tmp_path: Path) -> None:
    folder = studios.write(tmp_path, book=KOKORO, out="# Out\n\nAda (sadly): Not far.\n\nNear.\n")
    with studios.opened(folder) as studio:
        desk = studio.page.get("/api/chunks/1.2").json["desk"]
        assert (desk["style"], desk["no_style"], desk["seed"]) == ("sadly", "", 0)
        guidance = next(row for row in desk["settings"] if row["name"] == "cfg")
        assert guidance == {"name": "cfg", "value": 2.5, "min": 0.1, "max": 10, "whole": False}
        assert studio.page.get("/api/chunks/1.3").json["desk"]["style"] == ""


def test_a_voice_with_one_reading_has_a_speed_alone(shared: Opened) -> None:
    desk = shared.page.get("/api/chunks/1.2").json["desk"]
    assert desk == {"style": "", "no_style": "the draft voice has no styles", "seed": None,
                    "settings": []}  # fmt: skip


def retake(folder: Path, chunk: str, **settings: Any) -> None:
    manuscript = read_manuscript(folder).spoken_by("draft")
    engine, watcher = book_engines.make_main_engine(manuscript.project), Watcher()
    retakes.retake(manuscript, engine, [chunk], RetakeSettings(**settings), sink=watcher,
                   cancel=watcher.cancel)  # fmt: skip


def test_takes_show_the_settings_that_they_alone_have(studio: Opened) -> None:
    retake(studio.session.view.project.root, "1.2", speed=0.8)
    studio.look()
    first, slow = studio.page.get("/api/chunks/1.2").json["tries"]
    assert (first["number"], first["settings"], first["pinned"]) == (1, {}, False)
    assert (slow["number"], slow["settings"], slow["pinned"]) == (2, {"speed": 0.8}, True)
    assert slow["seconds"] == pytest.approx(first["seconds"] / 0.8, rel=0.05)
    for one in (first, slow):  # each of its own length
        expected = studio.page.get("/api/chunks/1.2").json["expected"]
        assert one["ratio"] == pytest.approx(one["seconds"] / expected, abs=0.02)


def test_a_job_of_the_desk_has_its_limits(shared: Opened) -> None:
    job = {"kind": "retake", "chunks": ["1.2"]}
    for wrong in ({"speed": 0.1}, {"speed": "fast"}, {"style": "x" * 1001}, {"style": 7}):
        assert shared.page.post("/api/jobs", job | wrong).status == 400, wrong


def test_the_draft_s_takes_lie_beside_the_model_s(spoken: Path, tmp_path: Path) -> None:
    folder = studios.write(tmp_path, book=KOKORO)
    studios.render(folder)
    with studios.opened(folder) as studio:
        assert studio.page.post("/api/draft", {"draft": False}).status == 200
        others = studio.page.get("/api/chunks/1.2/others").json
        assert [(one["engine"], len(one["tries"])) for one in others["voices"]] == [("draft", 1)]
        sound = studio.page.get(others["voices"][0]["tries"][0]["url"])
        assert (sound.status, sound.headers["content-type"]) == (200, "audio/wav")
        assert studio.page.get("/api/chunks/9.9/others").status == 404


def test_an_engine_that_cannot_be_planned_says_why(studio: Opened) -> None:
    store = studio.session.view.book.store
    trouble = EngineUnavailable("no model")
    with (
        mock.patch.object(type(store), "engines", return_value={"kokoro"}),
        mock.patch.object(book_engines, "engines_for", side_effect=trouble),
    ):
        [other] = studio.page.get("/api/chunks/1.2/others").json["voices"]
    assert other == {"engine": "kokoro", "tries": [], "trouble": "no model", "can_speak": False}


def test_words_have_times_within_their_chunk(shared: Opened) -> None:
    chapter = shared.chapter()
    words = shared.page.get("/api/words/1").json["words"]
    for chunk in chapter["chunks"]:
        rows = words[chunk["id"]]
        assert chunk["text"][rows[0][0] :].startswith(chunk["text"].split()[0])
        times = [time for row in rows for time in row[2:]]
        assert times == sorted(times)
        assert chunk["start"] <= times[0]
        assert times[-1] <= chunk["stop"] + 0.001
    tag = chapter["sound"]["url"].rpartition("/")[2]
    assert shared.page.get(f"/api/words/1?v={tag}").status == 200
    assert shared.page.get("/api/words/1?v=other").status == 404
    later = shared.page.get("/api/words/1?from=1.3").json["words"]
    assert later == {id: rows for id, rows in words.items() if id not in ("1.1", "1.2")}
    assert shared.page.get("/api/words/99").status == 404


def test_a_chunk_is_spoken_by_an_engine_that_has_no_take_of_it(tmp_path: Path) -> None:
    folder = studios.write(tmp_path, book=KOKORO)
    with studios.opened(folder) as studio:
        manifest = (folder / "book.yaml").read_bytes()

        def draft() -> Any:
            voices = studio.page.get("/api/chunks/1.2/others").json["voices"]
            return next(one for one in voices if one["engine"] == "draft")

        assert (draft()["tries"], draft()["can_speak"]) == ([], True)
        job = {"kind": "retake", "chunks": ["1.2"], "by": "draft"}
        [*_, event] = studio.page.told(
            lambda: studio.page.post("/api/jobs", job),
            lambda event: event["type"] == "job" and event["event"] == "ended",
        )
        assert event["exit"] == 0, event
        assert (len(draft()["tries"]), draft()["can_speak"]) == (1, False)
        assert studio.page.get(draft()["tries"][0]["url"]).status == 200
        assert studio.page.get("/api/chunks/1.2").json["tries"] == []
        assert (folder / "book.yaml").read_bytes() == manifest
        for absent in ("server", "nobody", "voxcpm2", "half \ud83d"):
            assert studio.page.post("/api/jobs", job | {"by": absent}).status == 400
