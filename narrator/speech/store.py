"""Takes on disk, addressed by content: get, put, pin, drop, gc.

A take is one file, `ab/abcdef….take`: a zip archive, stored, of `record.json`, `audio.flac` and,
where the engine has a state, `latents.npy`. It is written beside its goal, synced and renamed, so a
take is whole or absent. `journal.jsonl` remembers what was put, with the file's hash, size and
time, so that a plan need not open any take; its rows are sealed, it only grows, and it can be lost:
what it does not know for certain is read from the takes again. Tries that failed their checks lie
beside the takes as `abcdef….N.try`, in the same format, and never count as takes. `pins.json` holds
what authors chose by hand. Knows nothing of plans, engines, chapters.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from narrator import files, keys
from narrator.errors import DamagedTake, StorageError
from narrator.sound import audio, timing
from narrator.sound.timing import WordTimes
from narrator.speech.hearing.kept import HEARD, Hearings

JOURNAL, PINS = "journal.jsonl", "pins.json"
"""Files of a store that change with its takes, and with what is pinned."""


@dataclass(frozen=True, slots=True)
class Record:
    """How a take came about, and what its sound measures."""

    key: str
    content: str
    """Hash of samples and state, as stored: what a child's `prompted_by` holds."""
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
    """How often the chunk was spoken for this take, all its parts and bad tries counted."""
    mode: str = ""
    """What the engine was given: zero-shot, reference, anchored or continuation."""
    seed: int = 0
    """The manifest's, or the one that was asked for."""
    noise: int = 0
    """What the engine drew its noise from: seed, text and attempt."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The engine's: steps, cfg …"""
    halves: int = 1
    """How many parts it was rendered in."""
    prompted_by: str | None = None
    """Content hash of the take that it continued."""
    voiced_by: str | None = None
    """Content hash of the voice's reference."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What the checks measured."""
    faults: tuple[str, ...] = ()
    """What the checks found: of a try that failed, or of a take that is the least bad of them."""
    engine: str = ""
    text: str = ""
    """Spoken text."""
    prompt_text: str = ""
    """What the state says, where that is not the whole text: a halved take keeps its last half."""
    prompt_seconds: float = 0.0
    """Of sound that the state holds."""
    wall: float = 0.0
    """Seconds from its request to its samples."""
    words: str = ""
    """When each word of its text is said, where the engine knows: see `timing.packed`."""

    @property
    def seconds(self) -> float:
        """Of speech, from its first sample to its last."""
        return (self.stop - self.start) / self.sample_rate

    @property
    def room(self) -> tuple[float, float]:
        """Seconds of quiet within its bounds, before its first and after its last sound."""
        return audio.room((self.start, self.stop), self.samples)


@dataclass(frozen=True, slots=True)
class _Stored:
    record: Record
    sha256: str
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A step that was given up, and why; the next render tries it again."""

    key: str
    faults: tuple[str, ...]
    attempts: int = 0
    """Attempts that have had their noise: the next run begins after them."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A try that an author chose for a place in the book."""

    place: str
    """`Step.place`: engine, speaker, spoken text and what is said before it."""
    take: str
    """Key of the take that holds its sound."""
    step: str
    """Key of the step that it was a try of."""
    number: int
    """Of the try."""
    chunk: str
    """The chunk's id when it was pinned, for people."""
    speaker: str
    text: str
    """Spoken text."""
    words: str = ""
    """`Step.words`: the place of what is said once."""
    engine: str = ""
    """What spoke it."""
    manifest: str = ""
    """Name of the manifest's file that it was pinned in."""


