from __future__ import annotations

import re

import pytest

from narrator.text.quotations import Quotation
from narrator.text.speakers import AttributedQuotation, Attribution, Character, proposing
from narrator.text.speakers.answers import Answers

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


class Writer:
    """Writes what it is told to, and chooses the style that it is told to."""

    name, identity, max_prompt_tokens = "stub", "stub-1", 32_000

    def __init__(self, line: str = "An old, shrill voice", style: str = "whispering") -> None:
        self.line, self.style = line, style
        self.prompts: list[str] = []
        self.questions: list[str] = []

    def count_tokens(self, text):
        return len(text) // 4

    def write(self, message, most):
        self.prompts.append(message)
        return self.line

    def option_probabilities(self, shared, questions, options):
        self.questions += questions
        code = re.search(rf"^([A-Z]) = {self.style}$", shared, re.MULTILINE)[1]
        return [
            [0.9 if o == code else 0.1 / (len(options) - 1) for o in options] for _ in questions
        ]


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


def described(writer, answers=None, **options):
    answers = answers or Answers()
    return proposing.propose_descriptions(
        BOOK, attribution(), writer, answers, language="en", **options
    )


def test_those_who_say_enough_are_described_from_the_book():
    writer = Writer()
    assert described(writer) == [proposing.Description("Ada", "An old, shrill voice")]
    (prompt,) = writer.prompts
    assert "Ada was an old woman with a shrill voice" in prompt
    assert "Miss Lovel laughed hoarsely" in prompt
    assert "“Then stay.”" in prompt
    assert "river" not in prompt


def test_who_says_most_comes_first(monkeypatch):
    monkeypatch.setattr(proposing, "MIN_QUOTATIONS", 1)
    assert [one.name for one in described(Writer())] == ["Ada", "Ben"]


def test_a_description_is_asked_for_once(tmp_path):
    path = tmp_path / "answers.jsonl"
    first = described(Writer(), Answers(path))
    again = Writer("Another")
    assert described(again, Answers(path)) == first
    assert not again.prompts


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
    assert described(Writer("***")) == []


def test_lines_whose_paragraph_says_how_get_a_style():
    writer = Writer()
    found = proposing.propose_styles(BOOK, attribution(), writer, Answers())
    assert len(writer.questions) == 3  # whispered twice, laughed once; "said" tells nothing
    assert {one.style for one in found} == {"whispering"}
    assert all("Ben" not in question for question in writer.questions)


def test_none_of_the_styles_is_no_proposal():
    assert (
        proposing.propose_styles(BOOK, attribution(), Writer(style="none of these"), Answers())
        == []
    )


def test_styles_are_asked_for_once():
    answers = Answers()
    first = proposing.propose_styles(BOOK, attribution(), Writer(), answers)
    again = Writer(style="shouting")
    assert proposing.propose_styles(BOOK, attribution(), again, answers) == first
    assert not again.questions
