"""book.yaml -> frozen models, validated before anything runs.

All problems come in one report, each with file:line; an unknown key names the nearest valid one.
Knows the shape of a project and where its files lie, nothing of what chapter text says.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import types
import typing
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from narrator import files, profiles
from narrator.characters import ODD, quoted, seen
from narrator.errors import GUESSES, ManifestError, Problem, nearest
from narrator.patterns import limited

SIZE_LIMIT = 4_000_000
NODE_LIMIT = 200_000
"""Nodes after aliases are followed; a few lines of YAML can otherwise ask for gigabytes."""
NUMBER_LIMIT = 64
"""Characters of a number. What is longer is read as text: Python needs hours for the longest."""

Loc = tuple[str | int, ...]


# -- scalars ---------------------------------------------------------------------------------------


class _Integer(int):
    """A YAML integer that remembers how it was written ("0123" is an ISBN, not 83)."""

    written: str


class _Decimal(float):
    """A YAML float that remembers how it was written."""

    written: str


def _as_text(value: object) -> object:
    return value.written if isinstance(value, _Integer | _Decimal) else value


def _as_list(value: object) -> object:
    return value if isinstance(value, tuple) else (value,)


_Written = BeforeValidator(_as_text, json_schema_input_type=str | int | float)
Text = Annotated[str, _Written, Field(min_length=1)]


def _to_be_seen(text: str) -> str:
    if not (plain := seen(text)).strip():
        raise ValueError("holds nothing that can be seen")
    return plain


Shown = Annotated[Text, AfterValidator(_to_be_seen)]
"""A text for tags and names of files, without characters that cannot be seen."""
Texts = Annotated[
    tuple[Shown, ...],
    BeforeValidator(_as_list, json_schema_input_type=str | int | float | tuple[Shown, ...]),
    Field(min_length=1),
]
Seconds = Annotated[float, Field(ge=0, le=60)]


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    first: set[str] = set()
    for value in values:
        if value.casefold() in first:
            raise ValueError(f"'{value}' stands twice")
        first.add(value.casefold())
    return values


Distinct = AfterValidator(_distinct)
"""Of a list in which everything stands once, whatever its case: folders are named by it."""


def is_date(text: str) -> bool:
    """Whether a text is a date as manifests have it: YYYY, YYYY-MM or YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}(-[0-9]{2}){0,2}", text):
        return False
    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :])
    except ValueError:
        return False
    return True


def _dated(text: str) -> str:
    if not is_date(text):
        raise ValueError(f"must be YYYY, YYYY-MM or YYYY-MM-DD, a day that is, not {text!r}")
    return text


Date = Annotated[Text, AfterValidator(_dated)]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


def _kind(value: object) -> str:
    """Which branch of a short-or-long form is meant, so that errors speak of one branch only."""
    return "mapping" if isinstance(value, dict | BaseModel) else "scalar"


# -- the parts of a manifest -----------------------------------------------------------------------


ChainMode = Literal["anchored", "continuation", "reference"]


class EngineSettings(_Model):
    """What speaks, and how. Parameters that an engine does not have are ignored by it."""

    name: Literal["voxcpm2", "draft"] = "voxcpm2"
    model: Text = "auto"
    """A directory, a hub id ("owner/name" or "owner/name@revision"), or auto: VoxCPM2, with 8-bit
    language models where the machine has less than 16 GB."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """What the network computes in; auto is the checkpoint's own on a GPU, float32 on a CPU."""
    lora: Text | None = None
    """A fine-tuned voice: a directory or a hub id."""
    steps: int = Field(default=10, ge=1, le=100)
    """Of the solver, for each patch of 160 ms."""
    cfg: float = Field(default=2.0, ge=0.1, le=10)
    """Guidance: how closely text and voice are followed."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    slots: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = "auto"
    """Chunks side by side; auto finds what is fastest here, once."""
    earliest_stop: float = Field(default=0.25, ge=0, le=0.9)
    """Share of a chunk's expected length before which the model may not stop."""


class EngineOverrides(_Model):
    """A chapter's own engine parameters."""

    steps: int | None = Field(default=None, ge=1, le=100)
    cfg: float | None = Field(default=None, ge=0.1, le=10)
    seed: int | None = Field(default=None, ge=0, lt=2**32)


class VoiceSettings(_Model):
    """A reference clip with its exact transcript, or a description to cast a voice from."""

    reference: Text | None = None
    transcript: Text | None = None
    description: Text | None = None
    seed: int = Field(default=0, ge=0, lt=2**32)
    style: Text | None = None

    @model_validator(mode="after")
    def _complete(self) -> VoiceSettings:
        if self.reference is None and self.description is None:
            raise ValueError("a voice needs a `reference` clip or a `description`")
        if self.reference is not None and self.transcript is None:
            raise ValueError("a `reference` needs its exact `transcript`")
        return self


class ChainOverrides(_Model):
    """How takes of one chapter or speaker carry over; a speaker's own count before a chapter's."""

    mode: ChainMode | None = None
    max_chunks: int | None = Field(default=None, ge=1, le=64)


class DraftSettings(_Model):
    """How the draft voice plays a speaker; what is not set follows from the speaker's name."""

    variant: Text | None = None
    pitch: int | None = Field(default=None, ge=0, le=99)
    rate: int | None = Field(default=None, ge=80, le=450)


VoiceChoice = Annotated[
    Annotated[Text, Tag("scalar")] | Annotated[VoiceSettings, Tag("mapping")], Discriminator(_kind)
]


class Mastering(_Model):
    """Filters over every take of a speaker, before levels and loudness."""

    high_pass: float | None = Field(default=None, ge=20, le=200)
    """Hz under which the sound is taken away: rumble, hum."""
    de_ess: float | None = Field(default=None, ge=0, le=1)
    """How far sharp s sounds are lowered: 0.3 is gentle, up to 4 dB; 1 up to 12 dB."""


