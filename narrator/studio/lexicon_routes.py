"""Routes of pronunciations: the lexicon with its places, words that nothing defines, quick samples.

The text of a sample is read in the main thread if the lexicon has patterns, which can be stopped
only there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.errors import EnvironmentFailed, UsageError
from narrator.pipeline import edits, unknown_words
from narrator.pipeline.edits import Edit
from narrator.pipeline.manuscript import Manuscript, lexicon_of
from narrator.speech.plan import Step, Utterance
from narrator.studio import rows
from narrator.studio.quick_speech import QuickVoice
from narrator.studio.session import ProjectSession, ProjectSnapshot
from narrator.text.memo import LastValues
from narrator.text.normalize import Lexicon, LexiconEntry, SpokenText, normalize
from narrator.text.sentences import sentences
from narrator.web import bodies

_MAX_NAMES = 2000
_MAX_PLACES = 50
"""Most places of an entry that are listed in a chapter."""


class LexiconRoutes:
    """Routes of pronunciations."""

    def __init__(self, session: ProjectSession, quick_voice: QuickVoice) -> None:
        self.session, self._quick_voice = session, quick_voice
        self._names: tuple[Manuscript, dict[str, Any]] | None = None
        self._places: tuple[Manuscript, list[_EntryPlaces]] | None = None
        self._occurrences = LastValues[list[_Occurrence]]()

    def routes(self) -> list[Route]:
        return [
            Route("/api/lexicon", self.lexicon),
            Route("/api/names", self.names),
            Route("/api/say", self.say, methods=["POST"]),
        ]

    # -- lists -------------------------------------------------------------------------------------

    async def lexicon(self, request: Request) -> Response:
        """Lists the entries of the lexicon with their places in the book."""

        def list_entries() -> dict[str, Any]:
            view = self.session.view
            manuscript = view.book.manuscript
            if self._places is None or self._places[0] is not manuscript:
                self._places = manuscript, _find_places(manuscript, self._occurrences)
            return {
                "entries": [_entry_row(places) for places in self._places[1]],
                "takes_phonemes": _takes_phonemes(view),
            }

        return JSONResponse(await run_in_threadpool(list_entries))

    async def names(self, request: Request) -> Response:
        """Lists words that are in no word list."""
        return JSONResponse(await run_in_threadpool(self._find_unknown_words))

    def _find_unknown_words(self) -> dict[str, Any]:
        manuscript = self.session.view.book.manuscript
        if self._names and self._names[0] is manuscript:
            return self._names[1]
        try:
            unknown, missing_languages = unknown_words.find_unknown_words(manuscript)
        except EnvironmentFailed as error:
            return {"words": [], "note": str(error)}
        words = [
            {
                "word": unknown_word.word,
                "count": unknown_word.count,
                "script": rows.script_row(unknown_word.language),
                "chunk": unknown_word.first.id,
                "text": unknown_word.first.chunk.text,
            }
            for unknown_word in unknown[:_MAX_NAMES]
        ]
        note = f"no list of words for {', '.join(missing_languages)}" if missing_languages else ""
        self._names = manuscript, {"words": words, "note": note}
        return self._names[1]

    # -- heard at once -----------------------------------------------------------------------------

    async def say(self, request: Request) -> Response:
        """Speaks a word, or its sentence in a chunk, by the lexicon.

        `spoken` or `entry` is tried in place of the word's own entry, which is `old` if there is
        one.
        """
        body = await bodies.read_json(request)
        word = bodies.text_field(body, "word", 200)
        pronunciation = bodies.optional_text_field(body, "spoken", 1000)
        chunk = bodies.optional_text_field(body, "chunk", 40)
        text = bodies.optional_text_field(body, "text", 2000)
        view = self.session.view
        step = view.step(chunk) if chunk else view.book.steps[0]

        def read_text() -> SpokenText:
            entry = _optional_entry(body, "entry")
            if pronunciation and pronunciation.strip() and word.strip():
                entry = edits.parse_entry({"word": word, "say": pronunciation})
            lexicon = _trial_lexicon(view, entry, _optional_entry(body, "old"))
            sentence = text or (_sentence_around(step, word) if chunk else word)
            speaker = step.chunk.speaker
            try:
                return normalize(sentence, language=step.language, speaker=speaker, lexicon=lexicon)
            except ValueError as error:
                raise UsageError(str(error)) from None

        has_patterns = any(entry.pattern for entry in view.project.lexicon)
        if has_patterns or isinstance(body.get("entry"), dict):
            spoken = await self.session.run("reading a word", read_text)
        else:
            spoken = await run_in_threadpool(read_text)
        voice = view.book.cast[step.chunk.speaker]
        sound = await run_in_threadpool(self._quick_voice.sound, voice, spoken, step.language)
        return Response(sound, media_type="audio/wav")


def lexicon_edit(view: ProjectSnapshot, body: Mapping[str, Any]) -> Edit:
    """Builds the edit that adds, changes or removes an entry. Runs in the main thread."""
    old, new = (_optional_entry(body, name) for name in ("old", "entry"))
    return edits.entry_edit(view.project, old, new)


def _optional_entry(body: Mapping[str, Any], name: str) -> LexiconEntry | None:
    """Returns an entry of a request, or None. Raises UsageError."""
    fields = body.get(name)
    if fields is None:
        return None
    if not isinstance(fields, dict):
        raise UsageError(f"`{name}` must be an object")
    for key in LexiconEntry.model_fields.keys() - {"case"}:
        bodies.optional_text_field(fields, key, 1000)
    return edits.parse_entry(fields)


def _trial_lexicon(
    view: ProjectSnapshot, entry: LexiconEntry | None, old: LexiconEntry | None
) -> Lexicon:
    """Returns the book's lexicon with an entry in place of its old one."""
    if entry is None:
        return lexicon_of(view.project)[0]
    lexicon = Lexicon()
    try:
        lexicon.add(entry)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for other in view.project.lexicon:
        if other != old and (entry.word is None or other.word != entry.word):
            try:
                lexicon.add(other)
            except ValueError:  # the same word in other letters
                continue
    return lexicon


