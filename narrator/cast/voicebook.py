"""Voices by name, without a book: the library's presets, a project's cast, and usual names.

Other programs ask for voices by the names that OpenAI's have. One of yours that is called so is the
one that they get; else these names are shared out among all that there are, in order. Looked up
anew each time, so a voice that was added is there at once. Casts nobody.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.cast import presets, references
from narrator.cast.cast import resolve
from narrator.engines import Engine
from narrator.engines.voice import Cast, Reference, Voice
from narrator.errors import UsageError, UserError, nearest
from narrator.project.project import Project

USUAL: Mapping[str, str] = {
    "alloy": "",
    "ash": "he",
    "ballad": "he",
    "cedar": "he",
    "coral": "she",
    "echo": "he",
    "fable": "",
    "marin": "she",
    "nova": "she",
    "onyx": "he",
    "sage": "she",
    "shimmer": "she",
    "verse": "he",
}
"""OpenAI's names, with the pronouns that go with how these sound there."""
LONGEST_NAME = 100
"""Characters."""


class UnknownVoice(UsageError):
    """There is no voice of a name."""


@dataclass(frozen=True, slots=True)
class VoiceEntry:
    """A voice that can be asked for."""

    name: str
    place: str
    """"cast" of the project, a preset of the "project" or the "library", a voice of the "engine",
    or a "usual" name."""
    stands_for: str = ""
    """Whose voice a usual name is."""


@dataclass(frozen=True, slots=True, eq=False)
class Speaking:
    """A voice, ready to be spoken in."""

    voice: Voice
    language: str
    reference: Reference | None


class VoiceBook:
    """The voices that an engine can be asked to speak in."""

    def __init__(self, engine: Engine, language: str, project: Project | None = None) -> None:
        """`language` is that of voices that have none of their own. Raises UserError."""
        self._engine, self._language = engine, language
        self._engine_voices = engine.named_voices()
        self._cast: Cast = {}
        self._voices: references.Voices | None = None
        if project is not None:
            cast = resolve(project)
            self._voices = references.settle(project, cast, dict.fromkeys(cast, engine))
            self._cast = self._voices.cast
        self._root = None if project is None else project.root
        self._read: dict[Path, tuple[tuple[int, int], Speaking]] = {}
        self._mutex = threading.Lock()

    @property
    def uncast(self) -> Sequence[str]:
        """Speakers of the project who have no voice yet."""
        return [name for name in self._cast if not self._is_there(name)]

    def entries(self) -> Sequence[VoiceEntry]:
        """Every voice that can be named; of two that have one name the first is meant."""
        own = self._own()
        return [*own.values(), *self._usual(own)]

    def find(self, name: str) -> Speaking:
        """The voice of a name. Raises UnknownVoice; UserError for one that cannot be used."""
        name = unicodedata.normalize("NFC", name).strip()
        own = self._own()
        usual = {entry.name: entry for entry in self._usual(own)}
        entry = own.get(name) or {**usual, **_folded(own)}.get(name.casefold())
        if entry is not None and entry.stands_for:
            entry = own[entry.stands_for]
        if entry is None or entry.place == "usual":
            return self._made_up(name)
        if entry.place == "engine":
            voice = self._engine_voices[entry.name]
            return Speaking(voice, voice.language or self._language, None)
        return self._of_cast(entry) if entry.place == "cast" else self._of_preset(entry)

    def _made_up(self, name: str) -> Speaking:
        """A voice for OpenAI's names and, of an engine whose voices have no names, for every name;
        none of an engine that imitates."""
        is_usual = name.casefold() in USUAL
        named = self._engine.clones or (self._engine_voices and not is_usual)
        if named or not name or len(name) > LONGEST_NAME:
            names = [entry.name for entry in self.entries()]
            guess = nearest(name, names)
            hint = f"did you mean '{guess}'?" if guess else "GET /v1/audio/voices lists them"
            raise UnknownVoice(f"there is no voice '{name[:LONGEST_NAME]}'; {hint}")
        pronoun = USUAL.get(name.casefold()) or None
        return Speaking(Voice(name, pronoun=pronoun), self._language, None)

    def _own(self) -> dict[str, VoiceEntry]:
        """The project's cast, its presets, the library's, and the engine's voices, by name."""
        found: dict[str, VoiceEntry] = {}
        for name in self._cast:
            if self._is_there(name):
                found[name] = VoiceEntry(name, "cast")
        for file in self._files():
            if file.stem not in found:
                place = "library" if file.parent == presets.folder(None) else "project"
                found[file.stem] = VoiceEntry(file.stem, place)
        for name in self._engine_voices:
            found.setdefault(name, VoiceEntry(name, "engine"))
        return found

    def _usual(self, own: Mapping[str, VoiceEntry]) -> Sequence[VoiceEntry]:
        """OpenAI's names that are nobody's own, each with the voice that it stands for."""
        free = [name for name in USUAL if name not in _folded(own)]
        if not self._engine.clones:
            return [VoiceEntry(name, "usual") for name in free]
        there = sorted(own, key=str.casefold)
        return [
            VoiceEntry(name, "usual", stands)
            for name, stands in zip(free, there * len(free), strict=False)
        ]

    def _is_there(self, speaker: str) -> bool:
        assert self._voices
        contents = self._voices.contents
        return speaker not in contents or contents[speaker] is not None

    def _files(self) -> Sequence[Path]:
        folders = [presets.folder(None)]
        if self._root is not None:
            folders.insert(0, presets.folder(self._root))
        return [path for folder in folders for path in sorted(folder.glob(f"*{presets.SUFFIX}"))]

    def _of_cast(self, entry: VoiceEntry) -> Speaking:
        assert self._voices
        voice = self._cast[entry.name]
        reference = None
        if entry.name in self._voices.contents:
            reference = self._voices.reference(entry.name, lambda what: None)
        return Speaking(voice, voice.language or self._language, reference)

    def _of_preset(self, entry: VoiceEntry) -> Speaking:
        """Read once, and again when its file is another."""
        path = next(path for path in self._files() if path.stem == entry.name)
        try:
            there = path.stat()
        except OSError as error:
            raise UserError(f"the voice '{entry.name}': {error.strerror}") from None
        stamp = there.st_mtime_ns, there.st_size
        with self._mutex:
            kept = self._read.get(path)
            if kept is None or kept[0] != stamp:
                kept = self._read[path] = stamp, _of(presets.read(path), path, self._engine.clones)
        return replace(kept[1], voice=replace(kept[1].voice, speaker=entry.name))


def _folded(own: Mapping[str, VoiceEntry]) -> Mapping[str, VoiceEntry]:
    return {name.casefold(): own[name] for name in reversed(list(own))}


def _of(preset: presets.Preset, path: Path, clones: bool) -> Speaking:
    voice = Voice(
        preset.name,
        reference=path,
        content=preset.content,
        description=preset.description,
        seed=preset.seed,
        style=preset.style,
        language=preset.language,
    )
    return Speaking(voice, preset.language, preset.to_reference() if clones else None)
