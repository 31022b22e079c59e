"""Files made here to be good or bad in one way each; every check is seen to fail."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import mutagen
import numpy as np
import pytest
from mutagen.mp3 import BitrateMode

from narrator.delivery.postflight import Check, InspectedFile, checks, measure_files
from narrator.errors import UserError
from narrator.project.profiles import PROFILES, Profile, custom_profile
from narrator.sound.audio import Samples, decode_frames, filter_stream, resample
from narrator.sound.loudness import master
from narrator.sound.mastering import with_room_tone
from narrator.sound.meters import FlatTopCounter
from narrator.sound.probe import ChapterMark, FileFigures, measure_sound_file
from tests import spoken
from tests.effort import quick
from tests.sound_files import HZ, png, roomy, speech, write
from tests.sounds import blocks, noise, silence, tone


def failing(found: FileFigures, profile: str = "acx") -> list[str]:
    return [check.name for check in checks(found, PROFILES[profile]) if not check.ok]


known = functools.cache(measure_sound_file)
"""Measures a file that nobody changes."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("good") / "good.mp3", roomy(speech(8.0)))


# -- figures ---------------------------------------------------------------------------------------


def test_a_good_file_passes_every_check(good: Path) -> None:
    assert failing(known(good)) == []


def test_the_figures_are_the_files(good: Path) -> None:
    found = known(good)
    assert found.loudness.rms == pytest.approx(-21.6, abs=0.2)  # 8 s in 10.25 s, ungated
    assert found.head == pytest.approx(0.75, abs=0.1)
    assert found.tail == pytest.approx(1.5, abs=0.1)
    assert found.noise_floor == pytest.approx(-68, abs=1)
    assert (found.sample_rate, found.channels, found.codec) == (HZ, 1, "mp3")
    assert (found.bitrate, found.bitrate_mode) == (192, "constant")
    assert found.bitrate_note == "Info header"
    assert found.seconds == pytest.approx(10.25, abs=0.05)
    assert found.tags["album"] == "A"
    assert (found.cover, found.marks, found.clipped, found.damaged) == (None, (), 0, 0)


