"""Numbers in words for languages other than English, by num2words.

num2words (0.5.14) is trusted with whole numbers, ordinals and years only, in the languages below;
decimals, signs and separators are written here, because the library drops the fraction in Italian,
Turkish and Welsh, and fails on minus in Czech, Polish and Slovak. Chinese, Japanese and Korean keep
their figures, which their engines read by context better than the library does (it gives years as
imperial eras and ignores counting words). A figure with an unclear meaning (a date in figures, a
version, an inflected "3-й") stays as written, and so does everything in an unlisted language.
Inflection is not attempted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from narrator.text.normalize import numbers
from narrator.text.normalize.rules import Group, Rule, RuleMatch
from textbase.initialisms import SPELLED


@dataclass(frozen=True, slots=True)
class Language:
    """Notation and words of a language's numbers."""

    code: str
    """Language code of num2words."""
    decimal_word: str
    minus_word: str
    decimal: str = ","
    percent: str | None = None
    range_word: str | None = None
    """Word between the ends of a range."""
    euro: tuple[str, str] | None = None
    clock: str | None = None
    """Word between hours and minutes."""
    says_centuries: bool = False
    """True if 1984 is spoken by its centuries."""
    ordinal: tuple[str, Callable[[RuleMatch, str], str | None]] | None = None
    """A pattern, and the function that speaks its matches (the second argument is `code`)."""


def _spell_number(number: int, code: str, to: str = "cardinal") -> str:
    """Spell a number in a language, with num2words' flaws corrected."""
    words: str = _library()(number, lang=code, to=to)
    words = words.replace(",", "").replace("etttusen", "ettusen")  # Brazilian, Swedish
    if code == "da":
        words = re.sub(r"\ben millioner\b", "en million", words)
    if code == "tr":
        words = " ".join(_TURKISH.findall(words))
    return words


@cache
def _library() -> Callable[..., str]:
    from num2words import num2words  # 25 ms, and English needs none of it

    call: Callable[..., str] = num2words
    return call


_TURKISH = re.compile(  # the library writes a number as one word
    "sıfır|bir|iki|üç|dört|beş|altı|yedi|sekiz|dokuz|on|yirmi|otuz|kırk|elli|altmış|yetmiş|seksen|"
    "doksan|yüz|bin|milyon|milyar|trilyon"
)


def _german_ordinal(match: RuleMatch, code: str) -> str:
    """Speak a German ordinal, declined by its article and noun."""
    word = _spell_number(int(match[2]), code, "ordinal")
    article = (match[1] or "").strip().lower()
    if article in ("der", "die", "das"):
        return f"{match[1]}{word}"
    if article:
        return f"{match[1]}{word}n"
    return word + ("s" if match[3] in ("Kapitel", "Jahrhundert", "Mal") else "r")


def _french_ordinal(match: RuleMatch, code: str) -> str | None:
    """Speak a French ordinal; None if its Roman numeral is malformed."""
    number = int(match[1]) if match[1].isdigit() else numbers.roman(match[1])
    if not number:
        return None
    ending = match[2]
    if number == 1:
        return "première" if ending.endswith("re") else "premier"
    if number == 2 and ending in ("nd", "nde"):
        return "second" + ending[2:]
    return _spell_number(number, code, "ordinal")


def _romance_ordinal(match: RuleMatch, code: str) -> str:
    """Speak a Spanish, Italian or Portuguese ordinal by its suffix."""
    word = _spell_number(int(match[1]), code, "ordinal")
    if match[2] == "er":
        return word.removesuffix("o")
    if match[2] == "ª":
        return re.sub(r"o\b", "a", word)
    return word


def _plain_ordinal(match: RuleMatch, code: str) -> str:
    return _spell_number(int(match[1]), code, "ordinal")


