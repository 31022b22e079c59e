"""Words by which languages tell who speaks: verbs of speech, pronouns, articles, forms of address.

`named_in_tag` finds the subject of “said Ada”, „sagte Anna“, « dit-elle » and “dijo Ana”. Knows
words and their order, nothing of the book's characters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textbase.languages import primary


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a tag: `text[start:stop]`, empty after a verb whose form alone tells it."""

    start: int
    stop: int
    is_pronoun: bool
    """True if it has no name or noun."""
    pronoun: str | None
    """he, she, they or I, from a pronoun, an article, a form of address or the verb."""


_REGULAR_STEMS = {
    "de": (
        "te t ten",
        "sag frag erwider flüster murmel mein bemerk füg erklär wiederhol seufz lach brumm stammel "
        "murr knurr jammer schluchz hauch stöhn brüll kreisch lächel nick mahn warn droh forder "
        "ergänz erkundig beton versicher versetz äußer stotter spott schimpf hak setz keuch krächz "
        "zisch wisper grins kicher protestier kommentier korrigier nuschel plapper raun schnauf "
        "schnauz höhn stimm räum hör jubel grübel überleg zöger wunder kündig",
    ),
    "fr": (
        "a ait e èrent aient ai",
        "demand cri écri exclam murmur répliqu continu ajout déclar affirm soupir chuchot balbuti "
        "bégay expliqu observ remarqu not insist protest hurl grogn grommel marmonn lanç coup "
        "interrog questionn annonç commenç précis propos suggér rétorqu ricann plaisant sanglot "
        "souffl articul prononç répét lament rappel avou confi jur salu appel pens song approuv "
        "object ordonn comment bredouill ironis murmur tonn gronda supplia suppli trancha tranch "
        "constat risqu hasard rectifi glapit ânonn jet",
    ),
    "es": (
        "ó aba a aron aban é",
        "pregunt contest exclam grit murmur susurr replic coment explic continu observ afirm neg "
        "suspir balbuce orden protest pens asegur anunci declar llam apunt agreg confes record "
        "aclar solt mascull rog suplic avis mand interrog salud bromé brome sollo solloz tartamude "
        "gruñ articul pronunci inform razon reflexion acus conjetur aventur musit argument",
    ),
    "it": (
        "ò ava a arono avano ai",
        "domand esclam grid mormor sussurr replic afferm osserv continu pens chiam url protest "
        "sospir balbett annunci dichiar spieg comand ordin interrog borbott brontol salut azzard "
        "constat preg singhiozz comment ammir not insinu rincar tagli ribatt farfugli bisbigli "
        "raccont inform confess grugn scherz supplic avvert",
    ),
    "pt": (
        "ou ava a aram avam ei",
        "pergunt exclam grit murmur sussurr replic acrescent observ continu retruc indag afirm "
        "coment explic suspir balbuci orden neg pens protest cham declar anunci torn cochich "
        "resmung gaguej berr confess confirm concord avis lembr not implor brad atalh inform "
        "ponder interrog contest soluç rosn pront acus brinc convid repar objet",
    ),
    "ru": (
        "л ла ли лся лась лись",
        "сказа спроси ответи отвеча крикну закрича крича вскрикну вскрича прошепта шепну шепта "
        "проговори говори заговори воскликну пробормота бормота подума дума добави прибави "
        "продолжа продолжи повтори повторя возрази замети замеча заяви поясни объясни отозва "
        "усмехну улыбну засмея рассмея вздохну простона пролепета буркну проворча завопи взвизгну "
        "попроси проси приказа предложи согласи кивну удиви протяну промолви вымолви молви переби "
        "вмеша процеди прохрипе рявкну хмыкну фыркну обрати осведоми поинтересова пообеща "
        "потребова призна сообщи напомни посоветова уточни заключи нача обрадова переспроси "
        "спрашива восклица произноси шуткну пошути позва окликну всхлипну прорева зарева",
    ),
}
"""Endings, and the stems that take them."""

