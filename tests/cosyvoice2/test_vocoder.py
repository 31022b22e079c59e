"""Rows to samples: windows, batches and streams say what each row says alone, in one piece."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import mlx.core as mx
import numpy as np
import pytest

from cosyvoice2 import vocoder
from cosyvoice2.hift import HiFT, reach
from cosyvoice2.source import Noise, excite
from cosyvoice2.vocoder import (
    MelRow,
    VocoderStream,
    decode,
    predict_pitch,
    resize_mel,
    vocode,
    windows,
)
from speechbase.errors import RequestError
from tests.cosyvoice2.conftest import TINY, CosyGolden
from tests.effort import quick
from tests.voxcpm2.gpu import pretended

MARGIN = reach(TINY.vocoder)


@pytest.fixture(scope="module")
def mel(golden: CosyGolden) -> np.ndarray:
    """208 frames (frames, 80)."""
    return golden.arrays("tts_given_tokens")["mel_0"][0].T


def alone(hift: HiFT, mel: np.ndarray, source: Any) -> np.ndarray:
    """In one piece."""
    return np.array(hift.decode(mx.array(mel[None]), mx.array(source)[None]))[0]


class TestWindows:
    @pytest.mark.parametrize("frames", [1, 40, 41, 60, 61, 79, 80, 81, 1000])
    def test_each_frame_is_kept_once_and_none_near_a_false_end(self, frames):
        length, margin = 40, 15
        cut = list(windows(frames, length, margin))
        assert [w.begin for w in cut] == [0, *(w.end for w in cut[:-1])]
        assert cut[-1].end == frames
        size = min(length, frames)
        for w in cut:
            assert 0 <= w.start <= w.begin < w.end <= w.start + size <= frames
            assert w.start == 0 or w.begin - w.start >= margin
            assert w.start + size == frames or w.start + size - w.end >= margin

    @pytest.fixture(scope="module")
    @staticmethod
    def rows(small: HiFT, mel: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Mel, source, and samples of each row in one piece."""
        mels = [mel[:82], mel[5:60], mel[:1], mel[20:50], mel[30:60], mel[:48]]
        sources = [
            np.array(excite(small, 100 + 10 * each[:, 0], Noise(small, n)))
            for n, each in enumerate(mels)
        ]
        pairs = zip(mels, sources, strict=True)
        return [(each, source, alone(small, each, source)) for each, source in pairs]

    @pytest.mark.parametrize("kind", [None, "metal", "cuda"])
    @pytest.mark.slow
    def test_rows_side_by_side_say_what_each_says_alone(self, small, rows, kind):
        mels, sources, apart = zip(*rows, strict=True)

        def together() -> list[np.ndarray]:
            with mock.patch.object(vocoder, "LENGTHS", (48,)):
                return decode(small, mels, sources)

        if kind is None:
            found = together()
        else:
            with pretended(kind):
                found = together()
        for ours, wanted in zip(found, apart, strict=True):
            assert ours.shape == wanted.shape
            assert np.abs(ours - wanted).max() < 1e-6  # a margin of 8 would show

    def test_pitch_in_windows_is_that_of_the_whole(self, small, mel):
        whole = np.array(small.pitch(mx.array(mel[None])))[0]
        with mock.patch.object(vocoder, "LENGTHS", (32,)):
            [found] = predict_pitch(small, [mel])
        assert np.abs(found - whole).max() < 1e-3

    def test_memory_does_not_grow_with_a_row(self, small, mel):
        sizes = []
        plain = small.decode

        def watched(mel: mx.array, source: mx.array) -> mx.array:
            sizes.append(mel.shape[:2])
            return plain(mel, source)

        with (
            pretended("cpu"),
            mock.patch.object(vocoder, "LENGTHS", (48,)),
            mock.patch.object(small, "decode", watched),
        ):
            vocode(small, [MelRow(mel[:100])])
        assert set(sizes) == {(1, 48)}

    def test_a_cpu_takes_rows_whole_up_to_the_longest_window(self):
        assert vocoder.window_length([300, 100, 7], MARGIN) >= 300
        assert vocoder.window_length([2000], MARGIN) in vocoder.LENGTHS[-2:]

    def test_a_gpu_takes_a_row_whole_and_rows_in_windows_of_one_length(self):
        draws = random.Random(0)
        lengths = [draws.randint(150, 700) for _ in range(12)]
        with pretended("metal"):
            assert vocoder.window_length([200], MARGIN) >= 200
            length = vocoder.window_length(lengths, MARGIN)
            assert len({min(length, each) for each in lengths}) <= 3

    def test_a_gpu_with_little_memory_decodes_less_at_once(self):
        assert vocoder.frames_together(7680) == vocoder.MAX_FRAMES_TOGETHER
        with mock.patch.object(vocoder, "memory_left", return_value=500 << 20):
            assert vocoder.frames_together(7680) == vocoder.MAX_FRAMES_TOGETHER // 4
        with mock.patch.object(vocoder, "memory_left", return_value=0):
            assert vocoder.frames_together(7680) == vocoder.MIN_FRAMES_TOGETHER


