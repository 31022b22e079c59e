"""What a server of ours may be called: a name of somebody else's may lead here (rebinding)."""

from __future__ import annotations

import ipaddress
import socket


class Hosts:
    """What a browser may call this server."""

    def __init__(self, address: str, port: int) -> None:
        """`address` is the one that is listened on."""
        self.port, self.local = port, is_local(address)
        self._names = {"localhost", "127.0.0.1", "::1", address}
        if not self.local:
            own = socket.gethostname().casefold()
            self._names |= {own, f"{own}.local"}

    def knows(self, host: str) -> bool:
        """Whether a Host is this server's. An address is, where others may listen too: only a name
        can be made to lead here by somebody else."""
        name, port = _parted(host)
        if port != self.port:
            return False
        return name in self._names or (not self.local and _is_address(name))


def is_local(address: str) -> bool:
    """Whether an address is reached from this machine alone."""
    return address == "localhost" or (
        _is_address(address) and ipaddress.ip_address(address).is_loopback
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _parted(host: str) -> tuple[str, int]:
    """Name and port of a Host; port 0 where there is none that can be."""
    name, colon, port = host.casefold().rpartition(":")
    if not colon or name.endswith(":"):
        name, port = host.casefold(), "80"
    name = name.removeprefix("[").removesuffix("]")
    return name, int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else 0
