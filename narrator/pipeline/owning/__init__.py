"""One owner of a project: who renders it does the jobs of all, and tells them how they go.

    jobs.py      what one process can ask of another
    wire.py      how they reach each other: a socket, lines of JSON, limits
    owner.py     the queue, and who waits for what
    joining.py   the way to an owner, or to being it
    doing.py     how jobs are done: a render, an export, a retake, a pin
    beside.py    those that are done while a render runs
    inputs.py    whether a book was edited since it was read
    telling.py   a run's progress as events
    tally.py     what events add up to, for whoever shows them

What a run is, is the spine's; nothing here decides how a book sounds.
"""
