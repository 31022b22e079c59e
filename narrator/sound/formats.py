"""The formats of sound: one row for each that books are delivered in, and for each codec.

A new format is a new row here and, where FFmpeg cannot write it, a writer in `delivery/export/`.
Opens no files; the figures that platforms ask for are in `project/profiles.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

FormatName = Literal["m4b", "mp3", "flac", "opus", "wav"]
"""Formats that `output.formats` can name; each is a row of `FORMATS`."""

# -- codecs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Codec:
    """A coding of sound, with FFmpeg's encoder."""

    name: str
    """The beginning of FFmpeg's name of files in this codec."""
    encoder: str
    container: str
    """FFmpeg's container of an encoded chapter, and the ending of its file."""
    suffix: str
    peak_margin_db: float
    """Distance of the limiter from the ceiling, for peaks that coding adds."""
    sample_format: str = "fltp"
    rates: tuple[int, ...] = ()
    """Sample rates in Hz; empty for any."""
    packet_samples: int = 0
    """Samples of a packet of a lossy codec; 0 for lossless ones."""
    bytes_per_sample: float = 0.0
    """Of lossless codecs, on average."""
    default_bitrate: Callable[[int], int] = lambda rate: 0
    """kbit/s of one channel at a sample rate."""
    max_bitrate: Callable[[int, int], int] = lambda rate, channels: 0
    """Most kbit/s at a sample rate for so many channels."""
    bitrates: Callable[[int], tuple[int, ...]] = lambda rate: ()
    """The only kbit/s at a sample rate; empty for any."""
    states_bitrate: bool = False
    """True where every packet's header states its bitrate."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the encoder."""
    container_options: Mapping[str, str] = field(default_factory=dict)
    """Options of the container."""
    constant_options: Mapping[str, str] = field(default_factory=dict)
    variable_options: Mapping[str, str] = field(default_factory=dict)
    """Options for a bitrate of the kind that is not the encoder's default."""
    fast_options: Mapping[str, str] = field(default_factory=dict)
    """Options for urgent sound."""
    encoder_gain: float = 1.0
    """Factor that the encoder applies to its input; it is compensated before."""
    stream_container: str = ""
    """FFmpeg's container that is written without seeking; "" where sound is not streamed in it."""
    stream_options: Mapping[str, str] = field(default_factory=dict)
    stream_type: str = ""
    """Media type of a stream."""

    @property
    def is_lossy(self) -> bool:
        return self.packet_samples > 0

    @property
    def has_bitrate_modes(self) -> bool:
        """True where a constant or a variable bitrate can be chosen."""
        return bool(self.constant_options or self.variable_options)


