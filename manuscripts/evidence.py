"""Weighs the evidence that labels are those of speakers, by the labels and the text after them.

A form has labels, too, and so have a glossary, a changelog and a manual. But those name fields and
dates; nobody asks there and is answered, and hardly anybody says "I". Knows labels and texts, not
blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from manuscripts.book import count_words
from manuscripts.labels import WORDS
from textbase.recognise import language_of

MIN_WEIGHT = 0.45
"""Weight from which labels count as those of speakers."""


def _read_pronouns(section: str) -> dict[str, frozenset[str]]:
    """Returns the pronouns of each language, also capitalised; those of all languages under ""."""
    words_by_language = {
        language: frozenset(form for word in text.split() for form in (word, word.capitalize()))
        for language, text in WORDS.table(section).items()
    }
    return {"": frozenset().union(*words_by_language.values()), **words_by_language}


_FIRST_PERSON, _SECOND_PERSON = map(_read_pronouns, ("first person", "second person"))
_EAST_FIRST_PERSON = re.compile("[我俺咱]|私|僕|わたし|나는|내가|저는|제가|우리")
_EAST_SECOND_PERSON = re.compile("[你您妳]|あなた|お前|당신|너는|네가|さん、")
_FRENCH_FIRST_PERSON = re.compile(rf"\b[jm][’'](?=\w)|{_EAST_FIRST_PERSON.pattern}", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟]|[α-ωά-ώ];(?=\s|$)")
_FINAL_QUESTION = re.compile(r"(?:[?？؟]|[α-ωά-ώ];|ですか。|ますか。)[\"'”’»)\]]*\s*$")
_QUOTED = re.compile(r"[“„«»”「]|(?<!\w)\"[^\"\n]{3,}\"")
_WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)*")

_FIELDS, _ROLES, _TITLES, _SURNAMES = (
    frozenset(WORDS.words(section)) for section in ("fields", "roles", "titles", "surnames")
)
_PAIR_WORDS = WORDS.words("question pairs")
_QUESTION_PAIRS = [
    frozenset(pair) for pair in zip(_PAIR_WORDS[::2], _PAIR_WORDS[1::2], strict=True)
]
_QUESTION_HEADING = re.compile(
    r"\bFAQs?\b|frequent(?:ly)? asked|common questions|questions (?:and|&) answers|häufig\w*.{0,20}"
    r"fragen|fragen und antworten|foire aux questions|questions fréquentes|preguntas (?:más )?"
    r"frecuentes|domande frequenti|perguntas frequentes|veelgestelde vragen|часто задаваемые|"
    r"вопросы и ответы|najczęściej zadawane|常见问题|よくある質問|\b(?:pub )?quiz|\btrivia\b|"
    r"\briddles?\b|rätsel|devinettes|adivinanzas|indovinelli|загадки|викторина|\bworksheet\b",
    re.IGNORECASE,
)
_NOT_IN_NAMES = re.compile(
    r"[€$£%§×=<>{}|\\@#_~^]|\d{3}|\d\s?[–-]\s?\d|\d+[.,]\d|https?|www\.|\.\w{2,4}$"
)
"""Amounts, ranges, years, addresses: never part of a name."""
_DATE = re.compile(
    r"(?:\d{1,2}\.? )?(?:jan|feb|f[eé]v|m[aä]r[czs]|a[bpv]r|ma[iyg]|ju[ln]|juin|juil|gen|ene|giu|"
    r"lug|aug|ao[uû]|ago|set|sep|o[ckt]t|nov|d[eéi][cz])[\w.]{0,7}\.? \d|\d{1,2}\.? \w+ \d"
)
_MAX_NAME_WORDS = 5


def is_field(key: str) -> bool:
    """Returns whether a key belongs to a form or a manual rather than a person: `ingredients`, `oct
    15`, `week 2`."""
    words = [word.strip(".,:()'’") for word in key.split()]
    words = [word for word in words if not word.isdigit()]
    if re.fullmatch(r"speaker[ _]?\d+", key):
        return False
    if key in _FIELDS or not words or _DATE.match(key) or _NOT_IN_NAMES.search(key):
        return True
    if len(key.split()) > _MAX_NAME_WORDS + 3 * key.count("&"):
        return True
    is_surname = len(words) > 1 and words[-1] in _SURNAMES
    is_field_word = words[0] in _FIELDS or (words[-1] in _FIELDS and not is_surname)
    return words[0] not in _TITLES and is_field_word


@dataclass(slots=True)
class LabelledSpeech:
    """A label and the text up to the next one."""

    key: str
    text: str
    is_timed: bool = False
    has_style: bool = False


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Further facts about the piece in which the labels stand."""

    share: float
    """Share of its paragraphs that are labelled or directions."""
    is_set_apart: bool = False
    """True if names are set apart or in capitals."""
    is_tabular: bool = False
    """True if most labels stand in cells of a table or a list of terms."""
    is_in_acts: bool = False
    has_cast: bool = False
    """True if the names of a list of persons are among the labels."""
    answers_questions: bool = False
    """True if its headings announce questions that readers ask."""


