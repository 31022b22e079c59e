"""Speakers' labels as plays, interviews and transcripts print them at the beginning of a paragraph.

`ROPER.`, `Roper (softly):`, `DORINE, à part. —`, `[00:12:03] Anna:`, a name alone on its line.
Finds possible labels only; a novel contains such words here and there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from manuscripts.counting import ROMAN, parse_numbering
from manuscripts.directions import match_transition
from textbase.initialisms import AMBIGUOUS_CAPITALS, SPELLED
from textbase.word_lists import read_word_lists

Form = Literal["capitals", "apart", "mixed"]
"""Difference of a name from the text after it: by capitals, by style or markup, or not at all."""

Setting = tuple[Form, str, bool]
"""Form, mark, and whether the label stands alone; the labels of one source share it."""

_DAY = r"(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}-\d{2}-\d{2}),?[^\S\n]+"
_CLOCK = rf"(?:{_DAY})?(?:\d{{1,2}}:)?\d{{1,2}}:\d{{2}}(?:[.,]\d{{1,3}})?(?:\s?[AaPp][Mm]\b)?"
_TIME = rf"(?:\[{_CLOCK}(?:\s*(?:-->|[-–—])\s*{_CLOCK})?\]|\({_CLOCK}\)|<{_CLOCK}>|{_CLOCK})"
TIME = re.compile(_TIME)
"""A time of a transcript: `[00:12:03]`, `(00:12)`, `12:03`."""

_ABBREVIATIONS = (
    r"mrs?|ms|mme|mlle|messrs|drs?|ste?|prof|rev|hon|capt|col|gen|lt|sgt|maj|fr|hr|sra?|sig|jr|gov|"
    r"sen|ld|г|гг|м"
)
_WORD = rf"(?:(?i:{_ABBREVIATIONS}|[^\W\d_])\.(?=\s?\w)|[\w’'`&+/-]*[\w’'])"
_ASIDE = r"\([^()]{1,400}\)|\[[^\[\]]{1,400}\]|（[^（）]{1,400}）"
_LEADING_NAME = re.compile(
    rf"(?:(?P<before>{_TIME})[^\S\n]*[-–—:]?[^\S\n]+)?"
    rf"(?P<name>(?:\d{{1,2}}\.[^\S\n]+(?=[^\W\d_]))?{_WORD}(?:\.?[^\S\n]+(?:and|AND|&|et|ET|und|UND|y|Y|ed|og|och|и|И)[^\S\n]+{_WORD}|"
    rf"[^\S\n]+(?!{_CLOCK}){_WORD}){{0,7}})"
)
_AFTER_NAME = re.compile(
    r"(?P<tail>,[^\S\n][^.:()\[\]\n—–]{1,80}?(?=[^\S\n]?(?:[.:：(\[—–]|\n|$)))?"
    rf"[^\S\n]*(?P<after>{_TIME})?"
    rf"[^\S\n]*(?P<aside>(?:{_ASIDE})(?:[^\S\n]?\([^()\n]{{1,30}}\)(?=[^\S\n]*(?:[.:：]|\n|$)))?)?"
    r"[^\S\n]*(?P<mark>[.:：;](?:[^\S\n]?(?:[—–]|--?(?=\s)))?|[—–]|--|-(?=\s)|(?=[^\S\n]*(?:\n|$)))?"
    r"(?P<gap>\s*)"
)
_LETTER_LABEL = re.compile(r"(?P<name>[^\W\d_])(?P<mark>(?<![IVX])\.|:)(?P<gap>[^\S\n]+|\n|$)")
"""`Q.`, `A:`."""

_ROMAN_NUMERAL = re.compile(ROMAN.upper())
_NAME_SEPARATOR = re.compile(
    r"\s*,\s*(?:(?:and|et|und|y|ed|e|og|och|en|и|&)\s+)?|\s*&\s*|\s*/\s*|\s+\+\s+|"
    r"\s+(?:and|et|und|y|ed|e|og|och|en|и)\s+",
    re.IGNORECASE,
)
_SCENE_HEADING_START = re.compile(r"(?:INT|EXT|EST|I/E)(?:\.|/)\s?(?=\w)")
"""Beginning of a screenplay's scene heading."""
WORDS = read_word_lists(Path(__file__).with_name("dialogue.txt"))
_LOWER_CASE_WORDS = frozenset(WORDS.words("conjunctions") + WORDS.words("particles"))
_FIRST_WORDS_OF_OTHER_LABELS = frozenset(WORDS.words("not names"))
COLONS = (":", "：")
_CLOSING_LINES = ("the end", "the curtain", "le rideau")
_MAX_NAME_LENGTH = 60
_MAX_RARITY = 20
"""A setting is dropped if it occurs less than once per this many labels of the commonest setting.
"""


