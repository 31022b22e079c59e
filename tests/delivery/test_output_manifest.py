"""A folder of finished files holds what is delivered, and nothing else that was made here."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrator import cli, files
from narrator.delivery import export, output_manifest, products
from narrator.delivery.companions import feed
from narrator.delivery.output_manifest import MadeFile, OutputManifest
from narrator.errors import StorageError
from narrator.pipeline import book_engines, manuscript
from narrator.project import load
from tests import books, faults
from tests.effort import quick
from tests.fakes import HumEngine

M4B = books.MANIFEST.replace("[wav], files: chapters", "m4b, companions: [vtt, chapters]")
"""The book as one file, with companions."""
BOOK = [f"A. Author - The Ferry{ending}" for ending in (".chapters.json", ".m4b", ".vtt")]
APART = "A. Author - The Ferry (m4b)/"


def lying(root: Path, where: str = "book") -> list[str]:
    """Files of a folder within build."""
    folder = root / "build" / where
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def empty(root: Path) -> list[Path]:
    """Folders with nothing in them."""
    found = (root / "build" / "book").rglob("*")
    return [path for path in found if path.is_dir() and not any(path.iterdir())]


Rendered = Callable[..., Path]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, tuple[str, ...]], Path]:
    """The folder of a book of a manifest whose chapters were rendered, once for all tests."""

    @functools.cache
    def folder(manifest: str, chapters: tuple[str, ...]) -> Path:
        path = books.brief(tmp_path_factory.mktemp("rendered"), manifest)
        books.run(path, HumEngine(), chapters=chapters)
        return path.parent

    return folder


@pytest.fixture
def rendered(kept: Callable[[str, tuple[str, ...]], Path], tmp_path: Path) -> Rendered:
    """A copy of it, in the folder of the test: its manifest."""

    def copy(manifest: str = books.MANIFEST, *chapters: str) -> Path:
        shutil.copytree(kept(manifest, chapters), tmp_path, dirs_exist_ok=True)
        return tmp_path / "book.yaml"

    return copy


def swapped(manifest: str) -> str:
    first = "  - {title: Morning, file: text/one.md}\n"
    return manifest.replace(first, "").replace("output:", f"{first}output:")


# -- a book as it changes --------------------------------------------------------------------------


def test_a_finished_render_leaves_no_chapters_of_an_incomplete_one(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered(M4B, "2")
    assert lying(tmp_path) == [f"{APART}02 - Evening.m4b", f"{APART}02 - Evening.vtt"]
    report, _ = books.run(path, HumEngine())
    assert lying(tmp_path) == BOOK
    assert empty(tmp_path) == []
    assert lying(tmp_path, "superseded/book") == [
        f"{APART}02 - Evening.m4b", f"{APART}02 - Evening.vtt",
    ]  # fmt: skip
    assert [old.name for old, _ in report.superseded] == ["02 - Evening.m4b", "02 - Evening.vtt"]
    facts = json.loads((tmp_path / "build" / "report.json").read_text("utf-8"))
    assert "superseded" in (facts.get("value") or facts)
    again, _ = books.run(path, HumEngine())
    assert again.superseded == ()  # it is listed once


def test_a_reordered_book_has_no_two_files_of_one_number(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered()
    books.brief(tmp_path, swapped(books.MANIFEST))
    books.run(path, HumEngine())
    names = [Path(name).name for name in lying(tmp_path)]
    assert names == ["01 - Evening.wav", "02 - Morning.wav"]
    books.brief(tmp_path, swapped(M4B))
    books.run(path, HumEngine())
    assert lying(tmp_path) == BOOK  # another format leaves nothing of the first


@pytest.mark.slow
def test_a_renamed_book_leaves_nothing_under_its_old_name(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered(M4B)
    books.brief(tmp_path, M4B.replace("The Ferry", "The Boat").replace("A. Author", "B. Author"))
    books.run(path, HumEngine())
    assert lying(tmp_path) == [name.replace("A. Author - The Ferry", "B. Author - The Boat")
                               for name in BOOK]  # fmt: skip
    assert lying(tmp_path, "superseded/book") == BOOK


@pytest.mark.slow
def test_another_profile_leaves_nothing_of_the_first(rendered: Rendered, tmp_path: Path) -> None:
    plain = books.MANIFEST.replace("formats: [wav], files: chapters", "profile: archive")
    path = rendered(plain)
    books.brief(tmp_path, plain.replace("archive", "audiobookshelf"))
    books.run(path, HumEngine())
    assert lying(tmp_path) == ["audiobookshelf/A. Author/The Ferry/The Ferry.m4b"]
    assert empty(tmp_path) == []


def test_an_incomplete_render_leaves_no_whole_book_beside_its_chapters(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered(M4B)
    books.brief(tmp_path, M4B, two=books.BRIEF_TWO.replace("aunts", "uncles"))
    report, _ = books.run(path, HumEngine(), chapters=["1"])
    assert report.finished is not None
    assert lying(tmp_path) == [f"{APART}01 - Morning.m4b", f"{APART}01 - Morning.vtt"]
    assert lying(tmp_path, "superseded/book") == BOOK


def test_a_chapter_alone_keeps_those_that_listeners_have_as_they_are_now(tmp_path: Path) -> None:
    three = M4B.replace("output:", "  - {title: Night, file: text/three.md}\noutput:")
    path = books.brief(tmp_path, three)
    (tmp_path / "text" / "three.md").write_text("It was late. Nobody came.\n")
    books.run(path, HumEngine(), chapters=["1"])
    books.run(path, HumEngine(), chapters=["2"])
    sounds = [name for name in lying(tmp_path) if name.endswith(".m4b")]
    assert sounds == [f"{APART}01 - Morning.m4b", f"{APART}02 - Evening.m4b"]
    books.brief(tmp_path, three.replace("title: Morning", "title: Dawn"),
                two=books.BRIEF_TWO.replace("aunts", "uncles"))  # fmt: skip
    (tmp_path / "text" / "three.md").write_text("It was late. Nobody came.\n")
    books.run(path, HumEngine(), chapters=["1"])
    sounds = [name for name in lying(tmp_path) if name.endswith(".m4b")]
    assert sounds == [f"{APART}01 - Dawn.m4b"]  # the other one is of a text that is no more


def test_a_draft_and_the_real_book_do_not_move_each_others_files(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered()
    real = lying(tmp_path)
    books.brief(tmp_path, books.MANIFEST.replace("The Ferry", "The Boat"))
    books.run(path, HumEngine("draft"))
    assert lying(tmp_path) == real
    assert len(lying(tmp_path, "draft")) == 2


@pytest.mark.slow
def test_two_manifests_of_a_folder_do_not_move_each_others_files(tmp_path: Path) -> None:
    path = books.brief(tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text(books.MANIFEST.replace("The Ferry", "The Boat"))
    for one in (path, other, path):
        report, _ = books.run(one, HumEngine())
        assert report.superseded == ()
    assert len(lying(tmp_path)) == len(lying(tmp_path, "book-other")) == 2


@pytest.mark.slow
def test_manifests_whose_names_differ_in_their_ending_alone_have_files_of_their_own(
    tmp_path: Path,
) -> None:
    other = books.brief(tmp_path).rename(tmp_path / "book.yml")
    assert manuscript.read_manuscript(other).project.stem == "book"  # it is alone
    path = books.brief(tmp_path)
    other.write_text(books.MANIFEST.replace("The Ferry", "The Boat"))
    for one in (path, other, path):
        report, _ = books.run(one, HumEngine())
        assert report.superseded == ()
    assert len(lying(tmp_path)) == len(lying(tmp_path, "book-book.yml")) == 2


def test_a_run_with_nothing_to_deliver_says_that_older_files_stay(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered()
    one, two = books.BRIEF_ONE.replace("seven", "six"), books.BRIEF_TWO.replace("lit", "out")
    books.brief(tmp_path, one=one, two=two)
    report, _ = books.run(path, HumEngine(), speakers=["ann"])
    assert report.finished is None
    assert [file.name for file in report.earlier] == ["01 - Morning.wav", "02 - Evening.wav"]
    assert len(lying(tmp_path)) == 2


def test_files_of_the_users_own_are_never_touched(rendered: Rendered, tmp_path: Path) -> None:
    path = rendered()
    folder = next((tmp_path / "build" / "book").iterdir())
    for name in ("cover.jpg", "03 - My own.wav", "notes.xml"):
        (folder / name).write_text("mine")
    books.brief(tmp_path, swapped(M4B))
    books.run(path, HumEngine())
    assert lying(tmp_path) == sorted(
        [*BOOK, *(f"{folder.name}/{n}" for n in ("cover.jpg", "03 - My own.wav", "notes.xml"))]
    )


def test_a_file_that_was_changed_by_hand_is_kept_when_it_is_made_anew(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered(M4B)
    book = tmp_path / "build" / "book" / BOOK[1]
    captions = book.with_suffix(".vtt")
    retagged = book.read_bytes() + b"tagged by another program"
    book.write_bytes(retagged)
    captions.write_text("WEBVTT corrected")
    report, _ = books.run(path, HumEngine())
    assert lying(tmp_path) == BOOK
    old = tmp_path / "build" / "superseded" / "book"
    assert (old / book.name).read_bytes() == retagged
    assert (old / captions.name).read_text() == "WEBVTT corrected"
    assert len(report.superseded) == 2
    book.write_bytes(b"again")
    books.run(path, HumEngine())
    assert (old / f"{book.stem} (2).m4b").read_bytes() == b"again"  # nothing is overwritten
    assert (old / book.name).read_bytes() == retagged


def test_a_feed_goes_with_the_files_that_it_names(
    rendered: Rendered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_engines, "make_main_engine", lambda *_, **__: HumEngine())
    path = rendered()
    folder = tmp_path / "build" / "book"
    result = CliRunner().invoke(
        cli.app,
        ["feed", str(folder), "--base-url", "https://x.org/a b/", "--description", "D",
         "--chapters", "--language", "en"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert feed.referenced_files(folder / "feed.xml") == set(folder.rglob("*.wav"))
    books.run(path, HumEngine())
    assert (folder / "feed.xml").exists()
    books.brief(tmp_path, books.MANIFEST.replace("[wav]", "[flac]"))
    books.run(path, HumEngine())
    assert "feed.xml" not in lying(tmp_path)
    assert "feed.xml" in lying(tmp_path, "superseded/book")


def test_a_failed_file_leaves_no_older_one_in_its_place(
    rendered: Rendered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rendered()
    monkeypatch.setattr(
        export, "_length_fault", lambda chapter, way: "too long" if chapter.number == 1 else ""
    )
    report, _ = books.run(path, HumEngine())
    assert report.finished is not None
    assert report.finished.failures
    assert [Path(name).name[:2] for name in lying(tmp_path)] == ["02"]


# -- kills, odd disks ------------------------------------------------------------------------------


@pytest.mark.parametrize("after", quick([0, 1, 2], 1))
def test_a_run_that_ends_between_moves_is_finished_by_the_next(
    rendered: Rendered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    path = rendered(M4B, "2")
    moved: list[Path] = []
    move = Path.rename

    def rename(self: Path, goal: Path) -> Path:
        if len(moved) == after:
            raise OSError("pulled")
        moved.append(self)
        return move(self, goal)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        if after < 2:
            with pytest.raises(StorageError, match="pulled"):
                books.run(path, HumEngine())
    named = output_manifest.read_ledger(tmp_path / "build" / "made.json")
    assert all(f"book/{name}" in named for name in lying(tmp_path))
    books.run(path, HumEngine())
    assert lying(tmp_path) == BOOK
    assert len(lying(tmp_path, "superseded/book")) == 2


def test_a_run_that_ends_before_it_noted_its_files_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = books.brief(tmp_path, M4B)

    def settle(*arguments: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(products, "settle", settle)
        with pytest.raises(OSError, match="killed"):
            books.run(path, HumEngine())
    books.brief(tmp_path, M4B.replace("The Ferry", "The Boat"))
    books.run(path, HumEngine())
    assert not [name for name in lying(tmp_path) if "Ferry" in name]
    assert len(lying(tmp_path, "superseded/book")) == 3


def of(tmp_path: Path) -> OutputManifest:
    build = tmp_path / "build"
    (build / "book").mkdir(parents=True, exist_ok=True)
    return OutputManifest(build, build / "book", build / "made.json")


def test_a_name_that_differs_in_case_alone_is_one_file_on_some_disks(tmp_path: Path) -> None:
    one = of(tmp_path)
    old, new = one.folder / "Dawn.mp3", one.folder / "dawn.mp3"
    old.write_bytes(b"sound")
    one.settle({old: MadeFile((0,), "state", {"sha256": "x"})})
    os.link(old, new)  # as such a disk shows it
    one.settle({new: MadeFile((0,), "state", {"sha256": "x"})})
    assert new.exists()
    assert one.moved == []


@pytest.mark.parametrize("name", ["../mine.txt", "../../mine.txt", "book/../../mine.txt", "a\0b"])
def test_a_list_that_names_files_elsewhere_moves_none(tmp_path: Path, name: str) -> None:
    one = of(tmp_path)
    for place in (tmp_path, one.build):
        (place / "mine.txt").write_text("mine")
    files.save_json(one.ledger, {name: [[], "state", {}]})
    again = of(tmp_path)
    again.settle({})
    assert again.moved == []


@pytest.mark.parametrize("rows", ['{"book/x": 3}', '{"book/x": [[Infinity], "", {}]}', "[1]", "{"])
def test_a_list_that_is_torn_moves_nothing(tmp_path: Path, rows: str) -> None:
    one = of(tmp_path)
    (one.folder / "x").write_text("mine")
    one.ledger.write_text(rows)
    again = of(tmp_path)
    again.settle({})
    assert (one.folder / "x").exists()


@pytest.mark.slow
def test_finished_files_may_lie_on_another_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    path = books.brief(tmp_path, M4B)
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "book").symlink_to(disk)
    books.run(path, HumEngine(), chapters=["2"])

    def rename(self: Path, goal: Path) -> Path:
        raise OSError(errno.EXDEV, "Cross-device link")

    monkeypatch.setattr(Path, "rename", rename)
    books.run(path, HumEngine())
    assert sorted(p.name for p in disk.rglob("*") if p.is_file()) == BOOK
    old = tmp_path / "build" / "superseded" / "book" / APART
    assert sorted(p.name for p in old.iterdir()) == ["02 - Evening.m4b", "02 - Evening.vtt"]


# -- gc --------------------------------------------------------------------------------------------


def gc(path: Path, *arguments: str) -> str:
    return CliRunner().invoke(cli.app, ["gc", str(path), *arguments]).output


def test_superseded_files_are_emptied_by_gc_alone(tmp_path: Path) -> None:
    path = books.brief(tmp_path, M4B.replace("title:", "engine: draft\ntitle:", 1))
    superseded = tmp_path / "build" / "superseded"
    (superseded / "book" / "x").mkdir(parents=True)
    (superseded / "book" / "x" / "01.m4b").write_bytes(bytes(2000))
    assert "book/x/01.m4b  2 kB" in gc(path)
    assert "1 superseded file, 2 kB; --delete removes them" in gc(path)
    assert "deleted 1 superseded file, 2 kB" in gc(path, "--delete")
    assert not superseded.exists()
    assert "superseded" not in gc(path)


@pytest.mark.parametrize("kind", ["altered file", "link"])
def test_an_altered_companion_that_is_made_again_is_said_to_be(
    rendered: Rendered, tmp_path: Path, kind: str
) -> None:
    path = rendered(M4B)
    captions = (tmp_path / "build" / "book" / BOOK[1]).with_suffix(".vtt")
    if kind == "link":
        captions.unlink()
        captions.symlink_to(captions.with_suffix(".m4b").name)
    else:
        captions.write_text("WEBVTT corrected")
    code, said = faults.command(HumEngine(), "render", path)
    assert code == 0, said
    assert f"{captions.name}  is made again: the {kind} was moved to" in said
    assert "delivered no more" not in said


def test_a_feed_is_of_the_inventory_and_outlives_a_render(
    rendered: Rendered, tmp_path: Path
) -> None:
    path = rendered(M4B)
    project = load.load(path)
    feed_path = tmp_path / "build" / "book" / "feed.xml"
    feed_path.write_text("<rss/>")
    products.record_feed(project, feed_path)
    report, _ = books.run(path, HumEngine())
    assert report.superseded == ()
    assert output_manifest.read_ledger(tmp_path / "build" / "made.json")["book/feed.xml"].is_feed
    feed_path.write_text("<rss> </rss>")
    assert products.list_faulty_files(report.plan) == [
        (feed_path, "altered since it was made; `narrator feed` makes it again")
    ]
