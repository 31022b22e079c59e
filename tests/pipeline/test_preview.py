"""What is shown before writing is what is written, and what a later run shows: over edits of the
text, reruns, answers and changes of names in the files, on generated books and on a novel."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from narrator.pipeline import attribution, new_characters
from narrator.pipeline.attribution import Proposal, group_turns
from narrator.project.load import load
from narrator.text import speaker_files
from narrator.text.speaker_files import NOBODY, UNKNOWN
from narrator.text.speakers import stories
from tests import books
from tests.text.novel import novel_paragraphs

MANIFEST = """\
title: Tea
author: A. Author
chapters:
  - {title: One, file: text/one.md}
  - {title: Two, file: text/two.md}
"""
PARAGRAPHS = (
    "“I know,” said Ada Lovell, “but not now.”",
    "“The tea is cold,” said Miss Lovell.",
    "“So it is, Ada,” said Ben Hall. He looked at the clock. “Very cold.”",
    "“It was cold yesterday.”",
    "“Then make another pot!” cried Mrs. Hall.",
    "“Never,” he said.",
    "She shook her head. “Ben, you are a fool.”",
    "“I begin, and go on, and shall not end today.",
    "“And I end here.”",
    "Ada: “No,” said Ben.",
    "They called it the “Golden Hind” in those days.",
    "John Carew stood in the door, and nobody had seen him come from Nassau Street.",
    "“Good morning, John,” said Ada. “Good morning, Mr. Carew,” said Ben.",
    "“Is Hall in?” asked the landlord.",
    "“He is not,” said the landlord.",
    "“Bob told me,” said the landlord, “that he met Bob in Nassau Street.”",
    "Ben Hall and Ada Lovell walked to the pond, and the narrator was tired.",
    "{Ben Hall: “I say so,”} said the other, “and you may believe me.”",
    "* * *",
)
OTHER_PARAGRAPHS = (
    "“Who is there?” asked John Weir.",
    "“It is Nora Stone,” said the landlord.",
    "“It is I, John,” said Nora Stone. “Only I.”",
    "John Weir and Nora Stone went to the fire, and John laughed.",
    "“You are late,” said John.",
    "“Ben Stone will be later,” she said.",
    "“Will he, Nora?”",
)
"""Paragraphs of another story, with some of the names."""
chapters = st.lists(st.sampled_from(PARAGRAPHS), min_size=1, max_size=12)
other_chapters = st.lists(st.sampled_from(OTHER_PARAGRAPHS), min_size=1, max_size=8)
numbers = st.integers(0, 99)
actions = st.one_of(
    st.tuples(st.just("write")),
    st.tuples(st.just("discover")),
    st.tuples(st.just("answer"), numbers, numbers),
    st.tuples(st.just("rename"), numbers, numbers),
    st.tuples(st.just("insert"), numbers, st.sampled_from(PARAGRAPHS)),
    st.tuples(st.just("remove"), numbers),
    st.tuples(st.just("trust")),
)


@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(chapters, chapters | other_chapters, st.lists(actions, max_size=6))
def test_preview_is_result(one, two, steps):
    with tempfile.TemporaryDirectory() as folder, patch.object(stories, "_MIN_MENTIONS", 2):
        path = books.write(Path(folder), MANIFEST, *map(_text, (one, two)))
        for action in [("write",), *steps, ("write",)]:
            _act(path, *action)


@pytest.mark.slow
def test_preview_is_result_in_a_novel(tmp_path):
    paragraphs = novel_paragraphs()
    half = len(paragraphs) // 2
    texts = map(_text, (paragraphs[:half], paragraphs[half:]))
    path = books.write(tmp_path, MANIFEST, *texts)
    for action in (("write",), ("answer", 97, 1), ("remove", 60), ("rename", 40, 2), ("write",)):
        _act(path, *action)


def _act(path: Path, action: str, *numbers) -> None:
    """Does what a user may do between two runs; the runs themselves are checked."""
    text_path = path.parent / "text" / "one.md"
    if action in ("write", "discover"):
        _check_run(path, discovers_characters=action == "discover")
    elif action == "answer":
        _check_answer(path, *numbers)
    elif action == "rename":
        _rename(text_path.with_name("one.speakers.txt"), *numbers)
    elif action == "trust":
        text = path.read_text(encoding="utf-8").replace("cast: found", "cast: given")
        path.write_text(text, encoding="utf-8")
    else:
        paragraphs = text_path.read_text(encoding="utf-8").split("\n\n")
        place = 1 + numbers[0] % len(paragraphs)
        paragraphs[place : place + (action == "remove")] = numbers[1:]
        text_path.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def _text(paragraphs: Sequence[str]) -> str:
    return "\n\n".join(("Once upon a time.", *paragraphs)) + "\n"


def _check_run(path: Path, *, discovers_characters: bool = False) -> None:
    old_speakers = _speakers_in_files(path)
    shown = new_characters.propose(load(path), discovers_characters=discovers_characters)
    new_characters.write(shown)
    written = _files(path)
    shown_again = new_characters.propose(load(path))
    assert _decisions(shown_again) == _decisions(shown)
    new_characters.write(shown_again)
    assert _files(path) == written
    for words, speaker in _speakers_in_files(path).items():
        if words in old_speakers and old_speakers[words] != speaker:
            assert words in {
                speaker_files.shorten_words(piece.quotation.text)
                for turn in group_turns(shown.quotes)
                for piece in turn
                if any(quote in shown.changed_quotes for quote in turn)
            }


def _check_answer(path: Path, number: int, choice: int) -> None:
    proposal = new_characters.propose(load(path))
    turns = list(group_turns(proposal.quotes))
    if not turns or proposal.new_names:
        return
    names = [*(character.name for character in proposal.characters), NOBODY, UNKNOWN]
    turn = turns[number % len(turns)]
    answered = attribution.apply_answers(
        proposal, turn[0].chapter, [(turn, names[choice % len(names)])]
    )
    attribution.write_speaker_file(answered, turn[0].chapter)
    assert _decisions(new_characters.propose(load(path))) == _decisions(answered)


def _rename(path: Path, number: int, choice: int) -> None:
    """Writes another name into a row, as people do in an editor."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    place = 1 + number % max(1, len(lines) - 1)
    if place < len(lines):
        name = ("Ada Lovell", "Ben Hall", "-", "?", "Nobody Known")[choice % 5]
        lines[place] = f"{name} |{lines[place].partition('|')[2]}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _decisions(proposal: Proposal) -> tuple[object, ...]:
    rows = [
        (quote.quotation.text, quote.speaker, quote.row.speaker, quote.row.certainty, quote.by)
        for quote in proposal.quotes
    ]
    return proposal.characters, proposal.line_counts, rows


def _files(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in _all_files(path)}


def _all_files(path: Path) -> Iterator[Path]:
    return (file for file in path.parent.rglob("*") if file.is_file())


def _speakers_in_files(path: Path) -> dict[str, str]:
    """Words -> speaker of the quotations that occur once."""
    rows = [
        row
        for file in _all_files(path)
        if file.name.endswith(speaker_files.ENDING)
        for row in speaker_files.read(file).rows
    ]
    words = [row.words for row in rows]
    return {row.words: row.speaker for row in rows if words.count(row.words) == 1}
