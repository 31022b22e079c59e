"""The engine seam: whatever speaks stands behind `Engine` and `Session`.

An `Engine` is a cheap description: it answers what the plan needs (identity, sample rate, whether
takes carry over) without loading anything. `Engine.start` gives a `Session`, a set of slots:
`add` fills one, `advance` returns the takes that have finished. Nothing here knows of chapters.

Whatever is true of one engine belongs here, in a folder of its own: settings, languages, how much
it remembers, what its machine must have. `registry.py` lists them. `reader.py` is what reads: a
language model that others ask.
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
"""What an engine keeps of a take to go on from it (latents, tokens): its own, but for the first
axis, which runs evenly along the sound."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The take that a request continues, as far as a short rest after its speech."""

    text: str
    samples: Callable[[], NDArray[np.float32]]
    """Its sound: mono, at the engine's rate; read when it is wanted. Raises DamagedTake."""
    state: State | None = None
    """What the engine gave with it."""


def unheard() -> NDArray[np.float32]:
    """The sound of a prompt that an engine elsewhere goes on from by its state alone."""
    return np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a render has still to do, for who chooses where a request is spoken: in seconds."""

    chain: float = 0.0
    """That go on from it, one after another."""
    unasked: float = 0.0
    """Of all that no engine was asked for yet."""


@dataclass(frozen=True, slots=True)
class Request:
    """One chunk for the engine to speak, with everything that may change its samples; and what is
    `ahead`, which must not."""

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
    ahead: Ahead | None = None
    """None of what somebody waits for."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What an engine said: mono float32 samples in [-1, 1], and its state where it has one."""

    samples: NDArray[np.float32]
    state: State | None = None
    stop: str = "stop"
    """"stop" (the engine ended by itself) or "cap" (it was cut off at its length limit)."""
    patches: int = 0
    """Steps that the engine took, where it counts them."""
    tokens: int = 0
    """Of its text, where the engine has tokens."""
    seed: int = 0
    """What the attempt drew its noise from."""
    wrong: str = ""
    """What is wrong with it as the engine sees it, in words."""
    words: tuple[TimedWord, ...] = ()
    """When it says the words of its text, divided as it takes them, where the engine knows."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one request: speech, or the failure that took its place."""

    key: str
    attempt: int
    speech: Speech | None = None
    failure: EngineFailure | None = field(default=None)


ABSENT = "absent:"
"""How a part of an identity begins that is not here to be named."""


def is_known(engine: Engine) -> bool:
    """Whether its identity names what it speaks with.

    Without its weights, and without a memory of them, it does not: its keys are nobody's takes, and
    no take can be told to be unused.
    """
    return not any(str(part).startswith(ABSENT) for part in engine.identity().values())


def distinct(engines: Mapping[str, Engine]) -> Sequence[Engine]:
    """The engines of a book's speakers, each once: two may be of one name."""
    return list({id(engine): engine for engine in engines.values()}.values())


def make_room(engine: Engine, among: Iterable[Engine]) -> None:
    """Before an engine is started: have those `among` which it runs give back what they hold, where
    memory is short, so that they run in turn. None of their sessions is open."""
    others = [other for other in among if other is not engine]
    if not others:
        return
    wanted, available = engine.required_memory(), machine.memory().available
    if wanted is None or (wanted and (available is None or wanted > available)):
        for other in others:
            other.release()


def quiet(what: str) -> None:
    """Tell nobody what takes long."""


class Session(Protocol):
    """A running engine: slots to fill and takes to collect."""

    slots: int
    """Requests side by side; it may change while the session runs."""
    busy: float
    """Share of the time since the first request in which speech was being made, 0 to 1."""
    note: str
    """What people should know of how it runs ("8 slots", "4 slots: out of memory at 8"), or ""."""

    def add(self, request: Request) -> None:
        """Fill a free slot. The caller never adds more requests than there are slots, and spare
        ones."""
        ...

    def advance(self) -> Sequence[Outcome]:
        """Work for about half a second at most and return what has finished, maybe nothing."""
        ...

    def close(self) -> None:
        """Give back processes, memory and devices; requests in flight are dropped."""
        ...


@runtime_checkable
class Choosing(Protocol):
    """A session that chooses among more requests than it has slots, who speaks which."""

    spare: int
    """How many more it takes at a time."""


