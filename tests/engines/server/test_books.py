"""Books spoken by servers: takes, keys, and what is said before anything is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from narrator.errors import EngineUnavailable
from narrator.pipeline import book_engines, book_plan
from narrator.pipeline.manuscript import read_manuscript
from narrator.project.load import load
from tests import books, spoken
from tests.effort import quick
from tests.engines.server import standins
from tests.engines.server.standins import StandIn, serving
from tests.fakes import HumEngine

KEY = "sk-Not-A-Real-Key-0123456789"
DIALECTS = ("openai", "vllm-omni", "nano-vllm-voxcpm")

MANIFEST = """\
title: The Ferry
author: A. Author
language: en-GB
engine:
  name: server
  url: {url}
  dialect: {dialect}
  key: TTS_KEY
{engine}
speakers:
  narrator: {{{narrator}}}
  ann: {{{ann}}}
chapters:
  - {{title: Morning, file: text/one.md}}
  - {{title: Evening, file: text/two.md}}
{more}
output: {{formats: [wav], files: chapters}}
"""
CLIP = f'voice: {{reference: clip.wav, transcript: "{spoken.TEXT}"}}'


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTS_KEY", KEY)


@pytest.fixture(params=quick(DIALECTS, "nano-vllm-voxcpm"))  # which can be asked for most
def standin(request: pytest.FixtureRequest) -> Iterator[StandIn]:
    with serving(StandIn(request.param)) as one:
        yield one


def book(
    folder: Path,
    dialect: str,
    url: str = "http://127.0.0.1:1",
    *,
    engine: str = "",
    more: str = "",
    voices: tuple[str, str] | None = None,
    brief: bool = True,
) -> Path:
    if dialect == "openai" and "model:" not in engine:
        engine += "\n  model: tts-1"
    named = "server: {voice: alloy}", "server: {voice: nova}"
    voices = voices or (named if dialect == "openai" else (CLIP, CLIP))
    manifest = MANIFEST.format(
        url=url, dialect=dialect, engine=engine, narrator=voices[0], ann=voices[1], more=more
    )
    folder.mkdir(exist_ok=True)
    soundfile.write(folder / "clip.wav", spoken.draft(), spoken.RATE)
    return (books.brief if brief else books.write)(folder, manifest)


def spoken_by(path: Path, standin: StandIn) -> tuple[books.Watcher, book_plan.BookPlan]:
    made = book_engines.make_main_engine(load(path))
    _, watcher = books.speak(path, made)
    return watcher, books.plan(path, made)


def test_a_book_has_a_checked_take_for_each_chunk_as_the_server_said_it(tmp_path, standin):
    watcher, plan = spoken_by(book(tmp_path, standin.dialect, standin.url), standin)
    assert standin.dropped == []
    assert watcher.faults == []
    assert not plan.todo
    assert len(standin.bodies) == len(plan.steps)  # nothing was asked for twice
    by_text = {standins.text_of(body): body for body in standin.bodies}
    for step in plan.steps:
        body = by_text[step.text]
        samples, rate = plan.store.read(step.key)
        given = standins.conditioned(body)
        wanted = standins.speech(standins.text_of(body), standin.rate, given)
        assert rate == standin.rate
        np.testing.assert_allclose(samples, wanted, atol=2**-16)  # the store's bits, no more
    # a chain carries over as far as its server can be asked for that
    modes = {plan.store.find(step.key).mode for step in plan.steps}  # type: ignore[union-attr]
    assert (
        modes
        == {
            "openai": {"zero-shot"},
            "vllm-omni": {"reference"},
            "nano-vllm-voxcpm": {"reference", "anchored"},
        }[standin.dialect]
    )
    both = [b for b in standin.bodies if {"prompt_wav_base64", "ref_audio_wav_base64"} <= b.keys()]
    assert bool(both) == (standin.dialect == "nano-vllm-voxcpm")


def test_the_key_is_in_no_file_of_the_project(tmp_path, standin, narrator):
    path = book(tmp_path, standin.dialect, standin.url)
    code, out, err = narrator("render", path)
    assert code == 0, out + err
    assert {headers["Authorization"] for headers in standin.headers} == {f"Bearer {KEY}"}
    assert KEY not in out + err
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 10
    assert not [file for file in files if KEY.encode() in file.read_bytes()]


def keys_of(path: Path) -> set[str]:
    made = book_engines.make_main_engine(load(path))
    return {step.key for step in books.plan(path, made).steps}


def test_keys_name_the_server_and_all_that_it_is_asked_with(tmp_path):
    url = "http://127.0.0.1:1"
    variants = [
        book(tmp_path / "a", "openai"),
        book(tmp_path / "b", "openai", "http://127.0.0.1:2"),
        book(tmp_path / "c", "openai", engine="\n  model: tts-1-hd"),
        book(tmp_path / "d", "openai", engine="\n  version: '2'"),
        book(tmp_path / "e", "openai", engine="\n  format: flac"),
        book(tmp_path / "f", "openai", engine="\n  sample_rate: 48000"),
        book(tmp_path / "g", "openai", voices=("server: {voice: a}", "server: {voice: b}")),
        book(tmp_path / "h", "nano-vllm-voxcpm", url),
        book(tmp_path / "i", "vllm-omni", url),
        book(tmp_path / "j", "nano-vllm-voxcpm", url, engine="\n  cfg: 2.5"),
        book(tmp_path / "k", "nano-vllm-voxcpm", url, engine="\n  seed: 1"),
    ]
    found = [keys_of(path) for path in variants]
    found.append({step.key for step in books.plan(variants[0], HumEngine()).steps})
    for place, one in enumerate(found):
        for other in found[place + 1 :]:
            assert not one & other


def test_keys_do_not_know_what_changes_no_sound(tmp_path):
    first = keys_of(book(tmp_path / "a", "openai"))
    same = "\n  slots: 3\n  timeout: 20\n  price: 15 USD"
    assert keys_of(book(tmp_path / "b", "openai", "http://127.0.0.1:1/v1", engine=same)) == first
    named = [
        keys_of(book(tmp_path / name, "openai", f"http://{name}:8000", engine="\n  known_as: box"))
        for name in ("c", "d")
    ]
    assert named[0] == named[1] != first


def test_plans_need_no_server_and_no_key(tmp_path, narrator, monkeypatch):
    monkeypatch.delenv("TTS_KEY")
    path = book(tmp_path, "nano-vllm-voxcpm")
    for command in ("check", "plan", "status"):
        code, out, err = narrator(command, path)
        assert code == 0, out + err
    code, _, err = narrator("render", path)
    assert code == 3
    assert "TTS_KEY" in err


def test_characters_and_their_price_are_shown_before_anything_is_sent(tmp_path, standin, narrator):
    path = book(tmp_path, standin.dialect, standin.url, engine="\n  price: 15 USD")
    characters = sum(len(one.spoken.text) for one in read_manuscript(path).spoken)
    for command in (("plan",), ("render", "--dry-run")):
        _, out, _ = narrator(*command, path)
        assert f"to send: {characters} characters, about 0.00 USD at 15 USD a million" in out
    assert json.loads(narrator("plan", path, "--json")[1])["characters_to_send"] == characters
    assert standin.paths == []
    spoken_by(path, standin)
    assert "to send: 0 characters" in narrator("plan", path)[1]


ASKED = """\
chain: {mode: anchored}
"""


@pytest.mark.parametrize(
    ("dialect", "said", "unsaid"),
    [
        ("openai", ["seed", "cfg", "steps", "style", "chain.anchored"], ["model"]),
        ("vllm-omni", ["cfg", "steps", "style", "chain.anchored"], ["seed"]),
        ("nano-vllm-voxcpm", ["steps"], ["seed", "cfg", "style", r"chain\.\w+"]),
    ],
)
def test_what_cannot_be_asked_is_named_at_check_once_with_the_mend(
    tmp_path, narrator, dialect, said, unsaid
):
    wishes = "\n  seed: 3\n  cfg: 2.5\n  steps: 20"
    path = book(tmp_path, dialect, engine=wishes, more=ASKED, brief=False)
    for command in ("check", "plan"):
        code, out, err = narrator(command, path)
        assert code == 0, out + err
        for name in said:
            assert len(re.findall(rf"[ .]{name}: ", err)) == 1, (name, err)
        for name in unsaid:
            assert not re.search(rf"[ .]{name}: ", err), (name, err)


def test_vllm_omni_says_what_of_chain_mode_it_can_do_before_anything_runs(tmp_path, narrator):
    told = {}
    for mode in ("anchored", "continuation", "reference"):
        path = book(tmp_path / mode, "vllm-omni", more=f"chain: {{mode: {mode}}}", brief=False)
        told[mode] = "vllm-omni takes one clip" in " ".join(narrator("check", path)[2].split())
        made = book_engines.make_main_engine(load(path))
        parents = [step.parent for step in books.plan(path, made).steps]
        assert any(parents) == (mode == "continuation")
    assert told == {"anchored": True, "continuation": False, "reference": False}
    assert "chain.mode: anchored, where nothing is set: vllm-omni takes one clip" in " ".join(
        narrator("check", book(tmp_path / "unset", "vllm-omni"))[2].split()
    )
    unset = narrator("check", book(tmp_path / "named", "openai"))
    assert unset[2] == ""


@pytest.mark.parametrize(
    ("dialect", "voices", "engine", "said"),
    [
        ("openai", ("server: {voice: alloy}", ""), "", "'ann' has none: `speakers: {ann: {server"),
        ("openai", None, "\n  model: auto", "engine.model: which model?"),
        ("vllm-omni", (CLIP, "voice: {description: A girl}"), "", "'ann' has none: give one"),
        ("nano-vllm-voxcpm", None, "\n  format: wav", "engine.format: nano-vllm-voxcpm has pcm"),
    ],
)
def test_what_no_server_can_speak_is_refused_before_anything_runs(
    tmp_path, narrator, dialect, voices, engine, said
):
    path = book(tmp_path, dialect, voices=voices, engine=engine)
    for command in ("check", "plan", "render"):
        code, out, err = narrator(command, path)
        assert code == 2, out + err
        assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("key: sk-abcDEF123", "name of an environment variable"),
        ("key: hf_abcDEF123", "name of an environment variable"),
        ("url: http://user:sk-abcDEF123@host/", "names and passwords do not go into an address"),
        ("url: http://host/?key=sk-abcDEF123", "ends before ?"),
        ("url: ftp://host", "must be an address"),
        ("url: http://host/v1/audio/speech", "ends before /audio/speech"),
        ("url: http://host:99999", "the port, after the colon, must be a number up to 65535"),
        ("price: dear", "must be a number and a currency"),
        ("price: 15,5 USD", "must be a number and a currency"),
        ("price: 1e3 USD", "must be a number and a currency"),
        ("url: 'http://127.0.0.1:0'", "nothing listens at port 0"),
    ],
)
def test_a_key_in_the_manifest_is_refused_and_not_repeated(tmp_path, narrator, line, said):
    path = book(tmp_path, "openai")
    name = line.partition(":")[0]
    rows = [r for r in path.read_text().splitlines() if not r.strip().startswith(f"{name}:")]
    rows.insert(rows.index("  name: server") + 1, f"  {line}")
    path.write_text("\n".join(rows))
    code, out, err = narrator("check", path)
    assert code == 2
    assert said in " ".join(err.split())
    assert "abcDEF123" not in out + err


def test_a_key_that_would_go_in_the_open_is_warned_of(tmp_path, narrator):
    for url, warned in (("http://10.0.0.7:8000", True), ("https://host", False)):
        _, _, err = narrator("check", book(tmp_path, "openai", url))
        assert ("which others on the way can read" in " ".join(err.split())) == warned


def test_doctor_says_whether_the_server_answers_and_what_it_is(tmp_path, standin, narrator):
    path = book(tmp_path / "up", standin.dialect, standin.url)
    code, out, _ = narrator("doctor", path)
    assert code == 0
    assert f"answers as {standin.dialect}" in out
    assert out.endswith("a render with a speech server can run\n")
    assert standin.bodies == []
    code, out, _ = narrator("doctor", book(tmp_path / "down", standin.dialect))
    assert code == 3
    assert "is it running there?" in " ".join(out.split())
    assert KEY not in out


def test_doctor_says_what_the_server_does_not_list(tmp_path, standin, narrator):
    path = book(tmp_path, standin.dialect, standin.url, engine="\n  model: tts-9")
    _, out, _ = narrator("doctor", path)
    lists = standin.dialect != "nano-vllm-voxcpm"
    assert ("does not list the model 'tts-9', but tts-1" in " ".join(out.split())) == lists


def test_a_run_that_a_server_ends_keeps_its_takes_and_goes_on(tmp_path):
    gone: list[int] = []

    def fault(number: int, body: object) -> standins.Fault | None:
        if number == 4 and not gone:
            gone.append(number)
            return standins.status(401)
        return None

    with serving(StandIn("openai", fault)) as standin:
        path = book(tmp_path, "openai", standin.url)
        made = book_engines.make_main_engine(load(path))
        with pytest.raises(EngineUnavailable, match="refuses the key"):
            books.speak(path, made)
        left = books.todo(path, made)
        assert len(left) < len(read_manuscript(path).spoken)
        asked = len(standin.bodies)
        books.speak(path, made)
        assert len(standin.bodies) == asked + len(left)
        assert not books.todo(path, made)
