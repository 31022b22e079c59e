"""Speakers of one book with different engines, through the whole pipeline."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import soundfile

from narrator import files
from narrator.engines import Speech, machine
from narrator.engines.machine import Memory
from narrator.engines.voxcpm2.engine import VoxCPM2Engine
from narrator.errors import ManifestError, UsageError
from narrator.pipeline import book_engines, book_plan, checking, estimate, retakes, run, upkeep
from narrator.pipeline.manuscript import read_manuscript
from narrator.pipeline.retakes import RetakeSettings
from narrator.project.load import load
from narrator.sound.audio import resample
from narrator.speech.store import Store
from tests import books
from tests.fakes import RATE, HumEngine, hum


def slower(request):
    """What the other engine hums: the same, at twice the rate."""
    speech = hum(request)
    return Speech(np.repeat(speech.samples, 2), speech.state)


def drone(**changes):
    return HumEngine("drone", sample_rate=2 * RATE, fault=slower, **changes)


def plan(path, engine, **engines):
    return books.plan(path, engine, engines)


def render(path, engine, **engines):
    return books.speak(path, engine, engines=engines)[0]


def retake(path, engine, chunks, **engines):
    watcher = books.Watcher()
    return retakes.retake(
        read_manuscript(path), engine, chunks, RetakeSettings(), sink=watcher,
        cancel=watcher.cancel, engines=engines,
    )  # fmt: skip


def test_each_speaker_is_spoken_by_its_own_engine_and_nothing_is_rendered_twice(tmp_path):
    path, one, other = books.brief(tmp_path), HumEngine(), drone()
    report = render(path, one, ann=other)
    assert report.complete
    assert {r.voice.speaker for r in one.requests} == {"narrator"}
    assert {r.voice.speaker for r in other.requests} == {"ann"}
    assert [session.closed for session in (*one.sessions, *other.sessions)] == [True, True]
    speaks = {step.chunk.speaker: step.engine for step in report.plan.steps}
    assert speaks == {"narrator": "hum", "ann": "drone"}
    assert render(path, one, ann=other).result.rendered == 0


def test_a_speaker_s_keys_are_those_of_its_engine_whoever_else_speaks(tmp_path):
    path = books.write(tmp_path)
    mixed = plan(path, HumEngine(), ann=drone())
    alone = {"narrator": plan(path, HumEngine()), "ann": plan(path, drone())}
    for number, step in enumerate(mixed.steps):
        assert step.key == alone[step.chunk.speaker].steps[number].key


def test_no_take_continues_one_of_another_engine(tmp_path):
    path, one, other = books.write(tmp_path), HumEngine(), drone(continues=False)
    steps = {step.key: step for step in render(path, one, ann=other).plan.steps}
    parents = [(steps[s.parent].engine, s.engine) for s in steps.values() if s.parent]
    assert set(parents) == {("hum", "hum")}
    assert not any(request.prompt for request in other.requests)
    assert any(request.prompt for request in one.requests)


def test_a_chapter_has_the_highest_rate_of_its_book_and_every_take_its_length(tmp_path):
    path, one = books.brief(tmp_path), HumEngine()
    report, _ = books.run(path, one, engines={"ann": drone()})
    plain, _ = books.run(books.brief(tmp_path / "plain"), one)
    for mixed, same in zip(report.finished.files, plain.finished.files, strict=True):
        sound, other = soundfile.info(mixed), soundfile.info(same)
        assert (sound.samplerate, other.samplerate) == (2 * RATE, RATE)
        assert sound.duration == other.duration
    rates = {
        step.engine: report.plan.store.find(step.key).sample_rate for step in report.plan.steps
    }
    assert rates == {"hum": RATE, "drone": 2 * RATE}


def test_another_try_is_asked_of_the_speaker_s_engine(tmp_path):
    path, one, other = books.brief(tmp_path), HumEngine(), drone()
    book = render(path, one, ann=other).plan
    asked = len(one.requests), len(other.requests)
    chunk = next(step for step in book.steps if step.engine == "drone")
    [retaken] = retake(path, one, [chunk.id], ann=other)
    assert retaken.tries
    assert (len(one.requests), len(other.requests)) == (asked[0], asked[1] + 1)


def test_two_engines_of_one_name_are_two(tmp_path):
    path, one, other = books.brief(tmp_path), HumEngine(), HumEngine(version=2)
    report = render(path, one, ann=other)
    assert report.complete
    assert {r.voice.speaker for r in one.requests} == {"narrator"}
    assert {r.voice.speaker for r in other.requests} == {"ann"}
    versions = {s.chunk.speaker: s.recipe["engine"]["version"] for s in report.plan.steps}
    assert versions == {"narrator": 1, "ann": 2}


def test_a_tone_of_a_lower_rate_is_that_tone_and_nothing_else():
    seconds = np.arange(22_050) / 22_050
    tone = (0.5 * np.sin(2 * np.pi * 1000 * seconds)).astype(np.float32)
    sound = resample(tone, 22_050, 48_000)[2000:-2000]
    exact = 0.5 * np.sin(2 * np.pi * 1000 * (np.arange(len(sound)) + 2000) / 48_000)
    assert np.abs(sound - exact).max() < 1e-4


def test_what_is_delivered_before_the_others_has_the_rate_of_the_whole_book(tmp_path):
    alone = books.BRIEF_ONE.replace("ann: Is there room for one more?", "It was cold.")
    path = books.brief(tmp_path, one=alone)
    other = drone()
    report, _ = books.run(path, HumEngine(), chapters=["1"], engines={"ann": other})
    assert not other.requests
    assert [soundfile.info(path).samplerate for path in report.finished.files] == [2 * RATE]


def test_the_rate_is_of_who_has_anything_to_say(tmp_path):
    path = books.brief(tmp_path)
    path.write_text(path.read_text().replace("  ann:", "  cy:\n  ann:"))
    assert plan(path, HumEngine(), cy=drone()).sample_rate == RATE
    assert plan(path, HumEngine(), ann=drone()).sample_rate == 2 * RATE


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "available", "stays"),
    [
        pytest.param(20, 30, True, marks=pytest.mark.slow),
        (20, 20, True),
        (20, 19, False),
        pytest.param(20, None, False, marks=pytest.mark.slow),
        (0, 0, True),  # it takes no memory
        (None, 100, False),  # its memory is not seen from here
    ],
)
def test_engines_run_in_turn_where_memory_is_short(tmp_path, monkeypatch, size, available, stays):
    one, other = HumEngine(size=40), HumEngine("drone", size=size or 0)
    if size is None:
        monkeypatch.setattr(other, "required_memory", lambda: None)
    monkeypatch.setattr(machine, "memory", lambda: Memory(100, available))
    assert render(books.brief(tmp_path), one, ann=other).complete
    assert one.loaded == stays


def test_other_tries_by_two_engines_are_asked_in_turn(tmp_path, monkeypatch):
    path, one, other = books.brief(tmp_path), HumEngine(size=40), HumEngine("drone", size=20)
    book = render(path, one, ann=other).plan
    chunks = [next(s.id for s in book.steps if s.engine == name) for name in ("hum", "drone")]
    one.loaded = other.loaded = False
    monkeypatch.setattr(machine, "memory", lambda: Memory(100, 10))
    retake(path, one, chunks, ann=other)
    assert (one.loaded, other.loaded) == (False, True)


# -- the manifest ----------------------------------------------------------------------------------


def cast(path, *speakers, engine="", chapter=""):
    """The book with these speakers, each a line of YAML."""
    lines = "".join(f"  {line}\n" for line in speakers)
    text = path.read_text()
    head, _, rest = text.partition("speakers:\n")
    _, _, tail = rest.partition("chapters:\n")
    tail = tail.replace("text/two.md}", f"text/two.md{chapter}}}")
    path.write_text(f"{head}{engine}speakers:\n{lines}chapters:\n{tail}")
    return path


def settings(path):
    return book_engines.settings_of(load(path))


def test_a_speaker_s_settings_are_over_the_book_s_of_the_same_engine(tmp_path):
    path = cast(
        books.brief(tmp_path),
        "narrator:",
        "ann: {engine: {seed: 3}}",
        "bob: {engine: {name: voxcpm2, steps: 5}, plays: [cy]}",
        "dan: {engine: draft}",
        'eve: {engine: {name: server, url: "http://127.0.0.1:1", model: x}}',
        engine="engine: {cfg: 3.0, model: ./mine}\n",
    )
    found = settings(path)
    assert {name: one.name for name, one in found.items()} == {
        "narrator": "voxcpm2", "ann": "voxcpm2", "bob": "voxcpm2", "dan": "draft",
        "eve": "server", "cy": "voxcpm2",
    }  # fmt: skip
    assert (found["ann"].model, found["ann"].cfg, found["ann"].seed) == ("./mine", 3.0, 3)
    assert found["cy"] == found["bob"]
    assert (found["bob"].steps, found["bob"].cfg) == (5, 3.0)
    assert (found["eve"].model, found["eve"].cfg) == ("x", 2.0)


def test_engines_that_differ_in_what_goes_with_each_request_are_one(tmp_path):
    path = cast(
        books.brief(tmp_path),
        "narrator:",
        "ann: {engine: {seed: 3, cfg: 2.5, earliest_stop: 0.3}}",
        "bob: {engine: {model: ./other}}",
        "cy: {engine: {model: ./other, steps: 4}}",
        "dan: {engine: draft}",
    )
    engines = book_engines.engines_for(load(path))
    assert engines.of("ann") is engines.main
    assert engines.of("bob") is engines.of("cy") is not engines.main
    assert [engine.name for engine in engines.all] == ["voxcpm2", "voxcpm2", "draft"]
    again = book_engines.engines_for(load(path), existing_engines=engines.settings)
    assert [again.of(name) is engines.of(name) for name in ("ann", "bob", "cy", "dan")] == [
        True, True, True, True,
    ]  # fmt: skip


def test_a_draft_makes_every_speaker_draft(tmp_path):
    path = cast(books.brief(tmp_path), "narrator:", "ann: {engine: {model: ./other}}")
    engines = book_engines.engines_for(load(path).spoken_by("draft"))
    assert [engine.name for engine in engines.all] == ["draft"]


def test_a_chapter_s_settings_are_for_all_engines_that_have_them_and_under_a_speaker_s_own(
    tmp_path,
):
    path = cast(
        books.brief(tmp_path), "narrator:", "ann: {engine: {cfg: 2.5}}",
        chapter=", engine: {cfg: 1.5, seed: 4}",
    )  # fmt: skip
    steps = plan(path, HumEngine(), ann=drone()).steps
    found = {(s.chapter, s.chunk.speaker): (s.parameters["cfg"], s.seed) for s in steps}
    assert found == {
        (0, "narrator"): (2.0, 0), (0, "ann"): (2.5, 0),
        (1, "narrator"): (1.5, 4), (1, "ann"): (2.5, 4),
    }  # fmt: skip


def test_a_book_whose_speakers_name_its_own_engine_keeps_its_keys(tmp_path):
    plain = books.brief(tmp_path)
    before = [step.key for step in plan(plain, HumEngine()).steps]
    path = cast(
        books.brief(tmp_path / "named"),
        "narrator: {engine: voxcpm2, voice: {description: An old ferryman}}",
        "ann: {engine: {seed: 0}, voice: {description: A girl, seed: 3}}",
    )
    assert [step.key for step in plan(path, HumEngine()).steps] == before


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("drat", "speakers.ann.engine: must be 'voxcpm2', 'kokoro', 'cosyvoice2', 'server' or "
                 "'draft', not 'drat'; did you mean 'draft'?"),
        ("{name: voxcmp2}", "speakers.ann.engine.name: must be"),
        ("{sead: 3}", "unknown key 'sead' in speakers.ann.engine; did you mean 'seed'?"),
        ("{cfg: 99}", "speakers.ann.engine.cfg: must be less than or equal to 10"),
        ("3", "speakers.ann.engine: must be"),
    ],
)  # fmt: skip
def test_a_wrong_engine_of_a_speaker_is_said_with_its_line(tmp_path, written, said):
    path = cast(books.brief(tmp_path), "narrator:", f"ann: {{engine: {written}}}")
    with pytest.raises(ManifestError) as caught:
        load(path)
    [problem] = caught.value.problems
    assert said in str(problem)
    assert problem.line == path.read_text().split("\n").index(
        f"  ann: {{engine: {written}}}"
    ) + 1  # fmt: skip


def warned(path):
    found = []
    checking.check_manuscript(read_manuscript(path), found.append)
    return [line for line in found if "such setting" in line]


def test_a_setting_that_a_speaker_s_engine_lacks_is_said_with_those_that_have_it(tmp_path):
    path = cast(books.brief(tmp_path), "narrator:", "ann: {engine: {name: draft, cfg: 3.0}}")
    [line] = warned(path)
    assert line.endswith(
        "speakers.ann.engine.cfg: the engine draft has no such setting and ignores it; "
        "voxcpm2 and server have it"
    )


def test_a_chapter_s_setting_is_asked_of_some_engine_or_said(tmp_path):
    mixed = cast(
        books.brief(tmp_path / "mixed"), "narrator:", "ann: {engine: draft}",
        chapter=", engine: {cfg: 1.5}",
    )  # fmt: skip
    assert warned(mixed) == []
    drafts = cast(
        books.brief(tmp_path / "drafts"), "narrator: {engine: draft}", "ann: {engine: draft}",
        chapter=", engine: {cfg: 1.5}",
    )  # fmt: skip
    assert "engine.cfg: the engine draft has no such setting" in warned(drafts)[0]


def test_a_server_without_an_address_is_refused_at_its_speaker(tmp_path):
    path = cast(books.brief(tmp_path), "narrator:", "ann: {engine: server}")
    with pytest.raises(ManifestError) as caught:
        checking.check_manuscript(read_manuscript(path), lambda what: None)
    assert caught.value.problems[0].line == 6


# -- what is remembered, pinned, counted -----------------------------------------------------------


def test_each_engine_knows_its_own_weights_again_without_them(tmp_path):
    path = cast(
        books.brief(tmp_path), "narrator:", "ann: {engine: {model: ./other}}",
        engine="engine: {model: ./mine}\n",
    )  # fmt: skip
    project = load(path)
    rows = [
        {"name": "voxcpm2", "model": "./mine", "lora_spec": None, "weights": "a"},
        {"name": "voxcpm2", "model": "./other", "lora_spec": None, "weights": "b"},
        {"name": "another", "model": "./mine", "lora_spec": None, "weights": "c"},
    ]
    for order in (rows, rows[::-1]):
        files.save_json(book_engines.identity_path(project), order)
        engines = book_engines.engines_for(project)
        weights = [engine.identity()["weights"] for engine in engines.all]
        assert weights == ["a", "b"]


def test_what_an_engine_of_another_name_remembers_is_nobody_s(tmp_path):
    project = load(books.brief(tmp_path))
    row = {"name": "another", "model": "auto", "lora_spec": None, "weights": "c"}
    files.save_json(book_engines.identity_path(project), row)
    engine = book_engines.make_main_engine(project)
    assert isinstance(engine, VoxCPM2Engine)
    assert engine.identity()["weights"].startswith("absent:")


def test_a_pin_of_a_speaker_s_draft_is_not_lost_where_another_engine_speaks_it(tmp_path):
    path, draft = books.brief(tmp_path), HumEngine("draft")
    book = render(path, draft).plan
    for name in ("narrator", "ann"):
        step = next(s for s in book.steps if s.chunk.speaker == name)
        with run.locked(book.project):
            writing = Store.open(book.project.takes, writing=True)
            pinned = book_plan.plan(
                read_manuscript(path), draft, book_plan.Selection(), store=writing
            )
            retakes.pin(pinned, step, 1)
    mixed = plan(path, HumEngine(), ann=draft)
    assert mixed.lost == ()
    assert [step.chunk.speaker for step in mixed.steps if step.pinned] == ["ann"]


def test_takes_of_every_engine_of_a_book_are_kept_by_gc(tmp_path, monkeypatch):
    path = cast(books.brief(tmp_path), "narrator:", "ann: {engine: draft}")
    one, other = HumEngine("voxcpm2"), HumEngine("draft", sound_parameters=())
    monkeypatch.setattr(
        book_engines,
        "_make_engine",
        lambda project, own, tell, wish: other if own.name == "draft" else one,
    )
    engines = book_engines.engines_for(load(path))
    assert books.speak(path, engines.main, engines=engines.by_speaker)[0].complete
    assert upkeep.find_unreferenced_takes(load(path)) == []
    path.write_text(path.read_text().replace("ann: {engine: draft}", "ann:"))
    assert render(path, one).complete
    assert upkeep.find_unreferenced_takes(load(path)) == []  # a draft of it would use them


def test_takes_of_an_engine_that_is_not_known_here_stay(tmp_path, monkeypatch):
    path = cast(books.brief(tmp_path), "narrator:", "ann: {engine: {model: ./other}}")
    one, other = HumEngine("voxcpm2"), HumEngine("voxcpm2", version=2)
    monkeypatch.setattr(
        book_engines,
        "_make_engine",
        lambda project, own, tell, wish: other if "other" in str(own) else one,
    )
    engines = book_engines.engines_for(load(path))
    assert books.speak(path, engines.main, engines=engines.by_speaker)[0].complete
    monkeypatch.setattr(other, "identity", lambda: {"name": "voxcpm2", "weights": "absent:x"})
    assert upkeep.find_unreferenced_takes(load(path)) == []


def test_time_is_estimated_by_engine(tmp_path):
    path, one, other = books.write(tmp_path), HumEngine(), drone()
    files.save_json(estimate.speed_path(load(path)), {"hum": 2.0})
    book = plan(path, one, ann=other)
    shares = {share.engine: share for share in estimate.estimate(book).engines}
    assert shares["hum"].wall_seconds == pytest.approx(shares["hum"].speech_seconds / 2)
    assert shares["drone"].wall_seconds is None
    assert estimate.estimate(book).wall_seconds is None
    files.save_json(estimate.speed_path(load(path)), {"hum": 2.0, "drone": 4.0})
    costs = estimate.estimate(book)
    assert costs.speech_seconds == pytest.approx(sum(one.speech_seconds for one in costs.engines))
    assert costs.wall_seconds == pytest.approx(
        shares["hum"].speech_seconds / 2 + shares["drone"].speech_seconds / 4
    )
    assert render(path, one, ann=other).complete
    assert set(estimate.speeds_of(load(path))) == {"hum", "drone"}


def test_a_setting_for_another_try_is_of_the_engine_that_speaks_the_chunk(tmp_path):
    path = cast(books.brief(tmp_path), "narrator:", "ann: {engine: draft}")
    manuscript = read_manuscript(path)
    ids = {one.chunk.speaker: one.id for one in manuscript.spoken}
    asked = book_engines.parse_typed_settings(manuscript, [ids["narrator"]], ["cfg=2.5"])
    assert asked == {"cfg": 2.5}
    with pytest.raises(UsageError, match="of the engine draft"):
        book_engines.parse_typed_settings(manuscript, [ids["ann"]], ["cfg=2.5"])


def test_no_engine_is_asked_twice_whose_turn_has_passed(tmp_path):
    one, other = HumEngine(), drone()
    _, watcher = books.speak(books.write(tmp_path), one, engines={"ann": other})
    turns = [step.engine for step, _ in watcher.takes]
    assert sum(a != b for a, b in pairwise(turns)) == 1
