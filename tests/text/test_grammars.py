"""Grammars of figures and abbreviations: how their files are read, and the cases beside each."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import pytest

from narrator.text.language_lists import read_lists
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


def test_words_of_a_language_without_spaces_have_those_of_their_templates() -> None:
    korean = """
    [notation]
    locale: ko
    spaces: no

    [forms]
    cardinal: cardinal-sinokorean

    [units]
    km: 킬로

    [rules]
    range: (?<=일)-(?=\\d) -> 에서_
    """
    words = read("5일-9일, 5km는, 5kms", textwrap.dedent(korean))
    assert words == "오일에서 구일, 오킬로는, 5kms"


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


def test_international_telephone_numbers_come_before_the_plus_of_a_language() -> None:
    plus = (
        POLISH.replace("minus: minus", "minus: minus\nplus: plus") + "plus: \\+{n} -> {plus} {n}\n"
    )
    numbers = "+49 89 1234567, +34 911 23 45 67, +44 (0)20 7946-0958, +491701234567"
    assert read(numbers, plus) == numbers
    assert read("+49 i +1 000 000", plus) == "plus czterdzieści dziewięć i plus milion"


HALVES = POLISH.replace("[units]", """[fractions]
½: połowa
¼: ćwierć

[halves]
masculine: pół
feminine: półka

[with half]
any: i pół

[one and a half]
masculine: półtora
feminine: półtorej

