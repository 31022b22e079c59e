"""Decodes text files: guesses the encoding from what the text looks like in it.

UTF-8 and UTF-16 identify themselves. Of older encodings, the one is chosen in which letters fit the
language of the text; for a book that is unambiguous. (charset-normalizer 3.5 reads German in
Latin-1 as HP Roman-8 and Spanish in Macintosh as Windows-1257, even in long texts.)
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from manuscripts.errors import ImportFailed
from textbase.recognise import language_of
from textbase.word_lists import read_word_lists

_WIDE_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EAST_ENCODINGS = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_WEST_ENCODINGS = (
    "cp1252", "mac-roman", "cp850", "cp437", "cp1250", "iso8859-2", "mac-latin2", "cp852", "cp1254",
    "cp1257", "cp1258", "cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5", "mac-cyrillic",
    "cp1253", "iso8859-7", "mac-greek", "cp1255", "cp1256", "cp874",
)  # fmt: skip
_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))
_ENCODING_NAMES = _LISTS.table("names")
_LETTERS_BY_LANGUAGE = _LISTS.table("letters")
_COMMON_LETTERS = frozenset("оеаинтсрвлкмдпуαεηιοτσνρκλπάέίό")
"""Commonest letters of alphabets without ASCII."""
_TYPOGRAPHIC_CHARACTERS = frozenset("“”‘’„‚«»‹›–—…·¿¡°§£€©®™½¼¾ªº×†•№΄ \xa0\xad")
_COMMON_HAN = frozenset("".join(_LISTS.words("common han")))

_MIN_SCORE = 0.5
"""Share of non-ASCII characters that must fit the language."""
_SAMPLE_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded text."""

    text: str
    remark: str | None
    """Remark for people if the encoding had to be guessed."""


class NoText(ValueError):
    """Raised for bytes that are not text; the message says why."""


def decode(data: bytes, encoding: str | None = None) -> Decoded:
    """Decodes a file's bytes in a named encoding or in the one that fits best.

    Raises NoText, and ImportFailed for an unknown encoding.
    """
    if encoding is not None:
        return _decode_as(data, encoding)
    wide_encodings = (name for mark, name in _WIDE_BYTE_ORDER_MARKS if data.startswith(mark))
    if wide_encoding := next(wide_encodings, None):
        return _decode_wide(data, wide_encoding)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _decode_without_bom(data)
    return Decoded(text, None) if "\0" not in text else _decode_without_bom(data)


def _decode_as(data: bytes, encoding: str) -> Decoded:
    """Decodes text in the encoding that a user names. Raises NoText, ImportFailed."""
    try:
        codecs.lookup(encoding)
        return Decoded(data.decode(encoding).removeprefix("\ufeff"), None)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line}: byte 0x{data[error.start]:02X} is not valid {encoding}"
        raise NoText(f"{message}; name another --encoding") from None
    except (UnicodeError, ValueError, AssertionError) as error:
        raise NoText(f"cannot be read as {encoding}: {error}") from None
    except LookupError:
        message = f"--encoding {encoding}: no such encoding; for example utf-8, cp1252, gb18030"
        raise ImportFailed(message) from None


def _decode_wide(content: bytes, encoding: str, is_guess: bool = False) -> Decoded:
    """Decodes text of two or four bytes a character; `is_guess` without a byte order mark.

    Raises NoText.
    """
    binary_error = NoText("no text: it holds zero bytes. Save it as UTF-8, or import the EPUB")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if is_guess:
            raise binary_error from None
        raise NoText(f"broken {encoding.upper()} at byte {error.start}; save it as UTF-8") from None
    if "\0" in text or (is_guess and _usual_share(content, encoding) < _MIN_SCORE / 2):
        raise binary_error
    return Decoded(text, f"It is {_ENCODING_NAMES[encoding]}; it was read as such.")


def _decode_without_bom(content: bytes) -> Decoded:
    if b"\0" in content:
        encoding = max(("utf-16-le", "utf-16-be"), key=lambda name: _usual_share(content, name))
        return _decode_wide(content, encoding, is_guess=True)
    if decoded := _decode_nearly_utf_8(content):
        return decoded
    encoding, score = _best_encoding(content)
    text = content.decode(encoding, "replace")
    encoding_name = _ENCODING_NAMES.get(encoding, encoding)
    if score >= _MIN_SCORE:
        return Decoded(
            text, f"It is not UTF-8; it was read as {encoding_name}. --encoding says otherwise."
        )
    if sum(c < 32 and c not in b"\t\n\r\f\v\x1a" for c in content) * 20 > len(content):
        raise NoText("no text: too much of it is control characters. Import the EPUB")
    remark = f"It is not UTF-8, and its encoding is unclear: it was read as {encoding_name}."
    return Decoded(text, f"{remark} Look at its accents; --encoding names another.")


def _usual_share(content: bytes, encoding: str) -> float:
    """Returns the share of decoded characters that are usual in texts."""
    text = content[:_SAMPLE_BYTES].decode(encoding, "replace")
    scripts = (unicodedata.name(c, "").partition(" ")[0] for c in text if c > "\x7f")
    known_count = sum(
        name in ("CYRILLIC", "GREEK", "HANGUL", "HIRAGANA", "LATIN") for name in scripts
    )
    return (sum(c in _COMMON_HAN or "\t" <= c <= "~" for c in text) + known_count) / len(text)


