"""Reads the grammars of languages, `languages/*.txt`, into rules.

A grammar says what a reader makes of figures, signs and abbreviations. Its sections:

`[notation]`  `locale` of CLDR if it is not the file's name; `decimal` sign; `group`, the signs
    between thousands ("_" is a space); `ordinals: dot` if a figure with a full stop is an ordinal;
    `fraction: number` if decimals are said as a number and not digit by digit; `plurals`, the order
    of forms in lists (CLDR's categories; "one other"); `spaces: no` where words stand next to each
    other, and to figures; `rules: own` without the common ones. A key may name regions: `decimal mx
    us: .`. `patterns: exact` if patterns and lists match anywhere and with regard to case, patterns
    are expanded as they are, and templates keep their spaces (in quotes: `" slash "`).
`[forms]`  `form: set of CLDR's rules`, or `form: another form, ending>ending ...` (`_` for a
    space). `cardinal` is what a number is without a form; `year`, `day`, `hour`, `minute` are used
    for these slots, and `decimals`, `form-decimals` for the parts of a decimal number.
`[decimal places]`  `1: tenth, tenths`: what follows so many decimals, which are said as a number.
`[numbers SET]`  an own set of rules in CLDR's notation (see `cldr_numbers.py`).
`[corrections]`  `pattern: right words` for what CLDR says wrongly.
`[words]`  single words for templates; `decimal` may have forms by the plural of the whole number.
`[months]`  twelve lines, `name: abbreviations`; after one, its name in a region: `Jänner at: Jän.`.
`[patterns]`  `name: regular expression`, for rules that share it: `{name}`, spoken as written. It
    may itself have slots, of kinds, of lists and of patterns above it.
`[starters]`  words that begin a sentence after a figure with a full stop, in German with its
    nouns in capitals.
`[rules]`  `name: pattern -> spoken`, in order: text that a rule has read is closed to later ones.
    With exact patterns `-> @module.function` names a function of the language, and after a line
    `when: pattern` the rules apply only to a text in which that pattern occurs.
Any other section is a list, `written: spoken` or plain words, that patterns can name. Several
    spoken forms are divided by commas; a gender comes after a semicolon:
    `km: kilometr, kilometry, kilometrów, kilometra; masculine`.
    `[units br]` has entries of a region, which take the place of others.

A pattern is a regular expression, without regard to case, with slots:

`{n}` whole number, `{number}` with decimals, `{upto}` a number greater than the one before;
`{digits}` figures said one by one, `{day}` 1 to 31, `{mm}` 1 to 12, `{year}` 1000 to 2099, `{hour}`
`{minute}` `{cents}` two figures but 00, `{roman}` a Roman numeral in capitals, `{numeral}` that or
a whole number, `{point}` the decimal sign, `{month}` a month's name, `{capital}` a capital letter;
`{list}` what a section lists (`_` for a space in its name), exactly as written there, but for a
capital at the beginning; `{name=a|b}` a pattern of its own, spoken as written, or as a number if it
has such a name: `{n=1|21}`. A second slot of a kind has a figure: `{n2}`.

A pattern that begins or ends with figures does not match inside of a longer one; nor does any begin
or end inside of a word.

In a template `{slot}` is the slot in words; `{slot:form}` a number in that form; `{n:unit}` a
number in the gender of `{unit}`, `{unit:n}` a listed word in the plural of `{n}`, `{unit:many}` in
one category of plurals; `{slot:form^}` begins with a capital; `{word}` is one of `[words]`. Words
are kept apart from what stands next to them by a space.

`common.txt` has the rules of all languages, applied after a language's own; one that needs a word,
list or form that the language lacks is left out. A figure that no rule reads stays as written.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Protocol

from narrator.text.normalize import numbers
from narrator.text.normalize.capitals import CAPITALS
from narrator.text.normalize.rules import Group, Rule, RuleMatch, Speak, alternatives
from textbase.word_lists import WordLists, read_word_lists

_FOLDER = Path(__file__).with_name("languages")
_COMMON = _FOLDER / "common.txt"
_SAME_AS = {"nb": "no", "nn": "no", "fil": "tl"}

_CAPITAL = f"[{''.join(c for c in map(chr, range(0x530)) if c.isupper())}]"
_CLOSING_MARKS = r"[\"')\]]*"
_TEXT_STOP = rf"{_CLOSING_MARKS}\s*(?:$|\n)"
_CURRENCY_SIGNS = "$€£¥₽₹₩₪₴₺₫฿"
_MARKS = "\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963"
"""Signs of vowels in Devanagari, which belong to words, but not to `\\w`."""
_LETTER = re.compile(rf"[^\W_]|[{_MARKS}]")
_FIGURES_BEFORE = rf"(?<![\w{_MARKS}.,:/+=±×{_CURRENCY_SIGNS}])(?<![\w{_MARKS}][-–−])"
_FIGURES_AFTER = rf"(?![\w/+=×{_MARKS}]|[-–−:'][^\W_]|[.,]\d|\s?[%‰°{_CURRENCY_SIGNS}])"
_WORD_BEFORE = rf"(?:\b|(?!\w))(?<![{_MARKS}])"
_WORD_AFTER = rf"(?:\b|(?<!\w))(?!/\w|[{_MARKS}])"
_FIGURES = frozenset("n number upto day year hour minute cents".split())
"""Kinds of slots whose figures are said as a number."""
_NUMERALS = _FIGURES | {"numeral"}
_ROMAN = r"[MDCLXVI](?<![A-Za-z].)(?:[MDCLXVI]*(?![a-zß-ÿ])|(?<=[IVX])(?:[IVX]|[eèé][rm]?e?(?!\w)))"
_GATES = {**dict.fromkeys(_FIGURES, r"\d"), "roman": _ROMAN, "numeral": rf"\d|{_ROMAN}"}
"""What a text has if it has a slot of these kinds."""
_NEEDS_DIGIT = re.compile(r"\(\?=(?: |\\s\?|\\s)?\\d\)$")
_GATES_BY_RULE = {"fraction": r"[\d¼-¾⅐-⅞]", "telephone": r"\d"}
_NUMERIC = _NUMERALS | {"roman", "digits"}
_SLOT = re.compile(r"\{(?P<name>[a-z_]+\d?)(?:=(?P<own>[^{}]*)|:(?P<form>[\w-]+))?(?P<up>\^?)\}")


_NOT_BEFORE = re.compile(r"(?:\(\?!(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?")
"""The end of a rule's pattern that only says what must not follow, if anything."""