@pytest.mark.parametrize("size", quick([333, 5000, 65536], 333))
def test_meters_do_not_depend_on_the_size_of_blocks(size: int) -> None:
    from narrator.sound.probe import _SignalMeter

    sound = roomy(speech(3.0), room=None)
    sound[HZ * 2 : HZ * 2 + HZ // 2] = 0
    sound[HZ : HZ + 5] = 1
    seen = []
    for step in (size, len(sound)):
        meter = _SignalMeter(HZ)
        assert sum(len(b) for b in meter.watch(blocks(sound, step))) == len(sound)
        meter.finish()
        seen.append(
            (meter.head, meter.last_sound, meter.gap, meter.gap_at, meter.silent_edge,
             meter.clipped, meter.clipped_at, meter.noise_floor())
        )  # fmt: skip
    assert seen[0] == seen[1]
    assert 0.49 <= seen[0][2] <= 0.8  # and what the voice pauses beside it
    assert 1.8 <= seen[0][3] <= 2.01
    assert seen[0][4] == pytest.approx(1.5, abs=0.02)
    assert seen[0][5:7] == (1, 1.0)


@pytest.mark.slow
def test_the_noise_floor_of_speech_without_long_pauses_is_that_of_its_edges() -> None:
    sound = roomy(speech(120.0), room=-68)  # a hundredth of which is no pause
    from narrator.sound.probe import _SignalMeter

    meter = _SignalMeter(HZ)
    for _ in meter.watch(iter([sound])):
        pass
    assert meter.noise_floor() == pytest.approx(-68, abs=1)


def test_ffmpegs_own_meters_agree(good: Path) -> None:
    """ebur128 as `ffmpeg -af ebur128=peak=true` runs it, and astats, over the decoded file."""
    found = known(good)
    with av.open(str(good)) as container:
        rate = container.streams.audio[0].rate
        sound = list(decode_frames(container, mono=False))
    options = "metadata=1:peak=true:framelog=quiet"
    frames = list(filter_stream(iter(sound), rate, "ebur128", options))
    last = [frame for frame in frames if "lavfi.r128.I" in frame.metadata][-1]
    assert float(last.metadata["lavfi.r128.I"]) == pytest.approx(found.loudness.integrated, abs=0.1)
    peak = 20 * np.log10(float(last.metadata["lavfi.r128.true_peak"]))
    assert peak == pytest.approx(found.loudness.true_peak, abs=0.2)
    last = list(filter_stream(iter(sound), rate, "astats", "metadata=1"))[-1]
    facts = {name.rsplit(".", 1)[1]: value for name, value in last.metadata.items()}
    assert float(facts["RMS_level"]) == pytest.approx(found.loudness.rms, abs=0.2)
    assert float(facts["Peak_level"]) == pytest.approx(found.loudness.peak, abs=0.2)


def test_what_a_coder_pads_at_the_start_is_left_out(tmp_path: Path) -> None:
    sound = roomy(speech(3.0), head=0.5)
    found = measure_sound_file(write(tmp_path / "a.m4a", sound, codec="aac"))
    exact = measure_sound_file(write(tmp_path / "a.wav", sound, codec="pcm_s16le"))
    assert found.head == pytest.approx(exact.head, abs=0.011)  # 23 ms of padding would show
    assert found.seconds == pytest.approx(exact.seconds, abs=0.03)
    assert found.missing < 0.15


def test_stereo_is_measured_as_stereo(tmp_path: Path) -> None:
    mono = roomy(speech(2.0))
    both = write(tmp_path / "s.wav", np.stack([mono, mono], 1), codec="pcm_s16le")
    one = write(tmp_path / "m.wav", mono, codec="pcm_s16le")
    found, single = measure_sound_file(both), measure_sound_file(one)
    assert found.channels == 2
    assert found.loudness.integrated == pytest.approx(single.loudness.integrated + 3.01, abs=0.05)
    assert found.loudness.rms == pytest.approx(single.loudness.rms, abs=0.01)


# -- bad files -------------------------------------------------------------------------------------


def clipped(sound: Samples) -> Samples:
    return np.clip(sound * 30, -1, 1)


def gapped(sound: Samples) -> Samples:
    whole = roomy(sound)
    whole[4 * HZ : 5 * HZ] = 0
    return whole


BAD: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "too loud": (lambda p: write(p, roomy(speech(level=-16.5))), {"RMS"}),
    "too quiet": (lambda p: write(p, roomy(speech(level=-30))), {"RMS"}),
    "wrong rate": (lambda p: write(p, roomy(speech()), rate=48000), {"sample rate"}),
    "no tail": (lambda p: write(p, roomy(speech(), tail=0.2)), {"tail"}),
    "long head": (lambda p: write(p, roomy(speech(), head=2)), {"head"}),
    "digital silence at the edges": (lambda p: write(p, roomy(speech(), room=None)), {"room tone"}),
    "a noisy room": (lambda p: write(p, roomy(speech(), room=-55)), {"noise floor"}),
    "a silent gap": (lambda p: write(p, gapped(speech())), {"gaps"}),
    "variable bitrate": (
        lambda p: write(p, roomy(speech()), options={"abr": "1"}), {"bitrate mode"}
    ),
    "low bitrate": (lambda p: write(p, roomy(speech()), bitrate=128), {"bitrate"}),
    "no tags": (lambda p: write(p, roomy(speech()), tags={}), {"tags"}),
}  # fmt: skip


@pytest.mark.parametrize(
    "fault", quick(BAD, "too quiet", "no tail", "a silent gap", "variable bitrate", "low bitrate")
)
def test_a_bad_file_fails_with_the_right_line(fault: str, tmp_path: Path) -> None:
    make, lines = BAD[fault]
    found = set(failing(measure_sound_file(make(tmp_path / "bad.mp3"))))
    # what is louder also peaks higher, and `speech` cuts its peaks; a variable bitrate may miss the
    # least as well
    beside = {"too loud": {"peak", "clipping"}, "variable bitrate": {"bitrate"}}.get(fault, set())
    assert lines <= found <= lines | beside


@pytest.mark.parametrize("suffix", ["mp3", "wav"])
def test_a_clipped_file_fails(tmp_path: Path, suffix: str) -> None:
    codec = {"mp3": "libmp3lame", "wav": "pcm_s16le"}[suffix]
    path = write(tmp_path / f"clipped.{suffix}", roomy(clipped(speech()), room=None), codec=codec)
    found = measure_sound_file(path)
    assert found.clipped > 10
    assert 0.7 < found.clipped_at < 1.5
    assert {"clipping", "peak", "RMS"} <= set(failing(found))