@dataclass(slots=True)
class Store:
    """Takes under one folder. One writer at a time (the project's lock); readers at any time."""

    root: Path
    heard: Hearings = field(init=False)
    """What was heard in its takes."""
    damaged: list[str] = field(default_factory=list)
    """Keys of takes that were found torn or altered, and dropped, since this store was opened."""
    misled: int = 0
    """Rows of the journal that were torn or altered, or disagreed with their take: what they said
    is read from the takes again."""
    _entries: dict[str, _Stored] = field(default_factory=dict)
    _flags: dict[str, Flag] = field(default_factory=dict)
    _writing: bool = False
    _known: tuple[int, int] = (0, 0)
    """The journal's inode, and its bytes that were read."""
    _bad: set[str] = field(default_factory=set)
    """Damaged, and not put again since."""
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.heard = Hearings(self.root / HEARD)

    # -- reading -----------------------------------------------------------------------------------

    @classmethod
    def open(cls, root: Path, *, writing: bool = False) -> Store:
        """Read the journal; with `writing`, also clear what a killed writer left half done.

        Raises StorageError where the folder cannot be made or read.
        """
        store = cls(root, _writing=writing)
        with files.storage(root):
            if writing:
                root.mkdir(parents=True, exist_ok=True)
                for folder in (root, *root.glob("??")):
                    files.sweep(folder)
            if not store._read_journal() and writing:
                store._rewrite_journal()
        return store

    def find(self, key: str) -> Record | None:
        """The record of a take that is there and whole, or None.

        A file whose size or time is not the journal's is read again, and what it says of itself
        counts: the journal may have lost the row of a take that was put anew. One that is torn or
        altered is noted in `damaged` and counts as missing. Raises StorageError.
        """
        if key in self._bad:
            return None
        name = f"{self.root}/{key[:2]}/{key}.take"
        try:
            stat = os.stat(name)  # noqa: PTH116  # a path of pathlib's takes four times as long
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{name}: {files.reason(error)}") from error
        entry = self._entries.get(key)
        if entry and (stat.st_size, stat.st_mtime_ns) == (entry.size, entry.mtime):
            return entry.record
        with files.storage(self._path(key)):
            return self._read_anew(key, stat)

    def _read_anew(self, key: str, stat: os.stat_result) -> Record | None:
        """The record of a take of which the journal says something else, or nothing."""
        try:
            data = self._path(key).read_bytes()
            record = _unpack(key, data)[0]
        except DamagedTake:
            self._note_damage(key)
            return None
        entry = _Stored(record, keys.content_of(data), stat.st_size, stat.st_mtime_ns)
        with self._mutex, files.storage(self._journal):
            self._entries[key] = entry
            if self._writing:  # a store that was copied is read through once, not at every run
                self._append(_take_row(entry))
        return record

    def refresh(self) -> None:
        """Take in what somebody else has written since. Raises StorageError."""
        with files.storage(self._journal):
            self._read_journal()

    def read(self, key: str) -> tuple[NDArray[np.float32], int]:
        """Samples, mono float32, and their rate. Raises DamagedTake, also where there is none."""
        record, sound, _ = self._open(key)
        samples, rate = audio.decode(sound)
        if rate != record.sample_rate or len(samples) != record.samples:
            self._note_damage(key)
            raise DamagedTake(f"take {key}: {len(samples)} samples, not {record.samples}")
        return samples, rate

    def state(self, key: str) -> NDArray[Any] | None:
        """What its engine keeps of a take to go on from it. Raises DamagedTake."""
        state = self._open(key)[2]
        return None if state is None else np.load(io.BytesIO(state), allow_pickle=False)

    def is_whole(self, key: str) -> bool:
        """Whether every byte of a take is what was stored; one that is not is noted in
        `damaged`."""
        try:
            self._open(key)
        except DamagedTake:
            return False
        return True

    def flag(self, key: str) -> Flag | None:
        """Why a step was given up, if it was since it last had a good take."""
        return self._flags.get(key)

    def word_times(self, take: Record, text: str) -> WordTimes | None:
        """The most exact times of a take's words: its engine's own, which are part of the take,
        else what listeners found; None where there are none. Raises StorageError."""
        return self.engine_times(take, text) or self.heard.best(take.content, text)

    def engine_times(self, take: Record, text: str) -> WordTimes | None:
        """When a take says its words, as its engine knows; None where that knows nothing."""
        if take.words and take.text == text:
            return WordTimes(take.engine, timing.unpacked(take.words))
        return self.heard.told(take.content, text)  # of takes from before they held it

    def is_timed(self, take: Record, text: str) -> bool:
        """Whether somebody timed the words of a take, even if they could not be found."""
        return bool(take.words) or self.heard.is_timed(take.content, text)

    def stored(self) -> Iterator[tuple[str, int]]:
        """Every take on disk and its size in bytes, in no order."""
        for path in self.root.glob("??/*.take"):
            with contextlib.suppress(FileNotFoundError):
                yield path.stem, path.stat().st_size

    def tried(self) -> dict[str, int]:
        """Bytes of the tries on disk, by their step's key."""
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
        before: Callable[[Record], None] = lambda record: None,
    ) -> Record:
        """Store a take; returns its record with `content` filled in.

        `before` keeps what else is known of the take, and is called with that record before the
        take is written: what fails there leaves no take. Raises StorageError.
        """
        sound, packed = _parts(samples, record.sample_rate, state)
        record = replace(record, content=keys.content(sound, packed))
        before(record)
        return self._keep(record, _pack(record, sound, packed))

    def _keep(self, record: Record, data: bytes) -> Record:
        path = self._path(record.key)
        with files.storage(path):
            stat = files.write(path, data)
            entry = _Stored(record, keys.content_of(data), stat.st_size, stat.st_mtime_ns)
            with self._mutex:
                self._entries[record.key] = entry
                self._flags.pop(record.key, None)
                self._bad.discard(record.key)
                self._append(_take_row(entry))
        return record

    def put_try(
        self,
        record: Record,
        samples: NDArray[np.float32],
        state: NDArray[Any] | None = None,
    ) -> int:
        """Keep a try that is no take, under its step's key; returns its number, from 1.

        Raises StorageError.
        """
        sound, packed = _parts(samples, record.sample_rate, state)
        record = replace(record, content=keys.content(sound, packed))
        with self._mutex:
            number = 1 + max(self._try_numbers(record.key), default=0)
            path = self._try_path(record.key, number)
            with files.storage(path):
                files.write(path, _pack(record, sound, packed))
        return number

    def reject(self, key: str, faults: tuple[str, ...]) -> int:
        """A take that proves bad becomes a try; returns its number. Raises DamagedTake,
        StorageError."""
        record, sound, state = self._open(key)
        record = replace(record, faults=faults)
        with self._mutex:
            number = 1 + max(self._try_numbers(key), default=0)
            path = self._try_path(key, number)
            with files.storage(path):
                files.write(path, _pack(record, sound, state or b""))
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
        before: Callable[[Record], None] = lambda record: None,
    ) -> Record:
        """A try, the least bad one, becomes its step's take with its faults, and stays a try too.

        `tries` and `wall` are the step's, for its record; `before` as in `put`. Raises DamagedTake,
        StorageError.
        """
        record, sound, state = self._read_try(key, number)
        record = replace(record, tries=tries, wall=wall)
        before(record)
        return self._keep(record, _pack(record, sound, state or b""))

    def mark(self, key: str, faults: tuple[str, ...]) -> Record:
        """A take with other faults, found since. Raises DamagedTake, StorageError."""
        record, sound, state = self._open(key)
        record = replace(record, faults=faults)
        return self._keep(record, _pack(record, sound, state or b""))

    def tries(self, key: str) -> dict[int, Record]:
        """Tries of a step that are no takes, by number; damaged ones are left out."""
        found: dict[int, Record] = {}
        for number in sorted(self._try_numbers(key)):
            try:
                found[number] = self._read_try(key, number)[0]
            except DamagedTake as error:
                files.log.warning("try %d is left out: %s", number, error)
        return found

    def read_try(self, key: str, number: int) -> tuple[NDArray[np.float32], int]:
        """Samples and rate of a try. Raises DamagedTake, also where there is none."""
        return audio.decode(self._read_try(key, number)[1])

    def _read_try(self, key: str, number: int) -> tuple[Record, bytes, bytes | None]:
        try:
            return _unpack(key, self._try_path(key, number).read_bytes())
        except OSError as error:
            raise DamagedTake(f"try {number} of {key}: {error.strerror}") from None

    def damaged_tries(self) -> Iterator[Path]:
        """The files of tries that are torn or altered, by name: every byte is read."""
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
        found = (self.root / key[:2]).glob(f"{key}.*.try")
        return [int(n) for path in found if (n := path.name.split(".")[1]).isdecimal()]

    # -- pins --------------------------------------------------------------------------------------

    def pins(self) -> dict[str, Pin]:
        """Pins by place. Raises StorageError where the file is there and cannot be read."""
        try:
            return {pin.place: pin for pin in _pins(files.read_json(self._pins))}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StorageError(f"{self._pins}: {error.strerror}") from None
        except files.Altered as error:
            raise StorageError(
                f"{self._pins}: not a list of pins ({error}); delete it, then pin again, or leave "
                "in it only what stands after `value`, if that is right"
            ) from None
        except _NONSENSE as error:
            raise StorageError(
                f"{self._pins}: not a list of pins ({error}); mend it or delete it, then pin again"
            ) from None

    def pin(self, pin: Pin) -> None:
        """Make a try, or with number 0 the take itself, what its place in the book sounds like.

        Raises DamagedTake where there is none, StorageError.
        """
        parts = self._open(pin.step) if pin.number == 0 else self._read_try(pin.step, pin.number)
        record, sound, state = parts
        # What prompted it no longer matters: it is kept for its own sake.
        record = replace(record, key=pin.take, prompted_by=None, voiced_by=None)
        self._keep(record, _pack(record, sound, state or b""))
        self._save_pins({**self.pins(), pin.place: pin})

    def unpin(self, places: Iterable[str]) -> None:
        """Forget pins. Raises StorageError."""
        unwanted = set(places)
        kept = {place: pin for place, pin in self.pins().items() if place not in unwanted}
        self._save_pins(kept)

    def _save_pins(self, pins: Mapping[str, Pin]) -> None:
        rows = [asdict(pin) for pin in pins.values()]
        files.save_json(self._pins, rows)

    @property
    def _pins(self) -> Path:
        return self.root / PINS

    # -- giving up ---------------------------------------------------------------------------------

    def give_up(self, flag: Flag) -> None:
        """Note that a step has no good take. Raises StorageError."""
        with self._mutex, files.storage(self.root):
            self._flags[flag.key] = flag
            self._append(_flag_row(flag))

    def remove(self, unwanted: Iterable[str]) -> int:
        """Delete takes; returns the bytes freed. Raises StorageError."""
        freed = 0
        with files.storage(self.root):
            for key in unwanted:
                path = self._path(key)
                if path.exists():
                    freed += path.stat().st_size
                    path.unlink()
                freed += self.remove_tries(key)
                self._entries.pop(key, None)
            self._rewrite_journal()
        self.heard.retain({entry.record.content for entry in self._entries.values()})
        return freed

    def remove_tries(self, key: str) -> int:
        """Delete the tries of a step; returns the bytes freed. Raises StorageError."""
        freed = 0
        with files.storage(self.root):
            for number in self._try_numbers(key):
                path = self._try_path(key, number)
                freed += path.stat().st_size
                path.unlink()
        return freed

    # -- inside ------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.take"

    @property
    def _journal(self) -> Path:
        return self.root / JOURNAL

    def _open(self, key: str) -> tuple[Record, bytes, bytes | None]:
        try:
            data = self._path(key).read_bytes()
        except OSError as error:
            if error.errno == errno.EIO:  # a bad place on the disk: spoken again, it lies elsewhere
                self._note_damage(key)
            raise DamagedTake(f"take {key}: {error.strerror}") from None
        entry = self._entries.get(key)
        try:
            if entry and keys.content_of(data) != entry.sha256:
                raise DamagedTake(f"take {key} is not what was stored")
            record, sound, state = _unpack(key, data)
        except DamagedTake:
            self._note_damage(key)
            raise
        if entry and not _alike(
            record, entry.record
        ):  # where it is cut and how loud it is was taken from it
            with self._mutex:
                self._entries.pop(key)
                self.misled += 1
            raise DamagedTake(
                f"the journal's row of take {key} is not what the take says of itself"
            )
        return record, sound, state

    def _note_damage(self, key: str) -> None:
        with self._mutex:
            self._entries.pop(key, None)
            self._bad.add(key)
            if key not in self.damaged:
                self.damaged.append(key)

    def _append(self, row: Mapping[str, Any]) -> None:
        """Add a row. Raises OSError."""
        files.append(self._journal, files.sealed_row(row))

    def _read_journal(self) -> bool:
        """Whether every row is whole and sealed, and so the file as it should be; of rows that were
        read before, nothing."""
        try:
            with self._journal.open("rb") as file:
                stat = os.fstat(file.fileno())
                begin = self._known if self._known[0] == stat.st_ino else (stat.st_ino, 0)
                if stat.st_size < begin[1]:
                    begin = stat.st_ino, 0
                file.seek(begin[1])
                data = file.read()
        except FileNotFoundError:
            return True
        whole = data.rfind(b"\n") + 1  # a killed writer's torn tail is nothing to speak of
        good = whole == len(data)
        self._known = begin[0], begin[1] + whole
        for line in data[:whole].splitlines():
            try:
                good &= self._read_row(json.loads(line), files.is_sealed_row(line))
            except _NONSENSE:
                self.misled, good = self.misled + 1, False
        return good

    def _read_row(self, row: Mapping[str, Any], sealed: bool) -> bool:
        """Take a row in; returns `sealed`. Raises one of `_NONSENSE`.

        Of a take's row from before there were seals nothing is believed: the take is read again.
        """
        if not sealed and row.keys() not in _UNSEALED:
            raise ValueError("altered")
        if "flag" in row:
            faults, attempts = row["faults"], row.get("attempts", 0)
            flag = _checked(Flag(row["flag"], tuple(faults), attempts))
            self._flags[flag.key] = flag
            return sealed
        record = _record(row["record"])
        entry = _checked(_Stored(record, row["sha256"], row["size"], row["mtime"]))
        self._flags.pop(record.key, None)
        self._bad.discard(record.key)
        self._entries.pop(record.key, None)
        if sealed:
            self._entries[record.key] = entry
        return sealed

    def _rewrite_journal(self) -> None:
        rows: list[Mapping[str, Any]] = [_take_row(entry) for entry in self._entries.values()]
        rows += [_flag_row(flag) for flag in self._flags.values()]
        files.write(self._journal, b"".join(map(files.sealed_row, rows)))


