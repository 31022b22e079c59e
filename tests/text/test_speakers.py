"""Who says what, by rules alone."""

from __future__ import annotations

import pytest

from narrator.text.speakers import NO_SPEECH, Attribution, Character, attribute
from narrator.text.speakers.ranking import certainty

CAST = (
    Character("Ada Bell", ("Ada", "Miss Bell"), "she"),
    Character("Ben Hart", ("Ben", "Mr. Hart"), "he"),
    Character("Clara", (), "she"),
)


def speakers(*paragraphs: str, cast: tuple[Character, ...] = CAST) -> list[str | None]:
    return [one.speaker for one in attributed(*paragraphs, cast=cast).quotations]


def attributed(*paragraphs: str, cast: tuple[Character, ...] = CAST) -> Attribution:
    return attribute([paragraphs], cast, language="en")


@pytest.mark.parametrize(
    "paragraph",
    [
        "“I know,” said Ada.", "“I know,” Ada said.", "“I know,” said Ada, “but not now.”",
        "“I know!” cried poor Ada Bell.", "“I know,” replied Miss Bell to Ben.",
        "Ada said, “I know.”", "Ada, turning to Ben, said: “I know.”",
        "Ben looked at Ada, who said, “I know.”", "“I know,” broke in Ada.",
        "“I know,” said Ada’s voice.", "“I know,” said the quiet voice of Ada.",
        "Ben nodded, and Ada answered at once, “I know.”",
    ],
)  # fmt: skip
def test_a_tag_names_its_speaker(paragraph: str) -> None:
    assert set(speakers(paragraph)) == {"Ada Bell"}


@pytest.mark.parametrize(
    "paragraph",
    [
        "“Yes,” said Ada. “No,” said Ben.",
        "“Yes!” Ada began loudly, but she stopped, for Ben cried out, “No!”",
        "“Yes,” said Ada to Ben. He turned away. “No,” he said.",
    ],
)  # fmt: skip
def test_two_tags_in_one_paragraph_are_two_speakers(paragraph: str) -> None:
    assert speakers(paragraph) == ["Ada Bell", "Ben Hart"]


@pytest.mark.parametrize(
    "paragraph",
    [
        "“I know.” Ben went to the door.",
        "“Do you know?” And Ben put it down.",
        "“I know.” Ben turned away, and said no more.",
        "Ben held out his hand: “I know.”",
    ],
)  # fmt: skip
def test_narration_that_tells_what_happens_is_no_tag(paragraph: str) -> None:
    assert attributed(paragraph).quotations[0].by != "tag"


def test_two_people_take_turns() -> None:
    said = speakers(
        "“Is it late?” asked Ada.", "“It is,” said Ben.", "“Then go.”", "“I will not.”", "“Why?”"
    )
    assert said == ["Ada Bell", "Ben Hart", "Ada Bell", "Ben Hart", "Ada Bell"]


def test_who_is_addressed_answers() -> None:
    assert speakers("“Come here, Clara,” said Ada.", "“Must I?”")[1] == "Clara"


def test_a_pronoun_is_hers_who_was_told_of() -> None:
    assert speakers("Ben came in. Ada rose slowly.", "“At last,” she said.") == ["Ada Bell"]


def test_a_quotation_over_paragraphs_is_one_speakers() -> None:
    said = attributed("“It began,” said Ada, “long ago.", "“And it went on.”").quotations
    assert [one.speaker for one in said] == ["Ada Bell"] * 3
    assert [one.continues_previous for one in said] == [False, True, True]


def test_a_name_in_a_tag_is_surer_than_a_turn() -> None:
    said = attributed("“Is it late?” asked Ada.", "“It is,” said Ben.", "“Then go.”").quotations
    assert [one.by for one in said] == ["tag", "tag", "turns-open"]
    assert said[0].certainty >= 0.9
    assert said[0].certainty > said[2].certainty


def test_a_turn_is_surer_if_a_tag_confirms_it_later() -> None:
    exchange = ("“Is it late?” asked Ada.", "“It is,” said Ben.", "“Then go.”", "“I will not.”")
    unconfirmed = attributed(*exchange).quotations
    confirmed = attributed(*exchange, "“Oh,” said Ada.").quotations
    assert [row.by for row in unconfirmed[2:]] == ["turns-open"] * 2
    assert [row.by for row in confirmed[2:]] == ["turns", "turns", "tag"]
    assert confirmed[3].certainty > unconfirmed[3].certainty


