"""Sends a book to a library of an Audiobookshelf server.

A book is one item of the library, in the folder author/series/title. The record of the first
delivery holds the item's id, by which later deliveries find it even if it was moved or renamed. So
it is replaced and never duplicated, and listeners keep their place.

Facts, cover and chapters that change in the project are updated on the server, unless somebody has
edited them there since they were sent.

The record's facts are `item`, its id; `cover`, the hash of the picture; and for each fact under the
server's name two hashes: of the fact that was sent, and of the one that the server showed then.

Written from the server's routes (version 2.36): `POST /api/upload` stores files in the folder of
author, series and title; a scan turns them into an item.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from narrator import keys
from narrator.delivery.shelves.layouts import LAYOUTS, ChapterMark
from narrator.delivery.shelves.sending import RESUME_ADVICE, Item, SentRecord
from narrator.engines.server.settings import parse_address
from narrator.engines.server.wire import (
    BLOCK_BYTES,
    Setback,
    SettingNames,
    Upload,
    Wire,
    key_from,
)
from narrator.errors import EngineUnavailable, EnvironmentFailed, UsageError
from narrator.project.facts import BookFacts
from narrator.sound.formats import OUTPUT_SUFFIXES

TOKEN_VARIABLE = "AUDIOBOOKSHELF_TOKEN"
_TOKEN_ADVICE = "create an API key for an admin in the server's settings"
POLL_S = 2.0
"""Seconds between polls of a scan."""
SCAN_S = 300.0
"""Most seconds that a scan may take."""
_RESCAN_POLLS = 8
"""Polls after which another scan is requested: a scan skips files that the server's watcher has
just noticed."""
_CATCH_UP_POLLS = 5
"""Most polls for the item of an interrupted delivery, which may have sent nothing."""
_UNREAD = "unread"
"""Name in the record's facts: files were sent or removed, and the server may not have scanned the
folder since."""
_MESSAGE_S = 60.0
_BYTES_PER_S = 50_000
"""Slowest upload that does not time out."""
_MAX_LIST_BYTES = 256 << 20
_SUFFIXES = (*OUTPUT_SUFFIXES, ".epub")
"""Suffixes of the files that are sent."""
_MAX_NAME_UNITS = 127
"""Most UTF-16 code units of a name: the server truncates longer ones."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library of books, and one of its folders."""

    server: _Server
    id: str
    folder_id: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of facts that changed in the project, among them "cover" and "chapters"."""

    updates: tuple[str, ...] = ()
    """Updated on the server."""
    conflicts: tuple[str, ...] = ()
    """Left as somebody has edited them there."""


@contextlib.contextmanager
def _reading_answers() -> Iterator[None]:
    """Turns errors of answers with other fields or types than the server's into
    EnvironmentFailed."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise EnvironmentFailed(
            "the server at the address of --to did not answer as Audiobookshelf 2 does; see its "
            "log and its version"
        ) from error


