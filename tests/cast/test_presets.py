"""Presets: one file that goes round, and that nobody need trust."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import struct
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from narrator.cast import clips, presets
from narrator.cast.clips import Recording
from narrator.cast.presets import Preset
from narrator.engines.voice import Voice
from narrator.errors import UsageError, UserError
from narrator.project.schema import Rights
from tests import spoken
from tests.spoken import TEXT

LATENTS = np.arange(24, dtype=np.float32).reshape(2, 4, 3)


@pytest.fixture(autouse=True)
def library(tmp_path, monkeypatch):
    """An empty library of the user's."""
    monkeypatch.setenv("NARRATOR_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "voices"


@pytest.fixture(scope="module")
def ada() -> Preset:
    clip = clips.prepare(Recording(spoken.draft()[:, None], spoken.RATE), TEXT, "en-GB")
    return presets.of_clip(
        "Ada", clip, "en-GB", description="A quick girl", style="amused", seed=7, source="ada.wav"
    )


@pytest.fixture
def kept(tmp_path, ada):
    path = tmp_path / "Ada.voice"
    presets.write(ada.with_latents("enc-1", LATENTS), path)
    return path


# -- what is kept ----------------------------------------------------------------------------------


def test_what_is_written_is_read(kept, ada):
    found = presets.read(kept)
    for name in ("name", "transcript", "language", "sound", "description", "style", "seed",
                 "source", "made", "content"):  # fmt: skip
        assert getattr(found, name) == getattr(ada, name)
    assert np.array_equal(found.latents["enc-1"], LATENTS)
    assert found.seconds == pytest.approx(len(found.samples) / clips.RATE_HZ, abs=1e-6)


def test_the_rights_in_a_voice_are_kept_and_change_neither_content_nor_other_presets(ada, tmp_path):
    noted = replace(ada, rights=Rights(origin="Ann Smith", consent="by letter", publish=True))
    presets.write(noted, tmp_path / "Ada.voice")
    found = presets.read(tmp_path / "Ada.voice")
    assert (found.rights, found.content) == (noted.rights, ada.content)
    assert found.summary == "Ann Smith. Consent: by letter."
    assert presets.read_rights(tmp_path / "Ada.voice") == noted.rights
    with zipfile.ZipFile(io.BytesIO(presets.pack(ada))) as archive:
        card = json.loads(archive.read("voice.json"))
    assert card.keys().isdisjoint({"origin", "consent", "publish", "rights"})


def test_nobody_was_recorded_for_a_voice_that_was_cast(ada, tmp_path):
    presets.write(replace(ada, made={"casting": 1}), tmp_path / "Ada.voice")
    assert presets.read(tmp_path / "Ada.voice").is_designed
    assert presets.read_rights(tmp_path / "Ada.voice") is None


def test_equal_presets_are_equal_bytes(ada):
    assert presets.pack(ada) == presets.pack(replace(ada))


def test_content_is_sound_and_transcript_alone(ada):
    same = [
        replace(ada, name="Eve"),
        replace(ada, description=None),
        replace(ada, style="sad"),
        ada.with_latents("enc", LATENTS),
    ]
    assert {preset.content for preset in same} == {ada.content}
    assert replace(ada, transcript=f"{TEXT} More.").content != ada.content
    silent = io.BytesIO()
    soundfile.write(silent, np.zeros(99), clips.RATE_HZ, format="FLAC")
    assert replace(ada, sound=silent.getvalue()).content != ada.content


def test_a_second_encoder_s_latents_stand_beside_the_first_s(ada):
    both = ada.with_latents("b", LATENTS).with_latents("a", LATENTS + 1)
    assert sorted(both.latents) == ["a", "b"]
    assert not ada.latents


@pytest.mark.parametrize("fingerprint", ["", "../up", "a/b", "a b", ".hidden", "x" * 101])
def test_a_fingerprint_is_no_path(ada, fingerprint):
    with pytest.raises(ValueError, match="fingerprint"):
        ada.with_latents(fingerprint, LATENTS)


def test_latents_count_only_with_the_sound_that_they_were_made_from(kept):
    seal = "latents/enc-1.seal"
    with zipfile.ZipFile(kept) as archive:
        own = archive.read(seal)
    whole = kept.read_bytes()
    for changes in (
        {seal: None},
        {seal: b"x" * 64},
        {"latents/enc-1.npy": npy(-LATENTS)},
        {"reference.flac": flac(np.ones(4800) / 4)},
    ):
        kept.write_bytes(whole)
        assert not presets.read(repacked(kept, changes)).latents
    kept.write_bytes(whole)
    assert list(presets.read(repacked(kept, {seal: own})).latents) == ["enc-1"]


def test_another_encoder_s_seal_is_no_seal(kept):
    with zipfile.ZipFile(kept) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    moved = {f"latents/enc-2.{kind}": parts[f"latents/enc-1.{kind}"] for kind in ("npy", "seal")}
    assert list(presets.read(repacked(kept, moved)).latents) == ["enc-1"]


def test_the_reference_is_what_is_kept(kept, ada):
    reference = presets.read(kept).to_reference()
    assert (reference.content, reference.rate) == (ada.content, clips.RATE_HZ)
    assert reference.transcript == TEXT
    assert np.array_equal(reference.samples, ada.samples)
    assert list(reference.latents) == ["enc-1"]


def test_a_text_that_is_too_long_is_said_before_anything_is_written(tmp_path, ada):
    with pytest.raises(UserError, match="voice 'Ada': style"):
        presets.write(replace(ada, style="x" * 2000), tmp_path / "no.voice")
    assert not (tmp_path / "no.voice").exists()


# -- what the pipeline asks ------------------------------------------------------------------------


def test_a_plan_knows_a_preset_by_the_content_that_a_render_uses(kept):
    reference = presets.load_reference(Voice("ada", reference=kept), "en")
    assert reference is not None
    assert reference.content == presets.content_of(kept, None) == presets.read(kept).content


def test_a_glance_has_content_and_style_and_decodes_nothing(kept, monkeypatch):
    whole = presets.read(kept)
    monkeypatch.setattr(presets.soundfile, "SoundFile", None)
    monkeypatch.setattr(presets.audio, "decode_flac", None)
    assert presets.read_facts(kept, None) == presets.ReferenceFacts(whole.content, "amused")


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "ada.wav"
    soundfile.write(path, spoken.draft(), spoken.RATE)
    return path


def test_a_plan_knows_a_clip_by_the_content_that_a_render_uses(recording):
    voice = Voice("ada", reference=recording, transcript=TEXT)
    reference = presets.load_reference(voice, "en")
    assert reference is not None
    assert reference.content == presets.content_of(recording, TEXT)
    assert reference.transcript == TEXT


def test_a_clip_s_content_is_bytes_transcript_and_preparation(recording, tmp_path, monkeypatch):
    content = presets.content_of(recording, TEXT)
    moved = shutil.copy(recording, tmp_path / "eve.wav")
    assert presets.content_of(moved, TEXT) == content
    assert presets.read_facts(moved, TEXT) == presets.ReferenceFacts(content, None)
    assert presets.content_of(recording, f"  {TEXT}\n") == content
    assert presets.content_of(recording, TEXT[:-1]) != content
    monkeypatch.setattr(clips, "PREPARATION", 99)
    assert presets.content_of(recording, TEXT) != content


def test_a_voice_without_a_reference_is_to_be_cast():
    assert presets.load_reference(Voice("ada", description="A girl"), "en") is None


def test_what_is_odd_about_a_clip_is_told(tmp_path):
    path = tmp_path / "hiss.wav"
    noise = np.random.default_rng(1).standard_normal(len(spoken.draft())) * 0.02
    soundfile.write(path, spoken.draft() + noise, spoken.RATE)
    told: list[str] = []
    presets.load_reference(Voice("ada", reference=path, transcript=TEXT), "en", told.append)
    assert len(told) == 1
    assert told[0].startswith("hiss.wav: noisy")


def test_a_clip_that_is_refused_is_an_error(recording):
    with pytest.raises(UserError, match="missing from the transcript"):
        presets.load_reference(Voice("ada", reference=recording, transcript="Early."), "en")


def test_a_missing_clip_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"no\.wav: cannot be read"):
        presets.content_of(tmp_path / "no.wav", TEXT)


