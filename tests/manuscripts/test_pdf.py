"""PDF: what stands where on pages becomes paragraphs, headings and notes, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pytest

from manuscripts import Book
from manuscripts.book import Choices, count_words
from manuscripts.errors import ImportFailed
from narrator.importing import import_book, write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests.build_pdf import HEIGHT, Shown, build_pdf, column
from tests.manuscripts.corpus import PASSAGES
from tests.manuscripts.damage import assert_read_or_refused, damaged

REAL = Path(__file__).parents[1] / "golden" / "manuscripts"
SENTENCES = PASSAGES["en"]
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

FIRST = column(PROSE)
FLUSH = column(PROSE, indent=0)
LONG = column(f"{PROSE} {PROSE}")
TURNED_PAGE = [HEADING, *FIRST, *column(SENTENCES[1], 300)]
NOTE = "A note of the editor, who was not asked."


def after(lines: Sequence[Shown], text: str, space: float = 0, **options: float) -> list[Shown]:
    """Further lines, below others."""
    return column(text, below(lines) - space, **options)  # type: ignore[arg-type]


def noted() -> list[Shown]:
    """A page with a note and its mark."""
    end = FIRST[-1].x + 6 * len(FIRST[-1].text)
    mark = Shown(end, FIRST[-1].y + 4, "1", 6)
    note = column(NOTE, 100, x=54, indent=0, size=8)
    return [HEADING, *FIRST, mark, Shown(50, 104, "1", 5), *note]


def _two_columns() -> list[Shown]:
    left = column(PROSE, width=25)
    right = column(REVERSED, 498, x=215, width=25)
    return [n for pair in zip_longest(left, right) for n in pair if n is not None]


def _initial() -> list[Shown]:
    rows = column(PROSE[1:], x=80, width=45, indent=0)
    further = [line._replace(x=50) for line in rows[2:]]
    return [HEADING, Shown(50, rows[1].y, "A", 32), *rows[:2], *further, *column(PROSE, 300)]


def _scenes() -> list[Shown]:
    second = after(FIRST, SENTENCES[0], 24)
    star = Shown(180, below(second) - 12, "* * *")
    return [HEADING, *FIRST, *second, star, *column(SENTENCES[1], star.y - 24)]


def _spaced() -> list[Shown]:
    second = after(FLUSH, SENTENCES[1], 8, indent=0)
    return [HEADING, *FLUSH, *second, *after(second, SENTENCES[2], 8, indent=0)]


def _set_in() -> list[Shown]:
    letter = after(FIRST, " ".join(SENTENCES[1:4]), 6, x=80, width=38, indent=0)
    return [HEADING, *FIRST, *letter, *after(letter, PROSE, 6)]


REVERSED = " ".join(reversed(SENTENCES))
PARAGRAPHS: dict[str, tuple[list[list[Shown]], list[str]]] = {
    "first lines are indented": (
        [[HEADING, *FIRST, *after(FIRST, SENTENCES[0])]], [PROSE, SENTENCES[0]],
    ),
    "paragraphs are spaced": ([_spaced()], [PROSE, SENTENCES[1], SENTENCES[2]]),
    "one goes on over the end of a page": (
        [[HEADING, *LONG[:9]], [line._replace(y=line.y + 200) for line in LONG[9:]]],
        [f"{PROSE} {PROSE}"],
    ),
    "ornaments and wide gaps are scene breaks": (
        [_scenes()], [PROSE, "***", SENTENCES[0], "***", SENTENCES[1]],
    ),
    "a block is set in on both sides": (
        [_set_in()], [PROSE, " ".join(SENTENCES[1:4]), PROSE],
    ),
    "fonts say what is emphasised": (
        [[HEADING, *FIRST, Shown(50, 300, "It was"), Shown(92, 300, "not", font=2),
          Shown(116, 300, "so.")]],
        [PROSE, "It was *not* so."],
    ),
    "an initial belongs to its word": ([_initial()], [PROSE, PROSE]),
    "columns are read one after the other": (
        [[HEADING, *_two_columns()]], [PROSE, REVERSED],
    ),
    "rows of cells are a table": (
        [[HEADING, *FIRST, *(Shown(50 + 100 * n, 300 - 14 * row, text) for row, cells in
          enumerate((("Anna", "31"), ("Bert", "44"))) for n, text in enumerate(cells))]],
        [PROSE, "Anna; 31", "Bert; 44"],
    ),
    "raised figures after figures are read": (
        [[HEADING, *FIRST, Shown(50, 300, "It was 10"), Shown(104, 304, "2", 6),
          Shown(114, 300, "miles.")]],
        [PROSE, "It was 102 miles."],
    ),
    "signs of TeX have no Unicode": (
        [[HEADING, *FIRST, Shown(62, 300, "\x10Yes,\x11 an a\x1bable, tri\x1ded\x0b \x1cre.")]],
        [PROSE, "“Yes,” an affable, trifledff fire."],
    ),
    "notes are left out with their marks": ([noted()], [PROSE]),
    "text was recognised under pictures": (
        [[line._replace(mode=3) for line in (HEADING, *FIRST)]], [PROSE],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pages", "texts"), PARAGRAPHS.values(), ids=PARAGRAPHS)
def test_paragraphs(pages: list[list[Shown]], texts: list[str], tmp_path: Path) -> None:
    assert paragraphs(imported(tmp_path, *pages))[1:] == texts


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_shown(tmp_path: Path, turn: int) -> None:
    page = [line._replace(turned=turn) for line in TURNED_PAGE]
    book = import_book(build_pdf(tmp_path / "b.pdf", [page], page=f"/Rotate {turn}"))
    assert paragraphs(book)[1:] == [PROSE, SENTENCES[1]]


def test_a_word_that_a_lines_end_parts_is_one(tmp_path: Path) -> None:
    text = "sation had gone on for so long that no conversation was left to be had."
    rows = [Shown(50, 500, "The conver-"), Shown(50, 488, text)]
    book = imported(tmp_path, [HEADING, *column(PROSE, 400), *rows])
    assert "conver-" not in book.chapters[0].markdown
    assert book.chapters[0].markdown.count("The conversation had") == 1


def test_notes_are_read_where_they_are_referred_to(tmp_path: Path) -> None:
    book = imported(tmp_path, noted(), column("And on it went."), notes="in-place")
    assert paragraphs(book)[1:] == [PROSE, NOTE, "And on it went."]
    rows = [Shown(54, 100, "A note of the edi-", 8), Shown(50, 90, "tor, an editor.", 8)]
    book = imported(tmp_path, [*noted()[:-1], *rows], notes="in-place")
    assert paragraphs(book)[2] == "A note of the editor, an editor."


# -- chapters --------------------------------------------------------------------------------------


def _chapters(titles: Iterable[str], **look: float) -> list[list[Shown]]:
    """A page for each chapter; `look` is that of its title."""
    return [
        [Shown(**{"x": 50, "y": 540, "text": title} | look), *column(TURNED[n], 510)]  # type: ignore[arg-type]
        for n, title in enumerate(titles)
    ]


def _numbers() -> Iterator[list[Shown]]:
    for n in range(1, 4):
        yield [Shown(197, 540, str(n)), *column(TURNED[n], 516)]
        yield column(TURNED[-n], 500 - n)


COLUMNS_HEAD = [
    Shown(50, 560, "A Heading Over Columns With Many a", 16), Shown(50, 540, "Word", 16)
]  # fmt: skip
CHAPTERS: dict[str, tuple[list[list[Shown]], list[str]]] = {
    "larger lines with text below them": (
        [[HEADING, *FIRST, Shown(140, 250, "The Second", 16), *column(PROSE, 220)]],
        ["The First", "The Second"],
    ),
    "spaced letters": ([[Shown(120, 540, "B E G I N N I N G", 14), *FIRST]], ["BEGINNING"]),
    "a title below a smaller number": (
        [[Shown(50, 560, f"Chapter {n}", 14), Shown(50, 535, title, 20), *column(TURNED[n])]
         for n, title in ((1, "The Sea"), (2, "The Land"))],
        ["Chapter 1. The Sea", "Chapter 2. The Land"],
    ),
    "numbers on pages of their own are no page numbers": (
        _chapters([f"Chapter {n}" for n in range(1, 6)], x=180, size=12, font=1),
        [f"Chapter {n}" for n in range(1, 6)],
    ),
    "in the type of the text": (
        _chapters(["Chapter One", "Chapter Two"]), ["Chapter One", "Chapter Two"],
    ),
    "centred numbers that count on": (list(_numbers()), ["1", "2", "3"]),
    "one begins a page in the middle of a sentence": (
        [[HEADING, *column(f"{PROSE} and so it went on", 516)],
         [Shown(50, 560, "CHAPTER 2"), *column(TURNED[1], 540)]],
        ["The First", "CHAPTER 2"],
    ),
    "the end is none": (
        [[HEADING, *FIRST, Shown(180, below(FIRST) - 40, "THE END")]], ["The First"],
    ),
    "a large heading over two columns": (
        [[*COLUMNS_HEAD, *column(TURNED[n], 500, width=26),
          *column(TURNED[n], 500, x=215, width=26)] for n in range(2)],
        ["A Heading Over Columns With Many a Word"] * 2,
    ),
    "poems a page each": (
        [[Shown(250, 575, f"Sonnet {n}", 14), *column(TURNED[n], 500)] for n in range(1, 5)],
        [f"Sonnet {n}" for n in range(1, 5)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pages", "titles"), CHAPTERS.values(), ids=CHAPTERS)
def test_chapters(pages: list[list[Shown]], titles: list[str], tmp_path: Path) -> None:
    book = imported(tmp_path, *pages)
    assert [chapter.title for chapter in book.chapters] == titles
    assert book.chapters[0].source == "book.pdf, page 1"
    assert not left_out(book)


def test_a_title_page_is_left_out_and_says_the_author(tmp_path: Path) -> None:
    front = [Shown(50, 560, "12 Harbour Lane"), Shown(100, 400, "The Sea Door", 24)]
    front += [Shown(150, 360, "A Novel", 11), Shown(150, 300, "Jane Roe", 11)]
    pages = [front, [HEADING, *FIRST], [HEADING, *column(TURNED[1])]]
    book = import_book(build_pdf(tmp_path / "b.pdf", pages, info=""))
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))
    assert left_out(book) == {"title page": 10}


def test_a_name_below_the_first_heading_is_the_author(tmp_path: Path) -> None:
    front = [Shown(100, 400, "The Sea Door", 14), Shown(120, 360, "Jane Roe", 12)]
    chapter = [Shown(100, 560, "Chapter 1", 20), *FIRST]
    book = import_book(build_pdf(tmp_path / "b.pdf", [front, chapter], info=""))
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))


def test_bookmarks_name_chapters_that_look_like_text(tmp_path: Path) -> None:
    pages = [[Shown(50, 540, title), *column(PROSE, 516)] for title in ("At the Gate", "The Wave")]
    outline = [("At the Gate", 0), ("The Wave", 1)]
    book = import_book(build_pdf(tmp_path / "b.pdf", pages, outline=outline))
    assert [chapter.title for chapter in book.chapters] == ["At the Gate", "The Wave"]
    assert book.chapters[1].markdown.startswith("# The Wave\n")


def test_metadata_of_programs_is_no_title(tmp_path: Path) -> None:
    info = "/Title (Microsoft Word - final3.docx) /Author (Jane Doe and John Roe)"
    book = import_book(build_pdf(tmp_path / "My Book.pdf", [[HEADING, *FIRST]], info=info))
    assert (book.title, book.authors) == ("My Book", ("Jane Doe", "John Roe"))
    assert book.language == "en"


# -- what is left out ------------------------------------------------------------------------------


def headed(number: int) -> list[Shown]:
    """A page with a running head and its number, on the left and on the right."""
    head = f"{number} A Small Book" if number % 2 == 0 else f"At the Gate {number}"
    x = 50 if number % 2 == 0 else 250
    return [Shown(x, HEIGHT - 40, head), *column(TURNED[number % 5], 520)]


def _spoken_page() -> list[Shown]:
    speech = column(TURNED[0], 530)
    return [Shown(190, 560, "NORA"), *speech, Shown(190, below(speech) - 9, "NORA")]


LEFT_OUT: dict[str, tuple[list[list[Shown]], dict[str, int]]] = {
    "running heads and page numbers": (
        [[*headed(n), Shown(190, 30, f"- {n} -")] for n in range(3, 9)],
        {"running head or foot": 6 * 4, "page number": 6},
    ),
    "a line that comes again in the text stays": (
        [[*column(TURNED[n]), Shown(62, 300 + 9 * n, "Yes.")] for n in range(5)], {},
    ),
    "speakers at the tops of pages are no running heads": ([_spoken_page()] * 4, {}),
    "a table of contents with dots": (
        [[Shown(50, 540, "Contents", 16),
          *(Shown(50, 500 - 14 * n, f"Chapter {n} {'.' * 30} {n}") for n in range(1, 6))],
         [HEADING, *FIRST]],
        {"table of contents": 16},
    ),
    "text on its side": (
        [[HEADING, *FIRST, Shown(380, 100, "arXiv:1234", turned=90)]],
        {"text turned on its side": 2},
    ),
    "text beside the page": (
        [[HEADING, *FIRST, Shown(100, -40, "cut here")]], {"outside of the page": 2},
    ),
    "notes": ([noted()], {"reference to a note": 1, "note": 10}),
}  # fmt: skip


@pytest.mark.parametrize(("pages", "counts"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_left_out(pages: list[list[Shown]], counts: dict[str, int], tmp_path: Path) -> None:
    assert left_out(imported(tmp_path, *pages)) == counts


# -- what cannot be read ---------------------------------------------------------------------------

KEY = "/Filter /Standard /V 1 /R 2 /Length 40 /P -4"
SECRET = f"/Encrypt << {KEY} /O <{'41' * 32}> /U <{'42' * 32}> >> /ID [<00> <00>]"


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: build_pdf(path, [[], []]), "recognise its text first"),
        (lambda path: build_pdf(path, [column(PROSE)], trailer=SECRET), "needs a password"),
        (lambda path: path.write_bytes(b"%PDF-1.4\nnothing of the kind\n"), "damaged"),
    ],
    ids=["pictures of pages", "a password", "damage"],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    write: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    write(tmp_path / "b.pdf")
    with pytest.raises(ImportFailed) as failed:
        import_book(tmp_path / "b.pdf")
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)


FLOOD = [Shown(50, 590 - n * 0.8, f"{n} {PROSE[:90]}", 1) for n in range(700)]


@pytest.mark.parametrize(
    ("pages", "remark"),
    [
        ([[HEADING, *FIRST], [], []], "Pages without text, empty or pictures: 2, 3."),
        (
            [[n._replace(mode=3) for n in (HEADING, *FIRST)]],
            "The text was recognised from pictures",
        ),
        (
            [[HEADING, *FIRST], FLOOD],
            "Pages that are damaged, or not pages of a book, and were not",
        ),
    ],
    ids=["pages without text", "recognised text", "a page with more words than any"],
)
def test_faults_of_pages_are_remarked(
    pages: list[list[Shown]], remark: str, tmp_path: Path
) -> None:
    assert any(n.startswith(remark) for n in imported(tmp_path, *pages).remarks)


@pytest.mark.slow
def test_damaged_files_are_imported_or_refused_in_one_line(tmp_path: Path) -> None:
    sound = build_pdf(tmp_path / "b.pdf", [noted(), headed(1)], outline=[("One", 0)]).read_bytes()
    for seed in range(120):
        path = tmp_path / "damaged.pdf"
        path.write_bytes(damaged(sound, random.Random(seed)))
        assert_read_or_refused(path)


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
