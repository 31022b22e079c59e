"""A project on disk: `book.yaml` read strictly, its models, its messages, where its files lie.

Knows nothing of what chapters say.
"""
