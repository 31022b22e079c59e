"""What is taken for printed dialogue and what is not, on texts of many kinds and languages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from narrator.importing import import_book
from tests.manuscripts.printed_dialogue import Sample, documents, scripts

LEAST = 0.95


def imported(folder: Path, text: str, name: str, choices: Choices = Choices()) -> Book:  # noqa: B008
    path = folder / name
    path.write_text(text, "utf-8")
    return import_book(path, choices)


def one_way_each(samples: Iterable[Sample]) -> list[Sample]:
    """Each text in one of its layouts, in turn."""
    texts = [list(group) for _, group in groupby(samples, lambda s: s.name.partition("/")[0])]
    return [ways[7 * number % len(ways)] for number, ways in enumerate(texts)]


def speakers_of(sample: Sample, folder: Path) -> frozenset[str]:
    """Who speaks in a sample, by names without their signs."""
    path = folder / f"{sample.name.replace('/', '-')}{sample.suffix}"
    sample.write(path)
    try:
        book = import_book(path)
    except ImportFailed:  # all of it is front matter
        return frozenset()
    return spelt(speaker.name for speaker in book.speakers)


def spelt(names: Iterable[str]) -> frozenset[str]:
    return frozenset("".join(filter(str.isalnum, name.casefold())) for name in names)


def check_figures(samples: list[Sample], folder: Path) -> None:
    """Hold precision and recall of what is declared a dialogue."""
    found = [(sample, speakers_of(sample, folder)) for sample in samples]
    missed = [s.name for s, names in found if s.speakers and names != spelt(s.speakers)]
    false = [s.name for s, names in found if names and not s.speakers]
    right = sum(bool(s.speakers) for s, _ in found) - len(missed)
    assert right / (right + len(missed)) >= LEAST, missed
    assert right / (right + len(false)) >= LEAST, false


def test_texts_of_many_kinds_are_told_apart(tmp_path: Path) -> None:
    check_figures([*one_way_each(scripts()), *one_way_each(documents())], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [False, True])
def test_texts_are_told_apart_in_every_layout(tmp_path: Path, held_out: bool) -> None:
    samples = [*scripts(), *documents()]
    check_figures([sample for sample in samples if sample.is_held_out == held_out], tmp_path)


FORM = "\n\n".join(
    f"Warden: {name}\n\nKeeper: {place}\n\nLedger: {number} rows." for name, place, number in
    (("R. Hale", "north store", 4), ("S. Imrie", "quay", 19), ("none", "west store", 7))
).replace("Keeper: quay\n\nLedger: 19 rows.", "Ledger: 19 rows.\n\nKeeper: quay")  # fmt: skip


def test_a_text_that_only_looks_like_a_script_is_prose_and_says_so(tmp_path: Path) -> None:
    book = imported(tmp_path, FORM, "form.txt")
    assert book.speakers == ()
    remark = next(remark for remark in book.remarks if "--as script" in remark)
    assert "“Warden”, “Keeper”, “Ledger” begin 9 paragraphs" in remark


@pytest.mark.parametrize("name", ["form.txt", "form.md"])
def test_a_user_may_say_that_a_text_is_a_script(tmp_path: Path, name: str) -> None:
    book = imported(tmp_path, FORM, name, Choices(reading="script"))
    assert [speaker.name for speaker in book.speakers] == ["Warden", "Keeper", "Ledger"]


PLAY = "ACT I\n\nROPER. Are you here?\n\nMORE. I am.\n\nROPER. Why?\n\nMORE. You called me.\n"


@pytest.mark.parametrize("name", ["play.txt", "play.md", "play.fountain"])
def test_a_user_may_say_that_a_text_is_prose(tmp_path: Path, name: str) -> None:
    text = PLAY if not name.endswith("fountain") else "INT. HOUSE - DAY\n\nROPER\nAre you here?\n"
    assert imported(tmp_path, text, name).speakers
    book = imported(tmp_path, text, name, Choices(reading="prose"))
    assert book.speakers == ()
    assert "Are you here?" in book.chapters[0].markdown


def test_a_script_without_names_says_that_there_are_none(tmp_path: Path) -> None:
    text = "It rained all day.\n\nNobody came to the bridge.\n"
    book = imported(tmp_path, text, "rain.txt", Choices(reading="script"))
    assert any(remark.startswith("--as script: no names") for remark in book.remarks)


TALK = [("Anna", "Are you here?"), ("Ben", "I am."), ("Anna", "Why?"), ("Ben", "You called me.")]


@pytest.mark.parametrize(
    ("around", "row", "is_talk"),
    [
        ("<div>{}</div>", "<p>{}: {}</p>", True),
        ("<ul>{}</ul>", "<li>{}: {}</li>", False),
        ("<ol>{}</ol>", "<li><p><b>{}:</b> {}</p></li>", False),
    ],
)
def test_items_of_a_list_are_no_speeches(
    tmp_path: Path, around: str, row: str, is_talk: bool
) -> None:
    body = around.format("".join(row.format(*turn) for turn in TALK * 2))
    book = imported(tmp_path, f"<html><body><h1>Talk</h1>{body}</body></html>", "talk.html")
    assert bool(book.speakers) == is_talk


@pytest.mark.parametrize("label", ["October {0}", "£{0}00", "Ingredients", "10–{0}", "Week {0}"])
def test_dates_amounts_and_fields_are_no_speakers(tmp_path: Path, label: str) -> None:
    turns = [f"{label.format(n % 2 + 1)}: Do you see what I see?" for n in range(10)]
    book = imported(tmp_path, "\n\n".join(turns), "list.txt")
    assert book.speakers == ()


@pytest.mark.parametrize(
    "label", ["Speaker {0}", "SPEAKER_0{0}", "{0}. Bürger", "Mr. {0}hale", "{0}. OTTO"]
)
def test_numbers_may_be_a_part_of_names(tmp_path: Path, label: str) -> None:
    turns = [f"{label.format(n % 2 + 1)}: Do you see what I see?" for n in range(10)]
    assert len(imported(tmp_path, "\n\n".join(turns), "list.txt").speakers) == 2


@pytest.mark.parametrize("time", ["[03.05.24, 10:0{0}:12] ", "5/3/24, 10:0{0} PM - "])
def test_dates_and_times_of_messages_are_left_out(tmp_path: Path, time: str) -> None:
    turns = [f"{time.format(n)}{name}: {said}" for n, (name, said) in enumerate(TALK)]
    book = imported(tmp_path, "\n".join(turns), "chat.txt")
    assert book.chapters[0].markdown.startswith("Anna: Are you here?\n\nBen: I am.")
    assert {item.reason for item in book.left_out} == {"time of a transcript"}


def test_chapters_that_are_named_after_persons_are_no_play(tmp_path: Path) -> None:
    said = "“Are you here?” she asked. “I am,” he said, and went to the window. It rained. "
    chapters = [f"{name}\n\n{said * 4}" for name in ("ANNA", "PAUL") * 4]
    assert imported(tmp_path, "\n\n".join(chapters), "novel.txt").speakers == ()


def test_surnames_that_are_words_of_forms_are_names(tmp_path: Path) -> None:
    names = ("Walter White", "Doris Day")
    turns = [f"{names[n % 2]}: Do you see what I see?" for n in range(10)]
    book = imported(tmp_path, "\n\n".join(turns), "talk.txt")
    assert {speaker.name for speaker in book.speakers} == set(names)
