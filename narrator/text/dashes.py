"""Speech and tags where no marks part them: after dashes, and within French guillemets.

— Oui, dit Anna. — Tu viens ?  |  —Sí —dijo Ana—, pero no.  |  « Oui, dit-il, je viens. »
Knows words and dashes, nothing of who speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrator.text.marks import end_of
from narrator.text.sentences import primary
from narrator.text.speech_verbs import WORD, named_in_tag, speech_of

DASHED = frozenset(
    "fr es it pt ru uk be pl ro el tr sv fi da no nb nn hu ca gl bg cs sk sr hr lt lv et sq".split()
)
"""Languages in which a dash at a paragraph's beginning opens speech."""
_WITHIN_MARKS = frozenset("fr it es pt ca".split())
"""Those in which a tag may stand within guillemets, between commas."""
_DASHES_WITHIN_MARKS = frozenset("ru uk be bg pl".split())
"""Those in which it does between dashes: «Да, — сказал он, — иду»."""

_LEADS = re.compile(r"\s*[_*]*(?:[—–―]+|--+|-(?=[^\W\d_]|[¿¡«\"“ \u00a0]))(?![-—–―])[_*]*\s*")
_DASH = re.compile(r"(?<![\d—–―-])(?:--+|[—–―]+)|[—–―](?!\d)")
_HYPHEN = re.compile(r"(?<=\s)-(?=[^\s\d-])|(?<=\s)-(?=\s)|(?<=[^\s-])-(?=[\s,.;:!?…]|\Z)")
_STOPS = ".!?…"
_STOPS_AND_SPACE = re.compile(r"[\s,.;:]*")

_SELVES = {
    "fr": "je j tu nous vous me te mon ton ma ta mes tes votre vos notre nos moi toi",
    "es": "yo tú me te nos usted ustedes vosotros os mi mis tu tus nuestro vuestro ti mí soy eres",
    "it": "io tu noi voi mi ti ci vi mio tuo mia tua nostro vostro me te sono sei",
    "pt": "eu tu nós vós me te você vocês meu minha teu tua nosso sou és",
    "ru": "я ты мы вы меня тебя мне тебе нас вас нам вам мой твой моя твоя ваш наш вами",
    "pl": "ja ty my wy mnie ciebie mi ci nas was mój twój pan pani",
}
_TOLD = {
    "fr": "il elle ils elles",
    "es": "él ella ellos ellas se",
    "it": "lui lei egli ella essi si",
    "pt": "ele ela eles elas",
    "ru": "он она они",
    "pl": "on ona oni",
}
_ASIDE = {
    "es": "el la los las un una mi tu su que si como de a por con en sin y o pero para no",
    "pt": "o a os as um uma meu teu que se como de por com em sem e ou mas para não",
    "it": "il lo la i gli le un una mio che se come di a per con in senza e o ma non",
    "fr": "le la les un une mon ton que si comme de à par avec en sans et ou mais pour ne",
    "ru": "а и но что как если это не то или мой твой кто где",
    "pl": "a i ale że jak jeśli to nie lub mój",
}
"""First words by language: of those who speak and are spoken to, of those told of, of what stands
between dashes within speech."""


@dataclass(frozen=True, slots=True)
class _DashWords:
    code: str
    selves: frozenset[str]
    told: frozenset[str]
    aside: frozenset[str]


def _words(language: str) -> _DashWords:
    code = primary(language)
    tables = (_SELVES, _TOLD, _ASIDE)
    return _DashWords(code, *(frozenset(table.get(code, "").split()) for table in tables))


def leads(text: str) -> int:
    """Where a paragraph's speech begins, after the dash with which it opens; 0 where none does."""
    found = _LEADS.match(text)
    return found.end() if found and text[found.end() :].strip() else 0


def after_dash(text: str, begin: int, language: str) -> list[tuple[int, int]]:
    """The pieces of speech in a paragraph that speaks from `begin`, after a dash."""
    words = _words(language)
    head = text[:begin].strip(" \t_*\u00a0")
    hyphens = head.endswith("-") and not head.endswith("--")
    whole = end_of(text, len(text))
    marks = (_HYPHEN if hyphens else _DASH).finditer(text, begin, whole)
    dashes = [dash for dash in marks if dash.end() < whole and _parts(text, dash)]
    starts = [begin, *(d.end() for d in dashes)]
    stops = [*(d.start() for d in dashes), len(text)]
    voices = _voices(text, list(zip(starts, stops, strict=True)), words)
    pieces = _joined(text, starts, stops, voices)
    found = [part for start, stop in pieces for part in untagged(text, start, stop, language)]
    opening = len(text) - len(text.lstrip())
    if found and found[0][0] == begin and not text[:begin].strip(" \t\n_*-—–―\u00a0"):
        found[0] = (opening, found[0][1])
    return found


