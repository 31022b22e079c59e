"""A word said otherwise: in a chunk's text, or in the lexicon of book.yaml."""

from __future__ import annotations

import pytest

from narrator.errors import ManifestError, UsageError, UserError
from narrator.pipeline import edits
from tests import edited

TEXT = """\
Ukridge met *Ukridge* and Ukridge’s aunt, and nobody said ukridges again.

Then came Mrs.
Hale, {as it were|as it was}, and Ukridge.
"""


def here(path, words, word, spoken):
    book = edited.plan(path)
    edit = edits.say_edit(book.project, word, spoken, chunk=edited.step(book, words))
    edited.made(path, edit)
    step = edited.step(edited.plan(path), words)
    return (path.parent / "one.md").read_bytes().decode(), step.text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_word_is_said_otherwise_wherever_a_chunk_has_it(tmp_path, newline):
    before = TEXT.replace("\n", newline)
    path = edited.write(tmp_path, before)
    text, spoken = here(path, "nobody said", "Ukridge", "YOO-krij")
    new = "{Ukridge|YOO-krij} met *{Ukridge|YOO-krij}* and {Ukridge|YOO-krij}’s aunt"
    assert text == before.replace("Ukridge met *Ukridge* and Ukridge’s aunt", new)
    assert spoken.startswith("YOO-krij met YOO-krij and YOO-krij")
    assert "ukridges" in spoken


@pytest.mark.parametrize(
    ("word", "spoken", "old", "new"),
    [
        ("Mrs. Hale", "Missus Hale", "Mrs.\nHale", "{Mrs.\nHale|Missus Hale}"),
        ("as it were", "as {it} | \\was", "as it were|as it was",
         "as it were|as \\{it\\} \\| \\\\was"),
        ("then", "Now", "Then", "{Then|Now}"),
    ],
)  # fmt: skip
def test_a_word_is_put_in_braces(tmp_path, word, spoken, old, new):
    path = edited.write(tmp_path, TEXT)
    text, _ = here(path, "Then came", word, spoken)
    assert text == TEXT.replace(old, new)


def test_a_word_of_book_yaml_is_said_otherwise(tmp_path):
    lines = "title: One\n    lines:\n      - Ada: Ukridge went home in the rain.\n"
    manifest = edited.MANIFEST.replace("{title: One, file: one.md}", lines)
    path = edited.write(tmp_path, "", manifest)
    here(path, "went home", "Ukridge", "YOO-krij")
    assert "- Ada: '{Ukridge|YOO-krij} went home in the rain.'\n" in path.read_text()


@pytest.mark.parametrize(
    ("word", "said"),
    [("Jeeves", "does not stand in line 1.1"), ("", "Neither"), ("it were", "otherwise already")],
)
def test_a_word_that_cannot_be_said_otherwise_is_refused(tmp_path, word, said):
    path = edited.write(tmp_path, TEXT)
    book = edited.plan(path)
    chunk = edited.step(book, "Then came" if word == "it were" else "nobody said")
    with pytest.raises(UsageError, match=said):
        edits.say_edit(book.project, word, "x", chunk=chunk)


# -- everywhere


BOOK = """\
\ufeff# a book
title:   Two
author: Nobody
language: en-GB
%sspeakers:
    narrator: ~   # me
    Ada:

%s# the chapters
chapters:
- { title: One,  file: one.md }
"""


