"""Makes the project that later releases have to read, once for each release:

    python -m tests.release_project      writes tests/golden/projects/VERSION.{tar.xz,json}

The book has what users make or pay for: a cast, a recorded voice with its rights, takes, a
retake, a pin, edits (one undone), a review, a flag, finished files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from narrator import __version__
from tests import sound_files, studios

FOLDER = Path(__file__).parent / "golden" / "projects"
MANUSCRIPT = """\
# The Lamp

Old Tom Fenwick lit the lamp at half past nine, and sat down by the window with his niece.

“You are late,” said Tom.

“I know,” said Mary. “I ran all the way from Porthleven.”

“I would rather stand,” said Tom.

Mary came in. “Nobody stands in this house!” she said.

# The Boat

The boat lay 12 yards from the pier on 3 May 1921.

“There is nobody in it,” said Mary.

“Then row,” said Tom.
"""
CLIP_TEXT = "The harbour was quiet before dawn, and nobody in the town was up but the gulls."
CHUNK_FIELDS = "id speakers text state faults pinned reviewed flags sure source".split()
TRY_FIELDS = "number seconds level faults in_use pinned whole seed mode".split()
PICKUP_FIELDS = "chapter time chunk speaker source text note done is_lost more".split()


def make(folder: Path) -> None:
    """Makes the project in `folder`/book."""
    book, manuscript, clip = folder / "book", folder / "oldbook.md", folder / "keeper.wav"
    manuscript.write_text(MANUSCRIPT, encoding="utf-8")
    sound_files.wav(clip, sound_files.speech(6.0), sound_files.HZ)
    narrator("new", book, "--from", manuscript)
    narrator("cast", book, "--write")
    narrator(
        *("voices", "add", "keeper", clip, "--project", book, "--transcript", CLIP_TEXT),
        *("--origin", "read by Old Tom for this book", "--consent", "he agreed", "--publish"),
    )
    manifest = book / "book.yaml"
    text = manifest.read_text("utf-8").replace("  narrator: {}", "  narrator: {voice: keeper}")
    text += "output: {formats: [mp3], files: chapters}\ndisclosure: Spoken by a computer.\n"
    manifest.write_text(text, encoding="utf-8")
    narrator("render", book, "--draft")
    with studios.opened(book, draft=True) as studio:
        chunks = {chunk["text"]: chunk["id"] for chunk in studio.chapter(1)["chunks"]}
        late = chunks["“You are late,”"]
        for edit in (
            {"kind": "say", "word": "Porthleven", "spoken": "Port Levven", "chunk": None},
            {"kind": "voice", "speaker": "Mary", "voice": {"description": "A girl of sixteen"}},
        ):
            answer = studio.page.post("/api/edits", edit)
            assert answer.status == 200, answer
        assert studio.page.post("/api/undo").status == 200
        studio.page.post("/api/reviewed", {"chunks": ["1.1", "1.2"], "yes": True})
        studio.page.post("/api/flags", {"chunk": late, "note": "too fast; say it again"})
    narrator("render", book, "--draft")
    narrator("retake", late, book, "--draft", "--speed", "0.8")
    narrator("pin", late, "1", book, "--draft")
    narrator("render", book, "--draft")


def facts(book: Path) -> dict[str, Any]:
    """Returns what the program says of the project."""
    with studios.opened(book, draft=True) as studio:
        page = studio.page
        chunks = [chunk for number in (1, 2) for chunk in studio.chapter(number)["chunks"]]
        tries = {c["id"]: page.get(f"/api/chunks/{c['id']}").json["tries"] for c in chunks}
        shown = page.get("/api/book").json
    plan = json.loads(narrator("plan", book, "--draft", "--json"))
    pickups = json.loads(narrator("pickups", book, "--draft", "--json"))
    return {
        "chunks": rows(chunks, CHUNK_FIELDS),
        "tries": {chunk: rows(of_chunk, TRY_FIELDS) for chunk, of_chunk in tries.items()},
        "undo": shown["undo"]["what"],
        "redo": shown["redo"]["what"],
        "reasons": plan["reasons"],
        "pickups": rows(pickups, PICKUP_FIELDS),
    }


def rows(answer: Any, fields: list[str]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in fields} for row in answer]


def narrator(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "narrator", *map(str, arguments)]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    assert process.returncode in (0, 1), process  # 1: doubtful takes
    return process.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["NARRATOR_HOME"] = str(Path(home) / "library")
        make(Path(home))
        book = Path(home) / "book"
        (FOLDER / f"{__version__}.json").write_text(
            json.dumps(facts(book), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        with tarfile.open(FOLDER / f"{__version__}.tar.xz", "w:xz") as archive:
            archive.add(book, "book", filter=anonymous)


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leaves out owners, logs and sockets, so that an archive does not name its maker."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    is_kept = "/logs" not in member.name and not member.name.endswith(".owner")
    return member if is_kept else None


if __name__ == "__main__":
    main()
