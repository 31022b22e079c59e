"""The models of `book.yaml`: one definition validates, documents and completes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    create_model,
    model_validator,
)

from narrator.engines.registry import ENGINES
from narrator.project import profiles
from narrator.project.dates import is_date
from narrator.project.engine_choice import (
    DEFAULT_ENGINE,
    ChapterEngine,
    ChapterEngineChoice,
    EngineChoice,
    check_chapters,
    complete_names,
    voices_of_extensions,
)
from narrator.settings import Described, Strict, Text, Written, shape_of
from narrator.sound.formats import FormatName
from narrator.text.normalize.lexicon import LexiconEntry, validate_say
from textbase import languages
from textbase.characters import strip_invisible


def _as_list(setting: object) -> object:
    return setting if isinstance(setting, tuple) else (setting,)


def _require_visible(text: str) -> str:
    if not (visible_text := strip_invisible(text)).strip():
        raise ValueError("holds nothing that can be seen")
    return visible_text


Shown = Annotated[Text, AfterValidator(_require_visible)]
"""A text for tags and names of files, without characters that cannot be seen."""
Texts = Annotated[
    tuple[Shown, ...],
    BeforeValidator(_as_list, json_schema_input_type=str | int | float | tuple[Shown, ...]),
    Field(min_length=1),
]
Seconds = Annotated[float, Field(ge=0, le=60)]


def _require_distinct(entries: tuple[str, ...]) -> tuple[str, ...]:
    folded_entries: set[str] = set()
    for entry in entries:
        if entry.casefold() in folded_entries:
            raise ValueError(f"'{entry}' occurs twice")
        folded_entries.add(entry.casefold())
    return entries


Distinct = AfterValidator(_require_distinct)
"""Of a list in which everything stands once, whatever its case: folders are named by it."""


def _require_date(text: str) -> str:
    if not is_date(text):
        raise ValueError(f"must be YYYY, YYYY-MM or YYYY-MM-DD, a day that is, not {text!r}")
    return text


Date = Annotated[Text, AfterValidator(_require_date)]


Language = Annotated[
    Text,
    AfterValidator(languages.validate_tag),
    Field(json_schema_extra={"pattern": languages.TAG}),
]


ChainMode = Literal["anchored", "continuation", "reference"]


class Rights(Strict):
    """The rights in a recording that a voice imitates. They stay in the project, unless they are
    published."""

    origin: Text | None = None
    """Where the recording comes from: who speaks, when, for what."""
    consent: Text | None = None
    """Who has agreed to its use as a voice, and how."""
    publish: bool = False
    """True if origin and consent are told in the description of a book's files."""

    @model_validator(mode="after")
    def _complete(self) -> Rights:
        if self.publish and self.origin is None:
            raise ValueError("`publish` needs an `origin` to publish")
        return self

    @property
    def credit(self) -> str:
        """Both in a line; empty if neither is noted."""
        consent = None if self.consent is None else f"Consent: {self.consent}"
        texts = (text.rstrip(". ") for text in (self.origin, consent) if text)
        return " ".join(f"{text}." for text in texts)


class VoiceSettings(Strict):
    """A reference clip with its exact transcript, or a description to design a voice from."""

    reference: Text | None = None
    """A clip of the voice, 5 to 10 seconds long."""
    transcript: Text | None = None
    """The exact words of the clip."""
    description: Text | None = None
    """Description of the voice, instead of a clip: sex, age, manner, distance."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    """Seed: another one designs another voice from the same description."""
    style: Text | None = None
    """Default style of the voice, if neither speaker nor line has one."""
    rights: Rights | None = None
    """The rights in the clip; a preset has its own."""

    @model_validator(mode="after")
    def _complete(self) -> VoiceSettings:
        if self.reference is None and self.description is None:
            raise ValueError("a voice needs a `reference` clip or a `description`")
        if self.reference is not None and self.transcript is None:
            raise ValueError("a `reference` needs its exact `transcript`")
        if self.rights is not None and self.reference is None:
            raise ValueError("`rights` are those in a `reference` clip")
        return self


class ChainOverrides(Strict):
    """As `chain` of the book, for one chapter or speaker; a speaker's takes precedence over a
    chapter's."""

    mode: ChainMode | None = None
    """As in `chain`."""
    max_chunks: int | None = Field(default=None, ge=1, le=64)
    """As in `chain`."""


