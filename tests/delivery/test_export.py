from __future__ import annotations

import base64
import functools
import io
import os
import re
import resource
import shutil
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import mutagen
import numpy as np
import pytest
from mutagen.flac import Picture
from mutagen.id3 import ID3
from numpy.testing import assert_allclose, assert_array_equal

from narrator.delivery import export
from narrator.delivery.export import (
    BookAudio,
    ChapterAudio,
    Encoded,
    Exported,
    OutputTarget,
    encode,
    m4b,
)
from narrator.delivery.export.names import file_name
from narrator.errors import StorageError, UserError
from narrator.project.facts import BookFacts
from narrator.project.profiles import PLAIN_PROFILE, Profile
from narrator.sound.assemble import PlacedTake, plan_timeline, sound_key, stream
from narrator.sound.audio import Samples, decode_frames
from narrator.sound.formats import CODECS, FORMATS
from narrator.sound.loudness import measure
from tests import forks
from tests.effort import quick
from tests.sound_files import jpeg, photo, png
from tests.sounds import RATE, blocks, onset, silence, tone, voice

QUICK = quick(FORMATS, "m4b", "opus")
"""Formats for tests that export a book for each: the two most unlike, the others later."""
ACX_LEVELS = {"kind": "RMS", "loudness": -20.5, "tolerance": 3.0, "true_peak": -3.0}
TITLES = ("Capítulo uno: Дым", "二 · Smoke", "Three 😀 & <more>")


def chapter(number: int, title: str, sounds: Sequence[Samples]) -> ChapterAudio:
    takes = {f"{number}.{n}.{zlib.crc32(s.tobytes())}": s for n, s in enumerate(sounds)}
    clips = [
        PlacedTake(key, 0, len(sound), 0, 1, 0.4, "1.1", "n", "Text.", Path("a.md"), 1)
        for key, sound in takes.items()
    ]
    timeline = plan_timeline(clips, sample_rate=RATE, head_seconds=0.3, tail_seconds=0.5)
    key = sound_key(timeline, lambda clip: clip.key)
    return ChapterAudio(
        number, title, key, timeline, lambda: stream(timeline, lambda clip: takes[clip.key])
    )


def chapters(count: int = 3) -> list[ChapterAudio]:
    return [
        chapter(n + 1, TITLES[n], [voice(1.3 + 0.25 * n, seed=10 * n + i) for i in range(2)])
        for n in range(count)
    ]


def tags(cover: Path | None = None) -> BookFacts:
    return BookFacts(
        title="Tähti: 本 😀",
        authors=("Jane Doe", "Иван Петров"),
        narrators=("Voice One", "Голос"),
        subtitle="A Test",
        series="Lamps",
        part="2",
        publisher="Press",
        date="2024-05-01",
        description="Long ago… " * 60,
        genre="Fiction",
        copyright="© 2024",
        language="de-CH",
        isbn="9780000000002",
        asin="B000000000",
        cover=cover,
    )


def run(
    where: Path,
    sounds: Sequence[ChapterAudio],
    formats: Sequence[str] = ("m4b",),
    *,
    facts: BookFacts | None = None,
    sample: ChapterAudio | None = None,
    of_book: dict[str, int] | None = None,
    watch: dict[str, Any] | None = None,
    **settings: object,
) -> Exported:
    """Exports to a profile; `of_book` are facts of the whole book, `watch` who hears of it."""
    profile = replace(PLAIN_PROFILE, formats=tuple(formats), **settings)  # type: ignore[arg-type]
    return export.export(
        BookAudio(sounds, facts or tags(), **(of_book or {})),
        [OutputTarget(profile, sample)],
        output_folder=where / "out",
        cache_folder=where / "kept",
        **(watch or {}),
    )


def sound_of(path: Path) -> tuple[Samples, int]:
    with av.open(str(path)) as container:
        rate = container.streams.audio[0].rate
        return np.concatenate(list(decode_frames(container))), rate


@functools.cache
def known(path: Path) -> tuple[Samples, int]:
    """Returns the sound of a file that nobody changes."""
    sound, rate = sound_of(path)
    sound.flags.writeable = False
    return sound, rate


def leftovers(where: Path) -> list[Path]:
    return [path for path in where.rglob("*") if path.suffix == ".part"]


@dataclass
class Book:
    """A book of three chapters in every format, exported once for many tests."""

    where: Path
    cover: bytes
    sounds: list[ChapterAudio]
    exported: Exported

    def paths(self) -> list[Path]:
        return [p for p in (self.where / "out").rglob("*") if p.is_file()]

    def file(self, format: str, number: int | None = None) -> export.ListenerFile:
        return next(f for f in self.exported.files if (f.format, f.chapter) == (format, number))

    def encoded(self, format: str) -> list[Encoded]:
        codec = FORMATS[format].chapter_codec
        return [
            next(e for e in sounds if e.encoding.codec == codec.name)
            for _, sounds in self.exported.chapters
        ]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    where = tmp_path_factory.mktemp("book")
    cover = jpeg(where / "cover.jpg")
    sounds = chapters()
    exported = run(where, sounds, tuple(FORMATS), facts=tags(where / "cover.jpg"))
    return Book(where, cover, sounds, exported)


@pytest.fixture
def encoded(book: Book, tmp_path: Path) -> None:
    """The chapters of that book are encoded already, for a test of what comes after."""
    shutil.copytree(book.where / "kept", tmp_path / "kept")


# -- what is written -------------------------------------------------------------------------------


def test_a_book_is_one_m4b_and_for_other_formats_a_file_and_a_folder_of_chapters(
    book: Book,
) -> None:
    name = "Jane Doe, Иван Петров - Tähti - 本 😀"
    found = sorted(p.relative_to(book.where / "out").as_posix() for p in book.paths())
    expected = [f"{name}.{format}" for format in FORMATS]
    for format in (name for name, row in FORMATS.items() if not row.is_book):
        for title in ("01 - Capítulo uno - Дым", "02 - 二 · Smoke", "03 - Three 😀 & more"):
            expected.append(f"{name} ({format})/{title}.{format}")
    assert found == sorted(expected)


@pytest.mark.parametrize("format", FORMATS)
def test_every_file_measures_its_target_when_it_is_decoded(book: Book, format: str) -> None:
    for file in book.exported.files:
        if file.format != format:
            continue
        sound, rate = known(file.path)
        measured = measure(blocks(sound), rate)
        assert measured.integrated == pytest.approx(-18, abs=0.5), file.path
        assert measured.true_peak <= -1.5, file.path


def test_what_the_limiter_takes_is_given_back(tmp_path: Path) -> None:
    exported = run(tmp_path, chapters(1), ["flac"], loudness=-16, true_peak=-3)
    measured = exported.chapters[0][1][0].loudness
    assert measured.true_peak == pytest.approx(-3.2, abs=0.1)  # the limiter was at work
    assert measured.integrated == pytest.approx(-16, abs=0.1)


@pytest.mark.parametrize("format", FORMATS)
def test_measured_figures_are_those_of_the_file(book: Book, format: str) -> None:
    for encoded in book.encoded(format):
        sound, rate = known(encoded.path)
        assert measure(blocks(sound), rate).integrated == pytest.approx(
            encoded.loudness.integrated, abs=0.01
        )


@pytest.mark.parametrize("format", FORMATS)
def test_each_chapter_of_a_book_sounds_as_it_does_alone(book: Book, format: str) -> None:
    file = book.file(format)
    whole, rate = known(file.path)
    assert file.seconds == pytest.approx(len(whole) / rate, abs=0.06)
    for start, encoded in zip(file.starts, book.encoded(format), strict=True):
        alone, _ = known(encoded.path)
        begin = round(start * rate)
        there = whole[begin : begin + encoded.samples]
        if format == "opus":  # its decoder carries a little over from what it played before
            assert_allclose(there, alone[: len(there)], atol=0.02)
        else:
            assert_allclose(there, alone[: len(there)], atol=1e-4)


