"""The lists of `languages/en.txt` that functions of the English rules look into."""

from __future__ import annotations

from narrator.text.language_lists import read_lists

_LISTS = read_lists("en")

TITLES = _LISTS.table("titles")
RANKS = _LISTS.table("ranks")
PLACES = _LISTS.table("places")
STREETS = _LISTS.table("streets")
COMPASS = _LISTS.table("compass")
STATES = _LISTS.table("states")
STATES_DOTTED = _LISTS.table("states dotted")
NEVER_CLOSING = _LISTS.table("abbreviations")
BEFORE_NUMBER = _LISTS.table("before numbers")
DOTLESS = frozenset(_LISTS.words("dotless"))
PAGED = frozenset(_LISTS.words("paged"))

_MONTHS = _LISTS.table("months")
MONTHS = list(_MONTHS)
MONTH_SHORT = {
    short: number
    for number, abbreviations in enumerate(_MONTHS.values(), 1)
    for short in abbreviations.split()
}
DAYS = _LISTS.table("days")
BIBLE_BOOKS = _LISTS.words("bible books")
BOOK_NUMBERS = _LISTS.table("book numbers")
BIBLE_BOOKS_SHORT = _LISTS.table("bible books short")

UNITS = {unit: tuple(names.split(", ")) for unit, names in _LISTS.table("units").items()}
CURRENCIES = {
    sign: tuple(names.split(", "))
    for section in ("currencies", "currency codes")
    for sign, names in _LISTS.table(section).items()
}
CURRENCY_COUNTRIES = _LISTS.table("currency countries")
MONEY_SCALES = _LISTS.table("scales")
ONE_WORDS = frozenset(_LISTS.words("one words"))
SIGN_WORDS = _LISTS.table("sign words")
WEB = {sign: f" {words} " for sign, words in _LISTS.table("web").items()}
WEB_WORDS = frozenset(_LISTS.words("web words"))

REGNAL_NAMES = frozenset(_LISTS.words("regnal names"))
RULERS = frozenset(_LISTS.words("rulers"))
DIVISIONS = (*_LISTS.words("divisions"), "World War", "Super Bowl")

AFTER_PRONOUN = frozenset(_LISTS.words("after pronoun"))
FIRST_PERSON = AFTER_PRONOUN.difference(_LISTS.words("kings too"))
"""Words after `I` whose subject is never a king."""
NOT_NOUNS = frozenset(_LISTS.words("not nouns"))
YEAR_VERBS = frozenset(_LISTS.words("year verbs"))
COUNTED = frozenset(_LISTS.words("counted"))
FRACTIONS = _LISTS.table("fractions")
FUNCTION = frozenset(_LISTS.words("function"))
STARTERS = "|".join(_LISTS.words("starters"))

SHORT = frozenset(_LISTS.words("short"))
VOWELLESS = frozenset(_LISTS.words("vowelless"))
CURSES = _LISTS.table("curses")
