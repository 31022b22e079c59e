"""The projects of a folder: what their manifests say, and how far they are.

Plans no book: another process counts what is rendered.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrator import keys
from narrator.errors import EnvironmentFailed, NarratorError
from narrator.project import load
from narrator.project.place import MANIFEST_NAME
from narrator.project.project import Project
from narrator.speech.store import JOURNAL
from narrator.studio.session import NotFound
from narrator.text.memo import LastValues

_MAX_PROJECTS = 500
_STATUS_TIMEOUT_S = 300.0
"""Seconds within which a project's progress is counted."""
_ID_LENGTH = 16


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """A folder with a manifest, and the id by which addresses name it."""

    id: str
    manifest: Path


def find_projects(folder: Path) -> list[ProjectPlace]:
    """Returns the projects in the subfolders of a folder, by name. Raises StorageError."""
    return [
        ProjectPlace(id_of(path), path)
        for path in sorted(_manifests(folder), key=lambda path: path.parent.name.casefold())
    ][:_MAX_PROJECTS]


def id_of(manifest: Path) -> str:
    """Returns the id of a project by its path."""
    return keys.key({"project": str(manifest)})[:_ID_LENGTH]


def find_project(folder: Path, id: str) -> ProjectPlace:
    """Returns a project of a folder by its id. Raises NotFound."""
    for place in find_projects(folder):
        if place.id == id:
            return place
    raise NotFound("there is no such project any more")


def _manifests(folder: Path) -> Iterator[Path]:
    try:
        for path in folder.iterdir():
            manifest = path / MANIFEST_NAME
            if not path.name.startswith(".") and manifest.is_file():
                yield manifest
    except OSError as error:
        raise EnvironmentFailed(f"{folder} cannot be read: {error.strerror}") from None


def project_row(place: ProjectPlace) -> dict[str, Any]:
    """Returns what the manifest of a project says, and when the project was last changed."""
    row: dict[str, Any] = {"id": place.id, "folder": place.manifest.parent.name, "trouble": ""}
    try:
        project = load.load(place.manifest)
    except NarratorError as error:
        return row | {
            "title": place.manifest.parent.name,
            "trouble": _trouble(error, place.manifest.parent),
        }
    return row | {
        "title": project.manifest.title,
        "author": project.facts.author,
        "language": project.manifest.language,
        "chapters": len(project.chapters),
        "has_cover": project.facts.cover is not None,
        "changed": max(_change_times(project), default=0),
        "is_begun": (project.takes / JOURNAL).is_file(),
    }


def _trouble(error: NarratorError, folder: Path) -> str:
    """Returns the first line of an error, without the path of the project's folder."""
    return str(error).splitlines()[0].replace(f"{folder}/", "")


def _change_times(project: Project) -> Iterator[int]:
    """Yields when each file of a project was last changed, in seconds since the epoch."""
    texts = [project.root / chapter.file for chapter in project.chapters if chapter.file]
    for path in (project.path, project.takes / JOURNAL, *texts):
        try:
            yield int(path.stat().st_mtime)
        except OSError:
            continue


class ProgressCounts:
    """What is rendered of projects, counted by `narrator status`, one project at a time."""

    def __init__(self) -> None:
        self._counting, self._mutex = threading.Lock(), threading.Lock()
        self._counts: LastValues[dict[str, Any]] = LastValues()
        self._process: subprocess.Popen[str] | None = None
        self._is_closed = False

    def count(self, place: ProjectPlace) -> dict[str, Any]:
        """Returns the numbers of chunks and of rendered ones. Raises NarratorError."""
        with self._counting:
            changed = max(_change_times(load.load(place.manifest)), default=0)
            return self._counts.get(place.id, changed, lambda: self._ask_status(place.manifest))

    def close(self) -> None:
        """Ends the counting."""
        with self._mutex:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()

    def _ask_status(self, manifest: Path) -> dict[str, Any]:
        command = [sys.executable, "-m", "narrator", "status", str(manifest), "--json"]
        with self._mutex:
            if self._is_closed:
                raise EnvironmentFailed("the studio is closing")
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        with self._process as process:
            try:
                output, _ = process.communicate(timeout=_STATUS_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                output = ""
        self._process = None
        if process.returncode != 0:
            return {"chunks": 0, "rendered": 0}
        chapters = json.loads(output)["chapters"]
        return {
            "chunks": sum(chapter["chunks"] for chapter in chapters),
            "rendered": sum(chapter["cached"] for chapter in chapters),
        }
