"""Engines and recognisers of other packages."""

from __future__ import annotations

import json
import re
import sys

import pytest

from manuscripts.kinds import MARKDOWN
from manuscripts.readers.content import kind_of
from narrator.engines.registry import ENGINES
from narrator.engines.voice import Voice
from narrator.errors import UsageError
from narrator.project import load
from narrator.project.schema import Checks
from narrator.speech.hearing import SpokenSound, choosing
from tests import books
from tests.engines.builders import request
from tests.installing import install, install_example
from tests.sounds import RATE, voice
from tests.test_docs import EXTENDING
from textbase.extensions import Registry

__all__ = ["install"]

BOOK = re.findall(r"^```yaml\n(.*?)^```", EXTENDING.read_text(), re.DOTALL | re.MULTILINE)[0]


@pytest.fixture
def tone(install):
    install_example("engine-tone", install)


# -- engines ---------------------------------------------------------------------------------------


def test_a_books_engine_can_come_from_another_package(tone, narrator, tmp_path):
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    code, output, errors = narrator("render", path, "--json")
    assert code == 0, output + errors
    assert json.loads(output)["engines"] == {"narrator": "tone", "ann": "tone"}


def test_its_code_is_imported_when_a_book_names_it(tone, narrator, tmp_path):
    assert "narrator_engine_tone" not in sys.modules
    assert ENGINES.knows("tone")
    narrator("doctor")
    narrator("check", books.write(tmp_path))
    assert "narrator_engine_tone" not in sys.modules
    assert narrator("check", books.write(tmp_path), "--engine", "tone")[0] == 0
    assert "narrator_engine_tone" in sys.modules


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("loudness: 0.2", "loudness: 2"), "book.yaml:3: engine.loudness: must be less than 1"),
        (("loudness", "loudnes"), "book.yaml:3: unknown key 'loudnes' in engine"),
        (("name: tone", "name: toen"), "book.yaml:3: engine.name: must be 'voxcpm2', "),
        (("hertz: 440", "hertz: 5"), "book.yaml:6: speakers.ann.tone.hertz: must be greater than"),
        (("tone: {hertz", "tune: {hertz"), "book.yaml:6: unknown key 'tune' in speakers.ann"),
    ],
)
def test_its_settings_are_checked_as_those_of_other_engines(
    tone, narrator, tmp_path, change, message
):
    path = tmp_path / "book.yaml"
    path.write_text(BOOK.replace(*change))
    code, _, errors = narrator("check", path)
    assert (code, message in errors) == (2, True), errors


def test_a_book_whose_engine_is_not_installed_is_told_of_those_that_are(narrator, tmp_path):
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    code, _, errors = narrator("check", path)
    assert code == 2
    assert "book.yaml:3: engine.name: must be 'voxcpm2', " in errors


def test_a_worker_of_a_cluster_offers_it_and_makes_it_when_it_is_asked(tone):
    pytest.importorskip("distributed")
    from narrator.engines.cluster import codec, programs, worker_tasks

    assert "tone" in programs.installed_engines()
    assert "tone" not in ENGINES
    voice = Voice("ann", own={"tone": worker_tasks.find_spec({"name": "tone"}).voice(hertz=440)})
    parcel = codec.encode_request(request(voice=voice), {"name": "tone"})
    facts, arrays = codec.unpack_parcel(parcel)
    received = codec.decode_request(facts, arrays, ENGINES["tone"], None, lambda mark: None)
    assert received.voice == voice


# -- recognisers -----------------------------------------------------------------------------------


def test_a_recogniser_can_come_from_another_package(install, monkeypatch):
    install_example("recogniser-command", install)
    program = "import sys; print('heard ' + sys.argv[1].rpartition('.')[2])"
    monkeypatch.setenv("HEARING_COMMAND", f'"{sys.executable}" -c "{program}"')
    ear = choosing.make_listener(Checks(recogniser="command"))
    sound = SpokenSound(voice(1.0), RATE, "Yes.", "en")
    assert [transcript.text for transcript in ear.hear([sound])] == ["heard wav"]


