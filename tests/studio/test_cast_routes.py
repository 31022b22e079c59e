"""The cast, and its voices heard at once by the draft voice."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
import soundfile

from narrator.cast import presets
from narrator.engines.draft.espeak import DraftEngine
from narrator.engines.kokoro.settings import KokoroVoice
from narrator.engines.voice import Voice
from narrator.pipeline import auditioning, new_characters
from narrator.project.schema import Rights
from narrator.studio import rows
from tests.studio.test_edit_routes import LINES, NOVEL, STORY, edit
from tests.studios import BOOK, OUT, Opened

if TYPE_CHECKING:
    from narrator.engines import Engine


def seconds(data: bytes) -> float:
    samples, rate = soundfile.read(io.BytesIO(data))
    assert np.abs(samples).max() > 0.01
    return float(len(samples) / rate)


def test_the_cast_has_voices_and_lines_to_try_them_on(shared: Opened) -> None:
    cast = shared.page.get("/api/cast").json
    ada = next(one for one in cast["speakers"] if one["name"] == "Ada")
    assert (ada["voice"]["kind"], ada["voice"]["text"]) == ("none", "the draft voice")
    assert ada["samples"][0]["text"] == "Not far now."
    assert ada["casting"] == "uncast"
    assert ada["rendered"] == ada["chunks"] == 3
    assert cast["presets"] == []


@pytest.mark.parametrize(
    ("engine", "own", "text"),
    [
        ("voxcpm2", {}, "VoxCPM2 designs a voice when it first speaks"),
        ("cosyvoice2", {}, "no voice yet: give a recording or a preset"),
        ("kokoro", {}, "a voice of Kokoro"),
        ("kokoro", {"kokoro": KokoroVoice(voice="bf_emma")}, "bf_emma of Kokoro"),
    ],
)
def test_a_voice_that_nobody_described_is_named_by_its_engine(
    engine: str, own: dict[str, KokoroVoice], text: str
) -> None:
    clones = engine != "kokoro"
    speaking = SimpleNamespace(name=engine, needs_reference=lambda voice: clones)
    assert rows.describe_engine_voice(cast("Engine", speaking), Voice("Ada", own=own)) == text


def test_a_line_is_heard_in_a_speaker_s_draft_voice(shared: Opened) -> None:
    said = {"text": "Not far now, I hope."}
    ada = shared.page.post("/api/audition", {"speaker": "Ada", **said})
    ben = shared.page.post("/api/audition", {"speaker": "Ben", **said})
    assert seconds(ada.data) > 0.5
    assert ada.data != ben.data


def test_an_audition_is_heard_by_its_name_and_nothing_else_is(shared: Opened) -> None:
    place = auditioning.folder(shared.session.view.project)
    place.mkdir(parents=True)
    (place / "abc123.wav").write_bytes(b"RIFF")
    link = place / "linked.wav"
    link.symlink_to(place.parent.parent / "book.yaml")
    try:
        assert shared.page.get("/sound/auditions/abc123").data == b"RIFF"
        for name in ("other", "linked", "..%2f..%2fbook", "abc123.wav", "%C3%A9"):
            assert shared.page.get(f"/sound/auditions/{name}").status == 404
    finally:
        # A project with such a link is refused, and other tests read this one.
        link.unlink()


def clip() -> bytes:
    """Six seconds of speech."""
    engine = DraftEngine(workers=1)
    text = "It was a bright day, and the two of them walked along the river until it was late. " * 2
    from narrator.engines import Request, speak

    session = engine.start()
    try:
        request = Request("k", text, "en-GB", Voice("Ada"), None, {}, 0, 0, 8.0)
        [(_, outcome)] = speak(session, [request])
    finally:
        session.close()
    assert outcome.speech is not None
    data = io.BytesIO()
    soundfile.write(data, outcome.speech.samples, engine.sample_rate, format="FLAC")
    return data.getvalue()


def test_a_clip_is_judged_kept_and_given_to_a_speaker(studio: Opened) -> None:
    answer = studio.page.put("/api/clips/Ada%20Smith.flac", clip())
    assert answer.status == 200, answer.json
    assert answer.json["path"] == "voices/Ada Smith.flac"
    assert answer.json["seconds"] > 5
    assert (studio.session.path / "voices" / "Ada Smith.flac").is_file()
    voice = {
        "reference": answer.json["path"],
        "transcript": "It was a bright day, and the two of them walked along the river until it "
        "was late. It was a bright day, and the two of them walked along the river until it was "
        "late.",
        "origin": "Ann Smith",
    }
    given = studio.page.post("/api/edits", {"kind": "voice", "speaker": "Ada", "voice": voice})
    assert given.status == 200, given.json
    studio.do(lambda: None)
    cast = {one["name"]: one for one in studio.page.get("/api/cast").json["speakers"]}
    assert cast["Ada"]["voice"]["kind"] == "clip"
    assert cast["Ada"]["voice"]["reference"] == "voices/Ada Smith.flac"
    assert (cast["Ada"]["voice"]["origin"], cast["Ada"]["voice"]["consent"]) == ("Ann Smith", None)


def test_a_clip_that_cannot_hold_its_transcript_is_refused(studio: Opened) -> None:
    answer = studio.page.put("/api/clips/Ada.flac?transcript=Yes.", clip())
    assert answer.status == 422
    assert "words are missing from the transcript" in answer.json["error"]
    assert not (studio.session.path / "voices" / "Ada.flac").exists()


def test_a_preset_s_own_recording_is_heard(studio: Opened) -> None:
    from narrator.cast import clips

    folder = studio.session.path / "voices"
    folder.mkdir()
    (folder / "a.flac").write_bytes(clip())
    said = "It was a bright day, and the two of them walked along the river until it was late. " * 2
    preset = presets.of_clip("Sailor", clips.load(folder / "a.flac", said, "en-GB"), "en-GB")
    presets.write(preset, folder / "Sailor.voice")
    (line,) = studio.page.get("/api/cast").json["presets"]
    assert line == {"name": "Sailor", "description": "", "trouble": ""}
    noted = Rights(origin="Ann Smith", consent="by letter")
    presets.write(replace(preset, rights=noted), folder / "Sailor.voice")
    (line,) = studio.page.get("/api/cast").json["presets"]
    assert line["description"] == "Ann Smith. Consent: by letter."
    assert seconds(studio.page.get("/sound/voices/Sailor").data) > 5


SHARED = BOOK.replace("Ben: {speed: 1.2}", "men: {pronoun: he, plays: {Ben: [Benjamin], Tom: []}}")


def test_somebody_who_shares_a_voice_gets_one_of_their_own(studio: Opened) -> None:
    path = studio.session.path / "book.yaml"
    path.write_text(SHARED)
    studio.look()
    said = edit(studio, kind="own voice", speaker="Ben")
    assert said.startswith("Ben has the voice: A man, warm and steady")
    cast = {row["name"]: row for row in studio.page.get("/api/cast").json["speakers"]}
    assert (cast["Ben"]["shares_voice_of"], cast["Ben"]["aliases"]) == (None, ["Benjamin"])
    assert edit(studio, kind="own voice", speaker="Tom").startswith("Tom has the voice: A man, yo")
    again = studio.page.post("/api/edits", {"kind": "own voice", "speaker": "Ben"})
    assert (again.status, "already" in again.json["error"]) == (400, True)
    for _ in range(2):
        studio.page.post("/api/undo")
    assert path.read_text() == SHARED


def test_pages_are_told_how_far_the_search_for_people_is(studio: Opened) -> None:
    path = studio.session.path / "book.yaml"
    path.write_text(BOOK.partition("speakers:")[0] + "chapters:\n  - {title: One, file: home.md}\n")
    (studio.session.path / "home.md").write_text(NOVEL)
    studio.look()
    told = studio.page.told(
        lambda: studio.page.post("/api/edits", {"kind": "cast"}),
        lambda event: event["type"] == "casting" and event["step"] == event["steps"] - 1,
    )
    stages = [event["stage"] for event in told if event["type"] == "casting"]
    assert stages == list(new_characters.STAGES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It rained.\n", "nobody found: nothing in the text is quoted"),
        ("“No.”\n\n“Yes.”\n", "nobody found: no name stands beside the 2 quotations"),
        (NOVEL, "nobody new found; none of 3 quotations lacks a speaker"),
    ],
)
def test_a_search_that_finds_nobody_says_so_and_is_no_edit(
    studio: Opened, text: str, words: str
) -> None:
    path = studio.session.path / "book.yaml"
    path.write_text(BOOK.partition("speakers:")[0] + "chapters:\n  - {title: One, file: home.md}\n")
    (studio.session.path / "home.md").write_text(text)
    studio.look()
    edit(studio, kind="cast")
    undo = studio.page.get("/api/book").json["undo"]
    answer = studio.page.post("/api/edits", {"kind": "cast"})
    assert (answer.status, answer.json["what"], answer.json["changed"]) == (200, words, False)
    assert studio.page.get("/api/book").json["undo"] == undo


def test_those_whom_an_author_left_out_of_the_cast_are_found(studio: Opened) -> None:
    (studio.session.path / "home.md").write_text(NOVEL.replace("Ben", "Tom"))
    studio.look()
    assert edit(studio, kind="cast").startswith("1 new speaker in 3 quotations: Tom")


# -- somebody new ----------------------------------------------------------------------------------

NEW = {"speaker": "Tom", "adds": True, "pronoun": "he"}


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "add", "speaker": "Tom", "pronoun": "he"},
        {"kind": "speaker", "chunk": "1.3", **NEW},
        {**LINES, "kind": "give", **NEW},
    ],
)
def test_somebody_new_is_in_the_cast_by_one_edit(studio: Opened, asked: dict[str, object]) -> None:
    root = studio.session.path
    edit(studio, **asked)
    names = [row["name"] for row in studio.page.get("/api/cast").json["speakers"]]
    assert names == ["narrator", "Ada", "Ben", "Tom"]
    assert "Tom: {pronoun: he" in (root / "book.yaml").read_text()
    is_given = asked["kind"] != "add"
    assert ("Tom: Not far" in (root / "out.md").read_text()) is is_given
    studio.page.post("/api/undo")
    assert ((root / "book.yaml").read_text(), (root / "out.md").read_text()) == (BOOK, OUT)


def test_a_turn_in_doubt_is_given_to_somebody_new(studio: Opened) -> None:
    root = studio.session.path
    (root / "home.md").write_text(STORY)
    studio.look()
    exchange = studio.page.get("/api/doubts").json["exchanges"][0]
    edit(studio, kind="exchange", id=exchange["id"], turn=0, decision="one", **NEW)
    assert "Tom | you | " in (root / "home.speakers.txt").read_text()
    assert "Tom: {pronoun: he" in (root / "book.yaml").read_text()
    shown = studio.page.get(f"/api/doubts?exchange={exchange['id']}").json["shown"]
    assert shown["turns"][0]["speaker"] == "Tom"
    studio.page.post("/api/undo")
    assert (root / "book.yaml").read_text() == BOOK
    assert not (root / "home.speakers.txt").exists()


def test_a_new_name_that_is_somebody_s_already_is_theirs(studio: Opened) -> None:
    edit(studio, kind="speaker", chunk="1.3", speaker="ben", adds=True)
    assert (studio.session.path / "book.yaml").read_text() == BOOK
    answer = studio.page.post(
        "/api/edits", {"kind": "speaker", "chunk": "1.3", "speaker": "a: b", "adds": True}
    )
    assert (answer.status, "cannot be a name" in answer.json["error"]) == (400, True)
