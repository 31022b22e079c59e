"""Kokoro's voices by name: whose language and pronoun each has, and how well it is liked.

Knows no files of a model: a folder's own voices may be others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from narrator import keys
from narrator.engines.voice import Voice

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
"""The second letter -> the pronoun of who is heard."""
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
without one there (Spanish, Portuguese) are put between C+ and C-."""


@dataclass(frozen=True, slots=True)
class KokoroVoiceInfo:
    """One of the published voices."""

    name: str
    grade: str

    @property
    def language(self) -> str:
        return LANGUAGES[self.name[0]]

    @property
    def pronoun(self) -> str:
        return PRONOUNS[self.name[1]]


VOICES: Mapping[str, KokoroVoiceInfo] = MappingProxyType(
    {
        name: KokoroVoiceInfo(name, grade)
        for grade, *names in (line.split() for line in _GRADES.split("\n") if line)
        for name in names
    }
)
"""All 54, the best-liked first."""
Blend = Mapping[str, float]
"""Weights of voices by name; they need not add up to one."""


def language_of(blend: Blend) -> str:
    """The language of a blend's heaviest voice; American English where its name does not say."""
    heaviest = max(blend, key=lambda name: blend[name])
    return LANGUAGES.get(heaviest[:1], "en-US") if heaviest[1:2] in PRONOUNS else "en-US"


def candidates(language: str, pronoun: str | None) -> Sequence[str]:
    """Voices for somebody of a pronoun who speaks a language, the best-liked first.

    Of English, the region's own where there is one. Without voices of a language: American ones.
    """
    wanted = language.lower()
    primary = wanted.partition("-")[0]
    regional = [v for v in VOICES.values() if v.language.lower() == wanted]
    spoken = regional or [v for v in VOICES.values() if v.language.partition("-")[0] == primary]
    if wanted == "en":
        spoken = [v for v in spoken if v.language == "en-US"]
    spoken = spoken or [v for v in VOICES.values() if v.language == "en-US"]
    fitting = [v for v in spoken if v.pronoun == (pronoun or "").casefold()]
    return [voice.name for voice in fitting or spoken]


def default_blend(voice: Voice, language: str, narrator: str = "narrator") -> Blend:
    """The voice of a speaker whose author chose none: the best-liked for the narrator, for others
    one of the rest that their name stands for, on every machine."""
    names = candidates(voice.language or language, voice.pronoun)
    best = candidates(voice.language or language, None)[0]
    if voice.speaker == narrator:
        return {names[0]: 1.0}
    others = [name for name in names if name != best] or list(names)
    return {others[keys.number(f"kokoro {voice.speaker}") % len(others)]: 1.0}


def unknown_voices(names: Iterable[str], folder_names: Iterable[str] = ()) -> list[str]:
    """Names that are neither published nor in a model's folder."""
    known = {*VOICES, *folder_names}
    return [name for name in names if name not in known]
