"""Dates, years and times of English."""

from __future__ import annotations

import re

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    BIBLE_BOOKS,
    BIBLE_BOOKS_SHORT,
    COUNTED,
    DAYS,
    MONTH_SHORT,
    MONTHS,
    NOT_NOUNS,
    UNITS,
    YEAR_VERBS,
)
from narrator.text.normalize.english_parts import DOT, FREE, OPENS, TO
from narrator.text.normalize.rules import (
    Group,
    Match,
    Rule,
    Setting,
    alternatives,
    preceded_by,
    say_always,
    text_after,
    text_before,
)

_AMBIGUOUS_MONTHS = ("may", "march", "mar", "sep", "jun", "dec")
"""In lower case they are months only with a day and a year, or an ordinal."""
_FULL_NAMES = [*MONTHS, *map(str.upper, MONTHS)]
_SHORT_NAMES = [*MONTH_SHORT, *map(str.upper, MONTH_SHORT)]
_MONTH = rf"(?:{alternatives(_FULL_NAMES)})\b|(?:{alternatives(_SHORT_NAMES)})\b\.?"
_LOWER_MONTHS = alternatives(
    {word.lower() for word in (*MONTHS, *MONTH_SHORT)} - {*_AMBIGUOUS_MONTHS}
)
_LOWER_AMBIGUOUS_MONTHS = alternatives(_AMBIGUOUS_MONTHS)
_ANY_MONTH = rf"{_MONTH}|(?:{_LOWER_MONTHS})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
YEAR = r"(?:1\d{3}|20\d\d)"


def _ordinal_words(number: int, setting: Setting) -> str:
    return numbers.ordinal(number, british=setting.british)


def _year_words(number: int, setting: Setting) -> str:
    return numbers.year(number, british=setting.british)


# Dates -------------------------------------------------------------------------------------------


def _month(text: str) -> str:
    text = text.rstrip(".").capitalize()
    return MONTHS[MONTH_SHORT[text] - 1] if text in MONTH_SHORT else text


def _weekday(text: str) -> str:
    text = text.rstrip(".").capitalize()
    return DAYS.get(text, text)


def _day_month(match: Match, setting: Setting) -> str | None:
    """Speak a date with the day first: 12 March 1920; 12-14 March."""
    day, first_day = int(match["day"]), match["from"]
    if not 1 <= day <= 31:
        return None
    article = "" if re.search(r"\b[Tt]he\s$", text_before(match)) else "the "
    date_words = f"{article}{_ordinal_words(day, setting)} of {_month(match['month'])}"
    if first_day:
        start = _ordinal_words(int(first_day), setting)
        date_words = f"{article}{start} to the {date_words.removeprefix(article)}"
    return (
        f"{date_words} {_year_words(int(match['year']), setting)}" if match["year"] else date_words
    )


_COUNT_FOLLOWS = re.compile(r"\s?(?:%|(?:years?|percent|miles?|times|men|people)\b)", re.IGNORECASE)


def _month_day(match: Match, setting: Setting) -> str | None:
    """Speak a date with the month first: March 3rd, 1920."""
    day, last_day = int(match["day"]), match["upto"]
    if not 1 <= day <= 31 or _COUNT_FOLLOWS.match(text_after(match)):
        return None
    article = "the " if setting.british else ""
    date_words = f"{_month(match['month'])} {article}{_ordinal_words(day, setting)}"
    if last_day:
        date_words += f" to {article}{_ordinal_words(int(last_day), setting)}"
    return (
        f"{date_words}, {_year_words(int(match['year']), setting)}" if match["year"] else date_words
    )


