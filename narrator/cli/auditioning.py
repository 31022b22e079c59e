"""Commands that have a voice speak: design, audition."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli import completion
from narrator.cli.shared import check_replaceable, display_path, err, out
from narrator.cli.voices import (
    InLibrary,
    Language,
    NewName,
    NewVoice,
    ProjectFolder,
    Replace,
    Style,
    choose_language,
    find_project_root,
    load_speech_settings,
    voices,
)
from narrator.errors import UsageError, UserError, nearest
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.cast.auditions import Candidate
    from narrator.engines import Engine, Speech
    from narrator.engines.spec import EngineSettings, EngineSpec
    from narrator.engines.voice import Mode, Reference, Voice


@voices.command()
def design(
    name: NewName,
    description: Annotated[
        str, typer.Argument(help='The voice in words, such as "A warm old storyteller".')
    ],
    count: Annotated[
        int, typer.Option("--candidates", min=1, max=32, help="The number of candidates.")
    ] = 3,
    choose: Annotated[
        int | None, typer.Option("--choose", min=1, help="Keep this candidate instead of the best.")
    ] = None,
    listen: Annotated[
        Path | None, typer.Option("--listen", help="Write all candidates to this folder.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**32 - 1, help="Another seed makes other candidates."),
    ] = 0,
    language: Language = None,
    style: Style = None,
    library: InLibrary = False,
    replacing: Replace = False,
    project: ProjectFolder = None,
) -> None:
    """Make a voice from a description. Renders some candidates and keeps the best."""
    from narrator.cast import auditions, presets
    from narrator.engines.voice import Voice

    if choose is not None and choose > count:
        raise UsageError(f"--choose {choose}: there are {count} candidates")
    if not description.strip():
        raise UsageError('a description is needed, for example "A warm old storyteller"')
    root = find_project_root(project)
    new = NewVoice(presets.validate_name(name), None if library else root, replacing)
    new.check()
    spoken_language = choose_language(root, language)
    engine = _designing_engine(root)
    _check_clones(engine, "design a voice")
    voice = Voice(
        new.name, description=" ".join(description.split()), seed=seed, style=style,
        language=spoken_language,
    )  # fmt: skip
    _check_problems(engine, voice, spoken_language)
    if note := auditions.text_for(spoken_language).note:
        err.print(f"warning: {note}")
    with closing(engine.start(err.print)) as session:
        [candidates] = auditions.cast(
            session, engine, [voice], count=count,
            on_progress=lambda done, total: err.print(f"{done} of {pluralize(total, 'candidate')}"),
        )  # fmt: skip
    for candidate in candidates:
        out.print(str(candidate))
    if listen is not None:
        _write_candidates(candidates, listen, new.name, engine.sample_rate)
    chosen = auditions.choose(candidates) if choose is None else candidates[choose - 1]
    if not chosen.usable:
        raise UserError(f"candidate {choose} cannot be used: {'; '.join(chosen.trouble)}")
    out.print(f"kept candidate {chosen.number}, " + (
        "the best" if choose is None else "as you chose"))  # fmt: skip
    new.keep(auditions.add_latents(auditions.preset_of(chosen, new.name), engine))


def _write_candidates(candidates: Sequence[Candidate], folder: Path, name: str, rate: int) -> None:
    """Writes a WAV of each candidate, and a voice file of each usable one."""
    from narrator import files
    from narrator.cast import auditions, presets

    for candidate in candidates:
        stem = f"{name}-{candidate.number}"
        if candidate.speech is not None:
            _write_wav(folder / f"{stem}.wav", candidate.speech, rate)
        if candidate.usable:
            preset = auditions.preset_of(candidate, name)
            files.write(folder / f"{stem}{presets.SUFFIX}", presets.pack(preset))
    out.print(
        f"candidates are in {display_path(folder)}; to keep another one: "
        f"narrator voices add '{name}' '{display_path(folder)}/{name}-N{presets.SUFFIX}' --replace"
    )


@voices.command()
def audition(
    name: Annotated[
        str,
        typer.Argument(
            help="A preset, or one of the engine's voices.", autocompletion=completion.voices
        ),
    ],
    text: Annotated[
        str | None, typer.Argument(help="The text to speak: a sentence or two.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--out", "-o", help="The WAV file to write.")
    ] = None,
    style: Style = None,
    project: ProjectFolder = None,
) -> None:
    """Write a WAV file in which a voice speaks."""
    from narrator.cast import auditions
    from narrator.speech.plan import sound_parameters_of

    root = find_project_root(project)
    engine = engine_for(root)
    voice, reference = _find_voice(name, root, engine)
    target = target or Path(f"{voice.speaker}-audition.wav")
    check_replaceable(target, b"WAVE", "WAV file")
    language = voice.language or load_speech_settings(root).language
    spoken_text = (
        auditions.text_for(language).text
        if text is None
        else _spoken_text(text, language, voice.speaker)
    )
    if style:
        voice = replace(voice, style=style)
    _check_problems(engine, voice, language)
    engine_parameters = sound_parameters_of(engine, load_speech_settings(root).engine.model_dump())
    mode: Mode = "reference" if reference else "zero-shot"
    line = auditions.make_request(voice, spoken_text, language, engine_parameters, reference, mode)
    audition = auditions.Audition(engine, line)
    auditions.speak_line(audition, err.print)
    speech, faults = audition.heard()
    _write_wav(target, speech, engine.sample_rate)
    for fault in faults:
        err.print(f"warning: {fault}")
    out.print(f"{len(speech.samples) / engine.sample_rate:.1f} s -> {display_path(target)}")


def _find_voice(name: str, root: Path | None, engine: Engine) -> tuple[Voice, Reference | None]:
    """Returns a voice of the engine's own, or one that is kept, with its reference.

    Raises UserError, UsageError.
    """
    from narrator.cast import presets
    from narrator.engines.registry import ENGINES

    own_voices = ENGINES[load_speech_settings(root).engine.name].voices
    if name in own_voices:
        return own_voices[name], None
    owner = next((spec for spec in ENGINES.values() if name in spec.voices), None)
    if owner:
        raise UsageError(
            f"{name} is one of {owner.title}'s: narrator voices audition {name} "
            f"--engine {owner.name}"
        )
    if not engine.clones and (guess := nearest(name, list(own_voices))):
        raise UsageError(f"{name}: no such voice; did you mean '{guess}'?")
    path = presets.find(name, root)
    preset = presets.read(path)
    _check_clones(engine, "speak in a voice of yours")
    return preset.to_voice(path), preset.to_reference()


def _spoken_text(text: str, language: str, speaker: str) -> str:
    from narrator.text.normalize import Lexicon, normalize

    return normalize(text.strip(), language=language, speaker=speaker, lexicon=Lexicon(())).text


def _designing_engine(root: Path | None) -> Engine:
    """Returns the project's engine, or the default one if that cannot design voices."""
    from narrator.engines.registry import ENGINES

    book_spec, default_spec = (
        ENGINES[load_speech_settings(root).engine.name],
        next(iter(ENGINES.values())),
    )
    if book_spec.can_design_voices:
        return engine_for(root)
    err.print(f"{book_spec.name} speaks after a clip: {default_spec.name} casts the voice")
    return _make_engine(default_spec, default_spec.settings(), root)


