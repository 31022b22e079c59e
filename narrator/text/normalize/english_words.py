"""Addresses, signs, Roman numerals, abbreviations, initials and capitals of English.

Spelled letters are separated by dots ("the U.S army", "P.G Wodehouse"), the form that neural
engines and espeak alike take for initials, even where they would read "CAC" as a word; the dot
after the last letter is left out unless it ends a sentence.

Words in capitals: members of `SPELLED` stay, since engines know them. Next to another shouted word,
or if it is a common short word, or has four letters or more with a vowel among them, a word is
emphasis and loses its capitals, which engines would spell out. The rest are initials.
"""

from __future__ import annotations

import re
import unicodedata

from narrator.text.normalize import numbers
from narrator.text.normalize.english_lists import (
    AFTER_PRONOUN,
    CLOSING,
    CURSES,
    DAYS,
    DEGREES,
    DIVISIONS,
    FIRST_PERSON,
    NEVER_CLOSING,
    PLACES,
    RANKS,
    RANKS_DOTTED,
    REGNAL_NAMES,
    RULERS,
    SHORT,
    SIGN_WORDS,
    STARTERS,
    TITLES,
    UNITS,
    VOWELLESS,
    WEB,
    WEB_WORDS,
)
from narrator.text.normalize.english_parts import (
    CAPITAL_FOLLOWS,
    DOT,
    DOT_OR_END,
    OPENS,
    SENTENCE_FOLLOWS,
)
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
from textbase.initialisms import AMBIGUOUS_CAPITALS, SPELLED

# Addresses ---------------------------------------------------------------------------------------


def _plain_digits(number: str) -> str:
    return unicodedata.normalize("NFKC", number).replace("\N{FRACTION SLASH}", " over ")


def _web_part(text: str) -> str:
    """Speak letters, digits and signs of an address."""
    # ½ and ² are no decimals and no letters either
    text = "".join(
        f" {_plain_digits(character)} " if unicodedata.category(character) == "No" else character
        for character in text
    )
    words = [
        numbers.label(part) if part.isdecimal() else WEB.get(part, part)
        for part in re.findall(r"[^\W\d_]+|\d+|.", text)
    ]
    return " ".join(" ".join(words).split())


def _host(text: str) -> str:
    """Speak a host name, with short top-level domains spelled."""
    first_label, *labels = text.split(".")
    spoken_labels = [_web_part(first_label)]
    for label in labels:
        is_spelled = 2 <= len(label) <= 3 and label.isalpha() and label.lower() not in WEB_WORDS
        spoken_labels.append(".".join(label.upper()) if is_spelled else _web_part(label))
    return " dot ".join(spoken_labels)


def _url(match: Match, setting: Setting) -> str:
    path = (match["path"] or "").rstrip("/")
    return f"{_host(match['host'])} {_web_part(path)}".strip()


def _email(match: Match, setting: Setting) -> str:
    return f"{_web_part(match['user'])} at {_host(match['host'])}"


def _tag(match: Match, setting: Setting) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", match[2])
    return f"{'hashtag' if match[1] == '#' else 'at'} {_web_part(words)}"


_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?P<host>{_LABEL}(?:\.{_LABEL})+)"
_PATH = r"(?::\d+)?(?P<path>[/?#][\w./?=&#%+~:@-]*[\w/])?"
_KNOWN_HOST = (
    rf"(?P<host>(?:{_LABEL}\.)+(?:com|org|net|edu|gov|io|info|app|dev|co\.uk|org\.uk|ac\.uk|uk|de|"
    rf"fr|eu|ca|au|ai|me|tv)\b(?!\.?\w))"
)
_FILES = "py|ya?ml|txt|md|html?|js|json|exe|pdf|docx?|jpe?g|png|gif|mp[34]|m4b|wav|zip|epub|csv"

ADDRESSES = Group(
    re.compile(r"[@#]|://|\w\.[a-z]"),
    (
        Rule("email", re.compile(rf"(?<!\w)(?P<user>[\w.+-]+)@{_HOST}"), _email),
        Rule("url", re.compile(rf"\b(?:https?|ftp)://{_HOST}{_PATH}", re.IGNORECASE), _url),
        Rule("url", re.compile(rf"\b(?=[Ww]{{3}}\.){_HOST}{_PATH}"), _url),
        Rule("url", re.compile(rf"(?<![\w.@]){_KNOWN_HOST}{_PATH}"), _url),
        Rule("tag", re.compile(r"(?<!\w)([@#])([A-Za-z_]\w*)"), _tag),
        Rule("file", re.compile(rf"\b[\w-]+\.(?:{_FILES})\b"), lambda m, setting: _web_part(m[0])),
    ),
)


