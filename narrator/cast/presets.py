"""Voice presets: one file each, `NAME.voice`, that any project and machine can use.

A preset is a stored zip with fixed dates: `voice.json`, `reference.flac` and, for each encoder that
has read it, `latents/<fingerprint>.npy` and `latents/<fingerprint>.seal`, a hash of these latents
and the sound that they were made from. Such files are passed around, so nothing in them is trusted:
sizes are bounded, nothing is unpacked to disk, damage is reported in one line, and latents without
their seal are ignored, since an encoder can make them anew.

A preset's content is a hash of its sound and transcript, which names it in keys and records. Its
name, description, style, rights and latents are not part of it, so they may change without a take
going stale. Knows nothing of engines; `auditions.py` casts voices.
"""

from __future__ import annotations

import io
import json
import re
import struct
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from narrator import files, keys
from narrator.cast import clips
from narrator.cast.clips import Clip
from narrator.engines.voice import Reference, Voice
from narrator.errors import DamagedTake, Problem, UsageError, UserError, nearest
from narrator.project.load import preset_path
from narrator.project.schema import Rights
from narrator.sound import audio
from narrator.sound.audio import Samples

SUFFIX = ".voice"
FORMAT = 1
"""Version of the file; increased when older programs could not read it."""
MAX_FILE_SIZE = 64 << 20
"""Bytes of a preset file: sound of 30 s takes 6 MB at most, latents some 200 kB an encoder."""
MAX_SECONDS = clips.MAX_SECONDS + 5
"""Seconds of prepared sound."""

_NAME = re.compile(r"[^\W_](?:[\w -]{0,62}[\w-])?")
_LATENTS = re.compile(r"latents/([0-9A-Za-z][0-9A-Za-z._-]{0,99})\.npy")
_FINGERPRINT = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
_NO_RIGHTS = Rights()