class Speaker(_Model):
    """One of the cast."""

    voice: VoiceChoice | None = None
    """A name under `voices`, a preset's name, or a voice of the speaker's own."""
    style: Text | None = None
    chain: ChainOverrides = ChainOverrides()
    gain: float = Field(default=0.0, ge=-24, le=24)
    """dB, on top of the levelling between speakers."""
    speed: float = Field(default=1.0, ge=0.5, le=2.0)
    language: Text | None = None
    aliases: tuple[Text, ...] = ()
    draft: DraftSettings = DraftSettings()
    mastering: Mastering | None = None
    """The speaker's own filters, instead of `output.mastering`."""


def _or_defaults(value: object) -> object:
    return {} if value is None else value


CastMember = Annotated[
    Speaker, BeforeValidator(_or_defaults, json_schema_input_type=Speaker | None)
]
"""`Ada:` with nothing behind it is a speaker with every default."""

ScriptLine = Annotated[
    Annotated[Text, Tag("scalar")]
    | Annotated[dict[Text, Text], Field(min_length=1, max_length=1), Tag("mapping")],
    Discriminator(_kind),
]


class ChapterSettings(_Model):
    """A chapter: a title for marks and tags, and its text in a file or in place."""

    title: Shown
    file: Text | None = None
    lines: tuple[ScriptLine, ...] | None = None
    speaker: Text | None = None
    language: Text | None = None
    engine: EngineOverrides = EngineOverrides()
    chain: ChainOverrides = ChainOverrides()

    @model_validator(mode="after")
    def _one_source(self) -> ChapterSettings:
        if (self.file is None) == (self.lines is None):
            raise ValueError("a chapter needs either `file` or `lines`")
        return self


class Pauses(_Model):
    """Silence in seconds, laid between takes; takes themselves are trimmed."""

    clause: Seconds = 0.12
    sentence: Seconds = 0.35
    line: Seconds = 0.6
    speaker: Seconds = 0.45
    heading: Seconds = 1.2
    scene: Seconds = 1.8
    head: Seconds = 0.75
    """Before a chapter's first word."""
    tail: Seconds = 1.5
    """After its last."""


class Chain(_Model):
    """How takes carry over to the next chunk of the same speaker."""

    mode: ChainMode = "anchored"
    """anchored: each chunk hears its voice's reference and the take before; continuation: the take
    before alone; reference: the reference alone, which is fastest, all chunks side by side."""
    max_chunks: int = Field(default=8, ge=1, le=64)
    """After so many a chain starts anew from the reference."""


class Checks(_Model):
    """What a take must pass before it is kept."""

    recognition: Literal["never", "suspicious", "all"] = "never"
    """Whether takes are heard by a recogniser and compared with their text (an optional extra)."""
    text_error: float | None = Field(default=None, ge=0.01, le=1)
    """Share of words that may be heard wrong; by language where it is not set."""
    loudness: float = Field(default=8.0, ge=3, le=40)
    """dB that a take may lie from its speaker's median."""
    tries: int = Field(default=3, ge=1, le=10)
    """Of a chunk, and of each of its halves, before the least bad one is taken."""
    strict: bool = False
    """Whether a chunk none of whose tries passed holds its chapter back; else the least bad try is
    delivered, and said."""


_PATTERN_ERRORS = (re.error, OverflowError, RecursionError)


class LexiconEntry(_Model):
    """A word or a pattern, and how it is spoken."""

    word: Text | None = None
    pattern: Text | None = None
    say: Annotated[str, _Written]
    speaker: Text | None = None
    language: Text | None = None
    case: bool = False
    """Whether upper and lower case must match."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except _PATTERN_ERRORS as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _one_match(self) -> LexiconEntry:
        if (self.word is None) == (self.pattern is None):
            raise ValueError("a lexicon entry needs either `word` or `pattern`")
        if self.pattern is not None:
            try:
                with limited(self.pattern):
                    re.compile(self.pattern).sub(self.say, "")
            except (*_PATTERN_ERRORS, IndexError) as error:
                raise ValueError(f"`say` does not fit the pattern: {error}") from None
        return self


Loudness = Literal["audiobook", "acx", "podcast"] | Annotated[float, Field(ge=-40, le=-8)]
Format = Literal["m4b", "mp3", "flac", "opus", "wav"]
Formats = Annotated[
    tuple[Format, ...],
    BeforeValidator(_as_list, json_schema_input_type=Format | tuple[Format, ...]),
    Field(min_length=1),
    Distinct,
]


def _counted(value: object) -> object:
    return {"mono": 1, "stereo": 2}.get(value, value) if isinstance(value, str) else value


Channels = Annotated[
    Literal[1, 2],
    BeforeValidator(_counted, json_schema_input_type=Literal[1, 2, "mono", "stereo"]),
]
RoomTone = Annotated[float, Field(ge=-85, le=-50)]


class Sample(_Model):
    """A cut from one chapter, for those who have not bought the book yet."""

    chapter: Annotated[str, _Written] = "1"
    """Its title or its number in the manifest."""
    start: float = Field(default=0.0, ge=0)
    """Seconds into it; the cut begins with the next words."""
    seconds: float = Field(default=180.0, ge=5, le=300)
    """At most; the cut ends at a pause."""


class Output(_Model):
    """The finished files."""

    formats: Formats = ("m4b",)
    loudness: Loudness = "audiobook"
    """LUFS, or a platform's target: audiobook (-18 LUFS), acx, podcast (-16 LUFS)."""
    true_peak: float | None = Field(default=None, ge=-12, le=0)
    """dBTP; the target's own ceiling where it is not set."""
    bitrate: int | None = Field(default=None, ge=16, le=320)
    """kbit/s; each codec's own default where it is not set."""
    sample_rate: Literal[16000, 22050, 24000, 32000, 44100, 48000] | None = None
    """Hz; the engine's own where it is not set and the codec takes it."""
    channels: Channels | None = None
    """mono or stereo; where it is not set, stereo if any music of the book is."""
    room_tone: RoomTone | None = profiles.ROOM_TONE
    """dB RMS of quiet noise under everything instead of digital silence; null for none."""
    files: Literal["book", "chapters", "both"] = "both"
    """One file for the book (M4B always is one), one a chapter, or both."""
    name: Text = "{author} - {title}"
    """Name of the book's file, from {title}, {author}, {narrator}, {series}, {part}, {year},
    {publisher}, {language}; `/` makes folders."""
    profile: Annotated[Texts, Distinct] | None = None
    """One or several of acx, audiobookshelf, apple-podcasts, spotify, ebu-r128, archive, and those
    under `profiles`, instead of the keys above: files go to a folder for each."""
    sample: Sample | None = None
    """The retail sample of profiles that ask for one; three minutes of the first chapter where it
    is not set."""
    mastering: Mastering = Mastering()
    companions: Annotated[
        tuple[Literal["vtt", "srt", "chapters", "cue", "labels", "readalong"], ...], Distinct
    ] = ()
    """What lies beside the files: subtitles with speakers (vtt, srt), chapter lists (chapters:
    Podcasting 2.0, cue), labels for an audio editor, an EPUB that is read along (readalong)."""

    @model_validator(mode="after")
    def _one_way(self) -> Output:
        others = self.model_fields_set - {"profile", "sample", "mastering", "companions"}
        if self.profile is not None and others:
            raise ValueError(
                f"`{min(others)}` has no say beside `profile`: put it into a profile of your own, "
                "under `profiles`, with a `base`"
            )
        return self


