"""Holds the current snapshot of the book, shared by all requests until something changes.

The text is read and planned in the main thread, where a user's slow patterns can be stopped, one
task at a time; everything else queries the last reading, from any thread. The book is read again
when a file of the project changes, or a job says so. Knows nothing of requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TypedDict, TypeVar

from narrator import files
from narrator.delivery import finish, layout
from narrator.delivery.export import Encoded
from narrator.delivery.folders import Folders
from narrator.delivery.layout import BookSound
from narrator.errors import DamagedTake, EngineUnavailable, NarratorError
from narrator.pipeline import book_engines, book_plan, edits, pickups, reviews
from narrator.pipeline.book_engines import BookEngines
from narrator.pipeline.book_plan import BookPlan, PlanCaches, Selection
from narrator.pipeline.manuscript import Manuscript, Readings, read_manuscript
from narrator.pipeline.pickups import Pickup
from narrator.project import load
from narrator.project.other_engine import chosen_engine
from narrator.project.project import Project
from narrator.sound.assemble import Timeline
from narrator.speech.plan import Step
from narrator.speech.store import JOURNAL, PINS, Store
from narrator.studio import chunk_states, quick_speech
from narrator.studio.chunk_states import RENDERED, ChunkState
from narrator.studio.events import Events
from narrator.studio.lengths import ChapterLengths
from narrator.studio.sounds import PLAYABLE_TYPES, FileBytes, TakeCache, TakesBytes
from narrator.text import speaker_files
from narrator.text.lines import Chapter
from narrator.text.memo import LastValues

_T = TypeVar("_T")
_Stamps = Mapping[Path, tuple[int, int] | None]

POLL_SECONDS = 1.0
"""Seconds between two checks of the project's files."""
_MIN_TAKES_AGE = 5.0
"""Seconds after which takes are checked again, if the journal changed without notice."""
_MAX_TAKES_AGE = 60.0
"""Seconds after which takes are checked again in any case: a file may have been removed."""
_MAX_CACHED_CLIPS = 60_000
"""Takes in all cached chapter sounds: a book of 20 hours has 15,000."""
_OTHER_SOUND = "the sound of this chapter has changed: load the chapter again"


class NotFound(Exception):
    """The requested object does not exist, or no longer does."""


@dataclass(frozen=True, slots=True)
class Notes:
    """People's notes on a book, and the edits that can be undone."""

    flags: Mapping[str, tuple[Pickup, ...]] = field(default_factory=dict)
    """Pickups by chunk."""
    reviewed: Mapping[str, str] = field(default_factory=dict)
    """Names of those who reviewed the takes of steps, empty where not known, by the steps' ids."""
    undo: str | None = None
    """Description of the edit that would be undone."""
    redo: str | None = None
    trouble: str = ""
    """The errors that kept some of the notes from being read."""


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """The book as it was read and planned at one moment."""

    version: int
    book: BookPlan
    book_sound: BookSound
    chapters: Mapping[int, tuple[Step, ...]]
    """Steps by chapter, counted from 0."""
    steps: Mapping[str, Step]
    """Steps by id."""
    available_voices: Mapping[str, object]
    notes: Notes
    trouble: str = ""
    """The error that keeps the project on disk from being read; this snapshot is an older one."""

    @property
    def project(self) -> Project:
        return self.book.project

    @property
    def draft(self) -> bool:
        """True if the draft voice speaks everything."""
        return all(engine.name == "draft" for engine in self.book.speaking)

    def step(self, name: str) -> Step:
        """A chunk by its id. Raises NotFound."""
        if name not in self.steps:
            raise NotFound("there is no such line any more: the text has changed")
        return self.steps[name]

    def number(self, name: str) -> int:
        """A chapter, counted from 0, by its number. Raises NotFound."""
        is_number = name.isascii() and name.isdecimal() and len(name) < 7
        index = int(name) - 1 if is_number else -1
        if not 0 <= index < len(self.book.chapters):
            raise NotFound("there is no such chapter")
        return index


@dataclass(frozen=True, slots=True)
class PlayedChapter:
    """The sound of a chapter."""

    kind: str
    """"mastered", "takes"."""
    bytes: FileBytes | TakesBytes
    timeline: Timeline
    gain: float
    """Additional gain of the takes, in dB."""
    clips: int = 0


