"""Lines in other languages than their book: said, or left out and listed, and never a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.delivery import preflight
from narrator.engines.draft.espeak import DraftEngine
from narrator.errors import ManifestError
from narrator.pipeline import book_plan, checking
from narrator.pipeline.manuscript import find_unspoken, read_manuscript
from narrator.speech.plan import make_utterances, split_spoken
from narrator.text.labels import Roles
from narrator.text.normalize import Lexicon, east_asian
from narrator.text.script import read_chapter
from tests import books
from tests.fakes import HumEngine

PLAIN = """\
title: The Ferry
author: A. Author
language: en-GB
chapters:
  - {title: Morning, file: text/one.md}
  - {title: Evening, file: text/two.md}
output: {formats: [wav], files: chapters}
"""
PARAGRAPHS = [
    "The ferry left at seven, as it had on every morning that anyone there could remember.",
    "The ferryman looked at her, and then at the sky, and then at the far bank of the river.",
    "By noon they had crossed three times, and the girl had learned the names of all the birds.",
    "He moved his bag from the seat, and the mist was lifting, and the water lay flat and grey.",
]
ENGLISH = "\n\n".join(PARAGRAPHS)
GREEK = "Μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος οὐλομένην, ἣ μυρί᾽ Ἀχαιοῖς ἄλγε᾽ ἔθηκε."


def write(folder: Path, *blocks: str, more: str = "", two: str = books.TWO) -> Path:
    two = two.replace("ann: ", "")
    return books.write(folder, PLAIN + more, "\n\n".join(blocks) + "\n", two)


def told(path: Path, engine: str = "") -> list[str]:
    said: list[str] = []
    checking.check_manuscript(read_manuscript(path).spoken_by(engine), said.append)
    return [one.replace(f"{path.parent}/", "") for one in said]


def pauses(path: Path, engine: HumEngine) -> list[float]:
    """Between the chunks of the first chapter."""
    book = book_plan.plan(read_manuscript(path), engine, book_plan.Selection())
    shape = preflight.expected_shapes(book.project, book.manuscript.spoken)[0]
    return [shape.lead, *(seconds for seconds, _ in shape.pauses), shape.rest]


# -- said


def test_a_line_in_another_language_changes_no_other_key(tmp_path):
    alone = books.plan(write(tmp_path / "a", ENGLISH), HumEngine()).steps
    mixed = [*PARAGRAPHS[:2], GREEK, *PARAGRAPHS[2:]]
    steps = books.plan(write(tmp_path / "b", *mixed), HumEngine()).steps
    assert [step.key for step in steps if step.language == "en-GB"] == [s.key for s in alone]
    (greek,) = (step for step in steps if step.language == "el")
    assert greek.parent is None  # nobody copies an accent from it, nor it from anybody


def test_short_lines_of_two_languages_share_no_chunk(tmp_path):
    path = write(
        tmp_path, "Yes.\n\nNo.\n\n[language: fr]\n\nOui.\n\nNon.\n\n[language: off]\n\nSo."
    )
    texts = [u.chunk.text for u in read_manuscript(path).spoken if u.chapter == 0]
    assert texts == ["Yes.\nNo.", "Oui.\nNon.", "So."]


def test_what_is_said_follows_the_language_of_its_line(tmp_path):
    path = write(tmp_path, "In 1984.\n\n[language: de]\n\nEs waren 21 Boote.")
    assert "einundzwanzig" in read_manuscript(path).spoken[1].spoken.text


MIXED = """\
# The Ferry

γνῶθι σεαυτόν, εἶπεν ὁ πορθμεύς.

בראשית ברא אלהים את השמים

كان يا ما كان في قديم الزمان

Это было яркое холодное утро.

道可道，非常道。

죽는 날까지 하늘을 우러러

吾輩は猫である。名前はまだ無い。

[language: la]

Vox clamantis in deserto.

[language: off]

He said ναί, and 🙂, and λ = 2.

🙂🙂🙂

