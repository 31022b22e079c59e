r"""Reads the grammars of languages, `languages/*.txt`, into rules.

A grammar says what a reader makes of figures, signs and abbreviations. A small one, of German:

    [notation]
    ordinals: dot

    [forms]
    feminine: cardinal-feminine
    ordinal-n: ordinal-n

    [words]
    decimal: Komma
    range: bis

    [months]
    Januar: Jan.
    Februar: Feb. Febr.

    [units]
    km: Kilometer; masculine
    t: Tonne, Tonnen; feminine

    [abbreviations]
    z. B.: zum Beispiel

    [patterns]
    before date: am|vom|zum

    [rules]
    date: {before_date} {day}\. {month} -> {before_date} {day:ordinal-n} {month}

    am 3. Febr., z. B. 1 t, 21 t oder 3-5,5 km
    am dritten Februar, zum Beispiel eine Tonne, einundzwanzig Tonnen oder drei bis fünf Komma fünf
    Kilometer

Only the date needed a rule: `common.txt` has those of all languages for units, money, times, ranges
and the lists named below. They come after a language's own; one that needs a word, list or form
that the language lacks is left out. A figure that no rule reads stays as written.

**Sections.** All may be missing. A line that begins with "# " is a comment, an indented one
continues the one before.

`[notation]`  How figures are written:
    `locale`     of CLDR, if it is not the file's name
    `decimal`    the sign before decimals; a comma if it is missing
    `group`      the signs between thousands, "_" for a space
    `groups`     `indian` for 12,34,567
    `ordinals`   `dot` if a figure with a full stop is an ordinal
    `fraction`   `number` if decimals are said as a number and not digit by digit
    `plurals`    CLDR's categories, in the order of forms in lists; "one other" if it is missing
    `portion`    the category of plurals of a unit after a fraction, "¾ l"; without it, such a
                 fraction stays as written
    `spaces`     `no` where words stand next to each other, and to figures
    `nouns`      `capital` if all nouns begin with one
    `rules`      `own` without the common ones
`[forms]`  `form: set of CLDR's rules`, or `form: another form, ending>ending ...` (regular
    expressions, "_" for a space). `cardinal` is what a number is without a form. `year`, `day`,
    `hour`, `minute`, `roman` and so on are the forms of these slots, `decimals` and `FORM-decimals`
    those of the parts of a decimal number.
`[numbers SET]`  A set of rules of the language's own in CLDR's notation (see `cldr_numbers.py`).
`[corrections]`  `regular expression: right words` for what CLDR says wrongly.
`[words]`  `name: spoken`, single words for templates. The common rules use `minus`, `range`, `and`,
    `of` (three quarters of a litre), `and_after` (two litres and a quarter), `and_part` (two and a
    quarter litres) and `diameter`;
    `decimal` may have forms by the plural of the whole number.
`[decimal places]`  `1: tenth, tenths`: what follows so many decimals, which are said as a number.
`[months]`  Twelve lines, `name: abbreviations`; after one, its name in a region: `Jänner at: Jän.`.
`[starters]`  Words that begin a sentence after a figure with a full stop, in languages like German,
    whose nouns begin with capitals.
`[openings]`  Words that open a sentence with a phrase of time or place: the abbreviation of a year
    in it ends no sentence (W 1492 r. Kolumb), but one elsewhere does before a capital.
`[never last]`  Abbreviations before a name or a number, folded and without their full stops, with
    which no sentence ends. `[never last before numbers]` are words without a number after them, and
    `[days before dates]` are days that are words too.
`[patterns]`  `name: regular expression` that rules share, spoken as written. It may have slots.
`[rules]`  `name: pattern -> template`, in order: text that a rule has read is closed to later ones.
    Readers see the name as the cause of a change. Some names mean something: a `heading` is read
    in titles only; an `abbreviation` keeps its full stop at the end of a paragraph only; `unit`,
    `money`, `scale`, `time`, `half` and `part` keep it before any capital, unless nouns have one
    (5 min. Then); a `fraction` is not read before a unit, with which `{part}` is read.
`[rules before own]`  The same, before all others. Those of `common.txt`, for international
    telephone numbers, stand before a language's `[rules]` unless it has such a section.
Any other section is a list, `written: spoken` or plain words, that patterns name: `before numbers`.
    Forms by plural are divided by commas, a gender comes after a semicolon:
    `km: kilometr, kilometry, kilometrów, kilometra; masculine`. The common rules use `units`,
    `currencies`, `subunits`, `scales`, `fractions`, `before numbers`, `divisions` (named by Roman
    numerals), `abbreviations`, `closing` (which may end a sentence) and `closing before openers`
    (which names may follow: they end one before the pattern `openers` only). Four lists have a word
    for each gender of a unit, or for `any`: `halves` ("media" hora), `half after` (dos horas "y
    media"), `with half` (два "с половиной" часа) and `one and a half` ("полтора" часа).

A key of notation, forms or words may name regions (`decimal mx us: .`), a list too: the entries of
`[units br]` take the place of those of `[units]` in `pt-BR`.

**Patterns** are regular expressions without regard to case, and with slots:

    {n}                 a whole number
    {number}            also with decimals
    {upto}              a number greater than the one before
    {day} {mm} {hour}   1 to 31, 1 to 12 (said as a month), 0 to 24
    {year}              1000 to 2099
    {minute} {cents}    two figures; {cents} are not 00
    {digits}            figures said one by one
    {roman} {numeral}   a Roman numeral in capitals; that or a whole number
    {month}             a month's name or abbreviation
    {half}              ½ or 1/2
    {part}              one of the list `part`, else `fractions`, also with a slash: ¾ or 3/4
    {point} {capital}   the decimal sign; a capital letter
    {before_numbers}    what the list or pattern `before numbers` has, a listed word exactly as
                        written there, but for a capital at the beginning
    {name=a|b}          a pattern in place, spoken as written, or as a number if it has the name of
                        one: {n=1|21}
    {figures=\d+/\d+}   the same; promises that the text has a figure
    {n2}                a second slot of a kind

A pattern that begins or ends with a number does not match inside of a longer one; nor does any
begin or end inside of a word. A rule is tried only on a text that has what its slots need (see
`gate_of`): a rule with a number, even an optional one, is not tried on a text without figures.

**Templates** are text with slots; they are kept apart from what stands next to them by spaces.

    {day}               the slot in words
    {day:ordinal}       a number in a form
    {n:units}           a number in the gender of the word in {units}
    {units:n}           a listed word in the plural of {n}
    {units:many}        a listed word in a category of plurals
    {units:portion}     in that of a unit after a fraction
    {units:half_after}  what another list has for the gender of a listed word
    {roman^}            with a capital
    {range}             one of `[words]`
    _                   a space that stays at the end of the words
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from narrator.text.language_lists import FOLDER, file_code, read_lists
from narrator.text.normalize import numbers
from narrator.text.normalize.capitals import CAPITALS
from narrator.text.normalize.grammar_lists import (
    GrammarError,
    ListsByName,
    UnknownNameError,
    capitalise,
    month_names,
)
from narrator.text.normalize.grammar_numbers import NumberWords, Speller
from narrator.text.normalize.grammar_patterns import (
    CAPITAL,
    COUNTING_KINDS,
    FIGURE,
    LETTER,
    NUMBER_KINDS,
    NUMERIC_KINDS,
    SLOT,
    TEXT_STOP,
    VOWEL_SIGN,
    boundaries,
    ends_after,
    gate_of,
    kind_of,
    sentence_stop,
    slot_patterns,
)
from narrator.text.normalize.rules import Group, Rule, RuleMatch, alternatives
from narrator.text.sentences import in_opening_phrase
from textbase.word_lists import WordLists, read_word_lists

_COMMON = FOLDER / "common.txt"
_LASTING_SPACE = "\xa0"  # texts have none (typography.canonical)
_NOTATION = frozenset(
    "locale decimal group groups ordinals fraction plurals portion spaces nouns rules".split()
)
_DATES = frozenset(["date", "year", "century", "closing"])
"""Names of rules whose abbreviations end a sentence before a capital or figure, unless they belong
to the phrase that opens it, if the grammar lists `openings`."""
_MEASURES = frozenset(["unit", "money", "scale", "time", "half", "part"])
"""Names of rules whose full stop is not followed by a name, as that of a year may be."""

_DATED = re.compile(r"\b(?:\d+|[IVXLC]+\b)[\W_]*(?:[^\W\d_]{1,4}(?:[\W_]+|$)){1,5}$")
"""A year or century with its abbreviations: "1492 r.", "44 av. J.-C."."""
_DATE_END = re.compile(r"[^\W\d_]\.$")
_NEXT_SENTENCE = re.compile(rf"[\"')\]]*\s+(?:{CAPITAL}|\d)")
_NEXT_COUNT = re.compile(
    r"[\"')\]]*\s+(?P<figure>\d[\d.,]*(?:\s?[-–]\s?\d+)?)(?=\s(?P<word>[^\W\d_]+))"
)
"""A count of things after a measure, which begins the next sentence: 20 min. 3 men."""
_HOUR_END = re.compile(r"\d\s?[hu]\.$")
_LENGTH_END = re.compile(r"[\d\s][kcd]?m\.$")
_MASS = re.compile(r"\s[kdm]?[gl]\b")
_SMALL_UNIT = re.compile(
    r"(?i)[ck]?ent|cts?\b|öre|øre|gr\b|коп|min|se[ck]|мин|сек|хв|pf|ban|hal|fil|std|timm|tim\b"
)
"""What follows a larger unit or coin without beginning a sentence: 2 h. 30 min, 5 kr. 50 öre."""


@functools.cache
def rules(tag: str) -> tuple[Group, ...]:
    """Returns the rules of a language by its lower-case BCP 47 tag; none for an unknown one."""
    primary, *regions = tag.split("-")
    code = file_code(primary)
    if code not in languages():
        return ()
    return tuple(Grammar(read_lists(code), code, regions).groups())


@functools.cache
def languages() -> tuple[str, ...]:
    """Returns the codes of the languages that have a grammar, but for English (`english.py`)."""
    return tuple(sorted({path.stem for path in FOLDER.glob("*.txt")} - {_COMMON.stem, "en"}))


@dataclass(frozen=True, slots=True)
class _TemplateSlot:
    """A slot of a template: the name of a pattern's slot, the form asked for (or the slot that it
    agrees with), and whether it begins with a capital."""

    name: str
    form: str
    is_capital: bool


Template = Sequence[str | _TemplateSlot]
"""The literal text and the slots of a template, in order."""


class Grammar:
    """The grammar of one language: its numbers and lists, and the rules made of them.

    `speller` says its numbers if CLDR does not. Raises GrammarError if the language's own sections
    name what it lacks.
    """

    def __init__(
        self,
        lists: WordLists,
        code: str,
        regions: Sequence[str] = (),
        speller: Speller | None = None,
    ) -> None:
        self._lists, self._regions = lists, regions
        self._notation = self._regional_table("notation")
        for key in self._notation.keys() - _NOTATION:
            raise self._error("notation", key, f"no key '{key}' of notation")
        self._words = self._regional_table("words")
        self._months = month_names(lists, regions)
        self._entries = ListsByName(lists, regions)
        self._numbers = self._number_words(speller or self._cldr_numbers(code))
        self._boundaries = boundaries(
            has_spaces=bool(self._numbers.gap),
            has_vowel_signs=bool(VOWEL_SIGN.search("".join(self._words.values()))),
        )
        starters = lists.words("starters") if "starters" in lists else []
        self._sentence_stop = sentence_stop(starters)
        self._measure_stop = (
            self._sentence_stop if self._notation.get("nouns") == "capital" else sentence_stop([])
        )
        self._openings = frozenset(lists.words("openings") if "openings" in lists else ())
        self._ordinal_stop = (
            re.compile(rf"\.(?!\.|{self._sentence_stop})")
            if self._notation.get("ordinals") == "dot"
            else None
        )
        self._patterns = slot_patterns(self._notation, self._numbers.point)
        self._own_patterns = self._table("patterns")
        for name, pattern in self._own_patterns.items():
            self._patterns[name] = self._fill_pattern(pattern)

    def _table(self, section: str) -> dict[str, str]:
        return self._lists.table(section) if section in self._lists else {}

    def _regional_table(self, section: str) -> dict[str, str]:
        """Returns a table whose keys may name regions (`decimal mx us`), as it is for these."""
        meanings: dict[str, str] = {}
        for key_and_regions, meaning in self._table(section).items():
            key, *its_regions = key_and_regions.split()
            if not its_regions or not set(its_regions).isdisjoint(self._regions):
                meanings[key] = meaning
        return meanings

    def _error(self, section: str, key: str, message: str) -> GrammarError:
        """Returns an error at the line of a key."""
        lines = self._lists.numbered_lines(section)
        number = next(number for number, line in lines if re.split("[ :]", line)[0] == key)
        return GrammarError(f"{self._lists.name}:{number}: {message}")

    def _cldr_numbers(self, code: str) -> Speller:
        from narrator.text.normalize.cldr_numbers import Numbers  # slow, and not for English

        own_rules = {
            section.removeprefix("numbers "): self._lists.lines(section)
            for section in self._lists.sections()
            if section.startswith("numbers ")
        }
        locale = self._notation.get("locale", code)
        return Numbers(locale, own_rules, self._table("corrections"))

    def _number_words(self, speller: Speller) -> NumberWords:
        number_words = NumberWords(
            speller,
            self._notation,
            self._words["decimal"].split(", ") if "decimal" in self._words else [],
            self._entries["decimal places"] if "decimal places" in self._lists else {},
        )
        for form, meaning in self._regional_table("forms").items():
            try:
                number_words.add_form(form, meaning)
            except UnknownNameError as error:
                raise self._error("forms", form, str(error)) from None
        return number_words

    # -- rules -------------------------------------------------------------------------------------

    def groups(self) -> Iterator[Group]:
        """Yields the rules in order; neighbours that need the same characters are a group."""
        before_own = "rules before own"
        gated_rules = [*self._own_rules(before_own), *self._own_rules("rules")]
        if self._notation.get("rules") != "own":
            if before_own not in self._lists:
                gated_rules[:0] = self._common_rules(before_own)
            gated_rules += self._common_rules("rules")
        for gate, gated in groupby(gated_rules, key=lambda gate_and_rule: gate_and_rule[0]):
            yield Group(gate, *(rule for _, rule in gated))
        if self._numbers.gap:
            yield CAPITALS

    def _own_rules(self, section: str) -> Iterator[tuple[str, Rule]]:
        """Yields the rules of a section of the language, each with its gate."""
        if section not in self._lists:
            return
        for number, line in self._lists.numbered_lines(section):
            origin = f"{self._lists.name}:{number}"
            try:
                yield self._read_rule(line, origin)
            except GrammarError as error:
                raise GrammarError(f"{origin}: {error}") from None

    def _common_rules(self, section: str) -> Iterator[tuple[str, Rule]]:
        for _, line in read_word_lists(_COMMON).numbered_lines(section):
            if not self._numbers.gap:
                written, arrow, template = line.partition(" -> ")
                line = written + arrow + template.replace(" ", "")
            with contextlib.suppress(UnknownNameError):
                yield self._read_rule(line)

    def _read_rule(self, line: str, origin: str = _COMMON.name) -> tuple[str, Rule]:
        """Returns a rule with its gate, a pattern that occurs in every text to which it applies."""
        name, _, pattern_and_template = line.partition(": ")
        written, arrow, template = pattern_and_template.partition(" -> ")
        if not arrow:
            raise GrammarError(f"a rule without ' -> ': {line}")
        slots = list(SLOT.finditer(written))
        kinds = {slot["name"]: _kind_in_pattern(slot) for slot in slots}
        pattern = SLOT.sub(self._fill_slot, written)
        parts = tuple(self._read_template(template, kinds))
        begins_with_figures = (
            slots and slots[0].start() == 0 and kinds[slots[0]["name"]] in NUMBER_KINDS
        )
        ends_with_figures = (
            slots and kinds[slots[-1]["name"]] in NUMBER_KINDS and ends_after(written, slots[-1])
        )
        edges = self._boundaries
        before = edges.before_figures if begins_with_figures else edges.before_word
        if ends_with_figures:
            after = edges.after_figures
        else:
            after = edges.after_measure if begins_with_figures else edges.after_word
        if self._numbers.gap and written[0].isalpha():
            before = r"\b"
        if name == "abbreviation":
            stop = TEXT_STOP
        else:
            stop = self._measure_stop if name in _MEASURES else self._sentence_stop

        is_era = "closing before openers" in kinds.values()
        may_end_date = bool(self._openings) and (name in _DATES or is_era)

        def speak(match: RuleMatch) -> str | None:
            if name == "heading" and not match.heading:
                return None
            if name == "fraction" and self._measure.match(match.after):
                return None
            if ends_with_figures and self._ordinal_stop and self._ordinal_stop.match(match.after):
                return None
            words = self._speak(match, parts, kinds)
            if words is None:
                return None
            ends_date = may_end_date and self._ends_date(match, is_list=name == "closing")
            ends_measure = name in _MEASURES and self._ends_measure(match, name)
            return self._fit(match, words, "" if ends_date or ends_measure else stop)

        gate = gate_of(written, {kind_of(slot_name) for slot_name in kinds})
        begins_with_slot = slots and re.match(rf"{re.escape(slots[0][0])}(?:$|\(\?[=!])", written)
        if not gate and begins_with_slot and kinds[slots[0]["name"]] in self._lists:
            gate = self._entries[kinds[slots[0]["name"]]].gate
        return gate, Rule(name, f"(?i){before}(?:{pattern}){after}", speak, origin)

    @functools.cached_property
    def _measure(self) -> re.Pattern[str]:
        """What does not follow a fraction that is read alone: a unit, or the end of a range."""
        unit = rf"\s?{self._pattern('units')}{self._boundaries.after_word}|"
        return re.compile(rf"{unit if 'units' in self._lists else ''}\s?[-–]\s?{FIGURE}")

    def _fill_pattern(self, pattern: str) -> str:
        """Returns one of `[patterns]` with its slots filled."""
        return SLOT.sub(lambda slot: f"(?:{self._pattern(kind_of(slot['name']))})", pattern)

    def _fill_slot(self, slot: re.Match[str]) -> str:
        """Returns the group that takes the place of a slot in the pattern of a rule."""
        return f"(?P<{slot['name']}>{slot['pattern'] or self._pattern(kind_of(slot['name']))})"

    def _pattern(self, kind: str) -> str:
        return self._patterns.get(kind) or f"(?-i:{self._entries[kind].pattern})"

    def _read_template(
        self, template: str, kinds: Mapping[str, str]
    ) -> Iterator[str | _TemplateSlot]:
        position = 0
        for slot in SLOT.finditer(template):
            yield template[position : slot.start()].replace("_", _LASTING_SPACE)
            position = slot.end()
            name, form = slot["name"], slot["form"] or ""
            if name in kinds:
                if form and not (form in kinds or self._is_form(form)):
                    raise UnknownNameError(f"no form '{form}': {template}")
                yield _TemplateSlot(name, form, bool(slot["capital"]))
            elif name in self._words:
                yield self._words[name]
            else:
                raise UnknownNameError(f"neither a slot nor a word, '{name}': {template}")
        yield template[position:].replace("_", _LASTING_SPACE)

    def _is_form(self, form: str) -> bool:
        """Returns True for a form of numbers, a category of plurals, or a list by gender."""
        if form == "portion":
            return form in self._notation
        names = (self._numbers, self._numbers.plurals)
        return any(form in forms for forms in names) or _list_name(form) in self._lists

    # -- speech ------------------------------------------------------------------------------------

    def _speak(self, match: RuleMatch, template: Template, kinds: Mapping[str, str]) -> str | None:
        """Returns a match in words; None if one of its slots cannot be said."""
        if "upto" in kinds and not self._ascends(match, kinds):
            return None
        spoken: list[str] = []
        for part in template:
            if isinstance(part, str):
                spoken.append(part)
            elif match[part.name]:
                words = self._speak_slot(match, part, kinds)
                if words is None:
                    return None
                spoken.append(capitalise(words) if part.is_capital else words)
        return "".join(spoken)

    def _ends_date(self, match: RuleMatch, *, is_list: bool) -> bool:
        """Returns True for a year, a century or "and so on" whose full stop ends a sentence."""
        written = match[0]
        if not _DATE_END.search(written) or not _NEXT_SENTENCE.match(match.after):
            return False
        if match.after.lstrip()[:1].isdigit() and self._month_end.search(written):
            return False  # 1 Jan. 1900
        text = match.before + written
        if not _DATED.search(text):
            return is_list
        return not in_opening_phrase(text, self._openings)

    @functools.cached_property
    def _month_end(self) -> re.Pattern[str]:
        words = self._entries["months"].words if "months" in self._lists else []
        return re.compile(rf"\b(?:{alternatives(words)})$")

    def _ends_measure(self, match: RuleMatch, name: str) -> bool:
        """Returns True for a measure whose full stop ends a sentence before a figure."""
        count = _NEXT_COUNT.match(match.after) if match[0].endswith(".") else None
        if not count:
            return False
        if _HOUR_END.search(match[0]) and len(count["figure"]) == 2:
            return False  # 8 u. 30
        is_measure = name != "money" and bool(self._measure.match(match.after, count.end()))
        if is_measure and _LENGTH_END.search(match[0]):
            return bool(_MASS.match(match.after, count.end()))
        return not is_measure and not _SMALL_UNIT.match(count["word"])

    def _ascends(self, match: RuleMatch, kinds: Mapping[str, str]) -> bool:
        """Returns True if a range goes up."""
        values = [
            float(self._numbers.plain_figures(match[name]))
            for name, kind in kinds.items()
            if kind in COUNTING_KINDS and match[name]
        ]
        index = [kind for kind in kinds.values() if kind in COUNTING_KINDS].index("upto")
        return len(values) <= index or values[index - 1] < values[index]

    def _speak_slot(
        self, match: RuleMatch, slot: _TemplateSlot, kinds: Mapping[str, str]
    ) -> str | None:
        """Returns the words of one slot; None if they cannot be said."""
        written, kind = match[slot.name], kinds[slot.name]
        if kind in ("as written", "point", "capital") or kind in self._own_patterns:
            return written
        if kind == "mm":
            return self._months[int(written) - 1]
        if kind == "digits":
            return self._numbers.spell_digits(written, slot.form or "cardinal")
        if kind in NUMERIC_KINDS:
            return self._speak_number(match, slot, kinds)
        entry = self._entries[kind].entry(written)
        if kinds.get(slot.form) in COUNTING_KINDS:
            return self._numbers.in_plural(entry.forms, match[slot.form])
        if slot.form == "portion":
            return self._numbers.in_category(entry.forms, self._notation["portion"])
        if slot.form in self._numbers.plurals:
            return self._numbers.in_category(entry.forms, slot.form)
        if _list_name(slot.form) in self._lists:
            return self._entries[_list_name(slot.form)].in_gender(entry.gender)
        return entry.forms[0]

    def _speak_number(
        self, match: RuleMatch, slot: _TemplateSlot, kinds: Mapping[str, str]
    ) -> str | None:
        """Returns a number in the form that its slot or noun asks for, else in its kind's."""
        written, form = match[slot.name], slot.form
        if form in kinds and kinds[form] in self._entries:
            form = self._entries[kinds[form]].entry(match[form]).gender
        form = self._numbers.first_form(form, kinds[slot.name])
        if written[-1].isdigit():
            return self._numbers.spell_figures(written, form)
        value = numbers.roman(written)
        return self._numbers.spell(value, form) if value else None

    def _fit(self, match: RuleMatch, words: str, stop: str) -> str:
        """Returns words with spaces from their neighbours, and with the full stop of a sentence.

        `stop` is a pattern of what follows the sentence.
        """
        words = re.sub("  +", " ", words).strip(" ").replace(_LASTING_SPACE, " ")
        if match[0].endswith(".") and words[-1:] != "." and re.match(stop, match.after):
            words += "."
        gap = self._numbers.gap
        before = gap if LETTER.match(match.before[-1:]) and LETTER.match(words) else ""
        after = gap if LETTER.match(match.after.lstrip("+")) and LETTER.match(words[-1:]) else ""
        return f"{before}{words}{after}"


def _list_name(slot_name: str) -> str:
    return slot_name.replace("_", " ")


def _kind_in_pattern(slot: re.Match[str]) -> str:
    """Returns the kind of a slot; "as written" if it has a pattern of its own and is no number."""
    kind = kind_of(slot["name"])
    return "as written" if slot["pattern"] and kind not in NUMERIC_KINDS else kind
