"""Checks the Host header: a foreign domain may resolve to this machine (DNS rebinding)."""

from __future__ import annotations

import ipaddress
import socket


class Hosts:
    """The host names by which a browser may call this server."""

    def __init__(self, address: str, port: int) -> None:
        """`address` is the address that the server listens on."""
        self.port, self.local = port, is_local(address)
        self._names = {"localhost", "127.0.0.1", "::1", address}
        if not self.local:
            hostname = socket.gethostname().casefold()
            self._names |= {hostname, f"{hostname}.local"}

    def knows(self, host: str) -> bool:
        """True if a Host header names this server. Any IP address does if the server is not local,
        since only a domain name can be rebound."""
        name, port = _split_host(host)
        if port != self.port:
            return False
        return name in self._names or (not self.local and _is_address(name))


def is_local(address: str) -> bool:
    """True if an address can be reached from this machine alone."""
    return address == "localhost" or (
        _is_address(address) and ipaddress.ip_address(address).is_loopback
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _split_host(host: str) -> tuple[str, int]:
    """Splits a Host header into name and port; port 0 if it is malformed."""
    name, colon, port = host.casefold().rpartition(":")
    if not colon or name.endswith(":"):
        name, port = host.casefold(), "80"
    name = name.removeprefix("[").removesuffix("]")
    return name, int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else 0
