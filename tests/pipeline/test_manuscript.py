"""What is said of a manuscript: each kind once, each place counted once, with the mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.errors import ScriptError
from narrator.pipeline.manuscript import oddities, read
from tests import books

TWICE = books.MANIFEST.replace("text/two.md", "text/one.md")
ODD = (
    "ann: [sigh] One\u200b. [language: xx]\n\nann: [sigh] Go.\n\n"
    "[language: fr]\n\nHe went to the door and it was shut.\n\n[language: off]\n\n"
    "Он ушёл из дома.\n"
)


def said(manuscript: str, folder: Path, one: str) -> list[str]:
    path = books.write(folder, manuscript)
    (folder / "text" / "one.md").write_text(one, encoding="utf-8")
    return [str(problem).replace(str(folder), "") for problem in oddities(read(path), [])]


def test_a_file_that_is_two_chapters_counts_by_its_lines_once(tmp_path: Path) -> None:
    once = said(books.MANIFEST, tmp_path, ODD)
    assert said(TWICE, tmp_path, ODD) == once
    assert sum("and in 1 more place)" in one for one in once) == 1
    assert len(once) == 5


def test_an_error_in_a_file_that_is_two_chapters_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        said(TWICE, tmp_path, "Go.\n\n```\nx\n")
    assert len(caught.value.problems) == 1


def test_a_mistyped_alias_is_answered_with_the_alias(tmp_path: Path) -> None:
    manifest = books.MANIFEST.replace("ann: {", "ann: {aliases: [Doctor], ")
    with pytest.raises(ScriptError, match="did you mean “Doctor”"):
        said(manifest, tmp_path, "Doctor: Sit.\n\nDoctor: So.\n\nDoctr: Sit down.\n")
    [slip] = [one for one in said(manifest, tmp_path, "Doctr: Sit down.\n") if "Doctr" in one]
    assert slip.endswith("did you mean “Doctor:”?")
