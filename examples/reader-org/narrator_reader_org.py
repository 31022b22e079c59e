"""A reader of Emacs Org files: converts them to Markdown for the built-in reader."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from manuscripts.book import Book, Choices
from manuscripts.kinds import Kind
from manuscripts.plaintext import read_text
from manuscripts.readers.markdown import read_markdown

_LINES = (
    (re.compile(r"^#\+(title|author|language|date): *(.*)$", re.IGNORECASE), r"\1: \2"),
    (re.compile(r"^# (.*)$"), r"<!-- \1 -->"),  # a comment, which is not spoken
    (re.compile(r"^(\*+) "), lambda stars: "#" * len(stars[1]) + " "),
    (re.compile(r"(?<!\w)/(\S.*?\S|\S)/(?!\w)"), r"*\1*"),
)


def read_org(path: Path, choices: Choices) -> Book:
    """Reads a file. Raises ImportFailed for one that is not text."""
    lines = read_text(path, choices.encoding).text.split("\n")
    facts = [line for line in lines if line.startswith("#+")]
    text = [line for line in lines if not line.startswith("#+")]
    with tempfile.TemporaryDirectory() as folder:
        markdown = Path(folder) / path.name  # its name appears in messages and reports
        front_matter = ["---", *map(_to_markdown, facts), "---"] if facts else []
        markdown.write_text("\n".join([*front_matter, *map(_to_markdown, text)]), "utf-8")
        return read_markdown(markdown, choices)


def _to_markdown(line: str) -> str:
    for pattern, replacement in _LINES:
        line = pattern.sub(replacement, line)
    return line


KIND = Kind("Org", read_org, suffixes=(".org",))
