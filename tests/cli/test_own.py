"""Commands that come to a project while somebody renders it."""

from __future__ import annotations

import json
import os
import signal
from unittest import mock

import pytest

from narrator.cli.progress import LineProgress
from narrator.delivery import finish
from narrator.pipeline.jobs import client
from narrator.progress import ProgressEvent, Starting
from tests.owners import GatedEngine, Rendering


@pytest.fixture
def rendering(hummed):
    """A render of all of a book that is there already, which waits until it is let."""
    first = Rendering(hummed, GatedEngine(name="draft"), force=True)
    with mock.patch.object(finish, "finish", return_value=None), first as rendering:
        yield rendering


def test_a_second_render_shows_the_first_and_ends_as_it_does(narrator, rendering):
    rendering.once_joined(rendering.engine.gate.set)
    code, said, log = narrator("render", rendering.path, "--draft")
    assert code == 0
    assert f"joined process {os.getpid()}" in log
    assert "chapter 1: Morning: 3 chunks" in log
    assert f"process {os.getpid()} rendered 7 chunks" in said


def test_a_second_render_answers_with_the_summary_of_the_first(narrator, rendering):
    rendering.once_joined(rendering.engine.gate.set)
    code, said, log = narrator("render", rendering.path, "--draft", "--json")
    assert (code, log) == (0, "")
    assert json.loads(said)["rendered"] == 7


def test_ctrl_c_in_the_second_render_leaves_the_first_alone(narrator, rendering):
    class Interrupted(LineProgress):
        def __call__(self, event: ProgressEvent) -> None:
            super().__call__(event)
            if isinstance(event, Starting):
                signal.raise_signal(signal.SIGINT)

    with mock.patch("narrator.cli.rendering.LineProgress", Interrupted):
        code, _, log = narrator("render", rendering.path, "--draft")
    assert code == 130
    assert f"left; the render of process {os.getpid()} goes on" in log
    assert "stopping" not in log
    assert rendering.report.complete


def test_ctrl_c_in_a_command_that_waits_withdraws_it_and_says_so(narrator, rendering):
    class Interrupted(LineProgress):
        def __call__(self, event: ProgressEvent) -> None:
            super().__call__(event)
            if isinstance(event, Starting):
                signal.raise_signal(signal.SIGINT)

    with (
        mock.patch("narrator.cli.rendering.LineProgress", Interrupted),
        mock.patch.object(client, "LOCK_TIMEOUT_S", 0.0),
    ):
        code, said, log = narrator("export", rendering.path, "--draft")
    assert code == 130
    assert said == f"withdrawn before it began; what process {os.getpid()} does goes on\n"
    assert f"waiting for process {os.getpid()}" in log
    assert rendering.report.complete


def test_a_take_is_pinned_while_a_render_runs(narrator, rendering):
    code, said, _ = narrator("pin", "1.1", "1", rendering.path, "--draft")
    assert (code, said) == (0, "1.1: try 1 is pinned; `narrator render` makes the files again\n")
    code, said, _ = narrator("unpin", "1.1", "1.2", rendering.path, "--draft")
    assert (code, said) == (0, "1.1: no longer pinned\n1.2: was not pinned\n")


def test_a_chunk_is_spoken_anew_while_a_render_runs(narrator, rendering):
    code, said, _ = narrator("retake", "1.1", rendering.path, "--draft")
    assert code == 0
    assert said.startswith("1.1  try 2  ")
    assert "pinned\n" in said


def test_what_is_wrong_is_said_as_ever_while_a_render_runs(narrator, rendering):
    code, _, log = narrator("pin", "9.1", "1", rendering.path, "--draft")
    assert code == 2
    assert "error: no chunk '9.1'" in log


def test_the_process_of_a_studio_is_no_command_for_people(narrator):
    assert " own " not in narrator("--help")[1]
