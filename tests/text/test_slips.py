"""Slips of a script: said with the mend, spoken all the same, and not found in prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.text.labels import Roles
from narrator.text.lines import Chapter
from narrator.text.script import read_chapter
from narrator.text.slips import BRACE, DIRECTION, NO_COLON, SQUARE, STYLE, UNCLOSED

CAST = Roles({"narrator": "narrator", "ines": "Ines", "ada": "Ada"}, "narrator")


def read(text: str) -> Chapter:
    return read_chapter(
        text, path=Path("1.md"), title="One", language="en", roles=CAST, speaker=None
    )


def slips(text: str) -> list[tuple[int, str, str]]:
    return [(slip.line, slip.written, slip.problem) for slip in read(text).slips]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[puase 2s]", "[pause 2s]"), ("[Pasue 800 ms]", "[pause 800ms]"),
        ("[pauze 1,5]", "[pause 1.5s]"), ("[silence 3 seconds]", "[pause 3s]"),
        ("[musik: rain]", "[music: rain]"), ("[music rain]", "[music: rain]"),
        ("[music=off]", "[music: off]"), ("[puase]", "[pause 1s]"),
    ],
)  # fmt: skip
def test_what_is_nearly_a_mark_is_spoken_and_named(written: str, meant: str) -> None:
    text = f"One.\n\nTwo {written} three."
    assert read(text).scenes[0].lines[1].text == f"Two {written} three."
    [(line, shown, matter)] = slips(text)
    assert (line, shown) == (3, written)
    assert meant in matter


@pytest.mark.parametrize("written", ["[pause 2]", "[Pause: 2s]", "[pause 1,5s]", "[pause 2x]"])
def test_a_pause_that_is_none_is_left_out_and_named(written: str) -> None:
    chapter = read(f"One {written} two.")
    assert chapter.scenes[0].lines[0].text == "One two."
    assert [item.text for item in chapter.left_out] == [written]
    assert "did you mean [pause " in chapter.slips[0].problem


@pytest.mark.parametrize(
    ("text", "matter"),
    [
        ("[sigh] I can't.", DIRECTION), ("Ada: [laughs] I can't.", DIRECTION),
        ("I can't. [Door slams]", DIRECTION), ("Ines (whispering: Go", UNCLOSED),
        ("(whispering) Go.", STYLE), ("Ada: (very softly) Go.", STYLE), ("Ada ; Go", NO_COLON),
        ("Ada (angry) Stop it!", NO_COLON), ("Ada: Hm.\nInes (angry) Stop it!", NO_COLON),
        ("Ada [angry]: Stop it!", SQUARE), ("An unclosed {brace here.", BRACE),
    ],
)  # fmt: skip
def test_what_is_nearly_a_style_or_a_label_is_named(text: str, matter: str) -> None:
    assert [found for _, _, found in slips(text)] == [matter]


@pytest.mark.parametrize(
    "text",
    [
        "[He laughed.] It is [sic] right [1] and [the King] said so [omission].",
        "[Illustration: A door] [rope?] [To Mrs. Weston.] [music of the spheres, they say]",
        "[cause 2 of it] [must: go] [pause for a very long and great applause]",
        "Ada (the cat) sat there. She wept (softly) for him. (Laughing.) No.",
        "(he laughed) No. (a) First.",
        "It was\nAda; the cat\nsat.",
        "\\[sigh] `[sigh]` \\[puase 2s]",
        "Ada: Go. [pause 2s] {a|b} [music: rain] on.",
    ],
)
def test_prose_in_brackets_is_no_slip(text: str) -> None:
    assert slips(text) == []


def test_braces_and_brackets_without_end_are_read_in_time_that_grows_with_them() -> None:
    for unit in ("[", "{", "[a", "(a ", "Ada (", "[pause ", "{a|", "[sigh "):
        read(f"One {unit * 2_000}")