# -- rows ------------------------------------------------------------------------------------------

_NONSENSE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a row raises that holds something else than it should."""
_KEY = re.compile("[0-9a-f]{40}")
_WORDS = re.compile(r"(?:\d+ \d+ -?\d+ -?\d+;)*\d+ \d+ -?\d+ -?\d+", re.ASCII)
_Row = TypeVar("_Row", Record, _Stored, Flag, Pin)


_TAKE_ROW = frozenset(("record", "sha256", "size", "mtime"))
_FLAG_ROW = frozenset(("flag", "faults"))
_UNSEALED = (
    _TAKE_ROW,
    *(_FLAG_ROW | more for more in (set(), {"best"}, {"attempts"}, {"best", "attempts"})),
)
"""What rows held before they were sealed."""
_NUMBERS = frozenset((int, float))  # and no bool

_FITS: Mapping[str, Callable[[Any], bool]] = {
    "str": lambda value: type(value) is str,
    "str | None": lambda value: value is None or type(value) is str,
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in _NUMBERS,
    "tuple[str, ...]": lambda value: {str}.issuperset(map(type, value)),
    "Mapping[str, float]": lambda value: _NUMBERS.issuperset(map(type, value.values())),
    "Mapping[str, Any]": lambda value: type(value) is dict,
    "Record": lambda value: type(value) is Record,
}
"""By a field's annotation, whether a value from JSON is one."""


