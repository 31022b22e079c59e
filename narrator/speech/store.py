"""Stores takes on disk, by the key of their step: put, read, pin, remove.

A take is one file, `ab/abcdef….take`: a zip archive, stored, of `record.json`, `audio.flac` and,
where the engine has a state, `latents.npy`. It is written to a temporary file, synced and renamed,
so a take is complete or absent. `journal.jsonl` records each put with the file's hash, size and
time, so that planning need not open any take. Its rows are sealed and only appended; it may be
lost, since anything uncertain is read from the takes again. Tries that failed their checks lie
beside the takes as `abcdef….N.try`, in the same format, and never count as takes. `pins.json` holds
the takes that authors chose by hand. Knows nothing of plans, engines, chapters.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from narrator import files, keys
from narrator.errors import DamagedTake, StorageError
from narrator.files import Journal
from narrator.sound import audio, timing
from narrator.sound.timing import WordTimes
from narrator.speech.hearing.transcripts import TRANSCRIPTS_FILE, TranscriptStore

JOURNAL, PINS = "journal.jsonl", "pins.json"
"""Files of a store that change with its takes and with its pins."""


@dataclass(frozen=True, slots=True)
class Record:
    """The origin of a take, and the measures of its sound."""

    key: str
    content: str
    """Hash of samples and state as stored; a child refers to it in `prompted_by`."""
    samples: int
    sample_rate: int
    start: int
    """First sample of speech; edge silence lies before it."""
    stop: int
    level: float
    """Active speech level, dB."""
    peak: float
    """Highest sample, dB."""
    attempt: int = 0
    """0 for the first try."""
    tries: int = 1
    """Requests that this take needed: those for all parts, and the bad tries."""
    mode: str = ""
    """The form of the request: zero-shot, reference, anchored or continuation."""
    seed: int = 0
    """The manifest's seed, or that of the request."""
    noise: int = 0
    """Seed of the engine's noise, derived from seed, text and attempt."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The engine's parameters: steps, cfg …"""
    halves: int = 1
    """Number of parts that it was rendered in."""
    prompted_by: str | None = None
    """Content hash of the take that this one continued."""
    voiced_by: str | None = None
    """Content hash of the voice's reference."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Measurements of the checks."""
    voice: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `VoiceFigures`; empty in takes of earlier versions."""
    faults: tuple[str, ...] = ()
    """Faults of a failed try, or of a doubtful take."""
    score: Mapping[str, float] = field(default_factory=dict)
    """Terms of `scores`, where it was one of several good tries."""
    engine: str = ""
    text: str = ""
    """Spoken text."""
    prompt_text: str = ""
    """Text of the state where it covers a part alone: a halved take keeps its last half."""
    prompt_seconds: float = 0.0
    """Seconds of sound that the state covers."""
    wall: float = 0.0
    """Seconds from its request to its samples."""
    words: str = ""
    """Times of the words, where the engine knows them: see `timing.packed`."""

    @property
    def seconds(self) -> float:
        """Seconds of speech, from its first sample to its last."""
        return (self.stop - self.start) / self.sample_rate

    @property
    def edge_silence_seconds(self) -> tuple[float, float]:
        """Seconds of quiet within the bounds, before the first and after the last sound."""
        return audio.edge_silence((self.start, self.stop), self.samples)


@dataclass(frozen=True, slots=True)
class _JournalEntry:
    record: Record
    sha256: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A step that was given up, with the faults; the next render tries it again."""

    key: str
    faults: tuple[str, ...]
    attempts: int = 0
    """Attempts whose noise was used up: the next run begins after them."""


_TakeKey = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


@dataclass(frozen=True, slots=True)
class Pin:
    """A try that an author chose for a place in the book."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # people may mend the file by hand

    place: str
    """`Step.place_hash`: engine, speaker, spoken text and the text before it."""
    take: _TakeKey
    """Key of the take with the pinned sound."""
    step: _TakeKey
    """Key of the step that the try belonged to."""
    number: int
    """Number of the try."""
    chunk: str
    """The chunk's id when it was pinned, for people."""
    speaker: str
    text: str
    """Spoken text."""
    words: str
    """`Step.text_hash`: identifies text that occurs once in the book."""
    engine: str
    """Name of the engine that spoke it."""
    manifest: str
    """Name of the manifest's file at the time of pinning."""


