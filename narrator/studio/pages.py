"""The page and its static files."""

from __future__ import annotations

import functools
from importlib import resources

from jinja2 import Environment

from narrator import templates
from narrator.studio.session import ProjectSnapshot

_MEDIA_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".woff2": "font/woff2",
    ".png": "image/png",
}


@functools.cache
def _templates() -> Environment:
    return templates.environment("narrator.studio")


def page(view: ProjectSnapshot) -> str:
    """Renders the page of a book."""
    manifest = view.project.manifest
    template = _templates().get_template("studio.html")
    return template.render(title=manifest.title, language=manifest.language)


def static(name: str) -> tuple[bytes, str] | None:
    """Returns a static file and its media type, by its name alone; None if there is none."""
    folder = resources.files(__package__).joinpath("static")
    for file in folder.iterdir():
        kind = _MEDIA_TYPES.get(f".{file.name.rpartition('.')[2]}")
        if file.name == name and kind and file.is_file():
            return file.read_bytes(), kind
    return None