def _joined(
    text: str, starts: Sequence[int], stops: Sequence[int], voices: Sequence[bool]
) -> list[tuple[int, int]]:
    """What is said between dashes, with dashes that stand within speech."""
    pieces = [(starts[0], stops[0])]
    for n in range(1, len(starts)):
        if not voices[n]:
            continue
        if voices[n - 1] and not _ends_sentence(text, stops[n - 1]):
            pieces[-1] = (pieces[-1][0], stops[n])
        else:  # after a sentence another speaks: — Oui. — Non.
            pieces.append((_resumed(text, stops[n - 1], starts[n]), stops[n]))
    return pieces


def _parts(text: str, dash: re.Match[str]) -> bool:
    """Whether a dash parts clauses, and not the halves of a word or a range of numbers."""
    before, after = text[dash.start() - 1 : dash.start()], text[dash.end() : dash.end() + 1]
    return not (before.isalnum() and after.isalnum())


def _resumed(text: str, dash: int, after: int) -> int:
    """Where speech goes on after what a dash ends; that dash is the narration's if it stands at a
    word: “—dijo Ana—, pero no.”"""
    if dash and not text[dash - 1].isspace():
        rest = _STOPS_AND_SPACE.match(text, after)
        return rest.end() if rest else after
    return dash


def _ends_sentence(text: str, at: int) -> bool:
    before = text[max(0, at - 20) : at].rstrip(' \t\n\u00a0\u202f»”"_*')
    return before[-1:] in tuple(_STOPS)


def _voices(text: str, parts: Sequence[tuple[int, int]], words: _DashWords) -> list[bool]:
    """Whether each part between dashes is speech: the likeliest way through them."""
    speech, told = 0.0, 1e9
    trail: list[tuple[bool, bool]] = []
    for n, (start, stop) in enumerate(parts):
        if n == 0:
            trail.append((True, False))
            continue
        before = text[parts[n - 1][0] : parts[n - 1][1]].rstrip()
        lean = _told(text[start:stop].strip(), before[-1:], words)
        punctuated = before[-1:] in tuple(",;:" + _STOPS + "»”")
        into = 0.3 if punctuated or words.code not in ("ru", "uk", "be", "bg") else 1.3
        ways_speech = ((speech + 0.6, True), (told + 0.2, False))
        ways_told = ((speech + into, True), (told + 0.8, False))
        best_speech, best_told = min(ways_speech), min(ways_told)
        speech = best_speech[0] + max(0.0, lean)
        told = best_told[0] + max(0.0, -lean)
        trail.append((best_speech[1], best_told[1]))
    voices = [speech <= told]
    for from_speech, from_told in reversed(trail[1:]):
        voices.append(from_speech if voices[-1] else from_told)
    return voices[::-1]


def _told(part: str, before: str, words: _DashWords) -> float:
    """How much a part between dashes looks like narration; speech is below 0."""
    found = [word.casefold() for word in WORD.findall(part[:200])]
    if not found:
        return 0.0
    verbs = speech_of(words.code).verbs
    lower = part[0].islower()
    if lower and set(found[:3]) & verbs:
        return 3.0
    lean = 0.0
    if found[0] in words.told:
        lean = 1.2
    elif lower and set(found[:7]) & verbs:
        lean = 1.5
    elif lower and found[0] in words.aside:
        lean = -1.0
    if lower and before in tuple(_STOPS):
        lean += 1.0
    elif not lower and before == ",":
        lean -= 1.0
    lean -= 1.5 * bool(set(found) & words.selves)
    lean -= 3.0 * (part[0] in "¿¡")
    return lean - 0.7 * (part.rstrip(" —–-")[-1:] in ("?", "!"))


# -- tags between commas

_REFLEXIVE = frozenset("s se me m lui le les gli lhe".split())
"""Words of a tag before its verb: s'écria, lui dit, le dijo."""
_COMMA = re.compile(r"[,!?….»”]\s+(?=[^\W\d_])")
_CLAUSE = re.compile(
    r"(?<!\b[^\W\d_])(?<!\bMme)(?<!\bMlle)(?<!\bDr)(?<!\bSr)(?<!\bSra)\.(?=\s|\Z)|[!?…](?=\s|\Z)"
    r"|[,;:](?=\s)|\Z"
)
_SPACE = re.compile(r"\s*")
_TO_COMMA = re.compile(r"[^,.;:!?…]*")
_TAG_GOES_ON = {
    "fr": re.compile(
        r"(?:en|d|l|qui|avec|sans|tout|très|à|sur|un|une|le|la|les|son|sa|ses|après)\b"
    ),
    "es": re.compile(r"(?:el|la|con|sin|que|quien|muy|un|una|mientras|tras)\b"),
    "it": re.compile(r"(?:il|la|con|senza|che|molto|un|una|mentre)\b"),
    "pt": re.compile(r"(?:o|a|com|sem|que|muito|um|uma|enquanto)\b"),
}


