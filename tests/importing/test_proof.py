"""Chapters read as scripts, whatever their source has."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.text.labels import Roles
from narrator.text.script import find_faults
from tests.importing.books import PROSE, imported


@pytest.mark.parametrize(
    "text",
    [
        "A form: [ ] yes [ ] no.", "- [ ] one\n- [x] two", "\xa0\nTable 3-1: The list.",
        "\u3000\n注意：这是一个。", "Hello there all\n<!-- never closed",
    ],
)  # fmt: skip
def test_odd_rows_are_read_as_they_were_written(tmp_path: Path, text: str) -> None:
    book = imported(tmp_path, f"# One\n\n{text}\n\n{PROSE}\n", name="door.md")
    roles = Roles({"narrator": "narrator"}, "narrator")
    assert not find_faults(book.chapters[0].markdown, roles)