# Signs -------------------------------------------------------------------------------------------


def _expand_curse(match: Match, setting: Setting) -> str | None:
    """Expand a censored curse: d—n; G—d."""
    first_letter, other_letters = match[0][0], match[0][1:]
    word = CURSES.get(first_letter + other_letters) or CURSES.get(
        first_letter.lower() + other_letters
    )
    return word.capitalize() if word and first_letter.isupper() else word


def _sign(match: Match, setting: Setting) -> str:
    """Speak a sign; "x > 5" compares, ">5 years" does not."""
    is_comparison = match[0] in "<>≤≥" and text_after(match).startswith(" ")
    return f" {'is ' * is_comparison}{SIGN_WORDS[match[0]]} "


_PRONOUNS = preceded_by(r"\bhe", r"\bshe", r"\bhim", r"\bher", r"\bhis", r"\bhers")
_PERSONS = preceded_by(
    *(rf"\b{title} " for title in r"Mr|Mr\.|Mrs|Mrs\.|Miss|Lord|Lady".split("|"))
)
_OMITTED = "(?:⸺|—{2,}|--+)"

SIGNS = Group(
    re.compile(rf"[{re.escape(''.join(SIGN_WORDS))}#~*/^⸺—¹⁴-⁹⁰]|--|[-=]>"),
    (
        Rule("abbreviation", re.compile(rf"(?<!\w)&c\b{DOT}"), say_always("et cetera")),
        Rule("ampersand", re.compile(r"\bAT&T\b"), say_always("A.T and T")),
        Rule(
            "per",
            re.compile(
                r"(?<=[\w%])/(second|sec|minute|min|hour|hr|day|night|week|month|year|yr|person"
                r"|head|mile|km|kg|lb)\b"
            ),
            lambda match, setting: f" per {UNITS.get(match[1], [match[1]])[0]}",
        ),
        Rule("slash", re.compile(preceded_by(r"\band", "ther") + r"/(?=or\b)"), say_always(" ")),
        Rule("slash", re.compile(rf"{_PRONOUNS}/(?=(?:s?he|him|hers?|his)\b)"), say_always(" or ")),
        Rule("slash", re.compile(r"\bs/he\b"), say_always("she or he")),
        Rule("slash", re.compile(r"\bc/o\b"), say_always("care of")),
        Rule("slash", re.compile(r"\bw/o\b"), say_always("without")),
        Rule("slash", re.compile(r"\bw/(?= )"), say_always("with")),
        Rule("slash", re.compile(r"(?<=\w)/(?=\w)"), say_always(" slash ")),
        Rule("sharp", re.compile(r"(?<=\b[A-G])#(?!\w)"), say_always(" sharp")),
        Rule("about", re.compile(r"~\s?(?=\d)"), say_always("about ")),
        Rule("power", re.compile(r"(?<=\w)\^(?=[\w-])"), say_always(" to the power of ")),
        Rule(
            "squared",
            re.compile(r"(?:(?<=\b\w)|(?<=\b\w\w))[²³]"),
            lambda m, setting: f" {SIGN_WORDS[m[0]]}",
        ),
        Rule("note mark", re.compile(r"[¹²³⁴-⁹⁰]+"), say_always("")),
        Rule("arrow", re.compile(r"[-=]+>|<[-=]+"), say_always(", ")),
        Rule("tag", re.compile(r"</?[a-z]+ ?/?>"), say_always("")),
        Rule(
            "sign",
            re.compile(rf"[{re.escape(''.join(SIGN_WORDS))}]"),
            _sign,
        ),
        Rule("number sign", re.compile("#"), say_always("")),
        Rule(
            "censored",
            re.compile(r"\b([A-Za-z])\*{2,}\w*"),
            lambda match, setting: f"{match[1].upper()} blank",
        ),
        Rule(
            "curse",
            re.compile(rf"\b(?:{alternatives(CURSES)})(?!\w)", re.IGNORECASE),
            _expand_curse,
        ),
        Rule("omitted", re.compile(rf"(?<![\w—-]){_OMITTED}(?=shire\b)"), say_always("Blank")),
        Rule("omitted", re.compile(rf"(?<=\b[A-Z]){_OMITTED}(?!\w)"), say_always(" blank")),
        Rule("omitted", re.compile(rf"(?<=\b1[78])(?:{_OMITTED}|—)(?!\w)"), say_always(" blank")),
        Rule("omitted", re.compile(rf"{_PERSONS}(?:{_OMITTED}|—)"), say_always("Blank")),
        Rule("omitted", re.compile("⸺"), say_always(" blank ")),
    ),
)


