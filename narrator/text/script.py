"""Chapter sources -> Chapter > Scene > Line, each with file:line.

Chapter text is CommonMark, read by markdown-it-py, with six additions: `name (style): text` at
the start of a paragraph, `[pause 1.5s]`, `[music: name]`, `[language: el]`, `{written|spoken}`,
and footnotes (left out). Two rules of CommonMark are off, since a manuscript means something else
by them: indented text is no code, and tags around a paragraph do not take its text away.

Nothing is lost: what is not markup is in a `Line.text` or in a `LeftOut` with its reason. Which
language a line is said in is decided here alone. Knows nothing of sentences, chunks and voices.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from markdown_it.token import Token

from narrator.characters import ODD
from narrator.errors import Problem, ScriptError
from narrator.text.flat import FIXED, Flat, LanguageMark, ListNumbers, Sign, resolved
from narrator.text.labels import (
    DOUBTFUL,
    LABEL,
    UNKNOWN,
    Attribution,
    Labels,
    Roles,
    Turn,
    folded,
    more,
)
from narrator.text.letters import by_letters
from narrator.text.lines import Chapter, Given, LeftOut, Line, MusicMark, Rest, Say, Scene
from narrator.text.markup import MARKDOWN, unpaired, visible
from narrator.text.slips import (
    BRACE,
    GIVEN,
    LANGUAGE,
    LANGUAGE_END,
    NO_WORDS,
    STILL_ON,
    UNENDED,
    Slip,
    brackets,
    opening,
)
from narrator.text.tongues import denied

LONGEST_PARAGRAPH = 1_000_000
"""Characters; some 18 hours of speech. Whatever is longer is no paragraph of a book."""
FEW_LINES = 5
"""After a language mark without an end that nothing is said of."""


def decode(data: bytes, path: Path) -> str:
    """The text of a chapter's file, UTF-8 with or without a byte order mark. Raises ScriptError."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ScriptError(Problem(path, 1, "is UTF-16; save the file as UTF-8"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + data.startswith(b"\xef\xbb\xbf") * 3
        line = data.count(b"\n", 0, at) + 1
        what = f"is not UTF-8: byte 0x{data[at]:02X} at offset {at}; save the file as UTF-8"
        raise ScriptError(Problem(path, line, what)) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        what = "has the control character U+0000, which no text has; remove it, or save as UTF-8"
        raise ScriptError(Problem(path, line, what))
    return text


def read_chapter(
    text: str,
    *,
    path: Path,
    title: str,
    language: str,
    roles: Roles,
    speaker: str | None,
    first_line: int = 1,
) -> Chapter:
    """Chapter text as a chapter; `speaker` is the chapter's own default speaker.

    `first_line` is the number of the text's first line in `path`. Raises ScriptError with all
    problems of the chapter.
    """
    reader = _ScriptReader(path, language, roles, speaker)
    reader.look_at(text, first_line)
    text, front_matter = _without_front_matter(text, roles)
    if front_matter:
        reason = "front matter: the facts of a book stand in book.yaml"
        reader.left_out.append(LeftOut(path, first_line, front_matter, reason))
    reader.read(text, lambda number: first_line + number)
    return reader.chapter(title, first_line)


def read_lines(
    lines: Sequence[tuple[int, str | tuple[str, str]]],
    *,
    path: Path,
    title: str,
    language: str,
    roles: Roles,
    speaker: str | None,
) -> Chapter:
    """The inline `lines` of a manifest as a chapter.

    Each is the number of its line in `path` and either chapter text, or a label and what that
    speaker says. Raises ScriptError with all problems of the chapter.
    """
    reader = _ScriptReader(path, language, roles, speaker)
    for number, content in lines:
        line_of = functools.partial(_constant, number)
        if isinstance(content, str):
            reader.read(content, line_of)
        else:
            label, said = content
            reader.read(said, line_of, reader.labels.alone(label, number))
    return reader.chapter(title, lines[0][0] if lines else 1)


@dataclass(frozen=True, slots=True)
class Faults:
    """What would be refused in a text, by its rows, counted from 0."""

    labels: Mapping[str, Sequence[int]]
    """What looks like the label of somebody who is not in the cast."""
    others: frozenset[int]
    is_spoken: bool
    """Whether there is anything to speak."""

    def __bool__(self) -> bool:
        return bool(self.labels or self.others)


