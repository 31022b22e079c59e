"""The page and its static files."""

from __future__ import annotations

import functools
from importlib import resources

from jinja2 import Environment
from starlette.responses import Response

from narrator import templates
from narrator.studio.people import Person
from narrator.studio.session import NotFound, ProjectSnapshot

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


def page(view: ProjectSnapshot, start_page_id: str, person: Person) -> str:
    """Renders the page of a book for a person, with links to the start page, where the book has the
    given id; "" if there is none."""
    manifest = view.project.manifest
    template = _templates().get_template("studio.html")
    return template.render(
        title=manifest.title,
        language=manifest.language,
        start_page_id=start_page_id,
        person=person,
    )


def start_page() -> str:
    """Renders the start page."""
    return _templates().get_template("start.html").render()


def static_response(name: str) -> Response:
    """Answers with a static file, by its name alone. Raises NotFound."""
    file = _static(name)
    if file is None:
        raise NotFound("there is no such file")
    content, media_type = file
    return Response(content, media_type=media_type)


def _static(name: str) -> tuple[bytes, str] | None:
    """Returns a static file and its media type, by its name alone; None if there is none."""
    folder = resources.files(__package__).joinpath("static")
    for file in folder.iterdir():
        kind = _MEDIA_TYPES.get(f".{file.name.rpartition('.')[2]}")
        if file.name == name and kind and file.is_file():
            return file.read_bytes(), kind
    return None
