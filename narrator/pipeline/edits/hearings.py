"""Edits of what a recogniser may write for a word that is said right."""

from __future__ import annotations

from narrator.errors import UsageError
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.manifest import manifest_text, set_value
from narrator.project.project import Project
from narrator.text.markup import squeeze
from textbase.characters import strip_invisible

_MAX_LENGTH = 100
"""Longest passage in characters: longer ones are not names."""


def heard_as_edit(project: Project, word: str, heard: str) -> Edit:
    """The edit of book.yaml after which `heard` counts as the word, wherever that is written.

    Raises ManifestError, StorageError, UsageError.
    """
    word, heard = (squeeze(strip_invisible(one_line(argument))) for argument in (word, heard))
    word, heard = (argument.strip(".,;:!?…“”\"'‘’«»()—– ") for argument in (word, heard))
    if not (word and heard) or max(len(word), len(heard)) > _MAX_LENGTH:
        raise UsageError(
            f"a word and what was heard for it have 1 to {_MAX_LENGTH} characters; pin the take "
            "where more of it is right as it is"
        )
    existing = project.manifest.checks.heard_as
    key = next((key for key in existing if key.casefold() == word.casefold()), word)
    forms = existing.get(key, ())
    if heard.casefold() in (form.casefold() for form in forms):
        raise UsageError(f"“{shorten(heard)}” counts as “{shorten(word)}” already")
    place = ("checks", "heard_as", key)
    old_text = manifest_text(project)
    new_text = set_value(old_text, place, [*forms, heard] if forms else heard, project)
    summary = f"“{shorten(word)}” may be heard as “{shorten(heard)}”"
    return require_readable(project, Edit(summary, (FileChange(project.path, old_text, new_text),)))
