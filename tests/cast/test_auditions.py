"""Casting: fixed candidates, side by side, the best of those that can be used."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from narrator.cast import auditions, presets
from narrator.cast.auditions import NEAREST_LANGUAGES, TEXTS, Candidate
from narrator.engines import Request, Speech
from narrator.engines.voice import Voice
from narrator.errors import EngineFailure, UserError
from narrator.text.pace import expected_seconds
from tests.stage import StageEngine, says

ADA = Voice("Ada", description="A quick girl", seed=7, language="en-GB")
DRAWN = Voice("Ada", language="en-GB")


def cast(engine: StageEngine, voice: Voice = ADA, count: int = 3) -> list[Candidate]:
    [candidates] = auditions.cast(engine.start(), engine, [voice], count=count)
    return candidates


def silent(request: Request) -> Speech:
    return Speech(np.zeros(80_000, np.float32))


# -- texts -----------------------------------------------------------------------------------------


def test_there_is_a_text_for_each_of_the_model_s_thirty_languages():
    assert len(TEXTS) == 30
    assert set(NEAREST_LANGUAGES.values()) <= set(TEXTS)
    assert not set(NEAREST_LANGUAGES) & set(TEXTS)


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_texts_take_eight_to_thirteen_seconds(language):
    assert 8 <= expected_seconds(TEXTS[language], language) <= 13.1


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_texts_are_words_and_marks_alone(language):
    assert not any(map(str.isdigit, TEXTS[language]))
    assert not set(TEXTS[language]) & set('"“”()«»_*\n')


@pytest.mark.parametrize(("tag", "code"), [("en-GB", "en"), ("pt_BR", "pt"), ("ZH-Hant", "zh")])
def test_a_region_does_not_matter(tag, code):
    assert auditions.text_for(tag) == auditions.AuditionText(TEXTS[code], code)


def test_another_language_s_text_is_said_to_be_one():
    ukrainian, basque = auditions.text_for("uk"), auditions.text_for("eu")
    assert (ukrainian.language, basque.language) == ("ru", "en")
    assert "no casting text in 'uk'" in ukrainian.note
    assert basque.note
    assert not auditions.text_for("nb-NO").note


# -- seeds and keys --------------------------------------------------------------------------------


def test_candidates_and_voices_have_seeds_of_their_own():
    seeds = [auditions.seed_of(replace(ADA, seed=s), n) for s in (0, 1, 2) for n in range(1, 9)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_drawn_speakers_are_different_people_and_described_ones_are_who_they_are_said_to_be():
    eve = replace(ADA, speaker="Eve")
    assert auditions.seed_of(eve, 1) == auditions.seed_of(ADA, 1)
    assert auditions.seed_of(Voice("Eve"), 1) != auditions.seed_of(DRAWN, 1)


def test_the_key_holds_what_can_change_the_winner_and_nothing_else():
    def key(voice=ADA, count=3, **of_engine):
        return auditions.key(voice, StageEngine(**of_engine), count=count)

    for change in ({"language": "en-US"}, {"speaker": "Eve"}, {"gain": 3.0}, {"style": "sad"}):
        assert key(replace(ADA, **change)) == key()
    others = [replace(ADA, **change) for change in (
        {"language": "fr"}, {"seed": 8}, {"description": "A boy"},
    )]  # fmt: skip
    keys = [key(), *map(key, others), key(DRAWN), key(replace(DRAWN, speaker="Eve")), key(count=4),
            key(known_as={"name": "other"}), key(casting_parameters={"steps": 9})]  # fmt: skip
    assert len(set(keys)) == len(keys)


def test_the_key_is_what_it_was():
    # a change of it casts everybody's voices anew
    assert auditions.key(ADA, StageEngine(known_as={"name": "e"})) == KEY


KEY = "f70744a24937cb6569f43457da0706a9799fdd9b"


# -- candidates ------------------------------------------------------------------------------------


def test_candidates_are_asked_for_without_a_reference_style_or_prompt():
    engine = StageEngine(fault=silent)
    cast(engine, replace(ADA, style="sad"))
    for request in engine.requests:
        assert request.mode == "zero-shot"
        assert (request.reference, request.prompt, request.style) == (None, None, None)
        assert request.parameters == {"steps": 10, "cfg": 2.0}
        assert request.text == TEXTS["en"]
    assert len({request.key for request in engine.requests}) == 3


def test_slots_are_filled_and_never_overfilled():
    engine = StageEngine(slots=2)
    found = cast(engine, count=4)
    assert [candidate.number for candidate in found] == [1, 2, 3, 4]
    assert engine.most == 2


def test_several_voices_share_the_slots():
    engine = StageEngine(slots=4)
    parts = [ADA, DRAWN, Voice("Eve", language="en")]
    found = auditions.cast(engine.start(), engine, parts, count=2)
    assert [[c.voice.speaker for c in one] for one in found] == [
        ["Ada"] * 2,
        ["Ada"] * 2,
        ["Eve"] * 2,
    ]
    assert engine.most == 4
    alone = cast(StageEngine(), DRAWN, count=2)
    assert [c.score for c in found[1]] == [c.score for c in alone]


def test_casting_again_gives_the_same_voice():
    first, again = (auditions.choose(cast(StageEngine(slots=n))) for n in (1, 3))
    assert first.seed == again.seed
    names = [presets.pack(auditions.preset_of(c)) for c in (first, again)]
    assert names[0] == names[1]


def test_progress_counts_candidates():
    told: list[tuple[int, int]] = []
    engine = StageEngine(fault=silent)
    auditions.cast(engine.start(), engine, [ADA], on_progress=lambda *n: told.append(n))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_stopped_casting_has_no_candidates_to_choose_from():
    engine, cancel = StageEngine(slots=1), threading.Event()
    [found] = auditions.cast(
        engine.start(), engine, [ADA], cancel=cancel, on_progress=lambda *_: cancel.set()
    )
    assert found == []
    assert len(engine.requests) == 1
    with pytest.raises(UserError):
        auditions.choose(found)


def test_what_was_complete_when_a_casting_was_stopped_can_be_chosen_from():
    engine, cancel = StageEngine(slots=1), threading.Event()

    def stop(done: int, total: int) -> None:
        if done == 4:
            cancel.set()

    parts = [ADA, DRAWN, Voice("Eve", language="en")]
    found = auditions.cast(engine.start(), engine, parts, cancel=cancel, on_progress=stop)
    assert [len(candidates) for candidates in found] == [3, 0, 0]


@pytest.mark.parametrize(("slots", "voices"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 3), (64, 22)])
def test_as_few_voices_at_once_as_keep_the_slots_full(slots, voices):
    assert auditions.at_once(slots) == voices


# -- the choice ------------------------------------------------------------------------------------


def only(seed: int, fault):
    return lambda request: None if request.seed == seed else fault(request)


@pytest.mark.parametrize(
    "good", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)]
)
def test_a_faulty_candidate_is_never_chosen(good):
    found = cast(StageEngine(fault=only(auditions.seed_of(ADA, good), silent)))
    assert auditions.choose(found).number == good
    for candidate in found:
        assert candidate.usable == (candidate.number == good)
        assert (candidate.score >= 50) == candidate.usable


def test_a_noisy_candidate_loses_to_a_clean_one():
    clean = auditions.seed_of(ADA, 3)

    def hiss(request: Request) -> Speech:
        speech = says(request)
        noise = np.random.default_rng(1).standard_normal(len(speech.samples)) * 0.02
        return Speech((speech.samples + noise).astype(np.float32), speech.state)

    found = cast(StageEngine(fault=only(clean, hiss)))
    assert auditions.choose(found).number == 3
    assert "noisy" in str(found[0])


def test_a_failing_engine_costs_a_candidate_and_not_the_casting():
    found = cast(
        StageEngine(fault=only(auditions.seed_of(ADA, 2), lambda _: EngineFailure("boom")))
    )
    assert auditions.choose(found).number == 2
    assert found[0].trouble == ("engine: boom",)


@pytest.mark.parametrize(
    ("voice", "change"), [(ADA, "change its `description`"), (DRAWN, "give it a")]
)
def test_without_a_usable_candidate_the_error_says_why_and_what_to_change(voice, change):
    with pytest.raises(UserError) as caught:
        auditions.choose(cast(StageEngine(fault=silent), voice))
    said = str(caught.value)
    for words in ("'Ada' could not be cast", "none of 3", "1: silent", change, "`reference` clip"):
        assert words in said
    assert "\n" not in said


def test_the_winner_is_a_preset_with_the_text_it_spoke():
    best = auditions.choose(cast(StageEngine(), count=1))
    preset = auditions.preset_of(best)
    assert (preset.name, preset.language, preset.seed) == ("Ada", "en-GB", 7)
    assert (preset.transcript, preset.description) == (TEXTS["en"], "A quick girl")
    assert preset.made["seed"] == best.seed
    assert preset.made["engine"] == {"name": "stage", "version": 1}
    assert 6 < preset.seconds < 12


def test_any_speaker_can_be_cast():
    voice = replace(ADA, speaker="Mr. O'Neil / Jr.")
    preset = auditions.preset_of(auditions.choose(cast(StageEngine(), voice, 1)))
    assert preset.name == "Mr O Neil Jr"