@pytest.mark.parametrize("format", FORMATS)
def test_between_chapters_there_is_silence(book: Book, format: str) -> None:
    whole, rate = known(book.file(format).path)
    for start in book.file(format).starts[1:]:
        near = whole[round((start - 0.35) * rate) : round((start + 0.2) * rate)]
        assert np.abs(near).max() < 0.003


@pytest.mark.parametrize("format", FORMATS)
def test_speech_begins_where_the_timeline_says(book: Book, format: str) -> None:
    file = book.file(format)
    whole, rate = known(file.path)
    for start, sound in zip(file.starts, book.sounds, strict=True):
        planned = np.concatenate(list(sound.blocks()))
        for cue in sound.timeline.cues:
            first = onset(planned[cue.start :], 0.03) + cue.start
            heard = whole[round((start + cue.start / RATE - 0.1) * rate) :]
            found = onset(heard, 0.03) / rate - 0.1 + cue.start / RATE
            assert found == pytest.approx(first / RATE, abs=0.004)


def test_a_joined_m4b_equals_one_that_is_encoded_in_one_go(tmp_path: Path) -> None:
    clicks = [chapter(n + 1, "t", [tone(0.5, hertz=700 + 300 * n)]) for n in range(3)]
    exported = run(tmp_path, clicks)
    joined, rate = sound_of(exported.files[0].path)
    starts = exported.files[0].starts
    encoded = [sounds[0] for _, sounds in exported.chapters]
    code = encoded[0].encoding
    laid = np.zeros(len(joined), np.float32)
    for start, one, sound in zip(starts, encoded, clicks, strict=True):
        whole = np.concatenate(list(sound.blocks())) * np.float32(10 ** (one.gain / 20))
        laid[round(start * rate) :][: len(whole)] = whole
    path = tmp_path / "once.m4a"
    with encode.create_file(path, CODECS[code.codec]) as container:
        sound_stream = encode.add_sound(container, code)
        encode.write_block(container, sound_stream, laid, 0)
        container.mux(sound_stream.encode(None))
    once, _ = sound_of(path)
    size = min(len(once), len(joined))
    difference = once[:size] - joined[:size]
    assert np.sqrt(np.mean(difference**2)) < 0.003
    for start in starts[1:]:
        at = round(start * rate)
        assert np.abs(joined[at - 3000 : at + 3000]).max() < 0.001


def test_lossless_files_hold_the_same_samples_in_24_bits(book: Book) -> None:
    flac, _ = known(book.file("flac").path)
    wav, _ = known(book.file("wav").path)
    each = [known(book.file("flac", n).path)[0] for n in (1, 2, 3)]
    assert_array_equal(flac, wav)
    assert_array_equal(flac, np.concatenate(each))
    assert len(flac) == sum(sound.timeline.length for sound in book.sounds)
    assert mutagen.File(book.file("flac").path).info.bits_per_sample == 24
    assert mutagen.File(book.file("wav").path).info.bits_per_sample == 24


# -- several ways at once --------------------------------------------------------------------------


def deliver(where: Path, profiles: Sequence[Profile], sounds: Sequence[ChapterAudio]) -> Exported:
    ways = [OutputTarget(profile) for profile in profiles]
    return export.export(
        BookAudio(sounds, tags()), ways, output_folder=where / "out", cache_folder=where / "kept"
    )


def test_each_profile_gets_a_folder_and_alike_chapters_are_encoded_once(tmp_path: Path) -> None:
    one = replace(PLAIN_PROFILE, name="one", formats=("mp3",), files="book", book_name="B")
    two = replace(one, name="two", files="chapters", chapter_name="{number} {chapter}", genre="Pod")
    three = replace(one, name="three", loudness=-16.0, true_peak=-1.0)
    exported = deliver(tmp_path, [one, two, three], chapters(2))
    found = sorted(
        p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.mp3")
    )
    assert found == [
        "one/B.mp3", "three/B.mp3", "two/01 Capítulo uno - Дым.mp3", "two/02 二 · Smoke.mp3",
    ]  # fmt: skip
    assert len(exported.encoded) == 4  # two chapters at two targets
    assert [f.folder for f in exported.files] == ["one", "two", "two", "three"]
    again = deliver(tmp_path, [one, three], chapters(2))
    assert not any(e.fresh for e in again.encoded)
    assert not any(f.fresh for f in again.files)


@pytest.mark.usefixtures("encoded")
def test_a_file_without_a_genre_gets_its_profiles(tmp_path: Path) -> None:
    facts = replace(tags(), genre="")
    exported = run(tmp_path, chapters(1), ["mp3"], facts=facts, genre="Podcast")
    assert mutagen.File(exported.files[0].path).tags["TCON"].text == ["Podcast"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [pytest.param("constant", True, marks=pytest.mark.slow), (None, True), ("variable", False)],
)
def test_an_mp3_has_a_constant_bitrate_unless_a_variable_one_is_asked_for(
    tmp_path: Path, mode: str | None, expected: bool
) -> None:
    exported = run(tmp_path, chapters(2), ["mp3"], files="book", bitrate_mode=mode)
    path = exported.files[0].path
    info = mutagen.File(path).info
    assert (info.bitrate_mode == mutagen.mp3.BitrateMode.CBR) is expected
    assert info.bitrate == pytest.approx(64000, abs=10 if expected else 20_000)
    found = marks(path)
    assert_allclose([start for _, start in found], exported.files[0].starts, atol=0.001)
    assert info.length == pytest.approx(exported.files[0].seconds, abs=0.1)


def test_opus_packets_are_of_one_size_where_the_bitrate_is_constant(tmp_path: Path) -> None:
    def sizes(mode: str | None) -> set[int]:
        where = tmp_path / str(mode)
        path = run(where, chapters(1), ["opus"], files="book", bitrate_mode=mode).files[0].path
        with av.open(str(path)) as container:
            return {p.size for p in container.demux(audio=0) if p.size}

    assert len(sizes("constant")) == 1
    assert len(sizes(None)) > 5


def test_sound_that_is_left_as_it_is_keeps_every_sample(tmp_path: Path) -> None:
    as_it_is = {"loudness": None, "true_peak": 0.0}
    sounds = chapters(2)
    exported = run(tmp_path, sounds, ["flac"], **as_it_is, files="chapters")
    for file, sound in zip(exported.files, sounds, strict=True):
        planned = np.concatenate(list(sound.blocks()))
        assert_allclose(sound_of(file.path)[0], planned, atol=2**-24)


def test_sound_over_full_scale_is_limited_though_it_is_left_as_it_is(tmp_path: Path) -> None:
    loud = [replace(c, blocks=lambda c=c: (b * 6 for b in c.blocks())) for c in chapters(1)]
    exported = run(tmp_path, loud, ["flac"], loudness=None, true_peak=0.0)
    measured = exported.encoded[0].loudness
    assert measured.true_peak <= 0
    assert np.abs(sound_of(exported.files[0].path)[0]).max() < 1


