"""What a render would cost: time from what this machine showed, disk from takes that are there."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from narrator import files
from narrator.delivery import demands, layout
from narrator.delivery.export import encode
from narrator.engines import Engine
from narrator.engines.cluster.engine import ClusterEngine
from narrator.engines.registry import ENGINES
from narrator.pipeline.bookplan import BookPlan
from narrator.project.project import Project
from narrator.speech.plan import Step


def kept_as(engine: Engine) -> str:
    """What an engine's speed is kept under: a cluster's is not this machine's."""
    if isinstance(engine, ClusterEngine):
        return f"{engine.name} at {engine.place.address}"
    return engine.name


def speeds_of(project: Project) -> dict[str, float]:
    """Expected seconds of speech that each engine rendered a second here."""
    rows = files.load_json(speed_path(project), {})
    if not isinstance(rows, dict):
        return {}
    return {k: float(v) for k, v in rows.items() if isinstance(v, int | float) and v > 0}


@dataclass(frozen=True, slots=True)
class EngineShare:
    """What engines of one name would speak."""

    engine: str
    seconds: float
    wall: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a render would cost; None where nothing was measured yet."""

    seconds: float
    """Of speech still to be rendered."""
    wall: float | None
    """None too where one of several engines was not measured."""
    engines: tuple[EngineShare, ...]
    """What each of the book's engines has to speak of it."""
    disk: int
    """Bytes of takes, encoded chapters, their samples meanwhile, and finished files to come."""
    files: int
    """Bytes of the finished files alone."""
    free: int
    sent: int | None = None
    """Characters that go to an engine elsewhere, each chunk once; None where nothing does."""
    price: str = ""
    """What they cost there, in words, where the manifest says what a million does."""


def estimate(book: BookPlan, there: Mapping[str, float] = MappingProxyType({})) -> Estimate:
    """Time from the speed that this machine showed, or a cluster's that is `there`, by what it is
    kept as; disk from the takes that are there, of the selected chapters alone."""
    seconds = sum(step.expected for step in book.todo)
    shares = shares_of(book, book.todo, there)
    have = [(size, book.store.find(key)) for key, size in book.store.stored()]
    spoken = sum(r.samples / r.sample_rate for _, r in have if r)
    # FLAC of speech takes a little over half of 16-bit PCM
    per_second = sum(s for s, _ in have) / spoken if spoken else 1.1 * book.sample_rate
    project = book.project
    chapters = book.selection.chapters
    shapes = demands.shapes(project, book.manuscript.spoken)
    shapes = [shape for shape in shapes if not chapters or shape.number in chapters]
    whole = demands.seconds_of(project, shapes)
    channels = layout.channels_of(project, [step.chunk for step in book.steps])
    finished = whole * demands.bytes_per_second(project, book.sample_rate, channels)
    longest = sorted((shape.speech for shape in shapes), reverse=True)[: encode.WORKERS]
    raw = sum(longest) * book.sample_rate * channels * 4  # 32-bit samples, while they are encoded
    sent, price = _sent(book)
    return Estimate(
        seconds=seconds,
        wall=wall_of(shares),
        engines=shares,
        # encoded chapters are kept beside the files that are joined from them
        disk=round(seconds * per_second + 2 * finished + raw),
        files=round(finished),
        free=shutil.disk_usage(_existing(book.project.build)).free,
        sent=sent,
        price=price,
    )


def shares_of(
    book: BookPlan, steps: Iterable[Step], there: Mapping[str, float] = MappingProxyType({})
) -> tuple[EngineShare, ...]:
    """What of these steps each engine of a book speaks, and how long that takes; `there` as in
    `estimate`."""
    seconds = {engine.name: 0.0 for engine in book.speaking}
    kept = {engine.name: kept_as(engine) for engine in book.speaking}
    for step in steps:
        seconds[step.engine] += step.expected
    speeds = {**speeds_of(book.project), **there}
    return tuple(
        EngineShare(name, own, own / speeds[kept[name]] if kept[name] in speeds else None)
        for name, own in seconds.items()
    )


def wall_of(shares: Sequence[EngineShare]) -> float | None:
    """Seconds that they take, one after the other; None where one that has to speak was not
    measured."""
    walls = [share.wall for share in [one for one in shares if one.seconds] or shares]
    known = [wall for wall in walls if wall is not None]
    return sum(known) if len(known) == len(walls) else None


def _sent(book: BookPlan) -> tuple[int | None, str]:
    """The characters of what is still to be spoken elsewhere, and what they cost."""
    costs: dict[str, None] = {}
    sent: int | None = None
    for engine in book.speaking:
        if engine.name not in ENGINES:
            continue
        own = [step for step in book.todo if book.engines[step.chunk.speaker] is engine]
        characters = sum(len(step.text) for step in own)
        name = next(name for name in book.engines if book.engines[name] is engine)
        cost = ENGINES[engine.name].cost(book.project.engine_of(name), characters)
        if cost is not None:
            sent = (sent or 0) + characters
            costs[cost] = None
    return sent, " and ".join(filter(None, costs))


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def speed_path(project: Project) -> Path:
    return project.build / "speed.json"
