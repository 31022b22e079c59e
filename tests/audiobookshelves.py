"""A stand-in for an Audiobookshelf server, written from its routes and held against version 2.36:
files that are uploaded lie in a folder, and a scan makes an item of it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

TOKEN = "a-token-of-an-admin"
SOUNDS = (".m4b", ".mp3")


@dataclass
class Server:
    port: int = 0
    folders: dict[str, dict[str, tuple[int, bytes]]] = field(default_factory=dict)
    """What is on its disk: number of the upload, and bytes, of each file in each folder, whose path
    begins with "fol-2/" in the second folder of the library."""
    items: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Its items, as the last scan left them."""
    requests: list[str] = field(default_factory=list)
    uploads_left: int = 1000
    scans_ignored: int = 0
    """Scans that leave out new files, as one does that its watcher has just seen."""
    scanned_chapters: list[dict[str, Any]] = field(default_factory=list)
    """Chapters that a scan sets."""
    unread: list[str] = field(default_factory=list)
    """Names of audio files that the next scan lists and does not read yet."""
    user: str = "admin"
    covers: dict[str, bytes] = field(default_factory=dict)
    count: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def scan(self) -> None:
        if self.scans_ignored:
            self.scans_ignored -= 1
            return
        for item in self.items.values():
            item["isMissing"] = _folder_of(item) not in self.folders
        for folder, files in self.folders.items():
            item = next((i for i in self.items.values() if _folder_of(i) == folder), None)
            if item is None:
                self.count += 1
                item = {
                    "id": f"item-{self.count}",
                    "libraryId": "lib-1",
                    "folderId": "fol-2" if folder.startswith("fol-2/") else "fol-1",
                    "relPath": folder.removeprefix("fol-2/"),
                    "media": {"chapters": [], "metadata": {}},
                }
                self.items[item["id"]] = item
            item["media"]["chapters"] = self.scanned_chapters or item["media"]["chapters"]
            item["media"]["audioFiles"] = [
                {"metadata": {"filename": name}}
                for name in files
                if name.endswith(SOUNDS) and name not in self.unread
            ]
            books = [f"{folder}/{name}" for name in files if name.endswith(".epub")]
            if "libraryFiles" not in item and books:
                item["media"]["ebookFile"] = books[0]
            elif item["media"].get("ebookFile") not in books:
                item["media"]["ebookFile"] = None  # a new one is only an extra
            item["libraryFiles"] = [
                {
                    "ino": f"{folder}/{name}",
                    "isSupplementary": f"{folder}/{name}" in books,
                    "metadata": {"filename": name, "size": len(data), "mtimeMs": number},
                }
                for name, (number, data) in files.items()
            ]
        self.unread.clear()

    def answer(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, Any]:
        if self.user == "forbidden":
            return 403, None
        if self.user == "elsewhere":
            return 301, None
        if method == "GET" and path == "/api/me":
            return 200, {"type": self.user}
        if method == "GET" and path == "/api/libraries":
            return 200, {
                "libraries": [
                    {"id": "pod", "name": "Casts", "mediaType": "podcast", "folders": []},
                    {"id": "lib-1", "name": "Books", "mediaType": "book",
                     "folders": [{"id": "fol-1"}, {"id": "fol-2"}]},
                ]
            }  # fmt: skip
        if method == "GET" and path.startswith("/api/libraries/lib-1/items"):
            return 200, {"results": list(self.items.values())}
        if method == "POST" and path in ("/api/libraries/lib-1/scan", *self._paths("scan")):
            self.scan()
            return 200, None
        if method == "POST" and path == "/api/upload":
            return self._upload(body, kind)
        match = re.fullmatch(r"/api/items/([\w-]+)(?:/(\w+))?(?:/(.+?))?(?:\?.*)?", path)
        if match is None or match[1] not in self.items:
            return 404, None
        return self._change(self.items[match[1]], method, match[2], match[3], body, kind)

    def _paths(self, act: str) -> list[str]:
        return [f"/api/items/{id}/{act}" for id in self.items]

    def _upload(self, body: bytes, kind: str) -> tuple[int, Any]:
        if not self.uploads_left:
            raise ConnectionAbortedError
        self.uploads_left -= 1
        fields, name, data = parse(body, kind)
        assert fields["library"] == "lib-1"
        parts = [fields.get(part, "") for part in ("author", "series", "title")]
        path = _path(fields["folder"], "/".join(filter(None, parts)))
        folder = self.folders.setdefault(path, {})
        self.count += 1
        folder[name] = (self.count, data)
        return 200, None

    def _change(
        self, item: dict[str, Any], method: str, act: str | None, file: str | None,
        body: bytes, kind: str,
    ) -> tuple[int, Any]:  # fmt: skip
        if (method, act) == ("GET", None):
            return 200, item
        if (method, act) == ("DELETE", "file") and file:
            del self.folders[_folder_of(item)][unquote(file).rpartition("/")[2]]
        elif (method, act) == ("PATCH", "ebook") and file:
            item["media"]["ebookFile"] = unquote(file.removesuffix("/status"))
        elif (method, act) == ("PATCH", "media"):
            item["media"]["metadata"] |= json.loads(body)["metadata"]
            for row in item["media"]["metadata"].get("authors", []):
                row["id"] = f"author-{row['name']}"
        elif (method, act) == ("POST", "chapters") and not item["media"]["audioFiles"]:
            return 500, None
        elif (method, act) == ("POST", "chapters"):
            item["media"]["chapters"] = json.loads(body)["chapters"]
        elif (method, act) == ("POST", "cover"):
            self.covers[item["id"]] = parse(body, kind)[2]
        elif (method, act) == ("DELETE", "cover"):
            del self.covers[item["id"]]
        elif (method, act) == ("GET", "cover"):
            return 200, self.covers[item["id"]]
        else:
            return 404, None
        return 200, {}


def _path(folder_id: str, path: str) -> str:
    return f"fol-2/{path}" if folder_id == "fol-2" else path


def _folder_of(item: dict[str, Any]) -> str:
    return _path(item["folderId"], item["relPath"])


def parse(body: bytes, kind: str) -> tuple[dict[str, str], str, bytes]:
    """The fields of a form, and the name and bytes of its file."""
    boundary = b"--" + kind.partition("boundary=")[2].encode()
    fields, file_name, data = {}, "", b""
    for part in body.split(boundary)[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        content = content.removesuffix(b"\r\n")
        if match := re.search(r'filename="(.*?)"', head.decode()):
            file_name, data = match[1], content
        else:
            name = re.search(r'name="(.*?)"', head.decode())
            assert name
            fields[name[1]] = content.decode()
    return fields, file_name, data


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.requests.append(f"{self.command} {self.path.partition('?')[0]}")
            if self.path == "/status":
                status, answer = 200, {"app": "audiobookshelf", "isInit": True}
                assert "Authorization" not in self.headers
            elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                status, answer = 401, None
            else:
                kind = self.headers.get("Content-Type", "")
                try:
                    status, answer = server.answer(self.command, self.path, body, kind)
                except ConnectionAbortedError:
                    self.close_connection = True
                    return
            if isinstance(answer, bytes):
                data = answer
            else:
                data = b"OK" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status == 301:
                self.send_header("Location", "https://example.org/path")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = _do

        def log_message(self, *arguments: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server.port = listener.server_address[1]
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        listener.shutdown()
        thread.join()
