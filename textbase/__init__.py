"""Holds what `manuscripts` and `narrator` both need for texts and for foreign files.

    languages.py    tags of languages           characters.py   invisible characters
    alphabets.py    letters of languages        initialisms.py  words that are spelled out
    recognise.py    the language of a book      patterns.py     time limits of users' patterns
    tongues.py      the language of passages    files.py        files that nobody vouches for
    errors.py       the base of the errors      pictures.py     sizes of pictures
    processes.py    other processes             word_lists.py   files of word lists
    extensions.py   what other packages bring

Knows no manuscript, no project and no speech; imports neither package.
"""
