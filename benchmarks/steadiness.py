"""What `narrator status --steadiness` finds of drift that was put into the takes of a book.

    python -m benchmarks.steadiness BOOK.yaml [--engine kokoro] [--takes 60]

The book is rendered, by a voice that holds. Of every speaker with enough takes, each take is
altered in five ways and five strengths: as a whole (a sudden change), and from nothing at its start
to all of it at its end (drift within a take). For drift over a chapter, the takes of a chapter are
altered more and more. A take counts as found if it sticks out, a chapter if it would be listed.

Prints tables of the shares that are found, in percent, and one line of JSON.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrator.cli.steadiness import MIN_LISTED_SHARE
from narrator.pipeline import book_engines, book_plan
from narrator.pipeline.book_plan import BookPlan, Selection
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.steadiness import MIN_CHAPTER_TAKES
from narrator.sound import audio, timing
from narrator.speech import checks
from narrator.speech.plan import Step
from narrator.speech.steadiness import UsualVoice, VoicedTake
from narrator.speech.store import Record

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
)


@dataclass(frozen=True)
class Spoken:
    """A take with its sound."""

    step: Step
    record: Record
    samples: Samples

    def altered(self, samples: Samples) -> VoicedTake | None:
        """Measures another sound in its place, as a render would."""
        rate = self.record.sample_rate
        stretch = len(samples) / len(self.samples)
        words = tuple(
            replace(word, start=word.start * stretch, stop=word.stop * stretch)
            for word in timing.unpack_words(self.record.words)
        )
        verdict = checks.examine(
            samples, rate, self.step.expected, text=self.step.text, words=words
        )
        level, _ = audio.measure_level(samples, rate)
        record = replace(
            self.record, voice=asdict(verdict.voice), level=level, start=0, stop=len(samples)
        )
        return VoicedTake.of(record)

    def drifting(self, change: Change, strength: float) -> VoicedTake | None:
        """Measures it with a change that grows from its start to its end."""
        rate = self.record.sample_rate
        parts = np.array_split(self.samples, STEPS)
        return self.altered(
            np.concatenate(
                [
                    change.apply(part, rate, strength * number / (STEPS - 1)) if number else part
                    for number, part in enumerate(parts)
                ]
            )
        )


def takes_of(book: BookPlan, limit: int) -> Iterator[tuple[str, list[Spoken]]]:
    """Yields the takes of each speaker, each once."""
    found: dict[str, dict[str, Spoken]] = defaultdict(dict)
    for step in book.steps:
        speaker, record = step.chunk.speaker, book.takes.current(step)
        if record is not None and len(found[speaker]) < limit and step.key not in found[speaker]:
            samples, _ = book.store.read(step.key)
            spoken = samples[record.start : record.stop]
            found[speaker][step.key] = Spoken(step, record, spoken)
    for speaker, rows in found.items():
        yield speaker, list(rows.values())


def share(flags: Sequence[bool]) -> float:
    return round(100 * sum(flags) / max(1, len(flags)), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("--engine", default="kokoro")
    parser.add_argument("--takes", type=int, default=60, help="of each speaker, at most")
    options = parser.parse_args()
    manuscript = read_manuscript(options.book).spoken_by(options.engine)
    engines = book_engines.engines_for(manuscript.project)
    book = book_plan.plan(manuscript, engines.main, Selection(), engines=engines.by_speaker)
    alarms: list[bool] = []
    chapter_alarms: list[bool] = []
    found: dict[tuple[str, str, float], list[bool]] = defaultdict(list)
    for speaker, rows in takes_of(book, options.takes):
        undisturbed = {row.step.key: row.altered(row.samples) for row in rows}
        usual = UsualVoice.of([take for take in undisturbed.values() if take])
        if usual is None:
            continue
        long_rows = [row for row in rows if undisturbed[row.step.key]]
        print(f"{speaker}: {len(long_rows)} takes")
        alarms += [is_far(usual, undisturbed[row.step.key]) for row in long_rows]
        chapter_alarms += [
            is_listed(usual, [undisturbed[row.step.key] for row in chapter])
            for chapter in chapters_of(long_rows)
        ]
        for change in CHANGES:
            for strength in change.strengths:
                whole = {
                    row.step.key: row.altered(
                        change.apply(row.samples, row.record.sample_rate, strength)
                    )
                    for row in long_rows
                }
                found["sudden", change.name, strength] += [
                    is_far(usual, take) for take in whole.values()
                ]
                found["within a take", change.name, strength] += [
                    is_far(usual, row.drifting(change, strength))
                    for row in long_rows
                    if row.record.seconds > 4
                ]
                for chapter in chapters_of(long_rows):
                    growing = [
                        row.altered(
                            change.apply(
                                row.samples,
                                row.record.sample_rate,
                                strength * number / (len(chapter) - 1),
                            )
                        )
                        for number, row in enumerate(chapter)
                    ]
                    found["over a chapter", change.name, strength].append(is_listed(usual, growing))
    report(alarms, chapter_alarms, found)


def is_far(usual: UsualVoice, take: VoicedTake | None) -> bool:
    return take is not None and any(one.sticks_out for one in usual.deviations(take))


def is_listed(usual: UsualVoice, takes: Sequence[VoicedTake | None]) -> bool:
    shares = usual.chapter_shares([take for take in takes if take])
    return max(abs(share) for share in shares.values()) >= MIN_LISTED_SHARE


def chapters_of(rows: Sequence[Spoken]) -> list[list[Spoken]]:
    by_chapter: dict[int, list[Spoken]] = defaultdict(list)
    for row in rows:
        by_chapter[row.step.chapter].append(row)
    return [chapter for chapter in by_chapter.values() if len(chapter) >= MIN_CHAPTER_TAKES]


def report(
    alarms: Sequence[bool],
    chapter_alarms: Sequence[bool],
    found: Mapping[tuple[str, str, float], Sequence[bool]],
) -> None:
    print(f"undisturbed: {share(alarms)} % of {len(alarms)} takes stick out, "
          f"{share(chapter_alarms)} % of {len(chapter_alarms)} chapters are listed")  # fmt: skip
    for kind in ("sudden", "within a take", "over a chapter"):
        print(f"\n{kind}, % found")
        for change in CHANGES:
            cells = "".join(
                f"{strength:>6g}: {share(found[kind, change.name, strength]):5.1f}"
                for strength in change.strengths
            )
            print(f"  {change.name:20} {change.unit:14}{cells}")
    print(
        json.dumps(
            {
                "takes": len(alarms),
                "false_alarms": share(alarms),
                "chapters": len(chapter_alarms),
                "listed_chapters": share(chapter_alarms),
                "found": {
                    f"{kind}, {name} {strength:g}": share(flags)
                    for (kind, name, strength), flags in found.items()
                },
            }
        )
    )


if __name__ == "__main__":
    main()
