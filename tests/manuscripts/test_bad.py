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


# -- what an EPUB must have ------------------------------------------------------------------------


def test_a_container_without_a_package(tmp_path: Path) -> None:
    path = repacked(epub(tmp_path), {"META-INF/container.xml": "<container/>"})
    assert "names no package document" in refused(path)


def test_a_missing_package(tmp_path: Path) -> None:
    assert "lacks its package document, OEBPS/content.opf" in refused(
        epub(tmp_path, drop=["OEBPS/content.opf"])
    )


def test_a_missing_chapter(tmp_path: Path) -> None:
    assert "lacks OEBPS/one.xhtml" in refused(epub(tmp_path, drop=["one.xhtml"]))


def test_a_reading_order_that_names_nothing(tmp_path: Path) -> None:
    path = epub(tmp_path)
    opf = zipfile.ZipFile(path).read("OEBPS/content.opf").decode()
    path = repacked(path, {"OEBPS/content.opf": opf.replace('id="one.xhtml"', 'id="other"')})
    assert "reading order names 'one.xhtml'" in refused(path)


@pytest.mark.parametrize("name", ["META-INF/container.xml", "OEBPS/content.opf"])
def test_xml_that_is_not_well_formed(tmp_path: Path, name: str) -> None:
    path = repacked(epub(tmp_path), {name: "<package><unclosed>"})
    assert f"{name}: not well-formed XML" in refused(path)


def test_text_in_a_broken_encoding(tmp_path: Path) -> None:
    path = repacked(epub(tmp_path), {"OEBPS/one.xhtml": page("<p>caf\u00e9</p>").encode("latin-1")})
    assert "OEBPS/one.xhtml: not UTF-8 at byte" in refused(path)


def test_a_declared_encoding_is_read(tmp_path: Path) -> None:
    text = page("<p>café au lait</p>").replace('"utf-8"', '"iso-8859-1"').encode("latin-1")
    book = import_book(repacked(epub(tmp_path), {"OEBPS/one.xhtml": text}))
    assert "café" in book.chapters[0].markdown


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


def test_old_encodings_are_read_as_browsers_read_them(tmp_path: Path) -> None:
    text = page("<p>caf\xe9 \x93au lait\x94</p>").replace('"utf-8"', '"latin-1"').encode("latin-1")
    book = import_book(repacked(epub(tmp_path), {"OEBPS/one.xhtml": text}))
    assert "café “au lait”" in book.chapters[0].markdown
    body = (
        '<html><head><meta charset="windows-1251"/></head><body><p>Привет, книга</p></body></html>'
    )
    book = import_book(repacked(epub(tmp_path), {"OEBPS/one.xhtml": body.encode("cp1251")}))
    assert "Привет, книга" in book.chapters[0].markdown


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


def test_a_book_without_words(tmp_path: Path) -> None:
    path = build_epub(tmp_path / "book.epub", {"one.xhtml": '<p><img src="a.png"/></p>'})
    assert "has no text to read aloud" in refused(path)


def test_a_book_of_front_matter_alone(tmp_path: Path) -> None:
    body = '<section epub:type="titlepage"><h1>The Sea Door</h1></section>'
    path = build_epub(tmp_path / "book.epub", {"one.xhtml": body})
    assert "has no text to read aloud (only title page)" in refused(path)


# -- harm ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../evil.sh", "/etc/passwd", "C:\\evil.exe", "a\\..\\..\\b"])
def test_names_that_leave_the_archive(tmp_path: Path, name: str) -> None:
    path = repacked(epub(tmp_path), {name: "x"})
    assert "unsafe: a file in it is named" in refused(path)


def test_a_member_that_unpacks_to_far_more_than_its_size(tmp_path: Path) -> None:
    path = repacked(epub(tmp_path), {"OEBPS/one.xhtml": b" " * 5_000_000})
    assert "like a zip bomb" in refused(path)


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


@pytest.mark.parametrize("name", ["OEBPS/one.xhtml", "OEBPS/content.opf"])
def test_entities_that_grow_without_bound(tmp_path: Path, name: str) -> None:
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    bomb = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]><a>&l9;</a>'
    path = repacked(epub(tmp_path), {name: bomb})
    assert f"{name}: declares XML entities" in refused(path)


def test_entities_that_read_files_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    bomb = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><html><body>&x;</body></html>'
    path = repacked(epub(tmp_path), {"OEBPS/one.xhtml": bomb})
    assert "declares XML entities" in refused(path)


@pytest.mark.parametrize("depth", [150, 3000])
def test_elements_nested_beyond_reason(tmp_path: Path, depth: int) -> None:
    body = "<div>" * depth + "deep" + "</div>" * depth
    path = build_epub(tmp_path / "book.epub", {"one.xhtml": body})
    assert "one.xhtml: has elements nested more than 100 deep" in refused(path)


def test_elements_nested_as_deep_as_allowed(tmp_path: Path) -> None:
    body = "<div><blockquote>" * 48 + "deep" + "</blockquote></div>" * 48
    path = build_epub(tmp_path / "book.epub", {"one.xhtml": body})
    assert import_book(path).chapters[0].markdown.endswith("deep\n")


# -- locks -----------------------------------------------------------------------------------------


def encryption(algorithm: str) -> str:
    return f"""<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
    xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>
    <enc:EncryptionMethod Algorithm="{algorithm}"/>
    <enc:CipherData><enc:CipherReference URI="OEBPS/one.xhtml"/></enc:CipherData>
    </enc:EncryptedData></encryption>"""


def test_encrypted_documents(tmp_path: Path) -> None:
    text = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    path = repacked(epub(tmp_path), {"META-INF/encryption.xml": text})
    assert "protected by DRM" in refused(path)


@pytest.mark.parametrize("name", ["rights.xml", "sinf.xml", "license.lcpl"])
def test_licences_of_drm(tmp_path: Path, name: str) -> None:
    path = repacked(epub(tmp_path), {f"META-INF/{name}": "<rights/>"})
    assert "protected by DRM" in refused(path)


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
