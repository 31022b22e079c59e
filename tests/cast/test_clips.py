"""Clips: every finding by its figure, on a draft voice with the fault put in; real formats."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from narrator.cast import clips
from narrator.cast.clips import RATE_HZ, Clip, Recording, prepare
from narrator.errors import UserError
from narrator.sound import audio
from tests import spoken
from tests.spoken import TEXT

AT = spoken.RATE


@pytest.fixture(scope="module")
def speech():
    """About eight seconds of clean speech with its pauses."""
    return np.concatenate([spoken.draft(), np.zeros(AT // 3, np.float32)])


def judged(*channels, rate=AT, text=TEXT, language="en") -> Clip:
    sound = np.stack(channels, axis=1).astype(np.float32)
    return prepare(Recording(sound, rate), text, language)


def messages(clip: Clip) -> str:
    return " | ".join(map(str, clip.findings))


def active(samples) -> float:
    """Level of the active frames, dB."""
    frames = samples[: len(samples) // 441 * 441].reshape(-1, 441)
    power = np.square(frames).mean(axis=1)
    return float(10 * np.log10(power[power > np.percentile(power, 90) / 300].mean()))


def noise(samples, db: float, seed: int = 1):
    draw = np.random.default_rng(seed)
    return draw.standard_normal(len(samples)) * 10 ** (db / 20)


# -- what comes out --------------------------------------------------------------------------------


def test_a_good_clip_has_no_findings(speech):
    clip = judged(speech)
    assert clip.findings == ()
    assert clip.transcript == TEXT
    assert 7 < clip.figures.seconds < 10


@pytest.mark.parametrize("level", [-40, -6])
def test_loud_and_quiet_clips_come_out_equally_loud(speech, level):
    clip = judged(speech * np.float32(10 ** (level / 20)))
    measured, peak = audio.measure_level(clip.samples, RATE_HZ)
    assert measured == pytest.approx(clips.TARGET_LEVEL, abs=0.3)
    assert peak <= clips.MAX_PEAK + 0.01


def test_a_clip_of_high_peaks_stays_quieter_instead_of_being_limited(speech):
    spiked = speech * np.float32(0.1)
    spiked[np.abs(spiked).argmax()] = 0.8
    clip = judged(spiked)
    measured, peak = audio.measure_level(clip.samples, RATE_HZ)
    assert peak == pytest.approx(clips.MAX_PEAK, abs=0.05)
    assert measured < clips.TARGET_LEVEL - 1


def test_edges_are_trimmed_to_a_short_pause(speech):
    still = np.zeros(2 * AT, np.float32)
    clip = judged(np.concatenate([still, speech, still]))
    start, stop = audio.speech_bounds(clip.samples, RATE_HZ)
    assert start / RATE_HZ < 0.1
    # `stop` lies a little after the last sound
    pause = (len(clip.samples) - stop) / RATE_HZ + audio.SPEECH_TAIL
    assert pause == pytest.approx(clips.TAIL_SECONDS, abs=0.03)


def test_a_clip_that_was_cut_tight_gets_its_pause(speech):
    start, stop = audio.speech_bounds(speech, AT)
    tight = judged(speech[start : stop - round(0.06 * AT)])
    assert np.abs(tight.samples[-round(0.15 * RATE_HZ) :]).max() < 1e-4
    assert len(tight.samples) == pytest.approx(len(judged(speech).samples), abs=0.06 * RATE_HZ)


def test_a_constant_offset_is_taken_off(speech):
    clip = judged(speech * 0.5 + np.float32(0.1))
    assert abs(float(clip.samples.mean())) < 1e-4
    assert clip.findings == ()


def test_the_same_recording_gives_the_same_samples(speech):
    assert np.array_equal(judged(speech).samples, judged(speech.copy()).samples)


# -- refusals --------------------------------------------------------------------------------------


def clipped(samples, db: float):
    limit = np.abs(samples).max() * np.float32(10 ** (db / 20))
    return np.clip(samples, -limit, limit)


def with_nan(samples):
    return np.concatenate([samples, [np.nan]])


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda s: 0 * s, {}, "no speech"),
        (lambda s: s * np.float32(1e-4), {}, "no speech"),
        (lambda s: s[:0], {}, "no sound"),
        (with_nan, {}, "not numbers"),
        (lambda s: s[: 2 * AT], {"text": "Early in the morning a cool wind came."},
         " s of speech, too short"),
        (lambda s: clipped(s, -8), {}, "badly clipped|%"),
        (lambda s: s, {"text": "  ...  "}, "transcript is empty"),
        (lambda s: s, {"text": "Early in the morning."},
         "s of speech|takes about|missing from"),
        (lambda s: s, {"text": " ".join([TEXT] * 4)}, "says more than the clip"),
    ],
)  # fmt: skip
def test_what_no_voice_can_be_made_of_is_refused(speech, change, options, words):
    refused(judged(change(speech), **options), *words.split("|"))


def refused(clip: Clip, *words: str) -> None:
    assert clip.refusals, messages(clip)
    for word in words:
        assert word in " | ".join(map(str, clip.refusals))


@pytest.mark.slow
def test_over_thirty_seconds_is_refused_with_the_figure(speech):
    clip = judged(np.tile(speech, 5), text=" ".join([TEXT] * 5))
    refused(clip, f"{clip.figures.seconds:.1f} s", "30 s")


def test_channels_that_cancel_out_are_refused(speech):
    refused(judged(speech, -speech), "cancel each other out")


# -- warnings --------------------------------------------------------------------------------------


def warned(clip: Clip, *words: str) -> None:
    assert not clip.refusals, messages(clip)
    for word in words:
        assert word in messages(clip)


@pytest.mark.parametrize(
    "distance",
    [
        10,
        pytest.param(20, marks=pytest.mark.slow),
        pytest.param(30, marks=pytest.mark.slow),
        40,
    ],
)
def test_noise_is_measured_within_two_decibels(speech, distance):
    clip = judged(speech + noise(speech, active(speech) - distance))
    assert clip.figures.noise == pytest.approx(distance, abs=2)
    assert ("noisy" in messages(clip)) == (distance < clips.MIN_NOISE_DISTANCE)


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param("f1", marks=pytest.mark.slow),
        "f5",
        pytest.param("Diogo", marks=pytest.mark.slow),
    ],
)
def test_other_clean_voices_have_no_noise_and_no_tone(variant):
    said = messages(judged(spoken.draft(variant=variant)))
    assert "noisy" not in said
    assert "tone" not in said


@pytest.mark.parametrize("distance", [25, pytest.param(35, marks=pytest.mark.slow)])
def test_hum_is_told_from_noise_and_its_pitch_named(speech, distance):
    times = np.arange(len(speech)) / AT
    level = np.sqrt(np.mean(np.square(speech))) * 10 ** (-distance / 20)
    clip = judged(speech + np.sqrt(2) * level * np.sin(2 * np.pi * 200 * times))
    warned(clip, "hum or music", "at about 199 Hz")
    assert "noisy" not in messages(clip)


def test_a_bed_of_changing_chords_is_heard(speech):
    times = np.arange(len(speech)) / AT
    beat = (times * 2) % 1
    chords = sum(np.sin(2 * np.pi * f * times) * np.exp(-2 * beat) for f in (220, 277, 330))
    level = np.sqrt(np.mean(np.square(speech))) * 10 ** (-30 / 20)
    warned(judged(speech + chords * level), "hum or music")


SENTENCE = TEXT.split(". ")[0] + "."


def paused(speech):
    sentence = spoken.draft(SENTENCE)
    return np.concatenate([sentence, np.zeros(round(1.5 * AT), np.float32), sentence])


def cut_short(speech):
    loud = np.flatnonzero(np.abs(speech) > 0.5 * np.abs(speech).max())
    return speech[: loud[loud < 6 * AT][-1]]


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda s: clipped(s, -3), {}, "peaks are cut off"),
        (lambda s: clipped(s, -3) / 3, {}, "peaks are cut off"),  # also under full scale
        (paused, {"text": f"{SENTENCE} {SENTENCE}"}, "s of silence inside"),
        (lambda s: audio.resample(s, AT, 8000), {"rate": 8000},
         "no sound above 4.0 kHz|the file has 8 kHz"),
        (lambda s: audio.resample(audio.resample(s, AT, 8000), 8000, 48000), {"rate": 48000},
         "no sound above 4|the file has 48 kHz"),
        (lambda s: np.tile(s, 2), {"text": f"{TEXT} {TEXT}"}, "5 to 10 s are advised|--cut"),
        (cut_short, {"text": TEXT[:110]}, "ends in the middle of a sound"),
        (lambda s: s, {"text": f"{TEXT} {TEXT.split('.')[0]}."}, "compare the two|very fast"),
    ],
)  # fmt: skip
def test_what_makes_a_voice_worse_is_a_warning(speech, change, options, words):
    warned(judged(change(speech), **options), *words.split("|"))


def test_channels_that_differ_are_a_warning(speech):
    other = np.roll(speech, AT // 20)
    warned(judged(speech, other), "channels differ")


def test_one_silent_channel_is_as_good_as_mono(speech):
    clip = judged(speech, np.zeros_like(speech))
    assert clip.findings == ()
    assert np.allclose(clip.samples, judged(speech).samples, atol=1e-6)


# -- files -----------------------------------------------------------------------------------------


def encode(path: Path, samples, codec: str, rate: int, layout: str) -> Path:
    form = "flt" if codec == "libopus" else "fltp"
    mono = audio.resample(samples, AT, rate)[np.newaxis]
    planes = np.repeat(mono, 2, axis=0) if layout == "stereo" else mono
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout=layout)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(planes), form, layout)
        frame.sample_rate = rate
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    return path


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.wav", {"subtype": "PCM_16"}),
        pytest.param("a.wav", {"subtype": "PCM_24"}, marks=pytest.mark.slow),
        pytest.param("a.wav", {"subtype": "FLOAT"}, marks=pytest.mark.slow),
        pytest.param("a.flac", {"subtype": "PCM_24"}, marks=pytest.mark.slow),
        ("a.ogg", {}),
        pytest.param("a.aiff", {"subtype": "PCM_16"}, marks=pytest.mark.slow),
    ],
)
def test_files_of_libsndfile_are_read(tmp_path, speech, name, form):
    soundfile.write(tmp_path / name, np.stack([speech, speech], axis=1), AT, **form)
    clip = clips.load(tmp_path / name, TEXT, "en")
    assert clip.findings == ()
    assert len(clip.samples) == pytest.approx(len(judged(speech).samples), abs=0.02 * RATE_HZ)


@pytest.mark.parametrize(
    ("name", "codec", "rate", "layout"),
    [
        pytest.param("a.mp3", "libmp3lame", 44100, "mono", marks=pytest.mark.slow),
        pytest.param("a.m4a", "aac", 44100, "stereo", marks=pytest.mark.slow),
        ("a.webm", "libopus", 48000, "mono"),
    ],
)
def test_lossy_files_are_read(tmp_path, speech, name, codec, rate, layout):
    clip = clips.load(encode(tmp_path / name, speech, codec, rate, layout), TEXT, "en")
    assert clip.findings == ()
    assert len(clip.samples) == pytest.approx(len(judged(speech).samples), abs=0.1 * RATE_HZ)


def test_refusals_are_one_line_each_with_the_file(tmp_path, speech):
    path = tmp_path / "ada.wav"
    soundfile.write(path, speech[: 2 * AT], AT)
    with pytest.raises(UserError) as caught:
        clips.load(path, "No.", "en")
    assert all(problem.path == path for problem in caught.value.problems)
    assert all("\n" not in problem.message for problem in caught.value.problems)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("content", [b"", b"no sound at all", b"RIFF\x10\x00\x00\x00WAVEfmt "])
def test_what_is_no_sound_is_one_line(tmp_path, content):
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"not a sound file|no sound"):
        clips.load(path, TEXT, "en")


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"none\.wav: cannot be read"):
        clips.load(tmp_path / "none.wav", TEXT, "en")


def test_an_hour_is_refused_without_being_read(tmp_path):
    path = tmp_path / "long.wav"
    with soundfile.SoundFile(path, "w", 8000, 1, subtype="PCM_U8") as file:
        file.write(np.zeros(8000 * 601, np.float32))
    with pytest.raises(UserError, match="more than 10 minutes"):
        clips.read(path)


def test_a_film_without_sound_is_one_line(tmp_path):
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10, width=16, height=16, pix_fmt="yuv420p")
        frame = av.VideoFrame(16, 16, "yuv420p")
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)
    with pytest.raises(UserError, match="no sound"):
        clips.load(path, TEXT, "en")
