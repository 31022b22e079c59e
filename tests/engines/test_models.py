from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from narrator import files, keys
from narrator.engines import machine, models
from narrator.engines.cosyvoice2.checkpoint import FAMILY as COSYVOICE2
from narrator.engines.voxcpm2.checkpoint import FAMILY, TUNED
from narrator.errors import EngineUnavailable, StorageError, UsageError
from tests import hubs

BIG, LITTLE = 64_000_000_000, 8_000_000_000


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    return hubs.checkpoint(tmp_path_factory.mktemp("source") / "checkpoint")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty hub cache and an empty library."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "library"))
    memory(monkeypatch, BIG)
    return tmp_path / "hub"


@pytest.fixture
def folder(cache, source, tmp_path):
    """A copy of the small checkpoint."""
    return shutil.copytree(source, tmp_path / "mine")


@pytest.fixture
def hub(cache, source, monkeypatch):
    """A hub that has the small checkpoint."""
    hub = hubs.Hub(cache, source)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    return hub


def memory(monkeypatch, total):
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(total, None))


def refused(kind):
    """A hub's answer as an exception of its library."""
    answer = SimpleNamespace(headers={}, request=None, status_code=403)
    return lambda: kind("the hub said no\nand more", response=answer)


def test_the_library_is_the_users_own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    assert files.library() == tmp_path
    monkeypatch.delenv("NARRATOR_HOME")
    assert files.library().name == "narrator"


# -- finding


def test_a_hub_id_is_what_the_cache_says_it_is(cache, source):
    hubs.cached(cache, source)
    model = models.find(FAMILY, "openbmb/VoxCPM2")
    assert model.path == cache / "models--openbmb--VoxCPM2" / "snapshots" / hubs.COMMIT
    assert (model.kind, model.revision, model.note) == ("hub", hubs.COMMIT, "")
    assert model.precision == "float32"
    assert model.bytes == sum(f.stat().st_size for f in source.iterdir())


def test_nothing_is_asked_of_the_network(cache, source, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("a network call")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", never)
    monkeypatch.setattr("socket.socket.connect", never)
    assert models.find(FAMILY, "openbmb/VoxCPM2").path is None
    hubs.cached(cache, source)
    assert models.find(FAMILY, "openbmb/VoxCPM2").path


def test_a_model_that_is_not_here_says_how_to_get_it(cache):
    model = models.find(FAMILY, "openbmb/VoxCPM2")
    assert (model.path, model.weights) == (None, "")
    assert "`narrator models pull openbmb/VoxCPM2`" in model.note


def test_a_revision_is_a_commit_or_a_branch_of_the_cache(cache, source):
    hubs.cached(cache, source, branch="v2")
    assert models.find(FAMILY, "openbmb/VoxCPM2@v2").revision == hubs.COMMIT
    assert models.find(FAMILY, f"openbmb/VoxCPM2@{hubs.COMMIT}").path
    without = models.find(FAMILY, "openbmb/VoxCPM2")
    assert without.path is None
    assert hubs.COMMIT[:12] in without.note


def test_a_newer_snapshot_counts_only_when_the_branch_means_it(cache, source):
    hubs.cached(cache, source)
    hubs.cached(cache, source, commit=hubs.NEWER, branch=None)
    assert models.find(FAMILY, "openbmb/VoxCPM2").revision == hubs.COMMIT


@pytest.mark.parametrize(
    "torn", [b"\xff\xfe", b"", b"\0", b"../../../etc", b"a" * 5000, b"main"], ids=str
)
def test_a_damaged_branch_of_the_cache_is_a_model_that_is_not_here(cache, source, torn):
    snapshot = hubs.cached(cache, source)
    (snapshot.parents[1] / "refs" / "main").write_bytes(torn)
    model = models.find(FAMILY, "openbmb/VoxCPM2")
    assert (model.path, model.weights) == (None, "")
    assert "`narrator models pull openbmb/VoxCPM2`" in model.note


def test_the_same_bytes_have_the_same_name_wherever_they_lie(cache, source):
    hubs.cached(cache, source)
    assert (
        models.find(FAMILY, "openbmb/VoxCPM2").weights == models.find(FAMILY, str(source)).weights
    )


def test_one_byte_in_the_midst_of_the_weights_changes_their_name(folder):
    before = models.find(FAMILY, str(folder)).weights
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-12345, os.SEEK_END)
        byte = file.read(1)
        file.seek(-12345, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(folder / "model.safetensors", ns=(1, 1))
    after = models.find(FAMILY, str(folder)).weights
    assert before != after
    assert models.find(FAMILY, str(folder)).weights == after


def test_files_that_are_not_read_do_not_change_the_name(folder):
    before = models.find(FAMILY, str(folder)).weights
    (folder / "README.md").write_text("new")
    assert models.find(FAMILY, str(folder)).weights == before


def test_large_files_are_hashed_once(cache, source, monkeypatch):
    first = models.find(FAMILY, str(source)).weights
    monkeypatch.setattr(keys, "file_content", lambda path: pytest.fail(f"hashed again: {path}"))
    assert models.find(FAMILY, str(source)).weights == first


def test_large_files_of_the_cache_are_not_hashed_at_all(cache, source, monkeypatch):
    hubs.cached(cache, source)
    hashed = []
    whole = keys.file_content
    monkeypatch.setattr(keys, "file_content", lambda path: hashed.append(path) or whole(path))
    models.find(FAMILY, "openbmb/VoxCPM2")
    assert {path.stat().st_size < 1_000_000 for path in hashed} == {True}


@pytest.mark.parametrize("torn", [b"", b"{", b"[1]", b'{"x": 1}'])
def test_a_torn_table_of_hashes_is_made_anew(cache, source, torn):
    first = models.find(FAMILY, str(source)).weights
    table = files.library() / "hashes.json"
    table.write_bytes(torn)
    assert models.find(FAMILY, str(source)).weights == first
    assert len(files.read_json(table)) >= 4


def test_a_library_that_cannot_be_written_costs_only_time(cache, source, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "file" / "x"))
    assert models.find(FAMILY, str(source)).weights


