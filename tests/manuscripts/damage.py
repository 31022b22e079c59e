"""Damage as files suffer it: cut, flipped, doubled, swapped, with marks where none belong."""

from __future__ import annotations

import random
from pathlib import Path

from manuscripts import Choices
from manuscripts.errors import ImportFailed
from narrator.importing import import_book

_MARKS = (
    b"<", b">", b"&", b"]]>", b"<!--", b"-->", b"\0", b"</section>", b"<section>", b"<p>", b'"',
    b"</div>", b"<title>", b"<item>", b"&#0;", b"&#x110000;", b"\xff\xfe", b"<![CDATA[",
    b"<div>" * 120, b"<body>", b"</body>", b"{", b"]",
)  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A file with one to eight faults."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if not made:
            break
        begin = chance.randrange(len(made))
        end = min(len(made), begin + chance.choice((1, 3, 10, 50, 300)))
        piece = made[begin:end]
        made[begin:end] = chance.choice(
            (
                b"",
                piece * chance.choice((2, 20)),
                piece[::-1],
                bytes([chance.randrange(256)]) + piece[1:],
                chance.choice(_MARKS) + piece,
                made[: chance.choice((5, 50))] + piece,
            )
        )
        if not chance.randrange(6):
            del made[begin:]
    return bytes(made)


def assert_read_or_refused(path: Path) -> None:
    """That a file is imported without a loss, or refused in a line."""
    refused = ""
    try:
        book = import_book(path, Choices(notes="end"))
    except ImportFailed as error:
        refused = str(error)
    else:
        assert book.characters == book.characters_kept + book.characters_left_out
    assert "\n" not in refused
    assert "would be lost" not in refused
