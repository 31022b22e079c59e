"""Which of Kokoro's voices a speaker has."""

from __future__ import annotations

import pytest

from narrator.engines.kokoro import SPEC
from narrator.engines.kokoro.settings import KokoroVoice
from narrator.engines.kokoro.voices import VOICES, cast_blends, default_blend, language_of
from narrator.engines.kokoro.wording import blend_of, dialect
from narrator.engines.voice import Voice


def person(name: str, pronoun: str | None = None, place: int = 0, **own: object) -> Voice:
    voices = {"kokoro": KokoroVoice.model_validate(own)} if own else {}
    return Voice(name, pronoun=pronoun, place=place, own=voices)


def test_there_are_54_voices_in_eight_languages():
    assert len(VOICES) == 54
    assert len({voice.language.partition("-")[0] for voice in VOICES.values()}) == 8


@pytest.mark.parametrize(
    ("voice", "language", "blend"),
    [
        (person("narrator"), "en", {"af_heart": 1.0}),
        (person("narrator", "he"), "en", {"am_fenrir": 1.0}),
        (person("narrator"), "en-GB", {"bf_emma": 1.0}),
        (person("Ada", "she"), "en", {"af_bella": 1.0}),
        (person("Ben", "he"), "en-AU", {"bm_george": 1.0}),
        (person("Ben", "he", 1), "en-GB", {"bm_lewis": 1.0}),
        (person("Ana", "she"), "es", {"ef_dora": 1.0}),
        (person("Ada", "she", voice="am_adam"), "en", {"am_adam": 1.0}),
        (person("Ada", voice={"am_adam": 3, "af_heart": 1}), "en",
         {"af_heart": 0.25, "am_adam": 0.75}),
    ],
)  # fmt: skip
def test_a_speaker_has_a_voice(voice, language, blend):
    assert blend_of(voice, language) == blend


def test_voices_that_nobody_chose_are_different():
    for pronoun in ("she", "he", None):
        blends = [default_blend(person("x", pronoun, place), "en-GB") for place in range(8)]
        assert len({tuple(blend.items()) for blend in blends}) == 8


def test_a_whisper_is_chosen_by_name_alone():
    blends = [default_blend(person("x", "she", place), "en") for place in range(200)]
    assert not any("af_nicole" in blend for blend in blends)


def test_new_people_get_voices_that_nobody_has():
    cast = {"narrator": person("narrator"), "Ada": person("Ada", "she", voice="af_bella")}
    new = [person(name, "she") for name in "ABCDEFGHIJKLMNOPQRST"]
    blends = cast_blends(new, "en", cast)
    assert list(blends["A"]) == ["af_aoede"]  # the best-liked that is left
    taken = [{"af_heart": 1.0}, {"af_bella": 1.0}, *blends.values()]
    assert len({tuple(blend.items()) for blend in taken}) == len(taken)


def test_more_people_than_voices_share_them():
    new = [person(str(number), "she", number) for number in range(500)]
    assert len(cast_blends(new, "fr", {})) == 500


@pytest.mark.parametrize(
    ("blend", "language"),
    [
        ({"bf_emma": 0.6, "am_adam": 0.4}, "en-GB"),
        ({"zf_xiaoni": 1.0}, "zh"),
        ({"me": 1.0}, "en-US"),
    ],
)
def test_a_voice_has_a_language(blend, language):
    assert language_of(blend) == language


def test_a_text_is_pronounced_in_its_own_language_in_the_way_of_the_voice():
    assert dialect("en", {"bf_emma": 1.0}) == "en-GB"
    assert dialect("en-GB", {"af_heart": 1.0}) == "en-US"
    assert dialect("fr", {"af_heart": 1.0}) == "fr"


@pytest.mark.parametrize(
    ("voice", "hint"),
    [("af_hart", "did you mean 'af_heart'?"), ("qqqqqqq", "docs/kokoro.md lists them")],
)
def test_an_unknown_voice_is_named_with_the_nearest(voice, hint):
    cast = {"Ada": person("Ada", voice={voice: 1, "am_adam": 2})}
    [message] = SPEC.problems(SPEC.settings(), cast)
    assert message == f"Ada: Kokoro has no voice '{voice}'; {hint}"


def test_a_voice_too_light_to_be_heard_is_no_part_of_a_blend():
    voice = Voice("x", own={"kokoro": KokoroVoice(voice={"af_heart": 1000, "am_adam": 0.0004})})
    assert blend_of(voice, "en") == {"af_heart": 1.0}
