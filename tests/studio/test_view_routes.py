"""What a page sees of a book: its chapters, chunks and tries, as they are now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from narrator.speech.corrections import UsualSpeech, group_of
from narrator.studio import quick_speech, rows
from tests import studios
from tests.studios import Opened


def test_the_book_has_its_chapters_and_speakers(shared: Opened) -> None:
    book = shared.page.get("/api/book").json
    assert book["title"] == "Two <b>Walks</b> & more"
    assert [one["title"] for one in book["chapters"]] == ["Out <script>alert(1)</script>", "Home"]
    assert [one["name"] for one in book["speakers"]] == ["narrator", "Ada", "Ben"]
    assert {one["color"] for one in book["speakers"]} == {0, 1, 2}
    assert book["draft"] is True
    assert book["can"]["model"] is False
    assert (book["todo"]["chunks"], book["todo"]["reasons"]) == (0, [])
    out = book["chapters"][0]
    assert out["chunks"] == out["rendered"] == 6
    assert book["jobs"]["running"] is None


def test_a_chapter_is_its_chunks_in_their_paragraphs_and_scenes(shared: Opened) -> None:
    rows = shared.chapter()["chunks"]
    assert [row["id"] for row in rows] == ["1.1", "1.2", "1.3", "1.4", "1.6"]
    assert [row["speakers"] for row in rows][3:] == [["Ada", "Ben"], ["Ben"]]
    assert rows[3]["also"] == ["1.5"]
    assert [row["paragraph"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["scene"] for row in rows] == [0, 0, 0, 0, 1]
    assert [row["heading"] for row in rows] == [1, 0, 0, 0, 0]
    assert {row["state"] for row in rows} == {"good"}
    assert rows[1]["source"] == "out.md:3"
    starts = [row["start"] for row in rows]
    assert starts == sorted(starts)
    assert all(row["start"] < row["stop"] for row in rows)


def test_languages_come_with_their_direction(tmp_path: Path) -> None:
    text = "הדרך ארוכה.\n\n[language: en]\n\nNot far now.\n\n[language: off]\n"
    manifest = studios.BOOK.replace("en-GB", "he")
    with studios.opened(studios.write(tmp_path, book=manifest, home=text)) as studio:
        assert studio.page.get("/api/book").json["script"] == {"lang": "he", "dir": "rtl"}
        hebrew, english = studio.chapter(2)["chunks"]
        assert hebrew["script"] is None
        assert english["script"] == {"lang": "en", "dir": "ltr"}


def test_a_chunk_has_its_tries(shared: Opened) -> None:
    chunk = shared.page.get("/api/chunks/1.3").json
    assert chunk["spoken"] == "Not far now."
    (only,) = chunk["tries"]
    assert only["in_use"]
    assert not only["pinned"]
    sound = shared.page.get(only["url"])
    assert sound.headers["content-type"] == "audio/wav"
    assert sound.data.startswith(b"RIFF")


def test_a_take_in_use_tells_how_it_is_corrected_in_the_files(shared: Opened) -> None:
    view = shared.session.view
    step = view.step("1.3")
    record = view.book.takes.take(step.key)
    assert record is not None
    usual = {step.chunk.speaker: {group_of(step): UsualSpeech(level=record.level - 8)}}
    louder = replace(view, book_sound=replace(view.book_sound, usual=usual))
    assert rows.chunk(louder, step)["tries"][0]["correction"].endswith("dB softer")
    assert rows.chunk(view, step)["tries"][0]["correction"] == ""


def test_what_is_not_there_is_said_in_a_line(shared: Opened) -> None:
    for path in (
        "/api/chapters/3",
        "/api/chapters/0",
        "/api/chapters/1.5",
        "/api/chunks/9.9",
        "/api/nothing",
        "/sound/chapters/1/" + "0" * 40,
        "/sound/tries/" + "0" * 40 + "/0",
        "/static/nothing.js",
    ):
        answer = shared.page.get(path)
        assert answer.status == 404, path
        assert "\n" not in answer.json["error"]


def test_a_text_that_changed_on_the_disk_is_read_again(studio: Opened) -> None:
    before = studio.page.get("/api/book").json["version"]
    text = studio.session.path / "home.md"
    text.write_text("They came home, tired.\n\nAda: At last.\n")
    studio.look()
    assert studio.page.get("/api/book").json["version"] > before
    rows = studio.chapter(2)["chunks"]
    assert rows[0]["text"] == "They came home, tired."
    assert (rows[0]["state"], rows[0]["start"]) == ("missing", None)
    assert rows[0]["why"] == "other words"
    assert rows[1]["state"] == "good"
    assert studio.page.get("/api/book").json["todo"]["chunks"] == 1


def test_a_text_that_cannot_be_read_leaves_the_last_reading_and_says_so(studio: Opened) -> None:
    (studio.session.path / "book.yaml").write_text("title: [\n")
    studio.look()
    book = studio.page.get("/api/book").json
    assert book["title"].startswith("Two")
    assert "cannot be read" in book["warnings"][0]["text"]
    studios.write(studio.session.path)
    studio.look()
    assert studio.page.get("/api/book").json["warnings"] == []


def test_takes_that_are_gone_are_missing_at_once(studio: Opened) -> None:
    key = studio.chapter(2)["chunks"][0]["key"]
    store = studio.session.path / "build" / "store"
    (store / key[:2] / f"{key}.take").unlink()
    studio.session.forget_takes(1)
    chapter = studio.chapter(2)
    assert [row["state"] for row in chapter["chunks"]] == ["missing", "good"]
    assert chapter["sound"]["kind"] == "takes"


def test_a_new_plan_looks_up_takes_that_were_stored_without_notice(studio: Opened) -> None:
    key = studio.chapter(2)["chunks"][0]["key"]
    store = studio.session.path / "build" / "store"
    path = store / key[:2] / f"{key}.take"
    take = path.read_bytes()
    path.unlink()
    studio.session.forget_takes(1)
    assert studio.chapter(2)["chunks"][0]["state"] == "missing"
    path.write_bytes(take)
    with (store / "journal.jsonl").open("a") as journal:
        journal.write("\n")
    studio.do(studio.session.replan)
    assert studio.chapter(2)["chunks"][0]["state"] == "good"


def test_what_is_heard_is_named(shared: Opened) -> None:
    sound = shared.chapter()["sound"]
    assert sound["kind"] == "mastered"
    assert sound["label"] == "the draft voice: the finished chapter"


def test_a_book_that_nobody_has_rendered_has_no_sound(tmp_path: Path) -> None:
    with studios.opened(studios.write(tmp_path)) as studio:
        chapter = studio.chapter()
        assert chapter["sound"]["kind"] == "none"
        assert {row["state"] for row in chapter["chunks"]} == {"missing"}
        assert studio.page.get("/api/peaks/1").status == 404
        book = studio.page.get("/api/book").json
        assert book["todo"]["chunks"] == 8
        assert book["todo"]["reasons"] == [{"why": "not spoken yet", "chunks": 8}]


def test_the_model_of_a_book_may_be_looked_at_where_it_is_known(tmp_path: Path) -> None:
    manifest = studios.BOOK.replace("engine: {name: draft}\n", "")
    with studios.opened(studios.write(tmp_path, book=manifest), draft=True) as studio:
        can = studio.page.get("/api/book").json["can"]
        answer = studio.page.post("/api/draft", {"draft": False})
        assert (answer.status == 200) is can["model"]
        assert studio.page.post("/api/draft", {"draft": True}).json["draft"] is True
        assert studio.session.view.book.engine.name == "draft"
    assert studio.session.view.project.spoken_by("").engine.name == "voxcpm2"


def test_a_book_of_the_draft_voice_alone_says_where_to_get_another(shared: Opened) -> None:
    answer = shared.page.post("/api/draft", {"draft": False})
    assert (answer.status, answer.json["draft"]) == (200, True)
    assert answer.json["why_not"].startswith("Only the draft voice speaks this book.")
    assert "write `engine: " in answer.json["why_not"]


def test_a_voice_that_is_here_needs_no_more_than_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_speech, "why_not_here", lambda spec, language: "")
    assert quick_speech.advise_voice("en-GB") == (
        "Only the draft voice speaks this book. Kokoro can speak it: write `engine: kokoro` in its "
        "manifest"
    )


def test_a_line_that_was_given_away_has_another_voice_in_plain_words(studio: Opened) -> None:
    folder = studio.session.view.project.root
    text = (folder / "out.md").read_text("utf-8")
    (folder / "out.md").write_text(text.replace("Ben: I am cold.", "Ada: I am cold."), "utf-8")
    studio.look()
    row = studio.page.get("/api/chapters/1").json["chunks"][-1]
    assert row["text"] == "I am cold."
    assert row["why"] == "another voice"
    assert "->" in row["changes"]


def test_what_is_to_be_spoken_is_counted_in_lines_of_the_text(tmp_path: Path) -> None:
    folder = studios.write(tmp_path, home="Ada: Not far now.\n\nBen: At last.\n")
    with studios.opened(folder) as studio:
        book = studio.page.get("/api/book").json
        lines = sum(one["chunks"] - one["rendered"] for one in book["chapters"])
        assert book["todo"]["chunks"] == lines == 8
        assert sum(reason["chunks"] for reason in book["todo"]["reasons"]) == lines
        assert len({step.key for step in studio.session.view.book.steps}) == lines - 1


def test_shares_are_those_of_the_report(shared: Opened) -> None:
    speakers = shared.page.get("/api/cast").json["speakers"]
    report = shared.page.get("/api/report").json["speakers"]
    shares = {speaker["name"]: speaker["share"] for speaker in report}
    assert {one["name"]: one["share"] for one in speakers} == pytest.approx(shares, abs=1e-3)


def test_a_book_that_only_the_draft_voice_has_rendered_opens_in_it(tmp_path: Path) -> None:
    manifest = studios.BOOK.replace("{name: draft}", "{name: kokoro}")
    folder = studios.write(tmp_path, book=manifest)
    with studios.opened(folder) as studio:
        assert studio.page.get("/api/book").json["draft"] is False
    studios.render(folder)
    with studios.opened(folder) as studio:
        book = studio.page.get("/api/book").json
        assert (book["draft"], book["todo"]["chunks"]) == (True, 0)
        assert studio.page.post("/api/draft", {"draft": False}).json["draft"] is False