def faults(text: str, roles: Roles) -> Faults:
    """What `read_chapter` would refuse or remark on in a text; for those who write texts.

    What looks like a label is one as soon as somebody of that name is declared, so it counts.
    """
    reader = _ScriptReader(Path(), "", roles, None)
    reader.read(text, lambda number: number)
    spoken = (c for scene in reader.scenes for line in scene for c in line.text)
    labels: dict[str, list[int]] = {}
    others = {problem.line or 0 for problem in reader.problems}
    for stray in reader.labels.strays:
        if stray.kind == UNKNOWN:
            labels.setdefault(stray.name, []).append(stray.line)
        elif stray.kind != DOUBTFUL:
            others.add(stray.line)
    return Faults(labels, frozenset(others), any(map(str.isalnum, spoken)))


def _constant(number: int, _: int) -> int:
    return number


_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ORNAMENT = re.compile(r"[*⁂⁎•·~#_=+§❦❧☙◇◆◊○●★☆※\s-]+")
_KEY = re.compile(r"([\w.-]+)[ \t]*:(?:\s|$)")

_TAGS = re.compile(
    r"</?(a|abbr|b|bd[io]|big|blockquote|br|center|cite|code|dd|del|dfn|div|d[lt]|em|font|h[1-6]|i|"
    r"ins|kbd|li|mark|ol|p|q|s|samp|section|small|span|strike|strong|su[bp]|time|tt|ul?|var|wbr)\b",
    re.IGNORECASE,
)
"""HTML tags that are markup and no more; others are listed as left out."""


@dataclass(slots=True)
class _Marked:
    """What follows a language mark."""

    tag: str
    mark: LanguageMark
    lines: int = 0
    denied: bool = False
    """Whether a line has spoken against the mark."""


