"""Grammars of figures and abbreviations: how their files are read, and the cases beside each."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import pytest

from narrator.text.normalize import Lexicon, english, grammar_patterns, grammars, normalize
from narrator.text.normalize.edits import apply_edits
from narrator.text.normalize.exact_grammar import ExactGrammar
from narrator.text.normalize.grammar_lists import GrammarError
from narrator.text.normalize.grammars import Grammar
from narrator.text.normalize.rules import Speak, apply_rules
from tests.tables import Case, read_cases
from textbase.word_lists import WordLists

CASES = [
    case
    for path in (Path(__file__).parent / "languages").glob("*.txt")
    for case in read_cases(path)
]

POLISH = """
[notation]
plurals: one few many other
ordinals: dot

[forms]
cardinal: cardinal-masculine
feminine: cardinal-feminine
ordinal: day
genitive: ordinal, y>ego
feminine-genitive: feminine, ć>ciu ie>óch
decimals: feminine
feminine-genitive-decimals: decimals, ć>ciu ie>óch a>ej
year: years, czternaście>i_czternaście

[numbers day]
0: zerowy
1: pierwszy
2: drugi
20: dwudziesty[ →→]

[numbers years]
1100/100: =%spellout-numbering=
1900/100: ←%spellout-numbering← set →%spellout-numbering→

[decimal places]
1: dziesiąta, dziesiąte, dziesiątych

[words]
decimal: cała, całe, całych
minus: minus
range: do
minus west: manko

[units]
m: metr, metry, metrów, metra; masculine
km: kilometr, kilometry, kilometrów, kilometra; masculine
godz.: godzina, godziny, godzin, godziny; feminine

[units west]
km: kilometer

[months]
maja: maj.
czerwca
czyrwnia si: czyr.

[patterns]
abstract: (?-i:[a-z]\\w*ość)
feminine: {abstract}|(?-i:[a-z]\\w*cja)

[abbreviations]
np.: na przykład
prof.: profesor
t o m: tak oznaczono

