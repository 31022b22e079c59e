"""One page to hear, compare and mend a book: what a browser asks, and what it is answered.

What belongs here is what a page needs and a terminal does not: a server that is safe to run beside
other programs and open pages, one reading of the book that all of its answers come from, sound by
ranges. What is decided of a book is decided in the rooms below: this room asks them. It renders
nothing itself: that is done by whoever owns the project (`pipeline/jobs/client.py`).

    app.py          from start to stop: the server's thread, errands in the main thread
    guard.py        who may ask: token, cookie, Host, Origin; what every answer says of itself
    server.py       the application, and errors as answers
    looking.py      routes: the book, chapters, chunks, sound
    mending.py      routes: jobs, edits, notes, lists
    casting.py      routes: the cast, clips, words heard at once
    desk.py         the reading of the book that is looked at, and when it is read again
    glance.py       the takes of a chapter at one moment
    rows.py         the reading as JSON
    attribution.py  how sure it is who says what
    jobs.py         a link to whoever owns the project, and what is heard of it
    events.py       what pages are told as it happens
    sounds.py       a chapter's sound by ranges: as it was mastered, or its takes with their pauses
    peaks.py        the waveform of a chapter
    ranges.py       ranges of bytes
    pages.py        the page and the files beside it
"""

from __future__ import annotations

from narrator import web


def require() -> None:
    """Raises EnvironmentFailed without the packages of the extra."""
    web.require("the studio", ("starlette", "uvicorn", "jinja2"))