class _ScriptReader:
    """Collects the scenes and the problems of a chapter from one or more texts."""

    def __init__(self, path: Path, language: str, roles: Roles, speaker: str | None) -> None:
        self.path = path
        self.language = language
        self.roles = roles
        self.labels = Labels(path, roles)
        self.default = speaker or roles.narrator
        self.left_out: list[LeftOut] = []
        self.problems: list[Problem] = []
        self.scenes: list[list[Line]] = [[]]
        self.previous: str | None = None
        """Speaker of the last label."""
        self.early_rest = 0.0
        """Seconds of pauses that stand before the first line of a scene."""
        self.gap: list[Sign] = []
        """Since the last words."""
        self.unattributed: list[int] = []
        self.unseen: dict[str, tuple[int, int]] = {}
        """Character -> line of its first place, number of places."""
        self.marked: _Marked | None = None
        """The language that is on."""
        self.declared = [*roles.declared, language, *roles.languages.values()]
        self.warnings: list[Problem] = []
        self.slips: list[Slip] = []

    def chapter(self, title: str, first_line: int) -> Chapter:
        """What was read. Raises ScriptError."""
        self.problems += self.labels.problems()
        if lines := self.unattributed:
            self._problem(
                lines[0],
                f"nobody speaks this{more(lines)}: begin it with a speaker's name and a colon, or "
                "set `narrator`, or the chapter's `speaker`",
            )
        spoken = (c for scene in self.scenes for line in scene for c in line.text)
        if not self.problems and not any(c.isalnum() for c in spoken):
            self._problem(first_line, f"chapter “{title}” has no text to speak")
        if self.problems:
            raise ScriptError(sorted(set(self.problems)))
        self._place_last_marks()
        if (on := self.marked) and on.lines > FEW_LINES and not on.denied:
            self.slips.append(Slip(on.mark.written, STILL_ON, self.path, on.mark.number))
        foreign = by_letters(self.scenes, self.declared)
        scenes = tuple(Scene(tuple(scene)) for scene in self.scenes if scene)
        left_out = tuple(sorted(self.left_out, key=lambda item: item.line))
        unseen = tuple((c, self.path, line, n) for c, (line, n) in self.unseen.items())
        warnings = tuple(sorted(self.warnings))
        slips = tuple(sorted([*self.slips, *self.labels.slips()], key=lambda slip: slip.line))
        return Chapter(title, self.language, scenes, left_out, unseen, foreign, warnings, slips)

    def look_at(self, text: str, first_line: int) -> None:
        """Note the characters that cannot be seen."""
        for odd in ODD.finditer(text):
            line, count = self.unseen.get(odd[0], (0, 0))
            line = line or first_line + text.count("\n", 0, odd.start())
            self.unseen[odd[0]] = line, count + 1

    def read(
        self, text: str, line_of: Callable[[int], int], attribution: Attribution | None = None
    ) -> None:
        """Add what `text` says; `line_of` maps its lines, counted from 0, to the source's.

        With an attribution all of it is that speaker's, and it has no labels of its own.
        """
        text = _CONTROL.sub(_tamed, text.replace("\r\n", "\n").replace("\r", "\n"))
        if overlong := _overlong_paragraph(text):
            begin, length = overlong
            what = f"a paragraph of {length:,} characters (the limit is {LONGEST_PARAGRAPH:,})"
            self._problem(line_of(begin), f"{what}; part it with blank lines")
            return
        lines = text.split("\n")
        items = ListNumbers()
        tokens = iter(MARKDOWN().parse(text, {"cast": self.roles}))
        for token in tokens:
            first, last = token.map or (0, 0)
            line, source = line_of(first), lines[first:last]
            match token.type:
                case "inline":
                    self._paragraph(self._flat(token, line_of), attribution, items.take(), 0)
                case "heading_open":
                    self._expect_heading(token, source, line_of(last - 1))
                    flat = self._flat(next(tokens), line_of)
                    self._paragraph(flat, attribution, items.take(), int(token.tag[1]))
                case "hr":
                    self._end_scene()
                case "list_item_open":
                    items.open(token, line)
                case "list_item_close":
                    if bare := items.close():
                        self._paragraph(bare, attribution, "", 0)
                case "table_open":
                    next(inner for inner in tokens if inner.type == "table_close")
                    self._leave_out(line, "\n".join(source), "table")
                case "fence" | "definition" | "left_out":
                    self._leave_block(token, source, line)
                case "problem":
                    self._problem(line, token.content)

    def _expect_heading(self, token: Token, source: Sequence[str], line: int) -> None:
        """Ask about text above a row of dashes that may be meant as a scene break."""
        if token.markup == "-" and not _reads_as_title(source[:-1]):
            self._problem(
                line,
                "a scene break or a heading? Put a blank line above a scene break; "
                "begin a heading with ##",
            )

    def _leave_block(self, token: Token, source: Sequence[str], line: int) -> None:
        """Leave out code, a link's definition, or what the parser says."""
        reason = token.info
        if token.type == "fence":
            reason = "code block"
            if not _closed(token, source):
                what = f"a code block ({token.markup}) that is never closed"
                self._problem(line, f"{what}; for a scene break write ***")
        elif token.type == "definition":
            reason = "link definition"
            self.labels.link(str(token.meta["label"]), line)
        self._leave_out(line, "\n".join(source), reason)

    # -- paragraphs

    def _paragraph(
        self, flat: Flat, attribution: Attribution | None, number: str, heading: int
    ) -> None:
        """Add the lines of one paragraph; `number` is that of its list item."""
        if "<!--" in flat.shadow:
            self._problem(
                flat.starts[0][1],
                "a comment that does not end in its paragraph; put <!-- and --> on lines of their "
                "own, or write \\<!-- for text",
            )
        if not number and not visible(flat.text):
            self._silence(flat)
            return
        if not (number or heading or flat.says) and _ORNAMENT.fullmatch(flat.shadow):
            self._end_scene()
            self._silence(flat)
            return
        if heading or attribution:
            turns = [Turn(0, 0, attribution)]
        else:
            turns = self.labels.turns(flat)
        self._look_for_slips(flat, turns, heading)
        ends = [turn.begin for turn in turns[1:]] + [len(flat.text)]
        for turn, end in zip(turns, ends, strict=True):
            self._line(flat.part(turn.begin, turn.content, end), turn.attribution, number, heading)
            number = ""

    def _look_for_slips(self, flat: Flat, turns: Sequence[Turn], heading: int) -> None:
        """Note what of a paragraph would be spoken and is nearly markup.

        Lines of the source within it count among labels alone: prose is wrapped anywhere.
        """
        found = list(brackets(flat.shadow))
        starts = {0, *(turn.content for turn in turns)}
        if any(turn.attribution for turn in turns):
            starts |= {at for at, _ in flat.starts}
        for start in () if heading else sorted(starts):
            if slip := opening(flat.shadow, start, self._is_speaker):
                found.append(slip)
        for at, written, matter in found:
            self.slips.append(Slip(written, matter, self.path, flat.line_at(at)))

    def _is_speaker(self, name: str) -> bool:
        return bool(self.roles.named(name))

    def _silence(self, flat: Flat) -> None:
        """Keep the pauses and marks of what says nothing."""
        if flat.rests:
            self._rest(sum(rest.seconds for rest in flat.rests))
        self.gap += (sign for _, sign in flat.signs)
        for _, mark in flat.languages:
            self._set_language(mark)

    def _set_language(self, mark: LanguageMark) -> None:
        if mark.tag is None and self.marked is None and mark.right:
            self._warn(mark.number, f"{mark.written}, but no language is on here")
        elif mark.tag is not None:
            self.declared.append(mark.tag)
        self.marked = None if mark.tag is None else _Marked(mark.tag, mark)

    def _under_mark(self, line: Line, on: _Marked) -> Line:
        """A line after a language mark, in the language around it if it can be in no other; that
        one seems to be in another is said once for each mark."""
        on.lines += 1
        denial = denied(line.text, on.tag, line.language)
        if denial and not on.denied:
            on.denied = True
            self._warn(
                line.line,
                f"after {on.mark.written} in line {on.mark.number} the text seems to be in "
                f"{denial.seems}: was [language: off] forgotten?",
            )
        return replace(line, language=denial.language if denial else on.tag)

    def _line(self, part: Flat, attribution: Attribution | None, number: str, heading: int) -> None:
        """Add what one speaker says of a paragraph, after the number of its list item."""
        line = part.starts[0][1]
        if not visible(part.text) and not number:
            self._silence(part)
            return
        after = self._set_languages(part)
        if number:
            part = part.numbered(number)
        if attribution:
            speakers, style = attribution
            speaker = next(iter(speakers), "")
            if len(speakers) > 1:
                part.given.insert(0, Given(0, len(part.text), speakers, style))
            self.previous = speaker or self.previous
        else:
            speaker, style = self.default or self.previous or "", None
            if not speaker:
                self.unattributed.append(line)
        early = [Rest(0, self.early_rest)] if self.early_rest else []
        self.early_rest = 0.0
        made = Line(
            speaker,
            part.text,
            self.path,
            line,
            self.roles.languages.get(speaker, self.language),
            style,
            heading,
            says=tuple(part.says),
            rests=(*early, *part.rests),
            marks=tuple(self._marks(part.text, part.signs)),
            given=tuple(part.given),
            is_narration=not (attribution or heading) and speaker == self.roles.narrator,
            is_marked=self.marked is not None,
            rows=tuple(part.starts[1:]),
            last=part.last,
        )
        if self.marked:
            made = self._under_mark(made, self.marked)
        self.scenes[-1].append(made)
        for mark in after:
            self._set_language(mark)

    def _set_languages(self, part: Flat) -> list[LanguageMark]:
        """Obey the language marks before a line's words, and return those after them."""
        after = []
        for at, mark in part.languages:
            if not visible(part.text[:at]):
                self._set_language(mark)
            elif not visible(part.text[at:]):
                after.append(mark)
            else:
                self._warn(
                    mark.number,
                    f"{mark.written} within a paragraph is ignored: a language is for whole "
                    "paragraphs, and its marks stand before and after them",
                )
        return after

    def _rest(self, seconds: float) -> None:
        """A pause between lines: it belongs to the line before it, if there is one."""
        if scene := self.scenes[-1]:
            rest = Rest(len(scene[-1].text), seconds)
            scene[-1] = replace(scene[-1], rests=(*scene[-1].rests, rest))
        else:
            self.early_rest += seconds

    def _marks(self, text: str, signs: Sequence[tuple[int, Sign]]) -> Iterator[MusicMark]:
        """The marks of a line; those after its last words, or without any, wait for the next."""
        first = next((i for i, c in enumerate(text) if c.isalnum()), len(text))
        self.gap += (sign for at, sign in signs if at <= first)
        if first == len(text):
            return
        yield from resolved(self.gap, 0)
        self.gap = []
        inside = [(at, sign) for at, sign in signs if at > first]
        for at, group in groupby(inside, key=lambda placed: placed[0]):
            here = [sign for _, sign in group]
            if any(map(str.isalnum, text[at:])):
                yield from resolved(here, at)
            else:
                self.gap += here

    def _place_last_marks(self) -> None:
        """Marks after the last words of a chapter belong to their line, and so does a pause."""
        spoken = (
            (scene, i)
            for scene in reversed(self.scenes)
            for i in reversed(range(len(scene)))
            if any(map(str.isalnum, scene[i].text))
        )
        scene, i = next(spoken)
        late = resolved(self.gap, len(scene[i].text))
        rests = [Rest(len(scene[i].text), self.early_rest)] if self.early_rest else []
        scene[i] = replace(
            scene[i], marks=(*scene[i].marks, *late), rests=(*scene[i].rests, *rests)
        )

    def _end_scene(self) -> None:
        if self.scenes[-1]:
            self.scenes.append([])

    # -- inline markup

    def _flat(self, token: Token, line_of: Callable[[int], int]) -> Flat:
        """A paragraph's text without its markup."""
        first, end = token.map or (0, 1)
        newlines = [newline.start() for newline in re.finditer("\n", token.content)]
        flat = Flat([(0, line_of(first))], last=line_of(end - 1))
        children = token.children or []
        alone = unpaired(children)
        opened: list[tuple[int, Token]] = []
        given: list[tuple[int, int, Token]] = []
        for place, child in enumerate(children):
            if child.type in ("softbreak", "hardbreak"):
                flat.add("\n", "\n")
                number = first + bisect_right(newlines, child.meta["pos"])
                flat.starts.append((flat.size, line_of(number)))
                continue
            line = flat.starts[-1][1]
            if "pos" in child.meta:
                line = line_of(first + bisect_left(newlines, child.meta["pos"]))
            if child.type == "given" and place not in alone:
                opened.append((flat.size, child))
            elif child.type == "given_end" and place not in alone:
                start, opening = opened.pop()
                given.append((start, flat.size, opening))
            else:
                self._add(flat, child, line)
        flat.join()
        given.reverse()  # those within another one ended first
        for start, stop, opening in sorted(given, key=lambda one: (one[0], -one[1])):
            self._give(flat, start, stop, opening)
        return flat

    def _give(self, flat: Flat, start: int, stop: int, opening: Token) -> None:
        """Give what stands in braces to those whom the first one names."""
        meta = opening.meta
        if visible(flat.text[start:stop]):
            flat.given.append(Given(start, stop, meta["speakers"], meta["style"]))
        else:
            line = flat.line_at(start)
            self.slips.append(Slip(meta["written"], NO_WORDS, self.path, line))

    def _add(self, flat: Flat, child: Token, line: int) -> None:
        """What one token says to the text, or sets in it."""
        match child.type:
            case "text":
                flat.add(child.content, child.content)
            case "text_special" | "code_inline":
                flat.add(child.content, FIXED * len(child.content))
            case "pause":
                flat.rests.append(Rest(flat.size, child.meta["seconds"]))
                flat.signs.append((flat.size, child.meta["seconds"]))
            case "music":
                flat.signs.append((flat.size, MusicMark(flat.size, child.meta["name"], line)))
            case "language":
                self._language_mark(flat, child, line)
            case "say":
                end = flat.size + len(child.content)
                flat.says.append(Say(flat.size, end, child.meta["spoken"]))
                flat.add(child.content, FIXED * len(child.content))
            case "given" | "brace":
                self._brace(flat, child, line)
            case "given_end":
                flat.add("}", "}")
            case "html_inline":
                space = self._tag(child.content, line)
                flat.add(space, space)
            case "image":
                self._leave_out(line, _image(child), "image")
            case "left_out":
                self._leave_out(line, child.content, child.info)
            case "slip":
                self.slips.append(Slip(child.content, child.info, self.path, line))

    def _brace(self, flat: Flat, child: Token, line: int) -> None:
        """A brace that gives nothing to anybody, which is text."""
        near = child.meta["near"]
        matter = UNENDED if child.type == "given" else BRACE if near is None else GIVEN
        hint = f"; did you mean “{{{near}: …}}”?" if near else ""
        self.slips.append(Slip(child.meta["written"], matter, self.path, line, hint))
        flat.add("{", FIXED)
        flat.add(child.content[1:], child.content[1:])

    def _language_mark(self, flat: Flat, child: Token, line: int) -> None:
        """A language mark, or what was meant as one."""
        right, tag = child.meta["right"], child.meta["tag"]
        if right or child.meta["ends"]:
            mark = LanguageMark(tag, line, child.content, right)
            flat.languages.append((flat.size, mark))
        if right:
            return
        matter = LANGUAGE_END if child.meta["ends"] else LANGUAGE
        self.slips.append(Slip(child.content, matter, self.path, line))
        if child.content.endswith("]") or child.meta["ends"]:
            self._leave_out(line, child.content, "language mark that is none")

    def _tag(self, written: str, line: int) -> str:
        """What an HTML tag or comment says: a break a space, markup nothing; others are listed."""
        tag = _TAGS.match(written)
        if tag is None:
            self._leave_out(line, written, "comment" if written.startswith("<!--") else "HTML tag")
        return " " if tag and tag[1].lower() == "br" else ""

    # -- reports

    def _leave_out(self, line: int, text: str, reason: str) -> None:
        self.left_out.append(LeftOut(self.path, line, text, reason))

    def _problem(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.path, line, message))

    def _warn(self, line: int, message: str) -> None:
        self.warnings.append(Problem(self.path, line, message))


