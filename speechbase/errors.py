"""The errors that the model packages raise on purpose.

    ModelError
    ├── ConfigError       settings of a checkpoint: unknown, missing or misshapen values
    ├── CheckpointError   weights, tokenizer files, hub: missing, unexpected, torn, refused
    ├── AudioError        audio given to encode: unreadable, silent, too short, not finite
    └── RequestError      a call: empty or too long text, a prompt without text, bad numbers

Messages are one or two lines: what is wrong, where, and what to do.
"""

from __future__ import annotations

import json


def printable(name: object) -> str:
    """Formats a name or value from a file for a message: printable, on one line, shortened."""
    text = name if isinstance(name, str) else repr(name)
    text = f"{text[:60]}…{text[-10:]}" if len(text) > 80 else text
    return text if text.isprintable() else json.dumps(text)[1:-1]


class ModelError(Exception):
    """The root of the model packages' errors."""


class ConfigError(ModelError):
    """A checkpoint's settings do not describe a model that the package knows."""


class CheckpointError(ModelError):
    """The files of a checkpoint cannot be found, read or matched with the network."""


class AudioError(ModelError):
    """Audio that cannot be encoded."""


class RequestError(ModelError):
    """A call that asks for something impossible."""
