"""Finds letters within quotation marks, and tags them with who wrote them: the person who signs,
else the author whom the heading of their part names; nobody of the cast if neither is known.

A letter is a quotation that ends in a signature ("Your loving MINA.") or begins with a line of its
own for the addressee ("My dearest Lucy,"), with all its paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from narrator.text.speakers.mentions import Mention, Passage
from narrator.text.speakers.tags import SpeechTag, SpeechTurn

_HEADING_REACH = 3
"""Paragraphs after a heading within which its letter begins."""
_SIGNATURE_REACH, _MAX_CLOSING_WORDS = 2, 6
"""Paragraphs after a letter within which its signature may stand, and words between."""
_MAX_SIGNATURE_WORDS = 4

_QUOTES = " \n\"“”„‟‘’'«»"
_INNER_QUOTES = tuple("\"“‘'«„")
_VALEDICTION = re.compile(
    r"(?:\byours?(?:\s[\w’'-]+){0,3}?\s(?:[\w’'-]+-)?(?:affectionate|loving|sincere|faithful|true"
    r"|obedient|devoted|humble|grateful|respectful|fond|ever|always|attached)(?:ly)?"
    r"(?:\s[\w’'-]+){0,3}|(?:[.!?—-]\s*|\A)(?:Ever\s|Always\s)?[Yy]ours)[\s,.—-]*\Z",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"(?:my\s)?(?:own\s|very\s)?(?:dear|dearest|darling|honou?red)\b[^.!?,:;]{2,40}"
    r"(?:[,:][\s—–-]*|[—–-]+)",
    re.IGNORECASE,
)


def tag_letters(
    passages: Sequence[Passage], turns: Sequence[SpeechTurn], authors: Mapping[int, int]
) -> None:
    """Tags the turns of all letters with their writers, and forgets whom they address.

    `authors` are those whom headings of letters name, by the number of the heading's passage.
    """
    for letter in _runs(passages, turns):
        signature = _signature(letter)
        number = letter[0].passage.number
        author = next(
            (
                authors[heading]
                for heading in range(number - 1, number - 1 - _HEADING_REACH, -1)
                if heading in authors
            ),
            None,
        )
        if (
            author is not None
            and _is_set_apart(letter)
            and not (signature and signature.characters)
        ):
            signature = replace(_nobody(letter[0]), characters=(author,))
        is_tagged = any(turn.tag is not None and turn.tag.is_explicit for turn in letter)
        if signature is None and not is_tagged and _has_salutation(letter):
            signature = _nobody(letter[0])
        if signature is not None:
            for turn in letter:
                turn.tag = SpeechTag(signature, "signature")
                turn.vocatives = set()


def _runs(passages: Sequence[Passage], turns: Sequence[SpeechTurn]) -> Iterator[list[SpeechTurn]]:
    """Yields runs of turns whose words go on, each with a signature that stands apart."""
    run: list[SpeechTurn] = []
    for turn in turns:
        if run and not (
            turn.pieces[0].continues_previous or _is_signature_of(turn, run[-1], passages)
        ):
            yield run
            run = []
        run.append(turn)
    if run:
        yield run


def _is_signature_of(turn: SpeechTurn, last: SpeechTurn, passages: Sequence[Passage]) -> bool:
    """Returns whether a turn is nothing but a name in capitals, soon after a letter."""
    numbers = range(last.passage.number + 1, turn.passage.number)
    words_between = sum(len(passages[number].words) for number in numbers)
    is_near = len(numbers) < _SIGNATURE_REACH and words_between <= _MAX_CLOSING_WORDS
    text = _text(turn)
    is_alone = turn.passage.text.strip(_QUOTES) == text
    return is_near and is_alone and text.isupper() and _name_at_end(turn) is not None


def _text(turn: SpeechTurn) -> str:
    return turn.passage.text[turn.pieces[0].start : turn.pieces[-1].stop].strip(_QUOTES)


def _signature(letter: Sequence[SpeechTurn]) -> Mention | None:
    """Returns the name that signs a letter, or None; a postscript may follow."""
    for index, turn in reversed(list(enumerate(letter))):
        name = _name_at_end(turn)
        if name is None:
            continue
        start = turn.pieces[0].start
        marked_text = turn.passage.text[start : name.start]
        if marked_text[1:].rstrip()[-1:] in _INNER_QUOTES:
            continue
        text_before = marked_text.strip(_QUOTES)
        is_upper = turn.passage.text[name.start : name.stop].isupper() and len(_text(turn)) > 2
        if (
            (index > 0 and not text_before and (name.characters or is_upper))
            or _VALEDICTION.search(text_before)
            or (is_upper and name.characters and text_before.endswith((".", "!", "?")))
        ):
            return name
    return None


def _name_at_end(turn: SpeechTurn) -> Mention | None:
    """Returns the name with which a turn ends, of somebody of the cast or not."""
    passage, piece = turn.passage, turn.pieces[-1]
    words = passage.between(piece.start, piece.stop)
    text_after = passage.text[passage.words[words[-1]].stop : piece.stop] if words else ""
    if not words or text_after.strip(_QUOTES + ".,") or passage.text[piece.stop :].strip():
        return None
    mentions = passage.mentions_in(words)
    if mentions and mentions[-1].last == words.stop:
        mention = mentions[-1]
        return mention if mention.kind == "name" and not mention.is_possessive else None
    first = words.stop
    while first > words.start and passage.words[first - 1].is_capitalised:
        first -= 1
    run = passage.words[first : words.stop]
    if not 0 < len(run) <= _MAX_SIGNATURE_WORDS or len(run[-1].norm) < 2:
        return None
    return Mention("name", run[0].start, run[-1].stop, first, words.stop, is_quoted=True)


def _has_salutation(letter: Sequence[SpeechTurn]) -> bool:
    """Returns whether one of the first lines of a letter is nothing but its addressee."""
    return len(letter) > 1 and any(_SALUTATION.fullmatch(_text(turn)) for turn in letter[:3])


def _is_set_apart(letter: Sequence[SpeechTurn]) -> bool:
    """Returns whether no narration stands beside a letter."""
    return all(_text(turn) == turn.passage.text.strip(_QUOTES) for turn in letter)


def _nobody(turn: SpeechTurn) -> Mention:
    """Returns a mention of somebody whom the cast lacks."""
    start, word = turn.pieces[0].start, turn.passage.between(0, turn.pieces[0].start).stop
    return Mention("name", start, start, word, word, is_quoted=True)
