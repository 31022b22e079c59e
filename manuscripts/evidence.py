"""Weighs the evidence that labels are those of speakers, by the labels and the text after them.

A form has labels, too, and so have a glossary, a changelog and a manual. But those name fields and
dates; nobody asks there and is answered, and hardly anybody says "I". Knows labels and texts, not
blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from manuscripts.book import count_words, word_set
from manuscripts.fieldwords import FIELDS
from manuscripts.labels import key_of
from textbase.recognise import language_of

MIN_WEIGHT = 0.45
"""Weight from which labels count as those of speakers."""

_FIRST_PERSON = {
    "en": "I i I'm i'm I've I'll i'll I'd me my mine myself we us our ours we're we've we'll we'd",
    "de": "ich mir mich mein meine meinen meinem meiner meines wir uns unser unsere unseren",
    "fr": "je moi mon ma mes me nous notre nos",
    "es": "yo mí mi mis me conmigo nosotros nosotras nuestro nuestra nos",
    "it": "io me mi mio mia miei noi ci nostro nostra",
    "pt": "eu me mim meu minha meus minhas nós nosso nossa",
    "nl": "ik mij me mijn wij we ons onze",
    "sv": "jag mig min mitt mina vi oss vår vårt våra",
    "da": "jeg mig min mit mine vi os vores",
    "no": "jeg meg min mitt mine vi oss vår",
    "fi": "minä minun minua minut minulle me meidän",
    "pl": "ja mnie mi mną mój moja moje my nas nam nasz",
    "cs": "já mě mne mně mi můj moje my nás nám náš",
    "hu": "én nekem engem mi minket nekünk",
    "ro": "eu mie mine meu mea noi nouă nostru",
    "tr": "ben bana beni benim biz bize bizi bizim",
    "ru": "я меня мне мной мой моя моё мое мои моей мы нас нам наш наша",
    "uk": "я мене мені мій моя ми нас нам наш",
    "el": "εγώ εμένα μου με μας εμείς",
    "he": "אני אנחנו לי שלי אותי לנו",
    "ar": "أنا نحن لي عندي لنا",
    "fa": "من ما مرا",
}
_SECOND_PERSON = {
    "en": "you your yours you're you've you'll you'd thou thee thy thine ye",
    "de": "du dir dich dein deine deinen Sie Ihnen Ihr Ihre Ihren ihr euch euer Ihr",
    "fr": "tu te toi ton ta tes vous votre vos",
    "es": "tú ti tu tus te contigo usted ustedes vosotros vuestro os señor señora",
    "it": "tu ti te tuo tua lei voi vi vostro vostra signore signora",
    "pt": "tu te ti você vocês teu tua senhor senhora",
    "nl": "jij je jou jouw u uw jullie",
    "sv": "du dig din ditt ni er",
    "da": "du dig din dit jer",
    "no": "du deg din ditt dere",
    "fi": "sinä sinun sinua te teidän teitä",
    "pl": "ty ciebie cię tobie ci twój pan pani panu wy was wam",
    "cs": "ty tebe tě ti tvůj vy vás vám váš pane paní",
    "hu": "te neked téged ön maga",
    "ro": "tu ție tine tău voi dumneavoastră",
    "tr": "sen sana seni senin siz size sizi sizin",
    "ru": "ты тебя тебе тобой твой твоя вы вас вам вами ваш ваша",
    "uk": "ти тебе тобі твій ви вас вам ваш",
    "el": "εσύ εσένα σου σε σας εσείς",
    "he": "אתה את לך שלך אתם לכם",
    "ar": "أنت لك عندك",
    "fa": "تو شما",
}


def _words_by_language(tables: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Returns each language's words, also capitalised; those of all languages under ""."""
    words_by_language = {
        language: frozenset(form for word in text.split() for form in (word, word.capitalize()))
        for language, text in tables.items()
    }
    return {"": frozenset().union(*words_by_language.values()), **words_by_language}


_FIRST_PERSON_WORDS, _SECOND_PERSON_WORDS = (
    _words_by_language(_FIRST_PERSON),
    _words_by_language(_SECOND_PERSON),
)
_EAST_FIRST_PERSON = re.compile("[我俺咱]|私|僕|わたし|나는|내가|저는|제가|우리")
_EAST_SECOND_PERSON = re.compile("[你您妳]|あなた|お前|당신|너는|네가|さん、")
_ELISION = re.compile(r"\b[jm][’'](?=\w)", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟]|[α-ωά-ώ];(?=\s|$)")
_FINAL_QUESTION = re.compile(r"(?:[?？؟]|[α-ωά-ώ];|ですか。|ますか。)[\"'”’»)\]]*\s*$")
_QUOTED = re.compile(r"[“„«»”「]|(?<!\w)\"[^\"\n]{3,}\"")
_WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)*")

