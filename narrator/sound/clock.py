"""Formats durations and positions in a sound, for people and for other programs."""

from __future__ import annotations


def format_clock(seconds: float) -> str:
    """Formats seconds as 4:07 or 1:04:07."""
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"


def format_fine_clock(seconds: float) -> str:
    """Formats seconds as 0:04:07.25, precise enough to find a place in a file."""
    whole_minutes, seconds_left = divmod(seconds, 60)
    hours, minutes = divmod(int(whole_minutes), 60)
    return f"{hours}:{minutes:02}:{seconds_left:05.2f}"


def format_timecode(time_ms: int, decimal_mark: str = ".") -> str:
    """Formats milliseconds as hours, minutes and seconds of fixed width: 01:02:03.004."""
    seconds, millis = divmod(time_ms, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}{decimal_mark}{millis:03}"
