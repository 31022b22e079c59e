"""Requirements of platforms on audio files: figures, layout and names, as data.

Exports make files by a profile, and `verify` checks files against one. Knows nothing of manifests,
samples and codecs. Figures marked "secondary" were not read at the platform itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from narrator.sound.formats import FORMATS
from narrator.sound.loudness import Target

Span = tuple[float, float]
"""Lowest and highest value."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A platform's requirements, and how files are made that meet them.

    None means no requirement.
    """

    name: str
    formats: tuple[str, ...]
    """Names of `FORMATS`."""
    files: Literal["book", "chapters", "both"]
    kind: Literal["LUFS", "RMS"] = "LUFS"
    """Integrated by ITU-R BS.1770, or RMS over everything, ungated."""
    loudness: float | None = None
    """Target loudness; None leaves the sound at its own level."""
    tolerance: float = 1.0
    """Tolerance of the loudness in LU or dB."""
    true_peak: float | None = None
    """dBTP, at most."""
    peak: float | None = None
    """Highest sample, dB full scale, at most."""
    noise_floor: float | None = None
    """dB RMS of the quietest half seconds, at most."""
    room_tone: float | None = None
    """dB RMS of the quiet noise that is laid under everything, so that no pause is digital
    silence. Where there is a `noise_floor` it is demanded of files too."""
    head: Span | None = None
    """Seconds before the first sound."""
    tail: Span | None = None
    """Seconds after the last."""
    gap: float | None = 6.0
    """Seconds of digital silence within a file, at most."""
    longest: float | None = None
    """Longest file, minutes."""
    bitrate: int | None = None
    """kbit/s of lossy codecs; None for each codec's default."""
    bitrates: tuple[int, int] | None = None
    """Lowest and highest accepted kbit/s."""
    bitrate_mode: Literal["constant", "variable"] | None = None
    sample_rate: int | None = None
    channels: int | None = None
    """1 or 2; None for as many as the sound has."""
    alike: bool = False
    """True if all files of a book must have the same channels and sample rate."""
    credits: bool = False
    """True if opening and closing credits are required."""
    sample: Span | None = None
    """Seconds of the required retail sample."""
    tags: tuple[str, ...] = ("title",)
    """Facts that a file must carry, by FFmpeg's names."""
    cover: bool = False
    """True if a file must carry its cover."""
    cover_square: bool = False
    cover_pixels: tuple[int, int] | None = None
    """Range of its longer side: a smaller cover is refused, a larger one is scaled down."""
    marks: bool = False
    """True if a file of a whole book must have chapter marks."""
    genre: str = "Audiobook"
    """Default genre, if the manifest names none."""
    book_name: str = "{author} - {title}"
    """Template of a book's file, without its ending: facts by name, `/` makes folders."""
    chapter_name: str = "{number} - {chapter}"
    """Template of a chapter's file, beside the book's; it also knows {number}, {chapter}, {format}
    and the book's {name}."""

    @property
    def has_book_files(self) -> bool:
        """True where a file may hold several chapters."""
        return self.files != "chapters" or any(FORMATS[name].is_book for name in self.formats)

    @property
    def has_chapter_files(self) -> bool:
        """True where chapters of a complete book have files of their own."""
        return self.files != "book" and not all(FORMATS[name].is_book for name in self.formats)

    @property
    def target(self) -> Target:
        """The loudness target of an encoded chapter.

        It is narrower than that of a file, since joining chapters changes their loudness. RMS
        includes pauses, so chapters with the same speech differ in it and get nearly the full
        tolerance.
        """
        ceiling = min(
            (peak for peak in (self.true_peak, self.peak) if peak is not None), default=0.0
        )
        if self.loudness is None:
            return Target("as it is", 0.0, -200.0, 200.0, ceiling)
        half_tolerance = self.tolerance / 2
        tolerance = (
            min(0.5, half_tolerance)
            if self.kind == "LUFS"
            else max(self.tolerance - 0.5, half_tolerance)
        )
        kind: Literal["LUFS", "dB RMS"] = "LUFS" if self.kind == "LUFS" else "dB RMS"
        return Target(
            kind, self.loudness, self.loudness - tolerance, self.loudness + tolerance, ceiling
        )


