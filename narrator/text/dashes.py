"""Separates speech from tags where no quotation marks do: after dashes, and within guillemets.

— Oui, dit Anna. — Tu viens ?  |  —Sí —dijo Ana—, pero no.  |  « Oui, dit-il, je viens. »

Knows words and dashes, nothing of speakers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrator.text.marks import stripped_end
from narrator.text.speech_verbs import WORD, named_in_tag, speech_of
from textbase.languages import primary

DASH_LANGUAGES = frozenset(
    "fr es it pt ru uk be pl ro el tr sv fi da no nb nn hu ca gl bg cs sk sr hr lt lv et sq".split()
)
"""Languages in which a dash at a paragraph's beginning opens speech."""
_COMMA_TAG_LANGUAGES = frozenset("fr it es pt ca".split())
"""Languages in which a tag may stand within guillemets, between commas."""
_DASH_TAG_LANGUAGES = frozenset("ru uk be bg pl".split())
"""Languages in which a tag may stand within guillemets, between dashes: «Да, — сказал он, — иду».
"""

_LEADING_DASH = re.compile(
    r"\s*[_*]*(?:[—–―]+|--+|-(?=[^\W\d_]|[¿¡«\"“ \u00a0]))(?![-—–―])[_*]*\s*"
)
_DASH = re.compile(r"(?<![\d—–―-])(?:--+|[—–―]+)|[—–―](?!\d)")
_HYPHEN = re.compile(r"(?<=\s)-(?=[^\s\d-])|(?<=\s)-(?=\s)|(?<=[^\s-])-(?=[\s,.;:!?…]|\Z)")
_SENTENCE_MARKS = ".!?…"
_STOPS_AND_SPACE = re.compile(r"[\s,.;:]*")

_FIRST_AND_SECOND_PERSON = {
    "fr": "je j tu nous vous me te mon ton ma ta mes tes votre vos notre nos moi toi",
    "es": "yo tú me te nos usted ustedes vosotros os mi mis tu tus nuestro vuestro ti mí soy eres",
    "it": "io tu noi voi mi ti ci vi mio tuo mia tua nostro vostro me te sono sei",
    "pt": "eu tu nós vós me te você vocês meu minha teu tua nosso sou és",
    "ru": "я ты мы вы меня тебя мне тебе нас вас нам вам мой твой моя твоя ваш наш вами",
    "pl": "ja ty my wy mnie ciebie mi ci nas was mój twój pan pani",
}
_THIRD_PERSON = {
    "fr": "il elle ils elles",
    "es": "él ella ellos ellas se",
    "it": "lui lei egli ella essi si",
    "pt": "ele ela eles elas",
    "ru": "он она они",
    "pl": "on ona oni",
}
_ASIDE_OPENERS = {
    "es": "el la los las un una mi tu su que si como de a por con en sin y o pero para no",
    "pt": "o a os as um uma meu teu que se como de por com em sem e ou mas para não",
    "it": "il lo la i gli le un una mio che se come di a per con in senza e o ma non",
    "fr": "le la les un une mon ton que si comme de à par avec en sans et ou mais pour ne",
    "ru": "а и но что как если это не то или мой твой кто где",
    "pl": "a i ale że jak jeśli to nie lub mój",
}
"""First words of a part between dashes, by language: first and second person (speech), third person
(narration), and openers of an aside within speech."""


@dataclass(frozen=True, slots=True)
class _DashWords:
    code: str
    first_person: frozenset[str]
    narration_words: frozenset[str]
    aside_words: frozenset[str]


def _dash_words(language: str) -> _DashWords:
    code = primary(language)
    tables = (_FIRST_AND_SECOND_PERSON, _THIRD_PERSON, _ASIDE_OPENERS)
    return _DashWords(code, *(frozenset(table.get(code, "").split()) for table in tables))


def speech_start(text: str) -> int:
    """Return the offset at which speech begins after a paragraph's opening dash; 0 without one."""
    match = _LEADING_DASH.match(text)
    return match.end() if match and text[match.end() :].strip() else 0


