"""What is said of a manuscript: each kind once, each place counted once, with the mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from narrator.errors import ScriptError
from narrator.pipeline.manuscript import Manuscript, Readings, find_oddities, read_manuscript
from narrator.speech import plan
from narrator.text.normalize import SpokenText, normalize
from tests import books, walks

TWICE = books.MANIFEST.replace("text/two.md", "text/one.md")
ODD = (
    "ann: [sigh] One\u200b. [language: xx]\n\nann: [sigh] Go.\n\n"
    "[language: fr]\n\nHe went to the door and it was shut.\n\n[language: off]\n\n"
    "Он ушёл из дома.\n"
)


def said(manuscript: str, folder: Path, one: str) -> list[str]:
    path = books.write(folder, manuscript)
    (folder / "text" / "one.md").write_text(one, encoding="utf-8")
    return [
        str(problem).replace(str(folder), "")
        for problem in find_oddities(read_manuscript(path), [])
    ]


def test_a_file_that_is_two_chapters_counts_by_its_lines_once(tmp_path):
    once = said(books.MANIFEST, tmp_path, ODD)
    assert said(TWICE, tmp_path, ODD) == once
    assert sum("and in 1 more place)" in one for one in once) == 1
    assert len(once) == 5


def test_an_error_in_a_file_that_is_two_chapters_is_said_once(tmp_path):
    with pytest.raises(ScriptError) as caught:
        said(TWICE, tmp_path, "Go.\n\n```\nx\n")
    assert len(caught.value.problems) == 1


def test_a_mistyped_alias_is_answered_with_the_alias(tmp_path):
    manifest = books.MANIFEST.replace("ann: {", "ann: {aliases: [Doctor], ")
    with pytest.raises(ScriptError, match="did you mean “Doctor”"):
        said(manifest, tmp_path, "Doctor: Sit.\n\nDoctor: So.\n\nDoctr: Sit down.\n")
    [slip] = [one for one in said(manifest, tmp_path, "Doctr: Sit down.\n") if "Doctr" in one]
    assert slip.endswith("did you mean “Doctor:”?")


def is_cut_from_its_own_lines(manuscript: Manuscript) -> bool:
    own = [{id(line) for s in one.scenes for line in s.lines} for one in manuscript.chapters]
    return all(
        id(piece.line) in own[one.chapter]
        for one in manuscript.spoken
        for piece in one.chunk.pieces
    )


def test_a_file_that_is_two_chapters_is_cut_from_the_lines_of_each(tmp_path):
    path = books.write(tmp_path, TWICE)
    assert is_cut_from_its_own_lines(read_manuscript(path))


def test_a_paragraph_that_is_wrapped_otherwise_ends_where_it_does(tmp_path):
    folder, before = walks.write(tmp_path), Readings()
    read_manuscript(folder / "book.yaml", before)
    (folder / "out.md").write_text(walks.OUT.rstrip("\n") + "\n&nbsp;\n")
    again = read_manuscript(folder / "book.yaml", before)
    last = again.spoken[1].chunk.pieces[0].line
    assert (
        last.last_source_line
        == read_manuscript(folder / "book.yaml").spoken[1].chunk.pieces[0].line.last_source_line
    )


def test_a_book_that_is_read_again_is_what_it_would_be_without_what_was_kept(tmp_path, monkeypatch):
    folder, before = walks.write(tmp_path), Readings()
    path, out = folder / "book.yaml", folder / "out.md"
    spoken: list[str] = []

    def heard(text: str, **rest: Any) -> SpokenText:
        spoken.append(text)
        return normalize(text, **rest)

    monkeypatch.setattr(plan, "normalize", heard)
    edits = [
        lambda: None,
        lambda: out.write_text(walks.OUT.replace("wet", "dry")),
        lambda: out.write_text("***\n\n" + walks.OUT + "\n***\n\nMore.\n"),  # scenes move
        lambda: path.write_text(walks.BOOK + "lexicon: {road: rode}\n"),
        lambda: path.write_text(walks.BOOK.replace("Ada: {}", "Ben: {}, Ada: {}")),
        lambda: path.write_text(walks.BOOK + "pauses: {line: 2}\n"),
    ]
    counts = []
    for edit in edits:
        edit()
        spoken.clear()
        again = read_manuscript(path, before)
        counts.append(len(spoken))
        assert again == read_manuscript(path)
        assert is_cut_from_its_own_lines(again)
    assert counts[1] < counts[0]  # the other chapter was kept
    assert counts[3] > 0  # a word of the lexicon concerns all


STORY = " ".join(f"The {word} stood by the road, and nobody knew how long." for word in
    "mill church inn smithy barn school chapel bakery stable tower bridge well".split()
)  # fmt: skip


def test_lengths_of_chunks_concern_only_what_has_a_style(tmp_path):
    text = f"{STORY}\n\nann: {STORY}\n\nnarrator (whispering): {STORY}\n"
    styled = books.MANIFEST.replace("seed: 3}", "seed: 3}, style: softly")

    def chunks_with(settings: str) -> list[list[str]]:
        path = books.write(tmp_path, styled.replace("chapters:", f"{settings}\nchapters:"), text)
        spoken = [one.chunk for one in read_manuscript(path).spoken if one.chapter == 0]
        return [
            [one.text for one in spoken if (one.speaker, one.style) == name]
            for name in (("narrator", None), ("ann", None), ("narrator", "whispering"))
        ]

    usual = chunks_with("")
    assert chunks_with("chunks: {styled_seconds: 14}") == usual
    plain, ann, whispered = chunks_with("chunks: {styled_seconds: 6}")
    assert plain == usual[0]
    assert len(ann) == len(whispered) > len(plain)