_IRREGULAR_FORMS = {
    "en": "said say says saying asked asks ask cried cries replied replies answered answers "
    "shouted shouts whispered whispers murmured murmurs muttered mutters called calls repeated "
    "repeats exclaimed exclaims inquired enquired demanded demands began begins added adds "
    "continued continues went goes observed remarked remarks agreed admitted suggested suggests "
    "returned returns gasped sighed sighs laughed laughs sobbed screamed screams shrieked roared "
    "growled snapped retorted rejoined declared announced explained explains insisted protested "
    "pleaded begged urged warned promised confessed told tells interrupted interposed stammered "
    "faltered groaned moaned grunted drawled echoed ejaculated thought thinks mused wondered "
    "responded persisted proceeded resumed quoth bade ordered commanded objected argued conceded "
    "concluded commented yelled bellowed hissed panted breathed mumbled snarled sneered implored "
    "entreated faltered ventured put pursued broke burst chimed",
    "de": "rief ruft riefen schrie schreit schrien sprach spricht sprachen fuhr fährt begann "
    "beginnt unterbrach dachte denkt dachten schwor bat bittet befahl befiehlt gestand schlug gab "
    "wandte warf fiel antwortete antwortet antworteten erwidert entgegnete entgegnet behauptete "
    "behauptet meldete meldet redete flötete berichtete bestätigte bestätigt flehte fleht "
    "betete verkündete verkündet gab zischt lachte",
    "fr": "dit dis disait disent disaient dirent répond répondit répondait répondirent reprit "
    "reprend reprenait fit fait faisait poursuivit poursuit poursuivait interrompit interrompt "
    "admit admet convint rit sourit gémit rugit conclut intervint lance annonce commence prononce "
    "promit rugit frémit pâlit acquiesça murmure répète répétait suggère appelle rappelle jette "
    "songe songea obtempéra maugréa renchérit applaudit bondit avertit surenchérit grondait",
    "es": "dijo dice dijeron decía decían dije digo respondió responde respondía respondieron "
    "repuso añadió añade añadía repitió repite insistió insiste siguió sigue prosiguió prosigue "
    "sonrió sonríe rio rió ríe interrumpió intervino admitió asintió gimió rugió concluyó exigió "
    "sugirió advirtió propuso pidió prometió quiso hizo reconoció volvió corrigió mintió gruñó",
    "it": "disse dice dissero diceva dicevano dissi dico chiese chiede chiesero chiesi chiedeva "
    "rispose risponde risposero rispondeva risposi aggiunse aggiunge riprese riprende fece fa "
    "ripeté ripete ripetè soggiunse sorrise rise ride intervenne interruppe insistette insisté "
    "insiste concluse ammise proseguì prosegue suggerì gemette annuì ribatté ribatte promise "
    "ruggì avvertì convenne urlò",
    "pt": "disse diz disseram dizia diziam respondeu responde responderam respondia respondi "
    "repetiu repete retorquiu prosseguiu interrompeu insistiu insiste pediu fez sorriu riu ri "
    "admitiu concluiu sugeriu advertiu propôs interveio volveu gemeu rugiu redarguiu prometeu "
    "corrigiu assentiu mentiu",
    "ru": "произнёс произнес произнесла произнесли изрёк изрек изрекла говорит говорят говорю "
    "спрашивает отвечает кричит шепчет бормочет думает замечает продолжает добавляет восклицает "
    "повторяет произносит возражает",
    "ca": "digué digueren deia diu preguntà pregunta respongué respon contestà exclamà cridà "
    "murmurà xiuxiuejà afegí repetí continuà féu va",
    "cs": "řekl řekla řekli říká zeptal zeptala ptal ptala odpověděl odpověděla odvětil odvětila "
    "zvolal zvolala vykřikl vykřikla zašeptal zašeptala dodal dodala pravil pravila pomyslel",
    "da": "sagde siger spurgte svarede råbte hviskede mumlede udbrød tilføjede fortsatte tænkte lo",
    "el": "είπε λέει είπαν έλεγε ρώτησε ρωτάει απάντησε απαντά φώναξε ψιθύρισε μουρμούρισε "
    "πρόσθεσε συνέχισε αποκρίθηκε έκανε",
    "fi": "sanoi sanoivat sanon kysyi vastasi huusi kuiskasi mutisi huudahti lisäsi jatkoi toisti "
    "ajatteli huokasi tokaisi virkkoi naurahti",
    "hu": "mondta mondja mondták kérdezte kérdezi felelte válaszolta kiáltotta kiáltott suttogta "
    "mormolta szólt szólalt tette folytatta ismételte gondolta felelt",
    "nl": "zei zegt zeiden vroeg vraagt antwoordde riep roept fluisterde mompelde schreeuwde "
    "hernam vervolgde herhaalde zuchtte dacht sprak lachte",
    "no": "sa sier sade spurte svarte ropte hvisket mumlet utbrøt tilføyde fortsatte tenkte lo",
    "pl": "powiedział powiedziała powiedzieli mówi mówił mówiła zapytał zapytała spytał spytała "
    "pyta rzekł rzekła odparł odparła odpowiedział odpowiedziała odrzekł odrzekła krzyknął "
    "krzyknęła zawołał zawołała szepnął szepnęła mruknął mruknęła dodał dodała powtórzył "
    "powtórzyła westchnął westchnęła zaśmiał zaśmiała pomyślał pomyślała ciągnął ciągnęła",
    "ro": "spuse zise zice spune întrebă întreabă răspunse răspunde strigă șopti murmură adăugă "
    "repetă continuă exclamă făcu",
    "sv": "sade sa säger frågade frågar svarade svarar ropade viskade mumlade utbrast tillade "
    "fortsatte upprepade tänkte skrek suckade skrattade",
    "tr": "dedi der sordu bağırdı fısıldadı mırıldandı ekledi yanıtladı cevapladı",
    "uk": "сказав сказала сказали каже спитав спитала запитав запитала відповів відповіла крикнув "
    "крикнула закричав закричала прошепотів прошепотіла промовив промовила вигукнув вигукнула "
    "додав додала мовив мовила подумав подумала озвався озвалася буркнув буркнула",
}
"""Verb forms of tags, present and past."""

