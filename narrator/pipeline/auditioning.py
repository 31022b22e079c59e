"""A line in the voice of one of the cast, or in one that they might be given.

What is heard is kept under `build/auditions`, the last few of them, and is nobody's take.
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
from narrator.characters import quoted
from narrator.engines import Engine, Outcome, Request
from narrator.errors import UsageError, UserError
from narrator.pipeline import edits
from narrator.pipeline.manuscript import Manuscript, lexicon_of
from narrator.project import load
from narrator.project.project import Project
from narrator.sound import audio
from narrator.speech.plan import parameters_of
from narrator.text.normalize import normalize

MOST = 32
"""Auditions that are kept."""
_OURS = re.compile(r"[0-9a-f]{40}\.wav")
"""What an audition is called, by its key."""


@dataclass(frozen=True, slots=True)
class Auditioning:
    """A line that is being spoken, and where it will be heard."""

    audition: Audition
    path: Path

    def begin(self) -> Sequence[Request]:
        """As `Audition.begin`."""
        return self.audition.begin()

    def answered(self, request: Request, outcome: Outcome) -> Sequence[Request]:
        """As `Audition.answered`."""
        return self.audition.answered(request, outcome)

    def settled(self) -> dict[str, Any]:
        """What can be heard, for people. Raises UserError, StorageError."""
        speech, faults = self.audition.heard()
        rate = self.audition.engine.sample_rate
        files.write(self.path, audio.wav(speech.samples, rate))
        _forget_oldest(self.path.parent)
        return {
            "name": self.path.stem,
            "speaker": self.audition.line.voice.speaker,
            "seconds": round(len(speech.samples) / rate, 2),
            "faults": faults,
        }


def folder(project: Project) -> Path:
    """Where auditions lie."""
    return project.build / "auditions"


def begin(
    manuscript: Manuscript,
    engine: Engine,
    speaker: str,
    text: str,
    voice: Mapping[str, object],
    tell: Callable[[str], None],
) -> Auditioning:
    """What an engine must be asked to speak `text` in a speaker's voice, or in `voice`, which is
    told as to `edits.voice_edit`.

    Of who holds the lock: a voice without a reference is cast as by a render, and kept for it.
    Raises UsageError, UserError, ManifestError, StorageError.
    """
    project = manuscript.project
    if voice:
        [change] = edits.voice_edit(project, speaker, voice).changes
        project = load.load(project.path, change.after)
    if speaker not in project.speakers:
        raise UsageError(f"“{quoted(speaker)}” is not in the cast")
    cast = {speaker: resolve(project)[speaker]}
    voices = references.settle(project, cast, {speaker: engine})
    spoken_by = voices.cast[speaker]
    language = spoken_by.language or voices.language
    if problems := engine.problems({speaker: spoken_by}, [language]):
        raise UserError(problems)
    imitates = speaker in voices.contents
    is_cast = not imitates or voices.contents[speaker] is not None
    line = auditions.line(
        spoken_by,
        normalize(text, language=language, speaker=speaker, lexicon=lexicon_of(project)[0]).text,
        language,
        parameters_of(engine, project.engine_of(speaker).model_dump()),
        voices.reference(speaker, tell) if imitates and is_cast else None,
        "reference" if imitates else "zero-shot",
    )
    uncast = None if is_cast else voices.role(speaker)
    audition = Audition(engine, line, uncast, voices.keep)
    sounds = {
        "line": line.key,
        "voice": dict(engine.voice_content(spoken_by, language)),
        "cast": voices.files[speaker].stem if speaker in voices.files else None,
        "engine": dict(engine.identity()),
        "parameters": dict(line.parameters),
        "seed": line.seed,
    }
    path = folder(project) / f"{keys.key(sounds)}.wav"
    return Auditioning(audition, path)


def _forget_oldest(place: Path) -> None:
    """Of those that are called as auditions are: a link may have led here, to sounds of others.
    What cannot be removed stays: it does no harm."""
    with contextlib.suppress(OSError):
        ours = (path for path in place.iterdir() if _OURS.fullmatch(path.name))
        there = sorted(ours, key=lambda path: path.stat().st_mtime_ns)
        for path in there[:-MOST]:
            path.unlink()
