"""Numbers in words by CLDR's spelling rules, with a language's own rules added.

A set of rules is named as in CLDR, without "spellout-": `cardinal-feminine`, `ordinal-n`. A
language file may add sets in CLDR's notation, `base: text` with `→→` for the remainder and `←←` for
the quotient; `base/100` counts hundreds (Unicode Technical Standard 35, part 3, "Rule-Based Number
Formatting").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from unicode_rbnf import RbnfEngine
from unicode_rbnf.engine import NoRuleForNumberError
from unicode_rbnf.plural_rules import PluralType, get_plural_category

_LIMIT = 10**15
"""CLDR has no words for larger numbers in some languages."""
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u2060]")


class Numbers:
    """The numbers of a language in words.

    `locale` is a name of CLDR's ("pt_PT"). `own_rules` maps the name of a set to its lines, `base:
    text`. `corrections` maps patterns to what is right for them.
    """

    def __init__(
        self,
        locale: str,
        own_rules: Mapping[str, Sequence[str]] | None = None,
        corrections: Mapping[str, str] | None = None,
    ) -> None:
        self._engine = RbnfEngine.for_language(locale)
        self._corrections = [(re.compile(p), text) for p, text in (corrections or {}).items()]
        for name, lines in (own_rules or {}).items():
            for line in lines:
                base_and_radix, _, text = line.partition(": ")
                base, _, radix = base_and_radix.partition("/")
                self._engine.add_rule(base, f"{text};", f"spellout-{name}", int(radix or 10))
        self.spell = functools.lru_cache(maxsize=4096)(self._spell)

    def __contains__(self, rule_set: str) -> bool:
        return f"spellout-{rule_set}" in self._engine.rulesets

    def _spell(self, number: int, rule_set: str) -> str | None:
        """Returns a number in words; None if it is too large or the set has no rule for it."""
        if number >= _LIMIT:
            return None
        name = f"spellout-{rule_set}"
        try:
            words = self._engine.format_number(number, ruleset_names=[name]).text
        except NoRuleForNumberError:
            return None
        words = _INVISIBLE.sub("", words)
        for pattern, text in self._corrections:
            words = pattern.sub(text, words)
        return None if re.search(r"\d", words) else words.strip()

    def plural(self, number: str) -> str:
        """Returns CLDR's plural category of a number in digits, as "3" or "2.50": "few"."""
        return str(get_plural_category(self._engine.language, Decimal(number), PluralType.CARDINAL))
