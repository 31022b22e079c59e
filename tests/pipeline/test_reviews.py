"""What somebody has heard and found good stays so until it is spoken anew."""

from __future__ import annotations

import shutil

import pytest

from narrator.errors import StorageError
from narrator.pipeline import reviews
from tests import books
from tests.fakes import HumEngine


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    path = books.write(tmp_path_factory.mktemp("spoken"))
    books.speak(path, HumEngine())
    return path.parent


@pytest.fixture
def path(spoken, tmp_path):
    shutil.copytree(spoken, tmp_path, dirs_exist_ok=True)
    return tmp_path / "book.yaml"


def test_what_is_marked_is_reviewed_until_it_is_not(path):
    book = books.plan(path, HumEngine())
    ids = [step.id for step in book.steps[:2]]
    assert not reviews.reviewers(book)
    reviews.mark_reviewed(book, book.steps[:2], True)
    assert set(reviews.reviewers(books.plan(path, HumEngine()))) == set(ids)
    reviews.mark_reviewed(book, book.steps[:1], False)
    assert reviews.reviewers(book) == {ids[1]: ""}


def test_a_chunk_that_is_spoken_anew_is_not_reviewed(path):
    book = books.plan(path, HumEngine())
    reviews.mark_reviewed(book, book.steps, True)
    books.write(path.parent, one=books.ONE.replace("left at seven", "left at eight"))
    _, watcher = books.speak(path, HumEngine())
    after = books.plan(path, HumEngine())
    reviewed = reviews.reviewers(after)
    left = {step.text for step in after.steps if step.id not in reviewed}
    assert left == watcher.texts
    assert "left at eight" in " ".join(left)


def test_a_chunk_without_a_take_cannot_be_reviewed(tmp_path):
    book = books.plan(books.write(tmp_path), HumEngine())
    reviews.mark_reviewed(book, book.steps, True)
    assert not reviews.reviewers(book)


def test_a_list_that_was_altered_is_an_error_and_loses_nothing(path):
    book = books.plan(path, HumEngine())
    reviews.mark_reviewed(book, book.steps, True)
    file = book.project.build / "reviewed-book.json"
    file.write_text(altered := file.read_text().replace("a", "b", 1))
    for act in (reviews.reviewers, lambda book: reviews.mark_reviewed(book, [], True)):
        with pytest.raises(StorageError, match=r"not a list of reviewed takes .*restore it"):
            act(book)
    assert file.read_text() == altered
