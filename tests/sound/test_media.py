"""FFmpeg opens the file it is given, where that is a sound, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import av
import numpy as np
import pytest
import soundfile

from narrator import cli
from narrator.cast import clips
from narrator.delivery import music
from narrator.delivery.companions import feed
from narrator.errors import ManifestError, UserError
from narrator.project import load
from narrator.sound import audio, media, probe
from tests.sounds import RATE, voice
from textbase.files import Unfit

# -- what people have ------------------------------------------------------------------------------

SECONDS = 1.0


def write(path: Path, codec: str, container: str, rate: int = 44100, film: bool = False) -> Path:
    """A second of something like speech, by FFmpeg; with a film if wished."""
    with av.open(str(path), "w", format=container) as out:
        pictures = out.add_stream("mpeg4", rate=10, width=16, height=16) if film else None
        if pictures:
            pictures.pix_fmt = "yuv420p"
        stream = out.add_stream(codec, rate=rate, layout="mono")
        stream.bit_rate = 64_000
        frame = av.AudioFrame.from_ndarray(voice(SECONDS, rate=rate)[np.newaxis], "fltp", "mono")
        frame.sample_rate = rate
        out.mux([*stream.encode(frame), *stream.encode(None)])
        if pictures:
            out.mux([*pictures.encode(av.VideoFrame(16, 16, "yuv420p")), *pictures.encode(None)])
    return path


@pytest.mark.parametrize(
    ("name", "codec", "container", "film"),
    [
        ("a.wav", "pcm_s16le", "wav", False),
        ("a.wav", "pcm_s24le", "wav", False),
        ("a.w64", "pcm_s16le", "w64", False),
        ("a.caf", "pcm_s16le", "caf", False),
        ("a.aiff", "pcm_s16be", "aiff", False),
        ("a.au", "pcm_s16be", "au", False),
        ("a.flac", "flac", "flac", False),
        ("a.mp3", "libmp3lame", "mp3", False),
        ("a.mp2", "mp2", "mp2", False),
        ("a.aac", "aac", "adts", False),
        ("a.m4a", "aac", "ipod", False),
        ("a.m4b", "aac", "ipod", False),
        ("a.m4a", "alac", "ipod", False),
        ("a.3gp", "aac", "3gp", False),
        ("a.mov", "aac", "mov", True),
        ("a.mp4", "aac", "mp4", True),
        ("a.mkv", "aac", "matroska", True),
        ("a.mka", "libopus", "matroska", False),
        ("a.webm", "libopus", "webm", False),
        ("a.opus", "libopus", "ogg", False),
        ("a.wma", "wmav2", "asf", False),
        ("a.avi", "libmp3lame", "avi", True),
        ("a.ts", "aac", "mpegts", False),
        ("a.ac3", "ac3", "ac3", False),
        ("a.wv", "wavpack", "wv", False),
        ("a.tta", "tta", "tta", False),
    ],
)
def test_what_people_have_is_read(
    tmp_path: Path, name: str, codec: str, container: str, film: bool
) -> None:
    rate = 48000 if codec == "libopus" else 44100
    path = write(tmp_path / name, codec, container, rate, film)
    with media.open_sound(path) as opened:
        count = sum(len(block) for block in audio.decode_frames(opened))
    assert count / rate == pytest.approx(SECONDS, abs=0.15)


@pytest.mark.parametrize("form", ["RF64", "W64", "CAF", "AIFF", "NIST", "VOC", "IRCAM"])
def test_what_libsndfile_reads_is_a_clip_as_well(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.raw"  # an ending is no more believed than a name
    soundfile.write(path, voice(SECONDS), RATE, format=form, subtype="PCM_16")
    assert len(clips.read(path).channels) == round(SECONDS * RATE)


def test_ogg_vorbis_is_read_by_ffmpeg_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.ogg"
    soundfile.write(path, voice(SECONDS), RATE, format="OGG", subtype="VORBIS")
    with media.open_sound(path) as opened:
        count = sum(len(block) for block in audio.decode_frames(opened))
    assert count / RATE == pytest.approx(SECONDS, abs=0.05)


def test_amr_of_a_telephone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.amr"  # a header and frames of silence: FFmpeg has no encoder for it
    path.write_bytes(b"#!AMR\n" + (b"\x3c" + bytes(31)) * 50)
    with media.open_sound(path) as opened:
        assert sum(len(block) for block in audio.decode_frames(opened)) == 8000


def test_tags_of_an_old_player_do_not_keep_a_file_from_being_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp3", "libmp3lame", "mp3")
    title = b"\x03Stra\xdfe"  # said to be UTF-8, and is not
    frame = b"TIT2" + len(title).to_bytes(4) + b"\0\0" + title
    path.write_bytes(b"ID3\x03\0\0" + bytes([0, 0, 0, len(frame)]) + frame + path.read_bytes())
    assert len(clips.read(path).channels) > RATE / 2


def test_tags_that_are_not_utf_8_are_still_text() -> None:
    tags = media.tags({"title": "Stra\udcdfe", "artist": "A"}, {"artist": "B"})
    assert tags == {"title": "Stra\N{REPLACEMENT CHARACTER}e", "artist": "B"}


def test_a_sound_that_nobody_decodes_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.avi", "libmp3lame", "avi")
    data = path.read_bytes()
    at = data.index(b"strf", data.index(b"auds")) + 8
    path.write_bytes(data[:at] + b"\x34\x12" + data[at + 2 :])
    for read in (clips.read, probe.measure_sound_file):
        with pytest.raises(UserError, match="no decoder for its sound: export it as WAV"):
            read(path)


# -- names and contents ----------------------------------------------------------------------------


@pytest.fixture
def asked() -> Iterator[Callable[[], bool]]:
    """Returns whether anybody has asked the server at `PORT` of this machine for anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        def was() -> bool:
            try:
                server.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        was.port = server.getsockname()[1]  # type: ignore[attr-defined]
        yield was