class _Card(BaseModel):
    """The contents of voice.json."""

    model_config = ConfigDict(strict=True)

    format: int
    name: str = Field(max_length=64)
    transcript: str = Field(min_length=1, max_length=4000)
    language: str = Field(min_length=2, max_length=35)
    description: str | None = Field(default=None, max_length=4000)
    style: str | None = Field(default=None, max_length=1000)
    seed: int = Field(default=0, ge=0, lt=2**32)
    source: str = Field(default="", max_length=1000)
    made: dict[str, Any] = {}
    origin: str | None = Field(default=None, max_length=1000)
    consent: str | None = Field(default=None, max_length=1000)
    publish: bool | None = None

    @property
    def rights(self) -> Rights:
        return Rights(
            origin=self.origin or None,
            consent=self.consent or None,
            publish=bool(self.publish and self.origin),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Preset:
    """A voice with its reference, as stored and passed on."""

    name: str
    transcript: str
    """Exact words of the reference."""
    language: str
    sound: bytes
    """The prepared reference as FLAC, mono at `clips.RATE`."""
    description: str | None = None
    style: str | None = None
    """Style of every line, unless the manifest sets one."""
    seed: int = 0
    source: str = ""
    """Origin of the voice, for people."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """Preparation, engine and casting, for people and for tracing faults."""
    rights: Rights = _NO_RIGHTS
    """The rights in its recording."""
    latents: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """By the encoder's fingerprint. A seal is no proof: an engine checks them before use."""

    @property
    def content(self) -> str:
        """Hash of sound and transcript, independent of location and name."""
        return _content(self.sound, self.transcript)

    @property
    def is_designed(self) -> bool:
        """True for a voice that an engine made up, so that nobody was recorded."""
        return _is_designed(self.made)

    @property
    def summary(self) -> str:
        """What it is, in a line for lists."""
        return self.rights.credit or self.description or self.source

    @property
    def samples(self) -> Samples:
        """The reference, mono at `clips.RATE`."""
        return audio.decode_flac(self.sound)[0]

    @property
    def seconds(self) -> float:
        return float(soundfile.info(io.BytesIO(self.sound)).duration)

    def to_reference(self) -> Reference:
        return Reference(self.content, self.samples, clips.RATE_HZ, self.transcript, self.latents)

    def to_voice(self, path: Path) -> Voice:
        """Returns a speaker with this voice, whose file is at `path`."""
        return Voice(
            self.name,
            reference=path,
            content=self.content,
            description=self.description,
            seed=self.seed,
            style=self.style,
            language=self.language,
        )

    def with_latents(self, fingerprint: str, latents: NDArray[np.float32]) -> Preset:
        """Returns a copy with an encoder's latents of the reference.

        A fingerprint is letters, digits and . _ -. Raises ValueError for another.
        """
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise ValueError(f"not a fingerprint: {fingerprint!r}")
        return replace(self, latents={**self.latents, fingerprint: latents})


def of_clip(
    name: str,
    clip: Clip,
    language: str,
    *,
    description: str | None = None,
    style: str | None = None,
    seed: int = 0,
    source: str = "",
    made: Mapping[str, Any] | None = None,
    rights: Rights = _NO_RIGHTS,
) -> Preset:
    """Returns a preset of a prepared clip. Raises UserError for an invalid name."""
    return Preset(
        name=validate_name(name),
        transcript=clip.transcript,
        language=language,
        sound=audio.encode_flac(clip.samples, clips.RATE_HZ),
        description=description,
        style=style,
        seed=seed,
        source=source,
        made={"preparation": clips.PREPARATION, **(made or {})},
        rights=rights,
    )


# -- what the pipeline asks ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReferenceFacts:
    """The facts about a reference that a plan needs."""

    content: str
    style: str | None = None
    """Style of every line, from a preset."""


def content_of(path: Path, transcript: str | None) -> str:
    """Returns `Glance.content` of a reference. Raises UserError."""
    return read_facts(path, transcript).content


def read_facts(path: Path, transcript: str | None) -> ReferenceFacts:
    """Returns the facts that a plan needs about a reference; reads the file once, without decoding
    it.

    The content of a preset is `Preset.content`; that of a clip is a hash of the file's bytes, its
    transcript and the version of `clips.prepare`, as in `load_reference`. Raises UserError.
    """
    if path.suffix == SUFFIX:
        card, sound, _ = _read_parts(path, with_latents=False)
        _check_transcript(path, transcript, card.transcript)
        return ReferenceFacts(_content(sound, card.transcript), card.style)
    try:
        file_hash = keys.file_content(path)
    except OSError as error:
        raise UserError(Problem(path, None, f"cannot be read: {error.strerror}")) from None
    plain_transcript = " ".join((transcript or "").split())
    version = str(clips.PREPARATION).encode()
    return ReferenceFacts(
        keys.content(b"clip", version, file_hash.encode(), plain_transcript.encode())
    )


def read_rights(path: Path) -> Rights | None:
    """Returns the rights in the recording of a preset; None for a designed voice. Raises
    UserError."""
    card, _, _ = _read_parts(path, with_latents=False)
    return None if _is_designed(card.made) else card.rights


def load_reference(
    voice: Voice, language: str, tell: Callable[[str], None] | None = None
) -> Reference | None:
    """Returns the reference of a voice; None if it must be cast.

    A clip is prepared, in `language` if the voice has none of its own; `tell` is called with its
    oddities. Raises UserError for a refused clip and for a damaged preset.
    """
    path = voice.reference
    if path is None:
        return None
    if path.suffix == SUFFIX:
        preset = read(path)
        _check_transcript(path, voice.transcript, preset.transcript)
        if tell and (
            warning := clips.length_warning(
                preset.seconds - clips.LEAD_SECONDS - clips.TAIL_SECONDS
            )
        ):
            tell(f"{path.name}: {warning}")
        return preset.to_reference()
    clip = clips.load(path, voice.transcript or "", voice.language or language)
    for finding in clip.warnings if tell else ():
        assert tell
        tell(f"{path.name}: {finding}")
    content = content_of(path, voice.transcript)
    return Reference(content, clip.samples, clips.RATE_HZ, clip.transcript)


def _check_transcript(path: Path, manifest_transcript: str | None, preset_transcript: str) -> None:
    if manifest_transcript is not None and manifest_transcript.split() != preset_transcript.split():
        reason = "a preset has its own transcript; leave `transcript` out of the manifest"
        raise UserError(Problem(path, None, reason))


# -- names and folders -----------------------------------------------------------------------------


def validate_name(name: str) -> str:
    """Returns a valid name in composed letters. Raises UserError for an invalid one."""
    name = unicodedata.normalize("NFC", name)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name[:70]}' cannot be a voice's name; use letters, digits, spaces, - and _, "
            "64 at most, a letter or digit first"
        )
    return name


def valid_name_for(name: str) -> str:
    """Returns a valid preset name for a speaker's name, which may hold any character."""
    clean_name = re.sub(r"[^\w-]+", " ", unicodedata.normalize("NFC", name)).strip(" _-")
    return clean_name[:64].strip() if _NAME.fullmatch(clean_name[:64].strip()) else "voice"


