from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from narrator.errors import DamagedTake
from narrator.sound.assemble import (
    PlacedTake,
    Timeline,
    plan_timeline,
    sound_key,
    speaker_gains,
    stream,
)
from narrator.sound.audio import fade
from tests.effort import examples
from tests.sounds import RATE, Samples, silence, tone, voice


def clip(number: int, length: int, **other: object) -> PlacedTake:
    facts = {
        "key": f"take{number}",
        "start": 0,
        "stop": length,
        "gain": 0.0,
        "speed": 1.0,
        "pause": 0.5,
        "chunk": f"1.{number}",
        "speaker": "narrator",
        "text": "Some words.",
        "path": Path("text/01.md"),
        "line": number,
    }
    return PlacedTake(**{**facts, **other})  # type: ignore[arg-type]


def laid(clips: Sequence[PlacedTake], head: float = 0.7, tail: float = 1.5) -> Timeline:
    return plan_timeline(clips, sample_rate=RATE, head_seconds=head, tail_seconds=tail)


# -- the timeline ----------------------------------------------------------------------------------


def test_clips_follow_one_another_with_their_pauses() -> None:
    timeline = laid([clip(0, 1000), clip(1, 2000, pause=0.25), clip(2, 500)])
    head, half, quarter = round(0.7 * RATE), round(0.5 * RATE), round(0.25 * RATE)
    assert [(cue.start, cue.stop) for cue in timeline.cues] == [
        (head, head + 1000),
        (head + 1000 + half, head + 3000 + half),
        (head + 3000 + half + quarter, head + 3500 + half + quarter),
    ]
    assert timeline.length == timeline.cues[-1].stop + round(1.5 * RATE)


def test_the_quiet_within_clips_is_part_of_their_pauses() -> None:
    quiet = clip(0, RATE, quiet=(0.02, 0.1), speed=1.25)
    first, then, last = laid([quiet, clip(1, RATE, pause=0.05, quiet=(0.02, 0.1)), quiet]).cues
    assert first.start == round(0.7 * RATE)  # the head is a silence of its own
    assert then.start - first.stop == round((0.5 - 0.02 - 0.1 / 1.25) * RATE)
    assert last.start == then.stop  # more than a pause of 0.05


def test_a_clip_is_the_speech_of_its_take_shortened_by_its_speed() -> None:
    for one, length in ((clip(0, 9000, start=4000), 5000), (clip(0, 10000, speed=1.25), 8000)):
        (cue,) = laid([one]).cues
        assert cue.stop - cue.start == length


def test_a_long_last_pause_lasts_and_a_short_one_is_part_of_the_tail() -> None:
    long, short = laid([clip(0, 100, pause=4.0)]), laid([clip(0, 100, pause=0.3)])
    assert long.length - long.cues[-1].stop == 4 * RATE
    assert short.length - short.cues[-1].stop == round(1.5 * RATE)


def test_cues_carry_what_subtitles_need() -> None:
    cue = laid([clip(3, 100, speaker="alice", text="Hello.")]).cues[0]
    assert (cue.chunk, cue.speaker, cue.text) == ("1.3", "alice", "Hello.")
    assert (cue.key, cue.path, cue.line) == ("take3", Path("text/01.md"), 3)


@pytest.mark.parametrize("wrong", [{"pause": -0.1}, {"speed": 0.0}, {"start": 200}])
def test_a_clip_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"clip 1\.0 cannot be laid"):
        laid([clip(0, 100, **wrong)])


def test_a_timeline_survives_json() -> None:
    timeline = laid([clip(0, 100, text="“Héllo” 本 😀"), clip(1, 200)])
    assert Timeline.from_json(timeline.to_json()) == timeline


def test_a_timeline_that_was_altered_is_refused() -> None:
    text = laid([clip(0, 100)]).to_json()
    changes = (
        ('"stop": ', '"stop": 1'),
        ('"seal"', '"sea1"'),
        ('"length"', '"size"'),
        (text, "{}"),
    )
    for original, altered in changes:
        with pytest.raises((ValueError, KeyError)):
            Timeline.from_json(text.replace(original, altered))


def test_clips_in_unison_begin_together_and_the_pause_follows_the_longest() -> None:
    clips = [clip(0, 1000), clip(1, 3000, with_before=True), clip(2, 500), clip(3, 100)]
    for lengths in ((1000, 3000), (3000, 1000)):
        pair = [replace(one, stop=n) for one, n in zip(clips, lengths, strict=False)]
        first, second, third, last = laid([*pair, *clips[2:]]).cues
        assert first.start == second.start == round(0.7 * RATE)
        assert (first.stop - first.start, second.stop - second.start) == lengths
        assert third.start == first.start + 3000 + round(0.5 * RATE)
        assert last.start == third.stop + round(0.5 * RATE)