_PRONOUNS = {
    "en": "he:he she:she they:they i:I",
    "de": "er:he sie:she ich:I",
    "fr": "il:he elle:she ils:they elles:they je:I",
    "es": "él:he ella:she ellos:they ellas:they yo:I",
    "it": "lui:he egli:he lei:she ella:she loro:they io:I",
    "pt": "ele:he ela:she eles:they elas:they eu:I",
    "ru": "он:he она:she они:they я:I",
}

_ARTICLES = {
    "en": "the: a: an: his: her: my: our: their: your: this: that:",
    "de": "der:he die:she das: ein: eine:she sein: seine:she ihr: ihre:she mein: meine:she unser: "
    "dieser:he diese:she jener:he jene:she",
    "fr": "le:he la:she l: les:they un:he une:she mon: ma:she son: sa:she notre: votre: ce:he "
    "cet:he cette:she",
    "es": "el:he la:she los:they las:they un:he una:she mi: su: aquel:he aquella:she",
    "it": "il:he lo:he la:she l: i:they gli:they le:they un:he una:she suo:he sua:she mio:he "
    "mia:she quel:he quella:she",
    "pt": "o:he a:she os:they as:they um:he uma:she seu:he sua:she meu:he minha:she",
    "ru": "",
}
"""Articles and other determiners, with the pronoun that they imply."""

_ADDRESS = {
    "en": "mr:he mrs:she miss:she ms:she lady:she lord:he sir:he madam:she aunt:she uncle:he",
    "de": "herr:he frau:she fräulein:she onkel:he tante:she graf:he gräfin:she",
    "fr": "m:he monsieur:he mme:she madame:she mlle:she mademoiselle:she tante:she oncle:he",
    "es": "señor:he señora:she señorita:she don:he doña:she tío:he tía:she sr:he sra:she",
    "it": "signor:he signore:he signora:she signorina:she don:he donna:she zio:he zia:she",
    "pt": "senhor:he senhora:she dona:she tio:he tia:she sr:he sra:she",
    "ru": "господин:he госпожа:she князь:he княгиня:she княжна:she граф:he графиня:she барин:he "
    "барыня:she дядя:he тётя:she тетя:she тётка:she тетка:she бабушка:she дедушка:he",
}
"""Forms of address before a name, with the pronoun that they imply."""

_PREPOSITIONS = {
    "en": "to at in of with by from for on over after before into like than upon towards",
    "de": "zu zum zur an am in im mit von vom bei auf aus nach über unter vor gegen für als wie "
    "durch dem den",
    "fr": "à au aux de du des d en dans avec sur vers par pour sans sous chez comme devant entre",
    "es": "a al de del en con sobre hacia por para sin entre desde como ante",
    "it": "a al alla allo agli ai alle di del della dello in nel nella con su sul verso per da dal "
    "dalla tra fra come",
    "pt": "a ao à aos às de do da dos das em no na com sobre para por sem entre como pelo pela",
    "ru": "к ко в во на с со у о об от из по за под над перед при для без через",
}

