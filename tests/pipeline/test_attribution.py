"""Who says what in a project: what a run proposes, what it writes, and what edits leave of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from narrator import files
from narrator.errors import ManifestError, StorageError
from narrator.pipeline import attribution, new_characters
from narrator.pipeline.attribution import Proposal
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.new_characters import propose
from narrator.project.load import load
from narrator.text.speakers import AttributedQuotation, Attribution, Character
from tests import books
from tests.attributions import Decision, attribute_by_words
from tests.fakes import HumEngine

MANIFEST = """\
title: Tea
author: A. Author
speakers:
  narrator: {}
  Ada: {aliases: [Miss Lovell], pronoun: she}
  Ben: {pronoun: he}    # a boy
chapters:
  - {title: One, file: text/one.md}
  - {title: Two, file: text/two.md}
"""
ONE = """\
The kettle sang, and nobody in the whole of the long low room had anything to say to anybody.

“I know,” said Ada, “but not now.”

Ben looked at the clock upon the wall, which had stopped in the year in which he was born.

“The tea is cold,” said Ben.

“It was cold yesterday,” said Ada.
"""
TWO = "“Then make another pot,” said Miss Lovell.\n"


def project(folder: Path, manifest: str = MANIFEST, one: str = ONE, two: str = TWO) -> Path:
    return books.write(folder, manifest, one, two)


def speakers(proposal: Proposal) -> list[str | None]:
    return [one.speaker for one in proposal.quotes]


def rows(path: Path, chapter: str = "one") -> list[str]:
    text = (path.parent / "text" / f"{chapter}.speakers.txt").read_text(encoding="utf-8")
    return [row for row in text.splitlines() if not row.startswith("#")]


def first_columns(path: Path, chapter: str = "one") -> list[str]:
    return [row.partition(" |")[0] for row in rows(path, chapter)]


def write(path: Path) -> Proposal:
    """What `narrator cast --write` does."""
    proposal = propose(load(path))
    new_characters.write(proposal)
    return proposal


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book whose speakers are written."""
    path = project(tmp_path)
    write(path)
    return path


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets decisions by a part of the words, and the characters that are found."""

    def set_decisions(
        decisions: Mapping[str, Decision], new_characters: tuple[Character, ...] = ()
    ) -> None:
        monkeypatch.setattr(attribution, "attribute", attribute_by_words(decisions, new_characters))

    return set_decisions


# -- what is proposed


def test_a_quotation_is_the_one_of_a_chapters_place(tmp_path):
    found = propose(load(project(tmp_path)))
    assert speakers(found) == ["Ada", "Ada", "Ben", "Ada", "Ada"]
    assert [(one.chapter, one.line_number) for one in found.quotes] == [
        (0, 3), (0, 3), (0, 7), (0, 9), (1, 1),
    ]  # fmt: skip
    assert found.line_counts == {"Ada": 3, "Ben": 1}


def test_what_the_text_gives_to_somebody_is_asked_of_nobody(tmp_path):
    one = "Ben: “I say it,” said Ada.\n\n{Ben: “I know,”} said Ada, “but not now.”\n"
    found = propose(load(project(tmp_path, one=one)))
    assert [one.quotation.text for one in found.quotes if one.chapter == 0] == ["“but not now.”"]


def test_text_in_the_manifest_has_no_file_of_speakers(tmp_path):
    manifest = MANIFEST + '  - {title: Three, lines: ["“No,” said Ben."]}\n'
    assert {one.chapter for one in propose(load(project(tmp_path, manifest))).quotes} == {0, 1}


def test_a_text_that_is_two_chapters_counts_once(tmp_path):
    manifest = MANIFEST + "  - {title: Again, file: text/one.md}\n"
    assert len(propose(load(project(tmp_path, manifest))).quotes) == 5


def test_of_two_texts_that_would_share_a_file_the_first_has_it(tmp_path):
    manifest = MANIFEST + "  - {title: Three, file: text/one.txt}\n"
    books.write(tmp_path)
    (tmp_path / "text" / "one.txt").write_text("“Once more,” said Ada.\n")
    assert {one.chapter for one in propose(load(project(tmp_path, manifest))).quotes} == {0, 1}


def test_a_cast_of_characters_alone_is_narrated_by_nobody_of_it(tmp_path):
    manifest = MANIFEST.replace("  narrator: {}\n", "")
    assert speakers(propose(load(project(tmp_path, manifest)))) == [
        "Ada",
        "Ada",
        "Ben",
        "Ada",
        "Ada",
    ]


def test_the_narrator_is_a_character_where_it_has_a_name(tmp_path):
    assert "narrator" not in names(tmp_path / "a", MANIFEST)
    manifest = MANIFEST.replace("  narrator: {}\n", "") + "narrator: Ada\n"
    assert names(tmp_path / "b", manifest) == ["Ada", "Ben"]
    assert names(tmp_path / "c", MANIFEST + "narrator: Ada\n") == ["Ada", "Ben"]


def test_a_voice_that_others_share_is_no_character(tmp_path):
    manifest = MANIFEST.replace("  Ben:", "  men: {plays: {Tom: [Tommy]}, pronoun: he}\n  Ben:")
    found = attribution.characters(load(project(tmp_path, manifest)))
    assert found[-1] == Character("Tom", ("Tommy",), "he")
    assert [one.name for one in found] == ["Ada", "Ben", "Tom"]


def names(folder: Path, manifest: str) -> list[str]:
    return [one.name for one in attribution.characters(load(project(folder, manifest)))]


def test_others_are_found_on_request_only(tmp_path, ruled):
    ruled({"tea": ("Tom", 0.8, "tag")}, (Character("Tom", (), "he"),))
    path = project(tmp_path)
    assert [one.name for one in propose(load(path)).characters] == ["Ada", "Ben"]
    assert [one.name for one in propose(load(path), discovers_characters=True).characters] == [
        "Ada",
        "Ben",
        "Tom",
    ]


def test_a_model_decides_better(tmp_path):
    def refine(found, texts):
        assert texts[0][1] == "“I know,” said Ada, “but not now.”"
        said = [
            AttributedQuotation(s.chapter, s.quotation, "Ben", 0.7, "model:small")
            for s in found.quotations
        ]
        return Attribution(found.cast, tuple(said))

    path = project(tmp_path)
    found = attribution.refine_proposal(propose(load(path)), refine)
    assert speakers(found) == ["Ben"] * 5
    attribution.write_speaker_files(found)
    assert rows(path)[2] == "Ben | model small 0.70 Ben | “The tea is cold,”"


def test_what_a_model_said_stays_until_rules_are_surer(tmp_path, ruled):
    path = project(tmp_path)
    place = path.parent / "text" / "one.speakers.txt"
    place.write_text("Ben | model small 0.70 Ben | “The tea is cold,”\n")
    ruled({"tea": ("Ada", 0.6, "tag")})
    assert speakers(propose(load(path)))[2] == "Ben"
    ruled({"tea": ("Ada", 0.8, "tag")})
    assert speakers(propose(load(path)))[2] == "Ada"


# -- what is written


def test_files_say_who_says_what(book):
    assert first_columns(book) == ["Ada", "+", "Ben", "Ada"]
    assert first_columns(book, "two") == ["Ada"]
    assert {one.speaker for one in heard(book)} == {"narrator", "Ada", "Ben"}


def heard(path: Path):
    return [
        line for c in read_manuscript(path).chapters for scene in c.scenes for line in scene.lines
    ]


def test_running_again_changes_nothing(book):
    before = {path: path.read_bytes() for path in book.parent.rglob("*") if path.is_file()}
    write(book)
    assert {path: path.read_bytes() for path in book.parent.rglob("*") if path.is_file()} == before


def test_a_persons_word_and_print_stay(book):
    place = book.parent / "text" / "one.speakers.txt"
    change(place, "Ben | rule", "Ada | rule")
    change(place, rows(book)[3], "# mine\nBen | print Ben | “It was cold yesterday,”")
    write(book)
    assert first_columns(book) == ["Ada", "+", "Ada", "Ben"]
    assert " | you | " in rows(book)[2]
    assert "# mine" in place.read_text(encoding="utf-8")


def test_a_person_decides_all_pieces_with_the_first(book):
    place = book.parent / "text" / "one.speakers.txt"
    change(place, "Ada | rule", "Ben | rule")
    write(book)
    assert [row.partition(" | “")[0] for row in rows(book)[:2]] == ["Ben | you", "+ | you"]


def test_nobodys_speech_and_the_unknown_are_written_so(tmp_path, ruled):
    ruled({"tea": (None, 0.9, attribution.NO_SPEECH), "know": (None, 0.0, "bare")})
    path = project(tmp_path)
    found = write(path)
    assert first_columns(path) == ["?", "?", "-", "?"]
    assert [one.quotation.text for (one,) in found.doubtful_turns] == [
        "“I know,”", "“but not now.”", "“It was cold yesterday,”", "“Then make another pot,”",
    ]  # fmt: skip


def test_the_weakest_come_first(tmp_path, ruled):
    ruled({"know": ("Ada", 0.95, "tag"), " not": ("Ada", 0.8, "turn"), "tea": ("Ben", 0.3, "turn"),
           "cold y": ("Ada", 0.6, "turn"), "pot": ("Ada", 0.91, "tag")})  # fmt: skip
    found = propose(load(project(tmp_path)))
    assert [one.row.certainty for (one,) in found.doubtful_turns] == [0.3, 0.6, 0.8]


def test_a_run_that_ends_between_files_is_made_good_by_the_next(tmp_path, monkeypatch):
    path = project(tmp_path)
    real = files.write

    def full(place: Path, data: bytes) -> object:
        if place.name == "two.speakers.txt":
            raise StorageError("no space left")
        return real(place, data)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write", full)
        with pytest.raises(StorageError):
            write(path)
    assert first_columns(path) == ["Ada", "+", "Ben", "Ada"]
    write(path)
    assert first_columns(path, "two") == ["Ada"]


# -- the cast in book.yaml

PLAIN = """\
title: Tea
author: A. Author    # me
chapters:
  - {title: One, file: text/one.md}
  - {title: Two, file: text/two.md}
