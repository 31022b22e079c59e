"""Kokoro's published voices: their languages, pronouns and grades, and which a speaker gets.

Knows no files: a folder may have other voices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from types import MappingProxyType

from narrator.engines.kokoro.settings import KokoroVoice
from narrator.engines.voice import Cast, Voice
from narrator.pronunciation import is_british

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "a": "en-US",
        "b": "en-GB",
        "e": "es",
        "f": "fr",
        "h": "hi",
        "i": "it",
        "j": "ja",
        "p": "pt-BR",
        "z": "zh",
    }
)
"""The first letter of a voice's name -> the language that it was recorded in."""
PRONOUNS: Mapping[str, str] = MappingProxyType({"f": "she", "m": "he"})
"""The second letter of a voice's name -> the pronoun of its speaker."""
_GRADES = """
A   af_heart
A-  af_bella
B-  af_nicole bf_emma ff_siwis
C+  af_aoede af_kore af_sarah am_fenrir am_michael am_puck jf_alpha
C   af_alloy af_nova bf_isabella bm_fable bm_george hf_alpha hf_beta hm_omega hm_psi
C   ef_dora em_alex if_sara im_nicola pf_dora pm_alex jf_gongitsune jf_tebukuro
C-  af_sky jf_nezumi jm_kumo
D+  bm_lewis
D   af_jessica af_river am_echo am_eric am_liam am_onyx bf_alice bf_lily bm_daniel
D   zf_xiaobei zf_xiaoni zf_xiaoxiao zf_xiaoyi zm_yunjian zm_yunxi zm_yunxia zm_yunyang
D-  am_santa em_santa pm_santa
F+  am_adam
"""
"""From VOICES.md of hexgrad/Kokoro-82M: overall grades of target quality and training time; voices
without one there (Spanish, Portuguese) are put at C, the Santas at D- as am_santa is."""
_WHISPERED = frozenset(["af_nicole"])
"""Never chosen for a speaker, only by the author."""


@dataclass(frozen=True, slots=True)
class KokoroVoiceInfo:
    """A published voice."""

    name: str

    @property
    def language(self) -> str:
        return LANGUAGES[self.name[0]]

    @property
    def pronoun(self) -> str:
        return PRONOUNS[self.name[1]]


VOICES: Mapping[str, KokoroVoiceInfo] = MappingProxyType(
    {
        name: KokoroVoiceInfo(name)
        for _grade, *names in (line.split() for line in _GRADES.split("\n") if line)
        for name in names
    }
)
"""All 54, the best grades first."""
Blend = Mapping[str, float]
"""Weights of voices by name; they need not add up to one."""


def language_of(blend: Blend) -> str:
    """Returns the language of a blend's heaviest voice; American English if its name has none."""
    heaviest = max(blend, key=lambda name: blend[name])
    return LANGUAGES.get(heaviest[:1], "en-US") if heaviest[1:2] in PRONOUNS else "en-US"


def named_voice(name: str) -> Voice:
    """Returns a speaker with a voice of a model's folder, published or not."""
    return Voice(
        name,
        language=language_of({name: 1}),
        pronoun=PRONOUNS.get(name[1:2]),
        own={"kokoro": KokoroVoice(voice=name)},
    )


@cache
def candidates(language: str, pronoun: str | None) -> Sequence[Blend]:
    """Returns voices for a language and a pronoun, the best-liked first, then blends of two.

    In English they are of the region. Without voices of the pronoun, all of the language; without
    voices of the language, American ones.
    """
    spoken = [voice for voice in _spoken(language) if voice.name not in _WHISPERED]
    fitting = [v for v in spoken if v.pronoun == (pronoun or "").casefold()] or spoken
    names = [voice.name for voice in fitting]
    singles: list[Blend] = [{name: 1.0} for name in names]
    return singles + [{one: 0.5, other: 0.5} for one, other in combinations(names, 2)]


def _spoken(language: str) -> Sequence[KokoroVoiceInfo]:
    wanted = "en-us" if language.lower() == "en" else language.lower()
    wanted = "en-gb" if is_british(language) else wanted
    primary = wanted.partition("-")[0]
    regional = [v for v in VOICES.values() if v.language.lower() == wanted]
    spoken = regional or [v for v in VOICES.values() if v.language.partition("-")[0] == primary]
    return spoken or [v for v in VOICES.values() if v.language == "en-US"]


def narrator_blend(language: str, pronoun: str | None = None) -> Blend:
    """Returns the voice of a narrator if the author chose none: the best-liked."""
    return candidates(language, pronoun)[0]


def default_blend(voice: Voice, language: str) -> Blend:
    """Returns the voice of a speaker if the author chose none: the best-liked for the narrator,
    for the others one of the remaining voices, by `Voice.place`."""
    language = voice.language or language
    if voice.speaker == "narrator":
        return narrator_blend(language, voice.pronoun)
    narrators = [narrator_blend(language, pronoun) for pronoun in (None, *PRONOUNS.values())]
    fitting = candidates(language, voice.pronoun)
    choices = [blend for blend in fitting if blend not in narrators] or fitting
    return choices[voice.place % len(choices)]


def cast_blends(people: Iterable[Voice], language: str, cast: Cast) -> dict[str, Blend]:
    """Chooses a voice for each of new people, given in the order of how much they speak: not the
    narrator's, and nobody else's in the cast as long as there are enough."""
    taken: list[Blend] = [narrator_blend(language)]
    taken += [chosen_blend(voice) or default_blend(voice, language) for voice in cast.values()]
    chosen: dict[str, Blend] = {}
    for person in people:
        choices = candidates(person.language or language, person.pronoun)
        free = (blend for blend in choices if blend not in taken)
        chosen[person.speaker] = next(free, choices[person.place % len(choices)])
        taken.append(chosen[person.speaker])
    return chosen


def chosen_blend(voice: Voice) -> Blend | None:
    """Returns the voices that the author chose for a speaker, with weights, or None."""
    settings = voice.own.get("kokoro")
    choice = settings.voice if isinstance(settings, KokoroVoice) else None
    return {choice: 1.0} if isinstance(choice, str) else choice
