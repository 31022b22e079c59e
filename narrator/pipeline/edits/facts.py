"""Edits of a book's title, authors, language and cover in book.yaml.

Pictures of covers are written beside it under names of their own, and stay, so that an edit can be
undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from narrator import files
from narrator.delivery.export.cover import check_cover
from narrator.errors import UsageError
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.manifest import manifest_text, remove_entry, set_value
from narrator.project.project import Project


def facts_edit(project: Project, title: str, authors: Sequence[str], language: str) -> Edit:
    """Gives a book this title, these authors and this language. Raises ManifestError, StorageError,
    UsageError."""
    title, names = one_line(title), [name for name in map(one_line, authors) if name]
    if not title or not names:
        raise UsageError("a book needs a title and an author")
    manifest = project.own_manifest or project.manifest
    old_text = new_text = manifest_text(project)
    if title != manifest.title:
        new_text = set_value(new_text, ("title",), title, project)
    if names != list(manifest.author):
        new_text = set_value(new_text, ("author",), names if names[1:] else names[0], project)
    if language != manifest.language:
        new_text = set_value(new_text, ("language",), language, project)
    summary = f"title, author and language: “{shorten(title)}”"
    return require_readable(project, Edit(summary, (FileChange(project.path, old_text, new_text),)))


def cover_edit(project: Project, picture: bytes | None) -> Edit:
    """Gives a book a cover, whose file is written at once, or takes it away. Raises ManifestError,
    StorageError, UserError."""
    manifest = project.own_manifest or project.manifest
    old_text = new_text = manifest_text(project)
    if picture is None:
        if manifest.cover is not None:
            new_text = remove_entry(old_text, ("cover",), project)
        title = "no cover"
    else:
        path = _write_picture(project, picture)
        new_text = set_value(old_text, ("cover",), path.name, project)
        title = f"cover: {path.name}"
    return require_readable(project, Edit(title, (FileChange(project.path, old_text, new_text),)))


def _write_picture(project: Project, picture: bytes) -> Path:
    """Writes a picture beside book.yaml, under a name that is free or has it already."""
    suffix = ".png" if check_cover(picture).kind == "png" else ".jpg"
    for number in count(1):
        path = project.root / f"cover{f'-{number}' if number > 1 else ''}{suffix}"
        with files.translating_errors(path):
            if path.is_file() and not path.is_symlink() and path.read_bytes() == picture:
                break
            if not path.exists() and not path.is_symlink():
                files.write(path, picture)
                break
    return path