_ROLES = word_set(
    "interviewer interviewee interviewed host cohost co-host guest moderator reporter speaker "
    "journalist journaliste caller narrator interviewerin sprecher sprecherin "
    "moderatorin journalistin journalista periodista entrevistador entrevistadora entrevistado "
    "intervistatore intervistatrice intervieweuse locuteur locutrice hablante locutor ведущий "
    "корреспондент журналист интервьюер prowadzący dziennikarz frage question pregunta domanda "
    "pergunta вопрос 记者 主持人"
)
"""Names of speakers without an identity."""
_QUESTION_PAIRS = tuple(
    word_set(pair)
    for pair in (
        "q a,f a,p r,d r,в о,问 答,問 答,v s,question answer,frage antwort,question réponse,"
        "pregunta respuesta,domanda risposta,pergunta resposta,вопрос ответ,vraag antwoord,"
        "fråga svar,pytanie odpowiedź"
    ).split(",")
)
"""Labels of questions and answers."""
_TITLES = word_set(
    "mr mrs ms miss dr prof lady lord sir king queen prince princess duke duchess count countess "
    "captain father mother brother sister uncle aunt old young first second third herr frau "
    "fräulein der die das don doña monsieur madame mademoiselle mme mlle le la les il signor "
    "signora the all both señor señora"
)
_QUESTION_HEADING = re.compile(
    r"\bFAQs?\b|frequent(?:ly)? asked|common questions|questions (?:and|&) answers|häufig\w*.{0,20}"
    r"fragen|fragen und antworten|foire aux questions|questions fréquentes|preguntas (?:más )?"
    r"frecuentes|domande frequenti|perguntas frequentes|veelgestelde vragen|часто задаваемые|"
    r"вопросы и ответы|najczęściej zadawane|常见问题|よくある質問|\b(?:pub )?quiz|\btrivia\b|"
    r"\briddles?\b|rätsel|devinettes|adivinanzas|indovinelli|загадки|викторина|\bworksheet\b",
    re.IGNORECASE,
)
_NOT_IN_NAMES = re.compile(
    r"[€$£%§×=<>{}|\\@#_~^]|\d{3}|\d\s?[–-]\s?\d|\d+[.,]\d|https?|www\.|\.\w{2,4}$"
)
"""Amounts, ranges, years, addresses: never part of a name."""
_DATE = re.compile(
    r"(?:\d{1,2}\.? )?(?:jan|feb|f[eé]v|m[aä]r[czs]|a[bpv]r|ma[iyg]|ju[ln]|juin|juil|gen|ene|giu|"
    r"lug|aug|ao[uû]|ago|set|sep|o[ckt]t|nov|d[eéi][cz])[\w.]{0,7}\.? \d|\d{1,2}\.? \w+ \d"
)
_MAX_NAME_WORDS = 5
_SURNAMES = frozenset("white black west north east south price day reading".split())
"""Words of forms that are also surnames after a first name."""


def may_name_speaker(name: str) -> bool:
    """Returns whether words may name a speaker by their look: no amount, date, field or long
    phrase."""
    words = name.split()
    if re.fullmatch(r"(?i)speaker[ _]?\d+", name.strip(" .:")):
        return True
    return not _NOT_IN_NAMES.search(name) and len(words) <= _MAX_NAME_WORDS + 3 * name.count("&")


def is_field(key: str) -> bool:
    """Returns whether a key belongs to a form or a manual rather than a person: `ingredients`, `oct
    15`, `week 2`."""
    words = [word.strip(".,:()'’") for word in key.split()]
    undated_words = [word for word in words if not word.isdigit()]
    if key in FIELDS or not undated_words or not may_name_speaker(key):
        return True
    if _DATE.match(key):
        return True
    last_word = (
        undated_words[-1] if len(undated_words) == 1 or undated_words[-1] not in _SURNAMES else ""
    )
    return undated_words[0] not in _TITLES and (undated_words[0] in FIELDS or last_word in FIELDS)


