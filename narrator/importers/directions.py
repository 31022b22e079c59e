"""Stage directions: which stretches of a speech are none of it, and which say how it is said.

Knows text and its styles, not blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrator.importers.book import count_words


@dataclass(frozen=True, slots=True)
class StyledText:
    """A text with what its source shows in another style. Lines are parted by `\\n`."""

    text: str
    italic_ranges: tuple[tuple[int, int], ...] = ()
    """In italics, or what a plain text has for them."""
    direction_ranges: tuple[tuple[int, int], ...] = ()
    """What markup calls a stage direction."""


@dataclass(frozen=True, slots=True)
class DirectionStyle:
    """How a book sets its directions."""

    is_play: bool = True
    """Else what is in brackets may be an editor's: “I told [the company] so”."""
    uses_square_brackets: bool = False
    """Then what is in round ones is said, unless it is in italics."""
    has_markup: bool = False
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
_SQUARE_BRACKETS = re.compile(r"\[[^\[\]]*\](?![(:\[])")  # what links and definitions have is none
_PARENTHESES = re.compile(r"(?<!\])\([^()]*\)|（[^（）]*）")
_COMMAND = re.compile(r"\[(?:pause|music|language)\b|\[\W*\d{0,3}\W*\]", re.IGNORECASE)
"""What is a command of a script, or the mark of a note."""
_CLOSING_CHARACTERS = frozenset('.?!…:;—–"”’»)]')
_STAGE_VERB = re.compile(
    r"[\[(_\s]*(?:re-?enter|enter|exit|exeunt|manet|manent|flourish|alarums?|trumpets?|sennet|"
    r"curtain|tritt|treten|vorhang|entrent|sortent|rideau|sipario|"
    r"входит|входят|уходит|уходят|занавес)\b",
    re.IGNORECASE,
)
"""A line of the stage, whatever stands around it."""
_FIRST_OR_SECOND_PERSON = re.compile(
    r"\b(?:I|me|my|mine|we|us|our|you|your|yours|thou|thee|thy|thine|ye|ich|mir|mich|mein\w*|wir|"
    r"uns|unser\w*|dir|dich|dein\w*|euch|euer|je|moi|nous|vous|votre|notre|toi|yo|usted|ustedes|"
    r"nosotros|io|noi|voi|lei|eu|você|я|мне|меня|мой|моя|мы|нас|нам|ты|тебя|тебе|вы|вас|вам)\b|\bj’|"
    r"\bj'",
    re.IGNORECASE,
)
"""Words of those who speak themselves, as directions hardly do."""
_ACTION = re.compile(
    r"(?:(?:they|he|she|it|we|all)\b|re-?enter|enter|exit|exeunt|ris(?:es?|ing)|sit|stand|go(?:es|ing)?\b|leav|kneel|turn|bow|"
    r"nod|point|tak|pick|put|open|clos|walk|run|cross|mov|com(?:es?|ing)|kiss|die[sd]?\b|dying|fall|"
    r"paus|silen|beat\b|music|curtain|tritt|geht|steht|setzt|ab\b|entre|sort|встает|входит|уходит|"
    r"садится|пауза|молчание)",
    re.IGNORECASE,
)
"""What is done rather than a way to speak."""
_MAX_STYLE_WORDS = 2
_MAX_STYLE_WORDS_BEFORE_COLON = 4


def split_speech(styled: StyledText, start: int, conventions: DirectionStyle) -> list[SpeechPiece]:
    """A text from `start` on, in speech and directions; nothing of it is in neither."""
    text = styled.text
    direction_ranges = sorted(_find_directions(styled, start, conventions))
    speech_pieces: list[SpeechPiece] = []
    offset = start
    for begin, end in direction_ranges:
        if begin < offset:
            continue
        speech_pieces += [SpeechPiece(offset, begin, False)] if text[offset:begin].strip() else []
        speech_pieces.append(SpeechPiece(begin, end, True))
        offset = end
    speech_pieces += [SpeechPiece(offset, len(text), False)] if text[offset:].strip() else []
    return _merge_pieces(text, speech_pieces)


def _merge_pieces(text: str, speech_pieces: Sequence[SpeechPiece]) -> list[SpeechPiece]:
    """Pieces without those that are no more than a full stop, and neighbours of one kind as one."""
    merged: list[SpeechPiece] = []
    for piece in speech_pieces:
        has_letters = any(map(str.isalnum, text[piece.start : piece.stop]))
        if merged and (not has_letters or merged[-1].is_direction == piece.is_direction):
            merged[-1] = SpeechPiece(merged[-1].start, piece.stop, merged[-1].is_direction)
        else:
            merged.append(piece)
    return merged


def _find_directions(
    styled: StyledText, start: int, conventions: DirectionStyle
) -> Iterator[tuple[int, int]]:
    text = styled.text
    yield from ((max(start, begin), end) for begin, end in styled.direction_ranges if end > start)
    for match in _SQUARE_BRACKETS.finditer(text, start):
        is_between_sentences = conventions.is_play or _stands_between(text, start, *match.span())
        if is_between_sentences and _has_words(match[0]):
            yield match.span()
    for match in _PARENTHESES.finditer(text, start):
        if _has_words(match[0]) and _is_direction_in_parentheses(styled, start, match, conventions):
            yield match.span()
    if conventions.is_play and not conventions.has_markup:
        yield from _find_unbracketed(styled, start)


def _is_direction_in_parentheses(
    styled: StyledText, start: int, match: re.Match[str], conventions: DirectionStyle
) -> bool:
    """Whether round brackets hold a direction: where a play has square ones for these, only at the
    beginning of a speech, in small letters, or in italics."""
    opens_speech = not styled.text[start : match.start()].strip() and match[0][1:2].islower()
    is_spoken = conventions.is_play and conventions.uses_square_brackets and not opens_speech
    is_between_sentences = not is_spoken and _stands_between(styled.text, start, *match.span())
    return is_between_sentences or _is_italic(styled, *match.span())


