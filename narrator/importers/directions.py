"""Stage directions: which stretches of a speech are none of it, and which say how it is said.

Knows text and its styles, not blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrator.importers.book import count_words


@dataclass(frozen=True, slots=True)
class Styled:
    """A text with what its source shows in another style. Lines are parted by `\\n`."""

    text: str
    slanted: tuple[tuple[int, int], ...] = ()
    """In italics, or what a plain text has for them."""
    named: tuple[tuple[int, int], ...] = ()
    """What markup calls a stage direction."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How a book sets its directions."""

    is_play: bool = True
    """Else what is in brackets may be an editor's: “I told [the company] so”."""
    in_brackets: bool = False
    """Then what is in round ones is said, unless it is in italics."""
    is_marked: bool = False
    """Whether markup says what is one: then what is in italics is only stressed."""


@dataclass(frozen=True, slots=True)
class SpeechPiece:
    """A stretch of a text."""

    start: int
    stop: int
    is_direction: bool


PARENTHETICAL = "parenthetical"
"""Why words in brackets within a speech are left out: they tell an actor what to do."""
EXTENSION = "extension of a name"
"""Why words in brackets behind a speaker's name are left out: nobody says them."""
_EXTENSION = re.compile(
    r"\W*(?:v\W?o|o\W?s|o\W?c|off|cont\W?d?|contd|cont\W?inued|continuing|more|pre-?lap|subtitled?|"
    r"subtitles?|\d+s?|guest|external|host|presenter|voice[ -]?over|off[ -]?(?:screen|camera))"
    r"(?:\W*(?:v\W?o|o\W?s|o\W?c|cont\W?d|contd|continued))*\W*",
    re.IGNORECASE,
)
"""Where a voice comes from, that it goes on, an age: no way to speak."""
_SCENE = re.compile(r"(?:\d+[A-Z]?\.?\s+)?(?:INT|EXT|EST|I/E)(?:\.|/)\s?(?=\w)[^a-z]*")
"""The heading of a screenplay's scene, in capitals: `INT. KITCHEN - DAY`."""
_ASIDE = re.compile(r"[(（][^\W\d_A-ZÀ-ÞА-ЯΑ-Ω][^().!?]*\.?[)）]")
_ASIDE_WORDS = 6
_FADE = re.compile(
    r"(?P<text>(?:(?:SLOW|QUICK|SMASH|MATCH|JUMP|TIME|HARD|FLASH|CROSS)[ -])*"
    r"(?:FADE|CUT|DISSOLVE|WIPE|IRIS)(?: (?:IN|OUT|TO|UP|ON|FROM|BLACK|WHITE|TITLES?|CREDITS))*"
    r"[.:]{0,3})"
)
_CUT_TO = re.compile(r"(?P<text>(?=[^a-z]*[A-Z])[^a-z]*\bTO:)")
_SQUARE = re.compile(r"\[[^\[\]]*\](?![(:\[])")  # what links and definitions have is none
_ROUND = re.compile(r"(?<!\])\([^()]*\)|（[^（）]*）")
_COMMAND = re.compile(r"\[(?:pause|music|language)\b|\[\W*\d{0,3}\W*\]", re.IGNORECASE)
"""What is a command of a script, or the mark of a note."""
_ENDED = frozenset('.?!…:;—–"”’»)]')
_STAGE = re.compile(
    r"[\[(_\s]*(?:re-?enter|enter|exit|exeunt|manet|manent|flourish|alarums?|trumpets?|sennet|"
    r"curtain|tritt|treten|vorhang|entrent|sortent|rideau|sipario|"
    r"входит|входят|уходит|уходят|занавес)\b",
    re.IGNORECASE,
)
"""A line of the stage, whatever stands around it."""
_PERSONAL = re.compile(
    r"\b(?:I|me|my|mine|we|us|our|you|your|yours|thou|thee|thy|thine|ye|ich|mir|mich|mein\w*|wir|"
    r"uns|unser\w*|dir|dich|dein\w*|euch|euer|je|moi|nous|vous|votre|notre|toi|yo|usted|ustedes|"
    r"nosotros|io|noi|voi|lei|eu|você|я|мне|меня|мой|моя|мы|нас|нам|ты|тебя|тебе|вы|вас|вам)\b|\bj’|"
    r"\bj'",
    re.IGNORECASE,
)
"""Words of those who speak themselves, as directions hardly do."""
_MOVE = re.compile(
    r"(?:(?:they|he|she|it|we|all)\b|re-?enter|enter|exit|exeunt|ris(?:es?|ing)|sit|stand|go(?:es|ing)?\b|leav|kneel|turn|bow|"
    r"nod|point|tak|pick|put|open|clos|walk|run|cross|mov|com(?:es?|ing)|kiss|die[sd]?\b|dying|fall|"
    r"paus|silen|beat\b|music|curtain|tritt|geht|steht|setzt|ab\b|entre|sort|встает|входит|уходит|"
    r"садится|пауза|молчание)",
    re.IGNORECASE,
)
"""What is done rather than a way to speak."""
_STYLE_WORDS = 2
_STYLE_WORDS_BEFORE_COLON = 4


