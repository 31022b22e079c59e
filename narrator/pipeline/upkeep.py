"""What of a project may go: takes that no manifest in its folder refers to, and files that were
delivered and are no more.

Errs on the side of keeping: takes of an engine that cannot be asked here stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from narrator import files
from narrator.delivery import shelf
from narrator.engines import distinct, is_known
from narrator.errors import EngineUnavailable, StorageError
from narrator.pipeline import bookengines, bookplan, session
from narrator.pipeline import manuscript as manuscripts
from narrator.project import load
from narrator.project.project import Project
from narrator.speech.store import Store


def unreferenced(project: Project) -> list[tuple[str, int]]:
    """Takes, with their sizes, that no manifest in the project's folder refers to.

    A manifest's takes are those of its own engines and of the draft voice. Raises ManifestError
    where one of the folder's manifests is not valid: its takes would look unused. So does
    StorageError say of a ledger that was altered.
    """
    used: set[str] = set()
    engines: set[str] = set()
    unknown: set[str] = set()
    for path in sorted(project.root.glob("*.y*ml")):
        if path != project.path and not load.is_manifest(path):
            continue
        for book in _plans(path, unknown):
            engines |= {engine.name for engine in distinct(book.engines)}
            used |= {step.key for step in book.steps}
    engines -= unknown
    used |= _in_ledgers(project)
    store = Store.open(project.takes)
    for pin in store.pins().values():
        used |= {pin.take, pin.step}
    sizes = dict(store.stored())
    for key, size in store.tried().items():
        sizes[key] = sizes.get(key, 0) + size
    return [
        (key, size)
        for key, size in sizes.items()
        # takes of an engine that is not installed here cannot be told apart: they stay
        if key not in used and _spoken_by(store, key) in engines | {None}
    ]


def _in_ledgers(project: Project) -> set[str]:
    """Takes that other manifests of the folder, by whatever name, were last rendered with."""
    there = {name for path in project.root.iterdir() for name in (path.stem, path.name)}
    used: set[str] = set()
    for ledger in project.build.glob("ledger-*.json"):
        stem = ledger.stem.removeprefix("ledger-").rpartition("-")[0]
        if stem != project.stem and stem in there:
            used |= {row["key"] for row in _whole(ledger)}
    return used


def _plans(path: Path, unknown: set[str]) -> Iterator[bookplan.BookPlan]:
    """What a manifest asks of its own engines and of the draft voice, as far as they are here; the
    others' names go to `unknown`."""
    manuscript = manuscripts.read(path)
    project, cast = manuscript.project, manuscript.cast
    for draft in (False, True):
        try:
            engines = bookengines.engines_for(project, draft=draft)
        except EngineUnavailable:
            names = {one.name for one in bookengines.settings_of(project, draft=draft).values()}
            unknown |= names
            continue
        used = distinct({name: engines.of(name) for name in cast})
        lacking = {engine.name for engine in used if not is_known(engine)}
        unknown |= lacking
        if len(lacking) < len(used):
            yield bookplan.plan(manuscript, engines.main, bookplan.Selection(), engines=engines.own)


def _whole(ledger: Path) -> list[dict[str, Any]]:
    """The steps of a last render. Raises StorageError where some may be missing: takes would go."""
    with files.storage(ledger):
        try:
            files.read_json(ledger)
        except files.Altered as error:
            raise StorageError(
                f"{ledger}: {error}, so no take can be told to be unused; render its manifest "
                "once more, or delete the file if that has gone"
            ) from None
    return bookplan.ledger_in(ledger)


def _spoken_by(store: Store, key: str) -> str | None:
    """The engine of a take or of its tries; None where what is there is damaged."""
    record = store.find(key) or next(iter(store.tries(key).values()), None)
    return record.engine if record else None


def collect(project: Project) -> tuple[int, int, int]:
    """Delete unreferenced takes and superseded files; the number of takes, their bytes, and those
    of the files. Raises Locked, ManifestError, StorageError.
    """
    with session.locked(project):
        unused = [key for key, _ in unreferenced(project)]
        store = Store.open(project.takes, writing=True)
        return len(unused), store.remove(unused), shelf.clear(project.build)
