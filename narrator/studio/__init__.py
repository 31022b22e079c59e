"""The studio: a page to hear, compare and mend a book, and the server behind it.

Whatever a page needs and a terminal does not belongs here: a server that is safe to run beside
other programs and open pages, one snapshot of the book for all answers, sound by ranges. Decisions
about a book are made in the rooms below. Rendering is done by the process that owns the project
(`pipeline/jobs/client.py`).

    app.py           starts and stops the server's thread; runs tasks in the main thread
    book_app.py      the application of one book
    library.py       the start page's server: projects of a folder, and the books that are open
    projects.py      what manifests of projects say, and how far they are
    guard.py         access: token, cookie, Host, Origin; headers of every answer
    server.py        the application, and errors as answers
    view_routes.py   routes: the book, chapters, chunks, sound
    edit_routes.py   routes: edits, notes, lists
    cast_routes.py   routes: the cast, clips, quick samples
    find_routes.py   the route that finds chunks by words, speaker, state
    take_routes.py   routes: takes of other engines, times of words
    desk_rows.py     settings of new takes as JSON
    lexicon_routes.py  routes: pronunciations and their places, unknown words
    job_routes.py    routes: jobs are submitted, stopped, moved, paused
    voice_routes.py  routes: voices with samples, the cost of a render, finished files
    import_routes.py routes: from a manuscript to a project
    uploads.py       manuscripts that were uploaded, and how they are read
    quick_speech.py  speech within a moment
    report_routes.py the report: its numbers, the measuring of files
    saved_report.py  the report as one file to hand on
    hearing_routes.py  routes: what was heard, and names that are learnt
    stretch_edits.py edits of the speakers of a stretch, from requests
    session.py       the current snapshot of the book, and when it is read again
    chunk_states.py  the takes of a chapter, and the state of each chunk
    lengths.py       the length of each chapter, as it is delivered
    rows.py          the snapshot as JSON
    attribution.py   certainty of the speaker of each chunk
    jobs.py          a link to the owner of the project, and the state of its jobs
    events.py        server-sent events
    sounds.py        a chapter's sound by ranges: mastered, or takes with planned pauses
    peaks.py         the waveform of a chapter
    ranges.py        byte ranges
    pages.py         the page and its static files
"""

from __future__ import annotations

from narrator import web


def require() -> None:
    """Raises EnvironmentFailed without the packages of the extra."""
    web.require("the studio", ("starlette", "uvicorn", "jinja2"))
