from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from narrator.delivery import music
from narrator.delivery.export.encode import Encoding, write_sound
from narrator.errors import ManifestError, UserError
from narrator.pipeline import manuscript
from narrator.project import load
from narrator.project.project import Project
from narrator.sound import mix
from narrator.sound.assemble import PlacedTake, Timeline, TimelineItem, plan_timeline
from narrator.sound.assemble import speech_level as spoken_level
from narrator.sound.audio import make_silence
from narrator.sound.loudness import STEREO_GAIN, measure
from narrator.sound.mix import Layer, Tune
from narrator.speech.plan import Utterance, make_utterances
from narrator.text import labels, script
from narrator.text.lines import Chapter, Line, MusicMark, Scene
from narrator.text.normalize import Lexicon
from tests import books
from tests.effort import examples, quick
from tests.fakes import RATE as RATE_OF_TAKES
from tests.fakes import HumEngine
from tests.sound_files import wav
from tests.sounds import RATE, Samples, blocks, noise, tone, voice

ROLES = labels.Roles({"narrator": "narrator"}, "narrator")
LEVEL = -20.0
"""LUFS of the speech in these tests."""
SAID = 3.0
"""Seconds of every chunk in these tests."""

SENTENCE = "The ferry left at seven, as it had on every morning that anyone there could remember."
SCENES = f"""\
{SENTENCE}

{SENTENCE}

***

{SENTENCE}

***

{SENTENCE}
"""


def stereo(left: Samples, right: Samples) -> Samples:
    return np.stack([left, right], axis=1)


def book(folder: Path, entries: str, texts: Sequence[str] = (SCENES,)) -> Project:
    """A project with a `music` list, not checked further than the manifest."""
    lines = ["title: The Ferry", "author: A. Author", "chapters:"]
    for number, text in enumerate(texts, 1):
        lines.append(f"  - {{title: Part {number}, file: {number}.md}}")
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    path = folder / "book.yaml"
    path.write_text("\n".join(lines) + f"\nmusic:\n{entries}\n", encoding="utf-8")
    return load.load(path)


def chapters(project: Project) -> list[Chapter]:
    return [
        script.read_chapter(
            (project.root / str(one.file)).read_text("utf-8"),
            path=project.root / str(one.file),
            title=one.title,
            language="en",
            roles=ROLES,
            speaker=None,
        )
        for one in project.manifest.chapters
    ]


@dataclass
class Laid:
    """A chapter with its music in place; every chunk takes `SAID` seconds, with 1 s between."""

    spoken: list[Utterance]
    timeline: Timeline
    layers: tuple[Layer, ...]
    clips: list[PlacedTake]

    def at(self, seconds: float) -> int:
        return round(seconds * self.timeline.sample_rate)


def laid(project: Project, chapter: int = 0, rate: int = RATE, pause: float = 1.0) -> Laid:
    read = chapters(project)
    assert music.problems(project, read) == []
    found = make_utterances(read, lexicon=Lexicon([]))[0]
    spoken = [one for one in found if one.chapter == chapter]
    clips = [
        PlacedTake(one.id, 0, round(SAID * rate), 0, 1, one.chunk.pause_after_s or pause, one.id,
             "narrator", one.chunk.text, project.path, 1)
        for one in spoken
    ]  # fmt: skip
    clips[-1] = replace(clips[-1], pause=spoken[-1].chunk.pause_after_s or 0.0)
    titles = [one.title for one in read]
    pieces = music.chapter_music(project, music.measure_tunes(project), titles, chapter)
    timeline = plan_timeline(
        clips,
        sample_rate=rate,
        head_seconds=music.head_seconds(pieces, rate, 0.5) + spoken[0].chunk.pause_before_s,
        tail_seconds=music.tail_seconds(pieces, rate, 1.5, clips[-1].pause),
    )
    return Laid(spoken, timeline, music.place_music(pieces, spoken, timeline, LEVEL), clips)


def played(scene: Laid, speech: Samples | None = None, block: int = 65536) -> Samples:
    sound = make_silence(scene.timeline.length) if speech is None else speech
    return np.concatenate(list(mix.mix(blocks(sound, block), scene.timeline, scene.layers)))


def rms(samples: Samples) -> float:
    return 10 * math.log10(float(np.mean(np.square(samples, dtype=np.float64))) + 1e-20)


