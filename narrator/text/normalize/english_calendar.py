"""Dates, years and times of English."""

from __future__ import annotations

import re

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    BIBLE_BOOKS,
    BIBLE_BOOKS_SHORT,
    BOOK_NUMBERS,
    COUNTED,
    DAYS,
    MONTH_SHORT,
    MONTHS,
    NOT_NOUNS,
    UNITS,
    YEAR_VERBS,
)
from narrator.text.normalize.english_match import EnglishMatch
from narrator.text.normalize.english_parts import OPENS
from narrator.text.normalize.rules import alternatives

YEAR = r"(?:1\d{3}|20\d\d)"


# Dates -------------------------------------------------------------------------------------------


def _month(text: str) -> str:
    text = text.rstrip(".").capitalize()
    return MONTHS[MONTH_SHORT[text] - 1] if text in MONTH_SHORT else text


def _weekday(text: str) -> str:
    text = text.rstrip(".").capitalize()
    return DAYS.get(text, text)


def day_month(match: EnglishMatch) -> str | None:
    """Speak a date with the day first: 12 March 1920; 12-14 March."""
    day, first_day = int(match["day"]), match["from"]
    if not 1 <= day <= 31:
        return None
    article = "" if re.search(r"\b[Tt]he\s$", match.before) else "the "
    date_words = f"{article}{match.ordinal(day)} of {_month(match['month'])}"
    if first_day:
        start = match.ordinal(first_day)
        date_words = f"{article}{start} to the {date_words.removeprefix(article)}"
    year = match["year"] or match.get("short").replace("-", "19")
    return f"{date_words} {match.year(year)}" if year else date_words


_COUNT_FOLLOWS = re.compile(r"\s?(?:%|(?:years?|percent|miles?|times|men|people)\b)", re.IGNORECASE)


def month_day(match: EnglishMatch) -> str | None:
    """Speak a date with the month first: March 3rd, 1920."""
    day, last_day = int(match["day"]), match["upto"]
    if not 1 <= day <= 31 or _COUNT_FOLLOWS.match(match.after):
        return None
    article = "the " if match.british else ""
    date_words = f"{_month(match['month'])} {article}{match.ordinal(day)}"
    if last_day:
        date_words += f" to {article}{match.ordinal(last_day)}"
    return f"{date_words}, {match.year(match['year'])}" if match["year"] else date_words


