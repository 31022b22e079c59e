"""Mottoes of chapters are nobody's speech, and their poets do not belong to the cast."""

from __future__ import annotations

import pytest

from narrator.text.speakers import NO_SPEECH, attribute
from narrator.text.speakers.mottoes import count_motto_paragraphs

TEXT = "The rain fell, and Ada looked out of the window."
CHAPTERS = [
    # paragraphs before the text, how many of them are headings and mottoes
    ([], 0),
    (["A WALK IN THE RAIN"], 1),
    (["“Oh rain that falls, oh rain that stays.” MRS. WEIR."], 1),
    (["A WALK", "“Oh rain that falls!”--ANON."], 2),
    (["“Oh rain that falls.” —The Old Play"], 1),
    (["“Oh rain that falls,", "Oh rain that stays.”", "JOHN WEIR, Songs of Rain"], 0),
    (["“Oh rain that falls,", "Oh rain that stays.”", "JOHN WEIR"], 3),
    (["“Oh rain that falls,", "Oh rain that stays.”", "—John Weir"], 3),
    (["> 'Oh rain that falls.' > WEIR: Songs."], 1),
    (["“How it rains!” said Ada.", "“It does.”"], 0),
    (["“How it rains!”—Ada's remark was—", "“It does.”"], 0),
    (["“How it rains!” said MRS. WEIR."], 0),
    (["—¡Cómo llueve! —dijo Ana.", "—Sí."], 0),
]


@pytest.mark.parametrize(("paragraphs", "count"), CHAPTERS)
def test_mottoes_stand_before_the_text(paragraphs: list[str], count: int) -> None:
    assert count_motto_paragraphs([*paragraphs, TEXT]) == count


def test_nobody_says_a_motto() -> None:
    chapter = ["“Oh rain that falls.” MRS. WEIR.", TEXT, "“It rains,” said Ada, “Mrs. Carr.”"]
    attribution = attribute([chapter], language="en")
    assert [person.name for person in attribution.cast] == ["Ada", "Mrs. Carr"]
    assert [(row.speaker, row.by == NO_SPEECH) for row in attribution.quotations] == [
        (None, True), ("Ada", False), ("Ada", False),
    ]  # fmt: skip
