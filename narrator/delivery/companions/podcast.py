"""Chapter marks for podcast apps: JSON Chapters 1.2 of the podcast namespace.

https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/examples/chapters/jsonChapters.md
"""

from __future__ import annotations

import json
from collections.abc import Sequence

TYPE = "application/json+chapters"


def text(
    titles: Sequence[str],
    starts: Sequence[float],
    seconds: float,
    *,
    title: str = "",
    author: str = "",
    file_name: str = "",
) -> str:
    """Returns the marks of a file that lasts `seconds`; `starts` are in seconds too."""
    ends = [*starts[1:], seconds]
    facts = {"version": "1.2.0", "title": title, "author": author, "fileName": file_name}
    marks = [
        {"startTime": round(start, 3), "title": name, "endTime": round(end, 3)}
        for name, start, end in zip(titles, starts, ends, strict=True)
    ]
    record = {name: fact for name, fact in facts.items() if fact} | {"chapters": marks}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
