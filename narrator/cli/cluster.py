"""Commands of a cluster: scheduler, worker; and how other commands come to one."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrator.cli.progress import silence
from narrator.cli.shared import app, out
from narrator.errors import UsageError, nearest

if TYPE_CHECKING:
    from narrator.project.preferences import ClusterWish

Tls = Annotated[
    Path | None,
    typer.Option("--tls", help="The folder of cert.pem and key.pem; else the user's own."),
]
OnCluster = Annotated[
    str | None,
    typer.Option("--cluster", help="Have it spoken at tls://host:8786; none: on this machine."),
]


@app.command()
def scheduler(
    listen: Annotated[
        str, typer.Option("--listen", help="An address; beyond this machine with certificates.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="To listen at.")] = 8786,
    tls: Tls = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Dask's own page, on this machine.")
    ] = False,
) -> None:
    """Bring the machines of a cluster together; runs until ctrl-C."""
    from narrator.engines.cluster import credentials

    credentials.require()
    from narrator.engines.cluster import hosting

    place = credentials.to_listen(listen, port, tls)
    with silence():
        hosting.schedule(place, 8787 if dashboard else None, out.print)


@app.command()
def worker(
    address: Annotated[
        str | None, typer.Argument(help="The scheduler's: tls://host:8786; else of the settings.")
    ] = None,
    tls: Tls = None,
    slots: Annotated[
        int | None, typer.Option("--slots", min=1, max=256, help="Chunks side by side.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="What it is called; else as this machine.")
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="One that it speaks with; else all here.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="The folder or hub id of this machine's model.")
    ] = None,
) -> None:
    """Speak for a cluster; runs until ctrl-C."""
    from narrator.engines.cluster import credentials

    credentials.require()
    from narrator.engines.cluster import far, hosting

    place = wish_of(address, tls).place()
    if place is None:
        raise UsageError("which scheduler? narrator worker tls://host:8786")
    able = hosting.can_speak()
    for wanted in engine or ():
        if wanted not in able:
            guess = nearest(wanted, able)
            hint = f"did you mean '{guess}'?" if guess else f"it has {', '.join(able) or 'none'}"
            raise UsageError(f"this machine has no engine {wanted}; {hint}")
    if model is not None:
        far.MACHINE.here["model"] = str(Path(model).absolute()) if Path(model).exists() else model
    if slots is not None:
        far.MACHINE.here["slots"] = slots
    with silence():
        hosting.work(place, name or socket.gethostname(), slots, engine or able, out.print)


def wish_of(address: str | None, tls: Path | None) -> ClusterWish:
    """What a command says of a cluster; a folder as who does it elsewhere finds it."""
    from narrator.project.preferences import ClusterWish

    return ClusterWish(address or "", "" if tls is None else str(tls.absolute()))