_OPENERS = {
    "de": "dann da nun jetzt und aber so also endlich plötzlich schließlich darauf daraufhin "
    "nachdenklich leise laut hier wieder",
    "fr": "alors puis enfin et mais ainsi aussitôt se s lui me m leur là",
    "es": "entonces y pero luego así le les se me al por fin",
    "it": "allora poi e ma così gli le mi si infine",
    "pt": "então e mas depois assim lhe me se por fim",
    "ru": "тогда потом и а но наконец вдруг тут так же",
    "en": "then and but so here thus at last",
}
"""Words that may come before a verb that its subject follows."""

_PRO_DROP_LANGUAGES = frozenset("es it pt ru".split())
"""Languages whose verbs need no subject."""

_PARTICLES = frozenset(
    "von van der den zu zur de du des la le les di da del della dello degli dos das do e y et und "
    "af av".split()
)
"""Particles of names, before another capitalised word."""


def _parse_pronouns(words: str) -> dict[str, str | None]:
    parts = (pair.split(":") for pair in words.split())
    return {word: pronoun or None for word, pronoun in parts}


@dataclass(frozen=True, slots=True)
class TagWords:
    """Words that make up tags of a language, folded."""

    code: str
    verbs: frozenset[str]
    pronouns: Mapping[str, str | None]
    articles: Mapping[str, str | None]
    address: Mapping[str, str | None]
    prepositions: frozenset[str]
    openers: frozenset[str]


@functools.cache
def speech_of(language: str) -> TagWords:
    """Return the words of a language (a BCP 47 tag); those of an unknown one are empty."""
    code = {"nb": "no", "nn": "no"}.get(primary(language), primary(language))
    endings, stems = _REGULAR_STEMS.get(code, ("", ""))
    regular = {stem + ending for stem in stems.split() for ending in endings.split()}
    return TagWords(
        code,
        frozenset(regular | set(_IRREGULAR_FORMS.get(code, "").split())),
        _parse_pronouns(_PRONOUNS.get(code, "")),
        _parse_pronouns(_ARTICLES.get(code, "")),
        _parse_pronouns(_ADDRESS.get(code, "")),
        frozenset(_PREPOSITIONS.get(code, "").split()),
        frozenset(_OPENERS.get(code, "").split()),
    )


WORD = re.compile(r"[^\W\d_]+")
_CLAUSE_END = re.compile(
    r"(?<!\b[^\W\d_])(?<!\bMr)(?<!\bMrs)(?<!\bMme)(?<!\bMlle)(?<!\bDr)(?<!\bSr)(?<!\bSra)\."
    r"|[!?;:…]|\s[—–-]|[—–](?=[\s,.;:])|--"
)
_MAX_TAG_WORDS = 8
"""Maximum number of words before a tag's verb, and from it to its subject."""


def named_in_tag(narration: str, language: str) -> Subject | None:
    """Return the subject of the tag in narration next to a quotation; None without a tag.

    Narration that ends with a colon or a comma leads to a quotation, so its last clause is read;
    other narration follows one, so its first clause is read.
    """
    speech = speech_of(language)
    begin, end = _tag_clause(narration)
    words = list(WORD.finditer(narration, begin, end))
    folded_words = [word[0].casefold() for word in words]
    verb = next(
        (n for n, word in enumerate(folded_words[: _MAX_TAG_WORDS + 1]) if word in speech.verbs),
        None,
    )
    if verb is None:
        return None
    words_before = [word for word in folded_words[:verb] if word not in speech.openers]
    places_after = range(verb + 1, len(words))[:_MAX_TAG_WORDS]
    places_before = range(verb - 1, -1, -1)[:_MAX_TAG_WORDS]
    for places in (places_before, places_after) if words_before else (places_after, places_before):
        if subject := _find_subject(words, folded_words, places, speech):
            return subject
    if speech.code not in _PRO_DROP_LANGUAGES:
        return None
    verb_end = words[verb].end()
    return Subject(verb_end, verb_end, True, _pronoun_from_verb(folded_words[verb], speech))


def _tag_clause(text: str) -> tuple[int, int]:
    """Return the span of the tag's clause in narration next to a quotation."""
    trimmed = text.rstrip(" \t\n\u00a0\u202f—–-")
    if trimmed.endswith((":", ",")):
        ends = [match.end() for match in _CLAUSE_END.finditer(trimmed, 0, len(trimmed) - 1)]
        return (ends[-1] if ends else 0), len(trimmed)
    begin = len(text) - len(text.lstrip(" \t\n\u00a0\u202f—–-,.;"))
    match = _CLAUSE_END.search(text, begin)
    return begin, match.start() if match else len(text)