# Formulas ----------------------------------------------------------------------------------------

_SUBSCRIPTS = "₀-₉"


def _formula(match: Match, setting: Setting) -> str:
    """Speak a formula by its letters: H₂SO₄."""
    parts = re.findall(rf"[A-Z]|[a-z]|[{_SUBSCRIPTS}]+", match[0])
    return " ".join(
        part.upper() if part.isalpha() else numbers.label(_plain_digits(part)) for part in parts
    )


FORMULAS = Group(
    re.compile(rf"[{_SUBSCRIPTS}]|\b[fghFGH]\("),
    (
        Rule(
            "formula",
            re.compile(
                rf"(?<!\w)(?=\w*[{_SUBSCRIPTS}])(?:[A-Z][a-z]?[{_SUBSCRIPTS}]{{0,3}})+(?!\w)"
            ),
            _formula,
        ),
        Rule(
            "formula",
            re.compile(rf"[{_SUBSCRIPTS}]+"),
            lambda match, setting: f" {numbers.label(_plain_digits(match[0]))} ",
        ),
        Rule(
            "formula",
            re.compile(r"\b([fghFGH])\(([a-z](?:, ?[a-z]){0,3})\)"),
            lambda match, setting: f"{match[1]} of {match[2]}",
        ),
    ),
)


# Greek -------------------------------------------------------------------------------------------

_GREEK = "\u0370-\u03ff\u1f00-\u1fff\u0300-\u036f"
_LETTER_NAMES = {
    chr(code): name.lower().replace("lamda", "lambda")
    for code in (*range(0x391, 0x3AA), *range(0x3B1, 0x3CA))
    for *_, name in [unicodedata.name(chr(code), "").split(" ")]
    if code not in (0x3A2, 0x3C2)  # none, and the sigma that ends words
} | {"µ": "micro"}
_GREEK_BEFORE = re.compile(rf"[{_GREEK}]{{2}}[\s,;.·]+$")
_GREEK_AFTER = re.compile(rf"[\s,;.·]+[{_GREEK}]{{2}}")


def _greek_letter(match: Match, setting: Setting) -> str | None:
    """Speak a single letter by its name, Ω or α; leave one within Greek text."""
    preceding, following = text_before(match), text_after(match)
    if _GREEK_BEFORE.search(preceding[-40:]) or _GREEK_AFTER.match(following):
        return None
    name = _LETTER_NAMES[match[0]]
    name = f" {name}" if preceding[-1:].isalnum() else name
    return f"{name} " if following[:1].isalnum() else name


GREEK = Group(
    re.compile(f"[{_GREEK}µ]"),
    (
        Rule(
            "greek letter",
            re.compile(rf"(?<![{_GREEK}])[{''.join(_LETTER_NAMES)}](?![{_GREEK}'])"),
            _greek_letter,
        ),
    ),
)


# Roman numerals ----------------------------------------------------------------------------------

_ROMAN = "[MDCLXVI]+"


def _title_case_number(number: int, setting: Setting, *, is_ordinal: bool = False) -> str:
    """Return Twenty-One, the One Hundred and Fifth."""
    words = (numbers.ordinal if is_ordinal else numbers.cardinal)(number, british=setting.british)
    return re.sub(r"\b(?!and\b)[a-z]", lambda letter: letter[0].upper(), words)


def _leading(match: Match, setting: Setting) -> str | None:
    """Speak the number of a chapter: "IV", "IV. The Arrival"."""
    numeral, following = match[1], text_after(match)
    number = numbers.roman(numeral)
    if number is None:
        return None
    if not setting.heading:  # a line of its own all the same
        stands_alone = len(numeral) > 1 and number < 40 and not re.search(r"\w", following)
    else:  # but not "I Am Born"
        stands_alone = len(numeral) > 1 or bool(re.match(r"\s*(?:$|[.:)\]—–-])", following))
    return _title_case_number(number, setting) if stands_alone else None


