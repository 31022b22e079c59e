"""Changes one thing in the text of book.yaml, or says why that is impossible."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from narrator.errors import ManifestError, Problem
from narrator.pipeline.edits.edit import read_exact
from narrator.project import rewriting
from narrator.project.project import Project
from narrator.project.rewriting import KeyPath, UnsupportedLayout


def manifest_text(project: Project) -> str:
    """The present text of book.yaml. Raises ManifestError, StorageError."""
    text = read_exact(project.path)
    if text is None:
        raise ManifestError(Problem(project.path, None, "no such file"))
    return text


def set_value(text: str, place: KeyPath, new_value: object, project: Project) -> str:
    """The text with another value, at a new key if need be. Raises ManifestError."""
    return _rewrite(lambda: rewriting.set_value(text, place, new_value), place, project)


def append_entry(text: str, place: KeyPath, entry: Mapping[str, object], project: Project) -> str:
    """The text with an entry appended to a list. Raises ManifestError."""
    return _rewrite(lambda: rewriting.append_entry(text, place, entry), place, project)


def rename_entry(text: str, place: KeyPath, key: str, project: Project) -> str:
    """The text with another key. Raises ManifestError."""
    return _rewrite(lambda: rewriting.rename_entry(text, place, key), place, project)


def remove_entry(text: str, place: KeyPath, project: Project) -> str:
    """The text without a key of a mapping or an item of a list. Raises ManifestError."""
    return _rewrite(lambda: rewriting.remove_entry(text, place), place, project)


def list_entries(
    text: str, place: KeyPath, key_name: str, value_name: str, project: Project
) -> str:
    """The text with a mapping as a list of entries that name its keys and values. Raises
    ManifestError."""
    return _rewrite(
        lambda: rewriting.list_entries(text, place, key_name, value_name), place, project
    )


def _rewrite(rewrite: Callable[[], str], place: KeyPath, project: Project) -> str:
    """The text after a change at a place of book.yaml. Raises ManifestError if its layout does not
    allow the change."""
    try:
        return rewrite()
    except UnsupportedLayout:
        dotted_key = ".".join(map(str, place))
        message = (
            f"`{dotted_key}` cannot be changed by itself as the file is written: change it by hand"
        )
        raise ManifestError(Problem(project.path, project.line(*place), message)) from None