def pieces(said: Styled, start: int, habits: Habits) -> list[SpeechPiece]:
    """A text from `start` on, in speech and directions; nothing of it is in neither."""
    text = said.text
    found = sorted(_found(said, start, habits))
    made: list[SpeechPiece] = []
    at = start
    for begin, end in found:
        if begin < at:
            continue
        made += [SpeechPiece(at, begin, False)] if text[at:begin].strip() else []
        made.append(SpeechPiece(begin, end, True))
        at = end
    made += [SpeechPiece(at, len(text), False)] if text[at:].strip() else []
    return _joined(text, made)


def _joined(text: str, made: Sequence[SpeechPiece]) -> list[SpeechPiece]:
    """Pieces without those that are no more than a full stop, and neighbours of one kind as one."""
    joined: list[SpeechPiece] = []
    for piece in made:
        says = any(map(str.isalnum, text[piece.start : piece.stop]))
        if joined and (not says or joined[-1].is_direction == piece.is_direction):
            joined[-1] = SpeechPiece(joined[-1].start, piece.stop, joined[-1].is_direction)
        else:
            joined.append(piece)
    return joined


def _found(said: Styled, start: int, habits: Habits) -> Iterator[tuple[int, int]]:
    text = said.text
    yield from ((max(start, begin), end) for begin, end in said.named if end > start)
    for found in _SQUARE.finditer(text, start):
        between = habits.is_play or _stands_between(text, start, *found.span())
        if between and _is_words(found[0]):
            yield found.span()
    for found in _ROUND.finditer(text, start):
        if _is_words(found[0]) and _is_told_in_round(said, start, found, habits):
            yield found.span()
    if habits.is_play and not habits.is_marked:
        yield from _unbracketed(said, start)


def _is_told_in_round(said: Styled, start: int, found: re.Match[str], habits: Habits) -> bool:
    """Whether round brackets hold a direction: where a play has square ones for these, only at the
    beginning of a speech, in small letters, or in italics."""
    opens = not said.text[start : found.start()].strip() and found[0][1:2].islower()
    spoken = habits.is_play and habits.in_brackets and not opens
    between = not spoken and _stands_between(said.text, start, *found.span())
    return between or _is_slanted(said, *found.span())


def _unbracketed(said: Styled, start: int) -> Iterator[tuple[int, int]]:
    """Directions of a play that italics show, or their first word at the beginning of a line."""
    text = said.text
    for begin, end in said.slanted:
        if begin >= start and _is_told(text, start, begin, end):
            yield begin, end
    if "\n" in text[start:]:
        for row in re.finditer(r"^.+$", text[start:], re.MULTILINE):
            if is_stage_row(row[0]):
                yield row.start() + start, row.end() + start


def _is_words(bracketed: str) -> bool:
    return not _COMMAND.match(bracketed) and any(map(str.isalpha, bracketed))


def _stands_between(text: str, start: int, begin: int, end: int) -> bool:
    """Whether a stretch stands between sentences rather than within one."""
    before, after = text[start:begin].rstrip(), text[end:].lstrip()
    ended = not before or before[-1] in _ENDED
    begins = not after or not after[0].islower()
    return ended and (begins or not before)


