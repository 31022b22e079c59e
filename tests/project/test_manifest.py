from __future__ import annotations

import os
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from narrator.cast.cast import resolve
from narrator.errors import ManifestError, UserError
from narrator.pipeline.manuscript import read_manuscript
from narrator.project.load import load
from narrator.project.project import Project
from narrator.project.schema import schema
from tests.effort import cpu_seconds, quick

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


BOOK = f"{GOOD}  - {{title: Two, lines: [Twice.]}}\nnarrated_by: Voice One\n"
MISTAKES = re.findall(
    r"^== (.*?) ==\n(.*?)^→ (\d+): ([^\n]*)$",
    (Path(__file__).parent / "mistakes.txt").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(
    ("more", "line", "message"), [pytest.param(*case, id=name) for name, *case in MISTAKES]
)
def test_each_mistake_is_one_line_with_its_place(more, line, message, tmp_path):
    place = BOOK.count("\n") + int(line)
    assert problems(tmp_path, BOOK + more) == [f"book.yaml:{place}: {message}"]


WHOLE = {
    "an unknown key in a chapter": (
        GOOD.replace("title: One", "title: One, speakr: x"),
        "5: unknown key 'speakr' in chapters[1]; did you mean 'speaker'?",
    ),
    "a missing title": (GOOD.replace("title: The Lamplighter\n", ""), "1: 'title' is missing"),
    "a word that YAML takes for a truth": (
        GOOD.replace("The Lamplighter", "No"),
        "1: title: YAML reads this word as true or false; put it in quotes",
    ),
    "a chapter with two sources": (
        GOOD.replace("file: one.md", "file: one.md, lines: [x]"),
        "5: chapters[1]: a chapter needs either `file` or `lines`",
    ),
    "no chapters": (
        GOOD[: GOOD.index("chapters")] + "chapters: []\n",
        "4: chapters: must not be empty",
    ),
    "a name that no file system takes": (
        GOOD + f"cover: {'x' * 5000}.png\n",
        f"6: no such file: {'x' * 400}…",
    ),
    "half a character": (
        GOOD.replace("The Lamplighter", '"\\ud800"'),
        "1: half of a surrogate pair, which is not a character",
    ),
    "a control character": (
        GOOD + "genre: a\x07b\n",
        r"6: a control character, '\x07', which YAML does not allow",
    ),
    "an empty file": ("", "1: empty: a manifest begins with keys, as `title: The Ferry`"),
    "credits that nobody speaks": (
        GOOD + "speakers: {bob: {}, ann: {}}\ncredits: {}\nnarrated_by: X\n",
        "7: nobody speaks the credits: name a `speaker`",
    ),
}


@pytest.mark.parametrize(("text", "message"), WHOLE.values(), ids=WHOLE)
def test_a_mistake_anywhere_in_a_manifest_is_one_line_with_its_place(text, message, tmp_path):
    assert problems(tmp_path, text) == [f"book.yaml:{message}"]


def test_a_key_without_a_value_is_as_if_it_were_not_there(tmp_path):
    assert project(tmp_path, GOOD + "genre:\n").manifest.genre is None


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
        f"book.yaml:{line}: {shown} in a text, a character that cannot be shown: take it out"
        for line in (6, 8)
    ]


def test_tabs_and_line_breaks_are_characters_that_can_be_shown(tmp_path):
    text = GOOD + 'description: "A\\tB\\nC"\n'
    assert project(tmp_path, text).manifest.description == "A\tB\nC"


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
def test_a_number_is_finite(number, tmp_path):
    (found,) = problems(tmp_path, GOOD + f"pauses: {{line: {number}}}\n")
    assert found.startswith("book.yaml:6: pauses.line: ")


# -- hostile values at every key -------------------------------------------------------------------

