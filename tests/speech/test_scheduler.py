from __future__ import annotations

import random
from typing import NamedTuple

from narrator.speech.scheduler import Scheduler


class Row(NamedTuple):
    key: str
    parent: str | None
    expected: float


def tasks(*rows: tuple[str, str | None, float]) -> dict[str, Row]:
    return {row[0]: Row(*row) for row in rows}


def drain(scheduler: Scheduler) -> list[str]:
    order = []
    while (key := scheduler.next_ready()) is not None:
        order.append(key)
        scheduler.mark_done(key)
    return order


def test_the_longest_remaining_chain_goes_first():
    scheduler = Scheduler(tasks(("a", None, 9), ("b", None, 5), ("c", "b", 5), ("d", "c", 5)))
    assert [scheduler.next_ready(), scheduler.next_ready(), scheduler.next_ready()] == [
        "b",
        "a",
        None,
    ]


def test_a_child_waits_for_its_parent():
    scheduler = Scheduler(tasks(("a", None, 1), ("b", "a", 1)))
    assert scheduler.next_ready() == "a"
    assert scheduler.next_ready() is None
    scheduler.mark_done("a")
    assert scheduler.next_ready() == "b"


def test_where_nothing_waits_the_order_is_the_books():
    rows = [(name, None, float(i % 7)) for i, name in enumerate("hgfedcba")]
    assert drain(Scheduler(tasks(*rows))) == list("hgfedcba")


def test_a_parent_outside_the_tasks_is_done():
    assert Scheduler(tasks(("b", "a", 1))).next_ready() == "b"


def test_what_is_put_back_comes_next():
    scheduler = Scheduler(tasks(("a", None, 9), ("b", None, 5), ("c", "b", 1)))
    assert scheduler.next_ready() == "a"
    scheduler.put_back("a")
    assert scheduler.next_ready() == "a"


def test_two_children_of_one_step_both_become_ready():
    scheduler = Scheduler(tasks(("a", None, 1), ("b", "a", 1), ("c", "a", 2)))
    assert drain(scheduler) == ["a", "c", "b"]


def test_every_task_of_a_large_forest_comes_once_and_after_its_parent():
    draw = random.Random(7)
    rows = [("0", None, 1.0)]
    for i in range(1, 2000):
        parent = str(draw.randrange(i)) if draw.random() < 0.8 else None
        rows.append((str(i), parent, draw.random() * 14))
    parents = {key: parent for key, parent, _ in rows}
    scheduler, finished, flight = Scheduler(tasks(*rows)), [], []
    while scheduler.unfinished_count:
        while len(flight) < 8 and (key := scheduler.next_ready()) is not None:
            assert parents[key] is None or parents[key] in finished
            flight.append(key)
        ended = flight.pop(draw.randrange(len(flight)))
        scheduler.mark_done(ended)
        finished.append(ended)
    assert sorted(finished, key=int) == [row[0] for row in rows]