_DIVISION = re.compile(rf"\b({DIVISIONS})\s$", re.IGNORECASE)
_PAGED = re.compile(
    r"\b(?:pages?|pp?\.|scene|act|vol(?:\.|ume)|ch(?:\.|ap\.|apter)|book|part|section|canto"
    r"|fig(?:\.|ure))\s$",
    re.IGNORECASE,
)
_FIRM_DIVISIONS = frozenset(("chapter", "volume", "act", "scene", "canto", "world war"))


def _pronoun_follows(match: Match, verbs: frozenset[str]) -> bool:
    """Return True if the text after "I" shows that it is the pronoun."""
    word = re.match(r"\s([a-z']+)|'(?:m|ve|d|ll)\b", text_after(match))
    return bool(word and (word[1] is None or word[1] in verbs))


def _roman_year(match: Match, setting: Setting) -> str | None:
    """Speak MCMXCIX."""
    number = numbers.roman(match[0])
    return (
        None
        if number is None or not 1400 < number < 2100
        else numbers.year(number, british=setting.british)
    )


def _division(match: Match, setting: Setting) -> str | None:
    """Speak a numeral after the name of a division: Chapter IV, page xii."""
    numeral = match[0]
    number = numbers.roman(numeral)
    preceding = text_before(match)[-24:]
    is_paged = _PAGED.search(preceding)
    if numeral.islower():
        return numbers.cardinal(number, british=setting.british) if number and is_paged else None
    cue = _DIVISION.search(preceding)
    if number is None or cue is None or numeral in ("C", "D", "L", "M"):
        return None
    if len(numeral) == 1 and cue[1][0].islower() and not is_paged:
        return None
    if numeral == "I" and not _counts_one(match, cue[1]):
        return None
    return _title_case_number(number, setting)


def _counts_one(match: Match, division: str) -> bool:
    """Return True if the "I" after a division's name is a number: "act I.", not "in part I
    agree"."""
    is_closed = re.match(r"[.,:;)\]!?\"]|\s*$|\s(?:of|and|to|is|—|–|-)", text_after(match))
    is_firm = division.lower() in _FIRM_DIVISIONS
    if division[0].islower() and not (is_closed and is_firm):
        return False
    return bool(is_closed) or (is_firm and not _pronoun_follows(match, AFTER_PRONOUN))


_NAMES = re.compile(r"(?:[A-Z][\w'.-]*\s){1,4}$")
_FIRST_FOLLOWS = re.compile(
    r"'s\b|\s(?:of|who|has|is|were|reigned|ruled|died|became)\b|\sand [A-Z]"
    r"|[,;]\s(?:who|the|king|queen|emperor)\b"
)
_KING_FOLLOWS = re.compile(
    r"\s(?:in|of|on|at|by|to|from|and|or|was|were|is|had|has|who|which|that|as|during|until|till|after"
    r"|before|with|for|against|under|when|while|whose|reigned|ruled|died|became|himself|herself)\b"
)
"""Words after "King Charles I" within a sentence; before other words it may be the pronoun."""
_LINKING_WORD = re.compile(r"\b(?:to|as|with|for|like|when|that|than)\s$", re.IGNORECASE)


def _regnal(match: Match, setting: Setting) -> str | None:
    """Speak Henry VIII, King Charles I, John D. Rockefeller III."""
    numeral, following = match[1], text_after(match)
    number = None if numeral in ("C", "D", "L", "M") else numbers.roman(numeral)
    preceding = text_before(match)[-160:]
    name_match = _NAMES.search(preceding)
    if number is None or number > 39 or name_match is None:
        return None
    names = name_match[0].split()
    if _ends_sentence(names[-1]):
        return None
    is_ruler = any(name in RULERS for name in names[:-1])
    if not (is_ruler or any(name in REGNAL_NAMES for name in names)):
        return None
    if numeral == "I" and not match[2]:
        text_before_name = preceding[: name_match.start()]
        if not _is_first(
            match, text_before_name, is_ruler=is_ruler, is_regnal=names[0] in REGNAL_NAMES
        ):
            return None
    if len(numeral) == 1 and re.match(rf"\.\s+(?!(?:{STARTERS})\b)[A-Z]", following):
        return None  # an initial: Henry V. Morton
    return f"the {_title_case_number(number, setting, is_ordinal=True)}"