@pytest.mark.parametrize("rule", ["beat", "called", "near", "pronoun", "turns"])
@pytest.mark.parametrize("has_found_cast", [False, True])
def test_a_decision_that_no_tag_confirms_has_a_certainty(rule, has_found_cast):
    assert certainty(f"{rule}-open", 0.9, has_found_cast=has_found_cast) > 0


def test_words_that_go_on_are_as_sure_as_their_beginning() -> None:
    first, second = attributed("“It began long ago.", "“And it went on.”").quotations
    assert (first.by, first.certainty) == (second.by, second.certainty)


def test_the_cast_is_found_where_none_is_given() -> None:
    story = (
        "Mr. John Hart came in. “Good morning, Miss Bell,” said John Hart.",
        "“Good morning, Mr. Hart,” said Anne Bell. Anne did not rise.",
        "“You are early, Anne,” said Mr. Hart, and John sat down.",
    )
    found = attributed(*story, cast=())
    assert {member.name: member.pronoun for member in found.cast} == {
        "Mr. John Hart": "he",
        "Anne Bell": "she",
    }
    assert [one.speaker for one in found.quotations] == [
        "Mr. John Hart",
        "Anne Bell",
        "Mr. John Hart",
    ]


def test_it_is_the_same_every_time_and_nothing_is_no_error() -> None:
    assert attribute([], (), language="en").quotations == ()
    assert attribute([[""]], CAST, language="en").quotations == ()
    one = attributed("“I know.”", "“So do I,” said Ben.")
    assert one == attributed("“I know.”", "“So do I,” said Ben.")


@pytest.mark.parametrize(
    ("language", "paragraph"),
    [
        ("de", "„Ich weiß“, sagte Ada."), ("de", "Ada fragte leise: „Warum?“"),
        ("fr", "« Je sais, dit Ada, mais pas encore. »"), ("fr", "— Je sais, répondit Ada."),
        ("es", "—Ya lo sé —dijo Ada."), ("it", "«Lo so», disse Ada."),
        ("pt", "— Eu sei — disse Ada."), ("ru", "— Я знаю, — сказала Ада."),
    ],
)  # fmt: skip
def test_tags_of_other_languages_name_their_speaker(language: str, paragraph: str) -> None:
    cast = (Character("Ben"), Character("Ada", ("Ада",)))
    found = attribute([[paragraph]], cast, language=language)
    assert {one.speaker for one in found.quotations} == {"Ada"}
    assert {one.by for one in found.quotations} == {"tag"}


def test_the_cast_is_found_in_other_languages() -> None:
    story = (
        "„Ich weiß“, sagte Anna.", "„Nein“, rief Herr Huber.", "Anna lachte. „Doch“, sagte sie.",
    )  # fmt: skip
    found = attribute([story], (), language="de")
    assert {member.name for member in found.cast} >= {"Anna", "Herr Huber"}
    assert [one.speaker for one in found.quotations][:2] == ["Anna", "Herr Huber"]


SANCHO = (
    "-Dime, Sancho amigo, ¿qué rumor es ése? -preguntó don Quijote.",
    "-No sé, señor -respondió Sancho-. Alguna cosa nueva debe de ser.",
    "-Paréceme, Sancho -dijo don Quijote-, que tienes mucho miedo.",
    "Y respondiéronle los dos con risa. Y luego callaron. Sancho miraba a don Quijote.",
    "-Mira, señor, que viene gente por la Calle Mayor de Toledo.",
)


def test_verbs_imperatives_and_streets_are_no_characters() -> None:
    found = attribute([SANCHO], language="es")
    assert {member.name for member in found.cast} == {"don Quijote", "Sancho"}
    speakers_found = [row.speaker for row in found.quotations if not row.continues_previous]
    assert speakers_found[:3] == ["don Quijote", "Sancho", "don Quijote"]


