"""Edits of whose voice somebody has, and the recordings that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from narrator import files
from narrator.cast import clips, presets
from narrator.characters import quoted
from narrator.errors import Problem, UsageError, UserError, nearest
from narrator.pipeline.edits.checked import checked
from narrator.pipeline.edits.edit import Edit, FileChange, one_line, shown
from narrator.pipeline.edits.manifest import changed, manifest_text
from narrator.project import load
from narrator.project.project import Project
from narrator.project.schema import VoiceSettings

_KINDS = {"preset": {"preset"}, "description": {"description", "seed"},
          "reference": {"reference", "transcript"}}  # fmt: skip
"""What tells a voice, and what may stand beside it."""
_LARGEST_CLIP = 50_000_000
"""Bytes of a recording; ten minutes of WAV have as many."""


def voice_edit(project: Project, speaker: str, voice: Mapping[str, object]) -> Edit:
    """Another voice for one of the cast: a `preset`, a `description` (with a `seed`), a `reference`
    with its `transcript`. What book.yaml says of style stays.

    Raises ManifestError, StorageError, UserError for a clip that is refused, UsageError.
    """
    said = {key: one_line(str(value)) for key, value in voice.items() if value not in ("", None)}
    kind = next(
        (kind for kind, keys in _KINDS.items() if kind in said and said.keys() <= keys), None
    )
    if kind is None or (kind == "reference") != ("transcript" in said):
        raise UsageError("a voice is a preset, a description, or a reference and its transcript")
    if not said.get("seed", "0").isdecimal():
        raise UsageError(f"a seed is a number, not {shown(said['seed'])}")
    speaker = one_line(speaker)
    _require_own(project, speaker)
    if kind == "reference":
        _judge(project, speaker, said["reference"], said["transcript"])
    before = after = manifest_text(project)
    place = ("speakers", speaker, "voice")
    for key, value in _values(project, speaker, said):
        after = changed(after, (*place, key) if key else place, value, project)
    what = f"{shown(speaker)} has the voice: {shown(said[kind])}"
    return checked(project, Edit(what, (FileChange(project.path, before, after),)))


def _values(
    project: Project, speaker: str, said: Mapping[str, str]
) -> Iterator[tuple[str, object]]:
    """What is written of a voice: value by value where it is one of its kind already."""
    if "preset" in said:
        yield "", said["preset"]
        return
    entry = project.manifest.speakers.get(speaker)
    old = entry.voice if entry else None
    new: dict[str, object] = {**said, **({"seed": int(said["seed"])} if "seed" in said else {})}
    if isinstance(old, VoiceSettings):
        kept = old.model_fields_set - {"style", "seed"}
        if kept == said.keys() - {"seed"}:
            yield from new.items()
            return
        if old.style is not None:
            new["style"] = old.style
    yield "", new


def _require_own(project: Project, speaker: str) -> None:
    """Raises UsageError for one who is not in the cast, or whose voice others have."""
    if speaker not in project.speakers:
        guess = nearest(speaker, list(project.speakers))
        hint = f"; did you mean “{guess}”?" if guess else ""
        raise UsageError(f"“{quoted(speaker)}” is not in the cast{hint}")
    player = project.voice_of(speaker)
    if player != speaker:
        raise UsageError(
            f"“{quoted(speaker)}” has the voice of “{quoted(player)}”, as others may: change that "
            f"one, or declare “{quoted(speaker)}” under `speakers`"
        )


def _judge(project: Project, speaker: str, name: str, transcript: str) -> None:
    """Raises UserError for a clip that no voice can be made of."""
    if stray := load.stray(project, name):
        raise UsageError(stray)
    path = project.root / name
    language = project.speakers[speaker].language or project.manifest.language
    clips.load(path, transcript, language)


# -- recordings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClipAdded:
    """A recording that was taken into a project."""

    path: str
    """As book.yaml names it."""
    seconds: float
    """Of speech."""
    remarks: tuple[str, ...]
    """What is not as good as it could be; its transcript is not known yet."""


def clip_added(project: Project, name: str, data: bytes) -> ClipAdded:
    """Keep a recording under the project's `voices`, by its name or one like it: nothing that is
    there is replaced.

    Raises UserError for what is no sound or cannot be a voice, StorageError.
    """
    if len(data) > _LARGEST_CLIP:
        raise UserError(
            Problem(None, None, f"{shown(name)}: larger than 50 MB; cut 10 s out of it")
        )
    folder = presets.folder(project.root)
    if stray := load.stray(project, folder.name):
        raise UsageError(stray)
    path = _free(folder, one_line(name), data)
    if path.is_file():
        clip = _judged(path, project)
    else:
        with files.replacing(path) as temporary:
            temporary.write_bytes(data)
            clip = _judged(temporary, project)
    remarks = tuple(finding.message for finding in clip.warnings)
    return ClipAdded(path.relative_to(project.root).as_posix(), clip.figures.seconds, remarks)


def _judged(path: Path, project: Project) -> clips.Clip:
    """Raises UserError, which does not name a file that is not there yet."""
    try:
        clip = clips.prepare(clips.read(path), None, project.manifest.language)
        return clips.accepted(clip, path)
    except UserError as error:
        raise UserError([Problem(None, None, p.message) for p in error.problems]) from None


def _free(folder: Path, name: str, data: bytes) -> Path:
    """A path for a recording: that of the same one, or of none."""
    stem, ending = Path(name.replace("\\", "/")).stem, Path(name).suffix.casefold()
    ending = ending if ending[1:].isascii() and ending[1:].isalnum() and len(ending) < 6 else ""
    if ending == presets.SUFFIX:
        raise UserError("a preset is taken in by `narrator voices add`, not as a recording")
    stem, number = presets.cleaned(stem), 1
    while True:
        path = folder / f"{stem}{f' {number}' if number > 1 else ''}{ending}"
        with files.storage(path):
            there = path.exists() or path.is_symlink()
            if not there or (_is_own(path) and path.read_bytes() == data):
                return path
        number += 1


def _is_own(path: Path) -> bool:
    """Whether a file lies here itself, and is none that a link leads to."""
    return path.is_file() and not path.is_symlink()
