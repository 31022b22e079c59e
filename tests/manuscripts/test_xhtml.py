"""The markup of one document: what is kept, how it is written, what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from manuscripts import Book
from narrator.importing import import_book
from tests.build_epub import build_epub


def imported(folder: Path, body: str) -> Book:
    return import_book(build_epub(folder / "book.epub", {"one.xhtml": f"<h1>One</h1>{body}"}))


def markdown(folder: Path, body: str) -> str:
    """What is written below the heading."""
    return imported(folder, body).chapters[0].markdown.removeprefix("# One\n\n").strip("\n")


def left_out(folder: Path, body: str) -> dict[str, int]:
    return {item.reason: item.words for item in imported(folder, body).left_out}


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("<p>A <em>small</em> step.</p>", "A *small* step."),
        ("<p>A <b>bold</b> step, <b><i>both</i></b>.</p>", "A **bold** step, ***both***."),
        ('<p>A <span class="italic">slanted</span> word.</p>', "A *slanted* word."),
        ('<p>A <span style="font-weight: bold">fat</span> word.</p>', "A **fat** word."),
        ("<p>un<i>believ</i>able</p>", "un*believ*able"),
        ("<p>he<i>“said”</i>so</p>", "he“said”so"),
        ("<p><i>One</i><b>two</b> three</p>", "*One*two three"),
        ("<p>spaced <i> out </i>words</p>", "spaced *out* words"),
        ("<p><i>one</i> <i>two</i></p>", "*one two*"),
        ("<p>only <i>—</i> a dash</p>", "only — a dash"),
    ],
)
def test_emphasis_is_kept_where_markdown_can_carry_it(
    tmp_path: Path, body: str, written: str
) -> None:
    assert markdown(tmp_path, body) == written


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("<p>soft\u00adhy&shy;phen</p>", "softhyphen"),
        ("<p>zero\u200bwidth\u2060joined\ufeff</p>", "zerowidthjoined"),
        ("<p>five&nbsp;o’clock\u2009sharp\n\t now</p>", "five o’clock sharp now"),
        ('<p><span class="dropcap">O</span>nce</p>', "Once"),
        ('<p><img src="o.png" alt="O"/>nce</p>', "Once"),
        ("<p>H<sub>2</sub>O on the 2<sup>nd</sup></p>", "H2O on the 2nd"),
        ("<p>It&#146;s</p>", "It’s"),
        ("<p>He said <q>no</q>.</p>", "He said “no”."),
        ("loose words<p>and a paragraph</p>", "loose words\n\nand a paragraph"),
        ("<div>one<div>two</div>three</div>", "one\n\ntwo\n\nthree"),
        ("<p>one<br/><br/>two</p>", "one\n\ntwo"),
        ("<p>one<br>two</br>three</p>", "one\\\ntwothree"),
    ],
)
def test_words_are_joined_and_parted_as_they_are_shown(
    tmp_path: Path, body: str, written: str
) -> None:
    assert markdown(tmp_path, body) == written


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("<p>Note: this.</p>", r"Note\: this."),
        ("<p><b>Name</b>: speaks</p>", r"**Name**\: speaks"),
        ("<p>注意：下雨</p>", "注意\\：下雨"),
        ("<p>narrator: he</p>", r"narrator\: he"),
        ("<p>And then he said: go.</p>", "And then he said: go."),
        ("<p># 5 * 6 _a_ [b] {c|d} `e` &lt;f&gt; \\ g</p>",
         r"\# 5 \* 6 \_a\_ \[b] \{c\|d} \`e\` \<f> \\ g"),
        ("<p>1. First</p>", r"1\. First"),
        ("<p>- dash</p>", r"\- dash"),
        ("<p>&amp;amp; stays</p>", r"\&amp; stays"),
        ("<p>one<br/>---</p>", "one\\\n\\---"),
    ],
)  # fmt: skip
def test_words_that_look_like_markup_are_escaped(tmp_path: Path, body: str, written: str) -> None:
    assert markdown(tmp_path, body) == written


@pytest.mark.parametrize(
    "separator",
    [
        "<hr/>",
        "<p>* * *</p>",
        '<p class="center">***</p>',
        "<p>⁂</p>",
        "<p>#</p>",
        "<div>• • •</div>",
        '<p class="scene-break"></p>',
        '<div class="ornament"><img src="leaf.png" alt=""/></div>',
        "<p>—</p><hr/>",
    ],
)
def test_scene_breaks_become_three_asterisks(tmp_path: Path, separator: str) -> None:
    assert markdown(tmp_path, f"<p>a</p>{separator}<p>b</p>") == "a\n\n***\n\nb"


def test_a_break_before_a_paragraph_of_such_a_class_is_a_scene_break(tmp_path: Path) -> None:
    assert markdown(tmp_path, '<p>a</p><p class="space-before">b</p>') == "a\n\n***\n\nb"


def test_a_rare_empty_paragraph_is_a_scene_break(tmp_path: Path) -> None:
    few = "<p>a</p>" * 5 + "<p>&nbsp;</p><p>b</p>"
    assert markdown(tmp_path, few).count("***") == 1


def test_empty_paragraphs_between_all_paragraphs_are_none(tmp_path: Path) -> None:
    assert "***" not in markdown(tmp_path, "<p>a</p><p><br/></p>" * 6)


def test_scene_breaks_stand_only_between_paragraphs(tmp_path: Path) -> None:
    body = "<hr/><p>a</p><hr/><hr/><h2>Two</h2><hr/><p>b</p><hr/>"
    assert markdown(tmp_path, body) == "a\n\n## Two\n\nb"


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("<p>Roses<br/>Violets</p>", "Roses\\\nViolets"),
        ("<p><span>Roses</span>\n<br/>\n<span>Violets</span></p>", "Roses\\\nViolets"),
        ('<div class="stanza"><div>Roses</div><div>Violets</div></div>', "Roses\\\nViolets"),
        ('<blockquote epub:type="z3998:verse"><p>Roses</p><p>Violets</p></blockquote>',
         "> Roses\n>\n> Violets"),
        ("<pre>Roses\n  Violets</pre>", "Roses\\\nViolets"),
        ("<p><i>Roses<br/>Violets</i></p>", "*Roses*\\\n*Violets*"),
    ],
)  # fmt: skip
def test_lines_of_verse_are_hard_breaks(tmp_path: Path, body: str, written: str) -> None:
    assert markdown(tmp_path, body) == written


def test_quotations_keep_their_paragraphs(tmp_path: Path) -> None:
    body = "<p>a</p><blockquote><p>b</p><blockquote><p>c</p></blockquote></blockquote><p>d</p>"
    assert markdown(tmp_path, body) == "a\n\n> b\n>\n> > c\n\nd"


def test_lists_keep_their_items_and_numbers(tmp_path: Path) -> None:
    body = "<ul><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ul>"
    body += "<ol start='3'><li>e</li></ol>"
    written = "- a\n\n  - b\n\n- c\n\n  d\n\n3. e"
    assert markdown(tmp_path, body) == written


def test_rows_of_a_table_are_lines(tmp_path: Path) -> None:
    body = (
        "<table><tr><th>Tide</th><td><p>High</p></td></tr><tr><th>At:</th><td>six</td></tr></table>"
    )
    assert markdown(tmp_path, body) == "Tide; High\n\nAt\\: six"


def test_a_table_that_is_a_layout_is_read_through(tmp_path: Path) -> None:
    words = "word " * 50
    body = f"<table><tr><td><p>a</p></td><td><p>{words}</p></td></tr></table>"
    assert markdown(tmp_path, body).startswith("a\n\nword word")


@pytest.mark.parametrize(
    ("heading", "written"),
    [
        ("<hgroup><h2>I</h2><p>A Letter</p></hgroup>", "# I. A Letter"),
        ("<h2>Chapter 1<br/>The Gate</h2>", "# Chapter 1. The Gate"),
        ("<h2>CHAPTER I.</h2><h3>THE GATE</h3>", "# CHAPTER I. THE GATE"),
        ('<h2><span class="num">1</span> <span>The Gate</span></h2>', "# 1. The Gate"),
        ('<p class="chapter-number">1</p><p class="chapter-title">The Gate</p>', "# 1. The Gate"),
        ("<h2>The Gate</h2><p epub:type='subtitle'>A Tale</p>", "# The Gate: A Tale"),
        ("<hgroup><h2>The Gate</h2><p>A Tale</p></hgroup>", "# The Gate: A Tale"),
        ("<h2>What is C#</h2>", "# What is C\\#"),
        ("<h2>The <i>Wave</i></h2>", "# The *Wave*"),
        ("<p>CHAPTER ONE</p>", "# CHAPTER ONE"),
    ],
)
def test_headings_are_one_line_as_they_are_spoken(
    tmp_path: Path, heading: str, written: str
) -> None:
    book = import_book(build_epub(tmp_path / "book.epub", {"one.xhtml": f"{heading}<p>a</p>"}))
    assert book.chapters[0].markdown == f"{written}\n\na\n"


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        ('<p>a<a epub:type="noteref" href="#n">1</a></p>', "reference to a note", 1),
        ('<p>a<a role="doc-noteref" href="#n">1</a></p>', "reference to a note", 1),
        ('<p>a<sup><a href="#n">1</a></sup></p>', "reference to a note", 1),
        ('<p>a<a href="#n"><sup>1</sup></a></p>', "reference to a note", 1),
        ('<p>a<a href="#n">[1]</a></p>', "reference to a note", 1),
        ('<p>a<a href="#fn1">1</a></p>', "reference to a note", 1),
        ('<p>a</p><aside epub:type="footnote"><p>b c</p></aside>', "note", 2),
        ('<p>a</p><div class="footnote"><p>b c</p></div>', "note", 2),
        ('<p>a<span epub:type="pagebreak">12</span>b</p>', "page number", 1),
        ('<p>a<span class="pagenum">[12]</span>b</p>', "page number", 1),
        ("<p><ruby>漢<rt>kan</rt></ruby></p>", "ruby annotation", 1),
        ('<figure><img src="a.png"/><figcaption>b c</figcaption></figure><p>a</p>',
         "caption of a picture", 2),
        ("<p>a</p><svg><text>b c</text></svg>", "picture", 2),
        ("<p>a <math><msup><mi>x</mi><mi>n</mi></msup></math></p>",
         "formula without alternative text, whose sentence is incomplete: “a”", 1),
        ('<p>a</p><p style="display:none">b</p>', "hidden", 1),
        ("<p>a</p><nav><ol><li>b</li></ol></nav>", "table of contents", 1),
        ('<section class="pg-boilerplate">b c</section><p>a</p>', "notice of Project Gutenberg", 2),
    ],
)  # fmt: skip
def test_what_no_listener_wants_is_left_out_and_counted(
    tmp_path: Path, body: str, reason: str, words: int
) -> None:
    book = imported(tmp_path, body)
    assert {item.reason: item.words for item in book.left_out} == {reason: words}
    assert book.characters == book.characters_kept + book.characters_left_out


def test_the_note_that_a_reference_leads_to_is_left_out(tmp_path: Path) -> None:
    body = '<p>a<sup><a href="#n1">1</a></sup></p><p>b</p><hr/><p id="n1">1. It was so.</p>'
    assert markdown(tmp_path, body) == "a\n\nb"
    assert left_out(tmp_path, body)["note"] == 4


def test_a_note_may_be_a_definition_or_a_row(tmp_path: Path) -> None:
    text = '<p>a<a href="#fn1">[1]</a> b<a href="#fn2">[2]</a></p>'
    notes = '<dl><dt id="fn1">1.</dt><dd>It was</dd><dd>so.</dd></dl>'
    notes += '<table><tr id="fn2"><td>2.</td><td>It is.</td></tr></table>'
    assert markdown(tmp_path, text + notes) == "a b"
    assert left_out(tmp_path, text + notes)["note"] == 7


def test_links_that_are_no_note_references_are_kept(tmp_path: Path) -> None:
    body = '<p>See <a href="#two">chapter 2</a> and <a href="http://a.org">this</a>.</p>'
    assert markdown(tmp_path, body) == "See chapter 2 and this."


def test_alternative_texts_of_pictures_are_not_read(tmp_path: Path) -> None:
    body = '<p><img src="a.png" alt="A boat at sea"/></p><p>a</p>'
    assert markdown(tmp_path, body) == "a"
    assert left_out(tmp_path, body) == {"picture": 4}


def test_a_heading_within_a_quotation_is_a_strong_line(tmp_path: Path) -> None:
    body = "<blockquote><h2>LOST AT SEA</h2><p>b</p></blockquote>"
    assert markdown(tmp_path, body) == "> **LOST AT SEA**\n>\n> b"


def test_a_heading_in_a_figure_without_a_picture_is_kept(tmp_path: Path) -> None:
    assert markdown(tmp_path, "<figure><p>a</p><figcaption>b</figcaption></figure>") == "a\n\nb"


def test_what_is_not_well_formed_is_read_as_html_and_told(tmp_path: Path) -> None:
    book = imported(tmp_path, '<p>a<br>b<a id="x"/> &amp; c<p>d &unknown; e')
    assert "a\\\nb & c\n\nd" in book.chapters[0].markdown
    assert any("not well-formed" in remark for remark in book.remarks)


def test_entities_of_html_need_no_declaration(tmp_path: Path) -> None:
    assert markdown(tmp_path, "<p>caf&eacute;&mdash;&hellip;</p>") == "café—…"


def test_quotations_nested_without_end_stay_readable(tmp_path: Path) -> None:
    body = "<blockquote>" * 60 + "<p>deep</p>" + "</blockquote>" * 60
    assert markdown(tmp_path, body) == "> " * 6 + "deep"


def test_scripts_and_styles_are_no_words(tmp_path: Path) -> None:
    book = imported(tmp_path, "<style>p {x: y}</style><script>var a</script><p>a</p>")
    assert (book.words, book.words_kept) == (2, 2)