def folder(project: Path | None) -> Path:
    """Returns the folder of a project's presets, or, without a project, of the user's library."""
    return (files.library() if project is None else project) / "voices"


def find(name: str, project: Path | None) -> Path:
    """Returns the file of a preset, the project's before the library's. Raises UsageError."""
    name = validate_name(name)
    root = project if project is not None else files.library()
    path = preset_path(root, name)
    if path is None:
        preset_names = sorted({entry.path.stem for entry in list_all(project)})
        guess = nearest(name, preset_names)
        hint = (
            f"did you mean '{guess}'?"
            if guess
            else f"there are: {', '.join(preset_names) or 'none'}"
        )
        raise UsageError(f"no voice preset '{name}'; {hint}")
    return path


@dataclass(frozen=True, slots=True, eq=False)
class PresetFile:
    """A preset's file with its preset, or the reason why it cannot be read."""

    path: Path
    place: str
    """"project" or "library"."""
    preset: Preset | None
    trouble: str = ""


def list_all(project: Path | None) -> list[PresetFile]:
    """Returns all presets by name, a project's before the library's. Raises StorageError."""
    places = [("library", folder(None))]
    if project is not None:
        places.insert(0, ("project", folder(project)))
    entries: list[PresetFile] = []
    for place, place_folder in places:
        with files.translating_errors(place_folder):
            paths = sorted(place_folder.glob(f"*{SUFFIX}"), key=lambda p: p.name.casefold())
        for path in paths:
            try:
                entries.append(PresetFile(path, place, read(path)))
            except UserError as error:
                entries.append(PresetFile(path, place, None, error.problems[0].message))
    return entries


def write(preset: Preset, path: Path) -> None:
    """Writes a preset to a file, replacing it. Raises UserError, StorageError."""
    files.write(path, pack(preset))


def remove(path: Path) -> None:
    """Deletes a preset's file. Raises StorageError."""
    with files.translating_errors(path):
        path.unlink()


# -- the file --------------------------------------------------------------------------------------


