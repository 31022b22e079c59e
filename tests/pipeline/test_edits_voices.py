"""Another voice for one of the cast, in book.yaml; recordings that are taken in."""

from __future__ import annotations

import pytest

from narrator.cast import presets
from narrator.errors import ManifestError, UsageError, UserError
from narrator.pipeline import edits
from narrator.sound import audio
from tests import edited, sounds

BOOK = """\
title:   Two
author: Nobody
language: en-GB
voices:
  dry: {description: A dry voice}
speakers:   # who speaks
    narrator: ~   # me
    Ada:
        voice:   # the first one
            description: "Young, bright"
            style: quickly  # always
        pronoun: she
    Ben: { voice: dry,  pronoun: he }
    women:
        plays: {Lucy: []}
        voice: dry   # shared

# the chapters
chapters:
- { title: One,  file: one.md }
"""


@pytest.fixture
def path(tmp_path):
    return edited.write(tmp_path, "Ada: It rained.\n", BOOK)


def voiced(path, speaker, **voice):
    edited.made(path, edits.voice_edit(edited.project(path), speaker, voice))
    return path.read_text()


DESCRIBED = """\
            description: "Young, bright"
            style: quickly  # always
"""


@pytest.mark.parametrize(
    ("speaker", "voice", "old", "new"),
    [
        ("Ada", {"description": "Old"}, '"Young, bright"', '"Old"'),
        (
            "Ada",
            {"description": "Old", "seed": 3},
            DESCRIBED,
            DESCRIBED.replace("Young, bright", "Old") + "            seed: 3\n",
        ),
        ("Ada", {"preset": "dry"}, f"   # the first one\n{DESCRIBED}", " dry   # the first one\n"),
        ("Ben", {"description": "Old"}, "voice: dry,  p", "voice: {description: Old},  p"),
        ("narrator", {"preset": "dry"}, " ~   # me\n", "   # me\n      voice: dry\n"),
        ("women", {"description": "Old: grey"}, "dry   #", "{description: 'Old: grey'}   #"),
    ],
)
def test_a_voice_is_changed_and_nothing_else(path, speaker, voice, old, new):
    assert voiced(path, speaker, **voice) == BOOK.replace(old, new)
    assert edits.undo(edited.project(path)) is not None
    assert path.read_text() == BOOK


def test_a_name_between_spaces_is_no_other_speaker(path):
    assert voiced(path, " Ada ", preset="dry").count("Ada") == 1


def test_a_book_without_a_cast_gets_one(tmp_path):
    manifest = "title: A\nauthor: B\nlanguage: en\nchapters:\n- {title: One, file: one.md}\n"
    path = edited.write(tmp_path, "It rained.\n", manifest)
    assert "speakers:\n  narrator:\n    voice: {description: Old}\nchapters" in voiced(
        path, "narrator", description="Old"
    )


@pytest.mark.parametrize(
    ("speaker", "voice", "said"),
    [
        ("Ada", {"preset": "nobody"}, "unknown voice 'nobody'"),
        ("Adda", {"preset": "dry"}, "did you mean “Ada”"),
        ("Ada", {}, "a preset, a description, or a reference"),
        ("Ada", {"preset": "dry", "description": "x"}, "a preset, a description, or"),
        ("Ada", {"reference": "a.wav"}, "and its transcript"),
        ("Ada", {"reference": "../a.wav", "transcript": "x"}, "outside of the project"),
        ("Ada", {"reference": "a.wav", "transcript": "x"}, "No such file"),
        ("Ada", {"description": "x", "seed": "no"}, "a seed is a number"),
    ],
)
def test_a_voice_that_cannot_be_is_refused(path, speaker, voice, said):
    with pytest.raises(UserError, match=said):
        edits.voice_edit(edited.project(path), speaker, voice)


def test_a_voice_that_is_shared_by_an_anchor_is_left(tmp_path):
    manifest = BOOK.replace("voice: dry,", "voice: &v {description: x},").replace(
        "voice: dry ", "voice: *v "
    )
    path = edited.write(tmp_path, "Ada: It rained.\n", manifest)
    with pytest.raises(ManifestError, match="by hand"):
        edits.voice_edit(edited.project(path), "Ben", {"description": "Old"})
    assert "voice: dry   # shared" in voiced(path, "women", preset="dry")


WORDS = "Early in the morning a cool wind came down over the hills, and the village smelled."


