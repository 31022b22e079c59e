"""Converts the lines of a screenplay to script elements, by the standard margins of screenplays.

Action is at the left, speeches are indented, parentheticals more, and names most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, takewhile

from lxml import etree

from manuscripts.readers.facts import Metadata
from manuscripts.readers.pdf.lines import CELL_SEPARATOR, TextLine, remaining
from manuscripts.readers.scripts.script import (
    ScriptItem,
    ScriptRun,
    SpeechPart,
    omitted_item,
    parse_title_page,
    text_of,
    write_script,
)

_SCENE_HEADING = re.compile(
    r"(?P<number>[A-Z]?\d+[A-Z]{0,2}\.?\s+)?"
    r"(?P<text>(?:INT|EXT|EST|I/E|E/I)\b[./ ].*?)(?P<end>\s+[A-Z]?\d+[A-Z]{0,2}\.?)?",
    re.IGNORECASE,
)
_NUMBERED_HEADING = re.compile(
    r"(?P<number>[A-Z]?\d+[A-Z]{0,2}\.?)\s+(?P<text>.+?)\s+(?P<end>(?P=number))"
)
_TRANSITION = re.compile(
    r"[^a-z]*\bTO:|[^a-z]*\bFADE (?:IN|OUT)[^a-z]*|FADE (?:TO BLACK|IN|OUT)[.:]?"
)
_PAGE_END_MARK = re.compile(
    r"\(\s*(?:MORE|CONTINUED)\s*\)|CONTINUED:?(?:\s*\(\d+\))?", re.IGNORECASE
)
_CONTINUED_NAME = re.compile(r"\(\s*CONT['’]?D\.?\s*\)|\(\s*CONTINUED\s*\)", re.IGNORECASE)
_EXTENSION = re.compile(r"\([^()]*\)?")
_SCENE_NUMBER = "number of a scene"
_PAGE_END = "mark of a page's end"
_MARGIN_TOLERANCE = 14.0
"""Tolerance for margins, in points."""
_MIN_NAMES = 4
"""Minimum number of names."""
_PARAGRAPH_RATIO = 1.5
"""Distance of lines, relative to the usual, above which paragraphs are separate."""


@dataclass(frozen=True, slots=True)
class Margins:
    """The left margins of a screenplay's elements, in points."""

    action: float
    speech: float
    name: float
    leading: float
    """Distance of baselines, in points."""


def find_margins(lines: Sequence[TextLine]) -> Margins | None:
    """Returns the margins of a screenplay; None for other texts.

    A screenplay has scene headings, and names in capitals at a margin of their own, each with a
    speech below it that begins between that margin and the one of the headings.
    """
    pairs = list(pairwise(lines))
    headings = [line for line in lines if _is_scene_heading(line.text)]
    action = next(filter(None, map(_usual_margin, (headings, lines))), None)
    if len(headings) < 2 or action is None:
        return None
    min_speech = action + _MARGIN_TOLERANCE
    name_counts = Counter(
        _round_position(previous.x0)
        for previous, following in pairs
        if _is_capitals(previous.text) and min_speech < following.x0 < previous.x0
    )
    name, name_count = name_counts.most_common(1)[0] if name_counts else (0, 0)
    speech = _most_common_position(
        following.x0
        for previous, following in pairs
        if abs(previous.x0 - name) < _MARGIN_TOLERANCE
        and min_speech < following.x0 < name
        and not following.text.startswith("(")
    )
    leading = _most_common_position(
        step
        for previous, following in pairs
        if previous.page == following.page and (step := previous.baseline - following.baseline) > 1
    )
    if name_count < _MIN_NAMES or speech is None or leading is None:
        return None
    return Margins(action, speech, float(name), leading)


def _usual_margin(lines: Iterable[TextLine]) -> float | None:
    """Returns the usual margin of lines, but of those with a scene's number before them."""
    return _most_common_position(line.x0 for line in lines if CELL_SEPARATOR not in line.text)


