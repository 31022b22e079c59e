from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from narrator.errors import ManifestError
from narrator.manifest import Project, load, schema

GOOD = """\
title: The Lamplighter
author: A. Author
language: en-GB
chapters:
  - {title: One, file: one.md}
"""


def project(folder: Path, text: str) -> Project:
    (folder / "one.md").write_text("Once.")
    (folder / "book.yaml").write_text(text)
    return load(folder / "book.yaml")


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        project(folder, text)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def test_the_smallest_manifest_has_one_speaker_and_defaults(tmp_path):
    book = project(tmp_path, GOOD)
    assert list(book.speakers) == ["narrator"]
    assert book.narrator == "narrator"
    assert book.engine.name == "voxcpm2"
    assert book.manifest.output.formats == ("m4b",)


def test_a_folder_stands_for_its_book_yaml(tmp_path):
    project(tmp_path, GOOD)
    assert load(tmp_path).manifest.title == "The Lamplighter"


def test_numbers_are_texts_as_written_where_a_text_is_wanted(tmp_path):
    text = (
        GOOD.replace("The Lamplighter", "1984")
        + "identifiers: {isbn: 0123456789}\ndate: 2020-01-02\n"
    )
    book = project(tmp_path, text).manifest
    assert (book.title, book.identifiers, book.date) == (
        "1984", {"isbn": "0123456789"}, "2020-01-02",
    )  # fmt: skip


def test_short_forms_equal_their_long_forms(tmp_path):
    short = project(tmp_path, GOOD + "engine: draft\nlexicon: {Cholmondeley: Chumley}\n")
    long = project(
        tmp_path, GOOD + "engine: {name: draft}\nlexicon: [{word: Cholmondeley, say: Chumley}]\n"
    )
    assert short.engine == long.engine
    assert short.lexicon == long.lexicon


def test_a_speaker_needs_no_more_than_a_name(tmp_path):
    book = project(tmp_path, GOOD + "speakers:\n  ann:\n  bob: {}\n")
    assert book.speakers["ann"] == book.speakers["bob"]


def test_lines_know_where_they_stand(tmp_path):
    book = project(tmp_path, GOOD + "  - title: Two\n    lines:\n      - a\n      - narrator: b\n")
    assert book.line("chapters", 1, "lines", 1) == 9


def test_all_problems_come_in_one_report(tmp_path):
    text = GOOD.replace("one.md", "two.md") + "outptu: {}\nengine: {cfg: big}\nnarrator: bob\n"
    assert problems(tmp_path, text) == [
        "book.yaml:5: no such file: two.md; did you mean 'one.md'?",
        "book.yaml:6: unknown key 'outptu'; did you mean 'output'?",
        "book.yaml:7: engine.cfg: must be a valid number, not 'big'",
        "book.yaml:8: unknown speaker 'bob'; declare it under `speakers`",
    ]