[rules]
count: {n=20|30} stacja -> {n:ordinal} stacja
count: {n}(?= {feminine}) -> {n:feminine}
century: {numeral}\\. wiek -> {numeral:ordinal} wiek
date: {day}\\.{mm}\\.(?!\\d) -> {day:genitive} {mm}
day: {day}\\. {month} -> {day:genitive} {month}
hour: {before=o} {hour}(?! km) -> {before} {hour}
count: {before=do} {number} {units} -> {before} {number:feminine-genitive} {units:many}
"""


def read(text: str, grammar: str = POLISH, *regions: str) -> str:
    groups = list(Grammar(WordLists(grammar), "pl", regions).groups())
    return apply_edits(text, sorted(apply_rules(text, groups)))


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        # numbers agree with the noun, nouns with the number
        ("1 km, 2 km, 5 km", "jeden kilometr, dwa kilometry, pięć kilometrów"),
        ("1,5 km", "jedna cała pięć dziesiątych kilometra"),
        ("3,02 km", "trzy całe zero dwie kilometra"),
        ("do 5,1 km", "do pięciu całych jednej dziesiątej kilometrów"),
        ("rok 1914", "rok dziewiętnaście set i czternaście"),
        ("2 godz. temu", "dwie godziny temu"),
        ("5 km. dalej, 5 km. Potem", "pięć kilometrów dalej, pięć kilometrów. Potem"),
        ("5km/2, 2+2=4, 5+", "5km/2, 2+2=4, 5+"),
        ("5 m, 5 M", "pięć metrów, pięć M"),
        # own rules of numbers and endings
        ("21. maja i 1. maj.", "dwudziestego pierwszego maja i pierwszego maja."),
        # patterns of a language, and numerals of both kinds
        ("2 stacja, 2 akcja, 2 ilość i 2 wieś", "dwie stacja, dwie akcja, dwie ilość i dwa wieś"),
        ("20 stacja, 21 stacja", "dwudziesty stacja, dwadzieścia jeden stacja"),
        ("21. wiek, XXI. wiek", "dwudziesty pierwszy wiek, dwudziesty pierwszy wiek"),
        # a full stop after a figure is an ordinal's, unless a sentence ends there
        ("w 5. klasie", "w 5. klasie"),
        ("Było ich 5. Potem nic.", "Było ich pięć. Potem nic."),
        ("Było ich 5.", "Było ich pięć."),
        # ranges go up, and are said whole or not at all
        ("10-20 i 10–20 km", "dziesięć do dwadzieścia i dziesięć do dwadzieścia kilometrów"),
        ("20-10, 12 000–360", "20-10, 12 000–360"),
        # nor are figures that go on
        ("o 5, o 5:30, o 5.123", "o pięć, o pięć trzydzieści, o pięć tysięcy sto dwadzieścia trzy"),
        ("-5, BA-5, 3:1, 1.2.3, 05", "minus pięć, BA-5, 3:1, 1.2.3, 05"),
        # a sign that no list has leaves its figure
        ("5 $, $5, 5%", "5 $, $5, 5%"),
        ("1+1=2, 48+, 2×3, ±5", "1+1=2, 48+, 2×3, ±5"),
        ("tom t o m", "tom tak oznaczono"),
        ("Np. prof. Nowak, np.", "Na przykład profesor Nowak, na przykład."),
        ("1 000 000", "milion"),
    ],
)  # fmt: skip
def test_a_grammar_reads(written: str, spoken: str) -> None:
    assert read(written) == spoken


@pytest.mark.parametrize(
    ("nouns", "spoken"),
    [("", "dwie godziny. Pan, w roku Pan"), ("nouns: capital", "dwie godziny Pan, w roku Pan")],
)
def test_a_unit_keeps_its_full_stop_before_a_capital_that_is_no_noun_s(
    nouns: str, spoken: str
) -> None:
    grammar = POLISH.replace("[notation]", f"[notation]\n{nouns}")
    grammar += "year: w r\\. -> w roku\n\n[starters]\nPotem\n"
    assert read("2 godz. Pan, w r. Pan", grammar) == spoken


def test_the_example_of_the_docstring_reads_as_it_says() -> None:
    described = (grammars.__doc__ or "").partition("of German:\n\n")[2]
    example = textwrap.dedent(described.partition("\n\nOnly the date")[0])
    grammar, _, texts = example.rpartition("\n\n")
    written, _, spoken = texts.partition("\n")
    words = apply_rules(written, list(Grammar(WordLists(grammar), "de").groups()))
    assert apply_edits(written, sorted(words)) == " ".join(spoken.split())


def test_a_region_has_words_entries_and_names_of_months_of_its_own() -> None:
    assert read("1 km, 2 godz.", POLISH, "west") == "jeden kilometer, dwie godziny."
    assert read("-5", POLISH, "west") == "manko pięć"
    assert read("1.2., 1. czyr.", POLISH, "si") == "pierwszego czyrwnia, pierwszego czyrwnia."
    assert read("1.2., 1. czyrwnia, 1. czyr.") == (
        "pierwszego czerwca, pierwszego czyrwnia, 1. czyr."
    )


def test_where_words_have_no_spaces_common_rules_join_them_and_figures_touch_words() -> None:
    own_rules = "telephone: {digits=0\\d+} -> {digits:genitive}\nking: {roman}世 -> {roman}世"
    close = POLISH.replace("ordinals: dot", "spaces: no").replace(
        "[rules]", f"[rules]\n{own_rules}"
    )
    assert read("前5 km后，02，I世，10-20天", close) == (
        "前pięćkilometrów后，zerowegodrugi，jeden世，dziesięćdodwadzieścia天"
    )


def test_figures_of_telephones_stay_as_written() -> None:
    assert read("tel. 0800 123 456, +49 (30) 12-34") == "tel. 0800 123 456, +49 (30) 12-34"


EXACT = """
[names]
No: number
Nos: numbers

