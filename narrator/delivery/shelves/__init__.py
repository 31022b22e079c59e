"""Sends finished files to where people listen.

Nothing is made here: files that are missing, outdated or altered are refused, with the command that
makes them.

    layouts.py         which files an app wants, and where they lie
    sending.py         what is new, in which order it is sent, and the record of it
    folder.py          a folder of this machine
    rclone.py          a remote of the user's rclone
    audiobookshelf.py  a library of an Audiobookshelf server
"""
