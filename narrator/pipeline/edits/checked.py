"""Checks that a project could be read after an edit, and refuses the edit otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from narrator.cast.cast import resolve
from narrator.delivery import music
from narrator.errors import Problem, ScriptError
from narrator.pipeline.edits.edit import Edit
from narrator.pipeline.manuscript import lexicon_of, paragraphs_of, roles_of
from narrator.project import load
from narrator.project.project import Project
from narrator.text.lines import Chapter


def require_readable(project: Project, edit: Edit) -> Edit:
    """Return the edit if the manifest and the changed chapters can be read after it.

    Raises ManifestError, ScriptError with all problems.
    """
    new_texts = {
        change.path: change.new_text
        for change in edit.changes
        if change.old_text != change.new_text
    }
    manifest_text = new_texts.get(project.path)
    if manifest_text is not None:
        project = load.load(project.path, manifest_text)
        resolve(project)
    _, problems = lexicon_of(project) if manifest_text is not None else (None, list[Problem]())
    chapters: dict[int, Chapter] = {}
    roles = roles_of(project)
    for number, after in _find_affected_chapters(project, new_texts):
        try:
            chapters[number] = paragraphs_of(project, number, roles, after)
        except ScriptError as error:
            problems += error.problems
    if project.manifest.music and len(chapters) == len(project.chapters):
        problems += music.problems(project, [chapters[n] for n in project.numbered])
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))
    return edit


def _find_affected_chapters(
    project: Project, new_texts: Mapping[Path, str | None]
) -> Iterator[tuple[int, str | None]]:
    """Yields the chapters to read, with the new text of those whose file changes."""
    for number, chapter in enumerate(project.chapters):
        new_text = None if chapter.file is None else new_texts.get(project.root / chapter.file)
        is_in_manifest = project.path in new_texts and chapter.lines
        if new_text is not None or project.manifest.music or is_in_manifest:
            yield number, new_text
