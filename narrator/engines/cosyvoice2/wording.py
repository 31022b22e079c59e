"""CosyVoice2's languages and stored voices, and the form in which it gets texts.

Pure; knows no model and no tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from narrator.engines import LanguageSupport
from narrator.engines.preparation import end_with_stop, primary_language
from narrator.engines.voice import Voice
from narrator.quantities import list_first

LANGUAGES = frozenset("zh en ja ko".split())
"""Languages that CosyVoice2 was trained on, as its authors list them."""
OTHER_TAGS = frozenset("cmn yue wuu nan".split())
"""The Chinese languages that the authors call dialects, and another tag of Mandarin."""
TITLE = "CosyVoice2"

_SCRIPTS = (
    ("ko", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")),
)


_TAG = re.compile(
    r"<(breath|noise|laughter|cough|clucking|accent|quick_breath|hissing|sigh|vocalized-noise"
    r"|lipsmack|mn)/>"
)
"""Tags as an author writes them (<breath/>); the model knows them as [breath]."""


class CosyVoice2Languages(LanguageSupport):
    """The languages that it was trained on."""

    name = "cosyvoice2"

    def speaks(self, language: str) -> bool:
        return primary_language(language) in LANGUAGES | OTHER_TAGS


def stored_speaker(voice: Voice) -> str | None:
    """Returns the name of a voice's speaker that is stored with the model, or None."""
    name = getattr(voice.own.get("cosyvoice2"), "speaker", None)
    return name if isinstance(name, str) else None


def voice_errors(voices: Mapping[str, Voice]) -> Iterator[str]:
    """Yields problems with a cast: a description alone is not a voice here."""
    voiceless = [
        name
        for name, voice in voices.items()
        if voice.reference is None and stored_speaker(voice) is None
    ]
    if voiceless:
        listing = list_first([f"'{name}'" for name in voiceless])
        verb = "has" if len(voiceless) == 1 else "have"
        yield (
            f"{TITLE} speaks after a clip, and {listing} {verb} none: give one (`voice: "
            "{reference: …, transcript: …}`), a preset that VoxCPM2 has cast (`narrator voices "
            "design`), or a speaker stored with the model (`cosyvoice2: {speaker: …}`)"
        )


def describe_unknown_speaker(voice: Voice, spec: str, stored_speakers: Collection[str]) -> str:
    """Describes the problem with a stored speaker that does not exist; "" if there is none."""
    name = stored_speaker(voice)
    if name is None or name in stored_speakers:
        return ""
    listing = ", ".join(map(repr, stored_speakers)) or "none"
    return (
        f"{voice.speaker}: no speaker '{name}' is stored with {spec} (spk2info.pt); there are: "
        f"{listing}"
    )


def prepare_text(text: str, language: str) -> str:
    """Returns a text that ends with a stop, with its tags in the model's form."""
    return _TAG.sub(r"[\1]", end_with_stop(text, language))


def has_matching_language(transcript: str, language: str) -> bool:
    """Returns whether a clip's transcript is in the language of a text, so that the model may
    continue from it; another language would leave an accent."""
    transcript_language = next(
        (language_ for language_, letters in _SCRIPTS if letters.search(transcript)), "en"
    )
    text_language = primary_language(language)
    return transcript_language == ("zh" if text_language in OTHER_TAGS else text_language)
