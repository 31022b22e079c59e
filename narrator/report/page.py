"""Turns facts and pictures into one self-contained HTML page: no network, fonts or scripts needed.

Texts and markup are in templates/, a file for each section, where all text is escaped; this module
prepares their input. A small script plays places of the sound; without it they are links to the
same place. Knows nothing of plans, stores and how sound is measured.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from itertools import accumulate
from pathlib import Path
from statistics import median
from urllib.parse import quote

from jinja2 import Environment

from narrator import templates
from narrator.delivery import postflight
from narrator.errors import UserError
from narrator.pipeline.places import Passage
from narrator.quantities import format_bytes, pluralize
from narrator.report import plots
from narrator.report.facts import MARK, ChapterFacts, File, Pause, ProjectFacts
from narrator.report.sound import ChapterSound, Curve, CurveCache
from narrator.sound.clock import format_clock
from narrator.sound.probe import FileFigures


@dataclass(frozen=True, slots=True)
class Sounds:
    """The measurements of the files."""

    curves: Mapping[int, Curve]
    """Curves by chapter, counted from 0."""
    parts: Mapping[int, ChapterSound]
    """Position of each chapter in its file."""
    figures: Mapping[Path, FileFigures | UserError]
    curve_cache: CurveCache
    """Cache of drawn curves."""


def _read_resource(name: str) -> str:
    """Reads a file of this package: style.css, script.js."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def pieces(
    facts: ProjectFacts, sounds: Sounds, folder: Path, on_drawn: Callable[[int, int], None]
) -> Iterator[str]:
    """Yields the page in pieces, since it may be long. `folder` is its own, for relative links.

    `on_drawn` receives the number of drawn pictures and of all.
    """
    files = _shown_files(facts.files, sounds.figures)
    chapters = [
        ShownChapter(
            chapter_facts,
            sounds.curves.get(chapter_facts.number - 1),
            sounds.parts.get(chapter_facts.number - 1),
        )
        for chapter_facts in facts.chapters
    ]

    def chapters_to_draw() -> Iterator[ShownChapter]:
        for number, chapter in enumerate(chapters):
            on_drawn(number, len(chapters))
            yield chapter
        on_drawn(len(chapters), len(chapters))

    def heard_at(passage: Passage, at_end: bool) -> Moment | None:
        return _heard_at(chapters[passage.chapter], passage, at_end=at_end)

    def link(path: Path) -> str:
        relative_path = os.path.relpath(path.resolve(), folder.resolve())
        return quote(Path(relative_path).as_posix())

    template = _templates().get_template("page.html")
    yield from template.generate(
        facts=facts,
        state=_state(facts, files),
        chapters=chapters,
        chapters_to_draw=chapters_to_draw(),
        files=files,
        pauses_by_kind=_pauses_by_kind(facts.pauses),
        pictures=_Pictures(facts, sounds.curve_cache),
        axes={"left": plots.LEFT, "right": plots.RIGHT, "dots": plots.WIDE.dots},
        heard_at=heard_at,
        link=link,
        mark=MARK,
        style=_read_resource("style.css"),
        script=_read_resource("script.js"),
    )


# -- words -----------------------------------------------------------------------------------------


def _templates() -> Environment:
    """Returns the template environment with the filters of this page."""
    environment = templates.environment("narrator.report")
    environment.filters |= {
        "clock": format_clock,
        "dated": _format_date,
        "format_bytes": format_bytes,
        "grouped": "{:,}".format,
        "median": median,
        "pluralize": pluralize,
        "signed": _format_signed,
        "tally": Counter,
    }
    return environment


