"""Sources that cannot be imported: one clear error each, and nothing written."""

from __future__ import annotations

import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from manuscripts.errors import ImportFailed
from manuscripts.readers import archive
from manuscripts.readers.archive import MEMBER_LIMIT
from narrator.importing import import_book
from tests.build_epub import build_epub, page

ONE = {"one.xhtml": "<h1>One</h1><p>Some words.</p>"}


def refused(path: Path) -> str:
    """The one line that says why a source is refused."""
    with pytest.raises(ImportFailed) as caught:
        import_book(path)
    assert len(caught.value.problems) == 1
    message = str(caught.value)
    assert message.startswith(str(path.parent))
    assert "\n" not in message
    return message


def repacked(path: Path, changes: dict[str, bytes | str]) -> Path:
    """The archive with some members replaced or added."""
    with zipfile.ZipFile(path) as archive:
        members: dict[str, bytes | str] = {n: archive.read(n) for n in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (members | changes).items():
            archive.writestr(name, data)
    return path


def epub(folder: Path, **options: object) -> Path:
    return build_epub(folder / "book.epub", ONE, **options)  # type: ignore[arg-type]


# -- the file --------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.epub")


def test_an_address_is_told_to_be_one(tmp_path: Path) -> None:
    said = refused(Path("https://example.org/book.html"))
    assert "is an address, and no network is used; save what is there as a file" in said


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "book.epub").mkdir()
    assert "folder" in refused(tmp_path / "book.epub")


@pytest.mark.parametrize("suffix", [".epub", ".txt", ".md"])
def test_a_pipe(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"book{suffix}")
    assert "a named pipe" in refused(tmp_path / f"book{suffix}")


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = epub(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    assert "broken" in refused(path)


def test_an_archive_with_altered_bytes(tmp_path: Path) -> None:
    path = build_epub(tmp_path / "book.epub", {"one.xhtml": "<p>" + "tide and time " * 99 + "</p>"})
    data = bytearray(path.read_bytes())
    at = data.index(b"one.xhtml") + 40
    data[at : at + 30] = bytes(30)
    path.write_bytes(bytes(data))
    assert "OEBPS/one.xhtml: broken" in refused(path)


def test_an_archive_that_is_no_epub(tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "an archive without a manuscript" in refused(path)


# -- EPUBs -----------------------------------------------------------------------------------------


def encryption(algorithm: str) -> str:
    return f"""<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
    xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>
    <enc:EncryptionMethod Algorithm="{algorithm}"/>
    <enc:CipherData><enc:CipherReference URI="OEBPS/one.xhtml"/></enc:CipherData>
    </enc:EncryptedData></encryption>"""


LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
BOMB = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l9;</a>'
DRM = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("META-INF/container.xml", "<container/>", "names no package document"),
        ("META-INF/container.xml", "<a><b>", "META-INF/container.xml: not well-formed XML"),
        ("OEBPS/content.opf", "<a><b>", "OEBPS/content.opf: not well-formed XML"),
        ("OEBPS/one.xhtml", page("<p>café</p>").encode("latin-1"), "one.xhtml: not UTF-8 at byte"),
        ("OEBPS/one.xhtml", page('<p><img src="a.png"/></p>'), "has no text to read aloud"),
        ("OEBPS/one.xhtml", page('<section epub:type="titlepage"><h1>Sea</h1></section>'),
         "has no text to read aloud (only title page)"),
        ("OEBPS/one.xhtml", page("<div>" * 150 + "a" + "</div>" * 150),
         "one.xhtml: has elements nested more than 100 deep"),
        ("OEBPS/one.xhtml", page("<div>" * 3000 + "a" + "</div>" * 3000),
         "one.xhtml: has elements nested more than 100 deep"),
        # -- harm
        ("../../evil.sh", "x", "unsafe: a file in it is named"),
        ("/etc/passwd", "x", "unsafe: a file in it is named"),
        ("C:\\evil.exe", "x", "unsafe: a file in it is named"),
        ("a\\..\\..\\b", "x", "unsafe: a file in it is named"),
        ("OEBPS/one.xhtml", b" " * 5_000_000, "like a zip bomb"),
        ("OEBPS/one.xhtml", BOMB, "OEBPS/one.xhtml: declares XML entities"),
        ("OEBPS/content.opf", BOMB, "OEBPS/content.opf: declares XML entities"),
        ("OEBPS/one.xhtml", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hosts">]><p>&x;</p>',
         "declares XML entities"),
        # -- locks
        ("META-INF/encryption.xml", DRM, "protected by DRM"),
        ("META-INF/rights.xml", "<rights/>", "protected by DRM"),
        ("META-INF/sinf.xml", "<rights/>", "protected by DRM"),
        ("META-INF/license.lcpl", "<rights/>", "protected by DRM"),
    ],
)  # fmt: skip
def test_an_epub_with_a_member_that_is_wrong(
    tmp_path: Path, name: str, content: bytes | str, reason: str
) -> None:
    assert reason in refused(repacked(epub(tmp_path), {name: content}))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("OEBPS/content.opf", "lacks its package document, OEBPS/content.opf"),
        ("one.xhtml", "lacks OEBPS/one.xhtml"),
    ],
)
def test_an_epub_without_a_member(tmp_path: Path, name: str, reason: str) -> None:
    assert reason in refused(epub(tmp_path, drop=[name]))


