"""Values of a YAML file put in, changed and renamed: every other line of the author stays."""

from __future__ import annotations

import pytest
import yaml

from narrator.project.rewriting import (
    UnsupportedLayout,
    append_entry,
    insert_entries,
    remove_entry,
    rename_entry,
    set_value,
)

NEW = {"Ada": {"pronoun": "she", "aliases": ["Miss “L”", "x: y"]}, "Yes": {}, "12": {}}
ROWS = ["Ada:", "  pronoun: she", "  aliases: [Miss “L”, 'x: y']", "'Yes': {}", "'12': {}"]


def block(indent: int) -> str:
    return "".join(f"{' ' * indent}{row}\n" for row in ROWS)


@pytest.mark.parametrize(
    ("before", "after"),
    {
        "under the last entry and its comments": (
            "title: x\nspeakers:\n  narrator: {}    # who\n  # ann: {}\n# end\nnarrator: a\n",
            f"title: x\nspeakers:\n  narrator: {{}}    # who\n  # ann: {{}}\n{block(2)}"
            "# end\nnarrator: a\n",
        ),
        "as far in as the author has it": (
            "speakers:\n    a:\n        style: x\n\n\nz: 1\n",
            f"speakers:\n    a:\n        style: x\n{block(4)}\n\nz: 1\n",
        ),
        "after a text of several lines": (
            "speakers:\n  a:\n    style: |\n      long\n\n      more\n\n# c\nz: 1",
            f"speakers:\n  a:\n    style: |\n      long\n\n      more\n{block(2)}\n# c\nz: 1\n",
        ),
        "after an entry without a value": (
            "speakers:\n  a:\n  b:\nz: 1\n",
            f"speakers:\n  a:\n  b:\n{block(2)}z: 1\n",
        ),
        "instead of nothing": (
            "speakers:   # none\nz: 1\n",
            f"speakers:   # none\n{block(2)}z: 1\n",
        ),
        "instead of null": ("speakers: ~\nz: 1\n", f"speakers:\n{block(2)}z: 1\n"),
        "instead of braces": (
            "speakers: {}    # none\nz: 1\n",
            f"speakers:    # none\n{block(2)}z: 1\n",
        ),
        "above the chapters and what is said of them": (
            "title: x\n\n# the chapters\nchapters:\n- a\n",
            f"title: x\n\nspeakers:\n{block(2)}# the chapters\nchapters:\n- a\n",
        ),
        "at the end of a file without chapters": ("a: 1", f"a: 1\nspeakers:\n{block(2)}"),
        "before the end of a document": (
            "---\nspeakers:\n  a: {}\n...\n",
            f"---\nspeakers:\n  a: {{}}\n{block(2)}...\n",
        ),
    }.values(),
)
def test_entries_are_put(before, after):
    assert insert_entries(before, ["speakers"], NEW) == after


@pytest.mark.parametrize(
    "before",
    ["speakers: {a: {}, b: {} } # c\nz: 1\n", "speakers: {a: {}, # c\n b: {},\n}\n"],
)
def test_entries_are_put_between_braces(before):
    after = insert_entries(before, ["speakers"], NEW)
    assert list(yaml.safe_load(after)["speakers"]) == ["a", "b", "Ada", "Yes", "12"]
    assert after.startswith(before.partition("}\n")[0].partition(" }")[0].rstrip(",\n"))
    assert after.endswith(before[before.index("b: {}") + 5 :])


def test_what_lies_deeper_is_found():
    before = "speakers:\n  women:\n    plays:\n      Ann: [A]\n    style: x\n"
    after = insert_entries(before, ["speakers", "women", "plays"], {"Lucy": []})
    assert after == before.replace("[A]\n", "[A]\n      Lucy: []\n")


def test_lines_end_as_the_authors_do():
    after = insert_entries("speakers:\r\n  a: {}\r\nz: 1\r\n", ["speakers"], {"b": {}})
    assert after == "speakers:\r\n  a: {}\r\n  b: {}\r\nz: 1\r\n"


