"""The rows of `narrator doctor --probe`, on a model's speech in each precision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from narrator import files
from narrator.cli.doctor import Diagnosis, Tell
from narrator.cli.models import progress_bar
from narrator.errors import NarratorError
from narrator.quantities import format_bytes, pluralize

if TYPE_CHECKING:
    from narrator.engines import Engine
    from narrator.engines.spec import EngineSettings, EngineSpec
    from narrator.pipeline.manuscript import Manuscript
    from narrator.pipeline.precision import (
        PrecisionDifference,
        PrecisionFigures,
        PrecisionProbe,
        ProbeVoice,
    )

_SHOWN_FAULTS = 2


def probe_engines(
    manuscript: Manuscript | None,
    settings: Sequence[EngineSettings],
    preset_name: str | None,
    tell: Tell,
    *,
    shows_progress: bool,
) -> Iterator[Diagnosis]:
    """Probes each engine that has precisions; a line for each one that has none."""
    for engine_settings in settings:
        try:
            yield from _probe_engine(
                manuscript, engine_settings, preset_name, tell, shows_progress=shows_progress
            )
        except NarratorError as error:
            message, _, todo = str(error.problems[0]).partition("\n")
            yield Diagnosis("precision", "fail", message, todo)


def _probe_engine(
    manuscript: Manuscript | None,
    settings: EngineSettings,
    preset_name: str | None,
    tell: Tell,
    *,
    shows_progress: bool,
) -> Iterator[Diagnosis]:
    """Probes an engine if it is installed, has precisions and a voice. Raises NarratorError."""
    from narrator.engines.registry import ENGINES
    from narrator.engines.spec import EngineContext
    from narrator.pipeline import precision

    project = manuscript.project if manuscript else None
    kind = ENGINES[settings.name]
    folder = project.build if project else files.library()
    context = EngineContext(project.root if project else None, folder / "voices")
    engine = None if kind.model is None else kind.make(settings, context, tell)
    if kind.model is None or engine is None or not engine.precision():
        yield no_precisions(kind)
        return
    install_command = kind.missing_packages(settings)
    models = kind.model.find(settings, context.root, tell)
    if install_command or any(model.path is None for _, model in models):
        todo = install_command or kind.model.family.pull
        yield Diagnosis("precision", "fail", f"{kind.title} is not installed completely", todo)
        return
    probe_voice = _choose_voice(manuscript, settings, engine, preset_name)
    if probe_voice is None:
        message = f"{kind.title} needs a voice with a reference"
        yield Diagnosis("precision", "fail", message, "--voice NAME, or a book with voices")
        return
    with _progress(shows_progress) as on_progress:
        outcome = precision.probe(
            kind, settings, context, probe_voice, on_message=tell, on_progress=on_progress
        )
    yield from _describe_outcome(kind, outcome)


def no_precisions(kind: EngineSpec) -> Diagnosis:
    """Says that there is nothing to probe."""
    return Diagnosis("precision", "none", f"{kind.title} has no precisions to choose from")


def _choose_voice(
    manuscript: Manuscript | None,
    settings: EngineSettings,
    engine: Engine,
    preset_name: str | None,
) -> ProbeVoice | None:
    from narrator.cast import presets
    from narrator.pipeline import precision

    project = manuscript.project if manuscript else None
    if preset_name is not None:
        preset = presets.read(presets.find(preset_name, project.root if project else None))
        language = project.manifest.language if project else preset.language
        return precision.ProbeVoice(language=language, reference=preset.to_reference())
    if project is not None:
        return precision.book_voice(project, settings, engine)
    default = precision.ProbeVoice()
    return None if engine.problems({"": default.voice}, []) else default


@contextlib.contextmanager
def _progress(is_shown: bool) -> Iterator[Callable[[str, int], None]]:
    """Yields a function that shows how many takes of a precision are done."""
    from narrator.pipeline.precision import PRECISIONS, TAKE_COUNT

    if not is_shown:
        yield lambda precision, done: None
        return
    total = TAKE_COUNT * len(PRECISIONS)
    with progress_bar(f"speaking in {' and '.join(PRECISIONS)}") as report:
        yield lambda precision, done: report(TAKE_COUNT * PRECISIONS.index(precision) + done, total)


def _describe_outcome(kind: EngineSpec, outcome: PrecisionProbe) -> Iterator[Diagnosis]:
    for figures in outcome.figures:
        message = f"{kind.title}: {_describe_figures(figures)}"
        yield Diagnosis(
            figures.precision, "ok" if figures.passes else "warn", message, figures=figures
        )
    difference = outcome.difference
    if difference is not None:
        yield Diagnosis(
            "difference",
            "warn" if difference.noticeable else "ok",
            _describe_difference(difference),
            figures=difference,
        )
    recommended = outcome.recommended
    if not recommended:
        todo = (
            "MLX, a driver or the model's files may not fit this machine: reinstall MLX, fetch "
            f"the model with `{kind.model.family.pull if kind.model else ''}`, or render with "
            "--engine kokoro or --draft"
        )
        yield Diagnosis(
            "precision", "fail", f"{kind.title} passes the checks in no precision", todo
        )
        return
    line = f"engine: {{name: {kind.name}, dtype: {recommended}}}"
    todo = f"in book.yaml: `{line}`; takes that were rendered with another `dtype` are made again"
    if outcome.present == recommended:
        todo = "nothing to set: it is what this machine uses"
    message = f"use {recommended} for {kind.title}"
    if difference and difference.noticeable and all(row.passes for row in outcome.figures):
        message += f": bfloat16 sounds different ({', '.join(difference.noticeable)})"
    yield Diagnosis("precision", "ok", message, todo)


def _describe_figures(figures: PrecisionFigures) -> str:
    from narrator.pipeline.precision import TAKE_COUNT

    if not figures.seconds:
        return figures.faults[0] if figures.faults else "nothing was spoken"
    message = (
        f"{figures.good_takes} of {TAKE_COUNT} takes pass; {figures.speech_seconds:.1f} s of "
        f"speech in {figures.seconds:.1f} s, {figures.speed:.2f} x real time one by one, "
        f"{format_bytes(figures.peak_bytes)} of memory"
    )
    if not figures.faults:
        return message
    other_count = len(figures.faults) - _SHOWN_FAULTS
    more = f", and {pluralize(other_count, 'fault')} more" if other_count > 0 else ""
    return f"{message}; {', '.join(figures.faults[:_SHOWN_FAULTS])}{more}"


def _describe_difference(difference: PrecisionDifference) -> str:
    return (
        f"bfloat16 against float32: length {difference.length:+.1f} %, loudness "
        f"{difference.loudness:+.1f} dB, pitch {difference.pitch:+.2f} semitones, spectrum "
        f"{difference.spectrum:.1f} dB, in {pluralize(difference.takes, 'take')}"
    )
