"""Languages other than English, and English numbers against the library the others use."""

from __future__ import annotations

import random

import pytest
from num2words import num2words

from narrator.text.normalize import Lexicon, languages, normalize, numbers

NONE = Lexicon()


def say(text: str, language: str, heading: bool = False) -> str:
    return normalize(
        text, language=language, speaker="narrator", lexicon=NONE, heading=heading
    ).text


SPOKEN = [
    ("de", "Er hatte 3 Äpfel.", "Er hatte drei Äpfel."),
    ("de", "1.234", "eintausendzweihundertvierunddreißig."),
    ("de", "Pi ist 3,14.", "Pi ist drei Komma eins vier."),
    ("de", "Es waren −5 Grad.", "Es waren minus fünf Grad."),
    ("de", "Im Jahr 1984.", "Im Jahr neunzehnhundertvierundachtzig."),
    ("de", "Am 3. Mai 1920 kam er.", "Am dritten Mai neunzehnhundertzwanzig kam er."),
    ("de", "Der 2. Weltkrieg", "Der zweite Weltkrieg."),
    ("de", "3. Kapitel", "drittes Kapitel."),
    ("de", "um 15:30 Uhr", "um fünfzehn Uhr dreißig."),
    ("de", "um 14.30 Uhr", "um vierzehn Uhr dreißig."),
    ("de", "10–20 %", "zehn bis zwanzig Prozent."),
    ("de", "Es kostet 3,50 €.", "Es kostet drei Euro fünfzig."),
    ("de", "am 12.03.2020", "am 12.03.2020."),
    ("de", "10-jährig", "10-jährig."),
    ("de", "Kapitel IV", "Kapitel vier."),
    ("de", "„Nein“, sagte er – „nie!“", "Nein, sagte er, nie!"),
    ("de", "‚Ja‘, sagte sie.", "Ja, sagte sie."),
    ("de", "NEIN, DAS GEHT NICHT!", "Nein, das geht nicht!"),
    ("de", "Die ARD und das ZDF", "Die ARD und das ZDF."),
    ("fr", "« Bonjour ! » dit-il.", "Bonjour! dit-il."),
    ("fr", "Il a 21 ans.", "Il a vingt et un ans."),
    ("fr", "1 000 000 d’euros", "un million d'euros."),
    ("fr", "3,5 %", "trois virgule cinq pour cent."),
    ("fr", "Le 1er mai 1789", "Le premier mai mille sept cent quatre-vingt-neuf."),
    ("fr", "la 1re et la 2e fois", "la première et la deuxième fois."),
    ("fr", "au XIXe siècle", "au dix-neuvième siècle."),
    ("fr", "à 15h30", "à quinze heures trente."),
    ("fr", "5 €", "cinq euros."),
    ("fr", "— Oui, dit-elle — non.", "Oui, dit-elle, non."),
    ("fr", "Quoi\u00a0? C’est l’homme\u202f!", "Quoi? C'est l'homme!"),
    ("fr", "70 et 80", "soixante-dix et quatre-vingts."),
    ("fr-CH", "70", "septante."),
    ("es", "¿Qué? —dijo—. ¡No!", "¿Qué? dijo. ¡No!"),
    ("es", "1.234 años y 3,5", "mil doscientos treinta y cuatro años y tres coma cinco."),
    ("es", "el 1.º, la 2.ª y el 1er piso", "el primero, la segunda y el primer piso."),
    ("es-MX", "1,234.50", "mil doscientos treinta y cuatro punto cinco cero."),
    ("it", "3,14 e 1.000", "tre virgola uno quattro e mille."),
    ("it", "il 3° giorno, la 2ª volta", "il terzo giorno, la seconda volta."),
    ("pt-BR", "1.234 livros", "mil duzentos e trinta e quatro livros."),
    ("pt", "a 2ª vez", "a segunda vez."),
    ("nl", "de 3e keer in 1984", "de derde keer in negentien honderd vierentachtig."),
    ("nl", "’s Nachts", "'s Nachts."),
    ("sv", "1:a gången, år 1984", "första gången, år nittonhundraåttiofyra."),
    ("sv", "1 000", "ettusen."),
    ("sv", "”Ja”, sa han. ’Nej’", "Ja, sa han. Nej."),
    ("da", "1.000.000", "en million."),
    ("nb", "5 %", "fem prosent."),
    ("fi", "21 kirjaa", "kaksikymmentäyksi kirjaa."),
    ("pl", "Ma 3,5", "Ma trzy przecinek pięć."),
    ("cs", "-5", "mínus pět."),
    ("ru", "— Да, — сказал он. — Нет!", "Да, сказал он. Нет!"),
    ("ru", "3-й день, 1 000", "3-й день, одна тысяча."),
    ("tr", "1.234 kitap, 5'inci", "bin iki yüz otuz dört kitap, 5'inci."),
    ("vi", "15", "mười lăm."),
    ("ar", "كتاب، ٢١؟", "كتاب، واحد و عشرون؟"),
    ("fa", "می\u200cخواهم ۲۱", "می\u200cخواهم بیست و یک."),
    ("he", "21 ספרים", "עשרים ואחת ספרים."),
    ("th", "1,234", "หนึ่งพันสองร้อยสามสิบสี่."),
    ("hi", "वह बोला, “हाँ”", "वह बोला, हाँ।"),
    ("el", "Τι είναι; «Ναι» είπε· 21", "Τι είναι; Ναι είπε· 21."),
    ("ja", "「はい」と言った。", "はいと言った。"),
    ("ja", "「行くよ」「待って」", "行くよ。待って。"),
    ("ja", "え！？\u3000１９８４年に3冊…読んだ――そして", "え？1984年に3冊、読んだ、そして。"),
    ("zh", "他说：“你好。”", "他说：你好。"),
    ("zh", "1984年……3.14", "1984年，3.14。"),
    ("zh", "你好,我是《红楼梦》——好！！", "你好，我是红楼梦，好！"),
    ("ko", "그는 3권, “네”라고 했다…", "그는 3권, 네라고 했다."),
    ("xx", "“Hi” – 21… foo—bar 5+3 £5 STOP", "Hi, 21... foo, bar 5+3 £5 STOP."),
    ("", "Hi…", "Hi."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "written", "spoken"), SPOKEN)
