"""What an EPUB says of its languages, as marks in the text; what its words deny is not believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.importing import import_book
from tests.build_epub import METADATA, build_epub

WORDS = "Nobody had asked the ferryman to wait and he had never been asked to hurry. " * 4
TEXT = f"<p>{WORDS}</p>"


def markdown(path: Path, body: str, language: str = "en-GB") -> str:
    """The text of a book's one chapter, without the paragraph that all of them end with."""
    metadata = METADATA.replace("en-GB", language)
    epub = build_epub(path / "b.epub", {"a.xhtml": f"<h1>One</h1>{body}{TEXT}"}, metadata=metadata)
    (chapter,) = import_book(epub).chapters
    return chapter.markdown.removeprefix("# One\n\n").removesuffix(f"{WORDS.strip()}\n")


@pytest.mark.parametrize(
    "body",
    [
        '<p xml:lang="el">γνῶθι σεαυτόν</p>',
        '<p lang="el">γνῶθι σεαυτόν</p>',
        '<div xml:lang="el"><p><i>γνῶθι</i> σεαυτόν</p></div>',
        '<p><i xml:lang="el">γνῶθι σεαυτόν</i></p>',
        '<p>“<i xml:lang="el">γνῶθι</i> <b lang="el">σεαυτόν</b>”</p>',
    ],
)
def test_a_block_in_another_language_stands_between_marks(tmp_path: Path, body: str) -> None:
    found = markdown(tmp_path, body)
    assert found.startswith("[language: el]\n\n")
    assert found.endswith("\n\n[language: off]\n\n")
    assert "γνῶθι" in found


def test_blocks_of_one_language_share_their_marks(tmp_path: Path) -> None:
    body = (
        '<blockquote lang="fr"><p>Sous le pont</p><p>coule la Seine</p></blockquote>'
        '<p lang="de_AT">Es war ein Tag.</p>'
    )
    assert markdown(tmp_path, body) == (
        "[language: fr]\n\n> Sous le pont\n>\n> coule la Seine\n\n"
        "[language: de-AT]\n\nEs war ein Tag.\n\n[language: off]\n\n"
    )


def test_a_scene_break_stands_before_the_mark(tmp_path: Path) -> None:
    body = f'{TEXT}<hr/><p lang="fr">Sous le pont</p>'
    assert "\n\n***\n\n[language: fr]\n\nSous le pont\n\n[language: off]\n\n" in markdown(
        tmp_path, body
    )


@pytest.mark.parametrize(
    "body",
    [
        '<p>He said <i lang="fr">merci beaucoup</i> and left.</p>', '<p lang="en-US">He left.</p>',
        '<p lang="und">He left.</p>', '<p lang="x-none">He left.</p>', '<p lang="">He left.</p>',
        '<p lang="el">He left the house again.</p>',
        '<p lang="fr">And that was all there was to it for the day.</p>', '<p lang="fr">1984</p>',
        '<p lang="la">Finis</p>',
    ],
)  # fmt: skip
def test_what_is_in_the_books_language_has_no_marks(tmp_path: Path, body: str) -> None:
    assert "[language" not in markdown(tmp_path, body)


def test_markup_that_calls_the_whole_book_another_is_not_believed(tmp_path: Path) -> None:
    body = '<div lang="nl">' + "<p>Een man liep langs het water.</p>" * 40 + "</div>"
    assert "[language" not in markdown(tmp_path, body, "de")


def test_brackets_of_the_source_are_no_marks(tmp_path: Path) -> None:
    assert markdown(tmp_path, "<p>[language: el]</p>") == "\\[language: el]\n\n"
