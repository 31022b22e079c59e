"""Facts and pictures -> one HTML page that needs nothing else: no network, fonts or scripts.

A little script lets places be heard where it runs; without it they are links to the same place.
Knows nothing of plans, stores and how sound is measured.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Literal
from urllib.parse import quote

from narrator.delivery import verify
from narrator.errors import UserError
from narrator.report import plots
from narrator.report.facts import MARK, ChapterFacts, File, Passage, ProjectFacts
from narrator.report.plots import clock
from narrator.report.sound import ChapterSound, Curve, Kept
from narrator.sound.probe import FileFigures

SHOWN = 240
"""Characters of a text in a table."""
LONGEST = 12
"""Pauses that are listed."""


@dataclass(frozen=True, slots=True)
class Sounds:
    """What was measured of the files."""

    curves: Mapping[int, Curve]
    """Of chapters, counted from 0."""
    parts: Mapping[int, ChapterSound]
    """Where in its file each chapter is."""
    figures: Mapping[Path, FileFigures | UserError]
    kept: Kept
    """Where drawn curves are kept."""


def pieces(
    facts: ProjectFacts, sounds: Sounds, folder: Path, on_drawn: Callable[[int, int], None]
) -> Iterator[str]:
    """The page, piece by piece: it may be long. `folder` is where it will lie, for its links.

    `on_drawn` hears how many pictures of how many are drawn.
    """
    page = _Page(facts, sounds, folder)
    yield from page.head()
    for section in (
        page.completeness,
        page.chapters,
        page.files,
        page.troubles,
        page.pace,
        page.voices,
        page.pauses,
        page.chains,
        page.left_out,
    ):
        yield from section()
    yield '<section aria-labelledby="sound"><h2 id="sound">Chapter by chapter</h2>'
    for number, chapter in enumerate(facts.chapters):
        on_drawn(number, len(facts.chapters))
        yield from page.chapter(chapter)
    on_drawn(len(facts.chapters), len(facts.chapters))
    yield "</section></main>"
    yield from page.foot()


# -- words -----------------------------------------------------------------------------------------


def _text(value: str) -> str:
    """An author's words: escaped, on one line, in a direction of their own."""
    return f'<bdi dir="auto">{escape(" ".join(value.split()))}</bdi>'


def _short(value: str) -> str:
    value = " ".join(value.split())
    return _text(value if len(value) <= SHOWN else value[: SHOWN - 1] + "…")


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _signed(value: float, digits: int = 1) -> str:
    """With a real minus."""
    return f"{value:.{digits}f}".replace("-", "−")


def _sized(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit != "MB" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


def _table(caption: str, head: Sequence[tuple[str, str]], rows: Iterable[str]) -> str:
    """`head` gives (class, name) of each column; the box scrolls, and keys reach it."""
    cells = "".join(f'<th scope="col"{_class(kind)}>{escape(name)}</th>' for kind, name in head)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _row(*cells: tuple[str, str]) -> str:
    """Cells as (class, HTML)."""
    return f"<tr>{''.join(f'<td{_class(kind)}>{inner}</td>' for kind, inner in cells)}</tr>"


def _section(name: str, title: str, *parts: str) -> Iterator[str]:
    yield f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>'
    yield from parts
    yield "</section>"


def _picture(alt: str, caption: str, svgs: Sequence[str], data: str = "") -> str:
    """One picture in all its sizes, of which the page shows one. `data` is of a figure to play."""
    marked = [
        svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1) for svg in svgs
    ]
    sized = "".join(
        f'<div class="{size.name}">{svg}</div>'
        for size, svg in zip(plots.SIZES, marked, strict=True)
    )
    return f"<figure{data}>{sized}<figcaption>{caption}</figcaption></figure>"


