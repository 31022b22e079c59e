"""Formats counts and sizes for people."""

from __future__ import annotations

from collections.abc import Sequence


def pluralize(number: int, noun: str) -> str:
    """Formats a number with its noun, which takes an s in the plural: 1 file, 1,234 files."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def list_first(items: Sequence[str], most: int = 5) -> str:
    """Lists the first of several things, and how many more there are."""
    listing = ", ".join(items[:most])
    return listing if len(items) <= most else f"{listing} and {len(items) - most:,} more"


def format_bytes(size: float) -> str:
    """Formats a size as 900 B, 12 kB, 3.4 MB, 56 MB or 7.8 GB."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            digits = 1 if unit == "MB" and size < 10 else 0
            return f"{size:.{digits}f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