def _date(day: int, month: int, year: int, setting: Setting) -> str | None:
    """Speak a date; None if day or month is out of range."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    name = MONTHS[month - 1]
    if setting.british:
        return f"the {_ordinal_words(day, setting)} of {name} {_year_words(year, setting)}"
    return f"{name} {_ordinal_words(day, setting)}, {_year_words(year, setting)}"


def _numeric_date(match: Match, setting: Setting) -> str | None:
    """Speak 12/03/2020, in the order of the language unless only the other is possible."""
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    if len(match[4]) == 2:
        year += 1900 if year > 50 else 2000
    day, month = (first, second) if setting.british else (second, first)
    return _date(day, month, year, setting) or _date(month, day, year, setting)


def _iso(match: Match, setting: Setting) -> str | None:
    """Speak an ISO date: 2017-12-11, 2017/12/11T10:30Z."""
    date_words = _date(int(match[4]), int(match[3]), int(match[1]), setting)
    if date_words is None or match["hour"] is None:
        return date_words
    hour, minute = int(match["hour"]), int(match["minute"])
    zone = " U.T.C" if match["zone"] else ""
    return (
        f"{date_words} at {_clock(hour, minute, None)}{zone}" if hour < 24 and minute < 60 else None
    )


def _iso_month(match: Match, setting: Setting) -> str | None:
    """Speak 2017-12 as a month, if it cannot be a span of years."""
    month, year = int(match[2]), int(match[1])
    if not 1 <= month <= 12 or month > year % 100:
        return None
    return f"{MONTHS[month - 1]} {_year_words(year, setting)}"


def _on_day(match: Match, setting: Setting) -> str | None:
    """Speak "on 12/25" as day and month, in the order of the language."""
    first, second = int(match[1]), int(match[2])
    day, month = (first, second) if setting.british else (second, first)
    if not (1 <= day <= 31 and 1 <= month <= 12):
        return None
    name = MONTHS[month - 1]
    return (
        f"the {_ordinal_words(day, setting)} of {name}"
        if setting.british
        else f"{name} {_ordinal_words(day, setting)}"
    )


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


def _bare_year(match: Match, setting: Setting) -> str | None:
    """Speak four figures without a comma as a year, unless they count or number something."""
    next_word = _NEXT_WORD.match(text_after(match))
    word = next_word[1] if next_word else ""
    if word in COUNTED or word in UNITS or _LABEL_CUE.search(text_before(match)):
        return None
    is_plural = len(word) > 3 and word.endswith("s") and word not in NOT_NOUNS
    if is_plural and not _YEAR_CUE.search(text_before(match)):
        # "1500 soldiers fell", "1914 dawns bright": nobody begins a sentence with a plain number
        is_verb = word in YEAR_VERBS or _OBJECT_FOLLOWS.match(text_after(match))
        if not (is_verb and OPENS.search(text_before(match))):
            return None
    return _year_words(int(match[0]), setting)


def _years(match: Match, setting: Setting) -> str | None:
    """Speak a span of years: 1914-18."""
    first, second = match[1], match[2]
    last = int(first[: 4 - len(second)] + second)
    if last <= int(first):
        return None
    last_year_words = numbers.pair(last % 100) if len(second) < 4 else _year_words(last, setting)
    return f"{_year_words(int(first), setting)} to {last_year_words}"


def _era(match: Match, setting: Setting) -> str:
    """Speak a year with its era: 44 BC, AD 79."""
    letters = ".".join((match["era"] or match["first"]).replace(".", ""))
    year = int(match["year"] or match["only"])
    if 100 < year < 1000 and year % 100:
        year_words = f"{numbers.cardinal(year // 100, british=False)} {numbers.pair(year % 100)}"
    else:
        year_words = _year_words(year, setting)
    if match["upto"]:
        year_words += f" to {numbers.cardinal(int(match['upto']), british=setting.british)}"
    return f"{letters} {year_words}" if match["first"] else f"{year_words} {letters}"


_AGE_CUE = re.compile(
    r"\b(?:the|early|late|mid|his|her|their|my|your|our|its)[\s-](?:(?:early|late|mid)[\s-])?'?$",
    re.IGNORECASE,
)
_OTHER_DECADE = re.compile(r"\d0'?s(?:,| and| or| to|[-–])? ?$")


def _decade(match: Match, setting: Setting) -> str | None:
    """Speak decades, ages and round numbers in the plural: 1920s, '90s, his 40s; 100s and 1000s."""
    figures, possessive = match[2], "'" in match[3]
    number = int(figures)
    if len(figures) == 4:
        if possessive and number % 10:
            return f"{_year_words(number, setting)}'s"
        if number % 1000 == 0 and number != 2000:
            return numbers.plural(numbers.cardinal(number, british=False))
        return numbers.plural(_year_words(number, setting))
    if len(figures) == 3 or number % 10 or not number:
        return "hundreds" if number == 100 else None
    preceding = text_before(match)
    if match[1] or possessive or _AGE_CUE.search(preceding) or _OTHER_DECADE.search(preceding):
        return numbers.plural(numbers.cardinal(number, british=False))
    return None


