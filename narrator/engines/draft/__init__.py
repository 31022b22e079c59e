"""The draft voice: here what is known of it without its GPL library."""

from __future__ import annotations

from collections.abc import Callable

from narrator.engines import Engine
from narrator.engines.draft.settings import DraftSettings
from narrator.engines.draft.worker import SAMPLE_RATE
from narrator.engines.kind import EngineHome, EngineKind, EngineSettings
from narrator.settings import Strict


def _make(settings: EngineSettings, home: EngineHome, tell: Callable[[str], None]) -> Engine:
    from narrator.engines.draft.espeak import DraftEngine

    return DraftEngine()


def _speaks(language: str) -> bool:
    from narrator.engines.draft.espeak import DraftEngine

    return DraftEngine().speaks(language)


_SPELLS = frozenset(
    "ARABIC BOPOMOFO CJK CYRILLIC ETHIOPIC GREEK HEBREW HIRAGANA KATAKANA KHMER LAO MONGOLIAN "
    "MYANMAR ORIYA TELUGU THAI TIBETAN".split()
)
"""Of the others it knows a language to read them in. Tried out with each, within English, Russian,
Chinese and Greek, on 2026-11-22."""


KIND = EngineKind(
    name="draft",
    settings=EngineSettings,
    overrides=Strict,
    voice=DraftSettings,
    sample_rate=lambda settings: SAMPLE_RATE,
    speaks=_speaks,
    spells=_SPELLS,
    make=_make,
)
