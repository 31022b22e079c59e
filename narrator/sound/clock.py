"""Lengths of sound, and places in it, as people read them."""

from __future__ import annotations


def clock(seconds: float) -> str:
    """4:07 or 1:04:07."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def fine_clock(seconds: float) -> str:
    """0:04:07.25, for what has to be found in a file."""
    whole, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(whole), 60)
    return f"{hours}:{minutes:02}:{rest:05.2f}"