FULL = """\
title: T
subtitle: S
author: [A, B]
language: en-GB
cover: cover.jpg
identifiers: {isbn: 1}
series: {name: S, part: 2}
date: 2018-05-08
engine: {name: draft, model: auto, dtype: auto, steps: 3, cfg: 2.0, seed: 1, slots: 2}
speakers:
  narrator: {voice: one, gain: 1, language: en, aliases: [Al], draft: {variant: f2, pitch: 1}}
  Ada: {voice: {description: d, seed: 3}, chain: {mode: reference, max_chunks: 3}}
  Ben: {pronoun: he, plays: [Cy]}
narrator: narrator
dialogue: {tags: skip, first_person: Ben}
voices: {one: {description: d}}
chapters:
  - {title: One, file: one.md, speaker: Ada, language: en, engine: {steps: 2}}
  - {title: Two, lines: ["Ada: hello", {Ada: hi}]}
pauses: {clause: 1}
checks: {recognition: never, tries: 3}
lexicon: [{word: a, say: b, speaker: Ada, case: true}, {pattern: "a+", say: b}]
output: {profile: [mine], sample: {chapter: 1, seconds: 100}, companions: [vtt]}
profiles: {mine: {base: acx, bitrate: 192, head: [0.5, 1], genre: g, book_name: "{title}"}}
credits: {opening: o, speaker: Ada, opening_title: ot}
music: [{file: one.md, place: bed, scene: 1, loop: true}]
"""

HOSTILE = [
    "!!bool zzz", "!!int zzz", "!!int ''", "!!int '-'", "!!int 1:zz", "!!float ''", "!!float zzz",
    "!!timestamp zzz", "2001-99-99", "!!binary 'zz%'", "!!binary aGk=", "!!set {a, b}", "!!set x",
    "!!omap [a: 1]", "!!omap x", "!!seq x", "!!map [1]", "!!null x", "!foo bar", "<<", "=",
    "!!python/object/apply:os.getcwd []", "!!python/name:os.system", "!!python/tuple [1]",
    "0x" + "f" * 100_000, "1" + ":1" * 20_000, "1" * 5000, "0" + "7" * 5000, "0b" + "1" * 9000,
    "1e400", "1.0e+400", "9" * 400 + ".0", ".inf", ".nan", "-0.0", "1_000", "0b_", "089", "1:60",
    r'"\UFFFFFFFF"', r'"\U00110000"', r'"\uD800"', r'"\uDC00\uD800"', r'"\0"', r'"\x1b[31m"',
    r'"\u202e"', r'"\u200b"', r'"\ufeff"', r'"\uffff"', r'"\u3164"', r'"\u2028"', r'"\q"', r'"\u1"',
    "'a", '"a', "[", "{", "]", "[]", "{}", "[[]]", "[{}]", "{1: 2}", "{[a]: b}", "{{a: b}: c}",
    "&a x", "*zzz", "&a [*a]", "&a {x: *a}", "{<<: x}", "{<<: {a: 1}}", "{a: 1, a: 2}",
    "{null: 1}", "{true: 1}", "{1.5: 1}", "{2018-05-08: 1}", "{'': 1}", "{!!bool zzz: 1}",
    "no", "on", "~", "1984", "2018-05-08", "-1", "9" * 30, "1.5", "''", "' '", r'"\t"', r'"\n"',
    "a: b", "a: b: c", "|", "@", "%", "`", "..", "/", "a/b", "a" * 5000, "x" * 70_000,
    "[" * 500 + "]" * 500, "{a: " * 99 + "1" + "}" * 99, "[1, [2]]", "[~, ~]", "[1e400, 1]",
    '"{title.__class__}"', '"{"', '"(?P<x"', r'"\\g<9>"', "'" + "(" * 200 + "'",
]  # fmt: skip


def places(text: str) -> list[tuple[int, int]]:
    """Where the keys and values of a manifest begin and end."""
    found: list[tuple[int, int]] = []

    def look(node: yaml.Node) -> None:
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                for inner in item if isinstance(item, tuple) else (item,):
                    found.append((inner.start_mark.index, inner.end_mark.index))
                    look(inner)

    look(yaml.compose(text, Loader=yaml.SafeLoader))
    return found