def test_a_relative_folder_is_looked_for_under_the_root(cache, source, tmp_path):
    shutil.copytree(source, tmp_path / "project" / "models" / "mine")
    model = models.find(FAMILY, "models/mine", root=tmp_path / "project")
    assert model.path == tmp_path / "project" / "models" / "mine"
    assert model.kind == "folder"


@pytest.mark.parametrize(
    "spec",
    [
        "/no/such/place",
        "~nobody-here/x",
        "one",
        "a/b/c",
        "a/b@../../c",
        "a/b@/etc",
        "a/b@/",
        "a/b@x//etc",
        "a/b@./x",
        "a/b@x/../y",
        "a/b@-x",
        "a/b@x/",
    ],
)
def test_what_is_neither_folder_nor_hub_id_says_so(cache, spec):
    model = models.find(FAMILY, spec)
    assert model.path is None
    assert "no such directory, and not a hub id" in model.note


def removed(name):
    return lambda folder: (folder / name).unlink()


def cut_short(folder):
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(1_000_000)


def index(weight_map):
    def damage(folder):
        (folder / "model.safetensors").rename(folder / "model-1.safetensors")
        text = json.dumps({"weight_map": weight_map})
        (folder / "model.safetensors.index.json").write_text(text)

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (removed("config.json"), "no config.json"),
        (removed("tokenizer.json"), "tokenizer.json is missing"),
        (removed("model.safetensors"), "no weights; looked for model.safetensors"),
        (removed("audiovae.pth"), "the codec is missing"),
        (cut_short, "mine: model.safetensors: truncated: 1000000 bytes, its header says"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""),
         "mine: model.safetensors: not a safetensors file, or damaged"),
        (lambda folder: (folder / "config.json").write_text("[" * 100_000),
         "config.json cannot be read"),
        (index({"a": "../../x"}), "not a list of shards: ../../x"),
        (index({"a": "model-1.safetensors", "b": "model-2.safetensors"}),
         "mine: missing shards: model-2.safetensors"),
    ],
)  # fmt: skip
def test_a_damaged_folder_is_no_model_and_says_why(folder, damage, said):
    damage(folder)
    model = models.find(FAMILY, str(folder))
    assert (model.path, model.weights) == (None, "")
    assert said in model.note


@pytest.mark.parametrize(
    "facts",
    [
        {"dtype": ["x"] * 9},
        {"dtype": "x" * 10**5},
        {"dtype": "\ud800"},
        {"quantization": {"bits": {"a": 1}}},
        {"quantization": {"bits": 10**400}},
        {"quantization": 3},
    ],
    ids=lambda facts: str(facts)[:30],
)
def test_odd_words_of_a_configuration_are_not_said(folder, facts):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "dtype": None, **facts}))
    assert models.find(FAMILY, str(folder)).precision == ""


