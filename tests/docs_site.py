"""Gathers what the site shows, for MkDocs: `make site`.

    python -m tests.docs_site FOLDER

The pages and what they link to lie in the folder as they lie in the repository, so that links need
no change. Python's Markdown, which the site is made with, begins a list only after an empty line.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def linked_files(page: Path) -> Iterator[Path]:
    """Yields the files of the repository that a page links to."""
    for target in _LINK.findall(page.read_text("utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            path = (page.parent / target).resolve()
            if path.is_file() and path.is_relative_to(ROOT):
                yield path


def gather(start: Path) -> set[Path]:
    """Returns a page and all that it leads to, by links in pages."""
    found, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md":
            new = set(linked_files(page)) - found
            found |= new
            waiting += new
    return found


def separate_lists(text: str) -> str:
    """Puts an empty line before each list that follows a paragraph at once; code stays."""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        is_item = re.match(r"(?:[-*]|\d+\.) ", line) is not None
        previous = lines[-1] if lines else ""
        if is_item and not is_code and previous and not re.match(r"(?:[-*]|\d+\.) |\s", previous):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    for path in gather(ROOT / "README.md") | set((ROOT / "docs").glob("*.md")):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(separate_lists(path.read_text("utf-8")), "utf-8")
        else:
            shutil.copyfile(path, copy)


if __name__ == "__main__":
    main()
