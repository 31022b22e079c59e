"""Readers of word processor files: Word, OpenDocument, RTF.

Each format has a reader and a parser. They share the look of paragraphs, the resolution of styles,
and the detection of headings and title pages by look.
"""