CHECKED_ONLY = frozenset(
    "kind loudness tolerance true_peak peak noise_floor head tail gap bitrates alike credits "
    "sample tags cover marks".split()
)
"""Fields of profiles by which files are checked, but not made, except by `Profile.target`. Files
are made anew when any other field of their profile changes."""

ROOM_TONE = -70.0
"""dB RMS where nothing is asked: 10 dB under what ACX takes for noise, 20 over a step of 16 bits.
Measured, AAC, MP3 and Opus carry it whole at their usual bitrates, and no 10 ms of a pause are
digital silence, at which players skip, gates close and listeners take the book for broken."""

ACX = Profile(
    # ACX audio submission requirements (its help pages): -23 to -18 dB RMS, peaks at most -3 dB,
    # noise floor at most -60 dB RMS, MP3 at 192 kbit/s or more, constant, 44.1 kHz, files all mono
    # or all stereo, one section a file, at most 120 min, room tone at head and tail. The cover is
    # uploaded apart (square, 2,400 pixels or more); nothing is asked of one within the files.
    name="acx",
    formats=("mp3",),
    files="chapters",
    kind="RMS",
    loudness=-20.5,
    tolerance=2.5,
    peak=-3.0,
    noise_floor=-60.0,
    room_tone=-68.0,
    head=(0.5, 1.0),
    tail=(1.0, 5.0),
    gap=0.5,
    longest=120.0,
    bitrate=192,
    bitrates=(192, 320),
    bitrate_mode="constant",
    sample_rate=44100,
    alike=True,
    credits=True,
    sample=(60.0, 300.0),
    tags=("title", "album", "artist"),
    book_name="{title}",
)

AUDIOBOOKSHELF = Profile(
    # Folders and tags as its scanner reads them (AudioFileScanner.js, prober.js); it asks for no
    # loudness: AES TD1008 recommends -18 LUFS for speech.
    name="audiobookshelf",
    formats=("m4b",),
    files="book",
    loudness=-18.0,
    true_peak=-1.5,
    room_tone=ROOM_TONE,
    tags=("title", "album", "artist"),
    marks=True,
    book_name="{author}/{series}/{title}/{title}",
)

APPLE_PODCASTS = Profile(
    # podcasters.apple.com: mono MP3 of 96 to 128 kbit/s recommended; artwork square, 1,400 to
    # 3,000 pixels. -16 LUFS +-1 and -1 dBTP: secondary, citing Apple.
    name="apple-podcasts",
    formats=("mp3",),
    files="book",
    loudness=-16.0,
    true_peak=-1.0,
    room_tone=ROOM_TONE,
    bitrate=128,
    bitrates=(96, 320),
    tags=("title", "artist"),
    cover=True,
    cover_square=True,
    cover_pixels=(1400, 3000),
    genre="Podcast",
    book_name="{series} {part} - {title}",
)

SPOTIFY = Profile(
    # Plays at about -14 LUFS, at most -1 dBTP: secondary, and one source says -16.
    name="spotify",
    formats=("mp3",),
    files="book",
    loudness=-14.0,
    true_peak=-1.0,
    room_tone=ROOM_TONE,
    bitrate=128,
    bitrates=(96, 320),
    tags=("title", "artist"),
    cover_square=True,
    genre="Podcast",
    book_name="{series} {part} - {title}",
)

EBU_R128 = Profile(
    # tech.ebu.ch: -23 LUFS, +-1 LU in production (+-0.2 LU in quality control), at most -1 dBTP.
    name="ebu-r128",
    formats=("wav",),
    files="book",
    loudness=-23.0,
    tolerance=1.0,
    true_peak=-1.0,
    room_tone=ROOM_TONE,
    sample_rate=48000,
)

ARCHIVE = Profile(
    # Lossless, at the sound's own rate and level, and nothing laid under it: no room tone either.
    # Only samples over full scale are limited: a file of integers cannot hold it.
    name="archive",
    formats=("flac",),
    files="both",
    loudness=None,
    true_peak=0.0,
    gap=None,
    tags=("title", "album", "artist"),
)