Pixels = Annotated[int, Field(ge=1, le=65_535)]


class ProfileSettings(_Model):
    """A profile of one's own: what it does not say is as in its base."""

    base: Literal["acx", "audiobookshelf", "apple-podcasts", "spotify", "ebu-r128", "archive"]
    formats: Formats | None = None
    files: Literal["book", "chapters", "both"] | None = None
    kind: Literal["LUFS", "RMS"] | None = None
    """Of loudness: integrated, or ungated RMS."""
    loudness: float | None = Field(default=None, ge=-40, le=-8)
    """null leaves the sound at its own level."""
    tolerance: float | None = Field(default=None, ge=0.2, le=10)
    true_peak: float | None = Field(default=None, ge=-12, le=0)
    """dBTP."""
    peak: float | None = Field(default=None, ge=-12, le=0)
    """Highest sample, dB."""
    noise_floor: float | None = Field(default=None, ge=-100, le=-30)
    """dB RMS."""
    room_tone: RoomTone | None = None
    """dB RMS of quiet noise instead of digital silence; null for none."""
    head: tuple[Seconds, Seconds] | None = None
    """Seconds before the first sound, least and most."""
    tail: tuple[Seconds, Seconds] | None = None
    gap: Seconds | None = None
    """Digital silence within a file, at most."""
    longest: float | None = Field(default=None, gt=0)
    """Minutes a file."""
    bitrate: int | None = Field(default=None, ge=16, le=320)
    bitrate_mode: Literal["constant", "variable"] | None = None
    sample_rate: Literal[16000, 22050, 24000, 32000, 44100, 48000] | None = None
    channels: Channels | None = None
    """mono or stereo; null as the book's music is."""
    sample: (
        tuple[Annotated[float, Field(ge=0, le=300)], Annotated[float, Field(ge=5, le=300)]] | None
    ) = None
    """Seconds of the retail sample, least and most; null for none."""
    credits: bool | None = None
    """Whether opening and closing credits must be there."""
    cover: bool | None = None
    cover_square: bool | None = None
    cover_pixels: tuple[Pixels, Pixels] | None = None
    """Of the longer side: a smaller cover is refused, a larger one scaled down."""
    genre: Text | None = None
    book_name: Text | None = None
    chapter_name: Text | None = None

    @model_validator(mode="after")
    def _not_null(self) -> ProfileSettings:
        needed = ("formats", "files", "kind", "tolerance", "credits", "cover", "cover_square",
                  "genre", "book_name", "chapter_name")  # fmt: skip
        for name in needed:
            if name in self.model_fields_set and getattr(self, name) is None:
                raise ValueError(f"`{name}` needs a value, or leave it out")
        for name in ("head", "tail", "sample", "cover_pixels"):
            span = getattr(self, name)
            if span is not None and span[0] > span[1]:
                raise ValueError(f"`{name}` is least and most: {list(span)} runs backwards")
        for name in ("head", "tail"):
            span = getattr(self, name)
            if span is not None and span[1] - span[0] < 2 * profiles.EDGE - 1e-9:
                raise ValueError(
                    f"`{name}` needs {2 * profiles.EDGE:g} s between least and most: "
                    f"sound is not found to the hundredth, and {list(span)} leaves no room"
                )
        return self

    @model_validator(mode="after")
    def _can_be_met(self) -> ProfileSettings:
        changes = {key: getattr(self, key) for key in self.model_fields_set - {"base"}}
        if fault := profiles.contradiction(self.base, changes):
            raise ValueError(fault)
        return self


class Credits(_Model):
    """What is spoken before the first chapter and after the last, as chapters of their own.

    Templates take {title}, {subtitle}, {author}, {narrator}, {series}, {part}, {publisher}, {year}
    and {copyright}, and marks of the script, such as [pause 1s].
    """

    opening: Text | None = "{title}. Written by {author}. Narrated by {narrator}."
    closing: Text | None = (
        "This has been {title}. Written by {author}. Narrated by {narrator}. The end."
    )
    speaker: Text | None = None
    """The narrator where it is not set."""
    opening_title: Shown = "Opening credits"
    closing_title: Shown = "Closing credits"


class Series(_Model):
    """The series a book belongs to."""

    name: Shown
    part: Shown | None = None


SeriesChoice = Annotated[
    Annotated[Shown, Tag("scalar")] | Annotated[Series, Tag("mapping")], Discriminator(_kind)
]
EngineChoice = Annotated[
    Annotated[Literal["voxcpm2", "draft"], Tag("scalar")]
    | Annotated[EngineSettings, Tag("mapping")],
    Discriminator(_kind),
]


def _lexicon_kind(value: object) -> str:
    return "mapping" if isinstance(value, dict) else "list"


LexiconChoice = Annotated[
    Annotated[dict[Text, Annotated[str, _Written]], Tag("mapping")]
    | Annotated[tuple[LexiconEntry, ...], Tag("list")],
    Discriminator(_lexicon_kind),
]


