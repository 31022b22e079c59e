"""Slips of a script: text meant as a mark, a style or a label that would be spoken.

`[puase 2s]`, `[sigh]`, `Ines (whispering: Go`. Most brackets of real books are words of the author
or of an editor ("[He laughed.]", "[sic]", "[1]") and no slips; doubtful ones are not reported.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from narrator.text.alignment import similarity


@dataclass(frozen=True, slots=True)
class Slip:
    """A slip with its problem in words; equal problems are reported once in a book."""

    written: str
    problem: str
    path: Path
    line: int
    hint: str = ""
    """Likely correction, shown after the problem."""


Finding = tuple[int, str, str]
"""Offset, written text, problem."""

AS_TEXT = "\\[ for a bracket that is text"
_SPOKEN = "is spoken as it stands"
DIRECTION = (
    f"{_SPOKEN}, as a direction in brackets is: make it a style, “Ada (sighing): …”, or a "
    f"pause, or leave it out; write {AS_TEXT}"
)
STYLE = f"{_SPOKEN}: a style stands after a speaker's name, before the colon, “Ada (whispering): …”"
UNCLOSED = f"{_SPOKEN}, for its style is never closed; write “Ada (whispering): …”"
SQUARE = f"{_SPOKEN}: a style has round brackets, “Ada (whispering): …”"
NO_COLON = f"{_SPOKEN}: a label ends in a colon, “Ada: …”"
BRACE = (
    "begins no {written|spoken}: give both words, or write \\{ for text; the brace is left as text"
)
UNKNOWN_SPEAKER = (
    "gives nothing to anybody, for nobody of the cast has exactly this name: the text stays as it "
    "is, in the voice around it; write \\{ for a brace that is text"
)
UNCLOSED_BRACE = (
    "gives nothing to anybody, for no } ends it in its paragraph; write \\{ for a brace that is "
    "text"
)
SAID_OTHERWISE = (
    "says one text for another, as {written|spoken} does, and gives nothing to anybody; write \\| "
    "for a bar that is text"
)
NO_WORDS = "gives nothing to anybody, for no words stand in it, and is left out"
LANGUAGE = (
    "is not a language mark: write [language: el], with a tag as in book.yaml, and [language: off] "
    "after the lines that it is for"
)
LANGUAGE_NOT_ENDED = (
    "is on to the end of its chapter: was [language: off] forgotten? For a whole chapter set its "
    "`language`"
)
LANGUAGE_END = "is taken for [language: off]; write it so"

_BRACKET = re.compile(r"\[([^\[\]]{1,80})\]")
_AMOUNT = re.compile(r"(\d{1,4}(?:[.,]\d{1,3})?)\s?(?:(m(?:illi)?s(?:ec\w*)?)|s(?:ec\w*)?)?\.?")
_PAUSE_WORDS = frozenset("silence break wait beat rest gap stop delay".split())
_DIRECTIONS = re.compile(
    r"(?:sigh|laugh|chuckl|giggl|snigger|cough|sneez|sniff|sob|gasp|groan|moan|yawn|whisper|shout"
    r"|scream|shriek|cry|crie|weep|breath|inhal|exhal|paus|applau|cheer|clap|sing|hum(?:s|ming)?\b"
    r"|whistl|snor|swallow|gulp|burp|hiccup|mumbl|mutter|clears?\b|clearing|laughter|silence\b"
    r"|beat\b|music\b|sfx|sound\b|knock|thunder|footsteps|door\b|softly\b|angrily|quietly|sadly"
    r"|excited|sarcastic|nervous)"
)
_STYLED = re.compile(
    r"[(（]\s?(?P<style>[a-z][a-z'-]*(?:,? [a-z][a-z'-]*){0,3})\s?[)）]\s+(?=[\"“‘«]?[A-Z])"
)
_STYLE_WORDS = re.compile(
    r"\b(?:\w+ing|\w+ly|sad|angry|happy|calm|cold|warm|tired|excited|hoarse|amused|scared|afraid"
    r"|bored|drunk|sleepy|tense|cheerful|bitter|stern|gentle|nervous|breathless|aside|whispers?"
    r"|whispered|shouts?|loud|soft|quiet|low|slow|fast|laughs|sighs|deadpan|sarcastic)\b"
)
_NAME_AND_MARK = re.compile(
    r"[^\S\n]*(?P<name>[^\s:：;；()（）\[\]][^:：;；()（）\[\]\n]{0,59})(?P<mark>[(（\[;；])"
)
_AFTER_NAME = (
    (re.compile(r"[(（][^()（）\[\]\n:：]{1,80}[:：]\s?"), UNCLOSED),
    (re.compile(r"\[[^\[\]\n]{1,80}\]\s?[:：]"), SQUARE),
    (re.compile(r"[(（][^()（）\n]{1,80}[)）]\s?(?:[;；]|(?=\s[\"“‘«]?[A-Z]))"), NO_COLON),
    (re.compile(r"[;；](?=\s)"), NO_COLON),
)


def find_bracket_slips(masked_text: str) -> Iterator[Finding]:
    """Yields the bracketed texts of a paragraph that are slips; escaped brackets do not count."""
    if "[" not in masked_text:
        return
    for match in _BRACKET.finditer(masked_text):
        inside = " ".join(match[1].split())
        if not inside:
            continue  # a box to tick
        problem = _mistyped_mark(inside)
        if problem is None and _is_direction(inside):
            problem = DIRECTION
        if problem is not None:
            yield match.start(), f"[{inside}]", problem


def _mistyped_mark(inside: str) -> str | None:
    """Returns the problem of bracketed text that is a letter or a sign away from a mark."""
    parts = re.fullmatch(r"([^\W\d_]+)\s?([:=]?)\s?(.*)", inside)
    if parts is None:
        return None
    keyword, sign, argument = parts[1].casefold(), parts[2], parts[3]
    if _AMOUNT.fullmatch(argument) and (keyword in _PAUSE_WORDS or _is_near(keyword, "pause")):
        return f"{_SPOKEN}; did you mean {pause_of(argument)}?"
    has_short_name = 0 < len(argument.split()) < 4 and not re.search(r"[,.;!?]", argument)
    if has_short_name and _is_near(keyword, "music") and (sign or keyword == "music"):
        return f"{_SPOKEN}; did you mean [music: {argument}]?"
    is_anagram = sorted(keyword) in (sorted("pause"), sorted("music"))
    if not argument and keyword != "music" and is_anagram:
        return f"{_SPOKEN}; did you mean [pause 1s] or [music: name]?"
    return None


def is_language_word(word: str) -> bool:
    """Returns whether a word is `language`, perhaps mistyped."""
    folded = word.casefold()
    return folded.startswith("lang") or _is_near(folded, "language")


@functools.lru_cache(maxsize=1 << 10)
def _is_near(word: str, keyword: str) -> bool:
    return similarity(word, keyword) >= 0.7


def pause_of(inside: str) -> str:
    """Returns the pause mark that was most likely meant: "[pause 2s]" for "2"."""
    amount = _AMOUNT.search(inside)
    if amount is None:
        return "[pause 1.5s] or [pause 800ms]"
    return f"[pause {amount[1].replace(',', '.')}{'ms' if amount[2] else 's'}]"


def _is_direction(inside: str) -> bool:
    """Returns whether a few words describe a sound: no sentence, and no word of an editor."""
    words = inside.split()
    is_sentence = inside[0].isupper() and inside[-1] in ".!?"
    return len(words) <= 4 and not is_sentence and bool(_DIRECTIONS.match(inside.lower()))


def find_label_slip(
    masked_text: str, offset: int, is_speaker: Callable[[str], bool]
) -> Finding | None:
    """Finds a slip at `offset`, the beginning of a line: a near label, or a style alone."""
    offset += masked_text[offset : offset + 2].startswith(" ")
    if style_match := _STYLED.match(masked_text, offset):
        return (
            (offset, style_match[0].strip(), STYLE)
            if _STYLE_WORDS.search(style_match["style"])
            else None
        )
    name_match = _NAME_AND_MARK.match(masked_text, offset)
    if name_match is None or not is_speaker(name_match["name"].strip()):
        return None
    for pattern, problem in _AFTER_NAME:
        if after_name := pattern.match(masked_text, name_match.start("mark")):
            return offset, f"{name_match['name'].strip()} {after_name[0].strip()}", problem
    return None
