"""The dialects of speech servers: what each can do, and the form of its requests.

From the servers' sources (November 2026): nano-vllm-voxcpm at 0ef61b0, `deployment/`; vLLM-Omni
0.30, `entrypoints/openai/protocol/audio.py`; OpenAI's reference. Servers drop or refuse unknown
fields, so only fields of their schemas are sent. Knows no network.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from narrator.engines import Request
from narrator.engines.preparation import end_with_stop, noise_seed, require_part, step_limits
from narrator.engines.server.audio import Samples, encode_wav
from narrator.engines.server.settings import Dialect, ServerSettings, SoundFormat
from narrator.engines.voice import Reference, Voice
from narrator.engines.voxcpm2.wording import join_descriptions, prompt_text
from narrator.quantities import list_first

STEP_SECONDS = 0.16
"""Seconds of a step of VoxCPM2, the unit of nano-vllm-voxcpm's limits."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request with its prompt's sound, ready to be sent by another thread."""

    request: Request
    rate: int
    """Hz of the prompt's samples."""
    previous_take: Samples | None = None
    """The take that it continues."""


Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DialectSpec:
    """Abilities and request form of one dialect."""

    path: str
    """URL path of speech requests."""
    body: Callable[[ServerSettings, PreparedRequest], Body]
    """Makes the JSON body. Raises EngineFailure for a request that lacks what its mode needs."""
    formats: Sequence[SoundFormat]
    """The first is what `auto` means."""
    sample_rate: int
    sound_parameters: Sequence[str] = ()
    casting_parameters: Mapping[str, Any] = field(default_factory=dict)
    clones: bool = False
    continues: bool = False
    anchors: bool = False
    max_context_seconds: float = math.inf
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """Parts of a manifest that it does not support, and what to do instead."""


def dialect_spec_of(settings: ServerSettings) -> DialectSpec:
    return DIALECT_SPECS[settings.dialect]


def format_of(settings: ServerSettings) -> SoundFormat:
    return dialect_spec_of(settings).formats[0] if settings.format == "auto" else settings.format


def sample_rate_of(settings: ServerSettings) -> int:
    if settings.sample_rate == "auto":
        return dialect_spec_of(settings).sample_rate
    return settings.sample_rate


def server_voice_name(voice: Voice) -> str | None:
    """Returns the name of a speaker's voice on the server, if one is set."""
    server_voice = voice.own.get("server")
    return getattr(server_voice, "voice", None)


def settings_errors(settings: ServerSettings, voices: Mapping[str, Voice]) -> Iterator[str]:
    """Yields problems that keep the server from speaking at all, or from speaking this cast."""
    dialect_spec = dialect_spec_of(settings)
    if settings.url is None:
        yield "engine.url: where does the server listen? As in `url: http://127.0.0.1:8000`"
    if settings.dialect == "openai" and settings.model == "auto":
        yield "engine.model: which model? The dialect openai asks for one by name"
    if settings.format != "auto" and settings.format not in dialect_spec.formats:
        yield (
            f"engine.format: {settings.dialect} has {', '.join(dialect_spec.formats)}, not "
            f"{settings.format}: leave it out"
        )
    if settings.dialect == "openai":
        if nameless_speakers := [
            name for name, voice in voices.items() if server_voice_name(voice) is None
        ]:
            yield (
                f"the server's voices go by names, and {_list_names(nameless_speakers)} has none: "
                f"`speakers: {{{nameless_speakers[0]}: {{server: {{voice: alloy}}}}}}`"
            )
    elif settings.dialect == "vllm-omni":
        speakers_without_clip = [name for name, voice in voices.items() if voice.reference is None]
        if speakers_without_clip:
            yield (
                f"vllm-omni speaks after a clip, and {_list_names(speakers_without_clip)} has "
                "none: give one (`voice: {reference: …}`), or a preset that VoxCPM2 has cast here "
                "(`narrator voices design`); voices that the server has itself are for "
                "`dialect: openai`"
            )


def _list_names(names: Sequence[str]) -> str:
    return list_first([f"'{name}'" for name in names])


def unsupported(settings: ServerSettings) -> Mapping[str, str]:
    """As `EngineSpec.unsupported`."""
    advice = dict(dialect_spec_of(settings).unsupported)
    if settings.instructions:
        advice.pop("style", None)
    return advice


# -- OpenAI's --------------------------------------------------------------------------------------


def _openai_body(settings: ServerSettings, prepared: PreparedRequest) -> Body:
    request = prepared.request
    body: Body = {
        "model": settings.model,
        "input": request.text,
        "voice": server_voice_name(request.voice),
        "response_format": format_of(settings),
    }
    if settings.instructions and request.style:
        body["instructions"] = request.style
    return body


_STYLE = (
    "styles are not sent: set `engine.instructions: true` where the server's model takes them as "
    "instructions"
)

_OPENAI = DialectSpec(
    path="/v1/audio/speech",
    body=_openai_body,
    formats=("wav", "flac", "pcm"),
    sample_rate=24_000,
    unsupported={
        "seed": "OpenAI's address has none: what the server draws is its own affair",
        "cfg": "OpenAI's address has none",
        "style": _STYLE,
        "reference": "clips are not sent: a voice goes by its name there (`server: {voice: …}`); "
        "`dialect: vllm-omni` and nano-vllm-voxcpm take clips",
        "description": "descriptions are not sent: a voice goes by its name there",
        "chain.anchored": "each chunk is spoken alone there",
        "chain.continuation": "each chunk is spoken alone there",
    },
)


