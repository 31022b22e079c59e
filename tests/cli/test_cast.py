"""The command `cast`: the table, the list of what to look at, JSON, and questions in a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rich.console import Console

from narrator.cli.review import Review, reading_keys
from narrator.pipeline import attribution
from narrator.pipeline.new_characters import propose
from narrator.project.load import load
from narrator.text.speakers import Character
from tests import books
from tests.attributions import Decision, attribute_by_words

Narrator = Callable[..., tuple[int, str, str]]

MANIFEST = """\
title: Tea
author: A. Author
speakers:
  narrator: {}
  Ada: {aliases: [Miss Lovell], pronoun: she}
  Ben Hall: {pronoun: he}
  Bess: {}
chapters:
  - {title: One, file: text/one.md}
  - {title: Two, file: text/two.md}
"""
ONE = """\
It rained.

“I know,” she said, “but not now.”

“The tea is cold.”

The clock had stopped.
"""
TWO = "“Make another pot,” somebody said.\n\n“I shall.” It was “tea”.\n"
DECISIONS: dict[str, Decision] = {
    "know": ("Ada", 0.95, "tag"),
    "not now": ("Ada", 0.95, "tag"),
    "cold": ("Ben Hall", 0.4, "turn"),
    "another": (None, 0.0, "bare"),
    "shall": ("Ada", 0.7, "turn"),
    "“tea”": (None, 0.97, attribution.NO_SPEECH),
}


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> dict[str, Decision]:
    """Decisions by a part of the words, which a test may change."""
    decisions = dict(DECISIONS)
    attribute = attribute_by_words(
        decisions,
        (Character("Ada", (), "she"),),
        alternatives={"turn": (("Bess", 0.3),)},
        continuing_words="not now",
    )
    monkeypatch.setattr(attribution, "attribute", attribute)
    return decisions


@pytest.fixture
def book(tmp_path: Path, ruled: Mapping[str, object]) -> Path:
    return books.write(tmp_path, MANIFEST, ONE, TWO)


def rows(book: Path, chapter: str = "one") -> list[str]:
    path = book.parent / "text" / f"{chapter}.speakers.txt"
    return path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []


# -- what is shown


def test_it_shows_the_cast_and_what_to_look_at(narrator: Narrator, book: Path) -> None:
    code, said, complaints = narrator("cast", book)
    assert (code, complaints) == (0, "")
    lines = said.splitlines()
    assert lines[0] == "Tea: 2 characters, 5 quotations"
    assert lines[2].split() == ["Ada", "she", "2", "40.0%", "Miss", "Lovell"]
    assert "speakers without lines: Bess" in lines
    assert "1 sure, 2 doubtful, 1 unknown, 1 nobody's speech" in lines
    looked = [line for line in lines if ".md:" in line]
    assert [line.partition(": ")[2] for line in looked] == [
        "“Make another pot,”  nobody known",
        "“The tea is cold.”  Ben Hall 0.40, or Bess",
        "“I shall.”  Ada 0.70, or Bess",
    ]
    assert looked[0].startswith(f"{book.parent}/text/two.md:1: ")
    assert f"Next: narrator cast {book} --write" in said


def test_nothing_is_written_unless_it_is_wanted(narrator: Narrator, book: Path) -> None:
    before = sorted(book.parent.rglob("*"))
    narrator("cast", book)
    narrator("cast", book, "--json")
    assert sorted(book.parent.rglob("*")) == before


def test_it_names_those_whose_pronoun_is_unknown(
    narrator: Narrator, book: Path, ruled: dict[str, Decision]
) -> None:
    _, said, _ = narrator("cast", book)
    assert "pronoun unknown" not in said
    ruled["cold"] = ("Bess", 0.4, "turn")
    _, said, _ = narrator("cast", book)
    assert "pronoun unknown, voice guessed; set `pronoun:` (he, she…) for Bess\n" in said


def test_the_weakest_twenty_are_listed_or_all(narrator: Narrator, book: Path) -> None:
    one = "".join(f"“The tea is cold {n}.”\n\n" for n in range(25))
    (book.parent / "text" / "one.md").write_text(one, encoding="utf-8")
    _, said, _ = narrator("cast", book)
    assert said.count(".md:") == 20
    assert "and 7 more, surer ones; --all lists them" in said
    _, said, _ = narrator("cast", book, "--all")
    assert said.count(".md:") == 27


def test_json_has_the_cast_and_the_quotations_in_order(narrator: Narrator, book: Path) -> None:
    code, said, _ = narrator("cast", book, "--json")
    answer = json.loads(said)
    assert code == 0
    assert answer["cast"] == [
        {"name": "Ada", "aliases": ["Miss Lovell"], "pronoun": "she", "lines": 2},
        {"name": "Ben Hall", "aliases": [], "pronoun": "he", "lines": 1},
        {"name": "Bess", "aliases": [], "pronoun": None, "lines": 0},
    ]
    assert answer["quotes"][0] == {
        "text": "“I know,”", "speaker": "Ada", "sure": 0.95, "by": "tag", "chapter": 1, "line": 3,
    }  # fmt: skip
    assert [one["speaker"] for one in answer["quotes"]] == [
        "Ada", "Ada", "Ben Hall", None, "Ada", None,
    ]  # fmt: skip
    assert [(one["chapter"], one["line"]) for one in answer["quotes"]][3:] == [
        (2, 1), (2, 3), (2, 3),
    ]  # fmt: skip


def test_json_names_characters_where_a_person_has_decided(narrator: Narrator, book: Path) -> None:
    narrator("cast", book, "--write")
    path = book.parent / "text" / "one.speakers.txt"
    text = path.read_text(encoding="utf-8")
    text = text.replace("Ada | rule", "Miss Lovell | rule").replace("Ben Hall | rule", "- | rule")
    path.write_text(text, encoding="utf-8")
    _, said, _ = narrator("cast", book, "--json")
    quotes = json.loads(said)["quotes"]
    assert [(one["speaker"], one["sure"], one["by"]) for one in quotes[:3]] == [
        ("Ada", 1.0, "you"), ("Ada", 1.0, "you"), (None, 1.0, "you"),
    ]  # fmt: skip


def test_it_writes_files_and_says_what_comes_next(narrator: Narrator, book: Path) -> None:
    code, said, complaints = narrator("cast", book, "--write")
    assert (code, complaints) == (0, "wrote 2 speaker files\n")
    assert rows(book) == [
        "Ada | rule tag 0.95 Ada | “I know,”",
        "+ | rule tag 0.95 + | “but not now.”",
        "Ben Hall | rule turn 0.40 Ben Hall | “The tea is cold.”",
    ]
    assert f"Next: narrator cast {book} --review    asks about 3 of them" in said
    _, _, complaints = narrator("cast", book, "--write")
    assert complaints == "unchanged\n"


def test_a_voice_of_several_is_no_character(narrator: Narrator, book: Path) -> None:
    voices = "  men: {plays: [Tom]}\n  men 2: {plays: [Jim]}\n  other women 3: {plays: [Zoe]}\n"
    book.write_text(book.read_text().replace("chapters:", f"{voices}chapters:"))
    cast = json.loads(narrator("cast", book, "--json")[1])["cast"]
    assert [one["name"] for one in cast] == ["Ada", "Ben Hall", "Bess", "Tom", "Jim", "Zoe"]


def test_names_that_look_wrong_come_before_the_review(narrator: Narrator, written: Path) -> None:
    text = written.read_text().replace("  Bess: {}", "  Ada Hall: {pronoun: she}")
    written.write_text(text.replace("Miss Lovell]", "Sir Ada]"))
    said = narrator("cast", written)[1]
    assert "may be" not in said
    assert f"Next: narrator cast {written} --review" in said  # all is written
    written.write_text(f"{written.read_text()}dialogue: {{cast: found}}\n")
    said = narrator("cast", written)[1]
    assert "may be two: Ada, Sir Ada: to part, give Sir Ada an entry instead of an alias" in said
    assert "Next: look at the names: merge, part, set pronouns" in said
    assert f"then: narrator cast {written} --review" in said


def test_a_name_that_is_misspelt_in_a_row_is_no_alias(narrator: Narrator, written: Path) -> None:
    path = written.parent / "text" / "one.speakers.txt"
    path.write_text(path.read_text().replace("Ben Hall | rule", "Ben Hal | rule"))
    assert "“Ben Hal” is not in the cast; did you mean “Ben Hall”?" in narrator("cast", written)[2]


def test_a_new_name_of_the_same_person_is_no_changed_decision(
    narrator: Narrator, written: Path, ruled: dict[str, Decision]
) -> None:
    written.write_text(written.read_text().replace("Ben Hall: {", "Ben: {aliases: [Ben Hall], "))
    ruled["cold"] = ("Ben", 0.4, "turn")
    assert narrator("cast", written, "--write")[2] == "wrote 1 speaker file\n"
    assert rows(written)[2].startswith("Ben | rule")


def test_what_a_killed_run_left_is_removed(narrator: Narrator, written: Path) -> None:
    part = written.parent / "text" / f".{'0123' * 4}.part"
    part.write_text("half")
    assert narrator("cast", written, "--write")[2] == "unchanged\n"
    assert not part.exists()


def test_what_rules_say_otherwise_than_before_is_said(
    narrator: Narrator, book: Path, ruled: dict[str, Decision]
) -> None:
    assert " changed" not in narrator("cast", book, "--write")[2]
    ruled["cold"] = ("Ada", 0.5, "turn")
    assert "1 decision of rules would change with --write" in narrator("cast", book)[2]
    _, _, errors = narrator("cast", book, "--write")
    assert "one.md:5: “The tea is cold.”  Ben Hall -> Ada\n1 decision of rules changed" in errors
    assert " changed" not in narrator("cast", book, "--write")[2]


def test_lines_by_labels_and_braces_are_counted(narrator: Narrator, book: Path) -> None:
    text = book.parent / "text" / "two.md"
    text.write_text("Bess: Make it.\n\nHe said {Bess: now} and {Ben Hall: then}.\n\nBess: I do.\n")
    said = narrator("cast", book)[1]
    assert "by labels and in braces: Bess 3, Ben Hall 1" in said
    assert "speakers without lines" not in said


def test_the_teller_may_be_named_by_an_alias(narrator: Narrator, book: Path) -> None:
    book.write_text(f"{book.read_text()}dialogue: {{first_person: Miss Lovell}}\n")
    assert narrator("cast", book)[0] == 0
    book.write_text(book.read_text().replace("first_person: Miss Lovell", "first_person: Nobody"))
    code, _, complaints = narrator("cast", book)
    assert code == 2
    assert "unknown speaker 'Nobody'" in complaints


def test_a_book_without_quotations_says_so(narrator: Narrator, book: Path) -> None:
    for name in ("one", "two"):
        (book.parent / "text" / f"{name}.md").write_text("It rained.\n")
    code, said, _ = narrator("cast", book)
    assert code == 0
    assert "no quotation in its narration" in said


def test_a_language_whose_tags_are_not_known_is_the_narrators(
    narrator: Narrator, tmp_path: Path
) -> None:
    manifest = MANIFEST.replace("author: A. Author", "author: A. Author\nlanguage: ko")
    path = books.write(tmp_path, manifest, "“가자.” 그가 말했다.\n", "비가 왔다.\n")
    code, said, problems = narrator("cast", path)
    assert code == 0
    assert "0 sure, 0 doubtful, 1 unknown" in said
    assert f"Next: label lines, or narrator cast {path} --review" in said
    assert "nobody known" not in said
    assert "'ko' tells who speaks: the narrator speaks all of it" in " ".join(problems.split())


def test_a_book_in_one_voice_says_what_finds_who_speaks(narrator: Narrator, tmp_path: Path) -> None:
    one = "It rained.\n\n" + "“The tea is cold.”\n\n" * 20
    manifest = MANIFEST.replace("  Ada: {aliases: [Miss Lovell], pronoun: she}\n", "")
    path = books.write(tmp_path, manifest, one, "It rained.\n")
    hint = f"20 quotations: `narrator cast {path}` finds who speaks"
    assert hint in narrator("check", path)[1]
    assert hint in narrator("plan", path, "--draft")[1]
    assert "finds who speaks" not in narrator("check", books.write(tmp_path))[1]


# -- review


def asked(book: Path, keys: str, **options: bool) -> tuple[tuple[int, int], str]:
    """Decisions, doubtful quotations that are left, and what was shown."""
    shown = io.StringIO()
    given = iter(keys)
    console = Console(file=shown, width=60, highlight=False, markup=False, soft_wrap=True)
    review = Review(propose(load(book)), lambda: next(given, ""), console, **options)
    return review.run(), shown.getvalue()


def deciders(book: Path) -> list[str]:
    """The speaker of each quotation in both chapters, with a `!` for those of a person."""
    columns = [row.split(" | ") for row in (*rows(book), *rows(book, "two"))]
    return [f"{speaker}{'!' * (origin == 'you')}" for speaker, origin, _ in columns]


@pytest.fixture
def written(book: Path, narrator: Narrator) -> Path:
    narrator("cast", book, "--write")
    return book


def test_a_review_shows_the_exchange_with_most_doubt_and_who_may_speak(written: Path) -> None:
    _, shown = asked(written, "q")
    assert "1 of 2  " in shown
    assert "> a unknown? 0%  >>“Make another pot,”<< somebody said.\n" in shown
    assert "  b Ada? 70%  “I shall.” It was “tea”.\n" in shown
    assert "1 Ada   2 Bess   3 Ben Hall\n" in shown


PROPOSED = ["Ada", "+", "Ben Hall", "?", "Ada", "-"]


@pytest.mark.parametrize(
    ("keys", "speakers", "left"),
    [
        ("", PROPOSED, 3),
        ("ss", PROPOSED, 3),
        ("q1", PROPOSED, 3),
        ("1", ["Ada", "+", "Ben Hall", "Ada!", "Ada", "-"], 2),
        ("0", ["Ada", "+", "Ben Hall", "-!", "Ada", "-"], 2),
        ("21", ["Ada", "+", "Ben Hall", "Bess!", "Ada!", "-"], 1),
        ("b", ["Ada", "+", "Ben Hall", "?", "Bess!", "-"], 2),
        ("b2", ["Ada", "+", "Ben Hall", "?", "Bess!", "-"], 2),
        ("2t", ["Ada", "+", "Ben Hall", "Bess!", "Ada!", "-"], 1),
        ("2x", ["Ada", "+", "Ben Hall", "Bess!", "Bess!", "-"], 1),
        ("r2", ["Ada", "+", "Ben Hall", "Bess!", "Bess!", "-"], 1),
        ("rwhall\n", ["Ada", "+", "Ben Hall", "Ben Hall!", "Ben Hall!", "-"], 1),
        ("s\n", ["Ada!", "+!", "Ben Hall!", "?", "Ada", "-"], 2),
        ("sb", ["Ada", "+", "Bess!", "?", "Ada", "-"], 2),
        ("s ", ["Ada", "+", "Ben Hall!", "?", "Ada", "-"], 2),
        ("sa", ["Bess!", "+!", "Ben Hall", "?", "Ada", "-"], 3),
        ("1u", PROPOSED, 3),
        ("r2uu", PROPOSED, 3),
        ("\nu1", ["Ada", "+", "Ben Hall", "Ada!", "Ada", "-"], 2),
    ],
)
def test_a_key_decides_at_once_as_a_person(
    written: Path, keys: str, speakers: list[str], left: int
) -> None:
    (_, open_count), _ = asked(written, keys)
    assert deciders(written) == speakers
    assert open_count == left


def test_what_is_decided_is_not_asked_again(written: Path) -> None:
    assert asked(written, "1\nq")[0] == (2, 1)
    assert "1 of 1  " in asked(written, "\n")[1]
    assert asked(written, "1") == ((0, 0), "")


def test_undo_takes_back_only_what_this_review_decided(written: Path) -> None:
    asked(written, "1q")
    assert "nothing to undo" in asked(written, "u")[1]
    assert deciders(written)[3] == "Ada!"


def test_in_order_it_begins_at_the_beginning(written: Path) -> None:
    _, shown = asked(written, "1", in_order=True)
    assert "a Ada  “I know,” she said, “but not now.”\n> b Ben Hall? 40%" in shown
    assert deciders(written)[2] == "Ada!"


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ("wben\n", "Ben Hall"),
        ("wb\ts\n", "Bess"),
        ("whall\n", "Ben Hall"),
        ("wlovell\r", "Ada"),
        ("wbex\x7fs\n", "Bess"),
    ],
)
def test_another_name_is_typed_as_far_as_it_is_told_apart(
    written: Path, keys: str, name: str
) -> None:
    asked(written, keys)
    assert rows(written, "two")[0] == f"{name} | you | “Make another pot,”"


@pytest.mark.parametrize(
    ("keys", "entry", "speakers"),
    [
        ("wSaul\nhq", "  Saul:\n    pronoun: he\n", "Saul! Ada"),
        ("w Old  Saul\noq", "  Old Saul:\n", "Old Saul! Ada"),
        ("rwSaul\nhq", "  Saul:\n    pronoun: he\n", "Saul! Saul!"),
        ("wSaul\nhwSaul\nq", "  Saul:\n    pronoun: he\n", "Saul! Saul!"),
        ("wSaul\nhuq", "  Saul:\n    pronoun: he\n", "? Ada"),
        ("wSaul\nhuuq", "", "? Ada"),
        ("wSaul\n\x1b\x1bq", "", "? Ada"),
        ("wSaul*\nhq", "", "? Ada"),
    ],
)
def test_a_new_name_is_added_to_the_cast_after_a_question(
    written: Path, keys: str, entry: str, speakers: str
) -> None:
    before = written.read_text()
    _, shown = asked(written, keys)
    assert "” is not in the cast. Add as: h he, s she" in " ".join(shown.split())
    added = re.sub("    kokoro: {voice: .*}\n", "", written.read_text())
    assert added == before.replace("chapters:", f"{entry}chapters:")
    assert " ".join(deciders(written)[3:5]) == speakers


def test_a_name_can_be_given_up_and_wrong_keys_show_the_exchange_again(written: Path) -> None:
    (decisions, _), shown = asked(written, "wxyz\x1b9?xq")
    assert decisions == 0
    assert "nobody of the cast" in shown
    assert "no two speakers here" in shown
    assert shown.count("q quit") > 2


def test_an_order_is_for_questions(narrator: Narrator, written: Path) -> None:
    code, _, complaints = narrator("cast", written, "--in-order")
    assert code == 2
    assert "add --review" in complaints


def test_it_asks_in_a_terminal_alone(narrator: Narrator, written: Path) -> None:
    code, _, complaints = narrator("cast", written, "--review")
    assert code == 2
    assert "this is none" in complaints


def test_a_cast_that_is_not_written_is_not_asked_about(tmp_path: Path, ruled: object) -> None:
    from narrator.cli.review import review
    from narrator.errors import UsageError

    manifest = MANIFEST[: MANIFEST.index("speakers")] + MANIFEST[MANIFEST.index("chapters") :]
    path = books.write(tmp_path, manifest, ONE, TWO)
    with pytest.raises(UsageError, match="--write"):
        review(propose(load(path)))


def test_keys_are_letters_of_a_terminal_without_enter() -> None:
    ours, theirs = pty.openpty()
    try:
        with reading_keys(theirs) as key:
            os.write(ours, "é1".encode())
            assert [key(), key()] == ["é", "1"]
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_that_is_closed_has_no_more_keys() -> None:
    ours, theirs = pty.openpty()
    with reading_keys(theirs) as key:
        os.close(ours)
        assert key() == ""
    os.close(theirs)


@pytest.mark.parametrize("sent", ["\x1b[2~", "\x1b[15~", "\x1b[B", "\x1bOP", "\x1b[1;5C", "\x1bx"])
def test_function_keys_are_no_letters(sent: str) -> None:
    ours, theirs = pty.openpty()
    try:
        with reading_keys(theirs) as key:
            os.write(ours, f"{sent}n".encode())
            assert key() == "n"
            os.write(ours, b"\x1b")
            assert key() == "\x1b"
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_name_that_is_typed_whole_is_meant(
    book: Path, ruled: dict[str, Decision], narrator: Narrator
) -> None:
    book.write_text(book.read_text().replace("  Bess: {}", "  Adam: {aliases: [Bess]}\n  Be: {}"))
    narrator("cast", book, "--write")
    asked(book, "wBe\nq")
    assert rows(book, "two")[0].startswith("Be | you")
    asked(book, "wada\nq")
    assert rows(book)[2].startswith("Ada | you")


@pytest.mark.slow
def test_the_command_asks_in_a_terminal(written: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "30", "TERM": "dumb"}
    command = [sys.executable, "-m", "narrator", "cast", str(written), "--review"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    end = time.monotonic() + 60
    while b"q quit" not in seen and time.monotonic() < end:
        if select.select([ours], [], [], 1)[0]:
            seen += os.read(ours, 65536)
    os.write(ours, b"q")
    assert process.wait(60) == 0, seen.decode()
    os.close(ours)