class Music(_Model):
    """Music before, after or under the words of chapters."""

    file: Text
    """Any format that FFmpeg reads."""
    place: Literal["intro", "outro", "bed"]
    """Before a chapter's first word, after its last, or under its words."""
    chapters: Annotated[
        tuple[Text, ...],
        BeforeValidator(_as_list, json_schema_input_type=str | int | tuple[str | int, ...]),
    ] = ()
    """Numbers or titles, credits not counted. Where it is not set, an intro is played before the
    first chapter, an outro after the last, a bed in every one."""
    scene: int | None = Field(default=None, ge=1)
    """A bed's, counted within its chapter; the whole chapter where it is not set."""
    name: Text | None = None
    """Of a bed that the script calls: [music: name] until [music: off] or other music."""
    gain: float | None = Field(default=None, ge=-60, le=12)
    """LU by which it lies above the speech of the book, whatever the file's own loudness: -3 where
    it is not set, a bed -14."""
    duck: float | None = Field(default=None, ge=0, le=60)
    """dB by which it steps back under words: 17 where it is not set, a bed 6, so that all music is
    20 dB under speech."""
    attack: Seconds = 0.5
    """In which it steps back before words come."""
    release: Seconds = 1.0
    """In which it comes up after words; pauses too short for both stay ducked."""
    fade_in: Seconds | None = None
    """0 where it is not set; a bed 2, before its first word."""
    fade_out: Seconds | None = None
    """0 where it is not set; a bed 3, after its last word."""
    overlap: Seconds = 0.0
    """An intro's last seconds go on under the first words, an outro's first begin under the
    last."""
    seconds: float | None = Field(default=None, ge=0.5, le=36_000)
    """How much of the file is played; all of it where it is not set."""
    loop: bool | Annotated[float, Field(ge=0, le=30)] = False
    """Whether a bed begins again as long as it is needed; or the seconds in which its end fades
    over into its beginning."""

    @model_validator(mode="after")
    def _fits_its_place(self) -> Music:
        given = self.model_fields_set
        others = {"overlap"} if self.place == "bed" else {"scene", "name", "loop"}
        if wrong := sorted(given & others):
            kind = "a bed" if self.place != "bed" else "an intro or an outro"
            raise ValueError(f"`{wrong[0]}` is for {kind}, not for `place: {self.place}`")
        if self.name is not None:
            if where := sorted(given & {"chapters", "scene"}):
                raise ValueError(f"the script says where `name` plays: leave out `{where[0]}`")
            if self.name.casefold() == "off" or any(c in self.name for c in "[]\\\n"):
                raise ValueError(f"no name for music: {self.name!r}; [music: off] ends what plays")
        return self