class ProjectSession:
    """The current reading of the book, and the sound of its chapters."""

    def __init__(self, path: Path, events: Events) -> None:
        self.path, self.events = path, events
        self.engine = chosen_engine()
        """Name of the engine that replaces those of the manifest, or ""."""
        self.model_engine = "" if self.engine == "draft" else self.engine
        """The engine that is shown where the draft voice is not."""
        self.busy: str | None = None
        self._view: ProjectSnapshot | None = None
        self._manuscript: Manuscript | None = None
        self._readings = Readings()
        self._plan_caches = PlanCaches()
        self._engines: LastValues[BookEngines] = LastValues()
        # Stamps of files: of texts (a change reads the book again), of what decides the sound (a
        # change plans it again), of notes (a change reads them again). `refresh` compares them.
        self._text_stamps: _Stamps = {}
        self._sound_stamps: _Stamps = {}
        self._note_stamps: _Stamps = {}
        self._version = self._announced_version = 0
        self._sounds: OrderedDict[tuple[int, str], PlayedChapter] = OrderedDict()
        """By chapter and tag, the most recently heard last; the oldest are dropped. The sound under
        a tag never changes."""
        self._newest_sounds: dict[int, tuple[tuple[object, ...], str]] = {}
        """By chapter: the inputs of its sound, and its tag. Cleared by a new plan, and for one
        chapter by `forget_takes`."""
        self._chapter_takes: dict[int, tuple[Mapping[str, ChunkState], _Stamps, float]] = {}
        """Takes by chapter, with the journal's stamp and the time: cleared like `_newest_sounds`,
        and read again by age."""
        self._cache = TakeCache()
        self.lengths = ChapterLengths()
        self._store: Store | None = None
        self._mutex = threading.RLock()
        self._notes_lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def view(self) -> ProjectSnapshot:
        """The last reading."""
        assert self._view is not None  # the studio begins with one
        return self._view

    def scripts(self) -> LastValues[Chapter]:
        """Returns the chapters as they were read last, for others that read the same texts."""
        return self._readings.scripts.copy()

    # -- tasks in the main thread ------------------------------------------------------------------

    def set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Sets the main thread's event loop, which runs all tasks."""
        self._loop = loop

    async def run(self, description: str, action: Callable[[], _T]) -> _T:
        """Runs an action in the main thread, after earlier ones; pages show its description.

        Raises the errors of the action.
        """
        assert self._loop is not None

        async def run_action() -> _T:
            with self._busy_with(description):
                return action()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run_action(), self._loop))

    def schedule(self, description: str, action: Callable[[], None]) -> None:
        """Schedules an action in the main thread without waiting; from any thread."""
        assert self._loop is not None

        def run_action() -> None:
            with self._busy_with(description):
                action()

        with contextlib.suppress(RuntimeError):  # the studio has closed meanwhile
            self._loop.call_soon_threadsafe(run_action)

    @contextlib.contextmanager
    def _busy_with(self, description: str) -> Iterator[None]:
        """Shows pages the running task meanwhile."""
        self._send_busy(description)
        try:
            yield
        finally:
            self._send_busy(None)

    def _send_busy(self, description: str | None) -> None:
        self.busy = description
        self._announce()

    def refresh(self) -> None:
        """Reads again the files that have changed on disk; in the main thread."""
        view = self.view
        if _read_stamps(_text_files(view.project)) != self._text_stamps:
            with self._busy_with("reading the manuscript"):
                self.reread()
        elif _read_stamps(_sound_files(view.project)) != self._sound_stamps:
            self.replan()
        elif _read_stamps(_note_files(view.project)) != self._note_stamps:
            self.read_notes()

    def text_stamp(self) -> object:
        """Returns a stamp of the project's texts on disk, to detect changes."""
        return _read_stamps(_text_files(self.view.project))

    def reread(self) -> None:
        """Reads the project from disk; on an error the last reading stays and shows the error."""
        try:
            self.read()
        except NarratorError as error:
            self._text_stamps = _read_stamps(_text_files(self.view.project))
            self._show_error(error)

    def show_edit(self) -> bool:
        """Shows the texts of an edit, before `refresh` reads everything that depends on them.

        Takes and notes are shown as they were. Returns False if the texts cannot be read;
        `refresh` then says why.
        """
        last = self._manuscript
        assert last is not None  # the studio begins with one
        manifest = last.project.path
        is_same_manifest = files.stamp(manifest) == self._text_stamps.get(manifest)
        try:
            self._manuscript = read_manuscript(
                self.path, self._readings, project=last.project if is_same_manifest else None
            )
            self._plan(self._manuscript, is_glance=True)
        except NarratorError:
            return False
        return True

    def replan(self) -> None:
        """Plans the same text again, with current takes, pins and voices."""
        assert self._manuscript is not None
        try:
            self._plan(self._manuscript)
        except NarratorError as error:
            self._sound_stamps = _read_stamps(_sound_files(self.view.project))
            self._show_error(error)

    def _show_error(self, error: NarratorError) -> None:
        self._set_view(replace(self.view, version=self._version + 1, trouble=str(error)))

    def choose_voice(self, draft: bool) -> None:
        """Switches between the takes of the draft voice and the model's. Raises NarratorError."""
        previous_engine, self.engine = self.engine, "draft" if draft else self.model_engine
        assert self._manuscript is not None
        try:
            self._plan(self._manuscript)
        except NarratorError:
            self.engine = previous_engine
            raise

    def open(self) -> None:
        """Reads the project for the first time. Raises NarratorError.

        If no engine was chosen, it is the one that has finished files, the book's own first, or
        else the draft voice; engines that are not on this machine are passed over.
        """
        if self.engine:
            self.read()
            return
        *engines, last_engine = dict.fromkeys([_finished_engine(load.load(self.path)), "", "draft"])
        for engine in engines:
            with contextlib.suppress(EngineUnavailable):
                self._read_with(engine)
                return
        self._read_with(last_engine)

    def _read_with(self, engine: str) -> None:
        self.engine, self.model_engine = engine, "" if engine == "draft" else engine
        self.read()

    def read(self) -> None:
        """Reads the project from disk. Raises NarratorError."""
        old_stamps = _read_stamps(_text_files(self._view.project)) if self._view else {}
        manuscript = read_manuscript(self.path, self._readings)
        # a file that changed during reading still differs from its stamp, and is read again; files
        # that the book names for the first time had no stamp before
        stamps = {**_read_stamps(_text_files(manuscript.project)), **old_stamps}
        self._plan(manuscript)
        self._manuscript = manuscript
        self._text_stamps = {path: stamps[path] for path in _text_files(manuscript.project)}

    def _plan(self, manuscript: Manuscript, *, is_glance: bool = False) -> None:
        """Plans a manuscript and shows it; as a glance, with the takes and notes of before."""
        own_project = manuscript.project.spoken_by(self.model_engine)
        manuscript = manuscript.spoken_by(self.engine)
        sound_stamps = _read_stamps(_sound_files(manuscript.project))
        engines = self._find_engines(manuscript.project)
        store = self._store
        if store is None or store.root != manuscript.project.takes:
            store = Store.open(manuscript.project.takes)
        else:
            store.refresh()
        self._store = store
        book = book_plan.plan(
            manuscript,
            engines.main,
            Selection(),
            engines=engines.by_speaker,
            store=store,
            caches=self._plan_caches,
            looks_at_takes=not is_glance,
        )
        chapters = {
            number: tuple(steps) for number, steps in groupby(book.steps, key=attrgetter("chapter"))
        }
        steps_by_id = {step.id: step for step in book.steps}
        planned_book = replace(book, takes=self._plan_caches.takes or book.takes)
        if is_glance:
            is_same_cast = dict(book.cast) == dict(self.view.book.cast)
            shared = self.view.book_sound if is_same_cast else layout.book_sound(planned_book)
            with self._mutex:
                view = replace(
                    self.view,
                    version=self._version + 1,
                    book=book,
                    book_sound=shared,
                    chapters=chapters,
                    steps=steps_by_id,
                    notes=_moved_notes(self.view, chapters),
                )
                self._set_view(view, is_announced=False)
            return
        note_stamps = _read_stamps(_note_files(book.project))
        notes, shared = _read_notes(planned_book), layout.book_sound(planned_book)
        voices = _available_voices(own_project)
        with self._mutex:
            # with the view: if `read_notes` has read newer notes meanwhile, `refresh` reads them
            self._sound_stamps, self._note_stamps = sound_stamps, note_stamps
            self._set_view(
                ProjectSnapshot(
                    version=self._version + 1,
                    book=book,
                    book_sound=shared,
                    chapters=chapters,
                    steps=steps_by_id,
                    available_voices=voices,
                    notes=notes,
                )
            )

    def _find_engines(self, project: Project) -> BookEngines:
        """Returns the engines of a project: the last ones, if they would be made alike."""
        engines = book_engines.engines_for(project)
        try:
            facts = (
                project.root,
                [
                    (settings, type(engine), engine.identity())
                    for settings, engine in engines.settings
                ],
                list(engines.by_speaker),
            )
        except NarratorError:
            return engines  # the plan says what is missing
        return self._engines.get("", facts, lambda: engines)

    def read_notes(self) -> None:
        """Reads people's notes again; from any thread."""
        with self._notes_lock:
            view = self.view
            stamps = _read_stamps(_note_files(view.project))
            notes = _read_notes(view.book)
            with self._mutex:
                if self.view.book is not view.book:
                    return  # a newer reading has its own notes
                self._note_stamps = stamps
                self._set_view(replace(view, version=self._version + 1, notes=notes))

    def _set_view(self, view: ProjectSnapshot, *, is_announced: bool = True) -> None:
        with self._mutex:
            if self._view is None or self._view.book is not view.book:
                self._newest_sounds.clear()
                self._forget_changed_chapters(view)
            self._version, self._view = view.version, view
        if is_announced:
            self._announced_version = view.version
            self._announce()

    def _forget_changed_chapters(self, view: ProjectSnapshot) -> None:
        """Forgets the takes of chapters that have other steps or voices in a new view, or that were
        looked up before the journal's last line."""
        old, journal = self._view, _journal_stamp(view)
        is_comparable = (
            old is not None
            and old.book.store is view.book.store
            and old.book.takes.voices == view.book.takes.voices
        )
        for number, (_, stamp, _) in list(self._chapter_takes.items()):
            if (
                old is None
                or not is_comparable
                or stamp != journal
                or old.chapters.get(number) != view.chapters.get(number)
            ):
                del self._chapter_takes[number]

    def _announce(self) -> None:
        self.events.send({"type": "book", "version": self._announced_version, "busy": self.busy})

    def chunk_states(
        self, chapter: int, view: ProjectSnapshot | None = None
    ) -> Mapping[str, ChunkState]:
        """Returns the state of a chapter's chunks, by id; the chapter is counted from 0.

        `view` is the one that is shown, where the book may have been read again meanwhile.
        """
        with self._mutex:
            current_view, cached = self.view, self._chapter_takes.get(chapter)
        view = view or current_view
        if view.chapters.get(chapter) != current_view.chapters.get(chapter):
            return chunk_states.chunk_states(view.book, view.chapters.get(chapter, ()))
        journal = _journal_stamp(view)
        if cached is not None:
            chapter_takes, cached_journal, cached_at = cached
            max_age = _MAX_TAKES_AGE if cached_journal == journal else _MIN_TAKES_AGE
            if time.monotonic() - cached_at < max_age:
                return chapter_takes
        view.book.store.refresh()
        chapter_takes = chunk_states.chunk_states(view.book, view.chapters.get(chapter, ()))
        with self._mutex:
            if self.view.book is view.book:
                self._chapter_takes[chapter] = chapter_takes, journal, time.monotonic()
        return chapter_takes

    def forget_takes(self, chapter: int) -> None:
        """Notes that takes of a chapter, counted from 0, were added or removed."""
        with self._mutex:
            self._newest_sounds.pop(chapter, None)
            self._chapter_takes.pop(chapter, None)
            if not self.view.book_sound.rate:
                self._view = replace(self.view, book_sound=layout.book_sound(self.view.book))
        self.events.send({"type": "chapter", "number": chapter + 1})

    # -- sound -------------------------------------------------------------------------------------

    def sound(self, chapter: int) -> PlayedChapter | None:
        """Returns the current sound of a chapter, counted from 0, or None."""
        view = self.view
        steps = view.chapters.get(chapter, ())
        chapter_takes = self.chunk_states(chapter, view)
        inputs = (view.book, chapter_takes)
        with self._mutex:
            newest = self._newest_sounds.get(chapter)
            if newest and all(map(operator.is_, newest[0], inputs)):
                return self._cached_sound(chapter, newest[1])
        is_complete = all(chunk_state.state in RENDERED for chunk_state in chapter_takes.values())
        played = self._mastered_sound(view, chapter) if is_complete else None
        if played is None:
            played = self._takes_sound(view, steps)
        if played is None:
            return None
        with self._mutex:
            self._newest_sounds[chapter] = inputs, played.bytes.tag
            self._sounds[chapter, played.bytes.tag] = played
            self._sounds.move_to_end((chapter, played.bytes.tag))
            while (
                len(self._sounds) > 1
                and sum(s.clips for s in self._sounds.values()) > _MAX_CACHED_CLIPS
            ):
                dropped_key, _ = self._sounds.popitem(last=False)
                if self._newest_sounds.get(dropped_key[0], ((), ""))[1] == dropped_key[1]:
                    del self._newest_sounds[dropped_key[0]]
        return played

    def current_sound(self, chapter: int, tag: str | None) -> PlayedChapter:
        """Returns the current sound of a chapter. Raises NotFound if it has another tag."""
        sound = self.sound(chapter)
        if sound is None:
            raise NotFound("nothing of this chapter is rendered yet")
        if tag not in (None, sound.bytes.tag):
            raise NotFound(_OTHER_SOUND)
        return sound

    def find_sound(self, chapter: int, tag: str) -> PlayedChapter:
        """Returns the sound of a chapter by its tag, current or recent. Raises NotFound."""
        with self._mutex:
            sound = self._cached_sound(chapter, tag)
        if sound is None and (current := self.sound(chapter)) and current.bytes.tag == tag:
            sound = current
        if sound is None:
            raise NotFound(_OTHER_SOUND)
        return sound

    def _cached_sound(self, chapter: int, tag: str) -> PlayedChapter | None:
        played = self._sounds.get((chapter, tag))
        if played:
            self._sounds.move_to_end((chapter, tag))
        return played

    def _mastered_sound(self, view: ProjectSnapshot, chapter: int) -> PlayedChapter | None:
        """Returns the encoded chapter, if it is up to date."""
        if next(view.book.folders.work("encoded").glob("*.json"), None) is None:
            return None  # the check below takes a second for a very long chapter
        try:
            encoded = finish.load_encoded_chapter(view.book, chapter, view.book_sound)
        except (NarratorError, DamagedTake):
            return None  # missing music, for example: an export reports it
        if encoded is None:
            return None
        sound, files = encoded
        best = _best_encoding(files)
        if best is None:
            return None
        file_bytes = FileBytes(
            best.path, best.bytes, PLAYABLE_TYPES[best.path.suffix], best.path.stem
        )
        return PlayedChapter("mastered", file_bytes, sound.timeline, best.gain)

    def _takes_sound(self, view: ProjectSnapshot, steps: tuple[Step, ...]) -> PlayedChapter | None:
        if not steps:
            return None
        music_uses = self.lengths.music(view.book, steps[0].chapter)
        words = layout.lay_out_words(view.book, steps, view.book_sound, music_uses)
        if words is None:
            return None
        takes_bytes = TakesBytes(
            words, view.book.store, self._cache, partial(self.forget_takes, steps[0].chapter)
        )
        return PlayedChapter("takes", takes_bytes, words.timeline, 0.0, len(words.timeline.takes))


