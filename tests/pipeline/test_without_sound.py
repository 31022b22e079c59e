"""What an engine has no sound for costs no book: it is left out and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.engines.kokoro import SPEC
from narrator.engines.registry import ENGINES
from narrator.pipeline import checking
from narrator.pipeline.manuscript import find_oddities, leave_out_unspeakable, read_manuscript
from narrator.text.pace import expected_seconds
from tests import books

MANIFEST = books.MANIFEST + "engine: kokoro\n"
TEXT = "# Morning\n\nThe sign said 漢字 in red.\n\nann: 漢字.\n\nNobody could read it.\n"


@pytest.fixture
def manuscript(tmp_path: Path):
    return read_manuscript(books.write(tmp_path, MANIFEST, TEXT, books.BRIEF_TWO))


def test_a_chunk_without_any_sound_is_left_out(manuscript):
    spoken = leave_out_unspeakable(manuscript, dict.fromkeys(manuscript.cast, SPEC))
    assert "漢字." not in [one.chunk.text for one in spoken.spoken]
    left = [item.text for chapter in spoken.chapters for item in chapter.left_out]
    assert [text.strip() for text in left if "漢" in text] == ["漢字."]


def test_parts_without_a_sound_are_said_at_their_first_place(manuscript):
    [problem] = checking.find_silent_parts(manuscript)
    assert problem.line == 3
    assert "“漢字” is left out" in problem.message
    assert not list(checking.find_silent_parts(manuscript.spoken_by("draft")))


def test_parts_without_a_sound_take_no_time(manuscript):
    kokoro, draft = (
        leave_out_unspeakable(manuscript, dict.fromkeys(manuscript.cast, engine)).spoken
        for engine in (SPEC, ENGINES["draft"])
    )
    signs = expected_seconds("漢字", "en")
    assert kokoro[1].chunk == draft[1].chunk
    assert kokoro[1].expected == pytest.approx(draft[1].expected - signs)
    assert kokoro[0].expected == draft[0].expected


@pytest.mark.parametrize(("name", "count"), [("kokoro", 0), ("draft", 1)])
def test_only_an_engine_that_spells_letters_is_said_to(manuscript, name, count):
    oddities = [str(oddity) for oddity in find_oddities(manuscript, [ENGINES[name]])]
    assert len([line for line in oddities if "the draft voice names such letters" in line]) == count


def test_a_language_that_needs_an_extra_is_said_with_it(manuscript, monkeypatch):
    assert SPEC.can_say("Nobody.", "en", {})
    assert not SPEC.can_say("漢字", "en", {})
    assert SPEC.can_say("漢字", "en", {"漢字": "kænʤi"})
    monkeypatch.setattr("narrator.pronunciation.missing_extra", lambda tag: "japanese")
    assert "[japanese]" in SPEC.language_advice("ja")


def test_ipa_that_is_none_is_said_with_its_symbol(tmp_path):
    text = "# Morning\n\nThen {Aoife|/ˈiːfə7/} came.\n"
    [problem] = checking.find_silent_parts(read_manuscript(books.write(tmp_path, MANIFEST, text)))
    assert problem.line == 3
    assert "'7' (U+0037, digit seven)" in problem.message
    assert "the word is read as it is written" in problem.message


def test_every_part_without_a_sound_is_named(tmp_path):
    words = "".join(chr(0x4E00 + number) + " and " for number in range(40))
    manuscript = read_manuscript(
        books.write(tmp_path, MANIFEST, f"# Morning\n\nIt said {words} no more.\n")
    )
    assert len(list(checking.find_silent_parts(manuscript))) == 40


def test_entries_of_the_lexicon_that_match_nothing_are_listed_once(tmp_path):
    lexicon = "lexicon: {Red: redd, Aoife: /ˈiːfə/, Nobodies: x, Nobody: y}\n"
    manuscript = read_manuscript(books.write(tmp_path, MANIFEST + lexicon, TEXT, books.BRIEF_TWO))
    [problem] = checking.find_unmatched_entries(manuscript)
    assert problem.line == len((MANIFEST + lexicon).splitlines())
    assert problem.message == "the lexicon matches nothing with “Aoife”, “Nobodies”"
