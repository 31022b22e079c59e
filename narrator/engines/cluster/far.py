"""What a machine of a cluster does: the tasks that it is sent, and the booths that do them.

Every task is a plain function of bytes to bytes. A booth is an engine with one session, which
speaks side by side what many tasks bring; each waits in a thread of its own for its take. Knows
nothing of schedulers and books.
"""

from __future__ import annotations

import contextlib
import platform
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from narrator import __version__, files, keys
from narrator.engines import (
    Engine,
    Outcome,
    Request,
    Session,
    State,
    is_known,
    make_room,
    quiet,
    speak,
)
from narrator.engines.cluster import parcels
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSpec
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError, StorageError

KEPT, HELD = 64_000_000, 512_000_000
"""Bytes that are kept: of answers and of states by a booth, of references by a machine."""
BOOTHS = 4
"""So many a machine has; the first that rests makes room for another."""
IDLE = 30.0
"""Seconds without a request after which a session is closed; what is loaded stays."""
ENOUGH, RECENT = 10.0, 1200.0
"""Seconds with all slots full before a machine's speed is known, and those that count most."""
_SPECS = ("model", "lora_spec")
"""Of `Engine.identity_record`, what a machine calls its models: another may call them otherwise."""
_NO_MODEL = (
    "its model is not there: `narrator models pull` on it, or `narrator worker --model FOLDER`"
)


class _Recent:
    """What was used last, up to so many bytes; of many threads."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._found: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    def put(self, name: str, value: Any, size: int) -> None:
        with self._lock:
            _, before = self._found.pop(name, (None, 0))
            self._found[name] = value, size
            self._size += size - before
            while self._size > self._most and len(self._found) > 1:
                _, (_, gone) = self._found.popitem(last=False)
                self._size -= gone

    def get(self, name: str) -> Any | None:
        with self._lock:
            if name not in self._found:
                return None
            self._found.move_to_end(name)
            return self._found[name][0]


class _Speed:
    """Expected seconds of speech that an engine makes a second here, with all slots full."""

    def __init__(self, name: str) -> None:
        self._path, self._name = files.library() / "speeds.json", name
        before = files.load_json(self._path, {})
        kept = before.get(name) if isinstance(before, dict) else None
        self.known = float(kept) if isinstance(kept, int | float) and kept > 0 else None
        self._spoken = self._wall = 0.0

    def add(self, spoken: float, wall: float) -> None:
        self._spoken += spoken
        self._wall += wall
        if self._wall >= ENOUGH:
            self.known = round(self._spoken / self._wall, 3)
        if self._wall >= RECENT:
            self._spoken, self._wall = self._spoken / 2, self._wall / 2

    def keep(self) -> None:
        """For the next time: a convenience."""
        if self.known is not None:
            rows = files.load_json(self._path, {})
            with contextlib.suppress(StorageError):
                known = rows if isinstance(rows, dict) else {}
                files.save_json(self._path, {**known, self._name: self.known})


@dataclass(slots=True, eq=False)
class _Commission:
    """Something for the engine's thread, and who waits for what comes of it."""

    mark: str
    request: Request | None = None
    work: Callable[[], bytes] | None = None
    """What is no request."""
    began: float = 0.0
    done: threading.Event = field(default_factory=threading.Event)
    answer: bytes = b""
    error: NarratorError | None = None