def test_a_download_cut_short_is_not_here_and_says_how_to_go_on(cache, source):
    snapshot = hubs.cached(cache, source)
    blob = (snapshot / "model.safetensors").resolve()
    blob.rename(blob.with_name(f"{blob.name}.incomplete"))
    model = models.find(FAMILY, "openbmb/VoxCPM2")
    assert model.path is None
    assert "not finished" in model.note
    assert "resumes it" in model.note


def test_a_lora_is_found_as_a_model_is(cache, tmp_path):
    folder = tmp_path / "voice"
    folder.mkdir()
    assert "no LoRA" in models.find_with_layout(TUNED, str(folder)).note
    same = json.loads((hubs.GOLDEN / "same.json").read_text())
    for name in ("lora_config.json", "lora_weights.safetensors"):
        path = f"base_s0/lora/{name}"
        shutil.copyfile(hubs.GOLDEN / same.get(path, path), folder / name)
    first = models.find_with_layout(TUNED, str(folder))
    assert first.path == folder
    (folder / "lora_config.json").write_text('{"r": 4, "alpha": 99}')
    assert models.find_with_layout(TUNED, str(folder)).weights != first.weights


def test_it_reads_what_the_loader_reads(cache, source, tmp_path):
    load = pytest.importorskip("voxcpm2.load")
    assert list(FAMILY.patterns) == load.HUB_FILES
    assert models.TOKENIZER_FILES == load.TOKENIZER_FILES
    read = FAMILY.read(source)
    assert read[-2:] == load.weight_files(source)
    assert {file.name for file in read} == set(hubs.NAMES)


# -- CosyVoice2


def test_a_cosyvoice2_checkpoint_is_what_its_loader_reads():
    load = pytest.importorskip("cosyvoice2.load")
    assert set(COSYVOICE2.patterns) == set(load.HUB_FILES)
    read = {
        file.relative_to(hubs.COSYVOICE2).as_posix() for file in COSYVOICE2.read(hubs.COSYVOICE2)
    }
    converted = {"config.json", "spk2info.pt", *(f"{part}.safetensors" for part in load.PARTS)}
    assert read == set(load.HUB_FILES) - converted


def test_folders_are_known_by_what_they_have(cache, source, tmp_path):
    families = [FAMILY, COSYVOICE2]
    converted = tmp_path / "converted"
    converted.mkdir()
    (converted / "config.json").write_text('{"architecture": "cosyvoice2", "model_type": "x"}')
    assert models.find_family(source, families) is FAMILY
    assert models.find_family(hubs.COSYVOICE2, families) is COSYVOICE2
    assert models.find_family(converted, families) is COSYVOICE2
    assert models.find_family(hubs.language(tmp_path / "reads"), families) is None
    assert not models.is_language(converted)


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (["cosyvoice2.yaml"], "is this a CosyVoice2 checkpoint?"),
        (["flow.pt"], "flow.pt is missing"),
        (["campplus.onnx", "CosyVoice-BlankEN/merges.txt"], "CosyVoice-BlankEN/merges.txt are"),
    ],
)
def test_a_cosyvoice2_folder_without_one_of_its_files_is_not_here(cache, tmp_path, gone, said):
    folder = shutil.copytree(hubs.COSYVOICE2, tmp_path / "mine")
    for name in gone:
        (folder / name).unlink()
    model = models.find(COSYVOICE2, str(folder))
    assert (model.path, model.weights) == (None, "")
    assert said in model.note


def test_two_files_of_one_name_are_two_in_the_name_of_the_bytes(cache, tmp_path):
    folder = models.convert(COSYVOICE2, hubs.COSYVOICE2, tmp_path / "small")
    first = models.find(COSYVOICE2, str(folder))
    assert first.path == folder
    assert "8 bits" in first.precision
    for name in ("config.json", "CosyVoice-BlankEN/config.json"):
        with (folder / name).open("a") as file:
            file.write(" ")
        second = models.find(COSYVOICE2, str(folder))
        assert second.weights != first.weights
        first = second


def test_a_pull_knows_what_it_has_fetched(hub):
    hub.source = hubs.COSYVOICE2
    families = [FAMILY, COSYVOICE2]
    model = models.pull(models.look_up(COSYVOICE2.hub, families), families)
    assert model.path is not None
    assert model.weights == models.find(COSYVOICE2, str(hubs.COSYVOICE2)).weights
    assert models.find(COSYVOICE2).path == model.path
    assert [found.spec for of, found in models.list_models(families) if of is COSYVOICE2] == [
        COSYVOICE2.hub
    ]


