"""A language model proposes descriptions of voices, and styles of lines."""

from __future__ import annotations

import re

import pytest

from narrator.text.quotations import Quotation
from narrator.text.speakers import AttributedQuotation, Attribution, Character, proposing
from narrator.text.speakers.answers import Answers
from tests.readers import StubReader

ADA, BEN = Character("Ada", ("Miss Lovel",), "she"), Character("Ben")
BOOK = [
    [
        "Ada was an old woman with a shrill voice, and nobody minded her.",
        "“Go away,” whispered Ada. “I am asleep.”",
        "“I am not,” said Ben.",
        "Miss Lovel laughed hoarsely. “Then stay.”",
        "The river was high that year.",
    ]
]


def writer(line: str = "An old, shrill voice", style: str = "whispering") -> StubReader:
    return StubReader(lambda question: style, line=line)


def attribution():
    said = []
    for place, text in enumerate(BOOK[0]):
        for n, found in enumerate(re.finditer("“[^”]*”", text)):
            who = "Ben" if "Ben" in text else "Ada"
            piece = Quotation(place, found.start(), found.end())
            said.append(AttributedQuotation(0, piece, who, 0.9, "tag", continues_previous=n > 0))
    return Attribution((ADA, BEN), tuple(said))


@pytest.fixture(autouse=True)
def two_lines_are_enough(monkeypatch):
    monkeypatch.setattr(proposing, "MIN_QUOTATIONS", 2)


def described(model, answers=None):
    answers = answers or Answers()
    return proposing.propose_descriptions(BOOK, attribution(), model, answers, language="en")


def test_those_who_say_enough_are_described_from_the_book():
    model = writer()
    assert described(model) == [proposing.Description("Ada", "An old, shrill voice")]
    (prompt,) = model.messages
    assert "Ada was an old woman with a shrill voice" in prompt
    assert "Miss Lovel laughed hoarsely" in prompt
    assert "“Then stay.”" in prompt
    assert "river" not in prompt


def test_who_says_most_comes_first(monkeypatch):
    monkeypatch.setattr(proposing, "MIN_QUOTATIONS", 1)
    assert [one.name for one in described(writer())] == ["Ada", "Ben"]


def test_a_description_is_asked_for_once(tmp_path):
    path = tmp_path / "answers.jsonl"
    first = described(writer(), Answers(path))
    again = writer("Another")
    assert described(again, Answers(path)) == first
    assert not again.messages


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("An old woman, hoarse.", "An old woman, hoarse"),
        ("\n\n  **An old woman**, hoarse\nand more", "An old woman, hoarse"),
        ("Ada: “an old woman”", "an old woman"), ("Ada's voice: low, slow", "low, slow"),
        ("- Voice: low, slow", "low, slow"), ("<think>\n\n</think>\nlow", ""),
        ("# Low {and} [slow] `x` | y", "Low and slow x y"),
        ("low\x07 and\u200b slow", "low and slow"), ("42. 17. ...", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_description_is_one_plain_line(written, line):
    assert proposing.clean_description(written, "Ada") == line


def test_a_long_description_is_cut_at_a_word_or_a_sentence():
    words = proposing.clean_description("low and slow, " * 50)
    assert len(words) <= proposing.MAX_DESCRIPTION
    assert words.endswith(("low", "and", "slow"))
    sentence = "She speaks low and slow, as one who has seen a good many rivers in her life"
    assert proposing.clean_description(f"{sentence}. " * 5) in (sentence, f"{sentence}. {sentence}")
    assert proposing.clean_description("x" * 500) == ""


def test_no_line_of_use_is_no_proposal():
    assert described(writer("***")) == []


def test_lines_whose_paragraph_says_how_get_a_style():
    model = writer()
    found = proposing.propose_styles(BOOK, attribution(), model, Answers())
    assert len(model.questions) == 3  # whispered twice, laughed once; "said" tells nothing
    assert {one.style for one in found} == {"whispering"}
    assert all("Ben" not in question for question in model.questions)


def test_none_of_the_styles_is_no_proposal():
    assert (
        proposing.propose_styles(BOOK, attribution(), writer(style="none of these"), Answers())
        == []
    )


def test_styles_are_asked_for_once():
    answers = Answers()
    first = proposing.propose_styles(BOOK, attribution(), writer(), answers)
    again = writer(style="shouting")
    assert proposing.propose_styles(BOOK, attribution(), again, answers) == first
    assert not again.questions
