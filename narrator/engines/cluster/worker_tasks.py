"""The worker side of a cluster: the tasks that a machine is sent, and the booths that run them.

Every task is a plain function from bytes to bytes. A booth is an engine with one session, which
speaks the requests of many tasks in one batch; each task waits in its own thread for its take.
Knows nothing of schedulers and books.
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
    has_known_identity,
    ignore_message,
    make_room,
    speak,
)
from narrator.engines.cluster import codec
from narrator.engines.registry import ENGINES
from narrator.engines.spec import EngineContext, EngineSpec
from narrator.errors import EngineFailure, EngineUnavailable, NarratorError, StorageError

MAX_CACHED_BYTES = 64_000_000
"""Bytes of answers that a booth keeps; as many of states."""
MAX_REFERENCE_BYTES = 512_000_000
"""Bytes of references that a machine keeps."""
MAX_BOOTHS = 4
"""Booths of a machine; the first idle one is closed to make room for another."""
IDLE_SECONDS = 30.0
"""Seconds without a request after which a session is closed; its model stays loaded."""
MIN_MEASURED_SECONDS = 10.0
"""Seconds with all slots full before a machine's speed is known."""
RECENT_SECONDS = 1200.0
"""Seconds after which older measurements count half."""
_MODEL_NAME_KEYS = ("model", "lora_spec")
"""Keys of `Engine.identity_record` that hold model names, which may differ between machines."""
_NO_MODEL = (
    "its model is not there: `narrator models pull` on it, or `narrator worker --model FOLDER`"
)


class _ByteCache:
    """A thread-safe cache of the entries used last, up to so many bytes."""

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    def store(self, name: str, entry: Any, size: int) -> None:
        with self._lock:
            _, previous_size = self._entries.pop(name, (None, 0))
            self._entries[name] = entry, size
            self._size += size - previous_size
            while self._size > self._max_bytes and len(self._entries) > 1:
                _, (_, evicted_size) = self._entries.popitem(last=False)
                self._size -= evicted_size

    def get(self, name: str) -> Any | None:
        with self._lock:
            if name not in self._entries:
                return None
            self._entries.move_to_end(name)
            return self._entries[name][0]


class _SpeedRecord:
    """Seconds of speech (as expected) that an engine makes per second here, with all slots full."""

    def __init__(self, name: str) -> None:
        self._path, self._name = files.library() / "speeds.json", name
        self.speed = files.load_json(self._path, dict[str, float], {}).get(name) or None
        self._speech_seconds = self._wall_seconds = 0.0

    def add(self, speech_seconds: float, wall_seconds: float) -> None:
        self._speech_seconds += speech_seconds
        self._wall_seconds += wall_seconds
        if self._wall_seconds >= MIN_MEASURED_SECONDS:
            self.speed = round(self._speech_seconds / self._wall_seconds, 3)
        if self._wall_seconds >= RECENT_SECONDS:
            self._speech_seconds, self._wall_seconds = (
                self._speech_seconds / 2,
                self._wall_seconds / 2,
            )

    def save(self) -> None:
        """Stores the speed for the next run; a failure to store it is ignored."""
        if self.speed is not None:
            speeds = files.load_json(self._path, dict[str, float], {})
            with contextlib.suppress(StorageError):
                files.save_json(self._path, {**speeds, self._name: self.speed})


@dataclass(slots=True, eq=False)
class _Job:
    """A request or other work for the engine's thread, and its answer."""

    mark: str
    request: Request | None = None
    work: Callable[[], bytes] | None = None
    """Work that is no request."""
    started_at: float = 0.0
    finished: threading.Event = field(default_factory=threading.Event)
    answer: bytes = b""
    error: NarratorError | None = None


@dataclass(slots=True, eq=False)
class _SessionWork:
    """The jobs that a session has, and what it did since the last step."""

    last_tick: float
    in_flight: dict[str, _Job] = field(default_factory=dict)
    """By their marks."""
    speech_seconds: float = 0.0
    finished_count: int = 0