def _date(match: EnglishMatch, day: int, month: int, year: int | None = None) -> str | None:
    """Speak a date in the order of the language; None if day or month is out of range."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    name, year_words = MONTHS[month - 1], "" if year is None else match.year(year)
    if match.british:
        return f"the {match.ordinal(day)} of {name} {year_words}".rstrip()
    return f"{name} {match.ordinal(day)}, {year_words}".rstrip(", ")


def numeric_date(match: EnglishMatch) -> str | None:
    """Speak 12/03/2020, in the order of the language unless only the other is possible."""
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    if len(match[4]) == 2:
        year += 1900 if year > 30 else 2000
    day, month = (first, second) if match.british else (second, first)
    return _date(match, day, month, year) or _date(match, month, day, year)


def iso(match: EnglishMatch) -> str | None:
    """Speak an ISO date: 2017-12-11, 2017/12/11T10:30Z."""
    date_words = _date(match, int(match[4]), int(match[3]), int(match[1]))
    if date_words is None or not match["hour"]:
        return date_words
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 23 or minute > 59:
        return None
    return f"{date_words} at {_clock(match, hour, minute)}{' U.T.C' if match['zone'] else ''}"


def iso_month(match: EnglishMatch) -> str | None:
    """Speak 2017-12 as a month, if it cannot be a span of years."""
    month, year = int(match[2]), int(match[1])
    can_be_month = 1 <= month <= min(12, year % 100)
    return f"{MONTHS[month - 1]} {match.year(year)}" if can_be_month else None


def on_day(match: EnglishMatch) -> str | None:
    """Speak "on 12/25" as day and month, in the order of the language."""
    first, second = int(match[1]), int(match[2])
    if match[0] == "9/11":  # said alike everywhere
        return None
    return _date(match, first, second) if match.british else _date(match, second, first)


# Years -------------------------------------------------------------------------------------------

_YEAR_CUE = re.compile(
    r"\b(?:in|since|by|until|till|from|before|after|during|year|circa|around|about|of|to|late|early"
    rf"|summer|winter|spring|autumn|fall|{'|'.join(MONTHS)}),?\s$",
    re.IGNORECASE,
)
_LABEL_CUE = re.compile(
    r"(?:\b(?:no\.|number|page|pp?\.|line|room|over|than)|#)\s?$", re.IGNORECASE
)
_NEXT_WORD = re.compile(r"[\s-]([a-z]+)")
_OBJECT_FOLLOWS = re.compile(
    r"\s[a-z]+s\s(?:the|an?|him|her|us|them|me|it|its|his|their|everything|nothing)\b"
)


def bare_year(match: EnglishMatch) -> str | None:
    """Speak four figures without a comma as a year, unless they count or number something."""
    next_word = _NEXT_WORD.match(match.after)
    word = next_word[1] if next_word else ""
    if word == "or" and not re.match(r" or (?:more|so|less|fewer)\b", match.after):
        word = ""
    if word in COUNTED or word in UNITS or _LABEL_CUE.search(match.before):
        return None
    is_plural = len(word) > 3 and word.endswith("s") and word not in NOT_NOUNS
    if is_plural and not _YEAR_CUE.search(match.before):
        # "1500 soldiers fell", "1914 dawns bright": nobody begins a sentence with a plain number
        is_verb = word in YEAR_VERBS or _OBJECT_FOLLOWS.match(match.after)
        if not (is_verb and OPENS.search(match.before)):
            return None
    return match.year(match[0])


def years(match: EnglishMatch) -> str | None:
    """Speak a span of years: 1914-18."""
    first, second = match[1], match[2]
    last = int(first[: 4 - len(second)] + second)
    if last <= int(first):
        return None
    last_year_words = numbers.pair(last % 100) if len(second) < 4 else match.year(last)
    return f"{match.year(first)} to {last_year_words}"


def _old_year(match: EnglishMatch, year: int) -> str:
    if 100 < year < 1000 and year % 100:
        return f"{match.cardinal(year // 100)} {numbers.pair(year % 100)}"
    return match.year(year)


def era(match: EnglishMatch) -> str:
    """Speak a year with its era: 44 BC, AD 79."""
    letters = ".".join((match["era"] or match["first"]).replace(".", ""))
    year = int(match["year"] or match["only"])
    year_words = _old_year(match, year)
    if match["from"]:
        year_words = f"{_old_year(match, int(match['from']))} to {year_words}"
    if match["upto"]:
        year_words += f" to {match.cardinal(match['upto'])}"
    return f"{letters} {year_words}" if match["first"] else f"{year_words} {letters}"


_AGE_CUE = re.compile(
    r"\b(?:the|early|late|mid|his|her|their|my|your|our|its)[\s-](?:(?:early|late|mid)[\s-])?'?$",
    re.IGNORECASE,
)
_OTHER_DECADE = re.compile(r"\d0'?s(?:,| and| or| to|[-–])? ?$")


def decade(match: EnglishMatch) -> str | None:
    """Speak decades, ages and round numbers in the plural: 1920s, '90s, his 40s; 100s and 1000s."""
    figures, possessive, preceding = match[2], "'" in match[3], match.before
    number = int(figures)
    if len(figures) == 4:
        if possessive and number % 10:
            return f"{match.year(number)}'s"
        is_count = number % 1000 == 0 and number != 2000
        return numbers.plural(match.cardinal(number) if is_count else match.year(number))
    if len(figures) == 3 or number % 10 or not number:
        return "hundreds" if number == 100 else None
    is_decade = match[1] or possessive or _AGE_CUE.search(preceding)
    is_decade = is_decade or _OTHER_DECADE.search(preceding)
    return numbers.plural(match.cardinal(number)) if is_decade else None


# Times -------------------------------------------------------------------------------------------


def _hour_words(match: EnglishMatch, hour: int, minute: int) -> str:
    """Return "six" or "six thirty"."""
    return match.cardinal(hour) + (f" {numbers.pair(minute)}" if minute else "")


def _clock(match: EnglishMatch, hour: int, minute: int, half_day: str = "") -> str:
    """Speak a time of day; `half_day` is "a" or "p" for a.m. and p.m."""
    words = _hour_words(match, hour, minute)
    if half_day:
        return f"{words} {half_day.lower()}.m"
    if minute:
        return words
    return "midnight" if hour == 0 else f"{words} o'clock" if hour <= 12 else f"{words} hundred"


