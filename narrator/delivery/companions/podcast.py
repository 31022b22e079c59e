"""Chapter marks for podcast apps: JSON Chapters 1.2 of the podcast namespace.

https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/examples/chapters/jsonChapters.md
"""

from __future__ import annotations

import json
from collections.abc import Sequence

TYPE = "application/json+chapters"


def text(
    marks: Sequence[tuple[str, float]],
    seconds: float,
    *,
    title: str = "",
    author: str = "",
    file_name: str = "",
) -> str:
    """Returns the marks (title, start in seconds) of a file that lasts `seconds`."""
    ends = [*(start for _, start in marks[1:]), seconds]
    facts = {"version": "1.2.0", "title": title, "author": author, "fileName": file_name}
    chapters = [
        {"startTime": round(start, 3), "title": name, "endTime": round(end, 3)}
        for (name, start), end in zip(marks, ends, strict=True)
    ]
    record = {name: fact for name, fact in facts.items() if fact} | {"chapters": chapters}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
