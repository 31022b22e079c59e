"""Screenplays typed in Markdown, names in bold: what nobody says is left out, and listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Choices
from tests.manuscripts.imports import reasons, rows, whole

SCREENPLAY = """\
**FADE IN:**

**INT. KITCHEN - DAY**

Anna looks at us.

**ANNA (V.O.)**

I never liked this house.

**BEN (ON PHONE)**
Then why did you stay?

(beat)

Tell me.

Ben turns to you.

**SMASH CUT TO:**
**EXT. GARDEN - NIGHT**

**BEN (V.O.) (CONT'D):** Is anybody there?

**FADE TO BLACK.**
"""
SCRIPT = Choices(reading="script")


@pytest.fixture
def screenplay(tmp_path: Path) -> Path:
    path = tmp_path / "kitchen.md"
    path.write_text(SCREENPLAY, "utf-8")
    return path


def test_names_in_bold_lose_their_extensions_and_headings_their_capitals(screenplay: Path) -> None:
    book = whole(screenplay, SCRIPT)
    assert rows(book) == [
        "**Int. Kitchen - Day**",
        "Anna looks at us.",
        "Anna: I never liked this house.",
        "Ben (on phone): Then why did you stay?",
        "Ben: Tell me.",
        "Ben turns to you.",
        "***",
        "**Ext. Garden - Night**",
        "Ben: Is anybody there?",
    ]
    assert [speaker.name for speaker in book.speakers] == ["Anna", "Ben"]


def test_transitions_in_bold_extensions_and_beats_are_listed(screenplay: Path) -> None:
    assert reasons(whole(screenplay, SCRIPT)) == {
        "transition": 8,
        "extension of a name": 6,
        "parenthetical": 1,
    }


def test_a_transition_before_the_first_heading_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "kitchen.md"
    speeches = "**ANNA**: Are you there?\n\n**BEN**: I am.\n\n" * 2
    path.write_text(
        f"# Light\n\n**FADE IN:**\n\n## One\n\n{speeches}## Two\n\n**BEN (O.S.)**: You?\n", "utf-8"
    )
    book = whole(path, SCRIPT)
    assert [chapter.title for chapter in book.chapters] == ["One", "Two"]
    assert rows(book)[-1] == "Ben: You?"


def test_a_scene_in_which_each_speaks_once_is_a_script_if_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "kitchen.md"
    path.write_text("**ANNA (V.O.)**\n\nAre you there?\n\n**CARL**\n\nI am.\n", "utf-8")
    assert rows(whole(path, SCRIPT)) == ["Anna: Are you there?", "Carl: I am."]


def test_an_interview_with_a_single_transition_is_no_play(tmp_path: Path) -> None:
    path = tmp_path / "boat.md"
    question, answer = "**Interviewer:** And then?\n\n", "**Maria:** Then it rained.\n\n"
    path.write_text(f"# Boat\n\n{(question + answer) * 3}CUT TO:\n\n{question}{answer}", "utf-8")
    book = whole(path)
    assert book.dialogue == "an interview: 2 speakers, 8 speeches"
    assert reasons(book) == {"transition": 2}