def _format_date(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _format_signed(number: float, digits: int = 1) -> str:
    """Formats a number with a true minus sign."""
    return f"{number:.{digits}f}".replace("-", "−")


# -- what the templates are filled with ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """The state of a project or a chapter in words; `good` where nothing is left to do."""

    words: str
    good: bool = False


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A sound file with its measurements."""

    facts: File
    figures: FileFigures | None
    unreadable: str
    """Reason why it could not be measured, where that is known."""
    checks: Sequence[postflight.Check]

    @property
    def failed(self) -> list[postflight.Check]:
        return [check for check in self.checks if not check.ok]


@dataclass(frozen=True, slots=True)
class ShownChapter:
    """A chapter with its measurements."""

    facts: ChapterFacts
    curve: Curve | None
    part: ChapterSound | None

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.facts.number

    @property
    def is_heard(self) -> bool:
        return None not in (self.facts.file, self.curve, self.part)

    @property
    def level(self) -> float | None:
        """Level of its target where that is in LUFS, like its curve."""
        target = self.facts.target
        return target.level if target.kind == "LUFS" else None

    @property
    def state(self) -> State:
        """How far the chapter is."""
        facts = self.facts
        if facts.missing:
            given_up = f", {facts.given_up:,} given up" if facts.given_up else ""
            return State(f"{pluralize(facts.missing, 'chunk')} missing{given_up}")
        if facts.seconds is None or facts.file is None:
            return State("spoken, not delivered")
        if not facts.current or facts.file.note:
            return State("delivered, but changed since")
        return State("delivered", good=True)


@dataclass(frozen=True, slots=True)
class Moment:
    """A position in a sound file."""

    path: Path
    seconds: float
    """Seconds from the start of the file."""
    within: float
    """Seconds from the start of the chapter."""


def _shown_files(
    files: Sequence[File], figures: Mapping[Path, FileFigures | UserError]
) -> list[ShownFile]:
    """Returns the sound files with checks; each is compared with the first readable file of its
    profile."""
    first_by_profile: dict[str | None, FileFigures] = {}
    shown_files = []
    for file in files:
        file_figures = figures.get(file.path)
        if isinstance(file_figures, FileFigures):
            first_figures = first_by_profile.setdefault(
                file.profile.name if file.profile else None, file_figures
            )
            checks = postflight.checks(file_figures, file.profile, first_figures)
            shown_files.append(ShownFile(file, file_figures, "", checks))
        else:
            shown_files.append(ShownFile(file, None, str(file_figures or ""), ()))
    return shown_files


def _state(facts: ProjectFacts, files: Sequence[ShownFile]) -> State:
    """Returns the state of the project."""
    if facts.missing:
        return State(f"Incomplete: {pluralize(facts.missing, 'chunk')} of {facts.chunks:,} missing")
    if not facts.characters.balanced:
        return State("Text is unaccounted for")
    if not files:
        return State("All spoken, nothing delivered yet")
    if any(file.facts.note for file in files):
        return State("All spoken, but files are out of date")
    if failed := sum(len(file.failed) for file in files):
        return State(f"Delivered, but {pluralize(failed, 'check')} of its files failed")
    if facts.doubtful:
        return State(f"Delivered, with {pluralize(facts.doubtful, 'doubtful chunk')}")
    return State("Complete and delivered", good=True)


def _pauses_by_kind(pauses: Sequence[Pause]) -> list[tuple[str, list[float]]]:
    """Returns the lengths of pauses in seconds by kind, the most frequent kind first."""
    seconds_by_kind: dict[str, list[float]] = defaultdict(list)
    for pause in pauses:
        seconds_by_kind[pause.kind].append(pause.seconds)
    return sorted(seconds_by_kind.items(), key=lambda kind: -len(kind[1]))


def _heard_at(chapter: ShownChapter, passage: Passage, *, at_end: bool) -> Moment | None:
    """Returns the position a little before a passage, or before its end; None where it is not
    heard."""
    chapter_seconds = passage.stop if at_end else passage.start
    if chapter_seconds is None or chapter.part is None or chapter.facts.file is None:
        return None
    file_seconds = max(0.0, chapter.part.start + chapter_seconds - (1.0 if at_end else 0.2))
    return Moment(chapter.facts.file.path, file_seconds, chapter_seconds)


# -- pictures --------------------------------------------------------------------------------------

Sizes = list[tuple[str, str]]
"""A picture in all its sizes: (name, SVG)."""


@dataclass(frozen=True, slots=True)
class _Pictures:
    """Draws pictures when a template asks for them, chapter by chapter."""

    facts: ProjectFacts
    curve_cache: CurveCache

    def paces(self) -> Sizes:
        paces = self.facts.paces
        ends = list(accumulate(pace.seconds for pace in paces))
        times = [end - pace.seconds / 2 for end, pace in zip(ends, paces, strict=True)]
        ratios = [pace.against for pace in paces]
        outliers = [pace.outlier for pace in paces]
        return _sizes(lambda size: plots.paces(times, ratios, outliers, ends[-1], size))

    def pauses(self) -> Sizes:
        lengths = [pause.seconds for pause in self.facts.pauses]
        return _sizes(lambda size: plots.pauses(lengths, size))

    def chapter(self, chapter: ShownChapter) -> Sizes:
        return self._draw_cached(
            "chapter",
            chapter,
            chapter.level,
            lambda curve, size, name: plots.chapter(curve, chapter.level, size, name),
        )

    def spectrogram(self, chapter: ShownChapter) -> Sizes:
        return self._draw_cached("spectrogram", chapter, None, plots.spectrogram)

    def _draw_cached(
        self,
        kind: str,
        chapter: ShownChapter,
        target: float | None,
        draw: Callable[[Curve, plots.PlotSize, str], str],
    ) -> Sizes:
        """Draws a picture of a chapter in all sizes, or loads it from the cache. Raises
        StorageError."""
        file, curve, part = chapter.facts.file, chapter.curve, chapter.part
        assert file is not None
        assert curve is not None
        assert part is not None
        name = f"{kind}-{chapter.number}"

        def draw_size(size: plots.PlotSize) -> str:
            recipe = {"drawing": plots.DRAWING, "name": name, "size": size.name, "target": target}
            return self.curve_cache.picture(
                file.path, part, recipe, lambda: draw(curve, size, f"{name}-plot")
            )

        return _sizes(draw_size)


def _sizes(draw: Callable[[plots.PlotSize], str]) -> Sizes:
    return [(size.name, draw(size)) for size in plots.SIZES]
