"""What is found in the whole book: by words, speaker and state, in reading order."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from tests import studios
from tests.studios import Opened


def found(studio: Opened, **fields: object) -> Any:
    answer = studio.page.get(f"/api/find?{urlencode(fields, doseq=True)}")
    assert answer.status == 200, answer.json
    return answer.json


def ids(studio: Opened, **fields: object) -> list[str]:
    return [one["id"] for one in found(studio, **fields)["results"]]


@pytest.mark.parametrize(
    ("fields", "chunks"),
    [
        ({"words": "ROAD"}, ["1.2"]),
        ({"words": "at last"}, ["2.2"]),
        ({"words": " far  "}, ["1.3"]),
        ({"words": "nowhere"}, []),
        ({"speaker": "Ada"}, ["1.3", "1.4", "2.2"]),
        ({"speaker": "Ben"}, ["1.4", "1.6"]),
        ({"speaker": "Ada", "words": "way"}, ["1.4"]),
        ({"speaker": "Nobody"}, []),
        ({"state": "missing"}, []),
        ({"state": "unreviewed", "speaker": "Ben"}, ["1.4", "1.6"]),
    ],
)
def test_words_and_speakers_are_found(
    shared: Opened, fields: dict[str, object], chunks: list[str]
) -> None:
    assert ids(shared, **fields) == chunks


def test_results_say_where_the_words_are(shared: Opened) -> None:
    answer = found(shared, words="THE W")
    assert answer["total"] == len(answer["results"]) == 2
    assert answer["chapters"] == [
        {"number": 1, "title": "Out <script>alert(1)</script>", "count": 2}
    ]
    road, chorus = answer["results"]
    assert road["text"][0].endswith("It was wet, and ")
    assert (chorus["id"], chorus["speakers"]) == ("1.4", ["Ada", "Ben"])
    assert chorus["text"] == ["We know ", "the w", "ay!"]
    assert found(shared, words="the w", **{"from": 1})["results"] == [chorus]


def test_a_long_text_is_cut_to_the_place(shared: Opened) -> None:
    (one,) = found(shared, words="autumn")["results"]
    before, match, after = one["text"]
    assert before.startswith("…")
    assert (match, after) == ("autumn", " there.")


@pytest.mark.parametrize(
    ("text", "words", "match"),
    [
        ("Ça va, cœur d’été ?", "d'ete", "d’été"),
        ("“Well—then”", '"well-then"', "“Well—then”"),
        ("Straße und Ofen", "strasse", "Straße"),
        ("かがみ", "が", "が"),
        ("かかし", "が", None),
        ("بَيْت كبير", "بيت", "بَيْت"),
    ],
)
def test_case_accents_and_marks_do_not_matter(
    studio: Opened, text: str, words: str, match: str | None
) -> None:
    (studio.session.path / "home.md").write_text(f"{text}\n")
    studio.look()
    assert [one["text"][1] for one in found(studio, words=words)["results"]] == (
        [match] if match else []
    )


def test_states_are_found_together(studio: Opened) -> None:
    studio.page.post("/api/flags", {"chunk": "1.3", "note": "too fast"})
    studio.page.post("/api/flags", {"chunk": "2.1", "note": "a click"})
    studio.page.post("/api/reviewed", {"chunks": ["1.3", "1.6"], "yes": True})
    assert ids(studio, state="flagged") == ["1.3", "2.1"]
    assert ids(studio, state="reviewed") == ["1.3", "1.6"]
    assert ids(studio, state=["flagged", "reviewed"]) == ["1.3"]
    assert ids(studio, state=["flagged", "unreviewed"]) == ["2.1"]
    (studio.session.path / "home.md").write_text("They came home.\n\nAda: At last!\n")
    studio.look()
    assert ids(studio, state="missing") == ["2.2"]


@pytest.mark.parametrize(
    "fields", [{"state": "lost"}, {"words": "a" * 201}, {"from": "-1"}, {"from": "x"}]
)
def test_what_cannot_be_looked_for_is_refused_in_a_line(
    shared: Opened, fields: dict[str, str]
) -> None:
    answer = shared.page.get(f"/api/find?{urlencode(fields)}")
    assert answer.status == 400
    assert "\n" not in answer.json["error"]


def test_a_book_without_takes_is_searched_too(tmp_path: Any) -> None:
    with studios.opened(studios.write(tmp_path)) as studio:
        assert len(ids(studio, state="missing")) == 7
        assert ids(studio, words="cold", state="missing") == ["1.6"]
