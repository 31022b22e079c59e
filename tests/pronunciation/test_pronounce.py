"""The interface: words and their places, languages by tag, and texts of any kind."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from narrator.pronunciation import (
    Pronunciation,
    languages,
    missing_extra,
    pronounce,
    speaks,
)
from narrator.pronunciation.alphabet import SYMBOLS

SPOKEN = [tag for tag in languages() if speaks(tag)]
TEXTS = {
    "en": "“Don’t!” said Mr Knightley—and the well-known dog’s café… (5 times), U.S.A. style.",
    "en-gb": "O’Brien's ’ouse, -- the BBC & 東京; nooo!  'Tis «so».",
    "es": "¿Dónde está el niño? ¡En la calle 5, con «Ana»!",
    "it": "L’uomo è nell'acqua; perché… no?",
    "pt": "Não há coração – disse-me a mãe.",
    "fr": "« L’homme », dit-il ; où êtes-vous ?",
    "hi": "नमस्ते। मैं घर जा रहा हूँ, ठीक है?",
    "ja": "吾輩は猫である。名前はまだ無い。",
    "zh": "你好，我们去学校。",
}


def words_of(text: str, pronunciation: Pronunciation) -> dict[str, str]:
    return {
        text[word.start : word.stop]: pronunciation.phonemes[
            word.phonemes_start : word.phonemes_stop
        ]
        for word in pronunciation.words
    }


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "en-US",
            "“Don’t,” said the dog—twice!",
            {"Don’t": "dˈOnt", "said": "sˈɛd", "the": "ðə", "dog": "dˈɔɡ", "twice": "twˈIs"},
        ),
        ("en-US", "The U.S.A. is", {"The": "ðə", "U.S.A.": "jˌuˌɛsˈA", "is": "ɪz"}),
        ("en-GB", "well-known  cafés", {"well-known": "wˌɛlnˈQn", "cafés": "kˈafAz"}),
        ("fr", "les enfants", {"les": "lez", "enfants": "ɑ̃fˈɑ̃"}),
        ("it", "l’uomo c'è", {"l’uomo": "lwˈɔmo", "c'è": "ʧe"}),
        ("hi", "मैं घर", {"मैं": "mɛ̃", "घर": "ɡʰˈʌɾ"}),
    ],
)
def test_a_word_is_spoken_by_its_phonemes(language: str, text: str, words: dict[str, str]) -> None:
    assert words_of(text, pronounce(text, language)) == words


def assert_is_sound(text: str, pronunciation: Pronunciation) -> None:
    assert set(pronunciation.phonemes) <= SYMBOLS
    stop = phonemes_stop = 0
    for word in pronunciation.words:
        assert stop <= word.start < word.stop <= len(text)
        assert (
            phonemes_stop <= word.phonemes_start < word.phonemes_stop <= len(pronunciation.phonemes)
        )
        stop, phonemes_stop = word.stop, word.phonemes_stop
    for span in (*pronunciation.unknown, *pronunciation.unspoken):
        assert text[span.start : span.stop] == span.text
    places = {(word.start, word.stop) for word in pronunciation.words}
    assert {(span.start, span.stop) for span in pronunciation.unknown} <= places
    assert not {(span.start, span.stop) for span in pronunciation.unspoken} & places


@pytest.mark.parametrize("language", SPOKEN)
@pytest.mark.parametrize("text", TEXTS.values())
def test_any_language_takes_the_text_of_any_other(language: str, text: str) -> None:
    assert_is_sound(text, pronounce(text, language))


@pytest.mark.parametrize("language", SPOKEN)
@given(text=st.text())
def test_any_text(language: str, text: str) -> None:
    assert_is_sound(text, pronounce(text, language))


@pytest.mark.parametrize("language", SPOKEN)
@example(text="EN‘A")
@settings(max_examples=60)
@given(text=st.text("aeinorst'’‘-–—. ,…“”!?AEINORST\u0301\u00adéñçßœ"))
def test_texts_of_letters_and_marks(language: str, text: str) -> None:
    assert_is_sound(text, pronounce(text, language))


@settings(max_examples=60)
@given(text=st.text("कखगघचछजटडतदनपबमयरलवसहािीुेैोौ्ंँः़अआइए। "))
def test_devanagari_in_any_order(text: str) -> None:
    assert_is_sound(text, pronounce(text, "hi"))


@pytest.mark.parametrize("language", SPOKEN)
def test_a_text_is_spoken_in_its_language(language: str) -> None:
    text = TEXTS[language]
    pronunciation = pronounce(text, language)
    assert pronunciation.words
    assert len(pronunciation.phonemes) >= len(pronunciation.words)


@pytest.mark.parametrize("text", ["", " ", "\n", "5", "—"])
def test_a_text_without_words(text: str) -> None:
    assert pronounce(text, "en").words == ()


def test_spaces_are_one_and_none_at_the_ends() -> None:
    assert pronounce("  the\n\tend  ", "en").phonemes == "ði ˈɛnd"


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("a–b", "ˈA—bˈi"),
        ("Yes-- no", "jˈɛs— nˈO"),
        ("Wait....", "wˈAt…"),
        ("«Yes»", "“jˈɛs”"),
        ("„Yes“", "“jˈɛs“"),
        ("[yes] {no}", "(jˈɛs) (nˈO)"),
        ("yes ;no", "jˈɛs ;nˈO"),
    ],
)
def test_marks(text: str, phonemes: str) -> None:
    assert pronounce(text, "en").phonemes == phonemes


@pytest.mark.parametrize("tag", ["de", "xx", "", "e n"])
def test_a_language_that_is_not_spoken(tag: str) -> None:
    assert not speaks(tag)
    assert missing_extra(tag) is None
    with pytest.raises(LookupError, match="no pronunciation for the language"):
        pronounce("a", tag)


@pytest.mark.parametrize(("tag", "extra"), [("ja", "japanese"), ("zh-Hant", "chinese")])
def test_a_language_that_needs_an_extra(
    tag: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert missing_extra(tag) == extra
    assert not speaks(tag)
    with pytest.raises(LookupError, match=tag):
        pronounce("a", tag)


def test_languages_without_an_extra_are_spoken() -> None:
    assert {"en", "en-gb", "es", "it", "pt", "fr", "hi"} <= set(SPOKEN)
