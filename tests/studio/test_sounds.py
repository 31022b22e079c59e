"""Sound by ranges: any piece of a chapter is, bit for bit, what it would be in the whole."""

from __future__ import annotations

import contextlib
import http.client
import io
import random
from pathlib import Path

import numpy as np
import pytest
import soundfile

from narrator.delivery import layout
from narrator.sound import audio
from narrator.sound.audio import wav_header
from narrator.studio import sounds
from narrator.studio.sounds import TakeCache, TakesBytes
from tests import studios
from tests.studios import Opened


@pytest.fixture
def taken(studio: Opened) -> Opened:
    """A studio of a book of which only takes are there."""
    for path in (studio.session.path / "build" / "encoded").rglob("*"):
        if path.is_file():
            path.unlink()
    studio.do(studio.session.replan)
    return studio


def whole(studio: Opened, chapter: int = 0) -> tuple[layout.ChapterWords, bytes]:
    """A chapter's takes as they are streamed, as a WAV file."""
    view = studio.session.view
    words = layout.lay_out_words(view.book, view.chapters[chapter], view.book_sound)
    assert words is not None
    blocks = words.blocks()
    return words, sounds.wav(np.concatenate(list(blocks)), words.timeline.sample_rate)


def test_takes_are_heard_as_they_are_streamed(taken: Opened) -> None:
    sound = taken.chapter()["sound"]
    assert sound["kind"] == "takes"
    assert sound["label"] == "the draft voice: takes with their pauses, loudness not finished yet"
    assert taken.page.get(sound["url"]).data == whole(taken)[1]


def test_any_range_of_takes_is_bit_for_bit_that_of_the_whole(taken: Opened) -> None:
    data, url = whole(taken)[1], taken.chapter()["sound"]["url"]
    draw = random.Random(3)
    spans = [(0, 0), (0, 43), (1, 44), (43, 44), (44, 44), (45, 45), (len(data) - 1, len(data) - 1)]
    for _ in range(25):
        start = draw.randrange(len(data))
        spans.append((start, min(len(data) - 1, start + draw.randrange(200_000))))
    for start, last in spans:
        answer = taken.page.get(url, range=f"bytes={start}-{last}")
        assert answer.status == 206
        assert answer.headers["content-range"] == f"bytes {start}-{last}/{len(data)}"
        assert answer.data == data[start : last + 1]


def test_the_rest_and_the_end_may_be_asked_for(taken: Opened) -> None:
    data, url = whole(taken)[1], taken.chapter()["sound"]["url"]
    assert taken.page.get(url, range="bytes=70001-").data == data[70001:]
    assert taken.page.get(url, range="bytes=-777").data == data[-777:]
    assert taken.page.get(url, range=f"bytes=-{10 * len(data)}").data == data
    assert taken.page.get(url, range=f"bytes=5-{10 * len(data)}").data == data[5:]


@pytest.mark.parametrize(
    "wanted", ["bytes=999999999-", "bytes=9-3", "bytes=-", "bytes=a-b", "bytes=-0", "lines=1-2"]
)
def test_a_range_that_is_none_is_refused(shared: Opened, wanted: str) -> None:
    answer = shared.page.get(shared.chapter()["sound"]["url"], range=wanted)
    assert answer.status == 416
    assert answer.headers["content-range"].startswith("bytes */")


def test_a_range_of_what_was_another_sound_is_all_of_this_one(shared: Opened) -> None:
    url = shared.chapter()["sound"]["url"]
    answer = shared.page.get(url, range="bytes=10-20", if_range='"another"')
    assert answer.status == 200
    again = shared.page.get(url, range="bytes=10-20", if_range=answer.headers["etag"])
    assert again.data == answer.data[10:21]


def test_the_head_of_a_sound_is_asked_for_alone(shared: Opened) -> None:
    answer = shared.page.ask("HEAD", shared.chapter()["sound"]["url"])
    assert (answer.status, answer.data) == (200, b"")
    assert int(answer.headers["content-length"]) > 1000


