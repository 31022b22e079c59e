"""Strict parser of speech requests: OpenAI's fields of `/v1/audio/speech`, and `language`.

Other fields, which other servers have, are ignored and named in the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrator.serve.formats import FORMATS
from narrator.serve.refusals import Refusal
from textbase import languages

MAX_CHARACTERS = 20_000
"""Characters of a text, unless another number was set; OpenAI takes 4,096."""
MAX_SPEECH_SECONDS = 1800.0
"""Seconds of speech of a text, unless another number was set."""
_MAX_INSTRUCTIONS = 4096
_SPEED_RANGE = (0.25, 4.0)
_MODEL_ALIASES = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")
_FIELDS = frozenset(
    "model input voice response_format speed instructions stream_format language".split()
)


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """A parsed request to speak a text."""

    text: str
    voice: str
    format: str
    speed: float
    style: str | None
    language: str | None
    """None for the voice's own."""
    sends_events: bool
    """True if the sound is sent as server-sent events."""
    ignored_fields: Sequence[str]
    """Names of unknown fields."""


def models(engine: str) -> Sequence[str]:
    """Returns the accepted values of `model`: the engine's own name, and OpenAI's for it."""
    return engine, *_MODEL_ALIASES


def check_model(model: str, engine: str) -> None:
    """Raises Refusal for an unknown model."""
    if model not in models(engine) and not model.startswith(
        f"{_MODEL_ALIASES[-1]}-"
    ):  # by their dates
        raise Refusal(
            404,
            f"the model '{model}' does not exist; GET /v1/models lists them",
            param="model",
            code="model_not_found",
        )


def parse_request(body: Mapping[str, Any], engine: str, max_characters: int) -> SpeechRequest:
    """Parses the JSON body of a request. Raises Refusal."""
    fields = {name: value for name, value in body.items() if value is not None}
    check_model(_text_field(fields, "model", 200), engine)
    text = _text_field(fields, "input", max_characters)
    if not any(map(str.isalnum, text)):
        raise Refusal(400, "there is nothing to say in `input`", param="input")
    instructions = _text_field(fields, "instructions", _MAX_INSTRUCTIONS, "")
    style = " ".join(instructions.split())
    return SpeechRequest(
        text=text,
        voice=_voice_field(fields),
        format=_choice_field(fields, "response_format", FORMATS, "mp3"),
        speed=_speed_field(fields.get("speed", 1.0)),
        style=style if style not in ("", "None") else None,  # Home Assistant says None without one
        language=_language_field(fields),
        sends_events=_choice_field(fields, "stream_format", ("audio", "sse"), "audio") == "sse",
        ignored_fields=sorted(body.keys() - _FIELDS),
    )


def make_too_long_refusal(max_seconds: float) -> Refusal:
    """Returns the refusal of a text with more seconds of speech than are allowed."""
    minutes = f"{max_seconds / 60:g} {'minute' if max_seconds == 60 else 'minutes'}"
    return Refusal(
        400,
        f"`input` would be more than {minutes} of speech, the most that is taken: send it in parts",
        param="input",
        code="string_above_max_length",
    )


def _text_field(
    fields: Mapping[str, Any], name: str, max_characters: int, default: str | None = None
) -> str:
    value = fields.get(name, default)
    if value is None:
        raise Refusal(400, f"`{name}` is missing", param=name, code="missing_required_parameter")
    if not isinstance(value, str):
        raise Refusal(400, f"`{name}` is to be a text", param=name, code="invalid_type")
    if len(value) > max_characters:
        raise Refusal(
            400,
            f"`{name}` has {len(value):,} characters, and {max_characters:,} at most are taken",
            param=name,
            code="string_above_max_length",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refusal(400, f"`{name}` holds half of a character", param=name) from None
    return value


def _voice_field(fields: Mapping[str, Any]) -> str:
    """Returns the voice: a name, or an object with a name as its `id`."""
    voice = fields.get("voice")
    if isinstance(voice, Mapping):
        return _text_field({"voice": voice.get("id")}, "voice", 200)
    return _text_field(fields, "voice", 200)


def _choice_field(
    fields: Mapping[str, Any], name: str, choices: Sequence[str], default: str
) -> str:
    value = fields.get(name, default)
    if value not in choices:
        raise Refusal(
            400,
            f"`{name}` is to be one of {', '.join(choices)}",
            param=name,
            code="invalid_value",
        )
    return str(value)


def _speed_field(value: Any) -> float:
    low, high = _SPEED_RANGE
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # NaN is neither
        raise Refusal(
            400,
            f"`speed` must be a number from {low} to {high}",
            param="speed",
            code="invalid_value",
        )
    return float(value)


def _language_field(fields: Mapping[str, Any]) -> str | None:
    if "language" not in fields:
        return None
    try:
        return languages.validate_tag(_text_field(fields, "language", 35))
    except ValueError as error:
        raise Refusal(400, f"`language`: {error}", param="language", code="invalid_value") from None