def _best_encoding(files: list[Encoded]) -> Encoded | None:
    """Returns the encoding that browsers seek best in, if they can play any."""
    suffixes = list(PLAYABLE_TYPES)
    playable = [file for file in files if file.path.suffix in PLAYABLE_TYPES]
    return min(playable, key=lambda file: suffixes.index(file.path.suffix), default=None)


def _finished_engine(project: Project) -> str:
    """Returns the engine that has finished files of a project; "" for its own, or if none has."""
    own, *others = Folders(project).renditions()
    finished = [] if own.sounds() else [other for other in others if other.sounds()]
    names = [folders.project.other_engine for folders in finished]
    return min(names, key=lambda name: name == "draft", default="")  # a draft last


def _available_voices(project: Project) -> Mapping[str, object]:
    """Returns the voices (draft, model) that a book can be shown in, and why not."""
    has_model = any(spec.name != "draft" for spec in book_engines.specs_of(project).values())
    problem = "" if has_model else quick_speech.advise_voice(project.manifest.language)
    if has_model:
        try:
            book_engines.engines_for(project)
        except NarratorError as error:
            problem = str(error)
    return {"draft": True, "model": not problem, "why_not": problem}


# -- changed files ------------------------------------------------------------------------------


def _text_files(project: Project) -> Iterator[Path]:
    """Yields the files that decide the text and its speakers."""
    yield project.path
    for chapter in project.chapters:
        if chapter.file is not None:
            yield project.root / chapter.file
            yield speaker_files.speaker_file_path(project.root / chapter.file)


