"""The draft voice, as far as it is known without its GPL library."""

from __future__ import annotations

from collections.abc import Callable

from narrator.engines import Engine
from narrator.engines.draft.settings import DraftSettings, DraftVoice
from narrator.engines.draft.worker import SAMPLE_RATE
from narrator.engines.spec import EngineContext, EngineSettings, EngineSpec

_SPELLED_SCRIPTS = frozenset(
    "ARABIC BOPOMOFO CJK CYRILLIC ETHIOPIC GREEK HEBREW HIRAGANA KATAKANA KHMER LAO MONGOLIAN "
    "MYANMAR ORIYA TELUGU THAI TIBETAN".split()
)
"""It reads the other scripts in a language that has them. Tried with each, within English, Russian,
Chinese and Greek, on 2026-11-22."""


class DraftSpec(EngineSpec):
    """The draft voice: eSpeak NG."""

    name = "draft"
    title = "the draft voice"
    packages = ("espeakng_loader",)
    cpu_seconds = 0.04
    settings = DraftSettings
    voice = DraftVoice
    spelled_scripts = _SPELLED_SCRIPTS

    def make(
        self, settings: EngineSettings, context: EngineContext, tell: Callable[[str], None]
    ) -> Engine:
        from narrator.engines.draft.espeak import DraftEngine

        return DraftEngine()

    def sample_rate(self, settings: EngineSettings) -> int:
        return SAMPLE_RATE

    def imitates(self, settings: EngineSettings) -> bool:
        return False

    def speaks(self, language: str) -> bool:
        from narrator.engines.draft.espeak import DraftEngine

        return DraftEngine().speaks(language)


SPEC = DraftSpec()
