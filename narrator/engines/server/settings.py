"""What a manifest can say of a speech server, and what of it is no address, key or price."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from narrator.engines.spec import EngineSettings
from narrator.settings import Strict, Text

Dialect = Literal["openai", "vllm-omni", "nano-vllm-voxcpm"]
SoundFormat = Literal["wav", "flac", "pcm"]

_PRICE = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(?: *([^\W\d_]{2,20}|[^\w\s.,;:'’+*/%\x00-\x1f-]))?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    secure: bool
    host: str
    port: int
    path: str
    """Without a slash at its end, and without /v1; "" or "/speech"."""

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.place}"

    @property
    def place(self) -> str:
        """Host, port and path, which identify the server in keys unless the manifest names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}{self.path}"

    @property
    def is_here(self) -> bool:
        """Returns whether it is this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


_ENDPOINTS = "/audio/speech", "/generate", "/chat/completions"


def parse_address(url: str, *, key_setting: str = "`engine.key`") -> Address:
    """Parses the URL of a server. Raises ValueError for an invalid one, and for one with a password
    or a query; then it names the setting in which a key belongs."""
    # messages never contain the URL, since a part of it may be a key
    if any(not "!" <= letter <= "~" for letter in url):
        raise ValueError("an address has no spaces and no letters beyond ASCII")
    parts = urlsplit(url)
    after_brackets = parts.netloc.rpartition("]")[2] if "]" in parts.netloc else ""
    is_host_cut = after_brackets[:1] not in ("", ":")  # [::1].example.org
    if parts.scheme not in ("http", "https") or not parts.hostname or is_host_cut:
        raise ValueError("must be an address, as http://127.0.0.1:8000 or https://host/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"names and passwords do not go into an address: see {key_setting}")
    if parts.query or parts.fragment:
        raise ValueError(f"an address ends before ? and #; for keys see {key_setting}")
    secure = parts.scheme == "https"
    try:
        port = (443 if secure else 80) if parts.port is None else parts.port
    except ValueError:
        raise ValueError("the port, after the colon, must be a number up to 65535") from None
    if port == 0:
        raise ValueError("nothing listens at port 0")
    path = parts.path.rstrip("/")
    if endpoint := next((end for end in _ENDPOINTS if path.endswith(end)), ""):
        raise ValueError(f"an address ends before {endpoint}, as https://host/v1")
    return Address(secure, parts.hostname, port, path.removesuffix("/v1"))


def _check_url(url: str) -> str:
    parse_address(url)
    return url


def check_key_name(name: str) -> str:
    """Returns the name of an environment variable. Raises ValueError for anything else."""
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        # without the text itself, which may be a key
        raise ValueError(
            "must be the name of an environment variable in capitals (OPENAI_API_KEY), never the "
            "key itself; if it is one, a file or your shell's history has it: have it replaced"
        )
    return name


def check_price(price: str) -> str:
    """Returns a price as "15 USD". Raises ValueError for anything else."""
    if not _PRICE.fullmatch(price):
        raise ValueError("must be a number and a currency, as 15 USD")
    return price


def cost(price: str, count: int) -> str:
    """Describes the cost of so many characters or tokens: "about 0.19 USD at 15 USD a million"."""
    match = _PRICE.fullmatch(price)
    assert match is not None
    amount = Decimal(match[1]) * count / 1_000_000
    currency = f" {match[2].strip()}" if match[2] else ""
    return f"about {amount:.2f}{currency} at {price} a million"


class ServerSettings(EngineSettings):
    """A speech server, and the requests to it."""

    name: Literal["server"] = "server"
    """A speech server, on this machine or another."""
    url: Annotated[Text, AfterValidator(_check_url)] | None = None
    """Address of the server, with or without /v1. Text and clips are sent only there, without a
    proxy."""
    dialect: Dialect = "openai"
    """The server's API: OpenAI's /v1/audio/speech with the name of a voice, vLLM-Omni's with a
    clip, or nano-vllm-voxcpm's /generate."""
    model: Text = "auto"
    """The server's name for its model; auto uses its only one."""
    version: Text | None = None
    """Part of the keys of takes: changing it renders the server's takes again."""
    known_as: Text | None = None
    """Name of the server in the keys of takes, instead of its address, if the address changes."""
    key: Annotated[Text, AfterValidator(check_key_name)] | None = None
    """Name of the environment variable that holds the server's key; never the key itself."""
    slots: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = "auto"
    """Most concurrent requests; auto is 32. The number starts at two and adapts to the server."""
    timeout: float = Field(default=300.0, ge=1, le=3600)
    """Seconds that the server may take for one chunk, including its queue."""
    format: Literal["auto"] | SoundFormat = "auto"
    """Requested audio format; auto is the lossless one of the dialect."""
    sample_rate: Literal["auto"] | Annotated[int, Field(ge=8000, le=192_000)] = "auto"
    """Sample rate of the server's audio, Hz; auto is 24000, for nano-vllm-voxcpm 48000."""
    instructions: bool = False
    """True if the server's model accepts a style as `instructions`."""
    cfg: float = Field(default=2.0, ge=0.1, le=10)
    """Guidance scale: how closely text and voice are followed."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    """Seed of the noise: another one speaks everything slightly differently."""
    price: Annotated[Text, AfterValidator(check_price)] | None = None
    """Price of a million characters, with its currency (15 USD), for `plan`."""


class ServerVoice(Strict):
    """A voice of a speech server."""

    voice: Text | None = None
    """The server's name for the voice: alloy, af_heart."""
