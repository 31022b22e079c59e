"""Exchanges that a person should check, and decisions as edits."""

from __future__ import annotations

import pytest

from narrator.errors import UsageError
from narrator.pipeline import edits, exchanges, new_characters
from narrator.pipeline.exchanges import Decision
from narrator.text.speaker_files import NOBODY, UNKNOWN
from tests import edited

TEXT = """\
It was late, and Ada and Ben were tired.

“I know this road,” said Ben, “and you do not.” “Oh,” said Ada.

“Do I not?”

They walked on.

“No,” said Ada.

They came to the river.

It was dark.

“Here we are.”

* * *

“Good night.”
"""


@pytest.fixture
def path(tmp_path):
    return edited.write(tmp_path, TEXT)


def proposal(path):
    return new_characters.propose(edited.project(path))


def first_exchange(path):
    return exchanges.all_exchanges(proposal(path))[0]


def test_an_exchange_ends_at_narration_and_at_a_scene(path):
    found = exchanges.all_exchanges(proposal(path))
    assert [len(exchange.turns) for exchange in found] == [4, 1, 1]
    assert len({exchange.id for exchange in found}) == 3


def test_a_long_run_is_cut(tmp_path):
    path = edited.write(tmp_path, "“Yes.”\n\n" * (exchanges.MAX_TURNS + 1))
    found = exchanges.all_exchanges(proposal(path))
    assert [len(exchange.turns) for exchange in found] == [exchanges.MAX_TURNS, 1]


def test_its_text_is_in_passages_by_turn_with_what_is_around_it(path):
    now = proposal(path)
    shown = exchanges.passages(now, exchanges.all_exchanges(now)[0])
    assert [(one.turn, one.text) for one in shown] == [
        (None, "It was late, and Ada and Ben were tired."),
        (0, "“I know this road,” said Ben, “and you do not.” "),
        (1, "“Oh,” said Ada."),
        (2, "“Do I not?”"),
        (None, "They walked on."),
        (3, "“No,” said Ada."),
        (None, "They came to the river."),
    ]
    quotations = [shown[1].text[start:stop] for start, stop in shown[1].spans]
    assert quotations == ["“I know this road,”", "“and you do not.”"]


def test_exchanges_with_most_expected_errors_come_first_or_those_of_the_beginning(tmp_path):
    now = proposal(edited.write(tmp_path, TEXT.replace("said Ben", "somebody said")))
    doubtful = [exchange for exchange in exchanges.all_exchanges(now) if exchange.doubtful_turns]
    assert len({exchange.expected_errors for exchange in doubtful}) > 1
    by_errors = sorted(doubtful, key=lambda exchange: exchange.expected_errors, reverse=True)
    assert exchanges.doubtful_exchanges(now) == by_errors
    assert exchanges.doubtful_exchanges(now, in_order=True) == doubtful


@pytest.mark.parametrize(
    ("before", "turn", "decision", "after"),
    [
        ("ABAB", 1, Decision.AS_SHOWN, "ABAB"),
        ("ABAB", 1, Decision.THIS_TURN, "ACAB"),
        ("ABAB", 2, Decision.REMAINING_TURNS, "ABCC"),
        ("ABaB", 2, Decision.REMAINING_TURNS, "ABCC"),
        ("ABAB", 0, Decision.SWAP, "BABA"),
        ("ABAB", 2, Decision.SWAP, "ABBA"),
        ("ABCA", 2, Decision.SWAP, "ABBA"),
        ("AAAA", 1, Decision.SWAP, None),
        ("?BAB", 0, Decision.SWAP, None),
        ("ABaB", 0, Decision.SWAP, "BAAA"),
        ("abAB", 0, Decision.SWAP, "BBBA"),
        ("ABBB", 1, Decision.ALTERNATE, "ABAB"),
        ("AB??", 1, Decision.ALTERNATE, "ABAB"),
        ("A-BB", 2, Decision.ALTERNATE, "A-BA"),
        ("AACC", 0, Decision.ALTERNATE, "ACAC"),
        ("AB??aA", 1, Decision.ALTERNATE, "ABABAB"),
        ("AB??bA", 1, Decision.ALTERNATE, "ABABBA"),
        ("AB?c?A", 1, Decision.ALTERNATE, "ABAC?A"),
        ("aB??", 0, Decision.ALTERNATE, "ABAB"),
    ],
)
def test_what_a_decision_makes_of_the_speakers(tmp_path, before, turn, decision, after):
    """A small letter is somebody whom the text names in a tag."""
    lines = ["“Well,” said Ada." if letter.islower() else "“Well.”" for letter in before]
    exchange = first_exchange(edited.write(tmp_path, "\n\n".join(lines)))

    def decided():
        return exchanges.decided_speakers(exchange, before.upper(), turn, decision, "C")

    if after is None:
        with pytest.raises(UsageError, match="no two speakers"):
            decided()
    else:
        assert "".join(decided()) == after


