"""From a chapter's text to what is spoken: lines, sentences, chunks, spoken words.

What an author may write in a script, and every rule by which a language is divided and read aloud,
belongs here. Knows no voice, no engine, no sound and no manifest.
"""