def test_room_tone_fills_every_pause(tmp_path: Path) -> None:
    exported = run(tmp_path, chapters(2), ["mp3"], files="book", bitrate=160, room_tone=-66)
    sound, rate = sound_of(exported.files[0].path)
    step = rate // 10
    windows = sound[: len(sound) // step * step].reshape(-1, step)
    levels = 10 * np.log10(np.square(windows, dtype=np.float64).mean(axis=1) + 1e-12)
    assert levels[1:-1].min() > -75  # MP3 moves a little of it about
    assert np.percentile(levels, 3) < -62
    assert exported.encoded[0].loudness.integrated == pytest.approx(-18, abs=0.5)


# -- cover -----------------------------------------------------------------------------------------


def large(path: Path, width: int, height: int) -> Path:
    path.write_bytes(png(width, height))
    return path


@pytest.mark.usefixtures("encoded")
def test_a_cover_that_is_too_large_is_scaled_down_for_its_profile(tmp_path: Path) -> None:
    facts = tags(large(tmp_path / "c.png", 300, 300))
    exported = run(
        tmp_path, chapters(1), ["mp3"], facts=facts, cover_square=True, cover_pixels=(50, 200)
    )
    picture = mutagen.File(exported.files[0].path).tags.getall("APIC")[0]
    assert picture.mime == "image/jpeg"
    with av.open(io.BytesIO(picture.data)) as container:
        image = next(container.decode(video=0)).to_ndarray(format="rgb24")
    assert image.shape == (200, 200, 3)
    assert_allclose(image.mean(axis=(0, 1)), (0x20, 0x60, 0xA0), atol=4)


def test_a_cover_of_another_shape_stands_in_the_middle_of_a_square(tmp_path: Path) -> None:
    path = large(tmp_path / "c.png", 200, 300)
    square = export.fit_cover(export.read_cover(path), path, square=True, pixels=(50, 150))
    assert (square.width, square.height) == (150, 150)
    with av.open(io.BytesIO(square.data)) as container:
        image = next(container.decode(video=0)).to_ndarray(format="rgb24").astype(float)
    assert_allclose(image[:, 30:120].mean(axis=(0, 1)), (0x20, 0x60, 0xA0), atol=4)
    for side in (image[:, :20], image[:, 130:]):  # the same colours, darker by half
        assert_allclose(side.mean(axis=(0, 1)), (0x10, 0x30, 0x50), atol=6)


def test_a_cover_that_is_too_small_is_refused_before_anything_runs(tmp_path: Path) -> None:
    facts = tags(large(tmp_path / "c.png", 40, 40))
    with pytest.raises(UserError, match="at least 50 pixels, not 40x40"):
        run(tmp_path, chapters(1), facts=facts, cover_square=True, cover_pixels=(50, 200))
    assert not (tmp_path / "kept").exists()


def test_a_cover_that_fits_stays_as_it_is(tmp_path: Path) -> None:
    path = large(tmp_path / "c.png", 100, 100)
    cover = export.read_cover(path)
    assert export.fit_cover(cover, path, square=True, pixels=(50, 200)) is cover


# -- retail sample ---------------------------------------------------------------------------------


def spoken(sound: ChapterAudio) -> Samples:
    return np.concatenate(list(sound.blocks()))


def test_a_sample_begins_and_ends_in_pauses_and_holds_whole_chunks() -> None:
    sound = chapter(3, "Long", [tone(1.0, hertz=300 + 100 * n) for n in range(6)])
    cut = export.excerpt(sound, "Sample", 1.0, 6.0)
    assert [cue.stop - cue.start for cue in cut.timeline.cues] == [RATE, RATE]
    heard, whole = spoken(cut), spoken(sound)
    assert len(heard) == cut.timeline.length <= 6.0 * RATE
    first, last = cut.timeline.cues[0].start, cut.timeline.cues[-1].stop
    assert first == round(0.75 * RATE)
    at = sound.timeline.cues[1].start
    assert_array_equal(heard[first:last], whole[at : at + last - first])
    assert not heard[:first].any()
    assert not heard[last:].any()  # nothing of the next words


def test_a_sample_holds_all_voices_of_a_unison_or_none_of_it() -> None:
    clips = [
        PlacedTake(
            f"{n}", 0, round(seconds * RATE), 0, 1, 0.4, f"1.{n}", "n", "T.", Path("a.md"), 1, also
        )
        for n, (seconds, also) in enumerate([(2, False), (1, False), (3, True), (1, False)])
    ]
    timeline = plan_timeline(clips, sample_rate=RATE, head_seconds=0.3, tail_seconds=0.5)
    sound = ChapterAudio(1, "One", "key", timeline, lambda: iter(()))
    for most, held in ((4.8, ["1.0"]), (9.0, ["1.0", "1.1", "1.2"])):
        sample = export.excerpt(sound, "Sample", 0, most)
        assert [cue.chunk for cue in sample.timeline.cues] == held


def sentences_of(sound: ChapterAudio, gap: float) -> ChapterAudio:
    """A chapter whose takes say two words of a second each, with a pause between them."""
    line = sound.timeline
    half = round(gap / 2 * line.sample_rate)
    cues = []
    for cue in line.cues:
        middle = (cue.start + cue.stop) // 2
        words = (0, 4, cue.start, middle - half), (5, 9, middle + half, cue.stop)
        cues.append(replace(cue, text="One. Two.", words=words, timed_by="draft"))
    return replace(sound, timeline=replace(line, cues=tuple(cues)))


def test_a_sample_of_timed_words_ends_after_a_sentence_of_a_take() -> None:
    sound = chapter(3, "Long", [tone(2.0, hertz=300 + 100 * n) for n in range(3)])
    cut = export.excerpt(sentences_of(sound, 0.2), "Sample", 0, 5.6, language="en")
    first, second = cut.timeline.cues
    assert [first.text, second.text] == ["One. Two.", "One."]
    assert second.stop - second.start == round(0.9 * RATE)
    assert second.words == ((0, 4, second.start, second.stop),)
    heard, whole = spoken(cut), spoken(sound)
    at = sound.timeline.cues[0].start
    size = second.stop - first.start
    assert_array_equal(heard[first.start : second.stop], whole[at : at + size])
    assert not heard[second.stop + round(0.2 * RATE) + 1 :].any()  # nothing of the next words
    assert cut.key != export.excerpt(sound, "Sample", 0, 5.6).key


@pytest.mark.parametrize(("gap", "seconds"), [(0.05, 5.6), (0.2, 5.0)])
def test_a_sample_ends_in_no_take_without_a_pause_or_room(gap: float, seconds: float) -> None:
    sound = chapter(3, "Long", [tone(2.0), tone(2.0)])
    cut = export.excerpt(sentences_of(sound, gap), "Sample", 0, seconds, language="en")
    assert [cue.text for cue in cut.timeline.cues] == ["One. Two."]
    assert cut.key == export.excerpt(sound, "Sample", 0, seconds).key


def test_a_sample_fades_what_lies_around_its_words() -> None:
    sound = chapter(1, "Music", [tone(1.0) for _ in range(4)])
    music = replace(sound, blocks=lambda: (b + np.float32(0.1) for b in sound.blocks()))
    heard = spoken(export.excerpt(music, "Sample", 0.5, 5.0))
    assert abs(heard[0]) < 1e-6
    assert abs(heard[-1]) < 1e-6
    assert np.abs(np.diff(heard)).max() < 0.06  # no click beside a tone of 1 kHz at -20 dB


@pytest.mark.parametrize("size", quick([97, 5000], 97))
def test_a_sample_does_not_depend_on_the_size_of_blocks(size: int) -> None:
    sound = chapter(1, "One", [voice(1.0, seed=n) for n in range(4)])
    small = replace(sound, blocks=lambda: blocks(spoken(sound), size))
    assert_array_equal(
        spoken(export.excerpt(small, "S", 0.5, 5)), spoken(export.excerpt(sound, "S", 0.5, 5))
    )


@pytest.mark.parametrize(("start", "seconds"), [(500, 60), (0, 2)])
def test_a_sample_without_words_is_an_error(start: float, seconds: float) -> None:
    sound = chapter(1, "One", [voice(1.0)])
    with pytest.raises(UserError, match=r"output\.sample: 'One' gives 0 s from"):
        export.excerpt(sound, "S", start, seconds)


def test_a_sample_that_cannot_be_cut_as_asked_for_is_the_nearest_and_that_is_said() -> None:
    sound = chapter(1, "One", [tone(4.0, hertz=300 + 100 * n) for n in range(4)])
    cut, remark = export.nearest_excerpt(sound, "S", 0, 10, (10, 60), "en")
    assert len(cut.timeline.cues) == 2  # one take is too short, two are too long
    assert cut.timeline.seconds > 10
    assert remark.startswith("the retail sample lasts 1")
    late = sound.timeline.cues[-1].start / RATE
    cut, remark = export.nearest_excerpt(sound, "S", late, 60, (10, 60), "en")
    assert len(cut.timeline.cues) == 2  # with the take before the last
    assert " s from " in remark
    with pytest.raises(UserError, match="choose another chapter"):
        export.nearest_excerpt(sound, "S", 0, 60, (50, 60), "en")


@pytest.mark.usefixtures("encoded")
@pytest.mark.slow
def test_a_sample_is_a_file_beside_the_book_and_no_chapter_of_it(tmp_path: Path) -> None:
    sounds = chapters(2)
    sample = export.excerpt(sounds[0], "Retail sample", 0, 5)
    exported = run(tmp_path, sounds, ["mp3"], files="chapters", book_name="B", sample=sample)
    assert [f.path.name for f in exported.samples] == ["B - Retail sample.mp3"]
    assert len(exported.files) == 2
    facts = mutagen.File(exported.samples[0].path).tags
    assert facts["TIT2"].text == ["Retail sample"]
    assert "TRCK" not in facts
    assert exported.encoded[-1].loudness.integrated == pytest.approx(-18, abs=0.5)
    export.prune(tmp_path / "kept", exported)
    assert not any(e.fresh for e in run(
        tmp_path, sounds, ["mp3"], files="chapters", book_name="B", sample=sample
    ).encoded)  # fmt: skip


# -- stereo ----------------------------------------------------------------------------------------


def stereo_chapter(number: int) -> ChapterAudio:
    """Speech in both channels and a tune in the right one."""
    mono = chapter(number, "Music", [voice(2.0, seed=number)])

    def both() -> Iterator[Samples]:
        for block in mono.blocks():
            tune = tone(len(block) / RATE, hertz=3000, peak=-20)
            yield np.stack([block, block + tune], 1)

    return replace(mono, blocks=both, key=f"stereo {number}", channels=2)


@pytest.mark.parametrize("format", QUICK)
def test_a_book_with_stereo_in_it_is_stereo(tmp_path: Path, format: str) -> None:
    sounds = [chapter(1, "Plain", [voice(2.0)]), stereo_chapter(2)]
    file = run(tmp_path, sounds, [format]).files[0]
    assert mutagen.File(file.path).info.channels == 2
    with av.open(str(file.path)) as container:
        rate = container.streams.audio[0].rate
        whole = np.concatenate(list(decode_frames(container, mono=False)))
    second = round(file.starts[1] * rate)
    first = whole[: round((file.starts[1] - 0.4) * rate)]
    for part in (first, whole[second:]):
        assert measure(blocks(part), rate).integrated == pytest.approx(-18, abs=0.5)
    # what was mono is the same on both sides; what was not, is not
    assert np.abs(first[:, 0] - first[:, 1]).max() < (0.02 if format == "opus" else 0.01)
    left, right = np.abs(np.fft.rfft(whole[second : second + 2 * rate], axis=0)).T
    bin = 3000 * 2
    assert right[bin] > 20 * left[bin]


def test_a_chapter_alone_has_as_many_channels_as_its_book(tmp_path: Path) -> None:
    sounds = [chapter(1, "Plain", [voice(1.0)])]
    exported = run(tmp_path, sounds, ["mp3"], of_book={"total": 2, "channels": 2})
    assert mutagen.File(exported.files[0].path).info.channels == 2


def test_stereo_can_be_delivered_in_one_channel(tmp_path: Path) -> None:
    exported = run(tmp_path, [stereo_chapter(1)], ["mp3"], channels=1)
    assert mutagen.File(exported.files[0].path).info.channels == 1
    assert exported.chapters[0][1][0].loudness.integrated == pytest.approx(-18, abs=0.5)


# -- tags, marks, cover ----------------------------------------------------------------------------


def marks(path: Path) -> list[tuple[str, float]]:
    with av.open(str(path)) as container:
        return [
            (c["metadata"]["title"], float(c["start"] * (c["time_base"] or Fraction(1))))
            for c in container.chapters()
        ]


@pytest.mark.parametrize("format", ["m4b", "mp3", "opus"])
def test_chapters_are_marked_with_their_titles(book: Book, format: str) -> None:
    file = book.file(format)
    found = marks(file.path)
    assert [title for title, _ in found] == list(TITLES)
    assert_allclose([start for _, start in found], file.starts, atol=0.001)


def test_flac_marks_chapters_in_its_comments(book: Book) -> None:
    comments = mutagen.File(book.file("flac").path).tags
    assert [comments[f"CHAPTER{n:03}NAME"][0] for n in range(3)] == list(TITLES)
    minutes = comments["CHAPTER002"][0].split(":")
    assert float(minutes[2]) == pytest.approx(book.file("flac").starts[2], abs=0.001)


def test_an_m4b_has_nero_marks_too(book: Book) -> None:
    file = book.file("m4b")
    found = mutagen.File(file.path).chapters
    assert [mark.title for mark in found] == list(TITLES)
    assert_allclose([mark.start for mark in found], file.starts, atol=0.001)


TAGS: dict[tuple[str, int | None], dict[str, object]] = {
    ("m4b", None): {
        "\xa9nam": "Tähti: 本 😀", "\xa9alb": "Tähti: 本 😀", "\xa9ART": "Jane Doe, Иван Петров",
        "aART": "Jane Doe, Иван Петров", "\xa9wrt": "Voice One, Голос", "\xa9gen": "Fiction",
        "\xa9day": "2024", "cprt": "© 2024", "stik": 2, "desc": "Long ago… " * 60,
        "ldes": "Long ago… " * 60,
    } | {
        f"----:com.apple.iTunes:{name}": text.encode() for name, text in {
            "RELEASEDATE": "2024-05-01", "SERIES": "Lamps", "SERIES-PART": "2",
            "PUBLISHER": "Press", "SUBTITLE": "A Test", "LANGUAGE": "de-CH",
            "ISBN": "9780000000002", "ASIN": "B000000000",
        }.items()
    },
    ("mp3", 2): {
        "TIT2": TITLES[1], "TALB": "Tähti: 本 😀", "TRCK": "2/3", "TPE1": "Jane Doe, Иван Петров",
        "TPE2": "Jane Doe, Иван Петров", "TCOM": "Voice One, Голос", "TLAN": "deu",
        "TXXX:series": "Lamps", "TXXX:series-part": "2",
    },
} | {
    (format, 3): {
        "title": TITLES[2], "album": "Tähti: 本 😀", "composer": "Voice One, Голос",
        "language": "de-CH", "tracknumber": "3/3", "date": "2024-05-01", "year": "2024",
    }
    for format in ("opus", "flac")
}  # fmt: skip


@pytest.mark.parametrize(("format", "number"), TAGS)
def test_files_carry_the_tags_that_players_read(
    book: Book, format: str, number: int | None
) -> None:
    found = mutagen.File(book.file(format, number).path).tags
    for name, expected in TAGS[format, number].items():
        values = getattr(found[name], "text", found[name])
        assert list(values) == [expected], name


def test_an_mp3_has_its_year_and_day_in_tags_of_version_2_3(book: Book) -> None:
    found = ID3(book.file("mp3").path, translate=False)
    assert found.version == (2, 3, 0)
    assert (found["TYER"].text, found["TDAT"].text) == (["2024"], ["0105"])


def test_an_m4b_is_of_its_kind_and_in_its_language(book: Book) -> None:
    path = book.file("m4b").path
    assert path.read_bytes()[4:12] == b"ftypM4B "
    with av.open(str(path)) as container:
        assert container.streams.audio[0].language == "deu"


@pytest.mark.parametrize("format", ["m4b", "mp3", "opus", "flac"])
def test_every_file_carries_the_cover(book: Book, format: str) -> None:
    for number in (None, 3)[: 2 if format != "m4b" else 1]:
        file = mutagen.File(book.file(format, number).path)
        if format == "m4b":
            assert bytes(file.tags["covr"][0]) == book.cover
            continue
        if format == "mp3":
            (picture,) = file.tags.getall("APIC")
        elif format == "flac":
            (picture,) = file.pictures
        else:
            picture = Picture(base64.b64decode(file.tags["metadata_block_picture"][0]))
        assert (picture.data, picture.mime, picture.type) == (book.cover, "image/jpeg", 3)


@pytest.mark.usefixtures("encoded")
def test_a_part_of_an_m4b_carries_its_number_and_its_books_title(tmp_path: Path) -> None:
    sounds = chapters()
    longest = sounds[0].timeline.seconds + sounds[1].timeline.seconds + 0.3
    exported = run(tmp_path, sounds, ["m4b"], book_name="B", longest=longest / 60)
    found = [mutagen.File(file.path).tags for file in exported.files]
    assert [tag["\xa9nam"] for tag in found] == [[f"{tags().title}, part {n}"] for n in (1, 2)]
    assert [tag["\xa9alb"] for tag in found] == [[tags().title]] * 2
    assert [tag["trkn"] for tag in found] == [[(1, 2)], [(2, 2)]]


def test_an_mp3_of_the_book_has_a_table_of_contents(book: Book) -> None:
    found = mutagen.File(book.file("mp3").path).tags
    assert len(found.getall("CHAP")) == 3
    assert len(found.getall("CTOC")[0].child_element_ids) == 3


def test_wav_carries_title_and_author(book: Book) -> None:
    with av.open(str(book.file("wav", 1).path)) as container:
        assert container.metadata["title"] == TITLES[0]
        assert container.metadata["artist"] == "Jane Doe, Иван Петров"


@pytest.mark.parametrize("format", QUICK)
@pytest.mark.usefixtures("encoded")
def test_a_book_without_facts_is_written_too(tmp_path: Path, format: str) -> None:
    exported = run(tmp_path, chapters(1), [format], facts=BookFacts(title="Bare"))
    assert exported.files[0].path.name == f"Bare.{format}"
    assert len(sound_of(exported.files[0].path)[0])


@pytest.mark.usefixtures("encoded")
def test_a_png_cover_is_kept_as_it_is(tmp_path: Path) -> None:
    cover = tmp_path / "cover.png"
    cover.write_bytes(png(8, 6))
    exported = run(tmp_path, chapters(1), ["m4b", "mp3", "flac"], facts=tags(cover), files="book")
    m4b_file, mp3_file, flac_file = (mutagen.File(file.path) for file in exported.files)
    assert bytes(m4b_file.tags["covr"][0]) == cover.read_bytes()
    assert m4b_file.tags["covr"][0].imageformat == mutagen.mp4.MP4Cover.FORMAT_PNG
    assert mp3_file.tags.getall("APIC")[0].mime == "image/png"
    assert (flac_file.pictures[0].width, flac_file.pictures[0].height) == (8, 6)


NO_IMAGE, TORN = "a cover must be a JPEG or PNG", "the cover is damaged, or not all of it is there"
HUGE = r"the cover is too large: 16000x16000 .* scale it down"
BAD_COVERS: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "empty": (lambda path: b"", NO_IMAGE),
    "a GIF": (lambda path: b"GIF89a....", NO_IMAGE),
    "the start of a JPEG": (lambda path: b"\xff\xd8\xff\xe0 torn", NO_IMAGE),
    "the start of a PNG": (lambda path: b"\x89PNG\r\n\x1a\n", NO_IMAGE),
    "a third of a JPEG": (lambda path: photo(path)[:9000], TORN),
    "most of a JPEG": (lambda path: photo(path)[:-5000], TORN),
    "a third of a PNG": (lambda path: png(300, 200)[:200], TORN),
    "most of a PNG": (lambda path: png(300, 200)[:-60], TORN),
    "huge by its header": (
        lambda path: png(20, 20)[:16] + (16000).to_bytes(4) * 2 + png(20, 20)[24:], HUGE
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_COVERS)
def test_a_bad_cover_is_one_clear_error_before_anything_is_encoded(
    tmp_path: Path, kind: str
) -> None:
    make, message = BAD_COVERS[kind]
    path = tmp_path / "cover.jpg"
    data = make(path)
    path.write_bytes(data)
    with pytest.raises(UserError, match=rf"cover\.jpg: {message}"):
        run(tmp_path, chapters(1), facts=tags(path))
    assert not (tmp_path / "kept").exists()


def test_a_missing_cover_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.jpg: the cover cannot be read"):
        export.read_cover(tmp_path / "none.jpg")


def test_a_cover_with_a_trailer_of_some_program_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "cover.jpg"
    path.write_bytes(photo(path) + b"made by a camera" * 20)
    assert export.read_cover(path).width == 300


# -- many chapters, long books ---------------------------------------------------------------------


def still(folder: Path, seconds: float) -> Encoded:
    """A long, small chapter: AAC of silence."""
    code = export.encoding("m4b", 48000)
    path = folder / "still.m4a"
    length = round(seconds * 48000)

    def quiet() -> Iterator[Samples]:
        for _ in range(length // 48000):
            yield silence(1.0, 48000)

    samples = encode.write_sound(path, quiet(), 48000, code)
    loudness = measure([silence(1)], 48000)
    return Encoded(path, code, loudness, 0, samples, "", path.stat().st_size, fresh=True)


def test_three_hundred_chapters_are_all_marked(tmp_path: Path) -> None:
    one = still(tmp_path, 2.0)
    path = tmp_path / "many.m4b"
    starts = m4b.write(path, [(f"Chapter {n}", one) for n in range(300)], {}, None)
    found = marks(path)
    assert [title for title, _ in found] == [f"Chapter {n}" for n in range(300)]
    assert_allclose([start for _, start in found], np.array(starts) / 48000, atol=0.001)
    # a Nero list counts 255: rather none than one that ends early
    assert b"chpl" not in path.read_bytes()
    m4b.write(path, [(f"Chapter {n}", one) for n in range(255)], {}, None)
    assert len(mutagen.File(path).chapters) == 255


def test_a_book_of_more_chapters_than_a_nero_list_counts_says_so(tmp_path: Path) -> None:
    one = chapter(1, "Short", [voice(0.4)])
    many = [replace(one, number=n + 1, title=f"No. {n + 1}") for n in range(256)]
    (remark,) = run(tmp_path, many, ["m4b"], book_name="B").remarks
    assert remark.startswith("B.m4b marks its 256 chapters in its chapter track alone")


@pytest.mark.slow
def test_a_book_of_thirty_hours_has_exact_marks_at_its_end(tmp_path: Path) -> None:
    hour = still(tmp_path, 3600.0)
    path = tmp_path / "long.m4b"
    starts = m4b.write(path, [(f"Hour {n}", hour) for n in range(30)], {}, None)
    assert starts[-1] > 2**32
    with av.open(str(path)) as container:
        assert (container.duration or 0) / 1e6 == pytest.approx(30 * 3600 + 29 * 0.022, abs=1.0)
    found = marks(path)
    assert found[-1][1] == pytest.approx(starts[-1] / 48000, abs=0.001)
    assert mutagen.File(path).info.length == pytest.approx(30 * 3600, abs=2)


def test_offsets_and_durations_are_wide_where_they_must_be(tmp_path: Path) -> None:
    """Beyond 4 GiB of sound chunks lie at 64-bit places; beyond 2^31 samples time is 64 bits."""
    offsets = m4b._offset_table(np.array([2**33]), is_wide=True)
    assert offsets[4:8] == b"co64"
    assert int.from_bytes(offsets[-8:]) == 2**33
    assert m4b._media_head(48000, 2**33, "eng")[8] == 1
    assert m4b._media_head(48000, 2**30, "eng")[8] == 0


@pytest.mark.slow
def test_more_chapters_than_an_mp3_can_mark_are_delivered_in_parts(tmp_path: Path) -> None:
    one = chapter(1, "Short", [voice(0.4)])
    many = [replace(one, number=n + 1, title=f"No. {n + 1}") for n in range(300)]
    exported = run(tmp_path, many, ["mp3"], files="book", book_name="B")
    assert [f.path.name for f in exported.files] == ["B - part 1.mp3", "B - part 2.mp3"]
    assert exported.remarks == ("B.mp3 is delivered in 2 parts: MP3 marks at most 255 chapters",)
    assert [len(f.chapters) for f in exported.files] == [255, 45]
    assert exported.files[1].chapters[0] == 256
    found = marks(exported.files[1].path)
    assert [title for title, _ in found] == [f"No. {n}" for n in range(256, 301)]
    assert_allclose([start for _, start in found], exported.files[1].starts, atol=0.001)
    facts = mutagen.File(exported.files[1].path).tags
    assert facts["TIT2"].text == ["Tähti: 本 😀, part 2"]
    assert facts["TRCK"].text == ["2/2"]


@pytest.mark.usefixtures("encoded")
def test_a_book_that_is_longer_than_a_file_may_be_is_delivered_in_parts(tmp_path: Path) -> None:
    sounds = chapters()
    longest = sounds[0].timeline.seconds + sounds[1].timeline.seconds + 0.1
    exported = run(tmp_path, sounds, ["opus"], files="book", book_name="B", longest=longest / 60)
    assert [f.chapters for f in exported.files] == [(1, 2), (3,)]


@pytest.mark.parametrize("format", quick(["m4b", "mp3", "opus", "flac"], "mp3", "opus"))
def test_what_joining_adds_is_counted_where_a_file_may_last_so_long(
    tmp_path: Path, format: str
) -> None:
    one = chapter(1, "Short", [voice(0.4)])
    many = [replace(one, number=n + 1, title=f"No. {n + 1}") for n in range(60)]
    longest = 20 * one.timeline.seconds + 0.001
    exported = run(tmp_path, many, [format], files="book", book_name="B", longest=longest / 60)
    assert [n for f in exported.files for n in f.chapters] == [c.number for c in many]
    assert len(exported.files) in (3, 4)
    for file in exported.files:
        assert file.seconds <= longest
        with av.open(str(file.path)) as container:
            assert (container.duration or 0) / 1e6 <= longest + 0.03  # MP3: its coder's delay


@pytest.mark.usefixtures("encoded")
def test_a_chapter_that_is_longer_than_a_file_may_be_is_named_and_the_rest_is_made(
    tmp_path: Path,
) -> None:
    sounds = chapters(2)
    longest = (sounds[0].timeline.seconds + sounds[1].timeline.seconds) / 2
    names = {"name": "acx", "book_name": "B", "chapter_name": "{number}"}
    exported = run(tmp_path, sounds, ["mp3"], longest=longest / 60, **names)
    assert [f.path.name for f in exported.files] == ["01.mp3"]
    (failure,) = exported.failed
    assert "lasts 0 min, and acx takes" in failure.why
    assert [path.name for path in failure.paths] == ["B.mp3", "02.mp3"]


@pytest.mark.parametrize("rate", quick([16000, 22050, 24000, 44100, 48000], 16000, 48000))
@pytest.mark.parametrize("format", ["m4b", "mp3", "opus"])
def test_a_chapter_within_a_book_takes_no_more_than_its_coder_may_add(
    tmp_path: Path, format: str, rate: int
) -> None:
    one = chapter(1, "One", [voice(0.401)])
    two = replace(one, number=2, title="Two")
    file = run(tmp_path, [one, two], [format], files="book", sample_rate=rate).files[0]
    added = file.starts[1] - one.timeline.seconds
    assert 0 <= added <= export.encoding(format, rate).max_join_seconds


# -- names of files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "titles"),
    [
        ("{chapter}", ("Same", "Same")),
        ("{chapter}", ("The End", "the end")),
        ("{chapter}", ("Caf\u00e9", "Cafe\u0301")),
        ("Book", ("One", "Two")),
        ("{chapter} {number}", ("Long " * 40, "Long " * 40)),
        ("{chapter}", ("One", "B")),
    ],
)
def test_two_files_of_one_name_are_refused_before_anything_is_encoded(
    tmp_path: Path, template: str, titles: tuple[str, str]
) -> None:
    sounds = [replace(c, title=t) for c, t in zip(chapters(2), titles, strict=True)]
    way = {"name": "mine", "book_name": "B", "chapter_name": template}
    with pytest.raises(UserError, match=r"'.*\.mp3': put \{number\} into chapter_name"):
        run(tmp_path, sounds, ["mp3"], **way)
    assert not tmp_path.joinpath("kept").exists()
    mine = replace(PLAIN_PROFILE, formats=("mp3",), **way)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="would both be the file"):
        export.check_names(titles, tags(), mine)


