"""Drift that was put into the takes of a book, as found by `narrator status --steadiness`.

    python -m benchmarks.steadiness BOOK.yaml ... [--engine kokoro] [--takes 8] [--voice joe]
    python -m benchmarks.steadiness BOOK.yaml ... --hours 10

The books are rendered, by voices that hold; `--voice joe`: Piper's neural voice (`make speech`)
speaks the same chunks. Of every speaker with enough takes, the first of each chapter are altered in
six ways and five strengths: as a whole (a sudden change), and from nothing at their start to all
of it at their end (drift within a take). For drift over a chapter, they are altered more and more.
A take counts as found if it sticks out, a chapter if it would be listed, and a change that lasts
if the seam with the take before sticks out, which is not altered.

`--hours`: figures alone, without sound. The takes of the books are repeated, each a little
different, until they are a book of so many hours, as it is, and with slow drift from its first take
to its last.

Prints tables of the shares that are found, in percent, and one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from benchmarks.misspoken import Piper, SpokenText
from narrator.pipeline import book_engines, book_plan, steadiness
from narrator.pipeline.book_plan import BookPlan, Selection
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.steadiness import MIN_CHAPTER_TAKES, is_listed
from narrator.sound import audio, timing
from narrator.speech import checks
from narrator.speech.frames import analyse_frames, band_octaves
from narrator.speech.plan import Step
from narrator.speech.steadiness import UsualVoice, VoicedTake, with_previous_steps
from narrator.speech.store import Record
from narrator.speech.voice_figures import measure_voice, pack_timbre, unpack_timbre

Samples = NDArray[np.float32]
STEPS = 8
"""Parts of a take with one strength each, for drift within it."""


def resample(samples: Samples, rate: int, percent: float) -> Samples:
    """A larger or smaller speaker: pitch and resonances, at the old pace."""
    places = np.arange(0, len(samples) - 1, 1 + percent / 100)
    shifted = np.interp(places, np.arange(len(samples)), samples).astype(np.float32)
    return audio.stretch(shifted, rate, len(shifted) / len(samples))


def hurry(samples: Samples, rate: int, percent: float) -> Samples:
    return audio.stretch(samples, rate, 1 + percent / 100)


def amplify(samples: Samples, _: int, decibels: float) -> Samples:
    return samples * np.float32(10 ** (decibels / 20))


def tilt(samples: Samples, rate: int, decibels_per_octave: float) -> Samples:
    """Another timbre: brighter above 1 kHz and thinner below."""
    size = 1 << (len(samples) - 1).bit_length()
    hertz = np.maximum(np.fft.rfftfreq(size, 1 / rate), 60)
    gain = 10 ** (decibels_per_octave * np.clip(np.log2(hertz / 1000), -3, 3) / 20)
    spoken = np.fft.irfft(np.fft.rfft(samples, size) * gain, size)[: len(samples)]
    return _at_level_of(samples, spoken)


def add_room(samples: Samples, rate: int, wetness: float) -> Samples:
    """A room of 0.4 s."""
    draw = np.random.default_rng(7)
    times = np.arange(round(0.4 * rate)) / rate
    echo = draw.standard_normal(len(times)) * 10 ** (-3 * times / 0.4)
    echo /= np.sqrt(np.square(echo).sum())
    size = 1 << (len(samples) + len(echo)).bit_length()
    wet = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(echo, size), size)
    return _at_level_of(samples, samples + wetness * wet[: len(samples)])


def add_noise(samples: Samples, _: int, share: float) -> Samples:
    """White noise, as loud as a share of the voice."""
    level = share * float(np.sqrt(np.square(samples).mean()))
    noise = np.random.default_rng(3).standard_normal(len(samples)) * level
    return (samples + noise).astype(np.float32)


def _at_level_of(samples: Samples, other: NDArray[np.floating]) -> Samples:
    gain = np.sqrt(np.square(samples).mean() / max(float(np.square(other).mean()), 1e-20))
    return (other * gain).astype(np.float32)


@dataclass(frozen=True)
class Change:
    """A way to alter a voice."""

    name: str
    unit: str
    apply: Callable[[Samples, int, float], Samples]
    strengths: Sequence[float]


CHANGES = (
    Change("size of the speaker", "%", resample, (1, 2, 4, 6, 10)),
    Change("pace", "%", hurry, (5, 10, 15, 25, 40)),
    Change("loudness", "dB", amplify, (1, 2, 3, 5, 8)),
    Change("timbre", "dB per octave", tilt, (0.5, 1, 1.5, 2, 3)),
    Change("room", "echo to voice", add_room, (0.1, 0.2, 0.35, 0.5, 0.8)),
    Change("noise", "noise to voice", add_noise, (0.003, 0.01, 0.03, 0.06, 0.1)),
)


@dataclass(frozen=True)
class Spoken:
    """A take, and its sound."""

    step: Step
    record: Record
    read: Callable[[], Samples]
    previous: VoicedTake | None
    """The take that the same speaker goes on from."""

    @property
    def voiced(self) -> VoicedTake | None:
        take = VoicedTake.of(self.record)
        return replace(take, previous=self.previous) if take else None

    def altered(self, parts: Sequence[Samples], changed: Sequence[Samples]) -> VoicedTake | None:
        """Measures its parts after a change, as a render would."""
        rate, samples = self.record.sample_rate, np.concatenate(changed)
        edges, changed_edges = (
            np.cumsum([0, *map(len, pieces)]).tolist() for pieces in (parts, changed)
        )

        def moved(sample: float) -> float:
            return float(np.interp(sample, edges, changed_edges))

        words = [
            replace(
                word, start=moved(word.start * rate) / rate, stop=moved(word.stop * rate) / rate
            )
            for word in timing.unpack_words(self.record.words)
        ]
        frames = analyse_frames(samples, rate)
        voice = asdict(measure_voice(samples, rate, frames, self.step.expected, words))
        start, stop = round(moved(self.record.start)), round(moved(self.record.stop))
        level, _ = audio.measure_level(samples[start:stop], rate)
        record = replace(self.record, voice=voice, level=level, start=start, stop=stop)
        return replace(self, record=record).voiced


def altered(row: Spoken, samples: Samples, change: Change, strength: float) -> VoicedTake | None:
    return row.altered([samples], [change.apply(samples, row.record.sample_rate, strength)])


def drifting(row: Spoken, samples: Samples, change: Change, strength: float) -> VoicedTake | None:
    """Measures a take with a change that grows from its start to its end."""
    parts = np.array_split(samples, STEPS)
    changed = [
        change.apply(part, row.record.sample_rate, strength * number / (STEPS - 1))
        if number
        else part
        for number, part in enumerate(parts)
    ]
    return row.altered(parts, changed)


def takes_of(book: BookPlan, voice: Piper | None) -> dict[str, list[Spoken]]:
    """Returns the takes of each speaker, each once."""
    rows: dict[str, dict[str, Spoken]] = defaultdict(dict)
    last: Spoken | None = None
    for number, (step, previous_step) in enumerate(with_previous_steps(book.steps)):
        speaker, record = "joe" if voice else step.chunk.speaker, book.takes.current(step)
        if record is None or not record.voice or step.key in rows[speaker]:
            last = None
            continue
        read: Callable[[], Samples] = partial(samples_of, book, step)
        if voice:
            speech = voice.say(step.text, number)
            record, read = joe_record(step, record, speech), partial(samples_of_joe, speech)
        previous = VoicedTake.of(last.record) if last and previous_step else None
        last = rows[speaker][step.key] = Spoken(step, record, read, previous)
    return {speaker: list(takes.values()) for speaker, takes in rows.items()}


def samples_of(book: BookPlan, step: Step) -> Samples:
    return book.store.read(step.key)[0]


def samples_of_joe(speech: SpokenText) -> Samples:
    return speech.samples


def joe_record(step: Step, record: Record, speech: SpokenText) -> Record:
    """Returns the record of another voice's take of the same chunk."""
    start, stop = audio.speech_bounds(speech.samples, speech.rate)
    words = timing.pack_words(speech.words)
    verdict = checks.examine(
        speech.samples, speech.rate, step.expected, text=step.text, words=speech.words
    )
    return replace(
        record,
        sample_rate=speech.rate,
        start=start,
        stop=stop,
        words=words,
        level=verdict.figures.level,
        voice=asdict(verdict.voice),
    )


