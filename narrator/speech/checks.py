"""Checks whether a take is good, by signal and length alone. Pure.

`examine` measures a take and names every rule it breaks. Thresholds are wide on purpose: a check
that cries wolf costs a retry of a good take, and what passes is still heard by the author.

What it cannot tell: wrong words, and babble as loud as the speech (`hearing` can); a chirp below
1.2 kHz, or one without a pause before the first word, from a vowel; a repeat of less than a second,
or one that is spoken again in another way, from other speech; a voice that drifts, or hums.

Calibrated on the draft voice, 1,364 chunks in 13 languages, each bare, between silences and in a
noisy room, and on faults put into them (2026-11-21, `benchmarks/checks.py`): 2 false alarms in
4,092 takes; found are chirps, noise, tails, gaps, lost halves and changes of 12 dB in 95 of 100 or
more, spliced repeats of 1.2 s in 58, of 2.4 s in 95, cuts in 80. Real voices vary more, so every
limit lies well beyond what the draft voice needs; none has been tried on the model's own speech.
Of 193 leftover syllables 90 in 100 are found 0.2 s before the speech and 50 in 100 where 0.05 s lie
between, and none of 2,267 good takes, most of which begin with a short word on its own ("Oh, …"),
is taken for one (2026-11-22).

Edges, on the draft voice and a neural one (piper's en_US-joe), 656 takes three ways each (Linux,
2026-11-23): no false alarm in 1,968. Of takes of the neural voice are found clicks 6 to 20 dB under
the peak in 84 to 94 of 100 before the speech and in 96 or more after it, half a breath at 18, 25
and 32 dB under speech in 100, 92 and 59 before it (the rest is trimmed) and in 100 after it. Of 60
of the draft voice: clicks in 73 to 97, breaths in 50 to 100. False alarms on novels that no
threshold has seen, and cut starts: docs/measurements.md (`benchmarks/false_alarms.py`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from narrator.sound import audio
from narrator.sound.edges import measure_edges
from narrator.sound.timing import TimedWord
from narrator.speech.frames import (
    HOP_SECONDS,
    POOLED_FRAMES,
    SLOW_FRAME_SECONDS,
    Flags,
    Floats,
    Frames,
    analyse_frames,
    decibels,
    join_runs,
    longest_run,
    mel_bands,
    pool_frames,
)
from narrator.speech.leaks import PromptSound, leaked_seconds, starts_with_short_word
from narrator.speech.voice_figures import VoiceFigures, measure_voice

if TYPE_CHECKING:
    from narrator.speech.steadiness import Deviation

MIN_LOUDEST_DB = -55.0
"""Full scale: a take whose loudest frame lies below is silent."""
MAX_RATIO, SPARE_SECONDS = 2.0, 1.5
"""The greatest length: times the expected one, and seconds on top. Narrators lie between 0.75 and
1.3, and a slow speaker of a language whose pace is a guess may come to 1.8."""
MIN_RATIO = 0.4
"""The least length, as a part of the expected one, for texts of a second or more."""
PACED_RATIOS, PACED_SPARE_SECONDS = (0.65, 1.5), 1.0
"""Least and greatest length relative to the speaker's own pace, and seconds on top, for texts of
`MIN_PACED_SECONDS` or more."""
MIN_PACED_SECONDS = 3.0
USUAL_RATIOS = (0.65, 1.4)
"""`TakeFigures.ratio` of nearly all good takes."""
MAX_DEVIATION_DB = 8.0
"""From the speaker's median level: more than styles need, less than a change of distance."""
MAX_ONSET_DB = -7.0
"""Limit of `TakeFigures.onset`, above which a take is cut at its start. Of 12,000 takes of the
draft voice, which begin with the first sample, none exceeds -8.4."""
MIN_CHIRP_SECONDS = 0.04
"""Of a tone, or of an isolated burst, before the speech."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that a take broke, with the figure."""

    kind: str
    """`Check.kind`."""
    detail: str
    weight: float = 1.0
    """Severity: grows with the figure and with the loss to a listener."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class TakeFigures:
    """Measurements of a take: finite numbers, for its record. Seconds unless noted."""

    seconds: float = 0.0
    """From the first to the last sound."""
    ratio: float = 0.0
    """Ratio of these seconds to the expected ones; 0 where nothing was expected."""
    level: float = audio.SILENCE
    """Loudness of active speech in dB full scale, as `audio.level`."""
    peak: float = audio.SILENCE
    """dB full scale."""
    swing: float = 0.0
    """dB between the loudest and the softest two seconds of speech."""
    clipped: float = 0.0
    """Samples in the longest run at full scale."""
    gap: float = 0.0
    """The longest silence with sound on both sides."""
    end: float = audio.SILENCE
    """dB of the last 20 ms, against the speech."""
    onset: float = audio.SILENCE
    """dB, relative to the speech, of an abrupt start at the first sample."""
    click: float = 0.0
    """dB by which a click at an edge stands out."""
    torn: float = audio.SILENCE
    """dB of a breath that is cut at an edge, against the speech."""
    chirp: float = 0.0
    """A tone, a hiss or a remnant of the prompt before the speech."""
    leak: float = 0.0
    """Sound at the start that is the end of the prompt."""
    whistle: float = 0.0
    """The longest tone that is no voice, alone or under speech."""
    noise: float = 0.0
    """The longest stretch of noise unlike the rest of the take."""
    tail: float = 0.0
    """Sound after the speech that is not speech."""
    repeat: float = 0.0
    """Repeated sound, weighted as an exact copy, less the repetitions in the text."""
    per_token: float = 0.0
    """Patches per text token; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The measurements of a take, and the rules that it broke."""

    figures: TakeFigures
    faults: tuple[Fault, ...] = ()
    voice: VoiceFigures = field(default_factory=VoiceFigures)

    def __bool__(self) -> bool:
        """Returns whether the take is good."""
        return not self.faults


@dataclass(frozen=True, slots=True)
class _Take:
    """The figures of a take, and what its text and its speaker ask for, as for `examine`."""

    figures: TakeFigures
    expected_seconds: float
    is_capped: bool = False
    median_level: float | None = None
    max_deviation: float = MAX_DEVIATION_DB
    median_ratio: float | None = None
    has_text: bool = True
    prompt_name: str = ""

    @property
    def onset(self) -> float:
        """dB of a cut start; none where the take begins with a leftover of the prompt, which is a
        chirp and begins alike."""
        return self.figures.onset if self.figures.chirp < MIN_CHIRP_SECONDS else audio.SILENCE

    @property
    def breath_depth(self) -> float:
        return -self.figures.torn

    @property
    def off_level(self) -> float:
        return 0.0 if self.median_level is None else abs(self.figures.level - self.median_level)

    @property
    def is_paced(self) -> bool:
        return self.median_ratio is not None and self.expected_seconds >= MIN_PACED_SECONDS

    @property
    def usual_seconds(self) -> float:
        """The expected seconds at the speaker's own pace, where that counts."""
        ratio = self.median_ratio if self.median_ratio and self.is_paced else 1.0
        return self.expected_seconds * ratio

    @property
    def min_seconds(self) -> float:
        minimum = MIN_RATIO * self.expected_seconds if self.expected_seconds >= 1 else 0.0
        return max(minimum, PACED_RATIOS[0] * self.usual_seconds) if self.is_paced else minimum

    @property
    def max_seconds(self) -> float:
        maximum = MAX_RATIO * self.expected_seconds + SPARE_SECONDS
        paced_maximum = PACED_RATIOS[1] * self.usual_seconds + PACED_SPARE_SECONDS
        return min(maximum, paced_maximum) if self.is_paced else maximum