def test_names_that_are_apart_are_no_fault() -> None:
    same = ["Same", "Same"]
    plain = replace(PLAIN_PROFILE, formats=tuple(FORMATS), book_name="B")
    export.check_names(same, tags(), plain)
    alone = replace(plain, formats=("mp3",), files="book", chapter_name="{chapter}")
    export.check_names(["B"], tags(), alone)  # a book of one chapter is one file


# -- again -----------------------------------------------------------------------------------------


def stamps(where: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in where.rglob("*") if p.is_file()}


@pytest.mark.usefixtures("encoded")
def test_an_unchanged_book_is_not_written_again(tmp_path: Path) -> None:
    run(tmp_path, chapters(2), ["m4b", "mp3"])
    before = stamps(tmp_path)
    again = run(tmp_path, chapters(2), ["m4b", "mp3"])
    assert stamps(tmp_path) == before
    assert not any(file.fresh for file in again.files)
    assert not any(e.fresh for _, sounds in again.chapters for e in sounds)


@pytest.mark.slow
def test_equal_exports_give_equal_bytes(book: Book, tmp_path: Path) -> None:
    cover = tmp_path / "cover.jpg"
    cover.write_bytes(book.cover)
    other = run(tmp_path, chapters(), tuple(FORMATS), facts=tags(cover))
    for one, two in zip(book.exported.files, other.files, strict=True):
        assert one.path.read_bytes() == two.path.read_bytes(), one.path.name


