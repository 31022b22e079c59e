"""Patterns of the slots of a grammar, of what may stand around them, and the gates of rules.

`grammars.py` describes the kinds of slots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from narrator.text.normalize.rules import alternatives

SLOT = re.compile(
    r"\{(?P<name>[a-z_]+\d?)(?:=(?P<pattern>[^{}]*)|:(?P<form>[\w-]+))?(?P<capital>\^?)\}"
)
"""A slot of a pattern or a template: `{n}`, `{n2=1|21}`, `{n:ordinal}`, `{roman^}`."""

COUNTING_KINDS = frozenset("n number upto day year hour minute cents".split())
"""Kinds of slots whose figures are said as a number."""
NUMBER_KINDS = COUNTING_KINDS | {"numeral"}
NUMERIC_KINDS = NUMBER_KINDS | {"roman", "digits"}

CAPITAL = f"[{''.join(c for c in map(chr, range(0x530)) if c.isupper())}]"
_CLOSING_MARKS = r"[\"')\]]*"
_VOWEL_SIGNS = "\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963"
"""Signs of Devanagari, which belong to words, but not to `\\w`."""
VOWEL_SIGN = re.compile(f"[{_VOWEL_SIGNS}]")
LETTER = re.compile(rf"[^\W_]|[{_VOWEL_SIGNS}]")
TEXT_STOP = rf"{_CLOSING_MARKS}\s*(?:$|\n)"
"""What follows a full stop that ends a paragraph."""


def kind_of(slot_name: str) -> str:
    """Returns the kind of a slot, or the section that it names."""
    name = slot_name.rstrip("0123456789").replace("_", " ")
    return "months" if name == "month" else name


def sentence_stop(starters: list[str]) -> str:
    """Returns a pattern of what follows a full stop that ends a sentence.

    `starters` are words that begin a sentence; without any, a capital does.
    """
    opening = rf"(?:{alternatives(starters)})\b" if starters else CAPITAL
    return rf"{_CLOSING_MARKS}(?:\s*$|\s*\n|\s+[\"'(\[¿¡]*(?-i:{opening}))"


def slot_patterns(notation: Mapping[str, str], point: str) -> dict[str, str]:
    """Returns the patterns of the kinds of slots in a language's notation."""
    default_signs = ", _" if point == "." else ". _"
    signs = re.escape(notation.get("group", default_signs).replace(" ", ""))
    group = rf"[{signs.replace('_', ' ')}]"
    if notation.get("groups") == "indian":
        groups = rf"(?:{group}\d{{2,3}})*{group}\d{{3}}(?!\d)"
    else:
        groups = rf"(?:{group}\d{{3}})+(?!\d)"
    single = rf"(?!0\d)(?:\d{{4,}}|\d{{1,3}}(?!{group}\d{{3}}(?!\d)))"
    integer = rf"(?:[1-9]\d{{0,2}}{groups}|{single})"
    number = rf"{integer}(?:{re.escape(point)}\d+)?"
    return {
        "n": integer,
        "number": number,
        "upto": number,
        "digits": r"\d+",
        "day": r"(?:0?[1-9]|[12]\d|3[01])",
        "mm": r"(?:0?[1-9]|1[0-2])",
        "year": r"(?:1\d{3}|20\d\d)",
        "hour": r"(?:[01]?\d|2[0-4])",
        "minute": r"[0-5]\d",
        "cents": r"(?!00)\d\d",
        "half": "(?:½|1/2)",
        "roman": "(?-i:[MDCLXVI]+)",
        "numeral": rf"(?:{integer}|(?-i:[MDCLXVI]+))",
        "point": re.escape(point),
        "capital": f"(?-i:{CAPITAL})",
    }


