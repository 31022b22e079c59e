"""What a user says about a source: facts, headings, notes; and a second import."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from manuscripts.hyphens import join, words_of
from narrator.errors import UsageError
from narrator.importing import book_oddities, import_book, write_project
from narrator.importing.doubts import ChapterShape, chapter_oddities
from narrator.importing.project import pending_tasks
from narrator.text.labels import Roles
from narrator.text.script import find_faults
from tests.build_epub import build_epub
from tests.effort import cpu_seconds

PROSE = "It was so, and it was not so, as the ferryman said to all of them in the morning.\n"


def imported(folder: Path, text: str, choices: Choices, name: str = "door.txt") -> Book:
    path = folder / name
    path.write_text(text, "utf-8")
    return import_book(path, choices)


def titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


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
    monkeypatch.setattr("textbase.patterns.PATIENCE", 0.1)
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
        ("He never came back", "He never came back"),
        ("See the Return", "See the Return"),
        ("A note. Back", "A note."),
        ("A note (back)", "A note"),
        ("A note. ↩︎", "A note."),
        ("1805 was a bad year.", "1805 was a bad year."),
    ],
)
def test_words_of_a_note_are_no_way_back_from_it(tmp_path: Path, note: str, said: str) -> None:
    text = f"# One\n\nSo it was.[^2]\n\n{PROSE}\n\n[^2]: {note}\n"
    book = imported(tmp_path, text, Choices(notes="in-place"), "door.md")
    rows = [row for row in book.chapters[0].markdown.split("\n") if row]
    assert said in rows


@pytest.mark.parametrize(
    "text",
    [
        "A form: [ ] yes [ ] no.",
        "- [ ] one\n- [x] two",
        "\xa0\nTable 3-1: The list.",
        "\u3000\n注意：这是一个。",
        "Hello there all\n<!-- never closed",
    ],
)
def test_odd_rows_are_read_as_they_were_written(tmp_path: Path, text: str) -> None:
    book = imported(tmp_path, f"# One\n\n{text}\n\n{PROSE}\n", Choices(), "door.md")
    roles = Roles({"narrator": "narrator"}, "narrator")
    assert not find_faults(book.chapters[0].markdown, roles)


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


# -- lengths and numbers ---------------------------------------------------------------------------


def test_lengths_and_numbers_that_are_odd_are_told_once_with_the_mend() -> None:
    said = chapter_oddities([
        ChapterShape("I", 600, 1), ChapterShape("II", 25_000, 1), ChapterShape("IV", 600, 1),
        ChapterShape("IV", 5, 1),
        ChapterShape("I", 700, 1),
    ])  # fmt: skip
    assert [line.partition(":")[0] for line in said] == [
        "longer than chapters are", "much shorter than the others",
        "chapter numbers do not run on",
    ]  # fmt: skip
    assert "3 is missing between “II” and “IV”" in said[2]
    assert "same number" in said[2]
    assert "begins again" in said[2]
    assert all("--chapter-heading" in line for line in said)


@pytest.mark.parametrize(
    "named",
    [
        ["Part One, Chapter 1", "Part One, Chapter 2", "Part Two, Chapter 1"],
        ["CHAPTER X. The Mock", "CHAPTER XI. Who Stole the Tarts?", "CHAPTER XII"],
        ["A Scandal: I", "A Scandal: II", "The League: I"],
        ["The League", "I", "II", "The Knot", "I", "II"],
        ["1984", "2001"],
        ["Prologue", "One", "Two"],
    ],
)
def test_numbers_that_count_are_not_told(named: list[str]) -> None:
    assert chapter_oddities([ChapterShape(title, 600, 1) for title in named]) == []


def test_chapters_of_a_part_may_begin_to_count_anew(tmp_path: Path) -> None:
    part = f"{{}}\n\nCHAPTER I. The Gate\n\n{PROSE}\nCHAPTER II. The {{}}\n\n{PROSE}\n"
    text = part.format("BOOK ONE", "Sea") + part.format("BOOK TWO", "Wave")
    assert book_oddities(imported(tmp_path, text, Choices())) == []


# -- a second import -------------------------------------------------------------------------------


def _again(folder: Path, text: str) -> dict[str, str]:
    """Import a text into the same project; files that stay, with those beside them."""
    book = imported(folder, text, Choices(title="A", language="en"))
    return dict(write_project(book, folder / "book").new_versions)


def test_a_second_import_replaces_what_nobody_changed(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    _again(tmp_path, text)
    assert _again(tmp_path, text.replace("ferryman", "sailor")) == {}
    assert "sailor" in (tmp_path / "book/text/02-chapter-ii.md").read_text()


def test_a_second_import_keeps_what_was_changed_and_lays_the_new_text_beside(
    tmp_path: Path,
) -> None:
    text = f"CHAPTER I\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    _again(tmp_path, text)
    mine = tmp_path / "book/text/02-chapter-ii.md"
    mine.write_text("Mine.\n")
    manifest = tmp_path / "book/book.yaml"
    manifest.write_text(manifest.read_text() + "# mine\n")
    fresh = "text/02-chapter-ii.new.md"
    expected = {"book.yaml": "book.new.yaml", "text/02-chapter-ii.md": fresh}
    newer = text.replace("ferryman", "sailor").replace("CHAPTER I\n", "CHAPTER I. The Gate\n")
    assert _again(tmp_path, newer) == expected
    assert mine.read_text() == "Mine.\n"
    assert "sailor" in (tmp_path / "book" / fresh).read_text()
    assert _again(tmp_path, newer) == expected  # and again into the same files
    (tmp_path / "book" / fresh).write_text("Mine too.\n")
    assert _again(tmp_path, newer)["text/02-chapter-ii.md"] == "text/02-chapter-ii.new2.md"
    assert (tmp_path / "book" / fresh).read_text() == "Mine too.\n"


def test_texts_that_an_import_has_no_more_go_if_nobody_changed_them(tmp_path: Path) -> None:
    text = f"CHAPTER I\n\n{PROSE}\nCHAPTER II\n\n{PROSE}"
    _again(tmp_path, text)
    assert _again(tmp_path, f"CHAPTER I\n\n{PROSE}") == {}
    assert not (tmp_path / "book/text/02-chapter-ii.md").exists()


def test_without_a_record_all_counts_as_changed(tmp_path: Path) -> None:
    _again(tmp_path, f"CHAPTER I\n\n{PROSE}")
    (tmp_path / "book/.imported.json").unlink()
    kept = _again(tmp_path, f"CHAPTER I\n\n{PROSE}{PROSE}")
    assert kept == {"text/01-chapter-i.md": "text/01-chapter-i.new.md"}


def test_another_book_is_refused_and_the_same_one_under_another_name_is_not(
    tmp_path: Path,
) -> None:
    book = imported(tmp_path, f"CHAPTER I\n\n{PROSE}", Choices(title="A", language="en"))
    write_project(book, tmp_path / "book")
    with pytest.raises(UsageError, match=r"holds an import of “A” \(.*name another folder"):
        write_project(replace(book, title="B", source="b.epub"), tmp_path / "book")
    write_project(replace(book, title="B"), tmp_path / "book")
    write_project(replace(book, title="b", source="b.epub"), tmp_path / "book")


def test_a_manifest_that_stays_and_new_files_are_told_until_they_are_dealt_with(
    tmp_path: Path,
) -> None:
    text = f"CHAPTER I\n\n{PROSE}"
    _again(tmp_path, text)
    manifest = tmp_path / "book/book.yaml"
    assert pending_tasks(manifest) == []
    manifest.write_text(manifest.read_text().replace("Unknown", "Me"))
    book = imported(tmp_path, f"{text}\nCHAPTER II\n\n{PROSE}", Choices(title="A", language="en"))
    assert write_project(book, tmp_path / "book").unnamed_chapters == ("text/02-chapter-ii.md",)
    fresh, unnamed = pending_tasks(manifest)
    assert fresh.startswith("book.new.yaml: ")
    assert unnamed.startswith("text/02-chapter-ii.md: in no chapter")
    (tmp_path / "book/book.new.yaml").unlink()
    manifest.write_text(f"{manifest.read_text()}# file: text/02-chapter-ii.md\n")
    assert pending_tasks(manifest) == []


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
