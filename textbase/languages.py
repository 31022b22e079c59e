"""Language tags (BCP 47): validates them, and guesses which one a text was meant to be.

Knows names of languages as people write them, not the languages of engines.
"""

from __future__ import annotations

import re
import unicodedata

from textbase.characters import excerpt
from textbase.errors import nearest

TAG = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"

_LANGUAGE_NAMES = {
    "ar": "arabic arabisch arabe العربية",
    "cs": "czech cestina tschechisch tcheque cz",
    "cy": "welsh cymraeg",
    "da": "danish dansk danisch danois dk",
    "de": "german deutsch allemand aleman tedesco",
    "el": "greek modern-greek ελληνικα griechisch grec gr",
    "en": "english englisch anglais ingles inglese engl uk-english",
    "en-GB": "british british-english england gb",
    "en-US": "american american-english us usa",
    "eo": "esperanto",
    "es": "spanish castilian espanol castellano spanisch espagnol spagnolo esp",
    "eu": "basque euskara",
    "fi": "finnish suomi finnisch finnois",
    "fr": "french francais franzosisch frances francese",
    "ga": "irish gaeilge",
    "he": "hebrew עברית hebraisch",
    "hi": "hindi हिन्दी",
    "hu": "hungarian magyar ungarisch",
    "id": "indonesian bahasa-indonesia indonesisch",
    "is": "icelandic islenska",
    "it": "italian italiano italienisch italien",
    "ja": "japanese 日本語 japanisch japonais jp",
    "km": "khmer cambodian",
    "ko": "korean 한국어 koreanisch coreen",
    "la": "latin latein",
    "lo": "lao laotian",
    "ms": "malay bahasa-melayu melayu",
    "my": "burmese myanmar",
    "nl": "dutch nederlands flemish niederlandisch",
    "no": "norwegian norsk norwegisch bokmal",
    "pl": "polish polski polnisch polonais",
    "pt": "portuguese portugues portugiesisch",
    "pt-BR": "brazilian brazilian-portuguese",
    "ro": "romanian romana rumanisch",
    "ru": "russian русский russisch russe",
    "sv": "swedish svenska schwedisch",
    "sw": "swahili kiswahili",
    "th": "thai ไทย",
    "tl": "tagalog filipino",
    "tr": "turkish turkce turkisch",
    "uk": "ukrainian українська ua",
    "vi": "vietnamese tieng-viet",
    "zh": "chinese mandarin 中文 chinesisch chinois cn",
}
"""Tag -> names of the language in itself, in English and in other languages, and names of countries
that are often used instead: without accents, in lower case."""

_THREE_LETTER_CODES = (
    "ara ar ces cs cze cs cym cy wel cy dan da deu de ger de ell el gre el eng en spa es eus "
    "eu baq eu fin fi fra fr fre fr gle ga heb he hin hi hun hu ind id isl is ice is ita it "
    "jpn ja khm km kor ko lat la lao lo msa ms may ms mya my bur my nld nl dut nl nor no pol "
    "pl por pt ron ro rum ro rus ru swe sv swa sw tha th tgl tl tur tr ukr uk vie vi zho zh "
    "chi zh"
).split()
"""Three-letter codes (ISO 639-2), each followed by the two-letter code that tags use instead."""
_TWO_LETTER_CODES = dict(zip(_THREE_LETTER_CODES[::2], _THREE_LETTER_CODES[1::2], strict=True))


def primary(tag: str) -> str:
    """Returns the language of a tag, without region and script."""
    return re.split("[-_]", tag.lower(), maxsplit=1)[0]


_SURROUNDING_MARKS = " \"'“”„‘’«».,"


def _normalize_name(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.casefold())
    unaccented = "".join(
        character
        for character in plain
        if not unicodedata.combining(character) or character > "\u0600"
    )
    return re.sub(r"[\s_-]+", "-", unaccented.strip(_SURROUNDING_MARKS))


_TAG_BY_NAME = {
    _normalize_name(name): tag for tag, names in _LANGUAGE_NAMES.items() for name in names.split()
}


def tag_of_language(name: str) -> str | None:
    """The tag of the language with this name, or None."""
    return _TAG_BY_NAME.get(_normalize_name(name))


def guess_tag(text: str) -> str | None:
    """The tag that was probably meant by an invalid one; None if it is valid, or no guess is
    possible."""
    if tag := tag_of_language(text):
        return tag
    folded = _normalize_name(text)
    plain = re.sub(r"[\s_]+", "-", text.strip(_SURROUNDING_MARKS))
    if re.fullmatch(TAG, plain):
        code, *parts = plain.split("-")
        language_code = _TAG_BY_NAME.get(code.lower(), code).partition("-")[0]
        full_tag = "-".join([language_code, *map(_with_usual_case, parts)])
        return None if full_tag.lower() == text.lower() else full_tag
    first, _, region = folded.partition("-")
    if first in _TAG_BY_NAME:  # "English (UK)"
        base, region = _TAG_BY_NAME[first].partition("-")[0], region.strip("()")
        region = {"uk": "GB", "usa": "US"}.get(region, region.upper())
        return f"{base}-{region}" if re.fullmatch(r"[A-Z]{2}", region) else base
    guess = nearest(folded, list(_TAG_BY_NAME)) if len(folded) > 3 else None
    return _TAG_BY_NAME[guess] if guess else None


def mend_tag(text: str) -> str:
    """The valid form of a tag from elsewhere, as far as it can be guessed."""
    try:
        return validate_tag(text)
    except ValueError:
        return guess_tag(text) or text


def _with_usual_case(part: str) -> str:
    """A part of a tag in its usual case: regions in capitals, scripts with one."""
    return part.upper() if len(part) == 2 else part.title() if len(part) == 4 else part


def validate_tag(text: str) -> str:
    """A valid tag, with a two-letter language code where there is one.

    Raises ValueError with a message for people.
    """
    if re.fullmatch(TAG, text):
        code, separator, suffix = text.partition("-")
        if code.lower() in _TWO_LETTER_CODES:
            return _TWO_LETTER_CODES[code.lower()] + separator + suffix
    intended_tag = guess_tag(text)
    if intended_tag is None and re.fullmatch(TAG, text):
        return text
    hint = f"did you mean '{intended_tag}'?" if intended_tag else "write en, en-GB or de"
    raise ValueError(f"'{excerpt(text)}' is no tag of a language; {hint}")