class UnknownNameError(ValueError):
    """A rule names a list, word or form that its grammar lacks."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a list says for one of its keys: forms by plural, and the gender of its noun."""

    forms: tuple[str, ...]
    gender: str = ""

    def capitalised(self) -> _Entry:
        return replace(self, forms=tuple(map(_capitalise, self.forms)))


@dataclass(frozen=True, slots=True)
class _Slot:
    """A slot of a template: the name of a pattern's slot, the form asked for (or the slot that it
    agrees with), and whether it begins with a capital."""

    name: str
    form: str
    is_capital: bool


class Speller(Protocol):
    """Says numbers, as `cldr_numbers.Numbers` does."""

    def __contains__(self, rule_set: str, /) -> bool: ...

    def spell(self, number: int, rule_set: str, /) -> str | None: ...

    def plural(self, number: str, /) -> str: ...


@functools.cache
def rules(tag: str) -> tuple[Group, ...]:
    """Returns the rules of a language by its lower-case BCP 47 tag; none for an unknown one."""
    primary, *regions = tag.split("-")
    code = _SAME_AS.get(primary, primary)
    return tuple(grammar(code, *regions).groups()) if code in languages() else ()


@functools.cache
def languages() -> tuple[str, ...]:
    """Returns the codes of the languages that have a grammar, but for English (`english.py`)."""
    return tuple(sorted({path.stem for path in _FOLDER.glob("*.txt")} - {_COMMON.stem, "en"}))


@functools.cache
def grammar(code: str, *regions: str) -> Grammar:
    """Returns the grammar of one of `languages`."""
    return Grammar(read_lists(code), code, regions)


def read_lists(code: str) -> WordLists:
    """Returns the sections of a language's file."""
    return read_word_lists(_FOLDER / f"{code}.txt")


