"""Auditions: a line in the voice of a speaker, or in one that they might be given.

The last few are kept under `build/auditions`. They are no takes of the book.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator import files, keys
from narrator.cast import auditions, references
from narrator.cast.auditions import Audition
from narrator.cast.cast import resolve
from narrator.engines import Engine, Outcome, Request
from narrator.errors import UsageError, UserError
from narrator.pipeline import edits
from narrator.pipeline.manuscript import Manuscript, lexicon_of
from narrator.project import load
from narrator.project.project import Project
from narrator.sound import audio
from narrator.speech.plan import sound_parameters_of
from narrator.text.normalize import normalize
from textbase.characters import excerpt

MAX_AUDITIONS = 32
"""Number of auditions that are kept."""
_AUDITION_NAME = re.compile(r"[0-9a-f]{40}\.wav")
"""Matches the file name of an audition, made from its key."""


@dataclass(frozen=True, slots=True)
class Auditioning:
    """A line that is being spoken, and the path of its sound."""

    audition: Audition
    path: Path

    def begin(self) -> Sequence[Request]:
        """As `Audition.begin`."""
        return self.audition.begin()

    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """As `Audition.answered`."""
        return self.audition.answered(request, outcome)

    def finish(self) -> dict[str, Any]:
        """Write the sound and return a summary for people. Raises UserError, StorageError."""
        speech, faults = self.audition.heard()
        rate = self.audition.engine.sample_rate
        files.write(self.path, audio.encode_wav(speech.samples, rate))
        _forget_oldest(self.path.parent)
        return {
            "name": self.path.stem,
            "speaker": self.audition.line.voice.speaker,
            "seconds": round(len(speech.samples) / rate, 2),
            "faults": faults,
        }


def folder(project: Project) -> Path:
    """The folder of auditions."""
    return project.build / "auditions"


def begin(
    manuscript: Manuscript,
    engine: Engine,
    speaker: str,
    text: str,
    voice: Mapping[str, object],
    on_message: Callable[[str], None],
) -> Auditioning:
    """Prepare an audition of `text` in a speaker's voice, or in `voice`, a change of it as in
    `edits.voice_edit`.

    The caller holds the project's lock: a voice without a reference is cast as by a render, and the
    reference is kept. Raises UsageError, UserError, ManifestError, StorageError.
    """
    project = manuscript.project
    if voice:
        [change] = edits.voice_edit(project, speaker, voice).changes
        project = load.load(project.path, change.new_text).spoken_by(project.other_engine)
    if speaker not in project.speakers:
        raise UsageError(f"“{excerpt(speaker)}” is not in the cast")
    cast = {speaker: resolve(project)[speaker]}
    voices = references.resolve_references(project, cast, {speaker: engine})
    spoken_by = voices.cast[speaker]
    language = spoken_by.language or voices.language
    if problems := engine.problems({speaker: spoken_by}, [language]):
        raise UserError(problems)
    needs_reference = speaker in voices.contents
    has_reference = not needs_reference or voices.contents[speaker] is not None
    line = auditions.make_request(
        spoken_by,
        normalize(text, language=language, speaker=speaker, lexicon=lexicon_of(project)[0]).text,
        language,
        sound_parameters_of(engine, project.engine_of(speaker).model_dump()),
        voices.reference(speaker, on_message) if needs_reference and has_reference else None,
        "reference" if needs_reference else "zero-shot",
    )
    audition = Audition(engine, line, None if has_reference else spoken_by, voices.keep)
    sound_content = {
        "line": line.key,
        "voice": dict(engine.voice_content(spoken_by, language)),
        "cast": voices.files[speaker].stem if speaker in voices.files else None,
        "engine": dict(engine.identity()),
        "parameters": dict(line.parameters),
        "seed": line.seed,
    }
    path = folder(project) / f"{keys.key(sound_content)}.wav"
    return Auditioning(audition, path)


def _forget_oldest(audition_folder: Path) -> None:
    """Remove the oldest auditions.

    Only files with names of auditions are removed, since a link may lead to a folder with other
    sounds. Those that cannot be removed stay, which does no harm.
    """
    with contextlib.suppress(OSError):
        audition_paths = (
            path for path in audition_folder.iterdir() if _AUDITION_NAME.fullmatch(path.name)
        )
        oldest_first = sorted(audition_paths, key=lambda path: path.stat().st_mtime_ns)
        for path in oldest_first[:-MAX_AUDITIONS]:
            path.unlink()