def _is_slanted(said: Styled, begin: int, end: int) -> bool:
    inside = sum(max(0, min(end, stop) - max(begin, start)) for start, stop in said.slanted)
    return 2 * inside >= end - begin


def _is_told(text: str, start: int, begin: int, end: int) -> bool:
    """Whether words in italics, without brackets, are a direction rather than stressed."""
    words = text[begin:end].rstrip()
    end += text[end : end + 1] == "."
    full = text[begin:end].rstrip().endswith(".")
    if not (words[:1].isupper() and full and _stands_between(text, start, begin, end)):
        return False
    told = count_words(words) > 1 and not _PERSONAL.search(words)
    return told or bool(_STAGE.match(words))


def is_direction(said: Styled) -> bool:
    """Whether a whole paragraph is one: in brackets, in italics, by markup, as `Enter Ghost.`"""
    text = said.text.strip()
    if not any(map(str.isalpha, text)):
        return False
    bracketed = f"{text[0]}{text.rstrip('.')[-1]}" in ("[]", "()")
    inner = text[1:].rstrip(".")[:-1]
    if bracketed and not re.search(r"[\])].*[\[(]", inner, re.DOTALL):
        return not _COMMAND.match(text)
    if covers(said.named, said.text) or covers(said.slanted, said.text):
        return True
    return bool(_STAGE.match(text)) and text[-1] in ".]_)" and count_words(text) <= 60


def transition(text: str) -> re.Match[str] | None:
    """What a row says as a screenplay's transition, `text` without its emphasis: `**FADE IN:**`."""
    bare = re.sub(r"[*_]+", "", text).strip()
    return _CUT_TO.fullmatch(bare) or _FADE.fullmatch(bare)


def is_extension(text: str) -> bool:
    """Whether words behind a name say where its voice comes from: `(V.O.)`, `(CONT'D)`."""
    return bool(_EXTENSION.fullmatch(text))


def is_scene_heading(text: str) -> bool:
    """Whether a row heads a screenplay's scene, `text` without its emphasis."""
    return bool(_SCENE.fullmatch(re.sub(r"[*_]+", "", text).strip()))


def is_parenthetical(text: str) -> bool:
    """Whether words in round brackets within a speech are an actor's: `(beat)`, `(to Anna)`."""
    bare = re.sub(r"[*_]+", "", text).strip()
    return bool(_ASIDE.fullmatch(bare)) and count_words(bare) <= _ASIDE_WORDS


def covers(ranges: Sequence[tuple[int, int]], text: str) -> bool:
    """Whether stretches hold nearly all letters of a text."""
    held = sum(stop - start for start, stop in ranges)
    if 10 * held < 7 * len(text):
        return False
    inside = sum(map(str.isalpha, "".join(text[start:stop] for start, stop in ranges)))
    return 10 * inside >= 9 * sum(map(str.isalpha, text))


def is_stage_row(row: str) -> bool:
    """Whether a row of a text is a direction by its first word: `Enter the Ghost.`"""
    row = row.strip()
    return bool(_STAGE.match(row)) and row[-1] in ".])_"


def is_verse(text: str) -> bool:
    """Whether the lines of a text begin as verse does."""
    rows = [row.strip(" “\"'‘[(") for row in text.split("\n")]
    return len(rows) > 1 and all(not row[:1].islower() for row in rows)


def is_personal(text: str) -> bool:
    """Whether somebody speaks in a text of himself or to another, as directions do not."""
    return bool(_PERSONAL.search(text))


def style_of(written: str, before_colon: bool = False) -> str | None:
    """How a speech is said, from the few words after its name: `(softly)`, `[Languidly.]`; None for
    what is done, and for what takes longer to tell."""
    words = written.strip(" ,[]()（）_*").rstrip(".,;: ")
    most = _STYLE_WORDS_BEFORE_COLON if before_colon else _STYLE_WORDS
    if not words or len(words.split()) > most or re.search(r"[()\[\]{}\n:]", words):
        return None
    if _MOVE.match(words) or any(map(str.isupper, words[1:])):
        return None
    return words[0].lower() + words[1:]
