"""Files of word processors -> pages: Word, OpenDocument, RTF.

A reader and its parser for each, and what they share: how paragraphs look, what styles add up to,
and the judgement of headings and title pages by looks.
"""