def test_a_file_at_full_scale_is_not_called_clipped(tmp_path: Path) -> None:
    sound = tone(2.0, peak=0, hertz=997, rate=HZ)
    assert measure_sound_file(write(tmp_path / "full.wav", sound, codec="pcm_s16le")).clipped <= 1
    sound = tone(2.0, peak=-0.1, hertz=997, rate=HZ)
    assert measure_sound_file(write(tmp_path / "near.wav", sound, codec="pcm_s16le")).clipped == 0


def test_true_peaks_between_samples_fail_where_samples_pass(tmp_path: Path) -> None:
    phase = np.arange(3 * HZ) * np.pi / 2 + np.pi / 4
    sound = (0.8 * np.sqrt(2) * np.sin(phase)).astype(np.float32)  # 0.8 at every sample
    path = write(tmp_path / "between.wav", sound * np.hanning(len(sound)).astype(np.float32),
                 codec="pcm_s24le")  # fmt: skip
    found = measure_sound_file(path)
    assert found.loudness.peak == pytest.approx(-1.94, abs=0.05)
    assert found.loudness.true_peak == pytest.approx(1.07, abs=0.2)
    lines = {c.name: c.ok for c in checks(found, PROFILES["apple-podcasts"])}
    assert not lines["true peak"]


OUT_OF_PLACE = (ChapterMark(0, 5, "a"), ChapterMark(5, 900, "b"), ChapterMark(900, 901, "c"))


@pytest.mark.parametrize(
    ("figures", "profile", "fault"),
    [
        ({}, custom_profile("short", "acx", {"longest": 0.1}), "length: 0:00:10.2"),
        ({"marks": OUT_OF_PLACE}, None, "chapter marks: 3 marks; mark 3 at 0:15:00.00 lies outsi"),
        ({}, PROFILES["audiobookshelf"], "chapter marks: 0 marks, in order, within the file"),
        ({}, PROFILES["audiobookshelf"], "codec: mp3, aac"),
        ({}, PROFILES["apple-podcasts"], "cover: none, a cover, square, 1400 to 3000 pixels"),
        ({"cover": (1400, 1000)}, PROFILES["apple-podcasts"], "cover: 1400x1000, a cover, squa"),
        ({"cover": (600, 600)}, PROFILES["apple-podcasts"], "cover: 600x600, a cover, square, 14"),
        ({"channels": 2}, PROFILES["acx"], "channels: 2, 1 as in the first"),
        ({"sample_rate": 48000}, PROFILES["acx"], "sample rate: 48000 Hz, 44100 Hz"),
        ({"bitrate": 400}, PROFILES["acx"], "bitrate: 400 kbit/s, 192 to 320 kbit/s"),
    ],
)
def test_figures_are_held_to_the_profile(
    good: Path, figures: dict[str, Any], profile: Profile | None, fault: str
) -> None:
    found = checks(replace(known(good), **figures), profile, known(good))
    assert any(str(check).startswith(fault) for check in found if not check.ok)


def test_a_book_that_is_all_in_stereo_is_fine(tmp_path: Path) -> None:
    mono = roomy(speech())
    assert failing(measure_sound_file(write(tmp_path / "s.mp3", np.stack([mono, mono], 1)))) == []