def _sentence_around(step: Step | Utterance, word: str) -> str:
    """Returns the sentence of a chunk that contains a word."""
    text, position = step.chunk.text, step.chunk.text.casefold().find(word.casefold())
    if position < 0:
        return word
    for begin, end in sentences(text, step.language):
        if position < end:
            return text[begin:end].strip()
    return word


# -- places of entries -----------------------------------------------------------------------------


@dataclass(slots=True)
class _EntryPlaces:
    """The places of the book where an entry applies."""

    entry: LexiconEntry
    count: int = 0
    first: tuple[Utterance, str] | None = None
    """The first utterance, and the words of it that the entry reads."""
    chapters: dict[int, list[str]] = field(default_factory=dict)
    """Number of the chapter, counted from 1 -> the chunk of each occurrence."""


_Occurrence = tuple[LexiconEntry, str, Utterance]
"""An entry, the words that it reads, and where they stand."""


def _find_places(manuscript: Manuscript, memo: LastValues[list[_Occurrence]]) -> list[_EntryPlaces]:
    """Returns the places of all entries, in the order of the lexicon; those of unchanged chapters
    come from `memo`."""
    entries = manuscript.project.lexicon
    places_by_entry = {entry: _EntryPlaces(entry) for entry in entries}
    lexicon = Lexicon(entries)
    for chapter, group in groupby(manuscript.spoken if entries else (), key=attrgetter("chapter")):
        utterances = tuple(group)
        find = partial(_find_occurrences, lexicon, utterances)
        for entry, words, utterance in memo.get(chapter, (entries, utterances), find):
            places = places_by_entry[entry]
            places.count += 1
            places.first = places.first or (utterance, words)
            places.chapters.setdefault(chapter + 1, []).append(utterance.id)
    return list(places_by_entry.values())


def _find_occurrences(lexicon: Lexicon, utterances: Sequence[Utterance]) -> list[_Occurrence]:
    return [
        (entry, words, utterance)
        for utterance in utterances
        if not utterance.with_before  # text in unison counts once
        for entry, words in lexicon.occurrences(
            utterance.chunk.text, utterance.language, utterance.chunk.speaker
        )
    ]


def _entry_row(places: _EntryPlaces) -> dict[str, Any]:
    utterance, words = places.first or (None, places.entry.word or "")
    return {
        "entry": places.entry.model_dump(),
        "count": places.count,
        "written": words,
        "chunk": utterance.id if utterance else None,
        "sentence": _sentence_around(utterance, words) if utterance else "",
        "script": rows.script_row(utterance.language) if utterance else None,
        "chapters": [
            {"number": number, "count": len(chunks), "chunks": _distinct(chunks)[:_MAX_PLACES]}
            for number, chunks in places.chapters.items()
        ],
    }


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _takes_phonemes(view: ProjectSnapshot) -> bool:
    """True if IPA changes what an engine of the book speaks."""
    book, language = view.book, view.project.manifest.language
    return any(
        engine.text_content("a", language, book.cast[name], {"a": "ə"})
        != engine.text_content("a", language, book.cast[name], {})
        for name, engine in book.engines.items()
    )