def said_in_words(folder: Path, text: str) -> None:
    """A manifest is read, or refused in short lines that all have a place."""
    (folder / "book.yaml").write_text(text, errors="surrogatepass")
    try:
        read_manuscript(folder)
    except UserError as error:
        for problem in error.problems:
            assert problem.line is not None, problem
            assert problem.message.isprintable(), problem
            assert len(problem.message) < 700, problem


def full(folder: Path) -> list[tuple[int, int]]:
    (folder / "one.md").write_text("Once.")
    (folder / "cover.jpg").write_bytes(b"\xff\xd8\xff")
    return places(FULL)


def test_the_manifest_that_hostile_values_are_put_into_is_read_or_told(tmp_path):
    full(tmp_path)
    said_in_words(tmp_path, FULL)


@pytest.mark.parametrize("value", quick(HOSTILE, *HOSTILE[::3]), ids=lambda value: value[:20])
def test_a_hostile_value_at_a_key_is_said_in_words(value, tmp_path):
    where = full(tmp_path)
    chosen = HOSTILE.index(value)
    begin, end = where[chosen % len(where)]
    said_in_words(tmp_path, f"{FULL[:begin]}{value} {FULL[end:]}")


@pytest.mark.slow
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value[:20])
def test_a_hostile_value_at_many_keys_is_said_in_words(value, tmp_path):
    where = full(tmp_path)
    for begin, end in (where[1], *where[HOSTILE.index(value) % 4 :: 4]):
        said_in_words(tmp_path, f"{FULL[:begin]}{value} {FULL[end:]}")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("!!bool zzz", "cannot read 'zzz' as !!bool: take the tag away, or put the text in quotes"),
        (r'"\UFFFFFFFF"', r"an escape in quotes (\U…) that is not a character: take it out, or "
         r"write \\"),
        ("{<<: {a: 1}}", "`<<` is not read here: write the keys out"),
        ("[" * 500 + "]" * 500, "nested too deeply"),
        ("a\n---\nb: c", "a second document begins here (---): a manifest is one, take the line "
         "out"),
    ],
)  # fmt: skip
def test_what_yaml_cannot_mean_is_said_with_its_line(value, said, tmp_path):
    found = problems(tmp_path, GOOD + f"identifiers: {value}\n")
    assert f"book.yaml:{7 if '---' in value else 6}: {said}" in found


def test_an_endless_number_is_a_text_and_takes_no_time(tmp_path):
    for number in ("0x" + "f" * 200_000, "1" + ":1" * 50_000, "1" * 5000):
        (found,) = problems(tmp_path, GOOD + f"checks: {{tries: {number}}}\n")
        assert found.startswith("book.yaml:6: checks.tries: must be a valid integer")
        assert len(found) < 200
        assert project(tmp_path, GOOD + f"genre: {number}\n").manifest.genre == number


def test_a_manifest_of_commas_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("narrator.project.yaml.NODE_LIMIT", 2000)
    (found,) = problems(tmp_path, GOOD + f"genre: [{'x,' * 5000}]\n")
    assert found == "book.yaml:6: more than 2,000 values: put chapter text in files"


def test_a_pipe_is_no_manifest(tmp_path):
    os.mkfifo(tmp_path / "book.yaml")
    with pytest.raises(ManifestError, match="cannot be read: it is a named pipe, not a file"):
        load(tmp_path)


def test_thousands_of_unknown_keys_and_files_are_told_in_seconds(tmp_path):
    text = GOOD + "".join(f"  - {{title: T, file: x{i}.md}}\n" for i in range(600))
    text += "".join(f"somekey{i}: 1\n" for i in range(1200))
    found: list[object] = []
    assert cpu_seconds(lambda: found.extend(problems(tmp_path, text))) < 8
    assert len(found) == 1800


# -- files outside of the project ------------------------------------------------------------------

