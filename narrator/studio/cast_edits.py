"""Edits of the cast from the fields of a request: people added, renamed, merged, and their voices.

An edit that gives words to a speaker adds the speaker to the cast if the request says `adds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from narrator.errors import UsageError
from narrator.pipeline import edits, new_characters
from narrator.pipeline.edits import Edit, NewPerson
from narrator.pipeline.manuscript import roles_of
from narrator.project.project import Project
from narrator.studio.session import ProjectSnapshot
from narrator.web import bodies


def new_person(project: Project, body: Mapping[str, Any]) -> NewPerson | None:
    """Returns the `speaker` of a request that `adds` somebody; None for anybody in the cast.

    Raises UsageError."""
    if body.get("adds") is not True:
        return None
    name = bodies.text_field(body, "speaker", 1000)
    if roles_of(project).find_speakers(name):
        return None
    return edits.new_person(project, name, _pronoun(body))


def add_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    return edits.add_edit(view.project, bodies.text_field(body, "speaker", 1000), _pronoun(body))


def _pronoun(body: Mapping[str, Any]) -> str:
    return bodies.optional_text_field(body, "pronoun", 100) or ""


def voice_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    voice = body.get("voice")
    if not isinstance(voice, dict):
        raise UsageError("`voice` must be an object")
    return edits.voice_edit(view.project, bodies.text_field(body, "speaker", 1000), voice)


def person_edit(
    edit: Callable[[Project, str, str], Edit], field: str, max_length: int = 1000
) -> Callable[[ProjectSnapshot, Mapping[str, Any]], Edit]:
    """Returns the edit of a request's `speaker` that `edit` makes with the text of a field."""

    def edit_of(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
        speaker = bodies.text_field(body, "speaker", 1000)
        return edit(view.project, speaker, bodies.text_field(body, field, max_length))

    return edit_of


def own_voice_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    return new_characters.own_voice_edit(view.project, bodies.text_field(body, "speaker", 1000))
