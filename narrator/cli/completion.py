"""What may stand at the cursor when a shell completes a command: chapters, voices, chunks.

Candidates come from the manifest, the settings and the last render's list of chunks, as far as they
can be had in a moment: no project is validated, no text is read and nothing is written.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

INSTRUCTION = "_NARRATOR_COMPLETE"
"""Environment variable: `complete_zsh` for candidates, `source_zsh` for the script."""
BUILD, ENGINE = "narrator.build", "narrator.engine"
"""Keys of a context's `meta`: the values of `--build` and `--engine`."""
Candidates = list[tuple[str, str]]
"""Words, each with a text beside it."""


# -- candidates ------------------------------------------------------------------------------------


def choices(*names: str) -> Callable[[], list[str]]:
    """Returns the source of candidates of an option with a few values."""
    return lambda: list(names)


def chapters(context: typer.Context, incomplete: str) -> Candidates:
    """The numbers of the chapters of a command's book, or their titles once a letter is there."""
    titles = list(enumerate(_titles(_read_manifest(context)), 1))
    if incomplete and not incomplete[0].isdecimal():
        return [(title, str(number)) for number, title in titles]
    return [(str(number), title) for number, title in titles]


def speakers(context: typer.Context) -> Candidates:
    """The speakers of a command's book, with their voices."""
    cast = _read_manifest(context).get("speakers") or {"narrator": {}}
    rows = [(name, speaker or {}) for name, speaker in cast.items()]
    played = [(name, speaker) for _, speaker in rows for name in speaker.get("plays") or ()]
    return [(str(name), _voice_of(speaker)) for name, speaker in (*rows, *played)]


def profiles(context: typer.Context) -> Candidates:
    """The platforms' profiles, and those of a command's book."""
    from narrator.project.profiles import PROFILES

    own: Iterable[str] = ()
    with contextlib.suppress(Exception):  # there may be no book
        own = _read_manifest(context).get("profiles") or ()
    return [*((str(name), "of this book") for name in own), *((name, "") for name in PROFILES)]


def chunks(context: typer.Context, incomplete: str) -> Candidates:
    """The chunks of a command's book as the last render listed them, with their first words.

    Those of several chapters are left at the chapters' numbers. Empty for a book that was never
    rendered, and without a book: then the word may be its path.
    """
    with contextlib.suppress(Exception):
        texts = {row["id"]: row["text"] for row in _read_ledger(context)}
        named = set(_words(context))
        if "chunk" in context.params and named & texts.keys():
            return []  # `pin` takes one
        ids = [id for id in texts if id.startswith(incomplete) and id not in named]
        numbers = dict.fromkeys(id.partition(".")[0] for id in ids)
        if len(numbers) < 2:
            return [(id, texts[id]) for id in ids]
        titles = dict(enumerate(_titles(_read_manifest(context)), 1))
        return [(f"{n}.", titles.get(int(n), "")) for n in numbers]
    return []


def engines() -> Candidates:
    """The engines, with their titles."""
    from narrator.engines.registry import ENGINES

    return [(name, ENGINES[name].title if name in ENGINES else "") for name in ENGINES.names()]


def presets(context: typer.Context) -> Candidates:
    """The presets, those of the project before those of the library."""
    from narrator import files

    root = _path(context)
    places = {"this project": root if root.is_dir() else root.parent, "library": files.library()}
    names: dict[str, str] = {}
    for place, folder in places.items():
        for path in sorted((folder / "voices").glob("*.voice")):
            names.setdefault(path.stem, place)
    return list(names.items())


def voices(context: typer.Context) -> Candidates:
    """The presets, and the voices of engines that have their own."""
    from narrator.engines.registry import ENGINES

    own_voices = [
        (name, f"{engine.title}, {voice.language}")
        for engine in ENGINES.values()
        for name, voice in engine.voices.items()
    ]
    return [*presets(context), *own_voices]


