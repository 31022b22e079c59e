"""What an edit would make of a project, before it counts: read, and refused if it cannot be."""

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


def checked(project: Project, edit: Edit) -> Edit:
    """The edit, if the project can be read after it: the manifest, and the chapters that change.

    Raises ManifestError, ScriptError with all problems.
    """
    texts = {change.path: change.after for change in edit.changes if change.before != change.after}
    own = texts.get(project.path)
    if own is not None:
        project = load.load(project.path, own)
        resolve(project)
    _, problems = lexicon_of(project) if own is not None else (None, list[Problem]())
    chapters: dict[int, Chapter] = {}
    roles = roles_of(project)
    for number, after in _affected(project, texts):
        try:
            chapters[number] = paragraphs_of(project, number, roles, after)
        except ScriptError as error:
            problems += error.problems
    if project.manifest.music and len(chapters) == len(project.chapters):
        problems += music.problems(project, [chapters[n] for n in project.numbered])
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))
    return edit


def _affected(
    project: Project, texts: Mapping[Path, str | None]
) -> Iterator[tuple[int, str | None]]:
    """Chapters that must be read, with the text of those whose file changes."""
    for number, chapter in enumerate(project.chapters):
        after = None if chapter.file is None else texts.get(project.root / chapter.file)
        is_in_manifest = project.path in texts and chapter.lines
        if after is not None or project.manifest.music or is_in_manifest:
            yield number, after
