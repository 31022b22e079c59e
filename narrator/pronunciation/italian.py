"""Italian, as eSpeak NG writes it and Kokoro's Italian voices learnt it: rules, and a list of words
whose stress no rule tells.

Spelling says neither where a word is stressed nor whether its e or o is open. The stress is on the
last syllable but one unless an accent, an ending or the list says otherwise; e and o are open or
close as in most words with these letters after them.
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
    cch k:
    cci(?=[aouàòù]) ʧ:
    cc(?=[eièéì]) ʧ:
    [ck]?[cq]qu? k:w
    cc k:
    sci(?=[aouàòùe]) ʃ
    sc(?=[eièéì]) ʃ
    sch sk
    ch k
    ci(?=[aouàòù]) ʧ
    ci(?=e) ʧ
    c(?=[eièéì]) ʧ
    [ckq]u(?=[aeiàèéì]) kw
    [ck] k
    q k
    ggh ɡ:
    ggi(?=[aouàòù]) ʤ:
    gg(?=[eièéì]) ʤ:
    gg ɡ:
    gli(?=[aeouàèòù]) ʎ
    gli$ ʎi
    gli(?=[nmt]) ʎi
    (?<={V})gn(?=[aeouàè]|i$) ɲɲ
    gn ɲ
    gh ɡ
    gi(?=[aouàòù]) ʤ
    g(?=[eièéì]) ʤ
    gu(?=[aeioàèéìò]) ɡw
    g ɡ
    (?<=p)izz iʦ:
    izz iʣ:
    (?<=me)zz(?=[oai]) ʣ:
    (?<=a)zz(?=urr) ʣ:
    zz ʦ:
    ^z ʣ
    z(?=er|on[ae]) ʣ
    zi(?=[aeo]{W}) ʦi
    z ʦ
    ss S
    (?<={V})s(?={V}) z
    s(?=[bdglmnrv]) z
    s s
    rr rɾ
    r r
    ll ll
    mm mm
    nn nn
    ff ff
    vv vv
    bb b:
    dd d:
    pp p:
    tt t:
    n(?=[cgkq](?![ieèéì])|[cg]h) N
    ^hi i
    h -
    j j
    x ks
    ph f
    w w
    y i
    ^i(?={V}) j
    i(?=[aeouàèéòù]) j
    ^u(?=o) w
    (?<={V})u(?=o) w
    (?<=[bcdfglmnprst])uo(?=[a-z]) ʊˈɔ
    (?<=a)u(?=[bcdfglmnprstvz]) U
    à ˈa
    è ˈɛ
    é ˈe
    ì ˈi
    ò ˈɔ
    ó ˈo
    ù ˈu
    á ˈa
    í ˈi
    ú ˈu
    e E
    o O
    a a
    i i
    u u
    [äâ] a
    [ëê] e
    [öô] o
    [üû] u
    b b
    d d
    f f
    l l
    m m
    n n
    p p
    t t
    v v
    ç s
    """,
    {"V": "[aeiouàèéìòù]", "W": "[a-z]"},
)
_NUCLEUS = re.compile("[aEOiu]")
_LATE = re.compile(
    "(?:log|graf|craz|sof|nom|[bcdfgiltv]er|pat|fon|metr|arch|agog|polit?z|mag|agn|ogn"
    "|alatt|lleg)ie?$|^(?:tutta|m|v|z|s|d|p|sp|scr?)ie$".replace("ie", "i[ae]")
)
"""The i of -ia is stressed: farmacia, compagnia, via."""
_EARLY = re.compile(
    "(?:[aeiou]bil[ei]|issim[oaie]|[tfglrsdbc]ic[oaie]|[tfnglrmdsbc]ic(?:o|a|he)|og[oi]"
    "|ogh[ei]|graf[oi]"
    "|metr[oi]|fer[oai]|evol[ei]|[aeou]gin[eia]|udin[ei]|esim[oaie]|onim[oaie]|ttim[oaie]"
    "|ssim[oaie]"
    "|(?:[aei]ss|[eo]bb|nn|[ei]s)ero|[aei]rono|[aei]vano|[cptbg]ol[oaei]|ane[oaie]|(?:sc"
    "|ng|lg|gg|v|ss|rr"
    "|[eio]nd|tt|cc|nc)ono|ordin[ei]|min[ei]|[gcv]in[ei]|[bcdgt]il[ei]|[bmr]it[oi]"
    "|otes[ie]|rc?it[oi]|eri?od[oi]"
    "|isol[ae]|(?:ss|tt|cc|nd|nc|sc|ng|gg|gl)er)(?:$|ne$|si$|mi$|ti$|lo$|la$|li$|vi$)"
)
_EARLY_VERBS = re.compile(
    "(?:[^ei]r|rt|rd|ll|nt|nn|ss|tt|cc|gg|rm|nd|nc|rc|st|zz|pp|gn|i[sz]|[ou][rlt]|i[mn]"
    "|u[sm]|fer[im])ano$|(?:gg|nd|rr|cc|tt|nc|ng|sc|lv|rd|mm|d|gl|rg)ere$"
)
_EARLY_WORDS = frozenset(
    "aceto aerea aeree aerei linea linee video area aree seguito dibattito dibattiti "
    "sottolinea aereo africa albero america ambito analisi angelo angolo anima animo "
    "arabo aride asino attimo "
    "battere camera canada carattere carcere carica carico cenere cesare cinema circolo "
    "classico comodo "
    "credito cristoforo critica crescita debito debole diavolo difficile dita discutere "
    "dodici dollaro "
    "dollari domenica dopo epoca esercito essere estero fabbrica facile fascino femmina "
    "fisico folgore "
    "fragile fulmine genere giovane giovani giudice gomito grandine hanno immagine "
    "indagine internet "
    "ipotesi isola isole lacrima lacrime lampada lettera lettere libero limite limiti "
    "lucido macchina "
    "magico margine maschera medico mediterraneo merito messico metodo mettere minimo "
    "miracolo mobile "
    "monaco musica nascere nascita nobile numero numeri nuvola nuvole oceano opera opere ordine "
    "ordini origine ospite ossigeno ostrica pagina pallido parlano passero patria pecora "
    "perdere perdita "
    "pericolo piccolo piccola piccoli piccole polvere pollice popolo popoli porpora "
    "possono povero povera "
    "prestito principe prossimo prossima pubblico pubblica quindici radica rapido rapida "
    "reddito regola "
    "regole ridere rimedio rompere sabato sacrificio scatola scandalo secolo secoli "
    "sedici semplice "
    "semplici simile simili sindaco solito spirito stomaco storico stupido subito "
    "svizzera tavola tavolo "
    "tecnica telefono tempera tenebre termine termini timido titolo titoli tredici "
    "tramite ultimo ultima "
    "ultimi undici unico unica uomini utile valida vedova venerdi vendita vergine "
    "vescovo vincere vipera "
    "vittima vivere vogliono zucchero debbono devono dissero ebbero fecero furono misero "
    "presero videro "
    "vissero scrivere vengono tengono salgono mangiano dicono fanno ridono vedono sentono credono "
    "credere prendere rendere vendere correre piangere muovere".split()
)
_UNSTRESSED = frozenset(
    "a ad ai al che chi ci col con da dai dal de del di e ed era ha ho fu fra gli i il "
    "in la le lo ma mi "
    "ne nel non o per più se si su sul tra ti un vi è mai".split()
)
_HALF_STRESSED = frozenset(
    "agli alcune alcuni alla alle allo anche come contro dagli dalla dalle dallo degli "
    "dei della delle dello "
    "dove essendo fosse fossero hanno loro mentre ogni perché poi quella quelle quelli "
    "quello questa queste "
    "questi questo senza sia sono sua sue sui sulla sulle sullo suo suoi una uno".split()
)
_WORDS = {
    "farmacia": "farmaʧˈiːa",
    "magia": "maʤˈiːa",
    "bugia": "bʊʤˈiːa",
    "è": "e",
    "dei": "dˌA",
    "più": "pjʊ",
    "era": "ˌɛra",
    "c'è": "ʧe",
    "tre": "trˈe",
    "dai": "daj",
    "mai": "maj",
    "cui": "kˈuj",
}
_CLOSE_E = re.compile(
    "e(?:z[eia]$|ʦ:[ae]$|t:[oae]$|v[oa]l|ɲ|Nɡ|vano|t[oaie]$|re$|ze|ll[oae]$|rm|nne|ʤ:"
    "|dere|ʃ|ttere|st[oiae]$|mbra|$)"
)
_CLOSE_O = re.compile(
    "o(?:n[eia]?|n[ct]|r[eia]$|z[oei]$|rn|ntr|rs|lo$|na$|v[eu]|me|lt|nd|po$|ʎ|st|Se|t:o$|gn|$)"
)


