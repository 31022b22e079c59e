"""OpenDocument texts: what of them is read, what is left out, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from manuscripts import Book, Choices, Treatment
from manuscripts.errors import ImportFailed
from manuscripts.readers.office.odt import read_odt
from narrator.importing import import_book
from tests.manuscripts.imports import reasons, whole

_SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"),
        ("draw", "drawing"), ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
        ("meta", "meta"), ("manifest", "manifest"),
    )
)  # fmt: skip
_OTHERS = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:math="http://www.w3.org/1998/Math/MathML"'
)
_STYLES = (
    '<style:style style:name="I" style:family="text"><style:text-properties '
    'fo:font-style="italic"/></style:style>'
    '<style:style style:name="B" style:family="text"><style:text-properties '
    'fo:font-weight="bold"/></style:style>'
    '<style:style style:name="V" style:family="text"><style:text-properties '
    'text:display="none"/></style:style>'
    '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Quote"/>'
    '<style:style style:name="Quote" style:family="paragraph"><style:text-properties '
    'fo:font-style="italic"/></style:style>'
    '<style:style style:name="C" style:family="paragraph"><style:paragraph-properties '
    'fo:text-align="center" fo:break-before="page"/><style:text-properties '
    'fo:font-weight="bold" fo:font-size="150%"/></style:style>'
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" '
    'style:num-format="1"/><text:list-level-style-bullet text:level="2"/></text:list-style>'
    '<text:list-style style:name="N"><text:list-level-style-number text:level="1" '
    'style:num-format=""/></text:list-style>'
)
_META = (
    "<office:meta><dc:title>The Tide</dc:title><meta:initial-creator>Jane Roe"
    "</meta:initial-creator><dc:creator>Ed</dc:creator><dc:language>en-GB</dc:language>"
    "</office:meta>"
)
_HEAD = '<text:h text:outline-level="1">One</text:h>'
_REST = "<text:p>And so the tide went out, and she with it, and nobody said a word.</text:p>"


def _flat(body: str, masters: str = "") -> str:
    return (
        f'<?xml version="1.0"?><office:document {_SPACES} {_OTHERS}>{_META}'
        f"<office:automatic-styles>{_STYLES}</office:automatic-styles>"
        f"<office:master-styles>{masters}</office:master-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document>"
    )


def _import(
    path: Path,
    body: str,
    masters: str = "",
    choices: Choices = Choices(),  # noqa: B008  # frozen
) -> Book:
    file = path / "book.fodt"
    file.write_text(_flat(_HEAD + body + _REST, masters), "utf-8")
    return whole(file, choices)


def _text(book: Book) -> str:
    return book.chapters[0].markdown


def _p(content: str, style: str = "Standard") -> str:
    return f'<text:p text:style-name="{style}">{content}</text:p>'


def _span(content: str, style: str) -> str:
    return f'<text:span text:style-name="{style}">{content}</text:span>'


def test_the_flat_and_the_packed_kind_say_the_same(tmp_path: Path) -> None:
    whole = _flat(_HEAD + _p("Here.") + _REST)
    packed = tmp_path / "book.odt"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        for name in ("content.xml", "meta.xml", "styles.xml"):
            archive.writestr(name, whole)
    flat = _import(tmp_path, _p("Here."))
    book = import_book(packed)
    assert (_text(book), book.title, book.authors) == (_text(flat), "The Tide", ("Jane Roe",))
    assert book.language == "en-GB"


def test_emphasis_is_known_by_the_styles_that_styles_stand_on(tmp_path: Path) -> None:
    body = _p(f"{_span('odd', 'I')} and {_span('bold', 'B')}") + _p("A quotation", "P1")
    assert "*odd* and **bold**\n\n*A quotation*" in _text(_import(tmp_path, body))


def test_spaces_tabs_and_line_breaks(tmp_path: Path) -> None:
    body = _p('a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d<text:soft-page-break/>e')
    assert "a b c\\\nde" in _text(_import(tmp_path, body))


def test_notes_stand_where_they_are_wanted(tmp_path: Path) -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        f"{_p('Not quite.')}</text:note-body></text:note>"
    )
    book = _import(tmp_path, _p(f"So{note} it was."))
    assert reasons(book) == {"reference to a note": 1, "note": 2}
    placed = _text(read_odt(tmp_path / "book.fodt", Choices(notes="in-place")))
    assert "So it was.\n\nNot quite." in placed


def test_deleted_and_hidden_text_and_comments_are_left_out(tmp_path: Path) -> None:
    changed = (
        "<text:tracked-changes><text:changed-region><text:deletion><office:change-info>"
        "<dc:creator>Ed</dc:creator><dc:date>2020</dc:date></office:change-info>"
        f"{_p('Gone for good.')}</text:deletion></text:changed-region></text:tracked-changes>"
    )
    comment = (
        "<office:annotation><dc:creator>Ed</dc:creator><dc:date>2020</dc:date>"
        f"{_p('Is it right?')}</office:annotation>"
    )
    hidden = f'<text:section text:display="none">{_p("Never seen.")}</text:section>'
    body = changed + _p(f"He ran{comment} off.{_span('secret', 'V')}") + hidden
    book = _import(tmp_path, body)
    assert "He ran off." in _text(book)
    assert reasons(book) == {"deleted by a tracked change": 3, "comment": 3, "hidden": 3}


def test_running_heads_contents_and_page_numbers_are_left_out(tmp_path: Path) -> None:
    masters = (
        f"<style:master-page><style:header>{_p('Roe / TIDE')}</style:header></style:master-page>"
    )
    listed = (
        "<text:table-of-content><text:index-body><text:index-title>"
        f"{_p('Contents')}</text:index-title>{_p('One 1')}</text:index-body>"
        "</text:table-of-content>"
    )
    number = _p("Page <text:page-number>7</text:page-number>.")
    book = _import(tmp_path, listed + number, masters)
    left = {"header or footer of a page": 2, "table of contents": 3, "page number": 1}
    assert reasons(book) == left


def test_lists_are_numbered_or_not_as_their_styles_say(tmp_path: Path) -> None:
    inner = f"<text:list><text:list-item>{_p('inner')}</text:list-item></text:list>"
    item = "<text:list-item>{}</text:list-item>"
    body = f'<text:list text:style-name="L">{item.format(_p("first") + inner)}'
    body += f"{item.format(_p('second'))}</text:list>"
    body += f'<text:list text:style-name="N">{item.format(_p("bare"))}</text:list>'
    assert "1. first\n\n   - inner\n\n2. second\n\nbare" in _text(_import(tmp_path, body))


def test_headings_within_lists_are_headings(tmp_path: Path) -> None:
    two = '<text:h text:outline-level="1">Two</text:h>'
    body = f"{_REST}<text:list><text:list-item>{two}</text:list-item></text:list>"
    assert [chapter.title for chapter in _import(tmp_path, body).chapters] == ["One", "Two"]


def test_tables_frames_and_pictures(tmp_path: Path) -> None:
    cells = "".join(f"<table:table-cell>{_p(cell)}</table:table-cell>" for cell in "ab")
    table = f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
    picture = (
        '<draw:frame><draw:image xlink:href="x.png"/><svg:desc>A sad dog</svg:desc></draw:frame>'
    )
    box = f"<draw:frame><draw:text-box>{_p('In the box.')}</draw:text-box></draw:frame>"
    book = _import(tmp_path, table + _p(f"Here{picture} it is{box}."))
    assert "a; b\n\nHere it is.\n\nIn the box." in _text(book)
    assert reasons(book) == {"picture": 3}


@pytest.mark.parametrize("shape", ["custom-shape", "line", "g", "frame"])
@pytest.mark.parametrize("pictures", ["omit", "read"])
def test_what_a_shape_is_called_and_shows_is_an_alternative_text(
    tmp_path: Path, shape: str, pictures: Treatment
) -> None:
    told = "<svg:title>A map</svg:title><svg:desc>The bay at low tide</svg:desc>"
    drawn = f"<draw:{shape}>{told}</draw:{shape}>"
    body = _p("Above.") + drawn + _p(f"Here{drawn} it is.")
    book = _import(tmp_path, body, choices=Choices(pictures=pictures))
    assert _text(book).count("A map: The bay at low tide") == (2 if pictures == "read" else 0)
    assert reasons(book) == ({} if pictures == "read" else {"picture": 14})


def test_ruby_formulas_and_fields(tmp_path: Path) -> None:
    ruby = (
        "<text:ruby><text:ruby-base>漢</text:ruby-base>"
        "<text:ruby-text>kan</text:ruby-text></text:ruby>"
    )
    signs = "<math:math><math:mi>x</math:mi></math:math>"
    formula = f"<draw:frame><draw:object>{signs}</draw:object></draw:frame>"
    field = "<text:author-name>Jane</text:author-name>"
    book = _import(tmp_path, _p(f"A {ruby} by {field}: {formula}."))
    assert "A 漢 by Jane: ." in _text(book).replace("\\", "")
    assert sum(reasons(book).values()) == 2


def test_objects_that_are_not_opened_are_told(tmp_path: Path) -> None:
    formula = '<draw:frame><draw:object xlink:href="Formula-1/"/></draw:frame>'
    book = _import(tmp_path, _p(f"The formula is {formula}, as you see."))
    assert any(remark.startswith("1 object in the text") for remark in book.remarks)


def test_headings_are_known_by_their_looks(tmp_path: Path) -> None:
    file = tmp_path / "book.fodt"
    pages = "".join(_p(title, "C") + _REST * 4 for title in ("The Gate", "Low Tide"))
    file.write_text(_flat(pages), "utf-8")
    assert [chapter.title for chapter in import_book(file).chapters] == ["The Gate", "Low Tide"]


def test_what_is_locked_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "book.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", b"\x93\x00 nothing")
        archive.writestr(
            "META-INF/manifest.xml",
            f"<manifest:manifest {_SPACES}><manifest:file-entry><manifest:encryption-data/>"
            "</manifest:file-entry></manifest:manifest>",
        )
    with pytest.raises(ImportFailed, match="password"):
        import_book(path)


def test_what_is_deeper_than_reason_is_refused(tmp_path: Path) -> None:
    deep = "<text:section>" * 200 + _p("x") + "</text:section>" * 200
    with pytest.raises(ImportFailed, match="deep"):
        _import(tmp_path, deep)
