"""Finds the subject of a tag in Chinese and Japanese, where no white space parts words.

Chinese has subject, adverbs, verb (宋江笑道：); Japanese a particle after the subject, and the verb
last (と太郎は言った). Knows patterns, no names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from narrator.text.speech_words import SpeechWords, Subject

_SENTENCE_END = re.compile(r"[。！？!?…；;」』”’]+")
_CLAUSE_END = re.compile(r"[，,、：:]")
_ANY_END = re.compile(r"[，,。！？；：:]")
_HAN_NAME = re.compile(r"[\u3400-\u9fff々·A-Z]{1,4}")
_JAPANESE_NAME = r"[\u3400-\u9fff々ァ-ヶー・]{1,10}"


def subject_without_spaces(narration: str, speech: SpeechWords) -> Subject | None:
    """Returns the subject of a tag in Chinese or Japanese; None without a tag.

    It is empty if the clause of the verb has none: the sentence before it may name it.
    """
    if "subject-particle" in speech.traits:
        return _subject_before_particle(narration, speech)
    text = narration.rstrip(" \t\n\u3000")
    leads_in = text.endswith(("：", ":", "，", ","))
    if leads_in:
        text = text.rstrip("：:，,")
        sentence_ends = [match.end() for match in _SENTENCE_END.finditer(text)]
        clause_ends = [match.end() for match in _CLAUSE_END.finditer(text)]
        begin, end = max([0, *sentence_ends, *clause_ends]), len(text)
    else:
        begin = len(text) - len(text.lstrip(" \n\u3000，,"))
        clause_end = _ANY_END.search(text, begin)
        end = clause_end.start() if clause_end else len(text)
    clause = text[begin:end]
    match = _chinese_tag(speech).match(clause)
    if match is None:
        return None
    start, name = begin, match["subject"]
    if name in speech.pronouns:
        return Subject(start, start + len(name), True, speech.pronouns[name])
    # 看着她说 has no subject of its own
    if _HAN_NAME.fullmatch(name) and speech.not_names.isdisjoint(name):
        return Subject(start, start + len(name), False, None)
    return Subject(end, end, True, None)


@functools.cache
def _chinese_tag(speech: SpeechWords) -> re.Pattern[str]:
    """Returns the pattern of a Chinese clause with a subject, adverbs and a verb of speech."""
    adverbs, verbs, pronouns = map(_any_of, (speech.adverbs, speech.verbs, speech.pronouns))
    return re.compile(
        rf"(?P<subject>{pronouns}|.*?)(?:{adverbs})*(?:{verbs})(?:道|了|着|起来|一声|一句)*\Z"
    )


_MAX_VERB_DISTANCE = 8
"""Characters of a Japanese sentence from its verb of speech to its end, in narration that leads to
a quotation."""


def _subject_before_particle(narration: str, speech: SpeechWords) -> Subject | None:
    """Returns the subject of a Japanese tag, which a particle marks; None without a tag.

    A tag after a quotation begins with と, or has a verb of speech; narration that leads to a
    quotation ends with a comma, or with such a verb.
    """
    text = narration.strip(" \t\n\u3000")
    offset = narration.find(text)
    sentence_ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    if text.endswith(("、", "：", "，")) or narration.startswith("\u3000"):
        earlier_ends = [end for end in sentence_ends if end < len(text)]
        begin, end = (earlier_ends or [0])[-1], len(text)
        ending = text[-_MAX_VERB_DISTANCE:]
        is_tag = not sentence_ends or sentence_ends[-1] < end or _has_any(ending, speech.verbs)
    else:
        begin, end = 0, (sentence_ends or [len(text)])[0]
        is_tag = text.startswith(("と", "って")) or _has_any(text[:end], speech.verbs)
    if not is_tag:
        return None
    match = _japanese_subject(speech).search(text, begin, end)
    if match is None:
        return Subject(offset + end, offset + end, True, None)
    pronoun = speech.pronouns.get(match["subject"])
    start, stop = offset + match.start("subject"), offset + match.end("subject")
    return Subject(start, stop, match["subject"] in speech.pronouns, pronoun)


def _any_of(words: Iterable[str]) -> str:
    """Returns the source of a pattern that matches any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _has_any(text: str, parts: Iterable[str]) -> bool:
    return any(part in text for part in parts)


@functools.cache
def _japanese_subject(speech: SpeechWords) -> re.Pattern[str]:
    """Returns the pattern of a Japanese subject before its particle."""
    honorifics, pronouns = _any_of(speech.honorifics), _any_of(speech.pronouns)
    particles = "".join(speech.subject_particles)
    return re.compile(
        rf"(?P<subject>{pronouns}|(?:その|お)?{_JAPANESE_NAME}(?:{honorifics})?)[{particles}](?!の)"
    )
