"""The people of a cast: renamed, merged, and given a voice of their own, in book.yaml."""

from __future__ import annotations

import pytest

from narrator.errors import ManifestError, UsageError
from narrator.pipeline import edits
from tests import edited

BOOK = """\
title: Two
author: Nobody
language: en-GB
speakers:   # who speaks
  narrator: {}
  Ada: {pronoun: she, aliases: [Miss Lovell]}
  Ben:
    pronoun: he   # a friend
  women:
    pronoun: she
    plays:
      Lucy: [Lu]   # small
      Mrs. Hall: []
    voice: {description: A woman}
  men: {pronoun: he, plays: [Tom, Jim], voice: {description: A man}}
  others: {plays: {It: []}, voice: {description: A voice}}
chapters:
- {title: One, file: one.md}
"""
TEXT = "“Yes,” said Ada.\n\n“No.”\n"
ROWS = "Lucy | you | “Yes,”\nBen | you | “No.”\n"


@pytest.fixture
def path(tmp_path):
    return edited.write(tmp_path, TEXT, BOOK, ROWS)


def changed(path, edit):
    """The text of book.yaml after an edit, which is undone."""
    edited.made(path, edit)
    text = path.read_text()
    edits.undo(edited.project(path))
    assert path.read_text() == BOOK
    return text


@pytest.mark.parametrize(
    ("pronoun", "old", "new"),
    [
        ("she", "      Mrs. Hall: []\n", "      Mrs. Hall: []\n      Saul: []\n"),
        ("he", "plays: [Tom, Jim]", "plays: {Tom: [], Jim: [], Saul: []}"),
        ("", "plays: {It: []}", "plays: {It: [], Saul: []}"),
        (
            "they",
            "chapters:",
            "  Saul:\n    pronoun: they\n    kokoro: {voice: bm_fable}\nchapters:",
        ),
    ],
)
def test_who_is_added_has_the_voice_of_those_with_this_pronoun(path, pronoun, old, new):
    text = changed(path, edits.add_edit(edited.project(path), "Saul", pronoun))
    assert text == BOOK.replace(old, new)


def test_the_first_who_is_added_does_not_become_the_narrator(tmp_path):
    head, chapters = BOOK.partition("speakers:")[0], BOOK[BOOK.index("chapters:") :]
    path = edited.write(tmp_path, TEXT, head + chapters)
    edited.made(path, edits.add_edit(edited.project(path), "Saul"))
    assert list(edited.project(path).speakers) == ["narrator", "Saul"]
    assert edited.project(path).narrator == "narrator"


def test_the_only_speaker_is_to_be_named_the_narrator_before_another_is_added(tmp_path):
    book = edited.MANIFEST.replace("  narrator: {}\n  Ada: { pronoun: she }\n", "")
    path = edited.write(tmp_path, TEXT, book.replace("  Ben: {pronoun: he}\n", ""))
    with pytest.raises(ManifestError, match="narrator: Mrs Hale"):
        edits.add_edit(edited.project(path), "Saul")


@pytest.mark.parametrize(
    "name", ["ada", "lu", "miss lovell", "Sa:ul", "", "women", "narrator", "Ada & Saul"]
)
def test_who_is_there_already_is_not_added(path, name):
    with pytest.raises(UsageError):
        edits.add_edit(edited.project(path), name)


@pytest.mark.parametrize(
    ("name", "new_name", "old", "new"),
    [
        (
            "Ada", "Augusta", "Ada: {pronoun: she, aliases: [Miss Lovell]}",
            "Augusta: {pronoun: she, aliases: [Miss Lovell, Ada]}",
        ),
        ("Ada", "Miss Lovell", "Ada: {pronoun: she, aliases: [Miss Lovell]}",
         "Miss Lovell: {pronoun: she, aliases: [Ada]}"),
        ("Ada", "ADA", "Ada:", "ADA:"),
        ("Ben", "Benjamin", "Ben:\n    pronoun: he   # a friend\n",
         "Benjamin:\n    pronoun: he   # a friend\n    aliases: [Ben]\n"),
        ("Lucy", "Lucia", "Lucy: [Lu]   #", "Lucia: [Lu, Lucy]   #"),
        ("Tom", "Thomas", "[Tom, Jim]", "{Thomas: [Tom], Jim: []}"),
    ],
)  # fmt: skip
def test_a_person_is_renamed_and_keeps_the_old_name_as_an_alias(path, name, new_name, old, new):
    assert changed(path, edits.rename_edit(edited.project(path), name, new_name)) == BOOK.replace(
        old, new
    )


@pytest.mark.parametrize(
    ("name", "target", "replacements"),
    [
        ("Mrs. Hall", "Ada", {"[Miss Lovell]": "[Miss Lovell, Mrs. Hall]",
                              "      Mrs. Hall: []\n": ""}),
        ("Lucy", "Mrs. Hall", {"      Lucy: [Lu]   # small\n": "", "Hall: []": "Hall: [Lucy, Lu]"}),
        ("Ben", "Tom", {"  Ben:\n    pronoun: he   # a friend\n": "",
                        "[Tom, Jim]": "{Tom: [Ben], Jim: []}"}),
        ("Jim", "Tom", {"[Tom, Jim]": "{Tom: [Jim]}"}),
        ("It", "Lucy", {"[Lu]": "[Lu, It]",
                        "  others: {plays: {It: []}, voice: {description: A voice}}\n": ""}),
    ],
)  # fmt: skip
def test_two_are_made_one_person(path, name, target, replacements):
    after = BOOK
    for old, new in replacements.items():
        after = after.replace(old, new)
    assert changed(path, edits.merge_edit(edited.project(path), name, target)) == after