_Figure = Callable[[_Take], float]


@dataclass(frozen=True, slots=True)
class Check:
    """A rule for takes."""

    kind: str
    """The kind of its faults, which people are told first."""
    concerns: Literal["sound", "edge", "speaker", "engine", "words"]
    """The sound alone; its edges, where takes meet; the speaker's other takes, which may be known
    only later; what the engine reports; or the words that are heard (`hearing/judging.py`)."""
    weight: float
    """Severity at the limit: the loss to a listener."""
    figure: _Figure | None = None
    """None for faults that are not told by one figure."""
    limit: _Figure | float = math.inf
    """The lowest figure that is a fault; 0 for none."""
    detail: str = ""
    """The message for people, with the {figure}, or more of the {take}."""
    suspicious: float = math.inf
    """The lowest figure with which a take is worth hearing, though it is no fault."""
    is_audible: bool = True
    """True if a take with this fault has anything to hear."""

    def find(self, take: _Take) -> Fault | None:
        """Returns the fault of a take that breaks the rule."""
        if self.figure is None:
            return None
        figure, limit = self.figure(take), self._limit_of(take)
        # a length that follows from a rounded ratio may equal the limit that it passed
        is_within = figure <= limit if self.concerns == "speaker" else figure < limit
        if is_within or not limit:
            return None
        if limit > 0:
            weight = self.weight * (1 + min(3.0, math.log2(figure / limit)))
        else:  # dB under speech
            weight = self.weight + min(1.0, (figure - limit) / 20)
        return Fault(self.kind, self.detail.format(figure=figure, take=take), round(weight, 3))

    def nearness(self, take: _Take) -> float:
        """Returns how near the figure is to the limit: 0 up to where it is suspicious, 1 there."""
        if self.figure is None or math.isinf(self.suspicious):
            return 0.0
        share = (self.figure(take) - self.suspicious) / (self._limit_of(take) - self.suspicious)
        return min(1.0, max(0.0, share))

    def _limit_of(self, take: _Take) -> float:
        return self.limit if isinstance(self.limit, int | float) else self.limit(take)