def speech_after_dash(text: str, speech_start: int, language: str) -> list[tuple[int, int]]:
    """Return the pieces of speech in a paragraph that speaks from `speech_start`, after a dash."""
    words = _dash_words(language)
    lead = text[:speech_start].strip(" \t_*\u00a0")
    is_hyphen = lead.endswith("-") and not lead.endswith("--")
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
    """Join parts of speech between dashes that belong together."""
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
    """Return True if a dash separates clauses, not the halves of a word or a range of numbers."""
    before, after = text[dash.start() - 1 : dash.start()], text[dash.end() : dash.end() + 1]
    return not (before.isalnum() and after.isalnum())


def _resumption_start(text: str, dash_start: int, after_dash: int) -> int:
    """Return the offset at which speech resumes after a dash.

    The dash belongs to the narration if it touches a word: “—dijo Ana—, pero no.”
    """
    if dash_start and not text[dash_start - 1].isspace():
        match = _STOPS_AND_SPACE.match(text, after_dash)
        return match.end() if match else after_dash
    return dash_start


def _ends_sentence(text: str, offset: int) -> bool:
    text_before = text[max(0, offset - 20) : offset].rstrip(' \t\n\u00a0\u202f»”"_*')
    return text_before[-1:] in tuple(_SENTENCE_MARKS)


def _classify_parts(text: str, parts: Sequence[tuple[int, int]], words: _DashWords) -> list[bool]:
    """Return for each part between dashes True if it is speech, by the likeliest path."""
    speech_cost, narration_cost = 0.0, 1e9
    history: list[tuple[bool, bool]] = []
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


def _narration_score(part: str, previous_character: str, words: _DashWords) -> float:
    """Score how much a part between dashes looks like narration; negative for speech."""
    part_words = [word.casefold() for word in WORD.findall(part[:200])]
    if not part_words:
        return 0.0
    verbs = speech_of(words.code).verbs
    is_lower_case = part[0].islower()
    if is_lower_case and set(part_words[:3]) & verbs:
        return 3.0
    score = 0.0
    if part_words[0] in words.narration_words:
        score = 1.2
    elif is_lower_case and set(part_words[:7]) & verbs:
        score = 1.5
    elif is_lower_case and part_words[0] in words.aside_words:
        score = -1.0
    if is_lower_case and previous_character in tuple(_SENTENCE_MARKS):
        score += 1.0
    elif not is_lower_case and previous_character == ",":
        score -= 1.0
    score -= 1.5 * bool(set(part_words) & words.first_person)
    score -= 3.0 * (part[0] in "¿¡")
    return score - 0.7 * (part.rstrip(" —–-")[-1:] in ("?", "!"))


# -- tags between commas

_REFLEXIVE = frozenset("s se me m lui le les gli lhe".split())
"""Pronouns before the verb of a tag: s'écria, lui dit, le dijo."""
_TAG_START = re.compile(r"[,!?….»”]\s+(?=[^\W\d_])")
_CLAUSE_END = re.compile(
    r"(?<!\b[^\W\d_])(?<!\bMme)(?<!\bMlle)(?<!\bDr)(?<!\bSr)(?<!\bSra)\.(?=\s|\Z)|[!?…](?=\s|\Z)"
    r"|[,;:](?=\s)|\Z"
)
_SPACE = re.compile(r"\s*")
_TO_COMMA = re.compile(r"[^,.;:!?…]*")
_TAG_CONTINUATION = {
    "fr": re.compile(
        r"(?:en|d|l|qui|avec|sans|tout|très|à|sur|un|une|le|la|les|son|sa|ses|après)\b"
    ),
    "es": re.compile(r"(?:el|la|con|sin|que|quien|muy|un|una|mientras|tras)\b"),
    "it": re.compile(r"(?:il|la|con|senza|che|molto|un|una|mentre)\b"),
    "pt": re.compile(r"(?:o|a|com|sem|que|muito|um|uma|enquanto)\b"),
}


