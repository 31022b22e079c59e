"""How help and messages about the command line name arguments and values."""

from __future__ import annotations

import re

import pytest

from tests import commands_page


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("render", "narrator render [OPTIONS] [BOOK]"),
        ("new", "narrator new [OPTIONS] FOLDER"),
        ("verify", "narrator verify [OPTIONS] FILES..."),
        ("pin", "narrator pin [OPTIONS] CHUNK TRY [BOOK]"),
        ("voices add", "narrator voices add [OPTIONS] NAME [CLIP]"),
        ("models pull", "narrator models pull [OPTIONS] [SPEC]"),
    ],
)
def test_arguments_are_in_capitals(narrator, command, usage):
    code, said, _ = narrator(*command.split(), "--help")
    assert (code, said.splitlines()[0]) == (0, f"Usage: {usage}")


def test_a_missing_argument_is_named_as_in_the_usage(narrator):
    code, _, errors = narrator("new")
    assert (code, "Missing argument 'FOLDER'" in errors) == (2, True)


def test_no_type_of_python_and_no_formula_is_shown():
    for entry in commands_page.entries():
        names = [name for name, _ in entry.rows]
        texts = [text for _, text in entry.rows]
        assert not re.search(r"[<>{}]", " ".join([entry.usage, *names])), entry.name
        assert not re.search(r"<=|>=", " ".join(texts)), entry.name
