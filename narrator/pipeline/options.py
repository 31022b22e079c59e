"""The options of a render: what a command line, a page or another process asks for.

Knows nothing of how they are typed or sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from narrator.project.other_engine import chosen_engine
from narrator.project.preferences import FROM_PREFERENCES, ClusterOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """The part of a book to render, and who speaks it."""

    engine: str = field(default_factory=chosen_engine)
    """Name of an engine that replaces the manifest's engines, or ""."""
    cluster: ClusterOptions = FROM_PREFERENCES
    """The cluster that speaks."""
    chapters: tuple[str, ...] = ()
    """Chapters by number ("3"), range ("2-5") or title; none means all."""
    speakers: tuple[str, ...] = ()
    """Speakers by name; none means all."""
    force: bool = False
    """True if takes are rendered again that are stored already."""