def test_the_next_likely_speaker_comes_round_again(path):
    now, exchange_id = proposal(path), first_exchange(path).id
    chosen_names = []
    for _ in range(6):
        now, _ = exchanges.apply_decision(now, exchange_id, 2, Decision.NEXT_CANDIDATE)
        chosen_names.append(exchanges.find_exchange(now, exchange_id).speakers[2])
    assert sorted(chosen_names[:3]) == ["Ada", "Ben", "Mrs Hale"]
    assert chosen_names[3:] == chosen_names[:3]


def test_a_decision_is_an_edit_of_all_pieces_that_can_be_undone(path):
    now = proposal(path)
    exchange = first_exchange(path)
    after, edit = exchanges.apply_decision(now, exchange.id, 0, Decision.THIS_TURN, "Ben")
    assert edit.title == "chapter 1: Ben says “I know this road,”"
    assert not (path.parent / "one.speakers.txt").exists()
    edited.made(path, edit)
    rows = (path.parent / "one.speakers.txt").read_text().splitlines()
    assert rows[1:3] == ["Ben | you | “I know this road,”", "+ | you | “and you do not.”"]
    assert exchanges.find_exchange(after, exchange.id).speakers[0] == "Ben"
    edits.undo(edited.project(path))
    assert not (path.parent / "one.speakers.txt").exists()


def test_a_whole_exchange_is_decided_and_asked_about_no_more(path):
    now = proposal(path)
    exchange = first_exchange(path)
    after, edit = exchanges.apply_decision(now, exchange.id, 0, Decision.THIS_TURN, "Ben")
    edited.made(path, edit)
    after, edit = exchanges.apply_decision(after, exchange.id, 0, Decision.ALTERNATE)
    assert edit.title == "chapter 1: Ben says “Do I not?”"
    edited.made(path, edit)
    assert (path.parent / "one.speakers.txt").read_text().count("Ada | rule tag") == 2
    for later in (after, proposal(path)):
        assert exchanges.find_exchange(later, exchange.id).speakers == ("Ben", "Ada", "Ben", "Ada")
        assert exchange.id not in [one.id for one in exchanges.doubtful_exchanges(later)]
    after, edit = exchanges.apply_decision(after, exchange.id, 0, Decision.AS_SHOWN)
    assert edit.title == "chapter 1: 2 quotations: Ada"
    _, edit = exchanges.apply_decision(after, exchange.id, 0, Decision.AS_SHOWN)
    assert edit.changes == ()


@pytest.mark.parametrize(
    ("speaker", "column"), [(NOBODY, "-"), (UNKNOWN, "?"), ("Mrs Hale", "Mrs Hale")]
)
def test_anybody_or_nobody_may_speak(path, speaker, column):
    exchange = first_exchange(path)
    _, edit = exchanges.apply_decision(proposal(path), exchange.id, 0, Decision.THIS_TURN, speaker)
    assert f"\n{column} | you | “I know" in edit.changes[0].new_text


def test_a_decision_keeps_what_was_edited_meanwhile(path):
    now = proposal(path)
    exchange = first_exchange(path)
    (path.parent / "one.speakers.txt").write_text("# mine\nMrs Hale | you | “Do I not?”\n")
    _, edit = exchanges.apply_decision(now, exchange.id, 0, Decision.THIS_TURN, "Ben")
    assert "# mine\nMrs Hale | you | “Do I not?”\n" in edit.changes[0].new_text


def test_what_is_decided_in_print_is_changed_only_by_its_own_key(path):
    (path.parent / "one.speakers.txt").write_text("Mrs Hale | print | “Do I not?”\n")
    now = proposal(path)
    exchange = first_exchange(path)
    _, edit = exchanges.apply_decision(now, exchange.id, 0, Decision.REMAINING_TURNS, "Ben")
    assert "\nMrs Hale | print Mrs Hale | “Do I not?”\n" in edit.changes[0].new_text
    _, edit = exchanges.apply_decision(now, exchange.id, 2, Decision.THIS_TURN, "Ben")
    assert "\nBen | you | “Do I not?”\n" in edit.changes[0].new_text


def test_who_is_not_in_book_yaml_cannot_speak(path):
    with pytest.raises(UsageError, match="--write"):
        exchanges.apply_decision(
            proposal(path), first_exchange(path).id, 0, Decision.THIS_TURN, "Zoe"
        )


@pytest.mark.parametrize("name", ["", "0-", "99-0", "x", "-1-a"])
def test_an_exchange_that_is_none_any_more_is_refused(path, name):
    with pytest.raises(UsageError, match="look again"):
        exchanges.apply_decision(proposal(path), name, 0, Decision.THIS_TURN, "Ada")


def test_an_exchange_of_an_older_text_is_refused(path):
    exchange = first_exchange(path)
    (path.parent / "one.md").write_text("“Quite another thing,” somebody said.\n")
    with pytest.raises(UsageError, match="look again"):
        exchanges.apply_decision(proposal(path), exchange.id, 0, Decision.THIS_TURN, "Ada")


def test_a_turn_that_is_not_there_is_refused(path):
    exchange = first_exchange(path)
    with pytest.raises(UsageError, match="this exchange has 4 turns"):
        exchanges.apply_decision(proposal(path), exchange.id, 4, Decision.THIS_TURN, "Ada")