def _ends_sentence(name: str) -> bool:
    """Return True if a sentence ends with a name: "Queen Anne. I wept", but "King Chas. II"."""
    return name.endswith(".") and name[:-1] not in NEVER_CLOSING


def _is_first(match: Match, text_before_name: str, *, is_ruler: bool, is_regnal: bool) -> bool:
    """Return True if the "I" after a name is a number, not the pronoun."""
    following = text_after(match)
    if _FIRST_FOLLOWS.match(following):
        return True
    if _pronoun_follows(match, FIRST_PERSON):
        return False
    if is_ruler:
        if re.match(r"[.,;:!?)\"]|$", following):
            return not _LINKING_WORD.search(text_before_name)
        if not re.match(r"\s[a-z]", following) or _LINKING_WORD.search(text_before_name):
            return False
        return bool(OPENS.search(text_before_name) or _KING_FOLLOWS.match(following))
    return is_regnal and bool(OPENS.search(text_before_name) and re.match(r"\s[a-z]", following))


def _and_nth(match: Match, setting: Setting) -> str | None:
    """Speak the second numeral of James I and VI, James VI and I."""
    number = numbers.roman(match[1])
    name_match = re.search(r"\b([A-Z]\w+) ([IVX]+) and $", text_before(match)[-40:])
    if number is None or number > 39 or not name_match or name_match[1] not in REGNAL_NAMES:
        return None
    if match[1] == "I" and (
        name_match[0] != "James VI and " or _pronoun_follows(match, FIRST_PERSON)
    ):
        return None
    return _title_case_number(number, setting, is_ordinal=True)


_PLURALS = "|".join(
    name.removesuffix(r"\.") + (r"s\." if name.endswith(r"\.") else "s")
    for name in DIVISIONS.split("|")
)
_DIVISION_LIST = re.compile(
    rf"\b(?i:(?P<one>{DIVISIONS})|{_PLURALS})\s"
    r"(?P<earlier>(?:[IVXLC]{1,7}(?:,|,? (?:and|or|to|&)|\s?[–-])\s?){0,9})$"
)
_GOES_ON = re.compile(r"(?:, |,? (?:and|or|to|&) |\s?[–-]\s?)[IVXLC]+\b(?!['’.]\w)")


def _listed(match: Match, setting: Setting) -> str | None:
    """Speak Chapters I and II, Parts I to III; "Letters I wrote" has the pronoun."""
    number, list_match = numbers.roman(match[0]), _DIVISION_LIST.search(text_before(match)[-120:])
    if number is None or number > 199 or list_match is None:
        return None
    if list_match["earlier"]:
        return None if match[0] == "I" else _title_case_number(number, setting)
    return (
        _title_case_number(number, setting)
        if not list_match["one"] and _GOES_ON.match(text_after(match))
        else None
    )


def _item(match: Match, setting: Setting) -> str | None:
    number = numbers.roman(match[0])
    return None if number is None else numbers.cardinal(number, british=setting.british)


def _nth(match: Match, setting: Setting) -> str | None:
    number = numbers.roman(match[1])
    return None if number is None else numbers.ordinal(number, british=setting.british)


def _bare_roman(match: Match, setting: Setting) -> str | None:
    """Speak XIV; IV and VI have other meanings, so two letters only after a capitalised name."""
    number = numbers.roman(match[0])
    if number is None or number > 39:
        return None
    has_name = re.search(rf"\b(?!(?:{STARTERS})\b)[A-Z][a-z'.]+\s$", text_before(match)[-40:])
    return _title_case_number(number, setting) if has_name or len(match[0]) > 2 else None