_LENGTH = "{take.figures.seconds:.1f} s where about {take.usual_seconds:.1f} s were expected"
CHECKS = (
    Check("finite", "sound", 100, is_audible=False),
    Check("silent", "sound", 100, is_audible=False),
    Check("clipped", "sound", 3, lambda take: audio.amplitude(take.figures.peak), 1.001,
          "a peak of {figure:.2f}, beyond full scale"),
    Check("clipped", "sound", 3, lambda take: take.figures.clipped * (take.figures.peak <= 0), 8,
          "{figure:.0f} samples in a row at full scale"),
    Check("level", "speaker", 2, lambda take: take.off_level, lambda take: take.max_deviation,
          "{take.figures.level:.1f} dB where the speaker has {take.median_level:.1f} dB"),
    # a voice that fades or swells
    Check("swing", "sound", 2, lambda take: take.figures.swing, 12.0,
          "loudness changes by {figure:.0f} dB", suspicious=7.2),
    Check("long", "speaker", 6, lambda take: take.figures.seconds, lambda take: take.max_seconds,
          _LENGTH),
    Check("short", "speaker", 10, lambda take: take.min_seconds,
          lambda take: take.figures.seconds, _LENGTH),
    # a runaway: there is speech on both sides
    Check("gap", "sound", 8, lambda take: take.figures.gap, 2.0,
          "{figure:.1f} s of silence inside", suspicious=0.8),
    Check("cut", "edge", 8, lambda take: take.is_capped, 1, "stopped at its length limit"),
    Check("cut", "edge", 6, lambda take: audio.SILENCE if take.is_capped else take.figures.end,
          -15.0, "ends in the middle of a sound", suspicious=-25.0),
    Check("onset", "edge", 4, lambda take: take.onset, MAX_ONSET_DB,
          "begins in the middle of a sound"),
    # speech comes to 17
    Check("click", "edge", 3, lambda take: take.figures.click, 22.0,
          "a click at an edge, {figure:.0f} dB above what is around it"),
    Check("torn", "edge", 2, lambda take: take.figures.torn, -38.0,
          "a breath is cut at an edge, {take.breath_depth:.0f} dB under speech"),
    Check("chirp", "sound", 2, lambda take: take.figures.chirp, MIN_CHIRP_SECONDS,
          "{figure:.2f} s of a sound before the speech", suspicious=0.02),
    Check("leak", "edge", 4, lambda take: take.figures.leak, MIN_CHIRP_SECONDS,
          "begins with the end of {take.prompt_name}, {figure:.2f} s of it"),
    # feedback, a beep, a drone
    Check("whistle", "sound", 5, lambda take: take.figures.whistle, 0.3,
          "{figure:.2f} s of a tone", suspicious=0.24),
    # sibilants and breaths are shorter
    Check("noise", "sound", 6, lambda take: take.figures.noise, 0.6,
          "{figure:.2f} s of noise", suspicious=0.36),
    # more than trimming takes away
    Check("tail", "sound", 4, lambda take: take.figures.tail, 0.4,
          "{figure:.2f} s of sound after the speech", suspicious=0.24),
    # a text that is not known may repeat itself
    Check("repeat", "sound", 6, lambda take: take.figures.repeat,
          lambda take: 0.7 if take.has_text else 2.5, "{figure:.2f} s are said twice",
          suspicious=0.42),
    # by what is usual for the speaker: `steadiness.py`
    Check("voice", "speaker", 2),
    Check("engine", "engine", 6),
    Check("text", "words", 8),
)  # fmt: skip
"""All that a take must pass; every fault has it tried again."""
_BY_KIND = {check.kind: check for check in CHECKS}