# Times -------------------------------------------------------------------------------------------


def _clock(hour: int, minute: int, half_day: str | None) -> str:
    """Speak a time of day; `half_day` is "a" or "p" for a.m. and p.m."""
    hour_words = numbers.cardinal(hour, british=False)
    if half_day:
        return f"{hour_words}{f' {numbers.pair(minute)}' if minute else ''} {half_day.lower()}.m"
    if minute:
        return f"{hour_words} {numbers.pair(minute)}"
    if hour == 0:
        return "midnight"
    return f"{hour_words} o'clock" if hour <= 12 else f"{hour_words} hundred"


def _time(match: Match, setting: Setting) -> str | None:
    """Speak a time, with seconds, a.m. or p.m. if given; None after hour 23."""
    groups = match.groupdict()
    hour, minute = int(groups["hour"]), int(groups["minute"] or 0)
    if hour > 23:
        return None
    if groups.get("second"):
        time_parts = (
            numbers.cardinal(hour, british=False),
            numbers.pair(minute).replace("oh zero", ""),
        )
        return f"{' '.join(time_parts).strip()} {numbers.pair(int(groups['second']))}"
    return _clock(hour, minute, groups.get("half"))


def _times(match: Match, setting: Setting) -> str:
    """Speak a span of times: 6-8 p.m., 10.30-11.15 a.m."""
    ends = []
    for hour, minute in ((match["hour"], match["minute"]), (match["hour2"], match["minute2"])):
        pair = f" {numbers.pair(int(minute))}" if minute and int(minute) else ""
        ends.append(numbers.cardinal(int(hour), british=False) + pair)
    return f"{ends[0]} to {ends[1]} {match['half'].lower()}.m"


def _british_time(match: Match, setting: Setting) -> str | None:
    """Speak a British time without a.m. or p.m.: We took the 5.20."""
    return _time(match, setting) if setting.british else None


_BOOK = re.compile(rf"\b(?:{alternatives([*BIBLE_BOOKS, *BIBLE_BOOKS_SHORT])})\.? $")
_FIRST_AND_SECOND = "Samuel Kings Chronicles Corinthians Thessalonians Timothy Peter John".split()
_NTH_BOOK = alternatives(
    [
        *_FIRST_AND_SECOND,
        *(short for short, name in BIBLE_BOOKS_SHORT.items() if name in _FIRST_AND_SECOND),
    ]
)
_OF_BOOKS = {
    "1": "First",
    "2": "Second",
    "3": "Third",
    "I": "First",
    "II": "Second",
    "III": "Third",
}
_PLACE = r"\d{1,3}:[1-9]"


def _verse(match: Match, setting: Setting) -> str | None:
    """Speak a Bible verse: John 3:7; Genesis 1:1-2:3."""
    if not _BOOK.search(text_before(match)[-20:]):
        return None
    figures = [
        numbers.cardinal(int(part), british=setting.british) for part in match.groups() if part
    ]
    return " to ".join(" ".join(figures[index : index + 2]) for index in range(0, len(figures), 2))


def _military(match: Match, setting: Setting) -> str:
    hour, minute = int(match[1]), int(match[2])
    hour_words = numbers.pair(hour) if hour else "zero"
    return f"{hour_words} {numbers.pair(minute) if minute else 'hundred'}"


_HALF = rf"\s?(?P<half>[apAP])\.?[mM]\b(?:\.(?=\s(?:[A-Z]{{1,3}}T|UTC)\b)|{DOT})"
_HOUR12 = r"(?P<hour>0?[1-9]|1[0-2])"

_DAY_SHORT = alternatives([*DAYS, *map(str.upper, DAYS)])

