"""book.yaml with one thing changed in its text, or why that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from narrator.errors import ManifestError, Problem
from narrator.pipeline.edits.edit import exact
from narrator.project import rewriting
from narrator.project.project import Project
from narrator.project.rewriting import NotWritten, Where


def manifest_text(project: Project) -> str:
    """What book.yaml says now. Raises ManifestError, StorageError."""
    text = exact(project.path)
    if text is None:
        raise ManifestError(Problem(project.path, None, "no such file"))
    return text


def changed(text: str, place: Where, value: object, project: Project) -> str:
    """With another value, which may be a new one. Raises ManifestError."""
    return _written(lambda: rewriting.changed(text, place, value), place, project)


def appended(text: str, place: Where, item: Mapping[str, object], project: Project) -> str:
    """With one more item in a list. Raises ManifestError."""
    return _written(lambda: rewriting.appended(text, place, item), place, project)


def renamed(text: str, place: Where, key: str, project: Project) -> str:
    """With another key. Raises ManifestError."""
    return _written(lambda: rewriting.renamed(text, place, key), place, project)


def _written(write: Callable[[], str], place: Where, project: Project) -> str:
    try:
        return write()
    except NotWritten:
        where = ".".join(map(str, place))
        what = f"`{where}` cannot be changed by itself as the file is written: change it by hand"
        raise ManifestError(Problem(project.path, project.line(*place), what)) from None