def test_a_damaged_file_fails(good: Path, tmp_path: Path) -> None:
    data = bytearray(write(tmp_path / "d.flac", roomy(speech()), codec="flac").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = bytes(3000)
    path = tmp_path / "damaged.flac"
    path.write_bytes(data)
    found = measure_sound_file(path)
    assert found.damaged > 0 or found.missing > 0.05
    assert "decoding" in failing(found, "archive")


def test_a_header_that_lies_about_the_bitrate_is_not_believed(good: Path, tmp_path: Path) -> None:
    data = good.read_bytes().replace(b"Info", b"Xing", 1)  # Xing says variable
    path = tmp_path / "lies.mp3"
    path.write_bytes(data)
    found = measure_sound_file(path)
    assert (found.bitrate_mode, found.bitrate_note) == ("constant", "Xing header")


@pytest.mark.parametrize(
    ("data", "fault"),
    [(b"", "empty"), (b"not a sound" * 100, ""), (b"\xff\xfb\x90\x64", ""),
     (png(20, 20), "no sound")],
)  # fmt: skip
def test_what_is_no_sound_is_a_clear_error(tmp_path: Path, data: bytes, fault: str) -> None:
    path = tmp_path / "x.mp3"
    path.write_bytes(data)
    with pytest.raises(UserError, match=rf"x\.mp3: .*{fault}"):
        measure_sound_file(path)


def test_silence_has_figures_too(tmp_path: Path) -> None:
    found = measure_sound_file(write(tmp_path / "s.wav", silence(2.0, HZ), codec="pcm_s16le"))
    assert found.noise_floor == -120
    assert found.head == pytest.approx(2.0, abs=0.01)
    assert found.silent_edge == pytest.approx(2.0, abs=0.01)
    assert found.gap == 0


def test_several_files_keep_their_order_and_progress_reaches_its_end(
    good: Path, tmp_path: Path
) -> None:
    heard: list[float] = []
    none = tmp_path / "none.mp3"
    found = measure_files([good, none, good], on_progress=heard.append)
    assert isinstance(found[1], UserError)
    assert isinstance(found[0], FileFigures)
    assert found[0] == found[2]
    assert heard == sorted(heard)
    assert heard[-1] == 1


def test_every_check_has_a_name_of_its_own(good: Path) -> None:
    names = [check.name for check in checks(known(good), None)]
    assert len(names) == len(set(names)) == 25


def test_another_library_reads_the_same_bitrate_mode(good: Path, tmp_path: Path) -> None:
    variable = write(tmp_path / "v.mp3", roomy(speech()), options={"abr": "1"})
    for path in (good, variable):
        constant = mutagen.File(path).info.bitrate_mode == BitrateMode.CBR
        assert (known(path).bitrate_mode == "constant") is constant


# -- files that are broken in odd ways -------------------------------------------------------------


def decoding(found: FileFigures) -> Check:
    return next(check for check in checks(found, None) if check.name == "decoding")


def test_missing_sound_is_stated_with_what_is_allowed(tmp_path: Path) -> None:
    check = decoding(measure_sound_file(write(tmp_path / "x.wav", roomy(speech(3.0)))))
    assert check.figure == "0 damaged packets, 0.00 s shorter than its header says"
    assert check.demand.startswith("none damaged, at most 0.")


@pytest.mark.parametrize("value", quick([np.nan, np.inf, -np.inf, 1e30], np.nan, 1e30))
def test_what_is_no_number_fails_and_every_figure_stays_one(tmp_path: Path, value: float) -> None:
    sound = roomy(speech(3.0))
    sound[HZ : HZ + 7] = value
    found = measure_sound_file(write(tmp_path / "x.wav", sound, codec="pcm_f32le"))
    assert found.invalid == 7
    assert not decoding(found).ok
    assert "7 samples are not numbers" in decoding(found).figure
    json.dumps(InspectedFile(found, checks(found, None)).as_json(), allow_nan=False)
    clean = measure_sound_file(
        write(tmp_path / "y.wav", np.where(np.abs(sound) < 2, sound, 0), codec="pcm_f32le")
    )
    assert found.loudness.integrated == pytest.approx(clean.loudness.integrated, abs=0.3)


def joined(path: Path, *files: Path) -> Path:
    path.write_bytes(b"".join(file.read_bytes() for file in files))
    return path


@pytest.mark.slow
def test_channels_that_change_within_a_file_fail(good: Path, tmp_path: Path) -> None:
    mono = roomy(speech(3.0))
    stereo = write(tmp_path / "s.mp3", np.stack([mono, mono], 1))
    for name, files in {"ms": (good, stereo), "sm": (stereo, good)}.items():
        found = measure_sound_file(joined(tmp_path / f"{name}.mp3", *files))
        assert found.changes == 1
        assert "rate or channels change 1 times" in decoding(found).figure
        assert not decoding(found).ok
        assert found.seconds > 13  # both halves are measured


def test_a_sample_rate_that_changes_within_a_file_fails(good: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "o.mp3", roomy(speech(3.0)), rate=48000)
    found = measure_sound_file(joined(tmp_path / "j.mp3", good, other))
    assert (found.changes, decoding(found).ok) == (1, False)
    assert known(good).changes == 0


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_an_mp3_that_was_cut_off_fails(good: Path, tmp_path: Path, share: float) -> None:
    data = good.read_bytes()
    path = tmp_path / "half.mp3"
    path.write_bytes(data[: round(len(data) * share)])
    found = measure_sound_file(path)
    assert found.missing == pytest.approx(known(good).seconds * (1 - share), abs=0.1)
    assert not decoding(found).ok
    assert known(good).missing == 0


def test_an_mp3_without_a_header_states_no_length(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.mp3"
    path.write_bytes(good.read_bytes().replace(b"Info", b"None", 1))
    found = measure_sound_file(path)
    assert (found.bitrate_note, found.missing) == ("", 0)
    assert decoding(found).ok


def test_one_odd_file_does_not_cost_the_others(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(path: Path, report: Callable[[float], None]) -> FileFigures:
        if path != good:
            raise ValueError("odd")
        return measure_sound_file(path, report)

    monkeypatch.setattr("narrator.delivery.postflight.measure_sound_file", odd)
    found = measure_files([tmp_path / "odd.mp3", good])
    assert isinstance(found[0], UserError)
    assert "odd.mp3: cannot be measured: odd" in str(found[0])
    assert isinstance(found[1], FileFigures)


def test_a_sample_rate_that_is_no_sounds_is_a_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path / "x.wav", roomy(speech(1.0)), codec="pcm_s16le")
    data = bytearray(path.read_bytes())
    at = data.index(b"fmt ") + 12
    data[at : at + 4] = (5).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"x\.wav: cannot be read: .* sample rate of 5 Hz"):
        measure_sound_file(path)


# -- flat tops and long quiet ----------------------------------------------------------------------


@functools.cache
def read_aloud() -> Samples:
    """Speech of the draft voice whose loudest peak is at 0.7."""
    sound = resample(spoken.draft(spoken.TEXT), spoken.RATE, HZ)
    return sound * np.float32(0.7 / np.abs(sound).max())


@functools.cache
def limited() -> Samples:
    """Speech that is driven into a limiter."""
    return np.concatenate(list(master([read_aloud()], HZ, 12, -3.0)))


CODED = [
    ("wav", "pcm_s16le", 0),
    ("mp3", "libmp3lame", 64),
    pytest.param("m4a", "aac", 64, marks=pytest.mark.slow),
    pytest.param("ogg", "libopus", 48, marks=pytest.mark.slow),
]


def coded(path: Path, sound: Samples, codec: str, bitrate: int) -> FileFigures:
    options = {"b": f"{bitrate}k"} if bitrate else {}
    rate = 48000 if codec == "libopus" else HZ
    samples = resample(sound, HZ, rate)
    return measure_sound_file(
        write(path, samples, rate=rate, codec=codec, bitrate=bitrate, options=options)
    )


@pytest.mark.parametrize(("suffix", "codec", "bitrate"), CODED)
def test_tops_that_were_cut_flat_and_made_quieter_are_found_through_every_codec(
    tmp_path: Path, suffix: str, codec: str, bitrate: int
) -> None:
    sound = read_aloud()
    cut = np.clip(sound, -0.2, 0.2) * np.float32(0.6)
    found = coded(tmp_path / f"cut.{suffix}", cut, codec, bitrate)
    assert found.flat > 20
    assert found.clipped == 0
    line = next(check for check in checks(found, None) if check.name == "clipping")
    assert not line.ok
    assert "flat tops of lower level, first 0:00:0" in line.figure


@pytest.mark.parametrize(("suffix", "codec", "bitrate"), CODED)
@pytest.mark.slow
def test_what_is_limited_or_plain_is_not_called_flat(
    tmp_path: Path, suffix: str, codec: str, bitrate: int
) -> None:
    for number, one in enumerate((read_aloud(), limited())):
        assert coded(tmp_path / f"{number}.{suffix}", one, codec, bitrate).flat == 0


def test_a_little_clipping_is_found_where_nothing_is_lost(tmp_path: Path) -> None:
    sound = np.clip(read_aloud(), -0.5, 0.5) * np.float32(0.1)
    assert coded(tmp_path / "a.wav", sound, "pcm_s16le", 0).flat > 5


def test_sines_silence_and_eight_bits_are_not_called_flat(tmp_path: Path) -> None:
    low = tone(3.0, peak=-6, hertz=30, rate=HZ)
    for number, sound in enumerate((low, tone(3.0, peak=-9, hertz=997, rate=HZ), silence(3, HZ))):
        path = write(tmp_path / f"{number}.wav", sound, codec="pcm_s16le")
        assert measure_sound_file(path).flat == 0
    assert measure_sound_file(write(tmp_path / "u8.wav", read_aloud(), codec="pcm_u8")).flat == 0


@pytest.mark.parametrize("size", quick([333, 5000, 65536], 333))
def test_flat_tops_do_not_depend_on_the_size_of_blocks(size: int) -> None:
    sound = np.concatenate([np.full(HZ // 2, 0.1, np.float32),
                            np.clip(read_aloud(), -0.3, 0.3), silence(1, HZ)])  # fmt: skip
    seen = []
    for step in (size, len(sound)):
        meter = FlatTopCounter(HZ)
        for block in blocks(sound, step):
            meter.feed(block)
        meter.finish()
        seen.append((meter.count, meter.first_second))
    assert seen[0] == seen[1]
    assert seen[0][0] > 20


@pytest.mark.parametrize("at", quick([0, 6, 100], 6))
@pytest.mark.parametrize("room", quick([None, -68, -45], -68))
def test_forty_seconds_of_a_room_within_a_book_fail(
    tmp_path: Path, room: float | None, at: int
) -> None:
    rate = 16000
    said = resample(np.tile(speech(8.0), 2), HZ, rate)
    whole = np.concatenate([said[: at * rate], silence(40, rate), said[at * rate :]])
    if room is not None:
        whole = np.concatenate(list(with_room_tone(blocks(whole), rate, room)))
    found = measure_sound_file(write(tmp_path / "a.wav", whole, rate=rate, codec="pcm_s16le"))
    line = next(check for check in checks(found, None) if check.name == "quiet")
    assert not line.ok
    assert found.quiet == pytest.approx(40.5, abs=1)
    meant = next(check for check in checks(found, None, longest_pause=41) if check.name == "quiet")
    assert meant.ok  # the manuscript says so


def test_a_click_does_not_end_a_quiet_and_a_word_does(tmp_path: Path) -> None:
    sound = np.concatenate([speech(4.0), silence(14, HZ), speech(4.0)])
    sound = np.concatenate(list(with_room_tone(blocks(sound), HZ, -60)))
    sound[11 * HZ : 11 * HZ + 2000] += noise(2000 / HZ, rms=-25, rate=HZ)
    assert measure_sound_file(write(tmp_path / "a.wav", sound, codec="pcm_s16le")).quiet > 13
    sound[11 * HZ : 11 * HZ + HZ // 2] += noise(0.5, rms=-25, rate=HZ)
    assert measure_sound_file(write(tmp_path / "b.wav", sound, codec="pcm_s16le")).quiet < 8


@pytest.mark.parametrize(
    ("titles", "fault"),
    [
        (["Chapter 1", "Chapter 2", "Chapter 3: Rain", "Chapter 5"],
         "; 'Chapter 3' is followed by 'Chapter 5'"),
        (["1", "2", "3", "3", "4"], "; '3' is followed by '3'"),
        (["Chapter 1", "Chapter 2", "Part 2", "Chapter 1", "Chapter 2", "Chapter 3"], ""),
        (["Chapter 1", "Chapter 5", "Chapter 9"], ""),  # a selection
        (["1984", "1985", "1986", "1988"], ""),
        (["3 men in a boat", "4 men", "5 men", "7 men"], ""),
    ],
)  # fmt: skip
def test_marks_that_count_and_leave_one_out_or_say_one_twice_fail(
    good: Path, titles: list[str], fault: str
) -> None:
    marks = tuple(ChapterMark(n / 2, (n + 1) / 2, title) for n, title in enumerate(titles))
    found = checks(replace(known(good), marks=marks), None)
    check = next(check for check in found if check.name == "chapter marks")
    assert (check.figure, check.ok) == (f"{len(titles)} marks{fault}", not fault)
