"""The user's own settings: where models speak."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrator.engines.cluster.credentials import ClusterPlace
from narrator.errors import ManifestError, UsageError
from narrator.project import preferences
from narrator.project.preferences import FROM_PREFERENCES, ClusterOptions, ClusterSettings
from tests.clusters import certificate

HERE = ClusterPlace("127.0.0.1", 9000)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return certificate(tmp_path / "ours")


def write(text: str) -> None:
    preferences.preferences_path().write_text(text)


def problems(text: str) -> list[str]:
    write(text)
    with pytest.raises(ManifestError) as caught:
        FROM_PREFERENCES.place()
    start = f"{preferences.preferences_path()}:"
    said = [str(problem) for problem in caught.value.problems]
    assert all(one.startswith(start) for one in said)
    return [one.removeprefix(start).strip() for one in said]


def test_without_a_file_models_speak_on_this_machine():
    assert preferences.read_preferences().cluster is None
    assert FROM_PREFERENCES.place() is None


@pytest.mark.parametrize("text", ["", "# cluster: tls://studio.local\n"])
def test_a_file_that_says_nothing_sets_nothing(text):
    write(text)
    assert FROM_PREFERENCES.place() is None


@pytest.mark.parametrize("said", ["", "null", "none"])
def test_a_cluster_of_none_is_this_machine(said):
    write(f"cluster: {said}\n")
    assert FROM_PREFERENCES.place() is None


def test_a_cluster_may_be_an_address(home):
    write("cluster: 127.0.0.1:9000\n")
    assert preferences.read_preferences().cluster == ClusterSettings(address="127.0.0.1:9000")
    place = FROM_PREFERENCES.place()
    assert place == ClusterPlace("127.0.0.1", 9000, home / "cluster")


def test_a_cluster_may_be_insecure():
    write("cluster: {address: 'tcp://127.0.0.1:9000', insecure: true}\n")
    assert FROM_PREFERENCES.place() == HERE


def test_a_cluster_without_certificates_is_refused_where_it_is_set():
    (said,) = problems("cluster: tcp://127.0.0.1:9000\n")
    assert "(`insecure: true` in settings.yaml)" in said


def test_a_cluster_may_be_an_address_with_its_certificate(home):
    certificate(home / "keys" / "studio")
    write("cluster:\n  address: studio.local\n  tls: keys/studio\n")
    assert preferences.read_preferences().cluster == ClusterSettings(
        address="studio.local", tls="keys/studio"
    )
    assert FROM_PREFERENCES.place() == ClusterPlace("studio.local", 8786, home / "keys" / "studio")


def test_a_certificates_folder_may_be_named_whole(ours):
    write(f"cluster: {{address: studio.local, tls: {ours}}}\n")
    assert FROM_PREFERENCES.place() == ClusterPlace("studio.local", 8786, ours)


def test_a_certificates_folder_may_be_in_the_users_home(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    certificate(home / "keys")
    write("cluster: {address: studio.local, tls: ~/keys}\n")
    assert FROM_PREFERENCES.place() == ClusterPlace("studio.local", 8786, home / "keys")
    assert ClusterOptions("studio.local", "~/keys").place() == FROM_PREFERENCES.place()


def test_a_certificate_lies_beside_the_settings_where_no_folder_is_named(home):
    certificate(home / "cluster")
    write("cluster: studio.local\n")
    assert FROM_PREFERENCES.place() == ClusterPlace("studio.local", 8786, home / "cluster")


# -- what a command says ---------------------------------------------------------------------------


def test_a_command_says_more_than_the_settings():
    write("cluster: tcp://127.0.0.1:1\n")
    assert ClusterOptions("127.0.0.1:9000", insecure=True).place() == HERE
    assert ClusterOptions("none").place() is None


def test_a_command_need_not_mind_settings_that_are_wrong():
    write("cluster: [\n")
    assert ClusterOptions("127.0.0.1:9000", insecure=True).place() == HERE
    assert ClusterOptions("none").place() is None


def test_a_command_may_name_the_certificate_alone(ours):
    write("cluster: {address: studio.local, tls: nowhere}\n")
    assert ClusterOptions(tls=str(ours)).place() == ClusterPlace("studio.local", 8786, ours)


def test_what_a_command_says_wrongly_is_its_own_mistake():
    with pytest.raises(UsageError, match="is not the address"):
        ClusterOptions("tcp://").place()


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("claster: tcp://127.0.0.1\n", "1: unknown key 'claster'; did you mean 'cluster'?"),
        ("\ncluster:\n  adress: x\n", "3: unknown key 'adress'"),
        ("cluster:\n  address: x\n  tsl: y\n", "3: unknown key 'tsl'"),
        ("cluster:\n  tls: y\n", "'cluster.address' is missing"),
        ("cluster: [tcp://127.0.0.1]\n", "1: cluster: must be a mapping"),
        ("cluster: ''\n", "1: cluster: must not be empty"),
        ("cluster: {\n", "1: } is missing at the end"),
        ("cluster:tls://studio.local\n", "1: a space is missing after the colon"),
        ("tls://studio.local\n", "1: settings begin with keys, as `cluster: tls://"),
        ("- tls://studio.local\n", "1: not a mapping of keys to values: settings begin with keys"),
        ("title: The Ferry\n", "1: unknown key 'title'"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(text, said):
    assert any(said in one for one in problems(text)), problems(text)


@pytest.mark.parametrize("key", ["adress", "tsl"])
def test_an_unknown_key_of_a_cluster_comes_with_the_nearest(key):
    (said,) = [one for one in problems(f"cluster: {{{key}: x}}\n") if "unknown" in one]
    assert f"did you mean '{'address' if key == 'adress' else 'tls'}'?" in said


def test_an_address_that_is_none_is_shown_in_the_settings():
    (said,) = problems("cluster: tcp://studio.local\n")
    assert said.startswith("cluster: tcp://studio.local:8786: whoever reaches a cluster")


def test_settings_without_a_certificate_say_where_it_was_looked_for(home):
    (said,) = problems("cluster: {address: studio.local, tls: keys}\n")
    assert f"{home}/keys/cert.pem: no such file" in said