def read_screenplay(
    pages: Sequence[Sequence[TextLine]], margins: Margins, name: str, metadata: Metadata
) -> tuple[etree._Element, Metadata, list[str]]:
    """Returns the document of a screenplay, its metadata with its title page's, and remarks."""
    lines = list(chain.from_iterable(pages))
    builder = _ScriptBuilder(remaining(lines), margins, name)
    script_items = list(builder.build_items())
    omitted_items = [
        omitted_item(line.text, line.omission_reason, builder.source_of(line))
        for line in lines
        if line.omission_reason
    ]
    root, remarks = write_script([*omitted_items, *script_items])
    rows: list[str] = []
    for item in takewhile(lambda item: item.kind == "omitted", script_items):
        rows += ["".join(run.text for run in item.runs), ""]
    title_page = parse_title_page(rows)
    metadata = replace(
        metadata,
        title=title_page.title or metadata.title,
        authors=title_page.authors or metadata.authors,
    )
    return root, metadata, [*builder.remarks(), *remarks]


def _is_scene_heading(text: str) -> bool:
    return bool(_SCENE_HEADING.fullmatch(text)) and sum(map(str.isupper, text)) > 3


def _is_capitals(text: str) -> bool:
    text_without_extensions = _EXTENSION.sub("", text)
    return any(map(str.isalpha, text_without_extensions)) and not re.search(
        r"(?<!\bM)(?<!\bMa)[a-z]", text_without_extensions
    )


def _round_position(x: float) -> int:
    return round(x / 4) * 4


def _most_common_position(positions: Iterator[float]) -> float | None:
    counts = Counter(map(_round_position, positions))
    return float(counts.most_common(1)[0][0]) if counts else None


