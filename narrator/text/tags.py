"""Tags: what of the narration beside a quotation says who said it, “said Ada” and no more.

Knows words and marks of languages, not who speaks.
"""

from __future__ import annotations

import re

from narrator.text.sentences import primary
from narrator.text.speakers.words import SAID

_VERBS = {
    "de": "sagte sagt fragte fragt rief ruft antwortete erwiderte entgegnete flüsterte murmelte "
    "schrie meinte sprach versetzte bemerkte fügte fuhr begann erklärte wiederholte seufzte lachte "
    "brummte stammelte unterbrach dachte",
    "fr": "dit dis disait demanda répondit cria s'écria murmura reprit ajouta fit répliqua "
    "répéta s'exclama soupira balbutia continua interrompit pensa demandait répondait criait",
    "es": "dijo dice preguntó respondió contestó exclamó gritó murmuró susurró replicó añadió "
    "repitió continuó repuso pensó observó",
    "it": "disse dice chiese domandò rispose esclamò gridò mormorò sussurrò replicò aggiunse "
    "ripeté continuò riprese pensò fece",
    "pt": "disse diz perguntou respondeu exclamou gritou murmurou sussurrou replicou acrescentou "
    "repetiu continuou retorquiu tornou pensou",
    "ru": "сказал сказала спросил спросила ответил ответила крикнул крикнула закричал закричала "
    "прошептал прошептала проговорил проговорила воскликнул воскликнула пробормотал пробормотала "
    "произнёс произнесла отвечал отвечала говорил говорила подумал подумала прибавил прибавила",
}
_WORDS = {"en": SAID} | {code: frozenset(words.split()) for code, words in _VERBS.items()}
"""Verbs of speech, folded."""

_CLAUSE_END = re.compile(
    r"(?:(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\b[^\W\d_])\.|[,;:!?…]|\.{3})"
    r"[\"'”’»)\]]*(?=\s|\Z)|\s*(?:[—–]|--)|\Z"
)
_MOST = 10
"""Words of a clause that is a tag; longer ones tell more than who speaks."""


def tag_end(text: str, before: str, language: str) -> int:
    """Where the tag ends with which narration goes on after a quotation, 0 where it has none.

    `before` is the quotation.
    """
    verbs = _WORDS.get(primary(language), frozenset())
    first = next((at for at, c in enumerate(text) if c.isalnum()), len(text))
    end = _CLAUSE_END.search(text, first)
    assert end is not None  # it matches the end
    clause = text[: end.end()]
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", clause.casefold().replace("’", "'"))
    # after a full stop a sentence begins: “Go.” He said no more.
    begins = before.rstrip("\"'”’»)] ").endswith(".") and clause.lstrip(" —–-")[:1].isupper()
    if begins or len(words) > _MOST or not verbs & set(words):
        return 0
    return end.end()