@pytest.mark.parametrize(
    ("before", "after"),
    {
        "a mapping": (
            "lexicon:\n  Jeeves: jeevs  # b\n",
            "lexicon:\n  Jeeves: jeevs  # b\n  Ukridge: YOO\n",
        ),
        "one that has it": (
            "lexicon:\n  ukridge: 'no'  # b\n",
            "lexicon:\n  ukridge: 'YOO'  # b\n",
        ),
        "a mapping in braces": ("lexicon: { A: b }\n", "lexicon: { A: b, Ukridge: YOO }\n"),
        "a list": (
            "lexicon:\n- {word: Jeeves, say: jeevs}\n# c\n",
            "lexicon:\n- {word: Jeeves, say: jeevs}\n# c\n- {word: Ukridge, say: YOO}\n",
        ),
        "a list that has it": (
            "lexicon:\n- {word: Ukridge, say: x, speaker: Ada}\n- word: Ukridge\n  say: x\n",
            "lexicon:\n- {word: Ukridge, say: x, speaker: Ada}\n- word: Ukridge\n  say: YOO\n",
        ),
        "a list in brackets": (
            "lexicon: [{word: A, say: b}]\n",
            "lexicon: [{word: A, say: b}, {word: Ukridge, say: YOO}]\n",
        ),
        "an empty list": ("lexicon: []\n", "lexicon: [{word: Ukridge, say: YOO}]\n"),
        "an empty mapping": ("lexicon: {}\n", "lexicon:\n  Ukridge: YOO\n"),
        "none": ("", ""),
    }.values(),
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_word_goes_to_the_lexicon(tmp_path, before, after, newline):
    begun = "" if before else "lexicon:\n  Ukridge: YOO\n"
    old, new = ((BOOK % text).replace("\n", newline) for text in ((before, ""), (after, begun)))
    path = edited.write(tmp_path, TEXT, old)
    edited.made(path, edits.say_edit(edited.project(path), "Ukridge", "YOO"))
    assert path.read_bytes().decode() == new
    assert edited.plan(path).steps[0].text.startswith("YOO met YOO")
    edits.undo(edited.project(path))
    assert path.read_bytes().decode() == old


def test_an_entry_of_its_own_case_stays(tmp_path):
    manifest = f"lexicon:\n- {{word: Ukridge, say: x, case: true}}\n{edited.MANIFEST}"
    path = edited.write(tmp_path, TEXT, manifest)
    edited.made(path, edits.say_edit(edited.project(path), "ukridge", "yoo"))
    assert path.read_text().startswith(
        "lexicon:\n- {word: Ukridge, say: x, case: true}\n- {word: ukridge, say: yoo}\n"
    )


def test_a_lexicon_that_cannot_be_changed_by_itself_is_left(tmp_path):
    lexicon = "lexicon: [{word: a, say: &s b}, {word: c, say: *s}]\n"
    path = edited.write(tmp_path, TEXT, lexicon + edited.MANIFEST)
    with pytest.raises(ManifestError, match="by hand"):
        edits.say_edit(edited.project(path), "a", "y")


@pytest.mark.parametrize("word", ["(", "%", "~", "—", "“ ”"])
def test_a_word_without_letters_is_refused_by_what_is_wrong(tmp_path, word):
    path = edited.write(tmp_path, TEXT)
    with pytest.raises(UsageError, match="needs a letter or a digit"):
        edits.say_edit(edited.project(path), word, "x")


@pytest.mark.parametrize("given", [("a\0", "b"), ("a", "\ud800"), ("a\ud800", "b"), ("a", "\0")])
def test_what_no_file_can_hold_is_refused_in_one_line(tmp_path, given):
    path = edited.write(tmp_path, TEXT)
    with pytest.raises(UsageError, match=r"null character|half of a character"):
        edits.say_edit(edited.project(path), *given)


def test_what_cannot_be_seen_is_not_written(tmp_path):
    path = edited.write(tmp_path, TEXT)
    edited.made(path, edits.say_edit(edited.project(path), "\u202eUkridge", "YOO\u202e \u200b"))
    assert path.read_text() == edited.MANIFEST.replace(
        "chapters:", "lexicon:\n  Ukridge: YOO\nchapters:"
    )
    with pytest.raises(UsageError, match="Neither may be empty"):
        edits.say_edit(edited.project(path), "Ukridge", "\u202e")


def test_a_word_that_is_too_long_for_the_lexicon_is_refused(tmp_path):
    path = edited.write(tmp_path, TEXT)
    with pytest.raises(UsageError, match="100 characters at most, this one 101"):
        edits.say_edit(edited.project(path), "a" * 101, "b")
    edited.made(path, edits.say_edit(edited.project(path), "a" * 100, "b"))


# -- entries of the lexicon

JEEVES = {"word": "Jeeves", "say": "jeevs"}


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    {
        "a first one": ("", None, JEEVES, "lexicon:\n  Jeeves: jeevs\n"),
        "a first one with a condition": (
            "", None, {**JEEVES, "speaker": "Ada"},
            "lexicon:\n  - {word: Jeeves, say: jeevs, speaker: Ada}\n",
        ),
        "a first pattern": (
            "", None, {"pattern": r"HP(\d+)", "say": r"H P \1", "case": True},
            "lexicon:\n  - {pattern: HP(\\d+), say: H P \\1, case: true}\n",
        ),
        "a condition where there was none": (
            "lexicon:\n  A: b # why\n  Jeeves: jeevs\n",
            JEEVES, {**JEEVES, "language": "fr"},
            "lexicon:\n  - {word: A, say: b} # why\n"
            "  - {word: Jeeves, say: jeevs, language: fr}\n",
        ),
        "a condition in braces": (
            "lexicon: {A: b}\n", None, {**JEEVES, "case": True},
            "lexicon: [{word: A, say: b}, {word: Jeeves, say: jeevs, case: true}]\n",
        ),
        "another word": (
            "lexicon:\n  Jeeves: jeevs # why\n",
            JEEVES, {"word": "Reginald", "say": "REJ-nald"},
            "lexicon:\n  Reginald: REJ-nald # why\n",
        ),
        "IPA in place of a spelling": (
            "lexicon:\n- word: Jeeves # he\n  say: jeevs\n- {word: A, say: b}\n",
            JEEVES, {"word": "Jeeves", "ipa": "dʒiːvz"},
            "lexicon:\n- word: Jeeves # he\n  ipa: dʒiːvz\n- {word: A, say: b}\n",
        ),
        "a word in place of a pattern": (
            "lexicon:\n- pattern: Jee\n  say: jeevs\n- {word: A, say: b}\n",
            {"pattern": "Jee", "say": "jeevs"}, JEEVES,
            "lexicon:\n- {word: Jeeves, say: jeevs}\n- {word: A, say: b}\n",
        ),
        "one removed of several": (
            "lexicon:\n  Jeeves: jeevs\n  A: b # why\n", JEEVES, None,
            "lexicon:\n  A: b # why\n",
        ),
        "one removed of a list": (
            "lexicon: [{word: A, say: b}, {word: Jeeves, say: jeevs}]\n", JEEVES, None,
            "lexicon: [{word: A, say: b}]\n",
        ),
        "the only one removed": ("lexicon: {Jeeves: jeevs}\n", JEEVES, None, ""),
    }.values(),
)  # fmt: skip
def test_an_entry_is_added_changed_and_removed(tmp_path, before, old, new, after):
    path = edited.write(tmp_path, TEXT, BOOK % (before, ""))
    entries = [None if fields is None else edits.parse_entry(fields) for fields in (old, new)]
    edited.made(path, edits.entry_edit(edited.project(path), *entries))
    written = path.read_text("utf-8-sig").partition("en-GB\n")[2]
    if not before:
        written = written.partition("Ada:\n\n")[2]
    assert written.partition("speakers" if before else "# the")[0] == after
    edits.undo(edited.project(path))
    assert path.read_bytes().decode() == BOOK % (before, "")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"word": "Jeeves"}, "needs `say` or `ipa`"),
        ({"say": "jeevs"}, "needs either `word` or `pattern`"),
        ({"word": "—", "say": "dash"}, "needs a letter or a digit"),
        ({"word": "J" * 101, "say": "jeevs"}, "100 characters at most"),
        ({"pattern": "(", "say": "x"}, "not a regular expression"),
        ({"word": "Jeeves", "ipa": "3"}, "3"),
        ({**JEEVES, "rm": "x"}, "not permitted"),
        ({**JEEVES, "case": "yes"}, "valid boolean"),
    ],
)
def test_an_entry_that_cannot_work_is_refused(fields, said):
    with pytest.raises(UsageError, match=said):
        edits.parse_entry(fields)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"word": "Jeeves", "say": "x"}, None, "changed meanwhile"),
        (None, None, "which entry"),
        (None, {"word": "Jeeves", "say": "x"}, "is in the lexicon already"),
        (None, {"word": "jeeves", "say": "x"}, "twice"),
        (None, {"word": "A", "say": "x", "speaker": "Nobody"}, "Nobody"),
    ],
)
def test_an_entry_that_does_not_fit_the_lexicon_is_refused(tmp_path, old, new, said):
    path = edited.write(tmp_path, TEXT, BOOK % ("lexicon: {Jeeves: jeevs}\n", ""))
    entries = [None if fields is None else edits.parse_entry(fields) for fields in (old, new)]
    with pytest.raises(UserError, match=said):
        edits.entry_edit(edited.project(path), *entries)
