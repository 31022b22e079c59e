"""French, as eSpeak NG writes it and Kokoro's French voice learnt it: rules, liaison, short lists.

A word's last consonant sleeps until a vowel follows (les enfants): `_word` writes it after a "+",
and a breathed h, before which nothing wakes, as "*"; `_join` resolves both.
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
    sch ʃ
    tch tʃ
    ch(?=[rnlm]|$) k
    (?<=^)ch(?=aos|œur|or|ré) k
    (?<=ar)ch(?=é[oa]|a[iï]) k
    ch ʃ
    ph f
    rh r
    th t
    gn ɲ
    sc(?=[eiyéèêî]) s
    ss s
    ç s
    cc(?=[eiyéèê]) ks
    ck k
    cqu? k
    cc k
    c(?=[eiyéèêîï]) s
    c k
    qu(?=[eiyéèêîaoâôœ]) k
    q k
    gge ɡ
    gg(?=[eiyéè]) ɡʒ
    gg ɡ
    ge(?=[aouâôû]) ʒ
    g(?=[eiyéèêî]) ʒ
    gu(?=[eiyéèêîïaâo]) ɡ
    g ɡ
    j ʒ
    ^(?:ê|e|hé|he)x(?=h?{V}) ɛɡz
    (?<=^[iî]n)ex(?=h?{V}) ɛɡz
    exc(?=[eiéè]) ɛks
    x ks
    w w
    (?<={V})s(?={V}) z
    s s
    z z
    (?<!s)ti(?=on|el|eu[xs]|al|aire|en[tc]) sj
    tt? t
    ail(?:l(?={V})|(?=s?$)) aj
    eil(?:l(?={V})|(?=s?$)) ɛj
    ouil(?:l(?={V})|(?=s?$)) uj
    (?:eu|œ|(?<=[cg])ue)il(?:l(?={V})|(?=s?$)) œj
    ie(?=s?$) i
    ée(?=s?$) e
    (?<![gq])ue(?=s?$) y
    ompt(?!u) ɔ̃t
    apt(?=ê|ism) at
    o(?=mm|nn|ll|rr|ss|tt|pp|cc|ff|bl|bj|s[ct]|bt|bs) ɔ
    (?<=v)ill(?=e|i|a) il
    (?<=^m)ill(?=e|i|a) il
    (?<=tranqu)ill il
    (?<=^)ill il
    ill(?={V}) ij
    ll? l
    rr? r
    mm m
    nn n
    pp p
    bb b
    dd d
    ff f
    ïn(?!{V}|n) ɛ̃
    oin(?!{V}|n) wɛ̃
    (?:ain|aim|ein|eim|în)(?!{V}|n|m) ɛ̃
    ienn(?=e) jɛn
    (?<=[bcdfgpt][rl])ient ijɑ̃
    i(?=en(?:s|t|d)?$) I
    eñ ɑ̃
    (?<=i)en(?=s?$|t$|d) ɛ̃
    ^e(?=ff|ss|cl|gl) e
    (?<=^r)e(?=ss[eo]) ə
    (?<=^d)e(?=ss[ou]) ə
    e(?=ll|tt|rr|nn|ss|pp|cc|ff|dd) ɛ
    é?en(?=s?$) 5
    (?:am|an|em|en|ean|aen|aon|âm|ân)(?!{V}|n|m|h) ɑ̃
    (?:im|in|ym|yn)(?!{V}|n|m|h) ɛ̃
    (?:om|on)(?!{V}|n|m|h) ɔ̃
    (?:um|un)(?!{V}|n|m|h) œ̃
    um$ ɔm
    e?au o
    œu 8
    œ e
    e[uû] 8
    oy(?={V}) waj
    o[iîê](?!n) wa
    oy wa
    o[uùû](?=[aeiéèêoâ](?!s?$)) w
    o[uùû] u
    ay(?={V}) ɛj
    aye$ ɛj
    ays$ ɛi
    ays(?=a) ɛiz
    a[iîy] ɛ
    aï ai
    e[iîy](?={V})y? ɛj
    e[iîy] ɛ
    uy(?={V}) yij
    u(?=[iî]) y
    (?<={V})y(?={V}) j
    i(?={V}) j
    y(?={V}) j
    é e
    [èê] ɛ
    ë ɛ
    [aàâä] a
    [iîï] i
    [ôö] o
    o O
    [uùûü] y
    y i
    es$ -
    e$ -
    e E
    b b
    d d
    f f
    k k
    m m
    n n
    p p
    v v
    """,
    {"V": "[aeiouyéèêëàâîïôûùœ]"},
)
_SPOKEN_ENDS = frozenset(
    "mer fer cher hier hiver fier amer enfer ver super cancer laser hamster leader "
    "ours mars bus hélas os sens as fils tennis plus? atlas cosmos virus campus lapsus "
    "gratis jadis oasis tous "
    "net but sept huit brut direct exact respect aspect? concept ouest est? est-ce "
    "correct intellect "
    "strict district infect abject compact impact tact contact transit déficit "
    "sud david cap handicap stop club gaz index silex six dix".replace("?", "").split()
) - {"plus", "aspect", "est", "est-ce"}
_WORDS = {
    "peut-être": "pøtˈɛtʁ",
    "le": "lə", "la": "la", "les": "le+z", "de": "də", "des": "de+z", "du": "dy", "ce": "sə",
    "ces": "se+z", "je": "ʒə", "me": "mə", "te": "tə", "se": "sə", "ne": "nə", "que": "kə",
    "qui": "ki", "et": "e", "un": "œ̃+n", "une": "yn", "au": "o", "aux": "o+z", "en": "ɑ̃+n",
    "dans": "dɑ̃+z", "par": "paʁ", "pour": "puʁ", "sur": "syʁ", "avec": "avˌɛk", "sans": "sɑ̃+z",
    "sous": "su+z", "chez": "ʃe+z", "mon": "mɔ̃+n", "ton": "tɔ̃+n", "son": "sɔ̃+n", "mes": "me+z",
    "tes": "te+z", "ses": "se+z", "ma": "ma", "ta": "ta", "sa": "sa", "notre": "notʁ",
    "votre": "votʁ", "nos": "no+z", "vos": "vo+z", "leur": "lœʁ", "leurs": "lœʁ+z", "il": "il",
    "ils": "il+z", "elle": "ɛl", "elles": "ɛl+z", "on": "ɔ̃+n", "nous": "nu+z", "vous": "vu+z",
    "tu": "ty", "y": "i", "a": "a", "à": "a", "est": "ɛ+t", "sont": "sˈɔ̃+t", "ont": "ˈɔ̃+t",
    "était": "etˈɛ+t", "c'est": "sɛ+t", "dont": "dɔ̃+t", "quand": "kɑ̃+t", "mais": "mɛ+z", "ou": "u",
    "où": "u", "si": "sˈi", "comme": "kɔm", "cette": "sɛt", "cet": "sɛt", "deux": "dˈø+z",
    "trois": "tʁwˈa+z", "six": "sˈi+z", "dix": "dˈi+z", "très": "tʁɛ+z", "plus": "ply+z",
    "moins": "mwɛ̃+z", "pas": "pa+z", "tout": "tu+t", "tous": "tu+z", "toute": "tut",
    "grand": "ɡʁˈɑ̃+t", "petit": "pətˈi+t", "après": "apʁˌɛ+z", "avant": "avˌɑ̃", "encore": "ɑ̃kˌɔʁ",
    "cela": "səlˌa", "plusieurs": "plyzjˌœʁ+z", "depuis": "dəpyˌi", "toujours": "tuʒˌuʁ",
    "plupart": "plypˌaʁ", "pourquoi": "puʁkwˌa", "afin": "afˌɛ̃", "beaucoup": "bokˌu",
    "alors": "alˌɔʁ", "lors": "lɔʁ", "tant": "tɑ̃", "autre": "otʁ", "autres": "otʁ+z", "car": "kaʁ",
    "chaque": "ʃak", "près": "pʁɛ", "peu": "pø", "quel": "kɛl", "quelle": "kɛl", "quels": "kɛl+z",
    "quelles": "kɛl+z", "ça": "sa", "lorsque": "lˌɔʁskə", "quelques": "kˌɛlkə+z",
    "quelque": "kˌɛlkə", "mois": "mwˌa+z", "gens": "ʒˈɑ̃+z", "soixante": "swasˈɑ̃t",
    "jamais": "ʒamˌɛ+z", "ainsi": "ɛ̃sˌi", "tandis": "tɑ̃dˌi", "non": "nɔ̃", "tel": "tɛl",
    "telle": "tɛl", "assez": "asˌe+z", "parce": "paʁs", "puisque": "pyiskə", "deuxième": "døzjˈɛm",
    "outil": "utˈi", "gentil": "ʒɑ̃tˈi", "fusil": "fyzˈi", "ai": "ɛ", "as": "a",
    "monsieur": "məsjˈø", "messieurs": "mesjˈø+z", "femme": "fˈam", "femmes": "fˈam+z",
    "yeux": "jˈø", "second": "səɡˈɔ̃", "seconde": "səɡˈɔ̃d", "œufs": "ˈø", "bœufs": "bˈø",
    "huit": "yˈit", "oui": "*wˈi", "fils": "fˈis", "automne": "otˈɔn", "condamner": "kɔ̃danˈe",
    "pays": "pɛˈi+z", "hier": "jˈɛʁ", "ville": "vˈil", "villes": "vˈil+z", "mille": "mˈil",
    "eu": "y", "eut": "y+t", "était-ce": "etɛs", "clef": "klˈe", "faisait": "fəzˈɛ+t",
    "faisaient": "fəzˈɛ+t", "donc": "dɔ̃k", "puis": "pyˈi+z", "lui": "lyˌi", "bien": "bjˈɛ̃+n",
    "rien": "ʁjˈɛ̃+n", "aussi": "osˌi", "été": "etˈe", "ans": "ˈɑ̃+z", "sept": "sˈɛt", "entre": "ɑ̃tʁ",
    "même": "mˈɛm", "être": "ˈɛtʁ", "onze": "*ˈɔ̃z", "et/ou": "e u", "ceux": "sø", "celui": "səlyi",
    "celle": "sɛl", "sera": "səʁa",
}  # fmt: skip
_BREATHED = re.compile(
    "h(?:éros$|aut|ont|ollan|ongr|ors$|asard|ach|ain|alle|alt|ameau|anch|angar|ant|arcel"
    "|ard|arico|arp|ât|auss|avre|ériss"
    "|êtr|eurt|ibou|id|iérarch|och|omard|oquet|oul|ouss|uit|url|utt|argn|alo$|aie|aï"
    "|andicap|all$|arem|ockey|obby|arvard|iss)"
)
_VERB_END = re.compile(
    "(?:[^aeiouéè]{2}|[aeiou](?:nn|ss|ll|tt)|(?:iv|uv|ev|èv|av|is|us|os|ais|ois|èt|it|ut"
    "|ouv|oul|eul|ur|ir|èr|ar|or|èn|in|ion|ag|ig|id|iff|ach|ich|och|ouch|èch|iqu|oqu|aqu"
    "|u|i|oi|ç|iend?r))ent$"
)
_NOUN_END = re.compile(
    "(?:m|[^aeiou]?[ée]r|[iu]?d|[aeiou]g|rg|c|esc|s?cc|fluent|gr[ée]|qu[ée]|[aoui]l|pat"
    "|[ée]m|man|mi?n[ei]n|tin|s?ol|lu?c|ab?s|pr[ée]s|cl[i]|sci|p|conv?en|t[iy])ent$"
    "|^(?!soi|voi|croi).{1,3}ent$|^(?:souv|arg|cont|coll|récip|expér|ingréd|quot|orient"
    "|torr|par|appar|transpar|curr|concurr|diff[ée]r|exc?ell|équival)ent$"
)
_NUCLEUS = re.compile("[aeiouyɛœøɔɑ]\u0303?")


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word, _join)