@dataclass(slots=True)
class AudiobookshelfShelf:
    """The item of a book in a library. Its methods raise EnvironmentFailed and UsageError."""

    library: Library
    parts: tuple[str, ...]
    """The book's folder: author, series, title, as far as there are any."""
    record: SentRecord
    is_replacing: bool
    """True to overwrite files and facts that this project did not send."""
    _item: dict[str, Any] | None = field(default=None, init=False)
    """The item as it was before this delivery."""
    _sent_names: set[str] = field(default_factory=set, init=False)

    @classmethod
    @_reading_answers()
    def open(
        cls, library: Library, folder: Path, record: SentRecord, *, is_replacing: bool
    ) -> AudiobookshelfShelf:
        """Finds the book's item. Raises UsageError if another book is in its folder, unless that
        may be replaced."""
        parts = tuple(_fit_name(part) for part in folder.parts)
        shelf = cls(library, parts, record, is_replacing)
        shelf._item = item = shelf._find_item()
        if _UNREAD in record.facts:
            shelf._item = item = shelf._catch_up()
        if item is None:
            return shelf
        if not record.hashes:
            if not is_replacing:
                raise UsageError(
                    f"{library.server.address} already has a book in {item['relPath']!r}, which "
                    "this project did not send; nothing was sent (--replace replaces it)"
                )
            # as if this project had begun to send them, so that they are replaced or removed
            record.hashes = {
                name: "" for name in _files(item) if name.lower().endswith(OUTPUT_SUFFIXES)
            }
        shelf.parts = tuple(item["relPath"].split("/"))
        if item.get("isFile") or len(shelf.parts) > 3:
            raise UsageError(
                f"{item['relPath']!r} on {library.server.address} is no longer in a folder "
                "author/series/title, and files can be uploaded only to such folders; move it back"
            )
        return shelf

    @_reading_answers()
    def sizes(self, names: Collection[str]) -> Mapping[str, int]:
        if self._item is None or self._item.get("isMissing"):
            return {}
        return {name: size for name, (size, _) in _files(self._item).items() if name in names}

    @_reading_answers()
    def send(self, items: Sequence[Item], on_sent: Callable[[Item], None]) -> None:
        *upper_parts, title = self.parts
        folder_id = str((self._item or {}).get("folderId") or self.library.folder_id)
        fields = {"library": self.library.id, "folder": folder_id, "title": title}
        fields |= dict(zip(("author", "series"), upper_parts, strict=False))
        self._note(_UNREAD, "yes")
        for item in items:
            upload = _multipart(fields, "0", item.name, item.source)
            self.library.server.call("POST", "/api/upload", upload)
            self._sent_names.add(item.name)
            on_sent(item)

    @_reading_answers()
    def remove(self, names: Sequence[str]) -> None:
        self._note(_UNREAD, "yes")
        item = self._item or {}
        for file in item.get("libraryFiles", []):
            if file["metadata"]["filename"] in names:
                path = f"/api/items/{_id(item)}/file/{quote(str(file['ino']), safe='')}"
                self.library.server.call("DELETE", path)

    @_reading_answers()
    def finish(self, facts: BookFacts, marks: Sequence[ChapterMark]) -> Changes:
        """Has the server scan the files that were sent; updates facts, cover and chapters that have
        changed."""
        is_unread = self._item is None or _UNREAD in self.record.facts
        item = (None if is_unread else self._item) or self._scan()
        self._note("item", str(item["id"]))
        if is_unread and not item["media"].get("ebookFile"):
            for file in item.get("libraryFiles", []):
                is_ours = file["metadata"]["filename"] in self.record.sizes
                if is_ours and file.get("isSupplementary"):  # since it replaced another
                    ino = quote(str(file["ino"]), safe="")
                    self.library.server.call("PATCH", f"/api/items/{_id(item)}/ebook/{ino}/status")
        known_facts = _metadata(facts) | ({"chapters": _chapter_rows(marks)} if marks else {})
        changes = [self._set_facts(item, known_facts), self._set_cover(item, facts.cover)]
        self.record.facts.pop(_UNREAD, None)
        self.record.save()
        return Changes(
            tuple(name for change in changes for name in change.updates),
            tuple(name for change in changes for name in change.conflicts),
        )

    def _set_facts(self, item: dict[str, Any], facts: Mapping[str, Any]) -> Changes:
        """Updates facts that have changed in the project, unless they were edited on the server."""
        old_facts, shown_facts = _shown_facts(self._item or item), _shown_facts(item)
        outdated_names, foreign_names, conflicts = list[str](), list[str](), list[str]()
        for name, fact in facts.items():
            sent_key, _, shown_key = self.record.facts.get(name, "").partition(" ")
            is_changed = _fact_hash(fact) != sent_key
            is_edited = sent_key and _fact_hash(old_facts[name]) not in (
                shown_key,
                _fact_hash(fact),
            )
            if is_edited and not self.is_replacing:
                conflicts += [name] if is_changed else []
            elif not fact and (sent_key == _fact_hash(None) or not (sent_key or self.is_replacing)):
                foreign_names.append(name)  # the project never had it
            elif is_changed or _fact_hash(shown_facts[name]) != shown_key:
                outdated_names.append(name)
        item_path = f"/api/items/{_id(item)}"
        if metadata := {name: facts[name] for name in outdated_names if name != "chapters"}:
            self.library.server.call("PATCH", f"{item_path}/media", {"metadata": metadata})
        if "chapters" in outdated_names:
            rows = {"chapters": facts["chapters"]}
            self.library.server.call("POST", f"{item_path}/chapters", rows)
        if outdated_names:
            shown_facts = _shown_facts(self._find_item() or item)
        for name in (*outdated_names, *foreign_names):
            self.record.facts[name] = f"{_fact_hash(facts[name])} {_fact_hash(shown_facts[name])}"
        self.record.save()
        return Changes(tuple(outdated_names), tuple(conflicts))

    def _set_cover(self, item: dict[str, Any], cover: Path | None) -> Changes:
        """Replaces or removes the cover if it has changed in the project, unless it was changed on
        the server."""
        sent_hash = self.record.facts.get("cover", "")
        cover_hash = keys.file_content(cover) if cover else ""
        if cover_hash == sent_hash:
            return Changes()
        path = f"/api/items/{_id(item)}/cover"
        server = self.library.server
        if sent_hash and not self.is_replacing:
            picture = server.find_bytes(f"{path}?raw=1")
            if keys.content_of(picture) not in (sent_hash, cover_hash):
                return Changes(conflicts=("cover",))
        if cover:
            name = f"cover{cover.suffix.lower()}"
            server.call("POST", path, _multipart({}, "cover", name, cover))
        else:
            cover_path = item["media"].get("coverPath")
            server.call("DELETE", path)
            self.remove(  # or the next scan would find it
                [
                    file["metadata"]["filename"]
                    for file in item.get("libraryFiles", [])
                    if file["metadata"].get("path") == cover_path
                ]
            )
        self._note("cover", cover_hash)
        return Changes(updates=("cover",))

    def _note(self, name: str, value: str) -> None:
        self.record.facts[name] = value
        self.record.save()

    def _find_item(self) -> dict[str, Any] | None:
        """Returns the book's item with its files, found by the recorded id or else by its
        folder."""
        server = self.library.server
        if id := self.record.facts.get("item"):
            item = server.find(f"/api/items/{quote(id, safe='')}?expanded=1")
            if item is not None and item.get("libraryId") == self.library.id:
                return (item.get("isMissing") and self._find_moved(item)) or item
            self.record.clear()  # the item was deleted on the server
        for row in self._list_items("/".join(self.parts)):
            if row.get("folderId") in (None, self.library.folder_id):
                return server.find(f"/api/items/{_id(row)}?expanded=1")
        return None

    def _find_moved(self, missing_item: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the item that has the files of a missing one: the server makes a new item of
        files that were moved to another disk."""
        for row in self._list_items(missing_item["relPath"]):
            item = self.library.server.find(f"/api/items/{_id(row)}?expanded=1") or {}
            sizes = {name: size for name, (size, _) in _files(item).items()}
            is_other = row["id"] != missing_item["id"] and not item.get("isMissing")
            if is_other and self.record.sizes.items() <= sizes.items():
                unread = {name: fact for name, fact in self.record.facts.items() if name == _UNREAD}
                self.record.facts = {"item": str(item["id"]), **unread}
                return item
        return None

    def _list_items(self, folder: str) -> list[dict[str, Any]]:
        """Returns the items in a folder of this path, in any folder of the library."""
        items = self.library.server.get(
            f"/api/libraries/{self.library.id}/items?limit=0&minified=1"
        )
        path = unicodedata.normalize("NFC", folder)
        rows: list[dict[str, Any]] = items.get("results", [])
        return [row for row in rows if unicodedata.normalize("NFC", row.get("relPath", "")) == path]

    def _catch_up(self) -> dict[str, Any] | None:
        """Has the server scan what an interrupted delivery has sent; returns the item, if any."""
        for poll in range(_CATCH_UP_POLLS):
            if item := self._find_item():
                self.library.server.call("POST", f"/api/items/{_id(item)}/scan")
                return self._find_item()
            if poll == 0:
                self.library.server.call("POST", f"/api/libraries/{self.library.id}/scan")
            else:
                time.sleep(POLL_S)
        return None

    def _scan(self) -> dict[str, Any]:
        """Has the server scan the book's folder until it shows all that was sent; returns the
        item."""
        server = self.library.server
        old_files = _files(self._item) if self._item else {}
        deadline, polls = time.monotonic() + SCAN_S, 0
        while True:
            item = self._find_item()
            if polls % _RESCAN_POLLS == 0:
                scan = f"items/{_id(item)}" if item else f"libraries/{self.library.id}"
                server.call("POST", f"/api/{scan}/scan")
                item = self._find_item()
            files, audio_names = (_files(item), _audio_names(item)) if item else ({}, set[str]())
            unread_names = [
                name
                for name, size in self.record.sizes.items()
                if files.get(name, (0, 0))[0] != size
                or (name in self._sent_names and files[name] == old_files.get(name))
                or (name.endswith(OUTPUT_SUFFIXES) and name not in audio_names)
            ]
            if item and not item.get("isMissing") and not unread_names:
                return item
            if time.monotonic() > deadline:
                for name in unread_names:
                    self.record.hashes[name] = ""
                self.record.save()
                raise EnvironmentFailed(
                    f"{server.address} accepted {(unread_names or ['the book'])[0]} but does not "
                    "show it; see the server's log, then run the same command again"
                )
            polls += 1
            time.sleep(POLL_S)


LAYOUT = replace(LAYOUTS["audiobookshelf"], has_cover=False)
"""The cover is sent by a separate request."""


def flatten(items: Sequence[Item]) -> list[Item]:
    """Returns items named without their folder, short enough for the server."""
    return [replace(item, name=_fit_name(Path(item.name).name)) for item in items]


@_reading_answers()
def open_library(to: str, library_name: str) -> Library:
    """Returns a library of the server at an address: the named one, or the only library of books.

    The token is sent only to a server that identifies itself as Audiobookshelf. Raises
    EnvironmentFailed, UsageError.
    """
    try:
        address = parse_address(to, key_setting=TOKEN_VARIABLE)
    except ValueError as error:
        raise UsageError(f"--to: {error}") from None
    names = SettingNames(url="--to", key=TOKEN_VARIABLE, api="--to", target="--to", parts="address")
    try:
        token = key_from(TOKEN_VARIABLE, "--to")
    except EngineUnavailable as error:
        raise EnvironmentFailed(f"{error}; {_TOKEN_ADVICE}") from None
    try:
        status = _Server(Wire(address, names=names)).find("/status") or {}
    except UsageError:  # the address asks for a login
        status = {}
    if "isInit" not in status and status.get("app") != "audiobookshelf":
        raise UsageError(
            f"--to: {address} is not an Audiobookshelf server; use the address at which you open "
            "it in a browser"
        )
    server = _Server(Wire(address, token, names=names))
    if server.get("/api/me").get("type") not in ("admin", "root"):
        raise UsageError(
            f"the token in {TOKEN_VARIABLE} belongs to a user who is not an admin of {address} and "
            "may not start scans; use an admin's token"
        )
    libraries = server.get("/api/libraries").get("libraries", [])
    book_libraries = [row for row in libraries if row.get("mediaType") == "book"]
    chosen = [row for row in book_libraries if library_name in ("", row.get("name"), row["id"])]
    if len(chosen) != 1:
        choices = ", ".join(repr(row.get("name", "")) for row in book_libraries)
        problem = f"no library {library_name!r} of books" if library_name else "several libraries"
        raise UsageError(
            f"{address} has {problem}; choose one with --library: {choices}"
            if book_libraries
            else f"{address} has no library of books; create one there first"
        )
    (row,) = chosen
    return Library(server, str(row["id"]), str(row["folders"][0]["id"]))


@dataclass(frozen=True, slots=True)
class _Server:
    """Sends requests to a server, and explains what fails."""

    wire: Wire

    @property
    def address(self) -> str:
        return str(self.wire.address)

    def get(self, path: str) -> dict[str, Any]:
        """Returns an answer in JSON. Raises EnvironmentFailed, UsageError."""
        return self._parse(self.call("GET", path))

    def find(self, path: str) -> dict[str, Any] | None:
        """Returns an answer in JSON; None where there is nothing, or no JSON. Raises
        EnvironmentFailed, UsageError."""
        body = self.find_bytes(path)
        try:
            return self._parse(body)
        except EnvironmentFailed:
            return None

    def find_bytes(self, path: str) -> bytes:
        """Returns an answer; empty where there is nothing. Raises EnvironmentFailed, UsageError."""
        try:
            return self._send("GET", path)
        except Setback as setback:
            if setback.status == 404:
                return b""
            raise self._explain(setback) from None

    def call(self, method: str, path: str, body: Mapping[str, Any] | Upload | None = None) -> bytes:
        """Returns the body of an answer. Raises EnvironmentFailed, UsageError."""
        try:
            return self._send(method, path, body)
        except Setback as setback:
            raise self._explain(setback) from None

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | Upload | None = None
    ) -> bytes:
        seconds = _MESSAGE_S
        if isinstance(body, Upload):
            seconds += body.size / _BYTES_PER_S
        elif path.endswith("/scan"):
            seconds = SCAN_S
        call = self.wire.call(method, path, timeout=seconds)
        return call.send(body, max_bytes=_MAX_LIST_BYTES).body

    def _parse(self, body: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise EnvironmentFailed(f"{self.address} did not answer as Audiobookshelf does")
        return answer

    def _explain(self, setback: Setback) -> EnvironmentFailed | UsageError:
        if setback.status == 401:
            return UsageError(
                f"{self.address} rejects the token in {TOKEN_VARIABLE}; {_TOKEN_ADVICE}"
            )
        if setback.status == 403:
            return UsageError(
                f"{self.address} refuses this to the user of the token in {TOKEN_VARIABLE}, who "
                "needs permission to upload, update and delete"
            )
        advice = "" if setback.category == "closed" else RESUME_ADVICE
        return EnvironmentFailed(f"{self.wire.explain(setback)}{advice}")


# -- the server's formats ---------------------------------------------------------------


def _id(item: Mapping[str, Any]) -> str:
    return quote(str(item.get("id", "")), safe="")


def _files(item: Mapping[str, Any]) -> dict[str, tuple[int, float]]:
    """Returns size and modification time of each file in an item's folder, by name."""
    return {
        file["metadata"]["filename"]: (
            int(file["metadata"]["size"]),
            float(file["metadata"].get("mtimeMs") or 0),
        )
        for file in item.get("libraryFiles", [])
    }


def _audio_names(item: Mapping[str, Any]) -> set[str]:
    """Returns the names of the files that an item plays."""
    return {file["metadata"]["filename"] for file in item["media"].get("audioFiles", [])}


def _metadata(facts: BookFacts) -> dict[str, Any]:
    """Returns the facts under the server's names; an empty one removes the server's."""
    series = {"name": facts.series, "sequence": facts.part or None}
    return {
        "title": facts.title,
        "subtitle": facts.subtitle,
        "authors": [{"name": author} for author in facts.authors],
        "narrators": list(facts.narrators),
        "series": [series] if facts.series else [],
        "genres": [facts.genre] if facts.genre else [],
        "publishedYear": facts.year,
        "publisher": facts.publisher,
        "description": facts.description,
        "isbn": facts.isbn,
        "asin": facts.asin,
        "language": facts.language,
    }


def _chapter_rows(marks: Sequence[ChapterMark]) -> list[dict[str, Any]]:
    return [
        {"id": number, "title": mark.title, "start": mark.start, "end": mark.end}
        for number, mark in enumerate(marks)
    ]


def _shown_facts(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns an item's facts in the form in which they are sent; None for unknown names."""
    facts = {**item["media"].get("metadata", {}), "chapters": item["media"].get("chapters")}
    for name, keys_sent in (("authors", ("name",)), ("series", ("name", "sequence"))):
        facts[name] = [{key: row.get(key) for key in keys_sent} for row in facts.get(name) or []]
    return defaultdict(lambda: None, facts)


def _fact_hash(fact: Any) -> str:
    """Returns a hash of a fact, the same for all empty ones."""
    return keys.seal(fact or None)[:16]


def _fit_name(name: str) -> str:
    """Returns the name of a folder or file, short enough for the server."""
    suffix = Path(name).suffix if Path(name).suffix in _SUFFIXES else ""
    stem = name.removesuffix(suffix)
    while len((stem + suffix).encode("utf-16-le")) > 2 * _MAX_NAME_UNITS:
        stem = stem[:-1].rstrip(" .")
    return stem + suffix


def _multipart(fields: Mapping[str, str], name: str, file_name: str, path: Path) -> Upload:
    """Returns a form with a file, which is read while it is sent."""
    boundary = f"narrator-{secrets.token_hex(16)}"
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    )
    quoted_name = file_name.replace('"', "")
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; '
        f'filename="{quoted_name}"\r\nContent-Type: application/octet-stream\r\n\r\n'
    )
    head_bytes, tail_bytes = head.encode(), f"\r\n--{boundary}--\r\n".encode()

    def blocks() -> Iterator[bytes]:
        yield head_bytes
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                yield block
        yield tail_bytes

    size = len(head_bytes) + path.stat().st_size + len(tail_bytes)
    return Upload(f"multipart/form-data; boundary={boundary}", size, blocks())
