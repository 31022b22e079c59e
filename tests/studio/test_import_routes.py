"""From a manuscript to a project on the start page: what is shown, corrected, refused, left."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from manuscripts import Book, Choices, ImportFailed, ImportStopped
from manuscripts.isolated import read_isolated
from narrator import importing
from narrator.importing import import_book, import_isolated, parts_of, select_parts
from narrator.studio import import_routes, uploads
from tests import studios
from tests.build_docx import build_docx, p
from tests.build_epub import PNG, build_epub
from tests.serve.test_speech import until
from tests.studios import Answer, OpenedLibrary

HEADING = '<w:pStyle w:val="Heading1"/>'
STYLES = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
CORE = "<dc:title>The Sea Door</dc:title><dc:creator>Jane Roe</dc:creator>"
TEXT = "She walked down to the sea, and the door was open, as it always is in the morning. "


def novel(folder: Path) -> Path:
    """A Word document of three chapters, and a copyright page."""
    chapters = "".join(
        p(title, HEADING) + p(TEXT * 5) for title in ("The Sea", "The Door", "The Morning")
    )
    first = p("Copyright © 2020 by Jane Roe. All rights reserved. ISBN 978-3-16-148410-0")
    return build_docx(
        folder / "novel.docx", p("Copyright", HEADING) + first + chapters, STYLES, CORE
    )


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[OpenedLibrary]:
    folder = tmp_path / "shelf"
    folder.mkdir()
    with studios.opened_library(folder) as opened:
        yield opened
    assert not any(uploads.root().iterdir())


@pytest.fixture(autouse=True)
def reads_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saves a second a manuscript; `test_isolated.py` is about the other process."""

    def read_here(path: Path, choices: Choices, is_stopped: Callable[[], bool]) -> Book:
        return import_book(path, choices)

    monkeypatch.setattr(uploads, "import_isolated", read_here)


def send(shelf: OpenedLibrary, data: bytes, name: str = "novel.docx", **headers: str) -> Answer:
    own = {"origin": f"http://{shelf.page.host}", **headers}
    return shelf.page.ask("POST", f"/api/manuscripts?name={name}", data, **own)


def read(shelf: OpenedLibrary, data: bytes, name: str = "novel.docx") -> Any:
    """What is shown of a manuscript once it was read or refused."""
    answer = send(shelf, data, name)
    assert answer.status == 200, answer
    return settled(shelf, answer.json["id"])


def settled(shelf: OpenedLibrary, id: str) -> Any:
    def is_settled() -> bool:
        return shelf.page.get(f"/api/manuscripts/{id}").json["state"] != "reading"

    until(is_settled)
    return shelf.page.get(f"/api/manuscripts/{id}").json


def make(shelf: OpenedLibrary, shown: Any, **changes: object) -> Answer:
    """Presses the button below what is shown, after some corrections."""
    book = shown["book"]
    fields = {
        "title": book["title"],
        "authors": book["authors"],
        "cover": book["has_cover"],
        "parts": [n for n, part in enumerate(book["parts"]) if part["is_read"]],
    }
    return shelf.page.post(f"/api/manuscripts/{shown['id']}/project", fields | changes)


def folders(shelf: OpenedLibrary) -> list[str]:
    return sorted(path.name for path in shelf.library.folder.iterdir())


# -- what is shown, and made -----------------------------------------------------------------------


def test_a_manuscript_is_shown_as_new_reads_it(
    shelf: OpenedLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "import_isolated", import_isolated)
    shown = read(shelf, novel(tmp_path).read_bytes(), "My%20novel.docx")
    book = shown["book"]
    assert shown["name"] == "My novel.docx"
    assert (book["title"], book["authors"], book["language"]) == (
        "The Sea Door",
        ["Jane Roe"],
        "en",
    )
    kept = [part["title"] for part in book["parts"] if part["is_read"]]
    assert kept == ["The Sea", "The Door", "The Morning"]
    assert all(part["seconds"] > 10 for part in book["parts"] if part["is_read"])
    (left_out,) = (part for part in book["parts"] if not part["is_read"])
    assert "Copyright" in left_out["begin"]
    assert left_out["reason"]
    assert not any("--" in remark for remark in book["remarks"])
    assert folders(shelf) == []


def test_a_part_begins_with_words_without_marks(shelf: OpenedLibrary) -> None:
    text = "# One\n\nBy **P. G. Wodehouse**.\n\n> To *you*\n\nIt rained."
    (part,) = read(shelf, text.encode(), "book.md")["book"]["parts"]
    assert part["begin"] == "By P. G. Wodehouse. To you It rained."