WAYS_OUT = {
    "chapter": "  - {{title: Two, file: {}}}\n",
    "cover": "cover: {}\n",
    "source": "source: {}\n",
    "music": "music: [{{file: {}, place: bed}}]\n",
    "voice": "voices: {{v: {{reference: {}, transcript: Words.}}}}\n",
    "speaker": "speakers: {{narrator: {{voice: {{reference: {}, transcript: Words.}}}}}}\n",
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file beside a project, which lies in `book`."""
    (tmp_path / "book").mkdir()
    (tmp_path / "others").mkdir()
    path = tmp_path / "others" / "secret"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    return path


@pytest.mark.parametrize("way", WAYS_OUT.values(), ids=WAYS_OUT)
@pytest.mark.parametrize("written", ["../others/secret", "/etc/passwd", "text/../../others/secret"])
def test_a_file_outside_of_the_project_is_not_read(secret, way, written):
    (found,) = problems(secret.parents[1] / "book", GOOD + way.format(written))
    assert f"{written} lies outside of the project: copy it into the project" in found
    assert found.startswith("book.yaml:")


def test_a_link_that_leads_out_of_the_project_is_outside(secret):
    book = secret.parents[1] / "book"
    (book / "text").symlink_to(secret.parent)
    (found,) = problems(book, GOOD + "cover: text/secret\n")
    assert "text/secret leads outside of the project" in found
    assert f"outside: [{secret.parent}]" in found


@pytest.mark.parametrize("written", ["../others/secret", "text/secret", "{}"])
@pytest.mark.parametrize("word", ["../others", "..", "{}"])
def test_a_folder_that_is_named_may_be_read(secret, written, word):
    book = secret.parents[1] / "book"
    (book / "text").symlink_to(secret.parent)
    rows = f"cover: {written.format(secret)}\noutside: [{word.format(secret.parent)}]\n"
    assert project(book, GOOD + rows).manifest.cover


def test_a_project_behind_a_link_holds_its_own_files(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    whole = GOOD.replace("one.md", str(tmp_path / "real" / "one.md"))
    assert project(tmp_path / "linked", GOOD)
    assert project(tmp_path / "linked", whole)


def test_a_folder_outside_that_is_none_is_said(tmp_path):
    assert problems(tmp_path, f"{GOOD}outside: [../nowhere]\n") == [
        "book.yaml:6: no such folder: ../nowhere"
    ]


def test_links_in_a_circle_are_no_file(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "a link that leads back to itself" in problems(tmp_path, GOOD.replace("one.md", "a"))[0]


# -- patterns that take too long -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+b", "a" * 60),
        pytest.param(r"(\\w+\\s?)*!", "word " * 20, marks=pytest.mark.slow),
        pytest.param(r"(a|aa)+$", "a" * 80 + ".", marks=pytest.mark.slow),
        pytest.param(r"(?:(?:(?:){999}){999}){999}x", "Once.", marks=pytest.mark.slow),
    ],
)
def test_a_pattern_that_takes_too_long_is_given_up(tmp_path, monkeypatch, pattern, text):
    monkeypatch.setattr("textbase.patterns.TIME_LIMIT_S", 0.2)
    rows = f'lexicon:\n  - {{word: one, say: two}}\n  - {{pattern: "{pattern}", say: x}}\n'
    (tmp_path / "one.md").write_text(text)
    (tmp_path / "book.yaml").write_text(GOOD + rows)
    with pytest.raises(ManifestError) as caught:
        read_manuscript(tmp_path)
    (found,) = caught.value.problems
    assert found.line == 8
    assert "was given up after 0.2 s on one text" in found.message


def test_a_thousand_chapters_are_listed_once(tmp_path):
    rows = "".join(f"  - {{title: '{n}', lines: [A line.]}}\n" for n in range(1000))
    book = project(tmp_path, GOOD + rows)
    assert book.chapters is book.chapters
    assert book.chapter_loc(1000) == ("chapters", 1000)


CAST = """\
speakers:
  narrator: {}
  Jane: {aliases: [Miss Bennet], pronoun: she}
  Lizzy: {aliases: [Miss Bennet, Jane]}
  women: {pronoun: she, speed: 1.1, aliases: [W], plays: [Mrs. Hall, Lucy]}
"""


def test_whom_a_speaker_plays_is_one_of_the_cast_with_its_settings(tmp_path):
    book = project(tmp_path, GOOD + CAST)
    assert list(book.speakers) == ["narrator", "Jane", "Lizzy", "women", "Mrs. Hall", "Lucy"]
    hall = book.speakers["Mrs. Hall"]
    assert (hall.speed, hall.pronoun, hall.aliases, hall.plays) == (1.1, "she", (), {})
    assert [book.voice_of(name) for name in ("Mrs. Hall", "women", "Jane")] == [
        "women", "women", "Jane",
    ]  # fmt: skip
    voices = resolve(book)
    assert voices["Lucy"] == voices["women"]


def test_whom_a_speaker_plays_may_have_other_names(tmp_path):
    cast = "speakers:\n  women: {aliases: [W], plays: {Mrs. Hall: [Jenny], Lucy: }}\n"
    book = project(tmp_path, GOOD + cast)
    assert [who.aliases for who in book.speakers.values()] == [("W",), ("Jenny",), ()]


def test_an_alias_that_is_no_label_is_remarked_once_and_refuses_nothing(tmp_path):
    cast = "speakers: {narrator: {}, Bill: {aliases: ['Bill (a lizard)', 'Bill: him']}}\n"
    [remark] = project(tmp_path, GOOD + cast).remarks
    assert "the alias 'Bill (a lizard)' (and 1 more like it) is not a label" in str(remark)


def test_a_shared_alias_is_remarked_once_and_refuses_nothing(tmp_path):
    [remark] = project(tmp_path, GOOD + CAST).remarks
    assert str(remark).endswith(
        "book.yaml:9: 'Miss Bennet' is a name of 'Jane' and 'Lizzy' (and 1 more like it): a label "
        "is the first one's"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", None),
        ("speakers: {narrator: {}, Ada: {}}\n", None),
        ("speakers: {Ada: {}}\n", "Ada"),
        ("speakers: {Ada: {}, Ben: {}}\nnarrator: Ben\n", "Ben"),
        ("speakers: {narrator: {}, Ada: {}}\ndialogue: {first_person: Ada}\n", "Ada"),
        ("speakers: {Ben: {plays: [Ada]}}\ndialogue: {first_person: Ada}\n", "Ada"),
    ],
)
def test_who_says_i_is_the_narrator_with_a_name_or_who_is_told(text, said, tmp_path):
    assert project(tmp_path, GOOD + text).first_person == said


def test_who_says_i_in_a_chapter_is_a_name_or_an_alias_in_the_cast(tmp_path):
    cast = (
        "  - {title: Two, lines: [No.], first_person: Miss A}\nspeakers: {Ada: {aliases: [Miss A]}}"
    )
    assert project(tmp_path, GOOD + cast).chapter_first_persons == {1: "Ada"}
    [message] = problems(
        tmp_path, GOOD + cast.replace("first_person: Miss A", "first_person: Adah")
    )
    assert "Adah" in message
    assert "did you mean" in message


def test_texts_that_share_a_file_of_speakers_are_remarked(tmp_path):
    (tmp_path / "one.txt").write_text("Twice.")
    text = GOOD + "  - {title: Other, file: one.txt}\n"
    [remark] = project(tmp_path, text).remarks
    assert "'one.md' and 'one.txt' have one file of speakers, 'one.speakers.txt'" in str(remark)


def test_a_file_of_speakers_that_leads_elsewhere_is_refused(tmp_path):
    folder = tmp_path / "book"
    folder.mkdir()
    (tmp_path / "secret").write_text("key")
    (folder / "one.speakers.txt").symlink_to(tmp_path / "secret")
    [one] = problems(folder, GOOD)
    assert "one.speakers.txt leads outside of the project" in one


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a named pipe"),
        (lambda path: path.symlink_to(path.name), "a link that leads back to itself"),
        (lambda path: path.symlink_to("gone.md"), "a link to gone.md, which is not there"),
    ],
)
def test_a_text_that_is_no_file_is_named_for_what_it_is(make, kind, tmp_path):
    make(tmp_path / "t.md")
    (found,) = problems(tmp_path, GOOD + "  - {title: T, file: t.md}\n")
    assert found == f"book.yaml:6: it is {kind}, not a file: t.md"
