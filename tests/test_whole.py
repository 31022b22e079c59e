"""A whole work from source to files, held against independent measurements.

The first sentences of the story in `projects/` always. As slow tests the whole of it, and the
novel where it is found (`NARRATOR_TEST_EPUB` or `../shared/books`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import av
import numpy as np
import pytest
from lxml import etree

from narrator.engines.draft.espeak import DraftEngine
from narrator.importing import import_book, write_project
from narrator.pipeline import run
from tests import books

ROOT = Path(__file__).resolve().parents[1]
STORY = ROOT / "projects" / "eleven-minutes-fast"


def decoded(path: Path) -> tuple[np.ndarray, int]:
    """Samples of a delivered file as a player hears them, edit list and all."""
    with av.open(str(path)) as container:
        rate = container.streams.audio[0].rate
        resampler = av.AudioResampler(format="flt", layout="mono")
        frames = [
            part.to_ndarray()[0]
            for frame in container.decode(audio=0)
            for part in resampler.resample(frame)
        ]
    return np.concatenate(frames), rate


def measured(samples: np.ndarray, rate: int) -> tuple[float, float]:
    """Integrated loudness and true peak by FFmpeg's ebur128, fed here and not by narrator."""
    graph = av.filter.Graph()
    source = graph.add_abuffer(sample_rate=rate, format="flt", layout="mono")
    meter = graph.add("ebur128", "metadata=1:framelog=quiet:peak=true")
    graph.link_nodes(source, meter, graph.add("abuffersink")).configure()
    loudness = peak = 0.0
    for at in range(0, len(samples), rate):
        frame = av.AudioFrame.from_ndarray(samples[None, at : at + rate], "flt", "mono")
        frame.sample_rate, frame.pts = rate, at
        graph.push(frame)
        while True:
            try:
                metadata = graph.pull().metadata
            except (av.BlockingIOError, av.EOFError):
                break
            loudness = float(metadata["lavfi.r128.I"])
            peak = float(metadata["lavfi.r128.true_peak"])
    return loudness, 20 * np.log10(peak)


def onset(samples: np.ndarray, rate: int) -> float:
    """Seconds until sound rises clearly over silence."""
    frame = rate // 200
    power = np.square(samples[: len(samples) // frame * frame].reshape(-1, frame)).mean(axis=1)
    return float(np.flatnonzero(power > 1e-6)[0]) * frame / rate


def render(path: Path) -> run.Report:
    report, _ = books.run(path, DraftEngine())
    assert report.complete
    return report


def check_marks(report: run.Report) -> None:
    """Each chapter mark of the M4B against the sound at that place, to 50 ms."""
    m4b = next(path for path in report.finished.files if path.suffix == ".m4b")
    samples, rate = decoded(m4b)
    with av.open(str(m4b)) as container:
        marks = [
            (float(c["start"] * c["time_base"]), c["metadata"]["title"])
            for c in container.chapters()
        ]
    chapters = report.plan.manuscript.chapters
    assert [title for _, title in marks] == [chapter.title for chapter in chapters]
    folder = report.plan.manuscript.project.build / "timeline" / "book-draft"
    for number, (start, _) in enumerate(marks):
        timeline = json.loads((folder / f"{number + 1:03}.json").read_text())
        cue = timeline["cues"][0]
        take, take_rate = report.plan.store.read(cue["key"])
        record = report.plan.store.find(cue["key"])
        into = onset(take[record.start : record.stop], take_rate)
        expected = cue["start"] / timeline["sample_rate"] + into
        heard = onset(samples[round(start * rate) :], rate)
        assert heard == pytest.approx(expected, abs=0.05)
    ends = [start for start, _ in marks[1:]] + [len(samples) / rate]
    for (start, _), end in zip(marks, ends, strict=True):
        loudness, peak = measured(samples[round(start * rate) : round(end * rate)], rate)
        assert loudness == pytest.approx(-18, abs=0.5)
        assert peak <= -1.5


def check_tracks(report: run.Report) -> None:
    """Each MP3 of a chapter against the target."""
    tracks = [path for path in report.finished.files if path.suffix == ".mp3"]
    assert len(tracks) >= len(report.plan.manuscript.chapters)
    for path in tracks:
        loudness, peak = measured(*decoded(path))
        assert loudness == pytest.approx(-18, abs=0.5)
        assert peak <= -1.5


@pytest.mark.parametrize("sentences", [2, pytest.param(None, marks=pytest.mark.slow)])
def test_the_story_has_its_marks_and_its_loudness_in_m4b_and_mp3(tmp_path, sentences):
    shutil.copytree(STORY, tmp_path / "story", ignore=shutil.ignore_patterns("build"))
    for chapter in (tmp_path / "story" / "text").iterdir():
        if sentences:
            title, first, *_ = chapter.read_text(encoding="utf-8").split("\n\n")
            first = " ".join(re.split(r"(?<=[.!?]) ", first)[:sentences])
            chapter.write_text(f"{title}\n\n{first}\n", encoding="utf-8")
    report = render(tmp_path / "story" / "book.yaml")
    assert {path.suffix for path in report.finished.files} >= {".m4b", ".mp3"}
    check_marks(report)
    check_tracks(report)


def novel() -> Path | None:
    named = os.environ.get("NARRATOR_TEST_EPUB")
    found = [Path(named)] if named else sorted((ROOT.parent / "shared" / "books").glob("*.epub"))
    return found[0] if found else None


def words_of(epub: Path) -> list[str]:
    """Words of the body's chapters, by another road than the importer's."""
    words: list[str] = []
    with zipfile.ZipFile(epub) as archive:
        names = [n for n in archive.namelist() if re.search(r"chapter-\d+\.xhtml$", n)]
        for name in sorted(names, key=lambda n: int(re.findall(r"\d+", n)[-1])):
            body = etree.fromstring(archive.read(name)).find("{*}body")
            for block in body.iter("{*}p", "{*}h2", "{*}li", "{*}td"):
                words += re.findall(r"\w+", "".join(block.itertext()))
    return words


@pytest.mark.slow
@pytest.mark.skipif(novel() is None, reason="the novel is not here: set NARRATOR_TEST_EPUB")
def test_the_novel_is_spoken_whole_with_its_marks_and_its_loudness(tmp_path):
    written = write_project(import_book(novel()), tmp_path / "novel")
    path = tmp_path / "novel" / "book.yaml"
    path.write_text(path.read_text() + "\noutput: {formats: [m4b, mp3], files: chapters}\n")
    assert written.manifest == path
    report = render(path)
    spoken = [w for s in report.plan.steps for w in re.findall(r"\w+", s.chunk.text)]
    assert spoken == words_of(novel())
    facts = report.accounting
    assert facts.source == facts.spoken > 40_000
    check_marks(report)
    check_tracks(report)
