"""The route that finds chunks in the whole book: by words, speaker and state.

Words match whatever their case, accents and kind of quotation marks are.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from narrator.errors import UsageError
from narrator.speech.plan import Step
from narrator.studio import rows
from narrator.studio.chunk_states import STATE_ORDER
from narrator.studio.session import Notes, ProjectSession, ProjectSnapshot
from narrator.text.chunks import group_unison

_MAX_WORDS_CHARACTERS = 200
_MAX_RESULTS = 200
"""Most results of one answer; a page asks for more from a number on."""
_CONTEXT_CHARACTERS = 60
"""Most characters that are shown before a match."""
_SHOWN_CHARACTERS = 160
"""Most characters of a text that are shown from a match on."""

_STATE_NAMES = {
    "missing": ("missing", "given up", "stale"),
    "doubtful": ("doubtful", "given up"),
}
"""States of takes by the name under which they are looked for."""
_NOTES: dict[str, Callable[[Notes, Sequence[Step]], bool]] = {
    "pinned": lambda notes, group: any(step.pinned for step in group),
    "flagged": lambda notes, group: any(
        not pickup.done for step in group for pickup in notes.flags.get(step.id, ())
    ),
    "reviewed": lambda notes, group: all(step.id in notes.reviewed for step in group),
    "unreviewed": lambda notes, group: not all(step.id in notes.reviewed for step in group),
}
"""Predicates on people's notes by the name under which they are looked for."""
STATES = (*_STATE_NAMES, *_NOTES)


@dataclass(frozen=True, slots=True)
class _Query:
    words: str
    """Folded; "" for any."""
    speaker: str
    """"" for any."""
    states: Sequence[str]
    """Names in `STATES`; all have to hold."""


class FindRoutes:
    """The route that finds chunks."""

    def __init__(self, session: ProjectSession) -> None:
        self.session = session

    def routes(self) -> list[Route]:
        return [Route("/api/find", self.find)]

    async def find(self, request: Request) -> Response:
        """Lists the chunks for which everything holds that the query names, in reading order."""
        fields = request.query_params
        words, first = fields.get("words", ""), fields.get("from", "0")
        states = fields.getlist("state")
        if len(words) > _MAX_WORDS_CHARACTERS:
            raise UsageError(f"at most {_MAX_WORDS_CHARACTERS} characters can be looked for")
        if unknown_states := set(states) - set(STATES):
            raise UsageError(f"`state` is one of {', '.join(STATES)}, not {min(unknown_states)}")
        if not (first.isascii() and first.isdecimal() and len(first) < 7):
            raise UsageError("`from` must be a number")
        query = _Query(_fold(words.strip()), fields.get("speaker", ""), states)
        return JSONResponse(await run_in_threadpool(self._find, query, int(first)))

    def _find(self, query: _Query, first: int) -> dict[str, Any]:
        view = self.session.view
        results = list(self._results(view, query))
        counts = Counter(number for number, _ in results)
        return {
            "total": len(results),
            "chapters": [
                {"number": number + 1, "title": view.book.chapters[number].title, "count": count}
                for number, count in counts.items()
            ],
            "results": [
                {**self._result_row(view, number, group, query.words), "chapter": number + 1}
                for number, group in results[first : first + _MAX_RESULTS]
            ],
        }

    def _results(
        self, view: ProjectSnapshot, query: _Query
    ) -> Iterator[tuple[int, Sequence[Step]]]:
        """Yields the matching chunks, each with its chapter, counted from 0; those in unison are
        one."""
        note_tests = [_NOTES[state] for state in query.states if state in _NOTES]
        take_states = [_STATE_NAMES[state] for state in query.states if state in _STATE_NAMES]
        for number, steps in view.chapters.items():
            chunk_states = self.session.chunk_states(number, view) if take_states else {}
            for group in group_unison(steps):
                if (
                    _has_words_and_speaker(group, query)
                    and all(test(view.notes, group) for test in note_tests)
                    and all(
                        any(chunk_states[step.id].state in states for step in group)
                        for states in take_states
                    )
                ):
                    yield number, group

    def _result_row(
        self, view: ProjectSnapshot, number: int, group: Sequence[Step], words: str
    ) -> rows.Row:
        """Returns what a page shows of a chunk, with its text in three: before, in and after the
        match."""
        chunk, chunk_states = group[0].chunk, self.session.chunk_states(number, view)
        states = [chunk_states[step.id].state for step in group]
        return {
            "id": group[0].id,
            "speakers": list(chunk.unison_speakers) or [chunk.speaker],
            "state": min(states, key=STATE_ORDER.index),
            **{name: _NOTES[name](view.notes, group) for name in ("pinned", "flagged", "reviewed")},
            "text": _cut_text(chunk.text, words),
        }


def _has_words_and_speaker(group: Sequence[Step], query: _Query) -> bool:
    chunk = group[0].chunk
    return (not query.speaker or query.speaker in (chunk.unison_speakers or (chunk.speaker,))) and (
        not query.words or query.words in _fold(chunk.text)
    )


def _cut_text(text: str, words: str) -> tuple[str, str, str]:
    """Cuts a text to the first place of folded words: what is before, in and after the match."""
    start, stop = _match_bounds(text, words) if words else (0, 0)
    first, last = 0, stop + _SHOWN_CHARACTERS
    if start > _CONTEXT_CHARACTERS:
        first = text.rfind(" ", 0, start - _CONTEXT_CHARACTERS // 2) + 1
    return (
        "…" * (first > 0) + text[first:start],
        text[start:stop],
        text[stop:last] + "…" * (last < len(text)),
    )


# -- words -----------------------------------------------------------------------------------------

_VOICING_MARK = 8
"""Combining class of the marks that tell the kana ga from ka: other letters, not accents."""
_PLAIN_MARKS = str.maketrans(
    {**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’‚‹›", "'"), **dict.fromkeys("–—‑", "-")}
    | {"\N{NO-BREAK SPACE}": " ", "\n": " "}
)


def _fold(text: str) -> str:
    """Returns a text without case, accents and kinds of quotation marks, dashes and spaces."""
    if text.isascii():
        return text.lower().replace("\n", " ")
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN_MARKS))
    return "".join(
        character for character in folded if unicodedata.combining(character) in (0, _VOICING_MARK)
    )


def _match_bounds(text: str, words: str) -> tuple[int, int]:
    """Returns where folded words begin and end in a text that has them."""
    folded_lengths = [len(_fold(character)) for character in text]
    start = _fold(text).index(words)
    stop, position = start + len(words), 0
    first = last = 0
    for index, length in enumerate(folded_lengths):
        if position <= start:
            first = index
        if position < stop:
            last = index + 1
        position += length
    return first, last