def transcribe(tokens: Sequence[Token]) -> list[Segment]:
    return by_rules(tokens, _word)


@lru_cache(maxsize=20_000)
def _word(word: str) -> str:
    """Parts at an apostrophe or hyphen are one word to the ear."""
    head, mark, tail = re.sub("-", "'", word).strip("'").rpartition("'")
    if word in _WORDS:
        return _WORDS[word]
    if not mark:
        return _stress(tail)
    soft = {"c": "ʧ", "g": "ʤ"} if tail[:1] in "eièéì" else {}
    clitic = soft.get(head[-1:]) or _sounded(_SOUNDS(head[-1:]))
    return _sounded(_SOUNDS(head[:-1])) + clitic + _stress(tail)


def _stress(word: str) -> str:
    sounds = _SOUNDS(word)
    if "ˈ" not in sounds and word not in _UNSTRESSED:
        if _LATE.search(word):
            sounds = re.sub("j(?=[aE]$)", "i", sounds)
            sounds = stressed(sounds, _NUCLEUS, 2)
        else:
            is_early = word in _EARLY_WORDS or _EARLY.search(word) or _EARLY_VERBS.search(word)
            ends_open = re.search("[aeiou]$", word)
            sounds = stressed(sounds, _NUCLEUS, 3 if is_early else 2 if ends_open else 1)
    return _sounded(sounds.replace("ˈ", "ˌ") if word in _HALF_STRESSED else sounds)


