"""Commands about voices: list, add, design, audition, show, remove, copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from narrator.cli.shared import AsJson, Draft, app, counted, err, near, out, replaceable, short
from narrator.errors import Problem, UsageError, UserError

if TYPE_CHECKING:
    from narrator.cast.auditions import Candidate
    from narrator.cast.presets import Preset
    from narrator.engines import Engine, Speech
    from narrator.project.schema import SpeechSettings

voices = typer.Typer(
    help="Voices to narrate with: clips with their transcripts, and voices from a description.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(voices, name="voices")

Name = Annotated[str, typer.Argument(help="The voice's name, as in the manifest.")]
ProjectFolder = Annotated[
    Path | None,
    typer.Option("--project", "-p", help="A project's folder; else the one here, if there is one."),
]
InLibrary = Annotated[
    bool, typer.Option("--library", help="Keep it for all projects, not in this one.")
]
Language = Annotated[
    str | None, typer.Option("--language", "-l", help='For example "en-GB"; else the project\'s.')
]
Style = Annotated[str | None, typer.Option("--style", help="How it speaks, where nothing is said.")]
Replace = Annotated[bool, typer.Option("--replace", help="Put it in the place of one there is.")]


@voices.command("list")
def list_(project: ProjectFolder = None, as_json: AsJson = False) -> None:
    """The voices of this project and of the library."""
    from narrator.cast import presets

    root = _root(project)
    entries = presets.list_all(root)
    if as_json:
        rows = [{"name": e.path.stem, "place": e.place, "file": str(e.path),
                 **({"trouble": e.trouble} if e.preset is None else _facts(e.preset))}
                for e in entries]  # fmt: skip
        out.print_json(data={"voices": rows})
        return
    if not entries:
        out.print("no voices yet; narrator voices add, narrator voices design")
        return
    table = Table("voice", "in", "language", "seconds", "from")
    for entry in entries:
        preset = entry.preset
        row = ("", "", entry.trouble) if preset is None else (
            preset.language, f"{preset.seconds:.1f}", short(preset.description or preset.source)
        )  # fmt: skip
        table.add_row(entry.path.stem, entry.place, *row)
    out.print(table)


@voices.command()
def add(
    name: Annotated[str, typer.Argument(help="The voice's name; or a .voice file to take in.")],
    clip: Annotated[
        Path | None, typer.Argument(help="3 to 30 s of speech, in any format; or a .voice file.")
    ] = None,
    transcript: Annotated[
        str | None, typer.Option("--transcript", help="Exactly what the clip says.")
    ] = None,
    transcript_file: Annotated[
        Path | None, typer.Option("--transcript-file", help="A text file with the transcript.")
    ] = None,
    language: Language = None,
    style: Style = None,
    library: InLibrary = False,
    replacing: Replace = False,
    project: ProjectFolder = None,
) -> None:
    """Make a voice of a recording, or take in one that was made elsewhere."""
    from narrator.cast import clips, presets

    root = _root(project)
    if clip is None and name.endswith(presets.SUFFIX):
        clip, name = Path(name), presets.read(Path(name)).name
    name = presets.checked(name)
    if clip is None:
        raise UsageError(f"which clip? narrator voices add '{name}' CLIP --transcript \"…\"")
    if clip.suffix == presets.SUFFIX:
        if transcript or transcript_file:
            raise UsageError(f"{clip}: a preset has its own transcript")
        preset = replace(presets.read(clip), name=name)
        preset = preset if style is None else replace(preset, style=style)
        _keep(preset, root, library, replacing)
        return
    said = _transcript(transcript, transcript_file)
    spoken = _language(root, language)
    _free(name, root, library, replacing)
    sound = clips.load(clip, said, spoken)
    for finding in sound.warnings:
        err.print(f"warning: {near(clip)}: {finding}")
    figures = sound.figures
    out.print(
        f"{figures.seconds:.1f} s of speech, {figures.gain:+.1f} dB to bring it to "
        f"{clips.LEVEL:.0f} LUFS, {figures.noise:.0f} dB above its background"
    )
    source = f"clip {clip.name}"
    preset = presets.of_clip(name, sound, spoken, style=style, source=source)
    _keep(preset, root, library, replacing)


@voices.command()
def design(
    name: Name,
    description: Annotated[str, typer.Argument(help='For example "A warm old storyteller".')],
    candidates: Annotated[int, typer.Option("--candidates", min=1, max=32)] = 3,
    choose: Annotated[
        int | None, typer.Option("--choose", min=1, help="Keep this candidate, not the best.")
    ] = None,
    listen: Annotated[
        Path | None, typer.Option("--listen", help="Write all candidates to this folder.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1)] = 0,
    language: Language = None,
    style: Style = None,
    library: InLibrary = False,
    replacing: Replace = False,
    project: ProjectFolder = None,
    draft: Draft = False,
) -> None:
    """Cast a voice from a description: a few candidates are rendered, the best is kept."""
    from narrator.cast import auditions, presets
    from narrator.engines.voice import Voice

    if choose is not None and choose > candidates:
        raise UsageError(f"--choose {choose}: there are {candidates} candidates")
    if not description.strip():
        raise UsageError('a description is needed, for example "A warm old storyteller"')
    root = _root(project)
    name = presets.checked(name)
    _free(name, root, library, replacing)
    spoken = _language(root, language)
    engine = engine_for(root, draft)
    _check_clones(engine, "design a voice")
    voice = Voice(name, description=" ".join(description.split()), seed=seed, style=style)
    _check_problems(engine, voice, spoken)
    if note := auditions.text_for(spoken).note:
        err.print(f"warning: {note}")
    with closing(engine.start(err.print)) as session:
        found = auditions.cast(
            session, engine, voice, spoken, count=candidates,
            on_progress=lambda done, total: err.print(f"{done} of {counted(total, 'candidate')}"),
        )  # fmt: skip
    for candidate in found:
        out.print(str(candidate))
    if listen is not None:
        _write_candidates(found, listen, name, voice, spoken, engine.sample_rate)
    chosen = auditions.choose(found) if choose is None else found[choose - 1]
    if not chosen.usable:
        raise UserError(f"candidate {choose} cannot be used: {'; '.join(chosen.trouble)}")
    out.print(f"kept candidate {chosen.number}, " + (
        "the best" if choose is None else "as you chose"))  # fmt: skip
    preset = auditions.preset_of(chosen, voice, spoken, name)
    for fingerprint, latents in engine.encoded(preset.to_reference()).items():
        preset = preset.with_latents(fingerprint, latents)
    _keep(preset, root, library, replacing)


def _write_candidates(
    found: Sequence[Candidate], folder: Path, name: str, voice: Any, language: str, rate: int
) -> None:
    """What there is to hear of each candidate, and as a voice what can be kept."""
    from narrator import files
    from narrator.cast import auditions, presets

    for candidate in found:
        stem = f"{name}-{candidate.number}"
        if candidate.speech is not None:
            _write_wav(folder / f"{stem}.wav", candidate.speech, rate)
        if candidate.usable:
            preset = auditions.preset_of(candidate, voice, language, name)
            files.write(folder / f"{stem}{presets.SUFFIX}", presets.pack(preset))
    out.print(
        f"candidates are in {near(folder)}; to keep another one: "
        f"narrator voices add '{name}' '{near(folder)}/{name}-N{presets.SUFFIX}' --replace"
    )


@voices.command()
def audition(
    name: Name,
    text: Annotated[str | None, typer.Argument(help="What it says; a sentence or two.")] = None,
    target: Annotated[Path | None, typer.Option("--out", "-o", help="The WAV to write.")] = None,
    style: Style = None,
    project: ProjectFolder = None,
    draft: Draft = False,
) -> None:
    """Hear a voice: writes a WAV in which it speaks."""
    from narrator.cast import auditions, presets
    from narrator.engines.voice import Voice
    from narrator.speech.plan import parameters_of

    root = _root(project)
    path = presets.find(name, root)
    preset = presets.read(path)
    target = target or Path(f"{path.stem}-audition.wav")
    replaceable(target, b"WAVE", "WAV file")
    engine = engine_for(root, draft)
    _check_clones(engine, "speak in a voice of yours")
    said = auditions.text_for(preset.language).text if text is None else _spoken(text, preset)
    voice = Voice(preset.name, reference=path, content=preset.content, style=style or preset.style)
    _check_problems(engine, voice, preset.language)
    own = parameters_of(engine, _speech(root).engine.model_dump())
    speech, faults = auditions.audition(engine, preset, voice, said, own, err.print)
    _write_wav(target, speech, engine.sample_rate)
    for fault in faults:
        err.print(f"warning: {fault}")
    out.print(f"{len(speech.samples) / engine.sample_rate:.1f} s -> {near(target)}")


def _spoken(text: str, preset: Preset) -> str:
    from narrator.text.normalize import Lexicon, normalize

    said = normalize(
        text.strip(), language=preset.language, speaker=preset.name, lexicon=Lexicon(())
    ).text
    if not any(map(str.isalnum, said)):
        raise UsageError("there is nothing to say in this text")
    return said


@voices.command()
def show(name: Name, project: ProjectFolder = None, as_json: AsJson = False) -> None:
    """All that is known of a voice."""
    from narrator.cast import presets

    path = presets.find(name, _root(project))
    preset = presets.read(path)
    facts = {"name": path.stem, "file": str(path), **_facts(preset)}
    if as_json:
        out.print_json(data=facts)
        return
    for key, value in facts.items():
        if value not in (None, "", [], {}):
            shown = ", ".join(value) if isinstance(value, list) else value
            out.print(f"{key}: {shown}")


@voices.command()
def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    library: Annotated[
        bool, typer.Option("--library", help="The library's, not this one.")
    ] = False,
    project: ProjectFolder = None,
) -> None:
    """Delete a voice. Takes that were spoken with it stay."""
    from narrator.cast import presets

    path = presets.find(name, None if library else _root(project))
    if not yes and not typer.confirm(f"Delete {near(path)}?"):
        out.print("kept")
        return
    presets.remove(path)
    out.print(f"removed {near(path)}")


@voices.command()
def copy(
    name: Name,
    target: Annotated[Path, typer.Argument(help="A .voice file, or a folder to put it in.")],
    replacing: Replace = False,
    project: ProjectFolder = None,
) -> None:
    """Write a voice to a file, for another machine or project: narrator voices add FILE."""
    from narrator import files
    from narrator.cast import presets

    path = presets.find(name, _root(project))
    presets.read(path)  # what is damaged is not passed on
    if target.is_dir():
        target = target / path.name
    if target.suffix != presets.SUFFIX:
        raise UsageError(f"{target}: a voice's file ends in {presets.SUFFIX}")
    if target.exists() and not replacing:
        raise UsageError(f"{target}: is there already; --replace writes over it")
    with files.storage(path):
        data = path.read_bytes()
    files.write(target, data)
    out.print(f"{path.stem} -> {near(target)}")


# -- where we are ----------------------------------------------------------------------------------


def engine_for(root: Path | None, draft: bool) -> Engine:
    """The engine that designs and auditions: the project's, or the default one."""
    from narrator import files
    from narrator.engines.kind import EngineHome
    from narrator.engines.registry import ENGINES

    settings, home = _speech(root).engine, files.library() if root is None else root
    kind = ENGINES["draft" if draft else settings.name]
    return kind.make(settings, EngineHome(home, home / "build" / "voices"), err.print)


