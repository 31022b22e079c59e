"""Divides blocks into chapters, and the front and back matter between them.

The only package that decides, for every format, where chapters begin, what is not read aloud, and
what chapters are called. Readers make blocks; rules, in the order of their table, leave blocks out,
turn them into headings and mark where pieces begin; the pieces become chapters.

The table of rules depends on what the source offers: plain text has only lines, Markdown has levels
of headings, an EPUB also has documents, sections and a table of contents.
"""

from __future__ import annotations

from collections.abc import Callable

from manuscripts.chapters import chosen, files, levels, lines, markup
from manuscripts.chapters.assembly import DividedBook, assemble
from manuscripts.chapters.outline import Outline

ChapterRules = tuple[Callable[[Outline], None], ...]
"""Functions that make one decision each about an outline, in this order."""

LINES: ChapterRules = (
    lines.demote_false_numbers,
    lines.keep_consecutive_numbers,
    lines.join_titles_below_numbers,
    lines.promote_part_titles,
    lines.omit_contents_lists,
    lines.omit_rows_below_contents,
    lines.omit_running_heads,
    lines.omit_title_page,
    lines.start_at_headings,
)
"""For sources whose headings must be guessed from lines."""

LEVELS: ChapterRules = (
    levels.promote_chapter_lines,
    levels.promote_part_lines,
    levels.omit_book_title,
    levels.start_at_levels,
)
"""For sources that mark headings, with levels, and nothing else."""

SCRIPT: ChapterRules = (levels.start_at_every_heading,)
"""For sources whose reader has marked the headings of chapters, as those of scripts do."""

OFFICE: ChapterRules = (*LEVELS, levels.classify_front_matter)
"""For word processor documents, whose headings are marked or recognised by their look."""

FOLDER: ChapterRules = (files.start_at_top_headings,)
"""For sources with levels of headings that are files of a folder, one or more chapters each."""

MARKUP: ChapterRules = (
    markup.promote_titles_below_numbers,
    markup.omit_link_lists,
    markup.start_at_entries,
    markup.start_at_sections,
    markup.start_at_documents,
    markup.start_at_headings,
    markup.start_at_parts,
)
"""For sources with documents, sections and a table of contents."""

CHOSEN: ChapterRules = (chosen.start_at_chosen_headings,)
"""For any source if the user gives a pattern for headings."""

CHOSEN_LINES: ChapterRules = (*CHOSEN, lines.omit_title_page)
"""For plain text if the user gives a pattern for headings."""

FILES: ChapterRules = (
    files.promote_title_line,
    *(rule for rule in LINES if rule is not lines.omit_title_page),
)
"""For plain texts that are files of a folder, one or more chapters each."""


def find_starts(outline: Outline, rules: ChapterRules) -> None:
    """Applies rules in order, each to the outcome of those before."""
    for rule in rules:
        rule(outline)


def divide(outline: Outline, rules: ChapterRules) -> DividedBook:
    """Returns a book in chapters, divided by these rules."""
    find_starts(outline, rules)
    return assemble(outline)