@pytest.fixture(autouse=True)
def _watchdog() -> Iterator[None]:
    """Interrupts what hangs."""

    def bark(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it hangs")

    held = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, 60)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, held)


@pytest.mark.parametrize(
    "name",
    ["http:x.wav", "http:", "tcp:127.0.0.1:{port}", "concat:a|b.wav", "pipe:0", "-", "a%03d.wav",
     "file:a.wav", "fd:", "cache:http:x", "a.m3u8", "a.sdp", "a.ffconcat", "a.raw", "lavfi:sine",
     "subfile,,start,0,end,9,,:a", "data:audio;base64,AAAA"],
)  # fmt: skip
@pytest.mark.parametrize("relative", [True, False])
def test_a_name_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked, name: str, relative: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("http:") / f"127.0.0.1:{asked.port}"
    folder.mkdir(parents=True)
    path = folder / name.format(port=asked.port)
    write(tmp_path / "x.wav", "pcm_s16le", "wav").rename(path)
    path = path if relative else path.absolute()
    assert len(clips.read(path).channels) == 44100
    with media.open_sound(path) as opened:
        assert sum(len(block) for block in audio.decode_frames(opened)) == 44100
    assert not asked()


PLAYLISTS = {
    "a.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://{host}/x.ts\n#EXT-X-ENDLIST\n",
    "b.m3u": "\ufeff#EXTM3U\n#EXTINF:9,\nhttp://{host}/x.mp3\n",
    "c.ffconcat": "ffconcat version 1.0\nfile 'http://{host}/x.wav'\n",
    "d.ffconcat": "ffconcat version 1.0\nfile '{secret}'\n",
    "e.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio {port} RTP/AVP 0\n",
    "f.mpd": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>'
    "http://{host}/</BaseURL></MPD>",
    "g.pls": "[playlist]\nFile1=http://{host}/x.mp3\n",
    "h.asx": '<asx version="3.0"><entry><ref href="http://{host}/x"/></entry></asx>',
    "i.ram": "rtsp://{host}/x\n",
    "j.ffmeta": ";FFMETADATA1\ntitle=x\n",
    "k.strm": "http://{host}/x\n",
    "l.txt": "Reference\nhttp://{host}/x\n",
}


@pytest.fixture
def playlist(tmp_path: Path, asked, request: pytest.FixtureRequest) -> Path:
    secret = write(tmp_path / "secret.wav", "pcm_s16le", "wav")
    text = PLAYLISTS[request.param].format(
        host=f"127.0.0.1:{asked.port}", port=asked.port, secret=secret
    )
    path = tmp_path / request.param
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("ending", ["", ".wav", ".mp3"])
@pytest.mark.parametrize("playlist", PLAYLISTS, indirect=True)
def test_what_names_other_files_opens_none(tmp_path: Path, asked, playlist, ending: str) -> None:
    path = playlist.rename(f"{playlist}{ending}")
    for read in (clips.read, probe.measure_sound_file):
        with pytest.raises(UserError) as caught:
            read(path)
        assert len(caught.value.problems) == 1
        assert "\n" not in str(caught.value)
    assert not asked()


@pytest.mark.parametrize("playlist", ["a.m3u8"], indirect=True)
def test_a_playlist_is_named_as_one_with_what_to_do(playlist: Path) -> None:
    with pytest.raises(UserError, match="but a playlist: name a file that holds the sound itself"):
        clips.read(playlist)


