"""Lines of a screenplay -> the elements of a script, by the margins that all screenplays have.

Action stands at the left, speeches further in, what is in brackets further, names furthest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from lxml import etree

from narrator.importers.readers.facts import Metadata
from narrator.importers.readers.pdf.lines import CELL, Run, TextLine
from narrator.importers.readers.scripts.script import (
    ScriptItem,
    ScriptRun,
    SpeechPart,
    document_of_script,
    facts_of,
    left,
    text_of,
)

_SLUG = re.compile(
    r"(?P<number>[A-Z]?\d+[A-Z]{0,2}\.?\s+)?"
    r"(?P<text>(?:INT|EXT|EST|I/E|E/I)\b[./ ].*?)(?P<end>\s+[A-Z]?\d+[A-Z]{0,2}\.?)?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?P<number>[A-Z]?\d+[A-Z]{0,2}\.?)\s+(?P<text>.+?)\s+(?P<end>(?P=number))")
_TRANSITION = re.compile(
    r"[^a-z]*\bTO:|[^a-z]*\bFADE (?:IN|OUT)[^a-z]*|FADE (?:TO BLACK|IN|OUT)[.:]?"
)
_MORE = re.compile(r"\(\s*(?:MORE|CONTINUED)\s*\)|CONTINUED:?(?:\s*\(\d+\))?", re.IGNORECASE)
_GOES_ON = re.compile(r"\(\s*CONT['’]?D\.?\s*\)|\(\s*CONTINUED\s*\)", re.IGNORECASE)
_EXTENSIONS = re.compile(r"\([^()]*\)?")
_NUMBER = "number of a scene"
_PAGE_END = "mark of a page's end"
_NEAR = 14.0
"""Points by which a margin may be missed."""
_FEW = 4
_APART = 1.5
"""Times the usual room between two lines: more than that parts paragraphs."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Where the lines of a screenplay begin, in points from the left."""

    action: float
    speech: float
    name: float
    leading: float
    """From one line to the next."""


def margins_of(lines: Sequence[TextLine]) -> Margins | None:
    """The margins of a screenplay; None for what is none.

    That is: headings of scenes, and below them names in capitals at a margin of their own, each
    with a speech that stands between that and the margin of the headings.
    """
    pairs = list(pairwise(lines))
    action = _margin_of_action(lines)
    name = None if action is None else _margin_of_names(pairs, action)
    if action is None or name is None:
        return None
    under = [below for above, below in pairs if abs(above.x0 - name) < _NEAR]
    said = [line for line in under if not line.text.startswith("(")]
    speech = _usual(line.x0 for line in said if _is_between(action, line.x0, name))
    leading = _leading(pairs)
    return None if speech is None or leading is None else Margins(action, speech, name, leading)


def _leading(pairs: Sequence[tuple[TextLine, TextLine]]) -> float | None:
    rooms = (above.base - below.base for above, below in pairs if above.page == below.page)
    return _usual(room for room in rooms if room > 1)


def _margin_of_action(lines: Sequence[TextLine]) -> float | None:
    """Where the headings of scenes begin, without their numbers; None where there are not two."""
    plain = [line for line in lines if CELL not in line.text]
    slugs = [line for line in lines if _is_slug(line.text)]
    own = _usual(line.x0 for line in slugs if CELL not in line.text)
    return None if len(slugs) < 2 else own or _usual(line.x0 for line in plain)


def _margin_of_names(pairs: Sequence[tuple[TextLine, TextLine]], action: float) -> float | None:
    """Where lines in capitals begin, each with one below that stands further left."""
    names = Counter(
        _grain(above.x0)
        for above, below in pairs
        if _is_shouted(above.text) and _is_between(action, below.x0, above.x0)
    )
    return next((float(x) for x, count in names.most_common(1) if count >= _FEW), None)


def _is_between(action: float, x: float, name: float) -> bool:
    return action + _NEAR < x < name


def screenplay_of(
    pages: Sequence[Sequence[TextLine]], margins: Margins, name: str, facts: Metadata
) -> tuple[etree._Element, Metadata, list[str]]:
    """The document of a screenplay, its facts with those of its title page, and what to look at."""
    said = [line for page in pages for line in page]
    script = _Script([line for line in said if line.left is None], margins, name)
    items = list(script.items())
    aside = [left(line.text, line.left, script.source_of(line)) for line in said if line.left]
    root, remarks = document_of_script([*aside, *items])
    front = takewhile(lambda item: item.kind == "left", items)
    page = facts_of([row for item in front for row in ("".join(r.text for r in item.runs), "")])
    facts = replace(facts, title=page.title or facts.title, authors=page.authors or facts.authors)
    return root, facts, [*script.remarks(), *remarks]


def _is_slug(text: str) -> bool:
    return bool(_SLUG.fullmatch(text)) and sum(map(str.isupper, text)) > 3


def _is_shouted(text: str) -> bool:
    bare = _EXTENSIONS.sub("", text)
    return any(map(str.isalpha, bare)) and not re.search(r"(?<!\bM)(?<!\bMa)[a-z]", bare)


def _grain(x: float) -> int:
    return round(x / 4) * 4


def _usual(values: Iterator[float]) -> float | None:
    counts = Counter(map(_grain, values))
    return float(counts.most_common(1)[0][0]) if counts else None


