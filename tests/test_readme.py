"""What the README says is run: its commands, its manifest, its tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import typer

from narrator.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands(program: str) -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.strip()]
    return [line for line in lines if shlex.split(line, comments=True)[0] == program]


def write_book(path: Path) -> None:
    """An EPUB as small as they come: two chapters of a story."""
    chapters = {
        "one": ("The Bolt", "The bridge was finished, but for one bolt."),
        "two": ("The Rain", "On Tuesday it rained, and the bolt was found."),
    }
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    toc = "".join(
        f'<li><a href="{name}.xhtml">{title}</a></li>' for name, (title, _) in chapters.items()
    )
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        "<head><title>{title}</title></head><body>{body}</body></html>"
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book.opf" '
            'media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        book.writestr(
            "book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            '<dc:identifier id="id">urn:uuid:8a4f2c7e-7f52-4f43-9df2-0f4b2a4f2b11</dc:identifier>'
            "<dc:title>The Bridge</dc:title><dc:creator>Jane Doe</dc:creator>"
            "<dc:language>en-GB</dc:language></metadata><manifest>"
            '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
            f"{items}</manifest><spine>{spine}</spine></package>",
        )
        nav = f'<nav epub:type="toc"><ol>{toc}</ol></nav>'
        book.writestr("nav.xhtml", page.format(title="Contents", body=nav))
        for name, (title, text) in chapters.items():
            body = f"<h1>{title}</h1><p>{text}</p>"
            book.writestr(f"{name}.xhtml", page.format(title=title, body=body))


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a reader would, with `narrator` on the path."""
    program = folder / "bin" / "narrator"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m narrator "$@"\n')
        program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_its_narrator_commands_run_in_the_order_given(tmp_path: Path) -> None:
    write_book(tmp_path / "manuscript.epub")
    lines = commands("narrator")
    assert len(lines) > 8
    for line in lines:
        done = run(line, tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert list((tmp_path / "my-book" / "build").rglob("*.m4b"))
    assert (tmp_path / "book.schema.json").stat().st_size > 1000


def console() -> list[list[str]]:
    """The words of commands that need the model or the reader's own files: shown, not run."""
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]


@pytest.mark.parametrize("words", console(), ids=" ".join)
def test_what_it_shows_without_running_it_is_a_command_with_these_options(words: list[str]) -> None:
    if words[0] != "narrator":
        return
    group = typer.main.get_command(app)
    name, *rest = words[1:]
    command = group.get_command(None, name)
    if isinstance(command, typer.core.TyperGroup):
        name, *rest = rest
        command = command.get_command(None, name)
    assert command is not None, words
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known


def test_its_make_targets_exist() -> None:
    lines = commands("make")
    assert lines
    for line in lines:
        target = shlex.split(line, comments=True)[1]
        done = subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_its_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in commands("pip"):
        for extra in re.findall(r"\[([\w,]+)\]", line):
            assert set(extra.split(",")) <= project["optional-dependencies"].keys()


def test_its_manifest_is_valid(tmp_path: Path) -> None:
    (manifest,) = blocks("yaml")
    (tmp_path / "book.yaml").write_text(manifest, "utf-8")
    shutil.copy(ROOT / "projects/small-machines/cover.png", tmp_path / "cover.jpg")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "01.md").write_text("# The Bolt\n\nMiss Lovell: Where is it?\n", "utf-8")
    (tmp_path / "text" / "02.md").write_text("It rains.\n", "utf-8")
    done = run("narrator check", tmp_path)
    assert done.returncode == 0, done.stderr


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]


def tree() -> dict[str, str]:
    """The paths of the README's tree, with what it says of each."""
    (block,) = re.findall(r"^## The house\n\n(.*?)\n\n", README, re.MULTILINE | re.DOTALL)
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
def test_what_its_tree_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_its_tree_names_every_room() -> None:
    rooms = {
        f"narrator/{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in (ROOT / "narrator").iterdir()
        if entry.suffix == ".py" or (entry / "__init__.py").exists()
    }
    assert rooms - {"narrator/__init__.py"} <= tree().keys()
