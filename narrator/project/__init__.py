"""A project on disk: `book.yaml` read strictly, its models, its messages, where its files lie.

A key of the manifest belongs here, with its meaning, its bounds and what is said where it is wrong;
so do the figures of platforms and of loudness targets, which are what a manifest can name. What
follows from a key is done elsewhere. Knows nothing of what chapters say.
"""
