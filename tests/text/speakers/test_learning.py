"""Weights are learnt from the choices that the program meets at annotated quotations."""

from __future__ import annotations

import pytest

from narrator.text.speakers import Character

learn_speakers = pytest.importorskip("benchmarks.learn_speakers", exc_type=ImportError)

TALK = [
    "“Is it late?” asked Ada.", "“It is,” said Ben.", "“Then go.”", "“I will not.”",
    "Ada laughed. “Why?”",
]  # fmt: skip
QUOTED_WORDS = [
    (words.split(), speaker)
    for words, speaker in (
        ("is it late", 0), ("it is", 1), ("then go", 0), ("i will not", 1), ("why", 0),
    )
]  # fmt: skip


def test_a_quotation_without_a_name_in_its_tag_is_an_example():
    cast = [Character("Ada"), Character("Ben")]
    reading = learn_speakers.read(learn_speakers.Excerpt([TALK], cast, QUOTED_WORDS))
    assert reading.right == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}
    assert learn_speakers.decide(reading) == reading.right
    answers = [answer for _, answer in learn_speakers.examples(reading, reading.right)]
    assert len(answers) == 3