# -- vLLM-Omni -------------------------------------------------------------------------------------


def _vllm_omni_body(settings: ServerSettings, prepared: PreparedRequest) -> Body:
    """Makes a body with one clip and its text: the reference, or the take before."""
    request = prepared.request
    if request.mode == "continuation" and request.prompt is not None:
        clip = _encode_wav(require_part(request, prepared.previous_take), prepared.rate)
        text = request.prompt.text
    else:
        reference = require_part(request, request.reference)
        clip, text = _encode_reference(reference), reference.transcript
    body: Body = {
        "input": request.text,
        "response_format": format_of(settings),
        # the server's name for cloning; without it the clip's text is refused
        "task_type": "Base",
        "ref_audio": f"data:audio/wav;base64,{clip}",
        "ref_text": text,
        "seed": noise_seed(request),
    }
    if settings.model != "auto":
        body["model"] = settings.model
    if settings.instructions and request.style:
        body["instructions"] = request.style
    return body


_ONE_CLIP = (
    "vllm-omni takes one clip: each chunk is given its voice's reference alone (as `mode: "
    "reference`); `mode: continuation` gives the take before alone, nano-vllm-voxcpm both"
)

_VLLM_OMNI = DialectSpec(
    path="/v1/audio/speech",
    body=_vllm_omni_body,
    formats=("wav", "flac", "pcm"),
    sample_rate=24_000,
    sound_parameters=("seed",),
    clones=True,
    continues=True,
    max_context_seconds=25.0,
    unsupported={
        "cfg": "vllm-omni has none for speech",
        "style": _STYLE,
        "chain.anchored": _ONE_CLIP,
        "chain.mode": f"anchored, where nothing is set: {_ONE_CLIP}",
    },
)


# -- nano-vllm-voxcpm ------------------------------------------------------------------------------


def _nano_vllm_body(settings: ServerSettings, prepared: PreparedRequest) -> Body:
    """Makes a body in VoxCPM2's form: description or style before the text, reference, prompt."""
    request = prepared.request
    voice_descriptions = {
        "zero-shot": (request.voice.description, request.style),
        "reference": (request.style,),
    }.get(request.mode, ())
    voice, text = (
        join_descriptions(voice_descriptions),
        end_with_stop(request.text, request.language),
    )
    body: Body = {
        "target_text": f"({voice}){text}" if voice else text,
        "cfg_value": request.parameters.get("cfg", settings.cfg),
        "seed": noise_seed(request),
        "response_format": "pcm",
    }
    if request.mode in ("reference", "anchored"):
        reference = require_part(request, request.reference)
        body["ref_audio_wav_base64"] = _encode_reference(reference)
        body["ref_audio_wav_format"] = "wav"
    prompt_seconds = 0.0
    if request.mode in ("anchored", "continuation"):
        samples, rate, transcript = _continued_clip(prepared)
        prompt_seconds = len(samples) / rate
        body["prompt_wav_base64"] = _encode_wav(samples, rate)
        body["prompt_wav_format"] = "wav"
        body["prompt_text"] = prompt_text(transcript, request.language)
    body["max_generate_length"] = max_steps(request, prompt_seconds)
    return body


def max_steps(request: Request, prompt_seconds: float) -> int:
    """Returns the steps after which an answer is cut off."""
    return step_limits(request.expected, 0.0, prompt_seconds, STEP_SECONDS)[1]


def _continued_clip(prepared: PreparedRequest) -> tuple[Samples, int, str]:
    """Returns samples, rate and text of the take to continue: the take before, or the reference at
    the head of a continuation chain."""
    request = prepared.request
    if request.mode == "anchored" or request.prompt is not None:
        return (
            require_part(request, prepared.previous_take),
            prepared.rate,
            require_part(request, request.prompt).text,
        )
    reference: Reference = require_part(request, request.reference)
    return reference.samples, reference.rate, reference.transcript


_NANO = DialectSpec(
    path="/generate",
    body=_nano_vllm_body,
    formats=("pcm",),
    sample_rate=48_000,
    sound_parameters=("cfg", "seed"),
    casting_parameters={"cfg": 2.0},
    clones=True,
    continues=True,
    anchors=True,
    max_context_seconds=25.0,
    unsupported={
        "steps": "nano-vllm-voxcpm is told when it is started "
        "(NANOVLLM_SERVERPOOL_INFERENCE_TIMESTEPS)",
        "lora": "nano-vllm-voxcpm is given its own (POST /loras)",
    },
)


DIALECT_SPECS: Mapping[Dialect, DialectSpec] = {
    "openai": _OPENAI,
    "vllm-omni": _VLLM_OMNI,
    "nano-vllm-voxcpm": _NANO,
}


@lru_cache(maxsize=32)
def _encode_reference(reference: Reference) -> str:
    """Encodes a voice's clip; cached, since it is sent with each of the voice's chunks."""
    return _encode_wav(reference.samples, reference.rate)


def _encode_wav(samples: Samples, rate: int) -> str:
    return base64.b64encode(encode_wav(samples, rate)).decode()
