"""`narrator doctor`: whether this machine, or a book's server, can render, and what it costs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from narrator import __version__
from narrator.cli import completion
from narrator.cli.cluster import Insecure, OnCluster, Tls, make_cluster_options
from narrator.cli.shared import AsJson, app, display_path, err, out
from narrator.cli.voices import find_project_root
from narrator.errors import EngineUnavailable, EnvironmentFailed, NarratorError, UsageError
from narrator.installation import install_command, overwritten_backends, reinstall_command
from narrator.quantities import format_bytes, pluralize
from narrator.sound.clock import format_clock
from narrator.sound.formats import FORMATS

if TYPE_CHECKING:
    from narrator.engines.cluster.credentials import ClusterPlace
    from narrator.engines.machine import Device, Memory
    from narrator.engines.models import Model
    from narrator.engines.spec import EngineModel, EngineSettings, EngineSpec
    from narrator.pipeline.manuscript import Manuscript
    from narrator.pipeline.precision import PrecisionDifference, PrecisionFigures
    from narrator.project.preferences import ClusterOptions

TITLES_BY_ENCODER = {row.codec.encoder: row.title for row in FORMATS.values()}
LOW_DISK_BYTES, MIN_DISK_BYTES = 5e9, 0.5e9
"""Free disk space below which a book may not fit, and below which nothing does."""
SERVER, CLUSTER, ENGINE = "speech server", "cluster", "engine"

State = Literal["ok", "none", "warn", "fail"]
"""`none`: not installed, and not needed."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a render of a book on this machine."""

    speech: float
    """Seconds still to be spoken."""
    wall: float | None
    """Seconds."""
    basis: Literal["measured", "arithmetic", "unknown"]
    """Source of `wall`: this project's renders, or a bound by the device's figures."""
    disk: int | None
    """Bytes; None where no engine could be asked."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check."""

    name: str
    state: State
    said: str
    todo: str = ""
    """The remedy."""
    cost: Cost | None = None
    figures: PrecisionFigures | PrecisionDifference | None = None
    """Those of `--probe`."""


@app.command()
def doctor(
    book: Annotated[
        Path | None,
        typer.Argument(
            help="Also estimate the cost of this book; by default the one in this folder, if there "
            "is one."
        ),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Speak five sentences in bfloat16 and in float32, and say which to use; takes "
            "minutes.",
        ),
    ] = False,
    voice: Annotated[
        str | None,
        typer.Option(
            help="With --probe: the voice to speak with.",
            autocompletion=completion.presets,
        ),
    ] = None,
    as_json: AsJson = False,
    cluster: OnCluster = None,
    tls: Tls = None,
    insecure: Insecure = False,
) -> None:
    """Check whether this machine can render. If a speech server or a cluster speaks, checks those.
    Exit code 0: a render can run; 3: it cannot; 2: there is no such book."""
    from narrator.project.place import manifest_at

    if book is not None:
        manifest_at(book)
    if voice is not None and not probe:
        raise UsageError("--voice needs --probe, which speaks with it")
    checks = []
    wish, say = (
        make_cluster_options(cluster, tls, insecure),
        _ignore_message if as_json else err.print,
    )
    probe_options = ProbeOptions(voice, shows_progress=not as_json) if probe else None
    for check in examine(book or find_project_root(None), say, wish, probe_options):
        checks.append(check)
        if not as_json:
            out.print(f"{check.state:4}  {check.name}: {check.said}")
            if check.todo:
                out.print(f"      {check.todo}")
    fit = all(check.state != "fail" for check in checks)
    if as_json:
        out.print_json(data={"ok": fit, "checks": [asdict(check) for check in checks]})
    else:
        engines = {SERVER: "a speech server", CLUSTER: "a cluster"}
        names = (
            engines.get(check.name, check.said)
            for check in checks
            if check.name in (*engines, ENGINE)
        )
        summary = " and ".join(dict.fromkeys(names))
        out.print(f"a render with {summary} can run" if fit else f"not ready for {summary}")
    if not fit:
        raise typer.Exit(EnvironmentFailed.exit_code)