_FIELDS: Mapping[type[object], Sequence[tuple[str, Callable[[Any], bool]]]] = {
    kind: [(item.name, _FITS[str(item.type)]) for item in fields(kind)]
    for kind in (Record, _Stored, Flag, Pin)
}


def _checked(row: _Row) -> _Row:
    """A row whose fields hold what they should. Raises one of `_NONSENSE`."""
    for name, fits in _FIELDS[type(row)]:
        if not fits(getattr(row, name)):
            raise TypeError(f"{name} is of the wrong type")
    return row


def _record(row: Mapping[str, Any]) -> Record:
    record = _checked(Record(**{**row, "faults": tuple(row.get("faults", ()))}))
    if record.sample_rate <= 0:
        raise ValueError("no sample rate")
    if record.words and not _WORDS.fullmatch(record.words):
        raise ValueError("no word times")
    return record


def _pins(rows: object) -> Iterator[Pin]:
    if not isinstance(rows, list):
        raise TypeError("no list")
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError("a row that is no object")
        pin = _checked(Pin(**row))
        if not (_KEY.fullmatch(pin.take) and _KEY.fullmatch(pin.step)):
            raise ValueError(f"chunk {pin.chunk}: no key of a take")
        yield pin


def _take_row(entry: _Stored) -> dict[str, Any]:
    return {
        "record": asdict(entry.record),
        "sha256": entry.sha256,
        "size": entry.size,
        "mtime": entry.mtime,
    }


