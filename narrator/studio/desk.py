"""The reading of the book that is looked at: one for all that is asked, until something changed.

The text is read and planned in the main thread, where a user's slow patterns can be stopped, one
errand after the other; everything else is asked of the last reading from any thread. It is read
again when a file of the project changed, or somebody who works on it says so. Knows nothing of
requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypedDict, TypeVar

from narrator.delivery import finish, layout
from narrator.delivery.export import Encoded
from narrator.delivery.layout import BookSound
from narrator.errors import DamagedTake, NarratorError
from narrator.pipeline import bookengines, bookplan, edits, pickups, reviews
from narrator.pipeline.bookplan import BookPlan, Selection
from narrator.pipeline.manuscript import Manuscript, Readings, read
from narrator.pipeline.pickups import Pickup
from narrator.project.project import Project
from narrator.sound.assemble import Timeline
from narrator.speech.plan import Step
from narrator.speech.store import JOURNAL, PINS, Store
from narrator.studio import glance
from narrator.studio.events import Events
from narrator.studio.glance import RENDERED, Seen
from narrator.studio.sounds import PLAYED, Cache, FileBytes, WordsBytes
from narrator.text import decided

_T = TypeVar("_T")
_Stamps = Mapping[Path, tuple[int, int] | None]

LOOK = 1.0
"""Seconds between two looks at the project's files."""
_FRESH = 5.0
"""Seconds after which takes are looked at again, if any was written and nobody said which."""
_OLD = 60.0
"""Seconds after which they are anyhow: somebody may have taken a file away."""
_CLIPS = 60_000
"""Takes of chapters that are kept laid out: a book of 20 hours has 15,000."""