def engine_for(root: Path | None) -> Engine:
    """Returns the engine of the project, or of the settings' defaults without one."""
    from narrator.engines.registry import ENGINES

    settings = load_speech_settings(root).engine
    return _make_engine(ENGINES[settings.name], settings, root)


def _make_engine(spec: EngineSpec, settings: EngineSettings, root: Path | None) -> Engine:
    from narrator import files
    from narrator.engines.spec import EngineContext

    home = files.library() if root is None else root
    return spec.make(settings, EngineContext(home, home / "build" / "voices"), err.print)


def _check_clones(engine: Engine, purpose: str) -> None:
    """Raises UsageError if the engine cannot imitate a clip; `purpose` completes "cannot …"."""
    if not engine.clones:
        raise UsageError(
            f"the {engine.name} engine cannot {purpose}: it has voices of its own alone; "
            "this needs VoxCPM2 (no --draft, and no `engine: draft` in the manifest)"
        )


def _check_problems(engine: Engine, voice: Voice, language: str) -> None:
    """Raises UserError if the engine cannot speak the language in this voice."""
    if problems := engine.problems({voice.speaker: voice}, [language]):
        raise UserError(problems)


def _write_wav(path: Path, speech: Speech, rate: int) -> None:
    import soundfile

    from narrator import files

    with files.replacing(path) as temporary:
        soundfile.write(temporary, speech.samples, rate, format="WAV", subtype="PCM_24")
