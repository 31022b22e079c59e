"""Voices of their own for those who speak within a tale: written, heard, changed, turned off."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.pipeline import edits, exchanges, new_characters
from narrator.pipeline.manuscript import find_oddities, read_manuscript
from narrator.pipeline.speakers import UNUSED_NESTED
from tests import edited

VOICES = "dialogue: {nested: voices}\n"
TALE = """\
“Tell us,” said Ada.

“I was a boy,” said Ben, “and far away.

“‘Who are you?’ cried Mrs Hale. I stood still. ‘Nobody,’ said I.

“A sailor laughed. ‘Two fools,’ said he.”
"""
ROWS = """\
# Who says what in one.md. Change a name, and it is yours: no run changes it again.
Ada | rule tag 0.98 Ada | “Tell us,”
Ben | rule tag 0.98 Ben | “I was a boy,”
+ | rule tag 0.98 + | “and far away.
+ | rule goes-on 0.98 + | “‘Who are you?’ cried Mrs Hale. I stood still. ‘Nobody,’ said I.
> Mrs Hale | rule tag 0.98 Mrs Hale | ‘Who are you?’
> - | rule teller 0.90 - | ‘Nobody,’
+ | rule goes-on 0.98 + | “A sailor laughed. ‘Two fools,’ said he.”
> - | rule teller 0.90 - | ‘Two fools,’
"""
SPOKEN = [
    ("Ada", "“Tell us,”"),
    ("narrator", "said Ada."),
    ("Ben", "“I was a boy,”"),
    ("narrator", "said Ben,"),
    ("Ben", "“and far away."),
    ("Mrs Hale", "“‘Who are you?’"),
    ("Ben", "cried Mrs Hale. I stood still. ‘Nobody,’ said I."),
    ("Ben", "“A sailor laughed. ‘Two fools,’ said he.”"),
]


def write(folder: Path, manifest: str = edited.MANIFEST + VOICES, rows: str | None = ROWS) -> Path:
    return edited.write(folder, TALE, manifest, rows)


def spoken(path: Path) -> list[tuple[str, str]]:
    chapter = read_manuscript(path).chapters[0]
    return [(line.speaker, line.text) for scene in chapter.scenes for line in scene.lines]


def rows(path: Path) -> list[str]:
    lines = (path.parent / "one.speakers.txt").read_text("utf-8").splitlines()[1:]
    return [line.partition(" | ")[0] for line in lines]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def cast(path: Path) -> list[str]:
    """The first columns after `narrator cast --write`."""
    new_characters.write(new_characters.propose(edited.project(path)))
    return rows(path)


def test_the_rules_write_rows_within_the_tale_and_the_tale_stays_with_its_teller(tmp_path):
    path = write(tmp_path, rows=None)
    assert cast(path) == [line.partition(" | ")[0] for line in ROWS.splitlines()[1:]]
    assert spoken(path) == SPOKEN


def test_each_voice_says_what_its_row_has(tmp_path):
    assert spoken(write(tmp_path)) == SPOKEN


def test_a_tag_within_a_tale_is_its_tellers_whatever_tags_are(tmp_path):
    manifest = edited.MANIFEST + "dialogue: {nested: voices, tags: skip}\n"
    assert spoken(write(tmp_path, manifest)) == [
        line for line in SPOKEN if line[0] != "narrator"
    ]  # fmt: skip


@pytest.mark.parametrize("manifest", [edited.MANIFEST, edited.MANIFEST + VOICES])
def test_without_rows_within_the_tale_the_teller_says_all_of_it(tmp_path, manifest):
    outer_rows = "".join(line for line in ROWS.splitlines(True) if line[0] != ">")
    path = write(tmp_path, manifest, outer_rows)
    assert {speaker for speaker, _ in spoken(path)[4:]} == {"Ben"}
    told = [str(problem) for problem in find_oddities(read_manuscript(path), [])]
    assert len(told) == (manifest != edited.MANIFEST)
    assert all("“Who are you?” (and in 2 more places) is the teller’s" in one.replace("'s", "’s")
               for one in told)  # fmt: skip


def test_without_the_option_its_rows_go_and_a_persons_stay_unused(tmp_path):
    path = write(tmp_path)
    change(path.parent / "one.speakers.txt", "> Mrs Hale | rule", "> Ada | rule")
    change(path, VOICES, "")
    assert {speaker for speaker, _ in spoken(path)[4:]} == {"Ben"}
    [told] = [str(problem) for problem in find_oddities(read_manuscript(path), [])]
    assert UNUSED_NESTED in told
    assert cast(path) == ["Ada", "Ben", "+", "+", "> Ada", "+"]


def test_who_changes_the_teller_changes_the_tale_and_nobody_who_speaks_in_it(tmp_path):
    path = write(tmp_path)
    change(path.parent / "one.speakers.txt", "Ben | rule", "Ada | rule")
    assert cast(path) == ["Ada", "Ada", "+", "+", "> Mrs Hale", "> -", "+", "> -"]
    assert [speaker for speaker, _ in spoken(path) if speaker != "narrator"] == [
        "Ada", "Ada", "Ada", "Mrs Hale", "Ada", "Ada",
    ]  # fmt: skip


# words of a chunk, those that are meant, and the rows after they were given to Ada
GIVEN_TO_ADA = {
    "what is quoted": ("‘Who are", "", {4: "> Ada"}),
    "the tale": ("A sailor", "A sailor laughed.", {1: "Ada", 2: "+", 3: "+", 6: "+"}),
    "a part of what the teller says": ("A sailor", "‘Two fools,’", {7: "> Ada"}),
}


@pytest.mark.parametrize(("words", "meant", "new_rows"), GIVEN_TO_ADA.values(), ids=GIVEN_TO_ADA)
def test_a_chunk_is_given_to_another(tmp_path, words, meant, new_rows):
    path = write(tmp_path)
    book = edited.plan(path)
    edited.made(path, edits.speaker_edit(book, edited.step(book, words), "Ada", None, meant))
    assert rows(path) == [
        new_rows.get(index, row.partition(" | ")[0])
        for index, row in enumerate(ROWS.splitlines()[1:])
    ]


def test_an_edit_of_the_words_moves_no_row(tmp_path):
    path = write(tmp_path)
    change(path.parent / "one.md", "‘Nobody,’", "‘Nobody at all,’")
    change(path.parent / "one.md", "“A sailor", "“‘Ha!’ A sailor")
    assert [line for line in spoken(path) if line[0] == "Mrs Hale"] == [SPOKEN[5]]


def test_a_tale_and_what_is_quoted_in_it_are_turns_of_an_exchange(tmp_path):
    proposal = new_characters.propose(edited.project(write(tmp_path)))
    [exchange] = exchanges.all_exchanges(proposal)
    assert exchange.speakers == ("Ada", "Ben", "Mrs Hale")
    passages = [passage for passage in exchanges.passages(proposal, exchange) if passage.spans]
    texts = [passage.text[start:stop] for passage in passages for start, stop in passage.spans]
    assert texts == [
        "“Tell us,”", "“I was a boy,”", "“and far away.", "“", "‘Who are you?’",
        "“A sailor laughed. ‘Two fools,’ said he.”",
    ]  # fmt: skip
    _, edit = exchanges.apply_decision(
        proposal, exchange.id, 2, exchanges.Decision.THIS_TURN, "Ada"
    )
    edited.made(tmp_path / "book.yaml", edit)
    assert rows(tmp_path / "book.yaml")[4:6] == ["> Ada", "> -"]