# -- the manifest ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{file: a.wav}", "'music[1].place' is missing"),
        ("{file: a.wav, place: coda}", "music[1].place: must be 'intro', 'outro' or 'bed'"),
        ("{file: b.wav, place: intro}", "no such file: b.wav; did you mean 'a.wav'?"),
        ("{file: a.wav, place: intro, scene: 1}", "`scene` is for a bed, not for `place: intro`"),
        ("{file: a.wav, place: bed, overlap: 1}", "`overlap` is for an intro or an outro"),
        ("{file: a.wav, place: bed, name: x, scene: 1}", "leave out `scene`"),
        ("{file: a.wav, place: bed, name: 'Off'}", "[music: off] ends what plays"),
        ("{file: a.wav, place: bed, fade: 1}", "unknown key 'fade' in music[1]"),
        ("{file: a.wav, place: bed, name: x}\n  - {file: a.wav, place: bed, name: X}",
         "occurs twice; first in music[1]"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_is_an_error_with_its_line(
    tmp_path: Path, entry: str, said: str
) -> None:
    wav(tmp_path / "a.wav", tone(1))
    with pytest.raises(ManifestError) as failed:
        book(tmp_path, f"  - {entry}")
    assert said in str(failed.value)
    line = 7 if "twice" in said else 6
    assert f"book.yaml:{line}:" in str(failed.value)


# -- the script ------------------------------------------------------------------------------------


def read_script(text: str) -> Chapter:
    return script.read_chapter(
        text, path=Path("1.md"), title="One", language="en", roles=ROLES, speaker=None
    )


def all_marks(read: Chapter) -> list[tuple[Line, MusicMark]]:
    lines = [line for scene in read.scenes for line in scene.lines]
    return [(line, mark) for line in lines for mark in line.marks]


def marks_of(text: str) -> list[tuple[str, str | None, int]]:
    """Returns the text after each mark of a chapter, its name, and its line."""
    marks = all_marks(read_script(text))
    return [(line.text[mark.offset :], mark.name, mark.number) for line, mark in marks]


def test_a_mark_stands_before_the_words_that_follow_it() -> None:
    assert marks_of("One. [music: Rain] Two.\n\nThree. [music:off]") == [
        ("Two.", "Rain", 1),
        ("", None, 3),
    ]


def test_a_mark_between_paragraphs_belongs_to_the_next_that_is_spoken() -> None:
    text = "One.\n\n[music: rain]\n\n…\n\n***\n\nnarrator: Two.\n\n[music: off]\n\n***\n\n…\n"
    assert marks_of(text) == [("Two.", "rain", 3), ("", None, 11)]


def pauses_of(text: str) -> list[tuple[str | None, int, float, float]]:
    marks = all_marks(read_script(text))
    return [(mark.name, mark.offset, mark.before, mark.after) for _, mark in marks]


@pytest.mark.parametrize(
    "between",
    [
        "[pause 1s] [pause 2s][music: a] [pause 4s]",
        " [pause 1s]\n\n[pause 2s] [music: a]\n\n***\n\n[pause 4s]\n\nnarrator: ",
        "\n\n[pause 1s]\n\n[pause 2s]\n\n[music: a] [pause 4s] ",
        " [pause 1s] [pause 2s] [music: a]\n\n…\n\n[pause 4s] — ",
    ],
)
def test_a_mark_knows_the_pauses_on_either_side_of_it(between: str) -> None:
    ((name, _, before, after),) = pauses_of(f"One. {between}Two.")
    assert (name, before, after) == ("a", 3, 4)


def test_only_pauses_up_to_the_next_words_count() -> None:
    text = "[pause 1s] One. [music: a] Two. [pause 2s] Three. [pause 4s] [music: off] [pause 8s]"
    assert pauses_of(text) == [("a", 5, 0, 0), (None, 16, 4, 8)]


def test_a_mark_is_not_spoken_and_leaves_the_text_as_it_was() -> None:
    with_mark = read_script("[music: rain] One two. [music: off]")
    assert with_mark.scenes[0].lines[0].text == "One two."
    assert not with_mark.left_out
    without_colon = read_script("[Music] plays.")
    assert without_colon.scenes[0].lines[0].text == "[Music] plays."


@pytest.mark.parametrize("text", ["[music:]", "[music: rain and no end", "[music:\nrain]"])
def test_a_mark_without_a_name_or_an_end_is_no_music(text: str) -> None:
    read = read_script(f"One.\n\n{text}\n\nTwo.")
    [slip] = read.slips
    assert slip.line == 3
    assert "names no music" in slip.problem
    assert not all_marks(read)


def test_a_mark_changes_no_chunk() -> None:
    def texts(text: str) -> list[str]:
        read = read_script(text)
        return [one.chunk.text for one in make_utterances([read], lexicon=Lexicon([]))[0]]

    plain = texts(f"Yes. No. {SENTENCE}\n\nWell.\n\nSo.")
    assert texts(f"Yes. [music: a] No. {SENTENCE}\n\n[music: off]\n\nWell.\n\nSo.") == plain


# -- what does not go together ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "text", "said"),
    [
        ("{file: a.wav, place: intro, chapters: [1, Prat 2]}", SCENES,
         "book.yaml:7: music[1]: no chapter 'Prat 2'; did you mean 'Part 2'?"),
        ("{file: a.wav, place: bed, chapters: 1, scene: 4}", SCENES,
         "book.yaml:7: music[1]: chapter 1, 'Part 1', has no scene 4, only 3 scenes"),
        ("{file: a.wav, place: intro}\n  - {file: a.wav, place: intro, chapters: 1}", SCENES,
         "book.yaml:8: music[2]: chapter 1 has an intro already, music[1]; set `chapters`"),
        ("{file: text.wav, place: bed}", SCENES,
         "book.yaml:7: music[1]: text.wav: not a sound file"),
        ("{file: long.wav, place: intro}", SCENES,
         "book.yaml:7: music[1]: an intro of 3.1 min, which is longer than 3 min: set `seconds`"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_told_with_its_place(
    tmp_path: Path, entry: str, text: str, said: str
) -> None:
    wav(tmp_path / "a.wav", tone(1))
    (tmp_path / "text.wav").write_text("This is no sound.")
    wav(tmp_path / "long.wav", make_silence(186 * 1000), 1000)
    project = book(tmp_path, f"  - {entry}", [text, SCENES])
    found = [str(problem) for problem in music.problems(project, chapters(project))]
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (f"One.\n\n[music: rein]\n\n{SENTENCE} [music: off] Two.", 3,
         "“[music: rein]” is ignored: no music is called “rein”; did you mean “rain”?"),
        (f"One.\n\n{SENTENCE} [music: off]", 3,
         "“[music: off]” is ignored: no music is on here"),
        (f"{SENTENCE}\n\n[music: rain]", 3,
         "“[music: rain]” is ignored: no words come after it"),
    ],
)  # fmt: skip
def test_a_mark_that_no_music_can_follow_is_ignored_and_told(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    wav(tmp_path / "a.wav", tone(1))
    project = book(tmp_path, "  - {file: a.wav, place: bed, name: rain}", [text, SCENES])
    read = manuscript.read_manuscript(project.path)
    assert not [mark for one in read.spoken for mark in one.chunk.marks]
    [slip] = manuscript.find_markup_slips(read)
    assert slip.line == line
    assert said in slip.message


def test_marks_go_on_around_one_that_is_ignored(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(1))
    text = "[music: rain]\n\nOne.\n\n[music: snow]\n\nTwo.\n\n[music: off][music: off]\n\nThree."
    project = book(tmp_path, "  - {file: a.wav, place: bed, name: rain}", [text, SCENES])
    read = manuscript.read_manuscript(project.path)
    assert [mark.name for one in read.spoken for mark, _ in one.chunk.marks] == ["rain", None]
    assert [slip.line for slip in manuscript.find_markup_slips(read)] == [5, 9]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{file: a.wav, place: outro, overlap: 5}", "`overlap: 5`, but the music lasts 2.0 s"),
        ("{file: a.wav, place: intro, seconds: 3}", "`seconds: 3`, but a.wav lasts 2.0 s"),
        ("{file: a.wav, place: bed, loop: 1.5}", "`loop: 1.5` is more than half of the 2.0 s"),
        ("{file: quiet.wav, place: bed}", "quiet.wav: is silent"),
        ("{file: text.wav, place: bed}", "text.wav: not a sound file"),
    ],
)
def test_what_a_file_turns_out_to_be_is_told_with_its_place(
    tmp_path: Path, entry: str, said: str
) -> None:
    wav(tmp_path / "a.wav", tone(2))
    wav(tmp_path / "quiet.wav", make_silence(RATE))
    (tmp_path / "text.wav").write_text("This is no sound.")
    with pytest.raises(ManifestError) as failed:
        music.measure_tunes(book(tmp_path, f"  - {entry}"))
    assert f"book.yaml:6: music[1]: {said}" in str(failed.value)


