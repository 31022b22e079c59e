"""PDF: what stands where on pages becomes paragraphs, headings and notes, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from manuscripts import Book
from manuscripts.book import Choices, count_words
from manuscripts.errors import ImportFailed
from narrator.importing import import_book, write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests.build_pdf import HEIGHT, Shown, build_pdf, column
from tests.manuscripts.corpus import SAID

REAL = Path(__file__).parents[1] / "golden" / "manuscripts"
SENTENCES = SAID["en"].split("|")
PROSE = " ".join(SENTENCES)
TURNED = [" ".join(SENTENCES[n:] + SENTENCES[:n]) for n in range(len(SENTENCES))]
"""The same, each time beginning with another sentence."""
HEADING = Shown(140, 540, "The First", 16)


def imported(folder: Path, *pages: Iterable[Shown], notes: str = "omit") -> Book:
    path = build_pdf(folder / "book.pdf", [[*page] for page in pages])
    book = import_book(path, Choices(notes=notes))  # type: ignore[arg-type]
    assert not any("way in" in remark for remark in book.remarks)
    return book


def paragraphs(book: Book, number: int = 0) -> list[str]:
    return book.chapters[number].markdown.strip().split("\n\n")


def below(lines: Sequence[Shown]) -> float:
    return lines[-1].y - 12


def left_out(book: Book) -> dict[str, int]:
    sums: dict[str, int] = {}
    for item in book.left_out:
        sums[item.reason] = sums.get(item.reason, 0) + item.words
    return sums


# -- paragraphs ------------------------------------------------------------------------------------


def test_lines_are_joined_to_paragraphs_by_their_first_lines(tmp_path: Path) -> None:
    first = column(PROSE)
    second = column(SENTENCES[0], below(first))
    assert paragraphs(imported(tmp_path, [HEADING, *first, *second]))[1:] == [PROSE, SENTENCES[0]]


def test_paragraphs_that_stand_apart_are_apart(tmp_path: Path) -> None:
    first = column(PROSE, indent=0)
    second = column(SENTENCES[1], below(first) - 8, indent=0)
    third = column(SENTENCES[2], below(second) - 8, indent=0)
    book = imported(tmp_path, [HEADING, *first, *second, *third])
    assert paragraphs(book)[1:] == [PROSE, SENTENCES[1], SENTENCES[2]]


def test_a_paragraph_goes_on_over_the_end_of_a_page(tmp_path: Path) -> None:
    lines = column(f"{PROSE} {PROSE}")
    moved = [line._replace(y=line.y + 200) for line in lines[9:]]
    book = imported(tmp_path, [HEADING, *lines[:9]], moved)
    assert paragraphs(book)[1:] == [f"{PROSE} {PROSE}"]


def test_a_word_that_a_lines_end_parts_is_one(tmp_path: Path) -> None:
    text = "The conver- sation had gone on for so long that no conversation was left to be had."
    rows = [Shown(50, 500, "The conver-"), Shown(50, 488, text[12:])]
    book = imported(tmp_path, [HEADING, *column(PROSE, 400), *rows])
    assert "conver-" not in book.chapters[0].markdown
    assert book.chapters[0].markdown.count("The conversation had") == 1


def test_lines_of_ornaments_and_wide_gaps_are_scene_breaks(tmp_path: Path) -> None:
    first = column(PROSE)
    second = column(SENTENCES[0], below(first) - 24)
    star = Shown(180, below(second) - 12, "* * *")
    third = column(SENTENCES[1], star.y - 24)
    book = imported(tmp_path, [HEADING, *first, *second, star, *third])
    assert paragraphs(book)[1:] == [PROSE, "***", SENTENCES[0], "***", SENTENCES[1]]


def test_what_is_set_in_on_both_sides_is_one_paragraph(tmp_path: Path) -> None:
    first = column(PROSE)
    letter = column(" ".join(SENTENCES[1:4]), below(first) - 6, x=80, width=38, indent=0)
    last = column(PROSE, below(letter) - 6)
    book = imported(tmp_path, [HEADING, *first, *letter, *last])
    assert paragraphs(book)[2] == " ".join(SENTENCES[1:4])


def test_fonts_say_what_is_emphasised(tmp_path: Path) -> None:
    words = [Shown(50, 300, "It was"), Shown(92, 300, "not", font=2), Shown(116, 300, "so.")]
    book = imported(tmp_path, [HEADING, *column(PROSE), *words])
    assert paragraphs(book)[-1] == "It was *not* so."


def test_an_initial_belongs_to_its_word(tmp_path: Path) -> None:
    rows = column(PROSE[1:], x=80, width=45, indent=0)
    rest = [line._replace(x=50) for line in rows[2:]]
    initial = Shown(50, rows[1].y, "A", 32)
    book = imported(tmp_path, [HEADING, initial, *rows[:2], *rest, *column(PROSE, 300)])
    assert paragraphs(book)[1] == PROSE


def test_letters_that_are_spaced_out_are_a_word(tmp_path: Path) -> None:
    title = Shown(120, 540, "B E G I N N I N G", 14)
    assert imported(tmp_path, [title, *column(PROSE)]).chapters[0].title == "BEGINNING"


# -- chapters --------------------------------------------------------------------------------------


def test_larger_lines_with_text_below_them_are_headings(tmp_path: Path) -> None:
    first = column(PROSE)
    second = [Shown(140, 250, "The Second", 16), *column(PROSE, 220)]
    book = imported(tmp_path, [HEADING, *first, *second])
    assert [chapter.title for chapter in book.chapters] == ["The First", "The Second"]
    assert [chapter.source for chapter in book.chapters] == ["book.pdf, page 1"] * 2


def test_a_title_below_a_smaller_number_is_one_heading_with_it(tmp_path: Path) -> None:
    pages = [
        [Shown(50, 560, f"Chapter {n}", 14), Shown(50, 535, title, 20), *column(TURNED[n])]
        for n, title in ((1, "The Sea"), (2, "The Land"))
    ]
    book = imported(tmp_path, *pages)
    assert [chapter.title for chapter in book.chapters] == [
        "Chapter 1. The Sea",
        "Chapter 2. The Land",
    ]


def test_numbered_chapters_on_pages_of_their_own_are_no_page_numbers(tmp_path: Path) -> None:
    pages = [[Shown(180, 540, f"Chapter {n}", 12, 1), *column(TURNED[n - 1])] for n in range(1, 6)]
    book = imported(tmp_path, *pages)
    assert [chapter.title for chapter in book.chapters] == [f"Chapter {n}" for n in range(1, 6)]
    assert not left_out(book)


def test_chapters_in_the_type_of_the_text_are_headings(tmp_path: Path) -> None:
    pages = [
        [Shown(50, 540, f"Chapter {name}"), *column(TURNED[n], 516)]
        for n, name in enumerate(("One", "Two"))
    ]
    book = imported(tmp_path, *pages)
    assert [chapter.title for chapter in book.chapters] == ["Chapter One", "Chapter Two"]


def test_centred_numbers_that_count_on_are_headings(tmp_path: Path) -> None:
    pages: list[list[Shown]] = []
    for n in range(1, 4):
        pages += [[Shown(197, 540, str(n)), *column(TURNED[n], 516)], column(TURNED[-n], 500 - n)]
    assert [c.title for c in imported(tmp_path, *pages).chapters] == ["1", "2", "3"]


def test_a_chapter_does_not_go_on_with_the_page_before(tmp_path: Path) -> None:
    unended = column(f"{PROSE} and so it went on", 516)
    pages = [[HEADING, *unended], [Shown(50, 560, "CHAPTER 2"), *column(TURNED[1], 540)]]
    assert imported(tmp_path, *pages).chapters[1].title == "CHAPTER 2"


def test_a_title_page_is_left_out_and_says_the_author(tmp_path: Path) -> None:
    front = [Shown(50, 560, "12 Harbour Lane"), Shown(100, 400, "The Sea Door", 24)]
    front += [Shown(150, 360, "A Novel", 11), Shown(150, 300, "Jane Roe", 11)]
    pages = [front, [HEADING, *column(PROSE)], [HEADING, *column(TURNED[1])]]
    book = import_book(build_pdf(tmp_path / "b.pdf", pages, info=""))
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))
    assert left_out(book) == {"title page": 10}


def test_the_end_is_no_chapter(tmp_path: Path) -> None:
    last = column(TURNED[2])
    book = imported(tmp_path, [HEADING, *last, Shown(180, below(last) - 40, "THE END")])
    assert len(book.chapters) == 1


def test_bookmarks_name_chapters_that_look_like_text(tmp_path: Path) -> None:
    pages = [[Shown(50, 540, title), *column(PROSE, 516)] for title in ("At the Gate", "The Wave")]
    outline = [("At the Gate", 0), ("The Wave", 1)]
    book = import_book(build_pdf(tmp_path / "b.pdf", pages, outline=outline))
    assert [chapter.title for chapter in book.chapters] == ["At the Gate", "The Wave"]
    assert book.chapters[1].markdown.startswith("# The Wave\n")


def test_a_table_of_contents_with_dots_is_left_out(tmp_path: Path) -> None:
    rows = [Shown(50, 500 - 14 * n, f"Chapter {n} {'.' * 30} {n}") for n in range(1, 6)]
    contents = [Shown(50, 540, "Contents", 16), *rows]
    book = imported(tmp_path, contents, [HEADING, *column(PROSE)])
    assert [chapter.title for chapter in book.chapters] == ["The First"]
    assert sum(left_out(book).values()) == 16


def test_metadata_of_programs_is_no_title(tmp_path: Path) -> None:
    info = "/Title (Microsoft Word - final3.docx) /Author (Jane Doe and John Roe)"
    path = build_pdf(tmp_path / "My Book.pdf", [[HEADING, *column(PROSE)]], info=info)
    book = import_book(path)
    assert (book.title, book.authors) == ("My Book", ("Jane Doe", "John Roe"))
    assert book.language == "en"


# -- what stands on every page ---------------------------------------------------------------------


def headed(number: int) -> list[Shown]:
    """A page with a running head and its number, on the left and on the right."""
    head = f"{number} A Small Book" if number % 2 == 0 else f"At the Gate {number}"
    x = 50 if number % 2 == 0 else 250
    return [Shown(x, HEIGHT - 40, head), *column(TURNED[number % 5], 520)]


def test_running_heads_and_page_numbers_are_left_out(tmp_path: Path) -> None:
    pages = [[*headed(n), Shown(190, 30, f"- {n} -")] for n in range(3, 9)]
    book = imported(tmp_path, *pages)
    assert left_out(book) == {"running head or foot": 6 * 4, "page number": 6}
    assert "Small" not in book.chapters[0].markdown


def test_a_line_that_comes_again_in_the_text_stays(tmp_path: Path) -> None:
    pages = [[*column(TURNED[n]), Shown(62, 300 + 9 * n, "Yes.")] for n in range(5)]
    assert imported(tmp_path, *pages).chapters[0].markdown.count("Yes.") == 5


def test_speakers_at_the_tops_of_pages_are_no_running_heads(tmp_path: Path) -> None:
    speech = column(TURNED[0], 530)
    pages = [[Shown(190, 560, "NORA"), *speech, Shown(190, below(speech) - 9, "NORA")]] * 4
    assert not left_out(imported(tmp_path, *pages))


def test_signs_of_tex_without_unicode_are_known(tmp_path: Path) -> None:
    text = "\x10Yes,\x11 she said in an a\x1bable way, and tri\x1ded\x0b with the \x1cre."
    book = imported(tmp_path, [HEADING, *column(PROSE), Shown(62, 300, text)])
    assert "“Yes,” she said in an affable way, and trifledff with the fire." in (
        book.chapters[0].markdown
    )


def test_a_large_heading_over_two_columns_is_one(tmp_path: Path) -> None:
    head = [Shown(50, 560, "A Heading Over Columns With Many a", 16), Shown(50, 540, "Word", 16)]
    pages = [
        [*head, *column(TURNED[n], 500, width=26), *column(TURNED[n], 500, x=215, width=26)]
        for n in range(2)
    ]
    titles = [chapter.title for chapter in imported(tmp_path, *pages).chapters]
    assert titles == ["A Heading Over Columns With Many a Word"] * 2


def test_a_name_below_the_first_heading_is_the_author(tmp_path: Path) -> None:
    front = [Shown(100, 400, "The Sea Door", 14), Shown(120, 360, "Jane Roe", 12)]
    chapter = [Shown(100, 560, "Chapter 1", 20), *column(PROSE)]
    book = import_book(build_pdf(tmp_path / "b.pdf", [front, chapter], info=""))
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))


def test_text_on_its_side_is_left_out(tmp_path: Path) -> None:
    side = Shown(380, 100, "arXiv:1234", turned=90)
    book = imported(tmp_path, [HEADING, *column(PROSE), side])
    assert left_out(book) == {"text turned on its side": 2}


def test_text_beside_the_page_is_left_out(tmp_path: Path) -> None:
    book = imported(tmp_path, [HEADING, *column(PROSE), Shown(100, -40, "cut here")])
    assert left_out(book) == {"outside of the page": 2}


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_shown(tmp_path: Path, turn: int) -> None:
    upright = [HEADING, *column(PROSE), *column(SENTENCES[1], 300)]
    pages = [[line._replace(turned=turn) for line in upright]]
    book = import_book(build_pdf(tmp_path / "b.pdf", pages, page=f"/Rotate {turn}"))
    assert paragraphs(book)[1:] == [PROSE, SENTENCES[1]]


# -- notes and columns -----------------------------------------------------------------------------


def noted() -> list[Shown]:
    text = column(PROSE)
    end = text[-1].x + 6 * len(text[-1].text)
    mark = Shown(end, text[-1].y + 4, "1", 6)
    return [
        HEADING,
        *text,
        mark,
        Shown(50, 104, "1", 5),
        *column(NOTE, 100, x=54, indent=0, size=8),
    ]


NOTE = "A note of the editor, who was not asked."


def test_notes_are_left_out_with_their_marks(tmp_path: Path) -> None:
    book = imported(tmp_path, noted())
    assert paragraphs(book)[1:] == [PROSE]
    assert left_out(book) == {"reference to a note": 1, "note": 10}


def test_notes_are_read_where_they_are_referred_to(tmp_path: Path) -> None:
    book = imported(tmp_path, noted(), column("And on it went."), notes="in-place")
    assert paragraphs(book)[1:] == [PROSE, NOTE, "And on it went."]


def test_a_word_that_a_lines_end_parts_in_a_note_is_one(tmp_path: Path) -> None:
    rows = noted()[:-1]
    rows += [Shown(54, 100, "A note of the edi-", 8), Shown(50, 90, "tor, an editor.", 8)]
    book = imported(tmp_path, rows, notes="in-place")
    assert paragraphs(book)[2] == "A note of the editor, an editor."


def test_raised_figures_after_figures_are_read(tmp_path: Path) -> None:
    power = [Shown(50, 300, "It was 10"), Shown(104, 304, "2", 6), Shown(114, 300, "miles.")]
    assert (
        paragraphs(imported(tmp_path, [HEADING, *column(PROSE), *power]))[-1] == "It was 102 miles."
    )


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = column(PROSE, width=25)
    right = column(" ".join(reversed(SENTENCES)), 498, x=215, width=25)
    both = [line for pair in zip(left, right, strict=False) for line in pair]
    longer = left if len(left) > len(right) else right
    both += longer[min(len(left), len(right)) :]
    book = imported(tmp_path, [HEADING, *both])
    assert paragraphs(book)[1:] == [PROSE, " ".join(reversed(SENTENCES))]


def test_rows_of_cells_are_a_table(tmp_path: Path) -> None:
    rows = [
        Shown(50 + 100 * at, 300 - 14 * n, cell)
        for n, row in enumerate((("Anna", "31"), ("Bert", "44")))
        for at, cell in enumerate(row)
    ]
    assert paragraphs(imported(tmp_path, [HEADING, *column(PROSE), *rows]))[-2:] == [
        "Anna; 31",
        "Bert; 44",
    ]


# -- what cannot be read ---------------------------------------------------------------------------


def refused(path: Path) -> str:
    with pytest.raises(ImportFailed) as failed:
        import_book(path)
    assert "\n" not in str(failed.value)
    return str(failed.value)


def test_pictures_of_pages_are_refused(tmp_path: Path) -> None:
    assert "recognise its text first" in refused(build_pdf(tmp_path / "scan.pdf", [[], []]))


def test_some_pages_without_text_are_told(tmp_path: Path) -> None:
    book = imported(tmp_path, [HEADING, *column(PROSE)], [], [])
    assert "Pages without text, empty or pictures: 2, 3." in book.remarks


def test_recognised_text_under_pictures_is_read_and_told(tmp_path: Path) -> None:
    page = [line._replace(mode=3) for line in [HEADING, *column(PROSE)]]
    book = imported(tmp_path, page)
    assert paragraphs(book)[1:] == [PROSE]
    assert any("OCR" in remark for remark in book.remarks)


def test_a_page_with_more_words_than_any_is_told(tmp_path: Path) -> None:
    flood = [Shown(50, 590 - n * 0.8, f"{n} {PROSE[:90]}", 1) for n in range(700)]
    book = imported(tmp_path, [HEADING, *column(PROSE)], flood)
    assert any(remark.endswith("were not read: 2.") for remark in book.remarks)


def test_a_password_is_asked_for_in_words(tmp_path: Path) -> None:
    key = "/Filter /Standard /V 1 /R 2 /Length 40 /P -4"
    secret = f"/Encrypt << {key} /O <{'41' * 32}> /U <{'42' * 32}> >> /ID [<00> <00>]"
    path = build_pdf(tmp_path / "b.pdf", [column(PROSE)], trailer=secret)
    assert "needs a password" in refused(path)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.pdf"
    path.write_bytes(b"%PDF-1.4\nnothing of the kind\n")
    assert "damaged" in refused(path)


def outcome(path: Path) -> str:
    """What is said of a file that cannot be imported."""
    try:
        import_book(path)
    except ImportFailed as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_damaged_files_are_imported_or_refused_in_one_line(tmp_path: Path) -> None:
    sound = build_pdf(tmp_path / "b.pdf", [noted(), headed(1)], outline=[("One", 0)]).read_bytes()
    for seed in range(120):
        chance = random.Random(seed)
        data = bytearray(sound[: chance.randrange(len(sound))] if seed % 3 == 0 else sound)
        for _ in range(chance.choice((1, 5, 50))):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        path = tmp_path / "damaged.pdf"
        path.write_bytes(data)
        assert "\n" not in outcome(path)


# -- real files ------------------------------------------------------------------------------------


def of_chapters(book: Book) -> list[tuple[str, int]]:
    return [(chapter.title, chapter.words) for chapter in book.chapters]


def test_a_book_by_typst_with_heads_and_long_notes() -> None:
    book = import_book(REAL / "footnotes-typst.pdf")
    assert of_chapters(book) == [
        ("I. A Letter with a Postscript", 474),
        ("III. Waterloo Station, Some Fellow-Trav-ellers, and a Girl with Brown Hair", 297),
        ("VI. Mr. Garnet’s Narrative—Has to Do with a Reunion", 292),
    ]
    notes = {"reference to a note": 3, "note": 20 + 35 + 4 + 3}
    assert left_out(book) == notes | {"running head or foot": 3 * 5 + 3 * 4}


def test_columns_by_groff() -> None:
    book = import_book(REAL / "columns-groff.pdf")
    assert of_chapters(book) == [
        ("I. A Letter with a Postscript", 474),
        ("III. Waterloo Station, Some Fellow-Trav-ellers, and a Girl with Brown Hair", 297),
        ("VI. Mr. Garnet’s Narrative—Has to Do with a Reunion", 292),
    ]
    assert (book.title, book.authors) == ("Two Columns of Fowls", ("P. G. Wodehouse",))
    notes = {"reference to a note": 1, "note": 8}
    assert left_out(book) == notes | {"title page": 7, "page number": 1}


@pytest.mark.parametrize("name", ["footnotes-typst", "columns-groff"])
def test_check_takes_real_files(name: str, tmp_path: Path) -> None:
    book = import_book(REAL / f"{name}.pdf")
    assert book.characters == book.characters_kept + book.characters_left_out
    assert book.words_kept == sum(count_words(c.markdown) for c in book.chapters)
    manuscript = read_manuscript(write_project(book, tmp_path / "book").manifest)
    checking.check_manuscript(manuscript, lambda said: None)
    assert len(manuscript.chapters) == len(book.chapters)


# -- running heads that are larger than the text, and front matter ---------------------------------

NAMES = ("The Harbour", "A Letter from the Sister", "Of Ships and Salt", "What Remained There")


def headed_pages(head: str, size: float = 12, y: float = 575) -> list[list[Shown]]:
    """Four chapters of two pages, each page below a running head in type larger than the text;
    `head` has places for the number of the page and its chapter's title."""
    pages = []
    for number in range(8):
        title = NAMES[number // 2]
        lines = column(f"{PROSE} {TURNED[number % 4]}", 430)
        top = [] if number % 2 else [Shown(100, 520, title, 18)]
        text = head.format(page=number + 1, title=title)
        pages.append([Shown(150, y, text, size), *top, *lines])
    return pages


@pytest.mark.parametrize(
    "head", ["{page} A. Writer", "{title}", "{title}  {page}", "A SMALL BOOK - {page}"]
)
def test_running_heads_in_larger_type_are_no_chapters(tmp_path: Path, head: str) -> None:
    book = imported(tmp_path, *headed_pages(head))
    assert [chapter.title for chapter in book.chapters] == list(NAMES)
    assert [chapter.markdown.count("#") for chapter in book.chapters] == [1] * 4
    assert set(left_out(book)) == {"running head or foot"}


def test_a_running_head_of_two_lines_is_left_out_with_both(tmp_path: Path) -> None:
    pages = headed_pages("{title}")
    for page in pages[2:4]:
        page[:1] = [Shown(150, 582, "A Letter", 12), Shown(150, 568, "from the Sister", 12)]
    book = imported(tmp_path, *pages)
    assert [chapter.title for chapter in book.chapters] == list(NAMES)
    assert book.chapters[1].markdown.count("Letter") == 1


def test_heads_that_each_page_has_once_are_known_by_the_headings_below(tmp_path: Path) -> None:
    pages = [page for page in headed_pages("{title}", size=10) if len(page) > 2][::2]
    assert len(pages) == 4
    book = imported(tmp_path, *pages)
    texts = [chapter.markdown for chapter in book.chapters]
    assert [text.count(title) for text, title in zip(texts, NAMES, strict=True)] == [1] * 4


def test_names_of_who_tells_a_chapter_stay_its_heading(tmp_path: Path) -> None:
    names = ("Alice", "Ben", "Alice", "Ben", "Alice")
    pages = []
    for number, name in enumerate(names):
        pages.append([Shown(250, 575, name, 14), *column(PROSE, 500)])
        pages += [column(TURNED[number], 560), column(TURNED[-number - 1], 540)]
    book = imported(tmp_path, [Shown(100, 500, "PART ONE", 24)], *pages)
    assert sum(chapter.markdown.count("# Alice") for chapter in book.chapters) == 3
    assert sum(chapter.markdown.count("# Ben") for chapter in book.chapters) == 2


def test_poems_a_page_each_keep_their_headings(tmp_path: Path) -> None:
    pages = [[Shown(250, 575, f"Sonnet {n}", 14), *column(TURNED[n], 500)] for n in range(1, 5)]
    book = imported(tmp_path, *pages)
    assert [chapter.title for chapter in book.chapters] == [f"Sonnet {n}" for n in range(1, 5)]