def models() -> Candidates:
    """The models that `models pull` knows by a name."""
    from narrator.engines.registry import FAMILIES

    speech = [(family.engine, f"speaks: {family.hub}") for family in FAMILIES]
    return [("auto", "the default"), *speech, ("recogniser", "listens"), *recognisers()]


def recognisers() -> Candidates:
    """The models that listen, by name."""
    from narrator.speech.hearing.whisper import HUB_IDS

    return [(name, f"listens: {hub_id}") for name, hub_id in HUB_IDS.items()]


# -- the book of a command -------------------------------------------------------------------------


def _words(context: typer.Context) -> list[str]:
    """The words of a command that names chunks or times, and perhaps a book among them."""
    parameters = context.params
    lists = (parameters.get(name) for name in ("chunks", "chunk", "words"))
    return next((list(words) for words in lists if words), [])


def _path(context: typer.Context) -> Path:
    """The path of the book that a command line names, or of the one in this folder."""
    option = context.params.get("book") or context.params.get("project")
    paths = [option] if option else [word for word in _words(context) if _expand(word).exists()]
    return _expand(paths[0] if paths else "book.yaml")


def _expand(path: str | Path) -> Path:
    return Path(os.path.expandvars(path)).expanduser()


def _read_manifest(context: typer.Context) -> Mapping[str, Any]:
    """The values of the manifest, not validated. Raises ManifestError."""
    from narrator.project.place import manifest_at
    from narrator.project.yaml import read_yaml

    values: Mapping[str, Any] = read_yaml(manifest_at(_path(context)))[1]
    return values


def _titles(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yields the titles of the chapters, with those of the credits, as they are numbered."""
    credits = manifest.get("credits")
    if credits is not None and credits.get("opening", "") is not None:
        yield credits.get("opening_title", "Opening credits")
    for chapter in manifest["chapters"]:
        yield str(chapter["title"])
    if credits is not None and credits.get("closing", "") is not None:
        yield credits.get("closing_title", "Closing credits")


def _voice_of(speaker: Mapping[str, Any]) -> str:
    """A speaker's voice in a few words: its description, its name, or its clip."""
    of_engines = (part.get("voice") for part in speaker.values() if isinstance(part, dict))
    voice = next(filter(None, (speaker.get("voice"), *of_engines)), "")
    if isinstance(voice, dict):
        voice = voice.get("description") or voice.get("reference") or ""
    return str(voice)


def _read_ledger(context: typer.Context) -> Sequence[Mapping[str, str]]:
    """The chunks of the last render, by the engine of the command line if it names one.

    Raises ManifestError, OSError, AlteredFile; ValueError if there was no render.
    """
    from narrator import files
    from narrator.project.place import ledger_prefix, manifest_at, manifest_stem

    manifest = manifest_at(_path(context))
    engine = context.meta.get(ENGINE) or os.environ.get("NARRATOR_ENGINE") or ""
    stem = manifest_stem(manifest)
    siblings = {path.stem for path in manifest.parent.glob("*.yaml")} - {stem}
    others = tuple(ledger_prefix(name) for name in siblings if name.startswith(stem))
    ledgers = [
        path
        for path in _build_folder(context, manifest.parent).glob("ledger-*.json")
        if path.name.startswith(f"{ledger_prefix(stem)}{engine}")
        and not path.name.startswith(others)
        and path.is_file()  # a pipe or a device never ends
    ]
    newest = max(ledgers, key=os.path.getmtime)
    rows: Sequence[Mapping[str, str]] = files.read_json(newest, checks_seal=False)
    return rows


def _build_folder(context: typer.Context, root: Path) -> Path:
    from narrator import files

    if folder := context.meta.get(BUILD) or os.environ.get("NARRATOR_BUILD"):
        return _expand(folder)
    if not (files.library() / "settings.yaml").exists():
        return root / "build"
    from narrator.project.buildfolder import build_folder  # loads what reads the settings

    return build_folder(root)
