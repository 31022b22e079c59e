"""From a new book to its files: voices that are here, their samples, the cost, downloads."""

from __future__ import annotations

import io
from pathlib import Path

import av
import pytest
import soundfile

from narrator.engines.registry import ENGINES
from narrator.pipeline import edits
from narrator.project import load
from narrator.studio import quick_speech
from tests import studios
from tests.sound_files import png
from tests.studios import Opened

DRAFT = {"engine": "draft", "voice": ""}
NOVEL = """\
title: A Novel
author: Nobody
language: en-GB
# Who speaks.
speakers:
  narrator: {}    # or another
chapters:
  - {title: Out, file: out.md}
  - {title: Home, file: home.md}
"""


@pytest.fixture
def kokoro_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its packages and its model, so far as lists and edits ask."""

    def why_not_here(spec: object, language: str) -> str:
        return "" if spec in (ENGINES["draft"], ENGINES["kokoro"]) else "not here: get it"

    monkeypatch.setattr(quick_speech, "why_not_here", why_not_here)


def test_voices_that_are_here_are_listed(shared: Opened) -> None:
    found = shared.page.get("/api/voices").json
    assert {row["engine"] for row in found["voices"]} >= {"draft"}
    assert found["chosen"]["engine"] == "draft"
    for absent in found["absent"]:
        assert "`" in absent["note"]  # the command that gets it


@pytest.mark.usefixtures("kokoro_is_here")
def test_voices_of_the_books_language_come_first_by_region(shared: Opened) -> None:
    rows = [row for row in shared.page.get("/api/voices").json["voices"] if row["voice"]]
    assert {row["language"] for row in rows} == {"en-GB", "en-US"}
    assert [row["language"] for row in rows] == sorted(row["language"] for row in rows)


def test_a_sample_speaks_the_books_beginning(shared: Opened) -> None:
    answer = shared.page.post("/api/voices/sample", DRAFT)
    assert answer.headers["content-type"] == "audio/wav", answer.data
    sound = soundfile.info(io.BytesIO(answer.data))
    assert 2 < sound.duration < 20
    assert shared.page.post("/api/voices/sample", DRAFT).data == answer.data


@pytest.mark.parametrize(
    "asked",
    [{}, {"engine": "draft"}, {"engine": "nobody", "voice": ""}, {"engine": "server", "voice": ""},
     {"engine": "../draft", "voice": ""}, {"engine": "draft", "voice": "../../etc/passwd"}],
)  # fmt: skip
def test_voices_that_nobody_has_are_refused(studio: Opened, asked: object) -> None:
    before = studio.session.view.project.path.read_text()
    answer = studio.page.post("/api/voices", asked)
    assert answer.status in (400, 422)
    assert studio.session.view.project.path.read_text() == before


def test_a_chosen_voice_is_an_edit_of_the_book(tmp_path: Path) -> None:
    studios.write(tmp_path, book=NOVEL)
    manifest = tmp_path / "book.yaml"
    with studios.opened(tmp_path, draft=True) as studio:
        assert studio.page.get("/api/voices").json["chosen"] is None
        assert studio.page.post("/api/voices", DRAFT).status == 200
        assert "engine:\n  name: draft\n" in manifest.read_text()
        assert "narrator: {}    # or another" in manifest.read_text()
        assert studio.page.get("/api/voices").json["chosen"]["engine"] == "draft"
        assert studio.page.get("/api/book").json["draft"]
        assert studio.page.post("/api/undo").status == 200
        assert manifest.read_text() == NOVEL


@pytest.mark.parametrize("engine", ["", "engine: draft\n", "engine: {name: voxcpm2, cfg: 2.0}\n"])
def test_an_engine_and_its_voice_are_written_into_book_yaml(tmp_path: Path, engine: str) -> None:
    studios.write(tmp_path, book=engine + NOVEL)
    project = load.load(tmp_path)
    edits.apply(project, edits.narration_edit(project, "kokoro", "bm_george"))
    changed = load.load(tmp_path)
    assert changed.engine.name == "kokoro"
    assert changed.speakers["narrator"].engine_voices["kokoro"].voice == "bm_george"
    edits.apply(changed, edits.narration_edit(changed, "kokoro", "bf_emma"))
    again = load.load(tmp_path)
    assert again.speakers["narrator"].engine_voices["kokoro"].voice == "bf_emma"
    assert "# Who speaks." in again.path.read_text()


def test_the_cost_of_a_render_is_said(shared: Opened, tmp_path: Path) -> None:
    costs = shared.page.get("/api/estimate").json
    assert costs["speech_seconds"] == 0
    assert costs["free_bytes"] > 0
    studios.write(tmp_path)
    with studios.opened(tmp_path) as studio:
        costs = studio.page.get("/api/estimate").json
        assert costs["speech_seconds"] > 5
        assert 0 < costs["seconds"] < costs["speech_seconds"]
        assert 0 < costs["file_bytes"] < costs["disk_bytes"]


def test_finished_files_are_listed_and_downloaded(shared: Opened) -> None:
    (file,) = shared.page.get("/api/downloads").json["files"]
    assert file["name"].endswith(".m4b")
    assert file["is_current"]
    answer = shared.page.get(file["address"])
    assert len(answer.data) == file["bytes"]
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    assert b"\n" not in answer.headers["content-disposition"].encode()
    with av.open(io.BytesIO(answer.data)) as book:
        assert len(book.chapters()) == 2
    part = shared.page.get(file["address"], range="bytes=4-7")
    assert (part.status, part.data) == (206, b"ftyp")


@pytest.mark.parametrize("tag", ["x", "0" * 16, "..", "%2e%2e%2fbook.yaml"])
def test_nothing_else_is_downloaded(shared: Opened, tag: str) -> None:
    assert shared.page.get(f"/downloads/{tag}").status == 404


PNG = png(30, 30)
FACTS = {"title": "Another: Novel", "authors": ["Ann Lee", "Ben Roe"], "language": "en-US"}


def test_title_author_and_language_are_edits_of_the_book(tmp_path: Path) -> None:
    studios.write(tmp_path, book=NOVEL)
    manifest = tmp_path / "book.yaml"
    with studios.opened(tmp_path, draft=True) as studio:
        facts = studio.page.get("/api/facts").json
        assert (facts["title"], facts["authors"]) == ("A Novel", ["Nobody"])
        assert studio.page.post("/api/facts", FACTS).status == 200
        facts = studio.page.get("/api/facts").json
        assert {name: facts[name] for name in FACTS} == FACTS
        assert "# Who speaks." in manifest.read_text()
        assert studio.page.get("/api/book").json["title"] == "Another: Novel"
        assert studio.page.post("/api/undo").status == 200
        assert manifest.read_text() == NOVEL


def test_a_cover_is_an_edit_of_the_book(tmp_path: Path) -> None:
    studios.write(tmp_path, book=NOVEL)
    (tmp_path / "cover.png").write_bytes(PNG + b"other")
    with studios.opened(tmp_path, draft=True) as studio:
        assert studio.page.put("/api/cover", b"\x89PNG\r\n\x1a\n").status == 422
        assert len(list(tmp_path.glob("cover*"))) == 1
        assert studio.page.put("/api/cover", PNG).status == 200
        assert studio.session.view.project.facts.cover == tmp_path / "cover-2.png"
        assert studio.page.post("/api/undo").status == 200
        assert studio.page.get("/api/facts").json["has_cover"] is False
        assert studio.page.put("/api/cover", PNG).status == 200
        assert not (tmp_path / "cover-3.png").exists()
        answer = studio.page.ask("DELETE", "/api/cover", origin=f"http://{studio.page.host}")
        assert answer.status == 200
        assert studio.session.view.project.facts.cover is None
        assert (tmp_path / "cover-2.png").read_bytes() == PNG


@pytest.mark.parametrize(
    "change", [{"title": " "}, {"authors": []}, {"language": "no language"}, {"language": ""}]
)
def test_a_book_keeps_a_title_an_author_and_a_language(
    studio: Opened, change: dict[str, object]
) -> None:
    before = studio.session.view.project.path.read_text()
    assert studio.page.post("/api/facts", {**FACTS, **change}).status == 400
    assert studio.session.view.project.path.read_text() == before