def examine(
    samples: Floats,
    rate: int,
    expected_seconds: float,
    *,
    latents: NDArray[Any] | None = None,
    is_capped: bool = False,
    engine_fault: str = "",
    median_level: float | None = None,
    max_deviation: float = MAX_DEVIATION_DB,
    median_ratio: float | None = None,
    tokens: int = 0,
    text: str = "",
    words: Sequence[TimedWord] = (),
    prompt: PromptSound | None = None,
) -> Verdict:
    """Measures a take of mono samples and lists its faults.

    The take should speak `text` for `expected_seconds`. `latents`: (patches, frames, dim), where
    the engine has them; tokens (n,) are only counted. `is_capped`: the engine was stopped at its
    length limit. `engine_fault`: a fault reported by the engine. `median_level`, `median_ratio`:
    the speaker's median `TakeFigures.level` and `TakeFigures.ratio`, or None while unknown;
    `max_deviation`: the dB that a take may differ from `median_level`. `tokens`: the number of
    those of the text, 0 where unknown. Without the text, only long repeats count as faults, since
    the text may repeat itself. `words`: those that the engine has timed: what it ends late is no
    tail. Raises DamagedTake if the prompt cannot be read.
    """
    if not len(samples):
        return Verdict(TakeFigures(), (_fault("silent", "no samples"),))
    bad_count = int((~np.isfinite(samples)).sum())
    if bad_count or (latents is not None and not np.isfinite(latents).all()):
        bad_part = f"{bad_count} samples" if bad_count else "latents"
        return Verdict(TakeFigures(), (_fault("finite", f"{bad_part} are not numbers"),))
    frames = analyse_frames(samples, rate)
    level, peak = audio.measure_level(samples, rate)
    loudest_level = float(frames.levels.max())
    if loudest_level < MIN_LOUDEST_DB or not len(frames.sounds):
        figures = TakeFigures(level=round(level, 2), peak=round(peak, 2))
        return Verdict(figures, (_fault("silent", f"loudest part at {loudest_level:.0f} dB"),))
    sounds = frames.sounds
    seconds = float(sounds[-1, 1] - sounds[0, 0]) * HOP_SECONDS
    text_repeat = _SECONDS_PER_REPEATED * _repeated_text_seconds(text, seconds) - _CHANCE_SECONDS
    repeat = _repeat_seconds(frames, latents) - max(0.0, text_repeat) - _doubled_word_seconds(text)
    bounds = audio.speech_bounds(samples, rate)
    edge_figures = measure_edges(samples, bounds, rate, frames.speech_level)
    onset = _onset_level(samples, rate) - frames.speech_level
    figures = TakeFigures(
        seconds=round(seconds, 3),
        ratio=round(seconds / expected_seconds, 3) if expected_seconds > 0 else 0.0,
        level=round(level, 2),
        peak=round(peak, 2),
        swing=round(_level_swing(frames), 2),
        clipped=float(longest_run(np.abs(samples) >= 0.999)),
        gap=round(float((sounds[1:, 0] - sounds[:-1, 1]).max(initial=0)) * HOP_SECONDS, 3),
        end=round(_end_level(samples, rate) - frames.speech_level, 2),
        onset=round(audio.SILENCE if bounds[0] else onset, 2),
        click=round(edge_figures.click, 2),
        torn=round(edge_figures.torn, 2),
        chirp=round(_chirp_seconds(frames, onset, text), 3),
        leak=round(leaked_seconds(frames, rate, text, prompt), 3) if prompt else 0.0,
        whistle=round(_tone_seconds(frames), 3),
        noise=round(longest_run(frames.is_noise) * SLOW_FRAME_SECONDS, 3),
        tail=round(_tail_seconds(frames, words[-1].stop if words else 0.0), 3),
        repeat=round(max(0.0, repeat), 3),
        per_token=round(len(latents) / tokens, 3) if latents is not None and tokens else 0.0,
    )
    take = _Take(
        figures,
        expected_seconds,
        is_capped,
        median_level,
        max_deviation,
        median_ratio,
        bool(text),
        prompt.name if prompt else "",
    )
    faults = [fault for check in CHECKS if (fault := check.find(take))]
    if engine_fault:
        faults.append(_fault("engine", engine_fault))
    voice = measure_voice(samples, rate, frames, expected_seconds, words)
    return Verdict(figures, tuple(faults), voice)


