"""Commands of a cluster: scheduler, worker; and how other commands come to one."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from narrator.cli import completion
from narrator.cli.progress import without_progress_lines
from narrator.cli.shared import app, err, keep_awake, out
from narrator.errors import EngineUnavailable, UsageError, nearest
from narrator.quantities import pluralize

if TYPE_CHECKING:
    from narrator.engines import Engine
    from narrator.engines.cluster.client import MachineInfo
    from narrator.engines.cluster.engine import ClusterEngine
    from narrator.project.preferences import ClusterOptions

Tls = Annotated[
    Path | None,
    typer.Option("--tls", help="The folder of cert.pem and key.pem; by default the user's own."),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Use no certificates: every user of this machine can then run programs through it.",
    ),
]
OnCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Speak on the cluster of this scheduler, tls://host:8786; none: on this machine.",
    ),
]


@app.command()
def scheduler(
    listen: Annotated[
        str,
        typer.Option(
            "--listen", help="The address to listen on; 0.0.0.0 for all of its addresses."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")
    ] = 8786,
    tls: Tls = None,
    insecure: Insecure = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Serve Dask's dashboard on this machine.")
    ] = False,
) -> None:
    """Run the scheduler of a cluster, until Ctrl-C."""
    from narrator.engines.cluster import credentials

    credentials.require_dask()
    from narrator.engines.cluster import programs

    place = credentials.listening_place(listen, port, tls, insecure)
    with without_progress_lines(), keep_awake():
        programs.run_scheduler(place, 8787 if dashboard else None, out.print)


@app.command()
def worker(
    address: Annotated[
        str | None,
        typer.Argument(help="The scheduler, tls://host:8786; by default that of the settings."),
    ] = None,
    tls: Tls = None,
    insecure: Insecure = False,
    slots: Annotated[
        int | None,
        typer.Option("--slots", min=1, max=256, help="The number of chunks spoken at a time."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="The name of this worker; by default that of the machine."),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            help="Speak only with this engine; repeatable.",
            autocompletion=completion.engines,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="The folder or hub id of the model on this machine."),
    ] = None,
) -> None:
    """Speak for a cluster, until Ctrl-C."""
    from narrator.engines.cluster import credentials

    credentials.require_dask()
    from narrator.engines.cluster import programs, worker_tasks

    place = make_cluster_options(address, tls, insecure).place()
    if place is None:
        raise UsageError("which scheduler? narrator worker tls://host:8786")
    engine_names = programs.installed_engines()
    for engine_name in engine or ():
        if engine_name not in engine_names:
            guess = nearest(engine_name, engine_names)
            hint = (
                f"did you mean '{guess}'?"
                if guess
                else f"it has {', '.join(engine_names) or 'none'}"
            )
            raise UsageError(f"this machine has no engine {engine_name}; {hint}")
    if model is not None:
        worker_tasks.MACHINE.local_settings["model"] = (
            str(Path(model).absolute()) if Path(model).exists() else model
        )
    if slots is not None:
        worker_tasks.MACHINE.local_settings["slots"] = slots
    with without_progress_lines(), keep_awake():
        programs.run_machine(
            place, name or socket.gethostname(), slots, engine or engine_names, out.print
        )


def make_cluster_options(
    address: str | None, tls: Path | None = None, insecure: bool = False
) -> ClusterOptions:
    """Returns the cluster options of a command; the folder is absolute, for other processes."""
    from narrator.project.preferences import ClusterOptions

    return ClusterOptions(address or "", "" if tls is None else str(tls.absolute()), insecure)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The present state of a cluster that speaks for a book."""

    engine: ClusterEngine
    machines: Sequence[MachineInfo]
    """The machines that have the engine."""
    trouble: str = ""
    """The reason why its machines are not known."""

    @property
    def speed(self) -> float | None:
        """Seconds of speech per second; None unless the speed of every machine is known."""
        speeds = [machine.booth(self.engine.name).get("speed") for machine in self.machines]
        known_speeds = [speed for speed in speeds if speed is not None]
        return sum(known_speeds) if speeds and len(known_speeds) == len(speeds) else None


def find_clusters(engines: Iterable[Engine]) -> list[ClusterState]:
    """Returns the clusters among a book's engines, with the machines that answer."""
    from narrator.engines.cluster.engine import ClusterEngine

    clusters: list[ClusterState] = []
    for engine in engines:
        if not isinstance(engine, ClusterEngine):
            continue
        from narrator.engines.cluster import discovery

        try:
            machines = discovery.list_machines(engine.place).values()
        except EngineUnavailable as error:
            clusters.append(ClusterState(engine, (), str(error)))
        else:
            machines_with_engine = sorted(
                (machine for machine in machines if engine.name in machine.engines),
                key=attrgetter("name"),
            )
            clusters.append(ClusterState(engine, machines_with_engine))
    return clusters


def print_machines(clusters: Iterable[ClusterState]) -> None:
    """Prints a table of each cluster's machines, with their slots and speed."""
    for cluster in clusters:
        address, engine_name = cluster.engine.place.address, cluster.engine.name
        trouble = cluster.trouble
        if not cluster.machines and not trouble:
            remedy = f"`narrator worker {address}` on each"
            trouble = f"{address}: no machine has the engine {engine_name}: {remedy}"
        if trouble:
            err.print(f"warning: {trouble}")
            continue
        table = Table(address, "", engine_name, "speed", "at work", box=None)
        for machine in _machines_json(cluster):
            slots, speed = machine["slots"], machine["speed"]
            table.add_row(
                machine["name"],
                str(machine["system"]),
                pluralize(slots, "slot") if slots else "not loaded",
                "not measured yet" if speed is None else f"{speed:.1f} x real time",
                str(machine["at_work"]),
            )
        out.print(table)


def clusters_json(clusters: Iterable[ClusterState]) -> list[dict[str, object]]:
    return [
        {
            "cluster": cluster.engine.place.address,
            "engine": cluster.engine.name,
            "trouble": cluster.trouble or None,
            "machines": _machines_json(cluster),
        }
        for cluster in clusters
    ]


def _machines_json(cluster: ClusterState) -> list[dict[str, Any]]:
    rows = []
    for machine in cluster.machines:
        booth = machine.booth(cluster.engine.name)
        rows.append(
            {
                "name": machine.name,
                "system": machine.facts["system"],
                "slots": booth.get("slots", 0),
                "speed": booth.get("speed"),
                "at_work": booth.get("at_work", 0),
            }
        )
    return rows
