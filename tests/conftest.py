"""What holds for all tests."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from unittest import mock

import pytest
import typer
import typer.testing
from hypothesis import HealthCheck, settings

from narrator import cli

ROOT = Path(__file__).parent
LONG = (
    "pipeline/test_kill.py",
    "test_book_voxcpm2.py",
    "test_book_cosyvoice2.py",
    "pipeline/test_trouble.py",
    "voxcpm2/test_modes.py",
    "engines/voxcpm2/test_engine.py",
    "speech/test_render.py",
    "test_whole.py",
)
"""Files of few tests that take long: they go first, lest one be alone at the end of `make test`."""


def pytest_configure(config: pytest.Config) -> None:
    """`make test` tries a fifth of what hypothesis makes up: see tests/effort.py. A machine may be
    slow."""
    examples = 20 if config.getoption("markexpr") == "not slow" else settings.default.max_examples
    settings.register_profile(
        "narrator",
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("narrator")


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than there are processors: many tests wait for programs that they started."""
    return (yield) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "browser" not in config.getoption("markexpr"):
        for item in items:
            if "browser" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="drives a browser: make pages"))
    order = {ROOT / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Ten thousand tests and all that they import stay to the end: no garbage collection looks at
    them, neither while they come to be nor afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def hang_ups_are_heard() -> Iterator[None]:
    """Under nohup a process ignores SIGHUP and so do its children: tests mean it as it is."""
    held = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, held)


@pytest.fixture(scope="session", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the voices, models and measurements of who runs it."""
    before = os.environ.get("NARRATOR_HOME")
    os.environ["NARRATOR_HOME"] = str(tmp_path_factory.mktemp("library"))
    yield
    if before is None:
        del os.environ["NARRATOR_HOME"]
    else:
        os.environ["NARRATOR_HOME"] = before


@pytest.fixture(scope="session", autouse=True)
def disks_are_not_waited_for() -> Iterator[None]:
    """Nobody pulls a plug here: what is written need not have reached a disk. Programs that tests
    start and kill do wait."""

    def written(descriptor: int) -> None:
        pass

    with mock.patch.object(os, "fsync", written):
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """Typer makes them from signatures at every call, which is longer than most of them take."""
    cli.load_commands()  # all of them, since the program is built once
    built = functools.cache(typer.main.get_command)
    with (
        mock.patch.object(typer.main, "get_command", built),
        mock.patch.object(typer.testing, "_get_command", built),
    ):
        yield


@pytest.fixture(scope="session")
def _hummed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests import books
    from tests.fakes import HumEngine

    path = books.brief(tmp_path_factory.mktemp("hummed"))
    books.speak(path, HumEngine(name="draft"))
    return path


@pytest.fixture
def hummed(_hummed: Path, tmp_path: Path) -> Path:
    """The manifest of a brief book whose takes are all there, of a hum that is called draft."""
    shutil.copytree(_hummed.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / _hummed.name


@pytest.fixture
def narrator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Run a command in this process: (exit code, standard output, standard error).

    Manuscripts are read here, too: a process for each takes longer than most of these tests.
    """
    from narrator import importing
    from narrator.cli import progress

    cli.load_commands()  # Typer knows those alone that are there when the first one runs
    monkeypatch.setattr(progress, "LINE_INTERVAL_S", 3600.0)  # a slow machine says no more
    monkeypatch.setattr(importing, "import_isolated", importing.import_book)
    handlers = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["narrator", *map(str, arguments)])
        # options that change the environment keep it where the command line is refused
        with pytest.raises(SystemExit) as caught, mock.patch.dict(os.environ):
            cli.main()
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