class NotThere(Exception):
    """What is asked about is not there, or not any more."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What people noted, and changed, of a book."""

    flags: Mapping[str, tuple[Pickup, ...]] = field(default_factory=dict)
    """Pickups by chunk."""
    reviewed: frozenset[str] = frozenset()
    """Keys of steps whose takes were."""
    undo: str | None = None
    """What would be undone, in words."""
    redo: str | None = None
    trouble: str = ""
    """Why there are none: what they are kept in cannot be read."""


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a book."""

    version: int
    book: BookPlan
    shared: BookSound
    chapters: Mapping[int, tuple[Step, ...]]
    """Steps by chapter, counted from 0."""
    steps: Mapping[str, Step]
    """By id."""
    can: Mapping[str, object]
    notes: Notes
    trouble: str = ""
    """Why this is not the project as it lies on the disk: it cannot be read."""

    @property
    def project(self) -> Project:
        return self.book.project

    @property
    def draft(self) -> bool:
        """Whether all is said by the draft voice."""
        return all(engine.name == "draft" for engine in self.book.speaking)

    def step(self, name: str) -> Step:
        """A chunk by its id. Raises NotThere."""
        if name not in self.steps:
            raise NotThere("there is no such chunk any more: the text has changed")
        return self.steps[name]

    def number(self, name: str) -> int:
        """A chapter, counted from 0, by its number. Raises NotThere."""
        is_number = name.isascii() and name.isdecimal() and len(name) < 7
        place = int(name) - 1 if is_number else -1
        if not 0 <= place < len(self.book.chapters):
            raise NotThere("there is no such chapter")
        return place


@dataclass(frozen=True, slots=True)
class PlayedChapter:
    """What is heard of a chapter."""

    kind: str
    """"mastered", "takes"."""
    bytes: FileBytes | WordsBytes
    timeline: Timeline
    gain: float
    """dB that were given to the takes on top."""
    clips: int = 0


class Desk:
    """What is looked at, and what is heard of it."""

    def __init__(self, path: Path, draft: bool, events: Events) -> None:
        self.path, self.events = path, events
        self.draft = draft
        self.busy: str | None = None
        self._view: View | None = None
        self._manuscript: Manuscript | None = None
        self._readings = Readings()
        # Files as they were: of texts (a change reads the book again), of what decides how it
        # sounds (plans it again), of notes (reads these again). `look` compares them, who reads
        # sets them.
        self._stamps: _Stamps = {}
        self._works: _Stamps = {}
        self._noted: _Stamps = {}
        self._version = 0
        self._sounds: OrderedDict[tuple[int, str], PlayedChapter] = OrderedDict()
        """By chapter and name, the one that was heard last at the end; the oldest go. What is under
        a name stays what it is."""
        self._newest: dict[int, tuple[tuple[object, ...], str]] = {}
        """Chapter -> what its sound was made of, and its name. A new plan clears it, and `touched`
        that of a chapter."""
        self._seen: dict[int, tuple[Mapping[str, Seen], _Stamps, float]] = {}
        """Chapter -> its takes, the journal then, and when: cleared as `_newest`, and looked at
        again by age."""
        self._cache = Cache()
        self._store: Store | None = None
        self._mutex = threading.RLock()
        self._noting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def view(self) -> View:
        """The last reading."""
        assert self._view is not None  # the studio begins with one
        return self._view

    # -- errands -----------------------------------------------------------------------------------

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Errands are run in this loop, the main thread's."""
        self._loop = loop

    async def run(self, what: str, action: Callable[[], _T]) -> _T:
        """What reads text, in the main thread, after what was asked before; `what` is said of it
        meanwhile. Raises what the action raises."""
        assert self._loop is not None

        async def errand() -> _T:
            with self._busy_with(what):
                return action()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(errand(), self._loop))

    def later(self, what: str, action: Callable[[], None]) -> None:
        """The same, for nobody who waits; from any thread."""
        assert self._loop is not None

        def errand() -> None:
            with self._busy_with(what):
                action()

        with contextlib.suppress(RuntimeError):  # the studio has closed meanwhile
            self._loop.call_soon_threadsafe(errand)

    @contextlib.contextmanager
    def _busy_with(self, what: str) -> Iterator[None]:
        """The pages are told what they may have to wait for."""
        self._say(what)
        try:
            yield
        finally:
            self._say(None)

    def _say(self, what: str | None) -> None:
        self.busy = what
        self.events.send({"type": "book", "version": self._version, "busy": what})

    def look(self) -> None:
        """Read again what has changed on the disk since; in the main thread."""
        view = self.view
        if _stamps(_texts(view.project)) != self._stamps:
            with self._busy_with("reading the manuscript"):
                self.reread()
        elif _stamps(_works(view.project)) != self._works:
            self.replan()
        elif _stamps(_notes(view.project)) != self._noted:
            self.note()

    def stamp(self) -> object:
        """Tells the project's texts as they lie on the disk from what they were."""
        return _stamps(_texts(self.view.project))

    def read(self) -> None:
        """The first reading. Raises NarratorError."""
        self._read()

    def reread(self) -> None:
        """The project as it lies on the disk now; where it cannot be read, the reading before stays
        and says so."""
        try:
            self._read()
        except NarratorError as error:
            self._stamps = _stamps(_texts(self.view.project))
            self._troubled(error)

    def replan(self) -> None:
        """The same text, with takes, pins and voices as they are now."""
        assert self._manuscript is not None
        try:
            self._plan(self._manuscript)
        except NarratorError as error:
            self._works = _stamps(_works(self.view.project))
            self._troubled(error)

    def _troubled(self, error: NarratorError) -> None:
        self._put(replace(self.view, version=self._version + 1, trouble=str(error)))

    def look_at(self, draft: bool) -> None:
        """The draft's takes, or the model's. Raises NarratorError."""
        before, self.draft = self.draft, draft
        assert self._manuscript is not None
        try:
            self._plan(self._manuscript)
        except NarratorError:
            self.draft = before
            raise

    def _read(self) -> None:
        before = _stamps(_texts(self._view.project)) if self._view else {}
        manuscript = read(self.path, self._readings)
        # a file that changed while it was read still differs from its stamp, and is read again;
        # what the book names anew had none before
        stamps = {**_stamps(_texts(manuscript.project)), **before}
        self._plan(manuscript)
        self._manuscript = manuscript
        self._stamps = {path: stamps[path] for path in _texts(manuscript.project)}

    def _plan(self, manuscript: Manuscript) -> None:
        works = _stamps(_works(manuscript.project))
        engines = bookengines.engines_for(manuscript.project, draft=self.draft)
        store = self._store
        if store is None or store.root != manuscript.project.takes:
            store = Store.open(manuscript.project.takes)
        else:
            store.refresh()
        self._store = store
        book = bookplan.plan(
            manuscript, engines.main, Selection(), engines=engines.own, store=store
        )
        chapters = {
            number: tuple(own) for number, own in groupby(book.steps, key=lambda step: step.chapter)
        }
        self._works, self._noted = works, _stamps(_notes(book.project))
        self._put(
            View(
                version=self._version + 1,
                book=book,
                shared=layout.book_sound(book),
                chapters=chapters,
                steps={step.id: step for step in book.steps},
                can=_can(manuscript.project),
                notes=_read_notes(book),
            )
        )

    def note(self) -> None:
        """Read anew what people have noted; from any thread."""
        with self._noting:
            view = self.view
            stamps = _stamps(_notes(view.project))
            notes = _read_notes(view.book)
            with self._mutex:
                if self.view.book is not view.book:
                    return  # read anew meanwhile, notes too
                self._noted = stamps
                self._put(replace(view, version=self._version + 1, notes=notes))

    def _put(self, view: View) -> None:
        with self._mutex:
            if self._view is None or self._view.book is not view.book:
                self._newest.clear()
                self._seen.clear()
            self._version, self._view = view.version, view
        self.events.send({"type": "book", "version": view.version, "busy": self.busy})

    def seen(self, chapter: int) -> Mapping[str, Seen]:
        """The takes of a chapter, counted from 0, by their chunks."""
        with self._mutex:
            view, known = self.view, self._seen.get(chapter)
        journal = _stamps(iter((view.book.store.root / JOURNAL,)))
        if known is not None:
            found, then, when = known
            if time.monotonic() - when < (_OLD if then == journal else _FRESH):
                return found
        view.book.store.refresh()
        found = glance.of(view.book, view.chapters.get(chapter, ()))
        with self._mutex:
            if self.view.book is view.book:
                self._seen[chapter] = found, journal, time.monotonic()
        return found

    def touched(self, chapter: int) -> None:
        """Takes of a chapter have come, or gone; it is counted from 0."""
        with self._mutex:
            self._newest.pop(chapter, None)
            self._seen.pop(chapter, None)
            if not self.view.shared.rate:
                self._view = replace(self.view, shared=layout.book_sound(self.view.book))
        self.events.send({"type": "chapter", "number": chapter + 1})

    # -- sound -------------------------------------------------------------------------------------

    def sound(self, chapter: int) -> PlayedChapter | None:
        """What is heard of a chapter now, counted from 0; None where nothing is."""
        view = self.view
        steps = view.chapters.get(chapter, ())
        seen = self.seen(chapter)
        stamp = (view.book, seen)
        with self._mutex:
            known = self._newest.get(chapter)
            if known and all(one is other for one, other in zip(known[0], stamp, strict=True)):
                return self._kept(chapter, known[1])
        is_whole = all(one.state in RENDERED for one in seen.values())
        found = (self._mastered(view, chapter) if is_whole else None) or self._words(view, steps)
        if found is None:
            return None
        with self._mutex:
            self._newest[chapter] = stamp, found.bytes.tag
            self._sounds[chapter, found.bytes.tag] = found
            self._sounds.move_to_end((chapter, found.bytes.tag))
            while len(self._sounds) > 1 and sum(s.clips for s in self._sounds.values()) > _CLIPS:
                gone, _ = self._sounds.popitem(last=False)
                if self._newest.get(gone[0], ((), ""))[1] == gone[1]:
                    del self._newest[gone[0]]
        return found

    def sound_named(self, chapter: int, tag: str) -> PlayedChapter | None:
        """The sound of a chapter of this name: as it is now, or as it was a little while ago."""
        with self._mutex:
            found = self._kept(chapter, tag)
        if found is None and (now := self.sound(chapter)) and now.bytes.tag == tag:
            found = now
        return found

    def _kept(self, chapter: int, tag: str) -> PlayedChapter | None:
        found = self._sounds.get((chapter, tag))
        if found:
            self._sounds.move_to_end((chapter, tag))
        return found

    def _mastered(self, view: View, chapter: int) -> PlayedChapter | None:
        """A chapter as it was encoded, where that is what it would be now."""
        if next(view.book.folders.work("encoded").glob("*.json"), None) is None:
            return None  # laid out it has a name, which takes a second of a very long one
        try:
            made = finish.encoded_already(view.book, chapter, view.shared)
        except (NarratorError, DamagedTake):
            return None  # music that has gone: what of it is wrong, an export says
        if made is None:
            return None
        sound, files = made
        best = _best(files)
        if best is None:
            return None
        data = FileBytes(best.path, best.bytes, PLAYED[best.path.suffix], best.path.stem)
        return PlayedChapter("mastered", data, sound.timeline, best.gain)

    def _words(self, view: View, steps: tuple[Step, ...]) -> PlayedChapter | None:
        words = layout.words_of(view.book, steps, view.shared) if steps else None
        if words is None:
            return None
        data = WordsBytes(
            words, view.book.store, self._cache, partial(self.touched, steps[0].chapter)
        )
        return PlayedChapter("takes", data, words.timeline, 0.0, len(words.clips))


