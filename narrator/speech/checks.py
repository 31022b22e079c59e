"""Is this take good? Signal and length alone; pure.

`examine` measures a take and names every rule it breaks. Thresholds are wide on purpose: a check
that cries wolf costs a retry of a good take, and what passes is still heard by the author.

What it cannot tell: wrong words, and babble as loud as the speech (`hearing` can); a chirp below
1.2 kHz, or one without a pause before the first word, from a vowel; a repeat of less than a second,
or one that is spoken again in another way, from other speech; a voice that drifts, or hums.

Calibrated on the draft voice, 1,364 chunks in 13 languages, each bare, between silences and in a
noisy room, and on faults put into them (2026-11-21, `tests/bench/checks.py`): 2 false alarms in
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
threshold has seen, and cut starts: docs/mending.md (`tests/bench/false_alarms.py`).
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from narrator.sound import audio
from narrator.sound.edges import edges

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
_Real = TypeVar("_Real", np.float32, np.float64)

HOP = 0.01
"""Seconds between two frames, which are twice as long."""
POOL = 4
"""Frames of a slow frame: 40 ms, as long as one of the model's latents."""

QUIET = -55.0
"""dB full scale: a take whose loudest frame lies below is silent."""
PAUSE = -40.0
"""dB under speech: a pause, unless the take's own noise is louder; then `OVER_NOISE` above that."""
OVER_NOISE = 6.0
LONGEST_GAP = 2.0
"""Seconds of silence inside a take, speech on both sides: a runaway."""
SLOWEST, SPARE = 2.0, 1.5
"""Times the expected length, and seconds on top. Narrators lie between 0.75 and 1.3, and a slow
speaker of a language whose pace is a guess may come to 1.8."""
FASTEST = 0.4
"""Of the expected length, for texts of a second or more."""
PACED, PACED_SPARE = (0.65, 1.5), 1.0
"""The same against the speaker's own pace, for texts of `PACED_FROM` seconds or more."""
PACED_FROM = 3.0
CLIPPED = 8
"""Full-scale samples in a row."""
OFF_LEVEL = 8.0
"""dB from the speaker's median: more than styles need, less than a change of distance."""
SWING = 12.0
"""dB between the loudest and the softest two seconds: a voice that fades or swells."""
CUT = -15.0
"""dB under speech: a take that is louder at its very end has no end."""
ONSET = -7.0
"""`TakeFigures.onset` of a take that is cut at its start. Of 12,000 takes of the draft voice,
which begin with the first sample, none exceeds -8.4."""
CLICK = 22.0
"""dB by which a click stands out of the 10 ms on both sides; speech comes to 17."""
TORN = -38.0
"""dB under speech: a breath that is louder where it is cut."""
CHIRP = 0.04
"""Seconds of a tone, or of a burst on its own, in front of the speech."""
WHISTLE = 0.3
"""Seconds of a tone: feedback, a beep, a drone."""
NOISE = 0.6
"""Seconds of noise; sibilants and breaths are shorter."""
TAIL = 0.4
"""Seconds of sound after the speech that trimming would keep."""
REPEATED, REPEATED_BLIND = 0.7, 2.5
"""Seconds of sound that comes twice, with and without a text that may repeat itself."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that a take broke, and the figure."""

    kind: str
    """finite, silent, clipped, level, swing, long, short, gap, cut, onset, click, torn, chirp,
    whistle, noise, tail, repeat, or engine: what that sees itself."""
    detail: str
    weight: float = 1.0
    """How bad: grows with the figure, and with what a listener would lose."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class TakeFigures:
    """What was measured of a take: finite numbers, for its record. Seconds unless said."""

    seconds: float = 0.0
    """From the first to the last sound."""
    ratio: float = 0.0
    """Of these to the expected ones; 0 where nothing was expected."""
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
    """dB by which a take begins abruptly, against the speech, where speech begins with the take."""
    click: float = 0.0
    """dB by which a click at an edge stands out."""
    torn: float = audio.SILENCE
    """dB of a breath that is cut at an edge, against the speech."""
    chirp: float = 0.0
    """A tone, a hiss or a leftover of the prompt before the speech."""
    whistle: float = 0.0
    """The longest tone that voices do not make, alone or through speech."""
    noise: float = 0.0
    """The longest stretch of noise that the rest of the take does not have."""
    tail: float = 0.0
    """Sound after the speech that is none."""
    repeat: float = 0.0
    """Sound that comes twice, as if the copy were exact, less what the text repeats."""
    per_token: float = 0.0
    """Patches per text token; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured of a take, and the rules that it broke."""

    figures: TakeFigures
    faults: tuple[Fault, ...] = ()

    def __bool__(self) -> bool:
        """Whether the take is good."""
        return not self.faults


def examine(
    samples: Floats,
    rate: int,
    expected: float,
    *,
    latents: NDArray[Any] | None = None,
    capped: bool = False,
    wrong: str = "",
    median: float | None = None,
    spread: float = OFF_LEVEL,
    pace: float | None = None,
    tokens: int = 0,
    text: str = "",
    spoken_until: float = 0.0,
) -> Verdict:
    """All that is measured of, and wrong with, a take of mono samples.

    It should speak `text` for `expected` seconds. `latents`: (patches, frames, dim), where the
    engine has them; of tokens (n,) only how many. `capped`: the engine was stopped at its length
    limit. `wrong`: what is wrong with it as the engine sees it. `median`, `pace`: the
    speaker's median `Figures.level` and `Figures.ratio`, or None before there are some; `spread`:
    the dB that a take may lie from the first. `tokens`: of the text, 0 where unknown. Without the
    text, a repeat of the text's own is not told from a fault until it is long. `spoken_until`:
    seconds at which the engine ends its last word, where it knows: a long s is no tail.
    """
    if not len(samples):
        return Verdict(TakeFigures(), (Fault("silent", "no samples", 100),))
    bad = int((~np.isfinite(samples)).sum())
    if bad or (latents is not None and not np.isfinite(latents).all()):
        what = f"{bad} samples" if bad else "latents"
        return Verdict(TakeFigures(), (Fault("finite", f"{what} are not numbers", 100),))
    sound = _listen(samples, rate)
    level, peak = audio.level(samples, rate)
    loudest = float(sound.level.max())
    if loudest < QUIET or not len(sound.islands):
        figures = TakeFigures(level=round(level, 2), peak=round(peak, 2))
        return Verdict(figures, (Fault("silent", f"loudest part at {loudest:.0f} dB", 100),))
    islands = sound.islands
    seconds = float(islands[-1, 1] - islands[0, 0]) * HOP
    excused = max(0.0, _REPEATED_TEXT * _repeated(text, seconds) - _CHANCE) + _stammered(text)
    repeat = _repeat(sound, latents) - excused
    bounds = audio.speech_bounds(samples, rate)
    heard = edges(samples, bounds, rate, sound.loud)
    onset = _onset(samples, rate) - sound.loud
    figures = TakeFigures(
        seconds=round(seconds, 3),
        ratio=round(seconds / expected, 3) if expected > 0 else 0.0,
        level=round(level, 2),
        peak=round(peak, 2),
        swing=round(_swing(sound), 2),
        clipped=float(_longest(np.abs(samples) >= 0.999)),
        gap=round(float((islands[1:, 0] - islands[:-1, 1]).max(initial=0)) * HOP, 3),
        end=round(_end(samples, rate) - sound.loud, 2),
        onset=round(audio.SILENCE if bounds[0] else onset, 2),
        click=round(heard.click, 2),
        torn=round(heard.torn, 2),
        chirp=round(_chirp(sound, onset, text), 3),
        whistle=round(_whistle(sound), 3),
        noise=round(_longest(sound.noisy) * POOL * HOP, 3),
        tail=round(_tail(sound, spoken_until), 3),
        repeat=round(max(0.0, repeat), 3),
        per_token=round(len(latents) / tokens, 3) if latents is not None and tokens else 0.0,
    )
    limits = _Demands(expected, median, spread, pace, REPEATED if text else REPEATED_BLIND)
    faults = tuple(_faults(figures, limits, capped))
    return Verdict(figures, (*faults, Fault("engine", wrong, 6)) if wrong else faults)


def unusual(
    figures: Mapping[str, float],
    *,
    median: float | None,
    pace: float | None,
    spread: float = OFF_LEVEL,
) -> tuple[Fault, ...]:
    """What of a take that was good by itself is far from its speaker's others.

    `figures` as a record has them; the rest as for `examine`.
    """
    known = TakeFigures(**figures)
    expected = known.seconds / known.ratio if known.ratio else 0.0
    limits = _Demands(expected, median, spread, pace, math.inf)
    found = _faults(known, limits, capped=False)
    return tuple(fault for fault in found if fault.kind in ("level", "long", "short"))


def at_edge(fault: str) -> bool:
    """Whether a fault, as it is said, is one that is heard where a take meets another."""
    return _kind_of(fault) in ("cut", "onset", "click", "torn")


def in_words(fault: str) -> bool:
    """Whether a fault, as it is said, is one of what a take says: who listens found it."""
    return _kind_of(fault) == "text"


def _kind_of(fault: str) -> str:
    return fault.partition(":")[0]


def badness(verdict: Verdict) -> float:
    """How bad a take is, to keep the best of several: 0 where it is good, more for worse."""
    return sum(fault.weight for fault in verdict.faults)


def suspicious(figures: TakeFigures) -> bool:
    """Whether a take that may be good lies near a limit, so that it is worth being heard."""
    f = figures
    return (
        (f.ratio > 0 and not _USUAL[0] < f.ratio < _USUAL[1])
        or f.end > CUT - 10
        or f.swing > 0.6 * SWING
        or f.gap > 0.4 * LONGEST_GAP
        or f.whistle > 0.8 * WHISTLE
        or f.noise > 0.6 * NOISE
        or f.tail > 0.6 * TAIL
        or f.repeat > 0.6 * REPEATED
        or f.chirp >= 0.5 * CHIRP
    )


_USUAL = (0.65, 1.4)
"""`Figures.ratio` of nearly all good takes."""


@dataclass(frozen=True, slots=True)
class _Demands:
    """What the text and the speaker ask of a take."""

    expected: float
    median: float | None
    spread: float
    pace: float | None
    repeat: float

    def seconds(self) -> tuple[float, float, float]:
        """How long the take should be, must be, may be."""
        about = self.expected
        least, most = FASTEST * about if about >= 1 else 0.0, SLOWEST * about + SPARE
        if self.pace is not None and self.expected >= PACED_FROM:
            about *= self.pace
            least = max(least, PACED[0] * about)
            most = min(most, PACED[1] * about + PACED_SPARE)
        return about, least, most


def _faults(figures: TakeFigures, limits: _Demands, capped: bool) -> Iterator[Fault]:
    f = figures

    def fault(kind: str, weight: float, figure: float, limit: float, detail: str) -> Fault:
        excess = math.log2(max(1.0, figure / limit)) if limit else 0.0
        return Fault(kind, detail, round(weight * (1 + min(3.0, excess)), 3))

    if f.peak > 0:
        peak = audio.amplitude(f.peak)
        yield fault("clipped", 3, peak, 1, f"a peak of {peak:.2f}, beyond full scale")
    elif f.clipped >= CLIPPED:
        what = f"{f.clipped:.0f} samples in a row at full scale"
        yield fault("clipped", 3, f.clipped, CLIPPED, what)
    if limits.median is not None and (off := abs(f.level - limits.median)) > limits.spread:
        what = f"{f.level:.1f} dB where the speaker has {limits.median:.1f} dB"
        yield fault("level", 2, off, limits.spread, what)
    if f.swing > SWING:
        yield fault("swing", 2, f.swing, SWING, f"loudness changes by {f.swing:.0f} dB")
    about, least, most = limits.seconds()
    length = f"{f.seconds:.1f} s where about {about:.1f} s were expected"
    if f.seconds > most:
        yield fault("long", 6, f.seconds, most, length)
    if f.seconds < least:
        yield fault("short", 10, least, f.seconds, length)
    if f.gap >= LONGEST_GAP:
        yield fault("gap", 8, f.gap, LONGEST_GAP, f"{f.gap:.1f} s of silence inside")
    if capped:
        yield Fault("cut", "stopped at its length limit", 8)
    elif f.end > CUT:
        yield Fault("cut", "ends in the middle of a sound", 6 + min(1.0, (f.end - CUT) / 20))
    yield from _edge_faults(f)
    for kind, weight, figure, limit, what in (
        ("chirp", 2, f.chirp, CHIRP, "of a sound before the speech"),
        ("whistle", 5, f.whistle, WHISTLE, "of a tone"),
        ("noise", 6, f.noise, NOISE, "of noise"),
        ("tail", 4, f.tail, TAIL, "of sound after the speech"),
        ("repeat", 6, f.repeat, limits.repeat, "are said twice"),
    ):
        if figure >= limit:
            yield fault(kind, weight, figure, limit, f"{figure:.2f} s {what}")


def _edge_faults(figures: TakeFigures) -> Iterator[Fault]:
    f = figures
    if f.onset > ONSET and f.chirp < CHIRP:  # a leftover begins so too
        yield Fault(
            "onset", "begins in the middle of a sound", 4 + min(1.0, (f.onset - ONSET) / 20)
        )
    if f.click > CLICK:
        yield Fault("click", f"a click at an edge, {f.click:.0f} dB above what is around it", 3)
    if f.torn > TORN:
        yield Fault("torn", f"a breath is cut at an edge, {-f.torn:.0f} dB under speech", 2)


# -- what a take sounds like -----------------------------------------------------------------------

_CLOSURE = 3
"""Frames of silence that belong to a sound: a stop's closure, most of them."""
_NOISE_FLATNESS = -5.0
"""dB of geometric to arithmetic mean power from 300 Hz to 7 kHz: vowels -25, [s] -8, noise -1."""
_OTHER_NOISE = 6.0
"""dB of flatness over the take's own, so that whispered takes are no noise."""