def _join(first: str, second: str) -> tuple[str, str]:
    """Wakes or drops the first word's last consonant."""
    stem, _, consonant = first.partition("+")
    start = second.lstrip("ˈˌ")[:1]
    is_vowel = start != "" and start in "aeiouyɛœøɔɑjw" and not second.startswith(("w", "j"))
    return stem + (consonant if is_vowel else ""), second.removeprefix("*")


@lru_cache(maxsize=20_000)
def _word(word: str) -> str:
    if word in _WORDS:
        return _WORDS[word]
    head, _, tail = word.rpartition("'")
    if head and tail:
        clitic = (
            _SOUNDS(re.sub("qu$", "q", head)).replace("E", "e").replace("O", "o").replace("r", "ʁ")
        )
        return clitic + _word(tail).removeprefix("*")
    if "-" in word.strip("-"):
        spoken = ""
        for part in filter(None, word.split("-")):
            spoken, following = _join(spoken, _word(part))
            spoken += following
        return spoken
    return _sounded(word)


def _sounded(word: str) -> str:
    spelled, liaison = _without_silent_end(re.sub("emment$", "amment", word))
    sounds = _SOUNDS(spelled)
    is_nasal = len(sounds) < 3 or re.search("[iéey]ens?$", spelled)
    sounds = sounds.replace("5", "ɛ̃" if is_nasal else "ɛn").replace("I", "j").replace("r", "ʁ")
    sounds = stressed(_vowels(sounds), _NUCLEUS, 1)
    if _BREATHED.match(word):
        sounds = "*" + sounds
    return f"{sounds}+{liaison}" if liaison else sounds


