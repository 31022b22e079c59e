"""Pictures and sounds of the site, and where they stand in its pages.

The pages themselves have none: they are read on a forge too, and no picture is kept in the
repository. `pictures.py` and `samples.py` make the files; a figure whose files are absent is left
out.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

README = "README.md"
STUDIO = "docs/studio.md"
DRAFT = "The draft voice, eSpeak NG (GPL-3.0-or-later)"
KOKORO = "Kokoro-82M (Apache-2.0)"
CC0 = "Text: CC0 1.0."


@dataclass(frozen=True)
class Figure:
    """Files with a caption, after a paragraph below a heading."""

    page: str
    heading: str
    paragraph: int
    """1 for the first below the heading; a list or a table is a paragraph."""
    files: dict[str, str]
    """File names, with what a picture shows or who is heard."""
    caption: str


FIGURES = (
    Figure(
        README, "# narrator", 1,
        {"story-kokoro.mp3": KOKORO, "supper.mp3": f"{KOKORO}, six voices",
         "story-draft.mp3": DRAFT},
        f"Rendered by narrator. {CC0}",
    ),
    Figure(
        README, "# narrator", 1,
        {"script.webp": "A chapter in the studio: the text with the speakers' names, the takes of "
         "a line beside it, and the player with its waveform"},
        "A short story in the studio: click a line to hear it, and mend it.",
    ),
    Figure(
        STUDIO, "## The start page", 1,
        {"start-page.webp": "The start page: a field to drop a manuscript on, and two books with "
         "their covers"},
        "The start page, with two books.",
    ),
    Figure(
        STUDIO, "## The start page", 4,
        {"voice-and-files.webp": "The page “Voice and files”: a list of voices to hear and choose, "
         "who speaks, the render, and finished files with players and downloads"},
        "“Voice and files” of a book that is rendered.",
    ),
    Figure(
        STUDIO, "## What you hear", 2,
        {"script.webp": "A chapter: speakers in colours, a chosen line with its take, the player"},
        "A chapter. Each speaker has a colour, in the text and in the waveform.",
    ),
    Figure(
        STUDIO, "### Speakers and cast", 2,
        {"cast.webp": "The panel Cast: four speakers, with their shares of the book and voices"},
        "The panel Cast.",
    ),
    Figure(
        STUDIO, "### Retakes and comparisons", 2,
        {"comparison.webp": "Two takes of a line with their spectrograms, and buttons that say "
         "which is better"},
        "Two takes, compared at the same loudness.",
    ),
    Figure(
        STUDIO, "## The report", 1,
        {"report.webp": "The chart of steadiness: a dot for each line, and text that explains it"},
        "The report: how steady the voices are.",
    ),
    Figure(
        "docs/mending.md", "## Does the voice hold?", 3,
        {"report.webp": "The chart of steadiness: a dot for each line, and text that explains it"},
        "The same as a chart, in the studio.",
    ),
    Figure(
        "docs/voices.md", "## The draft voice", 1,
        {"story-draft.mp3": DRAFT, "story-kokoro.mp3": KOKORO},
        f"The same text, rendered by narrator. {CC0}",
    ),
    Figure(
        "docs/kokoro.md", "# Kokoro", 1,
        {"supper.mp3": "Six voices at a table", "bf_emma.mp3": "bf_emma, British",
         "bm_george.mp3": "bm_george, British", "af_heart.mp3": "af_heart, American",
         "am_michael.mp3": "am_michael, American", "ef_dora.mp3": "ef_dora, Spanish",
         "ff_siwis.mp3": "ff_siwis, French", "if_sara.mp3": "if_sara, Italian",
         "pf_dora.mp3": "pf_dora, Brazilian Portuguese"},
        f"Rendered by narrator, spoken by {KOKORO}. {CC0}",
    ),
)  # fmt: skip


def illustrate(text: str, page: str, media: Path) -> str:
    """Returns a page with its figures, as far as their files are in a folder."""
    for figure in reversed(FIGURES):
        files = {name: words for name, words in figure.files.items() if (media / name).is_file()}
        if figure.page == page and files:
            block = _markup(files, figure.caption, page)
            blocks = text.split("\n\n")
            place = find_place(figure, blocks)
            text = "\n\n".join([*blocks[:place], block, *blocks[place:]])
    return text


def find_place(figure: Figure, blocks: list[str]) -> int:
    """Returns the number of the block before which a figure is inserted. Raises ValueError."""
    start = next(n for n, block in enumerate(blocks) if block.strip() == figure.heading)
    place = start + 1 + figure.paragraph
    if any(block.startswith("#") for block in blocks[start + 1 : place]) or place > len(blocks):
        raise ValueError(f"{figure.page}: {figure.heading} has no paragraph {figure.paragraph}")
    return place


def _markup(files: dict[str, str], caption: str, page: str) -> str:
    folder = os.path.relpath("media", PurePosixPath(page).parent)
    parts = [_element(f"{folder}/{name}", html.escape(words)) for name, words in files.items()]
    lines = ["<figure>", *parts, f"<figcaption>{html.escape(caption)}</figcaption>", "</figure>"]
    return "\n".join(lines)


def _element(address: str, words: str) -> str:
    if re.search(r"\.mp3$", address):
        player = f'<audio controls preload="none" src="{address}" aria-label="{words}"></audio>'
        return f'<div class="sample"><span>{words}</span>{player}</div>'
    return f'<a href="{address}"><img src="{address}" alt="{words}" loading="lazy"></a>'


def files() -> Iterable[str]:
    """The names of all files that figures show."""
    return dict.fromkeys(name for figure in FIGURES for name in figure.files)