def _sound_files(project: Project) -> Iterator[Path]:
    """Yields the files that decide the sound, except takes."""
    yield project.takes / PINS
    yield project.build / "voices"
    yield project.root / "voices"
    for voice in project.manifest.voices.values():
        if voice.reference is not None:
            yield project.root / voice.reference


def _note_files(project: Project) -> Iterator[Path]:
    """Yields the files of people's notes."""
    yield pickups.path_of(project)
    yield reviews.path_of(project)
    yield edits.path_of(project)


def _read_notes(book: BookPlan) -> Notes:
    """Reads the notes; files that cannot be read are reported, and hide no other notes."""
    flags: dict[str, list[Pickup]] = {}
    past: Sequence[edits.PastEdit] = ()
    reviewed: Mapping[str, str] = {}
    troubles: list[str] = []
    try:
        if pickups.path_of(book.project).exists():
            for row in pickups.read_pickups(book)[0]:
                if not row.is_lost:
                    flags.setdefault(row.chunk, []).append(row)
    except NarratorError as error:
        troubles.append(str(error))
    try:
        past = edits.history(book.project)
    except NarratorError as error:
        troubles.append(str(error))
    try:
        reviewed = reviews.reviewers(book)
    except NarratorError as error:
        troubles.append(str(error))
    return Notes(
        flags={chunk: tuple(rows) for chunk, rows in flags.items()},
        reviewed=reviewed,
        trouble="\n".join(troubles),
        **undo_state_of(past),
    )