@pytest.mark.usefixtures("encoded")
def test_a_changed_chapter_alone_is_encoded_again(tmp_path: Path) -> None:
    run(tmp_path, chapters())
    changed = chapters()
    changed[1] = chapter(2, TITLES[1], [voice(1.5, seed=99)])
    again = run(tmp_path, changed)
    assert [sounds[0].fresh for _, sounds in again.chapters] == [False, True, False]
    assert again.files[0].fresh


@pytest.mark.usefixtures("encoded")
def test_a_renamed_chapter_is_tagged_again_but_not_encoded(tmp_path: Path) -> None:
    run(tmp_path, chapters(), ["m4b", "mp3"])
    renamed = chapters()
    renamed[2] = replace(renamed[2], title="The End")
    again = run(tmp_path, renamed, ["m4b", "mp3"])
    assert not any(e.fresh for _, sounds in again.chapters for e in sounds)
    assert [f.chapter for f in again.files if f.fresh] == [None, None, 3]
    assert marks(again.files[0].path)[2][0] == "The End"


def flip(path: Path, place: int) -> None:
    """Alter a byte so that neither size nor time tell."""
    stat, data = path.stat(), bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("place", quick([40, 5000, -40], 40, 5000))
@pytest.mark.usefixtures("encoded")
def test_a_bit_flipped_in_an_encoded_chapter_is_encoded_again(tmp_path: Path, place: int) -> None:
    first = run(tmp_path, chapters(1))
    encoded, whole = first.encoded[0].path, first.files[0].path.read_bytes()
    flip(encoded, place)
    first.files[0].path.unlink()
    again = run(tmp_path, chapters(1))
    assert again.encoded[0].fresh
    assert again.files[0].path.read_bytes() == whole


