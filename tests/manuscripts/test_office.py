"""Word, OpenDocument and RTF: what of them is read, what is left out, and what is refused."""

from __future__ import annotations

import random
import re
import zipfile
from pathlib import Path

import pytest

from manuscripts import Book, Choices, Treatment
from manuscripts.errors import ImportFailed
from narrator.importing import import_book, write_project
from narrator.pipeline import checking
from narrator.pipeline.manuscript import read_manuscript
from tests.build_docx import CENTRED, NEW_PAGE, build_docx, p, r, style, styled
from tests.effort import quick
from tests.manuscripts.damage import assert_read_or_refused, damaged
from tests.manuscripts.imports import reasons, whole
from tests.manuscripts.office import (
    NAMESPACES,
    ODT_HEADING,
    SENTENCE,
    Write,
    docx,
    field,
    flat_odt,
    listed,
    numbering,
    odt,
    odt_p,
    odt_span,
    paragraph,
    rtf,
)


def _text(book: Book) -> str:
    return book.chapters[0].markdown


def _titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


# -- what is read, and what is left out ------------------------------------------------------------

_BOX = f"<w:txbxContent>{p('In the box.')}</w:txbxContent>"
_TWO_BOXES = (
    f"<w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx>{_BOX}</wps:txbx></w:drawing>"
    f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{_BOX}</v:textbox></w:pict></mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)
_CELLS = f"<w:tc>{p('a')}</w:tc><w:tc>{p('b')}</w:tc>"
_FRACTION = (
    "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>"
    "<m:den><m:r><m:t>n</m:t></m:r></m:den></m:f></m:oMath>"
)
_LINE = '<w:u w:val="single"/>'
_EMPHASIS = (
    '<w:style w:type="character" w:styleId="E"><w:name w:val="Emphasis"/>'
    "<w:rPr><w:i/></w:rPr></w:style>"
)
_ODT_ITEM = "<text:list-item>{}</text:list-item>".format
_ODT_CELLS = "".join(f"<table:table-cell>{odt_p(cell)}</table:table-cell>" for cell in "ab")
_RTF_ROW = r"\trowd\pard\intbl {}\cell {}\cell\row ".format
_FORMULA = "formula without alternative text, whose sentence is incomplete: "

