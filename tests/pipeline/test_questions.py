"""Quotations that a person should look at, and answers as edits."""

from __future__ import annotations

import pytest

from narrator.errors import UsageError
from narrator.pipeline import edits, new_characters, questions
from narrator.text.speaker_files import NOBODY, UNKNOWN
from tests import edited

TEXT = """\
It was late, and Ada and Ben were tired.

“I know this road,” somebody said, “and you do not.”

“Do I not?”

“No,” said Ada.
"""


@pytest.fixture
def path(tmp_path):
    return edited.write(tmp_path, TEXT)


def proposal(path):
    return new_characters.propose(edited.project(path))


def test_what_is_doubtful_is_a_queue_with_candidates_and_what_is_around_it(path):
    found = questions.questions(proposal(path), in_order=True)
    first, second = found[:2]
    assert first.words == "“I know this road,” … “and you do not.”"
    assert [first.paragraph[start:stop] for start, stop in first.spans] == [
        "“I know this road,”",
        "“and you do not.”",
    ]
    assert first.before == "It was late, and Ada and Ben were tired."
    assert second.after.endswith("“No,” said Ada.")
    assert {"Ada", "Ben"} <= {name for name, _ in second.choices}
    assert len({one.id for one in found}) == len(found)


def test_an_answer_is_an_edit_of_all_pieces_that_can_be_undone(path):
    now = proposal(path)
    question = questions.questions(now, in_order=True)[0]
    after, edit = questions.answer_question(now, question.id, "Ben")
    assert edit.title == "chapter 1: Ben says “I know this road,”"
    assert not (path.parent / "one.speakers.txt").exists()
    edited.made(path, edit)
    rows = (path.parent / "one.speakers.txt").read_text().splitlines()
    assert rows[1:3] == ["Ben | you | “I know this road,”", "+ | you | “and you do not.”"]
    assert question.id not in [one.id for one in questions.questions(after)]
    assert questions.refresh_questions(after, [question])[0].group[0].speaker == "Ben"
    edits.undo(edited.project(path))
    assert not (path.parent / "one.speakers.txt").exists()


@pytest.mark.parametrize(
    ("speaker", "column"), [(NOBODY, "-"), (UNKNOWN, "?"), ("Mrs Hale", "Mrs Hale")]
)
def test_an_answer_may_be_anybody_or_nobody(path, speaker, column):
    now = proposal(path)
    _, edit = questions.answer_question(now, questions.questions(now, in_order=True)[0].id, speaker)
    assert f"\n{column} | you | “I know" in edit.changes[0].new_text


def test_an_answer_keeps_what_was_edited_meanwhile(path):
    now = proposal(path)
    question = questions.questions(now, in_order=True)[0]
    (path.parent / "one.speakers.txt").write_text("# mine\nMrs Hale | you | “Do I not?”\n")
    _, edit = questions.answer_question(now, question.id, "Ben")
    assert "# mine\nMrs Hale | you | “Do I not?”\n" in edit.changes[0].new_text


def test_who_is_not_in_book_yaml_cannot_answer(path):
    now = proposal(path)
    with pytest.raises(UsageError, match="--write"):
        questions.answer_question(now, questions.questions(now)[0].id, "Zoe")


@pytest.mark.parametrize("name", ["", "0-", "99-0", "x", "-1-a"])
def test_a_question_that_is_none_any_more_is_refused(path, name):
    with pytest.raises(UsageError, match="look again"):
        questions.answer_question(proposal(path), name, "Ada")


def test_a_question_of_an_older_text_is_refused(path):
    question = questions.questions(proposal(path), in_order=True)[0]
    (path.parent / "one.md").write_text("“Quite another thing,” somebody said.\n")
    with pytest.raises(UsageError, match="look again"):
        questions.answer_question(proposal(path), question.id, "Ada")