def _fault(kind: str, detail: str) -> Fault:
    return Fault(kind, detail, _BY_KIND[kind].weight)


def find_outliers(
    figures: Mapping[str, float],
    *,
    median_level: float | None,
    median_ratio: float | None,
    max_deviation: float = MAX_DEVIATION_DB,
    deviations: Iterable[Deviation] = (),
) -> tuple[Fault, ...]:
    """Lists faults of a take that is good by itself but far from its speaker's other takes.

    `figures`: the `TakeFigures` of its record; `deviations`: those of its voice from what is usual
    for the speaker that count; the other arguments as for `examine`.
    """
    take_figures = TakeFigures(**figures)
    expected_seconds = take_figures.seconds / take_figures.ratio if take_figures.ratio else 0.0
    take = _Take(
        take_figures,
        expected_seconds,
        median_level=median_level,
        max_deviation=max_deviation,
        median_ratio=median_ratio,
    )
    speaker_checks = (check for check in CHECKS if check.concerns == "speaker")
    faults = [fault for check in speaker_checks if (fault := check.find(take))]
    if messages := [deviation.message for deviation in deviations]:
        faults.append(_fault("voice", ", ".join(messages)))
    return tuple(faults)


def concern_of(fault: str) -> str:
    """Returns the `Check.concerns` of a fault, given as text."""
    check = _BY_KIND.get(fault.partition(":")[0])
    return "" if check is None else check.concerns


def severity(faults: Iterable[Fault]) -> float:
    """Returns the severity of a take's faults, to keep the best of several; 0 for a good take."""
    return sum(fault.weight for fault in faults)


def is_audible(faults: Iterable[Fault]) -> bool:
    """Returns whether a take with these faults has anything to hear."""
    return all(_BY_KIND[fault.kind].is_audible for fault in faults)


def is_suspicious(figures: TakeFigures) -> bool:
    """Returns whether a take lies so near a limit that recognition is worthwhile."""
    take = _Take(figures, expected_seconds=0.0)
    is_usual = not figures.ratio or USUAL_RATIOS[0] < figures.ratio < USUAL_RATIOS[1]
    return not is_usual or any(
        check.figure is not None and check.figure(take) >= check.suspicious for check in CHECKS
    )


def nearness(figures: Mapping[str, float]) -> float:
    """Returns how near the `TakeFigures` of a good take come to the limits of its checks.

    0 where none is suspicious; each check that is counts up to 1.
    """
    take = _Take(TakeFigures(**figures), expected_seconds=0.0)
    return sum(check.nearness(take) for check in CHECKS)


# -- rules -----------------------------------------------------------------------------------------


def _level_swing(frames: Frames) -> float:
    """dB between the loudest and the softest two seconds that are at least half speech."""
    window = np.ones(round(2 / HOP_SECONDS))
    if len(frames.levels) <= len(window):
        return 0.0
    is_active = frames.levels > frames.silence_level
    power = np.where(is_active, 10 ** (frames.levels / 10), 0.0)
    active_counts = np.convolve(is_active, window, "valid")
    power_sums = np.convolve(power, window, "valid")
    is_half_speech = active_counts > len(window) / 2
    if not is_half_speech.any():
        return 0.0
    window_levels = decibels(power_sums[is_half_speech] / active_counts[is_half_speech])
    return float(window_levels.max() - window_levels.min())