@pytest.mark.usefixtures("encoded")
def test_a_digit_altered_in_an_index_of_what_is_encoded_changes_nothing(tmp_path: Path) -> None:
    first = run(tmp_path, chapters(1))
    index, whole = first.encoded[0].path.with_suffix(".json"), first.files[0].path.read_bytes()
    flip(index, index.read_bytes().index(b'"samples": ') + 12)
    first.files[0].path.unlink()
    again = run(tmp_path, chapters(1))
    assert (again.encoded[0].samples, again.encoded[0].fresh) == (first.encoded[0].samples, True)
    assert again.files[0].path.read_bytes() == whole


@pytest.mark.parametrize("place", quick([20, 9000, -1], 20, 9000))
@pytest.mark.usefixtures("encoded")
def test_a_bit_flipped_in_a_delivered_file_is_told_and_it_is_made_again(
    tmp_path: Path, place: int
) -> None:
    path = run(tmp_path, chapters(1)).files[0].path
    whole = path.read_bytes()
    flip(path, place)
    again = run(tmp_path, chapters(1))
    assert path.read_bytes() == whole
    assert (again.files[0].fresh, again.encoded[0].fresh) == (True, False)
    assert again.remarks == (f"{path.name} had been altered since it was made; it is made again",)
    assert run(tmp_path, chapters(1)).remarks == ()


