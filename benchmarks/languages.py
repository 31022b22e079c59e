"""What the grammar of each language has rules for: the table of docs/languages.md.

    python -m benchmarks.languages

A class is "yes" if the language has rules of its own for it; abbreviations, units and cases are
counted. The last line is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from narrator.text.normalize import grammars
from tests.tables import read_cases
from textbase.word_lists import WordLists, read_word_lists

ROOT = Path(__file__).resolve().parents[1]
GRAMMARS = ROOT / "narrator" / "text" / "normalize" / "languages"
CASES = ROOT / "tests" / "text" / "languages"
CLASSES: Mapping[str, frozenset[str]] = {
    "dates": frozenset(("date",)),
    "years, decades": frozenset("year years decade era".split()),
    "centuries": frozenset(("century",)),
    "ordinals": frozenset(("ordinal",)),
    "rulers": frozenset(("regnal",)),
    "counts": frozenset(("count",)),
    "money": frozenset(("money",)),
    "times": frozenset(("time",)),
    "fractions": frozenset("fraction half part".split()),
    "suffixes": frozenset(("suffix", "compound")),
}
"""Columns, and the names of rules that belong to them."""
ABBREVIATIONS = ("abbreviations", "closing", "closing before openers")
"""Lists of these."""


def rows() -> dict[str, list[str]]:
    """Returns the cells of each language."""
    table = {}
    for code in grammars.languages():
        lists = read_word_lists(GRAMMARS / f"{code}.txt")
        names = _rule_names(lists)
        cells = ["yes" if names & own_names else "" for own_names in CLASSES.values()]
        counts = [
            _length(lists, "units"),
            sum(_length(lists, name) for name in ABBREVIATIONS),
            _count_cases(code),
        ]
        table[code] = [*cells, *(str(count) if count else "" for count in counts)]
    return table


def _rule_names(lists: WordLists) -> set[str]:
    lines = lists.lines("rules") if "rules" in lists else []
    return {line.partition(": ")[0] for line in lines if not line.startswith(" ")}


def _length(lists: WordLists, section: str) -> int:
    lines = lists.lines(section) if section in lists else []
    return sum(1 if ": " in line else len(line.split()) for line in lines)


def _count_cases(code: str) -> int:
    path = CASES / f"{code}.txt"
    return sum(case.is_reached for case in read_cases(path)) if path.is_file() else 0


def markdown() -> str:
    """Returns the table of docs/languages.md."""
    columns = ["", *CLASSES, "units", "abbreviations", "cases"]
    lines = [columns, [*["---"] * (1 + len(CLASSES)), *["--:"] * 3]]
    lines += sorted([f"{_name(code)} ({code})", *cells] for code, cells in rows().items())
    return "\n".join(f"| {' | '.join(cell or '–' for cell in cells)} |" for cells in lines)


def _name(code: str) -> str:
    """Returns the name of a language, with which its file begins: "# German. Sources: …"."""
    first_line = (GRAMMARS / f"{code}.txt").read_text("utf-8").splitlines()[0]
    return re.split(r"[.:,(]", first_line.removeprefix("# "))[0].strip()


def main() -> None:
    print(markdown())
    print(json.dumps(rows()))


if __name__ == "__main__":
    main()