# -- the page --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Page:
    facts: ProjectFacts
    sounds: Sounds
    folder: Path

    def head(self) -> Iterator[str]:
        facts = self.facts
        style = resources.files(__package__).joinpath("style.css").read_text("utf-8")
        yield (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">{MARK}'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(facts.title)}: report</title><style>{style}</style></head><body>"
        )
        engine = dict(facts.engine)
        by = f"<p class='by'>{_text(facts.author)}</p>" if facts.author else ""
        yield f"<header><h1>{_text(facts.title)}</h1>{by}"
        words, good = self._state()
        yield f'<p class="state{"" if good else " bad"}">{escape(words)}</p>'
        keys = [
            ("length", clock(facts.seconds)),
            ("chapters", f"{len(facts.chapters):,}"),
            ("chunks", f"{facts.chunks:,}"),
            ("voices", f"{len(facts.speakers):,}"),
            ("spoken again", f"{facts.retries:,}"),
            ("given up", f"{facts.given_up:,}"),
            ("doubtful", f"{facts.doubtful:,}"),
            ("left out", f"{len(facts.left_out):,}"),
            ("pace outliers", f"{len(facts.outliers):,}"),
        ]
        rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in keys)
        yield f'<dl class="key">{rows}</dl>'
        made = facts.delivered
        when = f"Files made {made:%Y-%m-%d %H:%M} UTC. " if made else ""
        identity = ", ".join(
            f"{escape(name)} {escape(value)}" for name, value in engine.items() if name != "name"
        )
        draft = " (a draft of a book that has another engine)" if facts.draft else ""
        yield (
            f'<p class="note">{when}Engine: {escape(engine.get("name", ""))}{draft}'
            f"{f', {identity}' if identity else ''}. Manifest: {_text(facts.manifest)}, "
            f"language {escape(facts.language)}.</p>"
        )
        names = ("completeness", "chapters", "files", "retries", "pace", "voices", "pauses",
                 "chains", "unspoken", "sound")  # fmt: skip
        titles = ("Completeness", "Chapters", "Files", "Retries and flags", "Pace", "Voices",
                  "Pauses", "Chains", "Left out", "Chapter by chapter")  # fmt: skip
        links = "".join(
            f'<li><a href="#{name}">{title}</a></li>'
            for name, title in zip(names, titles, strict=True)
        )
        yield f'<nav aria-label="Sections"><ul>{links}</ul></nav></header><main>'

    def _state(self) -> tuple[str, bool]:
        """How far the project is, in words, and whether that is all one could want."""
        facts = self.facts
        if facts.missing:
            return (
                f"Incomplete: {_count(facts.missing, 'chunk')} of {facts.chunks:,} missing",
                False,
            )
        if not facts.characters.balanced:
            return "Text is unaccounted for", False
        sound = [file for file in facts.files if file.sound]
        if not sound:
            return "All spoken, nothing delivered yet", False
        if any(file.note for file in sound):
            return "All spoken, but files are out of date", False
        failed = sum(not check.ok for file in sound for check in self._checks(file))
        if failed:
            return f"Delivered, but {_count(failed, 'check')} of its files failed", False
        if facts.doubtful:
            return f"Delivered, with {_count(facts.doubtful, 'doubtful chunk')}", False
        return "Complete and delivered", True

    def foot(self) -> Iterator[str]:
        script = resources.files(__package__).joinpath("script.js").read_text("utf-8")
        yield (
            f"<footer>Written {self.facts.written:%Y-%m-%d %H:%M} UTC by narrator from "
            f"{_text(self.facts.manifest)}. Levels are measured on the delivered files."
            f"</footer><script>{script}</script></body></html>\n"
        )

    # -- sections ----------------------------------------------------------------------------------

    def completeness(self) -> Iterator[str]:
        found = self.facts.characters
        fates = [
            ("spoken", found.spoken, "spoken"),
            ("left", found.left_out, "left out"),
            ("lost", found.given_up, "given up"),
            ("", found.not_rendered, "not rendered"),
        ]
        whole = max(1, found.source)
        bars = "".join(
            f'<span class="{kind}" style="width:{100 * number / whole:.2f}%"></span>'
            for kind, number, _ in fates
            if number
        )
        sums = " + ".join(f"{number:,} {name}" for _, number, name in fates)
        wrong = "" if found.balanced else (
            f'<p class="bad">These do not add up: {found.source:,} characters are in the source.'
            "</p>"
        )  # fmt: skip
        yield from _section(
            "completeness",
            "Completeness",
            f'<div class="stack" aria-hidden="true">{bars}</div>',
            f'<p class="sum">{found.source:,} characters in the source = {sums}.</p>',
            '<p class="note">Characters but white space; every one is spoken or listed here.</p>',
            wrong,
        )

    def chapters(self) -> Iterator[str]:
        head = [("n", ""), ("w", "chapter"), ("n", "length"), ("n", "chunks"), ("n", "missing"),
                ("n", "LUFS"), ("n", "range, LU"), ("o", "state")]  # fmt: skip
        yield from _section("chapters", "Chapters", _table("Chapters", head, self._chapter_rows()))

    def _chapter_rows(self) -> Iterator[str]:
        for chapter in self.facts.chapters:
            curve = self.sounds.curves.get(chapter.number - 1)
            words, good = _chapter_state(chapter)
            yield _row(
                ("n", str(chapter.number)),
                ("w", f'<a href="#chapter-{chapter.number}">{_text(chapter.title)}</a>'),
                ("n", "" if chapter.seconds is None else clock(chapter.seconds)),
                ("n", f"{chapter.chunks:,}"),
                ("n", f"{chapter.missing:,}" if chapter.missing else ""),
                ("n", _signed(curve.integrated) if curve else ""),
                ("n", f"{curve.spread:.1f}" if curve else ""),
                ("o" if good else "o bad", words),
            )

    def files(self) -> Iterator[str]:
        sound = [file for file in self.facts.files if file.sound]
        others = [file for file in self.facts.files if not file.sound]
        if not sound:
            yield from _section("files", "Files", "<p>None has been made yet.</p>")
            return
        head = [("w", "file"), ("n", "size"), ("n", "length"), ("n", "LUFS"), ("n", "RMS, dB"),
                ("n", "true peak, dBTP"), ("n", "kbit/s"), ("w", "checks")]  # fmt: skip
        parts = [_table("Delivered files", head, map(self._file_row, sound))]
        for file in sound:
            found = self._checks(file)
            if file.profile and found:
                parts.append(_check_table(file, found))
        if others:
            named = ", ".join(
                f'<a href="{self._link(file.path)}">{_text(file.name)}</a>' for file in others[:40]
            )
            more = f" and {len(others) - 40:,} more" if len(others) > 40 else ""
            parts.append(f'<p class="note">Beside them: {named}{more}.</p>')
        yield from _section("files", "Files", *parts)

    def _file_row(self, file: File) -> str:
        name = f'<a href="{self._link(file.path)}">{_text(file.name)}</a>'
        found = self.sounds.figures.get(file.path)
        wrong = f'<span class="bad">{escape(file.note)}</span> ' if file.note else ""
        if not isinstance(found, FileFigures):
            said = f'<span class="bad">{escape(str(found))}</span>' if found else ""
            none = [("n", "")] * 5
            return _row(("w", name), ("n", _sized(file.bytes)), *none, ("w", wrong + said))
        failed = [check for check in self._checks(file) if not check.ok]
        verdict = "ok" if not failed else "".join(
            f'<span class="bad">{escape(check.name)}: {escape(check.figure)}'
            f"{f', asked for {escape(check.demand)}' if check.demand else ''}</span> "
            for check in failed
        )  # fmt: skip
        loud = found.loudness
        return _row(
            ("w", name),
            ("n", _sized(file.bytes)),
            ("n", clock(found.seconds)),
            ("n", _signed(loud.integrated)),
            ("n", _signed(loud.rms)),
            ("n", _signed(loud.true_peak)),
            ("n", str(found.bitrate)),
            ("w", wrong + verdict),
        )

    def _checks(self, file: File) -> list[verify.Check]:
        found = self.sounds.figures.get(file.path)
        if not isinstance(found, FileFigures):
            return []
        alike = [
            figures
            for other in self.facts.files
            if other.sound and other.profile == file.profile
            and isinstance(figures := self.sounds.figures.get(other.path), FileFigures)
        ]  # fmt: skip
        return verify.checks(found, file.profile, alike[0])

    def troubles(self) -> Iterator[str]:
        found = self.facts.troubles
        if not found:
            said = "<p>Every chunk that is there was good at its first try.</p>"
            yield from _section("retries", "Retries and flags", said)
            return
        head = [("c", "chunk"), ("c", "outcome"), ("w", "faults"), ("w", "text"), ("n", "tries"),
                ("", "speaker"), ("s", "source")]  # fmt: skip
        rows = (
            _row(
                ("c", self._place(trouble.place)),
                ("c bad" if trouble.given_up or trouble.doubtful else "c", escape(trouble.outcome)),
                ("w", _faults(trouble.faults)),
                ("w", _short(trouble.place.text)),
                ("n", str(trouble.tries)),
                ("", _text(trouble.place.speaker)),
                ("s", _text(trouble.place.source)),
            )
            for trouble in found
        )
        flags = sum(trouble.given_up for trouble in found)
        doubts = sum(trouble.doubtful for trouble in found)
        said = (
            f"{_count(flags, 'chunk')} given up, {_count(doubts, 'chunk')} doubtful, "
            f"{_count(len(found) - flags - doubts, 'chunk')} spoken more than once."
        )
        yield from _section(
            "retries", "Retries and flags", f"<p>{said}</p>", _table(said, head, rows)
        )

    def pace(self) -> Iterator[str]:
        paces, odd = self.facts.paces, self.facts.outliers
        if not paces:
            yield from _section("pace", "Pace", "<p>Nothing has been spoken yet.</p>")
            return
        ends = list(accumulate(pace.seconds for pace in paces))
        times = [end - pace.seconds / 2 for end, pace in zip(ends, paces, strict=True)]
        svgs = [
            plots.paces(
                times,
                [pace.against for pace in paces],
                [pace.outlier for pace in paces],
                ends[-1],
                size,
            )
            for size in plots.SIZES
        ]
        dots = plots.WIDE.dots
        many = f" Of the others, {dots:,} are drawn." if len(paces) > 2 * dots else ""
        parts = [
            _picture(
                f"Speech rate of {_count(len(paces), 'chunk')}, {_count(len(odd), 'outlier')}",
                "Length of each chunk against what is usual for its speaker, over the speech of "
                f"the book; 2 is twice as long. Circles are outliers.{many}",
                svgs,
            )
        ]
        if odd:
            head = [("c", "chunk"), ("n", "of usual"), ("w", "text"), ("n", "seconds"),
                    ("n", "of expected"), ("", "speaker"), ("s", "source")]  # fmt: skip
            rows = (
                _row(
                    ("c", self._place(pace.place)),
                    ("n", f"{pace.against:.2f}"),
                    ("w", _short(pace.place.text)),
                    ("n", f"{pace.seconds:.1f}"),
                    ("n", f"{pace.ratio:.2f}"),
                    ("", _text(pace.place.speaker)),
                    ("s", _text(pace.place.source)),
                )
                for pace in odd
            )
            parts.append(_table("Pace outliers", head, rows))
        else:
            parts.append("<p>No chunk is far from what is usual for its speaker.</p>")
        yield from _section("pace", "Pace", *parts)

    def voices(self) -> Iterator[str]:
        head = [("", "speaker"), ("share", "share of speech"), ("n", ""), ("n", "speech"),
                ("n", "chunks"), ("n", "pace"), ("n", "level, dB"), ("n", "outliers")]  # fmt: skip
        most = max((speaker.share for speaker in self.facts.speakers), default=0.0) or 1.0
        rows = (
            _row(
                ("", _text(speaker.name)),
                (
                    "share",
                    '<span class="bar" aria-hidden="true" '
                    f'style="width:{100 * speaker.share / most:.1f}%"></span>',
                ),
                ("n", f"{speaker.share:.1%}"),
                ("n", clock(speaker.seconds)),
                ("n", f"{speaker.chunks:,}"),
                ("n", "" if speaker.pace is None else f"{speaker.pace:.2f}"),
                ("n", "" if speaker.level is None else _signed(speaker.level)),
                ("n", f"{speaker.outliers:,}" if speaker.outliers else ""),
            )
            for speaker in self.facts.speakers
        )
        yield from _section(
            "voices",
            "Voices",
            _table("Voices by share", head, rows),
            '<p class="note">Pace is the median length of takes against what their texts should '
            "take: 1.1 is slower. Level is as spoken, before voices are evened out.</p>",
        )

    def pauses(self) -> Iterator[str]:
        found = self.facts.pauses
        if not found:
            yield from _section("pauses", "Pauses", "<p>There are none between chunks.</p>")
            return
        kinds: dict[str, list[float]] = defaultdict(list)
        for pause in found:
            kinds[pause.kind].append(pause.seconds)
        head = [("", "after a"), ("n", "pauses"), ("n", "shortest"), ("n", "median"),
                ("n", "longest"), ("n", "together")]  # fmt: skip
        rows = (
            _row(
                ("c", _PAUSES.get(kind, kind)),
                ("n", f"{len(all_):,}"),
                ("n", f"{min(all_):.2f} s"),
                ("n", f"{median(all_):.2f} s"),
                ("n", f"{max(all_):.2f} s"),
                ("n", clock(sum(all_))),
            )
            for kind, all_ in sorted(kinds.items(), key=lambda item: -len(item[1]))
        )
        lengths = [pause.seconds for pause in found]
        longest = sorted(found, key=lambda pause: -pause.seconds)[:LONGEST]
        svgs = [plots.pauses(lengths, size) for size in plots.SIZES]
        late = [("c", "after chunk"), ("n", "seconds"), ("w", "text before it"), ("c", "kind"),
                ("s", "source")]  # fmt: skip
        yield from _section(
            "pauses",
            "Pauses",
            _picture(
                f"Lengths of {_count(len(found), 'pause')}",
                "How many pauses between chunks there are of each length; longer ones than 6 s "
                "count with those.",
                svgs,
            ),
            _table("Pauses by kind", head, rows),
            f"<details><summary>The {len(longest)} longest</summary>",
            _table(
                "Longest pauses",
                late,
                (
                    _row(
                        ("c", self._place(pause.after, end=True)),
                        ("n", f"{pause.seconds:.2f}"),
                        ("w", _short(pause.after.text)),
                        ("c", _PAUSES.get(pause.kind, pause.kind)),
                        ("s", _text(pause.after.source)),
                    )
                    for pause in longest
                ),
            ),
            "</details>",
        )

    def chains(self) -> Iterator[str]:
        chains = self.facts.chains
        modes = ", ".join(f"{number:,} {escape(mode)}" for mode, number in chains.modes.items())
        pins = f" {_count(chains.pinned, 'take')} pinned by hand." if chains.pinned else ""
        count = sum(chains.lengths.values())
        most = max(chains.lengths.values(), default=1)
        head = [("n", "chunks in a chain"), ("n", "chains"), ("share", "")]
        rows = (
            _row(
                ("n", str(length)),
                ("n", f"{number:,}"),
                (
                    "share",
                    '<span class="bar" aria-hidden="true" '
                    f'style="width:{100 * number / most:.1f}%"></span>',
                ),
            )
            for length, number in chains.lengths.items()
        )
        yield from _section(
            "chains",
            "Chains",
            f"<p>{_count(count, 'chain')}. Takes by what their engine was given: {modes}.{pins}"
            "</p>",
            _table("Chains by length", head, rows) if set(chains.lengths) - {1} else
            "<p>Each chunk is spoken on its own.</p>",
        )  # fmt: skip

    def left_out(self) -> Iterator[str]:
        found = self.facts.left_out
        if not found:
            yield from _section("unspoken", "Left out", "<p>Nothing: all text is spoken.</p>")
            return
        head = [("w", "text"), ("c", "why"), ("s", "source"), ("n", "chapter")]
        rows = (
            _row(
                ("w", _short(item.text)),
                ("c", escape(item.reason)),
                ("s", _text(item.source)),
                ("n", str(item.chapter + 1)),
            )
            for item in found
        )
        yield from _section("unspoken", "Left out", _table("Left out", head, rows))

    # -- chapters ----------------------------------------------------------------------------------

    def chapter(self, chapter: ChapterFacts) -> Iterator[str]:
        index, name = chapter.number - 1, f"chapter-{chapter.number}"
        curve, part = self.sounds.curves.get(index), self.sounds.parts.get(index)
        yield f'<article id="{name}"><h3>{chapter.number}. {_text(chapter.title)}</h3>'
        words, good = _chapter_state(chapter)
        said = [words] if not good else []
        if curve:
            said.append(f"{clock(curve.seconds)}, {_signed(curve.integrated)} LUFS, "
                        f"range {curve.spread:.1f} LU")  # fmt: skip
        yield f"<p{_class('' if good else 'bad')}>{'; '.join(said)}</p>"
        if curve and part and chapter.file:
            target = chapter.target
            line = target.level if target.kind == "LUFS" else None
            svgs = [self._drawn("chapter", chapter, size, line) for size in plots.SIZES]
            data = (
                f' class="seek" data-player="player-{chapter.number}" '
                f'data-from="{part.start:.3f}" data-length="{part.seconds:.3f}" '
                f'data-left="{plots.LEFT}" data-right="{plots.RIGHT}"'
            )
            dashed = f"; dashed: target, {_signed(line, 0)} LUFS" if line is not None else (
                f"; target: {escape(str(target))}"
            )  # fmt: skip
            alt = (
                f"Waveform and short-term loudness of chapter {chapter.number}: "
                f"{clock(curve.seconds)} at {_signed(curve.integrated)} LUFS"
            )
            yield _picture(
                alt, f"Waveform; short-term loudness in LUFS, over 3 s{dashed}.", svgs, data
            )
            if curve.spectrum is not None:
                drawn = [self._drawn("spectrogram", chapter, size, None) for size in plots.SIZES]
                yield "<details><summary>Spectrogram</summary>"
                yield _picture(
                    f"Spectrogram of chapter {chapter.number}",
                    "Strength by time and pitch, in kHz on the mel scale; 80 dB from black to "
                    "white.",
                    drawn, data,
                )  # fmt: skip
                yield "</details>"
            place = f"#t={part.start:.2f}" if part.start else ""
            yield (
                f'<audio id="player-{chapter.number}" controls preload="none" '
                f'src="{self._link(chapter.file.path)}{place}" '
                f'aria-label="Chapter {chapter.number}"></audio>'
            )
        yield "</article>"

    def _drawn(
        self,
        kind: Literal["chapter", "spectrogram"],
        chapter: ChapterFacts,
        size: plots.PlotSize,
        target: float | None,
    ) -> str:
        assert chapter.file is not None
        index, name = chapter.number - 1, f"{kind}-{chapter.number}"
        curve = self.sounds.curves[index]

        def draw() -> str:
            if kind == "chapter":
                return plots.chapter(curve, target, size, f"{name}-plot")
            return plots.spectrogram(curve, size, f"{name}-plot")

        recipe = {"drawing": plots.DRAWING, "name": name, "size": size.name, "target": target}
        return self.sounds.kept.picture(chapter.file.path, self.sounds.parts[index], recipe, draw)

    # -- links -------------------------------------------------------------------------------------

    def _link(self, path: Path) -> str:
        """A relative address of a file."""
        near = os.path.relpath(path.resolve(), self.folder.resolve())
        return escape(quote(Path(near).as_posix()))

    def _place(self, place: Passage, *, end: bool = False) -> str:
        """A chunk's name, as a link that plays it where its sound is at hand."""
        chapter = self.facts.chapters[place.chapter]
        part = self.sounds.parts.get(place.chapter)
        at = place.stop if end else place.start
        if at is None or part is None or chapter.file is None:
            return f'<a href="#chapter-{chapter.number}">{place.chunk}</a>'
        begin = max(0.0, part.start + at - (1.0 if end else 0.2))
        return (
            f'<a href="{self._link(chapter.file.path)}#t={begin:.2f}" data-at="{begin:.2f}" '
            f'data-player="player-{chapter.number}" title="play at {clock(at)}">{place.chunk}</a>'
        )


