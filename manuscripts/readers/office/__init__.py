"""Readers of word processor files: Word, OpenDocument, RTF.

Each format has a reader that hands its words and paragraphs, with their properties, to one writer
of XHTML. Styles, the look of paragraphs, and the detection of headings and title pages by look are
the same for all.

    writer.py       words and paragraphs -> XHTML, and the look of each paragraph
    styles.py       properties of styles, paragraphs and runs -> a look
    classify.py     looks -> headings, gaps, captions; titlepage.py: what comes before the text
    document.py     all of it -> pages
    wordml.py       the text of Word        docx.py, wordstyles.py, wordnumbers.py: its other parts
    odt.py          the text of OpenDocument                                 odf.py: its styles
    rtf.py          groups and control words of RTF     rtftokens.py, rtfwords.py, rtfwriter.py
"""