class Manifest(_Model):
    """A whole book.yaml, as written; `Project` answers what follows from it."""

    title: Shown
    subtitle: Shown | None = None
    author: Texts
    language: Annotated[Text, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    cover: Text | None = None
    outside: tuple[Text, ...] = ()
    """Folders outside of the project that its files may be in: ../shared-voices."""
    source: Text | None = None
    """The EPUB that the book came from: its pages become the read-along edition."""
    identifiers: dict[Text, Text] = {}
    series: SeriesChoice | None = None
    publisher: Shown | None = None
    date: Date | None = None
    description: Shown | None = None
    genre: Shown | None = None
    copyright: Shown | None = None
    narrated_by: Shown | None = None
    engine: EngineChoice = EngineSettings()
    speakers: dict[Text, CastMember] = {}
    narrator: Text | None = None
    voices: dict[Text, VoiceSettings] = {}
    chapters: Annotated[tuple[ChapterSettings, ...], Field(min_length=1)]
    pauses: Pauses = Pauses()
    chain: Chain = Chain()
    checks: Checks = Checks()
    lexicon: LexiconChoice = ()
    output: Output = Output()
    profiles: dict[Text, ProfileSettings] = {}
    credits: Credits | None = None
    music: tuple[Music, ...] = ()


# -- the project -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a valid manifest."""

    path: Path
    """The manifest's file."""
    manifest: Manifest
    lines: Mapping[Loc, int]
    """Line numbers of the manifest's values, by where they stand."""
    unseen: tuple[tuple[str, Path, int, int], ...] = ()
    """Characters in texts of the manifest that cannot be seen: each with the file, the line of its
    first place, and in how many it stands."""
    _listed: list[tuple[tuple[ChapterSettings, ...], tuple[Loc, ...]]] = dataclasses.field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """The chapters and their places, once they were asked for."""

    @property
    def root(self) -> Path:
        return self.path.parent

    @property
    def build(self) -> Path:
        """Where renders go; git ignores it."""
        return self.root / "build"

    @property
    def stem(self) -> str:
        """What tells its files in `build` from those of other manifests of its folder: its name
        without an ending, unless there is one by that name that ends in .yaml."""
        twin = self.path.with_suffix(".yaml")
        alone = self.path.suffix == ".yaml" or not twin.is_file()
        return self.path.stem if alone else self.path.name

    @property
    def engine(self) -> EngineSettings:
        engine = self.manifest.engine
        return engine if isinstance(engine, EngineSettings) else EngineSettings(name=engine)

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """The cast; a manifest without one has a single speaker, "narrator"."""
        return self.manifest.speakers or {"narrator": Speaker()}

    @property
    def narrator(self) -> str | None:
        """The default speaker, if there is one."""
        if self.manifest.narrator is not None:
            return self.manifest.narrator
        if not self.manifest.speakers or "narrator" in self.manifest.speakers:
            return "narrator"
        return next(iter(self.speakers)) if len(self.speakers) == 1 else None

    @property
    def lexicon(self) -> tuple[LexiconEntry, ...]:
        lexicon = self.manifest.lexicon
        if isinstance(lexicon, tuple):
            return lexicon
        return tuple(LexiconEntry(word=word, say=say) for word, say in lexicon.items())

    @property
    def series(self) -> Series | None:
        series = self.manifest.series
        return Series(name=series) if isinstance(series, str) else series

    @property
    def chapters(self) -> tuple[ChapterSettings, ...]:
        """The manifest's chapters, between the spoken credits where there are any."""
        return self._chapters()[0]

    @property
    def numbered(self) -> list[int]:
        """The places in `chapters` of those that the manifest lists: credits left out."""
        return [n for n, loc in enumerate(self._chapters()[1]) if loc[0] == "chapters"]

    def chapter_loc(self, number: int) -> Loc:
        """Where a chapter of `chapters` stands in the manifest."""
        return self._chapters()[1][number]

    def _chapters(self) -> tuple[tuple[ChapterSettings, ...], tuple[Loc, ...]]:
        if not self._listed:
            found = self._with_credits()
            chapters, places = zip(*found, strict=True)
            self._listed.append((chapters, places))
        return self._listed[0]

    def _with_credits(self) -> list[tuple[ChapterSettings, Loc]]:
        found: list[tuple[ChapterSettings, Loc]] = [
            (chapter, ("chapters", i)) for i, chapter in enumerate(self.manifest.chapters)
        ]
        spoken = self.manifest.credits
        if spoken is None:
            return found
        speaker = spoken.speaker or self.narrator or ""
        opening, closing = credits(self)
        if opening is not None:
            lines = ({speaker: opening},)
            first = ChapterSettings(title=spoken.opening_title, lines=lines)
            found.insert(0, (first, ("credits", "opening")))
        if closing is not None:
            lines = ({speaker: closing},)
            last = ChapterSettings(title=spoken.closing_title, lines=lines)
            found.append((last, ("credits", "closing")))
        return found

    @property
    def deliveries(self) -> tuple[profiles.Profile, ...]:
        """What is delivered to; empty where `output` says it without profiles."""
        return tuple(map(self.profile, self.manifest.output.profile or ()))

    def profile(self, name: str) -> profiles.Profile:
        """A profile by name, the project's own or a platform's. Raises KeyError."""
        own = self.manifest.profiles.get(name)
        if own is None:
            return profiles.PROFILES[name]
        changes = {key: getattr(own, key) for key in own.model_fields_set - {"base"}}
        return profiles.custom(name, own.base, changes)

    def line(self, *loc: str | int) -> int | None:
        """The line of a value, or of the nearest thing around it."""
        return _line(self.lines, loc)


def credits(project: Project) -> tuple[str | None, str | None]:
    """The opening and closing credits as text of the script, facts filled in and escaped.

    None for those that are not spoken. Raises KeyError for a fact that does not exist, and
    LookupError with its name for one that the manifest does not tell.
    """
    spoken = project.manifest.credits
    if spoken is None:
        return None, None
    facts = _facts(project)

    def value(match: re.Match[str]) -> str:
        if not facts[match[1]]:
            raise LookupError(match[1])
        return re.sub(r"([\\`*_{}\[\]<>#:|&~])", r"\\\1", facts[match[1]])

    def filled(template: str | None) -> str | None:
        if template is None:
            return None
        text = re.sub(r"\{(\w+)\}", value, template)
        return re.sub(r"^(\d+)([.)])|^([-+])", r"\1\\\2\3", text)  # no list begins here

    return filled(spoken.opening), filled(spoken.closing)


def _facts(project: Project) -> dict[str, str]:
    """What templates of credits can name; empty where it is not known."""
    book, series = project.manifest, project.series
    authors = book.author
    last = " and ".join(authors[-2:])
    return {
        "title": book.title,
        "subtitle": book.subtitle or "",
        "author": ", ".join((*authors[:-2], last)),
        "narrator": book.narrated_by or "",
        "series": series.name if series else "",
        "part": (series.part or "") if series else "",
        "publisher": book.publisher or "",
        "year": (book.date or "")[:4],
        "copyright": book.copyright or "",
    }


def schema() -> dict[str, Any]:
    """The JSON Schema of book.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Manifest.model_json_schema(),
        "title": "narrator book.yaml",
    }


def load(path: Path) -> Project:
    """Read and validate a manifest. Raises ManifestError with every problem found."""
    if path.is_dir():
        path = path / "book.yaml"
    reader, data = _read(path)
    lines, problems = reader.lines, reader.problems
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as error:
        problems += _problems(path, lines, error)
        rest = _without(data, error)
        if rest is not None:
            problems += _cross_checks(Project(path, rest, lines))
        raise ManifestError(sorted(set(problems), key=_order)) from None
    unseen = tuple((c, path, line, n) for c, (line, n) in reader.unseen.items())
    project = Project(path, manifest, lines, unseen)
    problems += _cross_checks(project)
    if problems:
        raise ManifestError(sorted(set(problems), key=_order))
    return project


def is_manifest(path: Path) -> bool:
    """Whether a YAML file means to be a narrator manifest; in doubt it does."""
    try:
        return "chapters" in _read(path)[1]
    except ManifestError:
        try:
            return b"chapters" in path.read_bytes().replace(b"\0", b"")
        except OSError:
            return True


def _order(problem: Problem) -> tuple[int, str]:
    return (problem.line or 0, problem.message)


# -- YAML, with lines ------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """Counts what it composes, so that a manifest full of commas does not take minutes."""

    composed = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.composed += 1
        if self.composed > NODE_LIMIT:
            raise yaml.MarkedYAMLError(
                problem=f"more than {NODE_LIMIT:,} values: put chapter text in files",
                problem_mark=self.get_mark(),
            )
        return super().compose_node(parent, index)


def _read(path: Path) -> tuple[_Nodes, Any]:
    text = _text_of(path)
    at = 0
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            reader = _Nodes(path, loader)
            data = None if node is None else reader.value(node, ())
        finally:
            at = loader.line + 1
            loader.dispose()
    except RecursionError:
        raise ManifestError(Problem(path, at, "nested too deeply")) from None
    except yaml.MarkedYAMLError as error:
        raise ManifestError(_not_yaml(path, text, error)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = text[error.position : error.position + 1]
        message = f"a control character, {found!r}, which YAML does not allow"
        raise ManifestError(Problem(path, line, message)) from None
    except yaml.YAMLError as error:
        raise ManifestError(Problem(path, None, f"not valid YAML: {error}")) from None
    except (ValueError, OverflowError):  # of chr(), within the scanner
        message = "an escape in quotes (\\U…) that is no character: take it out, or write \\\\"
        raise ManifestError(Problem(path, at, message)) from None
    if not isinstance(data, dict):
        raise ManifestError(Problem(path, 1, "empty, or not a mapping of keys to values"))
    return reader, data


def _text_of(path: Path) -> str:
    """Raises ManifestError."""
    try:
        return files.read_whole(path, SIZE_LIMIT).decode("utf-8-sig")
    except FileNotFoundError:
        raise ManifestError(
            Problem(
                path,
                None,
                "no such file; name a project's folder or its book.yaml, or write one: "
                "`narrator new DIR --from BOOK`",
            )
        ) from None
    except files.TooLarge:
        raise ManifestError(
            Problem(path, None, "larger than 4 MB: put chapter text in files")
        ) from None
    except OSError as error:
        raise ManifestError(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ManifestError(Problem(path, line, "not UTF-8: save the file as UTF-8")) from None
    except ValueError:  # a NUL in the path itself
        raise ManifestError(f"no path: {quoted(str(path))}") from None


def _not_yaml(path: Path, text: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    message = (error.problem or error.context or "not valid YAML").replace("\\t", "tab")
    if "'\\t'" in str(error) or (error.problem and "token" in error.problem and _tab(text, mark)):
        message = "a tab: YAML wants spaces for indentation"
    elif "mapping values are not allowed" in message:
        message += "; put a text that has a colon in quotes"
    elif "found another document" in message:
        message = "a second document begins here (---): a manifest is one, take the line out"
    return Problem(path, mark.line + 1 if mark else None, quoted(message, 300))


def _tab(text: str, mark: yaml.Mark | None) -> bool:
    if mark is None:
        return False
    lines = text.splitlines()
    return mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]


class _Nodes:
    """Turns YAML nodes into plain values, noting the line of each and keys that stand twice."""

    def __init__(self, path: Path, loader: yaml.SafeLoader) -> None:
        self.path = path
        self.loader = loader
        self.lines: dict[Loc, int] = {}
        self.problems: list[Problem] = []
        self.unseen: dict[str, tuple[int, int]] = {}
        """Character that cannot be seen -> line of its first place, number of places."""
        self._count = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node, loc: Loc) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(loc, line)
        self._count += 1
        if self._count > NODE_LIMIT or id(node) in self._open:
            raise ManifestError(
                Problem(self.path, line, "aliases (&name, *name) that grow without bound")
            )
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return tuple(self.value(item, (*loc, i)) for i, item in enumerate(node.value))
            return self._mapping(node, loc)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.Node, loc: Loc) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(
                    Problem(self.path, line, "a key must be a single word or text")
                )
                continue
            key = self._readable(key_node, line)
            if key_node.tag == "tag:yaml.org,2002:merge":
                message = "`<<` is not read here: write the keys out"
                self.problems.append(Problem(self.path, line, message))
                continue
            if key in first:
                message = f"'{quoted(key)}' stands twice; first on line {first[key]}"
                self.problems.append(Problem(self.path, line, message))
                continue
            first[key] = line
            self.lines[(*loc, key)] = line
            result[key] = self.value(value_node, (*loc, key))
        return result

    def _readable(self, node: yaml.ScalarNode, line: int) -> str:
        """A scalar's text; what tags, XML and file names cannot hold is noted, and replaced."""
        text = str(node.value)
        for odd in ODD.findall(text):
            first, count = self.unseen.get(odd, (line, 0))
            self.unseen[odd] = first, count + 1
        wrong = [character for character in text if _is_unreadable(character)]
        if not wrong:
            return text
        found = wrong[0]
        if "\ud800" <= found <= "\udfff":
            message = "half of a surrogate pair, which is no character"
        else:
            message = f"{found!r} in a text, which is no character that can be shown: take it out"
        self.problems.append(Problem(self.path, line, message))
        return "".join("\ufffd" if _is_unreadable(character) else character for character in text)

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        node.value = self._readable(node, line)
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "timestamp" or (kind in ("int", "float") and len(node.value) > NUMBER_LIMIT):
            return node.value
        if kind not in ("str", "null", "bool", "int", "float"):
            raise self._unread(node, line)
        try:
            value = self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError, LookupError):
            raise self._unread(node, line) from None
        if isinstance(value, int) and not isinstance(value, bool):
            value = _Integer(value)
            value.written = node.value
        elif isinstance(value, float):
            value = _Decimal(value)
            value.written = node.value
        return value

    def _unread(self, node: yaml.ScalarNode, line: int) -> ManifestError:
        """A value that is not what its tag says, whether written (`!!int x`) or found (`<<`)."""
        kind = quoted(node.tag.replace("tag:yaml.org,2002:", "!!"))
        message = f"cannot read '{quoted(node.value)}' as {kind}: take the tag away, or put the "
        return ManifestError(Problem(self.path, line, f"{message}text in quotes"))