def _without_silent_end(word: str) -> tuple[str, str]:
    """How a word would be spelled without the letters at its end that are silent, and the consonant
    that wakes before a vowel."""
    if match := re.search("ai(?:ent|t|s)$", word):
        return _without_silent_consonant(word[: match.start()] + "ai")
    if word.endswith("ent") and not word.endswith("ment"):
        if _VERB_END.search(word) and not _NOUN_END.search(word):
            return word[:-2], ""
    elif match := re.search("er(s?)$", word):
        if word.rstrip("s") not in _SPOKEN_ENDS and len(word) > 4:
            return _accented(word, match, "é")
    elif word.endswith("ez"):
        return word[:-2] + "é", "z"
    elif (match := re.search("et(s?)$", word)) and word not in _SPOKEN_ENDS:
        return _accented(word, match, "ê")
    return _without_silent_consonant(word)


def _accented(word: str, end: re.Match[str], vowel: str) -> tuple[str, str]:
    spelled = word[: end.start()] + vowel
    return (spelled, "z") if end.group(1) else _without_silent_consonant(spelled)


_SILENT_CONSONANT = re.compile(
    "(?<=[aeiouyéèêàâîôûnrlcptmfk])([tdpgbc]?s|x|z|(?<![cs])t|d|p|(?<=[nra])g|(?<=n)c|(?<=m)b)$"
)


