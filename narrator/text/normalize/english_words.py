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
    CURSES,
    DIVISIONS,
    FIRST_PERSON,
    NEVER_CLOSING,
    PLACES,
    RANKS,
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
from narrator.text.normalize.english_match import EnglishMatch
from narrator.text.normalize.english_measures import unit_names
from narrator.text.normalize.english_parts import OPENS
from narrator.text.normalize.rules import alternatives
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


def url(match: EnglishMatch) -> str:
    path = (match["path"] or "").rstrip("/")
    return f"{_host(match['host'])} {_web_part(path)}".strip()


def email(match: EnglishMatch) -> str:
    return f"{_web_part(match['user'])} at {_host(match['host'])}"


def tag(match: EnglishMatch) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", match[2])
    return f"{'hashtag' if match[1] == '#' else 'at'} {_web_part(words)}"


# Signs -------------------------------------------------------------------------------------------


def expand_curse(match: EnglishMatch) -> str | None:
    """Expand a censored curse: d—n; G—d."""
    first_letter, other_letters = match[0][0], match[0][1:]
    word = CURSES.get(first_letter + other_letters) or CURSES.get(
        first_letter.lower() + other_letters
    )
    return word.capitalize() if word and first_letter.isupper() else word


def sign(match: EnglishMatch) -> str:
    """Speak a sign; "x > 5" compares, ">5 years" does not."""
    is_comparison = match[0] in "<>≤≥" and match.after.startswith(" ")
    return f" {'is ' * is_comparison}{SIGN_WORDS[match[0]]} "


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


def power(match: EnglishMatch) -> str | None:
    """Speak 10⁻³, x⁴; None for a lone ¹, ² or ³."""
    figures = match[0].translate(_SUPERSCRIPTS)
    if figures in ("1", "2", "3"):
        return None
    sign = "minus " if figures[0] == "-" else ""
    return f" to the power of {sign}{match.cardinal(figures.strip('+-'))}"


def charge(match: EnglishMatch) -> str:
    """Speak the charge of an ion: Fe³⁺."""
    size = f" {match.cardinal(match[1].translate(_SUPERSCRIPTS))}" if match[1] else ""
    return f"{size} {'plus' if match[2] == '⁺' else 'minus'}"


def isotope(match: EnglishMatch) -> str:
    """Speak ¹⁴C, ²³⁵U, ³H."""
    figures, element = filter(None, match.match.groups())
    return f"{element}-{numbers.label(figures.translate(_SUPERSCRIPTS))}"


_ACCIDENTALS = {"♯": "sharp", "♭": "flat", "♮": "natural"}
_SUITS = {"♠": "spades", "♥": "hearts", "♦": "diamonds", "♣": "clubs"}
_CARDS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack"}


def accidental(match: EnglishMatch) -> str:
    gap = " " if match.after[:1].isalnum() else ""
    return f" {_ACCIDENTALS[match[0]]}{gap}"


def card(match: EnglishMatch) -> str:
    """Speak A♠ and ♠A as the ace of spades, and 4♠ as a bid."""
    rank, suit = match["rank"] or match["last"], _SUITS[match["suit"] or match["first"]]
    if match["rank"] and rank.isdecimal() and int(rank) < 8:
        return f"{match.cardinal(rank)} {suit}"
    return f"{_CARDS.get(rank) or match.cardinal(rank)} of {suit}"


_PIECES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight"}


def chess_number(match: EnglishMatch) -> str:
    return f"{match.cardinal(match[1])}, "


def chess_move(match: EnglishMatch) -> str | None:
    """Speak Nf3, Qxf7#, exd5, O-O; None for a stammer, "O-O"."""
    if match["castle"]:
        is_game = re.search(r"[a-h][1-8]\b|\d\. ?$", match.before[-40:])
        if not (is_game or re.search(r"[a-h][1-8]\b", match.after[:20])):
            return None
        words = f"castles {'queenside' if match['castle'].count('O') == 3 else 'kingside'}"
    else:
        square = f"{match['square'][0].upper()}-{match.cardinal(match['square'][1])}"
        piece = _PIECES.get(match["piece"] or "", (match["pawn"] or "").upper())
        origin = f" {match['origin'].upper()}" if match["origin"] else ""
        words = f"{piece}{origin}{' takes' if match['takes'] else ''} {square}"
        words += f", {_PIECES[match['queen']]}" if match["queen"] else ""
    return words + {"+": " check", "#": " mate"}.get(match["check"] or "", "")


