"""The cues of subtitles, SRT, WebVTT or SBV, as people and programs write them -> lines with times.

Lenient: numbers, blank lines and the order of times may be missing or wrong. Knows what the signs
of a cue are, not who speaks in it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from narrator.characters import seen
from narrator.importers.readers.scripts.script import ScriptRun, text_of

TIMES = "time of a subtitle"
_HEADER, _COMMENT, _STYLE = "header of a file", "comment of a file", "styles of a file"
_AT = r"(?:(\d{1,3})\s?:\s?)?(\d{1,2})\s?:\s?(\d{1,2})(?:\s?[,.:]\s?(\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_AT}\s*--?>\s*{_AT}(?P<settings>(?:\s.*)?)")
_SBV_AT = r"(\d{1,3}):(\d{2}):(\d{2})\.(\d{3})"
_SBV_TIMING = re.compile(rf"\s*{_SBV_AT},{_SBV_AT}\s*")
"""The row of times in the subtitles of YouTube: `0:00:01.000,0:00:03.000`."""
_BLOCK = re.compile(r"(?P<note>NOTE|STYLE|REGION|X-TIMESTAMP-MAP\S*)(?=\s|$)")
_LANGUAGE = re.compile(r"Language:\s*([A-Za-z]{2,3}(?:-[\w-]+)?)\s*$", re.IGNORECASE)
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>v|c|i|b|u|s|em|strong|font|lang|ruby|rt|span|p|br)"
    r"(?P<rest>(?:[. \t/][^<>\n]*)?)>|<(?P<time>\d[\d:.,]*)>|(?P<ass>\{\\[^{}\n]*\})",
    re.IGNORECASE,
)
_OPENS = {"i": "em", "em": "em", "b": "strong", "strong": "strong", "rt": "ruby"}
"""Tags -> how the words after them are said."""
_VOICE = re.compile(r"(?:\.[\w.-]*)?\s+(?P<name>.*\S)\s*")


@dataclass(slots=True)
class CueLine:
    """A row of a cue."""

    runs: list[ScriptRun]
    voice: str | None = None
    """Who says it, by a tag."""
    begins_voice: bool = False
    """Whether the tag stands in this row."""

    @property
    def text(self) -> str:
        return text_of(self.runs)


@dataclass(slots=True)
class SubtitleCue:
    """What is shown at a time; times are in seconds."""

    start: float
    end: float
    head: str
    """What stands above the words: number, times, settings."""
    row: int
    """The line of its times, from 1."""
    lines: list[CueLine] = field(default_factory=list)


@dataclass(slots=True)
class Cues:
    """A file of subtitles."""

    cues: list[SubtitleCue] = field(default_factory=list)
    others: list[tuple[str, str, int]] = field(default_factory=list)
    """Texts that are none of a cue's, why they are left out, and their lines."""
    language: str | None = None


def read_cues(text: str) -> Cues:
    """The cues of a file."""
    rows = seen(text).split("\n")
    made = Cues()
    at = _preface(rows, made) if rows[0].startswith("WEBVTT") else 0
    while at < len(rows):
        end = next((n for n in range(at, len(rows)) if _timing(rows[n])), len(rows))
        head = _above(rows, at, end, made)
        if end == len(rows):
            break
        at = _cue(rows, end, head, made)
    return made


def _timing(row: str) -> re.Match[str] | None:
    """The times of a cue, where a row says these and no more."""
    return _TIMING.fullmatch(row) or _SBV_TIMING.fullmatch(row)


def words_of(text: str) -> str:
    """A file's text without tags, as it is counted apart; the names in tags are a part of it."""
    named = re.sub(r"<[vV](?:\.[\w.-]*)?[ \t]+([^<>\n]*)>", r" \1 ", seen(text))
    return html.unescape(_TAG.sub(lambda found: found["time"] or "", named))


def _preface(rows: Sequence[str], made: Cues) -> int:
    """Leave the header of WebVTT, up to the first blank line or the first times."""
    for number, row in enumerate(rows):
        if not row.strip() or (number and _timing(row)):
            return number
        made.others.append((row, _HEADER, number + 1))
        if found := _LANGUAGE.match(row):
            made.language = found[1]
    return len(rows)


def _above(rows: Sequence[str], at: int, end: int, made: Cues) -> str:
    """The id of a cue, right above its times; what stands above that is no cue's."""
    id_at = end - 1 if end < len(rows) and end > at and rows[end - 1].strip() else end
    why = _COMMENT
    for number in range(at, id_at):
        row = rows[number]
        if found := _BLOCK.match(row):
            why = _STYLE if found["note"] in ("STYLE", "REGION") else _COMMENT
        if row.strip():
            made.others.append((row, why, number + 1))
    return rows[id_at] if id_at < end else ""


def _cue(rows: Sequence[str], at: int, head: str, made: Cues) -> int:
    """Read the cue whose times stand in a row; returns where the next begins."""
    found = _timing(rows[at])
    assert found is not None
    end = at + 1
    while end < len(rows) and not _ends(rows, end):
        end += 1
    groups = found.groups()
    cue = SubtitleCue(_seconds(groups[:4]), _seconds(groups[4:8]), f"{head} {rows[at]}", at + 1)
    cue.lines = list(_lines(rows[at + 1 : end]))
    made.cues.append(cue)
    return end


def _ends(rows: Sequence[str], at: int) -> bool:
    """Whether a cue has ended above a row: by times, or a blank line and what is no cue's text."""
    row = rows[at].strip()
    below = rows[at + 1] if at + 1 < len(rows) else ""
    blank = not rows[at - 1].strip()
    if _timing(row):
        return True
    if _timing(below) and (row.isdigit() or (blank and row)):
        return True
    return blank and bool(_BLOCK.match(row))


def _seconds(groups: Sequence[str | None]) -> float:
    hours, minutes, seconds, part = (group or "0" for group in groups)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(part.ljust(3, "0")) / 1000


def _lines(rows: Sequence[str]) -> Iterator[CueLine]:
    """The rows of a cue, without their tags."""
    opened: set[str] = set()
    voice: str | None = None
    for row in rows:
        line = CueLine([], voice)
        for one in _runs_and_voices(row, opened):
            if isinstance(one, ScriptRun):
                line.runs.append(one)
                continue
            voice = None if one["end"] else _voice(one["rest"])
            if not one["end"] and (line.text or line.begins_voice):
                yield line
                line = CueLine([], voice)
            line.begins_voice = line.begins_voice or voice is not None
            line.voice = voice or line.voice
        if line.begins_voice or any(run.text.strip() for run in line.runs):
            yield line


def _runs_and_voices(row: str, opened: set[str]) -> Iterator[ScriptRun | re.Match[str]]:
    """The words of a row, and its tags of voices; `opened` says how the words are said and goes
    on from row to row."""
    at = 0
    for found in (*_TAG.finditer(row), None):
        piece = row[at : found.start() if found else len(row)]
        if text := html.unescape(piece).replace("\n", " "):
            left = "ruby annotation" if "ruby" in opened else None
            yield ScriptRun(text, "em" in opened, "strong" in opened, left)
        if found is None:
            return
        at = found.end()
        name = (found["name"] or "").lower()
        if name in _OPENS:
            (opened.discard if found["end"] else opened.add)(_OPENS[name])
        elif name == "v":
            yield found
        elif name in ("br", "p"):
            yield ScriptRun(" ")
        elif found["time"]:
            yield ScriptRun(f" {found['time']} ", omission_reason=TIMES)


def _voice(rest: str) -> str | None:
    found = _VOICE.fullmatch(rest)
    return html.unescape(" ".join(found["name"].split())) if found else None
