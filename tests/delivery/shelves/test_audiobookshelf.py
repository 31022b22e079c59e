"""A book in a library of Audiobookshelf: once there, replaced, and mended after a kill."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from narrator.delivery.shelves import audiobookshelf
from tests import audiobookshelves
from tests.shelves import MANIFEST

ROOT = Path(__file__).parents[3]
FOLDER = "A. Author/Ferries/The Ferry"
M4B, EPUB = "A. Author - The Ferry.m4b", "A. Author - The Ferry.epub"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv(audiobookshelf.TOKEN_VARIABLE, audiobookshelves.TOKEN)
    monkeypatch.setattr(audiobookshelf, "POLL_S", 0.0)
    with audiobookshelves.serving() as server:
        yield server


@pytest.fixture
def deliver(narrator, finished, server):
    def run(*options):
        return narrator("deliver", finished, "--draft", "--to", server.url, *options)

    return run


def test_a_book_is_an_item_with_its_facts(deliver, server):
    code, said, _ = deliver()
    assert code == 0
    assert said.splitlines()[-2:] == [
        f"{server.url} {FOLDER}: 2 files sent",
        "updated on the server: title, authors, narrators, series, language, chapters",
    ]
    (item,) = server.items.values()
    assert item["relPath"] == FOLDER
    assert {*server.folders[FOLDER]} == {M4B, EPUB}
    assert item["media"]["metadata"] == {
        "title": "The Ferry",
        "authors": [{"id": "author-A. Author", "name": "A. Author"}],
        "narrators": ["draft voice"],
        "series": [{"name": "Ferries", "sequence": "2"}],
        "language": "en",
    }
    chapters = item["media"]["chapters"]
    assert [chapter["title"] for chapter in chapters] == ["Morning", "Evening"]
    assert chapters[0]["start"] == 0 < chapters[0]["end"] == chapters[1]["start"]


def test_twice_delivered_is_once_there(deliver, server):
    deliver()
    server.requests.clear()
    code, said, _ = deliver()
    assert code == 0
    assert "0 files sent, 2 files unchanged" in said
    assert len(server.items) == 1
    assert {line.split()[0] for line in server.requests} == {"GET"}


def test_a_new_title_stays_the_same_item_in_its_folder(deliver, server, narrator, finished):
    deliver()
    server.scans_ignored = 2
    finished.write_text(MANIFEST.replace("The Ferry", "The Rope"))
    narrator("export", finished, "--draft")
    assert deliver()[0] == 0
    (item,) = server.items.values()
    assert item["media"]["metadata"]["title"] == "The Rope"
    assert {*server.folders} == {FOLDER}
    assert {*server.folders[FOLDER]} == {
        M4B.replace("Ferry", "Rope"),
        EPUB.replace("Ferry", "Rope"),
    }


@pytest.fixture
def export(narrator, finished):
    """Makes the files of another manifest."""

    def run(manifest):
        finished.write_text(manifest)
        assert narrator("export", finished, "--draft")[0] == 0

    return run


def test_a_book_that_was_moved_to_another_folder_of_the_library_is_replaced_there(
    deliver, server, export
):
    deliver()
    (item,) = server.items.values()
    item["folderId"], item["relPath"] = "fol-2", "Shared/The Ferry"
    server.folders = {"fol-2/Shared/The Ferry": server.folders[FOLDER]}
    export(MANIFEST.replace("The Ferry", "The Rope"))
    assert deliver()[0] == 0
    assert {*server.folders} == {"fol-2/Shared/The Ferry"}
    assert {*server.folders["fol-2/Shared/The Ferry"]} == {
        M4B.replace("Ferry", "Rope"),
        EPUB.replace("Ferry", "Rope"),
    }
    assert len(server.items) == 1


def test_a_book_that_was_moved_to_another_disk_is_met_again(deliver, server, export):
    deliver()
    server.folders = {f"fol-2/{FOLDER}": server.folders[FOLDER]}
    server.scan()  # takes it for another book
    assert len(server.items) == 2
    export(MANIFEST.replace("The Ferry", "The Rope"))
    assert deliver()[0] == 0
    assert {*server.folders} == {f"fol-2/{FOLDER}"}
    assert server.items["item-4"]["media"]["metadata"]["title"] == "The Rope"
    assert "0 files sent" in deliver()[1]


def test_a_project_that_was_copied_for_another_book_is_an_item_of_its_own(
    deliver, server, narrator, finished, tmp_path_factory
):
    deliver()
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(finished.parent, copy, dirs_exist_ok=True)
    (copy / "book.yaml").write_text(MANIFEST.replace("The Ferry", "The Rope"))
    narrator("export", copy, "--draft")
    assert narrator("deliver", copy, "--draft", "--to", server.url)[0] == 0
    assert {*server.folders} == {FOLDER, FOLDER.replace("Ferry", "Rope")}
    assert {*server.folders[FOLDER]} == {M4B, EPUB}


def test_what_was_edited_there_stays(deliver, server, export):
    deliver()
    (item,) = server.items.values()
    metadata = item["media"]["metadata"]
    metadata |= {"title": "My Ferry", "narrators": ["Me"], "publisher": "Mine"}
    deliver()
    assert metadata["title"] == "My Ferry"
    export(MANIFEST.replace("The Ferry", "The Rope").replace("A. Author", "B. Author"))
    _, said, log = deliver()
    assert "updated on the server: authors\n" in said
    assert "not updated, since edited on the server: title (--replace overwrites this)" in log
    assert (metadata["title"], metadata["narrators"]) == ("My Ferry", ["Me"])
    assert "updated on the server: title, narrators" in deliver("--replace")[1]
    assert (metadata["title"], metadata["narrators"]) == ("The Rope", ["draft voice"])


def test_what_was_removed_here_is_removed_there(deliver, server, export):
    export(MANIFEST + "publisher: Quay\nsubtitle: A Crossing\n")
    deliver()
    (item,) = server.items.values()
    metadata = item["media"]["metadata"]
    metadata |= {"subtitle": "Mine", "isbn": "123"}
    export(MANIFEST.replace("series: {name: Ferries, part: 2}\n", ""))
    _, said, log = deliver()
    assert "updated on the server: series, publisher" in said
    assert "not updated, since edited on the server: subtitle" in log
    assert (metadata["series"], metadata["publisher"]) == ([], "")
    assert (metadata["subtitle"], metadata["isbn"]) == ("Mine", "123")
    deliver("--replace")
    assert (metadata["subtitle"], metadata["isbn"]) == ("", "123")


def test_chapters_that_were_edited_there_stay_unless_they_are_replaced(deliver, server, export):
    deliver()
    (item,) = server.items.values()
    item["media"]["chapters"][0]["title"] = "Dawn"
    export(MANIFEST + "publisher: Quay\n")
    _, said, log = deliver()
    assert "2 files sent" in said
    assert "chapters" not in said + log
    export(MANIFEST.replace("Evening", "Night"))
    assert "not updated, since edited on the server: chapters" in deliver()[2]
    assert [row["title"] for row in item["media"]["chapters"]] == ["Dawn", "Evening"]
    deliver("--replace")
    assert [row["title"] for row in item["media"]["chapters"]] == ["Morning", "Night"]


def test_chapters_that_a_scan_has_changed_are_set_again(deliver, server, export):
    deliver()
    (item,) = server.items.values()
    export(MANIFEST + "publisher: Quay\n")
    server.scanned_chapters = [{"id": 0, "title": "Track 1", "start": 0, "end": 1}]
    assert "updated on the server: publisher, chapters" in deliver()[1]
    assert [row["title"] for row in item["media"]["chapters"]] == ["Morning", "Evening"]


def test_a_cover_is_sent_once_for_each_picture(deliver, server, narrator, finished):
    picture = finished.parent / "cover.png"
    shutil.copy(ROOT / "projects/small-machines/cover.png", picture)
    finished.write_text(f"{MANIFEST}cover: cover.png\n")
    narrator("export", finished, "--draft")
    assert "chapters, cover\n" in deliver()[1]
    (sent,) = server.covers.values()
    assert sent == picture.read_bytes()
    assert "updated" not in deliver()[1]


def test_a_cover_that_was_changed_there_stays(deliver, server, export, finished):
    shutil.copy(ROOT / "projects/small-machines/cover.png", finished.parent / "cover.png")
    export(f"{MANIFEST}cover: cover.png\n")
    deliver()
    (id,) = server.items
    server.covers[id] = b"a better picture"
    export(MANIFEST)
    assert "not updated, since edited on the server: cover" in deliver()[2]
    assert server.covers[id] == b"a better picture"
    deliver("--replace")
    assert not server.covers


def test_a_cover_that_was_removed_here_is_removed_there(deliver, server, export, finished):
    shutil.copy(ROOT / "projects/small-machines/cover.png", finished.parent / "cover.png")
    export(f"{MANIFEST}cover: cover.png\n")
    deliver()
    assert server.covers
    export(MANIFEST)
    assert "updated on the server: cover" in deliver()[1]
    assert not server.covers


@pytest.mark.parametrize("uploads", [0, 1])
def test_a_delivery_that_was_cut_off_goes_on(deliver, server, uploads):
    server.uploads_left = uploads
    code, _, log = deliver()
    assert code == 3
    assert "run the same command again to continue" in log
    server.uploads_left = 1000
    code, said, _ = deliver()
    assert code == 0
    assert f"{2 - uploads} file{'s' if not uploads else ''} sent" in said
    (item,) = server.items.values()
    assert {file["metadata"]["filename"] for file in item["libraryFiles"]} == {M4B, EPUB}


def test_uploads_that_nobody_scanned_are_scanned_by_the_next_run(deliver, server, monkeypatch):
    server.scans_ignored = 1000
    monkeypatch.setattr(audiobookshelf, "SCAN_S", 0.05)
    code, _, log = deliver()
    assert code == 3
    assert "does not show it; see the server's log, then run the same command again" in log
    assert not server.items
    server.scans_ignored = 0
    monkeypatch.setattr(audiobookshelf, "SCAN_S", 60)
    assert deliver()[0] == 0
    assert len(server.items) == 1


def test_chapters_wait_until_the_sound_is_read(deliver, server, monkeypatch):
    monkeypatch.setattr(audiobookshelf, "_RESCAN_POLLS", 1)
    server.unread = [M4B]
    assert deliver()[0] == 0
    (item,) = server.items.values()
    assert [row["title"] for row in item["media"]["chapters"]] == ["Morning", "Evening"]


def test_an_item_that_is_back_while_it_is_looked_for_is_the_same(deliver, server, monkeypatch):
    deliver()
    (item,) = server.items.values()
    item["media"]["metadata"]["title"] = "Mine"
    item["isMissing"] = True
    list_items = audiobookshelf.AudiobookshelfShelf._list_items

    def scan_and_list(shelf, folder):
        server.scan()
        return list_items(shelf, folder)

    monkeypatch.setattr(audiobookshelf.AudiobookshelfShelf, "_list_items", scan_and_list)
    assert deliver()[0] == 0
    assert not item["isMissing"]
    assert item["media"]["metadata"]["title"] == "Mine"


def test_a_book_of_others_in_the_same_folder_is_left_alone(deliver, server):
    server.folders[FOLDER] = {"human.mp3": (1, b"sound"), "notes.txt": (2, b"text")}
    server.scan()
    (item,) = server.items.values()
    item["media"]["metadata"]["isbn"] = "123"
    code, _, log = deliver()
    assert code == 2
    assert (
        f"already has a book in '{FOLDER}', which this project did not send; nothing was sent"
        in log
    )
    assert {*server.folders[FOLDER]} == {"human.mp3", "notes.txt"}
    assert deliver("--replace")[0] == 0
    assert {*server.folders[FOLDER]} == {"notes.txt", M4B, EPUB}
    (item,) = server.items.values()
    assert item["media"]["metadata"]["isbn"] == ""


def test_the_book_of_another_that_took_the_place_of_a_deleted_one_is_refused(deliver, server):
    deliver()
    (item,) = server.items.values()
    server.items = {"another": {**item, "id": "another"}}
    code, _, log = deliver()
    assert code == 2
    assert "which this project did not send; nothing was sent" in log


@pytest.mark.parametrize("title", ["The Ferry", "The Rope"])
def test_a_book_that_was_deleted_there_is_sent_again(deliver, server, export, title, monkeypatch):
    monkeypatch.setattr(audiobookshelf, "SCAN_S", 5.0)
    deliver()
    server.items.clear()
    server.folders.clear()
    export(MANIFEST.replace("The Ferry", title))
    assert deliver()[0] == 0
    (item,) = server.items.values()
    assert item["media"]["metadata"]["title"] == title


@pytest.mark.parametrize(
    ("variable", "user", "options", "message"),
    [
        (
            "a-wrong-token",
            "admin",
            (),
            "rejects the token in AUDIOBOOKSHELF_TOKEN; create",
        ),
        ("", "admin", (), "`export AUDIOBOOKSHELF_TOKEN=…`; create an API key for an admin"),
        (None, "user", (), "belongs to a user who is not an admin"),
        (None, "forbidden", (), "who needs permission to upload, update and delete"),
        (None, "elsewhere", (), "sends elsewhere to example.org (301), which is not followed"),
        (
            None,
            "admin",
            ("--library", "Bocks"),
            "choose one with --library: 'Books'",
        ),
        (
            None,
            "admin",
            ("--layout", "plex"),
            "server has its own layout; omit the option",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_what_to_do(
    deliver, server, monkeypatch, variable, user, options, message
):
    if variable is not None:
        monkeypatch.setenv(audiobookshelf.TOKEN_VARIABLE, variable)
    server.user = user
    code, said, log = deliver(*options)
    assert code in (2, 3)
    (line,) = [line for line in log.splitlines() if line.startswith("error:")]
    assert message in line
    assert not server.folders
    assert "example.org/path" not in line
    assert "token-of-an-admin" not in said + log
    assert "a-wrong-token" not in said + log


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("GET /api/libraries", {"libraries": 5}),
        ("GET /api/libraries", {"libraries": [{"mediaType": "book", "id": "x", "folders": []}]}),
        ("GET /api/libraries/lib-1/items", {"results": [{"relPath": 5}]}),
        ("GET /api/items/", {"id": "item-1", "libraryId": "lib-1", "media": 5}),
        ("GET /api/items/", {"libraryId": "lib-1", "libraryFiles": [{}], "media": {}}),
    ],
)
def test_answers_of_another_form_are_one_line(deliver, server, monkeypatch, request_, answer):
    answer_of = server.answer
    monkeypatch.setattr(
        server,
        "answer",
        lambda method, path, body, kind: (
            (200, answer)
            if f"{method} {path}".startswith(request_)
            else answer_of(method, path, body, kind)
        ),
    )
    code, _, log = deliver()
    assert code == 3
    assert "did not answer as Audiobookshelf 2 does" in log


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("http://127.0.0.1:1", "is it running there? Look at --to"),
        ("http://me:hush@127.0.0.1:1", "names and passwords do not go into an address"),
        ("http://127.0.0.1:1/?token=hush", "an address ends before"),
    ],
)
def test_a_wrong_address_is_one_line_with_what_to_do(narrator, finished, server, to, message):
    code, said, log = narrator("deliver", finished, "--draft", "--to", to)
    assert code in (2, 3)
    (line,) = [line for line in log.splitlines() if line.startswith("error:")]
    assert message in line
    assert "hush" not in said + log


def test_a_read_along_that_replaced_another_is_the_one_to_read(deliver, server, finished, narrator):
    deliver()
    (item,) = server.items.values()
    assert item["media"]["ebookFile"] == f"{FOLDER}/{EPUB}"
    finished.write_text(MANIFEST.replace("The Ferry", "The Rope"))
    narrator("export", finished, "--draft")
    deliver()
    assert item["media"]["ebookFile"] == f"{FOLDER}/{EPUB}".replace("- The Ferry", "- The Rope")


def test_the_token_is_in_no_file(deliver, server, finished):
    deliver()
    server.uploads_left = 0
    (finished.parent / "build/delivered").rename(finished.parent / "build/old")
    server.items.clear()
    deliver()
    files = [path for path in finished.parent.rglob("*") if path.is_file()]
    assert not [path for path in files if audiobookshelves.TOKEN.encode() in path.read_bytes()]


def test_names_are_cut_as_the_server_cuts_them():
    name = "ä" * 200 + ".m4b"
    assert audiobookshelf._fit_name(name) == "ä" * 123 + ".m4b"
    assert audiobookshelf._fit_name("Vol. 1") == "Vol. 1"
