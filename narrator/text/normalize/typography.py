"""Characters and marks: preparation and final punctuation of text in all languages.

`canonical` prepares a text for rules: composed accents, one kind of space, quote and apostrophe,
nothing invisible. `punctuate` comes last and leaves only marks that an engine can turn into a pause
or a melody: each run of marks becomes one mark, quotation marks are removed, and the text ends on
exactly one stop. Knows no words but the few elisions that begin with an apostrophe.

Quotation marks are removed, not straightened: engines stumble over them, and adjacent commas and
stops already carry the pause. Apostrophes stay, straight. A dash is a comma, except where it breaks
off a speech before a new sentence: there it trails off ("..."). Brackets are commas.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from narrator.text.normalize.edits import Replacement

TYPOGRAPHY = frozenset(
    "invisible accent space quote apostrophe dash ellipsis bracket symbol mark ending".split()
)
"""Names of the rules that change only marks."""

DASH, OMITTED = "—", "⸺"

_SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    "\u3164\uffa0"  # fillers of Hangul
)
_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffd"
    "\ud800-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
_JOINERS = "\u200c\u200d"  # they shape letters in Persian and Indic scripts; elsewhere invisible
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("«»„“”‟‹›〝〞〟＂❝❞", '"'),
        **dict.fromkeys("`´ʻʼʽ＇", "'"),
        **dict.fromkeys("‐‑﹣－", "-"),
        **dict.fromkeys("‒", "–"),
        **dict.fromkeys("―﹘", DASH),
        **dict.fromkeys("⸻", OMITTED),
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "ŉ": "'n",
        **{sign: unicodedata.normalize("NFKC", sign) for sign in map(chr, range(0x2160, 0x2180))},
        "℃": "°C",
        "℉": "°F",
        "⁄": "/",
        "‼": "!!",
        "⁇": "??",
        "⁈": "?!",
        "⁉": "!?",
        **{chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF10, 0xFF5B) if chr(wide).isalnum()},
    }
)
_MAPPED = re.escape("".join(map(chr, _PLAIN)))
_COMBINING = "\u0300-\u036f\u3099\u309a\u1161-\u11ff"
_TO_REPLACE = re.compile(
    rf"(?P<accent>[^{_COMBINING}][{_COMBINING}]+)"
    rf"|(?P<apostrophe>(?<=\w)['’‘](?=\w))"
    rf"|(?P<single>['’‘‚‛])"
    rf"|(?P<invisible>[{_INVISIBLE}{_JOINERS}]+)"
    rf"|(?P<space>[{_SPACES}])"
    rf"|(?P<thousands>(?<=[０-９])，(?=[０-９]{{3}}(?![０-９])))"
    rf"|(?P<mapped>[{_MAPPED}])"
)
_ANY_TO_REPLACE = re.compile(
    rf"[{_COMBINING}’‘‚‛{_INVISIBLE}{_JOINERS}{_SPACES}{_MAPPED}]|(?<!\w)'|'(?!\w)"
)
_ELISIONS = re.compile(
    r"(?:tis|twas|twere|twill|twould|twon't|tisn't|twasn't|em|im|er|is|e|un|ud|ull|til|till|cause"
    r"|cos|coz|bout|round|neath|gainst|fore|mongst|tween|way|fraid|ave|ad|ow|ome|ouse|orse|ell"
    r"|ere|n|nuff|scuse|spect|kay|nother|course|bye|gator|lectric|sides|\d0s|\d\d)\b",
    re.IGNORECASE,
)
_LANGUAGES_WITH_JOINERS = frozenset("fa ur ku ckb ps hi mr ne bn pa gu or ta te kn ml si".split())
_RIGHT_QUOTES_OPEN = frozenset(("sv", "fi"))


def canonical(text: str, language: str) -> list[Replacement]:
    """Return edits that prepare `text` for rules; `language` is its primary subtag."""
    if not _ANY_TO_REPLACE.search(text):
        return []
    edits = []
    depth = 0
    last_closing = max((mark.start() for mark in _CLOSING.finditer(text)), default=-1)
    for match in _TO_REPLACE.finditer(text):
        rule, written = match.lastgroup or "", match.group()
        plain = _plain_form(rule, written, language)
        if rule in ("single", "mapped"):
            start, stop = match.span()
            is_inside_word = text[start - 1 : start].isalnum() and text[stop : stop + 1].isalnum()
            if plain == "'" and (rule == "single" or not is_inside_word):
                is_quotation_mark, depth = _is_quote(text, start, depth, last_closing, language)
                plain = '"' if is_quotation_mark else "'"
            rule = {'"': "quote", "'": "apostrophe"}.get(plain, "mark")
        elif rule == "thousands":
            rule = "mark"
        if plain != written:
            edits.append(Replacement(match.start(), match.end(), plain, rule))
    return edits


def _plain_form(rule: str, written: str, language: str) -> str:
    """Return the plain form of `written`: a single quotation mark and an apostrophe look alike, and
    the caller tells them apart by their neighbours."""
    match rule:
        case "single" | "apostrophe":
            return "'"
        case "accent":
            return unicodedata.normalize("NFC", written)
        case "invisible":
            return (
                written
                if language in _LANGUAGES_WITH_JOINERS and set(written) <= set(_JOINERS)
                else ""
            )
        case "thousands":
            return ","
        case "space":
            return "\n" if written in "\n\u2028\u2029" else " "
        case _:
            return written.translate(_PLAIN)


_LEFT_MARKS = "‘‚‛"
_CLOSING = re.compile(r"(?<=[^\s\"“(\[])['’´](?!\w)")


def _is_quote(
    text: str, offset: int, depth: int, last_closing: int, language: str
) -> tuple[bool, int]:
    """Return if the single mark at `text[offset]` quotes, and how many such quotes are open after
    it. `last_closing` is the offset of the last mark that may close one."""
    previous = text[offset - 1] if offset else " "
    following = text[offset + 1] if offset + 1 < len(text) else " "
    starts_word = (following.isalnum() or following in "¿¡") and not previous.isalnum()
    if starts_word or text[offset] in _LEFT_MARKS:
        is_opening = _opens_quote(text, offset, starts_word, last_closing > offset, language)
        return is_opening, depth + is_opening
    if depth:
        return True, depth - 1
    return not (
        previous.isalpha() or previous.isdigit()
    ), depth  # after digits: feet and minutes, 6'


def _opens_quote(
    text: str, offset: int, starts_word: bool, closing_follows: bool, language: str
) -> bool:
    """Return True if a mark that cannot close a quote opens one.

    `starts_word`: it comes before a word. `closing_follows`: a mark that may close it follows.
    """
    is_elision = language == "en" and starts_word and bool(_ELISIONS.match(text, offset + 1))
    if text[offset] in _LEFT_MARKS:
        return not is_elision or closing_follows
    is_right_mark = text[offset] == "’" and language not in _RIGHT_QUOTES_OPEN
    if is_elision or is_right_mark or (offset and text[offset - 1] in "’'"):
        return False
    return closing_follows


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of a language that `punctuate` may leave."""

    stop: str = "."
    ask: str = "?"
    shout: str = "!"
    comma: str = ","
    semicolon: str = ";"
    colon: str = ":"
    trail: str = "..."
    space: str = " "
    aliases: tuple[tuple[str, str], ...] = ()
    """Characters that mean another mark in this language."""


