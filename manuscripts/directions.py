"""Stage directions: separates them from speech, and recognises those that describe the manner of
speaking.

Knows text and its styles, not blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from manuscripts.book import count_words


@dataclass(frozen=True, slots=True)
class StyledText:
    """A text with its ranges of other styles, as (start, stop). Lines are separated by `\\n`."""

    text: str
    italic_ranges: tuple[tuple[int, int], ...] = ()
    """Italics, or what a plain text uses for them."""
    direction_ranges: tuple[tuple[int, int], ...] = ()
    """Stage directions by markup."""


@dataclass(frozen=True, slots=True)
class DirectionStyle:
    """The way in which a book sets its directions."""

    is_play: bool = True
    """If false, brackets may hold an editor's words: “I told [the company] so”."""
    uses_square_brackets: bool = False
    """Then text in parentheses is spoken, unless it is in italics."""
    has_markup: bool = False
    """True if markup identifies directions; then italics are only emphasis."""


@dataclass(frozen=True, slots=True)
class SpeechPiece:
    """A stretch of a text, either speech or a direction."""

    start: int
    stop: int
    is_direction: bool


PARENTHETICAL_REASON = "parenthetical"
"""Reason for leaving out bracketed words within a speech: they instruct an actor."""
EXTENSION_REASON = "extension of a name"
"""Reason for leaving out bracketed words after a speaker's name: nobody says them."""
_EXTENSION = re.compile(
    r"\W*(?:v\W?o|o\W?s|o\W?c|off|cont\W?d?|contd|cont\W?inued|continuing|more|pre-?lap|subtitled?|"
    r"subtitles?|\d+s?|guest|external|host|presenter|voice[ -]?over|off[ -]?(?:screen|camera))"
    r"(?:\W*(?:v\W?o|o\W?s|o\W?c|cont\W?d|contd|continued))*\W*",
    re.IGNORECASE,
)
"""Origin of a voice, a mark that it continues, an age: not a manner of speaking."""
_SCENE_HEADING = re.compile(r"(?:\d+[A-Z]?\.?\s+)?(?:INT|EXT|EST|I/E)(?:\.|/)\s?(?=\w)[^a-z]*")
"""The heading of a screenplay's scene, in capitals: `INT. KITCHEN - DAY`."""
_PARENTHETICAL = re.compile(r"[(（][^\W\d_A-ZÀ-ÞА-ЯΑ-Ω][^().!?]*\.?[)）]")
_MAX_PARENTHETICAL_WORDS = 6
_TRANSITION = re.compile(
    r"(?P<text>(?:(?:SLOW|QUICK|SMASH|MATCH|JUMP|TIME|HARD|FLASH|CROSS)[ -])*"
    r"(?:FADE|CUT|DISSOLVE|WIPE|IRIS)(?: (?:IN|OUT|TO|UP|ON|FROM|BLACK|WHITE|TITLES?|CREDITS))*"
    r"[.:]{0,3})"
)
_CUT_TO = re.compile(r"(?P<text>(?=[^a-z]*[A-Z])[^a-z]*\bTO:)")
_SQUARE_BRACKETS = re.compile(r"\[[^\[\]]*\](?![(:\[])")  # not those of links and definitions
_PARENTHESES = re.compile(r"(?<!\])\([^()]*\)|（[^（）]*）")
_COMMAND = re.compile(r"\[(?:pause|music|language)\b|\[\W*\d{0,3}\W*\]", re.IGNORECASE)
"""A command of a script, or the mark of a note."""
_ROW = re.compile(r"[^\n]+")
_CLOSING_CHARACTERS = frozenset('.?!…:;—–"”’»)]')
_STAGE_VERB = re.compile(
    r"[\[(_\s]*(?:re-?enter|enter|exit|exeunt|manet|manent|flourish|alarums?|trumpets?|sennet|"
    r"curtain|tritt|treten|vorhang|entrent|sortent|rideau|sipario|"
    r"входит|входят|уходит|уходят|занавес)\b",
    re.IGNORECASE,
)
"""Begins a line of stage business, whatever precedes it."""
_FIRST_OR_SECOND_PERSON = re.compile(
    r"\b(?:I|me|my|mine|we|us|our|you|your|yours|thou|thee|thy|thine|ye|ich|mir|mich|mein\w*|wir|"
    r"uns|unser\w*|dir|dich|dein\w*|euch|euer|je|moi|nous|vous|votre|notre|toi|yo|usted|ustedes|"
    r"nosotros|io|noi|voi|lei|eu|você|я|мне|меня|мой|моя|мы|нас|нам|ты|тебя|тебе|вы|вас|вам)\b|\bj’|"
    r"\bj'",
    re.IGNORECASE,
)
"""Pronouns of people who speak; directions hardly use them."""
_ACTION = re.compile(
    r"(?:(?:they|he|she|it|we|all)\b|re-?enter|enter|exit|exeunt|ris(?:es?|ing)|sit|stand|go(?:es|ing)?\b|leav|kneel|turn|bow|"
    r"nod|point|tak|pick|put|open|clos|walk|run|cross|mov|com(?:es?|ing)|kiss|die[sd]?\b|dying|fall|"
    r"paus|silen|beat\b|music|curtain|tritt|geht|steht|setzt|ab\b|entre|sort|встает|входит|уходит|"
    r"садится|пауза|молчание)",
    re.IGNORECASE,
)
"""Words of action rather than of a manner of speaking."""
_MAX_STYLE_WORDS = 2
_MAX_STYLE_WORDS_BEFORE_COLON = 4