def _find_unbracketed(styled: StyledText, start: int) -> Iterator[tuple[int, int]]:
    """Directions of a play that italics show, or their first word at the beginning of a line."""
    text = styled.text
    for begin, end in styled.italic_ranges:
        if begin >= start and _is_italic_direction(text, start, begin, end):
            yield begin, end
    if "\n" in text[start:]:
        for row in re.finditer(r"^.+$", text[start:], re.MULTILINE):
            if is_stage_row(row[0]):
                yield row.start() + start, row.end() + start


def _has_words(bracketed: str) -> bool:
    return not _COMMAND.match(bracketed) and any(map(str.isalpha, bracketed))


def _stands_between(text: str, start: int, begin: int, end: int) -> bool:
    """Whether a stretch stands between sentences rather than within one."""
    before, after = text[start:begin].rstrip(), text[end:].lstrip()
    sentence_ended = not before or before[-1] in _CLOSING_CHARACTERS
    sentence_begins = not after or not after[0].islower()
    return sentence_ended and (sentence_begins or not before)


def _is_italic(styled: StyledText, begin: int, end: int) -> bool:
    italic_length = sum(
        max(0, min(end, stop) - max(begin, start)) for start, stop in styled.italic_ranges
    )
    return 2 * italic_length >= end - begin


def _is_italic_direction(text: str, start: int, begin: int, end: int) -> bool:
    """Whether words in italics, without brackets, are a direction rather than stressed."""
    words = text[begin:end].rstrip()
    end += text[end : end + 1] == "."
    has_full_stop = text[begin:end].rstrip().endswith(".")
    if not (words[:1].isupper() and has_full_stop and _stands_between(text, start, begin, end)):
        return False
    is_impersonal = count_words(words) > 1 and not _FIRST_OR_SECOND_PERSON.search(words)
    return is_impersonal or bool(_STAGE_VERB.match(words))


def is_direction(styled: StyledText) -> bool:
    """Whether a whole paragraph is one: in brackets, in italics, by markup, as `Enter Ghost.`"""
    text = styled.text.strip()
    if not any(map(str.isalpha, text)):
        return False
    outer_characters = f"{text[0]}{text.rstrip('.')[-1]}" in ("[]", "()")
    inner_text = text[1:].rstrip(".")[:-1]
    if outer_characters and not re.search(r"[\])].*[\[(]", inner_text, re.DOTALL):
        return not _COMMAND.match(text)
    if cover_text(styled.direction_ranges, styled.text) or cover_text(
        styled.italic_ranges, styled.text
    ):
        return True
    return bool(_STAGE_VERB.match(text)) and text[-1] in ".]_)" and count_words(text) <= 60


def transition(text: str) -> re.Match[str] | None:
    """What a row says as a screenplay's transition, `text` without its emphasis: `**FADE IN:**`."""
    plain_text = re.sub(r"[*_]+", "", text).strip()
    return _CUT_TO.fullmatch(plain_text) or _TRANSITION.fullmatch(plain_text)


def is_extension(text: str) -> bool:
    """Whether words behind a name say where its voice comes from: `(V.O.)`, `(CONT'D)`."""
    return bool(_EXTENSION.fullmatch(text))


def is_scene_heading(text: str) -> bool:
    """Whether a row heads a screenplay's scene, `text` without its emphasis."""
    return bool(_SCENE_HEADING.fullmatch(re.sub(r"[*_]+", "", text).strip()))


def is_parenthetical(text: str) -> bool:
    """Whether words in round brackets within a speech are an actor's: `(beat)`, `(to Anna)`."""
    plain_text = re.sub(r"[*_]+", "", text).strip()
    return (
        bool(_PARENTHETICAL.fullmatch(plain_text))
        and count_words(plain_text) <= _MAX_PARENTHETICAL_WORDS
    )


def cover_text(ranges: Sequence[tuple[int, int]], text: str) -> bool:
    """Whether stretches hold nearly all letters of a text."""
    covered_length = sum(stop - start for start, stop in ranges)
    if 10 * covered_length < 7 * len(text):
        return False
    covered_letters = sum(map(str.isalpha, "".join(text[start:stop] for start, stop in ranges)))
    return 10 * covered_letters >= 9 * sum(map(str.isalpha, text))


def is_stage_row(row: str) -> bool:
    """Whether a row of a text is a direction by its first word: `Enter the Ghost.`"""
    row = row.strip()
    return bool(_STAGE_VERB.match(row)) and row[-1] in ".])_"


def is_verse(text: str) -> bool:
    """Whether the lines of a text begin as verse does."""
    rows = [row.strip(" “\"'‘[(") for row in text.split("\n")]
    return len(rows) > 1 and all(not row[:1].islower() for row in rows)


def is_personal(text: str) -> bool:
    """Whether somebody speaks in a text of himself or to another, as directions do not."""
    return bool(_FIRST_OR_SECOND_PERSON.search(text))


def style_of(bracketed_text: str, before_colon: bool = False) -> str | None:
    """How a speech is said, from the few words after its name: `(softly)`, `[Languidly.]`; None for
    what is done, and for what takes longer to tell."""
    words = bracketed_text.strip(" ,[]()（）_*").rstrip(".,;: ")
    max_words = _MAX_STYLE_WORDS_BEFORE_COLON if before_colon else _MAX_STYLE_WORDS
    if not words or len(words.split()) > max_words or re.search(r"[()\[\]{}\n:]", words):
        return None
    if _ACTION.match(words) or any(map(str.isupper, words[1:])):
        return None
    return words[0].lower() + words[1:]
