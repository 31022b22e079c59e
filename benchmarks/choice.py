"""How often the best of five tries is one without fault: the score against other ways to choose.

    python -m benchmarks.choice BOOK.yaml [--engine kokoro] [--chunks 200]
        [--first 0] [--recogniser tiny.en]

The book is rendered. Of each chunk five tries are made from its take: all vary a little in size of
the speaker, pace, loudness and timbre, as readings do, and one to four of them get a fault, so
weak that the checks find but some. The reference is another take of the speaker. A recogniser,
if one is named, hears all tries.

Prints a table of the shares of chunks whose chosen try has no fault, in percent, and one line of
JSON.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import checks as spoiling
from benchmarks.checks import RATE, Samples
from benchmarks.steadiness import add_room, amplify, hurry, resample, tilt
from narrator.pipeline import book_engines, book_plan
from narrator.pipeline.book_plan import BookPlan, Selection
from narrator.pipeline.manuscript import read_manuscript
from narrator.project.schema import Checks
from narrator.sound import audio
from narrator.speech import checks, scores
from narrator.speech.hearing import SpokenSound, choosing
from narrator.speech.plan import Step
from narrator.speech.scores import Standard
from narrator.speech.steadiness import (
    UsualVoice,
    VoicedTake,
    find_usual_voices,
    voice_name,
    with_previous_steps,
)
from narrator.speech.store import Record

TRIES = 5
REFERENCE_SECONDS = 6.0
Spoil = Callable[[Samples, Samples, np.random.Generator], Samples | None]


def vary(speech: Samples, draw: np.random.Generator) -> Samples:
    """Another reading of the same text by the same voice."""
    speech = resample(speech, RATE, float(draw.normal(0, 0.6)))
    speech = hurry(speech, RATE, float(draw.normal(0, 2.5)))
    speech = tilt(speech, RATE, float(draw.normal(0, 0.15)))
    return amplify(speech, RATE, float(draw.normal(0, 0.5)))


def either(draw: np.random.Generator, low: float, high: float) -> float:
    """A strength between two values, or less than nothing by as much."""
    return float(draw.uniform(low, high) * draw.choice((-1, 1)))


def skipped(speech: Samples, draw: np.random.Generator) -> Samples:
    """A word or two are missing."""
    count = round(draw.uniform(0.25, 0.8) * RATE)
    start = int(draw.integers(RATE // 2, max(RATE // 2 + 1, len(speech) - count - RATE // 2)))
    before, after = speech[:start], speech[start + count :]
    return np.concatenate([audio.fade(before, RATE, 0.01), audio.fade(after, RATE, 0.01)])


def cut_end(speech: Samples, draw: np.random.Generator) -> Samples:
    kept = speech[: len(speech) - round(draw.uniform(0.15, 0.5) * RATE)]
    return audio.fade(kept, RATE, 0.03)


FAULTS: dict[str, Spoil] = {
    "another size of speaker": lambda s, o, d: resample(s, RATE, either(d, 3, 10)),
    "another timbre": lambda s, o, d: tilt(s, RATE, either(d, 1, 3)),
    "a room": lambda s, o, d: add_room(s, RATE, d.uniform(0.3, 0.8)),
    "another pace": lambda s, o, d: hurry(s, RATE, either(d, 15, 35)),
    "another loudness": lambda s, o, d: amplify(s, RATE, either(d, 3, 8)),
    "louder half way": lambda s, o, d: spoiling.stepped(either(d, 4, 12))(s, o, d),
    "a repeated passage": lambda s, o, d: spoiling.repeated(d.uniform(0.5, 1.6))(s, o, d),
    "a skipped word": lambda s, o, d: skipped(s, d),
    "a lost ending": lambda s, o, d: cut_end(s, d),
    "babble after it": lambda s, o, d: spoiling.after(
        spoiling.pause_part(0.3), spoiling.babble(d.uniform(0.2, 0.8), d.uniform(-16, 0))
    )(s, o, d),
    "a leftover syllable": spoiling.before(spoiling.leftover, spoiling.pause_part(0.05)),
    "a long pause": lambda s, o, d: spoiling.inserted(d.uniform(0.6, 1.9))(s, o, d),
    "noise": lambda s, o, d: s + spoiling.hiss(s, len(s) / RATE, d.uniform(-35, -20), d)[: len(s)],
    "a click": lambda s, o, d: spoiling.clicked(d.uniform(-20, -6), end=True)(s, o, d),
}


@dataclass(frozen=True)
class Chunk:
    """A chunk with its take, at the rate of the faults."""

    step: Step
    record: Record
    speech: Samples
    previous: Record | None


@dataclass(frozen=True)
class Attempt:
    """A try that was made of a take."""

    fault: str
    """Empty for a good one."""
    record: Record
    is_caught: bool
    """By the checks."""
    is_outlier: bool
    """By what is usual for the speaker."""
    word_odds: float


def chunks_of(book: BookPlan, first: int, count: int) -> list[Chunk]:
    """Chunks of two seconds or more, each take once, spread over the speakers."""
    chunks: dict[str, list[Chunk]] = defaultdict(list)
    seen: set[str] = set()
    for step, previous in with_previous_steps(book.steps):
        record = book.takes.current(step)
        if record is None or record.seconds < 2 or step.key in seen:
            continue
        seen.add(step.key)
        previous_record = book.takes.current(previous) if previous else None
        chunks[step.chunk.speaker].append(Chunk(step, record, spoken(book, step), previous_record))
    rows = [chunk for group in chunks.values() if len(group) >= 10 for chunk in group]
    random.Random(36).shuffle(rows)
    return rows[first : first + count]


def spoken(book: BookPlan, step: Step) -> Samples:
    samples, rate = book.store.read(step.key)
    record = book.takes.current(step)
    assert record is not None
    return audio.resample(samples[record.start : record.stop], rate, RATE)


def measured(chunk: Chunk, speech: Samples) -> tuple[Record, checks.Verdict]:
    """The record of a try, and what the checks say."""
    samples = np.concatenate([speech, spoiling.silence(0.1)])
    verdict = checks.examine(samples, RATE, chunk.step.expected, text=chunk.step.text)
    start, stop = audio.speech_bounds(samples, RATE)
    level, _ = audio.measure_level(samples[start:stop], RATE)
    record = replace(
        chunk.record, voice=asdict(verdict.voice), figures=asdict(verdict.figures), level=level,
        sample_rate=RATE, samples=len(samples), start=start, stop=stop,
    )  # fmt: skip
    return record, verdict


def attempts_at(
    chunk: Chunk, other: Samples, usual: UsualVoice | None, draw: np.random.Generator
) -> list[tuple[Attempt, Samples]]:
    """Five tries, of which one to four have a fault, in any order."""
    faulty = set(draw.permutation(TRIES)[: int(draw.integers(1, TRIES))].tolist())
    attempts = []
    for number in range(TRIES):
        speech, fault = vary(chunk.speech, draw), ""
        while number in faulty and not fault:
            name = str(draw.choice(list(FAULTS)))
            spoiled = FAULTS[name](speech, other, draw)
            if spoiled is not None and len(spoiled) > RATE:
                speech, fault = spoiled.astype(np.float32), name
        record, verdict = measured(chunk, speech)
        take = VoicedTake.of(record)
        deviations = usual.deviations(take) if usual and take else []
        is_outlier = any(deviation.is_glaring for deviation in deviations)
        attempts.append((Attempt(fault, record, bool(verdict.faults), is_outlier, 0.0), speech))
    return attempts


def choose_first(attempts: Sequence[Attempt]) -> Attempt:
    """The first that passes its checks."""
    return next((a for a in attempts if not a.is_caught), attempts[0])


def choose_usual(attempts: Sequence[Attempt]) -> Attempt:
    """The first that passes, and is no outlier at the end of the render."""
    return choose_first([a for a in attempts if not a.is_outlier] or attempts)


def choose_best(
    attempts: Sequence[Attempt], count: int, reference: UsualVoice | None, previous: Record | None
) -> Attempt:
    """The best of the first `count` that pass, as a render chooses."""
    good = [a for a in attempts if not a.is_caught][:count] or attempts[:1]
    standard = Standard.of_tries([a.record for a in good], reference, previous)
    ranked = sorted(good, key=lambda a: scores.total(standard.score(a.record, a.word_odds)))
    return next((a for a in ranked if not a.is_outlier), ranked[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("--engine", default="kokoro")
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="of the shuffled chunks")
    parser.add_argument("--recogniser", help="as in `checks: {recogniser: …}`")
    options = parser.parse_args()
    manuscript = read_manuscript(options.book).spoken_by(options.engine)
    engines = book_engines.engines_for(manuscript.project)
    book = book_plan.plan(manuscript, engines.main, Selection(), engines=engines.by_speaker)
    usual_voices = find_usual_voices(book.steps, book.takes.current)
    chunks = chunks_of(book, options.first, options.chunks)
    listener = None
    if options.recogniser:
        rules = Checks(recognition="all", recogniser=options.recogniser)
        listener = choosing.make_render_listener(rules, book.project.root)
    references = {
        speaker: reference_of([c for c in chunks if c.step.chunk.speaker == speaker])
        for speaker in {chunk.step.chunk.speaker for chunk in chunks}
    }
    draw = np.random.default_rng([36, options.first])
    chosen: dict[str, list[Attempt]] = defaultdict(list)
    made: list[Attempt] = []
    for number, chunk in enumerate(chunks):
        usual = usual_voices.get(voice_name(chunk.step))
        rows = attempts_at(chunk, chunks[number - 1].speech, usual, draw)
        if listener:
            sounds = [
                SpokenSound(speech, RATE, chunk.step.text, chunk.step.language)
                for _, speech in rows
            ]
            opinions = listener.listen(sounds, [None] * len(sounds))
            rows = [
                (replace(a, word_odds=o.odds, is_caught=a.is_caught or bool(o.faults)), speech)
                for (a, speech), o in zip(rows, opinions, strict=True)
            ]
        attempts = [attempt for attempt, _ in rows]
        made += attempts
        reference = references[chunk.step.chunk.speaker]
        chosen["any"] += [attempts[0]]
        chosen["the first that passes its checks"].append(choose_first(attempts))
        chosen["and is no outlier (best_of: 1)"].append(choose_usual(attempts))
        for count in (2, 3, 5):
            best = choose_best(attempts, count, reference, chunk.previous)
            chosen[f"best_of: {count}"].append(best)
    report(chunks, made, chosen)


def reference_of(chunks: Sequence[Chunk]) -> UsualVoice | None:
    """What another take of a speaker, of about six seconds, tells of the voice."""
    chunk = min(chunks, key=lambda chunk: abs(chunk.record.seconds - REFERENCE_SECONDS))
    take = VoicedTake.of(measured(chunk, chunk.speech)[0])
    return UsualVoice.of([take], min_takes=1) if take else None


def report(
    chunks: Sequence[Chunk], made: Sequence[Attempt], chosen: dict[str, list[Attempt]]
) -> None:
    speakers = sorted({chunk.step.chunk.speaker for chunk in chunks})
    faulty = [attempt for attempt in made if attempt.fault]
    print(f"{len(chunks)} chunks of {len(speakers)} speakers, {len(made)} tries, {len(faulty)} "
          f"with a fault; the checks find {sum(a.is_caught for a in faulty)} of these, and call "
          f"{sum(a.is_caught for a in made if not a.fault)} good ones faulty")  # fmt: skip
    print("\nchosen tries without fault, %")
    shares = {
        name: round(100 * sum(not a.fault for a in attempts) / len(attempts), 1)
        for name, attempts in chosen.items()
    }
    for name, share in shares.items():
        print(f"  {name:36}{share:6.1f}")
    print("\nfaults in chosen tries, of all that were put in")
    columns = list(chosen)[1:]
    for fault in FAULTS:
        count = sum(attempt.fault == fault for attempt in made)
        cells = "".join(f"{sum(a.fault == fault for a in chosen[name]):5}" for name in columns)
        print(f"  {fault:26}{count:5}:{cells}")
    print(json.dumps({"chunks": len(chunks), "tries": len(made), "without_fault": shares}))


if __name__ == "__main__":
    main()
