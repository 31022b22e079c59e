"""`cast --model`: a stub stands for the language model, which a person's rows are not put to."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from narrator.engines import models, reader
from narrator.errors import EngineUnavailable
from tests.readers import StubReader

MANIFEST = """\
title: Tea
author: A. Author
speakers:
  narrator: {}
  Ada: {pronoun: she}
  Ben: {pronoun: he}
  Bess: {pronoun: she}
chapters:
  - {title: One, file: text/one.md}
"""
TEXT = """\
Ada, Ben and Bess sat down. It rained.

“I know,” whispered Ada.

“The tea is cold.”

“It was never hot.”

“Then make another pot,” said somebody.
"""


def answer(question: str) -> str:
    """Says that Bess speaks of tea, and Ben else."""
    if "Paragraph:" in question:
        return "whispering"
    return "Bess" if "tea" in question else "Ben"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "one.md").write_text(TEXT, "utf-8")
    (tmp_path / "book.yaml").write_text(MANIFEST, "utf-8")
    return tmp_path


@pytest.fixture
def stub(monkeypatch):
    model = StubReader(answer, probability=0.98, line="**A voice** of old tea\nand more")
    monkeypatch.setattr(reader, "load", lambda model_files, tell: model)
    return model


def speakers(narrator, book, *options):
    code, said, _ = narrator("cast", book, *options, "--json")
    assert code == 0
    return [(one["speaker"], one["by"]) for one in json.loads(said)["quotes"]]


def test_a_model_decides_what_is_weak(narrator, book, stub):
    found = speakers(narrator, book, "--model", "auto")
    assert found[0][0] == "Ada"
    assert found[0][1] != "stub"
    assert found[1] == ("Bess", "stub")
    assert found[-1] == ("Ben", "stub")


def test_its_rows_are_written_as_a_models_and_stay_without_it(narrator, book, stub):
    assert narrator("cast", book, "--model", "auto", "--write")[0] == 0
    rows = (book / "text" / "one.speakers.txt").read_text("utf-8")
    assert re.search(r"^Bess \| model stub 0\.\d\d Bess \| “The tea is cold.”$", rows, re.MULTILINE)
    assert speakers(narrator, book)[1] == ("Bess", "stub")


def test_a_persons_row_is_not_asked_about_and_is_shown(narrator, book, stub):
    assert narrator("cast", book, "--write")[0] == 0
    path = book / "text" / "one.speakers.txt"
    path.write_text(
        re.sub(r"(?m)^.*(?= \| rule .*tea is cold)", "Ben", path.read_text("utf-8")), "utf-8"
    )
    assert speakers(narrator, book, "--model", "auto")[1] == ("Ben", "you")
    assert not any("tea is cold" in question for question in stub.questions)
    assert "[2: Ben] “The tea is cold.”" in stub.prompts[0]


def test_what_was_answered_is_not_asked_again(narrator, book, stub):
    first = speakers(narrator, book, "--model", "auto")
    asked = len(stub.questions)
    assert asked
    assert speakers(narrator, book, "--model", "auto") == first
    assert len(stub.questions) == asked
    assert (book / "build" / "cast" / "answers.jsonl").is_file()


def test_it_proposes_voices_and_styles_and_writes_none(narrator, book, stub, monkeypatch):
    monkeypatch.setattr("narrator.text.speakers.proposing.MIN_QUOTATIONS", 1)
    before = (book / "book.yaml").read_bytes()
    code, said, _ = narrator("cast", book, "--model", "auto", "--describe")
    assert code == 0
    assert "Ada: {voice: {description: 'A voice of old tea'}}" in said
    assert re.search(r"one\.md:3: Ada \(whispering\) 0\.98: “I know,”", said)
    assert (book / "book.yaml").read_bytes() == before
    said = json.loads(narrator("cast", book, "--model", "auto", "--describe", "--json")[1])
    assert {"name": "Ada", "description": "A voice of old tea"} in said["voices"]
    assert [one["style"] for one in said["styles"]] == ["whispering"]


def test_describing_needs_a_model(narrator, book):
    code, _, told = narrator("cast", book, "--describe")
    assert (code, "--model auto" in told) == (2, True)


def test_what_is_missing_is_said_in_a_line(narrator, book, monkeypatch, tmp_path):
    monkeypatch.setattr(models, "_hub_cache", lambda: tmp_path / "hub")
    monkeypatch.setattr(reader, "_import_mlx_lm", lambda: None)
    code, _, told = narrator("cast", book, "--model", "some/model")
    assert (code, told.count("\n")) == (EngineUnavailable.exit_code, 1)
    assert "`narrator models pull some/model` fetches it" in told