class TestRows:
    def test_company_changes_no_row(self, small, mel):
        f0 = np.full(208, 120, np.float32)
        rows = [MelRow(mel[:n], f0[:n], seed=n) for n in (30, 60, 50)]
        with mock.patch.object(vocoder, "LENGTHS", (48,)):
            together = vocode(small, rows)
        for row, samples in zip(rows, together, strict=True):
            assert np.abs(vocode(small, [row])[0] - samples).max() < 1e-5

    def test_a_seed_is_a_sound_and_another_another(self, small, mel):
        one, same, other = vocode(small, [MelRow(mel[:40], seed=seed) for seed in (1, 1, 2)])
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)

    def test_no_rows_and_no_frames_have_no_samples(self, small):
        assert vocode(small, []) == []
        [none, some] = vocode(small, [MelRow(np.zeros((0, 80))), MelRow(np.zeros((1, 80)))])
        assert none.shape == (0,)
        assert some.shape == (480,)
        assert vocode(small, [MelRow(np.zeros((1, 80)), speed=2)])[0].shape == (0,)

    @pytest.mark.parametrize("given", [np.ones((3, 80)).tolist(), mx.ones((3, 80), mx.bfloat16)])
    def test_mel_may_be_lists_or_of_mlx(self, small, given):
        wanted, found = vocode(small, [MelRow(np.ones((3, 80))), MelRow(given)])
        assert np.abs(found - wanted).max() < 1e-5

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"mel": np.zeros((80, 4))}, r"mel: expected shape \(n, 80\); found \(80, 4\)"),
            ({"mel": [[1], [1, 2]]}, "mel: expected an array, found rows of unequal length"),
            ({"mel": np.full((4, 80), np.nan)}, "mel: holds values that are not numbers"),
            ({"mel": np.full((4, 80), "a")}, "mel: expected numbers"),
            ({"pitch": np.zeros(5)}, r"pitch: expected shape \(4,\); found \(5,\)"),
            ({"pitch": [1, 2, 3, np.inf]}, "pitch: holds values"),
            ({"noise": np.zeros((4, 9))}, r"noise: expected shape \(1920, 9\)"),
            ({"seed": -1}, "seed is -1"),
            ({"seed": 2**32}, "seed is 4294967296"),
            ({"seed": 1.5}, "seed is 1.5"),
            ({"speed": 0}, "speed is 0; it must be from 0.25 to 4"),
            ({"speed": float("nan")}, "speed is nan"),
            ({"speed": 9}, "speed is 9"),
            ({"speed": "fast"}, "speed is 'fast'"),
        ],
    )
    def test_what_cannot_be_is_said(self, small, wrong, said):
        with pytest.raises(RequestError, match=said):
            vocode(small, [MelRow(**{"mel": np.zeros((4, 80)), **wrong})])


class TestStreams:
    """With equal pitch: that of pieces differs by last bits, which a phase would add up."""

    @pytest.mark.parametrize(
        "cuts",
        quick([(90,), (25, 40, 25), (*(1,) * 20, 70), (40, 0, 50)], (40, 0, 50)),
    )
    def test_pieces_say_what_the_whole_says(self, small, mel, cuts):
        mel = mel[:90]
        [f0] = predict_pitch(small, [mel])
        [whole] = vocode(small, [MelRow(mel, f0, seed=5)])
        stream, parts, at = VocoderStream(small, seed=5), [], 0
        for count in cuts:
            parts.append(stream.push(mel[at : at + count], f0[at : at + count]))
            at += count
        parts.append(stream.finish())
        made = np.concatenate(parts)
        assert made.shape == whole.shape
        assert np.abs(made - whole).max() < 1e-5

    def test_its_own_pitch_is_that_of_the_whole(self, small, mel):
        mel = mel[:72]
        [whole] = vocode(small, [MelRow(mel, noise=np.zeros((480 * 72, 9)))])
        stream = VocoderStream(small, noise=np.zeros((480 * 72, 9)))
        parts = [stream.push(mel[at : at + 24]) for at in range(0, 72, 24)]
        made = np.concatenate([*parts, stream.finish()])
        assert made.shape == whole.shape
        assert np.abs(made - whole).max() < 2e-3

    def test_samples_go_out_as_soon_as_they_are_settled(self, small, mel):
        stream, sent = VocoderStream(small), 0
        for frames in range(1, 26):
            sent += len(stream.push(mel[frames - 1 : frames]))
            assert sent == 480 * max(0, frames - MARGIN - 1 - 5)
        assert sent + len(stream.finish()) == 480 * 25

    def test_it_keeps_no_more_than_a_window_needs(self, small, mel):
        stream = VocoderStream(small)
        for at in range(0, 112, 16):
            stream.push(mel[at : at + 16])
            assert len(stream._mel) <= 2 * MARGIN + 6 + 16

    def test_a_stream_of_nothing_has_no_samples(self, small):
        assert VocoderStream(small).finish().shape == (0,)

    def test_pitch_is_given_always_or_never(self, small, mel):
        stream = VocoderStream(small)
        stream.push(mel[:4])
        with pytest.raises(RequestError, match="every push of a stream, or with none"):
            stream.push(mel[:4], np.zeros(4))


class TestSpeed:
    def test_frames_lie_between_the_middles_of_theirs(self):
        mel = np.repeat(np.arange(4, dtype=np.float32)[:, None], 80, axis=1)
        assert resize_mel(mel, 0.5)[:, 0].tolist() == [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]
        assert resize_mel(mel, 2.0)[:, 0].tolist() == [0.5, 2.5]
        assert resize_mel(mel, 1.0) is not None
        assert np.array_equal(resize_mel(mel, 1.0), mel)

    @pytest.mark.parametrize("speed", [0.3, 0.99, 1.25, 3.9])
    def test_samples_are_as_many_as_frames_say(self, small, mel, speed):
        [samples] = vocode(small, [MelRow(mel[:50], speed=speed)])
        assert len(samples) == 480 * int(50 / speed)
