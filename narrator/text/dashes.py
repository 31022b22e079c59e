"""Separates speech from tags where no quotation marks do: after dashes, and within guillemets.

— Oui, dit Anna. — Tu viens ?  |  —Sí —dijo Ana—, pero no.  |  « Oui, dit-il, je viens. »

Knows words and dashes, nothing of speakers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from narrator.text.marks import stripped_end
from narrator.text.speech_verbs import NO_ABBREVIATION, WORD, folded_words, named_in_tag
from narrator.text.speech_words import SpeechWords, speech_of

_LEADING_DASH = re.compile(
    r"\s*[_*]*(?:[—–―]+|--+|-(?=[^\W\d_]|[¿¡«\"“ \u00a0]))(?![-—–―])[_*]*\s*"
)
_DASH = re.compile(r"(?<![\d—–―-])(?:--+|[—–―]+)|[—–―](?!\d)")
_HYPHEN = re.compile(r"(?<=\s)-(?=[^\s\d-])|(?<=\s)-(?=\s)|(?<=[^\s-])-(?=[\s,.;:!?…]|\Z)")
_SENTENCE_MARKS = ".!?…"
_STOPS_AND_SPACE = re.compile(r"[\s,.;:]*")


def speech_start(text: str) -> int:
    """Returns the offset at which speech begins after a paragraph's opening dash; 0 without one."""
    match = _LEADING_DASH.match(text)
    return match.end() if match and text[match.end() :].strip() else 0


def speech_after_dash(text: str, speech_start: int, language: str) -> list[tuple[int, int]]:
    """Returns the pieces of speech in a paragraph that speaks from `speech_start`, after a dash."""
    words = speech_of(language)
    opening_dash = text[:speech_start].strip(" \t_*\u00a0")
    is_hyphen = opening_dash.endswith("-") and not opening_dash.endswith("--")
    text_end = stripped_end(text, len(text))
    dash_matches = (_HYPHEN if is_hyphen else _DASH).finditer(text, speech_start, text_end)
    dashes = [
        dash for dash in dash_matches if dash.end() < text_end and _separates_clauses(text, dash)
    ]
    starts = [speech_start, *(d.end() for d in dashes)]
    stops = [*(d.start() for d in dashes), len(text)]
    is_speech = _classify_parts(text, list(zip(starts, stops, strict=True)), words)
    pieces = _join_pieces(text, starts, stops, is_speech)
    speech_pieces = [
        piece for start, stop in pieces for piece in split_off_tags(text, start, stop, language)
    ]
    text_start = len(text) - len(text.lstrip())
    if (
        speech_pieces
        and speech_pieces[0][0] == speech_start
        and not text[:speech_start].strip(" \t\n_*-—–―\u00a0")
    ):
        speech_pieces[0] = (text_start, speech_pieces[0][1])
    return speech_pieces


def _join_pieces(
    text: str, starts: Sequence[int], stops: Sequence[int], is_speech: Sequence[bool]
) -> list[tuple[int, int]]:
    """Joins parts of speech between dashes that belong together."""
    pieces = [(starts[0], stops[0])]
    for index in range(1, len(starts)):
        if not is_speech[index]:
            continue
        if is_speech[index - 1] and not _ends_sentence(text, stops[index - 1]):
            pieces[-1] = (pieces[-1][0], stops[index])
        else:  # after a sentence another speaks: — Oui. — Non.
            pieces.append((_resumption_start(text, stops[index - 1], starts[index]), stops[index]))
    return pieces


def _separates_clauses(text: str, dash: re.Match[str]) -> bool:
    """Returns whether a dash separates clauses, not the halves of a word or a range of numbers."""
    previous_character = text[dash.start() - 1 : dash.start()]
    next_character = text[dash.end() : dash.end() + 1]
    return not (previous_character.isalnum() and next_character.isalnum())


def _resumption_start(text: str, dash_start: int, after_dash: int) -> int:
    """Returns the offset at which speech resumes after a dash.

    The dash belongs to the narration if it touches a word: “—dijo Ana—, pero no.”
    """
    if dash_start and not text[dash_start - 1].isspace():
        match = _STOPS_AND_SPACE.match(text, after_dash)
        return match.end() if match else after_dash
    return dash_start