ROMANS = Group(
    re.compile(
        r"\bWW|\b[IVXLCDM]+(?:\b|th\b|st\b|nd\b|rd\b)|(?<=[a-z.] )[ivxlc]+\b|\([ivx]+\)"
        r"|\bm[mdclxvi]{4}"
    ),
    (
        Rule(
            "year",
            re.compile(r"(?<![\w.'-])(?:M[MDCLXVI]{3,}|m[mdclxvi]{4,})\b(?!\.\w|['-]\w)"),
            _roman_year,
        ),
        Rule("roman", re.compile(rf"^\W*({_ROMAN})(?=$|[\s.:)\]—–-])"), _leading),
        Rule("roman", re.compile(r"\bWWII\b"), say_always("World War Two")),
        Rule("roman", re.compile(r"\bWWI\b"), say_always("World War One")),
        Rule("roman", re.compile(r"(?<=[\w.,&]\s)[IVXLC]+\b(?!['’.]\w)"), _listed),
        Rule("roman", re.compile(rf"(?<=[\w.]\s)(?:{_ROMAN}|[ivxlc]+)\b(?!\.\w)"), _division),
        Rule("roman", re.compile(r"(?<![A-Za-z]\()(?<=\()[ivx]+(?=\))"), _item),
        Rule("roman", re.compile(r"\b(?!I(?:th|nd|rd)\b)([IVXLC]+)(?:th|st|nd|rd)\b"), _nth),
        Rule(
            "roman",
            re.compile(r"\b([IVXLC]+)(?=[\s-](?:[Cc]entury|[Cc]enturies|[Dd]ynasty|[Oo]lympi))"),
            _nth,
        ),
        Rule(
            "roman",
            re.compile(rf"(?<=[\w.]\s)(?:the )?({_ROMAN})\b(\.(?=[,;:']| [a-z]))?"),
            _regnal,
        ),
        Rule("roman", re.compile(r"(?<=[IVX] and )([IVX]+)\b(?![.'-]?\w)"), _and_nth),
        Rule("roman", re.compile(r"(?<![\w.'-])[IVX]{2,}\b(?![.'-]?\w)"), _bare_roman),
    ),
)


# Abbreviations and initials ----------------------------------------------------------------------


_DRIVE_ENDS = re.compile(rf"\s(?!No\b)(?:{STARTERS})\b|[\"')]*\s*$")


def _title(match: Match, setting: Setting) -> str | None:
    """Expand a title, but "Dr" after a street's name to Drive."""
    name = match[1] if match[1] in TITLES else match[1].capitalize()
    has_name = re.match(r"\s?[A-Z]", text_after(match))
    if name == "Dr" and not has_name and re.search(r"\d+ (?:[A-Z]\w+ )+$", text_before(match)):
        return "Drive"
    if match[0] == "Dr." and _DRIVE_ENDS.match(text_after(match)):
        preceding = text_before(match)[-60:]  # Elm Dr. He left.
        if re.search(r"\b(?!Herr|Frau)[A-Z][\w']+ $", preceding) and not _NOT_STREET.search(
            preceding
        ):
            return "Drive."
    return TITLES[name] + _space(match)


def _space(match: Match) -> str:
    """Return a space if a letter follows: "Mr.Jones"."""
    return " " if text_after(match)[:1].isalpha() else ""


_NOT_STREET = re.compile(
    rf"\b(?:{alternatives([*TITLES, *RANKS, *RULERS])}|Sir|Lady|Miss|Madam|Saint|{STARTERS})\.? $"
)


def _saint(match: Match, setting: Setting) -> str | None:
    """Speak Saint before a name, but Street after a name with a number, or if no name follows."""
    preceding = text_before(match)
    if re.search(r"\d\w* (?:[NSEW]\.? )?(?:[A-Z][\w']+ )+$|\d(?:st|nd|rd|th) $", preceding):
        return "Street"
    following = text_after(match)
    has_name = re.search(r"\b[A-Z][\w'.]+ $", preceding) and not _NOT_STREET.search(preceding)
    if re.match(r"\s?(?:—|--)", following):
        return (
            "Street" if has_name or re.search(r"\b(?:the|this|that|our) $", preceding) else "Saint"
        )
    if has_name and re.match(rf"\s(?:{STARTERS})\b", following):
        return "Street."
    if re.match(r"[\s-]?[A-Z]", following):
        return f"Saint{_space(match)}"
    return "Street" if has_name else None


def _rank(match: Match, setting: Setting) -> str:
    return RANKS[match[1]] + _space(match)


_PLACE_BEFORE = re.compile(r"(?:\b[A-Z][\w'.]*|\d(?:st|nd|rd|th)|&),? $")


def _place(match: Match, setting: Setting) -> str | None:
    return PLACES[match[1]] if _PLACE_BEFORE.search(text_before(match)) else None


def _initials(match: Match, setting: Setting) -> str:
    return ".".join(re.findall(r"[^\W\d_]", match[0]))