_GERMAN_NOUNS = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|"
    "Jahrhundert|Kapitel|Mal|Stock|Geburtstag|Tag|Klasse|Auflage|Weltkrieg|Band|Teil|Akt"
)
_ROMANCE = (r"(?<!\w)(\d{1,4})\.?(º|°(?!\s?[CF])|ª|er(?!\w))(?!\w)", _romance_ordinal)
_LANGUAGES = {
    "de": Language(
        "de", "Komma", "minus", ",", "Prozent", "bis", ("Euro", "Euro"), " Uhr", True,
        (rf"\b([Aa]m |[Dd]e[mnrs] |[Dd]ie |[Dd]as |[Vv]om |[Zz]u[mr] |[Ii]m )?(\d{{1,3}})\."
         rf"(?= ({_GERMAN_NOUNS}))", _german_ordinal),
    ),
    "fr": Language(
        "fr", "virgule", "moins", ",", "pour cent", "à", ("euro", "euros"), " heures", False,
        (r"\b(\d+|[IVX]+|[IVXLC]{2,})(er|re|ère|e|ème|ième|nde?)\b", _french_ordinal),
    ),
    "es": Language(
        "es", "coma", "menos", ",", "por ciento", "a", ("euro", "euros"), ordinal=_ROMANCE
    ),
    "it": Language(
        "it", "virgola", "meno", ",", "per cento", "a", ("euro", "euro"), ordinal=_ROMANCE
    ),
    "pt": Language(
        "pt", "vírgula", "menos", ",", "por cento", "a", ("euro", "euros"), ordinal=_ROMANCE
    ),
    "nl": Language(
        "nl", "komma", "min", ",", "procent", "tot", ("euro", "euro"), " uur", True,
        (r"\b(\d+)(?:e|de|ste)\b", _plain_ordinal),
    ),
    "sv": Language(
        "sv", "komma", "minus", ",", "procent", "till", ("euro", "euro"), says_centuries=True,
        ordinal=(r"\b(\d+):[ae]\b", _plain_ordinal),
    ),
    "no": Language(
        "no", "komma", "minus", ",", "prosent", "til", ("euro", "euro"), says_centuries=True
    ),
    "da": Language(
        "da", "komma", "minus", ",", "procent", "til", ("euro", "euro"), says_centuries=True
    ),
    "fi": Language("fi", "pilkku", "miinus"),
    "pl": Language("pl", "przecinek", "minus", range_word="do"),
    "cs": Language("cs", "celá", "mínus", range_word="až"),
    "sk": Language("sk", "celá", "mínus", range_word="až"),
    "sl": Language("sl", "celih", "minus", range_word="do"),
    "sr": Language("sr", "zapeta", "minus", range_word="do"),
    "ru": Language("ru", "запятая", "минус"),
    "uk": Language("uk", "кома", "мінус"),
    "be": Language("be", "коска", "мінус"),
    "lt": Language("lt", "kablelis", "minus"),
    "lv": Language("lv", "komats", "mīnus"),
    "ro": Language("ro", "virgulă", "minus", ",", "la sută", "până la", ("euro", "euro")),
    "hu": Language("hu", "egész", "mínusz", percent="százalék"),
    "tr": Language("tr", "virgül", "eksi"),
    "id": Language("id", "koma", "minus", percent="persen", range_word="sampai"),
    "vi": Language("vi", "phẩy", "âm", percent="phần trăm", range_word="đến"),
    "ca": Language("ca", "coma", "menys", ",", "per cent", "a", ("euro", "euros")),
    "eo": Language("eo", "komo", "minus", percent="procento", range_word="ĝis"),
    "is": Language("is", "komma", "mínus", percent="prósent"),
    "ar": Language("ar", "فاصلة", "سالب", "."),
    "fa": Language("fa", "ممیز", "منفی", "."),
    "he": Language("he", "נקודה", "מינוס", "."),
    "th": Language("th", "จุด", "ลบ", ".", "เปอร์เซ็นต์", "ถึง"),
}  # fmt: skip
_LANGUAGES["nb"] = _LANGUAGES["nn"] = _LANGUAGES["no"]
_REGIONS = {
    "pt-br": replace(_LANGUAGES["pt"], code="pt_BR"),
    "fr-be": replace(_LANGUAGES["fr"], code="fr_BE"),
    "fr-ch": replace(_LANGUAGES["fr"], code="fr_CH"),
    **{
        f"es-{region}": replace(_LANGUAGES["es"], decimal=".", decimal_word="punto")
        for region in "mx us gt hn ni pa pr do sv".split()
    },
}


@cache
def rules(tag: str) -> tuple[Group, ...]:
    """Return the rules of a language by its lower-case BCP 47 tag; none for an unknown language."""
    language = _REGIONS.get(tag) or _LANGUAGES.get(tag.split("-")[0])
    return () if language is None else _build_rules(language)