def test_a_mastered_chapter_is_the_encoded_file(shared: Opened) -> None:
    sound = shared.chapter(2)["sound"]
    (path,) = (shared.session.path / "build" / "encoded").rglob(
        f"{sound['url'].split('/')[-1]}.m4a"
    )
    answer = shared.page.get(sound["url"])
    assert answer.headers["content-type"] == "audio/mp4"
    assert answer.data == path.read_bytes()
    piece = shared.page.get(sound["url"], range="bytes=100-299")
    assert (piece.status, piece.data) == (206, path.read_bytes()[100:300])


def test_a_mastered_chapter_that_was_altered_gives_way_to_its_takes(studio: Opened) -> None:
    name = studio.chapter(2)["sound"]["url"].split("/")[-1]
    (path,) = (studio.session.path / "build" / "encoded").rglob(f"{name}.m4a")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    studio.do(studio.session.replan)
    assert studio.chapter(2)["sound"]["kind"] == "takes"


def test_what_is_missing_is_passed_over(taken: Opened) -> None:
    rows = taken.chapter()["chunks"]
    key = rows[2]["key"]
    (taken.session.path / "build" / "store" / key[:2] / f"{key}.take").unlink()
    taken.session.forget_takes(0)
    left = taken.chapter()
    assert [row["start"] is None for row in left["chunks"]] == [n == 2 for n in range(5)]
    assert left["seconds"] < rows[-1]["stop"] + 2
    assert taken.page.get(left["sound"]["url"]).data == whole(taken)[1]


def test_where_the_first_of_a_chorus_is_missing_the_others_are_heard(taken: Opened) -> None:
    row = taken.chapter()["chunks"][3]
    (taken.session.path / "build" / "store" / row["key"][:2] / f"{row['key']}.take").unlink()
    taken.session.forget_takes(0)
    words, _ = whole(taken)
    assert [cue.chunk for cue in words.timeline.cues] == ["1.1", "1.2", "1.3", "1.5", "1.6"]
    starts = [cue.start for cue in words.timeline.cues]
    assert starts == sorted(set(starts))
    again = taken.chapter()["chunks"][3]
    assert again["state"] == "missing"
    assert again["start"] is not None


def test_the_sound_of_before_is_heard_on_while_its_takes_are_there(taken: Opened) -> None:
    before = taken.chapter()["sound"]["url"]
    data = taken.page.get(before).data
    key = taken.chapter()["chunks"][4]["key"]
    path = taken.session.path / "build" / "store" / key[:2] / f"{key}.take"
    path.unlink()
    taken.session.forget_takes(0)
    now = taken.chapter()["sound"]["url"]
    assert now != before
    # what overlaps no take that has gone
    assert taken.page.get(before, range="bytes=0-50000").data == data[:50001]


def test_a_take_that_became_another_is_never_heard_under_the_old_name(taken: Opened) -> None:
    words, _ = whole(taken)
    view = taken.session.view
    step = view.steps["1.1"]
    samples, rate = view.book.store.read(step.key)
    sound = TakesBytes(words, view.book.store, TakeCache())
    record = view.book.store.find(step.key)
    assert record is not None
    view.book.store.put(record, samples * np.float32(0.5))
    cue = words.timeline.cues[0]
    with pytest.raises(Exception, match="another now"):
        sound.samples(cue.start, cue.stop)
    assert rate == words.timeline.sample_rate


def test_a_take_that_is_damaged_is_missing_once_it_was_to_be_heard(taken: Opened) -> None:
    sound, rows = taken.chapter()["sound"], taken.chapter()["chunks"]
    key = rows[1]["key"]
    path = taken.session.path / "build" / "store" / key[:2] / f"{key}.take"
    data = bytearray(path.read_bytes())
    data[200:700] = b"?" * 500
    path.write_bytes(data)
    with contextlib.suppress(http.client.HTTPException):
        taken.page.get(sound["url"])
    again = taken.chapter()
    assert again["sound"]["url"] != sound["url"]
    assert [row["state"] for row in again["chunks"]][:3] == ["good", "missing", "good"]
    assert taken.page.get(again["sound"]["url"]).status == 200