@dataclass(slots=True)
class Store:
    """Takes under one folder. One writer at a time (the project's lock); readers at any time."""

    root: Path
    transcripts: TranscriptStore = field(init=False)
    """Transcripts and word times of the takes."""
    damaged: list[str] = field(default_factory=list)
    """Keys of takes found torn or altered, and dropped, since this store was opened."""
    _journal: Journal = field(init=False)
    _mismatches: int = 0
    """Rows that disagreed with their take, and damaged rows that were rewritten since."""
    _entries: dict[str, _JournalEntry] = field(default_factory=dict)
    _flags: dict[str, Flag] = field(default_factory=dict)
    uncompared: set[str] = field(default_factory=set)
    """Keys of takes that no render has compared with the speaker's others since they were put."""
    _is_writer: bool = False
    _damaged_keys: set[str] = field(default_factory=set)
    """Keys of damaged takes that were not put again since."""
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.transcripts = TranscriptStore(self.root / TRANSCRIPTS_FILE)
        self._journal = Journal(self.root / JOURNAL)

    @property
    def index_mismatches(self) -> int:
        """Number of journal rows that were torn, altered, or disagreed with their take; those takes
        are read again."""
        return self._journal.damaged + self._mismatches

    # -- reading -----------------------------------------------------------------------------------

    @classmethod
    def open(cls, root: Path, *, writing: bool = False) -> Store:
        """Opens a store, reads its journal and, with `writing`, removes a killed writer's files.

        Raises StorageError where the folder cannot be made or read.
        """
        store = cls(root, _is_writer=writing)
        with files.translating_errors(root):
            if writing:
                root.mkdir(parents=True, exist_ok=True)
                for folder in (root, *root.glob("??")):
                    files.sweep(folder)
            store._read_journal()
            if writing and store._journal.damaged:
                store._rewrite_journal()
        return store

    def find(self, key: str) -> Record | None:
        """Returns the record of an intact take, or None.

        A file whose size or time differs from the journal is read again, and its own record
        counts: the journal may have lost the row of a later put. A torn or altered take is noted
        in `damaged` and counts as missing. Raises StorageError.
        """
        if key in self._damaged_keys:
            return None
        name = f"{self.root}/{key[:2]}/{key}.take"
        try:
            stat = os.stat(name)  # noqa: PTH116  # a path of pathlib's takes four times as long
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{name}: {files.reason(error)}") from error
        entry = self._entries.get(key)
        if entry and (stat.st_size, stat.st_mtime_ns) == (entry.size, entry.mtime_ns):
            return entry.record
        with files.translating_errors(self._path(key)):
            return self._reread(key, stat)

    def _reread(self, key: str, stat: os.stat_result) -> Record | None:
        """Returns the record of a take whose row in the journal is missing or wrong; None if it is
        damaged."""
        try:
            take_bytes = self._path(key).read_bytes()
            record = _unpack(key, take_bytes)[0]
        except DamagedTake:
            self._note_damage(key)
            return None
        entry = _JournalEntry(record, keys.content_of(take_bytes), stat.st_size, stat.st_mtime_ns)
        with self._mutex, files.translating_errors(self._journal.path):
            known = self._entries.get(key)
            if record.voice and (known is None or known.sha256 != entry.sha256):
                self.uncompared.add(key)  # a kill came between the take and its row
            self._entries[key] = entry
            if self._is_writer:  # so a copied store is read in full once, not at every run
                self._journal.append(self._row(entry))
        return record

    def refresh(self) -> None:
        """Reads the journal's rows that others have written since. Raises StorageError."""
        with files.translating_errors(self._journal.path):
            self._read_journal()

    def read(self, key: str) -> tuple[NDArray[np.float32], int]:
        """Returns samples, mono float32, and rate. Raises DamagedTake, also for a missing take."""
        record, flac_bytes, _ = self._read_take(key)
        samples, rate = audio.decode_flac(flac_bytes)
        if rate != record.sample_rate or len(samples) != record.samples:
            self._note_damage(key)
            raise DamagedTake(f"take {key}: {len(samples)} samples, not {record.samples}")
        return samples, rate

    def state(self, key: str) -> NDArray[Any] | None:
        """Returns the engine state from which a take can be continued. Raises DamagedTake."""
        state = self._read_take(key)[2]
        return np.load(io.BytesIO(state), allow_pickle=False) if state else None

    def is_intact(self, key: str) -> bool:
        """Checks every byte of a take against what was stored; damage is noted in `damaged`."""
        try:
            self._read_take(key)
        except DamagedTake:
            return False
        return True

    def engines(self) -> set[str]:
        """Returns the names of the engines that spoke the takes."""
        return {entry.record.engine for entry in list(self._entries.values())}

    def flag(self, key: str) -> Flag | None:
        """Returns the flag of a step that was given up since its last good take, or None."""
        return self._flags.get(key)

    def word_times(self, take: Record, text: str) -> WordTimes | None:
        """Returns the most exact times of a take's words, or None.

        The engine's own times, which are part of the take, come first; then those of aligners.
        Raises StorageError.
        """
        return self.engine_times(take, text) or self.transcripts.find_best_times(take.content, text)

    def engine_times(self, take: Record, text: str) -> WordTimes | None:
        """Returns the engine's own times of a take's words; None where it has none."""
        if take.words and take.text == text:
            return WordTimes(take.engine, timing.unpack_words(take.words))
        return self.transcripts.engine_times(take.content, text)  # older takes do not contain them

    def is_timed(self, take: Record, text: str) -> bool:
        """Returns whether the words of a take were timed, even if they could not be located."""
        return bool(take.words) or self.transcripts.is_timed(take.content, text)

    def stored(self) -> Iterator[tuple[str, int]]:
        """Yields the key of every take on disk and its size in bytes, in no order."""
        for path in self.root.glob("??/*.take"):
            with contextlib.suppress(FileNotFoundError):
                yield path.stem, path.stat().st_size

    def tried(self) -> dict[str, int]:
        """Returns the bytes of the tries on disk, by the key of their step."""
        sizes: dict[str, int] = {}
        for path in self.root.glob("??/*.try"):
            with contextlib.suppress(FileNotFoundError):
                key = path.name.split(".")[0]
                sizes[key] = sizes.get(key, 0) + path.stat().st_size
        return sizes

    # -- writing -----------------------------------------------------------------------------------

    def put(
        self,
        record: Record,
        samples: NDArray[np.float32],
        state: NDArray[Any] | None = None,
        *,
        before_write: Callable[[Record], None] = lambda record: None,
    ) -> Record:
        """Stores a take; returns its record with `content` filled in.

        `before_write` is called with that record before the take is written, to store further data
        of the take; if it fails, there is no take. Raises StorageError.
        """
        record, flac_bytes, state_bytes = _encode(record, samples, state)
        before_write(record)
        return self._write_take(record, flac_bytes, state_bytes)

    def _write_take(self, record: Record, flac_bytes: bytes, state: bytes) -> Record:
        """Writes a take's file and its row in the journal. Raises StorageError."""
        path, take_bytes = self._path(record.key), _pack(record, flac_bytes, state)
        with files.translating_errors(path):
            stat = files.write(path, take_bytes)
            entry = _JournalEntry(
                record, keys.content_of(take_bytes), stat.st_size, stat.st_mtime_ns
            )
            with self._mutex:
                self._entries[record.key] = entry
                self._flags.pop(record.key, None)
                self._damaged_keys.discard(record.key)
                self.uncompared.add(record.key)
                self._journal.append(_take_row(entry))
        return record

    def mark_compared(self, take_keys: Iterable[str]) -> None:
        """Notes that a render compared takes with their speakers' others. Raises StorageError."""
        with self._mutex, files.translating_errors(self.root):
            compared = sorted(self.uncompared.intersection(take_keys))
            if compared:
                self.uncompared.difference_update(compared)
                self._journal.append({"compared": compared})

    def put_try(
        self,
        record: Record,
        samples: NDArray[np.float32],
        state: NDArray[Any] | None = None,
    ) -> tuple[int, Record]:
        """Stores a try that did not become a take, by the key of its step; returns its number, from
        1, and its record with `content` filled in.

        The same answer, asked for again after a kill, has the number it had. Raises StorageError.
        """
        record, flac_bytes, state_bytes = _encode(record, samples, state)
        return self._write_try(record, flac_bytes, state_bytes), record

    def _write_try(self, record: Record, flac_bytes: bytes, state: bytes) -> int:
        with self._mutex:
            tries = self.tries(record.key)
            numbers = [n for n, other in tries.items() if _is_same_answer(other, record)]
            number = min(numbers, default=1 + max(self._try_numbers(record.key), default=0))
            path = self._try_path(record.key, number)
            with files.translating_errors(path):
                files.write(path, _pack(record, flac_bytes, state))
        return number

    def reject(self, key: str, faults: tuple[str, ...]) -> int:
        """Turns a take that proves bad into a try; returns its number. Raises DamagedTake,
        StorageError."""
        record, flac_bytes, state = self._read_take(key)
        number = self._write_try(replace(record, faults=faults), flac_bytes, state)
        with self._mutex, files.translating_errors(self._path(key)):
            self._path(key).unlink()
            self._entries.pop(key, None)
        return number

    def settle(
        self,
        key: str,
        number: int,
        *,
        tries: int,
        wall: float,
        before_write: Callable[[Record], None] = lambda record: None,
    ) -> Record:
        """Makes a try, with its faults, the take of its step; it also stays a try.

        `tries` and `wall` are the step's, for its record; `before_write` as in `put`. Raises
        DamagedTake, StorageError.
        """
        record, flac_bytes, state = self._read_try(key, number)
        record = replace(record, tries=tries, wall=wall)
        before_write(record)
        return self._write_take(record, flac_bytes, state)

    def mark(self, key: str, faults: tuple[str, ...]) -> Record:
        """Replaces the faults of a take. Raises DamagedTake, StorageError."""
        record, flac_bytes, state = self._read_take(key)
        return self._write_take(replace(record, faults=faults), flac_bytes, state)

    def mark_try(self, key: str, number: int, faults: tuple[str, ...]) -> None:
        """Replaces the faults of a try. Raises DamagedTake, StorageError."""
        record, flac_bytes, state = self._read_try(key, number)
        path = self._try_path(key, number)
        with files.translating_errors(path):
            files.write(path, _pack(replace(record, faults=faults), flac_bytes, state))

    def tries(self, key: str) -> dict[int, Record]:
        """Returns the stored tries of a step, by number; damaged ones are left out."""
        records: dict[int, Record] = {}
        for number in sorted(self._try_numbers(key)):
            try:
                records[number] = self._read_try(key, number)[0]
            except DamagedTake as error:
                files.log.warning("try %d is left out: %s", number, error)
        return records

    def read_try(self, key: str, number: int) -> tuple[NDArray[np.float32], int]:
        """Returns samples and rate of a try. Raises DamagedTake, also for a missing try."""
        return audio.decode_flac(self._read_try(key, number)[1])

    def _read_try(self, key: str, number: int) -> tuple[Record, bytes, bytes]:
        try:
            return _unpack(key, self._try_path(key, number).read_bytes())
        except OSError as error:
            raise DamagedTake(f"try {number} of {key}: {error.strerror}") from None

    def damaged_tries(self) -> Iterator[Path]:
        """Yields the files of torn or altered tries, by name; reads every byte."""
        for path in sorted(self.root.glob("??/*.try")):
            try:
                _unpack(path.name.split(".")[0], path.read_bytes())
            except FileNotFoundError:
                continue
            except (DamagedTake, OSError):
                yield path

    def _try_path(self, key: str, number: int) -> Path:
        return self.root / key[:2] / f"{key}.{number}.try"

    def _try_numbers(self, key: str) -> list[int]:
        try_paths = (self.root / key[:2]).glob(f"{key}.*.try")
        return [int(n) for path in try_paths if (n := path.name.split(".")[1]).isdecimal()]

    # -- pins --------------------------------------------------------------------------------------

    def pins(self) -> dict[str, Pin]:
        """Returns the pins by place. Raises StorageError if the file cannot be read."""
        pins = files.load_work(
            self._pins,
            list[Pin],
            [],
            title="a list of pins",
            remedy="mend it, and leave in it only what stands after `value`, or delete it, then "
            "pin again",
        )
        return {pin.place: pin for pin in pins}

    def pin(self, pin: Pin) -> None:
        """Pins a try, or with number 0 the take itself, to its place in the book.

        Raises DamagedTake where it is missing, StorageError.
        """
        stored_try = (
            self._read_take(pin.step) if pin.number == 0 else self._read_try(pin.step, pin.number)
        )
        record, flac_bytes, state = stored_try
        # A pinned take counts whatever prompted it.
        record = replace(record, key=pin.take, prompted_by=None, voiced_by=None)
        self._write_take(record, flac_bytes, state)
        self._save_pins({**self.pins(), pin.place: pin})

    def unpin(self, places: Iterable[str]) -> None:
        """Removes pins. Raises StorageError."""
        unwanted = set(places)
        remaining_pins = {place: pin for place, pin in self.pins().items() if place not in unwanted}
        self._save_pins(remaining_pins)

    def _save_pins(self, pins: Mapping[str, Pin]) -> None:
        rows = [asdict(pin) for pin in pins.values()]
        files.save_json(self._pins, rows)

    @property
    def _pins(self) -> Path:
        return self.root / PINS

    # -- giving up ---------------------------------------------------------------------------------

    def give_up(self, flag: Flag) -> None:
        """Records that a step has no usable take. Raises StorageError."""
        with self._mutex, files.translating_errors(self.root):
            self._flags[flag.key] = flag
            self._journal.append(_flag_row(flag))

    def remove(self, take_keys: Iterable[str]) -> int:
        """Deletes takes; returns the bytes freed. Raises StorageError."""
        freed = 0
        with files.translating_errors(self.root):
            for key in take_keys:
                tries = (self._try_path(key, number) for number in self._try_numbers(key))
                for path in (self._path(key), *tries):
                    with contextlib.suppress(FileNotFoundError):
                        size = path.stat().st_size
                        path.unlink()
                        freed += size
                self._entries.pop(key, None)
            self._rewrite_journal()
        self.transcripts.retain({entry.record.content for entry in self._entries.values()})
        return freed

    # -- inside ------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.take"

    def _read_take(self, key: str) -> tuple[Record, bytes, bytes]:
        """Returns a take's record, FLAC and state, checked against the journal.

        Raises DamagedTake, also for a missing take.
        """
        try:
            take_bytes = self._path(key).read_bytes()
        except OSError as error:
            if error.errno == errno.EIO:  # a bad sector: a new take will lie elsewhere
                self._note_damage(key)
            raise DamagedTake(f"take {key}: {error.strerror}") from None
        entry = self._entries.get(key)
        try:
            if entry and keys.content_of(take_bytes) != entry.sha256:
                raise DamagedTake(f"take {key} is not what was stored")
            record, flac_bytes, state = _unpack(key, take_bytes)
        except DamagedTake:
            self._note_damage(key)
            raise
        if entry and not _is_same_record(record, entry.record):
            # the caller may have used the journal's figures: bounds, loudness
            with self._mutex:
                self._entries.pop(key)
                self._mismatches += 1
            raise DamagedTake(
                f"the journal's row of take {key} is not what the take says of itself"
            )
        return record, flac_bytes, state

    def _note_damage(self, key: str) -> None:
        with self._mutex:
            self._entries.pop(key, None)
            self._damaged_keys.add(key)
            if key not in self.damaged:
                self.damaged.append(key)

    def _read_journal(self) -> None:
        """Reads the new rows. Raises OSError."""
        for line in self._journal.read():
            try:
                self._apply_row(json.loads(line))
            except _ROW_ERRORS:  # written by a later version
                self._mismatches += 1

    def _apply_row(self, row: Mapping[str, Any]) -> None:
        """Updates the flags or the entries by a row of the journal; raises one of `_ROW_ERRORS`."""
        if "flag" in row:
            flag = Flag(row["flag"], tuple(row["faults"]), row["attempts"])
            self._flags[flag.key] = flag
            return
        if "compared" in row:
            self.uncompared.difference_update(row["compared"])
            return
        record = _parse_record(row["record"])
        entry = _JournalEntry(record, row["sha256"], row["size"], row["mtime"])
        self._entries[record.key] = entry
        self._flags.pop(record.key, None)
        self._damaged_keys.discard(record.key)
        if record.voice and not row.get("is_compared"):  # earlier versions measured no voices
            self.uncompared.add(record.key)

    def _rewrite_journal(self) -> None:
        rows: list[Mapping[str, Any]] = [self._row(entry) for entry in self._entries.values()]
        rows += [_flag_row(flag) for flag in self._flags.values()]
        self._mismatches += self._journal.damaged
        self._journal.rewrite(files.sealed_row(row)[:-1] for row in rows)

    def _row(self, entry: _JournalEntry) -> dict[str, Any]:
        """Returns the row of a take that is not new."""
        is_compared = bool(entry.record.voice) and entry.record.key not in self.uncompared
        return {**_take_row(entry), **({"is_compared": True} if is_compared else {})}


