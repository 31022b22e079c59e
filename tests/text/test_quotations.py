"""Where paragraphs quote: the traps of marks, by hand; and nothing amiss on any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrator.text.quotations import nested_quotations, quotations
from tests.effort import cpu_seconds, examples


def found(language: str, text: str) -> list[str]:
    """What is quoted in paragraphs parted by `|`: + goes on, - is no speech."""
    paragraphs = text.split("|")
    return [
        "+" * one.continues_previous
        + "-" * (not one.is_speech)
        + paragraphs[one.paragraph][one.start : one.stop]
        for one in quotations(paragraphs, language)
    ]


# text with paragraphs parted by |, and what is quoted in it, parted by |
OVER_PARAGRAPHS = [
    ("“One.|“Two.|“Three,” said Ada.|“Four.”", "“One.|+“Two.|+“Three,”|“Four.”"),
    ('"One.|"Two."|He left.', '"One.|+"Two."'),
    ("‘One.|‘Two,’ said Ada. ‘Three.’", "‘One.|+‘Two,’|‘Three.’"),
    ("'One.|'Two,' said Ada.", "'One.|+'Two,'"),
    ("“One.|Two has no mark.|Three,” said Ada.|“Four.”",
     "“One.|+Two has no mark.|+Three,”|“Four.”"),
    ("Ada said, “One.|“Two.”|“Three?”", "“One.|+“Two.”|“Three?”"),
    ("“One,” said Ada. “Two.|“Three.”", "“One,”|“Two.|+“Three.”"),
    ("“One.|“Two ‘and a half.’|“Three.”", "“One.|+“Two ‘and a half.’|+“Three.”"),
    ("«Uno.|»Dos.|»Tres», dijo Ana.|«Sí».", "«Uno.|+»Dos.|+»Tres»|«Sí»"),
    ("「一つ。|「二つ。」|彼は去った。", "「一つ。|+「二つ。」"),
    ("“One.||“Two.”", "“One.|+“Two.”"), ("“One.”|“Two.”|“Three.”", "“One.”|“Two.”|“Three.”"),
]  # fmt: skip

# the same, and what is quoted within the tales
WITHIN_TALES = [
    ("“One.|“‘Two,’ said he, ‘and three.’|“Four.”", "‘Two,’|‘and three.’"),
    ("‘One.|‘“Two,” said he.’", "“Two,”"),
    ("\"One.|\"'Two,' said he. 'It's the boys' hat.'", "'Two,'|'It's the boys' hat.'"),
    ("'One.|'\"Two,\" said he.'", '"Two,"'),
    ("“One.|“‘Two.|“‘Three,’ said he.", "‘Two.|+‘Three,’"),
    ("“One,” said Ada. “‘Two.’|“Three.”", "‘Two.’"),
    ("“One.|“It was called ‘Two’ there.”", "-‘Two’"),
    ("“He said ‘one.’”|“He said ‘two.’”", ""),
    ("“One ‘is’ one.", ""),
    ("“One.|“Two.”|‘Three,’ he said.", ""),
    ("«Uno.|»“Dos”, dijo él.|»Tres».", "“Dos”"),
    ("「一つ。|「『二つ』と言った。」", "『二つ』"),
]

SINGLE_MARKS = [
    ("‘I don’t know,’ said Ada. ‘It’s O’Brien’s.’", "‘I don’t know,’|‘It’s O’Brien’s.’"),
    ("'I don't know,' said Ada. 'It's O'Brien's.'", "'I don't know,'|'It's O'Brien's.'"),
    ("‘The boys’ hats are here,’ he said.", "‘The boys’ hats are here,’"),
    ("'The boys' hats are here,' he said.", "'The boys' hats are here,'"),
    ("‘’Tis late,’ said Ada, ‘’twas always so.’", "‘’Tis late,’|‘’twas always so.’"),
    ("''Tis a dog's life,' he said.", "''Tis a dog's life,'"),
    ("'Rock 'n' roll of the '90s won't do,' he said.", "'Rock 'n' roll of the '90s won't do,'"),
    ("'Twas the boys' last summer of the '90s.", ""),
    ("'He's goin' home,' said Ada, 'an' that's all.'", "'He's goin' home,'|'an' that's all.'"),
    ("‘Give ’em the dogs’ bones!’ cried Ada.|‘No.’", "‘Give ’em the dogs’ bones!’|‘No.’"),
    ("'I am 6'2\" tall,' said Ben. 'And you?'", "'I am 6'2\" tall,'|'And you?'"),
    ("‘He said “no” to me,’ said Ada.|‘So?’", "‘He said “no” to me,’|‘So?’"),
]

OTHER_MARKS = [
    ("de", "„Ich weiß“, sagte Anna, „aber nicht jetzt.“", "„Ich weiß“|„aber nicht jetzt.“"),
    ("de", "»Ich weiß«, sagte Anna, »aber ›jetzt‹ nicht.«", "»Ich weiß«|»aber ›jetzt‹ nicht.«"),
    ("de", '„Ich weiß", sagte Anna.|„Ja.“', '„Ich weiß"|„Ja.“'),
    ("de", "‚Ich weiß‘, sagte Anna.|‚Ja.‘", "‚Ich weiß‘|‚Ja.‘"),
    ("de-CH", "«Ich weiss», sagte Anna.|«Ja.»", "«Ich weiss»|«Ja.»"),
    ("pl", "„Tak”, powiedział Jan.|„Nie.”", "„Tak”|„Nie.”"),
    ("fr", "« Oui », dit Anna. Il dit : « Viens ! »", "« Oui »|« Viens ! »"),
    ("sv", "”Ja”, sade Anna, ”men inte nu.”", "”Ja”|”men inte nu.”"),
    ("fi", "»Kyllä», sanoi Anna. »Nyt.»", "»Kyllä»|»Nyt.»"),
    ("ja", "「そうか？」と彼は言った。「『本』だ。」", "「そうか？」|「『本』だ。」"),
    ("zh", "“你是谁？”他说。“‘我’是谁？”", "“你是谁？”|“‘我’是谁？”"),
    ("it", "‹Sì›, disse Anna.|‹No.›", "‹Sì›|‹No.›"),
]

DASHES = [
    ("fr", "— Oui, dit Anna, je viens.|— Non.", "— Oui,|je viens.|— Non."),
    ("fr", "— Où vas-tu ? demanda Pierre.", "— Où vas-tu ?"),
    ("fr", "— Oui, dit-il. Il se leva.|– Viens ! cria-t-elle. Vite !", "— Oui,|– Viens !|Vite !"),
    ("es", "—Sí —dijo Ana—, pero no ahora.", "—Sí|pero no ahora."),
    ("es", "—No. —Se levantó—. ¿Por qué?", "—No.|¿Por qué?"),
    ("es", "—Sí, mi hermano —el mayor— viene —dijo Ana.", "—Sí, mi hermano —el mayor— viene"),
    ("es", "—Sí, te diré.|»Hay más —dijo Ana.|Ella dijo: —Ven.", "—Sí, te diré.|+»Hay más|—Ven."),
    ("pt", "— Sim — disse Ana. — Mas não agora.", "— Sim|— Mas não agora."),
    ("it", "– Sì, – disse Anna, – ma non ora.", "– Sì,|– ma non ora."),
    ("ru", "— Это — мой брат, — сказал Иван. — А ты?", "— Это — мой брат,|— А ты?"),
    ("ru", "— Да. — Он встал. — Пойдём.|Москва — столица.", "— Да.|— Пойдём."),
    ("pl", "- Tak - powiedział Jan. - Ale nie teraz.", "- Tak|- Ale nie teraz."),
]

TAGS_WITHIN = [
    ("fr", "« Oui, dit-il, je viens. »", "« Oui,|je viens. »"),
    ("fr", "« Oui, dit Anna. Je viens. »", "« Oui,|Je viens. »"),
    ("fr", "« Où vas-tu ? demanda Pierre. »", "« Où vas-tu ?"),
    ("fr", "«Viens! s'écria la vieille dame, vite!»", "«Viens!|vite!»"),
    ("fr", "« Non, répondit-elle en riant, pas moi. »", "« Non,|pas moi. »"),
    ("fr", "« Je dis oui. »", "« Je dis oui. »"),
    ("fr", "« Il a dit non, et je le crois. »", "« Il a dit non, et je le crois. »"),
    ("fr", "« Tu viens ?|— Oui, dit-il.|— Alors partons. »",
     "« Tu viens ?|— Oui,|— Alors partons. »"),
    ("fr", "“Oui, dit-il, je viens.”", "“Oui,|je viens.”"),
    ("it", "«Sì, disse Anna, vengo.»", "«Sì,|vengo.»"),
    ("es", "«Sí, dijo Ana, voy.»", "«Sí,|voy.»"),
    ("ru", "«Да, — сказал Иван, — я приду».", "«Да,|— я приду»"),
]  # fmt: skip

NOBODY_SAYS = [
    ("He was a “great” man.", "-“great”"),
    ("They sailed on the “Nancy Lee.” She sank.", "-“Nancy Lee.”"),
    ("He read the “Times” daily.", "-“Times”"),
    ("Her novel, called “The Lost Key,” sold well.", "-“The Lost Key,”"),
    ("He called it a “mistake,” and left.", "“mistake,”"),
    ("The so-called “experts” and “friends” left.", "-“experts”|-“friends”"),
    ("She said “yes” and left.", "“yes”"),
    ("Voices ordered unknown “Tommies” and “Ernies” home.", "-“Tommies”|-“Ernies”"),
    ("She cried to him “No” and left.", "“No”"), ("He whispered “Yes” to her.", "“Yes”"),
    ("He looked up. “Well.”", "“Well.”"), ("“Well”—he paused—“yes.”", "“Well”|“yes.”"),
    ("His “Go away!” was heard upstairs.", "“Go away!”"),
    ("“Good,” said Ada of the ‘good’ doctor.", "“Good,”|-‘good’"),
    ('He was 6\'2" tall and had a 12" record. "Fine," he said.', '"Fine,"'),
]  # fmt: skip

NESTED = [
    ("“He said, ‘Go,’ and I went.”", "“He said, ‘Go,’ and I went.”"),
    ("‘He said, “Go,” and I went.’|‘So?’", "‘He said, “Go,” and I went.’|‘So?’"),
    ("\"He said, 'Go,' and I went.\"", "\"He said, 'Go,' and I went.\""),
    ("'He said, \"Go,\" and I went.'|'So?'", "'He said, \"Go,\" and I went.'|'So?'"),
    ("“He said “go” and left,” said Ada.", "“He said “go” and left,”"),
    ('"He said "go" and left," said Ada.', '"He said "go" and left,"'),
    ("“‘Go!’ was all he said.”", "“‘Go!’ was all he said.”"),
    ("“I read ‘Emma.’”", "“I read ‘Emma.’”"),
    ("„Er sagte ‚geh‘ zu mir.“", "„Er sagte ‚geh‘ zu mir.“"),
    ("«Lei disse “va” a me.»", "«Lei disse “va” a me.»"),
    ("「『行け』と言った。」", "「『行け』と言った。」"),
    ("“One ‘two “three” four’ five.”", "“One ‘two “three” four’ five.”"),
]

UNCLOSED = [
    ("“I know, said Ada, “but not now.”", "“I know,|“but not now.”"),
    ('"I know, said Ada, "but not now."', '"I know,|"but not now."'),
    ("“I know,' said Ada.|He left.|“Yes,” she said.", "“I know,'|“Yes,”"),
    ("“I know,‘ said Ada.|He left.", "“I know,‘"),
    ('“I know," said Ada.|He left.|“Yes.”', '“I know,"|“Yes.”'),
    ("“I know,“ said Ada, “yes.”", "“I know,“|“yes.”"),
    ("“I know.|He left, and it rained.|“Yes,” she said.", "“I know.|“Yes,”"),
    ('" I know, " said Ada, " but not now. "', '" I know, "|" but not now. "'),
    ('"I know ,"said Ada, "but not now."', '"I know ,"|"but not now."'),
    ("I know,” said Ada.|He left.|“Yes.”", "I know,”|“Yes.”"),
    ("‘I know, said Ada, ‘but not now.’", "‘I know,|‘but not now.’"),
    ("He left.|“|And came back.|“Yes.”", "“Yes.”"),
]


CASES = {
    "a quotation goes on over paragraphs": [
        ("es" if "«" in text else "ja" if "「" in text else "en", text, quoted)
        for text, quoted in OVER_PARAGRAPHS
    ],
    "single marks are told from apostrophes": [("en-GB", *case) for case in SINGLE_MARKS],
    "each language has its marks": OTHER_MARKS,
    "dashes open speech and part tags from it": DASHES,
    "tags within marks are no speech": TAGS_WITHIN,
    "titles and scare quotes are no speech": [("en", *case) for case in NOBODY_SAYS],
    "what is quoted within a quotation is of it": [("en", *case) for case in NESTED],
    "a mark that is missing costs a sentence at most": [("en", *case) for case in UNCLOSED],
    "other languages tell speech too": [
        ("ja", "彼は「うん」と言った。", "「うん」"),
        ("zh", "他是“大人物”。", "-“大人物”"),
        ("de", "Er kannte den „Faust“ gut.", "-„Faust“"),
        ("fr", "Le « grand » homme.", "-« grand »"),
        ("ru", "Газета «Правда» вышла.", "-«Правда»"),
    ],
}


@pytest.mark.parametrize(
    ("language", "text", "quoted"),
    [pytest.param(*case, id=f"{rule}: {case[1]}") for rule in CASES for case in CASES[rule]],
)
def test_what_is_quoted(language: str, text: str, quoted: str) -> None:
    assert "|".join(found(language, text)) == quoted


def test_a_dash_opens_speech_in_english_where_a_text_does_so() -> None:
    text = "—Yes, said Ada.|—No, he said.|—Come on.|He left."
    assert found("en", text) == ["—Yes,", "—No,", "—Come on."]
    assert found("en", "He left.|—and came back.") == []


def test_a_list_with_hyphens_is_no_dialogue() -> None:
    assert found("fr", "- pain|- lait|- beurre|- sel") == []


@pytest.mark.parametrize(("text", "quoted"), WITHIN_TALES)
def test_what_is_quoted_within_a_tale(text: str, quoted: str) -> None:
    paragraphs = text.split("|")
    nested = nested_quotations(paragraphs, quotations(paragraphs, "en"), "en")
    assert [
        "+" * one.continues_previous
        + "-" * (not one.is_speech)
        + paragraphs[one.paragraph][one.start : one.stop]
        for one in nested
    ] == list(filter(None, quoted.split("|")))
    assert all(one.is_nested for one in nested)


def test_rows_of_marks_are_ornaments() -> None:
    assert found("en", '"""|“Yes.”|“ ”|””””') == ["“Yes.”"]


MARKS = "\"“”„'‘’‚«»‹›「」『』—–- "
TEXTS = st.lists(st.text(st.sampled_from(MARKS + "aIs ,.!?\n") | st.characters(), max_size=60))


@settings(max_examples=examples(60))
@given(TEXTS, st.sampled_from(["en", "fr", "ru", "es", "de", "sv", "xx"]))
def test_pieces_lie_in_their_paragraphs_in_order(paragraphs: list[str], language: str) -> None:
    at = (0, 0)
    for one in quotations(paragraphs, language):
        assert (one.paragraph, one.start) >= at
        assert one.start < one.stop <= len(paragraphs[one.paragraph])
        assert paragraphs[one.paragraph][one.start : one.stop].strip()
        at = (one.paragraph, one.stop)


@pytest.mark.parametrize(
    "unit",
    ['" ', "a' 'a", "“a.' ", '“‘a«"', "— a, dit-il, ", "« a, dit-il "],
)
@pytest.mark.slow
def test_time_grows_with_the_text_alone(unit: str) -> None:
    def spent(size: int) -> float:
        return cpu_seconds(lambda: quotations([unit * size], "fr"), tries=3)

    assert spent(2000) < 12 * spent(400) + 0.5