def _end_level(samples: Floats, rate: int) -> float:
    """dB full scale of the last 20 ms."""
    return _mean_power_db(samples[-max(1, round(2 * HOP_SECONDS * rate)) :])


_ONSET_SPARE_DB = 4.0
"""dB by which the first millisecond must exceed `MAX_ONSET_DB` if the first sample does not."""


def _onset_level(samples: Floats, rate: int) -> float:
    """Returns the dB full scale of an abrupt start.

    A complete sound, however soon it is loud, begins near zero; a cut falls anywhere in the wave.
    So the first sample counts as much as the first millisecond.
    """
    level = _mean_power_db(samples[: max(1, round(0.001 * rate))])
    return max((level + _mean_power_db(samples[:1])) / 2, level - _ONSET_SPARE_DB)


def _mean_power_db(samples: Floats) -> float:
    return 10 * math.log10(float(np.mean(samples.astype(np.float64) ** 2)) + 1e-12)


_CHIRP_FRAMES = 25
"""Frames in which a chirp may lie, from the first sound on."""
_MAX_BURST_FRAMES, _BURST_SILENCE_FRAMES = 12, 15
"""Frames: at most so long a sound, with at least so long a silence after it."""
_MAX_LEFTOVER_FRAMES, _ABRUPT_DB = 25, -20.0
"""Most frames of a prompt's last syllable, and the level of its very first frame relative to
speech: it has no onset."""
_MIN_SOUND_DB = -25.0
"""Level of a sound's loudest frame, relative to speech; trimming removes what is softer."""


def _chirp_seconds(frames: Frames, onset_level: float, text: str) -> float:
    """Returns the seconds of sound before the speech: a tone, an isolated burst, a remnant.

    `onset_level` is measured at the first sample, whether or not speech begins there.
    """
    start, stop = frames.sounds[0].tolist()
    silence_frames = int(frames.sounds[1, 0]) - stop if len(frames.sounds) > 1 else 0
    is_tone = _is_single_tone(frames, min_share=0.85)
    chirp_frames = longest_run(is_tone[start : start + _CHIRP_FRAMES])
    loudest_level = float(frames.levels[start:stop].max()) - frames.speech_level
    if silence_frames and loudest_level > _MIN_SOUND_DB:
        is_leftover = start == 0 and _is_leftover(frames, silence_frames, onset_level, text)
        if is_leftover or _is_burst(frames, silence_frames):
            chirp_frames = max(chirp_frames, stop - start)
    return chirp_frames * HOP_SECONDS


def _is_burst(frames: Frames, silence_frames: int) -> bool:
    """Returns whether the first sound is high, short and isolated, so not a voice.

    `silence_frames` follow it.
    """
    start, stop = frames.sounds[0].tolist()
    high_power = frames.power[start:stop, np.searchsorted(frames.bin_hertz, 2000) :].sum()
    is_high = bool(high_power > 0.5 * frames.power[start:stop].sum())
    is_isolated = silence_frames >= _BURST_SILENCE_FRAMES
    return is_high and is_isolated and stop - start <= _MAX_BURST_FRAMES


def _is_leftover(frames: Frames, silence_frames: int, onset_level: float, text: str) -> bool:
    """Returns whether the sound from the first sample on is the end of another sentence.

    It is short, and it has no onset, or it stands alone (`silence_frames` follow it) though the
    text has no such word: "Oh, how simple" begins with one.
    """
    if frames.sounds[0, 1] > _MAX_LEFTOVER_FRAMES:
        return False
    starts_loud = bool(frames.levels[0] > frames.speech_level + _ABRUPT_DB)
    is_isolated = silence_frames >= _BURST_SILENCE_FRAMES
    return onset_level > MAX_ONSET_DB or (
        starts_loud and is_isolated and not starts_with_short_word(text)
    )