CASES: dict[str, tuple[Write, str, dict[str, int]]] = {
    "docx: tracked changes are accepted": (
        docx(paragraph(r("He "), "<w:del><w:r><w:delText>went</w:delText></w:r></w:del>",
             f"<w:ins>{r('ran')}</w:ins>", f"<w:moveFrom>{r('far ')}</w:moveFrom>", r(" off."))),
        "He ran off.", {"deleted by a tracked change": 2},
    ),
    "docx: a paragraph whose end is deleted flows into the next": (
        docx("<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>" + r("One half, ") + "</w:p>"
             + p("and the other.")),
        "One half, and the other.", {},
    ),
    "docx: deleted rows of a table": (
        docx(f"<w:tbl><w:tr>{_CELLS}</w:tr><w:tr><w:trPr><w:del/></w:trPr>{_CELLS}</w:tr></w:tbl>"),
        "a; b", {"deleted by a tracked change": 2},
    ),
    "docx: hidden text, comments and running heads": (
        docx(paragraph(r("Seen"), r("hidden", "<w:vanish/>"), r(" here.")),
             comments=f'<w:comment w:id="0">{p("Is it right?")}</w:comment>',
             header=p("Roe / TIDE / 3")),
        "Seen here.", {"hidden": 1, "comment": 3, "header or footer of a page": 3},
    ),
    "docx: a reference to a note that is missing": (
        docx(paragraph(r("So."), '<w:r><w:endnoteReference w:id="9"/></w:r>')), "So.", {},
    ),
    "docx: emphasis by styles and by lines, but not in links": (
        docx(paragraph(
            r("odd", '<w:rStyle w:val="E"/>'), r(" and "), r("more", _LINE), r(" "),
            r("bold", "<w:b/>"), '<w:hyperlink r:id="gone"><w:ins>', r(" link", _LINE),
            "</w:ins></w:hyperlink>",
            r(" no", '<w:i w:val="0"/>')), _EMPHASIS),
        "*odd* and *more* **bold** link no", {},
    ),
    "docx: boxes, controls, simple fields and ruby": (
        docx(paragraph(
            r("Text "), f"<w:r><w:ruby><w:rt>{r('kan')}</w:rt><w:rubyBase>{r('漢')}</w:rubyBase>"
            f"</w:ruby></w:r><w:fldSimple>{r(' simple')}</w:fldSimple><w:bdo>{r(' bidi')}</w:bdo>",
            _TWO_BOXES) + f"<w:sdt><w:sdtContent>{p('Controlled.')}</w:sdtContent></w:sdt>"),
        "Text 漢 simple bidi\n\nIn the box.\n\nControlled.", {"ruby annotation": 1},
    ),
    "docx: contents and numbers of pages": (
        docx(paragraph(r("On page "), field("PAGE", r("17")), r("."))
             + paragraph(field("TOC \\o", r("One 1"))) + p("Two 9", styled("T1")),
             style("T1", "toc 1")),
        "On page .", {"page number": 1, "table of contents": 4},
    ),
    "docx: numbers of pages in simple fields": (
        docx(paragraph(r("On page "), f'<w:fldSimple w:instr=" PAGE ">{r("17")}</w:fldSimple>')),
        "On page\n", {"page number": 1},
    ),
    "docx: a paragraph that is deleted is no scene break": (
        docx(p("Above.") + paragraph(f"<w:del>{r('Gone.')}</w:del>") + p("Below.")),
        "Above.\n\nBelow.", {"deleted by a tracked change": 1},
    ),
    "docx: contents that never end are text": (
        docx('<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC'
             "</w:instrText></w:r></w:p>" + p("The tide came in and went out again. " * 90)),
        "The tide came in", {},
    ),
    "docx: signs, hyphens and formulas": (
        docx(paragraph(
            r("A"), "<w:r><w:noBreakHyphen/></w:r>", r("b "),
            '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>',
            "<m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath>", r(" and "), _FRACTION, r("."))),
        "A‑b ☺a+b and .", {f"{_FORMULA}“A‑b ☺a+b and .”": 1},
    ),
    "docx: lists": (
        docx("".join(p(text, listed(level)) for text, level in
                     (("first", 0), ("inner", 1), ("second", 0), ("bare", 2))),
             numbering=numbering("decimal %", "bullet", "none")),
        "1. first\n\n   - inner\n\n2. second\n\nbare", {},
    ),
    "odt: emphasis by the styles that styles stand on": (
        odt(odt_p(f"{odt_span('odd', 'I')} and {odt_span('bold', 'B')}")
            + odt_p("A quotation", "P1")),
        "*odd* and **bold**\n\n*A quotation*", {},
    ),
    "odt: spaces, tabs and line breaks": (
        odt(odt_p('a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d<text:soft-page-break/>e')),
        "a b c\\\nde", {},
    ),
    "odt: deleted and hidden text, and comments": (
        odt("<text:tracked-changes><text:changed-region><text:deletion><office:change-info>"
            "<dc:creator>Ed</dc:creator><dc:date>2020</dc:date></office:change-info>"
            f"{odt_p('Gone for good.')}</text:deletion></text:changed-region>"
            "</text:tracked-changes>"
            + odt_p("He ran<office:annotation><dc:creator>Ed</dc:creator><dc:date>2020</dc:date>"
                    f"{odt_p('Is it right?')}</office:annotation> off.{odt_span('secret', 'V')}")
            + f'<text:section text:display="none">{odt_p("Never seen.")}</text:section>'),
        "He ran off.", {"deleted by a tracked change": 3, "comment": 3, "hidden": 3},
    ),
    "odt: running heads, contents and numbers of pages": (
        odt("<text:table-of-content><text:table-of-content-source><text:index-title-template>"
            "Contents</text:index-title-template></text:table-of-content-source><text:index-body>"
            f"<text:index-title>{odt_p('Contents')}</text:index-title>{odt_p('One 1')}"
            "</text:index-body></text:table-of-content>"
            + odt_p("Page <text:page-number>7</text:page-number>."),
            f"<style:master-page><style:header>{odt_p('Roe / TIDE')}</style:header>"
            "</style:master-page>"),
        "Page .",
        {"header or footer of a page": 2, "table of contents": 3, "page number": 1},
    ),
    "odt: lists": (
        odt('<text:list text:style-name="L">'
            + _ODT_ITEM(odt_p("first") + f"<text:list>{_ODT_ITEM(odt_p('inner'))}</text:list>")
            + _ODT_ITEM(odt_p("second")) + '</text:list><text:list text:style-name="N">'
            + _ODT_ITEM(odt_p("bare")) + "</text:list>"),
        "1. first\n\n   - inner\n\n2. second\n\nbare", {},
    ),
    "odt: tables, frames and pictures": (
        odt(f"<table:table><table:table-row>{_ODT_CELLS}</table:table-row></table:table>"
            + odt_p('Here<draw:frame><draw:image xlink:href="x.png"/><svg:desc>A sad dog</svg:desc>'
                    "</draw:frame> it is<draw:frame><draw:text-box>" + odt_p("In the box.")
                    + "</draw:text-box></draw:frame>.")),
        "a; b\n\nHere it is.\n\nIn the box.", {"picture": 3},
    ),
    "odt: captions in frames": (
        odt(odt_p("<draw:frame><draw:text-box>" + odt_p("A red house", "Figure")
                  + "</draw:text-box></draw:frame>")),
        SENTENCE, {"caption of a picture": 3},
    ),
    "odt: ruby, formulas and fields": (
        odt(odt_p("A <text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kan"
                  "</text:ruby-text></text:ruby> by <text:author-name>Jane</text:author-name>: "
                  "<draw:frame><draw:object><math:math><math:mi>x</math:mi></math:math>"
                  "</draw:object></draw:frame>.")),
        "A 漢 by Jane: .", {"ruby annotation": 1, f"{_FORMULA}“A 漢 by Jane: .”": 1},
    ),
    "rtf: emphasis, but not in links": (
        rtf(r"{\i odd} and {\b bold\b0  not} and {\ul more}"
            r"{\field{\*\fldinst HYPERLINK x}{\fldrslt{\ul  link}}}\par "),
        "*odd* and **bold** not and *more* link", {},
    ),
    "rtf: what is hidden, deleted and beside the text": (
        rtf(r"{\header Roe / TIDE\par}He {\deleted went}{\revised ran}{\v secretly} off."
            r"{\*\atnauthor Ed}\chatn{\*\annotation Is it right?}\par "
            r"Page {\field{\*\fldinst  PAGE }{\fldrslt 7}}.\par "
            r"{\field{\*\fldinst TOC \\o}{\fldrslt One 1\par Two 9\par}}"),
        "He ran off.",
        {"header or footer of a page": 2, "deleted by a tracked change": 1, "hidden": 1,
         "comment": 3, "page number": 1, "table of contents": 4},
    ),
    "rtf: lists by their marks": (
        rtf(r"{\listtext 1.\tab}first\par{\listtext 2.\tab}second\par"
            r"\pard plain\par\bullet\tab typed\par{\pntext\'b7\tab}dot\par "),
        "1. first\n\n2. second\n\nplain\n\n- typed\n\n- dot", {},
    ),
    "rtf: tables, boxes and pictures": (
        rtf(_RTF_ROW("a", "b") + _RTF_ROW("c", "d") + r"\pard Here"
            r"{\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A sad dog}}}\pngblip 89504e}}"
            r"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt In the box.\par}}} it is.\par "),
        "a; b\n\nc; d\n\nHere it is.\n\nIn the box.", {"picture": 3},
    ),
    "rtf: binary data": (rtf(r"{\pict\bin6 }}{{\\}seen\par "), "seen", {}),
    "rtf: an unknown code page is that of Windows": (
        rtf(r"\ansicpg99999\cpg37 caf\'e9\par "), "café", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("write", "text", "left_out"), CASES.values(), ids=CASES)
def test_what_is_read_and_what_is_left_out(
    write: Write, text: str, left_out: dict[str, int], tmp_path: Path
) -> None:
    book = whole(write(tmp_path))
    assert text in _text(book)
    assert reasons(book) == left_out


_NOTE_PARAGRAPH = odt_p("Not quite.")
NOTES = {
    "docx": docx(
        paragraph(r("So"), '<w:r><w:footnoteReference w:id="2"/></w:r>', r(" it was.")),
        footnotes=f'<w:footnote w:type="separator" w:id="0">{p("-")}</w:footnote>'
        f'<w:footnote w:id="2">{p("Not quite.")}</w:footnote>'
        f'<w:footnote w:id="3">{p("Lonely.")}</w:footnote>',
    ),
    "odt": odt(
        odt_p(
            "So<text:note><text:note-citation>1</text:note-citation><text:note-body>"
            f"{_NOTE_PARAGRAPH}</text:note-body></text:note> it was."
        )
    ),
    "docx, in a table": docx(
        f"<w:tbl><w:tr>{_CELLS}</w:tr><w:tr><w:tc>"
        + paragraph(r("So"), '<w:r><w:footnoteReference w:id="2"/></w:r>', r(" it was."))
        + f"</w:tc><w:tc>{p('b')}</w:tc></w:tr></w:tbl>",
        footnotes=f'<w:footnote w:id="2">{p("Not quite.")}</w:footnote>',
    ),
    "rtf": rtf(r"So{\super\chftn}{\footnote\pard {\super\chftn} Not quite.} it was.\par "),
}


@pytest.mark.parametrize("kind", NOTES)
def test_notes_are_read_where_they_are_wanted(kind: str, tmp_path: Path) -> None:
    path = NOTES[kind](tmp_path)
    note_words = 3 if kind == "docx" else 2
    assert reasons(whole(path)) == {"reference to a note": 1, "note": note_words}
    text = _text(import_book(path, Choices(notes="in-place")))
    assert re.search(r"So it was\.( b)?\n\nNot quite\.", text)


_PICTURE = '<w:r><w:drawing><wp:inline><wp:docPr descr="A sad dog"/></wp:inline></w:drawing></w:r>'
_SHAPE = "<draw:{0}><svg:title>A sad</svg:title><svg:desc>dog</svg:desc></draw:{0}>".format
PICTURES = {"docx": (docx(paragraph(_PICTURE)), 1, "A sad dog")} | {
    f"odt: {shape}": (
        odt(odt_p("Above.") + _SHAPE(shape) + odt_p(f"Here{_SHAPE(shape)} it is.")), 2, "A sad: dog"
    )
    for shape in ("custom-shape", "line", "g", "frame")
}  # fmt: skip


@pytest.mark.parametrize(("write", "count", "alt"), PICTURES.values(), ids=PICTURES)
@pytest.mark.parametrize("pictures", ["omit", "read"])
def test_alternative_texts_are_read_or_left_out(
    write: Write, count: int, alt: str, pictures: Treatment, tmp_path: Path
) -> None:
    book = whole(write(tmp_path), Choices(pictures=pictures))
    assert _text(book).count(alt) == (count if pictures == "read" else 0)
    assert reasons(book) == ({} if pictures == "read" else {"picture": 3 * count})


def test_objects_that_are_not_opened_are_remarked(tmp_path: Path) -> None:
    formula = '<draw:frame><draw:object xlink:href="Formula-1/"/></draw:frame>'
    book = whole(odt(odt_p(f"The formula is {formula}, as you see."))(tmp_path))
    assert any(remark.startswith("1 object in the text") for remark in book.remarks)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\'93yes\'94 caf\'e9", "“yes” café"),
        (r"{\f1\'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (r"{\f2\'83A\'83C}", "アイ"),
        (r"a\u8217?b \u8217\'92c", "a’b ’c"),
        (r"{\uc0\u8212}dash", "—dash"),
        (r"{\uc2\u26085\'93\'fa}x", "日x"),
        (r"\u-10179?\u-8704?", "😀"),
        (r"a\emdash b\~c\_d\rquote", "a—b c‑d’"),
        (r"{\upr{ansi}{\*\ud{uni\u1078?}}}", "uniж"),
        (r"\{brace\} \\ back", "\\{brace} \\\\ back"),
    ],
)
def test_characters_of_rtf(tmp_path: Path, written: str, read: str) -> None:
    assert _text(whole(rtf(written + r"\par ")(tmp_path))).startswith(f"# One\n\n{read}\n")


# -- headings, title and language ------------------------------------------------------------------

_GERMAN_STYLES = (
    style("berschrift1", "heading 1") + style("Kapitel", "Kapitel", "berschrift1")
    + style("Titel", "Title")
)  # fmt: skip
_HEADING_2 = ODT_HEADING.replace("One", "Two")
HEADINGS: dict[str, tuple[Write, list[str]]] = {
    "docx: styles of any language, and those based on them": (
        lambda folder: build_docx(
            folder / "book.docx",
            p("Die Tür", styled("Titel")) + p("Ebbe", styled("Kapitel")) + p(SENTENCE)
            + p("Flut", styled("berschrift1")) + p(SENTENCE),
            _GERMAN_STYLES,
            "<dc:title>Document1</dc:title><dc:creator>Jana Roe</dc:creator>",
        ),
        ["Die Tür", "Jana Roe", "Ebbe", "Flut"],
    ),
    "odt: in lists": (
        odt(f"{odt_p(SENTENCE)}<text:list>{_ODT_ITEM(_HEADING_2)}</text:list>"),
        ["The Tide", "Jane Roe", "One", "Two"],
    ),
    "odt: by their looks": (
        odt("".join(odt_p(title, "C") + odt_p(SENTENCE) * 4 for title in ("The Gate", "Low Tide")),
            head=""),
        ["The Tide", "Jane Roe", "The Gate", "Low Tide"],
    ),
    "rtf: by a style and what it is based on": (
        rtf(rf"\pard {SENTENCE}\par\pard\s5 Two\par "), ["The Tide", "Jane Roe", "One", "Two"],
    ),
    "docx: by their looks at the top of a page": (
        lambda folder: build_docx(
            folder / "book.docx",
            "".join(p(t, NEW_PAGE + CENTRED) + p(SENTENCE) * 3 for t in ("The Gate", "Low Tide")),
        ),
        ["book", "Unknown", "The Gate", "Low Tide"],
    ),
    "docx: by a Hebrew line, which has no capitals": (
        lambda folder: build_docx(
            folder / "book.docx",
            p("הדרך הביתה") + p("מאת רות כהן")
            + "".join(p(t, NEW_PAGE + CENTRED) + p(SENTENCE) * 3 for t in ("The Gate", "Low Tide")),
        ),
        ["הדרך הביתה", "רות כהן", "The Gate", "Low Tide"],
    ),
    "docx: what programs write is no title and no author": (
        lambda folder: build_docx(
            folder / "tide.docx", p(SENTENCE),
            core="<dc:title>Microsoft Word - tide.doc</dc:title><dc:creator>python-docx"
            "</dc:creator>",
        ),
        ["tide", "Unknown", "tide"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("write", "names"), HEADINGS.values(), ids=HEADINGS)
def test_titles_of_the_book_and_its_chapters(
    write: Write, names: list[str], tmp_path: Path
) -> None:
    book = import_book(write(tmp_path))
    assert [book.title, *book.authors, *_titles(book)] == names


def test_numbers_that_word_counts_for_headings_are_written(tmp_path: Path) -> None:
    styles = "".join(style(f"Heading{n}", f"heading {n}", look=listed(n - 1)) for n in (1, 2))
    part, chapter = styled("Heading1"), styled("Heading2")
    body = (
        p("The Sea", part) + p("", chapter) + p("He came.") + p("The Door", chapter)
        + p("He went.") + p("", part) + p("", chapter) + p("The end of it.")
    )  # fmt: skip
    parts = {"numbering": numbering("upperRoman Part %", "decimal Chapter %")}
    assert _titles(whole(build_docx(tmp_path / "book.docx", body, styles, parts=parts))) == [
        "Part I. The Sea: Chapter 1",
        "Chapter 2. The Door",
        "Part II, Chapter 1",
    ]


def test_a_language_is_marked_where_it_is_another(tmp_path: Path) -> None:
    main, other = '<w:lang w:val="en-GB"/>', '<w:lang w:val="fr-FR"/>'
    french = "Il faut cultiver notre jardin, dit Candide, et tous les autres sont de son avis."
    book = whole(docx(p(SENTENCE, "", main) * 5 + p(french, "", other))(tmp_path))
    assert book.language == "en-GB"
    assert f"[language: fr-FR]\n\n{french}" in _text(book)


def test_a_language_that_nobody_has_set_yields_to_the_text(tmp_path: Path) -> None:
    german = "Das Haus stand am Meer, und niemand wusste, wer darin gewohnt hatte. " * 20
    book = whole(docx(p(german, run='<w:lang w:val="en-US"/>'))(tmp_path))
    assert book.language == "de"
    assert any(one.startswith("language: de, recognised; en-US is") for one in book.remarks)


# -- kinds of files, and faulty ones ---------------------------------------------------------------


def _zipped(path: Path, parts: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def _changed_docx(folder: Path, old: bytes, new: bytes) -> Path:
    with zipfile.ZipFile(docx(p("Here."))(folder)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return _zipped(folder / "new.docx", {n: data.replace(old, new) for n, data in parts.items()})


_ODT_MIME = "application/vnd.oasis.opendocument.text"
_USUAL = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
KINDS: dict[str, Write] = {
    "docx with macros": lambda folder: docx(p("Here."))(folder).rename(folder / "book.docm"),
    "docx of the strict kind": lambda folder: _changed_docx(
        folder, _USUAL, b"http://purl.oclc.org/ooxml/wordprocessingml/main"
    ),
    "odt, packed": lambda folder: _zipped(
        folder / "book.odt",
        {"mimetype": _ODT_MIME}
        | dict.fromkeys(
            ("content.xml", "meta.xml", "styles.xml"),
            flat_odt(ODT_HEADING + odt_p("Here.") + odt_p(SENTENCE)),
        ),
    ),
}


@pytest.mark.parametrize("write", KINDS.values(), ids=KINDS)
def test_all_kinds_of_a_format_are_read(write: Write, tmp_path: Path) -> None:
    book = whole(write(tmp_path))
    assert (_titles(book), _text(book)) == (["One"], f"# One\n\nHere.\n\n{SENTENCE}\n")


_OLE = b"\xd0\xcf\x11\xe0" + b"\0" * 600
_LOCK = (
    f"<manifest:manifest {NAMESPACES}><manifest:file-entry><manifest:encryption-data/>"
    "</manifest:file-entry></manifest:manifest>"
)
REFUSED: dict[str, tuple[Write | bytes, str]] = {
    "docx with a password": (_OLE + "EncryptedPackage".encode("utf-16-le"), "password"),
    "doc": (_OLE, "old Word"),
    "a broken archive": (b"PK\x03\x04 nothing", "not a Word document, or broken"),
    "docx with entities": (
        lambda folder: _changed_docx(folder, b"?><w:", b'?><!DOCTYPE x [<!ENTITY a "b">]><w:'),
        "entities",
    ),
    "odt with a password": (
        lambda folder: _zipped(
            folder / "book.odt",
            {"mimetype": _ODT_MIME, "content.xml": b"\x93\x00 no", "META-INF/manifest.xml": _LOCK},
        ),
        "password",
    ),
    "odt, too deep": (
        odt("<text:section>" * 200 + odt_p("x") + "</text:section>" * 200), "deep",
    ),
    "rtf with notes in notes": (rtf(r"{\footnote note " * 600), "deep"),
    "rtf, too deep": (rtf("{" * 5_000), "deep"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_in_words(
    source: Write | bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "book.docx"
    if isinstance(source, bytes):
        path.write_bytes(source)
    else:
        path = source(tmp_path)
    with pytest.raises(ImportFailed, match=message):
        import_book(path)


@pytest.mark.parametrize("end", ["", "}}} more here"])
def test_braces_that_do_not_match_are_remarked_and_lose_nothing(tmp_path: Path, end: str) -> None:
    book = whole(rtf(r"{\b Here", end)(tmp_path))
    assert any("braces" in remark for remark in book.remarks)
    assert "Here" in _text(book)
    assert ("more here" in _text(book)) is ("more" in end)


def test_a_file_of_textedit(tmp_path: Path) -> None:
    text = (
        "She went down to the harbour again that night, as she had on every night before.\\\n" * 3
    )
    path = tmp_path / "book.rtf"
    path.write_text(
        "{\\rtf1\\ansi\\ansicpg1252\\cocoartf2639\n{\\fonttbl\\f0\\fswiss\\fcharset0 Helvetica;}\n"
        "{\\*\\expandedcolortbl;;}\n\\pard\\qc\n\n\\f0\\b\\fs48 \\cf0 The Sea Door\\\n"
        "\\fs24 by Jane Roe\\\n\\page \\fs36 The Gate\\\n\\pard\\b0\\fs24 \\\n"
        "\\uc0\\u8220 Yes\\u8221 .\\\n"
        f"{text}\\page \\pard\\qc\\b\\fs36 Low Tide\\\n\\pard\\b0\\fs24 {text}}}",
        "ascii",
    )
    book = import_book(path)
    assert _titles(book) == ["The Gate", "Low Tide"]
    assert (book.title, book.authors) == ("The Sea Door", ("Jane Roe",))
    assert "“Yes”." in _text(book)


# -- files of real programs, against the text they were made from ----------------------------------

_FOLDER = Path(__file__).parents[1] / "golden" / "manuscripts"
FILES = sorted(path.name for path in _FOLDER.glob("hall-*"))


def _source_words() -> list[str]:
    """The words of the chapters of `hall.md`, without its front matter, notes and marks."""
    text = (_FOLDER / "hall.md").read_text("utf-8").split("---\n", 2)[2].split("\n[^1]: ")[0]
    text = re.sub(r"\[\^\d\]|^\|[-| ]+$|^\d\. ", "", text, flags=re.MULTILINE)
    return re.findall(r"[^\W_]+", text)


@pytest.mark.parametrize("name", FILES)
def test_files_of_real_programs_are_read_whole(name: str, tmp_path: Path) -> None:
    book = whole(_FOLDER / name)
    assert _titles(book) == ["Down the Hole", "The Pool", "Evidence"]
    assert (book.title, book.authors) == ("The Long Hall", ("Jane Roe",))
    manuscript = read_manuscript(write_project(book, tmp_path / "book").manifest)
    checking.check_manuscript(manuscript, lambda said: None)
    assert len(manuscript.chapters) == 3
    if "calibre" in name:
        return
    first, second, third = (chapter.markdown for chapter in book.chapters)
    text = re.sub(r"^\d\. ", "", f"{first} {second} {third}", flags=re.MULTILINE)
    assert re.findall(r"[^\W_]+", text) == _source_words()
    assert all(mark in first for mark in ("*very* odd", "**quite**", "\n***\n"))
    assert all(mark in second for mark in ("a key of gold", "bottle; cherry"))
    assert all(mark in third for mark in ("- knaves", "😀"))
    assert reasons(book)["note"] == 12


DAMAGED_PARTS = {
    "hall-pandoc.docx": ("word/document.xml", "word/styles.xml", "word/footnotes.xml"),
    "hall-pandoc.odt": ("content.xml", "styles.xml", "meta.xml"),
    "hall-libreoffice.rtf": (),
}


@pytest.mark.parametrize("name", DAMAGED_PARTS)
@pytest.mark.parametrize("seed", quick(range(120), *range(12)))
def test_damaged_files_are_imported_or_refused_in_one_line(
    name: str, seed: int, tmp_path: Path
) -> None:
    dice, path = random.Random(seed), tmp_path / f"book{Path(name).suffix}"
    data = (_FOLDER / name).read_bytes()
    if not DAMAGED_PARTS[name] or dice.random() < 0.2:
        path.write_bytes(damaged(data, dice))
    else:
        damaged_part = dice.choice(DAMAGED_PARTS[name])
        with zipfile.ZipFile(_FOLDER / name) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        _zipped(path, parts | {damaged_part: damaged(parts[damaged_part], dice)})
    assert_read_or_refused(path)