_UTF_8_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_NON_ASCII_BYTE = re.compile(rb"[\x80-\xff]")


def _decode_nearly_utf_8(content: bytes) -> Decoded | None:
    """Decodes UTF-8 that contains a few bytes of an older encoding, as editors leave it."""
    valid_count = len(_UTF_8_SEQUENCE.findall(content))
    invalid_count = len(_NON_ASCII_BYTE.findall(_UTF_8_SEQUENCE.sub(b"", content)))
    if not valid_count or 20 * invalid_count > valid_count:
        return None
    codecs.register_error("narrator.cp1252", _decode_error_as_cp1252)
    text = content.decode("utf-8-sig", "narrator.cp1252")
    bytes_are = "bytes are" if invalid_count > 1 else "byte is"
    remark = f"{invalid_count} {bytes_are} not UTF-8; read as Windows-1252."
    return Decoded(text, remark)


def _decode_error_as_cp1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


def _best_encoding(content: bytes) -> tuple[str, float]:
    """Returns the likeliest older encoding and its score; 1 is a perfect fit."""
    sample = content[:_SAMPLE_BYTES]
    if len(content) > _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    scores: list[tuple[float, int, str]] = []
    for rank, encoding in enumerate((*_EAST_ENCODINGS, *_WEST_ENCODINGS)):
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        score_text = _east_score if encoding in _EAST_ENCODINGS else _west_score
        scores.append((score_text(text), -rank, encoding))
    if not scores:
        return "cp1252", 0.0
    score, _, encoding = max(scores)
    return encoding, score


def _east_score(text: str) -> float:
    """Returns how well a text fits Chinese, Japanese or Korean, up to 1."""
    non_ascii = [c for c in text if c > "\x7f"]
    scripts = [unicodedata.name(c, "").partition(" ")[0] for c in non_ascii]
    cjk_count = scripts.count("CJK") + scripts.count("HIRAGANA") + scripts.count("KATAKANA")
    hangul_count = scripts.count("HANGUL")
    if not cjk_count + hangul_count:
        return 0.0
    hiragana_count = scripts.count("HIRAGANA")
    common_count = sum(c in _COMMON_HAN for c in non_ascii)
    stray_count = len(re.findall(r"[a-z][\u4e00-\u9fff\uac00-\ud7a3]|[\u4e00-\u9fff][a-z]", text))
    odd_count = sum(name in ("", "CYRILLIC", "HALFWIDTH", "BOX", "BOPOMOFO") for name in scripts)
    # common characters are nearly half of a Chinese text
    score = 2.2 * common_count / (cjk_count + hangul_count)
    if 10 * hiragana_count > cjk_count:
        score = 0.6 + min(0.4, common_count / max(1, scripts.count("CJK")))
    if hangul_count > cjk_count:
        score = 1 - 2 * cjk_count / (cjk_count + hangul_count)
    return min(score, 1.0) - 2 * (stray_count + odd_count) / len(non_ascii)


def _west_score(text: str) -> float:
    """Returns how well the non-ASCII letters fit the text's language, up to 1."""
    language = language_of(text)
    language_letters = frozenset(_LETTERS_BY_LANGUAGE.get(language or "", ""))
    character_count, total_score = 0, 0.0
    for match in re.finditer(r"[^\x00-\x7f]", text):
        character = match[0]
        previous_character = text[match.start() - 1 : match.start()]
        next_character = text[match.end() : match.end() + 1]
        character_count += 1
        total_score += _character_score(
            character, previous_character, next_character, language_letters
        )
    return total_score / character_count if character_count else 1.0


def _character_score(
    character: str, previous_character: str, next_character: str, language_letters: frozenset[str]
) -> float:
    """Returns 1 for a character that fits its neighbours and the language, less for others, down to
    -1."""
    if character in _TYPOGRAPHIC_CHARACTERS:
        is_inside_word = previous_character.isalpha() and next_character.isalpha()
        return -1.0 if is_inside_word and character not in "’—–·\xa0\xad…" else 1.0
    is_latin = unicodedata.name(character, "").startswith("LATIN")
    if not _fits_neighbours(character, previous_character, next_character, is_latin):
        return -1.0
    lower = character.lower()
    if not language_letters:
        return 0.4 if is_latin or lower in _COMMON_LETTERS else 0.7
    is_rare = character > "\u036f" and lower not in _COMMON_LETTERS and lower < "\u1e00"
    return 0.0 if lower not in language_letters else 0.6 if is_rare else 1.0


def _fits_neighbours(
    character: str, previous_character: str, next_character: str, is_latin: bool
) -> bool:
    """Returns whether a character is a letter that fits its neighbours: no capital inside a word,
    no mixed alphabets."""
    if not character.isalpha() and not unicodedata.category(character).startswith("M"):
        return False
    is_mixed = not is_latin and any(
        neighbour.isascii() and neighbour.isalpha()
        for neighbour in (previous_character, next_character)
    )
    return not is_mixed and not (character.isupper() and previous_character.islower())
