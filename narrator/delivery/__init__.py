"""From takes to what listeners get: chapters laid out, music, files, companions, proof.

What happens once speech is there belongs here: which take lies where after which pause, music, how
files are encoded, tagged and named, formats beside the sound (subtitles, chapter lists, feeds), and
what holds finished files to a platform's demands. Nothing is spoken here; the platforms' figures
are `project/profiles.py`'s, the arithmetic of samples is `sound/`'s.
"""