"""


def test_found_characters_are_put_into_the_manifest(tmp_path, ruled):
    cast = (Character("Ada", ("Miss Lovell",), "she"), Character("Ben", (), "he"))
    ruled(
        {"know": ("Ada", 0.9, "tag"), " not": ("Ada", 0.9, "tag"), "tea": ("Ben", 0.9, "tag")}, cast
    )
    path = project(tmp_path, PLAIN)
    write(path)
    assert path.read_text(encoding="utf-8") == PLAIN.replace(
        "chapters:\n",
        "speakers:\n"
        "  narrator: {}\n"
        "  Ada:\n"
        "    pronoun: she\n"
        "    aliases: [Miss Lovell]\n"
        "    voice: {description: 'A woman, clear and warm, in her thirties'}\n"
        "    kokoro: {voice: af_bella}\n"
        "  Ben:\n"
        "    pronoun: he\n"
        "    voice: {description: 'A man, warm and steady, in his thirties'}\n"
        "    kokoro: {voice: am_fenrir}\n"
        "dialogue:\n"
        "  cast: found\n"
        "chapters:\n",
    )
    assert load(path).narrator == "narrator"


def test_a_voice_is_described_by_the_age_that_the_text_states(tmp_path, ruled):
    cast = (Character("Ada", (), "she"), Character("Ben", (), "he"))
    ruled(
        {"know": ("Ada", 0.9, "tag"), " not": ("Ada", 0.9, "tag"), "tea": ("Ben", 0.9, "tag")}, cast
    )
    path = project(tmp_path, PLAIN)
    chapter = path.parent / "text" / "one.md"
    chapter.write_text(
        chapter.read_text() + "\n\nBen was a small boy of nine. Ada was an old woman.\n"
    )
    write(path)
    speakers = load(path).manifest.speakers
    assert speakers["Ada"].voice.description == "A woman, old, thin and kind"
    assert speakers["Ben"].voice.description == "A boy, high and clear"


def long_book(folder: Path, lines: Mapping[str, int]) -> Path:
    said = "\n\n".join(
        f"“Word {n} of {name}.”" for name, times in lines.items() for n in range(times)
    )
    return project(folder, PLAIN, one=f"Once.\n\n{said}\n", two="Twice.\n")


def test_those_who_talk_to_each_other_share_no_voice(tmp_path, ruled):
    names = ("Ada", "Tom", "Jim", "Max")
    cast = tuple(Character(name, (), "he") for name in names)
    ruled({f" {name}.": (name, 0.9, "tag") for name in names}, cast)
    said = "\n\n".join([*(f"“No, {n} of Ada.”" for n in range(900)), "“By Tom.”", "“By Jim.”"])
    path = project(tmp_path, PLAIN, one=f"Once.\n\n{said}\n", two="“By Max.”\n")
    write(path)
    speakers = load(path).manifest.speakers
    plays = {name: list(one.plays) for name, one in speakers.items() if one.plays}
    assert plays == {"men": ["Tom", "Max"], "men 2": ["Jim"]}
    voices = [one.kokoro.voice for name, one in speakers.items() if name != "narrator"]
    assert len(set(voices)) == 3


def test_voices_stay_when_a_character_is_found_later(tmp_path, ruled):
    cast = (Character("Ada", (), "she"), Character("Eve", (), "she"))
    ruled({"know": ("Ada", 0.9, "tag"), " not": ("Ada", 0.9, "tag")}, cast[:1])
    path = project(tmp_path, PLAIN)
    write(path)
    before = load(path).manifest.speakers["Ada"]
    ruled({"know": ("Ada", 0.9, "tag"), "tea": ("Eve", 0.9, "tag")}, cast)
    new_characters.write(propose(load(path), discovers_characters=True))
    after = load(path).manifest.speakers
    assert after["Ada"] == before
    assert after["Eve"].kokoro.voice not in (None, before.kokoro.voice)


def test_those_with_few_lines_share_a_voice(tmp_path, ruled):
    lines = {"Ada": 1000, "Ben": 10, "Tom": 9, "Lucy": 1, "Rex": 1}
    pronouns = {"Ada": "she", "Ben": "he", "Tom": "he", "Lucy": "she", "Rex": "it"}
    cast = tuple(Character(name, (), pronouns[name]) for name in lines)
    ruled({f"of {name}.": (name, 0.9, "tag") for name in lines}, cast)
    path = long_book(tmp_path, lines)
    write(path)
    own = load(path).manifest.speakers
    assert list(own) == ["narrator", "Ada", "Ben", "women", "men", "others"]
    assert [(own[name].pronoun, list(own[name].plays)) for name in list(own)[3:]] == [
        ("she", ["Lucy"]), ("he", ["Tom"]), (None, ["Rex"]),
    ]  # fmt: skip
    assert [one.name for one in attribution.characters(load(path))] == [
        "Ada", "Ben", "Lucy", "Tom", "Rex",
    ]  # fmt: skip


def test_no_more_than_twelve_have_voices_of_their_own(tmp_path, ruled):
    lines = {f"N{n:02}": 30 - n for n in range(15)}
    ruled({f"of {name}.": (name, 0.9, "tag") for name in lines},
          tuple(Character(name) for name in lines))  # fmt: skip
    path = long_book(tmp_path, lines)
    write(path)
    own = load(path).manifest.speakers
    assert sum(not one.plays for one in own.values()) == 1 + 12
    assert [list(own[name].plays) for name in list(own)[13:]] == [["N12", "N14"], ["N13"]]
    descriptions = [own[name].voice.description for name in list(own)[1:14]]
    assert len(set(descriptions)) == 13


def test_more_characters_go_to_the_shared_voices_that_are_there(tmp_path, ruled):
    known = "".join(f"  K{n}: {{}}\n" for n in range(12))
    manifest = PLAIN.replace(
        "chapters:",
        f"speakers:\n{known}  women:\n    plays:\n      Ann: []\n    pronoun: she\nchapters:",
    )
    ruled({"tea": ("Lucy", 0.9, "tag")}, (Character("Lucy", ("Lu",), "she"),))
    path = project(tmp_path, manifest)
    new_characters.write(propose(load(path), discovers_characters=True))
    assert path.read_text() == manifest.replace("Ann: []\n", "Ann: []\n      Lucy: [Lu]\n").replace(
        "pronoun: she\n", "pronoun: she\n  narrator: {}\ndialogue:\n  cast: found\n"
    )


def test_a_name_that_no_label_can_have_is_left_to_the_author(tmp_path, ruled):
    cast = (Character("A: B"), Character("Narrator"), Character("Ada"), Character("ada"))
    ruled({"know": ("A: B", 0.9, "tag"), "not": ("Narrator", 0.9, "tag"),
           "tea": ("Ada", 0.9, "tag"), "cold y": ("ada", 0.9, "tag")}, cast)  # fmt: skip
    found = propose(load(project(tmp_path, PLAIN)))
    assert found.new_names == ("Ada",)


def test_speakers_that_cannot_be_added_to_are_said(tmp_path, ruled):
    ruled({"tea": ("Lucy", 0.9, "tag")}, (Character("Lucy"),))
    manifest = PLAIN.replace("chapters:", "speakers: &none {}\nvoices: *none\nchapters:")
    path = project(tmp_path, manifest)
    with pytest.raises(ManifestError, match="no names can be put under `speakers`"):
        propose(load(path))
    assert path.read_text(encoding="utf-8") == manifest


def test_a_cast_without_a_narrator_gets_one(tmp_path):
    path = project(tmp_path, MANIFEST.replace("  narrator: {}\n", ""))
    write(path)
    added = "  Ben: {pronoun: he}    # a boy\n  narrator: {}\n"
    assert added in path.read_text(encoding="utf-8")
    assert {line.speaker for line in heard(path)} == {"narrator", "Ada", "Ben"}


def test_a_cast_that_was_found_leaves_all_less_sure(tmp_path):
    def sure(manifest: str) -> list[float]:
        return [one.row.certainty for one in propose(load(project(tmp_path, manifest))).quotes]

    given, found = sure(MANIFEST), sure(MANIFEST + "dialogue: {cast: found}\n")
    assert all(less < more for less, more in zip(found, given, strict=True))


# -- edits


def spoken(path: Path) -> set[str]:
    """What a render would speak, after it was spoken."""
    return set(books.todo(path, HumEngine()))


@pytest.fixture
def voiced(book: Path) -> Path:
    books.speak(book, HumEngine())
    assert spoken(book) == set()
    return book


def test_a_changed_word_moves_nothing(voiced):
    change(voiced.parent / "text" / "one.speakers.txt", "Ben | rule", "Ada | rule")
    books.speak(voiced, HumEngine())
    change(voiced.parent / "text" / "one.md", "The tea is cold", "The tea is hot")
    assert spoken(voiced) == {"“The tea is hot,”"}
    assert [line.speaker for line in heard(voiced) if "tea is" in line.text] == ["Ada"]
    write(voiced)
    assert first_columns(voiced) == ["Ada", "+", "Ada", "Ada"]
    assert " | you | “The tea is hot,”" in rows(voiced)[2]
    assert spoken(voiced) == {"“The tea is hot,”"}


def test_a_removed_paragraph_takes_its_row_along(voiced):
    change(voiced.parent / "text" / "one.md", "“The tea is cold,” said Ben.\n\n", "")
    write(voiced)
    assert first_columns(voiced) == ["Ada", "+", "Ada"]
    assert not any("“" in text for text in spoken(voiced))  # the narrator's chain goes on anew


def test_an_inserted_paragraph_gets_a_row_of_its_own(voiced):
    change(voiced.parent / "text" / "one.md", "Ben looked", "“Is it?” said Ben.\n\nBen looked")
    write(voiced)
    assert first_columns(voiced) == ["Ada", "+", "Ben", "Ben", "Ada"]
    assert "“Is it?”" in spoken(voiced)
    assert "“The tea is cold,”" not in spoken(voiced)


def test_an_alias_more_renders_nothing(voiced):
    change(voiced, "[Miss Lovell]", "[Miss Lovell, Addie]")
    before = rows(voiced)
    write(voiced)
    assert rows(voiced) == before
    assert spoken(voiced) == set()


def test_a_renamed_characters_own_rows_are_kept_and_said(voiced):
    place = voiced.parent / "text" / "one.speakers.txt"
    change(place, "Ben | rule", "Ada | rule")
    change(voiced, "Ada: {aliases: [Miss Lovell]", "Addie: {aliases: [Miss Lovell]")
    found = write(voiced)
    (warning,) = found.warnings
    assert "“Ada” is not in the cast" in str(warning)
    assert "aliases: [Ada]" in str(warning)
    assert warning.path == place
    change(voiced, "[Miss Lovell]", "[Miss Lovell, Ada]")
    assert not write(voiced).warnings
    assert first_columns(voiced) == ["Addie", "+", "Ada", "Addie"]
    assert {one.speaker for one in heard(voiced)} == {"narrator", "Addie"}


def test_a_persons_row_that_finds_nothing_is_kept_and_said(voiced):
    change(voiced.parent / "text" / "one.speakers.txt", "Ben | rule", "Ada | rule")
    change(voiced.parent / "text" / "one.md", "“The tea is cold,” said Ben.\n\n", "")
    (warning,) = write(voiced).warnings
    assert "“The tea is cold,” is not in its chapter any more" in str(warning)
    assert "Ada | you | “The tea is cold,”" in rows(voiced)
    assert write(voiced).warnings


def test_an_answer_keeps_what_was_edited_meanwhile(book):
    found = propose(load(book))
    file = book.parent / "text" / "one.speakers.txt"
    change(file, "Ben | rule", "Ada | rule")
    after = attribution.apply_answers(found, 0, [(found.quotes[:2], "Ben")])
    assert speakers(after)[:3] == ["Ben", "Ben", "Ben"]
    assert attribution.write_speaker_file(after, 0) is not None
    assert first_columns(book) == ["Ben", "+", "Ada", "Ada"]
    assert [row.split(" | ")[1].split()[0] for row in rows(book)] == ["you", "you", "you", "rule"]


def test_a_piece_that_its_file_gives_to_another_is_that_ones(book):
    file = book.parent / "text" / "one.speakers.txt"
    text = file.read_text("utf-8")
    first, second = rows(book)[:2]
    mine = "Ben | you | “I know,”"
    file.write_text(text.replace(first, mine).replace(second, second.replace("+", "Ada")), "utf-8")
    write(book)
    assert first_columns(book)[:2] == ["Ben", "Ada"]
    assert rows(book)[1].startswith("Ada | rule")


def test_a_file_that_cannot_be_written_costs_no_other(book):
    folder = book.parent / "text"
    (folder / "one.speakers.txt").unlink()
    (folder / "one.speakers.txt").mkdir()
    (folder / "two.speakers.txt").unlink()
    assert "cannot be read" in str(propose(load(book)).warnings[0])
    with pytest.raises(StorageError, match=r"one\.speakers\.txt"):
        write(book)
    assert first_columns(book, "two") == ["Ada"]


def test_links_stay_and_rights_too(book):
    folder = book.parent / "text"
    real = (folder / "one.speakers.txt").rename(folder / "kept.txt")
    real.chmod(0o600)
    (folder / "one.speakers.txt").symlink_to("kept.txt")
    change(folder / "one.md", "It was cold", "It was warm")
    write(book)
    assert (folder / "one.speakers.txt").is_symlink()
    assert "warm" in real.read_text("utf-8")
    assert real.stat().st_mode & 0o777 == 0o600