CASES = {
    "an unknown key inside": (
        GOOD + "pauses: {lin: 1}\n",
        "book.yaml:6: unknown key 'lin' in pauses; did you mean 'line'?",
    ),
    "an unknown key in a chapter": (
        GOOD.replace("title: One", "title: One, speakr: x"),
        "book.yaml:5: unknown key 'speakr' in chapters[1]; did you mean 'speaker'?",
    ),
    "a wrong type": (
        GOOD + "pauses: {line: long}\n",
        "book.yaml:6: pauses.line: must be a valid number, not 'long'",
    ),
    "a value out of range": (
        GOOD + "pauses: {line: -1}\n",
        "book.yaml:6: pauses.line: must be greater than or equal to 0, not '-1'",
    ),
    "a list where a mapping belongs": (
        GOOD + "speakers: [a, b]\n",
        "book.yaml:6: speakers: must be a mapping of keys to values",
    ),
    "a missing title": (
        GOOD.replace("title: The Lamplighter\n", ""),
        "book.yaml:1: 'title' is missing",
    ),
    "a key without a value": (GOOD + "genre:\n", None),
    "a word that YAML takes for a truth": (
        GOOD.replace("The Lamplighter", "No"),
        "book.yaml:1: title: YAML reads this word as true or false; put it in quotes",
    ),
    "a speaker that stands twice": (
        GOOD + "speakers:\n  bob: {}\n  ann: {}\n  bob: {}\n",
        "book.yaml:9: 'bob' stands twice; first on line 7",
    ),
    "speakers that differ in case alone": (
        GOOD + "speakers:\n  bob: {}\n  Bob: {}\n",
        "book.yaml:8: 'Bob' already names the speaker 'bob'",
    ),
    "an alias of another": (
        GOOD + "speakers:\n  bob: {}\n  ann: {aliases: [Bob]}\n",
        "book.yaml:8: 'Bob' already names the speaker 'bob'",
    ),
    "a name that a script cannot hold": (
        GOOD + 'speakers:\n  "a: b": {}\n',
        "book.yaml:7: a speaker's name may not hold any of : ( ) [ ] { } *: 'a: b'",
    ),
    "an unknown voice": (
        GOOD + "voices: {old: {description: Old}}\nspeakers:\n  bob: {voice: odl}\n",
        "book.yaml:8: unknown voice 'odl'; did you mean 'old'?",
    ),
    "a reference without its transcript": (
        GOOD + "voices: {old: {reference: one.md}}\n",
        "book.yaml:6: voices.old: a `reference` needs its exact `transcript`",
    ),
    "a chapter with two sources": (
        GOOD.replace("file: one.md", "file: one.md, lines: [x]"),
        "book.yaml:5: chapters[1]: a chapter needs either `file` or `lines`",
    ),
    "no chapters": (
        GOOD[: GOOD.index("chapters")] + "chapters: []\n",
        "book.yaml:4: chapters: must not be empty",
    ),
    "an unknown format": (
        GOOD + "output: {formats: mp4}\n",
        "book.yaml:6: output.formats: must be 'm4b', 'mp3', 'flac', 'opus' or 'wav', not 'mp4'; "
        "did you mean 'mp3'?",
    ),
    "a loudness that is none": (
        GOOD + "output: {loudness: loud}\n",
        "book.yaml:6: output.loudness: must be 'audiobook', 'acx' or 'podcast' or must be a valid "
        "number, not 'loud'",
    ),
    "a pattern that does not compile": (
        GOOD + "lexicon: [{pattern: '(', say: x}]\n",
        "book.yaml:6: lexicon[1].pattern: not a regular expression: missing ), unterminated "
        "subpattern at position 0",
    ),
    "a cover that is no image": (
        GOOD + "cover: one.md\n",
        "book.yaml:6: the cover is no JPEG or PNG image: one.md",
    ),
    "a cover that is not there": (GOOD + "cover: c.jpg\n", "book.yaml:6: no such file: c.jpg"),
    "a name with an unknown field": (
        GOOD + "output: {name: '{titel}'}\n",
        "book.yaml:6: output.name: no field {titel}; use {title}, {author}, {narrator}, {series}, "
        "{part}, {year}, {publisher}, {language}",
    ),
    "tabs": ("title:\n\tx: 1\n", "book.yaml:2: a tab: YAML wants spaces for indentation"),
    "a colon without quotes": (
        "title: One: Smoke\n",
        "book.yaml:1: mapping values are not allowed here; put a text that has a colon in quotes",
    ),
    "a name that no file system takes": (
        GOOD + f"cover: {'x' * 5000}.png\n",
        f"book.yaml:6: no such file: {'x' * 5000}.png",
    ),
    "half a character": (
        GOOD.replace("The Lamplighter", '"\\ud800"'),
        "book.yaml:1: half of a surrogate pair, which is no character",
    ),
    "a control character": (
        GOOD + "genre: a\x07b\n",
        r"book.yaml:6: a control character, '\x07', which YAML does not allow",
    ),
    "a pattern too large": (
        GOOD + "lexicon: [{pattern: 'a{99999999999}', say: x}]\n",
        "book.yaml:6: lexicon[1].pattern: not a regular expression: the repetition number is too "
        "large",
    ),
    "an empty file": ("", "book.yaml:1: empty, or not a mapping of keys to values"),
}  # fmt: skip