def test_a_project_is_made_with_corrections(shelf: OpenedLibrary, tmp_path: Path) -> None:
    shown = read(shelf, novel(tmp_path).read_bytes())
    places = {part["title"]: n for n, part in enumerate(shown["book"]["parts"])}
    parts = [places["Copyright"], places["The Sea"], places["The Morning"]]
    answer = make(shelf, shown, title="Sea  Door", authors=["A. Roe", "B. Roe"], parts=parts)
    assert answer.status == 200, answer
    project = shelf.library.folder / "sea-door"
    manifest = (project / "book.yaml").read_text("utf-8")
    assert "title: Sea Door" in manifest
    assert "- A. Roe\n- B. Roe" in manifest
    assert "\n  - title: Copyright" in manifest
    assert "\n  # - title: The Door" in manifest
    assert "novel.docx" in manifest
    assert TEXT.strip() in (project / "text/left-out/01-the-door.md").read_text("utf-8")
    (row,) = shelf.page.get("/api/projects").json["projects"]
    assert (row["id"], row["title"]) == (answer.json["id"], "Sea Door")
    assert shelf.page.get(f"/api/manuscripts/{shown['id']}").status == 404


def test_a_project_that_exists_is_not_overwritten(shelf: OpenedLibrary, tmp_path: Path) -> None:
    data = novel(tmp_path).read_bytes()
    for _ in range(2):
        assert make(shelf, read(shelf, data)).status == 200
    (shelf.library.folder / "the-sea-door-3").touch()
    assert make(shelf, read(shelf, data)).status == 200
    assert folders(shelf) == [
        "the-sea-door", "the-sea-door-2", "the-sea-door-3", "the-sea-door-4"
    ]  # fmt: skip


def test_another_language_and_headings_are_read_again(shelf: OpenedLibrary, tmp_path: Path) -> None:
    rows = [word for name in ("One", "Two") for word in (f"Kapitel {name}", TEXT * 5)]
    shown = read(shelf, "\n\n".join(rows).encode(), "walks.txt")
    assert (shown["book"]["title"], shown["book"]["language"]) == ("walks", "en")
    choices = {"language": "de-AT", "heading": "She walked"}
    assert shelf.page.post(f"/api/manuscripts/{shown['id']}/read", choices).status == 200
    again = settled(shelf, shown["id"])["book"]
    assert again["language"] == "de-AT"
    assert [part["title"] for part in again["parts"]] != ["Kapitel One", "Kapitel Two"]
    for choices in ({"language": "Quatsch!"}, {"notes": "perhaps"}, {"reading": "aloud"}):
        answer = shelf.page.post(f"/api/manuscripts/{shown['id']}/read", choices)
        assert answer.status == 400, choices


def test_a_cover_is_shown_and_another_taken(shelf: OpenedLibrary, tmp_path: Path) -> None:
    shown = read(shelf, novel(tmp_path).read_bytes())
    path = f"/api/manuscripts/{shown['id']}/cover"
    assert not shown["book"]["has_cover"]
    assert shelf.page.get(path).status == 404
    assert shelf.page.put(path, b"<svg/>").status == 422
    assert shelf.page.put(path, PNG).status == 200
    assert shelf.page.get(path).data == PNG
    make(shelf, shown, cover=True)
    assert (shelf.library.folder / "the-sea-door" / "cover.png").read_bytes() == PNG


@pytest.mark.parametrize(
    "changes",
    [{"parts": []}, {"parts": ["1"]}, {"parts": [99]}, {"title": " \u200b"}, {"title": 7},
     {"authors": "x"}, {"cover": "yes"}],
)  # fmt: skip
def test_a_project_is_not_made_of_nonsense(
    shelf: OpenedLibrary, tmp_path: Path, changes: dict[str, object]
) -> None:
    shown = read(shelf, novel(tmp_path).read_bytes())
    answer = make(shelf, shown, **changes)
    assert answer.status == 400
    assert len(answer.json["error"].splitlines()) == 1
    assert folders(shelf) == []


def test_parts_are_chosen_and_no_word_is_lost(tmp_path: Path) -> None:
    book = import_book(novel(tmp_path))
    parts = parts_of(book)
    for numbers in ({0, 2}, {1}, {0, 1, 2, 3}):
        chosen = select_parts(book, numbers)
        assert len(chosen.chapters) == len(numbers)
        assert chosen.words == book.words
        assert [part.title for part in parts_of(chosen)] == [part.title for part in parts]