def _flag_row(flag: Flag) -> dict[str, Any]:
    return {
        "flag": flag.key,
        "faults": list(flag.faults),
        "attempts": flag.attempts,
    }


def _alike(one: Record, other: Record) -> bool:
    """Whether two records are the same when they are written."""
    return one == other or keys.seal(asdict(one)) == keys.seal(asdict(other))


def _parts(
    samples: NDArray[np.float32], rate: int, state: NDArray[Any] | None
) -> tuple[bytes, bytes]:
    """Sound as FLAC, state as npy or nothing."""
    packed = b""
    if state is not None:
        buffer = io.BytesIO()
        np.save(buffer, state, allow_pickle=False)
        packed = buffer.getvalue()
    return audio.encode(samples, rate), packed


def _pack(record: Record, sound: bytes, state: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (
            ("record.json", json.dumps(asdict(record), ensure_ascii=False, indent=1).encode()),
            ("audio.flac", sound),
            ("latents.npy", state),
        ):
            if data:  # a fixed date: equal takes are equal bytes
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return buffer.getvalue()


def _unpack(key: str, data: bytes) -> tuple[Record, bytes, bytes | None]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if data[-22:-18] != b"PK\x05\x06":  # its last record, which no comment follows
                raise zipfile.BadZipFile("there are bytes after its end")
            # never unpacked: what a flipped bit calls compressed fails in as many ways as there are
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                raise zipfile.BadZipFile("compressed")
            record = _record(json.loads(archive.read("record.json")))
            sound = archive.read("audio.flac")
            state = archive.read("latents.npy") if "latents.npy" in archive.namelist() else b""
    # RuntimeError: encrypted, or of a version to come
    except (zipfile.BadZipFile, EOFError, RuntimeError, *_NONSENSE) as error:
        raise DamagedTake(f"take {key}: {error}") from None
    if record.key != key or keys.content(sound, state) != record.content:
        raise DamagedTake(f"take {key} is not what was stored")
    return record, sound, state or None
