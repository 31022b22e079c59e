"""More entries for a mapping of a YAML file: every line of the author stays."""

from __future__ import annotations

import pytest
import yaml

from narrator.project.insertion import NotInserted, inserted

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
def test_entries_are_put(before: str, after: str) -> None:
    assert inserted(before, ["speakers"], NEW) == after


@pytest.mark.parametrize(
    "before",
    ["speakers: {a: {}, b: {} } # c\nz: 1\n", "speakers: {a: {}, # c\n b: {},\n}\n"],
)
def test_entries_are_put_between_braces(before: str) -> None:
    after = inserted(before, ["speakers"], NEW)
    assert list(yaml.safe_load(after)["speakers"]) == ["a", "b", "Ada", "Yes", "12"]
    assert after.startswith(before.partition("}\n")[0].partition(" }")[0])


def test_what_lies_deeper_is_found() -> None:
    before = "speakers:\n  women:\n    plays:\n      Ann: [A]\n    style: x\n"
    after = inserted(before, ["speakers", "women", "plays"], {"Lucy": []})
    assert after == before.replace("[A]\n", "[A]\n      Lucy: []\n")


def test_lines_end_as_the_authors_do() -> None:
    after = inserted("speakers:\r\n  a: {}\r\nz: 1\r\n", ["speakers"], {"b": {}})
    assert after == "speakers:\r\n  a: {}\r\n  b: {}\r\nz: 1\r\n"


@pytest.mark.parametrize(
    "text",
    ["", "- a\n", "speakers: [a]\n", "speakers: &s {a: {}}\nz: *s\n", "speakers: a\n", "{a: 1}\n"],
)
def test_a_mapping_that_is_none_stays_as_it_is(text: str) -> None:
    with pytest.raises(NotInserted):
        inserted(text, ["speakers"], NEW)


def test_an_entry_that_is_there_is_not_put_twice() -> None:
    with pytest.raises(NotInserted):
        inserted("speakers:\n  Ada: {}\n", ["speakers"], {"Ada": {"pronoun": "she"}})
