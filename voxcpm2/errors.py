"""What can go wrong for a user of the package; nothing else is raised on purpose.

    VoxCPM2Error
    ├── ConfigError       config.json: unknown architecture, missing or misshapen values
    ├── CheckpointError   weights, tokenizer files, hub: missing, unexpected, torn, refused
    ├── AudioError        audio given to encode: unreadable, silent, too short, not finite
    └── RequestError      a call: empty or too long text, a prompt without text, bad numbers

Messages are one or two lines: what is wrong, where, and what to do.
"""

from __future__ import annotations

import json


def shown(name: object) -> str:
    """A name or value out of a file, for a message: printable, on one line, and not endless."""
    text = name if isinstance(name, str) else repr(name)
    text = f"{text[:60]}…{text[-10:]}" if len(text) > 80 else text
    return text if text.isprintable() else json.dumps(text)[1:-1]


class VoxCPM2Error(Exception):
    """The root of this package's errors."""


class ConfigError(VoxCPM2Error):
    """config.json does not describe a model that this package knows."""


class CheckpointError(VoxCPM2Error):
    """The files of a checkpoint cannot be found, read or matched with the network."""


class AudioError(VoxCPM2Error):
    """Audio that cannot be encoded."""


class RequestError(VoxCPM2Error):
    """A call that asks for something impossible."""