def test_a_moved_project_is_not_encoded_again(tmp_path: Path) -> None:
    run(tmp_path / "here", chapters(1))
    (tmp_path / "here").rename(tmp_path / "there and further ю")
    again = run(tmp_path / "there and further ю", chapters(1))
    assert not again.files[0].fresh


@pytest.mark.usefixtures("encoded")
def test_pruning_leaves_what_the_last_export_used(tmp_path: Path) -> None:
    old = run(tmp_path, chapters(2)).chapters[1][1][0]
    changed = [chapters(1)[0], chapter(2, "b", [voice(1.0, seed=5)])]
    exported = run(tmp_path, changed)
    assert export.prune(tmp_path / "kept", exported) >= old.bytes
    assert not old.path.exists()
    assert not any(e.fresh for _, sounds in run(tmp_path, changed).chapters for e in sounds)


def test_some_chapters_alone_make_no_book(tmp_path: Path) -> None:
    exported = run(tmp_path, chapters()[1:2], ["m4b", "mp3"], of_book={"total": 12})
    assert [f.path.name for f in exported.files] == ["02 - 二 · Smoke.mp3"]
    assert mutagen.File(exported.files[0].path).tags["TRCK"].text == ["2/12"]


# -- stopped, killed, refused ----------------------------------------------------------------------


def test_a_cancelled_export_leaves_nothing_half_written_and_can_go_on(tmp_path: Path) -> None:
    cancel = threading.Event()

    def progress(what: str, done: int, total: int) -> None:
        if done > 3:
            cancel.set()

    with pytest.raises(export.Cancelled):
        run(tmp_path, chapters(), watch={"on_progress": progress, "cancel": cancel})
    assert not leftovers(tmp_path)
    assert not list((tmp_path / "out").rglob("*.m4b"))
    assert run(tmp_path, chapters()).files[0].fresh


def export_slowly(where: Path) -> None:
    """Exports in a process of its own, slowly enough to be killed."""
    put = encode.write_block

    def slowly(*arguments: Any) -> None:
        time.sleep(0.5)
        put(*arguments)

    encode.write_block = slowly
    run(where, chapters(1))


def test_a_killed_export_leaves_what_the_next_one_clears(tmp_path: Path) -> None:
    process = forks.forked(export_slowly, tmp_path)
    while not leftovers(tmp_path):
        assert process.is_alive(), "ended too soon"
        time.sleep(0.05)
    time.sleep(0.1)
    process.kill()
    assert forks.code(process) == -signal.SIGKILL
    assert leftovers(tmp_path)
    assert not list((tmp_path / "out").rglob("*.m4b"))
    path = run(tmp_path, chapters(1)).files[0].path
    assert not leftovers(tmp_path)
    undisturbed = run(tmp_path / "undisturbed", chapters(1)).files[0].path
    assert path.read_bytes() == undisturbed.read_bytes()


@pytest.mark.parametrize("format", quick(FORMATS, "opus"))
def test_a_file_that_does_not_fit_is_an_error_and_no_file(tmp_path: Path, format: str) -> None:
    sounds = [chapter(n, "t", [voice(2.5, seed=n)]) for n in (1, 2, 3)]
    file = run(tmp_path, sounds, [format], files="book").files[0]
    whole = file.path.read_bytes()
    for short in (1, 20_000):
        file.path.unlink()
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) - short, hard))
        try:
            with pytest.raises(StorageError, match="large"):
                run(tmp_path, sounds, [format], files="book")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert not file.path.exists()
        assert not leftovers(tmp_path)
        assert run(tmp_path, sounds, [format], files="book").files[0].path.read_bytes() == whole


def test_a_chapter_that_fails_stops_the_others(tmp_path: Path) -> None:
    class Broken(Exception):
        pass

    def broken() -> Iterator[Samples]:
        yield silence(0.1)
        raise Broken

    sounds = chapters()
    sounds[1] = replace(sounds[1], blocks=broken, key="broken")
    with pytest.raises(Broken):
        run(tmp_path, sounds)
    assert not leftovers(tmp_path)


def test_a_silent_chapter_is_named_and_all_other_files_are_made(tmp_path: Path) -> None:
    sounds = chapters()
    sounds[1] = chapter(2, "Hush", [silence(1.0)])
    exported = run(tmp_path, sounds, ["m4b", "mp3"], book_name="B", chapter_name="{number}")
    assert [f.path.name for f in exported.files] == ["01.mp3", "03.mp3"]
    assert exported.failed == (
        export.Failure("chapter 'Hush' is silent", tuple(
            tmp_path / "out" / name for name in ("B.m4b", "B.mp3", "02.mp3")
        )),
    )  # fmt: skip
    assert not leftovers(tmp_path)
    assert not any((tmp_path / "out" / name).exists() for name in ("B.m4b", "B.mp3", "02.mp3"))
    assert [len(sounds) for _, sounds in exported.chapters] == [2, 0, 2]
    assert export.prune(tmp_path / "kept", exported) == 0
    mended = run(tmp_path, chapters(), ["m4b", "mp3"], book_name="B", chapter_name="{number}")
    assert not mended.failed
    assert [f.path.name for f in mended.files if f.fresh] == ["B.m4b", "B.mp3", "02.mp3"]


def test_a_target_that_cannot_be_reached_is_told_with_figures(tmp_path: Path) -> None:
    (failure,) = run(tmp_path, chapters(1), loudness=-8, true_peak=-12).failed
    assert re.search(
        r"chapter 'C.*' measures -.* LUFS and .* dBTP, not -8 LUFS.*; a lower loudness", failure.why
    )
    assert not leftovers(tmp_path)