class Grammar:
    """The grammar of one language: its numbers and lists, and the rules made of them.

    `speller` says its numbers if CLDR does not; `functions` finds those that its rules name.
    Raises UnknownNameError if one of its own rules names what it lacks.
    """

    def __init__(
        self,
        lists: WordLists,
        code: str,
        regions: Sequence[str] = (),
        speller: Speller | None = None,
        functions: Callable[[str], Speak] | None = None,
    ) -> None:
        self._lists, self._regions = lists, regions
        self._notation = _of_region(self._table("notation"), regions)
        self._words = _of_region(self._table("words"), regions)
        self._numbers = speller or self._cldr_numbers(code)
        self._functions = functions
        self._is_exact = self._notation.get("patterns") == "exact"
        self._forms = self._read_forms(_of_region(self._table("forms"), regions))
        self._plurals = self._notation.get("plurals", "one other").split()
        self._point = self._notation.get("decimal", ",")
        self._gap = "" if self._notation.get("spaces") == "no" else " "
        self._sentence_stop = self._build_sentence_stop()
        self._own_patterns = self._table("patterns")
        self._months = self._month_names()
        self._figures_before, self._figures_after = _FIGURES_BEFORE, _FIGURES_AFTER
        self._word_before, self._word_after = _WORD_BEFORE, _WORD_AFTER
        if not self._gap:  # words stand next to each other, and to figures
            self._figures_before = _FIGURES_BEFORE.replace(r"\w", r"A-Za-z\d")
            self._figures_after = _FIGURES_AFTER.replace(r"[\w/", r"[A-Za-z\d/")
            self._word_before = self._word_after = ""
        self._ordinal_stop = (
            re.compile(rf"\.(?!\.|{self._sentence_stop})")
            if self._notation.get("ordinals") == "dot"
            else None
        )
        self._patterns = self._slot_patterns()
        for name, pattern in self._own_patterns.items():
            self._patterns[name] = (
                self._expand(pattern)
                if self._is_exact
                else _SLOT.sub(lambda slot: f"(?:{self._pattern(_kind(slot['name']))})", pattern)
            )

    def _cldr_numbers(self, code: str) -> Speller:
        from narrator.text.normalize.cldr_numbers import Numbers  # slow, and not for English

        own_rules = {
            section.removeprefix("numbers "): self._lists.lines(section)
            for section in self._lists.sections()
            if section.startswith("numbers ")
        }
        locale = self._notation.get("locale", code)
        return Numbers(locale, own_rules, self._table("corrections"))

    def _table(self, section: str) -> dict[str, str]:
        has_lines = section in self._lists and self._lists.lines(section)
        return self._lists.table(section) if has_lines else {}

    def _read_forms(
        self, table: Mapping[str, str]
    ) -> dict[str, tuple[str, tuple[tuple[re.Pattern[str], str], ...]]]:
        """Returns the set of rules and the changed endings of each form."""
        forms: dict[str, tuple[str, tuple[tuple[re.Pattern[str], str], ...]]] = {}
        for form, meaning in {"cardinal": "numbering", **table}.items():
            base, _, changes = meaning.partition(", ")
            rule_set, endings = forms.get(base, (base, ()))
            if rule_set not in self._numbers:
                raise UnknownNameError(f"no set of rules '{rule_set}': {form}: {meaning}")
            for change in changes.split():
                old, _, new = change.replace("_", " ").partition(">")
                endings += ((re.compile(rf"(?:{old})\b"), new),)
            forms[form] = rule_set, endings
        return forms

    def _month_names(self) -> list[str]:
        """Returns the names of the months, in order, as they are in the region."""
        names: list[str] = []
        for line in self._lists.lines("months") if "months" in self._lists else ():
            name, its_regions, _ = _month(line)
            if not its_regions:
                names.append(name)
            elif not its_regions.isdisjoint(self._regions):
                names[-1] = name
        return names

    def groups(self) -> Iterator[Group]:
        """Yields the rules in order; neighbours that need the same characters are a group."""
        gated_rules = list(self._own_rules())
        if self._notation.get("rules") != "own":
            gated_rules += self._common_rules()
        for gate, gated in groupby(gated_rules, key=lambda gate_and_rule: gate_and_rule[0]):
            yield Group(gate, *(rule for _, rule in gated))
        if self._gap and not self._is_exact:
            yield CAPITALS

    # -- numbers and listed words ------------------------------------------------------------------

    def spell(self, number: int, form: str = "cardinal") -> str | None:
        """Returns a number in words, in a form of the grammar; None if it is too large."""
        words = self._numbers.spell(number, self._forms[form][0])
        return None if words is None else self._change_endings(words, form)

    def _change_endings(self, words: str, form: str) -> str:
        """Returns words of a number with the endings of a form."""
        for pattern, ending in self._forms[form][1]:
            words = pattern.sub(ending, words)
        return words

    def _spell_figures(self, figures: str, form: str) -> str | None:
        """Returns a written number in words, with its decimals."""
        integer, _, decimals = figures.partition(self._point)
        if not decimals:
            return self.spell(_value(integer), form)
        candidates = (f"{form}-decimals", "decimals", "cardinal")
        form = next(name for name in candidates if name in self._forms)
        places = str(len(decimals))
        place_words = ""
        if "decimal places" in self._lists and places in self._entries["decimal places"]:
            parts = [decimals]
            place_words = self._in_plural(self._entry("decimal places", places).forms, decimals)
        elif self._notation.get("fraction") == "number" and len(decimals) <= 3:
            without_zeros = decimals.lstrip("0")
            parts = [*decimals.removesuffix(without_zeros), *filter(None, [without_zeros])]
        else:
            parts = list(decimals)
        sign_words = self._in_plural(self._words["decimal"].split(", "), integer)
        fraction_words = [self.spell(int(part), form) for part in parts]
        sign_words, place_words = (
            self._change_endings(words, form) for words in (sign_words, place_words)
        )
        return self._join(
            [self.spell(_value(integer), form), sign_words, *fraction_words, place_words]
        )

    def _in_plural(self, forms: Sequence[str], figures: str) -> str:
        """Returns the form of a word that the plural of a written number takes."""
        category = self._numbers.plural(self._plain_figures(figures))
        index = self._plurals.index(category) if category in self._plurals else len(forms)
        return forms[min(index, len(forms) - 1)]

    def _join(self, words: Sequence[str | None]) -> str | None:
        """Returns words as one text; None if one of them cannot be said."""
        return None if None in words else self._gap.join(filter(None, words))

    def _plain_figures(self, figures: str) -> str:
        """Returns a written number as "1234.5"."""
        integer, _, decimals = figures.partition(self._point)
        return f"{_value(integer)}.{_value(decimals)}" if decimals else str(_value(integer))

    def _entry(self, section: str, written: str) -> _Entry:
        """Returns the entry of a written word, which may begin with a capital of its own."""
        entries = self._entries[section]
        if entry := entries.get(_key(written)):
            return entry
        return entries[_key(written[0].lower() + written[1:])].capitalised()

    @functools.cached_property
    def _entries(self) -> _ListsByName:
        return _ListsByName(self._lists, self._regions)

    # -- rules -------------------------------------------------------------------------------------

    def _own_rules(self) -> Iterator[tuple[str, Rule]]:
        lines = _rule_lines(self._lists) if "rules" in self._lists else []
        if not self._is_exact:
            yield from map(self._read_rule, lines)
            return
        gate = ""
        for line in lines:
            name, _, rest = line.partition(": ")
            if name == "when":
                gate = self._expand(rest)
            else:
                yield gate, self._read_exact_rule(name, *rest.split(" -> ", 1))

    def _read_exact_rule(self, name: str, written: str, template: str) -> Rule:
        if template.startswith("@") and self._functions:
            return Rule(name, self._expand(written), self._functions(template[1:]))
        kinds = dict.fromkeys(re.findall(r"\(\?P<(\w+)>", written), "own")
        kinds |= {slot["name"]: _kind(slot["name"]) for slot in _SLOT.finditer(template)} | kinds
        if not kinds:
            return Rule(name, self._expand(written), template.strip('"'))
        parts = tuple(self._read_template(template.strip('"'), kinds))
        return Rule(
            name, self._expand(written, kinds), lambda match: self._speak(match, parts, kinds)
        )

    def _expand(self, written: str, captured: Container[str] = ()) -> str:
        """Returns an exact pattern with its slots filled; those of `captured` become groups."""

        def fill(slot: re.Match[str]) -> str:
            name = slot["name"]
            pattern = slot["own"] or self._patterns.get(name)
            pattern = pattern or alternatives(self._entries[_kind(name)].words)
            return f"(?P<{name}>{pattern})" if name in captured else pattern

        return _SLOT.sub(fill, written)

    def _common_rules(self) -> Iterator[tuple[str, Rule]]:
        for line in _rule_lines(read_word_lists(_COMMON)):
            if not self._gap:
                written, arrow, template = line.partition(" -> ")
                line = written + arrow + template.replace(" ", "")
            with contextlib.suppress(UnknownNameError):
                yield self._read_rule(line)

    def _read_rule(self, line: str) -> tuple[str, Rule]:
        """Returns a rule, and a pattern that occurs in every text to which it applies."""
        name, _, rest = line.partition(": ")
        written, arrow, template = rest.partition(" -> ")
        if not arrow:
            raise ValueError(f"a rule without ' -> ': {line}")
        slots = list(_SLOT.finditer(written))
        kinds = {slot["name"]: _kind(slot["name"]) for slot in slots}
        kinds |= {
            slot["name"]: "own"
            for slot in slots
            if slot["own"] and kinds[slot["name"]] not in _NUMERIC
        }
        pattern = _SLOT.sub(
            lambda slot: f"(?P<{slot['name']}>{slot['own'] or self._pattern(_kind(slot['name']))})",
            written,
        )
        begins_with_figures = (
            slots and slots[0].start() == 0 and kinds[slots[0]["name"]] in _NUMERALS
        )
        ends_with_figures = (
            slots
            and kinds[slots[-1]["name"]] in _NUMERALS
            and _NOT_BEFORE.fullmatch(written, slots[-1].end())
        )
        before = self._figures_before if begins_with_figures else self._word_before
        if self._gap and written[0].isalpha():
            before = r"\b"
        pattern = (
            f"(?i){before}(?:{pattern})"
            f"{self._figures_after if ends_with_figures else self._word_after}"
        )
        parts = tuple(self._read_template(template, kinds))

        stop = _TEXT_STOP if name == "abbreviation" else self._sentence_stop

        def speak(match: RuleMatch) -> str | None:
            if name == "heading" and not match.heading:
                return None
            if ends_with_figures and self._ordinal_stop and self._ordinal_stop.match(match.after):
                return None
            words = self._speak(match, parts, kinds)
            return None if words is None else self._fit(match, _tidy(words), stop)

        gates = [gate for kind, gate in _GATES.items() if kind in kinds.values()]
        if _NEEDS_DIGIT.search(written):
            gates.append(r"\d")
        if name in _GATES_BY_RULE:
            gates.append(_GATES_BY_RULE[name])
        if (
            not gates
            and slots
            and slots[0][0] == written
            and kinds[slots[0]["name"]] in self._lists
        ):
            gates.append(self._entries[kinds[slots[0]["name"]]].gate)
        return next(iter(gates), ""), Rule(name, pattern, speak)

    def _read_template(self, template: str, kinds: Mapping[str, str]) -> Iterator[str | _Slot]:
        """Yields the literal text and the slots of a template."""
        position = 0
        for slot in _SLOT.finditer(template):
            yield template[position : slot.start()]
            position = slot.end()
            name, form = slot["name"], slot["form"] or ""
            if name in kinds:
                if form and not any(form in names for names in (kinds, self._forms, self._plurals)):
                    raise UnknownNameError(f"no form '{form}': {template}")
                yield _Slot(name, form, bool(slot["up"]))
            elif name in self._words:
                yield self._words[name]
            else:
                raise UnknownNameError(f"neither a slot nor a word, '{name}': {template}")
        yield template[position:]

    def _speak(
        self, match: RuleMatch, parts: Sequence[str | _Slot], kinds: Mapping[str, str]
    ) -> str | None:
        """Returns a match in words; None if one of its slots cannot be said."""
        if "upto" in kinds and not self._ascends(match, kinds):
            return None
        said: list[str] = []
        for part in parts:
            if isinstance(part, str):
                said.append(part)
            elif match[part.name]:
                words = self._say_slot(match, part, kinds)
                if words is None:
                    return None
                said.append(_capitalise(words) if part.is_capital else words)
        return "".join(said)

    def _ascends(self, match: RuleMatch, kinds: Mapping[str, str]) -> bool:
        """Returns True if a range goes up."""
        values = [
            float(self._plain_figures(match[name]))
            for name, kind in kinds.items()
            if kind in _FIGURES and match[name]
        ]
        index = [kind for kind in kinds.values() if kind in _FIGURES].index("upto")
        return len(values) <= index or values[index - 1] < values[index]

    def _say_slot(self, match: RuleMatch, slot: _Slot, kinds: Mapping[str, str]) -> str | None:
        written, kind = match[slot.name], kinds[slot.name]
        partner = kinds.get(slot.form)
        match kind:
            case "own" | "point" | "capital":
                return written
            case "mm":
                return self._months[int(written) - 1]
            case "digits":
                form = slot.form or "cardinal"
                return self._join([self.spell(int(figure), form) for figure in written])
        if kind in self._own_patterns:
            return written
        if kind == "roman" or kind in _NUMERALS:
            form = slot.form
            if partner is not None and partner in self._entries:
                form = self._entry(partner, match[form]).gender
            form = next(name for name in (form, kind, "cardinal") if name in self._forms)
            if written[-1].isdigit():
                return self._spell_figures(written, form)
            value = numbers.roman(written)
            return self.spell(value, form) if value else None
        forms = self._entry(kind, written).forms
        if partner in _FIGURES:
            return self._in_plural(forms, match[slot.form])
        index = self._plurals.index(slot.form) if slot.form in self._plurals else 0
        return forms[min(index, len(forms) - 1)]

    def _fit(self, match: RuleMatch, words: str, stop: str) -> str:
        """Returns words with spaces from their neighbours, and with the full stop of a sentence.

        `stop` is a pattern of what follows the sentence.
        """
        if match[0].endswith(".") and re.match(stop, match.after):
            words += "."
        before = self._gap if _LETTER.match(match.before[-1:]) and _LETTER.match(words) else ""
        after = self._gap if _LETTER.match(match.after) and _LETTER.match(words[-1:]) else ""
        return f"{before}{words}{after}"

    # -- patterns ----------------------------------------------------------------------------------

    def _build_sentence_stop(self) -> str:
        """Returns a pattern of what follows a full stop that ends a sentence."""
        starters = "starters" in self._lists and alternatives(self._lists.words("starters"))
        opening = rf"(?:{starters})\b" if starters else _CAPITAL
        return rf"{_CLOSING_MARKS}(?:\s*$|\s*\n|\s+[\"'(\[]*(?-i:{opening}))"

    def _slot_patterns(self) -> dict[str, str]:
        default_signs = ", _" if self._point == "." else ". _"
        signs = re.escape(self._notation.get("group", default_signs).replace(" ", ""))
        group = rf"[{signs.replace('_', ' ')}]"
        groups = rf"(?:{group}\d{{2,3}})*{group}\d{{3}}(?!\d)"
        if self._notation.get("groups") != "indian":
            groups = rf"(?:{group}\d{{3}})+(?!\d)"
        single = rf"(?!0\d)(?:\d{{4,}}|\d{{1,3}}(?!{group}\d{{3}}(?!\d)))"
        integer = rf"(?:[1-9]\d{{0,2}}{groups}|{single})"
        number = rf"{integer}(?:{re.escape(self._point)}\d+)?"
        return {
            "n": integer,
            "number": number,
            "upto": number,
            "digits": r"\d+",
            "day": r"(?:0?[1-9]|[12]\d|3[01])",
            "mm": r"(?:0?[1-9]|1[0-2])",
            "year": r"(?:1\d{3}|20\d\d)",
            "hour": r"(?:[01]?\d|2[0-4])",
            "minute": r"[0-5]\d",
            "cents": r"(?!00)\d\d",
            "roman": "(?-i:[MDCLXVI]+)",
            "numeral": rf"(?:{integer}|(?-i:[MDCLXVI]+))",
            "point": re.escape(self._point),
            "capital": f"(?-i:{_CAPITAL})",
        }

    def _pattern(self, kind: str) -> str:
        """Returns the pattern of a slot."""
        return self._patterns.get(kind) or f"(?-i:{self._entries[kind].pattern})"


