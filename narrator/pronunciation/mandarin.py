"""Mandarin: characters to pinyin by pypinyin (MIT, the extra `chinese`), pinyin to phonemes.

Simplified and traditional characters. Syllables of a word stand together, words apart, as the
official program writes them for Kokoro 1.0; like it, this leaves tones as the dictionary has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from narrator.pronunciation.tokens import Segment, Token, transcribe_words

_INITIALS = dict(
    pair.split("=")
    for pair in (
        "b=p c=ʦʰ ch=ꭧʰ d=t f=f g=k h=x j=ʨ k=kʰ l=l m=m n=n p=pʰ q=ʨʰ r=ɻ s=s sh=ʂ t=tʰ x=ɕ "
        "z=ʦ zh=ꭧ"
    ).split()
)
# Finals, with 0 at the place of the tone.
_FINALS = dict(
    pair.split("=")
    for pair in (
        "a=a0 ai=ai0 an=a0n ang=a0ŋ ao=au0 e=ɤ0 ei=ei0 en=ə0n eng=ə0ŋ i=i0 ia=ja0 ian=jɛ0n "
        "iang=ja0ŋ iao=jau0 "
        "ie=je0 in=i0n iou=jou0 iu=jou0 ing=i0ŋ iong=jʊ0ŋ ong=ʊ0ŋ ou=ou0 u=u0 ui=wei0 "
        "uei=wei0 ua=wa0 uai=wai0 uan=wa0n "
        "un=wə0n uen=wə0n uang=wa0ŋ ueng=wə0ŋ uo=wo0 o=wo0 v=y0 ve=ɥe0 van=ɥɛ0n vn=y0n"
    ).split()
)
# Syllables that are not an initial and a final.
_WHOLE_SYLLABLES = {
    "er": "ɚ0",
    "ê": "ɛ0",
    "m": "m0",
    "n": "n0",
    "ng": "ŋ0",
    "hm": "hm0",
    "hng": "hŋ0",
    "o": "ɔ0",
    "io": "jɔ0",
    "yo": "jɔ0",
    "r": "ɚ0",
}
_TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff〇"
"""Ranges of Chinese characters."""


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return transcribe_words(tokens, _segments)


def _segments(token: Token) -> Iterator[Segment]:
    """Yields the words of a run of characters; other characters have no phonemes."""
    import rjieba
    from pypinyin import Style, lazy_pinyin

    start = token.start
    for run in re.findall(f"[{_HAN}]+|[^{_HAN}]+", token.text):
        if not re.match(f"[{_HAN}]", run):
            yield Segment(start, start + len(run), "")
            start += len(run)
            continue
        for word in rjieba.cut(run):
            pinyin = lazy_pinyin(
                word, style=Style.TONE3, neutral_tone_with_five=True, errors=lambda _: [""]
            )
            yield Segment(start, start + len(word), "".join(map(syllable, pinyin)))
            start += len(word)


def syllable(pinyin: str) -> str:
    """Returns the phonemes of a syllable such as "zhong1"; empty for anything else."""
    body, tone = pinyin[:-1], _TONES.get(pinyin[-1:], "")
    if body in _WHOLE_SYLLABLES:
        return _WHOLE_SYLLABLES[body].replace("0", tone)
    match = re.fullmatch("([zcs]h|[bpmfdtnlgkhjqxrzcs]?)(.+)", _without_spelling_rules(body))
    if match is None or match[2] not in _FINALS:
        return ""
    initial, final = match[1], _FINALS[match[2]]
    if match[2] == "i" and initial in ("zh", "ch", "sh", "r", "z", "c", "s"):
        final = "ɨ0"
    return _INITIALS.get(initial, "") + final.replace("0", tone)


def _without_spelling_rules(body: str) -> str:
    """Replaces y and w, which mark a syllable without an initial, by finals, and the u that is ü
    after j, q, x and y by v."""
    body = body.replace("ü", "v")
    body = re.sub("^([jqxy])u", r"\1v", body)
    body = re.sub("^yi|^y(?=v)", lambda match: match.group()[1:], body)
    body = body.replace("wu", "u", 1) if body.startswith("wu") else body
    return re.sub("^w", "u", re.sub("^y", "i", body))
