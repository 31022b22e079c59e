"""Takes are heard while a book is rendered, and afterwards."""

from __future__ import annotations

import os
import threading

import pytest

from narrator.errors import EngineUnavailable, UsageError
from narrator.pipeline import book_plan, edits, hearing, misreadings, retakes
from narrator.pipeline.book_engines import BookEngines
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.options import RenderOptions
from narrator.speech.hearing import choosing
from narrator.speech.hearing.listening import TakeListener
from narrator.speech.store import Store
from tests import books
from tests.fakes import HumEngine
from tests.speech.ears import Metronome, Mishearer, Parrot

BAD = "The ferryman looked at her"
HEARING = books.MANIFEST + "checks: {recognition: all}\n"


def deaf(times: int = 10**6):
    """Hears another text than `BAD`, the first `times` times."""
    left = [times]

    def says(text: str) -> str:
        if not text.startswith(BAD) or left[0] <= 0:
            return text
        left[0] -= 1
        return "Somebody else has bought a hat, and a horse, and everything else, they say."

    return says


@pytest.fixture
def listening(monkeypatch):
    """Has renders heard by an ear of the test's."""

    def use(ear: TakeListener) -> TakeListener:
        monkeypatch.setattr(choosing, "make_render_listener", lambda checks, root: ear)
        return ear

    return use


def heard(path, ear, *, cancel=None, **chosen):
    """What `narrator hear` does."""
    engine = chosen.pop("engine", HumEngine())
    manuscript = read_manuscript(path)
    selection = book_plan.select(
        manuscript,
        RenderOptions(chapters=chosen.get("chapters", ()), speakers=chosen.get("speakers", ())),
    )
    shares = []
    _, found = hearing.hear_book(
        manuscript, BookEngines(engine), selection, ear,
        on_progress=shares.append, cancel=cancel or threading.Event(),
    )  # fmt: skip
    return found, shares


# -- in a render -----------------------------------------------------------------------------------


def test_a_take_that_says_something_else_is_tried_again(tmp_path, listening):
    listening(TakeListener(Parrot(deaf(1))))
    report, watcher = books.speak(books.write(tmp_path, HEARING), HumEngine())
    assert report.complete
    assert [step.chunk.text.startswith(BAD) for step in watcher.retries] == [True]
    assert [fault.split(":")[0] for fault in watcher.faults] == ["text"]


def test_one_that_never_says_its_text_is_doubtful_and_costs_no_book(tmp_path, listening):
    listening(TakeListener(Parrot(deaf())))
    report, _ = books.speak(books.write(tmp_path, HEARING), HumEngine())
    assert [step.chunk.text.startswith(BAD) for step in report.plan.doubtful] == [True]
    assert not report.missing_count


def test_every_take_is_heard_once_in_batches(tmp_path, listening):
    ear = listening(TakeListener(Parrot(batch=4)))
    report, _ = books.speak(books.write(tmp_path, HEARING), HumEngine(slots=8))
    texts = [text for batch in ear.recogniser.asked for text in batch]
    assert sorted(texts) == sorted(step.text for step in report.plan.steps)


def test_a_recogniser_that_breaks_down_ends_the_render_and_keeps_what_was_heard(
    tmp_path, listening
):
    heard_before = []

    def says(text: str) -> str:
        heard_before.append(text)
        if len(heard_before) > 3:
            raise RuntimeError("[matmul] shapes do not fit")
        return text

    path = books.write(tmp_path, HEARING)
    listening(TakeListener(Parrot(says, batch=1)))
    with pytest.raises(EngineUnavailable, match=r"recognition \(parrot\) failed"):
        books.speak(path, HumEngine(slots=1))
    kept = len(list(Store.open(read_manuscript(path).project.takes).stored()))
    listening(TakeListener(Parrot()))
    report, watcher = books.speak(path, HumEngine())
    assert report.complete
    assert kept > 0
    assert len(watcher.takes) == len(report.plan.steps) - kept


@pytest.mark.parametrize("says", [lambda text: text, deaf()], ids=["all good", "one doubtful"])
def test_what_a_render_heard_is_not_heard_again(tmp_path, listening, says):
    ear = listening(TakeListener(Parrot(says), [Metronome()]))
    path = books.write(tmp_path, HEARING)
    report, _ = books.speak(path, HumEngine())
    asked = len(ear.recogniser.asked), len(ear.aligners[0].asked)
    found, _ = heard(path, ear)
    assert (found.take_count, found.heard_count) == (len(report.plan.steps), 0)
    assert (len(ear.recogniser.asked), len(ear.aligners[0].asked)) == asked