def _sounded(sounds: str) -> str:
    """Qualities of vowels, long consonants and glides, by the stress."""
    before, mark, rest = sounds.partition("ˈ" if "ˈ" in sounds else "ˌ")
    if not mark:
        before, rest = "", before
    rest = rest[:1] + rest[1:].replace("E", "e").replace("O", "o")
    if mark and rest.startswith("E"):
        is_close = (before + rest)[-len(rest) - 1 :].startswith("mEnt") or (
            len(rest) > 1 and _CLOSE_E.match("e" + rest[1:])
        )
        rest = ("e" if is_close and before[-1:] not in ("j", "b") else "ɛ") + rest[1:]
    elif mark and rest.startswith("O"):
        rest = ("o" if _CLOSE_O.match("o" + rest[1:]) and len(rest) > 1 else "ɔ") + rest[1:]
    if mark:
        rest = re.sub("(?<=[^aeiouɛɔ])j(?=[aeou])", "i", rest)
    sounds = re.sub("u(?![aɛɔeo])", "ʊ", before) + mark + rest
    sounds = re.sub("(?<=[bcdfghklmnprstvzʃʒʧʤ])u?wˈɔ", "ʊˈɔ", sounds)
    sounds = re.sub("(?<=[ʦʣz])jˈ", "iˈ", sounds)
    sounds = re.sub("(?<=[^aeiouˈˌɛɔ])i$", "ɪ", sounds)
    if mark != "ˈ":
        sounds = sounds.replace("u", "ʊ")
    sounds = re.sub("N(?=ɡ)", "ŋ", sounds).replace("N", "n")
    sounds = re.sub("^([ptkbdɡʦʣʧʤ]):", r"\1", sounds)
    return sounds.replace("E", "e").replace("O", "o").replace(":", "ː").replace("U", "ʊ")
