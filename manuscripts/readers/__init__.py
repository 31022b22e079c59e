"""Readers of files in some format; each makes a book.

A reader of a format with markup makes `pages.Pages` of its source: documents of XHTML, and the
source's own facts. A reader of a format with lines makes blocks. From there on all formats take one
path.

    content.py    what a file is               ebook/      EPUB, and what Calibre makes one of
    pages.py      documents -> a book          office/     Word, OpenDocument, RTF
    xhtml.py      a document -> blocks         pdf/        lines and paragraphs by their places
    archive.py    zips, with suspicion         scripts/    screenplays, subtitles
    markup.py     XML and HTML, without harm   web/        HTML, FB2, feeds
"""