VoiceChoice = Annotated[
    Annotated[Text, Tag("scalar")] | Annotated[VoiceSettings, Tag("mapping")],
    Discriminator(shape_of),
]


class Mastering(Strict):
    """Filters and corrections for every take of a speaker, before the speakers are levelled with
    each other and the loudness is set. Takes are not rendered anew."""

    high_pass: float | None = Field(default=None, ge=20, le=200)
    """Frequency in Hz below which sound is removed: rumble, hum."""
    de_ess: float | None = Field(default=None, ge=0, le=1)
    """Reduction of sharp s sounds: 0.3 is gentle, up to 4 dB; 1 is up to 12 dB."""
    levelling: bool = True
    """True if takes that are louder or softer than the speaker usually is are brought closer to
    that, unless their text asks for it."""
    pace: Literal["free", "keep"] = "free"
    """keep: takes that are much faster or slower than the speaker usually is are stretched by up to
    6 %."""


def _normalize_plays(
    characters: tuple[str, ...] | dict[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    _require_distinct(tuple(characters))
    return dict.fromkeys(characters, ()) if isinstance(characters, tuple) else characters


if TYPE_CHECKING:
    Played = dict[str, tuple[str, ...]]
else:
    _Others = Annotated[
        tuple[Text, ...],
        BeforeValidator(
            lambda names: () if names is None else names,
            json_schema_input_type=tuple[Text, ...] | None,
        ),
    ]
    Played = Annotated[
        Annotated[tuple[Text, ...], Tag("scalar")] | Annotated[dict[Text, _Others], Tag("mapping")],
        Discriminator(shape_of),
        AfterValidator(_normalize_plays),
    ]
"""Characters by name, with their other names."""


class _SpeakerOfAnyEngine(Strict):
    _extension_voices: dict[str, Strict] = PrivateAttr({})

    voice: VoiceChoice | None = None
    """A name under `voices`, the name of a preset, or the speaker's own voice."""
    style: Text | None = None
    """Style of all the speaker's lines; a line's own style takes precedence."""
    engine: EngineChoice | None = None
    """What speaks this speaker's lines, where it is not the book's: a name, or a name with
    settings. Without a name it is the book's engine; what is not set is as in `engine`, or that
    other engine's default. These settings count before a chapter's."""
    chain: ChainOverrides = ChainOverrides()
    """As `chain` of the book, for this speaker."""
    gain: float = Field(default=0.0, ge=-24, le=24)
    """dB, added to the automatic levelling between speakers."""
    speed: float = Field(default=1.0, ge=0.5, le=2.0)
    """Speed: 1.1 is ten per cent faster, at the same pitch."""
    language: Language | None = None
    """The speaker's language, if it is not the chapter's."""
    aliases: tuple[Text, ...] = ()
    """Other names in the script. Several members of the cast may share one; as a label it means the
    first."""
    pronoun: Text | None = None
    """he, she, they, it, or another, for narration that names speakers by pronoun."""
    plays: Played = Field(default={})
    """Other characters with this voice, each under its own name: [Mrs. Hall, Lucy], or with their
    aliases: {Mrs. Hall: [Jenny], Lucy: []}."""


if TYPE_CHECKING:
    _SpeakerOfEngines = _SpeakerOfAnyEngine
else:  # what each engine brings, under its name
    _SpeakerOfEngines = create_model(
        "_SpeakerOfEngines",
        __base__=_SpeakerOfAnyEngine,
        **{kind.name: (kind.voice, kind.voice()) for kind in ENGINES.values() if kind.voice},
    )


class Speaker(_SpeakerOfEngines):
    """A member of the cast."""

    mastering: Mastering | None = None
    """Filters and corrections of this speaker, instead of `output.mastering`."""

    @model_validator(mode="wrap")
    @classmethod
    def _parse_extension_voices(cls, settings: Any, handler: Callable[[Any], Speaker]) -> Speaker:
        """Keys that name engines of other packages hold voices as these define them."""
        if not isinstance(settings, dict):
            return handler(settings)
        voices = voices_of_extensions(settings, cls.model_fields)
        speaker = handler({key: settings[key] for key in settings if key not in voices})
        speaker._extension_voices = voices
        return speaker

    @property
    def engine_voices(self) -> Mapping[str, Strict]:
        """The speaker's voices in engines that have voices of their own, by the engine's name."""
        own_names = (spec.name for spec in ENGINES.values() if spec.name in type(self).model_fields)
        return {name: getattr(self, name) for name in own_names} | self._extension_voices


def _or_defaults(setting: object) -> object:
    return {} if setting is None else setting


CastMember = Annotated[
    Speaker, BeforeValidator(_or_defaults, json_schema_input_type=Speaker | None)
]
"""`Ada:` with nothing behind it is a speaker with every default."""

ScriptLine = Annotated[
    Annotated[Text, Tag("scalar")]
    | Annotated[dict[Text, Text], Field(min_length=1, max_length=1), Tag("mapping")],
    Discriminator(shape_of),
]


class ChapterSettings(Strict):
    """A chapter: its title for chapter marks and tags, and its text in a file or in place."""

    title: Shown
    """Title in chapter marks, tags and file names; the heading in the text is what is spoken."""
    file: Text | None = None
    """File with the text; either this or `lines`."""
    lines: tuple[ScriptLine, ...] | None = None
    """The text in place: strings as in a chapter's file, or `name: text`."""
    speaker: Text | None = None
    """The speaker of text without a label, instead of `narrator`."""
    first_person: Text | None = None
    """Who says “I” in the chapter's narration, instead of `dialogue.first_person` and of what
    headings such as “Ada's journal” tell."""
    language: Language | None = None
    """The chapter's language, if it is not the book's."""
    engine: ChapterEngineChoice = Field(default_factory=ChapterEngine)
    """Settings for this chapter, for every engine that has them."""
    chain: ChainOverrides = ChainOverrides()
    """As `chain` of the book, for this chapter."""

    @model_validator(mode="after")
    def _one_source(self) -> ChapterSettings:
        if (self.file is None) == (self.lines is None):
            raise ValueError("a chapter needs either `file` or `lines`")
        return self


class Pauses(Strict):
    """Seconds of silence between takes; the takes themselves are trimmed."""

    clause: Seconds = 0.12
    """Between parts of a sentence that is too long for one chunk."""
    sentence: Seconds = 0.35
    """Between chunks of one line."""
    line: Seconds = 0.6
    """Between lines of one speaker. With the default, short neighbouring lines are spoken together;
    with any other value, each line separately."""
    speaker: Seconds = 0.45
    """Between lines of different speakers."""
    heading: Seconds = 1.2
    """Before and after a heading."""
    scene: Seconds = 1.8
    """At a scene break."""
    head: Seconds = 0.75
    """Before the first word of a chapter."""
    tail: Seconds = 1.5
    """After the last word of a chapter."""


class Dialogue(Strict):
    """Direct speech within paragraphs, and its tags."""

    tags: Literal["narrator", "speaker", "skip"] = "narrator"
    """Who says “said Ada”: the narrator or the quoted speaker; skip leaves it out and lists it."""
    cast: Literal["given", "found"] = "given"
    """found: `narrator cast` found the characters, so its decisions are less sure; remove it once
    the names are right."""
    first_person: Text | None = None
    """Who says “I” in the narration where no heading (“Ada's journal”) names another. By default
    the narrator, if that is a named character."""
    nested: Literal["teller", "voices"] = "teller"
    """Who says what is quoted within a tale (a quotation over several paragraphs): its teller;
    voices: those whom `narrator cast` or you name, each in their own voice."""


class Chain(Strict):
    """How a chunk continues from the previous take of the same speaker."""

    mode: ChainMode = "anchored"
    """anchored: each chunk is given its voice's reference and the previous take; continuation: only
    the previous take; reference: only the reference, which is fastest, since all chunks are
    independent."""
    max_chunks: int = Field(default=8, ge=1, le=64)
    """Number of chunks after which a new chain starts from the reference."""


class ChunkSettings(Strict):
    """Length of chunks, each of which is spoken in one go."""

    styled_seconds: float | None = Field(default=None, ge=6, le=14)
    """Seconds of speech that a chunk with a style should have at most; by default 14, as without a
    style. A sentence is cut only if it is more than 4 s longer. A change cuts and renders text with
    a style anew."""


class Checks(Strict):
    """Checks that a take must pass before it is stored."""

    recognition: Literal["never", "suspicious", "all"] = "never"
    """Which takes a recogniser hears and compares with their text (an optional extra)."""
    recogniser: str = "auto"
    """The recogniser: a model by name (small.en, large-v3-turbo), hub id or folder, or another
    package's recogniser; `auto` is the model that `narrator models pull recogniser` fetches."""
    text_error: float | None = Field(default=None, ge=0.01, le=1)
    """Share of words that may be misheard; the default depends on the language."""
    heard_as: Mapping[str, Texts] = {}
    """Words, and what a recogniser writes where they are said right: {Aoife: Eefa}."""
    loudness: float = Field(default=8.0, ge=3, le=40)
    """Largest difference in dB between a take and its speaker's median."""
    tries: int = Field(default=3, ge=1, le=10)
    """Tries of a chunk, and of each of its halves, before the best one is used anyway."""
    best_of: int = Field(default=1, ge=1, le=10)
    """Good tries of a chunk, of which the best becomes its take; for engines that vary."""
    strict: bool = False
    """True if a chunk without a good try holds its chapter back; otherwise the best try is used and
    reported."""


Loudness = Literal["audiobook", "acx", "podcast"] | Annotated[float, Field(ge=-40, le=-8)]
Formats = Annotated[
    tuple[FormatName, ...],
    BeforeValidator(_as_list, json_schema_input_type=FormatName | tuple[FormatName, ...]),
    Field(min_length=1),
    Distinct,
]


def _parse_channels(setting: object) -> object:
    return {"mono": 1, "stereo": 2}.get(setting, setting) if isinstance(setting, str) else setting


Channels = Annotated[
    Literal[1, 2],
    BeforeValidator(_parse_channels, json_schema_input_type=Literal[1, 2, "mono", "stereo"]),
]
RoomTone = Annotated[float, Field(ge=-85, le=-50)]


class Sample(Strict):
    """An excerpt of one chapter, for prospective buyers."""

    chapter: Annotated[str, Written] = "1"
    """Title of the chapter, or its number in the manifest."""
    start: float = Field(default=0.0, ge=0)
    """Seconds from the start of the chapter; the excerpt begins with the next words."""
    seconds: float = Field(default=180.0, ge=5, le=300)
    """Longest duration in seconds; the excerpt ends at a pause."""


class Output(Strict):
    """The finished files."""

    formats: Formats = ("m4b",)
    """One format or several; an M4B is one file with the whole book and its chapters."""
    loudness: Loudness = "audiobook"
    """LUFS, or a platform's target: audiobook (-18 LUFS), acx, podcast (-16 LUFS)."""
    true_peak: float | None = Field(default=None, ge=-12, le=0)
    """dBTP; by default the target's ceiling."""
    bitrate: int | None = Field(default=None, ge=16, le=320)
    """kbit/s; by default the codec's."""
    sample_rate: Literal[16000, 22050, 24000, 32000, 44100, 48000] | None = None
    """Hz; by default the engine's, if the codec supports it."""
    channels: Channels | None = None
    """mono or stereo; by default stereo if any music of the book is."""
    room_tone: RoomTone | None = profiles.ROOM_TONE
    """Level in dB RMS of quiet noise under everything, in place of digital silence; null for
    none."""
    files: Literal["book", "chapters", "both"] = "both"
    """One file for the book (as M4B always is), one per chapter, or both."""
    name: Text = "{author} - {title}"
    """Name of the book's file, made from {title}, {author}, {narrator}, {series}, {part}, {year},
    {publisher}, {language}; `/` makes folders."""
    profile: Annotated[Texts, Distinct] | None = None
    """One or several of acx, audiobookshelf, apple-podcasts, spotify, ebu-r128, archive, and those
    under `profiles`, instead of the keys above; each has its own folder."""
    sample: Sample | None = None
    """The retail sample of profiles that require one; by default three minutes of the first
    chapter."""
    mastering: Mastering = Mastering()
    """Filters and corrections for the takes of all speakers without their own."""
    companions: Annotated[
        tuple[Literal["vtt", "srt", "chapters", "cue", "labels", "readalong"], ...], Distinct
    ] = ()
    """Files next to the audio: subtitles with speakers (vtt, srt), chapter lists (chapters:
    Podcasting 2.0, cue), labels for an audio editor, a read-along EPUB (readalong)."""
    chunk_ids: bool = False
    """True if subtitles name the chunk of each caption (3.12), as labels do, for
    proof-listening."""
    highlight: Literal["sentences", "words"] = "sentences"
    """What a read-along highlights: sentences, or each word whose time is known; with words, vtt
    contains word times too."""
    mark: bool = True
    """True if files say what they are: IPTC's digital source type and the engine, in tags, feeds
    and read-alongs."""

    @model_validator(mode="after")
    def _one_way(self) -> Output:
        """Refuse keys of files beside a profile, which decides them."""
        output_keys = self.model_fields_set - {
            "profile",
            "sample",
            "mastering",
            "companions",
            "chunk_ids",
            "highlight",
            "mark",
        }
        if self.profile is not None and output_keys:
            raise ValueError(
                f"`{min(output_keys)}` has no effect beside `profile`: put it into a profile of "
                "your own, under `profiles`, with a `base`"
            )
        return self


Pixels = Annotated[int, Field(ge=1, le=65_535)]


class ProfileSettings(Strict):
    """Your own profile; what it does not set is as in its base."""

    base: Literal["acx", "audiobookshelf", "apple-podcasts", "spotify", "ebu-r128", "archive"]
    """The profile that it is based on."""
    formats: Formats | None = None
    """As in `output`."""
    files: Literal["book", "chapters", "both"] | None = None
    """As in `output`."""
    kind: Literal["LUFS", "RMS"] | None = None
    """Kind of loudness: integrated, or ungated RMS."""
    loudness: float | None = Field(default=None, ge=-40, le=-8)
    """Target loudness; null keeps the level."""
    tolerance: float | None = Field(default=None, ge=0.2, le=10)
    """Tolerance of the loudness in LU or dB."""
    true_peak: float | None = Field(default=None, ge=-12, le=0)
    """dBTP."""
    peak: float | None = Field(default=None, ge=-12, le=0)
    """Sample peak limit, dB."""
    noise_floor: float | None = Field(default=None, ge=-100, le=-30)
    """dB RMS."""
    room_tone: RoomTone | None = None
    """dB RMS of quiet noise instead of digital silence; null for none."""
    head: tuple[Seconds, Seconds] | None = None
    """Shortest and longest silence before the first sound, seconds."""
    tail: tuple[Seconds, Seconds] | None = None
    """Shortest and longest silence after the last sound, seconds."""
    gap: Seconds | None = None
    """Longest digital silence within a file, seconds."""
    longest: float | None = Field(default=None, gt=0)
    """Longest file, minutes."""
    bitrate: int | None = Field(default=None, ge=16, le=320)
    """kbit/s."""
    bitrate_mode: Literal["constant", "variable"] | None = None
    """Bitrate mode of MP3."""
    sample_rate: Literal[16000, 22050, 24000, 32000, 44100, 48000] | None = None
    """Hz."""
    channels: Channels | None = None
    """mono or stereo; null follows the book's music."""
    sample: (
        tuple[Annotated[float, Field(ge=0, le=300)], Annotated[float, Field(ge=5, le=300)]] | None
    ) = None
    """Shortest and longest retail sample, seconds; null for none."""
    credits: bool | None = None
    """True if opening and closing credits are required."""
    cover: bool | None = None
    """True if files must have a cover."""
    cover_square: bool | None = None
    """True if the cover must be square."""
    cover_pixels: tuple[Pixels, Pixels] | None = None
    """Smallest and largest longer side of the cover, pixels: a smaller cover is refused, a larger
    one scaled down."""
    genre: Text | None = None
    """Default genre."""
    book_name: Text | None = None
    """Name of the book's file, as `output.name`."""
    chapter_name: Text | None = None
    """Name of a chapter's file; also from {number}, {chapter} and {name}, the book's name."""

    @model_validator(mode="after")
    def _not_null(self) -> ProfileSettings:
        """Refuse null where a value is needed, and spans that cannot be met."""
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
            if span is not None and span[1] - span[0] < 2 * profiles.SILENCE_MARGIN - 1e-9:
                raise ValueError(
                    f"`{name}` needs {2 * profiles.SILENCE_MARGIN:g} s between least and most: "
                    f"sound is not found to the hundredth, and {list(span)} leaves no room"
                )
        return self

    @model_validator(mode="after")
    def _can_be_met(self) -> ProfileSettings:
        if fault := profiles.find_contradiction(self.base, self.changes):
            raise ValueError(fault)
        return self

    @property
    def changes(self) -> dict[str, Any]:
        """What it says otherwise than its base."""
        return {key: getattr(self, key) for key in self.model_fields_set - {"base"}}


class Credits(Strict):
    """Credits spoken before the first chapter and after the last, as chapters of their own.
    Templates may contain {title}, {subtitle}, {author}, {narrator}, {series}, {part}, {publisher},
    {year}, {copyright} and {disclosure}, and marks of the script, such as [pause 1s]."""

    opening: Text | None = "{title}. Written by {author}. Narrated by {narrator}."
    """Before the first chapter; null for none."""
    closing: Text | None = (
        "This has been {title}. Written by {author}. Narrated by {narrator}. The end."
    )
    """After the last chapter; null for none."""
    speaker: Text | None = None
    """Speaker of the credits; by default the narrator."""
    opening_title: Shown = "Opening credits"
    """Title of the opening credits in chapter marks and file names."""
    closing_title: Shown = "Closing credits"
    """Title of the closing credits in chapter marks and file names."""


class Series(Strict):
    """The series a book belongs to."""

    name: Shown
    """Name of the series."""
    part: Shown | None = None
    """Number of the part: 7."""


SeriesChoice = Annotated[
    Annotated[Shown, Tag("scalar")] | Annotated[Series, Tag("mapping")], Discriminator(shape_of)
]


class SpeechSettings(Strict, extra="ignore"):
    """Of a manifest what a voice needs to be heard; the rest may be wrong yet."""

    language: Language = "en"
    engine: EngineChoice = Field(default_factory=DEFAULT_ENGINE.settings)


def _lexicon_kind(lexicon: object) -> str:
    return "mapping" if isinstance(lexicon, dict) else "list"


LexiconChoice = Annotated[
    Annotated[dict[Text, Annotated[str, Written, AfterValidator(validate_say)]], Tag("mapping")]
    | Annotated[tuple[LexiconEntry, ...], Tag("list")],
    Discriminator(_lexicon_kind),
]


class Music(Strict):
    """Music before, after or under the words of chapters."""

    file: Text
    """Audio file, in any format that FFmpeg reads."""
    place: Literal["intro", "outro", "bed"]
    """Before the first word of a chapter, after its last, or under its words."""
    chapters: Annotated[
        tuple[Text, ...],
        BeforeValidator(_as_list, json_schema_input_type=str | int | tuple[str | int, ...]),
    ] = ()
    """Numbers or titles of chapters, not counting credits. By default an intro plays before the
    first chapter, an outro after the last, a bed in every chapter."""
    scene: int | None = Field(default=None, ge=1)
    """Scene of a bed, counted within its chapter; by default the whole chapter."""
    name: Text | None = None
    """Name of a bed for the script: [music: name] until [music: off] or other music."""
    gain: float | None = Field(default=None, ge=-60, le=12)
    """Level relative to the speech of the book in LU, whatever the file's own loudness; by default
    -3, for a bed -14."""
    duck: float | None = Field(default=None, ge=0, le=60)
    """Reduction under words in dB; by default 17, for a bed 6, so that all music is 20 dB below
    speech."""
    attack: Seconds = 0.5
    """Seconds of the fade before words begin."""
    release: Seconds = 1.0
    """Seconds of the fade after words end; pauses too short for both stay ducked."""
    fade_in: Seconds | None = None
    """Seconds; by default 0, for a bed 2, before its first word."""
    fade_out: Seconds | None = None
    """Seconds; by default 0, for a bed 3, after its last word."""
    overlap: Seconds = 0.0
    """Seconds of an intro that play under the first words, or of an outro under the last."""
    seconds: float | None = Field(default=None, ge=0.5, le=36_000)
    """Seconds of the file to play; by default all."""
    loop: bool | Annotated[float, Field(ge=0, le=30)] = False
    """True if a bed is repeated as long as needed, or the seconds of the crossfade from its end to
    its beginning."""

    @model_validator(mode="after")
    def _fits_its_place(self) -> Music:
        """Refuse keys that are for music at other places."""
        set_keys = self.model_fields_set
        keys_of_other_places = {"overlap"} if self.place == "bed" else {"scene", "name", "loop"}
        if wrong_keys := sorted(set_keys & keys_of_other_places):
            kind = "a bed" if self.place != "bed" else "an intro or an outro"
            raise ValueError(f"`{wrong_keys[0]}` is for {kind}, not for `place: {self.place}`")
        if self.name is not None:
            if excess_keys := sorted(set_keys & {"chapters", "scene"}):
                raise ValueError(
                    f"the script says where `name` plays: leave out `{excess_keys[0]}`"
                )
            if self.name.casefold() == "off" or any(
                character in self.name for character in "[]\\\n"
            ):
                raise ValueError(
                    f"not a name for music: {self.name!r}; [music: off] ends what plays"
                )
        return self


class Manifest(Strict):
    """A whole book.yaml, as written; `Project` answers what follows from it."""

    title: Shown
    """Title of the book or episode."""
    subtitle: Shown | None = None
    """For tags and credits."""
    author: Texts
    """One author or several."""
    language: Language = "en"
    """The main language, for numbers, sentences and voices: en, en-GB, de. [language: el] in a text
    changes it for some lines."""
    cover: Text | None = None
    """A JPEG or PNG file."""
    outside: tuple[Text, ...] = ()
    """Folders outside the project that may contain its files: ../shared-voices."""
    source: Text | None = None
    """The EPUB that the book was imported from; its pages become the read-along edition."""
    identifiers: dict[Text, Text] = Field(default={})
    """Identifiers by kind: {isbn: …, asin: …, uuid: …}."""
    series: SeriesChoice | None = None
    """Name of the series, or name and part: {name: Small Machines, part: 7}."""
    publisher: Shown | None = None
    """For tags and credits."""
    date: Date | None = None
    """Date of publication: YYYY, YYYY-MM or YYYY-MM-DD."""
    description: Shown | None = None
    """For tags and feeds."""
    genre: Shown | None = None
    """For tags; by default the profile's."""
    copyright: Shown | None = None
    """Copyright notice, for tags and credits."""
    disclosure: Shown | None = None
    """A sentence that tells listeners that the voices are synthetic. It ends the description in
    tags, feeds and read-alongs, and credits speak it as {disclosure}."""
    narrated_by: Shown | None = None
    """The narrator's name for tags and credits, for example AI Voice."""
    engine: EngineChoice = Field(default_factory=DEFAULT_ENGINE.settings)
    """The engine that speaks: its name, or its name with settings."""
    speakers: dict[Text, CastMember] = Field(default={})
    """The cast, by the names used in the script. By default a single speaker, narrator, reads
    everything."""
    narrator: Text | None = None
    """The speaker of text without a label. By default narrator, if the cast has one, or its only
    member."""
    voices: dict[Text, VoiceSettings] = Field(default={})
    """Voices by name, for speakers who share them."""
    dialogue: Dialogue = Dialogue()
    """Direct speech within paragraphs."""
    chapters: Annotated[tuple[ChapterSettings, ...], Field(min_length=1)]
    """The chapters, in order."""
    pauses: Pauses = Pauses()
    """Silence between takes."""
    chain: Chain = Chain()
    """How chunks continue from previous takes."""
    chunks: ChunkSettings = ChunkSettings()
    """Length of chunks."""
    checks: Checks = Checks()
    """Checks that a take must pass."""
    allow: Annotated[tuple[Literal["synthetic-narration", "unknown-origin"], ...], Distinct] = ()
    """Warnings that `check` leaves out: that a profile's shop has terms for synthetic voices
    (synthetic-narration), and that a recorded voice has no noted origin (unknown-origin)."""
    lexicon: LexiconChoice = ()
    """Pronunciation of words: {word: spoken}, or entries with conditions."""
    output: Output = Output()
    """The finished files."""
    profiles: dict[Text, ProfileSettings] = Field(default={})
    """Your own profiles, by name, for `output`."""
    credits: Credits | None = None
    """Spoken credits; none by default, {} for the default ones below."""
    music: tuple[Music, ...] = ()
    """Music before, after and under the words."""

    @model_validator(mode="before")
    @classmethod
    def _complete_engines(cls, manifest: Any) -> Any:
        return complete_names(manifest)

    @model_validator(mode="after")
    def _check_chapters(self) -> Manifest:
        speaker_engines = {
            speaker.engine.name for speaker in self.speakers.values() if speaker.engine
        }
        check_chapters(
            [chapter.engine for chapter in self.chapters], {self.engine.name, *speaker_engines}
        )
        return self

    def spoken_by(self, engine: str) -> Manifest:
        """This manifest with everything spoken by one engine; itself if that is so already."""
        speaker_engines = {s.engine.name for s in self.speakers.values() if s.engine}
        if {self.engine.name, *speaker_engines} == {engine}:
            return self
        is_book_engine = self.engine.name == engine
        speakers = {
            name: speaker
            if is_book_engine and speaker.engine and speaker.engine.name == engine
            else speaker.model_copy(update={"engine": None})
            for name, speaker in self.speakers.items()
        }
        settings = {name: getattr(self, name) for name in type(self).model_fields} | {
            "engine": self.engine if is_book_engine else ENGINES[engine].settings(),
            "speakers": speakers,
        }
        return self.model_construct(self.model_fields_set, **settings)

    @cached_property
    def cast(self) -> Mapping[str, Speaker]:
        """The speakers, and after them the characters that they play.

        Characters have all settings of their speaker except aliases.
        """
        cast = dict(self.speakers)
        for speaker in self.speakers.values():
            for name, aliases in speaker.plays.items():
                own_settings = {"aliases": aliases, "plays": {}}
                cast.setdefault(name, speaker.model_copy(update=own_settings))
        return cast


def schema() -> dict[str, Any]:
    """The JSON Schema of book.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Manifest.model_json_schema(schema_generator=Described),
        "title": "narrator book.yaml",
    }
