"""Older encodings: recognised by what a text looks like in them, converted, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Choices
from manuscripts.encoding import decode
from manuscripts.errors import ImportFailed
from narrator.importing import import_book
from tests.manuscripts.corpus import PASSAGES
from textbase.recognise import language_of

CASES = [
    ("fr", "cp1252"), ("fr", "latin-1"), ("fr", "mac-roman"), ("de", "latin-1"), ("de", "cp437"),
    ("de", "mac-roman"), ("es", "cp1252"), ("es", "mac-roman"), ("it", "latin-1"),
    ("pt", "cp1252"), ("fi", "latin-1"), ("pl", "cp1250"), ("pl", "iso8859-2"), ("ru", "cp1251"),
    ("ru", "koi8-r"), ("ru", "cp866"), ("ru", "iso8859-5"), ("ru", "utf-16-le"), ("el", "cp1253"),
    ("zh", "gb18030"), ("zh", "utf-16-be"), ("zh-Hant", "big5"), ("ja", "cp932"),
    ("ja", "euc_jp"), ("en", "utf-16-le"), ("ru", "utf-8"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_the_encoding_of_a_text_is_recognised(language: str, encoding: str) -> None:
    text = "\n".join(PASSAGES[language]).encode(encoding, "ignore").decode(encoding)
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert (decoded.remark is None) == (encoding == "utf-8")


def test_norwegian_has_its_letters() -> None:
    text = (
        "Jeg så ikke etter meg da jeg gikk ned til båten, for nå var det mye å gjøre.\n"
        "Hva han sa om øya, hørte vi ikke, men hun lo av det og ble med oss ut på fjorden.\n"
    ) * 3
    assert language_of(text) == "no"
    decoded = decode(text.encode("latin-1"))
    assert decoded.text == text
    assert "not plain" not in (decoded.remark or "")


@pytest.mark.parametrize("language", PASSAGES)
def test_the_language_of_a_text_is_recognised(language: str) -> None:
    assert language_of(" ".join(PASSAGES[language])) == language.split("-")[0]


@pytest.mark.parametrize("text", ["", "Hm.", "12 34 56", "Kla ta blim bo " * 20])
def test_where_little_speaks_for_a_language_none_is_told(text: str) -> None:
    assert language_of(text) is None


def test_an_encoding_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Это было так.".encode("cp866"))
    book = import_book(path, Choices(encoding="cp866", language="ru"))
    assert book.chapters[0].markdown == "Это было так.\n"


@pytest.mark.parametrize(("encoding", "said"), [("cp9", "no such encoding"), ("ascii", "line 2")])
def test_an_encoding_that_does_not_fit_is_said(tmp_path: Path, encoding: str, said: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("a\né\n".encode())
    with pytest.raises(ImportFailed, match=said):
        import_book(path, Choices(encoding=encoding))


def test_a_few_bytes_of_windows_in_utf_8_are_read_and_told() -> None:
    decoded = decode(("é" * 40).encode() + "’".encode("cp1252"))
    assert decoded.text == "é" * 40 + "’"
    assert decoded.remark is not None
    assert "1 byte is not UTF-8" in decoded.remark