@pytest.mark.parametrize(
    "text",
    ["", "- a\n", "speakers: [a]\n", "speakers: &s {a: {}}\nz: *s\n", "speakers: a\n", "{a: 1}\n"],
)
def test_a_mapping_that_is_none_stays_as_it_is(text):
    with pytest.raises(UnsupportedLayout):
        insert_entries(text, ["speakers"], NEW)


def test_an_entry_that_is_there_is_not_put_twice():
    with pytest.raises(UnsupportedLayout):
        insert_entries("speakers:\n  Ada: {}\n", ["speakers"], {"Ada": {"pronoun": "she"}})


VOICE = ["speakers", "Ada", "voice"]
NEW_VOICE = {"description": "Dry, low", "seed": 3}
WRITTEN = "{description: 'Dry, low', seed: 3}"


@pytest.mark.parametrize(
    ("before", "after"),
    {
        "of one word": ("    voice: Old   # as Dad\n", f"    voice: {WRITTEN}   # as Dad\n"),
        "in quotes": ("    voice:   'Old'\n", f"    voice:   {WRITTEN}\n"),
        "in braces": (
            "    voice: { description: x,\n      seed: 1 }  # c\n",
            f"    voice: {WRITTEN}  # c\n",
        ),
        "in lines of its own": (
            "    voice:   # c\n      # d\n      description: x\n      seed: 1  # e\n    # f\n",
            f"    voice: {WRITTEN}   # c\n      # d\n    # f\n",
        ),
        "null": ("    voice:\n", f"    voice: {WRITTEN}\n"),
        "null in words": ("    voice: ~ # c\n", f"    voice: {WRITTEN} # c\n"),
        "an alias": ("    voice: *v\n", f"    voice: {WRITTEN}\n"),
        "not there": ("    pronoun: she\n", f"    pronoun: she\n    voice: {WRITTEN}\n"),
    }.values(),
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_value_is_changed_and_nothing_else(before, after, newline, mark):
    whole = (
        f"{mark}title:   x # t\nsynopsis: one\n  two\n\nvoices: {{a: &v {{description: q}}}}\n"
        "speakers:\n  narrator: ~\n  Ada:\n%s\n# chapters\nchapters:\n- { title: A,  file: a }\n"
    ).replace("\n", newline)
    old, new = (whole % text.replace("\n", newline) for text in (before, after))
    assert set_value(old, VOICE, NEW_VOICE) == new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{Ada: {voice: Old, pronoun: she}}", f"{{Ada: {{voice: {WRITTEN}, pronoun: she}}}}"),
        ("{ Ada: { pronoun: she } }", f"{{ Ada: {{ pronoun: she, voice: {WRITTEN} }} }}"),
        ("{Ada: {}}", None),
        ("{Ada: }", None),
        ("{}", None),
    ],
)
def test_a_value_is_changed_between_braces(before, after):
    found = set_value(f"speakers: {before} # c\nz: 1\n", VOICE, NEW_VOICE)
    assert yaml.safe_load(found)["speakers"]["Ada"]["voice"] == NEW_VOICE
    assert found.endswith("z: 1\n")
    assert "# c\n" in found
    assert after is None or found == f"speakers: {after} # c\nz: 1\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("say: one", "say: 'two: 2'"),
        ('say: "one"', 'say: "two: 2"'),
        ("say: 'one' # c", "say: 'two: 2' # c"),
        ("say: >-\n    one\n    more", "say: 'two: 2'"),
        ("say: one\n    more", "say: 'two: 2'"),
        ("say:\n    one", "say: 'two: 2'"),
    ],
)
def test_a_text_keeps_its_quotes(before, after):
    text = f"lexicon:\n- word: x\n  {before}\n- {{word: y, say: z}}\n"
    assert set_value(text, ["lexicon", 0, "say"], "two: 2") == text.replace(before, after)


