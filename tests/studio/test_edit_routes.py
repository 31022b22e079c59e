"""What a person changes from the page lies in the project's own files, and can be taken back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from narrator import files
from narrator.pipeline import edits, new_characters, pickups, reviews
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.pickups import Pickup
from narrator.studio import session as sessions
from narrator.studio.events import Events
from narrator.studio.session import ProjectSession
from tests import studios
from tests.studios import BOOK, OUT, Opened, Visitor

NOVEL = """\
“We are late,” said Ada. “Come along.”

“I am coming,” said Ben, and he shut the door.

“At last,” said Ada.
"""


def settled(studio: Opened) -> None:
    """What was asked for has been read."""
    studio.do(lambda: None)


def edit(studio: Opened, **asked: object) -> str:
    answer = studio.page.post("/api/edits", asked)
    assert answer.status == 200, answer.json
    settled(studio)
    return str(answer.json["what"])


def test_words_are_changed_in_their_file_and_taken_back(studio: Opened) -> None:
    shown = studio.page.get("/api/chunks/1.3").json["paragraph"]
    assert (shown["file"], shown["first"], shown["text"]) == ("out.md", 5, "Ada: Not far now.")
    edit(studio, kind="text", chunk="1.3", sha=shown["sha"], text="Ada: Not far at all.")
    path = studio.session.path / "out.md"
    assert path.read_text() == OUT.replace("far now", "far at all")
    row = studio.chapter()["chunks"][2]
    assert (row["text"], row["state"]) == ("Not far at all.", "missing")
    book = studio.page.get("/api/book").json
    assert "at all" in book["undo"]["what"]
    assert book["redo"] is None
    assert book["todo"]["chunks"] == 1
    undone = studio.page.post("/api/undo")
    settled(studio)
    assert undone.json["what"] == book["undo"]["what"]
    assert path.read_text() == OUT
    assert studio.chapter()["chunks"][2]["state"] == "good"
    assert studio.page.get("/api/book").json["redo"] is not None
    assert studio.page.post("/api/redo").status == 200
    assert path.read_text() != OUT


def test_an_edit_is_answered_with_the_chapter_as_it_is_now(studio: Opened) -> None:
    sha = studio.page.get("/api/chunks/1.3").json["paragraph"]["sha"]
    flagged = studio.page.post("/api/flags", {"chunk": "1.6", "note": "too fast"})
    assert flagged.status == 200
    text = "Ada: Not far at all.\n\nBen: How far?"
    edit = {"kind": "text", "chunk": "1.3", "sha": sha, "text": text, "shown": 1}
    answer = studio.page.post("/api/edits", edit).json
    chunks = answer["chapter"]["chunks"]
    assert [chunk["text"] for chunk in chunks[2:4]] == ["Not far at all.", "How far?"]
    assert [chunk["state"] for chunk in chunks[1:4]] == ["good", "missing", "missing"]
    assert [chunk["id"] for chunk in chunks if chunk["flags"]] == ["1.7"]
    settled(studio)
    assert studio.chapter()["chunks"] == chunks
    assert studio.chapter()["version"] > answer["chapter"]["version"]
    undone = studio.page.post("/api/undo", {"shown": 1}).json
    assert undone["chapter"]["chunks"][2]["text"] == "Not far now."
    for shown in (None, 99, "1"):
        assert studio.page.post("/api/redo", {"shown": shown}).json["chapter"] is None
        studio.page.post("/api/undo")


def test_an_edit_of_what_has_changed_meanwhile_shows_both(studio: Opened) -> None:
    shown = studio.page.get("/api/chunks/1.3").json["paragraph"]
    path = studio.session.path / "out.md"
    path.write_text(OUT.replace("Not far now", "Not so far now"))
    answer = studio.page.post(
        "/api/edits",
        {"kind": "text", "chunk": "1.3", "sha": shown["sha"], "text": "Ada: Not far at all."},
    )
    assert answer.status == 409
    assert "Not so far now" in answer.json["there"]
    assert "Not far at all" in answer.json["wanted"]
    assert "Not so far now" in path.read_text()
    now = studio.page.get("/api/chunks/1.3").json["paragraph"]  # the next try is about this text
    assert now["text"] == "Ada: Not so far now."
    edit(studio, kind="text", chunk="1.3", sha=now["sha"], text="Ada: Not far at all.")
    assert "Not far at all" in path.read_text()


def test_after_a_conflict_the_text_of_the_file_can_be_replaced_at_once(
    studio: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studio.session, "schedule", lambda *_: None)  # reading again takes long
    path = studio.session.path / "out.md"
    shown = studio.page.get("/api/chunks/1.3").json["paragraph"]
    path.write_text(OUT.replace("Not far now", "Not so far now"))
    asked = {"kind": "text", "chunk": "1.3", "text": "Ada: Not far at all."}
    assert studio.page.post("/api/edits", {**asked, "sha": shown["sha"]}).status == 409
    shown = studio.page.get("/api/chunks/1.3").json["paragraph"]
    assert shown["text"] == "Ada: Not so far now."
    assert studio.page.post("/api/edits", {**asked, "sha": shown["sha"]}).status == 200
    assert "Not far at all" in path.read_text()


def test_the_ways_from_here_are_told_before_the_book_is_read_again(studio: Opened) -> None:
    def post(path: str, **asked: object) -> tuple[str, str | None, str | None]:
        answer = studio.page.post(path, asked).json
        return answer["what"], answer["undo"], answer["redo"]

    first = edit(studio, kind="speaker", chunk="1.3", speaker="Ben", style=None)
    second, *ways = post("/api/edits", kind="say", word="road", spoken="rowed", chunk=None)
    assert ways == [second, None]
    assert post("/api/undo") == (second, first, second)
    assert post("/api/undo") == (first, None, first)
    assert post("/api/redo") == (first, first, second)


def test_nothing_to_undo_is_said(studio: Opened) -> None:
    assert studio.page.post("/api/undo").status == 404
    assert studio.page.post("/api/redo").status == 404


def test_a_line_is_given_to_another_speaker(studio: Opened) -> None:
    edit(studio, kind="speaker", chunk="1.3", speaker="Ben", style=None)
    assert studio.chapter()["chunks"][2]["speakers"] == ["Ben"]


def test_a_word_is_said_otherwise_everywhere_or_here(studio: Opened) -> None:
    edit(studio, kind="say", word="road", spoken="rowed", chunk=None)
    assert "rowed" in (studio.session.path / "book.yaml").read_text()
    assert "rowed" in studio.page.get("/api/chunks/1.2").json["spoken"]
    edit(studio, kind="say", word="cold", spoken="called", chunk="1.6")
    assert studio.page.get("/api/chunks/1.6").json["spoken"] == "I am called."


def test_a_speaker_gets_another_voice(studio: Opened) -> None:
    edit(studio, kind="voice", speaker="Ada", voice={"description": "An old sailor"})
    cast = {one["name"]: one for one in studio.page.get("/api/cast").json["speakers"]}
    assert cast["Ada"]["voice"]["kind"] == "description"
    assert cast["Ada"]["voice"]["description"] == "An old sailor"


def test_an_edit_that_breaks_the_project_is_refused(studio: Opened) -> None:
    before = (studio.session.path / "book.yaml").read_text()
    answer = studio.page.post(
        "/api/edits", {"kind": "voice", "speaker": "Nobody", "voice": {"description": "x"}}
    )
    assert answer.status == 400
    assert (studio.session.path / "book.yaml").read_text() == before


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"kind": "rm"},
        {"kind": "text", "chunk": "1.3", "text": 3},
        {"kind": "text", "chunk": "1.3", "text": "x"},
        {"kind": "speaker", "chunk": "1.3", "speaker": None},
        {"kind": "voice", "speaker": "Ada", "voice": "x"},
        {
            "kind": "voice",
            "speaker": "Ada",
            "voice": {"reference": "/etc/passwd", "transcript": "x"},
        },
        {"kind": "voice", "speaker": "Ada", "voice": {"rm": "x"}},
        {"kind": "say", "word": "", "spoken": "x"},
        {"kind": "exchange", "id": "0-x", "turn": 0, "decision": "one", "speaker": "Ada"},
        {"kind": "exchange", "id": "0-x", "turn": "0", "decision": "one", "speaker": "Ada"},
        {"kind": "exchange", "id": "0-x", "turn": 0, "decision": "rm", "speaker": "Ada"},
        {"kind": "exchange", "id": ["0-x"], "turn": 0, "decision": "swap"},
        {"kind": "rename", "speaker": "Ada", "name": " "},
        {"kind": "rename", "speaker": "Ada", "name": "ben"},
        {"kind": "rename", "speaker": "Ada", "name": "A\0da"},
        {"kind": "rename", "speaker": "Ada", "name": "A\ud800da"},
        {"kind": "rename", "speaker": "Ada", "name": "Ada: {}"},
        {"kind": "rename", "speaker": "Ada", "name": "A" * 1001},
        {"kind": "rename", "speaker": "narrator", "name": "Nan"},
        {"kind": "rename", "speaker": {"name": "Ada"}, "name": "Nan"},
        {"kind": "merge", "speaker": "Ada", "into": "Ada"},
        {"kind": "split", "speaker": "Ada", "alias": "Ben"},
    ],
)
def test_an_edit_of_nonsense_changes_nothing(shared: Opened, asked: dict[str, object]) -> None:
    before = (shared.session.path / "book.yaml").read_bytes()
    answer = shared.page.post("/api/edits", asked)
    assert answer.status in (400, 422)
    assert (shared.session.path / "book.yaml").read_bytes() == before
    assert (shared.session.path / "out.md").read_text() == OUT


def test_a_name_may_look_like_a_page(studio: Opened) -> None:
    name = "<b onclick=\"x\">Ada</b> & 'Co'"
    edit(studio, kind="rename", speaker="Ada", name=name)
    cast = studio.page.get("/api/cast")
    assert cast.headers["content-type"] == "application/json"
    assert {"Ada"} == {alias for one in cast.json["speakers"] for alias in one["aliases"]}
    edit(studio, kind="merge", speaker=name, into="Ben")
    assert studio.page.post("/api/undo").status == studio.page.post("/api/undo").status == 200
    assert "Co" not in (studio.session.path / "book.yaml").read_text()


def test_names_that_may_be_one_person_are_listed_beside_the_cast(studio: Opened) -> None:
    path = studio.session.path / "book.yaml"
    text = path.read_text()
    assert studio.page.get("/api/cast").json["suspicions"] == []
    path.write_text(
        f"dialogue: {{cast: found}}\n{text.replace('Ada: {}', 'Ada: {}, Ada Hall: {}')}"
    )
    studio.look()
    assert studio.page.get("/api/cast").json["suspicions"] == [
        {"name": "Ada Hall", "other": "Ada", "is_one": True}
    ]


def test_an_edit_of_a_chunk_that_is_gone_is_said(shared: Opened) -> None:
    answer = shared.page.post("/api/edits", {"kind": "speaker", "chunk": "9.9", "speaker": "Ada"})
    assert answer.status == 404


def test_a_cast_is_found_written_and_taken_back(studio: Opened) -> None:
    path = studio.session.path / "book.yaml"
    path.write_text(BOOK.partition("speakers:")[0] + "chapters:\n  - {title: One, file: home.md}\n")
    (studio.session.path / "home.md").write_text(NOVEL)
    studio.look()
    before = path.read_text()
    assert [one["name"] for one in studio.page.get("/api/book").json["speakers"]] == ["narrator"]
    assert edit(studio, kind="cast") == "2 new speakers in 3 quotations: Ada, Ben"
    spoken = {name for row in studio.chapter()["chunks"] for name in row["speakers"]}
    assert spoken == {"narrator", "Ada", "Ben"}
    assert (studio.session.path / "home.speakers.txt").exists()
    again = studio.page.post("/api/edits", {"kind": "cast"})
    assert (again.status, again.json["changed"]) == (200, False)
    studio.page.post("/api/undo")
    assert path.read_text() == before
    assert not (studio.session.path / "home.speakers.txt").exists()


# -- notes -----------------------------------------------------------------------------------------


def test_what_was_reviewed_is_kept_and_taken_back(studio: Opened) -> None:
    answer = studio.page.post("/api/reviewed", {"chunks": ["1.1", "1.3"], "yes": True})
    assert answer.status == 200
    assert [row["reviewed"] for row in studio.chapter()["chunks"]][:3] == [True, False, True]
    assert studio.page.get("/api/book").json["chapters"][0]["reviewed"] == 2
    studio.page.post("/api/reviewed", {"chunks": ["1.1"], "yes": False})
    assert [row["reviewed"] for row in studio.chapter()["chunks"]][:3] == [False, False, True]


def test_a_chorus_is_reviewed_as_one(studio: Opened) -> None:
    studio.page.post("/api/reviewed", {"chunks": ["1.4"], "yes": True})
    assert [row["id"] for row in studio.chapter()["chunks"] if row["reviewed"]] == ["1.4"]


@pytest.fixture
def refrain(tmp_path: Path) -> Iterator[Opened]:
    """A book in which Ada says the same words in three places, by one take."""
    out = "Ada: Not far now.\n\nIt rained.\n\n***\n\nAda: Not far now.\n\nBen: I am cold.\n"
    studios.render(studios.write(tmp_path, out=out, home="They ran.\n\nAda: Not far now.\n"))
    with studios.opened(tmp_path) as found:
        assert len({found.session.view.step(id).key for id in ("1.1", "1.3", "2.2")}) == 1
        yield found


def reviewed_ids(studio: Opened) -> list[str]:
    chunks = [*studio.chapter()["chunks"], *studio.chapter(2)["chunks"]]
    return [row["id"] for row in chunks if row["reviewed"]]


def test_a_line_is_reviewed_where_it_was_heard_alone(refrain: Opened) -> None:
    refrain.page.post("/api/reviewed", {"chunks": ["1.1", "1.2"], "yes": True})
    assert reviewed_ids(refrain) == ["1.1", "1.2"]
    chapters = refrain.page.get("/api/book").json["chapters"]
    assert [row["reviewed"] for row in chapters] == [2, 0]
    refrain.page.post("/api/reviewed", {"chunks": ["2.2"], "yes": True})
    refrain.page.post("/api/reviewed", {"chunks": ["1.1"], "yes": False})
    assert reviewed_ids(refrain) == ["1.2", "2.2"]


def test_a_review_stays_at_its_place_when_text_is_inserted(refrain: Opened) -> None:
    refrain.page.post("/api/reviewed", {"chunks": ["1.3", "1.4"], "yes": True})
    out = refrain.session.path / "out.md"
    out.write_text("Ben: Oh.\n\n" + out.read_text())
    refrain.session.show_edit()
    assert reviewed_ids(refrain) == ["1.4", "1.5"]
    refrain.look()
    assert reviewed_ids(refrain) == ["1.4", "1.5"]


def test_a_mark_without_a_place_is_for_all_places_of_its_take(refrain: Opened) -> None:
    step = refrain.session.view.step("1.1")
    take = refrain.session.view.book.takes.current(step)
    assert take is not None
    marks = reviews.path_of(refrain.session.view.project)
    files.save_json(marks, {step.key: f"{take.content[:16]} Ann"})
    refrain.look()
    assert reviewed_ids(refrain) == ["1.1", "1.3", "2.2"]
    refrain.page.post("/api/reviewed", {"chunks": ["1.3"], "yes": False})
    assert reviewed_ids(refrain) == ["1.1", "2.2"]
    assert refrain.chapter()["chunks"][0]["reviewer"] == "Ann"


def test_a_take_that_stands_once_stays_reviewed_when_the_text_around_it_changes(
    refrain: Opened,
) -> None:
    refrain.page.post("/api/reviewed", {"chunks": ["1.2"], "yes": True})
    out = refrain.session.path / "out.md"
    out.write_text(
        out.read_text().replace("I am cold", "I am wet").replace("Not far", "Not so far")
    )
    refrain.look()
    assert reviewed_ids(refrain) == ["1.2"]
    refrain.page.post("/api/reviewed", {"chunks": ["1.2"], "yes": False})
    assert reviewed_ids(refrain) == []


def test_a_flag_is_a_pickup_and_is_ticked_off(studio: Opened) -> None:
    assert studio.page.post("/api/flags", {"chunk": "1.3", "note": " "}).status == 400
    for note in ("too fast", "“far” as in fur"):
        assert studio.page.post("/api/flags", {"chunk": "1.3", "note": note}).json == {"added": 1}
    assert studio.page.get("/api/book").json["chapters"][0]["flagged"] == 1
    done = {"chunk": "1.3", "note": "too fast", "done": True}
    assert studio.page.post("/api/flags/done", done).json == {"done": 1}
    flags = studio.chapter()["chunks"][2]["flags"]
    assert sorted((one["note"], one["done"]) for one in flags) == [
        ("too fast", True),
        ("“far” as in fur", False),
    ]
    assert studio.page.post("/api/flags/done", {**done, "note": "gone"}).status == 404
    rows = studio.page.get("/api/pickups").json["rows"]
    assert [row["chunk"] for row in rows] == ["1.3", "1.3"]
    table = studio.page.get("/pickups.csv")
    assert table.headers["content-disposition"].startswith("attachment")
    assert table.data == pickups.path_of(studio.session.view.project).read_bytes()
    assert "“far” as in fur" in studio.page.get("/pickups.html").data.decode()
    labels = studio.page.get("/labels/1.txt").data.decode()
    assert labels.endswith("\t1.3 “far” as in fur\n")


def test_a_list_of_somebody_s_is_added(studio: Opened) -> None:
    rows = studio.chapter()["chunks"]
    sent = (
        f"1 00:00:0{int(rows[1]['start'])}.9 — too loud\n1 00:59:00 — behind the end\nyours, Ben\n"
    )
    answer = studio.page.post("/api/pickups")
    assert answer.status == 400
    own = {"origin": f"http://{studio.page.host}", "content_type": "text/plain"}
    answer = studio.page.ask("POST", "/api/pickups", sent.encode(), **own)
    [added] = answer.json["added"]
    behind, unread = answer.json["problems"]
    assert "behind the end" in behind
    assert "3: no time and no chunk: yours, Ben" in unread
    assert studio.chapter()["chunks"][1]["flags"] == [{"note": "too loud", "done": False}]
    gone = studio.page.post("/api/flags/gone", {"flags": [added, {"chunk": "1.3", "note": "x"}]})
    assert gone.json == {"gone": 1}
    assert not studio.chapter()["chunks"][1]["flags"]
    assert studio.page.post("/api/flags/gone", {"flags": "all"}).status == 400


def test_of_flags_that_are_alike_the_newest_is_taken_back_and_no_other(studio: Opened) -> None:
    flag = {"chunk": "1.3", "note": "too fast"}
    for added in (1, 0):  # it is on the list
        assert studio.page.post("/api/flags", flag).json == {"added": added}
    studio.page.post("/api/flags/done", {**flag, "done": True})
    assert studio.page.post("/api/flags", flag).json == {"added": 1}
    spaced = {**flag, "note": "too  fast"}  # as it was typed
    assert studio.page.post("/api/flags/gone", {"flags": [spaced]}).json == {"gone": 1}
    assert studio.chapter()["chunks"][2]["flags"] == [{"note": "too fast", "done": True}]
    assert studio.page.post("/api/flags/gone", {"flags": [{**flag, "note": "x"}]}).status == 404
    assert studio.page.post("/api/flags/gone", {"flags": []}).json == {"gone": 0}


def test_a_list_that_cannot_be_read_keeps_nobody_from_listening(studio: Opened) -> None:
    pickups.path_of(studio.session.view.project).mkdir()
    studio.look()
    book = studio.page.get("/api/book").json
    assert "folder" in book["warnings"][0]["text"]
    assert studio.chapter()["sound"]["kind"] == "mastered"


def test_a_damaged_list_of_edits_is_shown_and_hides_no_other_notes(studio: Opened) -> None:
    studio.page.post("/api/flags", {"chunk": "1.3", "note": "too fast"})
    studio.page.post("/api/reviewed", {"chunks": ["1.1"], "yes": True})
    history = edits.path_of(studio.session.view.project)
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_text("{")
    studio.look()
    assert "not a list of edits" in studio.page.get("/api/book").json["warnings"][0]["text"]
    chunks = studio.chapter()["chunks"]
    assert (chunks[0]["reviewed"], chunks[2]["flags"]) == (
        True,
        [{"note": "too fast", "done": False}],
    )
    answer = studio.page.post("/api/undo")
    assert (answer.status, "restore it" in answer.json["error"]) == (503, True)


def test_a_damaged_list_of_reviewed_takes_is_shown_and_kept(studio: Opened) -> None:
    studio.page.post("/api/flags", {"chunk": "1.3", "note": "too fast"})
    marks = reviews.path_of(studio.session.view.project)
    marks.write_text("{")
    studio.look()
    assert (
        "not a list of reviewed takes" in studio.page.get("/api/book").json["warnings"][0]["text"]
    )
    assert len(studio.chapter()["chunks"][2]["flags"]) == 1
    answer = studio.page.post("/api/reviewed", {"chunks": ["1.1"], "yes": True})
    assert (answer.status, "restore it" in answer.json["error"]) == (503, True)
    assert marks.read_text() == "{"


def test_a_flag_stays_with_its_words_when_text_is_inserted(studio: Opened) -> None:
    studio.page.post("/api/flags", {"chunk": "1.6", "note": "colder"})
    (studio.session.path / "out.md").write_text(OUT.replace("Ada: Not", "Ben: Oh.\n\nAda: Not"))
    studio.look()
    flagged = [row["text"] for row in studio.chapter()["chunks"] if row["flags"]]
    assert flagged == ["I am cold."]


# -- who says what ---------------------------------------------------------------------------------

STORY = """\
Ada and Ben stood at the door.