_PAUSES = {"speaker": "change of speaker", "set by hand": "pause set by hand"}


def _faults(faults: Sequence[str]) -> str:
    """Each once, with how often it was found."""
    counts = Counter(faults)
    return "<br>".join(
        escape(fault) + (f" ({number} times)" if number > 1 else "")
        for fault, number in counts.items()
    )


def _chapter_state(chapter: ChapterFacts) -> tuple[str, bool]:
    if chapter.missing:
        up = f", {chapter.given_up:,} given up" if chapter.given_up else ""
        return f"{_count(chapter.missing, 'chunk')} missing{up}", False
    if chapter.seconds is None or chapter.file is None:
        return "spoken, not delivered", False
    if not chapter.current or chapter.file.note:
        return "delivered, but changed since", False
    return "delivered", True


def _check_table(file: File, found: Sequence[verify.Check]) -> str:
    rows = (
        _row(
            ("", escape(check.name)),
            ("", escape(check.figure)),
            ("", escape(check.demand)),
            ("", "" if check.ok and not check.demand else "ok") if check.ok else ("bad", "fails"),
        )
        for check in found
    )
    head = [("", "check"), ("", "measured"), ("", "asked for"), ("", "")]
    named = file.profile.name if file.profile else ""
    return (
        f"<details><summary>{_text(file.name)} against {escape(named)}</summary>"
        f"{_table(f'Checks of {file.name}', head, rows)}</details>"
    )