# -- what is refused -------------------------------------------------------------------------------


def bomb(folder: Path) -> bytes:
    files = {"two.xhtml": b" " * 5_000_000}
    return build_epub(folder / "bomb.epub", {"one.xhtml": "<p>One.</p>"}, files=files).read_bytes()


def climbing(folder: Path) -> bytes:
    files = {"../../../evil.xhtml": b"x"}
    return build_epub(folder / "up.epub", {"one.xhtml": "<p>One.</p>"}, files=files).read_bytes()


@pytest.mark.parametrize(
    ("make_data", "name", "reason"),
    [
        (bomb, "bomb.epub", "zip bomb"),
        (climbing, "up.epub", "unsafe"),
        (lambda folder: PNG, "picture.docx", "is a picture"),
        (lambda folder: b"\x7fELF" + bytes(99), "novel.txt", "is a program"),
        (lambda folder: b"\\documentclass{book}\nHello\n", "novel.tex", "LaTeX"),
        (lambda folder: b"", "novel.txt", "0 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_manuscript_is_refused_in_a_line(
    shelf: OpenedLibrary, tmp_path: Path, make_data: Callable[[Path], bytes], name: str, reason: str
) -> None:
    shown = read(shelf, make_data(tmp_path), name)
    assert shown["state"] == "refused"
    assert reason in shown["error"]
    assert shown["error"].startswith(f"{name}: ")
    assert len(shown["error"].splitlines()) == 1
    assert make(shelf, {"id": shown["id"], "book": {"title": "", "authors": [], "has_cover": False,
                                                    "parts": []}}).status == 400  # fmt: skip
    assert shelf.page.ask(
        "DELETE", f"/api/manuscripts/{shown['id']}", origin=f"http://{shelf.page.host}"
    ).status == 200  # fmt: skip
    assert folders(shelf) == []


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2fetc%2fpasswd.txt", "%00.txt", "a%0ab.txt", "..", "%5c%5chost%5cshare.txt",
     "x" * 3000, "%e2%80%ae%3cscript%3e.txt", ""],
)  # fmt: skip
def test_a_file_name_is_text_and_no_path(shelf: OpenedLibrary, name: str) -> None:
    shown = read(shelf, (TEXT * 9).encode(), name)
    assert shown["state"] == "ready", shown
    for character in "/\\\0\n\u202e":
        assert character not in shown["name"]
    assert len(shown["name"]) < 130
    (stored,) = (path for path in uploads.root().rglob("*") if path.is_file())
    assert stored.stem == shown["id"]
    assert make(shelf, shown).status == 200
    (project,) = shelf.library.folder.iterdir()
    assert project.name.replace("-", "").isalnum()


def test_a_manuscript_that_is_too_large_is_refused_at_once(
    shelf: OpenedLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_routes, "MAX_UPLOAD_BYTES", 1000)
    for data in (bytes(1001), iter([bytes(600), bytes(600)])):  # said, and found out
        answer = send(shelf, data, "novel.txt")  # type: ignore[arg-type]
        assert answer.status == 413
        assert answer.json["error"] == "novel.txt is larger than 1 kB"
    assert not list(uploads.root().rglob("*.txt"))


def test_a_client_that_goes_away_leaves_nothing(shelf: OpenedLibrary) -> None:
    head = (
        f"POST /api/manuscripts?name=a.txt HTTP/1.1\r\nHost: {shelf.page.host}\r\n"
        f"Origin: http://{shelf.page.host}\r\nCookie: {shelf.page.headers['cookie']}\r\n"
        "Content-Length: 1000\r\n\r\nShe walked"
    )
    with socket.create_connection(("127.0.0.1", shelf.page.port)) as wire:
        wire.sendall(head.encode())
        until(lambda: list(uploads.root().rglob("*.txt")))
    until(lambda: not list(uploads.root().rglob("*.txt")))


