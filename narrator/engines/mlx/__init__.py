"""Shared by the engines whose model runs in MLX; knows no engine and no model.

Code belongs here if it is the same for every network: sessions of a batch that grows and recovers
from failures, the model in a process of its own, memory, answers to a plan. Each engine converts
requests to its model's, and finished rows to speech.

settings.py        settings of a manifest that they have in common
spec.py            the description of an engine before it is made
engine.py          answers to a plan, without loading anything
loaded_model.py    a model in memory, encoded clips, errors of MLX as messages
session.py         requests become rows of one batch, rows become takes
slot_tuning.py     the number of rows in a batch
memory.py          limits of MLX's memory, and the errors that it raises when memory runs out
worker_process.py  the model in a process of its own, seen from this process
worker.py          that process
"""