def _speech(root: Path | None) -> SpeechSettings:
    """Language and engine of the project here, or the defaults."""
    from narrator.project import load, schema

    return schema.SpeechSettings() if root is None else load.load_speech(root / "book.yaml")


def _language(root: Path | None, given: str | None) -> str:
    """The language that was given, or the project's. Raises UsageError for what is no tag."""
    if given is None:
        return _speech(root).language
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", given):
        raise UsageError(f'--language {given}: not a language tag, as "en" or "en-GB" are')
    return given


def _root(given: Path | None) -> Path | None:
    """The folder of the project that is meant, if one is. Raises UsageError."""
    if given is None:
        return Path() if Path("book.yaml").is_file() else None
    root = given if given.is_dir() else given.parent
    if not (root / "book.yaml").is_file():
        raise UsageError(f"{given}: no project there, for there is no book.yaml")
    return root


def _target(name: str, root: Path | None, library: bool) -> Path:
    from narrator.cast import presets

    return presets.folder(None if library else root) / f"{name}{presets.SUFFIX}"


def _free(name: str, root: Path | None, library: bool, replacing: bool) -> None:
    path = _target(name, root, library)
    if path.exists() and not replacing:
        raise UsageError(f"{near(path)}: there is a voice of that name; --replace takes its place")