def _build_rules(spec: Language) -> tuple[Group, ...]:
    """Build the rules of a language."""
    code = spec.code
    group = "." if spec.decimal == "," else ","
    point = re.escape(spec.decimal)
    integer = rf"(?:[1-9]\d{{0,2}}(?:[{group} ]\d{{3}})+(?!\d)|\d+)"
    left_boundary = r"(?<![\w.,:/])"
    right_boundary = r"(?![\w/]|[-:'][^\W_]|[.,]\d)"  # no letter: "3-й", "10-jährig" are left alone

    def cardinal(text: str) -> str:
        return _spell_number(int(re.sub(r"\D", "", text)), code)

    def number(match: RuleMatch) -> str | None:
        """Speak a number with minus and decimals; None if it is long or begins with 0."""
        text = match["figure"]
        if len(text) > 15 or re.match(r"0\d", text):
            return None
        integer_part, _, fraction_part = text.partition(spec.decimal)
        if (
            spec.says_centuries
            and integer_part.isdecimal()
            and not fraction_part
            and 1100 <= int(integer_part) < 2000
        ):
            number_words = _year_words(int(integer_part), code)
        else:
            number_words = cardinal(integer_part)
        if fraction_part:
            number_words = " ".join(
                (number_words, spec.decimal_word, *(cardinal(digit) for digit in fraction_part))
            )
        return f"{spec.minus_word} {number_words}" if match["minus"] else number_words

    def money(match: RuleMatch) -> str | None:
        assert spec.euro is not None
        integer_part, _, fraction_part = (match["before"] or match["after"]).partition(spec.decimal)
        words = f"{cardinal(integer_part)} {spec.euro[0 if integer_part == '1' else 1]}"
        return f"{words} {cardinal(fraction_part)}" if fraction_part.strip("0") else words

    def time(match: RuleMatch) -> str | None:
        hour, minute = cardinal(match[1]), int(match[2] or 0)
        hour_words = f"{hour}{spec.clock or ''}"
        return f"{hour_words} {_spell_number(minute, code)}" if minute else hour_words

    def heading(match: RuleMatch) -> str | None:
        """Speak a Roman numeral that is a heading."""
        number_value = numbers.roman(match[1])
        return (
            _spell_number(number_value, code).capitalize()
            if match.heading and number_value
            else None
        )

    def division(match: RuleMatch) -> str | None:
        """Speak a Roman numeral after the name of a division."""
        number_value = numbers.roman(match[0])
        return (
            _spell_number(number_value, code)
            if number_value and _DIVISION.search(match.before)
            else None
        )

    table = []
    if spec.ordinal:
        pattern, words = spec.ordinal
        table.append(Rule("ordinal", pattern, lambda match: words(match, code)))
    if spec.euro:
        amount = rf"{integer}(?:{point}\d\d)?"
        euros = rf"€\s?(?P<before>{amount}){right_boundary}|{left_boundary}(?P<after>{amount})\s?€"
        table.append(Rule("money", euros, money))
    hour, minute = r"([01]?\d|2[0-4])", r"([0-5]\d)"
    if spec.clock == " heures":
        table.append(Rule("time", rf"{left_boundary}{hour}\s?h(?:\s?{minute})?\b", time))
    if spec.clock:
        hour_word = re.escape(spec.clock)
        table.append(Rule("time", rf"{left_boundary}{hour}[.:]{minute}{hour_word}\b", time))
    table.append(Rule("time", rf"{left_boundary}{hour}:{minute}{right_boundary}", time))
    figure = rf"(?P<figure>{integer}(?:{point}\d+)?)"
    minus = r"(?P<minus>(?<![\w)\].,%-])[-−])?"
    table.append(Rule("number", rf"{minus}{left_boundary}{figure}{right_boundary}", number))
    if spec.range_word:
        table.append(Rule("range", r"(?<=\d)\s?[–-]\s?(?=\d)", f" {spec.range_word} "))
    if spec.percent:
        table.append(Rule("percent", r"(?<=\d)\s?%", f" {spec.percent}"))
    return (
        Group(r"\d|\b[IVXLC]+(?:er|e|ème)\b", *table),
        Group(
            r"\b[IVXLC]+\b",
            Rule("roman", r"^\W*([IVXLC]+)(?=\W*$|[.:)])", heading),
            Rule("roman", r"(?<=\w )[IVXLC]+\b", division),
        ),
        Group(
            r"[^\W\d_a-z]{4}",
            Rule("capitals", r"[^\W\d_]{2,}", _unshout_capitals),
        ),
    )


def _year_words(number: int, code: str) -> str:
    if code == "sv":  # the library fails
        century, remainder = divmod(number, 100)
        hundreds = f"{_spell_number(century, code)}hundra"
        return f"{hundreds}{_spell_number(remainder, code)}" if remainder else hundreds
    return _spell_number(number, code, "year")


_DIVISION = re.compile(
    r"\b(?:Kapitel|Teil|Buch|Band|Akt|Szene|Chapitre|Partie|Livre|Tome|Acte|Scène|Capítulo|Parte"
    r"|Libro|Tomo|Acto|Capitolo|Volume|Atto|Livro|Ato|Hoofdstuk|Deel|Boek|Del|Bok|Bog|Kapittel|Luku"
    r"|Osa|Rozdział|Część|Księga|Kapitola|Část|Глава|Часть|Том|Книга|Розділ|Частина|Capitolul"
    r"|Partea|Fejezet|Bölüm) $",
    re.IGNORECASE,
)


def _unshout_capitals(match: RuleMatch) -> str | None:
    """Lower a word in capitals if it is emphasis: next to a longer such word, or long itself."""
    word = match[0]
    if not word.isupper() or word in SPELLED or numbers.roman(word):
        return None
    preceding = match.before
    context = f"{preceding[-16:]} {match.after[:16]}"
    is_beside_shouting = any(
        len(neighbour) > 3 and neighbour.isupper() and neighbour not in SPELLED
        for neighbour in re.findall(r"[^\W\d_]+", context)
    )
    if not (is_beside_shouting or len(word) > (3 if match.heading else 5)):
        return None
    opens_sentence = match.heading or not re.search(r"[\w,;:]\W*$", preceding)
    return word.capitalize() if opens_sentence else word.lower()