def test_doctor_looks_at_the_recogniser_of_a_book(install, narrator, tmp_path):
    install_example("recogniser-command", install)
    path = books.write(tmp_path, books.MANIFEST + "checks: {recognition: all, recogniser: command}")
    rows = json.loads(narrator("doctor", path, "--json")[1])["checks"]
    row = next(row for row in rows if row["name"] == "recognition")
    assert (row["state"], row["said"][:19]) == ("fail", "set HEARING_COMMAND")


# -- readers of manuscripts ------------------------------------------------------------------------

ORG = """\
#+TITLE: The Ferry
#+AUTHOR: A. Author
* Morning
The ferry left at /seven/.
# to be mended
* Evening
The lamps were lit.
"""


def test_a_reader_of_manuscripts_can_come_from_another_package(install, narrator, tmp_path):
    path = tmp_path / "ferry.org"
    path.write_text(ORG)
    assert "is Org; `pandoc book.org" in narrator("new", tmp_path / "book", "--from", path)[2]
    install_example("reader-org", install)
    code, _, errors = narrator("new", tmp_path / "book", "--from", path)
    assert code == 0, errors
    project = load.load(tmp_path / "book")
    assert (project.manifest.title, project.manifest.author) == ("The Ferry", ("A. Author",))
    assert [chapter.title for chapter in project.chapters] == ["Morning", "Evening"]
    text = (tmp_path / "book" / project.chapters[0].file).read_text()
    assert "*seven*" in text
    assert "<!-- to be mended -->" in text  # which is not spoken


def test_endings_that_narrator_reads_stay_its_own(install, tmp_path):
    install("narrator-x", {"narrator.manuscripts": {"md": "x:KIND"}})
    path = tmp_path / "ferry.md"
    path.write_text("# Morning\n\nThe ferry left.\n")
    assert kind_of(path) is MARKDOWN


# -- packages that are at fault --------------------------------------------------------------------

DAMAGED = [
    ("nowhere:SPEC", "cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
    ("broken:SPEC", "cannot be loaded (ZeroDivisionError: division by zero)"),
    ("other:LACKING", "cannot be loaded (AttributeError: module 'other' has no attribute"),
    ("other:NUMBER", "other:NUMBER is not an object of EngineSpec"),
    ("other:SPEC", "other:SPEC calls itself 'draft'"),
]
MODULES = {
    "broken": "1 / 0",
    "other": "from narrator.engines.draft import SPEC\nNUMBER = 1",
}


@pytest.mark.parametrize(("place", "message"), DAMAGED)
def test_a_damaged_engine_is_the_users_to_mend(install, narrator, tmp_path, place, message):
    install("narrator-bad", {"narrator.engines": {"bad": place}}, MODULES)
    code, _, errors = narrator("check", books.write(tmp_path, books.MANIFEST + "engine: bad"))
    assert code == 2
    assert "engine bad of the package narrator-bad 1.0" in errors
    assert message in " ".join(errors.split())


def test_a_name_that_two_packages_bring_is_neithers(install):
    for distribution in ("narrator-a", "narrator-b"):
        install(distribution, {"narrator.engines": {"bell": f"{distribution}:SPEC"}})
    with pytest.raises(UsageError, match=r"bell: narrator-a 1\.0 and narrator-b 1\.0 bring one"):
        ENGINES["bell"]


def test_no_package_replaces_a_part_of_the_program(install, narrator):
    draft = ENGINES["draft"]
    install("narrator-x", {"narrator.engines": {"draft": "x:SPEC"}})
    assert ENGINES["draft"] is draft
    rows = json.loads(narrator("doctor", "--json")[1])["checks"]
    (row,) = (row for row in rows if row["name"] == "extension")
    assert row["state"] == "warn"
    assert row["said"] == "engine draft of the package narrator-x 1.0"
    assert row["todo"] == "not used: narrator has engine draft itself"


def test_a_registry_iterates_over_what_was_loaded(install):
    install("narrator-x", {"tests.parts": {"more": "parts:MORE"}}, {"parts": "MORE = 1"})
    registry = Registry("tests.parts", "part", choosing.RecogniserSpec, [])
    assert (list(registry), registry.names()) == ([], ["more"])
    with pytest.raises(KeyError):
        registry["less"]
