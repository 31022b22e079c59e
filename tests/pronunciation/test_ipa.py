"""IPA, as authors and dictionaries write it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrator.pronunciation import Override, pronounce
from narrator.pronunciation.alphabet import SYMBOLS
from narrator.pronunciation.ipa import IpaError, to_phonemes


@pytest.mark.parametrize(
    ("ipa", "american", "british"),
    [
        ("/ˈdʌmb(ə)l.dɔː/", "dˈʌmbᵊldɔ", "dˈʌmbᵊldɔː"),
        ("[ˈtʃɑːlz]", "ʧˈɑlz", "ʧˈɑːlz"),
        ("t͡ʃɑː(r)lz", "ʧˈɑɹlz", "ʧˈɑːlz"),
        ("ʧɑːlz", "ʧˈɑlz", "ʧˈɑːlz"),
        ("ˈdʒɔː.dʒi", "ʤˈɔʤi", "ʤˈɔːʤi"),
        ("hɜːˈmaɪ.ə.ni", "hɜɹmˈIəni", "hɜːmˈIəni"),
        ("ˈhɝˌmaɪəni", "hˈɜɹmˌIəni", "hˈɜːmˌIəni"),
        ("bʌt(ə)n", "bˈʌtᵊn", "bˈʌtᵊn"),
        ("ˈbɒt.l̩", "bˈɑtᵊl", "bˈɒtᵊl"),
        ("ˈɡoʊst", "ɡˈOst", "ɡˈQst"),
        ("gəʊst", "ɡˈOst", "ɡˈQst"),
        ("fɛə(r)", "fˈɛɹ", "fˈɛː"),
        ("ˈnɪər", "nˈɪɹ", "nˈɪə"),
        ("ˈnjuː.kɑːsəl", "njˈukɑsəl", "njˈuːkɑːsəl"),
        ("rɛstərɒ̃", "ɹɛstəɹɑn", "ɹɛstəɹɒn"),
        ("lɒx", "lˈɑk", "lˈɒk"),
        ("ˈɔɪ̯.lɐ", "ˈYlʌ", "ˈYlʌ"),
        ("piːt͡sə", "pitsə", "piːtsə"),
        ("kætʰ", "kˈæt", "kˈat"),
        ("'wɔ:tə", "wˈɔtə", "wˈɔːtə"),
        ("ˈsiːɡwɪld strˈiːt", "sˈiɡwɪld stɹˈit", "sˈiːɡwɪld stɹˈiːt"),
        ("ˈstreɪndʒ", "stɹˈAnʤ", "stɹˈAnʤ"),
    ],
)
def test_english(ipa: str, american: str, british: str) -> None:
    assert to_phonemes(ipa, "en-US") == american
    assert to_phonemes(ipa, "en-GB") == british


@pytest.mark.parametrize(
    ("ipa", "language", "phonemes"),
    [
        ("rɛs.tɔ.ʁɑ̃", "fr", "rɛstɔʁɑ̃"),
        ("ˈt͡sukkero", "it", "ʦˈukkero"),
        ("ˈnoʧe", "es", "nˈoʧe"),
        ("ˈkɾuð", "es", "kɾˈuð"),
        ("kɔɾɐˈsɐ̃w̃", "pt", "kɔɾɐsˈɐ̃w̃"),
    ],
)
def test_other_languages_keep_their_sounds(ipa: str, language: str, phonemes: str) -> None:
    assert to_phonemes(ipa, language) == phonemes


@pytest.mark.parametrize("language", ["en-US", "en-GB", "fr"])
@pytest.mark.parametrize(
    ("ipa", "character"),
    [
        ("ˈtop˧", "'˧' (U+02E7, modifier letter mid tone bar)"),
        ("ʘa", "'ʘ' (U+0298, latin letter bilabial click)"),
        ("x(ə", "'(' (U+0028, left parenthesis)"),
        ("7", "'7' (U+0037, digit seven)"),
        ("日", "'日' (U+65E5, cjk unified ideograph-65e5)"),
    ],
)
def test_an_error_names_the_character(ipa: str, character: str, language: str) -> None:
    with pytest.raises(IpaError) as error:
        to_phonemes(ipa, language)
    assert character in str(error.value)
    assert ipa in str(error.value)


@pytest.mark.parametrize(
    ("ipa", "phonemes"), [("ˈˈˈbɒb", "bˈɑb"), ("ˈbɒbˈ", "bˈɑb"), ("bɒ ˌˈbɒˌ", "bɑ bˈɑ")]
)
def test_stress_is_of_a_vowel_and_once(ipa: str, phonemes: str) -> None:
    assert to_phonemes(ipa, "en-US") == phonemes


@pytest.mark.parametrize("ipa", ["", "  ", "//", "[]", "ˈ", "."])
def test_ipa_without_a_sound_is_an_error(ipa: str) -> None:
    with pytest.raises(IpaError, match="no sound"):
        to_phonemes(ipa, "en")


@pytest.mark.parametrize("language", ["en-US", "en-GB", "it"])
@given(ipa=st.text("ˈˌː.pbtdkɡmnŋfvθðszʃʒhlɹrjwiɪeɛæaɑɒɔoʊuʌəɜ() t͡", min_size=1))
def test_phonemes_are_in_the_alphabet(language: str, ipa: str) -> None:
    with suppress(IpaError):
        assert set(to_phonemes(ipa, language)) <= SYMBOLS


@given(ipa=st.text())
def test_no_text_is_another_error(ipa: str) -> None:
    with suppress(IpaError):
        assert set(to_phonemes(ipa, "en-GB")) <= SYMBOLS


def test_an_override_is_spoken_as_it_says() -> None:
    text = "Cholmondeley came."
    pronunciation = pronounce(text, "en-GB", [Override(0, 12, "ˈtʃʌmli")])
    assert pronunciation.phonemes == "ʧˈʌmli kˈAm."
    assert not pronunciation.unknown


def test_an_override_may_cover_several_words_and_figures() -> None:
    pronunciation = pronounce("the R2-D2 unit", "en-US", [Override(4, 9, "ˈɑːrtuː ˈdiːtuː")])
    assert pronunciation.phonemes == "ði ˈɑɹtu dˈitu jˈunət"
    assert not pronunciation.unspoken


def test_a_word_before_an_override_hears_its_vowel() -> None:
    assert pronounce("the X", "en-US", [Override(4, 5, "ˈaɪks")]).phonemes == "ði ˈIks"


@pytest.mark.parametrize("spans", [[(0, 3), (2, 5)], [(3, 3)], [(0, 99)], [(-1, 2)]])
def test_spans_that_overlap_or_leave_the_text_are_an_error(spans: list[tuple[int, int]]) -> None:
    overrides = [Override(start, stop, "a") for start, stop in spans]
    with pytest.raises(ValueError, match="overlaps"):
        pronounce("a text", "en", overrides)
