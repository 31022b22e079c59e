"""Finds voices by name, without a book: the library's presets, a project's cast, and OpenAI's
names.

Other programs ask for voices by OpenAI's names. A voice of the user's with such a name takes it;
the other names are distributed over all voices, in order. Every request looks anew, so an added
voice is available at once. Casts nobody.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from narrator.cast import presets, references
from narrator.cast.cast import resolve
from narrator.engines import Engine, ignore_message
from narrator.engines.voice import Cast, Reference, Voice
from narrator.errors import UsageError, UserError, nearest
from narrator.project.project import Project

OPENAI_NAMES: Mapping[str, str] = {
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
"""OpenAI's names, with the pronouns that fit their voices there."""
MAX_NAME_LENGTH = 100
"""Characters."""


class UnknownVoice(UsageError):
    """Raised for a name without a voice."""


@dataclass(frozen=True, slots=True)
class VoiceEntry:
    """A voice that can be requested."""

    name: str
    place: str
    """"cast" of the project, a preset of the "project" or the "library", a voice of the "engine",
    or "openai" for one of OPENAI_NAMES."""
    stands_for: str = ""
    """Name of the voice behind one of OPENAI_NAMES."""


@dataclass(frozen=True, slots=True, eq=False)
class Speaking:
    """A voice, ready to speak."""

    voice: Voice
    language: str
    reference: Reference | None


class VoiceBook:
    """The voices in which an engine can be asked to speak."""

    def __init__(self, engine: Engine, language: str, project: Project | None = None) -> None:
        """Loads the cast of a project; `language` applies to voices without their own. Raises
        UserError."""
        self._engine, self._language = engine, language
        self._engine_voices = engine.named_voices()
        self._cast: Cast = {}
        self._voices: references.Voices | None = None
        if project is not None:
            cast = resolve(project)
            self._voices = references.resolve_references(project, cast, dict.fromkeys(cast, engine))
            self._cast = self._voices.cast
        self._root = None if project is None else project.root
        self._voice_by_path: dict[Path, tuple[tuple[int, int], Speaking]] = {}
        self._mutex = threading.Lock()

    @property
    def uncast(self) -> Sequence[str]:
        """Speakers of the project without a voice yet."""
        return [name for name in self._cast if not self._has_voice(name)]

    def entries(self) -> Sequence[VoiceEntry]:
        """Returns every voice that can be requested; of two with one name the first counts."""
        own_entries = self._own_entries()
        return [*own_entries.values(), *self._openai_entries(own_entries)]

    def find(self, name: str) -> Speaking:
        """Returns the voice of a name. Raises UnknownVoice; UserError for one that cannot be
        used."""
        name = unicodedata.normalize("NFC", name).strip()
        own_entries = self._own_entries()
        openai_entries = {entry.name: entry for entry in self._openai_entries(own_entries)}
        entry = own_entries.get(name) or {
            **openai_entries,
            **_by_folded_name(own_entries),
        }.get(name.casefold())
        if entry is not None and entry.stands_for:
            entry = own_entries[entry.stands_for]
        if entry is None or entry.place == "openai":
            return self._voice_without_entry(name)
        if entry.place == "engine":
            voice = self._engine_voices[entry.name]
            return Speaking(voice, voice.language or self._language, None)
        return self._cast_voice(entry) if entry.place == "cast" else self._preset_voice(entry)

    def _voice_without_entry(self, name: str) -> Speaking:
        """Returns a voice for a name without an entry.

        OpenAI's names get one from engines that do not clone; other names only if the engine's
        voices have no names.
        """
        is_openai_name = name.casefold() in OPENAI_NAMES
        has_only_names = self._engine.clones or (self._engine_voices and not is_openai_name)
        if has_only_names or not name or len(name) > MAX_NAME_LENGTH:
            names = [entry.name for entry in self.entries()]
            guess = nearest(name, names)
            hint = f"did you mean '{guess}'?" if guess else "GET /v1/audio/voices lists them"
            raise UnknownVoice(f"there is no voice '{name[:MAX_NAME_LENGTH]}'; {hint}")
        pronoun = OPENAI_NAMES.get(name.casefold()) or None
        return Speaking(Voice(name, pronoun=pronoun), self._language, None)

    def _own_entries(self) -> dict[str, VoiceEntry]:
        """Returns the project's cast, its presets, the library's, and the engine's voices, by
        name."""
        entries: dict[str, VoiceEntry] = {}
        for name in self._cast:
            if self._has_voice(name):
                entries[name] = VoiceEntry(name, "cast")
        for file in self._preset_files():
            if file.stem not in entries:
                place = "library" if file.parent == presets.folder(None) else "project"
                entries[file.stem] = VoiceEntry(file.stem, place)
        for name in self._engine_voices:
            entries.setdefault(name, VoiceEntry(name, "engine"))
        return entries

    def _openai_entries(self, own_entries: Mapping[str, VoiceEntry]) -> Sequence[VoiceEntry]:
        """Returns OpenAI's unused names, each with the voice that it stands for."""
        free_names = [name for name in OPENAI_NAMES if name not in _by_folded_name(own_entries)]
        if not self._engine.clones:
            return [VoiceEntry(name, "openai") for name in free_names]
        own_names = sorted(own_entries, key=str.casefold)
        return [
            VoiceEntry(name, "openai", stands_for)
            for name, stands_for in zip(free_names, own_names * len(free_names), strict=False)
        ]

    def _has_voice(self, speaker: str) -> bool:
        assert self._voices
        contents = self._voices.contents
        return speaker not in contents or contents[speaker] is not None

    def _preset_files(self) -> Sequence[Path]:
        folders = [presets.folder(None)]
        if self._root is not None:
            folders.insert(0, presets.folder(self._root))
        return [path for folder in folders for path in sorted(folder.glob(f"*{presets.SUFFIX}"))]

    def _cast_voice(self, entry: VoiceEntry) -> Speaking:
        assert self._voices
        voice = self._cast[entry.name]
        reference = None
        if entry.name in self._voices.contents:
            reference = self._voices.reference(entry.name, ignore_message)
        return Speaking(voice, voice.language or self._language, reference)

    def _preset_voice(self, entry: VoiceEntry) -> Speaking:
        """Returns a preset's voice; reads its file again only after a change."""
        path = next(path for path in self._preset_files() if path.stem == entry.name)
        try:
            status = path.stat()
        except OSError as error:
            raise UserError(f"the voice '{entry.name}': {error.strerror}") from None
        stamp = status.st_mtime_ns, status.st_size
        with self._mutex:
            cached = self._voice_by_path.get(path)
            if cached is None or cached[0] != stamp:
                preset = presets.read(path)
                reference = preset.to_reference() if self._engine.clones else None
                speaking = Speaking(preset.to_voice(path), preset.language, reference)
                cached = self._voice_by_path[path] = stamp, speaking
        return replace(cached[1], voice=replace(cached[1].voice, speaker=entry.name))


def _by_folded_name(entries: Mapping[str, VoiceEntry]) -> Mapping[str, VoiceEntry]:
    return {name.casefold(): entries[name] for name in reversed(list(entries))}