def wav(seconds=6.0):
    return audio.encode_wav(sounds.voice(seconds), sounds.RATE)


def test_a_recording_is_kept_and_is_somebodys_voice(path):
    project = edited.project(path)
    added = edits.add_clip(project, "../My voice!.WAV", wav())
    assert added.path == "voices/My voice.wav"
    assert 4 < added.seconds < 6.5
    assert (project.root / added.path).read_bytes() == wav()
    text = voiced(path, "Ben", reference=added.path, transcript=WORDS)
    assert f"voice: {{reference: voices/My voice.wav, transcript: '{WORDS}'}},  p" in text


def test_the_rights_in_a_recording_stay_with_it_and_go_with_it(path):
    one, two = (edits.add_clip(edited.project(path), "a.wav", wav(s)).path for s in (6.0, 7.0))
    noted = {"origin": "Ann Smith", "consent": "by letter"}
    assert "rights: {origin: Ann Smith, consent: by letter}" in voiced(
        path, "Ben", reference=one, transcript=WORDS, **noted
    )
    assert "rights: {origin: Ann Smith, consent: by letter}" in voiced(
        path, "Ben", reference=one, transcript=f"{WORDS[:-1]}!", origin=""
    )
    assert "origin: Cy, consent: by letter}" in voiced(
        path, "Ben", reference=one, transcript=WORDS, origin="Cy"
    )
    assert "rights" not in voiced(path, "Ben", reference=two, transcript=WORDS)


def test_a_recording_replaces_no_other(path):
    project = edited.project(path)
    names = [edits.add_clip(project, "a.wav", wav(s)).path for s in (6.0, 7.0, 6.0)]
    assert names == ["voices/a.wav", "voices/a 2.wav", "voices/a.wav"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"#EXTM3U\nhttp://x/y\n", "not a sound file|playlist"),
        (b"", "sound"),
        (audio.encode_wav(sounds.silence(6.0), sounds.RATE), "silent"),
        (audio.encode_wav(sounds.voice(1.0), sounds.RATE), "too short"),
    ],
)
def test_what_is_no_recording_of_a_voice_is_refused_and_not_kept(path, data, said):
    project = edited.project(path)
    with pytest.raises(UserError, match=said) as caught:
        edits.add_clip(project, "a.wav", data)
    assert "part" not in str(caught.value)
    assert list(presets.folder(project.root).iterdir()) == []


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
@pytest.mark.parametrize(
    "voice",
    [
        {"reference": "%s", "transcript": "x"},
        {"reference": "a.wav", "transcript": "%s"},
        {"preset": "dry%s"},
        {"description": "old%s"},
        {"description": "old", "seed": "%s"},
    ],
)
def test_what_no_file_can_hold_is_refused_in_one_line(path, voice, odd):
    voice = {key: value.replace("%s", odd) for key, value in voice.items()}
    with pytest.raises(UsageError, match=r"null character|half of a character"):
        edits.voice_edit(edited.project(path), "Ada", voice)
    with pytest.raises(UsageError, match=r"null character|half of a character"):
        edits.voice_edit(edited.project(path), f"Ada{odd}", {"preset": "dry"})
    with pytest.raises(UsageError, match=r"null character|half of a character"):
        edits.add_clip(edited.project(path), f"a{odd}.wav", wav())


def test_no_recording_is_kept_through_a_link_that_leads_outside(path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    folder = path.parent / "voices"
    folder.symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(UsageError, match="leads outside of the project"):
        edits.add_clip(edited.project(path), "a.wav", wav())
    assert list(elsewhere.iterdir()) == []
    folder.unlink()
    folder.mkdir()
    (folder / "a.wav").symlink_to(elsewhere / "a.wav")
    assert edits.add_clip(edited.project(path), "a.wav", wav()).path == "voices/a 2.wav"
    assert list(elsewhere.iterdir()) == []


def test_a_recording_in_a_folder_that_is_allowed_is_somebodys_voice(path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.wav").write_bytes(wav())
    voice = {"reference": f"{elsewhere}/a.wav", "transcript": WORDS}
    with pytest.raises(UsageError, match="lies outside of the project"):
        edits.voice_edit(edited.project(path), "Ben", voice)
    path.write_text(f"outside: ['{elsewhere}']\n{BOOK}")
    assert str(elsewhere) in voiced(path, "Ben", **voice)
