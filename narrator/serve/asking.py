"""What is asked, read strictly: OpenAI's fields of `/v1/audio/speech`, and `language`.

Fields that are none of these are left alone, and named in the answer: other servers have more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrator.project import languages
from narrator.serve.formats import FORMATS
from narrator.serve.refusals import Refusal

LONGEST = 20_000
"""Characters of a text, unless another number was set; OpenAI takes 4,096."""
LONGEST_SPEECH = 1800.0
"""Seconds of speech of a text, unless another number was set."""
_INSTRUCTIONS = 4096
_SPEEDS = (0.25, 4.0)
_MODELS = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")
_FIELDS = frozenset(
    "model input voice response_format speed instructions stream_format language".split()
)


@dataclass(frozen=True, slots=True)
class SpeechAsked:
    """A text to be spoken, as it was asked for."""

    text: str
    voice: str
    format: str
    speed: float
    style: str | None
    language: str | None
    """None is the voice's own."""
    events: bool
    """Whether the sound is to come as events."""
    ignored: Sequence[str]
    """Fields that mean nothing here."""


def models(engine: str) -> Sequence[str]:
    """What may stand as `model`: the engine that speaks, by its own name or one of OpenAI's."""
    return engine, *_MODELS


def check_model(model: str, engine: str) -> None:
    """Raises Refusal for one that is not here."""
    if model not in models(engine) and not model.startswith(f"{_MODELS[-1]}-"):  # by their dates
        raise Refusal(
            404,
            f"the model '{model}' does not exist; GET /v1/models lists them",
            param="model",
            code="model_not_found",
        )


def read(body: Mapping[str, Any], engine: str, longest: int) -> SpeechAsked:
    """Raises Refusal."""
    given = {name: value for name, value in body.items() if value is not None}
    check_model(_text(given, "model", 200), engine)
    text = _text(given, "input", longest)
    if not any(map(str.isalnum, text)):
        raise Refusal(400, "there is nothing to say in `input`", param="input")
    instructions = _text(given, "instructions", _INSTRUCTIONS, "")
    style = " ".join(instructions.split())
    return SpeechAsked(
        text=text,
        voice=_voice(given),
        format=_choice(given, "response_format", FORMATS, "mp3"),
        speed=_speed(given.get("speed", 1.0)),
        style=style if style not in ("", "None") else None,  # Home Assistant says None without one
        language=_language(given),
        events=_choice(given, "stream_format", ("audio", "sse"), "audio") == "sse",
        ignored=sorted(body.keys() - _FIELDS),
    )


def too_long(longest: float) -> Refusal:
    """Of a text that is more speech than is taken, in seconds."""
    minutes = f"{longest / 60:g} {'minute' if longest == 60 else 'minutes'}"
    return Refusal(
        400,
        f"`input` would be more than {minutes} of speech, the most that is taken: send it in parts",
        param="input",
        code="string_above_max_length",
    )


def _text(given: Mapping[str, Any], name: str, most: int, default: str | None = None) -> str:
    value = given.get(name, default)
    if value is None:
        raise Refusal(400, f"`{name}` is missing", param=name, code="missing_required_parameter")
    if not isinstance(value, str):
        raise Refusal(400, f"`{name}` is to be a text", param=name, code="invalid_type")
    if len(value) > most:
        raise Refusal(
            400,
            f"`{name}` has {len(value):,} characters, and {most:,} at most are taken",
            param=name,
            code="string_above_max_length",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refusal(400, f"`{name}` holds half of a character", param=name) from None
    return value


def _voice(given: Mapping[str, Any]) -> str:
    """A name, or an object with one as its `id`."""
    voice = given.get("voice")
    if isinstance(voice, Mapping):
        return _text({"voice": voice.get("id")}, "voice", 200)
    return _text(given, "voice", 200)


def _choice(given: Mapping[str, Any], name: str, choices: Sequence[str], default: str) -> str:
    value = given.get(name, default)
    if value not in choices:
        raise Refusal(
            400,
            f"`{name}` is to be one of {', '.join(choices)}",
            param=name,
            code="invalid_value",
        )
    return str(value)


def _speed(value: Any) -> float:
    low, high = _SPEEDS
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # NaN is neither
        raise Refusal(
            400,
            f"`speed` is to be a number from {low} to {high}",
            param="speed",
            code="invalid_value",
        )
    return float(value)


def _language(given: Mapping[str, Any]) -> str | None:
    if "language" not in given:
        return None
    try:
        return languages.checked(_text(given, "language", 35))
    except ValueError as error:
        raise Refusal(400, f"`language`: {error}", param="language", code="invalid_value") from None
