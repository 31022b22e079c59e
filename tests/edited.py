"""Books that are edited: planned without an engine that speaks, and shown by who says what."""

from __future__ import annotations

from pathlib import Path

from narrator.pipeline import book_plan, edits
from narrator.pipeline.edits import Edit
from narrator.project import load
from narrator.project.project import Project
from narrator.speech.plan import Step
from tests import books
from tests.fakes import HumEngine

MANIFEST = """\
title: Two Friends
author: Nobody
language: en-GB
speakers:   # who speaks
  narrator: {}
  Ada: { pronoun: she }
  Ben: {pronoun: he}
  Mrs Hale: {}
chapters:
  - {title: One, file: one.md}
"""


def write(folder: Path, text: str, manifest: str = MANIFEST, rows: str | None = None) -> Path:
    """A book of one chapter, its bytes as they are given; its manifest."""
    (folder / "book.yaml").write_bytes(manifest.encode())
    (folder / "one.md").write_bytes(text.encode())
    if rows is not None:
        (folder / "one.speakers.txt").write_bytes(rows.encode())
    return folder / "book.yaml"


def plan(path: Path) -> book_plan.BookPlan:
    return books.plan(path, HumEngine())


def step(book: book_plan.BookPlan, words: str) -> Step:
    """The chunk that has these words."""
    return next(step for step in book.steps if words in step.chunk.text)


def said(path: Path) -> list[tuple[str, str | None, str]]:
    """Who says what in a book, and how."""
    chunks = (one.chunk for one in plan(path).steps)
    return [(chunk.names, chunk.style, chunk.text.strip()) for chunk in chunks]


def project(path: Path) -> Project:
    return load.load(path)


def made(path: Path, edit: Edit) -> None:
    edits.apply(project(path), edit)