def _moved_notes(view: ProjectSnapshot, chapters: Mapping[int, tuple[Step, ...]]) -> Notes:
    """Returns the notes of a view with those of changed chapters at the present ids of their
    chunks, as far as these are spoken as before; flags also stay where the id is the same."""
    flags, reviewed = dict(view.notes.flags), dict(view.notes.reviewed)
    for number, steps in chapters.items():
        old_steps = view.chapters.get(number, ())
        if old_steps == steps:
            continue
        for step in old_steps:
            flags.pop(step.id, None)
            reviewed.pop(step.id, None)
        old_ids: dict[str, list[str]] = {}
        for step in reversed(old_steps):
            old_ids.setdefault(step.key, []).append(step.id)
        for step in steps:
            same = old_ids.get(step.key)
            # the same words may be said several times: in the same order
            old_id = (same.pop() if len(same) > 1 else same[0]) if same else step.id
            if rows := view.notes.flags.get(old_id):
                flags[step.id] = rows
            if same and old_id in view.notes.reviewed:
                reviewed[step.id] = view.notes.reviewed[old_id]
    return replace(view.notes, flags=flags, reviewed=reviewed)


class UndoState(TypedDict):
    """Descriptions of the edits that would be undone and redone."""

    undo: str | None
    redo: str | None


def undo_state_of(past: Sequence[edits.PastEdit]) -> UndoState:
    """Returns the next undo and redo of a project's edits, which are oldest first."""
    return {
        "undo": next((edit.title for edit in reversed(past) if not edit.undone), None),
        "redo": next((edit.title for edit in past if edit.undone), None),
    }


def _journal_stamp(view: ProjectSnapshot) -> _Stamps:
    return _read_stamps(iter((view.book.store.root / JOURNAL,)))


def _read_stamps(paths: Iterator[Path]) -> _Stamps:
    """Returns time and size of each file, to detect changes; None for a missing file."""
    return {path: files.stamp(path) for path in paths}
