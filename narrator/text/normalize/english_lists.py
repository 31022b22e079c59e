"""The lists of the English rules, from `english_lists.txt`, which says what each is."""

from __future__ import annotations

from pathlib import Path

from textbase.word_lists import read_word_lists

_LISTS = read_word_lists(Path(__file__).with_suffix(".txt"))

TITLES = _LISTS.table("titles")
RANKS = _LISTS.table("ranks")
RANKS_DOTTED = frozenset(_LISTS.words("ranks dotted"))
DEGREES = _LISTS.table("degrees")
PLACES = _LISTS.table("places")
STREETS = _LISTS.table("streets")
COMPASS = _LISTS.table("compass")
STATES = _LISTS.table("states")
STATES_ALONE = frozenset(_LISTS.words("states alone"))
STATES_DOTTED = _LISTS.table("states dotted")
NEVER_CLOSING = _LISTS.table("never closing")
CLOSING = _LISTS.table("closing")
BEFORE_NUMBER = _LISTS.table("before number")
DOTLESS = frozenset(_LISTS.words("dotless"))
PAGED = frozenset(_LISTS.words("paged"))

MONTHS = _LISTS.words("months")
MONTH_SHORT = {short: int(number) for short, number in _LISTS.table("month short").items()}
DAYS = _LISTS.table("days")
BIBLE_BOOKS = _LISTS.words("bible books")
BIBLE_BOOKS_SHORT = _LISTS.table("bible books short")

UNITS = {unit: tuple(names.split(", ")) for unit, names in _LISTS.table("units").items()}
CURRENCIES = {sign: tuple(names.split(", ")) for sign, names in _LISTS.table("currencies").items()}
CURRENCY_COUNTRIES = _LISTS.table("currency countries")
MONEY_SCALES = _LISTS.meanings("money scales")
DOTTED_UNITS = _LISTS.words("dotted units")
_TEENS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ONE_WORDS = frozenset(_LISTS.words("one words"))
COUNT_WORDS = (
    *_TEENS,
    *_TENS,
    *(f"{ten}-{one}" for ten in _TENS for one in _TEENS[:9]),
    *"hundred thousand million half quarter few several many".split(),
)
"""Last words of a number."""

SIGN_WORDS = _LISTS.table("sign words")
WEB = {sign: f" {words} " for sign, words in _LISTS.table("web").items()}
WEB_WORDS = frozenset(_LISTS.words("web words"))

REGNAL_NAMES = frozenset(_LISTS.words("regnal names"))
RULERS = frozenset(_LISTS.words("rulers"))
DIVISIONS = (
    "Chapter|Part|Book|Volume|Vol\\.|Act|Scene|Section|Article|Appendix|Canto|Stanza|Psalm|Letter|"
    "Case|Figure|Fig\\.|Table|Plate|Number|No\\.|Phase|Type|Class|Stage|Grade|Title|Chap\\.|Ch\\.|"
    "Episode|Season|Level|Mark|Mk\\.?|Round|Lesson|Unit|Sonnet|Symphony|Prelude|World War|War|"
    "Apollo|Gemini|Saturn|Super Bowl|Vatican|Division|Corps|Category|Schedule|Exhibit|Problem|"
    "Question|Tome|Day|Night|Adventure|Interlude|Dialogue|Essay|Lecture|Movement|Op\\.|Century"
)
"""A pattern of the names of divisions before a Roman numeral."""

AFTER_PRONOUN = frozenset(_LISTS.words("after pronoun"))
FIRST_PERSON = AFTER_PRONOUN.difference(_LISTS.words("kings too"))
"""Words after `I` whose subject is never a king."""
NOT_NOUNS = frozenset(_LISTS.words("not nouns"))
YEAR_VERBS = frozenset(_LISTS.words("year verbs"))
COUNTED = frozenset(_LISTS.words("counted"))
FUNCTION = frozenset(_LISTS.words("function"))
STARTERS = "|".join(_LISTS.words("starters"))

SHORT = frozenset(_LISTS.words("short"))
VOWELLESS = frozenset(_LISTS.words("vowelless"))
CURSES = _LISTS.table("curses")
