"""`narrator status --steadiness`: the voices of a book, and what differs from them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from narrator.cli.progress import StageLine
from narrator.cli.shared import err, out, shorten
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.pipeline.book_plan import BookPlan
    from narrator.pipeline.steadiness import Steadiness

MAX_LISTED_OUTLIERS = 40
"""Takes that are printed; --json has them all."""


def measure_steadiness(book: BookPlan, *, quiet: bool) -> Steadiness:
    """Measures the voices of a book, with progress unless `quiet`."""
    from narrator.pipeline import steadiness

    with contextlib.nullcontext() if quiet else StageLine(err) as line:
        return steadiness.measure(
            book,
            on_progress=(
                (lambda done, total: line("comparing takes", done / total)) if line else None
            ),
        )


def steadiness_json(steadiness: Steadiness) -> dict[str, object]:
    """Returns all figures, by speaker, chapter and take."""
    return {
        "unsteadiness": round(steadiness.unsteadiness, 3) if steadiness.takes else None,
        "drift": None if steadiness.drift is None else round(steadiness.drift, 3),
        "compared": len(steadiness.takes),
        "too_few": list(steadiness.too_few),
        "speakers": [
            {
                "speaker": row.speaker,
                "style": row.style,
                "takes": row.usual.count,
                "medians": _rounded(row.usual.medians),
                "spreads": _rounded(row.usual.spreads),
            }
            for row in steadiness.speakers
        ],
        "chapters": [
            {**asdict(row), "seconds": round(row.seconds, 1), "shares": _rounded(row.shares)}
            for row in steadiness.chapters
        ],
        "trends": [{**asdict(row), "shares": _rounded(row.shares)} for row in steadiness.trends],
        "outliers": [
            {
                "id": outlier.step.id,
                "speaker": outlier.step.chunk.speaker,
                "deviations": [
                    {
                        "measure": deviation.measure,
                        "amount": round(deviation.amount, 3),
                        "spreads": round(deviation.spreads, 2),
                        "message": deviation.message,
                    }
                    for deviation in outlier.reasons
                ],
            }
            for outlier in steadiness.outliers
        ],
    }


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(figure, 3) for name, figure in figures.items()}


def print_steadiness(steadiness: Steadiness, take_count: int) -> None:
    """Prints what is usual for each speaker, and where a voice leaves it, in a book with this many
    takes."""
    if not take_count:
        out.print("Nothing is rendered yet.")
        return
    if not steadiness.speakers:
        out.print("No speaker has enough takes of two seconds or more to compare.")
        return
    _print_speakers(steadiness)
    _print_chapters(steadiness)
    _print_trends(steadiness)
    _print_outliers(steadiness)
    if uncompared := take_count - len(steadiness.takes):
        few = f", or of too few: {', '.join(steadiness.too_few)}" if steadiness.too_few else ""
        out.print(f"not compared: {pluralize(uncompared, 'take')} of less than two seconds{few}")
    if steadiness.drift is not None:
        out.print(f"drift from chapter to chapter: {steadiness.drift:.2f} (at 1, it is audible)")
    out.print(
        f"unsteadiness of the book, with single takes: {steadiness.unsteadiness:.2f} (compare "
        "renders by it; less is steadier)"
    )


def _print_speakers(steadiness: Steadiness) -> None:
    table = Table("speaker", "style", "takes", "pitch", "pace", "loudness", box=None)
    for row in steadiness.speakers:
        medians, spreads = row.usual.medians, row.usual.spreads
        table.add_row(
            row.speaker,
            shorten(row.style, 30),
            str(row.usual.count),
            _format_pitch(medians.get("pitch"), spreads.get("pitch", 0.0)),
            _format_pace(medians.get("pace"), spreads.get("pace", 0.0)),
            f"{medians['loudness']:.1f} ± {spreads['loudness']:.1f} dB",
        )
    out.print(table)


def _format_pitch(semitones: float | None, spread: float) -> str:
    return "" if semitones is None else f"{100 * 2 ** (semitones / 12):.0f} Hz ± {spread:.1f} st"


def _format_pace(octaves: float | None, spread: float) -> str:
    """The pace relative to what is expected of a text."""
    return "" if octaves is None else f"{2**octaves:.2f}× ± {2**spread - 1:.0%}"


def _print_chapters(steadiness: Steadiness) -> None:
    """Prints the chapters in which a voice differs from its usual one."""
    rows = [
        ((str(row.chapter), row.speaker, str(row.takes)), row.shares)
        for row in steadiness.chapters
        if row.is_listed
    ]
    if rows:
        out.print("Chapters that differ from the speaker's usual voice (1 is audible):")
        _print_shares(("chapter", "speaker", "takes"), rows)
    else:
        out.print("No chapter differs from its speaker's usual voice.")


def _print_trends(steadiness: Steadiness) -> None:
    """Prints the voices that change from the beginning of the book to its end."""
    rows = [
        ((row.speaker, str(row.takes)), row.shares) for row in steadiness.trends if row.is_listed
    ]
    if rows:
        out.print("Voices that change from their first takes to their last (1 is audible):")
        _print_shares(("speaker", "takes"), rows)


def _print_shares(
    headings: Sequence[str], rows: Sequence[tuple[Sequence[str], Mapping[str, float]]]
) -> None:
    names = list(dict.fromkeys(name for _, shares in rows for name in shares))
    table = Table(*headings, *names, box=None)
    for cells, shares in rows:
        table.add_row(*cells, *(f"{shares[name]:+.1f}" if name in shares else "" for name in names))
    out.print(table)


def _print_outliers(steadiness: Steadiness) -> None:
    outliers = steadiness.outliers
    if not outliers:
        out.print(f"None of {pluralize(len(steadiness.takes), 'take')} sticks out.")
        return
    out.print(f"{pluralize(len(outliers), 'take')} of {len(steadiness.takes):,} stick out:")
    worst_first = sorted(outliers, key=lambda outlier: -outlier.height)
    for outlier in worst_first[:MAX_LISTED_OUTLIERS]:
        step = outlier.step
        reasons = "; ".join(deviation.message for deviation in outlier.reasons)
        out.print(f"  {step.id}  {step.chunk.speaker}  “{shorten(step.text, 40)}”  {reasons}")
    if len(outliers) > MAX_LISTED_OUTLIERS:
        out.print(f"  and {len(outliers) - MAX_LISTED_OUTLIERS} more; --json lists them all")
