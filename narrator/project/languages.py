"""Tags of languages (BCP 47): whether a text is one, and which was meant by one that is none.

Knows names of languages as people write them, not what engines speak.
"""

from __future__ import annotations

import re
import unicodedata

from narrator.characters import quoted
from narrator.errors import nearest

TAG = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"

_CALLED = {
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
"""Tag -> names in that language, in English and in others, and countries that are taken for
languages: without accents, in lower case."""

_LONG = (
    "ara ar ces cs cze cs cym cy wel cy dan da deu de ger de ell el gre el eng en spa es eus "
    "eu baq eu fin fi fra fr fre fr gle ga heb he hin hi hun hu ind id isl is ice is ita it "
    "jpn ja khm km kor ko lat la lao lo msa ms may ms mya my bur my nld nl dut nl nor no pol "
    "pl por pt ron ro rum ro rus ru swe sv swa sw tha th tgl tl tur tr ukr uk vie vi zho zh "
    "chi zh"
).split()
"""Codes of three letters (ISO 639-2), each with the one of two that tags have in its place."""
_SHORT = dict(zip(_LONG[::2], _LONG[1::2], strict=True))


_AROUND = " \"'“”„‘’«».,"


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(c for c in plain if not unicodedata.combining(c) or c > "\u0600")
    return re.sub(r"[\s_-]+", "-", kept.strip(_AROUND))


_MEANT = {_folded(name): tag for tag, names in _CALLED.items() for name in names.split()}


def called(name: str) -> str | None:
    """The tag of a language that is called so; None where none is."""
    return _MEANT.get(_folded(name))


def meant_by(text: str) -> str | None:
    """The tag that was meant by a text that is none, or that no language has; None where it is one,
    or where nothing is known of it."""
    if tag := called(text):
        return tag
    folded = _folded(text)
    plain = re.sub(r"[\s_]+", "-", text.strip(_AROUND))
    if re.fullmatch(TAG, plain):
        code, *parts = plain.split("-")
        known = _MEANT.get(code.lower(), code).partition("-")[0]
        whole = "-".join([known, *map(_as_usual, parts)])
        return None if whole.lower() == text.lower() else whole
    first, _, region = folded.partition("-")
    if first in _MEANT:  # "English (UK)"
        base, region = _MEANT[first].partition("-")[0], region.strip("()")
        region = {"uk": "GB", "usa": "US"}.get(region, region.upper())
        return f"{base}-{region}" if re.fullmatch(r"[A-Z]{2}", region) else base
    guess = nearest(folded, list(_MEANT)) if len(folded) > 3 else None
    return _MEANT[guess] if guess else None


def mended(text: str) -> str:
    """A tag that a manifest takes, of one that a book was published with, as far as it is known."""
    try:
        return checked(text)
    except ValueError:
        return meant_by(text) or text


def _as_usual(part: str) -> str:
    """A region in capitals, a script with one."""
    return part.upper() if len(part) == 2 else part.title() if len(part) == 4 else part


def checked(text: str) -> str:
    """A tag of a language, of two letters where it has such. Raises ValueError in words for what is
    none."""
    if re.fullmatch(TAG, text):
        code, dash, rest = text.partition("-")
        if code.lower() in _SHORT:
            return _SHORT[code.lower()] + dash + rest
    meant = meant_by(text)
    if meant is None and re.fullmatch(TAG, text):
        return text
    hint = f"did you mean '{meant}'?" if meant else "write en, en-GB or de"
    raise ValueError(f"'{quoted(text)}' is no tag of a language; {hint}")
