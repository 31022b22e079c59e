"""Finds speech tags: narration next to a quotation that only names its speaker, “said Ada”.

Knows words and marks of languages, not the speakers.
"""

from __future__ import annotations

import re

from narrator.text.speakers.words import SAID
from narrator.text.speech_words import speech_of
from textbase.languages import primary

_CLAUSE_END = re.compile(
    r"(?:(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[^\W\d_])\.|[,;:!?…]|\.{3})"
    r"[\"'”’»)\]]*(?=\s|\Z)|\s*(?:[—–]|--)|\Z"
)
_MAX_TAG_WORDS = 10
"""Maximum number of words of a tag; longer clauses tell more than the speaker."""


def tag_end(text: str, quotation: str, language: str) -> int:
    """Returns the end of the tag that follows a quotation; 0 without one, or within a longer
    sentence.

    `text` is the narration up to the next quotation.
    """
    verbs = SAID if primary(language) == "en" else speech_of(language).verbs
    first_letter_offset = next((i for i, c in enumerate(text) if c.isalnum()), len(text))
    clause_end = _CLAUSE_END.search(text, first_letter_offset)
    assert clause_end is not None  # it matches the end
    clause = text[: clause_end.end()]
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", clause.casefold().replace("’", "'"))
    # after a full stop a sentence begins: “Go.” He said no more.
    begins_sentence = (
        quotation.rstrip("\"'”’»)] ").endswith(".") and clause.lstrip(" —–-")[:1].isupper()
    )
    if begins_sentence or len(words) > _MAX_TAG_WORDS or not verbs & set(words):
        return 0
    # “Yes?” I said, in my affable way. Without its tag the sentence is a stump
    ends_sentence = clause_end[0].strip("\"'”’»)]").endswith((*".!?…;:",))
    is_last_clause = not any(map(str.isalnum, text[clause_end.end() :]))
    return clause_end.end() if ends_sentence or is_last_clause else 0