def _is_unreadable(character: str) -> bool:
    """Controls but tab and line breaks, halves of surrogate pairs, and what XML 1.0 has not."""
    if character in "\t\n\r":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"


# -- messages --------------------------------------------------------------------------------------


def _line(lines: Mapping[Loc, int], loc: Loc) -> int | None:
    """The line of the longest prefix of `loc` that exists; tags of unions are passed over."""
    found: Loc = ()
    for part in loc:
        if (*found, part) in lines:
            found = (*found, part)
    return lines.get(found)


def _spell(loc: Loc, lines: Mapping[Loc, int], missing: bool = False) -> str:
    """`chapters[2].file`: a location as a user would write it, without the tags of unions."""
    text = ""
    seen: Loc = ()
    for i, part in enumerate(loc):
        if (*seen, part) in lines:
            seen = (*seen, part)
        elif i != len(loc) - 1 or not missing:
            continue
        name = f"[{part + 1}]" if isinstance(part, int) else quoted(part)
        text += f".{name}" if text and isinstance(part, str) else name
    return text


def _problems(path: Path, lines: Mapping[Loc, int], error: ValidationError) -> list[Problem]:
    """One problem a value: the alternatives of a union are joined by "or"."""
    found: dict[tuple[int | None, str], list[str]] = {}
    errors = error.errors()
    inside = Counter(item["loc"][:n] for item in errors for n in range(len(item["loc"]) + 1))
    for item in errors:
        if item["type"] == "too_short" and inside[item["loc"]] > 1:
            continue  # its items are there, and wrong
        loc: Loc = tuple(part for part in item["loc"] if part != "[key]")
        where = _spell(loc, lines, item["type"] == "missing")
        message = _message(loc, lines, item, guess=len(found) < GUESSES)
        messages = found.setdefault((_line(lines, loc), where), [])
        if item["type"] in _WHOLE:
            found.setdefault((_line(lines, loc), message), [""])
        elif message not in messages:
            messages.append(message)
    return [
        Problem(path, line, f"{where}: {_either(messages)}" if messages[0] else where)
        for (line, where), messages in found.items()
        if messages
    ]


