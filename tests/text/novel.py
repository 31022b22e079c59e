"""The paragraphs of a real novel: of the EPUB that NARRATOR_TEST_EPUB names, or of shared/books."""

from __future__ import annotations

import html
import os
import re
import zipfile
from pathlib import Path

import pytest


def novel_paragraphs() -> list[str]:
    named = os.environ.get("NARRATOR_TEST_EPUB")
    books = sorted((Path(__file__).parents[3] / "shared" / "books").glob("*.epub"))
    path = Path(named) if named else next(iter(books), None)
    if path is None or not path.exists():
        pytest.skip("no novel: set NARRATOR_TEST_EPUB to an EPUB file")
    with zipfile.ZipFile(path) as book:
        pages = [book.read(name).decode() for name in book.namelist() if name.endswith(".xhtml")]
    found = [p for page in pages for p in re.findall(r"<p\b[^>]*>(.*?)</p>", page, re.DOTALL)]
    texts = (" ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split()) for text in found)
    return list(filter(None, texts))
