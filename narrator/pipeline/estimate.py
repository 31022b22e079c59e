"""The cost of a render: time from this machine's measured speed, disk space from existing takes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from narrator import files
from narrator.delivery import layout, preflight
from narrator.delivery.export import encode
from narrator.engines import Engine
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.registry import ENGINES
from narrator.pipeline.book_plan import BookPlan
from narrator.project.project import Project
from narrator.speech.plan import Step

_FLAC_BYTES_PER_SAMPLE = 1.1
"""FLAC of speech takes a little over half of 16-bit PCM."""
_RAW_BYTES_PER_SAMPLE = 4
"""Chapters are 32-bit samples while they are encoded."""


def speed_name(engine: Engine) -> str:
    """The name under which an engine's speed is saved; clusters have speeds of their own."""
    if isinstance(engine, ClusterEngine):
        return f"{engine.name} at {engine.place.address}"
    return engine.name


def tries_per_chunk(book: BookPlan, engine_name: str) -> int:
    """Good tries that are wanted of each chunk of an engine."""
    is_random = any(
        engine.is_random for engine in book.engines.values() if engine.name == engine_name
    )
    return book.project.manifest.checks.best_of if is_random else 1


def speeds_of(project: Project) -> dict[str, float]:
    """Expected seconds of speech, of all tries, that each engine renders in a second, as measured
    here."""
    speeds = files.load_json(speed_path(project), dict[str, float], {})
    return {name: speed for name, speed in speeds.items() if speed > 0}


@dataclass(frozen=True, slots=True)
class EngineShare:
    """The part of a render that engines of one name speak."""

    engine: str
    speech_seconds: float
    wall_seconds: float | None
    """Seconds on the clock; None if the engine was not measured."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a render; None for what has not been measured yet."""

    speech_seconds: float
    """Seconds of speech still to be rendered."""
    wall_seconds: float | None
    """Seconds on the clock; None if one of the engines was not measured."""
    engines: tuple[EngineShare, ...]
    """The part of each engine."""
    disk_bytes: int
    """Bytes of takes, encoded chapters, their samples while encoding, and finished files."""
    file_bytes: int
    """Bytes of the finished files."""
    free_bytes: int
    sent_characters: int | None = None
    """Characters sent to a remote engine, with those of all tries to choose among; None if nothing
    is sent."""
    best_of: int = 1
    """Good tries that are wanted of each chunk, by the engine that is asked for most."""
    price: str = ""
    """Their price in words, if the manifest gives a price per million."""


def estimate(
    book: BookPlan, cluster_speeds: Mapping[str, float] = MappingProxyType({})
) -> Estimate:
    """Estimate the cost of rendering the selected chapters.

    Time is computed from the measured speed of this machine, or of a cluster's engines in
    `cluster_speeds`, by their names as in `speed_name`; disk space from the sizes of existing
    takes.
    """
    speech_seconds = sum(step.expected for step in book.todo)
    shares = shares_of(book, book.todo, cluster_speeds)
    spoken_seconds = sum(
        share.speech_seconds * tries_per_chunk(book, share.engine) for share in shares
    )
    sizes = dict(book.store.stored())
    stored_seconds = sum(record.seconds for key in sizes if (record := book.store.find(key)))
    bytes_per_second = (
        sum(sizes.values()) / stored_seconds
        if stored_seconds
        else _FLAC_BYTES_PER_SAMPLE * book.sample_rate
    )
    project = book.project
    chapters = book.selection.chapters
    shapes = [
        shape
        for shape in preflight.expected_shapes(project, book.manuscript.spoken)
        if not chapters or shape.number in chapters
    ]
    total_seconds = preflight.expected_book_seconds(project, shapes)
    channels = layout.book_channels(project, [step.chunk for step in book.steps])
    finished_bytes = total_seconds * preflight.bytes_per_second(project, book.sample_rate, channels)
    longest_chapters = sorted((shape.speech for shape in shapes), reverse=True)[: encode.WORKERS]
    raw_bytes = sum(longest_chapters) * book.sample_rate * channels * _RAW_BYTES_PER_SAMPLE
    characters_sent, price = _remote_cost(book)
    return Estimate(
        speech_seconds=speech_seconds,
        wall_seconds=total_wall_seconds(shares),
        engines=shares,
        # encoded chapters are kept beside the files that are joined from them
        disk_bytes=round(spoken_seconds * bytes_per_second + 2 * finished_bytes + raw_bytes),
        file_bytes=round(finished_bytes),
        free_bytes=shutil.disk_usage(_nearest_existing_folder(book.project.build)).free,
        sent_characters=characters_sent,
        best_of=max((tries_per_chunk(book, share.engine) for share in shares), default=1),
        price=price,
    )


def shares_of(
    book: BookPlan,
    steps: Iterable[Step],
    cluster_speeds: Mapping[str, float] = MappingProxyType({}),
) -> tuple[EngineShare, ...]:
    """The part of these steps that each engine speaks, and its time.

    `cluster_speeds` is as in `estimate`.
    """
    seconds = {engine.name: 0.0 for engine in book.speaking}
    speed_names = {engine.name: speed_name(engine) for engine in book.speaking}
    for step in steps:
        seconds[step.engine] += step.expected
    speeds = {**speeds_of(book.project), **cluster_speeds}
    return tuple(
        EngineShare(
            name,
            engine_seconds,
            engine_seconds * tries_per_chunk(book, name) / speeds[speed_names[name]]
            if speed_names[name] in speeds
            else None,
        )
        for name, engine_seconds in seconds.items()
    )


def total_wall_seconds(shares: Sequence[EngineShare]) -> float | None:
    """Seconds that all shares take, one after the other.

    None if an engine that has to speak was not measured.
    """
    total = 0.0
    for share in [share for share in shares if share.speech_seconds] or shares:
        if share.wall_seconds is None:
            return None
        total += share.wall_seconds
    return total


def _remote_cost(book: BookPlan) -> tuple[int | None, str]:
    """Counts the characters still to be spoken by remote engines, and says what they cost."""
    costs: dict[str, None] = {}
    total_characters: int | None = None
    for engine in book.speaking:
        if engine.name not in ENGINES:
            continue
        engine_steps = [step for step in book.todo if book.engines[step.chunk.speaker] is engine]
        characters = sum(len(step.text) for step in engine_steps)
        characters *= tries_per_chunk(book, engine.name)
        name = next(name for name in book.engines if book.engines[name] is engine)
        cost = ENGINES[engine.name].cost(book.project.engine_of(name), characters)
        if cost is not None:
            total_characters = (total_characters or 0) + characters
            costs[cost] = None
    return total_characters, " and ".join(filter(None, costs))


def _nearest_existing_folder(path: Path) -> Path:
    """The nearest existing folder of a path."""
    while not path.exists():
        path = path.parent
    return path


def speed_path(project: Project) -> Path:
    """The file of measured speeds."""
    return project.build / "speed.json"