def _either(messages: Sequence[str]) -> str:
    return " or ".join([*(m.partition(", not ")[0] for m in messages[:-1]), messages[-1]])


def _without(data: Any, error: ValidationError) -> Manifest | None:
    """The manifest without its wrong values, so that one report can hold the other checks too."""
    for item in error.errors():
        *way, last = item["loc"]
        place: Any = data
        for part in way:
            inside = part in place if isinstance(place, dict) else isinstance(part, int)
            if inside and isinstance(place, dict | tuple):  # not the tag of a union
                place = place[part]  # type: ignore[index]
        if not isinstance(place, dict):
            return None
        if item["type"] == "missing":
            place[last] = "?"
        elif last in place:
            del place[last]
    try:
        return Manifest.model_validate(data)
    except ValidationError:
        return None


_WHOLE = ("extra_forbidden", "missing")
"""Errors whose message names its place itself."""


def _message(loc: Loc, lines: Mapping[Loc, int], error: Any, *, guess: bool) -> str:
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        key, around = str(loc[-1]), _spell(loc[:-1], lines)
        valid = _keys_at(loc[:-1])
        close = nearest(key, valid) if guess else None
        hint = f"did you mean '{close}'?" if close else f"valid keys: {', '.join(valid)}"
        return f"unknown key '{quoted(key)}'{f' in {around}' if around else ''}; {hint}"
    if kind == "missing":
        return f"'{_spell(loc, lines, missing=True)}' is missing"
    if kind == "value_error":
        return quoted(str(error["ctx"]["error"]), 300)
    if value is None:
        return "has no value"
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return "must be a mapping of keys to values"
    if kind == "tuple_type":
        return "must be a list"
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    if kind == "string_type":
        if isinstance(value, bool):
            return "YAML reads this word as true or false; put it in quotes"
        return "must be a text"
    if kind == "literal_error":
        valid = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        close = nearest(str(value), valid) if guess else None
        hint = f"; did you mean '{close}'?" if close else ""
        return f"must be {error['ctx']['expected']}, not {_short(value)}{hint}"
    said = error["msg"].replace("Input should be", "must be").replace("String should", "must")
    shown = f", not {str(value)[:40]!r}" if isinstance(value, str | int | float) else ""
    return f"{said[0].lower()}{said[1:]}{shown}"


def _short(value: object) -> str:
    return f"'{quoted(value)}'" if isinstance(value, str) else quoted(repr(value))


def _keys_at(loc: Loc) -> list[str]:
    """Valid keys of the model that stands at a location."""
    kinds: list[Any] = [Manifest]
    for part in loc:
        inner: list[Any] = []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                if part in kind.model_fields:
                    inner += _flat(kind.model_fields[str(part)].annotation)
            elif typing.get_origin(kind) is dict:
                inner += _flat(typing.get_args(kind)[1])
            elif typing.get_origin(kind) is tuple:
                inner += _flat(typing.get_args(kind)[0])
        kinds = inner or kinds
    return [
        name
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name in kind.model_fields
    ]


def _flat(annotation: Any) -> Iterator[Any]:
    """The alternatives of a type, without `Annotated`."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        yield from _flat(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for choice in typing.get_args(annotation):
            yield from _flat(choice)
    else:
        yield annotation


# -- what one value says of another ----------------------------------------------------------------


def preset_path(root: Path, name: str) -> Path | None:
    """A voice preset by its name: the project's own, else the user's library's."""
    for folder in (root / "voices", files.library() / "voices"):
        path = folder / f"{name}.voice"
        with contextlib.suppress(OSError, ValueError):  # a name that no file system takes
            if Path(name).name == name and path.is_file():
                return path
    return None


_IMAGES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG"}


def _cross_checks(project: Project) -> list[Problem]:
    problems: list[Problem] = []

    def wrong(message: str, *loc: str | int) -> None:
        problems.append(Problem(project.path, project.line(*loc), message))

    def unknown(kind: str, name: str, choices: Mapping[str, object], *loc: str | int) -> None:
        if name not in choices:
            guess = nearest(name, list(choices)) if len(problems) < GUESSES else None
            declare = f"declare it under `{kind}s`"
            if kind == "voice":
                declare += ", or make a preset: narrator voices add, narrator voices design"
            hint = f"did you mean '{guess}'?" if guess else f"{declare}"
            wrong(f"unknown {kind} '{quoted(name)}'; {hint}", *loc)

    def exists(name: str, *loc: str | int) -> bool:
        target = project.root / name
        try:
            real = target.resolve()
            if not any(real.is_relative_to(place) for place in allowed):
                wrong(_outside(name, real), *loc)
                return False
            if target.is_file():
                return True
            beside = [p.name for p in target.parent.iterdir()] if len(problems) < GUESSES else []
        except (OSError, ValueError, RuntimeError):  # no folder, no name, links in a circle
            beside = []
        guess = nearest(target.name, beside)
        hint = f"; did you mean '{guess}'?" if guess else ""
        wrong(f"no such file: {quoted(name, 400)}{hint}", *loc)
        return False

    manifest = project.manifest
    allowed = [project.root.resolve()]
    for i, folder in enumerate(manifest.outside):
        place = project.root / folder
        if _is_folder(place):
            allowed.append(place.resolve())
        else:
            wrong(f"no such folder: {quoted(folder, 400)}", "outside", i)
    labels: dict[str, str] = {}
    for name, speaker in manifest.speakers.items():
        for label in (name, *speaker.aliases):
            other = labels.setdefault(seen(label).casefold(), name)
            if other != name:
                wrong(f"'{quoted(label)}' already names the speaker '{quoted(other)}'",
                      "speakers", name)  # fmt: skip
            if not seen(label).strip() or any(c in label for c in ":()[]{}\n*"):
                wrong(f"a speaker's name may not hold any of : ( ) [ ] {{ }} *: '{quoted(label)}'",
                      "speakers", name)  # fmt: skip
        if isinstance(speaker.voice, str):
            if preset_path(project.root, speaker.voice) is None:
                unknown("voice", speaker.voice, manifest.voices, "speakers", name, "voice")
        elif speaker.voice is not None and speaker.voice.reference is not None:
            exists(speaker.voice.reference, "speakers", name, "voice", "reference")
    for name, voice in manifest.voices.items():
        if voice.reference is not None:
            exists(voice.reference, "voices", name, "reference")
    if manifest.narrator is not None:
        unknown("speaker", manifest.narrator, project.speakers, "narrator")
    for i, chapter in enumerate(manifest.chapters):
        if chapter.file is not None:
            exists(chapter.file, "chapters", i, "file")
        if chapter.speaker is not None:
            unknown("speaker", chapter.speaker, project.speakers, "chapters", i, "speaker")
    for i, entry in enumerate(project.lexicon):
        if entry.speaker is not None:
            unknown("speaker", entry.speaker, project.speakers, "lexicon", i, "speaker")
    named: dict[str, int] = {}
    for i, piece in enumerate(manifest.music):
        exists(piece.file, "music", i, "file")
        first = named.setdefault((piece.name or f"[{i}]").casefold(), i)
        if first != i:
            called = quoted(piece.name or "")
            wrong(f"music '{called}' stands twice; first in music[{first + 1}]",
                  "music", i, "name")  # fmt: skip
    if manifest.source is not None:
        exists(manifest.source, "source")
    if manifest.cover is not None and exists(manifest.cover, "cover"):
        with (project.root / manifest.cover).open("rb") as file:
            magic = file.read(8)
        if not any(magic.startswith(start) for start in _IMAGES):
            wrong(f"the cover is no JPEG or PNG image: {quoted(manifest.cover, 200)}", "cover")
    _check_delivery(project, wrong, unknown)
    return problems


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError, RuntimeError):
        return False