# -- of what is rendered ---------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    path = books.write(tmp_path)
    books.speak(path, HumEngine())
    return path


def doubtful(path):
    return [step.chunk.text[: len(BAD)] for step in books.plan(path, HumEngine()).doubtful]


def test_a_take_that_does_not_say_its_text_becomes_doubtful(book):
    found, shares = heard(book, TakeListener(Parrot(deaf())))
    assert [one.step.chunk.text.startswith(BAD) for one in found.misheard] == [True]
    assert found.misheard[0].heard.startswith("Somebody else")
    assert doubtful(book) == [BAD]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


def test_takes_that_were_heard_cost_nothing_the_second_time(book):
    heard(book, TakeListener(Parrot(), [Metronome()]))
    ear = TakeListener(Parrot(), [Metronome()])
    found, _ = heard(book, ear)
    assert (found.heard_count, ear.recogniser.asked, ear.aligners[0].asked) == (0, [], [])
    assert found.timed_counts == {"metronome": found.take_count}


def test_another_recogniser_hears_them_anew_and_may_relieve_them(book):
    heard(book, TakeListener(Parrot(deaf())))
    found, _ = heard(book, TakeListener(Parrot(identity="parrot 2")))
    assert (found.relieved_count, found.misheard) == (1, [])
    assert doubtful(book) == []


def test_a_take_that_an_author_pinned_stays_accepted(book):
    heard(book, TakeListener(Parrot(deaf())))
    plan = books.plan(book, HumEngine())
    retakes.pin(plan, plan.doubtful[0], 1)
    found, _ = heard(book, TakeListener(Parrot(deaf())))
    assert [one.is_accepted for one in found.misheard] == [True]
    assert doubtful(book) == []


def test_only_what_is_asked_for_is_heard(book):
    ear = TakeListener(Parrot())
    found, _ = heard(book, ear, chapters=["2"], speakers=["ann"])
    assert (found.take_count, found.heard_count) == (1, 1)


def test_a_pass_that_is_stopped_goes_on_where_it_was(book):
    cancel = threading.Event()

    def says(text: str) -> str:
        cancel.set()
        return text

    stopped, _ = heard(book, TakeListener(Parrot(says)), cancel=cancel)
    assert stopped.cancelled
    assert stopped.heard_count == 2  # a batch
    found, _ = heard(book, TakeListener(Parrot()))
    assert found.heard_count == found.take_count - 2


def test_chunks_without_takes_are_counted(tmp_path):
    path = books.write(tmp_path)
    books.speak(path, HumEngine(), chapters=["1"])
    found, _ = heard(path, TakeListener(Parrot()))
    assert found.missing_count == len(books.plan(path, HumEngine()).todo) > 0


def test_words_alone_are_timed(book):
    ear = TakeListener(None, [Metronome()])
    found, _ = heard(book, ear)
    assert found.timed_counts == {"metronome": found.take_count}
    assert not found.misheard