def _best(files: list[Encoded]) -> Encoded | None:
    ranks = list(PLAYED)
    played = [one for one in files if one.path.suffix in PLAYED]
    return min(played, key=lambda one: ranks.index(one.path.suffix), default=None)


def _can(project: Project) -> Mapping[str, object]:
    """Which voices a book can be looked at in."""
    found: dict[str, object] = {"draft": True, "model": project.has_draft}
    why = "the book's own engine is the draft voice" if not found["model"] else ""
    if found["model"]:
        try:
            bookengines.engines_for(project, draft=False)
        except NarratorError as error:
            found["model"], why = False, str(error)
    return {**found, "why_not": why}


# -- what was changed ------------------------------------------------------------------------------


def _texts(project: Project) -> Iterator[Path]:
    """Files that decide what is said, and by whom."""
    yield project.path
    for chapter in project.chapters:
        if chapter.file is not None:
            yield project.root / chapter.file
            yield decided.place_of(project.root / chapter.file)


def _works(project: Project) -> Iterator[Path]:
    """Files that decide how it sounds, but for takes."""
    yield project.takes / PINS
    yield project.build / "voices"
    yield project.root / "voices"
    for voice in project.manifest.voices.values():
        if voice.reference is not None:
            yield project.root / voice.reference


def _notes(project: Project) -> Iterator[Path]:
    """Files of what people noted."""
    yield pickups.path_of(project)
    yield reviews.path_of(project)
    yield edits.path_of(project)


