"""Reads `languages/en.txt`, whose rules are written in a stricter form than those of `grammars.py`.

Patterns match anywhere and with regard to case; the lists in them are plain alternatives. A
template keeps its spaces, in quotation marks if it begins or ends with one: `" slash "`. Instead of
a template, `-> @module.function` names a function of the language. After a line `when: pattern`
rules apply only to a text in which that pattern occurs. There are no rules of `common.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence

from narrator.text.normalize.grammar_numbers import Speller
from narrator.text.normalize.grammar_patterns import SLOT, kind_of
from narrator.text.normalize.grammars import Grammar
from narrator.text.normalize.rules import Group, Rule, Speak, alternatives
from textbase.word_lists import WordLists


class ExactGrammar(Grammar):
    """A grammar with exact patterns. `function` finds the functions that its rules name."""

    def __init__(
        self,
        lists: WordLists,
        code: str,
        regions: Sequence[str],
        speller: Speller | None,
        function: Callable[[str], Speak],
    ) -> None:
        super().__init__(lists, code, regions, speller)
        self._function = function

    def groups(self) -> Iterator[Group]:
        """Yields a group of rules for each line `when: pattern`."""
        gate, rules = "", list[Rule]()
        for number, line in self._lists.numbered_lines("rules"):
            name, _, rest = line.partition(": ")
            if name == "when":
                if rules:
                    yield Group(gate, *rules)
                gate, rules = self._fill_pattern(rest), []
            else:
                written, _, template = rest.partition(" -> ")
                origin = f"{self._lists.name}:{number}"
                rules.append(self._read_exact_rule(name, written, template, origin))
        yield Group(gate, *rules)

    def _read_exact_rule(self, name: str, written: str, template: str, origin: str) -> Rule:
        if template.startswith("@"):
            return Rule(name, self._fill_pattern(written), self._function(template[1:]), origin)
        kinds = dict.fromkeys(re.findall(r"\(\?P<(\w+)>", written), "as written")
        kinds = {slot["name"]: kind_of(slot["name"]) for slot in SLOT.finditer(template)} | kinds
        template = template.strip('"')
        if not kinds:
            return Rule(name, self._fill_pattern(written), template, origin)
        parts = tuple(self._read_template(template, kinds))
        pattern = self._fill_pattern(written, kinds)
        return Rule(name, pattern, lambda match: self._speak(match, parts, kinds), origin)

    def _fill_pattern(self, pattern: str, captured: Container[str] = ()) -> str:
        """Returns a pattern with its slots filled; those of `captured` become groups."""

        def fill(slot: re.Match[str]) -> str:
            name = slot["name"]
            words = slot["pattern"] or self._patterns.get(name)
            words = words or alternatives(self._entries[kind_of(name)].words)
            return f"(?P<{name}>{words})" if name in captured else words

        return SLOT.sub(fill, pattern)