def _is_single_tone(frames: Frames, min_share: float) -> Flags:
    """Marks frames with at least this share of their power near one frequency above 1200 Hz.

    Near: within 250 Hz. Vowels have their power below.
    """
    power, hertz = frames.power, frames.bin_hertz
    lowest_bin = int(np.searchsorted(hertz, 1200))
    half_width = max(1, round(250 / hertz[1]))
    sums = np.cumsum(power, axis=1)
    peak_bins = power[:, lowest_bin:].argmax(axis=1) + lowest_bin
    rows = np.arange(len(peak_bins))
    peak_power = sums[rows, np.minimum(peak_bins + half_width, len(hertz) - 1)]
    peak_power = peak_power - sums[rows, np.maximum(peak_bins - half_width - 1, 0)]
    return (peak_power > min_share * sums[:, -1]) & (frames.levels > frames.speech_level - 30)


_TONE_CONTRAST = 30.0
"""Times the power of its surroundings that a tone has."""


def _tone_seconds(frames: Frames) -> float:
    """Seconds of the longest tone, alone or steady through speech.

    Harmonics of a voice stand out as well, but none stays in its bin: pitch moves.
    """
    lone_tone_seconds = longest_run(_is_single_tone(frames, min_share=0.8)) * HOP_SECONDS
    power, lowest_bin = frames.slow_power, int(np.searchsorted(frames.bin_hertz, 1000))
    peak_power = _sum_neighbours(power, 2)
    surrounding_power = (_sum_neighbours(power, 8) - peak_power) / 12
    min_power = 10**-4.5 * float(np.percentile(power.sum(axis=1), 90))
    is_tone = (peak_power / 3 > _TONE_CONTRAST * surrounding_power) & (power > min_power)
    run_lengths = np.zeros(is_tone.shape[1] - lowest_bin, np.int32)
    """Consecutive slow frames up to the present one in which a bin has a tone."""
    longest = 0
    for is_bin_tone in is_tone[:, lowest_bin:]:
        run_lengths = (run_lengths + 1) * is_bin_tone
        longest = max(longest, int(run_lengths.max(initial=0)))
    return max(lone_tone_seconds, longest * SLOW_FRAME_SECONDS)


def _sum_neighbours(power: Floats, reach: int) -> Floats:
    """Returns for each bin the sum of the bins up to `reach` away, and of itself."""
    sums = np.cumsum(np.pad(power, ((0, 0), (reach + 1, reach))), axis=1, dtype=np.float64)
    return (sums[:, 2 * reach + 1 :] - sums[:, : -2 * reach - 1]).astype(np.float32)


_TAIL_SILENCE_FRAMES = 20
"""Frames of silence before a tail."""