@pytest.mark.parametrize("before", ["seed: 3", "seed: '3'", "a: {seed: 3, b: c}"])
def test_a_number_is_written_as_one(before):
    path = ("a", "seed") if before.startswith("a") else ("seed",)
    after = set_value(f"{before}\n", path, 40)
    assert after == f"{before}\n".replace("'3'", "40").replace("3", "40")


def test_a_text_of_several_lines_keeps_its_lines():
    text = "lines:\n  - >-  # c\n      One\n\n      two.\n\n  - b\n"
    after = "lines:\n  - |-  # c\n      Three\n\n      four.\n\n  - b\n"
    assert set_value(text, ["lines", 0], "Three\n\nfour.") == after


@pytest.mark.parametrize(
    ("before", "after"),
    {
        "in braces": (
            "lexicon: [{word: a, say: b}]",
            "lexicon: [{word: a, say: b}, {word: c, say: 'd,'}]",
        ),
        "in none": ("lexicon: []", "lexicon: [{word: c, say: 'd,'}]"),
        "like the last": (
            "lexicon:\n  -  {word: a, say: b}\n  # e",
            "lexicon:\n  -  {word: a, say: b}\n  # e\n  -  {word: c, say: 'd,'}",
        ),
        "in lines": (
            "lexicon:\n- word: a\n  say: b\n",
            "lexicon:\n- word: a\n  say: b\n- word: c\n  say: d,\n",
        ),
    }.values(),
)
def test_an_item_is_put_at_the_end_of_a_list(before, after):
    whole = "a: 1\n%s\nz: 1\n"
    assert append_entry(whole % before, ["lexicon"], {"word": "c", "say": "d,"}) == whole % after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("lines:\n  - Ada: 'Yes: no.'\n  - x\n", "lines:\n  - Ben (low): 'Yes: no.'\n  - x\n"),
        ("lines: [{Ada: x}, b]\n", "lines: [{Ben (low): x}, b]\n"),
        ('lines:\n  - "Ada": |\n      x\n', 'lines:\n  - "Ben (low)": |\n      x\n'),
    ],
)
def test_a_key_is_renamed(before, after):
    assert rename_entry(before, ["lines", 0, "Ada"], "Ben (low)") == after


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("a:\n  b: 1 # c\n  d:\n    e: 1\n  # f\n", "d", "a:\n  b: 1 # c\n  # f\n"),
        ("a:\n  b: [x]\n  d: {}\n", "b", "a:\n  d: {}\n"),
        ("a: {b: [x, y], d: 1}\n", "b", "a: {d: 1}\n"),
        ("a: { b: [x, y], d: {} } # c\n", "d", "a: { b: [x, y] } # c\n"),
        ("a: [b, c, d]\n", 1, "a: [b, d]\n"),
        ("a:\n- b\n- c # d\n- e\n", 1, "a:\n- b\n- e\n"),
    ],
)
def test_an_entry_is_removed(before, key, after):
    assert remove_entry(before, ["a", key]) == after


@pytest.mark.parametrize(
    ("text", "key"),
    [("a: {b: 1}\n", "b"), ("a: [b]\n", 0), ("a: {b: 1, c: 2}\n", "d"), ("a: x\n", "b"),
     ("a: [b, c]\n", "b"), ("a:\n  b: &v 1\n  c: *v\n", "b")],
)  # fmt: skip
def test_an_entry_that_is_the_last_or_not_there_is_not_removed(text, key):
    with pytest.raises(UnsupportedLayout):
        remove_entry(text, ["a", key])


@pytest.mark.parametrize(
    "text",
    [
        "speakers:\n  Ada: {voice: &v {description: x}}\n  Ben: {voice: *v}\n",
        "speakers: [a]\n",
        "speakers:\n  Ada: &a {voice: x}\n  Ben: *a\n",
        "- a\n",
        "speakers: {Ada: \n",
    ],
)
def test_a_value_that_others_share_stays_as_it_is(text):
    with pytest.raises(UnsupportedLayout):
        set_value(text, VOICE, NEW_VOICE)
