"""What engines share whose model runs in MLX: no engine, and no model.

What belongs here is the same whatever the network is: sessions of a batch that grows, and that
recovers from what fails; a process of its own for the model, and what outlives its death; memory;
what a plan asks. What a request becomes, and what becomes of a finished row, is the engine's.

settings.py    what a manifest says of each of them
engine.py      what a plan asks, without loading anything
loaded.py      a model in memory as a session knows it, clips that were encoded, errors in words
session.py     requests become rows of one batch, rows become takes
growth.py      how many rows side by side
memory.py      how much MLX may keep, and what running out of it looks like
apart.py       the model in a process of its own, seen from here
worker.py      that process
"""
