"""One page about a project: how it sounds, what is complete, what went wrong.

It gathers facts, measures the delivered files, draws and writes; what was measured is kept beside,
so that a second page takes a moment. A figure, a drawing or a section of the page belongs here; it
changes nothing that listeners get. Pictures and templates need the extra `report`.

    facts.py    plan, store and files -> what is to be said
    sound.py    delivered files -> curves and figures, kept between runs
    plots.py    curves -> SVG
    pickups.py  a list of pickups as a page to print
    page.py     facts and pictures -> HTML, by the templates; style.css and script.js: its looks
                and its player
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from narrator import files
from narrator.errors import EnvironmentFailed, UserError
from narrator.installation import install_command
from narrator.pipeline.book_plan import BookPlan
from narrator.report import sound
from narrator.report.facts import MARK, ProjectFacts, gather
from narrator.report.sound import ChapterSound, CurveCache
from narrator.sound.probe import FileFigures

__all__ = ["MARK", "PageObserver", "ProjectFacts", "gather", "page_path", "write"]


class PageObserver(Protocol):
    """Receives the progress of a page."""

    def __call__(self, activity: str, share: float) -> None: ...


def page_path(book: BookPlan) -> Path:
    """Returns the path of a project's page: build/report.html; drafts and manifests by another name
    than book.yaml have their own beside it."""
    return book.project.build / f"{_file_name(book, 'report')}.html"


def _file_name(book: BookPlan, prefix: str) -> str:
    """Returns a file name of this manifest and rendition."""
    stem = "" if book.project.stem == "book" else f"-{book.project.stem}"
    return f"{prefix}{stem}{'' if book.folders.kind == 'book' else f'-{book.folders.kind}'}"


def require_packages(*packages: str) -> None:
    """Raises EnvironmentFailed for missing packages of the extra."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise EnvironmentFailed(
            f"the page needs {' and '.join(missing)}: {install_command('report')}"
        )


def write(
    book: BookPlan,
    path: Path,
    *,
    spectrograms: Collection[int] = (),
    on_progress: PageObserver,
    now: datetime | None = None,
) -> ProjectFacts:
    """Writes the page; returns the facts on it.

    `spectrograms` are chapters, counted from 0. `on_progress` receives ("measure files", share
    done), then ("read chapters", …), then ("draw", …). Raises EnvironmentFailed without the extra,
    StorageError.
    """
    require_packages("matplotlib", "jinja2")
    from narrator.report import page

    facts = gather(book, now)
    curve_cache = CurveCache(book.project.build / _file_name(book, "report-cache"))
    sound_paths = [file.path for file in facts.files]
    figures = sound.figures(
        sound_paths, curve_cache, lambda share: on_progress("measure files", share)
    )
    chapter_sounds = _chapter_sounds(facts, figures, spectrograms)
    sounds_by_file: dict[Path, list[ChapterSound]] = defaultdict(list)
    for chapter in facts.chapters:
        if chapter.file and (chapter_sound := chapter_sounds.get(chapter.number - 1)):
            sounds_by_file[chapter.file.path].append(chapter_sound)
    for file_sounds in sounds_by_file.values():
        file_sounds.sort(key=lambda part: part.start)
    curves = sound.curves(
        sounds_by_file, curve_cache, lambda share: on_progress("read chapters", share)
    )

    def report_drawn(done_count: int, total: int) -> None:
        on_progress("draw", done_count / max(1, total))

    sounds = page.Sounds(curves, chapter_sounds, figures, curve_cache)
    with files.replacing(path) as temporary, temporary.open("w", encoding="utf-8") as output:
        for html_piece in page.pieces(facts, sounds, path.parent, report_drawn):
            output.write(html_piece)
    curve_cache.prune()
    return facts


def _chapter_sounds(
    facts: ProjectFacts, figures: dict[Path, FileFigures | UserError], spectrograms: Collection[int]
) -> dict[int, ChapterSound]:
    """Returns the position of each chapter in its file, by its number from 0; skips unreadable
    files."""
    sounds_by_chapter: dict[int, ChapterSound] = {}
    for chapter in facts.chapters:
        index = chapter.number - 1
        measured = figures.get(chapter.file.path) if chapter.file else None
        if chapter.file is None or not isinstance(measured, FileFigures):
            continue
        file_chapters: Sequence[int] = chapter.file.chapters
        chapter_seconds = [facts.chapters[number].seconds or 0.0 for number in file_chapters]
        starts = [*sound.starts(measured, chapter_seconds), measured.seconds]
        position = file_chapters.index(index)
        start = starts[position]
        seconds = min(
            chapter_seconds[position] or starts[position + 1] - start, measured.seconds - start
        )
        if seconds > 0:
            sounds_by_chapter[index] = ChapterSound(index, start, seconds, index in spectrograms)
    return sounds_by_chapter
