"""A speech server for other programs, which speak with our voices as they would with OpenAI's.

What another program asks and is answered belongs here: routes, formats, errors in the form that
OpenAI documents, who is let in. How a text becomes sound is decided by
`pipeline/speech_without_book.py`, how many are spoken side by side by `speech/service.py`.

    app.py          from start to stop; the routes
    door.py         who may ask: token, Host, Origin; what every answer says of itself
    asking.py       what is asked, read strictly
    answering.py    sound as it is spoken, until it ends or who hears it has gone
    formats.py      sound as the bytes of a format
    refusals.py     errors as answers
"""

from __future__ import annotations

from narrator import web


def require() -> None:
    """Raises EnvironmentFailed without the packages of the extra."""
    web.require("the speech server", ("starlette", "uvicorn"))