class Booth:
    """An engine at work: what many threads ask of it is one batch.

    A parcel that comes again, because whoever sent it was cut off, is not spoken again.
    """

    def __init__(
        self,
        engine: Engine,
        others: Callable[[], Sequence[Engine]],
        most: int | None = None,
        tell: Callable[[str], None] = quiet,
    ) -> None:
        """`most` are the slots that it has at most, where the engine itself cannot be told."""
        self.engine, self._others, self._most, self._say = engine, others, most, tell
        self._lock = threading.Lock()
        self._new: queue.SimpleQueue[_Commission | None] = queue.SimpleQueue()
        self._commissions: dict[str, _Commission] = {}
        self._packers = ThreadPoolExecutor(2, "pack")
        self._answers = _Recent()
        self._states = _Recent()
        self._session: Session | None = None
        self._driver: threading.Thread | None = None
        self._ready = threading.Event()
        self._closed = threading.Event()
        self._closed.set()
        self._trouble: NarratorError | None = None
        self._spoken = 0
        self._turn = time.monotonic()
        self._speed = _Speed(keys.key(engine.identity()))

    @property
    def busy(self) -> bool:
        return bool(self._commissions)

    def state(self, mark: str) -> State | None:
        """Of a take that was made here, by its parcel's mark."""
        found: State | None = self._states.get(mark)
        return found

    def facts(self) -> dict[str, Any]:
        """How it runs, for whoever asks the scheduler about its machines."""
        session, busy = self._session, self.busy
        return {
            "engine": self.engine.name,
            "slots": self._slots(session) if session else 0,
            "at_work": len(self._commissions),
            # since the engine last came back; while it loads nobody expects it to
            "silent": round(time.monotonic() - self._turn, 1) if session and busy else 0.0,
            "speed": self._speed.known,
        }

    def _slots(self, session: Session) -> int:
        return min(session.slots, self._most or session.slots)

    def ready(self) -> None:
        """Load what speaking needs. Raises NarratorError."""
        self._drive()
        self._ready.wait()
        if self._trouble is not None:
            raise self._trouble

    def rest(self) -> bool:
        """Close a session that nobody uses; whether the engine may give back what it holds."""
        with self._lock:
            begins = self._driver is not None and self._session is None
            if self._commissions or begins:
                return False
            if self._session is not None:
                self._new.put(None)
        self._closed.wait()
        return True

    def speak(self, mark: str, request: Request) -> bytes:
        """The answer to a request, after as long as it takes. Raises NarratorError where this
        machine cannot speak."""
        # by its parcel: others may ask for the same step with another text
        return self._done(_Commission(mark, replace(request, key=mark)))

    def do(self, mark: str, work: Callable[[], bytes]) -> bytes:
        """Something else that the engine's own thread must do. Raises as `speak`."""
        return self._done(_Commission(mark, work=work))

    def _done(self, commission: _Commission) -> bytes:
        with self._lock:
            answer: bytes | None = self._answers.get(commission.mark)
            if answer is not None:
                return answer
            commission = self._commissions.setdefault(commission.mark, commission)
            if not commission.began:
                commission.began = time.monotonic()
                self._new.put(commission)
        self._drive()
        commission.done.wait()
        if commission.error is not None:
            raise commission.error
        return commission.answer

    def _drive(self) -> None:
        """See to it that somebody does what was asked."""
        with self._lock:
            if self._driver is None:
                self._ready.clear()
                self._trouble = None
                self._driver = threading.Thread(target=self._run, name="booth", daemon=True)
                self._driver.start()

    # -- the thread that has the engine

    def _run(self) -> None:
        try:
            while not self._is_through():
                self._attend()
        finally:
            with self._lock:
                fell = self._driver is threading.current_thread()
                self._driver = None if fell else self._driver
            if fell:  # whoever waits must hear of it
                self._give_up(EngineUnavailable("its engine's thread ended: see its own lines"))
            self._ready.set()

    def _is_through(self) -> bool:
        """Whether nothing more was asked; then the next who asks begins anew."""
        with self._lock:
            if self._ready.is_set() and self._new.empty():
                self._driver = None
                return True
        return False

    def _attend(self) -> None:
        """A session, as long as there is anything to do."""
        try:
            make_room(self.engine, self._others())
            with contextlib.closing(self.engine.start(self._say)) as session:
                self._closed.clear()
                self._session, self._turn = session, time.monotonic()
                self._ready.set()
                many = self._slots(session)
                self._say(f"{self.engine.name}: {'1 slot' if many == 1 else f'{many} slots'}")
                self._serve(session)
                self._say(f"{self.engine.name}: at rest; {self._spoken} chunks so far")
        except NarratorError as error:
            self._give_up(error)
        finally:
            self._session = None
            self._closed.set()
        self._ready.set()
        self._speed.keep()

    def _serve(self, session: Session) -> None:
        speaking: dict[str, _Commission] = {}
        turn, spoken, ended = time.monotonic(), 0.0, 0

        def asked() -> Iterator[Request | None]:
            nonlocal turn
            while True:
                if len(speaking) >= self._slots(session):
                    yield None
                    continue
                try:
                    commission = self._new.get(timeout=0.0 if speaking else IDLE)
                except queue.Empty:
                    if not speaking:
                        return
                    yield None
                    continue
                if commission is None:  # somebody wants its memory
                    return
                self._turn = commission.began = time.monotonic()
                if not speaking:
                    turn = self._turn
                if commission.request is None:
                    self._end(commission, self._worked(commission))
                    continue
                speaking[commission.mark] = commission
                yield commission.request

        def tick() -> None:
            nonlocal turn, spoken, ended
            self._turn = now = time.monotonic()
            if len(speaking) + ended >= self._slots(session):
                self._speed.add(spoken, now - turn)
            turn, spoken, ended = now, 0.0, 0

        for request, outcome in speak(session, asked(), tick=tick):
            self._turn = time.monotonic()
            commission = speaking.pop(request.key)
            self._spoken += 1
            spoken, ended = spoken + (request.expected if outcome.speech else 0.0), ended + 1
            took = self._turn - commission.began
            # a take is packed beside the engine, which goes on
            packed = self._packers.submit(
                self._answer, commission, outcome, self._slots(session), took
            )
            packed.add_done_callback(partial(self._packed, commission))

    def _answer(self, commission: _Commission, outcome: Outcome, slots: int, took: float) -> bytes:
        facts: dict[str, Any] | None = None
        arrays: Mapping[str, Any] = {}
        if outcome.speech is not None:
            facts, arrays = parcels.of_speech(outcome.speech, self.engine.sample_rate)
            if (state := outcome.speech.state) is not None:
                self._states.put(commission.mark, state, state.nbytes)
        said = {
            "speech": facts,
            "failure": None if outcome.failure is None else str(outcome.failure),
            "took": round(took, 4),
            "slots": slots,
            "mark": commission.mark,
        }
        return parcels.packed(said, arrays)

    def _packed(self, commission: _Commission, packed: Future[bytes]) -> None:
        error = packed.exception()
        if error is None:
            self._end(commission, packed.result())
        else:
            commission.error = EngineUnavailable(f"a take is not packed: {error}")
            self._end(commission, b"")

    def _worked(self, commission: _Commission) -> bytes:
        assert commission.work is not None
        try:
            return commission.work()
        except EngineFailure as error:
            return _refused(error)

    def _end(self, commission: _Commission, answer: bytes) -> None:
        commission.answer = answer
        with self._lock:
            if answer:
                self._answers.put(commission.mark, answer, len(answer))
            self._commissions.pop(commission.mark, None)
        commission.done.set()

    def _give_up(self, error: NarratorError) -> None:
        """All that was asked goes back unspoken."""
        with self._lock:
            self._trouble = error
            gone, self._commissions = self._commissions, {}
            while not self._new.empty():
                self._new.get()
        for commission in gone.values():
            commission.error = error
            commission.done.set()


