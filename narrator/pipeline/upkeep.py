"""Finds and removes unused files of a project: takes that no manifest in its folder refers to, and
delivered files that were replaced.

When in doubt, files are kept: takes of an engine whose packages are missing stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from narrator import files
from narrator.delivery import output_manifest
from narrator.engines import has_known_identity, unique_engines
from narrator.errors import EngineUnavailable
from narrator.pipeline import book_engines, book_plan, session
from narrator.pipeline import manuscript as manuscripts
from narrator.project import load
from narrator.project.place import ledger_prefix
from narrator.project.project import Project
from narrator.speech.reasons import LedgerEntry
from narrator.speech.store import Store


def find_unreferenced_takes(project: Project) -> list[tuple[str, int]]:
    """Keys and sizes of takes that no manifest in the project's folder refers to.

    The takes of a manifest are those of its own engines and of the draft voice. Raises
    ManifestError if one of the folder's manifests is invalid, since its takes would seem unused,
    and StorageError if a ledger was altered.
    """
    used_keys: set[str] = set()
    engine_names: set[str] = set()
    unknown_engines: set[str] = set()
    for path in sorted(project.root.glob("*.y*ml")):
        if path != project.path and not load.is_manifest(path):
            continue
        for book in _plan_with_all_engines(path, unknown_engines):
            engine_names |= {engine.name for engine in unique_engines(book.engines)}
            used_keys |= {step.key for step in book.steps}
    engine_names -= unknown_engines
    used_keys |= _find_keys_in_ledgers(project)
    store = Store.open(project.takes)
    for pin in store.pins().values():
        used_keys |= {pin.take, pin.step}
    sizes = dict(store.stored())
    for key, size in store.tried().items():
        sizes[key] = sizes.get(key, 0) + size
    return [
        (key, size)
        for key, size in sizes.items()
        # takes of an engine that is not installed here are kept
        if key not in used_keys and _engine_name(store, key) in engine_names | {None}
    ]


def _find_keys_in_ledgers(project: Project) -> set[str]:
    """Keys of the takes that other manifests of the folder were last rendered with.

    Raises StorageError if a list was altered, since its takes would be removed.
    """
    manifest_names = {name for path in project.root.iterdir() for name in (path.stem, path.name)}
    used_keys: set[str] = set()
    others = tuple(map(ledger_prefix, manifest_names - {project.stem}))
    for ledger in project.build.glob("ledger-*.json"):
        if ledger.name.startswith(others):
            entries = files.load_work(
                ledger,
                list[LedgerEntry],
                [],
                title="a list of steps",
                remedy="no take can be told to be unused: render its manifest once more, or "
                "delete the file if that has gone",
            )
            used_keys |= {entry.key for entry in entries}
    return used_keys


def _plan_with_all_engines(path: Path, unknown_engines: set[str]) -> Iterator[book_plan.BookPlan]:
    """Yields the plans of a manifest with its own engines and with the draft voice.

    Names of engines that are not available are added to `unknown_engines`.
    """
    own_manuscript = manuscripts.read_manuscript(path)
    for manuscript in (own_manuscript, own_manuscript.spoken_by("draft")):
        project, cast = manuscript.project, manuscript.cast
        try:
            engines = book_engines.engines_for(project)
        except EngineUnavailable:
            unknown_engines |= {
                settings.name for settings in book_engines.settings_of(project).values()
            }
            continue
        engines_in_use = unique_engines({name: engines.of(name) for name in cast})
        unavailable_names = {
            engine.name for engine in engines_in_use if not has_known_identity(engine)
        }
        unknown_engines |= unavailable_names
        if len(unavailable_names) < len(engines_in_use):
            yield book_plan.plan(
                manuscript, engines.main, book_plan.Selection(), engines=engines.by_speaker
            )


def _engine_name(store: Store, key: str) -> str | None:
    """The engine of a take or of its tries; None if they are damaged."""
    record = store.find(key) or next(iter(store.tries(key).values()), None)
    return record.engine if record else None


def collect_garbage(project: Project) -> tuple[int, int, int]:
    """Delete unreferenced takes and superseded files.

    Returns the number of takes, their bytes, and the bytes of the files. Raises Locked,
    ManifestError, StorageError.
    """
    with session.locked(project):
        unused = [key for key, _ in find_unreferenced_takes(project)]
        store = Store.open(project.takes, writing=True)
        return len(unused), store.remove(unused), output_manifest.delete_superseded(project.build)
