"""The modules that a command loads: each takes time before anything is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import books

RUN = """
import contextlib, io, json, sys
from narrator import cli
sys.argv = ["narrator", *sys.argv[1:]]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    cli.main()
print(json.dumps(list(sys.modules)))
"""
MODELS = {"dask", "mlx", "onnxruntime", "tokenizers"}
READERS = {"lxml", "mammoth", "docx", "pypdfium2"}
SERVERS = {"starlette", "uvicorn", "jinja2"}
RARE = {"unicode_rbnf", "psutil", "rich.progress", "ssl"}


@pytest.mark.parametrize(
    ("command", "most", "without"),
    [
        (
            "--help",
            330,
            MODELS | READERS | SERVERS | RARE | {"av", "numpy", "pydantic", "soundfile"},
        ),
        ("check", 895, MODELS | READERS | SERVERS | RARE),
        ("status", 895, MODELS | READERS | SERVERS | RARE),
        ("render --draft", 1150, MODELS | READERS | SERVERS),
    ],
)
def test_a_command_loads_what_it_needs(
    command: str, most: int, without: set[str], tmp_path: Path
) -> None:
    name, *options = command.split()
    arguments = [name, *options] if name == "--help" else [name, books.brief(tmp_path), *options]
    run = [sys.executable, "-c", RUN, *map(str, arguments)]
    modules = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert not without & set(modules)
    assert len(modules) < most


@pytest.mark.parametrize("line", ["narrator retake BOOK 1.", "narrator render BOOK -s "])
def test_completion_loads_hardly_more_than_the_command_line(line: str, tmp_path: Path) -> None:
    line = line.replace("BOOK", str(books.brief(tmp_path)))
    environment = {"_NARRATOR_COMPLETE": "complete_zsh", "_NARRATOR_LINE": line}
    modules = json.loads(
        subprocess.run(
            [sys.executable, "-c", RUN],
            env={**os.environ, **environment}, capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    assert not (MODELS | READERS | SERVERS | RARE | {"av", "numpy", "soundfile"}) & set(modules)
    assert len(modules) < 400
