"""Facts and pictures -> one HTML page that needs nothing else: no network, fonts or scripts.

What it says and its markup are in templates/, a file for each section, where all text is escaped;
here is what they are filled with. A little script lets places be heard where it runs; without it
they are links to the same place. Knows nothing of plans, stores and how sound is measured.
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
from narrator.delivery import verify
from narrator.errors import UserError
from narrator.pipeline.places import Passage
from narrator.report import plots
from narrator.report.facts import MARK, ChapterFacts, File, Pause, ProjectFacts
from narrator.report.sound import ChapterSound, Curve, KeptCurves
from narrator.sound.clock import clock
from narrator.sound.probe import FileFigures


@dataclass(frozen=True, slots=True)
class Sounds:
    """What was measured of the files."""

    curves: Mapping[int, Curve]
    """Of chapters, counted from 0."""
    parts: Mapping[int, ChapterSound]
    """Where in its file each chapter is."""
    figures: Mapping[Path, FileFigures | UserError]
    kept: KeptCurves
    """Where drawn curves are kept."""


def _beside(name: str) -> str:
    """A file of this room: style.css, script.js."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def pieces(
    facts: ProjectFacts, sounds: Sounds, folder: Path, on_drawn: Callable[[int, int], None]
) -> Iterator[str]:
    """The page, piece by piece: it may be long. `folder` is where it will lie, for its links.

    `on_drawn` hears how many pictures of how many are drawn.
    """
    files = _delivered(facts.files, sounds.figures)
    chapters = [
        ShownChapter(one, sounds.curves.get(one.number - 1), sounds.parts.get(one.number - 1))
        for one in facts.chapters
    ]

    def chapters_to_draw() -> Iterator[ShownChapter]:
        for number, chapter in enumerate(chapters):
            on_drawn(number, len(chapters))
            yield chapter
        on_drawn(len(chapters), len(chapters))

    def heard_at(passage: Passage, end: bool) -> Moment | None:
        return _heard_at(chapters[passage.chapter], passage, end)

    def link(path: Path) -> str:
        near = os.path.relpath(path.resolve(), folder.resolve())
        return quote(Path(near).as_posix())

    template = _templates().get_template("page.html")
    yield from template.generate(
        facts=facts,
        state=_state(facts, files),
        chapters=chapters,
        chapters_to_draw=chapters_to_draw(),
        files=files,
        companions=[file for file in facts.files if not file.sound],
        pauses_by_kind=_by_kind(facts.pauses),
        pictures=_Pictures(facts, sounds.kept),
        axes={"left": plots.LEFT, "right": plots.RIGHT, "dots": plots.WIDE.dots},
        heard_at=heard_at,
        link=link,
        mark=MARK,
        style=_beside("style.css"),
        script=_beside("script.js"),
    )


# -- words -----------------------------------------------------------------------------------------


def _templates() -> Environment:
    environment = templates.environment("narrator.report")
    environment.filters |= {
        "clock": clock,
        "counted": _counted,
        "dated": _dated,
        "grouped": _grouped,
        "median": median,
        "signed": _signed,
        "sized": _sized,
        "tally": Counter,
    }
    return environment


def _grouped(number: int) -> str:
    return f"{number:,}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _dated(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _signed(value: float, digits: int = 1) -> str:
    """With a real minus."""
    return f"{value:.{digits}f}".replace("-", "−")


