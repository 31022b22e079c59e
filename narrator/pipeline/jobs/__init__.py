"""The owner of a project: the process that renders it does the jobs of all others as well.

    protocol.py    jobs and requests from one process to another
    sockets.py     the connection: a socket, lines of JSON, limits
    server.py      the queue, and who waits for which job
    client.py      connects to an owner, or becomes one
    execution.py   does jobs: a render, an export, a retake, a pin
    concurrent.py  does jobs while a render runs
    publishing.py  tells clients of a run's progress

What a run does is up to the spine; nothing here decides how a book sounds.
"""
