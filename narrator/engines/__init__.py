"""The engine interface: everything that speaks implements `Engine` and `Session`.

An `Engine` is a cheap description: it answers what the plan needs (identity, sample rate, whether
takes carry over) without loading anything. `Engine.start` gives a `Session`, a set of slots:
`add` fills one, `advance` returns the takes that have finished. Nothing here knows of chapters.

Everything specific to one engine belongs here, in its own folder: settings, languages, how much
it remembers, what its machine must have. `registry.py` lists them. `reader.py` and `chat.py`
are language models, here and on a server, for other modules.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from narrator.engines import machine
from narrator.engines.voice import Mode, Reference, Voice
from narrator.errors import EngineFailure, Problem
from narrator.sound.timing import TimedWord

State = NDArray[Any]
"""An engine's state of a take, from which it can continue (latents, tokens). Its form is up to the
engine, but the first axis runs evenly along the sound."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The take that a request continues, up to a short pause after its speech."""

    text: str
    samples: Callable[[], NDArray[np.float32]]
    """Reads its sound: mono, at the engine's rate. Raises DamagedTake."""
    state: State | None = None
    """The state that the engine returned with it."""


def empty_samples() -> NDArray[np.float32]:
    """Returns the empty sound of a prompt that is continued from its state alone."""
    return np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """Seconds of speech that a render has still to do, for sessions that choose where a request is
    spoken."""

    chain: float = 0.0
    """Seconds of the requests that continue it, one after another."""
    unasked: float = 0.0
    """Seconds of all requests that no engine has yet."""


@dataclass(frozen=True, slots=True)
class Request:
    """One chunk for the engine to speak, with everything that may change its samples; `ahead` must
    not change them."""

    key: str
    text: str
    """Spoken text: normalised, lexicon applied."""
    language: str
    """BCP 47, for example "en-GB"."""
    voice: Voice
    style: str | None
    parameters: Mapping[str, Any]
    seed: int
    attempt: int
    expected: float
    """Seconds that this text should take."""
    mode: Mode = "zero-shot"
    reference: Reference | None = None
    prompt: Prompt | None = None
    pronunciations: Mapping[str, str] = field(default_factory=dict)
    """Words of the text with their IPA, from the book's lexicon."""
    ahead: RemainingWork | None = None
    """None for a request that a listener waits for."""


@dataclass(frozen=True, slots=True)
class Speech:
    """Speech of an engine: mono float32 samples in [-1, 1], and its state if it has one."""

    samples: NDArray[np.float32]
    state: State | None = None
    stop: str = "stop"
    """"stop" (the engine ended by itself) or "cap" (it was cut off at its length limit)."""
    patches: int = 0
    """Steps that the engine took, if it counts them."""
    tokens: int = 0
    """Tokens of its text, if the engine has tokens."""
    seed: int = 0
    """The seed of the attempt's noise."""
    wrong: str = ""
    """A fault that the engine itself noticed, for people; or ""."""
    words: tuple[TimedWord, ...] = ()
    """The words of its text, as the engine divides it, with their times, if the engine knows."""
    speaker: NDArray[np.float32] | None = None
    """Embedding (n,) of who speaks in these samples, if the engine has an encoder of speakers: the
    smaller the angle between two, the more alike the voices."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one request: speech, or the failure that took its place."""

    key: str
    attempt: int
    speech: Speech | None = None
    failure: EngineFailure | None = field(default=None)


ABSENT_PREFIX = "absent:"
"""Prefix of a part of an identity that is unknown because its files are not here."""


def has_known_identity(engine: Engine) -> bool:
    """Returns whether an engine's identity is complete.

    It is incomplete if neither its weights nor a record of them are here: then its keys match no
    take, and no take can be called unused.
    """
    return not any(str(part).startswith(ABSENT_PREFIX) for part in engine.identity().values())


def unique_engines(engines: Mapping[str, Engine]) -> Sequence[Engine]:
    """Returns the engines of a book's speakers without duplicates; two may have the same name."""
    return list({id(engine): engine for engine in engines.values()}.values())


def make_room(engine: Engine, among: Iterable[Engine]) -> None:
    """Releases the other engines `among` these if memory is short, before an engine is started.

    None of their sessions may be open.
    """
    other_engines = [other_engine for other_engine in among if other_engine is not engine]
    if not other_engines:
        return
    required_bytes, available_bytes = engine.required_memory(), machine.memory().available
    if required_bytes is None or (
        required_bytes and (available_bytes is None or required_bytes > available_bytes)
    ):
        for other_engine in other_engines:
            other_engine.release()


def ignore_message(message: str) -> None:
    """Ignores a progress message."""


class Session(Protocol):
    """A running engine: slots to fill and takes to collect."""

    slots: int
    """Requests that it speaks side by side; may change while the session runs."""
    busy: float
    """Share of the time since the first request in which speech was being made, 0 to 1."""
    note: str
    """How it runs, for people ("8 slots", "4 slots: out of memory at 8"), or ""."""

    def add(self, request: Request) -> None:
        """Fills a free slot. The caller never adds more requests than there are slots and, in a
        session that chooses, spare ones."""
        ...

    def advance(self) -> Sequence[Outcome]:
        """Works for about half a second at most and returns what has finished, maybe nothing."""
        ...

    def close(self) -> None:
        """Releases processes, memory and devices; requests in flight are dropped."""
        ...


@runtime_checkable
class ChoosingSession(Protocol):
    """A session that takes more requests than it has slots, and chooses among them."""

    spare: int
    """Requests that it takes beyond its slots."""


