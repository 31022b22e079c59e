"""The rules that divide a book, each alone: what it sets aside, makes a heading, lets begin."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from manuscripts.blocks import Block, block_of_lines
from manuscripts.chapters import levels, lines, markup
from manuscripts.chapters.outline import ContentsEntry, Outline, Start
from manuscripts.headings import read_heading
from manuscripts.matter import BookContext
from manuscripts.prose import StyledSpan

PROSE = "The ferry left at seven, as it had on every morning that anyone could remember."


Rule = Callable[[Outline], None]


def applied(rule: Rule, blocks: list[Block], **hints: object) -> Outline:
    """An outline after one rule."""
    outline = Outline(blocks, BookContext("The Sea Door"), **hints)  # type: ignore[arg-type]
    rule(outline)
    return outline


def line(text: str, gap: int = 1) -> Block:
    """A paragraph of plain text; a heading, if it reads as one."""
    rows = text.split("\n")
    heading = read_heading(rows, gap)
    kind = "heading" if heading else "text"
    return Block(kind, "a.txt:1", text=" ".join(rows), rows=rows, blank_rows_above=gap,  # type: ignore[arg-type]
                 heading=heading)  # fmt: skip


def marked(text: str, level: int = 0, document: int = 0) -> Block:
    """A paragraph, or a heading of a level."""
    block = block_of_lines("heading" if level else "text", "a.xhtml", [(StyledSpan(text),)], level)
    block.document, block.rows, block.source_markdown = document, [text], None
    return block


def kinds(outline: Outline) -> list[str]:
    return [block.reason or block.kind for block in outline.blocks]


def begun(outline: Outline) -> dict[int, str]:
    return {place: start.title for place, start in sorted(outline.starts.items())}


# -- plain text ------------------------------------------------------------------------------------


LISTED = ["CHAPTER I", "CHAPTER II", "CHAPTER III"]


@pytest.mark.parametrize(
    ("rule", "texts", "expected"),
    [
        # numbers that count from one are headings
        (lines.keep_consecutive_numbers, ["1", PROSE, "2", PROSE], "heading text heading text"),
        (lines.keep_consecutive_numbers, ["12", PROSE, "7", PROSE], "text text text text"),
        (lines.keep_consecutive_numbers, ["1", PROSE], "text text"),
        # a title above numbers that begin anew holds them
        (lines.promote_part_titles,
         [PROSE, "A SCANDAL", "CHAPTER I", PROSE, "THE LEAGUE", "CHAPTER I", PROSE],
         "text heading heading text heading heading text"),
        # headings that come again are a table of contents, and so is what stands under CONTENTS
        (lines.omit_contents_lists,
         [*LISTED, PROSE, *(text for name in LISTED for text in (name, PROSE))],
         "contents contents contents text heading text heading text heading text"),
        (lines.omit_rows_below_contents, ["CONTENTS", "The Gate 5", PROSE],
         "contents contents text"),
    ],
)  # fmt: skip
def test_rules_for_lines_decide_what_they_are(rule: Rule, texts: list[str], expected: str) -> None:
    outline = applied(rule, [line(text) for text in texts])
    found = [kind.removeprefix("table of ") for kind in kinds(outline)]
    assert found == expected.split()


def test_a_title_may_begin_with_the_word_i() -> None:
    blocks = [line("X", 2), line("I Enlist the Services of a Minion", 2), line(PROSE)]
    outline = applied(lines.demote_false_numbers, blocks)
    assert kinds(outline) == ["heading", "text", "text"]


def test_a_numbers_title_may_stand_under_it() -> None:
    blocks = [line("CHAPTER I"), line("THE GATE"), line(PROSE)]
    outline = applied(lines.join_titles_below_numbers, blocks)
    heading = outline.blocks[0].heading
    assert heading is not None
    assert heading.parts == ("CHAPTER I", "THE GATE")
    assert [block.text for block in outline.blocks] == ["CHAPTER I THE GATE", PROSE]


def test_a_few_words_before_the_first_heading_are_a_title_page() -> None:
    blocks = [line("THE GATE"), line("by Jane Roe"), line("CHAPTER I"), line(PROSE)]
    outline = applied(lines.omit_title_page, blocks)
    assert kinds(outline) == ["title page", "title page", "heading", "text"]
    assert outline.facts == {"title": "THE GATE", "author": "Jane Roe"}


def test_a_piece_begins_at_each_heading() -> None:
    blocks = [line(PROSE), line("CHAPTER I."), line(PROSE), line("Epilogue"), line(PROSE)]
    outline = applied(lines.start_at_headings, blocks)
    assert begun(outline) == {0: "", 1: "CHAPTER I", 3: "Epilogue"}


# -- headings with levels --------------------------------------------------------------------------


def test_a_line_right_above_a_heading_may_name_a_part() -> None:
    blocks = [marked("PART TWO"), marked("One", 2), marked("PART of it"), marked("Two", 2)]
    outline = applied(levels.promote_part_lines, blocks)
    assert [block.level for block in outline.blocks] == [2, 2, 0, 2]


def test_the_only_heading_of_the_first_level_is_the_books_title() -> None:
    blocks = [marked("The Gate", 1), marked("by Jane Roe"), marked("One", 2), marked(PROSE)]
    outline = applied(levels.omit_book_title, blocks)
    assert kinds(outline) == ["title page", "text", "heading", "text"]
    assert outline.facts == {"title": "The Gate", "author": "Jane Roe"}
    assert outline.blocks[1].words == 0


def test_a_piece_begins_at_each_heading_of_the_highest_level() -> None:
    blocks = [
        marked("Part One", 1), marked("I", 2), marked(PROSE), marked("Aside", 3), marked(PROSE),
        marked("II", 2), marked("End", 1), marked(PROSE),
    ]  # fmt: skip
    outline = applied(levels.start_at_levels, blocks)
    assert begun(outline) == {0: "I", 5: "II", 6: "End"}
    assert outline.starts[0].parents == outline.starts[5].parents == ("Part One",)
    assert outline.starts[5].reason == "a heading without text"


# -- markup ----------------------------------------------------------------------------------------


def test_runs_of_links_are_a_table_of_contents() -> None:
    links = [marked(f"Chapter {number}") for number in range(1, 6)]
    for link in links:
        link.linked_characters = link.characters
    outline = applied(markup.omit_link_lists, [*links, marked(PROSE)])
    assert kinds(outline) == ["table of contents"] * 5 + ["text"]


def test_a_piece_begins_where_the_table_of_contents_points() -> None:
    blocks = [marked("Part One", 1), marked("I", 2), marked(PROSE), marked("Aside", 3)]
    aside = ContentsEntry("Aside", 3, True, ())
    entries = (ContentsEntry("I", 1, True, (aside,)), ContentsEntry("Lost", None, False, ()))
    outline = applied(markup.start_at_entries, blocks, entries=entries)
    assert begun(outline) == {0: "I"}


@pytest.mark.parametrize(
    ("titles", "kind"),
    [
        (["The Gate", "A Sea-Door", "The Tide"], "heading"),
        (["The Gate", "“No,” she said.", PROSE], "text"),
    ],
)
def test_titles_under_numbers_are_headings_where_most_are(titles: list[str], kind: str) -> None:
    blocks = []
    for number, title in enumerate(titles, 1):
        blocks += [marked(str(number), 2), marked(title), marked(PROSE)]
    outline = applied(markup.promote_titles_below_numbers, blocks)
    assert kinds(outline)[:6] == ["heading", kind, "text"] * 2


def test_a_line_that_names_front_matter_makes_a_piece_that() -> None:
    outline = Outline([marked("Dedication"), marked("To W. Townend")], BookContext("The Sea Door"))
    assert [piece.kind for piece in outline.pieces()] == ["dedication"]


def test_a_piece_begins_where_a_section_says_what_it_is() -> None:
    blocks = [marked(PROSE), marked(PROSE), marked(PROSE)]
    blocks[1].matter, blocks[1].section = "index", 1
    outline = applied(markup.start_at_sections, blocks)
    assert begun(outline) == {1: "", 2: ""}


def test_a_piece_begins_where_a_document_has_its_heading() -> None:
    blocks = [
        marked("Chapter 1", 2), marked(PROSE), marked(PROSE, document=1),
        marked("Chapter 2", 2, document=2), marked(PROSE, document=2),
    ]  # fmt: skip
    outline = applied(markup.start_at_documents, blocks, starts={0: Start("Chapter 1")})
    assert begun(outline) == {0: "Chapter 1", 3: ""}


def test_chapters_inside_a_piece_are_found_by_their_headings() -> None:
    blocks = [marked("Book One", 1), marked("Chapter 1", 2), marked(PROSE), marked("Aside", 2),
              marked(PROSE), marked("Chapter 2", 2), marked(PROSE)]  # fmt: skip
    starts = {0: Start("Book One"), 7: Start("Book Two")}
    outline = applied(markup.start_at_headings, blocks, starts=starts)
    assert begun(outline) == {0: "", 5: "", 7: "Book Two"}
    assert outline.starts[5].parents == ("Book One",)


def test_a_part_begins_where_it_is_announced() -> None:
    blocks = [marked("Chapter 1", 2), marked(PROSE), marked("PART TWO"), marked(PROSE, document=1)]
    outline = applied(markup.start_at_parts, blocks, starts={0: Start("Chapter 1")})
    assert begun(outline) == {0: "Chapter 1", 2: ""}
    assert (blocks[2].kind, blocks[2].level) == ("heading", 1)
