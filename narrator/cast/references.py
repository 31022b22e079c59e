"""Finds the reference of each voice of a cast, and casts voices that have none.

A clip and a preset bring their reference; any other voice is cast once, by the engine itself, and
stored as a preset under `build/cast`, named by everything that decides it. Plans need only names,
and no model: sound is read when a render asks for it. Knows nothing of steps and takes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from narrator import files
from narrator.cast import auditions, presets
from narrator.cast.presets import ReferenceFacts
from narrator.engines import Engine
from narrator.engines.voice import Cast, Reference, Voice
from narrator.errors import Problem, StorageError, UserError
from narrator.project.project import Project


@dataclass(frozen=True, slots=True)
class Voices:
    """A cast with the references of its voices, as far as they exist."""

    cast: Cast
    language: str
    """Language of the book, for voices without their own."""
    contents: Mapping[str, str | None]
    """Content of each needed reference by speaker; None if the voice is not cast yet."""
    files: Mapping[str, Path]
    """Preset file of each cast voice, existing or not."""

    def reference(self, speaker: str, tell: Callable[[str], None]) -> Reference:
        """Returns a speaker's reference, ready for an engine; calls `tell` with oddities of a clip.

        Raises UserError for an unsuitable clip, for a damaged preset, and for a voice that has not
        been cast yet.
        """
        voice = self.cast[speaker]
        path = self.files.get(speaker)
        if path is None:
            reference = presets.load_reference(voice, voice.language or self.language, tell)
        elif path.is_file():
            with _damage_advice():
                reference = presets.read(path).to_reference()
        else:
            reference = None
        if reference is None:
            raise UserError(
                f"the voice of '{speaker}' has not been cast yet; `narrator render` casts it"
            )
        return reference

    def keep(self, candidate: auditions.Candidate) -> Reference:
        """Stores the winner of a casting, without an encoder's latents; returns its reference.

        Raises StorageError.
        """
        preset = auditions.preset_of(candidate)
        presets.write(preset, self.files[candidate.voice.speaker])
        return preset.to_reference()


def resolve_references(project: Project, cast: Cast, engines: Mapping[str, Engine]) -> Voices:
    """Finds the references that voices need; `engines` go by speaker.

    Raises UserError.
    """
    language = project.manifest.language
    resolved_voices: dict[str, Voice] = {}
    contents: dict[str, str | None] = {}
    cast_files: dict[str, Path] = {}
    glances: dict[tuple[Path, str | None], ReferenceFacts] = {}

    def glance(path: Path, transcript: str | None) -> ReferenceFacts:
        """Reads each file once, however many speakers share it."""
        if (path, transcript) not in glances:
            glances[path, transcript] = presets.read_facts(path, transcript)
        return glances[path, transcript]

    for name, voice in cast.items():
        engine, path = engines[name], voice.reference
        if not engine.needs_reference(voice):
            resolved_voices[name] = voice
            continue
        if path is not None:
            file_glance = glance(path, voice.transcript)
            style = file_glance.style if voice.style is None else voice.style
            resolved_voices[name] = replace(voice, content=file_glance.content, style=style)
            contents[name] = file_glance.content
            continue
        resolved_voices[name] = replace(voice, language=voice.language or language)
        key = auditions.key(resolved_voices[name], engine)
        cast_files[name] = project.build / "cast" / f"{key}{presets.SUFFIX}"
        contents[name] = None
        if cast_files[name].is_file():
            with _damage_advice():
                contents[name] = glance(cast_files[name], None).content
    return Voices(resolved_voices, language, contents, cast_files)


def cast_missing(
    voices: Voices,
    engine: Engine,
    speakers: Sequence[str],
    *,
    tell: Callable[[str], None],
    cancel: Event,
) -> None:
    """Casts the voices of `speakers`, each once, a few at a time, and stores them.

    When `cancel` is set, complete voices are stored and the others are not cast. Raises
    EngineUnavailable, StorageError, and, after storing all others, UserError for every voice
    without a usable candidate.
    """
    voice_by_path: dict[Path, Voice] = {}
    for name in speakers:
        # Speakers with the same description share a voice.
        voice_by_path.setdefault(voices.files[name], voices.cast[name])
    names = ", ".join(voice.speaker for voice in voice_by_path.values())
    tell(f"casting {names}: voices without a reference")
    pending, problems = list(voice_by_path.items()), list[Problem]()
    with closing(engine.start(tell)) as session:
        while pending and not cancel.is_set():
            group_size = auditions.at_once(session.slots)  # their number may grow
            group, pending = dict(pending[:group_size]), pending[group_size:]
            all_candidates = auditions.cast(session, engine, list(group.values()), cancel=cancel)
            for path, candidates in zip(group, all_candidates, strict=True):
                if not candidates:  # stopped before all were complete
                    continue
                try:
                    best = auditions.choose(candidates)
                except UserError as error:
                    problems += error.problems
                    continue
                presets.write(auditions.add_latents(auditions.preset_of(best), engine), path)
                tell(f"cast {best.voice.speaker}: candidate {best}")
    if problems and not cancel.is_set():
        raise UserError(problems)


@contextlib.contextmanager
def _damage_advice() -> Iterator[None]:
    """Adds advice to errors of presets that narrator made, since the author cannot mend them."""
    try:
        yield
    except UserError as error:
        raise UserError(
            replace(problem, message=f"{problem.message}; delete it, and the voice is cast anew")
            for problem in error.problems
        ) from None


def remove_temporary_files(project: Project) -> None:
    """Removes files that killed processes left half written where voices are stored.

    Covers the project's cast, encoded references and presets, and the user's library. Files that
    cannot be removed stay: they do no harm.
    """
    shared = files.library()
    places = (project.build / "cast", project.build / "voices", presets.folder(project.root))
    for folder in (*places, shared, presets.folder(None)):
        with contextlib.suppress(StorageError):
            files.sweep(folder)