def test_only_what_overlaps_is_decoded(taken: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    words, _ = whole(taken)
    read: list[str] = []
    store = taken.session.view.book.store
    own = type(store).read

    def noting(self: object, key: str) -> object:
        read.append(key)
        return own(store, key)

    monkeypatch.setattr(type(store), "read", noting)
    sound = TakesBytes(words, store, TakeCache())
    cue = words.timeline.cues[2]
    sound.samples(cue.start + 10, cue.start + 20)
    assert read == [cue.key]
    sound.samples(cue.start, cue.stop)
    assert read == [cue.key]


def test_a_cache_forgets_what_it_has_no_room_for() -> None:
    cache = TakeCache(max_bytes=1000)
    for number in range(5):
        cache.keep((number,), np.zeros(100, np.float32))
    assert [cache.find((number,)) is not None for number in range(5)] == [False] * 3 + [True] * 2


@pytest.mark.parametrize(
    ("length", "kind", "size_offset"),
    [(0, b"RIFF", 40), (2**31 - 150, b"RIFF", 40), (2**31, b"RF64", 28), (5 * 10**9, b"RF64", 28)],
)
def test_the_head_of_a_wav_file_says_its_length(length: int, kind: bytes, size_offset: int) -> None:
    header = wav_header(length, 48000)
    assert header.startswith(kind)
    size_bytes = 4 if kind == b"RIFF" else 8
    size = int.from_bytes(header[size_offset : size_offset + size_bytes], "little")
    assert size == 2 * length


def test_a_large_file_is_one_that_others_read(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.linspace(-1, 1, 1000, dtype=np.float32)
    monkeypatch.setattr(audio, "_LARGEST_RIFF", 10)
    data = sounds.wav(samples, 8000)
    assert data.startswith(b"RF64")
    read, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    assert (rate, len(read)) == (8000, 1000)
    assert np.abs(read - samples).max() < 1e-4


# -- the waveform ----------------------------------------------------------------------------------


def test_peaks_lie_where_the_sound_is(taken: Opened) -> None:
    words, data = whole(taken)
    rate = words.timeline.sample_rate
    samples = np.abs(np.frombuffer(data[44:], "<i2").astype(np.float32) / 32768)
    peaks = np.frombuffer(taken.page.get("/api/peaks/1").data, np.uint8)
    assert len(peaks) == -(-len(samples) * 20 // rate)
    true = np.array(
        [samples[n * rate // 20 : (n + 1) * rate // 20].max() for n in range(len(peaks))]
    )
    drawn = (peaks / 255.0) ** 2
    loud = true > 0.05
    # a peak may be drawn in the column beside its own
    near = np.maximum.reduce([drawn, np.roll(drawn, 1), np.roll(drawn, -1)])
    assert (near[loud] > 0.7 * true[loud]).all()
    silent = np.maximum.reduce([true, np.roll(true, 1), np.roll(true, -1)]) == 0
    assert (drawn[silent] == 0).all()


def test_peaks_of_takes_are_kept(taken: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    first = taken.page.get("/api/peaks/1").data
    (kept,) = (taken.session.path / "build" / "peaks").rglob("001.json")
    monkeypatch.setattr(
        type(taken.session.view.book.store), "read", lambda *_: pytest.fail("read again")
    )
    assert taken.page.get("/api/peaks/1").data == first
    monkeypatch.undo()
    kept.write_text("torn")
    assert taken.page.get("/api/peaks/1").data == first


def test_peaks_of_a_sound_that_is_no_more_are_not_there(shared: Opened) -> None:
    name = shared.chapter()["sound"]["url"].split("/")[-1]
    assert shared.page.get(f"/api/peaks/1?v={name}").status == 200
    assert shared.page.get("/api/peaks/1?v=" + "0" * 40).status == 404


def test_the_book_is_as_it_was(spoken: Path) -> None:
    assert (spoken / "out.md").read_text() == studios.OUT