def _without_silent_consonant(word: str) -> tuple[str, str]:
    match = _SILENT_CONSONANT.search(word)
    is_spoken = word in _SPOKEN_ENDS or word.rstrip("s") in _SPOKEN_ENDS
    if is_spoken or match is None or len(word) < 3 or re.search("(?:[^e]c|p)t$|[^s]ss$", word):
        return word, ""
    stem = word[: match.start() + (match.group() == "cs")]
    return re.sub("(?<=[^iyé])en$|(?<=[ct]i)en$", "eñ", stem), "z" if word[-1] in "sxz" else ""


def _vowels(sounds: str) -> str:
    """Qualities of e, o and eu."""
    sounds = re.sub("O(?=$|z$)", "o", _schwas(sounds))
    sounds = re.sub("O(?=[^aeiouyɛœøɔɑ\u0303]+$|ʁ[^aeiouyɛœøɔɑ]|[kpt][tsk])", "ɔ", sounds)
    sounds = re.sub("8(?=[ʁlfnvj]+$|[bpv][lʁ]$|ʁ)", "œ", sounds)
    return sounds.replace("O", "o").replace("8", "ø")


def _schwas(sounds: str) -> str:
    """Every e without an accent: open before two consonants, weak or silent before one."""
    vowel = "aeiouyɛœøɔɑEO8"
    consonant = f"[^{vowel}\u0303]"
    sounds = re.sub(f"E(?=[^{vowel}]*$)", "ɛ", sounds)
    sounds = re.sub(f"E(?={consonant}(?![ʁlj]|[{vowel}]){consonant}|ks|ʁʁ)", "ɛ", sounds)
    sounds = re.sub(f"(?<=[{vowel}\u0303])({consonant})E(?={consonant}[{vowel}jw])", r"\1", sounds)
    return sounds.replace("E", "ə")
