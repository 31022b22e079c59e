"""Chapter text -> lines, with nothing lost and every mistake reported where it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrator.errors import ScriptError
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Line, PauseMark, SpokenForm
from narrator.text.script import MAX_PARAGRAPH_LENGTH, decode_chapter, read_chapter, read_lines

PATH = Path("text/01.md")
CAST = Roles(
    {name: name for name in ("narrator", "alice", "hatter", "小明")} | {"alice liddell": "alice"},
    "narrator",
)
DUO = Roles({"alice": "alice", "hatter": "hatter"}, None)
"""A cast without a narrator."""


def read(
    text: str,
    roles: Roles = CAST,
    *,
    language: str = "en",
    speaker: str | None = None,
    first_line: int = 1,
) -> Chapter:
    return read_chapter(text, path=PATH, title="One", language=language, roles=roles,
                        speaker=speaker, first_line=first_line)  # fmt: skip


def lines(text: str, roles: Roles = CAST, **options: str | None) -> list[Line]:
    return [line for scene in read(text, roles, **options).scenes for line in scene.lines]  # type: ignore[arg-type]


def texts(text: str) -> list[str]:
    return [line.text for line in lines(text)]


def spoken(text: str, roles: Roles = CAST) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in lines(text, roles)]


def left_out(text: str) -> list[tuple[int, str, str]]:
    return [(found.line, found.reason, found.text) for found in read(text).left_out]


def problems(text: str, roles: Roles = CAST, **options: str | None) -> list[tuple[int | None, str]]:
    with pytest.raises(ScriptError) as caught:
        read(text, roles, **options)  # type: ignore[arg-type]
    assert {problem.path for problem in caught.value.problems} == {PATH}
    return [(problem.line, problem.message) for problem in caught.value.problems]


# -- paragraphs


@pytest.mark.parametrize(
    ("text", "first_line", "expected"),
    [
        ("One.\n\nTwo\nwrapped.\n\n\nThree.", 1, "1 One. | 3 Two wrapped. | 7 Three."),
        ("One.\r\n\r\nTwo.\r\n", 1, "1 One. | 3 Two."),
        ("---\ntitle: One\n---\n\nText.", 1, "5 Text."),
        ("a\n\nb", 10, "10 a | 12 b"),
    ],
)
def test_paragraphs_are_lines_with_their_line_numbers(
    text: str, first_line: int, expected: str
) -> None:
    [scene] = read(text, first_line=first_line).scenes
    assert " | ".join(f"{line.line} {line.text}" for line in scene.lines) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was *very* **odd**, [said](http://x.org 'y') `she`.", "It was very odd, said she."),
        ("  One \t two\\\nthree  \nfour&nbsp; five\u2003six", "One two three four five six"),
        ("caf&eacute; &amp; &#39;bar&#39;", "café & 'bar'"),
        ("> one\n> two\n>\n> > three\n\n- four\n  - five\n- six",
         "one two | three | four | five | six"),
        # "1984." at the start of a paragraph is a list to Markdown
        ("1984. It was April.\n\n2) two\n3) three\n\n7.\n",
         "1984. It was April. | 2) two | 3) three | 7."),
        ("    Indented by four.\n\n\tBy a tab.", "Indented by four. | By a tab."),
        ("<div>\n\nOne\n\n</div>\n\n<p>Two <i>three</i><br>four</p>", "One | Two three four"),
        # labels: in any case, by alias, within markup
        ("Alice: Hi.\n\nALICE LIDDELL: Ho.\n\n**Hatter:** Tea.\n\n**Hatter**: More.",
         "alice: Hi. | alice: Ho. | hatter: Tea. | hatter: More."),
        ("> Alice: Hi.\n\n- Hatter: Ho.\n\n1. Alice: One",
         "alice: Hi. | hatter: Ho. | alice: 1. One"),
        ("Alice: Hi,\nyou.\nHatter (dryly): Ho.\nAlice: Ha.",
         "alice: Hi, you. | hatter (dryly): Ho. | alice: Ha."),
        ("小明（轻声）：你好", "小明 (轻声): 你好"),
        ("ali\u200bce: Yes, I will.", "alice: Yes, I will."),
        ("# Alice: a life", "Alice: a life"),
        # a scene break at the top is no front matter
        ("---\nAlice: Hi.\n\n---\n\nOne.", "alice: Hi. | One."),
        (r"\{a|b} \[pause 1s] \*c\* {x\|y|z}", "{a|b} [pause 1s] *c* x|y"),
    ],
)  # fmt: skip
def test_markup_leaves_its_text_and_labels_name_the_speaker(text: str, expected: str) -> None:
    found = [
        f"{line.speaker}{f' ({line.style})' if line.style else ''}: {line.text}"
        for line in lines(text)
    ]
    assert " | ".join(found).replace("narrator: ", "") == expected


def test_headings_keep_their_level() -> None:
    found = lines("# One\n\n### Two\n\nThree\n=====\n\nFour\n----\n\nfive")
    assert [(line.text, line.heading) for line in found] == [
        ("One", 1), ("Two", 3), ("Three", 1), ("Four", 2), ("five", 0),
    ]  # fmt: skip


@pytest.mark.parametrize("mark", ["***", "---", "* * *", "⁂", "• • •", "❦"])
def test_scene_breaks_part_scenes(mark: str) -> None:
    scenes = read(f"{mark}\n\nOne.\n\n{mark}\n\n{mark}\n\nTwo.\n\nThree.\n\n{mark}\n").scenes
    assert [[line.text for line in scene.lines] for scene in scenes] == [
        ["One."],
        ["Two.", "Three."],
    ]


def test_dashes_under_a_paragraph_are_asked_about() -> None:
    [(line, message)] = problems("He left.\n---\nShe stayed.")
    assert line == 2
    assert "blank line" in message


# -- speakers


def test_text_above_a_label_is_another_speakers() -> None:
    assert spoken("Hatter: One.\n\nTwo.\nAlice: Three.\n\n![x](y)\nHatter: Four.", DUO) == [
        ("hatter", "One."), ("hatter", "Two."), ("alice", "Three."), ("hatter", "Four."),
    ]  # fmt: skip


def test_text_without_a_label_is_the_chapters_speakers_then_the_narrators() -> None:
    assert [line.speaker for line in lines("One.", speaker="hatter")] == ["hatter"]
    assert [line.speaker for line in lines("Alice: Hi.\n\nTwo.")] == ["alice", "narrator"]


def test_without_a_narrator_text_is_the_last_labels() -> None:
    assert spoken("Hatter: One.\n\nTwo.", DUO) == [("hatter", "One."), ("hatter", "Two.")]


def test_text_that_nobody_speaks_is_an_error() -> None:
    [(line, message)] = problems("\n# Title\n\nOne.", Roles({"alice": "alice"}, None))
    assert line == 2
    assert "in 1 more line" in message
    assert "`narrator`" in message


SCRIPT = "Alice: Hi.\n\nHatter: Ho.\n\n"


def test_an_undeclared_label_in_a_script_names_the_nearest_speaker() -> None:
    [(line, message)] = problems(f"{SCRIPT}Hater: Ho.\n\nHater: Ha.")
    assert line == 5
    assert all(part in message for part in ("“Hater”", "“hatter”", "in 1 more line", "Hater\\:"))


@pytest.mark.parametrize(
    "text",
    ["Note: this.", "The Royal Society: minutes", "alcie: hi", "Host 2 (softly): hi",
     "**Guest:** hi", "Alice: Hi.\nGuest: Ho.", "小红：你好"],
)  # fmt: skip
@pytest.mark.slow
def test_what_looks_like_a_label_is_one_in_a_script_and_text_in_prose(text: str) -> None:
    language = "zh" if text[0] == "小" else "en"
    [(_, message)] = problems(SCRIPT + text, language=language)
    assert "is not in the cast" in message
    found = read(f"She rose.\n\nHe sat.\n\n{text}", language=language)
    [slip] = found.slips
    assert (slip.line, "is read as text" in slip.problem) == (5 + text.count("\n"), True)
    words = " ".join(line.text for line in found.scenes[0].lines)
    assert words.endswith(" ".join(text.replace("*", "").removeprefix("Alice: ").split()))


def test_a_unison_of_somebody_else_is_no_label() -> None:
    assert "“Alice & Eve” is not in the cast" in problems(f"{SCRIPT}Alice & Eve: Ho.")[0][1]
    [slip] = read("She rose.\n\nAlice & Eve: Ho.").slips
    assert slip.written == "Alice & Eve:"
    assert not read("She rose.\n\nSalt & Pepper: a play.").slips


def test_a_near_miss_in_prose_is_said_with_what_was_meant() -> None:
    [slip] = read("She rose.\n\nHater: Ho.").slips
    assert (slip.written, slip.hint) == ("Hater:", "; did you mean “hatter:”?")


@pytest.mark.parametrize(
    "text",
    ['"Mrs. Hatter, no: it is not.', "“Alice stammered: I am not.", "‘Alice: no,’ he said",
     "«Alice : non»", "“Hater: Ho.”", "'Alice: no,' he said"],
)  # fmt: skip
@pytest.mark.parametrize("around", ["", SCRIPT])
def test_what_begins_with_a_quotation_mark_is_no_label(text: str, around: str) -> None:
    found = read(around + text)
    assert (found.scenes[0].lines[-1].text, found.scenes[0].lines[-1].speaker) == (text, "narrator")
    assert not found.slips


def test_declaring_speakers_leaves_a_novel_as_it_was() -> None:
    novel = (
        "Mr. Bennet replied: it was so.\n\n“Margaret stammered: I did.”\n\n"
        "Margaret stammered: it was she.\n\nThe moral: none.\n\nJaney: a cat.\n"
    )
    cast = Roles({"margaret": "Margaret", "jane": "Jane", "n": "n"}, "n")
    assert spoken(novel, cast) == spoken(novel, Roles({"n": "n"}, "n"))


def test_half_of_the_paragraphs_make_a_script() -> None:
    assert problems(f"{SCRIPT}They rose.\n\nHater: Ho.")
    assert read(f"{SCRIPT}They rose.\n\nThey sat.\n\nHater: Ho.").slips
    assert read("Alice: Hi.\n\nHater: Ho.").slips
    assert problems("Alice: Hi.\nHatter: Ho.\nHater: Ho.")


def test_a_label_in_prose_that_goes_on_like_prose_is_said() -> None:
    found = read("She wrote a book.\n\nIt was called thus.\n\nAlice: a life")
    assert found.scenes[0].lines[-1].speaker == "alice"
    [slip] = found.slips
    assert (slip.written, slip.line, "like prose" in slip.problem) == ("Alice:", 5, True)
    assert read("She rose.\n\nHe sat.\n\nAlice: “No!”").slips
    assert not read("She rose.\n\nHe sat.\n\nAlice: A life!").slips
    assert not read("Alice: a life\n\nHatter: a death").slips


@pytest.mark.parametrize(
    "text",
    ["Note\\: this.", "He said: this.", "At 10:30 they left.", "http://example.org", "Dear Sir:",
     "“Note: this.”", "She went to the\nRoyal Society: a place", "他说：“你好。”", "`Note: this`",
     "Note&#58; this"],
)  # fmt: skip
def test_prose_with_a_colon_is_prose(text: str) -> None:
    [line] = lines(text, language="zh" if text[0] == "他" else "en")
    assert line.speaker == "narrator"


def test_a_label_without_words_is_an_error_in_a_script_and_text_in_prose() -> None:
    assert problems(f"{SCRIPT}Alice:\n\nHi.") == [(5, "nothing is said after “Alice:”")]
    assert spoken("Alice:\n\nHi.") == [("narrator", "Alice:"), ("narrator", "Hi.")]
    [slip] = read("Alice:\n\nHi.").slips
    assert "nothing is said after it" in slip.problem


def test_several_speakers_share_a_label() -> None:
    roles = Roles({"ada": "Ada", "ben": "Ben", "ben & sons": "Ben & Sons"}, None)
    for text, speakers in {
        "ada & Ben": ("Ada", "Ben"), "Ada&ben & Ada": ("Ada", "Ben"),
        "Ben & sons & Ada": ("Ben & Sons", "Ada"), "Ada &": (), "Ada & Eve": (), "": (),
    }.items():  # fmt: skip
        assert roles.find_speakers(text) == speakers


def test_a_label_in_brackets_is_an_error_in_a_script_and_a_link_in_prose() -> None:
    [(line, message)] = problems(f"{SCRIPT}[Alice]: Hello")
    assert line == 5
    assert "no brackets" in message
    found = read("Hi.\n\n[Alice]: http://x.org")
    assert [(slip.written, slip.line) for slip in found.slips] == [("[Alice]:", 3)]
    assert found.left_out[0].reason == "link definition"


# -- pauses and spoken forms


def test_pauses_keep_their_place_in_the_text() -> None:
    [line] = lines("Wait. [pause 1.5s] Go[pause 800ms] on. [Pause 2 s]")
    assert line.text == "Wait. Go on."
    assert line.pauses == (PauseMark(6, 1.5), PauseMark(9, 0.8), PauseMark(12, 2.0))


def test_a_pause_after_a_label_comes_before_the_words() -> None:
    assert lines("Alice: [pause 1s] Hi.")[0].pauses == (PauseMark(0, 1.0),)
    assert lines("[pause 1s] Alice: Hi.")[0].pauses == (PauseMark(0, 1.0),)


def test_a_pause_between_paragraphs_ends_the_one_before() -> None:
    first, second = lines("One.\n\n[pause 3s]\n\nTwo.")
    assert (first.pauses, second.pauses) == ((PauseMark(4, 3.0),), ())


def test_a_pause_before_a_scene_begins_its_first_line() -> None:
    found = lines("One.\n\n***\n\n[pause 3s]\n\nTwo.")
    assert [line.pauses for line in found] == [(), (PauseMark(0, 3.0),)]


def test_a_pause_after_the_last_scene_break_ends_the_chapter() -> None:
    [line] = lines("One.\n\n***\n\n[pause 3s]")
    assert line.pauses == (PauseMark(4, 3.0),)


def test_no_pause_may_be_asked_for() -> None:
    assert lines("One.\n\n[pause 0s]\n\nTwo.")[0].pauses == (PauseMark(4, 0.0),)


@pytest.mark.parametrize(
    "mark", ["[pause]", "[pause 2m]", "[pause x]", "[pause 1,5s]", "[pause 1s"]
)
def test_a_malformed_pause_is_no_pause_and_names_the_right_form(mark: str) -> None:
    chapter = read(f"One\ntwo {mark}")
    [slip] = chapter.slips
    assert slip.line == 2
    assert "did you mean [pause " in slip.problem
    assert not chapter.scenes[0].lines[0].pauses


def test_an_overlong_pause_lasts_as_long_as_a_pause_may() -> None:
    chapter = read("One [pause 1500s] two.")
    assert chapter.scenes[0].lines[0].pauses == (PauseMark(4, 60.0),)
    assert "60 s at most" in chapter.slips[0].problem


def test_a_word_may_be_said_otherwise() -> None:
    [line] = lines("Dr. {St. John|Sinjun} *{read|red}*  it.")
    assert line.text == "Dr. St. John read it."
    assert line.spoken_forms == (SpokenForm(4, 12, "Sinjun"), SpokenForm(13, 17, "red"))


def test_offsets_hold_after_a_label_and_a_number() -> None:
    [line] = lines("1. Alice: a [pause 1s] {b|c}")
    assert line.text == "1. a b"
    assert (line.pauses, line.spoken_forms) == ((PauseMark(5, 1.0),), (SpokenForm(5, 6, "c"),))


@pytest.mark.parametrize("mark", ["{word}", "{word|}", "{|word}", "{word"])
def test_a_malformed_spoken_form_is_text_and_names_the_right_one(mark: str) -> None:
    chapter = read(f"One\n{mark}")
    [slip] = chapter.slips
    assert (slip.line, slip.written) == (2, mark)
    assert "{written|spoken}" in slip.problem
    assert chapter.scenes[0].lines[0].text == f"One {mark}"


# -- what is left out


def test_what_is_not_spoken_is_listed_with_its_reason() -> None:
    text = (
        "One ![alt](a.png)[^1]<!-- hush --><sigh>.\n\n"
        "<!-- a comment\n\nof two paragraphs -->\n\n"
        "[^1]: A note\n    goes on.\n\n    And on.\n\n"
        "| a | b |\n|---|---|\n| c | d |\n\n"
        "```\ncode\n```\n\n"
        "[ref]: http://x.org 'title'\n\n"
        "Two^[in place].\n"
    )
    assert texts(text) == ["One .", "Two."]
    assert left_out(text) == [
        (1, "image", "![alt](a.png)"), (1, "footnote mark", "[^1]"),
        (1, "comment", "<!-- hush -->"), (1, "HTML tag", "<sigh>"),
        (3, "comment", "<!-- a comment\n\nof two paragraphs -->"),
        (7, "footnote", "[^1]: A note\n    goes on.\n\n    And on."),
        (12, "table", "| a | b |\n|---|---|\n| c | d |"), (16, "code block", "```\ncode\n```"),
        (20, "link definition", "[ref]: http://x.org 'title'"), (22, "footnote", "^[in place]"),
    ]  # fmt: skip


def test_front_matter_is_left_out() -> None:
    text = "---\ntitle: One\ntags:\n  - a\n---\n\nText."
    assert [(line.text, line.line) for line in lines(text)] == [("Text.", 7)]
    [(line, reason, what)] = left_out(text)
    assert (line, what) == (1, "---\ntitle: One\ntags:\n  - a\n---")
    assert "book.yaml" in reason


@pytest.mark.parametrize(
    ("text", "line"), [("One.\n\n~~~\n\nTwo.", 3), ("One. <!-- two\n\nthree", 1)]
)
def test_what_would_swallow_the_rest_of_a_chapter_is_an_error(text: str, line: int) -> None:
    [(found, _)] = problems(text)
    assert found == line


WORDS = st.integers(0, 999).map(lambda n: f"w{n:03}x")
INLINE = st.sampled_from(
    ["{}", "*{}*", "**{}**", "`{}`", "[{}](u)", "![{}](u)", "<!--{}-->", "<i>{}</i>", "<{}>",
     "{{{}|u}}", "[pause 1s]{}", "[^{}]", "^[{}]", "\\[{}\\]", "“{}”", "{}\n", "{}  \n",
     "{}\\\n"]
)  # fmt: skip
BLOCKS = st.sampled_from(
    ["{}", "# {}", "> {}", "> > {}", "- {}", "1. {}", "1. > - {}", "Alice: so {}", "    {}",
     "```\n{}\n```", "<!-- {} -->", "<div>\n{}\n</div>", "[^a]: {}", "| {} |\n|---|\n| u |",
     "***\n\n{}", "{}\n==="]
)  # fmt: skip


@given(
    st.lists(
        st.tuples(BLOCKS, st.lists(st.tuples(INLINE, WORDS), min_size=1, max_size=5)),
        min_size=1,
        max_size=8,
    )
)
def test_every_word_is_spoken_or_left_out(blocks: list[tuple[str, list[tuple[str, str]]]]) -> None:
    written: list[str] = []
    parts: list[str] = ["begin"]
    for block, content in blocks:
        single = block.count("\n") or block.startswith(("#", "<!--", "|"))
        inline = [form.format(word) for form, word in content]
        text = " ".join(inline)
        parts.append(block.format(re.sub(r"\s*\n\s*", " ", text) if single else text.strip()))
        written += re.findall(r"w\d{3}x", parts[-1])
    chapter = read("\n\n".join(parts))
    read_back = [line.text for scene in chapter.scenes for line in scene.lines]
    read_back += [found.text for found in chapter.left_out]
    assert sorted(re.findall(r"w\d{3}x", "\n".join(read_back))) == sorted(written)


@given(st.text("ab \n\t*_`[]()<>!#>-+=~|\\&;.:1^{}é中“", max_size=60))
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    refused: list[int | None] = []
    try:
        chapter = read(text)
    except ScriptError as error:
        refused = [problem.line for problem in error.problems]
    assert all(line and 1 <= line <= text.count("\n") + 1 for line in refused)
    if refused:
        return
    found = [line for scene in chapter.scenes for line in scene.lines]
    for line in found:
        assert line.text == " ".join(line.text.split())
        assert line.text
    # Labels, link targets and tags are markup; letters are there or left out, or in one of these.
    if not re.search(r"[\]<:&]", text):
        kept = "".join(line.text for line in found) + "".join(o.text for o in chapter.left_out)
        assert sorted(re.findall(r"[abé中“]", text)) == sorted(re.findall(r"[abé中“]", kept))


# -- bad input


def test_a_chapter_without_words_is_an_error() -> None:
    for text in ["", "\n\n***\n", "<!-- nothing -->\n\n![image](a.png)", "&nbsp;\n\n…"]:
        [(line, message)] = problems(text)
        assert line == 1
        assert "“One” has no text to speak" in message


def test_all_problems_come_at_once_in_order_of_lines() -> None:
    found = problems("Alice: One <!--\n\nGuest: Two\n\nAlice:\n\n~~~\n")
    assert [line for line, _ in found] == [1, 3, 5, 7]


def test_a_paragraph_of_megabytes_is_refused_at_its_line() -> None:
    overlong = "word " * (MAX_PARAGRAPH_LENGTH // 5 + 1)
    [(line, message)] = problems(f"One.\n\n{overlong}\n\nTwo.")
    assert line == 3
    assert "1,000,0" in message


def test_nesting_without_end_is_an_error() -> None:
    for text in [">" * 100 + " a", "- " * 100 + "a"]:
        [(line, message)] = problems(text)
        assert line == 1
        assert "nested" in message


def test_bytes_that_are_not_utf_8_are_named() -> None:
    with pytest.raises(ScriptError, match=r"01.md:2: is not UTF-8: byte 0xE9 at offset 8"):
        decode_chapter("one\ncaf\xe9 two".encode("latin-1").replace(b"caf", b"cafe"), PATH)
    with pytest.raises(ScriptError, match="UTF-16"):
        decode_chapter("one".encode("utf-16"), PATH)


def test_zero_bytes_are_refused() -> None:
    with pytest.raises(ScriptError, match=r"01.md:3: has the control character U\+0000"):
        decode_chapter(b"one\n\ntw\0o", PATH)
    assert decode_chapter(b"\xef\xbb\xbfone\r\n\ttwo", PATH) == "one\r\n\ttwo"


def test_control_characters_are_no_reason_to_refuse_a_text() -> None:
    found = read("Don\x92t\x07 go\x0cthere,\x1b[31m she said.\n\n\u3164\n\nNo\u202e.")
    assert [line.text for scene in found.scenes for line in scene.lines] == [
        "Don’t go there,[31m she said.", "No\u202e.",
    ]  # fmt: skip
    assert [(c, line, places) for c, _, line, places in found.unseen] == [
        ("\x92", 1, 1), ("\x07", 1, 1), ("\x1b", 1, 1), ("\u3164", 3, 1),
        ("\u202e", 5, 1),
    ]  # fmt: skip


CYRILLIC = "Это предложение написано по-русски."
CHINESE = "这是一个用中文写成的很长的句子，里面有很多很多的字，完全没有英文。"


def tongues(text: str, roles: Roles = CAST, **options: str | None) -> list[str]:
    return [line.language for line in lines(text, roles, **options)]


def warned(text: str, **options: str | None) -> list[tuple[int | None, str]]:
    found = read(text, **options).warnings  # type: ignore[arg-type]
    return [(problem.line, problem.message) for problem in found]


@pytest.mark.parametrize(
    ("text", "around", "language"),
    [
        ("Μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος", "en", "el"), ("γνῶθι σεαυτόν", "en", "el"),
        ("בראשית ברא אלהים", "en", "he"), ("كان يا ما كان في قديم الزمان", "en", "ar"),
        ("吾輩は猫である。名前はまだ無い。", "en", "ja"),
        ("吾輩は猫である。名前はまだ無い。", "zh", "ja"), ("道可道，非常道。", "en", "zh"),
        ("죽는 날까지 하늘을 우러러", "en", "ko"), ("ขอให้โชคดีในการเดินทาง", "de", "th"),
        ("नमस्ते दुनिया", "fr", "hi"), (CYRILLIC, "en", "ru"), (CYRILLIC, "sr-Latn", "sr"),
        ("Tyger Tyger, burning bright, in the forests of the night", "ru", "en"),
        ("Copyright © 2019 by Jane Doe. All rights reserved.", "zh", "en"),
        ("Eh bien, mon prince. Gênes et Lucques ne sont plus que des apanages.", "ru", "fr"),
        ("Der Mensch ist nicht frei, wie er das Gute will.", "el", "de"),
        ("It was a bright cold day in April.", "ja", "en"),
    ],
)  # fmt: skip
def test_a_line_in_other_letters_is_said_in_their_language(
    text: str, around: str, language: str
) -> None:
    found = read(text, language=around)
    assert [line.language for line in found.scenes[0].lines] == [language]
    (foreign,) = found.foreign
    assert (foreign.surrounding_language, foreign.spoken_language, foreign.line, foreign.count) == (
        around, language, 1, 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "language"),
    [
        # letters of the language, signs and short words
        (CYRILLIC, "ru"), (CYRILLIC, "sr"), (CYRILLIC, "x-unknown"), (CHINESE, "zh-Hant-TW"),
        (CHINESE, "ja"), ("It was a bright cold day in April.", "sr-Latn"),
        ("Привет, he said, and again: Привет, which is short for a long word.", "en"),
        ("Да!", "en"), ("Gnōthi seauton, the old man said.", "en"), ("🙂🙃🎉", "en"),
        ("1984 … 2001!", "el"), ("?! — …", "ru"), ("α β γ δ ε ζ η θ", "en"),
        ("Δx = λ·φ(ω) + ∫ψ dτ", "en"), ("𝛼𝛽𝛾𝛿𝜀𝜁𝜂", "en"), ("XVIII", "ru"),
        ("ISBN 978-3-16-148410-0", "zh"), ("OK!", "zh"),
        # addresses, names and titles
        ("www.x.com 2012", "he"), ("https://example.com/de/la/que?para=um", "ja"),
        ("ראו www.a-site-with-a-long-name.com", "he"),
        ("info@example.com, @some_handle, #hashtag", "ar"), ("read-me-first.txt", "fa"),
        ("Microsoft Office 2010", "ru"), ("iPhone 15 Pro Max", "he"), ("Printed in Israel", "he"),
        ("Simone de Beauvoir", "zh"), ("The Catcher in the Rye", "he"), ("com amor", "zh"),
        ("e.g. i.e. etc.", "ko"), ("王小明", "en"), ("村上春樹", "de"), ("김민수", "en"),
        ("Достоевский", "en"), ("Лев Толстой", "fr"), ("ירושלים", "en"),
    ],
)  # fmt: skip
def test_own_letters_signs_short_words_and_names_change_no_language(
    text: str, language: str
) -> None:
    assert tongues(f"{text}\n\n1", language=language) == [language, language]


@pytest.mark.parametrize(
    ("text", "around", "language"),
    [
        ("I love you.", "ru", "en"), ("Je ne sais pas.", "he", "fr"), ("你好吗", "en", "zh"),
        ("我知道。", "en", "zh"), ("안녕하세요", "en", "ko"), ("Здравствуйте!", "en", "ru"),
        ("Война и мир", "en", "ru"),
        ("Подробности были на www.a-site-with-a-long-name.com", "en", "ru"),
    ],
)  # fmt: skip
def test_a_short_sentence_in_other_letters_keeps_its_language(
    text: str, around: str, language: str
) -> None:
    assert tongues(text, language=around) == [language]


def test_a_long_row_of_hyphens_and_dots_is_searched_for_addresses_at_once() -> None:
    assert tongues("é" + "-a." * 30_000 + "\n\n1", language="ru")[1] == "ru"


def test_words_in_other_letters_within_a_line_are_noted_and_no_more() -> None:
    found = read("He said ἀλήθεια and left.\n\nThe ἀρετή of it.\n\nПривет, said he again.")
    assert [line.language for line in found.scenes[0].lines] == ["en"] * 3
    assert [(one.alphabet, one.spoken_language, one.line, one.count) for one in found.foreign] == [
        ("GREEK", None, 1, 2), ("CYRILLIC", None, 5, 1),
    ]  # fmt: skip


def test_lines_of_a_run_are_one_language() -> None:
    verse = "Sous le pont Mirabeau\n\ncoule la Seine\n\nEt nos amours"
    assert tongues(verse, language="ru") == ["fr"] * 3
    assert tongues("# Ἰλιάς\n\nΜῆνις\n\nἄειδε") == ["el"] * 3
    assert tongues("吾輩は猫である。\n\n名前無。\n\nYes.") == ["ja", "ja", "en"]


def test_languages_that_the_book_names_come_first() -> None:
    roles = Roles(CAST.speakers, "narrator", declared=["en", "uk", "fr"])
    assert tongues(CYRILLIC, roles) == ["uk"]
    assert tongues("Un beau jour, Jean partit.", roles, language="el") == ["fr"]
    assert tongues("Vox clamantis in deserto", roles, language="el") == ["en"]


def test_a_speakers_own_language_counts() -> None:
    roles = Roles({"boris": "boris"}, "boris", {"boris": "ru"})
    assert tongues(CYRILLIC, roles) == ["ru"]
    assert tongues("It was a bright cold day in April.", roles) == ["en"]


# -- language marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.\n\n[language: fr]\n\nDeux.\n\nAlice: Trois.\n\n[language: off]\n\nFour.",
         "en One. | fr Deux. | fr Trois. | en Four."),
        ("[Language:fr]\n\n# Un\n\nDeux.\n\n***\n\nTrois.", "fr Un | fr Deux. | fr Trois."),
        ("[language: fr]\n\nUn.\n\n[language: de]\n\nZwei.\n\n[language: off]\n\nThree.",
         "fr Un. | de Zwei. | en Three."),
        ("One.\n\n[language: el]\nγνῶθι σεαυτόν\n[language: off]\n\nTwo.",
         "en One. | el γνῶθι σεαυτόν | en Two."),
        ("Alice: [language: fr] Bonjour.\n\nMerci.", "fr Bonjour. | fr Merci."),
        # names and cries do not deny it
        ("[language: el]\n\nΝαι.\n\nOK!\n\nBond.\n\n[language: fr]\n\nLes Beatles et The Who.",
         "el Ναι. | el OK! | el Bond. | fr Les Beatles et The Who."),
    ],
)  # fmt: skip
def test_a_language_mark_is_for_the_lines_after_it(text: str, expected: str) -> None:
    assert " | ".join(f"{line.language} {line.text}" for line in lines(text)) == expected
    assert not warned(text)


def test_a_language_mark_comes_before_chapter_speaker_and_letters() -> None:
    roles = Roles({"boris": "boris"}, "boris", {"boris": "ru"})
    assert tongues(f"[language: bg]\n\n{CYRILLIC}", roles) == ["bg"]
    assert tongues(f"[language: en]\n\n{CYRILLIC}") == ["en"]
    assert not read(f"[language: en]\n\n{CYRILLIC}").foreign


@pytest.mark.parametrize(
    ("mark", "left"),
    [
        ("[language: Greek]", True), ("[language: xx]", True), ("[language: ]", True),
        ("[language = el]", True), ("[language el]", True), ("[lang: el]", True),
        ("[langauge: el]", True), ("[language: el", False),
    ],
)  # fmt: skip
def test_what_is_like_a_language_mark_is_warned_of_and_ignored(mark: str, left: bool) -> None:
    text = f"{mark}\n\nOne."
    assert tongues(text)[-1] == "en"
    [slip] = read(text).slips
    assert slip.line == 1
    assert mark.startswith(slip.written)
    assert "write [language: el]" in slip.problem
    assert [found[2] for found in left_out(text)] == [mark] * left


@pytest.mark.parametrize(
    "mark",
    ["[language of]", "[langage: off]", "[lang off]", "[language: of]", "[language: off",
     "[lang:end]", "[lnaguage: off]", "[/language]", "[language; off]", "[ language = off ]",
     "[end language]", "[/language: el]"],
)  # fmt: skip
def test_a_mistyped_end_of_a_language_ends_it_and_is_named(mark: str) -> None:
    text = f"[language: el]\n\nΚαλημέρα κόσμε.\n\n{mark}\n\nBack to English."
    assert tongues(text) == ["el", "en"]
    assert texts(text) == ["Καλημέρα κόσμε.", "Back to English."]
    assert [(slip.line, slip.written) for slip in read(text).slips] == [(5, mark)]
    assert [found[2] for found in left_out(text)] == [mark]
    assert not warned(text)


@pytest.mark.parametrize(
    "text",
    ["[language barrier]", "[languages]", "[Language of the birds]", "[language\nof]", "[the end]",
     "[luggage: off]", "[end of the language]"],
)  # fmt: skip
def test_brackets_that_begin_with_the_word_are_text(text: str) -> None:
    assert texts(f"A {text} it was.") == [f"A {text} it was.".replace("\n", " ")]
    assert not read(f"A {text} it was.").slips


def test_an_editors_words_are_no_mistyped_end_of_a_language() -> None:
    for text in ("The [language of] birds.", "The [language of]\nbirds."):
        assert texts(text) == ["The [language of] birds."]


def test_a_language_mark_within_a_sentence_is_ignored_and_one_that_ends_nothing_too() -> None:
    [(line, message)] = warned("One.\n\nHe said [language: el] ναί and left.")
    assert line == 3
    assert "whole paragraphs" in message
    [(line, message)] = warned("One.\n\n[language: off]\n\nTwo.")
    assert (line, message) == (3, "[language: off], but no language is on here")


ENGLISH = "He went to the door, and said that it was late."


@pytest.mark.parametrize(
    ("text", "passage_language", "seems"),
    [
        (f"[language: el]\n\nΚαλημέρα κόσμε.\n\n{ENGLISH}\n\n{ENGLISH}", "el en en", "“en”"),
        (f"[language: el]\n\nΚαλημέρα κόσμε.\n\n{ENGLISH} Ναι.", "el el", "“en”"),
        (f"[language: fr]\n\nBonjour, madame.\n\n{ENGLISH}", "fr fr", "“en”"),
        (f"[language: la]\n\nGallia est omnis divisa.\n\n{ENGLISH}", "la la", "“en”"),
        (f"[language: fr]\n\nBonjour, madame.\n\n{CYRILLIC}", "fr fr", "Cyrillic letters"),
    ],
)
def test_a_line_that_denies_its_language_mark_is_said_once(
    text: str, passage_language: str, seems: str
) -> None:
    assert tongues(text) == passage_language.split()
    [(line, message)] = warned(text)
    assert line == 5
    assert f"in line 1 the text seems to be in {seems}: was [language: off] forgotten?" in message


def test_a_language_that_is_on_to_the_end_of_a_long_chapter_is_remarked() -> None:
    few = "[language: fr]\n\n" + "Bonjour, madame.\n\n" * 5
    assert not read(few).slips
    [slip] = read(few + "Au revoir.").slips
    assert (slip.line, slip.written) == (1, "[language: fr]")
    assert "to the end of its chapter" in slip.problem
    assert not read(few + "Au revoir.\n\n[language: off]").slips


# -- lines of a manifest


def inline_chapter(*rows: tuple[int, str | tuple[str, str]]) -> Chapter:
    return read_lines(
        rows, path=PATH, title="Intro", language="en", roles=CAST, speaker=None
    )  # fmt: skip


def test_lines_of_a_manifest_are_read_as_chapter_text() -> None:
    chapter = inline_chapter(
        (7, ("Alice (softly)", "Hello: there.")), (8, "hatter: Tea? [pause 1s]"), (9, "***"),
        (10, "One.\n\nTwo."),
    )  # fmt: skip
    found = [
        [(x.speaker, x.style, x.text, x.line) for x in scene.lines] for scene in chapter.scenes
    ]
    assert found == [
        [("alice", "softly", "Hello: there.", 7), ("hatter", None, "Tea?", 8)],
        [("narrator", None, "One.", 10), ("narrator", None, "Two.", 10)],
    ]


def test_an_undeclared_label_in_a_manifest_is_an_error_at_its_line() -> None:
    message = r"01.md:7: “alcie” is not in the cast; did you mean “ali"
    with pytest.raises(ScriptError, match=message):
        inline_chapter((7, ("alcie", "Hi.")))
