"""The rights in the voices of a book: where each recording comes from, and who agreed to its use.

They are the author's notes, in book.yaml beside a clip or in a preset. Decides which of them files
may contain; judges none.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from narrator.cast import presets
from narrator.cast.cast import resolve
from narrator.engines.registry import ENGINES
from narrator.project.project import Project
from narrator.project.schema import Rights, VoiceSettings


def recorded_voices(project: Project, speakers: Iterable[str]) -> dict[str, Rights]:
    """Returns the rights in the recordings that these speakers' voices imitate, by speaker.

    Designed voices are of nobody, and the voices of an engine are its maker's: neither is here.
    Raises UserError for a damaged preset.
    """
    cast = resolve(project)
    rights_by_speaker: dict[str, Rights] = {}
    for speaker in speakers:
        path, settings = cast[speaker].reference, project.engine_of(speaker)
        if path is not None and ENGINES[settings.name].imitates(settings):
            rights = _rights(project, speaker, path)
            if rights is not None:
                rights_by_speaker[speaker] = rights
    return rights_by_speaker


def published_credits(project: Project, speakers: Iterable[str]) -> list[str]:
    """Returns a line on each recording of these speakers' voices that is to be published.

    Raises UserError for a damaged preset.
    """
    speakers_by_credit: dict[str, list[str]] = {}
    for speaker, rights in recorded_voices(project, speakers).items():
        if rights.publish:
            speakers_by_credit.setdefault(rights.credit, []).append(speaker)
    return [
        f"Voice of {', '.join(names)}: {credit}" for credit, names in speakers_by_credit.items()
    ]


def _rights(project: Project, speaker: str, path: Path) -> Rights | None:
    """Returns the rights that book.yaml notes for a speaker's recording, else its preset's; None
    for a designed voice."""
    voice = project.speakers[speaker].voice
    settings = project.manifest.voices.get(voice) if isinstance(voice, str) else voice
    if isinstance(settings, VoiceSettings) and settings.rights is not None:
        return settings.rights
    return presets.read_rights(path) if path.suffix == presets.SUFFIX else Rights()
