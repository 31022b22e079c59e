"""Pages of the web and their kin -> pages: HTML, FB2, feeds.

A reader for each, and what they share: what is no text of a page, what its style sheets say.
"""
