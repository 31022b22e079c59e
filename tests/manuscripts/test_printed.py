"""Plays, interviews and transcripts: their printed speakers become labels, and nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manuscripts import Book, Choices, Treatment
from manuscripts.directions import manner_of_speaking
from manuscripts.labels import find_labels, in_ordinary_case
from manuscripts.persons import parse_cast_list
from narrator.importing import import_book, write_project
from narrator.pipeline.manuscript import read_manuscript
from narrator.project import load
from tests.build_epub import build_epub
from tests.effort import examples
from tests.manuscripts import plays
from tests.manuscripts.imports import rows

READ = Choices()
OMIT = Choices(directions="omit")


def imported(folder: Path, text: str, name: str = "play.txt", choices: Choices = READ) -> Book:
    path = folder / name
    if name.endswith(".epub"):
        build_epub(path, {"a.xhtml": text})
    else:
        path.write_text(text, "utf-8")
    book = import_book(path, choices)
    assert book.characters == book.characters_kept + book.characters_left_out
    return book


def cast(book: Book) -> dict[str, tuple[str, ...]]:
    return {speaker.name: speaker.aliases for speaker in book.speakers}


# -- plays -----------------------------------------------------------------------------------------


def test_a_play_of_plain_text_has_labels_styles_and_a_cast(tmp_path: Path) -> None:
    book = imported(tmp_path, plays.WILDE)
    assert list(cast(book)) == ["Algernon", "Lane", "Lady Bracknell"]
    assert book.dialogue == "a play: 3 speakers, 13 speeches, 4 stage directions"
    assert "Lane: I didn't think it polite to listen, sir." in rows(book)
    assert any(row.startswith("Algernon (languidly): I don't know") for row in rows(book))


def test_the_narrator_reads_directions_headings_and_the_list_of_persons(tmp_path: Path) -> None:
    found = rows(imported(tmp_path, plays.WILDE))
    assert "# THE PERSONS IN THE PLAY" in found
    assert (
        "John Worthing, J.P.\\\nAlgernon Moncrieff\\\nLane, Manservant\\\nLady Bracknell" in found
    )
    at = found.index("Lane: Yes, sir.", found.index("Lane: Yes, sir.") + 1)
    assert found[at + 1 : at + 3] == [
        "\\[Hands them on a salver.]",
        "\\[Inspects them, takes two, and sits down on the sofa.]",
    ]


def test_a_manner_that_opens_a_speech_is_none_of_it_where_others_have_square_ones(
    tmp_path: Path,
) -> None:
    names, square = ("ROPER", "MORE"), "\n\n[Exit the cook.]\n\n"
    text = square.join(f"{names[n % 2]}: Here is line {n}, my friend." for n in range(8))
    book = imported(tmp_path, text.replace(": Here is line 4", ": (laughing) Here is line 4"))
    assert "Roper (laughing): Here is line 4, my friend." in rows(book)


def test_directions_may_be_left_out_and_listed(tmp_path: Path) -> None:
    book = imported(tmp_path, plays.WILDE, choices=OMIT)
    assert "Lady Bracknell: That's not quite the same thing. In fact the two things rarely go "\
        "together." in rows(book)  # fmt: skip
    lost = [item for item in book.left_out if item.reason == "stage direction"]
    assert sum(item.count for item in lost) == 4


def test_a_table_of_names_and_speeches_is_a_play(tmp_path: Path) -> None:
    book = imported(tmp_path, plays.WILDE_TABLE, "play.epub")
    assert rows(book)[2:] == [
        "***Lane*** *is arranging afternoon tea on the table.*",
        "Algernon: Did you hear what I was playing, Lane?",
        "Lane: I didn’t think it polite to listen, sir.",
        "Algernon: And have you got the sandwiches?",
        "Lane: Yes, sir.",
        "*Hands them on a salver.*",
        "Algernon (languidly): I believe it *is* a pleasant state.",
    ]


def test_long_cells_and_tables_without_types_are_read_alike(tmp_path: Path) -> None:
    long = "word " * 45
    table = "".join(
        f"<tr><td>{name}</td><td>{text}</td></tr>"
        for name, text in (("ROPER", "So."), ("MORE", long), ("ROPER", "Yes."), ("MORE", "No."))
    )
    book = imported(tmp_path, f"<h1>Act I</h1><table>{table}</table>", "play.epub")
    assert rows(book)[1:] == ["Roper: So.", f"More: {long.strip()}", "Roper: Yes.", "More: No."]


def test_verse_abbreviations_and_unison(tmp_path: Path) -> None:
    book = imported(tmp_path, plays.SHAKESPEARE)
    assert "Mar & Bar: 'Tis gone!" in rows(book)
    assert cast(book) == {
        "Horatio": ("Hor",), "Barnardo": ("Bar",), "Marcellus": ("Mar",), "All": (),
        "Hamlet": ("Ham",),
    }  # fmt: skip
    assert (
        "Mar: Horatio says 'tis but our fantasy,\\\nAnd will not let belief take hold of him\\\n"
        "Touching this dreaded sight, twice seen of us.\\\nTherefore I have entreated him along\\\n"
        "With us to watch the minutes of this night."
    ) in rows(book)


def test_an_abbreviation_of_two_persons_is_nobodys_alias(tmp_path: Path) -> None:
    text = plays.SHAKESPEARE.replace("BARNARDO, Off", "MARIUS, his cousin.\nBARNARDO, Off")
    assert cast(imported(tmp_path, text))["Mar"] == ()


def test_names_in_italics_with_their_manner(tmp_path: Path) -> None:
    found = rows(imported(tmp_path, plays.IBSEN))
    assert any("Yes!" in row for row in found)
    assert (
        "Nora: Just now. {narrator: (*Puts the bag of macaroons into her pocket and wipes her "
        "mouth.*)} Come in here, Torvald, and see what I have bought."
    ) in found
    assert found[1:5] == [
        "(*calls out from his room*)", "Helmer: Is that my little lark twittering out there?",
        "(*busy opening some of the parcels*)", "Nora: Yes, it is!",
    ]  # fmt: skip
    assert found[-1].startswith("Nora (softly): Yes but, Torvald, this year we *really* can")


def test_german_french_and_russian_plays(tmp_path: Path) -> None:
    german = imported(tmp_path, plays.GOETHE)
    assert list(cast(german)) == ["Direktor", "Dichter", "Lustige Person"]
    assert rows(german)[2].startswith("Dichter (leise): O sprich mir nicht")
    assert "\\\nIn Not und Trübsal, beigestanden,\\\n" in rows(german)[1]
    french = imported(tmp_path, plays.MOLIERE)
    assert list(cast(french)) == ["Madame Pernelle", "Elmire", "Dorine"]
    assert "Dorine (à part): Si l'on écoute tout ce qu'elle dit, on ne fait plus rien." in rows(
        french
    )
    russian = imported(tmp_path, plays.GOGOL)
    assert list(cast(russian)) == ["Городничий", "Аммос Федорович", "Артемий Филиппович"]
    assert (
        "Городничий: Я как будто предчувствовал. {narrator: (Пишет.)} Сегодня мне"
        in (rows(russian)[-1])
    )


def test_names_without_a_mark_before_a_direction(tmp_path: Path) -> None:
    found = rows(imported(tmp_path, plays.SHAW))
    assert found[1:3] == [
        "\\[as he shuts the last drawer]",
        "Higgins: Well, I think that's the whole show.",
    ]
    assert "Mrs. Pearce (returning): This is the young woman, sir." in found
    assert "Pickering: What is it (if one may ask) that you want, my girl?" in found
    assert "The flower girl enters in state. She has a hat with three ostrich feathers." in found


def test_a_play_of_markdown(tmp_path: Path) -> None:
    text = (
        "# Hamlet\n\n## Dramatis Personae\n\n- Hamlet, Prince of Denmark\n- Horatio, his friend\n\n"
        "## Act I\n\n**HAM.** Whither wilt thou lead me? *Exit Ghost.*\n\n"
        "**HOR.** *(aside)* My [lord](http://x.y)!\n\n"
        "**HAM.** Speak; [_Rises._] I'll go **no** further.\n\n"
        "**HOR. and HAM.** We will.\n\n**HOR.** So.\n"
    )
    book = imported(tmp_path, text, "play.md")
    assert cast(book) == {"Hamlet": ("Ham",), "Horatio": ("Hor",)}
    assert rows(book)[-6:] == [
        "Ham: Whither wilt thou lead me?", "*Exit Ghost.*", "Hor (aside): My [lord](http://x.y)!",
        "Ham: Speak; {narrator: [*Rises.*]} I'll go **no** further.", "Hor & Ham: We will.",
        "Hor: So.",
    ]  # fmt: skip


def test_a_name_that_nothing_is_said_under_is_read(tmp_path: Path) -> None:
    text = "ACT I\n\nROPER. So.\n\nMORE. No.\n\nROPER.\n\nMORE. Why?\n\nROPER. So.\n\nMORE.\n"
    assert rows(imported(tmp_path, text))[1:] == [
        "Roper: So.", "More: No.", "Roper", "More: Why?", "Roper: So.", "More",
    ]  # fmt: skip


def test_full_width_colons(tmp_path: Path) -> None:
    text = (
        "哈姆雷特：生存还是毁灭。\n\n霍拉旭：殿下！\n\n哈姆雷特（低声）：走吧。\n\n霍拉旭：是。\n"
    )
    assert rows(imported(tmp_path, text))[2:] == ["哈姆雷特 (低声): 走吧。", "霍拉旭: 是。"]


PAIRS = [("Roper", "So."), ("More", "No."), ("Roper", "Why?"), ("More", "Yes."), ("Rich", "Well.")]


@pytest.mark.parametrize(
    "form",
    [
        "<p><b>{0}.</b> {1}</p>", "<p><span class='smcap'>{0}</span>. {1}</p>",
        "<p><i>{0}:</i> {1}</p>", "<p><i>{0}</i> — {1}</p>", "<p class='speaker'>{0}</p><p>{1}</p>",
        "<p><span class='charname'>{0}</span><br/>{1}</p>",
        "<p style='text-align: center'><b>{0}</b></p><p>{1}</p>",
        "<dl><dt>{0}</dt><dd>{1}</dd></dl>",
    ],
)  # fmt: skip
def test_names_that_markup_sets_apart(tmp_path: Path, form: str) -> None:
    body = "".join(form.format(*pair) for pair in PAIRS * 2)
    book = imported(tmp_path, f"<h1>Act I</h1>{body}", "play.epub")
    assert rows(book)[1:] == [f"{name}: {text}" for name, text in PAIRS * 2]


def test_speeches_that_breaks_part(tmp_path: Path) -> None:
    body = "<br/>".join(f"{name.upper()}. {text}" for name, text in PAIRS)
    book = imported(tmp_path, f"<h1>Act I</h1><p>{body}</p>", "play.epub")
    assert rows(book)[1:] == [f"{name}: {text}" for name, text in PAIRS]


def test_a_speech_without_blank_lines_and_names_alone(tmp_path: Path) -> None:
    text = "ACT I\n\nROPER\nGood day to you,\nAnd good day.\nMORE\nAnd you.\nROPER\nSo.\nMORE\nNo."
    assert rows(imported(tmp_path, text))[1:3] == [
        "Roper: Good day to you,\\\nAnd good day.",
        "More: And you.",
    ]


def test_more_of_a_speech_and_a_narration_without_brackets(tmp_path: Path) -> None:
    text = (
        "ACT I\n\nROPER. I came.\n\nYou know that I had to come.\n\nMORE. [Aside.] He came.\n\n"
        "The door opens, and the king comes in.\n\nROPER. The king!\n\nMORE. The king."
    )
    book = imported(tmp_path, text)
    assert rows(book)[1:] == [
        "Roper: I came.", "Roper: You know that I had to come.", "More (aside): He came.",
        "The door opens, and the king comes in.", "Roper: The king!", "More: The king.",
    ]  # fmt: skip
    assert any("1 paragraph without a name" in remark for remark in book.remarks)


SCREENPLAY = (
    "ANNA: Is it late? (beat) I think it is. [She rises.] Come.\n\n**CUT TO:**\n\n"
    "BEN: You go. (smiling at her) I stay.\n\nANNA: Why?\n\n**FADE OUT.**\n\nBEN: I am tired."
)


@pytest.mark.parametrize("name", ["play.txt", "play.md"])
def test_parentheticals_and_transitions_of_a_play_are_left_out(tmp_path: Path, name: str) -> None:
    text = SCREENPLAY if name.endswith("md") else SCREENPLAY.replace("*", "")
    book = imported(tmp_path, f"# ACT I\n\n{text}\n" if name.endswith("md") else text, name)
    found = rows(book)
    assert "Anna: Is it late? I think it is. {narrator: [She rises.]} Come." in [
        row.replace("\\[", "[") for row in found
    ]
    assert "Ben: You go. I stay." in found
    why = {(item.reason, item.words) for item in book.left_out}
    assert {("parenthetical", 4), ("transition", 4)} <= why


@pytest.mark.parametrize("name", ["play.txt", "play.md"])
def test_a_speaker_may_be_numbered(tmp_path: Path, name: str) -> None:
    turns = ["**2. BÜRGER:** Wer da?", "**1. BÜRGER:** Ich.", "**2. BÜRGER:** Du?"]
    text = "\n\n".join([*turns, "**1. BÜRGER:** Ja, ich bin es."])
    book = imported(tmp_path, text if name.endswith("md") else text.replace("*", ""), name)
    assert list(cast(book)) == ["2. Bürger", "1. Bürger"]
    written = write_project(book, tmp_path / "project")
    lines = read_manuscript(written.manifest).chapters[0].scenes[0].lines
    assert [line.speaker for line in lines] == ["2. Bürger", "1. Bürger"] * 2


# -- interviews and transcripts --------------------------------------------------------------------


def test_an_interview_goes_on_under_its_speaker(tmp_path: Path) -> None:
    book = imported(tmp_path, plays.INTERVIEW, "talk.md")
    assert book.dialogue == "an interview: 2 speakers, 6 speeches"
    assert rows(book)[1:6] == [
        "We met her on a wet morning, on the bridge itself.",
        "Interviewer: When did you first come here?",
        "Ada Lovell: In the winter of the flood. Nobody had crossed for a week.",
        "Ada Lovell: I came by the old road, and I told [the council] that I would stay.",
        "Interviewer: And did they listen?",
    ]


def test_questions_and_answers(tmp_path: Path) -> None:
    text = "Q. What is the end of man?\n\nA. Rest.\n\nQ. And of rest?\n\nA. No. There is none.\n"
    book = imported(tmp_path, text)
    assert rows(book) == [
        "Q: What is the end of man?", "A: Rest.", "Q: And of rest?", "A: No. There is none.",
    ]  # fmt: skip


def test_times_of_a_transcript_are_left_out_and_listed(tmp_path: Path) -> None:
    book = imported(tmp_path, plays.TRANSCRIPT)
    assert book.dialogue.startswith("a transcript: 2 speakers, 6 speeches")
    assert rows(book)[0] == "Anna: Welcome to the show."
    assert [(i.reason, i.count) for i in book.left_out] == [("time of a transcript", 6)]


@pytest.mark.parametrize("form", ["Anna (00:{0}): {1}", "ANNA 00:{0}\n{1}", "00:{0} - Anna: {1}"])
def test_times_stand_before_or_after_names(tmp_path: Path, form: str) -> None:
    turns = [form.format(10 + n, f"This is number {n}.") for n in range(6)]
    for n in (1, 3):
        turns[n] = re.sub("anna", "Ben" if "Anna" in form else "BEN", turns[n], flags=re.I)
    book = imported(tmp_path, "\n\n".join(turns))
    names = ("ANNA", "BEN") if "ANNA" in form else ("Anna", "Ben")
    assert rows(book)[:2] == [
        f"{in_ordinary_case(names[0])}: This is number 0.",
        f"{in_ordinary_case(names[1])}: This is number 1.",
    ]


# -- false friends ---------------------------------------------------------------------------------

PROSE = "It was a long way to the bridge, and nobody who went there had come back before noon."


@pytest.mark.parametrize(
    "text",
    [
        f"{PROSE}\n\nALICE: come.\n\n{PROSE}\n\nALICE: go.\n\n{PROSE}\n\nBOB: no.\n\nBOB: yes.\n\n"
        + f"{PROSE}\n\n" * 9,
        "".join(f"Note. — {PROSE}\n\nFig. {n}. A bridge.\n\n{PROSE}\n\n" for n in range(5)),
        "".join(f"P.S. {PROSE}\n\nN.B. {PROSE}\n\nACT {n}.\n\nTHE END.\n\n" for n in range(5)),
        "".join(f"INGREDIENTS. Salt.\n\nMETHOD. Boil.\n\nTIME. An hour. {n}\n\n" for n in range(6)),
        "".join(f"Colour: red.\n\nSize: {n}.\n\nPrice: none.\n\n" for n in range(6)),
        "".join(f"“Yes,” said {n}.\n\n“No.”\n\nYes. It was.\n\nNo. Never.\n\n" for n in range(3)),
        "".join(
            f"THE SEA DOOR\n\n{f'{PROSE} ' * 9}\n\nJANE ROE\n\n{f'{PROSE} ' * 9}\n\n"
            for _ in range(6)
        ),
        f"{PROSE}\n\n" * 9 + "ROPER. So.\n\nMORE. No.\n\nROPER. Why?\n\nMORE. So.\n\n"
        + f"{PROSE}\n\n" * 9,
    ],
    ids=["names here and there", "notes", "ends", "recipes", "forms", "answers", "heads", "a page"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["novel.txt", "novel.md"])
def test_what_is_no_dialogue_stays_as_it_is(tmp_path: Path, text: str, name: str) -> None:
    book = imported(tmp_path, text, name)
    assert book.speakers == ()
    assert not book.dialogue


def test_a_chapter_of_a_novel_may_be_a_play(tmp_path: Path) -> None:
    chapters = "".join(f"CHAPTER {n}\n\n{f'{PROSE} ' * 5}\n\n{PROSE}\n\n" for n in (1, 2))
    play = "CHAPTER 3\n\nROPER. So.\n\nMORE. No.\n\nROPER. Why?\n\n[They fight.]\n\nMORE. So.\n"
    book = imported(tmp_path, chapters + play)
    assert book.dialogue == "a play, 1 chapter of it: 2 speakers, 4 speeches, 1 stage direction"
    assert all("Roper" not in chapter.markdown for chapter in book.chapters[:2])


def test_scripts_of_markdown_stay_their_authors(tmp_path: Path) -> None:
    text = "Ann: Hello.\n\n[pause 1s]\n\nBob (softly): Hi. [He sits.]\n\nAnn: Bye.\n\nBob: Bye.\n"
    assert imported(tmp_path, text, "talk.md").chapters[0].markdown == text


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(
        st.sampled_from(
            [
                "ROPER. So [he sits] it is.", "MORE. [Softly.] No.",
                "ROPER.\nVerse is here,\nAnd here.", "MORE and ROPER. Yes! {a|b}", "MORE.",
                "[_They go._]", "Enter Rich.", "[00:12] ROPER: No: never.",
                "It was late, and *nobody* came.", "RICH (to More, in haste). Why? (He goes.)",
                "ALL. {narrator: x} So (it is", "_Exit._",
            ]
        ),
        min_size=6,
        max_size=14,
    ),
    directions=st.sampled_from(["read", "omit"]),
    name=st.sampled_from(["play.txt", "play.md"]),
)  # fmt: skip
def test_every_character_is_in_a_chapter_or_left_out(
    tmp_path: Path, turns: list[str], directions: Treatment, name: str
) -> None:
    play = "\n\n".join([*turns, "ROPER. A.", "MORE. B.", "ROPER. C.", "MORE. D."])
    book = imported(tmp_path, f"ACT I\n\n{play}\n", name, Choices(directions=directions))
    assert book.characters == len("".join(f"ACTI{play}".split()))
    letters = re.findall(r"[A-Za-z]{3,}", play.replace("narrator", ""))
    kept = " ".join(chapter.markdown for chapter in book.chapters).casefold()
    if directions == "read":
        assert {word.casefold() for word in letters} - {"and"} <= set(re.findall(r"[a-z]+", kept))


# -- pieces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("LADY BRACKNELL", "Lady Bracknell"), ("MRS. ALVING", "Mrs. Alving"),
        ("O'BRIEN", "O'Brien"), ("McCABE", "McCabe"), ("GHOST OF CAESAR", "Ghost of Caesar"),
        ("HENRY IV", "Henry IV"), ("1ST CITIZEN", "1st Citizen"), ("JEAN-PAUL", "Jean-Paul"),
        ("ГОРОДНИЧИЙ", "Городничий"), ("Q", "Q"), ("Nora", "Nora"),
    ],
)  # fmt: skip
def test_names_in_ordinary_capitals(printed: str, name: str) -> None:
    assert in_ordinary_case(printed) == name


@pytest.mark.parametrize(
    "text",
    [
        "Alice was very late.", "THE END.", "ACT I.", "P.S. I love you.", "Fig. 1. A cat",
        "Yes. I do.",
    ],
)  # fmt: skip
def test_what_is_no_label(text: str) -> None:
    assert not find_labels(text)


@pytest.mark.parametrize(
    ("words", "style"),
    [
        ("(softly)", "softly"), ("[Languidly.]", "languidly"), (", à part", "à part"),
        ("[Rises.]", None), ("[To Roper.]", None), ("[as he shuts the last drawer]", None),
    ],
)  # fmt: skip
def test_one_or_two_words_are_a_style(words: str, style: str | None) -> None:
    assert manner_of_speaking(words) == style


def test_a_list_of_persons_says_some_pronouns() -> None:
    found = parse_cast_list(
        ["Nora, his wife", "LAERTES, son to Polonius.", "Lady Bracknell", "Rank, doctor"]
    )
    assert [person.pronoun for person in found] == ["she", "he", "she", None]


def test_the_cast_stands_in_the_manifest(tmp_path: Path) -> None:
    text = plays.SHAKESPEARE.replace("MARCELLUS, Officer.", "MARCELLUS, his brother.")
    written = write_project(imported(tmp_path, text), tmp_path / "hamlet")
    found = load.load(written.manifest).manifest
    assert found.speakers["Marcellus"].aliases == ("Mar",)
    assert found.speakers["Marcellus"].pronoun == "he"
    assert "a play: 5 speakers, 9 speeches" in (written.report or Path()).read_text("utf-8")
