"""Portuguese of Brazil, as eSpeak NG writes it and Kokoro's Brazilian voices learnt it: rules.

Knows where a word is stressed, which vowels weaken at its end, what nasals and r do. Whether a
stressed e or o is open is not spelled: it goes by the last vowel (novo, nova).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from narrator.pronunciation.rules import Rules, reader, stressed
from narrator.pronunciation.rules import transcribe as by_rules
from narrator.pronunciation.tokens import Segment, Token

_SOUNDS = Rules(
    """
    ção(?=s?$) sˈɐ̃ʊ̃
    ções$ sˈõjs
    ões$ ˈõjs
    õe ˈõj
    ões ˈõjs
    ãe ˈɐ̃y
    ão ˈɐ̃ʊ̃
    ã ˈɐ̃
    ch ʃ
    lh lj
    nh ɲ
    rr x
    ss s
    sç s
    sc(?=[eiéíê]) s
    qu(?=[eiéíê]) k
    qu(?=[aoáóãâ]) kw
    q k
    gu(?=[eiéíê]) ɡ
    gu(?=[aoáóãâ]) ɡw
    g(?=[eiéíê]) ʒ
    g ɡ
    j ʒ
    c(?=[eiéíê]) s
    ç s
    [ck]+ k
    ^ex(?={V}) Ez
    ^hex(?={V}) Eks
    exc(?=[ei]) Es
    x(?=[tpc]) s
    (?<=^t[aá])x ks
    (?<=^s[eé])x ks
    (?<=pró)x s
    (?<=máx)x s
    (?<=a)xi(?=m) si
    x ʃ
    h -
    ^ps ps
    (?:^|(?<=[nls]))r x
    (?<=[bcdfgkptv])r r
    r(?={V}|h) ɾ
    r$ r
    r ɾə
    (?<={V})s(?={V}) z
    s(?=[bdgvmnlrj]) z
    s s
    z$ s
    z z
    ti(?={V}) ʧi
    t(?=[ií]) ʧ
    d(?=[ií]) ʤ
    te(?=s?$) ʧy
    de(?=s?$) ʤy
    t$ ʧ
    t t
    d d
    am$ ɐ̃ʊ̃
    ens?$ AŋZ
    ens$ Aŋs
    em$ Aŋ
    éns?$ ˈAŋs
    ém$ ˈAŋ
    êm$ ˈAŋ
    [aâá][mn](?=[pb]) ɐ̃m
    á[mn](?!{V}|h) ˈɐ̃ŋ
    â[mn](?!{V}|h) ˈɐ̃ŋ
    a[mn](?!{V}|h) ɐ̃ŋ
    [ée][mn](?=[pb]) Am
    [êé][mn](?!{V}|h) ˈAŋ
    e[mn](?!{V}|h) Aŋ
    i[mn](?=[pb]) im
    í[mn](?!{V}|h) ˈiŋ
    i[mn](?!{V}|h) iŋ
    o[mn](?=[pb]) om
    [óô][mn](?!{V}|h) ˈoŋ
    o[mn](?!{V}|h) oŋ
    u[mn](?=[pb]) ũm
    ú[mn](?!{V}|h) ˈũŋ
    u[mn](?!{V}|h) ũŋ
    á(?=[mn]) ˈɐ̃
    â(?=[mn]) ˈɐ̃
    a(?=nh) ɐ̃
    a(?=[mn]) M
    ál(?!{V}|h) ˈW
    al(?!{V}|h) W
    él(?!{V}|h) ˈɛʊ
    el$ ˈɛʊ
    el(?!{V}|h) eʊ
    il(?!{V}|h) iʊ
    íl(?!{V}|h) ˈiʊ
    ul(?!{V}|h) uw
    ái ˈI
    ai(?!nh|[mnlrz]$|[nm][^aeiouáéíóúh]) I
    éi ˈɛɪ
    êi ˈA
    ei(?!nh) A
    ói ˈY
    ôi ˈoɪ
    oi(?!nh) oɪ
    áu ˈW
    au W
    éu ˈɛʊ
    êu ˈeʊ
    eu$ ˈeʊ
    eu eʊ
    ou ow
    iu$ ˈiʊ
    iu iʊ
    ui(?!nh|[mnlrz]$) uɪ
    á ˈa
    à ˈa
    â ˈɐ̃
    é ˈɛ
    ê ˈe
    í ˈi
    ó ˈɔ
    ô ˈo
    ú ˈu
    ü w
    õ õ
    a(?=s?$) æ
    e(?=s?$) y
    o(?=s?$) ʊ
    a a
    e E
    i i
    o O
    u u
    y i
    w w
    b b
    f f
    k k
    l l
    m m
    n n
    p p
    v v
    """,
    {"V": "[aeiouáéíóúâêôãõàü]"},
)
_NUCLEUS = re.compile("ɐ̃ʊ̃|ɐ̃y|õj|ɐ̃|[aeiouIAWYEOMyæ]ʊ|[ou]ɪ|[iu]ʊ|ow|uw|ũ|õ|[aeiouæyʊEOAIWYMɛɔ]")
_WORDS = {
    "a": "a", "o": "ʊ", "os": "ʊs", "as": "as", "e": "i", "é": "ɛ", "de": "ʤy", "do": "dʊ",
    "da": "da", "dos": "dʊs", "das": "das", "em": "ˈAŋ", "no": "nʊ", "na": "na", "nos": "nʊs",
    "nas": "nas", "por": "por", "para": "pˌaɾæ", "com": "koŋ", "se": "sy", "que": "ky", "ou": "ow",
    "um": "ũŋ", "uns": "ũŋs", "uma": "ˌumæ", "umas": "ˌumæs", "ao": "W", "aos": "Ws", "à": "ˌaː",
    "às": "as", "mas": "mas", "como": "kˌomʊ", "não": "nˌɐ̃ʊ̃", "muito": "mwˈiŋtʊ",
    "muita": "mwˈiŋtæ", "muitos": "mwˈiŋtʊs", "muitas": "mwˈiŋtæs", "foi": "foɪ", "ser": "ser",
    "ter": "ter", "era": "ˌɛɾæ", "tem": "tAŋ", "têm": "tAŋ", "está": "estˌa", "desde": "dˌezʤy",
    "estar": "estˌar", "pelo": "pˈelʊ", "pela": "pˈelæ", "ele": "ˌely", "eles": "ˌelys",
    "ela": "ˌɛlæ", "elas": "ˌɛlæs", "sua": "sˌuæ", "suas": "sˌuæs", "seu": "seʊ", "seus": "seʊs",
    "eu": "eʊ", "são": "sɐ̃ʊ̃", "foram": "fˌoɾɐ̃ʊ̃", "sobre": "sˈobry", "até": "atˌɛ", "há": "a",
    "tinha": "ʧˌiɲæ", "tinham": "ʧˌiɲɐ̃ʊ̃", "esta": "ˌɛstæ", "este": "ˌesʧy", "pode": "pˌɔʤy",
    "podem": "pˌɔdAŋ", "eram": "ˌɛɾɐ̃ʊ̃", "estava": "estˌavæ", "estavam": "estˌavɐ̃ʊ̃",
    "estão": "estˌɐ̃ʊ̃", "num": "nũŋ", "onde": "ˌoŋʤy", "sempre": "sˌAmpry", "vez": "vˈes",
    "fez": "fˈes", "qualquer": "kwWkˈɛr", "me": "my", "te": "ʧy", "lhe": "ljy", "porque": "pˈoɾəky",
}  # fmt: skip


_STEADY = frozenset(("ky", "dʊ", "nʊ", "kˌomʊ", "ˌely"))


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word, _join)


def _join(first: str, second: str) -> tuple[str, str]:
    """The end of a word before a vowel, and before a voiced consonant."""
    start = second.lstrip("ˈˌ")[:1]
    is_vowel = start != "" and start in "aeiouæɐɛɔɪʊyAIWEO"
    if first.endswith("s") and (is_vowel or (start != "" and start in "bdɡvzʒʤmnlɾrɲ")):
        first = first[:-1] + "z"
    elif first.endswith("r") and is_vowel:
        first = first[:-1] + "ɾ"
    elif is_vowel and first == "ʊ":
        first = "u"
    elif is_vowel and first[-2:] == "ry":
        first = first[:-1] + "i"
    elif (
        is_vowel
        and first not in _STEADY
        and len(first) > 1
        and first[-1] in "yʊ"
        and first[-2] not in "aeɛɔoɐæ\u0303"
    ):
        first = first[:-1] + ("j" if first[-1] == "y" else "w")
    return first, second


def _read(word: str) -> str:
    sounds = _SOUNDS(word).replace("Z", "s" if word.endswith("s") else "")
    if "ˈ" not in sounds:
        sounds = stressed(sounds, _NUCLEUS, 2 if re.search("(?:[aeo]s?|am|ens?|em)$", word) else 1)
    before, mark, rest = sounds.partition("ˈ")
    is_last = len(_NUCLEUS.findall(rest)) < 2
    starts = [match.start() for match in _NUCLEUS.finditer(before)]
    if len(starts) > 1 or (starts and not is_last):
        before = f"{before[: starts[0]]}ˌ{before[starts[0] :]}"
    if rest.startswith("E"):
        is_open = bool(re.search("æs?$|^E[^znmʃʒɲs]*y", rest)) or (
            is_last and rest not in ("Er", "Es")
        )
        rest = ("ɛ" if is_open and not re.match("E[mnɲzʒʃ]", rest) else "e") + rest[1:]
    elif rest.startswith("O"):
        is_open = bool(re.search("^Ol$|[æy]s?$", rest)) and not re.match("O(?:[mnɲ]|æ)", rest)
        rest = ("ɔ" if is_open else "o") + rest[1:]
    rest = re.sub("^M", "ɐ̃", rest)
    rest = re.sub("(?<=[^aeiouɛɔ])i(?=[æʊy]s?$)", "j", rest[:1]) + re.sub(
        "i(?=[æʊy]s?$)", "j", rest[1:]
    )
    if len(rest) > 2 and not rest.startswith("u"):
        rest = re.sub("u(?=[æʊy]s?$)", "w", rest)
    glide = "j" if rest[:1] in "aeouAIWEOɐɛɔ" else "i"
    before = re.sub("(?<=[sɾlnmzvfpbkɡ])i(?=[aeouAIWEO]|$)", glide, before)
    return (before + mark + rest).replace("E", "e").replace("O", "o").replace("M", "æ")


_word = reader(_WORDS, _read)