def split_off_tags(
    text: str, start: int, stop: int, language: str, *, in_marks: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the pieces of speech of `text[start:stop]`, without the tags in it.

    `in_marks`: a mark closes the quotation, so that text after a tag's sentence is speech again.
    """
    words = _dash_words(language)
    piece_start = start
    for match in _TAG_START.finditer(text, start, stop):
        tag = match.end()
        if tag <= piece_start or not is_tag(text, tag, stop, language):
            continue
        yield piece_start, match.start() + 1
        piece_start = _after_tag(text, tag, stop, words, in_marks)
        if piece_start >= stop:
            return
    end = stripped_end(text, stop)
    if any(c.isalnum() for c in text[piece_start:end]):
        yield piece_start, end


def is_tag(text: str, offset: int, stop: int, language: str) -> bool:
    """Return True if a tag begins here: “said Ada”, “he said.”, « dit-il », demanda Anna."""
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


def _after_tag(text: str, offset: int, stop: int, words: _DashWords, in_marks: bool) -> int:
    """Return the offset at which speech resumes after a tag; `stop` if it does not."""
    goes_on = _TAG_CONTINUATION.get(words.code)
    for match in _CLAUSE_END.finditer(text, offset, stop):
        spaces = _SPACE.match(text, match.end(), stop)
        next_start = spaces.end() if spaces else stop
        if next_start >= stop or text[next_start] in '»”"':
            return stop
        if match[0] in (",", ";", ":"):
            continuation = goes_on and goes_on.match(text, next_start, stop)
            if continuation and not _clause_words(text, next_start, stop) & words.first_person:
                continue
            return next_start
        if in_marks:
            return next_start
        return _skip_narration(text, next_start, stop, words)
    return stop


def _clause_words(text: str, offset: int, stop: int) -> set[str]:
    clause = _TO_COMMA.match(text, offset, stop)
    return {word.casefold() for word in WORD.findall(clause[0])} if clause else set()


_SENTENCE = re.compile(r"[^.!?…]*[.!?…]*\s*")


def _skip_narration(text: str, offset: int, stop: int, words: _DashWords) -> int:
    """Return the offset at which speech resumes after narration that follows a tag's sentence."""
    while offset < stop:
        sentence = _SENTENCE.match(text, offset, stop)
        if sentence is None or sentence.end() == offset:
            return stop
        sentence_words = [word.casefold() for word in WORD.findall(sentence[0])]
        is_spoken = (
            bool(set(sentence_words) & words.first_person)
            or "?" in sentence[0]
            or "!" in sentence[0]
        )
        if not is_spoken and sentence_words and sentence_words[0] in words.narration_words:
            offset = sentence.end()
            continue
        return offset
    return stop


def speech_between_marks(text: str, start: int, stop: int, language: str) -> list[tuple[int, int]]:
    """Return the pieces of speech between two marks, without the tags in it."""
    code = primary(language)
    if code in _COMMA_TAG_LANGUAGES:
        return list(split_off_tags(text, start, stop, language, in_marks=True)) or [(start, stop)]
    if code not in _DASH_TAG_LANGUAGES:
        return [(start, stop)]
    verbs = speech_of(code).verbs
    pieces: list[tuple[int, int]] = []
    piece_start, is_narration = start, False
    for dash in _DASH.finditer(text, start, stop):
        text_before = text[piece_start : dash.start()].rstrip()
        tag_text = text[dash.end() : min(stop, dash.end() + 60)].lstrip()
        first_words = [word.casefold() for word in WORD.findall(tag_text)[:3]]
        if is_narration:
            piece_start, is_narration = dash.start(), False
        elif (
            text_before[-1:] in tuple(",!?….")
            and tag_text[:1].islower()
            and set(first_words) & verbs
        ):
            pieces.append((piece_start, piece_start + len(text_before)))
            piece_start, is_narration = dash.end(), True
    if not is_narration:
        pieces.append((piece_start, stop))
    return pieces
