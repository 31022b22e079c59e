"""Sound as samples: read, measured, joined, mixed and mastered; nothing of books.

What would be as useful to a program without chapters and speakers belongs here; which pause, gain
or target a book wants is decided above. Everything streams: a chapter of ten hours needs no more
memory than one of ten minutes.
"""
