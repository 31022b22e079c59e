"""Who says what as it was decided: rows that find their quotations again, and a person's word."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from narrator.errors import StorageError
from narrator.text import speaker_files
from narrator.text.alignment import match_texts
from narrator.text.speaker_files import Row, SpeakerFile, update_rows
from tests.effort import cpu_seconds

NAMES = ["Alice", "Hatter", "Alice", "Dormouse", "Alice", "Hatter"]
WORDS = [
    "“Why is a raven like a writing desk?”", "“Yes.”", "“I believe I can guess that,”", "“Yes.”",
    "“Do you mean that you think you can find out the answer to it?”", "“Exactly so,”",
]  # fmt: skip


def rows(*names: str, by: str = "rule") -> tuple[Row, ...]:
    name = "tag" if by == "rule" else ""
    return tuple(Row(one, by, words, name, 0.9) for one, words in zip(names, WORDS, strict=False))


def speakers(words: list[str], old: tuple[Row, ...] = rows(*NAMES)) -> list[str | None]:
    found = SpeakerFile(Path("x"), old).matched(words)
    return [None if place is None else old[place].speaker for place in found]


def written(tmp_path: Path, *rows: Row) -> Path:
    path = tmp_path / "01.speakers.txt"
    speaker_files.write(SpeakerFile(path, rows), "01.md")
    return path


def read_text(tmp_path: Path, text: str | bytes) -> SpeakerFile:
    path = tmp_path / "01.speakers.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return speaker_files.read(path)


# -- rows find their quotations


def test_unchanged_quotations_find_their_rows() -> None:
    assert speakers(WORDS) == NAMES


@pytest.mark.parametrize("at", range(6))
def test_a_changed_removed_or_inserted_paragraph_moves_nothing(at: int) -> None:
    before, after = slice(None, at), slice(at + 1, None)
    changed = WORDS[at].replace("a ", "the ").replace("Yes", "Yeah").replace("so", "thus")
    assert speakers([*WORDS[before], changed, *WORDS[after]]) == NAMES
    assert speakers([*WORDS[before], *WORDS[after]]) == [*NAMES[before], *NAMES[after]]
    new = "“It is the same thing with me,”"
    assert speakers([*WORDS[before], new, *WORDS[at:]]) == [*NAMES[before], None, *NAMES[at:]]


def test_equal_short_quotations_go_by_their_neighbours() -> None:
    assert speakers(["“Yes.”", *WORDS[2:]])[:2] == ["Hatter", "Alice"]
    assert speakers([WORDS[2], "“Yes.”", WORDS[4]]) == ["Alice", "Dormouse", "Alice"]
    assert speakers([WORDS[0], "“Yes.”", WORDS[2]]) == ["Alice", "Hatter", "Alice"]


def test_marks_and_white_space_count_for_nothing() -> None:
    words = [one.replace("“", '"').replace("”", '"').replace(" ", "  ") for one in WORDS]
    assert speakers(words) == NAMES


def test_what_is_rewritten_between_others_is_the_same_and_what_replaces_it_is_not() -> None:
    assert speakers(["“Why is a raven black?”", *WORDS[1:]]) == NAMES
    assert speakers([*WORDS[:5], "“Not quite so,”"]) == NAMES
    assert speakers([WORDS[0], "“I shall never go there!”", *WORDS[2:]])[1] is None


def test_another_text_finds_nothing() -> None:
    assert speakers(["“Never before,”", "“What has become of my kitchen?”"]) == [None, None]


def test_rows_in_another_order_find_what_stands_once() -> None:
    turned = rows(*NAMES)[::-1]
    found = speakers(WORDS, turned)
    assert [found[i] for i in (0, 2, 4, 5)] == [NAMES[i] for i in (0, 2, 4, 5)]


def test_rows_are_found_in_time_in_proportion_to_their_number() -> None:
    chance = random.Random(1)
    vocabulary = [f"word{n}" for n in range(300)]

    def said() -> str:
        if chance.random() < 0.3:
            return "Yes."
        return " ".join(chance.choice(vocabulary) for _ in range(chance.randint(1, 14)))

    old = [said() for _ in range(5000)]
    new = [one + " more" * (chance.random() < 0.2) for one in old if chance.random() > 0.1]
    others = [f"a{n} b{n} c{n}" for n in range(5000)]

    def find() -> None:
        assert sum(place is not None for place in match_texts(old, new)) > 4300
        assert match_texts(["Yes."] * 5000, ["Yes."] * 4000) == list(range(4000))
        assert not any(match_texts(others, [one.replace("a", "d") for one in new]))

    assert cpu_seconds(find) < 5


# -- a person's word


def test_a_name_that_a_person_changed_is_theirs_with_the_second_column_as_it_was(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, *rows("Alice", "Hatter"))
    path.write_text(path.read_text("utf-8").replace("Hatter | rule", "Dormouse | rule"), "utf-8")
    first, second = speaker_files.read(path).rows
    assert (first.speaker, first.is_manual, first.name, first.certainty) == (
        "Alice",
        False,
        "tag",
        0.9,
    )
    assert (second.speaker, second.is_manual) == ("Dormouse", True)


@pytest.mark.parametrize("by", ["print Alice", "rule tag 0.98 Alice", "model small 0.5 Alice"])
def test_whoever_decided_a_changed_name_is_a_persons(tmp_path: Path, by: str) -> None:
    assert not read_text(tmp_path, f"Alice | {by} | “Yes.”").rows[0].is_manual
    assert read_text(tmp_path, f"Hatter | {by} | “Yes.”").rows[0].is_manual


def test_what_goes_on_has_the_speaker_of_the_row_before_also_when_a_person_changes_it(
    tmp_path: Path,
) -> None:
    first, second = rows("Alice", "Alice")
    path = written(
        tmp_path, first, Row("Alice", "rule", second.words, "tag", 0.9, continues_previous=True)
    )
    text = path.read_text("utf-8")
    assert "\n+ | rule tag 0.90 + | “Yes.”\n" in text
    path.write_text(text.replace("Alice | rule", "Hatter | rule"), "utf-8")
    assert [(r.speaker, r.is_manual) for r in speaker_files.read(path).rows] == [
        ("Hatter", True)
    ] * 2


def test_a_run_overrules_rules_and_no_person() -> None:
    first, second, third = rows("Alice", "Hatter", "Alice")
    old = SpeakerFile(Path("x"), (first, Row("Dormouse", "you", second.words), third))
    fresh = [Row("Queen", "rule", name="beat", certainty=0.4)] * 3
    found = update_rows(old, WORDS[:3], fresh).rows
    assert [(row.speaker, row.by) for row in found] == [
        ("Queen", "rule"), ("Dormouse", "you"), ("Queen", "rule"),
    ]  # fmt: skip
    assert [row.words for row in found] == WORDS[:3]
    assert [row.speaker for row in update_rows(old, WORDS[:3], [None] * 3).rows] == [
        "Alice", "Dormouse", "Alice",
    ]  # fmt: skip


def test_a_persons_row_without_a_quotation_stays_in_its_place_and_a_rules_goes() -> None:
    old = SpeakerFile(
        Path("x"), (*rows("Alice", "Hatter", "Alice")[:2], Row("Queen", "you", "“Off!”"))
    )
    found = update_rows(old, [WORDS[0]], [None])
    assert [row.speaker for row in found.rows] == ["Alice", "Queen"]
    first = SpeakerFile(Path("x"), (Row("Queen", "you", "“Off with her!”"), *rows("Alice")))
    assert [r.speaker for r in update_rows(first, [WORDS[0]], [None]).rows] == ["Queen", "Alice"]


def test_a_quotation_that_was_inserted_before_what_goes_on_leaves_it_its_speaker(
    tmp_path: Path,
) -> None:
    first, second = rows("Alice", "Alice")
    old = SpeakerFile(
        tmp_path / "01.speakers.txt",
        (first, Row("Alice", "you", second.words, continues_previous=True)),
    )
    new = update_rows(
        old, [WORDS[0], "“No!” and no", WORDS[1]], [None, Row("Queen", "rule", name="tag"), None]
    )
    speaker_files.write(new, "01.md")
    assert [row.speaker for row in speaker_files.read(old.path).rows] == ["Alice", "Queen", "Alice"]


# -- the file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        Row("Alice", "rule", "“a | b”", "tag", 0.98),
        Row(speaker_files.NOBODY, "you", "‘so-called’"),
        Row(speaker_files.UNKNOWN, "model", "«Oui»", "mlx-community/x-4bit", 0.25),
        Row(speaker_files.format_names(["Ada", "Ben & Sons"]), "print", "“We do!”"),
        Row(speaker_files.format_names(["?"]), "rule", "“Who?”", "tag", 1.0),
        Row(speaker_files.format_names(["A|B\\C"]), "you", "“Me.”"),
        Row(speaker_files.format_names(["#1"]), "you", "“You.”"),
    )
    found = speaker_files.read(path)
    assert not found.problems
    assert [speaker_files.unescape_names(row.speaker) for row in found.rows] == [
        "Alice", "-", "?", "Ada & Ben & Sons", "?", "A|B\\C", "#1",
    ]  # fmt: skip
    assert found.rows[4].speaker != speaker_files.UNKNOWN
    assert [row.by for row in found.rows] == ["rule", "you", "model", "print", "rule", "you", "you"]
    assert [row.certainty for row in found.rows][:3] == [0.98, 1.0, 0.25]
    before = path.read_bytes()
    speaker_files.write(found, "01.md")
    assert path.read_bytes() == before


def test_rows_within_tales_go_on_among_themselves(tmp_path: Path) -> None:
    tale = [
        ("Ada", "“I was young.", False, False),
        ("Ben", "‘Who are you?’", False, True),
        ("Ada", "“‘Ada,’ said I. ‘And you?’", True, False),
        ("Ada", "‘Ada,’", False, True),
        ("Ada", "‘And you?’", True, True),
        (speaker_files.format_names([">"]), "‘Nobody.’", False, True),
        ("Ada", "“He was gone.”", True, False),
    ]
    path = written(
        tmp_path,
        *(
            Row(name, "rule", words, "tag", 0.9, continues, is_nested)
            for name, words, continues, is_nested in tale
        ),
    )
    lines = path.read_text("utf-8").splitlines()[1:]
    assert [line.partition(" |")[0] for line in lines] == [
        "Ada", "> Ben", "+", "> Ada", "> +", "> \\>", "+",
    ]  # fmt: skip
    found = speaker_files.read(path)
    assert not found.problems
    assert [
        (row.speaker, row.words, row.continues_previous, row.is_nested) for row in found.rows
    ] == tale
    path.write_text(path.read_text("utf-8").replace("Ada | rule", "Cyd | rule", 1), "utf-8")
    found = speaker_files.read(path)
    assert [row.speaker for row in found.rows if row.is_manual] == ["Cyd", "Cyd", "Cyd"]


def test_the_file_says_whose_it_is_and_what_may_be_done(tmp_path: Path) -> None:
    assert speaker_files.speaker_file_path(Path("text/01-down.part.md")) == Path(
        "text/01-down.part.speakers.txt"
    )
    head = written(tmp_path, *rows("Alice")).read_text("utf-8").splitlines()[0]
    assert head.startswith("# Who says what in 01.md. ")


def test_a_long_quotation_is_shown_by_its_ends(tmp_path: Path) -> None:
    words = "“" + "And so it went on and on. " * 20 + "Then it ended.”"
    shown = speaker_files.shorten_words(words)
    assert (len(shown), shown[-15:]) == (93, "Then it ended.”")
    assert speakers([words], (Row("Alice", "rule", shown, "tag"),)) == ["Alice"]


def test_bad_rows_are_said_once_a_kind_and_cost_nothing_else(tmp_path: Path) -> None:
    found = read_text(
        tmp_path,
        "# mine\nAlice | you | “One.”\nAlice\nHatter “Two.”\n | you | “Three.”\n"
        "+ | rule tag 0.5 + | “Four.”\nHatter | he said so | “Five.”\n"
        "Hatter | rule | “Six.”\n",
    )
    assert [(row.speaker, row.words) for row in found.rows] == [
        ("Alice", "“One.”"), ("?", "“Four.”"), ("Hatter", "“Five.”"), ("Hatter", "“Six.”"),
    ]  # fmt: skip
    assert [(p.line, p.message.rpartition(" (")[2]) for p in found.problems] == [
        (3, "and 2 more)"), (6, found.problems[1].message), (7, "and 1 more)"),
    ]  # fmt: skip


def test_comments_and_bad_rows_are_written_again_where_they_stood(tmp_path: Path) -> None:
    text = "# mine\nAlice | you | “One.”\nHatter “Two.”\nAlice | you | “Three.”\n# end\n"
    found = read_text(tmp_path, text)
    speaker_files.write(update_rows(found, ["“One.”", "“Three.”"], [None, None]), "01.md")
    assert found.path.read_text("utf-8").split("\n", 1)[1] == text


def test_what_goes_on_a_row_that_cannot_be_read_waits_for_its_mend(tmp_path: Path) -> None:
    text = "Ben you | “I know,”\n+ | you | “but not now.”\n"
    found = read_text(tmp_path, text)
    by_rule = [Row("Ada", "rule", one, "tag") for one in ("“I know,”", "“but not now.”")]
    speaker_files.write(update_rows(found, [row.words for row in by_rule], by_rule), "01.md")
    mended = found.path.read_text("utf-8").replace("Ben you", "Ben | you")
    after = read_text(tmp_path, mended)
    places = after.matched(["“I know,”", "“but not now.”"])
    assert [after.rows[place].speaker for place in places if place is not None] == ["Ben", "Ben"]


def test_of_rows_with_the_same_words_a_persons_is_meant(tmp_path: Path) -> None:
    text = "Ada | you | “Go!”\nBen | rule tag 0.9 Ben | “Go!”\nBen | rule tag 0.9 Ben | “No.”\n"
    assert read_text(tmp_path, text).matched(["“Go!”", "“No.”"]) == [0, 2]
    text = "Ben | rule tag 0.9 Ben | “Go!”\nAda | you | “Go!”\nBen | rule tag 0.9 Ben | “No.”\n"
    assert read_text(tmp_path, text).matched(["“Go!”", "“No.”"]) == [1, 2]


def test_a_rules_row_after_a_persons_is_written_with_its_name(tmp_path: Path) -> None:
    rows = (
        Row("Ada", "you", "“One.”"),
        Row("Ada", "rule", "“Two.”", "tag", 0.9, continues_previous=True),
    )
    path = written(tmp_path, *rows)
    assert [row.by for row in speaker_files.read(path).rows] == ["you", "rule"]


def test_a_comment_like_the_first_line_stays(tmp_path: Path) -> None:
    found = read_text(tmp_path, "Ada | you | “One.”\n# Who says what in my dreams\n")
    assert found.below == ("# Who says what in my dreams",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_files_of_other_editors_are_read(tmp_path: Path, encoding: str) -> None:
    text = "# Who says what in 01.md.\r\nZoë | you | “Oui, café.”\r\n\r\n"
    found = read_text(tmp_path, text.encode(encoding))
    assert [(row.speaker, row.words) for row in found.rows] == [("Zoë", "“Oui, café.”")]
    assert [problem.line for problem in found.problems] == ([2] if encoding == "cp1252" else [])
    speaker_files.write(found, "01.md")
    assert found.path.read_bytes().endswith("Zoë | you | “Oui, café.”\r\n".encode())


@pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf", b"\n\n", b"# a\n"])
def test_an_empty_file_has_no_rows(tmp_path: Path, text: bytes) -> None:
    found = read_text(tmp_path, text)
    assert (found.rows, found.problems, found.exists) == ((), (), True)


def test_no_file_is_no_problem(tmp_path: Path) -> None:
    found = speaker_files.read(tmp_path / "01.speakers.txt")
    assert (found.rows, found.problems, found.exists) == ((), (), False)
    speaker_files.write(found, "01.md")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_is_said_and_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "01.speakers.txt"
    folder.mkdir()
    large = tmp_path / "02.speakers.txt"
    large.write_bytes(b"x" * 2000)
    monkeypatch.setattr(speaker_files, "_MAX_BYTES", 1000)
    for path in (folder, large):
        found = speaker_files.read(path)
        [problem] = found.problems
        assert (problem.path, found.is_unreadable) == (path, True)
        with pytest.raises(StorageError, match="is not replaced"):
            speaker_files.write(update_rows(found, WORDS[:1], rows("Alice")), "01.md")


@pytest.mark.parametrize("junk", [b"\0\0|\0|\0", b"|||", b"\xff\xfe|", b"a|b|c\x85d", b"| | |\r\r"])
def test_whatever_a_file_holds_is_read(tmp_path: Path, junk: bytes) -> None:
    speaker_files.write(read_text(tmp_path, junk), "01.md")
