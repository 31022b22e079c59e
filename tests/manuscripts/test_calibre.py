"""MOBI and its kin, by a converter that stands in for Calibre; once by Calibre, where it is."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from manuscripts.errors import ImportFailed
from manuscripts.readers.ebook import calibre
from narrator.importing import import_book
from tests.build_epub import build_epub

PAGES = {
    "one.xhtml": "<h1>Chapter 1</h1><p>It was her door.</p>",
    "two.xhtml": "<h1>Chapter 2</h1><p>It was open.</p>",
}
MOBI = b"Novel".ljust(60, b"\0") + b"BOOKMOBI" + bytes(40)


@pytest.fixture
def mobi(tmp_path: Path) -> Path:
    path = tmp_path / "-rf $(odd) name.mobi"
    path.write_bytes(MOBI)
    return path


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a program that is found as Calibre's: it runs some lines of Python."""

    def make(*lines: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "ebook-convert"
        script = tmp_path / "convert.py"
        script.write_text("\n".join(("import shutil, sys, time", *lines)), "utf-8")
        # a first line `#!` cannot name an interpreter whose path has a space
        command = shlex.join((sys.executable, str(script)))
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return program

    return make


def test_a_book_is_the_epub_that_calibre_makes(mobi: Path, tmp_path: Path, converter) -> None:
    made = build_epub(tmp_path / "made.epub", PAGES)
    converter(f"shutil.copyfile({str(made)!r}, sys.argv[2])")
    book = import_book(mobi)
    assert [chapter.title for chapter in book.chapters] == ["Chapter 1", "Chapter 2"]
    assert (book.format, book.source) == ("MOBI or AZW3", mobi.name)
    assert any("the EPUB that Calibre makes" in remark for remark in book.remarks)


def test_the_file_is_given_under_a_name_that_is_no_option(
    mobi: Path, tmp_path: Path, converter
) -> None:
    told = tmp_path / "told"
    converter(f"open({str(told)!r}, 'w').write('|'.join(sys.argv[1:])); sys.exit('no')")
    with pytest.raises(ImportFailed, match="could not convert it: no"):
        import_book(mobi)
    names = [Path(name).name for name in told.read_text().split("|")]
    assert names == ["book.mobi", "book.epub"]


def test_a_book_without_a_title_is_called_as_the_file(
    mobi: Path, tmp_path: Path, converter
) -> None:
    made = build_epub(tmp_path / "made.epub", PAGES, metadata="<dc:language>en</dc:language>")
    converter(f"shutil.copyfile({str(made)!r}, sys.argv[2])")
    assert import_book(mobi).title == "-rf $(odd) name"


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["print('Traceback'); sys.exit('ValueError: bad index\\n\\n')"], "ValueError: bad index"),
        (["sys.exit(3)"], "it ended with 3 and wrote nothing"),
        (["print('calibre.ebooks.DRMError: DRM'); sys.exit(1)"], "import a copy without"),
        (["open(sys.argv[2], 'w').write('no')"], "as Calibre's EPUB: not an EPUB"),
        (["print('done')"], "Calibre could not convert it: done"),
    ],
)
def test_failures_are_told_in_a_line(mobi: Path, lines: list[str], what: str, converter) -> None:
    converter(*lines)
    with pytest.raises(ImportFailed) as failure:
        import_book(mobi)
    assert what in str(failure.value)
    assert str(failure.value).startswith(f"{mobi}: ")
    assert "\n" not in str(failure.value)


def test_a_converter_that_hangs_is_ended(
    mobi: Path, monkeypatch: pytest.MonkeyPatch, converter
) -> None:
    converter("time.sleep(600)")
    monkeypatch.setattr(calibre, "_TIMEOUT_SECONDS", 0.05)
    with pytest.raises(ImportFailed, match="did not end within"):
        import_book(mobi)


def test_without_calibre_it_is_said_what_to_install(
    mobi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(calibre, "_BUNDLED", Path("nowhere"))
    with pytest.raises(ImportFailed) as failure:
        import_book(mobi)
    assert "install it (https://calibre-ebook.com)" in str(failure.value)
    assert "ebook-convert '-rf $(odd) name.mobi' book.epub" in str(failure.value)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ebook-convert") is None, reason="Calibre is not installed")
@pytest.mark.parametrize("ending", ["mobi", "azw3"])
def test_calibre_s_own_files_are_read(tmp_path: Path, ending: str) -> None:
    made = build_epub(tmp_path / "made.epub", PAGES)
    command = shutil.which("ebook-convert")
    assert command is not None
    calibre._run([command, str(made), str(tmp_path / f"book.{ending}")], tmp_path)
    book = import_book(tmp_path / f"book.{ending}")
    assert [chapter.title for chapter in book.chapters] == ["Chapter 1", "Chapter 2"]
    assert book.words_kept == import_book(made).words_kept
