"""Divides blocks into chapters, and the front and back matter between them.

The only package that decides, for every format, where chapters begin, what is not read aloud, and
what chapters are called. Readers make blocks; rules, in the order of their table, leave blocks out,
turn them into headings and mark where pieces begin; the pieces become chapters.

The table of rules depends on what the source offers: plain text has only lines, Markdown has levels
of headings, an EPUB also has documents, sections and a table of contents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from manuscripts.chapters import chosen, files, levels, lines, markup
from manuscripts.chapters.assembly import DividedBook, assemble
from manuscripts.chapters.outline import Outline


class ChapterRule(NamedTuple):
    """A rule that makes one decision about an outline."""

    name: str
    apply: Callable[[Outline], None]


LINES = (
    ChapterRule("a number's title may begin with the word I", lines.free_titles),
    ChapterRule("numbers that do not count are no headings", lines.keep_counted),
    ChapterRule("a number's title may stand under it", lines.take_titles),
    ChapterRule("a title above numbers that begin anew holds them", lines.find_holders),
    ChapterRule("headings that come again are a table of contents", lines.leave_contents),
    ChapterRule("what stands under CONTENTS is a table of contents", lines.leave_listed),
    ChapterRule(
        "headings that come again at once are at the top of pages", lines.leave_running_heads
    ),
    ChapterRule("a few words before the first heading are a title page", lines.leave_title_page),
    ChapterRule("a piece begins at each heading", lines.start_at_headings),
)
"""For sources whose headings must be guessed from lines."""

LEVELS = (
    ChapterRule("lines may name chapters where no heading does", levels.promote_named),
    ChapterRule("a line right above a heading may name a part", levels.promote_parts),
    ChapterRule("the only heading of the first level is the book's title", levels.leave_title),
    ChapterRule("a piece begins at each heading of the highest level, and of those within parts",
         levels.start_at_levels),
)  # fmt: skip
"""For sources that mark headings, with levels, and nothing else."""

SCRIPT = (ChapterRule("a piece begins at each heading", levels.start_at_each),)
"""For sources whose reader has marked the headings of chapters, as those of scripts do."""
OFFICE = (
    *LEVELS,
    ChapterRule("what stands above the first heading may be no text", levels.judge_front),
)
"""For word processor documents, whose headings are marked or recognised by their look."""

FOLDER = (
    ChapterRule("a file is a chapter, or has several headings of chapters", files.start_at_several),
)
"""For sources with levels of headings that are files of a folder, one or more chapters each."""

MARKUP = (
    ChapterRule("most numbers' titles may be paragraphs under them", markup.take_titles),
    ChapterRule("runs of links are a table of contents", markup.leave_links),
    ChapterRule("a piece begins where the table of contents points", markup.start_at_entries),
    ChapterRule("a piece begins where a section says what it is", markup.start_at_sections),
    ChapterRule(
        "a piece begins where a document has a chapter's heading", markup.start_at_documents
    ),
    ChapterRule("chapters inside a piece are found by their headings", markup.start_at_headings),
    ChapterRule("a part begins where it is announced", markup.start_at_parts),
)
"""For sources with documents, sections and a table of contents."""

CHOSEN = (
    ChapterRule("a piece begins where a user says that headings begin", chosen.start_at_chosen),
)
"""For any source if the user gives a pattern for headings."""

CHOSEN_LINES = (
    *CHOSEN,
    ChapterRule("a few words before the first of them are a title page", lines.leave_title_page),
)
"""For plain text if the user gives a pattern for headings."""

FILES = (
    ChapterRule("a title at the top of a file is its heading", files.head_with_title),
    *(rule for rule in LINES if rule.apply is not lines.leave_title_page),
)
"""For plain texts that are files of a folder, one or more chapters each."""


def find_starts(outline: Outline, rules: tuple[ChapterRule, ...]) -> None:
    """Applies rules in order, each to the outcome of those before."""
    for rule in rules:
        rule.apply(outline)


def divide(outline: Outline, rules: tuple[ChapterRule, ...]) -> DividedBook:
    """Returns a book in chapters, divided by these rules."""
    find_starts(outline, rules)
    return assemble(outline)
