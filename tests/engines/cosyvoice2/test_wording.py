"""What can be put to the model: languages, voices, whose words may lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.engines.cosyvoice2 import SPEC
from narrator.engines.cosyvoice2.settings import CosyVoice2Voice
from narrator.engines.cosyvoice2.wording import (
    has_matching_language,
    prepare_text,
    voice_errors,
)
from narrator.engines.voice import Voice


def test_it_speaks_four_languages_and_the_chinese_ones():
    assert all(map(SPEC.speaks, ("en-GB", "zh-Hans", "ja", "ko-KR", "yue", "wuu", "nan", "cmn")))
    assert not any(map(SPEC.speaks, ("de", "fr", "th", "tlh", "")))


def test_a_description_alone_is_no_voice():
    clip = Voice("Ada", reference=Path("ada.wav"))
    kept = Voice("Bea", own={"cosyvoice2": CosyVoice2Voice(speaker="bea")})
    assert list(voice_errors({"Ada": clip, "Bea": kept})) == []
    names = [f"S{n}" for n in range(7)]
    cast = {name: Voice(name, description="old") for name in names}
    [said] = voice_errors({**cast, "Ada": clip})
    assert "'S0', 'S1', 'S2', 'S3', 'S4' and 2 more have none" in said
    for way in ("voice: {reference:", "narrator voices design", "cosyvoice2: {speaker:"):
        assert way in said


def test_tags_are_put_as_the_model_knows_them_and_nothing_else_is():
    said = "Oh <laughter/> <strong>no</strong>, <laughter>you</laughter> <b/> [sigh] 1 < 2<sigh/>"
    assert prepare_text(said, "en") == (
        "Oh [laughter] <strong>no</strong>, <laughter>you</laughter> <b/> [sigh] 1 < 2[sigh]."
    )


@pytest.mark.parametrize(
    ("transcript", "language", "may"),
    [
        ("The rain fell.", "en-GB", True),
        ("The rain fell.", "zh", False),
        ("下雨了。", "zh-CN", True),
        ("下雨了。", "yue", True),
        ("下雨了。", "en", False),
        ("雨が降った。", "ja", True),
        ("雨が降った。", "zh", False),
        ("비가 왔다.", "ko", True),
        ("비가 왔다.", "ja", False),
    ],
)
def test_a_clips_words_lead_to_texts_of_its_language(transcript, language, may):
    assert has_matching_language(transcript, language) == may