@dataclass(frozen=True, slots=True)
class Label:
    """The beginning of a text that may name its speaker."""

    name: str
    """As printed, without the mark after it."""
    form: Form
    mark: str
    """First character of the mark; "" if nothing follows the name."""
    speech_start: int
    """Offset of the speech in the text."""
    is_alone: bool
    """True if the label has its line to itself."""
    aside_range: tuple[int, int] = (0, 0)
    """Range of the words that describe how it is spoken, with their brackets; (0, 0) for none."""
    time_ranges: tuple[tuple[int, int], ...] = ()
    """Ranges of a transcript's times."""

    @property
    def key(self) -> str:
        return key_of(self.name)

    @property
    def setting(self) -> Setting:
        return self.form, self.mark, self.is_alone

    @property
    def stands_out(self) -> bool:
        """True if the label is recognisable by itself, without being repeated."""
        return self.form != "mixed" or self.mark in COLONS or bool(self.time_ranges)


def key_of(name: str) -> str:
    """Returns a name in the form in which names are compared."""
    return " ".join(name.split()).strip(" .").casefold()


def split_names(name: str) -> tuple[str, ...]:
    """Returns the names in a label of several speakers: `ROPER and MORE`, `Ros. & Guil.`"""
    return tuple(
        part.strip(" .") for part in _NAME_SEPARATOR.split(name) if part and part.strip(" .")
    )


def find_labels(
    text: str, lead_words: str = "", is_speaker_name: bool = False
) -> tuple[Label, ...]:
    """Returns the labels that a text may begin with, the likeliest first. Lines are separated by
    newlines.

    `lead_words` are set apart at its beginning by style or markup; `is_speaker_name` says that
    markup calls them a speaker's name.
    """
    candidates: list[Label] = []
    name_match = _LEADING_NAME.match(text)
    name = lead_words.strip(" .:;,—–-") if is_speaker_name else ""
    if name and text.startswith(name):
        candidates += _label_at((0, len(name)), (0, 0), text, lead_words, True)
    elif name_match:
        candidates += _label_at(
            name_match.span("name"), name_match.span("before"), text, lead_words
        )
    if letter_match := _LETTER_LABEL.match(text):
        form: Form = "capitals" if letter_match["name"].isupper() else "mixed"
        is_alone = letter_match["gap"] in ("", "\n")
        candidates.append(
            Label(letter_match["name"], form, letter_match["mark"], letter_match.end(), is_alone)
        )
    return tuple(
        label
        for label in candidates
        if may_name(label.name)
        and (label.form != "mixed" or letter_match or _may_be_mixed_case_label(label, text))
    )


def common_settings(labels: Iterable[Label]) -> set[Setting]:
    """Returns the settings of labels that are usual: that of most repeated labels, and others that
    are not rare.

    If most are in capitals or set apart, labels in mixed case are dropped.
    """
    label_list = list(labels)
    label_counts = Counter(label.key for label in label_list)
    setting_counts = Counter(label.setting for label in label_list if label_counts[label.key] > 1)
    if not setting_counts:
        return set()
    (form, *_), highest_count = setting_counts.most_common(1)[0]
    allowed_forms = ("mixed",) if form == "mixed" else ("capitals", "apart")
    return {
        setting
        for setting, count in setting_counts.items()
        if setting[0] in allowed_forms and _MAX_RARITY * count >= highest_count
    }


def _label_at(
    name_range: tuple[int, int],
    before_range: tuple[int, int],
    text: str,
    lead_words: str,
    is_certain: bool = False,
) -> Iterator[Label]:
    """Yields the label of the name at a range of the text, if it is one; a time may precede it."""
    tail_match = _AFTER_NAME.match(text, name_range[1])
    if tail_match is None:
        return
    name, mark = text[slice(*name_range)], tail_match["mark"]
    name, aside_ranges = _split_tail(name, tail_match)
    form = _form_of(name, lead_words, text[: tail_match.end()])
    is_delimited = is_certain or mark is not None or any(tail_match.group("aside", "after"))
    is_table_cell = mark == ";" and form != "apart"  # of a row, parted by semicolons
    if form is None or is_table_cell or not is_delimited or len(aside_ranges) > 1:
        return
    is_alone = "\n" in tail_match["gap"] or tail_match.end() == len(text)
    time_ranges = tuple(
        (begin, end)
        for begin, end in (before_range, tail_match.span("after"), *aside_ranges)
        if end > 0 and any(map(TIME.fullmatch, (text[begin:end], text[begin + 1 : end - 1])))
    )
    aside_range = next((part for part in aside_ranges if part not in time_ranges), (0, 0))
    yield Label(name, form, (mark or "")[:1], tail_match.end(), is_alone, aside_range, time_ranges)


def _split_tail(name: str, tail_match: re.Match[str]) -> tuple[str, list[tuple[int, int]]]:
    """Returns a name, with further names after a comma, and the ranges that describe how it is
    spoken."""
    aside_ranges = [tail_match.span("aside")] if tail_match["aside"] else []
    full_name = f"{name}{tail_match['tail'] or ''}"
    names = split_names(full_name)
    are_names = all(n[:1].isupper() and (n.isupper() or len(n.split()) <= 3) for n in names)
    if full_name == name or are_names:
        return full_name, aside_ranges
    return name, [tail_match.span("tail"), *aside_ranges]


