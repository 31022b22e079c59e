"""English numbers in words. Pure arithmetic, without context or punctuation.

`british` puts "and" before the last two digits: one hundred and five, one hundred five.
"""

from __future__ import annotations

import re

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = (
    "- thousand million billion trillion quadrillion quintillion sextillion septillion octillion"
).split()
_LIMIT = 1000 ** len(_SCALES)
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def cardinal(number: int, *, british: bool) -> str:
    """Return `number` >= 0 in words; digit by digit if English has no word for its size."""
    if number >= _LIMIT:
        return digits(str(number))
    if number < 100:
        return _below_hundred(number)
    parts = []
    thousands = []
    remainder = number
    while remainder:
        remainder, thousand = divmod(remainder, 1000)
        thousands.append(thousand)
    for scale in range(len(thousands) - 1, -1, -1):
        thousand = thousands[scale]
        if not thousand:
            continue
        hundreds, below_hundred = divmod(thousand, 100)
        if hundreds:
            parts.append(f"{_ONES[hundreds]} hundred")
        if below_hundred:
            if british and (hundreds or (scale == 0 and parts)):
                parts.append("and")
            parts.append(_below_hundred(below_hundred))
        if scale:
            parts.append(_SCALES[scale])
    return " ".join(parts)


def _below_hundred(number: int) -> str:
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens]}-{_ONES[ones]}" if ones else _TENS[tens]


def ordinal(number: int, *, british: bool) -> str:
    """Return first, twenty-first, one hundred and fifth."""
    words = cardinal(number, british=british)
    last_word_start = max(words.rfind(" "), words.rfind("-")) + 1
    leading_words, last_word = words[:last_word_start], words[last_word_start:]
    if last_word in _ORDINALS:
        return leading_words + _ORDINALS[last_word]
    return leading_words + (
        f"{last_word[:-1]}ieth" if last_word.endswith("y") else f"{last_word}th"
    )


def digits(text: str, zero: str = "zero") -> str:
    """Return the names of the digits of `text`; other characters are skipped."""
    return " ".join(
        zero if character == "0" else _ONES[int(character)]
        for character in text
        if character.isdecimal()
    )


def decimal(text: str, *, british: bool) -> str:
    """Return a decimal in words.

    1,234.50: one thousand two hundred and thirty-four point five zero; .5: point five
    """
    integer, _, fraction = text.replace(",", "").partition(".")
    if not fraction:
        return cardinal(int(integer), british=british)
    integer_words = cardinal(int(integer), british=british) + " " if integer else ""
    return f"{integer_words}point {digits(fraction)}"


def year(number: int, *, british: bool) -> str:
    """Return a year in words.

    nineteen twenty, nineteen oh six, two thousand and five, twenty seventeen, ten sixty-six
    """
    century, remainder = divmod(number, 100)
    if number < 1000 or number >= 10000 or (number // 10) % 100 == 0:  # 1000s, 2000s, ...
        return cardinal(number, british=british)
    if remainder == 0:
        return f"{_below_hundred(century)} hundred"
    return f"{_below_hundred(century)} {pair(remainder)}"


def pair(number: int) -> str:
    """Return two digits of a year or of a time's minutes in words: oh five, forty."""
    return _below_hundred(number) if number >= 10 else f"oh {_ONES[number]}"


def plural(words: str) -> str:
    """Return twenties, nineties, hundreds, thousands, nineteen hundreds."""
    if words.endswith("y"):
        return f"{words[:-1]}ies"
    return f"{words}es" if words.endswith("x") else f"{words}s"


def label(text: str) -> str:
    """Return digits that name something: road 303 three oh three, flight 747 seven forty-seven."""
    if len(text) > 4 or (text.startswith("0") and text != "0"):
        return digits(text, "oh")
    number = int(text)
    if number < 100:
        return _below_hundred(number)
    high, low = divmod(number, 100)
    if not low:
        return cardinal(number, british=False)
    return f"{_below_hundred(high)} {pair(low)}"


_ROMAN = re.compile(
    r"(?=[MDCLXVI])M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})", re.IGNORECASE
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(text: str) -> int:
    """Return the value of a Roman numeral; 0 if it is not well-formed."""
    if not _ROMAN.fullmatch(text):
        return 0
    letter_values = [_ROMAN_VALUES[letter] for letter in text.upper()]
    following = [*letter_values[1:], 0]
    return sum(
        -letter_value if letter_value < next_value else letter_value
        for letter_value, next_value in zip(letter_values, following, strict=True)
    )
