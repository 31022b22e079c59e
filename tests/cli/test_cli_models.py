from __future__ import annotations

import json
import shutil
import subprocess

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants, errors

from narrator.cli import models as commands
from narrator.engines import Speech, machine, models, voxcpm2
from narrator.engines.kokoro.checkpoint import FAMILY as KOKORO
from narrator.engines.voxcpm2.checkpoint import FAMILY
from tests import fakes, hubs
from tests.speech import tiny_whisper


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    return hubs.checkpoint(tmp_path_factory.mktemp("source") / "checkpoint")


@pytest.fixture
def hub(tmp_path, source, monkeypatch):
    """A hub that has the small checkpoint, an empty cache, an empty library, much memory."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(64_000_000_000, None))
    hub = hubs.Hub(tmp_path / "hub", source)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    return hub


def small(monkeypatch):
    """A machine of 8 GB, and a converter that copies."""
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(8_000_000_000, None))

    def run(command, **options):
        shutil.copytree(command[4], command[5])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)


def test_list_shows_what_is_here_and_which_is_the_default(narrator, hub, source):
    code, said, _ = narrator("models", "list")
    assert code == 0
    assert "not here" in said
    assert "narrator models pull" in said
    hubs.cached(hub.cache, source)
    said = narrator("models", "list")[1]
    assert "* openbmb/VoxCPM2" in said
    assert "commit aaaaaaaaaaaa" in said
    rows = json.loads(narrator("models", "list", "--json")[1])
    assert [(row["engine"], row["spec"], row["default"]) for row in rows] == [
        ("voxcpm2", "openbmb/VoxCPM2", True),
        ("kokoro", KOKORO.hub, True),
        ("cosyvoice2", "FunAudioLLM/CosyVoice2-0.5B", True),
    ]
    assert rows[0]["revision"] == hubs.COMMIT


def test_where_prints_a_folder_or_the_way_to_one(narrator, hub, source):
    code, said, errors = narrator("models", "where")
    assert (code, said) == (3, "")
    assert "narrator models pull openbmb/VoxCPM2" in errors
    snapshot = hubs.cached(hub.cache, source)
    assert narrator("models", "where")[:2] == (0, f"{snapshot}\n")
    assert json.loads(narrator("models", "where", source, "--json")[1])["kind"] == "folder"


def test_pull_says_the_commit_and_the_place(narrator, hub):
    code, said, told = narrator("models", "pull")
    assert code == 0
    assert f"commit {hubs.COMMIT}" in said
    assert str(hub.cache) in said
    assert "1 kB to fetch" in told
    assert "100 %" in told
    assert narrator("models", "pull")[0] == 0


def test_pull_converts_on_a_small_machine_and_auto_is_the_result(narrator, hub, monkeypatch):
    small(monkeypatch)
    code, said, _ = narrator("models", "pull")
    assert code == 0
    assert "in 8 bits" in said
    assert f"hf cache rm model/{FAMILY.hub}" in said
    where = narrator("models", "where")[1].strip()
    assert where == str(models.conversion_path(FAMILY.hub))


def test_pull_converts_where_it_is_asked_to(narrator, hub, monkeypatch):
    small(monkeypatch)
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(64_000_000_000, None))
    assert "in 8 bits" not in narrator("models", "pull")[1]
    said = narrator("models", "pull", "--8bit")[1]
    assert f"engine: {{model: {models.conversion_path(FAMILY.hub)}}}" in said
    assert "hf cache rm" not in said


def test_pull_leaves_an_original_that_was_removed_after_converting(narrator, hub, monkeypatch):
    small(monkeypatch)
    narrator("models", "pull")
    shutil.rmtree(hub.cache)
    code, said, _ = narrator("models", "pull")
    assert (code, hub.fetched) == (0, 1)
    assert f"of commit {hubs.COMMIT}" in said
    hub.commit = hubs.NEWER
    assert f"commit {hubs.NEWER}" in narrator("models", "pull")[1]
    assert hub.fetched == 2


def test_pull_of_a_revision_says_how_a_book_names_it(narrator, hub):
    said = narrator("models", "pull", "some/model@v2")[1]
    assert "engine: {model: some/model@v2}" in said


def test_pull_without_a_network_is_one_line(narrator, hub):
    hub.lookup_error = lambda: errors.OfflineModeIsEnabled("offline mode is enabled")
    code, _, said = narrator("models", "pull")
    assert code == 3
    assert "Traceback" not in said
    assert said.count("error:") == 1
    assert "HF_HUB_OFFLINE" in said


def test_what_listens_is_pulled_by_its_name_found_and_listed(narrator, hub, tmp_path):
    hub.source = tiny_whisper.make(tmp_path / "whisper")
    code, _, errors = narrator("models", "where", "small.en")
    assert (code, "`narrator models pull small.en` fetches it" in errors) == (3, True)
    code, said, _ = narrator("models", "pull", "small.en")
    assert code == 0
    assert "Systran/faster-whisper-small.en: 434 kB" in said
    assert "it listens: `narrator hear BOOK --model small.en`" in said
    where = narrator("models", "where", "small.en")[1].strip()
    assert "models--Systran--faster-whisper-small.en" in where
    assert "Systran/faster-whisper-small.en  whisper, 434 kB" in narrator("models", "list")[1]


def test_the_recogniser_is_the_one_for_this_machine(narrator, hub, tmp_path, monkeypatch):
    hub.source = tiny_whisper.make(tmp_path / "whisper")
    assert "faster-whisper-large-v3-turbo" in narrator("models", "pull", "recogniser")[1]
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(8_000_000_000, None))
    assert "faster-whisper-small:" in narrator("models", "pull", "recogniser")[1]


def test_convert_writes_a_smaller_model(narrator, hub, source, tmp_path):
    code, said, _ = narrator("models", "convert", source, tmp_path / "small")
    assert code == 0
    assert "language models in 8 bits" in said
    code, _, said = narrator("models", "convert", source, tmp_path / "small")
    assert code == 2
    assert "exists already" in said


@pytest.mark.slow
def test_convert_can_leave_the_bits_and_change_the_precision(narrator, hub, source, tmp_path):
    said = narrator(
        "models", "convert", source, tmp_path / "half", "--bits", "16", "--dtype", "bfloat16"
    )[1]
    assert "bfloat16" in said
    assert "bits" not in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nothing/here", "new"), 3, "nothing/here is not here"),
        (("./nothing", "new"), 3, "no such directory"),
        (("nothing/here", "new", "--bits", "7"), 2, "--bits takes"),
    ],
)
def test_convert_says_what_is_wrong(narrator, hub, arguments, code, said):
    found = narrator("models", "convert", *arguments)
    assert found[0] == code
    assert said in found[2]


def test_measure_prints_figures_and_a_suggestion(narrator, hub, monkeypatch):
    def speak(request):
        patches = round(0.8 * request.expected / 0.16)
        samples = np.zeros(round(patches * 0.16 * fakes.RATE), np.float32)
        return Speech(samples, patches=patches, tokens=len(request.text) // 4)

    engine = fakes.HumEngine(fault=speak)
    asked = []
    monkeypatch.setattr(
        commands, "_make_engine", lambda spec: asked.append(spec) or (voxcpm2.SPEC, engine)
    )
    code, said, told = narrator("models", "measure", "some/model", "--seeds", "3")
    assert (code, asked) == (0, ["some/model"])
    assert "120 takes, 0 never ended by themselves, 0 failed" in said
    assert "earliest_stop: 0." in said
    assert "speaking: 100 %" in told
    assert engine.sessions[0].closed
    facts = json.loads(narrator("models", "measure", "--seeds", "1", "--json")[1])
    assert facts["takes"] == 40
    assert 0.5 < facts["suggestion"] < 0.8


def test_measure_asks_for_the_engine_of_that_model(monkeypatch, tmp_path):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    _, engine = commands._make_engine("some/model")
    assert (engine.settings.model, engine.name) == ("some/model", "voxcpm2")


def test_another_engines_model_goes_by_its_name_or_its_folder(narrator, hub):
    hub.source = hubs.COSYVOICE2
    code, said, _ = narrator("models", "pull", "cosyvoice2")
    assert code == 0
    assert "FunAudioLLM/CosyVoice2-0.5B" in said
    where = narrator("models", "where", "cosyvoice2")[1]
    assert where == narrator("models", "where", "FunAudioLLM/CosyVoice2-0.5B")[1]
    assert narrator("models", "where", hubs.COSYVOICE2)[0] == 0
    model, engine = commands._make_engine(str(hubs.COSYVOICE2))
    assert (model.title, engine.name) == ("CosyVoice2", "cosyvoice2")
    code, _, told = narrator("models", "measure", "cosyvoice2")
    assert (code, "--voice NAME" in told) == (2, True)


def test_a_language_model_is_fetched_likewise_and_says_what_it_is_for(narrator, hub, tmp_path):
    hub.source = hubs.language(tmp_path / "tiny")
    code, said, _ = narrator("models", "pull", "some/reader")
    assert code == 0
    assert "`narrator cast BOOK --model some/reader`" in said
    assert narrator("models", "where", "some/reader")[0] == 0
    code, _, told = narrator("models", "pull", "some/reader", "--8bit")
    assert (code, "is a language model" in told) == (2, True)
