"""From a chapter's text to what is spoken: lines, sentences, chunks, spoken words.

Knows no voice, no engine and no sound.
"""
