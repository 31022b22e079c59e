"""Paragraphs in lines of one speaker each: what the text gives to others, and what is decided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from narrator.errors import ScriptError
from narrator.text import line_splitting
from narrator.text.chunks import cut_scene
from narrator.text.labels import Roles
from narrator.text.lines import Chapter, Line, MusicMark, PauseMark, SpokenForm
from narrator.text.script import read_chapter
from narrator.text.tags import tag_end
from tests.effort import examples

NAMES = ("narrator", "Ada", "Ben", "Ben & Sons")
ROLES = Roles(
    {name.casefold(): name for name in NAMES} | {"miss lovell": "Ada"},
    "narrator",
    {"Ben": "fr"},
    spellings={name.casefold(): name for name in NAMES},
)


def read(text: str, language: str = "en", **options: str | None) -> Chapter:
    return read_chapter(text, path=Path("01.md"), title="One", language=language, roles=ROLES,
                        speaker=options.get("speaker"))  # fmt: skip


def parted(
    text: str, *who: str, tags: str = "narrator", language: str = "en", speaker: str | None = None
) -> Chapter:
    """A chapter whose quotations are said by these, in order; "" by the narrator."""
    chapter = read(text, language, speaker=speaker)
    quotes = line_splitting.find_quotes(chapter)
    assert len(quotes) == len(who) or not who
    said = {one: ROLES.find_speakers(name) for one, name in zip(quotes, who, strict=False)}
    return line_splitting.split_lines(chapter, said, ROLES, tags)


def lines(text: str, *who: str, **options: str) -> list[Line]:
    return [line for scene in parted(text, *who, **options).scenes for line in scene.lines]  # type: ignore[arg-type]


def said(text: str, *who: str, **options: str) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in lines(text, *who, **options)]


KNOW = "“I know,” said Ada, “but not now.”"


# -- quotations


def test_a_quotation_with_a_tag_has_three_lines_of_one_paragraph() -> None:
    found = lines(f"Before.\n\n{KNOW}\n\nAfter.", "Ada", "Ada")
    assert [(line.speaker, line.text, line.continues_previous, line.line) for line in found] == [
        ("narrator", "Before.", False, 1), ("Ada", "“I know,”", False, 3),
        ("narrator", "said Ada,", True, 3), ("Ada", "“but not now.”", True, 3),
        ("narrator", "After.", False, 5),
    ]  # fmt: skip


def test_what_nobody_is_said_to_say_stays_as_it_was() -> None:
    chapter = read(f"{KNOW}\n\n“Yes.”")
    assert line_splitting.split_lines(chapter, {}, ROLES) is chapter
    assert said(KNOW, "", "") == [("narrator", KNOW)]
    assert said(KNOW, "narrator", "narrator") == [("narrator", KNOW)]


def test_what_is_decided_of_one_quotation_leaves_the_other_with_the_narration() -> None:
    assert said(KNOW, "Ada", "") == [("Ada", "“I know,”"), ("narrator", "said Ada, “but not now.”")]


def test_a_paragraph_that_is_a_quotation_is_one_line() -> None:
    [line] = lines("“I know.”", "Ada")
    assert (line.speaker, line.continues_previous, line.is_narration) == ("Ada", False, False)


def test_neighbouring_quotations_of_one_speaker_are_one_line() -> None:
    assert said("“Yes.” “No.”", "Ada", "Ada") == [("Ada", "“Yes.” “No.”")]
    assert said("“Yes.” “No.”", "Ada", "Ben") == [("Ada", "“Yes.”"), ("Ben", "“No.”")]


@pytest.mark.parametrize(
    "text",
    ["Ada: “No,” said Ben.", "# “No,” said Ben", "narrator: “No,” said Ben."],
)
def test_only_narration_is_parted_by_quotations(text: str) -> None:
    assert not line_splitting.find_quotes(read(text))


def test_quotations_are_looked_for_in_the_narration_of_a_whole_chapter() -> None:
    chapter = read("# One\n\n“I know,\n\n“I do.”\n\nAda: “No.”\n\n“So\n\n***\n\n“be it.”")
    found = line_splitting.find_quotes(chapter)
    assert line_splitting.narration_passages(chapter) == [
        ".", "“I know,", "“I do.”", ".", "“So", ".", "“be it.”", ".",
    ]  # fmt: skip
    assert [
        (one.passage, one.scene, one.place, one.text, one.continues_previous) for one in found
    ] == [
        (1, 0, 1, "“I know,", False), (2, 0, 2, "“I do.”", True), (4, 0, 4, "“So", False),
        (6, 1, 0, "“be it.”", True),
    ]  # fmt: skip


def test_a_chapter_of_another_speaker_is_no_narration() -> None:
    assert not line_splitting.find_quotes(read(KNOW, speaker="Ada"))
    assert line_splitting.find_quotes(read(KNOW, speaker="narrator"))


def test_marks_between_parts_stay_with_the_quotation() -> None:
    assert said("“Wait”, said Ada; “now”.", "Ada", "Ada") == [
        ("Ada", "“Wait”,"), ("narrator", "said Ada;"), ("Ada", "“now”."),
    ]  # fmt: skip
    assert said("“I”—she wept—“never”", "Ada", "Ada") == [
        ("Ada", "“I”"), ("narrator", "—she wept—"), ("Ada", "“never”"),
    ]  # fmt: skip
    assert said("She said (“Go!”) to him.", "Ada") == [
        ("narrator", "She said"), ("Ada", "(“Go!”)"), ("narrator", "to him."),
    ]  # fmt: skip
    assert said('"Go," she said. "Now!"', "Ada", "Ada")[1:] == [
        ("narrator", "she said."), ("Ada", '"Now!"'),
    ]  # fmt: skip


def test_marks_alone_are_no_line() -> None:
    assert said("“Yes” … “no.”", "Ada", "Ben") == [("Ada", "“Yes” …"), ("Ben", "“no.”")]
    assert said("… “Yes.”", "Ada") == [("Ada", "… “Yes.”")]
    assert said("“…” Ada was silent.", "Ada") == [("narrator", "“…” Ada was silent.")]


def test_the_number_of_a_list_item_goes_with_what_follows() -> None:
    assert said("1. “Yes,” said Ada.", "Ada") == [("Ada", "1. “Yes,”"), ("narrator", "said Ada.")]
    assert said("1. {Ada: Yes}") == [("Ada", "1. Yes")]


def test_pauses_marks_and_said_words_stay_where_they_are() -> None:
    found = lines(
        "“I {know|no},” [pause 1s] said Ada, [music: rain] “but [pause 2s] {not|nut}.” [pause 3s]",
        "Ada", "Ada",
    )  # fmt: skip
    assert [line.spoken_forms for line in found] == [
        (SpokenForm(3, 7, "no"),), (), (SpokenForm(5, 8, "nut"),),
    ]  # fmt: skip
    assert [line.pauses for line in found] == [
        (), (PauseMark(0, 1.0),), (PauseMark(5, 2.0), PauseMark(10, 3.0)),
    ]  # fmt: skip
    assert [line.marks for line in found] == [(), (), (MusicMark(0, "rain", 1),)]


def test_lines_of_a_wrapped_paragraph_have_their_own_numbers() -> None:
    found = lines("“I know,\nI do,”\nsaid Ada, “but not\nnow.”", "Ada", "Ada")
    assert [(line.line, line.text) for line in found] == [
        (1, "“I know, I do,”"), (3, "said Ada,"), (3, "“but not now.”"),
    ]  # fmt: skip


def test_a_part_has_its_speakers_language_unless_a_mark_says_otherwise() -> None:
    assert [line.language for line in lines("“Oui,” said Ben.", "Ben")] == ["fr", "en"]
    marked = "[language: de]\n\n“Oui,” said Ben.\n\n[language: off]\n\nShe rose."
    assert [line.language for line in lines(marked, "Ben")] == ["de", "de", "en"]


def test_a_part_in_letters_of_its_own_is_said_in_their_language() -> None:
    text = "She rose and said at once to all of them: “Где мой дом? Я не знаю.”"
    assert [line.language for line in lines(text, "Ada")] == ["en", "ru"]
    assert [line.language for line in lines(text, "")] == ["en"]


# -- what the text gives


def test_braces_give_a_stretch_to_a_speaker() -> None:
    assert said("She rose. {Ada: I know,} she said, {miss lovell: but not now.}") == [
        ("narrator", "She rose."), ("Ada", "I know,"), ("narrator", "she said,"),
        ("Ada", "but not now."),
    ]  # fmt: skip


def test_braces_win_over_quotations_and_have_the_marks_around_them() -> None:
    text = "She rose. “{Ada: I know},” she said, “no.”"
    assert [one.text for one in line_splitting.find_quotes(read(text))] == ["“no.”"]
    assert said(text, "Ben") == [
        ("narrator", "She rose."), ("Ada", "“I know,”"), ("narrator", "she said,"),
        ("Ben", "“no.”"),
    ]  # fmt: skip


def test_braces_hold_styles_marks_emphasis_and_said_words() -> None:
    found = lines("She: {Ada (whispering): *I* {know|no} [pause 1s] it} now.")
    assert [(line.speaker, line.style, line.text) for line in found] == [
        ("narrator", None, "She:"), ("Ada", "whispering", "I know it"), ("narrator", None, "now."),
    ]  # fmt: skip
    assert (found[1].spoken_forms, found[1].pauses) == (
        (SpokenForm(2, 6, "no"),),
        (PauseMark(7, 1.0),),
    )


def test_braces_part_what_stands_after_a_label() -> None:
    found = lines("Ben (dryly): I told her {Ada: No!} and left.")
    assert [(line.speaker, line.style, line.text) for line in found] == [
        ("Ben", "dryly", "I told her"), ("Ada", None, "No!"), ("Ben", "dryly", "and left."),
    ]  # fmt: skip


def test_braces_within_braces_win() -> None:
    assert said("{Ada: He said {Ben: no} to me} once.") == [
        ("Ada", "He said"), ("Ben", "no"), ("Ada", "to me"), ("narrator", "once."),
    ]  # fmt: skip
    assert said("{Ada: {Ben: No.}}") == [("Ben", "No.")]


def test_a_label_within_braces_is_text() -> None:
    assert said("{Ada: Ben: a life.}") == [("Ada", "Ben: a life.")]
    assert said("{Ada: One\nBen: two}") == [("Ada", "One Ben: two")]


@pytest.mark.parametrize(
    ("text", "spoken", "matter"),
    [
        ("A {Adda: no} b", "A {Adda: no} b", "exactly this name"),
        ("A {Ada & Eve: no} b", "A {Ada & Eve: no} b", "exactly this name"),
        ("A {Zebulon: no} b", "A {Zebulon: no} b", "begins no {written|spoken}"),
        ("A {Ada: no", "A {Ada: no", "no } ends it"),
        ("A {Ada: no\n\nb} c", "A {Ada: no", "no } ends it"),
        ("A \\{Ada: no\\} b", "A {Ada: no} b", None), ("A `{Ada: no}` b", "A {Ada: no} b", None),
        ("A } b", "A } b", None), ("A { b", "A { b", "begins no {written|spoken}"),
        ("A {Ada: } b", "A b", "no words stand in it"),
        ("A {Ada: x|y} b", "A Ada: x b", "says one text for another"),
    ],
)  # fmt: skip
def test_what_gives_nothing_to_anybody_is_text_and_said(
    text: str, spoken: str, matter: str | None
) -> None:
    found = parted(text)
    assert [line.speaker for line in found.scenes[0].lines][:1] == ["narrator"]
    assert found.scenes[0].lines[0].text == spoken
    assert [
        slip.problem for slip in found.slips if matter is None or matter not in slip.problem
    ] == []
    assert bool(found.slips) == (matter is not None)


def test_a_mistyped_name_in_braces_says_who_was_meant() -> None:
    [slip] = read("A {Adda: no} b").slips
    assert slip.hint == "; did you mean “{Ada: …}”?"


def test_a_brace_within_braces_may_be_text() -> None:
    assert said("{Ada: a \\} b} c") == [("Ada", "a } b"), ("narrator", "c")]
    assert said("{Ada: a { b} c") == [("Ada", "a { b"), ("narrator", "c")]


# -- unison


def test_several_speak_in_unison() -> None:
    for text in ("Ada & Ben: We do!", "{Ada & Ben: We do!}"):
        found = lines(text)
        assert [(x.speaker, x.text, x.with_before, x.language) for x in found] == [
            ("Ada", "We do!", False, "en"), ("Ben", "We do!", True, "fr"),
        ]  # fmt: skip
    assert said("“We do!” they said.", "ada & Ben") == [
        ("Ada", "“We do!”"), ("Ben", "“We do!”"), ("narrator", "they said."),
    ]  # fmt: skip
    assert said("Ben & Sons: We do!") == [("Ben & Sons", "We do!")]


def test_pauses_around_unison_count_once() -> None:
    found = lines("Ada & Ben (loudly): We [pause 1s] do! {Ada: I do.}")
    assert [
        (line.speaker, line.style, len(line.pauses), line.continues_previous) for line in found
    ] == [
        ("Ada", "loudly", 1, False), ("Ben", "loudly", 0, False), ("Ada", None, 0, True),
    ]  # fmt: skip


# -- tags


@pytest.mark.parametrize(
    ("text", "before", "language", "tag"),
    [
        ("said Ada, ", "“I know,”", "en", "said Ada,"),
        ("said Mr. Pym. He left.", "“I know,”", "en", "said Mr. Pym."),
        ("I said, in my affable way.", "“Yes?”", "en", ""),
        ("said Ada, and left.", "“I know,”", "en", ""), ("she said.", "“Go!”", "en", "she said."),
        ("Ada cried; he fell.", "“Go!”", "en", "Ada cried;"),
        ("He said no more.", "“Go.”", "en", ""), ("She rose and left.", "“Go!”", "en", ""),
        ("sagte Ada und ging.", "„Ja“,", "de", "sagte Ada und ging."),
        ("dit-elle.", "« Oui »,", "fr", "dit-elle."), ("—he said—", "“I”", "en", "—he said—"),
    ],
)  # fmt: skip
def test_a_tag_says_who_speaks_and_ends_with_its_clause(
    text: str, before: str, language: str, tag: str
) -> None:
    assert text[: tag_end(text, before, language)] == tag


TAGGED = "“I know,” said Ada. She left. “Or not.”"


def test_tags_may_be_said_by_who_is_quoted() -> None:
    assert said(TAGGED, "Ada", "Ada", tags="speaker") == [
        ("Ada", "“I know,” said Ada."), ("narrator", "She left."), ("Ada", "“Or not.”"),
    ]  # fmt: skip


def test_tags_may_be_left_out_and_are_listed() -> None:
    chapter = parted(TAGGED, "Ada", "Ada", tags="skip")
    assert [(line.speaker, line.text) for line in chapter.scenes[0].lines] == [
        ("Ada", "“I know,”"), ("narrator", "She left."), ("Ada", "“Or not.”"),
    ]  # fmt: skip
    assert [(one.text, one.reason) for one in chapter.left_out] == [
        ("said Ada.", line_splitting.OMITTED_TAG_REASON)
    ]
    [scene] = parted(KNOW, "Ada", "Ada", tags="skip").scenes
    [chunk] = cut_scene(scene, separate_lines=True)
    assert chunk.text == "“I know,”\n“but not now.”"


def test_tags_of_the_narrators_own_quotations_stay() -> None:
    assert said(KNOW, "", "", tags="skip") == [("narrator", KNOW)]


# -- nothing is lost

_WORDS = ["“Yes,”", "“No!”", "said Ada,", "she rose.", "—", "…", "{Ada: well}", "{a|b}", "(so)",
          '"Go"', "[pause 1s]", "\n", "1984", "}", "{", "‘ay’", "Ben:",
          "{Ben: {Ada: x} y}"]  # fmt: skip


@given(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12), st.integers(0, 6))
@settings(max_examples=examples(150))
def test_the_lines_of_a_paragraph_have_all_of_its_text(words: Sequence[str], who: int) -> None:
    text = "Once " + " ".join(words)
    try:
        chapter = read(text)
    except ScriptError:  # labels alone
        assume(False)
    names = ["Ada", "Ben", "", "Ada & Ben"]
    said = {
        one: ROLES.find_speakers(names[(n + who) % 4])
        for n, one in enumerate(line_splitting.find_quotes(chapter))
    }
    for tags in ("narrator", "speaker", "skip"):
        found = line_splitting.split_lines(chapter, said, ROLES, tags)
        whole = [line for scene in found.scenes for line in scene.lines if not line.with_before]
        kept = "".join(line.text for line in whole) + "".join(one.text for one in found.left_out)
        before = "".join(line.text for scene in chapter.scenes for line in scene.lines)
        before += "".join(one.text for one in chapter.left_out)
        assert sorted(re.sub(r"\s", "", kept)) == sorted(re.sub(r"\s", "", before))
        rests = [rest.seconds for line in whole for rest in line.pauses]
        assert len(rests) == words.count("[pause 1s]") if len(chapter.scenes[0].lines) else True
        for line in whole:
            assert line.text == line.text.strip()
            assert all(line.text[s.start : s.stop] == "a" for s in line.spoken_forms)
            assert any(map(str.isalnum, line.text)) or not line.continues_previous


# -- chunks


def boundaries(text: str, *who: str) -> list[tuple[str, str, str]]:
    chunks = (c for s in parted(text, *who).scenes for c in cut_scene(s, separate_lines=True))
    return [(c.speaker, c.text, c.boundary) for c in chunks]


def test_between_lines_of_a_paragraph_the_pause_is_that_of_the_marks() -> None:
    text = f"{KNOW} She left.\n\n“Really?” asked Ada. “Go!” He went."
    assert boundaries(text, "Ada", "Ada", "Ada", "Ben") == [
        ("Ada", "“I know,”", "clause"), ("narrator", "said Ada,", "clause"),
        ("Ada", "“but not now.”", "sentence"), ("narrator", "She left.", "line"),
        ("Ada", "“Really?”", "clause"), ("narrator", "asked Ada.", "sentence"),
        ("Ben", "“Go!”", "sentence"), ("narrator", "He went.", "scene"),
    ]  # fmt: skip


def test_a_tag_joins_narration_beside_it_and_nothing_else() -> None:
    found = parted(f"{KNOW[:-1]}” she said.\n\nShe left.", "Ada", "Ada")
    texts = [chunk.text for scene in found.scenes for chunk in cut_scene(scene)]
    assert texts == ["“I know,”", "said Ada,", "“but not now.”", "she said.\nShe left."]


def test_lines_of_a_chapter_that_is_not_parted_are_as_they_were() -> None:
    chapter = read("Ada: Hi.\n\nBen: {11/6|eleven and six}.\n\nThe end.")
    assert line_splitting.split_lines(chapter, {}, ROLES) is chapter
    assert not any(line.continues_previous for line in chapter.scenes[0].lines)
    assert replace(chapter.scenes[0].lines[0], source_lines=()) == chapter.scenes[0].lines[0]