# -- the default


def test_auto_is_the_model_itself_where_memory_allows(cache, source):
    hubs.cached(cache, source)
    assert models.find(FAMILY, "auto") == models.find(FAMILY, "openbmb/VoxCPM2")


def test_auto_is_the_8_bit_conversion_on_a_small_machine(cache, source, monkeypatch):
    memory(monkeypatch, LITTLE)
    hubs.cached(cache, source)
    model = models.find(FAMILY, "auto")
    assert model.path is None
    assert "8 bits" in model.note
    shutil.copytree(source, models.conversion_path(FAMILY.hub))
    assert models.find(FAMILY, "auto").path == models.conversion_path(FAMILY.hub)


@pytest.mark.parametrize(
    ("total", "small"), [(8 << 30, True), (15_900_000_000, False), (16 << 30, False)]
)
def test_a_machine_of_16_gb_is_not_small(total, small):
    assert (models.default_spec(FAMILY, total) != FAMILY.hub) == small


def test_listed_are_the_default_the_library_and_the_cache(cache, source, tmp_path):
    hubs.cached(cache, source)
    hubs.cached(cache, source, commit=hubs.NEWER, branch=None)
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text('{"architecture": "another"}')
    hubs.cached(cache, other, "some/thing")
    shutil.copytree(source, models.conversion_path(FAMILY.hub))
    (models.conversion_path(FAMILY.hub).parent / models.GRAPHS).mkdir()
    specs = [model.spec for _, model in models.list_models([FAMILY])]
    assert specs == [
        "openbmb/VoxCPM2",
        str(models.conversion_path(FAMILY.hub)),
        f"openbmb/VoxCPM2@{hubs.NEWER}",
    ]


# -- fetching


def test_a_pull_fetches_and_says_the_commit(hub):
    told = []
    look = models.look_up("openbmb/VoxCPM2", [FAMILY])
    assert (look.commit, look.missing) == (hubs.COMMIT, 1000)
    model = models.pull(look, [FAMILY], lambda done, total: told.append((done, total)))
    assert (model.revision, hub.fetched) == (hubs.COMMIT, 1)
    assert told[-1] == (1000, 1000)
    assert models.look_up("openbmb/VoxCPM2", [FAMILY]).missing == 0


def test_looking_alone_changes_nothing(hub, source, cache):
    hubs.cached(cache, source)
    hub.commit = hubs.NEWER
    models.look_up("openbmb/VoxCPM2", [FAMILY])
    assert models.find(FAMILY, "openbmb/VoxCPM2").revision == hubs.COMMIT


def test_a_pull_that_fails_leaves_the_model_that_was_there(hub, source, cache):
    hubs.cached(cache, source)
    hub.commit = hubs.NEWER
    look = models.look_up("openbmb/VoxCPM2", [FAMILY])
    hub.error = lambda: OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(StorageError, match="disk is full"):
        models.pull(look, [FAMILY])
    assert models.find(FAMILY, "openbmb/VoxCPM2").revision == hubs.COMMIT
    hub.error = None
    assert models.pull(look, [FAMILY]).revision == hubs.NEWER
    assert models.find(FAMILY, "openbmb/VoxCPM2").revision == hubs.NEWER


def test_a_cache_that_cannot_be_written_is_not_called_an_unreachable_hub(hub):
    look = models.look_up("openbmb/VoxCPM2", [FAMILY])
    hub.error = lambda: PermissionError(errno.EACCES, "Permission denied", "/shared/hub/refs")
    with pytest.raises(StorageError, match=r"^/shared/hub/refs: Permission denied; HF_HOME"):
        models.pull(look, [FAMILY])


def test_the_disk_is_looked_at_before(hub, monkeypatch):
    monkeypatch.setattr(machine, "free", lambda path: 999)
    with pytest.raises(StorageError, match="HF_HOME"):
        models.pull(models.look_up("openbmb/VoxCPM2", [FAMILY]), [FAMILY])
    assert hub.fetched == 0


def test_a_repository_of_something_else_is_said(hub, tmp_path):
    hub.source = tmp_path / "other"
    hub.source.mkdir()
    (hub.source / "config.json").write_text("{}")
    look = models.look_up("some/thing", [FAMILY])
    with pytest.raises(EngineUnavailable, match=r"some/thing: config\.json cannot be read"):
        models.pull(look, [FAMILY])
    assert models.find(FAMILY, "some/thing").path is None