def time(match: EnglishMatch) -> str | None:
    """Speak a time, with seconds, a.m. or p.m. if given; None after hour 23."""
    hour, minute, second = int(match["hour"]), int(match.get("minute") or 0), match.get("second")
    if hour > 23:
        return None
    if second:
        words = f"{_hour_words(match, hour, minute)} {numbers.pair(int(second))}"
        return f"{words} {match['half'].lower()}.m" if match["half"] else words
    return _clock(match, hour, minute, match.get("half"))


def times(match: EnglishMatch) -> str:
    """Speak a span of times: 6-8 p.m., 10.30-11.15 a.m."""
    start = _hour_words(match, int(match["hour"]), int(match["minute"] or 0))
    end = _clock(match, int(match["hour2"]), int(match["minute2"] or 0), match["half"])
    return f"{start} to {end}"


def time_at_the_end(match: EnglishMatch) -> str | None:
    """Speak "at 23.45." and the British "at 3.45.", but not "closed at 23.45."."""
    is_price = re.search(
        r"\b(?:closed?|trad\w+|end(?:ed)?|priced|stands?|stood|rose|fell|opened|valued) at $",
        match.before,
    )
    is_time = int(match["hour"]) > 12 or match.british
    return time(match) if is_time and not is_price else None


def british_time(match: EnglishMatch) -> str | None:
    """Speak a British time without a.m. or p.m.: We took the 5.20."""
    return time(match) if match.british else None


_BOOK_NAME = alternatives([*BIBLE_BOOKS, *BIBLE_BOOKS_SHORT])
_BOOK = re.compile(
    rf"\b(?:{_BOOK_NAME})\.? (?:\d{{1,3}}:\d{{1,3}}(?:[-–]\d{{1,3}})?(?:[;,] | and )){{0,3}}$"
)


def verse(match: EnglishMatch) -> str | None:
    """Speak a Bible verse: John 3:7; Genesis 1:1-2:3."""
    if not _BOOK.search(match.before[-60:]):
        return None
    figures = [match.cardinal(part) for part in match.match.groups() if part]
    joint = ", " if int(match[2]) > 99 else " "
    return " to ".join(
        joint.join(figures[index : index + 2]) for index in range(0, len(figures), 2)
    )


def roman_verse(match: EnglishMatch) -> str | None:
    """Speak Matt. v. 3, 1 Cor. xiii. 4."""
    chapter = numbers.roman(match[3])
    if not chapter:
        return None
    book = BIBLE_BOOKS_SHORT.get(match[2], match[2])
    book = f"{BOOK_NUMBERS[match[1]]} {book}" if match[1] else book
    return f"{book} {match.cardinal(chapter)} {match.cardinal(match[4])}"


_HOUR_CUE = re.compile(
    r"\b(?:at|by|until|till|from|to|since|before|after|between|and|around)\s$", re.IGNORECASE
)


def military(match: EnglishMatch) -> str | None:
    """Speak 0800 hours; None for a count of hours."""
    hour, minute = int(match[1]), int(match[2])
    if hour > 9 and not minute and match[0][2] != ":" and not _HOUR_CUE.search(match.before):
        return None
    hour_words = numbers.pair(hour) if hour else "zero"
    return f"{hour_words} {numbers.pair(minute) if minute else 'hundred'} hours"


def zulu(match: EnglishMatch) -> str:
    hour, minute = numbers.pair(int(match[1])), int(match[2])
    return f"{hour} {numbers.pair(minute) if minute else 'hundred'} Zulu"


def days(match: EnglishMatch) -> str:
    return f"{_weekday(match[1])} to {_weekday(match[2])}"


def months(match: EnglishMatch) -> str | None:
    if match[0] == "May-December":  # a romance
        return None
    return f"{_month(match[1])} to {_month(match[2])}"


def weekday_name(match: EnglishMatch) -> str:
    return _weekday(match[1])


def month_name(match: EnglishMatch) -> str:
    return _month(match[1])


def book(match: EnglishMatch) -> str:
    """Speak the short name of a book of the Bible."""
    return BIBLE_BOOKS_SHORT[next(filter(None, match.match.groups()))]
