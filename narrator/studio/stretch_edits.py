"""Edits of a stretch of text from the fields of a request: given to a speaker, two swapped in it.

Runs in the main thread. A stretch is the ids of its first and last chunk, with the texts that the
page shows of them, and what of these belongs to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from narrator.errors import UsageError
from narrator.pipeline import edits
from narrator.pipeline.edits import Edit, Stretch
from narrator.studio import cast_edits
from narrator.studio.session import NotFound, ProjectSnapshot
from narrator.web import bodies


def give_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    """Builds the edit that gives a stretch to a speaker. Raises UsageError, NotFound."""
    return edits.give_edit(
        view.book,
        _stretch(view, body),
        bodies.text_field(body, "speaker", 1000),
        bodies.optional_text_field(body, "whose", 1000) or edits.EVERYTHING,
        cast_edits.new_person(view.project, body),
    )


def swap_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    """Builds the edit that swaps two speakers over a stretch. Raises UsageError, NotFound."""
    speaker, other = (bodies.text_field(body, name, 1000) for name in ("speaker", "other"))
    return edits.swap_edit(view.book, _stretch(view, body), speaker, other)


def _stretch(view: ProjectSnapshot, body: Mapping[str, Any]) -> Stretch:
    first, last = (view.step(bodies.text_field(body, name, 40)) for name in ("first", "last"))
    shown_texts = (bodies.text_field(body, name, 20_000) for name in ("first_text", "last_text"))
    if (first.chunk.text, last.chunk.text) != tuple(shown_texts):
        raise NotFound("these lines have changed meanwhile: choose them again")
    steps = view.chapters[first.chapter]
    if first.chapter != last.chapter or steps.index(first) > steps.index(last):
        raise UsageError("choose lines of one chapter, the first one first")
    chosen = steps[steps.index(first) : steps.index(last) + 1]
    return Stretch(chosen, _offset(body, "start") or 0, _offset(body, "stop"))


def _offset(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (type(value) is not int or value < 0):
        raise UsageError(f"`{name}` must be a number of characters")
    return value
