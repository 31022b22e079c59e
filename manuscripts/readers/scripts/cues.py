"""Parses the cues of subtitles (SRT, WebVTT, SBV) into lines with times.

Lenient: numbers, blank lines and the order of times may be missing or wrong. Knows the syntax of
cues, not who speaks in them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from manuscripts.readers.scripts.script import ScriptRun, text_of
from textbase.characters import strip_invisible

TIMES = "time of a subtitle"
_HEADER, _COMMENT, _STYLE = "header of a file", "comment of a file", "styles of a file"
_TIME = r"(?:(\d{1,3})\s?:\s?)?(\d{1,2})\s?:\s?(\d{1,2})(?:\s?[,.:]\s?(\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_TIME}\s*--?>\s*{_TIME}(?P<settings>(?:\s.*)?)")
_SBV_TIME = r"(\d{1,3}):(\d{2}):(\d{2})\.(\d{3})"
_SBV_TIMING = re.compile(rf"\s*{_SBV_TIME},{_SBV_TIME}\s*")
"""The times of a cue in YouTube's subtitles: `0:00:01.000,0:00:03.000`."""
_BLOCK = re.compile(r"(?P<note>NOTE|STYLE|REGION|X-TIMESTAMP-MAP\S*)(?=\s|$)")
_LANGUAGE = re.compile(r"Language:\s*([A-Za-z]{2,3}(?:-[\w-]+)?)\s*$", re.IGNORECASE)
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>v|c|i|b|u|s|em|strong|font|lang|ruby|rt|span|p|br)"
    r"(?P<rest>(?:[. \t/][^<>\n]*)?)>|<(?P<time>\d[\d:.,]*)>|(?P<ass>\{\\[^{}\n]*\})",
    re.IGNORECASE,
)
_TAG_STYLES = {"i": "em", "em": "em", "b": "strong", "strong": "strong", "rt": "ruby"}
"""Styles of the text within tags."""
_VOICE = re.compile(r"(?:\.[\w.-]*)?\s+(?P<name>.*\S)\s*")


@dataclass(slots=True)
class CueLine:
    """A line of a cue."""

    runs: list[ScriptRun]
    voice: str | None = None
    """Name of the speaker by a tag."""
    begins_voice: bool = False
    """True if the tag of the speaker is in this line."""

    @property
    def text(self) -> str:
        return text_of(self.runs)


@dataclass(slots=True)
class SubtitleCue:
    """Text that is shown together; times are in seconds."""

    start: float
    end: float
    head: str
    """Text before the lines: number, times, settings."""
    row: int
    """Line number of its times in the file, from 1."""
    lines: list[CueLine] = field(default_factory=list)


@dataclass(slots=True)
class SubtitleFile:
    """The parsed content of a subtitle file."""

    cues: list[SubtitleCue] = field(default_factory=list)
    other_texts: list[tuple[str, str, int]] = field(default_factory=list)
    """Texts outside of cues, with the reason to leave them out and their line numbers."""
    language: str | None = None


def read_cues(text: str) -> SubtitleFile:
    """Parses the cues of a file."""
    rows = strip_invisible(text).split("\n")
    subtitles = SubtitleFile()
    row_index = _read_header(rows, subtitles) if rows[0].startswith("WEBVTT") else 0
    while row_index < len(rows):
        times_index = row_index
        while times_index < len(rows) and not _match_times(rows[times_index]):
            times_index += 1
        head = _read_cue_id(rows, row_index, times_index, subtitles)
        row_index = len(rows)
        if times_index < row_index:
            row_index = _read_cue(rows, times_index, head, subtitles)
    return subtitles


def _match_times(row: str) -> re.Match[str] | None:
    """Matches a row that has the times of a cue and nothing else."""
    return _TIMING.fullmatch(row) or _SBV_TIMING.fullmatch(row)


def text_without_tags(text: str) -> str:
    """Returns a file's text without tags, but with the names in them, to count its characters."""
    text_with_names = re.sub(
        r"<[vV](?:\.[\w.-]*)?[ \t]+([^<>\n]*)>", r" \1 ", strip_invisible(text)
    )
    return html.unescape(_TAG.sub(lambda tag: tag["time"] or "", text_with_names))