class _Script:
    """Walks the lines of a screenplay once."""

    def __init__(self, lines: Sequence[TextLine], margins: Margins, name: str) -> None:
        self.lines = lines
        self.margins = margins
        self.name = name
        self.cue: list[ScriptRun] = []
        self.parts: list[tuple[bool, list[ScriptRun]]] = []
        """Of the speech in hand: whether each is an aside, and its words."""
        self.source = ""
        self.told: list[ScriptRun] = []
        self.beside: list[str] = []
        """Where two names stand side by side."""

    def remarks(self) -> Iterator[str]:
        if self.beside:
            what = f"Two speak side by side (first: {self.beside[0]}; {len(self.beside)} in all)"
            yield f"{what}; the narrator reads that as it stands: part it in the text."

    def items(self) -> Iterator[ScriptItem]:
        begun = next((n for n, line in enumerate(self.lines) if self._begins(line)), 0)
        for line in self.lines[:begun]:
            yield left(line.text, "title page", self.source_of(line))
        above: TextLine | None = None
        for line in self.lines[begun:]:
            yield from self._line(line, above)
            above = line
        yield from self._ended()

    def _begins(self, line: TextLine) -> bool:
        """Whether the text begins with a line, and the title page is over."""
        return _is_slug(line.text) or bool(_TRANSITION.fullmatch(line.text))

    def _line(self, line: TextLine, above: TextLine | None) -> Iterator[ScriptItem]:
        apart = above is None or self._is_apart(above, line)
        if _MORE.fullmatch(line.text.strip()):
            yield left(line.text, _PAGE_END, self.source_of(line))
        elif alone := self._alone(line):
            yield from self._ended()
            yield alone
        elif self._is_cue(line) and self._goes_on(line.text):
            self.parts[-1][1].append(ScriptRun(f" {line.text}", left=_PAGE_END))
        elif self._is_cue(line):
            yield from self._ended()
            self.cue, self.source = _runs(line), self.source_of(line)
        elif self.cue and line.x0 > (self.margins.action + self.margins.speech) / 2:
            self._say(line, apart and above is not None and above.page == line.page)
        else:
            yield from self._ended(but_told=not apart)
            self.source = self.source if self.told else self.source_of(line)
            _add(self.told, _runs(line))

    def _alone(self, line: TextLine) -> ScriptItem | None:
        """What a line is by itself, if it is one element of a script."""
        text, source = line.text.strip(), self.source_of(line)
        if self._is_transition(line):
            return left(text, "transition", source)
        if numbered := (_SLUG.fullmatch(text) if _is_slug(text) else _NUMBERED.fullmatch(text)):
            return ScriptItem("scene", list(_scene(numbered)), source)
        if self._is_cue(line):
            return None
        if CELL in text and _is_shouted(text):
            self.beside.append(source)
            return ScriptItem("told", _runs(line), source)
        far = line.x0 > self.margins.name + _NEAR
        return ScriptItem("centred", _runs(line), source) if far else None

    def _is_apart(self, above: TextLine, line: TextLine) -> bool:
        room = above.base - line.base
        turned = above.page != line.page and above.text.rstrip()[-1:] in ".!?…:”\"'"
        return turned or (above.page == line.page and room > _APART * self.margins.leading)

    def _is_transition(self, line: TextLine) -> bool:
        named = abs(line.x0 - self.margins.name) < _NEAR and bool(self.cue)
        return bool(_TRANSITION.fullmatch(line.text.strip())) and not named

    def _is_cue(self, line: TextLine) -> bool:
        far = line.x0 > self.margins.speech + _NEAR and abs(line.x0 - self.margins.name) < 3 * _NEAR
        return far and _is_shouted(line.text) and not line.text.startswith("(")

    def _goes_on(self, text: str) -> bool:
        """Whether a name stands at the top of a page, over more of the speech in hand."""
        own = _EXTENSIONS.sub("", text_of(self.cue)).strip()
        bare = _EXTENSIONS.sub("", text).strip()
        return bool(self.parts) and bool(_GOES_ON.search(text)) and own == bare

    def _say(self, line: TextLine, apart: bool) -> None:
        """Take in a line of the speech in hand."""
        last = self.parts[-1] if self.parts else None
        open_aside = last is not None and last[0] and ")" not in text_of(last[1])
        aside = line.text.startswith("(") or open_aside
        if (
            last is not None
            and not apart
            and last[0] == aside
            and not (aside and line.text.startswith("("))
        ):
            _add(last[1], _runs(line))
        else:
            self.parts.append((aside, _runs(line)))

    def _ended(self, but_told: bool = False) -> Iterator[ScriptItem]:
        """What is in hand, which ends."""
        if self.cue:
            parts = [SpeechPart(runs, aside) for aside, runs in self.parts]
            yield ScriptItem("speech", self.cue, self.source, parts=parts)
            self.cue, self.parts = [], []
        if self.told and not but_told:
            yield ScriptItem("told", self.told, self.source)
            self.told = []

    def source_of(self, line: TextLine) -> str:
        return f"{self.name}, page {line.page + 1}"


def _scene(numbered: re.Match[str]) -> Iterator[ScriptRun]:
    """The heading of a scene; its number, in the margins, is left out."""
    for group, why in (("number", _NUMBER), ("text", None), ("end", _NUMBER)):
        if said := numbered[group]:
            yield ScriptRun(said.strip() if why is None else f" {said.strip()} ", left=why)


def _runs(line: TextLine) -> list[ScriptRun]:
    return [_run(run) for run in line.runs]


def _run(run: Run) -> ScriptRun:
    return ScriptRun(run.text, run.em, run.strong)


def _add(runs: list[ScriptRun], more: Sequence[ScriptRun]) -> None:
    """Go on with another line."""
    runs += [ScriptRun(" "), *more]
