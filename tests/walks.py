"""A book of two chapters and two voices in ten seconds: for what has to be found in sound."""

from __future__ import annotations

from pathlib import Path

BOOK = """\
title: Two Walks
author: Nobody
language: en-GB
engine: {name: draft}
output: {formats: [m4b]}
speakers: {narrator: {}, Ada: {}}
chapters:
  - {title: Out, file: out.md}
  - {title: Home, file: home.md}
"""
OUT = "The road was long. It was wet.\n\nAda: Not far now.\n"
HOME = "They came home.\n\nAda: At last.\n"


def write(folder: Path) -> Path:
    """The project's folder."""
    (folder / "book.yaml").write_text(BOOK)
    (folder / "out.md").write_text(OUT)
    (folder / "home.md").write_text(HOME)
    return folder
