"""Characters of a paragraph are found in its source, in time that does not explode."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrator.pipeline.edits.aligning import aligned
from tests.effort import cpu_seconds


@pytest.mark.parametrize(
    ("source", "text", "written"),
    [
        (
            "He *ran* [up](http://x (y)) &amp; `down`.",
            "He ran up & down.",
            "He ran up &amp; down.",
        ),
        ("> He\n> ran &mdash; and\\\n> ran.", "He ran — and ran.", "He\nran &mdash; and\nran."),
        ("Ada (low): Ada: no.", "Ada: no.", "Ada: no."),
        (
            "{Ada: {U|yoo} \\*is\\*} [sic] [pause 1s] here.[^1]",
            "U *is* [sic] here.",
            "U *is* [sic] here.",
        ),
        ("<b>x</b> < y <br> ![p](q)z", "x < y z", "x < y z"),
        ("## 1. One", "1. One", "1. One"),
        ("no\n\nyes", "yes", "yes"),
    ],
)
def test_each_character_is_found(source, text, written):
    found = aligned(source, text)
    assert found is not None
    assert len(found) == len(text)
    assert "".join(source[start:stop] for start, stop in found) == written


def test_what_does_not_stand_there_is_not_found():
    assert aligned("He ran.", "She ran.") is None


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("&amp; " * 3000, "& " * 100 + "x"),
        ("{a|b}" * 3000, "a" * 500 + "c"),
        ("[ " * 5000, "[ " * 100 + "x"),
        ("a" * 20_000, "a" * 300 + "b"),
        ("w > * _ [ ] " * 2000, "w " * 100 + "x"),
        ("{a: " * 3000, "w"),
        ("<a " * 5000, "w"),
        ("[" * 3000 + "](" * 3000, "w"),
    ],
)
def test_time_does_not_explode(source, text):
    assert cpu_seconds(lambda: aligned(source, text)) < 5


@given(st.text(alphabet="ab *_[]{}|\\<>&;:()`\n#.1", max_size=60))
def test_any_source_is_gone_through(source):
    text = " ".join(source.split())
    found = aligned(source, text)
    if text and found is not None:
        assert len(found) == len(text)
        assert all(one[1] <= two[0] for one, two in pairwise(found))