def test_a_reading_order_that_names_nothing(tmp_path: Path) -> None:
    path = epub(tmp_path)
    opf = zipfile.ZipFile(path).read("OEBPS/content.opf").decode()
    path = repacked(path, {"OEBPS/content.opf": opf.replace('id="one.xhtml"', 'id="other"')})
    assert "reading order names 'one.xhtml'" in refused(path)


@pytest.mark.parametrize(
    ("encoding", "declared", "words"),
    [
        ("latin-1", '"iso-8859-1"', "café au lait"),
        ("cp1252", '"latin-1"', "café “au lait”"),  # as browsers read it
    ],
)
def test_a_declared_encoding_is_read(
    tmp_path: Path, encoding: str, declared: str, words: str
) -> None:
    text = page(f"<p>{words}</p>").replace('"utf-8"', declared).encode(encoding)
    book = import_book(repacked(epub(tmp_path), {"OEBPS/one.xhtml": text}))
    assert words in book.chapters[0].markdown


def test_an_encoding_that_a_meta_element_declares_is_read(tmp_path: Path) -> None:
    body = '<html><head><meta charset="windows-1251"/></head><body><p>Привет</p></body></html>'
    book = import_book(repacked(epub(tmp_path), {"OEBPS/one.xhtml": body.encode("cp1251")}))
    assert "Привет" in book.chapters[0].markdown


@pytest.mark.parametrize(
    "name",
    ["punycode", "undefined", "idna", "utf-7", "hex", "zlib", "rot13", "unicode_escape", "base64",
     "utf-16", "utf-32", "cp037", "no-such", "x" * 5000],
)  # fmt: skip
def test_an_encoding_that_is_none_is_utf_8_and_is_told(tmp_path: Path, name: str) -> None:
    text = page("<p>café au lait</p>").replace('"utf-8"', f'"{name}"').encode()
    book = import_book(repacked(epub(tmp_path), {"OEBPS/one.xhtml": text}))
    assert "café au lait" in book.chapters[0].markdown
    (told,) = [remark for remark in book.remarks if "as it says" in remark]
    assert told.endswith("; it was read as UTF-8.")


def test_a_member_unpacks_to_no_more_than_it_promises(tmp_path: Path) -> None:
    path = repacked(epub(tmp_path), {"OEBPS/one.xhtml": b"<p>" + bytes(40_000_000)})
    data = path.read_bytes().replace(
        (40_000_003).to_bytes(4, "little"), (900).to_bytes(4, "little")
    )
    path.write_bytes(data)
    tracemalloc.start()
    refused(path)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_document_larger_than_any_book(tmp_path: Path) -> None:
    path = epub(tmp_path)
    huge = b"<p>" + bytes(range(32, 127)) * (MEMBER_LIMIT // 95 + 1)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (members | {"OEBPS/one.xhtml": huge}).items():
            archive.writestr(name, data)
    assert "more than a book needs" in refused(path)


def test_an_archive_of_endlessly_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 200)
    path = repacked(epub(tmp_path), {f"x/{number}": b"" for number in range(201)})
    assert "files, more than a book needs" in refused(path)


def test_elements_nested_as_deep_as_allowed(tmp_path: Path) -> None:
    body = "<div><blockquote>" * 48 + "deep" + "</blockquote></div>" * 48
    path = build_epub(tmp_path / "book.epub", {"one.xhtml": body})
    assert import_book(path).chapters[0].markdown.endswith("deep\n")


@pytest.mark.parametrize(
    "algorithm", ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"]
)
def test_mangled_fonts_are_no_drm(tmp_path: Path, algorithm: str) -> None:
    path = repacked(epub(tmp_path), {"META-INF/encryption.xml": encryption(algorithm)})
    assert len(import_book(path).chapters) == 1


def test_an_archive_with_a_password(tmp_path: Path) -> None:
    path = epub(tmp_path)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(bytes(data))
    assert "password" in refused(path)


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".txt", ".md"])
def test_bytes_that_are_no_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"book{suffix}"
    path.write_bytes(b"a\n\0\0\1")
    assert f"{path}: no text" in refused(path)


def test_truncated_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_bytes("\ufeffabc".encode("utf-16-le") + b"\x00")
    assert "UTF-16" in refused(path)


def test_a_file_of_no_bytes_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kmsg"  # as /proc/kmsg, which states no bytes and waits for some
    path.touch()
    monkeypatch.setattr("manuscripts.reading.kind_of", lambda path: pytest.fail("read"))
    assert "has no text to read aloud: its size is 0 bytes" in refused(path)


@pytest.mark.parametrize("name", ["book.txt", "book.md"])
@pytest.mark.parametrize("text", ["", " \n\n", "***\n"])
def test_texts_without_words(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert "has no text to read aloud" in refused(path)


def test_an_epub_read_from_a_damaged_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    path = epub(tmp_path)
    monkeypatch.setattr(zipfile.ZipFile, "open", broken)
    assert "Input/output error" in refused(path)
