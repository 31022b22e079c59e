"""Commands on voices that are kept: list, add, show, rights, remove, copy."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli import completion
from narrator.cli.commands import Commands
from narrator.cli.shared import AsJson, ProjectGroup, app, display_path, err, out, shorten
from narrator.errors import Problem, UsageError, UserError

if TYPE_CHECKING:
    from typer import _click as click  # as typer carries it

    from narrator.cast.clips import Clip
    from narrator.cast.presets import Preset
    from narrator.project.schema import Rights, SpeechSettings


class _VoiceCommands(ProjectGroup):
    """Commands on voices; `--cut` may have no value, which Click does not know."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, remaining_args = super().resolve_command(ctx, args)
        if "--cut" in remaining_args:
            index = remaining_args.index("--cut") + 1
            if not re.fullmatch(r"[\d.]+", "".join(remaining_args[index : index + 1])):
                remaining_args = [*remaining_args[:index], _AUTOMATIC_CUT, *remaining_args[index:]]
        return name, command, remaining_args


_AUTOMATIC_CUT = "auto"
"""The value of `--cut` without a number: the best pause."""

voices = Commands(
    cls=_VoiceCommands,
    help="List, make and audition voices. A voice is made from a clip with its transcript, or "
    "from a description.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(voices, name="voices")

NewName = Annotated[str, typer.Argument(help="The voice's name, as the manifest has it.")]
Name = Annotated[
    str,
    typer.Argument(
        help="The voice's name, as the manifest has it.", autocompletion=completion.presets
    ),
]
ProjectFolder = Annotated[
    Path | None,
    typer.Option(
        "--project", "-p", help="The project's folder; by default this folder, if it is a project."
    ),
]
InLibrary = Annotated[
    bool, typer.Option("--library", help="Keep the voice in the library, for all projects.")
]
Language = Annotated[
    str | None,
    typer.Option("--language", "-l", help="The language, such as en-GB; by default the project's."),
]
Style = Annotated[
    str | None, typer.Option("--style", help="How the voice speaks where the text gives no style.")
]
Origin = Annotated[
    str | None,
    typer.Option("--origin", help="The origin of the recording: who speaks, when and for what."),
]
Consent = Annotated[
    str | None,
    typer.Option("--consent", help="Who has agreed to its use as a voice, and how."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace a voice or file that exists.")]


@dataclass(frozen=True, slots=True)
class NewVoice:
    """The name and place of a new voice."""

    name: str
    root: Path | None
    """The project's folder; None for the library."""
    replacing: bool

    @property
    def path(self) -> Path:
        from narrator.cast import presets

        return presets.folder(self.root) / f"{self.name}{presets.SUFFIX}"

    def check(self) -> None:
        """Raises UsageError if the voice exists, unless it is to be replaced."""
        if self.path.exists() and not self.replacing:
            raise UsageError(
                f"{display_path(self.path)}: there is a voice of that name; --replace takes its "
                "place"
            )

    def keep(self, preset: Preset) -> None:
        """Writes the voice, and prints how to use it. Raises UsageError, StorageError."""
        from narrator.cast import presets

        self.check()
        presets.write(preset, self.path)
        location = "the library, for all projects" if self.root is None else "this project"
        out.print(f"{self.name} is in {location}: {display_path(self.path)}")
        out.print(f"Give it to a speaker in book.yaml: voice: {self.name}")


@voices.command("list")
def list_(project: ProjectFolder = None, as_json: AsJson = False) -> None:
    """List the voices of the project, the library and the engine."""
    from narrator.cast import presets
    from narrator.engines.registry import ENGINES

    root = find_project_root(project)
    entries = presets.list_all(root)
    engine = ENGINES[load_speech_settings(root).engine.name]
    if as_json:
        rows = [{"name": e.path.stem, "place": e.place, "file": str(e.path),
                 **({"trouble": e.trouble} if e.preset is None else _preset_json(e.preset))}
                for e in entries]  # fmt: skip
        rows += [{"name": name, "place": engine.name, "language": voice.language,
                  "pronoun": voice.pronoun} for name, voice in engine.voices.items()]  # fmt: skip
        out.print_json(data={"voices": rows})
        return
    if not entries and not engine.voices:
        out.print(
            "no voices yet; narrator voices add, narrator voices design. Kokoro's own: "
            "narrator voices list --engine kokoro"
        )
        return
    table = Table("voice", "in", "language", "seconds", "from")
    for entry in entries:
        preset = entry.preset
        row = ("", "", entry.trouble) if preset is None else (
            preset.language, f"{preset.seconds:.1f}", shorten(preset.summary)
        )  # fmt: skip
        table.add_row(entry.path.stem, entry.place, *row)
    for name, voice in engine.voices.items():
        table.add_row(name, engine.name, voice.language, "", voice.pronoun)
    out.print(table)
    if engine.voices:
        out.print(f"to hear one: narrator voices audition {next(iter(engine.voices))}")


@voices.command()
def add(
    name: Annotated[str, typer.Argument(help="The voice's name; or a .voice file to import.")],
    clip: Annotated[
        Path | None, typer.Argument(help="3 to 30 s of speech, in any format; or a .voice file.")
    ] = None,
    transcript: Annotated[
        str | None, typer.Option("--transcript", help="The exact words of the clip.")
    ] = None,
    transcript_file: Annotated[
        Path | None,
        typer.Option("--transcript-file", help="A text file with the exact words of the clip."),
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            "--cut",
            metavar="[SECONDS]",
            help="Cut the clip and its transcript at a pause after 5 to 10 s. With SECONDS, cut "
            "there; the transcript then holds only the words before.",
        ),
    ] = None,
    language: Language = None,
    style: Style = None,
    origin: Origin = None,
    consent: Consent = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish both in the description of finished files.")
    ] = False,
    library: InLibrary = False,
    replacing: Replace = False,
    project: ProjectFolder = None,
) -> None:
    """Make a voice from a recording, or import a .voice file."""
    from narrator.cast import clips, presets
    from narrator.project.schema import Rights

    root = find_project_root(project)
    if clip is None and name.endswith(presets.SUFFIX):
        clip, name = Path(name), presets.read(Path(name)).name
    voice = NewVoice(presets.validate_name(name), None if library else root, replacing)
    if clip is None:
        raise UsageError(f"which clip? narrator voices add '{voice.name}' CLIP --transcript \"…\"")
    if clip.suffix == presets.SUFFIX:
        if transcript or transcript_file:
            raise UsageError(f"{clip}: a preset has its own transcript")
        preset = replace(presets.read(clip), name=voice.name)
        voice.check()
        rights = _note_rights(preset.rights, origin, consent, publish or None, preset.is_designed)
        style = preset.style if style is None else style
        voice.keep(replace(preset, style=style, rights=rights))
        return
    transcript_text = _read_transcript(transcript, transcript_file)
    spoken_language = choose_language(root, language)
    voice.check()
    sound = clips.require_usable(
        _prepare_clip(voice.name, clip, transcript_text, spoken_language, cut), clip
    )
    for finding in sound.warnings:
        err.print(f"warning: {display_path(clip)}: {finding}")
    figures = sound.figures
    out.print(
        f"{figures.seconds:.1f} s of speech, {figures.gain:+.1f} dB to bring it to "
        f"{clips.TARGET_LEVEL:.0f} LUFS, {figures.noise:.0f} dB above its background"
    )
    rights = _note_rights(Rights(), origin, consent, publish or None)
    source = f"clip {clip.name}"
    voice.keep(
        presets.of_clip(
            voice.name, sound, spoken_language, style=style, source=source, rights=rights
        )
    )


def _note_rights(
    rights: Rights,
    origin: str | None,
    consent: str | None,
    publish: bool | None,
    is_designed: bool = False,
) -> Rights:
    """Returns rights with these changes.

    What is not noted yet is asked for on a terminal, unless nobody was recorded. Raises UsageError
    for published rights without an origin.
    """
    from narrator.project.schema import Rights

    if sys.stdin.isatty() and err.is_terminal and not is_designed and rights.origin is None:
        if origin is None:
            origin = _ask("Where does the recording come from: who speaks, when, for what?")
        if consent is None and rights.consent is None:
            consent = _ask("Who has agreed to its use as a voice, and how?")
    new_origin = rights.origin if origin is None else origin.strip() or None
    new_consent = rights.consent if consent is None else consent.strip() or None
    is_published = rights.publish if publish is None else publish
    if is_published and new_origin is None:
        raise UsageError("--publish: there is nothing to publish without an --origin")
    return Rights(origin=new_origin, consent=new_consent, publish=is_published)


def _ask(question: str) -> str:
    """Asks on the terminal for a note that may be left out."""
    answer: str = typer.prompt(f"{question} (Enter: not noted)", default="", show_default=False)
    return answer


def _prepare_clip(name: str, path: Path, transcript: str, language: str, cut: str | None) -> Clip:
    """Returns the clip, cut at `cut` seconds, or at the best pause if it is too long.

    Without `cut` the user is asked on a terminal, and only advised elsewhere. Raises UserError;
    UsageError if no pause, or more than one, fits `--cut` without a number.
    """
    from narrator.cast import clips, cuts

    recording = clips.read(path)
    if cut is not None and cut != _AUTOMATIC_CUT:
        recording = cuts.until(
            recording, _parse_cut_seconds(cut, len(recording.channels) / recording.rate)
        )
        return clips.prepare(recording, transcript, language)
    full_clip = clips.prepare(recording, transcript, language)
    if not clips.length_warning(full_clip.figures.seconds):
        return full_clip
    best_cut = cuts.find(recording, transcript, language)
    if best_cut is None:
        if cut is not None:
            raise UsageError(
                f"{display_path(path)}: no pause at the end of a sentence in it after 5 to 10 s; "
                "listen where one is, and say it: --cut SECONDS --transcript "
                '"what is said before"'
            )
        return full_clip
    times = f"cut at {best_cut.seconds:g} s, after {best_cut.speech:g} s of speech"
    proposal = f"{times}: “{best_cut.transcript}”"
    command = (
        f"narrator voices add {shlex.quote(name)} {shlex.quote(str(path))} "
        f"--cut {best_cut.seconds:g} --transcript {shlex.quote(best_cut.transcript)}"
    )
    if cut is None and sys.stdin.isatty() and err.is_terminal:
        doubt = "" if best_cut.sure else " (not sure: is this what is heard before it?)"
        err.print(f"{display_path(path)}: {clips.length_warning(full_clip.figures.seconds)}")
        err.print(f"{proposal}{doubt}")
        agreed = typer.confirm("Cut it there?", default=best_cut.sure)
    elif cut is None:
        doubt = "" if best_cut.sure else ", if these are the words that are heard before it"
        err.print(f"warning: {display_path(path)}: it can be cut{doubt}: {command}")
        agreed = False
    elif not best_cut.sure:
        raise UsageError(
            f"{display_path(path)}: several places come near, and a wrong transcript makes every "
            f"take ramble: listen to it up to {best_cut.seconds:g} s, mend the words, and say: "
            f"{command}"
        )
    else:
        agreed = True
    if not agreed:
        return full_clip
    out.print(proposal)
    return clips.prepare(cuts.until(recording, best_cut.seconds), best_cut.transcript, language)


def _parse_cut_seconds(text: str, max_seconds: float) -> float:
    """Returns the seconds of `--cut`. Raises UsageError for a number outside of the clip."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < max_seconds:
        raise UsageError(
            f"--cut {text}: seconds from its beginning, less than its {max_seconds:.1f}"
        )
    return seconds


@voices.command()
def show(name: Name, project: ProjectFolder = None, as_json: AsJson = False) -> None:
    """Show everything about a voice."""
    from narrator.cast import presets

    path = presets.find(name, find_project_root(project))
    preset = presets.read(path)
    facts = {"name": path.stem, "file": str(path), **_preset_json(preset)}
    if as_json:
        out.print_json(data=facts)
        return
    for key, entry in facts.items():
        if entry is not False and entry not in (None, "", [], {}):
            out.print(f"{key}: {_show_fact(entry)}")


@voices.command()
def rights(
    name: Name,
    origin: Origin = None,
    consent: Consent = None,
    publish: Annotated[
        bool | None,
        typer.Option(
            "--publish/--no-publish",
            help="Publish both in the description of finished files, or not.",
        ),
    ] = None,
    project: ProjectFolder = None,
) -> None:
    """Note the origin of a recording, and the consent to its use."""
    from narrator.cast import presets

    path = presets.find(name, find_project_root(project))
    preset = presets.read(path)
    noted = _note_rights(preset.rights, origin, consent, publish, preset.is_designed)
    if noted != preset.rights:
        presets.write(replace(preset, rights=noted), path)
    for key, entry in _rights_json(noted).items():
        out.print(f"{key}: {'not noted' if entry is None else _show_fact(entry)}")


@voices.command()
def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    library: Annotated[
        bool, typer.Option("--library", help="Delete the library's voice, not the project's.")
    ] = False,
    project: ProjectFolder = None,
) -> None:
    """Delete a voice. Takes that were spoken with it are kept."""
    from narrator.cast import presets

    path = presets.find(name, None if library else find_project_root(project))
    if not yes and not typer.confirm(f"Delete {display_path(path)}?"):
        out.print("kept")
        return
    presets.remove(path)
    out.print(f"removed {display_path(path)}")


@voices.command()
def copy(
    name: Name,
    target: Annotated[Path, typer.Argument(help="The .voice file to write, or its folder.")],
    replacing: Replace = False,
    project: ProjectFolder = None,
) -> None:
    """Write a voice to a .voice file. `voices add` imports it into another project, or on another
    machine."""
    from narrator import files
    from narrator.cast import presets

    path = presets.find(name, find_project_root(project))
    presets.read(path)  # what is damaged is not passed on
    if target.is_dir():
        target = target / path.name
    if target.suffix != presets.SUFFIX:
        raise UsageError(f"{target}: a voice's file ends in {presets.SUFFIX}")
    if target.exists() and not replacing:
        raise UsageError(f"{target}: is there already; --replace writes over it")
    with files.translating_errors(path):
        clip_bytes = path.read_bytes()
    files.write(target, clip_bytes)
    out.print(f"{path.stem} -> {display_path(target)}")


# -- the project of a command ----------------------------------------------------------------------


def load_speech_settings(root: Path | None) -> SpeechSettings:
    """Returns language and engine of the project in this folder, or the defaults without one."""
    from narrator.project import load

    return load.load_speech(None if root is None else root / "book.yaml")


def choose_language(root: Path | None, option: str | None) -> str:
    """Returns the language of the option, or the project's. Raises UsageError for a wrong tag."""
    if option is None:
        return load_speech_settings(root).language
    from textbase import languages

    try:
        return languages.validate_tag(option)
    except ValueError as error:
        raise UsageError(f"--language: {error}") from None


def find_project_root(option: Path | None) -> Path | None:
    """Returns the project's folder: that of the option, or this one if it has a manifest.

    Raises UsageError if the option's folder is not a project.
    """
    if option is None:
        return Path() if Path("book.yaml").is_file() else None
    root = option if option.is_dir() else option.parent
    if not (root / "book.yaml").is_file():
        raise UsageError(f"{option}: no project there, for there is no book.yaml")
    return root


def _read_transcript(text: str | None, file: Path | None) -> str:
    """Returns the transcript of one of the two options. Raises UsageError, UserError."""
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


def _preset_json(preset: Preset) -> dict[str, object]:
    return {
        "language": preset.language,
        "seconds": round(preset.seconds, 2),
        "transcript": preset.transcript,
        "description": preset.description,
        "style": preset.style,
        "seed": preset.seed,
        "source": preset.source,
        **_rights_json(preset.rights),
        "made": dict(preset.made),
        "encoded_for": sorted(preset.latents),
        "content": preset.content,
    }


def _show_fact(fact: object) -> str:
    """Returns a fact of a voice as a manifest has it."""
    match fact:
        case bool():
            return str(fact).lower()
        case list():
            return ", ".join(fact)
        case dict():
            return ", ".join(f"{key}: {entry}" for key, entry in fact.items())
    return str(fact)


def _rights_json(rights: Rights) -> dict[str, object]:
    return {"origin": rights.origin, "consent": rights.consent, "publish": rights.publish}
