"""Templates of a room, in which all text is escaped: what makes pages makes them of these."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment(room: str) -> Environment:
    """The templates of a package, in its folder `templates`."""
    return Environment(
        loader=PackageLoader(room),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