def speak(
    session: Session,
    requests: Iterable[Request | None],
    *,
    tick: Callable[[], None] = lambda: None,
    cancel: Event | None = None,
) -> Iterator[tuple[Request, Outcome]]:
    """Every request with its outcome, as they finish; the slots are kept full.

    `requests` are asked for one by one, as slots become free; None stands for one that waits for
    an outcome. Two of one key differ in their attempt. `tick` is called after each turn of the
    engine. When `cancel` is set, what is in flight is left to the session.
    """
    waiting = iter(requests)
    chooser = session if isinstance(session, Choosing) else None
    flying: dict[tuple[str, int], Request] = {}
    more = True
    while (more or flying) and not (cancel and cancel.is_set()):
        while more and len(flying) < session.slots + (chooser.spare if chooser else 0):
            try:
                request = next(waiting)
            except StopIteration:
                more = False
                break
            if request is None:
                break
            flying[request.key, request.attempt] = request
            session.add(request)
        for outcome in session.advance() if flying else ():
            yield flying.pop((outcome.key, outcome.attempt)), outcome
        tick()


class Engine(ABC):
    """A cheap description of something that speaks.

    A subclass has a name, a rate, an identity, voices and a session; the defaults are those of an
    engine that speaks each chunk by itself, in voices of its own, and holds nothing.
    """

    name: str
    sample_rate: int
    """Hz."""
    continues: bool = False
    """Whether a request's prompt changes its sound; without it every chunk stands alone."""
    clones: bool = False
    """Whether it speaks in the voice of a reference; then a voice without one is cast first."""
    anchors: bool = False
    """Whether a request can have a reference and a prompt at once; where not, chains that are to be
    anchored have references alone."""
    has_speed: bool = False
    """Whether it speaks at a voice's speed; where not, takes are stretched when they are laid."""
    max_context_seconds: float = math.inf
    """That a prompt and the speech after it may take together."""
    sound_parameters: Sequence[str] = ()
    """Names of the manifest's engine settings (steps, cfg, seed …) that change its sound."""
    casting_parameters: Mapping[str, Any] = MappingProxyType({})
    """Those that voices are cast with: a book that is rendered with others keeps its voices."""

    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """All of the engine itself that can change samples: versions, weights, precision."""

    @abstractmethod
    def voice_content(self, voice: Voice, language: str) -> Mapping[str, Any]:
        """All of a voice that can change this engine's samples."""

    def text_content(
        self, text: str, language: str, voice: Voice, pronunciations: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """All of a text beside its letters that can change this engine's samples: its phonemes.

        `pronunciations` are words of it with their IPA, for engines that can use them.
        """
        return {}

    @abstractmethod
    def start(self, tell: Callable[[str], None] = quiet) -> Session:
        """Load what speaking needs, telling what takes long. Raises EngineUnavailable."""

    def identity_record(self) -> Mapping[str, Any]:
        """What a run without its weights must know of it to know its takes; empty where every run
        has what it takes."""
        return {}

    def named_voices(self) -> Mapping[str, Voice]:
        """Voices of its own that can be asked for by name."""
        return {}

    def needs_reference(self, voice: Voice) -> bool:
        """Whether a voice needs a reference, so that one without it is cast first."""
        return self.clones

    def speaks(self, language: str) -> bool:
        """Whether it speaks a language, by BCP 47 tag. Raises EngineUnavailable."""
        return True

    def language_advice(self, language: str) -> str:
        """What to do to have it speak a language that it does not, after a sentence that says so;
        "" where nothing helps."""
        return ""

    def can_say(self, text: str, language: str, pronunciations: Mapping[str, str]) -> bool:
        """Whether there is anything in a text that it has sounds for; `pronunciations` as in
        `text_content`."""
        return True

    def silent_parts(
        self, text: str, language: str, pronunciations: Mapping[str, str]
    ) -> Iterable[str]:
        """The parts of a text that it leaves out, as far as that is known without a model;
        `pronunciations` as in `text_content`."""
        return ()

    def problems(self, voices: Mapping[str, Voice], languages: Sequence[str]) -> Sequence[Problem]:
        """What keeps this engine from speaking this cast, before anything runs."""
        return ()

    def encode_reference(self, reference: Reference) -> Mapping[str, NDArray[np.float32]]:
        """What its encoder makes of a reference, by the encoder's fingerprint, to be kept with it;
        empty where it has none. May load the model. Raises EngineUnavailable, EngineFailure."""
        return {}

    def precision(self) -> str:
        """What it computes in on this machine, where that is not the same everywhere; else ""."""
        return ""

    def required_memory(self) -> int | None:
        """Bytes of this machine's memory that a start would take now: 0 where it is loaded already
        or takes little, None where it is memory that is not seen from here, as a GPU's own."""
        return 0

    def release(self) -> None:  # noqa: B027  # most hold nothing
        """Give back what `start` and `encode_reference` have loaded and kept, while no session is
        open: it is loaded again when it is wanted."""