_DEFAULT = Marks()
_INDIC = Marks(stop="।")
_ARABIC = Marks(ask="؟", comma="،", semicolon="؛")
_MARKS = {
    "zh": Marks("。", "？", "！", "，", "；", "：", "，", ""),  # a trailing off is a pause
    "ja": Marks("。", "？", "！", "、", "、", "、", "、", ""),
    "ar": _ARABIC,
    "fa": _ARABIC,
    "ur": Marks(stop="۔", ask="؟", comma="،", semicolon="؛"),
    "hi": _INDIC,
    "mr": _INDIC,
    "ne": _INDIC,
    "bn": _INDIC,
    "my": Marks(stop="။", comma="၊"),
    "km": Marks(stop="។"),
    "am": Marks(stop="።", comma="፣", semicolon="፤"),
    "el": Marks(ask=";", semicolon="·", aliases=((";", "?"), ("\u037e", "?"), ("·", ";"))),
}
_MARKS["yue"] = _MARKS["zh"]

_BULLETS = "|·•‣◦⁃∙→←↔⇒▪●○■□►▸⁂"
_MEANING = str.maketrans(
    {
        **dict.fromkeys("。｡．।॥။។።۔", "."),
        **dict.fromkeys("？؟", "?"),
        **dict.fromkeys("！", "!"),
        **dict.fromkeys("，、､،၊፣", ","),
        **dict.fromkeys("；؛፤", ";"),
        **dict.fromkeys("：", ":"),
        **dict.fromkeys("（［【〔〖｛{[", "("),
        **dict.fromkeys("）］】〕〗｝}]", ")"),
        **dict.fromkeys("「『《〈", "“"),
        **dict.fromkeys("」』》〉", "”"),
        **dict.fromkeys("–‥⸺", DASH),
        **dict.fromkeys(_BULLETS, ","),
        "⋯": "…",
    }
)
_SYMBOLS = (
    "\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u2500-\u27bf\u2900-\u2bff\u3200-\u32ff\u20d0-\u20f0"
    "\U0001f000-\U0001faff®™¶†‡*_~|^\\\\¦¨¯¸"
)
_WORD = r"\w\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0670\u06d6-\u06ed" + (
    "\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
)  # `\w` leaves out the vowel signs of Indic and South-East Asian scripts
_MARK = (
    '[\\s.,;:!?"()\\[\\]{}…—–‥⋯⸺•‣◦⁃∙⁂'
    "。｡．।॥။។።۔？؟！，、､،၊፣；؛፤：（）［］【】〔〕〖〗｛｝「」『』《》〈〉"
    f"{_SYMBOLS}]"
    rf"|(?<![{_WORD}])[·]|[·](?![{_WORD}])"
    rf"|(?<![{_WORD}])['/](?![{_WORD}])|(?<![{_WORD}])-(?!\d)|-(?![{_WORD}])"
)
_RUN = re.compile(rf"(?!(?<=.) (?![{_SYMBOLS}])[^\W_])(?:{_MARK})+")
_SYMBOL = re.compile(f"[{_SYMBOLS}]")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_INNER_MARKS = frozenset(".,:;!?·–")
_PLAIN_RUNS = frozenset((", ", ". ", "? ", "! ", "; ", ": ", "... "))


