"""What pages are made of: templates that escape all text, and the files beside them."""

from __future__ import annotations

from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """The templates of this room."""
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def beside(name: str) -> str:
    """A file of this room: style.css, script.js."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")