PLAIN_PROFILE = Profile(
    # What `output` says without a profile, in no folder of its own; nothing is demanded of files.
    # AES TD1008 for speech.
    name="",
    formats=("m4b",),
    files="both",
    loudness=-18.0,
    true_peak=-1.5,
    gap=None,
    tags=(),
    chapter_name="{name} ({format})/{number} - {chapter}",
)
LOUDNESS: Mapping[str, Profile] = {
    "audiobook": PLAIN_PROFILE,
    # ACX audio submission requirements: -23 to -18 dB RMS ungated, peaks at most -3 dB.
    "acx": replace(PLAIN_PROFILE, kind="RMS", loudness=-20.5, tolerance=3.0, true_peak=-3.0),
    # Apple Podcasts.
    "podcast": replace(PLAIN_PROFILE, loudness=-16.0, true_peak=-1.0, genre="Podcast"),
}
"""The targets that `output.loudness` can name."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (ACX, AUDIOBOOKSHELF, APPLE_PODCASTS, SPOTIFY, EBU_R128, ARCHIVE)
}


SILENCE_MARGIN = 0.1
"""Seconds by which heads and tails are planned within what is asked for: sound begins and ends up
to 0.06 s from where a take was laid, as it is measured."""

NOISE_FLOOR_MARGIN = 1.0
"""dB that room tone must lie under a noise floor at least."""


def planned_span(span: Span) -> Span:
    """The range of seconds of silence to plan for a head or tail."""
    return round(span[0] + SILENCE_MARGIN if span[0] > 0 else 0.0, 3), round(
        span[1] - SILENCE_MARGIN, 3
    )


def custom_profile(name: str, base: str, changes: Mapping[str, Any]) -> Profile:
    """A profile derived from another, with changed fields.

    Requirements of the base that the changes make void are dropped: bitrate ranges are for MP3,
    chapter marks for books. A changed bitrate is required exactly if it is constant and the only
    lossy format is MP3. Raises KeyError for an unknown base.
    """
    changed_fields = {field.name for field in fields(Profile)} & changes.keys()
    profile = replace(PROFILES[base], name=name, **{key: changes[key] for key in changed_fields})
    formats = [FORMATS[name] for name in profile.formats]
    if any(row.codec.is_lossy and not row.codec.states_bitrate for row in formats):
        # AAC and Opus vary about their bitrate, and no frame of theirs states it
        mode = profile.bitrate_mode if "bitrate_mode" in changed_fields else None
        profile = replace(profile, bitrates=None, bitrate_mode=mode)
    elif profile.bitrate is None or profile.bitrate_mode == "variable":
        profile = replace(profile, bitrates=None)
    elif "bitrate" in changed_fields and profile.bitrates is not None:
        profile = replace(profile, bitrates=(profile.bitrate, profile.bitrate))
    if profile.sample_rate and "sample_rate" not in changed_fields:
        for row in formats:
            if len(row.codec.rates) == 1:  # Opus gives back one rate only
                profile = replace(profile, sample_rate=row.codec.rates[0])
    has_marks = all(row.holds_marks for row in formats) and not profile.has_chapter_files
    return replace(
        profile,
        marks=profile.marks and has_marks,
        cover=profile.cover and all(row.cover != "none" for row in formats),
    )


def find_contradiction(base: str, changes: Mapping[str, Any]) -> str | None:
    """Why files of a `custom_profile` profile could not meet it, in words; None if they can."""
    profile = custom_profile("", base, changes)
    tone, floor = profile.room_tone, profile.noise_floor
    if tone is not None and floor is not None and tone > floor - NOISE_FLOOR_MARGIN:
        return (
            f"a `room_tone` of {tone:g} dB is no quieter than the `noise_floor` of {floor:g}: "
            f"{floor - NOISE_FLOOR_MARGIN:g} or lower"
        )
    for row in (FORMATS[name] for name in profile.formats):
        codec, sample_rate = row.codec, profile.sample_rate
        if changes.get("bitrate_mode") and codec.is_lossy and not codec.has_bitrate_modes:
            return f"`bitrate_mode` is not for {row.name}, which has none to choose: leave it out"
        if len(codec.rates) == 1 and sample_rate not in (None, *codec.rates):
            rate = codec.rates[0]
            return f"{row.name} is {rate} Hz always: leave `sample_rate: {sample_rate}` out"
        if changes.get("cover") and row.cover == "none":
            return f"a {row.title} file holds no cover: leave `cover` or that format out"
    return None