# Boundaries ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Patterns of what may stand next to a match of a rule.

    `after_measure` is for rules that begin with figures and end with a unit or noun.
    """

    before_figures: str
    after_figures: str
    before_word: str
    after_word: str
    after_measure: str


_CODE_SIGNS = r"@^<>\\"
"""Signs of codes and formulas, next to which a figure stays as written."""
_CURRENCY_SIGNS = "$£¥"
_MORE_SIGNS = "[฿‰-₿]"
"""Primes, per mille and currencies. Signs beyond Latin-1 stand in sets of their own, of two ranges
at most: others take half of the time that a rule takes to compile."""
_AFTER_WORD = r"(?:\b|(?<!\w))(?!/\w)"

_SPACED = Boundaries(
    before_figures=(
        rf"(?<![\w.,:/+=±×%&{_CODE_SIGNS}{_CURRENCY_SIGNS}])(?<!{_MORE_SIGNS})(?<!−)"
        rf"(?<![\w%°{_CURRENCY_SIGNS}][-~*#])(?<![\w%°{_CURRENCY_SIGNS}]–)"
        rf"(?<!{_MORE_SIGNS}[-–])(?<!\d['°])(?<![\s(\[]-)(?<!^-)"
    ),
    after_figures=(
        rf"(?![\w/+=×±#&{_CODE_SIGNS}]|[-:'~*][^\W_]|[–−][^\W_]|[.,]+\d"
        rf"|\s?[%°¼-¾{_CURRENCY_SIGNS}]|\s?{_MORE_SIGNS})"
    ),
    before_word=r"(?:\b|(?!\w))",
    after_word=_AFTER_WORD,
    after_measure=(
        rf"{_AFTER_WORD}(?![_+=×±#&%°{_CODE_SIGNS}{_CURRENCY_SIGNS}]|{_MORE_SIGNS}"
        rf"|[-:'~*]?\d|[–−]\d)(?<![%°{_CURRENCY_SIGNS}](?=[^\W_]))(?<!{_MORE_SIGNS}(?=[^\W_]))"
    ),
)
_AFTER_LATIN = r"(?!(?<=[A-Za-z])[A-Za-z\d])"
_UNSPACED = Boundaries(
    before_figures=_SPACED.before_figures.replace(r"\w", r"A-Za-z\d"),
    after_figures=_SPACED.after_figures.replace(r"[\w/", r"[A-Za-z\d/"),
    before_word=r"(?!(?<=[A-Za-z])[A-Za-z])",
    after_word=_AFTER_LATIN,
    after_measure=_AFTER_LATIN,
)

_NEGATIVE_LOOKAHEAD = re.compile(r"(?:\(\?!(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?")
"""One at most, with groups of two levels."""


def boundaries(*, has_spaces: bool, has_vowel_signs: bool) -> Boundaries:
    """Returns the boundaries of a language, with spaces between words or without."""
    if not has_spaces:
        return _UNSPACED
    if not has_vowel_signs:
        return _SPACED
    before, after = f"(?<![{_VOWEL_SIGNS}])", f"(?![{_VOWEL_SIGNS}])"
    return Boundaries(
        before_figures=f"{before}(?<![{_VOWEL_SIGNS}][-–~*#]){_SPACED.before_figures}",
        after_figures=f"{_SPACED.after_figures}{after}",
        before_word=f"{_SPACED.before_word}{before}",
        after_word=f"{_SPACED.after_word}{after}",
        after_measure=f"{_SPACED.after_measure}{after}",
    )


def ends_after(pattern: str, slot: re.Match[str]) -> bool:
    """Returns True if a pattern ends after a slot, or only says what must not follow it."""
    return _NEGATIVE_LOOKAHEAD.fullmatch(pattern, slot.end()) is not None


# Gates --------------------------------------------------------------------------------------------

_ROMAN_GATE = (
    r"[MDCLXVI](?<![A-Za-z].)(?:[MDCLXVI]*(?![A-Za-zß-ÿ])|(?<=[IVX])(?:[IVX]|[eèé][rm]?e?(?!\w)))"
)
FIGURE = r"[\d¼-¾⅐-⅞]"
_GATES = {
    **dict.fromkeys(COUNTING_KINDS, r"\d"),
    "digits": r"\d",
    "figures": r"\d",
    "roman": _ROMAN_GATE,
    "numeral": rf"\d|{_ROMAN_GATE}",
    "fractions": FIGURE,
    "half": FIGURE,
    "part": FIGURE,
    "slash fractions": r"\d",
}
_ORDINAL_GATES = {"n": r"\d\.", "day": r"\d\.", "numeral": r"\d\.|[MDCLXVI]\."}
_ORDINAL = re.compile(r"\{(?P<kind>n|day|numeral)\d?\}\\\.(?![?*{])")
"""A figure with a full stop."""
_LISTED_FIGURES = re.compile(r"(?<![\dd?])\{n\d?=([\d|]+)\}(?![\d?])")
"""A slot of certain numbers: `{n=1|21}`."""
_ABBREVIATION = re.compile(r"[^\W\d_]{2,}\\\.(?![?*{])")
_DIGIT_FOLLOWS = re.compile(r"\(\?=(?: |\\s\?|\\s|\\\+\?)?\\d\)$")
_FIGURE_BEGINS = re.compile(rf"(?:\(\?<![^()]*\))*{FIGURE}(?![?*{{])[^|]*")


def gate_of(pattern: str, kinds: set[str]) -> str:
    """Returns a quick pattern that occurs in every text to which a rule applies; "" for any text.

    `kinds` are those of the slots of the rule's pattern; `part gen` has the gate of `part`.
    """
    for ordinal in _ORDINAL.finditer(pattern):
        if _is_outermost(ordinal):
            return _ORDINAL_GATES[ordinal["kind"]]
    for figures in _LISTED_FIGURES.finditer(pattern):
        if _is_outermost(figures):
            return rf"(?<!\d)(?:{figures[1]})(?!\d)"
    families = {kind for name in kinds for kind in (name, name.split()[0])}
    for kind, gate in _GATES.items():
        if kind in families:
            return gate
    if _DIGIT_FOLLOWS.search(pattern):
        return r"\d"
    for abbreviation in _ABBREVIATION.finditer(pattern):
        if _is_outermost(abbreviation):
            return rf"(?i)\.(?<={abbreviation[0]})"
    return FIGURE if _FIGURE_BEGINS.fullmatch(pattern) else ""


def _is_outermost(part: re.Match[str]) -> bool:
    """Returns True for a part of a pattern that is in no group and no slot."""
    text_before = part.string[: part.start()]
    return all(text_before.count(left) == text_before.count(right) for left, right in ("()", "{}"))