# Formulas ----------------------------------------------------------------------------------------

_SUBSCRIPTS = "₀-₉"


def formula(match: EnglishMatch) -> str:
    """Speak a formula by its letters: H₂SO₄."""
    parts = re.findall(rf"[A-Z]|[a-z]|[{_SUBSCRIPTS}]+", match[0])
    return " ".join(
        part.upper() if part.isalpha() else numbers.label(_plain_digits(part)) for part in parts
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


def greek_letter(match: EnglishMatch) -> str | None:
    """Speak a single letter by its name, Ω or α; leave one within Greek text."""
    preceding, following = match.before, match.after
    if _GREEK_BEFORE.search(preceding[-40:]) or _GREEK_AFTER.match(following):
        return None
    name = _LETTER_NAMES[match[0]]
    name = f" {name}" if preceding[-1:].isalnum() else name
    return f"{name} " if following[:1].isalnum() else name


# Roman numerals ----------------------------------------------------------------------------------


def _title_case(words: str) -> str:
    """Return Twenty-One, One Hundred and Fifth."""
    return re.sub(r"\b(?!and\b)[a-z]", lambda letter: letter[0].upper(), words)


def leading(match: EnglishMatch) -> str | None:
    """Speak the number of a chapter: "IV", "IV. The Arrival"."""
    numeral, number = match[1], numbers.roman(match[1])
    if not match.heading:  # a line of its own all the same
        is_label = re.match(r"[.:] [\"'(]?[A-Z]|\W*$", match.after)
        stands_alone = len(numeral) > 1 and number < 40 and bool(is_label)
    else:  # but not "I Am Born"
        stands_alone = len(numeral) > 1 or bool(re.match(r"\s*(?:$|[.:)\]—–-])", match.after))
    return _title_case(match.cardinal(number)) if number and stands_alone else None


_DIVISION = re.compile(rf"\b({alternatives(DIVISIONS)})\s$", re.IGNORECASE)
_PAGED = re.compile(
    r"\b(?:pages?|pp?\.|scene|act|vol(?:\.|ume)|ch(?:\.|ap\.|apter)|book|part|section|canto"
    r"|fig(?:\.|ure))\s$",
    re.IGNORECASE,
)
_FIRM_DIVISIONS = frozenset(("chapter", "volume", "act", "scene", "canto", "world war"))


def _pronoun_follows(match: EnglishMatch, verbs: frozenset[str]) -> bool:
    """Return True if the text after "I" shows that it is the pronoun."""
    word = re.match(r"\s([a-z']+)|'(?:m|ve|d|ll)\b", match.after)
    return bool(word and (word[1] is None or word[1] in verbs))


def roman_year(match: EnglishMatch) -> str | None:
    """Speak MCMXCIX."""
    number = numbers.roman(match[0])
    return match.year(number) if 1400 < number < 2100 else None


def division(match: EnglishMatch) -> str | None:
    """Speak a numeral after the name of a division: Chapter IV, page xii."""
    numeral, number, preceding = match[0], numbers.roman(match[0]), match.before[-24:]
    is_paged = _PAGED.search(preceding)
    if numeral.islower():
        return match.cardinal(number) if number and is_paged else None
    cue = _DIVISION.search(preceding)
    if not number or cue is None or numeral in ("C", "D", "L", "M"):
        return None
    is_word = len(numeral) == 1 and cue[1][0].islower() and not is_paged
    if is_word or (numeral == "I" and not _counts_one(match, cue[1])):
        return None
    return _title_case(match.cardinal(number))


def page_range(match: EnglishMatch) -> str | None:
    """Speak pp. iv–ix."""
    first, last = numbers.roman(match[1]), numbers.roman(match[2])
    is_range = 0 < first < last and _PAGED.search(match.before[-24:])
    return f"{match.cardinal(first)} to {match.cardinal(last)}" if is_range else None


def _counts_one(match: EnglishMatch, division: str) -> bool:
    """Return True if the "I" after a division's name is a number: "act I.", not "in part I
    agree"."""
    is_closed = re.match(r"[.,:;)\]!?\"]|\s*$|\s(?:of|and|to|is|—|–|-)", match.after)
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


def regnal(match: EnglishMatch) -> str | None:
    """Speak Henry VIII, King Charles I, John D. Rockefeller III."""
    numeral, number, preceding = match[1], numbers.roman(match[1]), match.before[-160:]
    name_match = _NAMES.search(preceding)
    if not 0 < number < 40 or name_match is None:
        return None
    names = name_match[0].split()
    # "Queen Anne. I wept", but "King Chas. II"
    ends_sentence = names[-1].endswith(".") and names[-1][:-1] not in NEVER_CLOSING
    is_ruler = not RULERS.isdisjoint(names[:-1])
    if ends_sentence or not (is_ruler or not REGNAL_NAMES.isdisjoint(names)):
        return None
    is_pronoun = (
        numeral == "I"
        and not match[2]
        and not _is_first(match, preceding[: name_match.start()], names[0], is_ruler=is_ruler)
    )
    # an initial: Henry V. Morton
    is_initial = len(numeral) == 1 and re.match(rf"\.\s+(?!(?:{STARTERS})\b)[A-Z]", match.after)
    return None if is_pronoun or is_initial else f"the {_title_case(match.ordinal(number))}"


def _is_first(match: EnglishMatch, text_before_name: str, name: str, *, is_ruler: bool) -> bool:
    """Return True if the "I" after a name is a number, not the pronoun."""
    following = match.after
    if _FIRST_FOLLOWS.match(following):
        return True
    if _pronoun_follows(match, FIRST_PERSON):
        return False
    if is_ruler:
        if re.match(r"[.,;:!?)\"]|$", following):
            return not _LINKING_WORD.search(text_before_name)
        continues_previous = re.match(r"\s[a-z]", following) and not _LINKING_WORD.search(
            text_before_name
        )
        is_king = OPENS.search(text_before_name) or _KING_FOLLOWS.match(following)
        return bool(continues_previous and is_king)
    begins_sentence = OPENS.search(text_before_name) and re.match(r"\s[a-z]", following)
    return bool(name in REGNAL_NAMES and begins_sentence)


def and_nth(match: EnglishMatch) -> str | None:
    """Speak the second numeral of James I and VI, James VI and I."""
    number = numbers.roman(match[1])
    name_match = re.search(r"\b([A-Z]\w+) ([IVX]+)\.? and $", match.before[-40:])
    if not 0 < number < 40 or not name_match or name_match[1] not in REGNAL_NAMES:
        return None
    is_first = name_match[0].startswith("James VI") and not _pronoun_follows(match, FIRST_PERSON)
    return _title_case(match.ordinal(number)) if match[1] != "I" or is_first else None


_PLURALS = alternatives(
    f"{name.removesuffix('.')}s{'.' * name.endswith('.')}" for name in DIVISIONS
)
_DIVISION_LIST = re.compile(
    rf"\b(?i:(?P<one>{alternatives(DIVISIONS)})|{_PLURALS})\s"
    r"(?P<earlier>(?:[IVXLC]{1,7}(?:,|,? (?:and|or|to|&)|\s?[–-])\s?){0,9})$"
)
_GOES_ON = re.compile(r"(?:, |,? (?:and|or|to|&) |\s?[–-]\s?)[IVXLC]+\b(?!['’.]\w)")


def listed(match: EnglishMatch) -> str | None:
    """Speak Chapters I and II, Parts I to III; "Letters I wrote" has the pronoun."""
    number, list_match = numbers.roman(match[0]), _DIVISION_LIST.search(match.before[-120:])
    if not 0 < number < 200 or list_match is None:
        return None
    is_last = list_match["earlier"] and match[0] != "I"
    is_first = not list_match["one"] and _GOES_ON.match(match.after)
    is_listed = is_last if list_match["earlier"] else is_first
    return _title_case(match.cardinal(number)) if is_listed else None


def bare_roman(match: EnglishMatch) -> str | None:
    """Speak XIV; IV and VI have other meanings, so two letters only after a capitalised name."""
    number = numbers.roman(match[0])
    has_name = re.search(rf"\b(?!(?:{STARTERS})\b)[A-Z][a-z'.]+\s$", match.before[-40:])
    is_number = 0 < number < 40 and (has_name or len(match[0]) > 2)
    return _title_case(match.cardinal(number)) if is_number else None


# Abbreviations and initials ----------------------------------------------------------------------


_DRIVE_ENDS = re.compile(rf"\s(?!No\b)(?:{STARTERS})\b|[\"')]*\s*$")


def title(match: EnglishMatch) -> str | None:
    """Expand a title, but "Dr" after a street's name to Drive."""
    name = match[1] if match[1] in TITLES else match[1].capitalize()
    has_name = re.match(r"\s?[A-Z]", match.after)
    if name == "Dr" and not has_name and re.search(r"\d+ (?:[A-Z]\w+ )+$", match.before):
        return "Drive"
    preceding = match.before[-60:]
    is_drive = (  # Elm Dr. He left.
        match[0] == "Dr."
        and _DRIVE_ENDS.match(match.after)
        and re.search(r"\b(?!Herr|Frau)[A-Z][\w']+ $", preceding)
        and not _NOT_STREET.search(preceding)
    )
    return "Drive." if is_drive else TITLES[name] + _space(match)


def _space(match: EnglishMatch) -> str:
    """Return a space if a letter follows: "Mr.Jones"."""
    return " " if match.after[:1].isalpha() else ""


_NOT_STREET = re.compile(
    rf"\b(?:{alternatives([*TITLES, *RANKS, *RULERS])}|Sir|Lady|Miss|Madam|Saint|{STARTERS})\.? $"
)


_STARTER_FOLLOWS = re.compile(rf"\s(?:{STARTERS})\b")


def saint(match: EnglishMatch) -> str | None:
    """Speak Saint before a name, but Street after a name with a number, or if no name follows."""
    preceding, following = match.before, match.after
    if re.search(r"\d\w* (?:[NSEW]\.? )?(?:[A-Z][\w']+ )+$|\d(?:st|nd|rd|th) $", preceding):
        return "Street." if _STARTER_FOLLOWS.match(following) else "Street"
    has_name = re.search(r"\b[A-Z][\w'.]+ $", preceding) and not _NOT_STREET.search(preceding)
    if re.match(r"\s?(?:—|--)", following):
        is_street = has_name or re.search(r"\b(?:the|this|that|our) $", preceding)
        return "Street" if is_street else "Saint"
    if has_name and _STARTER_FOLLOWS.match(following):
        return "Street."
    if re.match(r"[\s-]?[A-Z]", following):
        return f"Saint{_space(match)}"
    return "Street" if has_name else None


def rank(match: EnglishMatch) -> str:
    return RANKS[match[1]] + _space(match)


_PLACE_BEFORE = re.compile(r"(?:\b[A-Z][\w'.]*|\d(?:st|nd|rd|th)|&),? $")


def place(match: EnglishMatch) -> str | None:
    return PLACES[match[1]] if _PLACE_BEFORE.search(match.before) else None


def initials(match: EnglishMatch) -> str:
    return ".".join(re.findall(r"[^\W\d_]", match[0]))


_NOT_A_NAME = re.compile(
    r"\b(?:vitamin|plan|grade|type|class|part|point|section|exhibit|letter|appendix|figure|option"
    r"|group|team|block|room|hepatitis)\s$",
    re.IGNORECASE,
)


def initial(match: EnglishMatch) -> str | None:
    return None if _NOT_A_NAME.search(match.before) else match[1] + _space(match)


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
    is_spelled = word in SPELLED and word not in AMBIGUOUS_CAPITALS
    return len(word) > 1 and word.isupper() and not is_spelled and _is_word(word)


def _is_beside_shouting(match: EnglishMatch) -> bool:
    neighbours = (_PREVIOUS_WORD.search(match.before[-80:]), _FOLLOWING_WORD.match(match.after))
    return any(word and _is_shouted(word[1]) for word in neighbours)


def capitals(match: EnglishMatch) -> str | None:
    """Speak a word in capitals: kept, lower-cased as emphasis, or spelled as initials."""
    word_base = match[0].removesuffix("'S")
    possessive = "'s" if word_base != match[0] else ""
    preceding, following = match.before, match.after
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
    return word.capitalize() if match.heading or opens_sentence else re.sub(r"^i(?=')", "I", word)


def file(match: EnglishMatch) -> str:
    return _web_part(match[0])


def subscripts(match: EnglishMatch) -> str:
    return f" {numbers.label(_plain_digits(match[0]))} "


def unit_after_power(match: EnglishMatch) -> str:
    """Speak the unit of 3 × 10⁸ m/s."""
    return unit_names(match[1], match)[1]


def stars(match: EnglishMatch) -> str:
    """Speak a rating: ★★★☆☆."""
    return f" {match.amount(match[0].count('★'), 'star')} "


def per(match: EnglishMatch) -> str:
    return f" per {UNITS.get(match[1], [match[1]])[0]}"


def censored(match: EnglishMatch) -> str:
    return f"{match[1].upper()} blank"