def _form_of(name: str, lead_words: str, text_to_label_end: str) -> Form | None:
    """Returns the form of a name; None for a bare number, or if the words set apart are not the
    name."""
    if _ROMAN_NUMERAL.fullmatch(name):
        return None
    letters, lead_letters = _only_letters(name), _only_letters(lead_words)
    begins_lead = lead_letters.startswith(letters) and bool(letters)
    if begins_lead and _only_letters(text_to_label_end).startswith(lead_letters):
        return "apart"
    if is_capitals(name):
        return "capitals"
    return None if lead_words and lead_letters in letters else "mixed"


def _only_letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def may_name(name: str) -> bool:
    """Returns whether words may be a name: they begin with a capital, and do not head a chapter, a
    scene or anything else."""
    first_word = next(iter(name.split()), "").strip(".’'").casefold()
    if len(name) > _MAX_NAME_LENGTH or first_word in _FIRST_WORDS_OF_OTHER_LABELS:
        return False
    numbering = parse_numbering(name)
    is_numbering = (
        numbering and numbering.word and (numbering.value is not None or not numbering.title)
    )
    if is_numbering or key_of(name) in _CLOSING_LINES or not any(map(str.isalpha, name)):
        return False
    if _SCENE_HEADING_START.match(name) or match_transition(f"{name}:"):
        return False
    first_character = next(filter(str.isalnum, name))
    return not first_character.islower() and unicodedata.category(first_character) != "Lm"


def is_capitals(name: str) -> bool:
    """Returns whether a name is in capitals: `MRS. PEARCE` and `LADY of the LAKE` are, `Ghost` is
    not."""
    has_capital_word = False
    for word in re.findall(r"[^\W_]+(?:[’'][^\W_]+)*", name):
        bare_word = re.sub(r"^(?:Mc|Mac|De|Di|D[’']|O[’'])(?=[^\W\d_]{2})|[’']s$", "", word)
        if len(bare_word) > 1 and bare_word.isupper():
            has_capital_word = True
        elif not (
            word.isupper()
            or word.casefold() in _LOWER_CASE_WORDS
            or word[0].isdigit()
            or re.fullmatch(_ABBREVIATIONS, word.casefold())
        ):
            return False
    return has_capital_word


def _may_be_mixed_case_label(label: Label, text: str) -> bool:
    """Returns whether a name in ordinary letters may be a label, judging by the text around it."""
    words = label.name.split()
    if len(words) > (4 if label.mark in COLONS else 3):
        return False
    speech = text[label.speech_start :].lstrip("“\"'‘«„([—–- ¿¡")
    if label.mark in COLONS or label.time_ranges:
        return len(words) <= 2 or not any(word[0].islower() for word in words)
    if not label.mark:
        return label.is_alone or bool(label.aside_range[1])
    return not speech or not speech[0].islower()


def in_ordinary_case(name: str) -> str:
    """Returns a name in ordinary case: `LADY BRACKNELL` becomes `Lady Bracknell`, `Q` stays."""
    name = " ".join(re.sub(r"[:()\[\]{}*]", " ", name).split())
    if not is_capitals(name):
        return name
    words = name.split()
    if len(words) == 1 and (len(name) <= 2 or not re.search(r"[AEIOUYÀ-ÝА-ЯΑ-Ω]", name)):
        return name
    return " ".join(_lower_word(word, number) for number, word in enumerate(words))


def _lower_word(word: str, index: int) -> str:
    bare_word = word.strip(".,")
    if index and (bare_word.casefold() in _LOWER_CASE_WORDS and len(bare_word) > 1):
        return word.lower()
    if index and re.fullmatch(ROMAN, bare_word.casefold()) and len(bare_word) < 5:
        return word
    pieces = re.split(r"([-/&+]|(?<=\b[ODLodl])[’'])", word)
    return "".join(_capitalize(piece) for piece in pieces)


def _capitalize(piece: str) -> str:
    if piece[:2] in ("Mc", "MC") and len(piece) > 4:
        return f"Mc{piece[2:].capitalize()}"
    return piece.lower() if piece[:1].isdigit() else piece[:1] + piece[1:].lower()


def lower_capitals(text: str, starts_sentence: bool = True) -> str:
    """Returns text with words in capitals lowered: `INT. HOUSE - DAY` becomes `Int. House - Day`,
    or `(on the phone)` if `starts_sentence` is false.

    Initialisms stay: `TV`, `BBC`, `FBI`.
    """
    if not starts_sentence and not text.isupper():
        return text

    def lower_match(match: re.Match[str]) -> str:
        word = match[0]
        if re.fullmatch(r"\d+(?:ST|ND|RD|TH)", word):
            return word.lower()
        can_be_lowered = (
            re.search(r"[AEIOUYÀ-ÝА-ЯΑ-Ω]", word) and word not in SPELLED - AMBIGUOUS_CAPITALS
        )
        if not can_be_lowered or not word.isupper():
            return word
        lower_cased = _lower_word(word, match.start()) if starts_sentence else word.lower()
        return lower_cased if len(lower_cased) == len(word) else word

    return re.sub(r"[^\W_](?:[\w&’'.-]*[^\W_])?", lower_match, text)
