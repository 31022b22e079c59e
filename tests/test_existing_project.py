"""A project made by the program as it was at commit 1421afb (2026-11-23) is read as it is.

It was rendered with the draft voice, written on by a stand-in for a language model, edited in the
studio (one edit undone), reviewed, flagged, pinned, and heard by a recogniser. `november.json` is
what that program said of it.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

for package in ("starlette", "uvicorn", "espeakng_loader"):
    pytest.importorskip(package, reason="the extras `studio` and `draft` are not installed")

from narrator.engines import reader  # noqa: E402
from tests import studios  # noqa: E402

GOLDEN = Path(__file__).parent / "golden" / "projects"
EXPECTED = json.loads((GOLDEN / "november.json").read_text("utf-8"))

pytestmark = pytest.mark.skipif(
    version("espeakng-loader") != "0.2.4", reason="the takes are of another release of the voice"
)

Narrator = Callable[..., tuple[int, str, str]]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN / "november.tar.xz") as archive:
        # as the argument `filter`, which Python has from 3.11.4 on
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(tmp_path)
    return tmp_path / "book"


def contents(folder: Path) -> dict[str, bytes]:
    """Files that a person made or paid for, by path."""
    files = [*folder.glob("*.*"), *folder.glob("text/*"), *folder.glob("voices/*")]
    files += [*folder.glob("build/store/??/*"), *folder.glob("build/edits/book/*")]
    files += [*folder.glob("build/store/pins.json"), *folder.glob("build/reviewed-book.json")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.is_file()}


def test_nothing_is_rendered_or_delivered_again(narrator, book):
    before = contents(book)
    plan = json.loads(narrator("plan", book, "--draft", "--json")[1])
    assert (plan["reasons"], plan["todo"]) == (EXPECTED["reasons"], [])
    code, shown, _ = narrator("render", book, "--draft")
    assert (code, shown.count("unchanged")) == (1, 2)  # 1: doubtful takes
    assert contents(book) == before
    assert narrator("verify", book / "build")[0] == 0


def test_takes_pins_reviews_and_flags_are_there(book):
    with studios.opened(book, draft=True) as studio:
        chapters = [studio.chapter(1), studio.chapter(2)]
        chunks = [chunk for chapter in chapters for chunk in chapter["chunks"]]
        tries = {c["id"]: studio.page.get(f"/api/chunks/{c['id']}").json["tries"] for c in chunks}
    expected = EXPECTED["chunks"]
    assert [{name: chunk[name] for name in expected[0]} for chunk in chunks] == expected
    for number, rows in tries.items():
        kept = [{name: row[name] for name in EXPECTED["tries"][number][0]} for row in rows]
        # shown from 1 since then; the store counts from 0, as it did
        assert kept == [row | {"number": row["number"] + 1} for row in EXPECTED["tries"][number]]


def test_pickups_are_listed(narrator, book):
    expected = EXPECTED["pickups"]
    rows = json.loads(narrator("pickups", book, "--draft", "--json")[1])
    assert [{name: row[name] for name in expected[0]} for row in rows] == expected


def test_edits_can_be_undone_and_done_again(book):
    with studios.opened(book, draft=True) as studio:
        shown = studio.page.get("/api/book").json
        assert (shown["undo"]["what"], shown["redo"]["what"]) == (
            EXPECTED["undo"],
            EXPECTED["redo"],
        )
        assert studio.page.post("/api/redo").json["what"] == EXPECTED["redo"]
        studio.look()
        for _ in range(2):
            assert studio.page.post("/api/undo").status == 200
            studio.look()
        manifest = (book / "book.yaml").read_text("utf-8")
    assert "Port Levven" not in manifest
    assert "A girl of sixteen" not in manifest


class Silent:
    """A language model that was the one before, and may not be asked again."""

    name, identity, max_prompt_tokens, tokens_read = "stub", "stub-1", 32_000, 0

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def option_probabilities(self, shared: str, questions: Any, options: Any) -> Any:
        raise AssertionError(f"asked again: {questions}")


def test_who_speaks_stays_with_what_a_person_and_a_model_said(narrator, book, monkeypatch):
    monkeypatch.setattr(reader, "load", lambda model, tell: Silent())
    code, shown, _ = narrator("cast", book, "--json")
    assert code == 0
    decisions = {row["text"]: (row["speaker"], row["by"]) for row in json.loads(shown)["quotes"]}
    assert decisions["“I would rather stand.”"] == ("Tom Fenwick", "you")
    assert ("Mary", "stub") in decisions.values()


def test_a_preset_speaks_on(narrator, book):
    code, shown, _ = narrator("voices", "show", "keeper", "--project", book)
    assert code == 0
    assert "Old Tom Fenwick lit the lamp" in shown
