"""A whole render through a session and machines in virtual time: who is busy, and how long."""

from __future__ import annotations

import pytest

from benchmarks.cluster import generated, part
from benchmarks.virtual import Task, ideal, simulate


def test_slots_are_busy_to_the_last_take():
    tasks = part(generated(), 3000.0)
    assert simulate(tasks, (1.0,) * 4, 2, jitter=0.2, seed=1).busy >= 0.95


@pytest.mark.slow
def test_machines_of_other_speeds_come_near_to_what_is_possible():
    tasks, speeds = part(generated(), 3000.0), (1.0, 1.0, 0.5, 0.25)
    assert ideal(tasks, speeds, 2) / simulate(tasks, speeds, 2, jitter=0.2, seed=1).wall >= 0.95


def test_who_was_slow_in_an_earlier_render_is_given_no_more_than_it_can_speak():
    tasks = {str(n): Task(str(n), None, 10.0) for n in range(8)}
    run = simulate(tasks, (1.0, 0.1), 4, jitter=0.0, seed=1, are_speeds_known=True)
    assert 20.0 <= run.wall < 22.0  # all by the fast one, in two turns
    assert simulate(tasks, (1.0, 0.1), 4, jitter=0.0, seed=1).wall > 100.0