def test_a_manuscript_is_kept_for_a_day(
    shelf: OpenedLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = read(shelf, TEXT.encode(), "a.txt")["id"]
    shelf.library.refresh()
    assert shelf.page.get(f"/api/manuscripts/{id}").status == 200
    monkeypatch.setattr(uploads, "MAX_AGE_S", 0.0)
    shelf.library.refresh()
    assert shelf.page.get(f"/api/manuscripts/{id}").status == 404
    assert not list(uploads.root().rglob("*.txt"))


def test_only_the_page_may_send_one(shelf: OpenedLibrary) -> None:
    assert send(shelf, b"x", origin="http://elsewhere.example").status == 403
    shelf.page.headers.clear()
    assert send(shelf, b"x").status == 401


# -- what ends early -------------------------------------------------------------------------------


def test_reading_is_stopped(shelf: OpenedLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    reading: list[Path] = []

    def wait_for_a_stop(path: Path, choices: object, is_stopped: Callable[[], bool]) -> None:
        reading.append(path)
        until(is_stopped)
        raise ImportStopped("stopped")

    monkeypatch.setattr(uploads, "import_isolated", wait_for_a_stop)
    id = send(shelf, b"x", "novel.txt").json["id"]
    until(lambda: bool(reading))
    assert shelf.page.get(f"/api/manuscripts/{id}").json["state"] == "reading"
    address = f"/api/manuscripts/{id}"
    assert shelf.page.ask("DELETE", address, origin=f"http://{shelf.page.host}").status == 200
    assert shelf.page.get(address).status == 404
    assert not reading[0].exists()


def test_the_reader_process_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text(TEXT)
    with pytest.raises(ImportStopped):
        read_isolated(path, is_stopped=lambda: True)


def test_a_full_disk_is_said(shelf: OpenedLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    async def save_to_a_full_disk(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(import_routes.bodies, "save_body", save_to_a_full_disk)
    answer = send(shelf, b"x", "novel.txt")
    message = f"novel.txt was not kept: the disk is full ({uploads.root()})"
    assert (answer.status, answer.json) == (503, {"error": message})
    (folder,) = uploads.root().iterdir()
    assert not any(folder.iterdir())


def test_only_the_latest_manuscripts_are_kept(shelf: OpenedLibrary) -> None:
    ids = [read(shelf, TEXT.encode(), "a.txt")["id"] for _ in range(uploads.MAX_UPLOADS + 1)]
    states = [shelf.page.get(f"/api/manuscripts/{id}").status for id in ids]
    assert states == [404, *[200] * uploads.MAX_UPLOADS]


def test_only_the_latest_are_kept_of_many_at_once() -> None:
    kept = uploads.Uploads()
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(kept.add, ["a.txt"] * 64))
    (folder,) = uploads.root().iterdir()
    assert len(list(folder.iterdir())) == uploads.MAX_UPLOADS
    kept.close()


def test_uploads_of_a_studio_whose_number_another_program_has_are_removed_after_a_day() -> None:
    kept = uploads.Uploads()
    folders = [uploads.root() / f"{os.getppid()}-{hours:08x}" for hours in (2, 26)]
    for folder, hours in zip(folders, (2, 26), strict=True):
        folder.mkdir(parents=True)
        os.utime(folder, (0, time.time() - hours * 3600))
    kept.add("novel.txt")
    assert [folder.exists() for folder in folders] == [True, False]
    kept.close()


def test_what_is_read_is_searched_for_faults_by_the_reader_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never ends for some texts, and no other thread of the studio would run meanwhile."""
    monkeypatch.setattr(importing, "proofread", None)
    path = tmp_path / "novel.md"
    path.write_text("# One\n\nHello {a|b}.\n")
    book = import_isolated(path)
    assert "Hello \\{a|b}." in book.chapters[0].markdown
    path.write_text("***\n")
    with pytest.raises(ImportFailed, match="no text to read aloud"):
        import_isolated(path)


KILLED = """\
import sys, time
from pathlib import Path
from manuscripts import Choices
from narrator import importing
from narrator.importing import project
from narrator.studio.uploads import Uploads
kept = Uploads()
upload = kept.add("novel.txt")
upload.path.write_text("She walked down to the sea. " * 9)
book = importing.import_book(upload.path)
project.os.fsync = lambda file: (print("now", flush=True), time.sleep(60))
importing.write_project(book, Path(sys.argv[1]) / "novel")
"""


def test_an_import_that_is_killed_leaves_nothing_half_made(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        assert list(uploads.root().rglob("*.txt"))
        os.kill(process.pid, signal.SIGKILL)
    assert not (tmp_path / "novel").exists()
    with studios.opened_library(tmp_path) as shelf:
        assert list(tmp_path.iterdir()) == []
        assert not list(uploads.root().rglob("*.txt"))
        assert shelf.page.get("/api/projects").json["projects"] == []
