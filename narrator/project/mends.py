"""YAML that cannot be read -> what was most likely meant, in words, with the line as it should be.

A mend is tried before it is told: with it, the part of the file around the fault can be read. Knows
YAML, not what a manifest's keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import yaml

_WINDOW = 300
"""Lines around a fault that are read again for each mend that is tried."""
_LONGEST = 2000
"""Characters of a line that is mended."""
_KEY = re.compile(r"(?P<before>\s*(?:- +)*)(?P<key>[\w.-]+|\"[^\"]*\"|'[^']*')(?P<colon>\s*: +)")
"""What stands before a value: indentation, dashes, a key."""
_TOP = re.compile(r"[^\s#\-\]}]")
"""What a line with a key at the top begins with."""
_ITEM = re.compile(r"(?P<before>\s*(?:- +)+)")
_FLOW_VALUE = re.compile(r"(?<=: )(?P<value>[^\[\]{}'\",]+?)(?=\s*[,}\]])")
_TAB = "a tab, where YAML wants spaces;"
_CURLY = "“”„‟‘’‚‛«»‹›"


@dataclass(frozen=True, slots=True)
class _Mend:
    """A line that would be right, and what is wrong with the one there is."""

    number: int
    """Of the line, from 0."""
    line: str
    wrong: str

    def __str__(self) -> str:
        line = self.line.strip()
        return f"{self.wrong} `{line if len(line) <= 120 else f'{line[:120]}…'}`"


def explain(text: str, error: yaml.MarkedYAMLError) -> tuple[int | None, str]:
    """The line of what is wrong, from 1, and what to do about it."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return None, error.problem or "not valid YAML"
    if "found another document" in str(error.problem):
        second = "a second document begins here (---): a manifest is one, take the line out"
        return mark.line + 1, second
    lines = text.splitlines()
    for mend in _mends(lines, _suspects(lines, error, mark.line)):
        if _is_mended(lines, mend, mark.line):
            return mend.number + 1, str(mend)
    return _in_words(lines, error, mark)