class _List(dict[str, _Entry]):
    """The entries of a list by their keys, and its words as they are written."""

    def __init__(self) -> None:
        self.words: list[str] = []

    @functools.cached_property
    def pattern(self) -> str:
        """The pattern of the words, for rules without regard to case."""
        longest_first = sorted(self.words, key=len, reverse=True)
        return f"(?:{'|'.join(map(_word_pattern, longest_first))})"

    @functools.cached_property
    def gate(self) -> str:
        """A quick pattern that occurs wherever one of the words does; "" for any text."""
        return _stops_pattern(self.words)


class _ListsByName(dict[str, _List]):
    """The lists of a language, read when they are first needed."""

    def __init__(self, lists: WordLists, regions: Sequence[str]) -> None:
        self._lists, self._regions = lists, regions

    def __missing__(self, name: str) -> _List:
        if name not in self._lists:
            raise UnknownNameError(f"neither a kind of slot nor a list: '{name}'")
        entries = self[name] = _List()
        sections = [name, *(f"{name} {region}" for region in self._regions)]
        for line in chain.from_iterable(
            map(self._lists.lines, filter(self._lists.__contains__, sections))
        ):
            written, colon, meaning = line.partition(": ")
            if name == "months":
                month, its_regions, abbreviations = _month(line)
                is_foreign = bool(its_regions) and its_regions.isdisjoint(self._regions)
                named = dict.fromkeys(
                    [month, *([] if is_foreign else abbreviations)], _Entry((month,))
                )
            elif colon:
                forms, _, gender = meaning.partition("; ")
                named = {written: _Entry(tuple(forms.split(", ")), gender)}
            else:
                named = {word: _Entry((word,)) for word in line.split()}
            entries.words += named
            entries.update((_key(word), entry) for word, entry in named.items())
            entries.update(
                (_key(word.upper()), entry) for word, entry in named.items() if _shouts(word)
            )
        return entries