def pack(preset: Preset) -> bytes:
    """Returns the bytes of a preset's file; equal presets give equal bytes.

    Raises UserError for a text that is too long, or missing.
    """
    try:
        card = _Card(
            format=FORMAT,
            name=preset.name,
            transcript=preset.transcript,
            language=preset.language,
            description=preset.description,
            style=preset.style,
            seed=preset.seed,
            source=preset.source,
            made=dict(preset.made),
            origin=preset.rights.origin,
            consent=preset.rights.consent,
            publish=preset.rights.publish or None,
        )
    except ValidationError as error:
        raise UserError(f"voice '{preset.name}': {_first_error(error)}") from None
    text = json.dumps(card.model_dump(exclude_none=True), ensure_ascii=False, indent=1)
    parts = [("voice.json", text.encode()), ("reference.flac", preset.sound)]
    for fingerprint in sorted(preset.latents):
        buffer = io.BytesIO()
        latents = np.ascontiguousarray(preset.latents[fingerprint], np.float32)
        np.save(buffer, latents, allow_pickle=False)
        content = buffer.getvalue()
        parts.append((f"latents/{fingerprint}.npy", content))
        parts.append((f"latents/{fingerprint}.seal", _seal(fingerprint, preset.sound, content)))
    buffer_of_file = io.BytesIO()
    with zipfile.ZipFile(buffer_of_file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer_of_file.getvalue()


def read(path: Path) -> Preset:
    """Reads a preset from its file. Raises UserError, in one line, if it cannot be used."""
    card, sound, packed = _read_parts(path, with_latents=True)
    try:
        _check_sound(sound)
        arrays = {name: _read_array(latents_data) for name, (latents_data, _) in packed.items()}
        latents = {
            name: arrays[name]
            for name, (latents_data, seal) in packed.items()
            if seal == _seal(name, sound, latents_data)
        }
        return Preset(
            name=validate_name(card.name),
            transcript=card.transcript,
            language=card.language,
            sound=sound,
            description=card.description,
            style=card.style,
            seed=card.seed,
            source=card.source,
            made=card.made,
            rights=card.rights,
            latents=latents,
        )
    except (_Damage, UsageError) as error:
        raise _damage_error(path, error) from None


class _Damage(Exception):
    """Damage inside a preset's file; the message describes it."""


def _damage_error(path: Path, reason: object) -> UserError:
    return UserError(Problem(path, None, f"not a voice preset that can be used: {reason}"))


_PackedLatents = Mapping[str, tuple[bytes, bytes]]
"""Bytes of latents and of their seal, by the encoder's fingerprint."""


def _read_parts(path: Path, *, with_latents: bool) -> tuple[_Card, bytes, _PackedLatents]:
    """Returns card, sound and packed latents. Raises UserError."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_SIZE + 1)
        if len(content) > MAX_FILE_SIZE:
            raise _Damage(f"it is larger than {MAX_FILE_SIZE >> 20} MB")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [_check_part(part_info) for part_info in archive.infolist()]
            if len(set(names)) != len(names):
                raise _Damage("it holds two files of one name")
            if sum(part_info.file_size for part_info in archive.infolist()) > MAX_FILE_SIZE:
                raise _Damage(f"its parts are larger than {MAX_FILE_SIZE >> 20} MB")
            card = _parse_card(archive.read("voice.json"))
            latents_names = {m[1]: m[0] for name in names if (m := _LATENTS.fullmatch(name))}
            wanted_names = latents_names if with_latents else {}
            packed = {
                fingerprint: (
                    archive.read(name),
                    archive.read(seal) if (seal := f"latents/{fingerprint}.seal") in names else b"",
                )
                for fingerprint, name in wanted_names.items()
            }
            return card, archive.read("reference.flac"), packed
    except KeyError as error:
        raise _damage_error(path, f"a part is missing ({error.args[0]})") from None
    except _Damage as error:
        raise _damage_error(path, error) from None
    except (zipfile.BadZipFile, EOFError, struct.error, NotImplementedError, ValueError) as error:
        raise _damage_error(path, f"it is torn or altered ({error})") from None
    except OSError as error:
        raise UserError(Problem(path, None, f"cannot be read: {error.strerror}")) from None


def _check_part(part_info: zipfile.ZipInfo) -> str:
    """Returns a part's name. A part must be stored and unencrypted, so that it needs no more room
    than the file."""
    if part_info.compress_type != zipfile.ZIP_STORED or part_info.flag_bits & 1:
        raise _Damage("a part of it is compressed or encrypted")
    if part_info.filename == "voice.json" and part_info.file_size > 1 << 20:
        raise _Damage("voice.json is too large")
    return part_info.filename


def _parse_card(content: bytes) -> _Card:
    try:
        card = _Card.model_validate_json(content)
    except ValidationError as error:
        raise _Damage(_first_error(error)) from None
    if card.format > FORMAT:
        raise _Damage("a newer narrator made it; update narrator")
    return card


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'voice.json'}: {first['msg']}"


def _check_sound(sound: bytes) -> None:
    """Checks the length before decoding, then that the sound is complete."""
    try:
        with soundfile.SoundFile(io.BytesIO(sound)) as file:
            if (file.format, file.channels, file.samplerate) != ("FLAC", 1, clips.RATE_HZ):
                raise _Damage(f"its sound is not mono FLAC at {clips.RATE_HZ} Hz")
            if not 0 < file.frames <= MAX_SECONDS * clips.RATE_HZ:
                raise _Damage(f"its sound is not 1 to {MAX_SECONDS:.0f} s long")
            frame_count = file.frames
        if len(audio.decode_flac(sound)[0]) != frame_count:
            raise _Damage("its sound breaks off")
    except (soundfile.LibsndfileError, DamagedTake):
        raise _Damage("its sound cannot be read") from None


def _read_array(content: bytes) -> NDArray[np.float32]:
    """Returns the float32 array of an .npy file whose header promises no more than there is."""
    file = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise _Damage("its latents are of another version")
        shape, is_fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    except (ValueError, SyntaxError, TypeError):
        raise _Damage("its latents cannot be read") from None
    array_bytes = content[file.tell() :]
    if dtype != np.float32 or is_fortran_order or len(shape) > 4 or min(shape, default=0) < 1:
        raise _Damage("its latents are not what an encoder gives")
    if int(np.prod(shape, dtype=object)) * 4 != len(array_bytes):
        raise _Damage("its latents break off")
    array = np.frombuffer(array_bytes, np.float32).reshape(shape)
    if not np.isfinite(array).all():
        raise _Damage("its latents are not numbers")
    return array


def _seal(fingerprint: str, sound: bytes, latents: bytes) -> bytes:
    return keys.content(b"latents", fingerprint.encode(), sound, latents).encode()


def _is_designed(made: Mapping[str, Any]) -> bool:
    return "casting" in made


def _content(sound: bytes, transcript: str) -> str:
    return keys.content(b"preset", sound, " ".join(transcript.split()).encode())
