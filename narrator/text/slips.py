"""Slips of a script: what was meant as a mark, a style or a label, and would be spoken.

`[puase 2s]`, `[sigh]`, `Ines (whispering: Go`. Most brackets of real books are words of the author
or of an editor ("[He laughed.]", "[sic]", "[1]") and no slips; where both can be, nothing is said.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Slip:
    """`written` at its place, and what is the matter; equal matters are said once in a book."""

    written: str
    matter: str
    path: Path
    line: int
    hint: str = ""
    """What was most likely meant here, after the matter."""


Found = tuple[int, str, str]
"""Offset, what is written, what is the matter."""

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
GIVEN = (
    "gives nothing to anybody, for nobody of the cast has exactly this name: the text stays as it "
    "is, in the voice around it; write \\{ for a brace that is text"
)
UNENDED = (
    "gives nothing to anybody, for no } ends it in its paragraph; write \\{ for a brace that is "
    "text"
)
SAID_OTHERWISE = (
    "says one text for another, as {written|spoken} does, and gives nothing to anybody; write \\| "
    "for a bar that is text"
)
NO_WORDS = "gives nothing to anybody, for no words stand in it, and is left out"
LANGUAGE = (
    "is no language mark: write [language: el], with a tag as in book.yaml, and [language: off] "
    "after the lines that it is for"
)
STILL_ON = (
    "is on to the end of its chapter: was [language: off] forgotten? For a whole chapter set its "
    "`language`"
)
LANGUAGE_END = "is taken for [language: off]; write it so"

_BRACKET = re.compile(r"\[([^\[\]]{1,80})\]")
_AMOUNT = re.compile(r"(\d{1,4}(?:[.,]\d{1,3})?)\s?(?:(m(?:illi)?s(?:ec\w*)?)|s(?:ec\w*)?)?\.?")
_SILENCES = frozenset("silence break wait beat rest gap stop delay".split())
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
_MANNER = re.compile(
    r"\b(?:\w+ing|\w+ly|sad|angry|happy|calm|cold|warm|tired|excited|hoarse|amused|scared|afraid"
    r"|bored|drunk|sleepy|tense|cheerful|bitter|stern|gentle|nervous|breathless|aside|whispers?"
    r"|whispered|shouts?|loud|soft|quiet|low|slow|fast|laughs|sighs|deadpan|sarcastic)\b"
)
_NAMED = re.compile(
    r"[^\S\n]*(?P<name>[^\s:：;；()（）\[\]][^:：;；()（）\[\]\n]{0,59})(?P<mark>[(（\[;；])"
)
_AFTER_NAME = (
    (re.compile(r"[(（][^()（）\[\]\n:：]{1,80}[:：]\s?"), UNCLOSED),
    (re.compile(r"\[[^\[\]\n]{1,80}\]\s?[:：]"), SQUARE),
    (re.compile(r"[(（][^()（）\n]{1,80}[)）]\s?(?:[;；]|(?=\s[\"“‘«]?[A-Z]))"), NO_COLON),
    (re.compile(r"[;；](?=\s)"), NO_COLON),
)


def brackets(shadow: str) -> Iterator[Found]:
    """Brackets of a paragraph that are no words of its book; what was escaped is no bracket."""
    if "[" not in shadow:
        return
    for found in _BRACKET.finditer(shadow):
        inside = " ".join(found[1].split())
        if not inside:
            continue  # a box to tick
        matter = _meant(inside)
        if matter is None and _is_direction(inside):
            matter = DIRECTION
        if matter is not None:
            yield found.start(), f"[{inside}]", matter


def _meant(inside: str) -> str | None:
    """The mark that is a letter or a sign away from what stands in brackets."""
    parts = re.fullmatch(r"([^\W\d_]+)\s?([:=]?)\s?(.*)", inside)
    if parts is None:
        return None
    folded, sign, rest = parts[1].casefold(), parts[2], parts[3]
    if _AMOUNT.fullmatch(rest) and (folded in _SILENCES or _near(folded, "pause")):
        return f"{_SPOKEN}; did you mean {pause_of(rest)}?"
    named = 0 < len(rest.split()) < 4 and not re.search(r"[,.;!?]", rest)
    if named and _near(folded, "music") and (sign or folded == "music"):
        return f"{_SPOKEN}; did you mean [music: {rest}]?"
    if not rest and folded != "music" and sorted(folded) in (sorted("pause"), sorted("music")):
        return f"{_SPOKEN}; did you mean [pause 1s] or [music: name]?"
    return None


def is_language_word(word: str) -> bool:
    """Whether a word is the one that begins language marks, or a mistyped one."""
    folded = word.casefold()
    return folded.startswith("lang") or _near(folded, "language")


@functools.lru_cache(maxsize=1 << 10)
def _near(word: str, mark: str) -> bool:
    return difflib.SequenceMatcher(None, word, mark).ratio() >= 0.7


def pause_of(inside: str) -> str:
    """The pause that was most likely meant: "2" is "[pause 2s]"."""
    amount = _AMOUNT.search(inside)
    if amount is None:
        return "[pause 1.5s] or [pause 800ms]"
    return f"[pause {amount[1].replace(',', '.')}{'ms' if amount[2] else 's'}]"


def _is_direction(inside: str) -> bool:
    """A few small words of what is heard; a sentence, or a word that an editor adds, is none."""
    words = inside.split()
    sentence = inside[0].isupper() and inside[-1] in ".!?"
    return len(words) <= 4 and not sentence and bool(_DIRECTIONS.match(inside.lower()))


def opening(shadow: str, at: int, is_speaker: Callable[[str], bool]) -> Found | None:
    """What begins at `at`, the beginning of a line: nearly a label, or a style alone."""
    at += shadow[at : at + 2].startswith(" ")
    if styled := _STYLED.match(shadow, at):
        return (at, styled[0].strip(), STYLE) if _MANNER.search(styled["style"]) else None
    named = _NAMED.match(shadow, at)
    if named is None or not is_speaker(named["name"].strip()):
        return None
    for pattern, matter in _AFTER_NAME:
        if rest := pattern.match(shadow, named.start("mark")):
            return at, f"{named['name'].strip()} {rest[0].strip()}", matter
    return None
