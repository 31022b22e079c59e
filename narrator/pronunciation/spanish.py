"""Spanish of Castile, as eSpeak NG writes it and Kokoro's Spanish voices learnt it. Rules alone.

Knows where Spanish is stressed, and that b, d and g are hard after a pause or a nasal only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from narrator.pronunciation.rules import Rules, stressed
from narrator.pronunciation.rules import transcribe as by_rules
from narrator.pronunciation.tokens import Segment, Token

_SOUNDS = Rules(
    """
    ch ʧ
    ll ʎ
    rr r
    ny ɲ
    sh s
    qu(?=[eiéí]) k
    q k
    sc(?=[eiéí]) sθ
    cc(?=[eiéí]) kθ
    c(?=[eiéí]) θ
    cc k
    c k
    z θ
    gü ɣu
    gu(?=[eiéí]) ɣ
    gu(?={V}) ɣw
    g(?=[eiéí]) x
    g(?=n) ɡ
    g ɣ
    j x
    ñ ɲ
    ^hi(?=[eaoáéó]) j
    hu(?={V}) w
    h -
    b(?=t|$) b
    [bv] β
    d(?=m|$) d
    d ð
    (?:^|(?<=[nls]))r r
    r ɾ
    ^ps s
    ^pt t
    ^x s
    x ks
    w w
    ph f
    n(?=g|j) ŋ
    n(?=[bvpf]) m
    á[iy](?!{V}) ˈI
    a[iy](?!{V}) I
    é[iy](?!{V}) ˈA
    e[iy](?!{V}) A
    ó[iy](?!{V}) ˈoɪ
    o[iy](?!{V}) oɪ
    áu ˈW
    au W
    éu ˈeʊ
    eu eʊ
    ou O
    y(?={V}) ʝ
    (?<=u)y$ j
    y i
    i(?=[aeoáéóuú]) j
    (?<=r)u(?=[ií]) u
    u(?=[aeoiáéóí]) w
    á ˈa
    é ˈe
    í ˈi
    ó ˈo
    ú ˈu
    [aàâäãå] a
    [eèêë] e
    [iìîï] i
    [oòôöõø] o
    [uùûü] u
    t t
    k k
    p p
    f f
    l l
    m m
    n n
    s s
    ç s
    """,
    {"V": "[aeiouáéíóúü]"},
)

_HARD = {"β": "b", "ð": "d", "ɣ": "ɡ"}
_NUCLEUS = re.compile("[aeiouIAWO]")
_UNSTRESSED = frozenset(
    "a al con de del el en la las le les lo los me mi mis nos o os por que quien se si "
    "sin su sus te "
    "tras tu tus y e u".split()
)
_HALF_STRESSED = frozenset(
    "como cuando cuanto desde donde entre hacia hasta mientras nuestra nuestras nuestro "
    "nuestros para "
    "pero porque sobre".split()
)


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word, _join)


@lru_cache(maxsize=20_000)
def _word(word: str) -> str:
    if "-" in word:
        return "".join(map(_word, word.split("-")))
    if word.endswith("mente") and len(word) > 8:
        return _word(word[:-5]) + "mˈente"
    sounds = re.sub("(?<=[nmŋ])[βɣð]|(?<=l)ð", lambda match: _HARD[match.group()], _SOUNDS(word))
    if word in _UNSTRESSED:
        return sounds
    if "ˈ" not in sounds:
        sounds = stressed(sounds, _NUCLEUS, 2 if re.search("[aeiouns]$", word) else 1)
    if word in _HALF_STRESSED:
        return sounds.replace("ˈ", "ˌ")
    sounds = re.sub("(?<=ˈ)e(?=n[tdθs]|ŋ[ɡɣkx])", "ɛ", sounds)
    before, mark, rest = sounds.partition("ˈ")
    return _secondary(before) + mark + rest


def _secondary(sounds: str) -> str:
    """Every other syllable before the stressed one, but the one next to it."""
    starts = [match.start() for match in _NUCLEUS.finditer(sounds)]
    for start in reversed(starts[:-1][::2]):
        sounds = f"{sounds[:start]}ˌ{sounds[start:]}"
    return sounds


def _join(first: str, second: str) -> tuple[str, str]:
    """Soft and hard consonants, and a nasal before another consonant."""
    last = first[-1:]
    if second[:1] in _HARD and (last in ("", "n", "m", "ŋ") or (last == "l" and second[0] == "ð")):
        second = _HARD[second[0]] + second[1:]
    if last == "n" and second:
        first = first[:-1] + ("m" if second[0] in "bm" else "ŋ" if second[0] in "ɡx" else "n")
    return first, second