def damage(path, step):
    """Alter a take, so that neither size nor time tells it."""
    take = Store.open(read_manuscript(path).project.takes).root / step.key[:2] / f"{step.key}.take"
    data, stamp = bytearray(take.read_bytes()), take.stat()
    data[-200] ^= 1
    take.write_bytes(bytes(data))
    os.utime(take, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def test_a_damaged_take_is_passed_over(book):
    damage(book, books.plan(book, HumEngine()).steps[0])
    found, _ = heard(book, TakeListener(Parrot()))
    assert found.heard_count == found.take_count - 1


def test_one_that_was_heard_before_it_was_damaged_holds_up_no_other(book):
    heard(
        book, TakeListener(Parrot(lambda text: "Nobody."), error=99.0)
    )  # too lenient to doubt them
    damage(book, books.plan(book, HumEngine()).steps[1])
    found, _ = heard(book, TakeListener(Parrot(lambda text: "Nobody.")))
    steps = [one.step for one in found.misheard]
    takes = Store.open(read_manuscript(book).project.takes)
    marked = [bool(take and take.faults) for step in steps for take in [takes.find(step.key)]]
    assert marked == [False] + [True] * (len(steps) - 1)


# -- what was heard --------------------------------------------------------------------------------


def listed(path):
    """The misreadings of a book: what was heard for what."""
    rows = misreadings.misreadings(books.plan(path, HumEngine()))
    return [(row.step.text[row.first : row.last], row.heard) for row in rows]


@pytest.fixture
def misheard(book):
    heard(book, TakeListener(Mishearer(word="ferryman", heard="bread"), [Metronome()]))
    return book


def test_misreadings_are_listed_with_their_words_the_surest_first(misheard):
    assert set(listed(misheard)) == {("ferryman", "bread")}
    rows = misreadings.misreadings(books.plan(misheard, HumEngine()))
    assert [row.odds for row in rows] == sorted((row.odds for row in rows), reverse=True)
    first = next(row for row in rows if row.step.text.startswith(BAD))
    assert (first.start, first.stop) == (pytest.approx(0.1), pytest.approx(0.2))


def test_takes_that_were_listened_to_are_counted(book):
    plan = books.plan(book, HumEngine())
    takes = len(plan.steps)
    assert misreadings.count_heard(plan, plan.steps) == (0, takes)
    heard(book, TakeListener(Parrot()), chapters=["2"])
    plan = books.plan(book, HumEngine())
    heard_count, take_count = misreadings.count_heard(plan, plan.steps)
    assert (0 < heard_count < takes, take_count) == (True, takes)


def test_words_that_nobody_timed_are_looked_for_by_their_letters(book):
    heard(book, TakeListener(Mishearer(word="ferryman", heard="bread")))
    rows = misreadings.misreadings(books.plan(book, HumEngine()))
    first = next(row for row in rows if row.step.text.startswith(BAD))
    assert 0 < first.start < first.stop < first.step.expected / 2


def test_another_text_is_one_misreading(book):
    heard(book, TakeListener(Parrot(deaf())))
    [row] = misreadings.misreadings(books.plan(book, HumEngine()))
    assert row.kind in ("whole", "missing", "added")
    assert row.odds > 1


def test_a_pinned_take_is_not_listed(misheard):
    plan = books.plan(misheard, HumEngine())
    for step in plan.doubtful:
        retakes.pin(plan, step, 1)
    assert listed(misheard) == []


def learn(path, word, as_heard):
    project = read_manuscript(path).project
    edits.apply(project, edits.heard_as_edit(project, word, as_heard))
    plan = books.plan(path, HumEngine())
    return hearing.judge_again(
        read_manuscript(path), BookEngines(HumEngine()), [step.id for step in plan.steps]
    )


def test_a_name_that_is_right_as_it_is_heard_is_learnt_for_the_whole_book(misheard):
    count = len(doubtful(misheard))
    assert learn(misheard, "Ferryman", "“Bread,”") == (0, count)
    assert (listed(misheard), doubtful(misheard)) == ([], [])
    assert "checks:\n  heard_as: {Ferryman: Bread}" in misheard.read_text()
    project = read_manuscript(misheard).project
    edits.undo(project)
    chunks = [step.id for step in books.plan(misheard, HumEngine()).steps]
    again = hearing.judge_again(read_manuscript(misheard), BookEngines(HumEngine()), chunks)
    assert again == (count, 0)
    assert len(doubtful(misheard)) == count


def test_a_name_may_be_heard_in_several_ways(misheard):
    learn(misheard, "ferryman", "butter")
    assert listed(misheard)
    learn(misheard, "Ferryman", "bread")
    assert not listed(misheard)
    assert "ferryman: [butter, bread]" in misheard.read_text()


@pytest.mark.parametrize(
    ("word", "as_heard", "why"),
    [
        ("", "bread", "1 to 100 characters"),
        ("ferryman", " “” ", "1 to 100 characters"),
        ("x" * 101, "y", "pin the take"),
    ],
)
def test_what_cannot_be_learnt_is_said(book, word, as_heard, why):
    with pytest.raises(UsageError, match=why):
        edits.heard_as_edit(read_manuscript(book).project, word, as_heard)


def test_what_is_learnt_is_not_learnt_twice(misheard):
    learn(misheard, "ferryman", "bread")
    with pytest.raises(UsageError, match="“Bread” counts as “ferryman” already"):
        edits.heard_as_edit(read_manuscript(misheard).project, "ferryman", "Bread")