# -- files -----------------------------------------------------------------------------------------


def tune_of(folder: Path, samples: Samples, rate: int = RATE, name: str = "a.wav") -> Tune:
    wav(folder / name, samples, rate)
    return music.measure_tunes(book(folder, f"  - {{file: {name}, place: bed}}"))[0]


def heard(tune: Tune, rate: int = RATE) -> Samples:
    return np.concatenate(list(mix.stream_tune(tune, rate)))


@pytest.mark.parametrize("rate", quick([16000, 22050, 44100, 48000], 16000, 48000))
def test_a_tune_keeps_its_pitch_level_and_length_at_another_rate(tmp_path: Path, rate: int) -> None:
    tune = tune_of(tmp_path, tone(2, hertz=440, peak=-6, rate=44100), 44100)
    sound = heard(tune, rate)
    assert len(sound) == 2 * rate == tune.samples(rate)
    power = np.abs(np.fft.rfft(sound * np.hanning(len(sound))))
    assert np.argmax(power) / 2 == pytest.approx(440, abs=0.5)
    assert np.abs(sound[rate // 2 : -rate // 2]).max() == pytest.approx(10 ** (-6 / 20), rel=0.01)


@pytest.mark.parametrize("codec", quick(["mp3", "opus", "flac", "aac"], "mp3", "flac"))
def test_any_format_of_ffmpeg_is_read(tmp_path: Path, codec: str) -> None:
    two = stereo(tone(2, hertz=300, rate=48000), tone(2, hertz=700, rate=48000))
    bits = 0 if codec == "flac" else 128
    write_sound(tmp_path / "a.bin", blocks(two), 48000, Encoding(codec, 48000, bits, 2))
    tune = music.measure_tunes(book(tmp_path, "  - {file: a.bin, place: bed}"))[0]
    assert (tune.rate, tune.channels) == (48000, 2)
    sound = heard(tune)
    assert abs(len(sound) - 2 * RATE) < 0.1 * RATE
    middle = sound[RATE // 2 : RATE // 2 + RATE]
    peaks = np.argmax(np.abs(np.fft.rfft(middle, axis=0)), axis=0)
    assert peaks.tolist() == pytest.approx([300, 700], abs=1)


def test_more_than_two_channels_become_two(tmp_path: Path) -> None:
    tune = tune_of(tmp_path, np.repeat(tone(1)[:, np.newaxis], 6, axis=1))
    assert tune.channels == 2
    assert heard(tune).shape == (RATE, 2)


def test_a_file_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tune_of(tmp_path, tone(3, peak=-12))
    assert first.seconds == pytest.approx(3)
    assert first.loudness == pytest.approx(measure(blocks(tone(3, peak=-12)), RATE).integrated)
    monkeypatch.setattr(music, "measure", None)
    assert music.measure_tunes(load.load(tmp_path / "book.yaml")) == (first,)


def test_a_file_that_has_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    tune = tune_of(tmp_path, tone(1))
    tune.path.unlink()
    with pytest.raises(UserError, match=r"a\.wav: cannot be played any more"):
        heard(tune)


# -- where music lies ------------------------------------------------------------------------------


def test_words_begin_where_an_intro_ends_but_for_its_overlap(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(5, rate=44100), 44100)
    whole = laid(book(tmp_path, "  - {file: a.wav, place: intro}"))
    early = laid(book(tmp_path, "  - {file: a.wav, place: intro, overlap: 1.5}"))
    plain = laid(book(tmp_path, "  - {file: a.wav, place: bed}"))
    assert whole.timeline.cues[0].start == whole.at(5)
    assert early.timeline.cues[0].start == early.at(3.5)
    assert [(one.start, one.stop) for one in whole.layers] == [(0, whole.at(5))]
    for moved in (whole, early):  # every cue and the end move by the same samples
        shift = moved.timeline.cues[0].start - plain.timeline.cues[0].start
        starts = [(cue.start - shift, cue.stop - shift) for cue in moved.timeline.cues]
        assert starts == [(cue.start, cue.stop) for cue in plain.timeline.cues]
        assert moved.timeline.length - shift == plain.timeline.length


def test_a_short_intro_does_not_shorten_the_head_and_a_pause_is_kept(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(0.45))
    assert laid(book(tmp_path, "  - {file: a.wav, place: intro}")).timeline.cues[0].start == round(
        0.5 * RATE
    )
    wav(tmp_path / "a.wav", tone(2))
    text = f"[pause 1s]\n\n{SENTENCE}"
    scene = laid(book(tmp_path, "  - {file: a.wav, place: intro}", [text]))
    assert scene.timeline.cues[0].start == 3 * RATE


@pytest.mark.parametrize(("pause", "overlap"), [(0.0, 0.0), (0.0, 1.25), (2.0, 0.5)])
def test_an_outro_follows_the_last_word_and_the_chapter_its_end(
    tmp_path: Path, pause: float, overlap: float
) -> None:
    wav(tmp_path / "a.wav", tone(4, rate=44100), 44100)
    text = SENTENCE + (f" [pause {pause}s]" if pause else "")
    scene = laid(book(tmp_path, f"  - {{file: a.wav, place: outro, overlap: {overlap}}}", [text]))
    (layer,) = scene.layers
    end = scene.timeline.cues[-1].stop
    assert layer.start == pytest.approx(end + (pause - overlap) * RATE, abs=1)
    assert layer.stop == scene.timeline.length == pytest.approx(layer.start + 4 * RATE, abs=1)


def test_a_short_outro_leaves_the_tail(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(1))
    scene = laid(book(tmp_path, "  - {file: a.wav, place: outro}"))
    assert scene.timeline.length - scene.timeline.cues[-1].stop == round(1.5 * RATE)


def test_a_bed_fades_in_before_its_words_and_out_after_them(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(30, rate=8000), 8000)
    entry = "{file: a.wav, place: bed, scene: 2, fade_in: 0.5, fade_out: 0.75}"
    scene = laid(book(tmp_path, f"  - {entry}"))
    cue = scene.timeline.cues[2]
    assert [(one.start, one.stop) for one in scene.layers] == [
        (cue.start - round(0.5 * RATE), cue.stop + round(0.75 * RATE))
    ]


def test_a_bed_stays_within_its_chapter_and_its_file(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(6, rate=8000), 8000)
    once = laid(book(tmp_path, "  - {file: a.wav, place: bed}"))
    again = laid(book(tmp_path, "  - {file: a.wav, place: bed, loop: true}"))
    assert [(one.start, one.stop) for one in once.layers] == [(0, 6 * RATE)]
    assert [(one.start, one.stop) for one in again.layers] == [(0, again.timeline.length)]


def test_the_script_calls_music_and_ends_it(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(30, rate=8000), 8000)
    entries = "\n".join(
        f"  - {{file: a.wav, place: bed, name: {name}, fade_in: 0, fade_out: 0, gain: {gain}}}"
        for name, gain in (("Rain", -20), ("Storm", -10))
    )
    text = (
        f"{SENTENCE}\n\n[music: rain]\n\n{SENTENCE}\n\n***\n\n{SENTENCE}\n\n[music: storm]\n\n"
        f"{SENTENCE}\n\n[music: off]\n\n{SENTENCE}\n\n[music: Rain]\n\n{SENTENCE}\n"
    )
    scene = laid(book(tmp_path, entries, [text]))
    cues = scene.timeline.cues
    assert [(one.start, one.stop, one.gain) for one in scene.layers] == [
        (cues[1].start, cues[2].stop, pytest.approx(LEVEL - 20 - scene.layers[0].tune.loudness)),
        (cues[5].start, cues[5].stop, scene.layers[0].gain),
        (cues[3].start, cues[3].stop, pytest.approx(scene.layers[0].gain + 10)),
    ]


@pytest.mark.parametrize(
    ("on", "off", "begins", "ends"),
    [
        # in before words, out after them
        ("[music: a]", "[music: off]", -0.5, 0.25),
        # where a pause begins, and before one
        ("[music: a] [pause 4s]", "[music: off] [pause 2s]", -4, 0.25),
        # after pauses
        ("[pause 4s] [music: a]", "[pause 2s] [music: off]", -0.5, 2.25),
        # between pauses
        ("[pause 1s] [music: a] [pause 3s]", "[pause 2s] [music: off] [pause 1s]", -3, 2.25),
    ],
)
def test_music_keeps_its_side_of_a_pause(
    tmp_path: Path, on: str, off: str, begins: float, ends: float
) -> None:  # seconds against the words' start and stop
    wav(tmp_path / "a.wav", tone(15, rate=8000), 8000)
    entry = "  - {file: a.wav, place: bed, name: a, fade_in: 0.5, fade_out: 0.25}"
    text = f"{SENTENCE} {on}\n\n{SENTENCE}\n\n{off}\n\n{SENTENCE}"
    scene = laid(book(tmp_path, entry, [text]))
    (layer,), cue = scene.layers, scene.timeline.cues[1]
    assert layer.start == pytest.approx(cue.start + begins * RATE, abs=1)
    assert layer.stop == pytest.approx(cue.stop + ends * RATE, abs=1)


def test_music_that_ends_with_a_unison_waits_for_its_last_voice() -> None:
    marks = MusicMark(0, "rain", 1), MusicMark(6, None, 1)
    first = Line("ann", "We do!", Path("1.md"), 1, "en", marks=marks)
    scene = Scene((first, replace(first, speaker="bob", marks=(), with_before=True)))
    spoken, _ = make_utterances([Chapter("One", "en", (scene,), ())], lexicon=Lexicon([]))
    clips = [
        PlacedTake(one.id, 0, length, 0, 1, 0, one.id, one.chunk.speaker, "", Path("1.md"), 1,
               one.with_before)
        for one, length in zip(spoken, (200, 500), strict=True)
    ]  # fmt: skip
    timeline = plan_timeline(clips, sample_rate=1000, head_seconds=0.1, tail_seconds=0.1)
    begins, ends = music._mark_times(spoken[:1], timeline, 0)
    assert (begins, ends) == ((100, 100, "rain"), (600, 600, None))
    layer = Layer(TUNE, 0, 10_000, 10_000, None, 0.0, 20.0, 8, 8, 1, 1)
    places, _ = mix._ducking_curve(timeline.heard, layer, 1000)
    assert list(places) == [100 - 8, 100, 600, 600 + 8]


def test_a_mark_within_a_chunk_lies_where_its_share_of_the_text_ends(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(5, rate=8000), 8000)
    text = "The ferry [music: a] left at eight."
    entry = "  - {file: a.wav, place: bed, name: a, fade_in: 0, fade_out: 0}"
    scene = laid(book(tmp_path, entry, [text]))
    (cue,) = scene.timeline.cues
    assert scene.layers[0].start == cue.start + round((cue.stop - cue.start) * 10 / 24)


@pytest.mark.parametrize(
    ("timed", "ended", "begun"),
    [
        ("The ferry left at", 200, 250),  # between its words
        ("The left at", 250, 250),  # "ferry" is not timed: its share would end later
        ("The ferry at", 200, 350),
    ],
)
def test_a_mark_within_a_timed_chunk_lies_between_its_words(
    timed: str, ended: int, begun: int
) -> None:
    text = "The ferry left at eight."
    words = tuple(
        (text.index(word), text.index(word) + len(word), 100 * n + 50, 100 * n + 100)
        for n, word in enumerate(["The", "ferry", "left", "at"])
        if word in timed.split()
    )
    cue = TimelineItem(0, 3000, "k", "1.1", "n", text, Path("1.md"), 1, words=words, timed_by="x")
    assert music._words_around(cue, 10 / 24) == (ended, begun)


def test_chapters_are_chosen_by_number_and_title(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(2))
    project = book(tmp_path, "  - {file: a.wav, place: intro, chapters: [1, part 3]}", [SCENES] * 3)
    assert [len(laid(project, number).layers) for number in range(3)] == [1, 0, 1]


# -- levels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peak", "count"),
    [(-30, 1), (-3, 2),
     *(pytest.param(*case, marks=pytest.mark.slow) for case in ((-30, 2), (-3, 1)))],
)  # fmt: skip
def test_a_bed_lies_twenty_under_speech_whatever_its_files_level(
    tmp_path: Path, peak: float, count: int
) -> None:
    sound = noise(20, rms=peak - 12, seed=3)
    wav(tmp_path / "a.wav", sound if count == 1 else stereo(sound, noise(20, rms=peak - 12)))
    scene = laid(book(tmp_path, "  - {file: a.wav, place: bed, fade_in: 0}"))
    under = played(scene)[scene.timeline.cues[1].start : scene.timeline.cues[1].stop]
    # speech in both channels is 3 LU louder than in one
    speech = LEVEL + (STEREO_GAIN if count == 2 else 0)
    assert measure(blocks(under), RATE).integrated == pytest.approx(speech - 20, abs=0.5)


def test_the_level_of_speech_is_where_half_of_its_seconds_lie() -> None:
    rows = {"a": [(-20.0, 4.0), (-24.0, 5.0)], "b": [(-30.2, 3.0), (-120.0, 60.0)]}
    assert spoken_level(rows, {"a": 1.0, "b": 6.0}) == -23.0
    assert spoken_level({"a": []}, {}) == -120.0


PLACES = "{file: a.wav, place: bed, fade_in: 0, fade_out: 0, gain: -10, duck: 12, loop: true}"


def test_music_is_down_under_words_and_up_where_nobody_speaks(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", noise(20, rms=-20))
    project = book(tmp_path, f"  - {PLACES}", [f"{SENTENCE}\n\n{SENTENCE}"])
    scene = laid(project, pause=6.0)
    sound = played(scene)
    flat = played(replace(scene, layers=tuple(replace(one, duck=0) for one in scene.layers)))
    first, second = scene.timeline.cues

    def depth(start: float, stop: float) -> float:
        span = slice(round(start), round(stop))
        return rms(sound[span]) - rms(flat[span])

    assert depth(first.start, first.stop) == pytest.approx(-12, abs=0.01)
    assert depth(second.start, second.stop) == pytest.approx(-12, abs=0.01)
    up = first.stop + 1.0 * RATE, second.start - 0.5 * RATE
    assert depth(*up) == pytest.approx(0, abs=0.01)
    # half way of a raised cosine is half the dB
    half = first.stop + 0.5 * RATE
    assert depth(half - 200, half + 200) == pytest.approx(-6, abs=0.5)
    half = second.start - 0.25 * RATE
    assert depth(half - 200, half + 200) == pytest.approx(-6, abs=0.5)


def test_music_does_not_come_up_in_the_pauses_of_speech(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(20, hertz=500))
    scene = laid(book(tmp_path, f"  - {PLACES}"), pause=2.4)
    cues = scene.timeline.cues
    under = played(scene)[cues[0].start : cues[-1].stop]
    peaks = np.abs(under[: len(under) // 441 * 441]).reshape(-1, 441).max(axis=1)
    assert peaks.max() / peaks.min() < 1.5  # a loop's seam is all that moves


@given(gap=st.floats(0, 6), attack=st.floats(0, 2), release=st.floats(0, 3))
@settings(max_examples=examples(60))
def test_ducking_is_complete_under_every_word_and_smooth(
    gap: float, attack: float, release: float
) -> None:
    rate = 1000
    scene = LAID_ONCE
    cues = [
        replace(scene, start=start, stop=stop)
        for start, stop in ((300, 2000), (2000 + round(gap * rate), 9000), (9100, 9500))
    ]
    layer = Layer(TUNE, 0, 10_000, 10_000, None, 0.0, 20.0, max(8, round(attack * rate)),
                  max(8, round(release * rate)), 1, 1)  # fmt: skip
    gain = mix._gain_factors(layer, mix._ducking_curve(cues, layer, rate), 0, 10_000)[2:-2]
    for cue in cues:
        assert np.allclose(gain[cue.start : cue.stop - 5], 0.1)
    steepest = 20 * math.pi / 2 / min(layer.attack, layer.release)
    assert np.abs(np.diff(20 * np.log10(gain))).max() <= steepest * 1.01


TUNE = Tune(Path("a.wav"), "c", RATE, 1, RATE, -20.0)
LAID_ONCE = plan_timeline(
    [PlacedTake("k", 0, 100, 0, 1, 0, "1.1", "narrator", "Yes.", Path("1.md"), 1)],
    sample_rate=1000,
    head_seconds=0,
    tail_seconds=0,
).cues[0]


def test_fades_rise_and_fall_in_their_time(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(10, hertz=1000))
    entry = "{file: a.wav, place: intro, fade_in: 2, fade_out: 4, gain: 0}"
    scene = laid(book(tmp_path, f"  - {entry}", [SENTENCE]))
    sound = played(scene)
    full = np.abs(sound[3 * RATE : 5 * RATE]).max()

    def share(seconds: float) -> float:
        return float(np.abs(sound[round(seconds * RATE) :][:200]).max() / full)

    assert [share(s) for s in (0.0, 1.0, 2.0, 6.0, 8.0, 9.98)] == pytest.approx(
        [0, 0.5, 1, 1, 0.5, 0], abs=0.02
    )
    assert np.all(sound[10 * RATE :] == 0)


def test_a_cut_does_not_click(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(4, hertz=400, peak=0))
    scene = laid(book(tmp_path, "  - {file: a.wav, place: intro, seconds: 2.0003, gain: 12}",
                      [SENTENCE]))  # fmt: skip
    sound = played(scene)
    steady = np.abs(np.diff(sound[RATE : RATE + 2000], 2)).max()
    assert np.abs(np.diff(sound, 2)).max() < 1.2 * steady


# -- loops -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "loop"),
    [(RATE, "0.25"), (44100, "true"),
     *(pytest.param(*case, marks=pytest.mark.slow) for case in ((RATE, "true"), (44100, "0.25")))],
)  # fmt: skip
def test_a_loop_goes_on_without_a_click_or_a_gap(tmp_path: Path, loop: str, rate: int) -> None:
    # cut anywhere in its wave: end and beginning do not meet
    wav(tmp_path / "a.wav", tone(1.2345, hertz=441, peak=-6, rate=rate), rate)
    entry = f"{{file: a.wav, place: bed, fade_in: 0, fade_out: 0, duck: 0, loop: {loop}}}"
    scene = laid(book(tmp_path, f"  - {entry}"))
    (layer,) = scene.layers
    sound = played(scene)[layer.start + RATE // 10 : layer.stop - RATE // 10]
    # away from a seam, and from the file's edges, where a resampler rings
    steady = sound[RATE // 10 : RATE // 2]
    bend = np.abs(np.diff(steady, 2)).max()
    assert np.abs(np.diff(sound, 2)).max() < 1.6 * bend
    size = RATE // 50
    levels = [rms(sound[at : at + size]) for at in range(0, len(sound) - size, size)]
    # equal power of a tone: from where both cancel to where both add
    assert max(levels) < rms(steady) + 3.1


def test_equal_power_holds_the_level_of_a_loop(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", noise(3, rms=-20))
    entry = "{file: a.wav, place: bed, fade_in: 0, fade_out: 0, duck: 0, loop: 1.5, gain: 0}"
    scene = laid(book(tmp_path, f"  - {entry}"))
    (layer,) = scene.layers
    sound = played(scene)[layer.start + RATE // 10 : layer.stop - RATE // 10]
    size = RATE // 2
    levels = [rms(sound[at : at + size]) for at in range(0, len(sound) - size, size)]
    assert max(levels) - min(levels) < 0.5


# -- the mix ---------------------------------------------------------------------------------------

ALL = """\
  - {file: in.wav, place: intro, overlap: 1}
  - {file: bed.wav, place: bed, loop: 0.5}
  - {file: out.wav, place: outro, overlap: 0.5}
"""


def full(folder: Path, *, wide: bool = True, rate: int = RATE) -> Laid:
    """A chapter with an intro, a bed and an outro, of several rates; the bed in stereo."""
    wav(folder / "in.wav", noise(3, rms=-18, rate=44100), 44100)
    bed = noise(4, rms=-12, rate=48000, seed=2)
    wav(folder / "bed.wav", stereo(bed, bed[::-1]) if wide else bed, 48000)
    wav(folder / "out.wav", noise(3, rms=-25, seed=5))
    return laid(book(folder, ALL), rate=rate)


def speech_of(scene: Laid) -> Samples:
    sound = make_silence(scene.timeline.length)
    for number, cue in enumerate(scene.timeline.cues):
        said = (cue.stop - cue.start) / scene.timeline.sample_rate
        sound[cue.start : cue.stop] = voice(said, rate=scene.timeline.sample_rate, seed=number)
    return sound


@pytest.mark.parametrize("wide", quick([False, True], True))
def test_a_mix_is_the_speech_as_it_was_plus_the_music(tmp_path: Path, wide: bool) -> None:
    scene = full(tmp_path, wide=wide)
    speech = speech_of(scene)
    before = speech.copy()
    mixed, alone = played(scene, speech), played(scene)
    assert_array_equal(speech, before)
    assert mixed.dtype == np.float32
    assert mixed.shape == ((len(speech), 2) if wide else (len(speech),))
    both = np.repeat(speech[:, np.newaxis], 2, axis=1) if wide else speech
    assert_array_equal(mixed, both + alone)  # bit by bit
    assert np.abs((mixed - alone) - both).max() <= 2**-24


def test_where_no_music_plays_speech_is_the_same_bit_by_bit(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(2))
    scene = laid(book(tmp_path, "  - {file: a.wav, place: intro}"))
    speech = speech_of(scene)
    begin = scene.timeline.cues[0].start
    assert_array_equal(played(scene, speech)[begin:], speech[begin:])
    nothing = replace(scene, layers=())
    assert_array_equal(played(nothing, speech), speech)


def test_stereo_stays_stereo_and_mono_lies_in_both(tmp_path: Path) -> None:
    left, right = tone(5, hertz=300), tone(5, hertz=700)
    wav(tmp_path / "a.wav", stereo(left, right))
    wav(tmp_path / "b.wav", tone(5, hertz=1500))
    entries = "  - {file: a.wav, place: intro}\n  - {file: b.wav, place: outro}"
    scene = laid(book(tmp_path, entries, [SENTENCE]))
    assert mix.channels(scene.layers) == 2
    sound = played(scene)
    peaks = np.argmax(np.abs(np.fft.rfft(sound[RATE : 2 * RATE], axis=0)), axis=0)
    assert peaks.tolist() == [300, 700]
    end = sound[-2 * RATE : -RATE]
    assert_array_equal(end[:, 0], end[:, 1])
    assert np.abs(end).max() > 0.001


@pytest.mark.parametrize("size", quick([1, 977, 4096, 65536, 10**7], 977))
def test_blocks_of_any_size_give_the_same_mix(tmp_path: Path, size: int) -> None:
    scene = full(tmp_path, rate=2000)
    speech = speech_of(scene)
    assert_array_equal(played(scene, speech, size), played(scene, speech, 50_000))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_music(tmp_path: Path) -> None:
    rate = 44100
    long = np.tile(stereo(noise(10, rate=rate), noise(10, rate=rate, seed=2)), (3, 1))
    wav(tmp_path / "a.wav", long, rate)  # half a minute, 10.6 MB as float32
    del long
    project = book(tmp_path, "  - {file: a.wav, place: bed, seconds: 27}")
    cue = LAID_ONCE
    timeline = Timeline(48000, 31 * 48000, (replace(cue, start=48000, stop=27 * 48000),))
    gc.collect()
    tracemalloc.start()
    try:
        tunes = music.measure_tunes(project)
        piece = music.MusicUse(project.manifest.music[0], tunes[0])
        layer = music._layer(piece, 0, 27 * 48000, 48000, LEVEL)
        count = 0
        for block in mix.mix(quiet(timeline.length), timeline, [layer]):
            count += len(block)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == timeline.length
    assert peak < 8e6


def quiet(length: int) -> Iterator[Samples]:
    for start in range(0, length, 65536):
        yield make_silence(min(65536, length - start))


# -- keys ------------------------------------------------------------------------------------------


def test_the_key_of_a_mix_changes_with_the_music_and_where_there_is_none_is_that_of_speech(
    tmp_path: Path,
) -> None:
    wav(tmp_path / "a.wav", tone(10))
    keys = {"speech"}
    assert mix.sound_key("speech", ()) == "speech"
    settings_ = ("", ", gain: -4", ", duck: 3", ", fade_in: 1", ", fade_out: 1", ", attack: 1",
                 ", release: 2", ", loop: true", ", loop: 1", ", seconds: 4")  # fmt: skip
    for more in settings_:
        scene = laid(book(tmp_path, f"  - {{file: a.wav, place: bed{more}}}"))
        keys.add(mix.sound_key("speech", scene.layers))
    wav(tmp_path / "a.wav", tone(10, hertz=500))
    scene = laid(book(tmp_path, "  - {file: a.wav, place: bed}"))
    keys |= {mix.sound_key("speech", scene.layers), mix.sound_key("other", scene.layers)}
    assert len(keys) == 3 + len(settings_)


def test_the_key_of_a_mix_does_not_change_with_a_files_name(tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(10))
    one = laid(book(tmp_path, "  - {file: a.wav, place: bed}"))
    (tmp_path / "a.wav").rename(tmp_path / "b.wav")
    other = laid(book(tmp_path, "  - {file: b.wav, place: bed, name: x}",
                      ["[music: x]\n\n" + SCENES]))  # fmt: skip
    assert mix.sound_key("s", one.layers) == mix.sound_key("s", other.layers)


# -- the whole -------------------------------------------------------------------------------------


def test_changed_music_makes_files_anew_and_renders_nothing(tmp_path: Path) -> None:
    wav(tmp_path / "intro.wav", stereo(noise(3, seed=1), noise(3, seed=2)))
    entry = "music:\n  - {file: intro.wav, place: intro, chapters: 1}\n"
    path = books.brief(tmp_path)
    plain, _ = books.run(path, HumEngine())
    path.write_text(books.MANIFEST + entry)
    again, watcher = books.run(path, HumEngine())
    assert plain.finished is not None
    assert again.finished is not None
    assert watcher.takes == []
    before, after = plain.finished.exported.chapters, again.finished.exported.chapters
    (first, sounds), (second, others) = after
    shift = 3 * RATE_OF_TAKES - before[0][0].timeline.cues[0].start
    assert [cue.start - shift for cue in first.timeline.cues] == [
        cue.start for cue in before[0][0].timeline.cues
    ]
    assert (first.channels, second.channels) == (2, 1)
    assert second.key == before[1][0].key
    assert sounds[0].loudness.integrated == pytest.approx(-18, abs=0.5)
    assert others[0].loudness.integrated == pytest.approx(-18, abs=0.5)
    for file in again.finished.files:  # all chapters of a book are delivered alike
        assert soundfile.info(file).channels == 2
    sound, rate = soundfile.read(again.finished.files[0])
    intro = sound[rate // 2 : 2 * rate]
    assert np.corrcoef(intro.T)[0, 1] < 0.1
    said = sound[4 * rate : 5 * rate]
    assert_allclose(said[:, 0], said[:, 1], atol=0.003)  # but for the room tone under them

    path.write_text(books.MANIFEST + entry.replace("chapters", "gain: -6, chapters"))
    third, watcher = books.run(path, HumEngine())
    assert third.finished is not None
    assert watcher.takes == []
    assert third.finished.exported.chapters[0][0].key != first.key
    assert third.finished.exported.chapters[1][0].key == second.key


# -- credits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rain", "no such bed", "off"])
def test_no_music_plays_under_credits(name: str, tmp_path: Path) -> None:
    wav(tmp_path / "a.wav", tone(1))
    project = book(tmp_path, "  - {file: a.wav, place: bed, name: rain}")
    text = project.path.read_text() + f"credits:\n  closing: '[music: {name}] The end.'\n"
    project.path.write_text(text + "  opening: 'A \\[music: x] book.'\n")
    found = music.problems(load.load(project.path), chapters(project))
    line = text.splitlines().index("credits:") + 2
    what = f"credits.closing: no music plays under credits: leave [music: {name}] out"
    assert [str(problem) for problem in found] == [f"{project.path}:{line}: {what}"]