def untagged(
    text: str, start: int, stop: int, language: str, *, in_marks: bool = False
) -> Iterator[tuple[int, int]]:
    """The pieces of speech of `text[start:stop]` without the tags that stand in it.

    `in_marks`: a mark closes it, so that what follows a tag's sentence is speech again.
    """
    words = _words(language)
    at = start
    for place in _COMMA.finditer(text, start, stop):
        tag = place.end()
        if tag <= at or not is_tag(text, tag, stop, language):
            continue
        yield at, place.start() + 1
        at = _after_tag(text, tag, stop, words, in_marks)
        if at >= stop:
            return
    end = end_of(text, stop)
    if any(c.isalnum() for c in text[at:end]):
        yield at, end


def is_tag(text: str, at: int, stop: int, language: str) -> bool:
    """Whether a tag begins here: “said Ada”, “he said.”, « dit-il », demanda Anna."""
    head = text[at : min(stop, at + 120)]
    words = list(WORD.finditer(head))[:4]
    folded = [word[0].casefold() for word in words]
    speech = speech_of(language)
    lead = 1 if folded and folded[0] in _REFLEXIVE else 0
    if speech.verbs.intersection(folded[lead : lead + 1]) and head[0].islower():
        if not speech.pronouns:
            return True
        subject = named_in_tag(head, language)
        if subject is None or subject.start == subject.stop:
            return False
        return len(WORD.findall(head[: subject.start])) <= lead + 4
    verb = next((word for word in words[1:3] if word[0] in speech.verbs), None)
    if verb is None or speech.code != "en":
        return False  # elsewhere the subject follows
    named = folded[0] in speech.pronouns or words[0][0][0].isupper()
    return named and head[verb.end() :].lstrip()[:1] in (".", ",")


def _after_tag(text: str, at: int, stop: int, words: _DashWords, in_marks: bool) -> int:
    """Where speech goes on after a tag; `stop` where it does not."""
    goes_on = _TAG_GOES_ON.get(words.code)
    for end in _CLAUSE.finditer(text, at, stop):
        space = _SPACE.match(text, end.end(), stop)
        follows = space.end() if space else stop
        if follows >= stop or text[follows] in '»”"':
            return stop
        if end[0] in (",", ";", ":"):
            tells = goes_on and goes_on.match(text, follows, stop)
            if tells and not _head(text, follows, stop) & words.selves:
                continue
            return follows
        if in_marks:
            return follows
        return _past_narration(text, follows, stop, words)
    return stop


def _head(text: str, at: int, stop: int) -> set[str]:
    clause = _TO_COMMA.match(text, at, stop)
    return {word.casefold() for word in WORD.findall(clause[0])} if clause else set()


_SENTENCE = re.compile(r"[^.!?…]*[.!?…]*\s*")


def _past_narration(text: str, at: int, stop: int, words: _DashWords) -> int:
    """Where speech goes on after narration that follows a tag's sentence."""
    while at < stop:
        sentence = _SENTENCE.match(text, at, stop)
        if sentence is None or sentence.end() == at:
            return stop
        found = [word.casefold() for word in WORD.findall(sentence[0])]
        spoken = bool(set(found) & words.selves) or "?" in sentence[0] or "!" in sentence[0]
        if not spoken and found and found[0] in words.told:
            at = sentence.end()
            continue
        return at
    return stop


def in_marks(text: str, start: int, stop: int, language: str) -> list[tuple[int, int]]:
    """The pieces of speech between two marks, without tags that stand there too."""
    code = primary(language)
    if code in _WITHIN_MARKS:
        return list(untagged(text, start, stop, language, in_marks=True)) or [(start, stop)]
    if code not in _DASHES_WITHIN_MARKS:
        return [(start, stop)]
    verbs = speech_of(code).verbs
    pieces: list[tuple[int, int]] = []
    at, telling = start, False
    for dash in _DASH.finditer(text, start, stop):
        before = text[at : dash.start()].rstrip()
        head = text[dash.end() : min(stop, dash.end() + 60)].lstrip()
        first = [word.casefold() for word in WORD.findall(head)[:3]]
        if telling:
            at, telling = dash.start(), False
        elif before[-1:] in tuple(",!?….") and head[:1].islower() and set(first) & verbs:
            pieces.append((at, at + len(before)))
            at, telling = dash.end(), True
    if not telling:
        pieces.append((at, stop))
    return pieces
