"""The owner of a project: the process that renders it does the jobs of all others as well.

    jobs.py      requests from one process to another
    wire.py      the connection: a socket, lines of JSON, limits
    owner.py     the queue, and who waits for which job
    joining.py   connects to an owner, or becomes one
    doing.py     how jobs are done: a render, an export, a retake, a pin
    beside.py    jobs that are done while a render runs
    inputs.py    whether a book was edited since it was read
    telling.py   a run's progress as events
    tally.py     counts events, for whoever shows them

What a run does is up to the spine; nothing here decides how a book sounds.
"""