_NOT_A_NAME = re.compile(
    r"\b(?:vitamin|plan|grade|type|class|part|point|section|exhibit|letter|appendix|figure|option"
    r"|group|team|block|room|hepatitis)\s$",
    re.IGNORECASE,
)


def _initial(match: Match, setting: Setting) -> str | None:
    return None if _NOT_A_NAME.search(text_before(match)) else match[1] + _space(match)


_OPENS_INITIALS = r"(?<![\w.'])"

_OTHER_ABBREVIATIONS = "MR MRS DR St ST Ste Sts v ETC aka ie eg Ie Eg".split()
_ABBREVIATED = alternatives(
    [*TITLES, *RANKS, *PLACES, *NEVER_CLOSING, *CLOSING, *DEGREES, *_OTHER_ABBREVIATIONS]
)

ABBREVIATIONS = Group(
    re.compile(rf"\.(?!{CAPITAL_FOLLOWS})|\b(?:{_ABBREVIATED}|[A-Z]\.)(?!\w)"),
    (
        Rule(
            "degree",
            re.compile(rf"\b({alternatives(DEGREES)})\b{DOT}"),
            lambda m, setting: DEGREES[m[1]],
        ),
        Rule(
            "direction",
            re.compile(r"(?<!\.)\b([NSEW])\.(?= \d+(?:st|nd|rd|th)\b)"),
            lambda match, setting: {"N": "North", "S": "South", "E": "East", "W": "West"}[match[1]],
        ),
        Rule("title", re.compile(rf"\b({alternatives(TITLES)}|MR|MRS|DR)\b\.?"), _title),
        Rule("saint", re.compile(r"\bS[Tt]\b\.?"), _saint),
        Rule("saint", re.compile(r"\bSte\.?(?=[\s-][A-Z])"), say_always("Sainte")),
        Rule("saint", re.compile(r"\bS[St]s?\.(?=\s[A-Z])"), say_always("Saints")),
        Rule("rank", re.compile(rf"\b({alternatives(RANKS)})\.(?=[\s-]?[A-Z])"), _rank),
        Rule(
            "rank",
            re.compile(rf"\b({alternatives(RANKS.keys() - RANKS_DOTTED)})(?= [A-Z][a-z])"),
            _rank,
        ),
        Rule("place", re.compile(rf"\b({alternatives(PLACES)}){DOT_OR_END}"), _place),
        Rule(
            "place",
            re.compile(r"\b(Ltd|Jr|Jnr|Sr|Snr|Inc|Bros|Co|Corp|Rd|Ave|Blvd)\b(?! [A-Z])"),
            _place,
        ),
        Rule("that is", re.compile(r"\b[Ii](?:\.\s?e\.|e(?=,))"), say_always("that is")),
        Rule("for example", re.compile(r"\b[Ee](?:\.\s?g\.|g(?=,))"), say_always("for example")),
        Rule("also known as", re.compile(r"\b(?:a\.k\.a\.|aka\b)"), say_always("also known as")),
        Rule("half day", re.compile(rf"\b([ap])\.m\b{DOT}"), lambda m, setting: f"{m[1]}.m"),
        Rule(
            "versus",
            re.compile(r"(?<=[\w)\].] )(?:vs?\.|v(?= [A-Z])|vs)(?= )"),
            say_always("versus"),
        ),
        Rule(
            "abbreviation",
            re.compile(rf"\b({alternatives(NEVER_CLOSING)})\."),
            lambda match, setting: NEVER_CLOSING[match[1]],
        ),
        Rule(
            "abbreviation",
            re.compile(rf"\b({alternatives(CLOSING)}){DOT_OR_END}"),
            lambda match, setting: CLOSING[match[1]],
        ),
        Rule("abbreviation", re.compile(r"\b(?:etc|ETC)\b"), say_always("et cetera")),
        Rule(
            "weekday",
            re.compile(
                rf"\b({alternatives(DAYS.keys() - ('Sat', 'Sun'))})\.(?=\s[a-z])"
                r"|\b(Sat|Sun)\.(?= (?:morning|afternoon|evening|night))"
            ),
            lambda match, setting: DAYS[match[1] or match[2]],
        ),
        Rule(
            "initials",
            re.compile(
                rf"{_OPENS_INITIALS}(?:[A-Z]\.\s?)+[A-Z]"
                rf"(?:\.(?!{SENTENCE_FOLLOWS}|\w)|(?=\.(?!\w))|(?<=\.[A-Z])\b)"
            ),
            _initials,
        ),
        Rule(
            "initials",
            re.compile(
                rf"{_OPENS_INITIALS}[a-z](?:\.[a-z])+(?:\.(?!{CAPITAL_FOLLOWS}|\w)|(?=\.(?!\w)))"
            ),
            _initials,
        ),
        Rule(
            "initial",
            re.compile(rf"{_OPENS_INITIALS}([A-HJ-Z])\.(?=\s?(?!(?:{STARTERS})\b)[A-Z][\w'])"),
            _initial,
        ),
        Rule("initial", re.compile(rf"{_OPENS_INITIALS}([A-HJ-Z])\.(?=,| [a-z]|\s?&)"), _initial),
    ),
)