@dataclass(frozen=True, slots=True)
class LabelledSpeech:
    """A label and the text up to the next one."""

    name: str
    text: str
    is_timed: bool = False
    has_style: bool = False

    @property
    def key(self) -> str:
        return key_of(self.name)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Further facts about the piece in which the labels stand."""

    share: float
    """Share of its paragraphs that are labelled or directions."""
    is_set_apart: bool = False
    """Whether names are set apart or in capitals."""
    is_tabular: bool = False
    """Whether most labels stand in cells of a table or a list of terms."""
    is_in_acts: bool = False
    has_cast: bool = False
    """Whether the names of a list of persons are among the labels."""
    answers_questions: bool = False
    """Whether its headings announce questions that readers ask."""


def answers_questions(heading: str) -> bool:
    """Returns whether a heading announces questions for readers, as FAQs and quizzes have."""
    return bool(_QUESTION_HEADING.search(heading))


def weigh_labels(speeches: Sequence[LabelledSpeech], circumstances: Circumstances) -> float:
    """Returns the weight of the evidence that labels are those of speakers; see `MIN_WEIGHT`."""
    if not speeches:
        return 0.0
    keys = [speech.key for speech in speeches]
    texts = [speech.text for speech in speeches]
    speech_count = len(speeches)
    question_pair = next(
        (question_pair for question_pair in _QUESTION_PAIRS if question_pair <= set(keys)),
        frozenset(),
    )
    role_share = _share(_is_role(key) or key in question_pair for key in keys)
    field_share = _share(is_field(key) and key not in question_pair for key in keys)
    if circumstances.answers_questions and role_share + field_share > 0.5:
        return 0.0
    speaker_changes = [key_above != key_below for key_above, key_below in pairwise(keys)]
    answered_count = sum(
        bool(_FINAL_QUESTION.search(text)) and changes
        for text, changes in zip(texts, speaker_changes, strict=False)
    )
    first_person_share, second_person_share = _shares_of_persons(texts)
    question_share = _share(bool(_QUESTION.search(text)) for text in texts)
    talk_weight = (
        first_person_share
        + second_person_share / 2
        + answered_count / speech_count
        + question_share / 2
    )
    weight = min(1.0, talk_weight if first_person_share or answered_count else 0.7 * talk_weight)
    weight += (
        0.5 * role_share
        + 0.5 * circumstances.is_in_acts
        + 0.5 * circumstances.has_cast
        + 0.15 * circumstances.is_set_apart
    )
    timed_share = _share(speech.is_timed for speech in speeches)
    weight += (
        0.45 if circumstances.share >= 0.9 and 3 * len(set(keys)) <= speech_count else 0.25
    ) * timed_share
    weight += 0.3 * (0.05 <= _share(speech.has_style for speech in speeches) <= 0.5)
    weight += 0.15 * (circumstances.share >= 0.75 and all(speaker_changes))
    weight += 0.1 * any(key.split()[0].strip(".") in _TITLES for key in keys if " " in key)
    weight -= 1.2 * field_share
    weight -= 0.15 * circumstances.is_tabular
    weight -= 0.5 * (sum(speaker_changes) < 0.5 * len(speaker_changes))
    quoted_share = _share(bool(_QUOTED.search(text)) for text in texts)
    weight -= quoted_share * (1.0 if sum(map(count_words, texts)) >= 40 * speech_count else 0.3)
    return round(weight, 2)


def _is_role(key: str) -> bool:
    return key.rstrip("0123456789_ ") in _ROLES


def _share(flags: Iterable[bool]) -> float:
    flag_list = list(flags)
    return sum(flag_list) / max(1, len(flag_list))


def _shares_of_persons(texts: Sequence[str]) -> tuple[float, float]:
    """Returns the shares of texts that use the first person, and the second."""
    language = (language_of(" ".join(texts)) or "").partition("-")[0]
    first_person_count = second_person_count = 0
    for text in texts:
        words = {word.replace("’", "'") for word in _WORD.findall(text)}
        has_elision = language == "fr" and bool(_ELISION.search(text))
        first_person_count += (
            bool(words & _pronouns(_FIRST_PERSON_WORDS, language))
            or has_elision
            or bool(_EAST_FIRST_PERSON.search(text))
        )
        second_person_count += bool(words & _pronouns(_SECOND_PERSON_WORDS, language)) or bool(
            _EAST_SECOND_PERSON.search(text)
        )
    return first_person_count / len(texts), second_person_count / len(texts)


def _pronouns(table: Mapping[str, frozenset[str]], language: str) -> frozenset[str]:
    return table.get(language) or table[""]
