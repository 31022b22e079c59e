"""Edits of the voices of speakers, and the recordings that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from narrator import files
from narrator.cast import clips, presets
from narrator.engines.registry import ENGINES
from narrator.errors import Problem, UsageError, UserError
from narrator.pipeline.edits import people
from narrator.pipeline.edits.checked import require_readable
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shorten
from narrator.pipeline.edits.manifest import manifest_text, set_value
from narrator.project import load
from narrator.project.other_engine import require_known_engine
from narrator.project.project import Project
from narrator.project.schema import VoiceSettings

_KEYS_BY_SOURCE = {"preset": {"preset"}, "description": {"description", "seed"},
          "reference": {"reference", "transcript", "origin", "consent"}}  # fmt: skip
"""The key that defines a voice -> the keys that are allowed with it."""
_RIGHTS = ("origin", "consent")
"""Keys that are kept under `rights`."""
_MAX_CLIP_BYTES = 50_000_000
"""Largest recording in bytes: ten minutes of WAV."""


def voice_edit(project: Project, speaker: str, voice: Mapping[str, object]) -> Edit:
    """The edit that gives a speaker another voice.

    The voice is a `preset`, a `description` (with a `seed`), or a `reference` with its `transcript`
    (and the `origin` of the recording and the `consent` to its use). The style in book.yaml stays;
    somebody who shares a voice gets an own entry under `speakers`. Raises ManifestError,
    StorageError, UserError for a clip that is refused, UsageError.
    """
    settings = {
        key: one_line(str(setting)) for key, setting in voice.items() if setting not in ("", None)
    }
    source = next(
        (
            source
            for source, keys in _KEYS_BY_SOURCE.items()
            if source in settings and settings.keys() <= keys
        ),
        None,
    )
    if source is None or (source == "reference") != ("transcript" in settings):
        raise UsageError("a voice is a preset, a description, or a reference and its transcript")
    if not settings.get("seed", "0").isdecimal():
        raise UsageError(f"a seed is a number, not {shorten(settings['seed'])}")
    speaker = people.require_in_cast(project, speaker)
    if source == "reference":
        _require_usable_clip(project, speaker, settings["reference"], settings["transcript"])
    old_text = new_text = manifest_text(project)
    if project.voice_of(speaker) != speaker:
        new_text = people.with_own_entry(new_text, project, speaker)
    place = ("speakers", speaker, "voice")
    for key, setting in _build_entries(project, speaker, settings):
        new_text = set_value(new_text, (*place, key) if key else place, setting, project)
    summary = f"{shorten(speaker)} has the voice: {shorten(settings[source])}"
    return require_readable(project, Edit(summary, (FileChange(project.path, old_text, new_text),)))


def narration_edit(project: Project, engine: str, voice: str) -> Edit:
    """The edit that lets an engine speak the book, and its narrator in a voice.

    The voice is one of the engine's own, the name of a preset, or "" for the one that the engine or
    book.yaml has. Raises ManifestError, StorageError, UsageError.
    """
    require_known_engine(engine)
    own_manifest = project.own_manifest or project.manifest
    old_text = new_text = manifest_text(project)
    if own_manifest.engine.name != engine:
        has_engine = "engine" in own_manifest.model_fields_set
        place: tuple[str, ...] = ("engine",) if has_engine else ("engine", "name")
        new_text = set_value(new_text, place, engine, project)
    narrator = project.narrator
    if voice and narrator is None:
        raise UsageError("book.yaml names no narrator: give each speaker a voice in the studio")
    if voice and narrator is not None:
        key = "voice"
        value: object = voice
        if voice in ENGINES[engine].voices:
            key, value = engine, {"voice": voice}
        else:
            presets.find(voice, project.root)
        new_text = set_value(new_text, ("speakers", narrator, key), value, project)
    summary = f"{ENGINES[engine].title} speaks the book{f', in the voice {voice}' if voice else ''}"
    return require_readable(project, Edit(summary, (FileChange(project.path, old_text, new_text),)))


def _build_entries(
    project: Project, speaker: str, settings: Mapping[str, str]
) -> Iterator[tuple[str, object]]:
    """Yields the keys and values to write; one by one if the voice is of the same kind already."""
    if "preset" in settings:
        yield "", settings["preset"]
        return
    entry = project.manifest.speakers.get(speaker)
    old_voice = entry.voice if entry else None
    new_voice: dict[str, object] = {
        **{key: setting for key, setting in settings.items() if key not in _RIGHTS},
        **({"seed": int(settings["seed"])} if "seed" in settings else {}),
    }
    rights: dict[str, object] = {key: settings[key] for key in _RIGHTS if key in settings}
    if isinstance(old_voice, VoiceSettings) and old_voice.reference == settings.get("reference"):
        old_rights = old_voice.rights.model_dump(exclude_defaults=True) if old_voice.rights else {}
        rights = old_rights | rights
    if rights:
        new_voice["rights"] = rights
    if isinstance(old_voice, VoiceSettings):
        present_keys = old_voice.model_fields_set - {"style", "seed"}
        if present_keys == new_voice.keys() - {"seed"}:
            yield from new_voice.items()
            return
        if old_voice.style is not None:
            new_voice["style"] = old_voice.style
    yield "", new_voice


def _require_usable_clip(project: Project, speaker: str, name: str, transcript: str) -> None:
    """Raises UserError if a clip cannot be used as a voice."""
    if reason := load.describe_stray_path(project, name):
        raise UsageError(reason)
    path = project.root / name
    language = project.speakers[speaker].language or project.manifest.language
    clips.load(path, transcript, language)


# -- recordings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddedClip:
    """A recording that was copied into a project."""

    path: str
    """Its path as in book.yaml."""
    seconds: float
    """Seconds of speech."""
    remarks: tuple[str, ...]
    """Warnings on its quality; its transcript is not known yet."""


def add_clip(
    project: Project, name: str, content: bytes, transcript: str | None = None
) -> AddedClip:
    """Save a recording in the project's `voices` folder, under its name or a similar one.

    Existing files are not replaced. Raises UserError if it is no sound, cannot be a voice or hold
    the transcript, StorageError.
    """
    if len(content) > _MAX_CLIP_BYTES:
        raise UserError(
            Problem(None, None, f"{shorten(name)}: larger than 50 MB; cut 10 s out of it")
        )
    folder = presets.folder(project.root)
    if reason := load.describe_stray_path(project, folder.name):
        raise UsageError(reason)
    path = _find_path(folder, one_line(name), content)
    if path.is_file():
        clip = _judge_recording(path, transcript, project)
    else:
        with files.replacing(path) as temporary:
            temporary.write_bytes(content)
            clip = _judge_recording(temporary, transcript, project)
    remarks = tuple(finding.message for finding in clip.warnings)
    return AddedClip(path.relative_to(project.root).as_posix(), clip.figures.seconds, remarks)


def _judge_recording(path: Path, transcript: str | None, project: Project) -> clips.Clip:
    """Judge a recording. Raises UserError without the path, since the file may be temporary."""
    try:
        clip = clips.prepare(clips.read(path), transcript, project.manifest.language)
        return clips.require_usable(clip, path)
    except UserError as error:
        raise UserError(
            [Problem(None, None, problem.message) for problem in error.problems]
        ) from None


def _find_path(folder: Path, name: str, content: bytes) -> Path:
    """A path for a recording that is free, or holds the same recording already."""
    stem, ending = Path(name.replace("\\", "/")).stem, Path(name).suffix.casefold()
    ending = ending if ending[1:].isascii() and ending[1:].isalnum() and len(ending) < 6 else ""
    if ending == presets.SUFFIX:
        raise UserError("a preset is taken in by `narrator voices add`, not as a recording")
    stem, suffix_number = presets.valid_name_for(stem), 1
    while True:
        path = folder / f"{stem}{f' {suffix_number}' if suffix_number > 1 else ''}{ending}"
        with files.translating_errors(path):
            is_taken = path.exists() or path.is_symlink()
            if not is_taken or (_is_regular_file(path) and path.read_bytes() == content):
                return path
        suffix_number += 1


def _is_regular_file(path: Path) -> bool:
    """True if a path is a file itself and not a link."""
    return path.is_file() and not path.is_symlink()