def _read_notes(book: BookPlan) -> Notes:
    """What can be read of them: a list that is damaged keeps nobody from listening."""
    flags: dict[str, list[Pickup]] = {}
    try:
        if pickups.path_of(book.project).exists():
            for row in pickups.listed(book)[0]:
                if not row.is_lost:
                    flags.setdefault(row.chunk, []).append(row)
        past = edits.history(book.project)
        reviewed = frozenset(reviews.reviewed(book))
    except NarratorError as error:
        return Notes(trouble=str(error))
    return Notes(
        flags={chunk: tuple(rows) for chunk, rows in flags.items()},
        reviewed=reviewed,
        **ways(past),
    )


class Ways(TypedDict):
    """What would be undone, and done again, in words."""

    undo: str | None
    redo: str | None


def ways(past: Sequence[edits.PastEdit]) -> Ways:
    """The two ways from here, by the edits of a project, the oldest first."""
    return {
        "undo": next((one.what for one in reversed(past) if not one.undone), None),
        "redo": next((one.what for one in past if one.undone), None),
    }


def _stamps(paths: Iterator[Path]) -> _Stamps:
    """What tells a file that was changed."""
    found: dict[Path, tuple[int, int] | None] = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            found[path] = None
        else:
            found[path] = stat.st_mtime_ns, stat.st_size
    return found
