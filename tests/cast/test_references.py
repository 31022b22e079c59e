"""What each voice is imitated from: settled for a plan, cast a few at a time, kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from narrator import files
from narrator.cast import auditions, clips, presets, references
from narrator.cast.cast import resolve
from narrator.cast.references import Voices
from narrator.engines import Request, Speech
from narrator.errors import EngineFailure, EngineUnavailable, UserError
from narrator.project import load
from narrator.project.project import Project
from narrator.sound import audio
from tests import sounds
from tests.stage import StageEngine

BRIEF = "The river was high that spring, and the ferry ran late on most days of the week."
NAMES = ("ann", "bea", "cy", "dee")


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(auditions.TEXTS, "en", BRIEF)  # heard for every candidate
    return tmp_path / "home"


def project(folder: Path, cast: str) -> Project:
    folder.mkdir(exist_ok=True)
    (folder / "one.md").write_text("It rained.\n")
    (folder / "book.yaml").write_text(
        f"title: A\nauthor: B\nlanguage: en\nspeakers:\n{cast}narrator: ann\n"
        "chapters: [{title: One, file: one.md}]\n"
    )
    return load.load(folder)


def drawn(folder: Path, names: tuple[str, ...] = NAMES) -> Project:
    """A cast of voices that nothing is known of."""
    return project(folder, "".join(f"  {name}: {{}}\n" for name in names))


def settled(book: Project, engine: StageEngine) -> Voices:
    cast = resolve(book)
    return references.resolve_references(book, cast, dict.fromkeys(cast, engine))


def preset(path: Path, style: str | None = None) -> None:
    sound = audio.resample(sounds.voice(4.0, seed=1) * np.float32(0.3), sounds.RATE, clips.RATE_HZ)
    sealed = presets.Preset(
        "nar", "A b c.", "en", audio.encode_flac(sound, clips.RATE_HZ), style=style
    )
    presets.write(sealed, path)


@dataclass
class Casting:
    """A casting that is looked at while it runs."""

    book: Project
    cancel: Event = field(default_factory=Event)
    told: list[str] = field(default_factory=list)

    def run(self, engine: StageEngine) -> None:
        found = settled(self.book, engine)
        speakers = [name for name, content in found.contents.items() if content is None]
        references.cast_missing(found, engine, speakers, tell=self.told.append, cancel=self.cancel)

    def kept(self) -> int:
        return len(list((self.book.build / "cast").glob("*.voice")))


# -- casting ---------------------------------------------------------------------------------------


def test_voices_are_cast_and_kept_a_few_at_a_time(tmp_path: Path) -> None:
    casting_ = Casting(drawn(tmp_path / "book"))
    there: list[int] = []

    def look(request: Request) -> None:
        there.append(casting_.kept())

    engine = StageEngine(slots=4, fault=look)
    casting_.run(engine)
    count = auditions.CANDIDATE_COUNT
    # two voices fill four slots: six candidates, then both are kept before the next are asked for
    assert there == [0] * 2 * count + [2] * 2 * count
    assert casting_.kept() == 4
    assert len(engine.sessions) == 1
    assert engine.sessions[0].closed


def test_a_casting_that_breaks_off_keeps_what_was_complete(tmp_path: Path) -> None:
    calls: list[Request] = []

    def breaks(request: Request) -> None:
        calls.append(request)
        if len(calls) == 2 * auditions.CANDIDATE_COUNT + 1:
            raise EngineUnavailable("out of memory")

    casting_ = Casting(drawn(tmp_path / "book"))
    with pytest.raises(EngineUnavailable):
        casting_.run(StageEngine(fault=breaks))
    assert casting_.kept() == 2
    again = StageEngine()
    casting_.run(again)
    assert casting_.kept() == 4
    assert len(again.requests) == 2 * auditions.CANDIDATE_COUNT


def test_a_casting_that_is_stopped_keeps_what_is_complete_and_returns(tmp_path: Path) -> None:
    casting_ = Casting(drawn(tmp_path / "book"))
    calls: list[Request] = []

    def stop(request: Request) -> None:
        calls.append(request)
        if (
            len(calls) == auditions.CANDIDATE_COUNT + 1
        ):  # one voice is complete, of another one a candidate
            casting_.cancel.set()

    casting_.run(StageEngine(slots=2, fault=stop))
    assert casting_.kept() == 1
    casting_.run(StageEngine())
    assert casting_.kept() == 1  # stopped before it began


def test_a_part_of_a_group_that_is_complete_when_stopped_is_kept(tmp_path: Path) -> None:
    casting_ = Casting(drawn(tmp_path / "book"))
    spoken: dict[str, int] = {}

    def stop(request: Request) -> None:
        name = request.voice.speaker
        spoken[name] = spoken.get(name, 0) + 1
        if spoken[name] == auditions.CANDIDATE_COUNT:
            casting_.cancel.set()

    casting_.run(StageEngine(slots=6, fault=stop))
    assert casting_.kept() == 1


def test_every_voice_that_cannot_be_cast_is_said_when_the_others_are_kept(tmp_path: Path) -> None:
    def fails(request: Request) -> Speech | EngineFailure | None:
        return EngineFailure("no") if request.voice.speaker in ("ann", "dee") else None

    casting_ = Casting(drawn(tmp_path / "book"))
    with pytest.raises(UserError) as caught:
        casting_.run(StageEngine(slots=6, fault=fails))
    assert [problem.message.split("'")[1] for problem in caught.value.problems] == ["ann", "dee"]
    assert casting_.kept() == 2


# -- what is there ---------------------------------------------------------------------------------


def test_a_voice_that_is_not_cast_yet_is_said_to_be_so(tmp_path: Path) -> None:
    found = settled(drawn(tmp_path / "book"), StageEngine())
    with pytest.raises(UserError, match=r"^the voice of 'ann' has not been cast yet"):
        found.reference("ann", print)


@pytest.mark.parametrize("data", [b"", b"torn"])
def test_a_damaged_cast_voice_says_that_deleting_it_casts_it_anew(
    tmp_path: Path, data: bytes
) -> None:
    book, engine = drawn(tmp_path / "book", ("ann",)), StageEngine()
    found = settled(book, engine)
    files.write(found.files["ann"], data)
    for look in (lambda: settled(book, engine), lambda: found.reference("ann", print)):
        with pytest.raises(UserError) as caught:
            look()
        (problem,) = caught.value.problems
        assert problem.path == found.files["ann"]
        assert problem.message.endswith("delete it, and the voice is cast anew")


def test_an_author_s_own_damaged_preset_is_not_to_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "book" / "voices").mkdir(parents=True)
    (tmp_path / "book" / "voices" / "nar.voice").write_bytes(b"torn")
    book = project(tmp_path / "book", "  ann: {voice: nar}\n")
    with pytest.raises(UserError) as caught:
        settled(book, StageEngine())
    assert "delete" not in str(caught.value)


def test_a_plan_reads_each_preset_once_and_decodes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast = "".join(f"  {name}: {{voice: nar}}\n" for name in NAMES)
    (tmp_path / "book" / "voices").mkdir(parents=True)
    preset(tmp_path / "book" / "voices" / "nar.voice", style="softly")
    book = project(tmp_path / "book", cast.replace("bea: {", "bea: {style: loudly, "))
    glance, read = presets.read_facts, list[Path]()

    def counted(path: Path, transcript: str | None) -> presets.ReferenceFacts:
        read.append(path)
        return glance(path, transcript)

    monkeypatch.setattr(presets, "read_facts", counted)
    monkeypatch.setattr(presets, "read", None)
    found = settled(book, StageEngine())
    assert len(read) == 1
    assert len(set(found.contents.values())) == 1
    assert found.cast["ann"].style == "softly"
    assert found.cast["bea"].style == "loudly"


# -- what was left half written --------------------------------------------------------------------


def abandoned(folder: Path) -> Path:
    """What a writer leaves that is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{16 * 'a'}.part"
    path.write_bytes(b"half")
    return path


def test_what_killed_writers_left_is_swept_wherever_voices_are_kept(
    tmp_path: Path, library: Path
) -> None:
    book = drawn(tmp_path / "book")
    folders = [book.build / "cast", book.build / "voices", book.root / "voices"]
    folders += [library, library / "voices"]
    left = [abandoned(folder) for folder in folders]
    mine = book.root / "voices" / ".my-notes.part"
    mine.write_bytes(b"mine")
    references.remove_temporary_files(book)
    assert not any(path.exists() for path in left)
    assert mine.exists()


def test_sweeping_folders_that_are_not_there_makes_none(tmp_path: Path, library: Path) -> None:
    book = drawn(tmp_path / "book")
    references.remove_temporary_files(book)
    assert not library.exists()
    assert not book.build.exists()
