"""What a user says about a source: facts, headings, notes; words at line ends, formulas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from manuscripts.hyphens import join, words_of
from narrator.importing import import_book
from tests.build_epub import build_epub
from tests.effort import cpu_seconds
from tests.manuscripts.imports import titles

PROSE = "It was so, and it was not so, as the ferryman said to all of them in the morning.\n"


def imported(folder: Path, text: str, choices: Choices, name: str = "door.txt") -> Book:
    path = folder / name
    path.write_text(text, "utf-8")
    return import_book(path, choices)


# -- facts -----------------------------------------------------------------------------------------


def test_what_a_user_says_counts_more_than_the_source(tmp_path: Path) -> None:
    choices = Choices(title="B", authors=("C", "D"), language="de-AT")
    book = imported(tmp_path, f"A\n\nby X\n\n{PROSE}", choices)
    assert (book.title, book.authors, book.language) == ("B", ("C", "D"), "de-AT")
    assert book.remarks == ()


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("Все счастливые семьи похожи друг на друга.", "ru", "recognised"),
        ("第一回此开卷第一回也作者自云因曾历过一番梦幻之后", "zh", "recognised"),
        ("Kla ta blim bo.", "en", "assumed"),
    ],
)
def test_a_language_is_recognised_or_asked_for(
    tmp_path: Path, text: str, language: str, said: str
) -> None:
    book = imported(tmp_path, text, Choices())
    assert book.language == language
    assert said in book.remarks[-1]


def test_a_language_that_the_text_cannot_be_in_is_not_believed(tmp_path: Path) -> None:
    text = "---\ntitle: A\nlang: en\n---\n\nВсе счастливые семьи похожи друг на друга.\n"
    book = imported(tmp_path, text, Choices(), "a.md")
    assert book.language == "ru"
    assert "the book says en" in book.remarks[-1]


# -- headings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "§ 1 One\n{0}\n§ 2 Two\n\n{0}\nCHAPTER I\n\n{0}"),
        ("a.md", "# A\n\n§ 1 One\n\n{0}\n\n**§ 2 Two**\n\n{0}\n\n# CHAPTER I\n\n{0}"),
    ],
)
def test_headings_are_those_that_a_user_says(tmp_path: Path, name: str, text: str) -> None:
    choices = Choices(heading=re.compile(r"§ \d"))
    book = imported(tmp_path, text.format(PROSE), choices, name)
    assert titles(book)[-2:] == ["§ 1 One", "§ 2 Two"]
    assert book.characters == book.characters_kept + book.characters_left_out


def test_headings_of_an_epub_are_those_that_a_user_says(tmp_path: Path) -> None:
    body = f"<p>§ 1</p><p>{PROSE}</p><p>§ 2</p><p>{PROSE}</p>"
    path = build_epub(tmp_path / "a.epub", {"a.xhtml": body})
    assert titles(import_book(path, Choices(heading=re.compile("§")))) == ["§ 1", "§ 2"]


def test_a_pattern_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textbase.patterns.TIME_LIMIT_S", 0.1)
    with pytest.raises(ImportFailed, match=r"--chapter-heading: .* was given up"):
        imported(tmp_path, "a" * 40 + "\n", Choices(heading=re.compile("(a+)+b")))


def test_a_heading_that_is_nowhere_is_told(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n{PROSE}"
    book = imported(tmp_path, text, Choices(heading=re.compile("Kapitel")))
    assert "no line begins with Kapitel" in book.remarks[0]
    book = imported(tmp_path, text, Choices(heading=re.compile("CHAPTER I$")))
    assert not any("no line" in remark for remark in book.remarks)


# -- notes -----------------------------------------------------------------------------------------

_TEXT = f"CHAPTER I\n\nSo it was.[1]\n\n{PROSE}\n[Footnote 1: Not quite.]\n\nCHAPTER II\n\n{PROSE}"
_MARKDOWN = f"# One\n\nSo it was.[^1]\n\n{PROSE}\n[^1]: Not quite.\n\n# Two\n\n{PROSE}"


@pytest.mark.parametrize(("name", "text"), [("a.txt", _TEXT), ("a.md", _MARKDOWN)])
@pytest.mark.parametrize(
    ("notes", "order"),
    [("in-place", ["So it was", "Not quite.", "ferryman"]),
     ("end", ["So it was", "ferryman", "Not quite."]), ("omit", ["So it was", "ferryman"])],
)  # fmt: skip
def test_notes_are_spoken_where_a_user_says(
    tmp_path: Path, name: str, text: str, notes: str, order: list[str]
) -> None:
    book = imported(tmp_path, text, Choices(notes=notes), name)  # type: ignore[arg-type]
    said = re.sub(r"\[\^1\]:.*", "", book.chapters[0].markdown)
    places = [said.find(words) for words in order]
    assert places == sorted(places)
    assert -1 not in places
    assert ("Not quite" in said) == (notes != "omit")
    assert book.characters == book.characters_kept + book.characters_left_out


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("They went on horseback", "They went on horseback"),
        ("He never came back", "He never came back"), ("See the Return", "See the Return"),
        ("A note. Back", "A note."), ("A note (back)", "A note"), ("A note. ↩︎", "A note."),
        ("1805 was a bad year.", "1805 was a bad year."),
    ],
)  # fmt: skip
def test_words_of_a_note_are_no_way_back_from_it(tmp_path: Path, note: str, said: str) -> None:
    text = f"# One\n\nSo it was.[^2]\n\n{PROSE}\n\n[^2]: {note}\n"
    book = imported(tmp_path, text, Choices(notes="in-place"), "door.md")
    rows = [row for row in book.chapters[0].markdown.split("\n") if row]
    assert said in rows


@pytest.mark.parametrize("unit", ["1", "1-", "Mon-", "ha-"])
def test_runs_without_a_space_take_time_in_proportion(unit: str) -> None:
    text = unit * 40_000
    found: list[str] = []
    assert cpu_seconds(lambda: found.append(join(text, words_of(text)))) < 5  # else minutes
    assert found == [text]


@pytest.mark.parametrize("mark", ["[1]", "{1}", "(1)", "¹"])
@pytest.mark.parametrize("notes", ["in-place", "omit"])
def test_numbered_notes_of_plain_text_are_known_by_their_references(
    tmp_path: Path, mark: str, notes: str
) -> None:
    notes_of = f"{mark} Six feet two.\n{mark} Odd.\n"
    text = f"CHAPTER I\n\nHe was tall.{mark} So was m².\n\n{PROSE}\n{notes_of}"
    book = imported(tmp_path, text, Choices(notes=notes))  # type: ignore[arg-type]
    said = book.chapters[0].markdown
    assert "He was tall. So was m²." in said
    assert ("Six feet two." in said) == (notes == "in-place")
    assert mark not in said.replace("\\", "")
    assert book.characters == book.characters_kept + book.characters_left_out


def test_marks_without_a_note_and_numbered_paragraphs_without_a_mark_stay(tmp_path: Path) -> None:
    book = imported(tmp_path, f"CHAPTER I\n\nSo array[0] is (1).\n\n(1) One.\n\n{PROSE}", Choices())
    assert "So array\\[0] is (1).\n\n(1) One.\n" in book.chapters[0].markdown
    assert any("stay in the text: [0] (first: door.txt:3)" in remark for remark in book.remarks)


@pytest.mark.parametrize("notes", ["in-place", "end", "omit"])
def test_notes_of_an_epub_are_spoken_where_a_user_says(tmp_path: Path, notes: str) -> None:
    reference = '<sup><a epub:type="noteref" href="n.xhtml#f1">1</a></sup>'
    pages = {
        "a.xhtml": f"<h1>One</h1><p>So it was.{reference}</p><p>{PROSE}</p>",
        "n.xhtml": '<h1>Notes</h1><ol><li id="f1">'
        '<p>Not <i>quite</i>. <a href="a.xhtml">↩</a></p></li></ol>',
    }
    path = build_epub(tmp_path / "a.epub", pages)
    book = import_book(path, Choices(notes=notes))  # type: ignore[arg-type]
    rows = [row for row in book.chapters[0].markdown.split("\n") if row][1:]
    expected = {
        "in-place": ["So it was.", "Not quite.", PROSE.strip()],
        "end": ["So it was.", PROSE.strip(), "Not quite."],
        "omit": ["So it was.", PROSE.strip()],
    }
    assert rows == expected[notes]


# -- words at line ends ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.md"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a con-\nversation was had", "a conversation was had"),
        ("a well-\nknown man, well-known", "a well-known man, well-known"),
        ("a well-\nknown man", "a well-known man"),
        ("self-\nish and twenty-\none", "selfish and twenty-one"),
        ("to-\nmorrow and tomorrow", "tomorrow and tomorrow"),
        ("Jean-\nPaul came", "Jean-Paul came"),
        ("pre-\nand postwar years", "pre- and postwar years"),
        ("red-\nhaired: he haired the red one", "red-haired: he haired the red one"),
        ("a mother-in-\nlaw spoke", "a mother-in-law spoke"),
        ("it was so -\nor not", "it was so - or not"),
        ("1914-\n1918 were years", "1914-1918 were years"),
    ],
)
def test_words_that_a_lines_end_parts_are_joined(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    book = imported(tmp_path, f"So then, {text}, he said.\n", Choices(), name)
    assert " ".join(book.chapters[0].markdown.split()) == f"So then, {said}, he said."
    assert book.characters == book.characters_kept + book.characters_left_out


# -- formulas --------------------------------------------------------------------------------------

_MATH = "<p>So {} is it.</p>"


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("<math><mi>a</mi><mo>=</mo><mn>2</mn></math>", "So a = 2 is it."),
        ('<math alttext="the root of x"><msqrt><mi>x</mi></msqrt></math>',
         "So the root of x is it."),
        (r'<math alttext="\sqrt{x}"><msqrt><mi>x</mi></msqrt></math>', "So is it."),
        ("<math><msqrt><mi>x</mi></msqrt></math>", "So is it."),
        ('<img class="math" alt="x plus one" src="a.png"/>', "So x plus one is it."),
    ],
)  # fmt: skip
def test_formulas_are_spoken_in_words_or_their_sentence_is_listed(
    tmp_path: Path, formula: str, said: str
) -> None:
    path = build_epub(tmp_path / "a.epub", {"a.xhtml": _MATH.format(formula)})
    book = import_book(path)
    assert book.chapters[0].markdown.strip() == said
    incomplete = [item.reason for item in book.left_out if "incomplete" in item.reason]
    assert len(incomplete) == (said == "So is it.")
    assert all("“So is it.”" in reason for reason in incomplete)


def test_files_of_speakers_in_a_folder_are_no_texts(tmp_path: Path) -> None:
    (tmp_path / "01.md").write_text(f"# One\n\n{PROSE}\n")
    (tmp_path / "01.speakers.txt").write_text("Ada | you | “Yes.”\n")
    assert [chapter.title for chapter in import_book(tmp_path, Choices()).chapters] == ["One"]