def speak(
    session: Session,
    requests: Iterable[Request | None],
    *,
    tick: Callable[[], None] = lambda: None,
    cancel: Event | None = None,
) -> Iterator[tuple[Request, Outcome]]:
    """Yields every request with its outcome, as they finish; keeps the slots full.

    `requests` is advanced as slots become free; it yields None while its next request depends on an
    outcome. Requests of the same key differ in their attempt. `tick` is called after each
    `advance`. When `cancel` is set, requests in flight are left to the session.
    """
    pending = iter(requests)
    chooser = session if isinstance(session, ChoosingSession) else None
    in_flight: dict[tuple[str, int], Request] = {}
    has_more = True
    while (has_more or in_flight) and not (cancel and cancel.is_set()):
        while has_more and len(in_flight) < session.slots + (chooser.spare if chooser else 0):
            try:
                request = next(pending)
            except StopIteration:
                has_more = False
                break
            if request is None:
                break
            in_flight[request.key, request.attempt] = request
            session.add(request)
        for outcome in session.advance() if in_flight else ():
            yield in_flight.pop((outcome.key, outcome.attempt)), outcome
        tick()


@dataclass(frozen=True, slots=True)
class SilentPart:
    """A part of a text, or IPA that the author wrote for it, that an engine cannot speak."""

    text: str
    ipa_error: str = ""
    """Why it cannot be spoken, where `text` is IPA."""


class LanguageSupport:
    """The languages and texts that an engine can say, as far as this is known without a model; by
    default all."""

    name: str

    def speaks(self, language: str) -> bool:
        """Returns whether it speaks a language, by BCP 47 tag. Raises EngineUnavailable."""
        return True

    def language_advice(self, language: str) -> str:
        """Explains how to make it speak a language that it does not, as the end of a sentence that
        says so; "" when nothing helps."""
        return ""

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        """Returns whether any part of a text has sounds in this engine; `pronunciations` as in
        `text_content`."""
        return True

    def silent_parts(
        self, text: str, language: str, pronunciations: Mapping[str, str]
    ) -> Iterable[SilentPart]:
        """Returns the parts of a text that it leaves out, as far as this is known without a model;
        `pronunciations` as in `text_content`."""
        return ()


class Engine(LanguageSupport, ABC):
    """A cheap description of something that speaks.

    A subclass has a name, a rate, an identity, voices and a session. The defaults suit an engine
    that speaks each chunk by itself, in its own voices, and keeps nothing in memory.
    """

    sample_rate: int
    """Hz."""
    is_trained: bool = True
    """Whether a model that was trained on recordings makes its sound; False where rules alone
    do."""
    continues: bool = False
    """Whether a request's prompt changes its sound; otherwise every chunk stands alone."""
    clones: bool = False
    """Whether it speaks in the voice of a reference; then a voice without one is cast first."""
    anchors: bool = False
    """Whether a request can have a reference and a prompt at once; otherwise anchored chains use
    the reference alone."""
    has_speed: bool = False
    """Whether it speaks at a voice's speed; otherwise takes are stretched when assembled."""
    max_context_seconds: float = math.inf
    """Limit of a prompt and the speech after it together."""
    sound_parameters: Sequence[str] = ()
    """Names of the manifest's engine settings (steps, cfg, seed …) that change its sound."""
    casting_parameters: Mapping[str, Any] = MappingProxyType({})
    """Sound parameters that voices are always cast with, so that other settings of a book do not
    change its voices."""

    @property
    def public_name(self) -> str:
        """Its name, model and version for finished files: without addresses and folders, and the
        same wherever its takes are exported."""
        return self.name

    @property
    def is_random(self) -> bool:
        """True if the same text sounds different under another seed."""
        return "seed" in self.sound_parameters

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """Returns everything about the engine that can change samples: versions, weights,
        precision."""

    @abstractmethod
    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """Returns everything about a voice that can change this engine's samples."""

    def text_content(
        self, text: str, language: str, voice: Voice, pronunciations: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Returns everything about a text besides its letters that can change this engine's
        samples: its phonemes.

        `pronunciations` maps words of the text to IPA, for engines that can use it.
        """
        return {}

    @abstractmethod
    def start(self, tell: Callable[[str], None] = ignore_message) -> Session:
        """Loads what speaking needs and reports slow steps to `tell`. Raises EngineUnavailable."""

    def identity_record(self) -> Mapping[str, Any]:
        """Returns the part of its identity that a run without its weights needs to recognise its
        takes; empty when no run lacks them."""
        return {}

    def named_voices(self) -> Mapping[str, Voice]:
        """Returns its own voices that a manifest can name."""
        return {}

    def needs_reference(self, voice: Voice) -> bool:
        """Returns whether a voice needs a reference, so that one without it is cast first."""
        return self.clones

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """Returns problems that keep this engine from speaking this cast, before anything runs."""
        return ()

    def encode_reference(self, reference: Reference) -> Mapping[str, NDArray[np.float32]]:
        """Returns the encoded reference by the encoder's fingerprint, to be stored with it; empty
        without an encoder. May load the model. Raises EngineUnavailable, EngineFailure."""
        return {}

    def precision(self) -> str:
        """Returns the precision on this machine if it differs between machines; else ""."""
        return ""

    def required_memory(self) -> int | None:
        """Returns the bytes of memory that a start would take now: 0 if it is loaded already or
        takes little, None for memory that is not visible from here, such as a GPU's own."""
        return 0

    def release(self) -> None:  # most hold nothing
        """Frees what `start` and `encode_reference` have loaded, while no session is open; it is
        loaded again when needed."""
