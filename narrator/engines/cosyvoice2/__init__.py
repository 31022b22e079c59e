"""CosyVoice2 in MLX: here what is known of it without loading any of it.

settings.py      what a manifest says of it
wording.py       languages, voices that need no clip, where a clip's words may lead
checkpoint.py    the files that it has
engine.py        what a plan asks
loaded.py        clips, requests and rows
tokens.py        what is wrong with a take as its tokens show it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from narrator.engines import Engine, models
from narrator.engines.cosyvoice2.checkpoint import FAMILY
from narrator.engines.cosyvoice2.settings import (
    CosyVoice2Overrides,
    CosyVoice2Settings,
    CosyVoice2Voice,
)
from narrator.engines.cosyvoice2.wording import TITLE, refused, speaks
from narrator.engines.kind import EngineHome, EngineKind, EngineModel, EngineSettings
from narrator.engines.voice import Voice
from narrator.installation import install_command

EXTRA = ("mlx_lm", "onnxruntime", "kaldi_native_fbank")
"""What it needs beside MLX."""


def lacking() -> str:
    """What must be installed for it, in words; "" where it is."""
    missing = [name.replace("_", "-") for name in EXTRA if find_spec(name) is None]
    if not missing:
        return ""
    return f"{TITLE} needs {', '.join(missing)}: {install_command('cosyvoice2')}"


def _make(settings: EngineSettings, home: EngineHome, tell: Callable[[str], None]) -> Engine:
    from narrator.engines.cosyvoice2.engine import CosyVoice2Engine

    assert isinstance(settings, CosyVoice2Settings)
    return CosyVoice2Engine(
        settings, cache=home.cache, root=home.root, remembered=home.remembered(), tell=tell
    )


def _found(
    settings: EngineSettings, root: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, models.Model]]:
    assert isinstance(settings, CosyVoice2Settings)
    yield "model", models.find(FAMILY, settings.model, root=root, tell=tell)


def _tried(path: Path) -> float:
    from cosyvoice2.config import read
    from cosyvoice2.rehearsal import tried

    return tried(read(path))


def _refused(settings: EngineSettings, voices: Mapping[str, Voice]) -> Iterator[str]:
    return refused(voices)


KIND = EngineKind(
    name="cosyvoice2",
    settings=CosyVoice2Settings,
    overrides=CosyVoice2Overrides,
    voice=CosyVoice2Voice,
    sample_rate=lambda settings: 24_000,
    speaks=speaks,
    spells=frozenset(),  # its characters are those of all its languages
    make=_make,
    refused=_refused,
    casts=False,
    model=EngineModel(
        title=TITLE,
        family=FAMILY,
        found=_found,
        tried=_tried,
        unguarded={"earliest_stop": 0.0},
        lacking=lacking,
    ),
)
"""What a manifest can say of CosyVoice2."""
