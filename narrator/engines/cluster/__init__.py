"""Speech by many machines, through Dask.distributed, with any engine that runs on clusters.

engine.py       the engine that a plan sees: answers as the engine itself
meeting.py      questions to machines outside of a session
session.py      the requests of a render: sent, sent again when lost, and received
placing.py      decides which machine speaks which request; pure
reaching.py     Dask's client: the machines, and the tasks sent to them
far.py          the worker side: the tasks, and the booth that feeds one batch
hosting.py      the scheduler and the machines, as long-running programs
parcels.py      requests, references and takes as bytes
credentials.py  addresses and certificates

Does not import Dask itself.
"""
