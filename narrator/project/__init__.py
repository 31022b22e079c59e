"""A project on disk: `book.yaml` read strictly, its models, its messages, and the paths of its
files.

A key of the manifest belongs here, with its meaning, its limits and its error messages; so do the
requirements of platforms and loudness targets, which a manifest can name. The effects of a key
belong elsewhere. Knows nothing of the text of chapters.
"""