class Booth:
    """An engine at work, which speaks the requests of many threads in one batch.

    A parcel that comes again, because its sender was cut off, is not spoken again.
    """

    def __init__(
        self,
        engine: Engine,
        idle_engines: Callable[[], Sequence[Engine]],
        max_slots: int | None = None,
        tell: Callable[[str], None] = ignore_message,
    ) -> None:
        """`max_slots` limits the slots of an engine that has no such setting; `idle_engines` lists
        the engines that may release their memory."""
        self.engine, self._tell = engine, tell
        self._list_idle_engines, self._max_slots = idle_engines, max_slots
        self._lock = threading.Lock()
        self._new_jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._jobs: dict[str, _Job] = {}
        self._packers = ThreadPoolExecutor(2, "pack")
        self._answers = _ByteCache()
        self._states = _ByteCache()
        self._session: Session | None = None
        self._driver: threading.Thread | None = None
        self._ready = threading.Event()
        self._closed = threading.Event()
        self._closed.set()
        self._error: NarratorError | None = None
        self._spoken_count = 0
        self._active_at = time.monotonic()
        self._speed = _SpeedRecord(keys.key(engine.identity()))

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def state(self, mark: str) -> State | None:
        """Returns the state of a take made here, by its parcel's mark."""
        state: State | None = self._states.get(mark)
        return state

    def facts(self) -> dict[str, Any]:
        """Returns the booth's status, which the scheduler passes on to clients."""
        session, is_busy = self._session, self.busy
        return {
            "engine": self.engine.name,
            "slots": self._slots(session) if session else 0,
            "at_work": len(self._jobs),
            # seconds since the engine last returned; loading does not count
            "silent": round(time.monotonic() - self._active_at, 1) if session and is_busy else 0.0,
            "speed": self._speed.speed,
        }

    def _slots(self, session: Session) -> int:
        return min(session.slots, self._max_slots or session.slots)

    def ready(self) -> None:
        """Loads what speaking needs. Raises NarratorError."""
        self._ensure_driver()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def close_if_idle(self) -> bool:
        """Closes an idle session and returns true, so that the engine may release its memory; false
        when the booth is busy or starting."""
        with self._lock:
            is_starting = self._driver is not None and self._session is None
            if self._jobs or is_starting:
                return False
            if self._session is not None:
                self._new_jobs.put(None)
        self._closed.wait()
        return True

    def speak(self, mark: str, request: Request) -> bytes:
        """Speaks a request and returns its answer. Raises NarratorError when this machine cannot
        speak."""
        # the parcel's mark is the key: other clients may use the same key for another text
        return self._run_job(_Job(mark, replace(request, key=mark)))

    def do(self, mark: str, work: Callable[[], bytes]) -> bytes:
        """Does other work on the engine's thread. Raises as `speak`."""
        return self._run_job(_Job(mark, work=work))

    def _run_job(self, job: _Job) -> bytes:
        with self._lock:
            answer: bytes | None = self._answers.get(job.mark)
            if answer is not None:
                return answer
            job = self._jobs.setdefault(job.mark, job)
            if not job.started_at:
                job.started_at = time.monotonic()
                self._new_jobs.put(job)
        self._ensure_driver()
        job.finished.wait()
        if job.error is not None:
            raise job.error
        return job.answer

    def _ensure_driver(self) -> None:
        """Starts the engine's thread if it does not run."""
        with self._lock:
            if self._driver is None:
                self._ready.clear()
                self._error = None
                self._driver = threading.Thread(target=self._run, name="booth", daemon=True)
                self._driver.start()

    # -- the engine's thread

    def _run(self) -> None:
        try:
            while not self._stop_if_done():
                self._run_session()
        finally:
            with self._lock:
                has_crashed = self._driver is threading.current_thread()
                self._driver = None if has_crashed else self._driver
            if has_crashed:  # waiting threads must be told
                self._fail_all(EngineUnavailable("its engine's thread ended: see its own lines"))
            self._ready.set()

    def _stop_if_done(self) -> bool:
        """Returns true, and gives up the thread, when there are no new jobs; the next job starts
        another thread."""
        with self._lock:
            if self._ready.is_set() and self._new_jobs.empty():
                self._driver = None
                return True
        return False

    def _run_session(self) -> None:
        """Runs a session as long as there are jobs."""
        try:
            make_room(self.engine, self._list_idle_engines())
            with contextlib.closing(self.engine.start(self._tell)) as session:
                self._closed.clear()
                self._session, self._active_at = session, time.monotonic()
                self._ready.set()
                slot_count = self._slots(session)
                self._tell(
                    f"{self.engine.name}: {'1 slot' if slot_count == 1 else f'{slot_count} slots'}"
                )
                self._serve(session)
                self._tell(f"{self.engine.name}: at rest; {self._spoken_count} chunks so far")
        except NarratorError as error:
            self._fail_all(error)
        finally:
            self._session = None
            self._closed.set()
        self._ready.set()
        self._speed.save()

    def _serve(self, session: Session) -> None:
        """Speaks jobs until none comes for `IDLE_SECONDS`, or another booth needs the memory."""
        work = _SessionWork(last_tick=time.monotonic())
        requests = self._next_requests(session, work)
        for request, outcome in speak(session, requests, tick=lambda: self._tick(session, work)):
            self._active_at = time.monotonic()
            job = work.in_flight.pop(request.key)
            self._spoken_count += 1
            work.finished_count += 1
            work.speech_seconds += request.expected if outcome.speech else 0.0
            duration = self._active_at - job.started_at
            # packed on another thread, while the engine goes on
            packing = self._packers.submit(
                self._pack_answer, job, outcome, self._slots(session), duration
            )
            packing.add_done_callback(partial(self._finish_packing, job))

    def _next_requests(self, session: Session, work: _SessionWork) -> Iterator[Request | None]:
        """Yields the requests of new jobs, and None while there is no job or no free slot; does
        other work itself."""
        while True:
            job: _Job | None = None
            if len(work.in_flight) < self._slots(session):
                try:
                    job = self._new_jobs.get(timeout=0.0 if work.in_flight else IDLE_SECONDS)
                except queue.Empty:
                    if not work.in_flight:
                        return
                else:
                    if job is None:  # another booth needs the memory
                        return
            if job is None:
                yield None
                continue
            self._active_at = job.started_at = time.monotonic()
            if not work.in_flight:
                work.last_tick = self._active_at
            if job.request is None:
                self._finish_job(job, self._do_work(job))
            else:
                work.in_flight[job.mark] = job
                yield job.request

    def _tick(self, session: Session, work: _SessionWork) -> None:
        """Records the speed of a step in which all slots were full."""
        self._active_at = time.monotonic()
        if len(work.in_flight) + work.finished_count >= self._slots(session):
            self._speed.add(work.speech_seconds, self._active_at - work.last_tick)
        work.last_tick, work.speech_seconds, work.finished_count = self._active_at, 0.0, 0

    def _pack_answer(self, job: _Job, outcome: Outcome, slots: int, duration: float) -> bytes:
        facts: dict[str, Any] | None = None
        arrays: Mapping[str, Any] = {}
        if outcome.speech is not None:
            facts, arrays = codec.encode_speech(outcome.speech, self.engine.sample_rate)
            if (state := outcome.speech.state) is not None:
                self._states.store(job.mark, state, state.nbytes)
        answer_facts = {
            "speech": facts,
            "failure": None if outcome.failure is None else str(outcome.failure),
            "took": round(duration, 4),
            "slots": slots,
            "mark": job.mark,
        }
        return codec.pack_parcel(answer_facts, arrays)

    def _finish_packing(self, job: _Job, packing: Future[bytes]) -> None:
        error = packing.exception()
        if error is None:
            self._finish_job(job, packing.result())
        else:
            job.error = EngineUnavailable(f"a take is not packed: {error}")
            self._finish_job(job, b"")

    def _do_work(self, job: _Job) -> bytes:
        assert job.work is not None
        try:
            return job.work()
        except EngineFailure as error:
            return _pack_refusal(error)

    def _finish_job(self, job: _Job, answer: bytes) -> None:
        job.answer = answer
        with self._lock:
            if answer:
                self._answers.store(job.mark, answer, len(answer))
            self._jobs.pop(job.mark, None)
        job.finished.set()

    def _fail_all(self, error: NarratorError) -> None:
        """Fails all jobs."""
        with self._lock:
            self._error = error
            abandoned, self._jobs = self._jobs, {}
            while not self._new_jobs.empty():
                self._new_jobs.get()
        for job in abandoned.values():
            job.error = error
            job.finished.set()


