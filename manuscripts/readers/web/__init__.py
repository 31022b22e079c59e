"""Readers of HTML, FB2 and feeds.

They share the detection of boilerplate and the evaluation of style sheets.
"""