def _sized(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit != "MB" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


# -- what the templates are filled with ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """How far something is, in words, and whether that is all one could want."""

    words: str
    good: bool = False


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file to listen to, with what was measured of it."""

    facts: File
    figures: FileFigures | None
    unreadable: str
    """Why it has no figures, as far as that is known."""
    checks: Sequence[verify.Check]

    @property
    def failed(self) -> list[verify.Check]:
        return [check for check in self.checks if not check.ok]


@dataclass(frozen=True, slots=True)
class ShownChapter:
    """A chapter, with what was measured of it."""

    facts: ChapterFacts
    curve: Curve | None
    part: ChapterSound | None

    @property
    def number(self) -> int:
        """From 1."""
        return self.facts.number

    @property
    def is_heard(self) -> bool:
        return None not in (self.facts.file, self.curve, self.part)

    @property
    def level(self) -> float | None:
        """Of its target, where that is in LUFS, as its curve is."""
        target = self.facts.target
        return target.level if target.kind == "LUFS" else None

    @property
    def state(self) -> State:
        facts = self.facts
        if facts.missing:
            up = f", {facts.given_up:,} given up" if facts.given_up else ""
            return State(f"{_counted(facts.missing, 'chunk')} missing{up}")
        if facts.seconds is None or facts.file is None:
            return State("spoken, not delivered")
        if not facts.current or facts.file.note:
            return State("delivered, but changed since")
        return State("delivered", good=True)


@dataclass(frozen=True, slots=True)
class Moment:
    """Where something is heard."""

    path: Path
    seconds: float
    """From the start of the file."""
    within: float
    """From the start of the chapter."""


def _delivered(
    files: Sequence[File], figures: Mapping[Path, FileFigures | UserError]
) -> list[ShownFile]:
    """Files to listen to; each is held to the first that can be read of its own way of delivery."""
    firsts: dict[str | None, FileFigures] = {}
    shown = []
    for file in files:
        if not file.sound:
            continue
        measured = figures.get(file.path)
        if isinstance(measured, FileFigures):
            first = firsts.setdefault(file.profile.name if file.profile else None, measured)
            checks = verify.checks(measured, file.profile, first)
            shown.append(ShownFile(file, measured, "", checks))
        else:
            shown.append(ShownFile(file, None, str(measured or ""), ()))
    return shown


def _state(facts: ProjectFacts, files: Sequence[ShownFile]) -> State:
    if facts.missing:
        return State(f"Incomplete: {_counted(facts.missing, 'chunk')} of {facts.chunks:,} missing")
    if not facts.characters.balanced:
        return State("Text is unaccounted for")
    if not files:
        return State("All spoken, nothing delivered yet")
    if any(file.facts.note for file in files):
        return State("All spoken, but files are out of date")
    if failed := sum(len(file.failed) for file in files):
        return State(f"Delivered, but {_counted(failed, 'check')} of its files failed")
    if facts.doubtful:
        return State(f"Delivered, with {_counted(facts.doubtful, 'doubtful chunk')}")
    return State("Complete and delivered", good=True)


def _by_kind(pauses: Sequence[Pause]) -> list[tuple[str, list[float]]]:
    """Lengths of pauses, in seconds; the kind that there are most of first."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for pause in pauses:
        kinds[pause.kind].append(pause.seconds)
    return sorted(kinds.items(), key=lambda item: -len(item[1]))


def _heard_at(chapter: ShownChapter, passage: Passage, end: bool) -> Moment | None:
    """A little before a passage, or before its end, where that is to be heard."""
    within = passage.stop if end else passage.start
    if within is None or chapter.part is None or chapter.facts.file is None:
        return None
    begin = max(0.0, chapter.part.start + within - (1.0 if end else 0.2))
    return Moment(chapter.facts.file.path, begin, within)


# -- pictures --------------------------------------------------------------------------------------

Sizes = list[tuple[str, str]]
"""A picture in all its sizes: (name, SVG)."""


@dataclass(frozen=True, slots=True)
class _Pictures:
    """Drawn when a template asks for them, chapter by chapter."""

    facts: ProjectFacts
    kept: KeptCurves

    def paces(self) -> Sizes:
        paces = self.facts.paces
        ends = list(accumulate(pace.seconds for pace in paces))
        times = [end - pace.seconds / 2 for end, pace in zip(ends, paces, strict=True)]
        against = [pace.against for pace in paces]
        outliers = [pace.outlier for pace in paces]
        return _sizes(lambda size: plots.paces(times, against, outliers, ends[-1], size))

    def pauses(self) -> Sizes:
        lengths = [pause.seconds for pause in self.facts.pauses]
        return _sizes(lambda size: plots.pauses(lengths, size))

    def chapter(self, chapter: ShownChapter) -> Sizes:
        return self._kept(
            "chapter",
            chapter,
            chapter.level,
            lambda curve, size, name: plots.chapter(curve, chapter.level, size, name),
        )

    def spectrogram(self, chapter: ShownChapter) -> Sizes:
        return self._kept("spectrogram", chapter, None, plots.spectrogram)

    def _kept(
        self,
        kind: str,
        chapter: ShownChapter,
        target: float | None,
        draw: Callable[[Curve, plots.PlotSize, str], str],
    ) -> Sizes:
        """Of a chapter that is heard. Raises StorageError."""
        file, curve, part = chapter.facts.file, chapter.curve, chapter.part
        assert file is not None
        assert curve is not None
        assert part is not None
        name = f"{kind}-{chapter.number}"

        def drawn(size: plots.PlotSize) -> str:
            recipe = {"drawing": plots.DRAWING, "name": name, "size": size.name, "target": target}
            return self.kept.picture(
                file.path, part, recipe, lambda: draw(curve, size, f"{name}-plot")
            )

        return _sizes(drawn)


def _sizes(draw: Callable[[plots.PlotSize], str]) -> Sizes:
    return [(size.name, draw(size)) for size in plots.SIZES]