def marks_of(language: str) -> Marks:
    """Return the marks of a language by its primary subtag."""
    return _MARKS.get(language, _DEFAULT)


def punctuate(text: str, marks: Marks) -> list[Replacement]:
    """Return edits that reduce each run of marks in `text` to one mark, with one stop at its end.

    A text without a letter or digit becomes "".
    """
    if not _LETTER_OR_DIGIT.search(text):
        return [Replacement(0, len(text), "", "mark")] if text else []
    edits = []
    has_ending = False
    alias_table = str.maketrans(dict(marks.aliases))
    for match in _RUN.finditer(text):
        run, start, stop = match.group(), match.start(), match.end()
        if run in _PLAIN_RUNS and marks is _DEFAULT and 0 < start < stop < len(text):
            continue
        if run in _INNER_MARKS and _is_inside_word(text, start, marks):
            if run == "–":
                edits.append(Replacement(start, stop, "-", "dash"))
            continue
        plain_run = run.translate(alias_table).translate(_MEANING)
        if stop == len(text):
            replacement = _final_stop(plain_run, marks)
            has_ending = True
        elif start == 0:
            replacement = ""
        else:
            replacement = _middle_mark(plain_run, text[stop], marks)
        if replacement != run:
            edits.append(Replacement(start, stop, replacement, _rule_name(plain_run, replacement)))
    if not has_ending:
        edits.append(Replacement(len(text), len(text), marks.stop, "ending"))
    return edits


def silent_symbols(written: str, spoken: str) -> Iterator[str]:
    """Yields the symbols of a change for which nothing is said: hearts, not bullets and stars."""
    if any(map(str.isalnum, spoken)):
        return
    for symbol in written:
        is_symbol = ord(symbol) > 0xFF and unicodedata.category(symbol) in ("So", "Sm", "Sc")
        if is_symbol and symbol not in spoken and symbol not in _BULLETS and symbol != "™":
            yield symbol


def _is_inside_word(text: str, offset: int, marks: Marks) -> bool:
    """Return True if the mark at `text[offset]` belongs to a number, abbreviation or compound."""
    previous, following = text[offset - 1 : offset], text[offset + 1 : offset + 2]
    if not (previous.isalnum() and following.isalnum()):
        return False
    return bool(marks.space) or (previous.isascii() and following.isascii())


def _final_stop(run: str, marks: Marks) -> str:
    if "?" in run:
        return marks.ask
    return marks.shout if "!" in run else marks.stop


_QUOTES = frozenset('"“”')
_ABBREVIATION_STOP = re.compile(r"(?<!\.)\.(?=[\"”)]*\s?[,;:])")  # "Lt.;" stops at the semicolon
_TRAIL = re.compile(r"…|\.\s?\.\s?\.")
_BROKEN_OFF = re.compile(rf"(?:{DASH}|--)\s*[\"”]")
_COMMA_RUN = re.compile(rf"[,()/]|{DASH}|--|\s-\s")


def _middle_mark(run: str, following: str, marks: Marks) -> str:
    """Return the mark for a run with words on both sides."""
    run = _TRAIL.sub("…", _ABBREVIATION_STOP.sub("", run))
    run = run.replace("”“", "\n")  # a line or a speech ends on a stop at least
    for sign, mark in (
        ("?", marks.ask),
        ("!", marks.shout),
        ("…", marks.trail),
        (".", marks.stop),
        ("\n", marks.stop),
        (";", marks.semicolon),
        (":", marks.colon),
    ):
        if sign in run:
            return mark + marks.space
    if following.isupper() and _BROKEN_OFF.search(run):
        return marks.trail + marks.space
    if _COMMA_RUN.search(run):
        return marks.comma + marks.space
    if run in _QUOTES:
        return ""
    # spaces, symbols, quotes among them
    return marks.space or (" " if " " in run and following.isascii() else "")


def _rule_name(run: str, replacement: str) -> str:
    """Return the rule to which a change of a run of marks is ascribed."""
    for rule, signs in (("ellipsis", "…"), ("dash", DASH), ("bracket", "()"), ("quote", '"“”')):
        if any(sign in run for sign in signs):
            return rule
    if "..." in run:
        return "ellipsis"
    if _SYMBOL.search(run):
        return "symbol"
    if run.isspace():
        return "space"
    return "mark" if replacement else "space"
