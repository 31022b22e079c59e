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
_MOST = 10
"""Words of a clause that is a tag; longer ones tell more than who speaks."""


def tag_end(text: str, before: str, language: str) -> int:
    """Where the tag ends with which narration goes on after a quotation, 0 where it has none, or
    one within a longer sentence.

    `text` goes to the next quotation, `before` is the quotation.
    """
    verbs = SAID if primary(language) == "en" else speech_of(language).verbs
    first = next((at for at, c in enumerate(text) if c.isalnum()), len(text))
    end = _CLAUSE_END.search(text, first)
    assert end is not None  # it matches the end
    clause = text[: end.end()]
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", clause.casefold().replace("’", "'"))
    # after a full stop a sentence begins: “Go.” He said no more.
    begins = before.rstrip("\"'”’»)] ").endswith(".") and clause.lstrip(" —–-")[:1].isupper()
    if begins or len(words) > _MOST or not verbs & set(words):
        return 0
    # “Yes?” I said, in my affable way. Without its tag the sentence is a stump
    ends_sentence = end[0].strip("\"'”’»)]").endswith((*".!?…;:",))
    is_all = not any(map(str.isalnum, text[end.end() :]))
    return end.end() if ends_sentence or is_all else 0