class Machine:
    """The booths of this machine, by their engine settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._booths: dict[str, Booth] = {}
        self.local_settings: dict[str, Any] = {}
        """Engine settings that this machine decides: the path of its model, its slots."""
        self.tell: Callable[[str], None] = ignore_message
        self.references = _ByteCache(MAX_REFERENCE_BYTES)
        """References by content."""

    def booth(self, settings_record: Mapping[str, Any]) -> Booth:
        """Returns the booth of an engine with such settings. Raises NarratorError."""
        name = keys.key(settings_record)
        with self._lock:
            if name not in self._booths:
                self._make_room()
                setting_names = find_spec(settings_record).settings.model_fields
                max_slots = None if "slots" in setting_names else self.local_settings.get("slots")
                engine = self._make_engine(settings_record)
                self._booths[name] = Booth(engine, self._idle_engines, max_slots, self.tell)
            return self._booths[name]

    def facts(self) -> dict[str, Any]:
        return {
            "narrator": __version__,
            "system": f"{platform.system()} {platform.machine()}",
            "booths": [booth.facts() for booth in list(self._booths.values())],
        }

    def _make_engine(self, settings_record: Mapping[str, Any]) -> Engine:
        spec = find_spec(settings_record)
        local_settings = {
            name: setting
            for name, setting in self.local_settings.items()
            if name in spec.settings.model_fields
        }
        if "process" in spec.settings.model_fields:
            # an engine that crashes must not take the machine out of the cluster
            local_settings = {"process": "own", **local_settings}
        settings = spec.settings.model_validate({**settings_record, **local_settings})
        context = EngineContext(root=None, cache=files.library() / "encoded")
        return spec.make(settings, context, ignore_message)

    def _make_room(self) -> None:
        for name, booth in list(self._booths.items()):
            if len(self._booths) >= MAX_BOOTHS and booth.close_if_idle():
                booth.engine.release()
                del self._booths[name]

    def _idle_engines(self) -> list[Engine]:
        """Returns the engines that may release their memory."""
        return [booth.engine for booth in list(self._booths.values()) if booth.close_if_idle()]


MACHINE = Machine()
"""The machine that this process is."""


def find_spec(settings_record: Mapping[str, Any]) -> EngineSpec:
    """Returns the spec of the engine that settings name. Raises EngineUnavailable, UsageError."""
    name = str(settings_record.get("name"))
    if not ENGINES.knows(name):
        raise EngineUnavailable(f"no engine {name} here")
    return ENGINES[name]


# -- tasks -----------------------------------------------------------------------------------------


def meet(parcel: bytes) -> bytes:
    """Returns the identity, precision and rate of this machine's engine; loads nothing."""
    facts, _ = codec.unpack_parcel(parcel)
    version_facts = {"narrator": __version__, "form": codec.FORMAT_VERSION}
    if not codec.is_same_version(facts):
        return codec.pack_parcel(version_facts)
    try:
        engine = MACHINE.booth(facts["settings"]).engine
        if not has_known_identity(engine):
            return _pack_refusal(EngineUnavailable(_NO_MODEL))
        engine_facts = {
            "identity": dict(engine.identity()),
            "memory": {
                name: value
                for name, value in engine.identity_record().items()
                if name not in _MODEL_NAME_KEYS
            },
            "precision": engine.precision(),
            "rate": engine.sample_rate,
        }
    except NarratorError as error:
        return _pack_refusal(error)
    return codec.pack_parcel(version_facts | engine_facts)


