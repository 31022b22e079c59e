"""Markdown that reads back, through the script layer, as exactly the words it was written from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from manuscripts.blocks import Container, block_of_lines, write_markdown
from manuscripts.prose import (
    BREAK,
    StyledSpan,
    is_ordinal,
    is_scene_break,
    join_heading,
    normalize_line,
    plain_text,
    split_paragraphs,
    write_heading,
    write_paragraph,
)
from narrator.text.labels import Roles
from narrator.text.script import read_chapter
from tests.effort import examples
from textbase.characters import strip_invisible

MARKUP = "*_`#>-+=~[](){}|<>&;:!\\/.1) \n\t\"“”'a:B："
texts = st.one_of(
    st.text(),
    st.text(MARKUP),
    st.sampled_from(
        ["Note: ", "narrator: ", "Mr Fox (softly): ", "小明：", "0: ", "---", "***", "===", "1. ",
         "- ", "# ", "[pause 1s]", "{a|b}", "[^1]", "<!-- a -->", "<b>", "&amp;", "![a](b)",
         "http://a.org", "`a`", "| a | b |", "a\\", "**", "un", "“so”", "    code", "~~~", "```",
         "[a]: b"]
    ),
)  # fmt: skip
spans = st.builds(StyledSpan, texts, st.booleans(), st.booleans())


def read_back(markdown: str) -> list[tuple[int, str]]:
    """Heading level and text of each line; all of them the narrator's, with nothing left out."""
    chapter = read_chapter(
        markdown,
        path=Path("text.md"),
        title="One",
        language="und",
        roles=Roles({"narrator": "narrator"}, "narrator"),
        speaker=None,
    )
    assert chapter.left_out == ()
    lines = [line for scene in chapter.scenes for line in scene.lines]
    assert not any(line.spoken_forms or line.pauses or line.style for line in lines)
    return [(line.heading, line.text) for line in lines]


@given(st.lists(st.one_of(spans, st.just(BREAK)), max_size=8))
@settings(max_examples=examples(500))
def test_paragraphs_are_read_back_word_for_word(pieces: list[StyledSpan]) -> None:
    for lines in split_paragraphs(pieces):
        text = " ".join(map(plain_text, lines))
        assume(not is_scene_break(text) and any(map(str.isalnum, text)))
        assert read_back(write_paragraph(lines) + "\n") == [(0, text)]


@given(st.lists(spans, max_size=5), st.integers(1, 6))
@settings(max_examples=examples(300))
def test_headings_are_read_back_word_for_word(pieces: list[StyledSpan], level: int) -> None:
    line = normalize_line(pieces)
    assume(any(map(str.isalnum, plain_text(line))))
    assert read_back(write_heading(line, level) + "\n") == [(level, plain_text(line))]


@given(st.lists(st.tuples(st.lists(spans, max_size=3), st.sampled_from(["", ">", "-", ">-", "->"])),
                max_size=6))  # fmt: skip
@settings(max_examples=examples(200))
def test_paragraphs_in_quotations_and_lists_are_read_back(
    pieces: list[tuple[list[StyledSpan], str]],
) -> None:
    kinds = {">": ("> ", "> "), "-": ("- ", "  ")}
    blocks = []
    for words, around in pieces:
        for lines in split_paragraphs(words):
            block = block_of_lines("text", "", lines)
            if any(map(str.isalnum, block.text)) and not is_scene_break(block.text):
                block.containers = tuple(Container(*kinds[kind]) for kind in around)
                blocks.append(block)
    assume(blocks)
    assert read_back(write_markdown(blocks)) == [(0, block.text) for block in blocks]


def test_each_colon_that_could_end_a_name_is_escaped() -> None:
    line = (StyledSpan("0: ARRAR: 0"),)
    assert write_paragraph([line]) == r"0\: ARRAR\: 0"


@given(st.lists(spans, max_size=8))
def test_tidying_keeps_every_word(pieces: list[StyledSpan]) -> None:
    expected = strip_invisible("".join(span.text for span in pieces)).split()
    line = normalize_line(pieces)
    assert plain_text(line).split() == expected
    assert not any(
        span.asterisks and (span.text != span.text.strip() or not span.text) for span in line
    )


@pytest.mark.parametrize(
    ("parts", "heading"),
    [
        (["I", "A Letter"], "I. A Letter"),
        (["Chapter Four", "The Gate"], "Chapter Four. The Gate"),
        (["CHAPTER IV.", "THE GATE"], "CHAPTER IV. THE GATE"),
        (["The Gate", "A Tale"], "The Gate: A Tale"), (["The Gate!", "A Tale"], "The Gate! A Tale"),
        (["“The Gate”", "A Tale"], "“The Gate”: A Tale"), (["The Gate"], "The Gate"),
    ],
)  # fmt: skip
def test_parts_of_a_heading_are_joined_as_they_are_spoken(parts: list[str], heading: str) -> None:
    assert plain_text(join_heading([(StyledSpan(part),) for part in parts])) == heading


@pytest.mark.parametrize(
    "text", ["I", "xiv.", "12", "Chapter 1", "CHAPTER THE LAST", "Part Two:", "第三章"]
)
def test_ordinals_only_count(text: str) -> None:
    assert is_ordinal(text)


@pytest.mark.parametrize("text", ["The Gate", "Mix", "I am", "Dim", "12 Angry Men", "Parting"])
def test_titles_are_no_ordinals(text: str) -> None:
    assert not is_ordinal(text)


@pytest.mark.parametrize("text", ["***", "* * *", "⁂", "#", "—", "---", "• • •", "~", "_____"])
def test_ornaments_are_scene_breaks(text: str) -> None:
    assert is_scene_break(text)


@pytest.mark.parametrize("text", ["", "…", "?", "“”", "a", "* 1 *", "!!!"])
def test_other_marks_are_none(text: str) -> None:
    assert not is_scene_break(text)
