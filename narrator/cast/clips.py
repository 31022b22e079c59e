"""Prepares and judges reference clips: turns any recording into the sound that an engine imitates.

A clip is read with all its channels, mixed, resampled, trimmed and levelled, once. Its faults are
findings: "refuse" if nothing good can come of it, "warn" if the voice will be worse than it could
be. Nothing is cleaned: noise, gaps and clipping stay, since an engine imitates those too. Knows
nothing of presets, casts and engines.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import soundfile
from av.audio.resampler import AudioResampler
from numpy import fft
from numpy.typing import NDArray

from narrator.errors import Problem, UserError
from narrator.sound import audio, media
from narrator.sound.audio import Samples
from narrator.text.pace import expected_seconds
from textbase.files import Unfit

PREPARATION = 1
"""Version of the preparation, part of a clip's content; increased when the same recording gives
other samples."""
RATE_HZ = 48_000
"""Hertz of prepared sound: no recording of speech loses by it."""

MIN_SECONDS, MAX_SECONDS = 3.0, 30.0
"""Seconds of speech. Less shows too little of a voice; the model was trained within about 30 s."""
ADVISED_SECONDS = (5.0, 10.0)
"""Least and greatest seconds of speech. Reference, prompt and speech may share the 30 s: with a
clip of 22 s every take broke off at the same place, with 10 s none did (OpenBMB/VoxCPM#244)."""
MAX_FILE_SECONDS = 600.0
"""Largest length in seconds of a recording that is read."""

TARGET_LEVEL = -23.0
"""Active speech level of a prepared clip, LUFS: takes come out about as loud as their reference,
and at -23 (EBU R 128) the peaks of lively speech, some 18 dB above, still do not clip."""
MAX_PEAK = -3.0
"""Largest sample in dB. A clip with higher peaks stays quieter, since a limiter would be imitated.
"""

LEAD_SECONDS, TAIL_SECONDS = 0.05, 0.25
"""Seconds of pause before and after the speech. A continuation begins where a prompt ends: without
a short pause there, its first sound chirps."""

FRAME_SECONDS = 0.02
"""Seconds of one level reading."""
MAX_PACE_RATIO, USUAL_PACE_RATIO = 2.5, 1.6
"""Times longer or shorter than its transcript takes a narrator: refused, warned about."""
MIN_NOISE_DISTANCE = 25.0
"""dB between speech and the background in its pauses. Draft voices with white noise added measured
within 1 dB of the truth from 10 to 40 dB."""
MIN_TONE_DISTANCE = 15.0
"""dB by which a steady tone exceeds the noise around it; white noise itself stays under 9."""
MAX_PAUSE_SPREAD = 12.0
"""dB between loud and faint moments of pauses above which they hold no steady tone."""
MAX_GAP_SECONDS = 1.2
"""Seconds of silence inside a clip: the model takes a longer pause for part of the manner."""
MIN_BANDWIDTH_HZ = 7000.0
"""Hertz. The model reads references up to 8,000."""
MIN_CLIPPED_PEAKS, MAX_CLIPPED_SHARE = 8, 0.005
"""Flat tops from which on a clip counts as clipped; the share of samples in them that is too many.
Of eleven draft voices, cut 1 dB below their peaks they had 0 to 7 tops, 3 dB below 34 to 115
(0.06 to 0.26 % of the samples), 6 dB below 0.5 to 1.6 %."""


@dataclass(frozen=True, slots=True)
class ClipFinding:
    """A fault of a clip, in figures, with advice."""

    severity: Literal["refuse", "warn"]
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Sound as recorded: float32 of shape (samples, channels)."""

    channels: NDArray[np.float32]
    rate: int


@dataclass(frozen=True, slots=True)
class ClipFigures:
    """Measurements of a recording."""

    seconds: float
    """Seconds of speech, from its first to its last sound."""
    level: float
    """Active speech level as recorded, LUFS."""
    gain: float
    """dB of gain applied."""
    noise: float
    """dB between speech and its pauses, at most 90."""
    band: float
    """Upper limit of its spectrum in hertz."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A prepared reference clip: mono samples at `RATE_HZ`, its figures and findings."""

    samples: Samples
    transcript: str
    figures: ClipFigures
    findings: tuple[ClipFinding, ...]

    @property
    def refusals(self) -> tuple[ClipFinding, ...]:
        return tuple(f for f in self.findings if f.severity == "refuse")

    @property
    def warnings(self) -> tuple[ClipFinding, ...]:
        return tuple(f for f in self.findings if f.severity == "warn")


def load(path: Path, transcript: str, language: str) -> Clip:
    """Returns the prepared clip of a file that libsndfile or FFmpeg reads.

    Raises UserError with every objection: no such file, no sound, or refusals.
    """
    return require_usable(prepare(read(path), transcript, language), path)


def require_usable(clip: Clip, path: Path) -> Clip:
    """Returns a clip of a file unless it is refused. Raises UserError with every refusal."""
    if clip.refusals:
        raise UserError([Problem(path, None, finding.message) for finding in clip.refusals])
    return clip


# -- reading ---------------------------------------------------------------------------------------


def read(path: Path) -> Recording:
    """Returns all channels of a sound file. Raises UserError if it has no sound or is far too
    long."""
    try:
        with media.open_regular_file(path) as file, contextlib.suppress(soundfile.LibsndfileError):
            # By descriptor: libsndfile prints failed calls on a file object to the terminal.
            return _read_sndfile(soundfile.SoundFile(file.fileno(), closefd=False))
        return _read_ffmpeg(path)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise UserError(Problem(path, None, reason)) from None
    except soundfile.SoundFileError as error:
        reason = f"not a sound file that can be read ({error})"
        raise UserError(Problem(path, None, reason)) from None
    except Unfit as error:
        raise UserError(Problem(path, None, str(error))) from None


def _read_sndfile(file: soundfile.SoundFile) -> Recording:
    with file:
        _check_length(file.frames / file.samplerate)
        return Recording(file.read(dtype="float32", always_2d=True), file.samplerate)


def _read_ffmpeg(path: Path) -> Recording:
    with media.open_sound(path) as container:
        rate, sample_count = container.streams.audio[0].rate, 0
        resampler = AudioResampler(format="fltp")
        blocks: list[NDArray[np.float32]] = []
        for frame in container.decode(audio=0):
            for resampled in resampler.resample(frame):
                blocks.append(resampled.to_ndarray().T.astype(np.float32))
            sample_count += frame.samples
            _check_length(sample_count / rate)
    if not blocks:
        raise Unfit("there is no sound in this file")
    return Recording(np.concatenate(blocks), rate)


def _check_length(seconds: float) -> None:
    if seconds > MAX_FILE_SECONDS:
        raise Unfit(
            f"more than {MAX_FILE_SECONDS / 60:.0f} minutes of sound; cut {_ADVISED_RANGE} of "
            "clear speech out of it"
        )


# -- preparing -------------------------------------------------------------------------------------


def prepare(recording: Recording, transcript: str | None, language: str) -> Clip:
    """Prepares a recording for engines and judges it; without a transcript, some findings are
    missing.

    A refused clip holds the samples of the stage that it reached; do not speak with it.
    """
    is_known = transcript is not None
    transcript = " ".join((transcript or "").split())
    channels = recording.channels
    if not len(channels) or not np.isfinite(channels).all():
        message = "the sound holds values that are not numbers; export it again"
        return _refused_clip(
            transcript, message if len(channels) else "there is no sound in this file"
        )
    mono, findings = _mix_channels(channels)
    mono = _remove_rumble(audio.resample(mono, recording.rate, RATE_HZ))
    start, stop = audio.speech_bounds(mono, RATE_HZ)
    level, _ = audio.measure_level(mono[start:stop], RATE_HZ)
    if stop <= start or level < -65:
        return _refused_clip(transcript, "no speech in it: it is silent, or next to it", *findings)
    levels = _Levels.of(mono, start, stop)
    findings += _clipping_findings(channels, recording.rate)
    findings += _length_findings(levels)
    if is_known:
        findings += _transcript_findings(levels.seconds, transcript, language)
    findings += _background_findings(levels)
    band = min(_bandwidth(mono[start:stop]), recording.rate / 2)
    findings += _bandwidth_findings(band, recording.rate)
    findings += _ending_findings(levels)
    samples, gain = _apply_level(_trim(mono, start, stop), level)
    figures = ClipFigures(levels.seconds, level, gain, levels.noise, band)
    return Clip(samples, transcript, figures, tuple(findings))


def find_speech(recording: Recording) -> tuple[float, float, list[tuple[float, float]]]:
    """Returns start and end of the speech in a recording and the pauses inside of it, in
    seconds."""
    if not len(recording.channels) or not np.isfinite(recording.channels).all():
        return 0.0, 0.0, []
    mono, _ = _mix_channels(recording.channels)
    mono = _remove_rumble(audio.resample(mono, recording.rate, RATE_HZ))
    start, stop = audio.speech_bounds(mono, RATE_HZ)
    if stop <= start:
        return 0.0, 0.0, []
    levels = _Levels.of(mono, start, stop)
    pauses = [(a * FRAME_SECONDS, b * FRAME_SECONDS) for a, b in levels.inner_pauses()]
    return start / RATE_HZ + audio.SPEECH_LEAD, stop / RATE_HZ - audio.SPEECH_TAIL, pauses


def _refused_clip(transcript: str, message: str, *findings: ClipFinding) -> Clip:
    empty_figures = ClipFigures(0.0, audio.SILENCE, 0.0, 0.0, 0.0)
    no_samples = np.zeros(0, np.float32)
    return Clip(no_samples, transcript, empty_figures, (ClipFinding("refuse", message), *findings))


def _mix_channels(channels: NDArray[np.float32]) -> tuple[Samples, list[ClipFinding]]:
    """Mixes the channels that carry sound into one."""
    power = np.square(channels, dtype=np.float64).mean(axis=0)
    # A stereo file with a microphone on one side only is mono.
    audible_channels = channels[:, power > power.max() / 1e4]
    if audible_channels.shape[1] < 2:
        return (audible_channels if audible_channels.size else channels)[:, 0].copy(), []
    mono = audible_channels.mean(axis=1, dtype=np.float32)
    kept_share = float(np.square(mono, dtype=np.float64).mean() / power.max())
    if kept_share < 0.1:
        message = (
            "its channels cancel each other out when mixed "
            f"({10 * np.log10(kept_share + 1e-12):.0f} dB are left); export one of them as mono"
        )
        return mono, [ClipFinding("refuse", message)]
    difference_power = float(
        np.square(audible_channels - mono[:, np.newaxis], dtype=np.float64).mean()
    )
    difference_level = 10 * np.log10(difference_power / (kept_share * power.max()) + 1e-12)
    if difference_level > -10:
        message = (
            f"its channels differ (by {difference_level:.0f} dB of their sum), and mixing them "
            "blurs the voice; export the better one as mono"
        )
        return mono, [ClipFinding("warn", message)]
    return mono, []


_MIN_VOICE_HZ = 30.0
"""Hertz below which there is no voice."""


def _remove_rumble(mono: Samples) -> Samples:
    """Removes a constant offset and very low frequencies: a high-pass without delay.

    Subtracting the mean is not enough: speech is lopsided, and that moves its pauses away from 0.
    """
    mono = mono - mono.mean(dtype=np.float64).astype(np.float32)  # avoids a step at the edges
    size = 1 << (len(mono) + RATE_HZ).bit_length()
    hertz = fft.rfftfreq(size, 1 / RATE_HZ)
    filter_gain = (1 / (1 + (_MIN_VOICE_HZ / np.maximum(hertz, 1e-3)) ** 4)).astype(np.float32)
    return fft.irfft(fft.rfft(mono, size) * filter_gain, size)[: len(mono)].astype(np.float32)


def _trim(mono: Samples, start: int, stop: int) -> Samples:
    """Returns speech with a short pause on both sides, from the recording itself if it has one."""
    lead_length, tail_length = round(LEAD_SECONDS * RATE_HZ), round(TAIL_SECONDS * RATE_HZ)
    # The margin that `speech_bounds` leaves after the last sound is part of the pause.
    end = min(len(mono), max(stop, stop - round(audio.SPEECH_TAIL * RATE_HZ) + tail_length))
    begin = max(0, min(start, start + round(audio.SPEECH_LEAD * RATE_HZ) - lead_length))
    missing = max(0, tail_length - (end - (stop - round(audio.SPEECH_TAIL * RATE_HZ))))
    return np.concatenate([audio.fade(mono[begin:end], RATE_HZ), np.zeros(missing, np.float32)])


def _apply_level(samples: Samples, level: float) -> tuple[Samples, float]:
    gain = min(TARGET_LEVEL - level, MAX_PEAK - audio.decibels(float(np.abs(samples).max())))
    return samples * np.float32(audio.amplitude(gain)), gain


# -- judging ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """Level readings of a mono recording at `RATE_HZ`, with the bounds of its speech."""

    mono: Samples
    levels: NDArray[np.float64]
    """dB, one for each `FRAME_SECONDS`."""
    first: int
    """Frame of the first speech; `last` is the frame after the last speech."""
    last: int
    seconds: float
    loud: float
    """Level of loud speech."""
    floor: float
    """Level of the quietest three per cent: the background."""
    noise: float
    """dB between speech and background, at most 90."""

    @classmethod
    def of(cls, mono: Samples, start: int, stop: int) -> _Levels:
        size = round(FRAME_SECONDS * RATE_HZ)
        count = max(1, len(mono) // size)
        frames = mono[: count * size].reshape(count, -1)
        power = np.square(frames, dtype=np.float64).mean(axis=1)
        levels = 10 * np.log10(power + 1e-12)
        first = min(count - 1, start // size)
        last = max(first + 1, min(count, -(-stop // size)))
        loud = float(np.percentile(levels[first:last], 90))
        active = power[first:last][levels[first:last] > loud - 25]
        audible_frames = np.flatnonzero(levels > -95)  # editors and codecs add silence at the edges
        floor = float(np.percentile(levels[audible_frames[0] : audible_frames[-1] + 1], 3))
        noise = min(90.0, 10 * math.log10(float(active.mean())) - floor)
        seconds = (stop - start) / RATE_HZ - audio.SPEECH_LEAD - audio.SPEECH_TAIL
        return cls(mono, levels, first, last, max(0.0, seconds), loud, floor, noise)

    def pauses(self) -> list[tuple[int, int]]:
        """Returns the runs of frames without speech, as (start, stop)."""
        is_quiet = self.levels < max(self.floor + 6, self.loud - 40)
        return [(start, stop) for start, stop in audio.find_runs(is_quiet).tolist()]

    def inner_pauses(self) -> list[tuple[int, int]]:
        """Returns the pauses between the first and the last speech."""
        return [(a, b) for a, b in self.pauses() if self.first < a and b < self.last]


_ADVISED_RANGE = f"{ADVISED_SECONDS[0]:.0f} to {ADVISED_SECONDS[1]:.0f} s"
_CUT_ADVICE = "`narrator voices add NAME CLIP --cut` cuts it at a pause"


def length_warning(seconds: float) -> str:
    """Returns a warning for more speech than is advised; an empty text for less."""
    if seconds <= ADVISED_SECONDS[1]:
        return ""
    return (
        f"{seconds:.1f} s of speech, {_ADVISED_RANGE} are advised: reference, prompt and speech "
        f"may share the model's {MAX_SECONDS:.0f} s, and takes may break off at its end; "
        f"{_CUT_ADVICE}"
    )


def _length_findings(levels: _Levels) -> list[ClipFinding]:
    seconds, findings = levels.seconds, list[ClipFinding]()
    if seconds < MIN_SECONDS:
        message = (
            f"{seconds:.1f} s of speech, too short to show a voice; "
            f"{MIN_SECONDS:.0f} s are the least, {_ADVISED_RANGE} are best"
        )
        findings.append(ClipFinding("refuse", message))
    elif seconds > MAX_SECONDS:
        message = (
            f"{seconds:.1f} s of speech, more than the model can hold ({MAX_SECONDS:.0f} s); "
            f"cut {_ADVISED_RANGE} out of it, with their transcript: {_CUT_ADVICE}"
        )
        findings.append(ClipFinding("refuse", message))
    elif message := length_warning(seconds):
        findings.append(ClipFinding("warn", message))
    gap_frames = [stop - start for start, stop in levels.inner_pauses()]
    longest_gap = max(gap_frames, default=0) * FRAME_SECONDS
    if longest_gap > MAX_GAP_SECONDS:
        message = (
            f"{longest_gap:.1f} s of silence inside it; shorten the pause to half a second, "
            "or every take may pause like that"
        )
        findings.append(ClipFinding("warn", message))
    return findings


def _transcript_findings(seconds: float, transcript: str, language: str) -> list[ClipFinding]:
    """Checks whether so many seconds can hold the transcript."""
    expected = expected_seconds(transcript, language)
    if not any(map(str.isalnum, transcript)):
        return [
            ClipFinding("refuse", "its transcript is empty; write down every word that is spoken")
        ]
    ratio = seconds / expected
    if 1 / USUAL_PACE_RATIO <= ratio <= USUAL_PACE_RATIO:
        return []
    message = f"{seconds:.1f} s of speech, but its transcript takes about {expected:.1f} s: " + (
        "words are missing from the transcript" if ratio > 1 else "it says more than the clip"
    )
    if ratio > MAX_PACE_RATIO or ratio < 1 / MAX_PACE_RATIO:
        return [
            ClipFinding("refuse", f"{message}; write down exactly what is spoken, no more, no less")
        ]
    pace = "slow" if ratio > 1 else "fast"
    return [ClipFinding("warn", f"{message}, or the speaker is very {pace}; compare the two")]


def _clipping_findings(channels: NDArray[np.float32], rate: int) -> list[ClipFinding]:
    """Counts flat tops: runs of samples at the highest value or at full scale."""
    top_count, clipped_samples = 0, 0
    for channel in channels.T:
        for signed_channel in (channel, -channel):
            is_high = signed_channel >= min(0.999, float(signed_channel.max()) - 4e-5)
            runs = np.diff(audio.find_runs(is_high))[:, 0]
            # At high rates, the top of a slow wave is flat for three samples.
            flat_runs = runs[runs >= max(3, rate // 12_000)]
            top_count += len(flat_runs)
            clipped_samples += int(flat_runs.sum())
    if top_count < MIN_CLIPPED_PEAKS:
        return []
    share = clipped_samples / channels.size
    if share > MAX_CLIPPED_SHARE:
        message = (
            f"badly clipped: {top_count} peaks are cut off, {share:.1%} of the sound; "
            "record it again at a lower level"
        )
        return [ClipFinding("refuse", message)]
    message = f"{top_count} peaks are cut off; record it again at a lower level if you can"
    return [ClipFinding("warn", message)]


def _background_findings(levels: _Levels) -> list[ClipFinding]:
    """Judges hum, music and noise under the voice."""
    tone = _find_tone(levels) if levels.noise < 45 else None
    if tone is not None:
        hertz, prominence = tone
        message = (
            f"a steady tone lies under the voice, {levels.noise:.0f} dB below it: hum or music "
            f"(at about {hertz:.0f} Hz, {prominence:.0f} dB above what is around it); it will be "
            "heard in the book, so use a clip without it"
        )
        return [ClipFinding("warn", message)]
    if levels.noise < MIN_NOISE_DISTANCE:
        message = (
            f"noisy: the voice is only {levels.noise:.0f} dB above its background, "
            f"{MIN_NOISE_DISTANCE:.0f} dB are the least that is clean; record it in a quieter room"
        )
        return [ClipFinding("warn", message)]
    return []


_WINDOW_SAMPLES = 4096


def _find_tone(levels: _Levels) -> tuple[float, float] | None:
    """Returns hertz and dB above its surroundings of a steady tone in the pauses; None without
    one."""
    size = round(FRAME_SECONDS * RATE_HZ)
    window = np.hanning(_WINDOW_SAMPLES)
    spectra: list[NDArray[np.float64]] = []
    audible_frames = np.flatnonzero(levels.levels > -95)
    for first, last in levels.pauses():
        audible_first, audible_last = max(first, audible_frames[0]), min(last, audible_frames[-1])
        pause = levels.mono[audible_first * size : audible_last * size]
        for start in range(0, len(pause) - _WINDOW_SAMPLES + 1, _WINDOW_SAMPLES // 2):
            piece = pause[start : start + _WINDOW_SAMPLES]
            spectra.append(np.square(np.abs(fft.rfft(piece * window))))
    if len(spectra) < 4:
        return None
    lowest_bin, highest_bin = (round(edge * _WINDOW_SAMPLES / RATE_HZ) for edge in (45, 5000))
    powers = 10 * np.log10(
        np.sum([frame_spectrum[lowest_bin:highest_bin] for frame_spectrum in spectra], axis=1)
        + 1e-12
    )
    faint_power, strong_power = np.percentile(powers, (10, 90))
    if strong_power - faint_power > MAX_PAUSE_SPREAD:  # reverberation of the voice, which decays
        return None
    spectrum = np.mean(spectra, axis=0)
    hertz = fft.rfftfreq(_WINDOW_SAMPLES, 1 / RATE_HZ)
    neighbourhood = np.lib.stride_tricks.sliding_window_view(np.pad(spectrum, 25, mode="edge"), 51)
    prominence = 10 * np.log10((spectrum + 1e-15) / (np.median(neighbourhood, axis=1) + 1e-15))
    peak_bin = lowest_bin + int(prominence[lowest_bin:highest_bin].argmax())
    if prominence[peak_bin] <= MIN_TONE_DISTANCE:
        return None
    return float(hertz[peak_bin]), float(prominence[peak_bin])


_BAND_WIDTH_HZ = 500.0


def _bandwidth(speech: Samples) -> float:
    """Returns the upper limit of speech in hertz: the highest band whose loudest moments are within
    60 dB of those of the loudest band."""
    size = 1024
    count = len(speech) // size
    if not count:
        return 0.0
    frames = speech[: count * size].reshape(count, size) * np.hanning(size).astype(np.float32)
    power = np.square(np.abs(fft.rfft(frames, axis=1)))
    width = round(_BAND_WIDTH_HZ * size / RATE_HZ)
    bands = power[:, 1:].reshape(count, -1)
    bands = bands[:, : bands.shape[1] // width * width].reshape(count, -1, width).mean(axis=2)
    loud_power = np.percentile(bands, 95, axis=0)
    audible_bands = np.flatnonzero(loud_power > loud_power.max() * 1e-6)
    return float((audible_bands[-1] + 1) * width * RATE_HZ / size) if len(audible_bands) else 0.0


def _bandwidth_findings(band: float, rate: int) -> list[ClipFinding]:
    if band >= MIN_BANDWIDTH_HZ:
        return []
    message = (
        f"no sound above {band / 1000:.1f} kHz (the file has {rate / 1000:g} kHz): the voice will "
        "be dull, like a telephone's; use a recording of 16 kHz or more"
    )
    return [ClipFinding("warn", message)]


def _ending_findings(levels: _Levels) -> list[ClipFinding]:
    """Checks whether the recording breaks off within a sound; a codec may add a little silence."""
    last_frame = int(np.flatnonzero(levels.levels > max(-80, levels.loud - 45))[-1])
    if len(levels.levels) - 1 - last_frame > round(0.06 / FRAME_SECONDS):
        return []
    final_level = float(levels.levels[max(0, last_frame - 2) : last_frame + 1].max())
    if final_level < max(levels.loud - 15, levels.floor + 10):
        return []
    message = "it ends in the middle of a sound; cut it after a sentence, with its pause"
    return [ClipFinding("warn", message)]
