"""Turns takes into the files that listeners get: layout, music, encoding, companions, verification.

Everything that follows speech belongs here: the position and pause of each take, music, the
encoding, tags and names of files, formats beside the sound (subtitles, chapter lists, feeds), and
checks of finished files against a platform's demands. Nothing is spoken here; the platforms'
figures are in `project/profiles.py`, the arithmetic of samples is in `sound/`.
"""