def _outside(name: str, real: Path) -> str:
    """What is said of a file that is not the project's, in its folder or by a link."""
    written = Path(name)
    linked = not (written.is_absolute() or ".." in written.parts)
    folder = quoted(str(real.parent if linked else written.parent), 400)
    return (
        f"{quoted(name, 400)} {'leads' if linked else 'lies'} outside of the project: copy it into "
        f"the project, or allow its folder: outside: [{folder}]"
    )


NAME_FIELDS = ("title", "author", "narrator", "series", "part", "year", "publisher", "language")
"""Facts that names of files can hold; a chapter's also `number`, `chapter`, the book's `name`."""


def _check_delivery(
    project: Project, wrong: Callable[..., None], unknown: Callable[..., None]
) -> None:
    """Names of files, profiles, the sample, the credits."""
    manifest, output = project.manifest, project.manifest.output
    every = (*NAME_FIELDS, "number", "chapter", "name")

    def template(text: str, known: Sequence[str], *loc: str) -> None:
        for field in re.findall(r"\{(\w*)\}", text):
            if field not in known:
                names = ", ".join(f"{{{name}}}" for name in known)
                wrong(f"{'.'.join(loc)}: no field {{{quoted(field)}}}; use {names}", *loc)

    template(output.name, NAME_FIELDS, "output", "name")
    folders: dict[str, str] = {}
    for name, own in manifest.profiles.items():
        first = folders.setdefault(name.casefold(), name)
        if name.casefold() in profiles.PROFILES:
            wrong(f"'{name}' is a platform's profile: give yours another name", "profiles", name)
        elif first != name:
            wrong(f"'{quoted(name)}' and '{quoted(first)}' would share a folder: give one another "
                  "name", "profiles", name)  # fmt: skip
        if re.search(r'[<>:"/\\|?*\s.]', name) or seen(name) != name:
            wrong(f"a profile names a folder: letters, digits, - and _, not '{quoted(name)}'",
                  "profiles", name)  # fmt: skip
        template(own.book_name or "", NAME_FIELDS, "profiles", name, "book_name")
        template(own.chapter_name or "", every, "profiles", name, "chapter_name")
    for name in output.profile or ():
        unknown("profile", name, {**profiles.PROFILES, **manifest.profiles}, "output", "profile")
    if output.sample is not None:
        chapters = {str(i + 1) for i in range(len(manifest.chapters))}
        titles = [chapter.title for chapter in manifest.chapters]
        if output.sample.chapter not in chapters:
            unknown("chapter", output.sample.chapter, titles, "output", "sample", "chapter")
    length = (output.sample or Sample()).seconds
    known = {**profiles.PROFILES, **manifest.profiles}
    for name in output.profile or ():
        span = project.profile(name).sample if name in known else None
        if span is not None and length < span[0]:
            wrong(f"profile {name} asks for a sample of {span[0]:g} s or more: raise "
                  f"output.sample.seconds, which is {length:g}",
                  "output", "sample", "seconds")  # fmt: skip
    _check_credits(project, wrong, unknown)


def _check_credits(
    project: Project, wrong: Callable[..., None], unknown: Callable[..., None]
) -> None:
    spoken = project.manifest.credits
    known = {**profiles.PROFILES, **project.manifest.profiles}
    if spoken is None:
        for name in project.manifest.output.profile or ():
            if name in known and project.profile(name).credits:
                wrong(f"profile {name} asks for opening and closing credits: add `credits: {{}}`, "
                      "or your own under it", "output", "profile")  # fmt: skip
        return
    if spoken.speaker is not None:
        unknown("speaker", spoken.speaker, project.speakers, "credits", "speaker")
    elif project.narrator is None:
        wrong("nobody speaks the credits: name a `speaker`", "credits")
    try:
        credits(project)
    except KeyError as error:
        names = ", ".join(f"{{{name}}}" for name in _facts(project))
        wrong(f"credits: no field {{{quoted(error.args[0])}}}; use {names}", "credits")
    except LookupError as error:
        key = {"narrator": "narrated_by", "part": "series", "year": "date"}
        name = error.args[0]
        wrong(f"the credits name {{{name}}}, but the manifest has no `{key.get(name, name)}`",
              "credits")  # fmt: skip
