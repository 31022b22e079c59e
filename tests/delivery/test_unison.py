"""Several voices at one time, from the script to finished files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from narrator.delivery import layout
from narrator.engines import Request, Speech
from narrator.engines.voice import Voice
from narrator.pipeline.accounting import account
from narrator.pipeline.manuscript import count_visible_characters, find_unspoken, read_manuscript
from narrator.report import facts
from narrator.sound.assemble import Timeline
from tests import books
from tests.fakes import RATE, HumEngine, hum
from tests.sounds import tone

MANIFEST = """\
title: The Vow
author: A. Author
language: en-GB
narrator: narrator
speakers: {narrator: {}, Ada: {}, Ben: {}}
chapters:
  - {title: Morning, file: text/one.md}
  - {title: Evening, file: text/two.md}
pauses: {speaker: 0.3, line: 0.6}
output: {formats: [wav], files: chapters, companions: [vtt, srt, labels]}
"""
VOW = "We do, all 3 of us!"
ONE = f"Will you come?\n\nAda & Ben: {VOW}\n\nThey did.\n"
TWO = "They came home.\n"


def write(folder: Path, one: str = ONE, more: str = "") -> Path:
    return books.write(folder, MANIFEST + more, one, TWO)


def slow(request: Request) -> Speech | None:
    """Ben takes his time."""
    ben = request.voice.speaker == "Ben"
    return hum(replace(request, expected=1.5 * request.expected)) if ben else None


PAUSE = round(0.205 * RATE)
"""Samples: 0.3 s, with the quiet in the takes."""


def timeline(run: books.Report) -> Timeline:
    return layout.lay_out_chapters(run.plan, [0])[0].timeline


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> books.Report:
    path = write(tmp_path_factory.mktemp("vow"))
    return books.run(path, HumEngine(fault=slow))[0]


def test_takes_in_unison_begin_together_and_the_next_waits_for_the_last(made: books.Report) -> None:
    ask, ada, ben, did = timeline(made).cues
    assert (ada.speaker, ben.speaker, ada.text, ben.text) == ("Ada", "Ben", VOW, VOW)
    assert ada.start == ben.start == ask.stop + PAUSE
    assert ben.stop - ben.start > 1.3 * (ada.stop - ada.start)
    assert did.start == ben.stop + PAUSE


def test_the_finished_chapter_holds_both_voices(made: books.Report) -> None:
    assert made.finished is not None
    sound, _ = soundfile.read(made.finished.files[0], dtype="float32")
    _, ada, ben, _ = timeline(made).cues
    takes = [made.plan.store.read(cue.key)[0] for cue in (ada, ben)]
    records = [made.plan.store.find(cue.key) for cue in (ada, ben)]
    heard = sound[ada.start : ben.stop]
    for take, record in zip(takes, records, strict=True):
        assert record is not None
        speech = take[record.start : record.stop]
        part = heard[: len(speech)]
        likeness = np.dot(speech, part) / np.linalg.norm(speech) / np.linalg.norm(part)
        assert likeness > 0.5


def test_text_counts_once(made: books.Report) -> None:
    counted = account(made.plan, made.plan.missing)
    said = count_visible_characters("Will you come?" + VOW + "They did." + TWO)
    assert (counted.source, counted.spoken, counted.balanced) == (said, said, True)


def test_companions_show_it_once_with_both_names(made: books.Report) -> None:
    beside = made.plan.folders.finished.rglob("01*.*t*")
    shown = {path.suffix: path.read_text("utf-8") for path in beside}
    assert all(text.count("We do") == 1 for text in shown.values())
    assert "Ada & Ben: We do" in shown[".srt"]
    assert "<v Ada &amp; Ben>We do" in shown[".vtt"]


def test_the_report_says_who_ends_late(made: books.Report) -> None:
    (one,) = facts.gather(books.plan(made.plan.project.path, made.plan.engine)).apart
    assert (one.names, one.last, one.place.text) == ("Ada & Ben", "Ben", VOW)
    assert one.seconds > facts.ENDS_APART
    assert [pause.seconds for pause in facts.gather(made.plan).pauses] == [0.3, 0.3]


def test_a_chapter_waits_for_all_voices_of_a_unison(tmp_path: Path) -> None:
    def mute(request: Request) -> Speech | None:
        made = hum(request)
        ben = request.voice.speaker == "Ben"
        return replace(made, samples=np.zeros_like(made.samples)) if ben else None

    run, _ = books.run(write(tmp_path), HumEngine(fault=mute))
    assert run.incomplete == (0,)
    assert run.accounting.given_up == count_visible_characters(VOW)
    assert run.accounting.balanced
    again, watcher = books.run(write(tmp_path), HumEngine())
    assert watcher.ids == ["1.3"]
    assert again.complete


def test_who_cannot_say_it_is_left_out_of_the_unison(tmp_path: Path) -> None:
    path = write(tmp_path)
    german = MANIFEST.replace("Ben: {}", "Ben: {language: de}")
    path.write_text(german, encoding="utf-8")
    run, _ = books.run(path, HumEngine(lacks=["de"]))
    assert [cue.speaker for cue in timeline(run).cues] == ["narrator", "Ada", "narrator"]
    assert run.accounting.balanced
    assert run.accounting.left_out == 0
    (said,) = find_unspoken(run.plan.manuscript)
    assert "Ben's voice; others say it" in said.message
    path.write_text(german.replace("Ada: {}", "Ada: {language: de}"), encoding="utf-8")
    run, _ = books.run(path, HumEngine(lacks=["de"]))
    assert run.accounting.left_out == count_visible_characters(VOW)
    assert run.accounting.balanced


def test_pauses_marks_and_styles_of_a_unison_hold_once(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "rain.wav", tone(4), RATE)
    more = "music:\n  - {file: rain.wav, place: bed, name: rain}\n"
    vow = f"Ada & Ben (softly): [music: rain] {VOW} [pause 2s] We do!"
    one = f"Will you?\n\n{vow}\n\n[music: off]\n\nYes.\n"
    path = write(tmp_path, one, more)
    book = books.plan(path, HumEngine())
    assert [(s.chunk.speaker, s.style) for s in book.steps[1:5]] == [
        ("Ada", "softly"), ("Ben", "softly"), ("Ada", "softly"), ("Ben", "softly"),
    ]  # fmt: skip
    run, _ = books.run(path, HumEngine(fault=slow))
    cues = timeline(run).heard
    assert cues[2].start - cues[1].stop == round(1.905 * RATE)
    assert run.finished is not None
    assert soundfile.read(run.finished.files[0])[0].ndim == 1


def test_a_unison_of_marks_alone_is_left_out_once(tmp_path: Path) -> None:
    run, _ = books.speak(write(tmp_path, "Will you?\n\nAda & Ben: …\n\nYes.\n"), HumEngine())
    assert [one.text for one in run.plan.chapters[0].left_out] == ["…"]
    assert (run.accounting.left_out, run.accounting.balanced) == (1, True)


@dataclass
class OneVoice(HumEngine):
    """Everybody sounds alike."""

    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        return {}


def test_filters_are_each_speakers_own_though_two_share_a_take(tmp_path: Path) -> None:
    path = write(tmp_path, "Ada: We do, all of us!\n\n***\n\nBen: We do, all of us!\n")
    books.speak(path, OneVoice())
    keys = set()
    for filtered in ((), ("Ada",), ("Ben",), ("Ada", "Ben")):
        manifest = MANIFEST
        for name in filtered:
            manifest = manifest.replace(
                f"{name}: {{}}", f"{name}: {{mastering: {{high_pass: 80}}}}"
            )
        path.write_text(manifest, encoding="utf-8")
        plan = books.plan(path, OneVoice())
        assert len({step.key for step in plan.steps if step.chapter == 0}) == 1
        keys.add(layout.lay_out_chapters(plan, [0])[0].key)
    assert len(keys) == 4


def test_check_and_plan_count_a_unison_once(
    tmp_path: Path, narrator: Callable[..., tuple[int, str, str]]
) -> None:
    path = write(tmp_path)
    once = read_manuscript(write(tmp_path / "b", ONE.replace("Ada & Ben", "Ada")))
    _, said, _ = narrator("check", path, "--spoken")
    assert "3 -> three" in said
    assert "times" not in said
    assert f"{sum(len(u.chunk.text.split()) for u in once.spoken)} words" in said
    rows = json.loads(narrator("plan", path, "--draft", "--json")[1])
    expected = sum(u.expected for u in once.spoken if u.chapter == 0)
    assert rows["chapters"][0]["chunks"] == 4
    assert rows["chapters"][0]["seconds"] == pytest.approx(expected, abs=0.1)
    rows = json.loads(narrator("plan", path, "--draft", "--json", "--speaker", "Ben")[1])
    assert rows["chapters"][0]["seconds"] == rows["speakers"][2]["seconds"] > 0