def answers_questions(heading: str) -> bool:
    """Returns whether a heading announces questions for readers, as FAQs and quizzes have."""
    return bool(_QUESTION_HEADING.search(heading))


def weigh_labels(speeches: Sequence[LabelledSpeech], circumstances: Circumstances) -> float:
    """Returns the weight of the evidence that labels are those of speakers; see `MIN_WEIGHT`."""
    if not speeches:
        return 0.0
    keys = [speech.key for speech in speeches]
    texts = [speech.text for speech in speeches]
    pairs = (pair for pair in _QUESTION_PAIRS if pair <= set(keys))
    question_pair = next(pairs, frozenset())
    roles = _share(key.rstrip("0123456789_ ") in _ROLES or key in question_pair for key in keys)
    fields = _share(is_field(key) and key not in question_pair for key in keys)
    if circumstances.answers_questions and roles + fields > 0.5:
        return 0.0
    changes = [key_above != key_below for key_above, key_below in pairwise(keys)]
    answered_questions = _share(
        bool(_FINAL_QUESTION.search(text)) and is_change
        for text, is_change in zip(texts, [*changes, False], strict=True)
    )
    first_person, second_person = _shares_of_persons(texts)
    questions = _share(_QUESTION.search(text) for text in texts)
    talk = first_person + second_person / 2 + answered_questions + questions / 2
    is_dense = circumstances.share >= 0.9 and 3 * len(set(keys)) <= len(keys)
    is_long = sum(map(count_words, texts)) >= 40 * len(texts)
    weighted_evidence = (  # weight, extent from 0 to 1
        (1.0, min(1.0, talk if first_person or answered_questions else 0.7 * talk)),
        (0.5, roles),
        (0.5, circumstances.is_in_acts),
        (0.5, circumstances.has_cast),
        (0.15, circumstances.is_set_apart),
        (0.45 if is_dense else 0.25, _share(speech.is_timed for speech in speeches)),
        (0.3, 0.05 <= _share(speech.has_style for speech in speeches) <= 0.5),
        (0.15, circumstances.share >= 0.75 and all(changes)),
        (0.1, any(key.split()[0].strip(".") in _TITLES for key in keys if " " in key)),
        (-1.2, fields),
        (-0.15, circumstances.is_tabular),
        (-0.5, sum(changes) < 0.5 * len(changes)),
        (-1.0 if is_long else -0.3, _share(_QUOTED.search(text) for text in texts)),
    )
    return round(sum(weight * extent for weight, extent in weighted_evidence), 2)


def _share(features: Iterable[object]) -> float:
    """Returns the share of features that are present."""
    flags = list(map(bool, features))
    return sum(flags) / max(1, len(flags))


def _shares_of_persons(texts: Sequence[str]) -> tuple[float, float]:
    """Returns the shares of texts that use the first person, and the second."""
    language = (language_of(" ".join(texts)) or "").partition("-")[0]
    words_by_text = [{word.replace("’", "'") for word in _WORD.findall(text)} for text in texts]

    def share(pronouns: Mapping[str, frozenset[str]], signs: re.Pattern[str]) -> float:
        forms = pronouns.get(language) or pronouns[""]
        return _share(
            words & forms or signs.search(text)
            for words, text in zip(words_by_text, texts, strict=True)
        )

    first_person_signs = _FRENCH_FIRST_PERSON if language == "fr" else _EAST_FIRST_PERSON
    return share(_FIRST_PERSON, first_person_signs), share(_SECOND_PERSON, _EAST_SECOND_PERSON)