class Machine:
    """The booths of this machine, by what they were asked to be."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._booths: dict[str, Booth] = {}
        self.here: dict[str, Any] = {}
        """Settings of its engines that are this machine's own: where its model lies, its slots."""
        self.tell: Callable[[str], None] = quiet
        self.held = _Recent(HELD)
        """References by their content."""

    def booth(self, said: Mapping[str, Any]) -> Booth:
        """Of an engine with such settings. Raises NarratorError."""
        name = keys.key(said)
        with self._lock:
            if name not in self._booths:
                self._make_room()
                settings = kind_of(said).settings.model_fields
                most = None if "slots" in settings else self.here.get("slots")
                engine = self._engine(said)
                self._booths[name] = Booth(engine, self._idle, most, self.tell)
            return self._booths[name]

    def facts(self) -> dict[str, Any]:
        return {
            "narrator": __version__,
            "system": f"{platform.system()} {platform.machine()}",
            "booths": [booth.facts() for booth in list(self._booths.values())],
        }

    def _engine(self, said: Mapping[str, Any]) -> Engine:
        kind = kind_of(said)
        own = {name: one for name, one in self.here.items() if name in kind.settings.model_fields}
        if "process" in kind.settings.model_fields:
            # what kills the engine must not take the machine out of the cluster
            own = {"process": "own", **own}
        settings = kind.settings.model_validate({**said, **own})
        home = EngineContext(root=None, cache=files.library() / "encoded")
        return kind.make(settings, home, lambda what: None)

    def _make_room(self) -> None:
        for name, booth in list(self._booths.items()):
            if len(self._booths) >= BOOTHS and booth.rest():
                booth.engine.release()
                del self._booths[name]

    def _idle(self) -> list[Engine]:
        """Engines that may give back what they hold."""
        return [booth.engine for booth in list(self._booths.values()) if booth.rest()]