def _find_subject(
    words: Sequence[re.Match[str]], folded_words: Sequence[str], places: range, speech: TagWords
) -> Subject | None:
    """Return the first subject at the given word indices, or None."""
    is_backwards = places.step < 0
    for place in places:
        if folded_words[place] in speech.pronouns:
            return Subject(*words[place].span(), True, speech.pronouns[folded_words[place]])
        begin = _name_start(words, folded_words, place, speech) if is_backwards else place
        if subject := _subject_at(words, folded_words, begin, speech):
            return subject
    return None


def _subject_at(
    words: Sequence[re.Match[str]], folded_words: Sequence[str], begin: int, speech: TagWords
) -> Subject | None:
    """Return the name or noun that begins at a word, with its article, or None."""
    word_before = folded_words[begin - 1] if begin else ""
    first = begin + (folded_words[begin] in speech.articles)
    if word_before in speech.prepositions or first >= len(words):
        return None
    is_name = words[first][0][0].isupper() and (first > 0 or folded_words[0] not in speech.openers)
    is_noun = first > begin and _are_adjacent(words[begin], words[first])
    # Russian nouns have no article: сказал старик
    is_bare_noun = speech.code == "ru" and word_before in speech.verbs
    if not (is_name or is_noun or is_bare_noun or folded_words[begin] in speech.address):
        return None
    end = _name_end(words, folded_words, first, speech, is_noun=not is_name)
    pronoun = speech.address.get(folded_words[first]) or speech.articles.get(folded_words[begin])
    for verb in (word_before, *folded_words[end : end + 1]):
        pronoun = pronoun or _pronoun_from_verb(verb, speech)
    return Subject(words[begin].start(), words[end - 1].end(), False, pronoun)


def _are_adjacent(first_word: re.Match[str], second_word: re.Match[str]) -> bool:
    return not first_word.string[first_word.end() : second_word.start()].strip(
        " '’.-\n\u00a0\u202f"
    )


def _name_start(
    words: Sequence[re.Match[str]], folded_words: Sequence[str], place: int, speech: TagWords
) -> int:
    """Return the index of the first word of a name that ends at `place`, with its article."""
    while (
        place and words[place - 1][0][0].isupper() and _are_adjacent(words[place - 1], words[place])
    ):
        place -= 1
    for article in range(place, max(-1, place - 4), -1):
        if article < place and not _are_adjacent(words[article], words[article + 1]):
            break
        if folded_words[article] in speech.articles:
            return article
    return place


def _name_end(
    words: Sequence[re.Match[str]],
    folded_words: Sequence[str],
    first: int,
    speech: TagWords,
    *,
    is_noun: bool,
) -> int:
    """Return the index after the last word of a name or noun that begins at `first`."""

    def is_adjacent(place: int) -> bool:
        return place < len(words) and _are_adjacent(words[place - 1], words[place])

    end = first + 1
    if is_noun:
        # der alte Mann, the old man, la vieille dame: adjectives stand before
        for _ in range(2):
            is_adjective = speech.code == "de" or folded_words[end - 1] in _ADJECTIVES
            if is_adjective and is_adjacent(end) and folded_words[end] not in speech.verbs:
                end += 1
    while is_adjacent(end):
        if words[end][0][0].isupper() and folded_words[end] not in speech.pronouns:
            end += 1
        elif (
            folded_words[end] in _PARTICLES
            and is_adjacent(end + 1)
            and words[end + 1][0][0].isupper()
        ):
            end += 2
        else:
            break
    return end


_ADJECTIVES = frozenset(
    "old young little poor other dear good big tall fat first second third elder younger strange "
    "same whole vieux vieil vieille jeune petit petite grand grande gros grosse autre bon bonne "
    "pauvre viejo vieja pobre buen buena otro otra joven vecchio vecchia giovane povero povera "
    "altro altra buon buona velho velha jovem pobre outro outra bom boa старый старая молодой "
    "молодая".split()
)
"""Adjectives before a noun."""


def _pronoun_from_verb(verb: str, speech: TagWords) -> str | None:
    """Return the pronoun that a Russian past form implies, or None."""
    if speech.code != "ru" or verb not in speech.verbs:
        return None
    if verb.endswith(("ла", "лась")):
        return "she"
    if verb.endswith(("ли", "лись")):
        return "they"
    return "he" if verb.endswith(("л", "лся", "ёс", "ес")) else None
