"""Renders what the site lets people hear: `make site`.

    python -m docs.site.samples FOLDER

Each sample is a small book that `narrator render` speaks: by the draft voice, and by Kokoro where
its model is installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from docs.site import program
from docs.site.program import ROOT

STORY = ROOT / "projects" / "eleven-minutes-fast"
SUPPER = ROOT / "examples" / "natural-voices"
MANIFEST = {
    "author": "The narrator authors",
    "copyright": "CC0 1.0, dedicated to the public domain",
    "language": "en-GB",
    "output": {"formats": "mp3", "files": "book", "loudness": "podcast", "bitrate": 64},
}
VOICES = ("bf_emma", "bm_george", "af_heart", "am_michael")
SENTENCES = {
    "es": ("ef_dora", "El mar estaba tranquilo, y la puerta seguía abierta."),
    "fr": ("ff_siwis", "La mer était calme, et la porte restait ouverte."),
    "it": ("if_sara", "Il mare era calmo, e la porta era ancora aperta."),
    "pt": ("pf_dora", "O mar estava calmo, e a porta continuava aberta."),
}
"""A voice and what it says, by language: those that need no extra."""


def story() -> dict[str, Any]:
    """The beginning of the story: the narrator, and two people."""
    manifest = yaml.safe_load((STORY / "book.yaml").read_text("utf-8"))
    text = (STORY / "text" / "01-the-estimate.md").read_text("utf-8")
    paragraphs = text.split("\n\n")[1:6]
    return {
        "title": manifest["title"],
        **{key: manifest[key] for key in ("speakers", "voices", "lexicon")},
        "chapters": [{"title": "Beginning", "lines": paragraphs}],
    }


def supper() -> dict[str, Any]:
    """A table of six voices."""
    manifest = yaml.safe_load((SUPPER / "book.yaml").read_text("utf-8"))
    paragraphs = (SUPPER / "text" / "supper.md").read_text("utf-8").split("\n\n")[1:]
    return {**manifest, "chapters": [{"title": "Supper", "lines": paragraphs}]}


def voice(name: str, text: str, language: str) -> dict[str, Any]:
    """A voice of Kokoro, which says a few words."""
    return {
        "title": name,
        "language": language,
        "speakers": {"narrator": {"kokoro": {"voice": name}}},
        "chapters": [{"title": name, "lines": [text]}],
    }


def samples() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """The engine and the manifest of each sample, by its name."""
    opening = story()["chapters"][0]["lines"][0]
    return {
        "story-draft": ("draft", story()),
        "story-kokoro": ("kokoro", story()),
        "supper": ("kokoro", supper()),
        **{name: ("kokoro", voice(name, opening, "en-GB")) for name in VOICES},
        **{name: ("kokoro", voice(name, text, code)) for code, (name, text) in SENTENCES.items()},
    }


def render(engine: str, manifest: Mapping[str, Any], path: Path) -> None:
    """Has an engine speak a book of one file."""
    with tempfile.TemporaryDirectory() as temporary:
        book = Path(temporary)
        text = yaml.safe_dump({**MANIFEST, **manifest}, allow_unicode=True, sort_keys=False)
        (book / "book.yaml").write_text(text, "utf-8")
        program.render(book, "--engine", engine)
        (sound,) = book.glob("build/*/*.mp3")
        shutil.copyfile(sound, path)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    engines = set()
    if importlib.util.find_spec("espeakng_loader"):
        engines.add("draft")
    else:
        print("The site has no sample of the draft voice: the extra `draft` is missing.")
    if importlib.util.find_spec("onnxruntime") and program.find_kokoro():
        engines.add("kokoro")
    else:
        print("No samples of Kokoro: .venv lacks it or its model (make demo VOICE=kokoro).")
    for name, (engine, manifest) in samples().items():
        if engine in engines:
            render(engine, manifest, folder / f"{name}.mp3")


if __name__ == "__main__":
    main()
