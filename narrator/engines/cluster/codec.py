"""Encodes requests, references and takes as bytes that travel between narrator and its cluster.

A parcel is an npz archive of arrays and a JSON object. Opening it runs no code, and equal parcels
have equal bytes, so that a request that is sent twice is recognised. Knows no Dask.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrator import __version__, keys
from narrator.engines import Prompt, Request, Speech, State, empty_samples
from narrator.engines.spec import EngineSettings, EngineSpec
from narrator.engines.voice import Reference, Voice
from narrator.errors import DamagedTake
from narrator.sound import audio
from narrator.sound.timing import TimedWord

_COUNT_FIELDS = ("patches", "tokens", "seed")
_MACHINE_SETTINGS = {"slots", "process"}
"""Settings that each machine decides for itself."""
FORMAT_VERSION = 3
"""Version of the format; machines with another one are refused."""

Arrays = Mapping[str, NDArray[Any]]
_FACTS_ARRAY = "facts"
_VOICE_FIELDS = (
    "speaker", "transcript", "content", "description", "seed", "style", "speed", "language",
    "pronoun", "place",
)  # fmt: skip


class DamagedParcel(Exception):
    """A parcel differs from what was sent."""


def pack_parcel(facts: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """Encodes facts (any JSON) and arrays as a parcel, which begins with the hash of its body."""
    facts_bytes = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{_FACTS_ARRAY: facts_bytes, **(arrays or {})})
    body = buffer.getvalue()
    return keys.content_of(body).encode() + body


def unpack_parcel(parcel: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Decodes a parcel into its facts and arrays. Raises DamagedParcel."""
    digest, body = parcel[:64], parcel[64:]
    if keys.content_of(body).encode() != digest:
        raise DamagedParcel("a parcel came altered")
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            arrays = {array_name: archive[array_name] for array_name in archive.files}
        facts = json.loads(arrays.pop(_FACTS_ARRAY).tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedParcel(f"a parcel cannot be read: {error}") from error
    return facts, arrays


# -- requests --------------------------------------------------------------------------------------


def encode_request(
    request: Request, settings: Mapping[str, Any], origin_mark: str | None = None
) -> bytes:
    """Encodes a request to an engine of such settings; its reference is named by content alone.

    `origin_mark` is the mark of the request whose take it continues, when the machine itself made
    that take: then the take's state is not sent. A request's own mark does not depend on this.
    """
    voice, prompt = request.voice, request.prompt
    state = prompt.state if prompt is not None else None
    facts: dict[str, Any] = {
        "settings": dict(settings),
        "key": request.key,
        "text": request.text,
        "language": request.language,
        "voice": {name: getattr(voice, name) for name in _VOICE_FIELDS},
        "own": {name: settings.model_dump(mode="json") for name, settings in voice.own.items()},
        "style": request.style,
        "parameters": dict(request.parameters),
        "seed": request.seed,
        "attempt": request.attempt,
        "expected": request.expected,
        "mode": request.mode,
        "pronunciations": dict(request.pronunciations),
        "reference": request.reference and request.reference.content,
        "prompt": prompt and {
            "text": prompt.text,
            "is": None if state is None else state_mark(state),
            "length": 0 if state is None else len(state),
        },
    }  # fmt: skip
    facts |= {"mark": keys.seal(facts), "made": None if state is None else origin_mark}
    return pack_parcel(facts, {} if state is None or origin_mark is not None else {"state": state})


def decode_request(
    facts: Mapping[str, Any],
    arrays: Arrays,
    spec: EngineSpec,
    reference: Reference | None,
    state_by_mark: Callable[[str], State | None],
) -> Request | None:
    """Decodes a request for an engine of this spec; None when it continues a take whose state
    `state_by_mark` does not return unchanged."""
    prompt_facts, prompt = facts["prompt"], None
    if prompt_facts is not None:
        state = arrays.get("state")
        if facts["made"]:
            full_state = state_by_mark(facts["made"])
            state = None if full_state is None else full_state[: prompt_facts["length"]]
        mark = prompt_facts["is"]
        if mark and (state is None or state_mark(state) != mark):
            return None
        prompt = Prompt(prompt_facts["text"], empty_samples, state)
    engine_voices = {
        name: spec.voice.model_validate(settings)
        for name, settings in facts["own"].items()
        if spec.voice is not None and name == spec.name
    }
    field_names = ("key", "text", "language", "style", "parameters", "seed", "attempt", "expected")
    return Request(
        **{name: facts[name] for name in field_names},
        voice=Voice(**facts["voice"], own=engine_voices),
        mode=facts["mode"],
        pronunciations=facts["pronunciations"],
        reference=reference,
        prompt=prompt,
    )


def state_mark(state: State) -> str:
    """Returns a hash of a state's type and numbers."""
    return keys.content(str(state.dtype).encode(), np.ascontiguousarray(state).tobytes())


# -- questions to machines -------------------------------------------------------------------------


def encode_question(settings: Mapping[str, Any]) -> bytes:
    """Encodes a question about an engine of such settings, with the asker's version."""
    return pack_parcel({"settings": settings, "narrator": __version__, "form": FORMAT_VERSION})


def is_same_version(facts: Mapping[str, Any]) -> bool:
    """Returns whether facts come from the same version of narrator."""
    return bool(facts["narrator"] == __version__ and facts["form"] == FORMAT_VERSION)


# -- references ------------------------------------------------------------------------------------


def encode_reference(reference: Reference) -> bytes:
    """Encodes a reference with its samples and latents."""
    names, latents = encode_latents(reference.latents)
    facts = {
        "content": reference.content,
        "rate": reference.rate,
        "transcript": reference.transcript,
        "latents": names,
    }
    return pack_parcel(facts, {"samples": reference.samples, **latents})


def decode_reference(parcel: bytes) -> Reference:
    """Decodes a reference. Raises DamagedParcel."""
    facts, arrays = unpack_parcel(parcel)
    latents = decode_latents(facts["latents"], arrays)
    return Reference(
        facts["content"], arrays["samples"], facts["rate"], facts["transcript"], latents
    )


def encode_latents(latents: Arrays) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Splits latents into their names, which may be any text, and arrays with plain names."""
    return list(latents), {f"latents{n}": array for n, array in enumerate(latents.values())}


def decode_latents(names: Iterable[str], arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Inverts `encode_latents`."""
    return {name: arrays[f"latents{n}"] for n, name in enumerate(names)}


# -- takes -----------------------------------------------------------------------------------------


def encode_speech(speech: Speech, rate: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Encodes a take as facts and arrays: its samples as FLAC, the format of the store, and its
    state."""
    counts: dict[str, Any] = {name: int(getattr(speech, name)) for name in _COUNT_FIELDS}
    arrays: dict[str, NDArray[Any]] = {"samples": speech.samples}
    if len(speech.samples) and bool(np.all(np.abs(speech.samples) <= 1)):
        arrays = {"flac": np.frombuffer(audio.encode_flac(speech.samples, rate), np.uint8)}
    # else: samples beyond FLAC's range are left to the checks
    if speech.state is not None:
        arrays["state"] = speech.state
    if speech.speaker is not None:
        arrays["speaker"] = speech.speaker
    words = [astuple(word) for word in speech.words]
    return {**counts, "stop": speech.stop, "wrong": speech.wrong, "words": words}, arrays


def decode_speech(facts: Mapping[str, Any], arrays: Arrays) -> Speech:
    """Inverts `encode_speech`. Raises DamagedParcel."""
    try:
        if "flac" in arrays:
            samples, _ = audio.decode_flac(arrays["flac"].tobytes())
        else:
            samples = arrays["samples"]
        words = tuple(TimedWord(*word) for word in facts["words"])
        return Speech(
            samples,
            arrays.get("state"),
            speaker=arrays.get("speaker"),
            **{**facts, "words": words},
        )
    except (DamagedTake, KeyError, TypeError) as error:
        raise DamagedParcel(f"a take cannot be read: {error}") from error


# -- engines ---------------------------------------------------------------------------------------


def settings_to_send(
    settings: EngineSettings, spec: EngineSpec, request_keys: Iterable[str]
) -> dict[str, Any]:
    """Returns the settings that another machine needs to make the engine: without `request_keys`,
    which come with each request, and without those that a machine decides for itself."""
    names = spec.settings.model_fields.keys() - {*request_keys} - _MACHINE_SETTINGS
    changed_settings = settings.model_dump(mode="json", include=names, exclude_unset=True)
    return {**changed_settings, "name": spec.name}