“Nobody but me is here.”

The rain fell.

“Then I shall go,” said Ada.
"""


@pytest.fixture
def asking(studio: Opened) -> Opened:
    """A studio of a story whose quotations nobody has given to anybody."""
    (studio.session.path / "home.md").write_text(STORY)
    studio.look()
    return studio


def test_a_doubtful_exchange_is_decided(asking: Opened) -> None:
    doubts = asking.page.get("/api/doubts").json
    assert doubts["total"] >= len(doubts["exchanges"]) > 0
    exchange, turn = next(
        (exchange, number)
        for exchange in doubts["exchanges"]
        for number, turn in enumerate(exchange["turns"])
        if "Nobody but me" in turn["words"]
    )
    assert exchange["chapter"] == 2
    assert "Ben" in exchange["names"]
    passage = next(one for one in exchange["passages"] if one["turn"] == turn)
    begin, end = passage["spans"][0]
    assert passage["text"][begin:end].startswith("“Nobody")
    decision = {"kind": "exchange", "id": exchange["id"], "turn": turn}
    edit(asking, **decision, decision="one", speaker="Ben")
    rows = asking.chapter(2)["chunks"]
    assert ["Ben"] in [row["speakers"] for row in rows if "Nobody but me" in row["text"]]
    left = asking.page.get(f"/api/doubts?exchange={exchange['id']}").json
    assert left["total"] == doubts["total"] - exchange["turns"][turn]["doubtful"]
    assert left["shown"]["turns"][turn] == {
        **exchange["turns"][turn], "speaker": "Ben", "sure": 1.0, "doubtful": False,
        "decided": True,
    }  # fmt: skip
    edit(asking, **decision, decision="as shown")
    left = asking.page.get("/api/doubts").json
    assert exchange["id"] not in [one["id"] for one in left["exchanges"]]


def test_an_edit_does_not_wait_for_the_search_for_doubtful_speakers(
    asking: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose, begun, may_end = new_characters.propose, threading.Event(), threading.Event()

    def slow_propose(*args: Any, **options: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return propose(*args, **options)

    monkeypatch.setattr(new_characters, "propose", slow_propose)
    with ThreadPoolExecutor(1) as threads:
        doubts = threads.submit(asking.page.get, "/api/doubts")
        try:
            assert begun.wait(60)
            edit(asking, kind="speaker", chunk="1.3", speaker="Ben")
            assert not doubts.done()
        finally:
            may_end.set()
        assert doubts.result(60).json["total"] > 0


def test_a_chunk_says_how_sure_its_speaker_is(asking: Opened) -> None:
    new_characters.write(new_characters.propose(asking.session.view.project))
    asking.look()
    sure = {row["text"]: row["sure"] for row in asking.chapter(2)["chunks"]}
    said = next(value for text, value in sure.items() if "I shall go" in text)
    assert said is not None
    assert 0.5 < said <= 1
    assert next(value for text, value in sure.items() if text.startswith("Ada and")) is None


# -- what pages hear -------------------------------------------------------------------------------


def test_pages_hear_of_what_another_changes(studio: Opened) -> None:
    other = Visitor(studio.place.port).opened(studio.keys.token)
    flag = {"chunk": "1.3", "note": "too fast"}
    studio.page.told(lambda: other.post("/api/flags", flag), lambda event: event["type"] == "book")


def test_pages_hear_of_new_takes(studio: Opened) -> None:
    (said,) = studio.page.told(lambda: studio.session.forget_takes(1), lambda event: True)
    assert said == {"type": "chapter", "number": 2}


def test_a_note_that_is_written_while_the_book_is_planned_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ProjectSession(studios.write(tmp_path), Events())
    session.read()
    read_notes = sessions._read_notes

    def flag_meanwhile(book: BookPlan) -> sessions.Notes:
        notes = read_notes(book)
        monkeypatch.setattr(sessions, "_read_notes", read_notes)
        row = Pickup("1", "", "1.3", "Ada", "out.md:5", "Not far now.", "too loud")
        pickups.write(pickups.path_of(book.project), [row])
        session.read_notes()
        return notes

    monkeypatch.setattr(sessions, "_read_notes", flag_meanwhile)
    session.replan()
    session.refresh()
    assert "1.3" in session.view.notes.flags


# -- stretches -------------------------------------------------------------------------------------

LINES = {"first": "1.3", "last": "1.6", "first_text": "Not far now.", "last_text": "I am cold."}


def test_a_stretch_is_given_to_a_speaker_and_two_are_swapped(studio: Opened) -> None:
    path = studio.session.path / "out.md"
    asked = {**LINES, "kind": "swap", "speaker": "Ada", "other": "Ben"}
    assert "Ada and Ben are swapped in 2 parts" in edit(studio, **asked)
    assert "Ben: Not far" in path.read_text()
    assert "Ada: I am cold" in path.read_text()
    given = edit(studio, **LINES, kind="give", speaker="Ben", whose="Ada")
    assert "Ben says 1 part" in given
    for _ in range(2):
        studio.page.post("/api/undo")
    assert path.read_text() == OUT
    edit(studio, **{**LINES, "last": "1.3", "last_text": "Not far now.", "start": 4, "stop": 7},
         kind="give", speaker="Ben")  # fmt: skip
    assert "Ada: Not {Ben: far} now." in path.read_text()


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"first_text": "Not far then."}, 404),
        ({"first": "9.9"}, 404),
        ({"first": "2.1", "first_text": "They came home."}, 400),
        ({"first": "1.6", "first_text": "I am cold.", "last": "1.3", "last_text": "Not far now."},
         400),
        ({"start": -1}, 400),
        ({"start": True}, 400),
        ({"stop": "3"}, 400),
        ({"start": 90}, 200),
        ({"whose": "Nobody"}, 400),
        ({"speaker": "Nobody"}, 400),
        ({"kind": "swap", "other": "narrator"}, 400),
        ({"kind": "swap"}, 400),
    ],
)  # fmt: skip
def test_a_stretch_of_nonsense_changes_nothing(
    studio: Opened, changed: dict[str, object], status: int
) -> None:
    asked = {**LINES, "kind": "give", "speaker": "Ben", **changed}
    assert studio.page.post("/api/edits", asked).status == status
    if status != 200:
        assert (studio.session.path / "out.md").read_text() == OUT
