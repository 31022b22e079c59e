"""Explains YAML that cannot be read: what was probably meant, with the corrected line.

A mend is tested before it is suggested: with it, the part of the file around the fault can be read.
Knows YAML, not the meaning of a manifest's keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import yaml

_MAX_LINES = 300
"""Largest number of lines around a fault that are parsed again for each mend."""
_MAX_LINE_LENGTH = 2000
"""Longest line that is mended, in characters."""
_KEY_PREFIX = re.compile(
    r"(?P<before>\s*(?:- +)*)(?P<key>[\w.-]+|\"[^\"]*\"|'[^']*')(?P<colon>\s*: +)"
)
"""The text before a value: indentation, dashes, and a key."""
_TOP_LEVEL_START = re.compile(r"[^\s#\-\]}]")
"""The first character of a line with a top-level key."""
_ENTRY_PREFIX = re.compile(r"(?P<before>\s*(?:- +)+)")
_FLOW_VALUE = re.compile(r"(?<=: )(?P<value>[^\[\]{}'\",]+?)(?=\s*[,}\]])")
_TAB_FAULT = "a tab, where YAML wants spaces;"
_FOREIGN_QUOTES = "“”„‟‘’‚‛«»‹›"


@dataclass(frozen=True, slots=True)
class _Mend:
    """A corrected line, with the fault of the present one."""

    number: int
    """Index of the line, from 0."""
    line: str
    wrong: str

    def __str__(self) -> str:
        line = self.line.strip()
        return f"{self.wrong} `{line if len(line) <= 120 else f'{line[:120]}…'}`"


def explain(text: str, error: yaml.MarkedYAMLError) -> tuple[int | None, str]:
    """The line of a fault, counted from 1, and what to do about it."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return None, error.problem or "not valid YAML"
    if "found another document" in str(error.problem):
        message = "a second document begins here (---): a manifest is one, take the line out"
        return mark.line + 1, message
    lines = text.splitlines()
    for mend in _generate_mends(lines, _find_suspects(lines, error, mark.line)):
        if _is_mended(lines, mend, mark.line):
            return mend.number + 1, str(mend)
    return _rephrase(lines, error, mark)


def explain_text(text: str, fallback_message: str) -> tuple[int, str]:
    """The same for a file that can be read, but only as one long text.

    If no mend works, the message is `fallback_message`.
    """
    lines = text.splitlines()
    first_index = next((index for index, line in enumerate(lines) if _has_content(line)), 0)
    for mend in _generate_mends(lines, [first_index]):
        if mend.number == first_index and _is_valid([mend.line]):
            return first_index + 1, str(mend)
    return first_index + 1, fallback_message


def _find_suspects(lines: list[str], error: yaml.MarkedYAMLError, noticed_index: int) -> list[int]:
    """The lines that may contain the mistake.

    They are the line where it was noticed, the line where its context began, and the line before.
    """
    noticed_index = min(noticed_index, len(lines) - 1)
    previous_index = next(
        (index for index in range(noticed_index - 1, -1, -1) if _has_content(lines[index])), None
    )
    context_index = error.context_mark.line if error.context_mark else None
    candidates = [
        index
        for index in (noticed_index, context_index, previous_index)
        if index is not None and 0 <= index < len(lines)
    ]
    candidates = [
        index
        for index in candidates
        if _has_content(lines[index]) and len(lines[index]) < _MAX_LINE_LENGTH
    ]
    return list(dict.fromkeys(candidates))


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


# -- testing mends ---------------------------------------------------------------------------------