BOOK = """\
title: T
author: A
voices: {{v: {{reference: "{file}", transcript: "Some words."}}}}
speakers: {{narrator: {{voice: v}}}}
chapters: [{{title: One, lines: [A line.]}}]
"""

MUSICAL = """\
title: T
author: A
music: [{{file: {file}, place: intro}}]
chapters: [{{title: One, lines: [A line.]}}]
"""


@pytest.mark.parametrize("playlist", ["a.m3u8", "c.ffconcat", "e.sdp"], indirect=True)
def test_no_command_follows_a_playlist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked, playlist: Path
) -> None:
    root = playlist.parent
    (root / "book.yaml").write_text(BOOK.format(file=playlist.name), "utf-8")
    (root / "shelf").mkdir()
    shutil.copy(playlist, root / "shelf" / "x.mp3")
    address = ["--base-url", "https://example.org"]
    for command in (
        ["check", root],
        ["voices", "add", "V", playlist, "--transcript", "Some words."],
        ["verify", root / "shelf" / "x.mp3"],
        ["feed", root / "shelf", *address],
    ):
        monkeypatch.setattr(sys, "argv", ["narrator", *map(str, command)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        said = capsys.readouterr()
        assert caught.value.code in (1, 2), said
        assert "internal" not in said.out + said.err
    assert not asked()


@pytest.mark.parametrize("playlist", PLAYLISTS, indirect=True)
def test_music_is_no_playlist(tmp_path: Path, asked, playlist: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(MUSICAL.format(file=playlist.name), "utf-8")
    with pytest.raises(ManifestError, match=playlist.name):
        music.measure_tunes(load.load(path))
    assert not asked()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    os.mkfifo(path)
    for read in (clips.read, probe.measure_sound_file):
        with pytest.raises(UserError, match=r"a\.wav: a pipe, not a file: name a file"):
            read(path)
    with pytest.raises(UserError, match="a pipe, not a file"):
        feed.episodes({path: ()}, chapters=False)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.wav"
    os.mkfifo(path)
    found = os.stat(__file__)  # noqa: PTH116
    monkeypatch.setattr(Path, "stat", lambda self: found)
    with pytest.raises(Unfit, match="a pipe"):
        media.open_regular_file(path)


@pytest.mark.parametrize(("path", "what"), [("/dev/zero", "a device"), ("/", "a folder")])
def test_what_is_no_file_is_refused(path: str, what: str) -> None:
    with pytest.raises(Unfit, match=f"{what}, not a file"):
        media.open_regular_file(Path(path))


def test_a_film_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """A QuickTime file whose sound is said to lie in another file (`dref` with an `alis`)."""
    secret = write(tmp_path / "secret.mov", "pcm_s16le", "mov")
    data = secret.read_bytes()
    at = data.index(b"dref")
    # the entry's flag says whether the sound is in this file
    flags = data.index(b"alis" if b"alis" in data[at : at + 32] else b"url ", at) + 4
    linked = bytearray(data)
    linked[flags : flags + 4] = bytes(4)
    path = tmp_path / "link.mov"
    path.write_bytes(bytes(linked))
    try:
        with media.open_sound(path) as opened:
            sum(len(block) for block in audio.decode_frames(opened))
    except Unfit:
        pass  # either way nothing else is opened: there is nothing in it that could be


def test_nothing_of_a_file_of_zeros_is_looked_at_for_long(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with path.open("wb") as file:
        file.truncate(10 << 30)  # takes no room
    for read in (clips.read, probe.measure_sound_file):
        with pytest.raises(UserError, match="not a sound file"):
            read(path)


# -- pictures --------------------------------------------------------------------------------------


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    rows = zlib.compress(bytes((1 + 3 * width) * height), 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def test_a_huge_picture_is_refused_by_its_header() -> None:
    data = png(1, 1)
    huge = data[:16] + struct.pack(">II", 16000, 16000) + data[24:]
    with pytest.raises(Unfit, match=r"too large: 16000x16000 pixels, .* scale it down"):
        media.picture(huge)


def test_a_profile_of_a_picture_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = png(4, 4)
    bomb = (b"iCCP", b"x\0\0" + zlib.compress(bytes(1 << 20)))
    given: list[bytes] = []
    open_ = av.open
    monkeypatch.setattr(
        av, "open", lambda file, *a, **k: (given.append(file.getvalue()), open_(file, *a, **k))[1]
    )
    assert media.picture(png(4, 4, bomb, (b"zTXt", bomb[1]))).width == 4
    assert given == [plain]


def test_a_jpeg_of_a_thousand_passes_is_refused() -> None:
    header = b"\xff\xd8\xff\xc0\0\x11\x08\0\x08\0\x08\x03" + bytes(9)
    with pytest.raises(Unfit, match="more than 100 passes"):
        media.picture(header + b"\xff\xda" * 1000)
