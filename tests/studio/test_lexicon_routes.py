"""Pronunciations: the lexicon with its places, words that nothing defines, both heard at once."""

from __future__ import annotations

import pytest

from narrator.engines.draft.espeak import DraftEngine
from narrator.errors import EnvironmentFailed
from tests.studio.test_cast_routes import seconds
from tests.studio.test_edit_routes import edit
from tests.studios import BOOK, Opened

LEXICON = """\
lexicon:
  - {word: road, say: rowed}
  - {word: cold, say: called, speaker: Ada}
  - {pattern: 'w(in)d', say: 'w \\1 d'}
  - {word: way, ipa: weɪ}
"""


def lexicon(studio: Opened) -> list[dict[str, object]]:
    """The entries, by what people see of them."""
    return [
        {
            "written": row["written"],
            "count": row["count"],
            "at": [(each["number"], each["chunks"]) for each in row["chapters"]],
        }
        for row in studio.page.get("/api/lexicon").json["entries"]
    ]


def test_entries_are_listed_with_the_places_where_they_apply(studio: Opened) -> None:
    (studio.session.path / "book.yaml").write_text(LEXICON + BOOK)
    (studio.session.path / "home.md").write_text("The road! The ROAD and the road.\n\nAda: Cold.\n")
    studio.look()
    answer = studio.page.get("/api/lexicon").json
    assert answer["entries"][0]["entry"]["say"] == "rowed"
    assert answer["entries"][0]["sentence"] == "The road was long."
    assert answer["takes_phonemes"] is True  # the draft voice does
    assert lexicon(studio) == [
        {"written": "road", "count": 4, "at": [(1, ["1.2"]), (2, ["2.1"])]},
        {"written": "Cold", "count": 1, "at": [(2, ["2.2"])]},
        {"written": "wind", "count": 1, "at": [(1, ["1.2"])]},
        {"written": "way", "count": 1, "at": [(1, ["1.4"])]},
    ]


def test_an_entry_is_added_changed_removed_and_all_is_undone(studio: Opened) -> None:
    path = studio.session.path / "book.yaml"
    first = {"word": "road", "say": "rowed", "speaker": None, "case": False}
    assert edit(studio, kind="lexicon", old=None, entry=first) == "“road” is said “rowed”"
    assert [row["written"] for row in lexicon(studio)] == ["road"]
    edit(studio, kind="lexicon", old=first, entry={**first, "say": "rode", "speaker": "Ada"})
    assert "{word: road, say: rode, speaker: Ada}" in path.read_text()
    assert lexicon(studio)[0]["count"] == 0
    (row,) = studio.page.get("/api/lexicon").json["entries"]
    edit(studio, kind="lexicon", old=row["entry"], entry=None)
    assert path.read_text() == BOOK
    gone = studio.page.post("/api/edits", {"kind": "lexicon", "old": row["entry"], "entry": None})
    assert (gone.status, "changed meanwhile" in gone.json["error"]) == (400, True)
    for _ in range(3):
        assert studio.page.post("/api/undo").status == 200
    assert path.read_text() == BOOK


@pytest.mark.parametrize(
    "asked",
    [
        {"old": None, "entry": None},
        {"old": "road", "entry": None},
        {"old": None, "entry": {"word": "road", "say": 3}},
        {"old": None, "entry": {"word": "road", "say": "x" * 1001}},
        {"old": None, "entry": {"word": "road", "say": "x", "rm": "x"}},
        {"old": None, "entry": {"word": "road", "say": "x", "speaker": "Nobody"}},
        {"old": None, "entry": {"pattern": "(", "say": "x"}},
        {"old": None, "entry": {"word": "road", "ipa": "3"}},
    ],
)
def test_an_entry_of_nonsense_changes_nothing(shared: Opened, asked: dict[str, object]) -> None:
    assert shared.page.post("/api/edits", {"kind": "lexicon", **asked}).status in (400, 422)
    assert (shared.session.path / "book.yaml").read_text() == BOOK


def test_an_entry_is_heard_before_it_is_saved(studio: Opened) -> None:
    (studio.session.path / "book.yaml").write_text("lexicon: {road: very long road}\n" + BOOK)
    studio.look()

    def heard(**asked: object) -> bytes:
        return studio.page.post("/api/say", {"word": "road", "chunk": "1.2", **asked}).data

    old = {"word": "road", "say": "very long road"}
    as_it_is = heard()
    assert seconds(as_it_is) > seconds(heard(entry={"word": "road", "say": "r"}, old=old))
    assert heard(entry={"word": "road", "ipa": "kəʊ"}) not in (as_it_is, heard(spoken="road"))


def test_a_word_is_heard_as_it_would_be_said(shared: Opened) -> None:
    plain = shared.page.post("/api/say", {"word": "road", "spoken": "road", "chunk": "1.2"})
    longer = shared.page.post(
        "/api/say", {"word": "road", "spoken": "long and winding road", "chunk": "1.2"}
    )
    alone = shared.page.post("/api/say", {"word": "road", "spoken": "road", "chunk": None})
    assert plain.headers["content-type"] == "audio/wav"
    assert seconds(alone.data) < seconds(plain.data) < seconds(longer.data)


@pytest.mark.parametrize(
    ("path", "asked", "status"),
    [
        ("/api/say", {"word": "", "spoken": "…", "chunk": None}, 400),
        ("/api/say", {"word": "a", "spoken": "b", "chunk": "9.9"}, 404),
        ("/api/say", {"word": "a", "spoken": "b", "text": "word " * 390}, 400),
        ("/api/say", {"word": "a", "spoken": "b", "text": "word " * 3900}, 400),
        ("/api/audition", {"speaker": "Nobody", "text": "Hello."}, 404),
        ("/api/say", {"word": "a", "entry": "b"}, 400),
        ("/api/say", {"word": "a", "entry": {"word": "a", "ipa": "3"}}, 400),
    ],
)
def test_what_cannot_be_said_is_refused(
    shared: Opened, path: str, asked: dict[str, object], status: int
) -> None:
    assert shared.page.post(path, asked).status == status


def test_without_the_draft_voice_it_is_said_what_is_missing(
    studio: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: DraftEngine, tell: object = None) -> None:
        raise EnvironmentFailed("the draft voice is missing: pip install 'narrator[draft]'")

    monkeypatch.setattr(DraftEngine, "start", missing)
    answer = studio.page.post("/api/say", {"word": "wet", "spoken": "whet", "chunk": "1.2"})
    assert answer.status == 503
    assert "narrator[draft]" in answer.json["error"]


def test_words_that_no_list_knows_are_named(studio: Opened) -> None:
    pytest.importorskip("simplemma")
    (studio.session.path / "home.md").write_text("They saw Vhagarion. Vhagarion slept.\n")
    studio.look()
    (word,) = studio.page.get("/api/names").json["words"]
    assert (word["word"], word["count"], word["chunk"]) == ("Vhagarion", 2, "2.1")