# Capitals ----------------------------------------------------------------------------------------

_UPPER = "A-ZÀ-ÖØ-ÞŒ"
_PREVIOUS_WORD = re.compile(r"([^\W\d_][\w']*)[^\w]*$")
_FOLLOWING_WORD = re.compile(r"[^\w]*([^\W\d_][\w']*)")
_NOISE = re.compile(r"(?:.*(.)\1\1.*|H+M+|M+H+M+|S+H+|G+R+|B+R+)")
_COMPUTING = re.compile(
    r" (?:department|support|guy|man|team|consultant|specialist|manager|staff|sector|company"
    r"|industry|job|systems?|people|services|security)\b"
)


def _is_word(capitals: str) -> bool:
    """Return True if a word in capitals is emphasis, judged by the word alone."""
    word = capitals.lower().replace("'", "")
    if word in SHORT or word in VOWELLESS or _NOISE.fullmatch(capitals):
        return True
    has_vowel = bool(re.search(f"[AEIOUY{_UPPER[3:]}]", capitals))
    return "'" in capitals or (len(word) > 3 and has_vowel) or len(word) > 6


def _is_shouted(word: str) -> bool:
    if len(word) < 2 or not word.isupper() or (word in SPELLED and word not in AMBIGUOUS_CAPITALS):
        return False
    return _is_word(word)


def _is_beside_shouting(match: Match) -> bool:
    neighbours = (
        _PREVIOUS_WORD.search(text_before(match)[-80:]),
        _FOLLOWING_WORD.match(text_after(match)),
    )
    return any(word and _is_shouted(word[1]) for word in neighbours)


def _capitals(match: Match, setting: Setting) -> str | None:
    """Speak a word in capitals: kept, lower-cased as emphasis, or spelled as initials."""
    word_base = match[0].removesuffix("'S")
    possessive = "'s" if word_base != match[0] else ""
    preceding, following = text_before(match), text_after(match)
    is_beside_shouting = _is_beside_shouting(match)
    if word_base in SPELLED and not (is_beside_shouting and word_base in AMBIGUOUS_CAPITALS):
        return word_base + possessive if possessive else None
    if word_base == "IT" and _COMPUTING.match(following):
        return "I.T"
    has_vowel = re.search(f"[AEIOUY{_UPPER[3:]}]", word_base)
    if not (_is_word(word_base) or (is_beside_shouting and has_vowel)):
        return ".".join(word_base) + possessive
    word = word_base.lower() + possessive
    opens_sentence = not re.search(r"\w", preceding) or OPENS.search(preceding)
    return word.capitalize() if setting.heading or opens_sentence else re.sub(r"^i(?=')", "I", word)


CAPITALS = Group(
    re.compile(rf"[{_UPPER}]{{2}}|\b[A-Z]'[A-Z]"),
    (
        Rule(
            "capitals",
            re.compile(
                rf"(?<![\w&.])(?:[{_UPPER}]{{2,}}(?:'[A-Z]+)*|[A-Z](?:'[A-Z]+)+)(?![\w&]|\.\w)"
            ),
            _capitals,
        ),
    ),
)


_LETTERS = {"œ": "oe", "æ": "ae", "Œ": "Oe", "Æ": "Ae"}
LIGATURES = Group(
    re.compile("[œæŒÆ]"),
    (Rule("ligature", re.compile("[œæŒÆ]"), lambda match, setting: _LETTERS[match[0]]),),
)