def split_speech(styled: StyledText, start: int, conventions: DirectionStyle) -> list[SpeechPiece]:
    """Splits a text from `start` on into speech and directions; the pieces cover all of it.

    Neighbours of one kind are merged, and bare punctuation is joined to the piece before.
    """
    text, offset = styled.text, start
    pieces: list[SpeechPiece] = []

    def add(begin: int, end: int, is_direction: bool) -> None:
        stretch = text[begin:end]
        joins = pieces and (
            pieces[-1].is_direction == is_direction or not any(map(str.isalnum, stretch))
        )
        if joins and (is_direction or stretch.strip()):
            pieces[-1] = SpeechPiece(pieces[-1].start, end, pieces[-1].is_direction)
        elif is_direction or stretch.strip():
            pieces.append(SpeechPiece(begin, end, is_direction))

    for begin, end in sorted(_find_directions(styled, start, conventions)):
        if begin >= offset:
            add(offset, begin, False)
            add(begin, end, True)
            offset = end
    add(offset, len(text), False)
    return pieces


def _find_directions(
    styled: StyledText, start: int, conventions: DirectionStyle
) -> Iterator[tuple[int, int]]:
    """Yields the ranges of directions: by markup, in brackets, and in plays also those that are
    marked by italics or by the first word of a line."""
    text = styled.text
    yield from ((max(start, begin), end) for begin, end in styled.direction_ranges if end > start)
    for match in _SQUARE_BRACKETS.finditer(text, start):
        is_between_sentences = conventions.is_play or _stands_between(text, start, *match.span())
        if is_between_sentences and _has_words(match[0]):
            yield match.span()
    for match in _PARENTHESES.finditer(text, start):
        if _has_words(match[0]) and _is_direction_in_parentheses(styled, start, match, conventions):
            yield match.span()
    if not conventions.is_play or conventions.has_markup:
        return
    for begin, end in styled.italic_ranges:
        if begin >= start and _is_italic_direction(text, start, begin, end):
            yield begin, end
    rows = _ROW.finditer(text, start) if "\n" in text[start:] else ()
    yield from (row.span() for row in rows if is_stage_row(row[0]))


def _is_direction_in_parentheses(
    styled: StyledText, start: int, match: re.Match[str], conventions: DirectionStyle
) -> bool:
    """Returns whether parentheses hold a direction.

    In a play that uses square brackets they do so only at the beginning of a speech in small
    letters, or in italics.
    """
    opens_speech = not styled.text[start : match.start()].strip() and match[0][1:2].islower()
    is_spoken = conventions.is_play and conventions.uses_square_brackets and not opens_speech
    is_between_sentences = not is_spoken and _stands_between(styled.text, start, *match.span())
    return is_between_sentences or _is_italic(styled, *match.span())


def _has_words(bracketed: str) -> bool:
    return not _COMMAND.match(bracketed) and any(map(str.isalpha, bracketed))


def _stands_between(text: str, start: int, begin: int, end: int) -> bool:
    """Returns whether a stretch stands between sentences rather than within one."""
    text_before, text_after = text[start:begin].rstrip(), text[end:].lstrip()
    sentence_ended = not text_before or text_before[-1] in _CLOSING_CHARACTERS
    sentence_begins = not text_after or not text_after[0].islower()
    return sentence_ended and (sentence_begins or not text_before)