def _is_mended(lines: list[str], mend: _Mend, noticed_index: int) -> bool:
    """True if a mend makes the part of the file up to the fault readable.

    The part begins at a top-level key or, within long lists, at an entry.
    """
    first_index, last_index = min(mend.number, noticed_index), max(mend.number, noticed_index)
    if (
        last_index - first_index > _MAX_LINES
        or max(map(len, lines[first_index : last_index + 1])) > _MAX_LINE_LENGTH
    ):
        return False
    is_separate = _TOP_LEVEL_START.match(lines[first_index]) and not _is_valid(
        lines[first_index : last_index + 1]
    )
    indices_above = range(first_index if is_separate else first_index - 1, -1, -1)
    begin_index = next(
        (index for index in indices_above if _TOP_LEVEL_START.match(lines[index])), 0
    )
    if first_index - begin_index > _MAX_LINES:
        entry_start = re.compile(rf"\s{{0,{_indentation(lines[first_index])}}}- ")
        begin_index = next(
            (
                index
                for index in range(first_index - 1, begin_index, -1)
                if entry_start.match(lines[index])
            ),
            begin_index,
        )
        if first_index - begin_index > _MAX_LINES:
            return False
    part_lines = lines[begin_index : last_index + 1]
    mended_lines = [
        mend.line if index == mend.number else line
        for index, line in enumerate(part_lines, begin_index)
    ]
    return not _is_valid(part_lines) and _is_valid(mended_lines)


