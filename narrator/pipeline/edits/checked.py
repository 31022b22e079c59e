"""What an edit would make of a project, before it counts: read, and refused if it cannot be."""

from __future__ import annotations

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
    roles = roles_of(project)
    _, problems = lexicon_of(project) if own is not None else (None, list[Problem]())
    chapters: dict[int, Chapter] = {}
    for number, chapter in enumerate(project.chapters):
        after = None if chapter.file is None else texts.get(project.root / chapter.file)
        wanted = after is not None or project.manifest.music or (own and chapter.lines)
        try:
            if wanted:
                chapters[number] = paragraphs_of(project, number, roles, after)
        except ScriptError as error:
            problems += error.problems
    if project.manifest.music and len(chapters) == len(project.chapters):
        problems += music.problems(project, [chapters[n] for n in project.numbered])
    if problems:
        raise ScriptError(list(dict.fromkeys(problems)))
    return edit
