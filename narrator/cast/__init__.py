"""The voices: the cast of a manifest, clips, presets, auditions and references.

Everything about a voice before a book speaks with it belongs here: preparing and judging
recordings, casting a voice from a description, storing and finding it. How an engine imitates it
does not.
"""