def _is_italic(styled: StyledText, begin: int, end: int) -> bool:
    italic_length = sum(
        max(0, min(end, stop) - max(begin, start)) for start, stop in styled.italic_ranges
    )
    return 2 * italic_length >= end - begin


def _is_italic_direction(text: str, start: int, begin: int, end: int) -> bool:
    """Returns whether words in italics, without brackets, are a direction rather than stressed."""
    words = text[begin:end].rstrip()
    end += text[end : end + 1] == "."
    has_full_stop = text[begin:end].rstrip().endswith(".")
    if not (words[:1].isupper() and has_full_stop and _stands_between(text, start, begin, end)):
        return False
    is_impersonal = count_words(words) > 1 and not _FIRST_OR_SECOND_PERSON.search(words)
    return is_impersonal or bool(_STAGE_VERB.match(words))


def is_direction(styled: StyledText) -> bool:
    """Returns whether a whole paragraph is a direction: in brackets, in italics, by markup, or like
    `Enter Ghost.`"""
    text = styled.text.strip()
    if not any(map(str.isalpha, text)):
        return False
    is_bracketed = f"{text[0]}{text.rstrip('.')[-1]}" in ("[]", "()")
    if is_bracketed and not re.search(r"[\])].*[\[(]", text[1:].rstrip(".")[:-1], re.DOTALL):
        return not _COMMAND.match(text)
    ranges = (styled.direction_ranges, styled.italic_ranges)
    if any(cover_text(covered, styled.text) for covered in ranges):
        return True
    return bool(_STAGE_VERB.match(text)) and text[-1] in ".]_)" and count_words(text) <= 60


def _without_emphasis(text: str) -> str:
    return re.sub(r"[*_]+", "", text).strip()


def match_transition(text: str) -> re.Match[str] | None:
    """Returns the match of a screenplay's transition, such as `**FADE IN:**`, in `text` without
    emphasis."""
    plain_text = _without_emphasis(text)
    return _CUT_TO.fullmatch(plain_text) or _TRANSITION.fullmatch(plain_text)


def is_extension(text: str) -> bool:
    """Returns whether words after a name say where its voice comes from: `(V.O.)`, `(CONT'D)`."""
    return bool(_EXTENSION.fullmatch(text))


def is_scene_heading(text: str) -> bool:
    """Returns whether a row heads a screenplay's scene, `text` without its emphasis."""
    return bool(_SCENE_HEADING.fullmatch(_without_emphasis(text)))


def is_parenthetical(text: str) -> bool:
    """Returns whether words in round brackets within a speech are an actor's: `(beat)`, `(to
    Anna)`."""
    match = _PARENTHETICAL.fullmatch(_without_emphasis(text))
    return match is not None and count_words(match[0]) <= _MAX_PARENTHETICAL_WORDS


def cover_text(ranges: Sequence[tuple[int, int]], text: str) -> bool:
    """Returns whether stretches hold nearly all letters of a text."""
    covered_length = sum(stop - start for start, stop in ranges)
    if 10 * covered_length < 7 * len(text):
        return False
    covered_letters = sum(map(str.isalpha, "".join(text[start:stop] for start, stop in ranges)))
    return 10 * covered_letters >= 9 * sum(map(str.isalpha, text))


def is_stage_row(row: str) -> bool:
    """Returns whether a row of a text is a direction by its first word: `Enter the Ghost.`"""
    row = row.strip()
    return bool(_STAGE_VERB.match(row)) and row[-1] in ".])_"


def is_verse(text: str) -> bool:
    """Returns whether the lines of a text begin as verse does."""
    rows = [row.strip(" “\"'‘[(") for row in text.split("\n")]
    return len(rows) > 1 and all(not row[:1].islower() for row in rows)


def is_personal(text: str) -> bool:
    """Returns whether a text uses the first or second person, as directions do not."""
    return bool(_FIRST_OR_SECOND_PERSON.search(text))


def manner_of_speaking(bracketed_text: str, before_colon: bool = False) -> str | None:
    """Returns the manner of speaking from the few words after a name: `(softly)`, `[Languidly.]`.

    Returns None for an action, and for more than a few words.
    """
    words = bracketed_text.strip(" ,[]()（）_*").rstrip(".,;: ")
    max_words = _MAX_STYLE_WORDS_BEFORE_COLON if before_colon else _MAX_STYLE_WORDS
    if not words or len(words.split()) > max_words or re.search(r"[()\[\]{}\n:]", words):
        return None
    if _ACTION.match(words) or any(map(str.isupper, words[1:])):
        return None
    return words[0].lower() + words[1:]
