"""Every example and every project is valid; some are rendered to the end with the draft voice."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from narrator.pipeline.manuscript import read_manuscript

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/book.yaml"))
PROJECTS = sorted(path.parent for path in ROOT.glob("projects/*/book.yaml"))


def copy(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / folder.name, ignore=lambda *_: ["build"]))


@pytest.mark.parametrize("folder", EXAMPLES + PROJECTS, ids=lambda folder: folder.name)
def test_is_read_without_a_problem(folder):
    manuscript = read_manuscript(folder / "book.yaml")
    assert manuscript.spoken
    assert not [item for chapter in manuscript.chapters for item in chapter.left_out]


@pytest.mark.parametrize("folder", EXAMPLES + PROJECTS, ids=lambda folder: folder.name)
def test_has_a_line_for_everyone_in_its_cast(folder):
    manuscript = read_manuscript(folder / "book.yaml")
    assert {u.chunk.speaker for u in manuscript.spoken} == set(manuscript.cast)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_is_small_and_says_what_it_shows(folder):
    lines = (folder / "book.yaml").read_text("utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= 20


def test_every_example_is_in_the_list():
    listed = re.findall(r"\]\(([\w-]+)/book.yaml\)", (ROOT / "examples/README.md").read_text())
    assert sorted(listed) == [folder.name for folder in EXAMPLES]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("single-narrator", marks=pytest.mark.slow),
        "two-languages",
        pytest.param("output-formats", marks=pytest.mark.slow),
    ],
)
def test_an_example_renders_to_the_end(name, tmp_path, narrator):
    folder = copy(ROOT / "examples" / name, tmp_path)
    code, said, errors = narrator("render", folder, "--draft", "--json")
    assert code == 0, said + errors
    report = json.loads(said)
    suffixes = {Path(str(path)).suffix for path in report["files"]}
    wanted = read_manuscript(folder).project.manifest.output.formats
    assert suffixes == {f".{kind}" for kind in wanted}
