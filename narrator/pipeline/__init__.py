"""The spine: book.yaml -> manuscript -> plan of the book -> render -> files.

`run.py` reads as that line; every command is a prefix of it.
"""