def _keep(preset: Preset, root: Path | None, library: bool, replacing: bool) -> None:
    from narrator.cast import presets

    _free(preset.name, root, library, replacing)
    path = _target(preset.name, root, library)
    presets.write(preset, path)
    where = "the library, for all projects" if library or root is None else "this project"
    out.print(f"{preset.name} is in {where}: {near(path)}")
    out.print(f"Give it to a speaker in book.yaml: voice: {preset.name}")


def _transcript(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise UsageError(
            "a clip needs its exact transcript, in one of --transcript and --transcript-file: "
            "a wrong one makes every take ramble"
        )
    if file is None:
        return text or ""
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise UserError(Problem(file, None, f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError:
        raise UserError(Problem(file, None, "not UTF-8: save the file as UTF-8")) from None


def _check_clones(engine: Engine, what: str) -> None:
    if not engine.clones:
        raise UsageError(
            f"the {engine.name} engine cannot {what}: it has voices of its own alone; "
            "this needs VoxCPM2 (no --draft, and no `engine: draft` in the manifest)"
        )


def _check_problems(engine: Engine, voice: Any, language: str) -> None:
    if problems := engine.problems({voice.speaker: voice}, [language]):
        raise UserError(problems)


def _facts(preset: Preset) -> dict[str, Any]:
    return {
        "language": preset.language,
        "seconds": round(preset.seconds, 2),
        "transcript": preset.transcript,
        "description": preset.description,
        "style": preset.style,
        "seed": preset.seed,
        "source": preset.source,
        "made": dict(preset.made),
        "encoded_for": sorted(preset.latents),
        "content": preset.content,
    }


def _write_wav(path: Path, speech: Speech, rate: int) -> None:
    import soundfile

    from narrator import files

    with files.replacing(path) as temporary:
        soundfile.write(temporary, speech.samples, rate, format="WAV", subtype="PCM_24")
