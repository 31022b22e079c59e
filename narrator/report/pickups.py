"""A list of pickups as a page to print, with a box to tick on each row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from narrator import files, templates
from narrator.pipeline.book_plan import BookPlan
from narrator.pipeline.pickups import Pickup

MARK = '<meta name="generator" content="narrator pickups">'
"""Mark of such pages: only a page with it is overwritten."""


def write(book: BookPlan, rows: Sequence[Pickup], path: Path) -> None:
    """Writes the page. Raises StorageError."""
    files.write(path, page(book, rows))


def page(book: BookPlan, rows: Sequence[Pickup]) -> bytes:
    """Returns the page in UTF-8."""
    titles = [chapter.title for chapter in book.chapters]

    def title(row: Pickup) -> str:
        number = int(row.chapter) if row.chapter.isdecimal() else 0
        return f"{row.chapter}. {titles[number - 1]}" if 0 < number <= len(titles) else row.chapter

    chapters = [(name, list(chapter_rows)) for name, chapter_rows in groupby(rows, title)]
    template = templates.environment("narrator.report").get_template("pickups.html")
    html = template.render(title=book.project.manifest.title, chapters=chapters, mark=MARK)
    return html.encode("utf-8", "replace")
