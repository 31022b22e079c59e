"""What travels between narrator and a cluster's machines: names, numbers and arrays, as bytes.

A parcel is an npz archive of arrays and a JSON object: nothing in it is run by who opens it, and
equal parcels have equal bytes, so that what is asked for twice is known to be the same. Knows no
Dask.
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
from narrator.engines import Prompt, Request, Speech, State, unheard
from narrator.engines.spec import EngineSettings, EngineSpec
from narrator.engines.voice import Reference, Voice
from narrator.errors import DamagedTake
from narrator.sound import audio
from narrator.sound.timing import TimedWord

_COUNTS = ("patches", "tokens", "seed")
_MACHINES_OWN = {"slots", "process"}
FORM = 3
"""Raised when parcels of an older narrator would be read otherwise."""

Arrays = Mapping[str, NDArray[Any]]
_FACTS = "facts"
_VOICE = (
    "speaker", "transcript", "content", "description", "seed", "style", "speed", "language",
    "pronoun", "place",
)  # fmt: skip


class Damaged(Exception):
    """A parcel is not what was sent."""


def packed(facts: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """A parcel. Facts are what JSON has; the first bytes name all that follow."""
    data = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{_FACTS: data, **(arrays or {})})
    body = file.getvalue()
    return keys.content_of(body).encode() + body


def unpacked(parcel: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The facts and arrays of a parcel. Raises Damaged."""
    name, body = parcel[:64], parcel[64:]
    if keys.content_of(body).encode() != name:
        raise Damaged("a parcel came altered")
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as found:
            arrays = {one: found[one] for one in found.files}
        facts = json.loads(arrays.pop(_FACTS).tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise Damaged(f"a parcel cannot be read: {error}") from error
    return facts, arrays


# -- requests --------------------------------------------------------------------------------------


def of_request(request: Request, settings: Mapping[str, Any], made: str | None = None) -> bytes:
    """A request to an engine of such settings; without its reference, which goes by its content.

    `made` is the mark of what the machine made the take of that it goes on from: then that take's
    state stays there. A request has the same mark, however it is sent.
    """
    voice, prompt = request.voice, request.prompt
    state = prompt.state if prompt is not None else None
    facts: dict[str, Any] = {
        "settings": dict(settings),
        "key": request.key,
        "text": request.text,
        "language": request.language,
        "voice": {name: getattr(voice, name) for name in _VOICE},
        "own": {name: own.model_dump(mode="json") for name, own in voice.own.items()},
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
    facts |= {"mark": keys.seal(facts), "made": None if state is None else made}
    return packed(facts, {} if state is None or made is not None else {"state": state})


def to_request(
    facts: Mapping[str, Any],
    arrays: Arrays,
    kind: EngineSpec,
    reference: Reference | None,
    made: Callable[[str], State | None],
) -> Request | None:
    """The request of a parcel, for an engine of a kind; None where it goes on from a take that
    `made` does not give, by its mark, as it was."""
    said, prompt = facts["prompt"], None
    if said is not None:
        state = arrays.get("state")
        if facts["made"]:
            whole = made(facts["made"])
            state = None if whole is None else whole[: said["length"]]
        if said["is"] and (state is None or state_mark(state) != said["is"]):
            return None
        prompt = Prompt(said["text"], unheard, state)
    own = {
        name: kind.voice.model_validate(said)
        for name, said in facts["own"].items()
        if kind.voice is not None and name == kind.name
    }
    plain = ("key", "text", "language", "style", "parameters", "seed", "attempt", "expected")
    return Request(
        **{name: facts[name] for name in plain},
        voice=Voice(**facts["voice"], own=own),
        mode=facts["mode"],
        pronunciations=facts["pronunciations"],
        reference=reference,
        prompt=prompt,
    )


def state_mark(state: State) -> str:
    return keys.content(str(state.dtype).encode(), np.ascontiguousarray(state).tobytes())


# -- who is asked ----------------------------------------------------------------------------------


def of_question(settings: Mapping[str, Any]) -> bytes:
    """What a machine is asked of an engine of such settings, and by whom."""
    return packed({"settings": settings, "narrator": __version__, "form": FORM})


def is_ours(facts: Mapping[str, Any]) -> bool:
    """Whether who says so has our narrator."""
    return bool(facts["narrator"] == __version__ and facts["form"] == FORM)


# -- references ------------------------------------------------------------------------------------


def of_reference(reference: Reference) -> bytes:
    names, latents = of_latents(reference.latents)
    facts = {
        "content": reference.content,
        "rate": reference.rate,
        "transcript": reference.transcript,
        "latents": names,
    }
    return packed(facts, {"samples": reference.samples, **latents})


def to_reference(parcel: bytes) -> Reference:
    """Raises Damaged."""
    facts, arrays = unpacked(parcel)
    latents = to_latents(facts["latents"], arrays)
    return Reference(
        facts["content"], arrays["samples"], facts["rate"], facts["transcript"], latents
    )


def of_latents(latents: Arrays) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """What a reference is encoded as: names that may be any text, and arrays."""
    return list(latents), {f"latents{n}": one for n, one in enumerate(latents.values())}


def to_latents(names: Iterable[str], arrays: Arrays) -> dict[str, NDArray[Any]]:
    """What `of_latents` made them of."""
    return {name: arrays[f"latents{n}"] for n, name in enumerate(names)}


# -- takes -----------------------------------------------------------------------------------------


def of_speech(speech: Speech, rate: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A take on its way home, as FLAC, in which it is stored, and its state: facts and arrays."""
    said: dict[str, Any] = {name: int(getattr(speech, name)) for name in _COUNTS}
    arrays: dict[str, NDArray[Any]] = {"samples": speech.samples}
    if len(speech.samples) and bool(np.all(np.abs(speech.samples) <= 1)):
        arrays = {"flac": np.frombuffer(audio.encode(speech.samples, rate), np.uint8)}
    # else: what no FLAC holds is for the checks to say
    if speech.state is not None:
        arrays["state"] = speech.state
    words = [astuple(word) for word in speech.words]
    return {**said, "stop": speech.stop, "wrong": speech.wrong, "words": words}, arrays


def to_speech(facts: Mapping[str, Any], arrays: Arrays) -> Speech:
    """What `of_speech` made them of. Raises Damaged."""
    try:
        if "flac" in arrays:
            samples, _ = audio.decode(arrays["flac"].tobytes())
        else:
            samples = arrays["samples"]
        words = tuple(TimedWord(*word) for word in facts["words"])
        return Speech(samples, arrays.get("state"), **{**facts, "words": words})
    except (DamagedTake, KeyError, TypeError) as error:
        raise Damaged(f"a take cannot be read: {error}") from error


# -- engines ---------------------------------------------------------------------------------------


def of_settings(
    settings: EngineSettings, kind: EngineSpec, always: Iterable[str]
) -> dict[str, Any]:
    """What makes an engine on another machine: neither what `always` comes with a request nor what
    a machine decides for itself."""
    names = kind.settings.model_fields.keys() - {*always} - _MACHINES_OWN
    said = settings.model_dump(mode="json", include=names, exclude_unset=True)
    return {**said, "name": kind.name}