def _ignore_message(message: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The options of `--probe`."""

    voice: str | None
    """The name of a preset."""
    shows_progress: bool


def examine(
    book: Path | None, tell: Tell, wish: ClusterOptions, probe_options: ProbeOptions | None = None
) -> Iterator[Diagnosis]:
    """Yields each diagnosis as it is made; a book that cannot be read is a failed one.

    `tell` receives what takes time. With `probe_options` the models of this machine speak.
    """
    from narrator.engines import machine
    from narrator.engines.registry import ENGINES
    from narrator.pipeline.manuscript import read_manuscript

    yield _check_program()
    manuscript: Manuscript | None = None
    if book is not None:
        try:
            manuscript = read_manuscript(book)
        except NarratorError as error:
            message = str(error.problems[0])
            other_count = len(error.problems) - 1
            message += f" and {pluralize(other_count, 'problem')} more" if other_count else ""
            yield Diagnosis(
                "book", "fail", message, f"`narrator check {display_path(book)}` lists all"
            )
    root = manuscript.project.root if manuscript else None
    engine_settings = _distinct_engine_settings(manuscript)
    servers = [settings for settings in engine_settings if settings.name == "server"]
    models = [settings for settings in engine_settings if ENGINES[settings.name].model is not None]
    device = machine.Device("", "", None, "")
    for settings in servers:
        tell("asking the speech server")
        yield _check_server(settings)
    place = _cluster_of(models, wish)
    if isinstance(place, Diagnosis):
        yield place
    elif place is not None:
        tell("asking the cluster who is there")
        yield from _check_cluster(place, models)
    elif models or not engine_settings:
        tell("asking MLX for its device")
        device = machine.device()
        yield from _check_local_models(device, manuscript, models, tell)
    yield _check_encoders()
    for settings in engine_settings:
        spec = ENGINES[settings.name]
        if spec.model is None and settings not in servers:
            lacking = spec.missing_packages(settings)
            yield Diagnosis(ENGINE, "fail" if lacking else "ok", spec.title, lacking)
    yield _check_draft_voice(any(settings.name == "draft" for settings in engine_settings))
    yield _check_language_model(tell)
    yield _check_recogniser(manuscript, tell)
    yield from _list_extensions()
    yield from _check_folders(root)
    if probe_options is not None:
        yield from _probe(manuscript, engine_settings, probe_options, tell)
    if manuscript is not None:
        yield _check_book(manuscript, device, tell, wish)


def _probe(
    manuscript: Manuscript | None,
    engine_settings: Sequence[EngineSettings],
    probe_options: ProbeOptions,
    tell: Tell,
) -> Iterator[Diagnosis]:
    """Probes a book's engines; without a book, that of `--engine` or the default one."""
    from narrator.cli import precision
    from narrator.engines.registry import ENGINES
    from narrator.project import other_engine

    chosen_name = other_engine.chosen_engine()
    if not engine_settings and chosen_name and ENGINES[chosen_name].model is None:
        yield precision.no_precisions(ENGINES[chosen_name])
        return
    yield from precision.probe_engines(
        manuscript,
        engine_settings or [_default_engine().settings()],
        probe_options.voice,
        tell,
        shows_progress=probe_options.shows_progress,
    )


# -- the checks ------------------------------------------------------------------------------------


def describe_program() -> str:
    """Returns the versions of narrator, Python and the system."""
    return f"narrator {__version__}, Python {platform.python_version()}, {_system()[0]}"


def _system() -> tuple[str, bool]:
    """Returns the system with its version, and whether narrator is made for it."""
    system = f"{platform.system()} {platform.machine()}"
    if sys.platform == "darwin":
        release = platform.mac_ver()[0]
        system = f"macOS {release} {platform.machine()}"
        is_supported = platform.machine() == "arm64" and int(release.split(".")[0] or 0) >= 14
    else:
        library, release = platform.libc_ver()
        system += f", {library} {release}" if library else ""
        numbers = tuple(map(int, re.findall(r"\d+", release)))
        is_supported = sys.platform == "linux" and library == "glibc" and numbers >= (2, 35)
        is_supported = is_supported and platform.machine() in ("x86_64", "aarch64")
    return system, is_supported


def _check_program() -> Diagnosis:
    message, is_supported = describe_program(), _system()[1]
    if is_supported:
        return Diagnosis("program", "ok", message)
    todo = "made for macOS 14 or later on Apple silicon, and Linux with glibc 2.35 or later"
    return Diagnosis("program", "warn", message, todo)


def _check_server(settings: EngineSettings) -> Diagnosis:
    from narrator.engines import server

    try:
        return Diagnosis(SERVER, "ok", server.describe_server(settings))
    except EngineUnavailable as error:
        todo = "start it, or mend `engine` in the manifest; --draft needs no server"
        return Diagnosis(SERVER, "fail", str(error).removeprefix(f"{SERVER}: "), todo)


def _cluster_of(
    models: Sequence[EngineSettings], wish: ClusterOptions
) -> ClusterPlace | Diagnosis | None:
    """Checks the settings of the cluster."""
    try:
        return wish.place() if models else None
    except NarratorError as error:
        message, _, todo = str(error.problems[0]).partition("\n")
        return Diagnosis(CLUSTER, "fail", message, todo)


def _check_cluster(place: ClusterPlace, models: Sequence[EngineSettings]) -> Iterator[Diagnosis]:
    """Checks which machines of a cluster speak each of these."""
    from narrator.engines.cluster import codec, credentials
    from narrator.engines.registry import ENGINES

    try:
        credentials.require_dask()
        from narrator.engines.cluster import discovery

        for engine_settings in models:
            settings = codec.settings_to_send(engine_settings, ENGINES[engine_settings.name], ())
            unable = discovery.list_refusals(place, settings)
            able = sorted(name for name, why in unable.items() if not why)
            message = (
                f"{place.address}: {', '.join(able) or 'no machine'} for {engine_settings.name}"
            )
            todo = "; ".join(f"{name}: {why}" for name, why in unable.items() if why)
            if not unable:
                todo = (
                    f"`narrator worker {place.address}` on a machine that has "
                    f"{engine_settings.name}"
                )
            yield Diagnosis(CLUSTER, "ok" if able else "fail", message, todo)
    except EngineUnavailable as error:
        yield Diagnosis(CLUSTER, "fail", str(error), "without it: `--cluster none`")


def _distinct_engine_settings(manuscript: Manuscript | None) -> list[EngineSettings]:
    """Returns the settings of a book's engines that load differently.

    Settings that differ only in what is sent with each request count once.
    """
    from narrator.engines.registry import ENGINES
    from narrator.pipeline import book_engines

    settings_by_load: dict[EngineSettings, EngineSettings] = {}
    if manuscript is not None:
        for engine_settings in book_engines.settings_of(manuscript.project).values():
            unset = dict.fromkeys(ENGINES[engine_settings.name].chapter_settings)
            settings_by_load.setdefault(engine_settings.model_copy(update=unset), engine_settings)
    return list(settings_by_load.values())


def _check_local_models(
    device: Device,
    manuscript: Manuscript | None,
    settings: Sequence[EngineSettings],
    tell: Tell,
) -> Iterator[Diagnosis]:
    """Checks the device, and the models of these settings; without any, the default model."""
    from narrator.engines import machine
    from narrator.engines.registry import ENGINES

    root = manuscript.project.root if manuscript else None
    hears = manuscript is not None and manuscript.project.manifest.checks.recognition != "never"
    yield _check_device(device)
    local_models: list[tuple[EngineModel, Model]] = []
    for engine_settings in settings or [_default_engine().settings()]:
        kind = ENGINES[engine_settings.name]
        engine = kind.model
        assert engine is not None
        lacking = kind.missing_packages(engine_settings)
        yield Diagnosis(ENGINE, "fail" if lacking else "ok", kind.title, lacking)
        for name, model in engine.find(engine_settings, root, tell):
            yield _check_model(name, model, engine.family.pull)
            if name == "model":
                local_models.append((engine, model))
                if kind.cpu_seconds and model.path is not None and not lacking:
                    yield _check_speed(kind, engine_settings, root, tell)
    engine, model = max(local_models, key=lambda pair: pair[1].bytes)
    yield _check_memory(machine.memory(), device, model, hears, engine.family.pull)
    if device.kind in ("Metal", "CUDA") and model.path is not None and engine.time_step is not None:
        tell("running a step of the model's sizes")
        yield from _check_network_step(engine.time_step, model.path)


def _default_engine() -> EngineSpec:
    """Returns the engine of `--engine` if it has a model, else the default one."""
    from narrator.engines.registry import ENGINES
    from narrator.project import other_engine

    kinds = [kind for kind in ENGINES.values() if kind.model is not None]
    return next((kind for kind in kinds if kind.name == other_engine.chosen_engine()), kinds[0])


def _check_speed(
    kind: EngineSpec, settings: EngineSettings, root: Path | None, tell: Tell
) -> Diagnosis:
    """Measures the speed of a model that runs on a CPU, with a few sentences."""
    from narrator import files
    from narrator.engines.spec import EngineContext
    from narrator.speech import measure

    tell("speaking some sentences")
    try:
        engine = kind.make(settings, EngineContext(root, files.library() / "voices"), tell)
        session = engine.start(tell)
    except EngineUnavailable as error:
        return Diagnosis("speed", "fail", str(error).splitlines()[0])
    try:
        speed = measure.measure_speed(session, engine.sample_rate)
        message = f"{speed:.1f} x real time" if speed else "it spoke nothing"
        note = f" ({session.note})" if session.note else ""
        return Diagnosis("speed", "ok" if speed else "fail", message + note)
    finally:
        session.close()


def _check_device(device: Device) -> Diagnosis:
    if not device.kind:
        todo = "reinstall it: pip install --force-reinstall mlx"
        if overwritten_backends():
            todo = f"reinstall it: {reinstall_command('mlx-cpu')}"
        if sys.platform == "linux":
            todo += f" (with an NVIDIA GPU: {install_command('cuda')}, or `cuda13`)"
        return Diagnosis("MLX", "fail", device.problem, todo)
    size = f", {format_bytes(device.memory)}" if device.memory else ""
    message = f"{device.mlx} on {device.kind}: {device.name}{size}"
    if device.kind != "CPU":
        return Diagnosis("MLX", "ok", message)
    todo = "without a GPU large models are slow; `--engine kokoro` and `--draft` need none"
    for backend in overwritten_backends():
        if "cuda" in backend:
            todo = f"{backend} is installed, but another package replaced its library; "
            todo += f"to use an NVIDIA GPU: {reinstall_command(backend)}"
    return Diagnosis("MLX", "warn", message, todo)


def _check_model(name: str, model: Model, pull: str) -> Diagnosis:
    if model.path is None:
        ways = f"what to do: `{pull}`, or name its folder as engine.model, or add --draft"
        return Diagnosis(name, "fail", model.note, ways if name == "model" else "")
    version = f"commit {model.revision[:12]}" if model.revision else f"weights {model.weights[:12]}"
    location = "" if model.spec == str(model.path) else str(display_path(model.path))
    facts = ", ".join(filter(None, (format_bytes(model.bytes), model.precision, version, location)))
    return Diagnosis(name, "ok", f"{model.spec}: {facts}")


def _check_memory(
    memory: Memory, device: Device, model: Model, hears: bool, pull: str
) -> Diagnosis:
    from narrator.engines.mlx.memory import RECOGNISER_BYTES, WORK_BYTES

    free = "" if memory.available is None else f", {format_bytes(memory.available)} available"
    message = f"{format_bytes(memory.total)}{free}"
    if model.path is None:
        return Diagnosis("memory", "ok", message)
    # on a CPU the network computes in float32
    double = device.kind == "CPU" and model.precision in ("bfloat16", "float16")
    needed_bytes = model.bytes * (2 if double else 1) + WORK_BYTES
    room = min(memory.total, device.memory or memory.total)
    message += f"; the model wants about {format_bytes(needed_bytes)}"
    smaller_model_hint = f"`{pull} --8bit` makes a smaller model"
    if needed_bytes > room:
        return Diagnosis(
            "memory", "fail", f"{message}, {format_bytes(room)} can be had", smaller_model_hint
        )
    if hears and needed_bytes + RECOGNISER_BYTES > room:
        recogniser_size = format_bytes(RECOGNISER_BYTES)
        message += f", the recogniser takes {recogniser_size} more: {format_bytes(room)} can be had"
        return Diagnosis(
            "memory", "warn", message, f"`checks: {{recognition: never}}`; or {smaller_model_hint}"
        )
    if device.kind != "CUDA" and memory.available is not None and needed_bytes > memory.available:
        return Diagnosis(
            "memory", "warn", message, f"close other programs; or {smaller_model_hint}"
        )
    return Diagnosis("memory", "ok", message)


def _check_network_step(time_step: Callable[[Path], float], path: Path) -> Iterator[Diagnosis]:
    """Runs the network for one step, which compiles its kernels; yields only a failure."""
    try:
        time_step(path)
    except Exception as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        todo = "a driver or MLX that does not fit: reinstall both, or render with --draft"
        yield Diagnosis("a step", "fail", f"the model does not run here: {message}", todo)


def _check_encoders() -> Diagnosis:
    import av

    missing = []
    for name, format in TITLES_BY_ENCODER.items():
        try:
            av.codec.Codec(name, "w")
        except ValueError:
            missing.append(f"{name} ({format})")
    release = ".".join(map(str, av.library_versions["libavcodec"]))
    message = f"PyAV {av.__version__}, libavcodec {release}"
    if missing:
        todo = "install PyAV's own wheels: pip install --force-reinstall --only-binary av av"
        return Diagnosis("FFmpeg", "fail", f"{message}; lacks {', '.join(missing)}", todo)
    return Diagnosis("FFmpeg", "ok", f"{message}: {', '.join(TITLES_BY_ENCODER.values())}")


def _check_draft_voice(is_needed: bool) -> Diagnosis:
    try:
        version = importlib.metadata.version("espeakng-loader")
    except importlib.metadata.PackageNotFoundError:
        todo = f"for drafts in minutes: {install_command('draft')}"
        return Diagnosis("draft voice", "fail" if is_needed else "warn", "not installed", todo)
    return Diagnosis("draft voice", "ok", f"eSpeak NG (espeakng-loader {version})")


def _check_language_model(tell: Tell) -> Diagnosis:
    """Checks the optional reader; without it rules alone attribute lines."""
    from narrator.engines import models, reader

    name, version = "language model", reader.version()
    if not version:
        message = "not installed; `narrator cast` goes by rules alone"
        return Diagnosis(name, "none", message, f"to ask one: {install_command('casting')}")
    model = models.find_language(tell=tell)
    if model.path is None:
        return Diagnosis(name, "none", f"mlx-lm {version}; {model.note}")
    return Diagnosis(name, "ok", f"mlx-lm {version}; {model.spec}: {format_bytes(model.bytes)}")


def _check_recogniser(manuscript: Manuscript | None, tell: Tell) -> Diagnosis:
    """Checks the recogniser, which is needed where a manifest has takes heard."""
    from narrator.pipeline import checking
    from narrator.project.schema import Checks
    from narrator.speech.hearing import choosing

    name = "recognition"
    checks = manuscript.project.manifest.checks if manuscript else Checks()
    absent: State = "none" if checks.recognition == "never" else "fail"
    registry, recogniser = choosing.RECOGNISERS, checks.recogniser
    try:
        if registry.knows(recogniser) and not registry.is_own(recogniser):
            message = registry[recogniser].make().title
        elif version := choosing.version():
            root = manuscript.project.root if manuscript else None
            model = choosing.find_model(recogniser, root, tell)
            if model.path is None:
                return Diagnosis(name, absent, f"{version}; {model.note}")
            message = f"{version}; {model.spec}: {format_bytes(model.bytes)}"
        else:
            todo = f"to have takes heard and words timed: {install_command('recognition')}"
            return Diagnosis(name, absent, "not installed", todo)
    except NarratorError as error:
        return Diagnosis(name, absent, str(error))
    unknown = next(checking.find_unrecognised_languages(manuscript), None) if manuscript else None
    return Diagnosis(name, "warn" if unknown else "ok", message, unknown.message if unknown else "")


def _list_extensions() -> Iterator[Diagnosis]:
    """Lists the extensions in other packages' metadata; loads none."""
    from manuscripts.kinds import READERS
    from narrator.engines.registry import ENGINES
    from narrator.speech.hearing.choosing import RECOGNISERS
    from textbase.extensions import distribution

    for registry in (ENGINES, RECOGNISERS, READERS):
        for entry in registry.extensions:
            message = f"{registry.noun} {entry.name} of the package {distribution(entry)}"
            if registry.is_own(entry.name):
                todo = f"not used: narrator has {registry.noun} {entry.name} itself"
                yield Diagnosis("extension", "warn", message, todo)
            else:
                yield Diagnosis("extension", "ok", message)


def _check_folders(root: Path | None) -> Iterator[Diagnosis]:
    from narrator import files
    from narrator.engines import machine

    places = {
        "project" if root else "here": root or Path.cwd(),
        "library": files.library(),
        "temporary files": Path(tempfile.gettempdir()),
    }
    for name, path in places.items():
        try:
            free = machine.free(path)
        except OSError as error:
            yield Diagnosis(name, "fail", f"{path}: {error.strerror}")
            continue
        message = f"{path}, {format_bytes(free)} free"
        if not os.access(_nearest_existing_folder(path), os.W_OK | os.X_OK):
            state: State = "fail"
            todo = "give yourself the right to write there, or use another folder"
            if name == "library":  # renders only read it
                state = "warn"
                todo = "no models, voices or settings can be kept there; NARRATOR_HOME moves it"
            elif name == "temporary files":
                todo += " (TMPDIR)"
            yield Diagnosis(name, state, f"{path} cannot be written", todo)
        elif free < MIN_DISK_BYTES:
            yield Diagnosis(name, "fail", message, "make room on that disk")
        elif free < LOW_DISK_BYTES and name != "temporary files":
            yield Diagnosis(name, "warn", message, "a book takes some 300 MB an hour; make room")
        else:
            yield Diagnosis(name, "ok", message)


def _nearest_existing_folder(path: Path) -> Path:
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


# -- a book ----------------------------------------------------------------------------------------


def _check_book(
    manuscript: Manuscript, device: Device, tell: Tell, wish: ClusterOptions
) -> Diagnosis:
    try:
        cost = _estimate_cost(manuscript, device, tell, wish)
    except NarratorError as error:
        message, _, todo = str(error.problems[0]).partition("\n")
        return Diagnosis("book", "fail", message, todo)
    title = manuscript.project.manifest.title
    message = f"{title}: {format_clock(cost.speech)} of speech to render"
    if cost.basis == "measured" and cost.wall is not None:
        message += f", about {format_clock(cost.wall)} (measured in this project)"
    elif cost.wall is not None:
        message += (
            f", {format_clock(cost.wall)} at the very best (arithmetic for {device.name}, not "
            "measured)"
        )
    else:
        message += "; its speed has not been measured here yet"
    message += "" if cost.disk is None else f"; {format_bytes(cost.disk)} of disk"
    return Diagnosis("book", "ok", message, cost=cost)


def _estimate_cost(
    manuscript: Manuscript, device: Device, tell: Tell, wish: ClusterOptions
) -> Cost:
    from narrator.engines.registry import ENGINES
    from narrator.pipeline import book_engines, book_plan, estimate

    seconds, wall, disk = sum(u.expected for u in manuscript.spoken), None, None
    try:
        engines = book_engines.engines_for(manuscript.project, wish)
        book = book_plan.plan(
            manuscript, engines.main, book_plan.Selection(), engines=engines.by_speaker
        )
        costs = estimate.estimate(book)
        seconds, wall, disk = costs.speech_seconds, costs.wall_seconds, costs.disk_bytes
    except EngineUnavailable as error:
        tell(str(error))
    if wall is not None:
        return Cost(seconds, wall, "measured", disk)
    model = ENGINES[manuscript.project.engine.name].model
    if model is not None and device.name in model.speed_limits:
        return Cost(seconds, seconds / model.speed_limits[device.name][1], "arithmetic", disk)
    return Cost(seconds, None, "unknown", disk)