class _ScriptBuilder:
    """Converts the lines of a screenplay to script elements in one pass."""

    def __init__(self, lines: Sequence[TextLine], margins: Margins, name: str) -> None:
        self.lines = lines
        self.margins = margins
        self.name = name
        self.cue: list[ScriptRun] = []
        self.speech_parts: list[SpeechPart] = []
        """Parts of the current speech."""
        self.source = ""
        self.action_runs: list[ScriptRun] = []
        """Runs of the current paragraph of action."""
        self.dual_sources: list[str] = []
        """Sources of lines with two names side by side."""

    def remarks(self) -> Iterator[str]:
        if self.dual_sources:
            first_source, count = self.dual_sources[0], len(self.dual_sources)
            message = f"Two speak side by side (first: {first_source}; {count} in all)"
            yield f"{message}; the narrator reads that as it stands: part it in the text."

    def build_items(self) -> Iterator[ScriptItem]:
        """Yields the elements of the screenplay; lines before its start are the title page."""
        first_line = next(
            (index for index, line in enumerate(self.lines) if self._begins_script(line)), 0
        )
        for line in self.lines[:first_line]:
            yield omitted_item(line.text, "title page", self.source_of(line))
        previous: TextLine | None = None
        for line in self.lines[first_line:]:
            yield from self._convert_line(line, previous)
            previous = line
        yield from self._finish()

    def _begins_script(self, line: TextLine) -> bool:
        """Returns whether the script begins with a line, after the title page."""
        return _is_scene_heading(line.text) or bool(_TRANSITION.fullmatch(line.text))

    def _convert_line(self, line: TextLine, previous: TextLine | None) -> Iterator[ScriptItem]:
        """Adds a line to the current element, or ends that and yields it."""
        is_apart = previous is None or self._is_apart(previous, line)
        if _PAGE_END_MARK.fullmatch(line.text.strip()):
            yield omitted_item(line.text, _PAGE_END, self.source_of(line))
        elif single_item := self._single_line_item(line):
            yield from self._finish()
            yield single_item
        elif self._is_cue(line) and self._continues_speech(line.text):
            repeated_name = ScriptRun(f" {line.text}", omission_reason=_PAGE_END)
            self._extend_speech([repeated_name])
        elif self._is_cue(line):
            yield from self._finish()
            self.cue, self.source = _script_runs(line), self.source_of(line)
        elif self.cue and line.x0 > (self.margins.action + self.margins.speech) / 2:
            self._add_to_speech(
                line, is_apart and previous is not None and previous.page == line.page
            )
        else:
            yield from self._finish(keeps_action=not is_apart)
            self.source = self.source if self.action_runs else self.source_of(line)
            self.action_runs += [ScriptRun(" "), *_script_runs(line)]

    def _single_line_item(self, line: TextLine) -> ScriptItem | None:
        """Returns the element that a line is by itself; None for a part of an element."""
        text, source = line.text.strip(), self.source_of(line)
        if self._is_transition(line):
            return omitted_item(text, "transition", source)
        if heading := (
            _SCENE_HEADING.fullmatch(text)
            if _is_scene_heading(text)
            else _NUMBERED_HEADING.fullmatch(text)
        ):
            return ScriptItem("scene", list(_scene_heading_runs(heading)), source)
        if self._is_cue(line):
            return None
        if CELL_SEPARATOR in text and _is_capitals(text):
            self.dual_sources.append(source)
            return ScriptItem("action", _script_runs(line), source)
        is_centred = line.x0 > self.margins.name + _MARGIN_TOLERANCE
        return ScriptItem("centred", _script_runs(line), source) if is_centred else None

    def _is_apart(self, previous: TextLine, line: TextLine) -> bool:
        """Returns whether a line begins a new paragraph."""
        distance = previous.baseline - line.baseline
        is_after_page_end = (
            previous.page != line.page and previous.text.rstrip()[-1:] in ".!?…:”\"'"
        )
        return is_after_page_end or (
            previous.page == line.page and distance > _PARAGRAPH_RATIO * self.margins.leading
        )

    def _is_transition(self, line: TextLine) -> bool:
        is_name = abs(line.x0 - self.margins.name) < _MARGIN_TOLERANCE and bool(self.cue)
        return bool(_TRANSITION.fullmatch(line.text.strip())) and not is_name

    def _is_cue(self, line: TextLine) -> bool:
        is_at_name_margin = (
            line.x0 > self.margins.speech + _MARGIN_TOLERANCE
            and abs(line.x0 - self.margins.name) < 3 * _MARGIN_TOLERANCE
        )
        return is_at_name_margin and _is_capitals(line.text) and not line.text.startswith("(")

    def _continues_speech(self, text: str) -> bool:
        """Returns whether a name repeats the current speaker at the top of a page: `(CONT'D)`."""
        current_name = _EXTENSION.sub("", text_of(self.cue)).strip()
        name = _EXTENSION.sub("", text).strip()
        return (
            bool(self.speech_parts) and bool(_CONTINUED_NAME.search(text)) and current_name == name
        )

    def _add_to_speech(self, line: TextLine, starts_paragraph: bool) -> None:
        """Adds a line to the current speech; `starts_paragraph` begins a new paragraph."""
        last_part = self.speech_parts[-1] if self.speech_parts else None
        is_open_aside = last_part and last_part.is_aside and ")" not in text_of(last_part.runs)
        opens_aside = line.text.startswith("(")
        is_aside = opens_aside or bool(is_open_aside)
        is_same_part = last_part is not None and last_part.is_aside == is_aside and not opens_aside
        if is_same_part and not starts_paragraph:
            self._extend_speech([ScriptRun(" "), *_script_runs(line)])
        else:
            self.speech_parts.append(SpeechPart(_script_runs(line), is_aside))

    def _extend_speech(self, runs: Sequence[ScriptRun]) -> None:
        """Adds runs to the last part of the current speech."""
        last_part = self.speech_parts[-1]
        self.speech_parts[-1] = replace(last_part, runs=[*last_part.runs, *runs])

    def _finish(self, keeps_action: bool = False) -> Iterator[ScriptItem]:
        """Yields the current speech or action, which ends."""
        if self.cue:
            yield ScriptItem("speech", self.cue, self.source, parts=self.speech_parts)
            self.cue, self.speech_parts = [], []
        if self.action_runs and not keeps_action:
            yield ScriptItem("action", self.action_runs, self.source)
            self.action_runs = []

    def source_of(self, line: TextLine) -> str:
        return f"{self.name}, page {line.page + 1}"


def _scene_heading_runs(heading: re.Match[str]) -> Iterator[ScriptRun]:
    """Yields the runs of a scene heading; the numbers in the margins are left out."""
    for group, reason in (("number", _SCENE_NUMBER), ("text", None), ("end", _SCENE_NUMBER)):
        if text := heading[group]:
            yield ScriptRun(
                text.strip() if reason is None else f" {text.strip()} ", omission_reason=reason
            )


def _script_runs(line: TextLine) -> list[ScriptRun]:
    return [ScriptRun(run.text, run.is_italic, run.is_bold) for run in line.runs]
