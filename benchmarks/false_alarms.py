"""How often the checks call a good take bad, on novels that their thresholds never saw.

    nice python -m benchmarks.false_alarms --rows FILE [NOVEL ...] [--voice draft] [--chunks 10000]

NOVEL is whatever `narrator new --from` reads. Chunks of all novels, in an order drawn at random,
are spoken as a render speaks them and judged by all checks that run by default. `--voice draft`:
eSpeak NG, a narrator and eleven other speakers in each novel, of any variant, pitch and pace, in
British or American English. `--voice joe`: Piper's neural voice (`make speech`).

FILE keeps each take's figures and no sound: a run that was stopped goes on, and without a NOVEL the
tables are made of FILE alone, at the thresholds as they are now. Prints the alarms, the highest
figures beside their limits, and one line of JSON. Tune on other novels than those that you report.

What the checks find is told by `checks.py`; figures are in docs/measurements.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.checks import spoken_texts
from benchmarks.misspoken import Piper
from narrator.engines import Request, speak
from narrator.engines.draft.espeak import DraftEngine
from narrator.engines.voice import Voice
from narrator.importing import import_book
from narrator.speech.checks import examine, find_outliers
from narrator.text.pace import expected_seconds

SPEAKERS = 12
"""In each novel; the first, the narrator, speaks two chunks of five."""
MEASURED = (
    *("onset", "end", "click", "torn", "chirp", "whistle", "noise", "tail", "repeat"),
    *("gap", "swing", "clipped", "ratio"),
)


@dataclass(frozen=True)
class Chunk:
    key: str
    """Of the novel and the chunk's place in it."""
    novel: str
    text: str


@dataclass(frozen=True)
class Row:
    """A good take as the checks see it."""

    key: str
    speaker: str
    seconds: float
    faults: Sequence[str]
    figures: Mapping[str, float]
    text: str


def chunks_of(novels: Sequence[Path]) -> list[Chunk]:
    names = {novel: f"{novel.resolve().parent.name}/{novel.stem}" for novel in novels}
    chunks = [
        Chunk(f"{names[novel]} {number}.{place}", names[novel], text)
        for novel in novels
        for number, chapter in enumerate(import_book(novel).chapters)
        for place, text in enumerate(spoken_texts(chapter.markdown))
    ]
    random.Random(7).shuffle(chunks)
    return chunks


SpokenChunk = tuple[Chunk, str, NDArray[np.float32], int, float]
"""A chunk, its speaker, samples, their rate, and the seconds that were expected."""


def by_draft(chunks: Sequence[Chunk]) -> Iterator[SpokenChunk]:
    by_key = {chunk.key: chunk for chunk in chunks}
    requests = {chunk.key: _request(chunk) for chunk in chunks}
    with closing(DraftEngine(workers=1).start()) as session:
        for request, outcome in speak(session, requests.values()):
            if outcome.speech is not None:
                samples, rate = outcome.speech.samples, DraftEngine.sample_rate
                yield by_key[request.key], request.voice.speaker, samples, rate, request.expected


def _request(chunk: Chunk) -> Request:
    draw = random.Random(chunk.key)
    speaker = 0 if draw.random() < 0.4 else draw.randrange(1, SPEAKERS)
    name = f"{chunk.novel} {speaker}"
    pronoun = random.Random(name).choice(["he", "she", None])
    language = random.Random(chunk.novel).choice(["en-GB", "en-US"])
    return Request(
        key=chunk.key,
        text=chunk.text,
        language=language,
        voice=Voice(name, pronoun=pronoun),
        style=None,
        parameters={},
        seed=0,
        attempt=0,
        expected=expected_seconds(chunk.text, language),
    )


def by_joe(chunks: Sequence[Chunk]) -> Iterator[SpokenChunk]:
    voice = Piper()
    for number, chunk in enumerate(chunks):
        speech = voice.say(chunk.text, number)
        yield chunk, "joe", speech.samples, speech.rate, expected_seconds(chunk.text, "en-US")


def rows_of(spoken_chunks: Iterator[SpokenChunk]) -> Iterator[Row]:
    for chunk, speaker, samples, rate, expected in spoken_chunks:
        verdict = examine(samples, rate, expected, text=chunk.text)
        faults = [str(fault) for fault in verdict.faults]
        seconds = round(len(samples) / rate, 2)
        yield Row(chunk.key, speaker, seconds, faults, asdict(verdict.figures), chunk.text)


def read_rows(file: Path) -> list[Row]:
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]


def beside_others(rows: Sequence[Row], varies: bool) -> dict[str, list[str]]:
    """Faults by the take's key. Of an engine that speaks differently each time, a render also
    compares each take with its speaker's medians, at the end."""
    faults = {row.key: list(row.faults) for row in rows}
    speakers: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        speakers[row.speaker].append(row)
    for takes in speakers.values() if varies else ():
        level = statistics.median(take.figures["level"] for take in takes)
        pace = statistics.median(take.figures["ratio"] for take in takes)
        for take in takes:
            if not take.faults:
                outlier_faults = find_outliers(take.figures, median_level=level, median_ratio=pace)
                faults[take.key] = [str(fault) for fault in outlier_faults]
    return faults


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("novels", nargs="*", type=Path)
    parser.add_argument("--rows", type=Path, required=True, help="where figures are kept")
    parser.add_argument("--voice", choices=["draft", "joe"], default="draft")
    parser.add_argument("--chunks", type=int, default=10_000, help="takes of FILE, at most")
    options = parser.parse_args()

    rows = read_rows(options.rows)
    have = {row.key for row in rows}
    missing_chunks = [chunk for chunk in chunks_of(options.novels) if chunk.key not in have]
    speaks = by_draft if options.voice == "draft" else by_joe
    with options.rows.open("a", encoding="utf-8") as file:
        for row in rows_of(speaks(missing_chunks[: max(0, options.chunks - len(rows))])):
            print(json.dumps(asdict(row)), file=file, flush=True)
            rows.append(row)

    faults = beside_others(rows, varies=options.voice == "joe")
    alarms = [row for row in rows if faults[row.key]]
    kinds = Counter(fault.partition(":")[0] for row in alarms for fault in faults[row.key])
    hours = sum(row.seconds for row in rows) / 3600
    print(f"{len(rows)} takes, {hours:.1f} h, of the voice {options.voice}; {len(alarms)} alarms")
    for row in alarms:
        print(f"  {row.key}, {row.speaker}: {'; '.join(faults[row.key])}: {row.text[:90]}")
    print(f"\n{'figure':10} {'median':>9} {'1 in 100':>9} {'1 in 1000':>9} {'highest':>9}")
    for name in MEASURED:
        figures = np.array([row.figures[name] for row in rows] or [0.0])
        cells = "".join(
            f" {quantile:9.2f}" for quantile in np.quantile(figures, [0.5, 0.99, 0.999, 1])
        )
        print(f"{name:10}{cells}")
    report = {
        "bench": "false alarms",
        "voice": options.voice,
        "takes": len(rows),
        "hours": round(hours, 2),
        "alarms": len(alarms),
        "kinds": dict(kinds),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