def test_spoken(language: str, written: str, spoken: str) -> None:
    assert say(written, language) == spoken


@pytest.mark.parametrize(
    ("language", "written", "spoken"),
    [("de", "IV", "Vier."), ("fr", "XXI.", "Vingt et un."), ("fr", "CHAPITRE I", "Chapitre un.")],
)
def test_heading(language: str, written: str, spoken: str) -> None:
    assert say(written, language, heading=True) == spoken


def test_punctuation_of_japanese_uses_no_comma_that_the_source_did_not_imply() -> None:
    assert say("ＡＢＣ、日本", "ja") == "ABC、日本。"


@pytest.mark.parametrize("code", sorted(languages._LANGUAGES))
def test_every_language_says_every_number(code: str) -> None:
    its = languages._LANGUAGES[code]
    rng = random.Random(0)
    many = [rng.randrange(10 ** rng.randrange(1, 15)) for _ in range(40)]
    for number in (*range(22), 99, 100, 101, 999, 1000, 1001, 10**6, 10**15 - 1, *many):
        words = say(str(number), code)
        assert not any(char.isdigit() for char in words), number
        assert "(" not in words
    assert its.minus_word in say("-7", code)


def test_english_numbers_agree_with_the_library() -> None:
    rng = random.Random(0)
    for number in (*range(1200), *(rng.randrange(10 ** rng.randrange(4, 20)) for _ in range(300))):
        library = num2words(number).replace(",", "")
        assert numbers.cardinal(number, british=True) == library
        assert numbers.cardinal(number, british=False) == library.replace(" and ", " ")
        library = num2words(number, to="ordinal").replace(",", "")
        assert numbers.ordinal(number, british=True) == library


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("I", 1), ("IV", 4), ("XIV", 14), ("mcmxx", 1920), ("IIII", 0), ("VX", 0), ("", 0)],
)
def test_roman(numeral: str, value: int) -> None:
    assert numbers.roman(numeral) == value