def test_another_transcript_beside_a_preset_is_an_error(kept):
    with pytest.raises(UserError, match="has its own transcript"):
        presets.content_of(kept, "Something else.")
    with pytest.raises(UserError, match="has its own transcript"):
        presets.load_reference(Voice("ada", reference=kept, transcript="Something else."), "en")


# -- names and folders -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Ada", "Miss Lovell", "old-man_2", "Ødegård", "声", "7"])
def test_names_of_letters_digits_spaces_and_two_marks(name):
    assert presets.validate_name(name) == name


def test_a_name_has_one_form_on_every_machine():
    assert presets.validate_name("Ode\u0301") == "Od\u00e9"


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "..", "a\\b", "-rf", "a.b", "x" * 65, "a\nb", "nul\0", "tail "]
)
def test_what_could_be_a_path_is_no_name(name):
    with pytest.raises(UsageError, match="cannot be a voice's name"):
        presets.validate_name(name)


@pytest.mark.parametrize(
    "name", ["Ada", "Mr. O'Neil", "../..", "—", "x" * 90 + " y", "a" * 63 + " b"]
)
def test_any_speaker_s_name_can_be_cleaned(name):
    assert presets.validate_name(presets.valid_name_for(name))


def test_a_project_s_voice_comes_before_the_library_s(tmp_path, library, ada):
    project = tmp_path / "book"
    presets.write(ada, library / "Ada.voice")
    assert presets.find("Ada", project) == library / "Ada.voice"
    presets.write(ada, project / "voices" / "Ada.voice")
    assert presets.find("Ada", project) == project / "voices" / "Ada.voice"
    assert presets.find("Ada", None) == library / "Ada.voice"
    assert [entry.place for entry in presets.list_all(project)] == ["project", "library"]


