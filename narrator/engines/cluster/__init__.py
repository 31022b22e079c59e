"""Speech by many machines: any engine that travels, through Dask.distributed.

engine.py       what a plan asks: the engine's own answers
meeting.py      what machines are asked outside of a session
session.py      requests: to whom, again where they are lost, and what came home
placing.py      which machine speaks which request; pure
reaching.py     Dask's client: who is there, and what is sent to them
far.py          what a machine does: the tasks, and the booth that feeds one batch
hosting.py      the scheduler and the machines, as programs that run on
parcels.py      what travels, as bytes
credentials.py  addresses and certificates

Loads no Dask by itself.
"""
