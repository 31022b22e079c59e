"""What each kind of server can be asked, and how it is put to it.

Facts of the servers' own sources (November 2026): nano-vllm-voxcpm at 0ef61b0, `deployment/`;
vLLM-Omni 0.30, `entrypoints/openai/protocol/audio.py`; OpenAI's reference. They drop fields that
they do not know, or refuse them: what is sent here is in their schemas. Knows no network.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from narrator.engines import Request
from narrator.engines.asking import closed, lengths, noise_seed, there
from narrator.engines.server.settings import Dialect, ServerSettings, SoundFormat
from narrator.engines.server.sounds import Samples, as_wav
from narrator.engines.voice import Reference, Voice
from narrator.engines.voxcpm2.wording import before, description

PATCH = 0.16
"""Seconds of a step of VoxCPM2, which is what nano-vllm-voxcpm counts."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request, read so far that another thread can put it to a server."""

    request: Request
    rate: int
    """Of the prompt's samples."""
    before: Samples | None = None
    """The take that it continues."""


Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manner:
    """One of the dialects."""

    path: str
    """Where speech is asked for."""
    body: Callable[[ServerSettings, Wanted], Body]
    """Raises EngineFailure for a request that lacks what its mode needs."""
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
    """What of a manifest it cannot be asked for, and what to do."""


def manner_of(settings: ServerSettings) -> Manner:
    return MANNERS[settings.dialect]


def format_of(settings: ServerSettings) -> SoundFormat:
    return manner_of(settings).formats[0] if settings.format == "auto" else settings.format


def rate_of(settings: ServerSettings) -> int:
    if settings.sample_rate == "auto":
        return manner_of(settings).sample_rate
    return settings.sample_rate


def voice_of(voice: Voice) -> str | None:
    """The server's name of a speaker's voice."""
    own = voice.own.get("server")
    return getattr(own, "voice", None)


def settings_errors(settings: ServerSettings, voices: Mapping[str, Voice]) -> Iterator[str]:
    """What keeps a server from speaking at all, or a cast from being spoken by it, each once."""
    manner = manner_of(settings)
    if settings.url is None:
        yield "engine.url: where does the server listen? As in `url: http://127.0.0.1:8000`"
    if settings.dialect == "openai" and settings.model == "auto":
        yield "engine.model: which model? The dialect openai asks for one by name"
    if settings.format != "auto" and settings.format not in manner.formats:
        yield (
            f"engine.format: {settings.dialect} has {', '.join(manner.formats)}, not "
            f"{settings.format}: leave it out"
        )
    if settings.dialect == "openai":
        if nameless := [name for name, voice in voices.items() if voice_of(voice) is None]:
            yield (
                f"the server's voices go by names, and {_listed(nameless)} has none: "
                f"`speakers: {{{nameless[0]}: {{server: {{voice: alloy}}}}}}`"
            )
    elif settings.dialect == "vllm-omni":
        bare = [name for name, voice in voices.items() if voice.reference is None]
        if bare:
            yield (
                f"vllm-omni speaks after a clip, and {_listed(bare)} has none: give one "
                "(`voice: {reference: …}`), or a preset that VoxCPM2 has cast here (`narrator "
                "voices design`); voices that the server has itself are for `dialect: openai`"
            )


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(f"'{name}'" for name in names[:5])
    return some if len(names) <= 5 else f"{some} and {len(names) - 5} more"


def unsupported(settings: ServerSettings) -> Mapping[str, str]:
    """As `EngineSpec.unsupported`."""
    found = dict(manner_of(settings).unsupported)
    if settings.instructions:
        found.pop("style", None)
    return found


# -- OpenAI's --------------------------------------------------------------------------------------


def _openai(settings: ServerSettings, wanted: Wanted) -> Body:
    request = wanted.request
    body: Body = {
        "model": settings.model,
        "input": request.text,
        "voice": voice_of(request.voice),
        "response_format": format_of(settings),
    }
    if settings.instructions and request.style:
        body["instructions"] = request.style
    return body


_STYLE = (
    "styles are not sent: set `engine.instructions: true` where the server's model takes them as "
    "instructions"
)

_OPENAI = Manner(
    path="/v1/audio/speech",
    body=_openai,
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


def _vllm_omni(settings: ServerSettings, wanted: Wanted) -> Body:
    """One clip with its text: the reference, or the take before."""
    request = wanted.request
    if request.mode == "continuation" and request.prompt is not None:
        clip = _base64(there(request, wanted.before), wanted.rate)
        text = request.prompt.text
    else:
        reference = there(request, request.reference)
        clip, text = _clip(reference), reference.transcript
    body: Body = {
        "input": request.text,
        "response_format": format_of(settings),
        # what speaks after a clip is called so there; without it a text of a clip is refused
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

_VLLM_OMNI = Manner(
    path="/v1/audio/speech",
    body=_vllm_omni,
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


def _nano(settings: ServerSettings, wanted: Wanted) -> Body:
    """VoxCPM2's own form: a description or style in front of the text, a reference, a prompt."""
    request = wanted.request
    described = {
        "zero-shot": (request.voice.description, request.style),
        "reference": (request.style,),
    }.get(request.mode, ())
    voice, text = description(described), closed(request.text, request.language)
    body: Body = {
        "target_text": f"({voice}){text}" if voice else text,
        "cfg_value": request.parameters.get("cfg", settings.cfg),
        "seed": noise_seed(request),
        "response_format": "pcm",
    }
    if request.mode in ("reference", "anchored"):
        reference = there(request, request.reference)
        body["ref_audio_wav_base64"] = _clip(reference)
        body["ref_audio_wav_format"] = "wav"
    held = 0.0
    if request.mode in ("anchored", "continuation"):
        samples, rate, said = _prompt(wanted)
        held = len(samples) / rate
        body["prompt_wav_base64"] = _base64(samples, rate)
        body["prompt_wav_format"] = "wav"
        body["prompt_text"] = before(said, request.language)
    body["max_generate_length"] = longest(request, held)
    return body


def longest(request: Request, held: float) -> int:
    """Steps after which an answer is cut off; `held` are the seconds of its prompt."""
    return lengths(request.expected, 0.0, held, PATCH)[1]


def _prompt(wanted: Wanted) -> tuple[Samples, int, str]:
    """The take before; where a chain begins in continuation, the reference as what goes on."""
    request = wanted.request
    if request.mode == "anchored" or request.prompt is not None:
        return there(request, wanted.before), wanted.rate, there(request, request.prompt).text
    reference: Reference = there(request, request.reference)
    return reference.samples, reference.rate, reference.transcript


_NANO = Manner(
    path="/generate",
    body=_nano,
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


MANNERS: Mapping[Dialect, Manner] = {
    "openai": _OPENAI,
    "vllm-omni": _VLLM_OMNI,
    "nano-vllm-voxcpm": _NANO,
}


@lru_cache(maxsize=32)
def _clip(reference: Reference) -> str:
    """A voice's clip, which goes out with each of its chunks."""
    return _base64(reference.samples, reference.rate)


def _base64(samples: Samples, rate: int) -> str:
    return base64.b64encode(as_wav(samples, rate)).decode()
