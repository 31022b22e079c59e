"""Audio in: what the official pipeline hears, from every kind of source, and what is refused."""

from __future__ import annotations

import contextlib
import io

import av
import mlx.core as mx
import numpy as np
import pytest
import soundfile

from speechbase import audio
from speechbase.errors import AudioError
from tests.effort import quick

CLIPS = [
    "exact",
    "prompt",
    "prompt_one",
    "prompt_short",
    "ref",
    "ref_24k",
    "ref_44k1_stereo",
    "ref_48k",
    "silence_edges",
]


def tone(rate, seconds=0.5, hertz=200):
    return (0.3 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype("f4")


@pytest.mark.parametrize("clip", CLIPS)
def test_file_is_read_as_upstream_reads_it(golden, clip):
    samples = audio.load(golden("base").path(f"wav/{clip}.wav"), rate=16000)
    expected = golden("base").arrays("audio_io")[f"{clip}_16k"]
    assert samples.dtype == np.float32
    assert samples.shape == expected.shape
    assert np.abs(samples - expected).max() < 1e-6


@pytest.mark.parametrize("variant", quick(["base", "square"], "square"))
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("clip", CLIPS)
def test_padded_latents_equal_official(golden, checkpoint, variant, side, clip):
    vae = checkpoint(variant).vae
    samples = audio.load(golden(variant).path(f"wav/{clip}.wav"), rate=16000)
    padded = audio.pad(samples, 4 * vae.config.hop, side)
    latents = np.array(vae.encode(mx.array(padded)[None]))
    expected = golden(variant).arrays("audio_io")[f"{clip}_feat_{side}"]
    assert latents.reshape(-1, *expected.shape[1:]).shape == expected.shape
    assert np.abs(latents.reshape(expected.shape) - expected).max() < 1e-4


def test_bytes_files_and_samples_equal_the_path(golden):
    path = golden("base").path("wav/ref_44k1_stereo.wav")
    expected = audio.load(path, rate=16000)
    samples, rate = soundfile.read(path, dtype="float32")
    with path.open("rb") as file:
        assert np.array_equal(audio.load(file, rate=16000), expected)
    assert np.array_equal(audio.load(str(path), rate=16000), expected)
    assert np.array_equal(audio.load(path.read_bytes(), rate=16000), expected)
    assert np.array_equal(audio.load(samples, sample_rate=rate, rate=16000), expected)
    assert np.array_equal(audio.load(samples.tolist(), sample_rate=rate, rate=16000), expected)
    assert np.array_equal(audio.load(mx.array(samples), sample_rate=rate, rate=16000), expected)


def test_samples_without_a_rate_are_at_the_encoders():
    assert np.array_equal(audio.load(tone(16000), rate=16000), tone(16000))


@pytest.mark.parametrize("sinc", [False, True])
@pytest.mark.parametrize("rate", [8000, 22050, 44100, 48000])
def test_length_is_rounded_up(rate, sinc):
    samples = tone(rate, 0.5001)
    loaded = audio.load(samples, sample_rate=rate, rate=16000, sinc=sinc)
    assert loaded.dtype == np.float32
    assert loaded.size == -(-samples.size * 16000 // rate)


def test_sinc_follows_its_definition():
    """One output sample of 3 -> 2, summed by hand: torchaudio's Hann-windowed sinc."""
    x = np.random.default_rng(0).normal(size=4800).astype(np.float32)
    got = audio.load(x, sample_rate=24000, rate=16000, sinc=True)
    n, cutoff = 1001, 2 * 0.99
    t = (np.arange(x.size) / 3 - n / 2) * cutoff
    window = np.where(np.abs(t) < 6, np.cos(t * np.pi / 12) ** 2, 0)
    assert got[n] == pytest.approx((x * np.sinc(t) * window).sum() * cutoff / 3, abs=1e-5)


def test_sinc_keeps_a_tone():
    got = audio.load(tone(44100), sample_rate=44100, rate=16000, sinc=True)
    assert np.abs(got - tone(16000))[200:-200].max() < 2e-3


def test_pad_fills_the_asked_side():
    ones = np.ones(3, np.float32)
    assert audio.pad(ones, 4, "left").tolist() == [0, 1, 1, 1]
    assert audio.pad(ones, 4, "right").tolist() == [1, 1, 1, 0]
    assert audio.pad(np.ones(4, np.float32), 4, "left").size == 4


def test_formats_that_soundfile_lacks_are_read_with_pyav():
    file = io.BytesIO()
    with av.open(file, mode="w", format="mp4") as container:
        stream = container.add_stream("aac", rate=48000, layout="stereo")
        sound = np.stack([tone(48000, 1.0)] * 2)
        frame = av.AudioFrame.from_ndarray(sound, format="fltp", layout="stereo")
        frame.sample_rate = 48000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    with pytest.raises(soundfile.LibsndfileError):
        soundfile.read(io.BytesIO(file.getvalue()))
    samples = audio.load(file.getvalue(), rate=16000)
    assert samples.size == pytest.approx(16000, abs=1024)
    assert np.sqrt(np.mean(samples[2000:14000] ** 2)) == pytest.approx(0.3 / np.sqrt(2), rel=0.02)


def wav(samples, rate=16000, subtype="FLOAT"):
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", subtype=subtype)
    return file.getvalue()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros(16000, np.float32), "is silent"),
        (wav(np.zeros(16000)), "is silent"),
        (tone(16000, 0.02), "20 ms of audio is too short"),
        (wav(tone(16000, 0.02)), "20 ms of audio is too short"),
        (np.full(16000, np.nan, np.float32), "NaN"),
        (np.where(np.arange(16000) == 7, np.inf, tone(16000, 1.0)), "infinity"),
        (wav(np.full(16000, np.nan)), "NaN"),
        (np.zeros(0, np.float32), "holds no audio"),
        pytest.param(
            wav(np.zeros(0)), "holds no audio", id="empty WAV"
        ),  # which has its time in it
        (b"not audio at all", "cannot be read as audio"),
        (b"", "cannot be read as audio"),
        ("no/such/file.wav", "no such file"),
        (np.ones(16000, np.int16), "expected floats"),
        (tone(16000)[None], r"expected shape \(n,\) or \(n, channels\)"),
        ([[0.1, 0.2], [0.3]], "unequal length"),
        (0, "a file or samples, not int"),
        (None, "a file or samples, not NoneType"),
    ],
)
def test_bad_audio_is_one_clear_error(source, message):
    with pytest.raises(AudioError, match=message) as caught:
        audio.load(source, rate=16000)
    assert "\n" not in str(caught.value)