def _tail_seconds(frames: Frames, spoken_until: float) -> float:
    """Seconds of sound after the speech: soft or noise after a rest, or a murmur that goes on.

    `spoken_until`: the second at which the last word ends, 0 where unknown.
    """
    parts = join_runs(frames.levels > frames.silence_level, _TAIL_SILENCE_FRAMES)
    start, stop = parts[-1].tolist()
    loudest_level = float(frames.levels[start:stop].max()) - frames.speech_level
    first_slow = start // POOLED_FRAMES
    noise_flags = frames.is_noise[first_slow : max(stop // POOLED_FRAMES, first_slow + 1)]
    is_noise = bool(len(noise_flags) and noise_flags.mean() > 0.5)
    if len(parts) > 1 and loudest_level > _MIN_SOUND_DB and (loudest_level < -10 or is_noise):
        return (stop - start) * HOP_SECONDS
    is_clear = frames.levels > frames.speech_level + _MIN_SOUND_DB
    last_clear_frame = int(np.flatnonzero(is_clear)[-1])
    last_word_frame = int(spoken_until / HOP_SECONDS)
    return max(0, stop - 1 - max(last_clear_frame, last_word_frame)) * HOP_SECONDS


# -- repeated sound ------------------------------------------------------------------------------

_MIN_COSINE = 0.6
"""Cosine of two frames over which they count as the same sound."""
_WARP_COST = 0.15
"""Cost of advancing one frame faster or slower."""
_MIN_REPEAT_DISTANCE = 8
"""Slow frames between a sound and its repeat, at least."""
_SECONDS_PER_REPEATED = 1.3
"""Seconds of alike sound that a second of repeated text makes, at most."""
_CHANCE_SECONDS = 0.35
"""Seconds of repeated text that any text has by chance."""
_FORBIDDEN_GAIN = -10.0
"""Gain that no alignment can make up for."""
_MAX_COMPARED = 1500
"""Slow frames, or letters, that are compared with each other: a minute, in 10 MB."""


def _repeat_seconds(frames: Frames, latents: NDArray[Any] | None) -> float:
    """Returns the repeated seconds, by the spectrum or the latents, whichever finds more."""
    bands = mel_bands(frames)
    log_bands = np.log(np.maximum(bands, 1e-5 * bands.max() + 1e-30))
    is_audible = pool_frames(frames.levels[:, None])[:, 0] > frames.silence_level
    seconds = _repeated_passage_seconds(log_bands, is_audible)
    if latents is not None and latents.ndim == 3:
        latent_frames = latents.reshape(-1, latents.shape[-1])
        count = min(len(latent_frames), len(is_audible))
        seconds = max(seconds, _repeated_passage_seconds(latent_frames[:count], is_audible[:count]))
    return seconds


def _repeated_passage_seconds(frames: Floats, is_audible: Flags) -> float:
    """Returns the length of the best repeated passage, weighted as an exact copy.

    `frames`: (slow frames, features).
    """
    frames, is_audible = frames[:_MAX_COMPARED], is_audible[:_MAX_COMPARED]
    if is_audible.sum() < 2 * _MIN_REPEAT_DISTANCE:
        return 0.0
    vectors = frames - frames[is_audible].mean(axis=0)
    vectors /= vectors[is_audible].std(axis=0) + 1e-6
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6
    # not a BLAS product: its threads spin, and there are other takes
    gains = np.einsum("ij,kj->ik", vectors, vectors) - np.float32(_MIN_COSINE)
    gains[~is_audible] = gains[:, ~is_audible] = -_MIN_COSINE
    gains[np.ix_(~is_audible, ~is_audible)] = -0.05  # a passage may have a rest
    copied_frames = _best_alignment(gains, _MIN_REPEAT_DISTANCE) / (1 - _MIN_COSINE)
    return copied_frames * SLOW_FRAME_SECONDS


_LONE_WORD_SECONDS = 0.6
"""Seconds of a word that stands between marks ("You, you, you …"): far more than its letters'."""


def _doubled_word_seconds(text: str) -> float:
    """Returns the seconds of words that stand twice in a row in a text."""
    words = re.findall(r"\w+", text.casefold())
    return _LONE_WORD_SECONDS * sum(a == b for a, b in pairwise(words))


def _repeated_text_seconds(text: str, seconds: float) -> float:
    """Returns the seconds, of `seconds` in all, in which a text repeats an earlier passage."""
    letters = [ord(c) for c in text.casefold() if unicodedata.category(c)[0] in "LMN"]
    codes = np.array(letters[:_MAX_COMPARED])
    if len(codes) < _MIN_LETTER_DISTANCE:
        return 0.0
    gains = np.where(codes[:, None] == codes, _LETTER_GAIN, -_LETTER_GAIN).astype(np.float32)
    repeated_letters = _best_alignment(gains, _MIN_LETTER_DISTANCE) / _LETTER_GAIN
    return repeated_letters / len(codes) * seconds


_MIN_LETTER_DISTANCE = 4
_LETTER_GAIN = 0.5


def _best_alignment(gains: Floats, min_distance: int) -> float:
    """Returns the best sum of gains of a passage and its repeat, `min_distance` or more rows on.

    `gains`: (n, n), of equating each row with each column. Local alignment (Smith and Waterman)
    whose steps may be one row or column longer.
    """
    count = len(gains)
    is_later = np.triu(np.ones((count, count), np.bool_), min_distance)
    gains = np.where(is_later, gains, np.float32(_FORBIDDEN_GAIN))
    zeros = np.zeros(count + 2, np.float32)
    scores_before_last, last_scores, best_score = zeros, zeros, 0.0
    for row_gains in gains:
        row_scores = np.maximum(scores_before_last[1:-1], last_scores[:-2])
        row_scores -= _WARP_COST
        np.maximum(row_scores, last_scores[1:-1], out=row_scores)
        row_scores += row_gains
        scores = zeros.copy()
        np.maximum(row_scores, 0, out=scores[2:])
        best_score = max(best_score, float(scores.max()))
        scores_before_last, last_scores = last_scores, scores
    return best_score
