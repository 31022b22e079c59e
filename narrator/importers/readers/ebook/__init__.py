"""EPUB -> pages: its package, documents and cover; and what the user's Calibre makes an EPUB of."""
