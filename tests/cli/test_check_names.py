from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from narrator.text import vocabulary
from tests import walks

TEXT = """\
Marilla went to Avonlea; Marilla's carriage wasn't old. She'll go, said MARILLA, with Mrs. Lynde.

Ada: It's 12 miles to Pye-on-Wye, and {Bingen|bing-en} is far.

[language: de]

Die Straßenbahnhaltestelle gehört Kvothe.

[language: off]
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    walks.write(tmp_path)
    (tmp_path / "out.md").write_text(TEXT)
    return tmp_path


def names(narrator, book):
    code, said, errors = narrator("check", book, "--names", "--json")
    assert code == 0, errors
    return [(row["word"], row["language"], row["count"]) for row in json.loads(said)["names"]]


def test_words_that_no_list_knows_are_counted(narrator, book):
    found = names(narrator, book)
    assert found[0] == ("Marilla", "en-GB", 3)
    assert ("Kvothe", "de", 1) in found
    assert {word for word, _, _ in found} == {"Marilla", "Avonlea", "Lynde", "Pye", "Kvothe"}


def test_what_the_lexicon_or_the_text_says_is_known(narrator, book):
    manifest = book / "book.yaml"
    entry = "lexicon: [{word: Marilla, say: Ma-rilla}]\n"
    manifest.write_text(manifest.read_text() + entry)
    words = {word for word, _, _ in names(narrator, book)}
    assert "Marilla" not in words
    assert "Bingen" not in words
    assert "Avonlea" in words


def test_each_is_a_line_with_its_first_place(narrator, book):
    code, said, _ = narrator("check", book, "--names")
    assert code == 0
    assert f"Marilla, 3 times, 1.1 {book}/out.md:1: Marilla went to Avonlea; Marilla…" in said
    assert "Kvothe (de), once, " in said
    assert "`lexicon: [{word: Marilla, say: …}]` says how one is spoken" in said


def test_a_language_without_a_list_is_said(narrator, book):
    (book / "out.md").write_text("[language: zh]\n\n你好。\n\n[language: off]\n")
    (book / "home.md").write_text("They came home.\n\nAda: At last.\n")
    said = narrator("check", book, "--names")[1]
    assert "no word that the lists do not know" in said
    assert "no list of words for zh" in said


def test_without_the_lists_it_says_how_to_get_them(narrator, book, monkeypatch):
    monkeypatch.setattr(vocabulary, "find_spec", lambda name: None)
    code, _, errors = narrator("check", book, "--names")
    assert code == 3
    assert "[names]" in errors
    assert importlib.util.find_spec("simplemma")


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("Dinah’ll run to the Lory’s nest", "en", ["Dinah", "Lory"]),
        ("they'd don't won't it'll we've", "en", []),
        ("L’homme de Zorglub", "fr", ["Zorglub"]),
        ("her yer Yer", "en", ["Yer"]),
        ("你好", "zh", []),
        ("", "en", []),
    ],
)
def test_strangers(text: str, language: str, found: list[str]) -> None:
    strangers = list(vocabulary.unknown_words(text, language))
    assert [word for _, word in strangers] == found
    assert all(text[at : at + len(word)] == word for at, word in strangers)
