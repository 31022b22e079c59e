"""From a chapter's text to its spoken form: lines, sentences, chunks, spoken words.

The syntax of scripts, and all rules by which a language is split and read aloud, belong here. Knows
no voice, no engine, no sound and no manifest.
"""