@pytest.mark.parametrize("case", [name for name, (_, message) in CASES.items() if message])
def test_each_mistake_is_one_line_with_its_place(case, tmp_path):
    text, message = CASES[case]
    assert problems(tmp_path, text) == [message]


def test_a_key_without_a_value_is_as_if_it_were_not_there(tmp_path):
    assert project(tmp_path, CASES["a key without a value"][0]).manifest.genre is None


def test_a_yaml_bomb_is_refused_at_once(tmp_path):
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    found = problems(tmp_path, "\n".join(levels))
    assert len(found) == 1
    assert found[0].endswith("aliases (&name, *name) that grow without bound")


def test_an_alias_that_holds_itself_is_refused(tmp_path):
    assert "grow without bound" in problems(tmp_path, "title: &a [*a]\n")[0]


def test_a_python_tag_makes_no_object(tmp_path):
    found = problems(tmp_path, GOOD + "genre: !!python/object/apply:os.getcwd []\n")
    assert found == ["book.yaml:6: genre: must be a text"]


def test_text_that_is_not_utf8_names_the_line(tmp_path):
    (tmp_path / "book.yaml").write_bytes(b"title: x\nauthor: \xff\n")
    with pytest.raises(ManifestError, match=r"book\.yaml:2: not UTF-8"):
        load(tmp_path / "book.yaml")


def test_a_missing_manifest_says_how_to_get_one(tmp_path):
    with pytest.raises(ManifestError, match="no such file; name a project"):
        load(tmp_path / "book.yaml")


def test_the_schema_takes_what_the_reader_takes_and_refuses_unknown_keys():
    rules = schema()
    jsonschema.Draft202012Validator.check_schema(rules)
    validator = jsonschema.Draft202012Validator(rules)
    data = yaml.safe_load(
        GOOD
        + "engine: draft\nlexicon: {a: b}\nspeakers: {bob: {voice: old}, ann: null}\n"
        + "voices: {old: {description: Old}}\noutput: {formats: [m4b, mp3], loudness: -18}\n"
    )
    assert not list(validator.iter_errors(data))
    assert list(validator.iter_errors({**data, "outptu": 1}))
    assert list(validator.iter_errors({**data, "output": {"formats": ["mp4"]}}))


@pytest.mark.parametrize("date", ["2020", "2020-02", "2020-02-29", "0004"])
def test_a_date_is_a_year_a_month_or_a_day(date, tmp_path):
    assert project(tmp_path, GOOD + f"date: {date}\n").manifest.date == date


@pytest.mark.parametrize(
    "date",
    ["2021-02-29", "2020-13", "20200102", "May 2020", "2020-1-2", "0000", "2020-01-02T03:04:05Z"],
)
def test_a_date_that_is_none_is_refused(date, tmp_path):
    assert problems(tmp_path, GOOD + f"date: {date}\n") == [
        f"book.yaml:6: date: must be YYYY, YYYY-MM or YYYY-MM-DD, a day that is, not '{date}'"
    ]


@pytest.mark.parametrize("code", [0, 7, 27, 0x7F, 0x85, 0xFFFF])
def test_characters_that_no_tag_can_hold_are_refused_with_their_line(code, tmp_path):
    written, shown = f"\\u{code:04x}", repr(chr(code))
    text = GOOD + f'publisher: "A{written}B"\nlexicon:\n  "C{written}D": x\n'
    assert problems(tmp_path, text) == [
        f"book.yaml:{line}: {shown} in a text, which is no character that can be shown: take it out"
        for line in (6, 8)
    ]


def test_tabs_and_line_breaks_are_characters_that_can_be_shown(tmp_path):
    text = GOOD + 'description: "A\\tB\\nC"\n'
    assert project(tmp_path, text).manifest.description == "A\tB\nC"


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
def test_a_number_is_finite(number, tmp_path):
    (found,) = problems(tmp_path, GOOD + f"pauses: {{line: {number}}}\n")
    assert found.startswith("book.yaml:6: pauses.line: ")
