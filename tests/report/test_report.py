"""The report of a small project: its facts are right, and nothing in it is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from narrator.engines import Request, Speech
from narrator.pipeline import book_plan, retakes
from narrator.pipeline.manuscript import count_visible_characters, read_manuscript
from narrator.report import data, facts, sound
from narrator.report.facts import ProjectFacts
from narrator.report.sound import ChapterSound, CurveCache
from narrator.sound.audio import SPEECH_LEAD, SPEECH_TAIL
from tests import books
from tests.effort import quick
from tests.fakes import RATE, HumEngine, hum

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MANIFEST = books.MANIFEST.replace("The Ferry", "'The <script>alert(1)</script> Ferry 🛶 & מעבורת'")
MANIFEST = MANIFEST.replace("formats: [wav]", "formats: [mp3]").replace("Morning", "'A & <b>'")
ONE = books.ONE.replace("***", "![A ferry](ferry.png)\n\n***", 1)
GIVEN_UP = "I shall come again tomorrow, if the weather holds and my aunt does not find out."
TWICE = "I have no money, but I can row."
SLOW = "The lamps were lit on both banks."


def faults(request: Request) -> Speech | None:
    """One chunk is never good, one only at its second try, and one is slow."""
    spoken = hum(request)
    silent = np.zeros_like(spoken.samples)
    if request.text.strip() in GIVEN_UP or GIVEN_UP in request.text:
        return replace(spoken, samples=silent)
    if TWICE in request.text and request.attempt == 0:
        return replace(spoken, samples=silent)
    if SLOW in request.text:
        return hum(replace(request, expected=request.expected * 1.55))
    return None


def rendered(
    folder: Path,
    fault: Callable[[Request], Speech | None] = faults,
    manifest: str = MANIFEST,
    one: str = ONE,
    two: str = books.TWO,
) -> book_plan.BookPlan:
    path = books.write(folder, manifest, one, two)
    engine = HumEngine(fault=fault)
    books.run(path, engine)
    return books.plan(path, engine)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> book_plan.BookPlan:
    """Two chapters, of which the second lacks a chunk."""
    return rendered(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def written(book) -> ProjectFacts:
    return facts.gather(book, NOW)


@pytest.fixture(scope="module")
def row(book, written) -> data.Row:
    return data.report_row(book, written, on_progress=lambda what, share: None)


# -- facts -----------------------------------------------------------------------------------------


def test_every_character_is_accounted_for(written):
    found = written.characters
    assert found.balanced
    assert found.left_out == count_visible_characters("![A ferry](ferry.png)")
    assert found.given_up == count_visible_characters(GIVEN_UP)
    assert found.not_rendered == 0
    assert found.source == found.spoken + found.left_out + found.given_up


def test_chapters_say_how_far_they_are(written):
    one, two = written.chapters
    assert (one.missing, one.given_up, one.current) == (0, 0, True)
    assert one.file is not None
    assert one.file.path.suffix == ".mp3"
    assert (two.missing, two.given_up, two.seconds, two.file) == (1, 1, None, None)
    assert not written.complete


def test_retries_and_flags_come_with_their_faults(written):
    up, again = written.troubles
    assert (up.given_up, up.place.text.strip(), up.place.speaker) == (True, GIVEN_UP, "ann")
    assert any("silent" in fault for fault in up.faults)
    assert re.fullmatch(r"text/two\.md:\d+", up.place.source)
    assert (again.given_up, again.tries, again.place.text.strip()) == (False, 2, TWICE)
    assert any("silent" in fault for fault in again.faults)
    assert written.retries == 1


def test_what_is_spoken_again_by_hand_counts(tmp_path):
    engine = HumEngine()
    path = books.write(tmp_path, books.MANIFEST, books.BRIEF_ONE, books.TWO)
    books.run(path, engine)
    step = books.plan(path, engine).steps[1]
    watcher = books.Watcher()
    settings = retakes.RetakeSettings(count=2)
    retakes.retake(
        read_manuscript(path), engine, [step.id], settings, sink=watcher, cancel=watcher.cancel
    )
    found = facts.gather(books.plan(path, engine))
    [trouble] = found.troubles
    assert (trouble.place.chunk, trouble.outcome) == (step.id, "spoken again by hand")
    assert (trouble.tries, found.retries, found.chapters[0].retries) == (3, 2, 2)


def test_good_tries_of_an_earlier_choice_are_no_requests_of_the_take(tmp_path):
    def fault(request: Request) -> Speech | None:
        is_bad = SLOW in request.text and request.attempt == 0
        return replace(hum(request), samples=np.zeros(RATE, np.float32)) if is_bad else None

    for best_of in (5, 2):
        path = books.write(tmp_path, f"{books.MANIFEST}checks: {{best_of: {best_of}}}\n")
        report, _ = books.speak(path, HumEngine(fault=fault))
        for step in report.plan.steps:
            (path.parent / "build/store" / step.key[:2] / f"{step.key}.take").unlink()
    books.speak(path, HumEngine(fault=fault))
    [trouble] = facts.gather(books.plan(path, HumEngine()), NOW).troubles
    assert (trouble.outcome, trouble.tries) == ("good in the end", 2)


@pytest.mark.parametrize("strict", quick([False, True], False))
def test_a_doubtful_chunk_is_shown_with_its_faults(strict, tmp_path):
    def fault(request: Request) -> Speech | None:
        is_bad = request.text.strip() in GIVEN_UP or GIVEN_UP in request.text
        return replace(hum(request), stop="cap") if is_bad else None

    manifest = books.MANIFEST + ("checks: {strict: true}\n" if strict else "")
    book = rendered(tmp_path, fault, manifest, books.BRIEF_ONE, f"# Evening\n\nann: {GIVEN_UP}\n")
    found = facts.gather(book, NOW)
    [trouble] = found.troubles
    assert (trouble.outcome, trouble.doubtful) == (
        "doubtful, held back" if strict else "doubtful",
        True,
    )
    assert trouble.faults == ("cut: stopped at its length limit",)
    assert (found.doubtful, found.missing) == (1, int(strict))
    assert found.characters.given_up == (count_visible_characters(GIVEN_UP) if strict else 0)
    assert found.characters.balanced
    row = data.report_row(book, found)
    state = "Incomplete: 1 line of" if strict else "Delivered, with 1 doubtful line"
    assert row["state"].startswith(state)
    assert list(data.clips(book, row)) == [trouble.place.chunk]


def test_what_is_slow_for_its_speaker_is_an_outlier(written):
    slow = [pace for pace in written.paces if SLOW in pace.place.text]
    assert [pace.outlier for pace in slow] == [True]
    assert slow[0].against == pytest.approx(1.55, rel=0.1)
    assert written.outliers == slow


def test_pauses_are_those_of_the_manifest(book, written):
    pauses = book.manuscript.project.manifest.pauses
    kinds = {pause.kind: pause.seconds for pause in written.pauses}
    assert kinds["scene"] == pauses.scene
    assert kinds["speaker"] == pauses.speaker
    by_chapter = [sum(step.chapter == n for step in book.steps) for n in (0, 1)]
    assert len(written.pauses) == sum(count - 1 for count in by_chapter)


def test_pauses_equal_the_gaps_of_the_timeline(written):
    chapter = [pause for pause in written.pauses if pause.after.chapter == 0]
    places = [pace.place for pace in written.paces if pace.place.chapter == 0]
    gaps = [after.start - place.stop for place, after in pairwise(places)]
    heard = [gap + SPEECH_LEAD + SPEECH_TAIL for gap in gaps]  # with the quiet within takes
    assert [pause.heard for pause in chapter] == pytest.approx(heard, abs=1e-3)
    assert not any(pause.bad for pause in chapter)


def test_joins_are_bad_where_a_pause_is_longer_or_an_edge_at_fault(written):
    pause = written.pauses[0]
    assert replace(pause, seconds=0.05, heard=0.095).bad
    assert replace(pause, faults=("cut: ends in the middle of a sound",)).bad
    assert not replace(pause, heard=None).bad


def test_chains_are_counted_with_their_modes(book, written):
    chains = written.chains
    assert sum(length * number for length, number in chains.lengths.items()) == len(book.steps)
    assert max(chains.lengths) > 1
    assert sum(chains.modes.values()) == len(book.steps)


def test_shares_of_voices_sum_to_one(written):
    speakers = written.speakers
    assert [speaker.name for speaker in speakers] == ["narrator", "ann"]
    assert sum(speaker.share for speaker in speakers) == pytest.approx(1)


def test_a_file_of_other_text_is_said_to_be_out_of_date(tmp_path):
    path, engine = books.brief(tmp_path), HumEngine()
    books.run(path, engine)
    books.brief(tmp_path, one=books.BRIEF_ONE.replace("at seven", "at nine"))
    found = facts.gather(books.plan(path, engine), NOW)
    assert [file.note for file in found.files] == ["out of date", ""]
    assert [chapter.current for chapter in found.chapters] == [False, True]


def test_a_project_that_was_never_rendered_has_a_report_too(tmp_path):
    book = books.plan(books.brief(tmp_path), HumEngine())
    found = facts.gather(book)
    assert found.characters.not_rendered == found.characters.source > 0
    row = data.report_row(book, found)
    assert row["state"] == f"Incomplete: {len(book.steps)} lines of {len(book.steps)} missing"
    assert row["files"] == row["pace"] == row["outliers"] == []
    assert [chapter["curve"] for chapter in row["chapters"]] == [None, None]


# -- as JSON ---------------------------------------------------------------------------------------


def test_the_report_is_plain_json_in_authors_words(row):
    assert json.loads(json.dumps(row, allow_nan=False))["title"] == row["title"]
    assert row["title"] == "The <script>alert(1)</script> Ferry 🛶 & מעבורת"
    assert [chapter["title"] for chapter in row["chapters"]] == ["A & <b>", "Evening"]
    assert len(row["left_out"]) == 1


def test_takes_stand_where_they_are_spoken(written, row):
    (outlier,) = row["outliers"]
    assert SLOW in outlier["place"]["text"]
    assert outlier["place"]["chapter"] == 2
    assert 0 < outlier["at"] < row["speech_seconds"]
    assert len(row["pace"]) + 1 == row["pace_count"] == len(written.paces)
    one, two = row["chapters"]
    assert one["pace"] is not None
    assert two["pace"][2] == outlier["against"]


def test_pauses_are_counted_by_their_length(written, row):
    pauses = row["pauses"]
    assert sum(pauses["histogram"]) == pauses["count"] == len(written.pauses)
    assert sum(count for _, count, *_ in pauses["kinds"]) == len(written.pauses)


def test_a_delivered_chapter_has_its_sound(row):
    one, two = row["chapters"]
    curve = one["curve"]
    assert len(curve["low"]) == len(curve["high"]) <= sound.POINTS
    assert len(curve["pitch"]) <= sound.PITCHES
    assert curve["integrated"] == pytest.approx(one["target"], abs=1)
    assert two["curve"] is None


def test_files_are_measured_only_when_that_is_asked_for(tmp_path):
    book = rendered(tmp_path, lambda request: None, books.MANIFEST, books.BRIEF_ONE)
    found = facts.gather(book)
    assert data.report_row(book, found)["unmeasured"] == len(found.files)
    data.report_row(book, found, on_progress=lambda what, share: None)
    again = data.report_row(book, found)
    assert again["unmeasured"] == 0
    assert again["chapters"][0]["curve"] is not None


def test_the_same_project_gives_the_same_report_and_reads_no_sound(book, written, row, monkeypatch):
    def never(*arguments: object) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr(sound, "_read_curves", never)
    monkeypatch.setattr(sound.postflight, "measure_sound_file", never)
    again = data.report_row(book, written, on_progress=lambda what, share: None)
    assert json.dumps(again) == json.dumps(row)


@pytest.mark.slow
def test_torn_curves_are_measured_again(book, written, row):
    folder = book.manuscript.project.build / "report-cache"
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:40])
    again = data.report_row(book, written, on_progress=lambda what, share: None)
    assert json.dumps(again) == json.dumps(row)


def test_files_are_held_to_their_profiles_and_the_first_one_is_heard(tmp_path):
    output = "output: {profile: [audiobookshelf, ebu-r128]}"
    manifest = re.sub(r"output: .*", output, MANIFEST)
    book = rendered(tmp_path, lambda request: None, manifest, books.BRIEF_ONE, books.BRIEF_TWO)
    found = facts.gather(book)
    row = data.report_row(book, found, on_progress=lambda what, share: None)
    assert row["good"]
    loudness = {
        file["profile"]: check["demand"]
        for file in row["files"]
        for check in file["checks"]
        if "LUFS" in check["demand"]
    }
    assert loudness["ebu-r128"] == "-24 to -22 LUFS"
    one, two = found.chapters
    assert one.file == two.file is not None
    assert one.file.path.suffix == ".m4b"
    begins = [chapter["from"] for chapter in row["chapters"]]
    assert begins == pytest.approx([0, one.seconds], abs=0.1)


# -- sound -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("cut", [(1000,), (3, 997), (64, 64, 872), (999, 1), (500, 0, 500)])
def test_an_envelope_does_not_depend_on_how_sound_is_cut(size, cut):
    draw = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    envelope = sound._Envelope(size)
    for block in np.split(draw, np.cumsum(cut)[:-1]):
        envelope.feed(block)
    low, high = envelope.finish()
    edges = np.arange(0, 1000, size)
    assert np.array_equal(low, np.minimum.reduceat(draw, edges))
    assert np.array_equal(high, np.maximum.reduceat(draw, edges))
    assert envelope.count == 1000


@pytest.mark.parametrize("hertz", [90, 210])
def test_the_pitch_of_a_voice_is_measured_and_silence_has_none(hertz):
    rate = 16000
    times = np.arange(rate * 8) / rate
    voice = 0.1 * sum(np.sin(2 * np.pi * hertz * n * times) / n for n in range(1, 8))
    voice[rate * 4 :] = 0
    pitch = sound._Pitch(rate, len(voice))
    for block in np.split(voice.astype(np.float32), 7999 * np.arange(1, 17)):
        pitch.feed(block)
    readings = pitch.finish()
    assert readings[0] == pytest.approx(hertz, rel=0.03)
    assert np.isnan(readings[-1])


def test_chapters_of_one_file_are_cut_where_they_begin(tmp_path):
    import soundfile

    loud, soft = np.full(RATE * 5, 0.5, np.float32), np.full(RATE * 3, 0.1, np.float32)
    path = tmp_path / "book.wav"
    soundfile.write(path, np.concatenate([loud, soft, loud]), RATE, subtype="FLOAT")
    parts = [
        ChapterSound(0, 0, 5),
        ChapterSound(1, 5, 3),
        ChapterSound(2, 8, 5),
    ]
    kept = CurveCache(tmp_path / "kept")
    told: list[float] = []
    found = sound.curves({path: parts}, kept, told.append)
    assert [round(found[n].seconds, 3) for n in range(3)] == [5, 3, 5]
    assert [float(found[n].high.max()) for n in range(3)] == pytest.approx([0.5, 0.1, 0.5])
    assert [float(found[n].high.min()) for n in range(3)] == pytest.approx([0.5, 0.1, 0.5])
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    one = sound.curves({path: parts[1:2]}, CurveCache(tmp_path / "other"), told.append)
    assert np.array_equal(one[1].high, found[1].high)