# -- rows ------------------------------------------------------------------------------------------

_ROW_ERRORS = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""Errors raised by reading a malformed row."""
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)


_RECORD_FIELDS = frozenset(record_field.name for record_field in fields(Record))


def _parse_record(row: Mapping[str, Any]) -> Record:
    """Returns a record without the fields that later versions added."""
    known_fields = {name: row[name] for name in row.keys() & _RECORD_FIELDS}
    return Record(**{**known_fields, "faults": tuple(row["faults"])})


def _record_row(record: Record) -> dict[str, Any]:
    """Returns the fields of a record. A score only where there is one: versions before 0.2.0 know
    none, and would take the whole record for damaged."""
    row = asdict(record)
    if not record.score:
        del row["score"]
    return row


def _take_row(entry: _JournalEntry) -> dict[str, Any]:
    return {
        "record": _record_row(entry.record),
        "sha256": entry.sha256,
        "size": entry.size,
        "mtime": entry.mtime_ns,
    }


def _flag_row(flag: Flag) -> dict[str, Any]:
    return {
        "flag": flag.key,
        "faults": list(flag.faults),
        "attempts": flag.attempts,
    }


def _is_same_record(first: Record, second: Record) -> bool:
    """Returns whether two records are equal once written."""
    return first == second or keys.seal(asdict(first)) == keys.seal(asdict(second))


def _is_same_answer(first: Record, second: Record) -> bool:
    """Returns whether two tries are one answer to one request; their verdicts may differ."""

    def origin(record: Record) -> tuple[object, ...]:
        request = record.text, record.seed, record.attempt, record.parameters, record.prompted_by
        return record.content, *request

    return origin(first) == origin(second)


def _encode(
    record: Record, samples: NDArray[np.float32], state: NDArray[Any] | None
) -> tuple[Record, bytes, bytes]:
    """Returns the record with its content hash, the sound as FLAC, and the state as npy (empty if
    there is none)."""
    buffer = io.BytesIO()
    if state is not None:
        np.save(buffer, state, allow_pickle=False)
    flac_bytes = audio.encode_flac(samples, record.sample_rate)
    content = keys.content(flac_bytes, buffer.getvalue())
    return replace(record, content=content), flac_bytes, buffer.getvalue()


def _pack(record: Record, flac_bytes: bytes, state: bytes) -> bytes:
    """Returns the file of a take or try: equal takes are equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (
            ("record.json", json.dumps(_record_row(record), ensure_ascii=False, indent=1).encode()),
            ("audio.flac", flac_bytes),
            ("latents.npy", state),
        ):
            if content:
                archive.writestr(zipfile.ZipInfo(name, _FIXED_DATE), content)
    return buffer.getvalue()


def _unpack(key: str, take_bytes: bytes) -> tuple[Record, bytes, bytes]:
    """Returns the record, FLAC and state of a take's or try's file. Raises DamagedTake."""
    try:
        with zipfile.ZipFile(io.BytesIO(take_bytes)) as archive:
            if take_bytes[-22:-18] != b"PK\x05\x06":  # its last record, which no comment follows
                raise zipfile.BadZipFile("there are bytes after its end")
            # never decompressed: data that a flipped bit declares compressed raises any error
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                raise zipfile.BadZipFile("compressed")
            record = _parse_record(json.loads(archive.read("record.json")))
            flac_bytes = archive.read("audio.flac")
            state = archive.read("latents.npy") if "latents.npy" in archive.namelist() else b""
    # RuntimeError: encrypted, or written by a later version
    except (zipfile.BadZipFile, EOFError, RuntimeError, *_ROW_ERRORS) as error:
        raise DamagedTake(f"take {key}: {error}") from None
    if record.key != key or keys.content(flac_bytes, state) != record.content:
        raise DamagedTake(f"take {key} is not what was stored")
    return record, flac_bytes, state
