"""The manifest's speakers -> the cast: every speaker with voice, style and levels.

Reads no sound: what a reference holds is `references.py`'s.
"""

from __future__ import annotations

from dataclasses import replace

from narrator.engines.registry import ENGINES
from narrator.engines.voice import Cast, Voice
from narrator.project.load import preset_path
from narrator.project.project import Project
from narrator.project.schema import Speaker


def resolve(project: Project) -> Cast:
    """Every speaker of a project with the voice, style and levels that the manifest gives them."""
    return {
        name: _voice(project, project.voice_of(name), speaker)
        for name, speaker in project.speakers.items()
    }


def _voice(project: Project, name: str, speaker: Speaker) -> Voice:
    settings = speaker.voice
    preset = None
    if isinstance(settings, str):
        if settings not in project.manifest.voices:
            preset = preset_path(project.root, settings)
        settings = project.manifest.voices.get(settings)
    own = {kind.name: getattr(speaker, kind.name) for kind in ENGINES.values() if kind.voice}
    voice = Voice(
        speaker=name,
        style=speaker.style,
        gain=speaker.gain,
        speed=speaker.speed,
        language=speaker.language,
        pronoun=speaker.pronoun,
        own=own,
    )
    if settings is None:
        return replace(voice, reference=preset)
    return replace(
        voice,
        reference=None if settings.reference is None else project.root / settings.reference,
        transcript=settings.transcript,
        description=settings.description,
        seed=settings.seed,
        style=speaker.style or settings.style,
    )