def test_names_in_other_cases_are_one_character() -> None:
    story = [
        "— Где Анна? — спросил Иван.", "— Здесь, — сказала Анна.", "Иван поцеловал Анну и Ивана.",
        "— Иди с Анной, — сказал Иван.", "— Иду, — ответила Анна.",
    ]  # fmt: skip
    found = attribute([story], language="ru")
    assert {(member.name, member.pronoun) for member in found.cast} == {
        ("Анна", "she"), ("Иван", "he"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("language", "paragraph", "speaker"),
    [
        ("zh", "宋江笑道：“兄弟，你来了。”", "宋江"),
        ("zh", "“兄弟，你来了。”宋江说。", "宋江"),
        ("zh", "“兄弟，你来了。”宋江笑着说。", "宋江"),
        ("zh", "宋江站起来，看着她说：「走吧。」", "宋江"),
        ("ja", "「うん」と太郎は言った。", "太郎"),
        ("ja", "太郎は、\n「うん」と言った。", "太郎"),
    ],
)
def test_tags_without_white_space_name_their_speaker(
    language: str, paragraph: str, speaker: str
) -> None:
    cast = (Character("宋江"), Character("太郎"), Character("武松"))
    found = attribute([paragraph.split("\n")], cast, language=language)
    assert [row.speaker for row in found.quotations] == [speaker]


def test_nothing_is_attributed_in_a_language_whose_tags_are_not_known() -> None:
    assert attribute([["“가자.” 그가 말했다."]], (Character("그"),), language="ko").quotations == ()


def test_given_names_imply_the_pronoun_of_their_language() -> None:
    french = ["« Bonjour », dit Jean.", "« Viens », dit Jean.", "Marie vit Jean."]
    english = ["“Hello,” said Jean.", "“Come,” said Jean.", "Mary saw Jean."]
    pronouns = [
        member.pronoun
        for story, language in ((french, "fr"), (english, "en"))
        for member in attribute([story], language=language).cast
        if member.name == "Jean"
    ]
    assert pronouns == ["he", "she"]


def test_who_is_called_esquire_is_the_same() -> None:
    story = ["“Go,” said Tom Hart.", "They knew Tom Hart Esquire.", "“No,” said Hart."]
    assert [one.name for one in attribute([story], language="en").cast] == ["Tom Hart"]


def test_a_noun_that_is_nobody_known_is_less_sure() -> None:
    cast = (Character("Ada", (), "she"), Character("Ben", (), "he"))
    text = [["“Who are you?” Ben asked the stranger.", "“I am nobody,” said the stranger."]]
    said = attribute(text, cast, language="en").quotations
    assert said[1].by == "stranger"


def test_what_is_no_speech_is_nobodys() -> None:
    said = attributed("They sailed in the “Hispaniola” at noon. “I see,” said Ben.").quotations
    assert [one.speaker for one in said] == [None, "Ben Hart"]
    assert said[0].by == NO_SPEECH


@pytest.mark.parametrize(
    ("paragraph", "pieces"),
    [
        ('"' * 50_000, 0),
        ("“I know,” said Ada. Ben rose. " * 70, 70),
        pytest.param("“I know,” said Ada. Ben rose. " * 700, 700, marks=pytest.mark.slow),
        ("Ada \0 \u202e\N{GRINNING FACE} י “\0”", 0),
    ],
)
@pytest.mark.parametrize("cast", [CAST, ()])
def test_odd_text_costs_no_more_than_its_length(
    paragraph: str, pieces: int, cast: tuple[Character, ...]
) -> None:
    assert len(attributed(paragraph, cast=cast).quotations) == pieces


@pytest.mark.slow
def test_names_that_are_common_words_and_many_names_are_no_harm() -> None:
    odd = Character("Will", ("May", "I", "the", "", "She", "\N{GRINNING FACE}"), "he")
    many = tuple(Character(f"Mr. Hart{number}") for number in range(5_000))
    said = attributed(
        "“Will you?” said Ada.", "“The end,” I said.", cast=(*CAST, odd, *many)
    ).quotations
    assert said[0].speaker == "Ada Bell"


def test_a_street_that_bears_a_name_is_nobody() -> None:
    cast = [Character("Henry Baker", pronoun="he"), Character("Ada", pronoun="she")]
    paragraphs = ["Ada walked up Baker Street with Clay.", "“Is it far?”", "“No.”"]
    rows = attribute([paragraphs], cast, language="en").quotations
    assert "Henry Baker" not in {row.speaker for row in rows}
    assert all(name != "Henry Baker" for row in rows for name, _ in row.alternatives)
