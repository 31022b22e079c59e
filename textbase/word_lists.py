"""Reads word lists: text files of `[sections]`, which a person can read and extend.

A section has words, lines of `key: meaning`, or lines of `meaning: all words that have it`. An
indented line continues the one before; a line that begins with `# ` is a comment. Knows no
language.
"""

from __future__ import annotations

import functools
from pathlib import Path


class WordLists:
    """The sections of one file. Raises KeyError for a section that the file lacks."""

    def __init__(self, text: str) -> None:
        self._sections: dict[str, list[str]] = {}
        for line in text.splitlines():
            if line.startswith("[") and line.endswith("]"):
                lines = self._sections[line.strip("[]")] = []
            elif line and not line.startswith("# "):
                lines.append(line)

    def __contains__(self, section: str) -> bool:
        return section in self._sections

    def sections(self) -> list[str]:
        """Returns the names of the sections, in order."""
        return list(self._sections)

    def lines(self, section: str) -> list[str]:
        """Returns the lines of a section, in order."""
        return self._sections[section]

    def words(self, section: str) -> list[str]:
        """Returns the words of a section, in order."""
        return " ".join(self._sections[section]).split()

    def table(self, section: str, joint: str = " ") -> dict[str, str]:
        """Returns the meanings of a section, whose lines are `key: meaning`, by their keys.

        `joint` is put between a line and the indented one that continues it.
        """
        text = "\n".join(self._sections[section]).replace("\n  ", joint)
        pairs = (line.partition(": ") for line in text.split("\n"))
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
    return WordLists(path.read_text("utf-8"))
