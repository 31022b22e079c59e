"""Word times: part of the take where its engine knows them, counted where they are lost."""

from __future__ import annotations

import errno
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from narrator.engines import Request, Speech
from narrator.pipeline.losses import losses_of
from narrator.sound.audio import Samples
from narrator.sound.timing import TimedWord, WordTimes
from narrator.speech.hearing import Transcript
from narrator.speech.store import Record, Store
from narrator.text.words import words
from tests import books, faults
from tests.fakes import HumEngine, hum


def counting(request: Request) -> Speech:
    """Speech that says a word each tenth of a second, and knows it."""
    spans = words(request.text, request.language)
    times = tuple(TimedWord(*span, n / 10, (n + 1) / 10) for n, span in enumerate(spans))
    return replace(hum(request), words=times)


@pytest.fixture
def book(hummed: Path) -> books.book_plan.BookPlan:
    return books.plan(hummed, HumEngine(name="draft"))


def time_words(book: books.book_plan.BookPlan, count: int) -> None:
    """The words of the first `count` takes, as a recogniser found them."""
    for step in book.steps[:count]:
        take = book.takes.current(step)
        times = WordTimes("whisper", (TimedWord(0, 2, 0.0, 0.1),))
        book.store.transcripts.store_times(take.content, step.text, "w", times)


def test_word_times_of_an_engine_outlive_the_journal_and_what_was_heard(tmp_path):
    path = books.brief(tmp_path, books.MANIFEST)
    books.run(path, HumEngine(fault=counting))
    store = path.parent / "build" / "store"
    (store / "journal.jsonl").unlink()
    book = books.plan(path, HumEngine(fault=counting))
    for step in book.steps:
        times = book.store.word_times(book.takes.current(step), step.text)
        assert len(times.words) == len(step.text.split())


def test_an_altered_word_time_is_an_altered_take(tmp_path):
    path = books.brief(tmp_path, books.MANIFEST)
    books.run(path, HumEngine(fault=counting))
    store = path.parent / "build" / "store"
    take = next(store.glob("??/*.take"))
    record = json.loads(zipfile.ZipFile(take).read("record.json"))
    words_of = record["words"].encode()
    take.write_bytes(take.read_bytes().replace(words_of, words_of.replace(b"0", b"1", 1)))
    opened = Store.open(store)
    assert opened.find(take.stem) is None
    assert opened.damaged == [take.stem]


def test_a_full_disk_leaves_no_take_that_passes_for_heard(tmp_path):
    store = Store.open(tmp_path / "store", writing=True)
    record, samples = next(iter(takes_of(tmp_path)))

    def keep(stored: object) -> None:
        store.transcripts.store_transcript("a", record.text, "p", Transcript("go"))

    disk = faults.Disk(store.transcripts.path, 1, errno.ENOSPC)
    with faults.failing(disk), pytest.raises(Exception, match="the disk is full"):
        store.put(record, samples, before_write=keep)
    assert store.find(record.key) is None


def takes_of(folder: Path) -> Iterator[tuple[Record, Samples]]:
    path = books.brief(folder, books.MANIFEST)
    _, watcher = books.speak(path, HumEngine())
    store = Store.open(path.parent / "build" / "store")
    for _, take in watcher.takes:
        yield replace(take, key="f" * 40), store.read(take.key)[0]


def test_takes_without_word_times_among_others_that_have_them_are_counted(book):
    assert not list(losses_of(book).messages())  # nobody timed anything
    time_words(book, len(book.steps) - 1)
    (message,) = losses_of(book).messages()
    assert f"1 of {len(book.steps)} takes have no word times" in message
    assert "`narrator hear --align" in message


def test_words_that_were_looked_for_and_not_found_are_no_loss(book):
    time_words(book, len(book.steps) - 1)
    step = book.steps[-1]
    take = book.takes.current(step)
    book.store.transcripts.store_times(take.content, step.text, "w", WordTimes("whisper", ()))
    assert not list(losses_of(book).messages())


def test_render_and_status_name_a_damaged_row(hummed, book):
    time_words(book, 2)
    rows = book.store.transcripts.path.read_bytes()
    book.store.transcripts.path.write_bytes(rows.replace(b"whisper", b"whisker", 1))
    report, _ = books.run(hummed, HumEngine(name="draft"))
    assert any("1 row is damaged" in message for message in report.losses)
    with_engine = faults.command(HumEngine(name="draft"), "status", hummed)
    assert "heard.jsonl: 1 row is damaged" in with_engine[1]


def test_a_render_removes_what_a_killed_command_left_beside_texts_and_manifest(hummed):
    left = [folder / f".{16 * 'a'}.part" for folder in (hummed.parent, hummed.parent / "text")]
    for path in left:
        path.write_bytes(b"half")
    books.run(hummed, HumEngine(name="draft"))
    assert not any(path.exists() for path in left)
