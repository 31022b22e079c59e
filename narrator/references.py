"""A cast -> what each voice is imitated from; voices that have no reference are cast here.

A clip and a preset bring their reference; any other voice is cast once, by the engine itself, and
kept as a preset under `build/cast`, named by all that decides it. Plans need names alone, and no
model: sound is read when a render asks for it. Knows nothing of steps and takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from narrator import casting, presets
from narrator.engines import Engine
from narrator.errors import UserError
from narrator.manifest import Project
from narrator.voices import Cast, Reference, Voice


@dataclass(frozen=True, slots=True)
class Voices:
    """A cast with what each of its voices is imitated from, as far as that is there."""

    cast: Cast
    language: str
    """Of the book: of every voice that has none of its own."""
    contents: Mapping[str, str | None]
    """Name of each speaker's reference, by its content; None where it is not cast yet."""
    files: Mapping[str, Path]
    """Where each cast voice is kept, or will be."""

    def reference(self, speaker: str, tell: Callable[[str], None]) -> Reference:
        """A speaker's reference, ready for an engine; what is odd about a clip is told.

        Raises UserError for a clip that cannot serve and for a damaged preset.
        """
        voice = self.cast[speaker]
        if speaker in self.files:
            voice = replace(voice, reference=self.files[speaker], transcript=None)
        found = presets.reference_of(voice, voice.language or self.language, tell)
        if found is None:
            raise UserError(f"the voice of '{speaker}' has not been cast")
        return found


def settle(project: Project, cast: Cast, engine: Engine) -> Voices:
    """What each voice is imitated from, for an engine that clones. Raises UserError."""
    language = project.manifest.language
    if not engine.clones:
        return Voices(cast, language, {}, {})
    settled: dict[str, Voice] = {}
    contents: dict[str, str | None] = {}
    kept: dict[str, Path] = {}
    for name, voice in cast.items():
        path = voice.reference
        if path is not None:
            content = presets.content_of(path, voice.transcript)
            style = voice.style
            if style is None and path.suffix == presets.SUFFIX:
                style = presets.read(path).style
            settled[name] = replace(voice, content=content, style=style)
            contents[name] = content
            continue
        settled[name] = voice
        key = casting.key(voice, voice.language or language, engine.identity())
        kept[name] = project.build / "cast" / f"{key}{presets.SUFFIX}"
        there = kept[name].is_file()
        contents[name] = presets.content_of(kept[name], None) if there else None
    return Voices(settled, language, contents, kept)


def cast_missing(
    voices: Voices,
    engine: Engine,
    speakers: Sequence[str],
    *,
    tell: Callable[[str], None],
    cancel: casting.Cancel,
) -> None:
    """Cast the voices of `speakers`, each once, and keep them.

    Raises EngineUnavailable, StorageError, and UserError where no candidate was usable.
    """
    parts: dict[Path, casting.Part] = {}
    for name in speakers:
        voice = voices.cast[name]
        part = casting.Part(voice, voice.language or voices.language)
        parts.setdefault(voices.files[name], part)  # speakers of one description share a voice
    names = ", ".join(part.voice.speaker for part in parts.values())
    tell(f"casting {names}: voices without a reference")
    with closing(engine.start(tell)) as session:
        found = casting.cast_all(session, engine, list(parts.values()), cancel=cancel)
    if cancel.is_set():
        return
    for (path, part), candidates in zip(parts.items(), found, strict=True):
        best = casting.choose(candidates)
        preset = casting.preset_of(best, part.voice, part.language)
        for fingerprint, latents in engine.encoded(preset.to_reference()).items():
            preset = preset.with_latents(fingerprint, latents)
        presets.write(preset, path)
        tell(f"cast {part.voice.speaker}: candidate {best}")