def unreached():
    error = errors.DryRunError("Dry run cannot be performed")
    error.__cause__ = network("[Errno -3] Temporary failure in name resolution")
    return error


def network(message):
    return errors.HfHubHTTPError.__mro__[1](message)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (refused(errors.GatedRepoError), EngineUnavailable, "hf auth login"),
        (refused(errors.RepositoryNotFoundError), UsageError, "no such repository"),
        (refused(errors.RevisionNotFoundError), UsageError, "no revision 'v9'"),
        (refused(errors.HfHubHTTPError), EngineUnavailable, "the hub said no)"),
        (lambda: errors.OfflineModeIsEnabled("offline"), EngineUnavailable, "stays: unset HF_HUB"),
        (
            lambda: errors.LocalEntryNotFoundError("gone"),
            EngineUnavailable,
            "stays: go online and pull",
        ),
        (lambda: errors.XetDownloadError("broke off"), EngineUnavailable, "broke off"),
        (lambda: errors.HFValidationError("odd"), UsageError, "not a hub id"),
        (lambda: network("timed out"), EngineUnavailable, "timed out"),
        (unreached, EngineUnavailable, "name resolution"),
    ],
)
def test_the_hubs_errors_are_lines(hub, error, kind, said):
    hub.lookup_error = error
    with pytest.raises(kind) as caught:
        models.look_up("some/model@v9", [FAMILY])
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    hub.lookup_error = None
    look = models.look_up("some/model@v9", [FAMILY])
    hub.error = error
    with pytest.raises(kind):
        models.pull(look, [FAMILY])


def test_a_folder_cannot_be_pulled(hub, source):
    with pytest.raises(UsageError, match=r"the model of an engine \(voxcpm2\).* a hub id"):
        models.look_up(str(source), [FAMILY])


# -- converting


def test_a_conversion_is_smaller_and_whole(cache, source, tmp_path):
    target = models.convert(FAMILY, source, tmp_path / "new" / "small")
    model = models.find(FAMILY, str(target))
    assert model.path == target
    assert model.precision == "float32, language models in 8 bits"
    assert model.weights != models.find(FAMILY, str(source)).weights
    with pytest.raises(UsageError, match="exists already"):
        models.convert(FAMILY, source, target)


def test_a_conversion_that_fails_is_a_line(folder, tmp_path):
    (folder / "config.json").write_text("{}")
    with pytest.raises(EngineUnavailable, match="cannot be converted") as caught:
        models.convert(FAMILY, folder, tmp_path / "new")
    assert "Traceback" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def copying(monkeypatch):
    """A converter that copies."""
    made = []

    def run(command, **options):
        made.append(command)
        shutil.copytree(command[4], command[5])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return made


def test_the_library_keeps_one_conversion_of_the_commit_that_is_here(
    cache, source, monkeypatch, tmp_path
):
    made = copying(monkeypatch)
    hubs.cached(cache, source)
    first = models.convert_to_8bit(FAMILY, models.find(FAMILY, FAMILY.hub))
    assert first.path == models.conversion_path(FAMILY.hub)
    assert made[0][1:4] == ["-m", "voxcpm2", "convert"]
    assert made[0][6:] == ["--quantize", "8"]
    models.convert_to_8bit(FAMILY, models.find(FAMILY, FAMILY.hub))
    assert len(made) == 1
    hubs.cached(cache, source, commit=hubs.NEWER)
    models.convert_to_8bit(FAMILY, models.find(FAMILY, FAMILY.hub))
    assert len(made) == 2
    assert sorted(path.name for path in first.path.parent.iterdir()) == [first.path.name]


def test_a_revision_is_converted_beside_what_auto_means(cache, source, monkeypatch):
    copying(monkeypatch)
    hubs.cached(cache, source)
    usual = models.convert_to_8bit(FAMILY, models.find(FAMILY, FAMILY.hub))
    hubs.cached(cache, source, commit=hubs.NEWER, branch=None)
    other = models.convert_to_8bit(FAMILY, models.find(FAMILY, f"{FAMILY.hub}@{hubs.NEWER}"))
    assert other.path.name == f"{usual.path.name}-{hubs.NEWER[:12]}"
    assert models.origin_commit(usual.path) == hubs.COMMIT
    assert models.origin_commit(other.path) == hubs.NEWER


def test_what_is_not_here_cannot_be_made_smaller(cache):
    with pytest.raises(UsageError, match="not here"):
        models.convert_to_8bit(FAMILY, models.find(FAMILY, FAMILY.hub))
