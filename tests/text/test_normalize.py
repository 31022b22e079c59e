"""Stages, changes, says, lexicon and marks; words are in the tests of the languages."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from narrator.text.normalize import (
    TYPOGRAPHY,
    Change,
    Lexicon,
    LexiconEntry,
    SpokenText,
    east_asian,
    normalize,
)
from narrator.text.normalize.edits import Replacement, apply_edits, compose
from tests.effort import examples
from tests.text.novel import novel_paragraphs

NONE = Lexicon()


def spoken(
    text: str,
    *entries: LexiconEntry,
    language: str = "en-GB",
    speaker: str = "narrator",
    says: tuple[tuple[int, int, str], ...] = (),
) -> str:
    return normalize(
        text, language=language, speaker=speaker, lexicon=Lexicon(entries), says=says
    ).text


def applied(text: str, changes: tuple[Change, ...]) -> str:
    out, at = [], 0
    for change in changes:
        assert at <= change.start <= change.stop
        assert text[change.start : change.stop] == change.written != change.spoken
        out += [text[at : change.start], change.spoken]
        at = change.stop
    return "".join(out) + text[at:]


# Changes


def test_a_plain_text_is_spoken_unchanged() -> None:
    text = "It is not so, he said; is it? I don't know... Well!"
    assert normalize(text, language="en-GB", speaker="n", lexicon=NONE) == SpokenText(text, ())


def test_a_change_names_what_was_written_where_and_why() -> None:
    text = "“Mr. Ukridge\u2060—”"
    result = normalize(text, language="en-GB", speaker="n", lexicon=NONE)
    assert result.text == "Mister Ukridge."
    title = Change(1, 4, "Mr.", "Mister", "title")
    assert title in result.changes
    assert {change.rule for change in result.changes} - TYPOGRAPHY == {"title"}
    assert applied(text, result.changes) == result.text


def test_offsets_count_from_the_source_behind_characters_that_vanish() -> None:
    text = "A\u200bb\u00ad e\u0301 No. 5"
    changes = normalize(text, language="en-GB", speaker="n", lexicon=NONE).changes
    assert [text[c.start : c.stop] for c in changes if c.rule == "number"] == ["5"]


# What an author says


def test_a_say_wins_over_rules_and_lexicon_and_is_not_read_again() -> None:
    text = "Dr. Smith lives on St. Mary St."
    says = ((0, 3, "Dr. 7"), (19, 22, "Saint"))
    entries = (LexiconEntry(say="Smythe", word="Smith"), LexiconEntry(say="doc", word="Dr."))
    assert spoken(text, *entries, says=says) == "Dr. 7 Smythe lives on Saint Mary Street."


def test_a_say_may_cover_part_of_what_a_rule_would_read() -> None:
    assert spoken("in 1984", says=((5, 7, "X"),)) == "in nineteenX."


def test_ipa_in_place_leaves_the_word_and_says_how_it_is_pronounced() -> None:
    text = "Then Siobhan came."
    found = normalize(
        text, language="en", speaker="n", lexicon=Lexicon(()), says=((5, 12, "/ʃɪˈvɔːn/"),)
    )
    assert found.text == text
    assert found.pronunciations == {"Siobhan": "ʃɪˈvɔːn"}


def test_empty_slashes_are_ipa_that_says_nothing() -> None:
    with pytest.raises(ValidationError, match="'//' has no sound in it"):
        LexiconEntry(word="Tone", say="//")
    found = normalize(
        "A Tone.", language="en", speaker="n", lexicon=Lexicon(()), says=((2, 6, "//"),)
    )
    assert (found.text, found.pronunciations) == ("A Tone.", {"Tone": ""})


def test_the_marks_of_a_say_are_made_plain() -> None:
    assert spoken("Well then.", says=((5, 9, "“now—then!”"),)) == "Well now, then!"


@pytest.mark.parametrize("say", [(-1, 2, "x"), (2, 2, "x"), (3, 99, "x")])
def test_a_say_outside_of_the_text_is_refused(say: tuple[int, int, str]) -> None:
    with pytest.raises(ValueError, match="not in a text"):
        spoken("Hello", says=(say,))


def test_a_say_for_invisible_characters_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing visible"):
        spoken("a\u2060b", says=((1, 2, "x"),))


def test_says_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        spoken("Hello there", says=((0, 5, "x"), (4, 8, "y")))


# The lexicon

CHUMLEY = LexiconEntry(say="Chumley", word="Cholmondeley")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Cholmondeley came.", "Chumley came."),
        ("CHOLMONDELEY!", "Chumley!"),
        ("Cholmondeley's and Cholmondeley’s", "Chumley's and Chumley's."),
        ("Cholmondeley-like", "Chumley-like."),
        ("“Cholmondeley,” he said", "Chumley, he said."),
        ("Cholmondeleyish", "Cholmondeleyish."),
        ("McCholmondeley", "McCholmondeley."),
    ],
)
def test_a_word_is_found_whole_in_any_case(written: str, said: str) -> None:
    assert spoken(written, CHUMLEY) == said


@pytest.mark.parametrize(
    ("language", "word", "written", "said"),
    [
        ("zh", "重庆", "他去了重庆，在3月5日。", "他去了虫，在三月五日。"),
        ("zh", "3个", "他有3个，13个和3.5个。", "他有虫，十三个和三点五个。"),
        ("zh", "3", "3个，13个，3.5，1,3", "虫个，十三个，三点五，一，三。"),
        ("zh", "iPhone", "用iPhone拍iPhones", "用虫拍iPhones。"),
        ("zh", "3月5日", "1999年3月5日前", "一九九九年虫前。"),
        ("zh", "第2天", "第2天，第2天天", "虫，虫天。"),
        ("ja", "東京", "彼は東京へ行った。", "彼は虫へ行った。"),
        ("ja", "ルイ", "ルイスとルイはルイ14世", "ルイスと虫は虫十四世。"),
        ("ko", "서울", "서울은 서울대와 서울까지도", "虫은 서울대와 虫까지도."),
        ("ko", "iPhone", "iPhone을", "虫을."),
        ("th", "กร", "กรกรุงเทพ", "虫กรุงเทพ."),
        ("en", "Li", "Li, 李Li, Lid", "虫, 李虫, Lid."),
    ],
)
def test_a_word_is_found_beside_letters_of_scripts_without_spaces(
    language: str, word: str, written: str, said: str
) -> None:
    lexicon = Lexicon([LexiconEntry(say="虫", word=word)])
    assert normalize(written, language=language, speaker="", lexicon=lexicon).text == said


@pytest.mark.parametrize(
    ("written", "author_written", "author_said", "said"),
    [
        ("在1999年3月5日", "3月5日", "惊蛰", "在一九九九年惊蛰。"),
        ("在1999年3月5日", "3月", "三月里", "在一九九九年三月里五日。"),
        ("第2天，3.50元", "3.50", "三块五", "第二天，三块五元。"),
        ("12:30-13:40开会", "12:30", "中午", "中午到十三点四十分开会。"),
        ("比分3:2", "比分", "结果是", "结果是三比二。"),
    ],
)
def test_figures_beside_the_authors_words_are_read(
    written: str, author_written: str, author_said: str, said: str
) -> None:
    start = written.index(author_written)
    says = [(start, start + len(author_written), author_said)]
    spoken = normalize(written, language="zh", speaker="", lexicon=Lexicon(), says=says)
    assert spoken.text == said


@pytest.mark.parametrize(
    ("language", "written", "said"),
    [
        ("zh", "1999年3月5日下午2点30分", "一九九九年三月五日下午两点三十分。"),
        ("zh", "5月1日3个人，2点30分15秒", "5月1日3个人，2点30分15秒。"),
        ("zh", "3万5千人，2万，15分2秒", "三万五千人，两万，15分2秒。"),
        ("zh", "他2004年至2006年間走", "他二零零四年至二零零六年間走。"),
        ("ja", "3丁目2-5、1億2000万", "3丁目2-5、1億2000万。"),
        ("ja", "10時～12時、1998から2001年まで", "10時から12時、1998から2001年まで。"),
        ("ja", "気温-5℃、12:30に3人", "気温マイナス五度、十二時三十分に三人。"),
    ],
)
def test_without_the_reader_of_figures_they_are_read_whole_or_not(
    language: str, written: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(east_asian, "is_installed", lambda: False)
    assert normalize(written, language=language, speaker="", lexicon=Lexicon()).text == said


def test_a_word_is_not_found_before_an_apostrophe_but_a_possessive() -> None:
    entry = LexiconEntry(say="XX", word="can")
    assert spoken("can, can't and can's", entry) == "XX, can't and XX's."


def test_a_word_in_capitals_is_found_in_capitals_only() -> None:
    assert spoken("US and us", LexiconEntry(say="U S A", word="US")) == "U S A and us."


def test_case_can_be_asked_for() -> None:
    entry = LexiconEntry(say="Rhys", word="Reece", case=True)
    assert spoken("Reece or reece", entry) == "Rhys or reece."


def test_a_word_may_have_spaces_and_marks() -> None:
    entry = LexiconEntry(say="Saint Gwynne", word="St. Gwyn’s")
    assert spoken("at St. Gwyn's\u00a0today", entry) == "at Saint Gwynne today."


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("He went. She came.", "He wandered. She came."),
        ("“So he went.” She came.", "So he wandered. She came."),
        ("Apples etc. are good.", "Apples and so on are good."),
        ("Apples, etc. Then he left.", "Apples, and so on. Then he left."),
        ("Dr. Smith came.", "Doctor Smith came."),
        ("I saw the Dr.", "I saw the Doctor."),
    ],
)
def test_a_full_stop_of_a_word_also_ends_the_sentence(written: str, said: str) -> None:
    words = {"went.": "wandered", "Dr.": "Doctor", "etc.": "and so on"}
    assert spoken(written, *(LexiconEntry(word=w, say=say) for w, say in words.items())) == said


@pytest.mark.parametrize(
    ("entry", "written", "said"),
    [
        (LexiconEntry(say="doctor Who", word="Dr."), "Dr. Jones", "doctor Who Jones."),
        (
            LexiconEntry(say="one nine eight four", word="1984"),
            "in 1984",
            "in one nine eight four.",
        ),
        (LexiconEntry(say="bee bee cee", word="BBC"), "the BBC", "the bee bee cee."),
        (LexiconEntry(say="Majors", word="WW2"), "in WW2", "in Majors."),
    ],
)
def test_a_word_is_found_where_a_rule_would_rewrite_it(
    entry: LexiconEntry, written: str, said: str
) -> None:
    assert spoken(written, entry) == said


@pytest.mark.parametrize(
    ("entry", "written", "said"),
    [
        (LexiconEntry(say="Doc", word="Doctor"), "Dr. Jones", "Doc Jones."),
        (LexiconEntry(say="Doc Joe", word="Doctor Jones"), "Dr. Jones", "Doc Joe."),
        (LexiconEntry(say="FIVE", word="five"), "$5.05", "FIVE dollars and FIVE cents."),
        (LexiconEntry(say="sterling", pattern=r"pounds\b"), "£20", "twenty sterling."),
    ],
)
def test_the_lexicon_reads_what_the_rules_said(
    entry: LexiconEntry, written: str, said: str
) -> None:
    assert spoken(written, entry) == said


def test_the_lexicon_does_not_read_its_own_words() -> None:
    entries = (LexiconEntry(say="Alice", word="Bob"), LexiconEntry(say="Bob", word="Alice"))
    assert spoken("Bob and Alice", *entries) == "Alice and Bob."


def test_a_rule_reads_around_the_words_of_the_lexicon() -> None:
    entry = LexiconEntry(say="eighteen-eleven", word="1811")
    assert spoken("12 March 1811", entry) == "the twelfth of March eighteen-eleven."
    assert spoken("St. Foo", LexiconEntry(say="Fu", word="Foo")) == "Saint Fu."


def test_the_longer_word_wins() -> None:
    entries = (LexiconEntry(say="A", word="New"), LexiconEntry(say="B", word="New York"))
    assert spoken("New York, New Delhi", *entries) == "B, A Delhi."


def test_a_pattern_speaks_the_groups_it_caught() -> None:
    entry = LexiconEntry(say=r"H P \1", pattern=r"\bHP(\d+)\b")
    assert spoken("HP12, hp3", entry) == "H P twelve, H P three."
    named = LexiconEntry(say=r"\g<who> the \\ great", pattern=r"great (?P<who>\w+)", case=True)
    assert spoken("great Fred", named) == "Fred the great."


def test_a_pattern_wins_over_a_word() -> None:
    entries = (
        LexiconEntry(say="word", word="Dr."),
        LexiconEntry(say="pattern", pattern=r"Dr\.(?= No)"),
    )
    assert spoken("Dr. No, Dr. Yes", *entries) == "pattern No, word Yes."


def test_entries_are_for_a_language_or_a_speaker() -> None:
    entries = (
        LexiconEntry(say="all", word="foo"),
        LexiconEntry(say="english", word="foo", language="en"),
        LexiconEntry(say="american", word="bar", language="en-US"),
        LexiconEntry(say="alice", word="foo", speaker="alice"),
    )
    assert spoken("foo bar", *entries) == "english bar."
    assert spoken("foo bar", *entries, language="en-us") == "english american."
    assert spoken("foo bar", *entries, language="de") == "all bar."
    assert spoken("foo bar", *entries, language="en-GB", speaker="alice") == "alice bar."


def test_an_entry_may_silence_its_word() -> None:
    assert spoken("one two three", LexiconEntry(say="", word="two")) == "one three."


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{}], "either"),
        ([{"word": "a", "pattern": "b"}], "either"),
        ([{"word": " "}], "empty"),
        ([{"pattern": "("}], "not a regular expression"),
        ([{"pattern": "[–-’]"}], "not valid"),
        ([{"pattern": "a*"}], "empty text"),
        ([{"pattern": "(a)", "say": r"\2"}], "group reference 2"),
        ([{"pattern": "(?P<a>a)", "say": r"\g<b>"}], "group name 'b'"),
        ([{"word": "a"}, {"word": "A"}], "twice"),
    ],
)
def test_an_entry_that_cannot_work_is_refused(entries: list[dict[str, str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Lexicon(LexiconEntry.model_validate({"say": "x"} | entry) for entry in entries)


# Marks


@pytest.mark.parametrize("text", ["", " ", "…", "“—”", "?!", "***", "😀", "\u200b", "___"])
def test_a_text_without_words_has_nothing_to_say(text: str) -> None:
    result = normalize(text, language="en-GB", speaker="n", lexicon=NONE)
    assert result.text == ""
    assert applied(text, result.changes) == ""


def test_a_line_break_is_a_stop_with_a_capital_after_it() -> None:
    assert spoken("Smoke\nIt was dark, and\nstill.") == "Smoke. It was dark, and. Still."


@pytest.mark.parametrize(
    ("language", "stop"), [("xx", "."), ("ja", "。"), ("zh-Hant", "。"), ("hi", "।"), ("ur", "۔")]
)
def test_every_language_ends_on_its_own_stop(language: str, stop: str) -> None:
    assert spoken("x", language=language) == f"x{stop}"


# Properties

PIECES = [
    *" .,;:!?…—–-'’‘“”\"()[]0123456789£$€%&@#/°½²\u2060\u200b\u00a0\n⸺*_~|+=<>´×",
    *("Mr. ", "Dr. ", "St. ", "1984", "12 March 1920", " a.m.", "Henry VIII", "I ", "IV "),
    *("U.S. ", "J. ", "Doctor", "HP12", "hello", "HELLO", "£25 1s. 8½d.", "’90s", "e.g. "),
    *("http://a.b/c", "a@b.com", "3:30", "10–20", "😀", "e\u0301", "œ", "No. 5", "日本", "。"),
    *("「", "」", "¿Qué", "21", "3,5", "XIXe", "1.234", "５", "٢", "ﬁ", "No", "www.x.org"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=30)
LANGUAGES = st.sampled_from(
    "en-GB en-US de fr es-MX it pt-BR sv ru tr zh ja ar hi el th xx".split()
)
ENTRIES = Lexicon(
    [
        LexiconEntry(say="Doc—“tor”", word="Doctor"),
        LexiconEntry(say=r"H P \1", pattern=r"\bHP(\d+)"),
        LexiconEntry(say="nineteen eighty four!", word="1984"),
        LexiconEntry(say="", word="e.g."),
    ]
)


def check(text: str, result: SpokenText, language: str) -> None:
    assert applied(text, result.changes) == result.text
    if result.text:
        assert re.fullmatch(r"(?s)(?:\S.*)?[^.?!。？！؟।;\s][.?!。？！؟।;]", result.text)
    assert not re.search('[“”‘’«»—…⸺\u200b\u2060\u00a0\n"()]|  ', result.text)
    if language.startswith("en"):
        assert not re.search("[0-9£$%&@#½°]", result.text)


@settings(max_examples=examples(400))
@given(TEXTS, LANGUAGES, st.booleans())
def test_changes_make_the_spoken_text(text: str, language: str, heading: bool) -> None:
    result = normalize(text, language=language, speaker="n", lexicon=ENTRIES, heading=heading)
    check(text, result, language)


@settings(max_examples=examples(200))
@given(TEXTS.filter(bool), LANGUAGES, st.data())
def test_a_say_is_always_heard(text: str, language: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    assume(re.search(r"[\w .]", text[start:stop]))
    result = normalize(
        text, language=language, speaker="n", lexicon=ENTRIES, says=[(start, stop, "zork")]
    )
    check(text, result, language)
    assert "zork" in result.text


@st.composite
def two_stages(draw: st.DrawFn) -> tuple[str, list[Replacement], list[Replacement]]:
    def edits(text: str) -> list[Replacement]:
        count = draw(st.integers(0, 4))
        cuts = st.lists(st.integers(0, len(text)), min_size=2 * count, max_size=2 * count)
        ends = sorted(draw(cuts))
        news = st.text("xyz", max_size=3)
        return [
            Replacement(a, b, draw(news), "r") for a, b in zip(ends[::2], ends[1::2], strict=True)
        ]

    text = draw(st.text("abc", max_size=12))
    first = edits(text)
    return text, first, edits(apply_edits(text, first))


@settings(max_examples=examples(500))
@given(two_stages())
def test_composed_edits_do_what_both_stages_do(
    case: tuple[str, list[Replacement], list[Replacement]],
) -> None:
    text, first, second = case
    middle = apply_edits(text, first)
    both = compose(first, middle, second, {})
    assert apply_edits(text, both) == apply_edits(middle, second)
    assert all(a.stop <= b.start for a, b in pairwise(both))


# The real novel


def test_the_novel_is_spoken_whole() -> None:
    paragraphs = novel_paragraphs()
    results = [normalize(p, language="en-GB", speaker="n", lexicon=NONE) for p in paragraphs]
    assert sum(map(len, paragraphs)) > 100_000
    for text, result in zip(paragraphs, results, strict=True):
        check(text, result, "en")
        words = re.findall(
            r"[a-z]{2,}", re.sub(r"\W’|’\w+|[A-Z]\w*|\w*\.|\w*œ\w*|\w*\d\w*", " ", text)
        )
        assert not set(words) - set(re.findall(r"[a-z]+", result.text.lower())), text


def test_an_entry_matches_within_one_text_as_it_is_spoken() -> None:
    entry = LexiconEntry(pattern=r"walked\s+home", say="went home")
    assert Lexicon([entry]).unmatched(["She walked", "home."]) == [entry]
    assert Lexicon([entry]).unmatched(["It rained.", "She walked home."]) == []