def _ends_sentence(text: str, offset: int) -> bool:
    text_before = text[max(0, offset - 20) : offset].rstrip(' \t\n\u00a0\u202f»”"_*')
    return text_before[-1:] in tuple(_SENTENCE_MARKS)


def _classify_parts(text: str, parts: Sequence[tuple[int, int]], words: SpeechWords) -> list[bool]:
    """Returns for each part between dashes True if it is speech, by the likeliest path."""
    speech_cost, narration_cost = 0.0, 1e9
    history: list[tuple[bool, bool]] = []
    """For each part: if it follows speech when it is speech, and when it is narration."""
    for index, (start, stop) in enumerate(parts):
        if index == 0:
            history.append((True, False))
            continue
        text_before = text[parts[index - 1][0] : parts[index - 1][1]].rstrip()
        narration_score = _narration_score(text[start:stop].strip(), text_before[-1:], words)
        is_punctuated = text_before[-1:] in tuple(",;:" + _SENTENCE_MARKS + "»”")
        switch_cost = 0.3 if is_punctuated or words.code not in ("ru", "uk", "be", "bg") else 1.3
        to_speech = ((speech_cost + 0.6, True), (narration_cost + 0.2, False))
        to_narration = ((speech_cost + switch_cost, True), (narration_cost + 0.8, False))
        best_speech, best_narration = min(to_speech), min(to_narration)
        speech_cost = best_speech[0] + max(0.0, narration_score)
        narration_cost = best_narration[0] + max(0.0, -narration_score)
        history.append((best_speech[1], best_narration[1]))
    is_speech = [speech_cost <= narration_cost]
    for from_speech, from_narration in reversed(history[1:]):
        is_speech.append(from_speech if is_speech[-1] else from_narration)
    return is_speech[::-1]


def _narration_score(part: str, previous_character: str, words: SpeechWords) -> float:
    """Scores how much a part between dashes looks like narration; negative for speech."""
    part_words = folded_words(part[:200])
    if not part_words:
        return 0.0
    is_lower_case = part[0].islower()
    if is_lower_case and set(part_words[:3]) & words.verbs:
        return 3.0
    score = 0.0
    if part_words[0] in words.third_person:
        score = 1.2
    elif is_lower_case and set(part_words[:7]) & words.verbs:
        score = 1.5
    elif is_lower_case and part_words[0] in words.aside_openers:
        score = -1.0
    if is_lower_case and previous_character in tuple(_SENTENCE_MARKS):
        score += 1.0
    elif not is_lower_case and previous_character == ",":
        score -= 1.0
    score -= 1.5 * bool(set(part_words) & words.first_and_second_person)
    score -= 3.0 * (part[0] in "¿¡")
    return score - 0.7 * (part.rstrip(" —–-")[-1:] in ("?", "!"))


# -- tags between commas

_REFLEXIVE = frozenset("s se me m lui le les gli lhe".split())
"""Pronouns before the verb of a tag: s'écria, lui dit, le dijo."""
_TAG_START = re.compile(r"[,!?….»”]\s+(?=[^\W\d_])")
_CLAUSE_END = re.compile(NO_ABBREVIATION + r"\.(?=\s|\Z)|[!?…](?=\s|\Z)|[,;:](?=\s)|\Z")
_CLAUSE_MARKS = re.compile(r"[,.;:!?…]")


def split_off_tags(
    text: str, start: int, stop: int, language: str, *, in_marks: bool = False
) -> Iterator[tuple[int, int]]:
    """Yields the pieces of speech of `text[start:stop]`, without the tags in it.

    `in_marks`: a mark closes the quotation, so that text after a tag's sentence is speech again.
    """
    words = speech_of(language)
    piece_start = start
    for match in _TAG_START.finditer(text, start, stop):
        tag = match.end()
        if tag <= piece_start or not is_tag(text, tag, stop, language):
            continue
        yield piece_start, match.start() + 1
        piece_start = _speech_after_tag(text, tag, stop, words, in_marks)
        if piece_start >= stop:
            return
    end = stripped_end(text, stop)
    if any(c.isalnum() for c in text[piece_start:end]):
        yield piece_start, end


