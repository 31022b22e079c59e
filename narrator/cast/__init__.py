"""Who the voices are: the cast of a manifest, clips, presets, auditions and references.

What is known of a voice before a book speaks with it belongs here: how a recording is prepared and
judged, how a voice is cast from a description, how it is kept and found again. How an engine
imitates it does not.
"""