def _is_valid(lines: list[str]) -> bool:
    """True if lines are valid YAML without duplicate keys."""
    try:
        node = yaml.compose("\n".join(lines), yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return False
    return not isinstance(node, yaml.ScalarNode) and not _has_duplicate_keys(node)


def _has_duplicate_keys(node: yaml.Node | None) -> bool:
    if isinstance(node, yaml.SequenceNode):
        return any(map(_has_duplicate_keys, node.value))
    if not isinstance(node, yaml.MappingNode):
        return False
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    return len(set(keys)) < len(keys) or any(_has_duplicate_keys(child) for _, child in node.value)


# -- mends -----------------------------------------------------------------------------------------


def _generate_mends(lines: list[str], suspect_indices: list[int]) -> Iterator[_Mend]:
    """Yields possible mends of a manifest's lines, the likeliest first."""
    for rule in _RULES:
        for index in suspect_indices:
            for mended_line, fault in rule(lines[index]):
                if mended_line != lines[index]:
                    yield _Mend(index, mended_line, fault)
    for index in suspect_indices:
        yield from _mend_indentation(lines, index)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _mend_tabs(line: str) -> Iterator[tuple[str, str]]:
    if "\t" in line.lstrip():
        before = line[: len(line) - len(line.lstrip())]
        yield before + line[len(before) :].replace("\t", " "), f"{_TAB_FAULT} write"


def _mend_odd_characters(line: str) -> Iterator[tuple[str, str]]:
    """Characters that look like those of YAML."""
    for character, replacement, fault in (
        ("\u00a0", " ", "YAML does not read a non-breaking space (U+00A0) as a space; write"),
        ("\u3000", " ", "YAML does not read a wide space (U+3000) as a space; write"),
        ("：", ": ", "YAML does not read ： as a colon; write"),
    ):
        if character in line:
            with_first_replaced = line.replace(character, replacement, 1)
            yield with_first_replaced.rstrip(), fault
            yield line.replace(character, replacement).rstrip(), fault
    if match := re.match(r"(\s*)[–—•*‣·]\s+(.*)", line):
        yield f"{match[1]}- {match[2]}", "an item of a list begins with a hyphen; write"


def _mend_spaces(line: str) -> Iterator[tuple[str, str]]:
    """Mends a missing space, colon or hyphen, and a comma at the end."""
    if match := re.match(r"(\s*(?:- +)*[A-Za-z_]\w*):(?=[^\s:/])(.*)", line):
        yield f"{match[1]}: {match[2]}", "a space is missing after the colon; write"
    if re.search(r"[{,] *[A-Za-z_]\w*:(?=[^\s:/])", line):
        with_spaces = re.sub(r"([{,] *[A-Za-z_]\w*):(?=[^\s:/])", r"\1: ", line)
        yield with_spaces, "a space is missing after the colon; write"
    if match := re.match(r"(\s*)-(?=[^\s-])(.*)", line):
        yield f"{match[1]}- {match[2]}", "a space is missing after the hyphen; write"
    if match := re.match(r"(\s*(?:- +)*[A-Za-z_]\w*) *= *(.*)", line):
        yield f"{match[1]}: {match[2]}", "a key is followed by a colon; write"
    if re.fullmatch(r"\s*(?:- +)*[\w-]+", line):
        yield f"{line.rstrip()}:", "the colon is missing; write"
    if match := re.match(r"(\s*(?:- +)*[a-z_]+) +(.+)", line):
        yield f"{match[1]}: {match[2]}", "the colon is missing; write"
    if line.rstrip().endswith((",", ";")):
        yield line.rstrip()[:-1], "a line of YAML ends without a comma or semicolon; write"


def _mend_slashes(line: str) -> Iterator[tuple[str, str]]:
    if "\\" in line and '"' in line:
        fault = "in double quotes, \\ begins a code; write"
        yield line.replace("\\", "/"), fault
        for doubled in (re.sub(r"\\(?![\\\"])", r"\\\\", line), line.replace("\\", r"\\")):
            yield doubled, fault


def _mend_quotes(line: str) -> Iterator[tuple[str, str]]:
    """Mends a value with typographic, unclosed or inner quotes."""
    before, value_text, comment = _split_line(line)
    if not value_text or value_text[0] not in f"\"'{_FOREIGN_QUOTES}":
        return
    first_character = value_text[0]
    is_closed = len(value_text) > 1 and value_text[-1] == first_character
    if first_character in _FOREIGN_QUOTES:
        unquoted = value_text.strip(_FOREIGN_QUOTES).strip()
        yield (
            f"{before}{_quote(unquoted)}{comment}",
            f"YAML does not read {first_character} as a quote; write",
        )
        return
    if value_text.count(first_character) == 1:
        yield f"{line.rstrip()}{first_character}", "a quote is opened and not closed; write"
        return
    inside = value_text[1:-1] if is_closed else value_text[1:]
    fault = f"the second {first_character} ends the text; write"
    if is_closed:
        yield f"{before}{_quote(inside)}{comment}", fault
    yield f"{before}{_quote(value_text)}{comment}", fault


def _mend_unquoted(line: str) -> Iterator[tuple[str, str]]:
    """Mends a text that needs quotes."""
    before, value_text, comment = _split_line(line)
    is_collection = (value_text[:1], value_text[-1:]) in (("{", "}"), ("[", "]"))
    if value_text and value_text[0] not in "\"'" and not is_collection:
        if value_text[0] in "[{@`*&%!|>?-,]}#":
            fault = f"a text that begins with {value_text[0]} needs quotes; write"
        else:
            fault = f"a text {'with a colon in it ' * (':' in value_text)}needs quotes; write"
        yield f"{before}{_quote(value_text)}{comment}", fault
    for match in _FLOW_VALUE.finditer(line):
        mended_line = f"{line[: match.start()]}{_quote(match['value'])}{line[match.end() :]}"
        first_character = match["value"][0]
        description = (
            f"that begins with {first_character}"
            if first_character in "@`*&%!|>?-#"
            else "with a colon in it"
        )
        yield mended_line, f"a text {description} needs quotes; write"


def _mend_unclosed(line: str) -> Iterator[tuple[str, str]]:
    """Mends a list or mapping on one line without its end or its commas."""
    brackets = [bracket for bracket in re.sub(r"\"[^\"]*\"|'[^']*'", "", line) if bracket in "[]{}"]
    open_ends: list[str] = []
    for bracket in brackets:
        if bracket in "[{":
            open_ends.append("]" if bracket == "[" else "}")
        elif open_ends and open_ends[-1] == bracket:
            open_ends.pop()
    if open_ends:
        missing_ends = "".join(reversed(open_ends))
        yield f"{line.rstrip()}{missing_ends}", f"{missing_ends} is missing at the end; write"
    for match in re.finditer(r"(?<=[^\s,{\[:]) +(?=[A-Za-z_]\w*: )", line):
        mended_line = f"{line[: match.start()]}, {line[match.end() :]}"
        if "{" in line[: match.start()]:
            yield mended_line, "a comma is missing; write"


_Rule = Callable[[str], Iterator[tuple[str, str]]]
_RULES: tuple[_Rule, ...] = (
    _mend_tabs, _mend_odd_characters, _mend_slashes, _mend_spaces, _mend_quotes, _mend_unclosed,
    _mend_unquoted,
)  # fmt: skip


def _mend_indentation(lines: list[str], number: int) -> Iterator[_Mend]:
    """Mends the indentation of a line by that of lines above, or by that of their list."""
    line = lines[number]
    content = line.lstrip()
    before = line[: len(line) - len(content)]
    indentation = len(before.expandtabs(4))
    indices_above = [
        index for index in range(max(0, number - 50), number) if _has_content(lines[index])
    ]
    lines_above = [lines[index] for index in indices_above]
    entry_indentations = [
        match.end() for other_line in lines_above if (match := _ENTRY_PREFIX.match(other_line))
    ]
    possible_indentations = {*entry_indentations, *map(_indentation, lines_above)}
    possible_indentations |= {
        _indentation(other_line) + 2
        for other_line in lines_above[-1:]
        if other_line.rstrip().endswith(":")
    }
    ordered_indentations = sorted(
        possible_indentations, key=lambda level: (abs(level - indentation), -level)
    )
    wrong = (
        _TAB_FAULT
        if "\t" in before
        else f"indented by {_count_spaces(indentation)}, which fits no line above;"
    )
    mends_by_indentation = [
        (
            new_indentation,
            _Mend(
                number,
                " " * new_indentation + content,
                f"{wrong} write it {_count_spaces(new_indentation)} in:",
            ),
        )
        for new_indentation in ordered_indentations
    ]
    if len(lines_above) == 1 and _indentation(lines_above[0]) > indentation:
        fault = f"indented by {_count_spaces(_indentation(lines_above[0]))}, unlike the lines below"
        yield _Mend(indices_above[0], before + lines_above[0].lstrip(), f"{fault}; write")
    if indentation + 2 in entry_indentations:  # where their hyphens are
        yield from (
            mend for new_indentation, mend in mends_by_indentation if new_indentation > indentation
        )
        fault = "an item of a list lacks its hyphen; write"
        yield _Mend(number, f"{' ' * indentation}- {content}", fault)
        yield from (
            mend for new_indentation, mend in mends_by_indentation if new_indentation < indentation
        )
    else:
        yield from (mend for _, mend in mends_by_indentation)


def _count_spaces(spaces: int) -> str:
    return f"{spaces} space{'' if spaces == 1 else 's'}"


def _split_line(line: str) -> tuple[str, str, str]:
    """Split a line into key, value, and comment."""
    match = _KEY_PREFIX.match(line) or _ENTRY_PREFIX.match(line)
    if match is None:
        return line, "", ""
    before, remainder = line[: match.end()], line[match.end() :].rstrip()
    comment_match = re.search(r" +# .*$", remainder)
    if comment_match is None:
        return before, remainder, ""
    return before, remainder[: comment_match.start()], comment_match[0]


def _quote(text: str) -> str:
    """A text in quotes that YAML accepts, whatever it contains, and as readable as possible."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


# -- without a mend --------------------------------------------------------------------------------


def _rephrase(
    lines: list[str], error: yaml.MarkedYAMLError, mark: yaml.Mark
) -> tuple[int | None, str]:
    """PyYAML's message, rephrased for people who do not write parsers."""
    problem, context = error.problem or error.context or "not valid YAML", error.context or ""
    context_line = error.context_mark.line + 1 if error.context_mark else mark.line + 1
    if "quoted scalar" in context and "end of stream" in problem:
        return context_line, "the quote that opens here is not closed"
    if "flow" in context:
        return min(context_line, len(lines)), (
            "what stands in [ ] or { } here is not closed, lacks a comma, or holds a text that "
            "needs quotes"
        )
    if "could not find expected ':'" in problem:
        return (
            context_line,
            "no key with its value: write `key: value`, a colon and a space after the key",
        )
    if "mapping values are not allowed" in problem or "expected <block end>" in problem:
        return mark.line + 1, (
            "does not fit what is above it: look at its indentation, at a hyphen that is missing, "
            "and put a text that has a colon or quotes in it in quotes"
        )
    if r"'\t'" in problem:
        return mark.line + 1, "a tab, where YAML wants spaces: put spaces in its place"
    if "cannot start any token" in problem or "alias" in problem or "anchor" in problem:
        return mark.line + 1, f"{problem}: put the text in quotes"
    return mark.line + 1, problem
