"""Word documents: what of them is read, what is left out, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from manuscripts import Book, Choices
from manuscripts.errors import ImportFailed
from manuscripts.readers.office.docx import read_docx
from narrator.importing import import_book
from tests.build_docx import CENTRED, NEW_PAGE, build_docx, p, r, style, styled
from tests.manuscripts.imports import reasons, whole

_HEADING = style("Heading1", "heading 1", "", '<w:outlineLvl w:val="0"/>')
_REST = p("And so the tide went out, and she with it, and nobody said a word of that all day.")


def _document(path: Path, body: str, styles: str = "", **parts: str) -> Path:
    head = p("One", styled("Heading1"))
    return build_docx(path / "book.docx", head + body + _REST, _HEADING + styles, parts=parts)


def _import(path: Path, body: str, styles: str = "", **parts: str) -> Book:
    return whole(_document(path, body, styles, **parts))


def _text(book: Book) -> str:
    return book.chapters[0].markdown


def _p(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def _field(code: str, shown: str) -> str:
    kinds = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in
             ("begin", "separate", "end")]  # fmt: skip
    return f"{kinds[0]}<w:r><w:instrText> {code} </w:instrText></w:r>{kinds[1]}{shown}{kinds[2]}"


def test_tracked_changes_are_read_as_accepted(tmp_path: Path) -> None:
    gone = "<w:del><w:r><w:delText>went</w:delText></w:r></w:del>"
    moved = f"<w:moveFrom>{r('far ')}</w:moveFrom>"
    book = _import(tmp_path, _p(r("He "), gone, f"<w:ins>{r('ran')}</w:ins>", moved, r(" off.")))
    assert "He ran off." in _text(book)
    assert reasons(book) == {"deleted by a tracked change": 2}


def test_contents_that_never_end_are_text(tmp_path: Path) -> None:
    begun = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC</w:instrText></w:r>'
    long = p("The tide came in and went out again, as it does. " * 80)
    book = _import(tmp_path, f"<w:p>{begun}</w:p>" + long)
    assert "The tide came in" in _text(book)
    assert reasons(book) == {}


def test_a_language_that_nobody_has_set_yields_to_the_text(tmp_path: Path) -> None:
    german = "Das Haus stand am Meer, und niemand wusste, wer darin gewohnt hatte. " * 20
    run = '<w:rPr><w:lang w:val="en-US"/></w:rPr>'
    book = _import(tmp_path, p(german, run=run[7:-8]))
    assert book.language == "de"
    assert any(one.startswith("language: de, recognised; en-US is") for one in book.remarks)


def test_a_paragraph_whose_end_is_deleted_flows_into_the_next(tmp_path: Path) -> None:
    joined = "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>" + r("One half, ") + "</w:p>"
    assert "One half, and the other." in _text(_import(tmp_path, joined + p("and the other.")))


def test_deleted_rows_of_a_table_are_left_out(tmp_path: Path) -> None:
    row = f"<w:tc>{p('a')}</w:tc><w:tc>{p('b')}</w:tc>"
    gone = f"<w:tr><w:trPr><w:del/></w:trPr>{row}</w:tr>"
    book = _import(tmp_path, f"<w:tbl><w:tr>{row}</w:tr>{gone}</w:tbl>")
    assert "a; b" in _text(book)
    assert reasons(book) == {"deleted by a tracked change": 2}


def test_hidden_text_comments_and_running_heads_are_left_out(tmp_path: Path) -> None:
    said = _p(r("Seen"), r("hidden", "<w:vanish/>"), r(" here."))
    comment = f'<w:comment w:id="0">{p("Is it right?")}</w:comment>'
    book = _import(tmp_path, said, comments=comment, header=p("Roe / TIDE / 3"))
    assert "Seen here." in _text(book)
    assert reasons(book) == {"hidden": 1, "comment": 3, "header or footer of a page": 3}


def test_notes_stand_where_they_are_wanted(tmp_path: Path) -> None:
    refers = _p(r("So"), '<w:r><w:footnoteReference w:id="2"/></w:r>', r(" it was."))
    notes = (
        f'<w:footnote w:type="separator" w:id="0">{p("-")}</w:footnote>'
        f'<w:footnote w:id="2">{p("Not quite.")}</w:footnote>'
        f'<w:footnote w:id="3">{p("Lonely.")}</w:footnote>'
    )
    book = _import(tmp_path, refers, footnotes=notes)
    assert reasons(book) == {"reference to a note": 1, "note": 3}
    path = tmp_path / "book.docx"
    placed = _text(read_docx(path, Choices(notes="in-place")))
    assert "So it was.\n\nNot quite." in placed


def test_a_bookmark_that_is_named_as_those_of_notes_here_begins_no_note(tmp_path: Path) -> None:
    mark = '<w:p><w:bookmarkStart w:id="1" w:name="n-5"/></w:p>'
    book = _import(tmp_path, p("Above it.") + mark + p("Below it."))
    assert "Below it." in _text(book)
    assert not book.left_out


def test_a_reference_to_a_note_that_is_missing_is_no_fault(tmp_path: Path) -> None:
    assert "So." in _text(
        _import(tmp_path, _p(r("So."), '<w:r><w:endnoteReference w:id="9"/></w:r>'))
    )


def test_emphasis_is_known_by_styles_and_by_lines_but_not_in_links(tmp_path: Path) -> None:
    line = '<w:u w:val="single"/>'
    character = (
        '<w:style w:type="character" w:styleId="E"><w:name w:val="Emphasis"/>'
        "<w:rPr><w:i/></w:rPr></w:style>"
    )
    body = _p(
        r("odd", '<w:rStyle w:val="E"/>'), r(" and "), r("more", line), r(" "), r("bold", "<w:b/>"),
        f'<w:hyperlink r:id="gone">{r(" link", line)}</w:hyperlink>',
        r(" no", '<w:i w:val="0"/>'),
    )  # fmt: skip
    assert "*odd* and *more* **bold** link no" in _text(_import(tmp_path, body, character))


def test_words_in_boxes_controls_fields_and_ruby_are_read_once(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{p('In the box.')}</w:txbxContent>"
    both = (
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing>"
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    ruby = f"<w:r><w:ruby><w:rt>{r('kan')}</w:rt><w:rubyBase>{r('漢')}</w:rubyBase></w:ruby></w:r>"
    simple = f"<w:fldSimple>{r(' simple')}</w:fldSimple><w:bdo>{r(' bidi')}</w:bdo>"
    control = f"<w:sdt><w:sdtContent>{p('Controlled.')}</w:sdtContent></w:sdt>"
    book = _import(tmp_path, _p(r("Text "), ruby, simple, both) + control)
    assert "Text 漢 simple bidi\n\nIn the box.\n\nControlled." in _text(book)
    assert reasons(book) == {"ruby annotation": 1}


def test_contents_and_numbers_of_pages_are_left_out(tmp_path: Path) -> None:
    page = _p(r("On page "), _field("PAGE", r("17")), r("."))
    listed = _p(_field("TOC \\o", r("One 1")))
    styled_entry = p("Two 9", styled("T1"))
    book = _import(tmp_path, page + listed + styled_entry, style("T1", "toc 1"))
    assert reasons(book) == {"page number": 1, "table of contents": 4}


def test_signs_hyphens_and_formulas(tmp_path: Path) -> None:
    fraction = (
        "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>n</m:t></m:r></m:den></m:f></m:oMath>"
    )
    row = "<m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath>"
    body = _p(
        r("A"), "<w:r><w:noBreakHyphen/></w:r>", r("b "),
        '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>', row, r(" and "), fraction, r("."),
    )  # fmt: skip
    book = _import(tmp_path, body)
    assert "A‑b ☺a+b and ." in _text(book)
    assert any("formula" in reason for reason in reasons(book))


def test_pictures_are_told_by_what_is_said_of_them(tmp_path: Path) -> None:
    picture = '<w:drawing><wp:inline><wp:docPr descr="A sad dog"/></wp:inline></w:drawing>'
    path = _document(tmp_path, _p(f"<w:r>{picture}</w:r>"))
    assert reasons(import_book(path)) == {"picture": 3}
    assert "A sad dog" in _text(read_docx(path, Choices(pictures="read")))


def test_lists_are_numbered_or_not_as_they_say(tmp_path: Path) -> None:
    levels = "".join(
        f'<w:lvl w:ilvl="{n}"><w:numFmt w:val="{kind}"/></w:lvl>'
        for n, kind in enumerate(("decimal", "bullet", "none"))
    )
    numbering = (
        f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    )

    def item(text: str, level: int) -> str:
        return p(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>')

    body = item("first", 0) + item("inner", 1) + item("second", 0) + item("bare", 2)
    text = _text(_import(tmp_path, body, numbering=numbering))
    assert "1. first\n\n   - inner\n\n2. second\n\nbare" in text


def test_a_language_is_marked_where_it_is_another(tmp_path: Path) -> None:
    main, other = '<w:lang w:val="en-GB"/>', '<w:lang w:val="fr-FR"/>'
    long = "It was a long day, and the longer it went on the less was said of it by any of them."
    french = "Il faut cultiver notre jardin, dit Candide, et tous les autres sont de son avis."
    book = _import(tmp_path, p(long, "", main) * 5 + p(french, "", other))
    assert book.language == "en-GB"
    assert f"[language: fr-FR]\n\n{french}" in _text(book)


def test_styles_name_headings_and_title_in_any_language(tmp_path: Path) -> None:
    styles = (
        style("berschrift1", "heading 1")
        + style("Kapitel", "Kapitel", "berschrift1")
        + style("Titel", "Title")
    )
    body = p("Die Tür", styled("Titel")) + p("Ebbe", styled("Kapitel")) + _REST
    body += p("Flut", styled("berschrift1")) + _REST
    core = "<dc:title>Document1</dc:title><dc:creator>Jana Roe</dc:creator>"
    book = import_book(build_docx(tmp_path / "book.docx", body, styles, core))
    assert [chapter.title for chapter in book.chapters] == ["Ebbe", "Flut"]
    assert (book.title, book.authors) == ("Die Tür", ("Jana Roe",))


def test_what_programs_write_is_no_title_and_no_author(tmp_path: Path) -> None:
    core = "<dc:title>Microsoft Word - tide.doc</dc:title><dc:creator>python-docx</dc:creator>"
    book = import_book(build_docx(tmp_path / "tide.docx", _REST, core=core))
    assert (book.is_titled, book.authors) == (False, ("Unknown",))


def test_a_document_with_macros_is_read(tmp_path: Path) -> None:
    path = _document(tmp_path, p("Here."))
    other = path.rename(tmp_path / "book.docm")
    assert "Here." in _text(import_book(other))


def test_the_strict_kind_is_read(tmp_path: Path) -> None:
    path, strict = _document(tmp_path, p("Here.")), tmp_path / "strict.docx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(strict, "w") as new:
        for name in old.namelist():
            text = old.read(name).replace(
                b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
                b"http://purl.oclc.org/ooxml/wordprocessingml/main",
            )
            new.writestr(name, text)
    book = import_book(strict)
    assert "Here." in _text(book)
    assert book.chapters[0].title == "One"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"), "password"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "old Word"),
        (b"PK\x03\x04 nothing", "not a Word document, or broken"),
    ],
)
def test_what_is_no_document_is_refused_in_words(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "book.docx"
    path.write_bytes(data)
    with pytest.raises(ImportFailed, match=said):
        import_book(path)


def test_a_document_with_entities_is_refused(tmp_path: Path) -> None:
    path, bad = _document(tmp_path, p("Here.")), tmp_path / "bad.docx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "word/document.xml":
                text = text.replace(b"?>", b'?><!DOCTYPE x [<!ENTITY a "b">]>', 1)
            new.writestr(name, text)
    with pytest.raises(ImportFailed, match="entities"):
        import_book(bad)


def test_a_page_begins_with_what_says_so(tmp_path: Path) -> None:
    pages = "".join(p(title, NEW_PAGE + CENTRED) + _REST * 3 for title in ("The Gate", "Low Tide"))
    book = import_book(build_docx(tmp_path / "book.docx", pages))
    assert [chapter.title for chapter in book.chapters] == ["The Gate", "Low Tide"]


def test_numbers_that_word_counts_for_headings_are_written(tmp_path: Path) -> None:
    level = '<w:start w:val="1"/><w:numFmt w:val="%s"/><w:lvlText w:val="%s"/></w:lvl>'
    levels = "".join(
        f'<w:lvl w:ilvl="{depth}">{level % said}'
        for depth, said in enumerate((("upperRoman", "Part %1"), ("decimal", "Chapter %2")))
    )
    numbering = f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
    numbering += '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    styles = "".join(
        style(f"Heading{n}", f"heading {n}", look=f'<w:numPr><w:ilvl w:val="{n - 1}"/>'
              '<w:numId w:val="1"/></w:numPr>')
        for n in (1, 2)
    )  # fmt: skip
    part, chapter = styled("Heading1"), styled("Heading2")
    body = (
        p("The Sea", part) + p("", chapter) + p("He came.") + p("The Door", chapter)
        + p("He went.") + p("", part) + p("", chapter) + p("The end of it.")
    )  # fmt: skip
    path = build_docx(tmp_path / "book.docx", body, styles, parts={"numbering": numbering})
    book = import_book(path)
    assert [chapter.title for chapter in book.chapters] == [
        "Part I. The Sea: Chapter 1",
        "Chapter 2. The Door",
        "Part II, Chapter 1",
    ]  # fmt: skip
    assert not any("on the way in" in remark for remark in book.remarks)