Gnōthi seauton, said the ferryman, and rowed on.
"""


def test_the_draft_voice_says_what_it_can_and_lists_the_rest(tmp_path):
    path = write(tmp_path, MIXED)
    report, _ = books.speak(path, DraftEngine(workers=1))
    assert report.result.rendered == len(report.plan.steps)
    assert not report.result.flags
    languages = {step.language for step in report.plan.steps}
    assert languages == {"en-GB", "el", "he", "ar", "ru", "zh", "ko", "la"}
    left = [item for item in report.plan.chapters[0].left_out if "engine" in item.reason]
    assert [item.text for item in left] == ["吾輩は猫である。名前はまだ無い。"]
    assert report.accounting.balanced


# -- left out


def test_what_an_engine_cannot_say_is_left_out_listed_and_warned_of(tmp_path):
    path = write(tmp_path, PARAGRAPHS[0], GREEK, "Ναί, ἔφη, ναί.", PARAGRAPHS[1])
    report, _ = books.speak(path, HumEngine(lacks=["el"]))
    assert report.complete
    assert {step.language for step in report.plan.steps} == {"en-GB"}
    assert [(one.line, one.text) for one in report.plan.chapters[0].left_out] == [
        (3, GREEK), (5, "Ναί, ἔφη, ναί."),
    ]  # fmt: skip
    (warning,) = find_unspoken(report.plan.manuscript)
    assert str(warning).endswith(
        "one.md:3: left out (and 1 more line): in “el”, a language that the engine hum lacks"
    )
    assert report.accounting.left_out > 0


def test_keys_are_the_same_with_and_without_what_is_left_out(tmp_path):
    path = write(tmp_path, *PARAGRAPHS[:2], GREEK, *PARAGRAPHS[2:])
    said = [s for s in books.plan(path, HumEngine()).steps if s.language != "el"]
    left = books.plan(path, HumEngine(lacks=["el"])).steps
    assert [(s.id, s.key) for s in said] == [(s.id, s.key) for s in left]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        # heads, what lies between two paragraphs, tails
        ([PARAGRAPHS[0], GREEK, PARAGRAPHS[1]], [0, 0.6, 0]),
        ([PARAGRAPHS[0], GREEK, "[pause 3s]", PARAGRAPHS[1]], [0, 3, 0]),
        ([PARAGRAPHS[0], "[pause 2s]", GREEK, "[pause 3s]", PARAGRAPHS[1]], [0, 5, 0]),
        ([PARAGRAPHS[0], GREEK, "***", PARAGRAPHS[1]], [0, 1.8, 0]),
        ([PARAGRAPHS[0], "***", "[pause 2s]", GREEK, PARAGRAPHS[1]], [0, 3.8, 0]),
        (["[pause 2s]", GREEK, PARAGRAPHS[0], PARAGRAPHS[1]], [2, 0.6, 0]),
        ([PARAGRAPHS[0], PARAGRAPHS[1], GREEK, "[pause 4s]"], [0, 0.6, 4]),
        ([PARAGRAPHS[0], f"# {GREEK}", PARAGRAPHS[1]], [0, 1.2, 0]),
    ],
)
def test_pauses_around_what_is_left_out_are_kept(blocks, expected, tmp_path):
    assert pauses(write(tmp_path, *blocks), HumEngine(lacks=["el"])) == pytest.approx(expected)


def test_music_marks_of_what_is_left_out_are_kept():
    text = f"[music: rain]\n\n{GREEK}\n\n{PARAGRAPHS[0]}\n\n[music: off]\n\n{GREEK}"
    chapter = read_chapter(
        text, path=Path("one.md"), title="One", language="en", roles=Roles({}, "n"), speaker=None
    )
    spoken, _ = make_utterances([chapter], lexicon=Lexicon([]))
    (kept,), _ = split_spoken(spoken, lambda one: "Greek" if one.language == "el" else None)
    assert [(mark.name, share) for mark, share in kept.chunk.marks] == [("rain", 0.0), (None, 1.0)]


def test_a_chapter_that_cannot_be_said_is_no_obstacle_to_the_others(tmp_path):
    path = write(tmp_path, PARAGRAPHS[0], two=f"# Ἰλιάς\n\n{GREEK}\n")
    report, _ = books.run(path, HumEngine(lacks=["el"]))
    assert report.complete
    assert report.finished is not None
    assert [file.name for file in report.finished.files] == ["01 - Morning.wav"]


def test_a_book_whose_main_language_nobody_speaks_is_refused_in_two_lines(tmp_path):
    path = write(tmp_path, ENGLISH)
    with pytest.raises(ManifestError) as caught:
        books.plan(path, HumEngine(lacks=["en-GB"]))
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert problem.message == "hum does not speak “en-GB”\nthe engine voxcpm2 speaks it"


# -- told by check


def test_check_says_each_language_once_with_the_mend(tmp_path):
    path = write(tmp_path, GREEK, PARAGRAPHS[0], GREEK, ENGLISH, "He said ἀλήθεια to her.")
    whole, words = told(path, "draft")
    assert whole == (
        "text/one.md:1: “Μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλ…” is in Greek letters (and 1 more line), "
        "and is said in “el”, not in “en-GB”: write [language: el] before and [language: off] "
        "after such lines, or set `language` of chapter or speaker"
    )
    assert words.startswith("text/one.md:15: “ἀλήθεια” is in Greek letters: within other text the")


def test_check_says_what_the_engine_and_the_draft_voice_lack(tmp_path):
    path = write(tmp_path, "[language: la]", "Vox clamantis in deserto.", "[language: ja]",
                 "吾輩は猫である。", "[language: off]", ENGLISH)  # fmt: skip
    model, draft = told(path)
    assert model == (
        "text/one.md:3: `narrator render`: left out: in “la”, a language that the engine voxcpm2 "
        "lacks; to have it read as “en-GB”, write [language: en-GB] before it"
    )
    assert draft.startswith("text/one.md:7: `narrator render --draft`: left out: in “ja”")
    manuscript = checking.check_manuscript(read_manuscript(path), lambda said: None)
    assert [one.text for one in manuscript.chapters[0].left_out] == ["Vox clamantis in deserto."]


def test_a_book_in_another_language_than_it_says_is_told_to_say_so(tmp_path):
    russian = "Это было яркое холодное утро, и часы пробили тринадцать раз."
    said = told(write(tmp_path, russian, two=f"{russian}\n\nTyger Tyger, burning bright.\n"))
    assert len(said) == 1
    assert "set `language: ru` in book.yaml" in said[0]


def test_a_book_in_one_language_is_told_nothing(tmp_path):
    assert told(write(tmp_path, ENGLISH)) == []


FRENCH = "Le 1er mai 1871, à 7 h 45, j'ai payé 3,50 F à Madame Dupont."


def test_prose_in_another_language_without_a_mark_is_told_with_its_line_and_its_mark(tmp_path):
    assert told(write(tmp_path, PARAGRAPHS[0], FRENCH, PARAGRAPHS[1], FRENCH)) == [
        "text/one.md:3: “Le 1er mai 1871, à 7 h 45, j'a…” (and 1 more line) seems to be in “fr”, "
        "and is said in “en-GB”: write [language: fr] before and [language: off] after such lines"
    ]


def test_marked_lines_headings_and_verse_in_another_language_are_not_told(tmp_path):
    verse = "Le soir tombait\\\net dans la rue\\\nelle était seule\\\navec sa lampe"
    marked = f"[language: fr]\n\n{FRENCH}\n\n[language: off]"
    assert told(write(tmp_path, ENGLISH, marked, f"## {FRENCH}", verse)) == []


def test_figures_that_need_a_package_are_told(tmp_path, monkeypatch):
    path = books.brief(tmp_path, PLAIN.replace("en-GB", "zh"), "他35岁。\n", "他走了。\n")
    assert not any("figures" in line for line in told(path, "draft"))
    monkeypatch.setattr(east_asian, "is_installed", lambda: False)
    [line] = [line for line in told(path, "draft") if "figures" in line]
    assert line.startswith(
        "book.yaml:3: Chinese or Japanese figures stay as written in 1 chunk; to have them in words"
    )
    assert "[figures]" in line