def test_cues_in_unison_are_heard_as_one() -> None:
    timeline = laid([clip(0, 1000), clip(1, 3000, with_before=True), clip(2, 500)])
    first, second, third = timeline.cues
    assert timeline.heard == (replace(first, stop=second.stop), third)
    assert Timeline.from_json(timeline.to_json()) == timeline
    assert timeline.to_json().count("with_before") == 1  # of others as it always was


# -- the sound -------------------------------------------------------------------------------------


class Takes(dict[str, Samples]):
    """Takes by key, and the order in which they were asked for."""

    def __init__(self, *sounds: Samples) -> None:
        super().__init__({f"take{n}": sound for n, sound in enumerate(sounds)})
        self.asked: list[str] = []

    def read(self, clip: PlacedTake) -> Samples:
        self.asked.append(clip.key)
        return self[clip.key]


def sound_of(timeline: Timeline, takes: Takes, block: int = 65536) -> Samples:
    return np.concatenate([silence(0), *stream(timeline, takes.read, block)])


def test_each_clip_lies_at_its_cue_and_silence_between() -> None:
    takes = Takes(voice(0.4, seed=1), voice(0.7, seed=2))
    clips = [clip(0, 8000, start=1000), clip(1, 15000)]
    timeline = laid(clips)
    sound = sound_of(timeline, takes)
    expected = silence(timeline.length / RATE)
    for cue, one in zip(timeline.cues, clips, strict=True):
        expected[cue.start : cue.stop] = fade(takes[one.key][one.start : one.stop], RATE)
    assert_array_equal(sound, expected)


@given(
    lengths=st.lists(st.integers(0, 5000), max_size=6),
    pauses=st.lists(st.floats(0, 0.3), min_size=6, max_size=6),
    speeds=st.lists(st.sampled_from([1.0, 1.1, 0.9]), min_size=6, max_size=6),
    head=st.floats(0, 0.2),
    block=st.integers(1, 9000),
)
@settings(max_examples=examples(40))
def test_blocks_of_any_size_give_the_same_sound_of_the_planned_length(
    lengths: list[int], pauses: list[float], speeds: list[float], head: float, block: int
) -> None:
    takes = Takes(*(tone(length / RATE, peak=-3) for length in lengths))
    clips = [clip(n, length, pause=pauses[n], speed=speeds[n]) for n, length in enumerate(lengths)]
    timeline = laid(clips, head=head, tail=0.1)
    sizes = [len(piece) for piece in stream(timeline, takes.read, block)]
    assert sum(sizes) == timeline.length
    assert all(size == block for size in sizes[:-1])
    assert_array_equal(sound_of(timeline, takes, block), sound_of(timeline, takes, 10**6))


def test_takes_are_read_one_by_one_when_they_are_due() -> None:
    takes = Takes(*(voice(1.0, seed=n) for n in range(5)))
    clips = [clip(n, RATE) for n in range(5)]
    blocks = stream(laid(clips), takes.read, RATE)
    next(blocks)
    assert takes.asked == ["take0"]
    assert len(list(blocks)) > 0
    assert takes.asked == [f"take{n}" for n in range(5)]


def level(sound: Samples) -> float:
    return 10 * np.log10(float(np.mean(np.square(sound))))


@pytest.mark.parametrize("voices", [2, 5])
def test_voices_in_unison_are_as_loud_as_one(voices: int) -> None:
    takes = Takes(*(voice(2.0, seed=n) for n in range(voices)))
    clips = [clip(n, 2 * RATE, with_before=n > 0) for n in range(voices)]
    (cue,) = laid(clips).heard
    sound = sound_of(laid(clips), takes)[cue.start : cue.stop]
    alone = [level(fade(take, RATE)) for take in takes.values()]
    assert level(sound) == pytest.approx(10 * np.log10(np.mean(10 ** (np.array(alone) / 10))), 0.01)
    assert np.abs(sound).max() <= 1.5 * max(np.abs(take).max() for take in takes.values())


def test_a_take_in_unison_with_itself_is_that_take() -> None:
    takes = Takes(voice(1.0, seed=1))
    clips = [clip(0, RATE)]
    alone = sound_of(laid(clips), takes)
    twice = [*clips, clip(0, RATE, with_before=True)]
    np.testing.assert_allclose(sound_of(laid(twice), takes), alone, atol=1e-6)


