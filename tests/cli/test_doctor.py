from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from huggingface_hub import constants

from narrator import files
from narrator.cli import doctor
from narrator.engines import machine, models, reader
from narrator.engines.cluster import discovery
from narrator.engines.voxcpm2 import SPEED_LIMITS
from narrator.engines.voxcpm2.checkpoint import FAMILY
from narrator.errors import EngineUnavailable, ManifestError, Problem
from narrator.pipeline import book_engines, estimate
from narrator.speech.hearing import choosing
from tests import books, fakes, hubs
from tests.speech import tiny_whisper
from voxcpm2 import rehearsal

METAL = machine.Device("Metal", "Apple M1", 48_000_000_000, "0.32.4")


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    return hubs.checkpoint(tmp_path_factory.mktemp("source") / "checkpoint")


@pytest.fixture
def fit(tmp_path, source, monkeypatch):
    """A machine on which a render can run; the hub's cache."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(64_000_000_000, 50_000_000_000))
    monkeypatch.setattr(machine, "device", lambda: METAL)
    monkeypatch.setattr(machine, "free", lambda path: 90_000_000_000)
    hubs.cached(tmp_path / "hub", source)
    return tmp_path / "hub"


@pytest.fixture
def book(tmp_path):
    return books.write(tmp_path / "book")


def checks(narrator, *arguments):
    code, said, errors = narrator("doctor", *arguments, "--json")
    facts = json.loads(said)
    assert facts["ok"] == (code == 0)
    assert errors == ""
    return code, {check["name"]: check for check in facts["checks"]}


def test_a_fit_machine_is_said_to_be_one(narrator, fit):
    code, said, _ = narrator("doctor")
    assert code == 0
    assert "ok    MLX: 0.32.4 on Metal: Apple M1, 48.0 GB" in said
    assert "commit aaaaaaaaaaaa" in said
    assert "ok    FFmpeg" in said
    assert said.endswith("a render with VoxCPM2 can run\n")


def test_json_has_the_same(narrator, fit):
    code, found = checks(narrator)
    assert code == 0
    assert list(found) == [
        "program", "MLX", "engine", "model", "memory", "FFmpeg", "draft voice",
        "language model", "recognition", "here", "library", "temporary files",
    ]  # fmt: skip
    absent = {name for name, check in found.items() if check["state"] == "none"}
    assert absent == {"language model", "recognition"}
    assert {check["state"] for check in found.values()} == {"ok", "none"}


def test_no_model_names_the_ways_on(narrator, fit):
    (fit / "models--openbmb--VoxCPM2" / "refs" / "main").unlink()
    code, said, _ = narrator("doctor")
    assert code == 3
    assert "fail  model: openbmb/VoxCPM2 is not here" in said
    for way in ("narrator models pull", "engine.model", "--draft"):
        assert way in said
    assert said.endswith("not ready for VoxCPM2\n")


def test_no_gpu_is_a_warning(narrator, fit, monkeypatch):
    cpu = machine.Device("CPU", "AMD EPYC", None, "0.32.4")
    monkeypatch.setattr(machine, "device", lambda: cpu)
    code, found = checks(narrator)
    assert (code, found["MLX"]["state"]) == (0, "warn")
    assert "--draft" in found["MLX"]["todo"]


def test_mlx_that_does_not_load_fails_with_its_own_words(narrator, fit, monkeypatch):
    said = "ImportError: libmlx.so: cannot open shared object file"
    broken = machine.Device("", "", None, "", said)
    monkeypatch.setattr(machine, "device", lambda: broken)
    code, found = checks(narrator)
    assert (code, found["MLX"]["state"]) == (3, "fail")
    assert "libmlx.so: cannot open" in found["MLX"]["said"]


def test_cuda_that_another_package_replaced_is_named_with_the_remedy(narrator, fit, monkeypatch):
    cpu = machine.Device("CPU", "AMD EPYC", None, "0.32.4")
    monkeypatch.setattr(machine, "device", lambda: cpu)
    monkeypatch.setattr(doctor, "overwritten_backends", lambda: ["mlx-cpu", "mlx-cuda-13"])
    _, found = checks(narrator)
    assert found["MLX"]["todo"].startswith("mlx-cuda-13 is installed, but another package replaced")
    assert " install --force-reinstall --no-deps mlx-cuda-13==" in found["MLX"]["todo"]
    monkeypatch.setattr(machine, "device", lambda: machine.Device("", "", None, "", "ImportError"))
    _, found = checks(narrator)
    assert " --no-deps mlx-cpu==" in found["MLX"]["todo"]


def test_too_little_memory_fails_and_little_at_hand_warns(narrator, fit, monkeypatch):
    little = machine.Device("Metal", "Apple M1", 1_500_000_000, "0.32.4")
    monkeypatch.setattr(machine, "device", lambda: little)
    code, found = checks(narrator)
    assert (code, found["memory"]["state"]) == (3, "fail")
    assert "--8bit" in found["memory"]["todo"]
    monkeypatch.setattr(machine, "device", lambda: METAL)
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(64_000_000_000, 1_000_000_000))
    code, found = checks(narrator)
    assert (code, found["memory"]["state"]) == (0, "warn")


def test_what_hears_takes_needs_memory_too(narrator, fit, monkeypatch, book):
    text = book.read_text() + "checks: {recognition: all}\n"
    little = machine.Device("Metal", "Apple M1", 3_000_000_000, "0.32.4")
    monkeypatch.setattr(machine, "device", lambda: little)
    _, found = checks(narrator, book)
    assert found["memory"]["state"] == "ok"
    book.write_text(text)
    _, found = checks(narrator, book)
    assert found["memory"]["state"] == "warn"
    assert "the recogniser takes 2.0 GB more: 3.0 GB can be had" in found["memory"]["said"]


def test_what_hears_takes_is_needed_where_a_book_wants_them_heard(narrator, fit, book, tmp_path):
    code, found = checks(narrator, book)
    assert (code, found["recognition"]["state"]) == (0, "none")
    text = book.read_text()
    book.write_text(f"{text}checks: {{recognition: all, recogniser: small.en}}\n")
    code, found = checks(narrator, book)
    assert (code, found["recognition"]["state"]) == (3, "fail")
    assert "`narrator models pull small.en` fetches it" in found["recognition"]["said"]
    model = tiny_whisper.make(tmp_path / "whisper")
    book.write_text(f"{text}checks: {{recognition: all, recogniser: {model}}}\n")
    code, found = checks(narrator, book)
    assert (code, found["recognition"]["state"]) == (0, "ok")


def test_a_language_that_what_hears_does_not_know_is_warned_of(narrator, fit, book, tmp_path):
    model = tiny_whisper.make(tmp_path / "whisper")  # of English alone
    text = book.read_text().replace("language: en-GB", "language: fr")
    book.write_text(f"{text}checks: {{recognition: all, recogniser: {model}}}\n")
    _, found = checks(narrator, book)
    assert found["recognition"]["state"] == "warn"
    assert "whisper whisper does not know fr: 11 of 11 chunks" in found["recognition"]["todo"]
    said = narrator("check", book)[2]
    assert "checks: whisper whisper does not know fr" in said


def test_what_hears_takes_is_no_must(narrator, fit, book, monkeypatch):
    monkeypatch.setattr(choosing, "version", lambda: "")
    _, found = checks(narrator, book)
    assert found["recognition"]["said"] == "not installed"
    assert "[recognition]" in found["recognition"]["todo"]


def test_a_missing_encoder_fails(narrator, fit, monkeypatch):
    monkeypatch.setattr(
        doctor, "TITLES_BY_ENCODER", {**doctor.TITLES_BY_ENCODER, "libnone": "NONE"}
    )
    code, found = checks(narrator)
    assert (code, found["FFmpeg"]["state"]) == (3, "fail")
    assert "lacks libnone (NONE)" in found["FFmpeg"]["said"]


def test_the_draft_voice_is_no_must(narrator, fit, monkeypatch):
    def version(name):
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", version)
    code, found = checks(narrator)
    assert (code, found["draft voice"]["state"]) == (0, "warn")


def test_a_book_of_the_draft_voice_needs_no_model(narrator, fit, book):
    (fit / "models--openbmb--VoxCPM2" / "refs" / "main").unlink()
    book.write_text(f"{book.read_text()}engine: draft\n")
    code, said, _ = narrator("doctor", book)
    assert code == 0
    assert "VoxCPM2" not in said
    assert said.endswith("a render with the draft voice can run\n")


def test_a_book_of_the_draft_voice_needs_its_package(narrator, fit, book, monkeypatch):
    def version(name):
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", version)
    book.write_text(f"{book.read_text()}engine: draft\n")
    code, found = checks(narrator, book)
    assert (code, found["draft voice"]["state"]) == (3, "fail")
    assert "[draft]" in found["draft voice"]["todo"]


def test_a_language_model_is_no_must(narrator, fit, monkeypatch, tmp_path):
    monkeypatch.setattr(reader, "version", lambda: "")
    code, found = checks(narrator)
    assert (code, found["language model"]["state"]) == (0, "none")
    assert "[casting]" in found["language model"]["todo"]
    monkeypatch.setattr(reader, "version", lambda: "0.32.2")
    assert "narrator models pull mlx-community/" in checks(narrator)[1]["language model"]["said"]
    hubs.cached(fit, hubs.language(tmp_path / "tiny"), repo=models.LANGUAGE_MODELS[0][1])
    assert "30B-A3B" in (said := checks(narrator)[1]["language model"]["said"])
    assert "models pull" not in said


@pytest.mark.parametrize(
    ("free", "code", "state"), [(400_000_000, 3, "fail"), (4_000_000_000, 0, "warn")]
)
def test_a_disk_that_is_nearly_full_is_said(narrator, fit, monkeypatch, free, code, state):
    monkeypatch.setattr(machine, "free", lambda path: free)
    found = checks(narrator)
    assert (found[0], found[1]["library"]["state"]) == (code, state)


@pytest.mark.parametrize(
    ("folder", "code", "state", "todo"),
    [("library", 0, "warn", "NARRATOR_HOME"), ("here", 3, "fail", "right to write")],
)
def test_a_folder_that_cannot_be_written_is_said(
    narrator, fit, monkeypatch, folder, code, state, todo
):
    """Renders only read the library; what they need of it is checked by itself."""
    path = files.library() if folder == "library" else Path.cwd()
    path.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(os, "access", lambda asked, mode: asked != path)
    found = checks(narrator)
    assert (found[0], found[1][folder]["state"]) == (code, state)
    assert todo in found[1][folder]["todo"]


# -- a book


def test_a_book_that_was_measured_says_its_time(narrator, fit, book, monkeypatch):
    engine = fakes.HumEngine()
    monkeypatch.setattr(book_engines, "make_main_engine", lambda *_: engine)
    monkeypatch.setattr(estimate, "speeds_of", lambda project: {"hum": 2.0})
    cost = checks(narrator, book)[1]["book"]["cost"]
    assert cost["basis"] == "measured"
    assert cost["wall"] == pytest.approx(cost["speech"] / 2)
    assert cost["speech"] > 30
    assert cost["disk"] > 0


def test_a_book_that_was_not_has_arithmetic_that_says_so(narrator, fit, book, monkeypatch):
    monkeypatch.setattr(book_engines, "make_main_engine", lambda *_: fakes.HumEngine())
    _, said, _ = narrator("doctor", book)
    assert "at the very best (arithmetic for Apple M1, not measured)" in said
    cost = checks(narrator, book)[1]["book"]["cost"]
    assert cost["wall"] == pytest.approx(cost["speech"] / SPEED_LIMITS["Apple M1"][1])


def test_a_device_without_figures_has_no_time(narrator, fit, book, monkeypatch):
    monkeypatch.setattr(book_engines, "make_main_engine", lambda *_: fakes.HumEngine())
    cpu = machine.Device("CPU", "AMD EPYC", None, "0.32.4")
    monkeypatch.setattr(machine, "device", lambda: cpu)
    found = checks(narrator, book)[1]["book"]
    assert (found["cost"]["basis"], found["cost"]["wall"]) == ("unknown", None)
    assert "not been measured here yet" in found["said"]


def test_without_an_engine_a_book_still_has_its_length(narrator, fit, book, monkeypatch):
    def none(project, *_):
        raise EngineUnavailable("no engine")

    monkeypatch.setattr(book_engines, "make_main_engine", none)
    cost = checks(narrator, book)[1]["book"]["cost"]
    assert cost["speech"] > 30
    assert cost["disk"] is None


def test_a_book_with_mistakes_fails_and_the_rest_is_still_told(narrator, fit, book):
    book.write_text(books.MANIFEST + "outptu: 1\nnonsense: 2\n")
    code, found = checks(narrator, book)
    assert (code, found["book"]["state"]) == (3, "fail")
    assert "narrator check" in found["book"]["todo"]
    assert found["model"]["state"] == "ok"


def test_a_book_that_does_not_exist_is_refused_as_by_other_commands(narrator, fit, tmp_path):
    refusal = narrator("plan", tmp_path / "nothere")
    assert refusal[0] == 2
    assert f"{tmp_path / 'nothere'}: no such file" in refusal[2]
    assert narrator("doctor", tmp_path / "nothere") == refusal


def test_the_book_here_is_the_one_that_is_meant(narrator, fit, book, monkeypatch):
    book.write_text(books.MANIFEST + "engine: {model: ./mine}\n")
    monkeypatch.chdir(book.parent)
    code, found, _ = narrator("doctor")
    assert code == 3
    assert "./mine" in found
    assert " project: " in found


def test_what_to_do_about_a_book_stands_on_a_line_of_its_own(narrator, fit, book, monkeypatch):
    def unspeakable(*_: object) -> doctor.Cost:
        raise ManifestError([Problem(book, 1, "not spoken\nanother engine speaks it")])

    monkeypatch.setattr(doctor, "_estimate_cost", unspeakable)
    found = checks(narrator, book)[1]["book"]
    assert found["said"].endswith("not spoken")
    assert found["todo"] == "another engine speaks it"


def test_a_folder_is_named_once(narrator, fit, book, source):
    book.write_text(books.MANIFEST + f"engine: {{model: {source}}}\n")
    assert checks(narrator, book)[1]["model"]["said"].count(str(source)) == 1


def test_every_engine_of_a_book_is_looked_at_once(narrator, fit, book, monkeypatch):
    monkeypatch.setattr(book_engines, "_make_engine", lambda *_: fakes.HumEngine())
    server = '{name: server, url: "http://127.0.0.1:1", model: x}'
    book.write_text(
        books.MANIFEST.replace("narrator: {", "narrator: {engine: {model: ./mine, seed: 3}, ")
        .replace("ann: {", f"bob: {{engine: {{model: ./mine}}}}\n  ann: {{engine: {server}, ")
    )  # fmt: skip
    code, found, _ = narrator("doctor", book)
    assert code == 3
    assert found.count(" model: ./mine: ") == 1
    assert "fail  speech server: " in found
    assert "not ready for a speech server and VoxCPM2" in found


CLUSTER = "tcp://127.0.0.1:1"


def test_machines_of_a_cluster_are_asked_instead_of_this_one(narrator, fit, book, monkeypatch):
    def unable(place, settings):
        assert (place.address, settings["name"]) == (CLUSTER, "voxcpm2")
        return {"studio": "", "mini": "its model is not there"}

    monkeypatch.setattr(discovery, "list_refusals", unable)
    monkeypatch.setattr(book_engines, "_make_engine", lambda *_: fakes.HumEngine())
    code, found, _ = narrator("doctor", book, "--cluster", CLUSTER, "--insecure")
    assert code == 0
    assert f"ok    cluster: {CLUSTER}: studio for voxcpm2\n      mini: its model is" in found
    assert "MLX:" not in found


@pytest.mark.parametrize(
    ("unable", "todo"),
    [
        ({"mini": "its model is not there"}, "mini: its model is not there"),
        ({}, f"`narrator worker {CLUSTER}` on a machine that has voxcpm2"),
    ],
)
def test_a_cluster_that_cannot_speak_a_book_fails(unable, todo, narrator, fit, book, monkeypatch):
    monkeypatch.setattr(discovery, "list_refusals", lambda place, settings: unable)
    monkeypatch.setattr(book_engines, "_make_engine", lambda *_: fakes.HumEngine())
    code, found, _ = narrator("doctor", book, "--cluster", CLUSTER, "--insecure")
    assert code == 3
    assert f"fail  cluster: {CLUSTER}: no machine for voxcpm2\n      {todo}" in found
    assert "not ready for a cluster" in found


def test_a_cluster_that_is_not_there_fails(narrator, fit, book):
    code, found, _ = narrator("doctor", book, "--cluster", CLUSTER, "--insecure")
    assert code == 3
    assert f"fail  cluster: nothing answers at {CLUSTER}" in found


def test_settings_that_are_wrong_are_named_with_their_file(narrator, fit, book):
    wrong = files.library() / "settings.yaml"
    wrong.parent.mkdir(parents=True, exist_ok=True)
    wrong.write_text("clusters: x\n")
    try:
        code, found, _ = narrator("doctor", book)
    finally:
        wrong.unlink()
    assert code == 3
    assert f"fail  book: {wrong}" in found
    assert "unknown key 'clusters'" in found


def test_a_books_own_model_and_lora_are_looked_at(narrator, fit, book, monkeypatch):
    monkeypatch.setattr(book_engines, "make_main_engine", lambda *_: fakes.HumEngine())
    book.write_text(books.MANIFEST + "engine: {model: ./mine, lora: ./voice}\n")
    code, found = checks(narrator, book)
    assert code == 3
    assert "./mine" in found["model"]["said"]
    assert "./voice" in found["lora"]["said"]
    hubs.checkpoint(book.parent / "mine")
    assert checks(narrator, book)[1]["model"]["state"] == "ok"


def test_the_model_of_a_books_engine_is_the_one_that_is_looked_at(narrator, fit, book, monkeypatch):
    book.write_text(books.MANIFEST + "engine: cosyvoice2\n")
    code, found = checks(narrator, book)
    assert (code, found["engine"]["said"]) == (3, "CosyVoice2")
    assert "`narrator models pull cosyvoice2`" in found["model"]["todo"]
    book.write_text(books.MANIFEST + f"engine: {{name: cosyvoice2, model: {hubs.COSYVOICE2}}}\n")
    code, found = checks(narrator, book)
    assert (found["engine"]["state"], found["model"]["state"]) == ("ok", "ok")
    assert "a step" not in found  # on a GPU, it runs without a word
    monkeypatch.setattr("narrator.engines.spec.find_spec", lambda name: None)
    code, found = checks(narrator, book)
    assert (code, found["engine"]["state"]) == (3, "fail")
    assert "[cosyvoice2]" in found["engine"]["todo"]


def test_a_gpu_that_does_not_run_the_model_fails(narrator, fit, monkeypatch):
    def odd(path):
        raise RuntimeError("[compile] no compiler\nand more")

    monkeypatch.setattr(rehearsal, "rehearse", odd)
    code, found = checks(narrator)
    assert (code, found["a step"]["state"]) == (3, "fail")
    assert found["a step"]["said"] == "the model does not run here: [compile] no compiler"


# -- the machine itself


def test_this_machine_has_memory_and_a_device():
    memory = machine.memory()
    assert 0 < (memory.available or 1) <= memory.total
    device = machine.device()
    assert device.kind in ("CPU", "CUDA", "Metal")
    assert device.mlx


def test_a_containers_limit_is_the_memory_there_is(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CGROUP", tmp_path / "max")
    (tmp_path / "max").write_text("1000000000\n")
    assert machine.memory().total == 1_000_000_000
    (tmp_path / "max").write_text("max\n")
    assert machine.memory().total > 1_000_000_000


def test_a_macs_memory_is_read_from_its_pages(monkeypatch):
    said = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n"
        "Pages free:                               100.\n"
        "Pages active:                            5000.\n"
        "Pages inactive:                           200.\n"
        "Pages speculative:                         10.\n"
        "Pages wired down:                        9000.\n"
        "Pages purgeable:                            1.\n"
        '"Translation faults":                  123456.\n'
    )
    done = subprocess.CompletedProcess(["vm_stat"], 0, said, "")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: done)
    assert machine._available_macos() == 311 * 16384
    nothing = subprocess.CompletedProcess(["vm_stat"], 1, "", "")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: nothing)
    assert machine._available_macos() is None


@pytest.mark.parametrize(
    "ask", ["import os; os.abort()", "import nothing_here", "import sys; sys.exit(3)", "print(1)"]
)
def test_a_device_that_gives_no_answer_has_a_problem_in_one_line(ask):
    device = machine.device(ask)
    assert (device.kind, device.mlx) == ("", "")
    assert device.problem
    assert "\n" not in device.problem


def test_space_is_that_of_the_nearest_folder_there_is(tmp_path):
    assert machine.free(tmp_path / "a" / "b") == pytest.approx(machine.free(tmp_path), rel=0.1)


def test_the_default_follows_the_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(8_000_000_000, None))
    assert models.default_spec(FAMILY) == str(models.conversion_path(FAMILY.hub))
