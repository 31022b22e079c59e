"""The route that finds chunks in the whole book: by words, speaker and state.

Words match whatever their case, accents and kind of quotation marks are.
"""

from __future__ import annotations

import unicodedata
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
from narrator.studio.session import ProjectSession
from narrator.text.chunks import group_unison

_MAX_WORDS_CHARACTERS = 200
_MAX_RESULTS = 200
"""Most results of one answer; a page asks for more from a number on."""
_CONTEXT_CHARACTERS = 60
"""Most characters that are shown before a match."""
_SHOWN_CHARACTERS = 160
"""Most characters of a text that are shown from a match on."""

_STATES: dict[str, Callable[[rows.Row], bool]] = {
    "missing": lambda row: row["state"] in ("missing", "given up", "stale"),
    "doubtful": lambda row: row["state"] in ("doubtful", "given up"),
    "pinned": lambda row: row["pinned"],
    "flagged": lambda row: any(not flag["done"] for flag in row["flags"]),
    "reviewed": lambda row: row["reviewed"],
    "unreviewed": lambda row: not row["reviewed"],
}
"""Predicates of the states that can be looked for, on the rows of chunks."""


@dataclass(frozen=True, slots=True)
class _Query:
    words: str
    """Folded; "" for any."""
    speaker: str
    """"" for any."""
    states: Sequence[str]
    """Names in `_STATES`; all have to hold."""


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
        if unknown_states := set(states) - _STATES.keys():
            raise UsageError(f"`state` is one of {', '.join(_STATES)}, not {min(unknown_states)}")
        if not (first.isascii() and first.isdecimal() and len(first) < 7):
            raise UsageError("`from` is to be a number")
        query = _Query(_fold(words.strip()), fields.get("speaker", ""), states)
        return JSONResponse(await run_in_threadpool(self._find, query, int(first)))

    def _find(self, query: _Query, first: int) -> dict[str, Any]:
        results = list(self._results(query))
        counts: dict[int, int] = {}
        for number, _ in results:
            counts[number] = counts.get(number, 0) + 1
        view = self.session.view
        return {
            "version": view.version,
            "total": len(results),
            "chapters": [
                {"number": number + 1, "title": view.book.chapters[number].title, "count": count}
                for number, count in counts.items()
                if number < len(view.book.chapters)
            ],
            "results": [
                {**_result_row(row, query.words), "chapter": number + 1}
                for number, row in results[first : first + _MAX_RESULTS]
            ],
        }

    def _results(self, query: _Query) -> Iterator[tuple[int, rows.Row]]:
        """Yields the matching rows of chunks, each with its chapter, counted from 0."""
        view = self.session.view
        for number, steps in view.chapters.items():
            matching = [
                group for group in group_unison(steps) if _has_words_and_speaker(group, query)
            ]
            chunk_states = self.session.chunk_states(number, view) if matching else {}
            for group in matching:
                row = rows.chunk_row(view, group, {}, chunk_states)
                if all(_STATES[state](row) for state in query.states):
                    yield number, row


def _has_words_and_speaker(group: Sequence[Step], query: _Query) -> bool:
    chunk = group[0].chunk
    return (not query.speaker or query.speaker in (chunk.unison_speakers or (chunk.speaker,))) and (
        not query.words or query.words in _fold(chunk.text)
    )


def _result_row(row: rows.Row, words: str) -> rows.Row:
    """Returns what a page shows of a chunk, with its text in three: before, in, after the match."""
    start, stop = _match_bounds(row["text"], words) if words else (0, 0)
    text, first = row["text"], 0
    if start > _CONTEXT_CHARACTERS:
        first = text.rfind(" ", 0, start - _CONTEXT_CHARACTERS // 2) + 1
    last = stop + _SHOWN_CHARACTERS
    return {
        **{name: row[name] for name in ("id", "speakers", "state", "pinned", "reviewed")},
        "flagged": _STATES["flagged"](row),
        "text": [
            "…" * (first > 0) + text[first:start],
            text[start:stop],
            text[stop:last] + "…" * (last < len(text)),
        ],
    }


# -- words -----------------------------------------------------------------------------------------

_VOICING_MARK = 8
"""Combining class of the marks that tell the kana ga from ka: other letters, not accents."""
_PLAIN_MARKS = str.maketrans(
    {**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’‚‹›", "'"), **dict.fromkeys("–—‑", "-")}
    | {"\N{NO-BREAK SPACE}": " ", "\n": " "}
)


def _fold(text: str) -> str:
    """Returns a text without case, accents and kinds of quotation marks, dashes and spaces."""
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN_MARKS))
    if folded.isascii():
        return folded
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
