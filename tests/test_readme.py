"""What the README says of the house is so: its tree, its targets, its extras, its length."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.test_docs import commands

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"


def test_it_is_two_screens():
    assert len(PAGE.read_text("utf-8").splitlines()) <= 100


def test_its_make_targets_exist():
    targets = [shlex.split(line)[1] for line in commands(PAGE, "make")]
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    targets += re.findall(r"^    make ([\w-]+)", contributing, re.MULTILINE)
    assert len(targets) > 5
    for target in targets:
        done = subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_the_demo_says_next_how_the_command_is_called_as_the_page_does():
    done = subprocess.run(
        ["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    said = subprocess.run(
        ["sh", "-c", "\n".join(re.findall(r"^echo .*$", done.stdout, re.MULTILINE))],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert said.startswith("Next: . .venv/bin/activate, then narrator new my-book --from BOOK\n")
    assert ".venv/bin/narrator new my-book" in said
    page = PAGE.read_text("utf-8")
    assert "`. .venv/bin/activate`" in page
    assert "`.venv/bin/narrator`" in page


def test_its_extras_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in commands(PAGE, "pip"):
        for extra in re.findall(r"\[([\w,]+)\]", line):
            assert set(extra.split(",")) <= project["optional-dependencies"].keys()


def tree() -> dict[str, str]:
    """The paths of the README's tree, with what it says of each."""
    (block,) = re.findall(
        r"^## The house\n\n(.*?)\n\n", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    found, folder = {}, ""
    for line in block.splitlines():
        name, words = line.strip().split(maxsplit=1)
        depth = len(line) - len(line.lstrip())
        if depth == 4:
            folder = name
            found[name] = words
        else:
            found[folder + name] = words
    return found


@pytest.mark.parametrize("path", tree())
def test_what_its_tree_names_is_there(path):
    assert (ROOT / path).exists()


def test_its_tree_names_every_room():
    rooms = {
        f"narrator/{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in (ROOT / "narrator").iterdir()
        if entry.suffix == ".py" or (entry / "__init__.py").exists()
    }
    assert rooms - {"narrator/__init__.py"} <= tree().keys()