def test_an_unknown_voice_names_the_nearest(library, ada):
    presets.write(ada, library / "Ada.voice")
    with pytest.raises(UsageError, match="did you mean 'Ada'"):
        presets.find("Adda", None)


def test_a_damaged_voice_is_listed_with_its_trouble(library):
    library.mkdir(parents=True)
    (library / "Bad.voice").write_bytes(b"not a zip")
    (entry,) = presets.list_all(None)
    assert (entry.path.stem, entry.preset) == ("Bad", None)
    assert "torn or altered" in entry.trouble


# -- what others hand us ---------------------------------------------------------------------------


def repacked(path, changes, *, compression=zipfile.ZIP_STORED):
    """A preset's file with parts replaced, added, or, where None, taken out."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts |= changes
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            if data is not None:
                archive.writestr(name, data)
    return path


def npy(array, header: dict | None = None) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    data = buffer.getvalue()
    if header is None:
        return data
    text = repr(header).encode().ljust(117) + b"\n"
    return data[:8] + struct.pack("<H", len(text)) + text + data[128:]


def card(**changes) -> bytes:
    whole = {"format": 1, "name": "Ada", "transcript": TEXT, "language": "en"} | changes
    return json.dumps({k: v for k, v in whole.items() if v is not None}).encode()


def flac(samples, rate=clips.RATE_HZ, form="FLAC") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=form, subtype="PCM_16")
    return buffer.getvalue()


def huge(shape) -> bytes:
    return npy(LATENTS, {"descr": "<f4", "fortran_order": False, "shape": shape})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"voice.json": None}, "a part is missing"),
        ({"reference.flac": None}, "a part is missing"),
        ({"voice.json": b"{"}, "JSON"),
        ({"voice.json": b"[" * 100_000}, "voice.json"),
        ({"voice.json": b" " * (2 << 20)}, "too large"),
        ({"voice.json": card(format=2)}, "a newer narrator"),
        ({"voice.json": card(transcript=None)}, "transcript"),
        ({"voice.json": card(transcript="x" * 5000)}, "transcript"),
        ({"voice.json": card(name="../../etc/passwd")}, "cannot be a voice's name"),
        ({"voice.json": card(seed=-1)}, "seed"),
        ({"voice.json": card(seed="7")}, "seed"),
        ({"reference.flac": b"fLaC"}, "its sound cannot be read"),
        ({"reference.flac": flac(np.zeros(99), form="WAV")}, "mono FLAC at 48000 Hz"),
        ({"reference.flac": flac(np.zeros(99), rate=16000)}, "mono FLAC at 48000 Hz"),
        ({"reference.flac": flac(np.zeros((99, 2)))}, "mono FLAC at 48000 Hz"),
        ({"reference.flac": flac(np.zeros(36 * clips.RATE_HZ))}, "1 to 35 s long"),
        ({"latents/enc-1.npy": b"x"}, "latents cannot be read"),
        ({"latents/enc-1.npy": npy(np.array([{}]))}, "not what an encoder gives"),
        ({"latents/enc-1.npy": npy(np.zeros(3))}, "not what an encoder gives"),
        ({"latents/enc-1.npy": npy(np.full(3, np.nan, np.float32))}, "not numbers"),
        ({"latents/enc-1.npy": huge((1 << 40,))}, "latents break off"),
        ({"latents/enc-1.npy": huge((1 << 40, 1 << 40, 1 << 40))}, "latents break off"),
        ({"latents/enc-1.npy": huge((-1,))}, "not what an encoder gives"),
    ],
)
def test_what_is_damaged_is_said_in_one_line(kept, changes, said):
    repacked(kept, changes)
    with pytest.raises(UserError) as caught:
        presets.read(kept)
    (problem,) = caught.value.problems
    assert problem.path == kept
    assert said in problem.message
    assert "\n" not in problem.message


def test_a_compressed_part_is_refused_before_it_unfolds(kept):
    bomb = {"reference.flac": bytes(50 << 20)}
    repacked(kept, bomb, compression=zipfile.ZIP_DEFLATED)
    assert kept.stat().st_size < 1 << 20
    with pytest.raises(UserError, match="compressed or encrypted"):
        presets.read(kept)


def test_paths_inside_are_never_followed(kept, tmp_path):
    before = set(tmp_path.rglob("*"))
    repacked(kept, {"../evil": b"x", "/etc/evil": b"x", "latents/../../evil.npy": b"x"})
    assert presets.read(kept).name == "Ada"
    assert set(tmp_path.rglob("*")) == before
    assert b"evil" not in presets.pack(presets.read(kept))


def test_two_parts_of_one_name_are_refused(kept):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(kept, "a") as archive:
        archive.writestr("voice.json", card())
    with pytest.raises(UserError, match="two files of one name"):
        presets.read(kept)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path):
    path = tmp_path / "Big.voice"
    with path.open("wb") as file:
        file.truncate(presets.MAX_FILE_SIZE + 1)
    with pytest.raises(UserError, match="larger than 64 MB"):
        presets.read(path)


def test_every_torn_file_is_a_user_s_error(kept):
    data = kept.read_bytes()
    for length in (0, 1, 100, len(data) // 2, len(data) - 30, len(data) - 1):
        kept.write_bytes(data[:length])
        with pytest.raises(UserError):
            presets.read(kept)


def test_every_flipped_byte_is_found_or_harmless(kept, ada):
    data = kept.read_bytes()
    for place in np.random.default_rng(1).integers(0, len(data), 60).tolist():
        kept.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
        with contextlib.suppress(UserError):
            assert presets.read(kept).content == ada.content


def test_a_folder_is_no_preset(tmp_path):
    (tmp_path / "Dir.voice").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        presets.read(tmp_path / "Dir.voice")
