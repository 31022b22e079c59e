"""Sends finished files to the places where people listen to them: shelves.

Makes no files: where one is missing, outdated or altered, the error names the command that makes
it.

    layouts.py         the files that each app reads, and their folders
    sending.py         what is sent, in which order, and the record of it
    folder.py          a folder of this machine
    rclone.py          a remote of the user's rclone
    audiobookshelf.py  a library of an Audiobookshelf server
"""
