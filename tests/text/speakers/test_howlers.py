"""The benchmark of howlers: which voices cannot be right, told from the text."""

from __future__ import annotations

import pytest

from benchmarks.howlers import Book, howlers
from narrator.text.quotations import quotations
from narrator.text.speakers import AttributedQuotation, Attribution, Character

CAST = (Character("Ada Hall", ("Ada",), "she"), Character("Mr. Henry Baker"), Character("Miss Low"))
SOMEBODY = "Ada and Miss Low met Mr. Baker."


@pytest.mark.parametrize(
    ("chapter", "speaker", "kinds"),
    [
        ([SOMEBODY, "“Come,” said Ada."], "Ada Hall", []),
        (["They lived in Baker Street.", "“Come,” said he."], "Mr. Henry Baker", ["absent"]),
        (["Ada met Henry Baker.", "“Come,” said he."], "Mr. Henry Baker", []),
        (["Mrs. Low was out.", "“Come.”"], "Miss Low", ["absent"]),
        (["Low was out.", "“Come.”"], "Miss Low", []),
        (["I knew that I was late, and I ran.", "“Come,” I said."], "Ada Hall", []),
        ([SOMEBODY, "“Come,” said he."], "Miss Low", ["sex"]),
        ([SOMEBODY, "“Come,” said the old lady, “in.”"], "Mr. Henry Baker", ["sex"]),
        ([SOMEBODY, "Ada knew. She said, “Come.”"], "Mr. Henry Baker", ["sex"]),
        ([SOMEBODY, "“Come.” He said nothing."], "Miss Low", []),
        ([SOMEBODY, "“Come.”"], "the Hall", ["thing"]),
    ],
)
def test_howlers_are_told_from_the_text(chapter: list[str], speaker: str, kinds: list[str]) -> None:
    rows = tuple(
        AttributedQuotation(0, quotation, speaker, 0.9, "turns")
        for quotation in quotations(chapter, "en")[:1]
    )
    book = Book("book", [""], [chapter], Attribution((*CAST, Character("the Hall")), rows))
    assert [howler.kind for howler in howlers(book, ["the Hall"])] == kinds