def test_a_chapter_of_little_but_silence_says_what_helps(tmp_path: Path) -> None:
    short = chapter(1, "Hi.", [voice(0.4), silence(4.0)])
    exported = run(tmp_path, [short], ["mp3"], files="chapters", **ACX_LEVELS | {"true_peak": -18})
    (failure,) = exported.failed
    assert "much of it is silence: make one chapter of it and the next" in failure.why


def test_words_are_as_loud_with_music_as_without(tmp_path: Path) -> None:
    plain = chapter(1, "Plain", [voice(2.0, seed=n) for n in range(4)])

    def mixed() -> Iterator[Samples]:
        for block in plain.blocks():
            yield block + tone(len(block) / RATE, hertz=700, peak=-27)

    music = replace(plain, number=2, title="Music", key="music", blocks=mixed, speech=plain.blocks)
    exported = run(tmp_path, [plain, music], ["flac"], files="chapters")
    (one,), (two,) = (sounds for _, sounds in exported.chapters)
    by_mix = run(tmp_path / "mix", [replace(music, speech=None)], ["flac"], files="chapters")
    before = one.gain - by_mix.chapters[0][1][0].gain
    assert before > 0.3  # what the music took from the words
    after = one.gain - two.gain
    assert after == pytest.approx(max(0.0, before - 0.35), abs=0.05)  # the mix may be 0.35 louder
    assert two.loudness.integrated <= -17.5


@pytest.mark.parametrize("channels", quick([1, 2], 1))
def test_credits_are_as_loud_as_chapters_where_a_target_counts_pauses(
    tmp_path: Path, channels: int
) -> None:
    long = chapter(1, "Long", [voice(4.0, seed=n) for n in range(3)])
    short = chapter(2, "Credits", [voice(1.5), silence(0.6), voice(1.0, seed=2), silence(1.2)])
    settings = ACX_LEVELS | {"tolerance": 2.5, "channels": channels}
    exported = run(tmp_path, [long, short], ["flac"], files="chapters", **settings)
    (one,), (two,) = (sounds for _, sounds in exported.chapters)
    assert one.loudness.integrated == pytest.approx(two.loudness.integrated, abs=0.2)
    assert one.loudness.rms - two.loudness.rms > 1  # what pauses take, as ACX measures
    for sound in (one, two):
        assert -22.5 <= sound.loudness.rms <= -18.5


def test_a_sample_with_music_knows_its_words_too() -> None:
    sound = chapter(1, "One", [voice(1.0, seed=n) for n in range(4)])
    music = replace(
        sound, blocks=lambda: (np.stack([b, b], 1) for b in sound.blocks()), channels=2,
        speech=sound.blocks,
    )  # fmt: skip
    cut = export.excerpt(music, "S", 0.5, 5)
    assert cut.speech is not None
    assert_array_equal(np.concatenate(list(cut.speech())), spoken(cut)[:, 0])


def test_a_file_where_a_folder_should_be_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("in the way")
    with pytest.raises(StorageError, match="kept"):
        run(tmp_path, chapters(1))


def test_progress_is_told_to_its_end(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    watch = {"on_progress": lambda *told: heard.append(told)}
    run(tmp_path, chapters(2), ["m4b", "mp3"], watch=watch)
    encoding = [(done, total) for what, done, total in heard if what == "encode"]
    assert encoding == sorted(encoding)
    assert encoding[-1][0] == encoding[-1][1]
    assert heard[-1] == ("files", 4, 4)


# -- settings --------------------------------------------------------------------------------------


def test_acx_files_are_mp3_of_192_kbit_at_44100_hz_within_its_rms(tmp_path: Path) -> None:
    coding = {"sample_rate": 44100, "bitrate": 192}
    exported = run(tmp_path, chapters(1), ["mp3"], **ACX_LEVELS, **coding, files="chapters")
    info = mutagen.File(exported.files[0].path).info
    assert (info.sample_rate, info.bitrate, info.channels) == (44100, 192000, 1)
    sound, rate = sound_of(exported.files[0].path)
    measured = measure(blocks(sound), rate)
    assert -23 <= measured.rms <= -18
    assert measured.true_peak <= -3
    assert len(sound) == pytest.approx(2 * chapters(1)[0].timeline.length, abs=2)


@pytest.mark.parametrize(
    ("format", "rate", "expected"),
    [
        ("m4b", 22050, ("aac", 22050, 64)), ("m4b", 11025, ("aac", 16000, 64)),
        ("mp3", 22050, ("mp3", 22050, 64)), ("mp3", 48000, ("mp3", 48000, 96)),
        ("mp3", 96000, ("mp3", 48000, 96)), ("opus", 22050, ("opus", 48000, 48)),
        ("flac", 22050, ("flac", 22050, 0)), ("wav", 96000, ("flac", 96000, 0)),
    ],
)  # fmt: skip
def test_the_sounds_own_rate_is_kept_where_the_codec_takes_it(
    format: str, rate: int, expected: tuple[str, int, int]
) -> None:
    assert export.encoding(format, rate) == export.Encoding(*expected)


@pytest.mark.parametrize(
    ("format", "rate", "asked", "message"),
    [
        ("mp3", 22050, {"bitrate": 192}, "set output.sample_rate: 44100"),
        ("mp3", 48000, {"bitrate": 100}, "only 32, 40, 48"),
        ("m4b", 22050, {"bitrate": 192}, "at most 132 kbit/s"),
        ("opus", 48000, {"bitrate": 320}, "at most 256 kbit/s"),
        ("mp3", 22050, {"sample_rate": 8000}, "no sample rate of 8000"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    format: str, rate: int, asked: dict[str, int], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        export.encoding(format, rate, replace(PLAIN_PROFILE, **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Plain", "Plain"),
        ("One: Smoke", "One - Smoke"),
        ("AC/DC \\ more", "AC - DC - more"),
        ('What? "Yes" <no> *', "What Yes no"),
        ("tabs\tand\nlines\0", "tabsandlines"),
        ("  dots...  ", "dots"),
        ("二 · Дым 😀 é", "二 · Дым 😀 é"),
        ("e\u0301", "\u00e9"),
        ("CON", "_CON"),
        ("..", "_"),
        ("", "_"),
    ],
)
def test_file_names_suit_every_file_system(text: str, name: str) -> None:
    assert file_name(text) == name


def test_a_long_name_is_cut_between_letters() -> None:
    name = file_name("ы" * 300)
    assert len(name.encode()) <= 180
    assert set(name) == {"ы"}


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("{author} - {title}", "Jane - AC - DC"),  # a slash in a title makes no folder
        ("{publisher} {part} - {title}", "AC - DC"),
        ("{title} ({language})", "AC - DC (en)"),
        ("{author}/{series}/{title}/{title}", "Jane/Lamps/AC - DC/AC - DC"),
        ("{publisher}/{title} ({year})", "AC - DC (2024)"),
        ("{title} ({narrator})", "AC - DC"),
        ("{author}/../{title}", "Jane/AC - DC"),
    ],
)
def test_the_books_path_comes_from_its_template(template: str, path: str) -> None:
    facts = BookFacts(
        title="AC/DC", authors=("Jane",), series="Lamps", date="2024-05-01", language="en"
    )
    assert export.book_name(template, facts) == path


def test_an_unknown_field_in_the_name_is_an_error() -> None:
    with pytest.raises(UserError, match=r"no field \{titel\}, only \{title\}"):
        export.book_name("{titel}", BookFacts(title="Tale"))


def test_languages_have_three_letters() -> None:
    tags = ("en-GB", "de", "zh_Hans", "yue", "", "q")
    assert [*map(export.three_letters, tags)] == ["eng", "deu", "zho", "yue", "und", "und"]