_LOSSY_RATES = (16000, 22050, 24000, 32000, 44100, 48000)
_MP3_BITRATES = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MP3_LOW_BITRATES = (16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MP3_HIGH_RATE = 32000
"""Hz from which on MPEG 1 holds, with higher bitrates; below it is MPEG 2."""

_MP3 = Codec(
    "mp3", "libmp3lame", "mp3", "mp3",
    peak_margin_db=1.0,
    rates=_LOSSY_RATES,
    packet_samples=1152,
    default_bitrate=lambda rate: 96 if rate >= _MP3_HIGH_RATE else 64,
    max_bitrate=lambda rate, channels: 320,
    bitrates=lambda rate: _MP3_BITRATES if rate >= _MP3_HIGH_RATE else _MP3_LOW_BITRATES,
    states_bitrate=True,
    variable_options={"abr": "1"},
    fast_options={"compression_level": "7"},  # half the time
    container_options={"id3v2_version": "3"},
    encoder_gain=0.95,  # LAME's default, which FFmpeg does not change
    stream_container="mp3",
    stream_options={"write_xing": "0", "id3v2_version": "0"},
    stream_type="audio/mpeg",
)  # fmt: skip
_OPUS = Codec(
    "opus", "libopus", "opus", "opus",
    peak_margin_db=1.0,
    sample_format="flt",
    rates=(48000,),
    packet_samples=960,
    default_bitrate=lambda rate: 48,
    max_bitrate=lambda rate, channels: 256 * channels,
    constant_options={"vbr": "off"},
    stream_container="opus",
    stream_options={"page_duration": "200000"},
    stream_type="audio/ogg",
)  # fmt: skip
_AAC = Codec(
    "aac", "aac", "mp4", "m4a",
    peak_margin_db=1.0,
    rates=_LOSSY_RATES,
    packet_samples=1024,
    default_bitrate=lambda rate: 64,
    max_bitrate=lambda rate, channels: 6 * rate // 1000 * channels,
    # The fast coder has less noise on speech than the slow one, over and under masking, at 32 to
    # 96 kbit/s, in a third of the time.
    options={"aac_coder": "fast"},
    stream_container="adts",
    stream_type="audio/aac",
)  # fmt: skip
_FLAC = Codec(
    "flac", "flac", "flac", "flac",
    peak_margin_db=0.2,
    sample_format="s32",
    bytes_per_sample=1.8,
    options={"bits_per_raw_sample": "24"},
    stream_container="flac",
    stream_type="audio/flac",
)  # fmt: skip
_PCM = Codec(
    "pcm", "pcm_s24le", "wav", "wav",
    peak_margin_db=0.2,
    sample_format="s32",
    bytes_per_sample=3.0,
    container_options={"rf64": "auto"},  # for more than 4 GiB
)  # fmt: skip
CODECS = {codec.name: codec for codec in (_MP3, _OPUS, _AAC, _FLAC, _PCM)}

# -- formats ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """A format that books are delivered in. Its name is the ending of its files."""

    name: FormatName
    title: str
    codec: Codec
    media_type: str
    tags: Literal["mp4", "id3", "vorbis", "riff"]
    codec_of_chapters: Codec | None = None
    """Codec of encoded chapters, from which files are joined, where that is another."""
    is_book: bool = False
    """True where a file is always a book with its chapters, never one chapter."""
    has_xmp: bool = False
    """True where XMP has a place in it, by part 3 of Adobe's specification."""
    holds_marks: bool = True
    max_marks: int | None = None
    """Most chapters that one file can mark; None for any number."""
    cover: Literal["picture", "comment", "none"] = "picture"
    """Form of the cover: an attached picture, or one in the comments."""
    ereader_form: tuple[str, str] | None = None
    """Ending and media type of its files in an EPUB; None where e-readers do not play it."""
    cue_type: str = "WAVE"
    """Type of the file in a CUE sheet; WAVE is usual for whatever else a player decodes."""

    @property
    def chapter_codec(self) -> Codec:
        """Codec of its encoded chapters."""
        return self.codec_of_chapters or self.codec


FORMATS: Mapping[str, OutputFormat] = {
    row.name: row
    for row in (
        OutputFormat(
            "mp3", "MP3", _MP3, "audio/mpeg", "id3",
            has_xmp=True,
            max_marks=255,  # an ID3 table of contents counts them in a byte
            ereader_form=("mp3", "audio/mpeg"),
            cue_type="MP3",
        ),
        OutputFormat(
            "m4b", "M4B", _AAC, "audio/mp4", "mp4",
            has_xmp=True,
            is_book=True,
            ereader_form=("m4a", "audio/mp4"),
        ),
        OutputFormat(
            "opus", "Opus", _OPUS, "audio/ogg", "vorbis",
            max_marks=1000,  # Vorbis comments have three digits
            cover="comment",
            ereader_form=("opus", "audio/ogg; codecs=opus"),
        ),
        OutputFormat("flac", "FLAC", _FLAC, "audio/flac", "vorbis", max_marks=1000),
        OutputFormat(
            "wav", "WAV", _PCM, "audio/wav", "riff",
            codec_of_chapters=_FLAC,
            has_xmp=True,
            holds_marks=False,
            cover="none",
        ),
    )
}  # fmt: skip
"""Formats by name, those first that most players play."""

OUTPUT_SUFFIXES = tuple(f".{name}" for name in FORMATS)
"""Endings of finished files."""
MEDIA_TYPES = {
    suffix: row.media_type
    for row in FORMATS.values()
    for suffix in (f".{row.codec.suffix}", f".{row.name}")
}
"""Media types by ending, of finished files and encoded chapters, in the order of `FORMATS`."""
SOUND_SUFFIXES = frozenset(
    ".aac .aif .aiff .flac .m4a .m4b .mp3 .mp4 .oga .ogg .opus .wav .wma".split()
)
"""Endings of the sound files that people have."""
EREADER_FORMATS = {
    name: row.ereader_form for name, row in FORMATS.items() if row.ereader_form is not None
}
"""Formats that e-readers play, best first: the ending within an EPUB, and the media type there."""