def _stops_pattern(words: Sequence[str]) -> str:
    """Returns a pattern that occurs wherever one of some abbreviations does; "" for any text.

    It begins with the full stop, which regular expressions look for faster than for a word.
    """
    last_parts = {re.split(r"\W+", word[:-1])[-1].lower() for word in words}
    if "" in last_parts or not all(word.endswith(".") for word in words):
        return ""
    endings = "|".join(rf"(?<=\b{part}\.)" for part in sorted(last_parts))
    return rf"(?i)\.(?:{endings})"


def _month(line: str) -> tuple[str, set[str], list[str]]:
    """Returns a month's name, the regions that have this name, and its abbreviations."""
    name_and_regions, _, abbreviations = line.partition(": ")
    name, *regions = re.split(r" (?=[a-z]{2}\b)", name_and_regions)
    return name, set(regions), abbreviations.split()


def _word_pattern(word: str) -> str:
    """Returns a pattern of a listed word; spaces next to its marks and a capital are optional."""
    pattern = re.sub(r"(?<=\w)\\ ", r"\\s", re.escape(word))
    pattern = re.sub(r"(?<=\\\.)(?=.)(?!\\)|\\ ", r"\\s?", pattern)
    if word[0].islower() and len(word) > 1:
        pattern = f"[{word[0]}{word[0].upper()}]{pattern[1:]}"
    return f"{pattern}|{word.upper()}" if _shouts(word) else pattern


def _shouts(word: str) -> bool:
    """Returns True for a word that may be written in capitals."""
    return len(word) > 3 and word.isalpha() and not word.isupper()


def _key(written: str) -> str:
    return "".join(written.split())


def _tidy(words: str) -> str:
    return re.sub("  +", " ", words).strip()


def _kind(slot_name: str) -> str:
    """Returns the kind of a slot, or the section that it names."""
    name = slot_name.rstrip("0123456789").replace("_", " ")
    return "months" if name == "month" else name


def _value(figures: str) -> int:
    return int(re.sub(r"\D", "", figures))


def _capitalise(words: str) -> str:
    return words[:1].upper() + words[1:]


def _rule_lines(lists: WordLists) -> list[str]:
    return "\n".join(lists.lines("rules")).replace("\n  ", " ").split("\n")


def _of_region(table: Mapping[str, str], regions: Sequence[str]) -> dict[str, str]:
    """Returns a table whose keys may name regions (`decimal mx us`), as it is for these."""
    chosen: dict[str, str] = {}
    for name_and_regions, meaning in table.items():
        name, *its_regions = name_and_regions.split()
        if not its_regions or not set(its_regions).isdisjoint(regions):
            chosen[name] = meaning
    return chosen
