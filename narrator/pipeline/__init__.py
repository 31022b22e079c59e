"""The spine: book.yaml -> manuscript -> plan of the book -> render -> files.

`run.py` reads as that line; every command is a prefix of it. What goes through a whole book, and
needs several rooms at once, belongs here, and so does speech without a book, which no front owns
(`speech_without_book.py`). What is done to a single chunk, take, chapter or file does not, and
nothing is printed.
"""
