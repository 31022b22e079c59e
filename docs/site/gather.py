"""Gathers the source of the site for MkDocs: `make site`.

    python -m docs.site.gather MEDIA FOLDER

The pages, and the files that they link to, have the same paths in the folder as in the repository,
so links stay valid. Figures, links of code, and what MkDocs needs are added to the pages.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from docs.site import figures, links

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
BOOSTS = {"docs/questions.md": 2, "docs/measurements.md": 0.3, "docs/costs.md": 0.3}
"""How much a page counts in the search, against 1."""
DEVELOPER_BOOST = 0.1
"""The same for the changelog, and for pages that the navigation does not list."""


def linked_files(page: Path) -> Iterator[Path]:
    """Yields the files of the repository that a page links to."""
    for target in _LINK.findall(page.read_text("utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            path = (page.parent / target).resolve()
            if path.is_file() and path.is_relative_to(ROOT):
                yield path


def reachable_files(start: Path) -> set[Path]:
    """Returns a page and the files that its links lead to, directly or by other pages."""
    paths, queue = {start}, [start]
    while queue:
        page = queue.pop()
        if page.suffix == ".md":
            new_paths = set(linked_files(page)) - paths
            paths |= new_paths
            queue += new_paths
    return paths


def separate_lists(text: str) -> str:
    """Returns a page with an empty line before each list that follows a paragraph at once.

    Python-Markdown, which renders the site, begins a list only after one.
    """
    lines = [""]
    for is_text, line in links.outside_code(text):
        is_item = is_text and re.match(r"(?:[-*]|\d+\.) ", line)
        if is_item and lines[-1] and not re.match(r"(?:[-*]|\d+\.) |\s", lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines[1:]) + "\n"


def without_house(text: str) -> str:
    """Returns the README without its tree of source files, which readers of the site do not see."""
    return re.sub("^## The house\n.*?(?=^\\[CONTRIBUTING)", "", text, flags=re.M | re.S)


def search_boost(page: str) -> float:
    if page in BOOSTS:
        return BOOSTS[page]
    return 1 if page == "README.md" or page.startswith("docs/") else DEVELOPER_BOOST


def render(page: str, text: str, linker: links.Linker, media: Path) -> str:
    """Returns a page of the repository as a page of the site."""
    if page == "README.md":
        text = without_house(text)
    text = separate_lists(text)
    if page == str(links.MANIFEST):
        text = links.mark_keys(text)
    text = linker.link(text, PurePosixPath(page))
    text = figures.illustrate(text, page, media)
    hidden = "hide: [toc]\n" if page == "README.md" else ""
    return f"---\n{hidden}search:\n  boost: {search_boost(page)}\n---\n{text}"


def make_linker() -> links.Linker:
    return links.Linker(
        (ROOT / links.COMMANDS).read_text("utf-8"), (ROOT / links.MANIFEST).read_text("utf-8")
    )


def main() -> None:
    media, folder = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    linker = make_linker()
    for path in reachable_files(ROOT / "README.md") | set((ROOT / "docs").glob("*.md")):
        page = path.relative_to(ROOT).as_posix()
        copy = folder / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(render(page, path.read_text("utf-8"), linker, media), "utf-8")
        else:
            shutil.copyfile(path, copy)
    for name in figures.files():
        if (media / name).is_file():
            (folder / "media").mkdir(exist_ok=True)
            shutil.copyfile(media / name, folder / "media" / name)
    for name in ("site.css", "search.js"):
        shutil.copyfile(Path(__file__).with_name(name), folder / name)
    shutil.copyfile(ROOT / "narrator" / "studio" / "static" / "icon.svg", folder / "icon.svg")


if __name__ == "__main__":
    main()
