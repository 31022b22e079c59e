"""Finished files on shelves: which are sent, where they lie, and what never happens to others."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from lxml import etree

from narrator import files, keys
from narrator.delivery.shelves.folder import FolderShelf
from narrator.delivery.shelves.layouts import LAYOUTS, build_opf
from narrator.errors import StorageError, UsageError
from narrator.project.facts import BookFacts
from tests import books, faults
from tests.shelves import MANIFEST, names, send

BOOK = "A. Author/The Ferry/A. Author - The Ferry.m4b"
IN_SERIES = "A. Author/Ferries/The Ferry/"


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("plex", {BOOK}),
        ("jellyfin", {BOOK}),
        (
            "audiobookshelf",
            {IN_SERIES + "A. Author - The Ferry.m4b", IN_SERIES + "A. Author - The Ferry.epub"},
        ),
        ("apple-books", {"A. Author - The Ferry.m4b", "A. Author - The Ferry.epub"}),
        (
            "calibre",
            {f"A. Author/The Ferry/{name}"
             for name in ("The Ferry.m4b", "The Ferry.epub", "metadata.opf")},
        ),
    ],
)  # fmt: skip
def test_each_app_gets_its_folders(narrator, finished, shelf, layout, expected):
    code, said, _ = narrator("deliver", finished, "--draft", "--to", shelf, "--layout", layout)
    assert code == 0
    assert names(shelf) == expected
    assert f"{len(expected)} file{'s' if len(expected) > 1 else ''} sent" in said


def test_every_layout_is_tested():
    (layouts,) = (mark for mark in test_each_app_gets_its_folders.pytestmark)
    assert {row[0] for row in layouts.args[1]} == {*LAYOUTS}


def test_without_a_layout_the_folder_is_sent_as_it_is(narrator, finished, shelf):
    (finished.parent / "build/draft/cover.jpg").write_bytes(b"mine")
    (finished.parent / "build/draft/.hidden").write_bytes(b"mine")
    assert narrator("deliver", finished, "--draft", "--to", shelf)[0] == 0
    assert names(shelf) == names(finished.parent / "build/draft") - {".hidden"}


def test_sound_of_the_users_own_is_sent_with_the_folder(narrator, finished, shelf):
    folder = finished.parent / "build/draft"
    (folder / "trailer.mp3").write_bytes(b"mine")
    assert narrator("deliver", finished, "--draft", "--to", shelf)[0] == 0
    assert names(shelf) == names(folder)
    assert "trailer.mp3" in names(shelf)


def test_sound_of_the_users_own_alone_is_no_finished_file(narrator, tmp_path, shelf):
    book = books.brief(tmp_path)
    (tmp_path / "build/draft").mkdir(parents=True)
    (tmp_path / "build/draft/trailer.mp3").write_bytes(b"mine")
    assert "no finished files" in narrator("deliver", book, "--draft", "--to", shelf)[2]


def test_a_file_of_a_chapter_that_is_gone_is_out_of_date(narrator, finished, shelf):
    finished.write_text(
        "".join(line for line in MANIFEST.splitlines(True) if "Evening" not in line)
    )
    code, _, log = narrator("deliver", finished, "--draft", "--to", shelf)
    assert code == 2
    assert "out of date; nothing was sent" in log


@pytest.fixture
def make_feed(narrator, finished):
    """Makes a feed of the finished files, and returns its path."""

    def make(*options):
        folder = finished.parent / "build/draft"
        facts = ("--base-url", "https://example.org/", "--description", "A story.")
        assert narrator("feed", folder, "--draft", *facts, *options)[0] == 0
        return folder / "feed.xml"

    return make


def test_an_altered_feed_names_its_own_command(narrator, finished, shelf, make_feed):
    feed = make_feed()
    feed.write_text(feed.read_text() + "<!-- mine -->")
    code, _, log = narrator("deliver", finished, "--draft", "--to", shelf)
    assert code == 2
    assert "feed.xml: altered since it was made; nothing was sent: `narrator feed` makes" in log


def test_a_feed_that_the_user_deletes_is_removed_there(narrator, finished, shelf, make_feed):
    feed = make_feed()
    narrator("deliver", finished, "--draft", "--to", shelf)
    feed.unlink()
    code, said, _ = narrator("deliver", finished, "--draft", "--to", shelf)
    assert code == 0
    assert "feed.xml  removed: no longer part of the delivery" in said
    assert "feed.xml" not in names(shelf)


def test_a_feed_that_is_older_than_its_episodes_is_named(narrator, finished, shelf, make_feed):
    feed = make_feed()
    command = ("deliver", finished, "--draft", "--to", shelf)
    code, said, log = narrator(*command)
    assert code == 0
    assert said.splitlines()[-2].startswith("feed.xml  ")
    assert "older" not in log
    os.utime(feed, (1, 1))
    assert "feed.xml is older than its episodes: `narrator feed` makes" in narrator(*command)[2]


def test_a_feed_without_its_episodes_is_not_sent(narrator, finished, shelf, make_feed):
    feed = make_feed("--chapters")
    finished.write_text(MANIFEST.replace("files: both", "files: book"))
    content = feed.read_bytes()
    narrator("export", finished, "--draft")
    feed.write_bytes(content)
    code, _, log = narrator("deliver", finished, "--draft", "--to", shelf)
    assert code == 2
    assert "which does not exist; `narrator feed` makes the feed again" in log
    assert not names(shelf)


def test_twice_delivered_is_once_there(narrator, finished, shelf):
    command = ("deliver", finished, "--draft", "--to", shelf, "--layout", "plex")
    narrator(*command)
    modified = (shelf / BOOK).stat().st_mtime_ns
    code, said, _ = narrator(*command)
    assert code == 0
    assert "0 files sent, 1 file unchanged" in said
    assert (shelf / BOOK).stat().st_mtime_ns == modified


@pytest.mark.parametrize("is_old", [False, True])
def test_a_draft_gives_way_to_the_book(narrator, finished, shelf, is_old):
    command = ("deliver", finished, "--to", shelf, "--layout", "plex")
    narrator(*command, "--draft")
    draft = (shelf / BOOK).read_bytes()
    if is_old:  # a record as versions before 0.2.0 kept it
        old = finished.parent / "build/delivered/book-draft"
        old.mkdir()
        (record,) = (finished.parent / "build/delivered/book").glob("*.json")
        record.rename(old / f"{keys.key({'shelf': str(shelf), 'layout': 'plex'})[:16]}.json")
    finished.write_text("engine: draft\n" + MANIFEST.replace("seven", "eight"))
    assert narrator("render", finished)[0] == 0
    assert "1 file sent" in narrator(*command)[1]
    assert (shelf / BOOK).read_bytes() != draft
    assert "1 file unchanged" in narrator(*command)[1]
    assert names(shelf) == {BOOK}


def test_a_new_title_takes_the_place_of_the_old_one(narrator, finished, shelf):
    command = ("deliver", finished, "--draft", "--to", shelf, "--layout", "plex")
    narrator(*command)
    (shelf / "A. Author/notes.txt").write_text("mine")
    finished.write_text(MANIFEST.replace("The Ferry", "The Rope"))
    code, _, log = narrator(*command)
    assert code == 2
    assert "out of date; nothing was sent" in log
    assert "`narrator export --draft` makes it again, or `narrator render --draft`" in log
    assert names(shelf) == {BOOK, "A. Author/notes.txt"}
    narrator("export", finished, "--draft")
    code, said, _ = narrator(*command)
    assert code == 0
    assert f"{BOOK}  removed" in said
    assert names(shelf) == {BOOK.replace("The Ferry", "The Rope"), "A. Author/notes.txt"}
    assert not (shelf / BOOK).parent.exists()


def test_a_project_that_was_copied_for_another_book_removes_nothing_of_the_first(
    narrator, finished, shelf, tmp_path_factory
):
    command = ("--draft", "--to", shelf, "--layout", "plex")
    narrator("deliver", finished, *command)
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(finished.parent, copy, dirs_exist_ok=True)
    assert "0 files sent, 1 file unchanged" in narrator("deliver", copy, *command)[1]
    shutil.copytree(finished.parent, copy, dirs_exist_ok=True)
    (copy / "book.yaml").write_text(MANIFEST.replace("The Ferry", "The Rope"))
    narrator("export", copy, "--draft")
    assert narrator("deliver", copy, *command)[0] == 0
    assert names(shelf) == {BOOK, BOOK.replace("The Ferry", "The Rope")}
    assert "0 files sent, 1 file unchanged" in narrator("deliver", copy, *command)[1]


def test_a_file_of_others_is_replaced_only_when_asked(narrator, finished, shelf):
    (shelf / BOOK).parent.mkdir(parents=True)
    (shelf / BOOK).write_bytes(b"another's")
    command = ("deliver", finished, "--draft", "--to", shelf, "--layout", "plex")
    code, _, log = narrator(*command)
    assert code == 2
    assert "this project did not send it; nothing was sent (--replace overwrites it)" in log
    assert (shelf / BOOK).read_bytes() == b"another's"
    assert narrator(*command, "--replace")[0] == 0
    assert (shelf / BOOK).stat().st_size > 1000


@pytest.mark.parametrize("title", ["The Ferry", "The Rope"])
def test_a_file_that_others_put_in_the_place_of_ours_stays(narrator, finished, shelf, title):
    command = ("deliver", finished, "--draft", "--to", shelf, "--layout", "plex")
    assert narrator(*command)[0] == 0
    (shelf / BOOK).write_bytes(b"a better recording")
    if title != "The Ferry":
        finished.write_text(MANIFEST.replace("The Ferry", title))
        narrator("export", finished, "--draft")
    code, said, log = narrator(*command)
    assert (shelf / BOOK).read_bytes() == b"a better recording"
    if title == "The Ferry":
        assert code == 2
        assert "already exists there, and this project did not send it" in log
    else:
        assert code == 0
        assert "removed" not in said


def test_a_record_of_a_strangers_project_leads_nowhere_else(items, tmp_path, shelf):
    outside = shelf.parent / "outside.mp3"
    outside.write_text("mine")
    rows = {
        "files": {"../outside.mp3": "", str(outside): "", "a/../../outside.mp3": ""},
        "sizes": {},
        "facts": {},
    }
    files.save_json(tmp_path / "sent.json", rows)
    delivery = send(items(one_mp3="1"), FolderShelf(shelf), tmp_path)
    assert delivery.removed == ()
    assert outside.read_text() == "mine"


@pytest.mark.parametrize(
    "rows",
    [
        {"files": {"x": "a"}, "sizes": {"x": "y"}, "facts": {}},
        {"files": {"x": None}, "sizes": {"x": None}, "facts": {}},
        {"files": {"": "", ".": "", "a\0b": "", "x/": "", "./x": ""}, "sizes": {}, "facts": {}},
        {"files": 5},
        [1],
    ],
)
def test_an_odd_record_stops_no_delivery(items, tmp_path, shelf, rows):
    files.save_json(tmp_path / "sent.json", rows)
    delivery = send(items(one_mp3="1"), FolderShelf(shelf), tmp_path)
    assert (len(delivery.sent), delivery.removed) == (1, ())
    assert names(shelf) == {"one.mp3"}


def test_a_full_disk_of_the_shelf_is_named_by_its_own_path(items, tmp_path, shelf):
    with faults.failing(faults.Disk(shelf)) as disk:
        send(items(one_mp3="1"), FolderShelf(shelf), tmp_path)
    first = next(n for n, call in enumerate(disk.calls, 1) if call.startswith("write"))
    with (
        faults.failing(faults.Disk(shelf, first, stays=False)),
        pytest.raises(StorageError, match=f"^{shelf}/one.mp3: the disk is full"),
    ):
        send(items(one_mp3="2"), FolderShelf(shelf), tmp_path)
    assert (shelf / "one.mp3").read_text() == "1"
    assert names(shelf) == {"one.mp3"}


def test_two_files_that_would_be_one_there_are_refused(items, tmp_path, shelf):
    one, two = items(one_mp3="1", two_mp3="2")
    for name in ("Letter.mp3", "letter.mp3"):
        pair = [replace(one, name="Letter.mp3"), replace(two, name=name)]
        with pytest.raises(UsageError, match=r"would both be named .* nothing was sent"):
            send(pair, FolderShelf(shelf), tmp_path)
    assert not names(shelf)


class FoldingShelf(FolderShelf):
    """A folder of a disk that takes names in other case for the same."""

    def sizes(self, names):
        paths = {name: self.root / name.lower() for name in names}
        return {name: path.stat().st_size for name, path in paths.items() if path.exists()}

    def send(self, items, on_sent):
        for item in items:
            (self.root / item.name.lower()).write_bytes(item.source.read_bytes())
            on_sent(item)

    def remove(self, names):
        for name in names:
            (self.root / name.lower()).unlink()


def test_a_name_in_other_case_is_the_same_file_where_the_disk_takes_it_so(items, tmp_path, shelf):
    (item,) = items(one_mp3="1")
    folding = FoldingShelf(shelf)
    send([replace(item, name="The Ferry.mp3")], folding, tmp_path)
    delivery = send([replace(item, name="The ferry.mp3")], folding, tmp_path)
    assert delivery.removed == ()
    assert (shelf / "the ferry.mp3").read_text() == "1"
    delivery = send([replace(item, name="THE FERRY.mp3")], FolderShelf(shelf), tmp_path)
    assert names(shelf) == {"THE FERRY.mp3", "the ferry.mp3"}


@pytest.mark.parametrize(
    "to",
    [
        "sftp://me:hush@nas/x",
        "HTTPS://me:hush@nas/x",
        "http://me:hush/x@nas",
        ":webdav,pass=hush:x",
        "smb://nas/hush",
        "me:hush@nas",
    ],
)
def test_an_address_of_another_kind_is_refused_and_not_repeated(narrator, finished, to):
    code, said, log = narrator("deliver", finished, "--draft", "--to", to)
    assert code == 2
    assert "hush" not in said + log


def test_files_are_told_by_what_they_are_and_not_by_their_names(narrator, finished, shelf):
    finished.write_text(
        MANIFEST.replace("Morning", "Retail sample")
        .replace("Evening", "The Ferry - part 2")
        .replace("files: both", "files: chapters")
        .replace("[m4b, mp3]", "[mp3]")
    )
    assert narrator("render", finished, "--draft")[0] == 0
    assert narrator("deliver", finished, "--draft", "--to", shelf, "--layout", "plex")[0] == 0
    folder = "A. Author/The Ferry/"
    assert names(shelf) == {
        f"{folder}01 - Retail sample.mp3",
        f"{folder}02 - The Ferry - part 2.mp3",
    }


def test_files_of_an_earlier_version_name_the_command_that_records_them(narrator, finished, shelf):
    ledger = finished.parent / "build/made.json"
    rows = files.load_json(ledger, dict[str, list[Any]], {})
    kinds = {name: row[2].pop("kind") for name, row in rows.items()}
    assert {*kinds.values()} == {"book", "chapter", "vtt", "readalong"}
    files.save_json(ledger, rows)
    command = ("deliver", finished, "--draft", "--to", shelf, "--layout", "plex")
    code, _, log = narrator(*command)
    assert code == 2
    assert "made by an earlier version of narrator; nothing was sent: `narrator export" in log
    sounds = {path: path.stat().st_mtime_ns for path in finished.parent.rglob("*.m4b")}
    narrator("export", finished, "--draft")
    assert {path: path.stat().st_mtime_ns for path in sounds} == sounds
    assert narrator(*command)[0] == 0


def test_a_file_that_was_lost_there_is_sent_again(narrator, finished, shelf):
    command = ("deliver", finished, "--draft", "--to", shelf)
    narrator(*command)
    lost = next(shelf.rglob("*.m4b"))
    lost.unlink()
    assert "1 file sent" in narrator(*command)[1]
    assert lost.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--to is missing: name a folder, rclone:REMOTE:PATH or the address of"),
        (("--to", "nowhere"), "--to: nowhere does not exist; create it or choose another folder"),
        (("--to", "nas:13378"), "--to: there is no such folder; the address of an Audiobookshelf"),
        (("--to", "book.yaml"), "--to: book.yaml is not a folder; choose one"),
        (("--to", ".", "--library", "Books"), "--library needs --to with the address of"),
        (
            ("--to", ".", "--layout", "plecs"),
            "--layout: unknown layout 'plecs'; choose one",
        ),
        (("--to", "link"), "--to: build is inside the project's build folder; choose another"),
        (("--to", "build"), "--to: build is inside the project's build folder; choose another"),
        (("--to", ".", "--profile", "acx"), "--profile needs --layout; without a layout"),
        (
            ("--to", ".", "--layout", "plex", "--profile", "acx"),
            "--profile: the book is not made for",
        ),
        (
            ("--to", "calibre", "--layout", "calibre"),
            "--to: calibre is a Calibre library, to which only Calibre may add books",
        ),
    ],
)
def test_a_wrong_command_says_what_to_do(narrator, finished, monkeypatch, arguments, message):
    monkeypatch.chdir(finished.parent)
    Path("calibre").mkdir()
    Path("calibre/metadata.db").touch()
    Path("link").symlink_to("build")
    code, said, log = narrator("deliver", finished, "--draft", *arguments)
    assert (code, said) == (2, "")
    assert f"error: {message}" in log
    assert log.count("error:") == 1


def test_a_book_that_is_not_finished_names_the_command(narrator, tmp_path, shelf):
    code, _, log = narrator("deliver", books.brief(tmp_path), "--draft", "--to", shelf)
    assert code == 2
    assert log.endswith("has no finished files; `narrator render --draft` makes them\n")
    assert not names(shelf)


def test_finished_files_of_another_engine_are_named(narrator, finished, shelf):
    hint = "build/draft has finished files: add --draft\n"
    for command in (("deliver", finished, "--to", shelf), ("export", finished)):
        code, _, log = narrator(*command)
        assert code == 2
        assert "`narrator render` makes them; " in log
        assert log.endswith(hint)
    assert narrator("status", finished)[2].endswith(hint)
    assert "finished files" not in narrator("status", finished, "--draft")[2]


def test_calibre_is_told_to_replace_what_it_may_have(narrator, finished, shelf):
    command = ("deliver", finished, "--draft", "--to", shelf, "--layout", "calibre")
    first, later = narrator(*command)[1], narrator(*command)[1]
    folder = shelf / "A. Author/The Ferry"
    options = f'--recurse --one-book-per-directory --add "*.m4b" "{folder}"`'
    assert f"`calibredb add --automerge ignore {options} adds it" in first
    assert f"`calibredb add --automerge overwrite {options} adds it, or replaces" in later


def test_two_deliveries_at_once_are_refused(narrator, finished, shelf):
    command = ("deliver", finished, "--draft", "--to", shelf)
    records = finished.parent / "build/delivered/book"
    records.mkdir(parents=True)
    with FileLock(records / ".lock"):
        code, _, log = narrator(*command)
    assert code == 3
    assert "another delivery of this book is running; wait until it has finished" in log
    assert not names(shelf)
    assert narrator(*command)[0] == 0


def test_an_altered_file_is_not_sent(narrator, finished, shelf):
    path = finished.parent / "build/draft/A. Author - The Ferry.epub"
    path.write_bytes(path.read_bytes() + b"\0")
    for layout in ((), ("--layout", "calibre")):
        code, _, log = narrator("deliver", finished, "--draft", "--to", shelf, *layout)
        assert code == 2
        assert "A. Author - The Ferry.epub: altered since it was made; nothing was sent" in log
    assert not names(shelf)


def test_calibre_is_told_the_facts():
    facts = BookFacts(
        title="Salt & <Rope>", authors=("A", "B"), series="Ferries", part="2", isbn="123"
    )
    root = etree.fromstring(build_opf(facts).encode())
    dc = "{http://purl.org/dc/elements/1.1/}"
    assert root.findtext(f".//{dc}title") == "Salt & <Rope>"
    assert [author.text for author in root.iter(f"{dc}creator")] == ["A", "B"]
    metas = {meta.get("name"): meta.get("content") for meta in root.iter() if meta.get("name")}
    assert metas == {"calibre:series": "Ferries", "calibre:series_index": "2"}


# -- order, and deliveries that were cut off -------------------------------------------------------


class Broken(Exception):
    """The line went dead."""


class Memory:
    """A shelf in memory, which notes what is done, and breaks after so many files."""

    def __init__(self, breaks_after: int = 1000) -> None:
        self.files: dict[str, bytes] = {}
        self.acts: list[str] = []
        self.left = breaks_after

    def sizes(self, names):
        return {name: len(self.files[name]) for name in names if name in self.files}

    def send(self, items, on_sent):
        for item in items:
            if not self.left:
                self.files[item.name] = b"h"  # half of it
                raise Broken
            self.left -= 1
            self.files[item.name] = item.source.read_bytes()
            self.acts.append(item.name)
            on_sent(item)

    def remove(self, names):
        for name in names:
            del self.files[name]
            self.acts.append(f"- {name}")


def test_a_feed_is_sent_last_and_what_is_gone_is_removed_after_it(items, tmp_path):
    shelf = Memory()
    send(items(feed_xml="1", one_vtt="1", one_mp3="1"), shelf, tmp_path)
    shelf.files["others.mp3"] = b"another's"
    send(items(feed_xml="2", two_vtt="2", two_mp3="2"), shelf, tmp_path)
    assert shelf.acts == [
        *("one.mp3", "one.vtt", "feed.xml"),
        *("two.mp3", "two.vtt", "feed.xml", "- one.mp3", "- one.vtt"),
    ]
    assert {*shelf.files} == {"feed.xml", "two.vtt", "two.mp3", "others.mp3"}


def test_a_feed_is_removed_before_its_episodes(items, tmp_path):
    shelf = Memory()
    send(items(feed_xml="1", a_vtt="1", b_mp3="1", two_mp3="2"), shelf, tmp_path)
    shelf.acts = []
    delivery = send(items(two_mp3="2"), shelf, tmp_path)
    assert shelf.acts == ["- feed.xml", "- a.vtt", "- b.mp3"]
    assert delivery.removed == ("a.vtt", "b.mp3", "feed.xml")


@pytest.mark.parametrize("breaks_after", range(4))
def test_a_delivery_that_was_cut_off_goes_on(items, tmp_path, breaks_after):
    shelf, wanted = Memory(breaks_after), items(a_mp3="aa", b_mp3="bb", a_vtt="cc", feed_xml="dd")
    with pytest.raises(Broken):
        send(wanted, shelf, tmp_path)
    shelf.left, shelf.acts = 1000, []
    delivery = send(wanted, shelf, tmp_path)
    assert shelf.acts == [item.name for item in wanted][breaks_after:]
    assert delivery.unchanged == breaks_after
    assert {*shelf.files.values()} == {b"aa", b"bb", b"cc", b"dd"}


def test_a_file_that_is_made_again_while_it_is_sent_is_sent_again(items, tmp_path, shelf):
    (item,) = items(one_mp3="1")
    item = replace(item, stamp=files.stamp(item.source))
    (again,) = items(one_mp3="one")
    with pytest.raises(UsageError, match=r"one.mp3 was made again while it was being sent"):
        send([item], FolderShelf(shelf), tmp_path)
    assert send([again], FolderShelf(shelf), tmp_path).sent == (again,)
    assert (shelf / "one.mp3").read_text() == "one"


def test_the_same_size_with_other_words_is_sent(items, tmp_path):
    shelf = Memory()
    send(items(feed_xml="one"), shelf, tmp_path)
    send(items(feed_xml="two"), shelf, tmp_path)
    assert shelf.files == {"feed.xml": b"two"}