MACHINE = Machine()
"""This process's."""


def kind_of(said: Mapping[str, Any]) -> EngineSpec:
    """Raises EngineUnavailable."""
    kind = ENGINES.get(str(said.get("name")))
    if kind is None:
        raise EngineUnavailable(f"no engine {said.get('name')} here")
    return kind


# -- tasks -----------------------------------------------------------------------------------------


def meet(parcel: bytes) -> bytes:
    """What this machine would speak with, before anything is loaded."""
    facts, _ = parcels.unpacked(parcel)
    said = {"narrator": __version__, "form": parcels.FORM}
    if not parcels.is_ours(facts):
        return parcels.packed(said)
    try:
        engine = MACHINE.booth(facts["settings"]).engine
        if not is_known(engine):
            return _refused(EngineUnavailable(_NO_MODEL))
        found = {
            "identity": dict(engine.identity()),
            "memory": {k: v for k, v in engine.identity_record().items() if k not in _SPECS},
            "precision": engine.precision(),
            "rate": engine.sample_rate,
        }
    except NarratorError as error:
        return _refused(error)
    return parcels.packed(said | found)


def ready(parcel: bytes) -> bytes:
    """Load it; how many slots it has."""
    facts, _ = parcels.unpacked(parcel)
    try:
        booth = MACHINE.booth(facts["settings"])
        booth.ready()
    except NarratorError as error:
        return _refused(error)
    return parcels.packed({"slots": booth.facts()["slots"]})


def hold(parcel: bytes) -> str:
    """Keep a reference; its content."""
    reference = parcels.to_reference(parcel)
    MACHINE.held.put(reference.content, reference, len(parcel))
    return reference.content


def say(parcel: bytes, held: str | None) -> bytes:
    """Speak a request, after its reference was `held`."""
    facts, arrays = parcels.unpacked(parcel)
    try:
        booth = MACHINE.booth(facts["settings"])
        wanted = facts["reference"]
        reference = MACHINE.held.get(wanted) if wanted else None
        if wanted and reference is None:
            return parcels.packed({"lacks": "reference"})
        kind = kind_of(facts["settings"])
        request = parcels.to_request(facts, arrays, kind, reference, booth.state)
        if request is None:
            return parcels.packed({"lacks": "prompt"})
        return booth.speak(facts["mark"], request)
    except NarratorError as error:
        return _refused(error)


def encode(parcel: bytes, held: str) -> bytes:
    """What an engine's encoder makes of a reference that is here."""
    facts, _ = parcels.unpacked(parcel)
    try:
        booth = MACHINE.booth(facts["settings"])
        reference = MACHINE.held.get(held)
        if reference is None:
            return parcels.packed({"lacks": "reference"})

        def work() -> bytes:
            names, arrays = parcels.of_latents(booth.engine.encode_reference(reference))
            return parcels.packed({"names": names}, arrays)

        return booth.do(f"{facts['settings']} {held}", work)
    except NarratorError as error:
        return _refused(error)


def _refused(error: NarratorError) -> bytes:
    return parcels.packed({"refused": str(error)})