[units]""").replace("ordinals: dot", "ordinals: dot\nportion: other")  # fmt: skip
HALVES += "fraction: {half} -> połowa\n"


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("½ km, 1/2 km, ½ godz.", "pół kilometra, pół kilometra, półka godziny"),
        (
            "1½ km, 1 1/2 godz., 2 ½ godz.",
            "półtora kilometra, półtorej godziny, dwie i pół godziny",
        ),
        ("¼ km i 1/4 km", "ćwierć kilometra i ćwierć kilometra"),
        # without a unit, as the language has it
        ("1/2, ½", "połowa, połowa"),
        # as a whole or not at all
        ("1/8 km, 1 1/4 km, 2 ¼ km", "1/8 km, 1 1/4 km, 2 ¼ km"),
        ("½-1 km, 1/4-1/2 km, 3,1/2 km", "½-1 km, 1/4-1/2 km, 3,1/2 km"),
    ],
)
def test_units_after_fractions_have_the_form_of_a_part(written: str, spoken: str) -> None:
    assert read(written, HALVES).rstrip(".") == spoken


def test_a_language_may_say_the_half_after_the_unit_and_of_between() -> None:
    grammar = HALVES.replace("[with half]", "[half after]").replace(
        "minus: minus", "minus: minus\nof: z\nand_after: i"
    )
    assert read("2½ km, ¼ km, 2 ¼ km", grammar) == (
        "dwa kilometry i pół, ćwierć z kilometra, dwa kilometry i ćwierć"
    )


def test_without_a_form_for_parts_a_fraction_with_its_unit_stays_as_written() -> None:
    grammar = HALVES.replace("portion: other", "")
    assert read("½ km, 1/2 km, 2 ½ km i ½", grammar) == "½ km, 1/2 km, 2 ½ km i połowa"


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
    table = "\n".join(read_lists("en").lines("rules"))
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


MEASURES = "units currencies subunits scales".split()
BY_GENDER = ["halves", "half after", "with half", "one and a half"]
MEANINGS = [*MEASURES, *BY_GENDER, "part", "fractions", "abbreviations", "closing",
            "before numbers", "decimal places"]  # fmt: skip
SECTIONS = [*"notation forms words months starters openings patterns rules corrections".split(),
            "divisions", "rules before own", "never last", "never last before numbers",
            "days before dates"]  # fmt: skip


def list_mistakes(lists: WordLists) -> list[str]:
    """Returns the mistakes in the lists of a grammar, with file and line."""
    notation = lists.table("notation") if "notation" in lists else {}
    categories = notation.get("plurals", "one other").split()
    genders = {"any", *(lists.table("forms") if "forms" in lists else ())}
    genders |= {key for name in BY_GENDER if name in lists for key in lists.table(name)}
    used = "\n".join(
        line
        for grammar in (lists, read_lists("common"))
        for section in ("patterns", "rules")
        if section in grammar
        for line in grammar.lines(section)
    )
    mistakes: list[str] = []
    for section in lists.sections():
        name = " ".join(word for word in section.split() if word not in ("br", "mx", "latn"))
        slot = rf"[{{:]{name.replace(' ', '_')}\d?[:^}}]"
        is_known = name in (*SECTIONS, *MEANINGS) or name.startswith("numbers ")
        seen: set[str] = set()
        lines = lists.numbered_lines(section)
        if not is_known and not re.search(slot, used):
            mistakes.append(
                f"{lists.name}:{lines[0][0]}: no rule uses the list '{section}': {lines[0][1]}"
            )
        for number, line in lines if name in MEANINGS else ():
            written, colon, meaning = line.partition(": ")
            words, _, gender = meaning.partition("; ")
            forms = words.split(", ")
            has_forms = name in (*MEASURES, "decimal places")
            for is_wrong, message in (
                (not colon, "no meaning"),
                (colon and (not all(forms) or words != " ".join(words.split())), "an empty form"),
                (has_forms and len(forms) not in (1, len(categories)),
                 f"{len(forms)} forms for {len(categories)} categories of plurals"),
                (not has_forms and len(forms) > 1 and name in BY_GENDER, "more than one form"),
                (gender and gender not in genders, f"no gender '{gender}'"),
                (name in BY_GENDER and written not in genders, f"no gender '{written}'"),
                (written in seen, f"'{written}' again"),
            ):  # fmt: skip
                if is_wrong:
                    mistakes.append(f"{lists.name}:{number}: {message}: {line}")
            seen.add(written)
    return mistakes


@pytest.mark.parametrize("code", grammars.languages())
def test_the_lists_of_every_language_are_without_mistakes(code: str) -> None:
    assert list_mistakes(read_lists(code)) == []


@pytest.mark.parametrize(
    ("section", "line", "message"),
    [
        ("units", "l: litr, litry", "2 forms for 3 categories of plurals"),
        ("units", "l: litr, , litra; masculine", "an empty form"),
        ("units", "l: litr; masculin", "no gender 'masculin'"),
        ("units", "l litr", "no meaning"),
        ("units", "m: metr; masculine", "'m' again"),
        ("halves", "any: pół, połowa", "more than one form"),
        ("unit", "l: litr", "no rule uses the list 'unit'"),
    ],
)
def test_a_mistake_in_a_list_is_named_with_its_line(section: str, line: str, message: str) -> None:
    units = (
        "[notation]\nplurals: one few other\n[forms]\nmasculine: m\n[units]\nm: metr; masculine\n"
    )
    text = f"{units}{line}" if section == "units" else f"{units}[{section}]\n{line}"
    number = 1 + text.count("\n")
    assert list_mistakes(WordLists(text, "pl.txt")) == [f"pl.txt:{number}: {message}: {line}"]


def test_the_docstring_describes_what_grammars_use_and_nothing_else() -> None:
    described = grammars.__doc__ or ""
    lists = [read_lists(code) for code in (*grammars.languages(), "en")]
    keys = {
        line.partition(":")[0].split()[0]
        for grammar in lists
        if "notation" in grammar
        for line in grammar.lines("notation")
    }
    assert keys == set(re.findall(r"^    `(\w+)`  ", described, re.MULTILINE))
    rules = "\n".join(
        line
        for grammar in (*lists, read_lists("common"))
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
    [
        "18° 12′",
        "18 000 00",
        *"""
    IC#2 30^5 7@8 11<12 km1477~79 2155'97 46&31 C1083 12er-67er 70..93 27%112 13°C−40°C 1744·6b
    4-98b %1073 7%% 29h:37h 10⁻³ #18 n°20 $-7 18km/
    """.split(),
    ],
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
