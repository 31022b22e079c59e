"""A language model chooses the speakers of which the rules are not certain."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from narrator import files
from narrator.text.quotations import Quotation
from narrator.text.speakers import AttributedQuotation, Attribution, Character, asking, proposing
from narrator.text.speakers.answers import Answers
from tests import language_models
from tests.readers import StubReader

CAST = (
    Character("Ada", ("Miss Lovel", "the girl"), "she"),
    Character("Ben", (), "he"),
    Character("Cy"),
)
TALK = [
    "It was late in the year. Ben and Cy were cold.", "“Is there room?” said Ada.",
    "“There is room for two,” a voice answered, “if the second is a goat.”", "“It is no goat.”",
    "He was reading “The Ferry” that week.",
]  # fmt: skip


def attributed(chapters, decide, cast=CAST):
    """Everything between quotation marks, as `decide` says: speaker, sure, by of each."""
    said = []
    for number, paragraphs in enumerate(chapters):
        for place, text in enumerate(paragraphs):
            for n, found in enumerate(re.finditer("“[^”]*”", text)):
                speaker, sure, by = decide(found[0])
                piece = Quotation(place, found.start(), found.end())
                said.append(
                    AttributedQuotation(number, piece, speaker, sure, by, continues_previous=n > 0)
                )
    return Attribution(cast, tuple(said))


def weakly(words):
    return ("Ada", 0.98, "tag") if "Is there" in words else ("Cy", 0.4, "nearest")


def by_words(question):
    if "room for two" in question:
        return "Ben"
    return "nobody" if "The Ferry" in question else "Ada"


def test_the_weak_get_the_models_word_and_all_else_stays():
    before = attributed([TALK], weakly)
    model = StubReader(by_words)
    after = asking.ask([TALK], before, model)
    assert [one.speaker for one in after.quotations] == ["Ada", "Ben", "Ben", "Ada", None]
    assert after.quotations[0] is before.quotations[0]
    assert {one.by for one in after.quotations[1:]} == {"model:stub"}
    assert after.cast == before.cast
    same = [
        replace(one, speaker=None, certainty=0, by="", alternatives=()) for one in after.quotations
    ]
    assert same == [
        replace(one, speaker=None, certainty=0, by="", alternatives=()) for one in before.quotations
    ]


def test_pieces_of_one_utterance_are_asked_once():
    model = StubReader(by_words)
    asking.ask([TALK], attributed([TALK], weakly), model)
    assert len(model.questions) == 3
    (prompt,) = model.prompts
    assert "[2] “There is room for two,” a voice answered, [2] “if the second" in prompt


def test_what_is_decided_is_shown_and_what_is_asked_is_not():
    model = StubReader(by_words)
    asking.ask([TALK], attributed([TALK], weakly), model)
    assert "[1: Ada] “Is there room?”" in model.prompts[0]
    assert "Cy]" not in model.prompts[0]


def test_the_list_has_pronouns_and_other_names():
    model = StubReader(by_words)
    asking.ask([TALK], attributed([TALK], weakly), model)
    assert "\nA = Ada (she; also Miss Lovel, the girl)\nB = " in model.prompts[0]


@pytest.mark.parametrize("by", ["you", "print"])
def test_what_a_person_or_the_print_decided_is_never_asked(by):
    before = attributed([TALK], lambda words: ("Cy", 0.1, by))
    assert asking.ask([TALK], before, StubReader(by_words)) == before


def test_how_weak_is_asked_is_an_option():
    model = StubReader(by_words)
    before = attributed([TALK], weakly)
    assert asking.ask([TALK], before, model, limits=asking.Limits(weak_certainty=0.3)) == before
    assert not model.questions


def test_a_quotation_that_goes_on_in_the_next_paragraph_is_asked_with_it():
    paragraphs = ["“It was long ago.", "“It was long ago and far away.”"]
    said = tuple(
        AttributedQuotation(
            0, Quotation(n, 0, len(text), continues_previous=n > 0), "Cy", 0.5, "nearest"
        )
        for n, text in enumerate(paragraphs)
    )
    model = StubReader(lambda question: "Ada")
    after = asking.ask([paragraphs], Attribution(CAST, said), model)
    assert [one.speaker for one in after.quotations] == ["Ada", "Ada"]
    assert len(model.questions) == 1
    # that it goes on is sure, and says nothing of who it is
    bound = (said[0], replace(said[1], certainty=0.97, by="goes-on", continues_previous=True))
    after = asking.ask([paragraphs], Attribution(CAST, bound), model)
    assert [one.speaker for one in after.quotations] == ["Ada", "Ada"]
    tagged = (said[0], replace(said[1], certainty=0.97, by="tag"))
    assert asking.ask([paragraphs], Attribution(CAST, tagged), model).quotations == tagged


def test_somebody_who_is_not_listed_leaves_the_rules_word_less_sure():
    before = attributed([TALK], weakly)
    after = asking.ask([TALK], before, StubReader(lambda question: "somebody else"))
    assert [one.speaker for one in after.quotations] == [one.speaker for one in before.quotations]
    assert all(
        a.certainty < b.certainty
        for a, b in zip(after.quotations[1:], before.quotations[1:], strict=True)
    )
    assert after.quotations[1].by == "nearest"


def test_no_answer_is_anything_but_one_of_the_cast_or_nobody():
    after = asking.ask([TALK], attributed([TALK], weakly), StubReader(by_words, probability=0.2))
    assert {one.speaker for one in after.quotations} <= {"Ada", "Ben", "Cy", None}
    assert all(0 <= one.certainty <= 1 for one in after.quotations)


def test_a_model_that_overrules_the_rules_is_never_sure():
    after = asking.ask([TALK], attributed([TALK], weakly), StubReader(by_words, probability=0.9999))
    assert max(one.certainty for one in after.quotations if one.by == "model:stub") < 0.9


# -- pooling

NAMES = ("Ada", "Ben", "Cy")
RULED = AttributedQuotation(
    0, Quotation(0, 0, 1), "Ada", 0.7, "nearest", alternatives=(("Ben", 0.25),)
)


def test_where_both_agree_it_is_sure():
    odds = asking.pool_probabilities(RULED, NAMES, [0.97, 0.01, 0.01, 0.005, 0.005], 0.6)
    assert sum(odds) == pytest.approx(1)
    assert odds[0] > 0.9


def test_where_they_differ_it_stays_doubtful():
    odds = asking.pool_probabilities(RULED, NAMES, [0.1, 0.8, 0.05, 0.03, 0.02], 0.6)
    assert odds[1] == max(odds)
    assert odds[1] < 0.8


def test_a_model_that_knows_nothing_leaves_the_rules_order():
    odds = asking.pool_probabilities(RULED, NAMES, [0.2] * 5, 0.6)
    assert sorted(odds, reverse=True)[:2] == odds[:2]


def test_trust_is_how_far_the_model_counts():
    answer = [0.01, 0.01, 0.96, 0.01, 0.01]
    firmly = replace(RULED, certainty=0.89)
    by_trust = [
        asking.pool_probabilities(firmly, NAMES, answer, trust)[2] for trust in (0, 0.3, 0.6, 1)
    ]
    assert by_trust == sorted(by_trust)
    assert (by_trust[0] < 0.1, by_trust[-1] > 0.9) == (True, True)


# -- windows


def novel(paragraphs=400, every=1):
    """Talk of two, with a number each, parted by narration."""
    return [
        f"“This is line {n}.”" if n % every == 0 else f"Nothing was said {n} times."
        for n in range(paragraphs)
    ]


def unsure(words):
    return "Cy", 0.5, "nearest"


def test_every_weak_quotation_of_a_long_chapter_is_asked_once():
    chapter = novel()
    before = attributed([chapter, chapter[:7]], unsure)
    limits = asking.Limits(window_tokens=400, tokens_before=80, tokens_after=40)
    found = asking.build_windows([chapter, chapter[:7]], before, StubReader(by_words), limits)
    asked = [place for window in found for rows in window.rows_by_question for place in rows]
    assert asked == list(range(len(before.quotations)))
    assert len(found) > 5
    assert all(window.tokens <= 400 for window in found)


def test_a_window_has_context_before_and_behind():
    chapter = novel()
    limits = asking.Limits(window_tokens=400, tokens_before=80, tokens_after=40)
    found = asking.build_windows(
        [chapter], attributed([chapter], unsure), StubReader(by_words), limits
    )
    middle = found[3]
    first = int(re.search(r"line (\d+)", middle.questions[0])[1])
    last = int(re.search(r"line (\d+)", middle.questions[-1])[1])
    assert f"This is line {first - 3}." in middle.shared
    assert f"This is line {last + 2}." in middle.shared


def test_text_without_questions_is_not_read():
    chapter = [*novel(20), *["Nothing happened here at all for once."] * 500, "“This is line 20.”"]
    found = asking.build_windows([chapter], attributed([chapter], unsure), StubReader(by_words))
    assert len(found) == 2
    assert sum(window.tokens for window in found) < 2500


def test_a_paragraph_without_end_is_read_in_parts():
    chapter = ["“Go on.” " + "She went on and on. " * 3000 + "“Enough.”"]
    before = attributed([chapter], unsure)
    before = replace(
        before,
        quotations=tuple(replace(one, continues_previous=False) for one in before.quotations),
    )
    found = asking.build_windows([chapter], before, StubReader(by_words))
    assert len(found) == 2
    assert all(window.tokens < 4100 for window in found)


def test_a_model_of_short_memory_gets_shorter_windows():
    model = StubReader(by_words)
    model.max_prompt_tokens = 2048
    chapter = novel(2000)
    found = asking.build_windows([chapter], attributed([chapter], unsure), model)
    assert max(window.tokens for window in found) <= 1048


def test_a_crowd_is_cut_to_those_who_are_near():
    cast = tuple(Character(f"Guest{n}") for n in range(60))
    chapter = ["Guest7 and Guest55 came in.", "“This is line 1.”"]
    before = attributed([chapter], lambda words: ("Guest30", 0.5, "nearest"), cast)
    model = StubReader(lambda question: "Guest55")
    (window,) = asking.build_windows([chapter], before, model)
    assert window.names == ("Guest30", "Guest55", "Guest7")
    crowd = [" ".join(one.name for one in cast), "“This is line 1.”"]
    (window,) = asking.build_windows([crowd], before, model)
    assert (len(window.names), window.options[-1]) == (24, "Z")
    assert "Guest30" in window.names


def test_the_order_of_the_cast_changes_no_prompt():
    first, second = (
        asking.build_windows([TALK], attributed([TALK], weakly, cast), StubReader(by_words))
        for cast in (CAST, CAST[::-1])
    )
    assert first == second


def test_people_of_other_chapters_are_not_listed():
    chapters = [["Ada, Ben and Cy came in.", "“This is line 1.”"], ["Ada met Ben.", "“And 2.”"]]
    before = attributed(chapters, lambda words: ("Ada", 0.5, "nearest"))
    found = asking.build_windows(chapters, before, StubReader(by_words))
    assert [window.names for window in found] == [("Ada", "Ben", "Cy"), ("Ada", "Ben")]


def test_descriptions_are_in_the_list():
    before = attributed([TALK], weakly)
    (window,) = asking.build_windows(
        [TALK], before, StubReader(by_words), descriptions={"Cy": "A\n  boy"}
    )
    assert "\nC = Cy (A boy)\n" in window.shared


def test_a_question_without_an_answer_leaves_its_row_and_is_asked_again():
    before = attributed([TALK], weakly)
    model, answers = StubReader(by_words), Answers()
    option_probabilities = model.option_probabilities
    model.option_probabilities = lambda shared, questions, options: [[] for _ in questions]
    assert asking.ask([TALK], before, model, answers=answers) == before
    model.option_probabilities = option_probabilities
    assert asking.ask([TALK], before, model, answers=answers).quotations[1].speaker == "Ben"


def test_a_book_of_nobody_is_not_asked_about():
    before = attributed([TALK], lambda words: (None, 0.0, "nobody"), cast=())
    assert asking.ask([TALK], before, StubReader(by_words)) == before


# -- answers are kept


def test_what_was_answered_is_not_asked_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    before = attributed([TALK], weakly)
    first = asking.ask([TALK], before, StubReader(by_words), answers=Answers(path))
    again = StubReader(by_words)
    assert asking.ask([TALK], before, again, answers=Answers(path)) == first
    assert not again.questions


def test_an_edit_asks_again_what_it_touches(tmp_path):
    answers = Answers(tmp_path / "answers.jsonl")
    chapters = [novel(2400, every=3), TALK]
    asking.ask(chapters, attributed(chapters, unsure), StubReader(lambda q: "Ada"), answers=answers)
    chapters[0][6] = "“A word was changed.”"
    again = StubReader(lambda question: "Ada")
    asking.ask(chapters, attributed(chapters, unsure), again, answers=answers)
    assert len(again.prompts) == 1


def test_another_model_is_asked_anew(tmp_path):
    answers = Answers(tmp_path / "answers.jsonl")
    before = attributed([TALK], weakly)
    asking.ask([TALK], before, StubReader(by_words), answers=answers)
    other = StubReader(by_words)
    other.identity = "stub-2"
    asking.ask([TALK], before, other, answers=answers)
    assert len(other.questions) == 3


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    path = tmp_path / "answers.jsonl"
    chapter = novel(1500)
    before = attributed([chapter], unsure)
    whole = StubReader(lambda question: "Ada")
    expected = asking.ask([chapter], before, whole)

    broken = StubReader(lambda question: "Ada")
    real = broken.option_probabilities

    def fails(*arguments):
        if len(broken.prompts) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    broken.option_probabilities = fails
    with pytest.raises(KeyboardInterrupt):
        asking.ask([chapter], before, broken, answers=Answers(path))
    rest = StubReader(lambda question: "Ada")
    assert asking.ask([chapter], before, rest, answers=Answers(path)) == expected
    assert len(rest.prompts) == len(whole.prompts) - 2


def test_answers_that_were_altered_are_asked_anew(tmp_path, caplog):
    path = tmp_path / "answers.jsonl"
    before = attributed([TALK], weakly)
    asking.ask([TALK], before, StubReader(by_words), answers=Answers(path))
    path.write_text(path.read_text().replace("0.97", "0.01", 1))
    again = StubReader(by_words)
    asking.ask([TALK], before, again, answers=Answers(path))
    assert len(again.questions) == 1
    assert "1 rows were altered" in caplog.text
    caplog.clear()
    Answers(path)
    assert not caplog.text


def test_a_torn_row_costs_itself(tmp_path):
    path = tmp_path / "answers.jsonl"
    before = attributed([TALK], weakly)
    asking.ask([TALK], before, StubReader(by_words), answers=Answers(path))
    path.write_bytes(path.read_bytes()[:-20])
    for expected in (1, 0):
        again = StubReader(by_words)
        asking.ask([TALK], before, again, answers=Answers(path))
        assert len(again.questions) == expected


def test_answers_of_another_shape_are_none(tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [{"key": "a", "answer": [0.5, "x"]}, {"key": "b", "answer": [0.5]}, {"no": "key"}]
    rows += [{"key": "c", "answer": "words"}]
    path.write_bytes(b"".join(map(files.sealed_row, rows)))
    answers = Answers(path)
    assert not any(answers._is_answered(name, 2) for name in "abc")
    assert answers._answers["c"] == "words"


@pytest.mark.slow
def test_a_network_answers_within_the_list_and_writes_a_plain_line(tmp_path):
    pytest.importorskip("mlx_lm")
    from narrator.engines import models, reader

    folder = language_models.write(tmp_path / "tiny")
    before = attributed([TALK], weakly)
    answers = Answers(tmp_path / "answers.jsonl")
    with reader.load(models.find_language(str(folder))) as model:
        after = asking.ask([TALK], before, model, answers=answers)
        read = model.tokens_read
        assert read > 500
        assert asking.ask([TALK], before, model, answers=answers) == after
        assert model.tokens_read == read
        line = proposing.clean_description(answers.line(model, "Describe Ada's voice.", 20))
    assert after.quotations[0] == before.quotations[0]
    assert {one.speaker for one in after.quotations} <= {"Ada", "Ben", "Cy", None}
    assert len(line) <= proposing.MAX_DESCRIPTION
