"""Tags: what of the narration beside a quotation says who said it, “said Ada” and no more.

Knows words and marks of languages, not who speaks.
"""

from __future__ import annotations

import re

from narrator.text.sentences import primary
from narrator.text.speakers.words import SAID
from narrator.text.speech_verbs import speech_of

_CLAUSE_END = re.compile(
    r"(?:(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[^\W\d_])\.|[,;:!?…]|\.{3})"
    r"[\"'”’»)\]]*(?=\s|\Z)|\s*(?:[—–]|--)|\Z"
)
_MAX_TAG_WORDS = 10
"""Words of a clause that is a tag; longer ones tell more than who speaks."""


def tag_end(text: str, quotation: str, language: str) -> int:
    """Where the tag ends with which narration goes on after a quotation, 0 where it has none, or
    one within a longer sentence.

    `text` goes to the next quotation, `quotation` is the quotation.
    """
    verbs = SAID if primary(language) == "en" else speech_of(language).verbs
    first_letter = next((offset for offset, c in enumerate(text) if c.isalnum()), len(text))
    clause_end = _CLAUSE_END.search(text, first_letter)
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
    is_all = not any(map(str.isalnum, text[clause_end.end() :]))
    return clause_end.end() if ends_sentence or is_all else 0