@dataclass(frozen=True, slots=True, eq=False)
class _Frames:
    """A take in frames of `HOP`, and in slow frames of `POOL` of them."""

    level: NDArray[np.float64]
    """dB full scale of each frame."""
    power: Floats
    """(frames, bins)."""
    slow: Floats
    """`power`, averaged over slow frames."""
    hertz: NDArray[np.float64]
    """Of each bin."""
    loud: float
    """dB full scale of clear speech: nine tenths of what is heard are softer."""
    quiet: float
    """dB full scale, under which is silence."""
    islands: NDArray[np.intp]
    """(n, 2): the frames from and to which there is sound."""
    flatness: NDArray[np.float32]
    """dB, of slow frames."""
    noisy: Flags
    """Slow frames that are noise."""


def _listen(samples: Floats, rate: int) -> _Frames:
    hop = max(1, round(rate * HOP))
    count = max(1, len(samples) // hop)
    padded = np.zeros((count + 1) * hop, np.float32)
    padded[: min(len(samples), count * hop)] = samples[: count * hop]
    blocks = padded[: count * hop].reshape(count, hop)
    level = _decibels(np.square(blocks).mean(axis=1, dtype=np.float64))
    heard = level[level >= level.max() - 60]
    loud = float(np.percentile(heard, 90))
    floor = min(float(np.percentile(level, 5)), loud - 25)
    quiet = max(loud + PAUSE, floor + OVER_NOISE)
    islands = _islands(level > quiet, _CLOSURE)
    islands = islands[islands[:, 1] - islands[:, 0] > 1]  # a click is no sound

    size = 1 << (2 * hop - 1).bit_length()
    frames = np.lib.stride_tricks.sliding_window_view(padded, 2 * hop)[::hop]
    spectrum = np.fft.rfft(frames * np.hanning(2 * hop).astype(np.float32), size)
    power: Floats = np.square(spectrum.real) + np.square(spectrum.imag)
    hertz = np.linspace(0, rate / 2, size // 2 + 1)
    slow = _pooled(power)
    band = slow[:, np.searchsorted(hertz, 300) : np.searchsorted(hertz, 7000)]
    band = band + (1e-9 * slow.max() + 1e-20)
    flatness = 10 / math.log(10) * (np.log(band).mean(axis=1) - np.log(band.mean(axis=1)))
    strong = _pooled(level[:, None])[:, 0] > max(loud - 30, floor + 10)
    usual = float(np.median(flatness[strong])) if strong.any() else 0.0
    noisy = strong & (flatness > max(_NOISE_FLATNESS, usual + _OTHER_NOISE))
    return _Frames(level, power, slow, hertz, loud, quiet, islands, flatness, noisy)


def _decibels(power: NDArray[np.float64]) -> NDArray[np.float64]:
    return 10.0 * np.log10(power + 1e-12)


def _pooled(frames: NDArray[_Real]) -> NDArray[_Real]:
    """Means of `POOL` rows; the last rows that fill no pool are dropped, unless they are all."""
    count = len(frames) // POOL
    if not count:
        return frames.mean(axis=0, keepdims=True)
    return frames[: count * POOL].reshape(count, POOL, -1).mean(axis=1)


def _runs(flags: Flags) -> NDArray[np.intp]:
    """(n, 2): from and to which index values are true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    return np.stack([edges[::2], edges[1::2]], axis=1)


def _longest(flags: Flags) -> int:
    runs = _runs(flags)
    return int((runs[:, 1] - runs[:, 0]).max(initial=0))


def _islands(flags: Flags, bridge: int) -> NDArray[np.intp]:
    """Runs of true values, with gaps of up to `bridge` false ones among them."""
    runs = _runs(flags)
    apart = runs[1:, 0] - runs[:-1, 1] > bridge
    starts, stops = runs[:, 0], runs[:, 1]
    return np.stack(
        [starts[np.append(True, apart)[: len(runs)]], stops[np.append(apart, True)[: len(runs)]]],
        axis=1,
    )


# -- rules -----------------------------------------------------------------------------------------


def _swing(sound: _Frames) -> float:
    """dB between the loudest and the softest two seconds that are at least half speech."""
    width = round(2 / HOP)
    if len(sound.level) <= width:
        return 0.0
    active = sound.level > sound.quiet
    power = np.where(active, 10 ** (sound.level / 10), 0.0)
    counts = np.convolve(active, np.ones(width), "valid")
    sums = np.convolve(power, np.ones(width), "valid")
    full = counts > width / 2
    if not full.any():
        return 0.0
    levels = _decibels(sums[full] / counts[full])
    return float(levels.max() - levels.min())


def _end(samples: Floats, rate: int) -> float:
    """dB full scale of the last 20 ms."""
    return _power(samples[-max(1, round(2 * HOP * rate)) :])


_LOUD_START = 4.0
"""dB by which the first millisecond must exceed `ONSET` if the first sample does not."""


def _onset(samples: Floats, rate: int) -> float:
    """dB full scale of an abrupt start.

    A whole sound, however soon it is loud, begins near zero; a cut falls anywhere in the wave. So
    the first sample counts as much as the first millisecond.
    """
    level = _power(samples[: max(1, round(0.001 * rate))])
    return max((level + _power(samples[:1])) / 2, level - _LOUD_START)


def _power(samples: Floats) -> float:
    return 10 * math.log10(float(np.mean(samples.astype(np.float64) ** 2)) + 1e-12)


_HEAD = 25
"""Frames in which a chirp may lie, from the first sound on."""
_BURST, _ALONE = 12, 15
"""Frames: at most so long a sound, with at least so long a silence after it."""
_LEFTOVER, _AT_ONCE = 25, -20.0
"""Frames of a prompt's last syllable, and dB of its very first frame: it has no onset."""
_WORD = 6
"""Letters of a word so short that it is spoken in the time of a leftover."""


def _chirp(sound: _Frames, onset: float, text: str) -> float:
    """Seconds of what sounds before the speech: a tone, a burst on its own, a leftover.

    `onset` is that of `TakeFigures`, of the take's first sample whether or not speech begins there.
    """
    (start, stop), after = sound.islands[0], sound.islands[1:2]
    silence = int(after[0, 0] - stop) if len(after) else 0
    count = _longest(_single(sound, 0.85)[start : start + _HEAD])
    loudest = float(sound.level[start:stop].max()) - sound.loud
    if silence and loudest > -25:
        is_left = start == 0 and _is_leftover(sound, silence, onset, text)
        if is_left or _is_burst(sound, silence):
            count = max(count, int(stop - start))
    return count * HOP


def _is_burst(sound: _Frames, silence: int) -> bool:
    """Whether the first sound is high, short and alone: no voice."""
    start, stop = sound.islands[0]
    high = sound.power[start:stop, np.searchsorted(sound.hertz, 2000) :].sum()
    is_high = bool(high > 0.5 * sound.power[start:stop].sum())
    return is_high and silence >= _ALONE and bool(stop - start <= _BURST)


def _is_leftover(sound: _Frames, silence: int, onset: float, text: str) -> bool:
    """Whether what sounds from the first sample on is the end of another sentence.

    It is short, and it has no onset, or it stands alone though the text has no such word: "Oh, how
    simple" begins with one.
    """
    if sound.islands[0, 1] > _LEFTOVER:
        return False
    at_once = bool(sound.level[0] > sound.loud + _AT_ONCE)
    return onset > ONSET or (at_once and silence >= _ALONE and not _alone_first(text))


def _alone_first(text: str) -> bool:
    """Whether a text begins with a short word that a mark parts from the rest."""
    first = re.match(r"[^\w]*(\w[\w'’]*)\s*[^\w\s'’]", text)
    return first is not None and len(first[1]) <= _WORD


def _single(sound: _Frames, share: float) -> Flags:
    """Frames with nearly all their power within 250 Hz of one frequency above those of vowels."""
    power, hertz = sound.power, sound.hertz
    low = int(np.searchsorted(hertz, 1200))
    half = max(1, round(250 / hertz[1]))
    sums = np.cumsum(power, axis=1)
    tops = power[:, low:].argmax(axis=1) + low
    rows = np.arange(len(tops))
    near = sums[rows, np.minimum(tops + half, len(hertz) - 1)]
    near = near - sums[rows, np.maximum(tops - half - 1, 0)]
    return (near > share * sums[:, -1]) & (sound.level > sound.loud - 30)


_STEADY = 30.0
"""Times the power of its surroundings that a tone has."""


def _whistle(sound: _Frames) -> float:
    """Seconds of the longest tone, alone or steady through speech.

    Harmonics of a voice stand out as well, but none stays in its bin: pitch moves.
    """
    alone = _longest(_single(sound, 0.8)) * HOP
    slow, low = sound.slow, int(np.searchsorted(sound.hertz, 1000))
    near = _spread(slow, 2)
    around = (_spread(slow, 8) - near) / 12
    least = 10**-4.5 * float(np.percentile(slow.sum(axis=1), 90))
    tones = ((near / 3 > _STEADY * around) & (slow > least))[:, low:]
    count = np.zeros(tones.shape[1], np.int32)
    longest = 0
    for row in tones:
        count = (count + 1) * row
        longest = max(longest, int(count.max(initial=0)))
    return max(alone, longest * POOL * HOP)


def _spread(power: Floats, reach: int) -> Floats:
    """Of each bin, the sum of those up to `reach` bins away."""
    sums = np.cumsum(np.pad(power, ((0, 0), (reach + 1, reach))), axis=1, dtype=np.float64)
    return (sums[:, 2 * reach + 1 :] - sums[:, : -2 * reach - 1]).astype(np.float32)


_REST = 20
"""Frames of silence before a tail."""


def _tail(sound: _Frames, spoken_until: float) -> float:
    """Seconds of sound after the speech: soft or noise after a rest, or a murmur that goes on.

    What is softer than speech by 25 dB or more, after a rest, falls to trimming.
    """
    parts = _islands(sound.level > sound.quiet, _REST)
    start, stop = parts[-1].tolist()
    loudest = float(sound.level[start:stop].max()) - sound.loud
    slow = slice(start // POOL, max(stop // POOL, start // POOL + 1))
    is_noise = bool(sound.noisy[slow].mean() > 0.5) if len(sound.noisy[slow]) else False
    if len(parts) > 1 and loudest > -25 and (loudest < -10 or is_noise):
        return (stop - start) * HOP
    clear = np.flatnonzero(sound.level > sound.loud - 25)
    return max(0, stop - 1 - max(int(clear[-1]), int(spoken_until / HOP))) * HOP


# -- what comes twice ------------------------------------------------------------------------------

_ALIKE = 0.6
"""Cosine of two frames over which they count as the same sound."""
_WARP = 0.15
"""What it costs to go on one frame faster or slower."""
_APART = 8
"""Slow frames between a sound and its repeat, at least."""
_REPEATED_TEXT = 1.3
"""Seconds of alike sound that a second of repeated text makes, at most."""
_CHANCE = 0.35
"""Seconds of repeated text that any text has by chance."""
_NEVER = -10.0
_MOST = 1500
"""Slow frames, or letters, that are compared with each other: a minute, in 10 MB."""


def _repeat(sound: _Frames, latents: NDArray[Any] | None) -> float:
    """Seconds that come twice: of the spectrum, or of the latents where they say more."""
    shape = _mel(len(sound.hertz), float(sound.hertz[1]))
    bands = np.einsum("ij,kj->ik", sound.slow, shape)
    logs = np.log(np.maximum(bands, 1e-5 * bands.max() + 1e-30))
    heard = _pooled(sound.level[:, None])[:, 0] > sound.quiet
    found = _twice(logs, heard)
    if latents is not None and latents.ndim == 3:
        frames = latents.reshape(-1, latents.shape[-1])
        count = min(len(frames), len(heard))
        found = max(found, _twice(frames[:count], heard[:count]))
    return found


def _twice(frames: Floats, heard: Flags) -> float:
    """Seconds of the passage that comes twice, worth as many as an exact copy of that length."""
    frames, heard = frames[:_MOST], heard[:_MOST]
    if heard.sum() < 2 * _APART:
        return 0.0
    vectors = frames - frames[heard].mean(axis=0)
    vectors /= vectors[heard].std(axis=0) + 1e-6
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6
    # not a BLAS product: its threads spin, and there are other takes
    gains = np.einsum("ij,kj->ik", vectors, vectors) - np.float32(_ALIKE)
    gains[~heard] = gains[:, ~heard] = -_ALIKE
    gains[np.ix_(~heard, ~heard)] = -0.05  # a rest within a passage breaks no likeness
    return _aligned(gains, _APART) / (1 - _ALIKE) * POOL * HOP


_WORD_ALONE = 0.6
"""Seconds of a word that stands between marks ("You, you, you …"): far more than its letters'."""


def _stammered(text: str) -> float:
    """Seconds of words that a text says twice in a row."""
    words = re.findall(r"\w+", text.casefold())
    return _WORD_ALONE * sum(a == b for a, b in pairwise(words))


def _repeated(text: str, seconds: float) -> float:
    """Seconds of a text spoken in so many that say again what it has said before."""
    codes = np.array([ord(c) for c in text.casefold() if unicodedata.category(c)[0] in "LMN"])
    codes = codes[:_MOST]
    if len(codes) < _LETTERS_APART:
        return 0.0
    gains = np.where(codes[:, None] == codes, 0.5, -0.5).astype(np.float32)
    return _aligned(gains, _LETTERS_APART) / 0.5 / len(codes) * seconds


_LETTERS_APART = 4


def _aligned(gains: Floats, apart: int) -> float:
    """The best sum of gains over a passage and its like, at least `apart` rows later.

    Local alignment (Smith and Waterman) whose steps may be one row or column longer.
    """
    count = len(gains)
    later = np.triu(np.ones((count, count), np.bool_), apart)
    gains = np.where(later, gains, np.float32(_NEVER))
    nothing = np.zeros(count + 2, np.float32)
    before, last, best = nothing, nothing, 0.0
    for row in gains:
        reached = np.maximum(before[1:-1], last[:-2])
        reached -= _WARP
        np.maximum(reached, last[1:-1], out=reached)
        reached += row
        now = nothing.copy()
        np.maximum(reached, 0, out=now[2:])
        best = max(best, float(now.max()))
        before, last = last, now
    return best


@functools.lru_cache(maxsize=4)
def _mel(bins: int, width: float) -> Floats:
    """(32, bins): triangles from 100 Hz to 7.5 kHz on the mel scale, each with a sum of 1."""
    hertz = np.arange(bins) * width
    top = min(7500.0, float(hertz[-1]))
    marks = np.linspace(_mels(100.0), _mels(top), 34)
    mels = 2595 * np.log10(1 + hertz / 700)[:, None]
    rising = (mels - marks[:-2]) / (marks[1:-1] - marks[:-2])
    falling = (marks[2:] - mels) / (marks[2:] - marks[1:-1])
    shape = np.clip(np.minimum(rising, falling), 0, None)
    return np.ascontiguousarray((shape / np.maximum(shape.sum(axis=0), 1e-9)).T, np.float32)


def _mels(hertz: float) -> float:
    return 2595 * math.log10(1 + hertz / 700)