def explain_text(text: str, otherwise: str) -> tuple[int, str]:
    """The same of a file that can be read, but as one long text: a mend, or what else is said."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if _has_content(line)), 0)
    for mend in _mends(lines, [first]):
        if mend.number == first and _reads([mend.line]):
            return first + 1, str(mend)
    return first + 1, otherwise


def _suspects(lines: list[str], error: yaml.MarkedYAMLError, place: int) -> list[int]:
    """Lines in which the mistake may be: where it was noticed, where what it is in began, and what
    stands before."""
    place = min(place, len(lines) - 1)
    before = next((n for n in range(place - 1, -1, -1) if _has_content(lines[n])), None)
    began = error.context_mark.line if error.context_mark else None
    found = [n for n in (place, began, before) if n is not None and 0 <= n < len(lines)]
    found = [n for n in found if _has_content(lines[n]) and len(lines[n]) < _LONGEST]
    return list(dict.fromkeys(found))


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


# -- trying ----------------------------------------------------------------------------------------


def _is_mended(lines: list[str], mend: _Mend, place: int) -> bool:
    """Whether the part of the file up to the fault can be read with a mend, and could not before.

    A top-level key begins such a part, or, of long lists, an item.
    """
    first, last = min(mend.number, place), max(mend.number, place)
    if last - first > _WINDOW or max(map(len, lines[first : last + 1])) > _LONGEST:
        return False
    alone = _TOP.match(lines[first]) and not _reads(lines[first : last + 1])
    above = range(first if alone else first - 1, -1, -1)
    begin = next((n for n in above if _TOP.match(lines[n])), 0)
    if first - begin > _WINDOW:
        item = re.compile(rf"\s{{0,{_indent(lines[first])}}}- ")
        begin = next((n for n in range(first - 1, begin, -1) if item.match(lines[n])), begin)
        if first - begin > _WINDOW:
            return False
    part = lines[begin : last + 1]
    after = [mend.line if n == mend.number else line for n, line in enumerate(part, begin)]
    return not _reads(part) and _reads(after)


def _reads(lines: list[str]) -> bool:
    """Whether lines can be read as YAML, no key of them twice."""
    try:
        node = yaml.compose("\n".join(lines), yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return False
    return not isinstance(node, yaml.ScalarNode) and not _is_doubled(node)


def _is_doubled(node: yaml.Node | None) -> bool:
    if isinstance(node, yaml.SequenceNode):
        return any(map(_is_doubled, node.value))
    if not isinstance(node, yaml.MappingNode):
        return False
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    return len(set(keys)) < len(keys) or any(_is_doubled(value) for _, value in node.value)


# -- what may have been meant ----------------------------------------------------------------------


def _mends(lines: list[str], suspects: list[int]) -> Iterator[_Mend]:
    """What may have been meant, the likeliest first."""
    for rule in _RULES:
        for number in suspects:
            for line, wrong in rule(lines[number]):
                if line != lines[number]:
                    yield _Mend(number, line, wrong)
    for number in suspects:
        yield from _indented(lines, number)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _tabs(line: str) -> Iterator[tuple[str, str]]:
    if "\t" in line.lstrip():
        before = line[: len(line) - len(line.lstrip())]
        yield before + line[len(before) :].replace("\t", " "), f"{_TAB} write"


def _odd_characters(line: str) -> Iterator[tuple[str, str]]:
    """Characters that look like those of YAML."""
    for odd, plain, said in (
        ("\u00a0", " ", "a space that does not break (U+00A0) is none to YAML; write"),
        ("\u3000", " ", "a wide space (U+3000) is none to YAML; write"),
        ("：", ": ", "： is no colon to YAML; write"),
    ):
        if odd in line:
            once = line.replace(odd, plain, 1)
            yield once.rstrip(), said
            yield line.replace(odd, plain).rstrip(), said
    if found := re.match(r"(\s*)[–—•*‣·]\s+(.*)", line):
        yield f"{found[1]}- {found[2]}", "an item of a list begins with a hyphen; write"


def _spaces(line: str) -> Iterator[tuple[str, str]]:
    if found := re.match(r"(\s*(?:- +)*[A-Za-z_]\w*):(?=[^\s:/])(.*)", line):
        yield f"{found[1]}: {found[2]}", "a space is missing after the colon; write"
    if re.search(r"[{,] *[A-Za-z_]\w*:(?=[^\s:/])", line):
        spaced = re.sub(r"([{,] *[A-Za-z_]\w*):(?=[^\s:/])", r"\1: ", line)
        yield spaced, "a space is missing after the colon; write"
    if found := re.match(r"(\s*)-(?=[^\s-])(.*)", line):
        yield f"{found[1]}- {found[2]}", "a space is missing after the hyphen; write"
    if found := re.match(r"(\s*(?:- +)*[A-Za-z_]\w*) *= *(.*)", line):
        yield f"{found[1]}: {found[2]}", "a key is followed by a colon; write"
    if re.fullmatch(r"\s*(?:- +)*[\w-]+", line):
        yield f"{line.rstrip()}:", "the colon is missing; write"
    if found := re.match(r"(\s*(?:- +)*[a-z_]+) +(.+)", line):
        yield f"{found[1]}: {found[2]}", "the colon is missing; write"
    if line.rstrip().endswith((",", ";")):
        yield line.rstrip()[:-1], "nothing parts the lines of YAML but their ends; write"


def _slashes(line: str) -> Iterator[tuple[str, str]]:
    if "\\" in line and '"' in line:
        said = "in double quotes, \\ begins a code; write"
        yield line.replace("\\", "/"), said
        for doubled in (re.sub(r"\\(?![\\\"])", r"\\\\", line), line.replace("\\", r"\\")):
            yield doubled, said


def _quotes(line: str) -> Iterator[tuple[str, str]]:
    """A value whose quotes are not those of YAML, are not closed, or end too soon."""
    before, value, comment = _parted(line)
    if not value or value[0] not in f"\"'{_CURLY}":
        return
    first, ends = value[0], len(value) > 1 and value[-1] == value[0]
    if first in _CURLY:
        plain = value.strip(_CURLY).strip()
        yield f"{before}{_quoted(plain)}{comment}", f"{first} is no quote to YAML; write"
        return
    if value.count(first) == 1:
        yield f"{line.rstrip()}{first}", "a quote is opened and not closed; write"
        return
    inside = value[1:-1] if ends else value[1:]
    said = f"the second {first} ends the text; write"
    if ends:
        yield f"{before}{_quoted(inside)}{comment}", said
    yield f"{before}{_quoted(value)}{comment}", said


def _unquoted(line: str) -> Iterator[tuple[str, str]]:
    """A value that YAML takes for more than a text."""
    before, value, comment = _parted(line)
    closed = (value[:1], value[-1:]) in (("{", "}"), ("[", "]"))
    if value and value[0] not in "\"'" and not closed:
        if value[0] in "[{@`*&%!|>?-,]}#":
            said = f"a text that begins with {value[0]} needs quotes; write"
        else:
            said = f"a text {'with a colon in it ' * (':' in value)}needs quotes; write"
        yield f"{before}{_quoted(value)}{comment}", said
    for found in _FLOW_VALUE.finditer(line):
        inside = f"{line[: found.start()]}{_quoted(found['value'])}{line[found.end() :]}"
        first = found["value"][0]
        what = f"that begins with {first}" if first in "@`*&%!|>?-#" else "with a colon in it"
        yield inside, f"a text {what} needs quotes; write"


def _closed(line: str) -> Iterator[tuple[str, str]]:
    """A list or a mapping on one line whose end is missing, or whose commas are."""
    opened = [c for c in re.sub(r"\"[^\"]*\"|'[^']*'", "", line) if c in "[]{}"]
    ends: list[str] = []
    for c in opened:
        if c in "[{":
            ends.append("]" if c == "[" else "}")
        elif ends and ends[-1] == c:
            ends.pop()
    if ends:
        last = "".join(reversed(ends))
        yield f"{line.rstrip()}{last}", f"{last} is missing at the end; write"
    for found in re.finditer(r"(?<=[^\s,{\[:]) +(?=[A-Za-z_]\w*: )", line):
        once = f"{line[: found.start()]}, {line[found.end() :]}"
        if "{" in line[: found.start()]:
            yield once, "a comma is missing; write"


_Rule = Callable[[str], Iterator[tuple[str, str]]]
_RULES: tuple[_Rule, ...] = (
    _tabs, _odd_characters, _slashes, _spaces, _quotes, _closed, _unquoted,
)  # fmt: skip


def _indented(lines: list[str], number: int) -> Iterator[_Mend]:
    """A line as far in as one of those above it, or as an item of their list."""
    line = lines[number]
    content = line.lstrip()
    before = line[: len(line) - len(content)]
    own = len(before.expandtabs(4))
    above = [other for other in lines[max(0, number - 50) : number] if _has_content(other)]
    items = [found.end() for other in above if (found := _ITEM.match(other))]
    levels = {*items, *map(_indent, above)}
    levels |= {_indent(other) + 2 for other in above[-1:] if other.rstrip().endswith(":")}
    ordered = sorted(levels, key=lambda level: (abs(level - own), -level))
    wrong = _TAB if "\t" in before else f"indented by {_counted(own)}, which fits no line above;"
    mends = [
        (level, _Mend(number, " " * level + content, f"{wrong} write it {_counted(level)} in:"))
        for level in ordered
    ]
    if own + 2 in items:  # where their hyphens are
        yield from (mend for level, mend in mends if level > own)
        lacking = "an item of a list lacks its hyphen; write"
        yield _Mend(number, f"{' ' * own}- {content}", lacking)
        yield from (mend for level, mend in mends if level < own)
    else:
        yield from (mend for _, mend in mends)


def _counted(spaces: int) -> str:
    return f"{spaces} space{'' if spaces == 1 else 's'}"


def _parted(line: str) -> tuple[str, str, str]:
    """What stands before a value, the value, and a comment behind it."""
    found = _KEY.match(line) or _ITEM.match(line)
    if found is None:
        return line, "", ""
    before, rest = line[: found.end()], line[found.end() :].rstrip()
    comment = re.search(r" +# .*$", rest)
    if comment is None:
        return before, rest, ""
    return before, rest[: comment.start()], comment[0]


def _quoted(text: str) -> str:
    """A text as YAML takes it whatever is in it, readable as far as it goes."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


