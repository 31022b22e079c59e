"""Readers of EPUB, and of formats that the user's Calibre converts to EPUB."""