def is_tag(text: str, offset: int, stop: int, language: str) -> bool:
    """Returns whether a tag begins here: “said Ada”, “he said.”, « dit-il », demanda Anna."""
    tag_text = text[offset : min(stop, offset + 120)]
    words = list(WORD.finditer(tag_text))[:4]
    folded_words = [word[0].casefold() for word in words]
    speech = speech_of(language)
    reflexive_count = 1 if folded_words and folded_words[0] in _REFLEXIVE else 0
    if (
        speech.verbs.intersection(folded_words[reflexive_count : reflexive_count + 1])
        and tag_text[0].islower()
    ):
        if not speech.pronouns:
            return True
        subject = named_in_tag(tag_text, language)
        if subject is None or subject.start == subject.stop:
            return False
        return len(WORD.findall(tag_text[: subject.start])) <= reflexive_count + 4
    verb = next((word for word in words[1:3] if word[0] in speech.verbs), None)
    if verb is None or speech.code != "en":
        return False  # elsewhere the subject follows
    has_subject = folded_words[0] in speech.pronouns or words[0][0][0].isupper()
    return has_subject and tag_text[verb.end() :].lstrip()[:1] in (".", ",")


def _speech_after_tag(text: str, offset: int, stop: int, words: SpeechWords, in_marks: bool) -> int:
    """Returns the offset at which speech resumes after a tag; `stop` if it does not."""
    for clause_end in _CLAUSE_END.finditer(text, offset, stop):
        next_start = stop - len(text[clause_end.end() : stop].lstrip())
        if next_start >= stop or text[next_start] in '»”"':
            return stop
        if clause_end[0] not in (",", ";", ":"):
            return next_start if in_marks else _skip_narration(text, next_start, stop, words)
        next_word = WORD.match(text, next_start, stop)
        if not next_word or next_word[0] not in words.tag_continuations:
            return next_start
        clause = _CLAUSE_MARKS.split(text[next_start:stop], maxsplit=1)[0]
        if not words.first_and_second_person.isdisjoint(folded_words(clause)):
            return next_start
    return stop


_SENTENCE = re.compile(r"[^.!?…]*[.!?…]*\s*")


def _skip_narration(text: str, offset: int, stop: int, words: SpeechWords) -> int:
    """Returns the offset at which speech resumes after narration that follows a tag's sentence."""
    for sentence in _SENTENCE.finditer(text, offset, stop):
        sentence_words = folded_words(sentence[0])
        is_spoken = (
            "?" in sentence[0]
            or "!" in sentence[0]
            or not words.first_and_second_person.isdisjoint(sentence_words)
        )
        if is_spoken or words.third_person.isdisjoint(sentence_words[:1]):
            return sentence.start()
    return stop


_DASHED_TAG = re.compile(r"\s(?:--|[—–-])(?=[^\W\d_])(.+?)(?:--|[—–-])(?=[\s,.;:!?…])[,.;:]?\s*")
"""A tag between dashes that touch its words: «Ven -dijo Ana-, que es tarde»."""


def _split_off_dashed_tags(
    text: str, start: int, stop: int, words: SpeechWords
) -> Iterator[tuple[int, int]]:
    """Yields the pieces of speech between two marks, without the tags between dashes."""
    piece_start = start
    for match in _DASHED_TAG.finditer(text, start, stop):
        if words.verbs.intersection(folded_words(match[1])[:2]):
            yield piece_start, match.start()
            piece_start = match.end()
    yield piece_start, stop


def speech_between_marks(text: str, start: int, stop: int, language: str) -> list[tuple[int, int]]:
    """Returns the pieces of speech between two marks, without the tags in it."""
    words = speech_of(language)
    if "comma-tag" in words.traits:
        return [
            piece
            for part in _split_off_dashed_tags(text, start, stop, words)
            for piece in split_off_tags(text, *part, language, in_marks=True)
        ] or [(start, stop)]
    if "dash-tag" not in words.traits:
        return [(start, stop)]
    pieces: list[tuple[int, int]] = []
    piece_start, is_narration = start, False
    for dash in _DASH.finditer(text, start, stop):
        text_before = text[piece_start : dash.start()].rstrip()
        tag_text = text[dash.end() : min(stop, dash.end() + 60)].lstrip()
        if is_narration:
            piece_start, is_narration = dash.start(), False
        elif (
            text_before[-1:] in tuple(",!?….")
            and tag_text[:1].islower()
            and not words.verbs.isdisjoint(folded_words(tag_text)[:3])
        ):
            pieces.append((piece_start, piece_start + len(text_before)))
            piece_start, is_narration = dash.end(), True
    if not is_narration:
        pieces.append((piece_start, stop))
    return pieces
