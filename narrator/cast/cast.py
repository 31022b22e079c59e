"""Turns the manifest's speakers into the cast: every speaker with voice, style and levels.

Reads no sound; `references.py` reads references.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from narrator import keys
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Cast, Voice
from narrator.project.load import preset_path
from narrator.project.project import Project
from narrator.project.schema import Speaker
from narrator.text.speakers.names import likely_pronoun

_PLACES_PER_PRONOUN = 8


def resolve(project: Project) -> Cast:
    """Returns every speaker of a project with the voice, style and levels that the manifest
    sets."""
    places = _places({name: speaker.pronoun for name, speaker in project.speakers.items()})
    return {
        name: replace(
            _voice(project, project.voice_of(name), speaker), place=places[project.voice_of(name)]
        )
        for name, speaker in project.speakers.items()
    }


def choose_engine_voices(project: Project, entries: dict[str, object]) -> None:
    """Gives new speakers a voice of each engine that has built-in voices, in their entries for
    book.yaml; of a person without a pronoun it is the one that the name suggests."""
    new_voices = [
        Voice(
            name,
            pronoun=speaker_entry.get("pronoun")
            or (None if "plays" in speaker_entry else likely_pronoun(name)),
            place=index,
        )
        for index, (name, speaker_entry) in enumerate(entries.items())
        if name != "narrator" and isinstance(speaker_entry, dict)
    ]
    present_cast = resolve(project)
    for spec in ENGINES.values():
        for name, voice in spec.cast(new_voices, project.manifest.language, present_cast).items():
            speaker_entry = entries[name]
            assert isinstance(speaker_entry, dict)
            speaker_entry[spec.name] = voice


def _places(pronouns: Mapping[str, str | None]) -> dict[str, int]:
    """Returns a number from 0 for each speaker, unique among those of the same pronoun.

    It derives from the name, so that a new speaker seldom changes those of others.
    """
    taken_by_pronoun: dict[str | None, set[int]] = defaultdict(set)
    places: dict[str, int] = {}
    for name, pronoun in pronouns.items():
        taken_places = taken_by_pronoun[pronoun]
        place_count = _PLACES_PER_PRONOUN * (1 + len(taken_places) // _PLACES_PER_PRONOUN)
        first = keys.number(name) % place_count
        free_places = (
            place % place_count
            for place in range(first, first + place_count)
            if place % place_count not in taken_places
        )
        places[name] = next(free_places)
        taken_places.add(places[name])
    return places


def _voice(project: Project, name: str, speaker: Speaker) -> Voice:
    settings = speaker.voice
    preset = None
    if isinstance(settings, str):
        if settings not in project.manifest.voices:
            preset = preset_path(project.root, settings)
        settings = project.manifest.voices.get(settings)
    voice = Voice(
        speaker=name,
        style=speaker.style,
        gain=speaker.gain,
        speed=speaker.speed,
        language=speaker.language,
        pronoun=speaker.pronoun,
        own=speaker.engine_voices,
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