def test_a_rate_for_a_file_is_refused(golden):
    with pytest.raises(AudioError, match="a file carries its own"):
        audio.load(golden("base").path("wav/ref.wav"), sample_rate=16000, rate=16000)


def test_an_impossible_rate_is_refused():
    with pytest.raises(AudioError, match="-1 Hz is impossible"):
        audio.load(tone(16000), sample_rate=-1, rate=16000)


def test_channels_that_cancel_are_silent():
    wave = np.sin(np.arange(16000) / 10).astype(np.float32)
    with pytest.raises(AudioError, match="silent"):
        audio.load(np.stack([wave, -wave], 1), rate=16000)


def test_a_constant_is_silent():
    with pytest.raises(AudioError, match="silent"):
        audio.load(np.full(16000, 0.5, np.float32), rate=16000)


@pytest.mark.parametrize("rate", [0, 1, 10**9, "16000", 16000.5])
def test_rates_that_cannot_be_are_refused_before_any_work(rate):
    with pytest.raises(AudioError, match=r"sample.rate"):
        audio.load(np.ones(16000, np.float32), rate=16000, sample_rate=rate)


def test_samples_that_were_never_scaled_are_refused():
    wave = 32000 * np.sin(np.arange(16000) / 10)
    with pytest.raises(AudioError, match="full scale is 1"):
        audio.load(wave.astype(np.float32), rate=16000)


def test_a_clip_of_an_hour_is_refused():
    with pytest.raises(AudioError, match="60 minutes of audio; 30 are the most"):
        audio.load(np.ones(3_600_000, np.float32), sample_rate=1000, rate=16000)


def test_hours_of_silence_packed_in_a_small_file_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(audio, "MAX_SAMPLES", 100_000)
    for name in ("long.flac", "long.ogg"):
        soundfile.write(tmp_path / name, np.zeros(200_000), 16000)
        with pytest.raises(AudioError, match="holds 200000 samples, 100000 are the most"):
            audio.load(tmp_path / name, rate=16000)


def test_a_flac_that_claims_endless_samples_is_refused(tmp_path):
    path = tmp_path / "lie.flac"
    soundfile.write(path, tone(16000), 16000)
    data = bytearray(path.read_bytes())
    data[21] |= 0x0F  # the number of samples: 36 bits
    data[22:26] = b"\xff" * 4
    path.write_bytes(data)
    with pytest.raises(AudioError, match="68719476735 samples"):
        audio.load(path, rate=16000)


def test_rates_without_a_common_divisor_need_no_endless_table():
    """The official way would multiply with a table of 700 million numbers."""
    got = audio.load(tone(44101), sample_rate=44101, rate=16000, sinc=True)
    assert np.abs(got - tone(16000))[200:-200].max() < 2e-3


@pytest.mark.parametrize("name", ["list.m3u8", "list.ffconcat", "a.sdp", "noise.raw", "a.mkv"])
def test_what_names_other_files_is_no_audio(tmp_path, name):
    soundfile.write(tmp_path / "other.wav", tone(16000), 16000)
    texts = {
        "list.m3u8": "#EXTM3U\n#EXTINF:1,\nother.wav\n#EXT-X-ENDLIST\n",
        "list.ffconcat": "ffconcat version 1.0\nfile other.wav\n",
        "a.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nm=audio 5004 RTP/AVP 0\n",
    }
    (tmp_path / name).write_text(texts.get(name, "\x00\x01" * 5000))
    for source in (tmp_path / name, (tmp_path / name).read_bytes()):
        with pytest.raises(AudioError, match=r"cannot be read as audio|no audio") as caught:
            audio.load(source, rate=16000)
        assert str(caught.value).isprintable()


def test_altered_bytes_of_a_clip_are_audio_or_an_error():
    file = io.BytesIO()
    soundfile.write(file, tone(16000), 16000, format="FLAC")
    generator = np.random.default_rng(0)
    for _ in range(150):
        altered = bytearray(file.getvalue())
        altered[generator.integers(min(60, len(altered)))] = generator.integers(256)
        with contextlib.suppress(AudioError):
            audio.load(bytes(altered), rate=16000)
