"""Dates in manifests."""

from __future__ import annotations

import re
from datetime import date


def is_date(text: str) -> bool:
    """True if a text is an existing date as YYYY, YYYY-MM or YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}(-[0-9]{2}){0,2}", text):
        return False
    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :])
    except ValueError:
        return False
    return True