def test_voices_in_unison_end_when_they_end_and_have_their_own_gain_and_speed() -> None:
    takes = Takes(tone(1.0, hertz=400), tone(2.0, hertz=900))
    clips = [clip(0, RATE, gain=-60.0), clip(1, 2 * RATE, speed=2.0, with_before=True)]
    timeline = laid([*clips, clip(0, 100)])
    assert timeline.cues[2].start == timeline.cues[0].stop + round(0.5 * RATE)
    sound = sound_of(laid(clips), takes)
    half = sound[timeline.cues[0].start :][: RATE // 2] / np.abs(sound).max()
    spectrum = np.abs(np.fft.rfft(half))
    assert spectrum[200] < 0.01 * spectrum[450]


def test_silent_takes_in_unison_stay_silent() -> None:
    clips = [clip(0, 100), clip(1, 200, with_before=True)]
    assert not sound_of(laid(clips), Takes(silence(1), silence(1))).any()


def test_gain_is_in_decibels() -> None:
    takes = Takes(tone(1.0, peak=-20))
    clips = [clip(0, RATE, gain=6.0)]
    assert np.abs(sound_of(laid(clips), takes)).max() == pytest.approx(10 ** (-14 / 20), 1e-3)


def test_edges_of_clips_do_not_click() -> None:
    takes = Takes(np.ones(RATE, np.float32))
    clips = [clip(0, RATE)]
    assert np.abs(np.diff(sound_of(laid(clips), takes))).max() < 0.02


def test_a_take_that_ends_before_its_speech_is_damaged() -> None:
    clips = [clip(0, RATE)]
    with pytest.raises(DamagedTake, match="take0"):
        sound_of(laid(clips), Takes(voice(0.5)))


def test_a_chapter_without_clips_is_its_head_and_tail() -> None:
    assert len(sound_of(laid([]), Takes())) == round(0.7 * RATE) + round(1.5 * RATE)


# -- the key of a sound ----------------------------------------------------------------------------


def key_of(clips: Sequence[PlacedTake], content: str = "c", head: float = 0.7) -> str:
    return sound_key(laid(clips, head=head), lambda clip: content + clip.key)


def test_the_key_of_a_sound_changes_with_the_sound() -> None:
    clips = [clip(0, 1000), clip(1, 2000)]
    changed = [
        key_of(clips, content="d"),
        key_of(clips, head=0.8),
        key_of(clips[:1]),
        *(
            key_of([clips[0], replace(clips[1], **{name: value})])
            for name, value in {"gain": 1.0, "speed": 1.1, "pause": 2.0, "start": 1, "stop": 1999,
                                "key": "other", "with_before": True}.items()
        ),
    ]  # fmt: skip
    assert len({key_of(clips), *changed}) == len(changed) + 1


def test_the_key_of_a_sound_does_not_change_with_names_and_texts() -> None:
    plain = clip(0, 1000)
    told = replace(plain, text="Other.", speaker="bob", path=Path("b.md"), line=9, chunk="2.2")
    assert key_of([plain]) == key_of([told])


# -- levels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "author_gains", "gains"),
    [
        ({"a": [(-20, 9)], "b": [(-26, 5)], "c": [(-23, 1)]}, {}, {"a": -3.0, "b": 3.0, "c": 0.0}),
        ({"a": [(-20, 10), (-21, 10), (-5, 3)], "b": [(-20, 1)]}, {}, {"a": 0.0, "b": 0.0}),
        ({"a": [(-20, 1)], "b": [(-60, 1)], "c": [(-20, 1)]}, {}, {"a": 0.0, "b": 12.0, "c": 0.0}),
        ({"a": [(-20, 1)], "b": [(-24, 1)]}, {"b": -1.5}, {"a": -2.0, "b": 0.5}),
        ({"a": [(-20, 1)], "b": []}, {"b": 2.0}, {"a": 0.0, "b": 2.0}),
    ],
    ids=["the median of the cast", "weighted by seconds", "bounded", "the author's on top",
         "without takes"],
)  # fmt: skip
def test_gains_bring_speakers_to_one_level(
    measured: dict[str, list[tuple[float, float]]],
    author_gains: dict[str, float],
    gains: dict[str, float],
) -> None:
    assert speaker_gains(measured, author_gains) == gains


def test_a_slightly_different_take_moves_no_gain() -> None:
    takes = [(-22.0 - 0.1 * n, 8.0) for n in range(20)]
    before = speaker_gains({"a": takes, "b": [(-26.1, 30)]})
    assert speaker_gains({"a": [*takes[1:], (-22.3, 7.0)], "b": [(-26.0, 30)]}) == before
