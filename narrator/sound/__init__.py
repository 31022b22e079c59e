"""Sound as samples: read, measured, joined, mixed and mastered; nothing of books.

Everything streams: a chapter of ten hours needs no more memory than one of ten minutes.
"""
