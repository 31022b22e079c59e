"""Reads, measures, joins, mixes and masters samples. Knows nothing of books.

Code that would be as useful to a program without chapters and speakers belongs here; the pauses,
gains and targets of a book are decided above. Everything streams: a chapter of ten hours needs no
more memory than one of ten minutes.
"""