def ready(parcel: bytes) -> bytes:
    """Loads the engine and returns its number of slots."""
    facts, _ = codec.unpack_parcel(parcel)
    try:
        booth = MACHINE.booth(facts["settings"])
        booth.ready()
    except NarratorError as error:
        return _pack_refusal(error)
    return codec.pack_parcel({"slots": booth.facts()["slots"]})


def hold(parcel: bytes) -> str:
    """Keeps a reference and returns its content hash."""
    reference = codec.decode_reference(parcel)
    MACHINE.references.store(reference.content, reference, len(parcel))
    return reference.content


def say(parcel: bytes, reference_content: str | None) -> bytes:
    """Speaks a request; its reference must have been sent with `hold` before."""
    facts, arrays = codec.unpack_parcel(parcel)
    try:
        booth = MACHINE.booth(facts["settings"])
        content = facts["reference"]
        reference = MACHINE.references.get(content) if content else None
        if content and reference is None:
            return codec.pack_parcel({"lacks": "reference"})
        spec = find_spec(facts["settings"])
        request = codec.decode_request(facts, arrays, spec, reference, booth.state)
        if request is None:
            return codec.pack_parcel({"lacks": "prompt"})
        return booth.speak(facts["mark"], request)
    except NarratorError as error:
        return _pack_refusal(error)


def encode(parcel: bytes, reference_content: str) -> bytes:
    """Returns the latents of a reference that this machine holds."""
    facts, _ = codec.unpack_parcel(parcel)
    try:
        booth = MACHINE.booth(facts["settings"])
        reference = MACHINE.references.get(reference_content)
        if reference is None:
            return codec.pack_parcel({"lacks": "reference"})

        def work() -> bytes:
            names, arrays = codec.encode_latents(booth.engine.encode_reference(reference))
            return codec.pack_parcel({"names": names}, arrays)

        return booth.do(f"{facts['settings']} {reference_content}", work)
    except NarratorError as error:
        return _pack_refusal(error)


def _pack_refusal(error: NarratorError) -> bytes:
    return codec.pack_parcel({"refused": str(error)})