def _tamed(control: re.Match[str]) -> str:
    """What a control character is meant as: a space, a letter of Windows-1252, or nothing."""
    if control[0].isspace():
        return " "
    return control[0].encode("latin-1").decode("cp1252", "ignore") if control[0] > "\x7f" else ""


def _image(token: Token) -> str:
    """An image as it is written."""
    title = token.attrs.get("title")
    target = f'{token.attrs["src"]} "{title}"' if title else token.attrs["src"]
    return f"![{token.content}]({target})"


def _reads_as_title(lines: Sequence[str]) -> bool:
    """Is the text above a line of dashes a heading, rather than a paragraph?"""
    text = lines[0].rstrip()
    return len(lines) == 1 and len(text) <= 80 and text[-1:].isalnum() and not LABEL.match(text)


def _closed(fence: Token, source: Sequence[str]) -> bool:
    mark = source[-1].strip(" \t>") if source else ""
    return len(source) > 1 and len(mark) >= len(fence.markup) and not mark.strip(fence.markup[0])


def _overlong_paragraph(text: str) -> tuple[int, int] | None:
    """Line, counted from 0, and length of the first paragraph over the limit."""
    if len(text) <= LONGEST_PARAGRAPH:
        return None
    start = number = 0
    for blank in (*re.finditer(r"\n[ \t]*(?=\n)", text), None):
        stop = blank.start() if blank else len(text)
        if stop - start > LONGEST_PARAGRAPH:
            return number + len(text[start:stop]) - len(text[start:stop].lstrip("\n")), stop - start
        number += text.count("\n", start, stop)
        start = stop
    return None


def _without_front_matter(text: str, roles: Roles) -> tuple[str, str]:
    """The text with blank lines for its YAML front matter, and the front matter.

    It is known by a key in its first line, that no speaker is called by, and by having no blank
    lines: a scene may begin with `---` as well.
    """
    lines = text.splitlines() if text.startswith("---") else []
    if not lines or lines[0].rstrip() != "---":
        return text, ""
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."}), 0)
    body = lines[1:end]
    key = _KEY.match(body[0]) if body else None
    if key is None or folded(key[1]) in roles.speakers:
        return text, ""
    if not all(line.startswith((" ", "\t", "#", "- ")) or _KEY.match(line) for line in body):
        return text, ""
    return "\n" * (end + 1) + "\n".join(lines[end + 1 :]), "\n".join(lines[: end + 1])
