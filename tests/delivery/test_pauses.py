"""Every pause between two lines that an author set is heard, whichever way it was set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from narrator.delivery.layout import lay_out_chapters
from narrator.pipeline.manuscript import read_manuscript
from narrator.sound.assemble import Timeline
from narrator.sound.audio import SPEECH_LEAD, SPEECH_TAIL
from tests import books
from tests.fakes import HumEngine

PLAIN = """\
title: The Ferry
author: A. Author
language: en-GB
speakers: {narrator: {}, ann: {}}
narrator: narrator
chapters:
  - {title: Morning, file: text/one.md}
  - {title: Evening, file: text/two.md}
output: {formats: [wav], files: chapters}
"""


def write(folder: Path, one: str, pauses: str = "") -> Path:
    return books.write(folder, PLAIN + f"pauses: {{{pauses}}}\n", one + "\n", "Good night.\n")


def texts(path: Path) -> list[str]:
    return [one.chunk.text for one in read_manuscript(path).spoken if one.chapter == 0]


WITHIN = SPEECH_LEAD + SPEECH_TAIL
"""Seconds of quiet within two takes where they meet: the least that is heard between them."""


def gaps(timeline: Timeline) -> list[float]:
    """Seconds of silence before and after a chapter's takes, and without sound between them."""
    edges = [0, *(edge for cue in timeline.cues for edge in (cue.start, cue.stop))]
    edges.append(timeline.length)
    pairs = zip(edges[::2], edges[1::2], strict=True)
    head, *between, tail = [(stop - start) / timeline.sample_rate for start, stop in pairs]
    return [head, *(gap + WITHIN for gap in between), tail]


def heard(path: Path) -> list[float]:
    """Returns the pauses of the first chapter as it is delivered."""
    report, _ = books.speak(path, HumEngine())
    return gaps(lay_out_chapters(report.plan, [0])[0].timeline)


SHORT = "Yes.\n\nNo.\n\nPerhaps."


# text, pauses of the manifest, and what is heard
QUICK_CASES = [
    (SHORT, "line: 3", [0.75, 3, 3, 1.5]),
    ("Yes.\n\n[pause 2s]\n\nNo.\n\nPerhaps.", "", [0.75, 2, 1.5]),
    ("Yes. [pause 2s] And no.", "line: 3", [0.75, 2, 1.5]),
    ("Yes.\n\nann: No.\n\nnarrator: So.", "speaker: 2, line: 3", [0.75, 2, 2, 1.5]),
    ("Yes.\n\n***\n\nNo.", "scene: 4, line: 3", [0.75, 4, 1.5]),
    ("# Yes\n\nNo.", "heading: 3", [0.75, 3, 1.5]),
    ("- [pause 2s] Yes.\n- No. [pause 3s]\n- So.", "", [2.75, 3, 1.5]),
    ("{ann: I know,} said she, {ann: now.}\n\nYes.", "speaker: 2", [0.75, 0.12, 0.12, 2, 1.5]),
    ("He rose {ann: …} and went. {ann: Yes.}", "speaker: 3", [0.75, 0.35, 1.5]),
]
SLOW_CASES = [
    (SHORT, "line: 0.2", [0.75, 0.2, 0.2, 1.5]),
    (SHORT, "line: 0", [0.75, WITHIN, WITHIN, 1.5]),
    (SHORT, "line: 3, sentence: 1", [0.75, 3, 3, 1.5]),
    ("Yes. [pause 2s]\n\nNo.\n\nPerhaps.", "", [0.75, 2, 1.5]),
    ("Yes.\n\nnarrator: [pause 2s] No.\n\nPerhaps.", "", [0.75, 2, 1.5]),
    ("Yes.\n\n[pause 0s]\n\nNo.\n\nPerhaps.", "", [0.75, WITHIN, 1.5]),
    ("Yes.\n\n[pause 1s]\n\n[pause 1s]\n\nNo.", "line: 3", [0.75, 2, 1.5]),
    ("Yes.\n\n***\n\n[pause 1s]\n\nNo.", "scene: 4", [0.75, 5, 1.5]),
    ("Yes.\n\n***\n\nann: …\n\n***\n\nNo.", "scene: 4", [0.75, 4, 1.5]),
    ("Yes.\n\nann: …\n\n[pause 3s]\n\nnarrator: No.", "", [0.75, 3, 1.5]),
    ("[pause 3s]\n\nann: …\n\nnarrator: Yes.", "", [3.75, 1.5]),
    ("# Yes [pause 3s]\n\nNo.", "", [0.75, 3, 1.5]),
    ("Yes.\n\n***\n\n[pause 3s]", "head: 1", [1, 3]),
    ("> Yes.\n>\n> [pause 2s]\n>\n> No.", "", [0.75, 2, 1.5]),
    ("She wept: {ann: Go!} He went.", "line: 3, speaker: 2", [0.75, 0.12, 0.35, 1.5]),
    ("{ann: “Go!”} said she. {ann: “Now!”}", "line: 3", [0.75, 0.12, 0.35, 1.5]),
    ("{ann: I know,} [pause 2s] said she.", "speaker: 3", [0.75, 2, 1.5]),
    ("# {ann: One,} he said\n\nNo.", "heading: 3, speaker: 2", [0.75, 0.12, 3, 1.5]),
]


@pytest.mark.parametrize(
    ("text", "pauses", "expected"),
    [*QUICK_CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW_CASES)],
)
def test_a_pause_is_heard(text: str, pauses: str, expected: list[float], tmp_path: Path) -> None:
    assert heard(write(tmp_path, text, pauses)) == pytest.approx(expected, abs=0.001)


def test_the_quiet_around_speech_is_part_of_the_pause(tmp_path: Path) -> None:
    report, _ = books.speak(write(tmp_path, SHORT, "line: 1"), HumEngine())
    chapter = lay_out_chapters(report.plan, [0])[0]
    sounds = np.flatnonzero(np.abs(np.concatenate(list(chapter.blocks()))) > 0.003)
    rests = np.diff(sounds) / chapter.timeline.sample_rate
    assert rests[rests > 0.5].tolist() == pytest.approx([1, 1], abs=0.02)


def test_lines_with_the_usual_pause_between_them_share_a_chunk(tmp_path: Path) -> None:
    for pauses in ("", "line: 0.6", "scene: 3, sentence: 2"):
        assert texts(write(tmp_path / "a", SHORT, pauses)) == ["Yes.\nNo.\nPerhaps."]
    assert texts(write(tmp_path / "b", SHORT, "line: 0.7")) == ["Yes.", "No.", "Perhaps."]


def test_a_pause_between_lines_changes_nothing_within_one(tmp_path: Path) -> None:
    long = "\n\n".join(books.TWO.replace("ann: ", "").split("\n\n")[1:])
    assert texts(write(tmp_path / "a", long)) == texts(write(tmp_path / "b", long, "line: 3"))