CALENDAR = (
    Rule(
        "weekday",
        re.compile(rf"\b({_DAY_SHORT})\b\.?(?=,? (?:the )?(?:\d|{_MONTH}))"),
        lambda match, setting: _weekday(match[1]),
    ),
    Rule(
        "date",
        re.compile(
            rf"{FREE}({YEAR})([/.-])(\d\d)\2(\d\d)(?:(?:T|\s)(?P<hour>\d\d):(?P<minute>\d\d)"
            r"(?::\d\d(?:\.\d{1,9})?)?(?P<zone>Z)?)?(?![\w-])"
        ),
        _iso,
    ),
    Rule("date", re.compile(rf"{FREE}({YEAR})-(\d\d)(?![\w/–-]|[.,:]\d)"), _iso_month),
    Rule(
        "date",
        re.compile(
            preceded_by(r"\b[Oo]n ", r"\b[Dd]ated ", r"\b[Bb]y ")
            + r"(\d{1,2})/(\d{1,2})(?![\w/]|[.,]\d| (?:of|cup|an?|inch|mile)\b)"
        ),
        _on_day,
    ),
    Rule(
        "date", re.compile(rf"{FREE}(\d{{1,2}})([/.-])(\d{{1,2}})\2(\d{{4}})(?!\w)"), _numeric_date
    ),
    Rule(
        "date", re.compile(rf"{FREE}(\d{{1,2}})(/)(\d{{1,2}})\2(\d{{2}})(?![\w/])"), _numeric_date
    ),
    Rule(
        "date",
        re.compile(
            rf"{FREE}(?:(?P<from>\d{{1,2}})(?:st|nd|rd|th)?{TO})?{_DAY}(?: of)? "
            rf"(?P<month>{_ANY_MONTH})(?:,? (?P<year>\d{{3,4}})(?![\w,]\d|\d))?"
        ),
        _day_month,
    ),
    Rule(
        "date",
        re.compile(
            rf"{FREE}(?P<from>)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? "
            rf"(?P<month>(?:{_LOWER_AMBIGUOUS_MONTHS})\b\.?),? (?P<year>{YEAR})(?!\w)"
        ),
        _day_month,
    ),
    Rule(
        "date",
        re.compile(
            rf"{FREE}(?P<from>)(?P<day>\d{{1,2}})(?:st|nd|rd|th) of "
            rf"(?P<month>(?:may|march)\b)(?P<year>)"
        ),
        _day_month,
    ),
    Rule(
        "date",
        re.compile(
            rf"\b(?P<month>{_ANY_MONTH}) (?:the )?{_DAY}"
            rf"(?:{TO}(?P<upto>\d{{1,2}})(?:st|nd|rd|th)?)?"
            rf"(?![\d:]|[.,]\d)(?:,? (?P<year>{YEAR})(?!\w))?"
        ),
        _month_day,
    ),
    Rule(
        "date",
        re.compile(
            rf"\b(?P<month>(?:{_LOWER_AMBIGUOUS_MONTHS})\b\.?) (?P<day>\d{{1,2}})(?P<upto>)"
            rf"(?:(?:st|nd|rd|th)(?: |\b)|,? (?={YEAR}))(?:(?<= )(?P<year>{YEAR})(?!\w))?"
        ),
        _month_day,
    ),
    Rule("range", re.compile(rf"(?<=\d){TO}(?=(?:{_ANY_MONTH}) \d)"), say_always(" to ")),
    Rule(
        "month",
        re.compile(rf"\b({alternatives(_SHORT_NAMES)})\b\.?(?=,? '?\d)"),
        lambda match, setting: _month(match[1]),
    ),
    Rule(
        "month",
        re.compile(rf"\b({_LOWER_MONTHS})\b\.?(?=,? {YEAR}(?!\w))"),
        lambda match, setting: _month(match[1]),
    ),
    Rule(
        "era",
        re.compile(
            rf"{FREE}(?P<year>\d{{1,4}}) ?(?P<era>BCE|BC|AD|CE|B\.C\.E|B\.C|A\.D|C\.E)\b{DOT}"
            r"|\b(?P<first>AD|A\.D\.) ?(?P<only>\d{1,4})(?:[-–](?P<upto>\d{1,4}))?(?!\w)"
        ),
        _era,
    ),
    Rule("decade", re.compile(r"(?<![\w.,])(')?(\d{2,4})('?)s\b(?! *\d*[½¼¾]?d\b)"), _decade),
    Rule(
        "years",
        re.compile(rf"{FREE}({YEAR})\s?[-–/]\s?(\d{{4}}|\d{{1,2}})(?![\w,-]|\.\d)"),
        _years,
    ),
    Rule(
        "year",
        re.compile(r"(?<!\w)'(\d\d)(?![\w'])"),
        lambda match, setting: numbers.pair(int(match[1])),
    ),
    Rule(
        "military time",
        re.compile(r"\b([01]\d|2[0-3])([0-5]\d)(?= ?(?:hours|hrs|h)\b)"),
        _military,
    ),
    Rule(
        "book",
        re.compile(
            rf"\b([123]|I{{1,3}})(?= (?:(?:{_NTH_BOOK})\.? {_PLACE}|(?:Cor|Thess|Chron)\.))"
        ),
        lambda match, setting: _OF_BOOKS[match[1]],
    ),
    Rule(
        "book",
        re.compile(
            rf"\b({alternatives(BIBLE_BOOKS_SHORT)})\b\.?(?= {_PLACE})"
            rf"|{preceded_by('[123] ', 'I ')}(Cor|Thess|Chron)\."
        ),
        lambda match, setting: BIBLE_BOOKS_SHORT[match[1] or match[2]],
    ),
    Rule(
        "verse",
        re.compile(
            r"(?<=[a-z.] )(\d{1,3}):([1-9]\d{0,2})(?:[-–](\d{1,3}):([1-9]\d{0,2}))?"
            r"(?!\d|:|\s?[ap]\.?m)"
        ),
        _verse,
    ),
    Rule(
        "time",
        re.compile(
            r"(?<![\w.:])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
            rf"(?![\d:]|,\d{{3}})(?:{_HALF})?"
        ),
        _time,
    ),
    Rule(
        "time",
        re.compile(
            rf"(?<![\w.:/])(?<!\d,){_HOUR12}(?:[.:](?P<minute>[0-5]\d))?{TO}"
            rf"(?P<hour2>0?[1-9]|1[0-2])(?:[.:](?P<minute2>[0-5]\d))?{_HALF}"
        ),
        _times,
    ),
    Rule("time", re.compile(rf"(?<![\w.:]){_HOUR12}(?:\.(?P<minute>[0-5]\d))?{_HALF}"), _time),
    Rule(
        "time",
        re.compile(
            preceded_by(r"\b[Aa]t ", r"\b[Bb]y ") + r"(?P<hour>\d{1,2})\.(?P<minute>[0-5]\d)"
            r"(?![\w%.]| ?(?:per|percent|million|billion|points?)\b)"
        ),
        _time,
    ),
    Rule(
        "time",
        re.compile(
            preceded_by(r"\b[Tt]he ", r"\b[Aa] ") + rf"{_HOUR12}\.(?P<minute>[0-5]\d)"
            r"(?= (?:train|express|bus|boat|up|down|to|from|for)\b)"
        ),
        _time,
    ),
    Rule(
        "time",
        re.compile(
            rf"(?<=\b[Tt]he ){_HOUR12}\.(?P<minute>[0-5]\d)(?=[.;!?]?[\"')]*(?:\s(?![a-z%])|$))"
        ),
        _british_time,
    ),
    Rule("year", re.compile(rf"{FREE}{YEAR}(?![\w%]|[,.:/]\d)"), _bare_year),
)

_DAY_ANY = alternatives([*DAYS, *DAYS.values()])
_MONTH_ANY = alternatives([*MONTHS, *MONTH_SHORT])
_SPAN_DOT = r"(?:\.(?![\"')\]]*(?:\s*$|\s+[\"'(\[]*[A-Z])))?"


def _days(match: Match, setting: Setting) -> str:
    return f"{_weekday(match[1])} to {_weekday(match[2])}"


def _months(match: Match, setting: Setting) -> str | None:
    if match[0] == "May-December":  # a romance
        return None
    return f"{_month(match[1])} to {_month(match[2])}"


SPANS = Group(
    re.compile(r"[-–] ?[A-Z]"),
    (
        Rule("range", re.compile(rf"\b({_DAY_ANY})\.?{TO}({_DAY_ANY})\b{_SPAN_DOT}"), _days),
        Rule(
            "range",
            re.compile(rf"\b({_MONTH_ANY})\.?{TO}({_MONTH_ANY})\b{_SPAN_DOT}(?! \d{{1,2}}\b)"),
            _months,
        ),
        Rule("range", re.compile(r"(?<=\bA)[-–](?=Z\b)"), say_always(" to ")),
    ),
)
"""Mon.-Sun., May–June, A–Z: spans without a figure."""
