"""Reads word lists: text files of `[sections]`, which a person can read and extend.

A section has words, lines of `key: meaning`, or lines of `meaning: all words that have it`. An
indented line continues the one before; a line that begins with `# ` is a comment. Knows no
language.
"""

from __future__ import annotations

import functools
from pathlib import Path


class WordLists:
    """The sections of a file called `name`. Raises KeyError for a section that the file lacks."""

    def __init__(self, text: str, name: str = "") -> None:
        self.name = name
        self._sections: dict[str, list[str]] = {}
        self._numbers: dict[str, list[int]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("[") and line.endswith("]"):
                section = line.strip("[]")
                self._sections[section], self._numbers[section] = [], []
            elif line and not line.startswith("# "):
                self._sections[section].append(line)
                self._numbers[section].append(number)

    def __contains__(self, section: str) -> bool:
        return section in self._sections

    def sections(self) -> list[str]:
        """Returns the names of the sections, in order."""
        return list(self._sections)

    def lines(self, section: str) -> list[str]:
        """Returns the lines of a section, in order."""
        return self._sections[section]

    def numbered_lines(self, section: str, joint: str = " ") -> list[tuple[int, str]]:
        """Returns the lines of a section, each with its number and the indented ones that continue
        it, before each of which `joint` is put."""
        numbered: list[tuple[int, str]] = []
        for number, line in zip(self._numbers[section], self._sections[section], strict=True):
            if line.startswith("  ") and numbered:
                first_number, start = numbered.pop()
                numbered.append((first_number, start + joint + line.removeprefix("  ")))
            else:
                numbered.append((number, line))
        return numbered

    def words(self, section: str) -> list[str]:
        """Returns the words of a section, in order."""
        return " ".join(self._sections[section]).split()

    def table(self, section: str, joint: str = " ") -> dict[str, str]:
        """Returns the meanings of a section, whose lines are `key: meaning`, by their keys; `joint`
        as for `numbered_lines`."""
        pairs = (line.partition(": ") for _, line in self.numbered_lines(section, joint))
        return {key: meaning for key, _, meaning in pairs}

    def meanings(self, section: str) -> dict[str, str]:
        """Returns the meaning of each word of a section, whose lines are `meaning: words`."""
        return {
            word: meaning
            for meaning, words in self.table(section).items()
            for word in words.split()
        }


@functools.cache
def read_word_lists(path: Path) -> WordLists:
    """Reads a file of word lists, once."""
    return WordLists(path.read_text("utf-8"), f"{path.parent.name}/{path.name}")
