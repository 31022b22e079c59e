"""Speech by many machines, through Dask.distributed, with any engine that runs on clusters.

engine.py        the engine that a plan sees: answers as the engine itself
discovery.py     questions to machines outside of a session
session.py       the requests of a render: sent, sent again when lost, and received
placement.py     decides which machine speaks which request; pure
client.py        Dask's client: the machines, and the tasks sent to them
worker_tasks.py  the worker side: the tasks, and the booth that feeds one batch
programs.py      the scheduler and the machines, as long-running programs
codec.py         requests, references and takes as bytes
credentials.py   addresses and certificates

Does not import Dask itself.
"""