def share(flags: Sequence[bool]) -> float:
    return round(100 * sum(flags) / max(1, len(flags)), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("books", type=Path, nargs="+")
    parser.add_argument("--engine", default="kokoro")
    parser.add_argument("--takes", type=int, default=8, help="of a speaker in a chapter to alter")
    parser.add_argument("--voice", choices=["joe"], help="speaks the chunks in the place of takes")
    parser.add_argument("--hours", type=float, help="of a book that repeats the takes")
    options = parser.parse_args()
    books = [planned(path, options.engine) for path in options.books]
    if options.hours:
        report_long_books(books, options.hours)
        return
    outcomes = Outcomes()
    for path, book in zip(options.books, books, strict=True):
        for speaker, rows in takes_of(book, Piper() if options.voice else None).items():
            outcomes.add(f"{path.parent.name}, {speaker}", rows, options.takes)
    outcomes.report()


def planned(path: Path, engine: str) -> BookPlan:
    manuscript = read_manuscript(path).spoken_by(engine)
    engines = book_engines.engines_for(manuscript.project)
    return book_plan.plan(manuscript, engines.main, Selection(), engines=engines.by_speaker)


# -- changes of sound ------------------------------------------------------------------------------


@dataclass
class Outcomes:
    """What was found, by speakers."""

    alarms: list[bool] = field(default_factory=list)
    chapter_alarms: list[bool] = field(default_factory=list)
    found: dict[tuple[str, str, float], list[bool]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, name: str, rows: Sequence[Spoken], limit: int) -> None:
        """Compares the takes of a speaker, and alters so many of each chapter."""
        rows = [row for row in rows if row.voiced]
        usual = UsualVoice.of([row.voiced for row in rows if row.voiced])
        if usual is None:
            return
        alarms = [is_far(usual, row.voiced) for row in rows]
        print(f"{name}: {sum(alarms)} of {len(alarms)} takes stick out", flush=True)
        self.alarms += alarms
        by_chapter: dict[int, list[Spoken]] = defaultdict(list)
        for row in rows:
            by_chapter[row.step.chapter].append(row)
        for chapter in by_chapter.values():
            if len(chapter) >= MIN_CHAPTER_TAKES:
                self.chapter_alarms.append(differs(usual, [row.voiced for row in chapter]))
                self._alter(usual, chapter[:limit])

    def _alter(self, usual: UsualVoice, rows: Sequence[Spoken]) -> None:
        growing: dict[tuple[str, float], list[VoicedTake | None]] = defaultdict(list)
        for number, row in enumerate(rows):
            samples = row.read()
            for change in CHANGES:
                for strength in change.strengths:
                    changed = altered(row, samples, change, strength)
                    self.found["sudden", change.name, strength].append(is_far(usual, changed))
                    if row.previous:
                        self.found["a change that lasts", change.name, strength].append(
                            has_seam(usual, changed)
                        )
                    if row.record.seconds > 4:
                        self.found["within a take", change.name, strength].append(
                            is_far(usual, drifting(row, samples, change, strength))
                        )
                    growing[change.name, strength].append(
                        altered(row, samples, change, strength * number / (len(rows) - 1))
                    )
        for (name, strength), takes in growing.items():
            self.found["over a chapter", name, strength].append(differs(usual, takes))

    def report(self) -> None:
        print(
            f"undisturbed: {share(self.alarms)} % of {len(self.alarms)} takes stick out, ", end=""
        )
        print(f"{share(self.chapter_alarms)} % of {len(self.chapter_alarms)} chapters are listed")
        for kind in ("sudden", "a change that lasts", "within a take", "over a chapter"):
            print(f"\n{kind}, % found")
            for change in CHANGES:
                cells = "".join(
                    f"{strength:>6g}: {share(self.found[kind, change.name, strength]):5.1f}"
                    for strength in change.strengths
                )
                print(f"  {change.name:20} {change.unit:14}{cells}")
        print(
            json.dumps(
                {
                    "takes": len(self.alarms),
                    "false_alarms": share(self.alarms),
                    "chapters": len(self.chapter_alarms),
                    "listed_chapters": share(self.chapter_alarms),
                    "found": {
                        f"{kind}, {name} {strength:g}": share(flags)
                        for (kind, name, strength), flags in self.found.items()
                    },
                }
            )
        )


def is_far(usual: UsualVoice, take: VoicedTake | None) -> bool:
    return take is not None and any(one.sticks_out for one in usual.unexplained_deviations(take))


def has_seam(usual: UsualVoice, take: VoicedTake | None) -> bool:
    """Returns whether the seam before a take sticks out, as where all takes from it on differ."""
    return take is not None and any(
        one.sticks_out and one.term == "seam" for one in usual.deviations(take)
    )


def differs(usual: UsualVoice, takes: Sequence[VoicedTake | None]) -> bool:
    return is_listed(usual.chapter_shares([take for take in takes if take]))


# -- figures alone ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drift:
    """A slow change of the figures of takes, from nothing to all of it."""

    name: str
    unit: str
    strengths: Sequence[float]
    semitones: float = 0.0
    percent: float = 0.0
    decibels: float = 0.0
    decibels_per_octave: float = 0.0
    """Each for a strength of 1."""


DRIFTS = (
    Drift("pitch", "semitones", (0.5, 1, 1.5, 2, 3), semitones=1),
    Drift("pace", "%", (2.5, 5, 10, 15, 25), percent=1),
    Drift("loudness", "dB", (1, 2, 3, 4, 6), decibels=1),
    Drift("timbre", "dB per octave", (0.25, 0.5, 1, 1.5, 2), decibels_per_octave=1),
)
NATURAL = Drift("", "", (), semitones=0.3, percent=4, decibels=0.6, decibels_per_octave=0.2)
"""Standard deviations by which a repeated take differs: about those of a voice of Kokoro's."""


def moved(record: Record, drift: Drift, amounts: Sequence[float]) -> Record:
    """Changes pitch, pace, loudness and timbre of a take by so many times the drift."""
    voice = dict(record.voice)
    ratio = 2 ** (drift.semitones * amounts[0] / 12)
    decibels = drift.decibels * amounts[2]
    voice["pitch"] *= ratio
    voice["start_pitch"] *= ratio
    voice["start_level"] += decibels
    voice["pace"] *= 1 + drift.percent * amounts[1] / 100
    bands = unpack_timbre(voice["timbre"]) + drift.decibels_per_octave * amounts[3] * band_octaves()
    voice["timbre"] = pack_timbre(bands - bands.mean())
    return replace(record, voice=voice, level=record.level + decibels)


def long_book(
    takes: Sequence[tuple[Step, Record]], hours: float, drift: Drift, strength: float
) -> BookPlan:
    """Repeats takes, each a little different, until they are a book of so many hours."""
    draw = np.random.default_rng(7)
    seconds, chapters, records, steps = 0.0, 0, {}, []
    while seconds < 3600 * hours:
        for step, record in takes:
            utterance = replace(step.utterance, chapter=chapters + step.chapter)
            steps.append(replace(step, key=f"{step.key} {chapters}", utterance=utterance))
            amounts = [strength * seconds / (3600 * hours)] * 4
            records[steps[-1].key] = moved(
                moved(record, NATURAL, draw.standard_normal(4).tolist()), drift, amounts
            )
            seconds += record.seconds
        chapters = steps[-1].chapter + 1
    resolver = SimpleNamespace(current=lambda step: records[step.key])
    return SimpleNamespace(steps=steps, takes=resolver)  # type: ignore[return-value]


def report_long_books(books: Iterable[BookPlan], hours: float) -> None:
    takes = [
        (step, record)
        for book in books
        for step in book.steps
        if (record := book.takes.current(step)) and record.voice.get("timbre")
    ]
    rows = [("undisturbed", 0.0, *long_figures(takes, hours, Drift("", "", ()), 0.0))]
    for drift in DRIFTS:
        for strength in drift.strengths:
            name = f"{drift.name}, {drift.unit}"
            rows.append((name, strength, *long_figures(takes, hours, drift, strength)))
    print(
        f"{'drift':24}{'strength':>9}{'figure':>8}{'chapters':>10}{'of':>5}{'voices':>8}{'of':>5}"
    )
    for name, strength, figure, *counts in rows:
        print(f"{name:24}{strength:9g}{figure:8.2f}"
              f"{counts[0]:10}{counts[1]:5}{counts[2]:8}{counts[3]:5}")  # fmt: skip
    print(json.dumps({"hours": hours, "takes": len(takes), "rows": rows}))


def long_figures(
    takes: Sequence[tuple[Step, Record]], hours: float, drift: Drift, strength: float
) -> tuple[float, int, int, int, int]:
    """Returns the figure of a long book, how many of its chapters and of its voices are listed, and
    of how many each."""
    book = long_book(takes, hours, drift, strength)
    began = time.process_time()
    outcome = steadiness.measure(book)
    if not strength:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{len(book.steps)} takes compared in {time.process_time() - began:.1f} s, "
              f"{peak:.0f} MB at most; {len(outcome.outliers)} of {len(outcome.takes)} "
              "takes of two seconds or more stick out")  # fmt: skip
    return (
        round(outcome.drift or 0.0, 3),
        sum(row.is_listed for row in outcome.chapters),
        len(outcome.chapters),
        sum(row.is_listed for row in outcome.trends),
        len(outcome.trends),
    )


if __name__ == "__main__":
    main()