# -- where nothing was found -----------------------------------------------------------------------


def _in_words(
    lines: list[str], error: yaml.MarkedYAMLError, mark: yaml.Mark
) -> tuple[int | None, str]:
    """What PyYAML says, for people who do not write parsers."""
    said, context = error.problem or error.context or "not valid YAML", error.context or ""
    began = error.context_mark.line + 1 if error.context_mark else mark.line + 1
    if "quoted scalar" in context and "end of stream" in said:
        return began, "the quote that opens here is not closed"
    if "flow" in context:
        return min(began, len(lines)), (
            "what stands in [ ] or { } here is not closed, lacks a comma, or holds a text that "
            "needs quotes"
        )
    if "could not find expected ':'" in said:
        return began, "no key with its value: write `key: value`, a colon and a space after the key"
    if "mapping values are not allowed" in said or "expected <block end>" in said:
        return mark.line + 1, (
            "does not fit what is above it: look at its indentation, at a hyphen that is missing, "
            "and put a text that has a colon or quotes in it in quotes"
        )
    if r"'\t'" in said:
        return mark.line + 1, "a tab, where YAML wants spaces: put spaces in its place"
    if "cannot start any token" in said or "alias" in said or "anchor" in said:
        return mark.line + 1, f"{said}: put the text in quotes"
    return mark.line + 1, said
