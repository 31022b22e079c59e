"""Lines -> sentences -> chunks: no character lost, and cut where a reader would breathe."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrator.text import sentences as text_sentences
from narrator.text.chunks import (
    SHORT_LINE_S,
    Chunk,
    ChunkTargets,
    cut_scene,
    group_unison,
    omit_chunks,
    split_in_half,
)
from narrator.text.lines import Line, MusicMark, PauseMark, Scene, SpokenForm
from narrator.text.pace import expected_seconds
from narrator.text.sentences import sentences
from tests.effort import cpu_seconds, quick
from tests.text.novel import novel_paragraphs

PATH = Path("text/01.md")
RESERVED = "∯∮ȸȹ♬♭&ᓰᓱᓳᓴᓷᓸ☉☇☈☄✂⌬♨☝ƪ♟♝☏⎋"  # what pysbd writes into the text for itself


def split(text: str, language: str = "en") -> list[str]:
    spans = sentences(text, language)
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans[:-1])]
    assert spans[-1][1] == len(text)
    return [text[start:stop].strip() for start, stop in spans]


def line(text: str, speaker: str = "n", **rest: object) -> Line:
    return Line(speaker, text, PATH, 1, **{"language": "en", **rest})  # type: ignore[arg-type]


def chunks(*lines: Line, language: str = "en") -> tuple[Chunk, ...]:
    lines = tuple(replace(one, language=language) for one in lines)
    found = cut_scene(Scene(lines))
    assert_lossless(lines, found)
    return found


def assert_lossless(lines: tuple[Line, ...], found: tuple[Chunk, ...]) -> None:
    """The pieces, joined, give every line back, in order."""
    parts: list[list[str]] = []
    for piece in (piece for chunk in found for piece in chunk.pieces):
        assert piece.start < piece.stop
        if piece.start == 0:
            parts.append([])
        parts[-1].append(piece.text)
    assert ["".join(part) for part in parts] == [line.text for line in lines if line.text]


def texts(found: tuple[Chunk, ...]) -> list[str]:
    return [chunk.text.strip() for chunk in found]


def seconds(found: tuple[Chunk, ...], language: str = "en") -> list[float]:
    return [expected_seconds(chunk.text, language) for chunk in found]


STORY = " ".join(
    f"The {word} stood by the road to the old town, and nobody knew how long." for word in
    "mill church inn smithy barn school chapel bakery stable tower bridge well".split()
)  # fmt: skip


def test_text_with_a_style_has_a_target_of_its_own():
    styled, named = line(STORY, style="softly"), line(STORY, "ann")
    for spoken, targets in (
        (styled, ChunkTargets(8)),
        (named, ChunkTargets(8, frozenset({"ann"}))),
    ):
        usual = cut_scene(Scene((spoken,)))
        found = cut_scene(Scene((spoken,)), targets=targets)
        assert_lossless((spoken,), found)
        assert max(seconds(usual)) > 8
        assert max(seconds(found)) <= 8
    for targets in (ChunkTargets(8), ChunkTargets(8, frozenset({"bob"}))):
        assert cut_scene(Scene((named,)), targets=targets) == cut_scene(Scene((named,)))


def test_a_sentence_with_a_style_is_cut_only_where_it_is_much_too_long():
    sentence = "He said that the ferry, which was late on most days, would not come at all"
    for text, count in ((f"{sentence}, or so he thought.", 1), (f"{sentence}, {sentence}.", 2)):
        styled = line(text, style="softly")
        found = cut_scene(Scene((styled,)), targets=ChunkTargets(6))
        assert len(found) == count


# -- sentences


@pytest.mark.parametrize(
    "text",
    [
        # Dialogue: what was said and who said it are one; what follows is another.
        "“Really?” he said. | “Yes!” she cried.",
        "“Really?” I said. | “Yes?” Mr. Pym asked. | “No!” Anna Maria cried.",
        '"Really?" he said. | "Yes." | She left.',
        "‘Really?’ he said. | ‘Yes.’ | She left.",
        "“Really? | Are you sure?” | “Quite.”",
        "“One. | Two. | Three,” he said. | Four.",
        "“But I—” | He stopped. | “I thought—” she said.",
        "He asked, “Why?” and left. | “Why?” | Nobody knew.",
        "(He left.) | She stayed. | [Exit.] | Enter Tom.",
        # Ellipses
        "Wait… what? | Wait... what? | Wait. . . . what?",
        "He fell asleep… | The rain went on. | “Well… I suppose so.”",
        # Initials and abbreviations
        "P. G. Wodehouse wrote it. | J. K. Rowling and Robert I. Stuart did not.",
        "Mr. and Mrs. Smith saw Dr. “Bob” St. John at No. 5, St. James St. at 3 p.m. on Tuesday.",
        "The Hon. Galahad met Lieut. Smith. | He was a nice chap. | Vol. 2 cost £4.50.",
        "It closes at 3 p.m. | He left. | The U.S. Army came. | This is the U.S. | She left.",
        "Plan B. | Then plan C. | It was I. | Perhaps it was me. | I said no. | No. | I did.",
        # Marks
        "What?! | No!! | “What?!” he said. | Yes.",
        "It cost 3.50 or 1,000.5. | It was 10:30.",
        "Oh! how nice. | Ah? no.",
        "1. Open it. | 2. Close it.",
    ],
)
def test_english_sentences(text: str) -> None:
    assert split(text.replace("| ", "")) == [part.strip() for part in text.split("|")]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "zh",
            "“你是谁？”他说。|“我是小明。”|然后他走了。|「走吧！」|他说：“好！”|真的吗？！|我不知道……也许。|今天3.5度。",
        ),
        ("ja", "「そうか？」と彼は言った。|「はい。」|「いいえ！」|彼は笑った。|え？|行こう！"),
        (
            "fr",
            "« Quoi ? » dit-il. | « Euh… » | Il partit. | M. Dupont et J.-P. Sartre. | Bon.",
        ),
        (
            "de",
            "„Wirklich?“, fragte er. | Am 5. Mai kam Dr. Müller z. B. nach Ulm. | »Was?« | Nun.",
        ),
        ("es", "—¿Qué? —dijo él. | —Nada. | Vino el Sr. García. | ¡Hola! | ¿Cómo estás?"),
        (
            "de",
            "Zi. 305, 1 Pck. Mehl, Hrn. Meier usw. | Die 476 n. Chr. | Am 5. Mai 1 z. B. Ei",
        ),
        ("es", "Los Sres. Pérez leen el t. II, cap. IV, p. 8. | Bajó 31 km. | 21.000 mujeres."),
        ("fr", "Le t. II, chap. IV et le vol. 3. | Bon. | 5 m. | 200 soldats. | 2 h. 30 min."),
        (
            "it",
            "Il cap. IV e il t. II. | I ragazzi. | Il Sig. Rossi. | Nel 63 a. C. Augusto.",
        ),
        (
            "ru",
            "— Что? — спросил он. | А. С. Пушкин родился в 1799 г. в Москве. | «Да!» | Он ушёл.",
        ),
        ("pt-BR", "O Sr. Silva chegou. | “Quem é?” perguntou ele. | Foi F. Pessoa. | Nada."),
        ("ko", "안녕하세요. | 저는 김입니다. | 정말? | 3.5도."),
        ("sv", "Hej! | ”Vem är det?” sade han. | Kl. 5 kom hr. Ek."),
        ("ru", "Это 2 г, т. е. 1757 Дж. | См. рис. 3, ст. 5 и обл. Тверь. | Ел рис. | Всё."),
        ("pl", "— Co? — spytał. | Prof. Nowak, ul. Polna 5. | Nic."),
        ("pl", "Tzw. Nowy, tj. Duży, zob. Rys. 3 i tab. 2 niżej. | Oto tab. | Nic."),
        ("uk", "Див. рис. 3, обл. Суми, вул. Нова. | Їв рис. | Все."),
        ("cs", "Tzv. Nový, např. Velký, obr. 3, kap. IV dole. | Nic."),
        ("el", "Τι είναι αυτό; | Ο κ. Παπαδόπουλος. | Ναι."),
        ("hi", "यह किताब है। | वह घर गया। | क्या? | हाँ।"),
        ("ar", "ما هذا؟ | لا أعرف. | نعم!"),
        ("hy", "Սա գիրք է։ | Այո։"),
        ("ka", "გამარჯობა. | როგორ ხარ?"),
        ("th", "สวัสดี ฉันชื่อ"),
    ],
)
def test_sentences_of_other_languages(language: str, text: str) -> None:
    joined = text.replace("| ", "").replace("|", "")
    assert split(joined, language) == [part.strip() for part in text.split("|")]


def test_white_space_belongs_to_the_sentence_before() -> None:
    assert sentences("  One.  Two. ", "en") == [(0, 8), (8, 13)]


def test_marks_alone_are_no_sentence() -> None:
    assert split("“…” “What?” … !") == ["“…” “What?” … !"]
    assert split("*** !!!") == ["*** !!!"]
    assert sentences("", "en") == []


def test_text_without_capitals_is_one_sentence() -> None:
    assert split("i went home. then i slept.") == ["i went home. then i slept."]


def test_characters_that_the_library_uses_cost_no_text() -> None:
    for mark in RESERVED:
        assert split(f"One no. {mark} here. No. 5 is it. Mr. {mark}. Two.")[-1] == "Two."


class Forgetful:
    """A library that drops text, as pysbd does where it meets its own marks."""

    def processor(self, text: str) -> Forgetful:
        return self

    def process(self) -> list[str]:
        return ["One."]


def test_a_library_that_drops_text_takes_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_sentences, "_pysbd", lambda code: Forgetful())
    monkeypatch.setattr(text_sentences, "_abbreviations", lambda code: ["now"])
    assert split("Not now. A. Smith said so. Two.") == ["Not now.", "A. Smith said so.", "Two."]


ODD = st.text(
    st.one_of(
        st.sampled_from(
            "ab AB. ?!…,;:—-–\"'“”‘’«»()[]{}1。！？，「」　\n\t\u00a0\u2060\u200d\u0301😀🇫🇷"
        ),
        st.sampled_from(RESERVED),
        st.characters(codec="utf-8"),
    ),
    max_size=80,
)
LANGUAGES = st.sampled_from(["en", "de", "fr", "zh", "ja", "hi", "el", "pt", "ko", "sv", "xx"])


@given(ODD, LANGUAGES)
def test_sentences_cover_any_text(text: str, language: str) -> None:
    assert "".join(text[start:stop] for start, stop in sentences(text, language)) == text
    if text:
        split(text, language)


# -- length of speech


def test_english_is_read_at_the_pace_of_audiobooks() -> None:
    text = (
        "The movement stood in an iron frame the size of a kitchen table, painted green and "
        "lettered in gold. Somebody had oiled it. Somebody had dusted the lettering, and had gone."
    )
    assert 140 < 60 * len(text.split()) / expected_seconds(text, "en-GB") < 170


def test_scripts_have_their_own_pace() -> None:
    assert expected_seconds("你好", "zh") == pytest.approx(expected_seconds("你好", "en"))
    assert expected_seconds("你好", "zh") > 2 * expected_seconds("ab", "en")
    assert expected_seconds("hello 你好", "zh") == pytest.approx(
        expected_seconds("hello", "en") + expected_seconds("你好", "zh")
    )
    assert expected_seconds("hello", "xx-Unknown") > 0


def test_figures_and_pauses_take_time() -> None:
    assert expected_seconds("1999", "en") > 1
    assert (
        expected_seconds("One. Two, three.", "en") > expected_seconds("One Two three", "en") + 0.8
    )
    assert expected_seconds("", "en") == expected_seconds(" \n", "en") == 0


# -- chunks

# About 3.7, 5.6, 11 and 20 seconds.
WORDS = "The old clock on the wall of the shed had stopped again."
LONGER = WORDS[:-1] + " while nobody was there to hear it."
LONG = "It " + "went on and on through the empty house " * 4 + "all night."
SENTENCE = (
    "When the rain had stopped and the lamps were out, " * 5 + "he went down to the sea to look."
)


def test_sentences_of_a_line_gather_to_the_target() -> None:
    found = chunks(line(" ".join([WORDS] * 20)))
    assert len(found) > 3
    assert all(7 <= length <= 14 for length in seconds(found))
    assert all(chunk.text.strip().endswith(".") for chunk in found)


def test_a_line_ends_in_no_stub() -> None:
    # 4 sentences make 15 s: two halves, and not 11 and 4.
    lengths = seconds(chunks(line(" ".join([WORDS] * 4))))
    assert len(lengths) == 2
    assert max(lengths) - min(lengths) < 1


def test_boundaries_tell_what_follows() -> None:
    found = chunks(
        line("One: The beginning of it all, as told by those who saw it.", heading=1),
        line(" ".join([WORDS] * 4)),
        line(SENTENCE),
        line("A heading", heading=2),
        line(LONG),
    )
    assert [chunk.boundary for chunk in found] == [
        "heading", "sentence", "line", "clause", "heading", "heading", "scene",
    ]  # fmt: skip


def test_headings_are_chunks_of_their_own() -> None:
    found = chunks(line("One."), line("Yes.", heading=1), line("No."), line("Well, well."))
    assert texts(found) == ["One.", "Yes.", "No.\nWell, well."]


def test_styled_lines_join_no_other() -> None:
    found = chunks(line("Yes."), line("No.", style="softly"), line("Why.", style="softly"))
    assert [(chunk.text, chunk.style) for chunk in found] == [
        ("Yes.", None), ("No.", "softly"), ("Why.", "softly"),
    ]  # fmt: skip


def test_short_lines_join_a_neighbour_of_the_same_speaker() -> None:
    found = chunks(line(LONGER), line("Yes."), line("Hello.", "b"), line("No."), line(LONGER))
    assert texts(found) == [f"{LONGER}\nYes.", "Hello.", f"No.\n{LONGER}"]
    assert [len(chunk.pieces) for chunk in found] == [2, 1, 2]


def test_a_short_line_joins_the_lesser_neighbour() -> None:
    assert texts(chunks(line(LONG), line("Yes."), line(WORDS))) == [LONG, f"Yes.\n{WORDS}"]
    assert texts(chunks(line(WORDS), line("Yes."), line(LONG))) == [f"{WORDS}\nYes.", LONG]


def test_short_lines_in_a_row_make_chunks_of_their_own() -> None:
    found = chunks(line(LONG), *[line("“No, not I, sir,” he said.")] * 7, line(LONG))
    assert texts(found)[0] == texts(found)[-1] == LONG
    assert all(SHORT_LINE_S <= length <= 14 for length in seconds(found))


def test_lines_that_are_not_short_stay_apart() -> None:
    assert texts(chunks(line(WORDS), line(WORDS))) == [WORDS, WORDS]


def test_joined_lines_are_parted_by_a_break_and_keep_their_spoken_forms() -> None:
    say = SpokenForm(0, 2, "aye")
    [chunk] = chunks(
        line("Ja now.", spoken_forms=(say,)),
        line("x Ja y.", spoken_forms=(SpokenForm(2, 4, "oui"),)),
    )
    assert chunk.text == "Ja now.\nx Ja y."
    assert chunk.spoken_forms == (SpokenForm(0, 2, "aye"), SpokenForm(10, 12, "oui"))


def test_a_sentence_that_is_too_long_is_cut_at_clauses_evenly() -> None:
    found = chunks(line(SENTENCE))
    assert len(found) == 2
    assert found[0].text.endswith("out, ")
    lengths = seconds(found)
    assert max(lengths) < 1.5 * min(lengths)


@pytest.mark.parametrize(
    "text", ["word " * 200, "word" * 200, "字" * 200, "字，" * 100, "e\u0301" * 800]
)
def test_a_sentence_without_marks_is_cut_all_the_same(text: str) -> None:
    found = chunks(line(text.strip()), language="zh" if "字" in text else "en")
    assert all(2 <= length <= 18 for length in seconds(found, "zh" if "字" in text else "en"))
    assert not any(chunk.text.startswith("\u0301") for chunk in found)
    if " " in text:
        assert all(chunk.text.split() == ["word"] * len(chunk.text.split()) for chunk in found)


def test_an_abbreviation_is_no_place_to_cut() -> None:
    text = "He " + "went to see Mr. Smith and Mrs. Smith and S. F. U. again " * 6 + "today."
    assert not any(re.search(r"(Mrs?|[SFU])\.$", part) for part in texts(chunks(line(text))))


def test_nothing_is_cut_within_a_spoken_form() -> None:
    text = "word " * 40 + "St. John, " * 20 + "word " * 40 + "end."
    start, stop = text.index("St."), text.rindex("word " * 40)
    found = chunks(line(text, spoken_forms=(SpokenForm(start, stop, "short"),)))
    ends = {piece.stop for chunk in found for piece in chunk.pieces}
    assert len(found) > 1
    assert not any(start < end < stop for end in ends)


def test_the_spoken_form_counts_for_the_length() -> None:
    text = f"{WORDS} x. {WORDS}"
    at = text.index("x.")
    assert len(chunks(line(text))) == 1
    assert len(chunks(line(text, spoken_forms=(SpokenForm(at, at + 1, LONG),)))) > 1


# -- pauses


def test_a_pause_ends_a_chunk_where_it_stands() -> None:
    found = chunks(line(f"{WORDS} {WORDS}", pauses=(PauseMark(len(WORDS) + 1, 1.5),)), line(LONG))
    assert [(chunk.text.strip(), chunk.boundary, chunk.pause_after_s) for chunk in found] == [
        (WORDS, "sentence", 1.5), (WORDS, "line", None), (LONG, "scene", None),
    ]  # fmt: skip


def test_a_pause_before_a_line_belongs_to_the_chunk_before() -> None:
    found = chunks(
        line(LONG, pauses=(PauseMark(0, 2.0),)), line(LONG, "b", pauses=(PauseMark(0, 1.0),))
    )
    assert [(c.pause_before_s, c.pause_after_s) for c in found] == [(2.0, 1.0), (0.0, None)]


def test_pauses_at_one_place_add_up_and_none_is_too_short() -> None:
    one, other = PauseMark(4, 1.0), PauseMark(0, 0.5)
    [first, _] = chunks(line("Yes.", pauses=(one,)), line("No.", pauses=(other,)))
    assert first.pause_after_s == 1.5
    [first, _] = chunks(line(LONG, pauses=(PauseMark(len(LONG), 0.0),)), line(LONG))
    assert first.pause_after_s == 0.0


def test_no_chunk_crosses_a_pause() -> None:
    found = chunks(
        line("Yes.", pauses=(PauseMark(4, 1.0),)), line("No. Yes.", pauses=(PauseMark(4, 2.0),))
    )
    assert [(chunk.text.strip(), chunk.pause_after_s) for chunk in found] == [
        ("Yes.", 1.0), ("No.", 2.0), ("Yes.", None),
    ]  # fmt: skip


def test_a_pause_before_a_mark_comes_after_it() -> None:
    found = chunks(line("Well. Go on.", pauses=(PauseMark(4, 1.0),)))
    assert texts(found) == ["Well.", "Go on."]


def test_a_pause_leaves_no_chunk_without_words() -> None:
    found = chunks(line("— Go on. …", pauses=(PauseMark(2, 1.0), PauseMark(9, 2.0))))
    assert [(chunk.text, chunk.pause_before_s, chunk.pause_after_s) for chunk in found] == [
        ("— Go on. …", 1.0, 2.0)
    ]


# -- edits


def test_an_edit_changes_no_chunks_further_away() -> None:
    spoken = ["“Yes.”", "“No, not I, sir,” he said.", WORDS, LONG, "“Why?”", "“Because.”", LONGER]
    lines = [line(spoken[(i * i + i // 3) % len(spoken)] + f" {i}.") for i in range(40)]
    before = Counter(chunk.text for chunk in chunks(*lines))
    for at in range(len(lines) + 1):
        for new in ("“Oh.” x.", f"{WORDS} x."):
            after = Counter(chunk.text for chunk in chunks(*lines[:at], line(new), *lines[at:]))
            assert sum((after - before).values()) <= 4


# -- halves


def test_halves_meet_at_a_sentence_then_a_clause_then_a_space() -> None:
    assert split_in_half(f"{WORDS} {WORDS} {LONG}", "en") == (f"{WORDS} {WORDS}", LONG)
    late = "They went on a little further,", "though it was late."
    assert split_in_half(" ".join(late), "en") == late
    assert split_in_half("word " * 20, "en") == (("word " * 10).strip(), ("word " * 10).strip())
    assert split_in_half("字" * 20, "zh") == ("字" * 10, "字" * 10)


def test_what_is_short_has_no_halves() -> None:
    word = "Supercalifragilisticexpialidocious-antidisestablishmentarianism."
    assert [split_in_half(text, "en") for text in ("Yes, yes.", "", word)] == [None] * 3


# -- everything at once


@st.composite
def any_line(draw: st.DrawFn) -> Line:
    words = draw(st.lists(ODD, max_size=8))
    text = " ".join(" ".join(words).split()) * draw(st.sampled_from([1, 1, 1, 20]))
    spots = st.integers(0, len(text))
    rests = tuple(PauseMark(at, 1.0) for at in draw(st.lists(spots, max_size=2)))
    start, stop = sorted((draw(spots), draw(spots)))
    says = (SpokenForm(start, stop, "so"),) if start < stop else ()
    speaker = draw(st.sampled_from("nnab"))
    style = draw(st.sampled_from([None, None, None, "softly"]))
    heading = draw(st.sampled_from([0, 0, 0, 1]))
    language = draw(LANGUAGES)
    return Line(speaker, text, PATH, 1, language, style, heading, says, rests)


@given(st.lists(any_line(), max_size=6), st.booleans())
def test_no_scene_loses_a_character(lines: list[Line], apart: bool) -> None:
    found = cut_scene(Scene(tuple(lines)), separate_lines=apart)
    pieces = [piece for chunk in found for piece in chunk.pieces]
    assert "".join(piece.text for piece in pieces) == "".join(line.text for line in lines)
    for piece in pieces:
        assert piece.start < piece.stop
        assert not any(say.start < piece.stop < say.stop for say in piece.line.spoken_forms)
    for chunk in found:
        assert {piece.line.speaker for piece in chunk.pieces} == {chunk.speaker}
        assert {piece.line.language for piece in chunk.pieces} == {chunk.language}
        assert not apart or len(chunk.pieces) == 1
        spans = {chunk.text[say.start : say.stop] for say in chunk.spoken_forms}
        assert spans <= {
            line.text[say.start : say.stop] for line in lines for say in line.spoken_forms
        }
    rests = sum(rest.seconds for line in lines for rest in line.pauses)
    if found:
        assert sum(
            (chunk.pause_after_s or 0.0) + chunk.pause_before_s for chunk in found
        ) == pytest.approx(rests)


@pytest.mark.slow
def test_a_whole_novel_is_cut_well_and_fast() -> None:
    lines = tuple(line(text) for text in novel_paragraphs())
    found: list[Chunk] = []
    assert cpu_seconds(lambda: found.extend(cut_scene(Scene(lines)))) < 10  # 0.5 s on an idle core
    assert_lossless(lines, found)
    lengths = sorted(seconds(found))
    assert lengths[-1] <= 18
    assert sum(length < SHORT_LINE_S for length in lengths) < len(lengths) / 100
    assert sum(chunk.boundary == "clause" for chunk in found) < len(found) / 20


@pytest.mark.parametrize(
    "mark", quick(["-", "- ", ".", "…", "'", "(", "=", "~", "e\u0301"], "-", ".", "(", "e\u0301")
)
def test_a_run_of_marks_is_not_read_in_one_go(mark: str) -> None:
    lines = (line(f"Before. {mark * 30_000} and after."),)
    found = cut_scene(Scene(lines))
    assert_lossless(lines, found)
    assert max(len(chunk.text) for chunk in found) < 3_000


@pytest.mark.parametrize(
    "unit", quick([f"{WORDS} ", "word ", "1. 2. ", "字", ". ", "a. B. "], "word ", "a. B. ")
)
def test_long_text_without_breaks_neither_hangs_nor_gets_lost(unit: str) -> None:
    text = unit * (30_000 // len(unit))

    def read() -> None:
        assert "".join(text[a:b] for a, b in sentences(text, "en")) == text
        assert "".join(c.text for c in cut_scene(Scene((line(text),)))) == text

    assert cpu_seconds(read) < 10


@pytest.mark.parametrize("mark", quick([".", "!", "…", ".?", "؟"], "."))
def test_a_run_of_marks_that_ends_nothing_is_read_once(mark: str) -> None:
    text = f"{mark * (30_000 // len(mark))}and after."
    assert cpu_seconds(lambda: sentences(text, "en")) < 5  # 0.1 s; from each mark a minute


# -- unison


def choir(text: str, *names: str, **rest: object) -> tuple[Line, ...]:
    """What several say in unison."""
    first = line(text, names[0], **rest)
    own = [
        replace(first, speaker=name, with_before=True, pauses=(), marks=()) for name in names[1:]
    ]
    return first, *own


PLEDGE = " ".join(
    f"This is the sentence of number {n}, and it goes on for a while." for n in range(6)
)


def test_lines_in_unison_are_cut_at_the_same_places_and_lie_together() -> None:
    found = scene_of(*choir(PLEDGE, "ada", "ben", "cyd"))
    assert [chunk.speaker for chunk in found] == ["ada", "ben", "cyd"] * (len(found) // 3)
    assert len(found) > 3
    groups = list(group_unison(found))
    assert [len(group) for group in groups] == [3] * (len(found) // 3)
    assert all(len({chunk.text for chunk in group}) == 1 for group in groups)
    assert "".join(group[0].text for group in groups) == PLEDGE
    assert {chunk.names for chunk in found} == {"ada & ben & cyd"}


def test_a_short_line_in_unison_is_a_chunk_and_joins_no_neighbour() -> None:
    said = (line("Yes.", "ada"), *choir("We do!", "ada", "ben"), line("No.", "ben"))
    found = scene_of(*said, line("So.", "ben"))
    assert [(c.speaker, c.text, c.with_before) for c in found] == [
        ("ada", "Yes.", False), ("ada", "We do!", False), ("ben", "We do!", True),
        ("ben", "No.\nSo.", False),
    ]  # fmt: skip


def test_pauses_and_marks_of_a_unison_are_with_the_first() -> None:
    marks = (MusicMark(0, "rain", 1),)
    said = choir(
        "We do! We do!", "ada", "ben", pauses=(PauseMark(0, 1.0), PauseMark(7, 2.0)), marks=marks
    )
    found = scene_of(*said)
    assert [(c.speaker, c.text, c.pause_before_s, c.pause_after_s) for c in found] == [
        ("ada", "We do! ", 1.0, 2.0), ("ben", "We do! ", 0.0, None), ("ada", "We do!", 0.0, None),
        ("ben", "We do!", 0.0, None),
    ]  # fmt: skip
    assert [len(c.marks) for c in found] == [1, 0, 0, 0]
    assert [c.boundary for c in found] == ["sentence", "sentence", "scene", "scene"]


def test_who_is_left_out_of_a_unison_leaves_it_to_the_others() -> None:
    mark = MusicMark(0, "rain", 1)
    said = choir("We do! We do!", "ada", "ben", "cyd", pauses=(PauseMark(0, 1.0), PauseMark(7,
    2.0)),
                 marks=(mark,))  # fmt: skip
    found = scene_of(line("Yes.", "ben"), *said, line("So.", "cyd"))
    names = [chunk.speaker for chunk in found]
    for gone, left in (("ada", ("ben", "cyd")), ("ben", ("ada", "cyd")), ("cyd", ("ada", "ben"))):
        kept = omit_chunks(found[1:-1], [n for n, one in enumerate(names[1:-1]) if one == gone])
        assert [c.speaker for c in kept] == [*left, *left]
        assert [c.with_before for c in kept] == [False, True, False, True]
        assert [c.names for c in kept] == [" & ".join(left)] * 4
        assert [c.pause_after_s for c in kept] == [2.0, None, None, None]
        assert [c.marks for c in kept] == [((mark, 0.0),), (), (), ()]
    (only, _) = omit_chunks(found[1:-1], [0, 1, 3, 4])
    assert (only.names, only.with_before, only.pause_after_s) == ("cyd", False, 2.0)


def test_a_unison_that_is_left_out_leaves_its_pauses_once() -> None:
    said = choir("We do!", "ada", "ben", pauses=(PauseMark(6, 2.0),))
    found = scene_of(line("Yes.", "ben"), *said, line("So.", "cyd"))
    before, after = omit_chunks(found, [1, 2])
    assert (before.text, before.pause_after_s, after.text, after.pause_before_s) == (
        "Yes.", 2.0, "So.", 0.0,
    )  # fmt: skip
    first, second, last = omit_chunks(found, [3])
    assert (first.boundary, second.boundary, second.pause_after_s, last.pause_after_s) == (
        "line", "scene", 2.0, None,
    )  # fmt: skip


def scene_of(*lines: Line) -> tuple[Chunk, ...]:
    return cut_scene(Scene(lines))