[patterns]
sign: [#№]
mark: {sign}|n°

[rules]
when: [#N]
mark: (?:{mark})\\s?(?=\\d) -> "number "
name: \\b{names}\\.\\s?{n=\\d} -> {names} {n}
shout: \\b(NO)\\b -> @words.quiet
when: plural
plural: s\\b -> "es "
"""


def test_exact_patterns_regard_case_keep_spaces_and_call_functions() -> None:
    def function(name: str) -> Speak:
        return lambda match: f"{name} {match[1].lower()}"

    groups = list(ExactGrammar(WordLists(EXACT), "en", (), None, function).groups())
    edits = apply_rules("#1, Nos. 2, no. 3, NO, s", groups)
    assert apply_edits("#1, Nos. 2, no. 3, NO, s", sorted(edits)) == (
        "number 1, numbers two, no. 3, words.quiet no, s"
    )


def test_the_table_of_english_names_every_public_function_and_no_other() -> None:
    table = "\n".join(grammars.read_lists("en").lines("rules"))
    named = set(re.findall(r"-> @(\w+)\.(\w+)", table))
    public = {
        (module, name)
        for module, contents in english.MODULES.items()
        for name, value in vars(contents).items()
        if inspect.isfunction(value)
        and value.__module__ == contents.__name__
        and not name.startswith("_")
    }
    assert named == public - {("measures", "quantity_words"), ("measures", "unit_names")}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x: {n} {planets} -> {n}", "neither a kind of slot nor a list: 'planets'"),
        ("x: {n} -> {n:plural}", "no form 'plural'"),
        ("x: {n} -> {n} {word}", "neither a slot nor a word, 'word'"),
    ],
)
def test_a_rule_that_names_what_is_not_there_is_an_error(line: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        read("5", f"{POLISH}{line}\n")


@pytest.mark.parametrize(
    ("section", "line", "message"),
    [
        ("notation", "ordinal: dot", "languages/pl.txt:3: no key 'ordinal' of notation"),
        ("forms", "lost: dative", "languages/pl.txt:7: no set of rules 'dative'"),
        ("rules", "x: ({n} -> {n}", r"languages/pl.txt:\d+: missing \)"),
        ("rules", "x: {n}", r"languages/pl.txt:\d+: a rule without ' -> ': x: {n}"),
    ],
)
def test_an_error_names_file_and_line(section: str, line: str, message: str) -> None:
    lists = WordLists(POLISH.replace(f"[{section}]", f"[{section}]\n{line}"), "languages/pl.txt")
    with pytest.raises(ValueError, match=message):
        assert [rule.pattern for group in Grammar(lists, "pl").groups() for rule in group.rules]


def test_the_docstring_describes_what_grammars_use_and_nothing_else() -> None:
    described = grammars.__doc__ or ""
    lists = [grammars.read_lists(code) for code in (*grammars.languages(), "en")]
    keys = {
        line.partition(":")[0].split()[0]
        for grammar in lists
        if "notation" in grammar
        for line in grammar.lines("notation")
    }
    assert keys == set(re.findall(r"^    `(\w+)`  ", described, re.MULTILINE))
    rules = "\n".join(
        line
        for grammar in (*lists, grammars.read_lists("common"))
        if "rules" in grammar
        for line in grammar.lines("rules")
    )
    kinds = grammar_patterns.slot_patterns({}, ",")
    assert [kind for kind in kinds if not re.search(rf"\{{{kind}\d?[=}}]", rules)] == []
    assert [kind for kind in kinds if f"{{{kind}}}" not in described] == []


@pytest.mark.parametrize("code", grammars.languages())
def test_every_rule_of_every_language_compiles(code: str) -> None:
    patterns = [rule.pattern for group in grammars.rules(code) for rule in group.rules]
    assert patterns


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_language(case: Case) -> None:
    """Cases that a grammar does not reach yet are marked in their file."""
    spoken = normalize(
        case.text,
        language=case.language,
        speaker="narrator",
        lexicon=Lexicon(),
        heading=case.kind == "headings",
    ).text
    assert (spoken == case.expected) == case.is_reached


def test_the_documentation_names_every_language():
    page = (Path(__file__).parents[2] / "docs" / "languages.md").read_text("utf-8")
    assert [code for code in grammars.languages() if f" ({code}) |" not in page] == []


@pytest.mark.parametrize(
    "figure",
    """
    IC#2 30^5 7@8 11<12 km1477~79 2155'97 46&31 C1083 12er-67er 70..93 27%112 13°C−40°C 1744·6b
    4-98b %1073 7%% 29h:37h
    """.split(),
)
def test_a_figure_that_is_not_wholly_clear_stays_as_written(figure: str):
    spoken = normalize(f"Im {figure} da", language="de", speaker="", lexicon=Lexicon()).text
    assert not re.search("zig|zehn|zwei|acht|sieben", spoken), spoken


@pytest.mark.parametrize(
    ("text", "spoken"),
    [("um -1856 da", "um minus "), ("5%–10% da", "fünf Prozent bis zehn Prozent da")],
)
def test_signs_of_figures_are_said(text: str, spoken: str):
    assert spoken in normalize(text, language="de", speaker="", lexicon=Lexicon()).text


def test_numbers_of_thousands_of_figures_stay_as_written():
    figures = "7" * 6000
    for language in ("de", "ru", "hi"):
        spoken = normalize(figures, language=language, speaker="", lexicon=Lexicon()).text
        assert spoken.startswith(figures)
