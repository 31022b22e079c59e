"""Text to speech without a book."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from narrator.cast.voicebook import Speaking
from narrator.engines.voice import Voice
from narrator.errors import UsageError
from narrator.pipeline import speech_without_book
from narrator.pipeline.speech_without_book import SpeakingManner, TakeJoiner
from narrator.project.schema import Pauses
from narrator.sound import audio
from narrator.speech import plan
from narrator.speech.plan import EngineParameters, Step
from narrator.text.normalize import Lexicon, SpokenText
from narrator.text.normalize.lexicon import LexiconEntry
from tests.fakes import RATE, HumEngine

ANN = Speaking(Voice("ann"), "en", None)
MANNER = SpeakingManner(EngineParameters({}, 0), "en")
SENTENCES = " ".join(f"It was the evening of day {n}, and the rain went on." for n in range(9))


def steps(text: str, manner: SpeakingManner = MANNER, who: Speaking = ANN) -> Sequence[Step]:
    return speech_without_book.steps_of(text, who, manner, HumEngine())


def noise(seconds: float, level: float = 0.05) -> audio.Samples:
    draw = np.random.default_rng(1)
    return draw.normal(0, level, round(seconds * RATE)).astype(np.float32)


def test_a_text_is_normalised_as_a_book_is():
    lexicon = Lexicon([LexiconEntry(word="Nguyen", say="Win")])
    found = steps(
        "Mrs. Nguyen owes $3.", SpeakingManner(EngineParameters({}, 0), "en", None, lexicon)
    )
    assert [step.text for step in found] == ["Missus Win owes three dollars."]


def test_a_long_text_is_cut_at_sentences_and_nothing_of_it_is_lost():
    found = steps(SENTENCES)
    assert len(found) > 2
    assert "".join(step.chunk.text for step in found) == SENTENCES


def test_nothing_in_it_is_a_label_or_a_mark():
    [step] = steps("Ada: [pause 2s] {a|b} # No heading *here*.")
    assert step.chunk.speaker == "ann"
    assert step.chunk.pause_after_s is None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("One.\nTwo.", ["One.", "Two."]),
        ("a  b\r\n\r\n\tc ", ["a b", "c"]),
        (
            "It was a dark and stormy night, and the rain\nfell in torrents.\nThen not.",
            ["It was a dark and stormy night, and the rain fell in torrents.", "Then not."],
        ),
        ("Buy this:\n- milk\n- bread", ["Buy this:", "- milk", "- bread"]),
        (
            "A row that is as long as rows are where they are wrapped\n2. and a list",
            ["A row that is as long as rows are where they are wrapped", "2. and a list"],
        ),
        ("\n \n", []),
    ],
)
def test_rows_are_lines_unless_they_were_wrapped(text, rows):
    assert list(speech_without_book.split_paragraphs(text)) == rows


@pytest.mark.parametrize("text", ["", "…", " \n— ! —\n"])
def test_a_text_of_marks_alone_is_refused(text):
    with pytest.raises(UsageError, match="nothing to say"):
        steps(text)


def test_a_style_is_every_chunk_s_and_chains_none():
    found = steps(SENTENCES, SpeakingManner(EngineParameters({}, 0), "en", "softly"))
    assert {(step.style, step.parent) for step in found} == {("softly", None)}


def test_takes_are_joined_with_the_pauses_of_a_book():
    found = steps(f"{SENTENCES}\n\n{SENTENCES}")
    joining = TakeJoiner(found, RATE)
    lengths = [len(joining.add(noise(2))) / RATE - 2 for _ in found]
    pauses = Pauses()
    named = [getattr(pauses, before.chunk.boundary) for before, _ in pairwise(found)]
    assert lengths == pytest.approx([0.0, *named], abs=0.01)
    assert {pauses.sentence, pauses.line} <= set(named)


@pytest.mark.parametrize("loud", [0.02, 0.05, 0.3])
def test_every_voice_is_as_loud_as_the_others(loud):
    sound = TakeJoiner(steps("One."), RATE).add(noise(3, loud))
    assert audio.measure_level(sound, RATE)[0] == pytest.approx(
        speech_without_book.VOICE_LUFS, abs=0.3
    )


def test_no_sample_is_over_full_scale():
    spiky = noise(3, 0.002)
    spiky[RATE] = 0.9
    assert (
        np.abs(TakeJoiner(steps("One."), RATE).add(spiky)).max()
        <= audio.amplitude(speech_without_book.MAX_PEAK) + 1e-4
    )


def test_a_voice_s_own_speed_is_on_top():
    who = Speaking(Voice("ann", speed=1.25), "en", None)
    sound = TakeJoiner(steps("One.", who=who), RATE, 2.0).add(noise(5))
    assert len(sound) == round(5 * RATE / 2.5)


def test_a_text_that_takes_too_long_is_not_normalised_to_its_end(monkeypatch):
    texts: list[str] = []

    def normalized(text: str, **settings: Any) -> SpokenText:
        texts.append(text)
        return normalize(text, **settings)

    normalize = plan.normalize
    monkeypatch.setattr(plan, "normalize", normalized)
    with pytest.raises(plan.TooLong):
        steps("7 " * 10_000, SpeakingManner(EngineParameters({}, 0), "en", max_seconds=60.0))
    assert sum(map(len, texts)) < 1000