def _read_header(rows: Sequence[str], subtitles: SubtitleFile) -> int:
    """Collects the header of WebVTT, up to the first blank line or times; returns the next row."""
    for row_index, row in enumerate(rows):
        if not row.strip() or (row_index and _match_times(row)):
            return row_index
        subtitles.other_texts.append((row, _HEADER, row_index + 1))
        if match := _LANGUAGE.match(row):
            subtitles.language = match[1]
    return len(rows)


def _read_cue_id(rows: Sequence[str], start: int, end: int, subtitles: SubtitleFile) -> str:
    """Returns the id of a cue, right above its times; collects rows above that as other texts."""
    id_index = end - 1 if end < len(rows) and end > start and rows[end - 1].strip() else end
    reason = _COMMENT
    for row_index in range(start, id_index):
        row = rows[row_index]
        if match := _BLOCK.match(row):
            reason = _STYLE if match["note"] in ("STYLE", "REGION") else _COMMENT
        if row.strip():
            subtitles.other_texts.append((row, reason, row_index + 1))
    return rows[id_index] if id_index < end else ""


def _read_cue(rows: Sequence[str], times_index: int, head: str, subtitles: SubtitleFile) -> int:
    """Reads the cue whose times are in a row; returns the row after it."""
    match = _match_times(rows[times_index])
    assert match is not None
    end = times_index + 1
    while end < len(rows) and not _is_cue_end(rows, end):
        end += 1
    start_time, end_time = _to_seconds(match.groups()[:4]), _to_seconds(match.groups()[4:8])
    cue = SubtitleCue(start_time, end_time, f"{head} {rows[times_index]}", times_index + 1)
    cue.lines = list(_read_lines(rows[times_index + 1 : end]))
    subtitles.cues.append(cue)
    return end


def _is_cue_end(rows: Sequence[str], row_index: int) -> bool:
    """Returns whether a cue ends before a row.

    It does before times, before a number or id of the next cue, and before a comment block.
    """
    row, next_row = rows[row_index].strip(), "".join(rows[row_index + 1 : row_index + 2])
    follows_blank = not rows[row_index - 1].strip()
    may_be_id = row.isdigit() or (follows_blank and row)
    if _match_times(row) or (may_be_id and _match_times(next_row)):
        return True
    return follows_blank and bool(_BLOCK.match(row))


def _to_seconds(groups: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = (group or "0" for group in groups)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _read_lines(rows: Sequence[str]) -> Iterator[CueLine]:
    """Yields the lines of a cue without their tags, split where another speaker begins."""
    open_styles: set[str] = set()
    voice: str | None = None
    for row in rows:
        line = CueLine([], voice)
        for piece in _runs_and_voices(row, open_styles):
            if isinstance(piece, ScriptRun):
                line.runs.append(piece)
                continue
            voice = None if piece["end"] else _voice_name(piece["rest"])
            if not piece["end"] and (line.text or line.begins_voice):
                yield line
                line = CueLine([], voice)
            line.begins_voice = line.begins_voice or voice is not None
            line.voice = voice or line.voice
        if line.begins_voice or any(run.text.strip() for run in line.runs):
            yield line


def _runs_and_voices(row: str, open_styles: set[str]) -> Iterator[ScriptRun | re.Match[str]]:
    """Yields the runs of a row and its voice tags.

    `open_styles` are the open styles, which continue from row to row.
    """
    position = 0
    for tag in (*_TAG.finditer(row), None):
        text = html.unescape(row[position : tag.start() if tag else len(row)]).replace("\n", " ")
        if text:
            omission_reason = "ruby annotation" if "ruby" in open_styles else None
            yield ScriptRun(text, "em" in open_styles, "strong" in open_styles, omission_reason)
        if tag is None:
            return
        position = tag.end()
        name = (tag["name"] or "").lower()
        if name in _TAG_STYLES:
            change = open_styles.discard if tag["end"] else open_styles.add
            change(_TAG_STYLES[name])
        elif name == "v":
            yield tag
        elif name in ("br", "p"):
            yield ScriptRun(" ")
        elif tag["time"]:
            yield ScriptRun(f" {tag['time']} ", omission_reason=TIMES)


def _voice_name(attributes: str) -> str | None:
    match = _VOICE.fullmatch(attributes)
    return html.unescape(" ".join(match["name"].split())) if match else None
