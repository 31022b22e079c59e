"""Projects that earlier releases made are read as they are.

`november` was made at commit 1421afb (2026-11-23): rendered with the draft voice, written on by a
stand-in for a language model, edited in the studio (one edit undone), reviewed, flagged, pinned,
and heard by a recogniser. The others were made by `tests.release_project`. The JSON files hold what
these programs reported; the tries of `november` were numbered from 0 then, and are from 1 here.
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
from tests import release_project, studios  # noqa: E402

GOLDEN = Path(__file__).parent / "golden" / "projects"

pytestmark = pytest.mark.skipif(
    version("espeakng-loader") != "0.2.4", reason="the takes are of another release of the voice"
)

Narrator = Callable[..., tuple[int, str, str]]


@pytest.fixture(params=sorted(path.stem for path in GOLDEN.glob("*.json")))
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def expected(release: str) -> Any:
    return json.loads((GOLDEN / f"{release}.json").read_text("utf-8"))


@pytest.fixture
def book(release: str, tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN / f"{release}.tar.xz") as archive:
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


def test_it_is_reported_as_then(book, expected):
    assert release_project.facts(book) == expected


def test_nothing_is_rendered_or_delivered_again(narrator, book, expected):
    before = contents(book)
    assert json.loads(narrator("plan", book, "--draft", "--json")[1])["todo"] == []
    code, shown, _ = narrator("render", book, "--draft")
    assert (code, shown.count("unchanged")) == (1 if "doubtful" in expected["reasons"] else 0, 2)
    assert contents(book) == before
    assert narrator("verify", book / "build")[0] == 0


def test_edits_can_be_undone_and_done_again(book, expected):
    with studios.opened(book, draft=True) as studio:
        shown = studio.page.get("/api/book").json
        assert (shown["undo"]["what"], shown["redo"]["what"]) == (
            expected["undo"],
            expected["redo"],
        )
        assert studio.page.post("/api/redo").json["what"] == expected["redo"]
        studio.look()
        for _ in range(2):
            assert studio.page.post("/api/undo").status == 200
            studio.look()
        manifest = (book / "book.yaml").read_text("utf-8")
    assert "Port Levven" not in manifest
    assert "A girl of sixteen" not in manifest


class Silent:
    """The language model of then, which may not be asked again."""

    name, identity, max_prompt_tokens, tokens_read = "stub", "stub-1", 32_000, 0

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def option_probabilities(self, shared: str, questions: Any, options: Any) -> Any:
        raise AssertionError(f"asked again: {questions}")


@pytest.mark.parametrize("release", ["november"], indirect=True)
def test_speakers_stay_as_a_person_and_a_model_chose(narrator, book, monkeypatch):
    monkeypatch.setattr(reader, "load", lambda model, tell: Silent())
    code, shown, _ = narrator("cast", book, "--json")
    assert code == 0
    decisions = {row["text"]: (row["speaker"], row["by"]) for row in json.loads(shown)["quotes"]}
    assert decisions["“I would rather stand.”"] == ("Tom Fenwick", "you")
    assert ("Mary", "stub") in decisions.values()


@pytest.mark.parametrize(
    ("release", "transcript"),
    [("november", "Old Tom Fenwick lit the lamp"), ("0.2.0", release_project.CLIP_TEXT)],
    indirect=["release"],
)
def test_a_preset_keeps_its_transcript(transcript, narrator, book):
    code, shown, _ = narrator("voices", "show", "keeper", "--project", book)
    assert code == 0
    assert transcript in " ".join(shown.split())


@pytest.mark.parametrize("release", ["0.2.0"], indirect=True)
def test_rights_in_a_voice_are_kept(narrator, book):
    code, shown, _ = narrator("voices", "rights", "keeper", "--project", book)
    assert code == 0
    assert "read by Old Tom for this book" in shown