@pytest.mark.parametrize(
    ("name", "alias", "replacements"),
    [
        ("Lucy", "Lu", {"[Lu]": "[]", "Mrs. Hall: []\n": "Mrs. Hall: []\n      Lu: []\n"}),
        ("Ada", "Miss Lovell", {"[Miss Lovell]": "[]"}),
    ],
)
def test_an_alias_is_made_another_person(path, name, alias, replacements):
    after = BOOK
    for old, new in replacements.items():
        after = after.replace(old, new)
    text = changed(path, edits.split_edit(edited.project(path), name, alias))
    assert text.startswith(after.partition("chapters:")[0])
    assert f"{alias}:" in text


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Lucy", "      Lucy: [Lu]   # small\n", ""),
        ("Jim", "[Tom, Jim]", "[Tom]"),
        ("It", "  others: {plays: {It: []}, voice: {description: A voice}}\n", ""),
    ],
)
def test_who_shares_a_voice_gets_one(path, name, old, new):
    old_settings = edited.project(path).speakers[name]
    edit = edits.voice_edit(edited.project(path), name, {"description": "Old, hoarse"})
    edited.made(path, edit)
    project = edited.project(path)
    settings = project.manifest.speakers[name]
    assert settings.voice.description == "Old, hoarse"
    assert (settings.pronoun, settings.aliases) == (old_settings.pronoun, old_settings.aliases)
    assert path.read_text().startswith(BOOK.replace(old, new).partition("chapters:")[0])
    edits.undo(project)
    assert path.read_text() == BOOK


def test_what_a_person_says_stays_theirs(path):
    edited.made(path, edits.merge_edit(edited.project(path), "Lucy", "Ada"))
    edited.made(path, edits.rename_edit(edited.project(path), "Ben", "Benjamin"))
    assert [names for names, _, text in edited.said(path) if "“" in text] == ["Ada", "Benjamin"]


@pytest.mark.parametrize("name", ["\u202eEve", "\u2066Eve\u2069", "\ufeffE\u200bve\n"])
def test_a_new_name_has_no_invisible_characters(path, name):
    edited.made(path, edits.add_edit(edited.project(path), name))
    edited.made(path, edits.rename_edit(edited.project(path), "Ben", f"{name} B"))
    assert {"Eve", "Eve B"} <= edited.project(path).speakers.keys()


@pytest.mark.parametrize(
    ("edit", "names", "message"),
    [
        (edits.rename_edit, ("Adda", "Eve"), "did you mean “Ada”"),
        (edits.rename_edit, ("narrator", "Eve"), "is the narrator"),
        (edits.rename_edit, ("women", "Eve"), "the voice of several people"),
        (edits.rename_edit, ("Ada", "Lu"), "is Lucy already: merge the two"),
        (edits.rename_edit, ("Ada", "A: B"), "cannot be a name"),
        (edits.rename_edit, ("Ada", "Ben & Fay"), "are several people"),
        (edits.add_edit, ("Fay & Lu",), "are several people"),
        (edits.add_edit, ("\u200b",), "cannot be a name"),
        (edits.rename_edit, ("Ada", " "), "cannot be a name"),
        (edits.split_edit, ("Ada", "Lu"), "is not an alias of Ada"),
        (edits.merge_edit, ("Ada", "Nobody"), "is not in the cast"),
        (edits.merge_edit, ("Ada", "Ada"), "with itself"),
        (edits.merge_edit, ("women", "Ada"), "the voice of several people"),
        (edits.merge_edit, ("Lucy", "women"), "the voice of several people"),
    ],
)
def test_what_cannot_be_done_is_refused(path, edit, names, message):
    with pytest.raises(UsageError, match=message):
        edit(edited.project(path), *names)


@pytest.mark.parametrize(
    ("name", "pronoun", "old", "new"),
    [
        ("Ben", "they", "pronoun: he ", "pronoun: they "),
        ("Ada", "he", "{pronoun: she, ", "{pronoun: he, "),
        ("It", "she", "      Mrs. Hall: []\n", "      Mrs. Hall: []\n      It: []\n"),
        ("Lucy", "he", "plays: [Tom, Jim]", "plays: {Tom: [], Jim: [], Lucy: [Lu]}"),
    ],
)
def test_a_pronoun_may_change_the_shared_voice(path, name, pronoun, old, new):
    text = changed(path, edits.pronoun_edit(edited.project(path), name, pronoun))
    assert new in text
    assert old not in text or old in new


def test_a_pronoun_that_somebody_has_already(path):
    with pytest.raises(UsageError, match="already"):
        edits.pronoun_edit(edited.project(path), "Ada", "she")
